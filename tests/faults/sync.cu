// Barriers and masks. Each kernel is wrong unless FIXED is defined; test_faults.py says how the comments
// read.
#ifdef FIXED
#define WRONG(bad, good) good
#else
#define WRONG(bad, good) bad
#endif

// run: barrier_in_branch grid=1 block=64 args=zero:y:256
// expect: barrier_divergence
extern "C" __global__ void barrier_in_branch(float* y) {
  if (threadIdx.x < WRONG(16, 64)) {
    y[threadIdx.x] = 1.0f;
    asm volatile("bar.sync 0;" ::: "memory");  // FAULT
  } else {
    y[threadIdx.x] = 2.0f;
    asm volatile("bar.sync 0;" ::: "memory");
  }
}

// run: several_barriers grid=1 block=64 args=zero:y:256
// expect: barrier_divergence text=name~different~barriers
extern "C" __global__ void several_barriers(float* y) {
  const int id = WRONG(threadIdx.x / 16, threadIdx.x / 32) + 1;
  asm volatile("barrier.sync %0, %1;" ::"r"(id), "r"(WRONG(64, 32)) : "memory");  // FAULT
  y[threadIdx.x] = 1.0f;
}

// run: part_of_a_warp grid=1 block=64 args=zero:y:256,i32:48
// expect: barrier_divergence text=not~a~multiple
extern "C" __global__ void part_of_a_warp(float* y, int count) {
  if (threadIdx.x < WRONG(64, 32)) asm volatile("barrier.sync 1, %0;" ::"r"(WRONG(count, 32)) : "memory");  // FAULT
  y[threadIdx.x] = 1.0f;
}

// run: shuffle_mask grid=1 block=32 args=buf:x:128,zero:y:128
// expect: illegal_mask
extern "C" __global__ void shuffle_mask(const int* x, int* y) {
  int v = x[threadIdx.x];
  if (threadIdx.x < 16) v += __shfl_xor_sync(WRONG(0xffffffffu, 0xffffu), v, 1);  // FAULT
  v += __shfl_xor_sync(0xffffffffu, v, 2);
  y[threadIdx.x] = v;
}

// run: shuffle_beyond grid=1 block=16 args=buf:x:128,zero:y:128
// expect: uninitialized thread=0
extern "C" __global__ void shuffle_beyond(const int* x, int* y) {
  int v = x[threadIdx.x];
  const int other = __shfl_down_sync(WRONG(0xffffffffu, 0xffffu), v, 8, WRONG(32, 16));  // FAULT
  const int far = __shfl_down_sync(WRONG(0xffffffffu, 0xffffu), v, WRONG(16, 8), WRONG(32, 16));
  y[threadIdx.x] = WRONG(other + far, threadIdx.x < 8 ? other : far);
}

// run: half_skips_a_barrier grid=1 block=64 args=buf:x:256,zero:y:256
// expect: barrier_divergence text=only~16~of~the~warp's~32
extern "C" __global__ void half_skips_a_barrier(const float* x, float* y) {
  if (WRONG(threadIdx.x % 32 >= 16, true)) __syncthreads();  // FAULT
  y[threadIdx.x] = x[threadIdx.x];
}

// run: half_skips_the_last_barrier grid=1 block=64 args=buf:x:256,zero:y:256
// expect: barrier_divergence text=skip~it
extern "C" __global__ void half_skips_the_last_barrier(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];
  if (WRONG(threadIdx.x % 32 >= 16, true)) __syncthreads();  // FAULT
}

// run: half_meets_and_all_go_on grid=1 block=64 args=buf:x:256,zero:y:256,i32:5
// expect: barrier_divergence text=only~16~of~the~warp's~32
extern "C" __global__ void half_meets_and_all_go_on(const int* x, int* y, int n) {
  __shared__ int s[64];
  int v = x[threadIdx.x];
  if (WRONG(threadIdx.x % 32 >= 16, true)) {
    s[threadIdx.x] = v;
    __syncthreads();  // FAULT
    v += s[threadIdx.x ^ 1];
  }
#pragma unroll 1
  for (int k = 0; k < n; ++k) v = 3 * v + x[k];
  y[threadIdx.x] = v;
}

// run: barriers_by_lane grid=1 block=64 args=buf:x:256,zero:y:256
// expect: barrier_divergence
extern "C" __global__ void barriers_by_lane(const int* x, int* y) {
  const int n = WRONG(x[threadIdx.x] % 5, 5);
  int v = 0;
  for (int k = 0; k < n; ++k) {
    v += x[k];
    __syncthreads();  // FAULT
  }
  y[threadIdx.x] = v;
}

// run: sums_by_lane grid=1 block=32 args=buf:x:128,zero:y:128
// expect: illegal_mask
extern "C" __global__ void sums_by_lane(const int* x, int* y) {
  const int n = WRONG(x[threadIdx.x] % 5, 5);
  int sum = 0;
  for (int k = 0; k < n; ++k) sum += __reduce_add_sync(0xffffffffu, k);  // FAULT
  y[threadIdx.x] = sum;
}

__device__ __noinline__ void meet_in_a_call(float* s, int n) {
  if (threadIdx.x >= n) return;
  s[threadIdx.x] += 1.0f;
  __syncthreads();  // FAULT
}

// run: skipped_in_a_call grid=1 block=64 args=buf:x:256,zero:y:256,i32:40
// expect: barrier_divergence
extern "C" __global__ void skipped_in_a_call(const float* x, float* y, int n) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  meet_in_a_call(s, WRONG(n, 64));
  y[threadIdx.x] = s[threadIdx.x];
}

// run: skipped_shuffle grid=1 block=32 args=buf:x:128,zero:y:128,i32:16
// expect: illegal_mask
extern "C" __global__ void skipped_shuffle(const int* x, int* y, int n) {
  int v = x[threadIdx.x];
  if (threadIdx.x < n) v += __shfl_xor_sync(WRONG(0xffffffffu, 0xffffu), v, 8);  // FAULT
#pragma unroll 1
  for (int k = 0; k < n; ++k) v = 3 * v + x[k];
  y[threadIdx.x] = v;
}

// run: shuffle_from_the_exited grid=1 block=32 args=buf:x:128,zero:y:128,i32:12
// expect: uninitialized text=takes~no~part
extern "C" __global__ void shuffle_from_the_exited(const int* x, int* y, int n) {
  if (threadIdx.x < n) {
    int v = x[threadIdx.x];
    v += __shfl_xor_sync(0xffffffffu, v, WRONG(8, 1));  // FAULT
    y[threadIdx.x] = v;
  }
}

// run: parameter_gap grid=1 block=32 args=zero:y:128,i32:5,i64:0
// expect: uninitialized text=no~parameter~lies
extern "C" __global__ void parameter_gap(int* y, int n, double d) {
  int v;
  asm volatile("ld.param.u32 %0, [parameter_gap_param_1+" WRONG("4", "0") "];" : "=r"(v));  // FAULT
  y[threadIdx.x] = v + static_cast<int>(d);
}
