// Derives states with BLAKE2b. Separate from rng.cc, because the library for Python is built
// without BLAKE2b.
#include <bit>
#include <cstring>

#include "common/base/blake2.h"
#include "common/rng/rng.h"

namespace gpuemu {
namespace {

static_assert(std::endian::native == std::endian::little);

std::string_view bytes_of(const uint64_t& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace

RngState derive_state(uint64_t base_seed, uint64_t iteration, std::string_view label) {
  const auto digest = blake2b_16({bytes_of(base_seed), bytes_of(iteration), label});
  RngState state;
  std::memcpy(&state.s0, digest.data(), 8);
  std::memcpy(&state.s1, digest.data() + 8, 8);
  if (state.s0 == 0 && state.s1 == 0) state.s1 = 1;
  return state;
}

}  // namespace gpuemu
