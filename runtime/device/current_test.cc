// Tests that each thread has its own current stream.
#include "runtime/device/current.h"

#include <thread>

#include <gtest/gtest.h>

#include "runtime/device/error_kind.h"

namespace gpuemu {
namespace {

class BareDevice final : public Device {
 public:
  const DeviceProperties& properties() const override { return properties_; }
  Result<uint64_t> allocate(uint64_t, const std::string&) override { return refuse(); }
  Status free(uint64_t) override { return refuse(); }
  Status upload(uint64_t, std::span<const std::byte>) override { return refuse(); }
  Status download(std::span<std::byte>, uint64_t) override { return refuse(); }
  Status fill(uint64_t, std::byte, uint64_t) override { return refuse(); }
  Result<uint64_t> make_texture(const TextureConfig&) override { return refuse(); }
  Status free_texture(uint64_t) override { return refuse(); }
  Result<ModuleId> load_module(const std::string&, const std::string&) override { return refuse(); }
  Status unload_module(ModuleId) override { return refuse(); }
  Result<std::vector<EntryInfo>> entries(ModuleId) override { return refuse(); }
  Result<LaunchReport> launch(ModuleId, const LaunchConfig&) override { return refuse(); }

 private:
  static Error refuse() { return error(ErrorCode::Unsupported, "bare"); }
  DeviceProperties properties_{.backend = "bare"};
};

TEST(Current, EachThreadHasItsOwnStreams) {
  BareDevice one, two;
  EXPECT_NE(one.serial(), two.serial());
  set_current_stream(one, 7);
  std::thread([&] {
    EXPECT_EQ(current_stream(one), kDefaultStream);
    set_current_stream(one, 9);
  }).join();
  EXPECT_EQ(current_stream(one), 7U);
  EXPECT_EQ(current_stream(two), kDefaultStream);
  {
    const StreamScope scope(one, 8);
    EXPECT_EQ(current_stream(one), 8U);
  }
  EXPECT_EQ(current_stream(one), 7U);
  set_current_stream(one, kDefaultStream);
  EXPECT_EQ(current_stream(one), kDefaultStream);
}

TEST(Device, WithoutStreamsSaysSo) {
  BareDevice device;
  const auto streams = device.streams();
  ASSERT_FALSE(streams);
  EXPECT_EQ(kind_of(streams.error()), ErrorKind::Unsupported);
}

TEST(ErrorKind, TellsWhatToDo) {
  const auto named = [](ErrorCode code) { return name_of(kind_of({code, ""})); };
  EXPECT_EQ(named(ErrorCode::Unavailable), "device");
  EXPECT_EQ(named(ErrorCode::ResourceExhausted), "out-of-memory");
  EXPECT_EQ(named(ErrorCode::Unsupported), "unsupported");
  EXPECT_EQ(named(ErrorCode::Launch), "launch");
  EXPECT_EQ(named(ErrorCode::Timeout), "launch");
  EXPECT_EQ(named(ErrorCode::Compile), "compile");
  EXPECT_EQ(named(ErrorCode::NotFound), "module");
  EXPECT_EQ(named(ErrorCode::InvalidArgument), "argument");
  EXPECT_EQ(named(ErrorCode::Io), "other");
}

TEST(DtypesOf, GrowWithTheArchitecture) {
  const auto has = [](int sm, const std::string& name) {
    const auto all = dtypes_of(sm);
    return std::find(all.begin(), all.end(), name) != all.end();
  };
  EXPECT_TRUE(has(75, "float16"));
  EXPECT_FALSE(has(75, "bfloat16"));
  EXPECT_TRUE(has(80, "bfloat16"));
  EXPECT_FALSE(has(80, "float8_e4m3"));
  EXPECT_TRUE(has(90, "float8_e5m2"));
}

}  // namespace
}  // namespace gpuemu
