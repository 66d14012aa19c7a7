// Checks one value at a time. Each problem names the place, the value found and the one expected.
#include "common/config/read_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "common/base/check.h"
#include "common/base/limits.h"
#include "common/config/names.h"
#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

using Kind = TomlValue::Kind;

std::string parent_of(const std::string& key) {
  const size_t cut = key.find_last_of(".[");
  return cut == std::string::npos ? "" : key.substr(0, cut);
}

template <typename T>
std::optional<T> parse_text(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

/// Returns whether a terminal would interpret the character, or it would end a C string.
bool is_control(char c) {
  const auto code = static_cast<unsigned char>(c);
  return (code < 0x20 && c != '\t' && c != '\n' && c != '\r') || code == 0x7f;
}

/// Returns whether the text contains bidirectional controls, which make a name look different.
bool turns_text(std::string_view text) {
  constexpr std::string_view kBlock = "\xe2\x80";     // U+2000 to U+203F
  constexpr std::string_view kIsolates = "\xe2\x81";  // U+2040 to U+207F
  for (size_t at = 0; at + 2 < text.size(); ++at) {
    const std::string_view lead = text.substr(at, 2);
    const auto last = static_cast<unsigned char>(text[at + 2]);
    const bool marks = last == 0x8e || last == 0x8f || (last >= 0xaa && last <= 0xae);
    if (lead == kBlock && marks) return true;
    if (lead == kIsolates && last >= 0xa6 && last <= 0xa9) return true;
  }
  return false;
}

/// Suggests a list for a text that contains several items: "n, n" are two. Expressions stay whole.
std::string items_meant(const std::string& text) {
  const bool is_plain = text.find_first_of("()*/+%'\"") == std::string::npos;
  std::string all;
  for (size_t at = 0; at < text.size();) {
    const size_t end = is_plain ? std::min(text.find_first_of(", ", at), text.size()) : text.size();
    if (end > at) {
      all += fmt::format("{}\"{}\"", all.empty() ? "" : ", ", text.substr(at, end - at));
    }
    at = end + 1;
  }
  return all;
}

}  // namespace

Place place_of(const Layer& layer, const TomlValue& value) {
  return {layer.name, value.line, value.column, 0, value.end_line, value.end_column};
}

Place place_of(const Layer& layer, const TomlEntry& entry) {
  return {layer.name, entry.line, entry.column, 0, entry.end_line, entry.end_column};
}

void ReadState::problem(const Place& place, const std::string& key, const std::string& message) {
  problems.push_back(
      {place.file, place.line, place.column, key, message, place.end_line, place.end_column});
}

void ReadState::warn(const Place& place, const std::string& key, const std::string& message) {
  warnings.push_back(
      {place.file, place.line, place.column, key, message, place.end_line, place.end_column});
}

Place ReadState::place_of(const std::string& key) const {
  for (std::string at = key; !at.empty(); at = parent_of(at)) {
    if (const auto found = places.find(at); found != places.end()) return found->second;
  }
  return {};
}

std::vector<size_t> ReadState::kernels_called(const std::vector<std::string>& names) const {
  std::vector<size_t> positions;
  for (const std::string& name : names) {
    const auto found = kernels_by_name.find(name);
    if (found == kernels_by_name.end()) continue;
    positions.insert(positions.end(), found->second.begin(), found->second.end());
  }
  std::ranges::sort(positions);
  positions.erase(std::ranges::unique(positions).begin(), positions.end());
  return positions;
}

void ReadState::problem_at(const std::string& key, const std::string& message) {
  problem(place_of(key), key, message);
}

void ReadState::problem_in_text(const std::string& key, uint32_t column,
                                const std::string& message) {
  Place place = place_of(key);
  if (place.text_column > 0 && column > 0) {
    place.column = place.text_column + column - 1;
    if (place.end_column > place.column) --place.end_column;  // The closing quote.
  }
  problem(place, key, message);
}

void ValueReader::remember_place() const {
  if (path_.empty()) return;
  Place place = place_of(*layer_, *value_);
  if (value_->kind == Kind::Text && value_->quotes > 0) {
    place.text_column = value_->column + value_->quotes;
  }
  state_->places[path_] = place;
}

void ValueReader::problem(const std::string& message) const {
  state_->problem(place_of(*layer_, *value_), path_, message);
}

void ValueReader::warn(const std::string& message) const {
  state_->warn(place_of(*layer_, *value_), path_, message);
}

/// Returns a hint about what to write instead; "" if that is not obvious.
std::string ValueReader::remedy(const std::string& expected) const {
  if (value_->kind == Kind::Table && expected == "a list") {
    const size_t dot = path_.rfind('.');
    if (dot != std::string::npos) {
      return fmt::format("; write {} = [{{ ... }}]", path_.substr(dot + 1));
    }
    return fmt::format("; a list of tables has two brackets: [[{}]]", path_);
  }
  if (value_->kind == Kind::Text && expected == "a list" && !value_->text.empty()) {
    const bool is_list = value_->text.starts_with('[') && value_->text.ends_with(']');
    if (is_list) return "; a list has no quotes around it: " + value_->text;
    return fmt::format("; write [{}]", items_meant(value_->text));
  }
  const bool has_unit = value_->kind == Kind::Text && !value_->text.empty() &&
                        value_->text.front() >= '0' && value_->text.front() <= '9' &&
                        expected.starts_with("an integer");
  if (has_unit && (path_.ends_with("_mb") || path_.ends_with("_ms") || path_.ends_with("_s"))) {
    return "; write a number without a unit, which the key names";
  }
  if (value_->kind == Kind::Array && path_.ends_with(".dtype")) {
    return "; for several write \"{dtype}\" here and dtypes = [...] of the op";
  }
  constexpr std::string_view kText = "text";
  const bool is_number = value_->kind == Kind::Text && parse_text<double>(value_->text);
  if (is_number && !layer_->from_text && expected.find(kText) == std::string::npos) {
    return "; a number has no quotes: " + value_->text;
  }
  const bool wants_text = expected.starts_with(kText);
  if (wants_text && (value_->kind == Kind::Integer || value_->kind == Kind::Boolean)) {
    return "; text needs quotes";
  }
  if (value_->kind == Kind::Text && expected == "true or false") {
    return "; true and false have no quotes";
  }
  return "";
}

void ValueReader::wrong_kind(const std::string& expected) const {
  const std::string found = value_->kind == Kind::Text && layer_->from_text
                                ? "'" + value_->text + "'"
                                : kind_name(value_->kind);
  problem("expected " + expected + ", found " + found + remedy(expected));
}

std::optional<std::string> ValueReader::text() const {
  if (value_->kind == Kind::Text && std::ranges::none_of(value_->text, is_control)) {
    return value_->text;
  }
  if (value_->kind == Kind::Text) {
    problem("expected text without control characters (tabs and line ends are allowed)");
  } else {
    wrong_kind("text in quotes");
  }
  return std::nullopt;
}

std::optional<bool> ValueReader::boolean() const {
  if (value_->kind == Kind::Boolean) return value_->boolean;
  if (layer_->from_text && (value_->text == "true" || value_->text == "1")) return true;
  if (layer_->from_text && (value_->text == "false" || value_->text == "0")) return false;
  wrong_kind("true or false");
  return std::nullopt;
}

std::optional<int64_t> ValueReader::integer(int64_t low, int64_t high) const {
  const std::string range = high == INT64_MAX ? fmt::format("an integer of at least {}", low)
                                              : fmt::format("an integer from {} to {}", low, high);
  std::optional<int64_t> integer;
  if (value_->kind == Kind::Integer) integer = value_->integer;
  if (layer_->from_text) integer = parse_text<int64_t>(value_->text);
  if (!integer) {
    wrong_kind(range);
    return std::nullopt;
  }
  if (*integer >= low && *integer <= high) return integer;
  problem(fmt::format("{} is out of range, expected {}", *integer, range));
  return std::nullopt;
}

std::optional<double> ValueReader::number(double low, double high) const {
  std::optional<double> number;
  if (value_->kind == Kind::Integer) number = static_cast<double>(value_->integer);
  if (value_->kind == Kind::Real) number = value_->real;
  if (layer_->from_text) number = parse_text<double>(value_->text);
  if (!number) {
    wrong_kind("a number");
    return std::nullopt;
  }
  // Written so that NaN fails.
  if (*number >= low && *number <= high && std::isfinite(*number)) return number;
  problem(fmt::format("{} is out of range, expected a number from {} to {}", *number, low, high));
  return std::nullopt;
}

std::optional<std::string> ValueReader::one_of(const std::vector<std::string>& choices) const {
  auto given = text();
  if (!given) return std::nullopt;
  if (std::ranges::find(choices, *given) != choices.end()) return given;
  problem(fmt::format("'{}' is none of {}{}", *given, fmt::join(choices, ", "),
                      did_you_mean(*given, choices)));
  return std::nullopt;
}

std::optional<DType> ValueReader::dtype() const {
  const auto given = text();
  if (!given) return std::nullopt;
  if (const auto found = dtype_from_alias(*given)) return found;
  problem(unknown_dtype(*given));
  return std::nullopt;
}

std::optional<Expression> ValueReader::expression(size_t skip) const {
  if (value_->kind == Kind::Integer && skip == 0) return Expression::constant(value_->integer);
  if (value_->kind != Kind::Text) {
    wrong_kind("an integer or an expression in quotes");
    return std::nullopt;
  }
  const std::string source = value_->text.substr(std::min(skip, value_->text.size()));
  auto parsed = Expression::parse(source);
  if (parsed) return *parsed;
  const uint32_t column = expression_error_column(parsed.error().message);
  state_->problem_in_text(path_, static_cast<uint32_t>(skip) + column, parsed.error().message);
  return std::nullopt;
}

std::optional<std::string> ValueReader::path_value() const {
  const auto given = text();
  if (!given) return std::nullopt;
  if (given->empty()) {
    problem("expected a path, found empty text");
    return std::nullopt;
  }
  const std::filesystem::path path(*given);
  if (path.is_absolute()) return path.lexically_normal().string();
  return (std::filesystem::path(layer_->folder) / path).lexically_normal().string();
}

std::vector<ValueReader> ValueReader::items(bool one_is_list) const {
  std::vector<ValueReader> readers;
  if (value_->kind != Kind::Array) {
    if (one_is_list) {
      readers.push_back(*this);
    } else {
      wrong_kind("a list");
    }
    return readers;
  }
  for (size_t i = 0; i < value_->items.size(); ++i) {
    readers.emplace_back(*state_, *layer_, value_->items[i], fmt::format("{}[{}]", path_, i));
  }
  return readers;
}

TableReader::TableReader(const ValueReader& table, const KeySection* keys)
    : self_(table), is_table_(table.is(Kind::Table)), keys_(keys) {
  if (!is_table_) self_.wrong_kind("a table");
}

std::string TableReader::path_of(std::string_view key) const {
  return self_.path().empty() ? std::string(key) : fmt::format("{}.{}", self_.path(), key);
}

bool TableReader::has(std::string_view key) const {
  return std::ranges::any_of(self_.value().entries,
                             [&](const TomlEntry& entry) { return entry.key == key; });
}

const Key& TableReader::row_of(std::string_view key) const {
  GPUEMU_CHECK(keys_ != nullptr);
  const Key* row = keys_->find(key);
  GPUEMU_CHECK(row != nullptr);
  return *row;
}

std::vector<std::string> TableReader::allowed_words(std::string_view key) const {
  return texts_of(row_of(key).words());
}

std::optional<ValueReader> TableReader::find(std::string_view key) {
  (void)row_of(key);
  return named(key);
}

std::optional<ValueReader> TableReader::named(std::string_view key) {
  known_.emplace_back(key);
  for (const TomlEntry& entry : self_.value().entries) {
    if (entry.key != key) continue;
    return ValueReader(self_.state(), self_.layer(), entry.value, path_of(key));
  }
  return std::nullopt;
}

void TableReader::read(std::string_view key, std::string& out) {
  if (auto value = find(key)) {
    if (auto text = value->text()) out = *text;
  }
}

void TableReader::read(std::string_view key, bool& out) {
  if (auto value = find(key)) out = value->boolean().value_or(out);
}

void TableReader::read(std::string_view key, std::optional<Expression>& out) {
  if (auto value = find(key)) {
    if (auto expression = value->expression()) out = *expression;
  }
}

void TableReader::read(std::string_view key, std::vector<std::string>& out) {
  auto value = find(key);
  if (!value) return;
  out.clear();
  for (const ValueReader& item : value->items(self_.layer().from_text)) {
    if (auto text = item.text()) out.push_back(*text);
  }
}

void TableReader::read(std::string_view key, std::vector<DType>& out) {
  auto value = find(key);
  if (!value) return;
  const auto items = value->items(self_.layer().from_text);
  std::vector<DType> dtypes;
  for (const ValueReader& item : items) {
    const auto dtype = item.dtype();
    if (!dtype) continue;
    if (std::ranges::find(dtypes, *dtype) != dtypes.end()) {
      item.problem(fmt::format("{} is listed twice", name_of(*dtype)));
    } else {
      dtypes.push_back(*dtype);
    }
  }
  if (items.empty() && value->is(Kind::Array)) {
    value->problem("expected at least one dtype, such as [\"float32\"]");
  }
  if (!dtypes.empty()) out = std::move(dtypes);
}

void TableReader::read_one_of(std::string_view key, std::string& out) {
  if (auto value = find(key)) {
    if (auto choice = value->one_of(allowed_words(key))) out = *choice;
  }
}

void TableReader::read_number(std::string_view key, double& out) {
  const Key& row = row_of(key);
  if (auto value = find(key)) out = value->number(row.least, row.most).value_or(out);
}

namespace {

/// A key without effect must still have a value of its type.
void check_retired(const Key& row, const ValueReader& value) {
  if (row.form == KeyForm::RetiredText) (void)value.text();
  if (row.form != KeyForm::RetiredTexts) return;
  for (const ValueReader& item : value.items()) (void)item.text();
}

}  // namespace

void TableReader::warn_of_retired() {
  if (keys_ == nullptr) return;
  for (const TomlEntry& entry : self_.value().entries) {
    const Key* row = keys_->find(entry.key);
    if (row == nullptr || !is_retired(row->form)) continue;
    known_.emplace_back(entry.key);
    check_retired(*row, {self_.state(), self_.layer(), entry.value, path_of(entry.key)});
    // The help is a sentence, such as "Has no effect: write dims under [[ops]] instead."
    std::string message(row->help.substr(0, row->help.size() - 1));
    message.front() = 'h';
    self_.state().warn(place_of(self_.layer(), entry), path_of(entry.key), std::move(message));
  }
}

std::vector<std::pair<std::string, ValueReader>> TableReader::all() {
  std::vector<std::pair<std::string, ValueReader>> readers;
  for (const TomlEntry& entry : self_.value().entries) {
    known_.push_back(entry.key);
    readers.emplace_back(
        entry.key, ValueReader(self_.state(), self_.layer(), entry.value, path_of(entry.key)));
  }
  return readers;
}

/// Returns "; write it below [validation]" for a key of the file itself that belongs in a table.
std::string TableReader::section_of(const std::string& key) const {
  if (!self_.path().empty()) return "";
  for (const Key* table : file_keys().all()) {
    const bool has_it = table->form == KeyForm::Table && table->section != nullptr &&
                        table->section->find(key) != nullptr;
    if (has_it) return fmt::format("; write it below [{}]", table->name);
  }
  return "";
}

void TableReader::finish() {
  warn_of_retired();
  std::vector<std::string> known = known_;
  std::ranges::sort(known);
  known.erase(std::ranges::unique(known).begin(), known.end());
  for (const TomlEntry& entry : self_.value().entries) {
    if (std::ranges::binary_search(known, entry.key)) continue;
    std::string hint = did_you_mean(entry.key, known);
    if (hint.empty()) hint = section_of(entry.key);
    if (hint.empty()) hint = fmt::format(", expected one of {}", fmt::join(known, ", "));
    self_.state().problem(place_of(self_.layer(), entry), path_of(entry.key), "unknown key" + hint);
  }
}

void TableReader::missing(std::string_view key, const std::string& expected) {
  if (!is_table_) return;
  self_.state().problem(place_of(self_.layer(), self_.value()), path_of(key),
                        "missing, expected " + expected);
}

void TableReader::read_name(const std::string& whose, std::string& out) {
  const auto name = find("name");
  if (!name) return missing("name", whose + " name");
  const auto text = name->text();
  if (!text) return;
  if (text->empty()) name->problem("empty, expected " + whose + " name");
  if (text->find_first_of("\t\n\r") != std::string::npos) {
    name->problem("expected a name without tabs and line ends");
  }
  if (text->size() > kMessageCharsMax) {  // Every line of a report would repeat it.
    return name->problem(
        fmt::format("a name of {} bytes, the limit is {}", text->size(), kMessageCharsMax));
  }
  if (turns_text(*text)) {
    name->problem("expected a name without characters that turn the direction of text (U+202E)");
  }
  out = *text;
}

void TableReader::problem_at_key(std::string_view key, const std::string& message) {
  for (const TomlEntry& entry : self_.value().entries) {
    if (entry.key != key) continue;
    self_.state().problem(place_of(self_.layer(), entry), path_of(key), message);
  }
}

bool is_legal_name(const ValueReader& where, const std::string& name) {
  const auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const bool starts = !name.empty() && !(name[0] >= '0' && name[0] <= '9');
  if (!starts || !std::ranges::all_of(name, legal)) {
    where.problem("'" + name + "' is not a name, expected letters, digits and '_', no digit first");
    return false;
  }
  if (name == "dtype") {
    where.problem("'dtype' already means the dtype of the case; choose another name");
    return false;
  }
  return true;
}

}  // namespace gpuemu
