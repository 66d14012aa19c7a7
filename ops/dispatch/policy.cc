// Converts TOML and JSON to one tree, which is read in one place.
#include "ops/dispatch/policy.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "common/base/files.h"
#include "common/toml/nearest.h"
#include "common/toml/toml_document.h"

namespace gpuemu {
namespace {

using Json = nlohmann::json;
constexpr size_t kPolicyBytesMax = size_t{1} << 20;

std::string place(const std::string& file, const TomlEntry& entry) {
  if (entry.line == 0) return fmt::format("{}: {}", file, entry.key);
  return fmt::format("{}:{}:{}: {}", file, entry.line, entry.column, entry.key);
}

Error wrong(const std::string& where, const std::string& what) {
  return error(ErrorCode::InvalidArgument, "{}: {}", where, what);
}

constexpr std::pair<std::string_view, SelectionRule> kStrategies[] = {
    {"first_supported", SelectionRule::FirstSupported},
    {"best_performance", SelectionRule::BestPerformance}};

Result<SelectionRule> read_strategy(const std::string& file, const TomlEntry& entry) {
  if (entry.value.kind == TomlValue::Kind::Text) {
    for (const auto& [name, rule] : kStrategies) {
      if (entry.value.text == name) return rule;
    }
  }
  return wrong(place(file, entry), "expected \"first_supported\" or \"best_performance\"");
}

Status check_preference(const std::string& where, const std::string& op, const std::string& variant,
                        const OpRegistry& registry) {
  const auto found = registry.find(op);
  if (!found) return wrong(where, found.error().message);
  std::vector<std::string> names;
  std::string list;
  for (const KernelVariant* one : registry.variants_of(**found)) {
    if (one->name == variant) return ok_status();
    names.push_back(one->name);
    list += (list.empty() ? "" : ", ") + one->name;
  }
  return wrong(where, fmt::format("'{}' has no variant '{}'; there are: {}{}", op, variant, list,
                                  did_you_mean(variant, names)));
}

Result<DispatchPolicy> read_policy(const TomlValue& root, const std::string& file,
                                   const OpRegistry& registry) {
  DispatchPolicy policy;
  for (const TomlEntry& entry : root.entries) {
    if (entry.key == "strategy") {
      policy.strategy = GPUEMU_TRY(read_strategy(file, entry));
    } else if (entry.key == "prefer") {
      if (entry.value.kind != TomlValue::Kind::Table) {
        return wrong(place(file, entry), "expected a table of ops and their variants");
      }
      for (const TomlEntry& wish : entry.value.entries) {
        const std::string where = place(file, wish);
        if (wish.value.kind != TomlValue::Kind::Text) {
          return wrong(where, "expected the name of a variant in quotes");
        }
        GPUEMU_TRY(check_preference(where, wish.key, wish.value.text, registry));
        policy.preferred[wish.key] = wish.value.text;
      }
    } else {
      return wrong(place(file, entry), "unknown key, expected strategy or prefer");
    }
  }
  return policy;
}

/// Converts objects and texts; anything else is reported when it is read.
TomlValue tree_of(const Json& json) {
  TomlValue value;
  if (json.is_string()) {
    value.kind = TomlValue::Kind::Text;
    value.text = json.get<std::string>();
  } else if (json.is_object()) {
    for (const auto& [key, member] : json.items()) {
      TomlEntry entry;
      entry.key = key;
      entry.value = tree_of(member);
      value.entries.push_back(std::move(entry));
    }
  } else {
    value.kind = TomlValue::Kind::Array;
  }
  return value;
}

}  // namespace

Result<DispatchPolicy> policy_from_toml(const std::string& text, const std::string& file,
                                        const OpRegistry& registry) {
  std::vector<ConfigProblem> problems;
  const auto root = parse_toml(text, file, problems);
  if (!root) {
    return error(ErrorCode::InvalidArgument, "{}",
                 problems.empty() ? file + ": no TOML" : problems.front().text());
  }
  return read_policy(*root, file, registry);
}

Result<DispatchPolicy> policy_from_json(const std::string& text, const std::string& file,
                                        const OpRegistry& registry) {
  try {
    // A policy has two levels; deeper nesting is dropped.
    const auto shallow = [](int depth, Json::parse_event_t, Json&) { return depth <= 3; };
    const Json root = Json::parse(text, shallow);
    if (!root.is_object()) return wrong(file, "expected an object with strategy and prefer");
    return read_policy(tree_of(root), file, registry);
  } catch (const Json::parse_error& bad) {
    // Remove the tag of "[json.exception.parse_error.101] parse error at line 1, ...".
    const std::string what = bad.what();
    const size_t tag = what.find("] ");
    return wrong(file, "not JSON: " + (tag == std::string::npos ? what : what.substr(tag + 2)));
  }
}

std::string json_of(const DispatchPolicy& policy) {
  const auto* const strategy = std::ranges::find(
      kStrategies, policy.strategy, &std::pair<std::string_view, SelectionRule>::second);
  Json prefer = Json::object();
  for (const auto& [op, variant] : policy.preferred) prefer[op] = variant;
  return Json{{"strategy", strategy->first}, {"prefer", prefer}}.dump(
      -1, ' ', false, Json::error_handler_t::replace);
}

Result<DispatchPolicy> load_policy(const std::string& path, const OpRegistry& registry) {
  const bool toml = path.ends_with(".toml");
  if (!toml && !path.ends_with(".json")) {
    return wrong(path, "expected a file that ends in .toml or .json");
  }
  const std::string text = GPUEMU_TRY(read_file(path, kPolicyBytesMax));
  return toml ? policy_from_toml(text, path, registry) : policy_from_json(text, path, registry);
}

}  // namespace gpuemu
