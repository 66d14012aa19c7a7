// Reads tables of invariants. Checks names and parameters; check_op.cc checks tensors and axes.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "common/config/names.h"
#include "common/config/readers.h"
#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

constexpr double kParameterMax = 1e300;
constexpr double kAxisMax = 64;
constexpr double kRunsMax = 100;  // As for [validation].determinism_runs.

bool has_word(std::string_view words, const std::string& word) {
  return std::ranges::count(split_words(words), word) > 0;
}

std::string parameters_text(const InvariantInfo& row) {
  std::vector<std::string> words = split_words(row.numbers);
  std::ranges::copy(split_words(row.texts), std::back_inserter(words));
  return words.empty() ? "it has no parameters, write true"
                       : fmt::format("expected {}", fmt::join(words, ", "));
}

// A number that is a yes/no choice is written as a boolean.
std::optional<double> number_of(const ValueReader& value, const std::string& name) {
  if (value.is(TomlValue::Kind::Boolean) && (name == "strict" || name == "exact")) {
    return value.value().boolean ? 1 : 0;
  }
  int exponent = 0;
  const bool magnitude = name == "tolerance" || name == "ulps";
  const double limit = name == "axis" ? kAxisMax : kParameterMax;
  const auto number = value.number(magnitude ? 0 : -limit, limit);
  if (!number) return std::nullopt;
  if (name == "axis" && *number != std::floor(*number)) {
    value.problem(fmt::format("axis {} is not an integer; the last axis is -1", *number));
    return std::nullopt;
  }
  if (name == "runs" && (*number != std::floor(*number) || *number < 2 || *number > kRunsMax)) {
    value.problem(fmt::format("{} runs, expected a whole number from 2 to {}", *number, kRunsMax));
    return std::nullopt;
  }
  if (name == "p" && !(*number > 0)) {
    value.problem(fmt::format("{} is out of range, expected a number above 0", *number));
    return std::nullopt;
  }
  if (name == "factor" && (*number == 0 || std::frexp(std::fabs(*number), &exponent) != 0.5)) {
    value.problem(fmt::format("{} rounds, expected a power of two such as 2 or 0.25", *number));
    return std::nullopt;
  }
  return number;
}

/// Reads a list of thread orders, kept as words.
void read_schedules(const ValueReader& value, InvariantSpec& spec) {
  std::string& all = spec.strings["schedules"];
  for (const ValueReader& item : value.items(true)) {
    const auto name = item.one_of(texts_of(schedule_names()));
    if (name) all += (all.empty() ? "" : " ") + *name;
  }
}

void read_text(const ValueReader& value, const std::string& name, InvariantSpec& spec) {
  if (name == "schedules") return read_schedules(value, spec);
  const bool is_expression = name == "grid" || name == "block" || name == "shared";
  if (is_expression) {
    if (const auto expression = value.expression()) spec.strings[name] = expression->text();
    return;
  }
  const auto text = name == "direction" ? value.one_of({"increasing", "decreasing"})
                    : name == "kind"    ? value.one_of({"same", "opposite", "non_negative"})
                                        : value.text();
  if (text) spec.strings[name] = *text;
}

void read_parameters(const InvariantInfo& row, const ValueReader& value, InvariantSpec& spec) {
  TableReader table(value);
  for (const auto& [key, parameter] : table.all()) {
    if (has_word(row.texts, key)) {
      read_text(parameter, key, spec);
    } else if (has_word(row.numbers, key)) {
      if (const auto number = number_of(parameter, key)) spec.numbers[key] = *number;
    } else {
      std::vector<std::string> known = split_words(row.numbers);
      std::ranges::copy(split_words(row.texts), std::back_inserter(known));
      parameter.problem(fmt::format("unknown parameter of '{}', {}{}", row.name,
                                    parameters_text(row), did_you_mean(key, known)));
    }
  }
}

/// Relations that need one of these parameters.
struct Needed {
  InvariantKind relation;
  std::string_view parameters, example;
};
constexpr Needed kNeeded[] = {
    {InvariantKind::PadInvariant, "dim axis", "{ dim = \"cols\", fill = 0 }"},
    {InvariantKind::Causal, "dim axis", "{ dim = \"seq\" }"},
    {InvariantKind::ConfigInvariant, "grid block", "{ block = 64 }"},
    {InvariantKind::InverseOf, "op", "{ op = \"quantize\" }"},
    {InvariantKind::Huge, "dim", "{ dim = \"rows\" }"},
};

bool is_complete(const InvariantSpec& spec, const ValueReader& value) {
  for (const Needed& row : kNeeded) {
    if (spec.kind != row.relation) continue;
    const auto given = split_words(row.parameters);
    const bool any = std::ranges::any_of(given, [&](const std::string& name) {
      return spec.strings.contains(name) || spec.numbers.contains(name);
    });
    if (!any) value.problem(fmt::format("expected parameters such as {}", row.example));
    return any;
  }
  if (spec.kind != InvariantKind::Range) return true;
  const auto lo = spec.numbers.find("lo"), hi = spec.numbers.find("hi");
  const auto end = spec.numbers.end();
  if (lo == end && hi == end) {
    value.problem("expected { lo = ..., hi = ... }, or one of the two");
    return false;
  }
  if (lo != end && hi != end && lo->second > hi->second) {
    value.problem(fmt::format("lo = {} is above hi = {}", lo->second, hi->second));
    return false;
  }
  return true;
}

std::string unknown_text(const std::string& name) {
  std::vector<std::string> known;
  for (const InvariantInfo& row : invariant_table()) known.emplace_back(row.name);
  return fmt::format("no invariant is called '{}', expected one of {}{}", name,
                     fmt::join(known, ", "), did_you_mean(name, known));
}

void read_invariant(const InvariantInfo& row, const ValueReader& value,
                    std::vector<InvariantSpec>& out, std::vector<InvariantKind>& off) {
  if (value.is(TomlValue::Kind::Array)) {  // Several sets of parameters.
    for (const ValueReader& item : value.items()) read_invariant(row, item, out, off);
    return;
  }
  InvariantSpec spec;
  spec.kind = row.kind;
  if (value.is(TomlValue::Kind::Boolean)) {
    if (!value.value().boolean) {
      off.push_back(spec.kind);
    } else if (is_complete(spec, value)) {
      out.push_back(std::move(spec));
    }
    return;
  }
  if (value.is(TomlValue::Kind::Integer) || value.is(TomlValue::Kind::Real)) {
    if (!has_word(row.numbers, "value")) {
      value.problem(fmt::format("'{}' takes no number; {}", row.name, parameters_text(row)));
    } else if (const auto number = number_of(value, "value")) {
      spec.numbers["value"] = *number;
      out.push_back(std::move(spec));
    }
    return;
  }
  if (!value.is(TomlValue::Kind::Table)) {
    value.wrong_kind("true, false or a table of parameters such as { axis = -1 }");
    return;
  }
  read_parameters(row, value, spec);
  if (is_complete(spec, value)) out.push_back(std::move(spec));
}

}  // namespace

void read_invariants(TableReader& table, std::vector<InvariantSpec>& invariants,
                     std::vector<InvariantKind>& off) {
  const auto value = table.find("invariants");
  if (!value) return;
  if (value->is(TomlValue::Kind::Array)) {
    return value->wrong_kind("a table, such as { non_negative = true }");
  }
  TableReader rows(*value);
  for (const auto& [name, parameters] : rows.all()) {
    if (const auto kind = invariant_from_name(name)) {
      read_invariant(info_of(*kind), parameters, invariants, off);
    } else {
      rows.problem_at_key(name, unknown_text(name));
    }
  }
}

}  // namespace gpuemu
