// The parsed form of an Expression, for its parser and its interpreters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/config/expression.h"

namespace gpuemu {

enum class ExpressionOp {
  Integer,
  Real,
  Text,  ///< 'float32'
  Name,
  Negate,
  Not,
  Add,
  Subtract,
  Multiply,
  Divide,
  Remainder,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  And,
  Or,
  Cdiv,
  Roundup,
  Min,
  Max,
  Sizeof,
  Numel,
  Stride,
};

struct Expression::Node {
  ExpressionOp op = ExpressionOp::Integer;
  int64_t integer = 0;
  double real = 0;
  std::string text;     ///< Spelling of Name and Text; the tensor of Numel and Stride.
  uint32_t column = 1;  ///< Position of the operator, name or literal, from 1.
  std::vector<std::unique_ptr<const Node>> children;
};

/// The functions, for messages and for the parser.
struct ExpressionFunction {
  const char* name;
  ExpressionOp op;
  size_t arguments_min, arguments_max;
  const char* usage;
};
inline constexpr ExpressionFunction kExpressionFunctions[] = {
    {"cdiv", ExpressionOp::Cdiv, 2, 2, "cdiv(a, b)"},
    {"max", ExpressionOp::Max, 2, 16, "max(a, b)"},
    {"min", ExpressionOp::Min, 2, 16, "min(a, b)"},
    {"numel", ExpressionOp::Numel, 1, 1, "numel(tensor)"},
    {"roundup", ExpressionOp::Roundup, 2, 2, "roundup(a, b)"},
    {"sizeof", ExpressionOp::Sizeof, 1, 1, "sizeof(dtype)"},
    {"stride", ExpressionOp::Stride, 2, 2, "stride(tensor, axis)"},
};

/// Returns for example "expression 'a / b', column 3: ...".
Error expression_error(std::string_view text, uint32_t column, const std::string& message);

/// Returns InvalidArgument for mistakes that do not depend on the values of names: text where a
/// number is expected, a comparison of dtype with a text that is no dtype, a division by a literal
/// zero.
Status check_types(std::string_view text, const Expression::Node& root);

/// Parses by recursive descent; the grammar is in expression.h.
Result<std::unique_ptr<const Expression::Node>> parse_expression_tree(std::string_view text);

}  // namespace gpuemu
