#include "cli/cuda_text/members.h"

#include <re2/re2.h>

#include "cli/cuda_text/cpp_text.h"

namespace gpuemu::cli {
namespace {

using Replacements = std::vector<std::pair<std::string, std::string>>;

std::string with_words(std::string text, const Replacements& words) {
  for (const auto& [from, to] : words) {
    for (size_t at = find_word(text, from); at != text.npos;
         at = find_word(text, from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }
  return text;
}

/// Adds the static constants of a class as constants of `name`, with its template parameters
/// replaced.
void add_constants(std::string_view body, const std::string& name, const Replacements& params,
                   Definitions& found) {
  static const RE2 kMember(
      R"((?:static\s+constexpr|constexpr\s+static|static\s+const)\s+(?:const\s+)?)"
      R"((?:unsigned\s+|long\s+)*[\w:]+\s+(\w+)\s*=\s*([^;{}]+);)");
  Replacements words = params;
  re2::StringPiece rest(body.data(), body.size());
  std::string member, value;
  while (RE2::FindAndConsume(&rest, kMember, &member, &value)) {
    const std::string full = name + "::" + member;
    found.constants.emplace(full, trimmed(with_words(value, words)));
    words.emplace_back(member, full);  // Later members may use this one.
  }
}

/// Handles aliases of template instances: "typedef Packed128<floatX> x128;".
void add_instances(std::string_view text, std::string_view body, const std::string& name,
                   const std::vector<std::string>& params, Definitions& found) {
  for (size_t at = find_word(text, name); at != text.npos; at = find_word(text, name, at + 1)) {
    const size_t open = at + name.size();
    if (open >= text.size() || text[open] != '<') continue;
    const size_t behind = behind_bracket(text, open);
    if (behind == text.npos) continue;
    const size_t begin = text.find_last_of(";{}", at);
    const std::string before =
        trimmed(text.substr(begin == text.npos ? 0 : begin + 1, at - begin - 1));
    std::string alias;
    const re2::StringPiece after(text.data() + behind, text.size() - behind);
    const bool is_using = RE2::FullMatch(before, R"((?s).*\busing\s+(\w+)\s*=)", &alias);
    const bool is_typedef = !is_using && RE2::FullMatch(before, R"((?s).*\btypedef)") &&
                            RE2::PartialMatch(after, R"(^\s*(\w+)\s*;)", &alias);
    if (!is_using && !is_typedef) continue;
    const std::vector<std::string> args = split_list(text.substr(open + 1, behind - open - 2));
    Replacements words;
    for (size_t i = 0; i < args.size() && i < params.size(); ++i) {
      words.emplace_back(declared_name(params[i]), args[i]);
    }
    add_constants(body, alias, words, found);
  }
}

}  // namespace

void scan_member_constants(std::string_view text, Definitions& found) {
  static const RE2 kClass(
      R"(\b(?:struct|class)\s+(?:(?:alignas|__align__)\s*\([^)]*\)\s*)?(\w+)\s*)"
      R"((?:final\s*)?(?::[^{};()]*)?\{)");
  re2::StringPiece rest(text.data(), text.size());
  std::string name;
  while (RE2::FindAndConsume(&rest, kClass, &name)) {
    const size_t open = text.size() - rest.size() - 1;
    const size_t behind = behind_bracket(text, open);
    if (behind == text.npos) continue;
    const std::string_view body = text.substr(open + 1, behind - open - 2);
    if (body.find("static") == body.npos) continue;
    const std::vector<std::string> params = template_before(text, text.rfind(name, open));
    if (params.empty()) {
      add_constants(body, name, {}, found);
    } else {
      add_instances(text, body, name, params, found);
    }
  }
}

void scan_functions(std::string_view text, Definitions& found) {
  static const RE2 kTypedef(R"(typedef\s+[\w:\s*&]+\(\s*\*\s*(\w+)\s*\)\s*\(([^;]*)\)\s*;)");
  static const RE2 kUsing(R"(using\s+(\w+)\s*=\s*[\w:\s&*]+\(\s*\*\s*\)\s*\(([^;]*)\)\s*;)");
  std::string name, list;
  for (const RE2* form : {&kTypedef, &kUsing}) {
    re2::StringPiece rest(text.data(), text.size());
    while (RE2::FindAndConsume(&rest, *form, &name, &list)) {
      found.function_types[name] = split_list(list).size();
    }
  }
  Scopes scopes(text);
  constexpr std::string_view kDevice = "__device__";
  for (size_t at = text.find(kDevice); at != text.npos; at = text.find(kDevice, at + 1)) {
    const size_t end = text.find_first_of(";{=", at);
    const size_t open = text.find('(', at);
    if (end == text.npos || text[end] != '{' || open > end) continue;
    const size_t behind = behind_bracket(text, open);
    if (behind == text.npos) continue;
    const std::vector<std::string> words = qualified_names(text.substr(at, open - at));
    const size_t params = split_list(text.substr(open + 1, behind - open - 2)).size();
    found.functions.push_back(
        {scopes.at(at) + words.back(), params, !template_before(text, at).empty()});
  }
}

}  // namespace gpuemu::cli
