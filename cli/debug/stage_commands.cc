// Commands that show what each stage of the daemon's pipeline (common/protocol/tables/stages.def)
// reports about a case.
#include <algorithm>
#include <ostream>

#include <fmt/ranges.h>

#include "cli/debug/commands.h"
#include "cli/debug/outputs.h"
#include "cli/report/text.h"
#include "common/protocol/findings.h"
#include "common/protocol/stages.h"

namespace gpuemu::cli {
namespace {

/// All checks of one stage, or a single check.
struct Part {
  const StageInfo* stage = nullptr;
  const CaseCheckInfo* check = nullptr;  ///< Null: the whole stage.
};

std::vector<const CaseCheckInfo*> checks_of(StageKind stage) {
  std::vector<const CaseCheckInfo*> checks;
  for (const CaseCheckInfo& check : case_check_infos()) {
    if (check.stage == stage) checks.push_back(&check);
  }
  return checks;
}

bool has(const Part& part, CaseCheck check) {
  if (part.check != nullptr) return part.check->check == check;
  return std::ranges::any_of(checks_of(part.stage->kind),
                             [&](const CaseCheckInfo* one) { return one->check == check; });
}

std::vector<const ValidationFailure*> found_by(const Part& part, const ValidationResult& result) {
  std::vector<const ValidationFailure*> found;
  for (const ValidationFailure& failure : result.failures) {
    if (has(part, finding_info(failure.kind).check)) found.push_back(&failure);
  }
  return found;
}

Result<const ReproduceResultReply*> judged(DebugContext& context) {
  const ExportedCaseReply& loaded = *GPUEMU_TRY(case_with_kernel(context));
  if (!context.pipeline) {
    context.pipeline = GPUEMU_TRY(ask_for<ReproduceResultReply>(
        context, ReproduceRequest{loaded.result.seed, loaded.result.op_name}));
  }
  return &*context.pipeline;
}

std::string verdict_text(const Part& part, const ValidationResult& result) {
  const auto found = found_by(part, result);
  return found.empty() ? "ok" : fmt::format("{} found", found.size());
}

void print_stage_line(const DebugContext& context, const StageInfo& stage,
                      const ValidationResult& result) {
  context.out << fmt::format("{:>2} {:<12} {:<9} {}\n", static_cast<int>(stage.kind) + 1,
                             stage.name, verdict_text({&stage}, result), stage.sentence);
}

void print_check_line(const DebugContext& context, const CaseCheckInfo& check,
                      const ValidationResult& result) {
  const Part part{&stage_infos()[static_cast<size_t>(check.stage)], &check};
  context.out << fmt::format("     {:<10} {:<9} {}\n", check.name, verdict_text(part, result),
                             check.sentence);
}

/// Prints the stage, and its checks if it has several.
void print_stage(const DebugContext& context, const StageInfo& stage,
                 const ValidationResult& result) {
  print_stage_line(context, stage, result);
  const auto checks = checks_of(stage.kind);
  if (checks.size() < 2) return;
  for (const CaseCheckInfo* check : checks) print_check_line(context, *check, result);
}

void print_tensors_of(const DebugContext& context, bool outputs) {
  for (const ExportedTensor& tensor : context.loaded->tensors) {
    if (is_output(tensor) == outputs && tensor.role != TensorRole::Scratch) {
      context.out << fmt::format("   {} {} {}\n", one_line(tensor.name), name_of(tensor.dtype),
                                 to_string(tensor.shape));
    }
  }
}

void print_detail(const DebugContext& context, const Part& part,
                  const ReproduceResultReply& reply) {
  if (part.check != nullptr) {
    print_check_line(context, *part.check, reply.result);
  } else {
    print_stage(context, *part.stage, reply.result);
  }
  for (const ValidationFailure* failure : found_by(part, reply.result)) {
    context.out << "   " << describe(*failure) << '\n';
  }
  if (has(part, CaseCheck::Inputs)) {
    print_tensors_of(context, false);
    if (const auto& info = reply.result.repro_info) {
      for (const auto& [name, value] : info->dims) {
        context.out << fmt::format("   {} = {}\n", one_line(name), value);
      }
    }
  }
  if (has(part, CaseCheck::Launch)) {
    context.out << fmt::format("   {} of {}\n", one_line(context.loaded->kernel),
                               one_line(context.loaded->source));
    print_printed(reply.printed, context.out);
  }
  if (has(part, CaseCheck::Reference)) print_tensors_of(context, true);
  if (has(part, CaseCheck::Tolerance)) {
    context.out << fmt::format("   largest difference {:.6g}, relative {:.6g}\n",
                               reply.result.max_diff, reply.result.max_rel_diff);
  }
}

}  // namespace

std::vector<std::string> stage_names() {
  std::vector<std::string> names;
  for (const StageInfo& stage : stage_infos()) {
    names.emplace_back(stage.name);
    for (const CaseCheckInfo* check : checks_of(stage.kind)) names.emplace_back(check->name);
  }
  return names;
}

namespace {

/// Finds a stage by name or number, or a check by name.
Result<Part> part_named(const std::string& word) {
  for (const StageInfo& stage : stage_infos()) {
    if (stage.name == word) return Part{&stage};
  }
  for (const CaseCheckInfo& check : case_check_infos()) {
    if (check.name == word) return Part{&stage_infos()[static_cast<size_t>(check.stage)], &check};
  }
  const auto number = parse_count(word, "stage");
  if (number && *number >= 1 && *number <= stage_infos().size()) {
    return Part{&stage_infos()[*number - 1]};
  }
  return error(ErrorCode::InvalidArgument,
               "no stage '{}'; did you mean one of: {}; stages have the numbers 1 to {}", word,
               fmt::join(nearest_few(word, stage_names(), 3), ", "), stage_infos().size());
}

}  // namespace

Status do_stages(DebugContext& context, const Words&) {
  context.pipeline.reset();
  context.next_stage = 0;
  const ReproduceResultReply& reply = *GPUEMU_TRY(judged(context));
  for (const StageInfo& stage : stage_infos()) print_stage(context, stage, reply.result);
  context.out << (reply.result.passed ? "the case passes\n" : "the case fails\n");
  return ok_status();
}

Status do_stage(DebugContext& context, const Words& words) {
  const ReproduceResultReply& reply = *GPUEMU_TRY(judged(context));
  if (words.empty() && context.next_stage == stage_infos().size()) {
    context.out << "that was the last stage; `stages` begins anew\n";
    return ok_status();
  }
  const Part part =
      words.empty() ? Part{&stage_infos()[context.next_stage]} : GPUEMU_TRY(part_named(words[0]));
  print_detail(context, part, reply);
  context.next_stage = static_cast<size_t>(part.stage->kind) + 1;
  return ok_status();
}

}  // namespace gpuemu::cli
