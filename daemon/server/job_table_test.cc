#include "daemon/server/job_table.h"

#include <cstdlib>
#include <future>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/base/service_limits.h"
#include "common/codec/json_codec.h"

namespace gpuemu {
namespace {

/// Waits until the job is cancelled.
Reply wait_for_cancel(JobControl& control) {
  while (!control.cancel) std::this_thread::yield();
  return OkReply{};
}

JobStatusReply end_of(JobTable& jobs, uint64_t id) {
  for (;;) {
    auto status = jobs.status({.job_id = id, .log_from = 0, .wait_ms = 1000});
    EXPECT_TRUE(status);
    if (!status || status->state != JobState::Running) return *status;
  }
}

ValidationResult failed_case(uint64_t seed) {
  ValidationResult result;
  result.op_name = "op";
  result.seed = seed;
  result.repro_info.emplace().input_snapshot.emplace();
  return result;
}

TEST(JobControl, KeepsEventsUntilTheyAreFetched) {
  JobControl control;
  control.op_started("op", DType::Float32);
  control.failed("line", failed_case(7));
  OpTestReport report{.op_name = "op", .cases = 2};
  report.failures.push_back(failed_case(7));
  control.op_finished(report);
  const auto all = control.events(0);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].dtype, DType::Float32);
  ASSERT_TRUE(all[1].failure);
  EXPECT_EQ(all[1].failure->seed, 7u);
  EXPECT_FALSE(all[1].failure->repro_info->input_snapshot);
  ASSERT_TRUE(all[2].report);
  EXPECT_EQ(all[2].report->cases, 2u);
  EXPECT_TRUE(all[2].report->failures.empty());
  EXPECT_EQ(control.events(1), std::vector(all.begin() + 1, all.end()));
  EXPECT_TRUE(control.events(3).empty());
  control.op_started("next", DType::Int8);
  EXPECT_EQ(control.events(3).size(), 1u);
}

TEST(JobControl, CountsWhatNobodyFetchesAndForgetsWhatNobodyWants) {
  JobControl control;
  for (uint64_t seed = 0; seed < 5000; ++seed) control.failed("line", failed_case(seed));
  control.op_started("op", DType::Float32);
  EXPECT_EQ(control.failures, 5000u);
  EXPECT_LT(control.events(0).size(), 2000u);
  EXPECT_FALSE(control.events(0).back().failure);
  control.forget_events();
  control.failed("line", failed_case(1));
  EXPECT_TRUE(control.events(0).empty());
  EXPECT_EQ(control.failures, 5001u);
}

TEST(JobTable, TellsProgressLogAndReply) {
  JobTable jobs;
  const auto id = jobs.start([](JobControl& control) -> Reply {
    control.total = control.done = 3;
    control.failed("first");
    control.failed("second");
    return OkReply{};
  });
  ASSERT_TRUE(id);
  const JobStatusReply status = end_of(jobs, *id);
  EXPECT_EQ(status.state, JobState::Done);
  EXPECT_EQ(status.done, 3u);
  EXPECT_EQ(status.failures, 2u);
  EXPECT_EQ(status.log, (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(status.result_json, R"({"type":"Ok"})");
  const auto rest = jobs.status({.job_id = *id, .log_from = 1, .wait_ms = 0});
  EXPECT_EQ(rest->log, std::vector<std::string>{"second"});
}

TEST(JobTable, LinesHaveAKindAndPublishedClientsReadTheSameLogAsText) {
  JobTable jobs;
  const auto id = jobs.start([](JobControl& control) -> Reply {
    control.warn("the kernel ignores n");
    control.failed("softmax: NaNDetected");
    return OkReply{};
  });
  ASSERT_TRUE(id);
  const JobStatusReply text = end_of(jobs, *id);
  EXPECT_EQ(text.log,
            (std::vector<std::string>{"warning: the kernel ignores n", "softmax: NaNDetected"}));
  EXPECT_TRUE(text.lines.empty());
  const auto typed = jobs.status({.job_id = *id, .wait_ms = 0, .lines_from = 0});
  ASSERT_TRUE(typed);
  EXPECT_TRUE(typed->log.empty());
  EXPECT_EQ(typed->lines, (std::vector<JobLine>{{JobLineKind::Warning, "the kernel ignores n"},
                                                {JobLineKind::Failure, "softmax: NaNDetected"}}));
  EXPECT_EQ(jobs.status({.job_id = *id, .wait_ms = 0, .lines_from = 1})->lines.size(), 1u);
}

TEST(JobTable, ACancelledJobEndsAsCancelled) {
  JobTable jobs;
  const auto id = jobs.start(wait_for_cancel);
  ASSERT_TRUE(id);
  EXPECT_TRUE(jobs.cancel(*id));
  EXPECT_EQ(end_of(jobs, *id).state, JobState::Cancelled);
}

TEST(JobTable, AJobThatThrowsFailsWithTheReason) {
  JobTable jobs;
  const auto id = jobs.start([](JobControl&) -> Reply { throw std::runtime_error("oops"); });
  ASSERT_TRUE(id);
  const JobStatusReply status = end_of(jobs, *id);
  EXPECT_EQ(status.state, JobState::Failed);
  EXPECT_NE(status.result_json.find("oops"), std::string::npos);
}

TEST(JobTable, RefusesJobsBeyondTheLimitUntilSomeEnd) {
  // Thousands of them that look all the time would leave the others no processor.
  const auto wait_idly = [](JobControl& control) -> Reply {
    while (!control.cancel) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return OkReply{};
  };
  JobTable jobs;
  std::vector<uint64_t> started;
  auto id = jobs.start(wait_idly);
  while (id && started.size() <= kRequestsUnfinishedMax) {
    started.push_back(*id);
    id = jobs.start(wait_idly);
  }
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, ErrorCode::ResourceExhausted);
  EXPECT_EQ(jobs.running(), started.size());
  ASSERT_TRUE(jobs.cancel(started.front()));
  end_of(jobs, started.front());
  EXPECT_TRUE(jobs.start(wait_idly));
}

TEST(JobTable, ARepeatedRequestGetsTheAnswerOfTheFirst) {
  JobTable jobs;
  std::atomic<int> runs{0};
  std::promise<void> release;
  auto released = release.get_future().share();
  const JobTable::Work work = [&, released](JobControl&) -> Reply {
    ++runs;
    released.wait();
    return JobStartedReply{7};
  };
  auto first = std::async(std::launch::async, [&] { return jobs.run("key", work); });
  while (runs == 0) std::this_thread::yield();
  auto second = std::async(std::launch::async, [&] { return jobs.run("key", work); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  release.set_value();
  EXPECT_EQ(first.get(), Reply(JobStartedReply{7}));
  EXPECT_EQ(second.get(), Reply(JobStartedReply{7}));
  EXPECT_EQ(runs, 1);
}

TEST(JobTable, UnknownJobsAreNotFound) {
  JobTable jobs;
  EXPECT_EQ(jobs.status({.job_id = 5, .log_from = 0, .wait_ms = 0}).error().code,
            ErrorCode::NotFound);
  EXPECT_EQ(jobs.cancel(5).error().code, ErrorCode::NotFound);
}

TEST(JobTable, AJobWithALeaseEndsWhenNobodyAsksAnyMore) {
  JobTable jobs;
  const auto left = jobs.start(wait_for_cancel), kept = jobs.start(wait_for_cancel);
  ASSERT_TRUE(left && kept);
  const auto ask = [&](uint64_t id, std::optional<uint64_t> lease) {
    return jobs.status({.job_id = id, .log_from = 0, .wait_ms = 0, .lease_ms = lease});
  };
  ASSERT_TRUE(ask(*left, 1));
  // A job whose owner returns without a lease, and one that never had a lease, continue.
  ASSERT_TRUE(ask(*kept, 1'000'000));
  ASSERT_TRUE(ask(*kept, 0));
  while (jobs.running() == 2) std::this_thread::yield();
  EXPECT_EQ(end_of(jobs, *left).state, JobState::Cancelled);
  EXPECT_EQ(ask(*kept, std::nullopt)->state, JobState::Running);
  EXPECT_EQ(ask(*kept, UINT64_MAX).error().code, ErrorCode::InvalidArgument);
  ASSERT_TRUE(jobs.cancel(*kept));
  EXPECT_EQ(end_of(jobs, *kept).state, JobState::Cancelled);
}

TEST(JobTable, AJobThatNobodyEverAsksForEndsWithTheLeaseItWasStartedWith) {
  JobTable jobs;
  const auto left = jobs.start(wait_for_cancel, 1), kept = jobs.start(wait_for_cancel);
  ASSERT_TRUE(left && kept);
  while (jobs.running() == 2) std::this_thread::yield();
  EXPECT_EQ(end_of(jobs, *left).state, JobState::Cancelled);
  EXPECT_EQ(jobs.running(), 1U) << "whoever names no lease may come back at any time";
  ASSERT_TRUE(jobs.cancel(*kept));
  const auto endless = jobs.start(wait_for_cancel, UINT64_MAX);
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(endless.error().message.find("the limit is 86400000"), std::string::npos);
}

TEST(JobTable, EveryQuestionRenewsTheLease) {
  JobTable jobs;
  const auto id = jobs.start(wait_for_cancel);
  ASSERT_TRUE(id);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(900);
  while (std::chrono::steady_clock::now() < until) {
    const auto status = jobs.status({.job_id = *id, .log_from = 0, .wait_ms = 0, .lease_ms = 600});
    ASSERT_EQ(status->state, JobState::Running);
  }
  while (jobs.running() > 0) std::this_thread::yield();
  EXPECT_EQ(end_of(jobs, *id).state, JobState::Cancelled);
}

TEST(JobTable, CancellingAJobThatHasEndedChangesNothing) {
  JobTable jobs;
  const auto id = jobs.start([](JobControl&) -> Reply { return OkReply{}; });
  ASSERT_TRUE(id);
  EXPECT_EQ(end_of(jobs, *id).state, JobState::Done);
  EXPECT_TRUE(jobs.cancel(*id));
  EXPECT_EQ(end_of(jobs, *id).state, JobState::Done);
}

TEST(JobTable, TakesNoJobOnceItStops) {
  JobTable jobs;
  jobs.stop();
  std::atomic<bool> ran{false};
  const auto id = jobs.start([&](JobControl&) -> Reply {
    ran = true;
    return OkReply{};
  });
  ASSERT_FALSE(id);
  EXPECT_EQ(id.error().code, ErrorCode::Unavailable);
  EXPECT_FALSE(ran);
}

/// Runs in a separate process, because the limit counts all processes of the user.
void start_a_job_without_threads() {
  JobTable jobs;
  const rlimit none{0, 0};
  if (::setgid(65534) != 0 || ::setuid(65534) != 0 || ::setrlimit(RLIMIT_NPROC, &none) != 0) {
    std::_Exit(2);
  }
  const auto id = jobs.start([](JobControl&) -> Reply { return OkReply{}; });
  std::_Exit(!id && id.error().code == ErrorCode::ResourceExhausted && jobs.running() == 0 ? 0 : 1);
}

TEST(JobTable, WithoutAThreadItSaysSo) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become a user whose processes are counted";
  EXPECT_EXIT(start_a_job_without_threads(), testing::ExitedWithCode(0), "");
}

TEST(JobTable, AStoppedJobSaysWhatEndedItAndCanStillBeAskedFor) {
  JobTable jobs;
  const auto id = jobs.start([](JobControl& control) -> Reply {
    control.total = 5;
    control.done = 2;
    while (!control.cancel) std::this_thread::yield();
    return TestReportReply{};
  });
  ASSERT_TRUE(id);
  while (jobs.status({.job_id = *id, .log_from = 0, .wait_ms = 0})->done < 2) {
    std::this_thread::yield();
  }
  jobs.stop();
  const JobStatusReply status = end_of(jobs, *id);
  EXPECT_EQ(status.state, JobState::Failed);
  EXPECT_EQ(status.code, WireErrorCode::Stopped);
  const auto reply = decode_reply(status.result_json);
  ASSERT_TRUE(reply);
  EXPECT_EQ(std::get<TestReportReply>(*reply).incomplete,
            "the daemon was stopped; 2 of 5 cases had run");
  EXPECT_EQ(std::get<TestReportReply>(*reply).error,
            "the daemon was stopped; 2 of 5 cases had run");
}

TEST(JobTable, IdsOfTwoDaemonsDiffer) {
  JobTable one, other;
  const JobTable::Work nothing = [](JobControl&) -> Reply { return OkReply{}; };
  const auto first = one.start(nothing), second = other.start(nothing);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_LT(*first, uint64_t{1} << 53) << "a double holds it";
}

TEST(JobTable, StopCancelsAndWaits) {
  JobTable jobs;
  std::atomic<bool> ended{false};
  ASSERT_TRUE(jobs.start([&](JobControl& control) -> Reply {
    Reply reply = wait_for_cancel(control);
    ended = true;
    return reply;
  }));
  jobs.stop();
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace gpuemu
