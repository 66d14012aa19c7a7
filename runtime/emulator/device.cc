// Memory, textures and modules of the emulated device.
#include "runtime/emulator/device.h"

#include <algorithm>
#include <thread>

#include "runtime/device/fault.h"
#include "runtime/device/launch_check.h"
#include "runtime/emulator/debugger/listing.h"
#include "runtime/emulator/decode/contract.h"
#include "runtime/emulator/decode/decode.h"
#include "runtime/emulator/gpu_models.h"
#include "runtime/emulator/memory/sparse.h"
#include "runtime/emulator/program/check_sizes.h"
#include "runtime/emulator/streams.h"
#include "runtime/ptx/flow/grid_barrier.h"
#include "runtime/ptx/flow/written_params.h"
#include "runtime/ptx/language.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace emulator {
namespace {

EntryInfo entry_of(const Program& program, const Code& code) {
  EntryInfo info;
  info.name = code.name;
  info.static_shared_bytes = code.static_shared;
  info.local_bytes = static_cast<int>(code.local_bytes);
  for (const ptx::Variable& variable : program.module.variables) {
    if (variable.space == ptx::Space::Const) {
      info.constant_bytes += static_cast<uint32_t>(variable.bytes);
    }
  }
  for (size_t i = 0; i < code.source->params.size(); ++i) {
    const ptx::Variable& param = code.source->params[i];
    const bool pointer = param.bytes == 8 && (param.ptr || param.type == ptx::Type::U64 ||
                                              param.type == ptx::Type::B64);
    info.params.push_back({param.name, code.params[i].bytes, code.params[i].offset, pointer});
  }
  std::copy_n(code.source->reqntid, 3, info.required_block.begin());
  std::copy_n(code.source->maxntid, 3, info.max_block.begin());
  std::copy_n(code.source->reqnctapercluster, 3, info.cluster.begin());
  info.needs_cluster = code.source->explicit_cluster;
  info.cooperative = program.grid_barrier && ptx::waits_for_grid(program.module, *code.source);
  info.may_wait_for_host = ptx::may_wait_for_host(program.module, *code.source);
  return info;
}

}  // namespace

Emulator::Emulator(const EmulatorOptions& options)
    : options_(options),
      memory_(options.memory_limit_bytes, options.red_zone_bytes, options.freed_bytes_kept,
              options.race_history_bytes_max),
      registers_(options.registers, options.sm),
      queues_(options.schedule_seed) {
  if (const auto wanted = machine_code_wanted(options_.machine_code); wanted) {
    options_.machine_code = *wanted;
  }
  if (options_.threads == 0) options_.threads = std::max(1u, std::thread::hardware_concurrency());
  properties_.backend = "emulator";
  properties_.name = fmt::format("{} ({})", options.name, handlers_name());
  properties_.index = options.index;
  properties_.sm = options.sm;
  properties_.memory_bytes = options.memory_limit_bytes;
  properties_.memory_free_bytes = options.memory_limit_bytes;
  properties_.multiprocessors = options_.threads;
  const Part& part = part_of(options.sm);
  properties_.shared_bytes_per_block_max = part.shared_per_block;
  properties_.shared_bytes_per_multiprocessor = part.shared_per_multiprocessor;
  properties_.threads_per_multiprocessor = part.threads;
  properties_.blocks_per_multiprocessor = part.blocks;
  properties_.dtypes = dtypes_of(options.sm);
  properties_.checks_bounds = true;
  streams_ = std::make_unique<EmulatorStreams>(*this, queues_);
}

Emulator::~Emulator() = default;

Result<Streams*> Emulator::streams() { return streams_.get(); }

Status Emulator::ready() const {
  if (!is_lost_) return ok_status();
  return error(ErrorCode::Unavailable,
               "emulated device {} is lost after {}; start a new process for it", properties_.index,
               lost_);
}

void Emulator::lose(const LaunchConfig& config, const LaunchReport& report) {
  const auto fault = std::ranges::find_if(report.findings, is_fault);
  if (!options_.sticky_faults || fault == report.findings.end()) return;
  lost_ = fmt::format("a fault ({}) of kernel '{}'", name_of(fault->kind), config.entry);
  is_lost_ = true;
}

Result<MemoryInfo> Emulator::memory() {
  GPUEMU_TRY(ready());
  const std::shared_lock layout(layout_);
  return MemoryInfo{memory_.limit(), memory_.limit() - memory_.used()};
}

Result<uint64_t> Emulator::allocate(uint64_t bytes, const std::string& name) {
  return allocate_buffer(bytes, name, Memory::Kind::Buffer);
}

Result<uint64_t> Emulator::allocate_blank(uint64_t bytes, const std::string& name) {
  return allocate_buffer(bytes, name, Memory::Kind::Blank);
}

Result<uint64_t> Emulator::allocate_buffer(uint64_t bytes, const std::string& name,
                                           Memory::Kind kind) {
  GPUEMU_TRY(ready());
  const std::lock_guard running(running_);
  const std::lock_guard layout(layout_);
  auto made = memory_.allocate(bytes, name, kind);
  if (made) addresses_.insert(*made);
  if (made) return made;
  return made.error().with_context(
      fmt::format("emulated device {} (sm_{})", properties_.index, properties_.sm));
}

Result<uint64_t> Emulator::allocate_sparse(uint64_t bytes, const std::string& name,
                                           std::span<const std::byte> pattern) {
  GPUEMU_TRY(ready());
  const std::lock_guard running(running_);
  const std::lock_guard layout(layout_);
  const uint64_t address = GPUEMU_TRY(memory_.allocate(bytes, name, Memory::Kind::Host));
  addresses_.insert(address);
  if (pattern.empty()) return address;
  auto* at = reinterpret_cast<std::byte*>(address);
  if (is_sparse(bytes)) {
    const Status filled = repeat_sparse(at, bytes, pattern);
    if (filled) return address;
    GPUEMU_TRY(memory_.free(address));
    return filled.error().with_context("tensor '" + name + "'");
  }
  for (uint64_t done = 0; done < bytes; done += pattern.size()) {
    std::ranges::copy(pattern.first(std::min<uint64_t>(pattern.size(), bytes - done)), at + done);
  }
  return address;
}

Status Emulator::free(uint64_t address) {
  GPUEMU_TRY(ready());
  GPUEMU_TRY(queues_.settle(true));
  const std::lock_guard running(running_);
  const std::lock_guard layout(layout_);
  shadows_.clear();
  addresses_.erase(address);
  return memory_.free(address);
}

Result<uint64_t> Emulator::allocate_pinned(uint64_t bytes) {
  GPUEMU_TRY(ready());
  const std::lock_guard running(running_);
  const std::lock_guard layout(layout_);
  const uint64_t address =
      GPUEMU_TRY(memory_.allocate(bytes, "pinned memory of the host", Memory::Kind::Host));
  addresses_.insert(address);
  return address;
}

Status Emulator::adopt(uint64_t address, uint64_t bytes, const std::string& name) {
  GPUEMU_TRY(ready());
  const std::lock_guard running(running_);
  const std::lock_guard layout(layout_);
  GPUEMU_TRY(memory_.adopt(address, bytes, name));
  adopted_.insert(address);
  return ok_status();
}

Status Emulator::release(uint64_t address, uint64_t bytes) {
  GPUEMU_TRY(ready());
  GPUEMU_TRY(queues_.settle(true));
  const std::lock_guard running(running_);
  const std::lock_guard layout(layout_);
  shadows_.forget(address, bytes);
  GPUEMU_TRY(memory_.release(address, bytes));
  adopted_.extract(address);
  return ok_status();
}

Status Emulator::upload(uint64_t address, std::span<const std::byte> from) {
  GPUEMU_TRY(queues_.settle(false));
  return upload_now(address, from);
}

Status Emulator::download(std::span<std::byte> to, uint64_t address) {
  GPUEMU_TRY(queues_.settle(false));
  return download_now(to, address);
}

Status Emulator::fill(uint64_t address, std::byte value, uint64_t bytes) {
  GPUEMU_TRY(queues_.settle(false));
  return fill_now(address, value, bytes);
}

Status Emulator::forget(uint64_t address, uint64_t bytes) {
  GPUEMU_TRY(queues_.settle(false));
  GPUEMU_TRY(ready());
  const std::lock_guard running(running_);
  shadows_.forget(address, bytes);
  return memory_.forget(address, bytes);
}

Status Emulator::divide(uint64_t address, uint64_t bytes, const std::string& name) {
  GPUEMU_TRY(ready());
  GPUEMU_TRY(queues_.settle(true));
  const std::lock_guard running(running_);
  const std::lock_guard layout(layout_);
  GPUEMU_TRY(memory_.divide(address, bytes, name));
  addresses_.insert(address);
  return ok_status();
}

Status Emulator::undivide(uint64_t address) {
  GPUEMU_TRY(ready());
  GPUEMU_TRY(queues_.settle(true));
  const std::lock_guard running(running_);
  const std::lock_guard layout(layout_);
  GPUEMU_TRY(memory_.undivide(address));
  if (memory_.find(address, 0) == nullptr) addresses_.erase(address);
  return ok_status();
}

std::vector<UndefinedBytes> Emulator::undefined_in(uint64_t address, uint64_t bytes) {
  if (!memory_.has_sources() || bytes == 0) return {};
  const std::lock_guard running(running_);
  return memory_.undefined_in(address, bytes);
}

Status Emulator::upload_now(uint64_t address, std::span<const std::byte> from) {
  GPUEMU_TRY(ready());
  const std::lock_guard running(running_);
  shadows_.forget(address, from.size());
  return memory_.upload(address, from);
}

Status Emulator::download_now(std::span<std::byte> to, uint64_t address) {
  GPUEMU_TRY(ready());
  const std::lock_guard running(running_);
  return memory_.download(to, address);
}

Status Emulator::copy_now(uint64_t to, uint64_t from, uint64_t bytes) {
  GPUEMU_TRY(ready());
  const std::lock_guard running(running_);
  shadows_.forget(to, bytes);
  return memory_.copy(to, from, bytes);
}

Status Emulator::fill_now(uint64_t address, std::byte value, uint64_t bytes) {
  GPUEMU_TRY(ready());
  const std::lock_guard running(running_);
  shadows_.forget(address, bytes);
  return memory_.fill(address, value, bytes);
}

Status Emulator::check_range(uint64_t address, uint64_t bytes, const char* what) {
  GPUEMU_TRY(ready());
  const std::shared_lock layout(layout_);
  if (memory_.find(address, bytes) != nullptr) return ok_status();
  return error(ErrorCode::InvalidArgument, "{} of {} bytes at {:#x} is not inside one allocation",
               what, bytes, address);
}

std::optional<uint64_t> Emulator::number_at(uint64_t address, uint64_t bytes) {
  const std::shared_lock layout(layout_, std::try_to_lock);
  if (!layout || memory_.find(address, bytes) == nullptr) return std::nullopt;
  Fence::instance().enter();
  // Another thread may be writing it.
  const uint64_t number =
      bytes == sizeof(uint64_t)
          ? __atomic_load_n(reinterpret_cast<const uint64_t*>(address), __ATOMIC_ACQUIRE)
          : __atomic_load_n(reinterpret_cast<const uint32_t*>(address), __ATOMIC_ACQUIRE);
  Fence::instance().leave();
  return number;
}

Result<Program*> Emulator::program(ModuleId module) {
  const auto found = modules_.find(module);
  if (found == modules_.end()) {
    return error(ErrorCode::InvalidArgument, "module {} is not loaded", module);
  }
  return found->second.get();
}

Result<uint64_t> Emulator::make_texture(const TextureConfig& config) {
  GPUEMU_TRY(check_texture(config));
  const std::lock_guard running(running_);
  const std::lock_guard layout(layout_);
  for (uint32_t i = 0; i < config.levels(); ++i) {
    const TexelGrid& level = config.level(i);
    const uint64_t bytes = level.extent_bytes(config.texel_bytes());
    if (memory_.find(level.address, bytes) == nullptr) {
      return error(ErrorCode::InvalidArgument,
                   "texture of {} bytes at {:#x} is not inside one allocation", bytes,
                   level.address);
    }
  }
  return textures_.add(config);
}

Status Emulator::free_texture(uint64_t texture) {
  GPUEMU_TRY(queues_.settle(true));
  const std::lock_guard running(running_);
  const std::lock_guard layout(layout_);
  if (textures_.remove(texture)) return ok_status();
  return error(ErrorCode::InvalidArgument, "free of {:#x}, which is not a live texture", texture);
}

Result<ModuleId> Emulator::load_module(const std::string& ptx, const std::string& name) {
  GPUEMU_TRY(ready());
  GPUEMU_TRY(check_instruction_set());
  GPUEMU_TRY(machine_code_wanted(options_.machine_code));
  auto made = std::make_unique<Program>();
  made->module = GPUEMU_TRY(ptx::parse(ptx, name));
  GPUEMU_TRY(check_sizes(made->module, name));
  if (options_.contraction == Contraction::Always) contract(made->module);
  if (options_.contraction == Contraction::Random) {
    contract(made->module, options_.contraction_seed);
  }
  list_functions(*made);
  const std::lock_guard running(running_);
  const std::lock_guard layout(layout_);
  if (const Status placed = place_variables(*made, memory_); !placed) {
    release_variables(*made, memory_);
    return placed.error().with_context("module '" + name + "'");
  }
  decode(*made);
  if (const Status fits = check_frames(*made, name); !fits) {
    release_variables(*made, memory_);
    return fits.error();
  }
  if (options_.debugger != nullptr) options_.debugger->loaded(listing_of(*made));
  for (const auto& [variable, address] : made->addresses) addresses_.insert(address);
  const bool by_triton = ptx::is_made_by_triton(made->module, ptx);
  for (const Code& code : made->functions) {
    if (!code.source->is_entry) continue;
    entries_[next_module_].emplace(code.name, entry_of(*made, code));
    if (by_triton) {
      by_triton_[next_module_].emplace(code.name, ptx::written_params(*code.source));
    }
  }
  modules_[next_module_] = std::move(made);
  registers_.add(next_module_, ptx);
  return next_module_++;
}

Status Emulator::unload_module(ModuleId module) {
  GPUEMU_TRY(queues_.settle(true));
  const std::lock_guard running(running_);
  const std::lock_guard layout(layout_);
  Program* found = GPUEMU_TRY(program(module));
  for (const auto& [variable, address] : found->addresses) addresses_.erase(address);
  cluster_pool_.clear();
  by_triton_.erase(module);
  release_variables(*found, memory_);
  modules_.erase(module);
  entries_.erase(module);
  registers_.forget(module);
  streams_->forget(module);
  return ok_status();
}

Result<std::vector<EntryInfo>> Emulator::entries(ModuleId module) {
  const std::shared_lock layout(layout_);
  return entries_of(module);
}

Result<ModuleVariable> Emulator::variable(ModuleId module, const std::string& name) {
  const std::shared_lock layout(layout_);
  const Program* found = GPUEMU_TRY(program(module));
  const auto at = found->addresses.find(name);
  if (at == found->addresses.end()) {
    return error(ErrorCode::NotFound, "module {} has no variable '{}'", module, name);
  }
  return ModuleVariable{at->second, memory_.find(at->second, 0)->bytes};
}

Result<std::vector<std::string>> Emulator::managed_variables(ModuleId module) {
  const std::shared_lock layout(layout_);
  const Program* found = GPUEMU_TRY(program(module));
  std::vector<std::string> names;
  for (const ptx::Variable& one : found->module.variables) {
    if (one.is_managed && found->addresses.contains(one.name)) names.push_back(one.name);
  }
  return names;
}

Result<EntryInfo> Emulator::entry_of_module(ModuleId module, const std::string& name) {
  const std::shared_lock layout(layout_);
  return *GPUEMU_TRY(entry(module, name));
}

Result<std::vector<EntryInfo>> Emulator::entries_of(ModuleId module) {
  const Program* found = GPUEMU_TRY(program(module));
  std::vector<EntryInfo> all;
  for (const Code& code : found->functions) {
    if (code.source->is_entry) all.push_back(entry_of(*found, code));
  }
  return all;
}

Result<const EntryInfo*> Emulator::entry(ModuleId module, const std::string& name) {
  const auto known = entries_.find(module);
  if (known != entries_.end()) {
    const auto found = known->second.find(name);
    if (found != known->second.end()) return &found->second;
  }
  const std::vector<EntryInfo> all = GPUEMU_TRY(entries_of(module));  // Listed by the message.
  return find_entry(all, name).error();
}

}  // namespace emulator

std::unique_ptr<Device> make_emulator(const EmulatorOptions& options) {
  return std::make_unique<emulator::Emulator>(options);
}

}  // namespace gpuemu
