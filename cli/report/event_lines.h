// The output of `--format json --stream`: one JSON object per line, as events happen.
#pragma once

#include <chrono>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/evidence.gen.h"
#include "common/protocol/replies.gen.h"

namespace gpuemu::cli {

/// The work that a run is about to do.
struct RunPlan {
  std::string command;
  std::vector<std::string> ops;
  std::vector<DType> dtypes;
  uint64_t cases = 0;     ///< Cases of each op and dtype; for `fuzz`, of each op.
  bool tells_ops = true;  ///< Whether the daemon reports where an op begins and ends.
};

/// Every line is flushed at once. docs/reference/cli.md describes the lines.
class EventLines {
 public:
  /// `out` must outlive it.
  explicit EventLines(std::ostream& out) : out_(out) {}

  void run_started(const RunPlan& plan);
  /// Prints the new parts of a job's status: events, lines of the log, counts.
  void follow(const JobStatusReply& status);
  void warning(const std::string& text);
  void op_started(const std::string& op_name);
  /// For `fuzz`: `results` is a FuzzResults as JSON, or its Error.
  void op_finished(const std::string& op_name, const std::string& results);
  /// Prints the end of ops that have not been reported as finished, then the report without the
  /// cases that were printed in full.
  void run_finished(int exit_code, const std::string& report);

 private:
  using Clock = std::chrono::steady_clock;
  void op_event(const JobEvent& event);
  void progress(const JobStatusReply& status);
  void line(const std::string& json);

  std::ostream& out_;
  bool tells_ops_ = true;
  std::set<std::pair<std::string, std::string>> started_, finished_;  ///< Op and dtype.
  std::set<std::pair<std::string, uint64_t>> told_;  ///< Printed cases, by op and seed.
  std::string progress_;                             ///< The last progress line.
  std::optional<Clock::time_point> progress_time_;
};

}  // namespace gpuemu::cli
