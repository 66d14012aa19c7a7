// Streams, events and captures as queues of work, which one thread does piece by piece: in order
// within a stream, after the events it waits for, and beside the default stream as CUDA orders it.
// Which of the streams that could go on does, follows from their priorities, or from a seed: then
// nothing is done before somebody waits for it, so that a forgotten wait shows and shows again.
//
// One thread, and not one for each stream: a kernel uses all processors by itself, and two pieces
// at once would only make what happens depend on the clock.
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
  /// 0: no seed.
  explicit Queues(uint64_t seed);
  /// Ends the piece that is being done and drops the rest.
  ~Queues();
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;

  // As in runtime/device/stream.h, where they are explained.
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

  /// To be done when the stream gets there; written down while it is captured.
  Status submit(StreamId stream, Work work);
  /// The stream goes on when `is_met` returns true, which is asked again and again and must not use
  /// this. InvalidArgument while the stream is captured.
  Status wait_until(StreamId stream, std::function<bool()> is_met);
  /// What a synchronous call does first: waits for what was issued in the blocking streams, or in
  /// all of them. InvalidArgument on the thread that does the work and, where it is about the
  /// blocking streams, while one of them is captured, which it spoils.
  Status settle(bool all_streams);

 private:
  struct Mark {
    bool reached = false;
    std::chrono::steady_clock::time_point time;
  };
  struct Event {
    std::shared_ptr<Mark> mark;  ///< Set by the latest record; nullptr when there was none.
    uint64_t capture = 0;        ///< Recorded in this one instead, after `tips`.
    Tips tips;
  };
  struct Exec {
    std::shared_ptr<const Graph> graph;
    uint64_t issued = 0, finished = 0;
  };
  /// What stands in a stream: a piece of work, a wait, a record or a graph.
  struct Item {
    uint64_t number = 0;  ///< Grows with every item of all streams.
    Work work;
    std::shared_ptr<Mark> waits_for, reaches;
    std::function<bool()> may_begin;  ///< Empty: at once.
    std::shared_ptr<Exec> exec;
    uint64_t turn = 0;       ///< Number among the launches of exec.
    std::vector<bool> done;  ///< Per node of the graph.
    size_t left = 0;
  };
  struct Stream {
    StreamOptions options;
    std::deque<Item> items;  ///< The first stays until it is done.
    uint64_t done = 0;       ///< Number of the last item that is.
    uint64_t issued = 0;
    uint64_t capture = 0;
    bool closing = false;
    std::optional<Error> failure;
  };
  using Lock = std::unique_lock<std::mutex>;

  // executor.cc; the mutex is held.
  void execute();
  bool may_go_on() const;
  bool is_ready(const Stream& stream) const;
  /// Whether some stream waits for what nobody tells.
  bool must_look_again() const;
  Stream* choose();
  size_t choose_node(const Item& item);
  /// Does one step of the stream's first item; the mutex is free meanwhile.
  void step(Lock& lock, Stream& stream);
  void finish_first(Stream& stream);
  bool is_executor() const { return std::this_thread::get_id() == executor_id_; }
  using Condition = std::function<bool()>;
  void wait(Lock& lock, const Condition& is_met);
  void grant_one();

  /// What went wrong in it and nobody was told is told by the default stream.
  void remove(std::map<StreamId, Stream>::iterator stream);
  Result<Stream*> find(StreamId stream);
  Result<Event*> find_event(EventId event);
  Status refuse_implicit(const char* what);
  Status refuse_captured(const Event& event, const char* what);
  void push(Stream& stream, Item item);
  StreamId mine(StreamId stream);
  StreamId add_stream(const StreamOptions& options);

  const uint64_t seed_;
  /// Items and captures: while it is 0 a synchronous call need not look further.
  std::atomic<uint64_t> busy_ = 0;
  std::mutex mutex_;  ///< Guards what follows.
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
  uint32_t granted_ = 0;                   ///< Steps that a query allowed.
  bool ending_ = false;
  std::atomic<std::thread::id> executor_id_;
  std::thread executor_;  ///< Starts with the first item.
};

}  // namespace gpuemu::emulator
