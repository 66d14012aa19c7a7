// Tests the queue on simulated time, with sessions that always have work.
#include "daemon/schedule/fair_queue.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

using Time = FairQueue::Time;
constexpr Time kSecond{1'000'000};

bool everywhere(uint64_t) { return true; }

TEST(FairQueue, CountsTheRunningCasesOfASession) {
  FairQueue queue;
  EXPECT_EQ(queue.running_of(1), 0u);
  const auto first = queue.enter({.session = 1}, kSecond);
  queue.enter({.session = 1}, kSecond);
  const auto other = queue.enter({.session = 2}, kSecond);
  EXPECT_EQ(queue.running_of(1), 0u) << "they wait";
  queue.serve(first, kSecond, everywhere);
  queue.serve(other, kSecond, everywhere);
  EXPECT_EQ(queue.running_of(1), 1u);
  queue.end(first, Time(1), kSecond);
  EXPECT_EQ(queue.running_of(1), 0u);
  EXPECT_EQ(queue.running_of(2), 1u);
}

TEST(FairQueue, TellsWhetherAnotherSessionWaits) {
  FairQueue queue;
  EXPECT_FALSE(queue.others_wait(1));
  const auto own = queue.enter({.session = 1}, kSecond);
  EXPECT_FALSE(queue.others_wait(1));
  EXPECT_TRUE(queue.others_wait(2));
  const auto other = queue.enter({.session = 2}, kSecond);
  EXPECT_TRUE(queue.others_wait(1));
  queue.leave(other, kSecond);
  EXPECT_FALSE(queue.others_wait(1));
  queue.leave(own, kSecond);
  EXPECT_FALSE(queue.others_wait(2));
}

/// Lanes on simulated time; each takes the case that the queue selects.
class Machine {
 public:
  explicit Machine(size_t lanes) : free_(lanes) {}

  /// Adds a waiting case that takes `length`; `again` is called when it begins.
  void add(const FairQueue::Place& place, Time length, std::function<void()> again = {}) {
    waiting_[queue.enter(place, now)] = {place, length, std::move(again)};
  }
  void begin_all() {
    while (free_ > 0) {
      const auto ticket = queue.next(now, everywhere);
      if (!ticket) return;
      begin(*ticket);
    }
  }
  /// Runs until a case ends. Returns false if nothing runs.
  bool step() {
    begin_all();
    if (running_.empty()) return false;
    const auto first = running_.begin();
    now = first->first;
    const auto [ticket, one] = first->second;
    running_.erase(first);
    queue.end(ticket, one.length, now);
    used[one.place.session] += one.length;
    ++free_;
    if (keeps_lanes) keep_lane(one.place);
    return true;
  }
  void run_until(Time end) {
    while (now < end && step()) {
    }
  }

  FairQueue queue;
  Time now{0};
  bool keeps_lanes = false;  ///< A job's next case has the lane of its last one if it may.
  std::map<uint64_t, Time> used;
  std::string order;  ///< Sessions in the order in which their cases began; 'a' is session 0.

 private:
  struct Case {
    FairQueue::Place place;
    Time length{0};
    std::function<void()> again;
  };
  void begin(FairQueue::Ticket ticket) {
    queue.serve(ticket, now, everywhere);
    --free_;
    Case one = std::move(waiting_.extract(ticket).mapped());
    order += static_cast<char>('a' + one.place.session);
    running_.emplace(now + one.length, std::pair(ticket, one));
    if (one.again) one.again();
  }
  void keep_lane(const FairQueue::Place& place) {
    const auto latest = std::find_if(waiting_.rbegin(), waiting_.rend(), [&](const auto& one) {
      return one.second.place.job == place.job;
    });
    if (latest == waiting_.rend()) return;
    const FairQueue::Ticket ticket = latest->first;
    if (queue.may_keep_lane(ticket, now, everywhere)) begin(ticket);
  }

  size_t free_;
  std::map<FairQueue::Ticket, Case> waiting_;
  std::multimap<Time, std::pair<FairQueue::Ticket, Case>> running_;
};

/// Sessions 1, 2, ... with these weights, each with as many waiting cases as there are lanes.
class Backlog {
 public:
  Backlog(size_t lanes, std::vector<double> weights, std::vector<Time> longest, uint64_t seed)
      : machine(lanes), weights_(std::move(weights)), longest_(std::move(longest)), random_(seed) {
    for (uint64_t session = 1; session <= weights_.size(); ++session) {
      for (size_t i = 0; i <= lanes; ++i) add(session);
    }
  }
  double share(uint64_t session) {
    return static_cast<double>(machine.used[session].count()) / weights_[session - 1];
  }
  double difference() {
    double least = share(1), most = share(1);
    for (uint64_t session = 2; session <= weights_.size(); ++session) {
      least = std::min(least, share(session));
      most = std::max(most, share(session));
    }
    return most - least;
  }
  double jain() {
    double sum = 0, squares = 0;
    for (uint64_t session = 1; session <= weights_.size(); ++session) {
      sum += share(session);
      squares += share(session) * share(session);
    }
    return sum * sum / (static_cast<double>(weights_.size()) * squares);
  }
  Machine machine;

 private:
  void add(uint64_t session) {
    std::uniform_int_distribution<int64_t> length(1, longest_[session - 1].count());
    machine.add({.session = session, .weight = weights_[session - 1], .group = 1, .job = session},
                Time(length(random_)), [this, session] { add(session); });
  }
  const std::vector<double> weights_;
  const std::vector<Time> longest_;
  std::mt19937_64 random_;
};

TEST(FairQueue, SharesDifferByNoMoreThanTheLongestCaseOfEachLaneAndOneMore) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const size_t lanes = 1 + random() % 8, sessions = 2 + random() % 5;
    std::vector<double> weights;
    std::vector<Time> longest;
    Time most{0};
    for (size_t i = 0; i < sessions; ++i) {
      weights.push_back(1 + static_cast<double>(random() % 400) / 100);
      longest.emplace_back(1 + static_cast<int64_t>(random() % 100'000));
      most = std::max(most, longest.back());
    }
    Backlog backlog(lanes, weights, longest, random());
    backlog.machine.keeps_lanes = round % 2 == 1;
    const auto bound = static_cast<double>(lanes + 1) * static_cast<double>(most.count());
    for (int step = 0; step < 2000; ++step) {
      ASSERT_TRUE(backlog.machine.step());
      ASSERT_LE(backlog.difference(), bound) << "round " << round << ", step " << step;
    }
  }
}

TEST(FairQueue, TimeIsSharedByWeightWhateverTheLengthsOfCases) {
  for (const std::vector<double>& weights : {std::vector<double>{1, 1}, {2, 1}, {1, 1, 1, 2}}) {
    std::vector<Time> longest;
    for (size_t i = 0; i < weights.size(); ++i) longest.emplace_back(1000 * (1 + 20 * (i % 2)));
    for (const bool keeps_lanes : {false, true}) {
      Backlog backlog(4, weights, longest, 7);
      backlog.machine.keeps_lanes = keeps_lanes;
      backlog.machine.run_until(10 * kSecond);
      EXPECT_GE(backlog.jain(), 0.98);
    }
  }
}

/// Returns how many lanes of five equal sessions go to another one when a case ends, of all.
double share_of_changes(size_t lanes, bool keeps_lanes) {
  Backlog backlog(lanes, {1, 1, 1, 1, 1}, std::vector(5, Time(10'000)), 1);
  backlog.machine.keeps_lanes = keeps_lanes;
  backlog.machine.begin_all();
  size_t changes = 0;
  constexpr size_t kSteps = 10'000;
  for (size_t step = 0; step < kSteps; ++step) {
    const size_t begun = backlog.machine.order.size();
    const auto used = backlog.machine.used;
    backlog.machine.step();
    backlog.machine.begin_all();
    const auto ended = std::ranges::find_if(backlog.machine.used, [&](const auto& one) {
      const auto before = used.find(one.first);
      return before == used.end() || before->second != one.second;
    });
    if (backlog.machine.order[begun] != static_cast<char>('a' + ended->first)) ++changes;
  }
  return static_cast<double>(changes) / kSteps;
}

TEST(FairQueue, LanesThatAreKeptChangeTheirSessionSeldom) {
  EXPECT_GT(share_of_changes(4, false), 0.6);
  EXPECT_LT(share_of_changes(4, true), 0.3);
  EXPECT_GT(share_of_changes(32, false), 0.5);
  EXPECT_LT(share_of_changes(32, true), 0.1);
}

TEST(FairQueue, ALaneIsKeptForShortCasesOnly) {
  for (const Time length : {kKeptLaneMax, 10 * kKeptLaneMax}) {
    FairQueue queue;
    const auto own = queue.enter({.session = 1, .job = 1}, Time(0));
    queue.serve(own, Time(0), everywhere);
    for (int lane = 1; lane < 4; ++lane) {
      queue.serve(queue.enter({.session = 2, .job = 2}, Time(0)), Time(0), everywhere);
    }
    queue.enter({.session = 2, .job = 2}, Time(0));
    const auto next = queue.enter({.session = 1, .job = 1}, length, true);
    queue.end(own, length, length);
    EXPECT_EQ(queue.may_keep_lane(next, length, everywhere), length == kKeptLaneMax);
  }
}

TEST(FairQueue, ASingleLaneIsNotKeptFromASessionThatHasUsedLess) {
  Machine machine(1);
  machine.keeps_lanes = true;
  for (int i = 0; i < 3; ++i) machine.add({.session = 1, .job = 1}, kSecond);
  for (int i = 0; i < 3; ++i) machine.add({.session = 2, .job = 2}, kSecond);
  machine.run_until(6 * kSecond);
  EXPECT_EQ(machine.order, "bcbcbc");
}

TEST(FairQueue, ALaneIsNotKeptFromWhatIsWaitedForNorFromAnotherJob) {
  FairQueue queue;
  const auto run = [&](FairQueue::Ticket ticket) { queue.serve(ticket, Time(0), everywhere); };
  // Two lanes: session 1 runs on both, and session 2 has used as much as one case.
  const auto first = queue.enter({.session = 1, .job = 1}, Time(0));
  const auto second = queue.enter({.session = 1, .job = 1}, Time(0));
  run(first);
  run(second);
  const auto next = queue.enter({.session = 1, .job = 1}, Time(0), true);
  queue.end(first, Time(1000), Time(1000));
  EXPECT_TRUE(queue.may_keep_lane(next, Time(1000), everywhere));
  const auto batch = queue.enter({.session = 2, .job = 2}, Time(1000));
  EXPECT_TRUE(queue.may_keep_lane(next, Time(1000), everywhere));
  const auto urgent =
      queue.enter({.session = 3, .job = 3, .urgency = Urgency::Interactive}, Time(1000));
  EXPECT_FALSE(queue.may_keep_lane(next, Time(1000), everywhere));
  queue.leave(urgent, Time(1000));
  queue.leave(batch, Time(1000));
  EXPECT_TRUE(queue.may_keep_lane(next, Time(1000), everywhere));
  const auto own_urgent =
      queue.enter({.session = 1, .job = 5, .urgency = Urgency::Interactive}, Time(1000));
  EXPECT_FALSE(queue.may_keep_lane(next, Time(1000), everywhere));
  queue.leave(own_urgent, Time(1000));
  queue.leave(next, Time(1000));
  const auto other = queue.enter({.session = 1, .job = 4}, Time(1000));
  const auto late = queue.enter({.session = 1, .job = 1}, Time(1000), true);
  EXPECT_FALSE(queue.may_keep_lane(late, Time(1000), everywhere)) << "the turn of the other job";
  EXPECT_TRUE(queue.may_keep_lane(other, Time(1000), everywhere));
}

/// Returns the ratio of the times that two sessions use. Each has one case more than there are
/// lanes, and its next case arrives a while after one has ended, so that at times neither waits.
double ratio_of_two_that_draw(const FairQueue::Place& first, const FairQueue::Place& second) {
  constexpr Time kLength{50'000}, kDraw{5'000};
  Machine machine(2);
  std::multimap<Time, size_t> drawn;
  Time used[2] = {Time(0), Time(0)};
  const auto add = [&](size_t which) {
    machine.add(which == 0 ? first : second, kLength, [&, which] {
      used[which] += kLength;
      drawn.emplace(machine.now + kLength + kDraw, which);
    });
  };
  for (const size_t which : {0, 1}) {
    for (int i = 0; i < 3; ++i) add(which);
  }
  while (machine.now < 20 * kSecond) {
    machine.step();
    while (!drawn.empty() && drawn.begin()->first <= machine.now) {
      add(drawn.extract(drawn.begin()).mapped());
    }
  }
  return static_cast<double>(used[0].count()) / static_cast<double>(used[1].count());
}

TEST(FairQueue, OneThatDrawsItsNextCaseWhileOthersRunHasNotPaused) {
  EXPECT_NEAR(
      ratio_of_two_that_draw({.session = 1, .weight = 2, .job = 1}, {.session = 2, .job = 2}), 2,
      0.2);
}

TEST(FairQueue, AGroupThatDrawsItsNextCaseHasNotPausedEither) {
  // The other group always has a waiting case.
  Machine machine(2);
  std::multimap<Time, int> drawn;
  std::map<uint64_t, int> begun;
  const auto add = [&](uint64_t group, Time draw) {
    machine.add({.session = 1, .group = group, .job = group}, Time(50'000), [&, group, draw] {
      ++begun[group];
      drawn.emplace(machine.now + Time(50'000) + draw, static_cast<int>(group));
    });
  };
  for (int i = 0; i < 3; ++i) add(1, Time(5'000));
  for (int i = 0; i < 12; ++i) add(2, Time(5'000));
  while (machine.now < 20 * kSecond) {
    machine.step();
    while (!drawn.empty() && drawn.begin()->first <= machine.now) {
      add(static_cast<uint64_t>(drawn.extract(drawn.begin()).mapped()), Time(5'000));
    }
  }
  EXPECT_NEAR(static_cast<double>(begun[1]) / begun[2], 1, 0.1);
}

TEST(FairQueue, EqualOnesAreServedInTheOrderOfTheirOpening) {
  Machine machine(1);
  for (const uint64_t session : {2, 1, 0, 2, 1, 0}) machine.add({.session = session}, kSecond);
  machine.run_until(10 * kSecond);
  EXPECT_EQ(machine.order, "abcabc");
}

TEST(FairQueue, NothingIsSavedUpWithoutWork) {
  Machine machine(1);
  for (int i = 0; i < 4; ++i) machine.add({.session = 1}, kSecond);
  machine.run_until(2 * kSecond);
  // It starts at the other session's virtual time, not two seconds before.
  for (int i = 0; i < 4; ++i) machine.add({.session = 2}, kSecond);
  machine.run_until(20 * kSecond);
  EXPECT_EQ(machine.order, "bbbcbccc");
}

TEST(FairQueue, OneThatPausesForAMomentKeepsWhatItHasUsed) {
  Machine machine(1);
  machine.add({.session = 1}, 100 * kSecond);
  machine.run_until(100 * kSecond);  // Nothing waits now.
  std::function<void(uint64_t)> add = [&](uint64_t session) {
    machine.add({.session = session}, kSecond, [&, session] { add(session); });
  };
  add(2);
  add(1);
  machine.run_until(110 * kSecond);
  EXPECT_EQ(machine.order, "bbcbcbcbcbc")
      << "neither session runs 100 s before the other gets a turn";
}

TEST(FairQueue, JobsOfASessionTakeTurnsAndItsGroupsShareAlike) {
  Machine machine(1);
  std::string order;
  const auto add = [&](char name, uint64_t group, uint64_t job, int cases) {
    for (int i = 0; i < cases; ++i) {
      machine.add({.session = 1, .group = group, .job = job}, kSecond,
                  [&, name] { order += name; });
    }
  };
  add('a', 1, 1, 4);
  add('b', 1, 2, 2);
  add('c', 1, 3, 2);
  machine.run_until(8 * kSecond);
  EXPECT_EQ(order, "abcabcaa");
  order.clear();
  add('a', 1, 1, 3);
  add('b', 1, 2, 3);
  add('x', 2, 4, 6);
  machine.run_until(20 * kSecond);
  EXPECT_EQ(std::count(order.begin(), order.begin() + 8, 'x'), 4) << order;
}

TEST(FairQueue, WhatIsWaitedForGoesFirstUntilItsBudgetIsSpent) {
  Machine machine(1);
  const auto add = [&](uint64_t session, Urgency urgency) {
    machine.add({.session = session, .job = session, .urgency = urgency}, kSecond / 2);
  };
  for (int i = 0; i < 40; ++i) add(0, Urgency::Batch);
  machine.run_until(kSecond / 2);
  for (int i = 0; i < 8; ++i) add(1, Urgency::Interactive);
  machine.run_until(5 * kSecond);
  // 2 s without a break; then the other session, which has waited, takes turns with it.
  EXPECT_EQ(machine.order.substr(0, 5), "abbbb");
  EXPECT_EQ(machine.order[5], 'a') << machine.order;
  machine.run_until(15 * kSecond);
  add(1, Urgency::Interactive);
  const size_t before = machine.order.size();
  machine.step();
  machine.step();
  EXPECT_NE(machine.order.substr(before).find('b'), std::string::npos) << "a new budget";
}

TEST(FairQueue, OneWithoutRoomLetsOthersPassAndSavesUpNothing) {
  FairQueue queue;
  const auto room = [](uint64_t group) { return group != 1; };
  for (int i = 0; i < 2; ++i) queue.enter({.session = 1, .group = 1, .job = 1}, Time(0));
  for (int i = 0; i < 5; ++i) queue.enter({.session = 2, .group = 2, .job = 2}, Time(0));
  Time now{0};
  for (int i = 0; i < 4; ++i) {
    const auto ticket = queue.next(now, room);
    ASSERT_TRUE(ticket && queue.group_of(*ticket) == 2);
    queue.serve(*ticket, now, room);
    queue.end(*ticket, kSecond, now += kSecond);
  }
  // Three seconds behind, which must not count: one case of each is served.
  const auto first = queue.next(now, everywhere);
  ASSERT_EQ(queue.group_of(*first), 1u);
  queue.serve(*first, now, everywhere);
  queue.end(*first, 2 * kSecond, now += 2 * kSecond);
  EXPECT_EQ(queue.group_of(*queue.next(now, everywhere)), 2u);
}

TEST(FairQueue, WhoLeavesIsSkipped) {
  FairQueue queue;
  const auto first = queue.enter({.session = 1, .job = 1}, Time(0));
  const auto second = queue.enter({.session = 1, .job = 1}, Time(0));
  const auto third = queue.enter({.session = 1, .job = 2}, Time(0));
  queue.leave(first, Time(0));
  EXPECT_EQ(queue.next(Time(0), everywhere), third) << "the turn of the other job";
  queue.leave(third, Time(0));
  EXPECT_EQ(queue.next(Time(0), everywhere), second);
  queue.leave(second, Time(0));
  EXPECT_EQ(queue.next(Time(0), everywhere), std::nullopt);
  EXPECT_EQ(queue.waiting(), 0u);
}

TEST(FairQueue, RemembersNobodyWhoIsGone) {
  Machine machine(2);
  for (uint64_t session = 0; session < 1000; ++session) {
    const Urgency urgency = session % 2 == 0 ? Urgency::Interactive : Urgency::Batch;
    machine.add({.session = session, .urgency = urgency}, kSecond);
    machine.step();
  }
  EXPECT_LE(machine.queue.sessions(), 20u);
}

}  // namespace
}  // namespace gpuemu
