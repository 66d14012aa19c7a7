// What a kernel reads and writes when it runs on the emulator: how far into each of its tensors it
// goes, and whether it goes wrong.
#pragma once

#include <algorithm>
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
  /// Elements from here on hold nothing that was written; `elements` where all are.
  uint64_t known = 0;
  /// Elements from here on are outside of its memory; `elements` where none is.
  uint64_t room = 0;
  /// Elements of an integer tensor: `index` each, i modulo this for `spread` above 0, small numbers
  /// out of order where `is_varied`.
  int64_t index = 0, spread = 0;
  bool is_varied = false;
  std::vector<std::byte> fill = {};  ///< Not empty: all elements are this one.

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
  bool wants_changes = true;  ///< Else ProbeSeen::changed stays empty, which takes less time.
  uint32_t salt = 0;          ///< Other values in tensors of floats, and in those that are varied.
};

struct ProbeSeen {
  uint64_t thread_instructions = 0;
  std::string problem;        ///< The first finding that is no read of the unknown; "" for none.
  std::vector<bool> unknown;  ///< By tensor: some of what nothing wrote was used.
  /// By tensor and element; empty where nothing changed, or the tensor has less room.
  std::vector<std::vector<bool>> changed;
};

/// The processor time that the launches of a module may take together, with the copies around them:
/// sizes that a kernel does not mean can make each of them run to its own time limit.
inline constexpr std::chrono::seconds kProbeTimeMax{10};

/// Runs one module. One thread.
class Probe {
 public:
  /// Compile for text that is not PTX.
  static Result<Probe> open(const std::string& ptx);

  /// InvalidArgument for a launch that the device refuses, for too many elements and for a symbol
  /// that the module lacks or that has another size; Timeout when all launches together have taken
  /// kProbeTimeMax.
  Result<ProbeSeen> run(const ProbeCall& call);
  bool is_out_of_time() const { return spent_ >= limit_; }
  /// All launches from now on may take no more than this.
  void allow(std::chrono::nanoseconds more) { limit_ = std::min(limit_, spent_ + more); }

 private:
  Probe(std::unique_ptr<Device> device, ModuleId module)
      : device_(std::move(device)), module_(module) {}

  Status set_symbol(const ProbeSymbol& symbol, size_t number, uint32_t salt);
  const std::vector<std::byte>& image_of(const ProbeTensor& tensor, size_t number, uint32_t salt);

  std::unique_ptr<Device> device_;
  ModuleId module_;
  std::chrono::nanoseconds spent_{0}, limit_{kProbeTimeMax};
  /// What tensors hold; made once for many launches.
  std::map<std::tuple<ProbeTensor, size_t, uint32_t>, std::vector<std::byte>> images_;
};

}  // namespace gpuemu::cli
