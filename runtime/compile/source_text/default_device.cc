// Reads NVRTC's log, and the calls of unoptimised PTX.
#include "runtime/compile/source_text/default_device.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <set>
#include <span>

#include <fmt/ranges.h>

#include "runtime/ptx/parse.h"

namespace gpuemu::compile {
namespace {

constexpr std::string_view kFunction = ": error: A function without execution space annotations";
constexpr std::string_view kVariable = ": error: A namespace scope variable without memory space";
/// NVRTC stops after a hundred errors.
constexpr std::string_view kLimit = "rror limit reached";
constexpr size_t kNamedMax = 4;

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The place in "model.cu(7): error: ..."; nothing of another line.
std::optional<Unmarked> place_of(std::string_view line) {
  const size_t function = line.find(kFunction), variable = line.find(kVariable);
  const size_t end = std::min(function, variable);
  if (end == std::string_view::npos || end < 2 || line[end - 1] != ')') return std::nullopt;
  const size_t open = line.rfind('(', end);
  if (open == std::string_view::npos) return std::nullopt;
  Unmarked one{.file = std::string(line.substr(0, open))};
  one.is_variable = variable < function;
  const char* const last = line.data() + end - 1;
  if (std::from_chars(line.data() + open + 1, last, one.line).ptr != last) return std::nullopt;
  return one;
}

/// What the mark in `below` points at: a name, or a macro that makes it.
std::string name_at(std::string_view code, std::string_view below) {
  const size_t begin = below.find('^');
  if (begin >= code.size()) return {};
  size_t end = begin;
  while (end < code.size() && is_of_name(code[end])) ++end;
  return std::string(code.substr(begin, end - begin));
}

/// A function of the PTX, and where the source declares it.
struct Declared {
  const ptx::Function* function = nullptr;
  std::string_view file;
  uint32_t line = 0;
};

/// Its first .loc, which may be that of no instruction.
Declared declared(const ptx::Module& module, const ptx::Function& function,
                  std::span<const std::string_view> lines) {
  Declared one{.function = &function, .file = {}, .line = 0};
  for (size_t i = function.where.line; i < lines.size() && !lines[i].starts_with('}'); ++i) {
    const size_t at = lines[i].find_first_not_of(" \t");
    if (at == std::string_view::npos) continue;
    unsigned file = 0;
    const std::string text(lines[i].substr(at));
    if (std::sscanf(text.c_str(), ".loc %u %u", &file, &one.line) != 2) continue;
    const auto name = module.files.find(file);
    if (name != module.files.end()) one.file = name->second;
    break;
  }
  return one;
}

/// Whether the mangled symbol has this name as one of its parts.
bool has_part(std::string_view symbol, const std::string& name) {
  return symbol == name ||
         symbol.find(std::to_string(name.size()) + name) != std::string_view::npos;
}

bool uses(const ptx::Operand& operand, std::string_view symbol) {
  return operand.name == symbol || std::ranges::any_of(operand.elements, [&](const auto& part) {
           return uses(part, symbol);
         });
}

bool uses(const ptx::Function& function, std::string_view symbol) {
  return std::ranges::any_of(function.body, [&](const ptx::Instruction& one) {
    return std::ranges::any_of(one.operands,
                               [&](const ptx::Operand& operand) { return uses(operand, symbol); });
  });
}

/// The functions that the source declares there. Where a line has several, those of the name, which
/// none has that a macro makes.
std::vector<std::string_view> symbols_of(const Unmarked& wanted, std::span<const Declared> all) {
  std::vector<std::string_view> here, named;
  for (const Declared& one : all) {
    if (one.function->is_entry || one.line != wanted.line || !one.file.ends_with(wanted.file)) {
      continue;
    }
    here.emplace_back(one.function->name);
    if (has_part(one.function->name, wanted.name)) named.emplace_back(one.function->name);
  }
  return named.empty() ? here : named;
}

/// Where the comment or literal that begins at `at` ends; `at` where none begins there.
size_t end_of_literal(std::string_view text, size_t at) {
  const std::string_view rest = text.substr(at);
  const auto after = [&](std::string_view mark, size_t from) {
    const size_t found = rest.find(mark, from);
    return found == std::string_view::npos ? text.size() : at + found + mark.size();
  };
  if (rest.starts_with("//")) return after("\n", 2);
  if (rest.starts_with("/*")) return after("*/", 2);
  if (rest[0] != '"' && rest[0] != '\'') return at;
  size_t end = 1;
  while (end < rest.size() && rest[end] != rest[0]) end += rest[end] == '\\' ? 2 : 1;
  return std::min(text.size(), at + end + 1);
}

/// Finds the names that bodies of __global__ and __device__ functions call.
class DeviceCalls {
 public:
  explicit DeviceCalls(std::string_view text) : text_(text) {}

  void add_to(std::set<std::string, std::less<>>& names) {
    for (size_t at = 0; at < text_.size();) {
      const size_t end = end_of_literal(text_, at);
      if (end != at) {
        at = end;
      } else if (is_of_name(text_[at])) {
        at = word(at, names);
      } else {
        mark(text_[at++]);
      }
    }
  }

 private:
  size_t word(size_t at, std::set<std::string, std::less<>>& names) {
    size_t end = at;
    while (end < text_.size() && is_of_name(text_[end])) ++end;
    const std::string_view name = text_.substr(at, end - at);
    const size_t next = text_.find_first_not_of(" \t\r\n", end);
    const bool is_call =
        next != std::string_view::npos && (text_[next] == '(' || text_[next] == '<');
    if (depth_ > 0 && is_call) names.emplace(name);
    if (depth_ == 0 && (name == "__global__" || name == "__device__")) {
      is_head_ = true;
      parentheses_ = 0;
    }
    return end;
  }
  void mark(char one) {
    if (depth_ > 0) {
      depth_ += one == '{' ? 1 : one == '}' ? -1 : 0;
    } else if (is_head_) {
      parentheses_ += one == '(' ? 1 : one == ')' ? -1 : 0;
      if (parentheses_ == 0 && one == '{') depth_ = 1;
      if (parentheses_ == 0 && (one == '{' || one == ';' || one == '=')) is_head_ = false;
    }
  }

  const std::string_view text_;
  bool is_head_ = false;  ///< Between __device__ and the body.
  int parentheses_ = 0;
  int depth_ = 0;  ///< Braces of a body; 0: outside.
};

}  // namespace

std::optional<std::vector<Unmarked>> unmarked_in(std::string_view log) {
  if (log.find(kLimit) != std::string_view::npos) return std::nullopt;
  std::vector<Unmarked> all;
  const std::vector<std::string_view> lines = lines_of(log);
  for (size_t i = 0; i < lines.size(); ++i) {
    auto one = place_of(lines[i]);
    if (!one) continue;
    if (i + 2 < lines.size()) {
      one->name = name_at(lines[i + 1], lines[i + 2]);
      one->is_constexpr = lines[i + 1].find("constexpr") != std::string_view::npos;
    }
    all.push_back(*std::move(one));
  }
  return all;
}

namespace {

/// Returns whether a function of this name is declared as device code, which a call may refer to.
bool is_marked_elsewhere(std::string_view name, const std::vector<std::string_view>& texts) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (const std::string_view text : texts) {
    for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
      const size_t end = text.find_first_not_of(" \t\n", at + name.size());
      if (at == 0 || is_word(text[at - 1]) || end == text.npos || text[end] != '(') continue;
      const size_t before = text.find_last_of(";{}", at);
      const size_t begin = before == text.npos ? 0 : before;
      if (text.substr(begin, at - begin).find("__device__") != text.npos) return true;
    }
  }
  return false;
}

}  // namespace

Result<std::vector<Unmarked>> used_by_device_code(const std::string& debug_ptx,
                                                  const std::vector<std::string_view>& texts,
                                                  const std::vector<Unmarked>& unmarked) {
  const ptx::Module module = GPUEMU_TRY(ptx::parse(debug_ptx, "unoptimised PTX"));
  const std::vector<std::string_view> lines = lines_of(debug_ptx);
  std::vector<Declared> all;
  for (const ptx::Function& function : module.functions) {
    if (!function.body.empty()) all.push_back(declared(module, function, lines));
  }
  std::set<std::string_view> of_unmarked;
  for (const Unmarked& one : unmarked) {
    if (one.is_variable) continue;
    for (const std::string_view symbol : symbols_of(one, all)) of_unmarked.insert(symbol);
  }
  // What one of them uses is none of nvcc's business unless device code uses the first.
  const auto is_used = [&](std::string_view symbol) {
    return std::ranges::any_of(all, [&](const Declared& one) {
      return !of_unmarked.contains(one.function->name) && uses(*one.function, symbol);
    });
  };
  std::set<std::string, std::less<>> called;
  for (const std::string_view text : texts) DeviceCalls(text).add_to(called);
  std::vector<Unmarked> used;
  for (const Unmarked& one : unmarked) {
    std::vector<std::string_view> symbols;
    if (!one.is_variable) symbols = symbols_of(one, all);
    for (const ptx::Variable& variable : module.variables) {
      if (one.is_variable && has_part(variable.name, one.name)) symbols.emplace_back(variable.name);
    }
    const bool is_called =
        one.is_constexpr && called.contains(one.name) && !is_marked_elsewhere(one.name, texts);
    if (is_called || std::ranges::any_of(symbols, is_used)) used.push_back(one);
  }
  return used;
}

std::string about_unmarked(const std::vector<Unmarked>* used, const std::string& source) {
  constexpr std::string_view kEnd = "; write __device__ before them";
  if (used == nullptr) {
    return fmt::format(
        "functions without __device__ were taken for device functions, and nvcc refuses those that "
        "a kernel calls{}",
        kEnd);
  }
  std::vector<std::string> names;
  for (const Unmarked& one : *used) {
    if (names.size() == kNamedMax) break;
    const std::string where = source.ends_with(one.file) ? fmt::format("line {}", one.line)
                                                         : fmt::format("{}:{}", one.file, one.line);
    names.push_back(one.name.empty() ? where : fmt::format("{} ({})", one.name, where));
  }
  const std::string more =
      used->size() > names.size() ? fmt::format(" and {} more", used->size() - names.size()) : "";
  const bool may_relax = std::ranges::any_of(*used, &Unmarked::is_constexpr);
  return fmt::format(
      "kernels use {}{} without __device__, taken for device code here; nvcc refuses that{}{}",
      fmt::join(names, ", "), more, may_relax ? " without --expt-relaxed-constexpr" : "", kEnd);
}

}  // namespace gpuemu::compile
