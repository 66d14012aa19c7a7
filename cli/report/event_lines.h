// What `--format json --stream` prints: one JSON object a line, as things happen.
#pragma once

#include <chrono>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/replies.h"

namespace gpuemu::cli {

/// What a run is about to do.
struct RunPlan {
  std::string command;
  std::vector<std::string> ops;
  std::vector<DType> dtypes;
  uint64_t cases = 0;     ///< Cases of each op and dtype; with `fuzz` of each op.
  bool tells_ops = true;  ///< Whether events of the daemon say where an op begins and ends.
};

/// Every line reaches the stream at once. docs/reference/cli.md describes them.
class EventLines {
 public:
  /// `out` outlives it.
  explicit EventLines(std::ostream& out) : out_(out) {}

  void run_started(const RunPlan& plan);
  /// The part of a job's status that has not been told yet: events, new lines of the log, counts.
  void follow(const JobStatusReply& status);
  void warning(const std::string& text);
  void op_started(const std::string& op_name);
  /// For `fuzz`: `results` is a FuzzResults as JSON, or its Error.
  void op_finished(const std::string& op_name, const std::string& results);
  /// Ops of the report that have not been told as finished, then the report without the cases that
  /// were told whole.
  void run_finished(int exit_code, const std::string& report);

 private:
  using Clock = std::chrono::steady_clock;
  void op_event(const JobEvent& event);
  void progress(const JobStatusReply& status);
  void line(const std::string& json);

  std::ostream& out_;
  bool tells_ops_ = true;
  std::set<std::pair<std::string, std::string>> started_, finished_;  ///< Op and dtype.
  std::set<std::pair<std::string, uint64_t>> told_;                   ///< Cases by op and seed.
  std::string progress_;                                              ///< The last one.
  std::optional<Clock::time_point> progress_time_;
};

}  // namespace gpuemu::cli
