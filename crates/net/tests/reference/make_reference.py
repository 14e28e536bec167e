#!/usr/bin/env python3
"""Makes `tiny_*.safetensors`: what PyTorch computes for two tiny transformers, for `tests/reference.rs`.

    pip install torch numpy safetensors
    python make_reference.py

The model is written out here from the definition of the Llama layout (with the query and key norms of Qwen3 in one case), in float64, so that
the differences the test sees are ours. Saved, all as float32: the batch, the parameters, logits of every row, the loss, all
gradients, and after ten steps of AdamW, and of Muon, the ten losses, the parameters and their running average.
"""
import math
import os

import numpy as np
import torch
from safetensors.numpy import save_file

torch.set_default_dtype(torch.float64)
VOCAB, D, LAYERS, HEADS, FF, THETA, EPS = 40, 16, 2, 2, 24, 10000.0, 1e-5
LR, BETAS, ADAM_EPS, DECAY, CLIP, MOMENTUM = 1e-2, (0.9, 0.95), 1e-8, 0.1, 1.0, 0.95
AVERAGE_DECAY, STEPS = 0.9, 10


def make_parameters(qk_norm, tied):
    g = torch.Generator().manual_seed(5)
    normal = lambda *shape: torch.randn(*shape, generator=g)
    p = {"model.embed_tokens.weight": 0.5 * normal(VOCAB, D)}
    for i in range(LAYERS):
        name = f"model.layers.{i}."
        p[name + "input_layernorm.weight"] = 1 + 0.2 * normal(D)
        for part in "qkv":
            p[name + f"self_attn.{part}_proj.weight"] = 0.3 * normal(D, D)
        if qk_norm:
            p[name + "self_attn.q_norm.weight"] = 1 + 0.2 * normal(D // HEADS)
            p[name + "self_attn.k_norm.weight"] = 1 + 0.2 * normal(D // HEADS)
        p[name + "self_attn.o_proj.weight"] = 0.3 * normal(D, D)
        p[name + "post_attention_layernorm.weight"] = 1 + 0.2 * normal(D)
        p[name + "mlp.gate_proj.weight"] = 0.3 * normal(FF, D)
        p[name + "mlp.up_proj.weight"] = 0.3 * normal(FF, D)
        p[name + "mlp.down_proj.weight"] = 0.3 * normal(D, FF)
    p["model.norm.weight"] = 1 + 0.2 * normal(D)
    if not tied:
        p["lm_head.weight"] = 0.3 * normal(VOCAB, D)
    # What is saved is float32, so the reference starts from exactly that.
    return {k: v.float().double().requires_grad_() for k, v in p.items()}


class Data:
    """A causal sequence, a prompt seen in full with a causal tail, and a star of three branches."""

    def __init__(self):
        self.tokens, self.positions, self.prefix_end, self.branch_start, self.starts = [], [], [], [], [0]
        self.sequence([1, 5, 9, 2, 5, 7, 30], 0)
        self.sequence([3, 3, 8, 12, 13, 39], 4)
        self.sequence([17, 18, 19], 3)
        for token in (21, 22, 23):
            own = len(self.tokens) - self.starts[-2]
            for k, t in enumerate((token, token + 10)):
                self.add(t, 3 + k, 3, own)
        self.rows = [
            (2, 1.0, {4: 1.0}), (6, 0.5, {11: 1.0}), (10, 1.0, {12: 0.5, 13: 0.25, 20: 0.25}), (12, 2.0, {0: 1.0}),
            (16, 1.0, {31: 1.0}), (18, 1.0, {32: 1.0}), (20, 1.0, {33: 1.0}), (15, 1.5, {21: 0.5, 22: 0.25, 23: 0.25}),
        ]

    def sequence(self, tokens, prompt):
        self.starts.append(len(self.tokens))
        for i, t in enumerate(tokens):
            self.add(t, i, prompt if i < prompt else 0, 0)

    def add(self, token, position, prefix_end, branch_start):
        self.tokens.append(token)
        self.positions.append(position)
        self.prefix_end.append(prefix_end)
        self.branch_start.append(branch_start)
        self.starts[-1] = len(self.tokens)

    def mask(self):
        n = len(self.tokens)
        mask = torch.zeros(n, n, dtype=torch.bool)
        for a, b in zip(self.starts, self.starts[1:]):
            for i in range(b - a):
                for j in range(b - a):
                    mask[a + i, a + j] = j < self.prefix_end[a + i] or self.branch_start[a + i] <= j <= i
        return mask

    def arrays(self):
        u32 = lambda x: np.array(x, dtype=np.uint32)
        starts = np.cumsum([0] + [len(t) for _, _, t in self.rows])
        return {
            "batch.tokens": u32(self.tokens), "batch.positions": u32(self.positions),
            "batch.prefix_end": u32(self.prefix_end), "batch.branch_start": u32(self.branch_start),
            "batch.starts": u32(self.starts), "rows.rows": u32([r for r, _, _ in self.rows]),
            "rows.weights": np.array([w for _, w, _ in self.rows], dtype=np.float32),
            "rows.target_starts": u32(starts), "rows.target_ids": u32([i for _, _, t in self.rows for i in t]),
            "rows.target_probs": np.array([x for _, _, t in self.rows for x in t.values()], dtype=np.float32),
        }


def norm(x, gain):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * gain


def logits(p, data, qk_norm, tied):
    n, hd = len(data.tokens), D // HEADS
    angle = torch.tensor(data.positions)[:, None] * THETA ** (-torch.arange(0, hd, 2) / hd)
    cos, sin = torch.cat((angle, angle), -1).cos(), torch.cat((angle, angle), -1).sin()

    def rotate(x):  # [n, heads, hd]
        low, high = x.chunk(2, -1)
        return x * cos[:, None] + torch.cat((-high, low), -1) * sin[:, None]

    x = p["model.embed_tokens.weight"][torch.tensor(data.tokens)]
    for i in range(LAYERS):
        w = lambda part: p[f"model.layers.{i}.{part}.weight"]
        h = norm(x, w("input_layernorm"))
        q, k, v = ((h @ w(f"self_attn.{part}_proj").T).view(n, HEADS, hd) for part in "qkv")
        if qk_norm:
            q, k = norm(q, w("self_attn.q_norm")), norm(k, w("self_attn.k_norm"))
        scores = torch.einsum("ihc,jhc->hij", rotate(q), rotate(k)) / math.sqrt(hd)
        weights = scores.masked_fill(~data.mask(), -math.inf).softmax(-1)
        x = x + torch.einsum("hij,jhc->ihc", weights, v).reshape(n, D) @ w("self_attn.o_proj").T
        h = norm(x, w("post_attention_layernorm"))
        gated = torch.nn.functional.silu(h @ w("mlp.gate_proj").T) * (h @ w("mlp.up_proj").T)
        x = x + gated @ w("mlp.down_proj").T
    return norm(x, p["model.norm.weight"]) @ p["model.embed_tokens.weight" if tied else "lm_head.weight"].T


def loss_of(p, data, qk_norm, tied):
    log_probs = logits(p, data, qk_norm, tied).log_softmax(-1)
    total = sum(-w * sum(x * log_probs[r, i] for i, x in t.items()) for r, w, t in data.rows)
    return total / sum(w for _, w, _ in data.rows)


def is_matrix(name):
    return "_proj" in name


def orthogonal(u):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = u.T if u.shape[0] > u.shape[1] else u
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if u.shape[0] > u.shape[1] else x


def train(start, data, qk_norm, tied, muon):
    p = {k: v.detach().clone().requires_grad_() for k, v in start.items()}
    average = {k: v.detach().clone() for k, v in p.items()}
    momentum = {k: torch.zeros_like(v) for k, v in p.items()}
    by_adam = [k for k in p if not (muon and is_matrix(k))]
    decays = [p[k] for k in by_adam if is_matrix(k) or k == "lm_head.weight"]
    rest = [p[k] for k in by_adam if not (is_matrix(k) or k == "lm_head.weight")]
    groups = [{"params": g, "weight_decay": d} for g, d in ((decays, DECAY), (rest, 0.0)) if g]
    adam = torch.optim.AdamW(groups, lr=LR, betas=BETAS, eps=ADAM_EPS)
    losses = []
    for step in range(STEPS):
        for v in p.values():
            v.grad = None
        loss = loss_of(p, data, qk_norm, tied)
        loss.backward()
        losses.append(loss.item())
        torch.nn.utils.clip_grad_norm_(list(p.values()), CLIP)
        adam.step()
        keep = min(AVERAGE_DECAY, (step + 1) / (step + 20))
        with torch.no_grad():
            for k, v in p.items():
                if k not in by_adam:
                    momentum[k] = MOMENTUM * momentum[k] + v.grad
                    update = orthogonal(v.grad + MOMENTUM * momentum[k]) * 0.2 * math.sqrt(max(v.shape))
                    v.mul_(1 - LR * DECAY).sub_(LR * update)
                average[k] += (1 - keep) * (v - average[k])
    return losses, p, average


def main():
    for name, qk_norm, tied in (("tiny_qk_norm", True, False), ("tiny_tied", False, True)):
        data, p = Data(), make_parameters(qk_norm, tied)
        out = data.arrays()
        put = lambda prefix, tensors: out.update(
            {f"{prefix}.{k}": v.detach().float().contiguous().numpy() for k, v in tensors.items()})
        put("parameters", p)
        out["logits"] = logits(p, data, qk_norm, tied).detach().float().numpy()
        loss = loss_of(p, data, qk_norm, tied)
        loss.backward()
        out["loss"] = np.array([loss.item()], dtype=np.float32)
        put("gradient", {k: v.grad for k, v in p.items()})
        for rule in ("adamw", "muon"):
            losses, after, average = train(p, data, qk_norm, tied, rule == "muon")
            out[f"{rule}.losses"] = np.array(losses, dtype=np.float32)
            put(f"{rule}.parameters", after)
            put(f"{rule}.average", average) if rule == "adamw" and qk_norm else None
            print(name, rule, [round(x, 4) for x in losses])
        save_file(out, os.path.join(os.path.dirname(os.path.abspath(__file__)), name + ".safetensors"))


main()
