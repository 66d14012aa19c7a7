// Executes one launch: arguments, checks, and the threads that run blocks.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>

#include "common/base/limits.h"
#include "runtime/device/launch_check.h"
#include "runtime/emulator/block_scheduler.h"
#include "runtime/emulator/checks/global_races.h"
#include "runtime/emulator/debugger/stepper.h"
#include "runtime/emulator/decode/counting_code.h"
#include "runtime/emulator/device.h"
#include "runtime/emulator/gpu_models.h"
#include "runtime/emulator/jit/compile.h"
#include "runtime/emulator/machine/cluster.h"
#include "runtime/emulator/program/budget.h"
#include "runtime/emulator/redundancy_review.h"
#include "runtime/emulator/report/counters.h"
#include "runtime/emulator/shadow/shadow.h"
#include "runtime/emulator/touched_memory.h"

namespace gpuemu::emulator {
namespace {

/// Size of the grid barrier's workspace, the same as the driver's.
constexpr uint64_t kWorkspaceBytes = 1024;
/// Blocks that one thread keeps in progress if they may wait for each other: as many as the largest
/// GPUs hold.
constexpr uint32_t kResidentMax = 8192;
std::shared_ptr<Counters> new_counters(const Program& program) {
  auto made = std::make_shared<Counters>();
  made->counts.instructions.resize(program.places->instructions.size());
  made->counts.blocks.resize(program.places->blocks.size());
  made->counts.edges.resize(program.places->edges.size());
  return made;
}

/// Merges findings of the same operation on the same lines: a compiler that unrolls a loop makes
/// many instructions of one.
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
    if (known == kept.end()) {
      kept.push_back(std::move(finding));
    } else {
      known->count += finding.count;
    }
  }
  return kept;
}

Checks checks_of(const LaunchConfig& config) {
  const DeviceChecks& wanted = config.sanitize;
  const bool init = wanted.has(DeviceCheck::Init);
  return {.init = init,
          .race = wanted.has(DeviceCheck::Race) || wanted.has(DeviceCheck::RaceShared),
          .sync = wanted.has(DeviceCheck::Sync),
          .division = init || wanted.has(DeviceCheck::Division),
          .nonfinite = wanted.has(DeviceCheck::Nonfinite),
          .global_race = wanted.has(DeviceCheck::Race) || wanted.has(DeviceCheck::RaceGlobal),
          .writes = wanted.has(DeviceCheck::Writes),
          .defines = init || wanted.has(DeviceCheck::Writes),
          .defers = init && config.defers_undefined};
}

/// Compiling a function takes about as long as handlers take to run this many warps.
constexpr uint64_t kWarpsBeforeCompiling = 256;

Accesses accesses_of(const Checks& checks) {
  return static_cast<Accesses>((checks.init ? kInit : 0) | (checks.race ? kSharedRaces : 0) |
                               (checks.global_race ? kGlobalRaces : 0) |
                               (checks.writes ? kWritesOnce : 0));
}

/// Compiles the entry once it has run long enough, with the functions that it can call.
void compile_if_worth(Program& program, const LaunchConfig& config, MachineCode wanted) {
  Code& entry = *program.by_name.at(config.entry);
  const Accesses kind = accesses_of(checks_of(config));
  const uint64_t threads = uint64_t{config.block.x} * config.block.y * config.block.z;
  const uint64_t blocks = uint64_t{config.grid.x} * config.grid.y * config.grid.z;
  if (wanted == MachineCode::Never || entry.compiled[kind].tried) return;
  entry.warps += blocks * ((threads + kLanes - 1) / kLanes);
  if (wanted != MachineCode::Always && entry.warps < kWarpsBeforeCompiling) return;
  if (!runs_compiled_code()) return;
  for (Code& code : program.functions) {
    if (&code == &entry || (!code.source->is_entry && !code.compiled[kind].tried)) {
      compile_code(code, kind);
    }
  }
}

uint32_t race_segments_max(const EmulatorOptions& options) {
  return options.race_segments_max == 0 ? kRaceSegmentsMax
                                        : std::min(options.race_segments_max, kRaceSegmentsMax);
}

/// Builds the report, except for what only the scheduler or an observer provides.
LaunchReport report_of(Launch& run, const Program& program) {
  LaunchReport report;
  report.findings = run.report.take_findings();
  report.undefined = run.report.take_undefined();
  report.printed = run.report.take_printed();
  report.thread_instructions = run.progress.executed.load();
  if (Counters* const counters = run.report.counters(); counters != nullptr) {
    spread_counts(program, counters->counts);
    report.profile = std::make_shared<Profile>(Profile{program.places, counters->counts});
  }
  return report;
}

}  // namespace

Result<LaunchReport> Emulator::launch(ModuleId module, const LaunchConfig& config) {
  GPUEMU_TRY(queues_.settle(false));
  const std::lock_guard running(running_);
  GPUEMU_TRY(ready());
  const EntryInfo& entry = *GPUEMU_TRY(this->entry(module, config.entry));
  GPUEMU_TRY(check_launch(entry, config, properties_));
  GPUEMU_TRY(check_registers(module, entry, config));
  return execute(module, entry, config, nullptr, nullptr);
}

std::vector<Allocation*> Emulator::allocations() {
  std::map<uint64_t, Allocation*> found;
  const auto add = [&](uint64_t address) {
    if (Allocation* const one = memory_.find(address, 0)) found[one->base] = one;
  };
  std::ranges::for_each(addresses_, add);
  std::ranges::for_each(adopted_, add);
  std::vector<Allocation*> all;
  for (const auto& [base, one] : found) all.push_back(one);
  return all;
}

Result<LaunchReport> Emulator::launch_checked(ModuleId module, const EntryInfo& entry,
                                              const LaunchConfig& config, Repetition& repetition,
                                              TouchedMemory* touched) {
  const std::lock_guard running(running_);
  GPUEMU_TRY(ready());
  return execute(module, entry, config, &repetition, touched);
}

Result<LaunchReport> Emulator::execute(ModuleId module, const EntryInfo& entry,
                                       const LaunchConfig& config, Repetition* repetition,
                                       TouchedMemory* touched) {
  Program* loaded = GPUEMU_TRY(program(module));
  if (config.profile && config.shadow != nullptr) {
    return error(ErrorCode::InvalidArgument,
                 "a launch of '{}' asks for a profile and for shadows; ask for one after the other",
                 config.entry);
  }
  if (options_.debugger != nullptr && (config.profile || config.shadow != nullptr)) {
    return error(ErrorCode::Unsupported,
                 "a device that is being debugged gives no profile and no shadows; open another");
  }
  const bool followed = config.shadow != nullptr || options_.debugger != nullptr;
  const Program& form = config.profile ? counting_program(*loaded)
                        : followed     ? plain_program(*loaded)
                                       : *loaded;
  if (&form == loaded) compile_if_worth(*loaded, config, options_.machine_code);
  if (touched != nullptr) {
    memory_.keep_histories();  // Histories that are used again have cells of earlier launches.
    forget_cells(allocations());
  }
  Suspicion suspicion;
  MemoryCopy before;
  const bool suspects =
      may_look_again(module, config) && before.take(memory_, may_write(module, config));
  LaunchReport report =
      GPUEMU_TRY(run(form, entry, config,
                     {.suspicion = suspects ? &suspicion : nullptr, .repetition = repetition}));
  if (touched != nullptr) *touched = touched_memory(allocations(), form);
  if (suspects) GPUEMU_TRY(review_redundancy(*loaded, entry, config, before, suspicion, report));
  if (report.findings.size() > 1) report.findings = fold_by_line(std::move(report.findings));
  lose(config, report);
  return report;
}

namespace {

/// Copies the arguments into the entry's parameter buffer, and records which bytes they cover.
void put_params(const EntryInfo& entry, const LaunchConfig& config, LaunchInputs& inputs) {
  inputs.params.resize(inputs.entry->param_bytes);
  inputs.params_given.resize(inputs.entry->param_bytes);
  for (size_t i = 0; i < config.args.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(entry.params[i].offset);
    std::ranges::copy(config.args[i], inputs.params.begin() + at);
    std::fill_n(inputs.params_given.begin() + at, config.args[i].size(), uint8_t{1});
  }
}

/// Sets everything except `sm` and `series`.
Result<LaunchInputs> inputs_of(const Program& program, const EntryInfo& entry,
                               const LaunchConfig& config, const Checks& checks) {
  LaunchInputs inputs;
  inputs.program = &program;
  inputs.entry = program.by_name.at(entry.name);
  inputs.config = &config;
  inputs.cluster = GPUEMU_TRY(cluster_of(entry, config));
  put_params(entry, config, inputs);
  inputs.own_shared_bytes = config.dynamic_shared_bytes == 0
                                ? inputs.entry->static_shared
                                : inputs.entry->dynamic_offset + config.dynamic_shared_bytes;
  inputs.shared_bytes = inputs.own_shared_bytes;
  if (program.reserved_shared) {
    inputs.shared_bytes = reserved_shared_offset(inputs) + kReservedSharedBytes;
  }
  inputs.checks = checks;
  inputs.accesses = accesses_of(checks);
  return inputs;
}

/// The observer that a launch needs (at most one), with its data.
class Observers {
 public:
  void observe(Launch& run, const LaunchConfig& config, ShadowMemory& shadows) {
    if (config.shadow != nullptr) {
      run.observer = &shadow_.emplace(run, *config.shadow, shadows);
    }
  }
  void observe(Launch& run, RedundancyReview* look) {
    static const ShadowConfig kNoRegions{};
    if (look == nullptr) {
      return;
    }
    if (look->compares && !look->collects) {
      comparing_.emplace(run, kNoRegions, own_shadows_).compare(&look->stores);
    }
    run.observer = &looking_.emplace(*look, comparing_ ? &*comparing_ : nullptr);
  }
  void observe(Launch& run, Debugger* debugger) {
    if (debugger != nullptr) {
      run.observer = &stepper_.emplace(run, *debugger);
    }
  }
  /// Returns null unless the launch asked for shadows.
  std::shared_ptr<ShadowReport> shadow_report() {
    return shadow_ ? std::make_shared<ShadowReport>(shadow_->report()) : nullptr;
  }

 private:
  std::optional<Shadow> shadow_;
  ShadowMemory own_shadows_;
  std::optional<Shadow> comparing_;
  std::optional<RedundancyObserver> looking_;
  std::optional<Stepper> stepper_;
};

/// Executes all blocks on `threads` threads. Fails with ResourceExhausted if the host lacks memory.
Status work_on(Schedule& schedule, uint32_t threads, ThreadPool& thread_pool,
               const std::string& entry, Launch& run) {
  std::atomic<bool> short_of_memory = false;
  thread_pool.run(threads - 1, [&](const ThreadPool::CallOthers& call_others) {
    try {
      schedule.work(call_others);
    } catch (const std::bad_alloc&) {
      short_of_memory = true;
    } catch (const std::length_error&) {
      short_of_memory = true;
    }
    if (short_of_memory) run.clock.stop = true;
  });
  if (!short_of_memory) return ok_status();
  return error(ErrorCode::ResourceExhausted,
               "the launch of '{}' needs more memory for its blocks than the host gives; use fewer "
               "threads per block or less local memory, or give the device fewer threads",
               entry);
}

}  // namespace

Result<const LaunchInputs*> Emulator::prepare(const Program& found, const EntryInfo& entry,
                                              const LaunchConfig& config, const Checks& checks,
                                              Repetition& kept) {
  std::optional<LaunchInputs>& inputs = kept.inputs;
  if (!inputs || inputs->program != &found || inputs->checks != checks) {
    inputs = GPUEMU_TRY(inputs_of(found, entry, config, checks));
    inputs->sm = options_.sm;
  } else if (inputs->series == 0) {
    inputs->series = ++series_;
  }
  return &*inputs;
}

Result<uint64_t> Emulator::allocate_workspace() {
  const std::lock_guard layout(layout_);
  const uint64_t at =
      GPUEMU_TRY(memory_.allocate(kWorkspaceBytes, "barrier of the grid", Memory::Kind::Variable));
  GPUEMU_TRY(memory_.fill(at, std::byte{0}, kWorkspaceBytes));
  return at;
}

void Emulator::tell_unchecked(const Launch& run, LaunchReport& report) {
  const std::string& entry = run.inputs.config->entry;
  const auto tell = [&](DeviceFindingKind kind, const std::string& subject, uint64_t limit) {
    if (report.findings.size() >= kFindingsMax) return;
    report.findings.push_back(unchecked(kind, entry, subject, limit));
  };
  for (const std::string& name : memory_.take_unrecorded()) {
    tell(DeviceFindingKind::UncheckedTensor, name, memory_.recorded_bytes_max() >> 20);
  }
  if (run.races->is_full()) tell(DeviceFindingKind::UncheckedRest, entry, run.races->most());
  if (run.inputs.checks.race && run.copies_between_blocks) {
    tell(DeviceFindingKind::UncheckedCopies, entry, 0);
  }
}

Result<LaunchReport> Emulator::run(const Program& found, const EntryInfo& entry,
                                   const LaunchConfig& config, const Purpose& purpose) {
  const auto begin = std::chrono::steady_clock::now();
  const Checks checks = purpose.look == nullptr  ? checks_of(config)
                        : purpose.look->collects ? Checks{}
                                                 : Checks{.init = true, .defines = true};
  Repetition once;
  const LaunchInputs& inputs = *GPUEMU_TRY(
      prepare(found, entry, config, checks, purpose.repetition ? *purpose.repetition : once));
  const Residency most =
      GPUEMU_TRY(fit_blocks(inputs, {options_.threads, kResidentMax}, memory_.limit()));
  Launch run(inputs, config.profile ? new_counters(found) : nullptr);
  if (found.grid_barrier) run.workspace = GPUEMU_TRY(allocate_workspace());
  run.memory = &memory_;
  run.textures = &textures_;
  start_timeout(run, begin);
  run.progress.call_bytes_max = memory_.limit();
  std::unique_ptr<LaunchRaces> races;  // Not in an optional, whose storage would be cleared.
  if (checks.global_race) {
    memory_.keep_histories();
    races = std::make_unique<LaunchRaces>(memory_.segments, found.awaits, pending_stores_,
                                          race_segments_max(options_), purpose.suspicion);
    run.races = races.get();
  }
  if (checks.defers) memory_.track_variables();
  if (!checks.writes) {
    memory_.settle();  // The check for bytes written twice must see all writes.
  }
  // An observer must see one order of execution, and a chosen order is a single one, so both run on
  // one thread.
  const bool observed =
      config.shadow != nullptr || purpose.look != nullptr || options_.debugger != nullptr;
  const bool ordered =
      observed || config.thread_order != ThreadOrder::InOrder || config.in_issue_order;
  const uint64_t wanted = ordered ? 1 : cluster_count(run);
  const auto threads = static_cast<uint32_t>(std::min<uint64_t>(most.threads, wanted));
  const size_t resident = std::max<size_t>(1, most.blocks / blocks_of_cluster(run));
  std::unique_ptr<Observers> observers;
  if (observed) {
    observers = std::make_unique<Observers>();
    observers->observe(run, config, shadows_);
    observers->observe(run, purpose.look);
    observers->observe(run, options_.debugger);
  }
  const Part& part = part_of(options_.sm);
  if (races && threads == 1) races->run_alone();
  Schedule schedule(run, cluster_pool_, threads, resident,
                    {.in_order = config.in_issue_order && !entry.cooperative,
                     .held = blocks_held(part, run),
                     .sm = part.sm,
                     .multiprocessors = part.multiprocessors});
  const Status worked = work_on(schedule, threads, thread_pool_, entry.name, run);
  if (run.workspace != 0) {
    const std::lock_guard layout(layout_);
    GPUEMU_TRY(memory_.free(run.workspace));
  }
  if (races) memory_.segments = races->next();
  if (!worked) return worked.error();
  LaunchReport report = report_of(run, found);
  if (races) tell_unchecked(run, report);
  report.blocks_met = !entry.cooperative && schedule.blocks_met();
  if (observers) report.shadow = observers->shadow_report();
  report.elapsed_ns = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin)
          .count());
  return report;
}

/// In a language without threads, it is the compiler that makes threads repeat each other's work.
bool Emulator::may_look_again(ModuleId module, const LaunchConfig& config) const {
  return by_triton_.contains(module) && checks_of(config).global_race &&
         options_.debugger == nullptr;
}

std::set<uint64_t> Emulator::may_write(ModuleId module, const LaunchConfig& config) {
  const auto& params = by_triton_.at(module).find(config.entry)->second;
  const auto all = [this] {
    std::set<uint64_t> bases;
    for (const Allocation* each : allocations()) bases.insert(each->base);
    return bases;
  };
  if (!params) return all();
  std::set<uint64_t> found;
  for (const uint32_t param : *params) {
    const std::vector<std::byte>& bytes = config.args[param];
    for (size_t at = 0; at + sizeof(uint64_t) <= bytes.size(); at += sizeof(uint64_t)) {
      uint64_t address = 0;
      std::memcpy(&address, bytes.data() + at, sizeof(address));
      if (address == 0) continue;
      const Allocation* const of = memory_.find(address, 0);
      if (of == nullptr) return all();  // A distance to other memory, or an end of some.
      found.insert(of->base);
    }
  }
  return found;
}

Status Emulator::review_redundancy(Program& program, const EntryInfo& entry,
                                   const LaunchConfig& config, const MemoryCopy& before,
                                   Suspicion& suspicion, LaunchReport& report) {
  const bool compares = suspicion.may_explain(report.findings, kEqualStores);
  if (!compares && !suspicion.may_explain(report.findings, kUnusedReads)) return ok_status();
  const MemoryCopy after = before.now();
  RedundancyReview look{.reads = suspicion.reads,
                        .stores = EqualStores(suspicion.stores(report.findings)),
                        .collects = true,
                        .compares = compares};
  LaunchConfig again = config;
  again.profile = false;
  again.shadow = nullptr;
  if (!config.timeout_restarts) {
    const uint64_t spent_ms = report.elapsed_ns / 1'000'000;
    again.timeout_ms = config.timeout_ms > spent_ms ? config.timeout_ms - spent_ms : 1;
  }
  const Program& form = plain_program(program);
  before.put_back();
  Result<LaunchReport> seen = run(form, entry, again, {.look = &look});
  look.collects = false;
  before.put_back();
  if (seen) seen = run(form, entry, again, {.look = &look});
  after.put_back();
  if (!seen) return seen.error();
  // A fault or a timeout ends the review before it has seen everything.
  bool whole = true;
  for (const DeviceFinding& finding : seen->findings) {
    const bool known = std::ranges::any_of(report.findings, [&](const DeviceFinding& first) {
      return first.kind == finding.kind && first.ptx_line == finding.ptx_line;
    });
    const bool used = finding.kind == DeviceFindingKind::UncertainReadUsed;
    look.reads_used = look.reads_used || used;
    whole = whole && (known || used);
  }
  if (whole) explain(report.findings, suspicion, look);
  return ok_status();
}

}  // namespace gpuemu::emulator
