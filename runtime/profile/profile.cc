#include "runtime/profile/profile.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <tuple>

namespace gpuemu {
namespace {

void add_count(InstructionCount& to, const InstructionCount& from) {
  to.warps += from.warps;
  to.threads += from.threads;
  to.divergent += from.divergent;
  to.memory.global_requests += from.memory.global_requests;
  to.memory.global_bytes += from.memory.global_bytes;
  to.memory.sectors += from.memory.sectors;
  to.memory.lines += from.memory.lines;
  to.memory.shared_requests += from.memory.shared_requests;
  to.memory.wavefronts += from.memory.wavefronts;
  to.memory.bank_conflicts += from.memory.bank_conflicts;
}

void add_flow(std::vector<FlowCount>& to, const std::vector<FlowCount>& from) {
  for (size_t i = 0; i < to.size(); ++i) {
    to[i].warps += from[i].warps;
    to[i].threads += from[i].threads;
  }
}

/// Returns a bit for 1, 2, 3, 4-7, 8-15, 16-31, 32-127 or more times: a loop that runs a few more
/// iterations is not new coverage.
uint8_t bucket(uint64_t times) {
  if (times <= 3) return static_cast<uint8_t>(1u << (times - 1));
  if (times < 32) return static_cast<uint8_t>(1u << std::bit_width(times));
  return times < 128 ? 0x40 : 0x80;
}

constexpr double kLanesPerWarp = 32;
constexpr double kSectorBytes = 32;

}  // namespace

void ProfileCounts::add(const ProfileCounts& other) {
  for (size_t i = 0; i < instructions.size(); ++i) {
    add_count(instructions[i], other.instructions[i]);
  }
  add_flow(blocks, other.blocks);
  add_flow(edges, other.edges);
}

void ProfileCounts::clear() {
  std::ranges::fill(instructions, InstructionCount());
  std::ranges::fill(blocks, FlowCount());
  std::ranges::fill(edges, FlowCount());
}

std::vector<LineCount> by_line(const Profile& profile) {
  std::map<std::pair<std::string, uint32_t>, LineCount> lines;
  for (size_t i = 0; i < profile.counts.instructions.size(); ++i) {
    const InstructionPlace& place = profile.places->instructions[i];
    const uint32_t number = place.line != 0 ? place.line : place.ptx_line;
    LineCount& line = lines[{place.file, number}];
    line.file = place.file;
    line.line = number;
    ++line.instructions;
    add_count(line.count, profile.counts.instructions[i]);
  }
  std::vector<LineCount> all;
  for (auto& [key, line] : lines) all.push_back(std::move(line));
  return all;
}

void add_lines(std::vector<LineCount>& to, const std::vector<LineCount>& from) {
  const auto place = [](const LineCount& line) { return std::tie(line.file, line.line); };
  for (const LineCount& line : from) {
    const auto at = std::ranges::lower_bound(to, place(line), {}, place);
    if (at == to.end() || place(*at) != place(line)) {
      to.insert(at, line);
      continue;
    }
    at->instructions += line.instructions;
    add_count(at->count, line.count);
  }
}

std::vector<GroupCount> by_group(const Profile& profile) {
  std::map<std::string_view, GroupCount> groups;
  for (size_t i = 0; i < profile.counts.instructions.size(); ++i) {
    const InstructionCount& count = profile.counts.instructions[i];
    if (count.warps == 0) continue;
    GroupCount& group = groups[profile.places->instructions[i].group];
    group.group = profile.places->instructions[i].group;
    group.warps += count.warps;
    group.threads += count.threads;
  }
  std::vector<GroupCount> all;
  for (const auto& [name, group] : groups) all.push_back(group);
  return all;
}

double lanes_active(const InstructionCount& count) {
  if (count.warps == 0) return 1;
  return static_cast<double>(count.threads) / (static_cast<double>(count.warps) * kLanesPerWarp);
}

double coalescing(const MemoryCount& count) {
  if (count.sectors == 0) return 1;
  return static_cast<double>(count.global_bytes) /
         (static_cast<double>(count.sectors) * kSectorBytes);
}

uint64_t mark_edges(const Profile& profile, std::span<uint8_t> map) {
  uint64_t fresh = 0;
  for (size_t i = 0; i < profile.counts.edges.size() && !map.empty(); ++i) {
    const uint64_t times = profile.counts.edges[i].threads;
    if (times == 0) continue;
    uint8_t& seen = map[profile.places->edges[i].id % map.size()];
    const uint8_t bit = bucket(times);
    fresh += (seen & bit) == 0 ? 1 : 0;
    seen |= bit;
  }
  return fresh;
}

}  // namespace gpuemu
