#include "daemon/executor/execute_sparse.h"

#include <algorithm>

#include "common/tensor/fill_elements.h"
#include "daemon/executor/execute_buffer.h"
#include "daemon/executor/launch_config.h"
#include "daemon/executor/module_variables.h"
#include "runtime/device/fault.h"
#include "runtime/device/memory_kinds.h"

namespace gpuemu {
namespace {

using Role = PlanTensor::Role;

/// Blocks of a smaller grid stride over the whole tensor: stopped early, they are all in the middle
/// of it, and their intermediate values may differ from the final ones.
constexpr uint64_t kGridMin = 16'384;

constexpr ThreadOrder kOrders[] = {ThreadOrder::InOrder, ThreadOrder::Reverse};

uint64_t packed_bytes(const PlanTensor& tensor) {
  uint64_t bytes = byte_size(tensor.dtype);
  for (const int64_t size : tensor.shape) bytes *= static_cast<uint64_t>(size);
  return bytes / tensor.repeats;
}

/// A sparse tensor, freed by the destructor.
class SparseBuffer {
 public:
  SparseBuffer(Device& device, uint64_t address) : device_(&device), address_(address) {}
  SparseBuffer(SparseBuffer&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), address_(other.address_) {}
  SparseBuffer(const SparseBuffer&) = delete;
  SparseBuffer& operator=(const SparseBuffer&) = delete;
  SparseBuffer& operator=(SparseBuffer&&) = delete;
  ~SparseBuffer() {
    if (device_ != nullptr) static_cast<void>(device_->free(address_).ok());
  }
  uint64_t address() const { return address_; }

 private:
  Device* device_;
  uint64_t address_;
};

class SparseExecution {
 public:
  SparseExecution(Device& device, ModuleId module, Arena& arena, const ExecutionPlan& plan)
      : device_(device), module_(module), arena_(arena), plan_(plan) {}

  Result<ExecutionReport> run();

 private:
  enum class Ended : uint8_t { InTheLast, Early, WithFinding };
  Result<SparseBuffer> create(SparseMemory& memory, const PlanTensor& tensor);
  Result<Ended> launch_all(const std::vector<SparseBuffer>& buffers, ThreadOrder order);
  Status keep_windows(const std::vector<SparseBuffer>& buffers, size_t run, bool told);

  Device& device_;
  ModuleId module_;
  Arena& arena_;
  const ExecutionPlan& plan_;
  ExecutionReport report_;
};

std::vector<std::byte> poison(uint64_t bytes) {
  std::vector<std::byte> made(bytes);
  for (uint64_t i = 0; i < bytes; ++i) made[i] = poison_byte(kSparsePoison, i);
  return made;
}

Result<SparseBuffer> SparseExecution::create(SparseMemory& memory, const PlanTensor& tensor) {
  const uint64_t part = packed_bytes(tensor);
  const bool reads = tensor.role == Role::Input;
  std::vector<std::byte> initial(tensor.initial.empty() ? 0 : part);
  fill_elements(tensor.initial, initial);
  const auto pattern =
      reads ? GPUEMU_TRY(arena_.range(tensor.arena_offset, part)) : std::span<std::byte>(initial);
  const uint64_t bytes = part * tensor.repeats;
  SparseBuffer buffer(device_, GPUEMU_TRY(memory.allocate_sparse(bytes, tensor.name, pattern)));
  if (tensor.role != Role::Output || bytes == 0) return buffer;
  const std::vector<std::byte> nothing = poison(part);
  GPUEMU_TRY(device_.upload(buffer.address(), nothing));
  GPUEMU_TRY(device_.upload(buffer.address() + bytes - part, nothing));
  return buffer;
}

Result<SparseExecution::Ended> SparseExecution::launch_all(const std::vector<SparseBuffer>& buffers,
                                                           ThreadOrder order) {
  GPUEMU_TRY(set_variables({device_, module_}, arena_, plan_, 0));
  std::vector<uint64_t> addresses;
  for (const SparseBuffer& buffer : buffers) addresses.push_back(buffer.address());
  for (const PlanLaunch& launch : plan_.launches) {
    LaunchConfig config = GPUEMU_TRY(launch_config(plan_, launch, addresses));
    config.timeout_ms = plan_.sparse_launch_ms;
    config.thread_order = order;
    Result<LaunchReport> launched = device_.launch(module_, config);
    if (!launched && launched.error().code == ErrorCode::InvalidArgument) {
      return error(ErrorCode::Unsupported, "{}", launched.error().message);
    }
    if (!launched) return launched.error();
    report_.thread_instructions += launched->thread_instructions;
    const auto over = [](const DeviceFinding& finding) {
      return finding.kind == DeviceFindingKind::Timeout;
    };
    const bool early = std::erase_if(launched->findings, over) > 0;
    std::ranges::move(launched->findings, std::back_inserter(report_.device));
    if (!std::ranges::all_of(report_.device, is_note)) return Ended::WithFinding;
    const uint64_t blocks = uint64_t{launch.grid.x} * launch.grid.y * launch.grid.z;
    if (early && (blocks < kGridMin || &launch != &plan_.launches.back())) return Ended::Early;
    if (early) return Ended::InTheLast;
  }
  return Ended::InTheLast;
}

Status SparseExecution::keep_windows(const std::vector<SparseBuffer>& buffers, size_t run,
                                     bool told) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const PlanTensor& tensor = plan_.tensors[i];
    if (tensor.role != Role::Output) continue;
    const uint64_t part = packed_bytes(tensor);
    const uint64_t places[] = {0, part * (tensor.repeats - 1)};
    for (size_t place = 0; place < std::size(places); ++place) {
      const uint64_t to = tensor.output_offset + (run * std::size(places) + place) * part;
      const auto window = GPUEMU_TRY(arena_.range(to, part));
      if (told) {
        GPUEMU_TRY(device_.download(window, buffers[i].address() + places[place]));
      } else {
        std::ranges::copy(poison(part), window.begin());
      }
    }
  }
  return ok_status();
}

Result<ExecutionReport> SparseExecution::run() {
  SparseMemory* memory = sparse_memory_of(device_);
  if (memory == nullptr) {
    return error(ErrorCode::Unsupported, "backend '{}' has no sparse memory",
                 device_.properties().backend);
  }
  for (size_t run = 0; run < std::size(kOrders); ++run) {
    std::vector<SparseBuffer> buffers;
    buffers.reserve(plan_.tensors.size());
    for (const PlanTensor& tensor : plan_.tensors) {
      buffers.push_back(GPUEMU_TRY(create(*memory, tensor)));
    }
    const Ended ended = GPUEMU_TRY(launch_all(buffers, kOrders[run]));
    if (ended == Ended::WithFinding) break;
    GPUEMU_TRY(keep_windows(buffers, run, ended == Ended::InTheLast));
  }
  return std::move(report_);
}

}  // namespace

Result<ExecutionReport> execute_sparse(Device& device, ModuleId module, Arena& arena,
                                       const ExecutionPlan& plan) {
  for (const PlanTensor& tensor : plan.tensors) {
    const bool starts_known = tensor.role == Role::Output && !tensor.initial.empty();
    if (tensor.repeats == 0 || tensor.role == Role::InOut || starts_known ||
        tensor.base_offset_bytes != 0) {
      return error(ErrorCode::InvalidArgument, "tensor '{}' cannot be repeated {} times",
                   tensor.name, tensor.repeats);
    }
  }
  return SparseExecution(device, module, arena, plan).run();
}

}  // namespace gpuemu
