// Variants that a library of the machine computes: which there are, and issuing their work.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "kernels/op.h"
#include "ops/vendor/cublas.h"
#include "runtime/device/stream.h"

namespace gpuemu {

/// Vendor libraries of one device, each loaded when it is first asked for. Any thread.
class Libraries {
 public:
  /// Why the library of the variant is not used on this machine; "" when it is, or when the variant
  /// needs none. Loads it. The device's context is current on this thread.
  std::string refusal(const KernelVariant& variant);
  /// Instead of a hash of code: what times of the variant belong to. REQUIRES: not refused.
  std::string version(const KernelVariant& variant) const;
  /// Issues the case on the stream, with c.workspace. REQUIRES: not refused.
  Status issue(const OpCase& c, const KernelVariant& variant, StreamId stream);

 private:
  std::mutex mutex_;  ///< Guards what follows, until it is loaded.
  bool tried_ = false;
  std::string missing_;
  std::unique_ptr<Cublas> cublas_;
};

/// Why this machine has no such library; "" when it has. Needs no device.
std::string missing_library(const std::string& library);

/// The variants that this machine can run, in the order in which they are tried.
std::vector<const KernelVariant*> variants_here(const OpKind& op);

}  // namespace gpuemu
