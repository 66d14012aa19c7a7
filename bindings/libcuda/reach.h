// Which devices reach which memory. Memory of the host is reached by all; memory of a device by its
// own kernels, and by those of devices that may use it as peers. Copies and fills reach all memory.
#pragma once

#include <mutex>

#include "bindings/libcuda/memory.h"
#include "bindings/libcuda/transfer.h"

namespace gpuemu::libcuda {

/// Returns the device whose memory lies at the end; that of `place` for memory that every device
/// reaches. All functions here are thread-safe.
int device_of(Process& driver, const Place& place, const End& end);

/// Copies from or to memory of another device than that of `place`, behind the work of the stream;
/// it is done when this returns.
int copy_across(Process& driver, const Place& place, End to, End from, uint64_t bytes,
                const Transfer& transfer);
/// The same for fill(), of memory of `device`.
int fill_across(Process& driver, const Place& place, int device, uint64_t address, unsigned value,
                unsigned bytes, uint64_t count);

/// Held while memory is added to the allocations or taken from them, and while peers are opened or
/// closed: a device adopts each allocation that it may use once. Holds nothing where there is one
/// device. Taken after ContextState::peers_mutex, and before all others.
std::unique_lock<std::mutex> lock_reach(Process& driver);

/// Lets the kernels of every device use memory of the host.
Status adopt_everywhere(Process& driver, uint64_t address, uint64_t bytes, const std::string& name);
/// Takes that, or what share_with_peers() gave, away again; for the latter with lock_reach().
void release_everywhere(Process& driver, const Allocation& one);

/// Lets the kernels of a device use the memory of another one, now and in future, until each that
/// opened it has closed it.
int open_peer(Process& driver, int device, int peer);
void close_peer(Process& driver, int device, int peer);
/// Lets the kernels of another device use the memory of a pool, or no longer.
int open_pool(Process& driver, Pool pool, PoolState& state, int device);
void close_pool(Process& driver, Pool pool, PoolState& state, int device);
/// Lets the devices that may use the memory of its device as peers use a new allocation; with
/// lock_reach().
void share_with_peers(Process& driver, const Allocation& made);

}  // namespace gpuemu::libcuda
