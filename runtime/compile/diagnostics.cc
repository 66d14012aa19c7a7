// Picks the error lines out of a log.
#include "runtime/compile/diagnostics.h"

#include <sstream>

#include "common/base/limits.h"

namespace gpuemu::compile {

std::string error_lines(std::string_view log) {
  constexpr int kLinesMax = 20;
  std::istringstream in{std::string(log)};
  std::string out;
  int kept = 0;
  for (std::string line; kept < kLinesMax && std::getline(in, line);) {
    if (line.find("error:") == std::string::npos && line.find("error :") == std::string::npos)
      continue;
    if (kept++ > 0) out += '\n';
    out += line;
  }
  return kept > 0 ? out : std::string(log.substr(0, kMessageCharsMax));
}

}  // namespace gpuemu::compile
