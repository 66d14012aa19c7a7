// The only file that uses toml++; it catches its exceptions.
#include "common/toml/toml_document.h"

#include <algorithm>

// Line breaks and a trailing comma inside { } are features of TOML 1.1, which Debian's shared
// library lacks; so the parser is compiled here.
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_UNRELEASED_FEATURES 1
// Keep assertions: some texts violate assertions of toml++, and must be refused instead of causing
// undefined behaviour in a release build.
#undef NDEBUG
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wterminate"  // It also asserts in noexcept functions.
#endif
#define TOML_ASSERT(expr) ((expr) ? static_cast<void>(0) : throw std::logic_error("invalid TOML"))
#include <stdexcept>

#include <fmt/core.h>
#include <toml++/toml.h>

#include "common/base/check.h"

namespace gpuemu {
namespace {

TomlValue convert(const toml::node& node);

void place(TomlValue& out, const toml::source_region& region) {
  out.line = region.begin.line;
  out.column = region.begin.column;
  out.end_line = region.end.line;
  out.end_column = region.end.column;
}

void convert_table(const toml::table& table, TomlValue& out) {
  for (const auto& [key, child] : table) {
    TomlEntry entry;
    entry.key = std::string(key.str());
    entry.line = key.source().begin.line;
    entry.column = key.source().begin.column;
    entry.end_line = key.source().end.line;
    entry.end_column = key.source().end.column;
    entry.value = convert(child);
    out.entries.push_back(std::move(entry));
  }
  // toml++ sorts by key, but problems are reported in file order.
  std::ranges::stable_sort(out.entries, [](const TomlEntry& a, const TomlEntry& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
}

TomlValue convert(const toml::node& node) {
  TomlValue out;
  place(out, node.source());
  if (const auto* table = node.as_table()) {
    convert_table(*table, out);
  } else if (const auto* array = node.as_array()) {
    out.kind = TomlValue::Kind::Array;
    for (const toml::node& item : *array) out.items.push_back(convert(item));
  } else if (const auto* text = node.as_string()) {
    out.kind = TomlValue::Kind::Text;
    out.text = text->get();
    const auto& end = node.source().end;
    // A region two columns longer than the text has plain quotes and no escapes.
    const bool plain = end.line == out.line && end.column == out.column + out.text.size() + 2;
    out.quotes = plain ? 1 : 0;
  } else if (const auto* integer = node.as_integer()) {
    out.kind = TomlValue::Kind::Integer;
    out.integer = integer->get();
  } else if (const auto* real = node.as_floating_point()) {
    out.kind = TomlValue::Kind::Real;
    out.real = real->get();
  } else if (const auto* boolean = node.as_boolean()) {
    out.kind = TomlValue::Kind::Boolean;
    out.boolean = boolean->get();
  } else {
    out.kind = TomlValue::Kind::Date;
  }
  return out;
}

/// Returns the parser's message, with a remedy if it lacks one.
std::string syntax_problem(const std::string& words) {
  struct Remedy {
    std::string_view sign, remedy;
  };
  static const std::string kLarge =
      fmt::format("the largest integer in TOML is {}; write a larger seed in quotes", INT64_MAX);
  const Remedy remedies[] = {
      {"is not representable in 64 bits", kLarge},
      {"parsing boolean", "text needs quotes: name = \"softmax\""},
      {"expected 'inf', saw", "text needs quotes: name = \"softmax\""},
      {"expected 'nan', saw", "text needs quotes: name = \"softmax\""},
      {"parsing string: unescaped control", "the closing quote of this line is missing"},
      {"expected '=', saw ','", "{ } has keys with values; a list is written [1, 2]"},
      {"expected '=', saw", "a line is written key = value"},
      {"cannot redefine existing", "this key appears twice; keep one of them"},
      {"parsing array", "is a ], a quote or a comma missing before it?"},
      {"parsing inline table", "is a }, a quote or a comma missing before it?"},
      {"parsing root table",
       "expected a table, for example [[ops]] with name = \"softmax\" below it"},
      {"could not determine value type", "write text in straight quotes: \"softmax\""},
      {"expected space or tab",
       "this looks like a space but is another character: replace it with a space"},
      {"invalid utf-8", "expected text in UTF-8: save the file in that encoding"},
  };
  for (const Remedy& one : remedies) {
    if (words.find(one.sign) == std::string::npos) continue;
    return fmt::format("not valid TOML: {}; {}", words, one.remedy);
  }
  return "not valid TOML: " + words;
}

/// Returns the line of a dotted key with more parts than the parser's recursion can handle; 0 if
/// there is none.
uint32_t line_of_endless_key(const std::string& text) {
  constexpr size_t kPartsMax = 1000;
  uint32_t line = 1;
  size_t parts = 0;
  for (const char c : text) {
    if (c == '\n') ++line;
    if (c == '.' && ++parts > kPartsMax) return line;
    if (std::string_view("\n=,{}[]#").find(c) != std::string_view::npos) parts = 0;
  }
  return 0;
}

}  // namespace

const char* kind_name(TomlValue::Kind kind) {
  switch (kind) {
    case TomlValue::Kind::Text:
      return "text";
    case TomlValue::Kind::Integer:
      return "an integer";
    case TomlValue::Kind::Real:
      return "a number with a fraction";
    case TomlValue::Kind::Boolean:
      return "a boolean";
    case TomlValue::Kind::Date:
      return "a date or time";
    case TomlValue::Kind::Array:
      return "a list";
    case TomlValue::Kind::Table:
      return "a table";
  }
  GPUEMU_UNREACHABLE();
}

uint32_t last_line_of(const TomlValue& value) {
  uint32_t last = value.end_line;
  for (const TomlValue& item : value.items) last = std::max(last, last_line_of(item));
  for (const TomlEntry& entry : value.entries) last = std::max(last, last_line_of(entry.value));
  return last;
}

std::optional<TomlValue> parse_toml(const std::string& text, const std::string& file,
                                    std::vector<ConfigProblem>& problems) {
  if (const uint32_t line = line_of_endless_key(text); line != 0) {
    problems.push_back({file, line, 1, "", "not valid TOML here: more than 1000 dots in a row"});
    return std::nullopt;
  }
  try {
    return convert(toml::parse(text));
  } catch (const toml::parse_error& failure) {
    const auto& [begin, end, path] = failure.source();
    problems.push_back(
        {file, begin.line, begin.column, "", syntax_problem(failure.what()), end.line, end.column});
  } catch (const std::exception& failure) {  // Out of memory while parsing.
    problems.push_back({file, 1, 1, "", std::string("cannot be parsed: ") + failure.what()});
  }
  return std::nullopt;
}

}  // namespace gpuemu
