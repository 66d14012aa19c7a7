#include "runtime/compile/nvcc_flags.h"

#include <algorithm>
#include <string_view>

namespace gpuemu::compile {
namespace {

struct HostFlag {
  std::string_view name;
  bool has_value = false;  ///< In the same text after '=', or as the next one.
};
// Each is also written with one dash. NVRTC 13.0 ends with "unrecognized option" at each of them.
constexpr HostFlag kHostFlags[] = {{"--expt-relaxed-constexpr"},
                                   {"--expt-extended-lambda"},
                                   {"--extended-lambda"},
                                   {"--compiler-options", true},
                                   {"--compiler-bindir", true},
                                   {"-Xcompiler", true},
                                   {"-Xlinker", true},
                                   {"-Xfatbin", true},
                                   {"-ccbin", true},
                                   {"--fatbin-options", true},
                                   {"--threads", true},
                                   {"--default-stream", true},
                                   {"--optimize", true},
                                   {"-O", true},
                                   {"-t", true},
                                   {"-O0"},
                                   {"-O1"},
                                   {"-O2"},
                                   {"-O3"},
                                   {"-g"},
                                   {"--debug"},
                                   {"-m64"},
                                   {"--keep"},
                                   {"--verbose"},
                                   {"-v"},
                                   {"-MD"},
                                   {"-MMD"},
                                   {"-fPIC"},
                                   {"-Wall"},
                                   {"-Wextra"},
                                   {"--Wno-deprecated-gpu-targets"},
                                   {"--forward-unknown-to-host-compiler"},
                                   {"--forward-unknown-opts"}};

bool is_named(std::string_view flag, std::string_view name) {
  return flag == name || (name.starts_with("--") && flag == name.substr(1));
}

}  // namespace

std::vector<std::string> flags_for_nvrtc(const std::vector<std::string>& flags) {
  std::vector<std::string> kept;
  for (size_t i = 0; i < flags.size(); ++i) {
    const std::string_view flag = flags[i];
    const std::string_view name = flag.substr(0, flag.find('='));
    const auto known = std::ranges::find_if(
        kHostFlags, [&](const HostFlag& one) { return is_named(name, one.name); });
    if (known == std::end(kHostFlags)) {
      kept.push_back(flags[i]);
    } else if (known->has_value && name == flag) {
      ++i;
    }
  }
  return kept;
}

bool relaxes_constexpr(const std::vector<std::string>& flags) {
  return std::ranges::any_of(
      flags, [](const std::string& flag) { return is_named(flag, "--expt-relaxed-constexpr"); });
}

}  // namespace gpuemu::compile
