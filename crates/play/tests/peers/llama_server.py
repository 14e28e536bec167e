"""Serves a GGUF file by llama.cpp's HTTP server until stdin is closed.

Usage: llama_server.py MODEL.gguf PORT (0 takes a free one). Prints the address. Needs the Python package xllamacpp.
"""

import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.port = int(sys.argv[2])
params.n_ctx = 4096
params.n_parallel = 8
params.warmup = False
params.cache_type_k = xllamacpp.ggml_type.GGML_TYPE_F32
params.cache_type_v = xllamacpp.ggml_type.GGML_TYPE_F32
params.flash_attn_type = xllamacpp.llama_flash_attn_type.LLAMA_FLASH_ATTN_TYPE_DISABLED
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
