#include "runtime/ptx/cursor.h"

#include <bit>
#include <charconv>
#include <limits>

namespace gpuemu::ptx {
namespace {

std::optional<uint64_t> digits(std::string_view text, int base) {
  uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (failure != std::errc{} || end != text.data() + text.size() || text.empty()) return {};
  return value;
}

std::optional<Number> hex_float(std::string_view text) {
  const bool narrow = text[1] == 'f' || text[1] == 'F';
  if (text.size() != (narrow ? 10u : 18u)) return {};
  const auto bits = digits(text.substr(2), 16);
  if (!bits) return {};
  return Number{*bits, narrow ? 32u : 64u, false};
}

std::optional<Number> decimal_float(std::string_view text) {
  double value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size()) return {};
  return Number{std::bit_cast<uint64_t>(value), 64, false};
}

constexpr size_t kShownMax = 60;

}  // namespace

std::optional<Number> number_from(std::string_view text) {
  const char kind = text.size() > 2 && text[0] == '0' ? text[1] : '\0';
  if (kind == 'f' || kind == 'F' || kind == 'd' || kind == 'D') return hex_float(text);
  const bool hex = kind == 'x' || kind == 'X';
  if (!hex && text.find_first_of(".eE") != std::string_view::npos) return decimal_float(text);
  const bool suffix = text.back() == 'U' || text.back() == 'u';
  if (suffix) text.remove_suffix(1);
  std::optional<uint64_t> value;
  if (hex) {
    value = digits(text.substr(2), 16);
  } else if (kind == 'b' || kind == 'B') {
    value = digits(text.substr(2), 2);
  } else {
    value = digits(text, text.size() > 1 && text[0] == '0' ? 8 : 10);
  }
  if (!value) return {};
  return Number{*value, 0, suffix || *value >> 63 != 0};
}

bool Cursor::accept(char punct) {
  if (!is(punct)) return false;
  take();
  return true;
}

bool Cursor::accept_directive(std::string_view text) {
  if (!is_directive(text)) return false;
  take();
  return true;
}

Status Cursor::expect(char punct, std::string_view what) {
  if (accept(punct)) return {};
  return unexpected(fmt::format("'{}' {}", punct, what));
}

Result<std::string_view> Cursor::word(std::string_view what) {
  if (ahead_.kind != TokenKind::Word) return unexpected(what);
  return take().text;
}

Result<uint64_t> Cursor::integer(std::string_view what) {
  const bool negative = accept('-');
  if (!negative) accept('+');
  if (ahead_.kind != TokenKind::Number) return unexpected(what);
  const auto number = number_from(ahead_.text);
  if (!number || number->float_bits != 0) {
    return error_at(ahead_.where, "'{}' is not a 64-bit integer; expected {}", ahead_.text, what);
  }
  take();
  return negative ? uint64_t{0} - number->bits : number->bits;
}

Result<uint32_t> Cursor::integer_below(uint64_t limit, std::string_view what) {
  const Location where = ahead_.where;
  return below(GPUEMU_TRY(constant(what)), where, limit, what);
}

Result<uint32_t> Cursor::count_below(uint64_t limit, std::string_view what) {
  const Location where = ahead_.where;
  return below(GPUEMU_TRY(integer(what)), where, limit, what);
}

Result<uint32_t> Cursor::below(uint64_t value, Location where, uint64_t limit,
                               std::string_view what) {
  if (value < limit && value <= std::numeric_limits<uint32_t>::max()) {
    return static_cast<uint32_t>(value);
  }
  return error_at(where, "{} is out of range; expected {} below {}", value, what, limit);
}

Status Cursor::skip_braces(Location opened) {
  for (uint32_t depth = 1; depth > 0;) {
    const Token token = take();
    if (token.kind == TokenKind::End || token.kind == TokenKind::Bad) {
      return error_at(opened,
                      "this '{{' is never closed; expected '}}' before the end of the text");
    }
    if (token.kind != TokenKind::Punct) continue;
    if (token.punct == '{') ++depth;
    if (token.punct == '}') --depth;
  }
  return {};
}

Status Cursor::skip_parentheses() {
  const Location opened = ahead_.where;
  GPUEMU_TRY(expect('(', "here"));
  for (uint32_t depth = 1; depth > 0;) {
    const Token token = take();
    if (token.kind == TokenKind::End || token.kind == TokenKind::Bad) {
      return error_at(opened, "this '(' is never closed; expected ')' before the end of the text");
    }
    if (token.kind != TokenKind::Punct) continue;
    if (token.punct == '(') ++depth;
    if (token.punct == ')') --depth;
  }
  return {};
}

void Cursor::skip_line() {
  lexer_.skip_line();
  ahead_ = lexer_.next();
}

Error Cursor::unexpected(std::string_view expected) const {
  if (ahead_.kind == TokenKind::End) {
    return error_at(ahead_.where, "the text ends here; expected {}", expected);
  }
  if (ahead_.kind == TokenKind::Bad) {
    return error_at(ahead_.where, "{}; expected {}", ahead_.text, expected);
  }
  return error_at(ahead_.where, "unexpected '{}'; expected {}", ahead_.text.substr(0, kShownMax),
                  expected);
}

Error Cursor::located(Location where, const std::string& what) const {
  return error(ErrorCode::Compile, "{}:{}:{}: {}", name_, where.line, where.column, what);
}

}  // namespace gpuemu::ptx
