// Links PTX texts to one text, by the rules of the device's linker.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::ptx {

struct LinkInput {
  std::string name;  ///< For messages.
  std::string text;
};

struct Linked {
  std::string text;
  /// What the driver refuses and nvJitLink does not: names with two definitions, and variables that
  /// are declared otherwise than they are defined.
  std::vector<std::string> conflicts;
  /// What else the texts disagree about.
  std::vector<std::string> warnings;
};

/// A name without linkage belongs to its text alone. Of a name that several define the first
/// definition counts, one that is not weak before those that are. What conflicts is linked as well.
/// A text that declares a function otherwise than it is defined calls it nevertheless; what it
/// misses is undefined. Fails when a text cannot be read, or a name is a function here and a
/// variable there.
Result<Linked> link(const std::vector<LinkInput>& inputs);

}  // namespace gpuemu::ptx
