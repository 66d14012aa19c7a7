#include "cli/cuda_text/source_scan.h"

#include <algorithm>
#include <cctype>
#include <cstddef>

#include <re2/re2.h>

#include "cli/cuda_text/cpp_text.h"

namespace gpuemu::cli {
namespace {

constexpr std::string_view kGlobal = "__global__";

SourceParam param_of(const std::string& text) {
  SourceParam param;
  std::string declared = text.substr(0, text.find('='));
  param.pointer =
      declared.find('*') != std::string::npos || declared.find('[') != std::string::npos;
  if (const size_t dims = declared.find('['); dims != std::string::npos) declared.resize(dims);
  // In "float* const p" only the pointer is const; what it points to may be written.
  param.is_const = find_word(declared.substr(0, declared.find('*')), "const") != std::string::npos;
  std::vector<std::string> words = qualified_names(declared);
  std::erase_if(words, [](const std::string& word) {
    return word == "const" || word == "__restrict__" || word == "__restrict" ||
           word == "volatile" || word == "struct" || word == "__grid_constant__";
  });
  if (words.size() > 1) {
    param.name = words.back();
    words.pop_back();
  }
  for (const std::string& word : words) param.type += (param.type.empty() ? "" : " ") + word;
  return param;
}

/// Returns the type as which the body reads the pointer: "float" for "(const float*)p" and
/// "reinterpret_cast<float*>(p)"; "" if the body does not cast it.
std::string cast_type(const std::string& body, const std::string& pointer) {
  const RE2 cast(R"((?:_cast\s*<|\()\s*(?:const\s+)?([\w:]+(?:\s+[\w:]+)*?)(?:\s+const)?\s*\*)"
                 R"(\s*(?:const\s*)?(?:__restrict__\s*)?(?:>\s*\(|\))\s*)" +
                 RE2::QuoteMeta(pointer) + R"(\b)");
  std::string type;
  return !pointer.empty() && RE2::PartialMatch(body, cast, &type) ? type : "";
}

/// Returns the parenthesis of the parameters: the first whose preceding word is no attribute.
size_t find_params(const std::string& text, size_t from, std::string& name) {
  for (size_t open = text.find('(', from); open != std::string::npos;) {
    size_t end = open;
    while (end > from && std::isspace(static_cast<unsigned char>(text[end - 1])) != 0) --end;
    size_t begin = end;
    while (begin > from && is_word(text[begin - 1])) --begin;
    name = text.substr(begin, end - begin);
    if (name != "__launch_bounds__" && name != "__cluster_dims__" && name != "__attribute__") {
      return name.empty() ? std::string::npos : open;
    }
    const size_t behind = behind_bracket(text, open);
    if (behind == std::string::npos) break;
    open = text.find('(', behind);
  }
  return std::string::npos;
}

}  // namespace

std::vector<SourceKernel> scan_kernels(std::string_view source) {
  const std::string text = without_comments(source);
  std::vector<SourceKernel> kernels;
  Scopes scopes(text);
  for (size_t at = text.find(kGlobal); at != std::string::npos; at = text.find(kGlobal, at + 1)) {
    SourceKernel kernel;
    const size_t open = find_params(text, at + kGlobal.size(), kernel.name);
    if (open == std::string::npos) continue;
    kernel.attributes = text.substr(at + kGlobal.size(), open - at - kGlobal.size());
    const size_t behind = behind_bracket(text, open);
    if (behind == std::string::npos) continue;
    const size_t next = text.find_first_not_of(" \t\r\n", behind);
    if (next == std::string::npos || text[next] != '{') continue;
    const size_t end = behind_bracket(text, next);
    kernel.body = text.substr(next, end == std::string::npos ? end : end - next);
    for (const std::string& param :
         split_list(std::string_view(text).substr(open + 1, behind - open - 2))) {
      if (param != "void") kernel.params.push_back(param_of(param));
    }
    for (SourceParam& param : kernel.params) {
      if (!param.pointer || param.type != "void") continue;
      const std::string type = cast_type(kernel.body, param.name);
      if (!type.empty()) param.type = type;
    }
    kernel.template_params = template_before(text, at);
    kernel.scope = scopes.at(at);
    kernel.line = 1 + static_cast<uint32_t>(std::count(
                          text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace gpuemu::cli
