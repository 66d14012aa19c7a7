// Integer expressions over dims, attrs and dtype, used in gpuemu.toml for shapes, grids, shared
// memory, `supports` and scalar arguments.
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

/// The values of names during evaluation.
struct Scope {
  std::map<std::string, int64_t> integers;  ///< Dims and integer attrs.
  /// Float attrs: only allowed as a whole f32: or f64: argument.
  std::map<std::string, double> reals;
  std::map<std::string, std::string> strings;           ///< dtype -> "float32"
  std::map<std::string, std::vector<int64_t>> shapes;   ///< For numel.
  std::map<std::string, std::vector<int64_t>> strides;  ///< For stride(tensor, axis), in elements.
};

/// A name in an expression, and its first position (from 1).
struct ExpressionUse {
  std::string name;
  uint32_t column = 1;
};

/// A use of stride(tensor, axis); no axis if it is computed.
struct StrideUse {
  std::string tensor;
  std::optional<int64_t> axis;
  uint32_t column = 1;  ///< Position of "stride", from 1.
};

/// Returns the column that a message of parse() or evaluate() names; 1 if it names none.
uint32_t expression_error_column(std::string_view message);

/// An immutable parsed expression. Cheap to copy: copies share the parsed tree.
class Expression {
 public:
  /// InvalidArgument names the position (column from 1) of the problem.
  static Result<Expression> parse(std::string_view text);
  static Expression constant(int64_t value);

  /// InvalidArgument names expression and position: unknown name, division by zero, overflow.
  Result<int64_t> evaluate(const Scope& scope) const;
  /// Evaluates a size: InvalidArgument if it is negative.
  Result<int64_t> evaluate_size(const Scope& scope) const;
  /// Evaluates an f32: or f64: argument: a real attr, a literal with a fraction, or an integer
  /// expression.
  Result<double> evaluate_real(const Scope& scope) const;
  /// Return the names of dims and attrs in use, and the strides.
  std::vector<std::string> names() const;
  std::vector<StrideUse> stride_uses() const;
  /// Return the names with their positions, including the tensors of numel().
  std::vector<ExpressionUse> name_uses() const;
  std::vector<ExpressionUse> tensor_uses() const;
  /// Returns the position of a literal with a fraction, if there is one.
  std::optional<uint32_t> fraction_column() const;
  /// Returns whether it is a literal with a fraction, or a name, possibly negated: what
  /// evaluate_real() treats as real.
  bool is_whole_real() const;
  const std::string& text() const { return text_; }

  struct Node;
  /// Returns the tree (expression_node.h), for code that interprets expressions in another way;
  /// null if empty.
  const Node* root() const { return root_.get(); }

 private:
  std::string text_;
  std::shared_ptr<const Node> root_;
};

}  // namespace gpuemu
