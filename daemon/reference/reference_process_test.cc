#include "daemon/reference/reference_process.h"

#include <cmath>

#include <sys/wait.h>

#include "daemon/reference/reference_fixture.h"

namespace gpuemu {
namespace {

using Doubles = std::vector<double>;

TEST_F(ReferenceTest, WidensToFloat64AndDoesNotRoundBack) {
  auto reply = ask("def reference(x):\n  assert x.dtype == 'float64'\n  return x / 3\n");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_TRUE(reply->function_form);
  ASSERT_EQ(reply->outputs.size(), 1u);
  EXPECT_EQ(reply->outputs[0].name, "y");
  EXPECT_EQ(reply->outputs[0].dtype, DType::Float64);
  EXPECT_EQ(values<double>(reply->outputs[0]), (Doubles{1.0 / 3, 2.0 / 3, 1.0}));
}

TEST_F(ReferenceTest, PassesOnlyWhatTheSignatureNames) {
  request_.integers = {{"n", 3}};
  request_.numbers = {{"eps", 0.1}, {"unused", 1}};
  auto reply = ask("def reference(n, *, eps):\n  assert type(n) is int\n  return [n, eps]\n");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(values<double>(reply->outputs.at(0)), (Doubles{3, 0.1}));
}

TEST_F(ReferenceTest, TextsOfAClientArriveAsWhatTheyMean) {
  request_.kwargs = {{"factor", "2.5"}, {"n", "3"}, {"flag", "True"}, {"mode", "fast"}};
  auto reply =
      ask("def reference(factor, n, flag, mode):\n"
          "  assert type(n) is int and flag is True and mode == 'fast'\n  return [factor * n]\n");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(values<double>(reply->outputs.at(0)), Doubles{7.5});
}

TEST_F(ReferenceTest, NamesTheParameterThatTheCaseDoesNotHave) {
  const Error why = failure_of("def reference(x, weight):\n  return x\n");
  EXPECT_EQ(why.code, ErrorCode::Compile);
  EXPECT_NE(why.message.find("`weight`"), std::string::npos) << why.message;
}

TEST_F(ReferenceTest, KeywordArgumentsTakeEverythingIncludingInfinities) {
  request_.numbers = {{"low", -INFINITY}, {"odd", NAN}};
  auto reply = ask("def reference(**kw):\n  return [kw['low'], kw['odd'], len(kw)]\n");
  ASSERT_TRUE(reply) << reply.error().message;
  const Doubles got = values<double>(reply->outputs.at(0));
  EXPECT_EQ(got[0], -INFINITY);
  EXPECT_TRUE(std::isnan(got[1]));
  EXPECT_EQ(got[2], 3);
}

TEST_F(ReferenceTest, BFloat16IsWidenedExactly) {
  put<uint16_t>(0, {0x3f80, 0x3f81, 0xff80, 0x0001});
  request_.inputs = {{"x", DType::BFloat16, {4}, 0}};
  auto reply = ask("def reference(x):\n  return x\n");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(values<double>(reply->outputs.at(0)),
            (Doubles{1, 1.0078125, -INFINITY, std::ldexp(1.0, -133)}));
}

TEST_F(ReferenceTest, IntegersAreInt64AndBoolStaysBool) {
  put<int8_t>(0, {-1, 127});
  put<uint8_t>(64, {0, 1});
  request_.inputs = {{"a", DType::Int8, {2}, 0}, {"b", DType::Bool, {2}, 64}};
  request_.output_names = {"s", "n"};
  auto reply = ask("def reference(a, b):\n  assert b.dtype == bool\n  return a + 1, ~b\n");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->outputs[0].dtype, DType::Int64);
  EXPECT_EQ(values<int64_t>(reply->outputs[0]), (std::vector<int64_t>{0, 128}));
  EXPECT_EQ(reply->outputs[1].dtype, DType::Bool);
  EXPECT_EQ(values<uint8_t>(reply->outputs[1]), (std::vector<uint8_t>{1, 0}));
}

TEST_F(ReferenceTest, RawModulesSeeTheTrueDtype) {
  auto reply = ask("RAW = True\ndef reference(x):\n  assert x.dtype == 'float32'\n  return x\n");
  EXPECT_TRUE(reply) << reply.error().message;
}

TEST_F(ReferenceTest, AnotherFunctionOfTheScriptMayBeNamed) {
  const std::string script =
      "def twice(x):\n  return 2 * x\ndef thrice(x):\n  return 3 * x\n"
      "def error_scale(x):\n  raise RuntimeError\ndef thrice_error_scale(x):\n  return x + 1\n";
  request_.want_scale = true;
  request_.function = "twice";
  auto reply = ask(script);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(values<double>(reply->outputs.at(0)).at(0), 2.0);
  EXPECT_TRUE(reply->scales.empty());
  request_.function = "thrice";
  reply = ask(script);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(values<double>(reply->outputs.at(0)).at(0), 3.0);
  EXPECT_EQ(values<double>(reply->scales.at(0)).at(0), 2.0);
  request_.function = "fourfold";
  reply = ask(script);
  ASSERT_FALSE(reply);
  EXPECT_NE(reply.error().message.find("no function `fourfold`; it has: twice, thrice"),
            std::string::npos)
      << reply.error().message;
}

TEST_F(ReferenceTest, OutputsByNameComeInDeclaredOrder) {
  request_.output_names = {"first", "second"};
  auto reply = ask("def reference(x):\n  return {'second': x.sum(), 'other': x, 'first': x[:0]}\n");
  ASSERT_TRUE(reply) << reply.error().message;
  ASSERT_EQ(reply->outputs.size(), 2u);
  EXPECT_EQ(reply->outputs[0].name, "first");
  EXPECT_EQ(reply->outputs[0].shape, (Shape{0}));
  EXPECT_EQ(reply->outputs[1].shape, Shape{});
  EXPECT_EQ(values<double>(reply->outputs[1]), Doubles{6});
}

TEST_F(ReferenceTest, ATupleOfTheWrongLengthIsRefused) {
  EXPECT_NE(failure_of("def reference(x):\n  return x, x\n").message.find("2 arrays"),
            std::string::npos);
}

TEST_F(ReferenceTest, TheErrorScaleIsSpreadOverTheOutput) {
  request_.want_scale = true;
  auto reply = ask("def reference(x):\n  return x\ndef error_scale(x):\n  return 7\n");
  ASSERT_TRUE(reply) << reply.error().message;
  ASSERT_EQ(reply->scales.size(), 1u);
  EXPECT_EQ(reply->scales[0].shape, (Shape{3}));
  EXPECT_EQ(values<double>(reply->scales[0]), (Doubles{7, 7, 7}));
}

TEST_F(ReferenceTest, TheErrorScaleMayLeaveOutputsOut) {
  request_.want_scale = true;
  request_.output_names = {"values", "places"};
  const std::string reference = "def reference(x):\n  return x, x.argsort()\n";
  for (const char* answer : {"{'values': 7}", "7", "(7, None)", "(7,)"}) {
    auto reply = ask(reference + "def error_scale(x):\n  return " + answer + "\n");
    ASSERT_TRUE(reply) << answer << ": " << reply.error().message;
    ASSERT_EQ(reply->scales.size(), 1u) << answer;
    EXPECT_EQ(reply->scales[0].name, "values");
    EXPECT_EQ(values<double>(reply->scales[0]), (Doubles{7, 7, 7}));
  }
  const auto refused = [&](const char* answer) {
    return ask(reference + "def error_scale(x):\n  return " + answer + "\n").error().message;
  };
  EXPECT_NE(refused("{'value': 7}").find("returned value; the outputs are values, places"),
            std::string::npos);
  EXPECT_NE(refused("(7, 7, 7)").find("3 arrays"), std::string::npos);
}

TEST_F(ReferenceTest, AnErrorScaleUnderWhichNothingCountsIsRefused) {
  request_.want_scale = true;
  const std::string reference = "import numpy as np\ndef reference(x):\n  return x\n";
  const auto scaled = [&](const std::string& scale) {
    return failure_of(reference + "def error_scale(x):\n  return " + scale + "\n").message;
  };
  EXPECT_NE(scaled("x * np.nan").find("NaN in every element"), std::string::npos);
  EXPECT_NE(scaled("np.array([1, -2, 3])").find("element [1] is -2"), std::string::npos);
  // Beside others it may be: 0 times infinity where a row has one.
  EXPECT_TRUE(ask(reference + "def error_scale(x):\n  return np.array([1, np.nan, np.inf])\n"));
}

TEST_F(ReferenceTest, GrowsTheArenaForLargeResults) {
  auto reply = ask("import numpy as np\ndef reference(x):\n  return np.full((1000, 1000), x[2])\n");
  ASSERT_TRUE(reply) << reply.error().message;
  const Doubles got = values<double>(reply->outputs.at(0));
  EXPECT_EQ(got.front() + got.back(), 6);
  EXPECT_GT(arena_.bytes(), 8'000'000u);
}

TEST_F(ReferenceTest, TransposedResultsArePackedRowMajor) {
  auto reply =
      ask("import numpy as np\ndef reference(x):\n  return np.arange(4).reshape(2, 2).T\n");
  ASSERT_TRUE(reply);
  EXPECT_EQ(values<int64_t>(reply->outputs.at(0)), (std::vector<int64_t>{0, 2, 1, 3}));
}

TEST_F(ReferenceTest, AnyCallableIsAReferenceAndMayChange) {
  const std::string counting =
      "class Times:\n"
      "  __hash__ = None\n"  // Unhashable values are not cached.
      "  def __init__(self, by): self.by = by\n"
      "  def __call__(self, x): return x * self.by\n"
      "def reference(x):\n  return x\n"
      "def second(x, n):\n  global reference\n  reference = Times(n)\n  return 10 * x\n"
      "first = reference\n"
      "def reference(x):\n  global reference\n  reference = second\n  return first(x)\n";
  request_.integers = {{"n", 3}};
  const auto one = ask(counting), two = again(), three = again();
  ASSERT_TRUE(one && two && three);
  EXPECT_EQ(values<double>(three->outputs.at(0)), (Doubles{3, 6, 9}));
}

TEST_F(ReferenceTest, EmptyTensorsAndNumbersArePassedAndReturned) {
  request_.inputs = {{"x", DType::Float16, {0, 4}, 0}, {"s", DType::Float32, {}, 0}};
  request_.output_names = {"y", "t"};
  auto reply =
      ask("def reference(x, s):\n  assert x.shape == (0, 4) and s.shape == ()\n"
          "  return x, s + 1\n");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->outputs.at(0).shape, (Shape{0, 4}));
  EXPECT_EQ(values<double>(reply->outputs.at(1)), Doubles{2});
}

TEST_F(ReferenceTest, AScriptIsLoadedOnceAndAgainWhenItChanges) {
  auto count = "n = 0\ndef reference(x):\n  global n\n  n += 1\n  return n\n";
  ASSERT_TRUE(ask(count));
  auto second = again();
  ASSERT_TRUE(second);
  EXPECT_EQ(values<int64_t>(second->outputs.at(0)).at(0), 2);
  std::ofstream(request_.script) << "def reference(x):\n  return 40\n";
  auto changed = again();
  ASSERT_TRUE(changed);
  EXPECT_EQ(values<int64_t>(changed->outputs.at(0)).at(0), 40);
}

TEST_F(ReferenceTest, AChangedHelperModuleIsLoadedAnew) {
  std::filesystem::create_directories(folder_ + "/parts");
  write_script("parts/inner.py", "FACTOR = 2\n");
  write_script("outer.py", "from parts.inner import FACTOR\n");
  // Imports at the top and when it is called.
  auto first = ask("import outer\ndef reference(x):\n  import lazy\n  return [outer.FACTOR]\n");
  EXPECT_FALSE(first);
  write_script("lazy.py", "");
  for (const int factor : {3, 4, 5}) {
    write_script("parts/inner.py", "FACTOR = " + std::to_string(factor) + "\n");
    auto reply = again();
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(values<int64_t>(reply->outputs.at(0)).at(0), factor);
  }
}

TEST_F(ReferenceTest, AHelperOfTheSameNameInAnotherFolderIsAnotherModule) {
  const std::string script = "import common\ndef reference(x):\n  return [common.VALUE]\n";
  for (const std::string folder : {"a", "b"}) {
    std::filesystem::create_directories(folder_ + "/" + folder);
    write_script(folder + "/common.py", "VALUE = '" + folder + "' == 'b'\n");
    write_script(folder + "/script.py", script);
  }
  for (int round = 0; round < 2; ++round) {
    for (const std::string folder : {"a", "b"}) {
      request_.script = folder_ + "/" + folder + "/script.py";
      auto reply = again();
      ASSERT_TRUE(reply) << reply.error().message;
      EXPECT_EQ(values<uint8_t>(reply->outputs.at(0)).at(0), folder == "b" ? 1 : 0);
    }
  }
}

TEST_F(ReferenceTest, AHelperKeepsItsStateBetweenCases) {
  // A new one: the deleted helpers of other tests would end it between the two cases.
  process_ = std::make_unique<ReferenceProcess>(ReferenceOptions{"/usr/bin/python3", "/"}, arena_);
  write_script("counter.py", "calls = 0\n");
  const std::string script =
      "import counter\ndef reference(x):\n  counter.calls += 1\n  return [counter.calls]\n";
  ASSERT_TRUE(ask(script));
  auto second = again();
  ASSERT_TRUE(second);
  EXPECT_EQ(values<int64_t>(second->outputs.at(0)).at(0), 2);
}

TEST_F(ReferenceTest, TheInterpreterStaysWarm) {
  // A new one: helpers that scripts of other tests have loaded are deleted, which ends it at its
  // next look.
  process_ = std::make_unique<ReferenceProcess>(ReferenceOptions{"/usr/bin/python3", "/"}, arena_);
  expect_alive();
  const int pid = process_->pid();
  failure_of("def reference(x):\n  return 1 / 0\n");
  failure_of("def reference(x):\n  return reference(x)\n");
  EXPECT_EQ(process_->pid(), pid);
}

TEST_F(ReferenceTest, AnExceptionCarriesScriptLineAndWhatWasPrinted) {
  const Error why =
      failure_of("import sys\ndef reference(x):\n  print('hint')\n  return x.no_such\n");
  EXPECT_EQ(why.code, ErrorCode::Compile);
  for (const char* part : {".py raised AttributeError: ", "(line 4)\n", "hint", "no_such"}) {
    EXPECT_NE(why.message.find(part), std::string::npos) << part << " in " << why.message;
  }
  EXPECT_EQ(why.message.find("function_form"), std::string::npos) << why.message;
}

TEST_F(ReferenceTest, InputsCannotBeModified) {
  const Error why = failure_of("def reference(x):\n  x += 1\n  return x\n");
  EXPECT_NE(why.message.find("read-only"), std::string::npos) << why.message;
  auto reply = ask("RAW = True\ndef reference(x):\n  x.setflags(write=True)\n");
  EXPECT_FALSE(reply);
}

TEST_F(ReferenceTest, AHangingScriptIsKilledAndTheProcessStartsAgain) {
  request_.timeout_ms = 50;
  const Error why = failure_of("def reference(x):\n  while True: pass\n");
  EXPECT_EQ(why.code, ErrorCode::Timeout);
  EXPECT_NE(why.message.find(".py: did not answer within 50 ms"), std::string::npos) << why.message;
}

struct Misbehaviour {
  const char* name;
  const char* body;
  const char* message;
};
class FunctionMisbehaviour : public ReferenceTest,
                             public testing::WithParamInterface<Misbehaviour> {};

TEST_P(FunctionMisbehaviour, LosesOneCaseOnly) {
  const Error why = failure_of(GetParam().body);
  EXPECT_EQ(why.code, ErrorCode::Compile) << name_of(why.code);
  EXPECT_NE(why.message.find(GetParam().message), std::string::npos) << why.message;
  EXPECT_NE(why.message.find(request_.script.substr(0, 20)), std::string::npos) << why.message;
}

INSTANTIATE_TEST_SUITE_P(
    All, FunctionMisbehaviour,
    testing::Values(
        Misbehaviour{"SysExit", "import sys\ndef reference(x):\n  sys.exit(3)\n", "sys.exit(3)"},
        Misbehaviour{"OsExit", "import os\ndef reference(x):\n  os._exit(3)\n", "exit code 3"},
        Misbehaviour{"Segfault", "import ctypes\ndef reference(x):\n  ctypes.string_at(0)\n",
                     "signal 11"},
        Misbehaviour{"Recursion", "def reference(x):\n  return reference(x)\n", "RecursionError"},
        Misbehaviour{"Syntax", "def reference(x:\n", "does not parse"},
        Misbehaviour{"ImportFails", "import no_such_module\ndef reference(x): pass\n",
                     "no_such_module"},
        Misbehaviour{"Nothing", "def reference(x): pass\n", "returned None"},
        Misbehaviour{"Objects", "def reference(x): return {'y': object()}\n", "dtype object"},
        Misbehaviour{"ClosesTheSocket",
                     "import os\ndef reference(x):\n  os.close(103)\n  return x\n", "ended"},
        Misbehaviour{"Garbage",
                     "import os\ndef reference(x):\n  os.write(103, b'garbage\\n')\n  return x\n",
                     "do not begin a frame"},
        Misbehaviour{"TooLarge",
                     "import numpy as np\ndef reference(x): return np.zeros((1 << 20, 1 << 12))\n",
                     "(1048576, 4096)"},
        Misbehaviour{"NotAFunction", "reference = 3\n", "not a function"}),
    [](const auto& chosen) { return chosen.param.name; });

TEST_F(ReferenceTest, AScriptThatForksDoesNotAnswerTwice) {
  auto reply = ask("import os\ndef reference(x):\n  os.fork()\n  return x\n");
  ASSERT_TRUE(reply) << reply.error().message;
  expect_alive();
}

TEST_F(ReferenceTest, AScriptThatChangesTheMemoryLimitChangesItForNoOther) {
  const std::string limit =
      "import resource\n"
      "def reference(x):\n"
      "  soft, hard = resource.getrlimit(resource.RLIMIT_DATA)\n";
  auto reply = ask(limit +
                   "  resource.setrlimit(resource.RLIMIT_DATA, (1 << 33, hard))\n"
                   "  return x\n");
  ASSERT_TRUE(reply) << reply.error().message;
  reply = ask(limit +
              "  if soft == 1 << 33: raise ValueError('the limit of another script')\n"
              "  return x\n");
  EXPECT_TRUE(reply) << reply.error().message;
}

TEST_F(ReferenceTest, AMissingInterpreterIsUnavailableWithARemedy) {
  ReferenceProcess process({"/no/such/python3", folder_}, arena_);
  const Status begun = process.begin(request_);
  ASSERT_FALSE(begun);
  EXPECT_EQ(begun.error().code, ErrorCode::Unavailable);
  EXPECT_NE(begun.error().message.find("[runtime].python"), std::string::npos);
}

TEST_F(ReferenceTest, AnInterpreterWithoutNumpyIsUnavailableWithARemedy) {
  const std::string python = write_script("python", "#!/bin/sh\nexec /usr/bin/python3 -S \"$@\"\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  ReferenceProcess process({python, folder_}, arena_);
  ASSERT_TRUE(process.begin(request_));
  auto reply = process.finish();
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().code, ErrorCode::Unavailable);
  EXPECT_NE(reply.error().message.find("install numpy"), std::string::npos)
      << reply.error().message;
}

TEST_F(ReferenceTest, AnErrorCarriesNothingThatAnotherScriptWrote) {
  ASSERT_TRUE(ask("import os\ndef reference(x):\n  os.write(1, b'of another')\n  return x\n"));
  request_.timeout_ms = 200;
  const auto slow =
      ask("import os, time\ndef reference(x):\n  os.write(2, b'of its own')\n  time.sleep(60)\n");
  ASSERT_FALSE(slow);
  EXPECT_EQ(slow.error().message.find("of another"), std::string::npos) << slow.error().message;
  EXPECT_NE(slow.error().message.find("of its own"), std::string::npos) << slow.error().message;
}

TEST_F(ReferenceTest, AProcessKilledBetweenCasesIsReplaced) {
  expect_alive();
  ::kill(process_->pid(), SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(process_->pid()), &info, WEXITED | WNOWAIT), 0);
  expect_alive();
}

}  // namespace
}  // namespace gpuemu
