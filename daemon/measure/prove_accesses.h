// Proves that memory accesses of an op's kernels stay inside their tensors for all data and sizes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/config/config.h"
#include "common/protocol/replies.gen.h"
#include "daemon/kernels/kernel_store.h"

namespace gpuemu {

struct ProveOptions {
  std::string kernel;          ///< "": every variant.
  std::optional<DType> dtype;  ///< Absent: all of the op's.
  std::function<bool()> stop;  ///< Called between kernels.
};

/// Adds one LaunchBounds to `reply` for each launch, variant and dtype. NotFound if the op has no
/// such kernel or dtype. REQUIRES: the op has kernels; options.stop is set.
Status prove_op(const Config& config, KernelStore& kernels, const OpConfig& op,
                const ProveOptions& options, BoundsReportReply& reply);

}  // namespace gpuemu
