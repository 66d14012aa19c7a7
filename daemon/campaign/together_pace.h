// How many small cases a thread hands to its slot together.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "common/base/result.h"
#include "daemon/case/case_report.h"

namespace gpuemu {

/// How long a slot may be held for cases that run together, and how long while another session
/// waits for it. Changing the session after each small case would cost more than the case.
inline constexpr std::chrono::milliseconds kTogetherMax{32}, kTogetherWhileOthersWait{16};

/// Begins with one, twice as many after each that passed, and one again after a failure: a
/// reference that ends its process or a kernel that runs into its limit delays those after it.
class TogetherPace {
 public:
  using Clock = std::chrono::steady_clock;

  explicit TogetherPace(size_t most) : most_(most) {}

  size_t cases(bool others_wait) const { return others_wait ? shared_ : cases_; }

  /// Calls `run`, which returns the outcomes of so many cases.
  template <typename Run>
  std::vector<Result<CaseReport>> timed(size_t count, const Run& run) {
    const auto start = Clock::now();
    auto outcomes = run();
    if (count > 0) note(outcomes, Clock::now() - start);
    return outcomes;
  }

  void note(const std::vector<Result<CaseReport>>& outcomes, Clock::duration took) {
    const bool pass =
        std::ranges::all_of(outcomes, [](const auto& one) { return one && one->result.passed; });
    const auto each = std::max<Clock::duration>(took / outcomes.size(), Clock::duration(1));
    const auto in_time = static_cast<size_t>(kTogetherMax / each);
    cases_ = pass ? std::clamp<size_t>(std::min(2 * outcomes.size(), in_time), 1, most_) : 1;
    const auto while_others_wait = static_cast<size_t>(kTogetherWhileOthersWait / each);
    shared_ = std::clamp<size_t>(while_others_wait, 1, cases_);
  }

 private:
  size_t most_, cases_ = 1, shared_ = 1;
};

}  // namespace gpuemu
