// `gpuemu baseline`: stores the current results and metrics under a name, and lists stored
// baselines.
#include <algorithm>
#include <filesystem>
#include <ostream>

#include "cli/commands/baselines.h"
#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/report/diff.h"
#include "common/base/files.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

struct BaselineOptions {
  std::string tag, file;
  std::string bare;  ///< The tag of `baseline TAG`, the form of existing tools.
  bool stored = false, linted = false;
};

/// Returns the first few names, for messages.
std::string some_of(const KernelNames& names) {
  constexpr size_t kShown = 5;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    text += (i == 0 ? "" : ", ") + one_line(names[i]);
  }
  return names.size() > kShown ? text + ", ..." : text;
}

/// Returns whether a tag was given, and reports if not.
bool has_tag(const BaselineOptions& options, const char* verb, Session& session) {
  if (!options.bare.empty() && !options.tag.empty()) {
    session.fail(error(ErrorCode::InvalidArgument, "unexpected '{}': {} takes one name",
                       options.bare, verb));
    return false;
  }
  if (!options.tag.empty()) return true;
  session.fail(error(ErrorCode::InvalidArgument,
                     "a baseline needs a name, such as `gpuemu baseline {} main`", verb));
  return false;
}

void save(const BaselineOptions& options, Session& session) {
  if (!has_tag(options, "save", session)) return;
  const auto config = session.config();
  if (!config) return;
  const Status ready = session.ensure_daemon();
  if (!ready) {
    session.fail(ready.error());
    return;
  }
  const auto kernels =
      options.stored ? measured_before(*config, session) : measure_project(*config, session);
  if (!kernels) return;
  const auto linted = linted_before(*config, session);
  if (!linted) return;
  KernelNames kept = *kernels;
  if (options.linted) kept.insert(kept.end(), linted->begin(), linted->end());
  if (!session.ask(StoreBaselineRequest{options.tag})) return;
  if (!session.ask(StoreArtifactBaselineRequest{options.tag, kept})) return;
  const auto baseline = find_baseline(options.tag, "", session);
  if (!baseline) return;
  if (!options.file.empty()) {
    const Status written = write_file(std::filesystem::path(session.working_folder) / options.file,
                                      baseline_file_text(*baseline));
    if (!written) {
      session.fail(written.error());
      return;
    }
  }
  if (session.json()) {
    session.print_json(encode_reply(OkReply{}));
    return;
  }
  session.out << fmt::format("stored {} and {} as baseline {}{}\n",
                             counted(baseline->results.size(), "result"),
                             counted(baseline->artifacts.size(), "kernel"), options.tag,
                             options.file.empty() ? "" : " and in " + options.file);
  if (!options.linted && !linted->empty()) {
    session.out << fmt::format(
        "not in it: {} of other files that were linted ({}); `gpuemu baseline save {} --linted` "
        "keeps them too\n",
        counted(linted->size(), "kernel"), some_of(*linted), options.tag);
  }
}

void compare(const BaselineOptions& options, Session& session) {
  if (!has_tag(options, "compare", session)) return;
  const auto reply = session.answer(CompareBaselineRequest{options.tag, {}, true});
  if (!reply || session.json()) return;
  print_comparison({options.tag, std::nullopt, std::get<BaselineComparisonReply>(*reply)},
                   session.out);
}

void list(Session& session) {
  const auto reply = session.answer(ListBaselinesRequest{});
  if (!reply || session.json()) return;
  const auto& all = std::get<BaselineListReply>(*reply).baselines;
  for (const BaselineInfo& one : all) {
    session.out << fmt::format("{}: {}, {}{}\n", one.tag, counted(one.results, "result"),
                               counted(one.artifacts, "kernel"), session.in_project(one.project));
  }
  if (all.empty()) session.out << "no baselines; `gpuemu baseline save TAG` makes one\n";
}

void show(const BaselineOptions& options, Session& session) {
  if (options.file.empty() && !has_tag(options, "show", session)) return;
  const auto baseline = find_baseline(options.tag, options.file, session);
  if (!baseline) return;
  if (session.json()) {
    session.print_json(encode_reply(*baseline));
    return;
  }
  for (const ArtifactMetrics& one : baseline->artifacts) {
    session.out << fmt::format("kernel {}: {}, {}\n", one.kernel_name,
                               counted(one.register_count, "virtual register"),
                               counted(one.instruction_count, "instruction"));
    for (const CompiledMetrics& compiled : one.compiled) {
      session.out << fmt::format(
          "    {}: {}, {} spilled, {} shared\n", compiled.arch,
          counted(compiled.registers, "register"),
          counted(compiled.spill_store_bytes + compiled.spill_load_bytes, "byte"),
          compiled.shared_bytes);
    }
  }
  for (const ValidationResult& one : baseline->results) {
    session.out << fmt::format("result {} seed {}: {}, max_diff {:.3e}\n", one.op_name, one.seed,
                               one.passed ? "passed" : "did not pass", one.max_diff);
  }
  session.out << fmt::format("{}: {}, {}\n", baseline->tag,
                             counted(baseline->results.size(), "result"),
                             counted(baseline->artifacts.size(), "kernel"));
}

void remove(const BaselineOptions& options, Session& session) {
  if (!has_tag(options, "delete", session)) return;
  const auto reply = session.answer(DeleteBaselineRequest{options.tag});
  if (reply && !session.json()) session.out << "deleted baseline " << options.tag << '\n';
}

void add_saving(Command command, const std::shared_ptr<BaselineOptions>& options,
                Session& session) {
  command.option("--file", options->file, "Write it to this file too, for the repository")
      .type_name("FILE");
  command.flag("--stored", options->stored, "Take the metrics of the last lint; measure nothing");
  command.flag("--linted", options->linted,
               "Also keep the metrics of other files that `gpuemu lint FILE` has measured");
  add_format(command, session);
}

}  // namespace

void add_baseline(Command app, Session& session) {
  Command command =
      app.command("baseline", "Keep results and metrics under a name; compare with them");
  auto options = std::make_shared<BaselineOptions>();
  const auto verb = [&](const char* name, const char* help) {
    Command added = command.command(name, help);
    if (std::string(name) != "list") add_tag(added, options->tag);
    return added;
  };
  for (const char* name : {"save", "store"}) {
    Command saving = verb(name, "Measure the kernels; store the current results and metrics");
    if (std::string(name) == "store") saving.hidden();  // The name of earlier versions.
    add_saving(saving, options, session);
    saving.callback([options, &session] { save(*options, session); });
  }
  Command comparing = verb("compare", "Compare the current results with a baseline");
  add_format(comparing, session);
  comparing.callback([options, &session] { compare(*options, session); });
  Command listing = verb("list", "List all baselines");
  add_all_projects(listing, session);
  add_format(listing, session);
  listing.callback([&session] { list(session); });
  Command showing = verb("show", "Print the contents of a baseline");
  showing.option("--file", options->file, "Of one that lives in a file").type_name("FILE");
  add_format(showing, session);
  showing.callback([options, &session] { show(*options, session); });
  Command deleting = verb("delete", "Delete a baseline");
  add_format(deleting, session);
  deleting.callback([options, &session] { remove(*options, session); });
  // Existing tools save with `baseline TAG`.
  command.optional_command();
  command.option("TAG", options->bare, "The same as `save TAG`").type_name(" ");
  command.option("--tag", options->bare, "The same").hidden();
  command.callback([command, options, &session] {
    if (command.has_chosen()) return;
    std::swap(options->tag, options->bare);
    save(*options, session);
  });
  command.footer(
      "Example:\n"
      "  gpuemu test --seed 1 && gpuemu baseline save before\n"
      "  (change the kernel)\n"
      "  gpuemu test --seed 1; gpuemu diff --baseline before");
}

}  // namespace gpuemu::cli
