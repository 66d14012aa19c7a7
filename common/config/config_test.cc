// Tests gpuemu.toml as users write it, right and wrong: golden files, layers and random changes.
#include "common/config/config.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <sstream>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "common/base/files.h"
#include "common/config/start_settings.h"
#include "common/config/test_config.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(GPUEMU_SOURCE_DIR) / "tests/golden/config";

std::string text_of(const fs::path& file) {
  auto text = read_file(file, 1 << 20);
  return text ? *text : "";
}

/// The lines "# WORD: LINE:COL: part" of a golden file.
std::vector<std::string> expectations(const std::string& text, const std::string& word) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const std::string mark = "# " + word + ": ";
    if (line.starts_with(mark)) lines.push_back(line.substr(mark.size()));
  }
  return lines;
}

// Each expected line is the beginning of a problem's text, and there are no others.
void expect_all(const std::vector<std::string>& expected, const std::vector<ConfigProblem>& actual,
                const std::string& file) {
  std::string all;
  for (const ConfigProblem& problem : actual) all += problem.text() + "\n";
  EXPECT_EQ(expected.size(), actual.size()) << all;
  for (const std::string& line : expected) {
    EXPECT_TRUE(std::ranges::any_of(actual,
                                    [&](const ConfigProblem& problem) {
                                      return problem.text().starts_with(file + ":" + line);
                                    }))
        << file << ": not reported: " << line;
  }
}

TEST(ConfigGolden, EveryBadFileReportsExactlyWhatItExpects) {
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(kGolden)) {
    const std::string file = entry.path().filename();
    if (!file.starts_with("bad_")) continue;
    ++files;
    const std::string text = text_of(entry.path());
    const ConfigResult result = parse_config(text, file);
    EXPECT_FALSE(result.config) << file;
    EXPECT_FALSE(expectations(text, "expect").empty()) << file;
    expect_all(expectations(text, "expect"), result.problems, file);
  }
  EXPECT_GE(files, 7u);
}

TEST(ConfigGolden, EveryGoodFileLoadsWithTheWarningsItExpects) {
  for (const std::string file : {"good_full.toml", "good_client.toml", "good_kernel_only.toml"}) {
    const std::string text = text_of(kGolden / file);
    const ConfigResult result = parse_config(text, file);
    ASSERT_TRUE(result.config) << result.text();
    expect_all(expectations(text, "warn"), result.config->warnings, file);
  }
}

std::string with(std::string text, const std::string& old_part, const std::string& new_part) {
  return text.replace(text.find(old_part), old_part.size(), new_part);
}

TEST(Config, ReadsTheWholeExampleOfTheDocument) {
  const Config config = good(text_of(kGolden / "good_full.toml"));
  ASSERT_EQ(config.kernels[0].launches[0].cluster.size(), 1u);
  EXPECT_EQ(config.kernels[0].launches[0].cluster[0].text(), "1");
  ASSERT_EQ(config.ops.size(), 1u);
  const OpConfig& op = config.ops[0];
  EXPECT_EQ(config.contraction, "never");
  EXPECT_EQ(op.mode, ExecutionMode::Kernel);
  EXPECT_EQ(op.inputs[0].range, (std::pair{-10.0, 10.0}));
  EXPECT_EQ(op.dtypes, (std::vector{DType::Float32, DType::Float16}));
  EXPECT_EQ(op.nan_policy, NanPolicy::Class);
  ASSERT_EQ(op.invariants.size(), 2u);
  EXPECT_EQ(op.invariants[1].numbers.at("axis"), -1);
  const KernelConfig& kernel = config.kernels[0];
  EXPECT_EQ(kernel.launches[0].entry, "softmax<{ctype}>");
  EXPECT_EQ(*kernel.launches[0].block[0].evaluate({.integers = {{"cols", 100}}}), 128);
  EXPECT_EQ(kernel.launches[0].args[4].kind, LaunchSpec::Arg::Kind::Number);
  EXPECT_EQ(kernel.launches[0].args[4].dtype, DType::Float32);
  EXPECT_EQ(kernel.artifact_checks.limits.min_occupancy, 0.5);
  EXPECT_TRUE(config.tolerance_for(op, DType::BFloat16, "y").automatic);
  EXPECT_EQ(config.tolerance_for(op, DType::Float16, "y").atol, 2e-3);
  EXPECT_EQ(config.tolerance_for(op, DType::Float32, "y").rtol, 1e-5);
}

TEST(Config, TheFirstExampleOfTheDocumentIsAnOpByItself) {
  const std::string page = text_of(fs::path(GPUEMU_SOURCE_DIR) / "docs/reference/config.md");
  const size_t start = page.find("```toml\n") + 8;
  const Config config = good(page.substr(start, page.find("```", start) - start));
  ASSERT_EQ(config.ops.size(), 1u);
  EXPECT_EQ(config.ops[0].name, "scale");
  EXPECT_EQ(config.ops[0].kernels, std::vector<std::string>{"scale"});
}

TEST(Config, WithoutAnyTextHoldsTheDefaults) {
  const Config config = good("");
  EXPECT_EQ(config.name, "unnamed");
  EXPECT_EQ(config.backend, "auto");
  EXPECT_EQ(config.cases, 64u);
  EXPECT_EQ(config.dtypes, std::vector{DType::Float32});
  EXPECT_TRUE(config.ops.empty());
  EXPECT_EQ(config.ci_parallel_jobs, 4u);
}

TEST(Config, AKernelsOpDefaultsToAutoToleranceAndANanPolicy) {
  Config config = good(kOneKernel);
  EXPECT_TRUE(config.ops[0].has_nan_policy);
  EXPECT_EQ(config.ops[0].nan_policy, NanPolicy::Match);
  EXPECT_FALSE(config.ops[0].nan_policy_given);
  EXPECT_EQ(config.ops[0].layouts, std::vector{MemoryLayout::Contiguous});
  EXPECT_EQ(config.ops[0].outputs[0].dtype, "float16");
  EXPECT_EQ(config.ops[0].inputs[0].dtype, "{dtype}");
  EXPECT_EQ(config.ops[0].input_names, std::vector<std::string>{"x"});
  EXPECT_TRUE(config.tolerance_for(config.ops[0], DType::Float32, "y").automatic);
  config = good(std::string(kOneKernel) + "accumulate = \"n\"\n");
  EXPECT_EQ(config.ops[0].nan_policy, NanPolicy::Class);
}

TEST(Config, AnOpOfAnExistingClientHasNoNanPolicyAndFixedTolerances) {
  const Config config = good("[[ops]]\nname = \"a\"\nreference = \"a.py\"\n");
  EXPECT_FALSE(config.ops[0].has_nan_policy);
  EXPECT_EQ(config.ops[0].mode, ExecutionMode::ClientSide);
  EXPECT_EQ(config.tolerance_for(config.ops[0], DType::Float32, "y").atol, 1e-5);
  EXPECT_EQ(config.tolerance_for(config.ops[0], DType::BFloat16, "y").atol, 1e-3);
  EXPECT_EQ(config.tolerance_for(config.ops[0], DType::Int32, "y").atol, 0);
}

TEST(Config, ABareToleranceIsAbsoluteAndTheNearestTableWins) {
  Config config = good(std::string("[validation.tolerances]\nf32 = 1\nf64 = 4\n") + kOneKernel);
  EXPECT_EQ(config.tolerance_for(config.ops[0], DType::Float32, "y").atol, 1);
  EXPECT_EQ(config.tolerance_for(config.ops[0], DType::Float32, "y").rtol, 0);
  config.kernels[0].tolerances[DType::Float32].atol = 2;
  EXPECT_EQ(config.tolerance_for(config.ops[0], DType::Float32, "y").atol, 2);
  config.ops[0].tolerances[DType::Float32].atol = 3;
  EXPECT_EQ(config.tolerance_for(config.ops[0], DType::Float32, "y").atol, 3);
  EXPECT_EQ(config.tolerance_for(config.ops[0], DType::Float64, "y").atol, 4);
}

const char kMatrixKernel[] = R"toml(
[[kernels]]
name = "k"
source = "k.cu"
launches = [{ entry = "k", grid = 1, block = 32,
              args = ["x", "y", "i64:stride(x, 0)", "i64:stride(y, 0)", "i64:stride(y, -1)"] }]
[[ops]]
name = "op"
reference = "op.py"
kernel = "k"
inputs = [{ name = "x", shape = ["m", "n"] }]
outputs = [{ name = "y", shape = ["m", "n"] }]
dims = { m = 4, n = [1, 9] }
)toml";

TEST(Config, ATensorTakesTheLayoutsWhoseStridesTheKernelIsGiven) {
  const OpConfig op = good(kMatrixKernel).ops[0];
  EXPECT_EQ(op.layouts, (std::vector{MemoryLayout::Contiguous, MemoryLayout::Strided,
                                     MemoryLayout::Transposed}));
  EXPECT_TRUE(op.inputs[0].outer_strides_passed);
  EXPECT_FALSE(op.inputs[0].all_strides_passed);
  EXPECT_TRUE(op.outputs[0].all_strides_passed);
  const std::string reversed = std::string(kMatrixKernel) + "layouts = [\"reversed\"]\n";
  EXPECT_EQ(good(reversed).ops[0].layouts, std::vector{MemoryLayout::Reversed});
  const std::string given = std::string(kMatrixKernel) + "layouts = [\"contiguous\"]\n";
  EXPECT_EQ(good(given).ops[0].layouts, std::vector{MemoryLayout::Contiguous});
  const OpConfig plain = good(with(kMatrixKernel, "stride(x, 0)", "n")).ops[0];
  EXPECT_FALSE(plain.inputs[0].outer_strides_passed);
}

TEST(Config, EveryLaunchAndVariantMustBeGivenTheStrides) {
  const std::string second =
      "{ entry = \"z\", grid = 1, block = 1, args = [\"y\"] }, { entry = \"k\"";
  EXPECT_FALSE(
      good(with(kMatrixKernel, "{ entry = \"k\"", second)).ops[0].outputs[0].all_strides_passed);
  const std::string variant = with(kMatrixKernel, "kernel = \"k\"", "kernel = [\"k\", \"v\"]") +
                              "[[kernels]]\nname = \"v\"\nsource = \"v.cu\"\nlaunches = [{ entry = "
                              "\"v\", grid = 1, block = 1, args = [\"x\", \"y\"] }]\n";
  const OpConfig op = good(variant).ops[0];
  EXPECT_EQ(op.layouts, std::vector{MemoryLayout::Contiguous});
}

TEST(Config, AVectorWithItsStrideMayBeStridedOnly) {
  const std::string toml = with(kOneKernel, "\"i32:n\"", "\"i64:stride(x, 0)\"");
  // An input that may be one element for all, too.
  EXPECT_EQ(good(toml).ops[0].layouts, (std::vector{MemoryLayout::Contiguous, MemoryLayout::Strided,
                                                    MemoryLayout::Broadcast}));
}

TEST(Config, ALargeSeedStandsInQuotes) {
  EXPECT_EQ(good("[validation]\nseed = \"18446744073709551615\"\n").seed, UINT64_MAX);
  EXPECT_EQ(good("[validation]\nseed = 42\n").seed, 42u);
}

TEST(Config, WrongRelationsAreReportedWithWhatWasExpected) {
  const auto message_of = [](const std::string& relation) {
    const ConfigResult result =
        parse_config(std::string(kOneKernel) + "[ops.invariants]\n" + relation, "gpuemu.toml");
    return result.config ? "" : result.text();
  };
  const std::pair<const char*, const char*> kRows[] = {
      {"odd = { input = \"z\" }", "odd.input: no input is called 'z'"},
      {"row_independent = { dim = \"rows\" }", "row_independent.dim: no dim is called 'rows'"},
      {"row_independent = { axis = 3 }", "has 1 axes, so axis 3 does not exist"},
      {"scale_equivariant = { factor = 3 }", "expected a power of two"},
      {"pad_invariant = true", "expected parameters such as { dim = "},
      {"config_invariant = { block = \"m\" }", "unknown name 'm'"},
      {"inverse_of = { op = \"other\" }", "no op is called 'other'"},
      {"od = true", "did you mean 'odd'?"},
      {"odd = { axis = 1 }", "unknown parameter of 'odd'"},
  };
  for (const auto& [relation, expected] : kRows) {
    EXPECT_NE(message_of(relation).find(expected), std::string::npos)
        << relation << ": " << message_of(relation);
  }
}

TEST(Config, AKernelNeedsNoReferenceButAnOpWithoutAKernelDoes) {
  const Config config = good(with(kOneKernel, "reference = \"op.py\"\n", ""));
  EXPECT_EQ(config.ops[0].reference, "");
  const ConfigResult client = parse_config("[[ops]]\nname = \"a\"\n", "gpuemu.toml");
  EXPECT_NE(client.text().find("missing, expected the path of the reference"), std::string::npos);
  const ConfigResult related = parse_config(
      "[[ops]]\nname = \"a\"\nreference = \"a.py\"\noutputs = [{ name = \"y\", shape = [1] "
      "}]\ninvariants = { odd = true }\n",
      "gpuemu.toml");
  EXPECT_NE(related.text().find("the op needs a kernel"), std::string::npos) << related.text();
}

TEST(Config, InvariantsKeepTheirParameters) {
  const Config config =
      good(std::string(kOneKernel) +
           "[ops.invariants]\nno_nan = false\nsums_to = 3\nmonotonic = { strict = "
           "true, direction = \"decreasing\" }\nzero_preserving = { input = \"x\" }\n");
  const auto& invariants = config.ops[0].invariants;
  ASSERT_EQ(invariants.size(), 3u);
  EXPECT_EQ(invariants[0].numbers.at("value"), 3);
  EXPECT_EQ(invariants[1].numbers.at("strict"), 1);
  EXPECT_EQ(invariants[1].strings.at("direction"), "decreasing");
  EXPECT_EQ(invariants[2].strings.at("input"), "x");
}

TEST(Config, TwoDimValuesAreARangeAndOtherNumbersASet) {
  const Config config = good(
      "[[ops]]\nname = \"a\"\nreference = \"a\"\ndims = { a = [1, 9], b = [1, 2, 3], c = 4, d = "
      "[5] }\n");
  const auto& dims = config.ops[0].dims;
  ASSERT_EQ(dims.size(), 4u);
  EXPECT_FALSE(dims[0].is_set);
  EXPECT_TRUE(dims[1].is_set);
  EXPECT_EQ(dims[2].values, std::vector<int64_t>{4});
  EXPECT_TRUE(dims[3].is_set);
}

TEST(Config, AnInoutOutputTakesTheShapeOfItsInput) {
  std::string toml = with(kOneKernel, "{ name = \"y\", shape = [\"n\"], dtype = \"f16\" }",
                          "{ name = \"x\", inout = true }");
  toml = with(toml, "\"x\", \"y\"", "\"x\"");
  const Config config = good(toml);
  ASSERT_EQ(config.ops[0].outputs[0].shape.size(), 1u);
  EXPECT_EQ(config.ops[0].outputs[0].shape[0].text(), "n");
}

TEST(Config, ScalarAndMixedListsReadAlike) {
  const Config config = good(kOneKernel);
  EXPECT_EQ(config.kernels[0].launches[0].grid.size(), 1u);
  EXPECT_EQ(*config.kernels[0].launches[0].block[0].evaluate({}), 32);
  EXPECT_EQ(config.find_kernel("k")->line, 2u);
  EXPECT_EQ(config.find_op("none"), nullptr);
}

/// A private folder for layered files, removed at the end.
class Layers : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::temp_directory_path() / "gpuemu_config_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    fs::create_directories(root_ / "home/.config/gpuemu");
    fs::create_directories(root_ / "project/deep/er");
    sources_.working_folder = root_ / "project/deep/er";
    sources_.environment["HOME"] = root_ / "home";
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& file, const std::string& text) {
    EXPECT_TRUE(write_file(root_ / file, text));
  }
  std::string origin_of(const Config& config, const std::string& key) {
    for (const auto& setting : config.settings) {
      if (setting.key == key) return setting.value + " from " + setting.origin;
    }
    return "no such key";
  }
  Config load() {
    ConfigResult result = load_config(sources_);
    EXPECT_TRUE(result.config) << result.text();
    return result.config.value_or(Config{});
  }

  fs::path root_;
  ConfigSources sources_;
};

TEST_F(Layers, OnlyWhatTheEnvironmentSaysIsComparedWithARunningDaemon) {
  write("project/gpuemu.toml", "[runtime]\nworkers = 3\n");
  const std::map<std::string, std::string> served = start_settings(load());
  EXPECT_EQ(served.at("runtime.workers"), "3");
  EXPECT_EQ(unlike_environment(load(), served), "");
  write("project/gpuemu.toml", "[runtime]\nworkers = 4\n");
  EXPECT_EQ(unlike_environment(load(), served), "") << "another project shares the daemon";
  sources_.environment["GPUEMU_BACKEND"] = "emulator";
  EXPECT_EQ(unlike_environment(load(), served),
            "runtime.backend = \"auto\", expected \"emulator\"");
  EXPECT_EQ(unlike_environment(load(), {}), "") << "a daemon that tells none";
}

TEST_F(Layers, EmulatedDevicesComeFromTheProjectOrTheEnvironment) {
  write("project/gpuemu.toml", "[runtime]\nemulated_devices = [\"sm_75\", \"sm_90:2048\"]\n");
  const Config config = load();
  EXPECT_EQ(emulated_devices_of(config), "sm_75, sm_90:2048");
  EXPECT_EQ(origin_of(config, "runtime.emulated_devices"),
            "\"sm_75, sm_90:2048\" from " + config.file + ":2");
  sources_.environment["GPUEMU_EMULATED_DEVICES"] = "sm_80,sm_80";
  EXPECT_EQ(emulated_devices_of(load()), "sm_80,sm_80");
}

TEST_F(Layers, WithoutAProjectOnlyWhatTheEnvironmentSaysIsWanted) {
  write("project/gpuemu.toml", "[runtime]\nworkers = 3\nbackend = \"emulator\"\n");
  const std::map<std::string, std::string> served = start_settings(load());
  sources_.working_folder = root_ / "home";
  EXPECT_EQ(unlike_environment(load(), served), "");
  sources_.environment["GPUEMU_DB"] = "/elsewhere";
  EXPECT_NE(unlike_environment(load(), served).find("expected \"/elsewhere\""), std::string::npos);
}

TEST_F(Layers, LaterWinsKeyByKeyAndSaysWhereItCameFrom) {
  write("home/.config/gpuemu/config.toml", "[runtime]\nbackend = \"cuda\"\nworkers = 2\n");
  write("project/gpuemu.toml", "[validation]\ncases = 3\n[runtime]\nworkers = 3\n");
  Config config = load();
  EXPECT_EQ(config.file, root_ / "project/gpuemu.toml");
  EXPECT_EQ(config.folder, root_ / "project");
  EXPECT_EQ(config.workers, 3u);
  EXPECT_EQ(config.backend, "cuda");
  EXPECT_EQ(origin_of(config, "runtime.workers"), "3 from " + config.file + ":4");
  EXPECT_EQ(origin_of(config, "validation.seed"), "drawn for each run from default");
  sources_.environment["GPUEMU_BACKEND"] = "auto";
  config = load();
  EXPECT_EQ(origin_of(config, "runtime.backend"), "\"auto\" from environment GPUEMU_BACKEND");
  sources_.flags = {{"runtime.backend", "emulator"},
                    {"validation.dtypes", "f16,f32"},
                    {"seed", "7"},
                    {"validation.check_nan", "false"}};
  config = load();
  EXPECT_EQ(origin_of(config, "runtime.backend"), "\"emulator\" from flag --backend");
  EXPECT_EQ(config.dtypes, (std::vector{DType::Float16, DType::Float32}));
  EXPECT_EQ(config.seed, 7u);
  EXPECT_FALSE(config.check_nan);
}

TEST_F(Layers, APolicyOfTheUsersFileMayNameTheOpsOfOtherProjects) {
  write("home/.config/gpuemu/config.toml", "[runtime.kernel_policy]\nother = \"fast\"\n");
  const Config config = load();
  ASSERT_EQ(config.warnings.size(), 1u);
  EXPECT_NE(config.warnings[0].text().find("has no effect: no op is called 'other'"),
            std::string::npos);
}

TEST_F(Layers, WithoutFilesTheDefaultsPlaceSocketAndDatabaseInTheHome) {
  const Config config = load();
  EXPECT_EQ(config.file, "");
  EXPECT_EQ(config.socket_path, (root_ / "home/.gpuemu/gpuemu.sock").string());
  EXPECT_EQ(config.db_path, (root_ / "home/.gpuemu/db").string());
}

TEST_F(Layers, WithoutAHomeBothVariablesAreNeeded) {
  sources_.environment.erase("HOME");
  sources_.environment["GPUEMU_SOCKET"] = "/tmp/s";
  EXPECT_NE(load_config(sources_).text().find("set both GPUEMU_SOCKET and GPUEMU_DB"),
            std::string::npos);
  sources_.environment["GPUEMU_DB"] = "/tmp/d";
  EXPECT_EQ(load().db_path, "/tmp/d");
}

TEST_F(Layers, ASocketPathMayHave107Bytes) {
  sources_.environment["GPUEMU_SOCKET"] = "/" + std::string(106, 's');
  EXPECT_EQ(load().socket_path.size(), 107u);
  sources_.environment["GPUEMU_SOCKET"] += "s";
  EXPECT_NE(load_config(sources_).text().find("has 108 bytes, the system allows 107"),
            std::string::npos);
}

TEST_F(Layers, AFileNamedByFlagOrVariableMustExist) {
  sources_.environment["GPUEMU_CONFIG"] = "other.toml";
  EXPECT_NE(load_config(sources_).text().find("deep/er/other.toml: does not exist"),
            std::string::npos);
  write("project/mine.toml", "[project]\nname = \"mine\"\n");
  sources_.file = root_ / "project/mine.toml";
  EXPECT_EQ(load().name, "mine");
}

TEST_F(Layers, MissingReferencesAndSourcesAreErrorsWithThePath) {
  write("project/gpuemu.toml",
        "[[ops]]\nname = \"a\"\nreference = \"ref.py\"\n[[kernels]]\nname = \"k\"\nsource = "
        "\"k.cu\"\n");
  const std::string file = root_ / "project/gpuemu.toml";
  const std::string end =
      "does not exist; create it, or correct the path, which starts at the folder of gpuemu.toml";
  EXPECT_EQ(load_config(sources_).text(),
            fmt::format("{0}:3:13: ops[0].reference: file '{1}/project/ref.py' {2}\n"
                        "{0}:6:10: kernels[0].source: file '{1}/project/k.cu' {2}\n",
                        file, root_.string(), end));
  write("project/ref.py", "");
  write("project/k.cu", "");
  EXPECT_EQ(load().ops[0].reference, (root_ / "project/ref.py").string());
}

TEST_F(Layers, ErrorsOfAllLayersComeInOneGo) {
  write("home/.config/gpuemu/config.toml", "[runtime]\nbackend = 1\n[[ops]]\nname = \"a\"\n");
  write("project/gpuemu.toml", "[validation]\ncases = 0\n");
  sources_.environment["GPUEMU_LOG"] = "loud";
  sources_.flags["validation.cases"] = "many";
  const std::string text = load_config(sources_).text();
  for (const char* part :
       {"config.toml:2:11: runtime.backend: expected text",
        "ops belong into a project's gpuemu.toml",
        "gpuemu.toml:2:9: validation.cases: 0 is out of range",
        "environment GPUEMU_LOG: daemon.log_level: 'loud' is none of",
        "flag --cases: validation.cases: expected an integer from 1 to 100000000, found 'many'"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  }
}

TEST(Config, SurvivesRandomChangesOfTheWholeExample) {
  std::mt19937_64 rng(11);
  const std::string source = text_of(kGolden / "good_full.toml");
  const std::string bytes = "[]{}\"'=,.#\n\\0a-\xff\x01:(";
  int accepted = 0;
  for (int i = 0; i < 400; ++i) {
    std::string text = source;
    for (uint64_t n = rng() % 4 + 1; n > 0; --n) {
      const size_t at = rng() % text.size();
      const size_t length = std::min<size_t>(rng() % 12, text.size() - at);
      switch (rng() % 4) {
        case 0:
          text[at] = bytes[rng() % bytes.size()];
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(at, source.substr(rng() % source.size(), length));
          break;
        default:
          text[at] = static_cast<char>(rng());
          break;
      }
    }
    const ConfigResult result = parse_config(text, "f.toml");
    EXPECT_EQ(result.config.has_value(), result.problems.empty());
    accepted += result.config ? 1 : 0;
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 400);
}

TEST(Config, TakesTheAddressOfASocketForItsPath) {
  const auto socket_of = [](const std::string& value) {
    return good("[daemon]\nsocket = \"" + value + "\"\n").socket_path;
  };
  EXPECT_EQ(socket_of("ipc:///tmp/g.sock"), "/tmp/g.sock");
  EXPECT_EQ(socket_of("/tmp/g.sock"), "/tmp/g.sock");
  for (const std::string wrong : {"tcp://127.0.0.1:9", "ipc://g.sock", "ipc://ipc:///g"}) {
    const auto result = parse_config("[daemon]\nsocket = \"" + wrong + "\"\n", "gpuemu.toml");
    EXPECT_NE(result.text().find("is not the path of a socket"), std::string::npos)
        << result.text();
  }
}

}  // namespace
}  // namespace gpuemu
