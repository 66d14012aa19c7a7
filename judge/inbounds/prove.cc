#include "judge/inbounds/prove.h"

#include "judge/inbounds/limits.h"

namespace gpuemu::inbounds {

std::vector<Access> prove_accesses(const ptx::Module& module, const ptx::Function& entry,
                                   LaunchDomain space) {
  const Flow flow = flow_of(entry);
  const bool large = entry.body.size() > kInstructionsMax;
  if (flow.reducible && !large) return Evaluator(module, entry, flow, std::move(space)).run();
  const char* reason =
      large ? "the kernel is too long" : "a loop of the kernel has several entries";
  return list_accesses(entry, reason);
}

}  // namespace gpuemu::inbounds
