// The thread that does the work, and how it chooses.
#include <algorithm>

#include "common/base/processors.h"
#include "runtime/emulator/queues/queues.h"

namespace gpuemu::emulator {
namespace {

/// With a seed work waits for somebody who needs it; a host that looks at memory instead must not
/// look for ever.
constexpr auto kPatience = std::chrono::milliseconds(500);
/// How often a value that a stream waits for is looked at.
constexpr auto kLook = std::chrono::milliseconds(1);

}  // namespace

/// With a seed not one step more than somebody waits for: what happens must not depend on how fast
/// that thread wakes up.
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
  std::vector<Stream*> ready;
  for (auto& [id, stream] : streams_) {
    if (is_ready(stream)) ready.push_back(&stream);
  }
  if (ready.empty()) return nullptr;
  if (seed_ != 0) return ready[random_() % ready.size()];
  return *std::ranges::min_element(ready, {}, [](const Stream* stream) {
    return std::pair(stream->options.priority, stream->items.front().number);
  });
}

size_t Queues::choose_node(const Item& item) {
  const auto& nodes = item.exec->graph->nodes;
  std::vector<size_t> ready;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (item.done[i]) continue;
    if (!std::ranges::all_of(nodes[i].after, [&](size_t node) { return item.done[node]; })) {
      continue;
    }
    if (seed_ == 0) return i;
    ready.push_back(i);
  }
  return ready[random_() % ready.size()];
}

void Queues::step(Lock& lock, Stream& stream) {
  Item& item = stream.items.front();  // A deque's elements stay where they are.
  const Work* work = &item.work;
  if (item.exec && item.left > 0) {
    const size_t node = choose_node(item);
    item.done[node] = true;
    --item.left;
    work = &item.exec->graph->nodes[node].work;
  }
  if (*work) {
    lock.unlock();
    const Status status = (*work)();
    lock.lock();
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

void Queues::execute() {
  executor_id_ = std::this_thread::get_id();
  name_device_thread();
  Lock lock(mutex_);
  while (!ending_) {
    if (may_go_on()) {
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
