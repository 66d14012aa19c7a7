// Atomics of every kind and scope, volatile and ordered accesses, votes, shuffles, barriers.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda/atomic>
#include <cuda/barrier>

extern "C" __global__ void atomics(int* i, unsigned* u, unsigned long long* l, float* f, double* d, __half2* h, long long* s) {
  const int t = threadIdx.x;
  __shared__ int si[4];
  __shared__ float sf[4];
  __shared__ unsigned long long sl[4];
  if (t < 4) si[t] = 0, sf[t] = 0, sl[t] = 0;
  __syncthreads();
  atomicAdd(i, t), atomicSub(i + 1, t), atomicMin(i + 2, t), atomicMax(i + 3, t), atomicAnd(i + 4, t), atomicOr(i + 5, t);
  atomicXor(i + 6, t), atomicExch(i + 7, t), atomicCAS(i + 8, t, t + 1), atomicInc(u, 7), atomicDec(u + 1, 9);
  atomicMin(u + 2, t), atomicMax(u + 3, t), atomicAdd(l, t), atomicCAS(l + 1, 1ull, 2ull), atomicExch(l + 2, 3ull);
  atomicMax(l + 3, 5ull), atomicMin(s, -5ll), atomicAnd(l + 4, 6ull), atomicAdd(f, 1.0f), atomicAdd(d, 1.0), atomicAdd(h, *h);
  atomicAdd_block(i + 9, 1), atomicAdd_system(i + 10, 1), atomicCAS_block(i + 11, 0, 1), atomicExch(f + 1, 2.0f);
  i[12] = atomicAdd(si, t) + atomicMax(si + 1, t) + atomicCAS(si + 2, 0, t) + int(atomicAdd(sf, 1.0f)) + int(atomicAdd(sl, 3ull));
  i[13] = atomicInc(reinterpret_cast<unsigned*>(si + 3), 5) + atomicOr(i + 14, 3) + int(atomicExch(sl + 1, 4ull));
}
extern "C" __global__ void halves(__half* h, __nv_bfloat16* b, __nv_bfloat162* b2) {
  atomicAdd(h, __half(1.0f)), atomicAdd(b, __nv_bfloat16(1.0f)), atomicAdd(b2, *b2);
}
extern "C" __global__ void ordered(int* data, unsigned long long* wide) {
  cuda::atomic_ref<int, cuda::thread_scope_device> a(data[0]);
  cuda::atomic_ref<int, cuda::thread_scope_block> b(data[1]);
  cuda::atomic_ref<unsigned long long, cuda::thread_scope_system> c(wide[0]);
  a.fetch_add(1, cuda::memory_order_acq_rel), b.fetch_or(2, cuda::memory_order_relaxed), c.fetch_max(3, cuda::memory_order_release);
  int expected = 3;
  a.compare_exchange_strong(expected, 4, cuda::memory_order_seq_cst), b.exchange(5, cuda::memory_order_acquire);
  a.store(b.load(cuda::memory_order_acquire), cuda::memory_order_release), c.store(c.load(cuda::memory_order_relaxed));
  cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_device);
  cuda::atomic_ref<float, cuda::thread_scope_device> f(reinterpret_cast<float*>(data)[2]);
  f.fetch_add(1.0f, cuda::memory_order_relaxed), f.fetch_max(2.0f);
}
extern "C" __global__ void warp_functions(const int* in, int* out, volatile int* flag, unsigned long long* times) {
  const int t = threadIdx.x;
  const unsigned all = 0xffffffffu;
  int v = in[t];
  v += __shfl_sync(all, v, 3) + __shfl_up_sync(all, v, 1) + __shfl_down_sync(all, v, 2, 16) + __shfl_xor_sync(all, v, 4);
  v += __any_sync(all, v > 0) + __all_sync(all, v > 0) + __ballot_sync(all, v & 1) + __activemask();
  v += int(__shfl_sync(all, double(v), 3)) + int(__match_any_sync(all, v)) + __popc(__match_any_sync(all, (long long)v));
  int p;
  v += __match_all_sync(all, v, &p) + p + __syncthreads_count(v) + __syncthreads_and(v) + __syncthreads_or(v);
#if __CUDA_ARCH__ >= 800
  v += __reduce_add_sync(all, v) + __reduce_min_sync(all, unsigned(v)) + __reduce_xor_sync(all, unsigned(v)) + __reduce_max_sync(all, v);
#endif
  __syncwarp(), __threadfence(), __threadfence_block(), __threadfence_system(), __nanosleep(10);
  *flag = v;
  times[t] = clock64() + clock();
  out[t] = v + *flag + __ldg(in + t) + __ldcs(in + t) + __ldcg(in + t) + __ldcv(in + t);
  __stcs(out + t + 1, v), __stwt(out + t + 2, v), __stcg(out + t + 3, v);
}
extern "C" __global__ void named_barriers(int* out) {
  __shared__ int s[64];
  s[threadIdx.x & 63] = threadIdx.x;
  if (threadIdx.x < 64) asm volatile("bar.sync 1, 64;" ::: "memory");
  else asm volatile("barrier.arrive 2, 128;" ::: "memory");
  if (threadIdx.x < 64) asm volatile("barrier.sync 2, 128;" ::: "memory");
  out[threadIdx.x] = s[63 - (threadIdx.x & 63)];
}
extern "C" __global__ void block_barrier(int* data) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  data[threadIdx.x] = 1;
  bar.arrive_and_wait();
  data[threadIdx.x] += data[blockDim.x - 1 - threadIdx.x];
  auto token = bar.arrive();
  bar.wait(std::move(token));
}
