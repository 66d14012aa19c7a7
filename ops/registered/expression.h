// Expressions for the sizes of a kernel registered as text: "cdiv(x.count, 256)", "x.rank == 2".
//
//   expression := or
//   or         := and ("or" and)*
//   and        := not ("and" not)*
//   not        := "not" not | compared
//   compared   := sum (("<" | "<=" | ">" | ">=" | "==" | "!=") sum)?
//   sum        := product (("+" | "-") product)*
//   product    := signed (("*" | "//" | "%") signed)*
//   signed     := "-" signed | atom
//   atom       := number | "(" expression ")" | ATTRIBUTE | "sm"
//               | ("min" | "max" | "cdiv") "(" expression ("," expression)* ")"
//               | OPERAND "." ("count" | "rank" | "bytes" | ("shape" | "strides") "[" whole "]")
//
// "//" and "%" round down, as in Python. A comparison is 1 or 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "kernels/op.h"

namespace gpuemu {

/// Thread-safe.
class Expression {
 public:
  /// InvalidArgument gives the column of the problem and the valid names: the operands of `op` and
  /// the attributes of `schema`.
  static Result<Expression> parse(std::string_view text, const OpKind& op,
                                  const AttributeSchema& schema);

  /// InvalidArgument if the result is not a whole number or does not fit 64 bits, for a division by
  /// 0, and for an axis that the operand lacks. Requires the attributes of `c` to be read by the
  /// schema passed to parse().
  Result<int64_t> whole(const OpCase& c) const;
  /// Returns the same, rounded to float64 if it is whole.
  Result<double> number(const OpCase& c) const;
  const std::string& text() const { return text_; }

 private:
  friend class ExpressionParser;
  enum class Kind : uint8_t {
    Whole,
    Real,
    Count,
    Rank,
    Bytes,
    Shape,
    Stride,
    Attribute,
    Sm,
    Negative,
    Not,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    DivideUp,
    Min,
    Max,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    Unequal,
    And,
    Or
  };
  struct Node {
    Kind kind = Kind::Whole;
    int64_t whole = 0;  ///< The value, or the axis.
    double real = 0;
    uint32_t left = 0, right = 0;  ///< Nodes; or an operand's index: inputs first, then outputs.
    std::string name = {};         ///< The attribute's name.
    AttributeType type = AttributeType::Int64;
  };
  struct Value {
    bool is_real = false;
    int64_t whole = 0;
    double real = 0;
    double as_real() const { return is_real ? real : static_cast<double>(whole); }
    bool is_true() const { return is_real ? real != 0 : whole != 0; }
  };

  Result<Value> evaluate(uint32_t node, const OpCase& c) const;
  Result<Value> of_operand(const Node& node, const OpCase& c) const;
  Result<Value> combine(const Node& node, const OpCase& c) const;
  /// Nothing for a kind that is no comparison.
  template <typename Number>
  static std::optional<bool> compared(Kind kind, Number a, Number b);
  Result<Value> of_wholes(Kind kind, int64_t a, int64_t b) const;
  Result<Value> of_reals(Kind kind, double a, double b) const;
  Error wrong(const std::string& what) const;

  std::string text_;
  std::vector<Node> nodes_;  ///< The last is the root.
};

}  // namespace gpuemu
