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
    asm volatile("bar.sync 0;" ::: "memory");
  } else {
    y[threadIdx.x] = 2.0f;
    asm volatile("bar.sync 0;" ::: "memory");  // FAULT
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
// expect: barrier_divergence text=no~multiple
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
