// What a worker executes for one case, and its answer. Tensors are packed in the shared arena at
// the plan's offsets. Encoded with ByteWriter over a socket pair (plan_codec.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/device_checks.h"
#include "common/tensor/tensor.h"
#include "runtime/device/device_finding.h"
#include "runtime/device/thread_order.h"
#include "runtime/profile/coverage.h"
#include "runtime/profile/profile.h"
#include "runtime/shadow/element_shadow.h"
#include "runtime/shadow/shadow.h"

namespace gpuemu {

struct PlanTensor {
  enum class Role : uint8_t { Input, Output, InOut, Scratch };
  std::string name;
  Role role = Role::Input;
  DType dtype = DType::Float32;
  Shape shape;
  Layout layout;               ///< Layout in the device buffer.
  uint64_t arena_offset = 0;   ///< Packed elements of Input and InOut.
  uint64_t output_offset = 0;  ///< Packed elements of Output and InOut, written after the first
                               ///< run.
  uint64_t warmup_offset = 0;  ///< Packed elements of Input and InOut for the warmup.
  uint32_t base_offset_bytes =
      0;  ///< Added to the buffer's start, which is 256-aligned, for layouts with less alignment.
  /// For execute_sparse(): how many consecutive copies of the packed elements the buffer holds.
  uint64_t repeats = 1;
  /// Value of each element of an output, or of scratch memory, before the first launch; empty:
  /// undefined.
  std::vector<std::byte> initial = {};
};

/// Returns whether the kernel and the reference read the tensor's values.
inline bool is_read(const PlanTensor& tensor) {
  return tensor.role == PlanTensor::Role::Input || tensor.role == PlanTensor::Role::InOut;
}
/// Returns whether the tensor's values after the first run are results.
inline bool is_written(const PlanTensor& tensor) {
  return tensor.role == PlanTensor::Role::Output || tensor.role == PlanTensor::Role::InOut;
}

/// Shadow execution of the plan; emulator only.
struct PlanShadow {
  bool wanted = false;
  std::vector<uint64_t> offsets;  ///< Per tensor, where its ElementShadows are stored; unused for
                                  ///< inputs.
  int32_t tensor = -1;  ///< The tensor with the element whose history is recorded; -1: none.
  int64_t element = 0;  ///< Flat, row-major.
  uint64_t block = 0;   ///< ElementShadow::block of that element.
  ShadowErrors errors = ShadowErrors::All;
  uint64_t nudge = 0;  ///< See ShadowConfig::nudge.
};

struct PlanArg {
  int32_t tensor = -1;            ///< Index into ExecutionPlan::tensors, or -1 to pass `scalar`.
  std::vector<std::byte> scalar;  ///< The argument's bytes.
  std::string text;               ///< As configured, for messages.
  uint64_t offset_bytes = 0;      ///< Added to the tensor's address.
};

/// A variable of the module that is set before every run.
struct PlanVariable {
  std::string name;  ///< PTX name.
  std::string source_name;
  PlanArg value;                   ///< An input or bytes; empty: not set.
  std::vector<std::byte> initial;  ///< All its bytes; the value covers the first of them.
  /// No initialiser, and no kernel can write it: bytes not covered by the value are undefined.
  bool starts_undefined = false;
};

struct PlanLaunch {
  std::string entry;  ///< PTX entry name.
  Dim3 grid, block;
  Dim3 cluster{0, 0, 0};  ///< Zeros: the kernel's declaration.
  uint32_t shared_bytes = 0;
  std::vector<PlanArg> args;
  uint64_t grown_blocks = 0;  ///< Blocks of the grid for much larger sizes.
};

struct ExecutionPlan {
  uint32_t arena = 0;       ///< The worker's arena for the offsets of the tensors.
  std::string module_key;   ///< Content hash; the client sends the text once per worker process.
  std::string module_name;  ///< For messages.
  std::vector<PlanTensor> tensors;
  std::vector<PlanLaunch> launches;
  std::vector<PlanVariable> variables = {};
  uint32_t runs = 2;          ///< Runs of the same inputs, each in new buffers with another poison.
  bool deterministic = true;  ///< Outputs of all runs must agree bit for bit.
  uint64_t timeout_ms = 30'000;
  uint64_t memory_limit_bytes = uint64_t{4} << 30;
  DeviceChecks sanitize;
  bool profile = false;  ///< Count what the launches of the first run do.
  /// Before the first run, run the kernel on other inputs in the same buffers, so that values that
  /// it keeps between launches, or caches by address or shape, are wrong for the counted runs.
  bool warmup = false;
  /// Load the kernel anew for this plan, so that its module keeps nothing from earlier launches.
  bool fresh_module = false;
  bool coverage = false;       ///< Report the coverage of the kernels.
  bool coverage_lines = true;  ///< Include lines, for which every instruction is counted.
  /// Bytes of the ReachSet so far: a case that reaches nothing new reports nothing.
  std::vector<std::byte> known_reached = {};
  PlanShadow shadow;
  /// Seed of the thread orders of the runs after the first, with the check "schedule" on a device
  /// that supports it.
  uint64_t order_seed = 0;
  /// Thread order of the first run, if the device supports it.
  ThreadOrder first_order = ThreadOrder::InOrder;
  uint64_t sparse_launch_ms =
      0;  ///< Not 0: run by execute_sparse(), which stops each launch after this time.
};

/// A finding of the harness around the kernel.
struct HarnessFinding {
  enum class Kind : uint8_t {
    NotWritten,
    GuardDamaged,
    InputModified,
    NonDeterministic,
    Launch,
    StaleOutput  ///< An output equals the warmup's bit for bit; alone not a fault.
  };
  Kind kind = Kind::NotWritten;
  std::string tensor;
  int64_t first_index =
      0;               ///< Flat element index (for GuardDamaged, byte distance outside the tensor).
  uint64_t count = 0;  ///< Number of elements (bytes for GuardDamaged).
  std::string message;  ///< Kind::Launch: the error (wrong arguments, no entry, compile).
};

struct ExecutionReport {
  std::vector<HarnessFinding> harness;
  std::vector<DeviceFinding> device;
  uint64_t thread_instructions = 0;
  uint64_t elapsed_ns = 0;  ///< All launches of the first run.
  std::vector<std::string> printed;
  std::vector<LineCount> lines;  ///< If requested, and the device counts.
  LaunchCoverage reached;  ///< Coverage of the kernel, if requested and the device counts. For
                           ///< known coverage, only the number of warps.
  ExecutionShadow shadow;  ///< If requested.
};

}  // namespace gpuemu
