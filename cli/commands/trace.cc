// `gpuemu trace`: plans tapes without running them, and shows stored traces and those of the
// daemon.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/trace/plan.h"
#include "cli/trace/render.h"
#include "common/base/files.h"
#include "runtime/tape/trace_json.h"

namespace gpuemu::cli {
namespace {

constexpr uint64_t kMemoryMbMax = uint64_t{1} << 30;

struct TraceOptions {
  std::string file, format = "text", output, session;
  std::vector<std::string> layers;
  std::optional<uint64_t> devices, memory_mb, seed;
  std::string policy;
};

/// Makes a usage error: a file that cannot be read is treated like one with invalid content.
Error usage_error(const Error& failure, const std::string& file) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: {}", file, failure.message)};
}

Result<std::string> read(const std::string& file) {
  auto text = read_file(file, tape::kTraceBytesMax);
  if (!text) return Error{ErrorCode::InvalidArgument, text.error().message};
  return text;
}

Result<std::string> shown(const TraceOptions& options) {
  const std::string json = GPUEMU_TRY(read(options.file));
  const auto trace = tape::decode_trace(json);
  if (!trace) return usage_error(trace.error(), options.file);
  if (options.format == "chrome") return trace_chrome(*trace);
  if (options.format == "html") return trace_html(*trace);
  if (options.format == "json") return tape::encode_trace(*trace) + "\n";
  return trace_text(*trace);
}

Result<std::string> planned(const TraceOptions& options) {
  const std::string json = GPUEMU_TRY(read(options.file));
  PlanOptions plan{.memory_mb = options.memory_mb, .seed = options.seed};
  if (options.devices) plan.devices = static_cast<uint32_t>(*options.devices);
  if (!options.policy.empty()) plan.policy = tape::policy_from_name(options.policy);
  const auto trace = plan_tape(json, plan);
  if (!trace) return usage_error(trace.error(), options.file);
  return tape::encode_trace(*trace) + "\n";
}

void tell(const Result<std::string>& text, const TraceOptions& options, Session& session) {
  if (!text) {
    session.fail(text.error());
  } else if (options.output.empty()) {
    session.out << *text;
  } else if (const Status written = write_file(options.output, *text); !written) {
    session.fail(written.error());
  }
}

void add_plan(Command trace, Session& session) {
  auto options = std::make_shared<TraceOptions>();
  Command plan = trace.command("plan", "Schedule a tape on simulated devices, run nothing");
  plan.option("TAPE", options->file, "A JSON file with a list \"input_tape\"; a trace is one, too")
      .type_name(" ")
      .required();
  plan.option("--devices", options->devices,
              "Number of equal devices (default: those of the file, otherwise 1)")
      .type_name("N")
      .check(whole_number(1, tape::kDevicesMax));
  plan.option("--memory-mb", options->memory_mb,
              "Memory of each device in MiB, 0 for no limit (default: as in the file)")
      .type_name("M")
      .check(whole_number(0, kMemoryMbMax));
  plan.option("--seed", options->seed, "Leaves begin at device S mod devices (default: the file's)")
      .type_name("S");
  plan.option("--policy", options->policy, "How ops are placed (default: the file's, or balanced)")
      .one_of({"balanced", "locality"});
  plan.option("-o,--output", options->output, "Write the trace to this file").type_name("FILE");
  plan.footer("Exit code: 0 planned, 2 the file is not a tape, 3 the file cannot be written.");
  plan.callback([options, &session] { tell(planned(*options), *options, session); });
}

void show_live(const TraceOptions& options, Session& session) {
  GetTraceRequest request{.session = {}, .name = options.session, .layers = options.layers};
  const auto reply = session.answer(request);
  if (!reply || session.json()) return;
  tell(std::get<TraceReply>(*reply).trace_json + "\n", options, session);
}

void add_live(Command trace, Session& session) {
  auto options = std::make_shared<TraceOptions>();
  Command live = trace.command("live", "Print the trace of what the daemon has run, as JSON");
  live.option("--session", options->session, "Only of the session of this name").type_name("NAME");
  live.option("--layer", options->layers, "Only this layer; may be given several times")
      .one_of({"input_tape", "output_queue", "handles", "ticks"});
  live.option("-o,--output", options->output, "Write the trace to this file").type_name("FILE");
  live.footer(
      "Exit code: 0 shown, 2 no session of that name has a tape, 3 no daemon.\n"
      "Example: gpuemu trace live -o trace.json && gpuemu trace trace.json");
  live.callback([options, &session] { show_live(*options, session); });
}

}  // namespace

void add_trace(Command app, Session& session) {
  auto options = std::make_shared<TraceOptions>();
  Command command = app.command("trace", "Show a trace of a tape, or plan one without running it");
  command.option("FILE", options->file, "The trace").type_name(" ");
  command.option("--format", options->format, "How to show it")
      .one_of({"text", "chrome", "html", "json"})
      .show_default();
  command.option("-o,--output", options->output, "Write it to this file").type_name("FILE");
  add_plan(command, session);
  add_live(command, session);
  command.optional_command();
  command.footer(
      "Exit code: 0 shown, 2 the file is not a trace, 3 the file cannot be written.\n"
      "Examples:\n"
      "  gpuemu trace plan tape.json --devices 2 -o trace.json\n"
      "  gpuemu trace trace.json                            tick by tick\n"
      "  gpuemu trace trace.json --format html -o trace.html");
  command.callback([command, options, &session] {
    if (command.has_chosen()) return;
    if (options->file.empty()) {
      session.fail(error(ErrorCode::InvalidArgument,
                         "trace: no file is named; expected a trace, or `plan` with a tape"));
      return;
    }
    tell(shown(*options), *options, session);
  });
}

}  // namespace gpuemu::cli
