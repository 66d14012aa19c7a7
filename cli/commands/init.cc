// `gpuemu init`: looks at what a folder has and writes a project for it.
#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>

#include "cli/commands/baselines.h"
#include "cli/commands/commands.h"
#include "cli/commands/options.h"
#include "cli/scaffold/file_plan.h"
#include "cli/scaffold/project_text.h"
#include "cli/scaffold/propose.h"
#include "cli/scaffold/source_scan.h"
#include "common/base/files.h"
#include "common/base/limits.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

// What a person would look through; beyond it the sources are somewhere else.
constexpr int kDepthMax = 4;
constexpr size_t kFilesMax = 200;

struct InitOptions {
  std::string name, framework, ci, folder = ".";
  bool force = false, examples = false;
};

struct Found {
  std::vector<std::string> cuda, ptx;  ///< Relative to the folder, sorted.
  std::string framework;               ///< What a Python file imports, "" when none does.
};

bool is_skipped(const std::string& folder) {
  static constexpr std::string_view kNames[] = {"build", "node_modules", "__pycache__", "venv",
                                                "third_party"};
  // Where a database is kept, the kernels that it was compiled from lie beside it.
  return folder.starts_with(".") || folder.ends_with(".cache") ||
         std::ranges::find(kNames, folder) != std::end(kNames);
}

std::string framework_of(const std::string& text) {
  for (const auto& [word, framework] :
       {std::pair("triton", "triton"), std::pair("torch", "pytorch"), std::pair("jax", "jax"),
        std::pair("tensorflow", "tensorflow")}) {
    for (const char* verb : {"import ", "from "}) {
      if (text.find(std::string(verb) + word) != std::string::npos) return framework;
    }
  }
  return {};
}

Found look_around(const fs::path& folder) {
  Found found;
  std::error_code failed;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied,
                                      failed);
  for (; !failed && at != fs::recursive_directory_iterator(); at.increment(failed)) {
    const fs::path& path = at->path();
    std::error_code ignored;
    if (at->is_directory(ignored)) {
      if (is_skipped(path.filename().string()) || at.depth() >= kDepthMax) {
        at.disable_recursion_pending();
      }
      continue;
    }
    const std::string name = path.lexically_relative(folder).string();
    if (path.extension() == ".cu" && found.cuda.size() < kFilesMax) found.cuda.push_back(name);
    if (path.extension() == ".ptx" && found.ptx.size() < kFilesMax) found.ptx.push_back(name);
    if (path.extension() != ".py" || !found.framework.empty()) continue;
    const auto text = read_file(path, kSourceBytesMax);
    if (text) found.framework = framework_of(*text);
  }
  std::ranges::sort(found.cuda);
  std::ranges::sort(found.ptx);
  return found;
}

/// What the compiler says of these files; nothing when the daemon cannot be asked.
std::vector<LintResult> compiled_of(const std::vector<std::string>& files, const fs::path& folder,
                                    Session& session) {
  if (files.empty()) return {};
  InspectRequest request;
  for (const std::string& file : files) request.files.push_back((folder / file).string());
  request.stream = true;
  auto reply = inspect(request, session);
  return reply ? std::move(reply->results) : std::vector<LintResult>();
}

/// Takes a proposal under a name that no other has; says why where there is none.
class Proposals {
 public:
  explicit Proposals(Session& session) : session_(session) {}

  void add(std::optional<ProposedKernel> kernel, const std::string& source,
           const std::string& why) {
    if (!kernel) {
      session_.err << fmt::format("note: {} is left out: {}\n", source, why);
      return;
    }
    const std::string wanted = kernel->name;
    for (int number = 2; !names_.insert(kernel->name).second; ++number) {
      kernel->name = fmt::format("{}_{}", wanted, number);
    }
    all_.push_back(*std::move(kernel));
  }
  std::vector<ProposedKernel> take() { return std::move(all_); }

 private:
  Session& session_;
  std::set<std::string> names_;
  std::vector<ProposedKernel> all_;
};

void add_sources(const Found& found, const fs::path& folder,
                 const std::vector<LintResult>& compiled, Proposals& proposals, Session& session) {
  for (const std::string& file : found.cuda) {
    const std::string path = (folder / file).string();
    const auto broken = std::ranges::find_if(compiled, [&](const LintResult& one) {
      return one.source == path && !one.error.empty() &&
             one.error.find("has no kernel") == std::string::npos;
    });
    if (broken != compiled.end()) {
      session.err << fmt::format("note: {} is left out: {}\n", file, broken->error);
      continue;
    }
    const auto text = read_file(path, kSourceBytesMax);
    if (!text) continue;
    for (const SourceKernel& kernel : scan_kernels(*text)) {
      std::string why;
      auto proposed = propose(kernel, file, why);
      proposals.add(std::move(proposed), file, why);
    }
  }
}

void add_texts(const Found& found, const fs::path& folder, const std::vector<LintResult>& compiled,
               Proposals& proposals, Session& session) {
  for (const std::string& file : found.ptx) {
    for (const LintResult& one : compiled) {
      if (one.source != (folder / file).string()) continue;
      if (!one.metrics.ptx) {
        session.err << fmt::format("note: {} is left out: {}\n", file, one.error);
        continue;
      }
      std::string why;
      auto proposed = propose(*one.metrics.ptx, file, why);
      proposals.add(std::move(proposed), file, why);
    }
  }
}

void plan_kernels(const ProjectText& project, const std::vector<ProposedKernel>& kernels,
                  FilePlan& plan) {
  plan.files["gpuemu.toml"] = config_text(project, kernels);
  for (const ProposedKernel& kernel : kernels) {
    plan.files[reference_path(kernel)] = reference_text(kernel);
  }
}

void plan_example(const ProjectText& project, FilePlan& plan) {
  const ProposedKernel kernel = example_kernel();
  plan_kernels(project, {kernel}, plan);
  plan.files[kernel.source] = example_kernel_text();
  plan.files[reference_path(kernel)] = example_reference_text();
}

bool is_client_framework(const std::string& framework) {
  return framework == "pytorch" || framework == "jax" || framework == "tensorflow";
}

FilePlan plan_project(const InitOptions& options, const fs::path& folder, Session& session) {
  const Found found = look_around(folder);
  ProjectText project{options.name,
                      options.framework.empty() ? found.framework : options.framework};
  if (project.framework.empty()) project.framework = "cuda";
  std::vector<std::string> files = found.cuda;
  files.insert(files.end(), found.ptx.begin(), found.ptx.end());
  const std::vector<LintResult> compiled = compiled_of(files, folder, session);
  Proposals proposals(session);
  add_sources(found, folder, compiled, proposals, session);
  add_texts(found, folder, compiled, proposals, session);
  const std::vector<ProposedKernel> kernels = proposals.take();
  FilePlan plan{folder, {}};
  if (!kernels.empty() && !options.examples) {
    plan_kernels(project, kernels, plan);
  } else if (is_client_framework(project.framework) && !options.examples) {
    plan.files["gpuemu.toml"] = client_config_text(project);
    plan.files["scripts/ref_example.py"] = client_reference_text();
  } else {
    plan_example(project, plan);
  }
  if (options.ci == "github") plan.files[".github/workflows/gpuemu.yml"] = github_text();
  if (options.ci == "gitlab") plan.files[".gitlab-ci.yml"] = gitlab_text();
  std::error_code ignored;
  // One that is there belongs to somebody else, --force or not.
  if (!fs::exists(folder / ".gitignore", ignored)) plan.files[".gitignore"] = gitignore_text();
  return plan;
}

void run(InitOptions options, Session& session) {
  std::error_code failed;
  const fs::path folder = (fs::path(session.working_folder) / options.folder).lexically_normal();
  fs::create_directories(folder, failed);
  if (failed) {
    session.fail(
        error(ErrorCode::Io, "cannot make the folder {}: {}", folder.string(), failed.message()));
    return;
  }
  if (options.name.empty()) {
    const fs::path named = fs::weakly_canonical(folder, failed);
    options.name = named.filename().string();
  }
  // Before anything is compiled: the usual mistake costs nothing.
  if (!options.force && fs::exists(fs::symlink_status(folder / "gpuemu.toml", failed))) {
    session.fail(
        error(ErrorCode::InvalidArgument,
              "{} already has gpuemu.toml; nothing was written. --force replaces and keeps "
              "a backup",
              folder.string()));
    return;
  }
  const FilePlan plan = plan_project(options, folder, session);
  session.exit_code = ExitCode::Ok;  // A file that does not compile is left out, which was told.
  const auto done = write_files(plan, options.force);
  if (!done) {
    session.fail(done.error());
    return;
  }
  for (const auto& [file, backup] : done->backups) {
    session.out << fmt::format("kept {} as {}\n", file, backup);
  }
  for (const std::string& file : done->written) session.out << fmt::format("wrote {}\n", file);
  session.out << "next: write the references, then `gpuemu test`\n";
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
  framework.one_of({"cuda", "triton", "pytorch", "jax", "tensorflow"});
  Option ci = command.option("--ci", options->ci, "Write a CI file as well");
  ci.one_of({"github", "gitlab"});
  command.option("-t,--target-dir,--target_dir", options->folder, "Where (default: here)")
      .type_name("FOLDER");
  command.flag("--with-examples", options->examples,
               "A kernel that works instead of those that are there");
  command.flag("--force", options->force, "Replace what is there; keep it as NAME.bak");
  command.footer(
      "Never writes over a file. Exit code: 0 written, 2 files are there already, 3 cannot write.\n"
      "Examples:\n"
      "  gpuemu init                     for the .cu and .ptx files below this folder\n"
      "  gpuemu init --ci github --name attention-kernels");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace gpuemu::cli
