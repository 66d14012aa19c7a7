// Parses TOML text to a tree with the position of every key and value; no other code uses toml++.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/toml/config_problem.h"

namespace gpuemu {

struct TomlEntry;

struct TomlValue {
  enum class Kind { Text, Integer, Real, Boolean, Date, Array, Table } kind = Kind::Table;
  std::string text;
  int64_t integer = 0;
  double real = 0;
  bool boolean = false;
  std::vector<TomlValue> items;    ///< Items of an array.
  std::vector<TomlEntry> entries;  ///< Entries of a table, in file order.
  uint32_t line = 0, column = 0;   ///< From 1; 0 if it does not come from a file.
  /// After its last character; for a table, that of its header.
  uint32_t end_line = 0, end_column = 0;
  uint32_t quotes = 0;  ///< For text: columns between `column` and the first character.
};

struct TomlEntry {
  std::string key;
  uint32_t line = 0, column = 0, end_line = 0, end_column = 0;  ///< Position of the key.
  TomlValue value;
};

/// Returns for example "an integer", for messages.
const char* kind_name(TomlValue::Kind kind);

/// Returns the last line of a value and of everything in it.
uint32_t last_line_of(const TomlValue& value);

/// Returns the document, or nothing and one more problem with line and column.
std::optional<TomlValue> parse_toml(const std::string& text, const std::string& file,
                                    std::vector<ConfigProblem>& problems);

}  // namespace gpuemu
