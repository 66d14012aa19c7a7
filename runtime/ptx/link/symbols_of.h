// What a PTX text declares and defines at its outer level, and where. Bodies are not looked at.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

enum class Linkage : uint8_t { Local, Visible, Weak, Extern };

struct LinkSymbol {
  std::string name;
  Linkage linkage = Linkage::Local;
  bool is_function = false;
  bool is_definition = false;
  std::vector<Variable> results, params;  ///< For functions.
  Space space = Space::Global;            ///< For variables.
  uint64_t bytes = 0;                     ///< For variables; 0 if the text does not give a size.
  size_t begin = 0, end = 0;              ///< The bytes of its statement in the text.
  size_t name_at = 0;                     ///< Where a variable's name begins in the text.

  /// Returns whether calls pass the same bytes to both.
  bool has_prototype_of(const LinkSymbol& other) const;
};

struct LinkUnit {
  std::string name;
  std::string_view text;
  std::pair<uint32_t, uint32_t> version{};
  std::string target;  ///< "sm_90a"
  bool is_debug = false;
  std::vector<std::pair<size_t, size_t>> header;  ///< The bytes of .version and its like.
  uint64_t file_max = 0;                          ///< The greatest number of a .file.
  std::vector<LinkSymbol> symbols;
};

/// REQUIRES: `text` outlives the unit.
Result<LinkUnit> symbols_of(std::string_view text, const std::string& name);

}  // namespace gpuemu::ptx
