// Cases of existing clients against the shared vectors.
#include "judge/cases/legacy_cases.h"

#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/rng/legacy.h"

namespace gpuemu {
namespace {

using nlohmann::json;

const json& vectors() {
  static const json kVectors = [] {
    std::ifstream in(GPUEMU_SOURCE_DIR "/tests/crosslang/legacy_generator_vectors.json");
    return json::parse(in);
  }();
  return kVectors;
}
uint64_t number(const json& value) {
  return std::strtoull(value.get_ref<const std::string&>().c_str(), nullptr, 10);
}

LayoutKind layout_named(const std::string& name) {
  if (name == "strided") return LayoutKind::Strided;
  return name == "transposed" ? LayoutKind::Transposed : LayoutKind::Contiguous;
}

FuzzConfig config_of(const json& group, const json& item) {
  FuzzConfig config;
  config.seed = number(item["seed"]);
  config.dtypes.clear();
  config.layouts.clear();
  for (const json& dtype : group["dtypes"]) {
    config.dtypes.push_back(*dtype_from_name(dtype.get<std::string>()));
  }
  for (const json& layout : group["layouts"]) config.layouts.push_back(layout_named(layout));
  return config;
}

void expect_hex(const std::vector<std::byte>& bytes, const std::string& hex) {
  ASSERT_GE(bytes.size() * 2, hex.size());
  for (size_t i = 0; i < hex.size() / 2; ++i) {
    ASSERT_EQ(std::to_integer<unsigned long>(bytes[i]),
              std::strtoul(hex.substr(2 * i, 2).c_str(), nullptr, 16));
  }
}

TEST(LegacyCases, PlansAreThoseOfTheVectors) {
  const json& group = vectors()["case_plans"];
  size_t compared = 0;
  for (const json& item : group["items"]) {
    FuzzConfig config = config_of(group, item);
    const json& options = vectors()["shape_option_sets"][item["options"].get<std::string>()];
    config.batch_sizes = options["batch_sizes"].get<std::vector<int64_t>>();
    config.seq_lengths = options["seq_lengths"].get<std::vector<int64_t>>();
    config.hidden_dims = options["hidden_dims"].get<std::vector<int64_t>>();
    config.edge_cases = options["edge_cases"].get<std::vector<Shape>>();
    for (const json& expected : item["cases"]) {
      const auto plan = plan_legacy_case(config, {}, expected["iteration"].get<uint64_t>());
      ASSERT_TRUE(plan) << plan.error().message;
      EXPECT_EQ(plan->case_seed, number(expected["case_seed"]));
      EXPECT_EQ(plan->shape, expected["shape"].get<Shape>());
      EXPECT_EQ(name_of(plan->dtype), expected["dtype"].get<std::string>());
      EXPECT_EQ(plan->layout, layout_named(expected["layout"]));
      EXPECT_EQ(legacy_strides(plan->layout, plan->shape), expected["strides"].get<Strides>());
      ++compared;
    }
  }
  EXPECT_GE(compared, 100u);
}

OpSchema schema_of(const json& text) {
  OpSchema schema{text["name"], {}, {}, OpSchema::TensorDims{}};
  for (const json& dim : text["dims"]) schema.dims.push_back({dim["name"], dim["candidates"]});
  for (const json& input : text["inputs"]) schema.inputs.push_back({input["name"], input["dims"]});
  schema.output = OpSchema::TensorDims{text["output"]["name"], text["output"]["dims"]};
  return schema;
}

TEST(LegacyCases, SchemaCasesAreThoseOfTheVectors) {
  const json& group = vectors()["schema_cases"];
  size_t compared = 0;
  for (const json& item : group["items"]) {
    FuzzConfig config = config_of(group, item);
    config.op_schema = schema_of(vectors()["schemas"][item["schema"].get<std::string>()]);
    std::vector<std::string> names;
    for (const auto& input : config.op_schema->inputs) names.push_back(input.name);
    const auto made = make_legacy_case(config, names, item["iteration"].get<uint64_t>());
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->case_seed, number(item["case_seed"]));
    EXPECT_EQ(made->shape, item["shape"].get<Shape>());
    EXPECT_EQ(made->layout, layout_named(item["layout"]));
    for (const auto& [name, expected] : item["inputs"].items()) {
      EXPECT_EQ(made->inputs.at(name).shape, expected["shape"].get<Shape>());
      EXPECT_EQ(made->input_strides.at(name), expected["strides"].get<Strides>());
      expect_hex(made->inputs.at(name).data, expected["first_4_elements_hex"]);
      ++compared;
    }
  }
  EXPECT_GE(compared, 12u);
}

TEST(LegacyCases, StoredCasesAreFilledByPosition) {
  size_t compared = 0;
  for (const json& item : vectors()["tensor_bytes"]["items"]) {
    const auto dtype = *dtype_from_name(item["dtype"].get<std::string>());
    if (dtype == DType::BFloat16) continue;  // True bfloat16 here.
    const auto inputs = legacy_inputs(number(item["case_seed"]), dtype, {8}, {"a", "b"});
    expect_hex(inputs.at(item["input_index"] == 0 ? "a" : "b").data, item["first_8_elements_hex"]);
    ++compared;
  }
  EXPECT_EQ(compared, 48u);
}

TEST(LegacyCases, RefusesEmptyListsThatItNeeds) {
  FuzzConfig config;
  config.dtypes.clear();
  EXPECT_EQ(make_legacy_case(config, {}, 0).error().code, ErrorCode::InvalidArgument);
  config = {};
  config.layouts.clear();
  EXPECT_FALSE(make_legacy_case(config, {}, 0));
  config = {};
  config.edge_cases.clear();
  config.hidden_dims.clear();
  EXPECT_FALSE(make_legacy_case(config, {}, 0));
}

TEST(LegacyCases, RefusesShapesThatCannotBe) {
  FuzzConfig config;
  config.edge_cases.clear();
  config.batch_sizes = {-1};
  EXPECT_FALSE(make_legacy_case(config, {}, 0));
  config.batch_sizes = {int64_t{1} << 50};
  EXPECT_FALSE(make_legacy_case(config, {}, 0));
}

}  // namespace
}  // namespace gpuemu
