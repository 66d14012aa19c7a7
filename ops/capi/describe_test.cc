// Tests what the library reports about itself, its devices, its ops and their use by a program.
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "ops/capi/op_call.h"

namespace {

using Json = nlohmann::json;

/// The text of a function with (to, room, bytes), asked for twice: for its size, then for itself.
template <typename F, typename... Arguments>
std::string text_of(F function, Arguments... arguments) {
  size_t bytes = 0;
  EXPECT_EQ(function(arguments..., nullptr, 0, &bytes), GPUEMU_RESOURCE_EXHAUSTED);
  std::string text(bytes, '?');
  EXPECT_EQ(function(arguments..., text.data(), bytes - 1, &bytes), GPUEMU_RESOURCE_EXHAUSTED);
  EXPECT_EQ(text[0], '?') << "nothing is written when there is too little room";
  EXPECT_EQ(function(arguments..., text.data(), bytes, &bytes), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(text.back(), '\0');
  text.pop_back();
  return text;
}

constexpr int64_t kRows = 2, kColumns = 4;
constexpr size_t kBytes = kRows * kColumns * sizeof(float);

class Described : public testing::Test {
 protected:
  void SetUp() override {
    gpuemu_options options{};
    options.struct_bytes = sizeof options;
    options.backend = "emulator";
    options.threads = 1;
    ASSERT_EQ(gpuemu_context_create(&options, &context_), GPUEMU_OK) << gpuemu_last_error();
    ASSERT_EQ(gpuemu_op_find(context_, "softmax", &call_.op), GPUEMU_OK);
    for (size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(gpuemu_memory_allocate_named(context_, GPUEMU_MEMORY_DEVICE, kBytes, 0,
                                             i == 0 ? "x" : "y", &memory_[i]),
                GPUEMU_OK);
      tensors_[i] = {memory_[i], GPUEMU_FLOAT32, 2, shape_.data(), nullptr};
    }
    ASSERT_EQ(gpuemu_memory_fill(context_, memory_[0], 0, kBytes, 0), GPUEMU_OK);
    call_.struct_bytes = sizeof call_;
    call_.inputs = tensors_.data();
    call_.outputs = tensors_.data() + 1;
    call_.input_count = call_.output_count = 1;
  }
  void TearDown() override { gpuemu_context_destroy(context_); }

  gpuemu_memory_statistics statistics() {
    gpuemu_memory_statistics told{};
    told.struct_bytes = sizeof told;
    EXPECT_EQ(gpuemu_memory_statistics_get(context_, &told), GPUEMU_OK) << gpuemu_last_error();
    return told;
  }

  const std::array<int64_t, 2> shape_ = {kRows, kColumns};
  gpuemu_context* context_ = nullptr;
  std::array<void*, 2> memory_{};
  std::array<gpuemu_tensor, 2> tensors_{};
  gpuemu_call call_{};
};

TEST(Library, TellsItsVersionAndWhatItFound) {
  const Json versions = Json::parse(text_of(gpuemu_versions_json));
  EXPECT_EQ(versions["library"], gpuemu_version());
  EXPECT_STREQ(gpuemu_version(), "1.1.0") << "it grows with the interface";
  EXPECT_EQ(versions["abi"], 2);
  for (const char* name : {"driver", "cuda_runtime", "cupti", "cublas"}) {
    EXPECT_TRUE(versions[name].is_string()) << name;
  }
}

TEST(Library, KnowsEachDtype) {
  ASSERT_EQ(gpuemu_dtype_count(), 13U);
  const char* name = nullptr;
  uint32_t bytes = 0;
  EXPECT_EQ(gpuemu_dtype_name(GPUEMU_BFLOAT16, &name), GPUEMU_OK);
  EXPECT_STREQ(name, "bfloat16");
  EXPECT_EQ(gpuemu_dtype_bytes(GPUEMU_INT64, &bytes), GPUEMU_OK);
  EXPECT_EQ(bytes, 8U);
  EXPECT_EQ(gpuemu_dtype_name(13, &name), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(gpuemu_dtype_bytes(-1, &bytes), GPUEMU_INVALID_ARGUMENT);
}

TEST(Library, ListsDevicesWithoutOpeningThem) {
  ASSERT_EQ(setenv("GPUEMU_EMULATED_DEVICES", "sm_75, sm_90:16384", 1), 0);
  uint32_t count = 0;
  EXPECT_EQ(gpuemu_device_count("emulator", &count), GPUEMU_OK);
  EXPECT_EQ(count, 2U);
  gpuemu_device_info info{};
  info.struct_bytes = sizeof info;
  EXPECT_EQ(gpuemu_device_at("emulator", 1, &info), GPUEMU_OK);
  EXPECT_EQ(info.sm, 90);
  EXPECT_EQ(info.index, 1U);
  EXPECT_EQ(info.memory_bytes, uint64_t{16} << 30);
  EXPECT_NE(info.dtypes & (1U << GPUEMU_BFLOAT16), 0U);
  EXPECT_EQ(gpuemu_device_at("emulator", 2, &info), GPUEMU_NOT_FOUND);
  EXPECT_EQ(gpuemu_device_count("abacus", &count), GPUEMU_INVALID_ARGUMENT);
  ASSERT_EQ(unsetenv("GPUEMU_EMULATED_DEVICES"), 0);
}

TEST_F(Described, ADeviceGivesNoMoreThanTheCallerHasRoomFor) {
  gpuemu_device_info info{};
  info.struct_bytes = offsetof(gpuemu_device_info, memory_free_bytes);
  info.index = 77;
  EXPECT_EQ(gpuemu_context_device(context_, &info), GPUEMU_OK);
  EXPECT_EQ(info.is_emulator, 1U);
  EXPECT_EQ(info.index, 77U) << "the first version of the header has no such member";
}

TEST_F(Described, AnOpTellsOperandsSchemaAndVariantsInTheOrderOfTrying) {
  const Json op = Json::parse(text_of(gpuemu_op_json, context_, call_.op));
  EXPECT_EQ(op["name"], "softmax");
  EXPECT_EQ(op["inputs"][0]["name"], "x");
  EXPECT_GE(op["variants"].size(), 2U);
  EXPECT_EQ(op["variants"][0]["origin"], "builtin");
  EXPECT_EQ(op["variants"][0]["types"]["T"][0], "float32");
  uint32_t number = 0;
  ASSERT_EQ(gpuemu_op_find(context_, "rmsnorm", &number), GPUEMU_OK);
  const Json norm = Json::parse(text_of(gpuemu_op_json, context_, number));
  EXPECT_EQ(norm["schema"]["fields"][0]["name"], "eps");
  size_t bytes = 0;
  EXPECT_EQ(gpuemu_op_json(context_, 0, nullptr, 0, &bytes), GPUEMU_NOT_FOUND);
}

TEST_F(Described, ACallMayNameItsVariant) {
  gpuemu_log log = 0;
  ASSERT_EQ(gpuemu_log_start(context_, 0, 1, &log), GPUEMU_OK);
  const Json op = Json::parse(text_of(gpuemu_op_json, context_, call_.op));
  const std::string last = op["variants"].back()["name"];
  call_.variant = last.c_str();
  EXPECT_EQ(gpuemu_op_call(context_, &call_), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(gpuemu_op_call(context_, &call_), GPUEMU_OK);
  const Json told = Json::parse(text_of(gpuemu_log_json, context_, log));
  ASSERT_EQ(told["records"].size(), 1U);
  EXPECT_EQ(told["dropped"], 1);
  const Json& record = told["records"][0];
  EXPECT_EQ(record["variant"], last);
  EXPECT_EQ(record["inputs"], Json::parse("[[2, 4]]"));
  EXPECT_EQ(record["dtypes"]["T"], "float32");
  EXPECT_TRUE(record["microseconds"].is_null());
  EXPECT_EQ(gpuemu_log_stop(context_, log), GPUEMU_OK);
  EXPECT_EQ(gpuemu_log_stop(context_, log), GPUEMU_INVALID_ARGUMENT);
  call_.variant = "abacus";
  EXPECT_EQ(gpuemu_op_call(context_, &call_), GPUEMU_NOT_FOUND);
  EXPECT_NE(std::string(gpuemu_last_error()).find(last), std::string::npos);
}

TEST_F(Described, LogsWithTimesAndWithoutRunTogether) {
  gpuemu_log timed = 0, plain = 0;
  ASSERT_EQ(gpuemu_log_start(context_, 1, 10, &timed), GPUEMU_OK);
  ASSERT_EQ(gpuemu_log_start(context_, 0, 10, &plain), GPUEMU_OK);
  EXPECT_EQ(gpuemu_op_call(context_, &call_), GPUEMU_OK);
  const Json of_timed = Json::parse(text_of(gpuemu_log_json, context_, timed));
  const Json of_plain = Json::parse(text_of(gpuemu_log_json, context_, plain));
  EXPECT_GT(of_timed["records"][0]["microseconds"], 0.0);
  EXPECT_TRUE(of_plain["records"][0]["microseconds"].is_null());
}

TEST_F(Described, PreparingLaunchesNothing) {
  EXPECT_EQ(gpuemu_op_prepare(context_, &call_), GPUEMU_OK) << gpuemu_last_error();
  std::array<float, kRows * kColumns> out{};
  ASSERT_EQ(gpuemu_memory_fill(context_, memory_[1], 0, kBytes, 0), GPUEMU_OK);
  ASSERT_EQ(gpuemu_memory_download(context_, out.data(), memory_[1], kBytes, 0), GPUEMU_OK);
  ASSERT_EQ(gpuemu_context_synchronize(context_), GPUEMU_OK);
  EXPECT_EQ(out[0], 0.0F);
  tensors_[0].rank = 9;
  EXPECT_EQ(gpuemu_op_prepare(context_, &call_), GPUEMU_INVALID_ARGUMENT);
}

TEST_F(Described, ThePolicyIsReadAndReplaced) {
  EXPECT_EQ(text_of(gpuemu_policy_json, context_), R"({"prefer":{},"strategy":"first_supported"})");
  EXPECT_EQ(gpuemu_policy_set(context_, R"({"prefer": {"softmax": "block_per_row"}})"), GPUEMU_OK);
  const std::string set = text_of(gpuemu_policy_json, context_);
  EXPECT_EQ(set, R"({"prefer":{"softmax":"block_per_row"},"strategy":"first_supported"})");
  EXPECT_EQ(gpuemu_policy_set(context_, R"({"prefer": {"softmax": "abacus"}})"),
            GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(text_of(gpuemu_policy_json, context_), set)
      << "a policy that is refused changes nothing";
}

TEST_F(Described, StatisticsFollowEachKindOfMemory) {
  const gpuemu_memory_statistics before = statistics();
  void *device = nullptr, *pinned = nullptr, *managed = nullptr;
  ASSERT_EQ(gpuemu_memory_allocate_named(context_, GPUEMU_MEMORY_DEVICE, 1000, 0, "w", &device),
            GPUEMU_OK);
  ASSERT_EQ(gpuemu_memory_allocate_named(context_, GPUEMU_MEMORY_PINNED, 100, 0, "p", &pinned),
            GPUEMU_OK);
  ASSERT_EQ(gpuemu_memory_allocate_named(context_, GPUEMU_MEMORY_MANAGED, 10, 0, "m", &managed),
            GPUEMU_OK);
  EXPECT_EQ(gpuemu_memory_allocate_named(context_, 3, 10, 0, "", &managed),
            GPUEMU_INVALID_ARGUMENT);
  const gpuemu_memory_statistics now = statistics();
  EXPECT_EQ(now.requested_bytes, before.requested_bytes + 1000);
  EXPECT_EQ(now.pinned_bytes, 100U);
  EXPECT_EQ(now.managed_bytes, 10U);
  EXPECT_EQ(now.live, before.live + 3);
  EXPECT_EQ(Json::parse(text_of(gpuemu_memory_largest_json, context_, 1U)),
            Json::parse(R"([["w", 1000]])"));
  for (void* one : {device, pinned, managed}) {
    EXPECT_EQ(gpuemu_memory_free(context_, one), GPUEMU_OK) << gpuemu_last_error();
  }
  const gpuemu_memory_statistics after = statistics();
  EXPECT_EQ(after.requested_bytes, before.requested_bytes);
  EXPECT_EQ(after.live, after.allocations - after.frees);
  EXPECT_EQ(after.peak_requested_bytes, before.requested_bytes + 1000);
  EXPECT_EQ(gpuemu_memory_reset_peaks(context_), GPUEMU_OK);
  EXPECT_EQ(statistics().peak_requested_bytes, before.requested_bytes);
}

TEST_F(Described, AProfileTellsOfMemoryToo) {
  size_t bytes = 0;
  EXPECT_EQ(gpuemu_profile_json(context_, nullptr, 0, &bytes), GPUEMU_NOT_FOUND);
  ASSERT_EQ(gpuemu_profile_start(context_, 0), GPUEMU_OK);
  void* inside = nullptr;
  ASSERT_EQ(gpuemu_memory_allocate_named(context_, GPUEMU_MEMORY_DEVICE, 64, 0, "inside", &inside),
            GPUEMU_OK);
  EXPECT_EQ(gpuemu_op_call(context_, &call_), GPUEMU_OK);
  ASSERT_EQ(gpuemu_memory_free(context_, inside), GPUEMU_OK);
  ASSERT_EQ(gpuemu_profile_stop(context_, nullptr, nullptr), GPUEMU_OK);
  const Json profile = Json::parse(text_of(gpuemu_profile_json, context_));
  EXPECT_EQ(profile["ops"][0]["name"], "softmax");
  EXPECT_EQ(profile["memory"]["peak_requested_bytes"], 2 * kBytes + 64);
  EXPECT_EQ(profile["memory"]["by_name"]["inside"], 64);
  EXPECT_EQ(profile["memory"]["allocations"], 1);
  EXPECT_EQ(profile["memory"]["frees"], 1);
}

TEST_F(Described, FindingsAreToldOnceUnlessThereWasNoRoom) {
  void* unwritten = nullptr;
  ASSERT_EQ(gpuemu_memory_allocate_named(context_, GPUEMU_MEMORY_DEVICE, kBytes, 0, "unwritten",
                                         &unwritten),
            GPUEMU_OK);
  tensors_[0].data = unwritten;
  ASSERT_EQ(gpuemu_op_call(context_, &call_), GPUEMU_OK);
  ASSERT_EQ(gpuemu_context_synchronize(context_), GPUEMU_OK) << gpuemu_last_error();
  const Json findings = Json::parse(text_of(gpuemu_findings_json, context_));
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0]["kind"], "uninitialized");
  EXPECT_FALSE(findings[0]["is_note"]);
  EXPECT_EQ(text_of(gpuemu_findings_json, context_), "[]");
  ASSERT_EQ(gpuemu_checks_set(context_, "memory,race"), GPUEMU_OK);
  ASSERT_EQ(gpuemu_op_call(context_, &call_), GPUEMU_OK);
  ASSERT_EQ(gpuemu_context_synchronize(context_), GPUEMU_OK);
  EXPECT_EQ(text_of(gpuemu_findings_json, context_), "[]") << "init is not checked any more";
  EXPECT_EQ(gpuemu_checks_set(context_, "abacus"), GPUEMU_INVALID_ARGUMENT);
}

TEST_F(Described, AGraphKnowsItsNodes) {
  gpuemu_stream stream = 0;
  gpuemu_graph graph = 0;
  uint64_t nodes = 0;
  uint32_t done = 0;
  ASSERT_EQ(gpuemu_stream_create(context_, 0, 1, &stream), GPUEMU_OK);
  EXPECT_EQ(gpuemu_stream_query(context_, stream, &done), GPUEMU_OK);
  EXPECT_EQ(done, 1U);
  call_.stream = stream;
  ASSERT_EQ(gpuemu_capture_begin(context_, stream), GPUEMU_OK);
  ASSERT_EQ(gpuemu_op_call(context_, &call_), GPUEMU_OK) << gpuemu_last_error();
  ASSERT_EQ(gpuemu_capture_end(context_, stream, &graph), GPUEMU_OK);
  EXPECT_EQ(gpuemu_graph_nodes(context_, graph, &nodes), GPUEMU_OK);
  EXPECT_EQ(nodes, 1U);
  EXPECT_EQ(gpuemu_graph_destroy(context_, graph), GPUEMU_OK);
  EXPECT_EQ(gpuemu_graph_nodes(context_, graph, &nodes), GPUEMU_INVALID_ARGUMENT);
}

TEST_F(Described, AGraphGivesItsWorkspacesBack) {
  uint64_t free_before = 0, free_after = 0, total = 0;
  gpuemu_stream stream = 0;
  ASSERT_EQ(gpuemu_stream_create(context_, 0, 1, &stream), GPUEMU_OK);
  const int64_t count = 1 << 16;
  void *x = nullptr, *y = nullptr;
  ASSERT_EQ(gpuemu_memory_allocate(context_, count * 4, &x), GPUEMU_OK);
  ASSERT_EQ(gpuemu_memory_allocate(context_, 4, &y), GPUEMU_OK);
  gpuemu_tensor inputs[2] = {{x, GPUEMU_FLOAT32, 1, &count, nullptr},
                             {x, GPUEMU_FLOAT32, 1, &count, nullptr}};
  gpuemu_tensor output = {y, GPUEMU_FLOAT32, 0, nullptr, nullptr};
  gpuemu_call call = call_;
  ASSERT_EQ(gpuemu_op_find(context_, "mse", &call.op), GPUEMU_OK);
  call.inputs = inputs;
  call.input_count = 2;
  call.outputs = &output;
  call.stream = stream;
  ASSERT_EQ(gpuemu_memory_info(context_, &free_before, &total), GPUEMU_OK);
  for (int i = 0; i < 3; ++i) {
    gpuemu_graph graph = 0;
    ASSERT_EQ(gpuemu_capture_begin(context_, stream), GPUEMU_OK);
    ASSERT_EQ(gpuemu_op_call(context_, &call), GPUEMU_OK) << gpuemu_last_error();
    uint64_t inside = 0;
    ASSERT_EQ(gpuemu_memory_info(context_, &inside, &total), GPUEMU_OK);
    EXPECT_LT(inside, free_before) << "mse has a workspace of its own in a capture";
    ASSERT_EQ(gpuemu_capture_end(context_, stream, &graph), GPUEMU_OK);
    ASSERT_EQ(gpuemu_graph_destroy(context_, graph), GPUEMU_OK);
    ASSERT_EQ(gpuemu_memory_info(context_, &free_after, &total), GPUEMU_OK);
    EXPECT_EQ(free_after, free_before);
  }
}

}  // namespace
