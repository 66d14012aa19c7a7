// Commands on stored failures: list, load, show, and run them on a device of this process.
#include <algorithm>

#include <fmt/ranges.h>

#include "cli/debug/commands.h"
#include "cli/debug/compare.h"
#include "cli/debug/outputs.h"
#include "cli/report/text.h"
#include "common/base/service_limits.h"
#include "runtime/device/device_traits.h"

namespace gpuemu::cli {
namespace {

constexpr uint64_t kListed = 20;

/// Returns a case that a client submitted: only its inputs are known.
Result<ExportedCaseReply> inputs_alone(const DebugContext& context, uint64_t seed,
                                       const std::string& op) {
  auto again = ask_for<ReproduceResultReply>(context, ReproduceRequest{seed, op});
  if (!again) return again.error();
  ExportedCaseReply made;
  made.result = std::move(again->result);
  for (const auto& [name, values] : again->inputs) {
    made.tensors.push_back({.name = name,
                            .role = TensorRole::Input,
                            .dtype = values.dtype,
                            .shape = values.shape,
                            .strides = row_major_strides(values.shape)});
  }
  made.inputs = std::move(again->inputs);
  return made;
}

Result<ExportedCaseReply> fetch(const DebugContext& context, uint64_t seed, const std::string& op) {
  Reply reply = GPUEMU_TRY(context.environment.ask(ExportCaseRequest{seed, op}));
  if (auto* exported = std::get_if<ExportedCaseReply>(&reply)) return std::move(*exported);
  const auto* refused = std::get_if<ErrorReply>(&reply);
  if (refused == nullptr) {
    return error(ErrorCode::Internal, "the daemon answers with {}", type_of(reply));
  }
  if (refused->code == WireErrorCode::InvalidRequest) {
    auto alone = inputs_alone(context, seed, op);
    if (alone) return alone;
  }
  return error_of(*refused);
}

std::string launch_text(const ExportedLaunch& launch) {
  const std::string shared = launch.shared_bytes == 0
                                 ? ""
                                 : fmt::format(", {} bytes of shared memory", launch.shared_bytes);
  return fmt::format("{}: grid ({}), block ({}){}", one_line(launch.entry),
                     fmt::join(launch.grid, ", "), fmt::join(launch.block, ", "), shared);
}

void print_loaded(const DebugContext& context) {
  const ExportedCaseReply& loaded = *context.loaded;
  context.out << failure_line(loaded.result) << '\n';
  if (loaded.ptx.empty()) {
    context.out << "  submitted by a client: its inputs can be printed, nothing can be run\n";
    return;
  }
  for (const ExportedLaunch& launch : loaded.launches) {
    context.out << "  launches " << launch_text(launch) << '\n';
  }
}

Status run_launches(DebugContext& context) {
  CaseRun& run = *context.run;
  for (size_t i = 0; i < run.launches(); ++i) {
    const LaunchReport report = GPUEMU_TRY(run.launch(i, run.settings().timeout_ms));
    context.ran = true;
    print_launch(context, i, report);
    if (std::ranges::any_of(report.findings, is_fault)) break;
  }
  return ok_status();
}

}  // namespace

Status do_list(DebugContext& context, const Words& words) {
  ListFailuresRequest request{.limit = kListed, .op_name = ""};
  for (const std::string& word : words) {
    const auto number = parse_count(word, "list");
    if (!number && !request.op_name.empty()) {
      return wrong_usage("list [N] [OP]", fmt::format("'{}': there is an op already", word));
    }
    if (number && *number == 0) {
      return wrong_usage("list [N] [OP]", "0 failures: expected a number from 1");
    }
    if (number) request.limit = *number;
    if (!number) request.op_name = word;
  }
  const ResultsReply reply = GPUEMU_TRY(ask_for<ResultsReply>(context, request));
  context.seeds.clear();
  for (const ValidationResult& failure : reply.results) {
    context.seeds.push_back(failure.seed);
    context.out << failure_line(failure) << '\n';
  }
  if (reply.results.empty()) context.out << "no failures\n";
  return ok_status();
}

Status do_load(DebugContext& context, const Words& words) {
  if (words.empty()) return wrong_usage("load SEED [OP]", "the seed is missing; `list` shows them");
  const uint64_t seed = GPUEMU_TRY(parse_count(words[0], "seed"));
  ExportedCaseReply fetched = GPUEMU_TRY(fetch(context, seed, words.size() > 1 ? words[1] : ""));
  context.run.reset();
  context.ran = false;
  context.pipeline.reset();
  context.next_stage = 0;
  context.launch = 0;
  context.stepping->forget();
  context.loaded = std::move(fetched);
  print_loaded(context);
  return ok_status();
}

Status do_show(DebugContext& context, const Words& words) {
  if (words.empty()) {
    print_case(GPUEMU_TRY(loaded_case(context))->result, context.out);
    return ok_status();
  }
  const uint64_t seed = GPUEMU_TRY(parse_count(words[0], "seed"));
  const ResultsReply all =
      GPUEMU_TRY(ask_for<ResultsReply>(context, ListFailuresRequest{kResultsListedMax, ""}));
  bool found = false;
  for (const ValidationResult& failure : all.results) {
    if (failure.seed != seed) continue;
    print_case(failure, context.out);
    found = true;
  }
  if (found) return ok_status();
  return error(ErrorCode::InvalidArgument, "no failure with seed {}; `list` shows those there are",
               seed);
}

Status do_replay(DebugContext& context, const Words& words) {
  const ExportedCaseReply& loaded = *GPUEMU_TRY(case_with_kernel(context));
  const std::string backend = words.empty() ? std::string(kEmulatorBackend) : words[0];
  if (!is_computing_backend(backend)) {
    return wrong_usage("replay [emulator|cuda]", fmt::format("unknown backend '{}'", backend));
  }
  context.ran = false;
  context.run.reset();
  DeviceRequest request{.backend = backend};
  request.sm = device_traits(backend).is_gpu ? 0 : emulated_sm(loaded.arch);
  context.run = GPUEMU_TRY(CaseRun::open(loaded, context.environment.settings, request));
  context.out << fmt::format("on {}\n", context.run->device().name);
  GPUEMU_TRY(run_launches(context));
  return print_outputs(context);
}

}  // namespace gpuemu::cli
