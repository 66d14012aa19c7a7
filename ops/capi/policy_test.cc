// Tests the choice of kernels by policy and folder through the C interface: what is preferred, what
// is skipped and why, which timings are remembered.
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "ops/capi/op_call.h"

namespace {

namespace fs = std::filesystem;

constexpr int64_t kSize = 4;
constexpr size_t kBytes = kSize * kSize * sizeof(float);

/// A context, and what its log said of each call.
class Program {
 public:
  explicit Program(const std::string& policy, const std::string& folder = "") {
    gpuemu_options options{};
    options.struct_bytes = sizeof options;
    options.backend = "emulator";
    options.threads = 1;
    options.policy = policy.empty() ? nullptr : policy.c_str();
    options.folder = folder.empty() ? nullptr : folder.c_str();
    EXPECT_EQ(gpuemu_context_create(&options, &context_), GPUEMU_OK) << gpuemu_last_error();
    EXPECT_EQ(gpuemu_context_set_log(context_, note, this), GPUEMU_OK);
    for (void*& one : memory_) {
      EXPECT_EQ(gpuemu_memory_allocate(context_, kBytes, &one), GPUEMU_OK);
      EXPECT_EQ(gpuemu_memory_fill(context_, one, 0, kBytes, 0), GPUEMU_OK);
    }
  }
  ~Program() { gpuemu_context_destroy(context_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// "gemm: small, first supported; ..."
  std::string call(const char* op, uint32_t inputs) {
    const std::array<int64_t, 2> shape = {kSize, kSize};
    std::array<gpuemu_tensor, 3> tensors{};
    for (size_t i = 0; i < tensors.size(); ++i) {
      tensors[i] = {memory_[i], GPUEMU_FLOAT32, 2, shape.data(), nullptr};
    }
    gpuemu_call call{};
    call.struct_bytes = sizeof call;
    EXPECT_EQ(gpuemu_op_find(context_, op, &call.op), GPUEMU_OK);
    call.inputs = tensors.data();
    call.input_count = inputs;
    call.outputs = &tensors[2];
    call.output_count = 1;
    EXPECT_EQ(gpuemu_op_call(context_, &call), GPUEMU_OK) << gpuemu_last_error();
    return last_;
  }
  gpuemu_code set_policy(const std::string& policy) {
    return gpuemu_context_set_policy(context_, policy.empty() ? nullptr : policy.c_str());
  }

 private:
  static void note(void* user, const char* line) { static_cast<Program*>(user)->last_ = line; }

  gpuemu_context* context_ = nullptr;
  std::array<void*, 3> memory_{};
  std::string last_;
};

class PolicyFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::temp_directory_path() / fmt::format("gpuemu-policy-{}", ::getpid())).string();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + "/" + name) << text;
    return folder_ + "/" + name;
  }
  /// Path of the only timings that the folder has.
  std::string timings_file() const {
    for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
      if (entry.path().extension() == ".timings") return entry.path().string();
    }
    ADD_FAILURE() << "no timings in " << folder_;
    return "";
  }
  static std::string text_of(const std::string& path) {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  std::string folder_;
};

constexpr const char* kFastest = "strategy = \"best_performance\"\n";

TEST_F(PolicyFiles, PreferAVariantInEitherLanguage) {
  EXPECT_EQ(Program("").call("softmax", 1).find("softmax: online, first supported; "), 0U);
  const std::string toml = file("p.toml", "[prefer]\nsoftmax = \"block_per_row\"\n");
  const std::string json = file("p.json", R"({"prefer": {"softmax": "block_per_row"}})");
  for (const std::string& policy : {toml, json}) {
    EXPECT_EQ(Program(policy).call("softmax", 1).find("softmax: block_per_row, preferred; "), 0U)
        << policy;
  }
}

TEST_F(PolicyFiles, ReplaceThatOfARunningProgram) {
  Program program("");
  EXPECT_EQ(program.call("softmax", 1).find("softmax: online, first supported; "), 0U);
  const std::string preferred = file("p.toml", "[prefer]\nsoftmax = \"block_per_row\"\n");
  ASSERT_EQ(program.set_policy(preferred), GPUEMU_OK) << gpuemu_last_error();
  EXPECT_EQ(program.call("softmax", 1).find("softmax: block_per_row, preferred; "), 0U);
  const std::string wrong = file("wrong.toml", "[prefer]\nsoftmax = \"nothing\"\n");
  EXPECT_EQ(program.set_policy(wrong), GPUEMU_INVALID_ARGUMENT);
  EXPECT_EQ(program.call("softmax", 1).find("softmax: block_per_row, preferred; "), 0U)
      << "a refused file changes nothing";
  ASSERT_EQ(program.set_policy(""), GPUEMU_OK);
  EXPECT_EQ(program.call("softmax", 1).find("softmax: online, first supported; "), 0U);
}

TEST_F(PolicyFiles, APreferredVariantThatCannotIsPassedOverWithOneWarning) {
  Program program(file("p.toml", "[prefer]\ngemm = \"mma\"\n"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(program.call("gemm", 2).find("gemm: small, first supported; "), 0U);
  EXPECT_EQ(program.call("gemm", 2).find("gemm: small, first supported; "), 0U);
  const std::string warned = testing::internal::GetCapturedStderr();
  const std::string begin = "gpuemu: gemm: the preferred variant 'mma' is not used: ";
  EXPECT_EQ(warned.find(begin), 0U) << warned;
  EXPECT_NE(warned.find("float32", begin.size()), std::string::npos) << "no reason: " << warned;
  EXPECT_EQ(warned.find(begin, 1), std::string::npos) << "twice: " << warned;
}

TEST_F(PolicyFiles, TheFastestIsRememberedForTheNextProcess) {
  const std::string policy = file("p.toml", kFastest);
  const auto chosen = [](const std::string& line) { return line.substr(0, line.find("; ")); };
  const std::string first = chosen(Program(policy, folder_).call("softmax", 1));
  EXPECT_NE(first.find(", fastest of 2: "), std::string::npos) << first;
  const std::string written = text_of(timings_file());
  EXPECT_EQ(chosen(Program(policy, folder_).call("softmax", 1)), first);
  EXPECT_EQ(text_of(timings_file()), written);
}

TEST_F(PolicyFiles, AVariantWhoseModuleHasChangedIsTimedAgain) {
  const std::string policy = file("p.toml", kFastest);
  Program(policy, folder_).call("softmax", 1);
  const std::string path = timings_file(), written = text_of(path);
  // Lines of "variant, hash, microseconds", which claim that block_per_row takes no time.
  const size_t name = written.find("\nblock_per_row\t") + 1;
  const size_t hash = written.find('\t', name) + 1, time = written.find('\t', hash) + 1;
  const size_t end = written.find('\n', time);
  std::string quick = written;
  quick.replace(time, end - time, "0.001");
  file(fs::relative(path, folder_).string(), quick);
  EXPECT_EQ(Program(policy, folder_)
                .call("softmax", 1)
                .find("softmax: block_per_row, fastest of 2: 0.0 us"),
            0U)
      << "what is on disk for this code is believed";
  std::string stale = quick;
  stale.replace(hash, time - 1 - hash, "0123456789abcdef");
  file(fs::relative(path, folder_).string(), stale);
  const std::string again = Program(policy, folder_).call("softmax", 1);
  EXPECT_EQ(again.find("fastest of 2: 0.0 us"), std::string::npos) << again;
  EXPECT_EQ(text_of(path).substr(hash, time - hash), written.substr(hash, time - hash));
}

}  // namespace
