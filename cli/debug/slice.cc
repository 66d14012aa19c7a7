#include "cli/debug/slice.h"

#include <algorithm>
#include <charconv>

#include <fmt/ranges.h>

#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

Error wrong_part(std::string_view part) {
  return error(ErrorCode::InvalidArgument,
               "slice '{}': expected an index, start:stop, start:stop:step or ...", part);
}

Result<int64_t> number(std::string_view text, std::string_view part) {
  int64_t value = 0;
  const auto [stop, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || stop != text.data() + text.size()) return wrong_part(part);
  return value;
}

Result<AxisSlice> parse_axis(std::string_view part) {
  AxisSlice axis;
  if (part == "...") {
    axis.kind = AxisSlice::Kind::Ellipsis;
    return axis;
  }
  std::vector<std::string_view> numbers;
  for (size_t begin = 0;;) {
    const size_t end = std::min(part.find(':', begin), part.size());
    numbers.push_back(trimmed(part.substr(begin, end - begin)));
    if (end == part.size()) break;
    begin = end + 1;
  }
  if (numbers.size() > 3) return wrong_part(part);
  if (numbers.size() == 1) {
    axis.kind = AxisSlice::Kind::Index;
    axis.start = GPUEMU_TRY(number(numbers[0], part));
    return axis;
  }
  if (!numbers[0].empty()) axis.start = GPUEMU_TRY(number(numbers[0], part));
  if (!numbers[1].empty()) axis.stop = GPUEMU_TRY(number(numbers[1], part));
  if (numbers.size() == 3 && !numbers[2].empty()) axis.step = GPUEMU_TRY(number(numbers[2], part));
  if (axis.step == 0) return error(ErrorCode::InvalidArgument, "slice '{}': the step is 0", part);
  return axis;
}

/// Resolves a bound of a range: negative ones count from the end, all are clamped to [low, high].
int64_t cut(int64_t bound, int64_t size, int64_t low, int64_t high) {
  if (bound < 0) bound = bound < -size ? low : bound + size;
  return std::clamp(bound, low, high);
}

ChosenAxis range_of(const AxisSlice& axis, int64_t size) {
  ChosenAxis chosen{.step = axis.step};
  const bool up = axis.step > 0;
  const int64_t low = up ? 0 : -1, high = up ? size : size - 1;
  chosen.start = axis.start ? cut(*axis.start, size, low, high) : (up ? low : high);
  const int64_t stop = axis.stop ? cut(*axis.stop, size, low, high) : (up ? high : low);
  const int64_t distance = up ? stop - chosen.start : chosen.start - stop;
  // Computed unsigned, because the most negative step has no signed opposite.
  const uint64_t step =
      up ? static_cast<uint64_t>(axis.step) : 0 - static_cast<uint64_t>(axis.step);
  if (distance > 0) {
    chosen.count = static_cast<int64_t>((static_cast<uint64_t>(distance) - 1) / step) + 1;
  }
  // One element needs no step, and a huge step must not be multiplied.
  if (chosen.count <= 1) chosen.step = 1;
  return chosen;
}

}  // namespace

Result<Slice> parse_slice(std::string_view text) {
  Slice slice;
  if (trimmed(text).empty()) {
    return error(ErrorCode::InvalidArgument,
                 "slice '[]' is empty: expected indices or ranges, one for each axis");
  }
  size_t ellipses = 0;
  for (size_t begin = 0;;) {
    const size_t end = std::min(text.find(',', begin), text.size());
    slice.push_back(GPUEMU_TRY(parse_axis(trimmed(text.substr(begin, end - begin)))));
    ellipses += slice.back().kind == AxisSlice::Kind::Ellipsis ? 1 : 0;
    if (end == text.size()) break;
    begin = end + 1;
  }
  if (ellipses > 1) {
    return error(ErrorCode::InvalidArgument, "slice '{}': '...' may stand there once", text);
  }
  return slice;
}

Result<Selection> resolve(const Slice& slice, const Shape& shape) {
  const auto is_ellipsis = [](const AxisSlice& axis) {
    return axis.kind == AxisSlice::Kind::Ellipsis;
  };
  const bool stretches = std::ranges::any_of(slice, is_ellipsis);
  const size_t named = slice.size() - (stretches ? 1 : 0);
  if (named > shape.size()) {
    return error(ErrorCode::InvalidArgument, "{} indices for a tensor of {} axes, shape {}", named,
                 shape.size(), to_string(shape));
  }
  Selection chosen;
  for (const AxisSlice& axis : slice) {
    if (is_ellipsis(axis)) {
      for (size_t i = named; i < shape.size(); ++i) {
        chosen.push_back({.count = shape[chosen.size()]});
      }
      continue;
    }
    const int64_t size = shape[chosen.size()];
    if (axis.kind == AxisSlice::Kind::Range) {
      chosen.push_back(range_of(axis, size));
      continue;
    }
    const int64_t index = *axis.start;
    if (index >= size || index < -size) {
      return error(ErrorCode::InvalidArgument, "index {} of axis {}, which has {} elements", index,
                   chosen.size(), size);
    }
    chosen.push_back({.start = index < 0 ? index + size : index, .count = 1, .kept = false});
  }
  while (chosen.size() < shape.size()) chosen.push_back({.count = shape[chosen.size()]});
  return chosen;
}

Selection whole(const Shape& shape) {
  Selection all;
  for (const int64_t size : shape) all.push_back({.count = size});
  return all;
}

int64_t count_of(const Selection& selection) {
  int64_t count = 1;
  for (const ChosenAxis& axis : selection) count *= axis.count;
  return count;
}

const std::vector<std::string>& tensor_parts() {
  static const std::vector<std::string> kParts = {"expected", "bound", "error", "input", "output"};
  return kParts;
}

Result<TensorRef> parse_tensor_ref(const std::string& word) {
  TensorRef ref;
  const size_t bracket = std::min(word.find('['), word.size());
  ref.name = word.substr(0, bracket);
  if (bracket < word.size()) {
    if (word.back() != ']') {
      return error(ErrorCode::InvalidArgument, "'{}': nothing may follow the ']'", word);
    }
    ref.slice = GPUEMU_TRY(
        parse_slice(std::string_view(word).substr(bracket + 1, word.size() - bracket - 2)));
  }
  const size_t dot = ref.name.rfind('.');
  if (dot != std::string::npos) {
    const std::string part = ref.name.substr(dot + 1);
    if (std::ranges::find(tensor_parts(), part) != tensor_parts().end()) {
      ref.part = part;
      ref.name.resize(dot);
    }
  }
  if (ref.name.empty()) {
    return error(ErrorCode::InvalidArgument, "'{}': expected a tensor's name in front", word);
  }
  return ref;
}

std::optional<int64_t> single_element(const Selection& selection, const Shape& shape) {
  if (count_of(selection) != 1) return std::nullopt;
  int64_t flat = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    flat = flat * shape[axis] + selection[axis].start;
  }
  return flat;
}

std::string element_name(const std::string& name, const Shape& shape, int64_t flat) {
  if (shape.empty()) return name;
  std::vector<int64_t> index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = shape[axis] == 0 ? 0 : flat % shape[axis];
    flat = shape[axis] == 0 ? 0 : flat / shape[axis];
  }
  return fmt::format("{}[{}]", name, fmt::join(index, ", "));
}

}  // namespace gpuemu::cli
