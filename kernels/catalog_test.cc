// The embedded PTX has the entries and source lines that are promised.
#include "kernels/catalog.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/config/names.h"

namespace gpuemu {
namespace {

TEST(Catalog, IsSortedByName) {
  EXPECT_TRUE(std::ranges::is_sorted(builtin_kernels(), {}, &BuiltinKernel::name));
  EXPECT_FALSE(builtin_kernels().empty());
}

TEST(Catalog, HasTheNamesThatTheConfigurationKnows) {
  std::vector<std::string_view> here;
  for (const BuiltinKernel& kernel : builtin_kernels()) here.push_back(kernel.name);
  EXPECT_TRUE(std::ranges::equal(here, builtin_kernel_names()));
}

TEST(Catalog, HasAnEntryPerDtypeInEachKernel) {
  for (const BuiltinKernel& kernel : builtin_kernels()) {
    for (const char* dtype : {"float32", "float16", "bfloat16"}) {
      const std::string entry =
          std::string(".visible .entry ") + std::string(kernel.name) + "_" + dtype + "(";
      EXPECT_NE(kernel.ptx.find(entry), std::string_view::npos) << entry;
    }
  }
}

TEST(Catalog, KeepsSourceLinesWithoutTheMachinesFolders) {
  for (const BuiltinKernel& kernel : builtin_kernels()) {
    EXPECT_NE(kernel.ptx.find('"' + std::string(kernel.file) + '"'), std::string_view::npos)
        << kernel.name;
    EXPECT_EQ(kernel.ptx.find(GPUEMU_SOURCE_DIR "/"), std::string_view::npos) << kernel.name;
    EXPECT_NE(kernel.ptx.find(".loc"), std::string_view::npos) << kernel.name;
  }
}

TEST(Catalog, FindsByNameOrNotAtAll) {
  ASSERT_NE(find_builtin("gelu"), nullptr);
  EXPECT_EQ(find_builtin("gelu")->file, "kernels/gelu/gelu.cu");
  EXPECT_EQ(find_builtin("gel"), nullptr);
  EXPECT_EQ(find_builtin(""), nullptr);
}

}  // namespace
}  // namespace gpuemu
