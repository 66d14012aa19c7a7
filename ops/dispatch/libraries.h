// Variants that a vendor library computes: which are available, and how their work is issued.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "kernels/op.h"
#include "ops/vendor/cublas.h"
#include "runtime/device/stream.h"

namespace gpuemu {

/// The vendor libraries of one device, each loaded on first use. Thread-safe.
class Libraries {
 public:
  /// Returns why the variant's library cannot be used on this machine; "" if it can, or if the
  /// variant needs none. Loads the library. Requires the device's context to be current on this
  /// thread.
  std::string refusal(const KernelVariant& variant);
  /// Identifies the code for which times of the variant are valid, in place of a hash. Requires no
  /// refusal.
  std::string version(const KernelVariant& variant) const;
  /// Issues the case on the stream, with c.workspace. Requires no refusal.
  Status issue(const OpCase& c, const KernelVariant& variant, StreamId stream);

 private:
  std::mutex mutex_;  ///< Guards the members below until the library is loaded.
  bool tried_ = false;
  std::string missing_;
  std::unique_ptr<Cublas> cublas_;
};

/// Returns why this machine lacks the library; "" if it has it. Needs no device.
std::string missing_library(const std::string& library);

/// Returns the variants that this machine can run, in the order in which they are tried.
std::vector<const KernelVariant*> variants_here(const OpKind& op);

}  // namespace gpuemu
