// Starts reference_process.py, sends a frame, waits for a frame until a deadline, and kills a
// process that does not answer.
#include "daemon/reference/reference_process.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <optional>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/limits.h"
#include "daemon/process/child_process.h"
#include "daemon/reference/reference_message.h"
#include "daemon/reference/reference_program.h"

namespace gpuemu {
namespace {

/// Python with NumPy on a cold disk takes seconds.
constexpr uint64_t kStartMilliseconds = 60'000;
/// The process form enforces its own limit, and then has this long to report it.
constexpr uint64_t kGraceMilliseconds = 500;
// Interval at which cancellation is checked.
constexpr uint64_t kCancelLookMilliseconds = 100;
/// Time for the kernel to report how an ended process ended.
constexpr uint64_t kEndingMilliseconds = 1'000;
/// One array of a reference: the largest tensor of 32-bit elements, widened to 64 bits.
constexpr uint64_t kResultBytesMax = 2 * kTensorBytesMax;
constexpr size_t kReceiveBytes = size_t{64} << 10;
/// The first request starts Python at once; so many of those behind it are sent together.
constexpr size_t kSentTogether = 3;

/// Creates the file in memory, whose lines tracebacks of reference_process.py show.
Result<UniqueFd> script_file() {
  UniqueFd file(::memfd_create("gpuemu-reference-process.py", MFD_CLOEXEC));
  const std::string_view text = reference_program();
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return error(ErrorCode::Io, "memory file for the reference process: {}", std::strerror(errno));
  }
  return file;
}

std::string last_lines(const std::string& text) {
  constexpr size_t kShown = 2'500;
  const size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return "";
  const std::string trimmed = text.substr(0, end + 1);
  return "\n" + (trimmed.size() > kShown ? trimmed.substr(trimmed.size() - kShown) : trimmed);
}

}  // namespace

struct ReferenceProcess::State {
  ReferenceOptions options;
  std::vector<Arena*> arenas;
  ChildProcess child;
  std::vector<std::byte> received;
  std::deque<ReferenceRequest> in_flight;  ///< In the order of begin(), which is that of answers.
  size_t sent = 0;  ///< The first so many of them went to the process that runs now.
  std::map<uint32_t, Result<ReferenceReply>> answered;  ///< Not fetched yet, by arena.
  ReplyReader reader;
  bool ready = false;
  Deadline deadline;  ///< Deadline of the first request in flight.
  const std::atomic<bool>* cancel = nullptr;
  bool cancelled = false;

  State(ReferenceOptions given, std::vector<Arena*> shared)
      : options(std::move(given)), arenas(std::move(shared)) {}

  Status start();
  Status send_requests();
  void start_clock();
  void answer_first(Result<ReferenceReply> reply);
  void answer_next();
  Result<std::vector<std::byte>> next_frame(Deadline until);
  Result<std::vector<std::byte>> next_frame_unless_cancelled(Deadline until);
  Result<ReferenceReply> wait();
  Result<ReferenceReply> in_another();
  Error ended(const Error& cause);
  void discard();
};

Status ReferenceProcess::State::start() {
  if (child.running()) return ok_status();
  discard();
  const UniqueFd script = GPUEMU_TRY(script_file());
  ChildOptions wanted;
  wanted.command = {options.python.empty() ? "python3" : options.python,
                    "-u",
                    fmt::format("/proc/self/fd/{}", kChildFirstInherited + arenas.size()),
                    std::to_string(kScriptOutputBytesMax),
                    std::to_string(kScriptErrorBytesMax),
                    std::to_string(kResultBytesMax)};
  wanted.folder = options.folder;
  for (const Arena* arena : arenas) wanted.inherit.push_back(arena->fd());
  wanted.inherit.push_back(script.get());
  Result<ChildProcess> started = ChildProcess::spawn(wanted);
  if (!started) {
    return error(ErrorCode::Unavailable,
                 "{}; references need Python 3 with numpy: install it or name an interpreter in "
                 "[runtime].python",
                 started.error().message);
  }
  child = *std::move(started);
  return ok_status();
}

void ReferenceProcess::State::discard() {
  child.kill();
  received.clear();
  ready = false;
  sent = 0;
}

/// Sends those that the process does not have yet, together.
Status ReferenceProcess::State::send_requests() {
  std::vector<std::byte> frames;
  for (size_t i = sent; i < in_flight.size(); ++i) {
    const auto frame = encode_request(in_flight[i]);
    frames.insert(frames.end(), frame.begin(), frame.end());
  }
  if (frames.empty()) return ok_status();
  const Status done = child.send(frames, deadline_after(kStartMilliseconds));
  if (done) sent = in_flight.size();
  // It may have read part of a request, so nothing can be sent behind it.
  if (!done && done.error().code == ErrorCode::Timeout) discard();
  return done;
}

/// REQUIRES: a request is in flight.
void ReferenceProcess::State::start_clock() {
  deadline = deadline_after(in_flight.front().timeout_ms + kGraceMilliseconds);
}

Result<std::vector<std::byte>> ReferenceProcess::State::next_frame(Deadline until) {
  for (;;) {
    const auto bytes = GPUEMU_TRY(frame_bytes(received));
    if (bytes && *bytes <= received.size()) {
      const auto end = received.begin() + static_cast<std::ptrdiff_t>(*bytes);
      std::vector<std::byte> frame(received.begin(), end);
      received.erase(received.begin(), end);
      return frame;
    }
    GPUEMU_TRY(child.receive(received, kReceiveBytes, until));
  }
}

Result<std::vector<std::byte>> ReferenceProcess::State::next_frame_unless_cancelled(
    Deadline until) {
  for (;;) {
    const Deadline look = std::min(until, deadline_after(kCancelLookMilliseconds));
    Result<std::vector<std::byte>> frame = next_frame(cancel == nullptr ? until : look);
    const bool late = !frame && frame.error().code == ErrorCode::Timeout;
    if (!late || cancel == nullptr) return frame;
    if (*cancel) {
      cancelled = true;
      discard();
      return error(ErrorCode::Cancelled, "{}: cancelled while it ran", in_flight.front().script);
    }
    if (std::chrono::steady_clock::now() >= until) return frame;
  }
}

/// Explains to the script's author why the process ended or wrote invalid output.
Error ReferenceProcess::State::ended(const Error& cause) {
  const std::string script = in_flight.empty() ? std::string() : in_flight.front().script;
  if (cause.code == ErrorCode::Timeout) {
    const bool script_ran = ready;
    discard();
    if (!script_ran) {
      return error(ErrorCode::Timeout,
                   "the interpreter {} did not start within {} ms and was killed; {} did not run; "
                   "name another interpreter in [runtime].python{}",
                   options.python.empty() ? "python3" : options.python, kStartMilliseconds, script,
                   last_lines(child.error_tail()));
    }
    return error(ErrorCode::Timeout, "{}: did not answer within {} ms and was killed{}", script,
                 in_flight.front().timeout_ms, last_lines(child.error_tail()));
  }
  if (cause.code == ErrorCode::Unavailable) child.stop(deadline_after(kEndingMilliseconds));
  const bool was_ready = ready;
  discard();
  const std::string tail = last_lines(child.error_tail());
  const bool left = cause.code == ErrorCode::Unavailable && !child.ending().empty();
  const std::string how = left ? child.ending() : cause.message;
  if (!was_ready) {
    return error(ErrorCode::Unavailable,
                 "{} does not start as a Python 3 with numpy: {}; name another interpreter in "
                 "[runtime].python{}",
                 options.python, how, tail);
  }
  return error(ErrorCode::Compile, "{}: ended the Python interpreter: {}{}", script, how, tail);
}

Result<ReferenceReply> ReferenceProcess::State::wait() {
  for (;;) {
    const Deadline until = ready ? deadline : deadline_after(kStartMilliseconds);
    Result<std::vector<std::byte>> frame = next_frame_unless_cancelled(until);
    if (!frame) return cancelled ? frame.error() : ended(frame.error());
    const Arena& arena = *arenas[in_flight.front().arena];
    auto reply = reader.read(*frame, arena.bytes());
    if (!reply && reply.error().code == ErrorCode::Corruption) {
      // Python may have enlarged it for its answer.
      struct stat info{};
      const bool known = ::fstat(arena.fd(), &info) == 0;
      reply = reader.read(*frame, known ? static_cast<uint64_t>(info.st_size) : 0);
    }
    if (!reply && reply.error().code == ErrorCode::Corruption) return ended(reply.error());
    if (!reply) {
      if (reply.error().code == ErrorCode::Unavailable) discard();
      return reply.error();
    }
    if (reply->has_value()) return **std::move(reply);
    ready = true;
    start_clock();
  }
}

/// The interpreter has loaded modules that changed since, so a new one is started.
Result<ReferenceReply> ReferenceProcess::State::in_another() {
  discard();
  GPUEMU_TRY(start());
  start_clock();
  if (const Status again = send_requests(); !again) return ended(again.error());
  return wait();
}

/// Moves the first request in flight to the answered ones.
void ReferenceProcess::State::answer_first(Result<ReferenceReply> reply) {
  const ReferenceRequest& first = in_flight.front();
  if (reply && reply->reads && options.files) options.files->add(first.script, *reply->reads);
  answered.insert_or_assign(first.arena, std::move(reply));
  in_flight.pop_front();
  if (sent > 0) --sent;
  if (!in_flight.empty()) start_clock();
}

/// Waits for the answer to the first request. REQUIRES: one is in flight.
void ReferenceProcess::State::answer_next() {
  if (sent == 0) {  // The process ended with an earlier request.
    if (cancelled) {
      return answer_first(error(ErrorCode::Cancelled, "{}: cancelled", in_flight.front().script));
    }
    if (const Status started = start(); !started) return answer_first(started.error());
    if (const Status again = send_requests(); !again) return answer_first(ended(again.error()));
    start_clock();
  }
  // If the process lives, the answer to an earlier one says why it fails.
  if (const Status rest = send_requests(); !rest && sent == 0) {
    return answer_first(ended(rest.error()));
  }
  Result<ReferenceReply> reply = wait();
  const bool outdated = !reply && reply.error().code == ErrorCode::Cancelled && !cancelled;
  if (outdated) reply = in_another();
  answer_first(std::move(reply));
}

ReferenceProcess::ReferenceProcess(ReferenceOptions options, std::vector<Arena*> arenas)
    : state_(std::make_unique<State>(std::move(options), std::move(arenas))) {}

ReferenceProcess::~ReferenceProcess() = default;

Status ReferenceProcess::begin(ReferenceRequest request) {
  State& state = *state_;
  GPUEMU_CHECK(request.arena < state.arenas.size());
  if (request.memory_bytes == 0) request.memory_bytes = state.options.memory_bytes;
  if (!state.in_flight.empty()) {
    // If it cannot be sent, the answer to an earlier request says why, and it is sent again then.
    state.in_flight.push_back(std::move(request));
    const size_t waiting = state.in_flight.size() - state.sent;
    if (state.sent > 0 && waiting >= kSentTogether) static_cast<void>(state.send_requests());
    return ok_status();
  }
  GPUEMU_TRY(state.start());
  // Output of earlier scripts does not concern this one.
  if (state.ready) state.child.forget_errors();
  state.in_flight.push_back(std::move(request));
  state.start_clock();
  Status sent = state.send_requests();
  if (!sent && sent.error().code == ErrorCode::Unavailable && state.ready) {
    // It ended since its last answer, which is not this script's fault.
    state.discard();
    sent = state.start();
    if (sent) sent = state.send_requests();
  }
  if (sent) return sent;
  const Error why = state.ended(sent.error());
  state.in_flight.clear();
  return why;
}

Result<ReferenceReply> ReferenceProcess::finish(uint32_t arena) {
  auto found = state_->answered.find(arena);
  while (found == state_->answered.end()) {
    GPUEMU_CHECK(!state_->in_flight.empty());
    state_->answer_next();
    found = state_->answered.find(arena);
  }
  return std::move(state_->answered.extract(found).mapped());
}

void ReferenceProcess::stop_when(const std::atomic<bool>* cancel) {
  state_->cancel = cancel;
  state_->cancelled = false;
}

bool ReferenceProcess::was_cancelled() const { return state_->cancelled; }

int ReferenceProcess::pid() const { return static_cast<int>(state_->child.pid()); }

}  // namespace gpuemu
