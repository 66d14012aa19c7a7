// The reader of PTX: any text is a module with sound control flow, or an error that says where.
#include <cstdint>
#include <string>

#include "common/base/check.h"
#include "runtime/ptx/flow/cfg.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

void check_flow(const ptx::Function& function) {
  const ptx::ControlFlow flow = ptx::analyse(function);
  GPUEMU_CHECK(flow.block_of.size() == function.body.size());
  uint32_t at = 0;
  for (size_t i = 0; i < flow.blocks.size(); ++i) {
    const ptx::BasicBlock& block = flow.blocks[i];
    GPUEMU_CHECK(block.begin == at && block.end > block.begin);
    at = block.end;
    for (const uint32_t next : block.successors) GPUEMU_CHECK(next < flow.blocks.size());
    GPUEMU_CHECK(block.ipdom < static_cast<int64_t>(flow.blocks.size()));
    GPUEMU_CHECK(flow.reconvergence(block.begin) <= function.body.size());
  }
  GPUEMU_CHECK(at == function.body.size());
}

void check_text(const std::string& text) {
  const auto module = ptx::parse(text, "input.ptx");
  if (!module) {
    GPUEMU_CHECK(module.error().code == ErrorCode::Compile);
    GPUEMU_CHECK(module.error().message.starts_with("input.ptx:"));
    return;
  }
  for (const ptx::Function& function : module->functions) {
    if (!function.body.empty()) check_flow(function);
    for (const ptx::Instruction& instruction : function.body) {
      GPUEMU_CHECK(instruction.where.line != 0);
      GPUEMU_CHECK(!instruction.text().empty());
    }
  }
}

}  // namespace
}  // namespace gpuemu

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuemu::check_text(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
