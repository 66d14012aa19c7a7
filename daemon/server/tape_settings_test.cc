// Tests where the devices of a daemon's tapes are opened, and what happens to workers that refuse
// them.
#include "daemon/server/tape_settings.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "common/base/files.h"
#include "daemon/schedule/slot_pool_options.h"
#include "daemon/server/job_table.h"
#include "daemon/sessions/sessions.h"
#include "daemon/sessions/share.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

/// Has a worker for every tape, which is there and answers no request as asked.
class RefusingPool final : public RemotePool {
 public:
  struct Channel final : TapeChannel {
    std::string worker_id() const override { return "refuses"; }
    TapeReply ask(std::vector<std::byte>) override { return {TapeReply::End::LostWithIt}; }
    bool is_lost() override { return true; }
  };
  std::unique_ptr<RemoteWorker> take(const WorkerOptions&) override { return nullptr; }
  bool has(const WorkerOptions&) const override { return true; }
  std::shared_ptr<TapeChannel> tape_channel(const WorkerOptions&, size_t) override {
    if (comes_and_goes && std::exchange(is_away, !is_away)) return nullptr;
    ++channels;
    return std::make_shared<Channel>();
  }
  bool wait(std::chrono::milliseconds) override { return true; }

  int channels = 0;
  bool comes_and_goes = false, is_away = false;
};

class TapeDevices : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = testing::TempDir() + "gpuemu-tape-settings-XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::shared_ptr<TapeHosts> hosts(WorkerSetup workers, const std::string& backend,
                                   uint32_t count) {
    workers.log = [](const std::string&) {};
    Lanes lanes;
    lanes.backend = backend;
    lanes.arch = "sm_80";
    lanes.devices.resize(1);
    SlotPoolOptions options;
    options.count = count;
    lanes.slots = *SlotPool::create(options);
    DaemonFacts facts{.jobs = jobs_,
                      .sessions = sessions_,
                      .share = share_,
                      .socket_path = "",
                      .db_path = "",
                      .cache_folder = "",
                      .build = "",
                      .workers = std::move(workers),
                      .request_stop = [] {},
                      .log = [](const std::string&) {},
                      .environment = {}};
    return tape_settings(Config(), lanes, facts).hosts;
  }
  /// A program that records its arguments and ends.
  std::string noting_program() {
    const fs::path program = folder_ / "worker";
    EXPECT_TRUE(
        write_file(program, fmt::format("#!/bin/sh\necho \"$@\" >>{}/starts\n", folder_.native())));
    fs::permissions(program, fs::perms::owner_all);
    return program;
  }

  fs::path folder_;
  JobTable jobs_;
  Share share_;
  Sessions sessions_{share_};
};

const std::function<bool()> kNever = [] { return false; };

TEST_F(TapeDevices, AreTheDaemonsOwnAfterFiftyRefusals) {
  const auto pool = std::make_shared<RefusingPool>();
  const auto made = hosts({.program = "", .remotes = pool, .processes = false, .falls_back = true},
                          "emulator", 1);
  const auto opened = made->open(0, kNever);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE((*opened)->is_here());
  EXPECT_EQ(pool->channels, 50);
}

TEST_F(TapeDevices, AreMissingAfterFiftyRefusalsWhereNothingElseMayRunOps) {
  const auto pool = std::make_shared<RefusingPool>();
  const auto made = hosts({.program = "", .remotes = pool, .processes = false, .falls_back = false},
                          "emulator", 1);
  const auto opened = made->open(3, kNever);
  ASSERT_FALSE(opened);
  EXPECT_TRUE(opened.error().message.starts_with(
      "remote workers refused device 3 of the tape 50 times, or were lost while they opened it"))
      << opened.error().message;
  EXPECT_EQ(pool->channels, 50);
}

TEST_F(TapeDevices, AreMissingAfterFiftyRefusalsOfAWorkerThatComesAndGoes) {
  const auto pool = std::make_shared<RefusingPool>();
  pool->comes_and_goes = true;
  const auto made = hosts({.program = "", .remotes = pool, .processes = false, .falls_back = false},
                          "emulator", 1);
  EXPECT_FALSE(made->open(0, kNever));
  EXPECT_EQ(pool->channels, 50);
}

TEST_F(TapeDevices, NobodyWaitsForFiftyRefusalsOnceTheSessionHasEnded) {
  const auto pool = std::make_shared<RefusingPool>();
  const auto made = hosts({.program = "", .remotes = pool, .processes = false, .falls_back = false},
                          "emulator", 1);
  const auto opened = made->open(0, [&] { return pool->channels == 2; });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::Cancelled);
  EXPECT_EQ(pool->channels, 2);
}

TEST_F(TapeDevices, ArePlacedOnOneGpuAfterTheOther) {
  const auto made = hosts({.program = noting_program()}, "cuda", 3);
  for (size_t place = 0; place < 3; ++place) EXPECT_FALSE(made->open(place, kNever));
  const auto starts = read_file(folder_ / "starts", 1 << 16);
  ASSERT_TRUE(starts);
  std::vector<std::string> devices;
  const std::string option = "--device ";
  for (size_t at = starts->find(option); at != std::string::npos;
       at = starts->find(option, at + 1)) {
    const std::string device = starts->substr(at + option.size(), 1);
    if (devices.empty() || devices.back() != device) devices.push_back(device);
  }
  EXPECT_EQ(devices, (std::vector<std::string>{"0", "1", "2"})) << *starts;
}

}  // namespace
}  // namespace gpuemu
