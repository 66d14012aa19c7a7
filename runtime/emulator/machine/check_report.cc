// Builds findings: finds the source line of an instruction, describes what is at an address, and
// merges repeated findings.
#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/emulator/machine/block.h"
#include "runtime/emulator/machine/warp.h"
#include "runtime/emulator/memory/memory.h"
#include "runtime/emulator/program/program.h"
#include "runtime/emulator/report/element_names.h"

namespace gpuemu::emulator {
namespace {

std::string file_of(const ptx::Module& module, const ptx::SourceLine& line) {
  const auto file = module.files.find(line.file);
  return file == module.files.end() ? "" : file->second;
}

/// Returns whether a file is a compiler's header; messages then name the line that uses it. A
/// toolkit may be installed anywhere, even in a virtual environment inside the project, so these
/// patterns match its own folder and file names, not its location.
bool is_toolkit(std::string_view file) {
  static constexpr std::array kParts = {
      // An installed toolkit.
      "/usr/local/cuda", "/usr/include/", "/targets/x86_64-linux/", "/targets/sbsa-linux/",
      // NVIDIA's Python wheels.
      "/site-packages/nvidia/", "nvidia/cu12/include/", "nvidia/cu13/include/",
      "nvidia/cuda_runtime/include/", "nvidia/cuda_cccl/include/", "nvidia/cuda_nvcc/include/",
      // Header-only libraries.
      "/include/cub/", "/include/cccl", "/include/cooperative_groups/", "/include/crt/",
      "/triton/language/"};
  // Headers that only a toolkit has, for toolkits in folders of other names.
  static constexpr std::array kPrefixes = {"cuda_fp4",
                                           "cuda_fp6",
                                           "cuda_fp8",
                                           "cuda_fp16",
                                           "cuda_bf16",
                                           "cuda_pipeline",
                                           "cuda_awbarrier",
                                           "device_functions",
                                           "sm_20_",
                                           "sm_30_",
                                           "sm_32_",
                                           "sm_35_",
                                           "sm_60_atomic_functions",
                                           "sm_61_intrinsics"};
  const auto in_file = [&](const char* part) { return file.find(part) != std::string_view::npos; };
  if (std::ranges::any_of(kParts, in_file)) return true;
  const size_t slash = file.rfind("/include/");
  if (slash == std::string_view::npos) return false;
  const std::string_view name = file.substr(slash + std::string_view("/include/").size());
  return std::ranges::any_of(kPrefixes, [&](const char* one) { return name.starts_with(one); });
}

}  // namespace

SourcePlace source_place(const ptx::Module& module, const ptx::Instruction& instruction) {
  ptx::SourceLine at = instruction.source;
  std::string file = file_of(module, at);
  while (at.site != 0 && is_toolkit(file)) {
    at = module.sites[at.site - 1];
    file = file_of(module, at);
  }
  return {file, at.line};
}

namespace {
std::string text_of(const SourcePlace& place, const ptx::Instruction& instruction) {
  return place.line != 0 ? fmt::format("{}:{}", place.file, place.line)
                         : fmt::format("PTX line {}", instruction.where.line);
}

}  // namespace

/// Not a full demangler, which can take exponential time for names that no compiler produced.
std::string short_name(const std::string& mangled) {
  if (!mangled.starts_with("_Z")) return mangled;
  std::string_view rest = mangled;
  const size_t discriminator = rest.find_last_not_of("0123456789");
  if (discriminator != rest.npos && discriminator + 1 < rest.size() && rest[discriminator] == '_') {
    rest = rest.substr(0, discriminator);
  }
  while (rest.ends_with('E')) rest.remove_suffix(1);
  // In "_ZZ1kP14__nv_bfloat162E4tile" the name follows the function's, which ends with E.
  const bool is_local = mangled.starts_with("_ZZ");
  std::string_view name = mangled;
  for (size_t size = 1; size < rest.size(); ++size) {
    const std::string_view before = rest.substr(0, rest.size() - size);
    const std::string digits = std::to_string(size);
    if (!before.ends_with(digits) || before.size() == digits.size()) continue;
    const char previous = before[before.size() - digits.size() - 1], first = rest[before.size()];
    const auto is_digit = [](char one) { return one >= '0' && one <= '9'; };
    if (is_digit(previous) || is_digit(first)) continue;
    name = rest.substr(rest.size() - size);
    if (is_local && previous == 'E') break;
  }
  return std::string(name);
}

namespace {
/// Sets the key by which findings are merged: kind, tensor and the pair of instructions.
void identify(DeviceFinding& finding, const Code& code, const Step& step,
              const CheckReport& check) {
  const auto& body = code.source->body;
  finding.kind = check.kind;
  finding.tensor = check.tensor;
  finding.count = check.count;
  if (check.at != nullptr) {
    finding.ptx_line = check.at->where.line;
  } else if (step.origin < body.size()) {
    finding.ptx_line = body[step.origin].where.line;
  }
  if (check.other != nullptr) finding.other_ptx_line = check.other->where.line;
}

void complete(DeviceFinding& finding, Warp& warp, const Code& code, const Step& step,
              const CheckReport& check) {
  const ptx::Module& module = warp.launch->inputs.program->module;
  const auto& body = code.source->body;
  finding.entry = warp.launch->inputs.entry->name;
  finding.block = warp.block->position.index;
  finding.thread = thread_of(warp, check.lane);
  finding.byte_offset = check.byte_offset;
  std::string place = "PTX line 0";
  if (check.at != nullptr || step.origin < body.size()) {
    const ptx::Instruction& instruction = check.at != nullptr ? *check.at : body[step.origin];
    const SourcePlace at = source_place(module, instruction);
    finding.file = at.file;
    finding.line = at.line;
    finding.instruction = instruction.text();
    place = text_of(at, instruction);
  }
  if (check.other != nullptr) {
    const SourcePlace at = source_place(module, *check.other);
    finding.other_file = at.file;
    finding.other_line = at.line;
  }
  finding.message =
      fmt::format("{}; thread ({},{},{}) of block ({},{},{}), {}: {}", check.message,
                  finding.thread.x, finding.thread.y, finding.thread.z, finding.block.x,
                  finding.block.y, finding.block.z, place, finding.instruction);
}

}  // namespace

std::string describe(const ptx::Module& module, const ptx::Instruction& instruction) {
  return instruction.text() + " at " + text_of(source_place(module, instruction), instruction);
}

const ptx::Instruction* instruction_at(const Program& program, uint32_t site) {
  if (site == 0) return nullptr;
  for (const Code& code : program.functions) {
    for (const Step& step : code.steps) {
      if (step.cache() == site && step.origin < code.source->body.size()) {
        return &code.source->body[step.origin];
      }
    }
  }
  return nullptr;
}

const ptx::Instruction& instruction_of(Warp& warp, const Step& step) {
  static const ptx::Instruction kNothing;
  const auto& body = warp.code().source->body;
  return step.origin < body.size() ? body[step.origin] : kNothing;
}

/// Returns 0 for copies, which name no type.
uint32_t element_bytes(const ptx::Instruction& instruction) {
  for (const std::string& modifier : instruction.modifiers) {
    if (const auto type = ptx::type_from_name(modifier)) return std::max(1u, ptx::byte_size(*type));
  }
  return 0;
}

std::string element_text(uint64_t offset, uint32_t element) {
  return element == 0 ? "" : fmt::format(" (element {})", offset / element);
}

std::string shared_place(const Warp& warp, uint64_t offset, uint32_t element) {
  const Code& entry = *warp.launch->inputs.entry;
  for (const SharedVariable& variable : entry.shared) {
    if (offset >= variable.offset && offset - variable.offset < variable.bytes) {
      return element == 0 ? fmt::format("offset {} (byte {} of '{}')", offset,
                                        offset - variable.offset, short_name(variable.name))
                          : fmt::format("offset {} ('{}'[{}])", offset, short_name(variable.name),
                                        (offset - variable.offset) / element);
    }
  }
  if (offset < entry.dynamic_offset || offset >= warp.launch->inputs.own_shared_bytes) {
    return fmt::format("offset {}", offset);
  }
  if (element == 0) {
    return fmt::format("offset {} (dynamic, byte {})", offset, offset - entry.dynamic_offset);
  }
  return fmt::format("offset {} (dynamic, element {})", offset,
                     (offset - entry.dynamic_offset) / element);
}

namespace {
/// Returns the function that contains the step. A warp that has ended has no current function.
const Code& code_of(Warp& warp, const CheckReport& check) {
  if (check.code != nullptr) return *check.code;
  return warp.control.depth == 0 ? *warp.launch->inputs.entry : warp.code();
}
}  // namespace

uint32_t note_undefined_store(Warp& warp, const Step& step, CheckReport check) {
  Launch& launch = *warp.launch;
  const Code& code = code_of(warp, check);
  DeviceFinding finding;
  identify(finding, code, step, check);
  return launch.report.add_undefined(
      warp.block->position.linear, std::move(finding), [&] { return launch.memory->new_source(); },
      [&](DeviceFinding& added) { complete(added, warp, code, step, check); });
}

void report_check(Warp& warp, const Step& step, CheckReport check) {
  Launch& launch = *warp.launch;
  const Code& code = code_of(warp, check);
  DeviceFinding finding;
  identify(finding, code, step, check);
  const bool full =
      launch.report.add(warp.block->position.linear, std::move(finding),
                        [&](DeviceFinding& added) { complete(added, warp, code, step, check); });
  const bool stops = effect_of(check.kind) == DeviceFindingEffect::StopsLaunch;
  if (stops || full) {
    launch.clock.stop = true;
    warp.stop_slice();
  }
}

}  // namespace gpuemu::emulator
