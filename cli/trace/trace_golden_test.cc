// Compares every format of one trace with tests/golden/traces. GPUEMU_GOLDEN_UPDATE=1 updates the
// files.
#include <cstdlib>

#include <gtest/gtest.h>

#include "cli/trace/plan.h"
#include "cli/trace/render.h"
#include "common/base/files.h"
#include "runtime/tape/trace_json.h"

namespace gpuemu::cli {
namespace {

constexpr size_t kGoldenBytesMax = 1 << 20;

std::string path_of(const std::string& name) {
  return std::string(GPUEMU_SOURCE_DIR) + "/tests/golden/traces/" + name;
}

void expect_golden(const std::string& name, const std::string& text) {
  if (std::getenv("GPUEMU_GOLDEN_UPDATE") != nullptr) {
    ASSERT_TRUE(write_file(path_of(name), text)) << name;
    return;
  }
  const auto golden = read_file(path_of(name), kGoldenBytesMax);
  ASSERT_TRUE(golden) << golden.error().message;
  EXPECT_EQ(text, *golden) << name << "; GPUEMU_GOLDEN_UPDATE=1 writes it anew";
}

tape::Trace planned() {
  const auto json = read_file(path_of("tape.json"), kGoldenBytesMax);
  EXPECT_TRUE(json) << json.error().message;
  auto trace = plan_tape(*json, {});
  EXPECT_TRUE(trace) << trace.error().message;
  trace->gpuemu = "VERSION";
  return *std::move(trace);
}

std::string problem_of(const std::string& json) {
  const auto trace = plan_tape(json, {});
  return trace ? "" : trace.error().message;
}

TEST(Traces, LookAsTheyDid) {
  const tape::Trace trace = planned();
  EXPECT_GT(trace.totals.moves, 0U);
  EXPECT_GT(trace.totals.spills, 0U);
  expect_golden("trace.json", tape::encode_trace(trace) + "\n");
  expect_golden("trace.txt", trace_text(trace));
  expect_golden("trace.chrome.json", trace_chrome(trace));
  expect_golden("trace.html", trace_html(trace));
}

TEST(Traces, EscapeNamesInPages) {
  const auto trace =
      plan_tape(R"({"input_tape":[{"id":"<b>&","op":"ones","shape":[1],"session":"\"x\""}]})", {});
  ASSERT_TRUE(trace);
  const std::string page = trace_html(*trace);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_NE(page.find("&lt;b&gt;&amp;"), std::string::npos);
}

TEST(Plans, RefuseWhatNoTapeHas) {
  EXPECT_EQ(problem_of(R"({"input_tape":[{"id":"a","op":"matmull","shape":[1]}]})"),
            "entry 0 of the tape (a = matmull): gpuemu has no op 'matmull'; `gpuemu kernels` lists "
            "the ops, and a tape also has randn, ones, tensor, fetch and drop");
  EXPECT_EQ(problem_of(R"({"input_tape":[{"id":"a","op":"matmul","shape":[1]}]})"),
            "entry 0 of the tape (a = matmul): matmul needs inputs, got none");
  EXPECT_EQ(problem_of(R"({"input_tape":[{"id":"a","op":"ones","shape":[1]},)"
                       R"({"id":"b","op":"ones","shape":[1],"inputs":["a"]}]})"),
            "entry 1 of the tape (b = ones): ones has no inputs, got 1");
}

}  // namespace
}  // namespace gpuemu::cli
