// SwiGLU on gate | up, [n, 2 FF]; a thread takes 8 columns, from the last row on (see norm.cu).
KERNEL swiglu_fwd(const bf16* gu, bf16* out, int nvec) {
    int i = (gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= nvec) return;
    int row = i / (FF / 8), c = i % (FF / 8);
    const bf16* p = gu + (size_t)row * (2 * FF) + c * 8;
    Vec<8> vg, vu;
    vg.load(p);
    vu.load(p + FF);
    float g[8], u[8];
    vg.unpack(g);
    vu.unpack(u);
#pragma unroll
    for (int k = 0; k < 8; k++) g[k] = g[k] / (1.f + __expf(-g[k])) * u[k];
    vg.from(g);
    vg.store(out + (size_t)row * FF + c * 8);
}
KERNEL swiglu_bwd(const bf16* gu, const bf16* dout, bf16* dgu, int nvec) {
    int i = (gridDim.x - 1 - blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= nvec) return;
    int row = i / (FF / 8), c = i % (FF / 8);
    size_t o = (size_t)row * (2 * FF) + c * 8;
    Vec<8> vg, vu, vd;
    vg.load(gu + o);
    vu.load(gu + o + FF);
    vd.load(dout + (size_t)row * FF + c * 8);
    float g[8], u[8], d[8];
    vg.unpack(g);
    vu.unpack(u);
    vd.unpack(d);
#pragma unroll
    for (int k = 0; k < 8; k++) {
        float s = 1.f / (1.f + __expf(-g[k])), a = g[k] * s;
        float dg = d[k] * u[k] * (s + a * (1.f - s));
        u[k] = d[k] * a;
        g[k] = dg;
    }
    vg.from(g);
    vg.store(dgu + o);
    vu.from(u);
    vu.store(dgu + o + FF);
}
