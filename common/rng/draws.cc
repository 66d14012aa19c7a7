// Works in parts that stay in the cache: draws, transforms, rounds, and overwrites with special
// values.
#include "common/rng/draws.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "common/numeric/element.h"
#include "common/rng/fill.h"

namespace gpuemu {
namespace {

constexpr uint32_t kVersion = 1;
/// Elements per part: as float64 they take a quarter of a typical second-level cache, and fill()
/// splits them into lanes.
constexpr size_t kPartElements = 16384;
constexpr double kExactInteger = 0x1p53;
constexpr int kLeastExponent = -1074;
constexpr int kMostExponent = 1023;
constexpr uint64_t kSpecialRowsMax = uint64_t{1} << 31;

std::optional<Distribution> distribution_of(const gpuemu_draws& wanted) {
  const std::string_view name = wanted.distribution;
  const double first = wanted.first;
  const double second = wanted.second;
  if (!std::isfinite(first) || !std::isfinite(second)) return std::nullopt;
  if (name == "uniform") return Distribution::uniform(first, second);
  if (name == "normal") return Distribution::normal(first, second);
  if (first > second || std::floor(first) != first || std::floor(second) != second) {
    return std::nullopt;
  }
  const bool exponents = first >= kLeastExponent && second <= kMostExponent;
  const bool exact = first >= -kExactInteger && second <= kExactInteger;
  if (name == "log_uniform" && exponents) {
    return Distribution::log_uniform(static_cast<int64_t>(first), static_cast<int64_t>(second));
  }
  if (name == "integer" && exact) {
    return Distribution::integer(static_cast<int64_t>(first), static_cast<int64_t>(second));
  }
  return std::nullopt;
}

/// Returns whether draws only need rounding.
bool is_plain(const gpuemu_draws& wanted) {
  return wanted.factor == 1 && wanted.fold == 0 && wanted.scale == 1 && std::isinf(wanted.least) &&
         std::isinf(wanted.most);
}

void change(const gpuemu_draws& wanted, std::span<double> values) {
  if (wanted.factor != 1) {
    for (double& value : values) value *= wanted.factor;
  }
  if (wanted.fold != 0) {
    for (double& value : values) value = std::abs(value);
  }
  if (wanted.fold < 0) {
    for (double& value : values) value = -value;
  }
  const double scale = wanted.scale;
  const double least = wanted.least;
  const double most = wanted.most;
  for (double& value : values) {
    const double scaled = value * scale;
    value = scaled < least ? least : scaled > most ? most : scaled;
  }
}

template <typename Item>
void look_up(std::span<const double> values, double first, const void* table, std::byte* to) {
  const auto* rows = static_cast<const Item*>(table);
  for (size_t i = 0; i < values.size(); ++i) {
    const auto row = static_cast<size_t>(static_cast<int32_t>(values[i] - first));
    std::memcpy(to + i * sizeof(Item), rows + row, sizeof(Item));
  }
}

/// Copies rows of `special` over elements whose row is not -1. Branch-free, because the choice is
/// random and cannot be predicted.
template <typename Item>
void put_over(std::span<const double> rows, const void* special, std::byte* to) {
  const auto* items = static_cast<const Item*>(special);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<int32_t>(rows[i]);
    const int32_t keep = row >> 31;  // All ones for -1, else 0.
    const Item other = items[row & ~keep];
    const auto mask = static_cast<Item>(static_cast<int64_t>(keep));
    Item item;
    std::memcpy(&item, to + i * sizeof(Item), sizeof(Item));
    item = static_cast<Item>((item & mask) | (other & static_cast<Item>(~mask)));
    std::memcpy(to + i * sizeof(Item), &item, sizeof(Item));
  }
}

/// Processes the parts of one call in sequence.
class Parts {
 public:
  Parts(const gpuemu_draws& wanted, const Distribution& distribution, DType dtype)
      : wanted_(wanted),
        distribution_(distribution),
        dtype_(dtype),
        item_bytes_(byte_size(dtype)),
        state_{wanted.state[0], wanted.state[1]},
        special_state_{wanted.special_state[0], wanted.special_state[1]},
        values_(kPartElements) {}

  void next(std::span<std::byte> to) {
    const size_t count = to.size() / item_bytes_;
    draw(to, std::span(values_).first(count));
    state_ = jump(state_, 2 * count);
    if (wanted_.special != nullptr) plant(to.data(), std::span(values_).first(count));
  }

 private:
  void draw(std::span<std::byte> to, std::span<double> values) {
    if (wanted_.table == nullptr && is_plain(wanted_)) {
      return fill(state_, distribution_, dtype_, to);
    }
    fill_doubles(state_, distribution_, values);
    if (wanted_.table != nullptr) return take_rows(to.data(), values);
    change(wanted_, values);
    narrow_from_double(dtype_, values, to);
  }

  /// Calls `work` with an unsigned integer type of an element's size.
  template <typename Work>
  void with_item(const Work& work) {
    switch (item_bytes_) {
      case 1:
        return work(uint8_t{});
      case 2:
        return work(uint16_t{});
      case 4:
        return work(uint32_t{});
      default:
        return work(uint64_t{});
    }
  }

  void take_rows(std::byte* to, std::span<const double> values) {
    with_item(
        [&]<typename Item>(Item) { look_up<Item>(values, wanted_.first, wanted_.table, to); });
  }

  void plant(std::byte* to, std::span<double> rows) {
    fill_doubles(
        special_state_,
        Distribution::special(static_cast<int64_t>(wanted_.special_rows), wanted_.probability),
        rows);
    special_state_ = jump(special_state_, 2 * rows.size());
    with_item([&]<typename Item>(Item) { put_over<Item>(rows, wanted_.special, to); });
  }

  const gpuemu_draws& wanted_;
  const Distribution distribution_;
  const DType dtype_;
  const size_t item_bytes_;
  RngState state_, special_state_;
  std::vector<double> values_;
};

}  // namespace
}  // namespace gpuemu

extern "C" {

[[gnu::visibility("default")]] uint32_t gpuemu_draws_version() { return gpuemu::kVersion; }

[[gnu::visibility("default")]] int gpuemu_draw(const gpuemu_draws* wanted, void* to,
                                               uint64_t count) {
  const auto distribution = gpuemu::distribution_of(*wanted);
  const auto dtype = gpuemu::dtype_from_name(wanted->dtype);
  const bool picks = wanted->special_rows > 0 && wanted->special_rows <= gpuemu::kSpecialRowsMax;
  if (!distribution || !dtype || (wanted->special != nullptr && !picks)) return 1;
  const size_t item_bytes = gpuemu::byte_size(*dtype);
  const std::span<std::byte> whole(static_cast<std::byte*>(to), count * item_bytes);
  gpuemu::Parts parts(*wanted, *distribution, *dtype);
  for (size_t at = 0; at < whole.size(); at += gpuemu::kPartElements * item_bytes) {
    parts.next(whole.subspan(at, std::min(gpuemu::kPartElements * item_bytes, whole.size() - at)));
  }
  return 0;
}
}
