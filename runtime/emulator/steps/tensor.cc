// mma.sync, wmma, stmatrix and movmatrix: fragments spread over the registers of a warp.
#include "runtime/emulator/machine/tensor.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/emulator/machine/access.h"
#include "runtime/emulator/machine/program.h"
#include "runtime/emulator/machine/races.h"
#include "runtime/emulator/math/dot.h"

namespace gpuemu::emulator::steps {
namespace {
using ptx::Type;

uint32_t element_bits(Type type) {
  if (type == Type::TF32 || type == Type::F32 || type == Type::S32) return 32;
  return type == Type::F64 ? 64 : ptx::byte_size(type) * 8;
}

/// Row and column of an element.
struct Place {
  uint32_t row = 0, column = 0;
};

/// Where mma.sync keeps element `part` of register `reg` of `lane`.
Place place_of(TensorRole role, uint32_t per_register, uint32_t reg, uint32_t lane, uint32_t part) {
  const uint32_t group = lane / 4, within = lane % 4;
  if (role == TensorRole::A)
    return {group + 8 * (reg & 1), reg / 2 * 4 * per_register + within * per_register + part};
  if (role == TensorRole::B) return {reg * 4 * per_register + within * per_register + part, group};
  const uint32_t index = reg * per_register + part;
  return {group + 8 * (index / 2), within * 2 + index % 2};
}

/// wmma leaves the places to the implementation: elements in order over the lanes, repeated where
/// the registers hold more than there are.
Place place_of_wmma(const TensorOperand& operand, uint32_t per_register, uint32_t reg,
                    uint32_t lane, uint32_t part) {
  const uint32_t at =
      ((reg * per_register + part) * kLanes + lane) % (operand.rows * operand.columns);
  return {at / operand.columns, at % operand.columns};
}

/// Calls `visit` with the place, the register's offset, the lane and the shift of every element.
template <typename Visit>
void each_element(const TensorOperand& operand, const Visit& visit) {
  const uint32_t bits = element_bits(operand.type), per_register = bits >= 32 ? 1 : 32 / bits;
  for (uint32_t reg = 0; reg < operand.registers.size(); ++reg)
    for (uint32_t part = 0; part < per_register; ++part)
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const Place place = operand.opaque ? place_of_wmma(operand, per_register, reg, lane, part)
                                           : place_of(operand.role, per_register, reg, lane, part);
        if (place.row < operand.rows && place.column < operand.columns)
          visit(place, operand.registers[reg], lane, part * bits);
      }
}

struct Matrix {
  uint32_t columns = 0;
  std::vector<uint64_t> cells;
  uint64_t& at(uint32_t row, uint32_t column) { return cells[size_t{row} * columns + column]; }
};

Matrix gather(Warp& warp, const TensorOperand& operand) {
  Matrix out{operand.columns, std::vector<uint64_t>(size_t{operand.rows} * operand.columns)};
  const uint32_t bits = element_bits(operand.type);
  const uint64_t keep = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  each_element(operand, [&](Place place, uint32_t reg, uint32_t lane, uint32_t shift) {
    const uint64_t word = bits == 64 ? warp.u64(reg)[lane] : warp.u32(reg)[lane];
    out.at(place.row, place.column) = word >> shift & keep;
  });
  return out;
}

void scatter(Warp& warp, const TensorOperand& operand, Matrix& from) {
  const uint32_t bits = element_bits(operand.type);
  each_element(operand, [&](Place place, uint32_t reg, uint32_t lane, uint32_t shift) {
    if ((warp.mask >> lane & 1) == 0) return;
    const uint64_t value = from.at(place.row, place.column);
    if (bits == 64) {
      warp.u64(reg)[lane] = value;
      return;
    }
    const uint32_t keep = bits == 32 ? kNone : ((uint32_t{1} << bits) - 1) << shift;
    uint32_t& word = warp.u32(reg)[lane];
    word = (word & ~keep) | (static_cast<uint32_t>(value) << shift & keep);
  });
}

float half_to_float(uint32_t bits) {
  const uint32_t rest = bits & 0x7fff;
  const float size = rest >= 0x7c00 ? std::bit_cast<float>(0x7f800000u | (rest & 0x3ff) << 13)
                                    : std::bit_cast<float>(rest << 13) * 0x1p112f;
  return (bits & 0x8000) != 0 ? -size : size;
}
uint32_t float_to_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size > 0x7f800000) return 0x7fff;
  if (size >= 0x477ff000) return sign | 0x7c00;
  if (size < 0x38800000)
    return sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000);
  return sign | (size + 0xfff + (size >> 13 & 1) - 0x38000000) >> 13;
}

uint64_t multiply_integers(const TensorStep& step, Matrix& a, Matrix& b, uint64_t start,
                           Place place) {
  int64_t sum = static_cast<int32_t>(start);
  for (uint32_t k = 0; k < step.a.columns; ++k)
    sum += int64_t{integer_element(static_cast<uint32_t>(a.at(place.row, k)), step.a.type)} *
           integer_element(static_cast<uint32_t>(b.at(k, place.column)), step.b.type);
  if (step.saturate) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
  return static_cast<uint32_t>(sum);
}

uint64_t multiply_doubles(const TensorStep& step, Matrix& a, Matrix& b, uint64_t start,
                          Place place) {
  double sum = std::bit_cast<double>(start);
  for (uint32_t k = 0; k < step.a.columns; ++k)
    sum = __builtin_fma(std::bit_cast<double>(a.at(place.row, k)),
                        std::bit_cast<double>(b.at(k, place.column)), sum);
  return std::bit_cast<uint64_t>(sum);
}

void multiply_floats(const TensorStep& step, Matrix& a, Matrix& b, Matrix& c, int sm) {
  const DotModel model = dot_model(sm, step.a.type);
  const uint32_t depth = step.a.columns;
  std::vector<Factor> rows(size_t{step.a.rows} * depth), columns(size_t{step.b.columns} * depth);
  for (uint32_t k = 0; k < depth; ++k) {
    for (uint32_t i = 0; i < step.a.rows; ++i)
      rows[size_t{i} * depth + k] = factor_of(static_cast<uint32_t>(a.at(i, k)), step.a.type);
    for (uint32_t j = 0; j < step.b.columns; ++j)
      columns[size_t{j} * depth + k] = factor_of(static_cast<uint32_t>(b.at(k, j)), step.b.type);
  }
  for (uint32_t i = 0; i < step.a.rows; ++i)
    for (uint32_t j = 0; j < step.b.columns; ++j) {
      const auto bits = static_cast<uint32_t>(c.at(i, j));
      const float start =
          step.c.type == Type::F16 ? half_to_float(bits) : std::bit_cast<float>(bits);
      const float sum = dot_float(std::span(rows).subspan(size_t{i} * depth, depth),
                                  std::span(columns).subspan(size_t{j} * depth, depth), start,
                                  step.a.type, model);
      c.at(i, j) = step.d.type == Type::F16 ? float_to_half(sum) : std::bit_cast<uint32_t>(sum);
    }
}

bool whole_warp(Warp& warp, const Ins& ins) {
  if (warp.await_paths(ins, kNone)) return false;
  ++warp.syncs;
  if (warp.mask != kNone && warp.launch->checks.sync)
    report(warp, ins,
           {.kind = "illegal_mask",
            .message = "a matrix instruction needs all lanes of the warp",
            .lane = static_cast<uint32_t>(std::countr_zero(warp.mask))});
  return true;
}

/// Host address of `bytes` at each lane's generic or space's address; 0 where it may not go.
void resolve(Warp& warp, const Ins& ins, uint64_t* address, uint32_t bytes, Access access) {
  const uint32_t all = warp.mask;
  const auto space = static_cast<ptx::Space>(ins.space);
  uint32_t shared = space == ptx::Space::Shared ? all : 0;
  if (space == ptx::Space::Generic)
    for (uint32_t lane = 0; lane < kLanes; ++lane)
      if ((address[lane] & kWindowMask) == kSharedWindow) shared |= uint32_t{1} << lane & all;
  const uint32_t global = all & ~shared;
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    if ((shared >> lane & 1) != 0) address[lane] &= ~kWindowMask;
  uint32_t good = 0;
  warp.mask = global;
  if (global != 0) good = resolve_global(warp, ins, address, bytes, access);
  if (good != 0 && access == Access::Store && warp.launch->checks.init)
    define_global(warp, ins, address, bytes, good);
  warp.mask = shared;
  const uint32_t inside = shared != 0 ? resolve_shared(warp, ins, address, bytes, access) : 0;
  if (inside != 0 && warp.launch->checks.race)
    note_shared(warp, ins, address, bytes, access, inside, 0);
  warp.mask = all;
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const bool ok = ((good | inside) >> lane & 1) != 0;
    if ((inside >> lane & 1) != 0) {
      if (access == Access::Store && warp.launch->checks.init)
        std::memset(warp.block->shared_defined.data() + address[lane], 1, bytes);
      address[lane] += reinterpret_cast<uint64_t>(warp.block->shared.data());
    }
    if (!ok) address[lane] = 0;
  }
}

const TensorStep& step_of(Warp& warp, const Ins& ins) { return warp.code().tensors[ins.list]; }
}  // namespace

void multiply_matrices(Warp& warp, const Ins& ins) {
  if (!whole_warp(warp, ins)) return;
  const TensorStep& step = step_of(warp, ins);
  Matrix a = gather(warp, step.a), b = gather(warp, step.b), c = gather(warp, step.c);
  if (step.d.type == Type::S32 || step.d.type == Type::F64) {
    for (uint32_t i = 0; i < step.d.rows; ++i)
      for (uint32_t j = 0; j < step.d.columns; ++j)
        c.at(i, j) = (step.d.type == Type::S32 ? multiply_integers : multiply_doubles)(
            step, a, b, c.at(i, j), {i, j});
  } else {
    multiply_floats(step, a, b, c, warp.launch->sm);
  }
  scatter(warp, step.d, c);
}

/// src: address of the first element, distance of rows or columns in elements.
void move_fragment(Warp& warp, const Ins& ins) {
  if (!whole_warp(warp, ins)) return;
  const TensorStep& step = step_of(warp, ins);
  const TensorOperand& fragment = step.d;
  const uint32_t bits = element_bits(fragment.type), bytes = bits / 8;
  const uint32_t per_register = bits >= 32 ? 1 : 32 / bits;
  for (uint32_t reg = 0; reg < fragment.registers.size(); ++reg)
    for (uint32_t part = 0; part < per_register; ++part) {
      uint64_t address[kLanes];
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        const Place place = place_of_wmma(fragment, per_register, reg, lane, part);
        const uint64_t stride = warp.u32(ins.src[1])[lane];
        const uint64_t index =
            step.by_column ? place.column * stride + place.row : place.row * stride + place.column;
        const uint64_t base =
            ins.wide != 0 ? warp.u64(ins.src[0])[lane] : warp.u32(ins.src[0])[lane];
        address[lane] = base + static_cast<uint64_t>(ins.imm) + index * bytes;
      }
      resolve(warp, ins, address, bytes, step.store ? Access::Store : Access::Load);
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if ((warp.mask >> lane & 1) == 0) continue;
        std::byte* word =
            warp.regs + fragment.registers[reg] + lane * (bits == 64 ? 8 : 4) + part * bytes;
        void* host = reinterpret_cast<void*>(address[lane]);
        if (host == nullptr && !step.store) std::memset(word, 0, bytes);
        if (host != nullptr) std::memcpy(step.store ? host : word, step.store ? word : host, bytes);
      }
    }
}

/// stmatrix; src[0]: row addresses in shared memory, lane 8m + r for row r of matrix m.
void store_matrix(Warp& warp, const Ins& ins) {
  if (!whole_warp(warp, ins)) return;
  constexpr uint32_t kRows = 8, kRowBytes = 16;
  uint64_t address[kLanes];
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    const uint64_t base = ins.wide != 0 ? warp.u64(ins.src[0])[lane] : warp.u32(ins.src[0])[lane];
    address[lane] = (base + static_cast<uint64_t>(ins.imm)) & ~kWindowMask;
  }
  const uint32_t all = warp.mask;
  if (ins.count < 4) warp.mask &= (uint32_t{1} << (kRows * ins.count)) - 1;
  if (warp.mask != 0)
    resolve(warp, ins, address, kRowBytes, Access::Store);
  else
    std::fill_n(address, kLanes, uint64_t{0});
  warp.mask = all;
  for (uint32_t row = 0; row < kRows * ins.count; ++row) {
    if (address[row] == 0) continue;
    const uint32_t* values = warp.u32(warp.lists[ins.list + row / kRows]);
    uint16_t cells[kRows];
    for (uint32_t column = 0; column < kRows; ++column) {
      const uint32_t r = ins.flags != 0 ? column : row % kRows,
                     c = ins.flags != 0 ? row % kRows : column;
      cells[column] = static_cast<uint16_t>(values[r * 4 + c / 2] >> (c % 2 * 16));
    }
    std::memcpy(reinterpret_cast<void*>(address[row]), cells, kRowBytes);
  }
}

/// movmatrix.trans
void transpose_matrix(Warp& warp, const Ins& ins) {
  if (!whole_warp(warp, ins)) return;
  std::array<uint32_t, kLanes> out{};
  const uint32_t* in = warp.u32(ins.src[0]);
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t row = lane % 4 * 2 + half, column = lane / 4;
      out[lane] |= (in[row * 4 + column / 2] >> (column % 2 * 16) & 0xffff) << (16 * half);
    }
  for (uint32_t lane = 0; lane < kLanes; ++lane)
    if ((warp.mask >> lane & 1) != 0) warp.u32(ins.dst)[lane] = out[lane];
}

}  // namespace gpuemu::emulator::steps
