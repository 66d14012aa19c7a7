// Runs a kernel on the emulator to find out what it reads and writes: how far it accesses each of
// its tensors, and whether it fails.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "common/base/result.h"
#include "common/numeric/dtype.h"
#include "runtime/device/device.h"

namespace gpuemu::cli {

struct ProbeTensor {
  std::string name;
  DType dtype = DType::Float32;
  uint64_t elements = 0;
  /// Elements from here on are undefined; `elements` if all are defined.
  uint64_t known = 0;
  /// Elements from here on are outside of its memory; `elements` if none are.
  uint64_t room = 0;
  /// Elements of an integer tensor: all are `index`; if `spread` is above 0, i modulo `spread`; if
  /// `is_varied`, small numbers in no order.
  int64_t index = 0, spread = 0;
  bool is_varied = false;
  std::vector<std::byte> fill = {};  ///< If not empty, the value of every element.

  auto operator<=>(const ProbeTensor&) const = default;
};

/// A variable of the module that is set before the launch.
struct ProbeSymbol {
  std::string variable;
  DType dtype = DType::Float32;
  uint64_t elements = 0;
};

/// In the order of the kernel's parameters: a tensor, or the bytes of a number.
struct ProbeArg {
  int tensor = -1;  ///< Into ProbeCall::tensors; -1 for a number.
  std::vector<std::byte> bytes = {};
};

struct ProbeCall {
  std::string entry;
  LaunchShape shape;
  std::vector<ProbeTensor> tensors;
  std::vector<ProbeArg> args;
  std::vector<ProbeSymbol> symbols = {};
  bool wants_changes = true;  ///< If false, ProbeSeen::changed stays empty, which takes less time.
  uint32_t salt = 0;          ///< Selects other values for tensors of floats, and for varied ones.
};

struct ProbeSeen {
  uint64_t thread_instructions = 0;
  std::string problem;        ///< The first finding except reads of undefined values; "" for none.
  std::vector<bool> unknown;  ///< By tensor: an undefined value was used.
  /// By tensor and element; empty if nothing changed, or the tensor has less room.
  std::vector<std::vector<bool>> changed;
};

/// Limit of the processor time of all launches of a module, including copies: sizes that a kernel
/// is not meant for can make each launch reach its own time limit.
inline constexpr std::chrono::seconds kProbeTimeMax{10};

/// Runs one module. Not thread-safe.
class Probe {
 public:
  /// Returns Compile for text that is not PTX.
  static Result<Probe> open(const std::string& ptx);

  /// Returns InvalidArgument for a launch that the device rejects, for too many elements and for a
  /// symbol that the module lacks or that has another size; Timeout when all launches together have
  /// taken kProbeTimeMax.
  Result<ProbeSeen> run(const ProbeCall& call);
  bool is_out_of_time() const { return spent_ >= limit_ || (stop_ != nullptr && *stop_); }
  /// Ends the time of all launches when `stop` becomes true; null: never.
  void stop_when(const std::atomic<bool>* stop) { stop_ = stop; }
  /// Limits the time of all later launches together.
  void allow(std::chrono::nanoseconds more) { limit_ = std::min(limit_, spent_ + more); }

 private:
  Probe(std::unique_ptr<Device> device, ModuleId module)
      : device_(std::move(device)), module_(module) {}

  Status set_symbol(const ProbeSymbol& symbol, size_t number, uint32_t salt);
  const std::vector<std::byte>& image_of(const ProbeTensor& tensor, size_t number, uint32_t salt);

  std::unique_ptr<Device> device_;
  ModuleId module_;
  std::chrono::nanoseconds spent_{0}, limit_{kProbeTimeMax};
  const std::atomic<bool>* stop_ = nullptr;
  /// The contents of tensors; created once for many launches.
  std::map<std::tuple<ProbeTensor, size_t, uint32_t>, std::vector<std::byte>> images_;
};

}  // namespace gpuemu::cli
