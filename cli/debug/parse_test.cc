// Tests parsing of lines, slices and references to tensors, and how they are printed.
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "cli/debug/slice.h"
#include "cli/debug/tensor_text.h"
#include "cli/debug/words.h"
#include "common/numeric/element.h"

namespace gpuemu::cli {
namespace {

std::vector<Words> commands(const std::string& line) {
  auto split = split_commands(line);
  EXPECT_TRUE(split) << line << ": " << split.error().message;
  return split ? *split : std::vector<Words>();
}

std::string refusal(const std::string& line) {
  const auto split = split_commands(line);
  return split ? "" : split.error().message;
}

TEST(Lines, EndCommandsAtSemicolonsAndWordsAtSpaces) {
  EXPECT_EQ(commands("list 5;  print y ; ;quit"),
            (std::vector<Words>{{"list", "5"}, {"print", "y"}, {"quit"}}));
  EXPECT_TRUE(commands("  ;; \t").empty());
}

TEST(Lines, KeepTogetherWhatStandsInBracketsAndQuotes) {
  EXPECT_EQ(commands("print y[0:4, ::2]; load 7 \"my op; 2\""),
            (std::vector<Words>{{"print", "y[0:4, ::2]"}, {"load", "7", "my op; 2"}}));
  EXPECT_EQ(commands("print \"\""), (std::vector<Words>{{"print", ""}}));
}

TEST(Lines, EndAtAComment) {
  EXPECT_EQ(commands("list # 5; quit"), (std::vector<Words>{{"list"}}));
  EXPECT_EQ(commands("print a#b"), (std::vector<Words>{{"print", "a#b"}}));
}

TEST(Lines, NameWhatIsNotClosed) {
  EXPECT_EQ(refusal("print y[0:4"), "'y[0:4': a ']' is missing");
  EXPECT_EQ(refusal("print y]"), "'y]': a '[' is missing before the ']'");
  EXPECT_NE(refusal("load 7 \"op").find("the quote is not closed"), std::string::npos);
}

TEST(Numbers, AreWholeAndFromZero) {
  EXPECT_EQ(*parse_count("0x10", "n"), 16U);
  EXPECT_EQ(*parse_count("18446744073709551615", "n"), UINT64_MAX);
  for (const char* wrong : {"", "-1", "1.5", "0x", "18446744073709551616", "one", "1 "}) {
    EXPECT_FALSE(parse_count(wrong, "n")) << wrong;
  }
  EXPECT_EQ(*parse_index3("3,1", "block"), (Dim3{3, 1, 0}));
  for (const char* wrong : {"", "1,2,3,4", "1,,2", "1,", "-1", "4294967296"}) {
    EXPECT_FALSE(parse_index3(wrong, "block")) << wrong;
  }
}

TEST(Nearest, PutsTheWordsThatBeginSoFirst) {
  EXPECT_EQ(nearest_few("pirnt", {"list", "print", "quit"}, 1), Words{"print"});
  EXPECT_EQ(nearest_few("st", {"list", "stage", "stages"}, 2), (Words{"stage", "stages"}));
}

/// Python's own rule: walk from the start in steps until the stop.
std::vector<int64_t> walked(std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step,
                            int64_t size) {
  std::vector<int64_t> all;
  const auto from_end = [&](int64_t bound) { return bound < 0 ? bound + size : bound; };
  const int64_t first = start ? from_end(*start) : (step > 0 ? 0 : size - 1);
  const int64_t end = stop ? from_end(*stop) : (step > 0 ? size : -1);
  if (step > 0) {
    for (int64_t i = std::max<int64_t>(first, 0); i < std::min(end, size); i += step) {
      all.push_back(i);
    }
  } else {
    for (int64_t i = std::min(first, size - 1); i > std::max<int64_t>(end, -1); i += step) {
      all.push_back(i);
    }
  }
  return all;
}

TEST(Slices, TakeTheSameElementsAsPython) {
  std::mt19937 draws(7);
  const auto bound = [&]() -> std::optional<int64_t> {
    if (draws() % 4 == 0) return std::nullopt;
    return static_cast<int64_t>(draws() % 25) - 12;
  };
  for (int round = 0; round < 20'000; ++round) {
    const int64_t size = draws() % 9;
    const auto start = bound(), stop = bound();
    int64_t step = static_cast<int64_t>(draws() % 9) - 4;
    if (step == 0) step = 1;
    const auto word = [](std::optional<int64_t> n) { return n ? std::to_string(*n) : ""; };
    const std::string text = word(start) + ":" + word(stop) + ":" + std::to_string(step);
    const auto slice = parse_slice(text);
    ASSERT_TRUE(slice) << text;
    const auto chosen = resolve(*slice, {size});
    ASSERT_TRUE(chosen) << text;
    std::vector<int64_t> taken;
    for (int64_t i = 0; i < chosen->front().count; ++i) taken.push_back(chosen->front().at(i));
    EXPECT_EQ(taken, walked(start, stop, step, size)) << text << " of " << size;
  }
}

TEST(Slices, NeverLeaveTheirAxisWhateverNumbersAreTyped) {
  std::mt19937_64 draws(11);
  const int64_t extremes[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
  for (int round = 0; round < 20'000; ++round) {
    AxisSlice axis;
    if (draws() % 3 != 0) axis.start = extremes[draws() % 7];
    if (draws() % 3 != 0) axis.stop = extremes[draws() % 7];
    axis.step = extremes[draws() % 7];
    if (axis.step == 0) continue;
    const int64_t size = static_cast<int64_t>(draws() % 5);
    const ChosenAxis chosen = resolve({axis}, {size})->front();
    ASSERT_LE(chosen.count, size);
    for (int64_t i = 0; i < chosen.count; ++i) {
      ASSERT_GE(chosen.at(i), 0);
      ASSERT_LT(chosen.at(i), size);
    }
  }
}

TEST(Slices, FillTheAxesThatAreNotNamed) {
  const Selection chosen = *resolve(*parse_slice("1, ..., -1"), {2, 3, 4, 5});
  ASSERT_EQ(chosen.size(), 4U);
  EXPECT_EQ(chosen[1].count, 3);
  EXPECT_EQ(chosen[3].start, 4);
  EXPECT_EQ(count_of(chosen), 12);
  EXPECT_FALSE(single_element(chosen, {2, 3, 4, 5}));
  EXPECT_EQ(single_element(*resolve(*parse_slice("1,2"), {2, 3}), {2, 3}), 5);
}

TEST(Slices, SayWhatIsWrong) {
  for (const char* wrong :
       {"", "a", "1:2:3:4", "::0", "..., ...", "1.5", "1,,2", "99999999999999999999"}) {
    EXPECT_FALSE(parse_slice(wrong)) << wrong;
  }
  EXPECT_EQ(resolve(*parse_slice("3"), {3}).error().message,
            "index 3 of axis 0, which has 3 elements");
  EXPECT_EQ(resolve(*parse_slice("0,0"), {3}).error().message,
            "2 indices for a tensor of 1 axes, shape [3]");
}

TEST(TensorRefs, HaveANameAPartAndASlice) {
  const TensorRef ref = *parse_tensor_ref("y.expected[0, ::2]");
  EXPECT_EQ(ref.name, "y");
  EXPECT_EQ(ref.part, "expected");
  EXPECT_EQ(ref.slice.size(), 2U);
  EXPECT_EQ(parse_tensor_ref("layer.weight")->name, "layer.weight");
  for (const char* wrong : {"", "[0]", "y[0]z", ".error", "y[]"}) {
    EXPECT_FALSE(parse_tensor_ref(wrong)) << wrong;
  }
  EXPECT_EQ(element_name("y", {2, 3}, 5), "y[1, 2]");
  EXPECT_EQ(element_name("y", {}, 0), "y");
}

Tensor counted(DType dtype, const Shape& shape) {
  Tensor tensor = make_tensor(dtype, shape);
  for (int64_t i = 0; i < tensor.count(); ++i) {
    write_from_double(dtype, static_cast<double>(i),
                      tensor.data.data() + static_cast<size_t>(i) * byte_size(dtype));
  }
  return tensor;
}

TEST(TensorText, NestsBracketsAndAlignsColumns) {
  const Tensor tensor = counted(DType::Int32, {2, 3});
  EXPECT_EQ(tensor_text(tensor, whole(tensor.shape), {}), "[[0, 1, 2],\n [3, 4, 5]]");
  EXPECT_EQ(tensor_text(tensor, *resolve(*parse_slice("1, ::-2"), tensor.shape), {}), "[5, 3]");
  EXPECT_EQ(tensor_text(tensor, *resolve(*parse_slice("0,0"), tensor.shape), {}), "0");
  EXPECT_EQ(tensor_text(counted(DType::Int32, {0, 3}), whole({0, 3}), {}), "[]");
}

TEST(TensorText, ShowsTheEndsOfWhatIsLong) {
  const Tensor tensor = counted(DType::Int32, {2000});
  EXPECT_EQ(tensor_text(tensor, whole(tensor.shape), {}),
            "[   0,    1,    2, ..., 1997, 1998, 1999]");
}

TEST(TensorText, MarksElementsWithAndWithoutColour) {
  const Tensor tensor = counted(DType::Int32, {3});
  TextOptions options;
  options.marked = [](int64_t flat) { return flat == 1; };
  EXPECT_EQ(tensor_text(tensor, whole({3}), options), "[  0, *1*,   2]");
  options.colour = true;
  EXPECT_EQ(tensor_text(tensor, whole({3}), options), "[0, \x1b[1;31m1\x1b[0m, 2]");
}

TEST(Elements, ReadBackAsTheSameBits) {
  std::mt19937_64 draws(3);
  for (const DType dtype : {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
    for (int round = 0; round < 2'000; ++round) {
      std::byte element[8], again[8];
      const uint64_t bits = draws();
      std::memcpy(element, &bits, sizeof bits);
      const double value = read_as_double(dtype, element);
      if (value != value) continue;
      write_from_double(dtype, std::strtod(element_text(dtype, element).c_str(), nullptr), again);
      EXPECT_EQ(std::memcmp(element, again, byte_size(dtype)), 0)
          << name_of(dtype) << " " << element_text(dtype, element);
    }
  }
  const uint32_t one = 0x3f800000;
  EXPECT_EQ(hex_text(DType::Float32, reinterpret_cast<const std::byte*>(&one)), "0x3f800000");
}

}  // namespace
}  // namespace gpuemu::cli
