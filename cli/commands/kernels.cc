// `gpuemu kernels [OP]`: lists the ops that come with gpuemu and the kernels that compute them.
#include "cli/report/kernels.h"

#include <ostream>

#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/parse/names.h"
#include "ops/dispatch/registry.h"

namespace gpuemu::cli {
namespace {

std::vector<std::string> names_of(const OpRegistry& registry) {
  std::vector<std::string> names;
  for (const OpKind* op : registry.ops()) names.push_back(op->name);
  return names;
}

void show_kernels(const std::string& name, Session& session) {
  const OpRegistry registry = OpRegistry::with_builtins();
  std::vector<const OpKind*> ops = registry.ops();
  if (!name.empty()) {
    const auto found = registry.find(name);
    if (!found) {
      session.fail(with_nearest(found.error(), name, names_of(registry)));
      return;
    }
    ops = {*found};
  }
  if (session.json()) {
    session.out << ops_json(ops) << '\n';
  } else if (name.empty()) {
    print_ops(ops, session.out);
  } else {
    print_op(*ops.front(), session.out);
  }
}

}  // namespace

void add_kernels(Command app, Session& session) {
  auto name = std::make_shared<std::string>();
  Command command = app.command("kernels", "List the ops and kernels that come with gpuemu");
  command.option("OP", *name, "Everything about this op\n(default: a line for each)")
      .type_name(" ");
  add_format(command, session);
  command.callback([name, &session] { show_kernels(*name, session); });
}

}  // namespace gpuemu::cli
