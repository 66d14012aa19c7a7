// The formats:
//
//     code for sm_80                                        Fatbin elf code:
//         Function : softmax                                arch = sm_80
//     /*0010*/  @!P0 IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ;     Function softmax:
//                                                           REG:18 STACK:0 SHARED:256 LOCAL:0 ...
#include "judge/metrics/sass.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <set>

#include "common/base/text.h"
#include "judge/metrics/counts.h"

namespace gpuemu {
namespace {

struct ClassRow {
  std::string_view prefix;  // Prefix of the opcode up to its first dot.
  std::string_view name;
};
// The first match counts. The CUDA Binary Utilities manual lists the opcodes of each architecture.
constexpr auto kClasses = std::to_array<ClassRow>({
    {"HMMA", "tensor"},       {"IMMA", "tensor"},    {"DMMA", "tensor"},
    {"BMMA", "tensor"},       {"QGMMA", "tensor"},   {"HGMMA", "tensor"},
    {"IGMMA", "tensor"},      {"BGMMA", "tensor"},   {"QMMA", "tensor"},
    {"UTC", "tensor"},        {"MUFU", "special"},   {"LDGSTS", "async"},
    {"UBLKCP", "async"},      {"UTMA", "async"},     {"LDGDEPBAR", "async"},
    {"DEPBAR", "async"},      {"SYNCS", "async"},    {"LDG", "global"},
    {"STG", "global"},        {"LDSM", "shared"},    {"STSM", "shared"},
    {"LDS", "shared"},        {"STS", "shared"},     {"LDL", "local"},
    {"STL", "local"},         {"LDC", "constant"},   {"ULDC", "constant"},
    {"LD", "generic"},        {"ST", "generic"},     {"ATOM", "atomic"},
    {"REDUX", "warp"},        {"RED", "atomic"},     {"UREDG", "atomic"},
    {"BAR", "barrier"},       {"MEMBAR", "barrier"}, {"ERRBAR", "barrier"},
    {"CCTL", "barrier"},      {"FENCE", "barrier"},  {"UCGABAR", "barrier"},
    {"WARPSYNC", "barrier"},  {"SHFL", "warp"},      {"VOTE", "warp"},
    {"UVOTE", "warp"},        {"MATCH", "warp"},     {"ELECT", "warp"},
    {"TEX", "texture"},       {"TLD", "texture"},    {"TXD", "texture"},
    {"SULD", "texture"},      {"SUST", "texture"},   {"BRA", "control"},
    {"BRX", "control"},       {"BSSY", "control"},   {"BSYNC", "control"},
    {"BREAK", "control"},     {"BMOV", "control"},   {"BPT", "control"},
    {"EXIT", "control"},      {"RET", "control"},    {"CALL", "control"},
    {"JMP", "control"},       {"KILL", "control"},   {"NANOSLEEP", "control"},
    {"YIELD", "control"},     {"NOP", "nop"},        {"I2F", "convert"},
    {"F2I", "convert"},       {"F2F", "convert"},    {"I2I", "convert"},
    {"FRND", "convert"},      {"I2FP", "convert"},   {"F2FP", "convert"},
    {"HADD2.F32", "convert"}, {"D", "double"},       {"H", "half"},
    {"FLO", "integer"},       {"F", "float"},        {"S2", "move"},
    {"CS2R", "move"},         {"MOV", "move"},       {"UMOV", "move"},
    {"PRMT", "move"},         {"UPRMT", "move"},     {"SEL", "move"},
    {"R2UR", "move"},         {"R2", "move"},        {"P2R", "move"},
    {"U", "uniform"},         {"I", "integer"},      {"LOP", "integer"},
    {"LEA", "integer"},       {"SHF", "integer"},    {"SHL", "integer"},
    {"SHR", "integer"},       {"POPC", "integer"},   {"BREV", "integer"},
    {"BMSK", "integer"},      {"SGXT", "integer"},   {"VABSDIFF", "integer"},
    {"VI", "integer"},        {"XMAD", "integer"},   {"PLOP3", "integer"},
});

/// The parts of a line such as "/*0010*/  @!P0 BRA 0x80 ;".
struct Instruction {
  uint64_t address = 0;
  bool predicated = false;
  std::string_view opcode, operands;
};

/// Returns nothing for other lines.
std::optional<Instruction> instruction_of(std::string_view line) {
  line = trimmed(line);
  if (!line.starts_with("/*") || line.starts_with("/* ")) return std::nullopt;
  const size_t closed = line.find("*/");
  if (closed == line.npos) return std::nullopt;
  Instruction made;
  std::from_chars(line.data() + 2, line.data() + closed, made.address, 16);
  line = trimmed(line.substr(closed + 2));
  if (line.starts_with("{")) line = trimmed(line.substr(1));
  if (line.starts_with("@")) {
    made.predicated = true;
    line = trimmed(line.substr(std::min(line.find(' '), line.size())));
  }
  made.opcode = line.substr(0, line.find_first_of(" \t;"));
  const bool upper =
      !made.opcode.empty() && made.opcode.front() >= 'A' && made.opcode.front() <= 'Z';
  if (!upper) return std::nullopt;
  line.remove_prefix(made.opcode.size());
  made.operands = trimmed(line.substr(0, line.find(';')));
  return made;
}

/// Returns the branch target: the address at the end of the operands.
std::optional<uint64_t> target_of(const Instruction& one) {
  const size_t at = one.operands.rfind("0x");
  if (at == one.operands.npos) return std::nullopt;
  const std::string_view digits = one.operands.substr(at + 2);
  uint64_t target = 0;
  const auto [end, failed] =
      std::from_chars(digits.data(), digits.data() + digits.size(), target, 16);
  if (failed != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return target;
}

/// Counts the control flow of one kernel.
class ControlFlow {
 public:
  void add(const Instruction& one, Counts& counts) {
    const std::string_view name = one.opcode.substr(0, one.opcode.find('.'));
    if (name == "EXIT") {
      ++counts["exits"];
      if (one.predicated) ++counts["predicated exits"];
    } else if (name == "CALL" || name == "JCAL") {
      ++counts["calls"];
    } else if (name == "RET") {
      ++counts["returns"];
    } else if (name == "BSSY") {
      ++counts["reconvergence points"];
    } else if (name == "BRA" || name == "UBRA" || name == "JMP" || name == "BRX" || name == "JMX") {
      add_branch(one, name.ends_with('X'), counts);
    }
  }

 private:
  void add_branch(const Instruction& one, bool computed, Counts& counts) {
    const auto target = computed ? std::nullopt : target_of(one);
    // "BRA P1, 0x80" has its condition among the operands.
    const bool conditional = one.predicated || one.operands.find(',') != one.operands.npos;
    // Skip the endless branch with which ptxas ends a kernel's code.
    if (target == one.address && !conditional) return;
    ++counts["branches"];
    if (conditional && !computed) ++counts["conditional branches"];
    if (computed) ++counts["computed branches"];
    if (target && *target <= one.address && heads_.insert(*target).second) ++counts["loops"];
  }

  std::set<uint64_t> heads_;  ///< Targets of backward branches.
};

/// Calls `visit` for each line.
template <typename Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    visit(trimmed(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void read_resource(std::string_view word, CompiledMetrics& metrics) {
  const size_t colon = word.find(':');
  if (colon == word.npos) return;
  const std::string_view name = word.substr(0, colon), digits = word.substr(colon + 1);
  uint32_t value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (parsed.ec != std::errc()) return;
  if (name == "REG") metrics.registers = value;
  if (name == "STACK") metrics.stack_bytes = value;
  if (name == "BARRIER") metrics.barriers = value;
  if (name == "SHARED") metrics.shared_bytes = value;
  if (name.starts_with("CONSTANT[") && value > 0) {
    metrics.constant_bytes[std::string(name.substr(9, name.find(']') - 9))] = value;
  }
}

constexpr uint64_t kSystemShared = 1024;

/// Returns whether the resource usage includes the system's shared memory, which is so since sm_90.
bool counts_system_shared(std::string_view arch) {
  int number = 0;
  if (!arch.starts_with("sm_")) return false;
  std::from_chars(arch.data() + 3, arch.data() + arch.size(), number);
  return number >= 90;
}

}  // namespace

std::string_view sass_class(std::string_view opcode) {
  for (const ClassRow& row : kClasses) {
    if (opcode.starts_with(row.prefix)) return row.name;
  }
  return "other";
}

std::vector<SassKernel> read_sass(std::string_view listing) {
  std::vector<SassKernel> kernels;
  std::string arch;
  bool inside = false;
  ControlFlow flow;
  for_each_line(listing, [&](std::string_view line) {
    if (line.starts_with("code for ")) arch = line.substr(9);
    if (line.starts_with("Function : ")) {
      kernels.push_back({std::string(line.substr(11)), {}, {}});
      kernels.back().metrics.arch = arch;
      inside = true;
      flow = {};
      return;
    }
    const auto one = inside ? instruction_of(line) : std::nullopt;
    if (!one) return;
    const std::string_view opcode = one->opcode;
    SassKernel& kernel = kernels.back();
    flow.add(*one, kernel.metrics.sass_control);
    ++kernel.metrics.sass_instructions;
    ++kernel.metrics.sass_classes[std::string(sass_class(opcode))];
    if (std::ranges::find(kernel.mnemonics, opcode) == kernel.mnemonics.end()) {
      kernel.mnemonics.emplace_back(opcode);
    }
  });
  return kernels;
}

std::vector<SassKernel> read_resource_usage(std::string_view listing,
                                            const std::string& plain_arch) {
  std::vector<SassKernel> kernels;
  std::string arch = plain_arch;
  bool named = false;
  for_each_line(listing, [&](std::string_view line) {
    if (line.starts_with("arch = ")) arch = line.substr(7);
    if (line.starts_with("Function ") && line.ends_with(":")) {
      kernels.push_back({std::string(line.substr(9, line.size() - 10)), {}, {}});
      kernels.back().metrics.arch = arch;
      named = true;
      return;
    }
    if (!named || !line.starts_with("REG:")) return;
    named = false;
    CompiledMetrics& metrics = kernels.back().metrics;
    while (!line.empty()) {
      const size_t blank = std::min(line.find(' '), line.size());
      read_resource(line.substr(0, blank), metrics);
      line.remove_prefix(std::min(blank + 1, line.size()));
    }
    if (counts_system_shared(arch) && metrics.shared_bytes >= kSystemShared) {
      metrics.shared_bytes -= kSystemShared;
    }
  });
  return kernels;
}

}  // namespace gpuemu
