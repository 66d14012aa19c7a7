// Finds the failure that a seed refers to.
#pragma once

#include "common/protocol/records.h"
#include "common/tensor/tensor.h"
#include "daemon/server/handlers.h"

namespace gpuemu {

/// Returns the newest failure with exactly this seed, of `op`; without `op`, of any op. If there is
/// none, returns the only failure whose seed rounds to the same double, because some programs pass
/// seeds as double-precision numbers. NotFound, or InvalidArgument if several seeds match.
Result<ValidationResult> find_failure(Call& call, uint64_t seed, const std::string& op);

/// Returns the inputs stored with a failure of an existing client's op; none if there are none.
Result<NamedTensors> stored_inputs(const ValidationResult& failure);

}  // namespace gpuemu
