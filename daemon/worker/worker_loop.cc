#include "daemon/worker/worker_loop.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>

#include <poll.h>
#include <sys/socket.h>

#include "common/base/limits.h"
#include "daemon/executor/execute.h"
#include "daemon/executor/execute_sparse.h"
#include "daemon/executor/plan_ranges.h"
#include "daemon/worker/busy_wait.h"
#include "daemon/worker/plan_codec.h"

namespace gpuemu {
namespace {

Status send_message(int socket, const std::vector<std::byte>& message) {
  const auto length = static_cast<uint32_t>(message.size());
  std::vector<std::byte> frame(sizeof length);
  std::memcpy(frame.data(), &length, sizeof length);
  frame.insert(frame.end(), message.begin(), message.end());
  std::span<const std::byte> rest = frame;
  while (!rest.empty()) {
    const ssize_t sent = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return error(ErrorCode::Io, "send: {}", std::strerror(errno));
    rest = rest.subspan(static_cast<size_t>(sent));
  }
  return ok_status();
}

/// Sleeps until there is something to receive or the other side closes. A thread that sleeps in
/// recv() instead is woken once too often: when the other side reads the previous answer.
void wait_for_message(int socket) {
  pollfd wanted{socket, POLLIN, 0};
  constexpr int kForever = -1;
  ::poll(&wanted, 1, kForever);
}

/// Polls for the first byte before wait_for_message() sleeps.
void look_for_message(int socket, std::chrono::microseconds busy) {
  std::byte first{};
  const auto until = std::chrono::steady_clock::now() + busy;
  while (::recv(socket, &first, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         std::chrono::steady_clock::now() < until) {
  }
}

/// The messages of the other side, of which several may arrive at once.
class Messages {
 public:
  Messages(int socket, std::chrono::microseconds busy) : socket_(socket), busy_(busy) {}

  /// Waits for the next one; nothing at the end of the stream.
  Result<std::optional<std::vector<std::byte>>> next() {
    for (;;) {
      uint32_t length = 0;
      const size_t waiting = received_.size() - taken_;
      if (waiting >= sizeof length) {
        std::memcpy(&length, received_.data() + taken_, sizeof length);
        if (length > kMessageBytesMax) {
          return error(ErrorCode::Corruption, "a message of {} bytes, the limit is {}", length,
                       kMessageBytesMax);
        }
        if (waiting - sizeof length >= length) {
          const std::byte* const begin = received_.data() + taken_ + sizeof length;
          taken_ += sizeof length + length;
          return std::optional(std::vector<std::byte>(begin, begin + length));
        }
      }
      received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(taken_));
      taken_ = 0;
      if (GPUEMU_TRY(receive())) continue;
      if (waiting == 0) return std::optional<std::vector<std::byte>>();
      return error(ErrorCode::Corruption, "the socket closed inside a message");
    }
  }

 private:
  /// Returns false at the end of the stream.
  Result<bool> receive() {
    if (busy_.count() > 0) look_for_message(socket_, busy_);
    wait_for_message(socket_);
    std::array<std::byte, kReceivedAtOnce> piece;
    ssize_t got = -1;
    do {
      got = ::recv(socket_, piece.data(), piece.size(), 0);
    } while (got < 0 && errno == EINTR);
    if (got < 0) return error(ErrorCode::Io, "recv: {}", std::strerror(errno));
    received_.insert(received_.end(), piece.begin(), piece.begin() + got);
    return got > 0;
  }

  static constexpr size_t kReceivedAtOnce = size_t{64} << 10;
  int socket_;
  std::chrono::microseconds busy_;
  std::vector<std::byte> received_;
  size_t taken_ = 0;  ///< Bytes of `received_` that belong to earlier messages.
};

class WorkerLoop {
 public:
  WorkerLoop(Device& device, std::vector<Arena> arenas, int socket, const TapeHandler& tapes)
      : device_(device),
        memory_(device),
        arenas_(std::move(arenas)),
        socket_(socket),
        tapes_(tapes) {}

  Status run();

 private:
  /// Returns the answer to one message.
  Result<std::vector<std::byte>> answer(std::span<const std::byte> message);
  Result<std::vector<std::byte>> load(const ModuleText& module);
  Result<std::vector<std::byte>> run_plan(const ExecutionPlan& plan);
  Result<ExecutionReport> run(ModuleId module, const ExecutionPlan& plan);
  Result<ExecutionReport> run_afresh(const ModuleText& module, const ExecutionPlan& plan);
  Status check_device();

  Device& device_;
  RunMemory memory_;
  std::vector<Arena> arenas_;
  int socket_;
  const TapeHandler& tapes_;
  struct Loaded {
    ModuleId id;
    ModuleText text;
  };
  std::map<std::string, Loaded> modules_;
  Status lost_;  ///< An error if the device no longer works.
};

Result<std::vector<std::byte>> WorkerLoop::load(const ModuleText& module) {
  auto found = modules_.find(module.key);
  if (found == modules_.end()) {
    const ModuleId id = GPUEMU_TRY(device_.load_module(module.ptx, module.name));
    found = modules_.emplace(module.key, Loaded{id, module}).first;
  }
  return encode_entries(GPUEMU_TRY(device_.entries(found->second.id)));
}

Result<ExecutionReport> WorkerLoop::run(ModuleId module, const ExecutionPlan& plan) {
  Arena& arena = arenas_[plan.arena];
  return plan.sparse_launch_ms != 0 ? execute_sparse(device_, module, arena, plan)
                                    : execute(memory_, module, arena, plan);
}

Result<ExecutionReport> WorkerLoop::run_afresh(const ModuleText& module,
                                               const ExecutionPlan& plan) {
  const ModuleId id = GPUEMU_TRY(device_.load_module(module.ptx, module.name));
  Result<ExecutionReport> report = run(id, plan);
  const Status unloaded = device_.unload_module(id);
  // If the report has a finding, it explains why a lost device cannot unload.
  if (report && report->device.empty() && !unloaded) return unloaded.error();
  return report;
}

Result<std::vector<std::byte>> WorkerLoop::run_plan(const ExecutionPlan& plan) {
  const auto module = modules_.find(plan.module_key);
  if (module == modules_.end()) {
    return error(ErrorCode::NotFound, "module '{}' is not loaded in this worker", plan.module_name);
  }
  if (plan.arena >= arenas_.size()) {
    return error(ErrorCode::Corruption, "a plan of arena {} of {}", plan.arena, arenas_.size());
  }
  const auto ranges = ranges_of(plan);
  Arena& arena = arenas_[plan.arena];
  GPUEMU_TRY(ranges ? arena.reach(ranges->end) : arena.refresh());
  const ExecutionReport report = GPUEMU_TRY(
      plan.fresh_module ? run_afresh(module->second.text, plan) : run(module->second.id, plan));
  // A fault may have destroyed the device.
  if (!report.device.empty()) lost_ = check_device();
  return encode_report(report, !lost_.ok());
}

Result<std::vector<std::byte>> WorkerLoop::answer(std::span<const std::byte> message) {
  ByteReader in(message);
  switch (GPUEMU_TRY(decode_kind(in))) {
    case MessageKind::LoadModule:
      return load(GPUEMU_TRY(decode_module(in)));
    case MessageKind::Execute:
      return run_plan(GPUEMU_TRY(decode_plan(in)));
    case MessageKind::Tape:
      if (tapes_ == nullptr) break;
      return encode_tape(tapes_(GPUEMU_TRY(decode_tape(in))));
    case MessageKind::Hello:
    case MessageKind::Entries:
    case MessageKind::Report:
    case MessageKind::Failed:
    case MessageKind::LastReport:
      break;
  }
  return error(ErrorCode::Corruption, "a message that only a worker sends");
}

/// After a fault, CUDA refuses everything until the process ends. The emulator knows itself whether
/// it is lost, and a probe there could fail for lack of memory.
Status WorkerLoop::check_device() {
  if (device_.properties().checks_bounds) {
    const Result<MemoryInfo> asked = device_.memory();
    return asked ? ok_status() : asked.error();
  }
  const Result<uint64_t> probe = device_.allocate(kDeviceAlignment, "probe");
  if (!probe) return error(ErrorCode::Unavailable, "{}", probe.error().message);
  std::byte value{};
  const Status read = device_.download(std::span(&value, 1), *probe);
  if (!read) return error(ErrorCode::Unavailable, "{}", read.error().message);
  return device_.free(*probe);
}

Status WorkerLoop::run() {
  const auto busy = busy_wait_of(device_.properties().backend);
  GPUEMU_TRY(send_message(socket_, encode_hello(device_.properties())));
  Messages messages(socket_, busy);
  for (;;) {
    const auto message = GPUEMU_TRY(messages.next());
    if (!message) return ok_status();
    const Result<std::vector<std::byte>> reply = answer(*message);
    GPUEMU_TRY(send_message(socket_, reply ? *reply : encode_failure(reply.error())));
    if (!reply && reply.error().code == ErrorCode::Unavailable) return reply.error();
    if (!lost_) return lost_;
  }
}

}  // namespace

Status run_worker_loop(Device& device, std::vector<Arena> arenas, int socket,
                       const TapeHandler& tapes) {
  return WorkerLoop(device, std::move(arenas), socket, tapes).run();
}

Status report_no_device(const Error& why, int socket) {
  return send_message(socket, encode_failure(why));
}

}  // namespace gpuemu
