// Counters of a launch, from devices that support them (the emulator): per instruction, basic block
// and edge between blocks. The places belong to the module and are shared by all its launches.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuemu {

/// Memory requests of warps. A request is one instruction of one warp.
struct MemoryCount {
  uint64_t global_requests = 0;
  uint64_t global_bytes = 0;  ///< Bytes that threads requested.
  uint64_t sectors = 0;       ///< Distinct 32-byte sectors of each request, summed.
  uint64_t lines = 0;         ///< Distinct 128-byte lines of each request, summed.
  uint64_t shared_requests = 0;
  uint64_t wavefronts = 0;      ///< Passes over shared memory that the requests took.
  uint64_t bank_conflicts = 0;  ///< Passes beyond the minimum.
};

struct InstructionCount {
  uint64_t warps = 0;      ///< Executions by a warp with at least one thread.
  uint64_t threads = 0;    ///< Executions by a thread.
  uint64_t divergent = 0;  ///< Branches: executions in which threads of the warp went both ways.
  MemoryCount memory;
};

struct FlowCount {
  uint64_t warps = 0, threads = 0;
};

struct ProfileCounts {
  std::vector<InstructionCount> instructions;
  std::vector<FlowCount> blocks, edges;

  void add(const ProfileCounts& other);  ///< Requires counts of the same module.
  void clear();                          ///< Zeroes the counts; the sizes stay.
};

struct InstructionPlace {
  uint32_t function = 0;  ///< Index into ProfilePlaces::functions.
  uint32_t ptx_line = 0;
  std::string file = {};  ///< From .loc; "" without -lineinfo.
  uint32_t line = 0;
  std::string text = {};   ///< "ld.global.f32"
  std::string_view group;  ///< "arithmetic", "memory", "control" and others.
};

struct BlockPlace {
  uint64_t id = 0;  ///< Derived from the PTX: the same in every run and process.
  uint32_t function = 0;
  uint32_t first = 0, last = 0;  ///< First and last index into ProfilePlaces::instructions.
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
  uint64_t instructions = 0;  ///< Number of distinct instructions.
  InstructionCount count;
};

/// Returns the lines by file and number, including lines that were not executed. Without -lineinfo:
/// by PTX line, with an empty file.
std::vector<LineCount> by_line(const Profile& profile);
/// Adds the lines of another launch of any kernel. Keeps the order of by_line().
void add_lines(std::vector<LineCount>& to, const std::vector<LineCount>& from);

/// Executed thread instructions per group, by name; groups without any are left out.
struct GroupCount {
  std::string_view group;
  uint64_t warps = 0, threads = 0;
};
std::vector<GroupCount> by_group(const Profile& profile);

/// Returns the average share of a warp's lanes that took part, 0 to 1; 1 if it never ran.
double lanes_active(const InstructionCount& count);
/// Returns the requested bytes per byte of the sectors moved: 1 means coalesced, broadcasts may
/// exceed it. 1 without requests.
double coalescing(const MemoryCount& count);

/// For a fuzzer: for every taken edge, sets a bit in the byte of `map` selected by the edge's id.
/// The bit stands for its number of executions (1, 2, 3, 4-7, 8-15, 16-31, 32-127, more). Returns
/// how many bits are new.
uint64_t mark_edges(const Profile& profile, std::span<uint8_t> map);

}  // namespace gpuemu
