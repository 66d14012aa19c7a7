// Parses what `ptxas -v` prints for each entry:
//
//   ptxas info    : Compiling entry function 'NAME' for 'sm_80'
//   ptxas info    : Used 18 registers, used 1 barriers
#include "runtime/compile/registers.h"

#include <cstdlib>
#include <sstream>

#include "runtime/compile/machine_code.h"

namespace gpuemu {
namespace {

/// Returns "sm_90a" if the text is for that architecture, else "sm_90".
std::string arch_of(const std::string& ptx, int sm) {
  const std::string plain = "sm_" + std::to_string(sm);
  const size_t target = ptx.find(".target");
  if (target == ptx.npos) return plain;
  const std::string line = ptx.substr(target, ptx.find('\n', target) - target);
  const size_t at = line.find(plain);
  const size_t letter = at == line.npos ? line.size() : at + plain.size();
  return letter < line.size() && (line[letter] == 'a' || line[letter] == 'f') ? plain + line[letter]
                                                                              : plain;
}

}  // namespace

std::map<std::string, int> registers_by_ptxas(const std::string& ptx, int sm) {
  std::map<std::string, int> found;
  const auto made =
      assemble({.ptx = ptx, .name = "kernel.ptx", .arch = arch_of(ptx, sm), .disassemble = false});
  if (!made) return found;
  constexpr std::string_view kEntry = "Compiling entry function '", kUsed = ": Used ";
  std::istringstream lines(made->log);
  std::string entry;
  for (std::string line; std::getline(lines, line);) {
    if (const size_t at = line.find(kEntry); at != line.npos) {
      const size_t begin = at + kEntry.size();
      entry = line.substr(begin, line.find('\'', begin) - begin);
    } else if (const size_t used = line.find(kUsed); used != line.npos && !entry.empty()) {
      found[entry] = std::atoi(line.c_str() + used + kUsed.size());
      entry.clear();
    }
  }
  return found;
}

}  // namespace gpuemu
