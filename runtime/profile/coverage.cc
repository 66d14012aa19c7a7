#include "runtime/profile/coverage.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace gpuemu {
namespace {

struct Place {
  std::string file;
  uint32_t line = 0;
};

Place place_of(const InstructionPlace& instruction) {
  if (instruction.line != 0) return {instruction.file, instruction.line};
  return {"", instruction.ptx_line};
}

class Reader {
 public:
  Reader(const Profile& profile, std::span<const std::string> others) : profile_(profile) {
    const ProfilePlaces& places = *profile.places;
    for (const std::string& name : places.functions) {
      wanted_.push_back(std::ranges::find(others, name) == others.end());
    }
  }

  bool wants(uint32_t function) const { return wanted_[function]; }

  /// Returns the lines without those of other kernels.
  std::vector<LineCount> lines() const {
    Profile own{std::make_shared<ProfilePlaces>(), {}};
    ProfilePlaces places;
    for (size_t i = 0; i < profile_.places->instructions.size(); ++i) {
      if (!wants(profile_.places->instructions[i].function)) continue;
      places.instructions.push_back(profile_.places->instructions[i]);
      own.counts.instructions.push_back(profile_.counts.instructions[i]);
    }
    own.places = std::make_shared<const ProfilePlaces>(std::move(places));
    return by_line(own);
  }

  std::vector<CoveredBlock> blocks() const {
    std::vector<CoveredBlock> all;
    for (size_t i = 0; i < profile_.places->blocks.size(); ++i) {
      const BlockPlace& place = profile_.places->blocks[i];
      if (wants(place.function)) all.push_back({place.id, profile_.counts.blocks[i].threads});
    }
    return all;
  }

  /// Returns the edges without source positions.
  std::vector<CoveredEdge> bare_edges() const {
    std::vector<CoveredEdge> all;
    const std::vector<EdgePlace>& places = profile_.places->edges;
    all.reserve(places.size());
    for (size_t i = 0; i < places.size(); ++i) {
      if (!wants(profile_.places->blocks[places[i].from].function)) continue;
      CoveredEdge& made = all.emplace_back();
      made.id = places[i].id;
      made.warps = profile_.counts.edges[i].warps;
      made.threads = profile_.counts.edges[i].threads;
    }
    return all;
  }

  std::vector<CoveredEdge> edges() const {
    const ProfilePlaces& places = *profile_.places;
    std::map<uint32_t, uint32_t> ways;  // By block, over all its edges.
    for (const EdgePlace& edge : places.edges) ++ways[edge.from];
    std::map<std::pair<std::string, uint32_t>, std::vector<uint32_t>> branches;  // Blocks.
    std::map<uint32_t, uint32_t> seen;
    std::vector<CoveredEdge> all;
    for (size_t i = 0; i < places.edges.size(); ++i) {
      const EdgePlace& edge = places.edges[i];
      const BlockPlace &from = places.blocks[edge.from], &to = places.blocks[edge.to];
      if (!wants(from.function)) continue;
      CoveredEdge made{.id = edge.id};
      const Place at = place_of(places.instructions[from.last]);
      const Place target = place_of(places.instructions[to.first]);
      made.file = at.file;
      made.line = at.line;
      made.to_line = target.file == at.file ? target.line : 0;
      made.is_branch = ways[edge.from] > 1;
      made.way = seen[edge.from]++;
      if (made.is_branch) made.branch = number_of(branches[{at.file, at.line}], edge.from);
      made.warps = profile_.counts.edges[i].warps;
      made.threads = profile_.counts.edges[i].threads;
      all.push_back(std::move(made));
    }
    return all;
  }

  /// Returns the warps that entered the entry's first block.
  uint64_t warps(const std::string& entry) const {
    const ProfilePlaces& places = *profile_.places;
    for (size_t i = 0; i < places.blocks.size(); ++i) {
      if (places.functions[places.blocks[i].function] == entry) {
        return profile_.counts.blocks[i].warps;
      }
    }
    return 0;
  }

 private:
  static uint32_t number_of(std::vector<uint32_t>& blocks, uint32_t block) {
    const auto at = std::ranges::find(blocks, block);
    const auto number = static_cast<uint32_t>(at - blocks.begin());
    if (at == blocks.end()) blocks.push_back(block);
    return number;
  }

  const Profile& profile_;
  std::vector<bool> wanted_;
};

/// Merges by id; items that only `from` has are appended.
template <typename T, typename Add>
void join(std::vector<T>& to, const std::vector<T>& from, const Add& add) {
  if (to.empty()) {
    to = from;
    return;
  }
  std::map<uint64_t, size_t> places;
  for (size_t i = 0; i < to.size(); ++i) places.emplace(to[i].id, i);
  for (const T& one : from) {
    const auto known = places.find(one.id);
    if (known == places.end()) {
      to.push_back(one);
    } else {
      add(to[known->second], one);
    }
  }
}

}  // namespace

LaunchCoverage coverage_of(const Profile& profile, const std::string& entry,
                           std::span<const std::string> others, bool with_lines) {
  const Reader reader(profile, others);
  LaunchCoverage reached{
      reader.warps(entry), {}, reader.blocks(), with_lines ? reader.edges() : reader.bare_edges()};
  if (with_lines) reached.lines = reader.lines();
  return reached;
}

void merge_coverage(LaunchCoverage& to, const LaunchCoverage& from) {
  to.warps += from.warps;
  add_lines(to.lines, from.lines);
  join(to.blocks, from.blocks,
       [](CoveredBlock& block, const CoveredBlock& other) { block.threads += other.threads; });
  join(to.edges, from.edges, [](CoveredEdge& edge, const CoveredEdge& other) {
    edge.warps += other.warps;
    edge.threads += other.threads;
  });
}

}  // namespace gpuemu
