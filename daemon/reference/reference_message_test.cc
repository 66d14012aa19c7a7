#include "daemon/reference/reference_message.h"

#include <cstring>
#include <limits>
#include <optional>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "daemon/reference/reference_fixture.h"

namespace gpuemu {
namespace {

using nlohmann::json;

template <typename T>
T read_at(std::span<const std::byte> bytes, size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// A frame as reference_message.h describes it.
std::vector<std::byte> frame(const std::string& form, const std::vector<int64_t>& numbers = {}) {
  std::string text = "gRef";
  const auto add = [&](auto value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  add(static_cast<uint32_t>(sizeof(uint32_t) + form.size() + numbers.size() * sizeof(int64_t)));
  add(static_cast<uint32_t>(form.size()));
  text += form;
  for (const int64_t number : numbers) add(number);
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

constexpr const char* kAnswer =
    R"({"ok":true,"outputs":[["y","float32",1]],"scales":[],"function_form":true})";

/// Returns nothing for an answer that is accepted.
std::optional<ErrorCode> refusal_of(const std::vector<std::byte>& bytes) {
  ReplyReader reader;
  const auto reply = reader.read(bytes, 32);
  return reply ? std::nullopt : std::optional(reply.error().code);
}

TEST(ReferenceMessage, AFormIsJsonWhateverTheNamesAreAndNumbersFollowIt) {
  ReferenceRequest request;
  request.arena = 5;
  request.script = "/a \"b\"/\xc3\xa9\\n\n.py";
  request.kwargs = {{"n", "-3"}, {"m", "+4"}, {"a\tb", "\xff\""}};
  request.numbers = {{"eps", 0.1}, {"most", std::numeric_limits<double>::infinity()}};
  request.integers = {{"m", 4}, {"n", -3}};
  request.inputs = {{"x\"", DType::BFloat16, {2, 0, 3}, 64}, {"s", DType::Bool, {}, 128}};
  request.output_names = {"y", "z\\"};
  request.judged = {{"y", DType::Int8, {5}, 7}};
  request.want_scale = true;
  request.result_offset = 4096;
  const std::vector<std::byte> bytes = encode_request(request);
  const auto length = frame_bytes(bytes);
  ASSERT_TRUE(length);
  EXPECT_EQ(*length, bytes.size());
  const auto form_bytes = read_at<uint32_t>(bytes, 8);
  const std::string form(reinterpret_cast<const char*>(bytes.data()) + 12, form_bytes);
  const auto read = json::parse(form, nullptr, false);
  ASSERT_FALSE(read.is_discarded()) << form;
  EXPECT_EQ(read["script"], request.script);
  EXPECT_EQ(read["function"], "reference");
  EXPECT_EQ(read["kwargs"], (json{{"m", "+4"}, {"a\tb", "\xef\xbf\xbd\""}}));
  EXPECT_EQ(read["numbers"], (json{{"eps", "0.1"}, {"most", "inf"}}));
  EXPECT_EQ(read["integers"], (json{"m", "n"}));
  EXPECT_EQ(read["as_kwargs"], json::array({"n"}));
  EXPECT_EQ(read["inputs"][0], (json{"x\"", "bfloat16", 3}));
  EXPECT_EQ(read["inputs"][1], (json{"s", "bool", 0}));
  EXPECT_EQ(read["output_names"], (json{"y", "z\\"}));
  EXPECT_EQ(read["judged"], json::array({json{"y", "int8", 1}}));
  EXPECT_TRUE(read["want_scale"] == true && read["process_only"] == false);
  EXPECT_EQ(read["timeout_ms"], request.timeout_ms);
  std::vector<int64_t> numbers;
  for (size_t at = 12 + form_bytes; at < bytes.size(); at += sizeof(int64_t)) {
    numbers.push_back(read_at<int64_t>(bytes, at));
  }
  EXPECT_EQ(numbers, (std::vector<int64_t>{5, 4096, 4, -3, 64, 2, 0, 3, 128, 7, 5}));
}

TEST(ReferenceMessage, TheSameFormWithOtherNumbersIsAnotherAnswer) {
  ReplyReader reader;
  for (const int64_t size : {2, 1, 0, 2}) {
    const auto reply = reader.read(frame(kAnswer, {8, size}), 32);
    ASSERT_TRUE(reply && *reply) << reply.error().message;
    const ReferenceTensor& output = (*reply)->outputs.at(0);
    EXPECT_EQ(output.name, "y");
    EXPECT_EQ(output.dtype, DType::Float32);
    EXPECT_EQ(output.shape, (Shape{size}));
    EXPECT_EQ(output.arena_offset, 8u);
    EXPECT_TRUE((*reply)->function_form);
  }
  EXPECT_FALSE(*reader.read(frame(R"({"ready":true})"), 32));
  EXPECT_EQ(reader.read(frame(R"({"ok":false,"code":"Timeout","message":"m"})"), 32).error().code,
            ErrorCode::Timeout);
  EXPECT_TRUE(*reader.read(frame(kAnswer, {8, 2}), 32));
}

TEST(ReferenceMessage, WhatAScriptReadsIsToldOnce) {
  ReplyReader reader;
  const std::string form =
      R"({"ok":true,"outputs":[],"scales":[],"reads":{"files":["/a"],"complete":true}})";
  const auto first = reader.read(frame(form), 32);
  ASSERT_TRUE(first && *first && (*first)->reads);
  EXPECT_EQ((*first)->reads->files, std::vector<std::string>{"/a"});
  const auto second = reader.read(frame(R"({"ok":true,"outputs":[],"scales":[]})"), 32);
  ASSERT_TRUE(second && *second);
  EXPECT_FALSE((*second)->reads);
}

TEST(ReferenceMessage, RefusesWhatTheProcessCannotHaveWritten) {
  for (const char* form : {"", "[]", "{}", "{\"ok\": true}", "{\"ok\": false}", "{\"ok\": 1}",
                           R"({"ok":true,"outputs":[["y","f4",1]],"scales":[]})",
                           R"({"ok":true,"outputs":[["y","float32",-1]],"scales":[]})",
                           R"({"ok":true,"outputs":[["y","float32",1e18]],"scales":[]})",
                           R"({"ok":true,"outputs":[["y","float32",99999999]],"scales":[]})",
                           R"({"ok":true,"outputs":[["y","float32"]],"scales":[]})"}) {
    EXPECT_EQ(refusal_of(frame(form, {0, 1})), ErrorCode::Corruption) << form;
  }
  // As many sizes as 64 such tensors have would take a gigabyte.
  std::string many;
  for (int i = 0; i < 64; ++i) {
    many += std::string(i > 0 ? "," : "") + R"(["y","float32",2097152])";
  }
  EXPECT_EQ(refusal_of(frame(R"({"ok":true,"outputs":[)" + many + R"(],"scales":[]})", {0, 1})),
            ErrorCode::Corruption);
  EXPECT_EQ(refusal_of(frame(kAnswer, {0, 1})), std::nullopt);
  const std::vector<std::vector<int64_t>> bad = {{}, {0}, {0, 9}, {-4, 1}, {0, 1, 1}, {32, 1}};
  for (const auto& numbers : bad) {
    EXPECT_EQ(refusal_of(frame(kAnswer, numbers)), ErrorCode::Corruption);
  }
  EXPECT_EQ(refusal_of(frame(kAnswer, {0, -1})), ErrorCode::Compile) << "the script's fault";
  const std::vector<std::byte> whole = frame(kAnswer, {0, 1});
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_EQ(refusal_of({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes)}),
              ErrorCode::Corruption)
        << bytes;
  }
}

TEST(ReferenceMessage, FramesAreToldFromOtherBytesAsSoonAsPossible) {
  const std::vector<std::byte> whole = frame(kAnswer, {0, 1});
  for (size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    const auto length = frame_bytes(std::span(whole).first(bytes));
    ASSERT_TRUE(length);
    EXPECT_EQ(*length, bytes < 8 ? std::nullopt : std::optional(whole.size())) << bytes;
  }
  const auto refused = [](std::string text) {
    return frame_bytes(std::as_bytes(std::span(text))).error().code;
  };
  for (const char* text : {"x", "g\n", "gRe!", "{\"ok\":true}"}) {
    EXPECT_EQ(refused(text), ErrorCode::Corruption) << text;
  }
  EXPECT_EQ(refused("gRef\xff\xff\xff\xff"), ErrorCode::Corruption) << "4 GiB";
}

/// Tests that both sides agree about each member.
TEST_F(ReferenceTest, AFunctionGetsWhatTheRequestSays) {
  put(64, std::vector<int32_t>{7, 8, 9, 10, 11, 12});
  request_.inputs = {{"x", DType::Float32, {3}, 0}, {"i", DType::Int32, {2, 1, 3}, 64}};
  request_.integers = {{"n", 3}, {"big", std::numeric_limits<int64_t>::max()}, {"low", -5}};
  request_.numbers = {{"eps", 0.1}, {"most", std::numeric_limits<double>::infinity()}};
  request_.kwargs = {{"n", "3"}, {"mode", "fast"}, {"low", "-5.0"}};
  const std::string script =
      "import numpy\n"
      "def reference(**v):\n"
      "  assert v['x'].shape == (3,) and v['x'].tolist() == [1, 2, 3], v\n"
      "  assert v['i'].shape == (2, 1, 3) and v['i'].ravel().tolist() == [7, 8, 9, 10, 11, 12], v\n"
      "  assert (v['n'], v['big'], v['low']) == (3, 2**63 - 1, -5), v\n"
      "  assert (v['eps'], v['most'], v['mode']) == (0.1, float('inf'), 'fast'), v\n"
      "  return numpy.zeros((2, 0, 3)) if v['x'][0] else v['x']\n";
  for (int i = 0; i < 2; ++i) {  // The second time with a form that is known.
    const auto reply = i == 0 ? ask(script) : again();
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(reply->outputs.at(0).shape, (Shape{2, 0, 3}));
  }
  request_.integers["low"] = -6;
  const auto other = again();
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("AssertionError"), std::string::npos);
}

TEST_F(ReferenceTest, AProcessGetsKwargsAsTextsOfTheSameNumbers) {
  request_.process_only = true;
  request_.integers = {{"n", 3}, {"count", 1'000'000'000'000'000}};
  request_.kwargs = {{"n", "3"}, {"count", "1e+15"}, {"eps", "0.1"}};
  const auto reply =
      ask("import base64, json, sys\n"
          "case = json.load(sys.stdin)\n"
          "assert case['kwargs'] == {'n': '3', 'count': '1e+15', 'eps': '0.1'}, case['kwargs']\n"
          "print(json.dumps({'shape': [1], 'dtype': 'int8', 'data': "
          "base64.b64encode(b'1').decode()}))\n");
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_EQ(reply->outputs.at(0).shape, (Shape{1}));
}

TEST_F(ReferenceTest, MoreFormsThanAreKeptAreAnsweredToo) {
  const std::string script = "def reference(x, eps):\n  return x * eps\n";
  request_.numbers = {{"eps", 0}};
  ASSERT_TRUE(ask(script));
  for (int i = 0; i < 200; ++i) {
    request_.numbers["eps"] = i % 100;
    const auto reply = again();
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(values<double>(reply->outputs.at(0)).at(2), 3.0 * (i % 100));
  }
}

}  // namespace
}  // namespace gpuemu
