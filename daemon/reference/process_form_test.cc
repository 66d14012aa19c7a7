#include <sys/wait.h>

#include "daemon/reference/reference_fixture.h"

namespace gpuemu {
namespace {

/// Scripts in the field: doubles x, float32 in and out.
constexpr const char* kDouble = R"(
import base64, json, sys
import numpy as np
case = json.load(sys.stdin)
x = case["inputs"]["x"]
a = np.frombuffer(base64.b64decode(x["data"]), np.dtype(x["dtype"])).reshape(x["shape"])
a = a * float(case["kwargs"].get("factor", "2.0"))
a = a.astype(x["dtype"])
json.dump({"shape": list(a.shape), "dtype": str(a.dtype),
           "data": base64.b64encode(a.tobytes()).decode()}, sys.stdout)
)";

using Floats = std::vector<float>;

TEST_F(ReferenceTest, AScriptWithoutAReferenceFunctionSpeaksTheStdinContract) {
  auto reply = ask(kDouble);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_FALSE(reply->function_form);
  ASSERT_EQ(reply->outputs.size(), 1u);
  EXPECT_EQ(reply->outputs[0].name, "y");
  EXPECT_EQ(reply->outputs[0].dtype, DType::Float32);
  EXPECT_EQ(values<float>(reply->outputs[0]), (Floats{2, 4, 6}));
}

TEST_F(ReferenceTest, KwargsArriveAsStrings) {
  request_.kwargs = {{"factor", "0.5"}};
  auto reply = ask(kDouble);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(values<float>(reply->outputs.at(0)), (Floats{0.5, 1, 1.5}));
}

TEST_F(ReferenceTest, ProcessModeWinsOverAFunctionWhenAsked) {
  request_.process_only = true;
  auto reply = ask(std::string(kDouble) + "def reference(x): raise ValueError\n");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_FALSE(reply->function_form);
}

TEST_F(ReferenceTest, TheTrueDtypeIsAnnounced) {
  request_.inputs[0].dtype = DType::BFloat16;
  auto reply =
      ask("import json, sys\nd = json.load(sys.stdin)['inputs']['x']\n"
          "sys.exit(d['dtype'] + str(d['strides']) + d['data'])\n");
  ASSERT_FALSE(reply);
  const std::string& why = reply.error().message;
  EXPECT_NE(why.find("bfloat16[1]AACAPwAA"), std::string::npos) << why;
}

TEST_F(ReferenceTest, SeveralOutputsComeFromTheOutputsMember) {
  request_.output_names = {"y", "count"};
  auto reply = ask(R"(
print('{"shape": [], "dtype": "bool", "data": "AQ==", "outputs": {"count": '
      '{"shape": [2], "dtype": "uint8", "data": "Bwg="}}}\n\n')
)");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->outputs[0].name, "y");
  EXPECT_EQ(reply->outputs[0].shape, Shape{});
  EXPECT_EQ(values<uint8_t>(reply->outputs[1]), (std::vector<uint8_t>{7, 8}));
}

TEST_F(ReferenceTest, NeitherOrderOfReadingAndWritingDeadlocks) {
  set_inputs(Floats(200'000, 1.0f));
  const std::string write =
      "sys.stdout.write(' ' * 3000000 + '{\"shape\": [0], \"dtype\": "
      "\"float32\", \"data\": \"\"}'); sys.stdout.flush()\n";
  const std::string read = "sys.stdin.read()\n";
  EXPECT_TRUE(ask("import sys\n" + write + read));
  EXPECT_TRUE(ask("import sys\n" + read + write));
  EXPECT_TRUE(ask("import sys\n" + write)) << "reads nothing";
  EXPECT_TRUE(ask("import sys\nsys.stderr.write('e' * 3000000)\n" + write + read));
}

struct Bad {
  const char* name;
  const char* script;
  const char* message;
};
class ProcessMisbehaviour : public ReferenceTest, public testing::WithParamInterface<Bad> {};

TEST_P(ProcessMisbehaviour, LosesOneCaseOnly) {
  const Error why = failure_of(GetParam().script);
  EXPECT_EQ(why.code, ErrorCode::Compile) << name_of(why.code);
  EXPECT_NE(why.message.find(GetParam().message), std::string::npos) << why.message;
}

INSTANTIATE_TEST_SUITE_P(
    All, ProcessMisbehaviour,
    testing::Values(
        Bad{"Exit3", "import sys\nprint('why', file=sys.stderr)\nsys.exit(3)\n", "exit code 3"},
        Bad{"Raises", "raise ValueError('because')\n", "because"},
        Bad{"Garbage", "print('hello')\n", "begins 'hello"},
        Bad{"Nothing", "pass\n", "wrote nothing"},
        Bad{"Killed", "import os\nos.kill(os.getpid(), 9)\n", "signal 9"},
        Bad{"KillsItsGroup", "import os\nos.killpg(0, 9)\n", "signal 9"},
        Bad{"Recursion", "def f(): f()\nf()\n", "RecursionError"},
        Bad{"NotAnObject", "print([1])\n", "JSON list"},
        Bad{"NoShape", "print('{\"dtype\": \"int8\", \"data\": \"\"}')\n", "no shape"},
        Bad{"UnknownDtype", "print('{\"shape\": [], \"dtype\": \"complex64\", \"data\": \"\"}')\n",
            "complex64"},
        Bad{"WrongLength", "print('{\"shape\": [3], \"dtype\": \"int8\", \"data\": \"AAA=\"}')\n",
            "has 2 bytes"},
        Bad{"NotBase64", "print('{\"shape\": [3], \"dtype\": \"int8\", \"data\": \"*\"}')\n",
            "base64"},
        Bad{"DeepJson", "print('[' * 100000)\n", "JSON"}),
    [](const auto& chosen) { return chosen.param.name; });

TEST_F(ReferenceTest, AHangingProcessIsKilledWithItsGroup) {
  // A busy machine may need longer than the first of these to start the script at all.
  bool started = false;
  for (const uint64_t patience : {150u, 1'500u, 15'000u}) {
    if (started) break;
    request_.timeout_ms = patience;
    const Error why = failure_of(
        "import subprocess, sys\nprint('started', file=sys.stderr)\n"
        "subprocess.run(['sleep', '60'])\n");
    EXPECT_EQ(why.code, ErrorCode::Timeout);
    started = why.message.find("started") != std::string::npos;
  }
  EXPECT_TRUE(started);
}

TEST_F(ReferenceTest, ADaemonThatHoldsThePipesIsNotWaitedForAndDoesNotSurvive) {
  const std::string note = folder_ + "/pid";
  auto reply = ask(R"(
import os, sys, time
if os.fork() == 0:
  os.setsid()
  if os.fork() == 0:
    open(')" + note +
                   R"(', 'w').write(str(os.getpid()))
    time.sleep(60)
  os._exit(0)
os.wait()
while not os.path.exists(')" +
                   note + R"('): pass
print('{"shape": [0], "dtype": "int8", "data": ""}')
)");
  ASSERT_TRUE(reply) << reply.error().message;
  int pid = -1;
  std::ifstream(note) >> pid;
  ASSERT_GT(pid, 0);
  EXPECT_NE(::kill(pid, 0), 0);
}

}  // namespace
}  // namespace gpuemu
