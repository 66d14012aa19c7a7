// The table of device_findings.def, and the functions that read it.
#include "runtime/device/device_finding.h"

#include <array>

#include <fmt/core.h>

#include "common/base/check.h"

namespace gpuemu {
namespace {

struct FindingRow {
  std::string_view name;
  DeviceFindingEffect effect;
  const char* text = nullptr;  ///< Only of a GPUEMU_DEVICE_UNCHECKED.
};
constexpr std::array kFindingRows = {
#define GPUEMU_DEVICE_FINDING(kind, name, effect, finding) \
  FindingRow{name, DeviceFindingEffect::effect},
#define GPUEMU_DEVICE_NOTE(kind, name) FindingRow{name, DeviceFindingEffect::Explains},
#define GPUEMU_DEVICE_UNCHECKED(kind, name, text) \
  FindingRow{name, DeviceFindingEffect::Limits, text},
#include "runtime/device/device_findings.def"
#undef GPUEMU_DEVICE_FINDING
#undef GPUEMU_DEVICE_NOTE
#undef GPUEMU_DEVICE_UNCHECKED
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

bool is_unchecked(const DeviceFinding& finding) {
  return effect_of(finding.kind) == DeviceFindingEffect::Limits;
}

bool is_note(const DeviceFinding& finding) {
  return effect_of(finding.kind) == DeviceFindingEffect::Explains || is_unchecked(finding);
}

DeviceFinding unchecked(DeviceFindingKind kind, const std::string& entry,
                        const std::string& subject, uint64_t limit) {
  const char* const text = kFindingRows.at(static_cast<size_t>(kind)).text;
  GPUEMU_CHECK(text != nullptr);
  DeviceFinding made;
  made.kind = kind;
  made.message = fmt::format(fmt::runtime(text), subject, limit);
  made.entry = entry;
  if (kind == DeviceFindingKind::UncheckedTensor) made.tensor = subject;
  return made;
}

bool is_fault(const DeviceFinding& finding) {
  const DeviceFindingEffect effect = effect_of(finding.kind);
  return effect == DeviceFindingEffect::StopsLaunch || effect == DeviceFindingEffect::Faults;
}

}  // namespace gpuemu
