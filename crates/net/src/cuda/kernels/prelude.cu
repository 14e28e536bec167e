// Shared by all kernels. Shapes are macros set when the program is compiled for a network: D (width), FF, V, NH, HD,
// QKNORM, LAYERNORM, POSTNORM (0 or 1). No toolkit header is included, so that NVRTC needs no include path.
typedef unsigned short bf16;
typedef unsigned int u32;
typedef unsigned long long u64;
#define FULL 0xffffffffu
#define LOG2E 1.4426950408889634f
#define INF __int_as_float(0x7f800000)
#define KERNEL extern "C" __global__ void

// First words of a batch: counts, then settings, in device memory because a captured graph cannot change its arguments.
enum { C_TOKENS, C_ROWS, C_TILES, C_LR, C_LOSS_SCALE, C_WALKED };
// The optimizer's settings, then its state, then what `tick` derives for the update at hand.
enum { H_BETA1, H_BETA2, H_EPS, H_DECAY, H_CLIP, H_MOMENTUM, H_MUON_SCALE, H_AVERAGE,
       H_STEP, H_NORM, H_GRAD_SCALE, H_OK, H_LR, H_BIAS1, H_BIAS2, H_AVERAGE_NOW };

__device__ __forceinline__ float lo(u32 v) { return __uint_as_float(v << 16); }
__device__ __forceinline__ float hi(u32 v) { return __uint_as_float(v & 0xffff0000u); }
__device__ __forceinline__ float up(bf16 v) { return __uint_as_float((u32)v << 16); }
// Two floats as two bf16, the first in the low half.
__device__ __forceinline__ u32 pack(float a, float b) {
    u32 r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(b), "f"(a));
    return r;
}
__device__ __forceinline__ float rounded(float a) { return lo(pack(a, 0.f)); }

// N consecutive bf16 (N = 2, 4 or 8) as one load or store.
template <int N> struct Vec;
template <> struct Vec<8> {
    uint4 v;
    __device__ __forceinline__ void load(const bf16* p) { v = *reinterpret_cast<const uint4*>(p); }
    __device__ __forceinline__ void store(bf16* p) const { *reinterpret_cast<uint4*>(p) = v; }
    __device__ __forceinline__ void unpack(float* f) const {
        f[0] = lo(v.x); f[1] = hi(v.x); f[2] = lo(v.y); f[3] = hi(v.y);
        f[4] = lo(v.z); f[5] = hi(v.z); f[6] = lo(v.w); f[7] = hi(v.w);
    }
    __device__ __forceinline__ void from(const float* f) {
        v = make_uint4(pack(f[0], f[1]), pack(f[2], f[3]), pack(f[4], f[5]), pack(f[6], f[7]));
    }
};
template <> struct Vec<4> {
    uint2 v;
    __device__ __forceinline__ void load(const bf16* p) { v = *reinterpret_cast<const uint2*>(p); }
    __device__ __forceinline__ void store(bf16* p) const { *reinterpret_cast<uint2*>(p) = v; }
    __device__ __forceinline__ void unpack(float* f) const { f[0] = lo(v.x); f[1] = hi(v.x); f[2] = lo(v.y); f[3] = hi(v.y); }
    __device__ __forceinline__ void from(const float* f) { v = make_uint2(pack(f[0], f[1]), pack(f[2], f[3])); }
};
template <> struct Vec<2> {
    u32 v;
    __device__ __forceinline__ void load(const bf16* p) { v = *reinterpret_cast<const u32*>(p); }
    __device__ __forceinline__ void store(bf16* p) const { *reinterpret_cast<u32*>(p) = v; }
    __device__ __forceinline__ void unpack(float* f) const { f[0] = lo(v); f[1] = hi(v); }
    __device__ __forceinline__ void from(const float* f) { v = pack(f[0], f[1]); }
};

__device__ __forceinline__ float ex2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}
__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
    for (int o = 16; o; o >>= 1) x += __shfl_xor_sync(FULL, x, o);
    return x;
}
__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
    for (int o = 16; o; o >>= 1) x = fmaxf(x, __shfl_xor_sync(FULL, x, o));
    return x;
}
// Sum over a block of up to 1024 threads; the result is right in thread 0.
__device__ __forceinline__ float block_sum(float x) {
    __shared__ float partial[32];
    x = warp_sum(x);
    __syncthreads();
    if ((threadIdx.x & 31) == 0) partial[threadIdx.x >> 5] = x;
    __syncthreads();
    if (threadIdx.x < 32) x = warp_sum(threadIdx.x < ((blockDim.x + 31) >> 5) ? partial[threadIdx.x] : 0.f);
    return x;
}
