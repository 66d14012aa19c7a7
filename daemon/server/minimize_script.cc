// Minimize for ops with an op script: tries smaller cases of the clients' generator, or the same
// inputs with a smaller factor. Every trial runs op script and reference.
#include <algorithm>

#include "common/numeric/element.h"
#include "common/protocol/wire_errors.h"
#include "common/rng/legacy.h"
#include "common/tensor/snapshot.h"
#include "daemon/schedule/slot.h"
#include "daemon/schedule/slot_pool.h"
#include "daemon/server/client_judged_ops.h"
#include "daemon/storage/store.h"
#include "judge/cases/legacy_cases.h"

namespace gpuemu {
namespace {

// Halvings after which a double between 0 and 1 does not change any more.
constexpr uint64_t kHalvingsMax = 64;

struct Candidate {
  uint64_t seed = 0;
  Shape shape;  ///< The representative shape.
  NamedTensors inputs;
};

NamedTensors scaled(const NamedTensors& inputs, double factor) {
  NamedTensors out = inputs;
  std::vector<double> wide;
  for (auto& [name, tensor] : out) {
    if (!is_float(tensor.dtype)) continue;
    wide.resize(tensor.data.size() / byte_size(tensor.dtype));
    widen_to_double(tensor.dtype, tensor.data, wide);
    for (double& value : wide) value *= factor;
    narrow_from_double(tensor.dtype, wide, tensor.data);
  }
  return out;
}

/// Dim names of the representative shape, and of each input if a schema defines them.
class CaseShapes {
 public:
  CaseShapes(const ReproductionInfo& info, const NamedTensors& inputs)
      : schema_(info.fuzz_config ? info.fuzz_config->op_schema : std::nullopt), inputs_(inputs) {
    if (!schema_) return;
    if (schema_->output) {
      dims_ = schema_->output->dims;
    } else if (!schema_->inputs.empty()) {
      dims_ = schema_->inputs.front().dims;
    }
  }

  /// Returns the shape of input `name` if size `axis` of the representative shape changes to that
  /// of `shape`.
  Shape of_input(const std::string& name, const Shape& shape, size_t axis) const {
    const Shape& before = inputs_.at(name).shape;
    if (!schema_) return shape;
    const auto spec = std::ranges::find(schema_->inputs, name, &OpSchema::TensorDims::name);
    if (spec == schema_->inputs.end()) return shape;
    Shape after = before;
    for (size_t i = 0; i < after.size() && i < spec->dims.size() && axis < dims_.size(); ++i) {
      if (spec->dims[i] == dims_[axis]) after[i] = shape[axis];
    }
    return after;
  }

 private:
  std::optional<OpSchema> schema_;
  std::vector<std::string> dims_;
  const NamedTensors& inputs_;
};

class ScriptMinimizer {
 public:
  ScriptMinimizer(const ScriptCase& given, const MinimizeRequest& request, Call& call,
                  JobControl& control)
      : case_(given), request_(request), call_(call), control_(control) {
    smallest_ = {given.failure.seed, given.failure.repro_info->shape, given.inputs};
  }

  Reply run() {
    const auto first = judge(smallest_);
    if (!first) return error_reply(first.error());
    if (first->passed) {
      return ErrorReply{WireErrorCode::InvalidRequest,
                        fmt::format("the case {} of '{}' passes now; there is nothing to minimize",
                                    case_.failure.seed, case_.op.name)};
    }
    kind_ = first->failures.front().kind;
    failure_ = *first;
    const Status searched =
        request_.strategy == MinimizeStrategy::BinarySearchDims ? search_dims() : search_factor();
    const bool given_up = !searched && searched.error().code == ErrorCode::Cancelled;
    if (!searched && !given_up) return error_reply(searched.error());
    return finish();
  }

 private:
  Result<ValidationResult> judge(const Candidate& candidate) {
    auto lease = call_.context.slots.acquire(call_.claim);
    if (!lease) return lease.error();
    ++control_.done;
    auto judged = GPUEMU_TRY(judge_script(case_.config, case_.op, candidate.inputs, {}, **lease));
    judged.result.seed = candidate.seed;
    return std::move(judged.result);
  }

  /// Returns whether the candidate fails in the same way; it then becomes the smallest.
  Result<bool> accept(Candidate candidate) {
    ValidationResult result = GPUEMU_TRY(judge(candidate));
    if (result.passed || result.failures.front().kind != kind_) return false;
    smallest_ = std::move(candidate);
    failure_ = std::move(result);
    return true;
  }

  Candidate with_size(size_t axis, int64_t size) const {
    Candidate candidate;
    candidate.seed = legacy_min_dim_seed(case_.failure.seed, std::to_string(axis), size);
    candidate.shape = smallest_.shape;
    candidate.shape[axis] = size;
    const CaseShapes shapes(*case_.failure.repro_info, smallest_.inputs);
    const LegacyRng data = LegacyRng(candidate.seed).child("data");
    for (const auto& [name, before] : smallest_.inputs) {
      const auto at = std::ranges::find(case_.op.input_names, name);
      const auto position =
          at == case_.op.input_names.end() ? 0 : at - case_.op.input_names.begin();
      Tensor tensor = make_tensor(before.dtype, shapes.of_input(name, candidate.shape, axis));
      data.child("input_" + std::to_string(position)).fill(tensor.dtype, tensor.data);
      candidate.inputs.emplace(name, std::move(tensor));
    }
    return candidate;
  }

  Status search_dims() {
    for (size_t axis = 0; axis < smallest_.shape.size(); ++axis) {
      int64_t passes = 0;  // Sizes up to this one are known to pass.
      for (uint64_t step = 0; step < request_.max_iters && !control_.cancel; ++step) {
        const int64_t fails = smallest_.shape[axis];
        if (fails <= passes + 1) break;
        const int64_t size = passes + (fails - passes) / 2;
        if (!GPUEMU_TRY(accept(with_size(axis, size)))) passes = size;
      }
    }
    return ok_status();
  }

  Status search_factor() {
    double passes = 0, fails = 1;
    for (uint64_t step = 0; step < std::min(request_.max_iters, kHalvingsMax); ++step) {
      const double factor = passes + (fails - passes) / 2;
      if (control_.cancel || !(factor > passes && factor < fails)) break;
      Candidate candidate = {legacy_min_value_seed(case_.failure.seed, factor), smallest_.shape,
                             scaled(case_.inputs, factor)};
      (GPUEMU_TRY(accept(std::move(candidate))) ? fails : passes) = factor;
    }
    return ok_status();
  }

  Reply finish() {
    MinimizeResultReply reply;
    reply.original_seed = case_.failure.seed;
    reply.original_shape = case_.failure.repro_info->shape;
    reply.minimized_seed = smallest_.seed;
    reply.minimized_shape = smallest_.shape;
    reply.trials = control_.done;
    const bool smaller = smallest_.seed != case_.failure.seed;
    reply.result = std::move(failure_);
    reply.result.repro_info = case_.failure.repro_info;
    ReproductionInfo& info = *reply.result.repro_info;
    info.seed = smallest_.seed;
    info.shape = smallest_.shape;
    info.strides = legacy_strides(info.layout, info.shape);
    if (auto snapshot = encode_legacy_snapshot(smallest_.inputs)) {
      info.input_snapshot = *std::move(snapshot);
    }
    if (smaller) {
      const Status kept = call_.context.store.put_result(reply.result, true);
      if (!kept) return error_reply(kept.error());
    }
    return reply;
  }

  const ScriptCase& case_;
  const MinimizeRequest& request_;
  Call& call_;
  JobControl& control_;
  Candidate smallest_;
  ValidationResult failure_;  ///< How it failed in its trial.
  FindingKind kind_ = FindingKind::ToleranceExceeded;
};

}  // namespace

Reply minimize_script_case(const ScriptCase& given, const MinimizeRequest& request, Call& call,
                           JobControl& control) {
  return ScriptMinimizer(given, request, call, control).run();
}

}  // namespace gpuemu
