// gpuemu-worker: owns one device and executes plans for the daemon that started it.
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "common/base/heap.h"
#include "daemon/local_worker/serve_worker.h"
#include "daemon/remote/remote_main.h"
#include "runtime/backends/backends.h"
#include "runtime/device/contraction.h"

namespace gpuemu {
namespace {

constexpr int kExitOk = 0, kExitFailed = 1, kExitUsage = 2;
constexpr const char* kUsage =
    "usage: gpuemu-worker --backend NAME --device INDEX --sm NUMBER --threads COUNT\n"
    "                     --contraction MODE --contraction-seed NUMBER --memory-limit BYTES\n"
    "                     [--emulated-devices LIST] [--cache FOLDER]\n"
    "                     --socket-fd FD --arena-fd FD --arenas COUNT\n"
    "The daemon starts it so; do not start it by hand. For a worker on another machine:\n"
    "       gpuemu-worker --connect tls+tcp://HOST:PORT ...\n";

struct Arguments {
  std::string backend;
  std::string emulated_devices;  ///< "": those of the environment.
  std::string cache_folder;
  int device = 0;
  int sm = 0;
  int threads = 1;
  int socket = -1;
  int arena = -1;  ///< The first descriptor; the others follow it.
  int arenas = 1;
  std::string contraction = "auto";
  uint64_t contraction_seed = 0;
  uint64_t memory_limit_bytes = DeviceRequest().memory_limit_bytes;
};

template <typename T>
Result<T> number(std::string_view option, std::string_view text) {
  T value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || std::cmp_less(value, 0)) {
    return error(ErrorCode::InvalidArgument, "{}: '{}' is not a number from 0", option, text);
  }
  return value;
}

Result<Arguments> parse(int count, char** words) {
  struct Option {
    std::string_view name;
    int Arguments::* value;
  };
  constexpr Option kOptions[] = {
      {"--device", &Arguments::device},   {"--sm", &Arguments::sm},
      {"--threads", &Arguments::threads}, {"--socket-fd", &Arguments::socket},
      {"--arena-fd", &Arguments::arena},  {"--arenas", &Arguments::arenas}};
  Arguments arguments;
  for (int i = 1; i < count; i += 2) {
    const std::string_view name = words[i];
    if (i + 1 >= count) return error(ErrorCode::InvalidArgument, "{} without a value", name);
    bool known = name == "--backend";
    if (known) arguments.backend = words[i + 1];
    if (name == "--emulated-devices") {
      arguments.emulated_devices = words[i + 1];
      known = true;
    }
    if (name == "--cache") {
      arguments.cache_folder = words[i + 1];
      known = true;
    }
    if (name == "--memory-limit") {
      arguments.memory_limit_bytes = GPUEMU_TRY(number<uint64_t>(name, words[i + 1]));
      known = true;
    }
    if (name == "--contraction-seed") {
      arguments.contraction_seed = GPUEMU_TRY(number<uint64_t>(name, words[i + 1]));
      known = true;
    }
    if (name == "--contraction") {
      arguments.contraction = words[i + 1];
      if (!contraction_from_name(arguments.contraction)) {
        return error(ErrorCode::InvalidArgument, "{}: no mode '{}'", name, words[i + 1]);
      }
      known = true;
    }
    for (const Option& option : kOptions) {
      if (option.name != name) continue;
      arguments.*option.value = GPUEMU_TRY(number<int>(name, words[i + 1]));
      known = true;
    }
    if (!known) return error(ErrorCode::InvalidArgument, "unknown option {}", name);
  }
  if (arguments.backend.empty() || arguments.socket < 0 || arguments.arena < 0) {
    return error(ErrorCode::InvalidArgument, "--backend, --socket-fd and --arena-fd are required");
  }
  return arguments;
}

Status serve(const Arguments& arguments) {
  std::vector<Arena> arenas;
  for (int i = 0; i < arguments.arenas; ++i) {
    arenas.push_back(GPUEMU_TRY(Arena::open(UniqueFd(arguments.arena + i))));
  }
  return serve_worker({.program = "",
                       .backend = arguments.backend,
                       .device_index = arguments.device,
                       .emulated_devices = arguments.emulated_devices,
                       .sm = arguments.sm,
                       .threads = static_cast<uint32_t>(arguments.threads),
                       .contraction = arguments.contraction,
                       .contraction_seed = arguments.contraction_seed,
                       .memory_limit_bytes = arguments.memory_limit_bytes,
                       .cache_folder = arguments.cache_folder},
                      std::move(arenas), arguments.socket);
}

/// Returns the path of this program, which a remote worker starts for its plans.
std::string own_path() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

int run(int count, char** words) {
  if (is_remote_worker(count, words)) return run_remote_worker(count, words, own_path());
  const Result<Arguments> arguments = parse(count, words);
  if (!arguments) {
    fmt::print(stderr, "gpuemu-worker: {}\n{}", arguments.error().message, kUsage);
    return kExitUsage;
  }
  const Status served = serve(*arguments);
  if (served) return kExitOk;
  fmt::print(stderr, "gpuemu-worker: {}\n", served.error().message);
  return kExitFailed;
}

}  // namespace
}  // namespace gpuemu

int GPUEMU_MAIN(int argc, char** argv) {
  gpuemu::keep_freed_memory();
  try {
    return gpuemu::run(argc, argv);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "gpuemu-worker: {}\n", failure.what());
    return 1;
  }
}
