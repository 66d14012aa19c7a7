// Runs a case on a device of this process: holds its tensors in device memory and executes its
// launches one by one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/protocol/kernel_records.gen.h"
#include "common/protocol/replies.gen.h"
#include "runtime/backends/backends.h"
#include "runtime/device/device.h"

namespace gpuemu::cli {

/// The project's settings for its device.
struct RunSettings {
  std::string contraction = "auto";
  uint64_t memory_limit_bytes = uint64_t{4} << 30;
  uint64_t timeout_ms = 30'000;
  DeviceChecks sanitize;
};

/// Reads device memory; used instead of the device's own function while one of its launches is
/// stopped.
using MemoryReader = std::function<Status(std::span<std::byte> to, uint64_t address)>;

class CaseRun {
 public:
  /// `exported` must outlive it. Unavailable if there is no such device, Compile if it rejects the
  /// kernel.
  static Result<std::unique_ptr<CaseRun>> open(const ExportedCaseReply& exported,
                                               const RunSettings& settings,
                                               const DeviceRequest& request);
  CaseRun(const CaseRun&) = delete;
  CaseRun& operator=(const CaseRun&) = delete;
  ~CaseRun();

  const DeviceProperties& device() const { return device_->properties(); }
  const RunSettings& settings() const { return settings_; }

  /// Fills memory with poison, then writes the inputs: the state before the first launch.
  Status fill();
  size_t launches() const { return exported_.launches.size(); }
  Result<LaunchReport> launch(size_t index, uint64_t timeout_ms);

  /// Returns packed elements as they are in device memory now.
  Result<Tensor> read(const ExportedTensor& tensor) const;
  Result<Tensor> read(const ExportedTensor& tensor, const MemoryReader& reader) const;
  /// Returns the address of an element.
  uint64_t address_of(const ExportedTensor& tensor, int64_t flat) const;
  /// Returns the tensor that an address belongs to and the distance from its first byte; null if
  /// there is none.
  const ExportedTensor* tensor_at(uint64_t address, int64_t& offset) const;

 private:
  struct Buffer {
    const ExportedTensor* tensor = nullptr;
    uint64_t allocation = 0, front = 0, body = 0, total = 0;
  };

  CaseRun(const ExportedCaseReply& exported, const RunSettings& settings)
      : exported_(exported), settings_(settings) {}
  Status allocate();
  const Buffer* find(const std::string& name) const;

  const ExportedCaseReply& exported_;
  RunSettings settings_;
  std::unique_ptr<Device> device_;
  ModuleId module_ = 0;
  std::vector<Buffer> buffers_;
};

/// Returns whether an element still has the bytes that memory is filled with before a run. This
/// cannot be decided for elements of one or two bytes.
bool is_unwritten(DType dtype, const std::byte* element);

}  // namespace gpuemu::cli
