// Finds unordered work of different streams that accesses the same bytes, and memory that the host
// accesses before it has waited for work: StreamRace.
//
// It starts when the program has streams whose work can be unordered, or memory that the host uses
// without a call, so that other programs have no overhead.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bindings/libcuda/allocations.h"
#include "bindings/libcuda/call_sites/call_site.h"
#include "bindings/libcuda/host_pages.h"
#include "bindings/libcuda/races/overlap.h"
#include "bindings/libcuda/races/work_order.h"
#include "bindings/libcuda/recorder.h"

namespace gpuemu::libcuda {

/// Bytes of memory that a copy or fill reads or writes.
struct TouchedRange {
  uint64_t address = 0, bytes = 0;
  Touch touch = Touch::Read;
};

/// A node of a launched graph.
struct GraphPiece {
  std::vector<size_t> after;  ///< Indices of the preceding pieces, which come earlier in the list.
  std::shared_ptr<const CallSite> site;
  uint64_t tag = 0;                  ///< Identifies a kernel's launch; 0: not a kernel.
  std::string entry;                 ///< The kernel's name.
  bool is_followed = false;          ///< Whether launch_touched() is called for the kernel.
  std::vector<TouchedRange> ranges;  ///< The memory that a copy or fill accesses.
};

/// Thread-safe after start(). All calls but start() do nothing while the watch is off.
class RaceWatch {
 public:
  /// Must be called once, before anything else; both must outlive the watch.
  void start(bool enabled, Recorder* recorder, const Allocations* allocations);

  void stream_made(Line line, bool is_non_blocking);
  void stream_ended(Line line);
  /// Called when another host thread uses its per-thread default stream.
  void thread_stream_made();
  /// Called when the program has pinned or managed memory.
  void follow_host();
  bool follows_host() const { return follows_host_; }
  bool is_on() const { return is_on_; }

  /// Called before a launch is issued. `may_use_host`: it may access pinned or managed memory.
  /// Returns true if launch_touched() must be called when it ends.
  bool launch_begins(uint64_t tag, Line line, const std::string& entry,
                     std::shared_ptr<const CallSite> site, bool may_use_host);
  void launch_refused(uint64_t tag);
  /// Returns true if launch_touched() must be called for a launch that starts to run.
  bool wants(uint64_t tag);
  /// Called before a graph is launched. Its work follows that of the line, and precedes what comes
  /// next.
  void graph_launched(Line line, const std::vector<GraphPiece>& pieces);
  /// Called when a graph with branches exists, whose work can be unordered.
  void graph_branches();
  bool compares_streams() const { return compares_streams_; }
  void launch_touched(uint64_t tag, TouchedMemory memory);
  /// Waits until all launches that are followed have ended, but no longer than this: they may wait
  /// for the calling thread.
  void wait_for_launches(std::chrono::milliseconds most);
  /// Called before a copy or fill is issued, on the issuing thread.
  void transfer(Line line, const char* call, const std::vector<TouchedRange>& ranges);
  /// Registers work that accesses no known memory. Returns nothing while the watch is off.
  std::optional<WorkStamp> other_work(Line line);

  void recorded(uint64_t event, Line line);
  void waits(Line line, uint64_t event);
  void event_ended(uint64_t event);
  /// Called when the stream writes a value in stream order, or waits for one, which may be written
  /// later.
  void value_written(uint64_t address, uint64_t value, Line line);
  void value_awaited(uint64_t address, std::function<bool(uint64_t)> is_met, Line line);
  void host_waited_for(Line line);
  void host_waited_for_event(uint64_t event);
  void host_waited_for_device(int device);
  void host_function_runs(const WorkStamp& work);
  /// Returns the pages of pinned and managed memory accessed by work that the host has not waited
  /// for.
  std::vector<UsedPages> pages_in_use();
  /// Called when the program itself accesses the byte; `function` is set in a host function of a
  /// stream.
  void host_accesses(uint64_t address, bool writes, const WorkStamp* function);
  /// Called when the memory is freed, and may be allocated again.
  void forget_memory(uint64_t address, uint64_t bytes);
  /// Excludes memory of the driver, which orders its use itself.
  void leave_out(uint64_t address, uint64_t bytes);

 private:
  struct Work {
    WorkStamp stamp;
    std::string entry;  ///< "" for a copy or fill.
    std::shared_ptr<const CallSite> site;
    TouchedMemory memory;
    std::vector<UsedPages> pages;  ///< Pages of pinned and managed memory.
  };
  /// Two conflicting pieces of work, unless a write that is not issued yet orders them.
  struct Undecided {
    WorkStamp first, second;
    RunFinding finding;
  };
  void turn_on_if_needed();
  void find_pages(Work& work) const;
  void add(Work work);
  bool replaces_earlier(Work& work);
  void drop_oldest();
  /// Drops work that cannot conflict with later work.
  void drop_ordered();
  void compare(const Work& first, const Work& second);
  template <typename Change>
  void host_waited(const Change& change);

  bool enabled_ = false;
  Recorder* recorder_ = nullptr;
  const Allocations* allocations_ = nullptr;
  std::atomic<bool> is_on_ = false, follows_host_ = false;
  std::atomic<bool> compares_streams_ = false;
  std::atomic<size_t> uses_host_ = 0;  ///< Work in done_ that has pages.
  std::mutex mutex_;                   ///< Guards the members below.
  size_t blocking_ = 0, non_blocking_ = 0;
  WorkOrder order_;
  /// Launches that have not ended, by tag. Those of a graph have the same tag in each of its
  /// launches.
  std::unordered_multimap<uint64_t, Work> running_;
  uint64_t branches_ = 0;  ///< Number of lines of graphs so far.
  bool has_branches_ = false;
  std::deque<Work> done_;  ///< Work with its memory, in the order of its end.
  size_t ranges_ = 0;      ///< In done_.
  std::vector<std::pair<uint64_t, uint64_t>> left_out_;  ///< First and end address of each range.
  /// Undecided pairs are not findings: the host or a kernel may have written the value.
  std::deque<Undecided> undecided_;
};

/// Marks that this thread runs a host function of a stream while it lives.
class HostFunction {
 public:
  explicit HostFunction(const WorkStamp& work);
  ~HostFunction();
  HostFunction(const HostFunction&) = delete;
  HostFunction& operator=(const HostFunction&) = delete;

 private:
  AsProgram as_program_;
};
/// Null if none runs in this thread.
const WorkStamp* running_host_function();

}  // namespace gpuemu::libcuda
