// Every key of gpuemu.toml, section by section. The readers accept what stands here and take limits
// and words from here; `gpuemu config schema` is made of the same rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuemu {

/// How a value is written.
enum class KeyForm {
  Text,
  Path,
  Boolean,
  Integer,
  Number,
  Word,       ///< One of Key::words.
  Texts,      ///< A list, as Paths, Words and DTypes.
  Arguments,  ///< A list of texts and of such lists.
  Paths,
  Words,
  DType,
  DTypes,
  TextOrTexts,  ///< One text or a list of them.
  WordOrWords,
  Expression,     ///< An integer or a text.
  Expressions,    ///< A list of them.
  Extent,         ///< One to three, one also without a list.
  Numbers,        ///< A list of numbers, one also without a list.
  Table,          ///< The keys of Key::section.
  Tables,         ///< A list of such tables.
  NamedTables,    ///< A table of such tables, whose keys are names.
  UserTables,     ///< As NamedTables; the names are those of users.
  Arch,           ///< "auto" or an architecture.
  AutoOrInteger,  ///< "auto" or an integer within the limits.
  Seed,           ///< An integer, or its digits in quotes.
  Size,           ///< Bytes, or a text such as "8GiB".
  Source,
  TensorDType,  ///< A dtype or "{dtype}".
  Range,        ///< [lowest, highest], each a number or an expression.
  Value,        ///< A number, infinity and NaN among them, or an expression.
  SizeRange,    ///< [lowest, highest] of a size.
  Sizes,        ///< A list of sizes.
  Dims,
  Tolerance,
  Tolerances,
  Invariants,
  ErrorScale,
  KernelPolicy,
  Symbols,  ///< A table of arguments, whose keys are names of variables.
  Retired,  ///< Has no effect, which is a warning.
};

struct KeySection;
using WordList = std::span<const std::string_view> (*)();

struct Key {
  std::string_view name;
  KeyForm form = KeyForm::Text;
  std::string_view help;                ///< One sentence for whoever writes the file.
  int64_t lowest = 0, highest = 0;      ///< Limits of integers.
  double least = 0, most = 0;           ///< Limits of other numbers.
  WordList words = nullptr;             ///< Allowed words.
  const KeySection* section = nullptr;  ///< Keys of tables.
  bool required = false;
};

struct KeySection {
  std::string_view name;
  std::span<const Key> keys;
  const KeySection* also = nullptr;  ///< Its keys belong to this one too.

  /// Null where there is none.
  const Key* find(std::string_view key) const;
  std::vector<const Key*> all() const;
};

/// The whole file; every other section is reached from it, or is one of the two below.
const KeySection& file_keys();
const KeySection& project_keys();
const KeySection& runtime_keys();
const KeySection& kernel_policy_keys();
const KeySection& daemon_keys();
const KeySection& listen_keys();
const KeySection& share_keys();
/// What a table among the quotas of users may hold.
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
/// What a table among `dims` may hold.
const KeySection& dim_keys();
const KeySection& launch_keys();
const KeySection& artifact_limit_keys();
/// What a table may hold that says how far a value may be off.
const KeySection& tolerance_keys();

}  // namespace gpuemu
