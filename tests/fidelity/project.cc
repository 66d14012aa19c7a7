#include "tests/fidelity/project.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "common/base/files.h"
#include "common/base/limits.h"
#include "daemon/kernels/kernel_store.h"

namespace gpuemu::fidelity {
namespace {

namespace fs = std::filesystem;

/// The first line of a saved text: its entries, which only the compiler knows for templates.
constexpr std::string_view kEntries = "// entries:";

std::string file_name(const Subject& subject) {
  std::string name = subject.name() + ".ptx";
  std::ranges::replace(name, '/', '-');
  return name;
}

Result<PreparedKernel> read_saved(const Subject& subject, const std::string& folder) {
  const fs::path path = fs::path(folder) / file_name(subject);
  PreparedKernel prepared;
  prepared.ptx = GPUEMU_TRY(read_file(path, kSourceBytesMax));
  prepared.name = path.filename().string();
  prepared.key = prepared.name;
  std::istringstream first(prepared.ptx.substr(0, prepared.ptx.find('\n')));
  std::string word;
  first >> word >> word;
  while (first >> word) prepared.entries.push_back(word);
  if (!prepared.ptx.starts_with(kEntries) || prepared.entries.empty()) {
    return error(ErrorCode::Corruption, "{}: the first line does not name its entries; save anew",
                 path.string());
  }
  return prepared;
}

}  // namespace

std::string Subject::name() const {
  return fmt::format("{}/{}/{}", project, op->name, name_of(dtype));
}

Result<std::vector<Subject>> open_project(const std::string& path, const ProjectOptions& options,
                                          std::vector<std::string>& problems) {
  ConfigSources sources;
  // What a user has set for the daemon does not concern a comparison, but has to be somewhere.
  sources.environment = {{"HOME", "/nonexistent"}};
  const bool is_folder = fs::is_directory(path);
  sources.file = is_folder ? (fs::path(path) / "gpuemu.toml").string() : path;
  ConfigResult loaded = load_config(sources);
  if (!loaded.config) return error(ErrorCode::InvalidArgument, "{}", loaded.text());
  const auto config = std::make_shared<const Config>(*std::move(loaded.config));
  KernelStore store(*config, "", options.arch);
  std::vector<Subject> subjects;
  for (const OpConfig& op : config->ops) {
    const KernelConfig* kernel =
        op.kernels.empty() ? nullptr : config->find_kernel(op.kernels.front());
    if (kernel == nullptr || op.name.find(options.only) == std::string::npos) continue;
    for (const DType dtype : op.dtypes) {
      Subject subject{config->name, config, &op, kernel, dtype, {}};
      if (options.ptx_folder.empty()) {
        auto prepared = store.prepare(*kernel, dtype);
        if (!prepared) {
          problems.push_back(subject.name() + ": " + prepared.error().message);
          continue;
        }
        subject.prepared = **prepared;
      } else {
        subject.prepared = GPUEMU_TRY(read_saved(subject, options.ptx_folder));
      }
      subjects.push_back(std::move(subject));
    }
  }
  return subjects;
}

Status save_ptx(const Subject& subject, const std::string& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  std::string text(kEntries);
  for (const std::string& entry : subject.prepared.entries) text += " " + entry;
  return write_file(fs::path(folder) / file_name(subject), text + "\n" + subject.prepared.ptx);
}

}  // namespace gpuemu::fidelity
