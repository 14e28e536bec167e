"""What llama.cpp says of exported models: the likeliest tokens after each prompt with their log-probabilities, and the text it writes.

Usage: llama_cpp_answers.py FOLDER NAME..., where FOLDER holds prompts.json and NAME.gguf as the test `interchange` writes them.
Writes llama_cpp_NAME.json into the folder. Needs the Python package xllamacpp.
"""

import json
import pathlib
import sys

import xllamacpp

N_LISTED = 24
N_WRITTEN = 40

folder = pathlib.Path(sys.argv[1])
prompts = json.loads((folder / "prompts.json").read_text())


def ask(server, prompt, n_written):
    """The likeliest tokens at each place of the text after a prompt of ids or text, and how many tokens the prompt has."""
    request = {"prompt": prompt, "max_tokens": n_written, "temperature": 0.0, "logprobs": N_LISTED, "cache_prompt": False}
    answer = server.handle_completions(request)
    if isinstance(answer, (str, bytes)):
        answer = json.loads(answer)
    content = answer["choices"][0]["logprobs"]["content"]
    return [entry["top_logprobs"] for entry in content], answer["usage"]["prompt_tokens"]


for name in sys.argv[2:]:
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
    written = []
    different = 0
    for prompt in prompts:
        text, _ = ask(server, prompt["ids"], N_WRITTEN)
        answers.append([[entry["id"], entry["logprob"]] for entry in text[0]])
        written.append([listed[0]["id"] for listed in text])
        # The same prompt as text goes through the file's own tokenizer.
        by_text, n_tokens = ask(server, prompt["text"], 1)
        different += n_tokens != len(prompt["ids"]) or by_text[0][0]["id"] != text[0][0]["id"]
    out = {"different_ids": different, "logprobs": answers, "written": written}
    (folder / f"llama_cpp_{name}.json").write_text(json.dumps(out) + "\n")
    print(name, "different ids:", different)
