#include "bindings/libcuda/call_sites/call_site.h"

#include <string_view>
#include <utility>

#include <dlfcn.h>
#include <unwind.h>

#include "bindings/libcuda/call_sites/python_frames.h"
#include "bindings/libcuda/call_sites/symbols.h"

namespace gpuemu::libcuda {
namespace {

bool is_ours(uintptr_t address) {
  static const void* const kOwn = [] {
    Dl_info known{};
    dladdr(reinterpret_cast<void*>(&is_ours), &known);
    return known.dli_fbase;
  }();
  Dl_info known{};
  return dladdr(reinterpret_cast<void*>(address), &known) != 0 && known.dli_fbase == kOwn;
}

_Unwind_Reason_Code note_frame(_Unwind_Context* frame, void* into) {
  auto& site = *static_cast<CallSite*>(into);
  if (site.count == CallSite::kFramesMax) return _URC_END_OF_STACK;
  const uintptr_t address = _Unwind_GetIP(frame);
  if (address != 0) site.addresses[site.count++] = address;
  return _URC_NO_REASON;
}

}  // namespace

std::shared_ptr<const CallSite> call_site(const char* call) {
  auto site = std::make_shared<CallSite>();
  site->call = call;
  PythonStack python = python_stack();
  if (python.from_triton && std::string_view(call).starts_with("cuLaunch")) {
    site->call = kTritonLaunch;
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
