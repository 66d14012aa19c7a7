// Splits PTX text into tokens, one at a time and without copying: tokens are views into the input.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

enum class TokenKind : uint8_t {
  End,
  Word,       ///< Identifier with its dots: "ld.global.f32", "%tid.x", "$L__BB0_1".
  Directive,  ///< ".reg", ".shared::cta": one dot and one name.
  Number,     ///< Starts with a digit; no sign.
  String,     ///< Text between the quotes, with escapes as written.
  Punct,      ///< One character.
  Bad,        ///< `text` is the error.
};

struct Token {
  TokenKind kind = TokenKind::End;
  char punct = 0;
  std::string_view text;
  Location where;
  bool inline_asm = false;  ///< Between the comments that compilers put around inline PTX.
};

class Lexer {
 public:
  /// `text` must outlive the lexer and its tokens.
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next();
  /// Returns whether the next token is this character, and not two of it.
  bool blank_then(char punct);
  /// Returns whether this character directly follows the last token.
  bool adjacent(char c) const { return at(position_) == c; }
  /// Skips the rest of the line, for line-oriented text of old compilers.
  void skip_line();

 private:
  char at(size_t position) const { return position < text_.size() ? text_[position] : '\0'; }
  /// Returns false if a comment is not closed.
  bool skip_blank();
  void note_frame(std::string_view comment);
  size_t word_end(size_t position, bool dots) const;
  size_t number_end(size_t position) const;
  Token token(TokenKind kind, size_t begin, size_t end);
  Token string_token();

  std::string_view text_;
  size_t position_ = 0;
  size_t line_start_ = 0;
  uint32_t line_ = 1;
  bool inline_asm_ = false;
};

}  // namespace gpuemu::ptx
