// Gradients of masked attention of long sequences in two launches: queries first (they also leave delta = sum(out * dout) behind), then keys
// and values. Scores are computed in both, which costs two products more than atomics would, and is deterministic.
// Gradients leave through the rotation (and the norm of queries and keys) straight into dqkv [n, 3 D].
#define GAIN_SLOTS 64

struct Turn {
    const float2* table;  // [positions, HD / 2] cosine and sine
    const int* positions; // [n]
    const float* gain;    // [HD]
    float* slots;         // [GAIN_SLOTS, HD], summed later
    float eps;
};

// Cosines and sines of the rows a thread has in an accumulator, two neighbouring columns each.
struct Rotation {
    float4 rows[2][NO / 2];
    __device__ __forceinline__ void load(const float2* table, int position0, int position1, int t2) {
        const float2 *p0 = table + position0 * (HD / 2) + t2, *p1 = table + position1 * (HD / 2) + t2;
#pragma unroll
        for (int j = 0; j < NO / 2; j++) {
            rows[0][j] = *reinterpret_cast<const float4*>(p0 + j * 8);
            rows[1][j] = *reinterpret_cast<const float4*>(p1 + j * 8);
        }
    }
};
// c holds the gradient of rotated rows t0 and t1 (tokens) and comes back as that of the rows themselves; raw points at the head's first column in
// [n, 3 D]. With QKNORM the gradient of the gain is left in gains (a warp's own, in shared memory), or added to what is there.
template <bool ADD>
__device__ __forceinline__ void turn_back(float c[NO][4], const Rotation& rotation, Turn turn, int t0, int t1, bool ok0, bool ok1,
                                          const bf16* raw, float* gains) {
    int lane = threadIdx.x & 31, t2 = (lane & 3) * 2;
#pragma unroll
    for (int j = 0; j < NO / 2; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            float4 r = rotation.rows[e >> 1][j];
            float co = e & 1 ? r.z : r.x, si = e & 1 ? r.w : r.y, x = c[j][e], y = c[j + NO / 2][e];
            c[j][e] = x * co + y * si;
            c[j + NO / 2][e] = y * co - x * si;
        }
#if QKNORM
    float acc[NO][2] = {};
#pragma unroll
    for (int half = 0; half < 2; half++) {
        bool ok = half ? ok1 : ok0;
        const bf16* p = raw + (size_t)(half ? t1 : t0) * (3 * D) + t2;
        float x[NO][2], s = 0.f, d = 0.f;
#pragma unroll
        for (int j = 0; j < NO; j++) {
            u32 v = ok ? *reinterpret_cast<const u32*>(p + j * 8) : 0u;
            x[j][0] = lo(v);
            x[j][1] = hi(v);
            s += x[j][0] * x[j][0] + x[j][1] * x[j][1];
        }
        float r = rsqrtf(quad_sum(s) * (1.f / HD) + turn.eps);
#pragma unroll
        for (int j = 0; j < NO; j++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                float& v = c[j][half * 2 + e];
                x[j][e] *= r;
                if (ok) acc[j][e] += v * x[j][e];
                v *= turn.gain[j * 8 + t2 + e];
                d += v * x[j][e];
            }
        d = quad_sum(d) * (1.f / HD);
#pragma unroll
        for (int j = 0; j < NO; j++)
#pragma unroll
            for (int e = 0; e < 2; e++) c[j][half * 2 + e] = (c[j][half * 2 + e] - x[j][e] * d) * r;
    }
#pragma unroll
    for (int j = 0; j < NO; j++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            float v = acc[j][e];
            v += __shfl_xor_sync(FULL, v, 4);
            v += __shfl_xor_sync(FULL, v, 8);
            v += __shfl_xor_sync(FULL, v, 16);
            if (lane < 4) gains[j * 8 + t2 + e] = ADD ? gains[j * 8 + t2 + e] + v : v;
        }
#endif
}
// Rows t0 and t1 of an accumulator, to the head's columns in [n, 3 D].
__device__ __forceinline__ void store_rows(bf16* to, float c[NO][4], int t0, int t1, bool ok0, bool ok1, int t2) {
#pragma unroll
    for (int j = 0; j < NO; j++) {
        if (ok0) *reinterpret_cast<u32*>(to + (size_t)t0 * (3 * D) + j * 8 + t2) = pack(c[j][0], c[j][1]);
        if (ok1) *reinterpret_cast<u32*>(to + (size_t)t1 * (3 * D) + j * 8 + t2) = pack(c[j][2], c[j][3]);
    }
}
// The gains of all warps, onto those of other blocks.
template <int WARPS> __device__ __forceinline__ void add_gains(const float* gains, float* slots) {
    __syncthreads();
    if (threadIdx.x >= HD) return;
    float sum = 0.f;
#pragma unroll
    for (int w = 0; w < WARPS; w++) sum += gains[w * HD + threadIdx.x];
    atomicAdd(slots + (blockIdx.x % GAIN_SLOTS) * HD + threadIdx.x, sum);
}
// Zeros in the head's columns of the unused tokens of a tile.
__device__ __forceinline__ void clear_rows(bf16* to, int4 t) {
    for (int i = threadIdx.x; i < TILE * (HD / 8); i += 128) {
        int r = i / (HD / 8);
        if (r < t.w) *reinterpret_cast<uint4*>(to + (size_t)(t.x + t.z + r) * (3 * D) + (i % (HD / 8)) * 8) = make_uint4(0, 0, 0, 0);
    }
}

// Dynamic shared memory: 4 * TILE * PITCH elements.
KERNEL __launch_bounds__(128, BWD_BLOCKS) attention_bwd_q(const bf16* qk, const bf16* qkv, const int4* tiles, const int4* stats, const int* counts,
                                              const int* prefix_end, const int* branch_start, const bf16* out, const bf16* dout,
                                              const float* lse, float* delta, bf16* dqkv, Turn turn, int n, float scale) {
    int h = blockIdx.x % NH, tile = blockIdx.x / NH;
    int4 t = load_early(tiles + tile), tile_stats = load_early(stats + tile);
    if (tile >= counts[C_WALKED]) return;
    int start = t.x, len = t.y, q0 = t.z;
    if (len == 0) {
        clear_rows(dqkv + h * HD, t);
        return;
    }
    int lane = threadIdx.x & 31, g = lane >> 2, t2 = (lane & 3) * 2;
    int qw = q0 + (threadIdx.x >> 5) * 16, r0 = qw + g, r1 = r0 + 8;
    bool ok0 = r0 < len, ok1 = r1 < len;
    const bf16* keys = qk + (size_t)start * (2 * D) + D + h * HD;
    const bf16* values = qkv + (size_t)start * (3 * D) + 2 * D + h * HD;
    int n_blocks = (len + TILE - 1) / TILE, tile_last = min(q0 + TILE, len) - 1, stage = 0;
    int block = next_keys(0, n_blocks, tile_stats, tile_last, len);
    if (block < n_blocks) {
        load_tile(sm, keys, 2 * D, block * TILE, len);
        load_tile(sm + TILE * PITCH, values, 3 * D, block * TILE, len);
    }
    copy_commit();
    u32 qa[KF][4], ga[KF][4];
    const bf16* q = qk + (size_t)(start + r0) * (2 * D) + h * HD + t2;
    load_fragment(qa, q, q + 8 * 2 * D, ok0, ok1);
    size_t at = (size_t)(start + r0) * D + h * HD + t2;
    load_fragment(ga, dout + at, dout + at + 8 * D, ok0, ok1);
    float d0 = 0.f, d1 = 0.f;
    {
        u32 oa[KF][4];
        load_fragment(oa, out + at, out + at + 8 * D, ok0, ok1);
#pragma unroll
        for (int k = 0; k < KF; k++)
#pragma unroll
            for (int e = 0; e < 4; e += 2) {
                d0 += lo(oa[k][e]) * lo(ga[k][e]) + hi(oa[k][e]) * hi(ga[k][e]);
                d1 += lo(oa[k][e + 1]) * lo(ga[k][e + 1]) + hi(oa[k][e + 1]) * hi(ga[k][e + 1]);
            }
        d0 = quad_sum(d0);
        d1 = quad_sum(d1);
    }
    size_t row = (size_t)h * n + start + r0;
    float e0 = ok0 ? lse[row] : 1e30f, e1 = ok1 ? lse[row + 8] : 1e30f;
    if ((lane & 3) == 0) {
        if (ok0) delta[row] = d0;
        if (ok1) delta[row + 8] = d1;
    }
    int pe0 = ok0 ? prefix_end[start + r0] : 0, bs0 = ok0 ? branch_start[start + r0] : MAXI;
    int pe1 = ok1 ? prefix_end[start + r1] : 0, bs1 = ok1 ? branch_start[start + r1] : MAXI;
    float dq[NO][4] = {}, sc = scale * LOG2E;
    while (block < n_blocks) {
        int following = next_keys(block + 1, n_blocks, tile_stats, tile_last, len);
        if (following < n_blocks) {
            bf16* to = sm + (stage ^ 1) * 2 * TILE * PITCH;
            load_tile(to, keys, 2 * D, following * TILE, len);
            load_tile(to + TILE * PITCH, values, 3 * D, following * TILE, len);
        }
        copy_commit();
        copy_wait<1>();
        __syncthreads();
        const bf16 *sk = sm + stage * 2 * TILE * PITCH, *sv = sk + TILE * PITCH;
#pragma unroll 1
        for (int b = 0; b < TILE; b += SUB) {
            const u32 ALL = SUB == 32 ? FULL : (1u << SUB) - 1;
            u32 seen0 = seen(block * TILE + b, r0, pe0, bs0) & ALL, seen1 = seen(block * TILE + b, r1, pe1, bs1) & ALL;
            if (!__any_sync(FULL, (seen0 | seen1) != 0)) continue;
            bool all = __all_sync(FULL, (!ok0 || seen0 == ALL) && (!ok1 || seen1 == ALL));
            float s[SUB / 8][4] = {}, dp[SUB / 8][4] = {};
            times_transposed<SUB / 8>(s, qa, sk, b, lane);
            times_transposed<SUB / 8>(dp, ga, sv, b, lane);
            if (!all) hide<SUB / 8>(s, seen0, seen1, t2);
#pragma unroll
            for (int j = 0; j < SUB / 8; j++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    dp[j][e] = ex2(s[j][e] * sc - e0) * (dp[j][e] - d0);
                    dp[j][e + 2] = ex2(s[j][e + 2] * sc - e1) * (dp[j][e + 2] - d1);
                }
#pragma unroll
            for (int j = 0; j < SUB / 16; j++) {
                u32 da[4];
                as_fragment(da, dp + 2 * j);
                times(dq, da, sk, b + 16 * j, lane);
            }
        }
        __syncthreads();
        block = following;
        stage ^= 1;
    }
#pragma unroll
    for (int j = 0; j < NO; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) dq[j][e] *= scale;
    float* gains = reinterpret_cast<float*>(sm);
    Rotation rotation;
    // Rows past the end take the rotation of the first token, rather than a position chosen by a condition: of `(size_t)(ok ? position : 0) * k`
    // ptxas 13 makes a 64-bit zero that is read before it is written (illegal addresses on sm_90).
    rotation.load(turn.table, turn.positions[start + (ok0 ? r0 : 0)], turn.positions[start + (ok1 ? r1 : 0)], t2);
    turn_back<false>(dq, rotation, turn, start + r0, start + r1, ok0, ok1, qkv + h * HD, gains + (threadIdx.x >> 5) * HD);
    store_rows(dqkv + h * HD, dq, start + r0, start + r1, ok0, ok1, t2);
#if QKNORM
    add_gains<4>(gains, turn.slots);
#endif
}

// Dynamic shared memory: 4 * TILE * PITCH elements and 2 * 4 * TILE words.
KERNEL __launch_bounds__(128, BWD_BLOCKS) attention_bwd_kv(const bf16* qk, const bf16* qkv, const int4* tiles, const int4* stats, const int* counts,
                                               const int* prefix_end, const int* branch_start, const bf16* dout, const float* lse,
                                               const float* delta, bf16* dqkv, Turn turn, int n, float scale) {
    int* words = reinterpret_cast<int*>(sm + 4 * TILE * PITCH);
    int h = blockIdx.x % NH, tile = blockIdx.x / NH;
    int4 t = load_early(tiles + tile);
    if (tile >= counts[C_WALKED]) return;
    int start = t.x, len = t.y, k0 = t.z;
    bf16 *dk_to = dqkv + D + h * HD, *dv_to = dqkv + 2 * D + h * HD;
    if (len == 0) {
        clear_rows(dk_to, t);
        clear_rows(dv_to, t);
        return;
    }
    const int4* query_stats = stats + t.w;
    int lane = threadIdx.x & 31, g = lane >> 2, t2 = (lane & 3) * 2;
    int kw = k0 + (threadIdx.x >> 5) * 16, r0 = kw + g, r1 = r0 + 8;
    bool ok0 = r0 < len, ok1 = r1 < len;
    const bf16* queries = qk + (size_t)start * (2 * D) + h * HD;
    const bf16* outs = dout + (size_t)start * D + h * HD;
    const float *row_lse = lse + (size_t)h * n + start, *row_delta = delta + (size_t)h * n + start;
    int n_blocks = (len + TILE - 1) / TILE, k_last = min(k0 + TILE, len) - 1, stage = 0;
    auto load = [&](int block, int stage) {
        bf16* to = sm + stage * 2 * TILE * PITCH;
        load_tile(to, queries, 2 * D, block * TILE, len);
        load_tile(to + TILE * PITCH, outs, D, block * TILE, len);
        int r = block * TILE + (threadIdx.x & 63), c = min(r, len - 1), *w = words + stage * 4 * TILE + (threadIdx.x & 63);
        if (threadIdx.x < 64) {
            copy4(shared_address(w), row_lse + c, r < len);
            copy4(shared_address(w + TILE), row_delta + c, r < len);
        } else {
            copy4(shared_address(w + 2 * TILE), prefix_end + start + c, r < len);
            copy4(shared_address(w + 3 * TILE), branch_start + start + c, r < len);
        }
    };
    int block = next_queries(0, n_blocks, query_stats, k0, k_last, len);
    if (block < n_blocks) load(block, 0);
    copy_commit();
    u32 ka[KF][4], va[KF][4];
    const bf16* kp = qk + (size_t)(start + r0) * (2 * D) + D + h * HD + t2;
    load_fragment(ka, kp, kp + 8 * 2 * D, ok0, ok1);
    const bf16* vp = qkv + (size_t)(start + r0) * (3 * D) + 2 * D + h * HD + t2;
    load_fragment(va, vp, vp + 8 * 3 * D, ok0, ok1);
    float dk[NO][4] = {}, dv[NO][4] = {}, sc = scale * LOG2E;
    while (block < n_blocks) {
        int following = next_queries(block + 1, n_blocks, query_stats, k0, k_last, len);
        if (following < n_blocks) load(following, stage ^ 1);
        copy_commit();
        copy_wait<1>();
        __syncthreads();
        const bf16 *sq = sm + stage * 2 * TILE * PITCH, *sd = sq + TILE * PITCH;
        const int* w = words + stage * 4 * TILE;
#pragma unroll 1
        for (int b = 0; b < TILE; b += SUB) {
            // each lane finds out which of the warp's 16 keys one query sees, and hands it round
            int i = b + (lane & (SUB - 1)), query = block * TILE + i;
            u32 sees = seen(kw, query, w[2 * TILE + i], w[3 * TILE + i]) & lowest(len - kw) & 0xffffu;
            if (query >= len) sees = 0;
            if (!__any_sync(FULL, sees != 0)) continue;
            bool all = __all_sync(FULL, sees == 0xffffu);
            float s[SUB / 8][4] = {}, dp[SUB / 8][4] = {};
            times_transposed<SUB / 8>(s, ka, sq, b, lane);
            times_transposed<SUB / 8>(dp, va, sd, b, lane);
            if (!all)
#pragma unroll
                for (int j = 0; j < SUB / 8; j++)
#pragma unroll
                    for (int e = 0; e < 2; e++) {
                        u32 keys = __shfl_sync(FULL, sees, j * 8 + t2 + e) >> g;
                        s[j][e] = keys & 1u ? s[j][e] : -INF;
                        s[j][e + 2] = keys & 256u ? s[j][e + 2] : -INF;
                    }
#pragma unroll
            for (int j = 0; j < SUB / 8; j++) {
                int c = b + j * 8 + t2;
                float2 l = *reinterpret_cast<const float2*>(w + c), d = *reinterpret_cast<const float2*>(w + TILE + c);
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    float p = ex2(s[j][e] * sc - (e & 1 ? l.y : l.x));
                    dp[j][e] = p * (dp[j][e] - (e & 1 ? d.y : d.x));
                    s[j][e] = p;
                }
            }
#pragma unroll
            for (int j = 0; j < SUB / 16; j++) {
                u32 a[4];
                as_fragment(a, s + 2 * j);
                times(dv, a, sd, b + 16 * j, lane);
                as_fragment(a, dp + 2 * j);
                times(dk, a, sq, b + 16 * j, lane);
            }
        }
        __syncthreads();
        block = following;
        stage ^= 1;
    }
#pragma unroll
    for (int j = 0; j < NO; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) dk[j][e] *= scale;
    store_rows(dv_to, dv, start + r0, start + r1, ok0, ok1, t2);
    float* gains = reinterpret_cast<float*>(sm);
    Rotation rotation;
    // Rows past the end take the rotation of the first token, rather than a position chosen by a condition: of `(size_t)(ok ? position : 0) * k`
    // ptxas 13 makes a 64-bit zero that is read before it is written (illegal addresses on sm_90).
    rotation.load(turn.table, turn.positions[start + (ok0 ? r0 : 0)], turn.positions[start + (ok1 ? r1 : 0)], t2);
    turn_back<false>(dk, rotation, turn, start + r0, start + r1, ok0, ok1, qkv + D + h * HD, gains + (threadIdx.x >> 5) * HD);
    store_rows(dk_to, dk, start + r0, start + r1, ok0, ok1, t2);
#if QKNORM
    add_gains<4>(gains, turn.slots);
#endif
}
