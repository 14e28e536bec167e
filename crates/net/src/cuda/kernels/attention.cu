// Masked attention on mma.sync (bf16 in, f32 out). A tile is 64 rows of one sequence; a block of 4 warps takes one tile of
// one head, each warp 16 rows, and streams the other side in blocks of 64 rows through shared memory.
//
// Token i of a sequence sees key j of it iff j < prefix_end[i] or branch_start[i] <= j <= i. tiles[t] = {first token of the
// sequence, its length, first row of the tile within it, index of the sequence's first tile}; stats[t] = {greatest and
// least prefix_end, least and greatest branch_start of the tile's rows}. A tile of length 0 covers unused tokens
// (w of them from x + z): its gradients are zero.
#define PITCH (HD + 8) // row pitch in elements: keeps ldmatrix free of bank conflicts
#define KF (HD / 16)   // fragments of an operand along the head
#define NO (HD / 8)    // accumulators of an output along the head
#define TILE 64
#define SUB (HD <= 32 ? 32 : 16) // columns of scores held at once in the backward pass
#define MAXI 0x7fffffff
extern __shared__ __align__(128) bf16 sm[]; // two stages of two tiles
// Blocks a multiprocessor holds: as many as fit without spilled registers.
#define FWD_BLOCKS (HD <= 32 ? 6 : HD <= 64 ? 4 : 2)
#define BWD_BLOCKS (HD <= 32 ? 4 : HD <= 64 ? 3 : 1)

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void ldm4(u32* r, u32 a) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
}
__device__ __forceinline__ void ldm4t(u32* r, u32 a) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(a));
}
__device__ __forceinline__ void mma(float* c, const u32* a, u32 b0, u32 b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
// 16 (or 4) bytes to shared memory without passing a register; zeros when not ok.
__device__ __forceinline__ void copy16(u32 to, const void* from, bool ok) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(ok ? 16 : 0) : "memory");
}
__device__ __forceinline__ void copy4(u32 to, const void* from, bool ok) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(ok ? 4 : 0) : "memory");
}
__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void copy_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }

// Rows row0 .. row0+63 of one head of a matrix whose rows are ld apart; rows from len on are zero.
__device__ __forceinline__ void load_tile(bf16* s, const bf16* g, int ld, int row0, int len) {
#pragma unroll
    for (int i = 0; i < TILE * (HD / 8) / 128; i++) {
        int c = threadIdx.x + i * 128, r = c / (HD / 8), k = (c % (HD / 8)) * 8;
        bool ok = row0 + r < len;
        copy16(shared_address(s + r * PITCH + k), g + (size_t)(ok ? row0 + r : 0) * ld + k, ok);
    }
}
// A operand (16 rows x HD) straight from global memory: p0 and p1 point at rows g and g + 8, column (lane & 3) * 2.
__device__ __forceinline__ void load_fragment(u32 a[KF][4], const bf16* p0, const bf16* p1, bool ok0, bool ok1) {
#pragma unroll
    for (int k = 0; k < KF; k++) {
        a[k][0] = ok0 ? *reinterpret_cast<const u32*>(p0 + k * 16) : 0u;
        a[k][1] = ok1 ? *reinterpret_cast<const u32*>(p1 + k * 16) : 0u;
        a[k][2] = ok0 ? *reinterpret_cast<const u32*>(p0 + k * 16 + 8) : 0u;
        a[k][3] = ok1 ? *reinterpret_cast<const u32*>(p1 + k * 16 + 8) : 0u;
    }
}
// c (16 x 8 NT) += a (16 x HD) times the transpose of 8 NT rows of s.
template <int NT> __device__ __forceinline__ void times_transposed(float (*c)[4], u32 a[KF][4], const bf16* s, int row0, int lane) {
#pragma unroll
    for (int j = 0; j < NT; j++)
#pragma unroll
        for (int k = 0; k < HD / 32; k++) {
            u32 b[4];
            ldm4(b, shared_address(s + (row0 + j * 8 + (lane & 7)) * PITCH + k * 32 + (lane >> 3) * 8));
            mma(c[j], a[2 * k], b[0], b[1]);
            mma(c[j], a[2 * k + 1], b[2], b[3]);
        }
}
// c (16 x HD) += a (16 x 16) times 16 rows of s.
__device__ __forceinline__ void times(float (*c)[4], const u32* a, const bf16* s, int row0, int lane) {
#pragma unroll
    for (int j = 0; j < HD / 16; j++) {
        u32 b[4];
        ldm4t(b, shared_address(s + (row0 + (lane & 15)) * PITCH + j * 16 + (lane >> 4) * 8));
        mma(c[2 * j], a, b[0], b[1]);
        mma(c[2 * j + 1], a, b[2], b[3]);
    }
}
// Two neighbouring 16 x 8 accumulators as one 16 x 16 A operand.
__device__ __forceinline__ void as_fragment(u32* a, float (*c)[4]) {
    a[0] = pack(c[0][0], c[0][1]);
    a[1] = pack(c[0][2], c[0][3]);
    a[2] = pack(c[1][0], c[1][1]);
    a[3] = pack(c[1][2], c[1][3]);
}
__device__ __forceinline__ float quad_sum(float x) {
    x += __shfl_xor_sync(FULL, x, 1);
    return x + __shfl_xor_sync(FULL, x, 2);
}
__device__ __forceinline__ float quad_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(FULL, x, 1));
    return fmaxf(x, __shfl_xor_sync(FULL, x, 2));
}
// The lowest n bits: none where n is negative, all where it is 32 or more.
__device__ __forceinline__ u32 lowest(int n) {
    u32 r;
    asm("bmsk.clamp.b32 %0, 0, %1;" : "=r"(r) : "r"(max(n, 0)));
    return r;
}
// Which of keys k0 .. k0+31 a query sees, a bit each. Masks are tested as bits because a branch or three comparisons for
// every score would cost more than the products do.
__device__ __forceinline__ u32 seen(int k0, int query, int prefix_end, int branch_start) {
    return lowest(prefix_end - k0) | (lowest(query + 1 - k0) & ~lowest(branch_start - k0));
}
// Scores of 8 NT columns that a thread's two rows do not see become -inf.
template <int NT> __device__ __forceinline__ void hide(float (*s)[4], u32 seen0, u32 seen1, int t2) {
    seen0 >>= t2;
    seen1 >>= t2;
#pragma unroll
    for (int j = 0; j < NT; j++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            s[j][e] = seen0 & (1u << (j * 8 + e)) ? s[j][e] : -INF;
            s[j][e + 2] = seen1 & (1u << (j * 8 + e)) ? s[j][e + 2] : -INF;
        }
}
// Two macros, not inline functions: NVRTC gives the functions other machine code, with other registers.
// Scores of 32 columns, times `sc`, become weights: powers of two relative to the rows' references f0 and f1. Their sums go to l0 and l1.
#define WEIGH(s, sc, f0, f1, l0, l1)              \
    _Pragma("unroll") for (int j = 0; j < 4; j++) { \
        s[j][0] = ex2(s[j][0] * sc - f0);         \
        s[j][1] = ex2(s[j][1] * sc - f0);         \
        s[j][2] = ex2(s[j][2] * sc - f1);         \
        s[j][3] = ex2(s[j][3] * sc - f1);         \
        l0 += s[j][0] + s[j][1];                  \
        l1 += s[j][2] + s[j][3];                  \
    }
// The output of a thread's two rows times c0 and c1.
#define RESCALE(o, c0, c1)                         \
    _Pragma("unroll") for (int j = 0; j < NO; j++) { \
        o[j][0] *= c0;                             \
        o[j][1] *= c0;                             \
        o[j][2] *= c1;                             \
        o[j][3] *= c1;                             \
    }
// Whether queries up to q1 with these stats may see any of keys k0..k1 (ends included).
__device__ __forceinline__ bool sees_any(int4 st, int q1, int k0, int k1) { return k0 < st.x || (st.z <= k1 && k0 <= q1); }
// A load that is not put off until its value is needed, so that it runs beside those before it.
__device__ __forceinline__ int4 load_early(const int4* p) {
    int4 r;
    asm volatile("ld.global.nc.v4.s32 {%0,%1,%2,%3}, [%4];" : "=r"(r.x), "=r"(r.y), "=r"(r.z), "=r"(r.w) : "l"(p));
    return r;
}

// First block of keys from b on that a tile of queries sees.
__device__ __forceinline__ int next_keys(int b, int n, int4 st, int q1, int len) {
    while (b < n && !sees_any(st, q1, b * TILE, min(b * TILE + TILE, len) - 1)) b++;
    return b;
}
// First block of queries from b on that sees keys k0..k1.
__device__ __forceinline__ int next_queries(int b, int n, const int4* stats, int k0, int k1, int len) {
    while (b < n && !sees_any(stats[b], min(b * TILE + TILE, len) - 1, k0, k1)) b++;
    return b;
}

// Rotates (and with QKNORM first normalizes) queries and keys: qkv [n, 3 D] -> qk [n, 2 D]. A thread takes 8 columns of
// both halves of a head, from the last token on (see norm.cu).
KERNEL rotate_qk(const bf16* qkv, const float2* table, const int* positions, const float* q_gain, const float* k_gain, bf16* qk,
                 int n, float eps) {
    const int PER = HD / 16;
    int i = (gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x;
    bool live = i < n * 2 * NH * PER;
    if (!live) i = 0;
    int c = (i % PER) * 8, h = (i / PER) % NH, part = (i / (PER * NH)) % 2, token = i / (PER * NH * 2);
    const bf16* p = qkv + (size_t)token * (3 * D) + part * D + h * HD + c;
    Vec<8> va, vb;
    va.load(p);
    vb.load(p + HD / 2);
    float x[8], y[8];
    va.unpack(x);
    vb.unpack(y);
#if QKNORM
    float s = 0.f;
#pragma unroll
    for (int k = 0; k < 8; k++) s += x[k] * x[k] + y[k] * y[k];
#pragma unroll
    for (int o = 1; o < PER; o <<= 1) s += __shfl_xor_sync(FULL, s, o);
    float r = rsqrtf(s * (1.f / HD) + eps);
    const float* gain = part ? k_gain : q_gain;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        x[k] *= r * gain[c + k];
        y[k] *= r * gain[HD / 2 + c + k];
    }
#endif
    const float2* cs = table + (size_t)positions[token] * (HD / 2) + c;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        float2 t = cs[k];
        float turned = x[k] * t.x - y[k] * t.y;
        y[k] = y[k] * t.x + x[k] * t.y;
        x[k] = turned;
    }
    if (!live) return;
    va.from(x);
    vb.from(y);
    bf16* o = qk + (size_t)token * (2 * D) + part * D + h * HD + c;
    va.store(o);
    vb.store(o + HD / 2);
}

// Where keys and values come from: the batch itself, or pages of a cache, TILE keys then TILE values each.
struct FlatKeys {
    const bf16 *keys, *values;
    __device__ __forceinline__ void load(bf16* to, int block, int len) const {
        load_tile(to, keys, 2 * D, block * TILE, len);
        load_tile(to + TILE * PITCH, values, 3 * D, block * TILE, len);
    }
};
struct PagedKeys {
    const bf16* pool;
    const int* pages;
    int stride; // from page to page, in units of 2 TILE D: a page holds all layers
    __device__ __forceinline__ void load(bf16* to, int block, int len) const {
        const bf16* page = pool + (size_t)pages[block] * stride * (2 * TILE * D);
        load_tile(to, page, D, 0, len - block * TILE);
        load_tile(to + TILE * PITCH, page + TILE * D, D, 0, len - block * TILE);
    }
};

// out [n, D], lse [NH, n] in base 2 (when asked for). Dynamic shared memory: 4 * TILE * PITCH elements.
template <class Keys>
__device__ __forceinline__ void attend(Keys keys, int4 t, int4 tile_stats, int h, const bf16* qk, const int* prefix_end, const int* branch_start,
                                       bf16* out, float* lse, int n, float scale) {
    int start = t.x, len = t.y, q0 = t.z;
    int lane = threadIdx.x & 31, g = lane >> 2, t2 = (lane & 3) * 2;
    int qw = q0 + (threadIdx.x >> 5) * 16, r0 = qw + g, r1 = r0 + 8;
    bool ok0 = r0 < len, ok1 = r1 < len;
    int n_blocks = (len + TILE - 1) / TILE, tile_last = min(q0 + TILE, len) - 1, stage = 0;
    int block = next_keys(0, n_blocks, tile_stats, tile_last, len);
    if (block < n_blocks) keys.load(sm, block, len);
    copy_commit();
    u32 qa[KF][4];
    const bf16* q = qk + (size_t)(start + r0) * (2 * D) + h * HD + t2;
    load_fragment(qa, q, q + 8 * 2 * D, ok0, ok1);
    int pe0 = ok0 ? prefix_end[start + r0] : 0, bs0 = ok0 ? branch_start[start + r0] : MAXI;
    int pe1 = ok1 ? prefix_end[start + r1] : 0, bs1 = ok1 ? branch_start[start + r1] : MAXI;
    float o[NO][4] = {}, m0 = -INF, m1 = -INF, l0 = 0.f, l1 = 0.f, sc = scale * LOG2E;
    while (block < n_blocks) {
        int following = next_keys(block + 1, n_blocks, tile_stats, tile_last, len);
        if (following < n_blocks) keys.load(sm + (stage ^ 1) * 2 * TILE * PITCH, following, len);
        copy_commit();
        copy_wait<1>();
        __syncthreads();
        const bf16 *sk = sm + stage * 2 * TILE * PITCH, *sv = sk + TILE * PITCH;
#pragma unroll 1
        for (int b = 0; b < TILE; b += 32) {
            u32 seen0 = seen(block * TILE + b, r0, pe0, bs0), seen1 = seen(block * TILE + b, r1, pe1, bs1);
            if (!__any_sync(FULL, (seen0 | seen1) != 0)) continue;
            bool all = __all_sync(FULL, (!ok0 || seen0 == FULL) && (!ok1 || seen1 == FULL));
            float s[4][4] = {};
            times_transposed<4>(s, qa, sk, b, lane);
            if (!all) hide<4>(s, seen0, seen1, t2);
            float n0 = -INF, n1 = -INF;
#pragma unroll
            for (int j = 0; j < 4; j++) {
                n0 = fmaxf(n0, fmaxf(s[j][0], s[j][1]));
                n1 = fmaxf(n1, fmaxf(s[j][2], s[j][3]));
            }
            n0 = fmaxf(m0, quad_max(n0) * sc);
            n1 = fmaxf(m1, quad_max(n1) * sc);
            // a row that has seen nothing yet keeps a maximum of -inf; any finite reference will do for it
            float f0 = n0 == -INF ? 0.f : n0, f1 = n1 == -INF ? 0.f : n1, c0 = ex2(m0 - f0), c1 = ex2(m1 - f1);
            m0 = n0;
            m1 = n1;
            l0 *= c0;
            l1 *= c1;
            RESCALE(o, c0, c1)
            WEIGH(s, sc, f0, f1, l0, l1)
#pragma unroll
            for (int j = 0; j < 2; j++) {
                u32 pa[4];
                as_fragment(pa, s + 2 * j);
                times(o, pa, sv, b + 16 * j, lane);
            }
        }
        __syncthreads();
        block = following;
        stage ^= 1;
    }
    l0 = quad_sum(l0);
    l1 = quad_sum(l1);
    float i0 = l0 > 0.f ? 1.f / l0 : 0.f, i1 = l1 > 0.f ? 1.f / l1 : 0.f;
    bf16* p0 = out + (size_t)(start + r0) * D + h * HD + t2;
#pragma unroll
    for (int j = 0; j < NO; j++) {
        if (ok0) *reinterpret_cast<u32*>(p0 + j * 8) = pack(o[j][0] * i0, o[j][1] * i0);
        if (ok1) *reinterpret_cast<u32*>(p0 + 8 * D + j * 8) = pack(o[j][2] * i1, o[j][3] * i1);
    }
    if (lse != nullptr && (lane & 3) == 0) {
        // a row that sees nothing gets a sum no score can reach, so that its probabilities are zero in the backward pass
        if (ok0) lse[(size_t)h * n + start + r0] = l0 > 0.f ? m0 + log2f(l0) : 1e30f;
        if (ok1) lse[(size_t)h * n + start + r1] = l1 > 0.f ? m1 + log2f(l1) : 1e30f;
    }
}

KERNEL __launch_bounds__(128, FWD_BLOCKS) attention_fwd(const bf16* qk, const bf16* qkv, const int4* tiles, const int4* stats,
                                                        const int* counts, const int* prefix_end, const int* branch_start, bf16* out,
                                                        float* lse, int n, float scale) {
    int h = blockIdx.x % NH, tile = blockIdx.x / NH;
    int4 t = load_early(tiles + tile), tile_stats = load_early(stats + tile);
    if (tile >= counts[C_WALKED] || t.y == 0) return;
    FlatKeys keys = {qk + (size_t)t.x * (2 * D) + D + h * HD, qkv + (size_t)t.x * (3 * D) + 2 * D + h * HD};
    attend(keys, t, tile_stats, h, qk, prefix_end, branch_start, out, lse, n, scale);
}

// The same for sessions: tiles[t] = {index in the batch of the session's token 0 (negative when cached), tokens of the session, first row of
// the tile in the session, its first entry in pages}.
KERNEL __launch_bounds__(128, FWD_BLOCKS) attention_paged(const bf16* qk, const bf16* pool, const int* pages, const int4* tiles, const int4* stats,
                                                          const int* counts, const int* prefix_end, const int* branch_start, bf16* out,
                                                          int stride, float scale) {
    int h = blockIdx.x % NH, tile = blockIdx.x / NH;
    int4 t = load_early(tiles + tile), tile_stats = load_early(stats + tile);
    if (tile >= counts[C_TILES] || t.y == 0) return;
    PagedKeys keys = {pool + h * HD, pages + t.w, stride};
    attend(keys, t, tile_stats, h, qk, prefix_end, branch_start, out, (float*)nullptr, 0, scale);
}
// Puts the keys and values of new tokens into their pages: token i goes to row slots[i] % TILE of page slots[i] / TILE.
KERNEL store_pages(const bf16* qk, const bf16* qkv, const int* slots, const int* counts, bf16* pool, int stride) {
    int token = blockIdx.x;
    if (token >= counts[C_TOKENS]) return;
    int slot = slots[token];
    bf16* to = pool + (size_t)(slot / TILE) * stride * (2 * TILE * D) + (slot % TILE) * D;
    for (int c = threadIdx.x; c < D / 8; c += blockDim.x) {
        Vec<8> k, v;
        k.load(qk + (size_t)token * (2 * D) + D + c * 8);
        v.load(qkv + (size_t)token * (3 * D) + 2 * D + c * 8);
        k.store(to + c * 8);
        v.store(to + TILE * D + c * 8);
    }
}
