// Evaluates the expressions of registered kernels.
#include "ops/registered/expression.h"

#include <algorithm>

#include "runtime/device/device.h"

namespace gpuemu {
namespace {

const DeviceTensor& operand_of(const OpCase& c, uint32_t index) {
  const size_t inputs = c.inputs.size();
  return index < inputs ? c.in(index) : c.out(index - inputs);
}

/// Rounds down. Requires that b is not 0, and not that a is the lowest number and b is -1.
int64_t divide_down(int64_t a, int64_t b) {
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

}  // namespace

Error Expression::wrong(const std::string& what) const {
  return error(ErrorCode::InvalidArgument, "\"{}\": {}", text_, what);
}

Result<int64_t> Expression::whole(const OpCase& c) const {
  const Value value = GPUEMU_TRY(evaluate(static_cast<uint32_t>(nodes_.size() - 1), c));
  if (!value.is_real) return value.whole;
  return wrong(fmt::format("it is {}, expected a whole number", value.real));
}

Result<double> Expression::number(const OpCase& c) const {
  const Value value = GPUEMU_TRY(evaluate(static_cast<uint32_t>(nodes_.size() - 1), c));
  return value.as_real();
}

Result<Expression::Value> Expression::of_operand(const Node& node, const OpCase& c) const {
  const DeviceTensor& tensor = operand_of(c, node.left);
  if (node.kind == Kind::Count) return Value{.whole = tensor.count()};
  if (node.kind == Kind::Rank) return Value{.whole = static_cast<int64_t>(tensor.rank())};
  if (node.kind == Kind::Bytes) {
    return Value{.whole = tensor.count() * static_cast<int64_t>(byte_size(tensor.dtype))};
  }
  const auto rank = static_cast<int64_t>(tensor.rank());
  const int64_t axis = node.whole < 0 ? node.whole + rank : node.whole;
  if (axis < 0 || axis >= rank) {
    return wrong(fmt::format("axis {} does not exist in the shape {}", node.whole,
                             shape_text(tensor.shape)));
  }
  const auto& sizes = node.kind == Kind::Shape ? tensor.shape : tensor.strides;
  return Value{.whole = sizes[static_cast<size_t>(axis)]};
}

Result<Expression::Value> Expression::evaluate(uint32_t index, const OpCase& c) const {
  const Node& node = nodes_[index];
  switch (node.kind) {
    case Kind::Whole:
      return Value{.whole = node.whole};
    case Kind::Real:
      return Value{.is_real = true, .real = node.real};
    case Kind::Count:
    case Kind::Rank:
    case Kind::Bytes:
    case Kind::Shape:
    case Kind::Stride:
      return of_operand(node, c);
    case Kind::Sm:
      return Value{.whole = c.device.sm};
    case Kind::Attribute:
      if (node.type == AttributeType::Float32 || node.type == AttributeType::Float64) {
        return Value{.is_real = true, .real = c.attributes.number(node.name)};
      }
      if (node.type == AttributeType::Int32) {
        return Value{.whole = c.attributes.get<int32_t>(node.name)};
      }
      if (node.type == AttributeType::Int64) {
        return Value{.whole = c.attributes.get<int64_t>(node.name)};
      }
      return Value{.whole = static_cast<int64_t>(c.attributes.get<uint64_t>(node.name))};
    default:
      return combine(node, c);
  }
}

Result<Expression::Value> Expression::combine(const Node& node, const OpCase& c) const {
  const Value a = GPUEMU_TRY(evaluate(node.left, c));
  if (node.kind == Kind::Not) return Value{.whole = a.is_true() ? 0 : 1};
  if (node.kind == Kind::Negative && a.is_real) return Value{.is_real = true, .real = -a.real};
  if (node.kind == Kind::Negative) return of_wholes(Kind::Subtract, 0, a.whole);
  // The right side may divide by a value that the left side has excluded.
  if (node.kind == Kind::And && !a.is_true()) return Value{.whole = 0};
  if (node.kind == Kind::Or && a.is_true()) return Value{.whole = 1};
  const Value b = GPUEMU_TRY(evaluate(node.right, c));
  if (node.kind == Kind::And || node.kind == Kind::Or) return Value{.whole = b.is_true() ? 1 : 0};
  const bool are_real = a.is_real || b.is_real;
  const auto holds = are_real ? compared(node.kind, a.as_real(), b.as_real())
                              : compared(node.kind, a.whole, b.whole);
  if (holds) return Value{.whole = *holds};
  if (are_real) return of_reals(node.kind, a.as_real(), b.as_real());
  return of_wholes(node.kind, a.whole, b.whole);
}

template <typename Number>
std::optional<bool> Expression::compared(Kind kind, Number a, Number b) {
  switch (kind) {
    case Kind::Less:
      return a < b;
    case Kind::LessEqual:
      return a <= b;
    case Kind::Greater:
      return a > b;
    case Kind::GreaterEqual:
      return a >= b;
    case Kind::Equal:
      return a == b;
    case Kind::Unequal:
      return a != b;
    default:
      return std::nullopt;
  }
}

Result<Expression::Value> Expression::of_wholes(Kind kind, int64_t a, int64_t b) const {
  int64_t made = 0;
  bool overflows = false;
  switch (kind) {
    case Kind::Add:
      overflows = __builtin_add_overflow(a, b, &made);
      break;
    case Kind::Subtract:
      overflows = __builtin_sub_overflow(a, b, &made);
      break;
    case Kind::Multiply:
      overflows = __builtin_mul_overflow(a, b, &made);
      break;
    case Kind::Divide:
    case Kind::Remainder:
    case Kind::DivideUp:
      if (b == 0) return wrong("it divides by 0");
      overflows = a == INT64_MIN;
      if (overflows) break;
      made = kind == Kind::DivideUp ? -divide_down(-a, b) : divide_down(a, b);
      if (kind == Kind::Remainder) made = a - made * b;
      break;
    case Kind::Min:
      return Value{.whole = std::min(a, b)};
    case Kind::Max:
      return Value{.whole = std::max(a, b)};
    default:
      GPUEMU_UNREACHABLE();
  }
  if (overflows) return wrong(fmt::format("it does not fit 64 bits, with {} and {}", a, b));
  return Value{.whole = made};
}

Result<Expression::Value> Expression::of_reals(Kind kind, double a, double b) const {
  switch (kind) {
    case Kind::Add:
      return Value{.is_real = true, .real = a + b};
    case Kind::Subtract:
      return Value{.is_real = true, .real = a - b};
    case Kind::Multiply:
      return Value{.is_real = true, .real = a * b};
    case Kind::Min:
      return Value{.is_real = true, .real = std::min(a, b)};
    case Kind::Max:
      return Value{.is_real = true, .real = std::max(a, b)};
    default:
      return wrong("//, % and cdiv are for whole numbers");
  }
}

}  // namespace gpuemu
