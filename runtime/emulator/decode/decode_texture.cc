// Decodes tex and tld4 for texture objects, and suld, sust and sured for surface objects.
#include <algorithm>
#include <array>
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
    if (has_word(form, one.name)) return &one;
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
    return d.refuse(
        "the emulator accesses objects of textures, not a texture with a sampler of its own");
  }
  if (where.elements[0].kind != Operand::Kind::Register) {
    return d.refuse(
        "the emulator accesses objects (cudaTextureObject_t, cudaSurfaceObject_t), not .texref and "
        ".surfref variables");
  }
  return true;
}

/// Returns the channel that tld4 gathers.
uint8_t channel_in(const Form& form) {
  constexpr std::array<std::string_view, 4> kChannels = {"r", "g", "b", "a"};
  for (uint8_t i = 0; i < kChannels.size(); ++i) {
    if (has_word(form, kChannels[i])) return i;
  }
  return 0;
}

/// Adds the registers of a level of detail, or of two gradients, each with an element for every
/// coordinate and padding behind.
bool add_detail(Decoder& d, const Instruction& in, const Geometry& geometry,
                std::vector<uint32_t>& registers) {
  for (size_t i = 2; i < in.operands.size(); ++i) {
    const Operand& given = in.operands[i];
    const bool vector = given.kind == Operand::Kind::Vector;
    const std::span<const Operand> all = vector ? std::span(given.elements) : std::span(&given, 1);
    const size_t count = in.operands.size() == 3 ? 1 : geometry.coordinates;
    if (all.size() < count) return false;
    for (const Operand& one : all.first(count)) {
      registers.push_back(d.source(one, RegisterClass::Narrow, Type::F32));
    }
  }
  return true;
}

}  // namespace

/// Decodes for example tex.2d.v4.f32.f32 {r, g, b, a}, [object, {x, y}], and tld4.
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
                       .gathers = in.opcode == ptx::Opcode::Tld4,
                       .channel = channel_in(form),
                       .tells_residency = is_pair,
                       .cache = d.program().cached++};
  const uint32_t object = d.source(in.operands[1].elements[0], RegisterClass::Wide, Type::U64);
  const uint32_t layer =
      read.is_layered ? d.source(written[0], RegisterClass::Narrow, Type::U32) : object;
  std::vector<uint32_t> coordinates;
  for (size_t i = 0; i < geometry->coordinates; ++i) {
    const Operand& one = written[i + (read.is_layered ? 1 : 0)];
    coordinates.push_back(d.source(one, RegisterClass::Narrow, type));
  }
  std::vector<uint32_t> detail;
  if (!add_detail(d, in, *geometry, detail)) return false;
  read.detail = behind == 0   ? TextureOperands::Detail::None
                : behind == 1 ? TextureOperands::Detail::Level
                              : TextureOperands::Detail::Gradient;
  std::vector<uint32_t> registers;
  for (const Operand& element : to.elements) {
    registers.push_back(element.kind == Operand::Kind::Sink
                            ? kNone
                            : d.destination(element, RegisterClass::Narrow));
  }
  const uint32_t resident =
      is_pair ? d.destination(in.operands[0].elements[1], RegisterClass::Pred) : kTrueOffset;
  registers.insert(registers.end(), coordinates.begin(), coordinates.end());
  registers.insert(registers.end(), detail.begin(), detail.end());
  read.list = d.list(registers);
  Step& step = d.emit<steps::read_texture>(read);
  step.src = {object, layer, 0, 0};
  step.dst = resident;
  return true;
}

/// Decodes for example sust.b.2d.v2.b32.trap [object, {x, y}], {a, b}.
bool decode_surface(Decoder& d, const Instruction& in, const Form& form) {
  using Kind = SurfaceOperands::Kind;
  using Outside = SurfaceOperands::Outside;
  const Geometry* const geometry = geometry_in(form);
  if (geometry == nullptr || in.operands.size() != 2) return false;
  SurfaceOperands access{.shape = geometry->shape, .is_layered = geometry->is_layered};
  access.kind = in.opcode == ptx::Opcode::Suld   ? Kind::Load
                : in.opcode == ptx::Opcode::Sust ? Kind::Store
                                                 : Kind::Reduce;
  access.outside = has_word(form, "clamp")  ? Outside::Clamp
                   : has_word(form, "zero") ? Outside::Zero
                                            : Outside::Trap;
  const bool loads = access.kind == Kind::Load;
  const Operand &where = in.operands[loads ? 1 : 0], &values = in.operands[loads ? 0 : 1];
  if (!names_object(d, where)) return false;
  const auto written = coordinates_in(where, *geometry);
  if (written.empty()) return false;
  const bool vector = values.kind == Operand::Kind::Vector;
  const std::span<const Operand> elements =
      vector ? std::span(values.elements) : std::span(&values, 1);
  if (elements.size() != form.vector) return false;
  access.count = static_cast<uint8_t>(form.vector);
  access.element_bytes = static_cast<uint8_t>(ptx::byte_size(form.type()));
  access.cache = d.program().cached++;
  if (access.kind == Kind::Reduce) access.reduction = {*reduction_in(form), form.type()};
  const uint32_t object = d.source(where.elements[0], RegisterClass::Wide, Type::U64);
  const uint32_t zero = d.constant(0, false);
  const auto coordinate = [&](size_t i) {
    return d.source(written[i], RegisterClass::Narrow, Type::S32);
  };
  const size_t first = access.is_layered ? 1 : 0;
  const uint32_t x = coordinate(first);
  const uint32_t y = geometry->coordinates > 1 ? coordinate(first + 1) : zero;
  const uint32_t slice = access.is_layered            ? coordinate(0)
                         : geometry->coordinates == 3 ? coordinate(2)
                                                      : zero;
  const RegisterClass slot =
      access.element_bytes == sizeof(uint64_t) ? RegisterClass::Wide : RegisterClass::Narrow;
  std::vector<uint32_t> registers;
  for (const Operand& one : elements) {
    registers.push_back(!loads                            ? d.source(one, slot, form.type())
                        : one.kind == Operand::Kind::Sink ? kNone
                                                          : d.destination(one, slot));
  }
  access.list = d.list(registers);
  d.emit<steps::access_surface>(access).src = {object, x, y, slice};
  return true;
}

}  // namespace gpuemu::emulator
