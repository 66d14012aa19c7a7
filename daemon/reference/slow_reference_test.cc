// References whose misbehaviour takes seconds by its nature.
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

}  // namespace
}  // namespace gpuemu
