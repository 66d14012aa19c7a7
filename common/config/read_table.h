// Typed access to a TOML tree. Every key that is asked for is known; finish() reports the others.
// Problems are collected, never thrown: a reader goes on after each.
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

/// One layer: a file, the environment or the flags.
struct Layer {
  std::string name;        ///< "gpuemu.toml", "environment GPUEMU_DB"
  std::string folder;      ///< Relative paths start here.
  bool from_text = false;  ///< Numbers, booleans and lists arrive as text.
  bool project = false;    ///< Only a project file may hold ops and kernels.
};

/// Where a key was given.
struct Place {
  std::string file;
  uint32_t line = 0, column = 0;
  uint32_t text_column = 0;  ///< Column of the first character of a text; 0 when unknown.
  uint32_t end_line = 0, end_column = 0;
};
Place place_of(const Layer& layer, const TomlValue& value);
/// Where its key stands.
Place place_of(const Layer& layer, const TomlEntry& entry);

/// What is read so far, over all layers. Places are looked up by the key's path.
struct ReadState {
  std::map<std::string, Place> places;
  std::vector<ConfigProblem> problems, warnings;
  /// Positions in Config::kernels, by name: an op finds its own without a look at all of them.
  std::map<std::string, std::vector<size_t>> kernels_by_name;
  std::string emulated_devices;  ///< "sm_75, sm_80:16384"; only a daemon that starts asks for it.

  void problem(const Place& place, const std::string& key, const std::string& message);
  void warn(const Place& place, const std::string& key, const std::string& message);
  /// At the place of `key`, or of the nearest enclosing key that is known.
  void problem_at(const std::string& key, const std::string& message);
  /// Reports at `column` (from 1) of the text that `key` holds, `skip` characters into it.
  void problem_in_text(const std::string& key, uint32_t column, const std::string& message);
  Place place_of(const std::string& key) const;
  /// Where the kernels with these names stand in Config::kernels, in that order.
  std::vector<size_t> kernels_called(const std::vector<std::string>& names) const;
};

/// A value and its path; the readers below report what does not fit and return nothing.
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
  /// Text or an integer; `skip` characters of a prefix are left out.
  std::optional<Expression> expression(size_t skip = 0) const;
  /// Absolute; a relative one starts at the layer's folder.
  std::optional<std::string> path_value() const;
  /// A list; a single value counts as a list of one where `one_is_list`.
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
  /// A value that is no table is reported once and read as an empty one. `keys` are those that may
  /// be asked for below; without them the table's keys are names, which all() gives.
  explicit TableReader(const ValueReader& table, const KeySection* keys = nullptr);
  TableReader(const ValueReader& table, const KeySection& keys) : TableReader(table, &keys) {}

  /// REQUIRES, as all that take a key: the section has the key.
  std::optional<ValueReader> find(std::string_view key);
  bool has(std::string_view key) const;
  /// Each sets `out` when the key is there and its value fits.
  void read(std::string_view key, std::string& out);
  void read(std::string_view key, bool& out);
  void read(std::string_view key, std::optional<Expression>& out);
  void read(std::string_view key, std::vector<std::string>& out);
  void read(std::string_view key, std::vector<DType>& out);
  /// One of the key's words.
  void read_one_of(std::string_view key, std::string& out);
  /// The enumerator of the word. REQUIRES: `parse` knows every word that the key allows.
  template <typename Enum>
  void read_one_of(std::string_view key, Enum& out,
                   std::optional<Enum> (*parse)(std::string_view)) {
    std::string word;
    read_one_of(key, word);
    if (!word.empty()) out = *parse(word);
  }
  /// Within the key's limits.
  template <typename T>
  void read_integer(std::string_view key, T& out) {
    if (auto value = find(key)) {
      const Key& row = row_of(key);
      if (auto integer = value->integer(row.lowest, row.highest)) out = static_cast<T>(*integer);
    }
  }
  void read_number(std::string_view key, double& out);
  /// What the section says of the key.
  const Key& row_of(std::string_view key) const;
  std::vector<std::string> allowed_words(std::string_view key) const;
  /// Warns of each key whose form is Retired, with the row's help. finish() does so too.
  void warn_of_retired();
  /// An entry whose key is a name, which then is known.
  std::optional<ValueReader> named(std::string_view key);
  /// Every entry as a reader, all of them known: for tables whose keys are names.
  std::vector<std::pair<std::string, ValueReader>> all();
  /// Reports the keys that no reader asked for.
  void finish();
  void missing(std::string_view key, const std::string& expected);
  /// Entry `name`: one line that is not empty, as reports show it. `whose`: "the op's".
  void read_name(const std::string& whose, std::string& out);
  /// At the key itself, not at its value. REQUIRES: has(key).
  void problem_at_key(std::string_view key, const std::string& message);

  std::string path_of(std::string_view key) const;
  const ValueReader& self() const { return self_; }

 private:
  ValueReader self_;
  bool is_table_;
  const KeySection* keys_;
  std::vector<std::string> known_;
};

/// Whether it may name a dim, an attr or a tensor; reported when not.
bool is_legal_name(const ValueReader& where, const std::string& name);

}  // namespace gpuemu
