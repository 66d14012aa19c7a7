#include "bindings/libcuda/settings.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

#include "common/base/device_list.h"
#include "runtime/run_record/run_settings.h"

namespace gpuemu::libcuda {
namespace {

/// Returns the devices that CUDA_VISIBLE_DEVICES lists, in its order. As with NVIDIA's driver, the
/// first word that is not the index of a device ends the list, and an empty list
/// hides all.
std::vector<RunDevice> visible(const std::vector<RunDevice>& all, const char* list) {
  if (list == nullptr) return all;
  std::vector<RunDevice> kept;
  std::string_view rest = list;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    size_t index = 0;
    const auto [end, wrong] = std::from_chars(word.data(), word.data() + word.size(), index);
    if (wrong != std::errc() || end != word.data() + word.size() || index >= all.size()) break;
    kept.push_back(all[index]);
  }
  return kept;
}

Result<Settings> read_settings() {
  Settings made;
  if (const char* folder = std::getenv(kRunFolderVariable); folder != nullptr) {
    static_cast<DriverSettings&>(made) = GPUEMU_TRY(read_run_settings(folder));
    made.folder = folder;
  } else if (const char* arch = std::getenv(kRunArchVariable); arch != nullptr) {
    made.devices.front().sm = GPUEMU_TRY(parse_emulated_device(arch)).sm;
  }
  made.devices = visible(made.devices, std::getenv("CUDA_VISIBLE_DEVICES"));
  return made;
}

}  // namespace

const Result<Settings>& settings_of_environment() {
  static const Result<Settings> kSettings = read_settings();
  return kSettings;
}

}  // namespace gpuemu::libcuda
