#include "bindings/libcuda/images/unpack.h"

#include <dlfcn.h>

namespace gpuemu::libcuda {
namespace {

/// Adds the bytes that continue a length of 15. Returns false when the input ends too early.
bool read_length(std::span<const unsigned char> from, size_t& at, size_t& length) {
  constexpr size_t kContinues = 15;
  if (length != kContinues) return true;
  for (unsigned char more = 255; more == 255;) {
    if (at >= from.size()) return false;
    more = from[at++];
    length += more;
  }
  return true;
}

using Decompress = size_t (*)(void*, size_t, const void*, size_t);

Decompress zstd() {
  static const auto kDecompress = [] {
    void* library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<Decompress>(library == nullptr ? nullptr
                                                           : dlsym(library, "ZSTD_decompress"));
  }();
  return kDecompress;
}

}  // namespace

std::optional<std::string> unpack_lz4(std::span<const unsigned char> packed, size_t bytes) {
  constexpr size_t kShortestMatch = 4;
  std::string out;
  for (size_t at = 0; at < packed.size();) {
    const unsigned char token = packed[at++];
    size_t literals = token >> 4;
    if (!read_length(packed, at, literals)) return std::nullopt;
    if (literals > packed.size() - at || literals > bytes - out.size()) return std::nullopt;
    out.append(packed.begin() + static_cast<std::ptrdiff_t>(at),
               packed.begin() + static_cast<std::ptrdiff_t>(at + literals));
    at += literals;
    if (at == packed.size()) break;  // The last sequence has only literals.
    if (packed.size() - at < 2) return std::nullopt;
    const size_t offset = packed[at] | static_cast<size_t>(packed[at + 1]) << 8;
    at += 2;
    size_t match = token & 15;
    if (!read_length(packed, at, match)) return std::nullopt;
    match += kShortestMatch;
    if (offset == 0 || offset > out.size() || match > bytes - out.size()) return std::nullopt;
    for (size_t i = 0; i < match; ++i) out.push_back(out[out.size() - offset]);
  }
  if (out.size() != bytes) return std::nullopt;
  return out;
}

bool has_zstd() { return zstd() != nullptr; }

std::optional<std::string> unpack_zstd(std::span<const unsigned char> packed, size_t bytes) {
  if (!has_zstd()) return std::nullopt;
  std::string out(bytes, '\0');
  if (zstd()(out.data(), bytes, packed.data(), packed.size()) != bytes) return std::nullopt;
  return out;
}

}  // namespace gpuemu::libcuda
