// ldmatrix: eight rows of a matrix from shared memory to the registers of a warp.
#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include <emmintrin.h>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/checks/shared_races.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/matrices/product.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {
constexpr uint32_t kRows = 8, kRowBytes = 16, kCellBytes = 2;

bool all_defined(const std::vector<uint8_t>& defined, const uint64_t* address, uint32_t lanes,
                 uint32_t rows) {
  for (uint32_t row = 0; row < rows; ++row) {
    if ((lanes >> row & 1) == 0) return false;
    const auto* at = reinterpret_cast<const __m128i*>(defined.data() + address[row]);
    if (_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_loadu_si128(at), _mm_setzero_si128())) != 0) {
      return false;
    }
  }
  return true;
}

/// Records lanes that receive a pair of undefined cells. `address` and `lanes` are those of the
/// rows.
void note_undefined_rows(Warp& warp, const Step& step, const AccessOperands& access,
                         const uint64_t* address, uint32_t lanes) {
  const std::vector<uint8_t>& defined = warp.block->shared.defined;
  if (all_defined(defined, address, lanes, access.count * kRows)) return;
  for (uint32_t matrix = 0; matrix < access.count; ++matrix) {
    uint32_t undefined = 0;
    uint64_t offset[kLanes] = {};
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      bool all = true;
      for (uint32_t half = 0; half < 2; ++half) {
        const uint32_t line = lane / 4, along = lane % 4 * 2 + half;
        const uint32_t row = matrix * kRows + (access.is_transposed ? along : line);
        const uint64_t at =
            address[row] + uint64_t{kCellBytes} * (access.is_transposed ? line : along);
        if (half == 0) offset[lane] = at;
        all = all && (lanes >> row & 1) != 0 && defined[at] == 0 && defined[at + 1] == 0;
      }
      if (all) undefined |= uint32_t{1} << lane;
    }
    if (undefined != 0) note_undefined_shared(warp, step, matrix, undefined, offset);
  }
}

/// The rows of a matrix, of eight 16-bit elements each; four lanes hold two elements each.
struct MatrixRows {
  __m128i rows[kRows] = {};
};
MatrixRows transposed(const MatrixRows& matrix) {
  const auto& rows = matrix.rows;
  __m128i pairs[kRows], fours[kRows];
  MatrixRows out;
  for (uint32_t i = 0; i < kRows / 2; ++i) {
    pairs[i] = _mm_unpacklo_epi16(rows[2 * i], rows[2 * i + 1]);
    pairs[i + 4] = _mm_unpackhi_epi16(rows[2 * i], rows[2 * i + 1]);
  }
  for (uint32_t half = 0; half < kRows; half += 4) {
    for (uint32_t i = 0; i < 2; ++i) {
      fours[half + i] = _mm_unpacklo_epi32(pairs[half + 2 * i], pairs[half + 2 * i + 1]);
      fours[half + i + 2] = _mm_unpackhi_epi32(pairs[half + 2 * i], pairs[half + 2 * i + 1]);
    }
    for (uint32_t i = 0; i < 2; ++i) {
      out.rows[half + 2 * i] = _mm_unpacklo_epi64(fours[half + 2 * i], fours[half + 2 * i + 1]);
      out.rows[half + 2 * i + 1] = _mm_unpackhi_epi64(fours[half + 2 * i], fours[half + 2 * i + 1]);
    }
  }
  return out;
}
}  // namespace

void load_matrix(Warp& warp, const Step& step, const AccessOperands& access) {
  if (!whole_warp(warp, step)) return;
  uint64_t address[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t base =
        access.is_wide ? warp.u64(step.src[0])[lane] : warp.u32(step.src[0])[lane];
    address[lane] = (base + static_cast<uint64_t>(access.offset)) & ~kWindowMask;
  }
  const uint32_t all = warp.masks.running,
                 wanted = access.count == 4 ? kNone : (uint32_t{1} << (kRows * access.count)) - 1;
  warp.masks.running &= wanted;
  const uint32_t lanes =
      warp.masks.running == 0 ? 0 : resolve_shared(warp, step, address, kRowBytes, Access::Load);
  if (lanes != 0 && warp.launch->inputs.checks.race) {
    note_shared(warp, step, address, kRowBytes, Access::Load, lanes, 0);
  }
  if (warp.launch->inputs.checks.defers) note_undefined_rows(warp, step, access, address, lanes);
  warp.meet_lanes(kNone);  // .sync: the rows have been read for all lanes.
  warp.masks.running = all;
  for (uint32_t matrix = 0; matrix < access.count; ++matrix) {
    MatrixRows loaded;
    for (uint32_t row = 0; row < kRows; ++row) {
      if ((lanes >> (matrix * kRows + row) & 1) == 0) continue;
      const std::byte* from = warp.block->shared.bytes.data() + address[matrix * kRows + row];
      loaded.rows[row] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    }
    if (access.is_transposed) loaded = transposed(loaded);
    uint32_t* out = warp.u32(warp.function.lists[access.list + matrix]);
    if (all == kNone) {
      std::memcpy(out, &loaded, sizeof(loaded));
      continue;
    }
    std::array<uint32_t, kLanes> words;
    std::memcpy(words.data(), &loaded, sizeof(loaded));
    for (uint32_t left = all; left != 0; left &= left - 1) {
      out[std::countr_zero(left)] = words[std::countr_zero(left)];
    }
  }
}

}  // namespace gpuemu::emulator::steps
