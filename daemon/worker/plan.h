// What a worker executes for one case, and what it answers. Tensors lie packed in the shared arena;
// the plan says where. Encoded with ByteWriter over a socket pair (plan_codec.h).
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
  Layout layout;               ///< How the device buffer holds it.
  uint64_t arena_offset = 0;   ///< Packed elements: Input, InOut read from here.
  uint64_t output_offset = 0;  ///< Packed elements: Output, InOut written here after the first run.
  uint64_t warmup_offset = 0;  ///< Packed elements: what Input and InOut hold in the warmup.
  uint32_t base_offset_bytes =
      0;  ///< Added to the (256-aligned) buffer's start; layouts with less alignment.
  /// For execute_sparse(): the buffer holds the packed elements so often, one copy after the other.
  uint64_t repeats = 1;
  /// What each element of an output, or of scratch memory, holds before the first launch; empty:
  /// nothing that may be read.
  std::vector<std::byte> initial = {};
};

/// Whether the kernel and the reference read the tensor's values.
inline bool is_read(const PlanTensor& tensor) {
  return tensor.role == PlanTensor::Role::Input || tensor.role == PlanTensor::Role::InOut;
}

/// Shadow execution of the plan; on the emulator alone.
struct PlanShadow {
  bool wanted = false;
  std::vector<uint64_t> offsets;  ///< Per tensor: where its ElementShadows go; unused for inputs.
  int32_t tensor = -1;            ///< The tensor whose element's history is recorded; -1: none.
  int64_t element = 0;            ///< Flat row-major.
  uint64_t block = 0;             ///< ElementShadow::block of it.
  ShadowErrors errors = ShadowErrors::All;
  uint64_t nudge = 0;  ///< ShadowConfig::nudge
};

struct PlanArg {
  int32_t tensor = -1;            ///< Index into ExecutionPlan::tensors, or -1:
  std::vector<std::byte> scalar;  ///< then these bytes.
  std::string text;               ///< As configured, for messages.
  uint64_t offset_bytes = 0;      ///< Added to the tensor's address.
};

/// A variable of the module that is set before every run.
struct PlanVariable {
  std::string name;  ///< PTX name.
  std::string source_name;
  PlanArg value;                   ///< An input or bytes; empty: nothing sets it.
  std::vector<std::byte> initial;  ///< All its bytes; the value covers the first of them.
  /// No initialiser, and no kernel can write it: what the value does not cover is undefined.
  bool starts_undefined = false;
};

struct PlanLaunch {
  std::string entry;  ///< PTX entry name.
  Dim3 grid, block;
  Dim3 cluster{0, 0, 0};  ///< Zeros: what the kernel declares.
  uint32_t shared_bytes = 0;
  std::vector<PlanArg> args;
  uint64_t grown_blocks = 0;  ///< Blocks of the grid for much larger sizes.
};

struct ExecutionPlan {
  uint32_t arena = 0;       ///< The worker's arena that the offsets of its tensors mean.
  std::string module_key;   ///< Content hash; the client sends the text once per worker process.
  std::string module_name;  ///< For messages.
  std::vector<PlanTensor> tensors;
  std::vector<PlanLaunch> launches;
  std::vector<PlanVariable> variables = {};
  uint32_t runs = 2;  ///< Runs of the same inputs, each on fresh buffers with another poison.
  bool deterministic = true;  ///< Outputs of the runs must agree bit for bit.
  uint64_t timeout_ms = 30'000;
  uint64_t memory_limit_bytes = uint64_t{4} << 30;
  DeviceChecks sanitize;
  bool profile = false;  ///< Count what the launches of the first run do.
  /// Before the first run the kernel runs on other inputs in the same buffers, so that what it
  /// keeps between launches, or remembers of an address or a shape, is wrong for the runs that
  /// count.
  bool warmup = false;
  /// The kernel is loaded anew for this plan alone: nothing that it kept in its module is there.
  bool fresh_module = false;
  bool coverage = false;       ///< Tell what they reach of their kernels.
  bool coverage_lines = true;  ///< Its lines too, for which every instruction is counted.
  /// Bytes of the ReachSet known so far: a case that reaches nothing outside of it reports nothing.
  std::vector<std::byte> known_reached = {};
  PlanShadow shadow;
  /// Runs after the first have their threads in an order that follows from it, with the check
  /// "schedule" on a device that can.
  uint64_t order_seed = 0;
  /// The order of the threads in the first run, where the device can choose it.
  ThreadOrder first_order = ThreadOrder::InOrder;
  uint64_t sparse_launch_ms =
      0;  ///< Not 0: execute_sparse() runs it, and ends each launch after so long.
};

/// What the harness around the kernel saw.
struct HarnessFinding {
  enum class Kind : uint8_t {
    NotWritten,
    GuardDamaged,
    InputModified,
    NonDeterministic,
    Launch,
    StaleOutput  ///< An output is that of the warmup bit for bit; alone no fault.
  };
  Kind kind = Kind::NotWritten;
  std::string tensor;
  int64_t first_index =
      0;                ///< Flat element index (byte distance outside the tensor for GuardDamaged).
  uint64_t count = 0;   ///< Elements (bytes for GuardDamaged) concerned.
  std::string message;  ///< Kind::Launch: the error text (wrong arguments, no entry, compile).
};

struct ExecutionReport {
  std::vector<HarnessFinding> harness;
  std::vector<DeviceFinding> device;
  uint64_t thread_instructions = 0;
  uint64_t elapsed_ns = 0;  ///< All launches of the first run.
  std::vector<std::string> printed;
  std::vector<LineCount> lines;  ///< When the plan asked for them and the device counts.
  LaunchCoverage reached;  ///< What was reached of the kernel; empty unless asked for on a device
                           ///< that counts. Of what is known, the number of warps alone.
  ExecutionShadow shadow;  ///< When the plan asked for it.
};

}  // namespace gpuemu
