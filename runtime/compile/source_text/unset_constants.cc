#include "runtime/compile/source_text/unset_constants.h"

#include <cctype>
#include <vector>

#include "runtime/ptx/variables.h"

namespace gpuemu {
namespace {

bool is_name_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Blanks comments and the contents of quotes.
std::string without_comments(const std::string& text) {
  std::string out = text;
  const auto blank = [&](size_t from, size_t to) {
    for (size_t i = from; i < std::min(to, out.size()); ++i) out[i] = ' ';
  };
  for (size_t at = 0; at < text.size(); ++at) {
    size_t end = at;
    if (text.compare(at, 2, "//") == 0) {
      end = std::min(text.find('\n', at), text.size());
    } else if (text.compare(at, 2, "/*") == 0) {
      const size_t close = text.find("*/", at + 2);
      end = close == std::string::npos ? text.size() : close + 2;
    } else if (text[at] == '"') {
      end = at + 1;
      while (end < text.size() && text[end] != '"' && text[end] != '\n') {
        end += text[end] == '\\' ? 2 : 1;
      }
      ++end;
    }
    if (end == at) continue;
    blank(at, end);
    at = end - 1;
  }
  return out;
}

/// Removes "alignas(16)" and "__align__(16)".
std::string without_alignment(std::string text) {
  for (const std::string_view word : {"alignas", "__align__"}) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at)) {
      const size_t close = text.find(')', at);
      text.erase(at, close == std::string::npos ? std::string::npos : close + 1 - at);
    }
  }
  return text;
}

/// Returns "w" for " float w[4][2]"; "" if it is not a declarator.
std::string declared_name(std::string_view declarator) {
  size_t end = std::min(declarator.find('['), declarator.size());
  while (end > 0 && !is_name_letter(declarator[end - 1])) --end;
  size_t start = end;
  while (start > 0 && is_name_letter(declarator[start - 1])) --start;
  return std::string(declarator.substr(start, end - start));
}

/// Returns the names of __constant__ variables declared without an initialiser.
std::vector<std::string> names_without_initialiser(const std::string& source) {
  constexpr std::string_view kWord = "__constant__";
  const std::string text = without_comments(source);
  std::vector<std::string> names;
  for (size_t at = text.find(kWord); at != std::string::npos; at = text.find(kWord, at)) {
    at += kWord.size();
    const size_t end = text.find(';', at);
    if (end == std::string::npos) break;
    const std::string declared = without_alignment(text.substr(at, end - at));
    if (declared.find_first_of("={(\\#<") != std::string::npos) continue;
    for (size_t from = 0; from <= declared.size();) {
      const size_t comma = std::min(declared.find(',', from), declared.size());
      names.push_back(declared_name(std::string_view(declared).substr(from, comma - from)));
      from = comma + 1;
    }
  }
  return names;
}

}  // namespace

std::set<std::string> unset_constants(const ptx::Module& module, const std::string& source) {
  std::set<std::string> unset;
  for (const std::string& name : names_without_initialiser(source)) {
    if (name.empty()) continue;
    const auto variable = ptx::find_variable(module, name);
    if (!variable) continue;
    const ptx::Variable& found = **variable;
    if (found.space != ptx::Space::Const || !found.init.empty() || !found.relocations.empty()) {
      continue;
    }
    unset.insert(found.name);
  }
  return unset;
}

}  // namespace gpuemu
