#include "runtime/compile/source_text/host_code.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <sstream>

#include "runtime/compile/source_text/includes.h"

namespace gpuemu::compile {
namespace {

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_blank(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

void blank(std::string& text, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (text[i] != '\n') text[i] = ' ';
  }
}

struct Range {
  size_t begin = 0, end = 0;
};

/// A source with comments, literals and directives blanked, so that positions are unchanged.
struct Masked {
  std::string text;
  std::map<std::string, std::string> macros;  ///< Macro definitions by name.
  std::vector<Range> directives;
};

/// Returns the position after the comment or literal that begins at `at`; `at` itself if none does.
size_t behind_hidden(const std::string& text, size_t at) {
  if (text.compare(at, 2, "//") == 0) return std::min(text.find('\n', at), text.size());
  if (text.compare(at, 2, "/*") == 0) {
    const size_t end = text.find("*/", at + 2);
    return end == std::string::npos ? text.size() : end + 2;
  }
  const char quote = text[at];
  // The quotes in 1'000'000 are digit separators.
  const bool opens = quote == '"' || (quote == '\'' && (at == 0 || !is_name_char(text[at - 1])));
  if (!opens) return at;
  for (size_t i = at + 1; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == quote) {
      return i + 1;
    }
  }
  return at + 1;
}

/// Returns the name and the definition of a directive `#define NAME ...`; an empty name for other
/// directives.
std::pair<std::string, std::string> macro_of(const std::string& directive) {
  constexpr std::string_view kDefine = "define";
  size_t at = directive.find_first_not_of(" \t", 1);
  if (at == std::string::npos || directive.compare(at, kDefine.size(), kDefine) != 0) return {};
  at = directive.find_first_not_of(" \t", at + kDefine.size());
  if (at == std::string::npos) return {};
  size_t end = at;
  while (end < directive.size() && is_name_char(directive[end])) ++end;
  return {directive.substr(at, end - at), directive.substr(end)};
}

/// Returns whether the line that ends at `at` ends with a backslash, possibly followed by '\r'.
bool is_continued(const std::string& text, size_t at) {
  if (at > 0 && text[at - 1] == '\r') --at;
  return at > 0 && text[at - 1] == '\\';
}

Masked masked(const std::string& source) {
  Masked out{.text = source, .macros = {}, .directives = {}};
  std::string& text = out.text;
  bool line_begins = true;
  for (size_t i = 0; i < text.size();) {
    size_t behind = behind_hidden(text, i);
    if (line_begins && text[i] == '#') {
      while (behind < text.size() && (text[behind] != '\n' || is_continued(text, behind))) ++behind;
      auto [name, body] = macro_of(source.substr(i, behind - i));
      if (!name.empty()) out.macros[name] = std::move(body);
      out.directives.push_back({i, behind});
    }
    if (behind > i) {
      blank(text, i, behind);
      i = behind;
      continue;
    }
    line_begins = text[i] == '\n' || (line_begins && is_blank(text[i]));
    ++i;
  }
  return out;
}

/// Returns the position after the bracket that closes the one at `open`; npos if it is not closed.
size_t behind_bracket(const std::string& text, size_t open) {
  const char opening = text[open], closing = opening == '(' ? ')' : '}';
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == opening) ++depth;
    if (text[i] == closing && --depth == 0) return i + 1;
  }
  return std::string::npos;
}

struct Name {
  std::string text;
  bool is_scope = false;  ///< "::" follows.
};

std::vector<Name> names_in(const std::string& text) {
  std::vector<Name> names;
  for (size_t i = 0; i < text.size();) {
    if (!is_name_char(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && is_name_char(text[end])) ++end;
    names.push_back({text.substr(i, end - i), text.compare(end, 2, "::") == 0});
    i = end;
  }
  return names;
}

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool says_device(const std::string& text) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"__global__", "__device__", "__constant__", "__shared__", "__managed__"});
  return std::ranges::any_of(names_in(text),
                             [&](const Name& name) { return is_one_of(kWords, name.text); });
}

/// Returns whether it is a function of CUDA's libraries: cudaMemset, cuLaunchKernel, cublasCreate.
bool is_cuda_call(std::string_view name) {
  constexpr auto kPrefixes =
      std::to_array<std::string_view>({"cublas", "cudnn", "cufft", "curand", "nccl", "nvtx"});
  const auto upper = [&](size_t at) {
    return name.size() > at && std::isupper(static_cast<unsigned char>(name[at])) != 0;
  };
  if ((name.starts_with("cuda") && upper(4)) || (name.starts_with("cu") && upper(2))) return true;
  return std::ranges::any_of(kPrefixes, [&](auto prefix) { return name.starts_with(prefix); });
}

bool says_host(const std::string& text) {
  constexpr auto kScopes = std::to_array<std::string_view>(
      {"torch", "at", "c10", "pybind11", "py", "thrust", "std", "nvtx3"});
  constexpr auto kPrefixes =
      std::to_array<std::string_view>({"AT_DISPATCH", "TORCH_", "C10_", "PYBIND11_", "pybind11"});
  if (text.find("<<<") != std::string::npos) return true;
  return std::ranges::any_of(names_in(text), [&](const Name& name) {
    if (name.is_scope && is_one_of(kScopes, name.text)) return true;
    return is_cuda_call(name.text) || std::ranges::any_of(kPrefixes, [&](auto prefix) {
             return name.text.starts_with(prefix);
           });
  });
}

/// Returns the position after a declaration's template parameters, if it has any.
size_t behind_template(const std::string& head) {
  const size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos || head.compare(begin, 8, "template") != 0) return 0;
  int depth = 0;
  for (size_t i = head.find('<', begin); i < head.size(); ++i) {
    if (head[i] == '<') ++depth;
    if (head[i] == '>' && --depth == 0) return i + 1;
  }
  return head.size();
}

/// Returns whether the head of a type declares a specialisation: "template <> struct Sum<half>".
/// Removing it would silently give device code the general template.
bool is_specialization(const std::string& head) {
  size_t end = behind_template(head);
  for (; end < head.size(); ++end) {
    if (head.compare(end, 2, "::") == 0) {
      ++end;
    } else if (head[end] == ':') {
      break;  // Its base classes follow.
    } else if (head[end] == '<') {
      return true;
    }
  }
  return false;
}

/// Returns whether it is the head of a type rather than of a function: "struct __align__(8) Pair".
bool is_type_head(const std::string& head) {
  constexpr auto kTypes =
      std::to_array<std::string_view>({"struct", "class", "union", "enum", "typedef"});
  const size_t last = head.find_last_not_of(" \t\r\n");
  if (last == std::string::npos || head[last] == ')') return false;
  const std::vector<Name> names = names_in(head.substr(behind_template(head)));
  return !names.empty() && is_one_of(kTypes, names.front().text);
}

/// Returns whether the statement declares a function; NVRTC accepts no declarations of host
/// functions.
bool is_declaration(const std::string& text) {
  constexpr auto kOthers =
      std::to_array<std::string_view>({"typedef", "using", "static_assert", "asm"});
  const std::string head = text.substr(0, std::min(text.find('('), text.size()));
  const std::vector<Name> names = names_in(head);
  return head.size() < text.size() && head.find('=') == std::string::npos && names.size() > 1 &&
         !is_one_of(kOthers, names.front().text);
}

/// Returns how often __global__ occurs in a text without comments.
size_t kernels_in(const std::string& text) {
  const std::vector<Name> names = names_in(text);
  return static_cast<size_t>(std::ranges::count(names, "__global__", &Name::text));
}

/// Blanks the host code of a source, statement by statement, inside the braces of its namespaces.
class HostCode {
 public:
  explicit HostCode(const std::string& source)
      : masked_(masked(source)), text_(masked_.text), out_(source) {}

  /// Returns false if brackets do not match, or a kernel would be removed.
  bool remove() {
    while (at_ < text_.size()) {
      if (!step()) return false;
    }
    return depth_ == 0 && kernels_in(text_) == kernels_in(masked(out_).text);
  }
  std::string take() { return std::move(out_); }

 private:
  bool step() {
    const char c = text_[at_];
    if (c == '(') return take_list();
    if (c == '{') return take_brace();
    ++at_;
    if (c == '}') begin_ = at_;
    if (c == '}') return --depth_ >= 0;
    if (c == ';') end_piece(is_host_statement(piece()));
    return true;
  }

  std::string piece() const { return text_.substr(begin_, at_ - begin_); }
  void end_piece(bool is_host) {
    if (is_host) drop(begin_, at_);
    begin_ = at_;
  }
  /// Blanks everything but directives.
  void drop(size_t from, size_t to) {
    for (const Range& directive : masked_.directives) {
      if (directive.end <= from || directive.begin >= to) continue;
      if (directive.begin > from) blank(out_, from, directive.begin);
      from = directive.end;
    }
    if (from < to) blank(out_, from, to);
  }

  /// Handles a macro call on lines of its own, which may expand to a whole function.
  bool take_list() {
    const std::vector<Name> before = names_in(piece());
    at_ = behind_bracket(text_, at_);
    if (at_ == std::string::npos) return false;
    const size_t next = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    const bool is_line = text_.substr(at_, next - at_).find('\n') != std::string::npos;
    const bool goes_on = next < text_.size() && !is_name_char(text_[next]) && text_[next] != '}';
    if (before.size() != 1 || !is_line || goes_on) return true;
    const auto macro = masked_.macros.find(before.front().text);
    if (macro == masked_.macros.end()) return true;
    end_piece(!says_device(macro->second) && says_host(macro->second + piece()));
    return true;
  }

  bool take_brace() {
    const std::string head = piece();
    const std::vector<Name> names = names_in(head);
    const bool is_namespace = std::ranges::find(names, "namespace", &Name::text) != names.end() ||
                              (names.size() == 1 && names.front().text == "extern");
    if (is_namespace) {
      begin_ = ++at_;
      ++depth_;
      return true;
    }
    const bool is_type = is_type_head(head);
    at_ = behind_bracket(text_, at_);
    if (at_ == std::string::npos) return false;
    const bool is_function = !is_type && head.find('(') != std::string::npos;
    if (!is_function) {
      at_ = text_.find(';', at_);
      if (at_ == std::string::npos) return false;
      ++at_;
    }
    // Device code can only call functions that are declared as device functions.
    const std::string whole = piece();
    const bool is_special = is_type && is_specialization(head);
    end_piece(is_function ? !may_be_device(head)
                          : !is_special && !says_device(whole) && says_host(whole));
    return true;
  }

  bool is_host_statement(const std::string& text) const {
    constexpr auto kHosts =
        std::to_array<std::string_view>({"std", "torch", "at", "c10", "pybind11"});
    const std::vector<Name> names = names_in(text);
    if (names.empty() || may_be_device(text.substr(0, text.find('(')))) return false;
    const bool is_using = names.size() > 2 && names[0].text == "using" &&
                          names[1].text == "namespace" && is_one_of(kHosts, names[2].text);
    const size_t behind = text.find("template") + std::string_view("template").size();
    const bool is_instance = names[0].text == "template" &&
                             text.find_first_not_of(" \t\r\n", behind) != text.find('<', behind);
    return is_using || is_instance || is_declaration(text) || says_host(text);
  }

  /// Returns whether the head has a device keyword, or a macro that may contain one.
  bool may_be_device(const std::string& head) const {
    if (says_device(head)) return true;
    return std::ranges::any_of(names_in(head), [&](const Name& name) {
      if (name.text == "constexpr" || name.text == "consteval") return true;
      const auto macro = masked_.macros.find(name.text);
      if (macro != masked_.macros.end()) return says_device(macro->second);
      return is_device_macro(name.text);
    });
  }

  /// Returns whether the name looks like a device macro of a header, such as DEVICE_INLINE.
  static bool is_device_macro(const std::string& name) {
    constexpr auto kDevice =
        std::to_array<std::string_view>({"DEVICE", "GLOBAL", "KERNEL", "GPU", "INLINE"});
    const bool is_loud =
        std::ranges::none_of(name, [](unsigned char c) { return std::islower(c) != 0; });
    return is_loud && !name.starts_with("PYBIND") && std::ranges::any_of(kDevice, [&](auto part) {
             return name.find(part) != std::string::npos;
           });
  }

  const Masked masked_;
  const std::string& text_;  ///< The text of `masked_`.
  std::string out_;
  size_t at_ = 0, begin_ = 0;
  int depth_ = 0;
};

/// Returns whether it is a name such as int32_t or uint8_t.
bool is_sized_integer(std::string_view name) {
  const size_t digit = name.find_first_of("1368");
  return name.ends_with("_t") && digit != name.npos &&
         (name.starts_with("int") || name.starts_with("uint"));
}

bool is_short_float(std::string_view name) {
  return name == "half" || name == "half2" || name.starts_with("__half") ||
         name.starts_with("nv_bfloat16") || name.starts_with("__nv_bfloat16");
}

/// Headers of the C++ library, of CUDA's host API, and of the toolkit's samples.
constexpr std::string_view kHostHeaders[] = {"Python.h",
                                             "algorithm",
                                             "array",
                                             "atomic",
                                             "chrono",
                                             "condition_variable",
                                             "csignal",
                                             "ctime",
                                             "deque",
                                             "exception",
                                             "filesystem",
                                             "fstream",
                                             "functional",
                                             "future",
                                             "iomanip",
                                             "ios",
                                             "iostream",
                                             "istream",
                                             "iterator",
                                             "list",
                                             "map",
                                             "memory",
                                             "mutex",
                                             "numeric",
                                             "optional",
                                             "ostream",
                                             "queue",
                                             "random",
                                             "ratio",
                                             "regex",
                                             "signal.h",
                                             "span",
                                             "sstream",
                                             "stack",
                                             "stdexcept",
                                             "string",
                                             "string_view",
                                             "thread",
                                             "time.h",
                                             "tuple",
                                             "unistd.h",
                                             "unordered_map",
                                             "utility",
                                             "variant",
                                             "vector",
                                             "getopt.h",
                                             "pthread.h",
                                             "omp.h",
                                             "mpi.h",
                                             "nccl.h",
                                             "cuda.h",
                                             "cudnn.h",
                                             "cublas.h",
                                             "cublas_v2.h",
                                             "cublasLt.h",
                                             "cufft.h",
                                             "cusparse.h",
                                             "curand.h",
                                             "cuda_profiler_api.h",
                                             "helper_cuda.h",
                                             "helper_functions.h",
                                             "helper_multiprocess.h",
                                             "helper_image.h",
                                             "helper_string.h",
                                             "helper_timer.h"};

}  // namespace

std::string without_host_code(const std::string& source) {
  HostCode code(source);
  return code.remove() ? code.take() : source;
}

std::vector<std::string> host_headers(const std::string& source) {
  constexpr auto kFolders =
      std::to_array<std::string_view>({"torch/", "ATen/", "c10/", "pybind11/", "nvtx3/", "sys/",
                                       "gtest/", "benchmark/", "nlohmann/", "opencv2/", "Eigen/"});
  std::vector<std::string> names;
  std::istringstream lines(source);
  for (std::string line; std::getline(lines, line);) {
    const auto name = included_name(line);
    if (!name) continue;
    const bool is_framework =
        std::ranges::any_of(kFolders, [&](auto folder) { return name->starts_with(folder); });
    const bool is_other = std::ranges::find(kHostHeaders, *name) != std::end(kHostHeaders);
    if (is_framework || is_other) names.push_back(*name);
  }
  return names;
}

std::string stand_in(const std::string& name, const std::vector<std::string>& sources) {
  constexpr auto kFolders = std::to_array<std::string_view>({"torch/", "ATen/", "c10/"});
  const bool has_floats =
      name.starts_with("cublas") || name == "cudnn.h" ||
      std::ranges::any_of(kFolders, [&](auto folder) { return name.starts_with(folder); });
  const auto use = [&](const auto& is_type) {
    return std::ranges::any_of(sources, [&](const std::string& source) {
      const std::vector<Name> names = names_in(source);
      return std::ranges::any_of(names, [&](const Name& one) { return is_type(one.text); });
    });
  };
  std::string text;
  if (use(is_sized_integer)) text += "#include <stdint.h>\n";
  if (has_floats && use(is_short_float)) {
    text += "#include <cuda_fp16.h>\n#include <cuda_bf16.h>\n";
  }
  return text;
}

}  // namespace gpuemu::compile
