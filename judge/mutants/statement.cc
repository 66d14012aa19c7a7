#include "judge/mutants/statement.h"

#include <algorithm>

#include "common/base/text.h"

namespace gpuemu {
namespace {

/// Splits at commas outside brackets.
std::vector<std::string> split_operands(std::string_view text) {
  std::vector<std::string> parts;
  if (trimmed(text).empty()) return parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (std::string_view("([{").find(text[i]) != std::string_view::npos) ++depth;
    if (std::string_view(")]}").find(text[i]) != std::string_view::npos) --depth;
    if (text[i] != ',' || depth != 0) continue;
    parts.emplace_back(trimmed(text.substr(start, i - start)));
    start = i + 1;
  }
  parts.emplace_back(trimmed(text.substr(start)));
  return parts;
}

}  // namespace

std::string Statement::text() const {
  std::string out = guard.empty() ? opcode : guard + " " + opcode;
  for (size_t i = 0; i < operands.size(); ++i) out += (i == 0 ? " " : ", ") + operands[i];
  return out + ";";
}

std::vector<size_t> line_starts(std::string_view text) {
  std::vector<size_t> starts{0};
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') starts.push_back(i + 1);
  }
  return starts;
}

std::optional<Statement> statement_at(std::string_view text, const std::vector<size_t>& lines,
                                      const ptx::Instruction& instruction) {
  const auto [line, column] = instruction.where;
  if (line == 0 || line > lines.size() || column == 0) return std::nullopt;
  const size_t opcode = lines[line - 1] + column - 1;
  const std::string spelling = instruction.spelling();
  if (text.substr(std::min(opcode, text.size()), spelling.size()) != spelling) return std::nullopt;
  const size_t end = text.find(';', opcode);
  if (end == std::string_view::npos) return std::nullopt;
  Statement made;
  made.end = end + 1;
  made.opcode = spelling;
  made.begin = opcode;
  const size_t before =
      opcode == 0 ? std::string_view::npos : text.find_last_of(";{}:\n", opcode - 1);
  if (before != std::string_view::npos) {
    const std::string guard(trimmed(text.substr(before + 1, opcode - before - 1)));
    if (guard.starts_with('@')) {
      made.guard = guard;
      made.begin = text.find('@', before);
    }
  }
  if (made.guard.empty() != !instruction.guard.has_value()) return std::nullopt;
  const size_t operands = opcode + spelling.size();
  made.operands = split_operands(text.substr(operands, end - operands));
  // The text has a comment inside, or a form that is not supported here.
  if (made.operands.size() != instruction.operands.size()) return std::nullopt;
  return made;
}

}  // namespace gpuemu
