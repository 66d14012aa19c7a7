// Demangles names, and finds entries in PTX and kernels in CUDA text without parsing either.
#include "runtime/compile/source_text/entry_names.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

#include <cxxabi.h>

#include "common/toml/nearest.h"

namespace gpuemu::compile {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

struct Spelling {
  std::string_view from, to;
};
/// Common spellings of types, and the demangler's.
constexpr Spelling kSpellings[] = {
    {"int8_t", "signed char"},
    {"uint8_t", "unsigned char"},
    {"int16_t", "short"},
    {"uint16_t", "unsigned short"},
    {"int32_t", "int"},
    {"uint32_t", "unsigned int"},
    {"unsigned", "unsigned int"},
    {"int64_t", "long"},
    {"uint64_t", "unsigned long"},
    {"half", "__half"},
    {"nv_bfloat16", "__nv_bfloat16"},
    {"size_t", "unsigned long"},
};

/// Returns a word without the suffix of an integer literal (256u, 4ul).
std::string word_of(std::string_view word) {
  if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) {
    while (word.size() > 1 &&
           std::string_view("uUlL").find(word.back()) != std::string_view::npos) {
      word.remove_suffix(1);
    }
  }
  return std::string(word);
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (is_word(text[i])) {
      while (end < text.size() && is_word(text[end])) ++end;
      out.push_back(word_of(text.substr(i, end - i)));
    } else if (!is_space(text[i])) {
      out.emplace_back(1, text[i]);
    }
    i = end;
  }
  return out;
}

/// Returns the position of the argument list of a demangled function, or the text's end.
size_t arguments_at(const std::string& text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>') --depth;
    if (text[i] != '(' || depth != 0) continue;
    if (text.compare(i, 21, "(anonymous namespace)") == 0) {
      i += 20;
      continue;
    }
    return i;
  }
  return text.size();
}

/// Removes the result type that the demangler puts before a template: "void scale<float>".
std::string without_result(const std::string& text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>') --depth;
    if (text.compare(i, 21, "(anonymous namespace)") == 0) i += 20;
    if (text[i] == ' ' && depth == 0) return text.substr(i + 1);
  }
  return text;
}

/// Removes the namespace that nvcc adds to static functions: "_INTERNAL_1f_k_cu_2e::relu" ->
/// "relu".
std::string without_internal(std::string text) {
  constexpr std::string_view kMark = "_INTERNAL_";
  for (size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at)) {
    size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    if (text.compare(end, 2, "::") != 0) break;
    text.erase(at, end + 2 - at);
  }
  return text;
}

/// Removes namespaces: "a::b<c::d>" -> "b<c::d>".
std::string base_of(const std::string& name) {
  const size_t colon = name.substr(0, name.find('<')).rfind("::");
  return colon == std::string::npos ? name : name.substr(colon + 2);
}

std::string template_of(const std::string& name) { return name.substr(0, name.find('<')); }

/// Matches by PTX name, else by plain name, else by plain name without namespaces.
std::vector<std::string> fitting_entries(const std::vector<std::string>& entries,
                                         const std::string& expression) {
  if (std::ranges::find(entries, expression) != entries.end()) return {expression};
  const std::string wanted = normalised(expression);
  std::vector<std::string> exact, by_base;
  for (const std::string& entry : entries) {
    const std::string name = plain_name(entry);
    if (name == wanted) exact.push_back(entry);
    if (base_of(name) == wanted) by_base.push_back(entry);
  }
  return exact.empty() ? by_base : exact;
}

// Few enough to read at a glance.
constexpr size_t kEntriesListedMax = 8;

/// Sorts names of the same template first, then those with the most similar spelling.
void keep_nearest(const std::string& wanted, std::vector<std::string>& names) {
  using Rank = std::pair<size_t, size_t>;
  std::vector<std::pair<Rank, std::string>> ranked;
  for (const std::string& name : names) {
    const std::string base = base_of(name);
    ranked.push_back({{edit_distance(template_of(base), template_of(base_of(wanted))),
                       edit_distance(base, base_of(wanted))},
                      name});
  }
  std::ranges::stable_sort(ranked, {}, [](const auto& one) { return one.first; });
  names.clear();
  for (size_t i = 0; i < kEntriesListedMax; ++i) names.push_back(ranked[i].second);
}

/// Returns the names after __global__ in a source, ignoring attributes such as
/// __launch_bounds__(128).
std::vector<std::string> kernels_of(std::string_view source) {
  std::vector<std::string> out;
  constexpr std::string_view kMark = "__global__";
  for (size_t at = source.find(kMark); at != std::string_view::npos;
       at = source.find(kMark, at + 1)) {
    const auto words = split_words(source.substr(at + kMark.size(), 400));
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i + 1] != "(" || !is_word(words[i].front())) continue;
      if (words[i] == "__launch_bounds__") continue;
      out.push_back(words[i]);
      break;
    }
  }
  return out;
}

/// Returns the enumerators of a source in the demangler's spelling: "Op::Add" -> "(Op)0". Omits
/// those whose value is an expression, and those after them.
std::map<std::string, std::string> enumerators_of(std::string_view source) {
  std::map<std::string, std::string> found;
  constexpr std::string_view kMark = "enum";
  for (size_t at = source.find(kMark); at != std::string_view::npos;
       at = source.find(kMark, at + 1)) {
    const size_t open = source.find('{', at), close = source.find('}', at);
    if (close == std::string_view::npos || open > close) continue;
    const auto head = split_words(source.substr(at, open - at));
    if (head.empty() || head[0] != kMark) continue;
    const bool scoped = head.size() > 1 && (head[1] == "class" || head[1] == "struct");
    const size_t name_at = scoped ? 2 : 1;
    if (head.size() <= name_at || !is_word(head[name_at].front())) continue;
    const std::string& type = head[name_at];
    const auto words = split_words(source.substr(open + 1, close - open - 1));
    long long value = 0;
    for (size_t i = 0; i < words.size(); ++i, ++value) {
      const std::string& name = words[i];
      if (i + 1 < words.size() && words[i + 1] == "=") {
        if (i + 2 >= words.size() ||
            words[i + 2].find_first_not_of("0123456789") != std::string::npos) {
          break;
        }
        value = std::atoll(words[i + 2].c_str());
        i += 2;
      }
      const std::string spelled = "(" + type + ")" + std::to_string(value);
      found[type + "::" + name] = spelled;
      if (!scoped) found[name] = spelled;
      if (++i < words.size() && words[i] != ",") break;
    }
  }
  return found;
}

/// Returns the expression with its enumerators in that spelling.
std::string with_enumerators(const std::string& expression, std::string_view source) {
  const size_t open = expression.find('<');
  if (open == std::string::npos) return expression;
  const auto known = enumerators_of(source);
  if (known.empty()) return expression;
  const auto words = split_words(std::string_view(expression).substr(open));
  std::string out = expression.substr(0, open);
  for (size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    size_t behind = i;
    while (behind + 3 < words.size() && words[behind + 1] == ":" && words[behind + 2] == ":") {
      word += "::" + words[behind + 3];
      behind += 3;
    }
    const auto enumerator = known.find(word);
    out += (is_word(word.front()) && !out.empty() && is_word(out.back()) ? " " : "") +
           (enumerator == known.end() ? word : enumerator->second);
    i = behind;
  }
  return out;
}

/// Returns the name as C++ writes it; "" for one that is not mangled.
std::string demangled(const std::string& entry) {
  if (!entry.starts_with("_Z")) return {};
  int failed = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(entry.c_str(), nullptr, nullptr, &failed), &std::free);
  return failed != 0 || text == nullptr ? "" : text.get();
}

}  // namespace

std::vector<std::string> ptx_entries(std::string_view ptx) {
  std::vector<std::string> out;
  constexpr std::string_view kMark = ".entry";
  for (size_t at = ptx.find(kMark); at != std::string_view::npos; at = ptx.find(kMark, at + 1)) {
    const size_t line = ptx.rfind('\n', at) + 1;  // npos + 1 is the text's start.
    if (ptx.substr(line, at - line).find("//") != std::string_view::npos) continue;
    size_t begin = at + kMark.size();
    if (begin >= ptx.size() || !is_space(ptx[begin])) continue;
    while (begin < ptx.size() && is_space(ptx[begin])) ++begin;
    size_t end = begin;
    while (end < ptx.size() && (is_word(ptx[end]) || ptx[end] == '%')) ++end;
    if (end > begin) out.emplace_back(ptx.substr(begin, end - begin));
  }
  return out;
}

std::string normalised(std::string_view expression) {
  std::vector<std::string> words = split_words(expression);
  std::string out;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    // Drop the & before a function passed as a template argument: it is redundant.
    if (word == "&" && i > 0 && (words[i - 1] == "<" || words[i - 1] == ",")) continue;
    const bool plain_unsigned =
        word == "unsigned" && (i + 1 == words.size() || !is_word(words[i + 1][0]));
    const auto found = std::ranges::find(kSpellings, word, &Spelling::from);
    if (found != std::end(kSpellings) && (word != "unsigned" || plain_unsigned)) word = found->to;
    if (!out.empty() && is_word(out.back()) && is_word(word.front())) out += ' ';
    out += word;
  }
  return out.starts_with("::") ? out.substr(2) : out;
}

std::vector<std::string> parameter_types(const std::string& entry) {
  const std::string text = demangled(entry);
  const size_t open = arguments_at(text);
  std::vector<std::string> types;
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    const char letter = text[i];
    const bool ends = (letter == ',' && depth == 1) || (letter == ')' && depth == 1);
    if (letter == '(' || letter == '<') ++depth;
    if (letter == ')' || letter == '>') --depth;
    if (i == open || (ends && letter == ',')) {
      types.emplace_back();
    } else if (ends) {
      break;
    } else if (letter != ' ' || !types.back().empty()) {
      types.back() += letter;
    }
  }
  if (types.size() == 1 && types.front().empty()) types.clear();
  return types;
}

std::string plain_name(const std::string& entry) {
  const std::string text = demangled(entry);
  if (text.empty()) return entry;
  return normalised(without_internal(without_result(text.substr(0, arguments_at(text)))));
}

std::string describe_entries(std::string_view ptx, std::string_view source,
                             const std::string& wanted) {
  std::vector<std::string> names;
  for (const std::string& entry : ptx_entries(ptx)) names.push_back(plain_name(entry));
  const size_t compiled = names.size();
  for (const std::string& kernel : kernels_of(source)) {
    const auto is_it = [&](const std::string& name) {
      return base_of(name).substr(0, base_of(name).find('<')) == kernel;
    };
    if (std::none_of(names.begin(), names.begin() + static_cast<ptrdiff_t>(compiled), is_it)) {
      names.push_back(kernel + "<...>");
    }
  }
  const size_t all = names.size();
  if (all > kEntriesListedMax) keep_nearest(normalised(wanted), names);
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  if (all > names.size()) out += " and " + std::to_string(all - names.size()) + " more";
  const std::string plain = normalised(wanted);
  if (plain.find('<') == std::string::npos &&
      std::ranges::find(names, plain + "<...>") != names.end()) {
    out += "; its arguments belong to the name, such as \"" + plain + "<float>\"";
  }
  return out.empty() ? "no kernel at all; declare it __global__" : out;
}

Result<std::map<std::string, std::string>> resolve_entries(
    const std::vector<std::string>& expressions, std::string_view ptx, std::string_view source,
    const std::map<std::string, std::string>& known) {
  const std::vector<std::string> entries = ptx_entries(ptx);
  std::map<std::string, std::string> out;
  std::vector<std::string> open;
  for (const std::string& expression : expressions) {
    const auto said = known.find(expression);
    if (said != known.end()) {
      out[expression] = said->second;
      continue;
    }
    std::vector<std::string> fitting = fitting_entries(entries, expression);
    if (fitting.empty()) fitting = fitting_entries(entries, with_enumerators(expression, source));
    if (fitting.size() > 1) {
      return error(
          ErrorCode::InvalidArgument,
          "entry '{}' is ambiguous: {} and {} fit; write the PTX name or make it extern \"C\"",
          expression, fitting[0], fitting[1]);
    }
    if (fitting.empty()) open.push_back(expression);
    if (!fitting.empty()) out[expression] = fitting[0];
  }
  for (const std::string& expression : open) {
    // A template argument may be spelled with a macro or an alias. The source was compiled with
    // this instantiation, so a single entry that matches no other expression must be it. This does
    // not hold for PTX that was compiled elsewhere.
    std::vector<std::string> left;
    for (const std::string& entry : entries) {
      const bool taken =
          std::ranges::any_of(out, [&](const auto& pair) { return pair.second == entry; });
      if (!taken && template_of(plain_name(entry)) == template_of(normalised(expression))) {
        left.push_back(entry);
      }
    }
    const bool is_template = expression.find('<') != std::string::npos && !source.empty();
    if (!is_template || left.size() != 1) {
      return error(ErrorCode::NotFound, "no entry '{}'; the source has: {}", expression,
                   describe_entries(ptx, source, expression));
    }
    out[expression] = left[0];
  }
  return out;
}

}  // namespace gpuemu::compile
