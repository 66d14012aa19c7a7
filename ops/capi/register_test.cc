// Ops and kernels of a caller: chosen, preferred, replayed, removed, and refused with a reason.
#include <array>
#include <cstring>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "ops/capi/op_call.h"

namespace {

/// y = k x for each element: the factor is an argument, the tail is guarded.
constexpr char kScale[] = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 from, .param .u64 to, .param .u32 n, .param .f32 k) {
  .reg .pred %p;
  .reg .b32 %r<6>;
  .reg .f32 %f<3>;
  .reg .b64 %d<5>;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mad.lo.u32 %r4, %r1, %r2, %r3;
  ld.param.u32 %r5, [n];
  setp.ge.u32 %p, %r4, %r5;
  @%p bra DONE;
  ld.param.u64 %d1, [from];
  ld.param.u64 %d2, [to];
  mul.wide.u32 %d3, %r4, 4;
  add.s64 %d1, %d1, %d3;
  add.s64 %d2, %d2, %d3;
  ld.global.f32 %f1, [%d1];
  ld.param.f32 %f2, [k];
  mul.f32 %f1, %f1, %f2;
  st.global.f32 [%d2], %f1;
DONE:
  ret;
}
)";
constexpr const char* kArgs[] = {"x", "y", "i32:x.count", "f32:2"};

class Registering : public testing::Test {
 protected:
  void SetUp() override {
    gpuemu_options options{};
    options.struct_bytes = sizeof options;
    options.backend = "emulator";
    options.threads = 1;
    ASSERT_EQ(gpuemu_context_create(&options, &context_), GPUEMU_OK) << gpuemu_last_error();
    for (gpuemu_tensor& one : tensors_) {
      one = {nullptr, GPUEMU_FLOAT32, 1, shape_.data(), nullptr};
      ASSERT_EQ(gpuemu_memory_allocate(context_, sizeof(float) * 5, &one.data), GPUEMU_OK);
    }
    const std::array<float, 5> values = {-2, -1, 0, 1, 2};
    ASSERT_EQ(gpuemu_memory_upload(context_, tensors_[0].data, values.data(), sizeof values, 0),
              GPUEMU_OK);
    ASSERT_EQ(gpuemu_stream_synchronize(context_, 0), GPUEMU_OK)
        << "the values are of this function";
    ASSERT_EQ(gpuemu_op_find(context_, "relu", &relu_), GPUEMU_OK);
    launch_.entry = "scale";
    launch_.grid[0] = "cdiv(x.count, 4)";
    launch_.block[0] = "4";
    launch_.args = kArgs;
    launch_.arg_count = 4;
    kernel_.struct_bytes = sizeof kernel_;
    kernel_.op = relu_;
    kernel_.name = "doubling";
    kernel_.source = kScale;
    kernel_.launches = &launch_;
    kernel_.launch_count = 1;
    kernel_.types = "T: float32";
  }
  void TearDown() override { gpuemu_context_destroy(context_); }

  gpuemu_call call_of(uint32_t op) {
    gpuemu_call call{};
    call.struct_bytes = sizeof call;
    call.op = op;
    call.inputs = tensors_.data();
    call.outputs = &tensors_[1];
    call.input_count = call.output_count = 1;
    return call;
  }
  float first(gpuemu_stream stream = 0) {
    float value = 0;
    EXPECT_EQ(gpuemu_memory_download(context_, &value, tensors_[1].data, sizeof value, stream),
              GPUEMU_OK);
    EXPECT_EQ(gpuemu_stream_synchronize(context_, stream), GPUEMU_OK) << gpuemu_last_error();
    return value;
  }
  /// The first element of relu, or of `kernel_` where that was chosen: 0 or -4.
  float relu() {
    const gpuemu_call call = call_of(relu_);
    EXPECT_EQ(gpuemu_op_call(context_, &call), GPUEMU_OK) << gpuemu_last_error();
    return first();
  }
  std::string refusal() {
    gpuemu_kernel kernel = 0;
    EXPECT_NE(gpuemu_kernel_register(context_, &kernel_, &kernel), GPUEMU_OK);
    EXPECT_EQ(kernel, 0U);
    return gpuemu_last_error();
  }
  nlohmann::json op_json(uint32_t op) {
    std::array<char, 16384> text{};
    size_t bytes = 0;
    EXPECT_EQ(gpuemu_op_json(context_, op, text.data(), text.size(), &bytes), GPUEMU_OK)
        << gpuemu_last_error();
    return nlohmann::json::parse(text.data());
  }

  /// Returns what op_json() says about a variant of relu.
  nlohmann::json variant_of_relu(const std::string& name) {
    const nlohmann::json told = op_json(relu_);
    for (const auto& one : told["variants"]) {
      if (one["name"] == name) return one;
    }
    ADD_FAILURE() << "relu has no variant '" << name << "'";
    return {};
  }

  gpuemu_context* context_ = nullptr;
  const std::array<int64_t, 1> shape_ = {5};
  std::array<gpuemu_tensor, 2> tensors_{};
  uint32_t relu_ = 0;
  gpuemu_launch_declaration launch_{};
  gpuemu_kernel_declaration kernel_{};
};

TEST_F(Registering, KernelsAreChosenByPriorityPolicyAndName) {
  gpuemu_kernel kernel = 0;
  ASSERT_EQ(gpuemu_kernel_register(context_, &kernel_, &kernel), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(relu(), 0) << "what comes with gpuemu goes first";
  ASSERT_EQ(gpuemu_policy_set(context_, R"({"prefer": {"relu": "doubling"}})"), GPUEMU_OK)
      << gpuemu_last_error();
  EXPECT_EQ(relu(), -4);
  ASSERT_EQ(gpuemu_policy_set(context_, "{}"), GPUEMU_OK);
  gpuemu_call call = call_of(relu_);
  call.variant = "doubling";
  ASSERT_EQ(gpuemu_op_call(context_, &call), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(first(), -4);
  EXPECT_EQ(variant_of_relu("doubling")["origin"], "registered");
  ASSERT_EQ(gpuemu_kernel_remove(context_, kernel), GPUEMU_OK);
  EXPECT_EQ(gpuemu_op_call(context_, &call), GPUEMU_NOT_FOUND);
  EXPECT_EQ(gpuemu_kernel_remove(context_, kernel), GPUEMU_INVALID_ARGUMENT);
  kernel_.priority = 5;
  ASSERT_EQ(gpuemu_kernel_register(context_, &kernel_, &kernel), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(relu(), -4);
}

TEST_F(Registering, SupportsDecidesByExpressionAndByCallback) {
  kernel_.priority = 5;
  kernel_.supports = "x.count % 2 == 0";
  gpuemu_kernel kernel = 0;
  ASSERT_EQ(gpuemu_kernel_register(context_, &kernel_, &kernel), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(relu(), 0);
  gpuemu_call call = call_of(relu_);
  call.variant = "doubling";
  ASSERT_EQ(gpuemu_op_call(context_, &call), GPUEMU_UNSUPPORTED);
  EXPECT_STREQ(
      gpuemu_last_error(),
      "relu: the variant 'doubling' does not compute this call: it needs x.count % 2 == 0");
  ASSERT_EQ(gpuemu_kernel_remove(context_, kernel), GPUEMU_OK);
  kernel_.supports = nullptr;
  kernel_.supports_call = [](void* user, const gpuemu_case* asked) -> const char* {
    ++*static_cast<int*>(user);
    return asked->inputs[0].shape[0] == 5 && asked->sm >= 50 ? nullptr : "it wants five";
  };
  int asked = 0;
  kernel_.user = &asked;
  ASSERT_EQ(gpuemu_kernel_register(context_, &kernel_, &kernel), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(relu(), -4);
  EXPECT_EQ(asked, 1);
}

TEST_F(Registering, PlanStandsForExpressions) {
  kernel_.priority = 5;
  launch_.arg_count = 0;
  kernel_.plan = [](void*, const gpuemu_case* asked, gpuemu_launch* launches) -> uint32_t {
    gpuemu_launch& one = launches[0];
    one.grid[0] = 2, one.grid[1] = one.grid[2] = 1;
    one.block[0] = 4, one.block[1] = one.block[2] = 1;
    one.arg_count = 4;
    const float k = 3;
    one.args[0] = reinterpret_cast<uint64_t>(asked->inputs[0].data);
    one.args[1] = reinterpret_cast<uint64_t>(asked->outputs[0].data);
    one.args[2] = 5;
    std::memcpy(&one.args[3], &k, sizeof k);
    one.arg_bytes[0] = one.arg_bytes[1] = 8;
    one.arg_bytes[2] = one.arg_bytes[3] = 4;
    return 1;
  };
  gpuemu_kernel kernel = 0;
  ASSERT_EQ(gpuemu_kernel_register(context_, &kernel_, &kernel), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(relu(), -6);
}

TEST_F(Registering, OpsOfTheirOwnHaveNumbersThatStay) {
  const char* const inputs[] = {"x: T"};
  const char* const outputs[] = {"y: T"};
  const gpuemu_field k = {"k", "float32", 2, 1};
  gpuemu_op_declaration declaration{};
  declaration.struct_bytes = sizeof declaration;
  declaration.name = "a_scale";
  declaration.inputs = inputs;
  declaration.outputs = outputs;
  declaration.fields = &k;
  declaration.input_count = declaration.output_count = declaration.field_count = 1;
  uint32_t op = 0, again = 0;
  ASSERT_EQ(gpuemu_op_register(context_, &declaration, &op), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(op, gpuemu_op_count(context_));
  ASSERT_EQ(gpuemu_op_find(context_, "relu", &again), GPUEMU_OK);
  EXPECT_EQ(again, relu_) << "numbers of other ops stay";
  EXPECT_EQ(gpuemu_op_register(context_, &declaration, &again), GPUEMU_INVALID_ARGUMENT);
  gpuemu_call call = call_of(op);
  ASSERT_EQ(gpuemu_op_call(context_, &call), GPUEMU_UNSUPPORTED);
  EXPECT_STREQ(gpuemu_last_error(), "a_scale: no variant computes this call: it has none");
  kernel_.op = op;
  const char* const args[] = {"x", "y", "i32:x.count", "f32:k"};
  launch_.args = args;
  gpuemu_kernel kernel = 0;
  ASSERT_EQ(gpuemu_kernel_register(context_, &kernel_, &kernel), GPUEMU_OK) << gpuemu_last_error();
  const float factor = 8;
  call.schema_id = op_json(op)["schema"]["id"];
  call.attributes = &factor;
  call.attribute_bytes = sizeof factor;
  ASSERT_EQ(gpuemu_op_call(context_, &call), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(first(), -16);
  ASSERT_EQ(gpuemu_op_remove(context_, op), GPUEMU_OK);
  EXPECT_EQ(gpuemu_op_name(context_, op), nullptr);
  EXPECT_EQ(gpuemu_op_call(context_, &call), GPUEMU_NOT_FOUND);
  EXPECT_EQ(gpuemu_kernel_remove(context_, kernel), GPUEMU_INVALID_ARGUMENT)
      << "its kernels go with it";
  EXPECT_EQ(gpuemu_op_remove(context_, relu_), GPUEMU_INVALID_ARGUMENT);
}

TEST_F(Registering, KernelsHaveAttributesOfTheirOwn) {
  const gpuemu_field k = {"k", "float32", 2, 1};
  const char* const args[] = {"x", "y", "i32:x.count", "f32:k"};
  launch_.args = args;
  kernel_.fields = &k;
  kernel_.field_count = 1;
  gpuemu_kernel kernel = 0;
  ASSERT_EQ(gpuemu_kernel_register(context_, &kernel_, &kernel), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(relu(), 0);
  gpuemu_call call = call_of(relu_);
  const float factor = 5;
  call.schema_id = variant_of_relu("doubling")["schema"]["id"];
  call.attributes = &factor;
  call.attribute_bytes = sizeof factor;
  ASSERT_EQ(gpuemu_op_call(context_, &call), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(first(), -10) << "the others have no such attribute";
  call.variant = "packets";
  EXPECT_EQ(gpuemu_op_call(context_, &call), GPUEMU_UNSUPPORTED);
  EXPECT_NE(std::string(gpuemu_last_error()).find("it has no attribute k"), std::string::npos)
      << gpuemu_last_error();
  call.variant = "doubling";
  call.schema_id = call.attribute_bytes = 0;
  ASSERT_EQ(gpuemu_op_call(context_, &call), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(first(), -4) << "the default";
}

TEST_F(Registering, CapturesSeeWhatWasThereAndKeepIt) {
  gpuemu_stream stream = 0;
  ASSERT_EQ(gpuemu_stream_create(context_, 0, 0, &stream), GPUEMU_OK);
  kernel_.priority = 5;
  gpuemu_kernel kernel = 0;
  gpuemu_graph before = 0, with = 0;
  gpuemu_call call = call_of(relu_);
  call.stream = stream;
  ASSERT_EQ(gpuemu_capture_begin(context_, stream), GPUEMU_OK);
  ASSERT_EQ(gpuemu_kernel_register(context_, &kernel_, &kernel), GPUEMU_OK) << gpuemu_last_error();
  ASSERT_EQ(gpuemu_op_call(context_, &call), GPUEMU_OK) << gpuemu_last_error();
  ASSERT_EQ(gpuemu_capture_end(context_, stream, &before), GPUEMU_OK);
  ASSERT_EQ(gpuemu_capture_begin(context_, stream), GPUEMU_OK);
  ASSERT_EQ(gpuemu_op_call(context_, &call), GPUEMU_OK) << gpuemu_last_error();
  ASSERT_EQ(gpuemu_capture_end(context_, stream, &with), GPUEMU_OK);
  ASSERT_EQ(gpuemu_kernel_remove(context_, kernel), GPUEMU_OK);
  ASSERT_EQ(gpuemu_graph_launch(context_, before, stream), GPUEMU_OK);
  EXPECT_EQ(first(stream), 0) << "registered after the capture began";
  ASSERT_EQ(gpuemu_graph_launch(context_, with, stream), GPUEMU_OK);
  EXPECT_EQ(first(stream), -4) << "removed after it was captured";
}

/// PTX of the entry scale with this instruction, which no thread executes.
std::string ptx_with(const std::string& version, const std::string& instruction) {
  return ".version " + version +
         "\n.target sm_80\n.address_size 64\n.visible .entry scale(.param .u64 x,\n"
         ".param .u64 y, .param .u32 n, .param .f32 f) {\n.reg .b32 %r<2>; ret;\n " +
         instruction + ";\n ret;\n}\n";
}

TEST_F(Registering, TakesInstructionsOfPtxThatTheEmulatorDoesNotExecute) {
  for (const std::string& source :
       {ptx_with("9.0", "vadd.s32.s32.s32 %r0, %r1, %r1"), ptx_with("9.9", "fabric.u32 %r0")}) {
    kernel_.source = source.c_str();
    gpuemu_kernel kernel = 0;
    ASSERT_EQ(gpuemu_kernel_register(context_, &kernel_, &kernel), GPUEMU_OK)
        << gpuemu_last_error();
    EXPECT_EQ(gpuemu_kernel_remove(context_, kernel), GPUEMU_OK);
  }
}

TEST_F(Registering, RefusesWhatIsWrongAndSaysWhat) {
  kernel_.name = "packets";
  EXPECT_EQ(refusal(), "op 'relu': there is a variant 'packets' already");
  kernel_.name = "doubling";
  launch_.arg_count = 3;
  EXPECT_EQ(refusal(), "relu, doubling: launches[0] has 3 args, the entry scale takes 4");
  launch_.arg_count = 4;
  launch_.entry = "scales";
  EXPECT_NE(refusal().find("scale"), std::string::npos);
  launch_.entry = "scale";
  kernel_.source = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry scale( {\n";
  gpuemu_kernel kernel = 0;
  EXPECT_EQ(gpuemu_kernel_register(context_, &kernel_, &kernel), GPUEMU_COMPILE)
      << gpuemu_last_error();
  EXPECT_NE(std::string(gpuemu_last_error()).find("doubling.ptx:4:"), std::string::npos)
      << gpuemu_last_error();
  const std::string unheard = ptx_with("7.0", "ad.s32 %r0, %r1, %r1");
  kernel_.source = unheard.c_str();
  EXPECT_EQ(refusal(),
            "relu, doubling: doubling.ptx:7:2: PTX has no instruction 'ad', up to .version 9.0");
  kernel_.source = nullptr;
  EXPECT_EQ(refusal(), "relu, doubling: the source is empty");
  kernel_.op = 9999;
  EXPECT_EQ(gpuemu_kernel_register(context_, &kernel_, &kernel), GPUEMU_NOT_FOUND);
  EXPECT_EQ(relu(), 0) << "nothing of them stays";
}

}  // namespace
