// Reserves address space whose pages get memory on first access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/result.h"

namespace gpuemu::emulator {

/// Returns whether an allocation of this size is mapped rather than taken from the heap.
constexpr bool is_sparse(uint64_t bytes) { return bytes >= uint64_t{1} << 30; }

/// Maps zeros, page-aligned; null if the address space is exhausted. Free them with unmap_sparse.
std::byte* map_sparse(uint64_t bytes);
/// Frees such a mapping. Has the signature of a deleter of Allocation::storage.
void unmap_sparse(void* mapped);

/// Fills [at, at + bytes) with repetitions of `pattern` by mapping one copy of it everywhere. May
/// also change the rest of the last page. Requires memory from map_sparse() and `at` at the start
/// of a page. Unsupported for a pattern that fills whole pages only after too many repetitions.
Status repeat_sparse(std::byte* at, uint64_t bytes, std::span<const std::byte> pattern);

}  // namespace gpuemu::emulator
