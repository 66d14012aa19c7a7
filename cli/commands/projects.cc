// Implements `gpuemu projects`, which lists, moves and deletes the projects of the daemon.
#include <algorithm>
#include <filesystem>
#include <ostream>
#include <utility>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "common/base/project_id.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

struct ProjectsOptions {
  std::string moved, place, forgotten;
  bool yes = false;
};

void list(Session& session) {
  const auto reply = session.answer(ProjectsRequest{});
  if (!reply || session.json()) return;
  const auto& known = std::get<ProjectsReply>(*reply);
  std::vector<ProjectInfo> sorted = known.projects;  // The default project first, then by path.
  std::ranges::sort(sorted, {}, [&](const ProjectInfo& one) {
    return std::pair(one.id != known.default_id, one.path);
  });
  for (const ProjectInfo& one : sorted) {
    session.out << fmt::format("{} {}{}{}\n", one.id, one_line(one.name),
                               one.id == known.default_id ? " (default)" : "",
                               one.open ? " open" : "");
    session.out << "  " << (one.path.empty() ? "no gpuemu.toml" : one_line(one.path)) << '\n';
    session.out << fmt::format("  {}, {}, {}, {} KiB, last used {}\n", counted(one.ops, "op"),
                               counted(one.results, "result"), counted(one.failures, "failure"),
                               (one.bytes + 1023) >> 10, day_of(one.last_used));
  }
}

/// Returns the absolute path of a file or of its folder, with links resolved.
std::string path_of(const std::string& named, const Session& session) {
  namespace fs = std::filesystem;
  fs::path path = fs::path(session.working_folder) / named;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) path /= "gpuemu.toml";
  return canonical_path(path.string());
}

/// Returns the id of the project with this path, id or name. If there is none or more than one,
/// reports that and returns nothing.
std::optional<std::string> find_project(const std::string& named, Session& session) {
  if (const Status ready = session.ensure_daemon(); !ready) {
    session.fail(ready.error());
    return std::nullopt;
  }
  const auto reply = session.ask_for(ProjectsRequest{});
  if (!reply) return std::nullopt;
  const std::string path = path_of(named, session);
  std::vector<const ProjectInfo*> found;
  std::string all;
  for (const ProjectInfo& one : reply->projects) {
    // The folder of a project may not exist any more, for example because it was moved.
    const bool is_meant =
        one.id == named ||
        (!one.path.empty() && (one.path == path || one.path == path + "/gpuemu.toml"));
    if (is_meant) return one.id;
    if (one.name == named) found.push_back(&one);
    all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", one.id, one_line(one.name));
  }
  if (found.size() == 1) return found.front()->id;
  session.fail(ErrorReply{
      WireErrorCode::ProjectNotFound,
      fmt::format("{} project '{}'; there are: {}", found.empty() ? "no" : "more than one", named,
                  all.empty() ? "none" : all)});
  return std::nullopt;
}

void move_project(const ProjectsOptions& options, Session& session) {
  const auto old = find_project(options.moved, session);
  if (!old) return;
  const std::string path = path_of(options.place, session);
  if (!session.answer(MoveProjectRequest{*old, path}) || session.json()) return;
  session.out << "moved the records of " << *old << " to " << path << '\n';
}

void forget(const ProjectsOptions& options, Session& session) {
  if (!options.yes) {
    session.fail(error(ErrorCode::InvalidArgument,
                       "this deletes all results, failures, baselines and metrics of the project; "
                       "add --yes"));
    return;
  }
  const auto id = find_project(options.forgotten, session);
  if (!id || !session.answer(ForgetProjectRequest{*id}) || session.json()) return;
  session.out << "deleted all records of " << *id << '\n';
}

}  // namespace

void add_projects(Command app, Session& session) {
  auto options = std::make_shared<ProjectsOptions>();
  Command command = app.command("projects", "List the projects that the daemon knows");
  add_format(command, session);
  Command moving = command.command("move", "Move a project's records to another gpuemu.toml");
  moving.option("OLD", options->moved, "Path, id or name of the project").required();
  moving.option("NEW", options->place, "The gpuemu.toml or its folder as it is now").required();
  add_format(moving, session);
  moving.callback([options, &session] { move_project(*options, session); });
  Command forgetting = command.command("forget", "Delete all records of a project");
  forgetting.option("PROJECT", options->forgotten, "Its path, id or name").required();
  forgetting.flag("--yes", options->yes, "Yes, delete it");
  add_format(forgetting, session);
  forgetting.callback([options, &session] { forget(*options, session); });
  command.optional_command();
  command.callback([command, &session] {
    if (!command.has_chosen()) list(session);
  });
}

}  // namespace gpuemu::cli
