"""PyTorch beside `mavis bench model`: the same Llama-layout network, the same two measurements, as one JSON line.

`mavis bench model --torch python3` runs it in the same run as its own numbers; by hand:
`python bench/torch_decode.py --width 256 --layers 8 --heads 8 --ff 704 --vocab 2304`.
A pass over SEQUENCES x LENGTH tokens with logits at the last of each, then one stream written token by token after LENGTH tokens.
Times are medians. Weights and activations are of `--dtype`, by default bf16 on CUDA and f32 on the processor.
"""

import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Network:
    def __init__(self, o, device, dtype):
        def matrix(rows, columns):
            return (torch.randn(rows, columns) * 0.02).to(device, dtype)

        self.heads, self.size, self.qk_norm = o.heads, o.width // o.heads, o.qk_norm
        self.embedding, self.head = matrix(o.vocab, o.width), matrix(o.vocab, o.width)
        self.gain, self.head_gain = (torch.ones(n, device=device, dtype=dtype) for n in (o.width, self.size))
        self.layers = [
            {
                "qkv": matrix(3 * o.width, o.width),
                "out": matrix(o.width, o.width),
                "gate_up": matrix(2 * o.ff, o.width),
                "down": matrix(o.width, o.ff),
            }
            for _ in range(o.layers)
        ]
        frequencies = 1.0 / 10000 ** (torch.arange(self.size // 2) / (self.size // 2))
        angles = torch.arange(4096)[:, None] * frequencies[None]
        self.cos, self.sin = angles.cos().to(device, dtype), angles.sin().to(device, dtype)

    def norm(self, x, gain):
        return F.rms_norm(x, gain.shape, gain, 1e-5)

    def run(self, ids, start=0, cache=None):
        """Logits at the last token of each row of `ids`; with a cache, of tokens from `start` on."""
        n, length = ids.shape
        x = self.embedding[ids]
        cos, sin = self.cos[start : start + length], self.sin[start : start + length]
        for i, layer in enumerate(self.layers):
            qkv = F.linear(self.norm(x, self.gain), layer["qkv"])
            q, k, v = qkv.view(n, length, 3, self.heads, self.size).permute(2, 0, 3, 1, 4)
            if self.qk_norm:
                q, k = self.norm(q, self.head_gain), self.norm(k, self.head_gain)
            q, k = rotate(q, cos, sin), rotate(k, cos, sin)
            if cache is not None:
                keys, values = cache[i]
                keys[:, :, start : start + length] = k
                values[:, :, start : start + length] = v
                k, v = keys[:, :, : start + length], values[:, :, : start + length]
            y = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
            x = x + F.linear(y.transpose(1, 2).reshape(n, length, -1), layer["out"])
            gate, up = F.linear(self.norm(x, self.gain), layer["gate_up"]).chunk(2, -1)
            x = x + F.linear(F.silu(gate) * up, layer["down"])
        return F.linear(self.norm(x[:, -1], self.gain), self.head)


def median(call, seconds, device):
    times = []
    call()
    end = time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        begun = time.perf_counter()
        call()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("width", 256), ("layers", 10), ("heads", 8), ("ff", 704), ("vocab", 2560)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--sequences", type=int, default=16)
    parser.add_argument("--length", type=int, default=112)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"))
    parser.add_argument("--qk-norm", action="store_true")
    o = parser.parse_args()
    if o.threads:
        torch.set_num_threads(o.threads)
    torch.manual_seed(1)
    name = o.dtype or ("bfloat16" if o.device == "cuda" else "float32")
    dtype = getattr(torch, name)
    network = Network(o, o.device, dtype)
    ids = torch.randint(0, o.vocab, (o.sequences, o.length), device=o.device)
    n_written = 64
    room = (1, o.heads, o.length + n_written, o.width // o.heads)
    cache = [tuple(torch.zeros(room, device=o.device, dtype=dtype) for _ in range(2)) for _ in range(o.layers)]

    def write():
        for i in range(n_written):
            network.run(ids[:1, :1], o.length + i, cache)

    with torch.inference_mode():
        prompt = median(lambda: network.run(ids), o.seconds, o.device)
        network.run(ids[:1], 0, cache)
        stream = median(write, o.seconds, o.device)
    measured = {
        "version": torch.__version__,
        "dtype": name,
        "threads": torch.get_num_threads(),
        "prompt_tokens_per_second": o.sequences * o.length / prompt,
        "sequential_tokens_per_second": n_written / stream,
    }
    print(json.dumps(measured))


main()
