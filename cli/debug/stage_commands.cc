// The stages that a case goes through in the daemon, and what each says about it.
#include <algorithm>
#include <array>
#include <ostream>

#include <fmt/ranges.h>

#include "cli/debug/commands.h"
#include "cli/debug/outputs.h"
#include "cli/report/text.h"
#include "common/protocol/findings.h"

namespace gpuemu::cli {
namespace {

struct Stage {
  FindingStage stage;
  std::string_view name;
  std::string_view asks;  ///< What it finds out.
};

/// In the order in which a case meets them; findings.def says which kinds belong to each.
constexpr std::array kStages = {
    Stage{FindingStage::Inputs, "inputs", "generated from the seed"},
    Stage{FindingStage::Launch, "kernel", "launched on fresh memory"},
    Stage{FindingStage::Memory, "memory", "what its accesses, barriers and divisions did"},
    Stage{FindingStage::Reference, "reference", "the expected values, in Python"},
    Stage{FindingStage::Shapes, "shape", "outputs have the reference's shape"},
    Stage{FindingStage::DTypes, "dtype", "and its type"},
    Stage{FindingStage::Tolerance, "tolerance", "each element within its bound"},
    Stage{FindingStage::NaNs, "nan", "NaN only where the reference has one"},
    Stage{FindingStage::Infinities, "inf", "infinity only where the reference has one"},
    Stage{FindingStage::Invariants, "invariants", "what must hold of any output"},
    Stage{FindingStage::Guards, "guards", "every element written, nothing else"},
    Stage{FindingStage::Determinism, "determinism", "the same outputs again"},
    Stage{FindingStage::Relations, "relations", "what must hold between runs"},
};

std::vector<const ValidationFailure*> found_by(const Stage& stage, const ValidationResult& result) {
  std::vector<const ValidationFailure*> found;
  for (const ValidationFailure& failure : result.failures)
    if (finding_info(failure.kind).stage == stage.stage) found.push_back(&failure);
  return found;
}

Result<const ReproduceResultReply*> judged(DebugContext& context) {
  const ExportedCaseReply& loaded = *GPUEMU_TRY(case_with_kernel(context));
  if (!context.pipeline)
    context.pipeline = GPUEMU_TRY(ask_for<ReproduceResultReply>(
        context, ReproduceRequest{loaded.result.seed, loaded.result.op_name}));
  return &*context.pipeline;
}

void print_stage_line(const DebugContext& context, size_t at, const ValidationResult& result) {
  const Stage& stage = kStages[at];
  const auto found = found_by(stage, result);
  const std::string verdict = found.empty() ? "ok" : fmt::format("{} found", found.size());
  context.out << fmt::format("{:>2} {:<12} {:<9} {}\n", at + 1, stage.name, verdict, stage.asks);
}

void print_tensors_of(const DebugContext& context, bool outputs) {
  for (const ExportedTensor& tensor : context.loaded->tensors)
    if (is_output(tensor) == outputs && tensor.role != "scratch")
      context.out << fmt::format("   {} {} {}\n", one_line(tensor.name), name_of(tensor.dtype),
                                 to_string(tensor.shape));
}

void print_detail(const DebugContext& context, size_t at, const ReproduceResultReply& reply) {
  const Stage& stage = kStages[at];
  print_stage_line(context, at, reply.result);
  for (const ValidationFailure* failure : found_by(stage, reply.result))
    context.out << "   " << describe(*failure) << '\n';
  if (stage.stage == FindingStage::Inputs) {
    print_tensors_of(context, false);
    if (const auto& info = reply.result.repro_info)
      for (const auto& [name, value] : info->dims)
        context.out << fmt::format("   {} = {}\n", one_line(name), value);
  }
  if (stage.stage == FindingStage::Launch) {
    context.out << fmt::format("   {} of {}\n", one_line(context.loaded->kernel),
                               one_line(context.loaded->source));
    print_printed(reply.printed, context.out);
  }
  if (stage.stage == FindingStage::Reference) print_tensors_of(context, true);
  if (stage.stage == FindingStage::Tolerance)
    context.out << fmt::format("   largest difference {:.6g}, relative {:.6g}\n",
                               reply.result.max_diff, reply.result.max_rel_diff);
}

}  // namespace

std::vector<std::string> stage_names() {
  std::vector<std::string> names;
  for (const Stage& stage : kStages) names.emplace_back(stage.name);
  return names;
}

namespace {

Result<size_t> stage_named(const std::string& word) {
  const std::vector<std::string> names = stage_names();
  const auto found = std::ranges::find(names, word);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  const auto number = parse_count(word, "stage");
  if (number && *number >= 1 && *number <= names.size()) return *number - 1;
  return error(ErrorCode::InvalidArgument,
               "no stage '{}'; did you mean one of: {}; stages have the numbers 1 to {}", word,
               fmt::join(nearest_few(word, names, 3), ", "), names.size());
}

}  // namespace

Status do_stages(DebugContext& context, const Words&) {
  context.pipeline.reset();
  context.next_stage = 0;
  const ReproduceResultReply& reply = *GPUEMU_TRY(judged(context));
  for (size_t at = 0; at < kStages.size(); ++at) print_stage_line(context, at, reply.result);
  context.out << (reply.result.passed ? "the case passes\n" : "the case fails\n");
  return ok_status();
}

Status do_stage(DebugContext& context, const Words& words) {
  const ReproduceResultReply& reply = *GPUEMU_TRY(judged(context));
  if (!words.empty()) context.next_stage = GPUEMU_TRY(stage_named(words[0]));
  if (context.next_stage == kStages.size()) {
    context.out << "that was the last stage; `stages` begins anew\n";
    return ok_status();
  }
  print_detail(context, context.next_stage++, reply);
  return ok_status();
}

}  // namespace gpuemu::cli
