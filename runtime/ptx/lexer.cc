#include "runtime/ptx/lexer.h"

namespace gpuemu::ptx {
namespace {

constexpr std::array<bool, 256> make_word_chars() {
  std::array<bool, 256> table{};
  for (int c = '0'; c <= '9'; ++c) table[static_cast<size_t>(c)] = true;
  for (int c = 'a'; c <= 'z'; ++c) table[static_cast<size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) table[static_cast<size_t>(c)] = true;
  table['_'] = table['$'] = table['%'] = true;
  return table;
}
constexpr std::array<bool, 256> kWordChars = make_word_chars();

bool is_word(char c) { return kWordChars[static_cast<unsigned char>(c)]; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool Lexer::skip_blank() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == '\n') {
      ++line_;
      line_start_ = ++position_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++position_;
    } else if (c == '#' || (c == '/' && at(position_ + 1) == '/')) {
      const size_t begin = position_;
      skip_line();
      note_frame(text_.substr(begin, position_ - begin));
    } else if (c == '/' && at(position_ + 1) == '*') {
      const size_t end = text_.find("*/", position_ + 2);
      if (end == std::string_view::npos) return false;
      for (; position_ < end + 2; ++position_) {
        if (text_[position_] != '\n') continue;
        ++line_;
        line_start_ = position_ + 1;
      }
    } else {
      return true;
    }
  }
  return true;
}

void Lexer::note_frame(std::string_view comment) {
  if (comment.starts_with("// begin inline asm")) inline_asm_ = true;
  if (comment.starts_with("// end inline asm")) inline_asm_ = false;
}

void Lexer::skip_line() {
  const size_t end = text_.find('\n', position_);
  position_ = end == std::string_view::npos ? text_.size() : end;
}

size_t Lexer::word_end(size_t position, bool dots) const {
  for (;;) {
    while (is_word(at(position))) ++position;
    if (dots && at(position) == '.' && is_word(at(position + 1))) {
      ++position;
    } else if (at(position) == ':' && at(position + 1) == ':' && is_word(at(position + 2))) {
      position += 2;
    } else {
      return position;
    }
  }
}

size_t Lexer::number_end(size_t position) const {
  const char second = at(position + 1);
  const bool decimal = at(position) != '0' || is_digit(second) || second == '.';
  for (;; ++position) {
    const char c = at(position);
    const char after = at(position + 1);
    if (decimal && (c == 'e' || c == 'E') && (after == '+' || after == '-')) {
      ++position;
    } else if ((!is_word(c) || c == '%') && !(decimal && c == '.' && is_digit(after))) {
      return position;
    }
  }
}

Token Lexer::token(TokenKind kind, size_t begin, size_t end) {
  Token made{kind, 0, text_.substr(begin, end - begin), {line_, 0}, inline_asm_};
  made.where.column = static_cast<uint32_t>(begin - line_start_ + 1);
  position_ = end;
  return made;
}

Token Lexer::string_token() {
  size_t end = position_ + 1;
  while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') {
    end += text_[end] == '\\' ? 2 : 1;
  }
  Token made = token(TokenKind::String, position_, position_ + 1);
  if (end >= text_.size() || text_[end] != '"') {
    made.kind = TokenKind::Bad;
    made.text = "a string that does not end on its line";
    position_ = text_.size();
    return made;
  }
  made.text = text_.substr(position_, end - position_);
  position_ = end + 1;
  return made;
}

bool Lexer::blank_then(char punct) {
  return skip_blank() && at(position_) == punct && at(position_ + 1) != punct;
}

Token Lexer::next() {
  if (!skip_blank()) {
    Token bad = token(TokenKind::Bad, position_, text_.size());
    bad.text = "a comment that does not end";
    return bad;
  }
  if (position_ >= text_.size()) return token(TokenKind::End, position_, position_);
  const char c = text_[position_];
  if (is_digit(c)) return token(TokenKind::Number, position_, number_end(position_));
  if (is_word(c)) return token(TokenKind::Word, position_, word_end(position_, true));
  if (c == '.' && is_word(at(position_ + 1))) {
    return token(TokenKind::Directive, position_, word_end(position_ + 1, false));
  }
  if (c == '"') return string_token();
  Token made = token(TokenKind::Punct, position_, position_ + 1);
  made.punct = c;
  if (c < ' ' || c > '~') {
    made.kind = TokenKind::Bad;
    made.text = "a character that no PTX text has outside comments and strings";
  }
  return made;
}

}  // namespace gpuemu::ptx
