// `gpuemu artifacts`: lists the metrics that each lint of a kernel has stored.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/lint.h"

namespace gpuemu::cli {
namespace {

struct ArtifactsOptions {
  std::string kernel;
  bool history = false;
  std::optional<uint64_t> limit;
};

std::optional<Reply> ask(const ArtifactsOptions& options, Session& session) {
  if (!options.history && !options.kernel.empty()) {
    return session.answer(GetArtifactRequest{options.kernel, std::nullopt});
  }
  return session.answer(ListArtifactsRequest{options.history, options.kernel, options.limit});
}

void run(const ArtifactsOptions& options, Session& session) {
  if (session.all_projects && !options.kernel.empty()) {
    session.fail(error(ErrorCode::InvalidArgument,
                       "--kernel names one of this project, and --all-projects is for all"));
    return;
  }
  const auto reply = ask(options, session);
  if (!reply || session.json()) return;
  std::vector<ArtifactMetrics> all;
  if (const auto* one = std::get_if<ArtifactMetricsResultReply>(&*reply)) {
    all.push_back(one->metrics);
  } else {
    all = std::get<ArtifactListReply>(*reply).artifacts;
  }
  std::string project;
  for (const ArtifactMetrics& one : all) {
    if (session.all_projects && one.project != project) {
      session.out << "kernels" << session.in_project(one.project) << ":\n";
      project = one.project;
    }
    if (options.history) {
      session.out << one_line(one.kernel_name) << " since " << time_of(one.timestamp)
                  << (one.last_seen == 0 ? "" : ", last on " + time_of(one.last_seen)) << ":\n  ";
    }
    print_metrics(one, session.verbose, session.out);
  }
  if (all.empty() && !options.kernel.empty()) {
    session.out << "no metrics of kernel '" << one_line(options.kernel)
                << "' are stored; `gpuemu lint` measures\n";
  } else if (all.empty()) {
    session.out << "no metrics are stored; `gpuemu lint` measures\n";
  }
}

}  // namespace

void add_artifacts(Command app, Session& session) {
  auto options = std::make_shared<ArtifactsOptions>();
  Command command = app.command("artifacts", "Show the metrics of the last lint");
  command.option("KERNEL", options->kernel, "Only of this kernel");
  command.option("-k,--kernel", options->kernel, "The same").type_name("NAME").hidden();
  command.flag("--history", options->history, "Earlier ones too, newest first");
  command.option("--limit", options->limit, "At most so many").type_name("N").not_negative();
  add_all_projects(command, session);
  add_format(command, session);
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
