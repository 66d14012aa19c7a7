// What a program says about an op or a kernel of its own, and the OpKind or KernelVariant of it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/op.h"

namespace gpuemu {

/// One field of a schema: "eps", "float32".
struct FieldDeclaration {
  std::string name, dtype;
  std::optional<double> fallback = {};
};

struct OpDeclaration {
  std::string name, summary;
  /// "x: T", "index: I, rank 1", "w: T, rank 2 to 4".
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
  /// workspace; "i32:x.count", "i64:", "f32:eps", "f64:" are values.
  std::vector<std::string> args = {};
};

struct KernelDeclaration {
  std::string name;
  std::string source;  ///< CUDA C++ or PTX, or the path of a file with it.
  std::vector<LaunchDeclaration> launches = {};
  /// "T: float32, float16; I: int32"; a letter that is not named: every float.
  std::string types = {};
  int priority = 0;
  std::string supports = {};  ///< An expression: 0 where it does not compute; "": always.
  std::vector<FieldDeclaration> fields = {};  ///< The kernel's own fields, which follow the op's.
  bool strided = false, wide = false;
  int sm_min = 0;
  std::string workspace = {};  ///< Bytes; "": none.
};

/// InvalidArgument that says which part is wrong, and what was expected.
Result<OpKind> op_of(const OpDeclaration& declaration);
Result<std::vector<AttributeField>> fields_of(const std::vector<FieldDeclaration>& declared);
/// The variant but for its rules and launches. The source is not compiled. Its text is in `text`,
/// which outlives the variant. NotFound: a path that is none.
Result<KernelVariant> variant_of(const OpKind& op, const KernelDeclaration& declaration,
                                 std::string& text);

}  // namespace gpuemu
