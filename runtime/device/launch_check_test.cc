// Tests the messages for refused launches.
#include "runtime/device/launch_check.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

EntryInfo named(const std::string& name) {
  EntryInfo entry;
  entry.name = name;
  return entry;
}

EntryInfo entry_with(std::vector<uint32_t> sizes) {
  EntryInfo entry = named("add");
  for (uint32_t bytes : sizes) {
    entry.params.push_back({fmt::format("p{}", entry.params.size()), bytes, 0, bytes == 8});
  }
  return entry;
}

LaunchConfig config_with(std::vector<size_t> sizes) {
  LaunchConfig config;
  config.entry = "add";
  for (size_t bytes : sizes) config.args.emplace_back(bytes);
  return config;
}

std::string refusal(const EntryInfo& entry, const LaunchConfig& config) {
  const Status status = check_launch(entry, config, {});
  if (status) return "accepted";
  EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
  return status.error().message;
}

TEST(CheckLaunch, AcceptsMatchingArguments) {
  EXPECT_TRUE(check_launch(entry_with({8, 4}), config_with({8, 4}), {}));
}

TEST(CheckLaunch, NamesTheNumberOfArgumentsItWants) {
  EXPECT_NE(refusal(entry_with({8, 4}), config_with({8})).find("takes 2 arguments, 1 is given"),
            std::string::npos);
}

TEST(CheckLaunch, NamesTheArgumentOfTheWrongSize) {
  EXPECT_NE(refusal(entry_with({8, 4}), config_with({8, 8})).find("argument 2"), std::string::npos);
}

TEST(CheckLaunch, RefusesBlocksAndGridsBeyondTheLimits) {
  struct Case {
    Dim3 grid, block;
    bool ok;
  };
  const Case cases[] = {{{1, 1, 1}, {1024, 1, 1}, true},      {{1, 1, 1}, {1025, 1, 1}, false},
                        {{1, 1, 1}, {0, 1, 1}, false},        {{1, 1, 1}, {32, 33, 1}, false},
                        {{1, 1, 1}, {1, 1, 64}, true},        {{1, 1, 1}, {1, 1, 65}, false},
                        {{1, 0, 1}, {1, 1, 1}, false},        {{2147483647, 1, 1}, {1, 1, 1}, true},
                        {{1, 65536, 1}, {1, 1, 1}, false},    {{1, 1, 65535}, {1, 1, 1}, true},
                        {{1, 1, 1}, {65536, 65536, 1}, false}};
  for (const Case& c : cases) {
    LaunchConfig config = config_with({});
    config.grid = c.grid;
    config.block = c.block;
    EXPECT_EQ(check_launch(entry_with({}), config, {}).ok(), c.ok)
        << "block " << c.block.x << "," << c.block.y << "," << c.block.z << " grid " << c.grid.y;
  }
}

TEST(CheckLaunch, HoldsTheBlockToReqntidAndMaxntid) {
  EntryInfo entry = entry_with({});
  LaunchConfig config = config_with({});
  config.block = {64, 1, 1};
  entry.required_block = {128, 1, 1};
  EXPECT_NE(refusal(entry, config).find(".reqntid demands 128x1x1"), std::string::npos);
  entry.required_block = {0, 0, 0};
  entry.max_block = {32, 1, 1};
  EXPECT_NE(refusal(entry, config).find("allows 32"), std::string::npos);
  entry.max_block = {32, 2, 1};
  EXPECT_EQ(refusal(entry, config), "accepted");
}

TEST(CheckLaunch, CountsStaticAndDynamicSharedMemoryTogether) {
  EntryInfo entry = entry_with({});
  entry.static_shared_bytes = 49152;
  LaunchConfig config = config_with({});
  EXPECT_EQ(refusal(entry, config), "accepted");
  config.dynamic_shared_bytes = 1;
  EXPECT_NE(refusal(entry, config).find("49153 bytes"), std::string::npos);
}

LaunchShape block_of(uint32_t threads) {
  LaunchShape shape;
  shape.block = {threads, 1, 1};
  return shape;
}

TEST(CheckRegisters, RefusesABlockThatHasMoreThanThereAre) {
  const auto accepts = [](int registers, uint32_t threads) {
    return check_registers("k", registers, block_of(threads), {}).ok();
  };
  EXPECT_TRUE(accepts(64, 1024));
  EXPECT_FALSE(accepts(65, 1024)) << "a warp gets eight at a time: 72";
  EXPECT_TRUE(accepts(72, 896));
  EXPECT_TRUE(accepts(128, 512));
  EXPECT_FALSE(accepts(129, 512));
  EXPECT_FALSE(accepts(128, 513)) << "a warp that is begun has registers for all lanes";
  EXPECT_TRUE(accepts(255, 256));
  const Status refused = check_registers("k", 80, block_of(1024), {});
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(refused.error().message.find("80 for each thread, 81920 together"), std::string::npos)
      << refused.error().message;
  EXPECT_NE(refused.error().message.find("__launch_bounds__"), std::string::npos);
}

TEST(CheckRegisters, CannotBeLackingWithABoundOrInASmallBlock) {
  EntryInfo entry = entry_with({});
  EXPECT_FALSE(may_lack_registers(entry, block_of(256), {}));
  EXPECT_TRUE(may_lack_registers(entry, block_of(257), {}));
  entry.max_block = {1024, 1, 1};
  EXPECT_FALSE(may_lack_registers(entry, block_of(1024), {}));
  entry.max_block = {0, 0, 0};
  entry.required_block = {1024, 1, 1};
  EXPECT_FALSE(may_lack_registers(entry, block_of(1024), {}));
}

TEST(FindEntry, ListsTheNearestNameFirst) {
  const std::vector<EntryInfo> entries = {named("reduce"), named("softmax"), named("gelu")};
  EXPECT_EQ(find_entry(entries, "gelu")->name, "gelu");
  const auto missing = find_entry(entries, "sotfmax");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
  EXPECT_EQ(missing.error().message, "no entry 'sotfmax'; the module has: softmax, reduce, gelu");
}

TEST(FindEntry, PutsAMangledFormOfTheNameFirst) {
  const std::vector<EntryInfo> entries = {named("scala"), named("_Z5scalePff")};
  EXPECT_EQ(find_entry(entries, "scale").error().message,
            "no entry 'scale'; the module has: _Z5scalePff, scala");
}

TEST(FindEntry, SaysWhenThereIsNoEntryAtAll) {
  EXPECT_NE(find_entry({}, "gelu").error().message.find("has no entries"), std::string::npos);
}

TEST(FindEntry, CutsALongList) {
  std::vector<EntryInfo> entries;
  for (int i = 0; i < 20; ++i) entries.push_back(named(fmt::format("k{}", i)));
  EXPECT_NE(find_entry(entries, "x").error().message.find("and 4 more"), std::string::npos);
}

}  // namespace
}  // namespace gpuemu
