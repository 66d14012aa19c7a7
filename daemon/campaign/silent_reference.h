// References that answer no case at all: a typing error, wrong parameters, a missing import, a
// wrong shape. That is a fault of the set-up, told once, and no failure of the kernel.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/protocol/records.h"

namespace gpuemu {

/// A reference that has answered none of so many cases will not answer the others.
inline constexpr size_t kSilentCasesMax = 8;

/// "the reference answers no case: MESSAGE", when nothing but the reference's own failure, or an
/// answer of another shape or dtype than the op declares, was found; else "".
std::string silence_of(const ValidationResult& result);

/// Holds cases without an answer back until the reference has answered one.
template <typename Case>
class SilentReference {
 public:
  /// Adds to `ready` the cases that are to be kept now. `silence`: silence_of the case's result.
  void admit(Case one, const std::string& silence, std::vector<Case>& ready) {
    if (!answered_ && !silence.empty()) {
      if (held_.empty()) text_ = silence;
      held_.push_back(std::move(one));
      return;
    }
    answered_ = true;
    for (Case& held : held_) ready.push_back(std::move(held));
    held_.clear();
    ready.push_back(std::move(one));
  }
  bool is_certain() const { return held_.size() >= kSilentCasesMax; }
  /// Why the op cannot be tested; "" when it can.
  std::string text() const { return held_.empty() ? "" : text_; }

 private:
  bool answered_ = false;
  std::vector<Case> held_;
  std::string text_;
};

}  // namespace gpuemu
