// Operands for instructions whose results were recorded on a chip: edges of the formats with each
// other, then numbers that a hash draws. The recorded checksums hold for exactly these.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpuemu::chip {

/// Three operands an element, as raw bits.
struct Operands {
  std::vector<uint64_t> a, b, c;
};

/// all16: every 16-bit pattern; pair16, pair32, pair64: edges and drawn ones; all16x2 and pair16x2:
/// two 16-bit ones in 32 bits.
Operands operands_of(const std::string& kind);

/// Elements of matrices, as raw bits. The classes: exponents near that of 1 ("near"), any finite
/// ("wide"), any pattern ("raw"), near with specials among them ("special"), subnormals ("sub"),
/// close to overflow
/// ("big"), far apart ("spread"), small integers ("int").
std::vector<uint64_t> elements_of(const std::string& type, uint64_t count, const std::string& kind,
                                  uint64_t stream);
/// The same in 32-bit registers (64-bit ones for f64), `registers` a lane.
std::vector<uint64_t> fragments_of(const std::string& type, uint64_t registers,
                                   const std::string& kind, uint64_t stream);
inline constexpr uint64_t kWarps = 32;  ///< Of fragments_of
uint32_t bits_of(const std::string& type);
bool is_float(const std::string& type);

uint64_t mix(uint64_t z);
/// Of results in their order.
uint64_t checksum(const std::vector<uint64_t>& results);

}  // namespace gpuemu::chip
