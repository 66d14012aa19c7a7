// `gpuemu explain SEED`: shows where the wrong value of a stored failure originates.
#include <algorithm>
#include <cctype>
#include <ostream>
#include <sstream>

#include <fmt/ranges.h>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

struct ExplainOptions {
  FailureChoice failure;
  std::string output;
  std::optional<int64_t> index;
  bool exit_code = false;
};

std::string place_text(const ExplainedStep& step) {
  return step.line != 0 ? fmt::format("{}:{}", step.file, step.line)
                        : fmt::format("PTX line {}", step.ptx_line);
}

void print_step(const ExplainedStep& step, std::ostream& out) {
  const std::string times = step.count > 1 ? fmt::format(" (x{})", step.count) : "";
  out << one_line(fmt::format("  {}  {}{}", place_text(step), step.instruction, times)) << '\n'
      << fmt::format("      computed {:.9g}  exact {:.9g}\n", step.result.computed,
                     step.result.exact);
}

/// Formats the verdict. It concerns values, so a case that fails for another reason has none.
std::string verdict_text(const ExplainResultReply& reply) {
  const bool any_wrong = std::ranges::any_of(
      reply.outputs, [](const ExplainedOutput& output) { return output.wrong > 0; });
  if (reply.verdict == ExplainVerdict::Unknown && !reply.outputs.empty() && !any_wrong) {
    return "no float value is wrong";
  }
  return std::string(name_of(reply.verdict));
}

void print_explanation(const ExplainResultReply& reply, std::ostream& out) {
  out << fmt::format("{} {}: {}\n", reply.seed, reply.op_name, verdict_text(reply));
  for (const std::string& sentence : reply.sentences) out << "  " << one_line(sentence) << '\n';
  for (const ExplainedOutput& output : reply.outputs) {
    out << fmt::format("{}: {} of {} wrong", one_line(output.name), output.wrong,
                       counted(output.elements, "element"));
    // Counts would contradict the verdict Unknown.
    if (reply.verdict != ExplainVerdict::Unknown && output.wrong > 0) {
      out << fmt::format(": {} logic, {} numerical, {} rounding", output.logic, output.numerical,
                         output.rounding);
    }
    out << '\n';
  }
  if (!reply.slice.empty()) {
    out << fmt::format("What {}[{}] is made of, the last instruction first:\n",
                       one_line(reply.output), reply.index);
  }
  for (const ExplainedStep& step : reply.slice) print_step(step, out);
}

/// Suggests what to do next, with one command to copy.
std::string next_step(const ExplainResultReply& reply) {
  switch (reply.verdict) {
    case ExplainVerdict::Passes:
      return fmt::format("`gpuemu test {}`", reply.op_name);
    case ExplainVerdict::Numerical:
      return fmt::format(
          "compute that step in a wider type or another order, then `gpuemu "
          "reproduce {}`",
          reply.seed);
    case ExplainVerdict::Rounding:
      return fmt::format("`gpuemu calibrate {}` proposes a tolerance that this kernel keeps",
                         reply.op_name);
    case ExplainVerdict::Logic:
    case ExplainVerdict::Unknown:
    case ExplainVerdict::Skipped:
      break;
  }
  return fmt::format("`gpuemu debug {}` runs the case step by step", reply.seed);
}

/// Makes the paths below `folder` relative to it.
std::string relative_to(const std::string& folder, std::string text) {
  const std::string prefix = folder + "/";
  for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
    // The folder "/tmp/" must not match within "/var/tmp/".
    const char before = at > 0 ? text[at - 1] : ' ';
    if (std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '_' || before == '.') {
      ++at;
    } else {
      text.erase(at, prefix.size());
    }
  }
  return text;
}

void run(ExplainOptions& options, Session& session) {
  if (!find_seed(options.failure, "explain", session)) return;
  const auto reply = session.answer(
      ExplainRequest{*options.failure.seed, options.failure.op, options.output, options.index});
  if (!reply) return;
  const auto& explained = std::get<ExplainResultReply>(*reply);
  if (!session.json()) {
    std::ostringstream text;
    print_explanation(explained, text);
    text << guess_warning(explained.guess, report_style(session, session.format));
    text << "next: " << one_line(next_step(explained)) << '\n';
    session.out << session.shown(relative_to(session.working_folder, text.str()));
  }
  if (options.exit_code && explained.verdict != ExplainVerdict::Passes) {
    session.exit_code = ExitCode::Findings;
  }
}

}  // namespace

void add_explain(Command app, Session& session) {
  auto options = std::make_shared<ExplainOptions>();
  Command command =
      app.command("explain", "Say whether a failure is a wrong formula or lost precision");
  add_failure_choice(command, options->failure);
  command.option("--output", options->output, "The output tensor\n(default: the first wrong one)")
      .type_name("NAME");
  command
      .option("--index", options->index,
              "Flat index of the element\n(default: the worst; needs --output)")
      .type_name("N")
      .not_negative();
  command.flag("--exit-code", options->exit_code, "Exit with 1 when it still fails");
  add_format(command, session);
  command.footer(
      "The case runs on the emulator, each value also without rounding. Verdicts: logic (the\n"
      "formula differs from the reference), numerical (right formula, its precision is lost),\n"
      "rounding (as exact as the type allows).\n"
      "Example:\n"
      "  gpuemu explain 6610381852238677408");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
