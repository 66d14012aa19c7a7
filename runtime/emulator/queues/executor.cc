// The threads that execute work, and how they choose the next piece.
#include <algorithm>
#include <new>
#include <stdexcept>

#include "common/base/processors.h"
#include "runtime/emulator/queues/queues.h"

namespace gpuemu::emulator {
namespace {

/// With a seed, work waits until a thread needs it. This limits the wait of a host that polls
/// memory instead of synchronizing.
constexpr auto kPatience = std::chrono::milliseconds(500);
/// Interval at which a value that a stream waits for is polled.
constexpr auto kLook = std::chrono::milliseconds(1);

/// Keeps a thread that executes for others from leaving the queues in the middle of a step.
Status run_to_its_end(const Work& work) {
  const auto no_memory = [] {
    return error(ErrorCode::ResourceExhausted,
                 "the host has no memory for a piece of work of a stream");
  };
  try {
    return work.run();
  } catch (const std::bad_alloc&) {
    return no_memory();
  } catch (const std::length_error&) {
    return no_memory();
  }
}

}  // namespace

/// With a seed, executes no more than some thread waits for, so that the result does not depend on
/// how fast that thread wakes up.
bool Queues::may_go_on() const {
  return seed_ == 0 || granted_ > 0 ||
         std::ranges::any_of(waiting_, [](const Condition* is_met) { return !(*is_met)(); });
}

bool Queues::is_ready(const Stream& stream) const {
  if (stream.items.empty()) return false;
  const Item& first = stream.items.front();
  if (first.waits_for && !first.waits_for->reached) return false;
  if (first.exec && first.exec->finished != first.turn) return false;
  if (first.may_begin && !first.may_begin()) return false;
  const auto ended_before = [&](const Stream& other) {
    return other.items.empty() || other.items.front().number > first.number;
  };
  const Stream& legacy = streams_.at(kDefaultStream);
  if (&stream != &legacy) return stream.options.non_blocking || ended_before(legacy);
  return std::ranges::all_of(streams_, [&](const auto& other) {
    return &other.second == &stream || other.second.options.non_blocking ||
           ended_before(other.second);
  });
}

bool Queues::must_look_again() const {
  return std::ranges::any_of(streams_, [](const auto& stream) {
    return !stream.second.items.empty() && stream.second.items.front().may_begin;
  });
}

Queues::Stream* Queues::choose() {
  if (seed_ != 0) return draw();
  const auto urgency = [](const Stream& stream) {
    return std::pair(stream.options.priority, stream.items.front().number);
  };
  Stream* best = nullptr;
  for (auto& [id, stream] : streams_) {
    if (!is_ready(stream)) continue;
    if (best == nullptr || urgency(stream) < urgency(*best)) best = &stream;
  }
  return best;
}

Queues::Stream* Queues::draw() {
  std::vector<Stream*> ready;
  for (auto& [id, stream] : streams_) {
    if (is_ready(stream)) ready.push_back(&stream);
  }
  return ready.empty() ? nullptr : ready[random_() % ready.size()];
}

size_t Queues::choose_node(const Item& item) {
  const auto& nodes = item.exec->graph->nodes;
  if (seed_ == 0) return nodes.size() - item.left;  // Predecessors have lower indices.
  std::vector<size_t> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (item.done[i]) continue;
    if (!std::ranges::all_of(nodes[i].after, [&](size_t node) { return item.done[node]; })) {
      continue;
    }
    ready.push_back(i);
  }
  return ready[random_() % ready.size()];
}

bool Queues::is_for_any_thread(const Stream& stream) {
  const Item& item = stream.items.front();
  const Work& next =
      item.exec && item.left > 0 ? item.exec->graph->nodes[choose_node(item)].work : item.work;
  return !next.run || next.where == Where::AnyThread;
}

void Queues::step(Lock& lock, Stream& stream) {
  Item& item = stream.items.front();  // References to a deque's elements stay valid.
  const Work* work = &item.work;
  if (item.exec && item.left > 0) {
    const size_t node = choose_node(item);
    item.done[node] = true;
    --item.left;
    work = &item.exec->graph->nodes[node].work;
  }
  if (work->run) {
    executing_ = std::this_thread::get_id();
    lock.unlock();
    const Status status = run_to_its_end(*work);
    lock.lock();
    executing_ = std::thread::id();
    if (!waiting_threads_execute_) finished_.notify_all();
    if (!status && !stream.failure) stream.failure = status.error();
  }
  if (item.left == 0) finish_first(stream);
}

void Queues::finish_first(Stream& stream) {
  Item& item = stream.items.front();
  if (item.exec) ++item.exec->finished;
  if (item.reaches) *item.reaches = {true, std::chrono::steady_clock::now()};
  stream.done = item.number;
  stream.items.pop_front();
  busy_.fetch_sub(1, std::memory_order_release);
  if (stream.closing && stream.items.empty()) {
    remove(std::ranges::find_if(streams_, [&](auto& pair) { return &pair.second == &stream; }));
  }
  finished_.notify_all();
}

void Queues::let_waiting_threads_execute(bool allowed) {
  Lock lock(mutex_);
  waiting_threads_execute_ = allowed;
  if (allowed || is_executing()) return;
  finished_.wait(lock, [this] {
    const std::thread::id by = executing_;
    return by == std::thread::id() || by == executor_.get_id();
  });
}

void Queues::execute_until(Lock& lock, const std::function<bool()>& is_met) {
  if (seed_ != 0) return;  // Then what a query permits is executed without a wait.
  while (executing_.load() == std::thread::id() && waiting_threads_execute_ && !ending_) {
    Stream* const stream = choose();
    if (stream == nullptr || !is_for_any_thread(*stream)) return;
    step(lock, *stream);
    if (is_met()) return;
  }
}

void Queues::execute() {
  name_device_thread();
  Lock lock(mutex_);
  while (!ending_) {
    if (executing_.load() != std::thread::id()) {
      issued_.wait(lock);  // For the thread that executes, which notifies at the end of its wait.
    } else if (may_go_on()) {
      if (Stream* stream = choose()) {
        if (granted_ > 0) --granted_;
        step(lock, *stream);
        continue;
      }
      granted_ = 0;
      if (must_look_again()) {
        issued_.wait_for(lock, kLook);
      } else {
        issued_.wait(lock);
      }
    } else if (busy_.load(std::memory_order_relaxed) == 0) {
      issued_.wait(lock);
    } else if (issued_.wait_for(lock, kPatience) == std::cv_status::timeout) {
      ++granted_;
    }
  }
}

}  // namespace gpuemu::emulator
