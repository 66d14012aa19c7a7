// Finds the devices for a small tape's ops that move the fewest bytes.
#include <algorithm>
#include <bit>

#include "runtime/tape/machine.h"

namespace gpuemu::tape {
namespace {

/// Limit of the placements that are tried.
constexpr uint64_t kPlansMax = 4096;
/// A set of devices is one word. With more devices, only a tape of one op has so few placements,
/// and then the device with most of its input is best.
constexpr size_t kDevicesInWord = 64;

/// A tensor that ops read: where it is made, and which ops read it.
struct Source {
  uint64_t bytes = 0;
  uint32_t device = 0;               ///< The device of a leaf.
  std::optional<size_t> op = {};     ///< The op that produces it.
  std::vector<size_t> readers = {};  ///< Indices of ops.
};

uint64_t moved_bytes(const std::vector<Source>& sources, const std::vector<uint32_t>& devices) {
  uint64_t moved = 0;
  for (const Source& source : sources) {
    uint64_t needed = 0;
    for (const size_t reader : source.readers) needed |= uint64_t{1} << devices[reader];
    needed &= ~(uint64_t{1} << (source.op ? devices[*source.op] : source.device));
    moved += source.bytes * static_cast<uint64_t>(std::popcount(needed));
  }
  return moved;
}

/// Moves to the next placement, in the order of the ops' devices. Returns false after the last.
bool advance(std::vector<uint32_t>& devices, uint32_t count) {
  for (size_t i = devices.size(); i-- > 0;) {
    if (++devices[i] < count) return true;
    devices[i] = 0;
  }
  return false;
}

bool has_few_plans(size_t devices, size_t ops) {
  uint64_t plans = 1;
  for (size_t i = 0; i < ops && plans <= kPlansMax; ++i) plans *= devices;
  return plans <= kPlansMax;
}

}  // namespace

void Scheduler::Machine::plan_localities() {
  std::vector<Op*> ops;
  std::map<uint64_t, size_t> places;  // Index in `ops`, by `seq`.
  for (const Entry& entry : tape_) {
    if (!entry.makes_tensor() || entry.is_leaf()) continue;
    const auto found = ops_.find(entry.seq);
    if (found == ops_.end()) continue;
    places[entry.seq] = ops.size();
    ops.push_back(&found->second);
  }
  if (ops.empty() || lanes_.size() > kDevicesInWord) return;
  if (!has_few_plans(lanes_.size(), ops.size())) return;
  std::map<uint64_t, Source> by_number;
  for (size_t reader = 0; reader < ops.size(); ++reader) {
    for (const uint64_t number : ops[reader]->inputs) {
      Source& source = by_number[number];
      const TensorState& input = tensor(number);
      source.bytes = input.bytes;
      const auto made_by = places.find(number);
      if (made_by != places.end()) {
        source.op = made_by->second;
      } else if (input.copies.empty()) {
        return;  // A leaf that waits for memory has no device yet.
      } else {
        source.device = input.copies.front().device;
      }
      source.readers.push_back(reader);
    }
  }
  std::vector<Source> sources;
  for (auto& [number, source] : by_number) sources.push_back(std::move(source));
  std::vector<uint32_t> devices(ops.size(), 0), best = devices;
  uint64_t least = UINT64_MAX;
  do {
    const uint64_t moved = moved_bytes(sources, devices);
    if (moved >= least) continue;
    least = moved;
    best = devices;
  } while (least > 0 && advance(devices, static_cast<uint32_t>(lanes_.size())));
  for (size_t i = 0; i < ops.size(); ++i) ops[i]->planned = best[i];
}

}  // namespace gpuemu::tape
