// `gpuemu lint`: measures kernels of the project or files, judges them, keeps the metrics.
#include <algorithm>
#include <filesystem>
#include <set>

#include "daemon/engine/inspect.h"
#include "daemon/server/handlers.h"
#include "runtime/compile/machine_code.h"

namespace gpuemu {
namespace {

constexpr size_t kFilesMax = 10'000;
constexpr size_t kArchsMax = 16;

bool is_architecture(const std::string& name) {
  return name.size() >= 5 && name.starts_with("sm_") &&
         name.find_first_not_of("0123456789af", 3) == std::string::npos && name[3] >= '1' &&
         name[3] <= '9';
}

Status check(const InspectRequest& request, const Config& config) {
  if (request.files.size() > kFilesMax || request.archs.size() > kArchsMax) {
    return error(ErrorCode::InvalidArgument,
                 "{} files for {} architectures, the limits are {} and {}", request.files.size(),
                 request.archs.size(), kFilesMax, kArchsMax);
  }
  for (const std::string& file : request.files) {
    if (file.starts_with("/")) continue;
    return error(ErrorCode::InvalidArgument, "'{}' in files, expected an absolute path", file);
  }
  for (const std::string& arch : request.archs) {
    if (is_architecture(arch)) continue;
    return error(ErrorCode::InvalidArgument,
                 "'{}' is no architecture; write sm_75, sm_80, sm_90 and the like", arch);
  }
  for (const std::string& name : request.kernels) {
    if (config.find_kernel(name) != nullptr) continue;
    std::string known;
    for (const KernelConfig& one : config.kernels) known += (known.empty() ? "" : ", ") + one.name;
    return error(ErrorCode::NotFound, "no kernel '{}' in {}; there are: {}", name,
                 config.file.empty() ? "the configuration" : config.file,
                 known.empty() ? "none" : known);
  }
  return ok_status();
}

/// Two files may have kernels of one name; each keeps its metrics apart.
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
  std::vector<const KernelConfig*> kernels;
  for (const KernelConfig& kernel : config.kernels) {
    const bool wanted = request.kernels.empty() ? request.files.empty()
                                                : std::ranges::find(request.kernels, kernel.name) !=
                                                      request.kernels.end();
    if (wanted) kernels.push_back(&kernel);
  }
  control.total = kernels.size() + request.files.size();
  LintResultsReply reply;
  reply.missing_tools = missing_machine_code_tools();
  const auto take = [&](std::vector<LintResult> results) {
    for (LintResult& one : results) reply.results.push_back(std::move(one));
    ++control.done;
  };
  for (const KernelConfig* kernel : kernels) {
    if (!control.cancel) take(inspect_kernel(config, *kernel, options));
  }
  for (const std::string& file : request.files) {
    if (!control.cancel) take(inspect_file(config, file, options));
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
  return as_plain_or_job(request.stream, call, work);
}

}  // namespace gpuemu
