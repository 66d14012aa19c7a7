#include "daemon/sessions/client_names.h"

#include <array>
#include <fstream>

#include <fmt/core.h>
#include <pwd.h>

namespace gpuemu {
namespace {

constexpr unsigned char kSpace = 0x20, kDelete = 0x7F;
// The second half of Latin-1's control characters, as UTF-8 has them.
constexpr unsigned char kControlLead = 0xC2, kControlLast = 0x9F;

bool is_control(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(at) < kSpace || byte(at) == kDelete) return true;
  return byte(at) == kControlLead && at + 1 < text.size() && byte(at + 1) <= kControlLast;
}

}  // namespace

bool has_control_character(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_control(text, i)) return true;
  }
  return false;
}

std::string client_name(pid_t pid) {
  if (pid <= 0) return "client";
  std::string name;
  std::ifstream file(fmt::format("/proc/{}/comm", pid));
  std::getline(file, name);
  for (char& letter : name) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte < kSpace || byte >= kDelete) letter = '?';
  }
  return fmt::format("{}[{}]", name.empty() ? "client" : name, pid);
}

std::string user_name(uid_t uid) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  const int failed = ::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found);
  if (failed == 0 && found != nullptr) return found->pw_name;
  return fmt::format("{}", uid);
}

}  // namespace gpuemu
