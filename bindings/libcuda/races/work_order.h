// Decides which work of a program's streams is ordered: by its stream, by an event that a stream
// waits for, by the legacy default stream, or because the host waited before it issued more. The
// order in which the emulator executed the work does not matter.
//
// All host threads count as one, since their waits for each other cannot be seen.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace gpuemu::libcuda {

/// The work of one stream.
struct Line {
  int device = 0;
  uint64_t stream = 0;  ///< kLegacy is the legacy default stream.
  auto operator<=>(const Line&) const = default;
};
inline constexpr uint64_t kLegacy = 0;

struct AwaitedValue;

/// The work that precedes something.
struct WorkClock {
  std::map<Line, uint64_t> known;  ///< The last work of each line.
  /// Values in memory that were waited for; the work before their writes also comes first.
  std::vector<std::shared_ptr<const AwaitedValue>> awaited;
};

/// A value that work waits for and that is not written yet when the wait is issued.
struct AwaitedValue {
  uint64_t address = 0;
  std::function<bool(uint64_t)> is_met;
  std::shared_ptr<const WorkClock> written;  ///< The work before the write. Null: not written yet.
};

/// When a piece of work was issued, and the work before it.
struct WorkStamp {
  Line line;
  uint64_t number = 0;                      ///< Counts the work of the line.
  uint64_t issued = 0;                      ///< Counts the work of all lines.
  std::shared_ptr<const WorkClock> before;  ///< Including the work itself.
};

/// Returns true if `first` is known to be done before `second` begins.
bool comes_before(const WorkStamp& first, const WorkStamp& second);
/// Returns true if one of the two comes before the other.
bool are_ordered(const WorkStamp& one, const WorkStamp& other);
/// Returns true if a write that has not been issued may order the two.
bool may_become_ordered(const WorkStamp& one, const WorkStamp& other);

/// Not thread-safe.
class WorkOrder {
 public:
  /// Lines are blocking streams unless this is called: work of the legacy stream is not ordered
  /// with that of a non-blocking one.
  void make_non_blocking(Line line) { lines_[line].is_blocking = false; }
  /// Called when the stream is destroyed; work already issued is kept.
  void end(Line line);

  WorkStamp issue(Line line);
  /// Issues work to a line that waits for all of `before` first.
  WorkStamp issue_after(Line line, const std::vector<WorkStamp>& before);
  void record(uint64_t event, Line line);
  void wait(Line line, uint64_t event);
  void forget_event(uint64_t event) { events_.erase(event); }
  /// Called when the line has written this value in its order. Returns true if work had waited for
  /// it.
  bool write_value(uint64_t address, uint64_t value, Line line);
  /// Makes the line wait until `is_met` holds for the value at this address.
  void wait_for_value(uint64_t address, std::function<bool(uint64_t)> is_met, Line line);
  /// Drops the values written to this memory, which is freed or reused.
  void forget_values(uint64_t address, uint64_t bytes);

  // The host waits, or finds out that nothing is left to wait for.
  void host_waits_for(Line line);
  void host_waits_for_event(uint64_t event);
  void host_waits_for_device(int device);
  /// Records that everything before `work` is done.
  void host_saw(const WorkStamp& work);
  /// Returns true if all work that is issued from now on comes after `work`.
  bool host_has_seen(const WorkStamp& work) const;
  /// Drops ended lines whose work the host has seen; no stamp of them may be in use.
  void forget_ended();

 private:
  struct Progress {
    uint64_t issued = 0;
    WorkClock before;  ///< The work before its latest work, and that work.
    bool is_blocking = true, has_ended = false;
  };

  struct Written {
    uint64_t value = 0;
    std::shared_ptr<const WorkClock> before;
  };

  uint64_t issued_ = 0;
  std::map<Line, Progress> lines_;
  std::map<uint64_t, std::shared_ptr<const WorkClock>> events_;
  std::map<uint64_t, Written> values_;  ///< The value that was written last, by address.
  std::vector<std::shared_ptr<AwaitedValue>> awaited_;  ///< Not written yet.
  WorkClock host_;
};

}  // namespace gpuemu::libcuda
