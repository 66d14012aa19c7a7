// `gpuemu sessions`: lists the sessions of the daemon, changes their weights, and closes them.
#include "cli/report/sessions.h"

#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "common/base/service_limits.h"

namespace gpuemu::cli {
namespace {

struct SessionsOptions {
  std::string name;
  std::optional<double> weight;
};

void list_sessions(Session& session) {
  const auto reply = session.answer(ListSessionsRequest{});
  if (!reply || session.json()) return;
  const auto& all = std::get<SessionsReply>(*reply).sessions;
  for (const std::string& line : session_lines(all)) session.out << line << '\n';
}

void set_session(const SessionsOptions& options, Session& session) {
  SetSessionRequest request{.name = options.name};
  request.weight = options.weight;
  const auto reply = session.answer(request);
  if (!reply || session.json()) return;
  const SessionInfo& info = std::get<SessionInfoReply>(*reply).info;
  session.out << fmt::format("{} has weight {} now\n", one_line(info.name), info.weight);
}

void close_session(const SessionsOptions& options, Session& session) {
  CloseSessionRequest request{.name = options.name};
  if (!session.answer(request) || session.json()) return;
  session.out << "closed " << one_line(options.name) << '\n';
}

}  // namespace

void add_sessions(Command app, Session& session) {
  auto options = std::make_shared<SessionsOptions>();
  Command command = app.command("sessions", "List the clients of the daemon and their shares");
  add_format(command, session);
  Command setting = command.command("set", "Change the share of a session");
  setting.option("NAME", options->name, "Its name, as it is listed").required().type_name(" ");
  setting.option("--weight", options->weight, "Its share of the devices beside others")
      .type_name("W")
      .check(number(kSessionWeightMin, kSessionWeightMax))
      .required();
  add_format(setting, session);
  setting.callback([options, &session] { set_session(*options, session); });
  Command closing =
      command.command("close", "End a session with everything that waits and runs for it");
  closing.option("NAME", options->name, "Its name, as it is listed").required().type_name(" ");
  add_format(closing, session);
  closing.callback([options, &session] { close_session(*options, session); });
  command.optional_command();
  command.callback([command, &session] {
    if (!command.has_chosen()) list_sessions(session);
  });
}

}  // namespace gpuemu::cli
