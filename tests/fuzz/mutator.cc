// Joins the changes of mutate_ptx.h with libFuzzer's own, which know nothing of PTX.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "tests/fuzz/mutate_ptx.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

/// Changes of which one is left to libFuzzer.
constexpr unsigned kOwnOf = 16;

std::string text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

size_t give(const std::string& text, uint8_t* to, size_t max_size) {
  const size_t size = std::min(text.size(), max_size);
  std::memcpy(to, text.data(), size);
  return size;
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  if (seed % kOwnOf == 0) return LLVMFuzzerMutate(data, size, max_size);
  return give(gpuemu::mutate_ptx(text_of(data, size), seed, max_size), data, max_size);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b,
                                            size_t b_size, uint8_t* out, size_t max_size,
                                            unsigned seed) {
  return give(gpuemu::cross_ptx(text_of(a, a_size), text_of(b, b_size), seed, max_size), out,
              max_size);
}
