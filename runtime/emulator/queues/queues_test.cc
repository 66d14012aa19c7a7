// Tests order, waits, captures and seeds without a device.
#include "runtime/emulator/queues/queues.h"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace gpuemu::emulator {
namespace {

class QueuesTest : public testing::Test {
 protected:
  explicit QueuesTest(uint64_t seed = 0) : queues_(seed) {}

  StreamId stream(bool non_blocking = true, int priority = 0) {
    return *queues_.make_stream({priority, non_blocking});
  }
  void say(StreamId to, char what) {
    ASSERT_TRUE(queues_.submit(to, [this, what] {
      said_ += what;
      return ok_status();
    }));
  }
  /// The stream is blocked until open() is called.
  void block(StreamId which) {
    ASSERT_TRUE(queues_.submit(which, [this] {
      gate_.wait(false);
      return ok_status();
    }));
  }
  void open() {
    gate_ = true;
    gate_.notify_all();
  }

  std::atomic<bool> gate_ = false;
  std::string said_;  ///< Written by the queues' thread, read after a synchronize.
  Queues queues_;
};

TEST_F(QueuesTest, DoesTheWorkOfAStreamInOrder) {
  const StreamId a = stream();
  for (const char c : std::string("abcdef")) say(a, c);
  ASSERT_TRUE(queues_.synchronize(a));
  EXPECT_EQ(said_, "abcdef");
  EXPECT_TRUE(*queues_.query(a));
}

TEST_F(QueuesTest, KeepsTheFailureOfAStreamThatIsFreed) {
  const auto fails = [] { return Status(error(ErrorCode::Launch, "a fault")); };
  const StreamId idle = stream(), busy = stream();
  ASSERT_TRUE(queues_.submit(idle, fails));
  while (!*queues_.query(idle)) std::this_thread::yield();
  ASSERT_TRUE(queues_.free_stream(idle));
  EXPECT_EQ(queues_.synchronize(kDefaultStream).error().message, "a fault");
  EXPECT_TRUE(queues_.synchronize(kDefaultStream));
  block(busy);
  ASSERT_TRUE(queues_.submit(busy, fails));
  ASSERT_TRUE(queues_.free_stream(busy));  // It still has pending work.
  open();
  EXPECT_EQ(queues_.synchronize_all().error().message, "a fault");
  EXPECT_TRUE(queues_.synchronize_all());
}

TEST_F(QueuesTest, LeavesTheFailuresOfOtherStreamsToThem) {
  const StreamId a = stream(), b = stream();
  for (const StreamId one : {a, b}) {
    ASSERT_TRUE(queues_.submit(one, [one] { return Status(error(ErrorCode::Launch, "{}", one)); }));
  }
  const Status first = queues_.synchronize_all();
  ASSERT_FALSE(first);
  const StreamId other = first.error().message == std::to_string(a) ? b : a;
  EXPECT_TRUE(queues_.synchronize(other == a ? b : a));
  EXPECT_EQ(queues_.synchronize(other).error().message, std::to_string(other));
  EXPECT_TRUE(queues_.synchronize_all());
}

TEST_F(QueuesTest, DoesNotWaitForTheWorkItTakes) {
  const StreamId a = stream();
  block(a);
  say(a, 'x');
  EXPECT_FALSE(*queues_.query(a));
  open();
  ASSERT_TRUE(queues_.synchronize(a));
  EXPECT_EQ(said_, "x");
}

TEST_F(QueuesTest, AStreamThatWaitsForAValueLetsTheOthersGoOn) {
  const StreamId waits = stream(), writes = stream();
  std::atomic<int> value = 0;
  ASSERT_TRUE(queues_.wait_until(waits, [&] { return value == 7; }));
  say(waits, 'w');
  say(writes, 'a');
  ASSERT_TRUE(queues_.submit(writes, [&] {
    value = 7;
    return ok_status();
  }));
  ASSERT_TRUE(queues_.synchronize(waits));
  EXPECT_EQ(said_, "aw");
}

TEST_F(QueuesTest, AStreamThatWaitsForAValueSeesWhatTheHostWrites) {
  const StreamId waits = stream();
  std::atomic<int> value = 0;
  ASSERT_TRUE(queues_.wait_until(waits, [&] { return value == 7; }));
  say(waits, 'w');
  EXPECT_FALSE(*queues_.query(waits));
  value = 7;
  ASSERT_TRUE(queues_.synchronize(waits));
  EXPECT_EQ(said_, "w");
}

TEST_F(QueuesTest, AStreamThatIsCapturedDoesNotWaitForAValue) {
  const StreamId captured = stream();
  ASSERT_TRUE(queues_.begin_capture(captured));
  EXPECT_FALSE(queues_.wait_until(captured, [] { return true; }));
}

TEST_F(QueuesTest, PrefersTheUrgentStream) {
  const StreamId late = stream(), urgent = stream(true, -3), gate = stream();
  block(gate);
  say(late, 'l');
  say(urgent, 'u');
  open();
  ASSERT_TRUE(queues_.synchronize_all());
  EXPECT_EQ(said_, "ul");
}

TEST_F(QueuesTest, TheDefaultStreamOrdersTheBlockingOnes) {
  const StreamId a = stream(false), b = stream(false);
  block(a);
  say(kDefaultStream, 'd');
  say(b, 'b');
  const StreamId apart = stream(true);
  open();
  ASSERT_TRUE(queues_.synchronize(b));
  EXPECT_EQ(said_, "db");
  say(apart, 'n');
  ASSERT_TRUE(queues_.synchronize(apart));
}

TEST_F(QueuesTest, ANonBlockingStreamPassesTheDefaultStream) {
  Queues queues(0);
  const StreamId apart = *queues.make_stream({0, true});
  const EventId never_before = *queues.make_event();
  const StreamId gate = *queues.make_stream({0, true});
  const EventId opened = *queues.make_event();
  std::atomic<bool> open = false;
  // The default stream waits for an event of `gate`, whose work waits for `apart`.
  ASSERT_TRUE(queues.submit(apart, [&] {
    open = true;
    return ok_status();
  }));
  ASSERT_TRUE(queues.record(opened, apart));
  ASSERT_TRUE(queues.wait_event(gate, opened));
  ASSERT_TRUE(queues.record(never_before, gate));
  ASSERT_TRUE(queues.wait_event(kDefaultStream, never_before));
  ASSERT_TRUE(queues.synchronize(apart));
  EXPECT_TRUE(open);
  ASSERT_TRUE(queues.synchronize(kDefaultStream));
}

TEST_F(QueuesTest, WaitsForAnEventOfAnotherStream) {
  const StreamId a = stream(), b = stream(true, -5);
  const EventId event = *queues_.make_event();
  block(a);
  say(a, 'a');
  ASSERT_TRUE(queues_.record(event, a));
  ASSERT_TRUE(queues_.wait_event(b, event));
  say(b, 'b');
  EXPECT_FALSE(*queues_.query_event(event));
  EXPECT_FALSE(queues_.elapsed_ms(event, event));
  open();
  ASSERT_TRUE(queues_.synchronize(b));
  EXPECT_EQ(said_, "ab");
  EXPECT_TRUE(*queues_.query_event(event));
  EXPECT_EQ(*queues_.elapsed_ms(event, event), 0.0F);
}

TEST_F(QueuesTest, KeepsTheFirstErrorForWhoSynchronizes) {
  const StreamId a = stream(), b = stream();
  ASSERT_TRUE(queues_.submit(a, [] { return Status(error(ErrorCode::Launch, "first")); }));
  ASSERT_TRUE(queues_.submit(a, [] { return Status(error(ErrorCode::Launch, "second")); }));
  EXPECT_TRUE(queues_.synchronize(b));
  const Status status = queues_.synchronize(a);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "first");
  EXPECT_TRUE(queues_.synchronize(a));
}

TEST_F(QueuesTest, GivesEachThreadItsStream) {
  say(kPerThreadStream, 'm');
  std::thread([this] { EXPECT_TRUE(queues_.synchronize(kPerThreadStream)); }).join();
  ASSERT_TRUE(queues_.synchronize(kPerThreadStream));
  EXPECT_EQ(said_, "m");
}

TEST_F(QueuesTest, FinishesWhatAFreedStreamWasGiven) {
  const StreamId a = stream();
  block(a);
  say(a, 'a');
  ASSERT_TRUE(queues_.free_stream(a));
  EXPECT_FALSE(queues_.submit(a, [] { return ok_status(); }));
  open();
  ASSERT_TRUE(queues_.synchronize_all());
  EXPECT_EQ(said_, "a");
  EXPECT_FALSE(queues_.free_stream(a));
  EXPECT_FALSE(queues_.free_stream(kDefaultStream));
}

TEST_F(QueuesTest, CapturesWorkAndReplaysIt) {
  const StreamId a = stream(), b = stream();
  const EventId fork = *queues_.make_event(), joined = *queues_.make_event();
  ASSERT_TRUE(queues_.begin_capture(a));
  say(a, 'a');
  ASSERT_TRUE(queues_.record(fork, a));
  ASSERT_TRUE(queues_.wait_event(b, fork));
  EXPECT_TRUE(*queues_.is_capturing(b));
  say(b, 'b');
  ASSERT_TRUE(queues_.record(joined, b));
  ASSERT_TRUE(queues_.wait_event(a, joined));
  say(a, 'c');
  const auto graph = queues_.end_capture(a);
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_FALSE(*queues_.is_capturing(b));
  EXPECT_EQ(*queues_.graph_nodes(*graph), 3U);
  EXPECT_EQ(said_, "");
  const GraphExecId exec = *queues_.instantiate(*graph);
  ASSERT_TRUE(queues_.free_graph(*graph));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queues_.launch_graph(exec, i == 1 ? b : a));
  ASSERT_TRUE(queues_.free_graph_exec(exec));
  ASSERT_TRUE(queues_.synchronize_all());
  EXPECT_EQ(said_, "abcabcabc");
  EXPECT_FALSE(queues_.launch_graph(exec, a));
}

TEST_F(QueuesTest, AGraphMayBePartOfAnother) {
  const StreamId a = stream();
  ASSERT_TRUE(queues_.begin_capture(a));
  say(a, '1');
  say(a, '2');
  const GraphExecId inner = *queues_.instantiate(*queues_.end_capture(a));
  ASSERT_TRUE(queues_.begin_capture(a));
  say(a, '(');
  ASSERT_TRUE(queues_.launch_graph(inner, a));
  say(a, ')');
  const GraphExecId outer = *queues_.instantiate(*queues_.end_capture(a));
  ASSERT_TRUE(queues_.launch_graph(outer, a));
  ASSERT_TRUE(queues_.synchronize(a));
  EXPECT_EQ(said_, "(12)");
}

TEST_F(QueuesTest, RefusesACaptureThatWouldNotBeWhole) {
  const StreamId a = stream(), b = stream();
  const EventId fork = *queues_.make_event();
  ASSERT_TRUE(queues_.begin_capture(a));
  say(a, 'a');
  ASSERT_TRUE(queues_.record(fork, a));
  ASSERT_TRUE(queues_.wait_event(b, fork));
  say(b, 'b');
  EXPECT_NE(queues_.end_capture(a).error().message.find("did not wait for"), std::string::npos);
  EXPECT_FALSE(*queues_.is_capturing(b));

  ASSERT_TRUE(queues_.begin_capture(a));
  EXPECT_FALSE(queues_.begin_capture(a));
  EXPECT_FALSE(queues_.synchronize(a));
  EXPECT_NE(queues_.end_capture(a).error().message.find("synchronized"), std::string::npos);

  const StreamId blocking = stream(false);
  ASSERT_TRUE(queues_.begin_capture(blocking));
  EXPECT_FALSE(queues_.submit(kDefaultStream, [] { return ok_status(); }));
  EXPECT_FALSE(queues_.settle(false));
  EXPECT_TRUE(queues_.settle(true));
  EXPECT_FALSE(queues_.end_capture(blocking));
  EXPECT_FALSE(queues_.begin_capture(kDefaultStream));
  EXPECT_FALSE(queues_.end_capture(a));
}

/// Returns the text that two streams write, one letter each, twice, for this seed.
std::string said_with(uint64_t seed, bool waits) {
  Queues queues(seed);
  std::string said;
  const StreamId a = *queues.make_stream({0, true}), b = *queues.make_stream({0, true});
  const EventId event = *queues.make_event();
  const auto say = [&](StreamId to, char what) {
    EXPECT_TRUE(queues.submit(to, [&said, what] {
      said += what;
      return ok_status();
    }));
  };
  say(a, 'a');
  say(a, 'A');
  EXPECT_TRUE(queues.record(event, a));
  if (waits) {
    EXPECT_TRUE(queues.wait_event(b, event));
  }
  say(b, 'b');
  say(b, 'B');
  EXPECT_TRUE(queues.synchronize_all());
  return said;
}

TEST(SeededQueues, ShowAMissingWaitAndRepeatIt) {
  std::set<std::string> seen;
  for (uint64_t seed = 1; seed <= 64; ++seed) {
    const std::string said = said_with(seed, false);
    EXPECT_EQ(said_with(seed, false), said) << "seed " << seed;
    EXPECT_EQ(said_with(seed, true), "aAbB") << "seed " << seed;
    seen.insert(said);
  }
  EXPECT_EQ(seen.size(), 6U) << "every order of the two streams";
}

TEST(SeededQueues, DoNothingBeforeSomebodyWaits) {
  Queues queues(7);
  std::atomic<int> done = 0;
  const StreamId a = *queues.make_stream({});
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(queues.submit(a, [&] {
      ++done;
      return ok_status();
    }));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(done, 0);
  while (!*queues.query(a)) std::this_thread::yield();
  EXPECT_EQ(done, 3);
}

TEST(SeededQueues, GoOnByThemselvesForAHostThatLooksAtMemory) {
  Queues queues(7);
  std::atomic<bool> done = false;
  ASSERT_TRUE(queues.submit(kDefaultStream, [&] {
    done = true;
    done.notify_all();
    return ok_status();
  }));
  done.wait(false);
}

TEST(QueuesTogether, ServeManyThreads) {
  Queues queues(0);
  std::atomic<int> done = 0;
  const auto work = [&] {
    const StreamId mine = *queues.make_stream({0, done.load() % 2 == 0});
    const EventId event = *queues.make_event();
    for (int i = 0; i < 50; ++i) {
      EXPECT_TRUE(queues.submit(mine, [&] {
        ++done;
        return ok_status();
      }));
      EXPECT_TRUE(queues.record(event, mine));
      EXPECT_TRUE(queues.wait_event(kPerThreadStream, event));
      const auto count = [&] {
        ++done;
        return ok_status();
      };
      EXPECT_TRUE(queues.submit(kPerThreadStream, count, Where::AnyThread));
      if (i % 10 == 0) {
        EXPECT_TRUE(queues.settle(i % 20 == 0));
      }
    }
    EXPECT_TRUE(queues.synchronize(kPerThreadStream));
    EXPECT_TRUE(queues.free_stream(mine));
    EXPECT_TRUE(queues.free_event(event));
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 400);
}

}  // namespace
}  // namespace gpuemu::emulator
