// Implements cudaGetLastError, cudaPeekAtLastError, cudaGetError* and cudaProfiler*.
#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {
namespace {

struct ErrorText {
  int value;
  const char *name, *text;  ///< `text` is null if the driver has it.
};

constexpr ErrorText kErrors[] = {
#define GPUEMU_RUNTIME_ERROR(name, value, text) {value, #name, text},
#include "bindings/libcudart/errors.def"
#undef GPUEMU_RUNTIME_ERROR
};

constexpr const char* kUnrecognized = "unrecognized error code";

const ErrorText* error_text(int value) {
  for (const ErrorText& one : kErrors) {
    if (one.value == value) return &one;
  }
  return nullptr;
}

}  // namespace

GPUEMU_RUNTIME_API int cudaGetLastError() {
  forget_failed_launch();
  ThreadState& state = thread_state();
  const int code = state.last_error;
  state.last_error = cudaSuccess;
  return code;
}

GPUEMU_RUNTIME_API int cudaPeekAtLastError() {
  forget_failed_launch();
  return thread_state().last_error;
}

GPUEMU_RUNTIME_API const char* cudaGetErrorName(int code) {
  const ErrorText* const found = error_text(code);
  return found == nullptr ? kUnrecognized : found->name;
}

GPUEMU_RUNTIME_API const char* cudaGetErrorString(int code) {
  const ErrorText* const found = error_text(code);
  if (found == nullptr) return kUnrecognized;
  const char* text = found->text;
  if (text == nullptr) (void)cuGetErrorString(code, &text);
  return text;
}

GPUEMU_RUNTIME_FORWARD(cudaProfilerStart, (), cuProfilerStart, ())
GPUEMU_RUNTIME_FORWARD(cudaProfilerStop, (), cuProfilerStop, ())

}  // namespace gpuemu::libcudart
