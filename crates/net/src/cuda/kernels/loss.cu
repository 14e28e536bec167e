// Softmax cross-entropy against sparse distributions: logits [rows, V] become their gradient in place, loss [rows] is in
// nats and unweighted. A target with a negative id is a number, and the row's loss the squared error of column 0.
// One warp a row, its targets spread out in shared memory (V floats a warp, dynamic). Rows from the count on get a zero
// gradient.
#define XV ((V / 8 + 31) / 32) // vectors of 8 a lane
#define AT(j) (((j) * 32 + lane) * 8)
#define IN(j) ((V % 256 == 0) || AT(j) < V)

__device__ __forceinline__ Vec<8> read_vec(const bf16* p) {
    Vec<8> v;
    v.load(p);
    return v;
}
KERNEL cross_entropy(bf16* logits, const int* counts, const float* weights, const int* target_starts, const int2* targets, float* loss,
                     int n, int gradient) {
    extern __shared__ __align__(16) float dense[];
    int lane = threadIdx.x & 31, wid = threadIdx.x >> 5, row = blockIdx.x * (blockDim.x >> 5) + wid;
    float* t = dense + (size_t)wid * V;
    if (row >= n) return;
    bf16* p = logits + (size_t)row * V;
    if (row >= counts[C_ROWS]) {
        Vec<8> zero;
        zero.v = make_uint4(0, 0, 0, 0);
        for (int j = 0; j < XV; j++)
            if (IN(j) && gradient) zero.store(p + AT(j));
        return;
    }
    int begin = target_starts[row], end = target_starts[row + 1];
    if (begin < end && targets[begin].x < 0) {
        // Lane 0 has column 0 to itself.
        float error = lane == 0 ? up(p[0]) - __int_as_float(targets[begin].y) : 0.f;
        if (lane == 0) loss[row] = error * error;
        if (!gradient) return;
        float scale = weights[row] * __int_as_float(counts[C_LOSS_SCALE]);
        float first[8] = {2.f * error * scale, 0.f, 0.f, 0.f, 0.f, 0.f, 0.f, 0.f};
        for (int j = 0; j < XV; j++)
            if (IN(j)) {
                if (j > 0) first[0] = 0.f;
                Vec<8> o;
                o.from(first);
                o.store(p + AT(j));
            }
        return;
    }
#if V <= 4096
    Vec<8> v[XV];
#pragma unroll
    for (int j = 0; j < XV; j++)
        if (IN(j)) v[j].load(p + AT(j));
#define ROW_VEC(j) v[j]
#else
#define ROW_VEC(j) read_vec(p + AT(j))
#endif
    for (int i = lane; i < V; i += 32) t[i] = 0.f;
    __syncwarp();
    float total = 0.f;
    for (int i = begin + lane; i < end; i += 32) {
        int2 e = targets[i];
        atomicAdd(t + e.x, __int_as_float(e.y));
        total += __int_as_float(e.y);
    }
    __syncwarp();
    total = warp_sum(total);
    float m = -INF, s = 0.f, z = 0.f, f[8];
#pragma unroll
    for (int j = 0; j < XV; j++)
        if (IN(j)) {
            ROW_VEC(j).unpack(f);
#pragma unroll
            for (int k = 0; k < 8; k++) m = fmaxf(m, f[k]);
        }
    m = warp_max(m);
#pragma unroll
    for (int j = 0; j < XV; j++)
        if (IN(j)) {
            ROW_VEC(j).unpack(f);
#pragma unroll
            for (int k = 0; k < 8; k++) {
                s += ex2((f[k] - m) * LOG2E);
                z += t[AT(j) + k] * (f[k] - m);
            }
        }
    s = warp_sum(s);
    z = warp_sum(z);
    if (lane == 0) loss[row] = total * logf(s) - z;
    if (!gradient) return;
    float scale = weights[row] * __int_as_float(counts[C_LOSS_SCALE]), share = total * scale / s;
#pragma unroll
    for (int j = 0; j < XV; j++)
        if (IN(j)) {
            ROW_VEC(j).unpack(f);
#pragma unroll
            for (int k = 0; k < 8; k++) f[k] = ex2((f[k] - m) * LOG2E) * share - t[AT(j) + k] * scale;
            Vec<8> o;
            o.from(f);
            o.store(p + AT(j));
        }
}

// Of each row of logits [n, columns] its likeliest column, the first of equals, and its first `few` logits: [n, 1 + few] words. One warp a row.
KERNEL brief_rows(const float* logits, const int* counts, int* out, int n, int columns, int few) {
    int lane = threadIdx.x & 31, row = blockIdx.x * (blockDim.x >> 5) + (threadIdx.x >> 5);
    if (row >= n || row >= counts[C_ROWS]) return;
    const float* p = logits + (size_t)row * columns;
    float best = -INF;
    int at = 0;
#pragma unroll 8
    for (int i = lane; i < columns; i += 32)
        if (p[i] > best) best = p[i], at = i;
    for (int step = 16; step > 0; step >>= 1) {
        float other = __shfl_xor_sync(0xffffffffu, best, step);
        int there = __shfl_xor_sync(0xffffffffu, at, step);
        if (other > best || (other == best && there < at)) best = other, at = there;
    }
    int* o = out + (size_t)row * (1 + few);
    if (lane == 0) o[0] = at;
    for (int i = lane; i < few; i += 32) o[1 + i] = __float_as_int(p[i]);
}
