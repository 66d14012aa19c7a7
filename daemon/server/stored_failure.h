// Finding the failure that a seed means.
#pragma once

#include "common/protocol/records.h"
#include "common/tensor/tensor.h"
#include "daemon/storage/store.h"

namespace gpuemu {

/// The newest failure with exactly this seed (of `op` when given). Else, for seeds that passed
/// through a program with double precision numbers: the one failure whose seed rounds to the same
/// double. NotFound, or InvalidArgument when several fit.
Result<ValidationResult> find_failure(Store& store, uint64_t seed, const std::string& op);

/// The inputs that are stored with a failure of an existing client's op; none when there are none.
Result<NamedTensors> stored_inputs(const ValidationResult& failure);

}  // namespace gpuemu
