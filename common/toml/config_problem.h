// A problem in a configuration file, and its position.
#pragma once

#include <cstdint>
#include <string>

namespace gpuemu {

/// A problem in a configuration file, or a warning about it.
struct ConfigProblem {
  std::string file;
  uint32_t line = 0, column = 0;
  std::string key;      ///< "ops[2].dims.rows"
  std::string message;  ///< What was expected and what to write.
  /// Position after the last character of the problem; 0 if only its start is known.
  uint32_t end_line = 0, end_column = 0;
  std::string text() const;  ///< "gpuemu.toml:12:8: ops[2].dims.rows: ..."
};

}  // namespace gpuemu
