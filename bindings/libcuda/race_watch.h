// Finds work of different streams that touches the same bytes with no order between, and memory
// that the host touches before it has waited for work: StreamRace.
//
// It begins when the program has streams whose work can be without an order, or memory that the
// host uses without a call, so that other programs pay nothing for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
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

/// A node of a graph that is launched.
struct GraphPiece {
  std::vector<size_t> after;  ///< The pieces that come before, by index; they stand before it.
  std::shared_ptr<const CallSite> site;
  uint64_t tag = 0;                  ///< A kernel's launch is known by it; 0: no kernel.
  std::string entry;                 ///< The kernel's name.
  bool is_followed = false;          ///< launch_touched() is to be called for the kernel.
  std::vector<TouchedRange> ranges;  ///< What a copy or fill touches.
};

/// Thread-safe after start(). All calls but start() do nothing while the watch is off.
class RaceWatch {
 public:
  /// Must be called once, before anything else; both must outlive the watch.
  void start(bool enabled, Recorder* recorder, const Allocations* allocations);

  void stream_made(Line line, bool is_non_blocking);
  void stream_ended(Line line);
  /// Another host thread uses its own default stream.
  void thread_stream_made();
  /// The program has pinned or managed memory.
  void follow_host();
  bool follows_host() const { return follows_host_; }
  bool is_on() const { return is_on_; }

  /// Before a launch is issued. `may_use_host`: it may touch pinned or managed memory. Returns
  /// whether launch_touched() is to be called when it ends.
  bool launch_begins(uint64_t tag, Line line, const std::string& entry,
                     std::shared_ptr<const CallSite> site, bool may_use_host);
  void launch_refused(uint64_t tag);
  /// Whether launch_touched() is to be called for a launch that begins to run.
  bool wants(uint64_t tag);
  /// Before a graph is launched, whose work comes behind that of the line and before what follows.
  void graph_launched(Line line, const std::vector<GraphPiece>& pieces);
  /// A graph with branches exists: their work can be without an order.
  void graph_branches();
  bool compares_streams() const { return compares_streams_; }
  void launch_touched(uint64_t tag, TouchedMemory memory);
  /// Before a copy or fill is issued, on the thread that does.
  void transfer(Line line, const char* call, const std::vector<TouchedRange>& ranges);
  /// Work that touches no memory, as far as is known. Returns nothing while the watch is off.
  std::optional<WorkStamp> other_work(Line line);

  void recorded(uint64_t event, Line line);
  void waits(Line line, uint64_t event);
  void event_ended(uint64_t event);
  /// The stream writes a value in its order, or waits for one, which may be written later.
  void value_written(uint64_t address, uint64_t value, Line line);
  void value_awaited(uint64_t address, std::function<bool(uint64_t)> is_met, Line line);
  void host_waited_for(Line line);
  void host_waited_for_event(uint64_t event);
  void host_waited_for_device(int device);
  void host_function_runs(const WorkStamp& work);
  /// The pages of pinned and managed memory that work touched which the host has not waited for.
  std::vector<UsedPages> pages_in_use();
  /// The program reads or writes the byte itself; with `function` in a host function of a stream.
  void host_accesses(uint64_t address, bool writes, const WorkStamp* function);
  /// The memory is free, and may be allocated again.
  void forget_memory(uint64_t address, uint64_t bytes);

 private:
  struct Work {
    WorkStamp stamp;
    std::string entry;  ///< "" for a copy or fill.
    std::shared_ptr<const CallSite> site;
    TouchedMemory memory;
    std::vector<UsedPages> pages;  ///< Those in pinned and managed memory.
  };
  /// Two pieces of work that meet unless a write that is not issued yet orders them.
  struct Undecided {
    WorkStamp first, second;
    RunFinding finding;
  };
  void turn_on_if_needed();
  void find_pages(Work& work) const;
  void add(Work work);
  bool replaces_earlier(Work& work);
  void drop_oldest();
  /// Drops the work that nothing issued later can meet.
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
  /// Launches that have not ended, by tag. Those of a graph have the same in each of its launches.
  std::unordered_multimap<uint64_t, Work> running_;
  uint64_t branches_ = 0;  ///< Lines of graphs so far.
  bool has_branches_ = false;
  std::deque<Work> done_;  ///< Work with its memory, in the order of its end.
  size_t ranges_ = 0;      ///< In done_.
  /// Undecided pairs are not findings: the host or a kernel may have written the value.
  std::deque<Undecided> undecided_;
};

/// A host function of a stream runs in this thread while one lives.
class HostFunction {
 public:
  explicit HostFunction(const WorkStamp& work);
  ~HostFunction();
  HostFunction(const HostFunction&) = delete;
  HostFunction& operator=(const HostFunction&) = delete;

 private:
  AsProgram as_program_;
};
/// Null where none runs in this thread.
const WorkStamp* running_host_function();

}  // namespace gpuemu::libcuda
