// One of the two that are compared: a device that runs the kernels, or what one answered before.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/arena.h"
#include "judge/cases/case.h"
#include "runtime/backends/backends.h"
#include "tests/fidelity/project.h"
#include "tests/fidelity/recording.h"

namespace gpuemu::fidelity {

/// What one case gave on one side.
struct Answer {
  std::string inputs;                           ///< Hash of all inputs' bytes.
  std::vector<std::vector<std::byte>> outputs;  ///< In the order of output_tensors().
  std::string note;                             ///< First finding or error; "" when all went well.
};

/// Of a plan, what is compared.
std::vector<const PlanTensor*> output_tensors(const ExecutionPlan& plan);

class Side {
 public:
  virtual ~Side() = default;
  virtual std::string title() const = 0;
  virtual Result<Answer> run(const Subject& subject, const CasePlan& plan) = 0;
};

/// `request.backend` is the name of a backend, or the path of a recording.
Result<std::unique_ptr<Side>> open_side(const DeviceRequest& request);

/// The name under which a case is recorded.
std::string case_name(const Subject& subject, const CasePlan& plan);
void record(Recording& into, const std::string& name, const Answer& answer);

}  // namespace gpuemu::fidelity
