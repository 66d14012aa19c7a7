// Tests which work a thread that waits executes itself.
#include <atomic>
#include <chrono>
#include <new>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "runtime/emulator/queues/queues.h"

namespace gpuemu::emulator {
namespace {

/// Runs a piece of work and waits for it, until it has run on the waiting thread or often enough.
bool runs_on_the_waiting_thread(Queues& queues, Where where) {
  const StreamId a = *queues.make_stream({0, true});
  std::thread::id by;
  for (int i = 0; i < 1000 && by != std::this_thread::get_id(); ++i) {
    EXPECT_TRUE(queues.submit(
        a,
        [&] {
          by = std::this_thread::get_id();
          return ok_status();
        },
        where));
    EXPECT_TRUE(queues.synchronize(a));
  }
  return by == std::this_thread::get_id();
}

TEST(WaitingThreads, ExecuteWhatAnyThreadMayExecute) {
  Queues queues(0);
  EXPECT_TRUE(runs_on_the_waiting_thread(queues, Where::AnyThread));
  EXPECT_FALSE(runs_on_the_waiting_thread(queues, Where::Executor));
  queues.let_waiting_threads_execute(false);
  EXPECT_FALSE(runs_on_the_waiting_thread(queues, Where::AnyThread));
  Queues seeded(7);  // Its executor alone knows what a query has permitted.
  EXPECT_FALSE(runs_on_the_waiting_thread(seeded, Where::AnyThread));
}

TEST(WaitingThreads, ExecuteGraphsUpToWorkThatIsNotForThem) {
  Queues queues(0);
  const StreamId a = *queues.make_stream({0, true});
  std::string said;
  std::thread::id by;
  const auto say = [&](char what, Where where) {
    EXPECT_TRUE(queues.submit(
        a,
        [&said, &by, what, where] {
          said += what;
          if (where == Where::Executor) by = std::this_thread::get_id();
          return ok_status();
        },
        where));
  };
  ASSERT_TRUE(queues.begin_capture(a));
  say('a', Where::AnyThread);
  say('b', Where::Executor);
  say('c', Where::AnyThread);
  const GraphExecId graph = *queues.instantiate(*queues.end_capture(a));
  for (int i = 0; i < 200; ++i) {
    said.clear();
    ASSERT_TRUE(queues.launch_graph(graph, a));
    ASSERT_TRUE(queues.synchronize(a));
    ASSERT_EQ(said, "abc");
    ASSERT_NE(by, std::this_thread::get_id());
  }
}

TEST(WaitingThreads, LeaveTheRestToTheExecutor) {
  Queues queues(0);
  const StreamId a = *queues.make_stream({0, true}), b = *queues.make_stream({0, true});
  const auto nothing = [] { return ok_status(); };
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(queues.submit(a, nothing, Where::AnyThread));
    for (int each = 0; each < 3; ++each) {
      ASSERT_TRUE(queues.submit(b, nothing, Where::AnyThread));
    }
    ASSERT_TRUE(queues.synchronize(a));
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!*queues.query(b)) {
      ASSERT_LT(std::chrono::steady_clock::now(), late) << "the executor does not run the rest";
      std::this_thread::yield();
    }
  }
}

TEST(WaitingThreads, KeepTheErrorOfWorkThatTheHostHasNoMemoryFor) {
  Queues queues(0);
  const StreamId a = *queues.make_stream({0, true});
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(queues.submit(a, []() -> Status { throw std::bad_alloc(); }, Where::AnyThread));
    const Status done = queues.synchronize(a);
    ASSERT_FALSE(done);
    ASSERT_EQ(done.error().code, ErrorCode::ResourceExhausted);
  }
}

TEST(WaitingThreads, ExecuteNothingOnceThatIsForbidden) {
  Queues queues(0);
  const StreamId a = *queues.make_stream({0, true});
  std::atomic<bool> forbidden = false, stop = false;
  std::atomic<int> wrong = 0;
  std::thread waiting([&] {
    const std::thread::id self = std::this_thread::get_id();
    while (!stop) {
      EXPECT_TRUE(queues.submit(
          a,
          [&, self] {
            std::this_thread::sleep_for(std::chrono::microseconds(20));
            if (forbidden && std::this_thread::get_id() == self) ++wrong;
            return ok_status();
          },
          Where::AnyThread));
      EXPECT_TRUE(queues.synchronize(a));
    }
  });
  for (int i = 0; i < 200; ++i) {
    queues.let_waiting_threads_execute(false);
    forbidden = true;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    forbidden = false;
    queues.let_waiting_threads_execute(true);
  }
  stop = true;
  waiting.join();
  EXPECT_EQ(wrong, 0);
}

TEST(WaitingThreads, MayNotWaitInTheWorkThatTheyExecute) {
  Queues queues(0);
  const StreamId a = *queues.make_stream({0, true});
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(queues.submit(a, [&] { return queues.synchronize(a); }, Where::AnyThread));
    ASSERT_FALSE(queues.synchronize(a));
    ASSERT_TRUE(queues.synchronize(a)) << "the same thread may wait again afterwards";
  }
}

}  // namespace
}  // namespace gpuemu::emulator
