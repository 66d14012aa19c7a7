#include "daemon/executor/fakes/fake_device.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>

#include <fmt/core.h>
#include <unistd.h>

#include "common/base/limits.h"

namespace gpuemu {
namespace {

/// Arguments of each kernel: a, b, y, the count, and the index of the launch.
struct Call {
  float *a, *b, *y;
  uint32_t count;
  uint32_t launch;
  std::map<uint64_t, float>* kept;
};

uint64_t address_of(const float* pointer) { return reinterpret_cast<uint64_t>(pointer); }

void add(Call c) {
  for (uint32_t i = 0; i < c.count; ++i) c.y[i] = c.a[i] + c.b[i];
}

using Kernel = void (*)(Call);
const std::map<std::string, Kernel>& kernels() {
  static const std::map<std::string, Kernel> kAll = {
      {"add", add},
      {"add_tail_missing",
       [](Call c) {
         c.count -= 2;
         add(c);
       }},
      {"add_behind",
       [](Call c) {
         add(c);
         c.y[c.count + 1] = 1;
       }},
      {"add_before",
       [](Call c) {
         add(c);
         c.y[-1] = 1;
       }},
      {"add_changes_b",
       [](Call c) {
         add(c);
         c.b[1] += 1;
       }},
      {"add_random",
       [](Call c) {
         add(c);
         c.y[2] += static_cast<float>(c.launch);
       }},
      {"add_once",
       [](Call c) {
         if (c.launch > 0) --c.count;
         add(c);
       }},
      {"add_into_a",
       [](Call c) {
         for (uint32_t i = 0; i < c.count; ++i) c.a[i] += c.b[i];
       }},
      {"add_strided",
       [](Call c) {
         for (uint32_t i = 0; i < c.count; ++i) c.y[i] = 3;
       }},
      {"add_cached",
       [](Call c) {
         add(c);
         c.y[0] = c.kept->emplace(address_of(c.a), c.y[0]).first->second;
         std::fill(c.y + 1, c.y + c.count, c.y[0] + 1);
       }},
      {"crash",
       [](Call) {
         ::signal(SIGSEGV, SIG_DFL);  // A sanitizer's handler would end the process otherwise.
         ::raise(SIGSEGV);
       }},
      {"hang",
       [](Call) {
         for (;;) ::pause();
       }},
      {"fault", [](Call) {}},
      {"fault_and_lose", [](Call) {}},
      {"race", add},
      {"large", add},
      {"endless_at_five", add},
      {"waits_for_later_blocks", add},
      {"add_twice", add}};
  return kAll;
}

}  // namespace

FakeDevice::FakeDevice(bool checks_bounds, uint64_t memory_bytes, const std::string& backend) {
  properties_.backend = backend;
  properties_.name = "fake device";
  properties_.checks_bounds = checks_bounds;
  properties_.memory_bytes = memory_bytes;
}

Result<uint64_t> FakeDevice::allocate(uint64_t bytes, const std::string&) {
  if (lost_) return error(ErrorCode::Unavailable, "the fake device is lost");
  std::vector<std::byte> block(bytes + 1);
  const auto address = reinterpret_cast<uint64_t>(block.data());
  memory_.emplace(address, std::move(block));
  addresses_.push_back(address);
  return address;
}
Status FakeDevice::free(uint64_t address) {
  if (memory_.erase(address) == 1) return ok_status();
  return error(ErrorCode::InvalidArgument, "no allocation");
}
Status FakeDevice::upload(uint64_t address, std::span<const std::byte> from) {
  if (lost_) return error(ErrorCode::Unavailable, "the fake device is lost");
  std::memcpy(reinterpret_cast<void*>(address), from.data(), from.size());
  return ok_status();
}
Status FakeDevice::download(std::span<std::byte> to, uint64_t address) {
  if (lost_) return error(ErrorCode::Unavailable, "the fake device is lost");
  std::memcpy(to.data(), reinterpret_cast<void*>(address), to.size());
  return ok_status();
}
Status FakeDevice::fill(uint64_t address, std::byte value, uint64_t bytes) {
  std::memset(reinterpret_cast<void*>(address), static_cast<int>(value), bytes);
  return ok_status();
}
Status FakeDevice::forget(uint64_t address, uint64_t bytes) {
  forgotten_.emplace_back(address, bytes);
  return ok_status();
}
Result<uint64_t> FakeDevice::make_texture(const TextureConfig&) {
  return error(ErrorCode::Unsupported, "the fake device has no textures");
}

Status FakeDevice::free_texture(uint64_t) {
  return error(ErrorCode::Unsupported, "the fake device has no textures");
}

Result<ModuleId> FakeDevice::load_module(const std::string& ptx, const std::string& name) {
  if (ptx.empty()) return error(ErrorCode::Compile, "{}:1:1: not PTX", name);
  if (ptx == "crash") ::raise(SIGSEGV);
  modules_[modules_.size() + 1] = ptx;
  return modules_.size();
}
Status FakeDevice::unload_module(ModuleId module) {
  modules_.erase(module);
  return ok_status();
}
Result<std::vector<EntryInfo>> FakeDevice::entries(ModuleId module) {
  EntryInfo entry;
  entry.name = modules_.at(module);
  entry.params = {{"a", 8, 0, true}};
  return std::vector<EntryInfo>{entry};
}

Result<LaunchReport> FakeDevice::launch(ModuleId, const LaunchConfig& config) {
  const auto kernel = kernels().find(config.entry);
  if (kernel == kernels().end()) {
    return error(ErrorCode::NotFound, "no entry '{}'", config.entry);
  }
  Call call{};
  std::memcpy(static_cast<void*>(&call.a), config.args.at(0).data(), 8);
  std::memcpy(static_cast<void*>(&call.b), config.args.at(1).data(), 8);
  std::memcpy(static_cast<void*>(&call.y), config.args.at(2).data(), 8);
  std::memcpy(&call.count, config.args.at(3).data(), 4);
  call.launch = launches_++;
  call.kept = &kept_;
  kernel->second(call);
  LaunchReport report;
  report.elapsed_ns = 10;
  report.thread_instructions = call.count;
  if (config.entry.starts_with("fault") || config.entry == "race") {
    DeviceFinding finding;
    finding.kind =
        config.entry == "race" ? DeviceFindingKind::RaceShared : DeviceFindingKind::IllegalAddress;
    finding.tensor.assign(1, 'y');
    finding.byte_offset = static_cast<int64_t>(kGuardBytes);
    report.findings.push_back(finding);
  }
  if (config.entry == "large") {
    report.findings.push_back(unchecked(DeviceFindingKind::UncheckedTensor, "large", "y", 481));
  }
  if (config.entry == "endless_at_five" && call.a[0] == 5) {
    std::this_thread::sleep_for(std::chrono::milliseconds(config.timeout_ms));
    DeviceFinding finding;
    finding.kind = DeviceFindingKind::Timeout;
    finding.message = fmt::format("the launch did not end within {} ms", config.timeout_ms);
    report.findings.push_back(finding);
  }
  report.blocks_met = config.entry == "waits_for_later_blocks";
  if (report.blocks_met && config.in_issue_order) {
    for (const DeviceFindingKind kind : {DeviceFindingKind::Deadlock, DeviceFindingKind::Timeout}) {
      DeviceFinding finding;
      finding.kind = kind;
      finding.message = fmt::format("of a launch that may become one of {}", config.grown_blocks);
      report.findings.push_back(finding);
    }
  }
  for (const char* tensor : {"b", "y"}) {
    if (config.entry != "add_twice") break;
    DeviceFinding finding;
    finding.kind = DeviceFindingKind::WrittenTwice;
    finding.tensor = std::string(tensor);
    report.findings.push_back(finding);
  }
  lost_ = config.entry == "fault_and_lose";
  return report;
}

}  // namespace gpuemu
