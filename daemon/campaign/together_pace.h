// How many small cases a thread hands to its slot together.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <vector>

#include "common/base/result.h"
#include "daemon/case/case_report.h"

namespace gpuemu {

/// How long a slot may be held for cases that run together, and how long while another session
/// waits for it. Changing the session after each small case would cost more than the case.
inline constexpr std::chrono::milliseconds kTogetherMax{32}, kTogetherWhileOthersWait{16};

/// The largest numbers that any thread has reached with cases of one op. Thread-safe.
struct TogetherReached {
  std::atomic<size_t> cases{1}, while_others_wait{1};
};

/// The number for one thread. Begins with one, or what other threads have reached, twice as many
/// after each time that all passed, and one again after a failure: a reference that ends its
/// process or a kernel that runs into its limit delays those after it.
class TogetherPace {
 public:
  using Clock = std::chrono::steady_clock;

  /// `reached` must outlive it.
  TogetherPace(size_t most, TogetherReached& reached) : most_(most), reached_(&reached) {}

  size_t cases(bool others_wait) const {
    if (is_fresh_) return others_wait ? reached_->while_others_wait : reached_->cases;
    return others_wait ? shared_ : cases_;
  }

  /// `took`: how long the cases held their slot. The wait for it does not count: it grows with the
  /// number of other sessions, and batches would shrink to single cases.
  void note(const std::vector<Result<CaseReport>>& outcomes, Clock::duration took) {
    if (outcomes.empty()) return;
    is_fresh_ = false;
    const bool pass =
        std::ranges::all_of(outcomes, [](const auto& one) { return one && one->result.passed; });
    const auto each = std::max<Clock::duration>(took / outcomes.size(), Clock::duration(1));
    const auto in_time = static_cast<size_t>(kTogetherMax / each);
    has_failed_ |= !pass;
    const size_t twice = 2 * outcomes.size();
    const size_t grown = has_failed_ ? twice : std::max<size_t>(twice, reached_->cases);
    cases_ = pass ? std::clamp<size_t>(std::min(grown, in_time), 1, most_) : 1;
    const auto while_others_wait = static_cast<size_t>(kTogetherWhileOthersWait / each);
    shared_ = std::clamp<size_t>(while_others_wait, 1, cases_);
    tell();
  }

 private:
  /// Another thread may store a smaller number at the same time; threads then only begin smaller.
  void tell() {
    if (cases_ < reached_->cases) return;
    has_failed_ = false;
    reached_->cases = cases_;
    reached_->while_others_wait = shared_;
  }

  size_t most_, cases_ = 1, shared_ = 1;
  TogetherReached* reached_;
  bool is_fresh_ = true;
  bool has_failed_ = false;  ///< And it has not reached as many as others since.
};

}  // namespace gpuemu
