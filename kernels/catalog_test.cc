// Tests that the embedded PTX has the expected entries and source lines.
#include "kernels/catalog.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/base/files.h"
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
    const std::string ptx = kernel.ptx();
    for (const char* dtype : {"float32", "float16", "bfloat16"}) {
      if (kernel.name == "gemm_mma" && std::string_view(dtype) == "float32") continue;
      const std::string entry = std::string("_") + dtype + "(";
      const size_t at = ptx.find(entry);
      ASSERT_NE(at, std::string_view::npos) << kernel.name << entry;
      EXPECT_NE(ptx.rfind(".visible .entry ", at), std::string_view::npos) << entry;
    }
  }
}

TEST(Catalog, KeepsSourceLinesWithoutTheMachinesFolders) {
  for (const BuiltinKernel& kernel : builtin_kernels()) {
    const std::string ptx = kernel.ptx();
    EXPECT_NE(ptx.find('"' + std::string(kernel.file) + '"'), std::string_view::npos)
        << kernel.name;
    EXPECT_EQ(ptx.find(GPUEMU_SOURCE_DIR "/"), std::string_view::npos) << kernel.name;
    EXPECT_NE(ptx.find(".loc"), std::string_view::npos) << kernel.name;
  }
}

/// The entries that kernels/*/*.toml launch, for every dtype there is.
std::set<std::string> tested_entries() {
  const std::string_view key = "{ entry = \"", place = "{dtype}";
  std::set<std::string> entries;
  for (const auto& file :
       std::filesystem::recursive_directory_iterator(GPUEMU_SOURCE_DIR "/kernels")) {
    if (file.path().extension() != ".toml") continue;
    const std::string text = *read_file(file.path(), 1 << 20);
    for (size_t at = text.find(key); at != std::string::npos; at = text.find(key, at + 1)) {
      const size_t begin = at + key.size();
      const std::string pattern = text.substr(begin, text.find('"', begin) - begin);
      for (const char* dtype : {"float16", "bfloat16", "float32", "float64", "int8", "int16",
                                "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"}) {
        std::string entry = pattern;
        const size_t hole = entry.find(place);
        if (hole != std::string::npos) entry.replace(hole, place.size(), dtype);
        entries.insert(entry);
      }
    }
  }
  return entries;
}

TEST(Catalog, HasNoEntryThatTheBuiltinProjectDoesNotTest) {
  const std::set<std::string> tested = tested_entries();
  constexpr std::string_view kEntry = ".visible .entry ";
  for (const BuiltinKernel& kernel : builtin_kernels()) {
    const std::string ptx = kernel.ptx();
    for (size_t at = ptx.find(kEntry); at != std::string_view::npos;
         at = ptx.find(kEntry, at + 1)) {
      const size_t begin = at + kEntry.size();
      const std::string name(ptx.substr(begin, ptx.find('(', begin) - begin));
      EXPECT_TRUE(tested.contains(name)) << name << " of " << kernel.file;
    }
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
