#include "daemon/case/reproduction.h"

#include "common/config/config.h"
#include "common/protocol/layout_name.h"
#include "common/tensor/snapshot.h"
#include "daemon/case/case_request.h"
#include "judge/cases/case.h"

namespace gpuemu {
namespace {

// Larger inputs are not stored: they follow from the seed, and the snapshot only confirms them.
constexpr size_t kSnapshotBytesMax = size_t{16} << 20;

}  // namespace

NamedTensors make_inputs(const OpConfig& op, const CasePlan& plan) {
  NamedTensors inputs;
  for (size_t index = 0; index < plan.inputs.size(); ++index) {
    const CaseTensor& input = plan.inputs[index];
    Tensor tensor = make_tensor(input.dtype, input.shape);
    fill_input(op, plan, index, tensor.data);
    inputs.emplace(input.name, std::move(tensor));
  }
  return inputs;
}

ReproductionInfo reproduction_of(const CasePlan& plan, const NamedTensors& inputs) {
  ReproductionInfo info;
  info.seed = plan.case_seed;
  const CaseTensor* representative = !plan.outputs.empty()  ? &plan.outputs.front()
                                     : !plan.inputs.empty() ? &plan.inputs.front()
                                                            : nullptr;
  if (representative != nullptr) {
    info.shape = representative->shape;
    info.strides = representative->layout.strides;
  }
  info.dtype = plan.dtype;
  const std::string layout(name_of(plan.layout));
  info.layout = layout_from_name(layout).value_or(LayoutKind::Contiguous);
  info.base_seed = plan.base_seed;
  info.iteration = plan.iteration;
  info.dims = plan.dims;
  info.attrs = plan.attrs;
  info.value_strategy = name_of(plan.value_strategy);
  info.kernel = plan.kernel;
  info.value_scale = plan.value_scale;
  info.value_parameters = plan.value_parameters;
  if (!layout_from_name(layout)) {
    info.layout = LayoutKind::Strided;
    info.layout_name = layout;
    for (const CaseTensor& input : plan.inputs) {
      info.input_strides[input.name] = input.layout.strides;
    }
  }
  size_t bytes = 0;
  for (const auto& [name, tensor] : inputs) bytes += tensor.data.size();
  if (!inputs.empty() && bytes <= kSnapshotBytesMax) {
    if (auto snapshot = encode_legacy_snapshot(inputs)) info.input_snapshot = *std::move(snapshot);
  }
  return info;
}

ReproductionInfo reproduction_of(const CaseRequest& request, const NamedTensors& inputs) {
  CasePlan named = request.plan;
  named.kernel = request.kernel.name;
  return reproduction_of(named, inputs);
}

namespace {

/// Returns an error if stored inputs do not fit the op as it is now.
Status check_stored(const CasePlan& plan) {
  for (const CaseTensor& input : plan.inputs) {
    const auto kept = plan.stored->find(input.name);
    if (kept != plan.stored->end() && kept->second.dtype == input.dtype &&
        kept->second.shape == input.shape) {
      continue;
    }
    return error(ErrorCode::InvalidArgument,
                 "the stored inputs of case {} do not fit op '{}' any more: '{}' is {} of {} now",
                 plan.case_seed, plan.op, input.name, name_of(input.dtype), to_string(input.shape));
  }
  return ok_status();
}

}  // namespace

Result<CasePlan> plan_from(const OpConfig& op, const ReproductionInfo& info) {
  if (!info.base_seed || !info.iteration) {
    return error(ErrorCode::InvalidArgument, "case {} was submitted by a client, not generated",
                 info.seed);
  }
  CasePlan plan;
  plan.op = op.name;
  plan.base_seed = *info.base_seed;
  plan.iteration = *info.iteration;
  plan.case_seed = info.seed;
  plan.dtype = info.dtype;
  plan.attrs = info.attrs;
  const auto layout = memory_layout_from_name(info.layout_name.empty() ? lower_name_of(info.layout)
                                                                       : info.layout_name);
  const auto strategy = strategy_from_name(info.value_strategy);
  if (!layout || !strategy) {
    return error(ErrorCode::InvalidArgument,
                 "case {} has the {} '{}', which this version does not know: run it with the "
                 "version that has found it",
                 info.seed, layout ? "value strategy" : "layout",
                 layout ? info.value_strategy : info.layout_name);
  }
  plan.layout = *layout;
  plan.value_strategy = *strategy;
  plan.value_scale = info.value_scale.value_or(1.0);
  plan.value_parameters = info.value_parameters;
  plan.kernel = info.kernel;
  if (plan.value_strategy == Strategy::Stored) {
    if (!info.input_snapshot) {
      return error(ErrorCode::Corruption, "case {} has lost the inputs that were stored with it",
                   info.seed);
    }
    plan.stored = std::make_shared<const NamedTensors>(
        GPUEMU_TRY(decode_legacy_snapshot(*info.input_snapshot)));
    const CasePlan made = GPUEMU_TRY(with_dims(op, plan, info.dims));
    GPUEMU_TRY(check_stored(made));
    return made;
  }
  return with_dims(op, plan, info.dims);
}

}  // namespace gpuemu
