// Round trips of records filled with random values, and of base64 at every length.
#include <bit>
#include <chrono>
#include <cmath>
#include <functional>
#include <random>
#include <utility>
#include <variant>

#include <gtest/gtest.h>

#include "common/codec/base64.h"
#include "common/codec/enums.gen.h"
#include "common/codec/json_codec.h"
#include "common/codec/json_writer.h"

namespace gpuemu {
namespace {

/// Walks the same member lists as the codec and fills every member.
class Filler {
 public:
  explicit Filler(uint64_t seed) : random_(seed) {}

  template <typename T>
  void required(const char*, T& value) {
    fill(value);
  }
  template <typename T>
  void optional(const char*, T& value) {
    fill(value);
  }
  template <typename T>
  void extra(const char*, T& value) {
    fill(value);
  }
  void diff(const char*, double& value) { fill(value); }
  void at_most(const char*, uint64_t& value, uint64_t limit) { value %= limit + 1; }
  void at_most(const char*, std::optional<uint64_t>& value, uint64_t limit) {
    if (value) at_most("", *value, limit);
  }
  template <typename T>
  void at_most(const char*, std::vector<T>&, uint64_t) {}  // Filled with a few elements.
  void lower_case(const char*, LayoutKind& value) { fill(value); }
  void json_text(const char*, std::string& json) { json = R"({"a":[1,"b"]})"; }

  void fill(bool& value) { value = random_() % 2 == 0; }
  void fill(double& value) {
    do {
      value = std::bit_cast<double>(random_());
    } while (!std::isfinite(value));
  }
  void fill(std::string& value) {
    constexpr std::string_view kPieces[] = {"a", "\"", "\\", "\n", "\xc3\xa9", "\xf0\x9f\x98\x80",
                                            "/", " ",  "z:", "\t"};
    value.clear();
    for (auto left = random_() % 6; left > 0; --left) value += kPieces[random_() % 10];
  }
  void fill(DType& value) { value = static_cast<DType>(random_() % kDTypeCount); }
#define GPUEMU_FILL_ENUM(Type, parse) \
  void fill(Type& value) { fill_enum(value, kLast##Type); }
  GPUEMU_WIRE_ENUMS(GPUEMU_FILL_ENUM)
#undef GPUEMU_FILL_ENUM
  void fill(std::byte& value) { value = static_cast<std::byte>(random_()); }
  void fill(Tensor& tensor) {
    DType dtype{};
    fill(dtype);
    tensor = make_tensor(dtype, Shape(random_() % 4, static_cast<int64_t>(random_() % 4)));
    for (std::byte& byte : tensor.data) fill(byte);
  }
  void fill(CaseInput& input) {
    fill(input.tensor);
    fill(input.strides);
  }
  template <std::integral T>
  void fill(T& value) {
    value = static_cast<T>(random_() >> (random_() % 64));
  }
  template <typename T>
  void fill(std::optional<T>& value) {
    value.reset();
    if (random_() % 2 == 0) fill(value.emplace());
  }
  template <typename T>
  void fill(std::vector<T>& values) {
    values.resize(random_() % 4);
    for (T& value : values) fill(value);
  }
  template <typename T>
  void fill(std::map<std::string, T>& values) {
    values.clear();
    for (auto left = random_() % 3; left > 0; --left) {
      std::string name;
      fill(name);
      fill(values[name]);
    }
  }
  template <typename T>
    requires std::is_class_v<T>
  void fill(T& record) {
    fields(*this, record);
  }

 private:
  template <typename Enum>
  void fill_enum(Enum& value, Enum last) {
    value = static_cast<Enum>(random_() % (static_cast<size_t>(last) + 1));
  }

  std::mt19937_64 random_;
};

template <typename Record>
Record filled(uint64_t seed) {
  Record record;
  Filler(seed).fill(record);
  return record;
}

template <typename Message>
void for_every_alternative(uint64_t seed, const std::function<void(const Message&)>& check) {
  const auto check_each = [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
    (check(filled<std::variant_alternative_t<kIndex, typename Message::Alternatives>>(seed * 100 +
                                                                                      kIndex)),
     ...);
  };
  check_each(std::make_index_sequence<std::variant_size_v<typename Message::Alternatives>>());
}

TEST(RandomRecords, EveryReplyReadsBackAsItWasWritten) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for_every_alternative<Reply>(seed, [&](const Reply& reply) {
      const std::string json = encode_reply(reply);
      const auto again = decode_reply(json);
      ASSERT_TRUE(again) << "seed " << seed << "\n" << json << "\n" << again.error().message;
      EXPECT_EQ(*again, reply) << "seed " << seed << "\n" << json;
    });
  }
}

TEST(RandomRecords, EveryRequestReadsBackAsItWasWritten) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for_every_alternative<Request>(seed, [&](const Request& filled) {
      Request request = filled;
      if (auto* fuzz = std::get_if<FuzzOpRequest>(&request)) {
        fuzz->config.reset();
        if (!fuzz->fuzz_config) fuzz->fuzz_config = FuzzConfig{};
      }
      const std::string json = encode_request(request);
      const auto again = decode_request(json);
      ASSERT_TRUE(again) << "seed " << seed << "\n" << json << "\n" << again.error().message;
      EXPECT_EQ(*again, request) << "seed " << seed << "\n" << json;
    });
  }
}

TEST(RandomRecords, AChangedByteNeverCrashesTheDecoder) {
  std::mt19937_64 random(7);
  for_every_alternative<Request>(3, [&](const Request& request) {
    const std::string json = encode_request(request);
    for (int i = 0; i < 200; ++i) {
      std::string damaged = json;
      damaged[random() % damaged.size()] = static_cast<char>(random());
      const auto decoded = decode_request(damaged);
      if (!decoded) {
        EXPECT_EQ(decoded.error().code, ErrorCode::InvalidArgument);
      }
    }
  });
}

TEST(Base64, RoundTripsAtEveryLengthAndRefusesOtherCharacters) {
  std::mt19937 random(1);
  for (size_t length = 0; length < 100; ++length) {
    std::vector<std::byte> bytes(length);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    std::string text = encode_base64(bytes);
    const auto decoded = decode_base64(text);
    ASSERT_TRUE(decoded) << text;
    EXPECT_EQ(*decoded, bytes);
    if (text.empty()) continue;
    text[random() % text.size()] = '-';
    EXPECT_FALSE(decode_base64(text)) << text;
  }
  EXPECT_FALSE(decode_base64("===="));
  EXPECT_FALSE(decode_base64("A==="));
  EXPECT_FALSE(decode_base64("AA=A"));
  EXPECT_FALSE(decode_base64("AB=="));
}

TEST(Base64, PrintsItsSpeed) {
  const std::vector<std::byte> bytes(size_t{16} << 20, std::byte{0x5a});
  const auto start = std::chrono::steady_clock::now();
  const std::string text = encode_base64(bytes);
  const auto middle = std::chrono::steady_clock::now();
  ASSERT_TRUE(decode_base64(text));
  const auto end = std::chrono::steady_clock::now();
  const auto rate = [&](auto time) {
    return static_cast<double>(bytes.size()) / std::chrono::duration<double>(time).count() / 1e9;
  };
  printf("base64: encode %.2f GB/s, decode %.2f GB/s\n", rate(middle - start), rate(end - middle));
}

}  // namespace
}  // namespace gpuemu
