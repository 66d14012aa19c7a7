#include "cli/archive/project_files.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

/// A private folder, removed with the object.
class ProjectFilesTest : public ::testing::Test {
 protected:
  ProjectFilesTest() {
    std::string name = (fs::temp_directory_path() / "gpuemu-archive-XXXXXX").string();
    root_ = ::mkdtemp(name.data());
    config_.folder = (root_ / "repo/gpu").string();
    config_.file = (root_ / "repo/gpu/gpuemu.toml").string();
    write("repo/gpu/gpuemu.toml", "[project]\n");
  }
  ~ProjectFilesTest() override { fs::remove_all(root_); }

  std::string write(const std::string& path, const std::string& text) {
    const fs::path file = root_ / path;
    fs::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file.string();
  }
  void add_op(const std::string& reference, const std::string& source) {
    OpConfig op;
    op.reference = reference;
    config_.ops.push_back(op);
    KernelConfig kernel;
    kernel.source = source;
    config_.kernels.push_back(kernel);
  }

  fs::path root_;
  Config config_;
};

TEST_F(ProjectFilesTest, AProjectThatNeedsNothingElseIsItsFolder) {
  add_op(write("repo/gpu/ref.py", ""), write("repo/gpu/k.cu", ""));
  write("repo/other.py", "");
  const ProjectFiles made = project_files(config_);
  EXPECT_EQ(made.config, "gpuemu.toml");
  EXPECT_EQ(made.files.size(), 3U);
  EXPECT_TRUE(made.left_out.empty());
}

TEST_F(ProjectFilesTest, WhatLiesOutsideComesFromTheFolderAroundBoth) {
  const std::string source = write("repo/src/k.cu", "#include \"deep/k.h\"\n");
  write("repo/src/deep/k.h", "");
  write("repo/src/unrelated.py", "");
  const std::string reference =
      write("repo/refs/ref.py",
            "import numpy as np\nfrom helpers.sums import total\nw = np.load('w.npy')\n");
  write("repo/refs/helpers/__init__.py", "");
  write("repo/refs/helpers/sums.py", "from .more import x\n");
  write("repo/refs/helpers/more.py", "");
  write("repo/refs/w.npy", "1");
  write("repo/refs/secret.txt", "1");
  add_op(reference, source);
  const ProjectFiles made = project_files(config_);
  EXPECT_EQ(made.config, "gpu/gpuemu.toml");
  std::vector<std::string> paths;
  for (const auto& [path, content] : made.files) paths.push_back(path);
  EXPECT_EQ(paths,
            (std::vector<std::string>{"gpu/gpuemu.toml", "refs/helpers/__init__.py",
                                      "refs/helpers/more.py", "refs/helpers/sums.py", "refs/ref.py",
                                      "refs/w.npy", "src/deep/k.h", "src/k.cu"}));
  EXPECT_TRUE(made.left_out.empty());
}

TEST_F(ProjectFilesTest, AbsolutePathsOfTheProjectFileBecomeRelative) {
  const std::string source = write("repo/src/k.cu", "#include <k.h>\n");
  const std::string folder = fs::path(write("repo/include/k.h", "")).parent_path().string();
  const std::string reference = write("repo/gpu/ref.py", "");
  add_op(reference, source);
  config_.include_dirs = {folder};
  write("repo/gpu/gpuemu.toml",
        "source = \"" + source + "\"  # not '" + source + "'\nreference = '" + reference +
            ":softmax'\ncompile_flags = [\"-I" + folder + "\", \"-I/usr/include\"]\n");
  const ProjectFiles made = project_files(config_);
  EXPECT_EQ(made.files.at("gpu/gpuemu.toml"),
            "source = \"../src/k.cu\"  # not '" + source +
                "'\nreference = 'ref.py:softmax'\ncompile_flags = [\"-I../include\", "
                "\"-I/usr/include\"]\n");
}

TEST_F(ProjectFilesTest, WhatNoPathOfAnArchiveReachesIsLeftOut) {
  const std::string hidden = write("repo/.refs/ref.py", "");
  const std::string source = write("repo/src/k.cu", "");
  const std::string missing = (root_ / "repo/gone.cu").string();
  add_op(hidden, source);
  add_op("", missing);
  const ProjectFiles made = project_files(config_);
  EXPECT_EQ(made.left_out, (std::vector<std::string>{hidden, missing}));
  EXPECT_TRUE(made.files.contains("src/k.cu"));
}

}  // namespace
}  // namespace gpuemu::cli
