// Implements the published functions of nvJitLink for PTX: the linked result is PTX, which our
// driver loads where a program expects machine code.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#define GPUEMU_LINK_API extern "C" __attribute__((visibility("default")))

// The functions of the driver API that this library calls.
extern "C" {
int cuInit(unsigned flags);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxGetCurrent(void** context);
int cuCtxSetCurrent(void* context);
int cuLinkCreate_v2(unsigned count, int* options, void** values, void** linker);
int cuLinkAddData_v2(void* linker, int kind, void* data, size_t bytes, const char* name,
                     unsigned count, int* options, void** values);
int cuLinkAddFile_v2(void* linker, int kind, const char* path, unsigned count, int* options,
                     void** values);
int cuLinkComplete(void* linker, void** image, size_t* bytes);
int cuLinkDestroy(void* linker);
int gpuemu_link_conflicts(void* linker);
}

namespace gpuemu::libnvjitlink {
namespace {

/// nvJitLinkResult
enum Code : int {
  kSuccess = 0,
  kUnrecognizedOption = 1,
  kMissingArch = 2,
  kInvalidInput = 3,
  kInternal = 6,
  kUnrecognizedInput = 8,
  kFinalize = 9,
  kNullInput = 10,
  kMissingFatBinary = 15
};

/// nvJitLinkInputType
enum Input : int { kPtx = 2, kLinkTime = 3, kFatBinary = 4, kLibrary = 6, kAny = 10 };
/// CUjitInputType
constexpr int kDriverMachineCode = 0, kDriverPtx = 1, kDriverFatBinary = 2, kDriverLibrary = 4,
              kNone = -1;

/// CUjit_option
constexpr int kErrorLog = 5, kErrorLogBytes = 6;

constexpr std::string_view kOptions[] = {"-arch",
                                         "-maxrregcount",
                                         "-time",
                                         "-verbose",
                                         "-lto",
                                         "-ptx",
                                         "-O",
                                         "-g",
                                         "-lineinfo",
                                         "-ftz",
                                         "-prec-div",
                                         "-prec-sqrt",
                                         "-fma",
                                         "-kernels-used",
                                         "-variables-used",
                                         "-optimize-unused-variables",
                                         "-Xptxas",
                                         "-Xnvvm",
                                         "-split-compile",
                                         "-jump-table-density",
                                         "-no-cache",
                                         "-device-stack-protector"};

struct Linker {
  void* driver_linker = nullptr;
  std::array<char, 16384> driver_log{};
  std::string error;
  std::string linked;  ///< PTX, after nvJitLinkComplete.
  bool is_complete = false;
};

/// Ensures that the thread has a context while it lives, because the driver's linker needs one.
class SomeContext {
 public:
  SomeContext() {
    void* current = nullptr;
    if (cuInit(0) != 0 || cuCtxGetCurrent(&current) != 0 || current != nullptr) return;
    void* primary = nullptr;
    is_own_ = cuDevicePrimaryCtxRetain(&primary, 0) == 0 && cuCtxSetCurrent(primary) == 0;
  }
  ~SomeContext() {
    if (!is_own_) return;
    (void)cuCtxSetCurrent(nullptr);
    (void)cuDevicePrimaryCtxRelease_v2(0);
  }
  SomeContext(const SomeContext&) = delete;
  SomeContext& operator=(const SomeContext&) = delete;

 private:
  bool is_own_ = false;
};

/// Returns the driver's kind of an input; kNone for machine code and intermediate code.
int driver_kind(int type, std::string_view bytes) {
  constexpr std::string_view kContainer = "\x50\xed\x55\xba", kArchive = "!<arch>";
  const bool is_fat = bytes.starts_with(kContainer), is_archive = bytes.starts_with(kArchive);
  if (type == kPtx) return kDriverPtx;
  if (type == kFatBinary || (type == kAny && is_fat)) return kDriverFatBinary;
  if (type == kLibrary || (type == kAny && is_archive)) return kDriverLibrary;
  const bool is_text = bytes.find(".version") != bytes.npos;
  // Our libnvrtc returns text when a program requests code for the link-time optimizer.
  return (type == kAny || type == kLinkTime) && is_text ? kDriverPtx : kNone;
}

/// Rejects an input; the driver's linker adds it to the report.
int refuse(Linker& linker, const char* name) {
  linker.error += std::string("gpuemu links PTX alone: ") + (name == nullptr ? "an input" : name) +
                  " has none; compile it to PTX\n";
  char nothing = 0;
  (void)cuLinkAddData_v2(linker.driver_linker, kDriverMachineCode, &nothing, 0, name, 0, nullptr,
                         nullptr);
  return kUnrecognizedInput;
}

Linker* linker_of(void* handle) { return static_cast<Linker*>(handle); }

/// Copies a text with its final zero; returns only its size if `into` is null.
int give(const std::string& text, size_t* bytes, char* into) {
  if (bytes != nullptr) *bytes = text.size() + 1;
  if (into != nullptr) std::memcpy(into, text.c_str(), text.size() + 1);
  return kSuccess;
}

int give_linked(void* handle, size_t* bytes, char* into) {
  const Linker* const linker = linker_of(handle);
  if (linker == nullptr || (bytes == nullptr && into == nullptr)) return kNullInput;
  return linker->is_complete ? give(linker->linked, bytes, into) : kFinalize;
}

bool is_known(std::string_view option) {
  const std::string_view name = option.substr(0, option.find('='));
  return std::ranges::any_of(kOptions, [&](std::string_view known) {
    return name == known || (known == "-O" && name.starts_with(known));
  });
}

}  // namespace

GPUEMU_LINK_API int nvJitLinkCreate(void** handle, uint32_t count, const char** options) {
  if (handle == nullptr || (count != 0 && options == nullptr)) return kNullInput;
  bool has_arch = false;
  for (uint32_t i = 0; i < count; ++i) {
    const std::string_view option = options[i] == nullptr ? "" : options[i];
    if (!is_known(option)) return kUnrecognizedOption;
    has_arch |= option.starts_with("-arch=");
  }
  if (!has_arch) return kMissingArch;
  const SomeContext context;
  auto* const made = new Linker;
  int log_options[] = {kErrorLog, kErrorLogBytes};
  void* log_values[] = {made->driver_log.data(), reinterpret_cast<void*>(made->driver_log.size())};
  if (cuLinkCreate_v2(2, log_options, log_values, &made->driver_linker) != 0) {
    delete made;
    return kInternal;
  }
  (void)gpuemu_link_conflicts(made->driver_linker);
  *handle = made;
  return kSuccess;
}

GPUEMU_LINK_API int nvJitLinkDestroy(void** handle) {
  if (handle == nullptr || *handle == nullptr) return kNullInput;
  Linker* const gone = linker_of(std::exchange(*handle, nullptr));
  (void)cuLinkDestroy(gone->driver_linker);
  delete gone;
  return kSuccess;
}

GPUEMU_LINK_API int nvJitLinkAddData(void* handle, int type, const void* data, size_t bytes,
                                     const char* name) {
  if (handle == nullptr || data == nullptr) return kNullInput;
  Linker& linker = *linker_of(handle);
  const int kind = driver_kind(type, {static_cast<const char*>(data), bytes});
  if (kind == kNone) return refuse(linker, name);
  const int code = cuLinkAddData_v2(linker.driver_linker, kind, const_cast<void*>(data), bytes,
                                    name, 0, nullptr, nullptr);
  if (code == 0) return kSuccess;
  return kind == kDriverFatBinary ? kMissingFatBinary : refuse(linker, name);
}

GPUEMU_LINK_API int nvJitLinkAddFile(void* handle, int type, const char* path) {
  if (handle == nullptr || path == nullptr) return kNullInput;
  Linker& linker = *linker_of(handle);
  const std::string_view name = path;
  const std::string_view begin = name.ends_with(".a")        ? "!<arch>"
                                 : name.ends_with(".ptx")    ? ".version"
                                 : name.ends_with(".fatbin") ? "\x50\xed\x55\xba"
                                                             : "";
  const int kind = driver_kind(type, begin);
  if (kind == kNone) return refuse(linker, path);
  const int code = cuLinkAddFile_v2(linker.driver_linker, kind, path, 0, nullptr, nullptr);
  if (code == 0) return kSuccess;
  linker.error += "cannot link " + std::string(name) + "\n";
  return kInvalidInput;
}

GPUEMU_LINK_API int nvJitLinkComplete(void* handle) {
  if (handle == nullptr) return kNullInput;
  Linker& linker = *linker_of(handle);
  void* image = nullptr;
  size_t bytes = 0;
  if (cuLinkComplete(linker.driver_linker, &image, &bytes) != 0) {
    const std::string_view why = linker.driver_log.data();
    linker.error += std::string(why.empty() ? "there is nothing to link" : why) + "\n";
    return kFinalize;
  }
  linker.error += linker.driver_log.data();
  linker.linked.assign(static_cast<const char*>(image), bytes - 1);
  linker.is_complete = true;
  return kSuccess;
}

GPUEMU_LINK_API int nvJitLinkGetLinkedCubinSize(void* handle, size_t* bytes) {
  return give_linked(handle, bytes, nullptr);
}
GPUEMU_LINK_API int nvJitLinkGetLinkedCubin(void* handle, void* into) {
  return give_linked(handle, nullptr, static_cast<char*>(into));
}
GPUEMU_LINK_API int nvJitLinkGetLinkedPtxSize(void* handle, size_t* bytes) {
  return give_linked(handle, bytes, nullptr);
}
GPUEMU_LINK_API int nvJitLinkGetLinkedPtx(void* handle, char* into) {
  return give_linked(handle, nullptr, into);
}
GPUEMU_LINK_API int nvJitLinkGetErrorLogSize(void* handle, size_t* bytes) {
  if (handle == nullptr || bytes == nullptr) return kNullInput;
  return give(linker_of(handle)->error, bytes, nullptr);
}
GPUEMU_LINK_API int nvJitLinkGetErrorLog(void* handle, char* into) {
  if (handle == nullptr || into == nullptr) return kNullInput;
  return give(linker_of(handle)->error, nullptr, into);
}
/// There is no information: the log is always empty.
GPUEMU_LINK_API int nvJitLinkGetInfoLogSize(void* handle, size_t* bytes) {
  if (handle == nullptr || bytes == nullptr) return kNullInput;
  return give({}, bytes, nullptr);
}
GPUEMU_LINK_API int nvJitLinkGetInfoLog(void* handle, char* into) {
  if (handle == nullptr || into == nullptr) return kNullInput;
  return give({}, nullptr, into);
}
GPUEMU_LINK_API int nvJitLinkVersion(unsigned* major, unsigned* minor) {
  if (major == nullptr || minor == nullptr) return kNullInput;
  *major = 13;
  *minor = 0;
  return kSuccess;
}

}  // namespace gpuemu::libnvjitlink

// The header gives each function a name with its version.
#define GPUEMU_VERSIONED(name)                                         \
  GPUEMU_LINK_API decltype(gpuemu::libnvjitlink::name) __##name##_13_0 \
      __attribute__((alias(#name)));
// NOLINTBEGIN(bugprone-reserved-identifier)
GPUEMU_VERSIONED(nvJitLinkCreate)
GPUEMU_VERSIONED(nvJitLinkDestroy)
GPUEMU_VERSIONED(nvJitLinkAddData)
GPUEMU_VERSIONED(nvJitLinkAddFile)
GPUEMU_VERSIONED(nvJitLinkComplete)
GPUEMU_VERSIONED(nvJitLinkGetLinkedCubinSize)
GPUEMU_VERSIONED(nvJitLinkGetLinkedCubin)
GPUEMU_VERSIONED(nvJitLinkGetLinkedPtxSize)
GPUEMU_VERSIONED(nvJitLinkGetLinkedPtx)
GPUEMU_VERSIONED(nvJitLinkGetErrorLogSize)
GPUEMU_VERSIONED(nvJitLinkGetErrorLog)
GPUEMU_VERSIONED(nvJitLinkGetInfoLogSize)
GPUEMU_VERSIONED(nvJitLinkGetInfoLog)
// NOLINTEND(bugprone-reserved-identifier)
