#include "cli/cuda_text/host_checks.h"

#include <algorithm>

#include <re2/re2.h>

#include "cli/cuda_text/cpp_text.h"

namespace gpuemu::cli {
namespace {

// A name, a member or a call such as "x.size(0)", divided by a number or a name.
const std::string kRemainder = R"(\(?\s*([A-Za-z_][\w.:]*(?:\(\d*\))?)\s*%\s*(\w+)\s*\)?\s*)";

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

/// Returns the text without the parentheses around all of it.
std::string without_parentheses(std::string_view written) {
  std::string text = trimmed(written);
  while (text.starts_with("(") && behind_bracket(text, 0) == text.size()) {
    text = trimmed(std::string_view(text).substr(1, text.size() - 2));
  }
  return text;
}

/// Returns the operands of `sign` at the outermost level of a condition: "f(a && b)" says nothing
/// about b.
std::vector<std::string> operands_of(std::string_view condition, std::string_view sign) {
  const std::string text = without_parentheses(condition);
  std::vector<std::string> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '(' || text[at] == '[' || text[at] == '{') ++depth;
    if (text[at] == ')' || text[at] == ']' || text[at] == '}') --depth;
    if (depth > 0 || text.compare(at, sign.size(), sign) != 0) continue;
    parts.push_back(without_parentheses(std::string_view(text).substr(begin, at - begin)));
    begin = at + sign.size();
    at = begin - 1;
  }
  parts.push_back(without_parentheses(std::string_view(text).substr(begin)));
  return parts;
}

/// Returns the first argument of an assertion: a message may follow.
std::string first_argument(std::string_view list) {
  return operands_of("(" + std::string(list) + ")", ",").front();
}

/// Replaces each preprocessor directive by blanks, and those of conditions by braces: what stands
/// between #if and #endif holds as little behind them as what stands in a block.
std::string with_plain_directives(std::string_view text) {
  std::string out(text);
  for (size_t at = 0; at < out.size();) {
    size_t end = std::min(out.find('\n', at), out.size());
    const size_t begin = std::min(out.find_first_not_of(" \t", at), end);
    if (begin < end && out[begin] == '#') {
      while (end < out.size() && out[end - 1] == '\\') {
        end = std::min(out.find('\n', end + 1), out.size());
      }
      const size_t word = std::min(out.find_first_not_of(" \t", begin + 1), end);
      const bool opens = out.compare(word, 2, "if") == 0, closes = out.compare(word, 3, "end") == 0;
      const bool changes = out.compare(word, 2, "el") == 0;
      for (size_t i = begin; i < end; ++i) {
        if (out[i] != '\n') out[i] = ' ';
      }
      if (closes || changes) out[begin] = '}';
      if (opens || changes) out[begin + 1] = '{';
    }
    at = end + 1;
  }
  return out;
}

/// Returns whether what stands at `at` is a statement on its own, which no "if" or "else" before it
/// may skip.
bool is_statement(std::string_view text, size_t at) {
  const size_t before = at == 0 ? text.npos : text.find_last_not_of(" \t\r\n", at - 1);
  return before == text.npos || text[before] == ';' || text[before] == '{' || text[before] == '}';
}

/// Returns whether the end of the text is reached only past `at`: the block around it is open to
/// the end, and no label of a switch follows in it.
bool holds_to_end(std::string_view text, size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth < 0) return false;
    if (depth > 0 || (text[at] != 'c' && text[at] != 'd')) continue;
    for (const std::string_view label : {"case", "default"}) {
      if (text.substr(at).starts_with(label) && find_word(text, label, at) == at) return false;
    }
  }
  return true;
}

/// Returns whether the text gives the variable at the beginning of `number` another value.
bool changes(std::string_view text, const std::string& number) {
  const std::string name = number.substr(
      0, static_cast<size_t>(std::ranges::find_if_not(number, is_word) - number.begin()));
  const std::string change = R"(\b)" + name +
                             R"(\s*(?:[-+*/%|&^]|<<|>>)?=(?:[^=]|$)|(?:\+\+|--)\s*)" + name +
                             R"(\b|\b)" + name + R"(\s*(?:\+\+|--))";
  return RE2::PartialMatch(piece(text), change);
}

/// Returns the last statement of a block, without the sign at its end.
std::string_view last_statement(std::string_view block) {
  size_t from = 0, to = 0;
  int depth = 0;
  for (size_t at = 0; at < block.size(); ++at) {
    if (block[at] == '{' || block[at] == '(') ++depth;
    if (block[at] == '}' || block[at] == ')') --depth;
    if (depth > 0 || (block[at] != ';' && block[at] != '}')) continue;
    // The braces of a value: "return {};".
    const size_t next = block.find_first_not_of(" \t\r\n", at + 1);
    if (block[at] == '}' && next != block.npos && block[next] == ';') continue;
    from = to;
    to = at + 1;
  }
  const bool is_complete = to > 0 && block.find_first_not_of(" \t\r\n", to) == block.npos;
  return is_complete ? block.substr(from, to - 1 - from) : std::string_view();
}

/// Returns whether the statement at the beginning of `text` leaves the function in every case: the
/// last statement of its block does.
bool leaves(std::string_view text) {
  static const RE2 kLeaves(
      R"((?s)\s*(?:(?:return|throw)\b|)"
      R"((?:std\s*::\s*|::\s*)?(?:_?exit|quick_exit|abort|terminate)\s*\().*)");
  static const RE2 kGoto(R"(\s*goto\s+(\w+)\s*)");
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return false;
  const bool is_block = text[begin] == '{';
  const size_t behind = is_block ? behind_bracket(text, begin) : text.find(';', begin);
  if (behind == text.npos) return false;
  std::string_view last = text.substr(begin, behind - begin);
  if (is_block) last = last_statement(text.substr(begin + 1, behind - begin - 2));
  std::string label;
  if (RE2::FullMatch(piece(last), kGoto, &label)) {
    // The launch may stand at the label.
    return !RE2::PartialMatch(piece(text), R"(\b)" + label + R"(\s*:)");
  }
  return RE2::FullMatch(piece(last), kLeaves);
}

}  // namespace

std::vector<MultipleCheck> scan_multiple_checks(std::string_view written) {
  static const RE2 kCheck(R"(\b(if|\w*(?:assert|ASSERT|CHECK|REQUIRE|ENFORCE)\w*)\s*(\())");
  static const RE2 kOpposite(R"((?i).*(?:false|not|_ne|warn|fail).*)");
  static const RE2 kIsMultiple(kRemainder + R"(==\s*0\s*)");
  static const RE2 kIsNone(kRemainder + R"((?:(?:!=|>)\s*0\s*)?)");
  const std::string text = with_plain_directives(written);
  std::vector<MultipleCheck> found;
  re2::StringPiece rest(text), open;
  std::string name;
  while (RE2::FindAndConsume(&rest, kCheck, &name, &open)) {
    const auto at = static_cast<size_t>(open.data() - text.data());
    const size_t behind = behind_bracket(text, at);
    if (behind == text.npos) break;
    const std::string_view inside = std::string_view(text).substr(at + 1, behind - at - 2);
    const std::string_view after = std::string_view(text).substr(behind);
    const bool is_if = name == "if";
    if (!is_statement(text, text.rfind(name, at)) || !holds_to_end(text, at)) continue;
    if (is_if ? !leaves(after) : RE2::FullMatch(name, kOpposite)) continue;
    const std::string condition = is_if ? std::string(inside) : first_argument(inside);
    if (condition.find('?') != condition.npos) continue;
    if (!is_if && operands_of(condition, "||").size() > 1) continue;
    for (const std::string& operand : operands_of(condition, is_if ? "||" : "&&")) {
      MultipleCheck one;
      const bool is_known =
          RE2::FullMatch(operand, is_if ? kIsNone : kIsMultiple, &one.number, &one.divisor);
      if (is_known && !changes(after, one.number)) found.push_back(one);
    }
  }
  return found;
}

}  // namespace gpuemu::cli
