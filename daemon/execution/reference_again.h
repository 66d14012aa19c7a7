// Runs the reference of a case again, with the same inputs or others.
#pragma once

#include "common/base/result.h"
#include "common/tensor/tensor.h"

namespace gpuemu {

struct CaseWork;
struct ReferenceReply;

/// Calls the reference of one case again.
class ReferenceAgain {
 public:
  virtual ~ReferenceAgain() = default;
  /// Returns the reference's outputs for the case with these inputs changed; empty if the reference
  /// fails. May overwrite its first answer in the arena.
  virtual Result<NamedTensors> of(const NamedTensors& changed) = 0;
  /// Computes the first answer again into the arena. An error if the reference fails this time.
  virtual Result<ReferenceReply> first() = 0;
};

/// Runs the reference in the slot's Python process. Not thread-safe.
class SlotReference final : public ReferenceAgain {
 public:
  explicit SlotReference(CaseWork& work) : work_(work) {}
  /// Restores the arena's inputs, but not the first answer.
  Result<NamedTensors> of(const NamedTensors& changed) override;
  Result<ReferenceReply> first() override;

 private:
  CaseWork& work_;
};

}  // namespace gpuemu
