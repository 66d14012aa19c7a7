// The emulator: whatever the reader accepts runs to its end, to findings or to an error, within its
// budget and without touching memory that is not the kernel's.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "runtime/emulator/emulator.h"

namespace gpuemu {
namespace {

constexpr size_t kEntriesMax = 4;
constexpr uint64_t kBufferBytes = 1024;

/// Pointers get a buffer whose second half nobody wrote; numbers get the size of a buffer.
std::vector<std::byte> argument_for(Device& device, const KernelParam& param) {
  std::vector<std::byte> value(param.bytes);
  uint64_t bits = kBufferBytes / 8;
  if (param.is_pointer) {
    const auto address = device.allocate(kBufferBytes, param.name);
    if (address) {
      bits = *address;
      GPUEMU_CHECK(device.fill(bits, std::byte{0x3c}, kBufferBytes / 2).ok());
    }
  }
  std::memcpy(value.data(), &bits, std::min(value.size(), sizeof bits));
  return value;
}

Dim3 block_for(const EntryInfo& entry) {
  const auto& wanted = entry.required_block;
  if (wanted[0] != 0) return {wanted[0], std::max(wanted[1], 1u), std::max(wanted[2], 1u)};
  return {20, 2, 1};  // A whole warp and a part of one.
}

void launch(Device& device, ModuleId module, const EntryInfo& entry) {
  LaunchConfig config;
  config.entry = entry.name;
  config.grid = {2, 1, 1};
  config.block = block_for(entry);
  config.dynamic_shared_bytes = 512;
  config.timeout_ms = 500;
  config.warp_instructions_max = 20'000;
  for (const KernelParam& param : entry.params) config.args.push_back(argument_for(device, param));
  const auto report = device.launch(module, config);
  if (report) {
    for (const DeviceFinding& finding : report->findings) GPUEMU_CHECK(!finding.message.empty());
    return;
  }
  const ErrorCode code = report.error().code;
  GPUEMU_CHECK(code == ErrorCode::InvalidArgument || code == ErrorCode::Unsupported ||
               code == ErrorCode::ResourceExhausted);
}

void run_text(const std::string& text) {
  const auto device = make_emulator({.sm = 90,
                                     .threads = 1,
                                     .memory_limit_bytes = uint64_t{64} << 20,
                                     .name = "fuzzed emulator"});
  const auto module = device->load_module(text, "input.ptx");
  if (!module) return;
  const auto entries = device->entries(*module);
  GPUEMU_CHECK(entries);
  for (size_t i = 0; i < std::min(entries->size(), kEntriesMax); ++i) {
    launch(*device, *module, (*entries)[i]);
  }
  GPUEMU_CHECK(device->unload_module(*module).ok());
}

}  // namespace
}  // namespace gpuemu

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gpuemu::run_text(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
