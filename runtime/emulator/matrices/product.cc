#include "runtime/emulator/matrices/product.h"

#include <algorithm>
#include <bit>
#include <span>

#include "runtime/emulator/matrices/tile_product.h"
#include "runtime/emulator/numerics/dot.h"
#include "runtime/emulator/numerics/narrow.h"

namespace gpuemu::emulator::steps {
namespace {
using ptx::Type;

/// Returns the position of element `part` of register `reg` of `lane`, for mma.sync and wgmma.
Place place_of(TensorRole role, uint32_t per_register, uint32_t reg, uint32_t lane, uint32_t part) {
  const uint32_t group = lane / 4, within = lane % 4;
  if (role == TensorRole::A) {
    return {group + 8 * (reg & 1), reg / 2 * 4 * per_register + within * per_register + part};
  }
  if (role == TensorRole::B) return {reg * 4 * per_register + within * per_register + part, group};
  const uint32_t index = reg * per_register + part;
  return {group + 8 * (index / 2 % 2), 8 * (index / 4) + within * 2 + index % 2};
}

/// Returns an element's position for mma.m8n8k4 with f16, in the product of the lane's quad.
Place place_of_quads(const TensorOperand& operand, uint32_t index, uint32_t lane) {
  const uint32_t within = lane % 4, upper = lane < kLanes / 2 ? 0 : 4;
  if (operand.role == TensorRole::A) {
    return operand.transposed ? Place{index + upper, within} : Place{within + upper, index};
  }
  if (operand.role == TensorRole::B) {
    return operand.transposed ? Place{index, within + upper} : Place{within, index + upper};
  }
  if (operand.type == Type::F16) return {within + upper, index};
  return {(lane & 1) + (index & 2) + upper, (index & 4) + (lane & 2) + (index & 1)};
}

/// Calls `visit(place, lane)` for element `part` of register `reg` of each lane of a wmma operand,
/// whose elements follow one another.
template <typename Visit>
void each_of_wmma(const TensorOperand& operand, uint32_t per_register, uint32_t reg, uint32_t part,
                  const Visit& visit) {
  Place place = place_of_wmma(operand, per_register, reg, 0, part);
  for (uint32_t lane = 0; lane < kLanes; ++lane) {
    visit(place, lane);
    if (++place.column != operand.columns) continue;
    place.column = 0;
    if (++place.row == operand.rows) place.row = 0;
  }
}

/// Calls `visit` with the position, the register's offset, the lane and the shift of every element.
template <typename Visit>
void each_element(const TensorOperand& operand, uint32_t quad, const Visit& visit) {
  const uint32_t bits = element_bits(operand.type), per_register = bits >= 32 ? 1 : 32 / bits;
  for (uint32_t reg = 0; reg < operand.registers.size(); ++reg) {
    for (uint32_t part = 0; part < per_register; ++part) {
      const auto found = [&](Place place, uint32_t lane) {
        visit(place, operand.registers[reg], lane, part * bits);
      };
      if (operand.opaque) {
        each_of_wmma(operand, per_register, reg, part, found);
        continue;
      }
      for (uint32_t lane = 0; lane < kLanes; ++lane) {
        if (operand.of_quads && lane / 4 % kQuads != quad) continue;
        const Place place = operand.of_quads
                                ? place_of_quads(operand, reg * per_register + part, lane)
                                : place_of(operand.role, per_register, reg, lane, part);
        if (place.row < operand.rows && place.column < operand.columns) found(place, lane);
      }
    }
  }
}

void multiply_doubles(const TensorStep& matrices, Matrix& a, Matrix& b, Matrix& c) {
  for (uint32_t i = 0; i < matrices.d.rows; ++i) {
    for (uint32_t j = 0; j < matrices.d.columns; ++j) {
      double sum = std::bit_cast<double>(c.at(i, j));
      for (uint32_t k = 0; k < matrices.a.columns; ++k) {
        sum = __builtin_fma(std::bit_cast<double>(a.at(i, k)), std::bit_cast<double>(b.at(k, j)),
                            sum);
      }
      c.at(i, j) = std::bit_cast<uint64_t>(sum);
    }
  }
}

/// The factors of all rows of A, or of all columns of B, in sequence.
struct Factors {
  uint32_t depth = 0;
  std::vector<Factor> all;
  std::span<const Factor> of(uint32_t index) const {
    return std::span(all).subspan(size_t{index} * depth, depth);
  }
};
Factors rows_of(Matrix& a, const TensorOperand& operand, bool negate) {
  Factors out{operand.columns, {}};
  out.all.reserve(a.cells.size());
  for (const uint64_t cell : a.cells) {
    out.all.push_back(factor_of(static_cast<uint32_t>(cell), operand.type));
    if (!negate) continue;
    out.all.back().significand = -out.all.back().significand;
    out.all.back().negative = !out.all.back().negative;
  }
  return out;
}
Factors columns_of(Matrix& b, const TensorOperand& operand) {
  Factors out{operand.rows, std::vector<Factor>(b.cells.size())};
  for (uint32_t k = 0; k < operand.rows; ++k) {
    for (uint32_t j = 0; j < operand.columns; ++j) {
      out.all[size_t{j} * operand.rows + k] =
          factor_of(static_cast<uint32_t>(b.at(k, j)), operand.type);
    }
  }
  return out;
}

void multiply_floats(const TensorStep& matrices, Matrix& a, Matrix& b, Matrix& c, int sm) {
  if (multiply_tiles(matrices, a, b, c, sm)) return;
  const DotModel model = dot_model(sm, matrices.a.type, unit_of(matrices.kind));
  const Factors rows = rows_of(a, matrices.a, matrices.negate), columns = columns_of(b, matrices.b);
  const bool from_half = matrices.c.type == Type::F16, to_half = matrices.d.type == Type::F16;
  for (uint32_t i = 0; i < matrices.d.rows; ++i) {
    for (uint32_t j = 0; j < matrices.d.columns; ++j) {
      auto bits = static_cast<uint32_t>(c.at(i, j));
      if (from_half && to_half) {
        c.at(i, j) = dot_half(rows.of(i), columns.of(j), bits, model);
        continue;
      }
      if (from_half) bits = float_from_half(bits);
      bits = dot_float(rows.of(i), columns.of(j), bits, model);
      c.at(i, j) = to_half ? half_from_float(bits) : bits;
    }
  }
}

/// mma of 8-bit floats on chips without a unit for them: converted to f16, the lower two bytes of
/// every register before the upper two, with C added at the end.
void multiply_fp8(const TensorStep& matrices, Matrix& a, Matrix& b, Matrix& c, int sm) {
  const bool to_half = matrices.d.type == Type::F16;
  const uint32_t depth = matrices.a.columns;
  TensorStep half = matrices;
  half.a.type = half.b.type = Type::F16;
  half.a.columns = half.b.rows = depth / 2;
  Matrix sum(matrices.d.rows, matrices.d.columns);
  for (uint32_t pass = 0; pass < 2; ++pass) {
    Matrix left(matrices.a.rows, depth / 2), right(depth / 2, matrices.b.columns);
    for (uint32_t k = 0; k < depth / 2; ++k) {
      const uint32_t from = k / 2 * 4 + 2 * pass + k % 2;
      for (uint32_t i = 0; i < matrices.a.rows; ++i) {
        left.at(i, k) = half_from_fp8(static_cast<uint32_t>(a.at(i, from)), matrices.a.type);
      }
      for (uint32_t j = 0; j < matrices.b.columns; ++j) {
        right.at(k, j) = half_from_fp8(static_cast<uint32_t>(b.at(from, j)), matrices.b.type);
      }
    }
    multiply_floats(half, left, right, sum, sm);
  }
  for (size_t i = 0; i < c.cells.size(); ++i) {
    const auto x = static_cast<uint32_t>(sum.cells[i]), y = static_cast<uint32_t>(c.cells[i]);
    c.cells[i] = to_half ? add_halves(x, y) : add_floats(x, y);
  }
}
}  // namespace

DotUnit unit_of(TensorKind kind) {
  return kind == TensorKind::Mma    ? DotUnit::Mma
         : kind == TensorKind::Wmma ? DotUnit::Wmma
                                    : DotUnit::Wgmma;
}

uint32_t element_bits(Type type) {
  if (type == Type::B1) return 1;
  if (type == Type::S4 || type == Type::U4) return 4;
  return ptx::byte_size(type) * 8;
}

/// Elements in order over the lanes, repeated if the registers hold more than there are.
Place place_of_wmma(const TensorOperand& operand, uint32_t per_register, uint32_t reg,
                    uint32_t lane, uint32_t part) {
  const uint32_t at =
      ((reg * per_register + part) * kLanes + lane) % (operand.rows * operand.columns);
  return {at / operand.columns, at % operand.columns};
}

std::vector<ElementPlace> elements_of(const TensorOperand& operand, uint32_t quad) {
  std::vector<ElementPlace> all;
  each_element(operand, quad, [&](Place place, uint32_t reg, uint32_t lane, uint32_t shift) {
    all.push_back({place, reg, lane, shift});
  });
  return all;
}

Matrix gather(Warp& warp, const TensorOperand& operand, uint32_t quad) {
  Matrix out(operand.rows, operand.columns);
  const uint32_t bits = element_bits(operand.type);
  const uint64_t keep = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  each_element(operand, quad, [&](Place place, uint32_t reg, uint32_t lane, uint32_t shift) {
    const uint64_t word = bits == 64 ? warp.u64(reg)[lane] : warp.u32(reg)[lane];
    out.at(place.row, place.column) = word >> shift & keep;
  });
  return out;
}

void scatter(Warp& warp, const TensorOperand& operand, Matrix& from, uint32_t quad) {
  const uint32_t bits = element_bits(operand.type);
  each_element(operand, quad, [&](Place place, uint32_t reg, uint32_t lane, uint32_t shift) {
    if ((warp.masks.running >> lane & 1) == 0) return;
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

void multiply(const TensorStep& matrices, Matrix& a, Matrix& b, Matrix& c, int sm) {
  const bool eight = matrices.a.type == Type::E4M3 || matrices.a.type == Type::E5M2;
  if (matrices.d.type == Type::S32) {
    multiply_integer_tiles(matrices, a, b, c);
  } else if (matrices.d.type == Type::F64) {
    multiply_doubles(matrices, a, b, c);
  } else if (eight && matrices.kind != TensorKind::Wgmma) {
    multiply_fp8(matrices, a, b, c, sm);
  } else {
    multiply_floats(matrices, a, b, c, sm);
  }
}

bool whole_warp(Warp& warp, const Step& step) {
  if (warp.await_lanes(step, kNone)) return false;
  if (warp.masks.running != kNone && warp.launch->inputs.checks.sync) {
    report_check(warp, step,
                 {.kind = DeviceFindingKind::IllegalMask,
                  .message = "a matrix instruction needs all lanes of the warp",
                  .lane = static_cast<uint32_t>(std::countr_zero(warp.masks.running))});
  }
  return true;
}

}  // namespace gpuemu::emulator::steps
