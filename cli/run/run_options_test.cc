#include "cli/run/run_options.h"

#include <gtest/gtest.h>

namespace gpuemu::cli {
namespace {

TEST(RunOptions, SizesHaveUnits) {
  EXPECT_EQ(*parse_size("--memory", "8G"), uint64_t{8} << 30);
  EXPECT_EQ(*parse_size("--memory", "65536"), 65536u);
  for (const char* wrong : {"", "G", "8X", "8GB", "0", "-1", "99999999T"}) {
    EXPECT_FALSE(parse_size("--memory", wrong)) << wrong;
  }
}

TEST(RunOptions, DevicesAreANumberOrAList) {
  RunOptions options;
  options.devices = "sm_80,sm_90:16384";
  auto settings = driver_settings(options);
  ASSERT_TRUE(settings);
  ASSERT_EQ(settings->devices.size(), 2u);
  EXPECT_EQ(settings->devices[1].sm, 90);
  EXPECT_EQ(settings->devices[1].memory_bytes, uint64_t{16} << 30);
  options.devices = "3";
  EXPECT_EQ(driver_settings(options)->devices.size(), 3u);
  options.devices = "sm_90a,sm_100a,sm_120f:1024";
  settings = driver_settings(options);
  ASSERT_TRUE(settings) << "names of code for one architecture alone, or for its family";
  EXPECT_EQ(settings->devices[0].sm, 90);
  EXPECT_EQ(settings->devices[1].sm, 100);
  EXPECT_EQ(settings->devices[2].sm, 120);
  for (const char* wrong :
       {"sm_81", "sm_80a", "sm_90f", "sm_90aa", "sm_103", "sm_", "a", "sm_80:x", "17", "two"}) {
    options.devices = wrong;
    EXPECT_FALSE(driver_settings(options)) << wrong;
  }
}

TEST(RunOptions, ChecksAreChangedOrReplaced) {
  RunOptions options;
  options.checks = "+leak,-init";
  auto settings = driver_settings(options);
  ASSERT_TRUE(settings);
  EXPECT_TRUE(settings->leaks && settings->host_calls);
  EXPECT_FALSE(settings->checks.has(DeviceCheck::Init));
  EXPECT_TRUE(settings->checks.has(DeviceCheck::Race));
  options.checks = "memory";
  settings = driver_settings(options);
  ASSERT_TRUE(settings);
  EXPECT_FALSE(settings->host_calls || settings->checks.has(DeviceCheck::Race));
  options.checks = "+speed";
  EXPECT_FALSE(driver_settings(options));
}

TEST(RunOptions, TheDriverStandsInFrontOfWhatWasThere) {
  const auto made = program_environment({{"LD_LIBRARY_PATH", "/a"}}, "/lib", "/tmp/run");
  EXPECT_EQ(made.at("LD_LIBRARY_PATH"), "/lib:/a");
  EXPECT_EQ(made.at("GPUEMU_RUN"), "/tmp/run");
}

TEST(RunOptions, PythonPackagesAreLeftOutOnDemand) {
  RunOptions options;
  EXPECT_EQ(prepared_packages(options), "torch,triton,numba.cuda");
  options.no_torch = true;
  EXPECT_EQ(prepared_packages(options), "triton,numba.cuda");
  options.no_triton = true;
  EXPECT_EQ(prepared_packages(options), "numba.cuda");
  options.no_numba = true;
  EXPECT_EQ(prepared_packages(options), "");
}

TEST(RunOptions, OnlyAGivenTimeoutOfLaunchesEndsSlowOnes) {
  RunOptions options;
  options.command = {"true"};
  EXPECT_EQ(driver_settings(options)->launch_timeout_ms, 30'000u);
  EXPECT_TRUE(driver_settings(options)->launch_timeout_restarts);
  options.launch_timeout_s = 2;
  EXPECT_EQ(driver_settings(options)->launch_timeout_ms, 2'000u);
  EXPECT_FALSE(driver_settings(options)->launch_timeout_restarts);
}

}  // namespace
}  // namespace gpuemu::cli
