#include "runtime/tape/trace_json.h"

#include "runtime/tape/test_tapes.h"

namespace gpuemu::tape {
namespace {

std::string plan_problem(const std::string& json) {
  const auto plan = decode_plan(json);
  return plan ? "" : plan.error().message;
}

TEST(TraceJson, ReadsBackWhatItWrote) {
  const Trace trace = scheduled({leaf("a", 40), leaf("b", 40), op("c", "relu", {"a"}, 40),
                                 op("d", "add", {"a", "b"}, 20), drop("a"), fetch("d")},
                                {.devices = devices(2, 100), .seed = 3});
  const auto again = decode_trace(encode_trace(trace));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, trace);
}

TEST(TraceJson, HasTheFormsOfTheDocumentation) {
  Trace trace{.gpuemu = "1.1.0"};
  trace.devices = {{.name = "emulated", .worker_id = "local-0"}};
  trace.input_tape = {op("t7", "matmul", {"t3", "t4"}), fetch("t7")};
  trace.output_queue = {
      {.pos = 9, .seq = 7, .session = "alice", .id = "t7", .device = 1, .needs = {3, 8}}};
  trace.ticks = {{.tick = 4,
                  .time_us = 120,
                  .started = {9},
                  .ended = {8},
                  .busy = {std::nullopt, 9},
                  .waiting = 2}};
  EXPECT_EQ(
      encode_trace(trace),
      R"({"format":"gpuemu-trace","version":1,"gpuemu":"1.1.0","seed":0,"policy":"balanced",)"
      R"("simulated":true,"devices":[{"index":0,"name":"emulated","worker_id":"local-0",)"
      R"("memory_bytes":0,"latency_us":10,"bytes_per_us":10000}],"sessions":[],"input_tape":[)"
      R"({"seq":0,"session":"alice","id":"t7","op":"matmul","inputs":["t3","t4"],"shape":[16],)"
      R"("dtype":"float32","attrs":{},"bytes":64,"cost_us":5,"at":0},)"
      R"({"seq":0,"session":"alice","op":"fetch","inputs":["t7"],"attrs":{},"bytes":0,)"
      R"("cost_us":0,"at":0}],"output_queue":[{"pos":9,"kind":"run","seq":7,"session":"alice",)"
      R"("id":"t7","device":1,"needs":[3,8]}],"handles":[],"ticks":[{"tick":4,"time_us":120,)"
      R"("started":[9],"ended":[8],"busy":{"0":null,"1":9},"waiting":2}],"totals":{"ops":0,)"
      R"("moves":0,"moved_bytes":0,"spills":0,"makespan_us":0}})");
}

TEST(TraceJson, NamesTheMemberThatIsWrong) {
  EXPECT_EQ(plan_problem("[1"), "this is not JSON");
  EXPECT_EQ(plan_problem("{}"),
            "this is not a plan: expected an object with a list \"input_tape\"");
  EXPECT_EQ(plan_problem(R"({"input_tape":[{"id":"a"}]})"),
            "input_tape[0]: member 'op' is missing, expected the name of an op");
  EXPECT_EQ(plan_problem(R"({"input_tape":[{"id":"a","op":"ones","shape":[-1]}]})"),
            "input_tape[0]: member 'shape': expected a list of whole numbers from 0, got [-1]");
  EXPECT_EQ(plan_problem(R"({"input_tape":[{"id":"a","op":"ones","shape":[1],"dtype":"f7"}]})"),
            "input_tape[0]: member 'dtype': expected a known name, got \"f7\"");
  EXPECT_EQ(plan_problem(R"({"input_tape":[],"devices":[{"bytes_per_us":0}]})"),
            "devices[0]: member 'bytes_per_us': expected a finite number from 0, got 0");
  EXPECT_EQ(plan_problem(std::string(100, '[')), "the JSON nests deeper than 64 levels");
  EXPECT_EQ(decode_trace("{}").error().message,
            "this is not a trace: expected \"format\": \"gpuemu-trace\"");
  EXPECT_EQ(decode_trace(R"({"format":"gpuemu-trace","version":2})").error().message,
            "the trace has version 2, this gpuemu reads 1");
}

}  // namespace
}  // namespace gpuemu::tape
