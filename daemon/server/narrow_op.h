// FuzzOp's own form narrows what an op's configuration allows: shapes and layouts.
#pragma once

#include "common/config/config.h"
#include "common/protocol/requests.h"

namespace gpuemu {

/// `config` with the dims and layouts of `op_name` cut down to what `wanted` asks for. min_shape
/// and max_shape bound the sizes of the first output. InvalidArgument when a size is computed from
/// other dims, or when nothing is left. REQUIRES: the op exists.
Result<Config> narrow_op(Config config, const std::string& op_name, const OwnFuzzConfig& wanted);

}  // namespace gpuemu
