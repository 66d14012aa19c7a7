#include "daemon/validate/describe.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/validate/formats.h"

namespace gpuemu {
namespace {

const char* word_of(Fault fault) {
  switch (fault) {
    case Fault::NanCreated:
      return "nan_created: ";
    case Fault::NanLost:
      return "nan_lost: ";
    case Fault::InfCreated:
      return "inf_created: ";
    case Fault::InfLost:
      return "inf_lost: ";
    case Fault::NanBoth:
    case Fault::InfBoth:
      return "not finite: ";
    case Fault::None:
    case Fault::Tolerance:
      return "";
  }
  return "";
}

}  // namespace

std::string place_of(size_t index, const Shape& shape) {
  if (shape.size() < 2) return fmt::format("{}", index);
  std::vector<size_t> place(shape.size());
  size_t rest = index;
  for (size_t axis = shape.size(); axis-- > 0;) {
    const auto size = static_cast<size_t>(std::max<int64_t>(shape[axis], 1));
    place[axis] = rest % size;
    rest /= size;
  }
  return fmt::format("{} [{}]", index, fmt::join(place, ", "));
}

std::string describe_fault(const Judge& judge, Fault fault, const FaultTally& faults) {
  const Comparison& comparison = judge.comparison();
  const Shape& shape = comparison.output.shape;
  const size_t index = faults.first();
  const double expected = element(comparison.reference, index);
  const double actual = element(comparison.output, index);
  std::string text = fmt::format("{}element {}: expected {:.9g}, got {:.9g}", word_of(fault),
                                 place_of(index, shape), expected, actual);
  if (fault == Fault::Tolerance) {
    text += fmt::format(", |diff| {:.6g} > bound {:.6g}", std::fabs(actual - expected),
                        judge.bound().at(index, expected));
  }
  const int64_t count = element_count(shape);
  text += fmt::format(" ({} of {} {}", faults.count(), count, count == 1 ? "element" : "elements");
  const std::string pattern = faults.pattern(grid_of(shape));
  return text + (pattern.empty() ? ")" : "; " + pattern + ")");
}

}  // namespace gpuemu
