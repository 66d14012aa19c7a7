// Writes the JSON that the C interface returns.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/op.h"
#include "ops/capi/log_book.h"
#include "ops/capi/memory_book.h"
#include "ops/dispatch/registry.h"
#include "ops/profile/profiler.h"
#include "runtime/device/device_finding.h"

namespace gpuemu::opcall {

/// Returns the versions of the library, its interface, the driver and the CUDA libraries.
std::string versions_json();
std::string op_json(const OpKind& op, const OpRegistry& registry);
std::string findings_json(std::span<const DeviceFinding> findings);
/// Returns a list with [name, bytes] for each allocation.
std::string allocations_json(std::span<const std::pair<uint64_t, std::string>> allocations);
std::string profile_json(const ProfileResult& result, const MemoryProfile& memory);
/// `times`: include the microseconds of each call. `dropped`: calls lost because the log was full.
std::string calls_json(std::span<const LoggedCall> calls, bool times, uint64_t dropped);

}  // namespace gpuemu::opcall
