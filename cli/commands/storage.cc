// Implements `gpuemu storage`, which manages the records of the database.
#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"

namespace gpuemu::cli {
namespace {

void claim(const StorageClaimRequest& request, Session& session) {
  if (!session.project()) return;
  const auto reply = session.answer(request);
  if (!reply || session.json()) return;
  const auto& taken = std::get<StorageClaimedReply>(*reply);
  session.out << fmt::format(
      "{}: {} results, {} failures, {} baselines, metrics of {} kernels, {} corpus entries\n",
      taken.dry_run ? "would take" : "taken", taken.results, taken.failures, taken.baselines,
      taken.artifacts, taken.corpus);
}

}  // namespace

void add_storage(Command app, Session& session) {
  Command command = app.command("storage", "Manage the records of the database");
  command.require_command();
  auto request = std::make_shared<StorageClaimRequest>();
  Command claiming = command.command(
      "claim", "Take what was stored before projects were told apart into this project");
  claiming.option("--op", request->ops, "Only of this op (may be repeated)")
      .type_name("NAME")
      .one_word();
  claiming.flag("--all", request->all, "All records, also of other ops");
  claiming.flag("--dry-run", request->dry_run, "Only count what would be taken");
  add_format(claiming, session);
  claiming.callback([request, &session] { claim(*request, session); });
}

}  // namespace gpuemu::cli
