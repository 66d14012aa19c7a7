// Says whose memory an address is that belongs to no memory of the device.
#pragma once

#include <string>

#include "bindings/libcuda/allocations.h"

namespace gpuemu::libcuda {

/// The end of a message of the device about such an address: what a kernel touched is no tensor.
inline constexpr const char* kBelongsToNone = "which belongs to no tensor";

/// Returns whose memory the address is, for "0x7f00, which ...": that of another device, the host's
/// or nobody's. `what` becomes the allocation, or stays null.
std::string owner_of(uint64_t address, const Allocations& allocations, Allocations::Shared& what);

/// Replaces kBelongsToNone in the message by owner_of() the address before it. Returns the
/// allocation that holds the address; null where there is none, and for other messages.
Allocations::Shared name_owner(std::string& message, const Allocations& allocations,
                               uint64_t& address);

/// Whether all of the bytes are memory that this process alone reads and writes, no file's.
bool is_private_memory(uint64_t address, uint64_t bytes);

/// For a device memory that a peer has given back is freed. Says whose it is where it still lives.
void name_closed(std::string& message, const Allocation& what);

}  // namespace gpuemu::libcuda
