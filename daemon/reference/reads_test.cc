// Tests that files which scripts read are reported, so that a cached verdict is discarded when they
// change, and that a running interpreter reloads them.
#include <algorithm>
#include <utility>

#include <unistd.h>

#include "daemon/reference/reference_fixture.h"

namespace gpuemu {
namespace {

class ReadsTest : public ReferenceTest {
 protected:
  void SetUp() override {
    ReferenceTest::SetUp();
    char pattern[] = "/tmp/gpuemu-project-XXXXXX";
    project_ = ::mkdtemp(pattern);
    shared_ = std::exchange(process_,
                            std::make_unique<ReferenceProcess>(
                                ReferenceOptions{"/usr/bin/python3", project_, files_}, arena_));
  }
  void TearDown() override {
    process_ = std::move(shared_);
    ReferenceTest::TearDown();
    std::filesystem::remove_all(project_);
  }

  bool has_read(const std::string& path) {
    const ReferenceReads reads = files_->of(request_.script);
    return std::ranges::find(reads.files, path) != reads.files.end();
  }
  bool is_complete() { return files_->of(request_.script).complete; }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::unique_ptr<ReferenceProcess> shared_;
  std::string project_;
  std::shared_ptr<ReferenceFiles> files_ = std::make_shared<ReferenceFiles>();
};

TEST_F(ReadsTest, TheFunctionFormTellsScriptDataModulesAndWhatIsMissing) {
  write_script("table.txt", "3");
  write_script("helper.py", "FACTOR = 2\n");
  ASSERT_TRUE(
      ask("import os, helper\nHERE = os.path.dirname(__file__)\ndef reference(x):\n"
          "  try: open(HERE + '/none.txt')\n  except OSError: pass\n"
          "  with open(HERE + '/own.txt', 'w') as own: own.write('1')\n"
          "  open(HERE + '/own.txt').read()\n"
          "  return x * int(open(HERE + '/table.txt').read()) * helper.FACTOR\n"));
  EXPECT_TRUE(has_read(request_.script));
  EXPECT_TRUE(has_read(path("table.txt")));
  EXPECT_TRUE(has_read(path("helper.py")));
  EXPECT_TRUE(has_read(path("none.txt")));
  EXPECT_FALSE(has_read(path("own.txt")));
  EXPECT_TRUE(is_complete());
  for (const std::string& file : files_->of(request_.script).files) {
    EXPECT_TRUE(file.starts_with(folder_)) << file;
  }
}

TEST_F(ReadsTest, TheProcessFormTellsItToo) {
  write_script("table.txt", "3");
  const std::string script =
      "import json, sys, os\njson.load(sys.stdin)\n"
      "open(os.path.join(os.path.dirname(sys.argv[0]), 'table.txt')).read()\n"
      "print(json.dumps({'shape': [0], 'dtype': 'float32', 'data': ''}))\n";
  ASSERT_TRUE(ask(script));
  EXPECT_TRUE(has_read(path("table.txt")));
  EXPECT_TRUE(is_complete());
  ASSERT_TRUE(ask(script + "sys.stdout.flush()\nos._exit(0)\n"));
  EXPECT_FALSE(is_complete());
}

TEST_F(ReadsTest, WhatProgramsAndTheNetworkReadIsNotKnown) {
  EXPECT_FALSE(is_complete());  // No script has run.
  ASSERT_TRUE(
      ask("import subprocess\ndef reference(x):\n  subprocess.run(['true'])\n  return x\n"));
  EXPECT_FALSE(is_complete());
  ASSERT_TRUE(ask("import os\ndef reference(x):\n  os.system('true')\n  return x\n"));
  EXPECT_FALSE(is_complete());
  ASSERT_TRUE(
      ask("import socket\ndef reference(x):\n  socket.socket().connect_ex(('127.0.0.1', 9))\n"
          "  return x\n"));
  EXPECT_FALSE(is_complete());
}

TEST_F(ReadsTest, DataThatWasReadOnceIsReadAgainWhenItChanges) {
  write_script("table.txt", "3");
  auto reply =
      ask("import os\nTABLE = open(os.path.dirname(__file__) + '/table.txt').read()\n"
          "def reference(x):\n  return [int(TABLE)]\n");
  ASSERT_TRUE(reply);
  EXPECT_EQ(values<int64_t>(reply->outputs.at(0)).at(0), 3);
  write_script("table.txt", "4444");
  reply = again();
  ASSERT_TRUE(reply);
  EXPECT_EQ(values<int64_t>(reply->outputs.at(0)).at(0), 4444);
}

TEST_F(ReadsTest, DataThatWasMissingIsReadWhenItAppears) {
  const std::string script =
      "import os\nHERE = os.path.dirname(__file__)\ntry: TABLE = open(HERE + '/late.txt').read()\n"
      "except OSError: TABLE = '3'\ndef reference(x):\n  return [int(TABLE)]\n";
  ASSERT_TRUE(ask(script));
  write_script("late.txt", "4");
  const auto reply = again();
  ASSERT_TRUE(reply);
  EXPECT_EQ(values<int64_t>(reply->outputs.at(0)).at(0), 4);
  EXPECT_TRUE(has_read(path("late.txt")));
}

TEST_F(ReadsTest, AModuleFromElsewhereThatChangesTakesAnotherInterpreter) {
  // A module neither below the project nor beside the script stays loaded for all scripts.
  char pattern[] = "/tmp/gpuemu-elsewhere-XXXXXX";
  const std::string elsewhere = ::mkdtemp(pattern);
  const auto write = [&](int factor) {
    std::ofstream(elsewhere + "/outside.py") << "FACTOR = " << factor << "\n";
  };
  write(3);
  const std::string script = "import sys\nsys.path.insert(0, '" + elsewhere +
                             "')\nimport outside\ndef reference(x):\n  return [outside.FACTOR]\n";
  ASSERT_TRUE(ask(script));
  ASSERT_TRUE(ask(script));  // The second script finds it loaded.
  EXPECT_TRUE(has_read(elsewhere + "/outside.py"));
  const int before = process_->pid();
  write(4444);
  ::usleep(200'000);  // It looks ten times a second.
  const auto reply = again();
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(values<int64_t>(reply->outputs.at(0)).at(0), 4444);
  EXPECT_NE(process_->pid(), before);
  std::filesystem::remove_all(elsewhere);
}

}  // namespace
}  // namespace gpuemu
