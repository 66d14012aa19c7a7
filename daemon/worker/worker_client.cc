// Sends frames over the link, and remembers loaded modules, so that a new worker gets what its next
// plan needs.
#include "daemon/worker/worker_client.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <optional>

#include "common/base/limits.h"
#include "common/base/service_limits.h"
#include "daemon/worker/plan_codec.h"

namespace gpuemu {
namespace {

/// Opening a GPU and its context takes seconds on a cold machine.
constexpr uint64_t kStartMilliseconds = 60'000;
/// Covers compiling the largest PTX that we accept.
constexpr uint64_t kLoadMilliseconds = 300'000;
/// A message is small, or fits the socket's buffer at once; a longer time means that nobody reads.
constexpr uint64_t kSendMilliseconds = 60'000;
constexpr uint64_t kEndingMilliseconds = 1'000;
/// A case that ends by itself soon after it was cancelled is better than starting a new process.
constexpr uint64_t kCancelledMilliseconds = 500;
constexpr uint64_t kCancelPollMilliseconds = 100;
constexpr size_t kReceiveBytes = size_t{256} << 10;
/// Plans behind another one are sent together, up to this size: each send wakes the worker.
constexpr size_t kKeptBytes = size_t{32} << 10;

struct Loaded {
  ModuleText module;
  std::vector<EntryInfo> entries;
  uint64_t start =
      0;  ///< The start of the worker that has loaded it; another one must load it first.
};

/// Checks a message's kind; `in` continues after it.
Status expect(ByteReader& in, MessageKind wanted) {
  const MessageKind kind = GPUEMU_TRY(decode_kind(in));
  if (kind == wanted) return ok_status();
  if (kind == MessageKind::Failed) return decode_failure(in);
  return error(ErrorCode::Corruption, "worker: an answer of kind {}, expected {}",
               static_cast<int>(kind), static_cast<int>(wanted));
}

void append_frame(std::vector<std::byte>& to, const std::vector<std::byte>& message) {
  const auto length = static_cast<uint32_t>(message.size());
  const size_t at = to.size();
  to.resize(at + sizeof length + message.size());
  std::memcpy(to.data() + at, &length, sizeof length);
  std::ranges::copy(message, to.begin() + static_cast<std::ptrdiff_t>(at + sizeof length));
}

}  // namespace

struct WorkerClient::State {
  WorkerOptions options;
  std::vector<const Arena*> arenas;
  const std::unique_ptr<WorkerLink> link;
  std::vector<std::byte> received;
  DeviceProperties properties;
  std::map<std::string, Loaded> loaded;
  /// A plan whose answer has not been received yet.
  struct InFlight {
    uint32_t arena = 0;
    std::string module_key;
    uint64_t timeout_ms = 0;
    std::vector<std::byte> message;
    bool sent = false;  ///< To the worker that runs now, or kept for it.
  };
  std::vector<std::byte> kept;  ///< Frames of the last plans in flight.
  size_t plans_kept = 0;
  std::deque<InFlight> in_flight;  ///< In the order of begin(), which is that of the answers.
  Deadline answer_by{};            ///< Deadline of the first of them.
  std::map<uint32_t, Result<ExecutionReport>> answers;  ///< Not fetched yet, by arena.
  uint64_t timeout_ms = 0;
  uint64_t starts = 0;

  State(WorkerOptions given, std::vector<const Arena*> shared, std::unique_ptr<WorkerLink> made)
      : options(std::move(given)), arenas(std::move(shared)), link(std::move(made)) {}

  /// Ensures that the worker runs and has sent its greeting.
  Status ensure();
  /// Ensures that the process has the module, if it was ever loaded.
  Status have(const std::string& key);
  /// Replaces a worker that holds the maximum number of modules, because a worker keeps all of
  /// them.
  Status make_room();
  Status start();
  Status greet();
  Status send(const std::vector<std::byte>& message);
  /// Keeps a plan's message for send_kept().
  void keep(const std::vector<std::byte>& message);
  /// Sends the kept messages together.
  void send_kept();
  Result<std::vector<std::byte>> receive(Deadline deadline);
  /// Waits for the answer to the first plan; Cancelled soon after `*cancel` became true.
  Result<std::vector<std::byte>> receive_report(const std::atomic<bool>* cancel);
  Result<ExecutionReport> read_report(const Result<std::vector<std::byte>>& message);
  /// Moves the first plan in flight to the answered ones.
  void answer_first(Result<ExecutionReport> report);
  void answer_next(const std::atomic<bool>* cancel);
  Status send_again();
  void start_clock();
  /// For a worker that was ended: it did not run the plans after the first one.
  void forget_sent() {
    for (InFlight& one : in_flight) one.sent = false;
    kept.clear();
    plans_kept = 0;
  }
  Result<std::vector<EntryInfo>> load(const ModuleText& module);
  /// Returns the error for the caller, after removing an unusable process.
  Error judge(const Error& cause);
};

Status WorkerClient::State::start() {
  received.clear();
  GPUEMU_TRY(link->start(options, arenas));
  ++starts;
  return ok_status();
}

Status WorkerClient::State::greet() {
  const std::vector<std::byte> message = GPUEMU_TRY(receive(deadline_after(kStartMilliseconds)));
  ByteReader in(message);
  GPUEMU_TRY(expect(in, MessageKind::Hello));
  properties = GPUEMU_TRY(decode_hello(in));
  return ok_status();
}

Status WorkerClient::State::ensure() {
  if (link->running()) return ok_status();
  GPUEMU_TRY(start());
  const Status greeted = greet();
  if (!greeted) {
    const Error why = judge(greeted.error());
    link->kill();
    return why;
  }
  return ok_status();
}

Status WorkerClient::State::have(const std::string& key) {
  const auto known = loaded.find(key);
  if (known == loaded.end() || known->second.start == starts) return ok_status();
  const ModuleText& module = known->second.module;
  const Result<std::vector<EntryInfo>> again = load(module);
  if (!again) return again.error().with_context(fmt::format("module '{}'", module.name));
  known->second.start = starts;
  return ok_status();
}

Status WorkerClient::State::make_room() {
  if (loaded.size() < kWorkerModulesMax) return ok_status();
  link->stop(deadline_after(kEndingMilliseconds));
  loaded.clear();
  return ensure();
}

void WorkerClient::State::keep(const std::vector<std::byte>& message) {
  append_frame(kept, message);
  ++plans_kept;
  if (kept.size() > kKeptBytes) send_kept();
}

void WorkerClient::State::send_kept() {
  if (plans_kept == 0) return;
  const Status sent = link->send(kept, deadline_after(kSendMilliseconds));
  if (!sent && sent.error().code == ErrorCode::Timeout) {
    // Part of a plan may have been read, so nothing can be sent behind it.
    link->kill();
    return forget_sent();
  }
  // Otherwise the answer to the first plan says why, and send_again() sends these.
  if (!sent) {
    for (size_t i = in_flight.size() - plans_kept; i < in_flight.size(); ++i) {
      in_flight[i].sent = false;
    }
  }
  kept.clear();
  plans_kept = 0;
}

Status WorkerClient::State::send(const std::vector<std::byte>& message) {
  if (message.size() > kMessageBytesMax) {
    return error(ErrorCode::ResourceExhausted,
                 "a message of {} bytes to the worker, the limit is {}", message.size(),
                 kMessageBytesMax);
  }
  std::vector<std::byte> frame;
  append_frame(frame, message);
  return link->send(frame, deadline_after(kSendMilliseconds));
}

Result<std::vector<std::byte>> WorkerClient::State::receive(Deadline deadline) {
  for (;;) {
    uint32_t length = 0;
    if (received.size() >= sizeof length) {
      std::memcpy(&length, received.data(), sizeof length);
      if (length > kMessageBytesMax) {
        return error(ErrorCode::Corruption, "worker: a message of {} bytes, the limit is {}",
                     length, kMessageBytesMax);
      }
      if (received.size() - sizeof length >= length) {
        const auto begin = received.begin() + sizeof length;
        std::vector<std::byte> message(begin, begin + length);
        received.erase(received.begin(), begin + length);
        return message;
      }
    }
    GPUEMU_TRY(link->receive(received, kReceiveBytes, deadline));
  }
}

Result<std::vector<std::byte>> WorkerClient::State::receive_report(
    const std::atomic<bool>* cancel) {
  const Deadline end = answer_by;
  if (cancel == nullptr) return receive(end);
  std::optional<Deadline> patience;  // Set once it was cancelled.
  for (;;) {
    if (*cancel && !patience) patience = deadline_after(kCancelledMilliseconds);
    const Deadline next = std::min(end, deadline_after(kCancelPollMilliseconds));
    auto message = receive(next);
    if (message || message.error().code != ErrorCode::Timeout || next == end) return message;
    if (!patience || std::chrono::steady_clock::now() < *patience) continue;
    link->kill();
    forget_sent();
    return error(ErrorCode::Cancelled, "the worker was killed: the case was cancelled");
  }
}

Result<std::vector<EntryInfo>> WorkerClient::State::load(const ModuleText& module) {
  const Status sent = send(encode_module(module));
  if (!sent) return judge(sent.error());
  const auto message = receive(deadline_after(kLoadMilliseconds));
  if (!message) return judge(message.error());
  ByteReader in(*message);
  const Status answered = expect(in, MessageKind::Entries);
  if (!answered) return judge(answered.error());
  auto entries = decode_entries(in);
  if (!entries) return judge(entries.error());
  return entries;
}

Error WorkerClient::State::judge(const Error& cause) {
  const auto with_tail = [this](std::string text) {
    const std::string tail = link->error_tail();
    constexpr size_t kShown = 2'000;
    const size_t cut = tail.size() > kShown ? tail.size() - kShown : 0;
    if (!tail.empty()) text = fmt::format("{}\n{}", text, std::string_view(tail).substr(cut));
    return text;
  };
  const bool ends = cause.code == ErrorCode::Timeout || cause.code == ErrorCode::Corruption ||
                    cause.code == ErrorCode::Unavailable;
  if (ends) forget_sent();
  switch (cause.code) {
    case ErrorCode::Timeout:
      link->kill();
      return {cause.code, with_tail(fmt::format("the worker did not answer within {} ms and was "
                                                "killed",
                                                timeout_ms))};
    case ErrorCode::Corruption:
      link->kill();
      return {cause.code, with_tail(cause.message)};
    case ErrorCode::Unavailable: {
      link->stop(deadline_after(kEndingMilliseconds));
      const std::string how = link->ending();
      return {cause.code, with_tail(how.empty() ? fmt::format("the worker ended: {}", cause.message)
                                                : fmt::format("the worker ended with {}: {}", how,
                                                              cause.message))};
    }
    default:
      return cause;
  }
}

WorkerClient::WorkerClient(WorkerOptions options, std::vector<const Arena*> arenas,
                           const MakeWorkerLink& link)
    : state_(std::make_unique<State>(std::move(options), std::move(arenas), link())) {}

WorkerClient::~WorkerClient() {
  // A worker in the middle of a launch may take long, so only an idle one is asked to end.
  if (state_->in_flight.empty()) state_->link->stop(deadline_after(kEndingMilliseconds));
}

Result<DeviceProperties> WorkerClient::properties() {
  GPUEMU_CHECK(state_->in_flight.empty());
  GPUEMU_TRY(state_->ensure());
  return state_->properties;
}

Result<std::vector<EntryInfo>> WorkerClient::load(const std::string& key, const std::string& name,
                                                  const std::string& ptx) {
  const auto known = state_->loaded.find(key);
  if (known != state_->loaded.end()) return known->second.entries;
  // The answers to plans come first.
  while (!state_->in_flight.empty()) state_->answer_next(nullptr);
  GPUEMU_TRY(state_->ensure());
  ModuleText module{key, name, ptx};
  GPUEMU_TRY(state_->make_room());
  state_->timeout_ms = kLoadMilliseconds;
  std::vector<EntryInfo> entries = GPUEMU_TRY(state_->load(module));
  state_->loaded.emplace(key, Loaded{std::move(module), entries, state_->starts});
  return entries;
}

Status WorkerClient::begin(const ExecutionPlan& plan) { return begin(plan, encode_plan(plan)); }

Status WorkerClient::begin(const ExecutionPlan& plan, std::vector<std::byte> message) {
  State::InFlight begun{plan.arena, plan.module_key, plan.timeout_ms, std::move(message)};
  if (!state_->in_flight.empty()) {
    // send_again() sends it if the worker lacks its module or cannot take it now.
    const auto known = state_->loaded.find(plan.module_key);
    const bool has = known != state_->loaded.end() && known->second.start == state_->starts;
    begun.sent = has && state_->in_flight.back().sent && begun.message.size() <= kMessageBytesMax;
    state_->in_flight.push_back(std::move(begun));
    if (state_->in_flight.back().sent) state_->keep(state_->in_flight.back().message);
    return ok_status();
  }
  GPUEMU_TRY(state_->ensure());
  GPUEMU_TRY(state_->have(plan.module_key));
  Status sent = state_->send(begun.message);
  if (!sent && sent.error().code == ErrorCode::Unavailable) {
    // It ended since its last answer, so it did not receive the plan.
    state_->link->kill();
    GPUEMU_TRY(state_->ensure());
    GPUEMU_TRY(state_->have(plan.module_key));
    sent = state_->send(begun.message);
  }
  if (!sent) return state_->judge(sent.error());
  begun.sent = true;
  state_->in_flight.push_back(std::move(begun));
  state_->start_clock();
  return ok_status();
}

/// REQUIRES: a plan is in flight.
void WorkerClient::State::start_clock() {
  timeout_ms = in_flight.front().timeout_ms;
  answer_by = deadline_after(timeout_ms + options.grace_ms);
}

/// The worker ended with an earlier plan: a new one gets those that were not answered.
Status WorkerClient::State::send_again() {
  GPUEMU_TRY(ensure());
  GPUEMU_TRY(have(in_flight.front().module_key));
  for (InFlight& one : in_flight) {
    const auto known = loaded.find(one.module_key);
    if (known == loaded.end() || known->second.start != starts) break;
    const Status sent = send(one.message);
    if (!sent && !in_flight.front().sent) return judge(sent.error());
    if (!sent) break;  // The answer to the first one says why.
    one.sent = true;
  }
  start_clock();
  return ok_status();
}

Result<ExecutionReport> WorkerClient::State::read_report(
    const Result<std::vector<std::byte>>& message) {
  if (!message) return judge(message.error());
  ByteReader in(*message);
  const bool last =
      !message->empty() && message->front() == static_cast<std::byte>(MessageKind::LastReport);
  const Status kind = expect(in, last ? MessageKind::LastReport : MessageKind::Report);
  if (!kind) return judge(kind.error());
  Result<ExecutionReport> report = decode_report(in);
  if (!report) return judge(report.error());
  if (last) {
    link->stop(deadline_after(kEndingMilliseconds));
    forget_sent();
  }
  return report;
}

void WorkerClient::State::answer_first(Result<ExecutionReport> report) {
  answers.insert_or_assign(in_flight.front().arena, std::move(report));
  in_flight.pop_front();
  if (!in_flight.empty()) start_clock();
}

/// Waits for the answer to the first plan. REQUIRES: one is in flight.
void WorkerClient::State::answer_next(const std::atomic<bool>* cancel) {
  send_kept();
  if (!in_flight.front().sent) {
    if (cancel != nullptr && *cancel) {
      return answer_first(error(ErrorCode::Cancelled, "the case was cancelled"));
    }
    if (const Status sent = send_again(); !sent) return answer_first(sent.error());
  }
  answer_first(read_report(receive_report(cancel)));
}

Result<ExecutionReport> WorkerClient::finish(const std::atomic<bool>* cancel, uint32_t arena) {
  auto found = state_->answers.find(arena);
  while (found == state_->answers.end()) {
    GPUEMU_CHECK(!state_->in_flight.empty());
    state_->answer_next(cancel);
    found = state_->answers.find(arena);
  }
  return std::move(state_->answers.extract(found).mapped());
}

void WorkerClient::look() {
  state_->send_kept();
  while (!state_->in_flight.empty() && state_->in_flight.front().sent) {
    const auto message = state_->receive(deadline_after(0));
    if (!message) return;  // Who waits for it learns why.
    state_->answer_first(state_->read_report(message));
  }
}

bool WorkerClient::is_idle() const { return state_->in_flight.empty(); }

bool WorkerClient::runs() { return state_->starts > 0 && state_->link->running(); }

Result<std::vector<std::byte>> WorkerClient::ask(std::span<const std::byte> request) {
  GPUEMU_CHECK(state_->in_flight.empty());
  if (!runs()) return error(ErrorCode::Unavailable, "the worker has ended");
  state_->timeout_ms = state_->options.ask_ms;
  const Status sent = state_->send(encode_tape(request));
  if (!sent) return state_->judge(sent.error());
  const auto message = state_->receive(deadline_after(state_->options.ask_ms));
  if (!message) return state_->judge(message.error());
  ByteReader in(*message);
  const Status answered = expect(in, MessageKind::Tape);
  if (!answered) return state_->judge(answered.error());
  auto answer = decode_tape(in);
  return answer ? answer : state_->judge(answer.error());
}

int WorkerClient::pid() const { return state_->link->pid(); }

uint64_t WorkerClient::restarts() const { return state_->starts > 0 ? state_->starts - 1 : 0; }

}  // namespace gpuemu
