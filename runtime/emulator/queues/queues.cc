#include "runtime/emulator/queues/queues.h"

#include <algorithm>

namespace gpuemu::emulator {
namespace {

Error unknown(const char* what, uint64_t id) {
  return error(ErrorCode::InvalidArgument,
               "no {} {} of this device: it was never made, is freed, or belongs to another device "
               "or context",
               what, id);
}

/// Returns an id that is unique in the process, so that an id of another device is never valid.
uint64_t take_id() {
  constexpr uint64_t kFirst = 16;  // Lower ones are the predefined streams.
  static std::atomic<uint64_t> next = kFirst;
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

Queues::Queues(uint64_t seed) : seed_(seed), random_(seed) { streams_[kDefaultStream]; }

Queues::~Queues() {
  {
    const Lock lock(mutex_);
    ending_ = true;
  }
  issued_.notify_all();
  if (executor_.joinable()) executor_.join();
}

void Queues::wait(Lock& lock, const Condition& is_met) {
  if (is_met()) return;
  execute_until(lock, is_met);
  if (!is_met()) {
    waiting_.push_back(&is_met);
    issued_.notify_one();
    finished_.wait(lock, is_met);
    std::erase(waiting_, &is_met);
  } else if (busy_.load(std::memory_order_relaxed) != 0) {
    issued_.notify_one();  // The executor continues with what is left.
  }
}

void Queues::grant_one() {
  if (seed_ == 0) return;
  granted_ = 1;
  issued_.notify_one();
}

StreamId Queues::add_stream(const StreamOptions& options) {
  const StreamId id = take_id();
  Stream& made = streams_[id];
  made.options = options;
  made.options.priority = std::clamp(options.priority, priorities().greatest, priorities().least);
  return id;
}

StreamId Queues::mine(StreamId stream) {
  if (stream != kPerThreadStream) return stream;
  const auto [place, is_new] = per_thread_.try_emplace(std::this_thread::get_id(), stream);
  if (is_new) place->second = add_stream({});
  return place->second;
}

Result<Queues::Stream*> Queues::find(StreamId stream) {
  const auto found = streams_.find(mine(stream));
  if (found == streams_.end() || found->second.closing) return unknown("stream", stream);
  return &found->second;
}

Result<Queues::Event*> Queues::find_event(EventId event) {
  const auto found = events_.find(event);
  if (found == events_.end()) return unknown("event", event);
  return &found->second;
}

/// Fails during a capture: the default stream would wait for streams whose work is only recorded.
Status Queues::refuse_implicit(const char* what) {
  bool refused = false;
  for (auto& [id, capture] : captures_) {
    const bool blocking = std::ranges::any_of(capture.streams(), [&](const auto& member) {
      const auto stream = streams_.find(member.first);
      return stream != streams_.end() && !stream->second.options.non_blocking;
    });
    if (!blocking) continue;
    capture.spoil(fmt::format("{} belongs to the default stream, which would wait for it", what));
    refused = true;
  }
  if (!refused) return ok_status();
  return error(
      ErrorCode::InvalidArgument,
      "{} belongs to the default stream and would wait for a stream that is captured; make "
      "the captured stream non-blocking, or use another stream",
      what);
}

void Queues::push(Stream& stream, Item item) {
  item.number = next_number_++;
  stream.issued = item.number;
  stream.items.push_back(std::move(item));
  busy_.fetch_add(1, std::memory_order_relaxed);
  if (!executor_.joinable()) executor_ = std::thread([this] { execute(); });
  if (seed_ == 0) issued_.notify_one();
}

Result<StreamId> Queues::make_stream(const StreamOptions& options) {
  const Lock lock(mutex_);
  return add_stream(options);
}

Status Queues::free_stream(StreamId stream) {
  const Lock lock(mutex_);
  if (stream == kDefaultStream || stream == kPerThreadStream) {
    return error(ErrorCode::InvalidArgument, "stream {} always exists and is not freed", stream);
  }
  Stream* found = GPUEMU_TRY(find(stream));
  if (found->capture != 0) {
    return error(ErrorCode::InvalidArgument, "stream {} is captured; end the capture first",
                 stream);
  }
  found->closing = true;
  if (found->items.empty()) remove(streams_.find(stream));
  return ok_status();
}

void Queues::remove(std::map<StreamId, Stream>::iterator stream) {
  Stream& always = streams_.at(kDefaultStream);
  if (!always.failure) always.failure = std::move(stream->second.failure);
  streams_.erase(stream);
}

Status Queues::submit(StreamId stream, std::function<Status()> work, Where where) {
  const Lock lock(mutex_);
  Stream* found = GPUEMU_TRY(find(stream));
  if (found->capture != 0) {
    captures_.at(found->capture).add(mine(stream), {std::move(work), where});
    return ok_status();
  }
  if (stream == kDefaultStream) GPUEMU_TRY(refuse_implicit("this call"));
  Item item;
  item.work = {std::move(work), where};
  push(*found, std::move(item));
  return ok_status();
}

Status Queues::wait_until(StreamId stream, std::function<bool()> is_met) {
  const Lock lock(mutex_);
  Stream* found = GPUEMU_TRY(find(stream));
  if (found->capture != 0) {
    return error(ErrorCode::InvalidArgument,
                 "stream {} is captured and cannot wait for a value; end the capture first",
                 stream);
  }
  if (stream == kDefaultStream) GPUEMU_TRY(refuse_implicit("this wait"));
  Item item;
  item.may_begin = std::move(is_met);
  push(*found, std::move(item));
  return ok_status();
}

Status Queues::synchronize(StreamId stream) {
  Lock lock(mutex_);
  Stream* found = GPUEMU_TRY(find(stream));
  if (is_executing()) {
    return error(ErrorCode::InvalidArgument, "work of a stream must not wait for a stream");
  }
  if (found->capture != 0) {
    captures_.at(found->capture).spoil("one of its streams was synchronized");
    return error(ErrorCode::InvalidArgument, "stream {} is captured and cannot be waited for",
                 stream);
  }
  if (stream == kDefaultStream) GPUEMU_TRY(refuse_implicit("waiting for it"));
  const StreamId id = mine(stream);
  const uint64_t target = found->issued;
  // The stream may be freed during the wait.
  wait(lock, [&] {
    const auto place = streams_.find(id);
    return place == streams_.end() || place->second.done >= target;
  });
  const auto place = streams_.find(id);
  if (place == streams_.end() || !place->second.failure) return ok_status();
  const Error failure = *std::exchange(place->second.failure, std::nullopt);
  return failure;
}

Status Queues::synchronize_all() {
  {
    const Lock lock(mutex_);
    GPUEMU_TRY(refuse_implicit("waiting for all streams"));
  }
  GPUEMU_TRY(settle(true));
  const Lock lock(mutex_);
  // Reports one error; the other streams keep theirs for later calls.
  const auto failed =
      std::ranges::find_if(streams_, [](const auto& pair) { return !!pair.second.failure; });
  if (failed == streams_.end()) return ok_status();
  const Error failure = *std::exchange(failed->second.failure, std::nullopt);
  return failure;
}

Status Queues::settle(bool all_streams) {
  if (busy_.load(std::memory_order_acquire) == 0) return ok_status();
  if (is_executing()) {
    return error(ErrorCode::InvalidArgument, "work of a stream must not call the device");
  }
  Lock lock(mutex_);
  if (!all_streams) GPUEMU_TRY(refuse_implicit("a synchronous call"));
  const uint64_t last = next_number_ - 1;
  wait(lock, [&] {
    return std::ranges::all_of(streams_, [&](const auto& pair) {
      const Stream& stream = pair.second;
      return (stream.options.non_blocking && !all_streams) || stream.items.empty() ||
             stream.items.front().number > last;
    });
  });
  return ok_status();
}

Result<bool> Queues::query(StreamId stream) {
  const Lock lock(mutex_);
  const Stream* found = GPUEMU_TRY(find(stream));
  if (found->capture != 0) {
    captures_.at(found->capture).spoil("one of its streams was queried");
    return error(ErrorCode::InvalidArgument, "stream {} is captured and cannot be queried", stream);
  }
  if (found->items.empty()) return true;
  grant_one();
  return false;
}

Result<EventId> Queues::make_event() {
  const Lock lock(mutex_);
  const EventId id = take_id();
  events_[id];
  return id;
}

Status Queues::free_event(EventId event) {
  const Lock lock(mutex_);
  if (events_.erase(event) == 0) return unknown("event", event);
  return ok_status();
}

Status Queues::record(EventId event, StreamId stream) {
  const Lock lock(mutex_);
  Event* found = GPUEMU_TRY(find_event(event));
  Stream* place = GPUEMU_TRY(find(stream));
  if (place->capture != 0) {
    *found = {nullptr, place->capture, captures_.at(place->capture).tips(mine(stream))};
    return ok_status();
  }
  if (stream == kDefaultStream) GPUEMU_TRY(refuse_implicit("this record"));
  *found = {std::make_shared<Mark>(), 0, {}};
  Item item;
  item.reaches = found->mark;
  push(*place, std::move(item));
  return ok_status();
}

Status Queues::wait_event(StreamId stream, EventId event) {
  const Lock lock(mutex_);
  const Event* found = GPUEMU_TRY(find_event(event));
  Stream* place = GPUEMU_TRY(find(stream));
  if (place->capture != 0 && found->capture != place->capture) {
    captures_.at(place->capture).spoil("a stream waited for an event from outside of it");
    return error(ErrorCode::InvalidArgument,
                 "event {} was not recorded in the capture of stream {}; record it there first",
                 event, stream);
  }
  if (found->capture != 0) {
    const auto capture = captures_.find(found->capture);
    if (capture == captures_.end()) {
      return error(ErrorCode::InvalidArgument,
                   "event {} was recorded in a capture that is over; record it again", event);
    }
    if (stream == kDefaultStream) return refuse_implicit("this wait");
    capture->second.join(mine(stream), found->tips);
    place->capture = found->capture;
    return ok_status();
  }
  if (stream == kDefaultStream) GPUEMU_TRY(refuse_implicit("this wait"));
  if (found->mark == nullptr) return ok_status();
  Item item;
  item.waits_for = found->mark;
  push(*place, std::move(item));
  return ok_status();
}

Status Queues::refuse_captured(const Event& event, const char* what) {
  if (event.capture == 0) return ok_status();
  const auto capture = captures_.find(event.capture);
  if (capture != captures_.end()) capture->second.spoil("one of its events was asked for");
  return error(ErrorCode::InvalidArgument, "an event recorded in a capture cannot be {}", what);
}

Status Queues::synchronize_event(EventId event) {
  Lock lock(mutex_);
  const Event* found = GPUEMU_TRY(find_event(event));
  GPUEMU_TRY(refuse_captured(*found, "waited for by the host"));
  if (is_executing()) {
    return error(ErrorCode::InvalidArgument, "work of a stream must not wait for an event");
  }
  const std::shared_ptr<Mark> mark = found->mark;
  if (mark != nullptr) wait(lock, [&] { return mark->reached; });
  return ok_status();
}

Result<bool> Queues::query_event(EventId event) {
  const Lock lock(mutex_);
  const Event* found = GPUEMU_TRY(find_event(event));
  GPUEMU_TRY(refuse_captured(*found, "queried"));
  if (found->mark == nullptr || found->mark->reached) return true;
  grant_one();
  return false;
}

Result<float> Queues::elapsed_ms(EventId from, EventId to) {
  const Lock lock(mutex_);
  const Event* begin = GPUEMU_TRY(find_event(from));
  const Event* end = GPUEMU_TRY(find_event(to));
  for (const Event* event : {begin, end}) {
    if (event->mark != nullptr && event->mark->reached) continue;
    return error(ErrorCode::InvalidArgument,
                 "event {} is not {} yet; record it and synchronize before asking for the time",
                 event == begin ? from : to, event->mark == nullptr ? "recorded" : "reached");
  }
  return std::chrono::duration<float, std::milli>(end->mark->time - begin->mark->time).count();
}

Status Queues::begin_capture(StreamId stream) {
  const Lock lock(mutex_);
  if (stream == kDefaultStream) {
    return error(ErrorCode::InvalidArgument,
                 "the default stream cannot be captured; make a stream for it");
  }
  Stream* found = GPUEMU_TRY(find(stream));
  if (found->capture != 0) {
    return error(ErrorCode::InvalidArgument, "stream {} is captured already", stream);
  }
  found->capture = take_id();
  captures_.emplace(found->capture, mine(stream));
  busy_.fetch_add(1, std::memory_order_relaxed);
  return ok_status();
}

Result<GraphId> Queues::end_capture(StreamId stream) {
  const Lock lock(mutex_);
  const Stream* found = GPUEMU_TRY(find(stream));
  if (found->capture == 0) {
    return error(ErrorCode::InvalidArgument, "stream {} is not captured", stream);
  }
  const auto place = captures_.find(found->capture);
  if (place->second.origin() != mine(stream)) {
    place->second.spoil("it was ended from a stream that only joined");
    return error(ErrorCode::InvalidArgument,
                 "the capture of stream {} began with stream {}; end it there", stream,
                 place->second.origin());
  }
  Capture capture = std::move(place->second);
  for (const auto& [member, tips] : capture.streams()) {
    if (const auto member_stream = streams_.find(member); member_stream != streams_.end()) {
      member_stream->second.capture = 0;
    }
  }
  captures_.erase(place);
  busy_.fetch_sub(1, std::memory_order_release);
  Graph graph = GPUEMU_TRY(std::move(capture).finish());
  const GraphId id = take_id();
  graphs_[id] = std::make_shared<const Graph>(std::move(graph));
  return id;
}

Result<bool> Queues::is_capturing(StreamId stream) {
  const Lock lock(mutex_);
  const Stream* found = GPUEMU_TRY(find(stream));
  return found->capture != 0;
}

Result<size_t> Queues::graph_nodes(GraphId graph) {
  const Lock lock(mutex_);
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return unknown("graph", graph);
  return found->second->nodes.size();
}

Result<GraphExecId> Queues::instantiate(GraphId graph) {
  const Lock lock(mutex_);
  const auto found = graphs_.find(graph);
  if (found == graphs_.end()) return unknown("graph", graph);
  const GraphExecId id = take_id();
  execs_[id] = std::make_shared<Exec>(Exec{found->second});
  return id;
}

Status Queues::launch_graph(GraphExecId graph, StreamId stream) {
  const Lock lock(mutex_);
  const auto found = execs_.find(graph);
  if (found == execs_.end()) return unknown("instantiated graph", graph);
  Stream* place = GPUEMU_TRY(find(stream));
  const std::shared_ptr<Exec>& exec = found->second;
  if (place->capture != 0) {
    captures_.at(place->capture).add_graph(mine(stream), *exec->graph);
    return ok_status();
  }
  if (stream == kDefaultStream) GPUEMU_TRY(refuse_implicit("this launch"));
  Item item;
  item.exec = exec;
  item.turn = exec->issued++;
  item.left = exec->graph->nodes.size();
  item.done.resize(item.left);
  push(*place, std::move(item));
  return ok_status();
}

Status Queues::free_graph(GraphId graph) {
  const Lock lock(mutex_);
  if (graphs_.erase(graph) == 0) return unknown("graph", graph);
  return ok_status();
}

Status Queues::free_graph_exec(GraphExecId graph) {
  const Lock lock(mutex_);
  if (execs_.erase(graph) == 0) return unknown("instantiated graph", graph);
  return ok_status();
}

}  // namespace gpuemu::emulator
