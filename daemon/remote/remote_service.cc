#include "daemon/remote/remote_service.h"

#include <algorithm>
#include <utility>

#include "common/base/service_limits.h"
#include "daemon/executor/plan_ranges.h"
#include "runtime/device/device_traits.h"

namespace gpuemu {
namespace {

using Clock = std::chrono::steady_clock;

/// The most processes kept for plans of other projects.
constexpr size_t kRunnersMax = 4;
/// The most processes for devices of tapes, per connection.
constexpr size_t kTapesMax = 16;
constexpr uint64_t kArenaBytesMax = uint64_t{1} << 46;
constexpr std::chrono::hours kForEver{24 * 365};

}  // namespace

void Cancelling::begin(uint64_t work) {
  const std::lock_guard lock(mutex_);
  current_ = work;
  flag_ = lost_ || cancelled_ == work;
}

void Cancelling::cancel(uint64_t work) {
  const std::lock_guard lock(mutex_);
  cancelled_ = work;
  if (current_ == work) flag_ = true;
}

void Cancelling::lose() {
  const std::lock_guard lock(mutex_);
  lost_ = true;
  flag_ = true;
}

Status RemoteService::serve(Mailbox& mailbox, Cancelling& cancelling) {
  work_.reset();
  tapes_.clear();
  for (;;) {
    const auto message = mailbox.receive(Clock::now() + kForEver);
    if (!message) return ok_status();
    GPUEMU_TRY(handle(*message, mailbox, cancelling));
  }
}

Status RemoteService::handle(const RemoteMessage& message, Mailbox& mailbox,
                             Cancelling& cancelling) {
  if (message.kind == RemoteKind::Begin) return begin(message, cancelling);
  if (message.kind == RemoteKind::Tape) return tape(message, mailbox);
  // The remaining messages of work that was cancelled.
  if (!work_ || message.work != work_->begin.work) return ok_status();
  switch (message.kind) {
    case RemoteKind::Data:
      return store(message);
    case RemoteKind::Execute:
      return execute(message, mailbox, cancelling);
    default:
      return error(ErrorCode::Corruption, "a message of kind {} out of its turn",
                   static_cast<int>(message.kind));
  }
}

Status RemoteService::begin(const RemoteMessage& message, Cancelling& cancelling) {
  RemoteBegin asked = GPUEMU_TRY(decode_begin(message.body));
  cancelling.begin(message.work);
  work_ = Work{{message.kind, message.work, message.attempt},
               GPUEMU_TRY(runner_for(std::move(asked.options))),
               std::move(asked.module_key)};
  return ok_status();
}

Result<WorkerOptions> RemoteService::own_options(WorkerOptions options) const {
  if (options.backend != device_.backend) {
    return error(ErrorCode::Corruption, "a plan for backend '{}' to a worker of '{}'",
                 options.backend, device_.backend);
  }
  options.program = program_;
  // The emulator takes the index that is requested.
  if (device_traits(device_.backend).is_gpu) options.device_index = device_.index;
  return options;
}

Result<std::vector<std::byte>> RemoteService::ask_tape(const RemoteMessage& message) {
  const RemoteTape asked = GPUEMU_TRY(decode_remote_tape(message.body));
  WorkerOptions options = GPUEMU_TRY(own_options(asked.begin.options));
  const std::vector<std::byte> bytes = encode_begin({options, asked.begin.module_key});
  const std::string key(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (message.offset == 1) {
    tapes_.erase(key);
    if (tapes_.size() >= kTapesMax) {
      return error(ErrorCode::ResourceExhausted, "this worker has tensors of {} devices, its limit",
                   tapes_.size());
    }
    auto started = std::make_unique<WorkerClient>(std::move(options), std::vector<const Arena*>());
    GPUEMU_TRY(started->properties());
    tapes_[key] = std::move(started);
  }
  const auto found = tapes_.find(key);
  // The process is gone for another reason than this request, so the error code differs from the
  // one for a request that ends the process.
  if (found == tapes_.end() || !found->second->runs()) {
    return error(ErrorCode::NotFound, "this worker has no tensors of that tape");
  }
  return found->second->ask(asked.request);
}

Status RemoteService::tape(const RemoteMessage& message, Mailbox& mailbox) {
  auto answer = ask_tape(message);
  if (!answer && answer.error().code == ErrorCode::Corruption) return answer.error();
  const RemoteKind kind = answer ? RemoteKind::TapeAnswer : RemoteKind::Failed;
  mailbox.send({kind, message.work, message.attempt, 0,
                answer ? *std::move(answer) : encode_failure(answer.error())});
  return ok_status();
}

Result<RemoteService::Runner*> RemoteService::runner_for(WorkerOptions given) {
  WorkerOptions options = GPUEMU_TRY(own_options(std::move(given)));
  const std::vector<std::byte> bytes = encode_begin({options, ""});
  const std::string key(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto known = runners_.find(key);
  if (known == runners_.end() && runners_.size() >= kRunnersMax) {
    runners_.erase(std::ranges::min_element(runners_, {},
                                            [](const auto& one) { return one.second.last_use; }));
  }
  Runner& runner = runners_[key];
  if (runner.process == nullptr) {
    runner.arena = std::make_unique<Arena>(GPUEMU_TRY(Arena::create()));
    runner.process = std::make_unique<WorkerClient>(std::move(options),
                                                    std::vector<const Arena*>{runner.arena.get()});
  }
  runner.last_use = ++uses_;
  return &runner;
}

Status RemoteService::store(const RemoteMessage& message) {
  if (message.offset > kArenaBytesMax) {
    return error(ErrorCode::Corruption, "data at {}", message.offset);
  }
  Arena& arena = *work_->runner->arena;
  GPUEMU_TRY(arena.grow(message.offset + message.body.size()));
  const auto to = GPUEMU_TRY(arena.range(message.offset, message.body.size()));
  std::ranges::copy(message.body, to.begin());
  return ok_status();
}

Result<std::optional<ModuleText>> RemoteService::module_of(Mailbox& mailbox) {
  const auto known = modules_.find(work_->module_key);
  if (known != modules_.end()) return std::optional(known->second);
  const RemoteMessage& begun = work_->begin;
  mailbox.send({RemoteKind::WantModule, begun.work, begun.attempt});
  const auto message = mailbox.receive(Clock::now() + kForEver);
  if (!message) return std::optional<ModuleText>();
  ByteReader in(message->body);
  const bool is_module = message->kind == RemoteKind::Module && message->work == begun.work &&
                         GPUEMU_TRY(decode_kind(in)) == MessageKind::LoadModule;
  if (!is_module) return error(ErrorCode::Corruption, "expected a module");
  ModuleText module = GPUEMU_TRY(decode_module(in));
  if (module.key != work_->module_key) return error(ErrorCode::Corruption, "another module");
  if (modules_.size() >= kWorkerModulesMax) modules_.clear();
  modules_[module.key] = module;
  return std::optional(std::move(module));
}

Status RemoteService::execute(const RemoteMessage& message, Mailbox& mailbox,
                              Cancelling& cancelling) {
  ByteReader in(message.body);
  if (GPUEMU_TRY(decode_kind(in)) != MessageKind::Execute) {
    return error(ErrorCode::Corruption, "expected a plan");
  }
  const ExecutionPlan plan = GPUEMU_TRY(decode_plan(in));
  const PlanRanges ranges = GPUEMU_TRY(ranges_of(plan));
  GPUEMU_TRY(work_->runner->arena->grow(ranges.end));
  const std::optional<ModuleText> module = GPUEMU_TRY(module_of(mailbox));
  if (!module) return ok_status();
  answer(run(*module, plan, cancelling), plan, mailbox);
  work_.reset();
  return ok_status();
}

Result<ExecutionReport> RemoteService::run(const ModuleText& module, const ExecutionPlan& plan,
                                           Cancelling& cancelling) {
  if (cancelling.flag()) return error(ErrorCode::Cancelled, "cancelled before the kernel ran");
  WorkerClient& process = *work_->runner->process;
  GPUEMU_TRY(process.load(module.key, module.name, module.ptx));
  GPUEMU_TRY(process.begin(plan));
  return process.finish(&cancelling.flag());
}

void RemoteService::answer(const Result<ExecutionReport>& report, const ExecutionPlan& plan,
                           Mailbox& mailbox) {
  const auto send = [&](RemoteKind kind, std::vector<std::byte> body, uint64_t offset) {
    return mailbox.send({kind, work_->begin.work, work_->begin.attempt, offset, std::move(body)});
  };
  const auto ranges = ranges_of(plan);
  if (!report || !ranges) {
    send(RemoteKind::Failed, encode_failure(report ? ranges.error() : report.error()), 0);
    return;
  }
  for (const ArenaRange& range : ranges->outputs) {
    for (uint64_t at = 0; at < range.bytes; at += kDataBytesMax) {
      const auto from = work_->runner->arena->range(
          range.offset + at, std::min<uint64_t>(kDataBytesMax, range.bytes - at));
      if (!from || !send(RemoteKind::Data, {from->begin(), from->end()}, range.offset + at)) return;
    }
  }
  send(RemoteKind::Report, encode_report(*report, false), 0);
}

}  // namespace gpuemu
