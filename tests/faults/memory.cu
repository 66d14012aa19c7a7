// Faults of addresses and of values that nothing wrote. Each kernel is wrong unless FIXED is defined;
// test_faults.py says how the comments read.
#ifdef FIXED
#define WRONG(bad, good) good
#else
#define WRONG(bad, good) bad
#endif

// run: out_of_bounds grid=2 block=64 args=buf:x:400,zero:y:512,i32:100
// expect: out_of_bounds thread=36 block=1 tensor=x offset=400 count=28
extern "C" __global__ void out_of_bounds(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (WRONG(true, i < n)) y[i] = x[i];  // FAULT
}

// run: index_wraps grid=1 block=32 args=zero:y:4096,i32:65536
// expect: out_of_bounds thread=1 tensor= text=does~not~fit~signed~32~bits
extern "C" __global__ void index_wraps(float* y, int pitch) {
  const int row = threadIdx.x * pitch;
  const WRONG(int, long long) at = WRONG(row * (pitch / 2 + threadIdx.x), threadIdx.x);
  y[at] = 1.0f;  // FAULT
}

// run: misaligned grid=1 block=8 args=zero:y:256,i32:1
// expect: misaligned thread=0 tensor=y offset=4
extern "C" __global__ void misaligned(float* y, int shift) {
  reinterpret_cast<float4*>(y + WRONG(shift, 4 * shift))[threadIdx.x] = make_float4(1, 2, 3, 4);  // FAULT
}

// run: shared_unwritten grid=1 block=64 args=zero:y:256
// expect: uninitialized thread=63 text='tile'[63]
extern "C" __global__ void shared_unwritten(float* y) {
  __shared__ float tile[64];
  if (threadIdx.x < WRONG(63, 64)) tile[threadIdx.x] = 1.0f;
  __syncthreads();
  y[threadIdx.x] = tile[threadIdx.x];  // FAULT
}

// run: global_unwritten grid=1 block=32 args=raw:partial:128,zero:y:128
// expect: uninitialized thread=16 tensor=partial offset=64 count=16
extern "C" __global__ void global_unwritten(float* partial, float* y) {
  if (threadIdx.x < WRONG(16, 32)) partial[threadIdx.x] = 2.0f;
  __syncwarp();
  y[threadIdx.x] = partial[threadIdx.x] * 3.0f;  // FAULT
}

// run: register_unwritten grid=1 block=32 args=buf:x:128,zero:y:128
// expect: uninitialized thread=0 count=1
extern "C" __global__ void register_unwritten(const int* x, int* y) {
  int sum = WRONG(sum, 0);
  for (int i = 0; i < x[threadIdx.x]; ++i) sum = i;
  if (threadIdx.x < 9) y[threadIdx.x + 1] = sum;  // FAULT
  __syncwarp();
  y[threadIdx.x] = x[threadIdx.x];
}

// run: local_unwritten grid=1 block=32 args=buf:x:128,zero:y:128
// expect: uninitialized thread=0
extern "C" __global__ void local_unwritten(const int* x, int* y) {
  int table[16];
  for (int i = WRONG(1, 0); i < 16; ++i) table[i] = x[i];
  if (table[x[threadIdx.x] & 15] > 3)  // FAULT
    y[threadIdx.x] = 1;
}

// run: division grid=1 block=32 args=buf:x:128,zero:y:128
// expect: division_by_zero thread=0 count=1
extern "C" __global__ void division(const int* x, int* y) {
  const int by = x[threadIdx.x];
  y[threadIdx.x] = WRONG(100 / by, by != 0 ? 100 / by : 0);  // FAULT
}

// Compare-and-swap may access a last word of which the tensor has a half; other loads may not.
// run: word_of_a_last_half grid=1 block=2 args=buf:x:6,zero:y:8,i32:1
// expect: out_of_bounds thread=1 tensor=x offset=4 count=1
extern "C" __global__ void word_of_a_last_half(unsigned* x, unsigned* y, int n) {
  unsigned* const word = x + threadIdx.x;
  if (WRONG(true, threadIdx.x == 0)) y[threadIdx.x] = *static_cast<volatile unsigned*>(word);  // FAULT
  if (n < 0) atomicCAS(word, 1u, 2u);
}

// run: last_half_of_nothing grid=1 block=1 args=raw:x:6,zero:y:4
// expect: uninitialized thread=0 tensor=x offset=4
extern "C" __global__ void last_half_of_nothing(unsigned short* x, int* y) {
  x[WRONG(0, 2)] = 1;
  auto* const word = reinterpret_cast<unsigned*>(x) + 1;
  unsigned old = *word, seen;
  do {
    seen = old;
    old = atomicCAS(word, seen, (seen & ~0xffffu) | ((seen + 1) & 0xffffu));
  } while (seen != old);
}
