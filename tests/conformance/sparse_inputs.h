// Sparse matrices for mma.sp and wgmma.mma_async.sp: which elements are there, and the metadata
// that say so, as the PTX ISA lays them out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpuemu::sparse {

inline constexpr uint32_t kRows = 16;  ///< Of A in a warp.
inline constexpr uint32_t kWarpLanes = 32;

/// A form of mma.sp or wgmma.mma_async.sp: its depth, the types of D, A, B and C, and how many
/// selectors it has.
struct Form {
  uint32_t k;
  const char *d, *a, *b, *c;
  uint32_t selectors;
  bool saturates = false;
};
/// What the PTX ISA says about a form, by the width of an element of A.
struct Shape {
  uint32_t chunk;   ///< Elements of a row that share two positions.
  uint32_t kept;    ///< How many of them are stored.
  uint32_t chunks;  ///< Per row.
  bool of_one_row;  ///< The metadata of a lane are of one row, else of two rows 8 apart.
};
Shape shape_of(const Form& form);

/// Returns the number that the bits stand for.
double value_of(const std::string& type, uint64_t bits);

/// One bit pattern of metadata for each chunk of A, row after row: two positions of two bits.
std::vector<uint32_t> drawn_positions(const Form& form, bool ordered, uint64_t stream);

/// Returns which element of a chunk the given element `kept` is.
uint32_t place_in_chunk(const Shape& shape, uint32_t positions, uint32_t kept);

/// Returns the metadata of each lane of a warp.
std::vector<uint32_t> metadata_of(const Form& form, const std::vector<uint32_t>& positions,
                                  uint32_t selector);

}  // namespace gpuemu::sparse
