#include "daemon/mutation/mutant_equality.h"

#include <algorithm>

#include "common/config/config.h"
#include "common/numeric/ulp.h"
#include "daemon/case/case_policy.h"
#include "daemon/case/case_report.h"
#include "daemon/case/case_request.h"
#include "daemon/case/reproduction.h"
#include "judge/cases/case.h"
#include "judge/relations/compare.h"

namespace gpuemu {
namespace {

constexpr uint64_t kUlps = 1;
constexpr double kShareOfBound = 1.0 / 16;

/// Returns for each element whether both values are equal or neighbours in their type.
std::vector<bool> neighbours(const Tensor& a, const Tensor& b) {
  const size_t size = byte_size(a.dtype);
  std::vector<bool> near(static_cast<size_t>(a.count()));
  for (size_t i = 0; i < near.size(); ++i) {
    const std::byte *x = a.data.data() + i * size, *y = b.data.data() + i * size;
    near[i] =
        std::equal(x, x + size, y) || (is_float(a.dtype) && ulp_distance(a.dtype, x, y) <= kUlps);
  }
  return near;
}

}  // namespace

bool same_without_rounding(const CaseRequest& request, const CaseReport& own,
                           const CaseReport& mutant) {
  const NamedTensors& exact = own.extras.shadows->exact_outputs;
  const NamedTensors& mutated = mutant.extras.shadows->exact_outputs;
  if (exact.empty()) return false;
  const NamedTensors inputs = make_inputs(request.op, request.plan);
  return std::ranges::all_of(exact, [&](const auto& one) {
    const auto& [name, expected] = one;
    const auto got = mutated.find(name);
    if (got == mutated.end() || got->second.shape != expected.shape) return false;
    Agreement agreement{.output = name, .got = got->second, .expected = expected};
    agreement.free = neighbours(got->second, expected);
    agreement.policy = agreement_policy(request);
    agreement.policy.tolerance = request.config.tolerance_for(request.op, expected.dtype, name);
    agreement.policy.widen = kShareOfBound;
    agreement.inputs = &inputs;
    if (!request.plan.inputs.empty()) agreement.reference_input = request.plan.inputs.front().name;
    return !find_disagreement(agreement);
  });
}

}  // namespace gpuemu
