// The null device refuses every call.
#include "runtime/null/null_device.h"

#include <gtest/gtest.h>

namespace gpuemu {
namespace {

TEST(NullDevice, AnswersUnsupportedEverywhere) {
  const auto device = make_null_device();
  EXPECT_EQ(device->properties().backend, "null");
  EXPECT_EQ(device->allocate(16, "x").error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->free(0).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->upload(0, {}).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->download({}, 0).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->fill(0, std::byte{0}, 0).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->make_texture({}).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->free_texture(1).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->load_module("", "m").error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->unload_module(1).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->entries(1).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(device->launch(1, {}).error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace gpuemu
