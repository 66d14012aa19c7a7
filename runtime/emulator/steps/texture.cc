// tex and tld4: reads of texture objects.
#include "runtime/emulator/memory/texture.h"

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <string>

#include "runtime/emulator/checks/global_races.h"
#include "runtime/emulator/numerics/texture.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {

/// Lanes whose texels are outside valid memory, or undefined.
struct Faults {
  uint32_t gone = 0, undefined = 0;
  std::string gone_tensor, tensor;
  int64_t gone_offset = 0;
};

/// A lane that reads a texture, and where its faults are noted.
struct Reader {
  Warp& warp;
  const Step& step;
  const TextureConfig& texture;
  uint32_t lane;
  Faults& faults;
  uint64_t* address;  ///< One for each lane, for the race detector.
};

void note_reading(const Reader& reader, uint64_t at) {
  Warp& warp = reader.warp;
  if (warp.launch->races == nullptr) return;
  const uint32_t all = warp.masks.running, lane = uint32_t{1} << reader.lane;
  reader.address[reader.lane] = at;
  warp.masks.running = lane;
  warp.launch->races->note(warp, reader.step, reader.address, reader.texture.texel_bytes(),
                           Access::Load, lane);
  warp.masks.running = all;
}

const std::byte* texel_at(const Reader& reader, const TexelShare& share) {
  const TextureConfig& texture = reader.texture;
  Launch& launch = *reader.warp.launch;
  const uint64_t bytes = texture.texel_bytes();
  const TexelGrid& grid = texture.level(share.level);
  const uint64_t at = grid.address + static_cast<uint64_t>(share.slice) * grid.slice_bytes +
                      static_cast<uint64_t>(share.y) * grid.pitch_bytes +
                      static_cast<uint64_t>(share.x) * bytes;
  Allocation* in = launch.memory->find(at, bytes);
  const uint32_t bit = uint32_t{1} << reader.lane;
  if (in == nullptr) {
    reader.faults.gone |= bit;
    if (const Allocation* const near = launch.memory->nearest(at)) {
      reader.faults.gone_tensor = near->name;
      reader.faults.gone_offset = static_cast<int64_t>(at - near->base);
    }
    return nullptr;
  }
  if (launch.inputs.checks.init && !in->all_defined && in->tracked &&
      std::find(in->shadow(at), in->shadow(at) + bytes, 0) != in->shadow(at) + bytes) {
    reader.faults.undefined |= bit;
    reader.faults.tensor = in->name;
  }
  note_reading(reader, at);
  return reinterpret_cast<const std::byte*>(at);
}

/// Returns the four channels; those that the texture lacks are zero.
std::array<uint32_t, 4> fetch(const Reader& reader, const TexelShares& shares) {
  const TextureConfig& texture = reader.texture;
  std::array<std::array<uint32_t, TexelShares::kMax>, 4> stored = {};  // By channel, then by texel.
  for (uint32_t i = 0; i < shares.count; ++i) {
    const TexelShare& share = shares.of[i];
    const std::byte* texel = share.x < 0 ? nullptr : texel_at(reader, share);
    if (texel == nullptr) continue;
    for (uint32_t channel = 0; channel < texture.channels; ++channel) {
      stored[channel][i] = stored_channel(texture, texel, channel);
    }
  }
  std::array<uint32_t, 4> out = {};
  for (uint32_t channel = 0; channel < texture.channels; ++channel) {
    out[channel] =
        shares.are_blended
            ? blended_channel(texture, shares, std::span(stored[channel]).first(shares.count))
            : channel_value(texture, stored[channel][0]);
  }
  return out;
}

/// Returns one channel of each of four texels.
std::array<uint32_t, 4> gather(const Reader& reader, const TexelShares& shares, uint32_t channel) {
  std::array<uint32_t, 4> out = {};
  for (uint32_t i = 0; i < shares.count; ++i) {
    const TexelShare& share = shares.of[i];
    const std::byte* texel = share.x < 0 ? nullptr : texel_at(reader, share);
    const bool has = texel != nullptr && channel < reader.texture.channels;
    if (has) out[i] = channel_value(reader.texture, stored_channel(reader.texture, texel, channel));
  }
  return out;
}

void report_faults(Warp& warp, const Step& step, const Faults& faults) {
  if (faults.gone != 0) {
    report_check(warp, step,
                 {.kind = DeviceFindingKind::OutOfBounds,
                  .message = "reads a texture whose memory is freed; free the tensor after the "
                             "texture",
                  .lane = first_lane(faults.gone),
                  .tensor = faults.gone_tensor,
                  .byte_offset = faults.gone_offset,
                  .count = static_cast<uint64_t>(std::popcount(faults.gone))});
  }
  if (faults.undefined != 0) {
    report_check(warp, step,
                 {.kind = DeviceFindingKind::Uninitialized,
                  .message = fmt::format("reads texels of '{}' that nothing wrote", faults.tensor),
                  .lane = first_lane(faults.undefined),
                  .tensor = faults.tensor,
                  .count = static_cast<uint64_t>(std::popcount(faults.undefined))});
  }
}

/// Returns why the instruction cannot read this object; empty if it can.
std::string mismatch(const TextureOperands& read, uint64_t handle, const TextureConfig* texture) {
  using Shape = TextureConfig::Shape;
  if (texture == nullptr || texture->is_surface) {
    return fmt::format("reads {:#x}, which is {}", handle,
                       texture == nullptr ? "not a texture object" : "a surface object");
  }
  const bool is_row = texture->shape == Shape::Row;
  const Shape shape = is_row ? Shape::Line : texture->shape;
  if (shape != read.shape || texture->is_layered != read.is_layered) {
    return fmt::format("reads a texture of the geometry .{} by a .{} instruction",
                       geometry_of(shape, texture->is_layered),
                       geometry_of(read.shape, read.is_layered));
  }
  if (is_row && !read.takes_integers) {
    return "reads a texture without rows at a float coordinate; those take integers (tex1Dfetch)";
  }
  const bool by_gradient = read.detail == TextureOperands::Detail::Gradient;
  if (by_gradient && read.shape == Shape::Cube && !texture->smaller.empty()) {
    return "chooses a mipmap level of a cube by gradients, which the emulator does not compute; "
           "give the level (texCubemapLod)";
  }
  return {};
}

/// Sets the level of detail that the instruction gives.
void set_level(Warp& warp, const TextureOperands& read, const TextureConfig& texture, uint32_t lane,
               TexturePoint& point) {
  using Detail = TextureOperands::Detail;
  const uint32_t* const registers = warp.function.lists + read.list + 4 + read.coordinates;
  const auto value = [&](uint32_t i) {
    return double{std::bit_cast<float>(warp.u32(registers[i])[lane])};
  };
  if (read.detail == Detail::Level) point.level = value(0);
  if (read.detail != Detail::Gradient || texture.smaller.empty()) return;
  std::array<double, 3> dx{}, dy{};
  for (uint32_t i = 0; i < read.coordinates; ++i) {
    dx[i] = value(i);
    dy[i] = value(read.coordinates + i);
  }
  point.level = level_of(texture, dx, dy);
}

TexturePoint point_of(Warp& warp, const Step& step, const TextureOperands& read, uint32_t lane) {
  TexturePoint point{.is_index = read.takes_integers};
  const uint32_t* const registers = warp.function.lists + read.list + 4;
  for (uint32_t i = 0; i < read.coordinates; ++i) {
    const uint32_t bits = warp.u32(registers[i])[lane];
    point.at[i] = read.takes_integers ? static_cast<double>(static_cast<int32_t>(bits))
                                      : double{std::bit_cast<float>(bits)};
  }
  if (read.is_layered) point.layer = warp.u32(step.src[1])[lane];
  return point;
}
}  // namespace

void read_texture(Warp& warp, const Step& step, const TextureOperands& read) {
  Faults faults;
  uint64_t address[kLanes] = {};
  for (uint32_t left = warp.masks.running; left != 0; left &= left - 1) {
    const uint32_t lane = first_lane(left);
    const uint64_t handle = warp.u64(step.src[0])[lane];
    const TextureConfig* texture = warp.launch->textures->find(handle);
    if (const std::string wrong = mismatch(read, handle, texture); !wrong.empty()) {
      report_check(warp, step,
                   {.kind = DeviceFindingKind::InvalidTexture, .message = wrong, .lane = lane});
      continue;
    }
    TexturePoint point = point_of(warp, step, read, lane);
    set_level(warp, read, *texture, lane, point);
    const Reader reader{warp, step, *texture, lane, faults, address};
    const auto values = read.gathers ? gather(reader, texels_around(*texture, point), read.channel)
                                     : fetch(reader, texels_at(*texture, point));
    for (uint32_t i = 0; i < values.size(); ++i) {
      if (warp.function.lists[read.list + i] != kNone) {
        warp.u32(warp.function.lists[read.list + i])[lane] = values[i];
      }
    }
  }
  // No texture is sparse, so all its texels are resident.
  if (read.tells_residency) warp.pred(step.dst) |= warp.masks.running;
  report_faults(warp, step, faults);
}

}  // namespace gpuemu::emulator::steps
