// Tests behaviour that all backends share: memory, modules, valid and refused launches.
#include <algorithm>

#include "common/base/limits.h"
#include "tests/conformance/fixture.h"

namespace gpuemu {
namespace {

INSTANTIATE_TEST_SUITE_P(Emulator, Conformance, testing::Values("emulator"));
INSTANTIATE_TEST_SUITE_P(Cuda, Conformance, testing::Values("cuda"));

TEST_P(Conformance, SaysWhatItIs) {
  const DeviceProperties& properties = device_->properties();
  EXPECT_EQ(properties.backend, GetParam());
  EXPECT_FALSE(properties.name.empty());
  EXPECT_GE(properties.sm, 70);
  EXPECT_GE(properties.shared_bytes_per_block_max, 49152U);
  EXPECT_EQ(properties.checks_bounds, is_emulator());
}

TEST_P(Conformance, GivesBackWhatWasUploaded) {
  const uint64_t address = upload<int>({1, -2, 3}, "x");
  EXPECT_EQ(address % kDeviceAlignment, 0U);
  EXPECT_EQ(download<int>(address, 3), (std::vector<int>{1, -2, 3}));
  EXPECT_EQ(download<int>(address + 4, 1), (std::vector<int>{-2}));
  ASSERT_TRUE(device_->fill(address + 4, std::byte{0xff}, 8));
  EXPECT_EQ(download<int>(address, 3), (std::vector<int>{1, -1, -1}));
}

TEST_P(Conformance, GivesUniqueAddressesForNothing) {
  const auto first = device_->allocate(0, "a");
  const auto second = device_->allocate(0, "b");
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_TRUE(device_->free(*first));
  EXPECT_TRUE(device_->free(*second));
}

TEST_P(Conformance, RefusesToMoveDataOutsideOneAllocation) {
  const uint64_t address = upload<int>({1, 2}, "x");
  std::vector<std::byte> nine(9);
  EXPECT_EQ(device_->upload(address, nine).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(device_->download(nine, address).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(device_->fill(address, std::byte{0}, 9).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(device_->upload(address - 1, std::span(nine).first(4)).error().code,
            ErrorCode::InvalidArgument);
  EXPECT_EQ(device_->upload(16, std::span(nine).first(4)).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(device_->fill(address, std::byte{0}, ~uint64_t{0}).error().code,
            ErrorCode::InvalidArgument);
}

TEST_P(Conformance, FreesOnceAndOnlyWhatItGave) {
  const uint64_t address = upload<int>({1, 2}, "x");
  EXPECT_EQ(device_->free(address + 4).error().code, ErrorCode::InvalidArgument);
  EXPECT_TRUE(device_->free(address));
  EXPECT_EQ(device_->free(address).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(device_->free(0).error().code, ErrorCode::InvalidArgument);
}

TEST_P(Conformance, HoldsTheMemoryLimit) {
  EXPECT_EQ(device_->allocate(kLimitBytes + 1, "big").error().code, ErrorCode::ResourceExhausted);
  EXPECT_EQ(device_->allocate(~uint64_t{0}, "huge").error().code, ErrorCode::ResourceExhausted);
  const auto half = device_->allocate(kLimitBytes / 2 + 1, "half");
  ASSERT_TRUE(half);
  EXPECT_EQ(device_->allocate(kLimitBytes / 2 + 1, "other").error().code,
            ErrorCode::ResourceExhausted);
  EXPECT_TRUE(device_->free(*half));
  EXPECT_TRUE(device_->allocate(kLimitBytes / 2 + 1, "again"));
}

TEST_P(Conformance, RefusesTextThatIsNoPtx) {
  for (const char* text :
       {"", "int main() {}", ".version 8.0\n.target sm_75\n.address_size 64\n.entry k( {"}) {
    const auto module = device_->load_module(text, "bad.ptx");
    ASSERT_FALSE(module) << text;
    EXPECT_EQ(module.error().code, ErrorCode::Compile) << module.error().message;
    EXPECT_NE(module.error().message.find("bad.ptx"), std::string::npos) << module.error().message;
  }
}

TEST_P(Conformance, ListsEntriesWithTheirParameters) {
  const auto entries = device_->entries(load_vector_add());
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 4U);
  const auto entry = std::ranges::find(*entries, "vector_add_float32", &EntryInfo::name);
  ASSERT_NE(entry, entries->end());
  ASSERT_EQ(entry->params.size(), 4U);
  EXPECT_EQ(entry->params[0].bytes, 8U);
  EXPECT_TRUE(entry->params[0].is_pointer);
  EXPECT_EQ(entry->params[3].bytes, 4U);
  EXPECT_FALSE(entry->params[3].is_pointer);
}

TEST_P(Conformance, CountsStaticSharedMemory) {
  const auto entries = device_->entries(load(find_builtin("softmax")->ptx()));
  ASSERT_TRUE(entries);
  for (const EntryInfo& entry : *entries) EXPECT_GE(entry.static_shared_bytes, 128U) << entry.name;
}

TEST_P(Conformance, RefusesModulesThatAreNotLoaded) {
  EXPECT_FALSE(device_->entries(77));
  EXPECT_FALSE(device_->unload_module(77));
  EXPECT_FALSE(device_->launch(77, {}));
  const ModuleId module = load_vector_add();
  EXPECT_TRUE(device_->unload_module(module));
  EXPECT_FALSE(device_->entries(module));
}

TEST_P(Conformance, AddsTwoVectors) {
  const LaunchConfig config = four_elements();
  const auto report = device_->launch(load_vector_add(), config);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->findings.empty()) << report->findings[0].message;
  uint64_t y = 0;
  std::memcpy(&y, config.args[2].data(), sizeof(y));
  EXPECT_EQ(download<float>(y, 4), (std::vector<float>{11, 22, 33, 44}));
}

TEST_P(Conformance, RunsManyBlocksAndPartialWarps) {
  std::vector<float> a(1000), b(1000);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i), b[i] = 0.5F;
  LaunchConfig config = four_elements();
  const uint64_t y = upload<float>(std::vector<float>(1000), "y");
  config.args = {bytes_of(upload(a, "a")), bytes_of(upload(b, "b")), bytes_of(y), bytes_of(1000)};
  config.grid = {10, 1, 1};
  config.block = {101, 1, 1};
  const auto report = device_->launch(load_vector_add(), config);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->findings.empty()) << report->findings[0].message;
  const auto out = download<float>(y, 1000);
  for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], a[i] + 0.5F) << "at " << i;
}

TEST_P(Conformance, ReducesARowOverAnyBlockSize) {
  const ModuleId module = load(find_builtin("reduce_sum")->ptx());
  const uint64_t x = upload<float>(std::vector<float>(300, 2.0F), "x");
  for (uint32_t threads : {1U, 31U, 32U, 33U, 128U, 1000U}) {
    const uint64_t y = upload<float>({-1, -1, -1}, "y");
    LaunchConfig config;
    config.entry = "reduce_sum_float32";
    config.grid = {3, 1, 1};
    config.block = {threads, 1, 1};
    config.args = {bytes_of(x), bytes_of(y), bytes_of(3), bytes_of(100)};
    const auto report = device_->launch(module, config);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->findings.empty()) << threads << ": " << report->findings[0].message;
    EXPECT_EQ(download<float>(y, 3), (std::vector<float>{200, 200, 200})) << "block " << threads;
  }
}

TEST_P(Conformance, NamesTheEntriesThereAre) {
  LaunchConfig config = four_elements();
  config.entry = "vector_ad_float32";
  const auto report = device_->launch(load_vector_add(), config);
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, ErrorCode::NotFound);
  EXPECT_NE(report.error().message.find("the module has: vector_add_float32"), std::string::npos)
      << report.error().message;
}

TEST_P(Conformance, RefusesWrongArgumentsAndShapesAndStaysUsable) {
  const ModuleId module = load_vector_add();
  const LaunchConfig right = four_elements();
  std::vector<LaunchConfig> wrong(6, right);
  wrong[0].args.pop_back();
  wrong[1].args[3] = bytes_of(int64_t{4});
  wrong[2].block = {1025, 1, 1};
  wrong[3].block = {0, 1, 1};
  wrong[4].grid = {1, 65536, 1};
  wrong[5].dynamic_shared_bytes = 1U << 30;
  for (size_t i = 0; i < wrong.size(); ++i) {
    const auto report = device_->launch(module, wrong[i]);
    ASSERT_FALSE(report) << "wrong launch " << i << " was accepted";
    EXPECT_EQ(report.error().code, ErrorCode::InvalidArgument) << report.error().message;
  }
  EXPECT_TRUE(device_->launch(module, right));
}

TEST(NullConformance, TheNullBackendRefusesEverything) {
  DeviceRequest request;
  request.backend = "null";
  auto device = open_device(request);
  ASSERT_TRUE(device);
  EXPECT_EQ((*device)->allocate(4, "x").error().code, ErrorCode::Unsupported);
  EXPECT_EQ((*device)->load_module("", "x").error().code, ErrorCode::Unsupported);
  EXPECT_EQ((*device)->launch(1, {}).error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace gpuemu
