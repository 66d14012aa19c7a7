// Threads that work together: shuffles, votes, barriers, atomics, locks and flags.
struct __align__(8) Padded {
  char tag;
  int value;
  short low;
};

extern "C" __global__ void clear(int* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 0;
}

// The last warp is partial: masks name only the lanes that have an element.
extern "C" __global__ void warp_ops(const int* a, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned here = __ballot_sync(~0u, i < n);
  if (i >= n) return;
  const int lane = threadIdx.x % 32, v = a[i] & 7;
  int sum = v;
  for (int d = 16; d > 0; d >>= 1) {
    const int other = __shfl_down_sync(here, sum, d);
    if (lane + d < __popc(here)) sum += other;
  }
  out[4 * i] = __shfl_sync(here, sum, 0);
  out[4 * i + 1] = __popc(__match_any_sync(here, v));
  out[4 * i + 2] = __popc(__ballot_sync(here, v & 1));
  const unsigned half = lane < 16 ? here & 0xffffu : here & 0xffff0000u;
  out[4 * i + 3] = __popc(__ballot_sync(half, v > 3));
}

// Some threads return below a branch; the others must meet again before the shuffle.
extern "C" __global__ void early_return(const int* a, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = a[i] & 63;
  if (v < 20) {
    if (v < 5) {
      out[i] = -7;
      return;
    }
    v += 100;
  }
  const unsigned here = __activemask();
  int most = v;
  for (int d = 16; d > 0; d >>= 1) {
    const int from = (threadIdx.x % 32) ^ d, other = __shfl_sync(here, most, from);
    if (here >> from & 1) most = max(most, other);
  }
  out[i] = most >= v ? v : -1;
}

extern "C" __global__ void sort_rows(const int* a, int* out) {
  __shared__ int s[128];
  const int t = threadIdx.x;
  s[t] = a[blockIdx.x * 128 + t];
  for (int k = 2; k <= 128; k <<= 1)
    for (int j = k >> 1; j > 0; j >>= 1) {
      __syncthreads();
      const int x = t ^ j;
      if (x > t && ((t & k) == 0) == (s[t] > s[x])) {
        const int v = s[t];
        s[t] = s[x];
        s[x] = v;
      }
    }
  __syncthreads();
  out[blockIdx.x * 128 + t] = s[t];
}

extern "C" __global__ void histogram(const unsigned char* a, int* out, int n) {
  __shared__ int bins[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) bins[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&bins[a[i]], 1);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (bins[i] != 0) atomicAdd(&out[i], bins[i]);
}

// Two halves of dynamic shared memory take turns.
extern "C" __global__ void scan_rows(const int* a, int* out, int cols) {
  extern __shared__ int t[];
  const int i = threadIdx.x, size = blockDim.x;
  int to = 0;
  t[i] = i < cols ? a[blockIdx.x * cols + i] & 1023 : 0;
  __syncthreads();
  for (int d = 1; d < size; d <<= 1) {
    to = 1 - to;
    const int* from = t + (1 - to) * size;
    t[to * size + i] = i >= d ? from[i] + from[i - d] : from[i];
    __syncthreads();
  }
  if (i < cols) out[blockIdx.x * cols + i] = t[to * size + i];
}

// Every thread takes the same lock: lanes of a warp must let each other go on.
extern "C" __global__ void locked_sum(const int* a, int* state, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    while (atomicCAS(&state[0], 0, 1) != 0) {
    }
    volatile int* total = state + 1;
    *total = *total + (a[i] & 255);
    __threadfence();
    atomicExch(&state[0], 0);
  }
  __syncthreads();
}

// The block that comes last adds up what the others left behind a fence.
extern "C" __global__ void last_block(const int* a, int* state, int* parts, int n) {
  __shared__ int s[128];
  __shared__ bool last;
  const int t = threadIdx.x;
  int v = 0;
  for (int i = blockIdx.x * 128 + t; i < n; i += gridDim.x * 128) v += a[i] & 1023;
  s[t] = v;
  __syncthreads();
  for (int k = 64; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) {
    parts[blockIdx.x] = s[0];
    __threadfence();
    last = atomicAdd(&state[0], 1) == (int)gridDim.x - 1;
  }
  __syncthreads();
  if (!last || t != 0) return;
  int total = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) total += ((volatile int*)parts)[i];
  state[1] = total;
}

// Structures with padding, copied whole.
extern "C" __global__ void padded(const int* a, int* out) {
  __shared__ Padded s[64];
  const int t = threadIdx.x;
  Padded p;
  p.tag = (char)t;
  p.value = a[blockIdx.x * 64 + t];
  p.low = (short)p.value;
  s[t] = p;
  __syncthreads();
  const Padded q = s[63 - t];
  out[blockIdx.x * 64 + t] = q.value ^ (q.tag + q.low);
}
