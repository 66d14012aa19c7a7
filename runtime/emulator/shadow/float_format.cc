#include "runtime/emulator/shadow/float_format.h"

#include <bit>
#include <cmath>

#include "runtime/emulator/numerics/narrow.h"

namespace gpuemu::emulator {

Format format_of(ptx::Type type) {
  switch (type) {
    case ptx::Type::F16:
    case ptx::Type::F16x2:
      return Format::F16;
    case ptx::Type::BF16:
    case ptx::Type::BF16x2:
      return Format::BF16;
    case ptx::Type::F32:
      return Format::F32;
    case ptx::Type::F64:
      return Format::F64;
    default:
      return Format::None;
  }
}

uint32_t bytes_of(Format format) {
  return format == Format::F64 ? 8 : format == Format::F32 ? 4 : 2;
}

double unit_of(Format format) {
  switch (format) {
    case Format::F16:
      return 0x1p-11;
    case Format::BF16:
      return 0x1p-8;
    case Format::F64:
      return 0x1p-53;
    default:
      return 0x1p-24;
  }
}

double value_of(uint64_t bits, Format format) {
  const auto low = static_cast<uint32_t>(bits);
  switch (format) {
    case Format::F16:
      return std::bit_cast<float>(float_from_half(low & 0xffff));
    case Format::BF16:
      return std::bit_cast<float>(low << 16);
    case Format::F64:
      return std::bit_cast<double>(bits);
    default:
      return std::bit_cast<float>(low);
  }
}

bool is_magic(double value, Format format) {
  const double least = format == Format::F32 ? 0x1p23 : 0x1p52;
  return std::fabs(value) >= least && std::fabs(value) < 2 * least;
}

double half_smallest(Format format) {
  switch (format) {
    case Format::F16:
      return 0x1p-25;
    case Format::BF16:
      return 0x1p-134;
    case Format::F64:
      return 0x1p-1074;  // Half of it is not a double.
    default:
      return 0x1p-150;
  }
}

double smallest_normal(Format format) {
  return format == Format::F64 ? 0x1p-1022 : format == Format::F16 ? 0x1p-14 : 0x1p-126;
}

}  // namespace gpuemu::emulator
