// What a launch did, counted by devices that can (the emulator): per instruction, basic block and
// edge between blocks. The places belong to the module and are shared by all its launches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuemu {

/// Requests of warps to memory. A request is one instruction of one warp.
struct MemoryCount {
  uint64_t global_requests = 0;
  uint64_t global_bytes = 0;  ///< Bytes that threads asked for.
  uint64_t sectors = 0;       ///< Distinct 32-byte sectors of each request, summed.
  uint64_t lines = 0;         ///< Distinct 128-byte lines likewise.
  uint64_t shared_requests = 0;
  uint64_t wavefronts = 0;      ///< Passes that shared memory needed for its requests.
  uint64_t bank_conflicts = 0;  ///< Passes beyond the fewest possible.
};

struct InstructionCount {
  uint64_t warps = 0;      ///< Times that a warp executed it with at least one thread.
  uint64_t threads = 0;    ///< Times that a thread did.
  uint64_t divergent = 0;  ///< Branches: some threads of the warp went each way.
  MemoryCount memory;
};

struct FlowCount {
  uint64_t warps = 0, threads = 0;
};

struct ProfileCounts {
  std::vector<InstructionCount> instructions;
  std::vector<FlowCount> blocks, edges;

  void add(const ProfileCounts& other);  ///< REQUIRES: counts of the same module.
  void clear();                          ///< All zero; the sizes stay.
};

struct InstructionPlace {
  uint32_t function = 0;  ///< Index into ProfilePlaces::functions.
  uint32_t ptx_line = 0;
  std::string file = {};  ///< From .loc, "" without -lineinfo.
  uint32_t line = 0;
  std::string text = {};   ///< "ld.global.f32"
  std::string_view group;  ///< "arithmetic", "memory", "control" ...
};

struct BlockPlace {
  uint64_t id = 0;  ///< Follows from the PTX: equal in every run and process.
  uint32_t function = 0;
  uint32_t first = 0, last = 0;  ///< Its instructions, of ProfilePlaces::instructions.
};

struct EdgePlace {
  uint64_t id = 0;
  uint32_t from = 0, to = 0;  ///< Indices into ProfilePlaces::blocks.
};

struct ProfilePlaces {
  std::vector<std::string> functions;
  std::vector<InstructionPlace> instructions;
  std::vector<BlockPlace> blocks;
  std::vector<EdgePlace> edges;
};

struct Profile {
  std::shared_ptr<const ProfilePlaces> places;
  ProfileCounts counts;  ///< One item per place.
};

/// All instructions of one source line.
struct LineCount {
  std::string file;
  uint32_t line = 0;
  uint64_t instructions = 0;  ///< Different ones.
  InstructionCount count;
};

/// By file and line; lines that nothing executed are part of it. Without -lineinfo: by PTX line,
/// with an empty file.
std::vector<LineCount> by_line(const Profile& profile);
/// Adds those of another launch, whatever its kernel; keeps the order of by_line.
void add_lines(std::vector<LineCount>& to, const std::vector<LineCount>& from);

/// Threads' instructions per group, by name; groups that nothing executed are left out.
struct GroupCount {
  std::string_view group;
  uint64_t warps = 0, threads = 0;
};
std::vector<GroupCount> by_group(const Profile& profile);

/// Average share of a warp's lanes that took part in its instructions, 0 to 1; 1 for none.
double lanes_active(const InstructionCount& count);
/// Bytes asked for per byte that the sectors moved: 1 is coalesced. May exceed 1 for broadcasts; 1
/// for no requests.
double coalescing(const MemoryCount& count);

/// For a fuzzer: sets, for every edge that was taken, the bit of its number of times (1, 2, 3, 4-7,
/// 8-15, 16-31, 32-127, more) in the byte of `map` that its id selects. Returns how many bits are
/// new.
uint64_t mark_edges(const Profile& profile, std::span<uint8_t> map);

}  // namespace gpuemu
