#include "runtime/compile/machine_code.h"

#include <charconv>
#include <filesystem>

#include "common/base/blake2.h"
#include "common/base/files.h"
#include "common/base/limits.h"
#include "runtime/compile/child.h"
#include "runtime/compile/diagnostics.h"
#include "runtime/compile/kept_file.h"
#include "runtime/compile/toolkit.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;
using compile::ScratchFolder;
using compile::Toolkit;

constexpr const char* kNoPtxas =
    "ptxas was not found, so physical registers, spills and occupancy are not known; install a "
    "CUDA 13 toolkit or run scripts/setup.sh, and set CUDA_HOME if it is elsewhere; then restart "
    "the daemon";
constexpr const char* kNoCuobjdump =
    "cuobjdump and nvdisasm were not found, so machine code is not read; `pip install "
    "nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm` and set CUDA_HOME to the site-packages folder; "
    "then restart the daemon";

/// Returns whether ptxas rejected the text only because it is for another architecture.
bool is_other_arch(std::string_view log) {
  for (const char* said : {"SM version specified by .target is higher", "is not defined for option",
                           "cannot be compiled for architecture", "not supported for target"}) {
    if (log.find(said) != log.npos) return true;
  }
  return false;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Returns a tool's output; Compile if the tool failed.
Result<std::string> output_of(const std::vector<std::string>& command, const fs::path& log) {
  const std::string folder = fs::path(command[0]).parent_path().string();
  const int status = GPUEMU_TRY(compile::run_child(command, log, folder));
  std::string text = GPUEMU_TRY(read_file(log, kSourceBytesMax));
  if (status == 0) return text;
  return error(ErrorCode::Compile, "{} ended with status {}: {}",
               fs::path(command[0]).filename().string(), status,
               text.empty() ? "it said nothing" : compile::error_lines(text));
}

/// Part of the cache key. Change it when the layout of cached files changes.
constexpr std::string_view kKeptFormat = "gpuemu-sass-1";

/// Returns a hash of the text and of all tools and settings that process it.
std::string kept_key(const AssembleRequest& request, const Toolkit& toolkit, bool disassemble) {
  std::string programs = compile::program_identity(toolkit.ptxas);
  if (disassemble) {
    for (const fs::path& program :
         {fs::path(toolkit.cuobjdump), fs::path(toolkit.cuobjdump).replace_filename("nvdisasm")}) {
      programs += "\n" + compile::program_identity(program);
    }
  }
  const std::string sizes = fmt::format("{} {}", request.ptx.size(), programs.size());
  return content_hash({kKeptFormat, sizes, "\n", request.ptx, programs, request.arch});
}

Result<Assembled> read_assembled(const fs::path& kept) {
  const std::string text = GPUEMU_TRY(compile::read_kept(kept));
  size_t log_bytes = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), log_bytes);
  const size_t begin = static_cast<size_t>(end - text.data()) + 1;
  if (failed != std::errc() || begin > text.size() || log_bytes > text.size() - begin) {
    return error(ErrorCode::Corruption, "cache entry {} has no length", kept.string());
  }
  return Assembled{text.substr(begin, log_bytes), text.substr(begin + log_bytes)};
}

Result<Assembled> run_ptxas(const AssembleRequest& request, const Toolkit& toolkit,
                            bool disassemble) {
  const ScratchFolder scratch = GPUEMU_TRY(ScratchFolder::create());
  const fs::path ptx = scratch / "kernel.ptx", cubin = scratch / "kernel.cubin";
  const fs::path log = scratch / "log";
  GPUEMU_TRY(write_file(ptx, request.ptx));
  const int status = GPUEMU_TRY(
      compile::run_child({toolkit.ptxas, "-v", "-arch=" + request.arch, "-o", cubin, ptx}, log));
  Assembled made;
  made.log = GPUEMU_TRY(read_file(log, kSourceBytesMax));
  if (status != 0) {
    // Messages contain the path of our copy of the text.
    std::string said = compile::error_lines(made.log);
    for (size_t at = said.find(ptx.string()); at != said.npos; at = said.find(ptx.string(), at)) {
      said.replace(at, ptx.string().size(), request.name);
      at += request.name.size();
    }
    const ErrorCode code = is_other_arch(said) ? ErrorCode::Unsupported : ErrorCode::Compile;
    return error(code, "ptxas does not make code for {}: {}", request.arch,
                 said.empty() ? fmt::format("it ended with status {}", status) : said);
  }
  if (!disassemble) return made;
  made.listing = GPUEMU_TRY(output_of({toolkit.cuobjdump, "-sass", cubin}, log));
  return made;
}

}  // namespace

Result<Assembled> assemble(const AssembleRequest& request) {
  const Toolkit toolkit = compile::find_toolkit();
  if (toolkit.ptxas.empty()) return error(ErrorCode::Unavailable, "{}", kNoPtxas);
  const bool disassemble = request.disassemble && !toolkit.cuobjdump.empty();
  if (request.cache_folder.empty()) return run_ptxas(request, toolkit, disassemble);
  const fs::path kept =
      fs::path(request.cache_folder) / (kept_key(request, toolkit, disassemble) + ".sass");
  if (auto made = read_assembled(kept)) return made;
  Assembled made = GPUEMU_TRY(run_ptxas(request, toolkit, disassemble));
  compile::write_kept(kept, fmt::format("{}\n{}{}", made.log.size(), made.log, made.listing));
  return made;
}

Result<Disassembled> disassemble(const std::string& path) {
  const Toolkit toolkit = compile::find_toolkit();
  if (toolkit.cuobjdump.empty()) return error(ErrorCode::Unavailable, "{}", kNoCuobjdump);
  const ScratchFolder scratch = GPUEMU_TRY(ScratchFolder::create());
  const fs::path log = scratch / "log";
  Disassembled made;
  for (const auto& [option, out] :
       {std::pair("-sass", &made.listing), std::pair("--dump-resource-usage", &made.resources)}) {
    auto text = output_of({toolkit.cuobjdump, option, path}, log);
    if (!text) {
      return error(text.error().code,
                   "{} has no machine code that cuobjdump can read ({}); expected a whole cubin, "
                   "fatbin, object file or library with device code",
                   path, first_line(text.error().message));
    }
    *out = *std::move(text);
  }
  return made;
}

std::vector<std::string> missing_machine_code_tools() {
  const Toolkit toolkit = compile::find_toolkit();
  std::vector<std::string> missing;
  if (toolkit.ptxas.empty()) missing.emplace_back(kNoPtxas);
  if (toolkit.cuobjdump.empty()) missing.emplace_back(kNoCuobjdump);
  return missing;
}

}  // namespace gpuemu
