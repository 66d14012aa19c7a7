#include "common/config/start_settings.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

namespace gpuemu {
namespace {

constexpr std::array<std::string_view, 8> kStartKeys = {
    "runtime.backend", "runtime.emulated_devices", "runtime.arch",   "runtime.contraction",
    "runtime.workers", "runtime.memory_limit_mb",  "runtime.python", "daemon.db"};

bool is_start_key(const std::string& key) {
  return std::ranges::find(kStartKeys, key) != kStartKeys.end();
}

/// Returns whether it was set for this command alone, so that it applies without a project too.
bool is_said_now(const std::string& origin) {
  return origin.starts_with("environment ") || origin.starts_with("flag ");
}

}  // namespace

std::string emulated_devices_of(const Config& config) {
  for (const Config::Setting& one : config.settings) {
    // Strip the quotes of a listed text.
    if (one.key == "runtime.emulated_devices") return one.value.substr(1, one.value.size() - 2);
  }
  return "";
}

std::map<std::string, std::string> start_settings(const Config& config) {
  std::map<std::string, std::string> settings;
  for (const Config::Setting& one : config.settings) {
    if (is_start_key(one.key)) settings[one.key] = one.value;
  }
  return settings;
}

std::string unlike_environment(const Config& wanted,
                               const std::map<std::string, std::string>& served) {
  for (const Config::Setting& one : wanted.settings) {
    if (!is_start_key(one.key) || !is_said_now(one.origin)) continue;
    const auto has = served.find(one.key);
    if (has == served.end() || has->second == one.value) continue;
    return fmt::format("{} = {}, expected {}", one.key, has->second, one.value);
  }
  return "";
}

}  // namespace gpuemu
