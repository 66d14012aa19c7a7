#include "runtime/device/contraction.h"

namespace gpuemu {
namespace {
struct Row {
  Contraction contraction;
  std::string_view name;
};
constexpr Row kRows[] = {
    {Contraction::Auto, "auto"},
    {Contraction::Never, "never"},
    {Contraction::Always, "always"},
    {Contraction::Random, "random"},
};
}  // namespace

std::string_view name_of(Contraction contraction) {
  return kRows[static_cast<size_t>(contraction)].name;
}

std::optional<Contraction> contraction_from_name(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.contraction;
  }
  return std::nullopt;
}

}  // namespace gpuemu
