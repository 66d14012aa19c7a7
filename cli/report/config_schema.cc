// Has one function per form of a value; sections become definitions.
#include "cli/report/config_schema.h"

#include <algorithm>
#include <cctype>
#include <map>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "common/base/check.h"
#include "common/config/keys.h"
#include "common/config/names.h"
#include "common/config/vocabulary.h"
#include "common/numeric/dtype.h"

namespace gpuemu::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kDraft = "http://json-schema.org/draft-07/schema#";
// Must match is_architecture().
constexpr const char* kArchPattern = "^sm_[1-9][0-9]{1,2}[af]?$";
// Must match parse_size().
constexpr const char* kSizePattern = "^[0-9]+([KMGT]iB)?$";
constexpr const char* kNamePattern = "^(?!dtype$)[A-Za-z_][A-Za-z0-9_]*$";
constexpr const char* kUserPattern = "^[^:/]+$";
constexpr int kDimValuesMax = 4096, kAxisMax = 64, kRunsMax = 100;

Json type(const char* name) { return {{"type", name}}; }
Json list_of(Json items) { return {{"type", "array"}, {"items", std::move(items)}}; }
Json any_of(Json first, Json second) { return {{"anyOf", {std::move(first), std::move(second)}}}; }
Json one_or_list(const Json& one) { return any_of(one, list_of(one)); }
Json reference(const std::string& name) { return {{"$ref", "#/definitions/" + name}}; }

Json text(size_t shortest = 0) {
  Json schema = type("string");
  if (shortest > 0) schema["minLength"] = shortest;
  return schema;
}

Json pattern(const std::string& expression) {
  return {{"type", "string"}, {"pattern", expression}};
}

Json integer(int64_t lowest, int64_t highest) {
  return {{"type", "integer"}, {"minimum", lowest}, {"maximum", highest}};
}

Json number(double least, double most) {
  return {{"type", "number"}, {"minimum", least}, {"maximum", most}};
}

Json words(const std::vector<std::string>& choices) { return {{"enum", choices}}; }
Json key_words(const Key& key) { return words(texts_of(key.words())); }
Json expression() { return any_of(type("integer"), text(1)); }
Json deprecated(Json form) {
  form["deprecated"] = true;
  return form;
}

/// Returns a pattern that matches the name in any case, because JSON Schema cannot ignore case.
std::string any_case(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    out += std::isalpha(byte) == 0
               ? std::string(1, c)
               : fmt::format("[{}{}]", c, static_cast<char>(std::toupper(byte)));
  }
  return out;
}

/// Accepts the names that are offered, and every other spelling that is read.
Json dtype() {
  constexpr std::string_view kSpellings[][2] = {
#define GPUEMU_DTYPE(enumerator, name, alias, cuda, bytes, kind) {name, alias},
#include "common/numeric/dtype.def"
#undef GPUEMU_DTYPE
  };
  std::vector<std::string> names;
  std::string spellings;
  for (const auto& [name, alias] : kSpellings) {
    names.emplace_back(name);
    spellings += (spellings.empty() ? "" : "|") + any_case(name);
    if (alias != name) spellings += "|" + any_case(alias);
  }
  return any_of(words(names), pattern("^(" + spellings + ")$"));
}

Json dtypes() {
  Json list = list_of(reference("dtype"));
  list["minItems"] = 1;
  return list;
}

Json named(Json values, const char* names = kNamePattern) {
  return {{"type", "object"},
          {"propertyNames", {{"pattern", names}}},
          {"additionalProperties", std::move(values)}};
}

/// One schema for a set and a range, because a list of two sizes may be either.
Json sizes(const Key& key, int fewest, int most) {
  Json list = list_of(integer(key.lowest, key.highest));
  list["minItems"] = fewest;
  list["maxItems"] = most;
  return list;
}

Json dims() {
  const Key& values = *dim_keys().find("values");
  return named({{"anyOf",
                 {integer(values.lowest, values.highest), sizes(values, 1, kDimValuesMax), text(1),
                  reference("dim")}}});
}

Json tolerances() {
  return {{"type", "object"},
          {"propertyNames", reference("dtype")},
          {"additionalProperties", reference("tolerance")}};
}

Json error_scale(const Key& key) {
  Json by_output = type("object");
  by_output["additionalProperties"] = key_words(key);
  return any_of(key_words(key), by_output);
}

/// The documentation of each invariant, in the order of the enumeration.
struct Meaning {
  std::string_view parameters, property;
};
constexpr Meaning kMeanings[] = {
#define GPUEMU_INVARIANT(value, name, numbers, texts, parameters, description) \
  {parameters, description},
#define GPUEMU_RELATION GPUEMU_INVARIANT
#include "common/config/invariants.def"
#undef GPUEMU_RELATION
#undef GPUEMU_INVARIANT
};

std::string meaning_of(const InvariantInfo& row) {
  const auto& [parameters, property] = kMeanings[static_cast<size_t>(row.kind)];
  const std::string text =
      fmt::format("{}: {}.", row.is_relation ? "Relation" : "Property", property);
  return parameters.empty() ? text : fmt::format("{} Parameters: {}.", text, parameters);
}

/// Returns the schema for a parameter of an invariant; must match read_invariants.cc.
Json number_parameter(const std::string& name) {
  if (name == "strict" || name == "exact") return any_of(type("boolean"), type("number"));
  if (name == "axis") return integer(-kAxisMax, kAxisMax);
  if (name == "runs") return integer(2, kRunsMax);
  if (name == "tolerance" || name == "ulps") return {{"type", "number"}, {"minimum", 0}};
  if (name == "p") return {{"type", "number"}, {"exclusiveMinimum", 0}};
  return type("number");
}

Json text_parameter(const std::string& name) {
  if (name == "grid" || name == "block" || name == "shared") return expression();
  if (name == "direction") return words({"increasing", "decreasing"});
  if (name == "kind") return words({"same", "opposite", "non_negative"});
  if (name == "schedules") return one_or_list(words(texts_of(schedule_names())));
  return text();
}

Json invariant(const InvariantInfo& row) {
  Json parameters = {{"type", "object"}, {"properties", Json::object()}};
  const auto add = [&](const std::string& name, Json form) {
    Json value = {{"description", fmt::format("Of `{}`. {}", row.name, meaning_of(row))}};
    value.update(form);
    parameters["properties"][name] = std::move(value);
  };
  for (const std::string& name : split_words(row.numbers)) add(name, number_parameter(name));
  for (const std::string& name : split_words(row.texts)) add(name, text_parameter(name));
  parameters["additionalProperties"] = false;
  Json forms = {type("boolean"), std::move(parameters)};
  const std::vector<std::string> numbers = split_words(row.numbers);
  if (std::ranges::find(numbers, "value") != numbers.end()) forms.push_back(type("number"));
  return one_or_list({{"anyOf", std::move(forms)}});
}

Json invariants() {
  Json all = {{"type", "object"}, {"properties", Json::object()}};
  for (const InvariantInfo& row : invariant_table()) {
    Json value = {{"description", meaning_of(row)}};
    value.update(invariant(row));
    all["properties"][std::string(row.name)] = std::move(value);
  }
  all["additionalProperties"] = false;
  return all;
}

Json source(const Key& key) {
  std::vector<std::string> builtins;
  for (const std::string& name : texts_of(key.words())) builtins.push_back("builtin:" + name);
  return any_of(words(builtins), pattern("^(?!builtin:).*\\.(cu|cuh|ptx|fatbin|cubin|py)$"));
}

Json range(const Key& key) {
  Json ends = list_of(any_of(number(key.least, key.most), text(1)));
  ends["minItems"] = ends["maxItems"] = 2;
  return ends;
}

Json extent() {
  Json sizes = list_of(expression());
  sizes["minItems"] = 1;
  sizes["maxItems"] = 3;
  return any_of(expression(), sizes);
}

Json numbers(const Key& key) {
  Json list = list_of(number(key.least, key.most));
  list["minItems"] = 1;
  return any_of(number(key.least, key.most), list);
}

std::string definition_of(const KeySection& section) {
  std::string name(section.name);
  std::ranges::replace(name, '.', '_');
  return name;
}

/// Returns the schema of forms that do not depend on the key.
Json plain_form(KeyForm form) {
  switch (form) {
    case KeyForm::Text:
      return text();
    case KeyForm::Path:
      return text(1);
    case KeyForm::Boolean:
      return type("boolean");
    case KeyForm::Texts:
      return list_of(text());
    case KeyForm::Symbols:
      return named(reference("argument"));
    case KeyForm::Arguments:
      return list_of(reference("argument"));
    case KeyForm::Paths:
      return list_of(text(1));
    case KeyForm::DType:
      return reference("dtype");
    case KeyForm::DTypes:
      return dtypes();
    case KeyForm::TextOrTexts:
      return one_or_list(text());
    case KeyForm::Expression:
      return expression();
    case KeyForm::Value:
      return any_of(type("number"), text());
    case KeyForm::Expressions:
      return list_of(expression());
    case KeyForm::Extent:
      return extent();
    case KeyForm::Arch:
      return any_of(words({"auto"}), pattern(kArchPattern));
    case KeyForm::Seed:
      return any_of({{"type", "integer"}, {"minimum", 0}}, pattern("^[0-9]+$"));
    case KeyForm::Size:
      return any_of({{"type", "integer"}, {"minimum", 0}}, pattern(kSizePattern));
    case KeyForm::TensorDType:
      return any_of(words({"{dtype}"}), reference("dtype"));
    case KeyForm::Dims:
      return dims();
    case KeyForm::Tolerance:
      return reference("tolerance");
    case KeyForm::Tolerances:
      return tolerances();
    case KeyForm::Invariants:
      return reference("invariants");
    case KeyForm::Retired:
      return deprecated(Json::object());
    case KeyForm::RetiredText:
      return deprecated(type("string"));
    case KeyForm::RetiredTexts:
      return deprecated(list_of(type("string")));
    default:
      GPUEMU_UNREACHABLE();
  }
}

Json form_of(const Key& key) {
  switch (key.form) {
    case KeyForm::Integer:
      return integer(key.lowest, key.highest);
    case KeyForm::Number:
      return number(key.least, key.most);
    case KeyForm::Word:
      return key_words(key);
    case KeyForm::Words:
      return list_of(key_words(key));
    case KeyForm::WordOrWords:
      return one_or_list(key_words(key));
    case KeyForm::Numbers:
      return numbers(key);
    case KeyForm::Table:
    case KeyForm::KernelPolicy:
      return reference(definition_of(*key.section));
    case KeyForm::Tables:
      return list_of(reference(definition_of(*key.section)));
    case KeyForm::NamedTables:
      return named(reference(definition_of(*key.section)));
    case KeyForm::UserTables:
      return named(reference(definition_of(*key.section)), kUserPattern);
    case KeyForm::AutoOrInteger:
      return any_of(words({"auto"}), integer(key.lowest, key.highest));
    case KeyForm::Source:
      return source(key);
    case KeyForm::Range:
      return range(key);
    case KeyForm::Sizes:
      return any_of(integer(key.lowest, key.highest), sizes(key, 1, kDimValuesMax));
    case KeyForm::SizeRange:
      return sizes(key, 2, 2);
    case KeyForm::ErrorScale:
      return error_scale(key);
    default:
      return plain_form(key.form);
  }
}

class Schema {
 public:
  /// Returns the definition of a section, and adds those of all sections below it.
  Json object_of(const KeySection& section) {
    Json object = {{"type", "object"}, {"properties", Json::object()}};
    Json required = Json::array();
    for (const Key* key : section.all()) {
      Json value = {{"description", key->help}};
      // Draft 07 ignores members beside a $ref.
      Json form = form_of(*key);
      if (form.contains("$ref")) form = {{"allOf", Json::array({form})}};
      value.update(form);
      object["properties"][std::string(key->name)] = std::move(value);
      if (key->required) required.push_back(key->name);
      if (key->section != nullptr) define(*key->section);
    }
    if (!required.empty()) object["required"] = std::move(required);
    object["additionalProperties"] = false;
    return object;
  }

  std::string take() {
    Json whole = {{"$schema", kDraft},
                  {"title", "gpuemu.toml"},
                  {"description", "What gpuemu tests, and how."}};
    whole.update(object_of(file_keys()));
    definitions_["dtype"] = dtype();
    Json members = list_of(reference("argument"));
    members["minItems"] = 1;
    definitions_["argument"] = any_of(text(), members);
    definitions_["invariants"] = invariants();
    definitions_["tolerance"] = {
        {"anyOf",
         {words({"auto"}), number(0, tolerance_keys().find("atol")->most), tolerance_table()}}};
    // Definitions for tables that are named after architectures, and for others whose keys are
    // names.
    const std::string limits = definition_of(artifact_limit_keys());
    Json of_arch = definitions_[limits];
    definitions_[limits]["patternProperties"][kArchPattern] = reference("artifact_checks_of_arch");
    definitions_["artifact_checks_of_arch"] = std::move(of_arch);
    definitions_[definition_of(kernel_policy_keys())]["additionalProperties"] = text();
    whole["definitions"] = Json::object();
    for (auto& [name, definition] : definitions_) whole["definitions"][name] = definition;
    return whole.dump(1);
  }

 private:
  void define(const KeySection& section) {
    const std::string name = definition_of(section);
    if (definitions_.contains(name)) return;
    definitions_[name] = nullptr;  // Needed for a section that contains itself.
    definitions_[name] = object_of(section);
  }

  Json tolerance_table() {
    Json table = object_of(tolerance_keys());
    table["minProperties"] = 1;
    return table;
  }

  std::map<std::string, Json> definitions_;
};

}  // namespace

std::string config_schema() { return Schema().take(); }

}  // namespace gpuemu::cli
