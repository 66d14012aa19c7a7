#include "bindings/libcuda/call_sites/symbols.h"

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include <cxxabi.h>
#include <dlfcn.h>

#include "bindings/libcuda/call_sites/debug_lines.h"
#include "bindings/libcuda/call_sites/elf_file.h"

namespace gpuemu::libcuda {
namespace {

constexpr std::string_view kStart = "_start";
/// The header with the C++ forms of the runtime API, which are inline functions.
constexpr std::string_view kRuntimeHeader = "cuda_runtime.h";

/// Returns true for the name of a C++ form of a runtime function: "cudaError
/// cudaMalloc<float>(...)".
bool is_runtime_form(std::string_view name) {
  constexpr std::string_view kResult = "cudaError ";
  const bool is_template = name.starts_with(kResult);
  if (is_template) name.remove_prefix(kResult.size());
  return name.starts_with("cuda") && (is_template || name.find('(') != name.npos);
}

const ElfFile* file_of(const Dl_info& known) {
  static std::mutex mutex;
  static std::map<const void*, std::unique_ptr<ElfFile>> files;
  const std::lock_guard lock(mutex);
  const auto [place, is_new] = files.try_emplace(known.dli_fbase);
  if (is_new) {
    // dladdr returns argv[0] for the program, which may be relative.
    const bool is_program = known.dli_fname == nullptr || known.dli_fname[0] != '/';
    place->second = ElfFile::open(is_program ? "/proc/self/exe" : known.dli_fname);
  }
  return place->second.get();
}

/// Returns true if the module is the C library or the loader: their frames only start the program.
bool starts_programs(const Dl_info& known) {
  const std::string_view path = known.dli_fname == nullptr ? "" : known.dli_fname;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libc.so") || name.starts_with("ld-linux");
}

/// Removes tags like "[abi:v1]", which Numba puts behind every name.
std::string without_tags(std::string text) {
  constexpr std::string_view kTag = "[abi:";
  for (size_t at = text.find(kTag); at != text.npos; at = text.find(kTag, at)) {
    const size_t end = text.find(']', at);
    if (end == text.npos) break;
    text.erase(at, end + 1 - at);
  }
  return text;
}

}  // namespace

std::string demangled(const std::string& name) {
  // A crafted name can take the demangler exponential time.
  constexpr size_t kNameMax = 1024;
  if (!name.starts_with("_Z") || name.size() > kNameMax) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return text == nullptr ? name : without_tags(text.get());
}

RunFrame frame_at(uintptr_t return_address) {
  const uintptr_t call = return_address - 1;
  Dl_info known{};
  if (dladdr(reinterpret_cast<void*>(call), &known) == 0 || starts_programs(known)) return {};
  RunFrame frame;
  if (known.dli_sname != nullptr) frame.function = demangled(known.dli_sname);
  if (const ElfFile* const file = file_of(known)) {
    const uint64_t address =
        call - reinterpret_cast<uintptr_t>(known.dli_fbase) + file->first_address();
    if (const std::string name = file->function_at(address); !name.empty()) {
      frame.function = demangled(name);
    }
    const bool is_form = is_runtime_form(frame.function);
    const LinePlace place = line_at({file->section(".debug_line"), file->section(".debug_line_str"),
                                     file->section(".debug_str")},
                                    address, std::string(is_form ? "" : kRuntimeHeader));
    if (is_form && (place.file.empty() || place.file.ends_with(kRuntimeHeader))) return {};
    frame.file = place.file;
    frame.line = place.line;
  }
  if (frame.function == kStart) return {};
  if (frame.function.empty() && frame.file.empty() && known.dli_fname != nullptr) {
    frame.file = known.dli_fname;
  }
  return frame;
}

}  // namespace gpuemu::libcuda
