// Several requests that wait at one process.
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "daemon/reference/reference_fixture.h"
#include "daemon/reference/reference_process.h"

namespace gpuemu {
namespace {

/// A process with three arenas, whose requests are sent before any is answered.
class RequestsTogether : public ReferenceTest {
 protected:
  void SetUp() override {
    ReferenceTest::SetUp();
    for (uint32_t i = 0; i < 3; ++i) {
      arenas_[i] = *Arena::create();
      ASSERT_TRUE(arenas_[i].grow(1 << 20));
      const auto value = static_cast<float>(i + 1);
      std::memcpy(arenas_[i].range(0, sizeof value)->data(), &value, sizeof value);
    }
    request_.inputs[0].shape = {1};
    start("/usr/bin/python3");
  }
  void start(const std::string& python) {
    together_.emplace(ReferenceOptions{python, "/"},
                      std::vector<Arena*>{&arenas_[0], &arenas_[1], &arenas_[2]});
  }
  Status begin(uint32_t arena, const std::string& body) {
    request_.arena = arena;
    request_.script = write_script("together" + std::to_string(arena) + ".py",
                                   "import os, time\ndef reference(x):\n  " + body + "\n");
    return together_->begin(request_);
  }
  double answer_of(uint32_t arena) {
    const auto reply = together_->finish(arena);
    EXPECT_TRUE(reply) << reply.error().message;
    if (!reply || !arenas_[arena].refresh()) return 0;
    double value = 0;
    const auto from = arenas_[arena].range(reply->outputs.at(0).arena_offset, sizeof value);
    std::memcpy(&value, from->data(), sizeof value);
    return value;
  }
  void expect_error(uint32_t arena, ErrorCode code, const std::string& text) {
    const auto reply = together_->finish(arena);
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().code, code);
    EXPECT_NE(reply.error().message.find(text), std::string::npos) << reply.error().message;
    const std::string script = "together" + std::to_string(arena) + ".py";
    EXPECT_NE(reply.error().message.find(script), std::string::npos) << reply.error().message;
  }

  std::array<Arena, 3> arenas_;
  std::optional<ReferenceProcess> together_;
};

TEST_F(RequestsTogether, EachIsAnsweredInItsOwnArenaInAnyOrder) {
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(begin(i, "return 10 * x"));
  EXPECT_EQ(answer_of(2), 30);
  ASSERT_TRUE(begin(2, "return 100 * x"));
  EXPECT_EQ(answer_of(0), 10);
  EXPECT_EQ(answer_of(2), 300);
  EXPECT_EQ(answer_of(1), 20);
}

TEST_F(RequestsTogether, AnEndOfTheInterpreterIsTheFaultOfItsOwnScript) {
  ASSERT_TRUE(begin(0, "return x"));
  ASSERT_TRUE(begin(1, "os._exit(3)"));
  ASSERT_TRUE(begin(2, "return x"));
  EXPECT_EQ(answer_of(0), 1);
  expect_error(1, ErrorCode::Compile, "exit code 3");
  EXPECT_EQ(answer_of(2), 3);
}

TEST_F(RequestsTogether, DescriptorsThatAScriptDidNotOpenAreNotOurs) {
  for (const char* number : {"3", "4", "5", "6", "7"}) {
    ASSERT_TRUE(begin(0, std::string("os.write(") + number + ", b'x')\n  return x"));
    ASSERT_TRUE(begin(1, "return x"));
    expect_error(0, ErrorCode::Compile, "Bad file descriptor");
    EXPECT_EQ(answer_of(1), 2) << number;
  }
}

TEST_F(RequestsTogether, WhatAScriptWritesToAFileOfItsOwnRunsNoOtherAgain) {
  const std::string calls = folder_ + "/calls";
  const std::string counts = "open('" + calls + "', 'a').write('x')\n  ";
  // Its lowest free descriptor is the first one that Python has not opened.
  ASSERT_TRUE(begin(0, counts + "f = os.open('/dev/null', 1)\n  os.write(f, b'x' * 99)\n  "
                                "assert f < 100\n  return x"));
  ASSERT_TRUE(begin(1, counts + "return x"));
  ASSERT_TRUE(begin(2, counts + "return x"));
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(answer_of(i), i + 1);
  EXPECT_EQ(std::filesystem::file_size(calls), 3u);
}

TEST_F(RequestsTogether, ALowLimitOfOpenFilesIsEnough) {
  for (const char* limit : {"14", "20", "64", "110"}) {
    const std::string python = folder_ + "/python" + limit;
    std::ofstream(python) << "#!/bin/sh\nulimit -n " << limit << "\nexec /usr/bin/python3 \"$@\"\n";
    std::filesystem::permissions(python, std::filesystem::perms::owner_all);
    start(python);
    for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(begin(i, "return 10 * x"));
    for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(answer_of(i), 10 * (i + 1)) << limit;
  }
}

TEST_F(RequestsTogether, AnErrorOfTheProcessItselfShowsItsLine) {
  ASSERT_TRUE(begin(0, "import __main__\n  __main__.messages = None\n  return x"));
  expect_error(0, ErrorCode::Compile, "return messages.answer_frame(reply, ");
}

TEST_F(RequestsTogether, WhatAScriptWritesToTheSocketOfItsProcessIsItsOwnFault) {
  for (const char* garbage : {"b'x'", "b'gRef' + b'\\xff' * 8", "b'gRef' + bytes(8)",
                              "b'{\"ok\": true}\\n'", "b'\\n' * 70000"}) {
    ASSERT_TRUE(begin(0, "return x"));
    ASSERT_TRUE(begin(1, std::string("os.write(103, ") + garbage + ")\n  return x"));
    ASSERT_TRUE(begin(2, "return x"));
    EXPECT_EQ(answer_of(0), 1) << garbage;
    expect_error(1, ErrorCode::Compile, "ended the Python interpreter");
    EXPECT_EQ(answer_of(2), 3) << garbage;
  }
}

TEST_F(RequestsTogether, WhatIsPrintedAndWrongResultsHarmNoOther) {
  ASSERT_TRUE(begin(0, "os.write(1, b'gRef' * 9)\n  print('{}')\n  return x"));
  ASSERT_TRUE(begin(1, "return 'text'"));
  ASSERT_TRUE(begin(2, "return x"));
  EXPECT_EQ(answer_of(0), 1);
  expect_error(1, ErrorCode::Compile, "returned the dtype");
  EXPECT_EQ(answer_of(2), 3);
}

TEST_F(RequestsTogether, ASignalIsTheFaultOfItsOwnScript) {
  ASSERT_TRUE(begin(0, "return x"));
  ASSERT_TRUE(begin(1, "os.kill(os.getpid(), 9)"));
  ASSERT_TRUE(begin(2, "return x"));
  EXPECT_EQ(answer_of(2), 3);
  expect_error(1, ErrorCode::Compile, "signal 9");
  EXPECT_EQ(answer_of(0), 1);
}

TEST_F(RequestsTogether, AScriptThatChangedIsLoadedAnewForTheNextOnes) {
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(begin(i, "return 10 * x"));
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(answer_of(i), 10 * (i + 1));
  for (uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(begin(i, "return 1000 * x"));
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(answer_of(i), 1000 * (i + 1));
}

TEST_F(RequestsTogether, TheTimeLimitIsThatOfEach) {
  request_.timeout_ms = 400;
  ASSERT_TRUE(begin(0, "return x"));
  EXPECT_EQ(answer_of(0), 1) << "the interpreter has started";
  for (uint32_t i = 0; i < 2; ++i) ASSERT_TRUE(begin(i, "time.sleep(0.3)\n  return x"));
  ASSERT_TRUE(begin(2, "time.sleep(60)"));
  EXPECT_EQ(answer_of(0), 1);
  EXPECT_EQ(answer_of(1), 2);
  expect_error(2, ErrorCode::Timeout, "did not answer within 400 ms");
}

TEST_F(RequestsTogether, AllAreCancelled) {
  std::atomic<bool> cancel = true;
  together_->stop_when(&cancel);
  ASSERT_TRUE(begin(0, "time.sleep(60)"));
  ASSERT_TRUE(begin(1, "return x"));
  EXPECT_EQ(together_->finish(0).error().code, ErrorCode::Cancelled);
  EXPECT_EQ(together_->finish(1).error().code, ErrorCode::Cancelled);
  together_->stop_when(nullptr);
  ASSERT_TRUE(begin(1, "return x"));
  EXPECT_EQ(answer_of(1), 2);
}

}  // namespace
}  // namespace gpuemu
