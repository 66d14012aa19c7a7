// Races between threads of one warp. Each kernel is wrong unless FIXED is defined; test_faults.py says how the comments read.
#ifdef FIXED
#define WRONG(bad, good) good
#else
#define WRONG(bad, good) bad
#endif

constexpr unsigned kAll = 0xffffffffu;

// run: broadcast_again grid=2 block=64 args=buf:x:512,zero:y:512
// expect: race_warp thread=0 text='value'[0])~that~lane~1~of~the~same~warp~read
extern "C" __global__ void broadcast_again(const int* x, int* y) {
  __shared__ int value[2];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, i = blockIdx.x * 64 + threadIdx.x;
  int sum = 0;
#pragma unroll 1
  for (int k = 0; k < 3; ++k) {
    if (lane == 0) value[warp] = x[i + k];  // FAULT
    __syncwarp();
    sum += value[warp];  // OTHER
    WRONG((void)0, __syncwarp());
  }
  y[i] = sum;
}

// run: in_place_exchange grid=1 block=32 args=buf:x:128,zero:y:128
// expect: race_warp thread=0 count=32 text=that~lane~1~of~the~same~warp~read
extern "C" __global__ void in_place_exchange(const int* x, int* y) {
  __shared__ int s[32];
  const int lane = threadIdx.x;
  s[lane] = x[lane];
  __syncwarp();
  const int v = s[lane ^ 1];  // OTHER
  WRONG((void)0, __syncwarp());
  s[lane] = v + 2;  // FAULT
  __syncwarp();
  y[lane] = s[lane ^ 2];
}

// run: barriers_of_halves grid=1 block=64 args=buf:x:256,zero:y:256
// expect: race_warp thread=0 count=64 text=that~lane~31~of~the~same~warp~wrote
extern "C" __global__ void barriers_of_halves(const int* x, int* y) {
  __shared__ int s[64];
  const int lane = threadIdx.x % 32;
  s[threadIdx.x] = x[threadIdx.x];  // OTHER
  __syncwarp(lane < 16 ? 0xffffu : 0xffff0000u);
  y[threadIdx.x] = s[threadIdx.x ^ WRONG(31, 15)];  // FAULT
}

// run: halves_overwrite grid=1 block=32 args=buf:x:128,zero:y:128
// expect: race_warp count=32 text=of~the~same~warp~read
extern "C" __global__ void halves_overwrite(const int* x, int* y) {
  __shared__ int s[32];
  const int lane = threadIdx.x;
  s[lane] = x[lane];
  __syncwarp();
  const int v = s[lane ^ WRONG(31, 15)];  // OTHER
  __syncwarp(lane < 16 ? 0xffffu : 0xffff0000u);
  s[lane] = v;  // FAULT
  __syncwarp();
  y[lane] = s[31 - lane];
}

// run: shuffle_for_a_barrier grid=1 block=32 args=buf:x:128,zero:y:128
// expect: race_warp thread=0 count=32 text=that~lane~1~of~the~same~warp~wrote
extern "C" __global__ void shuffle_for_a_barrier(const int* x, int* y) {
  __shared__ int s[32];
  const int lane = threadIdx.x;
  s[lane] = x[lane];  // OTHER
  const int first = __shfl_sync(kAll, x[lane], 0);
  WRONG((void)0, __syncwarp());
  y[lane] = s[lane ^ 1] + first;  // FAULT
}

// run: vote_for_a_barrier grid=1 block=32 args=buf:x:128,zero:y:128
// expect: race_warp text=that~lane~31~of~the~same~warp~wrote
extern "C" __global__ void vote_for_a_barrier(const int* x, int* y) {
  __shared__ int last;
  const int lane = threadIdx.x;
  if (lane == 31) last = x[lane];  // OTHER
  const unsigned positive = __ballot_sync(kAll, x[lane] > 0);
  WRONG((void)0, __syncwarp());
  y[lane] = last + __popc(positive);  // FAULT
}

// run: fence_for_a_barrier grid=1 block=32 args=buf:x:128,zero:y:128
// expect: race_warp text=that~lane~1~of~the~same~warp~wrote
extern "C" __global__ void fence_for_a_barrier(const int* x, int* y) {
  __shared__ int s[32];
  s[threadIdx.x] = x[threadIdx.x];  // OTHER
  WRONG(__threadfence_block(), __syncwarp());
  y[threadIdx.x] = s[threadIdx.x ^ 1];  // FAULT
}

// run: volatile_reduction grid=1 block=32 args=buf:x:128,zero:y:4
// expect: race_warp text=`volatile`
extern "C" __global__ void volatile_reduction(const int* x, int* y) {
  __shared__ int s[64];
  volatile int* const v = s;
  const int t = threadIdx.x;
  v[t] = x[t];
  v[t + 32] = 0;
  __syncwarp();
  v[t] = v[t] + v[t + 32];
  __syncwarp();
  int sum = v[t] + v[t + 16];
  __syncwarp();
  v[t] = sum;  // OTHER
  WRONG((void)0, __syncwarp());
  sum = v[t] + v[t + 8];  // FAULT
  __syncwarp();
  v[t] = sum;
  if (t == 0) y[0] = sum;
}

// run: count_before_zero grid=1 block=32 args=buf:x:128,zero:y:128
// expect: race_warp thread=1 count=31 text=updates~shared~memory
extern "C" __global__ void count_before_zero(const int* x, int* y) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;  // OTHER
  WRONG((void)0, __syncwarp());
  if (x[threadIdx.x] != -12345) atomicAdd(&count, 1);  // FAULT
  __syncwarp();
  y[threadIdx.x] = count;
}

// run: count_read_early grid=1 block=32 args=buf:x:128,zero:y:128
// expect: race_warp count=32 text=of~the~same~warp~wrote
extern "C" __global__ void count_read_early(const int* x, int* y) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncwarp();
  if (x[threadIdx.x] != -12345) atomicAdd(&count, 1);  // OTHER
  WRONG((void)0, __syncwarp());
  y[threadIdx.x] = count;  // FAULT
}

// run: bytes_overlap grid=1 block=32 args=buf:x:128,zero:y:128
// expect: race_warp count=31 text=of~the~same~warp~wrote
extern "C" __global__ void bytes_overlap(const int* x, int* y) {
  __shared__ __align__(4) unsigned char s[64];
  const int lane = threadIdx.x;
  s[lane] = static_cast<unsigned char>(x[lane]);  // OTHER
  WRONG((void)0, __syncwarp());
  y[lane] = lane < 31 ? s[lane + 1] : 0;  // FAULT
}

// run: word_of_four_bytes grid=1 block=32 args=buf:x:128,zero:y:128
// expect: race_warp count=8 text=of~the~same~warp~wrote
extern "C" __global__ void word_of_four_bytes(const int* x, unsigned* y) {
  __shared__ __align__(4) unsigned char s[32];
  const int lane = threadIdx.x;
  s[lane] = static_cast<unsigned char>(x[lane]);  // OTHER
  WRONG((void)0, __syncwarp());
  if (lane < 8) y[lane] = reinterpret_cast<unsigned*>(s)[lane];  // FAULT
}

// run: vector_of_others grid=1 block=32 args=buf:x:128,zero:y:128
// expect: race_warp count=8 text=of~the~same~warp~wrote
extern "C" __global__ void vector_of_others(const int* x, int4* y) {
  __shared__ __align__(16) int s[32];
  const int lane = threadIdx.x;
  s[lane] = x[lane];  // OTHER
  WRONG((void)0, __syncwarp());
  if (lane < 8) y[lane] = reinterpret_cast<int4*>(s)[lane];  // FAULT
}

// Two host threads run the blocks: which one is named, and with it the offset, is not fixed.
// run: neighbour_in_global grid=2 block=32 args=buf:x:256,zero:t:256,zero:y:256
// expect: race_warp tensor=t thread=0 count=64
extern "C" __global__ void neighbour_in_global(const int* x, int* t, int* y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  t[i] = x[i];  // OTHER
  WRONG((void)0, __syncwarp());
  y[i] = t[i ^ 1];  // FAULT
}

// run: in_place_in_global grid=2 block=32 args=buf:x:256
// expect: race_warp tensor=x thread=0 count=64
extern "C" __global__ void in_place_in_global(int* x) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  const int v = x[i ^ 1];  // OTHER
  WRONG((void)0, __syncwarp());
  x[i] = v;  // FAULT
}

// run: halves_in_global grid=1 block=32 args=buf:x:64
// expect: race_warp tensor=x count=32
extern "C" __global__ void halves_in_global(unsigned short* x) {
  const int i = threadIdx.x;
  const unsigned short v = x[i ^ 2];  // OTHER
  WRONG((void)0, __syncwarp());
  x[i] = v;  // FAULT
}

// run: stencil_in_place grid=1 block=32 args=buf:x:128
// expect: race_warp tensor=x
extern "C" __global__ void stencil_in_place(float* x) {
  const int i = threadIdx.x;
  float v = x[i];
  if (i > 0 && i < 31) v = 0.25f * x[i - 1] + 0.5f * v + 0.25f * x[i + 1];  // OTHER
  WRONG((void)0, __syncwarp());
  x[i] = v;  // FAULT
}
