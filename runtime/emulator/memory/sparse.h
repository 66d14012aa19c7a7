// Address space without memory behind it: a page comes into being when it is touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/result.h"

namespace gpuemu::emulator {

/// Whether so much memory of the host is better mapped than taken from the heap.
constexpr bool is_sparse(uint64_t bytes) { return bytes >= uint64_t{1} << 30; }

/// Zeros, at the start of a page; null without room for the addresses. Ends with unmap_sparse.
std::byte* map_sparse(uint64_t bytes);
/// A function as Allocation::storage wants one.
void unmap_sparse(void* mapped);

/// Fills [at, at + bytes) with `pattern` again and again, by mapping one copy of it everywhere; up
/// to the end of its last page more may change. REQUIRES: map_sparse() made it, `at` begins a page.
/// Unsupported for a pattern that fills pages only after too many repetitions.
Status repeat_sparse(std::byte* at, uint64_t bytes, std::span<const std::byte> pattern);

}  // namespace gpuemu::emulator
