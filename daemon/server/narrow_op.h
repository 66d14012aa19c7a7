// Narrows the shapes and layouts of an op's configuration for FuzzOp's own form.
#pragma once

#include "common/config/config.h"
#include "common/protocol/records.gen.h"

namespace gpuemu {

/// Returns `config` with the dims and layouts of `op_name` limited to `wanted`. min_shape and
/// max_shape bound the sizes of the first output. InvalidArgument if a size is computed from other
/// dims, or nothing is left. Requires the op to exist.
Result<Config> narrow_op(Config config, const std::string& op_name, const OwnFuzzConfig& wanted);

}  // namespace gpuemu
