#include "bindings/libcuda/call_sites/call_site.h"

#include <atomic>
#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <unwind.h>

#include "bindings/libcuda/call_sites/python_frames.h"
#include "bindings/libcuda/call_sites/symbols.h"

namespace gpuemu::libcuda {
namespace {

const void* base_of(const void* inside) {
  Dl_info known{};
  return dladdr(inside, &known) == 0 ? nullptr : known.dli_fbase;
}

thread_local const char* runtime_call = nullptr;
thread_local std::shared_ptr<const CallSite> launch_site;
/// Where the runtime library is loaded; null if it is not.
std::atomic<const void*> runtime_base = nullptr;

bool is_ours(uintptr_t address) {
  static const void* const kOwn = base_of(reinterpret_cast<void*>(&is_ours));
  const void* const base = base_of(reinterpret_cast<void*>(address));
  return base != nullptr && (base == kOwn || base == runtime_base);
}

_Unwind_Reason_Code note_frame(_Unwind_Context* frame, void* into) {
  auto& site = *static_cast<CallSite*>(into);
  if (site.count == CallSite::kFramesMax) return _URC_END_OF_STACK;
  // For a frame interrupted by a signal, the address is that of the instruction, not of the next
  // one.
  int is_next = 0;
  const uintptr_t address = _Unwind_GetIPInfo(frame, &is_next);
  if (address != 0) site.addresses[site.count++] = is_next != 0 ? address + 1 : address;
  return _URC_NO_REASON;
}

}  // namespace

const char* called(const char* call) { return runtime_call == nullptr ? call : runtime_call; }

void set_runtime_call(const char* name) { runtime_call = name; }

void set_launch_site(std::shared_ptr<const CallSite> site) { launch_site = std::move(site); }

void add_own_library(const void* inside) { runtime_base = base_of(inside); }

std::shared_ptr<const CallSite> call_site(const char* call) {
  if (launch_site != nullptr) return launch_site;
  auto site = std::make_shared<CallSite>();
  site->call = called(call);
  PythonStack python = python_stack();
  if (std::string_view(call).starts_with("cuLaunch")) {
    if (python.from_triton) site->call = kTritonLaunch;
    if (python.from_numba) site->call = kNumbaLaunch;
  }
  site->python = std::move(python.frames);
  site->test = std::move(python.test);
  // In a Python program the native frames are only the interpreter's.
  if (site->python.empty()) _Unwind_Backtrace(note_frame, site.get());
  return site;
}

std::vector<RunFrame> frames_of(const CallSite& site) {
  std::vector<RunFrame> frames = site.python;
  for (uint32_t i = 0; i < site.count; ++i) {
    if (is_ours(site.addresses[i])) continue;
    RunFrame frame = frame_at(site.addresses[i]);
    if (frame.function.empty() && frame.file.empty()) continue;
    frames.push_back(std::move(frame));
  }
  return frames;
}

}  // namespace gpuemu::libcuda
