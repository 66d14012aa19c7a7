// gpuemu-fidelity: the same PTX with the same inputs on two devices, outputs compared bit for bit.
// docs/internals/fidelity.md says how it is used. Exit 0 when all bits agree, 1 when some differ, 2
// for a wrong command line or project, 3 when a device does not open.
#include <cstdio>

#include <CLI/CLI.hpp>

#include "common/base/files.h"
#include "tests/fidelity/report.h"

namespace gpuemu::fidelity {
namespace {

struct Arguments {
  std::vector<std::string> projects;
  std::string left = "emulator", right = "cuda", contraction = "never";
  std::string save, record, markdown, json;
  ProjectOptions project;
  Amount amount;
};

void declare(CLI::App& app, Arguments& to) {
  app.add_option("projects", to.projects, "gpuemu.toml files, or folders with one")->required();
  app.add_option("--left", to.left, "emulator, cuda or a recording");
  app.add_option("--right", to.right, "emulator, cuda or a recording");
  app.add_option("--contraction", to.contraction, "never, always or auto: products in sums")
      ->check(CLI::IsMember({"never", "always", "auto"}));
  app.add_option("--cases", to.amount.cases, "of each op and dtype");
  app.add_option("--seed", to.amount.seed, "what the inputs follow from");
  app.add_option("--elements", to.amount.elements_max, "of a case's largest tensor");
  app.add_option("--only", to.project.only, "ops whose name contains this");
  app.add_option("--arch", to.project.arch, "what sources are compiled for, sm_90 for one");
  app.add_option("--save-ptx", to.save, "compile into this folder and stop");
  app.add_option("--ptx", to.project.ptx_folder, "take PTX from a folder of --save-ptx");
  app.add_option("--record", to.record, "run the right side alone and write its answers here");
  app.add_option("--markdown", to.markdown, "write the table here, besides printing it");
  app.add_option("--json", to.json, "write the result here");
}

Result<std::unique_ptr<Side>> open(const Arguments& arguments, const std::string& name) {
  DeviceRequest request;
  request.backend = name;
  request.contraction = *contraction_from_name(arguments.contraction);
  // "sm_90a" is 90 with more instructions.
  request.sm =
      std::atoi(arguments.project.arch.substr(arguments.project.arch.find('_') + 1).c_str());
  return open_side(request);
}

Status save_all(const std::vector<Subject>& subjects, const std::string& folder) {
  for (const Subject& subject : subjects) GPUEMU_TRY(save_ptx(subject, folder));
  std::printf("%zu kernels saved in %s\n", subjects.size(), folder.c_str());
  return ok_status();
}

Status record_all(const Arguments& arguments, const std::vector<Subject>& subjects) {
  const auto side = GPUEMU_TRY(open(arguments, arguments.right));
  Recording recording;
  recording.device = side->title();
  for (const Subject& subject : subjects) {
    GPUEMU_TRY(record_subject(subject, arguments.amount, *side, recording));
    std::fprintf(stderr, "%s\n", subject.name().c_str());
  }
  for (const auto& [name, note] : recording.notes) {
    std::printf("%s: %s\n", name.c_str(), note.c_str());
  }
  return write_recording(recording, arguments.record);
}

Result<Report> compare_all(const Arguments& arguments, const std::vector<Subject>& subjects) {
  const auto left = GPUEMU_TRY(open(arguments, arguments.left));
  const auto right = GPUEMU_TRY(open(arguments, arguments.right));
  Report report{left->title(), right->title(), arguments.amount, {}, {}};
  for (const Subject& subject : subjects) {
    auto tally = compare_subject(subject, arguments.amount, *left, *right);
    if (!tally) return tally.error().with_context(subject.name());
    report.tallies.push_back(*std::move(tally));
    std::fprintf(stderr, "%s\n", subject.name().c_str());
  }
  return report;
}

int fail(const Error& failure, int code) {
  std::fprintf(stderr, "gpuemu-fidelity: %s\n", failure.message.c_str());
  return code;
}

int run(const Arguments& arguments) {
  std::vector<Subject> subjects;
  std::vector<std::string> problems;
  for (const std::string& path : arguments.projects) {
    auto opened = open_project(path, arguments.project, problems);
    if (!opened) return fail(opened.error(), 2);
    std::ranges::move(*opened, std::back_inserter(subjects));
  }
  if (!arguments.save.empty() || !arguments.record.empty()) {
    for (const std::string& problem : problems) std::fprintf(stderr, "%s\n", problem.c_str());
    const Status done = arguments.save.empty() ? record_all(arguments, subjects)
                                               : save_all(subjects, arguments.save);
    return done ? 0 : fail(done.error(), 3);
  }
  auto report = compare_all(arguments, subjects);
  if (!report) return fail(report.error(), 3);
  report->problems = problems;
  const std::string table = markdown(*report);
  std::fputs(table.c_str(), stdout);
  Status written;
  if (!arguments.markdown.empty()) written = write_file(arguments.markdown, table);
  if (written && !arguments.json.empty()) written = write_file(arguments.json, json(*report));
  if (!written) return fail(written.error(), 2);
  return report->identical() ? 0 : 1;
}

}  // namespace
}  // namespace gpuemu::fidelity

int GPUEMU_MAIN(int argc, char** argv) {
  try {
    CLI::App app("Compares outputs of two devices bit for bit.", "gpuemu-fidelity");
    gpuemu::fidelity::Arguments arguments;
    gpuemu::fidelity::declare(app, arguments);
    CLI11_PARSE(app, argc, argv);
    return gpuemu::fidelity::run(arguments);
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "gpuemu-fidelity: %s\n", failure.what());
    return 2;
  }
}
