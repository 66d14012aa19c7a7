// `gpuemu artifacts`: the metrics that the last lint of each kernel has stored.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/lint.h"

namespace gpuemu::cli {
namespace {

void run(const std::string& kernel, Session& session) {
  if (session.all_projects && !kernel.empty()) {
    session.fail(error(ErrorCode::InvalidArgument,
                       "--kernel names one of this project, and --all-projects is for all"));
    return;
  }
  const auto reply = kernel.empty() ? session.answer(ListArtifactsRequest{})
                                    : session.answer(GetArtifactRequest{kernel});
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
    print_metrics(one, session.verbose, session.out);
  }
  if (all.empty()) session.out << "no metrics are stored; `gpuemu lint` measures\n";
}

}  // namespace

void add_artifacts(Command app, Session& session) {
  auto kernel = std::make_shared<std::string>();
  Command command = app.command("artifacts", "Show the metrics of the last lint");
  command.option("-k,--kernel", *kernel, "Only of this kernel").type_name("NAME");
  add_all_projects(command, session);
  add_format(command, session);
  command.callback([kernel, &session] { run(*kernel, session); });
}

}  // namespace gpuemu::cli
