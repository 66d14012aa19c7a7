#include "cli/run/nvcc.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

NvccArguments translated(const Words& given) {
  auto made = nvcc_arguments(given, "/lib");
  EXPECT_TRUE(made.ok());
  return made.ok() ? *made : NvccArguments{};
}

/// The arguments added to every command line, after those of the user.
Words added(Words words) {
  for (const char* one : {"-cudart=shared", "-lineinfo", "-L/lib", "-Xlinker", "-rpath=/lib"}) {
    words.emplace_back(one);
  }
  return words;
}

TEST(Nvcc, BuildsPtxForTheSharedRuntimeByDefault) {
  const NvccArguments made = translated({"-g", "a.cu", "-o", "a"});
  EXPECT_EQ(made.words,
            added({"-g", "a.cu", "-o", "a", "-gencode", "arch=compute_80,code=compute_80"}));
  EXPECT_TRUE(made.left_out.empty());
}

TEST(Nvcc, TakesTheArchitectureFromItsOwnOption) {
  const Words expected = added({"a.cu", "-gencode", "arch=compute_90,code=compute_90"});
  EXPECT_EQ(translated({"--arch", "sm_90", "a.cu"}).words, expected);
  EXPECT_EQ(translated({"--arch=sm_90", "a.cu"}).words, expected);
  EXPECT_TRUE(translated({"--arch=sm_90", "a.cu"}).left_out.empty());
  EXPECT_EQ(translated({"-arch=sm_90", "a.cu"}).left_out, Words{"sm_90"});
  EXPECT_FALSE(nvcc_arguments({"--arch", "fast"}, "/lib").ok());
}

TEST(Nvcc, KeepsPtxOfEachTargetAndLeavesOutMachineCode) {
  const NvccArguments made =
      translated({"--generate-code=arch=compute_75,code=[compute_75,sm_75]", "-gencode",
                  "arch=compute_80,code=sm_80", "-gencode=arch=compute_80,code=compute_80"});
  EXPECT_EQ(made.words, added({"-gencode", "arch=compute_75,code=compute_75", "-gencode",
                               "arch=compute_80,code=compute_80"}));
  EXPECT_EQ(made.left_out, (Words{"sm_75", "sm_80"}));
}

TEST(Nvcc, LeavesWhatTheUserChose) {
  const Words words = translated({"-cudart", "static", "-G"}).words;
  EXPECT_EQ(std::ranges::count(words, "-cudart=shared"), 0);
  EXPECT_EQ(std::ranges::count(words, "-lineinfo"), 0);
  EXPECT_EQ(translated({"-cubin", "-arch=sm_80"}).words, (Words{"-cubin", "-arch=sm_80"}));
}

TEST(Nvcc, IsFoundOutsideOfItsOwnFolder) {
  const fs::path folder = fs::temp_directory_path() / "gpuemu_nvcc_test";
  for (const char* name : {"own", "toolkit"}) {
    fs::create_directories(folder / name);
    std::ofstream(folder / name / "nvcc") << "#!/bin/sh\n";
    fs::permissions(folder / name / "nvcc", fs::perms::owner_all);
  }
  const std::string path = (folder / "own").string() + ":" + (folder / "toolkit").string();
  const auto found = find_nvcc({{"PATH", path}}, (folder / "own").string());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, (folder / "toolkit/nvcc").string());
  fs::remove_all(folder);
}

}  // namespace
}  // namespace gpuemu::cli
