// Runs the large cases of a run one at a time, and records those that were left out because they,
// or their references, would take too long. Time only decides whether a case runs, never which
// sizes it has.
#pragma once

#include <condition_variable>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/numeric/dtype.h"

namespace gpuemu {

struct CasePlan;
struct CaseReport;

/// Whether a tensor of the case is above the size of usual cases.
bool is_large(const CasePlan& plan);

/// Thread-safe.
class LargeCases {
 public:
  /// Locks out other large cases: each takes gigabytes, so they run one after the other.
  std::unique_lock<std::mutex> alone() { return std::unique_lock(one_at_a_time_); }

  /// Mark the begin and the end of a usual case; `milliseconds` is absent if it could not be run.
  void begin(const CasePlan& plan);
  void end(const CasePlan& plan, std::optional<uint64_t> milliseconds);
  /// Waits until as many usual cases of its op and dtype have ended as had begun at the time of the
  /// call.
  void wait_for_usual(const CasePlan& plan);
  /// Returns why the case is not worth running, judged by the time of smaller ones; nothing if it
  /// is.
  std::optional<std::string> too_long(const CasePlan& plan) const;
  /// Returns why the outcome of a large case says nothing about its kernel; nothing if it does.
  std::optional<std::string> no_verdict(const CasePlan& plan, const CaseReport& outcome,
                                        uint64_t timeout_ms) const;
  void leave_out(const CasePlan& plan, const std::string& why);
  /// Describes for the user the large cases that were left out.
  std::vector<std::string> left_out(const std::string& op, DType dtype) const;

 private:
  /// The time that usual cases of one op and dtype took.
  struct Pace {
    uint64_t begun = 0, ended = 0;
    /// The fixed time of a case, independent of its sizes.
    double least_ms = std::numeric_limits<double>::infinity();
    uint64_t telling = 0;     ///< Cases large enough to determine the pace.
    double work = 0, ms = 0;  ///< Work and time of the one with the best pace; 0 without one.
  };
  using Key = std::pair<std::string, DType>;

  std::mutex one_at_a_time_;
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::map<Key, Pace> paces_;                         // Guarded by mutex_.
  std::map<Key, std::vector<std::string>> left_out_;  // Guarded by mutex_.
};

}  // namespace gpuemu
