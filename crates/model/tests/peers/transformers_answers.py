"""What transformers says of exported models: the likeliest tokens after each prompt, and their log-probabilities.

Usage: transformers_answers.py FOLDER, where FOLDER holds prompts.json, llama/ and qwen3/ as the test `interchange` writes them.
Writes transformers_llama.json and transformers_qwen3.json into the folder.
"""

import json
import pathlib
import sys

import torch
import transformers

N_LISTED = 24

folder = pathlib.Path(sys.argv[1])
prompts = json.loads((folder / "prompts.json").read_text())
for name in ["llama", "qwen3"]:
    model = transformers.AutoModelForCausalLM.from_pretrained(folder / name, dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder / name)
    model.eval()
    answers = []
    different = 0
    for prompt in prompts:
        different += tokenizer(prompt["text"], add_special_tokens=False)["input_ids"] != prompt["ids"]
        with torch.no_grad():
            logits = model(torch.tensor([prompt["ids"]])).logits[0, -1].double()
        logprobs = torch.log_softmax(logits, dim=-1)
        values, ids = torch.topk(logprobs, N_LISTED)
        answers.append([[int(i), round(float(v), 6)] for i, v in zip(ids, values)])
    out = {
        "transformers": transformers.__version__,
        "torch": torch.__version__,
        "architecture": type(model).__name__,
        "different_ids": different,
        "logprobs": answers,
    }
    (folder / f"transformers_{name}.json").write_text(json.dumps(out) + "\n")
    print(name, type(model).__name__, "different ids:", different)
