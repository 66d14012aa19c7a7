// Tests references whose misbehaviour takes seconds.
#include "daemon/reference/reference_fixture.h"

namespace gpuemu {
namespace {

TEST_F(ReferenceTest, PrintingAGigabyteIsHarmless) {
  auto reply =
      ask("line = 'x' * 10**8\ndef reference(x):\n  for i in range(10): print(line)\n  return x\n");
  ASSERT_TRUE(reply) << reply.error().message;
}

TEST_F(ReferenceTest, AGigabyteOnStandardOutputIsCutOff) {
  const Error why =
      failure_of("import os\nb = bytes(1 << 20)\nfor i in range(1024): os.write(1, b)\n");
  EXPECT_NE(why.message.find("wrote more than 536870912 bytes"), std::string::npos) << why.message;
}

TEST_F(ReferenceTest, AnInterpreterThatHangsIsBlamedAndNotTheScript) {
  const std::string python = write_script("slow_python", "#!/bin/sh\nexec sleep 600\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  request_.script = write_script("innocent.py", "def reference(x):\n  return x\n");
  ReferenceProcess process({.python = python, .folder = "/"}, arena_);
  ASSERT_TRUE(process.begin(request_));
  const auto reply = process.finish();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::Timeout);
  EXPECT_TRUE(reply.error().message.starts_with("the interpreter " + python + " did not start"))
      << reply.error().message;
  EXPECT_NE(reply.error().message.find("[runtime].python"), std::string::npos);
}

}  // namespace
}  // namespace gpuemu
