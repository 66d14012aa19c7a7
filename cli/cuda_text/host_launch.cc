#include "cli/cuda_text/host_launch.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include <re2/re2.h>

#include "cli/cuda_text/cpp_text.h"

namespace gpuemu::cli {
namespace {

/// Returns whether the brace at `brace` opens a namespace, a class or 'extern "C"', which contain
/// functions.
bool contains_functions(std::string_view text, size_t brace) {
  static const RE2 kHead(R"re((?s)(?:^|\W)(?:namespace\b[\w\s:\[\]]*|extern\s*"[^"]*"\s*|)re"
                         R"re((?:struct|class|union)\b[^(){}=]*)$)re");
  size_t begin = brace == 0 ? text.npos : text.find_last_of(";{}", brace - 1);
  begin = begin == text.npos ? 0 : begin + 1;
  return RE2::PartialMatch(re2::StringPiece(text.data() + begin, brace - begin), kHead);
}

/// Returns the beginning of the function around `at`: the position after the last brace outside of
/// functions.
size_t function_begin(std::string_view text, size_t at) {
  size_t begin = 0;
  int depth = 0;  // The number of open braces of the function.
  for (size_t i = 0; i < at; ++i) {
    if (text[i] == '{') {
      if (depth == 0 && contains_functions(text, i)) {
        begin = i + 1;
      } else {
        ++depth;
      }
    }
    if (text[i] == '}') {
      depth = std::max(depth - 1, 0);
      if (depth == 0) begin = i + 1;
    }
  }
  return begin;
}

/// Rewrites "n < 65535 ? n : 65535", as limits of a grid are written, to "min(n, 65535)".
std::string with_limits(const std::string& text) {
  static const RE2 kChoice(R"((\w+)\s*<=?\s*(\w+)\s*\?\s*(\w+)\s*:\s*(\w+))");
  re2::StringPiece all[5];
  if (!kChoice.Match(text, 0, text.size(), RE2::UNANCHORED, all, 5)) return text;
  if (all[1] != all[3] || all[2] != all[4]) return text;
  const auto at = static_cast<size_t>(all[0].data() - text.data());
  return text.substr(0, at) + "min(" + std::string(all[1]) + ", " + std::string(all[2]) + ")" +
         text.substr(at + all[0].size());
}

/// Returns the sizes of a dim3: "dim3(a, b)", "dim3{a}", a name in `locals`, or one number.
std::vector<std::string> sizes_of(const std::string& text,
                                  const std::map<std::string, std::string>& locals, int depth = 0) {
  static const RE2 kDim3(R"((?s)^dim3\s*[({](.*)[)}]$)");
  std::string inside;
  if (RE2::FullMatch(text, kDim3, &inside)) return split_list(inside);
  const auto known = locals.find(text);
  if (known == locals.end() || depth > 8) return {text};
  const bool leads_on = known->second.starts_with("dim3") || locals.contains(known->second);
  return leads_on ? sizes_of(known->second, locals, depth + 1) : std::vector{text};
}

/// Reads the name before `at`, and its template arguments into `launch`.
bool read_callee(std::string_view text, size_t at, HostLaunch& launch) {
  const auto skip_back = [&] {
    while (at > 0 && std::string_view(" \t\r\n").find(text[at - 1]) != text.npos) --at;
  };
  skip_back();
  if (at > 0 && text[at - 1] == '>') {
    size_t open = at - 1;
    int depth = 0;
    for (;; --open) {
      if (text[open] == '>') ++depth;
      if (text[open] == '<' && --depth == 0) break;
      if (open == 0 || text[open] == ';') return false;
    }
    launch.template_args = split_list(text.substr(open + 1, at - open - 2));
    at = open;
    skip_back();
  }
  size_t begin = at;
  while (begin > 0 && is_word(text[begin - 1])) --begin;
  launch.kernel = std::string(text.substr(begin, at - begin));
  return !launch.kernel.empty();
}

/// A template of host code.
struct HostTemplate {
  std::string name;
  std::vector<std::string> params;  ///< The names of its parameters.
};

/// Returns the template in whose body `text` ends; nothing if that is no template.
std::optional<HostTemplate> open_template(std::string_view text) {
  const size_t found = text.rfind("template");
  if (found == text.npos) return std::nullopt;
  const size_t open =
      text.find_first_not_of(" \t\r\n", found + std::string_view("template").size());
  if (open == text.npos || text[open] != '<') return std::nullopt;
  const size_t behind = behind_bracket(text, open);
  const size_t list = behind == text.npos ? behind : text.find('(', behind);
  const size_t body = list == text.npos ? list : text.find('{', list);
  if (body == text.npos) return std::nullopt;
  int depth = 0;
  for (size_t at = body; at < text.size(); ++at) {
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) return std::nullopt;
  }
  HostTemplate made;
  const std::vector<std::string> words = qualified_names(text.substr(behind, list - behind));
  if (words.empty()) return std::nullopt;
  made.name = words.back();
  for (const std::string& param : split_list(text.substr(open + 1, behind - open - 2))) {
    made.params.push_back(declared_name(param));
  }
  return made;
}

/// Returns each list of arguments that the text gives the template, as in "run<64, true>(q)", once.
std::vector<std::vector<std::string>> arguments_of(const HostTemplate& of, std::string_view text) {
  std::vector<std::vector<std::string>> all;
  for (size_t at = find_word(text, of.name); at != text.npos;
       at = find_word(text, of.name, at + 1)) {
    const size_t open = text.find_first_not_of(" \t\r\n", at + of.name.size());
    if (open == text.npos || text[open] != '<') continue;
    const size_t behind = behind_bracket(text, open);
    if (behind == text.npos) continue;
    std::vector<std::string> list = split_list(text.substr(open + 1, behind - open - 2));
    if (list.size() > of.params.size()) continue;
    if (std::ranges::find(all, list) == all.end()) all.push_back(std::move(list));
  }
  return all;
}

/// Returns the launch once for each instance of the host template that contains it.
std::vector<HostLaunch> launches_of(const HostLaunch& launch, std::string_view function,
                                    std::string_view text) {
  const auto caller = open_template(function);
  std::vector<HostLaunch> all;
  if (caller) {
    for (const std::vector<std::string>& list : arguments_of(*caller, text)) {
      HostLaunch& made = all.emplace_back(launch);
      for (size_t i = 0; i < list.size(); ++i) {
        std::ranges::replace(made.template_args, caller->params[i], list[i]);
        made.locals.try_emplace(caller->params[i], list[i]);
      }
    }
  }
  return all.empty() ? std::vector{launch} : all;
}

}  // namespace

std::map<std::string, std::string> declared_values(std::string_view text) {
  static const RE2 kDeclared(
      R"((?:^|[;{}(\n])\s*(?:static\s+|const\s+|constexpr\s+)*)"
      R"((dim3|(?:unsigned|long|signed|int|size_t|auto|uint|[u]?int(?:32|64)_t))"
      R"((?:\s+(?:int|long))*))"
      R"(\s+(?:const\s+)?(\w+)\s*([=({]))");
  std::map<std::string, std::string> found;
  re2::StringPiece rest(text.data(), text.size());
  std::string type, name, mark;
  while (RE2::FindAndConsume(&rest, kDeclared, &type, &name, &mark)) {
    // Reads all declarators of the statement: "dim3 block(16, 16), grid(n / 16)".
    const size_t begin = text.rfind(name, text.size() - rest.size() - 1);
    const size_t end = std::min(text.find(';', begin), text.size());
    for (const std::string& one : split_list(text.substr(begin, end - begin))) {
      const size_t length =
          static_cast<size_t>(std::ranges::find_if_not(one, is_word) - one.begin());
      const std::string variable = one.substr(0, length);
      std::string value = trimmed(std::string_view(one).substr(length));
      if (value.starts_with("=")) value = trimmed(std::string_view(value).substr(1));
      if (type == "dim3" && !value.starts_with("dim3")) {
        const bool listed = value.starts_with("(") || value.starts_with("{");
        value = listed ? "dim3" + value : "dim3(" + value + ")";
      }
      if (!variable.empty() && !value.empty()) found[variable] = value;
    }
  }
  // Adds "block.x" for a dim3.
  const std::map<std::string, std::string> declared = found;
  for (const auto& [variable, value] : declared) {
    if (!value.starts_with("dim3")) continue;
    const std::vector<std::string> sizes = sizes_of(value, {});
    for (size_t axis = 0; axis < 3; ++axis) {
      found[variable + "." + "xyz"[axis]] = axis < sizes.size() ? sizes[axis] : "1";
    }
  }
  return found;
}

std::vector<HostLaunch> scan_launches(std::string_view text) {
  std::vector<HostLaunch> launches;
  for (size_t at = text.find("<<<"); at != text.npos; at = text.find("<<<", at + 3)) {
    HostLaunch launch;
    const size_t close = text.find(">>>", at);
    if (close == text.npos) break;
    if (!read_callee(text, at, launch)) continue;
    const size_t begin = function_begin(text, at);
    launch.locals = declared_values(text.substr(begin, at - begin));
    launch.fills = scan_fills(text.substr(begin, at - begin));
    launch.checks = scan_multiple_checks(text.substr(begin, at - begin));
    const std::vector<std::string> config = split_list(text.substr(at + 3, close - at - 3));
    if (config.size() < 2) continue;
    std::map<std::string, std::string> limited = launch.locals;
    for (auto& [name, value] : limited) value = with_limits(value);
    launch.grid = sizes_of(with_limits(config[0]), limited);
    launch.block = sizes_of(config[1], launch.locals);
    if (config.size() > 2) launch.shared = config[2];
    const size_t open = text.find_first_not_of(" \t\r\n", close + 3);
    if (open == text.npos || text[open] != '(') continue;
    const size_t behind = behind_bracket(text, open);
    if (behind == text.npos) continue;
    launch.args = split_list(text.substr(open + 1, behind - open - 2));
    launch.line = 1 + static_cast<uint32_t>(std::ranges::count(text.substr(0, at), '\n'));
    std::ranges::move(launches_of(launch, text.substr(begin, at - begin), text),
                      std::back_inserter(launches));
  }
  return launches;
}

}  // namespace gpuemu::cli
