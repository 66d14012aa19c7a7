#include "runtime/ptx/constant.h"

#include <array>
#include <bit>

#include "runtime/ptx/limits.h"

namespace gpuemu::ptx {
namespace {

struct Operator {
  std::string_view text;
  int binding;  ///< Higher binds tighter.
};
// Longer spellings come before their prefixes.
constexpr auto kOperators = std::to_array<Operator>({{"||", 1},
                                                     {"&&", 2},
                                                     {"==", 6},
                                                     {"!=", 6},
                                                     {"<=", 7},
                                                     {">=", 7},
                                                     {"<<", 8},
                                                     {">>", 8},
                                                     {"|", 3},
                                                     {"^", 4},
                                                     {"&", 5},
                                                     {"<", 7},
                                                     {">", 7},
                                                     {"+", 9},
                                                     {"-", 9},
                                                     {"*", 10},
                                                     {"/", 10},
                                                     {"%", 10}});
constexpr int kLoosest = 1;

bool stands_here(const Cursor& in, std::string_view spelling) {
  // Names may begin with '%', so a single one is lexed as a name.
  if (spelling == "%") return in.peek().kind == TokenKind::Word && in.peek().text == "%";
  return in.is(spelling[0]) && (spelling.size() == 1 || in.adjacent(spelling[1]));
}

int64_t as_signed(const Number& n) { return std::bit_cast<int64_t>(n.bits); }

bool less(const Number& a, const Number& b, bool is_unsigned) {
  return is_unsigned ? a.bits < b.bits : as_signed(a) < as_signed(b);
}

uint64_t quotient(const Number& a, const Number& b, bool is_unsigned, bool remainder) {
  if (is_unsigned) return remainder ? a.bits % b.bits : a.bits / b.bits;
  // INT64_MIN / -1 does not fit and wraps, like every other operation here.
  if (as_signed(b) == -1) return remainder ? 0 : uint64_t{0} - a.bits;
  return std::bit_cast<uint64_t>(remainder ? as_signed(a) % as_signed(b)
                                           : as_signed(a) / as_signed(b));
}

uint64_t shifted(const Number& a, const Number& by, bool left) {
  const uint64_t amount = by.bits;
  if (left) return amount > 63 ? 0 : a.bits << amount;
  if (a.is_unsigned) return amount > 63 ? 0 : a.bits >> amount;
  return std::bit_cast<uint64_t>(as_signed(a) >> std::min<uint64_t>(amount, 63));
}

uint64_t applied(std::string_view op, const Number& a, const Number& b, bool is_unsigned) {
  if (op == "+") return a.bits + b.bits;
  if (op == "-") return a.bits - b.bits;
  if (op == "*") return a.bits * b.bits;
  if (op == "/" || op == "%") return quotient(a, b, is_unsigned, op == "%");
  if (op == "<<" || op == ">>") return shifted(a, b, op == "<<");
  if (op == "&") return a.bits & b.bits;
  if (op == "|") return a.bits | b.bits;
  if (op == "^") return a.bits ^ b.bits;
  if (op == "&&") return a.bits != 0 && b.bits != 0 ? 1 : 0;
  if (op == "||") return a.bits != 0 || b.bits != 0 ? 1 : 0;
  if (op == "==") return a.bits == b.bits ? 1 : 0;
  if (op == "!=") return a.bits != b.bits ? 1 : 0;
  if (op == "<") return less(a, b, is_unsigned) ? 1 : 0;
  if (op == ">") return less(b, a, is_unsigned) ? 1 : 0;
  if (op == "<=") return less(b, a, is_unsigned) ? 0 : 1;
  return less(a, b, is_unsigned) ? 0 : 1;
}

class Evaluator {
 public:
  Evaluator(Cursor& in, std::string_view what) : in_(in), what_(what) {}

  Result<Number> conditional(uint32_t depth) {
    const Number condition = GPUEMU_TRY(binary(kLoosest, depth));
    if (condition.float_bits != 0 || !in_.accept('?')) return condition;
    const Number yes = GPUEMU_TRY(conditional(depth + 1));
    GPUEMU_TRY(in_.expect(':', "between the values of '?'"));
    const Number no = GPUEMU_TRY(conditional(depth + 1));
    Number made = condition.bits != 0 ? yes : no;
    made.is_unsigned = yes.is_unsigned || no.is_unsigned;
    return made;
  }

 private:
  const Operator* ahead() const {
    for (const Operator& one : kOperators) {
      if (stands_here(in_, one.text)) return &one;
    }
    return nullptr;
  }

  Result<Number> binary(int loosest, uint32_t depth) {
    Number left = GPUEMU_TRY(unary(depth));
    while (left.float_bits == 0) {
      const Operator* op = ahead();
      if (op == nullptr || op->binding < loosest) break;
      const Location where = in_.take().where;
      if (op->text.size() == 2) in_.take();
      const Number right = GPUEMU_TRY(binary(op->binding + 1, depth + 1));
      if (right.float_bits != 0) {
        return in_.error_at(where, "'{}' of a float; expected integers in a constant expression",
                            op->text);
      }
      if (right.bits == 0 && (op->text == "/" || op->text == "%")) {
        return in_.error_at(where, "division by zero in a constant expression");
      }
      const bool is_unsigned = left.is_unsigned || right.is_unsigned;
      left.bits = applied(op->text, left, right, is_unsigned);
      // A comparison is .s64; a shift has the type of its left operand.
      if (op->binding == 6 || op->binding == 7 || op->binding <= 2) {
        left.is_unsigned = false;
      } else if (op->binding != 8) {
        left.is_unsigned = is_unsigned;
      }
    }
    return left;
  }

  Result<Number> unary(uint32_t depth) {
    if (depth > kExpressionDepthMax) {
      return in_.error_at(in_.peek().where, "a constant expression nests deeper than {}, the limit",
                          kExpressionDepthMax);
    }
    if (in_.accept('+')) return unary(depth + 1);
    if (in_.accept('-')) return negated(depth);
    const bool inverts = in_.is('~');
    if (inverts || in_.is('!')) {
      const Location where = in_.take().where;
      Number value = GPUEMU_TRY(unary(depth + 1));
      if (value.float_bits != 0) return in_.error_at(where, "'~' or '!' before a float");
      value.bits = inverts ? ~value.bits : value.bits == 0 ? 1 : 0;
      return value;
    }
    return primary(depth);
  }

  Result<Number> negated(uint32_t depth) {
    Number value = GPUEMU_TRY(unary(depth + 1));
    if (value.float_bits != 0) {
      value.bits ^= uint64_t{1} << (value.float_bits - 1);
    } else {
      value.bits = uint64_t{0} - value.bits;
    }
    return value;
  }

  Result<Number> primary(uint32_t depth) {
    if (in_.accept('(')) {
      if (in_.is_directive(".s64") || in_.is_directive(".u64")) {
        const bool to_unsigned = in_.take().text == ".u64";
        GPUEMU_TRY(in_.expect(')', "after the type of a cast"));
        Number value = GPUEMU_TRY(unary(depth + 1));
        value.is_unsigned = to_unsigned;
        return value;
      }
      const Number value = GPUEMU_TRY(conditional(depth + 1));
      GPUEMU_TRY(in_.expect(')', "after a constant expression"));
      return value;
    }
    const Token token = in_.peek();
    if (token.kind == TokenKind::Word && token.text == "WARP_SZ") {
      in_.take();
      return Number{32, 0, false};
    }
    if (token.kind != TokenKind::Number) return in_.unexpected(what_);
    const auto number = number_from(token.text);
    if (!number) {
      return in_.error_at(token.where, "'{}' is not a 64-bit number; expected {}", token.text,
                          what_);
    }
    in_.take();
    return *number;
  }

  Cursor& in_;
  std::string_view what_;
};

}  // namespace

bool starts_constant(const Cursor& in) {
  const Token& token = in.peek();
  if (token.kind == TokenKind::Number) return true;
  if (token.kind == TokenKind::Word) return token.text == "WARP_SZ";
  return in.is('-') || in.is('+') || in.is('~') || in.is('(');
}

Result<Number> parse_constant(Cursor& in, std::string_view what) {
  return Evaluator(in, what).conditional(0);
}

Result<uint64_t> Cursor::constant(std::string_view what) {
  const Location where = ahead_.where;
  const Number value = GPUEMU_TRY(parse_constant(*this, what));
  if (value.float_bits == 0) return value.bits;
  return error_at(where, "a float; expected {}", what);
}

}  // namespace gpuemu::ptx
