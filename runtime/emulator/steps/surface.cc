// suld, sust and sured: accesses to surface objects.
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "runtime/emulator/checks/access.h"
#include "runtime/emulator/checks/global_races.h"
#include "runtime/emulator/memory/texture.h"
#include "runtime/emulator/steps/async.h"
#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {
using Kind = SurfaceOperands::Kind;
using Outside = SurfaceOperands::Outside;

/// The coordinates of one lane: the byte in its row, the row and the slice.
struct Coordinates {
  int64_t x = 0, y = 0, slice = 0;
};

Access access_of(Kind kind) {
  return kind == Kind::Load ? Access::Load : kind == Kind::Store ? Access::Store : Access::Atomic;
}

/// Returns why the instruction cannot access this object; empty if it can.
std::string mismatch(const SurfaceOperands& access, uint64_t handle, const TextureConfig* surface) {
  const char* const does = verb(access_of(access.kind));
  if (surface == nullptr || !surface->is_surface) {
    return fmt::format("{} {:#x}, which is {}", does, handle,
                       surface == nullptr ? "not a surface object" : "a texture object");
  }
  // The faces of cubes are layers of planes for a surface.
  const bool is_cube = surface->shape == TextureConfig::Shape::Cube;
  const auto shape = is_cube ? TextureConfig::Shape::Plane : surface->shape;
  const bool is_layered = is_cube || surface->is_layered;
  if (shape == access.shape && is_layered == access.is_layered) return {};
  return fmt::format("{} a surface of the geometry .{} by a .{} instruction", does,
                     geometry_of(shape, is_layered), geometry_of(access.shape, access.is_layered));
}

/// The lanes of one instruction, by what becomes of them.
struct Lanes {
  uint64_t address[kLanes] = {};
  uint32_t inside = 0;
  Tally outside;  ///< Lanes whose access traps.
  std::string place;
  std::string tensor;
  int64_t offset = 0;
};

/// Adds a lane; clamps its coordinates if the instruction asks for that.
void add(Warp& warp, const SurfaceOperands& access, const TextureConfig& surface, uint32_t lane,
         Coordinates at, Lanes& lanes) {
  const int64_t bytes = int64_t{access.count} * access.element_bytes;
  const int64_t row = int64_t{surface.width} * surface.texel_bytes();
  const Coordinates last{(row - bytes) / bytes * bytes, int64_t{surface.height} - 1,
                         int64_t{surface.depth} - 1};
  const auto inside = [](int64_t value, int64_t most) { return value >= 0 && value <= most; };
  const bool fits =
      inside(at.x, row - bytes) && inside(at.y, last.y) && inside(at.slice, last.slice);
  if (!fits && access.outside == Outside::Zero) return;
  if (!fits && (access.outside == Outside::Trap || row < bytes)) {
    if (lanes.outside.lanes == 0) {
      lanes.place = fmt::format("byte {}, row {}, slice {}", at.x, at.y, at.slice);
      if (const Allocation* const near = warp.launch->memory->nearest(surface.address)) {
        lanes.tensor = near->name;
      }
      lanes.offset = at.slice * static_cast<int64_t>(surface.slice_bytes) +
                     at.y * static_cast<int64_t>(surface.pitch_bytes) + at.x;
    }
    return lanes.outside.note(lane);
  }
  if (!fits) {
    at.x = inside(at.x, row - bytes) ? at.x : std::clamp<int64_t>(at.x, 0, last.x);
    at.y = std::clamp<int64_t>(at.y, 0, last.y);
    // A layer is unsigned, so the one before the first is the last (measured on an H200).
    const bool is_below = access.is_layered && at.slice < 0;
    at.slice = is_below ? last.slice : std::clamp<int64_t>(at.slice, 0, last.slice);
  }
  lanes.inside |= uint32_t{1} << lane;
  lanes.address[lane] = surface.address + static_cast<uint64_t>(at.slice) * surface.slice_bytes +
                        static_cast<uint64_t>(at.y) * surface.pitch_bytes +
                        static_cast<uint64_t>(at.x);
}

void report_outside(Warp& warp, const Step& step, const SurfaceOperands& access,
                    const TextureConfig& surface, const Lanes& lanes) {
  report_check(warp, step,
               {.kind = DeviceFindingKind::OutOfBounds,
                .message = fmt::format(
                    "{} {} bytes at {} of a surface of {} bytes x {} x {}; x counts bytes",
                    verb(access_of(access.kind)), access.count * access.element_bytes, lanes.place,
                    surface.width * surface.texel_bytes(), surface.height, surface.depth),
                .lane = lanes.outside.first,
                .tensor = lanes.tensor,
                .byte_offset = lanes.offset,
                .count = lanes.outside.count()});
}

void load(Warp& warp, const SurfaceOperands& access, const Lanes& lanes, uint32_t running) {
  for (uint32_t left = running; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    for (uint32_t i = 0; i < access.count; ++i) {
      const uint32_t to = warp.function.lists[access.list + i];
      uint64_t value = 0;  // What is not inside reads as zero.
      if ((lanes.inside >> lane & 1) != 0) {
        std::memcpy(&value,
                    reinterpret_cast<const void*>(lanes.address[lane] + i * access.element_bytes),
                    access.element_bytes);
      }
      if (to == kNone) continue;
      if (access.element_bytes == sizeof(uint64_t)) {
        warp.u64(to)[lane] = value;
      } else {
        warp.u32(to)[lane] = static_cast<uint32_t>(value);
      }
    }
  }
}

void store(Warp& warp, const SurfaceOperands& access, const Lanes& lanes) {
  for (uint32_t left = lanes.inside; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    for (uint32_t i = 0; i < access.count; ++i) {
      const uint32_t from = warp.function.lists[access.list + i];
      const uint64_t value = access.element_bytes == sizeof(uint64_t)
                                 ? warp.u64(from)[lane]
                                 : uint64_t{warp.u32(from)[lane]};
      auto* const to = reinterpret_cast<std::byte*>(lanes.address[lane] + i * access.element_bytes);
      if (access.kind == Kind::Reduce) {
        update_atomically(access.reduction, to, value, true);
      } else {
        std::memcpy(to, &value, access.element_bytes);
      }
    }
  }
}

/// Accesses one surface by `lanes.inside`, as an access to global memory.
void perform(Warp& warp, const Step& step, const SurfaceOperands& access, Lanes& lanes) {
  const uint32_t all = warp.masks.running, bytes = uint32_t{access.count} * access.element_bytes;
  const Access how = access_of(access.kind);
  warp.masks.running = lanes.inside;
  if (lanes.inside != 0) lanes.inside = resolve_global(warp, step, lanes.address, bytes, how);
  if (lanes.inside != 0 && warp.launch->races != nullptr) {
    warp.launch->races->note(warp, step, lanes.address, bytes, how, lanes.inside);
  }
  warp.masks.running = all;
}
}  // namespace

void access_surface(Warp& warp, const Step& step, const SurfaceOperands& access) {
  uint32_t left = warp.masks.running;
  while (left != 0) {
    const auto first = static_cast<uint32_t>(std::countr_zero(left));
    const uint64_t handle = warp.u64(step.src[0])[first];
    const TextureConfig* const surface = warp.launch->textures->find(handle);
    uint32_t same = 0;
    for (uint32_t lane = first; lane < kLanes; ++lane) {
      const bool takes = (left >> lane & 1) != 0 && warp.u64(step.src[0])[lane] == handle;
      if (takes) same |= uint32_t{1} << lane;
    }
    left &= ~same;
    if (const std::string wrong = mismatch(access, handle, surface); !wrong.empty()) {
      report_check(warp, step,
                   {.kind = DeviceFindingKind::InvalidTexture, .message = wrong, .lane = first});
      if (access.kind == Kind::Load) load(warp, access, {}, same);
      continue;
    }
    Lanes lanes;
    for (uint32_t some = same; some != 0; some &= some - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(some));
      const auto coordinate = [&](uint32_t i) {
        return int64_t{static_cast<int32_t>(warp.u32(step.src[i])[lane])};
      };
      add(warp, access, *surface, lane, {coordinate(1), coordinate(2), coordinate(3)}, lanes);
    }
    if (lanes.outside.lanes != 0) report_outside(warp, step, access, *surface, lanes);
    perform(warp, step, access, lanes);
    if (access.kind == Kind::Load) {
      load(warp, access, lanes, same);
    } else {
      store(warp, access, lanes);
      if (warp.launch->races != nullptr) warp.launch->races->end_store();
      const bool defines = warp.launch->inputs.checks.defines && lanes.inside != 0;
      const uint32_t bytes = uint32_t{access.count} * access.element_bytes;
      if (defines) define_global(warp, step, lanes.address, bytes, lanes.inside);
    }
  }
}

}  // namespace gpuemu::emulator::steps
