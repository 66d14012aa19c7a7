// A lexer with one token of look-ahead, and errors that name file, line and column.
#pragma once

#include <string>
#include <utility>

#include <fmt/core.h>

#include "common/base/result.h"
#include "runtime/ptx/lexer.h"

namespace gpuemu::ptx {

class Cursor {
 public:
  Cursor(std::string_view text, std::string name)
      : lexer_(text), name_(std::move(name)), ahead_(lexer_.next()) {}

  const Token& peek() const { return ahead_; }
  Token take() { return std::exchange(ahead_, lexer_.next()); }
  bool is(char punct) const { return ahead_.punct == punct && ahead_.kind == TokenKind::Punct; }
  bool is_directive(std::string_view text) const {
    return ahead_.kind == TokenKind::Directive && ahead_.text == text;
  }
  /// Returns whether the token after peek() is this character; examines only the next characters.
  bool next_is(char punct) { return lexer_.blank_then(punct); }
  /// Returns whether this character follows peek() without a blank: "<<" is two tokens.
  bool adjacent(char punct) const { return lexer_.adjacent(punct); }
  bool accept(char punct);
  bool accept_directive(std::string_view text);

  /// `what` completes the message, such as "after the operands".
  Status expect(char punct, std::string_view what);
  Result<std::string_view> word(std::string_view what);
  /// Parses an integer with an optional sign, in two's complement.
  Result<uint64_t> integer(std::string_view what);
  /// Parses an integer constant expression, in two's complement (constant.h).
  Result<uint64_t> constant(std::string_view what);
  Result<uint32_t> integer_below(uint64_t limit, std::string_view what);
  /// Parses a literal, as in angle brackets, where '>' is not an operator.
  Result<uint32_t> count_below(uint64_t limit, std::string_view what);

  /// Skips to the closing brace of an open one, or to the end of the text.
  Status skip_braces(Location opened);
  Status skip_parentheses();
  void skip_line();

  Error unexpected(std::string_view expected) const;
  template <typename... Args>
  Error error_at(Location where, fmt::format_string<Args...> text, Args&&... args) const {
    return located(where, fmt::format(text, std::forward<Args>(args)...));
  }
  Error located(Location where, const std::string& what) const;

 private:
  Result<uint32_t> below(uint64_t value, Location where, uint64_t limit, std::string_view what);

  Lexer lexer_;
  std::string name_;
  Token ahead_;
};

/// The value of a Number token: integer, or float pattern with its width.
struct Number {
  uint64_t bits = 0;
  uint32_t float_bits = 0;  ///< 0: an integer.
  bool is_unsigned = false;
};
std::optional<Number> number_from(std::string_view text);

}  // namespace gpuemu::ptx
