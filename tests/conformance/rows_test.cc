// Runs every row of tests/ptx/rows on every backend, and checks that every entry of the emulator's
// table is in a row.
#include "tests/conformance/rows.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include "common/base/files.h"
#include "runtime/emulator/decode/decode.h"
#include "runtime/emulator/handlers/handlers.h"
#include "runtime/ptx/parse.h"
#include "tests/conformance/fixture.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

/// GPUEMU_PTX_ROWS, else where the sources were built, else below the current folder.
fs::path rows_folder() {
  if (const char* given = std::getenv("GPUEMU_PTX_ROWS")) return given;
  const fs::path built = fs::path(GPUEMU_SOURCE_DIR) / "tests/ptx/rows";
  return fs::exists(built) ? built : fs::path("tests/ptx/rows");
}

std::vector<std::string> row_files() {
  std::vector<std::string> names;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(rows_folder(), failure)) {
    if (entry.path().extension() == ".ptxt") {
      names.push_back(entry.path().stem());
    }
  }
  std::ranges::sort(names);
  return names;
}

Result<rows::RowFile> read_rows(const std::string& name) {
  const std::string file = name + ".ptxt";
  const std::string text = GPUEMU_TRY(read_file(rows_folder() / file, size_t{1} << 26));
  return rows::parse_rows(text, file);
}

/// The parameter: backend and file.
class PtxRows : public testing::TestWithParam<std::tuple<const char*, std::string>> {
 protected:
  void SetUp() override {
    DeviceRequest request;
    request.backend = std::get<0>(GetParam());
    request.memory_limit_bytes = uint64_t{64} << 20;
    auto device = open_device(request);
    if (!device && request.backend == "cuda") GTEST_SKIP() << device.error().message;
    ASSERT_TRUE(device) << device.error().message;
    device_ = *std::move(device);
  }

  uint64_t words(const std::vector<uint64_t>& values, const char* name) {
    const auto address = device_->allocate(values.size() * 8, name);
    EXPECT_TRUE(address) << address.error().message;
    EXPECT_TRUE(device_->upload(*address, std::as_bytes(std::span(values))));
    return *address;
  }

  /// The results of all cases, in order; empty after a failure.
  std::vector<uint64_t> run(ModuleId module, const rows::Row& row, size_t index) {
    std::vector<uint64_t> operands;
    for (const rows::Case& one : row.cases) {
      operands.insert(operands.end(), one.operands.begin(), one.operands.end());
    }
    if (operands.empty()) operands.resize(row.cases.size());
    std::vector<uint64_t> results(row.cases.size() * row.result_types.size(), 0);
    const uint64_t in = words(operands, "in"), out = words(results, "out");
    const uint64_t scratch =
        words(std::vector<uint64_t>(row.cases.size() * rows::kScratchBytes / 8), "scratch");
    std::vector<std::byte> block(16);
    for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<std::byte>(i);
    LaunchConfig config;
    config.entry = "row" + std::to_string(index);
    config.block = {static_cast<uint32_t>(row.cases.size()), 1, 1};
    config.args = {bytes_of(in), bytes_of(out), bytes_of(scratch),
                   bytes_of(static_cast<uint32_t>(row.cases.size())), block};
    const auto report = device_->launch(module, config);
    EXPECT_TRUE(report) << row.name << ": " << report.error().message;
    bool clean = report.ok();
    if (report) {
      for (const DeviceFinding& finding : (*report).findings) {
        ADD_FAILURE() << row.name << ": " << name_of(finding.kind) << ": " << finding.message;
        clean = false;
      }
    }
    EXPECT_TRUE(device_->download(std::as_writable_bytes(std::span(results)), out));
    for (const uint64_t address : {in, out, scratch}) EXPECT_TRUE(device_->free(address));
    return clean ? results : std::vector<uint64_t>();
  }

  std::unique_ptr<Device> device_;
};

uint64_t masked(uint64_t bits, const std::string& type) {
  if (type == "b64") return bits;
  return bits & (type == "b8" ? 0xff : type == "b16" ? 0xffff : 0xffffffff);
}

TEST_P(PtxRows, GiveWhatTheIsaDefines) {
  const std::string& name = std::get<1>(GetParam());
  const auto file = read_rows(name);
  ASSERT_TRUE(file) << file.error().message;
  const int sm = std::atoi((*file).target.c_str() + 3);
  if (device_->properties().backend == "cuda" && device_->properties().sm < sm) {
    GTEST_SKIP() << "this device is sm_" << device_->properties().sm << ", the rows need sm_" << sm;
  }
  const auto module = device_->load_module(rows::module_of(*file), name);
  ASSERT_TRUE(module) << module.error().message;
  size_t wrong = 0;
  for (size_t i = 0; i < (*file).rows.size(); ++i) {
    const rows::Row& row = (*file).rows[i];
    const std::vector<uint64_t> results = run(*module, row, i);
    ++wrong;
    if (results.empty()) continue;
    --wrong;
    const size_t width = row.result_types.size();
    for (size_t at = 0; at < results.size(); ++at) {
      const rows::Case& one = row.cases[at / width];
      const auto& wanted = one.results[at % width];
      const uint64_t got = masked(results[at], row.result_types[at % width]);
      if (!wanted || *wanted == got) continue;
      if (++wrong > 50) {
        ADD_FAILURE() << "and more";
        return;
      }
      ADD_FAILURE() << name << ".ptxt:" << one.line << ": " << row.name << ": result " << at % width
                    << " is " << fmt::format("{:x}, expected {:x}", got, *wanted);
    }
  }
}

std::string test_name(const testing::TestParamInfo<PtxRows::ParamType>& info) {
  return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
}
INSTANTIATE_TEST_SUITE_P(Rows, PtxRows,
                         testing::Combine(testing::Values("emulator", "cuda"),
                                          testing::ValuesIn(row_files())),
                         test_name);

/// Forms whose results on the chip are known by checksum (chip_test.cc).
constexpr std::string_view kMeasured[] = {
#define CHIP_FORM(inputs, operand_bits, result_bits, checksum, text) text,
#include "tests/conformance/chip_forms.def"
#undef CHIP_FORM
};

/// Returns the name with and without its rounding, because some roundings are separate rows.
std::set<std::string> keys_of(const ptx::Instruction& instruction) {
  return {emulator::Form(instruction).key, emulator::canonical_key(instruction.spelling())};
}

/// The key of each instruction of a text such as "{.reg .b16 %h; cvt.rn.f16.f32 %h, %a; ...}".
void add_opcodes(std::string_view text, std::set<std::string>& keys) {
  while (!text.empty()) {
    const size_t end = std::min(text.find_first_of(";{}"), text.size());
    std::string_view statement = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    statement.remove_prefix(std::min(statement.find_first_not_of(' '), statement.size()));
    if (statement.empty() || statement[0] == '.') continue;
    std::string_view opcode = statement.substr(0, statement.find(' '));
    ptx::Instruction made;
    made.set_name(opcode.substr(0, opcode.find('.')));
    while (opcode.find('.') != std::string_view::npos) {
      opcode.remove_prefix(opcode.find('.') + 1);
      made.modifiers.add(opcode.substr(0, opcode.find('.')));
    }
    keys.merge(keys_of(made));
  }
}

/// Returns whether every value of one integer type fits the other: PTX then has no .sat.
bool always_fits(std::string_view from, std::string_view to) {
  const int from_bits = std::atoi(from.data() + 1), to_bits = std::atoi(to.data() + 1);
  if (from[0] == to[0]) return from_bits <= to_bits;
  return from[0] == 'u' && from_bits < to_bits;
}

/// Rows that no text reaches, since the assembler refuses it: the second half of a packed
/// comparison, and what the templates make of bf16 beside f16, and of .sat for every pair.
bool is_no_ptx(std::string_view key) {
  const auto has = [&](std::string_view part) { return key.find(part) != key.npos; };
  if (has(".high.")) return true;
  if (has(".bf16")) {
    return has(".sat.") || has(".u8") || has(".s8") || has(".ftz.") != key.starts_with("ex2.");
  }
  if (key.starts_with("ex2.approx.ftz.f16")) return true;
  constexpr std::string_view kSaturates = "cvt.sat.";
  if (!key.starts_with(kSaturates)) return false;
  const std::string_view types = key.substr(kSaturates.size());
  const std::string to(types.substr(0, types.find('.'))), from(types.substr(to.size() + 1));
  const bool integers = (to[0] == 'u' || to[0] == 's') && (from[0] == 'u' || from[0] == 's');
  return integers && always_fits(from, to);
}

TEST(PtxRowFiles, HoldEveryEntryOfTheTableOfMeanings) {
  std::set<std::string> told;
  for (const std::string& name : row_files()) {
    const auto file = read_rows(name);
    ASSERT_TRUE(file) << file.error().message;
    const auto module = ptx::parse(rows::module_of(*file), name);
    ASSERT_TRUE(module) << module.error().message;
    for (const ptx::Function& function : (*module).functions) {
      for (const ptx::Instruction& instruction : function.body) {
        told.merge(keys_of(instruction));
      }
    }
  }
  for (const std::string_view text : kMeasured) add_opcodes(text, told);
  for (const auto& [key, row] : emulator::handlers()) {
    // Loads and stores are identified by their spelling, which is more precise than the key.
    if (key.starts_with("ld.") || key.starts_with("st.") || key != emulator::canonical_key(key)) {
      continue;
    }
    if (!told.contains(key) && !is_no_ptx(key)) {
      ADD_FAILURE() << "no row tells what " << key << " does";
    }
  }
}

TEST(PtxRowFiles, ErrorsNameTheLine) {
  const auto message = [](const char* text) {
    const auto read = rows::parse_rows(text, "x.ptxt");
    return read ? std::string("no error") : read.error().message;
  };
  EXPECT_EQ(message("target sm_80\nrow a\ntypes b32 = b12\n"), "x.ptxt:3: unknown type 'b12'");
  EXPECT_EQ(message("target sm_80\nrow a\ntypes b32 = b32\n1 2 = 3\n"),
            "x.ptxt:4: 2 operands and 1 results; the types of 'a' ask for 1 and 1");
  EXPECT_EQ(message("target sm_80\nrow a\ntypes b32 = b32\nxyz = 3\n"),
            "x.ptxt:4: 'xyz' is no hexadecimal number of 64 bits");
  EXPECT_NE(message("target sm_80\nrow a\ntypes b32 = b32\n").find("has 0 cases"),
            std::string::npos);
}

}  // namespace
}  // namespace gpuemu
