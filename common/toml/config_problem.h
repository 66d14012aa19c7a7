// What is wrong with a configuration file, and where.
#pragma once

#include <cstdint>
#include <string>

namespace gpuemu {

/// One thing wrong with a configuration file, or one warning about it.
struct ConfigProblem {
  std::string file;
  uint32_t line = 0, column = 0;
  std::string key;      ///< "ops[2].dims.rows"
  std::string message;  ///< What was expected and what to write.
  /// Behind the last character of what is wrong; 0 where only its beginning is known.
  uint32_t end_line = 0, end_column = 0;
  std::string text() const;  ///< "gpuemu.toml:12:8: ops[2].dims.rows: ..."
};

}  // namespace gpuemu
