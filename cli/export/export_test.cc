// Tests names that would lead out of the folder, and the formats of numbers and texts.
#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "cli/export/export_folder.h"
#include "cli/export/npy.h"

namespace gpuemu::cli {
namespace {

ExportedCaseReply hostile_case() {
  ExportedCaseReply exported;
  exported.result.op_name = "../../../etc/passwd";
  exported.result.seed = 18446744073709551615u;
  exported.result.failures.push_back({.kind = FindingKind::OutOfBounds, .message = "a \"b\"\n"});
  exported.nan_policy = "match";
  for (const char* name : {"../../x", "/etc/passwd", "..", "", "a\nb", "very/long"}) {
    ExportedTensor tensor{.name = name, .role = TensorRole::Input, .shape = {2}};
    exported.inputs[name] = make_tensor(DType::Float32, {2});
    exported.tensors.push_back(tensor);
  }
  exported.launches.push_back({.entry = "k\"; evil();//", .grid = {1, 1, 1}, .block = {1, 1, 1}});
  for (const char* source : {"../k.cu", "/root/.bashrc", ".hidden", "a/../../b.cu", "a b.cu",
                             "good.cu", "sub/good.cuh"}) {
    exported.sources[source] = "text";
  }
  return exported;
}

TEST(Export, NoNameLeadsOutOfTheFolder) {
  size_t inputs = 0;
  for (const auto& [name, text] : export_files(hostile_case())) {
    const std::filesystem::path path(name);
    EXPECT_TRUE(path.is_relative()) << name;
    EXPECT_EQ(path.lexically_normal(), path) << name;
    EXPECT_EQ(name.find(".."), std::string::npos) << name;
    inputs += name.starts_with("inputs/") ? 1 : 0;
  }
  EXPECT_EQ(inputs, 6u) << "each tensor has a file of its own";
}

TEST(Export, KeepsThoseSourcesWhosePathsAreHarmless) {
  const auto files = export_files(hostile_case());
  std::vector<std::string> sources;
  for (const auto& [name, text] : files) {
    if (name.starts_with("kernel/")) sources.push_back(name);
  }
  EXPECT_EQ(sources, (std::vector<std::string>{"kernel/good.cu", "kernel/sub/good.cuh"}));
}

TEST(Export, TextsStayInsideTheirLiterals) {
  EXPECT_EQ(c_string("a\"b\\c\n?"), R"("a\042b\134c\012\077")");
  const std::string header = export_files(hostile_case()).at("case.h");
  EXPECT_NE(header.find(R"("k\042; evil();//")"), std::string::npos) << header;
}

TEST(Export, SeedsAreTextSoThatNobodyRoundsThem) {
  const auto files = export_files(hostile_case());
  EXPECT_NE(files.at("case.json").find("\"18446744073709551615\""), std::string::npos);
}

TEST(Npy, SaysShapeAndTypeAndAlignsTheData) {
  const std::string text = npy_text(make_tensor(DType::Float16, {3, 2}));
  EXPECT_EQ(text.substr(0, 6), "\x93NUMPY");
  EXPECT_EQ((text.size() - 12) % 64, 0u);
  EXPECT_NE(text.find("{'descr': '<f2', 'fortran_order': False, 'shape': (3, 2), }"),
            std::string::npos);
}

TEST(Npy, OneDimensionHasItsCommaAndNoneHasNothing) {
  EXPECT_NE(npy_text(make_tensor(DType::Int8, {4}))
                .find("'|i1', 'fortran_order': False, 'shape': (4, ),"),
            std::string::npos);
  EXPECT_NE(
      npy_text(make_tensor(DType::UInt64, {})).find("'<u8', 'fortran_order': False, 'shape': (),"),
      std::string::npos);
  EXPECT_NE(npy_text(make_tensor(DType::BFloat16, {1})).find("'<u2'"), std::string::npos);
}

}  // namespace
}  // namespace gpuemu::cli
