// Runs many sessions at once on devices that are too small: tests values, ends, and repeatable
// queues.
#include "daemon/tapes/tapes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "daemon/tapes/local_device.h"

namespace gpuemu {
namespace {

constexpr size_t kElements = 2500;

TapeSettings settings(size_t devices, tape::Policy policy, size_t entries_max) {
  TapeSettings made;
  LocalTapeOptions local;
  local.device.backend = "emulator";
  local.device.threads = 1;
  local.device.memory_limit_bytes = kNoMemoryLimit;
  made.hosts = local_tape_hosts(std::move(local), devices);
  made.names = {"emulated"};
  made.memory_bytes = uint64_t{200} << 10;  // Twenty of the tensors below.
  made.seed = 1;
  made.policy = policy;
  made.entries_max = entries_max;
  return made;
}

/// The tape of one session, written in parts, with the value that all elements of a tensor have.
class RandomTape {
 public:
  explicit RandomTape(unsigned seed) : draw_(seed) {}

  /// Returns JSON text with this many further tensors, and some drops.
  std::string next(size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) add(text);
    return "[" + text.substr(1) + "]";
  }
  /// Returns a tensor that was not dropped.
  size_t any() {
    std::vector<size_t> live;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!dropped_[i]) live.push_back(i);
    }
    return live[draw_() % live.size()];
  }
  float value(size_t number) const { return values_[number]; }

 private:
  void add(std::string& text) {
    const size_t number = values_.size();
    const bool is_leaf = number < 2 || draw_() % 4 == 0;
    const size_t a = is_leaf ? 0 : any(), b = is_leaf ? 0 : any();
    const bool adds = draw_() % 2 == 0;
    text += fmt::format(
        R"(,{{"id":"t{}","op":"{}","shape":[50,50],"dtype":"float32","inputs":[{}]}})", number,
        is_leaf ? "ones"
        : adds  ? "add"
                : "sub",
        is_leaf ? "" : fmt::format(R"("t{}","t{}")", a, b));
    values_.push_back(is_leaf ? 1 : adds ? values_[a] + values_[b] : values_[a] - values_[b]);
    dropped_.push_back(false);
    if (is_leaf || draw_() % 3 != 0) return;
    text += fmt::format(R"(,{{"op":"drop","inputs":["t{}"]}})", a);
    dropped_[a] = true;
  }

  std::mt19937 draw_;
  std::vector<float> values_;
  std::vector<bool> dropped_;
};

/// Submits, fetches and ends sessions of one name, one after the other.
void use(Tapes& tapes, std::atomic<uint64_t>& numbers, unsigned seed) {
  for (unsigned round = 0; round < 3; ++round) {
    const uint64_t number = ++numbers;
    const TapeClient client{number, "",
                            std::make_shared<LaneSession>(number, fmt::format("s{}", seed))};
    client.lanes->weight = 1 + seed;
    RandomTape tape(seed * 100 + round);
    for (int part = 0; part < 3; ++part) {
      const auto submitted = tapes.submit(client, tape.next(25));
      ASSERT_TRUE(std::holds_alternative<TapeAcceptedReply>(submitted))
          << std::get<ErrorReply>(submitted).message;
      const size_t wanted = tape.any();
      const auto fetched = tapes.fetch(client, fmt::format("t{}", wanted));
      ASSERT_TRUE(std::holds_alternative<TensorReply>(fetched))
          << std::get<ErrorReply>(fetched).message;
      std::array<float, kElements> got{};
      const auto& data = std::get<TensorReply>(fetched).tensor.data;
      ASSERT_EQ(data.size(), sizeof got);
      std::memcpy(got.data(), data.data(), data.size());
      for (const float one : got) ASSERT_EQ(one, tape.value(wanted));
    }
    if (round == 1) {
      const TapeStatusReply status = tapes.status(client, std::chrono::seconds(60));
      EXPECT_EQ(status.done, status.total);
      EXPECT_EQ(status.failed, 0u);
    }
    tapes.end(number);  // In the middle, else.
  }
}

/// The trace once nothing is left.
tape::Trace last_trace(Tapes& tapes) {
  tape::Trace trace;
  for (int i = 0; i < 600; ++i) {
    const auto decoded = tape::decode_trace(*tapes.trace({}));
    EXPECT_TRUE(decoded) << decoded.error().message;
    trace = *decoded;
    const bool is_over = std::ranges::all_of(trace.handles, [](const tape::Handle& one) {
      return one.state == tape::State::Freed && one.refs == 0;
    });
    if (is_over) return trace;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  ADD_FAILURE() << "tensors of sessions that have ended are there still";
  return trace;
}

class TapesOfManySessions : public testing::TestWithParam<tape::Policy> {};

TEST_P(TapesOfManySessions, GiveTheirValuesAndTheSameQueueAgain) {
  Tapes tapes(settings(3, GetParam(), 100'000));
  std::atomic<uint64_t> numbers{0};
  std::vector<std::thread> clients;
  for (unsigned i = 0; i < 4; ++i) clients.emplace_back([&, i] { use(tapes, numbers, i); });
  for (std::thread& one : clients) one.join();
  const tape::Trace trace = last_trace(tapes);
  EXPECT_FALSE(trace.simulated);
  EXPECT_EQ(trace.handles.size(), 4u * 3 * 75);
  EXPECT_GT(trace.totals.spills, 0u);
  tape::Scheduler again({.devices = trace.devices,
                         .seed = trace.seed,
                         .policy = trace.policy,
                         .entries_max = SIZE_MAX});
  for (const tape::Session& one : trace.sessions) again.set_weight(one.name, one.weight);
  ASSERT_TRUE(again.add(trace.input_tape));
  while (again.step()) {
  }
  EXPECT_TRUE(again.trace().output_queue == trace.output_queue);
}

INSTANTIATE_TEST_SUITE_P(Policies, TapesOfManySessions,
                         testing::Values(tape::Policy::Balanced, tape::Policy::Locality));

TEST(Tapes, KeepTheNewestLines) {
  Tapes tapes(settings(2, tape::Policy::Balanced, 50));
  std::atomic<uint64_t> numbers{0};
  use(tapes, numbers, 9);
  const tape::Trace trace = last_trace(tapes);
  EXPECT_EQ(trace.input_tape.size(), 50u);
  EXPECT_LE(trace.output_queue.size(), 50u);
  EXPECT_LE(trace.ticks.size(), 50u);
  EXPECT_LE(trace.handles.size(), 50u);
  EXPECT_GE(trace.input_tape.front().seq, 100u);
}

}  // namespace
}  // namespace gpuemu
