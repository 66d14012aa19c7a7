// Shared by the tests of both reference forms: scripts in a temporary folder, and small float
// tensors.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>

#include <gtest/gtest.h>

#include "daemon/reference/reference_process.h"

namespace gpuemu {

class ReferenceTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/gpuemu-reference-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern), nullptr);
    folder_ = pattern;
    if (!process_) {
      auto arena = Arena::create();
      ASSERT_TRUE(arena);
      arena_ = *std::move(arena);
      ASSERT_TRUE(arena_.grow(1 << 20));
      process_ =
          std::make_unique<ReferenceProcess>(ReferenceOptions{"/usr/bin/python3", "/"}, arena_);
    }
    set_inputs({1, 2, 3});
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write_script(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    return path;
  }

  template <typename T>
  void put(uint64_t offset, const std::vector<T>& values) {
    auto range = arena_.range(offset, values.size() * sizeof(T));
    ASSERT_TRUE(range);
    std::memcpy(range->data(), values.data(), values.size() * sizeof(T));
  }

  void set_inputs(const std::vector<float>& x) {
    put(0, x);
    request_.inputs = {{"x", DType::Float32, {static_cast<int64_t>(x.size())}, 0}};
    request_.output_names = {"y"};
    request_.result_offset = 4096;
    request_.timeout_ms = 60'000;
  }

  Result<ReferenceReply> ask(const std::string& script_text) {
    request_.script = write_script(std::to_string(++scripts_) + ".py", script_text);
    return again();
  }
  Result<ReferenceReply> again() {
    GPUEMU_TRY(process_->begin(request_));
    return process_->finish();
  }

  template <typename T>
  std::vector<T> values(const ReferenceTensor& tensor) {
    EXPECT_TRUE(arena_.refresh());
    std::vector<T> out(static_cast<size_t>(element_count(tensor.shape)));
    auto range = arena_.range(tensor.arena_offset, out.size() * sizeof(T));
    EXPECT_TRUE(range) << "offset " << tensor.arena_offset;
    if (range) std::memcpy(out.data(), range->data(), out.size() * sizeof(T));
    return out;
  }

  /// Returns the error of a script that must fail. The process must still work afterwards.
  Error failure_of(const std::string& script_text) {
    auto reply = ask(script_text);
    EXPECT_FALSE(reply);
    expect_alive();
    return reply ? Error{} : reply.error();
  }
  void expect_alive() {
    const ReferenceRequest saved = request_;
    request_.process_only = false;
    request_.timeout_ms = 60'000;
    auto reply = ask("def reference(x):\n  return x + 1\n");
    ASSERT_TRUE(reply) << reply.error().message;
    EXPECT_EQ(values<double>(reply->outputs.at(0)).at(0), 2.0);
    request_ = saved;
  }

  std::string folder_;
  // One process for all tests, as in the daemon, so that effects of one test would show in the
  // next.
  static inline Arena arena_;
  static inline std::unique_ptr<ReferenceProcess> process_;
  ReferenceRequest request_;
  int scripts_ = 0;
};

}  // namespace gpuemu
