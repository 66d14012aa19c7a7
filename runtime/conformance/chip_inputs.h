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

uint64_t mix(uint64_t z);
/// Of results in their order.
uint64_t checksum(const std::vector<uint64_t>& results);

}  // namespace gpuemu::chip
