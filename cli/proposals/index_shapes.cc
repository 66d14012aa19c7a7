#include "cli/proposals/index_shapes.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <re2/re2.h>

#include "cli/cuda_text/c_expression.h"
#include "cli/cuda_text/cpp_text.h"
#include "cli/cuda_text/host_launch.h"

namespace gpuemu::cli {
namespace {

// Locals that are set from each other.
constexpr int kStepsMax = 6;

using Shape = std::vector<std::string>;

bool is_op(const Term& term, std::string_view op) {
  return term.kind == Term::Kind::Binary && term.text == op;
}

/// Appends the operands of nested `op` from left to right: a, b, c of a + b + c.
void flatten(const Term& term, std::string_view op, std::vector<Term>& to) {
  if (!is_op(term, op)) {
    to.push_back(term);
    return;
  }
  for (const Term& part : term.parts) flatten(part, op, to);
}

std::vector<Term> operands(const Term& term, std::string_view op) {
  std::vector<Term> all;
  flatten(term, op, all);
  return all;
}

class IndexShapes {
 public:
  IndexShapes(const std::string& body, const Definitions& known, const ProposedKernel& kernel)
      : body_(body), known_(known), kernel_(kernel), declared_(declared_values(body)) {}

  /// Returns the shape with the most axes that an index of the tensor shows; empty for none.
  Shape of(const std::string& tensor) const {
    Shape most;
    for (const Subscript& subscript : subscripts_of(body_, tensor)) {
      const auto index = parse_c(subscript.text, known_);
      const auto shape = index ? shape_of(with_locals(*index)) : std::nullopt;
      if (shape && shape->size() > most.size()) most = *shape;
    }
    return most;
  }

 private:
  /// Returns the name of the size in gpuemu.toml; nothing if the term is anything else.
  std::optional<std::string> size_of(const Term& term) const {
    if (term.kind != Term::Kind::Name) return std::nullopt;
    const ProposedParam* param = param_written(kernel_, term.text);
    if (param == nullptr || param->role != ParamRole::Dim) return std::nullopt;
    return param->name;
  }

  std::optional<Term> value_of(const Term& name) const {
    if (name.kind != Term::Kind::Name) return std::nullopt;
    const auto local = declared_.find(name.text);
    return local == declared_.end() ? std::nullopt : parse_c(local->second, known_);
  }

  /// Replaces an index that is a local by the sum of products to which it is set.
  Term with_locals(Term index) const {
    for (int step = 0; step < kStepsMax; ++step) {
      const auto value = value_of(index);
      if (!value || !(is_op(*value, "+") || is_op(*value, "*"))) break;
      index = *value;
    }
    return index;
  }

  std::optional<Shape> shape_of(const Term& index) const {
    std::vector<Term> outer;
    Shape inner;
    for (const Term& addend : operands(index, "+")) {
      std::vector<Term> others;
      Shape sizes;
      for (const Term& factor : operands(addend, "*")) {
        const auto size = size_of(factor);
        if (size) {
          sizes.push_back(*size);
        } else {
          others.push_back(factor);
        }
      }
      if (sizes.size() <= inner.size()) continue;
      inner = std::move(sizes);
      outer = std::move(others);
    }
    if (inner.empty()) {
      for (const Term& addend : operands(index, "+")) {
        if (const auto bound = bound_of(addend)) return Shape{*bound};
      }
      return std::nullopt;
    }
    if (outer.size() != 1) return std::nullopt;
    std::optional<Shape> shape = shape_of(outer.front());
    if (shape) std::ranges::copy(inner, std::back_inserter(*shape));
    return shape;
  }

  /// Returns the size that the value is below, whatever happens.
  std::optional<std::string> bound_of(const Term& value) const {
    if (is_op(value, "%")) return size_of(value.parts[1]);
    if (is_op(value, "-")) return bound_of(value.parts[0]);
    if (is_op(value, "/")) return bound_of_quotient(value);
    if (value.kind != Term::Kind::Name || size_of(value)) return std::nullopt;
    // "i < n" of a loop or a check, "i >= n" of one that returns.
    const RE2 compared(R"((?:^|[^\w.]))" + RE2::QuoteMeta(value.text) +
                       R"(\s*(?:<|>=)\s*(\w+)\s*(?:[;)&|]|$))");
    re2::StringPiece rest(body_);
    std::string name;
    while (RE2::FindAndConsume(&rest, compared, &name)) {
      if (const auto size = size_of({Term::Kind::Name, name, 0, {}})) return size;
    }
    const auto set = value_of(value);
    return set && *set != value && (is_op(*set, "%") || is_op(*set, "/")) ? bound_of(*set)
                                                                          : std::nullopt;
  }

  /// Returns the size that is left of the bound of "i" when those by which it is divided are taken
  /// away: N for i / (C * W) if i is below N * C * W.
  std::optional<std::string> bound_of_quotient(const Term& quotient) const {
    std::vector<Term> divisors;
    Term rest = quotient;
    for (int step = 0; step < kStepsMax; ++step) {
      if (is_op(rest, "/")) {
        flatten(rest.parts[1], "*", divisors);
        rest = Term(rest.parts[0]);
        continue;
      }
      std::vector<Term> left = limit_of(rest);
      for (const Term& divisor : divisors) {
        const auto one = std::ranges::find(left, divisor);
        if (one != left.end()) left.erase(one);
      }
      if (left.size() == 1) return size_of(left.front());
      const auto value = left.empty() ? value_of(rest) : std::nullopt;
      if (!value || !is_op(*value, "/")) return std::nullopt;
      rest = *value;
    }
    return std::nullopt;
  }

  /// Returns the factors of the product that the text compares the name with; empty for none.
  std::vector<Term> limit_of(const Term& value) const {
    if (value.kind != Term::Kind::Name) return {};
    const RE2 compared(R"((?:^|[^\w.]))" + RE2::QuoteMeta(value.text) +
                       R"(\s*(?:<|>=)\s*([\w\s*]+?)\s*[;)&|])");
    std::string text;
    if (!RE2::PartialMatch(body_, compared, &text)) return {};
    const auto limit = parse_c(text, known_);
    if (!limit) return {};
    const auto set = value_of(*limit);
    return operands(set ? *set : *limit, "*");
  }

  const std::string& body_;
  const Definitions& known_;
  const ProposedKernel& kernel_;
  const std::map<std::string, std::string> declared_;
};

}  // namespace

std::map<std::string, std::vector<std::string>> index_shapes(const std::string& body,
                                                             const Definitions& known,
                                                             const ProposedKernel& kernel) {
  const IndexShapes shapes(body, known, kernel);
  std::map<std::string, std::vector<std::string>> all;
  for (const ProposedParam& param : kernel.params) {
    if (!is_tensor(param) || param.lanes != 1) continue;
    Shape shape = shapes.of(param.written);
    if (!shape.empty()) all[param.name] = std::move(shape);
  }
  return all;
}

}  // namespace gpuemu::cli
