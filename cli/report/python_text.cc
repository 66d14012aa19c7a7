#include "cli/report/python_text.h"

#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/numeric/element.h"
#include "common/tensor/snapshot.h"

namespace gpuemu::cli {
namespace {

constexpr int64_t kListedMax = 32;   ///< The most elements of a tensor that is printed in full.
constexpr int64_t kFewElements = 8;  ///< Small enough to print in full even if all elements are
                                     ///< equal.
constexpr size_t kAssignedMax = 16;  ///< The most elements that differ from the usual value.

std::string value_text(const Tensor& tensor, int64_t index) {
  const std::byte* at = tensor.data.data() + static_cast<size_t>(index) * byte_size(tensor.dtype);
  if (tensor.dtype == DType::Bool) return read_as_int64(tensor.dtype, at) != 0 ? "True" : "False";
  if (tensor.dtype == DType::UInt64) return fmt::format("{}", read_as_uint64(tensor.dtype, at));
  if (!is_float(tensor.dtype)) return fmt::format("{}", read_as_int64(tensor.dtype, at));
  const double value = read_as_double(tensor.dtype, at);
  if (std::isnan(value)) return "numpy.nan";
  if (std::isinf(value)) return value < 0 ? "-numpy.inf" : "numpy.inf";
  // Uses the fewest digits that give the number back in its own type.
  std::string text = tensor.dtype == DType::Float64 ? fmt::format("{}", value)
                                                    : fmt::format("{}", static_cast<float>(value));
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

/// Returns the elements from `first` on as nested lists along the axes from `axis` on.
std::string nested_text(const Tensor& tensor, size_t axis, int64_t& first) {
  if (axis == tensor.shape.size()) return value_text(tensor, first++);
  std::string text;
  for (int64_t i = 0; i < tensor.shape[axis]; ++i) {
    text += (i == 0 ? "" : ", ") + nested_text(tensor, axis + 1, first);
  }
  return "[" + text + "]";
}

/// Returns the index, such as "1, 5", of an element in row-major order.
std::string index_text(const Shape& shape, int64_t index) {
  std::vector<int64_t> places(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; index /= shape[axis]) {
    places[axis] = index % shape[axis];
  }
  return fmt::format("{}", fmt::join(places, ", "));
}

/// Returns the value that most elements have.
std::string usual_value(const Tensor& tensor) {
  std::map<std::string, int64_t> counts;
  for (int64_t i = 0; i < tensor.count(); ++i) ++counts[value_text(tensor, i)];
  std::string usual;
  int64_t most = 0;
  for (const auto& [value, count] : counts) {
    if (count > most) usual = value;
    most = std::max(most, count);
  }
  return usual;
}

bool is_all(const Tensor& tensor, const std::string& value) {
  for (int64_t i = 0; i < tensor.count(); ++i) {
    if (value_text(tensor, i) != value) return false;
  }
  return true;
}

}  // namespace

std::string python_line(const std::string& name, const Tensor& tensor) {
  const std::string dtype =
      tensor.dtype == DType::BFloat16 ? "float32" : std::string(name_of(tensor.dtype));
  const std::string usual = tensor.count() == 0 ? "0.0" : usual_value(tensor);
  const bool is_one_value = tensor.count() > kFewElements && is_all(tensor, usual);
  if (tensor.count() <= kListedMax && tensor.count() > 0 && !is_one_value) {
    int64_t first = 0;
    return fmt::format("{} = numpy.array({}, '{}')", name, nested_text(tensor, 0, first), dtype);
  }
  const std::string shape =
      fmt::format("({}{})", fmt::join(tensor.shape, ", "), tensor.shape.size() == 1 ? "," : "");
  const bool zero = usual == "0.0" || usual == "0" || usual == "False";
  std::string text = zero ? fmt::format("{} = numpy.zeros({}, '{}')", name, shape, dtype)
                          : fmt::format("{} = numpy.full({}, {}, '{}')", name, shape, usual, dtype);
  size_t assigned = 0;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const std::string value = value_text(tensor, i);
    if (value == usual) continue;
    if (++assigned > kAssignedMax) return "";
    text += fmt::format("; {}[{}] = {}", name, index_text(tensor.shape, i), value);
  }
  return text;
}

std::string inputs_for_python(const ValidationResult& result) {
  if (!result.repro_info || !result.repro_info->input_snapshot) return "";
  const auto inputs = decode_legacy_snapshot(*result.repro_info->input_snapshot);
  if (!inputs || inputs->empty()) return "";
  // Not indented, because Python would take that for a block.
  std::string text = "  inputs, for Python:\nimport numpy\n";
  for (const auto& [name, tensor] : *inputs) {
    const std::string line = python_line(name, tensor);
    text += fmt::format("{}\n", !line.empty() ? line
                                              : fmt::format("# {}: {} elements; `gpuemu export {}` "
                                                            "writes them",
                                                            name, tensor.count(), result.seed));
  }
  return text;
}

}  // namespace gpuemu::cli
