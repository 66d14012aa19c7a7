#include "daemon/sessions/sessions.h"

#include <limits>
#include <set>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/service_limits.h"
#include "daemon/sessions/client_names.h"

namespace gpuemu {
namespace {

using std::chrono::milliseconds;

class Registry : public testing::Test {
 protected:
  ClientPeer connect() {
    const ClientPeer peer{++connections_, ::getpid(), ::getuid()};
    sessions_.connected(peer);
    return peer;
  }
  SessionOpenedReply open(const OpenSessionRequest& request, const ClientPeer& peer) {
    const auto opened = sessions_.open(request, "", peer);
    const auto* reply = std::get_if<SessionOpenedReply>(&opened);
    EXPECT_NE(reply, nullptr) << std::get<ErrorReply>(opened).message;
    return reply != nullptr ? *reply : SessionOpenedReply{};
  }
  std::set<std::string> names() {
    std::set<std::string> all;
    for (const SessionInfo& one : sessions_.list()) all.insert(one.name);
    return all;
  }
  /// The claim of a request of this session.
  LaneClaim begin(const std::string& secret, const ClientPeer& peer) {
    auto begun = sessions_.begin(*sessions_.visit(secret, peer), Urgency::Batch);
    const auto* claim = std::get_if<LaneClaim>(&begun);
    EXPECT_NE(claim, nullptr) << std::get<ErrorReply>(begun).message;
    return claim == nullptr ? nullptr : *claim;
  }
  ErrorReply refusal(const std::string& secret, const ClientPeer& peer) {
    auto begun = sessions_.begin(*sessions_.visit(secret, peer), Urgency::Batch);
    EXPECT_TRUE(std::holds_alternative<ErrorReply>(begun));
    return std::holds_alternative<ErrorReply>(begun) ? std::get<ErrorReply>(begun) : ErrorReply{};
  }
  void pass(milliseconds time) { sessions_.end_overdue(Sessions::Clock::now() + time); }

  Share share_;
  Sessions sessions_{share_};
  uint64_t connections_ = 0;
};

TEST_F(Registry, AllConnectionsOfAProcessAreOneSession) {
  const ClientPeer one = connect(), other = connect();
  {
    const auto first = sessions_.visit("", one), second = sessions_.visit("", other);
  }
  const auto listed = sessions_.list();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].name, client_name(::getpid()));
  EXPECT_EQ(listed[0].connections, 2u);
  EXPECT_EQ(listed[0].pid, static_cast<uint64_t>(::getpid()));
  EXPECT_EQ(listed[0].user, user_name(::getuid()));
  EXPECT_EQ(listed[0].weight, 1);
  EXPECT_EQ(listed[0].session_class, SessionClass::Auto);
  sessions_.disconnected(one);
  EXPECT_EQ(names().size(), 1u);
  sessions_.disconnected(other);
  EXPECT_EQ(names().size(), 0u);
}

TEST_F(Registry, ANameInUseGetsANumberAndSecretsDiffer) {
  const ClientPeer peer = connect();
  const auto first = open({.name = "a"}, peer), second = open({.name = "a"}, peer);
  const auto third = open({.name = "a"}, peer);
  EXPECT_EQ(names(), (std::set<std::string>{"a", "a #2", "a #3"}));
  EXPECT_EQ(first.session.size(), 32u);
  EXPECT_EQ(first.session.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(first.session, second.session);
  EXPECT_EQ(first.limits.queue_max, 64u);
  EXPECT_EQ(first.limits.lease_ms, 30'000u);
  EXPECT_FALSE(first.limits.time_limit_s || first.limits.memory_limit_mb);
  ASSERT_TRUE(sessions_.close(first.session, ""));
  EXPECT_EQ(open({.name = "a"}, peer).name, "a");
  ASSERT_TRUE(sessions_.close("", "a #3"));
  EXPECT_EQ(sessions_.visit(third.session, peer).error().code, ErrorCode::NotFound);
}

TEST_F(Registry, WrongValuesAreRefusedAndNothingIsOpened) {
  const ClientPeer peer = connect();
  const auto with = [](auto change) {
    OpenSessionRequest request{.name = "x"};
    change(request);
    return request;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<OpenSessionRequest> wrong;
  for (const double weight : {0.0, -1.0, 0.0099, 100.1, 101.0, 1e300, nan}) {
    wrong.push_back(with([&](auto& one) { one.weight = weight; }));
  }
  for (const double time : {0.0, -1.0, 1e10, nan}) {
    wrong.push_back(with([&](auto& one) { one.time_limit_s = time; }));
  }
  for (const std::string& name :
       {std::string(), std::string(10'000, 'n'), std::string("a\x1b[2J"), std::string("a\nb"),
        std::string("a\xc2\x9b"), std::string(1, '\0')}) {
    wrong.push_back(with([&](auto& one) { one.name = name; }));
  }
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  for (const uint64_t number : {uint64_t{0}, kMost}) {
    wrong.push_back(with([&](auto& one) { one.queue_max = number; }));
    wrong.push_back(with([&](auto& one) { one.memory_limit_mb = number; }));
    wrong.push_back(with([&](auto& one) { one.lease_ms = number; }));
  }
  for (const OpenSessionRequest& request : wrong) {
    const auto opened = sessions_.open(request, "", peer);
    const auto* refused = std::get_if<ErrorReply>(&opened);
    ASSERT_NE(refused, nullptr);
    EXPECT_EQ(refused->code, WireErrorCode::InvalidRequest);
    EXPECT_LT(refused->message.size(), 200u);
  }
  EXPECT_TRUE(names().empty());
  EXPECT_EQ(std::get<ErrorReply>(sessions_.open(wrong[0], "", peer)).message,
            "member 'weight' is 0, expected 0.01 to 100");
}

TEST_F(Registry, ASessionEndsASecondAfterItsLastConnection) {
  const ClientPeer one = connect(), other = connect();
  const auto opened = open({.name = "a"}, one);
  {
    const auto visit = sessions_.visit(opened.session, other);
  }
  const LaneClaim claim = begin(opened.session, one);
  sessions_.disconnected(one);
  pass(milliseconds(5000));
  EXPECT_EQ(names().size(), 1u) << "the other one uses it";
  sessions_.disconnected(other);
  pass(milliseconds(900));
  EXPECT_FALSE(claim->is_stopped());
  pass(milliseconds(1100));
  EXPECT_EQ(names().size(), 0u);
  ASSERT_TRUE(claim->is_stopped());
  EXPECT_EQ(claim->stopped()->why, LaneStop::Why::SessionEnded);
}

TEST_F(Registry, ALeaseRunsOutWithoutRequestsAndNotDuringOne) {
  const ClientPeer peer = connect();
  OpenSessionRequest request{.name = "a"};
  request.lease_ms = 500;
  const auto opened = open(request, peer);
  {
    const auto visit = sessions_.visit(opened.session, peer);
    pass(milliseconds(2000));
    EXPECT_EQ(names().size(), 1u);
  }
  pass(milliseconds(400));
  EXPECT_EQ(names().size(), 1u);
  pass(milliseconds(600));
  EXPECT_EQ(names().size(), 0u);
}

TEST_F(Registry, JobsOfAProcessGoOnAfterItAndItsRequestsDoNot) {
  const ClientPeer peer = connect();
  const LaneClaim request = begin("", peer), job = begin("", peer);
  job->is_job = true;
  sessions_.disconnected(peer);
  pass(milliseconds(1100));
  EXPECT_TRUE(request->is_stopped());
  EXPECT_FALSE(job->is_stopped());
  // In an explicit session both end.
  const ClientPeer again = connect();
  const auto opened = open({.name = "a"}, again);
  const LaneClaim own = begin(opened.session, again);
  own->is_job = true;
  sessions_.disconnected(again);
  pass(milliseconds(1100));
  EXPECT_TRUE(own->is_stopped());
}

TEST_F(Registry, AFullQueueIsBusyUntilSomethingEnds) {
  const ClientPeer peer = connect();
  OpenSessionRequest request{.name = "a"};
  request.queue_max = 2;
  const auto opened = open(request, peer);
  const LaneClaim first = begin(opened.session, peer);
  LaneClaim second = begin(opened.session, peer);
  const ErrorReply full = refusal(opened.session, peer);
  EXPECT_EQ(full.code, WireErrorCode::Busy);
  EXPECT_EQ(full.message, "session a: 2 of 2 requests wait (queue_max); send again in 250 ms");
  EXPECT_EQ(full.retry_after_ms, 250u);
  EXPECT_EQ(sessions_.list()[0].running, 2u);
  second->finish();
  second = begin(opened.session, peer);
  EXPECT_NE(second, nullptr);
}

TEST_F(Registry, AllSessionsTogetherHaveAQueueToo) {
  const ClientPeer peer = connect();
  std::vector<LaneClaim> claims;
  for (size_t i = 0; i < kRequestsUnfinishedMax / kSessionQueue; ++i) {
    const auto opened = open({.name = "s"}, peer);
    for (uint64_t j = 0; j < kSessionQueue; ++j) claims.push_back(begin(opened.session, peer));
  }
  EXPECT_EQ(refusal(open({.name = "one more"}, peer).session, peer).message,
            "4096 of 4096 requests of all sessions wait; send again in 250 ms");
}

TEST_F(Registry, SettingChangesWhatIsGivenAlone) {
  const ClientPeer peer = connect();
  const auto opened = open({.name = "a", .session_class = SessionClass::Batch}, peer);
  SetSessionRequest change{.name = "a"};
  change.weight = 2;
  change.queue_max = 7;
  const auto info = sessions_.set(change);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->weight, 2);
  EXPECT_EQ(info->session_class, SessionClass::Batch);
  EXPECT_EQ(info->limits.queue_max, 7u);
  EXPECT_EQ(info->limits.lease_ms, 30'000u);
  change.weight = 1000;
  EXPECT_EQ(sessions_.set(change).error().code, ErrorCode::InvalidArgument);
  change = {.name = "nobody"};
  EXPECT_EQ(sessions_.set(change).error().code, ErrorCode::NotFound);
  EXPECT_EQ(sessions_.set({}).error().code, ErrorCode::InvalidArgument);
  {
    const auto visit = sessions_.visit("", peer);
  }
  change = {.name = client_name(::getpid())};
  change.lease_ms = 5;
  EXPECT_EQ(sessions_.set(change).error().code, ErrorCode::InvalidArgument);
}

TEST_F(Registry, TimeThatIsUsedUpIsALimit) {
  const ClientPeer peer = connect();
  OpenSessionRequest request{.name = "a"};
  request.time_limit_s = 1;
  const auto opened = open(request, peer);
  begin(opened.session, peer)->session().used_us = 1'000'000;
  const ErrorReply refused = refusal(opened.session, peer);
  EXPECT_EQ(refused.code, WireErrorCode::LimitExceeded);
  EXPECT_EQ(refused.message, "session a: 1 s of device time is used up (time_limit_s)");
  EXPECT_EQ(sessions_.list()[0].device_ms, 1000);
}

TEST_F(Registry, ADaemonThatStopsEndsAllWork) {
  const ClientPeer peer = connect();
  const auto opened = open({.name = "a"}, peer);
  const LaneClaim claim = begin(opened.session, peer);
  EXPECT_FALSE(claim->is_stopped());
  sessions_.stop_work();
  ASSERT_TRUE(claim->stopped());
  EXPECT_EQ(claim->stopped()->why, LaneStop::Why::DaemonStops);
  const ErrorReply refused = refusal(opened.session, peer);
  EXPECT_EQ(refused.code, WireErrorCode::Stopped);
  EXPECT_EQ(refused.message, "the daemon was stopped");
}

TEST_F(Registry, TheThreadEndsThemInTime) {
  ASSERT_TRUE(sessions_.start());
  const ClientPeer peer = connect();
  open({.name = "a"}, peer);
  sessions_.disconnected(peer);
  const auto deadline = Sessions::Clock::now() + std::chrono::seconds(10);
  while (!names().empty() && Sessions::Clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_TRUE(names().empty());
}

TEST(ClientNames, WhatDoesNotPrintIsNotRepeated) {
  EXPECT_EQ(client_name(0), "client");
  EXPECT_EQ(client_name(-1), "client");
  EXPECT_TRUE(client_name(::getpid()).ends_with(fmt::format("[{}]", ::getpid())));
  EXPECT_TRUE(has_control_character("a\x7f"));
  EXPECT_FALSE(has_control_character("ä ü 日本"));
}

}  // namespace
}  // namespace gpuemu
