// mma.sync, wmma, stmatrix and movmatrix: fragments distributed over the registers of a warp.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/checks/shared_races.h"
#include "runtime/emulator/code/matrix_step.h"
#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/matrices/product.h"
#include "runtime/emulator/matrices/sparse_product.h"
#include "runtime/emulator/matrices/tile_product.h"
#include "runtime/emulator/matrices/undefined_products.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/steps/counting.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {
/// The values that the lanes store, one after another; empty for a load.
struct Stored {
  const std::byte* first = nullptr;
  size_t stride = 0;
  Access access() const { return first != nullptr ? Access::Store : Access::Load; }
};

/// Returns the lanes that store the value that is already at `base` + `address`.
uint32_t unchanged(const Stored& stored, uint32_t lanes, const uint64_t* address, uint64_t base,
                   uint32_t bytes) {
  uint32_t same = 0;
  for (uint32_t left = stored.first != nullptr ? lanes : 0; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const auto* now = reinterpret_cast<const std::byte*>(base + address[lane]);
    if (std::memcmp(stored.first + lane * stored.stride, now, bytes) == 0) {
      same |= left & (0 - left);
    }
  }
  return same;
}

uint32_t resolve_in_global(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                           const Stored& stored) {
  const uint32_t good = resolve_global(warp, step, address, bytes, stored.access());
  if (warp.launch->races != nullptr) {
    const uint32_t noted = good & ~unchanged(stored, good, address, 0, bytes);
    if (noted != 0) {
      (stored.first != nullptr ? before_global : after_global)(warp, step, address, bytes,
                                                               stored.access(), noted);
    }
  }
  if (good != 0 && stored.first != nullptr && warp.launch->inputs.checks.defines) {
    define_global(warp, step, address, bytes, good);
  }
  return good;
}

/// Reports the accesses to the race detector, with the lanes reversed. Which lane holds which
/// element is unspecified; if our layout matched the one by which a kernel fills its tile, each
/// lane would only access its own elements, and no race would show.
void note_fragment(Warp& warp, const Step& step, const uint64_t* address, uint32_t bytes,
                   Access access, uint32_t lanes, uint32_t same_value) {
  uint64_t turned[kLanes];
  uint32_t turned_lanes = 0, turned_same = 0;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint32_t from = kLanes - 1 - lane;
    turned[lane] = address[from];
    turned_lanes |= (lanes >> from & 1) << lane;
    turned_same |= (same_value >> from & 1) << lane;
  }
  note_shared(warp, step, turned, bytes, access, turned_lanes, turned_same);
}

/// Checks the lanes, and converts the offsets of valid ones to host addresses.
uint32_t resolve_in_shared(Warp& warp, const Step& step, uint64_t* address, uint32_t bytes,
                           const Stored& stored) {
  Block& block = *warp.block;
  const auto base = reinterpret_cast<uint64_t>(block.shared.bytes.data());
  const uint32_t good = resolve_shared(warp, step, address, bytes, stored.access());
  if (good != 0 && warp.launch->inputs.checks.race) {
    uint32_t same = unchanged(stored, good, address, base, bytes);
    for (uint32_t left = same; left != 0; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      if (!block.shared.all_written(address[lane], bytes)) same &= ~(uint32_t{1} << lane);
    }
    note_fragment(warp, step, address, bytes, stored.access(), good, same);
  }
  for (uint32_t left = good; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    if (stored.first != nullptr && warp.launch->inputs.checks.init) {
      std::memset(block.shared.defined.data() + address[lane], 1, bytes);
    }
    address[lane] += base;
  }
  return good;
}

/// Converts each lane's address, generic or of a space, to the host address of `bytes` bytes; 0 if
/// the access is invalid.
void resolve(Warp& warp, const Step& step, uint64_t* address, uint32_t bytes,
             const Stored& stored) {
  const uint32_t all = warp.masks.running;
  const auto space = step.operands.get<MemoryOperands>().space;
  uint32_t shared = space == ptx::Space::Shared ? all : 0;
  if (space == ptx::Space::Generic) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((address[lane] & kWindowMask) == kSharedWindow) shared |= uint32_t{1} << lane & all;
    }
  }
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((shared >> lane & 1) != 0) address[lane] &= ~kWindowMask;
  }
  uint32_t good = 0;
  warp.masks.running = all & ~shared;
  if (warp.masks.running != 0) good = resolve_in_global(warp, step, address, bytes, stored);
  warp.masks.running = shared;
  if (shared != 0) good |= resolve_in_shared(warp, step, address, bytes, stored);
  warp.masks.running = all;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((good >> lane & 1) == 0) address[lane] = 0;
  }
}

}  // namespace

void multiply_matrices(Warp& warp, const Step& step, const ProductOperands& product) {
  if (!whole_warp(warp, step)) return;
  const TensorStep& matrices = warp.code().tensors[product.matrices];
  follow_product(warp, step, matrices);
  if (!matrices.sparsity && multiply_fragments(warp, matrices)) return;
  for (uint32_t quad = 0; quad < (matrices.d.of_quads ? kQuads : 1); ++quad) {
    Matrix a = gather(warp, matrices.a, quad), b = gather(warp, matrices.b, quad),
           c = gather(warp, matrices.c, quad);
    if (matrices.sparsity) {
      multiply_sparse(warp, step, matrices, a, b, c);
    } else {
      multiply(matrices, a, b, c, warp.launch->inputs.sm);
    }
    scatter(warp, matrices.d, c, quad);
  }
}

namespace {
/// A fragment moves in pieces of 16 bytes, one per lane, like the rows of ldmatrix.
void count_fragment(Warp& warp, const Step& step, const TensorStep& matrices) {
  const uint64_t bytes = element_bits(matrices.d.type) / 8;
  const uint64_t stride = warp.u32(step.src[1])[0] * bytes;
  const uint64_t lines = matrices.by_column ? matrices.d.columns : matrices.d.rows,
                 line_bytes = (matrices.by_column ? matrices.d.rows : matrices.d.columns) * bytes;
  const auto& access = step.operands.get<MemoryOperands>();
  const uint64_t base = (access.is_wide ? warp.u64(step.src[0])[0] : warp.u32(step.src[0])[0]) +
                        static_cast<uint64_t>(access.offset);
  const auto width = static_cast<uint32_t>(std::min<uint64_t>(line_bytes, kPieceBytes));
  PieceCounter pieces(warp, step, access.space, width);
  for (uint64_t line = 0; line < lines; ++line) {
    for (uint64_t at = 0; at < line_bytes; at += width) pieces.add(base + line * stride + at);
  }
}
}  // namespace

namespace {
struct WrittenTo {
  const uint64_t* host;  ///< Per lane; 0: nothing was written.
  uint32_t bytes;
};
/// Marks the memory to which undefined elements of register `reg` were written.
void keep_fragment(Warp& warp, const Step& step, uint32_t reg,
                   const std::array<uint64_t, kLanes>& places, const WrittenTo& written) {
  if (!Definedness::follows_cells(warp)) return;
  const auto& registers = instruction_of(warp, step).operands[1].elements;
  if (reg >= registers.size()) return;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((warp.masks.running >> lane & 1) == 0 || written.host[lane] == 0) continue;
    warp.tracking.definedness.keep_cell(
        warp, step,
        {registers[reg], lane, step.operands.get<MemoryOperands>().space, places[lane],
         written.bytes});
  }
}
}  // namespace

void move_fragment(Warp& warp, const Step& step, const FragmentOperands& access) {
  if (!whole_warp(warp, step)) return;
  const TensorStep& matrices = warp.code().tensors[access.matrices];
  const TensorOperand& fragment = matrices.d;
  if (warp.block->counters != nullptr) count_fragment(warp, step, matrices);
  const uint32_t bits = element_bits(fragment.type), bytes = bits / 8;
  const uint32_t per_register = bits >= 32 ? 1 : 32 / bits;
  for (uint32_t reg = 0; reg < fragment.registers.size(); ++reg) {
    for (uint32_t part = 0; part < per_register; ++part) {
      uint64_t address[kLanes];
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const Place place = place_of_wmma(fragment, per_register, reg, lane, part);
        const uint64_t stride = warp.u32(step.src[1])[lane];
        const uint64_t index = matrices.by_column ? place.column * stride + place.row
                                                  : place.row * stride + place.column;
        const uint64_t base =
            access.is_wide ? warp.u64(step.src[0])[lane] : warp.u32(step.src[0])[lane];
        address[lane] = base + static_cast<uint64_t>(access.offset) + index * bytes;
      }
      warp.tracking.definedness.fragment_element = reg;
      std::byte* const words = warp.registers.data + fragment.registers[reg] + part * bytes;
      const size_t step_bytes = bits == 64 ? 8 : 4;
      std::array<uint64_t, kLanes> places;
      std::copy_n(address, kLanes, places.begin());
      resolve(warp, step, address, bytes, matrices.store ? Stored{words, step_bytes} : Stored());
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if ((warp.masks.running >> lane & 1) == 0) continue;
        std::byte* const word = words + lane * step_bytes;
        void* host = reinterpret_cast<void*>(address[lane]);
        if (host == nullptr && !matrices.store) std::memset(word, 0, bytes);
        if (host != nullptr) {
          std::memcpy(matrices.store ? host : word, matrices.store ? word : host, bytes);
        }
      }
      if (matrices.store) keep_fragment(warp, step, reg, places, {address, bytes});
    }
  }
  warp.meet_lanes(kNone);
}

void store_matrix(Warp& warp, const Step& step, const AccessOperands& access) {
  if (!whole_warp(warp, step)) return;
  constexpr uint32_t kRows = 8, kRowBytes = 16;
  uint64_t address[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t base =
        access.is_wide ? warp.u64(step.src[0])[lane] : warp.u32(step.src[0])[lane];
    address[lane] = (base + static_cast<uint64_t>(access.offset)) & ~kWindowMask;
  }
  std::array<uint64_t, kLanes> places;
  std::copy_n(address, kLanes, places.begin());
  uint16_t rows[kLanes][kRows];
  for (uint32_t row = 0; row < kRows * access.count; ++row) {
    const uint32_t* values = warp.u32(warp.function.lists[access.list + row / kRows]);
    for (uint32_t column = 0; column < kRows; ++column) {
      const uint32_t r = access.is_transposed ? column : row % kRows,
                     c = access.is_transposed ? row % kRows : column;
      rows[row][column] = static_cast<uint16_t>(values[r * 4 + c / 2] >> (c % 2 * 16));
    }
  }
  const uint32_t all = warp.masks.running;
  if (access.count < 4) warp.masks.running &= (uint32_t{1} << (kRows * access.count)) - 1;
  if (warp.masks.running != 0) {
    resolve(warp, step, address, kRowBytes, {reinterpret_cast<const std::byte*>(rows), kRowBytes});
  } else {
    std::fill_n(address, kLanes, uint64_t{0});
  }
  warp.masks.running = all;
  for (uint32_t row = 0; row < kRows * access.count; ++row) {
    if (address[row] != 0) std::memcpy(reinterpret_cast<void*>(address[row]), rows[row], kRowBytes);
  }
  if (!Definedness::follows_cells(warp)) return;
  const auto& registers = instruction_of(warp, step).operands.back().elements;
  for (uint32_t row = 0; row < kRows * access.count; ++row) {
    for (uint32_t column = 0; address[row] != 0 && column < kRows; ++column) {
      const uint32_t r = access.is_transposed ? column : row % kRows,
                     c = access.is_transposed ? row % kRows : column;
      warp.tracking.definedness.keep_cell(
          warp, step,
          {registers[row / kRows], r * 4 + c / 2, access.space,
           places[row] + column * sizeof(uint16_t), sizeof(uint16_t)});
    }
  }
}

/// movmatrix.trans
void transpose_matrix(Warp& warp, const Step& step) {
  if (!whole_warp(warp, step)) return;
  std::array<uint32_t, kLanes> out{};
  const uint32_t* in = warp.u32(step.src[0]);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t row = lane % 4 * 2 + half, column = lane / 4;
      out[lane] |= (in[row * 4 + column / 2] >> (column % 2 * 16) & 0xffff) << (16 * half);
    }
  }
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    if ((warp.masks.running >> lane & 1) != 0) warp.u32(step.dst)[lane] = out[lane];
  }
}

}  // namespace gpuemu::emulator::steps
