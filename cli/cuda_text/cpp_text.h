// Pieces of C++ text: enough to find declarations, brackets and lists without a compiler.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuemu::cli {

/// Letters, digits and the underscore.
bool is_word(char letter);
/// Without white space at both ends.
std::string trimmed(std::string_view text);
/// Comments and the insides of literals become blanks; line breaks stay, so that lines can be
/// counted.
std::string without_comments(std::string_view text);
/// Behind the bracket that closes the one at `open`; npos when none does.
size_t behind_bracket(std::string_view text, size_t open);
/// The parts between commas that stand in no bracket.
std::vector<std::string> split_list(std::string_view list);
/// Names with their "::", in order.
std::vector<std::string> qualified_names(std::string_view text);
/// What stands in "template <...>" right in front of `at`, by parameter.
std::vector<std::string> template_before(std::string_view text, size_t at);
/// The name that a declaration gives: "n" of "const int n = 4", "op" of "float (*op)(float)"; ""
/// where it gives none.
std::string declared_name(std::string_view declaration);
/// Where the whole word `word` stands at or behind `from`; npos when nowhere.
size_t find_word(std::string_view text, std::string_view word, size_t from = 0);

/// Follows the namespaces of a text from its beginning on.
class Scopes {
 public:
  explicit Scopes(std::string_view text) : text_(text) {}
  /// Returns the named namespaces around `at`: "outer::inner::". REQUIRES: calls go forward, each
  /// `at` behind the last.
  std::string at(size_t at);

 private:
  std::string_view text_;
  size_t next_ = 0;
  std::vector<std::string> open_;
};

}  // namespace gpuemu::cli
