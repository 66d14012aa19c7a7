// How an op's outputs are judged: tolerances, policies and invariants, as written in gpuemu.toml.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/config/vocabulary.h"
#include "common/numeric/dtype.h"

namespace gpuemu {

struct Tolerance {
  bool automatic = false;  ///< The scale-aware bound of docs/internals/validation.md.
  double atol = 0, rtol = 0;
  std::optional<uint64_t> ulp;  ///< An element within it passes, whatever atol and rtol are.
};
using ToleranceTable = std::map<DType, Tolerance>;

enum class NanPolicy { Match, Class, Any };

/// How zeros are judged where the reference is subnormal in the output's type.
enum class SubnormalPolicy {
  Note,   ///< Flushing to zero that fully explains a case is a note.
  Keep,   ///< A flushed number is judged like any other error.
  FtzOk,  ///< The bound allows for flushing, sum by sum.
};

/// A named invariant or relation with its parameters, as written: sums_to_one = { axis = -1 }.
struct InvariantSpec {
  InvariantKind kind = InvariantKind::NonNegative;
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> strings;
};

}  // namespace gpuemu
