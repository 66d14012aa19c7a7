// Faults of threads: barriers, races, atomics, deadlocks, memory that nothing wrote. Correct with -DFIXED.
#include "twins.h"

extern "C" __global__ void no_barrier(const float* x, float* y) {
  __shared__ float tile[128];
  const int t = threadIdx.x, at = blockIdx.x * 128;
  tile[t] = x[at + t];
  WRONG((void)0, __syncthreads());
  y[at + t] = tile[127 - t];  // FAULT no_barrier
}

extern "C" __global__ void reduction_barrier(const float* x, float* y) {
  __shared__ float part[128];
  const int t = threadIdx.x;
  part[t] = x[blockIdx.x * 128 + t];
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];  // FAULT reduction_barrier
    WRONG((void)0, __syncthreads());
  }
  if (t == 0) y[blockIdx.x] = part[0];
}

// The tile is filled again while others still read it, when there is more than one.
extern "C" __global__ void reused_buffer(const float* x, float* y, int n) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
  for (int at = 0; at < n; at += 64) {
    tile[t] = at + t < n ? x[at + t] : 0.0f;  // FAULT reused_buffer
    __syncthreads();
    const int size = min(64, n - at);
    if (t < size) y[at + t] = tile[size - 1 - t];
    WRONG((void)0, __syncthreads());
  }
}

extern "C" __global__ void warp_synchronous(const float* x, float* y) {
  __shared__ float part[32];
  const int t = threadIdx.x;
  part[t] = x[blockIdx.x * 32 + t];
  __syncwarp();
  for (int step = 16; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];  // FAULT warp_synchronous
    WRONG((void)0, __syncwarp());
  }
  if (t == 0) y[blockIdx.x] = part[0];
}

extern "C" __global__ void divergent_barrier(const float* x, float* y, int n) {
  __shared__ float tile[128];
  const int t = threadIdx.x, at = blockIdx.x * 128;
  tile[t] = 0;
  __syncthreads();
  if (at + t < n) {
    tile[t] = x[at + t];
    WRONG(__syncthreads(), (void)0);  // FAULT divergent_barrier
  }
  __syncthreads();  // FAULT divergent_barrier
  if (at + t < n) y[at + t] = tile[t] + tile[t];
}

extern "C" __global__ void shuffle_mask(const float* x, float* y, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  const unsigned mask = __ballot_sync(kAll, i < n);
  float first = 0;
  if (i < n) first = __shfl_sync(WRONG(kAll, mask), x[i], 0);  // FAULT shuffle_mask
  __syncwarp();  // FAULT shuffle_mask
  if (i < n) y[i] = x[i] - first;
}

extern "C" __global__ void shared_unwritten(const float* x, float* y, int cols) {
  __shared__ float tile[64];
  const int t = threadIdx.x;
#ifdef FIXED
  tile[t] = 0;
  __syncthreads();
#endif
  if (t < cols) tile[t] = x[blockIdx.x * cols + t];
  __syncthreads();
  float sum = 0;
  if (t == 0)
    for (int c = 0; c < 64; ++c) sum += tile[c];  // FAULT shared_unwritten
  if (t == 0) y[blockIdx.x] = sum;  // FAULT shared_unwritten
}

extern "C" __global__ void local_unwritten(const float* x, float* y, int cols, int window) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  float last[8];
  for (int k = 0; k < WRONG(min(cols, window), window); ++k) last[k] = k < cols ? x[row * cols + k] : 0.0f;
  float sum = 0;
  for (int k = 0; k < window; ++k) sum += last[(k * 5) % window];  // FAULT local_unwritten
  y[row] = sum;  // FAULT local_unwritten
}

extern "C" __global__ void clear_total(int* total) {
  if (WRONG(false, true)) total[0] = 0;
}
extern "C" __global__ void add_to_total(const int* x, int* total, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(total, x[i]);
}

extern "C" __global__ void set_counts(int* counts) { counts[threadIdx.x] = 0; }
extern "C" __global__ void lost_update(const int* x, int* counts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef FIXED
  atomicAdd(&counts[x[i]], 1);
#else
  counts[x[i]] = counts[x[i]] + 1;  // FAULT lost_update
#endif
}

extern "C" __global__ void clear_done(unsigned* done) { *done = 0; }
// The last block sums what the others left in `part`.
extern "C" __global__ void no_fence(const float* x, volatile float* part, unsigned* done, float* y, int n) {
  __shared__ bool is_last;
  const int i = blockIdx.x * 32 + threadIdx.x;
  const float sum = warp_sum(i < n ? x[i] : 0.0f);
  if (threadIdx.x == 0) {
    const_cast<float*>(part)[blockIdx.x] = sum;  // FAULT no_fence
    WRONG((void)0, __threadfence());
    is_last = atomicAdd(done, 1) == gridDim.x - 1;
    WRONG((void)0, __threadfence());
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  float total = 0;
  for (int b = 0; b < gridDim.x; ++b) total += WRONG(const_cast<float*>(part)[b], part[b]);  // FAULT no_fence
  y[0] = total;
}

// The parts are read with volatile, which is no help: nothing says that they are there before the count is.
extern "C" __global__ void no_release(const int* x, int* part, unsigned* done, int* y, int n) {
  __shared__ bool is_last;
  const int i = blockIdx.x * 32 + threadIdx.x;
  const int sum = __reduce_add_sync(kAll, i < n ? x[i] : 0);
  if (threadIdx.x == 0) {
    part[blockIdx.x] = sum;  // FAULT no_release
    WRONG((void)0, __threadfence());
    is_last = atomicAdd(done, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  __threadfence();
  int total = 0;
  for (int b = 0; b < gridDim.x; ++b) total += static_cast<volatile int*>(part)[b];  // FAULT no_release
  y[0] = total;
}

// Each block writes its part and block 0 adds them in the same launch.
extern "C" __global__ void stale_part(const float* x, float* part, float* y, int n) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  const float sum = warp_sum(i < n ? x[i] : 0.0f);
  if (threadIdx.x == 0) part[blockIdx.x] = sum;  // FAULT stale_part
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  float total = 0;
#ifdef FIXED
  for (int k = 0; k < n; ++k) total += x[k];
#else
  for (int b = 0; b < gridDim.x; ++b) total += part[b];  // FAULT stale_part
#endif
  y[0] = total;
}

extern "C" __global__ void clear_sum(float* total) { *total = 0; }
// Declared to give the same bits each time.
extern "C" __global__ void float_atomics(const float* x, float* total, int n) {
#ifdef FIXED
  if (blockIdx.x != 0 || threadIdx.x != 0) return;
  for (int k = 0; k < n; ++k) *total += x[k];
#else
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(total, x[i]);
#endif
}

// Each block waits until all have arrived, though not all of a large grid can be resident.
extern "C" __global__ void all_resident(const float* x, unsigned* arrived, float* y, int n) {
  if (WRONG(threadIdx.x == 0, false)) {
    atomicAdd(arrived, 1);
    while (*reinterpret_cast<volatile unsigned*>(arrived) < gridDim.x) {  // FAULT all_resident
    }
  }
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}

// The lock is not given back where x is negative.
extern "C" __global__ void lock_kept(const int* x, int* lock, int* total, int n) {
  if (threadIdx.x != 0) return;
  for (int i = blockIdx.x; i < n; i += gridDim.x) {
    while (atomicCAS(lock, 0, 1) != 0) {  // FAULT lock_kept
    }
    __threadfence();
    if (x[i] < 0) {
      WRONG((void)0, atomicExch(lock, 0));
      continue;
    }
    atomicAdd(total, x[i]);
    __threadfence();
    atomicExch(lock, 0);
  }
}

extern "C" __global__ void copy_unawaited(const float* x, float* y) {
  __shared__ alignas(16) float tile[128];
  const int t = threadIdx.x;
  const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&tile[4 * t]));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + blockIdx.x * 128 + 4 * t) : "memory");
  asm volatile("cp.async.commit_group;" ::: "memory");
#ifdef FIXED
  asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
  __syncthreads();
  for (int k = t; k < 128; k += 32) y[blockIdx.x * 128 + k] = 2.0f * tile[k];  // FAULT copy_unawaited
}

// The grid waits in vain for threads that have left the loop early.
extern "C" __global__ void flag_unset(const float* x, volatile int* flag, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0 && WRONG(n < 100, true)) {
    __threadfence();
    *flag = 1;
  }
  while (*flag != 1) {  // FAULT flag_unset
  }
  if (i < n) y[i] = 2.0f * x[i];
}

extern "C" __global__ void set_zero(int* value) { *value = 0; }
