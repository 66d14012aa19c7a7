#include "cli/cuda_text/definitions.h"

#include <algorithm>
#include <set>

#include <re2/re2.h>

#include "cli/cuda_text/cpp_text.h"
#include "cli/cuda_text/members.h"

namespace gpuemu::cli {
namespace {

// Limits chains of aliases, and so ends cycles.
constexpr int kAliasDepthMax = 16;

/// Returns whether "#if WORDS" is true; conditions that cannot be evaluated count as true.
bool condition_holds(const std::string& directive, const std::string& rest,
                     const std::set<std::string>& defined) {
  static const RE2 kDefined(R"(^\s*(!)?\s*defined\s*\(?\s*(\w+)\s*\)?\s*$)");
  if (directive == "ifdef") return defined.contains(trimmed(rest));
  if (directive == "ifndef") return !defined.contains(trimmed(rest));
  std::string inverted, name;
  if (RE2::FullMatch(rest, kDefined, &inverted, &name)) {
    return defined.contains(name) == inverted.empty();
  }
  return trimmed(rest) != "0";
}

struct Branch {
  bool active = true, taken = false, outer = true;
};

/// Handles one directive; returns whether the text after it is active.
void follow(const std::string& directive, const std::string& rest, std::vector<Branch>& stack,
            std::set<std::string>& defined) {
  const bool active = stack.empty() || stack.back().active;
  if (directive == "if" || directive == "ifdef" || directive == "ifndef") {
    const bool holds = active && condition_holds(directive, rest, defined);
    stack.push_back({holds, holds, active});
  } else if (directive == "elif" && !stack.empty()) {
    Branch& branch = stack.back();
    branch.active = branch.outer && !branch.taken && condition_holds("if", rest, defined);
    branch.taken = branch.taken || branch.active;
  } else if (directive == "else" && !stack.empty()) {
    Branch& branch = stack.back();
    branch.active = branch.outer && !branch.taken;
    branch.taken = true;
  } else if (directive == "endif" && !stack.empty()) {
    stack.pop_back();
  } else if (directive == "define" && active) {
    const std::vector<std::string> words = qualified_names(rest);
    if (!words.empty()) defined.insert(words.front());
  } else if (directive == "undef" && active) {
    defined.erase(trimmed(rest));
  }
}

void scan_macros(std::string_view text, Definitions& found) {
  static const RE2 kObject(R"((?m)^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)$)");
  static const RE2 kFunction(R"((?m)^[ \t]*#[ \t]*define[ \t]+(\w+)\(([^)\n]*)\)[ \t]*([^\n]+)$)");
  std::string name, params, body;
  re2::StringPiece rest(text.data(), text.size());
  while (RE2::FindAndConsume(&rest, kObject, &name, &body)) found.constants[name] = trimmed(body);
  rest = re2::StringPiece(text.data(), text.size());
  while (RE2::FindAndConsume(&rest, kFunction, &name, &params, &body)) {
    found.macros[name] = {split_list(params), trimmed(body)};
  }
}

void scan_aliases(std::string_view text, Definitions& found) {
  static const RE2 kTypedef(
      R"(typedef\s+((?:unsigned\s+|signed\s+|long\s+|const\s+)*[\w:]+)\s+(\w+)\s*;)");
  static const RE2 kUsing(R"(using\s+(\w+)\s*=\s*((?:unsigned\s+|signed\s+|long\s+)*[\w:]+)\s*;)");
  std::string from, to;
  re2::StringPiece rest(text.data(), text.size());
  while (RE2::FindAndConsume(&rest, kTypedef, &from, &to)) found.aliases[to] = from;
  rest = re2::StringPiece(text.data(), text.size());
  while (RE2::FindAndConsume(&rest, kUsing, &to, &from)) found.aliases[to] = from;
}

/// Removes the bodies of functions.
std::string without_bodies(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t open = std::min(text.find('{', at), text.size());
    out += text.substr(at, open - at);
    if (open == text.size()) break;
    const size_t before = out.find_last_not_of(" \t\r\n");
    const size_t behind = behind_bracket(text, open);
    if (before != std::string::npos && out[before] == ')' && behind != text.npos) {
      out += ";";
      at = behind;
    } else {
      out += '{';
      at = open + 1;
    }
  }
  return out;
}

/// Adds the constexpr and const numbers of the file, outside functions, which may use the same
/// names.
void scan_constants(std::string_view whole, Definitions& found) {
  const std::string text = without_bodies(whole);
  static const RE2 kConstant(
      R"((?:constexpr|const)\s+(?:static\s+|inline\s+)?(?:unsigned\s+|signed\s+|long\s+)*)"
      R"(\w+\s+(\w+)\s*=\s*([^;,{}]+)[;,])");
  std::string name, value;
  re2::StringPiece rest(text.data(), text.size());
  while (RE2::FindAndConsume(&rest, kConstant, &name, &value)) {
    found.constants.emplace(name, trimmed(value));
  }
}

void scan_enums(std::string_view text, Definitions& found) {
  static const RE2 kEnum(R"(enum\s+(class\s+|struct\s+)?(\w+)\s*(?::\s*\w+\s*)?\{([^}]*)\})");
  std::string scoped, name, list;
  re2::StringPiece rest(text.data(), text.size());
  while (RE2::FindAndConsume(&rest, kEnum, &scoped, &name, &list)) {
    for (const std::string& one : split_list(list)) {
      const std::string value = trimmed(one.substr(0, one.find('=')));
      found.enums[name].push_back(scoped.empty() ? value : name + "::" + value);
    }
  }
}

std::vector<StructMember> members_of(std::string_view body) {
  std::vector<StructMember> members;
  for (size_t begin = 0; begin < body.size();) {
    size_t end = body.find(';', begin);
    if (end == body.npos) break;
    const std::vector<std::string> declared = split_list(body.substr(begin, end - begin));
    std::string type;
    for (const std::string& one : declared) {
      StructMember member;
      std::string text = one;
      if (const size_t open = text.find('['); open != std::string::npos) {
        const size_t close = text.find(']', open);
        member.count = trimmed(text.substr(open + 1, close - open - 1));
        text.resize(open);
      }
      member.pointer = text.find('*') != std::string::npos;
      std::vector<std::string> words = qualified_names(text);
      std::erase(words, "const");
      if (words.empty()) continue;
      member.name = words.back();
      words.pop_back();
      if (!words.empty()) {
        type.clear();
        for (const std::string& word : words) type += (type.empty() ? "" : " ") + word;
      }
      member.type = type;
      members.push_back(std::move(member));
    }
    begin = end + 1;
  }
  return members;
}

void scan_structs(std::string_view text, Definitions& found) {
  for (size_t at = find_word(text, "struct"); at != text.npos;
       at = find_word(text, "struct", at + 1)) {
    const size_t open = text.find_first_of("{;()", at);
    if (open == text.npos || text[open] != '{') continue;
    const size_t behind = behind_bracket(text, open);
    if (behind == text.npos) continue;
    const std::string_view body = text.substr(open + 1, behind - open - 2);
    // Methods and nested structures exceed what a launch can pass.
    if (body.find_first_of("({") != body.npos) continue;
    std::vector<std::string> names = qualified_names(text.substr(at + 6, open - at - 6));
    const size_t end = text.find(';', behind);
    if (end != text.npos) {
      for (const std::string& name : qualified_names(text.substr(behind, end - behind))) {
        names.push_back(name);
      }
    }
    for (const std::string& name : names) found.structs[name] = members_of(body);
  }
}

void scan_variables(std::string_view text, Definitions& found) {
  static const RE2 kVariable(
      R"((?m)^\s*(?:static\s+|extern\s+)?(__constant__|__device__)\s+(?:static\s+)?)"
      R"(((?:unsigned\s+|const\s+|long\s+)*[\w:]+)\s+(\w+)\s*((?:\[[^\]]*\])*)\s*([;={]))");
  std::string space, type, name, counts, end;
  re2::StringPiece rest(text.data(), text.size());
  while (RE2::FindAndConsume(&rest, kVariable, &space, &type, &name, &counts, &end)) {
    std::string count;
    for (const char letter : counts) {
      if (letter == '[') count += count.empty() ? "" : " * ";
      if (letter != '[' && letter != ']') count += letter;
    }
    found.variables.push_back({type, name, count, space == "__constant__", end != ";"});
  }
}

}  // namespace

std::string Definitions::plain_type(const std::string& name) const {
  std::string type = name;
  for (int depth = 0; depth < kAliasDepthMax; ++depth) {
    const auto found = aliases.find(type);
    if (found != aliases.end()) {
      type = found->second;
      continue;
    }
    // A macro such as "#define real float" names a type as well.
    const auto macro = constants.find(type);
    if (macro == constants.end() || macro->second.find_first_of("0123456789(\"") == 0) break;
    type = macro->second;
  }
  return type;
}

std::string active_text(std::string_view text) {
  static const RE2 kDirective(R"(^\s*#\s*(if|ifdef|ifndef|elif|else|endif|define|undef)\b(.*)$)");
  std::string out;
  std::vector<Branch> stack;
  std::set<std::string> defined;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line(text.substr(begin, end - begin));
    std::string directive, rest;
    const bool is_directive = RE2::FullMatch(line, kDirective, &directive, &rest);
    if (is_directive) follow(directive, rest, stack, defined);
    const bool kept =
        (stack.empty() || stack.back().active) && (!is_directive || directive == "define");
    out += kept ? line : std::string();
    out += '\n';
    begin = end + 1;
  }
  return out;
}

Definitions scan_definitions(std::string_view text) {
  Definitions found;
  scan_macros(text, found);
  scan_aliases(text, found);
  scan_constants(text, found);
  scan_enums(text, found);
  scan_structs(text, found);
  scan_variables(text, found);
  scan_member_constants(text, found);
  scan_functions(text, found);
  return found;
}

}  // namespace gpuemu::cli
