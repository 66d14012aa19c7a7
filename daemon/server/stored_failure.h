// Finding the failure that a seed means.
#pragma once

#include "common/protocol/records.h"
#include "common/tensor/tensor.h"
#include "daemon/server/handlers.h"

namespace gpuemu {

/// The newest failure with exactly this seed, of `op`; without it, of the project's op that has
/// one. Else, for seeds that passed through a program with double precision numbers: the one
/// failure whose seed rounds to the same double. NotFound, or InvalidArgument when several ops or
/// seeds fit.
Result<ValidationResult> find_failure(Call& call, uint64_t seed, const std::string& op);

/// The inputs that are stored with a failure of an existing client's op; none when there are none.
Result<NamedTensors> stored_inputs(const ValidationResult& failure);

}  // namespace gpuemu
