// Finds mistakes in an expression that do not depend on the values of its names.
#include <optional>

#include <fmt/format.h>

#include "common/config/expression_node.h"
#include "common/numeric/dtype.h"
#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

using Node = Expression::Node;
using Op = ExpressionOp;

bool is_text(const Node& node) {
  return node.op == Op::Text || (node.op == Op::Name && node.text == "dtype");
}

/// False for a name other than `dtype`: it may be misspelled, which is reported as such.
bool is_number(const Node& node) { return !is_text(node) && node.op != Op::Name; }

class TypeChecker {
 public:
  explicit TypeChecker(std::string_view text) : text_(text) {}

  Status number(const Node& node) const {
    if (node.op == Op::Text) {
      return fail(node, "text '" + node.text + "' where a number is expected");
    }
    if (is_text(node)) {
      return fail(node,
                  "the name of a dtype where a number is expected; compare it, as in dtype "
                  "== 'float32', or write sizeof(dtype)");
    }
    if (node.op == Op::Equal || node.op == Op::NotEqual) return equality(node);
    if (node.op == Op::Sizeof) return size_of(*node.children[0]);
    for (const auto& child : node.children) GPUEMU_TRY(number(*child));
    return divisor(node);
  }

 private:
  Status equality(const Node& node) const {
    const Node &left = *node.children[0], &right = *node.children[1];
    if (!is_text(left) && !is_text(right)) {
      GPUEMU_TRY(number(left));
      return number(right);
    }
    if (is_number(left) || is_number(right)) return fail(node, "compares a number with text");
    GPUEMU_TRY(dtype_name(left));
    return dtype_name(right);
  }

  /// dtype is never equal to another spelling of a dtype's name, nor to what is none.
  Status dtype_name(const Node& node) const {
    if (node.op != Op::Text) return ok_status();
    const auto dtype = dtype_from_alias(node.text);
    if (!dtype) return fail(node, unknown_dtype(node.text));
    if (name_of(*dtype) == node.text) return ok_status();
    return fail(node, fmt::format("dtype is '{}' then, never '{}'", name_of(*dtype), node.text));
  }

  Status size_of(const Node& node) const {
    if (is_number(node)) return fail(node, "a number for sizeof, write sizeof(dtype)");
    const bool known = node.op != Op::Text || dtype_from_alias(node.text);
    return known ? ok_status() : fail(node, unknown_dtype(node.text));
  }

  Status divisor(const Node& node) const {
    const bool divides = node.op == Op::Divide || node.op == Op::Remainder || node.op == Op::Cdiv ||
                         node.op == Op::Roundup;
    if (!divides) return ok_status();
    const Node& by = *node.children[1];
    return by.op == Op::Integer && by.integer == 0 ? fail(node, "division by zero") : ok_status();
  }

  Status fail(const Node& node, const std::string& message) const {
    return expression_error(text_, node.column, message);
  }

  std::string_view text_;
};

}  // namespace

Status check_types(std::string_view text, const Expression::Node& root) {
  return TypeChecker(text).number(root);
}

}  // namespace gpuemu
