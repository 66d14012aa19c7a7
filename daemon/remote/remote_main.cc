#include "daemon/remote/remote_main.h"

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <map>
#include <optional>
#include <string_view>
#include <thread>

#include <fmt/ranges.h>

#include "common/tls/secret_file.h"
#include "daemon/remote/worker_session.h"
#include "runtime/backends/backends.h"

namespace gpuemu {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

constexpr int kExitUsage = 2, kExitBroken = 3;
constexpr seconds kFirstPause{1}, kLongestPause{30};
constexpr const char* kUsage =
    "usage: gpuemu-worker --connect tls+tcp://HOST:PORT --device N --worker-id NAME\n"
    "                     --token-file FILE --ca FILE --cert FILE --key FILE\n"
    "                     [--retry-max SECONDS] [--backend NAME]\n"
    "See docs/guides/remote-workers.md.\n";

struct Words {
  std::map<std::string, std::string> values;
  const std::string& operator[](const char* name) { return values[name]; }
};

Result<Words> read_words(int count, char** words) {
  constexpr std::string_view kNeeded[] = {"--connect", "--device", "--worker-id", "--token-file",
                                          "--ca",      "--cert",   "--key"};
  constexpr std::string_view kOthers[] = {"--retry-max", "--backend"};
  Words read;
  for (int i = 1; i < count; i += 2) {
    const std::string name = words[i];
    const bool known = std::ranges::find(kNeeded, name) != std::end(kNeeded) ||
                       std::ranges::find(kOthers, name) != std::end(kOthers);
    if (!known) return error(ErrorCode::InvalidArgument, "unknown option {}", name);
    if (i + 1 >= count) return error(ErrorCode::InvalidArgument, "{} without a value", name);
    read.values[name] = words[i + 1];
  }
  for (const std::string_view name : kNeeded) {
    if (read.values.contains(std::string(name))) continue;
    return error(ErrorCode::InvalidArgument, "{} is missing", name);
  }
  return read;
}

Result<uint64_t> number(const std::string& option, const std::string& text) {
  uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed == std::errc() && end == text.data() + text.size() && value <= INT32_MAX) return value;
  return error(ErrorCode::InvalidArgument, "{}: '{}' is not a number from 0", option, text);
}

/// Finds a device of the named backend; without a name, a GPU if there is one, else the emulator.
Result<DeviceProperties> find_device(std::string backend, uint64_t index) {
  const std::vector<DeviceProperties> devices = GPUEMU_TRY(list_devices());
  if (backend.empty() && !devices.empty()) backend = devices.front().backend;
  std::vector<std::string> there;
  for (const DeviceProperties& one : devices) {
    if (one.backend == backend && static_cast<uint64_t>(one.index) == index) return one;
    there.push_back(fmt::format("{} {}", one.backend, one.index));
  }
  return error(ErrorCode::InvalidArgument, "--device: no device {} of backend '{}'; there are: {}",
               index, backend, fmt::join(there, ", "));
}

struct RemoteWish {
  RemoteOptions options;
  std::optional<seconds> retry_max;
  std::shared_ptr<const TlsContext> context;
};

Result<RemoteWish> read_wish(Words words, const std::string& program) {
  RemoteWish wish;
  RemoteOptions& options = wish.options;
  options.address = GPUEMU_TRY(parse_tls_address(words["--connect"]));
  options.worker_id = words["--worker-id"];
  options.files = {words["--ca"], words["--cert"], words["--key"]};
  options.token_file = words["--token-file"];
  options.token = GPUEMU_TRY(read_secret("--token-file", options.token_file));
  options.program = program;
  if (words.values.contains("--retry-max")) {
    wish.retry_max = seconds(GPUEMU_TRY(number("--retry-max", words["--retry-max"])));
  }
  const uint64_t index = GPUEMU_TRY(number("--device", words["--device"]));
  wish.context = GPUEMU_TRY(TlsContext::make(TlsSide::Worker, options.files, "--"));
  options.device = GPUEMU_TRY(find_device(words["--backend"], index));
  return wish;
}

void say(const std::string& line) {
  fmt::print(stderr, "gpuemu-worker: {}\n", line);
  std::fflush(stderr);
}

int serve(const RemoteWish& wish) {
  RemoteService service(wish.options.device, wish.options.program);
  const std::string place = wish.options.address.text();
  seconds pause = kFirstPause;
  bool was_lost = false;
  std::optional<Clock::time_point> lost_since;
  for (;;) {
    const SessionEnd end = serve_daemon(wish.options, wish.context, service);
    if (end.kind == SessionEnd::Kind::Refused) {
      say(end.why);
      return kExitBroken;
    }
    const bool was_accepted = end.kind == SessionEnd::Kind::Lost;
    was_lost |= was_accepted;
    if (was_accepted) pause = kFirstPause;
    if (was_accepted || !lost_since) lost_since = Clock::now();
    const std::string what = was_lost ? "lost " + place : end.why;
    seconds wait = pause;
    if (wish.retry_max) {
      const auto left = std::chrono::ceil<seconds>(*lost_since + *wish.retry_max - Clock::now());
      if (left <= seconds(0)) {
        say(fmt::format("{}; giving up (--retry-max {})", what, wish.retry_max->count()));
        return kExitBroken;
      }
      wait = std::min(wait, left);
    }
    say(fmt::format("{}; trying again in {} s", what, wait.count()));
    std::this_thread::sleep_for(wait);
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace

bool is_remote_worker(int count, char** words) {
  return std::any_of(words + 1, words + count,
                     [](const char* word) { return std::string_view(word) == "--connect"; });
}

int run_remote_worker(int count, char** words, const std::string& program) {
  std::signal(SIGPIPE, SIG_IGN);
  auto read = read_words(count, words);
  if (!read) {
    fmt::print(stderr, "gpuemu-worker: {}\n{}", read.error().message, kUsage);
    return kExitUsage;
  }
  const auto wish = read_wish(*std::move(read), program);
  if (!wish) {
    say(wish.error().message);
    return wish.error().code == ErrorCode::InvalidArgument ? kExitUsage : kExitBroken;
  }
  return serve(*wish);
}

}  // namespace gpuemu
