#include "bindings/libcuda/calls/runtime_hooks.h"

#include <optional>

#include "bindings/libcuda/call_sites/call_site.h"
#include "bindings/libcuda/module_calls/link.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

using Site = std::shared_ptr<const CallSite>;

thread_local std::optional<CallScope> scope_of_call;
thread_local std::optional<PerThreadScope> scope_of_stream;

void begin(const char* call, bool is_per_thread) {
  scope_of_call.emplace(call);
  set_runtime_call(call);
  if (is_per_thread) scope_of_stream.emplace();
}

void end() {
  scope_of_stream.reset();
  set_runtime_call(nullptr);
  scope_of_call.reset();
}

void* note_site() { return new Site(call_site(kStatementLaunch)); }

void launch_from(void* site) {
  set_launch_site(site == nullptr ? nullptr : *static_cast<Site*>(site));
}

void free_site(void* site) { delete static_cast<Site*>(site); }

void unchecked_launch(void* site, const char* entry, const char* reason) {
  if (Process* const driver = process()) {
    driver->recorder.unchecked_launch(**static_cast<Site*>(site), entry, reason);
  }
}

void launch_rejected() {
  if (Process* const driver = process()) driver->recorder.launch_rejected();
}

void unsupported(const char* call) { (void)unsupported_call(call); }

constexpr RuntimeHooks kDoor{begin,           end,         note_site,
                             launch_from,     free_site,   unchecked_launch,
                             launch_rejected, unsupported, add_object};

}  // namespace
}  // namespace gpuemu::libcuda

GPUEMU_DRIVER_API const gpuemu::libcuda::RuntimeHooks* gpuemu_runtime_hooks(const void* inside) {
  gpuemu::libcuda::add_own_library(inside);
  return &gpuemu::libcuda::kDoor;
}
