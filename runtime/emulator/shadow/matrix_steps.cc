// Shadows mma and wmma: sums of exact products, distributed over the registers of a warp.
#include <algorithm>
#include <cmath>

#include "runtime/emulator/matrices/product.h"
#include "runtime/emulator/matrices/sparse_product.h"
#include "runtime/emulator/shadow/shadow.h"

namespace gpuemu::emulator {
namespace {
struct Element {
  DoubleDouble value;
  double bound = 0;
  uint32_t node = 0;
};

struct Elements {
  uint32_t columns = 0;
  std::vector<Element> all;
  Element& at(uint32_t row, uint32_t column) { return all[size_t{row} * columns + column]; }
};

Format format_of_element(ptx::Type type) {
  return format_of(type == ptx::Type::TF32 ? ptx::Type::F32 : type);
}

Elements gather(const Warp& warp, const ShadowedWarp& at, const TensorOperand& operand,
                uint32_t quad) {
  Elements out{operand.columns, std::vector<Element>(size_t{operand.rows} * operand.columns)};
  const Format format = format_of_element(operand.type);
  const bool wide = format == Format::F64;
  const Held held = wide ? Held::Eight : format == Format::F32 ? Held::Four : Held::Two;
  for (const steps::ElementPlace& each : steps::elements_of(operand, quad)) {
    const std::byte* reg = warp.registers.data + each.reg;
    const uint64_t bits = wide ? reinterpret_cast<const uint64_t*>(reg)[each.lane]
                               : reinterpret_cast<const uint32_t*>(reg)[each.lane];
    Element& made = out.at(each.place.row, each.place.column);
    made.value = {value_of(wide ? bits : bits >> each.shift, format), 0};
    const uint32_t plane = at.plan->plane_of_offset[each.reg / 64];
    const uint32_t part = each.shift / 16;
    if (plane == kNone || part >= at.plan->planes_each) continue;
    const Plane& from = at.registers->planes[plane + part];
    if (from.held[each.lane] != held || !is_live(from, each.lane, part, bits)) continue;
    made = {
        {from.high[each.lane], from.low[each.lane]}, from.bound[each.lane], from.node[each.lane]};
  }
  return out;
}
}  // namespace

void Shadow::begin_matrix(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  const TensorStep& step = *does.tensor;
  at.matrix.clear();
  const bool trace = traces(warp);
  const auto taken = step.sparsity ? steps::taken_rows(warp, step) : steps::TakenRows();
  for (uint32_t quad = 0; quad < (step.d.of_quads ? steps::kQuads : 1); ++quad) {
    Elements a = gather(warp, at, step.a, quad), b = gather(warp, at, step.b, quad),
             c = gather(warp, at, step.c, quad);
    for (const steps::ElementPlace& each : steps::elements_of(step.d, quad)) {
      const uint32_t row = each.place.row, column = each.place.column;
      MatrixResult made{
          at.plan->plane_of_offset[each.reg / 64], each.reg, each.lane, each.shift, {}, 0, {}};
      if (made.plane == kNone) continue;
      const Element& first = c.at(row, column);
      DoubleDouble sum = first.value;
      double size = std::fabs(sum.high), bound = first.bound;
      if (trace && first.node != 0) made.edges.push_back({first.node, 1});
      for (uint32_t k = 0; k < step.a.columns; ++k) {
        const Element &x = a.at(row, k), &y = b.at(step.sparsity ? taken.of(row)[k] : k, column);
        const DoubleDouble product = multiply(step.negate ? negated(x.value) : x.value, y.value);
        sum = add(sum, product);
        size += std::fabs(product.high);
        bound += std::fabs(x.value.high) * y.bound + std::fabs(y.value.high) * x.bound;
        if (!trace) continue;
        if (x.node != 0) made.edges.push_back({x.node, y.value.high});
        if (y.node != 0) made.edges.push_back({y.node, x.value.high});
      }
      made.value = sum;
      made.bound = bound + does.unit * size;
      at.matrix.push_back(std::move(made));
    }
  }
}

void Shadow::finish_matrix(Warp& warp, ShadowedWarp& at) {
  const Operation& does = *at.pending;
  const bool wide = does.to == Format::F64;
  const Held held = wide ? Held::Eight : does.to == Format::F32 ? Held::Four : Held::Two;
  for (const MatrixResult& made : at.matrix) {
    const uint32_t part = made.shift / 16;
    if (part >= at.plan->planes_each) continue;
    const std::byte* reg = warp.registers.data + made.offset;
    const uint64_t bits = wide ? reinterpret_cast<const uint64_t*>(reg)[made.lane]
                               : reinterpret_cast<const uint32_t*>(reg)[made.lane];
    Plane& plane = at.registers->planes[made.plane + part];
    plane.high[made.lane] = made.value.high;
    plane.low[made.lane] = made.value.low;
    plane.bound[made.lane] = made.bound;
    plane.held[made.lane] = held;
    plane.bits[made.lane] = part_of(bits, held, part);
    plane.bits_high[made.lane] = static_cast<uint32_t>(bits >> 32);
    plane.node[made.lane] = 0;
    if (!traces(warp)) continue;
    Node node;
    node.computed = value_of(wide ? bits : bits >> made.shift, does.to);
    node.exact = made.value.high;
    node.bound = made.bound;
    node.gap = (node.computed - made.value.high) - made.value.low;
    plane.node[made.lane] =
        add_node(warp, at, made.lane, node, made.edges.data(), made.edges.size());
  }
}

}  // namespace gpuemu::emulator
