// `gpuemu init`: examines the files of a folder and writes a project for it.
#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/baselines.h"
#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/scaffold/ci_text.h"
#include "cli/scaffold/file_plan.h"
#include "cli/scaffold/folder.h"
#include "cli/scaffold/framework_text.h"
#include "cli/scaffold/project_text.h"
#include "cli/scaffold/read_ptx.h"
#include "cli/scaffold/read_sources.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

// More lines of one kind hide what is below them.
constexpr size_t kNotesShown = 8, kReferencesShown = 8, kLeftOutShown = 12;

struct InitOptions {
  std::string name, framework, ci, folder = ".";
  std::vector<std::string> include_dirs;
  bool force = false, examples = false;
};

/// Compiles these files and returns the results; nothing if the daemon cannot be reached.
std::vector<LintResult> compiled_of(const std::vector<std::string>& files, const fs::path& folder,
                                    Session& session) {
  if (files.empty()) return {};
  InspectRequest request;
  for (const std::string& file : files) request.files.push_back((folder / file).string());
  request.stream = true;
  auto reply = inspect(request, session);
  return reply ? std::move(reply->results) : std::vector<LintResult>();
}

void add_ptx(const FoundFiles& found, const fs::path& folder, Session& session,
             SourceKernels& kernels) {
  const std::vector<LintResult> compiled = compiled_of(found.ptx, folder, session);
  for (const std::string& file : found.ptx) {
    for (const LintResult& one : compiled) {
      if (one.source != (folder / file).string()) continue;
      if (one.metrics.ptx) {
        add_ptx_kernel(*one.metrics.ptx, folder, file, kernels);
      } else {
        kernels.left_out.push_back({file, "", one.error});
      }
    }
  }
}

/// Makes the names of kernels unique, because their references have the same names.
void tell_apart(std::vector<ProposedKernel>& kernels) {
  std::set<std::string> names;
  for (ProposedKernel& kernel : kernels) {
    const std::string wanted = kernel.name;
    for (int number = 2; !names.insert(kernel.name).second; ++number) {
      kernel.name = fmt::format("{}_{}", wanted, number);
    }
  }
}

SourceKernels find_kernels(const InitOptions& options, const FoundFiles& found,
                           const fs::path& folder, Session& session) {
  SourceFiles files{folder, found.cuda, found.headers, {}};
  for (const std::string& dir : options.include_dirs) {
    files.include_dirs.push_back(
        (fs::path(session.working_folder) / dir).lexically_normal().string());
  }
  size_t done = 0, total = 0;
  const auto show = [&](const std::string& what, size_t ready, size_t all) {
    done = ready;
    total = all;
    if (session.terminal) {
      session.err << fmt::format("\r\x1b[K{} ({} of {})", what, ready, all) << std::flush;
    }
  };
  SourceKernels kernels = read_sources(files, show, session.interrupted);
  if (session.terminal && total > 0) session.err << "\r\x1b[K" << std::flush;
  if (session.interrupted.load()) {
    session.err << fmt::format(
        "note: interrupted after {} of {} steps; `gpuemu init --force` in a folder below looks "
        "at fewer\n",
        done, total);
    tell_apart(kernels.kernels);
    return kernels;
  }
  add_ptx(found, folder, session, kernels);
  tell_apart(kernels.kernels);
  return kernels;
}

void plan_kernels(const ProjectText& project, const SourceKernels& found, FilePlan& plan) {
  plan.files["gpuemu.toml"] = config_text(project, found.kernels, found.left_out);
  for (const ProposedKernel& kernel : found.kernels) {
    plan.files[reference_path(kernel)] = reference_text(kernel);
    plan.stubs.insert(reference_path(kernel));
  }
}

void plan_example(const ProjectText& project, FilePlan& plan) {
  const ProposedKernel kernel = example_kernel();
  plan_kernels(project, {{kernel}, {}, {}}, plan);
  plan.files[kernel.source] = example_kernel_text();
  plan.files[reference_path(kernel)] = example_reference_text();
}

/// Returns the framework for the Python template: the requested one, otherwise the one found in the
/// folder.
std::string framework_of(const InitOptions& options, const FoundFiles& found) {
  if (!options.framework.empty()) return options.framework;
  if (!found.triton.empty()) return "triton";
  if (!found.numba.empty()) return "numba";
  return found.framework;
}

void plan_python(const std::string& framework, const FoundFiles& found, ProjectText project,
                 FilePlan& plan) {
  plan.files.merge(framework_files(framework, framework == "triton" ? found.triton : found.numba));
  if (framework == "triton" || framework == "numba") {
    // The program launches the kernels, so gpuemu.toml has none.
    plan.files["gpuemu.toml"] = config_text(project, {});
    return;
  }
  plan.files["gpuemu.toml"] = client_config_text(project);
  plan.files["scripts/ref_example.py"] = client_reference_text();
}

/// Kernels in Python are not tried: whoever reads that all is well must know that they are not in
/// it.
void tell_python(const FoundFiles& found, Session& session) {
  for (const auto& [kernels, name] :
       {std::pair(&found.triton, "Triton"), std::pair(&found.numba, "Numba")}) {
    if (kernels->empty()) continue;
    std::set<std::string> files;
    for (const PythonKernel& kernel : *kernels) files.insert(kernel.file);
    session.out << fmt::format(
        "found {} of {} in {}: check_kernels.py lists them, and calls an example until you call "
        "yours\n",
        counted(kernels->size(), "kernel"), name, counted(files.size(), "file"));
  }
}

struct Planned {
  FilePlan files;
  SourceKernels kernels;
};

Planned plan_project(const InitOptions& options, const fs::path& folder, Session& session) {
  const FoundFiles found = look_around(folder);
  std::istringstream limits(found.limit);
  for (std::string line; std::getline(limits, line);) session.err << "note: " << line << '\n';
  const std::string framework = framework_of(options, found);
  Planned plan{{folder, {}, {}}, {}};
  ProjectText project{options.name};
  if (!options.examples) plan.kernels = find_kernels(options, found, folder, session);
  project.include_dirs = plan.kernels.include_dirs;
  const bool in_python = !framework_files(framework, {}).empty();
  if (!options.examples) tell_python(found, session);
  if (!plan.kernels.kernels.empty() || !plan.kernels.left_out.empty()) {
    plan_kernels(project, plan.kernels, plan.files);
    // Kernels in Python are added to those in CUDA.
    if (framework == "triton" || framework == "numba") {
      plan.files.files.merge(
          framework_files(framework, framework == "triton" ? found.triton : found.numba));
    }
  } else if (in_python && !options.examples) {
    plan_python(framework, found, project, plan.files);
  } else {
    if (!options.examples) session.out << "found no kernels; an example that passes is written\n";
    plan_example(project, plan.files);
  }
  plan.files.files.merge(ci_files(options.ci, GPUEMU_VERSION));
  std::error_code ignored;
  // An existing file belongs to the user, even with --force.
  if (!fs::exists(folder / ".gitignore", ignored)) {
    plan.files.files[".gitignore"] = gitignore_text();
  }
  return plan;
}

/// Reports what was done with the kernels, and what to do next: all that a failing test may rest
/// on, and the first of the other notes.
void tell(const SourceKernels& found, Session& session) {
  const std::vector<std::string> left_out = told(found.left_out);
  for (size_t i = 0; i < left_out.size() && i < kLeftOutShown; ++i) {
    session.err << fmt::format("note: {}\n", left_out[i]);
  }
  if (left_out.size() > kLeftOutShown) {
    session.err << fmt::format(
        "note: kernels of {} are left out; the end of gpuemu.toml says why\n",
        counted(left_out.size() - kLeftOutShown, "more source"));
  }
  size_t guesses = 0;
  const auto write = [&](const std::string& kernels, const std::string& text) {
    session.err << fmt::format("note: {}: {}\n", kernels, text);
  };
  // A text, and the kernels that it is about.
  std::vector<std::pair<std::string, std::string>> notes;
  for (const ProposedKernel& kernel : found.kernels) {
    const std::string name = fmt::format("{} ({})", kernel.name, kernel.source);
    if (!kernel.guess.empty()) write(name, "a guess, because " + kernel.guess);
    for (const std::string& doubt : kernel.doubts) write(name, doubt);
    guesses += kernel.guess.empty() ? 0 : 1;
    for (const std::string& note : kernel.notes) {
      const auto same = std::ranges::find(notes, note, &std::pair<std::string, std::string>::first);
      if (same == notes.end()) {
        notes.emplace_back(note, name);
      } else {
        same->second += ", " + name;
      }
    }
  }
  for (size_t i = 0; i < notes.size() && i < kNotesShown; ++i) {
    write(notes[i].second, notes[i].first);
  }
  if (notes.size() > kNotesShown) {
    const size_t more = notes.size() - kNotesShown;
    session.err << fmt::format("note: {} above {} in gpuemu.toml\n",
                               counted(more, "more note") + (more == 1 ? " stands" : " stand"),
                               more == 1 ? "its kernel" : "their kernels");
  }
  const size_t all = found.kernels.size() + found.left_out.size();
  if (all == 0) return;
  session.out << fmt::format("found {}: {} tried on the emulator, {} guessed, {} left out\n",
                             counted(all, "kernel"), found.kernels.size() - guesses, guesses,
                             found.left_out.size());
}

void tell_written(const std::vector<std::string>& written, const std::set<std::string>& references,
                  Session& session) {
  const auto is_reference = [&](const std::string& file) { return references.contains(file); };
  const auto count = static_cast<size_t>(std::ranges::count_if(written, is_reference));
  for (const std::string& file : written) {
    if (count > kReferencesShown && is_reference(file)) continue;
    session.out << fmt::format("wrote {}\n", file);
  }
  if (count > kReferencesShown) {
    session.out << fmt::format("wrote {} references in scripts/\n", count);
  }
}

void run(InitOptions options, Session& session) {
  std::error_code failed;
  fs::path folder = (fs::path(session.working_folder) / options.folder).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();  // Removes a trailing slash.
  if (fs::is_regular_file(folder, failed)) {
    session.fail(
        error(ErrorCode::Io, "{} is a file; write the folder that holds it", folder.string()));
    return;
  }
  const bool is_new = !fs::exists(folder, failed);
  fs::create_directories(folder, failed);
  if (failed) {
    session.fail(error(ErrorCode::Io,
                       "cannot make the folder {}: {}; name another one with --target-dir",
                       folder.string(), failed.message()));
    return;
  }
  if (is_new) session.out << fmt::format("made the folder {}\n", folder.string());
  if (options.name.empty()) {
    const fs::path named = fs::weakly_canonical(folder, failed);
    options.name = named.filename().string();
  }
  // Checked before anything is compiled, so that the most common mistake costs no time.
  if (!options.force && fs::exists(fs::symlink_status(folder / "gpuemu.toml", failed))) {
    session.fail(
        error(ErrorCode::InvalidArgument,
              "{} already has gpuemu.toml; nothing was written. --force replaces and keeps "
              "a backup",
              folder.string()));
    return;
  }
  const Planned plan = plan_project(options, folder, session);
  session.exit_code = ExitCode::Ok;  // Kernels that were left out have been reported.
  if (session.interrupted.load()) {
    session.exit_code = ExitCode::Interrupted;
    if (plan.kernels.kernels.empty()) return;
  }
  tell(plan.kernels, session);
  const auto done = write_files(plan.files, options.force);
  if (!done) {
    session.fail(done.error());
    return;
  }
  for (const auto& [file, backup] : done->backups) {
    session.out << fmt::format("kept {} as {}\n", file, backup);
  }
  for (const std::string& file : done->kept) {
    session.out << fmt::format("kept {}, which is written\n", file);
  }
  tell_written(done->written, plan.files.stubs, session);
  if (plan.kernels.kernels.empty() && !plan.kernels.left_out.empty()) {
    session.out << "next: do what the notes say, then `gpuemu init --force`\n";
    return;
  }
  for (const char* program : kPythonPrograms) {
    if (plan.files.files.contains(program)) {
      session.out << fmt::format("next: `python3 {}`\n", program);
    }
  }
  if (!plan.kernels.kernels.empty()) {
    session.out << "next: `gpuemu test`, then write the references in scripts/\n";
  } else if (plan.files.files.contains("kernels/vector_add.cu")) {
    session.out << "next: `gpuemu test`\n";
  }
}

}  // namespace

void add_init(Command app, Session& session) {
  auto options = std::make_shared<InitOptions>();
  Command command = app.command("init", "Write a gpuemu.toml for the kernels of a folder");
  command.option("-n,--name", options->name, "Name of the project (default: the folder's)")
      .type_name("NAME");
  Option framework =
      command.option("-f,--framework", options->framework,
                     "What the kernels are for\n(default: what Python files import)");
  framework.one_of({"cuda", "triton", "numba", "pytorch", "jax", "tensorflow"});
  command
      .option(
          "-I,--include", options->include_dirs,
          "Folder with headers of the sources\n(default: what the build and #include lines say)")
      .type_name("FOLDER");
  Option ci = command.option("--ci", options->ci, "Write a CI file as well");
  ci.one_of({"github", "gitlab"});
  command.option("FOLDER", options->folder, "Where the kernels are (default: here)").type_name(" ");
  command.option("-t,--target-dir,--target_dir", options->folder, "The same").type_name("FOLDER");
  command.flag("--with-examples", options->examples,
               "Write a working example kernel instead of using those in the folder");
  command.flag("--force", options->force, "Replace what is there; keep it as NAME.bak");
  command.footer(
      "Never overwrites a file. Exit code: 0 written, 2 files are there already, 3 cannot write.\n"
      "Examples:\n"
      "  gpuemu init                     for the .cu and .ptx files below this folder\n"
      "  gpuemu init csrc                for those below csrc, with gpuemu.toml there\n"
      "  gpuemu init --ci github --name attention-kernels");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
