// Gradients of masked attention of short sequences in one launch: scores, exponentials and their gradients are computed once.
// A block takes one head of one sequence of up to 16 T tokens, T / 2 warps; queries, keys, values and the gradient of the
// output lie in shared memory. A warp holds the gradients of two tiles of 16 keys, the w-th from either end, so that a causal
// mask gives all warps the same work. It leaves the gradients of scores in shared memory, from which, after a barrier, the
// warps make those of queries. This is done twice, for half the tiles of queries each, as shared memory is what limits
// the blocks of a multiprocessor.
//
// spans[i] = {first token, tokens, first of its views, unused tokens to clear where there are none}; views[tile of queries] =
// {tiles of keys some of them sees, a bit each, and from bit 16 on the slot of the first; tiles all of them see}.
#define SIDE 16
#define ROW (2 * HD) // bytes of a row
// Blocks a multiprocessor holds, by registers: 16 warps in the backward pass, half as many with 64 columns; 24 and 16 in the forward pass.
#define SPAN_BLOCKS(T) ((HD > 32 ? 8 : 16) / (T / 2))
#define SPAN_FWD_BLOCKS(T) ((HD > 32 ? 16 : 24) / (T / 2))

// Offset of 8 columns of a row. Rows lie close together; chunks change places so that ldmatrix meets no bank twice.
__device__ __forceinline__ u32 place(int row, int chunk) { return row * ROW + ((chunk ^ (HD == 32 ? (row >> 1) & 3 : row & 7)) << 4); }
// The i-th tile of queries of a half: 0, 3, 4, 7 .. or 1, 2, 5, 6 .., which under a causal mask see the same number of keys.
__device__ __forceinline__ int tile_of(int half, int i) { return (i >> 1) * 4 + (half ? 1 + (i & 1) : 3 * (i & 1)); }

// 16 rows of an accumulator by way of a tile of shared memory that only this warp uses, so that whole rows are stored: `rows` of them, ld apart.
__device__ __forceinline__ void store_tile(bf16* to, int ld, int rows, float c[NO][4], bf16* tile, int lane) {
    int g = lane >> 2, t2 = (lane & 3) * 2;
#pragma unroll
    for (int j = 0; j < NO; j++) {
        *reinterpret_cast<u32*>(tile + place(g, j) / 2 + t2) = pack(c[j][0], c[j][1]);
        *reinterpret_cast<u32*>(tile + place(g + 8, j) / 2 + t2) = pack(c[j][2], c[j][3]);
    }
    __syncwarp();
    int chunk = lane % (HD / 8), first = lane / (HD / 8);
#pragma unroll
    for (int i = 0; i < HD / 16; i++) {
        int r = first + i * (256 / HD);
        Vec<8> v;
        v.load(tile + place(r, chunk) / 2);
        if (r < rows) v.store(to + r * ld + chunk * 8);
    }
    __syncwarp();
}

__device__ __forceinline__ u32 load_word(u32 a) {
    u32 r;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(r) : "r"(a));
    return r;
}
__device__ __forceinline__ uint2 load_pair(u32 a) {
    uint2 r;
    asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(r.x), "=r"(r.y) : "r"(a));
    return r;
}
__device__ __forceinline__ float4 load_shared(u32 a) {
    float4 r;
    asm volatile("ld.shared.v4.f32 {%0,%1,%2,%3}, [%4];" : "=f"(r.x), "=f"(r.y), "=f"(r.z), "=f"(r.w) : "r"(a));
    return r;
}
__device__ __forceinline__ void store_shared(u32 a, u32 v) { asm volatile("st.shared.u32 [%0], %1;" ::"r"(a), "r"(v) : "memory"); }
// A number the compiler keeps, rather than compute it again in every step.
__device__ __forceinline__ u32 kept(u32 x) {
    asm volatile("" : "+r"(x));
    return x;
}

// What all steps of a warp share: a lane's addresses.
template <int ROWS> struct Span {
    static const int KEYS = ROWS * ROW, VALUES = 2 * ROWS * ROW, OUTS = 3 * ROWS * ROW; // the matrices behind that of queries
    static const int SUMS = 4 * ROWS * ROW, MASKS = SUMS + 8 * ROWS, VIEWS = MASKS + 4 * ROWS;
    u32 plain, across; // queries, for rows taken as they are, and for fragments of 16 rows or turned rows
    u32 sums;          // lse and delta of two queries
    u32 slots;         // gradients of scores, 16 x 16 each, keys by queries
    u32 base;          // of all shared memory; masks are prefix_end, branch_start from bit 9 on, position from bit 18 on
    int len;
    float scale;
};

// A tile of queries and N tiles of keys: adds to the gradients of keys and values, leaves those of scores behind.
template <int N, int ROWS>
__device__ __forceinline__ void span_step(float (*dk)[NO][4], float (*dv)[NO][4], const Span<ROWS>& z, int q, const int* tiles, uint2 view) {
    typedef Span<ROWS> Z;
    u32 at = q * SIDE * ROW;
    float s[N][2][4] = {}, dp[N][2][4] = {};
#pragma unroll
    for (int k = 0; k < HD / 32; k++)
#pragma unroll
        for (int side = 0; side < 2; side++) {
            u32 b[2][4], rows = (z.plain ^ (k * 64)) + at + (side ? Z::OUTS : 0);
            ldm4(b[0], rows);
            ldm4(b[1], rows + 8 * ROW);
#pragma unroll
            for (int p = 0; p < N; p++) {
                float(*c)[4] = side ? dp[p] : s[p];
#pragma unroll
                for (int i = 0; i < 2; i++) {
                    u32 a[4];
                    ldm4(a, (z.across ^ (k * 64 + i * 32)) + tiles[p] * SIDE * ROW + (side ? Z::VALUES : Z::KEYS));
                    mma(c[0], a, b[0][2 * i], b[0][2 * i + 1]);
                    mma(c[1], a, b[1][2 * i], b[1][2 * i + 1]);
                }
            }
        }
#pragma unroll
    for (int p = 0; p < N; p++)
        if (!((view.y >> tiles[p]) & 1u)) {
            // each lane finds out which of the 16 keys one query sees, and hands it round
            int lane = threadIdx.x & 31, g = lane >> 2, t2 = (lane & 3) * 2;
            int query = q * SIDE + (lane & 15), first = tiles[p] * SIDE;
            u32 m = load_word(z.base + Z::MASKS + query * 4), sees = seen(first, query, m & 511u, m >> 9 & 511u) & lowest(z.len - first);
#pragma unroll
            for (int j = 0; j < 2; j++)
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    u32 keys = __shfl_sync(FULL, sees, j * 8 + t2 + e) >> g;
                    s[p][j][e] = keys & 1u ? s[p][j][e] : -INF;
                    s[p][j][e + 2] = keys & 256u ? s[p][j][e + 2] : -INF;
                }
        }
#pragma unroll
    for (int j = 0; j < 2; j++) {
        float4 sum = load_shared(z.sums + (q * 2 + j) * 64);
#pragma unroll
        for (int p = 0; p < N; p++)
#pragma unroll
            for (int e = 0; e < 4; e++) {
                float x = ex2(s[p][j][e] * z.scale - (e & 1 ? sum.z : sum.x));
                dp[p][j][e] = x * (dp[p][j][e] - (e & 1 ? sum.w : sum.y));
                s[p][j][e] = x;
            }
    }
    u32 pa[N][4], da[N][4];
#pragma unroll
    for (int p = 0; p < N; p++) {
        as_fragment(pa[p], s[p]);
        as_fragment(da[p], dp[p]);
        u32 slot = z.slots + ((view.x >> 16) + __popc(view.x & 0xffffu & ((1u << tiles[p]) - 1))) * (2 * SIDE * SIDE);
#pragma unroll
        for (int i = 0; i < 4; i++) store_shared(slot + i * 128, da[p][i]);
    }
#pragma unroll
    for (int j = 0; j < HD / 16; j++) {
        u32 b[4], rows = (z.across ^ (j * 32)) + at;
        ldm4t(b, rows + Z::OUTS);
#pragma unroll
        for (int p = 0; p < N; p++) {
            mma(dv[p][2 * j], pa[p], b[0], b[1]);
            mma(dv[p][2 * j + 1], pa[p], b[2], b[3]);
        }
        ldm4t(b, rows);
#pragma unroll
        for (int p = 0; p < N; p++) {
            mma(dk[p][2 * j], da[p], b[0], b[1]);
            mma(dk[p][2 * j + 1], da[p], b[2], b[3]);
        }
    }
}

// Dynamic shared memory: 16 T rows of four matrices, of sums (8 bytes) and masks (4), T views (8), with QKNORM T rows of HD floats, then the slots.
template <int T>
__device__ __forceinline__ void span_bwd(const bf16* qk, const bf16* qkv, const int4* spans, const uint2* views, const int* prefix_end,
                                         const int* branch_start, const bf16* out, const bf16* dout, const float* lse, bf16* dqkv,
                                         Turn turn_q, Turn turn_k, int n, float scale) {
    const int WARPS = T / 2, ROWS = T * SIDE, THREADS = 32 * WARPS, CHUNKS = HD / 8;
    int h = blockIdx.x % NH, lane = threadIdx.x & 31, g = lane >> 2, t2 = (lane & 3) * 2;
    int warp = __shfl_sync(FULL, (int)threadIdx.x >> 5, 0);
    int4 t = load_early(spans + blockIdx.x / NH);
    bf16 *dq_to = dqkv + h * HD, *dk_to = dq_to + D, *dv_to = dk_to + D;
    if (t.y == 0) {
        for (int i = threadIdx.x; i < t.w * 3 * CHUNKS; i += THREADS)
            *reinterpret_cast<uint4*>(dq_to + (size_t)(t.x + i / (3 * CHUNKS)) * (3 * D) + (i / CHUNKS % 3) * D + (i % CHUNKS) * 8) =
                make_uint4(0, 0, 0, 0);
        return;
    }
    int start = t.x, len = t.y, n_tiles = (len + SIDE - 1) / SIDE;
    float2* sums = reinterpret_cast<float2*>(sm + 4 * ROWS * HD);
    u32* masks = reinterpret_cast<u32*>(sums + ROWS);
    uint2* view = reinterpret_cast<uint2*>(masks + ROWS);
    float* gains = reinterpret_cast<float*>(view + T);
    float* gains_end = gains + (QKNORM ? T * HD : 0);
    u32 base = shared_address(sm), slots = shared_address(gains_end);
    Span<ROWS> z;
    z.plain = kept(base + place(lane & 7, lane >> 3));
    z.across = kept(base + place(lane & 15, lane >> 4));
    z.sums = kept(base + Span<ROWS>::SUMS + (lane & 3) * 16);
    z.slots = kept(slots + lane * 4);
    z.base = kept(base);
    z.len = len;
    z.scale = scale * LOG2E;

    // There are as many threads as rows, so each brings one chunk of as many rows as there are chunks.
    int chunk = threadIdx.x % CHUNKS, first = threadIdx.x / CHUNKS;
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) {
        int r = first + i * (THREADS / CHUNKS);
        bool ok = r < len;
        if (r < n_tiles * SIDE) {
            size_t token = start + min(r, len - 1);
            const bf16* from = qk + token * (2 * D) + h * HD + chunk * 8;
            u32 to = base + place(r, chunk);
            copy16(to, from, ok);
            copy16(to + Span<ROWS>::KEYS, from + D, ok);
            copy16(to + Span<ROWS>::VALUES, qkv + token * (3 * D) + 2 * D + h * HD + chunk * 8, ok);
        }
    }
    copy_commit();
    int row = min((int)threadIdx.x, len - 1);
    float row_lse = lse[(size_t)h * n + start + row];
    u32 row_mask = prefix_end[start + row] | min(branch_start[start + row], 511) << 9 | turn_q.positions[start + row] << 18;
    if (threadIdx.x < n_tiles) view[threadIdx.x] = views[t.z + threadIdx.x];
#pragma unroll
    for (int i = 0; i < CHUNKS; i += 4) {
        Vec<8> o[4], d[4];
#pragma unroll
        for (int j = 0; j < 4; j++) {
            size_t at = (size_t)(start + min(first + (i + j) * (THREADS / CHUNKS), len - 1)) * D + h * HD + chunk * 8;
            o[j].load(out + at);
            d[j].load(dout + at);
        }
#pragma unroll
        for (int j = 0; j < 4; j++) {
            int r = first + (i + j) * (THREADS / CHUNKS);
            float x[8], y[8], sum = 0.f;
            o[j].unpack(x);
            d[j].unpack(y);
#pragma unroll
            for (int k = 0; k < 8; k++) sum += x[k] * y[k];
#pragma unroll
            for (int k = 1; k < CHUNKS; k <<= 1) sum += __shfl_xor_sync(FULL, sum, k);
            bool ok = r < len;
            if (!ok) d[j].v = make_uint4(0, 0, 0, 0);
            d[j].store(sm + 3 * ROWS * HD + place(r, chunk) / 2);
            if (chunk == 0) sums[r].y = ok ? sum : 0.f;
        }
    }
    // rows past the end have a sum no score can reach: their probabilities are zero
    sums[threadIdx.x].x = threadIdx.x < len ? row_lse : 1e30f;
    masks[threadIdx.x] = row_mask;
#if QKNORM
    for (int i = threadIdx.x; i < T * HD; i += THREADS) gains[i] = 0.f;
#endif
    copy_wait<0>();
    __syncthreads();

    // tiles a warp does not have are one that nobody sees
    const int NONE = 31;
    bool paired = n_tiles > WARPS;
    int tiles[2] = {warp, n_tiles - 1 - warp};
    if (paired ? tiles[0] > tiles[1] : tiles[0] >= n_tiles) tiles[0] = NONE;
    if (!paired || tiles[1] <= warp) tiles[1] = NONE;
    float dk[2][NO][4] = {}, dv[2][NO][4] = {};
#pragma unroll 1
    for (int half = 0; half < 2; half++) {
        int n_queries = n_tiles / 4 * 2 + (half ? max(n_tiles % 4 - 1, 0) : n_tiles % 4 > 0);
        uint2 next = load_pair(z.base + Span<ROWS>::VIEWS + tile_of(half, 0) * 8);
#pragma unroll 1
        for (int i = 0; i < n_queries; i++) {
            int q = tile_of(half, i);
            uint2 v = next;
            next = load_pair(z.base + Span<ROWS>::VIEWS + min(tile_of(half, i + 1), T - 1) * 8);
            bool first = v.x >> tiles[0] & 1u, second = v.x >> tiles[1] & 1u;
            if (first && second)
                span_step<2>(dk, dv, z, q, tiles, v);
            else if (first)
                span_step<1>(dk, dv, z, q, tiles, v);
            else if (second)
                span_step<1>(dk + 1, dv + 1, z, q, tiles + 1, v);
        }
        // the rotation is fetched before the barrier
        Rotation rotation;
        int q = tile_of(half, warp), r0 = (q < n_tiles ? q * SIDE : 0) + g, r1 = r0 + 8;
        rotation.load(turn_q.table, masks[r0] >> 18, masks[r1] >> 18, t2);
        __syncthreads();
        float dq[NO][4] = {};
        if (q < n_tiles) {
            uint2 v = view[q];
            u32 from = slots + (v.x >> 16) * (2 * SIDE * SIDE) + ((lane >> 3 & 1) * 2 + (lane >> 4)) * 128 + (lane & 7) * 16;
#pragma unroll 1
            for (u32 left = v.x & 0xffffu; left; from += 4 * SIDE * SIDE) {
                // two tiles of keys at a time, as the loads of one hide those of the other
                u32 a[2][4], b[2][4], k[2];
                k[0] = __ffs(left) - 1;
                left &= left - 1;
                bool two = left != 0;
                k[1] = two ? __ffs(left) - 1 : k[0];
                left &= left - 1;
                ldm4t(a[0], from);
                ldm4t(a[1], two ? from + 2 * SIDE * SIDE : from);
#pragma unroll
                for (int e = 0; e < 4; e++) a[1][e] = two ? a[1][e] : 0u;
#pragma unroll
                for (int j = 0; j < HD / 16; j++) {
                    ldm4t(b[0], (z.across ^ (j * 32)) + k[0] * SIDE * ROW + Span<ROWS>::KEYS);
                    ldm4t(b[1], (z.across ^ (j * 32)) + k[1] * SIDE * ROW + Span<ROWS>::KEYS);
#pragma unroll
                    for (int p = 0; p < 2; p++) {
                        mma(dq[2 * j], a[p], b[p][0], b[p][1]);
                        mma(dq[2 * j + 1], a[p], b[p][2], b[p][3]);
                    }
                }
            }
        }
        if (half == 0) __syncthreads();
        if (q < n_tiles) {
#pragma unroll
            for (int j = 0; j < NO; j++)
#pragma unroll
                for (int e = 0; e < 4; e++) dq[j][e] *= scale;
            turn_back<true>(dq, rotation, turn_q, start + r0, start + r1, r0 < len, r1 < len, qkv + h * HD, gains + warp * HD);
            store_tile(dq_to + (size_t)(start + q * SIDE) * (3 * D), 3 * D, len - q * SIDE, dq, sm + q * SIDE * HD, lane);
        }
    }
#pragma unroll
    for (int p = 0; p < 2; p++)
        if (tiles[p] != NONE) {
            int r = tiles[p] * SIDE, r0 = r + g, r1 = r0 + 8;
            Rotation rotation;
            rotation.load(turn_k.table, masks[r0] >> 18, masks[r1] >> 18, t2);
            store_tile(dv_to + (size_t)(start + r) * (3 * D), 3 * D, len - r, dv[p], sm + (2 * ROWS + r) * HD, lane);
#pragma unroll
            for (int j = 0; j < NO; j++)
#pragma unroll
                for (int e = 0; e < 4; e++) dk[p][j][e] *= scale;
            turn_back<true>(dk[p], rotation, turn_k, start + r0, start + r1, r0 < len, r1 < len, qkv + D + h * HD, gains + (WARPS + warp) * HD);
            store_tile(dk_to + (size_t)(start + r) * (3 * D), 3 * D, len - r, dk[p], sm + (2 * ROWS + r) * HD, lane);
        }
#if QKNORM
    add_gains<WARPS>(gains, turn_q.slots);
    add_gains<WARPS>(gains + WARPS * HD, turn_k.slots);
#endif
}

// The forward pass over the same spans: a warp takes the w-th tile of queries from either end. Dynamic shared memory: 16 T rows of three matrices, T views, 16 T masks.
template <int T>
__device__ __forceinline__ void span_fwd(const bf16* qk, const bf16* qkv, const int4* spans, const uint2* views, const int* prefix_end,
                                         const int* branch_start, bf16* out, float* lse, int n, float scale) {
    const int WARPS = T / 2, ROWS = T * SIDE, THREADS = 32 * WARPS, CHUNKS = HD / 8;
    int h = blockIdx.x % NH, lane = threadIdx.x & 31, g = lane >> 2, t2 = (lane & 3) * 2;
    int warp = __shfl_sync(FULL, (int)threadIdx.x >> 5, 0);
    int4 t = load_early(spans + blockIdx.x / NH);
    if (t.y == 0) return;
    int start = t.x, len = t.y, n_tiles = (len + SIDE - 1) / SIDE;
    u32 queries = shared_address(sm), keys = queries + ROWS * ROW, values = keys + ROWS * ROW;
    u32 plain = place(lane & 7, lane >> 3), across = place(lane & 15, lane >> 4);
    uint2* view = reinterpret_cast<uint2*>(sm + 3 * ROWS * HD);
    u32* masks = reinterpret_cast<u32*>(view + T);
    int chunk = threadIdx.x % CHUNKS, first = threadIdx.x / CHUNKS;
#pragma unroll
    for (int i = 0; i < CHUNKS; i++) {
        int r = first + i * (THREADS / CHUNKS);
        bool ok = r < len;
        // keys are taken two tiles at a time
        if (r < (n_tiles + (n_tiles & 1)) * SIDE) {
            size_t token = start + min(r, len - 1);
            const bf16* from = qk + token * (2 * D) + h * HD + chunk * 8;
            u32 to = place(r, chunk);
            copy16(queries + to, from, ok);
            copy16(keys + to, from + D, ok);
            copy16(values + to, qkv + token * (3 * D) + 2 * D + h * HD + chunk * 8, ok);
        }
    }
    copy_commit();
    int row = start + min((int)threadIdx.x, len - 1);
    masks[threadIdx.x] = prefix_end[row] | branch_start[row] << 16;
    if (threadIdx.x < n_tiles) view[threadIdx.x] = views[t.z + threadIdx.x];
    copy_wait<0>();
    __syncthreads();

    float sc = scale * LOG2E;
#pragma unroll 1
    for (int p = 0; p < 2; p++) {
        int q = p ? n_tiles - 1 - warp : warp;
        if (p ? q < 0 || n_tiles <= WARPS || q <= warp : q >= n_tiles || (n_tiles > WARPS && q > n_tiles - 1 - q)) continue;
        int r0 = q * SIDE + g, r1 = r0 + 8;
        bool ok0 = r0 < len, ok1 = r1 < len;
        u32 mask0 = masks[r0], mask1 = masks[r1];
        uint2 v = view[q];
        u32 qa[KF][4];
#pragma unroll
        for (int k = 0; k < KF; k++) ldm4(qa[k], queries + q * SIDE * ROW + (across ^ (k * 32)));
        float o[NO][4] = {}, m0 = -INF, m1 = -INF, l0 = 0.f, l1 = 0.f;
#pragma unroll 1
        for (int k0 = 0; v.x & 0xffffu; k0 += 2 * SIDE, v.x = (v.x & 0xffffu) >> 2, v.y >>= 2) {
            if (!(v.x & 3u)) continue;
            float s[4][4] = {};
#pragma unroll
            for (int j = 0; j < 4; j++)
#pragma unroll
                for (int k = 0; k < HD / 32; k++) {
                    u32 b[4];
                    ldm4(b, keys + (k0 + j * 8) * ROW + (plain ^ (k * 64)));
                    mma(s[j], qa[2 * k], b[0], b[1]);
                    mma(s[j], qa[2 * k + 1], b[2], b[3]);
                }
            if ((v.y & 3u) != 3u) hide<4>(s, seen(k0, r0, mask0 & 0xffffu, mask0 >> 16), seen(k0, r1, mask1 & 0xffffu, mask1 >> 16), t2);
            float n0 = fmaxf(fmaxf(s[0][0], s[0][1]), fmaxf(s[1][0], s[1][1])), n1 = fmaxf(fmaxf(s[0][2], s[0][3]), fmaxf(s[1][2], s[1][3]));
            n0 = fmaxf(n0, fmaxf(fmaxf(s[2][0], s[2][1]), fmaxf(s[3][0], s[3][1])));
            n1 = fmaxf(n1, fmaxf(fmaxf(s[2][2], s[2][3]), fmaxf(s[3][2], s[3][3])));
            // The reference need not be the maximum: it moves only when a score is far above it, which after the first block is rare.
            if (__any_sync(FULL, n0 * sc > m0 + 8.f || n1 * sc > m1 + 8.f)) {
                n0 = fmaxf(m0, quad_max(n0) * sc);
                n1 = fmaxf(m1, quad_max(n1) * sc);
                float c0 = n0 == -INF ? 1.f : ex2(m0 - n0), c1 = n1 == -INF ? 1.f : ex2(m1 - n1);
                m0 = n0;
                m1 = n1;
                l0 *= c0;
                l1 *= c1;
                RESCALE(o, c0, c1)
            }
            // a row that has seen nothing yet has no maximum; any finite reference will do for it
            float f0 = m0 == -INF ? 0.f : m0, f1 = m1 == -INF ? 0.f : m1;
            WEIGH(s, sc, f0, f1, l0, l1)
#pragma unroll
            for (int i = 0; i < 2; i++) {
                u32 pa[4];
                as_fragment(pa, s + 2 * i);
#pragma unroll
                for (int j = 0; j < HD / 16; j++) {
                    u32 b[4];
                    ldm4t(b, values + (k0 + i * SIDE) * ROW + (across ^ (j * 32)));
                    mma(o[2 * j], pa, b[0], b[1]);
                    mma(o[2 * j + 1], pa, b[2], b[3]);
                }
            }
        }
        l0 = quad_sum(l0);
        l1 = quad_sum(l1);
        float i0 = l0 > 0.f ? 1.f / l0 : 0.f, i1 = l1 > 0.f ? 1.f / l1 : 0.f;
        RESCALE(o, i0, i1)
        store_tile(out + (size_t)(start + q * SIDE) * D + h * HD, D, len - q * SIDE, o, sm + q * SIDE * HD, lane);
        if ((lane & 3) == 0) {
            // see attend
            if (ok0) lse[(size_t)h * n + start + r0] = l0 > 0.f ? m0 + log2f(l0) : 1e30f;
            if (ok1) lse[(size_t)h * n + start + r1] = l1 > 0.f ? m1 + log2f(l1) : 1e30f;
        }
    }
}

#define SPAN_KERNELS(T)                                                                                                                  \
    KERNEL __launch_bounds__(16 * T, SPAN_FWD_BLOCKS(T))                                                                                 \
        attention_fwd_##T(const bf16* qk, const bf16* qkv, const int4* spans, const uint2* views, const int* prefix_end,                 \
                          const int* branch_start, bf16* out, float* lse, int n, float scale) {                                          \
        span_fwd<T>(qk, qkv, spans, views, prefix_end, branch_start, out, lse, n, scale);                                                \
    }                                                                                                                                    \
    KERNEL __launch_bounds__(16 * T, SPAN_BLOCKS(T))                                                                                     \
        attention_bwd_##T(const bf16* qk, const bf16* qkv, const int4* spans, const uint2* views, const int* prefix_end,                 \
                          const int* branch_start, const bf16* out, const bf16* dout, const float* lse, bf16* dqkv, Turn turn_q,         \
                          Turn turn_k, int n, float scale) {                                                                             \
        span_bwd<T>(qk, qkv, spans, views, prefix_end, branch_start, out, dout, lse, dqkv, turn_q, turn_k, n, scale);                    \
    }
// With more columns the gradients of two tiles of keys do not fit into registers.
#if HD <= 64
SPAN_KERNELS(8)
SPAN_KERNELS(16)
#endif
#if HD <= 32
SPAN_KERNELS(10)
#endif
