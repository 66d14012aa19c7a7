#include "runtime/tape/scheduler.h"

#include "runtime/tape/test_tapes.h"
#include "runtime/tape/trace_json.h"

namespace gpuemu::tape {
namespace {

/// "run a@0, move a 0>1": the queue in few words.
std::string text_of(const Trace& trace) {
  std::string text;
  for (const Queued& line : trace.output_queue) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name_of(line.kind), line.id);
    if (line.from) text += fmt::format(" {}>", *line.from);
    if (line.device) text += fmt::format("{}{}", line.from ? "" : "@", *line.device);
  }
  return text;
}

std::string problem_of(const std::vector<Entry>& tape) {
  Scheduler scheduler({.devices = devices(1)});
  const auto added = scheduler.add(tape);
  return added ? "" : added.error().message;
}

TEST(Scheduling, PlacesLeavesInTurnBeginningWithTheSeed) {
  const std::vector<Entry> tape = {leaf("a"), leaf("b"), leaf("c"), leaf("d")};
  EXPECT_EQ(text_of(scheduled(tape, {.devices = devices(3)})),
            "run a@0, run b@1, run c@2, run d@0");
  EXPECT_EQ(text_of(scheduled(tape, {.devices = devices(3), .seed = 5})),
            "run a@2, run b@0, run c@1, run d@2");
}

TEST(Scheduling, MovesTheInputThatIsMissingOnceAndKeepsTheCopy) {
  const std::vector<Entry> tape = {leaf("a", 4000), leaf("b", 64), op("c", "add", {"a", "b"}),
                                   op("d", "add", {"a", "b"}, 64, 8)};
  EXPECT_EQ(text_of(scheduled(tape, {.devices = devices(2)})),
            "run a@0, run b@1, move b 1>0, run c@0, run d@0");
}

TEST(Scheduling, LeavesTheDeviceOfItsInputsOnlyForMoreThanTheMoveCosts) {
  std::vector<Entry> tape = {leaf("a")};
  for (int i = 0; i < 6; ++i) tape.push_back(op(fmt::format("b{}", i), "relu", {"a"}, 64, 8));
  // They take 8 us each, a move 10: the fourth waits 24 us there and leaves, 24 - 10 being more
  // than 8.
  EXPECT_EQ(text_of(scheduled(tape, {.devices = devices(2)})),
            "run a@0, run b0@0, run b1@0, run b2@0, move a 0>1, run b3@1, run b4@1, run b5@0");
}

TEST(Scheduling, FreesATensorAfterItsLastReaderWhenTheClientHasDroppedIt) {
  const Trace trace = scheduled({leaf("a"), op("b", "relu", {"a"}), drop("a"), fetch("b")},
                                {.devices = devices(1)});
  EXPECT_EQ(text_of(trace), "run a@0, run b@0, free a, fetch b@0");
  ASSERT_EQ(trace.handles.size(), 2U);
  EXPECT_EQ(trace.handles[0].state, State::Freed);
  EXPECT_EQ(trace.handles[0].refs, 0U);
  EXPECT_EQ(trace.handles[1].state, State::Ready);
  EXPECT_EQ(trace.handles[1].devices, std::vector<uint32_t>{0});
}

TEST(Scheduling, SpillsTheLeastRecentlyUsedAndLoadsItAgain) {
  const std::vector<Entry> tape = {leaf("a", 40), leaf("b", 40), op("c", "relu", {"a"}, 40),
                                   op("d", "add", {"a", "b"}, 20)};
  const Trace trace = scheduled(tape, {.devices = devices(1, 100)});
  EXPECT_EQ(text_of(trace), "run a@0, run b@0, spill b@0, run c@0, spill c@0, load b@0, run d@0");
  EXPECT_EQ(trace.totals.spills, 2U);
  EXPECT_EQ(Replay(trace).problem(), "");
}

TEST(Scheduling, FreesACopyThatExistsElsewhereBeforeItSpills) {
  const std::vector<Entry> tape = {leaf("a", 40), leaf("b", 40), op("c", "add", {"a", "b"}, 8),
                                   leaf("d", 8), leaf("e", 50)};
  std::vector<Device> two = devices(2, 100);
  const Trace trace = scheduled(tape, {.devices = two});
  EXPECT_EQ(trace.totals.spills, 0U) << text_of(trace);
  EXPECT_EQ(Replay(trace).problem(), "");
}

TEST(Scheduling, FailsWhatNeverFitsAndAllThatFollowsFromIt) {
  Scheduler scheduler({.devices = devices(2, 100)});
  ASSERT_TRUE(scheduler.add({leaf("a", 60), op("b", "relu", {"a"}, 60), op("c", "relu", {"b"}, 8),
                             op("d", "relu", {"a"}, 8), fetch("c")}));
  ASSERT_TRUE(scheduler.step());
  EXPECT_TRUE(scheduler.refused().empty());
  ASSERT_TRUE(scheduler.step());  // `a` ends, `b` is ready.
  EXPECT_EQ(scheduler.refused(), (std::vector<uint64_t>{1, 2, 4}));
  while (scheduler.step()) {
  }
  const Trace trace = scheduler.trace();
  EXPECT_EQ(text_of(trace), "run a@0, run d@0");
  EXPECT_EQ(trace.handles[1].state, State::Failed);
  EXPECT_EQ(trace.handles[2].state, State::Failed);
  ASSERT_NE(scheduler.failure(4), nullptr);
  EXPECT_EQ(scheduler.failure(4)->seq, 1U);
  EXPECT_EQ(scheduler.failure(4)->reason,
            "b (relu) needs 120 bytes for its inputs and output, the largest device has 100 "
            "(memory_bytes)");
  ASSERT_TRUE(scheduler.add({op("e", "relu", {"c"}, 8)}));
  while (scheduler.step()) {
  }
  EXPECT_EQ(scheduler.failure(5)->seq, 1U);
  EXPECT_EQ(scheduler.unfinished("alice"), 0U);
}

TEST(Scheduling, GivesASessionWithTwiceTheWeightTwiceTheTurns) {
  std::vector<Entry> tape;
  for (int i = 0; i < 30; ++i) tape.push_back(of("a", leaf(fmt::format("a{}", i))));
  for (int i = 0; i < 30; ++i) tape.push_back(of("b", leaf(fmt::format("b{}", i))));
  Scheduler scheduler({.devices = devices(1)});
  scheduler.set_weight("a", 2);
  ASSERT_TRUE(scheduler.add(tape));
  ASSERT_TRUE(scheduler.step());
  int of_a = 0;
  for (uint64_t pos = 0; pos < 30; ++pos) of_a += scheduler.queued(pos).session == "a" ? 1 : 0;
  EXPECT_EQ(of_a, 20);
}

TEST(Scheduling, RefusesATapeAsAWhole) {
  EXPECT_EQ(problem_of({op("a", "relu", {"x"})}),
            "entry 0 of the tape (a = relu): session alice has not defined the input 'x' before");
  EXPECT_EQ(problem_of({leaf("a"), leaf("a")}),
            "entry 1 of the tape (a = ones): session alice has used the id 'a' before");
  EXPECT_EQ(problem_of({leaf("a"), drop("a"), fetch("a")}),
            "entry 2 of the tape (fetch): session alice has dropped the input 'a' before");
  EXPECT_EQ(problem_of({leaf(std::string(65, 'x'))}),
            fmt::format("entry 0 of the tape ({} = ones): id has 65 bytes, expected 1 to 64",
                        std::string(65, 'x')));
  Scheduler scheduler({.devices = devices(1)});
  ASSERT_TRUE(scheduler.add({leaf("a")}));
  EXPECT_FALSE(scheduler.add({leaf("b"), drop("a"), leaf("a")}));
  const auto again = scheduler.add({leaf("b"), drop("a")});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, 1U);
}

TEST(Scheduling, ForgetsTheOldestLinesButNothingThatIsNeeded) {
  Scheduler scheduler({.devices = devices(2), .entries_max = 10});
  ASSERT_TRUE(scheduler.add({leaf("w")}));
  for (int i = 0; i < 100; ++i) {
    const std::string id = fmt::format("t{}", i);
    ASSERT_TRUE(scheduler.add({op(id, "relu", {"w"}), drop(id)}));
    while (scheduler.step()) {
    }
  }
  const Trace trace = scheduler.trace();
  EXPECT_LE(trace.output_queue.size(), 10U);
  EXPECT_LE(trace.ticks.size(), 10U);
  EXPECT_LE(trace.handles.size(), 11U);
  EXPECT_EQ(trace.handles.front().id, "w");
  EXPECT_EQ(scheduler.tape_size(), 201U);
  EXPECT_TRUE(scheduler.add({leaf("t0")}));  // Forgotten: the name is new again.
}

TEST(Scheduling, WhatIsDoneAgainIsALineOfItsOwn) {
  Scheduler scheduler({.devices = devices(1)});
  ASSERT_TRUE(scheduler.add({leaf("a"), op("b", "relu", {"a"})}));
  while (scheduler.step()) {
  }
  const uint64_t before = scheduler.queue_size();
  EXPECT_EQ(scheduler.repeat({.kind = Kind::Run, .device = 0, .attempt = 1}, 0), before);
  EXPECT_EQ(scheduler.repeat({.kind = Kind::Run, .device = 0, .attempt = 1}, 1), before + 1);
  EXPECT_EQ(scheduler.repeat({.kind = Kind::Free, .device = 0, .attempt = 1}, 0), before + 2);
  const Trace trace = scheduler.trace();
  const Queued& again = trace.output_queue[before + 1];
  EXPECT_EQ(again.seq, 1U);
  EXPECT_EQ(again.id, "b");
  EXPECT_EQ(again.needs, std::vector{before});
  EXPECT_EQ(trace.output_queue[before + 2].needs, std::vector{before});
  EXPECT_EQ(trace.ticks[trace.ticks.size() - 4].started, std::vector{before + 1});
  EXPECT_EQ(trace.ticks[trace.ticks.size() - 3].ended, std::vector{before + 1});
  const auto read = decode_trace(encode_trace(trace, {}));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_TRUE(read->output_queue == trace.output_queue);
  // Later entries continue.
  ASSERT_TRUE(scheduler.add({op("c", "relu", {"b"})}));
  while (scheduler.step()) {
  }
  EXPECT_EQ(scheduler.trace().output_queue.back().id, "c");
}

}  // namespace
}  // namespace gpuemu::tape
