// Small nets over boards, in f32: 3x3 convolutions and dense layers as matrix products that gather their rows while they load.
//
// A board is [cells, channels], channels last, and rows are cells of all boards of a batch. A layer has `slots` places its sums run over for each cell: 9,
// the cell and its neighbors, or 1 in a dense layer, whose board is one cell with all values as channels. `around[cell]` says which
// slots lie on the board, as bits. Weights are [outputs, slots, channels].
#define BM 128
#define BN 64
#define BK 16

__device__ __forceinline__ int step_to(int slot, int width, int slots) {
    return slots == 1 ? 0 : (slot / 3 - 1) * width + slot % 3 - 1;
}

// BACK false: y[row, o] = bias[o] + sum over slot, c of x[row + step(slot), c] w[o, slot, c].
// BACK true, where x is the gradient of a layer's output and y that of its input: y[row, o] = sum over slot, c of x[row + step(slot), c]
// w[c, slots - 1 - slot, o]. Grid (rows / BM, outputs / BN), 256 threads with 8 x 4 sums each.
template <bool BACK>
__device__ __forceinline__ void gathered(float* y, const float* x, const float* w, const float* bias, const u32* around, int rows,
                                         int channels, int outputs, int cells, int width, int slots) {
    __shared__ __align__(16) float a[BK][BM + 4];
    __shared__ __align__(16) float b[BK][BN + 4];
    int t = threadIdx.x, row0 = blockIdx.x * BM, out0 = blockIdx.y * BN, depth = slots * channels;
    int k_own = t & 15, r_own = t >> 4;
    u32 masks[8];
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int row = row0 + r_own + 16 * i;
        masks[i] = row < rows ? around[row % cells] : 0u;
    }
    float sum[8][4];
#pragma unroll
    for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) sum[i][j] = 0.f;
    int slot = k_own / channels, c = k_own % channels;
    for (int k0 = 0; k0 < depth; k0 += BK) {
        bool inside = slot < slots;
        long long from = ((long long)(row0 + r_own) + step_to(slot, width, slots)) * channels + c;
#pragma unroll
        for (int i = 0; i < 8; i++) {
            float v = 0.f;
            if (inside && (masks[i] >> slot & 1u)) v = x[from + (long long)(16 * i) * channels];
            a[k_own][r_own + 16 * i] = v;
        }
#pragma unroll
        for (int i = 0; i < 4; i++) {
            float v = 0.f;
            if (BACK) {
                int n = t & 63, k = (t >> 6) + 4 * i, at = k0 + k;
                if (at < depth && out0 + n < outputs) {
                    int s = at / channels, o = at - s * channels;
                    v = w[(long long)(o * slots + slots - 1 - s) * outputs + out0 + n];
                }
                b[k][n] = v;
            } else {
                int n = r_own + 16 * i;
                if (k0 + k_own < depth && out0 + n < outputs) v = w[(long long)(out0 + n) * depth + k0 + k_own];
                b[k_own][n] = v;
            }
        }
        __syncthreads();
        int ty = t >> 4, tx = t & 15;
#pragma unroll
        for (int k = 0; k < BK; k++) {
            float4 p = *reinterpret_cast<const float4*>(&a[k][ty * 8]), q = *reinterpret_cast<const float4*>(&a[k][ty * 8 + 4]);
            float4 r = *reinterpret_cast<const float4*>(&b[k][tx * 4]);
            float u[8] = {p.x, p.y, p.z, p.w, q.x, q.y, q.z, q.w}, v[4] = {r.x, r.y, r.z, r.w};
#pragma unroll
            for (int i = 0; i < 8; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sum[i][j] = fmaf(u[i], v[j], sum[i][j]);
        }
        __syncthreads();
        c += BK;
        while (c >= channels) {
            c -= channels;
            slot++;
        }
    }
    int ty = t >> 4, tx = t & 15;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        int row = row0 + ty * 8 + i;
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int o = out0 + tx * 4 + j;
            if (row < rows && o < outputs) y[(long long)row * outputs + o] = sum[i][j] + (BACK ? 0.f : bias[o]);
        }
    }
}
KERNEL conv_fwd(float* y, const float* x, const float* w, const float* bias, const u32* around, int rows, int channels, int outputs,
                int cells, int width, int slots) {
    gathered<false>(y, x, w, bias, around, rows, channels, outputs, cells, width, slots);
}
KERNEL conv_dgrad(float* dx, const float* dy, const float* w, const u32* around, int rows, int outputs, int channels, int cells,
                  int width, int slots) {
    gathered<true>(dx, dy, w, nullptr, around, rows, outputs, channels, cells, width, slots);
}

// Part p of the gradient of weights and bias: part[p, o, k] = sum over rows p * n_rows .. of dy[row, o] x[row + step(slot), c] with k = slot * channels + c; the
// last column, k = slots * channels, counts x as one and so is the gradient of the bias. Grid (tiles of 64 x 64, parts), 256 threads with 4 x 4 sums.
KERNEL conv_wgrad(float* part, const float* dy, const float* x, const u32* around, int rows, int channels, int outputs, int cells,
                  int width, int slots, int n_rows) {
    __shared__ __align__(16) float d[16][64 + 4];
    __shared__ __align__(16) float g[16][64 + 4];
    int t = threadIdx.x, depth = slots * channels, across = (depth + 64) / 64;
    int k0 = blockIdx.x % across * 64, out0 = blockIdx.x / across * 64;
    int own = t & 63, m_own = t >> 6, k = k0 + own, o = out0 + own;
    int slot = k / channels, c = k - slot * channels;
    bool inside = k < depth, one = k == depth;
    long long shift = (long long)(inside ? step_to(slot, width, slots) : 0) * channels + c;
    int first = blockIdx.y * n_rows, last = min(rows, first + n_rows), stride = 16 % cells;
    int cell[4];
    float sum[4][4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        cell[i] = (first + m_own + 4 * i) % cells;
#pragma unroll
        for (int j = 0; j < 4; j++) sum[i][j] = 0.f;
    }
    for (int m0 = first; m0 < last; m0 += 16) {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            int row = m0 + m_own + 4 * i;
            float v = 0.f, u = 0.f;
            if (row < last) {
                if (o < outputs) u = dy[(long long)row * outputs + o];
                if (one) v = 1.f;
                if (inside && (around[cell[i]] >> slot & 1u)) v = x[(long long)row * channels + shift];
            }
            d[m_own + 4 * i][own] = u;
            g[m_own + 4 * i][own] = v;
            cell[i] += stride;
            if (cell[i] >= cells) cell[i] -= cells;
        }
        __syncthreads();
        int ty = t >> 4, tx = t & 15;
#pragma unroll
        for (int m = 0; m < 16; m++) {
            float4 p = *reinterpret_cast<const float4*>(&d[m][ty * 4]), q = *reinterpret_cast<const float4*>(&g[m][tx * 4]);
            float u[4] = {p.x, p.y, p.z, p.w}, v[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++) sum[i][j] = fmaf(u[i], v[j], sum[i][j]);
        }
        __syncthreads();
    }
    int ty = t >> 4, tx = t & 15;
#pragma unroll
    for (int i = 0; i < 4; i++)
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int row = out0 + ty * 4 + i, column = k0 + tx * 4 + j;
            if (row < outputs && column <= depth)
                part[((long long)blockIdx.y * outputs + row) * (depth + 1) + column] = sum[i][j];
        }
}
// Sums the parts in order into the gradients of weights [outputs, depth] and bias [outputs].
KERNEL conv_reduce(float* weight, float* bias, const float* part, int outputs, int depth, int n_parts, int accumulate) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, size = outputs * (depth + 1);
    if (i >= size) return;
    float s = 0.f;
    for (int p = 0; p < n_parts; p++) s += part[(long long)p * size + i];
    int o = i / (depth + 1), k = i - o * (depth + 1);
    float* to = k < depth ? weight + (long long)o * depth + k : bias + o;
    *to = accumulate ? *to + s : s;
}

// Activations: 0 leaky ReLU, 1 hyperbolic tangent, 2 sigmoid; the gradient needs only the output.
KERNEL conv_act(float* y, const float* x, int n, int kind, float slope) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    y[i] = kind == 0 ? (v < 0.f ? slope * v : v) : kind == 1 ? tanhf(v) : 1.f / (1.f + expf(-v));
}
KERNEL conv_act_bwd(float* d, const float* y, int n, int kind, float slope) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = y[i];
    d[i] *= kind == 0 ? (v > 0.f ? 1.f : slope) : kind == 1 ? 1.f - v * v : v * (1.f - v);
}

// Losses of boards, a warp each, and the gradient of their sum times factor.
KERNEL conv_mse(float* d, float* loss, const float* y, const float* target, const float* weight, int n, int outputs, float factor) {
    int board = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (board >= n) return;
    float s = 0.f;
    for (int o = lane; o < outputs; o += 32) {
        long long i = (long long)board * outputs + o;
        float w = weight[i], error = 0.f;
        // What has no weight may have any target, even one that is not a number.
        if (w != 0.f) error = y[i] - target[i];
        s += w * error * error;
        d[i] = 2.f * factor * w * error;
    }
    s = warp_sum(s);
    if (lane == 0) loss[board] = s;
}
KERNEL conv_ce(float* d, float* loss, const float* y, const float* target, const float* weight, int n, int outputs, float factor) {
    int board = (blockIdx.x * blockDim.x + threadIdx.x) >> 5, lane = threadIdx.x & 31;
    if (board >= n) return;
    long long at = (long long)board * outputs;
    float top = -INF, total = 0.f, mass = 0.f, picked = 0.f;
    for (int o = lane; o < outputs; o += 32)
        if (weight[at + o] > 0.f) top = fmaxf(top, y[at + o]);
    top = warp_max(top);
    for (int o = lane; o < outputs; o += 32)
        if (weight[at + o] > 0.f) {
            float shifted = y[at + o] - top;
            total += expf(shifted);
            mass += target[at + o];
            picked += target[at + o] * shifted;
        }
    total = warp_sum(total);
    mass = warp_sum(mass);
    picked = warp_sum(picked);
    for (int o = lane; o < outputs; o += 32) {
        float v = 0.f;
        if (weight[at + o] > 0.f) v = factor * (mass * expf(y[at + o] - top) / total - target[at + o]);
        d[at + o] = v;
    }
    // A board without open outputs loses nothing; a total that is not a number must be seen.
    if (lane == 0) loss[board] = total == 0.f ? 0.f : mass * logf(total) - picked;
}
