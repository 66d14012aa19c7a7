// Finds the failure that a seed refers to.
#pragma once

#include <string>
#include <string_view>

#include "common/protocol/errors.gen.h"
#include "common/protocol/records.gen.h"
#include "common/tensor/tensor.h"
#include "daemon/server/handlers.h"

namespace gpuemu {

struct OpConfig;

/// Returns the newest failure with exactly this seed, of `op`; without `op`, of any op. If there is
/// none, returns the only failure whose seed rounds to the same double, because some programs pass
/// seeds as double-precision numbers. NotFound, or InvalidArgument if several seeds match.
Result<ValidationResult> find_failure(Call& call, uint64_t seed, const std::string& op);

/// Returns whether the daemon generated the failure's case and runs a kernel on it; it cannot run
/// again what a client submitted.
bool has_kernel_case(const OpConfig& op, const ValidationResult& failure);

/// Returns the reply to a request that needs has_kernel_case(); `what` it asks for: "exported".
ErrorReply no_kernel_case(const ValidationResult& failure, std::string_view what);

/// Returns the inputs stored with a failure of an existing client's op; none if there are none.
Result<NamedTensors> stored_inputs(const ValidationResult& failure);

}  // namespace gpuemu
