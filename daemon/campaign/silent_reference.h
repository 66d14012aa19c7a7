// Detects references that answer no case at all, or almost none: a typing error, wrong parameters,
// a missing import, a wrong shape. That is a fault in the set-up, reported once, and no failure of
// the kernel.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/base/text.h"
#include "common/protocol/records.gen.h"

namespace gpuemu {

/// A reference that has answered none of so many cases will not answer the others; neither will one
/// that left so many unanswered for each that it answered.
inline constexpr size_t kSilentCasesMax = 8;
/// Fewer answers may be chance: if all dims are equal, `x.T` has the shape of `x`.
inline constexpr size_t kAnswersLeast = 3;
/// Up to so many unanswered cases per answered one are findings of their own.
inline constexpr size_t kSilentPerAnswer = 3;

/// Returns the reference's error, or how its answer differs from the declared shape or dtype, if
/// nothing else was found; otherwise "".
std::string silence_of(const ValidationResult& result);

/// Holds unanswered cases back until the reference has answered enough others.
template <typename Case>
class SilentReference {
 public:
  /// `who` is the beginning of the sentence that text() returns.
  explicit SilentReference(const char* who = "the reference answers") : who_(who) {}

  /// Adds to `ready` the cases to store now. `silence` is silence_of() the case's result.
  void admit(Case one, const std::string& silence, std::vector<Case>& ready) {
    ++(silence.empty() ? answered_ : silent_);
    trusted_ = trusted_ || (answered_ >= kAnswersLeast && silent_ <= answered_ * kSilentPerAnswer);
    if (!silence.empty() && !trusted_) {
      if (held_.empty()) why_ = silence;
      held_.push_back(std::move(one));
      return;
    }
    if (trusted_) {
      for (Case& held : held_) ready.push_back(std::move(held));
      held_.clear();
    }
    ready.push_back(std::move(one));
  }
  bool is_certain() const {
    return held_.size() >= kSilentCasesMax * std::max<size_t>(1, answered_);
  }
  /// Returns why the op cannot be tested; "" if it can.
  std::string text() const {
    if (held_.empty()) return "";
    const std::string cases = answered_ == 0 ? "no case"
                                             : fmt::format("only {} of {}", answered_,
                                                           counted(answered_ + silent_, "case"));
    return fmt::format("{} {}: {}", who_, cases, why_);
  }

 private:
  const char* who_;
  size_t answered_ = 0, silent_ = 0;
  bool trusted_ = false;
  std::vector<Case> held_;
  std::string why_;
};

}  // namespace gpuemu
