// Turns an input tape into an output queue: places ready ops on devices and adds moves, spills,
// loads and frees, tick by tick in estimated time. Deterministic: uses no clock, thread or device,
// so the same tape, devices, seed and policy give the same queue.
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
  std::vector<Device> devices;  ///< 1 to kDevicesMax; `index` is the position in the list.
  uint64_t seed = 0;            ///< Leaves start at device `seed` mod the number of devices.
  Policy policy = Policy::Balanced;
  /// Limit of the kept lines of tape, queue, handles and ticks. Lines that have not ended are
  /// always kept.
  size_t entries_max = std::numeric_limits<size_t>::max();
};

/// An op that the scheduler cannot place. Ops that depend on it fail too.
struct Failure {
  uint64_t seq = 0;    ///< The op that cannot run.
  std::string reason;  ///< Human-readable.
};

/// Not thread-safe.
class Scheduler {
 public:
  explicit Scheduler(Settings settings);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Applies to ops placed from now on.
  void set_weight(const std::string& session, double weight);
  /// Numbers and adds all entries, and returns the first number; adds none if one is invalid
  /// (InvalidArgument as for Names::add). They are admitted in order, each at its tick `at` or the
  /// next one after it.
  Result<uint64_t> add(std::vector<Entry> entries, const OpCheck& check = {});
  /// Runs the next tick. Returns false, without a tick, if there is no work left.
  bool step();
  /// Returns the earliest tick that the next step() can run.
  uint64_t next_tick() const;

  /// Adds a line for work that is repeated after its device was lost, in a tick of its own. Returns
  /// its position. Uses kind, device, `from`, bytes and attempt of `line`. Requires keeps() of the
  /// tensor's entry.
  uint64_t repeat(Queued line, uint64_t tensor);

  /// Returns the last tick. Requires that there was one.
  const Tick& last_tick() const;
  /// Requires that the line is kept.
  const Queued& queued(uint64_t pos) const;
  uint64_t queue_size() const;
  /// Returns the `seq` of the entry that makes the line's tensor. Requires the same as queued().
  uint64_t tensor_of(uint64_t pos) const;
  /// Replaces the attributes shown for an entry. Requires the same as entry().
  void set_attrs(uint64_t seq, std::string attrs);
  /// Requires that its line is kept, which holds for every op that has not ended.
  const Entry& entry(uint64_t seq) const;
  size_t devices() const;
  /// Returns whether the entry's line is kept.
  bool keeps(uint64_t seq) const;
  uint64_t tape_size() const;
  /// Returns null if the session defined no such tensor, or it was forgotten.
  const Known* find(const std::string& session, const std::string& id) const;
  /// Returns the ops that the last tick refused, and those that depend on them.
  const std::vector<uint64_t>& refused() const;
  /// Returns why an op failed, by its `seq`; null if it did not.
  const Failure* failure(uint64_t seq) const;
  /// Returns the number of the session's ops that have not ended.
  uint64_t unfinished(const std::string& session) const;
  /// Returns the bytes of the tensors that the session has defined and that are not freed.
  uint64_t live_bytes(const std::string& session) const;
  /// Returns the tensors that the session can still name, in the order of their definition.
  std::vector<std::string> held(const std::string& session) const;

  /// Returns everything that is kept.
  Trace trace() const;

 private:
  class Machine;
  const std::unique_ptr<Machine> machine_;
};

}  // namespace gpuemu::tape
