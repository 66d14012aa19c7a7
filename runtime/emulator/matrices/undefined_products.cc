#include "runtime/emulator/matrices/undefined_products.h"

#include <algorithm>
#include <array>
#include <vector>

#include "runtime/emulator/matrices/product.h"
#include "runtime/emulator/matrices/sparse_product.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator::steps {
namespace {

/// Operand positions in mma and wmma.mma; the last one in mma.sp only.
enum Position : uint8_t { kD, kA, kB, kC, kOperands, kMetadata = kOperands };

/// The origin of an undefined value, plus 1; 0: the value is defined.
using From = uint32_t;

class Product {
 public:
  Product(Warp& warp, const ptx::Instruction& in, const TensorStep& matrices)
      : set_(warp.frame().undefined), in_(in), of_(matrices), results_(of_.d.registers.size()) {}

  void follow() {
    for (uint32_t quad = 0; quad < (of_.d.of_quads ? kQuads : 1); ++quad) follow(quad);
    for (size_t i = 0; i < results_.size(); ++i) {
      const uint32_t reg = in_.operands[kD].elements[i].reg;
      const uint32_t lanes = results_[i].undefined & ~results_[i].defined;
      set_.lanes[reg] = set_.computed[reg] = lanes;
      set_.bits[reg] = 0;
      if (lanes != 0) set_.origin[reg] = results_[i].from - 1;
    }
  }

 private:
  /// A register of the result. It is undefined in lanes in which all of its elements are.
  struct Result {
    uint32_t undefined = 0, defined = 0;
    From from = 0;
  };

  static size_t index_of(const TensorOperand& operand, const ElementPlace& element) {
    const auto at = std::ranges::find(operand.registers, element.reg);
    return static_cast<size_t>(at - operand.registers.begin());
  }

  From from(Position position, const TensorOperand& operand, const ElementPlace& element) const {
    const auto& registers = in_.operands[position].elements;
    const size_t index = index_of(operand, element);
    if (index >= registers.size() || registers[index].kind != ptx::Operand::Kind::Register) {
      return 0;
    }
    const uint32_t reg = registers[index].reg;
    return (set_.lanes[reg] >> element.lane & 1) != 0 ? set_.origin[reg] + 1 : 0;
  }

  /// Undefined metadata leave open which elements of B the two rows meet.
  void follow_metadata(std::vector<From>& rows) const {
    const ptx::Operand& metadata = in_.operands[kMetadata];
    if (metadata.kind != ptx::Operand::Kind::Register) return;
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      if ((set_.lanes[metadata.reg] >> lane & 1) == 0 || !holds_metadata(of_, lane)) continue;
      for (uint32_t row = lane / 4; row < of_.a.rows; row += 8) {
        rows[row] = set_.origin[metadata.reg] + 1;
      }
    }
  }

  void follow(uint32_t quad) {
    std::vector<From> rows(of_.a.rows), columns(of_.b.columns);
    std::vector<From> cells(size_t{of_.d.rows} * of_.d.columns);
    for (const ElementPlace& one : elements_of(of_.a, quad)) {
      if (const From found = from(kA, of_.a, one)) rows[one.place.row] = found;
    }
    if (of_.sparsity) follow_metadata(rows);
    for (const ElementPlace& one : elements_of(of_.b, quad)) {
      if (const From found = from(kB, of_.b, one)) columns[one.place.column] = found;
    }
    for (const ElementPlace& one : elements_of(of_.c, quad)) {
      if (const From found = from(kC, of_.c, one)) cells[cell(one.place)] = found;
    }
    for (const ElementPlace& one : elements_of(of_.d, quad)) {
      const From found =
          std::max({rows[one.place.row], columns[one.place.column], cells[cell(one.place)]});
      Result& result = results_[index_of(of_.d, one)];
      (found != 0 ? result.undefined : result.defined) |= uint32_t{1} << one.lane;
      result.from = std::max(result.from, found);
    }
  }

  size_t cell(const Place& at) const { return size_t{at.row} * of_.d.columns + at.column; }

  UndefinedRegisters& set_;
  const ptx::Instruction& in_;
  const TensorStep& of_;
  std::vector<Result> results_;
};

}  // namespace

void follow_product(Warp& warp, const Step& step, const TensorStep& matrices) {
  if (!warp.launch->inputs.checks.defers || warp.frame().undefined.lanes.empty()) return;
  const ptx::Instruction& in = instruction_of(warp, step);
  if (in.operands.size() < kOperands) return;
  if (in.operands[kD].elements.size() != matrices.d.registers.size()) return;
  Product(warp, in, matrices).follow();
}

}  // namespace gpuemu::emulator::steps
