// Races. Each kernel is wrong unless FIXED is defined; test_faults.py says how the comments read.
#ifdef FIXED
#define WRONG(bad, good) good
#else
#define WRONG(bad, good) bad
#endif

// run: between_warps grid=1 block=64 args=buf:x:256,zero:y:256
// expect: race_shared text='tile'[
extern "C" __global__ void between_warps(const float* x, float* y) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];  // OTHER
  WRONG(__syncwarp(), __syncthreads());
  y[threadIdx.x] = tile[63 - threadIdx.x];  // FAULT
}

// run: write_after_read grid=1 block=64 args=buf:x:256,zero:y:256
// expect: race_shared text='tile'[
extern "C" __global__ void write_after_read(const float* x, float* y) {
  __shared__ float tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  const float v = tile[63 - threadIdx.x];  // OTHER
  WRONG(__syncwarp(), __syncthreads());
  tile[threadIdx.x] = v * 2.0f;  // FAULT
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x];
}

// run: halves grid=1 block=64 args=buf:x:256,zero:y:256
// expect: race_shared
extern "C" __global__ void halves(const float* x, unsigned short* y) {
  __shared__ unsigned short tile[64];
  tile[threadIdx.x] = x[threadIdx.x];  // OTHER
  WRONG(__syncwarp(), __syncthreads());
  y[threadIdx.x] = tile[threadIdx.x ^ 33];  // FAULT
}

// run: within_warp grid=1 block=32 args=buf:x:128,zero:y:128
// expect: race_warp text=without~__syncwarp()
extern "C" __global__ void within_warp(const float* x, float* y) {
  __shared__ float sum[32];
  sum[threadIdx.x] = x[threadIdx.x];  // OTHER
  WRONG((void)0, __syncwarp());
  if (threadIdx.x < 16) y[threadIdx.x] = sum[threadIdx.x] + sum[threadIdx.x + 16];  // FAULT
}

// run: one_place grid=1 block=32 args=buf:x:128,zero:y:128
// expect: race_warp text=which~of~them~stays
extern "C" __global__ void one_place(const float* x, float* y) {
  __shared__ float last;
  if (WRONG(threadIdx.x < 8, threadIdx.x == 7)) last = x[threadIdx.x];  // FAULT
  __syncthreads();
  y[threadIdx.x] = last;
}

// run: lost_update grid=8 block=32 args=zero:total:4
// expect: race_global tensor=total offset=0
extern "C" __global__ void lost_update(int* total) {
#ifdef FIXED
  if (threadIdx.x == 0) atomicAdd(total, 1 + blockIdx.x);
#else
  if (threadIdx.x == 0) *total += 1 + blockIdx.x;  // FAULT
#endif
}

// run: stale_partial grid=8 block=64 args=zero:partial:64,zero:count:4,zero:y:4
// expect: race_global tensor=partial
extern "C" __global__ void stale_partial(float* partial, unsigned* count, float* y) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = blockIdx.x + 1.0f;  // OTHER
    WRONG((void)0, __threadfence());
    last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  float sum = 0;
  for (int i = 0; i < gridDim.x; ++i) sum += partial[i];  // FAULT
  y[0] = sum;
}

// run: in_place grid=4 block=64 args=buf:x:1028
// expect: race_global tensor=x
extern "C" __global__ void in_place(float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float right = WRONG(x[i + 1], x[i]);
  __syncthreads();
  x[i] = right + 1.0f;
}

// run: warps_and_global grid=1 block=64 args=zero:scratch:256,zero:y:256
// expect: race_global tensor=scratch text=put~__syncthreads()
extern "C" __global__ void warps_and_global(float* scratch, float* y) {
  scratch[threadIdx.x] = threadIdx.x + 1.0f;  // OTHER
  WRONG(__syncwarp(), __syncthreads());
  y[threadIdx.x] = scratch[63 - threadIdx.x];  // FAULT
}

// run: scope_of_block grid=4 block=32 args=zero:total:4
// expect: race_global tensor=total offset=0 text=atomic~between~threads~of~one~block
extern "C" __global__ void scope_of_block(int* total) {
#ifdef FIXED
  atomicAdd(total, 1);
#else
  atomicAdd_block(total, 1);  // FAULT
#endif
}

// run: flag_of_block grid=2 block=32 args=zero:data:4,zero:flag:4,zero:y:4
// expect: race_global tensor=data
extern "C" __global__ void flag_of_block(int* data, int* flag, int* y) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = 42;  // OTHER
    WRONG(asm volatile("st.release.cta.global.u32 [%0], 1;" ::"l"(flag) : "memory"),
          asm volatile("st.release.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory"));
  } else {
    int seen = 0;
    while (seen == 0) {
      WRONG(asm volatile("ld.acquire.cta.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"),
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory"));
    }
    *y = *data;  // FAULT
  }
}

// run: last_block_without_fence grid=6 block=64 args=buf:x:1536,zero:part:24,zero:done:4,zero:y:4
// expect: race_global tensor=part text=__threadfence()
extern "C" __global__ void last_block_without_fence(const int* x, int* part, unsigned* done, int* y) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = x[blockIdx.x * 64];  // OTHER
    WRONG((void)0, __threadfence());
    last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  __threadfence();
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += static_cast<volatile int*>(part)[b];  // FAULT
  *y = sum;
}

// run: fence_before_the_store grid=6 block=64 args=buf:x:1536,zero:part:24,zero:done:4,zero:y:4
// expect: race_global tensor=part text=__threadfence()
extern "C" __global__ void fence_before_the_store(const int* x, int* part, unsigned* done, int* y) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    const int value = x[blockIdx.x * 64];
    WRONG(__threadfence(), (void)0);
    part[blockIdx.x] = value;  // OTHER
    WRONG((void)0, __threadfence());
    last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  __threadfence();
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += part[b];  // FAULT
  *y = sum;
}

// run: fence_of_one_warp grid=6 block=64 args=buf:x:1536,zero:part:1536,zero:done:4,zero:y:4
// expect: race_global tensor=part text=__threadfence()
extern "C" __global__ void fence_of_one_warp(const int* x, int* part, unsigned* done, int* y) {
  __shared__ bool last;
  part[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];  // OTHER
  WRONG((void)0, __syncthreads());
  if (threadIdx.x == 0) {
    __threadfence();
    last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  __threadfence();
  int sum = 0;
  for (unsigned i = 0; i < gridDim.x * 64; ++i) sum += part[i];  // FAULT
  *y = sum;
}

// run: read_only_path grid=2 block=32 args=buf:x:256
// expect: race_global tensor=x text=ld.global.nc
extern "C" __global__ void read_only_path(float* x) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  x[i] += 1.0f;  // OTHER
  const float seen = WRONG(__ldg(x + i), x[i]);  // FAULT
  x[i] = seen * 2.0f;
}

// run: fence_for_barrier grid=1 block=64 args=buf:x:256,zero:y:256
// expect: race_shared text='sums'[
extern "C" __global__ void fence_for_barrier(const float* x, float* y) {
  __shared__ float sums[64];
  sums[threadIdx.x] = x[threadIdx.x];  // OTHER
  WRONG(__threadfence_block(), __syncthreads());
  y[threadIdx.x] = sums[63 - threadIdx.x];  // FAULT
}

// Both the data and the flag are volatile, which orders nothing.
// run: flag_without_fence grid=2 block=32 args=zero:data:4,zero:flag:4,zero:y:4
// expect: race_global tensor=data text=__threadfence()~between~that~store~and~the~write~of~the~flag~(st.volatile
extern "C" __global__ void flag_without_fence(volatile int* data, volatile int* flag, int* y) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = 42;  // OTHER
    WRONG((void)0, __threadfence());
    *flag = 1;
  } else {
    while (*flag == 0) {
    }
    __threadfence();
    *y = *data;  // FAULT
  }
}

// run: chained_sums grid=6 block=32 args=buf:x:768,zero:sum:24,zero:ready:24,zero:y:24
// expect: race_global tensor=sum text=__threadfence()
extern "C" __global__ void chained_sums(const int* x, volatile int* sum, int* ready, int* y) {
  const int b = blockIdx.x;
  if (threadIdx.x != 0) return;
  int own = x[b * 32];
  if (b > 0) {
    while (atomicAdd(&ready[b - 1], 0) == 0) {
    }
    own += sum[b - 1];  // FAULT
  }
  sum[b] = own;  // OTHER
  WRONG((void)0, __threadfence());
  atomicExch(&ready[b], 1);
  y[b] = own;
}

// run: last_of_volatile_parts grid=6 block=64 args=buf:x:1536,zero:part:24,zero:done:4,zero:y:4
// expect: race_global tensor=part text=the~write~of~the~flag~(atom.
extern "C" __global__ void last_of_volatile_parts(const int* x, volatile int* part, unsigned* done, int* y) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = x[blockIdx.x * 64];  // OTHER
    WRONG((void)0, __threadfence());
    last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += part[b];  // FAULT
  *y = sum;
}

// The fence is there before the data.
// run: relaxed_message grid=2 block=32 args=zero:data:4,zero:flag:4,zero:y:4
// expect: race_global tensor=data
extern "C" __global__ void relaxed_message(int* data, int* flag, int* y) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    WRONG(__threadfence(), (void)0);
    asm volatile("st.relaxed.gpu.global.u32 [%0], 42;" ::"l"(data) : "memory");  // OTHER
    WRONG((void)0, __threadfence());
    asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory");
  } else {
    int seen = 0;
    while (seen == 0) asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flag) : "memory");
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(data) : "memory");  // FAULT
    *y = seen;
  }
}

// The half of a word that ends the tensor.
// run: last_half_beside_a_swap grid=2 block=32 args=zero:x:6
// expect: race_global tensor=x
extern "C" __global__ void last_half_beside_a_swap(unsigned short* x) {
  if (threadIdx.x != 0) return;
  if (WRONG(blockIdx.x == 0, false)) {
    x[2] = 7;  // OTHER
    return;
  }
  auto* const word = reinterpret_cast<unsigned*>(x) + 1;
  unsigned old = *word, seen;  // FAULT
  do {
    seen = old;
    old = atomicCAS(word, seen, (seen & ~0xffffu) | ((seen + 1) & 0xffffu));
  } while (seen != old);
}

// A wait with pauses, whose first look at the flag the compiler moves in front of the loop.
// run: flag_with_pauses grid=2 block=32 args=zero:data:4,zero:flag:4,zero:y:4
// expect: race_global tensor=data
extern "C" __global__ void flag_with_pauses(volatile int* data, volatile int* flag, int* y) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = 42;  // OTHER
    WRONG((void)0, __threadfence());
    *flag = 1;
  } else {
    unsigned pause = 16;
    while (*flag == 0) {
      asm volatile("nanosleep.u32 %0;" ::"r"(pause));
      if (pause < 512) pause += pause / 2;
    }
    __threadfence();
    *y = *data;  // FAULT
  }
}

// A wait that gives up, which the compiler unrolls and enters in the middle.
// run: flag_until_too_late grid=2 block=32 args=zero:data:4,zero:flag:4,zero:y:8
// expect: race_global tensor=data
extern "C" __global__ void flag_until_too_late(volatile int* data, volatile int* flag, int* y) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = 42;  // OTHER
    WRONG((void)0, __threadfence());
    *flag = 1;
  } else {
    int looks = 0;
    while (*flag == 0) {
      if (++looks > 2000000) {
        y[1] = 1;
        return;
      }
    }
    __threadfence();
    *y = *data;  // FAULT
  }
}
