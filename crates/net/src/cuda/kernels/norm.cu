// Norm and embedding: one warp a row, NV vectors of W columns a lane. The norm is an RMSNorm, or with
// LAYERNORM a LayerNorm, whose biases follow its gains: NP parameters in all.
//
// Kernels that read what a product has just written go through it backwards: products write from the first row on, so that the last
// rows are still in the cache, and what is written last here are the first rows, where the next product begins.
#define NP (D * (1 + LAYERNORM))
#if D % 256 == 0
#define W 8
#elif D % 128 == 0
#define W 4
#else
#define W 2
#endif
#define NV (D / (32 * W))
#define COL(i) (((i) * 32 + lane) * W)

__device__ __forceinline__ void load_row(const bf16* p, int lane, float a[NV][W]) {
    Vec<W> v[NV];
#pragma unroll
    for (int i = 0; i < NV; i++) v[i].load(p + COL(i));
#pragma unroll
    for (int i = 0; i < NV; i++) v[i].unpack(a[i]);
}
__device__ __forceinline__ void store_row(bf16* p, int lane, float a[NV][W]) {
#pragma unroll
    for (int i = 0; i < NV; i++) {
        Vec<W> v;
        v.from(a[i]);
        v.store(p + COL(i));
    }
}
__device__ __forceinline__ void load_gain(const float* p, int lane, float a[NV][W]) {
#pragma unroll
    for (int i = 0; i < NV; i++)
#pragma unroll
        for (int k = 0; k < W; k += 2) {
            float2 v = *reinterpret_cast<const float2*>(p + COL(i) + k);
            a[i][k] = v.x;
            a[i][k + 1] = v.y;
        }
}

// Shifts a row to mean zero.
__device__ __forceinline__ void center_row(float a[NV][W]) {
    float s = 0.f;
#pragma unroll
    for (int i = 0; i < NV; i++)
#pragma unroll
        for (int k = 0; k < W; k++) s += a[i][k];
    s = warp_sum(s) * (1.f / D);
#pragma unroll
    for (int i = 0; i < NV; i++)
#pragma unroll
        for (int k = 0; k < W; k++) a[i][k] -= s;
}

// Normalizes a row held in registers (which a LayerNorm shifts) and stores it; returns the reciprocal root mean square.
__device__ __forceinline__ float normalize_row(float a[NV][W], const float* gain, bf16* out, float eps, int lane) {
    float s = 0.f, w[NV][W];
    load_gain(gain, lane, w);
#if LAYERNORM
    center_row(a);
#endif
#pragma unroll
    for (int i = 0; i < NV; i++)
#pragma unroll
        for (int k = 0; k < W; k++) s += a[i][k] * a[i][k];
    float r = rsqrtf(warp_sum(s) * (1.f / D) + eps);
#pragma unroll
    for (int i = 0; i < NV; i++)
#pragma unroll
        for (int k = 0; k < W; k++) w[i][k] *= a[i][k] * r;
#if LAYERNORM
    float b[NV][W];
    load_gain(gain + D, lane, b);
#pragma unroll
    for (int i = 0; i < NV; i++)
#pragma unroll
        for (int k = 0; k < W; k++) w[i][k] += b[i][k];
#endif
    store_row(out, lane, w);
    return r;
}

// x[row] = table[token]; out = norm(x).
KERNEL embed_norm(const int* tokens, const bf16* table, const float* gain, bf16* x, bf16* out, float* rstd, int n, float eps) {
    int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (row >= n) return;
    float a[NV][W];
    load_row(table + (size_t)tokens[row] * D, lane, a);
    store_row(x + (size_t)row * D, lane, a);
    float r = normalize_row(a, gain, out + (size_t)row * D, eps, lane);
    if (lane == 0) rstd[row] = r;
}

// out = norm(x).
KERNEL norm_rows(const bf16* x, const float* gain, bf16* out, float* rstd, int n, float eps) {
    int lane = threadIdx.x & 31, row = (gridDim.x - 1 - blockIdx.x) * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (row >= n) return;
    size_t o = (size_t)row * D;
    float a[NV][W];
    load_row(x + o, lane, a);
    float r = normalize_row(a, gain, out + o, eps, lane);
    if (lane == 0) rstd[row] = r;
}

// sum = x + y and out = norm(sum) for the rows of the loss only: row r comes from token rows[r]; sum and out are [rows, D].
KERNEL gather_norm(const bf16* x, const bf16* y, const float* gain, const int* rows, const int* counts, bf16* sum, bf16* out,
                   float* rstd, float eps) {
    int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (row >= counts[C_ROWS]) return;
    size_t s = (size_t)rows[row] * D, o = (size_t)row * D;
    float a[NV][W], b[NV][W];
    load_row(x + s, lane, a);
    load_row(y + s, lane, b);
#pragma unroll
    for (int i = 0; i < NV; i++)
#pragma unroll
        for (int k = 0; k < W; k++) a[i][k] = rounded(a[i][k] + b[i][k]);
    store_row(sum + o, lane, a);
    float r = normalize_row(a, gain, out + o, eps, lane);
    if (lane == 0) rstd[row] = r;
}

// Sums of the gradients of a norm's parameters over the rows of a warp.
struct Sums {
    float gain[NV][W];
#if LAYERNORM
    float bias[NV][W];
#endif
};
// Gradient of one normalized row, whose output's gradient is g, added to d; the parameters' gradients go to acc.
__device__ __forceinline__ void norm_grad(float g[NV][W], const bf16* x, const float w[NV][W], float r, float d[NV][W], Sums& acc,
                                          int lane) {
    float h[NV][W], s = 0.f;
    load_row(x, lane, h);
#if LAYERNORM
    center_row(h);
#endif
#pragma unroll
    for (int i = 0; i < NV; i++)
#pragma unroll
        for (int k = 0; k < W; k++) {
            h[i][k] *= r;
            acc.gain[i][k] += g[i][k] * h[i][k];
#if LAYERNORM
            acc.bias[i][k] += g[i][k];
#endif
            g[i][k] *= w[i][k];
            s += g[i][k] * h[i][k];
        }
    s = warp_sum(s) * (1.f / D);
#if LAYERNORM
    center_row(g);
#endif
#pragma unroll
    for (int i = 0; i < NV; i++)
#pragma unroll
        for (int k = 0; k < W; k++) d[i][k] += (g[i][k] - h[i][k] * s) * r;
}
// Sums acc over the 8 warps of the block into part[D].
__device__ __forceinline__ void sum_warps(float acc[NV][W], float* part, int lane) {
    __shared__ float sm[8][D];
    int wid = threadIdx.x >> 5;
#pragma unroll
    for (int i = 0; i < NV; i++)
#pragma unroll
        for (int k = 0; k < W; k++) sm[wid][COL(i) + k] = acc[i][k];
    __syncthreads();
    for (int c = threadIdx.x; c < D; c += 256) {
        float t = 0.f;
#pragma unroll
        for (int i = 0; i < 8; i++) t += sm[i][c];
        part[c] = t;
    }
}
// The same for all parameters of a norm, into part[block][NP].
__device__ __forceinline__ void norm_part(Sums& acc, float* part, int lane) {
    part += (size_t)blockIdx.x * NP;
    sum_warps(acc.gain, part, lane);
#if LAYERNORM
    __syncthreads();
    sum_warps(acc.bias, part + D, lane);
#endif
}

// dres += gradient through the norm, in place; blocks of 256 threads, any number of them. With POSTNORM the residual stream
// went on from the norm's output, so dres belongs to the output's gradient first.
KERNEL norm_bwd(const bf16* dy, const bf16* x, const float* gain, const float* rstd, bf16* dres, float* part, int n) {
    int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
    float w[NV][W];
    Sums acc = {};
    load_gain(gain, lane, w);
    for (int row = n - 1 - (blockIdx.x * 8 + wid); row >= 0; row -= gridDim.x * 8) {
        size_t o = (size_t)row * D;
        float d[NV][W], g[NV][W];
        load_row(dres + o, lane, d);
        load_row(dy + o, lane, g);
#if POSTNORM
#pragma unroll
        for (int i = 0; i < NV; i++)
#pragma unroll
            for (int k = 0; k < W; k++) {
                g[i][k] += d[i][k];
                d[i][k] = 0.f;
            }
#endif
        norm_grad(g, x + o, w, rstd[row], d, acc, lane);
        store_row(dres + o, lane, d);
    }
    norm_part(acc, part, lane);
}

// The start of the backward pass: dres of every token, zero where a token has no row in the loss. The rows of a token
// form a list: first[token], then next[row]; -1 ends it.
KERNEL scatter_norm_bwd(const bf16* dy, const bf16* x, const float* gain, const float* rstd, const int* first, const int* next,
                        bf16* dres, float* part, int n) {
    int lane = threadIdx.x & 31, wid = threadIdx.x >> 5;
    float w[NV][W];
    Sums acc = {};
    load_gain(gain, lane, w);
    for (int token = blockIdx.x * 8 + wid; token < n; token += gridDim.x * 8) {
        float d[NV][W] = {};
        for (int row = first[token]; row >= 0; row = next[row]) {
            float g[NV][W];
            load_row(dy + (size_t)row * D, lane, g);
            norm_grad(g, x + (size_t)row * D, w, rstd[row], d, acc, lane);
        }
        store_row(dres + (size_t)token * D, lane, d);
    }
    norm_part(acc, part, lane);
}

// Gain gradients of many norms at once: grid (width / 32, norms), blocks of 1024; part is [norms][n_parts][width]. Adds to
// the gradient when accumulate is set.
KERNEL gain_reduce(const float* part, float* grads, const int* offsets, int n_parts, int width, int accumulate) {
    __shared__ float sm[32][33];
    int tx = threadIdx.x & 31, ty = threadIdx.x >> 5, c = blockIdx.x * 32 + tx;
    const float* p = part + (size_t)blockIdx.y * n_parts * width;
    float s = 0.f;
    for (int i = ty; i < n_parts; i += 32) s += p[(size_t)i * width + c];
    sm[ty][tx] = s;
    __syncthreads();
    float v = warp_sum(sm[tx][ty]);
    float* g = grads + offsets[blockIdx.y] + blockIdx.x * 32 + ty;
    if (tx == 0) *g = v + (accumulate ? *g : 0.f);
}

// Gradient of the embedding. order sorts the tokens by id, so a warp adds runs of equal ids in registers and only the ends
// of runs meet in an atomic; their order, and so the last bits, vary from run to run.
#define EMBED_RUN 32
KERNEL embed_bwd(const int* tokens, const int* order, const bf16* dx, float* dtable, int n) {
    int lane = threadIdx.x & 31, begin = (blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5)) * EMBED_RUN;
    if (begin >= n) return;
    int end = min(begin + EMBED_RUN, n), mine = begin + lane < n ? order[begin + lane] : 0;
    int id = tokens[mine];
    float acc[NV][W] = {};
    for (int i = 0; i < end - begin; i++) {
        int row = __shfl_sync(FULL, mine, i), token = __shfl_sync(FULL, id, i);
        float a[NV][W];
        load_row(dx + (size_t)row * D, lane, a);
#pragma unroll
        for (int j = 0; j < NV; j++)
#pragma unroll
            for (int k = 0; k < W; k++) acc[j][k] += a[j][k];
        int following = i + 1 < end - begin ? __shfl_sync(FULL, id, i + 1) : -1;
        if (following != token) {
#pragma unroll
            for (int j = 0; j < NV; j++)
#pragma unroll
                for (int k = 0; k < W; k += 2) {
                    float2* q = reinterpret_cast<float2*>(dtable + (size_t)token * D + COL(j) + k);
#if __CUDA_ARCH__ >= 900
                    atomicAdd(q, make_float2(acc[j][k], acc[j][k + 1]));
#else
                    atomicAdd(&q->x, acc[j][k]);
                    atomicAdd(&q->y, acc[j][k + 1]);
#endif
                    acc[j][k] = acc[j][k + 1] = 0.f;
                }
        }
    }
}
