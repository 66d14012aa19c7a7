// Decodes tex for texture objects.
#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "runtime/emulator/decode/decoders.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator {
using ptx::Instruction;
using ptx::Operand;
using ptx::Type;
namespace {

/// The geometry that a modifier names.
struct Geometry {
  std::string_view name;
  TextureConfig::Shape shape;
  bool is_layered;
  uint8_t coordinates;  ///< Without the layer.
  uint8_t written;      ///< Elements of the vector with layer, coordinates and padding.
};
constexpr Geometry kGeometries[] = {
    {"1d", TextureConfig::Shape::Line, false, 1, 1},
    {"2d", TextureConfig::Shape::Plane, false, 2, 2},
    {"3d", TextureConfig::Shape::Volume, false, 3, 4},
    {"a1d", TextureConfig::Shape::Line, true, 1, 2},
    {"a2d", TextureConfig::Shape::Plane, true, 2, 4},
    {"cube", TextureConfig::Shape::Cube, false, 3, 4},
    {"acube", TextureConfig::Shape::Cube, true, 3, 4},
};

const Geometry* geometry_in(const Form& form) {
  for (const Geometry& one : kGeometries) {
    if (std::ranges::find(form.rest, one.name) != form.rest.end()) return &one;
  }
  return nullptr;
}

/// Returns the elements of `{layer, x, y, pad}` or of a single x; none if they do not fit.
std::span<const Operand> coordinates_in(const Operand& where, const Geometry& geometry) {
  const Operand& at = where.elements[1];
  const bool vector = at.kind == Operand::Kind::Vector;
  const std::span<const Operand> all = vector ? std::span(at.elements) : std::span(&at, 1);
  return all.size() == geometry.written ? all : std::span<const Operand>();
}

/// Refuses what is not [object, {coordinates}].
bool names_object(Decoder& d, const Operand& where) {
  if (where.elements.size() != 2) {
    return d.refuse("the emulator reads texture objects, not a texture with a sampler of its own");
  }
  if (where.elements[0].kind != Operand::Kind::Register) {
    return d.refuse(
        "the emulator reads texture objects (cudaTextureObject_t), not .texref variables");
  }
  return true;
}

}  // namespace

/// Decodes for example tex.2d.v4.f32.f32 {r, g, b, a}, [object, {x, y}]. Levels of detail and
/// gradients are ignored, because a texture has only one level.
bool decode_texture(Decoder& d, const Instruction& in, const Form& form) {
  const Geometry* const geometry = geometry_in(form);
  const size_t behind = form.has(ptx::Modifier::Level) ? 1 : form.has(ptx::Modifier::Grad) ? 2 : 0;
  if (geometry == nullptr || in.operands.size() != 2 + behind || form.types.size() != 2) {
    return false;
  }
  const bool is_pair = in.operands[0].kind == Operand::Kind::PredPair;
  const Operand& to = is_pair ? in.operands[0].elements[0] : in.operands[0];
  if (to.kind != Operand::Kind::Vector || to.elements.size() != 4) return false;
  if (!names_object(d, in.operands[1])) return false;
  const auto written = coordinates_in(in.operands[1], *geometry);
  if (written.empty()) return false;
  const Type type = form.types.back();
  TextureOperands read{.shape = geometry->shape,
                       .coordinates = geometry->coordinates,
                       .is_layered = geometry->is_layered,
                       .takes_integers = type == Type::S32,
                       .tells_residency = is_pair};
  const uint32_t object = d.source(in.operands[1].elements[0], RegisterClass::Wide, Type::U64);
  const uint32_t layer =
      read.is_layered ? d.source(written[0], RegisterClass::Narrow, Type::U32) : object;
  std::vector<uint32_t> coordinates;
  for (size_t i = 0; i < geometry->coordinates; ++i) {
    const Operand& one = written[i + (read.is_layered ? 1 : 0)];
    coordinates.push_back(d.source(one, RegisterClass::Narrow, type));
  }
  std::vector<uint32_t> registers;
  for (const Operand& element : to.elements) {
    registers.push_back(element.kind == Operand::Kind::Sink
                            ? kNone
                            : d.destination(element, RegisterClass::Narrow));
  }
  const uint32_t resident =
      is_pair ? d.destination(in.operands[0].elements[1], RegisterClass::Pred) : kTrueOffset;
  registers.insert(registers.end(), coordinates.begin(), coordinates.end());
  read.list = d.list(registers);
  Step& step = d.emit<steps::read_texture>(read);
  step.src = {object, layer, 0, 0};
  step.dst = resident;
  return true;
}

}  // namespace gpuemu::emulator
