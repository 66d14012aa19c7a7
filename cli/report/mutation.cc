#include "cli/report/mutation.h"

#include <filesystem>

#include "cli/report/text.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

std::string place_of(const MutantReport& mutant) {
  if (mutant.file.empty() || mutant.line == 0) return fmt::format("PTX line {}", mutant.ptx_line);
  return fmt::format("{}:{}", std::filesystem::path(mutant.file).filename().string(), mutant.line);
}

std::string dims_text(const std::map<std::string, int64_t>& dims) {
  std::string text;
  for (const auto& [name, size] : dims) text += fmt::format(" {}={}", name, size);
  return text;
}

void print_mutant(const MutantReport& mutant, std::ostream& out) {
  out << fmt::format("[{}] {} {} at {}\n", name_of(mutant.status), mutant.id, mutant.mutation,
                     one_line(place_of(mutant)));
  out << fmt::format("    {} -> {}\n", one_line(mutant.before),
                     mutant.after.empty() ? "(removed)" : one_line(mutant.after));
  if (!mutant.killed_by.empty()) {
    out << fmt::format("    {} after {}\n", mutant.killed_by, counted(mutant.cases, "case"));
  }
  if (!mutant.killing_strategy.empty()) {
    out << fmt::format("    would be killed by strategies {} and {},{}\n", mutant.killing_strategy,
                       mutant.killing_shape_strategy, dims_text(mutant.killing_dims));
  }
  if (!mutant.reason.empty()) out << "    " << one_line(mutant.reason) << '\n';
}

}  // namespace

void print_mutation(const MutationReportReply& report, bool all, std::ostream& out) {
  for (const MutantReport& mutant : report.mutants) {
    if (all || mutant.status == MutantStatus::Survived) print_mutant(mutant, out);
  }
  out << fmt::format("{} {} (seed: {}): {} of {}, {} each: {} killed, {} survived",
                     one_line(report.op_name), name_of(report.dtype), report.seed, report.total,
                     counted(report.found, "mutant"), counted(report.cases, "case"), report.killed,
                     report.survived);
  if (report.equivalent > 0) out << fmt::format(", {} probably equivalent", report.equivalent);
  if (report.invalid > 0) out << fmt::format(", {} invalid", report.invalid);
  if (report.not_run > 0) out << fmt::format(", {} not run", report.not_run);
  out << '\n';
  if (report.score && report.not_run > 0) {
    out << fmt::format(
        "no mutation score: {} of {} {} not run; of the {} that were judged {:.1f} % "
        "were "
        "killed\n",
        report.not_run, counted(report.total, "mutant"), report.not_run == 1 ? "was" : "were",
        report.killed + report.survived, 100 * *report.score);
  } else if (report.score) {
    out << fmt::format("mutation score {:.1f} %\n", 100 * *report.score);
  } else {
    out << "no mutation score: no mutant was judged\n";
  }
}

}  // namespace gpuemu::cli
