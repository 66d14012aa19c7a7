// `gpuemu lint`: measures kernels of the project or in files, judges them, and stores the metrics.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include <fmt/ranges.h>

#include "common/config/names.h"
#include "common/protocol/wire_errors.h"
#include "common/toml/nearest.h"
#include "daemon/measure/measure_kernels.h"
#include "daemon/server/config_watch.h"
#include "daemon/server/handlers.h"
#include "daemon/storage/store.h"
#include "runtime/compile/machine_code.h"

namespace gpuemu {
namespace {

Status check(const InspectRequest& request, const Config& config) {
  for (const std::string& file : request.files) {
    std::error_code ignored;
    if (file.starts_with("/") && std::filesystem::is_regular_file(file, ignored)) continue;
    return error(ErrorCode::InvalidArgument,
                 "'{}' in files, expected the absolute path of a file that is there", file);
  }
  for (const std::string& arch : request.archs) {
    if (is_architecture(arch)) continue;
    return error(ErrorCode::InvalidArgument,
                 "unknown architecture '{}', expected one like sm_75, sm_80 or sm_90", arch);
  }
  if (!request.files.empty() && request.kernels.size() > 1) {
    return error(ErrorCode::InvalidArgument,
                 "{} kernels for files, expected one: the kernel whose limits hold for them",
                 request.kernels.size());
  }
  for (const std::string& name : request.kernels) {
    if (!request.files.empty()) break;
    if (config.find_kernel(name) != nullptr) continue;
    std::vector<std::string> known;
    for (const KernelConfig& one : config.kernels) known.push_back(one.name);
    return error(ErrorCode::NotFound, "no kernel '{}' in {}; there are: {}{}", name,
                 config.file.empty() ? "the configuration" : config.file,
                 known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")),
                 did_you_mean(name, known));
  }
  return ok_status();
}

/// Renames results so that kernels of the same name in two files keep separate metrics.
void tell_apart(std::vector<LintResult>& results) {
  std::set<std::string> seen, twice;
  for (const LintResult& one : results) {
    if (!seen.insert(one.kernel_name).second) twice.insert(one.kernel_name);
  }
  for (LintResult& one : results) {
    if (!twice.contains(one.kernel_name)) continue;
    one.kernel_name = fmt::format("{}:{}", std::filesystem::path(one.source).filename().string(),
                                  one.kernel_name);
    one.metrics.kernel_name = one.kernel_name;
  }
}

/// The items to measure: kernels of the project, then files.
struct Subjects {
  std::vector<const KernelConfig*> kernels;
  std::vector<std::string> files;
  std::optional<std::string>
      as_kernel;  ///< The files belong to this kernel, whether it is listed or not.
  size_t size() const { return kernels.size() + files.size(); }
};

std::vector<LintResult> inspect_one_file(const Config& config, const Subjects& subjects,
                                         const std::string& file, const InspectOptions& options) {
  if (!subjects.as_kernel) return inspect_file(config, file, options);
  const KernelConfig* listed = config.find_kernel(*subjects.as_kernel);
  KernelConfig kernel;
  kernel.name = *subjects.as_kernel;
  kernel.source = file;
  if (listed != nullptr) kernel.artifact_checks = listed->artifact_checks;
  return inspect_kernel(config, kernel, options);
}

/// Runs as many compilers at a time as there are processors; each is a separate process.
std::vector<std::vector<LintResult>> inspect_all(const Config& config, const Subjects& subjects,
                                                 const InspectOptions& options,
                                                 JobControl& control) {
  std::vector<std::vector<LintResult>> results(subjects.size());
  std::atomic<size_t> next{0};
  compile_to_inspect(config, subjects.kernels, options,
                     [&](size_t ready) { control.compiling(ready, subjects.kernels.size()); });
  control.total = subjects.size();
  const auto work = [&] {
    for (size_t i = next++; i < subjects.size() && !control.cancel; i = next++) {
      const size_t kernels = subjects.kernels.size();
      results[i] = i < kernels
                       ? inspect_kernel(config, *subjects.kernels[i], options)
                       : inspect_one_file(config, subjects, subjects.files[i - kernels], options);
      ++control.done;
    }
  };
  {
    const size_t processors = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::jthread> helpers;  // They end with this scope.
    for (size_t i = 1; i < std::min(processors, subjects.size()); ++i) helpers.emplace_back(work);
    work();
  }
  return results;
}

Reply inspect(const InspectRequest& request, Call& call, JobControl& control) {
  ServerContext& context = call.context;
  const auto current = context.config.current();
  if (!current) return config_error(current.error());
  const Config& config = **current;
  const Status sound = check(request, config);
  if (!sound) {
    ErrorReply reply = error_reply(sound.error());
    if (sound.error().code == ErrorCode::NotFound) reply.code = WireErrorCode::KernelNotFound;
    return reply;
  }
  InspectOptions options;
  options.archs = request.archs;
  if (options.archs.empty()) options.archs = {context.arch};
  options.threads = request.threads;
  options.dynamic_shared_bytes = request.dynamic_shared_bytes;
  options.cache_folder = context.cache_folder;
  options.cancel = &control.cancel;
  Subjects subjects{{}, request.files, std::nullopt};
  if (!request.files.empty() && !request.kernels.empty()) subjects.as_kernel = request.kernels[0];
  for (const KernelConfig& kernel : config.kernels) {
    const bool named = request.kernels.empty() ||
                       std::ranges::find(request.kernels, kernel.name) != request.kernels.end();
    if (named && request.files.empty()) subjects.kernels.push_back(&kernel);
  }
  LintResultsReply reply;
  reply.missing_tools = missing_machine_code_tools();
  for (std::vector<LintResult>& results : inspect_all(config, subjects, options, control)) {
    for (LintResult& one : results) reply.results.push_back(std::move(one));
  }
  tell_apart(reply.results);
  for (const LintResult& one : reply.results) {
    const bool measured = one.metrics.ptx || !one.metrics.compiled.empty();
    if (!one.error.empty() || !measured) continue;
    const Status stored = context.store.put_artifact(one.metrics);
    if (!stored) return error_reply(stored.error());
  }
  return reply;
}

}  // namespace

Reply handle(const InspectRequest& request, Call& call) {
  const JobTable::Work work = [request, call](JobControl& control) mutable {
    return inspect(request, call, control);
  };
  return run_or_start_job(job_options(request), call, work);
}

}  // namespace gpuemu
