// Minimize: finds the smallest case of the same op that fails in the same way; every trial runs the
// kernel.
#include <algorithm>
#include <cmath>

#include "common/base/blake2.h"
#include "common/protocol/wire_errors.h"
#include "daemon/case/case_report.h"
#include "daemon/case/reproduction.h"
#include "daemon/pipeline/describe_verdict.h"
#include "daemon/server/client_judged_ops.h"
#include "daemon/server/handlers.h"
#include "daemon/server/project.h"
#include "daemon/server/stored_failure.h"
#include "daemon/storage/store.h"
#include "judge/cases/case.h"
#include "judge/minimize/minimize.h"

namespace gpuemu {
namespace {

constexpr const char* kSometimes =
    "another run of this very case passed: it fails in some runs only, as a race does";

/// Classifies a value: NaN, infinity or a number. Failures with different classes are different.
const char* class_of(const std::optional<double>& value) {
  if (!value) return "-";
  if (std::isnan(*value)) return "nan";
  return std::isfinite(*value) ? "finite" : *value > 0 ? "+inf" : "-inf";
}

/// Returns whether the failing element is the last of its row or column, and not the first.
bool is_at_tail(const CasePlan& plan, const ValidationFailure& failure) {
  const auto output = std::ranges::find(plan.outputs, failure.output, &CaseTensor::name);
  if (!failure.index || *failure.index <= 0 || output == plan.outputs.end()) return false;
  if (output->shape.empty() || output->shape.back() <= 0) return false;
  const int64_t columns = output->shape.back();
  const int64_t rows = element_count(output->shape) / columns;
  const int64_t row = *failure.index / columns, column = *failure.index % columns;
  return (columns > 1 && column == columns - 1) || (rows > 1 && row == rows - 1);
}

/// What must stay the same while a case shrinks: the kind of the first finding, its output and
/// line, and the class of its element.
struct FailureClass {
  std::string text;      ///< Everything except the position of the element.
  bool at_tail = false;  ///< In a small case every element is at an end, so only a failure that was
                         ///< inside may move there.

  static FailureClass of(const CasePlan& plan, const ValidationResult& result) {
    const ValidationFailure& first = result.failures.front();
    std::string text = fmt::format("{} {} {}:{}", name_of(first.kind), first.output,
                                   first.source_file, first.source_line);
    text += fmt::format(" {} for {}", class_of(first.actual), class_of(first.expected));
    return {std::move(text), is_at_tail(plan, first)};
  }
  bool covers(const FailureClass& other) const {
    return text == other.text && (at_tail || !other.at_tail);
  }
};

/// Identifies the inputs that are stored with a case.
std::string stored_label(const CasePlan& plan) {
  std::string label;
  if (!plan.stored) return label;
  for (const auto& [name, tensor] : *plan.stored) {
    label += fmt::format(",{}:", name);
    label.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  }
  return label;
}

/// Distinguishes the cases of one search.
std::string label_of(const CasePlan& plan) {
  std::string label =
      fmt::format("{} {} {}", name_of(plan.value_strategy), plan.value_scale, name_of(plan.layout));
  for (const auto& [name, value] : plan.dims) label += fmt::format(" {}={}", name, value);
  for (const auto& [name, value] : plan.attrs) label += fmt::format(" {}={}", name, value);
  return content_hash({label, stored_label(plan)});
}

/// Runs smaller cases of one failure.
class Trials {
 public:
  Trials(const OpConfig& op, CasePlan plan, Project& project, Call& call, JobControl& control)
      : op_(op), plan_(std::move(plan)), project_(project), call_(call), control_(control) {}

  /// Returns how the case fails; nothing if it passes or cannot be made.
  std::optional<FailureClass> run(const CasePlan& plan) {
    ++control_.done;
    auto outcome = project_.campaign().run_one(op_, plan, {}, call_.claim);
    if (!outcome || outcome->result.passed) return std::nullopt;
    ++control_.failures;
    const FailureClass found = FailureClass::of(plan, outcome->result);
    failed_.insert_or_assign(label_of(plan), std::move(outcome->result));
    return found;
  }
  /// Returns how the case failed. Requires that run() found that it fails.
  const ValidationResult& failure_of(const CasePlan& plan) const {
    const auto found = failed_.find(label_of(plan));
    GPUEMU_CHECK(found != failed_.end());
    return found->second;
  }
  /// Returns whether it fails again in another run; true if it cannot be run.
  bool fails_again(const CasePlan& plan) {
    const auto outcome = project_.campaign().run_one(op_, plan, {}, call_.claim);
    return !outcome || !outcome->result.passed;
  }
  bool is_cancelled() const { return control_.cancel; }
  /// Returns the class's text if the choice fails in that way.
  std::optional<std::string> run_choice(const CaseChoice& choice, const FailureClass& wanted) {
    const auto smaller = with_choice(choice);
    if (!smaller) return std::nullopt;
    const auto found = run(*smaller);
    if (!found || !wanted.covers(*found)) return std::nullopt;
    return wanted.text;
  }
  Result<CasePlan> with_choice(const CaseChoice& choice) const {
    CasePlan simpler = plan_;
    simpler.value_strategy = choice.stored ? Strategy::Stored : choice.values.strategy;
    simpler.value_scale = choice.stored ? 1.0 : choice.values.scale;
    simpler.layout = choice.layout;
    simpler.attrs = choice.attrs;
    simpler.stored = choice.stored;
    return with_dims(op_, simpler, choice.dims);
  }
  CaseChoice choice() const {
    CaseChoice now{plan_.dims,
                   {plan_.value_strategy, plan_.value_scale},
                   plan_.layout,
                   plan_.attrs,
                   plan_.stored};
    for (const DerivedDim& dim : op_.derived_dims) now.dims.erase(dim.name);
    return now;
  }
  NamedTensors inputs_of(const CaseChoice& choice) const {
    const auto plan = with_choice(choice);
    return plan ? make_inputs(op_, *plan) : NamedTensors{};
  }

 private:
  const OpConfig& op_;
  const CasePlan plan_;
  Project& project_;
  Call& call_;
  JobControl& control_;
  std::map<std::string, ValidationResult> failed_;  ///< By label_of().
};

/// Returns what a smaller case must satisfy according to the op's schema.
CaseSearch search_of(const OpConfig& op) {
  CaseSearch search;
  for (const DimSpec& dim : op.dims) {
    if (!dim.values.empty()) search.lower[dim.name] = *std::ranges::min_element(dim.values);
    if (!dim.is_set) continue;
    search.sizes[dim.name] = dim.values;
    std::ranges::sort(search.sizes[dim.name]);
  }
  for (const MemoryLayout layout :
       {MemoryLayout::Contiguous, MemoryLayout::Strided, MemoryLayout::Transposed}) {
    if (std::ranges::find(op.layouts, layout) != op.layouts.end()) search.layouts.push_back(layout);
  }
  for (const AttrSpec& attr : op.attrs) search.attrs[attr.name] = attr.values;
  for (const auto* specs : {&op.inputs, &op.outputs}) {
    for (const TensorSpec& spec : *specs) {
      // Single values of these inputs cannot change, because of the rule on the others.
      if (spec.distinct || spec.sorted) search.simplest[spec.name] = NAN;
      if (!spec.range || spec.distinct || spec.sorted) continue;
      search.simplest[spec.name] = std::clamp(0.0, spec.range->first, spec.range->second);
    }
  }
  return search;
}

/// Derives seeds for minimized cases, so that they never equal the original's.
uint64_t minimized_seed_of(uint64_t seed, const CasePlan& start, const CasePlan& plan) {
  std::string label;
  for (const auto& [name, value] : plan.dims) label += fmt::format("{}={},", name, value);
  label += fmt::format("{}*{}", name_of(plan.value_strategy), plan.value_scale);
  if (plan.layout != start.layout) label += fmt::format(",{}", name_of(plan.layout));
  if (plan.attrs != start.attrs) {
    for (const auto& [name, value] : plan.attrs) label += fmt::format(",{}={}", name, value);
  }
  return case_seed_of(seed, 0, label + stored_label(plan));
}

Shape representative(const CasePlan& plan) {
  return plan.outputs.empty() ? Shape{} : plan.outputs.front().shape;
}

bool same_inputs(const CasePlan& before, const CasePlan& after) {
  return before.stored && *before.stored == *after.stored;
}

/// Describes what became simpler besides the dims, one line each.
std::vector<std::string> changes_between(const CasePlan& before, const CasePlan& after) {
  std::vector<std::string> lines;
  const auto changed = [&lines](const std::string& what, const auto& from, const auto& to) {
    if (from != to) lines.push_back(fmt::format("{} {} -> {}", what, from, to));
  };
  changed("layout", name_of(before.layout), name_of(after.layout));
  for (const auto& [name, value] : after.attrs) changed(name, before.attrs.at(name), value);
  changed("values", name_of(before.value_strategy), name_of(after.value_strategy));
  if (!after.stored) changed("scale", before.value_scale, after.value_scale);
  return lines;
}

struct Smallest {
  CasePlan plan;
  uint64_t trials = 0;
  std::map<std::string, double> simplest;
  ValidationResult failure;  ///< How it failed in its trial.
  std::vector<std::string> notes;
};

/// Stores the smaller case as a separate failure, and fills in the reply.
Reply finish(const OpConfig& op, const ValidationResult& original, Smallest found, Call& call) {
  const auto start = plan_from(op, *original.repro_info);
  if (!start) return error_reply(start.error());
  const CasePlan& smallest = found.plan;
  MinimizeResultReply reply;
  reply.simplified = changes_between(*start, smallest);
  const bool smaller = !reply.simplified.empty() || smallest.dims != start->dims ||
                       (smallest.stored && !same_inputs(*start, smallest));
  reply.original_seed = original.seed;
  reply.minimized_seed =
      smaller ? minimized_seed_of(original.seed, *start, smallest) : original.seed;
  reply.original_shape = representative(*start);
  reply.minimized_shape = representative(smallest);
  reply.original_dims = start->dims;
  reply.minimized_dims = smallest.dims;
  reply.trials = found.trials;
  const ElementCount count = count_elements(make_inputs(op, smallest), found.simplest);
  reply.input_elements = count.all;
  reply.nonzero_elements = count.differing;
  reply.notes = std::move(found.notes);
  reply.guess = guess_text(op);
  reply.result = std::move(found.failure);
  reply.result.seed = reply.minimized_seed;
  if (reply.result.repro_info) reply.result.repro_info->seed = reply.minimized_seed;
  if (smaller) {
    const Status kept = call.context.store.put_result(reply.result, true);
    if (!kept) return error_reply(kept.error());
  }
  return reply;
}

Reply minimize(const MinimizeRequest& request, Call& call, JobControl& control) {
  const auto failure = find_failure(call, request.seed, request.op_name);
  if (!failure) return error_reply(failure.error());
  auto project = open_project(call);
  if (!project) return config_error(project.error());
  (*project)->stop_when(control.cancel);
  const OpConfig* op = (*project)->config().find_op(failure->op_name);
  if (op == nullptr) return op_not_found(call, (*project)->config(), failure->op_name);
  if (op->mode == ExecutionMode::ScriptBased && !op->op_script.empty() && failure->repro_info &&
      failure->repro_info->fuzz_config) {
    const auto inputs = stored_inputs(*failure);
    if (!inputs) return error_reply(inputs.error());
    return minimize_script_case({(*project)->config(), *op, *failure, *inputs}, request, call,
                                control);
  }
  if (!has_kernel_case(*op, *failure)) return no_kernel_case(*failure, "minimized");
  const auto plan = plan_from(*op, *failure->repro_info);
  if (!plan) return error_reply(plan.error());
  Trials trials(*op, *plan, **project, call, control);
  control.total = request.max_iters;
  const auto wanted = trials.run(*plan);
  if (!wanted && control.cancel) {
    return ErrorReply{WireErrorCode::InternalError, control.incomplete()};
  }
  if (!wanted) {
    return ErrorReply{WireErrorCode::InvalidRequest,
                      fmt::format("the case {} of '{}' passes now; there is nothing to minimize",
                                  failure->seed, failure->op_name)};
  }
  CaseSearch search = search_of(*op);
  search.inputs_of = [&trials](const CaseChoice& choice) { return trials.inputs_of(choice); };
  search.change_dims = request.strategy == MinimizeStrategy::BinarySearchDims;
  search.trials_max = request.max_iters;
  search.cancelled = [&control] { return control.cancel.load(); };
  const CaseMinimum minimum = minimize_case(
      trials.choice(), wanted->text,
      [&](const CaseChoice& choice) { return trials.run_choice(choice, *wanted); }, search);
  auto smallest = trials.with_choice(minimum.choice);
  if (!smallest) return error_reply(smallest.error());
  Smallest found{*smallest, minimum.trials, search.simplest, trials.failure_of(*smallest), {}};
  // A failure that depends on a race or a time limit may not occur every time.
  if (!trials.is_cancelled() && !trials.fails_again(*smallest)) {
    found.notes.emplace_back(kSometimes);
  }
  return finish(*op, *failure, std::move(found), call);
}

}  // namespace

Reply handle(const MinimizeRequest& request, Call& call) {
  Call kept = call;
  const JobTable::Work work = [request, kept](JobControl& control) mutable {
    return minimize(request, kept, control);
  };
  return run_or_start_job(job_options(request), call, work);
}

}  // namespace gpuemu
