// Selects variants and launches them.
#include "ops/dispatch/dispatcher.h"

#include <algorithm>
#include <utility>

#include "kernels/catalog.h"
#include "ops/dispatch/accesses.h"
#include "ops/dispatch/planning.h"
#include "ops/dispatch/step_launch.h"
#include "ops/dispatch/stopwatch.h"
#include "ops/dispatch/tuning_copy.h"

namespace gpuemu {
namespace {

std::string shapes_of(const OpCase& c) {
  std::string text;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    text +=
        fmt::format("{}{} {}", i == 0 ? "" : ", ", c.op.inputs[i].name, shape_text(c.in(i).shape));
  }
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    text += fmt::format(", {} {}", c.op.outputs[i].name, shape_text(c.out(i).shape));
  }
  return text;
}

std::vector<std::vector<int64_t>> shapes_of(std::span<const DeviceTensor> tensors) {
  std::vector<std::vector<int64_t>> shapes;
  for (const DeviceTensor& one : tensors) shapes.emplace_back(one.shape.begin(), one.shape.end());
  return shapes;
}

bool has_work(const OpCase& c) {
  return std::ranges::any_of(c.outputs, [](const DeviceTensor& out) { return out.count() > 0; });
}

/// Returns why the variant cannot take the call's attributes; "" if it can.
std::string attribute_refusal(const OpRegistry& registry, const OpCall& call,
                              const KernelVariant& variant) {
  const uint32_t version = call.schema_id & 255;
  if (call.schema_id == 0 ||
      (call.schema_id >> 8 == call.op->schema.number && version <= call.op->schema.version())) {
    return {};
  }
  const AttributeSchema& schema = variant.schema_for(*call.op);
  if (schema.has_version(version)) return {};
  const KernelVariant* const with = registry.with_schema(*call.op, call.schema_id);
  if (with == nullptr) return "it has not the attributes of the call";
  for (const AttributeField& field : with->schema.fields) {
    const auto same = [&](const AttributeField& one) { return one.name == field.name; };
    if (std::ranges::any_of(schema.fields, same)) continue;
    return fmt::format("it has no attribute {}", field.name);
  }
  return "its attributes have another order than those of the call";
}

uint64_t next_serial() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

}  // namespace

Dispatcher::Dispatcher(Device& device, Streams& streams, const OpRegistry& registry)
    : device_(device),
      streams_(streams),
      registry_(registry),
      serial_(next_serial()),
      workspaces_(device) {}

Result<std::unique_ptr<Dispatcher>> Dispatcher::create(Device& device, const OpRegistry& registry,
                                                       DispatchOptions options) {
  Streams* streams = GPUEMU_TRY(device.streams());
  std::unique_ptr<Dispatcher> made(new Dispatcher(device, *streams, registry));
  made->modules_ = GPUEMU_TRY(ModuleCache::create(device, options.folder));
  made->timings_ = std::make_unique<Timings>(options.folder);
  made->warn_ = std::move(options.warn);
  made->set_log(std::move(options.log));
  made->set_policy(std::move(options.policy));
  return made;
}

void Dispatcher::set_policy(DispatchPolicy policy) {
  const std::lock_guard lock(mutex_);
  is_timed_ = policy.strategy != SelectionRule::FirstSupported;
  policy_ = std::move(policy);
  ++policy_number_;
}

std::string Dispatcher::policy_json() {
  const std::lock_guard lock(mutex_);
  return json_of(policy_);
}

std::vector<uint64_t> Dispatcher::take_captured_workspaces() {
  return workspaces_.take_kept([this](StreamId stream) {
    const auto capturing = streams_.is_capturing(stream);
    return !capturing || !*capturing;
  });
}

void Dispatcher::set_log(Log log, bool times) {
  auto made = log ? std::make_shared<const Telling>(std::move(log), times) : nullptr;
  const std::lock_guard lock(mutex_);
  is_told_ = made != nullptr;
  log_ = std::move(made);
}

Result<Dispatcher::Checked> Dispatcher::checked(const OpCall& call) {
  if (call.operands != nullptr) GPUEMU_TRY(call.operands->check(call));
  const AttributeSchema* schema = &call.op->schema;
  // Some variants have fields of their own, in a longer schema.
  const bool is_ops = call.schema_id == 0 || (call.schema_id >> 8 == schema->number &&
                                              (call.schema_id & 255) <= schema->version());
  if (!is_ops) {
    const KernelVariant* const with = registry_.with_schema(*call.op, call.schema_id);
    if (with != nullptr) schema = &with->schema;
  }
  GPUEMU_TRY(check_attributes(*schema, call.schema_id, call.attributes));
  const OpCase c{*call.op, call.inputs, call.outputs, Attributes(*schema, call.attributes),
                 device_.properties()};
  auto types = check_case(c);
  if (!types) return types.error().with_context(call.op->name);
  return Checked{c, *types};
}

bool Dispatcher::find_key(const OpCall& call, CallKey& key) const {
  if (is_told_ || is_timed_ || profiler_ != nullptr) return false;
  if (!call.variant.empty() || call.generation_max != UINT64_MAX) return false;
  return key.add(serial_) && key.add(registry_.generation()) && key.add(policy_number_) &&
         key.add(reinterpret_cast<uintptr_t>(call.op)) && key.add(call.schema_id) &&
         key.add(call.attributes) && key.add(call.inputs) && key.add(call.outputs);
}

Status Dispatcher::launch_decided(DecidedCall& decided, const OpCall& call) {
  if (call.operands != nullptr) {
    const uint64_t now = call.operands->generation;
    if (decided.checked_at != now) GPUEMU_TRY(call.operands->check(call));
    decided.checked_at = now;
  }
  for (DecidedCall::Step& step : decided.steps) {
    const Status started = streams_.launch(
        call.stream, *StepLaunch(step.launch, step.function, step.accesses, call.tag, &step.memo));
    if (!started) {
      return started.error().with_context(call.op->name + ", " + decided.variant->name);
    }
  }
  return ok_status();
}

Status Dispatcher::call(const OpCall& call) {
  // The key is made from the state at the start, whatever changes during the call.
  CallKey key;
  const bool is_keyed = find_key(call, key);
  if (is_keyed) {
    DecidedCall* const known = RecentCalls::of_this_thread().find(key);
    if (known != nullptr) return launch_decided(*known, call);
  }
  const Checked checked = GPUEMU_TRY(this->checked(call));
  if (!has_work(checked.c)) return ok_status();
  const Choice choice = GPUEMU_TRY(choose(checked.c, checked.types, call));
  DecidedCall decided{.variant = choice.variant};
  GPUEMU_TRY(
      launch_profiled(checked.c, choice, checked.types, call, is_keyed ? &decided : nullptr));
  if (!decided.steps.empty()) RecentCalls::of_this_thread().keep(key, std::move(decided));
  return ok_status();
}

Status Dispatcher::prepare(const OpCall& call) {
  const Checked checked = GPUEMU_TRY(this->checked(call));
  if (!has_work(checked.c)) return ok_status();
  const Choice choice = GPUEMU_TRY(choose(checked.c, checked.types, call));
  if (!choice.variant->library.empty()) return ok_status();
  Plan plan;
  GPUEMU_TRY(plan_of(case_for(checked.c, *choice.variant), *choice.variant, plan));
  for (const LaunchStep& step : plan.steps()) {
    GPUEMU_TRY(entry_of(checked.c.op, *choice.variant, step.entry, checked.types));
  }
  return ok_status();
}

Status Dispatcher::launch_profiled(const OpCase& c, const Choice& choice, const TypeBinding& types,
                                   const OpCall& call, DecidedCall* decided) {
  std::shared_ptr<const Telling> log;
  {
    const std::lock_guard lock(mutex_);
    log = log_;
  }
  Profiler* profiler = profiler_;
  if (profiler != nullptr) GPUEMU_TRY(profiler->begin_op(c.op.name, call.stream));
  Status launched;
  const Issue issue{call.stream, call.tag};
  if (log == nullptr) {
    launched = launch(c, *choice.variant, types, issue, decided);
  } else {
    const auto record = launch_told(c, choice, types, issue, log->times);
    if (record) log->tell(*record);  // The log may call the dispatcher, so no lock is held.
    launched = record ? ok_status() : Status(record.error());
  }
  if (profiler != nullptr) GPUEMU_TRY(profiler->end_op(call.stream));
  return launched;
}

Dispatcher::OpState& Dispatcher::state_of(const OpKind& op) {
  OpState& state = states_[&op];
  const uint64_t now = registry_.generation();
  if (state.generation != now) {
    state.order = std::make_shared<const Order>(registry_.variants_of(op));
    state.generation = now;
  }
  return state;
}

void Dispatcher::warn_once(const std::string& warning) {
  {
    const std::lock_guard lock(mutex_);
    if (!warned_.insert(warning).second) return;
  }
  if (warn_) warn_(warning);
}

Result<Dispatcher::Choice> Dispatcher::named(const OpCase& c, const TypeBinding& types,
                                             const Order& order, const OpCall& call) {
  const std::string_view name = call.variant;
  const auto wanted = std::ranges::find(order, name, &KernelVariant::name);
  if (wanted == order.end()) {
    std::string known;
    for (const KernelVariant* one : order) known += (known.empty() ? "" : ", ") + one->name;
    return error(ErrorCode::NotFound, "{} has no variant '{}'; there are: {}", c.op.name, name,
                 known);
  }
  const std::string reason = refusal_of(c, **wanted, types, call);
  if (reason.empty()) return Choice{*wanted, "named by the call"};
  return error(ErrorCode::Unsupported, "{}: the variant '{}' does not compute this call: {}",
               c.op.name, name, reason);
}

Result<Dispatcher::Choice> Dispatcher::choose(const OpCase& c, const TypeBinding& types,
                                              const OpCall& call) {
  std::shared_ptr<const Order> order;
  SelectionRule strategy = SelectionRule::FirstSupported;
  std::string preferred;
  {
    const std::lock_guard lock(mutex_);
    order = state_of(c.op).order;
    strategy = policy_.strategy;
    const auto wish = policy_.preferred.find(c.op.name);
    if (wish != policy_.preferred.end()) preferred = wish->second;
  }
  if (!call.variant.empty()) return named(c, types, *order, call);
  if (!preferred.empty()) {
    const auto wanted = std::ranges::find(*order, preferred, &KernelVariant::name);
    const std::string reason =
        wanted == order->end() ? "no variant has that name" : refusal_of(c, **wanted, types, call);
    if (reason.empty()) return Choice{*wanted, "preferred"};
    warn_once(fmt::format("{}: the preferred variant '{}' is not used: {}", c.op.name, preferred,
                          reason));
  }
  std::vector<const KernelVariant*> able;
  std::string reasons;
  for (const KernelVariant* variant : *order) {
    if (variant->generation > call.generation_max) continue;
    const std::string reason = refusal_of(c, *variant, types, call);
    if (reason.empty() && strategy == SelectionRule::FirstSupported) {
      return Choice{variant, "first supported"};
    }
    if (reason.empty()) able.push_back(variant);
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", variant->name, reason);
  }
  if (able.empty()) {
    return error(ErrorCode::Unsupported, "{}: no variant computes this call: {}", c.op.name,
                 reasons.empty() ? "it has none" : reasons);
  }
  // Variants that must be compiled first are not timed against precompiled ones.
  const auto comes_as_source = [](const KernelVariant* one) {
    return one->generation == 0 && !one->source.empty() && !one->source_is_ptx;
  };
  if (!std::ranges::all_of(able, comes_as_source)) std::erase_if(able, comes_as_source);
  if (able.size() == 1) return Choice{able[0], "the only one that supports it"};
  if (GPUEMU_TRY(streams_.is_capturing(call.stream))) {
    return Choice{able[0], "first supported: nothing is timed while a graph is captured"};
  }
  return fastest(c, types, able, call.stream);
}

Result<Dispatcher::Choice> Dispatcher::fastest(const OpCase& c, const TypeBinding& types,
                                               const std::vector<const KernelVariant*>& able,
                                               StreamId stream) {
  const std::string question = timing_question(c, types);
  VariantTimes times = timings_->find(question);
  std::unique_ptr<TuningCopy> scratch;
  const KernelVariant* best = nullptr;
  bool changed = false;
  for (const KernelVariant* variant : able) {
    const std::string hash = GPUEMU_TRY(hash_of(c, *variant, types));
    VariantTime& time = times[variant->name];
    if (time.module_hash != hash) {
      if (!scratch) {
        auto made = TuningCopy::create(device_, streams_, c, stream);
        if (!made && made.error().code != ErrorCode::ResourceExhausted) {
          return made.error().with_context(c.op.name + ", timing its variants");
        }
        if (!made) {
          warn_once(
              fmt::format("{}: its variants are not timed: {}", c.op.name, made.error().message));
          return Choice{able[0], "first supported: not enough memory for timing"};
        }
        scratch = *std::move(made);
      }
      const double microseconds = GPUEMU_TRY(time_variant(*scratch, *variant, types));
      time = {hash, microseconds};
      changed = true;
    }
    if (best == nullptr || time.microseconds < times[best->name].microseconds) best = variant;
  }
  if (scratch) GPUEMU_TRY(workspaces_.forget(scratch->stream()));
  if (changed) timings_->keep(question, times);
  return Choice{
      best, fmt::format("fastest of {}: {:.1f} us", able.size(), times[best->name].microseconds)};
}

Result<double> Dispatcher::time_variant(const TuningCopy& scratch, const KernelVariant& variant,
                                        const TypeBinding& types) {
  constexpr int kRuns = 3;
  const OpCase c = scratch.view();
  Stopwatch stopwatch(streams_);
  double best = 0;
  // The first run includes one-time costs and is not counted.
  for (int run = 0; run <= kRuns; ++run) {
    GPUEMU_TRY(stopwatch.begin(scratch.stream()));
    GPUEMU_TRY(launch(c, variant, types, {scratch.stream()}));
    const double us = GPUEMU_TRY(stopwatch.end(scratch.stream()));
    if (run == 1 || (run > 1 && us < best)) best = us;
  }
  const Status done = streams_.synchronize(scratch.stream());
  if (!done) return done.error().with_context(c.op.name + ", timing " + variant.name);
  // Times below the clock's resolution count as equal: no run takes zero time.
  return std::max(best, 1e-3);
}

std::string Dispatcher::refusal_of(const OpCase& c, const KernelVariant& variant,
                                   const TypeBinding& types, const OpCall& call) {
  if (variant.generation > call.generation_max) return "it was registered after the capture began";
  std::string reason = attribute_refusal(registry_, call, variant);
  if (reason.empty()) reason = refusal(case_for(c, variant), variant, types);
  if (!reason.empty() || variant.library.empty()) return reason;
  // Any query of the streams makes the device's context current on this thread.
  const auto answers = streams_.is_capturing(kDefaultStream);
  return answers ? libraries_.refusal(variant) : answers.error().message;
}

Result<std::string> Dispatcher::hash_of(const OpCase& c, const KernelVariant& variant,
                                        const TypeBinding& types) {
  if (!variant.library.empty()) return libraries_.version(variant);
  const LoadedEntry* entry = GPUEMU_TRY(entry_of(c.op, variant, 0, types));
  return entry->module_hash;
}

Result<const LoadedEntry*> Dispatcher::load_entry(const OpKind& op, const KernelVariant& variant,
                                                  uint32_t entry, const TypeBinding& types) {
  const std::string name = GPUEMU_TRY(entry_name(variant.entries[entry], types));
  const LoadedEntry* loaded = nullptr;
  if (variant.source_is_ptx) {
    loaded = GPUEMU_TRY(modules_->entry(std::string(variant.source), variant.module, name));
  } else if (!variant.source.empty()) {
    loaded = GPUEMU_TRY(
        modules_->instance({.name = variant.module, .text = std::string(variant.source)}, name));
  } else {
    const BuiltinKernel* module = find_builtin(variant.module);
    if (module == nullptr) {
      return error(ErrorCode::NotFound, "op '{}', variant '{}': no module '{}'", op.name,
                   variant.name, variant.module);
    }
    loaded = GPUEMU_TRY(modules_->entry(module->ptx(), std::string(module->file), name));
  }
  if (variant.rules != nullptr) GPUEMU_TRY(variant.rules->check_entry(entry, loaded->info));
  return loaded;
}

Result<const LoadedEntry*> Dispatcher::entry_of(const OpKind& op, const KernelVariant& variant,
                                                uint32_t entry, const TypeBinding& types) {
  const std::pair key(&variant, (uint64_t{entry} << 32) | types.index());
  {
    const std::lock_guard lock(mutex_);
    const auto& entries = state_of(op).entries;
    const auto known = entries.find(key);
    if (known != entries.end()) return known->second;
  }
  const auto loaded = load_entry(op, variant, entry, types);
  if (!loaded) return loaded.error().with_context(op.name + ", " + variant.name);
  const std::lock_guard lock(mutex_);
  state_of(op).entries.emplace(key, *loaded);
  return *loaded;
}

Status Dispatcher::compile(const OpKind& op, const KernelVariant& variant) {
  std::vector<TypeBinding> bindings(1);
  for (const TypeRule& rule : variant.types) {
    std::vector<TypeBinding> longer;
    for (const TypeBinding& start : bindings) {
      for (const DType dtype : rule.dtypes) longer.emplace_back(start).bind(rule.letter, dtype);
    }
    bindings = std::move(longer);
  }
  for (const TypeBinding& types : bindings) {
    for (uint32_t entry = 0; entry < variant.entries.size(); ++entry) {
      GPUEMU_TRY(entry_of(op, variant, entry, types));
    }
  }
  return ok_status();
}

Status Dispatcher::launch(const OpCase& c, const KernelVariant& variant, const TypeBinding& types,
                          const Issue& issue, DecidedCall* decided) {
  const StreamId stream = issue.stream;
  OpCase planned = case_for(c, variant);
  const uint64_t bytes = GPUEMU_TRY(workspace_of(planned, variant));
  Workspaces::Turn turn;  // Held until every launch that uses the workspace is issued.
  if (bytes > 0) {
    turn = GPUEMU_TRY(streams_.is_capturing(stream)) ? GPUEMU_TRY(workspaces_.keep(bytes, stream))
                                                     : GPUEMU_TRY(workspaces_.take(bytes, stream));
    planned.workspace = turn.address;
  }
  if (variant.library.empty()) {
    // With a workspace, which may grow, or with run-time rules, the decision may differ the next
    // time.
    const bool is_fixed = bytes == 0 && variant.rules == nullptr;
    return launch_steps(planned, bytes, variant, types, issue, is_fixed ? decided : nullptr);
  }
  const Status issued = libraries_.issue(planned, variant, stream);
  return issued ? issued : Status(issued.error().with_context(c.op.name + ", " + variant.name));
}

Status Dispatcher::launch_steps(const OpCase& c, uint64_t workspace_bytes,
                                const KernelVariant& variant, const TypeBinding& types,
                                const Issue& issue, DecidedCall* decided) {
  Plan plan;
  GPUEMU_TRY(plan_of(c, variant, plan));
  for (const LaunchStep& step : plan.steps()) {
    const LoadedEntry* entry = GPUEMU_TRY(entry_of(c.op, variant, step.entry, types));
    const Accesses accesses(c, workspace_bytes, step);
    const std::span<const MemoryAccess> list = accesses.list();
    const Status started =
        streams_.launch(issue.stream, *StepLaunch(step, entry->function, list, issue.tag));
    if (!started) return started.error().with_context(c.op.name + ", " + variant.name);
    if (decided != nullptr) {
      decided->steps.push_back({step, entry->function, {list.begin(), list.end()}});
    }
  }
  return ok_status();
}

Result<DispatchRecord> Dispatcher::launch_told(const OpCase& c, const Choice& choice,
                                               const TypeBinding& types, const Issue& issue,
                                               bool times) {
  const StreamId stream = issue.stream;
  DispatchRecord record{c.op.name, choice.variant->name, choice.why, shapes_of(c), types.text()};
  record.inputs = shapes_of(c.inputs);
  record.outputs = shapes_of(c.outputs);
  record.types = types;
  record.stream = stream;
  record.is_captured = GPUEMU_TRY(streams_.is_capturing(stream));
  if (!times || record.is_captured) {
    GPUEMU_TRY(launch(c, *choice.variant, types, issue));
  } else {
    Stopwatch stopwatch(streams_);
    GPUEMU_TRY(stopwatch.begin(stream));
    GPUEMU_TRY(launch(c, *choice.variant, types, issue));
    record.microseconds = GPUEMU_TRY(stopwatch.end(stream));
  }
  return record;
}

}  // namespace gpuemu
