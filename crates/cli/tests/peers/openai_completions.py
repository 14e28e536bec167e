"""Asks a server's model with OpenAI's own client and prints what came back, as one JSON object.

Usage: openai_completions.py ADDRESS PROMPT. Needs the Python package openai.
"""

import json
import sys

import openai

client = openai.OpenAI(base_url=f"http://{sys.argv[1]}/v1", api_key="none")
ask = {"model": "mavis", "prompt": sys.argv[2], "max_tokens": 120, "temperature": 0.0}
whole = client.completions.create(logprobs=5, **ask)
parts = [event.choices[0] for event in client.completions.create(stream=True, **ask)]
try:
    client.completions.create(**{**ask, "prompt": "no such word"})
    refused = None
except openai.BadRequestError as error:
    refused = str(error)
choice = whole.choices[0]
report = {
    "models": [model.id for model in client.models.list()],
    "text": choice.text,
    "finish": choice.finish_reason,
    "tokens": choice.logprobs.tokens,
    "logprobs": choice.logprobs.token_logprobs,
    "top": [len(top) for top in choice.logprobs.top_logprobs],
    "streamed": "".join(part.text for part in parts),
    "n_parts": len(parts),
    "used": whole.usage.completion_tokens,
    "refused": refused,
}
print(json.dumps(report))
