// Functions on C++ text: enough to find declarations, brackets and lists without a compiler.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuemu::cli {

/// Returns whether it is a letter, a digit or an underscore.
bool is_word(char letter);
/// Removes white space at both ends.
std::string trimmed(std::string_view text);
/// Replaces comments and the contents of literals by blanks; line breaks stay, so that lines can be
/// counted.
std::string without_comments(std::string_view text);
/// Returns the position after the bracket that closes the one at `open`; npos if none does.
size_t behind_bracket(std::string_view text, size_t open);
/// Splits the list at commas that are not inside brackets.
std::vector<std::string> split_list(std::string_view list);
/// Returns the names with their "::", in order.
std::vector<std::string> qualified_names(std::string_view text);
/// Returns the parameters of the "template <...>" that directly precedes `at`.
std::vector<std::string> template_before(std::string_view text, size_t at);
/// Returns the name that a declaration introduces: "n" of "const int n = 4", "op" of "float
/// (*op)(float)"; "" if there is none.
std::string declared_name(std::string_view declaration);
/// Returns the position of the whole word `word` at or after `from`; npos if there is none.
size_t find_word(std::string_view text, std::string_view word, size_t from = 0);
/// An element access `name[text]`.
struct Subscript {
  std::string text;
  size_t behind = 0;  ///< The position after the closing bracket.
};
/// Returns the element accesses of the variable, in order.
std::vector<Subscript> subscripts_of(std::string_view text, std::string_view name);

/// Tracks the namespaces of a text from its beginning.
class Scopes {
 public:
  explicit Scopes(std::string_view text) : text_(text) {}
  /// Returns the named namespaces around `at`: "outer::inner::". REQUIRES: each `at` is greater
  /// than the previous one.
  std::string at(size_t at);

 private:
  std::string_view text_;
  size_t next_ = 0;
  std::vector<std::string> open_;
};

}  // namespace gpuemu::cli
