// Reads and writes elements through the C++ type that stores each dtype.
#include "common/numeric/element.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "common/base/check.h"
#include "common/numeric/convert.h"
#include "common/numeric/half.h"

namespace gpuemu {
namespace {

struct Half {
  uint16_t pattern;
};
struct Brain {
  uint16_t pattern;
};

/// Calls `use` with a value of the C++ type that stores an element of `dtype`.
template <typename Use>
decltype(auto) with_type(DType dtype, Use use) {
  switch (dtype) {
    case DType::Float16:
      return use(Half{});
    case DType::BFloat16:
      return use(Brain{});
    case DType::Float32:
      return use(float{});
    case DType::Float64:
      return use(double{});
    case DType::Int8:
      return use(int8_t{});
    case DType::Int16:
      return use(int16_t{});
    case DType::Int32:
      return use(int32_t{});
    case DType::Int64:
      return use(int64_t{});
    case DType::UInt8:
      return use(uint8_t{});
    case DType::UInt16:
      return use(uint16_t{});
    case DType::UInt32:
      return use(uint32_t{});
    case DType::UInt64:
      return use(uint64_t{});
    case DType::Bool:
      return use(bool{});
  }
  GPUEMU_UNREACHABLE();
}

template <typename T>
T load(const std::byte* from) {
  if constexpr (std::is_same_v<T, bool>) {
    return *from != std::byte{0};  // Bytes other than 0 and 1 are not valid bools to the compiler.
  } else {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
}

template <typename T>
double widen(T value) {
  if constexpr (std::is_same_v<T, Half>) {
    return double_from_float16(value.pattern);
  } else if constexpr (std::is_same_v<T, Brain>) {
    return double_from_bfloat16(value.pattern);
  } else {
    return static_cast<double>(value);
  }
}

/// Clamps a whole number to T; NaN gives 0. The limits are compared in float64.
template <typename T>
T saturate(double value) {
  constexpr double kPastMax =
      static_cast<double>(uint64_t{1} << (std::numeric_limits<T>::digits - 1)) * 2;
  if (std::isnan(value)) return 0;
  if (value >= kPastMax) return std::numeric_limits<T>::max();
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) {
    return std::numeric_limits<T>::min();
  }
  return static_cast<T>(value);
}

template <typename T>
T narrow(double value) {
  if constexpr (std::is_same_v<T, Half>) {
    return {float16_from_double(value)};
  } else if constexpr (std::is_same_v<T, Brain>) {
    return {bfloat16_from_double(value)};
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else {
    return saturate<T>(std::nearbyint(value));
  }
}

template <typename T>
constexpr bool kIsInteger = std::is_integral_v<T>;

template <typename Wide>
Wide read_integer(DType dtype, const std::byte* element) {
  return with_type(dtype, [&]<typename T>(T) -> Wide {
    if constexpr (kIsInteger<T>) {
      return static_cast<Wide>(load<T>(element));
    } else {
      return saturate<Wide>(std::trunc(widen(load<T>(element))));
    }
  });
}

template <typename Wide>
void write_integer(DType dtype, Wide value, std::byte* element) {
  with_type(dtype, [&]<typename T>(T) {
    T result;
    if constexpr (std::is_same_v<T, bool>) {
      result = value != 0;
    } else if constexpr (kIsInteger<T>) {
      result = std::cmp_less(value, std::numeric_limits<T>::min()) ? std::numeric_limits<T>::min()
               : std::cmp_greater(value, std::numeric_limits<T>::max())
                   ? std::numeric_limits<T>::max()
                   : static_cast<T>(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      result = static_cast<T>(value);
    } else {
      result = narrow<T>(static_cast<double>(value));
    }
    std::memcpy(element, &result, sizeof result);
  });
}

}  // namespace

double read_as_double(DType dtype, const std::byte* element) {
  return with_type(dtype, [&]<typename T>(T) { return widen(load<T>(element)); });
}

void write_from_double(DType dtype, double value, std::byte* element) {
  with_type(dtype, [&]<typename T>(T) {
    const T result = narrow<T>(value);
    std::memcpy(element, &result, sizeof result);
  });
}

int64_t read_as_int64(DType dtype, const std::byte* element) {
  return read_integer<int64_t>(dtype, element);
}
uint64_t read_as_uint64(DType dtype, const std::byte* element) {
  return read_integer<uint64_t>(dtype, element);
}
void write_from_int64(DType dtype, int64_t value, std::byte* element) {
  write_integer(dtype, value, element);
}
void write_from_uint64(DType dtype, uint64_t value, std::byte* element) {
  write_integer(dtype, value, element);
}

double round_to(DType dtype, double value) {
  return with_type(dtype, [&]<typename T>(T) { return widen(narrow<T>(value)); });
}

void widen_to_double(DType dtype, std::span<const std::byte> from, std::span<double> to) {
  GPUEMU_CHECK(from.size() == to.size() * byte_size(dtype));
  if (is_float(dtype) && dtype != DType::Float64) return widen_floats(dtype, from, to);
  with_type(dtype, [&]<typename T>(T) {
    const std::byte* source = from.data();
    for (size_t i = 0; i < to.size(); ++i) to[i] = widen(load<T>(source + i * sizeof(T)));
  });
}

void narrow_from_double(DType dtype, std::span<const double> from, std::span<std::byte> to) {
  GPUEMU_CHECK(to.size() == from.size() * byte_size(dtype));
  if (is_float(dtype) && dtype != DType::Float64) return narrow_floats(dtype, from, to);
  with_type(dtype, [&]<typename T>(T) {
    std::byte* target = to.data();
    for (size_t i = 0; i < from.size(); ++i) {
      const T result = narrow<T>(from[i]);
      std::memcpy(target + i * sizeof(T), &result, sizeof(T));
    }
  });
}

FloatLimits float_limits(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return {65504.0, 0x1p-14, 0x1p-24, 0x1p-10};
    case DType::BFloat16:
      return {0x1.FEp127, 0x1p-126, 0x1p-133, 0x1p-7};
    case DType::Float32:
      return {0x1.FFFFFEp127, 0x1p-126, 0x1p-149, 0x1p-23};
    case DType::Float64:
      return {0x1.FFFFFFFFFFFFFp1023, 0x1p-1022, 0x1p-1074, 0x1p-52};
    default:
      break;
  }
  GPUEMU_UNREACHABLE();
}

double lowest_value(DType dtype) {
  if (is_float(dtype)) return -float_limits(dtype).max;
  return is_signed_integer(dtype) ? -std::ldexp(1.0, static_cast<int>(byte_size(dtype)) * 8 - 1)
                                  : 0;
}

double highest_value(DType dtype) {
  if (is_float(dtype)) return float_limits(dtype).max;
  if (dtype == DType::Bool) return 1;
  const int bits = static_cast<int>(byte_size(dtype)) * 8 - (is_signed_integer(dtype) ? 1 : 0);
  return std::ldexp(1.0, bits) - 1;
}

}  // namespace gpuemu
