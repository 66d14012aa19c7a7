// Decodes tex for one- and two-dimensional texture objects.
#include "runtime/emulator/decode/decoders.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
using ptx::Instruction;
using ptx::Operand;
using ptx::Type;

/// Decodes for example tex.2d.v4.f32.f32 {r, g, b, a}, [object, {x, y}]. A level of detail is
/// ignored, because a texture has only one level.
bool decode_texture(Decoder& d, const Instruction& in, const Form& form) {
  const bool rows = form.has(ptx::Modifier::Dim2), level = form.has(ptx::Modifier::Level);
  if (in.operands.size() != (level ? 3u : 2u) || form.types.size() != 2) return false;
  const Operand &to = in.operands[0], &where = in.operands[1];
  if (to.kind != Operand::Kind::Vector || to.elements.size() != 4) return false;
  if (where.elements.size() != 2) {
    return d.refuse("the emulator reads texture objects, not a texture with a sampler of its own");
  }
  const Operand& at = where.elements[1];
  const bool vector = at.kind == Operand::Kind::Vector;
  if (vector ? at.elements.size() != (rows ? 2u : 1u) : rows) return false;
  if (where.elements[0].kind != Operand::Kind::Register) {
    return d.refuse(
        "the emulator reads texture objects (cudaTextureObject_t), not .texref variables");
  }
  const Type coordinate = form.types.back();
  const uint32_t object = d.source(where.elements[0], RegisterClass::Wide, Type::U64);
  const uint32_t x = d.source(vector ? at.elements[0] : at, RegisterClass::Narrow, coordinate);
  const uint32_t y = rows ? d.source(at.elements[1], RegisterClass::Narrow, coordinate) : x;
  std::vector<uint32_t> registers;
  for (const Operand& element : to.elements) {
    registers.push_back(element.kind == Operand::Kind::Sink
                            ? kNone
                            : d.destination(element, RegisterClass::Narrow));
  }
  const uint32_t list = d.list(registers);
  d.emit<steps::read_texture>(
       {.list = list, .has_rows = rows, .takes_integers = coordinate == Type::S32})
      .src = {object, x, y, 0};
  return true;
}

}  // namespace gpuemu::emulator
