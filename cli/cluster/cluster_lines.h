// Lines that `python -m gpuemu.cluster` writes to its standard output: a word, and what it is
// about.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::cli {

enum class ClusterWord {
  Result,    ///< The reply of one op, or of the tests, in JSON.
  Progress,  ///< "DONE TOTAL FAILURES RATE WHAT".
  Warning,   ///< A sentence.
  Note,      ///< As Warning, of no consequence.
  Ended,     ///< The run ended early, "interrupted" or why.
  Usage,     ///< What is wrong with the options; the last line.
  Failed,    ///< Why it could not run; the last line.
  Done,      ///< The last line.
};

struct ClusterLine {
  ClusterWord word = ClusterWord::Done;
  std::string text;
};

/// Nothing for a line of another kind.
std::optional<ClusterLine> cluster_line(std::string_view line);

/// Cuts what arrives in pieces into lines.
class LineReader {
 public:
  /// The lines that are complete now, without their ends.
  std::vector<std::string> add(std::string_view bytes);

 private:
  std::string begun_;
};

/// "" for auto, HOST:PORT, ray://HOST:PORT and local:N; else what is wrong.
std::string cluster_address_problem(const std::string& address);

}  // namespace gpuemu::cli
