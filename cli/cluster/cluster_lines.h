// Parses the lines that `python -m gpuemu.cluster` writes to its standard output: a keyword and its
// argument.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::cli {

enum class ClusterWord {
  Result,    ///< The reply for one op, or for the tests, as JSON.
  Progress,  ///< "DONE TOTAL FAILURES RATE WHAT".
  Warning,   ///< A sentence.
  Note,      ///< Like Warning, but without consequences.
  Ended,     ///< The run ended early; "interrupted" or the reason.
  Usage,     ///< The error in the options; the last line.
  Failed,    ///< The reason why it could not run; the last line.
  Done,      ///< The last line.
};

struct ClusterLine {
  ClusterWord word = ClusterWord::Done;
  std::string text;
};

/// Returns nothing for any other line.
std::optional<ClusterLine> cluster_line(std::string_view line);

/// Assembles lines from data that arrives in pieces.
class LineReader {
 public:
  /// Adds data and returns the lines that it completes, without their line ends.
  std::vector<std::string> add(std::string_view bytes);

 private:
  std::string begun_;
};

/// Returns "" for auto, HOST:PORT, ray://HOST:PORT and local:N, otherwise the error.
std::string cluster_address_problem(const std::string& address);

}  // namespace gpuemu::cli
