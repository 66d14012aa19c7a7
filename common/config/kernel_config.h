// A kernel of gpuemu.toml: its source, launches and limits for its compiled code.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/config/expression.h"
#include "common/config/judging.h"
#include "common/config/op_config.h"
#include "common/numeric/dtype.h"

namespace gpuemu {

struct LaunchSpec {
  std::string entry;  ///< Before {ctype} and {dtype} are replaced.
  std::vector<Expression> grid, block;
  std::vector<Expression> cluster;  ///< Empty: the kernel's declaration.
  std::optional<Expression> shared;
  struct Arg {
    enum class Kind { Tensor, Number, NullPointer, Struct } kind = Kind::Tensor;
    std::string tensor;               ///< Kind::Tensor: input, output or scratch name.
    DType dtype = DType::Int32;       ///< Kind::Number: the type in which it is passed.
    std::optional<Expression> value;  ///< Kind::Number; for Kind::Tensor, the offset in elements.
    std::vector<Arg> members;         ///< Kind::Struct: numbers, null pointers, structures.
    std::string text;                 ///< As written, for messages.
  };
  std::vector<Arg> args;
};

/// A __constant__ or __device__ variable that the host sets before the launch.
struct SymbolSpec {
  std::string name;       ///< Name in the source: "weights", "model::weights".
  LaunchSpec::Arg value;  ///< An input that provides the elements, or numbers.
};

/// Limits for compiled code; absent ones are not checked. See Config::limits_for().
struct ArtifactLimits {
  std::optional<uint32_t> max_registers, max_spills, max_local_memory, max_shared_memory,
      max_instructions;
  std::optional<double> min_occupancy;
  std::optional<std::vector<std::string>> required_patterns, forbidden_patterns;
};
inline constexpr uint32_t kDefaultMaxRegisters = 64;

struct ArtifactChecks {
  ArtifactLimits limits;
  /// By architecture, such as "sm_90"; each set key replaces that of `limits`.
  std::map<std::string, ArtifactLimits> archs;
};

struct KernelConfig {
  std::string name;
  std::string source;  ///< Absolute path, or "builtin:NAME"; "" if there is none.
  std::string reference, reference_function;
  int64_t priority = 0;
  std::optional<Expression> supports;
  std::vector<TensorSpec> scratch;
  std::vector<LaunchSpec> launches;
  std::vector<SymbolSpec> symbols;
  ToleranceTable tolerances;
  std::vector<InvariantSpec> invariants;
  ArtifactChecks artifact_checks;
  std::string file;
  uint32_t line = 0, column = 0, end_line = 0;
};

}  // namespace gpuemu
