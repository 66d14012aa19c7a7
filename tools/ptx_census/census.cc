#include "tools/ptx_census/census.h"

#include <algorithm>
#include <set>
#include <system_error>

#include "runtime/emulator/decode/supported_forms.h"
#include "runtime/ptx/parse.h"

namespace gpuemu::census {

uint64_t Census::families() const {
  std::set<std::string_view> all;
  for (const auto& [spelling, opcode] : opcodes) all.insert(opcode.family);
  return all.size();
}

uint64_t Census::missing() const {
  return static_cast<uint64_t>(
      std::ranges::count_if(opcodes, [](const auto& entry) { return entry.second.missing != 0; }));
}

void add_text(Census& census, std::string_view text, const std::string& name) {
  ++census.files;
  const auto parsed = ptx::parse(text, name);
  if (!parsed) {
    census.refused.push_back(parsed.error().message);
    return;
  }
  for (const std::string& warning : (*parsed).warnings) {
    census.warnings.push_back(name + ": " + warning);
  }
  std::set<std::string> seen;
  for (const emulator::FunctionSupport& surveyed : emulator::supported_forms(*parsed)) {
    for (size_t i = 0; i < surveyed.executed.size(); ++i) {
      const ptx::Instruction& instruction = surveyed.function->body[i];
      std::string spelling = instruction.spelling();
      Opcode& opcode = census.opcodes[spelling];
      opcode.family = instruction.name();
      ++opcode.count;
      ++census.instructions;
      if (!surveyed.executed[i] && opcode.missing++ == 0) {
        opcode.first_missing = {name, instruction.where.line, instruction.where.column,
                                instruction.text()};
      }
      if (seen.insert(std::move(spelling)).second) ++opcode.files;
    }
  }
}

Result<std::vector<std::filesystem::path>> find_texts(
    const std::vector<std::filesystem::path>& paths) {
  namespace fs = std::filesystem;
  std::vector<fs::path> found;
  for (const fs::path& path : paths) {
    std::error_code failure;
    if (!fs::is_directory(path, failure)) {
      if (!fs::exists(path, failure)) {
        return error(ErrorCode::NotFound, "{}: no such file or folder", path.string());
      }
      found.push_back(path);
      continue;
    }
    const size_t first = found.size();
    fs::recursive_directory_iterator at(path, fs::directory_options::skip_permission_denied,
                                        failure);
    for (; !failure && at != fs::recursive_directory_iterator(); at.increment(failure)) {
      if (at->path().extension() == ".ptx" && at->is_regular_file(failure)) {
        found.push_back(at->path());
      }
    }
    if (failure) return error(ErrorCode::Io, "{}: {}", path.string(), failure.message());
    std::sort(found.begin() + static_cast<std::ptrdiff_t>(first), found.end());
  }
  if (found.empty()) {
    return error(ErrorCode::NotFound, "no file that ends in .ptx below what was given");
  }
  return found;
}

}  // namespace gpuemu::census
