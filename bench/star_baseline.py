"""The baseline of docs/learning.md: the star layout in PyTorch, trained by the clock on the yardstick.

One prompt of 69 tokens, all legal moves as branches that see the prompt but not each other; 7.5M parameters, causal
prompt, AdamW, batch 1,024, cosine to 3 %, averaged weights. Two stages, so that the GPU does not wait for the first:

    star_baseline.py prepare DATA ARRAYS.npz   encode positions (all cores; needs `pip install chess numpy`)
    star_baseline.py train ARRAYS.npz SECONDS OUT   train, measure every minute and at the end (needs torch)

DATA holds chess_000 to chess_003, valid_chess (FEN and value files, zstd; `unzstd` beside it or on the path) and
lichess_first10k.csv.gz, as for recipes/yardstick.toml. No position of a puzzle is trained on. Positions of more than 64
moves are left out, as are the seconds of compiling and measuring from the clock. OUT gets metrics.jsonl, in the form
that `mavis train plot` draws.
"""

import csv
import gzip
import json
import math
import multiprocessing
import os
import shutil
import subprocess
import sys
import time

import numpy as np

MOST_MOVES, PROMPT, SIZE = 64, 69, (256, 8, 8, 704)
# Tokens: pieces 0..12, side 13..14, castling 15..30, en passant 31..39, the question 40, the game 41, moves from 42.
QUESTION, GAME, FIRST_MOVE = 40, 41, 42
PIECES = {piece: token for token, piece in enumerate(".PNBRQKpnbrqk")}


def all_moves():
    square = lambda s: "abcdefgh"[s % 8] + str(s // 8 + 1)
    moves = set()
    for a in range(64):
        for b in range(64):
            files, ranks = abs(a % 8 - b % 8), abs(a // 8 - b // 8)
            if a == b:
                continue
            if files == 0 or ranks == 0 or files == ranks or {files, ranks} == {1, 2}:
                moves.add(square(a) + square(b))
            if files <= 1 and (a // 8, b // 8) in ((6, 7), (1, 0)):
                moves.update(square(a) + square(b) + piece for piece in "qrbn")
    return {move: number for number, move in enumerate(sorted(moves))}


MOVES = all_moves()


# ---- prepare


def encode(board):
    import chess

    x = np.zeros(PROMPT, np.uint8)
    x[0], x[1], x[68] = GAME, 13 + (not board.turn), QUESTION
    for square, piece in board.piece_map().items():
        x[2 + square] = PIECES[piece.symbol()]
    rights = [
        right(color)
        for color in (True, False)
        for right in (board.has_kingside_castling_rights, board.has_queenside_castling_rights)
    ]
    x[66] = 15 + sum(has << bit for bit, has in enumerate(rights))
    x[67] = 31 + (0 if board.ep_square is None else 1 + chess.square_file(board.ep_square))
    return x


def move_row(moves):
    row = np.full(MOST_MOVES, -1, np.int16)
    row[: len(moves)] = [MOVES[move] for move in moves]
    return row


def encode_record(record):
    import chess

    fen, values = record
    board = chess.Board(fen)
    moves = sorted(move.uci() for move in board.legal_moves)
    if len(moves) != values[0] or len(moves) > MOST_MOVES or board.epd() in KNOWN:
        return None
    row = np.zeros(MOST_MOVES, np.uint8)
    row[: len(moves)] = np.frombuffer(values[2:], np.uint8)
    return encode(board), move_row(moves), row


def encode_chunk(chunk):
    rows = [row for row in map(encode_record, chunk) if row is not None]
    return [np.stack([row[k] for row in rows]) for k in range(3)] if rows else None


def unpack(path, data):
    tool = next(t for t in (os.path.join(data, "unzstd"), shutil.which("unzstd")) if t and os.access(t, os.X_OK))
    with open(path, "rb") as file:
        return subprocess.run([tool], stdin=file, stdout=subprocess.PIPE, check=True).stdout


def records(data, name):
    fens = unpack(f"{data}/{name}.fen.zst", data).decode().split("\n")
    values, at, out = unpack(f"{data}/{name}.val.zst", data), 0, []
    for fen in filter(None, fens):
        end = at + 2 + values[at]
        out.append((fen, values[at:end]))
        at = end
    return out[: int(os.environ.get("LIMIT", "1000000000"))]


def puzzle_steps(data):
    """Every position that the solver meets: puzzle number, board, legal moves, the right one."""
    import chess

    with gzip.open(f"{data}/lichess_first10k.csv.gz", "rt") as file:
        for number, row in enumerate(csv.DictReader(file)):
            board, moves = chess.Board(row["FEN"]), row["Moves"].split()
            for turn, move in enumerate(moves):
                if turn % 2 == 1:
                    yield number, board, sorted(m.uci() for m in board.legal_moves), move
                board.push_uci(move)


KNOWN = set()


def prepare(data, out):
    begin = time.time()
    puzzles = []
    for number, board, legal, right in puzzle_steps(data):
        KNOWN.add(board.epd())
        if number < 4000:
            # No answer counts where the list is too long for the layout.
            fits = len(legal) <= MOST_MOVES
            puzzles.append((number, encode(board), move_row(legal if fits else []), legal.index(right) if fits else -1))
    arrays = dict(zip(("pn", "px", "pm", "pr"), map(np.array, zip(*puzzles))))
    known = set(KNOWN)
    for part, names in (("t", [f"chess_{n:03}" for n in range(4)]), ("v", ["valid_chess"])):
        # Only training positions are kept from the puzzles, as in `mavis train`.
        KNOWN.clear()
        KNOWN.update(known if part == "t" else ())
        rows = [record for name in names for record in records(data, name)]
        chunks = [rows[k : k + 2000] for k in range(0, len(rows), 2000)]
        with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
            done = [chunk for chunk in pool.imap(encode_chunk, chunks) if chunk]
        for k, key in enumerate("xmw"):
            arrays[part + key] = np.concatenate([chunk[k] for chunk in done])
        print(f"{part}: {len(arrays[part + 'x'])} of {len(rows)} positions, {time.time() - begin:.0f} s", flush=True)
    np.savez(out, **arrays)


# ---- train


def train(path, seconds, out):
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    cuda = torch.cuda.is_available()
    device, dtype = ("cuda", torch.bfloat16) if cuda else ("cpu", torch.float32)
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(int(os.environ.get("SEED", "1")))
    width, layers, heads, inner = SIZE if cuda else (64, 2, 2, 192)
    size = 1024 if cuda else 64
    amp = lambda: torch.autocast("cuda", torch.bfloat16, enabled=cuda)

    class Norm(nn.Module):
        def __init__(self):
            super().__init__()
            self.gain = nn.Parameter(torch.ones(width))

        def forward(self, x):
            return F.rms_norm(x, (width,), self.gain.to(x.dtype), 1e-5)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = Norm(), Norm()
            self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
            self.up, self.down = nn.Linear(width, 2 * inner, bias=False), nn.Linear(inner, width, bias=False)
            for layer, std in ((self.qkv, 0.02), (self.up, 0.02)):
                nn.init.normal_(layer.weight, std=std)
            for layer in (self.out, self.down):
                nn.init.normal_(layer.weight, std=0.02 / math.sqrt(2 * layers))

        def forward(self, x, cos, sin, mask):
            b, t, _ = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, heads, width // heads).permute(2, 0, 3, 1, 4)

            def rotate(u):
                first, second = u.chunk(2, -1)
                return u * cos + torch.cat((-second, first), -1) * sin

            y = F.scaled_dot_product_attention(rotate(q), rotate(k), v, attn_mask=mask)
            x = x + self.out(y.transpose(1, 2).reshape(b, t, width))
            gate, up = self.up(self.norm2(x)).chunk(2, -1)
            return x + self.down(F.silu(gate) * up)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(FIRST_MOVE + len(MOVES), width)
            nn.init.normal_(self.embed.weight, std=0.02)
            self.blocks, self.norm = nn.ModuleList(Block() for _ in range(layers)), Norm()
            self.moves, self.values = nn.Linear(width, len(MOVES), bias=False), nn.Linear(width, 64, bias=False)
            place = torch.cat((torch.arange(PROMPT), torch.full((MOST_MOVES,), PROMPT)))
            half = width // heads // 2
            angle = place[:, None] / 10000 ** (torch.arange(half) / half)[None]
            angle = torch.cat((angle, angle), -1)
            n = PROMPT + MOST_MOVES
            mask = torch.eye(n, dtype=torch.bool)
            mask[:PROMPT, :PROMPT] = torch.ones(PROMPT, PROMPT, dtype=torch.bool).tril()
            mask[PROMPT:, :PROMPT] = True
            for name, buffer in (("cos", angle.cos()), ("sin", angle.sin()), ("mask", mask)):
                self.register_buffer(name, buffer)

        def forward(self, x):
            h, cos, sin = self.embed(x), self.cos.to(dtype), self.sin.to(dtype)
            for block in self.blocks:
                h = block(h, cos, sin, self.mask)
            h = self.norm(h)
            return self.moves(h[:, PROMPT - 1]), self.values(h[:, PROMPT:])

    stored = np.load(path)
    load = lambda key, kind=np.int64: torch.from_numpy(stored[key].astype(kind)).to(device)
    sets = {part: [load(part + key) for key in "xmw"] for part in "tv"}
    puzzles = {key: load("p" + key) for key in "nxmr"}
    n_train = len(sets["t"][0])

    def batch(part, rows):
        x, moves, bytes_ = (array[rows] for array in sets[part])
        listed = moves >= 0
        # 255 is a sure win, 1..254 are parts of 254 (see the data's own page).
        values = torch.clamp(bytes_.float() / 254, max=1.0)
        return torch.cat((x, torch.where(listed, moves + FIRST_MOVE, 0)), 1), moves, listed, values

    net = Net().to(device)
    fast = torch.compile(net) if cuda else net
    parameters = list(net.parameters())
    average = [p.detach().clone().float() for p in parameters]
    adam = torch.optim.AdamW(parameters, lr=1.5e-3, betas=(0.9, 0.95), weight_decay=0.1, fused=cuda)

    def losses(rows):
        x, moves, listed, values = batch("t", rows)
        with amp():
            move_logits, value_logits = fast(x)
        n = listed.sum(1)
        log_p = F.log_softmax(move_logits.float(), -1)
        legal = -(torch.gather(log_p, 1, moves.clamp(min=0)) * listed).sum(1) / n
        bucket = torch.clamp((values * 64).long(), max=63)
        each = F.cross_entropy(value_logits.float().flatten(0, 1), bucket.flatten(), reduction="none")
        return legal.mean(), ((each.view_as(bucket) * listed).sum(1) / n).mean()

    center = (torch.arange(64, device=device) + 0.5) / 64

    @torch.no_grad()
    def answer(x):
        with amp():
            moves, values = net(x)
        return moves.float().softmax(-1), values.float().softmax(-1)

    @torch.no_grad()
    def measure(step, clock):
        own = [p.detach().clone() for p in parameters]
        torch._foreach_copy_(parameters, average)
        n, sums = len(sets["v"][0]), np.zeros(9)
        for start in range(0, n, 500):
            x, moves, listed, truth = batch("v", torch.arange(start, min(start + 500, n), device=device))
            p, v = answer(x)
            said = p >= 0.35 * p.max(1, keepdim=True).values
            legal = torch.zeros_like(p).scatter_add_(1, moves.clamp(min=0), listed.float()) > 0
            best = torch.where(listed, truth, -1.0).max(1).values
            mean, mode = (v * center).sum(-1), center[v.argmax(-1)]
            chosen = lambda score: truth.gather(1, torch.where(listed, score, -1.0).argmax(1, keepdim=True))[:, 0]
            sums += [
                float(t)
                for t in (
                    (said & legal).sum(), said.sum(), legal.sum(), (said == legal).all(1).sum(),
                    (chosen(mean) >= best - 1e-6).sum(), (chosen(mode) >= best - 1e-6).sum(),
                    (best - chosen(mean)).sum(), ((mean - truth).abs() * listed).sum(), listed.sum(),
                )
            ]  # fmt: skip
        hits, said, legal, whole, by_mean, by_max, regret, error, listed = sums
        precision, recall = hits / max(said, 1), hits / legal
        right = []
        for start in range(0, len(puzzles["x"]), 500):
            rows = slice(start, start + 500)
            listed = puzzles["m"][rows] >= 0
            x = torch.cat((puzzles["x"][rows], torch.where(listed, puzzles["m"][rows] + FIRST_MOVE, 0)), 1)
            mean = torch.where(listed, (answer(x)[1] * center).sum(-1), -1.0)
            right.append((mean.argmax(1) == puzzles["r"][rows]) & (puzzles["r"][rows] >= 0))
        right, number = torch.cat(right).cpu().numpy(), puzzles["n"].cpu().numpy()
        solved = np.ones(number.max() + 1, bool)
        np.logical_and.at(solved, number, right)
        first = right[np.unique(number, return_index=True)[1]]
        quality = dict(
            n_positions=n, precision=precision, recall=recall, f1=2 * precision * recall / max(precision + recall, 1e-9),
            whole_sets=whole / n, best_by_mean=by_mean / n, best_by_max=by_max / n, regret=regret / n,
            value_error=error / sums[8],
        )  # fmt: skip
        log(event="measure", step=step, seconds=clock, examples=step * size, quality=dict(valid_chess=quality),
            puzzles=[float(solved.mean()), float(first.mean())])  # fmt: skip
        torch._foreach_copy_(parameters, own)

    os.makedirs(out, exist_ok=True)
    file = open(f"{out}/metrics.jsonl", "a")

    def log(**line):
        print(json.dumps(line), file=file, flush=True)
        print(json.dumps(line), flush=True)

    print(f"{sum(p.numel() for p in parameters) / 1e6:.2f}M parameters, {n_train} positions", flush=True)
    # Compile before the clock starts; the gradients are thrown away.
    begin = time.time()
    sum(losses(torch.arange(size, device=device))).backward()
    adam.zero_grad(set_to_none=True)
    print(f"compiled in {time.time() - begin:.0f} s", flush=True)

    every = float(os.environ.get("MEASURE", "60"))
    begin, paused, step, due, order, at = time.time(), 0.0, 0, every, None, n_train
    while True:
        clock = time.time() - begin - paused
        if clock >= seconds:
            break
        if clock >= due:
            pause = time.time()
            measure(step, clock)
            due, paused = due + every, paused + time.time() - pause
        if at + size > n_train:
            order, at = torch.randperm(n_train, device=device), 0
        rows, at = order[at : at + size], at + size
        rate = 1.5e-3 * min(1, (step + 1) / 400) * (0.5 * (1 + math.cos(math.pi * min(1, clock / seconds))) * 0.97 + 0.03)
        for group in adam.param_groups:
            group["lr"] = rate
        legal, value = losses(rows)
        (legal + value).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        adam.step()
        adam.zero_grad(set_to_none=True)
        step += 1
        with torch.no_grad():
            torch._foreach_lerp_(average, [p.float() for p in parameters], 1 - min(0.999, (step + 1) / (step + 20)))
        if step % 200 == 0:
            log(event="step", step=step, seconds=time.time() - begin - paused, progress=clock / seconds,
                examples=step * size, learning_rate=rate, loss=legal.item() + value.item(),
                by_kind=dict(move=legal.item(), value=value.item()))  # fmt: skip
    if cuda:
        torch.cuda.synchronize()
    clock = time.time() - begin - paused
    measure(step, clock)
    print(f"{step * size} examples in {clock:.0f} s: {step * size / clock:.0f} a second", flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["prepare", data, out]:
            prepare(data, out)
        case ["train", path, seconds, out]:
            train(path, float(seconds), out)
        case _:
            sys.exit(__doc__)
