#include "cli/report/seed_text.h"

#include <gtest/gtest.h>

namespace gpuemu::cli {
namespace {

TEST(SeedText, StandsBehindEverySeed) {
  EXPECT_EQ(with_seed_texts(R"({"seed":18446744073709551615,"op":"a"})"),
            R"({"seed":18446744073709551615,"seed_text":"18446744073709551615","op":"a"})");
  EXPECT_EQ(with_seed_texts(R"([{"a":{"base_seed":7}},{"seed":0}])"),
            R"([{"a":{"base_seed":7,"base_seed_text":"7"}},{"seed":0,"seed_text":"0"}])");
}

TEST(SeedText, KeepsTheLinesOfADocument) {
  EXPECT_EQ(with_seed_texts("{\n  \"seed\": 5,\n  \"b\": 1.50\n}\n"),
            "{\n  \"seed\": 5,\n  \"seed_text\": \"5\",\n  \"b\": 1.50\n}\n");
  EXPECT_EQ(with_seed_texts("{\n  \"b\": 1,\n  \"seed\": 5\n}"),
            "{\n  \"b\": 1,\n  \"seed\": 5,\n  \"seed_text\": \"5\"\n}");
}

TEST(SeedText, LeavesTheRestAlone) {
  for (const char* json :
       {"", "{}", R"({"seed":null})", R"({"seed":"5"})", R"({"seed":1.5})", R"({"seed":1e3})",
        R"({"seeds":5})", R"({"seeded":5})", R"(["seed",5])", R"({"m":"\"seed\":5"})",
        R"({"m":"\\","n":"seed"})", R"({"seed":{"seeds":1}})"}) {
    EXPECT_EQ(with_seed_texts(json), json);
  }
}

}  // namespace
}  // namespace gpuemu::cli
