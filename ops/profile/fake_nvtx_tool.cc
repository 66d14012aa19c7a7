// A test tool that receives NVTX ranges as Nsight Systems does: NVIDIA's headers load it if
// NVTX_INJECTION64_PATH names it. Records the ranges as text: "push a;push b;pop;pop;".
#include <mutex>
#include <string>

#include <nvtx3/nvToolsExt.h>

namespace {

/// The calls of all threads of the process; NVTX calls a tool on the thread of the range.
struct Heard {
  std::mutex mutex;
  std::string text;  ///< Guarded by the mutex.
};

Heard& heard() {
  static Heard all;
  return all;
}

void hear(const std::string& text) {
  const std::lock_guard lock(heard().mutex);
  heard().text += text;
}

int NVTX_API on_push(const char* name) {
  hear(std::string("push ") + name + ";");
  return 0;
}

int NVTX_API on_pop() {
  hear("pop;");
  return 0;
}

}  // namespace

extern "C" {

// NOLINTNEXTLINE(readability-identifier-naming): NVTX looks for this name.
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t export_table) {
  const auto* callbacks =
      static_cast<const NvtxExportTableCallbacks*>(export_table(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned int size = 0;
  if (callbacks == nullptr ||
      callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size) == 0 ||
      size <= NVTX_CBID_CORE_RangePop) {
    return 0;
  }
  *table[NVTX_CBID_CORE_RangePushA] = reinterpret_cast<NvtxFunctionPointer>(on_push);
  *table[NVTX_CBID_CORE_RangePop] = reinterpret_cast<NvtxFunctionPointer>(on_pop);
  return 1;
}

/// Returns the recorded calls; valid until the next range of any thread.
__attribute__((visibility("default"))) const char* fake_nvtx_heard() {
  const std::lock_guard lock(heard().mutex);
  return heard().text.c_str();
}

}  // extern "C"
