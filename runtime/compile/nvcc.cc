// Runs nvcc as a child process. A wrapper file includes the user's file and instantiates templates
// by host references to them, so that messages and .loc still name the user's file.
#include <filesystem>

#include "common/base/files.h"
#include "common/base/limits.h"
#include "runtime/compile/child.h"
#include "runtime/compile/compiler.h"
#include "runtime/compile/diagnostics.h"
#include "runtime/compile/source_text/entry_names.h"

namespace gpuemu::compile {
namespace {

namespace fs = std::filesystem;

constexpr size_t kFirstEntryLine = 3;  ///< The line of the wrapper at which the entries begin.

std::string wrapper_of(const Job& job, const std::string& included) {
  std::string text = fmt::format("#include \"{}\"\nnamespace {{\n", included);
  for (size_t i = 0; i < job.templates.size(); ++i) {
    // With plain type names, because the file may not include a declaration of uint32_t.
    text += fmt::format("[[maybe_unused]] auto* gpuemu_entry_{} = &{};\n", i,
                        normalised(job.templates[i]));
  }
  return text + "}\n";
}

/// Says at the top of a temporary file where its text is from, so that messages and .loc name that.
std::string named(const std::string& source, const std::string& path) {
  std::string escaped;
  for (const char c : path) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return fmt::format("#line 1 \"{}\"\n{}", escaped, source);
}

}  // namespace

Result<Output> run_nvcc(const Toolkit& toolkit, const Job& job) {
  const ScratchFolder scratch = GPUEMU_TRY(ScratchFolder::create());
  std::error_code failed;
  std::string included = job.path;
  // If the text differs from the file on disk, it is compiled from another file of the same name.
  auto on_disk = read_file(job.path, kSourceBytesMax);
  if (!on_disk || *on_disk != job.source) {
    included = scratch / fs::path(job.path).filename().string();
    GPUEMU_TRY(write_file(included, named(job.source, job.path)));
  }
  const fs::path wrapper = scratch / "gpuemu_wrapper.cu";
  const fs::path ptx = scratch / "out.ptx";
  const fs::path log = scratch / "log";
  GPUEMU_TRY(write_file(wrapper, wrapper_of(job, included)));
  std::vector<std::string> command = {toolkit.nvcc,
                                      "-ptx",
                                      "-lineinfo",
                                      "-std=c++17",
                                      "-arch=" + job.arch,
                                      "-o",
                                      ptx,
                                      wrapper,
                                      "-I" + fs::path(job.path).parent_path().string()};
  for (const std::string& folder : job.include_dirs) command.push_back("-I" + folder);
  for (const std::string& flag : job.flags) {
    if (flag != "-lineinfo") command.push_back(flag);
    if (flag.starts_with("-std=") || flag.starts_with("--std=")) std::erase(command, "-std=c++17");
  }
  const int status = GPUEMU_TRY(run_child(command, log, "", job.cancel));
  if (status != 0) {
    auto text = read_file(log, kSourceBytesMax);
    if (!text) return error(ErrorCode::Compile, "nvcc ended with status {}", status);
    return error(ErrorCode::Compile, "{}",
                 without_ours(source_errors(*text), wrapper, kFirstEntryLine, job.templates));
  }
  return Output{GPUEMU_TRY(read_file(ptx, kSourceBytesMax)), {}};
}

}  // namespace gpuemu::compile
