// Tests the arguments of launches.
#include <gtest/gtest.h>

#include "common/config/test_config.h"

namespace gpuemu {
namespace {

TEST(Arguments, MayBeStructuresAndSmallNumbers) {
  const Config config = good(R"([[kernels]]
name = "k"
source = "k.cu"
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = 4 }
attrs = { fast = { type = "bool", values = [0, 1] }, a = { values = [0.5] } }
launches = [{ entry = "k", grid = 1, block = 1,
              args = ["y", ["f16:a", ["u8:n", "ptr:null"]], "bool:fast", "bf16:-0.5"] }]
)");
  const std::vector<LaunchSpec::Arg>& args = config.kernels[0].launches[0].args;
  ASSERT_EQ(args.size(), 4u);
  EXPECT_EQ(args[1].kind, LaunchSpec::Arg::Kind::Struct);
  EXPECT_EQ(args[1].text, "[f16:a, [u8:n, ptr:null]]");
  EXPECT_EQ(args[1].members[0].dtype, DType::Float16);
  EXPECT_EQ(args[1].members[1].members[1].kind, LaunchSpec::Arg::Kind::NullPointer);
  EXPECT_EQ(args[2].dtype, DType::Bool);
  EXPECT_EQ(args[3].dtype, DType::BFloat16);
}

TEST(Arguments, MayPointIntoATensor) {
  const Config config = good(R"([[kernels]]
name = "k"
source = "k.cu"
outputs = [{ name = "y", shape = ["2 * n"] }]
dims = { n = 4 }
launches = [{ entry = "k", grid = 1, block = 1, args = ["y + n", "y"] }]
)");
  const std::vector<LaunchSpec::Arg>& args = config.kernels[0].launches[0].args;
  EXPECT_EQ(args[0].tensor, "y");
  EXPECT_EQ(*args[0].value->evaluate({.integers = {{"n", 4}}}), 4);
  EXPECT_FALSE(args[1].value);
  const ConfigResult wrong = parse_config(R"([[kernels]]
name = "k"
source = "k.cu"
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = 4 }
launches = [{ entry = "k", grid = 1, block = 1, args = ["z + 1", "y + m", "y + "] }]
)",
                                          "gpuemu.toml");
  const std::string text = wrong.text();
  EXPECT_NE(text.find("unknown tensor 'z'"), std::string::npos) << text;
  EXPECT_NE(text.find("unknown name 'm'"), std::string::npos) << text;
  EXPECT_NE(text.find("args[2]: expression ' ', column 2"), std::string::npos) << text;
}

}  // namespace
}  // namespace gpuemu
