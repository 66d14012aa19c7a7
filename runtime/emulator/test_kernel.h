// Runs an entry of a PTX text over arrays. Used by most tests of the emulator.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/emulator/emulator.h"

namespace gpuemu::emulator {

inline std::string with_header(const std::string& body) {
  return std::string(".version 8.0\n.target sm_80\n.address_size 64\n").append(body);
}

class TestKernel {
 public:
  explicit TestKernel(const std::string& ptx, int sm = 80, uint32_t threads = 2,
                      MachineCode machine_code = MachineCode::WhenWorth)
      : TestKernel(ptx, {.sm = sm,
                         .threads = threads,
                         .memory_limit_bytes = uint64_t{1} << 30,
                         .name = "test",
                         .machine_code = machine_code}) {}
  TestKernel(const std::string& ptx, const EmulatorOptions& options) {
    device_ = make_emulator(options);
    auto module = device_->load_module(ptx, "test.ptx");
    if (!module) {
      ADD_FAILURE() << module.error().message;
    } else {
      module_ = *module;
    }
    config_.grid = {1, 1, 1};
    config_.block = {32, 1, 1};
    if (auto all = device_->entries(module_); all && !all->empty()) {
      config_.entry = all->front().name;
    }
  }

  LaunchConfig& config() { return config_; }
  Device& device() { return *device_; }
  ModuleId module() const { return module_; }

  template <typename T>
  uint64_t buffer(const std::vector<T>& values, const std::string& name = "buffer") {
    const uint64_t address = *device_->allocate(values.size() * sizeof(T), name);
    EXPECT_TRUE(device_->upload(address, std::as_bytes(std::span(values))).ok());
    return address;
  }
  template <typename T>
  std::vector<T> read(uint64_t address, size_t count) {
    std::vector<T> out(count);
    EXPECT_TRUE(device_->download(std::as_writable_bytes(std::span(out)), address).ok());
    return out;
  }
  template <typename T>
  TestKernel& arg(T value) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    config_.args.push_back(bytes);
    return *this;
  }
  Result<LaunchReport> launch() { return device_->launch(module_, config_); }
  LaunchReport run(bool clean = true) {
    auto report = launch();
    if (!report) {
      ADD_FAILURE() << report.error().message;
      return {};
    }
    if (clean) {
      for (const DeviceFinding& finding : report->findings) {
        ADD_FAILURE() << name_of(finding.kind) << ": " << finding.message;
      }
    }
    return *report;
  }

 private:
  std::unique_ptr<Device> device_;
  ModuleId module_ = 0;
  LaunchConfig config_;
};

/// Runs `body`, which computes %d from %a, %b and %c, for every element of three arrays of equal
/// length. Elements are raw bits of sizeof(D) and sizeof(S) bytes. Predicates %p, %q and b32
/// scratch registers %x, %y exist.
template <typename D, typename S>
std::vector<D> evaluate(const std::string& body, std::vector<S> a, std::vector<S> b = {},
                        std::vector<S> c = {}) {
  const size_t n = a.size();
  b.resize(n);
  c.resize(n);
  const auto bits = [](size_t bytes) { return ".b" + std::to_string(bytes * 8); };
  const std::string s = bits(sizeof(S)), d = bits(sizeof(D));
  const auto address = [](const char* name, const char* param, size_t bytes) {
    return std::string("ld.param.u64 %") + name + ", [" + param + "];\n mad.wide.u32 %" + name +
           ", %i, " + std::to_string(bytes) + ", %" + name + ";\n";
  };
  const std::string text = with_header(
      ".visible .entry k(.param .u64 pd, .param .u64 pa, .param .u64 pb, .param .u64 pc, .param "
      ".u32 n) {\n"
      " .reg .pred %p, %q, %out; .reg .b32 %i, %n, %x, %y; .reg .b64 %rd, %ra, %rb, %rc; .reg " +
      s + " %a, %b, %c; .reg " + d +
      " %d;\n mov.u32 %i, %ctaid.x; mov.u32 %n, %tid.x; mad.lo.u32 %i, %i, 64, %n;\n"
      " ld.param.u32 %n, [n]; setp.ge.u32 %out, %i, %n; @%out bra DONE;\n" +
      address("rd", "pd", sizeof(D)) + address("ra", "pa", sizeof(S)) +
      address("rb", "pb", sizeof(S)) + address("rc", "pc", sizeof(S)) + " ld.global" + s +
      " %a, [%ra]; ld.global" + s + " %b, [%rb]; ld.global" + s + " %c, [%rc];\n" + body +
      "\n st.global" + d + " [%rd], %d;\nDONE: ret;\n}\n");
  TestKernel kernel(text);
  const uint64_t out = *kernel.device().allocate(n * sizeof(D), "d");
  const uint64_t pa = kernel.buffer(a, "a"), pb = kernel.buffer(b, "b"), pc = kernel.buffer(c, "c");
  kernel.config().grid = {static_cast<uint32_t>((n + 63) / 64), 1, 1};
  kernel.config().block = {64, 1, 1};
  kernel.config().sanitize = {DeviceCheck::Memory, DeviceCheck::Race,
                              DeviceCheck::Sync};  // Results of divisions by zero are tested too.
  kernel.arg(out).arg(pa).arg(pb).arg(pc).arg(static_cast<uint32_t>(n));
  kernel.run();
  return kernel.read<D>(out, n);
}

}  // namespace gpuemu::emulator
