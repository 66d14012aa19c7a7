// Streams, events and captures as queues of work. One thread at a time executes them piece by
// piece: in order within a stream, after the events that it waits for, and ordered with the default
// stream as in CUDA. Which ready stream runs next depends on their priorities or, with a seed, on
// random draws. With a seed nothing runs before a thread waits for it, so that a missing wait shows
// up, and does so every time.
//
// One thread rather than one per stream, because a kernel already uses all cores and concurrent
// work would make results depend on timing. It is a thread of the queues, the executor, or one that
// waits: waking another thread takes longer than a small launch.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "runtime/emulator/queues/capture.h"

namespace gpuemu::emulator {

class Queues {
 public:
  /// `seed` 0 means no seed.
  explicit Queues(uint64_t seed);
  /// Finishes the piece in progress and drops the rest.
  ~Queues();
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;

  // Documented in runtime/device/stream.h.
  PriorityRange priorities() const { return {0, -5}; }
  Result<StreamId> make_stream(const StreamOptions& options);
  Status free_stream(StreamId stream);
  Status synchronize(StreamId stream);
  Status synchronize_all();
  Result<bool> query(StreamId stream);
  Result<EventId> make_event();
  Status free_event(EventId event);
  Status record(EventId event, StreamId stream);
  Status wait_event(StreamId stream, EventId event);
  Status synchronize_event(EventId event);
  Result<bool> query_event(EventId event);
  Result<float> elapsed_ms(EventId from, EventId to);
  Status begin_capture(StreamId stream);
  Result<GraphId> end_capture(StreamId stream);
  Result<bool> is_capturing(StreamId stream);
  Result<size_t> graph_nodes(GraphId graph);
  Result<GraphExecId> instantiate(GraphId graph);
  Status launch_graph(GraphExecId graph, StreamId stream);
  Status free_graph(GraphId graph);
  Status free_graph_exec(GraphExecId graph);

  /// Adds work to the stream; records it instead during a capture.
  Status submit(StreamId stream, std::function<Status()> work, Where where = Where::Executor);
  /// Makes the stream wait until `is_met` returns true. It is polled, and must not use this object.
  /// InvalidArgument while the stream is being captured.
  Status wait_until(StreamId stream, std::function<bool()> is_met);
  /// The first action of a synchronous call: waits for work issued in the blocking streams, or in
  /// all streams. InvalidArgument in a piece of work. Also InvalidArgument if a blocking stream
  /// that it would wait for is being captured; that capture becomes invalid.
  Status settle(bool all_streams);
  /// Whether threads that wait execute work that any thread may execute (they do at first). Once it
  /// returns after false, none does, but the caller itself in a piece of work.
  void let_waiting_threads_execute(bool allowed);

 private:
  struct Mark {
    bool reached = false;
    std::chrono::steady_clock::time_point time;
  };
  struct Event {
    std::shared_ptr<Mark> mark;  ///< Set by the latest record; null if there was none.
    uint64_t capture = 0;        ///< The capture that recorded it, after `tips`.
    Tips tips;
  };
  struct Exec {
    std::shared_ptr<const Graph> graph;
    uint64_t issued = 0, finished = 0;
  };
  /// An entry of a stream: a piece of work, a wait, a record or a graph.
  struct Item {
    uint64_t number = 0;  ///< Increases with every item of any stream.
    Work work;
    std::shared_ptr<Mark> waits_for, reaches;
    std::function<bool()> may_begin;  ///< Empty: can begin at once.
    std::shared_ptr<Exec> exec;
    uint64_t turn = 0;       ///< Index among the launches of `exec`.
    std::vector<bool> done;  ///< Per node of the graph.
    size_t left = 0;
  };
  struct Stream {
    StreamOptions options;
    std::deque<Item> items;  ///< The first is removed when it is done.
    uint64_t done = 0;       ///< Number of the last item that was completed.
    uint64_t issued = 0;
    uint64_t capture = 0;
    bool closing = false;
    std::optional<Error> failure;
  };
  using Lock = std::unique_lock<std::mutex>;

  // Implemented in executor.cc; the caller holds the mutex.
  void execute();
  /// On a thread that waits: executes what is ready, while any thread may execute it.
  void execute_until(Lock& lock, const std::function<bool()>& is_met);
  bool may_go_on() const;
  bool is_ready(const Stream& stream) const;
  /// Returns whether some stream waits for a value that must be polled.
  bool must_look_again() const;
  /// Returns the stream whose first item is executed next; null if none is ready.
  Stream* choose();
  /// Returns a ready stream at random; null if none is ready.
  Stream* draw();
  size_t choose_node(const Item& item);
  /// Returns whether any thread may execute the next step of the stream.
  bool is_for_any_thread(const Stream& stream);
  /// Executes one step of the stream's first item, without holding the mutex.
  void step(Lock& lock, Stream& stream);
  void finish_first(Stream& stream);
  /// Returns whether the calling thread is executing a piece of work.
  bool is_executing() const { return std::this_thread::get_id() == executing_; }
  using Condition = std::function<bool()>;
  void wait(Lock& lock, const Condition& is_met);
  void grant_one();

  /// Removes a stream. An error that was not reported moves to the default stream.
  void remove(std::map<StreamId, Stream>::iterator stream);
  Result<Stream*> find(StreamId stream);
  Result<Event*> find_event(EventId event);
  Status refuse_implicit(const char* what);
  Status refuse_captured(const Event& event, const char* what);
  void push(Stream& stream, Item item);
  StreamId mine(StreamId stream);
  StreamId add_stream(const StreamOptions& options);

  const uint64_t seed_;
  /// Number of items and captures. While it is 0, a synchronous call returns at once.
  std::atomic<uint64_t> busy_ = 0;
  std::mutex mutex_;  ///< Guards the members below.
  std::condition_variable issued_, finished_;
  std::mt19937_64 random_;
  std::map<StreamId, Stream> streams_;
  std::map<std::thread::id, StreamId> per_thread_;
  std::map<EventId, Event> events_;
  std::map<uint64_t, Capture> captures_;
  std::map<GraphId, std::shared_ptr<const Graph>> graphs_;
  std::map<GraphExecId, std::shared_ptr<Exec>> execs_;
  uint64_t next_number_ = 1;
  std::vector<const Condition*> waiting_;  ///< Conditions of the threads in wait().
  uint32_t granted_ = 0;                   ///< Steps that a query has permitted.
  bool ending_ = false;
  bool waiting_threads_execute_ = true;
  std::atomic<std::thread::id> executing_;  ///< The thread that executes a step now.
  std::thread executor_;                    ///< Starts with the first item.
};

}  // namespace gpuemu::emulator
