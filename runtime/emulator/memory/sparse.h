// Reserves address space whose pages get memory when they are first accessed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/result.h"

namespace gpuemu::emulator {

/// Whether an allocation of this size should be mapped rather than taken from the heap.
constexpr bool is_sparse(uint64_t bytes) { return bytes >= uint64_t{1} << 30; }

/// Returns page-aligned zeros; null if there is no address space left. Free them with unmap_sparse.
std::byte* map_sparse(uint64_t bytes);
/// Has the signature of a deleter of Allocation::storage.
void unmap_sparse(void* mapped);

/// Fills [at, at + bytes) with `pattern` again and again, by mapping one copy of it everywhere; up
/// to the end of its last page more may change. REQUIRES: map_sparse() made it, `at` begins a page.
/// Unsupported for a pattern that fills pages only after too many repetitions.
Status repeat_sparse(std::byte* at, uint64_t bytes, std::span<const std::byte> pattern);

}  // namespace gpuemu::emulator
