// Describes the owner of an address that is in no memory of the device.
#pragma once

#include <string>

#include "bindings/libcuda/allocations.h"

namespace gpuemu::libcuda {

/// The end of the device's message about such an address: what a kernel accessed is in no tensor.
inline constexpr const char* kBelongsToNone = "which belongs to no tensor";

/// Returns a description of the owner, to follow "0x7f00, which ...": another device, the host or
/// nobody. Sets `what` to the allocation; leaves it null if there is none.
std::string owner_of(uint64_t address, const Allocations& allocations, Allocations::Shared& what);

/// Replaces kBelongsToNone in the message by owner_of() of the address before it. Returns the
/// allocation that contains the address; null if there is none, and for other messages.
Allocations::Shared name_owner(std::string& message, const Allocations& allocations,
                               uint64_t& address);

/// Returns true if all of the bytes are memory that only this process reads and writes, and no
/// file's.
bool is_private_memory(uint64_t address, uint64_t bytes);

/// Corrects a message that says that memory was freed if the memory still exists: a peer closed it.
/// Says whose memory it is.
void name_closed(std::string& message, const Allocation& what);

}  // namespace gpuemu::libcuda
