// A test replacement for libcublas.so.13: multiplies host matrices by the rules of BLAS,
// column-major. TF32 rounds the factors, so that its use is visible.
#include <cstdint>
#include <cstring>

namespace {

struct State {
  void* stream = nullptr;
  void* workspace = nullptr;
  int math = -1;
};

double value(const void* from, int type, int64_t at) {
  if (type == 1) return static_cast<const double*>(from)[at];
  return static_cast<double>(static_cast<const float*>(from)[at]);
}

double rounded(double value, bool tf32) {
  if (!tf32) return value;
  auto narrow = static_cast<float>(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &narrow, sizeof bits);
  bits &= 0xffffe000U;
  std::memcpy(&narrow, &bits, sizeof bits);
  return static_cast<double>(narrow);
}

}  // namespace

// Names and parameters follow NVIDIA's.
// NOLINTBEGIN(readability-identifier-naming,readability-function-size)
extern "C" {

int cublasCreate_v2(State** state) {
  *state = new State;
  return 0;
}
int cublasDestroy_v2(State* state) {
  delete state;
  return 0;
}
int cublasGetVersion_v2(State*, int* version) {
  *version = 130100;
  return 0;
}
int cublasSetMathMode(State* state, int mode) {
  state->math = mode;
  return 0;
}
int cublasSetStream_v2(State* state, void* stream) {
  state->stream = stream;
  state->workspace = nullptr;
  return 0;
}
int cublasSetWorkspace_v2(State* state, void* workspace, size_t) {
  state->workspace = workspace;
  return 0;
}
int cublasGemmEx(State* state, int turn_a, int turn_b, int m, int n, int k, const void* alpha,
                 const void* a, int type_a, int pitch_a, const void* b, int type_b, int pitch_b,
                 const void* beta, void* c, int type_c, int pitch_c, int compute, int) {
  constexpr int kInvalidValue = 7;
  const bool fits = pitch_a >= (turn_a != 0 ? k : m) && pitch_b >= (turn_b != 0 ? n : k) &&
                    pitch_c >= m && type_a == type_b && type_b == type_c && k > 0;
  const bool settled = state->workspace != nullptr && state->math == 16;
  const double one = value(alpha, type_c, 0), zero = value(beta, type_c, 0);
  if (!fits || !settled || one != 1 || zero != 0) return kInvalidValue;
  for (int64_t col = 0; col < n; ++col) {
    for (int64_t row = 0; row < m; ++row) {
      double sum = 0;
      for (int64_t i = 0; i < k; ++i) {
        const double left = value(a, type_a, turn_a != 0 ? row * pitch_a + i : i * pitch_a + row);
        const double right = value(b, type_b, turn_b != 0 ? i * pitch_b + col : col * pitch_b + i);
        sum += rounded(left, compute == 77) * rounded(right, compute == 77);
      }
      const int64_t at = col * pitch_c + row;
      if (type_c == 1) {
        static_cast<double*>(c)[at] = sum;
      } else {
        static_cast<float*>(c)[at] = static_cast<float>(sum);
      }
    }
  }
  return 0;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,readability-function-size)
