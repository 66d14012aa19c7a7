// Parses text to the nodes of an expression.
#include <cctype>
#include <charconv>
#include <set>

#include "ops/registered/expression.h"

namespace gpuemu {

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, const OpKind& op, const AttributeSchema& schema)
      : text_(text), op_(op), schema_(schema) {}

  Result<Expression> parse() {
    constexpr size_t kTextBytesMax = 1000;
    if (text_.size() > kTextBytesMax) {
      return error(ErrorCode::InvalidArgument, "an expression of {} bytes, expected at most {}",
                   text_.size(), kTextBytesMax);
    }
    made_.text_ = text_;
    GPUEMU_TRY(alternatives());
    skip();
    if (at_ < text_.size()) return wrong("expected an operator or the end");
    return std::move(made_);
  }

 private:
  using Kind = Expression::Kind;
  using Node = Expression::Node;
  struct Operator {
    std::string_view text;
    Kind kind;
  };
  static constexpr int kDepthMax = 40;

  Error wrong(const std::string& what) const {
    return error(ErrorCode::InvalidArgument, "\"{}\", column {}: {}", text_, at_ + 1, what);
  }
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  static bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  bool take(std::string_view wanted) {
    skip();
    if (!text_.substr(at_).starts_with(wanted)) return false;
    const size_t end = at_ + wanted.size();
    // "order" is not "or".
    if (is_letter(wanted.back()) && end < text_.size() && is_letter(text_[end])) return false;
    at_ = end;
    return true;
  }
  std::string_view word() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  uint32_t add(Node node) {
    made_.nodes_.push_back(std::move(node));
    return static_cast<uint32_t>(made_.nodes_.size() - 1);
  }
  uint32_t add(Kind kind, uint32_t left, uint32_t right = 0) {
    return add(Node{.kind = kind, .left = left, .right = right});
  }

  /// Parses operands of one precedence, from left to right.
  template <typename Part>
  Result<uint32_t> chain(std::initializer_list<Operator> operators, Part part) {
    uint32_t left = GPUEMU_TRY((this->*part)());
    while (true) {
      const Operator* found = nullptr;
      for (const Operator& one : operators) {
        if (found == nullptr && take(one.text)) found = &one;
      }
      if (found == nullptr) return left;
      const uint32_t right = GPUEMU_TRY((this->*part)());
      left = add(found->kind, left, right);
    }
  }
  Result<uint32_t> alternatives() {
    if (++depth_ > kDepthMax) return wrong(fmt::format("deeper than {} levels", kDepthMax));
    const auto made = chain({{"or", Kind::Or}}, &ExpressionParser::conjunction);
    --depth_;
    return made;
  }
  Result<uint32_t> conjunction() {
    return chain({{"and", Kind::And}}, &ExpressionParser::negation);
  }
  Result<uint32_t> negation() {
    size_t count = 0;
    while (take("not")) ++count;
    uint32_t made = GPUEMU_TRY(comparison());
    for (; count > 0; --count) made = add(Kind::Not, made);
    return made;
  }
  Result<uint32_t> comparison() {
    static constexpr Operator kComparisons[] = {{"<=", Kind::LessEqual}, {">=", Kind::GreaterEqual},
                                                {"==", Kind::Equal},     {"!=", Kind::Unequal},
                                                {"<", Kind::Less},       {">", Kind::Greater}};
    uint32_t left = GPUEMU_TRY(sum());
    for (const Operator& one : kComparisons) {
      if (!take(one.text)) continue;
      const uint32_t right = GPUEMU_TRY(sum());
      left = add(one.kind, left, right);
      break;
    }
    for (const Operator& one : kComparisons) {
      if (take(one.text)) return wrong("one comparison at a time: join them with 'and'");
    }
    return left;
  }
  Result<uint32_t> sum() {
    return chain({{"+", Kind::Add}, {"-", Kind::Subtract}}, &ExpressionParser::product);
  }
  Result<uint32_t> product() {
    const uint32_t made =
        GPUEMU_TRY(chain({{"*", Kind::Multiply}, {"//", Kind::Divide}, {"%", Kind::Remainder}},
                         &ExpressionParser::signed_atom));
    if (take("/")) return wrong("'/' does not exist here: '//' divides whole numbers");
    return made;
  }
  Result<uint32_t> signed_atom() {
    size_t count = 0;
    while (take("-")) ++count;
    uint32_t made = GPUEMU_TRY(atom());
    for (; count > 0; --count) made = add(Kind::Negative, made);
    return made;
  }

  Result<uint32_t> atom() {
    skip();
    if (at_ == text_.size()) return wrong("expected a number, an operand or an attribute");
    if (take("(")) {
      const uint32_t made = GPUEMU_TRY(alternatives());
      if (!take(")")) return wrong("expected ')'");
      return made;
    }
    if (std::isdigit(static_cast<unsigned char>(text_[at_])) || text_[at_] == '.') return literal();
    const size_t begin = at_;
    const std::string_view name = word();
    if (name.empty()) return wrong("expected a number, an operand or an attribute");
    if (at_ < text_.size() && text_[at_] == '.') return member(name, begin);
    for (const Operator& one : {Operator{"min", Kind::Min}, Operator{"max", Kind::Max},
                                Operator{"cdiv", Kind::DivideUp}}) {
      if (name == one.text && take("(")) return call(one.kind);
    }
    for (const AttributeField& field : schema_.fields) {
      if (field.name == name) {
        return add(Node{.kind = Kind::Attribute, .name = field.name, .type = field.type});
      }
    }
    if (name == "sm") return add(Node{.kind = Kind::Sm});
    at_ = begin;
    return wrong(fmt::format("'{}' is unknown; there are: {}", name, names()));
  }

  Result<uint32_t> literal() {
    const char* const begin = text_.data() + at_;
    const char* const end = text_.data() + text_.size();
    Node whole, real{.kind = Kind::Real};
    const auto as_whole = std::from_chars(begin, end, whole.whole);
    const auto as_real = std::from_chars(begin, end, real.real);
    if (as_real.ec != std::errc() || (as_real.ptr == as_whole.ptr && as_whole.ec != std::errc())) {
      return wrong("expected a number that fits 64 bits");
    }
    const bool is_real = as_whole.ec != std::errc() || as_real.ptr != as_whole.ptr;
    at_ = static_cast<size_t>(as_real.ptr - text_.data());
    return add(is_real ? real : whole);
  }

  Result<uint32_t> call(Kind kind) {
    uint32_t made = GPUEMU_TRY(alternatives());
    size_t count = 1;
    for (; take(","); ++count) {
      const uint32_t next = GPUEMU_TRY(alternatives());
      made = add(kind, made, next);
    }
    if (!take(")")) return wrong("expected ')'");
    if (count < 2 || (kind == Kind::DivideUp && count > 2)) {
      return wrong(
          fmt::format("{} values, expected {}", count, kind == Kind::DivideUp ? "2" : "2 or more"));
    }
    return made;
  }

  Result<uint32_t> member(std::string_view operand, size_t begin) {
    const auto index = operand_of(operand);
    if (!index) {
      at_ = begin;
      return wrong(fmt::format("'{}' is not an operand; there are: {}", operand, names()));
    }
    ++at_;
    const std::string_view what = word();
    static constexpr Operator kMembers[] = {{"count", Kind::Count},
                                            {"rank", Kind::Rank},
                                            {"bytes", Kind::Bytes},
                                            {"shape", Kind::Shape},
                                            {"strides", Kind::Stride}};
    for (const Operator& one : kMembers) {
      if (one.text != what) continue;
      Node node{.kind = one.kind, .left = *index};
      if (one.kind != Kind::Shape && one.kind != Kind::Stride) return add(node);
      if (!take("[")) return wrong("expected '[' and an axis");
      node.whole = GPUEMU_TRY(axis());
      return add(node);
    }
    return wrong(fmt::format(
        "'{}.{}' is unknown, expected count, rank, bytes, shape[i] or strides[i]", operand, what));
  }

  Result<int64_t> axis() {
    skip();
    int64_t axis = 0;
    const auto read = std::from_chars(text_.data() + at_, text_.data() + text_.size(), axis);
    if (read.ec != std::errc()) return wrong("expected the number of an axis");
    at_ = static_cast<size_t>(read.ptr - text_.data());
    if (!take("]")) return wrong("expected ']'");
    return axis;
  }

  std::optional<uint32_t> operand_of(std::string_view name) const {
    uint32_t index = 0;
    for (const auto* list : {&op_.inputs, &op_.outputs}) {
      for (const OperandSpec& one : *list) {
        if (one.name == name) return index;
        ++index;
      }
    }
    return std::nullopt;
  }
  std::string names() const {
    std::set<std::string> names = {"sm"};
    for (const auto* list : {&op_.inputs, &op_.outputs}) {
      for (const OperandSpec& one : *list) names.insert(one.name + ".count");
    }
    for (const AttributeField& field : schema_.fields) names.insert(field.name);
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  const std::string_view text_;
  const OpKind& op_;
  const AttributeSchema& schema_;
  size_t at_ = 0;
  int depth_ = 0;
  Expression made_;
};

Result<Expression> Expression::parse(std::string_view text, const OpKind& op,
                                     const AttributeSchema& schema) {
  return ExpressionParser(text, op, schema).parse();
}

}  // namespace gpuemu
