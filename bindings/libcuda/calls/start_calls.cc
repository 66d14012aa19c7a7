// Implements cuInit, cuDriverGetVersion, cuGetError* and cuProfiler*.
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

struct ResultText {
  int value;
  const char *name, *text;
};

constexpr ResultText kResults[] = {
#define GPUEMU_DRIVER_RESULT(name, value, text) {value, #name, text},
#include "bindings/libcuda/interface/results.def"
#undef GPUEMU_DRIVER_RESULT
};

const ResultText* result_text(int value) {
  for (const ResultText& one : kResults) {
    if (one.value == value) return &one;
  }
  return nullptr;
}

int text_of(int value, const char** text, const char* ResultText::* which) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ResultText* found = result_text(value);
  *text = found == nullptr ? nullptr : found->*which;
  return found == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

GPUEMU_DRIVER_API int cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return start_process();
}

GPUEMU_DRIVER_API int cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Result<Settings>& settings = settings_of_environment();
  *version = settings ? (*settings).driver_version : Settings{}.driver_version;
  return CUDA_SUCCESS;
}

GPUEMU_DRIVER_API int cuGetErrorName(int code, const char** name) {
  return text_of(code, name, &ResultText::name);
}

GPUEMU_DRIVER_API int cuGetErrorString(int code, const char** text) {
  return text_of(code, text, &ResultText::text);
}

GPUEMU_DRIVER_API int cuProfilerStart() {
  return driver_call([](Process&) -> int { return current_place().code; });
}

GPUEMU_DRIVER_API int cuProfilerStop() {
  return driver_call([](Process&) -> int { return current_place().code; });
}

}  // namespace gpuemu::libcuda
