// Typed access to a TOML tree. Keys that are read become known; finish() reports the others.
// Problems are collected, so that a reader continues after each.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/config.h"
#include "common/config/keys.h"
#include "common/toml/toml_document.h"

namespace gpuemu {

/// A layer: a file, the environment or the flags.
struct Layer {
  std::string name;        ///< "gpuemu.toml", "environment GPUEMU_DB"
  std::string folder;      ///< Base of relative paths.
  bool from_text = false;  ///< Numbers, booleans and lists are given as text.
  bool project = false;    ///< Only a project file may define ops and kernels.
};

/// The position at which a key was set.
struct Place {
  std::string file;
  uint32_t line = 0, column = 0;
  uint32_t text_column = 0;  ///< Column of the first character of a text; 0 if unknown.
  uint32_t end_line = 0, end_column = 0;
};
Place place_of(const Layer& layer, const TomlValue& value);
/// Returns the position of the entry's key.
Place place_of(const Layer& layer, const TomlEntry& entry);

/// The state of reading, over all layers. Positions are looked up by the key's path.
struct ReadState {
  std::map<std::string, Place> places;
  std::vector<ConfigProblem> problems, warnings;
  /// Indices in Config::kernels by name, so that an op finds its kernels without a search.
  std::map<std::string, std::vector<size_t>> kernels_by_name;
  std::string emulated_devices;  ///< For example "sm_75, sm_80:16384"; only used when a daemon
                                 ///< starts.

  void problem(const Place& place, const std::string& key, const std::string& message);
  void warn(const Place& place, const std::string& key, const std::string& message);
  /// Reports at the position of `key`, or of the nearest known enclosing key.
  void problem_at(const std::string& key, const std::string& message);
  /// Reports at `column` (from 1) of the text of `key`, `skip` characters into it.
  void problem_in_text(const std::string& key, uint32_t column, const std::string& message);
  Place place_of(const std::string& key) const;
  /// Returns the indices in Config::kernels of the kernels with these names, in that order.
  std::vector<size_t> kernels_called(const std::vector<std::string>& names) const;
};

/// A value and its path. The functions below report a value that does not fit, and return nothing.
class ValueReader {
 public:
  ValueReader(ReadState& state, const Layer& layer, const TomlValue& value, std::string path)
      : state_(&state), layer_(&layer), value_(&value), path_(std::move(path)) {
    remember_place();
  }

  std::optional<std::string> text() const;
  std::optional<bool> boolean() const;
  std::optional<int64_t> integer(int64_t low, int64_t high) const;
  std::optional<double> number(double low, double high) const;
  std::optional<std::string> one_of(const std::vector<std::string>& choices) const;
  std::optional<DType> dtype() const;
  /// Reads text or an integer; skips a prefix of `skip` characters.
  std::optional<Expression> expression(size_t skip = 0) const;
  /// Returns an absolute path; a relative one starts at the layer's folder.
  std::optional<std::string> path_value() const;
  /// Reads a list; with `one_is_list`, a single value counts as a list of one.
  std::vector<ValueReader> items(bool one_is_list = false) const;
  bool is(TomlValue::Kind kind) const { return value_->kind == kind; }

  void problem(const std::string& message) const;
  void warn(const std::string& message) const;
  void wrong_kind(const std::string& expected) const;
  const TomlValue& value() const { return *value_; }
  const std::string& path() const { return path_; }
  ReadState& state() const { return *state_; }
  const Layer& layer() const { return *layer_; }

 private:
  void remember_place() const;
  std::string remedy(const std::string& expected) const;

  ReadState* state_;
  const Layer* layer_;
  const TomlValue* value_;
  std::string path_;
};

class TableReader {
 public:
  /// Reports a value that is not a table once, and reads it as empty. `keys` are the allowed keys;
  /// without it, the table's keys are names, which all() returns.
  explicit TableReader(const ValueReader& table, const KeySection* keys = nullptr);
  TableReader(const ValueReader& table, const KeySection& keys) : TableReader(table, &keys) {}

  /// Requires, like all functions that take a key, that the section has the key.
  std::optional<ValueReader> find(std::string_view key);
  bool has(std::string_view key) const;
  /// Each sets `out` if the key is present and its value fits.
  void read(std::string_view key, std::string& out);
  void read(std::string_view key, bool& out);
  void read(std::string_view key, std::optional<Expression>& out);
  void read(std::string_view key, std::vector<std::string>& out);
  void read(std::string_view key, std::vector<DType>& out);
  /// Reads one of the key's words.
  void read_one_of(std::string_view key, std::string& out);
  /// Reads the enumerator of a word. Requires that `parse` knows every allowed word.
  template <typename Enum>
  void read_one_of(std::string_view key, Enum& out,
                   std::optional<Enum> (*parse)(std::string_view)) {
    std::string word;
    read_one_of(key, word);
    if (!word.empty()) out = *parse(word);
  }
  /// Checks the key's limits.
  template <typename T>
  void read_integer(std::string_view key, T& out) {
    if (auto value = find(key)) {
      const Key& row = row_of(key);
      if (auto integer = value->integer(row.lowest, row.highest)) out = static_cast<T>(*integer);
    }
  }
  void read_number(std::string_view key, double& out);
  /// Returns the section's row for the key.
  const Key& row_of(std::string_view key) const;
  std::vector<std::string> allowed_words(std::string_view key) const;
  /// Warns about each key of the form Retired, with the row's help. finish() does so too.
  void warn_of_retired();
  /// Reads an entry whose key is a name, and marks it as known.
  std::optional<ValueReader> named(std::string_view key);
  /// Returns every entry, and marks all as known: for tables whose keys are names.
  std::vector<std::pair<std::string, ValueReader>> all();
  /// Reports the keys that were not read.
  void finish();
  void missing(std::string_view key, const std::string& expected);
  /// Reads entry `name`: a single line, not empty, as shown in reports. `whose`: for example "the
  /// op's".
  void read_name(const std::string& whose, std::string& out);
  /// Reports at the key itself rather than its value. Requires has(key).
  void problem_at_key(std::string_view key, const std::string& message);

  std::string path_of(std::string_view key) const;
  std::string section_of(const std::string& key) const;
  const ValueReader& self() const { return self_; }

 private:
  ValueReader self_;
  bool is_table_;
  const KeySection* keys_;
  std::vector<std::string> known_;
};

/// Returns whether it may name a dim, an attr or a tensor; reports it otherwise.
bool is_legal_name(const ValueReader& where, const std::string& name);

}  // namespace gpuemu
