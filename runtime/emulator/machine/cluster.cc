#include "runtime/emulator/machine/cluster.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "common/base/text.h"
#include "runtime/emulator/machine/block.h"

namespace gpuemu::emulator {

namespace {
constexpr uint32_t kVectorBytesMax = 32;  // .v4 of 8 bytes

/// Returns the `at`th position in `extent`, with x varying fastest.
Dim3 place_in(uint64_t at, const Dim3& extent) {
  return {static_cast<uint32_t>(at % extent.x), static_cast<uint32_t>(at / extent.x % extent.y),
          static_cast<uint32_t>(at / (uint64_t{extent.x} * extent.y))};
}
uint64_t volume(const Dim3& extent) { return uint64_t{extent.x} * extent.y * extent.z; }
Dim3 clusters_of(const Launch& launch) {
  const Dim3 &grid = launch.inputs.config->grid, &size = launch.inputs.cluster;
  return {grid.x / size.x, grid.y / size.y, grid.z / size.z};
}
}  // namespace

uint64_t blocks_of_cluster(const Launch& launch) { return volume(launch.inputs.cluster); }
uint64_t cluster_count(const Launch& launch) { return volume(clusters_of(launch)); }

Cluster::Cluster(Launch& of)
    : launch_(&of),
      entry_(of.inputs.entry),
      checks_(of.inputs.checks),
      finds_races_(checks_.race && checks_.global_race && volume(of.inputs.cluster) > 1) {
  for (uint32_t rank = 0; rank < volume(of.inputs.cluster); ++rank) {
    Block& block = *blocks_.emplace_back(std::make_unique<Block>(of));
    block.cluster = this;
    block.position.rank = rank;
  }
}

bool Cluster::fits(const Launch& launch) const {
  const LaunchInputs& inputs = launch.inputs;
  const Block& block = *blocks_[0];
  return inputs.entry == entry_ && inputs.checks == checks_ &&
         volume(inputs.cluster) == blocks_.size() &&
         volume(inputs.config->block) == block.threads.total &&
         shared_room(inputs) == block.shared.bytes.size();
}

void Cluster::serve(Launch& launch, bool same_inputs) {
  launch_ = &launch;
  for (const auto& block : blocks_) block->serve(launch, same_inputs);
}

void Cluster::release() {
  for (const auto& block : blocks_) block->release();
  launch_ = nullptr;
}

void Cluster::start(uint64_t linear_index) {
  const Dim3 first = place_in(linear_index, clusters_of(*launch_)), size = launch_->inputs.cluster;
  phase_ = 0;
  met_ = false;
  for (const auto& block : blocks_) {
    const Dim3 within = place_in(block->position.rank, size);
    block->start(
        {first.x * size.x + within.x, first.y * size.y + within.y, first.z * size.z + within.z});
  }
}

bool Cluster::advance(uint32_t rounds) {
  if (blocks_.size() == 1) return blocks_[0]->advance(rounds);
  const bool ended = advance_all(rounds);
  if (ended) order();
  return ended;
}

bool Cluster::advance_all(uint32_t rounds) {
  for (; rounds > 0; --rounds) {
    bool live = false;
    for (const auto& block : blocks_) {
      if (!block->shared.released) live = !block->advance(1) || live;
    }
    if (!live) return true;
    const auto goes_on = [](const auto& block) {
      return !block->shared.released && block->can_run();
    };
    if (std::ranges::any_of(blocks_, goes_on) || launch_->clock.stop.load()) continue;
    stop_blocks("no thread of the cluster can continue");
    return true;
  }
  return false;
}

bool Cluster::is_livelocked() {
  return std::ranges::all_of(
      blocks_, [](const auto& block) { return block->shared.released || block->is_livelocked(); });
}

void Cluster::stop_blocks(const std::string& why) {
  for (const auto& block : blocks_) {
    if (!block->shared.released) block->stop_block(why);
  }
}

void Cluster::arrive(Warp& warp) {
  warp.cluster_arrival.pending = true;
  warp.cluster_arrival.phase = phase_;
  met_ = true;
  release_if_complete();
}

void Cluster::release_if_complete() {
  if (!met_) return;
  const auto arrived = [&](const Warp& warp) {
    return warp.control.state == WarpState::Done ||
           (warp.cluster_arrival.pending && warp.cluster_arrival.phase == phase_);
  };
  for (const auto& block : blocks_) {
    if (!std::ranges::all_of(block->warps, arrived)) return;
  }
  ++phase_;
  met_ = false;
  order();
  for (const auto& block : blocks_) {
    block->next_epoch();
    for (Warp& warp : block->warps) {
      if (warp.control.state != WarpState::AtCluster) continue;
      warp.control.state = WarpState::Running;
      warp.cluster_arrival.pending = false;
    }
  }
}

Block* block_of(const Warp& warp, uint64_t address) {
  const uint64_t rank = address >> kRankShift & kRankMask;
  return rank == 0 ? warp.block : warp.block->cluster->block(rank - 1);
}

std::optional<SharedPlace> locate_shared(Warp& warp, const Step& step, uint64_t address,
                                         uint32_t lane, uint64_t bytes) {
  const uint64_t window = address & kWindowMask, offset = address & kSharedOffsetMask;
  Block* block = window == 0 || window == kSharedWindow ? block_of(warp, address) : nullptr;
  const uint64_t size = warp.launch->inputs.shared_bytes, align = std::min<uint64_t>(bytes, 16);
  const auto refuse = [&](DeviceFindingKind kind, const std::string& message) {
    report_check(warp, step,
                 {.kind = kind,
                  .message = message,
                  .lane = lane,
                  .byte_offset = static_cast<int64_t>(offset)});
    return std::nullopt;
  };
  if (block == nullptr) {
    return refuse(DeviceFindingKind::OutOfBounds,
                  fmt::format("needs an address of shared memory, not {:#x}", address));
  }
  if (block->shared.released) {
    return refuse(
        DeviceFindingKind::OutOfBounds,
        fmt::format("needs the shared memory of block {} of the cluster, which has ended; "
                    "all blocks have to meet before the first one ends",
                    block->position.rank));
  }
  if (offset > size || bytes > size - offset) {
    return refuse(DeviceFindingKind::OutOfBounds,
                  fmt::format("accesses {} at offset {} of shared memory, which has {}",
                              counted(bytes, "byte"), offset, counted(size, "byte")));
  }
  if (offset % align != 0) {
    return refuse(DeviceFindingKind::Misaligned,
                  fmt::format("accesses {} at shared memory {}, which is not a multiple of {}",
                              counted(bytes, "byte"), shared_place(warp, offset, 8), align));
  }
  return SharedPlace{block, static_cast<uint32_t>(offset)};
}

bool is_ordered(const Step& step, Access access) {
  return access == Access::Atomic || (step.memory() != nullptr && step.memory()->is_ordered);
}

void order_before(Warp& warp, const ptx::Instruction& instruction) {
  const bool releases =
      instruction.has(ptx::Modifier::Release) || instruction.has(ptx::Modifier::AcqRel);
  if (!releases && !warp.ordering.fenced) return;
  warp.ordering.fenced = false;
  warp.block->cluster->order();
  warp.block->next_epoch();
}

void note_ranked(Warp& warp, const Step& step, uint32_t lane, const SharedPlace& place,
                 uint32_t bytes, Access access, const std::byte* from) {
  ClusterRaces* const races = warp.block->cluster->races();
  if (races == nullptr) return;
  const bool is_plain = access == Access::Atomic || !is_ordered(step, access);
  if (is_plain) races->note(warp, step, lane, place, bytes, access, from);
}

namespace {
void load_ranked(Warp& warp, const AccessOperands& access, uint32_t lane, const std::byte* from) {
  const uint32_t width = access.bytes / access.count;
  for (uint32_t element = 0; element < access.count; ++element) {
    const uint32_t to = warp.function.lists[access.list + element];
    if (to == kNone) continue;
    uint64_t value = 0;
    if (from != nullptr) std::memcpy(&value, from + size_t{element} * width, width);
    if (width == 8) {
      warp.u64(to)[lane] = value;
    } else {
      warp.u32(to)[lane] = static_cast<uint32_t>(value);
    }
  }
}

void store_ranked(Warp& warp, const AccessOperands& access, uint32_t lane, std::byte* to) {
  const uint32_t width = access.bytes / access.count;
  for (uint32_t element = 0; element < access.count; ++element) {
    const uint32_t from = warp.function.lists[access.list + element];
    const uint64_t value = width == 8 ? warp.u64(from)[lane] : warp.u32(from)[lane];
    std::memcpy(to + size_t{element} * width, &value, width);
  }
}
}  // namespace

void access_ranked(Warp& warp, const Step& step, const uint64_t* address, uint32_t lanes) {
  const bool load = instruction_of(warp, step).opcode != ptx::Opcode::St;
  const AccessOperands& access = step.access();
  const Access how = load ? Access::Load : Access::Store;
  if (is_ordered(step, how)) order_before(warp, instruction_of(warp, step));
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    const auto at = locate_shared(warp, step, address[lane], lane, access.bytes);
    std::byte* host = at ? at->block->shared.bytes.data() + at->offset : nullptr;
    uint8_t* defined = at && warp.launch->inputs.checks.init
                           ? at->block->shared.defined.data() + at->offset
                           : nullptr;
    if (load && defined != nullptr &&
        std::find(defined, defined + access.bytes, 0) != defined + access.bytes) {
      report_check(
          warp, step,
          {.kind = DeviceFindingKind::Uninitialized,
           .message = fmt::format("reads shared memory {} of block {} of the cluster before "
                                  "anything was written there",
                                  shared_place(warp, at->offset, access.bytes / access.count),
                                  at->block->position.rank),
           .lane = lane,
           .byte_offset = at->offset});
    }
    std::array<std::byte, kVectorBytesMax> stored{};
    if (!load) store_ranked(warp, access, lane, stored.data());
    if (at) {
      note_ranked(warp, step, lane, *at, access.bytes, how, load ? nullptr : stored.data());
    }
    if (load) load_ranked(warp, access, lane, host);
    if (load || host == nullptr) continue;
    std::memcpy(host, stored.data(), access.bytes);
    if (defined != nullptr) std::fill_n(defined, access.bytes, uint8_t{1});
  }
}

}  // namespace gpuemu::emulator
