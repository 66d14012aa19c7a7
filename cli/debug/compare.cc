#include "cli/debug/compare.h"

#include <cmath>
#include <limits>

#include "common/config/nan_policy.h"
#include "common/numeric/element.h"

namespace gpuemu::cli {
namespace {

__extension__ typedef __int128 Wide;

const std::byte* element(const Tensor& tensor, int64_t at) {
  return tensor.data.data() + static_cast<size_t>(at) * byte_size(tensor.dtype);
}

Wide whole_number(const Tensor& tensor, int64_t at) {
  if (is_signed_integer(tensor.dtype)) return read_as_int64(tensor.dtype, element(tensor, at));
  return read_as_uint64(tensor.dtype, element(tensor, at));
}

double distance(const Tensor& output, const Tensor& expected, int64_t at) {
  if (is_float(output.dtype) || is_float(expected.dtype)) {
    return std::abs(read_as_double(output.dtype, element(output, at)) -
                    read_as_double(expected.dtype, element(expected, at)));
  }
  const Wide apart = whole_number(output, at) - whole_number(expected, at);
  return static_cast<double>(apart < 0 ? -apart : apart);
}

struct Judge {
  NanPolicy policy;
  std::optional<double> edge;

  bool is_right(double output, double expected, double apart, double bound) const {
    const bool finite = std::isfinite(output), known = std::isfinite(expected);
    if (finite && known) return apart <= bound;
    if (std::isnan(output) && std::isnan(expected)) return true;
    if (std::isinf(output) && output == expected) return true;
    // Rounding alone may turn values near the largest number into infinity.
    if (edge && std::isinf(output) && known && std::abs(expected) >= *edge) {
      return std::signbit(output) == std::signbit(expected);
    }
    if (policy == NanPolicy::Any) return !known;
    return policy != NanPolicy::Match && !finite && !known;
  }
};

}  // namespace

Tensor errors_of(const Tensor& output, const Tensor& expected) {
  Tensor errors = make_tensor(DType::Float64, output.shape);
  for (int64_t at = 0; at < output.count(); ++at) {
    write_from_double(DType::Float64, distance(output, expected, at),
                      errors.data.data() + static_cast<size_t>(at) * sizeof(double));
  }
  return errors;
}

Difference compare_output(const ExportedCaseReply& exported, const ExportedTensor& tensor,
                          const Tensor& output) {
  Difference made;
  const auto expected = exported.expected.find(tensor.name);
  const auto bounds = exported.bounds.find(tensor.name);
  if (expected == exported.expected.end() || bounds == exported.bounds.end()) {
    made.refused = "it has no reference value: the op has no reference, or it gave no values";
    return made;
  }
  if (expected->second.shape != output.shape || bounds->second.shape != output.shape) {
    made.refused = fmt::format("it has the shape {}, the reference says {}",
                               to_string(output.shape), to_string(expected->second.shape));
    return made;
  }
  const std::string& policy = tensor.nan_policy.empty() ? exported.nan_policy : tensor.nan_policy;
  const Judge judge{nan_policy_from_name(policy).value_or(NanPolicy::Match), tensor.edge};
  made.wrong.resize(static_cast<size_t>(output.count()));
  double worst = -1;
  for (int64_t at = 0; at < output.count(); ++at) {
    const double bound = read_as_double(bounds->second.dtype, element(bounds->second, at));
    const double apart = distance(output, expected->second, at);
    const double computed = read_as_double(output.dtype, element(output, at));
    const double wanted = read_as_double(expected->second.dtype, element(expected->second, at));
    if (judge.is_right(computed, wanted, apart, bound)) continue;
    made.wrong[static_cast<size_t>(at)] = true;
    ++made.count;
    // A NaN or an infinity counts as worse than any number.
    const double use = std::isfinite(apart) ? (bound > 0 ? apart / bound : apart)
                                            : std::numeric_limits<double>::infinity();
    if (!(use > worst)) continue;
    worst = use;
    made.worst = at;
  }
  return made;
}

}  // namespace gpuemu::cli
