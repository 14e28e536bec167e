"""Compares the ids of another package with ours.

Usage: check_ids.py tokenizers|transformers FOLDER

FOLDER holds tokenizer.json, tokenizer_config.json and examples.jsonl, one {"text": ..., "ids": [...]} a line.
"""

import json
import sys
from pathlib import Path


def load(package, folder):
    if package == "tokenizers":
        import tokenizers

        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        decode = lambda ids: tokenizer.decode(ids, skip_special_tokens=False)
        return tokenizers.__version__, lambda text: tokenizer.encode(text).ids, decode, tokenizer.get_vocab_size()
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
    return transformers.__version__, lambda text: tokenizer(text)["input_ids"], tokenizer.decode, len(tokenizer)


def main():
    package, folder = sys.argv[1], Path(sys.argv[2])
    version, encode, decode, size = load(package, folder)
    total = different_ids = different_text = 0
    for line in (folder / "examples.jsonl").open():
        example = json.loads(line)
        total += 1
        different_ids += encode(example["text"]) != example["ids"]
        different_text += decode(example["ids"]) != example["text"]
    print(f"{package} {version}: vocabulary {size}, examples {total}, "
          f"different ids {different_ids}, different text {different_text}")
    sys.exit(different_ids + different_text > 0 or total == 0)


main()
