// From an input tape to an output queue: places ready ops on devices, adds what moves, spills,
// loads and frees tensors, tick by tick in estimated time. Knows no clock, thread or device: the
// same tape, devices, seed and policy give the same queue.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "runtime/tape/names.h"
#include "runtime/tape/tape.h"

namespace gpuemu::tape {

struct Settings {
  std::vector<Device> devices;  ///< 1 to kDevicesMax; `index` is the place in the list.
  uint64_t seed = 0;            ///< Leaves begin at device `seed` mod devices.
  Policy policy = Policy::Balanced;
  /// How many lines of tape, queue, handles and ticks are kept; what has not ended is kept anyway.
  size_t entries_max = std::numeric_limits<size_t>::max();
};

/// An op that the scheduler refuses to place, and all that follows from it.
struct Failure {
  uint64_t seq = 0;    ///< The op that cannot run.
  std::string reason;  ///< For people.
};

/// Not thread-safe.
class Scheduler {
 public:
  explicit Scheduler(Settings settings);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Counts for what is placed from now on.
  void set_weight(const std::string& session, double weight);
  /// Takes all entries, numbers them and returns the first number, or takes none: InvalidArgument
  /// as Names::add. They are admitted in their order, each at its tick `at` or the next one after.
  Result<uint64_t> add(std::vector<Entry> entries, const OpCheck& check = {});
  /// Does the next tick. False when there is nothing left to do; then there was none.
  bool step();
  /// The tick that the next step() is at the earliest.
  uint64_t next_tick() const;

  /// A line that was done again after its device was lost: one of its own, in a tick of its own.
  /// Returns its position. Of `line` count kind, device, `from`, bytes and attempt. REQUIRES:
  /// keeps() the tensor's entry.
  uint64_t repeat(Queued line, uint64_t tensor);

  /// The last tick. REQUIRES: there was one.
  const Tick& last_tick() const;
  /// REQUIRES: its line is kept.
  const Queued& queued(uint64_t pos) const;
  uint64_t queue_size() const;
  /// The `seq` of the entry that makes the line's tensor. REQUIRES: as queued().
  uint64_t tensor_of(uint64_t pos) const;
  /// Keeps other attributes, which are for people, in place of an entry's. REQUIRES: as entry().
  void set_attrs(uint64_t seq, std::string attrs);
  /// REQUIRES: its line is kept, as that of every op that has not ended.
  const Entry& entry(uint64_t seq) const;
  size_t devices() const;
  /// Whether the entry's line is kept.
  bool keeps(uint64_t seq) const;
  uint64_t tape_size() const;
  /// Null where the session has defined no such tensor or it was forgotten.
  const Known* find(const std::string& session, const std::string& id) const;
  /// The ops that the last tick refused, and all that follow from them.
  const std::vector<uint64_t>& refused() const;
  /// Why an op failed, by its `seq`; null when it did not.
  const Failure* failure(uint64_t seq) const;
  /// The ops of the session that have not ended.
  uint64_t unfinished(const std::string& session) const;
  /// Bytes of the tensors that the session has defined and that are not freed.
  uint64_t live_bytes(const std::string& session) const;
  /// The tensors that the session can still name, in the order of their definition.
  std::vector<std::string> held(const std::string& session) const;

  /// All that is kept.
  Trace trace() const;

 private:
  class Machine;
  const std::unique_ptr<Machine> machine_;
};

}  // namespace gpuemu::tape
