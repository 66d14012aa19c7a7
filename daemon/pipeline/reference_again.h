// Questions to the reference of a case beyond the first.
#pragma once

#include "daemon/pipeline/case_work.h"
#include "daemon/reference/reference_process.h"

namespace gpuemu {

/// Asks the reference of a case about other inputs.
class ReferenceAgain {
 public:
  virtual ~ReferenceAgain() = default;
  /// What it says of the case with these inputs instead; empty where it fails. Its first answer may
  /// be overwritten.
  virtual Result<NamedTensors> of(const NamedTensors& changed) = 0;
  /// Its first answer, which lies in the arena again. An error where it fails now.
  virtual Result<ReferenceReply> first() = 0;
};

/// The reference in a slot's Python. Used by one thread.
class SlotReference final : public ReferenceAgain {
 public:
  explicit SlotReference(CaseWork& work) : work_(work) {}
  /// The arena's inputs are as before afterwards, the reference's first answer is not.
  Result<NamedTensors> of(const NamedTensors& changed) override;
  Result<ReferenceReply> first() override;

 private:
  CaseWork& work_;
};

}  // namespace gpuemu
