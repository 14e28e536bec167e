"""What llama.cpp says of exported models: the likeliest tokens after each prompt, and their log-probabilities.

Usage: llama_cpp_answers.py FOLDER, where FOLDER holds prompts.json, llama.gguf and qwen3.gguf as the test `interchange` writes them.
Writes llama_cpp_llama.json and llama_cpp_qwen3.json into the folder. Needs the Python package xllamacpp.
"""

import json
import pathlib
import sys

import xllamacpp

N_LISTED = 24

folder = pathlib.Path(sys.argv[1])
prompts = json.loads((folder / "prompts.json").read_text())


def ask(server, prompt):
    """The likeliest tokens after a prompt of ids or text, and how many tokens the prompt has."""
    request = {"prompt": prompt, "max_tokens": 1, "temperature": 0.0, "logprobs": N_LISTED, "cache_prompt": False}
    answer = server.handle_completions(request)
    if isinstance(answer, (str, bytes)):
        answer = json.loads(answer)
    return answer["choices"][0]["logprobs"]["content"][0]["top_logprobs"], answer["usage"]["prompt_tokens"]


for name in ["llama", "qwen3"]:
    params = xllamacpp.CommonParams()
    params.model.path = str(folder / f"{name}.gguf")
    params.n_ctx = 1024
    params.n_parallel = 1
    params.warmup = False
    params.cache_type_k = xllamacpp.ggml_type.GGML_TYPE_F32
    params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
    params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
    server = xllamacpp.Server(params)
    answers = []
    different = 0
    for prompt in prompts:
        listed, _ = ask(server, prompt["ids"])
        answers.append([[entry["id"], entry["logprob"]] for entry in listed])
        # The same prompt as text goes through the file's own tokenizer.
        by_text, n_tokens = ask(server, prompt["text"])
        different += n_tokens != len(prompt["ids"]) or by_text[0]["id"] != listed[0]["id"]
    out = {"different_ids": different, "logprobs": answers}
    (folder / f"llama_cpp_{name}.json").write_text(json.dumps(out) + "\n")
    print(name, "different ids:", different)
