// How messages name an element of a tensor.
#pragma once

#include <cstdint>
#include <string>

namespace gpuemu::emulator {

/// " (element 3)" for a byte offset into a tensor; "" for elements of unknown size (0).
std::string element_text(uint64_t offset, uint32_t element);

}  // namespace gpuemu::emulator
