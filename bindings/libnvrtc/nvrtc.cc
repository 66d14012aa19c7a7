// Calls NVIDIA's NVRTC for the program. If the program requests machine code (an architecture
// sm_NN) or code for the link-time optimizer (-dlto), NVRTC makes PTX of the same architecture. The
// program gets this PTX as the requested code, and our driver and our nvJitLink load it. Line
// tables are always made, so that findings name lines of the source.
#include <algorithm>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "bindings/libnvrtc/real_library.h"

#define GPUEMU_NVRTC_API extern "C" __attribute__((visibility("default")))

namespace gpuemu::libnvrtc {
namespace {

using Program = void*;

/// nvrtcResult
enum Code : int { kSuccess = 0, kInvalidInput = 3, kInternal = 11 };

template <typename... Arguments>
int call_real(void* function, Arguments... arguments) {
  if (function == nullptr) return kInternal;
  return reinterpret_cast<int (*)(Arguments...)>(function)(arguments...);
}

/// The form of the compiled code that the program requested.
enum class Form { Text, MachineCode, LinkTime };

/// The forms of programs for which a form other than text was requested. Thread-safe.
class Forms {
 public:
  void note(Program program, Form form) {
    const std::scoped_lock lock(mutex_);
    if (form == Form::Text) {
      forms_.erase(program);
    } else {
      forms_[program] = form;
    }
  }
  bool is(Program program, Form form) {
    const std::scoped_lock lock(mutex_);
    const auto found = forms_.find(program);
    return found != forms_.end() && found->second == form;
  }

 private:
  std::mutex mutex_;
  std::map<Program, Form> forms_;  // Under mutex_.
};

Forms& forms() {
  static auto* const kForms = new Forms;  // Programs may be destroyed after our statics.
  return *kForms;
}

constexpr std::string_view kArchitecture[] = {"--gpu-architecture", "-arch"};
constexpr std::string_view kLinkTime[] = {"-dlto", "--dlink-time-opt", "--dlink-time-opt=true"};
constexpr std::string_view kOfLinkTime[] = {"-gen-opt-lto", "--gen-opt-lto"};  // Used with -dlto.
constexpr std::string_view kOptix[] = {"-optix-ir", "--optix-ir", "--optix-ir=true"};
constexpr std::string_view kLineTables[] = {
    "-lineinfo", "--generate-line-info", "--generate-line-info=true",
    "-G",        "--device-debug",       "--device-debug=true"};

template <size_t N>
bool is_among(std::string_view option, const std::string_view (&names)[N]) {
  return std::ranges::find(names, option) != std::end(names);
}

/// The options for NVRTC.
struct Options {
  std::vector<std::string> texts;
  Form form = Form::Text;  ///< The requested form.
};

/// Replaces sm_NN, after an equals sign or as a separate option, by compute_NN, and code for a
/// link-time optimizer by relocatable text.
Options translate(int count, const char* const* given) {
  Options options;
  bool is_machine_code = false, is_link_time = false, is_optix = false, has_lines = false;
  bool architecture_follows = false;
  for (int i = 0; i < count; ++i) {
    std::string text = given[i] == nullptr ? "" : given[i];
    if (is_among(text, kOfLinkTime)) continue;
    if (is_among(text, kLinkTime)) {
      is_link_time = true;
      text = "--relocatable-device-code=true";
    }
    is_optix = is_optix || is_among(text, kOptix);
    has_lines = has_lines || is_among(text, kLineTables);
    const size_t equals = text.find('=');
    const bool is_architecture = is_among(text.substr(0, equals), kArchitecture);
    const size_t value = architecture_follows                             ? 0
                         : is_architecture && equals != std::string::npos ? equals + 1
                                                                          : text.size();
    architecture_follows = is_architecture && equals == std::string::npos;
    if (text.compare(value, 3, "sm_") == 0) {
      is_machine_code = true;
      text.replace(value, 3, "compute_");
    }
    options.texts.push_back(std::move(text));
  }
  if (is_optix) return options;
  if (!has_lines) options.texts.emplace_back("-lineinfo");
  options.form = is_link_time ? Form::LinkTime : is_machine_code ? Form::MachineCode : Form::Text;
  return options;
}

}  // namespace

GPUEMU_NVRTC_API int nvrtcCompileProgram(Program program, int count, const char* const* given) {
  if (count < 0 || (count > 0 && given == nullptr)) return kInvalidInput;
  const Options options = translate(count, given);
  std::vector<const char*> texts;
  for (const std::string& text : options.texts) texts.push_back(text.c_str());
  static void* const real = real_function("nvrtcCompileProgram");
  const int code = call_real(real, program, static_cast<int>(texts.size()), texts.data());
  if (code == kSuccess) forms().note(program, options.form);
  return code;
}

GPUEMU_NVRTC_API int nvrtcDestroyProgram(Program* program) {
  if (program != nullptr) forms().note(*program, Form::Text);
  static void* const real = real_function("nvrtcDestroyProgram");
  return call_real(real, program);
}

// Returns text where the program expects machine code or code for the link-time optimizer.
#define GPUEMU_TEXT_FOR(name, text_name, form, into_type)                           \
  GPUEMU_NVRTC_API int name(Program program, into_type into) {                      \
    static void* const text = real_function(#text_name);                            \
    static void* const real = real_function(#name);                                 \
    return call_real(forms().is(program, Form::form) ? text : real, program, into); \
  }
GPUEMU_TEXT_FOR(nvrtcGetCUBINSize, nvrtcGetPTXSize, MachineCode, size_t*)
GPUEMU_TEXT_FOR(nvrtcGetCUBIN, nvrtcGetPTX, MachineCode, char*)
GPUEMU_TEXT_FOR(nvrtcGetLTOIRSize, nvrtcGetPTXSize, LinkTime, size_t*)
GPUEMU_TEXT_FOR(nvrtcGetLTOIR, nvrtcGetPTX, LinkTime, char*)

GPUEMU_NVRTC_API const char* nvrtcGetErrorString(int code) {
  static void* const real = real_function("nvrtcGetErrorString");
  if (real == nullptr) return "libnvrtc is not found";
  return reinterpret_cast<const char* (*)(int)>(real)(code);
}

// Forwards the other functions unchanged.
#define GPUEMU_FORWARD(name, parameters, ...)       \
  GPUEMU_NVRTC_API int name parameters {            \
    static void* const real = real_function(#name); \
    return call_real(real, __VA_ARGS__);            \
  }
GPUEMU_FORWARD(nvrtcVersion, (int* major, int* minor), major, minor)
GPUEMU_FORWARD(nvrtcGetNumSupportedArchs, (int* count), count)
GPUEMU_FORWARD(nvrtcGetSupportedArchs, (int* numbers), numbers)
GPUEMU_FORWARD(nvrtcCreateProgram,
               (Program * program, const char* source, const char* name, int headers,
                const char* const* header_texts, const char* const* header_names),
               program, source, name, headers, header_texts, header_names)
GPUEMU_FORWARD(nvrtcAddNameExpression, (Program program, const char* expression), program,
               expression)
GPUEMU_FORWARD(nvrtcGetLoweredName, (Program program, const char* expression, const char** name),
               program, expression, name)
GPUEMU_FORWARD(nvrtcGetPTXSize, (Program program, size_t* bytes), program, bytes)
GPUEMU_FORWARD(nvrtcGetPTX, (Program program, char* into), program, into)
GPUEMU_FORWARD(nvrtcGetOptiXIRSize, (Program program, size_t* bytes), program, bytes)
GPUEMU_FORWARD(nvrtcGetOptiXIR, (Program program, char* into), program, into)
GPUEMU_FORWARD(nvrtcGetProgramLogSize, (Program program, size_t* bytes), program, bytes)
GPUEMU_FORWARD(nvrtcGetProgramLog, (Program program, char* into), program, into)
GPUEMU_FORWARD(nvrtcSetFlowCallback,
               (Program program, int (*callback)(void*, void*), void* payload), program, callback,
               payload)
GPUEMU_FORWARD(nvrtcGetPCHHeapSize, (size_t* bytes), bytes)
GPUEMU_FORWARD(nvrtcSetPCHHeapSize, (size_t bytes), bytes)
GPUEMU_FORWARD(nvrtcGetPCHCreateStatus, (Program program), program)
GPUEMU_FORWARD(nvrtcGetPCHHeapSizeRequired, (Program program, size_t* bytes), program, bytes)

}  // namespace gpuemu::libnvrtc
