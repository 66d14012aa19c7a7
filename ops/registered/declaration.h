// A program's declaration of its own op or kernel, and the OpKind or KernelVariant built from it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/op.h"

namespace gpuemu {

/// A field of a schema: for example "eps", "float32".
struct FieldDeclaration {
  std::string name, dtype;
  std::optional<double> fallback = {};
};

struct OpDeclaration {
  std::string name, summary;
  /// For example "x: T", "index: I, rank 1", "w: T, rank 2 to 4".
  std::vector<std::string> inputs, outputs;
  std::vector<FieldDeclaration> fields = {};
  bool in_place = false;
};

/// Sizes are expressions; "" is 1, or 0 for shared memory.
struct LaunchDeclaration {
  std::string entry;
  std::array<std::string, 3> grid = {}, block = {};
  std::string shared = {};
  /// In the order of the entry's parameters: "x" is an operand's address, "workspace" that of the
  /// workspace; "i32:x.count", "i64:...", "f32:eps" and "f64:..." are values.
  std::vector<std::string> args = {};
};

struct KernelDeclaration {
  std::string name;
  std::string source;  ///< CUDA C++ or PTX, or the path of a file that contains it.
  std::vector<LaunchDeclaration> launches = {};
  /// For example "T: float32, float16; I: int32"; a letter that is not named: every float type.
  std::string types = {};
  int priority = 0;
  std::string supports = {};  ///< An expression that is 0 for unsupported cases; "": all are
                              ///< supported.
  std::vector<FieldDeclaration> fields = {};  ///< The kernel's own fields, after the op's.
  bool strided = false, wide = false;
  int sm_min = 0;
  std::string workspace = {};  ///< Expression for its bytes; "": none.
};

/// InvalidArgument names the wrong part and what was expected.
Result<OpKind> op_of(const OpDeclaration& declaration);
Result<std::vector<AttributeField>> fields_of(const std::vector<FieldDeclaration>& declared);
/// Returns the variant without rules and launches. Does not compile the source. `text` holds its
/// text and must outlive the variant. NotFound if a path does not exist.
Result<KernelVariant> variant_of(const OpKind& op, const KernelDeclaration& declaration,
                                 std::string& text);

}  // namespace gpuemu
