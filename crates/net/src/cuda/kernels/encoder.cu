// With a second learned table: x[row] = table[token] + learned[pick]; out = norm(x). Arguments as of embed_norm, then the picks.
KERNEL embed_learned_norm(const int* tokens, const bf16* table, const float* gain, bf16* x, bf16* out, float* rstd, int n, float eps,
                          const int* picks, const bf16* learned) {
    int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (row >= n) return;
    float a[NV][W], b[NV][W];
    load_row(table + (size_t)tokens[row] * D, lane, a);
    load_row(learned + (size_t)picks[row] * D, lane, b);
#pragma unroll
    for (int i = 0; i < NV; i++)
#pragma unroll
        for (int k = 0; k < W; k++) a[i][k] = rounded(a[i][k] + b[i][k]);
    store_row(x + (size_t)row * D, lane, a);
    float r = normalize_row(a, gain, out + (size_t)row * D, eps, lane);
    if (lane == 0) rstd[row] = r;
}
