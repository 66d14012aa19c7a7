// Reads [validation] and tolerance tables.
#include <charconv>
#include <map>

#include "common/config/names.h"
#include "common/config/readers.h"

namespace gpuemu {
namespace {

void read_sanitize(TableReader& validation, Config& config) {
  const auto value = validation.find("sanitize");
  if (!value) return;
  std::vector<std::string> names;
  for (const ValueReader& item : value->items(value->layer().from_text)) {
    if (const auto check = item.one_of(validation.allowed_words("sanitize"))) {
      names.push_back(*check);
    }
  }
  // one_of() has checked them all.
  config.sanitize = *device_checks_from_names(names);
}

// A TOML integer ends at 2^63 - 1; a larger seed, as drawn and printed, is written in quotes.
void read_seed(TableReader& validation, Config& config) {
  const auto value = validation.find("seed");
  if (!value) return;
  if (!value->is(TomlValue::Kind::Text)) {
    if (const auto seed = value->integer(0, INT64_MAX)) config.seed = static_cast<uint64_t>(*seed);
    return;
  }
  const std::string& text = value->value().text;
  uint64_t seed = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size()) {
    config.seed = seed;
  } else {
    value->problem(fmt::format("'{}', expected an integer from 0 to {}", text, UINT64_MAX));
  }
}

void read_strategies(TableReader& validation, Config& config) {
  const auto value = validation.find("strategies");
  if (!value) return;
  const auto items = value->items(value->layer().from_text);
  config.strategies.clear();
  for (const ValueReader& item : items) {
    if (const auto name = item.one_of(validation.allowed_words("strategies"))) {
      config.strategies.push_back(*strategy_from_name(*name));
    }
  }
  if (items.empty() && value->is(TomlValue::Kind::Array)) {
    value->problem("an empty list, expected [\"default\"] or names");
  }
}

}  // namespace

std::optional<Tolerance> read_tolerance(const ValueReader& value) {
  Tolerance tolerance;
  if (value.is(TomlValue::Kind::Text) && !value.layer().from_text) {
    if (value.value().text != "auto") {
      value.wrong_kind("a number, { atol = 1e-5, rtol = 1e-5 } or \"auto\"");
      return std::nullopt;
    }
    tolerance.automatic = true;
    return tolerance;
  }
  if (!value.is(TomlValue::Kind::Table)) {
    // A bare number is an absolute tolerance, as in existing files.
    const Key& atol_row = *tolerance_keys().find("atol");
    const auto atol = value.number(atol_row.least, atol_row.most);
    if (!atol) return std::nullopt;
    tolerance.atol = *atol;
    return tolerance;
  }
  TableReader table(value, tolerance_keys());
  table.read_number("atol", tolerance.atol);
  table.read_number("rtol", tolerance.rtol);
  uint64_t ulp = 0;
  table.read_integer("ulp", ulp);
  if (table.has("ulp")) tolerance.ulp = ulp;
  // Names that other tools use for the same keys.
  for (const auto& [other, own] : {std::pair("abs", "atol"), std::pair("rel", "rtol")}) {
    const auto value_there = table.has(other) ? table.named(other) : std::nullopt;
    if (value_there) {
      table.problem_at_key(other, fmt::format("unknown key; did you mean '{}'?", own));
    }
  }
  table.finish();
  if (value.value().entries.empty()) {
    value.problem(
        "an empty tolerance, expected { atol = 1e-5, rtol = 1e-5 }, a number or \"auto\"");
  }
  return tolerance;
}

void read_tolerances(TableReader& table, ToleranceTable& tolerances) {
  const auto value = table.find("tolerances");
  if (!value) return;
  if (!value->is(TomlValue::Kind::Table)) {
    return value->wrong_kind("a table by dtype, such as { float32 = 1e-5 }");
  }
  TableReader rows(*value);
  std::map<DType, std::string> keys;
  for (const auto& [key, tolerance] : rows.all()) {
    const auto dtype = dtype_from_alias(key);
    if (!dtype) {
      // The key itself is wrong; a reader of it reports this with the usual message.
      TomlValue as_text;
      as_text.kind = TomlValue::Kind::Text;
      as_text.text = key;
      for (const TomlEntry& entry : value->value().entries) {
        if (entry.key != key) continue;
        as_text.line = entry.line;
        as_text.column = entry.column;
      }
      (void)ValueReader(tolerance.state(), tolerance.layer(), as_text, tolerance.path()).dtype();
      continue;
    }
    const auto [first, is_new] = keys.emplace(*dtype, key);
    if (!is_new) {
      tolerance.problem(fmt::format("means the same as '{}'; keep one of them", first->second));
      continue;
    }
    // `config show` prints the full name, whatever the file uses.
    tolerance.state().places[rows.path_of(name_of(*dtype))] =
        tolerance.state().place_of(tolerance.path());
    if (const auto read = read_tolerance(tolerance)) tolerances[*dtype] = *read;
  }
}

void read_reference_memory(TableReader& validation, Config& config) {
  const auto value = validation.find("reference_memory_limit_mb");
  if (!value) return;
  const Key& row = validation.row_of("reference_memory_limit_mb");
  const bool is_text = value->is(TomlValue::Kind::Text);
  if (is_text && value->value().text == "auto") {
    config.reference_memory_limit_mb = 0;
  } else if (is_text && !value->layer().from_text) {
    value->problem(fmt::format("'{}', expected \"auto\" or an integer from {} to {}",
                               value->value().text, row.lowest, row.highest));
  } else if (const auto most = value->integer(row.lowest, row.highest)) {
    config.reference_memory_limit_mb = static_cast<uint64_t>(*most);
  }
}

void read_validation(TableReader& root, Config& config) {
  const auto value = root.find("validation");
  if (!value) return;
  TableReader validation(*value, validation_keys());
  validation.read("dtypes", config.dtypes);
  validation.read("check_nan", config.check_nan);
  validation.read("check_inf", config.check_inf);
  read_seed(validation, config);
  validation.read_integer("cases", config.cases);
  validation.read_integer("max_elements", config.max_elements);
  read_strategies(validation, config);
  read_sanitize(validation, config);
  validation.read_integer("determinism_runs", config.determinism_runs);
  validation.read_number("reference_timeout_s", config.reference_timeout_s);
  read_reference_memory(validation, config);
  validation.read("strict", config.strict);
  read_tolerances(validation, config.tolerances);
  validation.finish();
}

}  // namespace gpuemu
