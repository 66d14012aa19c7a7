#include "cli/debug/tensor_text.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/core.h>

#include "common/numeric/element.h"

namespace gpuemu::cli {
namespace {

constexpr int64_t kEdge = 3;  // Elements shown at each end of an abbreviated axis.
constexpr size_t kColumns = 100;
constexpr int64_t kGap = -1;  // Stands for "..." in a list of indices.

/// Returns the shortest text that gives the same element when it is read and rounded to its type.
std::string shortest(DType dtype, double value) {
  if (dtype == DType::Float64) return fmt::format("{}", value);
  if (dtype == DType::Float32) return fmt::format("{}", static_cast<float>(value));
  for (int digits = 1; digits < 6; ++digits) {
    const std::string text = fmt::format("{:.{}g}", value, digits);
    if (round_to(dtype, std::strtod(text.c_str(), nullptr)) == value) return text;
  }
  return fmt::format("{:.6g}", value);
}

/// Returns the indices of an axis that are shown.
std::vector<int64_t> shown(const ChosenAxis& axis, bool all) {
  std::vector<int64_t> places;
  for (int64_t i = 0; i < axis.count; ++i) {
    if (!all && axis.count > 2 * kEdge && i == kEdge) {
      places.push_back(kGap);
      i = axis.count - kEdge;
    }
    places.push_back(i);
  }
  return places;
}

class Printer {
 public:
  Printer(const Tensor& tensor, const Selection& selection, const TextOptions& options)
      : tensor_(tensor),
        selection_(selection),
        options_(options),
        all_(count_of(selection) <= options.elements_max),
        bytes_(byte_size(tensor.dtype)) {
    visit(0, 0, [&](int64_t flat) { width_ = std::max(width_, plain(flat).size()); });
  }

  std::string text() {
    if (count_of(selection_) == 0) return "[]";
    print(0, 0, 0);
    return std::move(text_);
  }

 private:
  template <typename Each>
  void visit(size_t axis, int64_t flat, const Each& each) const {
    if (axis == selection_.size()) return each(flat);
    for (const int64_t i : shown(selection_[axis], all_)) {
      if (i != kGap) visit(axis + 1, flat * tensor_.shape[axis] + selection_[axis].at(i), each);
    }
  }

  std::string plain(int64_t flat) const {
    const std::byte* element = tensor_.data.data() + static_cast<size_t>(flat) * bytes_;
    const std::string text =
        options_.hex ? hex_text(tensor_.dtype, element) : element_text(tensor_.dtype, element);
    const bool starred = !options_.colour && options_.marked && options_.marked(flat);
    return starred ? fmt::format("*{}*", text) : text;
  }

  std::string element(int64_t flat) const {
    std::string text = plain(flat);
    text = fmt::format("{:>{}}", text, width_);
    const bool red = options_.colour && options_.marked && options_.marked(flat);
    return red ? fmt::format("\x1b[1;31m{}\x1b[0m", text) : text;
  }

  /// Returns whether no further axis is printed after this one.
  bool is_last(size_t axis) const {
    return std::none_of(selection_.begin() + static_cast<std::ptrdiff_t>(axis) + 1,
                        selection_.end(), [](const ChosenAxis& later) { return later.kept; });
  }

  void print(size_t axis, int64_t flat, size_t depth) {
    if (axis == selection_.size()) {
      text_ += element(flat);
      return;
    }
    const ChosenAxis& chosen = selection_[axis];
    const auto below = [&](int64_t i) { return flat * tensor_.shape[axis] + chosen.at(i); };
    if (!chosen.kept) return print(axis + 1, below(0), depth);
    const bool last = is_last(axis);
    const size_t per_line =
        std::max<size_t>(1, (kColumns - std::min(depth, kColumns / 2)) / (width_ + 2));
    text_ += '[';
    size_t in_line = 0;
    bool first = true;
    for (const int64_t i : shown(chosen, all_)) {
      const bool breaks = last ? in_line == per_line : !first;
      if (!first) text_ += last ? (breaks ? "," : ", ") : ",";
      if (breaks) text_ += fmt::format("\n{:{}}", "", depth + 1);
      in_line = breaks ? 1 : in_line + 1;
      first = false;
      if (i == kGap) {
        text_ += "...";
      } else {
        print(axis + 1, below(i), depth + 1);
      }
    }
    text_ += ']';
  }

  const Tensor& tensor_;
  const Selection& selection_;
  const TextOptions& options_;
  const bool all_;
  const size_t bytes_;
  size_t width_ = 1;
  std::string text_;
};

}  // namespace

std::string element_text(DType dtype, const std::byte* element) {
  if (dtype == DType::Bool) return read_as_int64(dtype, element) != 0 ? "true" : "false";
  if (is_float(dtype)) return shortest(dtype, read_as_double(dtype, element));
  if (is_signed_integer(dtype)) return fmt::format("{}", read_as_int64(dtype, element));
  return fmt::format("{}", read_as_uint64(dtype, element));
}

std::string hex_text(DType dtype, const std::byte* element) {
  uint64_t bits = 0;
  std::memcpy(&bits, element, byte_size(dtype));
  return fmt::format("{:#0{}x}", bits, 2 + 2 * byte_size(dtype));
}

std::string tensor_text(const Tensor& tensor, const Selection& selection,
                        const TextOptions& options) {
  return Printer(tensor, selection, options).text();
}

}  // namespace gpuemu::cli
