// An op and the kernels that compute it, as kernels/OP/OP.cc declares them beside kernels/OP/OP.cu.
// Values and pure functions only: ops/dispatch chooses and launches. docs/guides/builtin-kernels.md
// shows how to add one.
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

/// One call of an op: what a variant's functions decide from. Borrowed for the call.
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
  /// Operands of one letter have one dtype; each variant says which.
  char type = 'T';
  size_t rank_min = 0, rank_max = kRankMax;
};

/// The dtypes that a variant computes for a letter.
struct TypeRule {
  char letter = 'T';
  std::vector<DType> dtypes;
};

/// A case as c = op(a) * op(b), for a library that multiplies matrices: a and b are the first two
/// inputs and c the first output, row-major, c of m x n. A transposed one is stored k x m or n x k.
struct MatrixProduct {
  int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;
  bool tf32 = false;  ///< float32 may be rounded to TF32 first.
};

/// Decides for a variant that was added while the program runs, in place of its function pointers.
/// Any thread.
class VariantRules {
 public:
  virtual ~VariantRules() = default;
  /// Why it cannot compute this case; "" when it can.
  virtual std::string unsupported(const OpCase& c) const = 0;
  virtual Result<uint64_t> workspace_bytes(const OpCase& c) const = 0;
  virtual Status plan(const OpCase& c, Plan& plan) const = 0;
  /// InvalidArgument when the arguments are not those that the entry declares. Asked once for each
  /// entry that is loaded.
  virtual Status check_entry(uint32_t entry, const EntryInfo& info) const = 0;
};

struct KernelVariant {
  std::string name;         ///< "tiled": unique within its op.
  std::string module = {};  ///< A name of builtin_kernels(); for a `source` its name in messages.
  /// CUDA C++ that is compiled for each instance of its templates when that is first called, where
  /// a module for every combination of dtypes would be too large. Needs a CUDA compiler then.
  std::string_view source = {};
  /// Computed by a library of the machine in place of kernels of ours, where it is found: "cublas".
  /// `product` tells it the case; there is no module, no entry and no plan.
  std::string library = {};
  MatrixProduct (*product)(const OpCase&) = nullptr;
  /// What plan() may launch: "matmul_{T}" is matmul_float32 for T = float32. In the names of
  /// templates {T:c} is the CUDA type: "cast<{T:c}, {U:c}>".
  std::vector<std::string> entries = {};
  std::vector<TypeRule> types;  ///< One per letter of the operands.
  int priority = 0;             ///< Higher is tried first; equal ones in order of declaration.
  bool strided = false;         ///< Takes any strides; else every tensor must be contiguous.
  bool wide = false;            ///< Counts elements with 64 bits; else each tensor has up to
                                ///< 2^31 - 1025, so that loops may step past the end.
  int sm_min = 0;               ///< Lowest compute capability, as in 80.
  /// Why it cannot compute this case, as in "cols is 5, expected a multiple of 4"; "" when it can.
  /// Called only when everything above holds. Null: it can.
  std::string (*unsupported)(const OpCase&) = nullptr;
  /// Device memory that it needs beside the tensors. Null: none.
  uint64_t (*workspace_bytes)(const OpCase&) = nullptr;
  /// The launches, in order. Called only for a case that it supports.
  void (*plan)(const OpCase&, Plan&) = nullptr;
  /// Replaces the three functions above in a variant that was added at run time.
  std::shared_ptr<const VariantRules> rules = nullptr;
  bool source_is_ptx = false;  ///< Then `entries` are names of the text, without templates.
  /// The op's fields and more of its own, each with a default; without fields: the op's schema.
  AttributeSchema schema = {};
  uint64_t generation = 0;  ///< Registry generation that added it; 0: built in.

  const AttributeSchema& schema_for(const OpKind& op) const;
};

struct OpKind {
  std::string name;     ///< "layernorm"
  std::string summary;  ///< One line: "y = (x - mean) / sqrt(variance + eps) * weight + bias".
  std::vector<OperandSpec> inputs, outputs;
  AttributeSchema schema = {};
  /// An output may be the very tensor that is an input: each element depends on its own place only.
  bool in_place = false;
  /// What shapes and attributes must fulfil whatever the variant: InvalidArgument. Ranks, dtypes
  /// and the schema are checked before. Null: nothing.
  Status (*check)(const OpCase&) = nullptr;
  std::vector<KernelVariant> variants;
};

inline const AttributeSchema& KernelVariant::schema_for(const OpKind& op) const {
  return schema.fields.empty() ? op.schema : schema;
}

/// Every op that comes with gpuemu, sorted by name.
std::span<const OpKind* const> builtin_ops();

}  // namespace gpuemu
