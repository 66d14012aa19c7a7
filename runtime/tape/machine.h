// Private to this folder: the scheduler's state and the steps of a tick.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/tape/names.h"
#include "runtime/tape/scheduler.h"
#include "runtime/tape/tensors.h"

namespace gpuemu::tape {

/// An entry of the tape that is admitted and has not ended.
struct Op {
  enum class Does : uint8_t { Leaf, Compute, Fetch } does = Does::Compute;
  uint64_t seq = 0, bytes = 0, cost = 0;
  uint32_t session = 0;
  std::vector<uint64_t> inputs = {};     ///< Unique tensors, in order.
  size_t missing = 0;                    ///< Number of inputs not yet produced.
  std::optional<uint32_t> planned = {};  ///< The device chosen by plan_localities().
};

/// A line of the output queue and its state.
struct Line {
  struct Use {
    uint64_t tensor = 0;
    uint32_t device = 0;
  };
  Queued told;
  uint64_t tensor = 0;           ///< Number.
  uint64_t cost = 0;             ///< Estimated time on its device, in us.
  std::vector<Use> pinned = {};  ///< Copies in use until it ends.
  bool has_ended = false;
};

/// The scheduler's view of a device.
struct Lane {
  std::deque<uint64_t> queue;  ///< Queue positions that have not started.
  std::optional<uint64_t> running;
  uint64_t wait = 0;               ///< Cost of the queue and of the running line.
  std::vector<uint64_t> released;  ///< Lines that free memory and may not have ended.

  size_t length() const { return queue.size() + (running ? 1 : 0); }
};

struct SessionState {
  Session told;
  uint32_t number = 0;            ///< Index among the sessions.
  double used = 0;                ///< Virtual time used.
  std::set<uint64_t> ready = {};  ///< By `seq`.
  uint64_t unfinished = 0, live_bytes = 0;
};

class Scheduler::Machine {
 public:
  explicit Machine(Settings settings);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  // Same as in Scheduler.
  void set_weight(const std::string& session, double weight);
  Result<uint64_t> add(std::vector<Entry> entries, const OpCheck& check);
  bool step();
  uint64_t repeat(Queued told, uint64_t tensor);
  uint64_t next_tick() const { return tick_ + 1; }
  const Tick& last_tick() const { return ticks_.back(); }
  const Queued& queued(uint64_t pos) const { return line(pos).told; }
  uint64_t queue_size() const { return first_pos_ + queue_.size(); }
  uint64_t tensor_of(uint64_t pos) const { return line(pos).tensor; }
  const Entry& entry(uint64_t seq) const { return tape_[seq - first_seq_]; }
  void set_attrs(uint64_t seq, std::string attrs) {
    tape_[seq - first_seq_].attrs = std::move(attrs);
  }
  size_t devices() const { return lanes_.size(); }
  bool keeps(uint64_t seq) const { return seq >= first_seq_ && seq < tape_size(); }
  uint64_t tape_size() const { return first_seq_ + tape_.size(); }
  const Names& names() const { return names_; }
  const std::vector<uint64_t>& refused() const { return refused_; }
  const Failure* failure(uint64_t seq) const;
  const SessionState* session(const std::string& name) const;
  Trace trace() const;

 private:
  // scheduler.cc: the steps of a tick.
  std::optional<uint64_t> begin_tick();
  void end_entries(Tick& tick);
  void end_entry(Line& line);
  void admit(uint64_t tick);
  void admit(const Entry& entry);
  void drop(const Entry& entry);
  void start_entries(Tick& tick);
  void start(Line& line, Tick& tick);
  bool can_start(const Line& line) const;
  void finish(Op& op);
  void fail(Op& op, const Failure& why);
  void release(TensorState& tensor);
  void make_ready(Op& op);
  void add_ready(SessionState& session, uint64_t seq);
  bool remove_ready(SessionState& session, uint64_t seq);
  void forget_old();
  std::optional<uint64_t> writer_of(uint64_t tensor, uint32_t device) const;
  uint32_t session_number(const std::string& name);
  Line& line(uint64_t pos) { return queue_[pos - first_pos_]; }
  const Line& line(uint64_t pos) const { return queue_[pos - first_pos_]; }
  TensorState& tensor(uint64_t number) { return tensors_.at(number); }

  // --- place.cc: places ready ops on devices ---
  void place_ready();
  /// Returns false if the op has to wait for memory.
  bool place(Op& op);
  bool place_fetch(Op& op);
  /// `able`: the devices that can hold the op; ascending, not empty.
  uint32_t device_for(const Op& op, const std::vector<uint32_t>& able);
  uint32_t balanced_device(const Op& op, const std::vector<uint32_t>& able);
  uint32_t device_with_most_input(const Op& op, const std::vector<uint32_t>& able);
  /// Pins the inputs already on the device and makes room for the others. Returns false if the op
  /// has to wait.
  bool pin_inputs(const Op& op, uint32_t device);
  void run(Op& op, uint32_t device);
  double move_time(uint32_t device, uint64_t bytes) const;
  uint64_t whole_move_time(uint32_t device, uint64_t bytes) const;
  uint32_t shortest_queue(const TensorState& tensor) const;
  void make_room(uint32_t device, uint64_t bytes);
  void spill(TensorState& leaving, uint32_t device);
  void bring(TensorState& input, uint32_t device);
  void append_free(TensorState& tensor, std::optional<uint32_t> device);
  void append(Line line, const TensorState& tensor);
  void read(Line& line, TensorState& tensor, uint32_t device);
  void need_released(Line& line, uint32_t device);
  bool has_ended(uint64_t pos) const { return pos < first_pos_ || line(pos).has_ended; }

  // locality.cc
  void plan_localities();

  const Settings settings_;
  Names names_;
  std::deque<Entry> tape_;
  uint64_t first_seq_ = 0, admitted_ = 0;  ///< The first kept `seq`, and the first not admitted.
  std::deque<Line> queue_;
  uint64_t first_pos_ = 0;
  std::deque<Tick> ticks_;
  std::unordered_map<uint64_t, Op> ops_;  ///< Unfinished ops, by `seq`.
  std::unordered_map<uint64_t, TensorState> tensors_;
  std::map<uint64_t, Failure> failures_;  ///< By `seq` of every op that failed.
  std::vector<uint64_t> refused_;         ///< In the last tick.
  std::deque<uint64_t> gone_;             ///< Tensors freed or failed, oldest first.
  std::vector<SessionState> sessions_;
  std::unordered_map<std::string, uint32_t> session_numbers_;
  std::vector<Lane> lanes_;  ///< One per device.
  Memory memory_;
  std::vector<uint64_t> floating_;            ///< Lines without a device that have not started.
  using End = std::pair<uint64_t, uint64_t>;  ///< Time and position.
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  /// The latest repeated position, by tensor and device.
  std::map<std::pair<uint64_t, uint32_t>, uint64_t> repeated_;
  std::vector<bool> is_full_;  ///< Devices on which an op waits for memory in this tick.
  uint64_t tick_ = UINT64_MAX, now_ = 0, next_leaf_ = 0, waiting_ = 0;
  /// Sessions with ready ops: virtual time, and index in sessions_.
  std::set<std::pair<double, uint32_t>> active_;
  double clock_ = 0;  ///< Virtual time of the session served last.
  Totals totals_;
};

}  // namespace gpuemu::tape
