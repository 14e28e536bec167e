// Learned positions: x[row] = table[token] + places[position]; out = norm(x). Arguments as of embed_norm, then the positions.
KERNEL embed_positions_norm(const int* tokens, const bf16* table, const float* gain, bf16* x, bf16* out, float* rstd, int n, float eps,
                            const int* positions, const bf16* places) {
    int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (row >= n) return;
    float a[NV][W], b[NV][W];
    load_row(table + (size_t)tokens[row] * D, lane, a);
    load_row(places + (size_t)positions[row] * D, lane, b);
#pragma unroll
    for (int i = 0; i < NV; i++)
#pragma unroll
        for (int k = 0; k < W; k++) a[i][k] = rounded(a[i][k] + b[i][k]);
    store_row(x + (size_t)row * D, lane, a);
    float r = normalize_row(a, gain, out + (size_t)row * D, eps, lane);
    if (lane == 0) rstd[row] = r;
}
