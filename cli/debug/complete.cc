#include "cli/debug/complete.h"

#include <algorithm>

#include "cli/debug/commands.h"
#include "cli/debug/stopped.h"

namespace gpuemu::cli {
namespace {

/// Returns the words before the last one, of the last command.
Words words_before(const std::string& line, const std::string& last) {
  const std::string before = line.substr(0, line.size() - last.size());
  const auto commands = split_commands(before);
  if (!commands || commands->empty()) return {};
  const size_t end = before.find_last_not_of(" \t");
  return before[end] == ';' ? Words() : commands->back();
}

std::vector<std::string> names_of_tensors(const DebugContext& context) {
  std::vector<std::string> names;
  if (!context.loaded) return names;
  for (const ExportedTensor& tensor : context.loaded->tensors) {
    names.push_back(tensor.name);
    if (context.loaded->expected.contains(tensor.name)) {
      for (const char* part : {"expected", "bound", "error"}) {
        names.push_back(tensor.name + "." + part);
      }
    }
    if (context.loaded->inputs.contains(tensor.name)) names.push_back(tensor.name + ".input");
  }
  return names;
}

std::vector<std::string> words_for(const DebugContext& context, DebugCommand::Takes takes) {
  using Takes = DebugCommand::Takes;
  std::vector<std::string> words;
  switch (takes) {
    case Takes::Nothing:
      return {};
    case Takes::Seed:
      for (const uint64_t seed : context.seeds) words.push_back(std::to_string(seed));
      return words;
    case Takes::Tensor:
      return names_of_tensors(context);
    case Takes::Backend:
      return {"emulator", "cuda"};
    case Takes::Stage:
      return stage_names();
    case Takes::Register:
      if (context.stepping->view() == nullptr) return {};
      for (const DebugRegister& one : focused_registers(context)) words.push_back(one.name);
      return words;
    case Takes::Function:
      for (const DebugFunction& one : context.stepping->program().functions) {
        words.push_back(one.name);
      }
      return words;
    case Takes::Command:
      for (const DebugCommand& command : debug_commands()) words.emplace_back(command.name);
      return words;
  }
  return {};
}

}  // namespace

std::string last_word(const std::string& line) {
  const size_t end = line.find_last_of(" \t;");
  return end == std::string::npos ? line : line.substr(end + 1);
}

std::string common_begin(const std::vector<std::string>& words) {
  std::string begin = words.front();
  for (const std::string& word : words) {
    const auto differs = std::ranges::mismatch(begin, word);
    begin.resize(static_cast<size_t>(differs.in1 - begin.begin()));
  }
  return begin;
}

std::vector<std::string> completions(const DebugContext& context, const std::string& line) {
  const std::string last = last_word(line);
  const Words before = words_before(line, last);
  std::vector<std::string> words;
  if (before.empty()) {
    words = words_for(context, DebugCommand::Takes::Command);
  } else if (const auto command = command_named(before.front()); command && before.size() == 1) {
    words = words_for(context, (*command)->takes);
  }
  std::erase_if(words, [&](const std::string& word) { return !word.starts_with(last); });
  std::ranges::sort(words);
  return words;
}

}  // namespace gpuemu::cli
