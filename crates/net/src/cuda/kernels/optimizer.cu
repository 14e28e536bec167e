// Clipping, AdamW, Muon and the running average on the flat buffers. codes has a byte for every 128 elements.
#define CODE_DECAY 1
#define CODE_MUON 2

KERNEL square_sum(const float4* g, float* part, int n4) {
    float s = 0.f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
        float4 a = g[i];
        s += a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w;
    }
    s = block_sum(s);
    if (threadIdx.x == 0) part[blockIdx.x] = s;
}

// Norm, clip factor and the numbers that depend on the step. A norm that is not finite clears H_OK, and then no kernel
// of the update changes anything.
KERNEL tick(float* h, const int* head, const float* part, int n) {
    float s = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) s += part[i];
    s = block_sum(s);
    if (threadIdx.x != 0) return;
    float norm = sqrtf(s), before = h[H_STEP], step = before + 1.f;
    bool ok = norm < INF;
    h[H_NORM] = norm;
    h[H_OK] = ok ? 1.f : 0.f;
    h[H_GRAD_SCALE] = norm > h[H_CLIP] ? h[H_CLIP] / norm : 1.f;
    h[H_LR] = __int_as_float(head[C_LR]);
    h[H_BIAS1] = 1.f - powf(h[H_BETA1], step);
    h[H_BIAS2] = 1.f - powf(h[H_BETA2], step);
    h[H_AVERAGE_NOW] = fminf(h[H_AVERAGE], (before + 1.f) / (before + 20.f));
    if (ok) h[H_STEP] = step;
}

struct Adam { float lr, b1, b2, eps, decay, bias1, bias2; };
__device__ __forceinline__ void adam(float& p, float& m, float& v, float g, const Adam& a) {
    m = a.b1 * m + (1.f - a.b1) * g;
    v = a.b2 * v + (1.f - a.b2) * g * g;
    p -= a.lr * ((m / a.bias1) / (sqrtf(v / a.bias2) + a.eps) + a.decay * p);
}
__device__ __forceinline__ void average(float4& a, float4 p, float keep) {
    a.x = keep * a.x + (1.f - keep) * p.x;
    a.y = keep * a.y + (1.f - keep) * p.y;
    a.z = keep * a.z + (1.f - keep) * p.z;
    a.w = keep * a.w + (1.f - keep) * p.w;
}
KERNEL adamw(float4* p, float4* m, float4* v, const float4* g, float4* mean, uint2* working, const unsigned char* codes, const float* h,
             int n4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4 || h[H_OK] == 0.f) return;
    int code = codes[i >> 5];
    if (code & CODE_MUON) return;
    Adam s = {h[H_LR], h[H_BETA1], h[H_BETA2], h[H_EPS], code & CODE_DECAY ? h[H_DECAY] : 0.f, h[H_BIAS1], h[H_BIAS2]};
    float gs = h[H_GRAD_SCALE];
    float4 a = p[i], b = m[i], c = v[i], e = g[i], w = mean[i];
    adam(a.x, b.x, c.x, e.x * gs, s);
    adam(a.y, b.y, c.y, e.y * gs, s);
    adam(a.z, b.z, c.z, e.z * gs, s);
    adam(a.w, b.w, c.w, e.w * gs, s);
    average(w, a, h[H_AVERAGE_NOW]);
    p[i] = a;
    m[i] = b;
    v[i] = c;
    mean[i] = w;
    working[i] = make_uint2(pack(a.x, a.y), pack(a.z, a.w));
}

// Muon works on packs of matrices of one shape: matrix i of len elements lies at offsets[i] of the flat buffers and at
// i * len of the pack. Grid (parts, matrices).
KERNEL muon_momentum(float* m, const float* g, const int* offsets, bf16* x, float* part, const float* h, int len) {
    const float4* gp = reinterpret_cast<const float4*>(g + offsets[blockIdx.y]);
    float4* mp = reinterpret_cast<float4*>(m + offsets[blockIdx.y]);
    uint2* xp = reinterpret_cast<uint2*>(x + (size_t)blockIdx.y * len);
    float mu = h[H_MOMENTUM], gs = h[H_GRAD_SCALE], s = 0.f;
    if (h[H_OK] == 0.f) return;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < len / 4; i += gridDim.x * blockDim.x) {
        float4 a = gp[i], b = mp[i];
        a.x *= gs; a.y *= gs; a.z *= gs; a.w *= gs;
        b.x = mu * b.x + a.x; b.y = mu * b.y + a.y; b.z = mu * b.z + a.z; b.w = mu * b.w + a.w;
        mp[i] = b;
        a.x += mu * b.x; a.y += mu * b.y; a.z += mu * b.z; a.w += mu * b.w;
        s += a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w;
        xp[i] = make_uint2(pack(a.x, a.y), pack(a.z, a.w));
    }
    s = block_sum(s);
    if (threadIdx.x == 0) part[blockIdx.y * gridDim.x + blockIdx.x] = s;
}
KERNEL muon_normalize(bf16* x, const float* part, const float* h, int len) {
    if (h[H_OK] == 0.f) return;
    float s = 0.f;
    for (int i = 0; i < (int)gridDim.x; i++) s += part[blockIdx.y * gridDim.x + i];
    float r = 1.f / (sqrtf(s) + 1e-7f);
    uint2* xp = reinterpret_cast<uint2*>(x + (size_t)blockIdx.y * len);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < len / 4; i += gridDim.x * blockDim.x) {
        uint2 v = xp[i];
        xp[i] = make_uint2(pack(lo(v.x) * r, hi(v.x) * r), pack(lo(v.y) * r, hi(v.y) * r));
    }
}
KERNEL muon_apply(float* p, float* mean, bf16* working, const int* offsets, const bf16* x, const float* h, int len, float factor) {
    if (h[H_OK] == 0.f) return;
    float lr = h[H_LR] * h[H_MUON_SCALE], decay = h[H_DECAY], keep = h[H_AVERAGE_NOW];
    float4* pp = reinterpret_cast<float4*>(p + offsets[blockIdx.y]);
    float4* ap = reinterpret_cast<float4*>(mean + offsets[blockIdx.y]);
    uint2* wp = reinterpret_cast<uint2*>(working + offsets[blockIdx.y]);
    const uint2* xp = reinterpret_cast<const uint2*>(x + (size_t)blockIdx.y * len);
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < len / 4; i += gridDim.x * blockDim.x) {
        float4 a = pp[i], w = ap[i];
        uint2 v = xp[i];
        a.x -= lr * (factor * lo(v.x) + decay * a.x);
        a.y -= lr * (factor * hi(v.x) + decay * a.y);
        a.z -= lr * (factor * lo(v.y) + decay * a.z);
        a.w -= lr * (factor * hi(v.y) + decay * a.w);
        average(w, a, keep);
        pp[i] = a;
        ap[i] = w;
        wp[i] = make_uint2(pack(a.x, a.y), pack(a.z, a.w));
    }
}

// f32 to bf16, n4 groups of four.
KERNEL to_bf16(const float4* from, uint2* to, int n4) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n4) return;
    float4 a = from[i];
    to[i] = make_uint2(pack(a.x, a.y), pack(a.z, a.w));
}
// Noise for timing: words of two bf16 of magnitude below one.
KERNEL fill_noise(u32* to, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    u32 x = (u32)i * 2654435761u + 12345u;
    x ^= x >> 16; x *= 0x85ebca6bu; x ^= x >> 13; x *= 0xc2b2ae35u; x ^= x >> 16;
    to[i] = pack((float)(x & 0xffffu) * (2.f / 65536.f) - 1.f, (float)(x >> 16) * (2.f / 65536.f) - 1.f);
}
