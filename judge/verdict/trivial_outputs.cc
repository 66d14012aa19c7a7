// Each trivial output is a function from index to value, judged until one element fails.
#include "judge/verdict/trivial_outputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "common/numeric/element.h"
#include "judge/bounds/blocks.h"
#include "judge/bounds/float_format.h"
#include "judge/scan/scan.h"
#include "judge/verdict/invariants.h"

namespace gpuemu {
namespace {

constexpr std::array<std::string_view, kTrivialCount> kNames = {
    "zeros", "first_input", "row_mean", "one_over_n", "other_row", "wrong_row", "wrong_column"};

constexpr uint32_t kWrongLines = 1U << static_cast<uint32_t>(TrivialOutput::WrongRow) |
                                 1U << static_cast<uint32_t>(TrivialOutput::WrongColumn);

/// How many elements are judged before all others.
constexpr size_t kFirstElements = 16;

double as_output(DType dtype, double value) {
  if (is_float(dtype)) return round_to(dtype, value);
  if (!std::isfinite(value)) return 0;
  return std::clamp(std::nearbyint(value), lowest_value(dtype), highest_value(dtype));
}

class TrivialJudge {
 public:
  explicit TrivialJudge(const Comparison& comparison)
      : comparison_(comparison),
        judge_(comparison),
        dtype_(comparison.output.dtype),
        grid_(grid_of(comparison.output.shape)),
        count_(static_cast<size_t>(element_count(comparison.output.shape))) {}

  TrivialOutputs run() {
    TrivialOutputs trivial_outputs;
    if (count_ == 0) {
      trivial_outputs.set(TrivialOutput::Zeros);
      return trivial_outputs;
    }
    const auto try_one = [&](TrivialOutput trivial, const auto& fill) {
      if (passes(fill)) trivial_outputs.set(trivial);
    };
    try_one(TrivialOutput::Zeros,
            [](size_t, std::span<double> values) { std::ranges::fill(values, 0.0); });
    add_first_input(trivial_outputs);
    const double part = as_output(dtype_, 1.0 / static_cast<double>(grid_.columns));
    try_one(TrivialOutput::OneOverN,
            [&](size_t, std::span<double> values) { std::ranges::fill(values, part); });
    if (grid_.columns > 1) {
      try_one(TrivialOutput::RowMean, [this](size_t first, std::span<double> values) {
        for (size_t i = 0; i < values.size();) {
          const size_t row = (first + i) / grid_.columns;
          const size_t end = std::min(values.size(), (row + 1) * grid_.columns - first);
          std::ranges::fill(values.subspan(i, end - i), row_mean(row));
          i = end;
        }
      });
    }
    if (grid_.rows > 1) {
      try_one(TrivialOutput::OtherRow, [this](size_t first, std::span<double> values) {
        const size_t behind = count_ - grid_.columns;
        for (double& value : values) {
          value = as_output(dtype_, reference((first++ + behind) % count_));
        }
      });
    }
    add_wrong_lines(trivial_outputs);
    return trivial_outputs;
  }

 private:
  double reference(size_t index) const { return element(comparison_.reference, index); }
  /// Visits elements of the reference in order, a block at a time.
  template <typename Visit>
  void each_block(size_t from, size_t until, const Visit& visit) const {
    std::array<double, kBlockElements> buffer;
    for (size_t at = from; at < until; at += kBlockElements) {
      const size_t part = std::min(kBlockElements, until - at);
      visit(as_doubles(comparison_.reference, at, {buffer.data(), part}));
    }
  }
  bool faulty(size_t index, double value) const {
    return judge_.of(index, value, reference(index)) != Fault::None;
  }

  /// `fill(first, values)` gives some of its elements. Few of them at first: most trivial outputs
  /// fail there.
  template <typename Fill>
  bool passes(const Fill& fill) const {
    std::array<double, kBlockElements> values;
    size_t part = kFirstElements;
    for (size_t at = 0; at < count_; at += part, part = kBlockElements) {
      part = std::min(part, count_ - at);
      fill(at, std::span(values).first(part));
      if (has_fault(at, std::span(values).first(part))) return false;
    }
    return comparison_.policy.invariants.empty() || keeps_invariants(fill);
  }

  bool has_fault(size_t first, std::span<const double> values) const {
    std::array<double, kBlockElements> buffer, bounds;
    const size_t count = values.size();
    const auto references = as_doubles(comparison_.reference, first, {buffer.data(), count});
    judge_.bound().fill(first, references, {bounds.data(), count});
    for (size_t i = 0; i < count; ++i) {
      // True of finite numbers alone: the difference of others is infinite or none.
      const double difference = std::abs(values[i] - references[i]);
      if (difference <= bounds[i] && std::isfinite(difference)) continue;
      if (judge_.with_bound(values[i], references[i], bounds[i]) != Fault::None) return true;
    }
    return false;
  }

  template <typename Fill>
  bool keeps_invariants(const Fill& fill) const {
    std::vector<double> wide(count_);
    fill(0, std::span(wide));
    std::vector<std::byte> bytes(count_ * byte_size(dtype_));
    narrow_from_double(dtype_, wide, bytes);
    Comparison trivial = comparison_;
    trivial.output.data = bytes;
    return std::ranges::none_of(comparison_.policy.invariants, [&](const InvariantSpec& spec) {
      return check_invariant(trivial, spec).has_value();
    });
  }

  /// Returns the mean of the finite elements; computed once per row.
  double row_mean(size_t row) {
    if (mean_row_ == row) return mean_;
    FiniteSum all;
    each_block(row * grid_.columns, (row + 1) * grid_.columns, [&](std::span<const double> values) {
      const FiniteSum part = sum_of_finite(values);
      all.sum += part.sum;
      all.count += part.count;
    });
    mean_row_ = row;
    mean_ = as_output(dtype_, all.count == 0 ? 0 : all.sum / static_cast<double>(all.count));
    return mean_;
  }

  void add_first_input(TrivialOutputs& trivial_outputs) const {
    const auto input = comparison_.inputs.find(comparison_.reference_input);
    if (input == comparison_.inputs.end()) return;
    const TensorView& view = input->second;
    if (static_cast<size_t>(element_count(view.shape)) != count_) return;
    const auto value = [&](size_t index) { return as_output(dtype_, element(view, index)); };
    const auto fill = [&](size_t first, std::span<double> values) {
      for (double& one : values) one = value(first++);
    };
    if (!passes(fill)) return;
    trivial_outputs.set(TrivialOutput::FirstInput);
    trivial_outputs.first_input_is_answer = true;
    for (size_t index = 0; index < count_ && trivial_outputs.first_input_is_answer; ++index) {
      const double right = as_output(dtype_, reference(index)), copied = value(index);
      const bool same = right == copied || (std::isnan(right) && std::isnan(copied));
      trivial_outputs.first_input_is_answer = same;
    }
  }

  double largest_magnitude() const {
    double largest = 0;
    each_block(0, count_, [&](std::span<const double> values) {
      largest = std::max(largest, largest_finite(values));
    });
    return largest;
  }

  double wrong_value(size_t index, double off) const {
    const double right = reference(index);
    if (!std::isfinite(right)) return 0;
    if (dtype_ == DType::Bool) return right == 0 ? 1 : 0;
    // Toward zero, away from the end of the format.
    return as_output(dtype_, right > 0 ? right - off : right + off);
  }

  void add_wrong_lines(TrivialOutputs& trivial_outputs) const {
    const double half = largest_magnitude() / 2;
    const double off = half > 0 ? (is_float(dtype_) ? half : std::ceil(half)) : 1;
    bool row_passes = true, column_passes = true;
    for (size_t index = count_ - grid_.columns; index < count_ && row_passes; ++index) {
      row_passes = !faulty(index, wrong_value(index, off));
    }
    for (size_t index = grid_.columns - 1; index < count_ && column_passes;
         index += grid_.columns) {
      column_passes = !faulty(index, wrong_value(index, off));
    }
    if (row_passes) trivial_outputs.set(TrivialOutput::WrongRow);
    if (column_passes) trivial_outputs.set(TrivialOutput::WrongColumn);
  }

  const Comparison& comparison_;
  const Judge judge_;
  const DType dtype_;
  const Grid grid_;
  const size_t count_;
  size_t mean_row_ = ~size_t{0};
  double mean_ = 0;
};

}  // namespace

std::string_view name_of(TrivialOutput trivial) { return kNames[static_cast<size_t>(trivial)]; }

void TrivialOutputs::join(const TrivialOutputs& other) {
  passing = (passing & other.passing & ~kWrongLines) | ((passing | other.passing) & kWrongLines);
  first_input_is_answer = first_input_is_answer && other.first_input_is_answer;
}

TrivialOutputs find_trivial_outputs(const Comparison& comparison) {
  return TrivialJudge(comparison).run();
}

}  // namespace gpuemu
