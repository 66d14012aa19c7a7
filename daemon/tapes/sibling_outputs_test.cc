// Tests outputs of one call that several entries of a tape share.
#include "daemon/tapes/sibling_outputs.h"

#include <cstdlib>
#include <cstring>
#include <span>

#include <gtest/gtest.h>

#include "daemon/tapes/local_device.h"

namespace gpuemu {
namespace {

using Operands = std::vector<TapeDevice::Operand>;

/// Tells the siblings when it goes, as the memory of a device does.
class Bytes final : public DeviceBytes {
 public:
  explicit Bytes(SiblingOutputs& siblings, int* alive = nullptr)
      : siblings_(siblings), alive_(alive) {
    if (alive_ != nullptr) ++*alive_;
  }
  ~Bytes() override {
    siblings_.forget_reader_of(this);
    if (alive_ != nullptr) --*alive_;
  }
  TapeDevice& device() const override { std::abort(); }
  Result<std::vector<std::byte>> download() const override { std::abort(); }

 private:
  SiblingOutputs& siblings_;
  int* const alive_;
};

TEST(SiblingOutputs, EachIsTakenOnceByTheSameCallOfTheSameInputs) {
  SiblingOutputs siblings;
  const auto x = std::make_shared<Bytes>(siblings), y = std::make_shared<Bytes>(siblings);
  const auto second = std::make_shared<Bytes>(siblings);
  const Operands of_x = {{{}, DType::Float32, x}}, of_y = {{{}, DType::Float32, y}};
  siblings.keep("split {}", of_x, {nullptr, second});
  EXPECT_EQ(siblings.take("split {}", of_y, 1), nullptr);
  EXPECT_EQ(siblings.take("join {}", of_x, 1), nullptr);
  EXPECT_EQ(siblings.take("split {}", of_x, 0), nullptr) << "its own entry has it";
  EXPECT_EQ(siblings.take("split {}", of_x, 2), nullptr);
  EXPECT_EQ(siblings.take("split {}", of_x, 1), second);
  EXPECT_EQ(siblings.take("split {}", of_x, 1), nullptr);
}

TEST(SiblingOutputs, GoWithTheirInputsAndWithTheNextCall) {
  SiblingOutputs siblings;
  int alive = 0;
  auto x = std::make_shared<Bytes>(siblings);
  const auto y = std::make_shared<Bytes>(siblings);
  siblings.keep("split {}", {{{}, DType::Float32, x}},
                {nullptr, std::make_shared<Bytes>(siblings, &alive)});
  EXPECT_EQ(alive, 1);
  x.reset();
  EXPECT_EQ(alive, 0) << "nobody can ask for it any more";
  siblings.keep("split {}", {{{}, DType::Float32, y}},
                {nullptr, std::make_shared<Bytes>(siblings, &alive)});
  siblings.clear();
  EXPECT_EQ(alive, 0);
  siblings.keep("draw {}", {}, {nullptr, std::make_shared<Bytes>(siblings, &alive)});
  EXPECT_EQ(alive, 0) << "nothing would say when it goes";
}

/// linear_bwd of x (2 x 3), w (4 x 3) and dy (2 x 4): an entry for one of its three outputs.
tape::Entry entry_of(const std::string& id, size_t output, Shape shape) {
  tape::Entry entry;
  entry.id = id;
  entry.op = "linear_bwd";
  entry.shape = std::move(shape);
  entry.dtype = DType::Float32;
  const std::string all =
      R"([{"shape": [2, 3], "dtype": "float32"}, {"shape": [4, 3], "dtype": "float32"},)"
      R"( {"shape": [4], "dtype": "float32"}])";
  entry.attrs = fmt::format(R"({{"outputs": {}, "output": {}}})", all, output);
  return entry;
}

TEST(SiblingOutputs, AreWhatTheOpMakesAndTheDeviceKeepsNone) {
  LocalTapeOptions options;
  options.device.backend = "emulator";
  options.device.threads = 1;
  auto opened = open_local_tape_device(options);
  ASSERT_TRUE(opened) << opened.error().message;
  const std::weak_ptr<TapeDevice> device = *opened;
  const auto upload = [&](std::vector<float> values) {
    auto made = (*opened)->upload(std::as_bytes(std::span(values)), "input");
    EXPECT_TRUE(made);
    return *std::move(made);
  };
  const auto sum = [](const DeviceCopy& copy) {
    const auto bytes = copy->download();
    EXPECT_TRUE(bytes);
    double all = 0;
    for (size_t i = 0; i + sizeof(float) <= bytes->size(); i += sizeof(float)) {
      float one = 0;
      std::memcpy(&one, bytes->data() + i, sizeof one);
      all += static_cast<double>(one);
    }
    return all;
  };
  {
    const Operands inputs = {{{2, 3}, DType::Float32, upload({1, 2, 3, 4, 5, 6})},
                             {{4, 3}, DType::Float32, upload(std::vector<float>(12, 1))},
                             {{2, 4}, DType::Float32, upload(std::vector<float>(8, 1))}};
    const auto dx = (*opened)->run(entry_of("dx", 0, {2, 3}), 0, inputs);
    const auto db = (*opened)->run(entry_of("db", 2, {4}), 0, inputs);
    const auto dw = (*opened)->run(entry_of("dw", 1, {4, 3}), 0, inputs);
    const auto again = (*opened)->run(entry_of("dw2", 1, {4, 3}), 0, inputs);
    ASSERT_TRUE(dx) << dx.error().message;
    ASSERT_TRUE(db && dw && again);
    EXPECT_EQ(sum(*dx), 24);
    EXPECT_EQ(sum(*db), 8);
    EXPECT_EQ(sum(*dw), 84);
    EXPECT_EQ(sum(*again), 84);
    EXPECT_NE(*dw, *again) << "one tensor each";
  }
  opened->reset();
  EXPECT_TRUE(device.expired()) << "kept outputs keep their device";
}

}  // namespace
}  // namespace gpuemu
