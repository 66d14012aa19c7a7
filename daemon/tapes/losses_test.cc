// Tests requests of tapes that crash their worker: each is tried on two workers, whatever it is.
#include <algorithm>
#include <cstring>
#include <functional>
#include <future>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "daemon/tapes/tapes.h"
#include "runtime/backends/backends.h"

namespace gpuemu {
namespace {

enum class Deadly { Nothing, Upload, Run, Download, Before };

/// State that the devices share, and how many were opened.
struct Plan {
  Deadly deadly = Deadly::Nothing;
  bool takes_too_long = false;  ///< Instead of the request that would be deadly.
  std::set<std::string> of;     ///< Ids of entries whose Run is deadly; empty: all.
  /// Becomes `of` with the first loss.
  std::set<std::string> then_of = {};
  std::function<void(const std::string& id)> before_run = {};
  std::atomic<int> opened{0};
};

class FragileDevice;

class FragileBytes final : public DeviceBytes {
 public:
  FragileBytes(std::shared_ptr<FragileDevice> device, std::vector<std::byte> values)
      : device_(std::move(device)), values_(std::move(values)) {}
  TapeDevice& device() const override;
  Result<std::vector<std::byte>> download() const override;

 private:
  const std::shared_ptr<FragileDevice> device_;
  const std::vector<std::byte> values_;
};

/// A device that is lost at the first request of the given kind.
class FragileDevice final : public TapeDevice, public std::enable_shared_from_this<FragileDevice> {
 public:
  FragileDevice(Plan& plan, std::string id) : plan_(plan), id_(std::move(id)) {}

  Result<DeviceCopy> upload(std::span<const std::byte> values, const std::string&) override {
    if (plan_.deadly == Deadly::Before) is_lost_ = true;
    GPUEMU_TRY(live_through(Deadly::Upload));
    return copy_of({values.begin(), values.end()});
  }
  Result<DeviceCopy> run(const tape::Entry& entry, uint64_t, const std::vector<Operand>&) override {
    if (plan_.before_run) plan_.before_run(entry.id);
    const auto& of = plan_.opened > 1 && !plan_.then_of.empty() ? plan_.then_of : plan_.of;
    if (of.empty() || of.contains(entry.id)) GPUEMU_TRY(live_through(Deadly::Run));
    if (plan_.deadly == Deadly::Before) is_lost_ = true;
    if (is_lost_) return error(ErrorCode::Unavailable, "the worker {} is lost", id_);
    return copy_of(std::vector<std::byte>(4 * static_cast<size_t>(element_count(entry.shape))));
  }
  bool is_lost() override { return is_lost_; }
  bool was_lost_by_caller() const override {
    const std::lock_guard lock(mutex_);
    return lost_by_ == std::this_thread::get_id();
  }
  std::string worker_id() const override { return id_; }

  Status live_through(Deadly request) {
    const std::lock_guard lock(mutex_);
    if (!is_lost_ && request == plan_.deadly) {
      is_lost_ = true;
      if (plan_.takes_too_long) return error(ErrorCode::Timeout, "it took longer than 600 s");
      lost_by_ = std::this_thread::get_id();
    }
    if (is_lost_) return error(ErrorCode::Unavailable, "the worker {} is lost", id_);
    return ok_status();
  }

 private:
  DeviceCopy copy_of(std::vector<std::byte> values) {
    return std::make_shared<FragileBytes>(shared_from_this(), std::move(values));
  }

  Plan& plan_;
  const std::string id_;
  mutable std::mutex mutex_;
  std::atomic<bool> is_lost_{false};
  std::thread::id lost_by_;  // Guarded by mutex_.
};

TapeDevice& FragileBytes::device() const { return *device_; }
Result<std::vector<std::byte>> FragileBytes::download() const {
  GPUEMU_TRY(device_->live_through(Deadly::Download));
  return values_;
}

class FragileHosts final : public TapeHosts {
 public:
  FragileHosts(Plan& plan, size_t count) : plan_(plan), count_(count) {}
  size_t count() const override { return count_; }
  Result<DeviceProperties> properties() const override {
    DeviceRequest emulator;
    emulator.backend = "emulator";
    return GPUEMU_TRY(open_device(emulator))->properties();
  }
  Result<std::shared_ptr<TapeDevice>> open(size_t, const std::function<bool()>&) override {
    return std::shared_ptr<TapeDevice>(
        std::make_shared<FragileDevice>(plan_, fmt::format("w{}", ++plan_.opened)));
  }
  bool has_better(const TapeDevice&) const override { return false; }

 private:
  Plan& plan_;
  const size_t count_;
};

TapeClient client() { return {1, "", std::make_shared<LaneSession>(1, "s")}; }

TapeSettings settings(Plan& plan, size_t devices) {
  TapeSettings made;
  made.hosts = std::make_shared<FragileHosts>(plan, devices);
  made.names = {"fragile"};
  made.memory_bytes = uint64_t{1} << 30;
  return made;
}

/// Two leaves on two devices, and their sum, for which one of them moves.
constexpr const char* kSum = R"([
  {"id":"a","op":"ones","shape":[4],"dtype":"float32","inputs":[]},
  {"id":"b","op":"ones","shape":[4],"dtype":"float32","inputs":[]},
  {"id":"c","op":"add","shape":[4],"dtype":"float32","inputs":["a","b"]}])";

std::string message_of(Tapes& tapes, const TapeClient& one, const std::string& id) {
  const auto fetched = tapes.fetch(one, id);
  const auto* const failed = std::get_if<ErrorReply>(&fetched);
  return failed == nullptr ? "" : failed->message;
}

TEST(TapeLosses, AMoveThatTakesTwoWorkersAlongIsNotTriedAgain) {
  for (const Deadly deadly : {Deadly::Upload, Deadly::Download}) {
    Plan plan{.deadly = deadly, .of = {}};
    Tapes tapes(settings(plan, 2));
    const TapeClient one = client();
    ASSERT_TRUE(std::holds_alternative<TapeAcceptedReply>(tapes.submit(one, kSum)));
    const TapeStatusReply status = tapes.status(one, std::chrono::seconds(60));
    EXPECT_EQ(status.done, status.total);
    EXPECT_EQ(status.failed, 1u);
    const std::string message = message_of(tapes, one, "c");
    EXPECT_NE(message.find("WorkerLost: the workers "), std::string::npos) << message;
    EXPECT_NE(message.find("it is not tried again"), std::string::npos) << message;
    EXPECT_LE(plan.opened, 8);
  }
}

TEST(TapeLosses, AFetchThatTakesTwoWorkersAlongIsNotTriedAgain) {
  Plan plan{.deadly = Deadly::Download, .of = {}};
  Tapes tapes(settings(plan, 1));
  const TapeClient one = client();
  ASSERT_TRUE(std::holds_alternative<TapeAcceptedReply>(tapes.submit(one, kSum)));
  EXPECT_EQ(tapes.status(one, std::chrono::seconds(60)).failed, 0u);
  const std::string message = message_of(tapes, one, "c");
  EXPECT_NE(message.find("WorkerLost: the workers w1 and w2"), std::string::npos) << message;
  EXPECT_LE(plan.opened, 3);
}

TEST(TapeStatuses, CountADropWhenNothingNeedsTheTensorAnyMore) {
  std::promise<void> goes_on;
  const std::shared_future<void> wait = goes_on.get_future().share();
  Plan plan;
  plan.before_run = [&](const std::string& id) {
    if (id == "c") wait.wait();
  };
  Tapes tapes(settings(plan, 1));
  const TapeClient one = client();
  ASSERT_TRUE(std::holds_alternative<TapeAcceptedReply>(tapes.submit(one, kSum)));
  ASSERT_TRUE(std::holds_alternative<TapeAcceptedReply>(
      tapes.submit(one, R"([{"op":"drop","inputs":["a"]},{"op":"drop","inputs":["c"]}])")));
  EXPECT_EQ(message_of(tapes, one, "a"), "") << "it is still there";
  EXPECT_EQ(message_of(tapes, one, "b"), "");
  const TapeStatusReply early = tapes.status(one, std::chrono::milliseconds(0));
  EXPECT_LE(early.done, 2u);
  EXPECT_EQ(early.total, 5u);
  goes_on.set_value();
  const TapeStatusReply status = tapes.status(one, std::chrono::seconds(60));
  EXPECT_EQ(status.done, 5u);
  for (const char* id : {"a", "c"}) {
    EXPECT_NE(message_of(tapes, one, id).find("has dropped the tensor"), std::string::npos) << id;
  }
}

TEST(TapeStatuses, CountADropOfWhatWasNeverMade) {
  Plan plan{.deadly = Deadly::Run, .of = {"c"}};
  TapeSettings small = settings(plan, 1);
  small.memory_bytes = 1 << 20;
  Tapes tapes(std::move(small));
  const TapeClient one = client();
  const auto submit = [&](const char* entries) {
    const auto submitted = tapes.submit(one, entries);
    EXPECT_TRUE(std::holds_alternative<TapeAcceptedReply>(submitted));
  };
  submit(R"([{"id":"large","op":"ones","shape":[1048576],"dtype":"float32","inputs":[]},
             {"id":"larger","op":"ones","shape":[1048576],"dtype":"float32","inputs":[]},
             {"op":"drop","inputs":["large"]}])");
  EXPECT_EQ(tapes.status(one, std::chrono::seconds(60)).done, 3u);
  submit(R"([{"op":"drop","inputs":["larger"]}])");
  submit(kSum);
  submit(R"([{"op":"drop","inputs":["c"]}])");
  const TapeStatusReply status = tapes.status(one, std::chrono::seconds(60));
  EXPECT_EQ(status.done, 8u);
  EXPECT_EQ(status.failed, 3u);
}

TEST(TapeLosses, AnOpThatTakesTwoWorkersAlongFailsAloneAndOthersGoOn) {
  Plan plan{.deadly = Deadly::Run, .of = {"c"}};
  Tapes tapes(settings(plan, 1));
  const TapeClient one = client();
  ASSERT_TRUE(std::holds_alternative<TapeAcceptedReply>(tapes.submit(one, kSum)));
  EXPECT_EQ(tapes.status(one, std::chrono::seconds(60)).failed, 1u);
  const std::string message = message_of(tapes, one, "c");
  EXPECT_NE(message.find("c = add: WorkerLost: the workers w1 and w2"), std::string::npos)
      << message;
  EXPECT_EQ(message_of(tapes, one, "a"), "");
  EXPECT_LE(plan.opened, 3);
}

TEST(TapeLosses, WorkersThatAreLostBeforeARequestAreNotOpenedForEver) {
  Plan plan{.deadly = Deadly::Before, .of = {}};
  Tapes tapes(settings(plan, 1));
  const TapeClient one = client();
  ASSERT_TRUE(std::holds_alternative<TapeAcceptedReply>(tapes.submit(one, kSum)));
  const TapeStatusReply status = tapes.status(one, std::chrono::seconds(60));
  EXPECT_EQ(status.done, status.total);
  EXPECT_EQ(status.failed, 3u);
  const std::string message = message_of(tapes, one, "a");
  EXPECT_NE(message.find("a = ones: WorkerLost: 16 workers in a row were lost before they got it "
                         "(device 0)"),
            std::string::npos)
      << message;
  EXPECT_LE(plan.opened, 3 * 16 + 1);
}

TEST(TapeLosses, AnOpThatTakesTwoWorkersAlongWhenItIsComputedAgainIsGivenUp) {
  // "a" is computed once; then its worker goes, and each one that makes it again.
  Plan plan{.deadly = Deadly::Run, .of = {"c"}};
  plan.then_of = {"a"};
  Tapes tapes(settings(plan, 1));
  const TapeClient one = client();
  ASSERT_TRUE(std::holds_alternative<TapeAcceptedReply>(tapes.submit(one, kSum)));
  const TapeStatusReply status = tapes.status(one, std::chrono::seconds(60));
  EXPECT_EQ(status.done, status.total);
  const std::string message = message_of(tapes, one, "a");
  EXPECT_NE(message.find("were lost while a = ones was computed again"), std::string::npos)
      << message;
  EXPECT_LE(plan.opened, 4);
}

TEST(TapeLosses, AnOpThatTakesTooLongFailsAtOnceAndIsNoLostWorker) {
  Plan plan{.deadly = Deadly::Run, .takes_too_long = true, .of = {"c"}};
  Tapes tapes(settings(plan, 1));
  const TapeClient one = client();
  ASSERT_TRUE(std::holds_alternative<TapeAcceptedReply>(tapes.submit(one, kSum)));
  EXPECT_EQ(tapes.status(one, std::chrono::seconds(60)).failed, 1u);
  const std::string message = message_of(tapes, one, "c");
  EXPECT_NE(message.find("c = add: it took longer than 600 s"), std::string::npos) << message;
  EXPECT_EQ(message.find("WorkerLost"), std::string::npos) << message;
  EXPECT_EQ(message_of(tapes, one, "b"), "");
  EXPECT_EQ(plan.opened, 2);
}

TEST(TapeLosses, TracesAreReadWhileDevicesAreLostAndOpenedAgain) {
  Plan plan{.deadly = Deadly::Run, .of = {"c"}};
  Tapes tapes(settings(plan, 2));
  std::atomic<bool> ends{false};
  std::thread reader([&] {
    while (!ends) EXPECT_TRUE(tapes.trace({}));
  });
  for (uint64_t number = 1; number <= 20; ++number) {
    const TapeClient one{number, "", std::make_shared<LaneSession>(number, "s")};
    ASSERT_TRUE(std::holds_alternative<TapeAcceptedReply>(tapes.submit(one, kSum)));
    EXPECT_EQ(tapes.status(one, std::chrono::seconds(60)).failed, 1u);
    tapes.end(number);
  }
  ends = true;
  reader.join();
}

}  // namespace
}  // namespace gpuemu
