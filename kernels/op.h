// An op and the kernels that compute it, as declared in kernels/OP/OP.cc beside kernels/OP/OP.cu.
// Consists of values and pure functions; ops/dispatch selects and launches.
// docs/guides/builtin-kernels.md shows how to add an op.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/numeric/dtype.h"
#include "kernels/attributes.h"
#include "kernels/device_tensor.h"
#include "kernels/plan.h"

namespace gpuemu {

struct DeviceProperties;
struct EntryInfo;
struct OpKind;

/// One call of an op: the input of a variant's functions. Borrowed for the call.
struct OpCase {
  const OpKind& op;
  std::span<const DeviceTensor> inputs, outputs;
  Attributes attributes;
  const DeviceProperties& device;
  uint64_t workspace = 0;  ///< Device address of workspace_bytes(), for plan().

  const DeviceTensor& in(size_t index) const { return inputs[index]; }
  const DeviceTensor& out(size_t index) const { return outputs[index]; }
};

struct OperandSpec {
  std::string name;
  /// Operands with the same letter have the same dtype, which each variant restricts.
  char type = 'T';
  size_t rank_min = 0, rank_max = kRankMax;
};

/// The dtypes that a variant supports for a letter.
struct TypeRule {
  char letter = 'T';
  std::vector<DType> dtypes;
};

/// A case as c = op(a) * op(b), for a matrix library: a and b are the first two inputs and c, m x n
/// and row-major, is the first output. A transposed operand is stored k x m or n x k.
struct MatrixProduct {
  int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;
  bool tf32 = false;  ///< float32 may be rounded to TF32 first.
};

/// The functions of a variant that was added at run time. Thread-safe.
class VariantRules {
 public:
  virtual ~VariantRules() = default;
  /// Returns why it cannot compute this case; "" if it can.
  virtual std::string unsupported(const OpCase& c) const = 0;
  virtual Result<uint64_t> workspace_bytes(const OpCase& c) const = 0;
  virtual Status plan(const OpCase& c, Plan& plan) const = 0;
  /// InvalidArgument if the arguments do not match the entry's parameters. Called once for each
  /// loaded entry.
  virtual Status check_entry(uint32_t entry, const EntryInfo& info) const = 0;
};

struct KernelVariant {
  std::string name;         ///< Unique within its op, such as "tiled".
  std::string module = {};  ///< A name of builtin_kernels(); for a `source`, its name in messages.
  /// CUDA C++ that is compiled for each instance of its templates on first use, where a module with
  /// all combinations of dtypes would be too large. Requires a CUDA compiler.
  std::string_view source = {};
  /// A library of the machine that computes it instead of a kernel, if it is found: "cublas".
  /// `product` describes the case to it; module, entries and plan are unused.
  std::string library = {};
  MatrixProduct (*product)(const OpCase&) = nullptr;
  /// The entries that plan() may launch: "matmul_{T}" is matmul_float32 for T = float32. In
  /// template names {T:c} is the CUDA type: "cast<{T:c}, {U:c}>".
  std::vector<std::string> entries = {};
  std::vector<TypeRule> types;  ///< One per letter of the operands.
  int priority = 0;      ///< Higher ones are tried first; equal ones in order of declaration.
  bool strided = false;  ///< Supports any strides; otherwise every tensor must be contiguous.
  bool wide = false;  ///< Counts elements in 64 bits; otherwise each tensor has up to 2^31 - 1025,
                      ///< so that loops can step past the end.
  int sm_min = 0;     ///< Lowest compute capability, such as 80.
  /// Returns why it cannot compute this case, as in "cols is 5, expected a multiple of 4"; "" if it
  /// can. Called only if everything above matches. Null: it can.
  std::string (*unsupported)(const OpCase&) = nullptr;
  /// Returns the device memory that it needs besides the tensors. Null: none.
  uint64_t (*workspace_bytes)(const OpCase&) = nullptr;
  /// Adds the launches in order. Called only for a supported case.
  void (*plan)(const OpCase&, Plan&) = nullptr;
  /// Replaces the three functions above for a variant added at run time.
  std::shared_ptr<const VariantRules> rules = nullptr;
  bool source_is_ptx = false;  ///< `entries` are then entry names of the text, not templates.
  /// The op's fields followed by its own, each with a default. Without fields: the op's schema.
  AttributeSchema schema = {};
  uint64_t generation = 0;  ///< Registry generation in which it was added; 0: built in.

  const AttributeSchema& schema_for(const OpKind& op) const;
};

struct OpKind {
  std::string name;     ///< "layernorm"
  std::string summary;  ///< One line: "y = (x - mean) / sqrt(variance + eps) * weight + bias".
  std::vector<OperandSpec> inputs, outputs;
  AttributeSchema schema = {};
  /// An output may be the same tensor as an input: each element depends only on its own position.
  bool in_place = false;
  /// Checks what shapes and attributes must satisfy for every variant (InvalidArgument). Ranks,
  /// dtypes and the schema are checked before. Null: no check.
  Status (*check)(const OpCase&) = nullptr;
  std::vector<KernelVariant> variants;
};

inline const AttributeSchema& KernelVariant::schema_for(const OpKind& op) const {
  return schema.fields.empty() ? op.schema : schema;
}

/// Returns every built-in op, sorted by name.
std::span<const OpKind* const> builtin_ops();

}  // namespace gpuemu
