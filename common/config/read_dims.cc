// Reads the sizes of an op: n = [1, 64], n = [1, 7, 64], n = 8, n = "2 * m", n = { range = [32,
// 4096], multiple_of = 32 }.
#include <algorithm>
#include <bit>

#include "common/config/readers.h"

namespace gpuemu {
namespace {

constexpr size_t kDimValuesMax = 4096;

/// Returns nothing if one of them was refused.
std::optional<std::vector<int64_t>> read_sizes(const ValueReader& value) {
  const Key& row = *dim_keys().find("values");
  const auto items = value.items(true);
  std::vector<int64_t> sizes;
  for (const ValueReader& item : items) {
    if (const auto size = item.integer(row.lowest, row.highest)) sizes.push_back(*size);
  }
  if (sizes.size() != items.size()) return std::nullopt;
  return sizes;
}

bool is_empty_range(const ValueReader& value, const std::vector<int64_t>& ends) {
  if (ends[0] <= ends[1]) return false;
  value.problem(fmt::format("[{}, {}] is empty, expected [lowest, highest]", ends[0], ends[1]));
  return true;
}

/// Returns the multiples of `step` in the range. If there are more than a set may have: half of the
/// places for the smallest ones, the other half spread evenly up to the largest.
std::vector<int64_t> multiples(int64_t low, int64_t high, int64_t step) {
  const int64_t first = (low + step - 1) / step, last = high / step;
  std::vector<int64_t> sizes;
  constexpr auto kMost = static_cast<int64_t>(kDimValuesMax);
  const int64_t dense = last - first < kMost ? last - first + 1 : kMost / 2;
  for (int64_t i = 0; i < dense; ++i) sizes.push_back((first + i) * step);
  if (dense > last - first) return sizes;
  const int64_t begin = first + dense, span = last - begin;
  for (int64_t i = 0; i < kMost / 2; ++i) {
    const auto part = static_cast<double>(i) / static_cast<double>(kMost / 2 - 1);
    sizes.push_back((begin + static_cast<int64_t>(static_cast<double>(span) * part)) * step);
  }
  sizes.back() = last * step;
  return sizes;
}

std::vector<int64_t> powers_of_two(int64_t low, int64_t high, int64_t step) {
  std::vector<int64_t> sizes;
  for (int64_t power = 1; power <= high; power *= 2) {
    if (power >= low && power % step == 0) sizes.push_back(power);
  }
  return sizes;
}

/// Reads { values = [...] }, or { range = [...] } with further conditions.
std::optional<DimSpec> read_table(const ValueReader& value) {
  TableReader table(value, dim_keys());
  const auto values = table.find("values"), range = table.find("range");
  int64_t step = 1;
  bool power = false;
  const size_t before = value.state().problems.size();
  table.read_integer("multiple_of", step);
  table.read("power_of_two", power);
  for (const char* end : {"min", "max"}) {
    if (!table.has(end)) continue;
    (void)table.named(end);
    table.problem_at_key(end, "unknown key; write both ends as range = [1, 300]");
  }
  const auto listed = values ? read_sizes(*values) : std::nullopt;
  const auto ends = range ? read_sizes(*range) : std::nullopt;
  table.finish();
  if (value.state().problems.size() != before) return std::nullopt;
  const auto refuse = [](const ValueReader& where, const std::string& why) {
    where.problem(why);
    return std::nullopt;
  };
  if (values.has_value() == range.has_value()) {
    return refuse(value, values ? "values and range, expected one of the two"
                                : "expected { values = [32, 64] }, or { range = [1, 4096] } with "
                                  "multiple_of or power_of_two beside it");
  }
  if (listed) {
    if (listed->empty() || listed->size() > kDimValuesMax) {
      return refuse(*values,
                    fmt::format("{} sizes, expected 1 to {}", listed->size(), kDimValuesMax));
    }
    if (table.has("multiple_of") || table.has("power_of_two")) {
      return refuse(*values,
                    "multiple_of and power_of_two belong to a range; list the sizes that "
                    "are meant");
    }
    return DimSpec{{}, true, *listed};
  }
  if (ends->size() != 2) return refuse(*range, "expected [lowest, highest]");
  if (is_empty_range(*range, *ends)) return std::nullopt;
  if (step == 1 && !power) return DimSpec{{}, false, *ends};
  DimSpec dim{{},
              true,
              power ? powers_of_two((*ends)[0], (*ends)[1], step)
                    : multiples((*ends)[0], (*ends)[1], step)};
  if (dim.values.empty()) {
    return refuse(
        *range, fmt::format("no size from {} to {} is {}; expected a range that holds one",
                            (*ends)[0], (*ends)[1],
                            power ? "such a power of two" : fmt::format("a multiple of {}", step)));
  }
  return dim;
}

std::optional<DimSpec> read_list(const ValueReader& value) {
  auto sizes = read_sizes(value);
  if (!sizes) return std::nullopt;
  if (sizes->empty() || sizes->size() > kDimValuesMax) {
    value.problem("expected [lowest, highest], or a list of one or more than two sizes");
    return std::nullopt;
  }
  const bool is_range = sizes->size() == 2;
  if (is_range && is_empty_range(value, *sizes)) return std::nullopt;
  return DimSpec{{}, !is_range, *std::move(sizes)};
}

/// Returns the range "[1, 300]" for "1..300", "1-300" or "1:300"; "" for other text.
std::string range_meant(const std::string& text) {
  const size_t low_end = text.find_first_not_of("0123456789");
  if (low_end == 0 || low_end == std::string::npos) return "";
  const size_t high = text.find_first_of("0123456789", low_end);
  if (high == std::string::npos) return "";
  const std::string between = text.substr(low_end, high - low_end);
  const bool is_range = between == ".." || between == "..." || between == "-" || between == ":";
  if (!is_range || text.find_first_not_of("0123456789", high) != std::string::npos) return "";
  return fmt::format("[{}, {}]", text.substr(0, low_end), text.substr(high));
}

void read_dim(const std::string& name, const ValueReader& value, OpConfig& op) {
  if (!is_legal_name(value, name)) return;
  if (value.is(TomlValue::Kind::Text)) {
    if (const std::string range = range_meant(value.value().text); !range.empty()) {
      value.problem(
          fmt::format("'{}' is not a size; a range is written {}", value.value().text, range));
      return;
    }
    if (value.value().text.starts_with("[")) {
      return value.problem("expected a size, found a list in quotes; write " + value.value().text);
    }
    if (auto expression = value.expression()) op.derived_dims.push_back({name, *expression});
    return;
  }
  auto dim = value.is(TomlValue::Kind::Table) ? read_table(value) : read_list(value);
  if (!dim) return;
  dim->name = name;
  op.dims.push_back(*std::move(dim));
}

/// Orders dims after those that they need. What remains depends on itself.
std::vector<DerivedDim> in_order(std::vector<DerivedDim> left, std::vector<DerivedDim>& ordered) {
  for (bool moved = true; moved;) {
    moved = false;
    for (size_t i = 0; i < left.size(); ++i) {
      const auto names = left[i].value.names();
      const bool waits = std::ranges::any_of(left, [&](const DerivedDim& other) {
        return std::ranges::find(names, other.name) != names.end();
      });
      if (waits) continue;
      ordered.push_back(std::move(left[i]));
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i--));
      moved = true;
    }
  }
  return left;
}

}  // namespace

void read_dims(TableReader& table, OpConfig& op) {
  const auto dims = table.find("dims");
  if (!dims) return;
  TableReader rows(*dims);
  for (const auto& [name, value] : rows.all()) read_dim(name, value, op);
  std::vector<DerivedDim> ordered;
  const auto cycle = in_order(std::move(op.derived_dims), ordered);
  op.derived_dims = std::move(ordered);
  for (const DerivedDim& dim : cycle) {
    dims->state().problem_at(
        rows.path_of(dim.name),
        fmt::format("'{}' = \"{}\" needs itself; a dim follows from dims that are chosen, "
                    "such as n = [1, 64]",
                    dim.name, dim.value.text()));
  }
}

Status add_derived_dims(const OpConfig& op, Scope& scope) {
  for (const DerivedDim& dim : op.derived_dims) {
    const auto value = dim.value.evaluate_size(scope);
    if (!value) {
      return value.error().with_context(fmt::format("op '{}', dim '{}'", op.name, dim.name));
    }
    scope.integers[dim.name] = *value;
  }
  if (!op.require) return ok_status();
  const auto holds = op.require->evaluate(scope);
  if (!holds) return holds.error().with_context(fmt::format("op '{}', require", op.name));
  if (*holds != 0) return ok_status();
  std::string sizes;
  for (const std::string& name : op.require->names()) {
    const auto value = scope.integers.find(name);
    if (value == scope.integers.end()) continue;
    sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", name, value->second);
  }
  return error(ErrorCode::InvalidArgument,
               "op '{}': require = \"{}\" does not hold with {}; give the dims sizes for "
               "which it holds",
               op.name, op.require->text(), sizes);
}

}  // namespace gpuemu
