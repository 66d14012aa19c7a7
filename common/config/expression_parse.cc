// Parses the grammar of expression.h by recursive descent; counts every level of nesting.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>

#include "common/base/text.h"
#include "common/config/expression_node.h"
#include "common/toml/nearest.h"

namespace gpuemu {
namespace {

using Node = Expression::Node;
using NodePtr = std::unique_ptr<const Node>;
using Op = ExpressionOp;

// More than anybody writes by hand, and within the stack for parser and evaluator.
constexpr uint32_t kDepthMax = 64;
/// The evaluation of a chain of operators is nested as deep as the chain is long.
constexpr uint32_t kOperandsMax = 1000;
constexpr size_t kCharsMax = 4096;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_name_start(c) || is_digit(c); }

struct BinaryOperator {
  std::string_view spelling;
  Op op;
};
// Longer spellings come first: "<=" is not "<".
constexpr BinaryOperator kComparisons[] = {{"<=", Op::LessEqual}, {">=", Op::GreaterEqual},
                                           {"==", Op::Equal},     {"!=", Op::NotEqual},
                                           {"<", Op::Less},       {">", Op::Greater}};
constexpr BinaryOperator kSums[] = {{"+", Op::Add}, {"-", Op::Subtract}};
constexpr BinaryOperator kProducts[] = {
    {"*", Op::Multiply}, {"/", Op::Divide}, {"%", Op::Remainder}};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<NodePtr> parse_all() {
    if (text_.size() > kCharsMax) {
      return error(ErrorCode::InvalidArgument, "an expression of {} characters, the limit is {}",
                   text_.size(), kCharsMax);
    }
    NodePtr root = GPUEMU_TRY(parse_or());
    skip_space();
    if (at_ == text_.size()) return root;
    for (const BinaryOperator& row : kComparisons) {
      if (text_.substr(at_).starts_with(row.spelling)) {
        return fail("comparisons cannot be chained; write a < b && b < c");
      }
    }
    if (peek() == ',') return fail("unexpected ','; several sizes are a list: [\"n\", \"m\"]");
    if (const std::string meant = meant_by_word(); !meant.empty()) return fail(meant);
    return fail(unexpected() + ", expected an operator or the end");
  }

 private:
  Result<NodePtr> parse_or() {
    NodePtr left = GPUEMU_TRY(parse_and());
    for (uint32_t column = 0; take("||", column);) {
      NodePtr right = GPUEMU_TRY(parse_and());
      left = binary(Op::Or, column, std::move(left), std::move(right));
    }
    return left;
  }

  Result<NodePtr> parse_and() {
    NodePtr left = GPUEMU_TRY(parse_comparison());
    for (uint32_t column = 0; take("&&", column);) {
      NodePtr right = GPUEMU_TRY(parse_comparison());
      left = binary(Op::And, column, std::move(left), std::move(right));
    }
    return left;
  }

  Result<NodePtr> parse_comparison() {
    NodePtr left = GPUEMU_TRY(parse_sum());
    uint32_t column = 0;
    for (const BinaryOperator& row : kComparisons) {
      if (!take(row.spelling, column)) continue;
      NodePtr right = GPUEMU_TRY(parse_sum());
      return binary(row.op, column, std::move(left), std::move(right));
    }
    return left;
  }

  Result<NodePtr> parse_sum() {
    NodePtr left = GPUEMU_TRY(parse_product());
    uint32_t column = 0;
    while (const BinaryOperator* row = take_one_of(kSums, column)) {
      NodePtr right = GPUEMU_TRY(parse_product());
      left = binary(row->op, column, std::move(left), std::move(right));
    }
    return left;
  }

  Result<NodePtr> parse_product() {
    NodePtr left = GPUEMU_TRY(parse_unary());
    uint32_t column = 0;
    while (const BinaryOperator* row = take_one_of(kProducts, column)) {
      NodePtr right = GPUEMU_TRY(parse_unary());
      left = binary(row->op, column, std::move(left), std::move(right));
    }
    return left;
  }

  // Every recursion of the grammar passes here, so the depth is counted here.
  Result<NodePtr> parse_unary() {
    skip_space();
    if (depth_ == kDepthMax) return fail("nested deeper than 64 levels; simplify it");
    if (++operands_ > kOperandsMax) return fail("more than 1000 operands; simplify it");
    ++depth_;
    Result<NodePtr> node = parse_unary_inside();
    --depth_;
    return node;
  }

  Result<NodePtr> parse_unary_inside() {
    const uint32_t start = column();
    if (peek() == '-') {
      ++at_;
      skip_space();
      // The sign belongs to the literal: -9223372036854775808 has no positive counterpart.
      if (is_digit(peek())) return parse_number(true);
      return wrap(Op::Negate, start);
    }
    if (peek() == '!') {
      ++at_;
      return wrap(Op::Not, start);
    }
    if (is_digit(peek())) return parse_number(false);
    if (is_name_start(peek())) return parse_name();
    if (peek() == '\'') return parse_text();
    if (peek() != '(') return fail(unexpected() + ", expected a number, a name or '('");
    ++at_;
    NodePtr inside = GPUEMU_TRY(parse_or());
    if (Status closed = expect(')'); !closed) return closed.error();
    return inside;
  }

  Result<NodePtr> wrap(Op op, uint32_t start) {
    NodePtr child = GPUEMU_TRY(parse_unary());
    auto node = make(op, start);
    node->children.push_back(std::move(child));
    return NodePtr(std::move(node));
  }

  Result<NodePtr> parse_number(bool negative) {
    const uint32_t start = column();
    const size_t first = at_;
    while (is_digit(peek())) ++at_;
    bool real = false;
    if (peek() == '.') {
      real = true;
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      real = true;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!is_digit(peek())) return fail(unexpected() + ", expected the digits of an exponent");
      while (is_digit(peek())) ++at_;
    }
    if (is_name(peek())) return fail(unexpected() + " inside a number");
    std::string digits(negative ? 1 : 0, '-');
    digits += text_.substr(first, at_ - first);
    auto node = make(real ? Op::Real : Op::Integer, start);
    const char* end = digits.data() + digits.size();
    const auto parsed = real ? std::from_chars(digits.data(), end, node->real)
                             : std::from_chars(digits.data(), end, node->integer);
    if (parsed.ec != std::errc()) {
      return expression_error(text_, start, "'" + digits + "' does not fit 64 bits");
    }
    return NodePtr(std::move(node));
  }

  Result<NodePtr> parse_text() {
    const uint32_t start = column();
    const size_t end = text_.find('\'', at_ + 1);
    if (end == std::string_view::npos) return fail("text without a closing '");
    auto node = make(Op::Text, start);
    node->text = std::string(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return NodePtr(std::move(node));
  }

  Result<NodePtr> parse_name() {
    const uint32_t start = column();
    std::string name = take_name();
    skip_space();
    if (peek() == '(') return parse_call(name, start);
    auto node = make(Op::Name, start);
    node->text = std::move(name);
    return NodePtr(std::move(node));
  }

  /// Returns whether other languages use this name for a division that rounds up.
  static bool rounds_up(std::string_view name) {
    constexpr std::string_view kNames[] = {"ceil", "ceildiv", "ceil_div", "divup", "div_up"};
    return std::ranges::find(kNames, name) != std::end(kNames);
  }

  Result<NodePtr> parse_call(const std::string& name, uint32_t start) {
    const ExpressionFunction* function = nullptr;
    std::vector<std::string> known;
    for (const ExpressionFunction& row : kExpressionFunctions) {
      if (name == row.name) function = &row;
      known.emplace_back(row.name);
    }
    if (function == nullptr) {
      return expression_error(
          text_, start,
          "unknown function '" + name +
              "', expected cdiv, max, min, numel, roundup, sizeof or stride" +
              (rounds_up(name) ? "; cdiv(a, b) is a / b rounded up" : did_you_mean(name, known)));
    }
    ++at_;  // The parenthesis.
    auto node = make(function->op, start);
    size_t arguments = 0;
    skip_space();
    if (peek() != ')') {
      do {
        if (arguments == 0 && (node->op == Op::Numel || node->op == Op::Stride)) {
          if (Status named = take_tensor(*node); !named) return named.error();
        } else {
          node->children.push_back(GPUEMU_TRY(parse_or()));
        }
        ++arguments;
      } while (take_comma());
    }
    skip_space();
    if (peek() != ')' && peek() != '\0') return fail(unexpected() + ", expected ',' or ')'");
    if (Status closed = expect(')'); !closed) return closed.error();
    if (arguments < function->arguments_min || arguments > function->arguments_max) {
      return expression_error(text_, start,
                              fmt::format("{} for {}, write {}", counted(arguments, "argument"),
                                          function->name, function->usage));
    }
    return NodePtr(std::move(node));
  }

  Status take_tensor(Node& node) {
    skip_space();
    if (!is_name_start(peek())) return fail(unexpected() + ", expected the name of a tensor");
    node.text = take_name();
    return ok_status();
  }

  std::string take_name() {
    const size_t first = at_;
    while (is_name(peek())) ++at_;
    return std::string(text_.substr(first, at_ - first));
  }

  bool take_comma() {
    uint32_t column = 0;
    return take(",", column);
  }

  template <size_t N>
  const BinaryOperator* take_one_of(const BinaryOperator (&rows)[N], uint32_t& column) {
    for (const BinaryOperator& row : rows) {
      if (take(row.spelling, column)) return &row;
    }
    return nullptr;
  }

  bool take(std::string_view spelling, uint32_t& column_taken) {
    skip_space();
    if (!text_.substr(at_).starts_with(spelling)) return false;
    column_taken = column();
    at_ += spelling.size();
    return true;
  }

  Status expect(char c) {
    skip_space();
    if (peek() != c) return fail(unexpected() + ", expected '" + c + "'");
    ++at_;
    return ok_status();
  }

  void skip_space() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++at_;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  uint32_t column() const { return static_cast<uint32_t>(at_ + 1); }

  /// What to write for a word where an operator belongs; "" where that is not known.
  std::string meant_by_word() const {
    size_t end = at_;
    while (end < text_.size() && is_name(text_[end])) ++end;
    const std::string_view word = text_.substr(at_, end - at_);
    if (word == "and") return "unexpected 'and'; it is written '&&'";
    if (word == "or") return "unexpected 'or'; it is written '||'";
    constexpr std::string_view kUnits[] = {"KB", "kB", "K", "KiB", "kb", "MB", "MiB"};
    if (std::ranges::find(kUnits, word) == std::end(kUnits)) return "";
    return fmt::format("unexpected '{}'; sizes have no unit, bytes are written 48 * 1024", word);
  }

  std::string unexpected() const {
    if (at_ >= text_.size()) return "it ends too early";
    const char c = text_[at_];
    if (c == '*' && at_ > 0 && text_[at_ - 1] == '*') {
      return "unexpected '*'; a power is written n * n";
    }
    if (c == '^') return "unexpected '^'; a power is written n * n";
    if (c == '=') return "unexpected '='; equality is '=='";
    if (c == '&' || c == '|') return std::string("unexpected '") + c + "'; logic is '&&' and '||'";
    if (c == '.' && at_ > 0 && is_name(text_[at_ - 1])) {
      return "unexpected '.'; names are those of dims and attrs, blockDim and the like are not "
             "known";
    }
    if (c == '.') return "unexpected '.'; a number starts with a digit";
    if (c == '[') return "unexpected '['; a list stands outside of the quotes";
    if (c == '/' && at_ > 0 && text_[at_ - 1] == '/') {
      return "unexpected '/'; a / b drops the fraction";
    }
    if (c == '"') return "unexpected '\"'; text stands in single quotes";
    if (c < ' ' || c > '~') return fmt::format("unexpected byte 0x{:02x}", static_cast<uint8_t>(c));
    return std::string("unexpected '") + c + "'";
  }

  Error fail(const std::string& message) const {
    return expression_error(text_, column(), message);
  }

  static std::unique_ptr<Node> make(Op op, uint32_t column) {
    auto node = std::make_unique<Node>();
    node->op = op;
    node->column = column;
    return node;
  }

  static NodePtr binary(Op op, uint32_t column, NodePtr left, NodePtr right) {
    auto node = make(op, column);
    node->children.push_back(std::move(left));
    node->children.push_back(std::move(right));
    return node;
  }

  std::string_view text_;
  size_t at_ = 0;
  uint32_t depth_ = 0;
  uint32_t operands_ = 0;
};

}  // namespace

Error expression_error(std::string_view text, uint32_t column, const std::string& message) {
  return error(ErrorCode::InvalidArgument, "expression '{}', column {}: {}", text.substr(0, 200),
               column, message);
}

uint32_t expression_error_column(std::string_view message) {
  // The expression may contain any text, so search for the mark after its closing quote.
  constexpr std::string_view kMark = "', column ";
  const size_t at = message.rfind(kMark);
  uint32_t column = 1;
  if (at == std::string_view::npos) return column;
  const char* first = message.data() + at + kMark.size();
  std::from_chars(first, message.data() + message.size(), column);
  return column;
}

Result<std::unique_ptr<const Expression::Node>> parse_expression_tree(std::string_view text) {
  return Parser(text).parse_all();
}

}  // namespace gpuemu
