// The table of device_findings.def, and the functions that read it.
#include "runtime/device/device_finding.h"

#include <array>

namespace gpuemu {
namespace {

struct FindingRow {
  std::string_view name;
  DeviceFindingEffect effect;
};
constexpr std::array kFindingRows = {
#define GPUEMU_DEVICE_FINDING(kind, name, effect, finding) \
  FindingRow{name, DeviceFindingEffect::effect},
#define GPUEMU_DEVICE_NOTE(kind, name) FindingRow{name, DeviceFindingEffect::Explains},
#include "runtime/device/device_findings.def"
#undef GPUEMU_DEVICE_FINDING
#undef GPUEMU_DEVICE_NOTE
};

}  // namespace

std::string_view name_of(DeviceFindingKind kind) {
  return kFindingRows.at(static_cast<size_t>(kind)).name;
}

DeviceFindingEffect effect_of(DeviceFindingKind kind) {
  return kFindingRows.at(static_cast<size_t>(kind)).effect;
}

bool is_redundancy(const DeviceFinding& finding) {
  return finding.kind == DeviceFindingKind::RedundantReads ||
         finding.kind == DeviceFindingKind::RedundantStores;
}

bool is_note(const DeviceFinding& finding) {
  return effect_of(finding.kind) == DeviceFindingEffect::Explains;
}

bool is_fault(const DeviceFinding& finding) {
  const DeviceFindingEffect effect = effect_of(finding.kind);
  return effect == DeviceFindingEffect::StopsLaunch || effect == DeviceFindingEffect::Faults;
}

}  // namespace gpuemu
