// Controls which devices can access which memory: all can access host memory; a device's memory can
// be accessed by its own kernels, and by those of devices that may use it as peers. Copies and
// fills can access all memory.
#pragma once

#include <mutex>

#include "bindings/libcuda/memory/memory.h"
#include "bindings/libcuda/memory/transfer.h"

namespace gpuemu::libcuda {

/// Returns the device whose memory is at this end; that of `place` for memory that every device can
/// access. All functions here are thread-safe.
int device_of(Process& driver, const Place& place, const End& end);

/// Copies from or to memory of a device other than that of `place`, after the work of the stream;
/// the copy is done when this returns.
int copy_across(Process& driver, const Place& place, End to, End from, uint64_t bytes,
                const Transfer& transfer);
/// Does what fill() does, with memory of `device`.
int fill_across(Process& driver, const Place& place, int device, uint64_t address, unsigned value,
                unsigned bytes, uint64_t count);

/// Held while allocations are added or removed, and while peers are opened or closed, so that a
/// device adopts each allocation only once. Holds nothing if there is only one device. Taken after
/// ContextState::peers_mutex, and before all other mutexes.
std::unique_lock<std::mutex> lock_reach(Process& driver);

/// Lets the kernels of every device use host memory.
Status adopt_everywhere(Process& driver, uint64_t address, uint64_t bytes, const std::string& name);
/// Revokes that, or the access of share_with_peers(); for the latter the caller holds lock_reach().
void release_everywhere(Process& driver, const Allocation& one);

/// Lets the kernels of a device use current and future memory of another one, until every opener
/// has closed it.
int open_peer(Process& driver, int device, int peer);
void close_peer(Process& driver, int device, int peer);
/// Allows or forbids the kernels of another device to use the memory of a pool.
int open_pool(Process& driver, Pool pool, PoolState& state, int device);
void close_pool(Process& driver, Pool pool, PoolState& state, int device);
/// Lets the peers of its device use a new allocation. The caller holds lock_reach().
void share_with_peers(Process& driver, const Allocation& made);

}  // namespace gpuemu::libcuda
