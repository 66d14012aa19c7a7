#include "runtime/tape/tape.h"

#include <algorithm>
#include <array>

namespace gpuemu::tape {
namespace {

constexpr std::array<std::string_view, 6> kKinds = {"run",  "move",  "spill",
                                                    "load", "fetch", "free"};
constexpr std::array<std::string_view, 6> kStates = {"pending", "ready", "spilled",
                                                     "freed",   "lost",  "failed"};
constexpr std::array<std::string_view, 2> kPolicies = {"balanced", "locality"};

template <typename T, size_t N>
std::optional<T> named(const std::array<std::string_view, N>& names, std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<T>(found - names.begin());
}

}  // namespace

std::string_view name_of(Kind kind) { return kKinds[static_cast<size_t>(kind)]; }
std::string_view name_of(State state) { return kStates[static_cast<size_t>(state)]; }
std::string_view name_of(Policy policy) { return kPolicies[static_cast<size_t>(policy)]; }
std::optional<Kind> kind_from_name(std::string_view name) { return named<Kind>(kKinds, name); }
std::optional<State> state_from_name(std::string_view name) { return named<State>(kStates, name); }
std::optional<Policy> policy_from_name(std::string_view name) {
  return named<Policy>(kPolicies, name);
}

}  // namespace gpuemu::tape
