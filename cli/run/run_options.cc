#include "cli/run/run_options.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/ranges.h>

#include "common/base/device_list.h"
#include "runtime/run_record/run_record.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libcuda.so.1";
constexpr const char *kRuntimeFile13 = "libcudart.so.13", *kRuntimeFile12 = "libcudart.so.12";
/// Checks of the driver; the others are checks of the device.
constexpr std::string_view kApi = "api", kLeak = "leak", kStream = "stream", kReplicas = "replicas";
/// The word of --fail-on for modelled instructions, which are no findings without it.
constexpr std::string_view kUnmeasured = "unmeasured";

std::optional<uint64_t> number_of(std::string_view text) {
  uint64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Result<int> architecture_of(const std::string& option, const std::string& text) {
  const Result<int> sm = parse_emulated_architecture(text);
  if (sm) return *sm;
  return error(ErrorCode::InvalidArgument, "{} '{}': {}", option, text, sm.error().message);
}

/// Reads --devices: a number, or a list of architectures with optional mebibytes of memory.
Result<std::vector<RunDevice>> devices_of(const RunOptions& options) {
  const uint64_t memory = GPUEMU_TRY(parse_size("--memory", options.memory));
  const int sm = GPUEMU_TRY(architecture_of("--arch", options.arch));
  constexpr uint64_t kDevicesMax = 16;
  const auto wrong = error(ErrorCode::InvalidArgument,
                           "--devices '{}': expected a number up to {}, or a list as in "
                           "sm_80,sm_90:16384",
                           options.devices, kDevicesMax);
  if (const auto count = number_of(options.devices)) {
    if (*count > kDevicesMax) return wrong;
    return std::vector<RunDevice>(*count, {sm, memory});
  }
  std::vector<RunDevice> made;
  for (const std::string& word : split_list(options.devices)) {
    const size_t colon = word.find(':');
    RunDevice device{GPUEMU_TRY(architecture_of("--devices", word.substr(0, colon))), memory};
    if (colon != word.npos) {
      const auto mebibytes = number_of(std::string_view(word).substr(colon + 1));
      if (!mebibytes || *mebibytes == 0 || *mebibytes >> 40 != 0) return wrong;
      device.memory_bytes = *mebibytes << 20;
    }
    made.push_back(device);
  }
  if (made.size() > kDevicesMax) return wrong;
  return made;
}

std::vector<std::string> known_checks() {
  std::vector<std::string> names = names_of(DeviceChecks::from_bits(~uint32_t{0}));
  std::erase(names, name_of(DeviceCheck::Writes));
  names.emplace_back(kApi);
  names.emplace_back(kLeak);
  names.emplace_back(kStream);
  names.emplace_back(kReplicas);
  return names;
}

/// Applies --checks: a list with + or - changes the default checks, any other list replaces them.
Status set_checks(const std::string& list, DriverSettings& settings) {
  const std::vector<std::string> words = split_list(list);
  const auto is_change = [](const std::string& word) {
    return word.starts_with('+') || word.starts_with('-');
  };
  std::vector<std::string> wanted = names_of(kUsualChecks);
  wanted.emplace_back(kStream);
  wanted.emplace_back(kApi);
  if (!words.empty() && std::ranges::none_of(words, is_change)) wanted.clear();
  const std::vector<std::string> known = known_checks();
  for (const std::string& word : words) {
    const std::string name = is_change(word) ? word.substr(1) : word;
    if (std::ranges::find(known, name) == known.end()) {
      return error(ErrorCode::InvalidArgument, "--checks: unknown check '{}'; expected some of {}",
                   name, fmt::join(known, ", "));
    }
    std::erase(wanted, name);
    if (!word.starts_with('-')) wanted.push_back(name);
  }
  settings.host_calls = std::erase(wanted, kApi) != 0;
  settings.streams = std::erase(wanted, kStream) != 0;
  settings.leaks = std::erase(wanted, kLeak) != 0;
  settings.replicas = std::erase(wanted, kReplicas) != 0;
  settings.checks = GPUEMU_TRY(device_checks_from_names(wanted));
  return ok_status();
}

Result<int> driver_version(const std::string& text) {
  constexpr int kOldest = 11000, kNewest = 13000;
  const size_t dot = text.find('.');
  const auto major = number_of(std::string_view(text).substr(0, dot));
  const auto minor = dot == text.npos ? std::optional<uint64_t>(0)
                                      : number_of(std::string_view(text).substr(dot + 1));
  if (major && minor && *major < 100 && *minor < 100) {
    const auto version = static_cast<int>(*major * 1000 + *minor * 10);
    if (version >= kOldest && version <= kNewest) return version;
  }
  return error(ErrorCode::InvalidArgument, "--cuda-version '{}': expected 11.0 to 13.0", text);
}

}  // namespace

std::vector<std::string> split_list(const std::string& list) {
  std::vector<std::string> words;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    if (end != at) words.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

Result<FailOn> fail_on_of(const RunOptions& options) {
  FailOn made;
  std::vector<std::string> known = run_kinds();
  std::erase(known, kRunUnmeasured);
  for (std::string& kind : split_list(options.fail_on)) {
    if (kind == kUnmeasured) {
      made.unmeasured = true;
    } else if (std::ranges::find(known, kind) != known.end()) {
      made.kinds.push_back(std::move(kind));
    } else {
      return error(ErrorCode::InvalidArgument,
                   "--fail-on: unknown kind '{}'; expected {} or some of {}", kind, kUnmeasured,
                   fmt::join(known, ", "));
    }
  }
  return made;
}

Result<uint64_t> parse_size(const std::string& option, const std::string& text) {
  constexpr std::string_view kUnits = "KMGT";
  constexpr uint64_t kMost = uint64_t{1} << 46;
  const size_t unit = text.find_first_not_of("0123456789");
  const auto number = number_of(std::string_view(text).substr(0, unit));
  const size_t power = unit == text.npos ? 0 : kUnits.find(text[unit]) + 1;  // npos + 1 is 0.
  const bool known = unit == text.npos || (power != 0 && unit + 1 == text.size());
  if (!number || !known || *number == 0 || *number > kMost >> (10 * power)) {
    return error(ErrorCode::InvalidArgument, "{} '{}': expected a size, as in 8G, 512M or 65536",
                 option, text);
  }
  return *number << (10 * power);
}

Result<DriverSettings> driver_settings(const RunOptions& options) {
  DriverSettings settings;
  settings.devices = GPUEMU_TRY(devices_of(options));
  GPUEMU_TRY(set_checks(options.checks, settings));
  if (options.launch_timeout_s) {
    settings.launch_timeout_ms = *options.launch_timeout_s * 1000;
    settings.launch_timeout_restarts = false;
  }
  settings.trace = !options.trace.empty();
  settings.count_forms = !options.fidelity.empty() || GPUEMU_TRY(fail_on_of(options)).unmeasured;
  settings.schedule_seed = options.schedule_seed;
  settings.driver_version = GPUEMU_TRY(driver_version(options.cuda_version));
  settings.on_finding = options.on_finding == "sticky"   ? OnFinding::Sticky
                        : options.on_finding == "ignore" ? OnFinding::Ignore
                                                         : OnFinding::Report;
  settings.findings_max = options.findings_max;
  return settings;
}

std::map<std::string, std::string> program_environment(std::map<std::string, std::string> own,
                                                       const std::string& library_folder,
                                                       const std::string& run_folder) {
  std::string& path = own["LD_LIBRARY_PATH"];
  path = path.empty() ? library_folder : library_folder + ":" + path;
  // A preloaded library takes precedence over one that the RPATH of the program finds.
  std::string& preload = own["LD_PRELOAD"];
  for (const char* name : {kLibrary, kRuntimeFile12, kRuntimeFile13}) {
    const std::string library = library_folder + "/" + name;
    preload = preload.empty() ? library : library + ":" + preload;
  }
  own["TRITON_LIBCUDA_PATH"] = library_folder;
  own[kRunFolderVariable] = run_folder;
  return own;
}

std::string prepared_packages(const RunOptions& options) {
  std::string made = options.no_torch ? "" : "torch";
  if (!options.no_triton) made += made.empty() ? "triton" : ",triton";
  if (!options.no_numba) made += made.empty() ? "numba.cuda" : ",numba.cuda";
  return made;
}

Result<std::string> find_library_folder(const std::string& program_folder) {
  const fs::path folder =
      (fs::path(program_folder).parent_path() / "lib/gpuemu/drop-in").lexically_normal();
  std::error_code ignored;
  if (fs::exists(folder / kLibrary, ignored)) return folder.string();
  return error(ErrorCode::NotFound,
               "cannot find {} in {}; install gpuemu with its libraries, or build the target "
               "gpuemu-cuda",
               kLibrary, folder.string());
}

}  // namespace gpuemu::cli
