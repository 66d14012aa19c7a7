#include "common/config/initial_value.h"

#include <cmath>
#include <cstring>

#include "common/numeric/element.h"

namespace gpuemu {
namespace {

Error not_held(const TensorSpec& spec, DType dtype, const std::string& value) {
  const bool is_unsigned = !is_float(dtype) && !is_signed_integer(dtype) && dtype != DType::Bool;
  return error(ErrorCode::InvalidArgument,
               "'{}' begins with {}, expected {} from {} to {} for {}{}", spec.name, value,
               is_float(dtype) ? "a number" : "a whole number", lowest_value(dtype),
               highest_value(dtype), name_of(dtype), is_unsigned ? "; -1 has all bits set" : "");
}

/// Returns whether an integer type of this many bits can represent the value.
bool has_pattern(DType dtype, int64_t value, int bits) {
  if (dtype == DType::Bool) return value == 0 || value == 1;
  if (bits == 64) return true;
  const int64_t half = int64_t{1} << (bits - 1);
  return value >= -half && value < (is_signed_integer(dtype) ? half : 2 * half);
}

}  // namespace

Result<std::vector<std::byte>> initial_element(const TensorSpec& spec, DType dtype,
                                               const Scope& scope) {
  if (!spec.init) return std::vector<std::byte>();
  std::vector<std::byte> element(byte_size(dtype));
  if (is_float(dtype)) {
    double value = 0;
    if (spec.init->real) {
      value = *spec.init->real;
    } else {
      value = static_cast<double>(GPUEMU_TRY(spec.init->value.evaluate(scope)));
    }
    write_from_double(dtype, value, element.data());
    // 3.4028235e38 stands for the largest float32 although it is slightly larger.
    const bool is_rounded =
        element.size() > 1 && std::isfinite(read_as_double(dtype, element.data()));
    if (std::isfinite(value) && std::fabs(value) > highest_value(dtype) && !is_rounded) {
      return not_held(spec, dtype, fmt::format("{}", value));
    }
    return element;
  }
  int64_t value = 0;
  if (spec.init->real) {
    const double real = *spec.init->real;
    // Larger integers may not be exact in a double.
    constexpr double kWholeMax = 9007199254740992.0;
    // Written so that NaN fails.
    if (!(std::fabs(real) <= kWholeMax) || real != std::floor(real)) {
      return not_held(spec, dtype, fmt::format("{}", real));
    }
    value = static_cast<int64_t>(real);
  } else {
    value = GPUEMU_TRY(spec.init->value.evaluate(scope));
  }
  if (!has_pattern(dtype, value, static_cast<int>(8 * element.size()))) {
    return not_held(spec, dtype, std::to_string(value));
  }
  std::memcpy(element.data(), &value, element.size());
  return element;
}

Status check_initial_number(const TensorSpec& spec, const std::vector<DType>& under_test) {
  const auto own = dtype_from_alias(spec.dtype);
  for (const DType dtype : own ? std::vector{*own} : under_test) {
    Scope scope;
    scope.strings["dtype"] = name_of(dtype);
    const auto element = initial_element(spec, dtype, scope);
    if (!element) return element.error();
  }
  return ok_status();
}

}  // namespace gpuemu
