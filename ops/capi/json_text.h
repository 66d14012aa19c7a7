// What the C interface gives as JSON.
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

/// Versions of the library, its interface and what it found on this machine.
std::string versions_json();
std::string op_json(const OpKind& op, const OpRegistry& registry);
std::string findings_json(std::span<const DeviceFinding> findings);
/// [name, bytes] of each.
std::string allocations_json(std::span<const std::pair<uint64_t, std::string>> allocations);
std::string profile_json(const ProfileResult& result, const MemoryProfile& memory);
/// `times`: with the microseconds that calls took. `dropped`: how many found no room.
std::string calls_json(std::span<const LoggedCall> calls, bool times, uint64_t dropped);

}  // namespace gpuemu::opcall
