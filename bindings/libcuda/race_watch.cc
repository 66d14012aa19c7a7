#include "bindings/libcuda/race_watch.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "bindings/libcuda/call_sites/symbols.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

/// Limits how much earlier work that nothing has waited for is compared with new work.
constexpr size_t kWorkMax = 1024, kRangesMax = size_t{1} << 22;
constexpr size_t kUndecidedMax = 256;
/// First numbers of the lines of graphs, and of the threads' default streams.
constexpr uint64_t kBranches = uint64_t{1} << 62, kThreads = uint64_t{1} << 63;

size_t ranges_in(const TouchedMemory& memory) {
  return memory.reads.size() + memory.writes.size() + memory.updates.size();
}

std::string who(const std::string& entry, const CallSite& site) {
  return entry.empty() ? std::string(site.call) : "kernel " + demangled(entry);
}

/// One of the two pieces of work, as reports name it.
struct RaceEnd {
  std::string kernel, ptx_kernel;
  TouchedPlace place;
  RunHostCall host;
};

RaceEnd end_of(const std::string& entry, const CallSite& site, const TouchedMemory& memory,
               uint32_t place) {
  RaceEnd made;
  made.host = {site.call, frames_of(site)};
  if (!entry.empty()) {
    made.kernel = demangled(entry);
    made.ptx_kernel = entry;
    made.place = memory.places.at(place);
  } else if (!made.host.stack.empty()) {
    // Frames of the C library, which copies and fills, have no lines.
    const auto known =
        std::ranges::find_if(made.host.stack, [](const auto& one) { return one.line != 0; });
    const auto& at = known == made.host.stack.end() ? made.host.stack.front() : *known;
    made.place.file = at.file;
    made.place.line = at.line;
  }
  return made;
}

void sort_ranges(std::vector<TouchedBytes>& ranges) {
  std::ranges::sort(ranges, {}, &TouchedBytes::begin);
  std::vector<TouchedBytes> joined;
  for (const TouchedBytes& one : ranges) {
    if (!joined.empty() && one.begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, one.end);
    } else {
      joined.push_back(one);
    }
  }
  ranges = std::move(joined);
}

void note_ranges(TouchedMemory& memory, const std::vector<TouchedRange>& ranges) {
  for (const TouchedRange& one : ranges) {
    auto& list = one.touch == Touch::Read ? memory.reads : memory.writes;
    list.push_back({one.address, one.address + one.bytes, 0});
  }
  sort_ranges(memory.reads);
  sort_ranges(memory.writes);
}

/// Returns the call that makes a stream wait, in the interface that the program uses.
const char* waiting_call_of(const CallSite& site) {
  const std::string_view call = site.call;
  const bool is_runtime = call == kStatementLaunch || call.starts_with("cuda");
  return is_runtime ? "cudaStreamWaitEvent" : "cuStreamWaitEvent";
}

/// Returns what a piece of work does with the bytes, as messages say it.
std::string_view verb_for(Touch touch, const CallSite& site) {
  const auto is_of = [call = std::string_view(site.call)](const char* word) {
    return call.ends_with("Async") && call.find(word) != std::string_view::npos;
  };
  return is_of("Free") ? "frees" : is_of("lloc") ? "allocates" : verb_of(touch);
}

bool is_host_access(const CallSite& site) { return site.call == kHostAccess; }

bool are_in_graph(const WorkStamp& one, const WorkStamp& other) {
  const auto is_branch = [](const WorkStamp& of) {
    return of.line.stream >= kBranches && of.line.stream < kThreads;
  };
  return is_branch(one) && is_branch(other);
}

/// Describes where the first of two pieces of work ran, relative to the second.
const char* place_of(const WorkStamp& first, const WorkStamp& second) {
  return are_in_graph(first, second) ? " in another branch of the graph" : " in another stream";
}

/// Returns the end of the message about two conflicting pieces of work.
std::string advice_of(const CallSite& first, const CallSite& second, bool host_waits,
                      bool in_graph) {
  if (in_graph) return "nothing orders the two: let one of the nodes depend on the other";
  if (!host_waits) {
    return fmt::format(
        "nothing orders the two: let one stream wait for an event that the other records behind "
        "its work ({}), or synchronize",
        waiting_call_of(is_host_access(second) ? first : second));
  }
  const bool is_runtime = std::string_view(waiting_call_of(first)).starts_with("cuda");
  return fmt::format("the host has not waited for that: synchronize first ({})",
                     is_runtime ? "cudaDeviceSynchronize, or cudaStreamSynchronize of its stream"
                                : "cuCtxSynchronize, or cuStreamSynchronize of its stream");
}

}  // namespace

void RaceWatch::start(bool enabled, Recorder* recorder, const Allocations* allocations) {
  enabled_ = enabled;
  recorder_ = recorder;
  allocations_ = allocations;
}

/// A single blocking stream is always ordered with the legacy stream.
void RaceWatch::turn_on_if_needed() {
  compares_streams_ = enabled_ && (non_blocking_ != 0 || blocking_ > 1 || has_branches_);
  is_on_ = compares_streams_ || follows_host_;
}

void RaceWatch::follow_host() {
  if (!enabled_ || follows_host_) return;
  const std::lock_guard lock(mutex_);
  follows_host_ = true;
  turn_on_if_needed();
}

void RaceWatch::stream_made(Line line, bool is_non_blocking) {
  const std::lock_guard lock(mutex_);
  if (is_non_blocking) order_.make_non_blocking(line);
  ++(is_non_blocking ? non_blocking_ : blocking_);
  turn_on_if_needed();
}

void RaceWatch::thread_stream_made() {
  const std::lock_guard lock(mutex_);
  ++blocking_;
  turn_on_if_needed();
}

void RaceWatch::stream_ended(Line line) {
  const std::lock_guard lock(mutex_);
  order_.end(line);
}

bool RaceWatch::launch_begins(uint64_t tag, Line line, const std::string& entry,
                              std::shared_ptr<const CallSite> site, bool may_use_host) {
  if (!compares_streams_ && !(follows_host_ && may_use_host)) return false;
  const std::lock_guard lock(mutex_);
  running_.emplace(tag, Work{order_.issue(line), entry, std::move(site), {}, {}});
  return true;
}

void RaceWatch::launch_refused(uint64_t tag) {
  if (!is_on_) return;
  const std::lock_guard lock(mutex_);
  // Launches of a graph have one tag, and run one after the other.
  const auto [begin, end] = running_.equal_range(tag);
  const auto first = std::min_element(begin, end, [](const auto& one, const auto& other) {
    return one.second.stamp.issued < other.second.stamp.issued;
  });
  if (first != end) running_.erase(first);
}

bool RaceWatch::wants(uint64_t tag) {
  if (!is_on_) return false;
  const std::lock_guard lock(mutex_);
  return running_.contains(tag);
}

void RaceWatch::graph_branches() {
  const std::lock_guard lock(mutex_);
  has_branches_ = true;
  turn_on_if_needed();
}

void RaceWatch::graph_launched(Line line, const std::vector<GraphPiece>& pieces) {
  const std::lock_guard lock(mutex_);
  const WorkStamp begin = order_.issue(line);
  std::vector<WorkStamp> stamps;
  std::map<Line, size_t> last;  // The last piece of each line of the graph.
  for (size_t i = 0; i < pieces.size(); ++i) {
    const GraphPiece& piece = pieces[i];
    std::vector<WorkStamp> before = {begin};
    std::optional<Line> own;
    for (const size_t one : piece.after) {
      before.push_back(stamps[one]);
      if (!own && last.at(stamps[one].line) == one) own = stamps[one].line;
    }
    if (!own) {
      own = Line{line.device, kBranches + branches_++};
      order_.make_non_blocking(*own);
    }
    stamps.push_back(order_.issue_after(*own, before));
    last[*own] = i;
    Work work{stamps.back(), piece.entry, piece.site, {}, {}};
    if (piece.is_followed) running_.emplace(piece.tag, work);
    if (piece.ranges.empty()) continue;
    note_ranges(work.memory, piece.ranges);
    add(std::move(work));
  }
  order_.issue_after(line, stamps);
  for (const auto& [branch, piece] : last) order_.end(branch);
}

void RaceWatch::launch_touched(uint64_t tag, TouchedMemory memory) {
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = running_.equal_range(tag);
  // Launches of a graph run one after the other.
  const auto found = std::min_element(begin, end, [](const auto& one, const auto& other) {
    return one.second.stamp.issued < other.second.stamp.issued;
  });
  if (found == end) return;
  Work work = std::move(found->second);
  running_.erase(found);
  if (!memory.is_complete) {
    say_once("touched " + work.entry,
             fmt::format("kernel {} touches too many separate pieces of memory: StreamRace checks "
                         "the first ones only",
                         demangled(work.entry)));
  }
  work.memory = std::move(memory);
  add(std::move(work));
}

void RaceWatch::transfer(Line line, const char* call, const std::vector<TouchedRange>& ranges) {
  if (!is_on_) return;
  Work work;
  work.site = call_site(call);  // Before the lock, because it may wait for Python's lock.
  note_ranges(work.memory, ranges);
  const std::lock_guard lock(mutex_);
  work.stamp = order_.issue(line);
  add(std::move(work));
}

std::optional<WorkStamp> RaceWatch::other_work(Line line) {
  if (!is_on_) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return order_.issue(line);
}

/// Earlier work of the same stream with the same accesses adds nothing: what conflicts with it also
/// conflicts with `work`, unless it is ordered only with `work`.
bool RaceWatch::replaces_earlier(Work& work) {
  const auto again = std::ranges::find_if(done_, [&](const Work& one) {
    return one.stamp.line == work.stamp.line && one.entry == work.entry &&
           comes_before(one.stamp, work.stamp) && one.memory == work.memory;
  });
  if (again == done_.end()) return false;
  const bool is_awaited = std::ranges::any_of(running_, [&](const auto& launch) {
    const WorkStamp& other = launch.second.stamp;
    return !are_ordered(other, again->stamp) && are_ordered(other, work.stamp);
  });
  if (is_awaited) return false;
  if (again->pages.empty() != work.pages.empty()) work.pages.empty() ? --uses_host_ : ++uses_host_;
  *again = std::move(work);
  return true;
}

void RaceWatch::drop_oldest() {
  say_once("stream races",
           "too much work runs without an order between streams: StreamRace compares new work "
           "with the latest of it only, and may miss races with older work");
  ranges_ -= ranges_in(done_.front().memory);
  uses_host_ -= done_.front().pages.empty() ? 0 : 1;
  done_.pop_front();
}

void RaceWatch::leave_out(uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  left_out_.emplace_back(address, address + bytes);
}

void RaceWatch::add(Work work) {
  for (const auto& [begin, end] : left_out_) forget_bytes(work.memory, begin, end);
  const size_t count = ranges_in(work.memory);
  if (count == 0) return;
  find_pages(work);
  if (work.pages.empty() && !compares_streams_) return;
  for (const Work& other : done_) {
    if (are_ordered(other.stamp, work.stamp)) continue;
    const bool is_first = other.stamp.issued < work.stamp.issued;
    compare(is_first ? other : work, is_first ? work : other);
  }
  if (replaces_earlier(work)) return;
  ranges_ += count;
  uses_host_ += work.pages.empty() ? 0 : 1;
  done_.push_back(std::move(work));
  while (done_.size() > kWorkMax || (ranges_ > kRangesMax && done_.size() > 1)) drop_oldest();
}

void RaceWatch::compare(const Work& first, const Work& second) {
  const auto met = first_overlap(first.memory, second.memory);
  if (!met) return;
  RaceEnd one = end_of(first.entry, *first.site, first.memory, met->place_of_one);
  RaceEnd two = end_of(second.entry, *second.site, second.memory, met->place_of_other);
  RunFinding made;
  made.kind = kRunStreamRace;
  const auto what = allocations_->holding(met->address);
  const std::string where = what == nullptr ? fmt::format("the byte at {:#x}", met->address)
                                            : fmt::format("byte offset {} of '{}'",
                                                          met->address - what->address, what->name);
  const bool by_host = is_host_access(*second.site), has_stream = second.stamp.before != nullptr;
  const std::string by = by_host ? has_stream ? "a host function" : "the host" : second.site->call;
  made.message = fmt::format(
      "{}{} {}, which {}{} {}, and {}", second.entry.empty() ? by + " " : "",
      verb_for(met->other, *second.site), where, who(first.entry, *first.site),
      has_stream ? place_of(first.stamp, second.stamp) : "", verb_for(met->one, *first.site),
      advice_of(*first.site, *second.site, by_host && !has_stream,
                are_in_graph(first.stamp, second.stamp)));
  made.kernel = std::move(two.kernel);
  made.ptx_kernel = std::move(two.ptx_kernel);
  made.file = std::move(two.place.file);
  made.line = two.place.line;
  made.ptx_line = two.place.ptx_line;
  made.instruction = std::move(two.place.instruction);
  made.host = std::move(two.host);
  made.other = RunOther{std::move(one.place.file), one.place.line,
                        one.place.ptx_line,        std::move(one.place.instruction),
                        std::move(one.kernel),     std::move(one.ptx_kernel),
                        std::move(one.host)};
  if (what != nullptr) {
    const auto offset = static_cast<int64_t>(met->address - what->address);
    // A managed variable was made by no call.
    auto stack = what->made == nullptr ? std::vector<RunFrame>{} : frames_of(*what->made);
    made.allocation = RunAllocation{what->name, what->bytes, offset, std::move(stack), {}};
  }
  if (!second.site->test.empty()) made.tests = {second.site->test};
  made.process = getpid();
  if (!has_stream || !may_become_ordered(first.stamp, second.stamp)) {
    recorder_->add(std::move(made));
    return;
  }
  if (undecided_.size() == kUndecidedMax) undecided_.pop_front();
  undecided_.push_back({first.stamp, second.stamp, std::move(made)});
}

void RaceWatch::drop_ordered() {
  std::erase_if(done_, [&](const Work& one) {
    const bool is_over =
        order_.host_has_seen(one.stamp) && std::ranges::all_of(running_, [&](const auto& launch) {
          return are_ordered(launch.second.stamp, one.stamp);
        });
    if (is_over) ranges_ -= ranges_in(one.memory);
    if (is_over && !one.pages.empty()) --uses_host_;
    return is_over;
  });
  if (done_.empty() && running_.empty()) order_.forget_ended();
}

template <typename Change>
void RaceWatch::host_waited(const Change& change) {
  if (!is_on_) return;
  const std::lock_guard lock(mutex_);
  change();
  drop_ordered();
}

void RaceWatch::recorded(uint64_t event, Line line) {
  if (!is_on_) return;
  const std::lock_guard lock(mutex_);
  order_.record(event, line);
}

void RaceWatch::waits(Line line, uint64_t event) {
  if (!is_on_) return;
  const std::lock_guard lock(mutex_);
  order_.wait(line, event);
}

void RaceWatch::value_written(uint64_t address, uint64_t value, Line line) {
  if (!is_on_) return;
  const std::lock_guard lock(mutex_);
  if (!order_.write_value(address, value, line)) return;
  std::erase_if(undecided_, [&](Undecided& one) {
    if (are_ordered(one.first, one.second)) return true;
    if (may_become_ordered(one.first, one.second)) return false;
    recorder_->add(std::move(one.finding));
    return true;
  });
}

void RaceWatch::value_awaited(uint64_t address, std::function<bool(uint64_t)> is_met, Line line) {
  if (!is_on_) return;
  const std::lock_guard lock(mutex_);
  order_.wait_for_value(address, std::move(is_met), line);
}

void RaceWatch::event_ended(uint64_t event) {
  if (!is_on_) return;
  const std::lock_guard lock(mutex_);
  order_.forget_event(event);
}

void RaceWatch::host_waited_for(Line line) {
  host_waited([&] { order_.host_waits_for(line); });
}

void RaceWatch::host_waited_for_event(uint64_t event) {
  host_waited([&] { order_.host_waits_for_event(event); });
}

void RaceWatch::host_waited_for_device(int device) {
  host_waited([&] { order_.host_waits_for_device(device); });
}

void RaceWatch::host_function_runs(const WorkStamp& work) {
  host_waited([&] { order_.host_saw(work); });
}

void RaceWatch::wait_for_launches(std::chrono::milliseconds most) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kPause{200};
  const auto until = Clock::now() + most;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (running_.empty()) return;
    }
    if (Clock::now() >= until) return;
    std::this_thread::sleep_for(kPause);
  }
}

void RaceWatch::forget_memory(uint64_t address, uint64_t bytes) {
  if (!is_on_) return;
  const std::lock_guard lock(mutex_);
  order_.forget_values(address, bytes);
  for (Work& one : done_) {
    ranges_ -= ranges_in(one.memory);
    forget_bytes(one.memory, address, address + bytes);
    ranges_ += ranges_in(one.memory);
    const bool had_pages = !one.pages.empty();
    std::erase_if(one.pages, [&](const UsedPages& pages) {
      return pages.begin < address + bytes && address < pages.end;
    });
    if (had_pages && one.pages.empty()) --uses_host_;
  }
}

}  // namespace gpuemu::libcuda
