// References and op scripts over the stdin contract, on tensors made by a client.
#include "daemon/server/client_judged_ops.h"

#include <algorithm>

#include "common/base/arena.h"
#include "common/base/limits.h"
#include "common/protocol/wire_errors.h"
#include "common/tensor/snapshot.h"
#include "daemon/campaign/silent_reference.h"
#include "daemon/schedule/slot.h"
#include "daemon/schedule/slot_pool.h"
#include "daemon/server/campaign_events.h"
#include "daemon/storage/store.h"
#include "judge/bounds/flushed.h"
#include "judge/cases/case.h"
#include "judge/cases/legacy_cases.h"
#include "judge/verdict/validate.h"

namespace gpuemu {
namespace {

struct ScriptRun {
  std::string script, function;  ///< See ReferenceRequest.
  bool process_only = false;
  std::vector<std::string> outputs;
  uint64_t timeout_ms = 60'000;
  uint64_t memory_bytes = 0;  ///< See ReferenceRequest.
};

/// Copies a tensor out of the arena, so that the next script may reuse the arena.
Result<Tensor> fetch(Arena& arena, const ReferenceTensor& at) {
  Tensor tensor{at.dtype, at.shape, {}};
  const auto bytes = GPUEMU_TRY(arena.range(at.arena_offset, packed_bytes(at.dtype, at.shape)));
  tensor.data.assign(bytes.begin(), bytes.end());
  return tensor;
}

struct ScriptAnswer {
  Tensor tensor;
  bool wide = false;  ///< Function form: not rounded to the output's dtype.
};

Result<ScriptAnswer> run_script(const ScriptRun& run, const NamedTensors& inputs,
                                const Kwargs& kwargs, Slot& slot) {
  if (run.script.empty()) {
    return error(ErrorCode::InvalidArgument,
                 "the op has no reference to compare a client's output with; write reference = "
                 "\"FILE.py\" in its table");
  }
  uint64_t end = 0;
  for (const auto& [name, tensor] : inputs) end += arena_aligned(tensor.data.size());
  GPUEMU_TRY(slot.arena.grow(end + 1));
  ReferenceRequest request;
  request.script = run.script;
  request.function = run.function;
  request.process_only = run.process_only;
  request.kwargs = kwargs;
  request.output_names = run.outputs;
  request.result_offset = end;
  request.timeout_ms = run.timeout_ms;
  request.memory_bytes = run.memory_bytes;
  uint64_t at = 0;
  for (const auto& [name, tensor] : inputs) {
    const auto to = GPUEMU_TRY(slot.arena.range(at, tensor.data.size()));
    std::copy(tensor.data.begin(), tensor.data.end(), to.begin());
    request.inputs.push_back({name, tensor.dtype, tensor.shape, at});
    at += arena_aligned(tensor.data.size());
  }
  GPUEMU_TRY(slot.reference.begin(request));
  const ReferenceReply reply = GPUEMU_TRY(slot.reference.finish());
  GPUEMU_TRY(slot.arena.refresh());
  if (reply.outputs.empty()) {
    return error(ErrorCode::Compile, "{} returned no tensor", run.script);
  }
  return ScriptAnswer{GPUEMU_TRY(fetch(slot.arena, reply.outputs.front())), reply.function_form};
}

ScriptRun reference_run(const Config& config, const OpConfig& op) {
  ScriptRun run;
  run.script = op.reference;
  run.function = op.reference_function;
  run.process_only = op.reference_mode == ReferenceMode::Process;
  for (const TensorSpec& output : op.outputs) run.outputs.push_back(output.name);
  run.timeout_ms = static_cast<uint64_t>(config.reference_timeout_s * 1000);
  run.memory_bytes = config.reference_memory_limit_mb << 20;
  return run;
}

JudgedOutput compare(const Config& config, const OpConfig& op, const NamedTensors& inputs,
                     const Tensor& output, const ScriptAnswer& expected) {
  Comparison comparison;
  comparison.output_name = "output";
  comparison.output = view_of(output);
  comparison.reference = view_of(expected.tensor);
  comparison.reference_is_wide = expected.wide;
  for (const auto& [name, tensor] : inputs) comparison.inputs[name] = view_of(tensor);
  comparison.reference_input = !op.input_names.empty() ? op.input_names.front()
                               : !inputs.empty()       ? inputs.begin()->first
                                                       : "";
  comparison.policy.tolerance =
      config.tolerance_for(op, output.dtype, op.outputs.empty() ? "" : op.outputs.front().name);
  comparison.policy.error_scale = op.error_scale;
  comparison.policy.check_nan = config.check_nan;
  comparison.policy.check_inf = config.check_inf;
  comparison.policy.invariants = op.invariants;
  if (op.has_nan_policy) {
    comparison.policy.nan_policy =
        op.nan_policy_of(op.outputs.empty() ? "" : op.outputs.front().name);
  }
  Verdict verdict = validate(comparison);
  std::optional<Tensor> flushed;
  if (!verdict.failures.empty() && op.subnormal == SubnormalPolicy::Note &&
      !op.strict.value_or(config.strict)) {
    flushed = flushed_reference(comparison, nullptr);
  }
  if (flushed) {
    comparison.reference = view_of(*flushed);
    verdict = validate(comparison);
  }
  ValidationResult result;
  result.op_name = op.name;
  result.failures = std::move(verdict.failures);
  result.passed = result.failures.empty();
  result.max_diff = verdict.max_diff;
  result.max_rel_diff = verdict.max_rel_diff;
  result.error_stats = verdict.stats;
  return {std::move(result), verdict.bound_ratio_max};
}

ReproductionInfo client_case_info(const LegacyCase& made, const FuzzConfig& config) {
  ReproductionInfo info;
  info.seed = made.case_seed;
  info.fuzz_config = config;
  info.shape = made.shape;
  info.strides = made.strides;
  info.dtype = made.dtype;
  info.layout = made.layout;
  if (auto snapshot = encode_legacy_snapshot(made.inputs)) {
    info.input_snapshot = *std::move(snapshot);
  }
  return info;
}

}  // namespace

Result<JudgedOutput> judge_submitted(const Config& config, const OpConfig& op,
                                     const ScriptInputs& inputs, const Tensor& output, Slot& slot) {
  const auto start = std::chrono::steady_clock::now();
  const ScriptAnswer expected =
      GPUEMU_TRY(run_script(reference_run(config, op), inputs.tensors, inputs.kwargs, slot));
  JudgedOutput judged = compare(config, op, inputs.tensors, output, expected);
  if (!judged.result.passed && inputs.wider) {
    OpConfig lenient = op;
    lenient.tolerances[output.dtype] = *inputs.wider;
    JudgedOutput again = compare(config, lenient, inputs.tensors, output, expected);
    if (again.result.passed) judged = std::move(again);
  }
  ValidationResult& result = judged.result;
  result.timestamp = now_seconds();
  result.duration_ms = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                                 std::chrono::steady_clock::now() - start)
                                                 .count());
  return judged;
}

Result<JudgedOutput> judge_script(const Config& config, const OpConfig& op,
                                  const NamedTensors& inputs, const Kwargs& kwargs, Slot& slot) {
  const auto broken = [&](const Error& failure) -> Result<JudgedOutput> {
    if (failure.code == ErrorCode::Cancelled) return failure;
    ValidationResult result;
    result.op_name = op.name;
    result.passed = false;
    result.timestamp = now_seconds();
    result.failures.push_back({.kind = FindingKind::ReferenceError, .message = failure.message});
    return JudgedOutput{std::move(result), 0};
  };
  ScriptRun run = reference_run(config, op);
  run.script = op.op_script;
  run.process_only = true;
  const auto output = run_script(run, inputs, kwargs, slot);
  if (!output) return broken(output.error().with_context("op script"));
  auto result = judge_submitted(config, op, {inputs, kwargs}, output->tensor, slot);
  return result ? std::move(result) : broken(result.error());
}

namespace {

/// Returns what the generator of such ops draws from. It has lists of sizes and no value
/// strategies, so requests for those are refused instead of ignored.
Result<FuzzConfig> drawn_from(const FuzzOpRequest& request, const Config& config) {
  if (request.fuzz_config) return *request.fuzz_config;
  const OwnFuzzConfig wanted = request.config.value_or(OwnFuzzConfig{});
  const char* refused = !wanted.strategies.empty()  ? "strategies"
                        : !wanted.min_shape.empty() ? "min_shape"
                        : !wanted.max_shape.empty() ? "max_shape"
                                                    : nullptr;
  if (refused != nullptr) {
    return error(ErrorCode::InvalidArgument,
                 "config.{} is for ops with kernels; '{}' has an op script: its shapes come from "
                 "fuzz_config.shape_options",
                 refused, request.op_name);
  }
  FuzzConfig fuzz;
  fuzz.seed = wanted.seed ? *wanted.seed : config.seed.value_or(fresh_seed());
  if (!wanted.dtypes.empty()) fuzz.dtypes = wanted.dtypes;
  if (!wanted.layouts.empty()) fuzz.layouts = wanted.layouts;
  return fuzz;
}

/// Returns why the reference or the op script gave no output to compare; "" if both did.
std::string no_answer(const ValidationResult& result) {
  const auto is_of_script = [](const ValidationFailure& one) {
    return one.kind == FindingKind::ReferenceError;
  };
  if (result.failures.empty() || !std::ranges::all_of(result.failures, is_of_script)) return "";
  return result.failures.front().message;
}

/// Runs the cases of one op one after the other.
class ScriptCases {
 public:
  ScriptCases(const ScriptFuzz& given, const FuzzConfig& fuzz, Call& call, JobControl& control)
      : given_(given), fuzz_(fuzz), call_(call), control_(control) {
    reply_.seed = fuzz.seed;
  }

  Result<FuzzResultsReply> run() {
    const FuzzOpRequest& request = given_.request;
    for (uint64_t number = 0; number < request.iterations && !given_.stopped(); ++number) {
      std::vector<JudgedOutput> ready;
      auto judged = judge(request.first_case.value_or(0) + number);
      if (!judged && judged.error().code == ErrorCode::Cancelled && control_.cancel) break;
      if (!judged) return judged.error();
      const std::string silence = no_answer(judged->result);
      unanswered_.admit(*std::move(judged), silence, ready);
      ++control_.done;
      for (JudgedOutput& one : ready) GPUEMU_TRY(keep(std::move(one)));
      if (unanswered_.is_certain() || (request.fail_fast && reply_.failed > 0)) break;
    }
    reply_.error = unanswered_.text();
    bound_snapshots(reply_.failures);
    reply_.results = told_.take();
    return std::move(reply_);
  }

 private:
  Result<JudgedOutput> judge(uint64_t number) {
    // Acquire the slot first, so that no more cases than slots are in memory.
    auto lease = GPUEMU_TRY(call_.context.slots.acquire(call_.claim));
    auto made = GPUEMU_TRY(make_legacy_case(fuzz_, given_.op.input_names, number));
    auto judged = GPUEMU_TRY(judge_script(given_.config, given_.op, made.inputs, {}, *lease));
    judged.result.seed = made.case_seed;
    if (!judged.result.passed) judged.result.repro_info = client_case_info(made, fuzz_);
    return judged;
  }

  Status keep(JudgedOutput judged) {
    ValidationResult& result = judged.result;
    GPUEMU_TRY(call_.context.store.put_result(result, !result.passed));
    ++reply_.total;
    ++(result.passed ? reply_.passed : reply_.failed);
    if (!result.passed) control_.failed(log_line(result), result);
    if (given_.on_case) given_.on_case(judged);
    if (given_.request.results) told_.add(result);
    if (!result.passed && reply_.failures.size() < kFailuresListedMax) {
      reply_.failures.push_back(std::move(result));
    }
    return ok_status();
  }

  const ScriptFuzz& given_;
  const FuzzConfig& fuzz_;
  Call& call_;
  JobControl& control_;
  FuzzResultsReply reply_;
  ToldResults told_;
  SilentReference<JudgedOutput> unanswered_{"its scripts answer"};
};

}  // namespace

bool has_op_script(const OpConfig& op) {
  return op.mode == ExecutionMode::ScriptBased && !op.op_script.empty();
}

uint64_t script_seed_of(uint64_t seed, const OpConfig& op) {
  return case_seed_of(seed, 0, op.name);
}

Reply fuzz_script_op(const ScriptFuzz& given, Call& call, JobControl& control) {
  if (!has_op_script(given.op)) {
    return ErrorReply{
        WireErrorCode::InvalidRequest,
        fmt::format("op '{}' runs in the client, so the daemon has nothing to compare with its "
                    "reference; fuzz it from the client (fuzz_op_client_side), or give it an "
                    "op_script with execution_mode = \"script_based\", or a kernel",
                    given.op.name)};
  }
  const Result<FuzzConfig> fuzz = drawn_from(given.request, given.config);
  if (!fuzz) return error_reply(fuzz.error());
  auto results = ScriptCases(given, *fuzz, call, control).run();
  if (!results) return error_reply(results.error());
  if (results->total == 0 && !results->error.empty()) {
    return ErrorReply{WireErrorCode::ReferenceScriptFailed, results->error};
  }
  if (control.cancel && results->error.empty()) results->error = control.incomplete();
  return *std::move(results);
}

}  // namespace gpuemu
