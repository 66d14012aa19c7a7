// The Device: modules, argument checks and the threads that run blocks.
#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>

#include "common/base/limits.h"
#include "runtime/device/launch_check.h"
#include "runtime/emulator/decode/check_sizes.h"
#include "runtime/emulator/decode/contract.h"
#include "runtime/emulator/decode/decode.h"
#include "runtime/emulator/decode/instrument.h"
#include "runtime/emulator/emulator.h"
#include "runtime/emulator/helpers.h"
#include "runtime/emulator/machine/budget.h"
#include "runtime/emulator/machine/cluster.h"
#include "runtime/emulator/machine/counters.h"
#include "runtime/emulator/machine/global_races.h"
#include "runtime/emulator/machine/texture.h"
#include "runtime/emulator/schedule.h"
#include "runtime/ptx/grid_barrier.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace emulator {
namespace {

uint64_t shared_bytes_max(int sm) { return sm >= 90 ? 232448 : sm >= 80 ? 166912 : 65536; }

EntryInfo entry_of(const Program& program, const Code& code) {
  EntryInfo info;
  info.name = code.name;
  info.static_shared_bytes = code.static_shared;
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
  return info;
}

class Emulator : public Device {
 public:
  explicit Emulator(const EmulatorOptions& options)
      : options_(options), memory_(options.memory_limit_bytes) {
    if (options_.threads == 0) options_.threads = std::max(1u, std::thread::hardware_concurrency());
    properties_.backend = "emulator";
    properties_.name = fmt::format("{} ({})", options.name, handlers_name());
    properties_.sm = options.sm;
    properties_.memory_bytes = options.memory_limit_bytes;
    properties_.memory_free_bytes = options.memory_limit_bytes;
    properties_.multiprocessors = options_.threads;
    properties_.shared_bytes_per_block_max = shared_bytes_max(options.sm);
    properties_.checks_bounds = true;
  }

  const DeviceProperties& properties() const override { return properties_; }
  Result<uint64_t> allocate(uint64_t bytes, const std::string& name) override {
    const uint64_t address = GPUEMU_TRY(memory_.allocate(bytes, name));
    settle_free();
    return address;
  }
  Status free(uint64_t address) override {
    GPUEMU_TRY(memory_.free(address));
    settle_free();
    return ok_status();
  }
  Status upload(uint64_t address, std::span<const std::byte> from) override {
    return memory_.upload(address, from);
  }
  Status download(std::span<std::byte> to, uint64_t address) override {
    return memory_.download(to, address);
  }
  Status fill(uint64_t address, std::byte value, uint64_t bytes) override {
    return memory_.fill(address, value, bytes);
  }
  Result<uint64_t> make_texture(const TextureConfig& config) override;
  Status free_texture(uint64_t texture) override;
  Result<ModuleId> load_module(const std::string& ptx, const std::string& name) override;
  Status unload_module(ModuleId module) override;
  Result<std::vector<EntryInfo>> entries(ModuleId module) override;
  Result<LaunchReport> launch(ModuleId module, const LaunchConfig& config) override;

 private:
  void settle_free() { properties_.memory_free_bytes = memory_.limit() - memory_.used(); }
  Result<Program*> program(ModuleId module);
  Result<EntryInfo> entry(ModuleId module, const std::string& name);

  EmulatorOptions options_;
  DeviceProperties properties_;
  Memory memory_;
  Textures textures_;
  Helpers helpers_;
  std::map<ModuleId, std::unique_ptr<Program>> modules_;
  ModuleId next_module_ = 1;
};

Result<Program*> Emulator::program(ModuleId module) {
  const auto found = modules_.find(module);
  if (found == modules_.end())
    return error(ErrorCode::InvalidArgument, "module {} is not loaded", module);
  return found->second.get();
}

Result<uint64_t> Emulator::make_texture(const TextureConfig& config) {
  GPUEMU_TRY(check_texture(config));
  if (memory_.find(config.address, config.extent_bytes()) == nullptr)
    return error(ErrorCode::InvalidArgument,
                 "texture of {} bytes at {:#x} is not inside one allocation", config.extent_bytes(),
                 config.address);
  return textures_.add(config);
}

Status Emulator::free_texture(uint64_t texture) {
  if (textures_.remove(texture)) return ok_status();
  return error(ErrorCode::InvalidArgument, "free of {:#x}, which is no live texture", texture);
}

Result<ModuleId> Emulator::load_module(const std::string& ptx, const std::string& name) {
  GPUEMU_TRY(check_instruction_set());
  auto made = std::make_unique<Program>();
  made->module = GPUEMU_TRY(ptx::parse(ptx, name));
  GPUEMU_TRY(check_sizes(made->module, name));
  if (options_.contraction == Contraction::Always) contract(made->module);
  list_functions(*made);
  if (const Status placed = place_variables(*made, memory_); !placed) {
    release_variables(*made, memory_);
    return placed.error().with_context("module '" + name + "'");
  }
  decode(*made);
  if (const Status fits = check_frames(*made, name); !fits) {
    release_variables(*made, memory_);
    return fits.error();
  }
  settle_free();
  modules_[next_module_] = std::move(made);
  return next_module_++;
}

Status Emulator::unload_module(ModuleId module) {
  Program* found = GPUEMU_TRY(program(module));
  release_variables(*found, memory_);
  modules_.erase(module);
  settle_free();
  return ok_status();
}

Result<std::vector<EntryInfo>> Emulator::entries(ModuleId module) {
  const Program* found = GPUEMU_TRY(program(module));
  std::vector<EntryInfo> all;
  for (const Code& code : found->functions)
    if (code.source->is_entry) all.push_back(entry_of(*found, code));
  return all;
}

Result<EntryInfo> Emulator::entry(ModuleId module, const std::string& name) {
  const Program* found = GPUEMU_TRY(program(module));
  const auto code = found->by_name.find(name);
  if (code != found->by_name.end() && code->second->source->is_entry)
    return entry_of(*found, *code->second);
  const std::vector<EntryInfo> all = GPUEMU_TRY(entries(module));  // For the message.
  return find_entry(all, name);
}

/// Bytes of the barrier of a grid, as large as the driver's.
constexpr uint64_t kWorkspaceBytes = 1024;
/// Blocks that one thread keeps in progress when they may wait for each other: what the largest
/// devices keep.
constexpr uint32_t kResidentMax = 8192;
std::shared_ptr<Counters> new_counters(const Program& program) {
  auto made = std::make_shared<Counters>();
  made->counts.instructions.resize(program.places->instructions.size());
  made->counts.blocks.resize(program.places->blocks.size());
  made->counts.edges.resize(program.places->edges.size());
  return made;
}

/// Loops that a compiler unrolled make many instructions of one: the same operation of the same
/// lines is one finding.
std::vector<DeviceFinding> fold_by_line(std::vector<DeviceFinding> findings) {
  const auto operation = [](const DeviceFinding& of) {
    const size_t guard = of.instruction.starts_with('@') ? of.instruction.find(' ') + 1 : 0;
    return std::string_view(of.instruction).substr(guard, of.instruction.find(' ', guard) - guard);
  };
  const auto same = [&](const DeviceFinding& a, const DeviceFinding& b) {
    return a.line != 0 && a.kind == b.kind && a.tensor == b.tensor && a.file == b.file &&
           a.line == b.line && a.other_file == b.other_file && a.other_line == b.other_line &&
           operation(a) == operation(b);
  };
  std::vector<DeviceFinding> kept;
  for (DeviceFinding& finding : findings) {
    const auto known = std::ranges::find_if(
        kept, [&](const DeviceFinding& other) { return same(other, finding); });
    if (known == kept.end())
      kept.push_back(std::move(finding));
    else
      known->count += finding.count;
  }
  return kept;
}

Result<LaunchReport> Emulator::launch(ModuleId module, const LaunchConfig& config) {
  Program* loaded = GPUEMU_TRY(program(module));
  const Program* found = config.profile ? &counting_program(*loaded) : loaded;
  const EntryInfo entry = GPUEMU_TRY(this->entry(module, config.entry));
  GPUEMU_TRY(check_launch(entry, config, properties_));
  const auto begin = std::chrono::steady_clock::now();
  Launch run;
  run.program = found;
  run.entry = found->by_name.at(entry.name);
  run.config = &config;
  run.cluster = GPUEMU_TRY(cluster_of(entry, config));
  run.memory = &memory_;
  run.textures = &textures_;
  run.sm = options_.sm;
  run.params.resize(run.entry->param_bytes);
  for (size_t i = 0; i < config.args.size(); ++i)
    std::memcpy(run.params.data() + entry.params[i].offset, config.args[i].data(),
                config.args[i].size());
  run.shared_bytes = config.dynamic_shared_bytes == 0
                         ? run.entry->static_shared
                         : run.entry->dynamic_offset + config.dynamic_shared_bytes;
  const auto wants = [&](const char* check) {
    return std::ranges::find(config.sanitize, check) != config.sanitize.end();
  };
  run.checks = {.init = wants("init"),
                .race = wants("race") || wants("race_shared"),
                .sync = wants("sync"),
                .division = wants("init") || wants("division"),
                .nonfinite = wants("nonfinite")};
  std::optional<GlobalRaces> races;
  if (wants("race") || wants("race_global")) {
    memory_.keep_histories();
    run.races = &races.emplace(memory_.segments);
  }
  if (config.profile) run.counters = new_counters(*found);
  run.deadline = begin + std::chrono::milliseconds(std::min(config.timeout_ms, kTimeoutMsMax));
  run.calls_limit = memory_.limit();
  const Residency most =
      GPUEMU_TRY(fit_blocks(run, {options_.threads, kResidentMax}, memory_.limit()));
  if (found->grid_barrier) {
    run.workspace = GPUEMU_TRY(memory_.allocate(kWorkspaceBytes, "barrier of the grid", false));
    GPUEMU_TRY(memory_.fill(run.workspace, std::byte{0}, kWorkspaceBytes));
  }
  memory_.settle();
  const auto threads = static_cast<uint32_t>(std::min<uint64_t>(most.threads, cluster_count(run)));
  const size_t resident = std::max<size_t>(1, most.blocks / blocks_of_cluster(run));
  Schedule schedule(run, threads, resident);
  helpers_.run(threads - 1, [&] { schedule.work(); });
  if (run.workspace != 0) GPUEMU_TRY(memory_.free(run.workspace));
  if (races) memory_.segments = races->next();
  LaunchReport report;
  report.findings = fold_by_line(std::move(run.findings));
  report.printed = std::move(run.printed);
  if (!run.printed_tail.empty()) report.printed.push_back(run.printed_tail);
  report.thread_instructions = run.executed.load();
  if (config.profile)
    report.profile = std::make_shared<Profile>(Profile{found->places, run.counters->counts});
  report.elapsed_ns = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin)
          .count());
  return report;
}
}  // namespace
}  // namespace emulator

std::unique_ptr<Device> make_emulator(const EmulatorOptions& options) {
  return std::make_unique<emulator::Emulator>(options);
}

}  // namespace gpuemu
