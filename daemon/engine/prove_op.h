// Which memory accesses of an op's kernels stay inside of their tensors, for all data and sizes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/config/config.h"
#include "common/protocol/replies.h"
#include "daemon/engine/kernel_store.h"

namespace gpuemu {

struct ProveOptions {
  std::string kernel;          ///< "": every variant.
  std::optional<DType> dtype;  ///< Absent: all of the op's.
};

/// Adds to `reply` one LaunchBounds for each launch, variant and dtype. `stop` is asked between
/// them. NotFound when the op has no such kernel or dtype. REQUIRES: the op has kernels.
Status prove_op(const Config& config, KernelStore& kernels, const OpConfig& op,
                const ProveOptions& options, BoundsReportReply& reply,
                const std::function<bool()>& stop);

}  // namespace gpuemu
