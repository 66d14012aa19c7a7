#include "runtime/emulator/steps/externals.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "runtime/emulator/steps/steps.h"

namespace gpuemu::emulator::steps {
namespace {

struct External {
  std::string_view name;
  void (*run)(Warp&, const Step&, const CallSite&);
};
constexpr auto kExternals = std::to_array<External>({
    {"__assertfail", assert_failed},
    {"free", free_memory},
    {"malloc", take_memory},
    {"vprintf", print},
});
}  // namespace

bool is_external(std::string_view name) {
  return std::ranges::find(kExternals, name, &External::name) != kExternals.end();
}

void call_external(Warp& warp, const Step& step, const CallSite& site) {
  const auto found =
      std::ranges::find(kExternals, std::string_view(site.external), &External::name);
  found->run(warp, step, site);
}

uint64_t argument(Warp& warp, const CallSite& site, size_t which, uint32_t lane) {
  uint64_t value = 0;
  if (which >= site.arguments.size()) return 0;
  const Frame& frame = warp.frame();
  const ParamSlot& slot = site.arguments[which];
  std::memcpy(&value, &frame.params[size_t{lane} * frame.code->param_bytes + slot.offset],
              std::min<size_t>(slot.bytes, 8));
  return value;
}

void give_back(Warp& warp, const CallSite& site, uint32_t lane, uint64_t value) {
  if (site.results.empty()) return;
  Frame& frame = warp.frame();
  const ParamSlot& slot = site.results[0];
  std::memcpy(&frame.params[size_t{lane} * frame.code->param_bytes + slot.offset], &value,
              std::min<size_t>(slot.bytes, sizeof value));
}

}  // namespace gpuemu::emulator::steps
