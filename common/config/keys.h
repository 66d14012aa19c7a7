// Every key of gpuemu.toml, section by section. The readers take names, limits and words from here,
// and `gpuemu config schema` is generated from the same rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuemu {

/// The form of a value.
enum class KeyForm {
  Text,
  Path,
  Boolean,
  Integer,
  Number,
  Word,       ///< One of Key::words.
  Texts,      ///< A list, like Paths, Words and DTypes.
  Arguments,  ///< A list of texts and nested lists.
  Paths,
  Words,
  DType,
  DTypes,
  TextOrTexts,  ///< One text or a list of them.
  WordOrWords,
  Expression,     ///< An integer or a text.
  Expressions,    ///< A list of integers or texts.
  Extent,         ///< One to three expressions; a single one also without a list.
  Numbers,        ///< A list of numbers; a single one also without a list.
  Table,          ///< The keys of Key::section.
  Tables,         ///< A list of such tables.
  NamedTables,    ///< A table of such tables, whose keys are names.
  UserTables,     ///< Like NamedTables; the names are user names.
  Arch,           ///< "auto" or an architecture.
  AutoOrInteger,  ///< "auto", or an integer within the limits.
  Seed,           ///< An integer, or its digits in quotes.
  Size,           ///< Bytes, or a text such as "8GiB".
  Source,
  TensorDType,  ///< A dtype or "{dtype}".
  Range,        ///< [lowest, highest]; each is a number or an expression.
  Value,        ///< A number, including infinity and NaN, or an expression.
  SizeRange,    ///< [lowest, highest] of a size.
  Sizes,        ///< A list of sizes.
  Dims,
  Tolerance,
  Tolerances,
  Invariants,
  ErrorScale,
  KernelPolicy,
  Symbols,  ///< A table of arguments, whose keys are names of variables.
  Retired,  ///< Has no effect; using it is a warning.
  RetiredText,
  RetiredTexts,  ///< A list of texts.
};

inline bool is_retired(KeyForm form) {
  return form == KeyForm::Retired || form == KeyForm::RetiredText || form == KeyForm::RetiredTexts;
}

struct KeySection;
using WordList = std::span<const std::string_view> (*)();

struct Key {
  std::string_view name;
  KeyForm form = KeyForm::Text;
  std::string_view help;                ///< One sentence for users who write the file.
  int64_t lowest = 0, highest = 0;      ///< For integers.
  double least = 0, most = 0;           ///< For other numbers.
  WordList words = nullptr;             ///< Allowed words.
  const KeySection* section = nullptr;  ///< Keys of tables.
  bool required = false;
};

struct KeySection {
  std::string_view name;
  std::span<const Key> keys;
  const KeySection* also = nullptr;  ///< Another section whose keys are also valid here.

  /// Returns null if the section has no such key.
  const Key* find(std::string_view key) const;
  std::vector<const Key*> all() const;
};

/// The whole file. All other sections are reached from it, except the two below.
const KeySection& file_keys();
const KeySection& project_keys();
const KeySection& runtime_keys();
const KeySection& kernel_policy_keys();
const KeySection& daemon_keys();
const KeySection& listen_keys();
const KeySection& share_keys();
/// The keys of a user's quota table.
const KeySection& quota_keys();
const KeySection& validation_keys();
const KeySection& policies_keys();
const KeySection& ci_keys();
const KeySection& storage_keys();
const KeySection& scheduler_keys();
const KeySection& op_keys();
const KeySection& kernel_keys();
const KeySection& input_keys();
const KeySection& scratch_keys();
const KeySection& output_keys();
const KeySection& attr_keys();
/// The keys of a table in `dims`.
const KeySection& dim_keys();
const KeySection& launch_keys();
const KeySection& artifact_limit_keys();
/// The keys of a tolerance table.
const KeySection& tolerance_keys();

}  // namespace gpuemu
