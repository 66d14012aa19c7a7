#include "cli/cuda_text/host_checks.h"

#include <algorithm>

#include <re2/re2.h>

#include "cli/cuda_text/cpp_text.h"

namespace gpuemu::cli {
namespace {

// A name, a member or a call such as "x.size(0)", divided by a number or a name.
const std::string kRemainder = R"(\(?\s*([A-Za-z_][\w.:]*(?:\(\d*\))?)\s*%\s*(\w+)\s*\)?)";

/// Adds every remainder of `condition` that `kind`, a pattern with two groups, matches.
void add_remainders(std::string_view condition, const RE2& kind, std::vector<MultipleCheck>& out) {
  re2::StringPiece rest(condition.data(), condition.size());
  MultipleCheck one;
  while (RE2::FindAndConsume(&rest, kind, &one.number, &one.divisor)) out.push_back(one);
}

/// Returns whether the statement at the beginning of `text` leaves the function.
bool leaves(std::string_view text) {
  static const RE2 kLeaves(R"(\b(return|throw|exit|abort|terminate|goto)\b)");
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return false;
  const size_t behind = text[begin] == '{' ? behind_bracket(text, begin) : text.find(';', begin);
  const std::string_view statement = text.substr(begin, std::min(behind, text.size()) - begin);
  return RE2::PartialMatch(re2::StringPiece(statement.data(), statement.size()), kLeaves);
}

}  // namespace

std::vector<MultipleCheck> scan_multiple_checks(std::string_view text) {
  static const RE2 kCheck(R"(\b(if|\w*(?:assert|ASSERT|CHECK|REQUIRE|ENFORCE)\w*)\s*(\())");
  static const RE2 kIsMultiple(kRemainder + R"(\s*==\s*0\b)");
  static const RE2 kIsNone(kRemainder + R"(\s*(?:!=\s*0\b|>\s*0\b|\|\||\)|$))");
  std::vector<MultipleCheck> found;
  re2::StringPiece rest(text.data(), text.size()), open;
  std::string name;
  while (RE2::FindAndConsume(&rest, kCheck, &name, &open)) {
    const auto at = static_cast<size_t>(open.data() - text.data());
    const size_t behind = behind_bracket(text, at);
    if (behind == text.npos) break;
    const std::string_view condition = text.substr(at + 1, behind - at - 2);
    const auto has = [&](const char* what) { return condition.find(what) != condition.npos; };
    if (name == "if") {
      if (!has("&&") && leaves(text.substr(behind))) add_remainders(condition, kIsNone, found);
    } else if (!has("||")) {
      add_remainders(condition, kIsMultiple, found);
    }
  }
  return found;
}

}  // namespace gpuemu::cli
