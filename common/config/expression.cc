// Evaluates expressions in int64; every overflow is an error.
#include "common/config/expression.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "common/config/expression_node.h"
#include "common/numeric/dtype.h"
#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

using Node = Expression::Node;
using Op = ExpressionOp;
using Value = std::variant<int64_t, std::string>;

template <typename T>
std::vector<std::string> keys_of(const std::map<std::string, T>& table) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : table) keys.push_back(key);
  return keys;
}

std::string list_text(const std::vector<std::string>& words) {
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

class Evaluator {
 public:
  Evaluator(std::string_view text, const Scope& scope) : text_(text), scope_(scope) {}

  Result<int64_t> integer(const Node& node) const {
    Value value = GPUEMU_TRY(evaluate(node));
    if (const auto* number = std::get_if<int64_t>(&value)) return *number;
    return fail(node, "text '" + std::get<std::string>(value) + "' where a number is expected");
  }

  Error fail(const Node& node, const std::string& message) const {
    return expression_error(text_, node.column, message);
  }

 private:
  Result<Value> evaluate(const Node& node) const {
    switch (node.op) {
      case Op::Integer:
        return Value(node.integer);
      case Op::Real:
        return fail(node, "a fraction is legal only as a whole f32: or f64: argument");
      case Op::Text:
        return Value(node.text);
      case Op::Name:
        return name(node);
      case Op::Equal:
      case Op::NotEqual:
        return equality(node);
      case Op::And:
      case Op::Or: {
        // The right side is not evaluated if the left side decides: b != 0 && a / b > 1.
        const bool left = GPUEMU_TRY(integer(*node.children[0])) != 0;
        if (left == (node.op == Op::Or)) return Value(int64_t{left});
        return Value(int64_t{GPUEMU_TRY(integer(*node.children[1])) != 0});
      }
      case Op::Sizeof:
        return size_of(node);
      case Op::Numel:
        return element_count_of(node);
      case Op::Stride:
        return stride_of(node);
      default:
        return arithmetic(node);
    }
  }

  Result<Value> name(const Node& node) const {
    if (const auto found = scope_.integers.find(node.text); found != scope_.integers.end()) {
      return Value(found->second);
    }
    if (const auto found = scope_.strings.find(node.text); found != scope_.strings.end()) {
      return Value(found->second);
    }
    if (scope_.reals.contains(node.text)) {
      return fail(
          node, "the real attr '" + node.text + "' is legal only as a whole f32: or f64: argument");
    }
    std::vector<std::string> known = keys_of(scope_.integers);
    for (const std::string& key : keys_of(scope_.strings)) known.push_back(key);
    return fail(node, "unknown name '" + node.text + "', known are " + list_text(known) +
                          did_you_mean(node.text, known));
  }

  Result<Value> equality(const Node& node) const {
    const Value left = GPUEMU_TRY(evaluate(*node.children[0]));
    const Value right = GPUEMU_TRY(evaluate(*node.children[1]));
    if (left.index() != right.index()) return fail(node, "compares a number with text");
    return Value(int64_t{(left == right) == (node.op == Op::Equal)});
  }

  Result<Value> size_of(const Node& node) const {
    const Value value = GPUEMU_TRY(evaluate(*node.children[0]));
    const auto* dtype_name = std::get_if<std::string>(&value);
    if (dtype_name == nullptr) return fail(node, "a number for sizeof, write sizeof(dtype)");
    const auto dtype = dtype_from_alias(*dtype_name);
    if (!dtype) return fail(node, unknown_dtype(*dtype_name));
    return Value(static_cast<int64_t>(byte_size(*dtype)));
  }

  Result<Value> element_count_of(const Node& node) const {
    const auto found = scope_.shapes.find(node.text);
    if (found == scope_.shapes.end()) return unknown_tensor(node, keys_of(scope_.shapes));
    int64_t count = 1;
    for (const int64_t size : found->second) {
      if (__builtin_mul_overflow(count, size, &count)) return overflow(node);
    }
    return Value(count);
  }

  Result<Value> stride_of(const Node& node) const {
    const auto found = scope_.strides.find(node.text);
    if (found == scope_.strides.end()) return unknown_tensor(node, keys_of(scope_.strides));
    const auto rank = static_cast<int64_t>(found->second.size());
    const int64_t axis = GPUEMU_TRY(integer(*node.children[0]));
    if (axis < -rank || axis >= rank) {
      return fail(node, fmt::format("axis {} of tensor '{}', which has {} dimensions", axis,
                                    node.text, rank));
    }
    return Value(found->second[static_cast<size_t>(axis < 0 ? axis + rank : axis)]);
  }

  Error unknown_tensor(const Node& node, const std::vector<std::string>& known) const {
    return fail(node, "unknown tensor '" + node.text + "', known are " + list_text(known) +
                          did_you_mean(node.text, known));
  }

  Error overflow(const Node& node) const { return fail(node, "the result overflows 64 bits"); }

  Result<Value> arithmetic(const Node& node) const {
    int64_t a = GPUEMU_TRY(integer(*node.children[0]));
    if (node.op == Op::Not) return Value(int64_t{a == 0});
    if (node.op == Op::Negate) {
      if (__builtin_sub_overflow(int64_t{0}, a, &a)) return overflow(node);
      return Value(a);
    }
    // min and max take several arguments; the others exactly two.
    for (size_t i = 1; i < node.children.size(); ++i) {
      const int64_t b = GPUEMU_TRY(integer(*node.children[i]));
      a = GPUEMU_TRY(combine(node, a, b));
    }
    return Value(a);
  }

  Result<int64_t> combine(const Node& node, int64_t a, int64_t b) const {
    int64_t out = 0;
    switch (node.op) {
      case Op::Add:
        if (__builtin_add_overflow(a, b, &out)) return overflow(node);
        return out;
      case Op::Subtract:
        if (__builtin_sub_overflow(a, b, &out)) return overflow(node);
        return out;
      case Op::Multiply:
        if (__builtin_mul_overflow(a, b, &out)) return overflow(node);
        return out;
      case Op::Less:
        return int64_t{a < b};
      case Op::LessEqual:
        return int64_t{a <= b};
      case Op::Greater:
        return int64_t{a > b};
      case Op::GreaterEqual:
        return int64_t{a >= b};
      case Op::Min:
        return std::min(a, b);
      case Op::Max:
        return std::max(a, b);
      default:
        return divide(node, a, b);
    }
  }

  // '/' truncates and '%' has the sign of the left side, as in CUDA C++; cdiv rounds up.
  Result<int64_t> divide(const Node& node, int64_t a, int64_t b) const {
    if (b == 0) return fail(node, "division by zero");
    if (b == -1) {  // Only the smallest integer divided by -1 overflows.
      if (node.op == Op::Remainder) return int64_t{0};
      if (node.op == Op::Divide) {
        int64_t out = 0;
        if (__builtin_sub_overflow(int64_t{0}, a, &out)) return overflow(node);
        return out;
      }
    }
    if (node.op == Op::Divide) return a / b;
    if (node.op == Op::Remainder) return a % b;
    if (b < 0) return fail(node, fmt::format("the divisor {} is negative", b));
    const int64_t quotient = a / b + (a % b > 0 ? 1 : 0);
    if (node.op == Op::Cdiv) return quotient;
    GPUEMU_CHECK(node.op == Op::Roundup);
    int64_t out = 0;
    if (__builtin_mul_overflow(quotient, b, &out)) return overflow(node);
    return out;
  }

  std::string_view text_;
  const Scope& scope_;
};

template <typename Visit>
void walk(const Node& node, const Visit& visit) {
  visit(node);
  for (const auto& child : node.children) walk(*child, visit);
}

void add_once(std::vector<ExpressionUse>& uses, const Node& node) {
  const bool known = std::ranges::any_of(uses, [&](const auto& u) { return u.name == node.text; });
  if (!known) uses.push_back({node.text, node.column});
}

std::vector<std::string> names_of(const std::vector<ExpressionUse>& uses) {
  std::vector<std::string> names;
  for (const ExpressionUse& use : uses) names.push_back(use.name);
  return names;
}

}  // namespace

Result<Expression> Expression::parse(std::string_view text) {
  Expression expression;
  expression.root_ = GPUEMU_TRY(parse_expression_tree(text));
  GPUEMU_TRY(check_types(text, *expression.root_));
  expression.text_ = std::string(text);
  return expression;
}

Expression Expression::constant(int64_t value) {
  auto node = std::make_shared<Node>();
  node->integer = value;
  Expression expression;
  expression.text_ = std::to_string(value);
  expression.root_ = std::move(node);
  return expression;
}

Result<int64_t> Expression::evaluate(const Scope& scope) const {
  if (!root_) return error(ErrorCode::InvalidArgument, "an empty expression, expected a number");
  return Evaluator(text_, scope).integer(*root_);
}

Result<int64_t> Expression::evaluate_size(const Scope& scope) const {
  const int64_t value = GPUEMU_TRY(evaluate(scope));
  if (value >= 0) return value;
  return expression_error(text_, root_->column,
                          fmt::format("{} is negative, expected a size", value));
}

Result<double> Expression::evaluate_real(const Scope& scope) const {
  if (!root_) return error(ErrorCode::InvalidArgument, "an empty expression, expected a number");
  const bool negated = root_->op == Op::Negate;
  const Node& node = negated ? *root_->children[0] : *root_;
  const double sign = negated ? -1.0 : 1.0;
  if (node.op == Op::Real) return sign * node.real;
  if (node.op == Op::Name) {
    const auto found = scope.reals.find(node.text);
    if (found != scope.reals.end()) return sign * found->second;
  }
  return static_cast<double>(GPUEMU_TRY(Evaluator(text_, scope).integer(*root_)));
}

std::vector<ExpressionUse> Expression::name_uses() const {
  std::vector<ExpressionUse> uses;
  if (!root_) return uses;
  walk(*root_, [&](const Node& node) {
    if (node.op == Op::Name && node.text != "dtype") add_once(uses, node);
  });
  return uses;
}

std::vector<ExpressionUse> Expression::tensor_uses() const {
  std::vector<ExpressionUse> uses;
  if (!root_) return uses;
  walk(*root_, [&](const Node& node) {
    if (node.op == Op::Numel || node.op == Op::Stride) add_once(uses, node);
  });
  return uses;
}

std::vector<std::string> Expression::names() const { return names_of(name_uses()); }

std::vector<StrideUse> Expression::stride_uses() const {
  std::vector<StrideUse> uses;
  if (!root_) return uses;
  walk(*root_, [&](const Node& node) {
    if (node.op != Op::Stride) return;
    const Node& axis = *node.children[0];
    const bool written = axis.op == Op::Integer;
    uses.push_back({node.text, written ? std::optional(axis.integer) : std::nullopt, node.column});
  });
  return uses;
}

std::optional<uint32_t> Expression::fraction_column() const {
  std::optional<uint32_t> column;
  if (!root_) return column;
  walk(*root_, [&](const Node& node) {
    if (node.op == Op::Real && !column) column = node.column;
  });
  return column;
}

bool Expression::is_whole_real() const {
  if (!root_) return false;
  const Node& node = root_->op == Op::Negate ? *root_->children[0] : *root_;
  return node.op == Op::Real || node.op == Op::Name;
}

}  // namespace gpuemu
