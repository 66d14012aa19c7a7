// Integer expressions over dims, attrs and dtype, as gpuemu.toml uses them for shapes, grids,
// shared memory, `supports` and scalar arguments.
//
//   or := and {"||" and}   and := cmp {"&&" cmp}   cmp := sum [("<"|"<="|">"|">="|"=="|"!=") sum]
//   sum := product {("+"|"-") product}   product := unary {("*"|"/"|"%") unary}
//   unary := ["-"|"!"] unary | number | name | 'text' | name "(" args ")" | "(" or ")"
//   functions: cdiv roundup min max sizeof(dtype) numel(tensor) stride(tensor, axis)
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace gpuemu {

/// What names mean while an expression is evaluated.
struct Scope {
  std::map<std::string, int64_t> integers;  ///< Dims and integer attrs.
  std::map<std::string, double> reals;  ///< Float attrs: legal only as a whole f32:/f64: argument.
  std::map<std::string, std::string> strings;           ///< dtype -> "float32"
  std::map<std::string, std::vector<int64_t>> shapes;   ///< For numel.
  std::map<std::string, std::vector<int64_t>> strides;  ///< For stride(tensor, axis), in elements.
};

/// A name in an expression and where it stands first, from 1.
struct ExpressionUse {
  std::string name;
  uint32_t column = 1;
};

/// stride(tensor, axis) in an expression; no axis when that is computed.
struct StrideUse {
  std::string tensor;
  std::optional<int64_t> axis;
  uint32_t column = 1;  ///< From 1, of "stride".
};

/// The column that a message of parse() or evaluate() names; 1 when it names none.
uint32_t expression_error_column(std::string_view message);

/// An immutable parsed expression; cheap to copy (copies share the parsed tree, which never
/// changes).
class Expression {
 public:
  /// InvalidArgument with the position (column from 1) of what is wrong.
  static Result<Expression> parse(std::string_view text);
  static Expression constant(int64_t value);

  /// InvalidArgument naming expression and position: unknown name, division by zero, overflow.
  Result<int64_t> evaluate(const Scope& scope) const;
  /// Evaluates a size: InvalidArgument when it is negative.
  Result<int64_t> evaluate_size(const Scope& scope) const;
  /// For f32:/f64: arguments: a real attr, a number literal with fraction, or an integer
  /// expression.
  Result<double> evaluate_real(const Scope& scope) const;
  /// Names of dims and attrs it uses; and the strides.
  std::vector<std::string> names() const;
  std::vector<StrideUse> stride_uses() const;
  /// The names with their positions, including the tensors of numel().
  std::vector<ExpressionUse> name_uses() const;
  std::vector<ExpressionUse> tensor_uses() const;
  /// Where a literal with a fraction stands, if there is one.
  std::optional<uint32_t> fraction_column() const;
  /// One literal with a fraction or one name, perhaps negated: what evaluate_real() takes as real.
  bool is_whole_real() const;
  const std::string& text() const { return text_; }

  struct Node;
  /// The tree (expression_node.h), for who gives expressions another meaning; null when empty.
  const Node* root() const { return root_.get(); }

 private:
  std::string text_;
  std::shared_ptr<const Node> root_;
};

}  // namespace gpuemu
