// Records about kernels themselves: a case that runs without a daemon, faults planted into a kernel
// on purpose, and the difference between two kernels.
// Written by tools/make_protocol.py from kernel_records.def; edit that and run it again.
// clang-format off
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/numeric/dtype.h"
#include "common/tensor/tensor.h"

namespace gpuemu {

enum class TensorRole {
  Input,
  Output,
  InOut,
  Scratch,
};
inline constexpr TensorRole kLastTensorRole = TensorRole::Scratch;
/// The name on the wire, and back.
const char* name_of(TensorRole value);
std::optional<TensorRole> tensor_role_from_name(const std::string& name);

/// A tensor of an exported case as the kernel sees it.
struct ExportedTensor {
  std::string name;
  TensorRole role = TensorRole::Input;
  DType dtype = DType::Float32;
  Shape shape;
  Strides strides;  ///< How its elements lie in device memory.
  uint64_t storage_elements = 0;  ///< How many the strides reach over.
  int64_t first_element = 0;  ///< Where in the storage element 0 lies.
  uint64_t base_offset_bytes = 0;  ///< How far the storage begins behind an aligned address.
  std::optional<double> edge;  ///< From this magnitude on infinity counts as the value.
  std::string nan_policy;  ///< An output's own policy; empty: the case's applies.
  bool operator==(const ExportedTensor&) const = default;
};

/// One argument: a tensor's address, or the bytes of a number.
struct ExportedArg {
  std::string text;  ///< As configured.
  std::string tensor;  ///< "" for a number.
  std::vector<std::byte> bytes;
  uint64_t offset_bytes = 0;  ///< Added to the tensor's address.
  bool operator==(const ExportedArg&) const = default;
};

/// One launch of an exported case.
struct ExportedLaunch {
  std::string entry;  ///< Name in the PTX.
  std::vector<uint32_t> grid;
  std::vector<uint32_t> block;  ///< Three each.
  std::vector<uint32_t> cluster;  ///< Empty: what the kernel declares.
  uint32_t shared_bytes = 0;
  std::vector<ExportedArg> args;
  bool operator==(const ExportedLaunch&) const = default;
};

enum class MutantStatus {
  Killed,  ///< A case fails.
  Survived,  ///< All cases pass.
  Equivalent,  ///< It probably computes the same as the kernel.
  Invalid,  ///< It cannot run at all.
  NotRun,  ///< Time ran out before.
};
inline constexpr MutantStatus kLastMutantStatus = MutantStatus::NotRun;
/// The name on the wire, and back.
const char* name_of(MutantStatus value);
std::optional<MutantStatus> mutant_status_from_name(const std::string& name);

/// A kernel with one fault planted on purpose, and whether the cases saw it.
struct MutantReport {
  uint64_t id = 0;  ///< Its place among all mutants of the kernel; the same in every run.
  std::string mutation;  ///< "drop_barrier"; docs/guides/mutation.md has the list.
  std::string entry;  ///< Its name in the PTX.
  std::string file;  ///< The source's, when known.
  uint32_t line = 0;  ///< In it; 0 when not known.
  uint32_t ptx_line = 0;
  std::string before;
  std::string after;  ///< The instruction; `after` is "" when it was removed.
  MutantStatus status = MutantStatus::Killed;
  uint64_t cases = 0;  ///< How many ran until it was killed, or all.
  std::string killed_by;  ///< The kind of the first finding.
  std::string killing_strategy;
  std::string killing_shape_strategy;
  std::map<std::string, int64_t> killing_dims;
  std::string reason;  ///< Why it is invalid, or what was tried.
  bool operator==(const MutantReport&) const = default;
};

enum class DifferenceKind {
  Structural,
  Constant,
  Sync,
  Memory,
  Predicate,
};
inline constexpr DifferenceKind kLastDifferenceKind = DifferenceKind::Predicate;
/// The name on the wire, and back.
const char* name_of(DifferenceKind value);
std::optional<DifferenceKind> difference_kind_from_name(const std::string& name);

/// From the least difference to the gravest.
enum class EntryVerdict {
  None,
  Constant,
  Sync,
  Structural,
  OnlyBefore,
  OnlyAfter,
};
inline constexpr EntryVerdict kLastEntryVerdict = EntryVerdict::OnlyAfter;
/// The name on the wire, and back.
const char* name_of(EntryVerdict value);
std::optional<EntryVerdict> entry_verdict_from_name(const std::string& name);

/// One thing that two kernels do not share.
struct KernelDifference {
  DifferenceKind kind = DifferenceKind::Structural;
  std::string text;  ///< One line for people.
  uint32_t before_line = 0;
  uint32_t after_line = 0;  ///< In the PTX; 0: on that side there is none.
  std::string before_source;
  std::string after_source;  ///< "kernel.cu:12", when known.
  bool operator==(const KernelDifference&) const = default;
};

/// What one entry of two kernels does differently.
struct EntryDifference {
  std::string entry;
  EntryVerdict verdict = EntryVerdict::None;
  std::map<std::string, int64_t> opcodes;  ///< After less before, those that differ.
  std::vector<KernelDifference> differences;
  uint64_t left_out = 0;  ///< Differences beyond those listed.
  bool operator==(const EntryDifference&) const = default;
};

enum class MemoryUseKind {
  Load,
  Store,
  Atomic,
  CopyTo,
  CopyFrom,
  Access,  ///< An mbarrier, or rows of a matrix.
  Call,  ///< A function that gets the address.
};
inline constexpr MemoryUseKind kLastMemoryUseKind = MemoryUseKind::Call;
/// The name on the wire, and back.
const char* name_of(MemoryUseKind value);
std::optional<MemoryUseKind> memory_use_kind_from_name(const std::string& name);

/// One use of memory by one instruction of a kernel, and whether it stays inside for all data.
struct ProvedAccess {
  MemoryUseKind kind = MemoryUseKind::Load;
  std::string space;  ///< "global", "shared", "local", "const" or "generic"
  std::string tensor;  ///< Or a variable of the kernel; "" when not known.
  std::string file;  ///< The source's, when known.
  uint32_t line = 0;  ///< In it; 0 when not known.
  uint32_t ptx_line = 0;
  std::string instruction;
  bool proved = false;
  std::string reason;  ///< Why not.
  std::string offset;
  std::string extent;  ///< First byte and bytes of the tensor, over dims and threads.
  bool operator==(const ProvedAccess&) const = default;
};

/// A launch of a kernel for one dtype.
struct LaunchBounds {
  std::string op_name;
  std::string kernel;
  DType dtype = DType::Float32;
  uint32_t launch = 0;  ///< Its place in the kernel's launches, from 1.
  std::string entry;  ///< Its name in the PTX.
  std::string error;  ///< Why it could not be looked at.
  std::vector<ProvedAccess> accesses;
  bool operator==(const LaunchBounds&) const = default;
};

}  // namespace gpuemu
