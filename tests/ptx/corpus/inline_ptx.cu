// Inline PTX as libraries have it: nested scopes, predicates, carry chains, bit fields, cache hints.
extern "C" __global__ void inline_ptx(const unsigned* in, unsigned* out, unsigned long long* wide) {
  const unsigned x = in[threadIdx.x], y = in[threadIdx.x + 1];
  unsigned v, w;
  asm("{ .reg .pred p; .reg.b16 lo, hi; setp.lt.u32 p, %1, %2; selp.u32 %0, %1, %2, p; mov.b32 {lo, hi}, %0; mov.b32 %0, {hi, lo}; }"
      : "=r"(v) : "r"(x), "r"(y));
  asm("lop3.b32 %0, %1, %2, %3, 0xE8;" : "=r"(w) : "r"(x), "r"(y), "r"(v));
  asm("add.cc.u32 %0, %0, %2; addc.cc.u32 %1, %1, %3; addc.u32 %0, %0, 0;" : "+r"(v), "+r"(w) : "r"(x), "r"(y));
  asm("sub.cc.u32 %0, %0, %2; subc.u32 %1, %1, %3;" : "+r"(v), "+r"(w) : "r"(x), "r"(y));
  asm("mad.lo.cc.u32 %0, %2, %3, %0; madc.hi.u32 %1, %2, %3, %1;" : "+r"(v), "+r"(w) : "r"(x), "r"(y));
  asm("bfe.u32 %0, %1, 4, 8; bfi.b32 %0, %1, %0, 3, 9; bfind.u32 %1, %0; bfind.shiftamt.s32 %0, %1;" : "+r"(v), "+r"(w));
  asm("prmt.b32 %0, %1, %2, 0x5410; shf.l.wrap.b32 %0, %0, %1, 5; szext.wrap.s32 %0, %0, 9;" : "+r"(v) : "r"(x), "r"(y));
  asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %0; mul24.lo.u32 %0, %0, %1; sad.u32 %0, %0, %1, %2;" : "+r"(v) : "r"(x), "r"(y));
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v2.u32 {%0, %1}, [%2];" : "=r"(v), "=r"(w) : "l"(in));
  asm volatile("prefetch.global.L2 [%0]; st.global.cs.u32 [%0+4], %1; st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(out), "r"(v) : "memory");
  asm volatile("red.relaxed.gpu.global.add.u32 [%0], %1; ld.acquire.gpu.global.u32 %1, [%0];" ::"l"(out), "r"(w) : "memory");
  asm volatile("{ .reg .pred p; elect_free: mov.pred p, 1; @!p bra done; add.u32 %0, %0, WARP_SZ; done: }" : "+r"(v));
  float f = __uint_as_float(x), g = __uint_as_float(y);
  asm("fma.rn.ftz.sat.f32 %0, %0, %1, %0; copysign.f32 %0, %0, %1; min.NaN.f32 %0, %0, %1;" : "+f"(f) : "f"(g));
  asm("ex2.approx.ftz.f32 %0, %0; tanh.approx.f32 %0, %0; rcp.approx.ftz.f32 %0, %0; div.full.ftz.f32 %0, %0, %1;" : "+f"(f) : "f"(g));
  asm("{ .reg .pred q; testp.finite.f32 q, %0; @q mul.rz.f32 %0, %0, 0f40000000; slct.f32.s32 %0, %0, %1, -1; }" : "+f"(f) : "f"(g));
  unsigned long long a = wide[threadIdx.x], clock;
  asm volatile("mov.u64 %0, %%globaltimer; mov.u64 %0, %%clock64;" : "=l"(clock));
  asm("{ .reg .b32 lo, hi; mov.b64 {lo, hi}, %0; mov.b64 %0, {hi, lo}; bfe.u64 %0, %0, 8, 40; }" : "+l"(a));
  unsigned lane, warp, sm, mask;
  asm volatile("mov.u32 %0, %%laneid; mov.u32 %1, %%warpid; mov.u32 %2, %%smid; mov.u32 %3, %%lanemask_lt;"
               : "=r"(lane), "=r"(warp), "=r"(sm), "=r"(mask));
  wide[threadIdx.x] = a + lane + warp + sm * 0 + mask;
  out[threadIdx.x] = v + w + __float_as_uint(f);
}
