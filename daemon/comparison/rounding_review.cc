#include "daemon/comparison/rounding_review.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/base/service_limits.h"
#include "daemon/case/case_policy.h"
#include "daemon/case/case_work.h"
#include "daemon/case/reproduction.h"
#include "daemon/comparison/fused_products.h"
#include "daemon/comparison/review_findings.h"
#include "daemon/comparison/sensitivity.h"
#include "daemon/comparison/sums_of_case.h"
#include "daemon/execution/exact_runs.h"
#include "daemon/kernels/prepared_kernel.h"
#include "daemon/schedule/slot.h"
#include "daemon/schedule/slot_pool.h"
#include "judge/bounds/conditioning.h"
#include "judge/bounds/float_format.h"
#include "judge/cases/case.h"
#include "judge/explain/narrow_steps.h"
#include "runtime/ptx/parse.h"

namespace gpuemu {
namespace {

/// What constants of float32, and tensor cores that sum in float32, may add to the formula's error,
/// as a multiple of the result's move.
constexpr double kTimesFormula = 8;
/// A formula that is off by this share of the element's magnitude is a different formula, whatever
/// its constants.
constexpr double kOtherFormula = 1e-2;
/// The relative error of a constant such as 1 - 0.999f is no larger than this.
constexpr double kRoundedConstant = 1e-4;
/// A formula counts as the right one if its error is at most this multiple of what its own rounded
/// constants cause: 0.9f m + 0.1f g is not 0 where 0.9 m + 0.1 g is. The review applies this to a
/// limited number of elements, because a wrong formula shows in more of them.
constexpr double kTimesConstants = 2;
constexpr ptrdiff_t kMovedByConstantsMost = 16;
/// Functions that saturate are constant where float32 cannot represent the difference: tanhf is 1
/// above 9. The error of that, in units in the last place of the element's magnitude. A derivative
/// has further factors.
constexpr double kSaturatedUlps = 128;
/// Functions are approximated by polynomials whose own error is below a unit in the last place.
constexpr double kFunctionUlps = 2;
/// What a sum in float64 loses with each of its terms to underflow, in smallest subnormal numbers.
constexpr double kLostPerTerm = 2;
/// The emulator is a hundred times as fast with rounding as without.
constexpr uint64_t kInstructionsMax = 60'000'000;
/// The limit on elements of all tensors: each has values without rounding for every draw.
constexpr int64_t kElementsMax = 1 << 20;

enum class Standing : uint8_t {
  Passes,
  Fused,
  Underflow,
  Undecided,  ///< Underflow decides a comparison otherwise, so any value may depend on it.
  Conditioning,
  Customary,
  Formula,
  Inaccurate
};

bool is_same_class(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::isinf(a) && a == b;
}

/// Returns whether the bound alone judges values that are not too small for their type: because the
/// run is strict, or because the op declares how large the output's errors may be.
bool is_bounded(const CaseRequest& request, const ExceedingElement& at) {
  return request.op.error_scale_of(at.output) != kShadowScale &&
         (at.declared || is_strict(request));
}

/// Decides about every exceeding element with runs without rounding.
class RoundingReview {
 public:
  /// `slot` has shadows and may differ from the case's slot; its code is not fused. `was_fused`:
  /// the case may have run on code in which products were fused with sums.
  RoundingReview(CaseWork& work, Slot& slot, bool was_fused)
      : request_(work.request),
        slot_(slot),
        was_fused_(was_fused),
        exceeding_(work.values.exceeding),
        report_(work.report),
        constants_share_(constants_share(work.request.plan)) {}

  Status review();

 private:
  struct Doubt {
    const ExceedingElement* at = nullptr;
    Conditioning conditioning{DType::Float32, 1};
    double exact = 0, lost = 0;
    Standing standing = Standing::Passes;
    bool hopeless = false, nearly = false;
    bool settled = false;  ///< move_constants() accepted it.
  };

  Status run_exactly_once();
  bool has_classes_of_reference() const;
  void begin(Doubt& doubt) const;
  bool is_underflow(const Doubt& doubt, double formula, double lost) const;
  void judge(Doubt& doubt, double moved) const;
  Status move_constants();
  Status draw_while_in_doubt(Sensitivity& sensitivity);
  void close();
  void note_narrow_steps() const;

  const CaseRequest& request_;
  Slot& slot_;
  const bool was_fused_;
  Exceeding exceeding_;
  CaseReport& report_;
  const double constants_share_;
  ExactRun exactly_;
  std::vector<Doubt> doubts_;
};

/// Decides what a single run without rounding can decide. Written so that NaN excuses nothing.
void RoundingReview::begin(Doubt& doubt) const {
  const ExceedingElement& at = *doubt.at;
  const auto value = exactly_.values.find(at.output), bound = exactly_.underflow.find(at.output);
  doubt.conditioning = {dtype_of_output(request_.plan, at.output),
                        summed_terms(request_, at.output), constants_share_ < 1};
  doubt.exact =
      value == exactly_.values.end() ? at.computed : element(view_of(value->second), at.index);
  const double lost =
      bound == exactly_.underflow.end() ? 0 : element(view_of(bound->second), at.index);
  if (std::isfinite(lost) && may_be_underflow(at, doubt.conditioning.format())) doubt.lost = lost;
  const double formula = std::fabs(doubt.exact - at.reference);
  if (std::fabs(at.computed - at.reference) <= at.tolerance) {
    doubt.standing = Standing::Fused;
  } else if (is_underflow(doubt, formula, lost)) {
    doubt.standing = Standing::Underflow;
  } else if (exceeding_.has_tiny_inputs && exactly_.lost_comparison) {
    doubt.standing = Standing::Undecided;
  } else if (!(formula <=
               at.tolerance + kOtherFormula * (std::fabs(at.reference) + at.magnitude))) {
    doubt.standing = Standing::Formula;
  } else {
    doubt.standing = Standing::Inaccurate;
  }
}

/// Returns whether results that lost `lost` of the exact value to underflow explain what was
/// computed. `formula`: how far the exact value is from the reference. Where all inputs are tiny, a
/// length or a determinant may have become 0, and what is divided by it anything.
bool RoundingReview::is_underflow(const Doubt& doubt, double formula, double lost) const {
  const ExceedingElement& at = *doubt.at;
  const bool is_tiny = exceeding_.has_tiny_inputs;
  // Runs without rounding are exact down to the smallest float64 alone.
  const FloatFormat& format = doubt.conditioning.format();
  if (&format == &format_of(DType::Float64) && !is_strict(request_) &&
      std::fabs(at.computed - at.reference) <=
          kLostPerTerm * doubt.conditioning.terms() * format.min_subnormal) {
    return true;
  }
  if (!(formula <= at.tolerance)) return false;
  const double error = std::fabs(at.computed - doubt.exact);
  if (is_tiny && !std::isfinite(at.computed)) return !(lost <= std::fabs(doubt.exact));
  if (is_tiny && !std::isfinite(lost)) return true;
  if (is_tiny) return error <= at.tolerance + lost;
  return may_be_underflow(at, doubt.conditioning.format()) && error <= at.tolerance + doubt.lost;
}

/// Decides one element. `moved` is how much the exact value moves with the last place of the
/// inputs.
void RoundingReview::judge(Doubt& doubt, double moved) const {
  const ExceedingElement& at = *doubt.at;
  const Conditioning& conditioning = doubt.conditioning;
  const double unit = std::min(conditioning.format().unit, format_of(DType::Float32).unit);
  // A run without rounding does not undo sums that tensor cores form in float32.
  const double constants =
      kTimesFormula * (constants_share_ < 1 ? std::max(1.0, std::sqrt(conditioning.terms())) : 1.0);
  const double formula =
      at.tolerance + constants * constants_share_ * moved + 2 * kFunctionUlps * unit * at.magnitude;
  const double arithmetic = conditioning.allowed(moved, doubt.exact) + doubt.lost;
  const double error = std::fabs(at.computed - doubt.exact);
  doubt.hopeless = !may_be_explained(error, arithmetic);
  doubt.nearly = is_nearly_explained(error, arithmetic);
  const double apart = std::fabs(doubt.exact - at.reference);
  const bool customary =
      !at.declared && std::fabs(at.computed - at.reference) <= at.customary &&
      apart <= formula + std::min(at.customary, std::max(kRoundedConstant * std::fabs(at.reference),
                                                         kSaturatedUlps * unit * at.magnitude));
  if (apart <= formula && error <= arithmetic) {
    doubt.standing = Standing::Conditioning;
  } else if (customary) {
    doubt.standing = Standing::Customary;
  } else {
    doubt.standing = apart <= formula ? Standing::Inaccurate : Standing::Formula;
  }
}

Status RoundingReview::run_exactly_once() {
  exactly_ =
      GPUEMU_TRY(run_for_underflow(request_, slot_, make_inputs(request_.op, request_.plan)));
  if (was_fused_) {
    GPUEMU_TRY(undo_fusing(request_, slot_, exactly_.computed, exceeding_.elements));
  }
  for (const auto* list : {&exceeding_.elements, &exceeding_.one_number}) {
    for (const ExceedingElement& at : *list) {
      Doubt doubt{.at = &at};
      begin(doubt);
      doubts_.push_back(doubt);
    }
  }
  return ok_status();
}

/// Returns whether the run without rounding has the NaN and infinities of the reference where the
/// kernel has others: a weight that rounding turns into 0 makes NaN of an infinite value, otherwise
/// the result is infinity.
bool RoundingReview::has_classes_of_reference() const {
  return std::ranges::all_of(exceeding_.other_class, [&](const ExceedingElement& at) {
    const auto value = exactly_.values.find(at.output);
    return value != exactly_.values.end() &&
           is_same_class(element(view_of(value->second), at.index), at.reference);
  });
}

/// Accepts elements that look like a different formula but differ only by rounded constants. The
/// inputs stay, because moving them would also excuse mistakes at a threshold.
Status RoundingReview::move_constants() {
  const auto is_open = [](const Doubt& doubt) { return doubt.standing == Standing::Formula; };
  const bool bounded = std::ranges::any_of(doubts_, [&](const Doubt& doubt) {
    return is_open(doubt) && is_bounded(request_, *doubt.at);
  });
  if (bounded || std::ranges::count_if(doubts_, is_open) > kMovedByConstantsMost) {
    return ok_status();
  }
  Sensitivity sensitivity(request_, slot_, exactly_.values, Moved::Constants);
  while (sensitivity.draws() < kConditioningDrawsForStill &&
         std::ranges::any_of(doubts_, is_open)) {
    GPUEMU_TRY(sensitivity.draw());
    for (Doubt& doubt : doubts_) {
      if (!is_open(doubt)) continue;
      const ExceedingElement& at = *doubt.at;
      const double moved = sensitivity.at(at.output, at.index);
      doubt.settled =
          std::fabs(doubt.exact - at.reference) <= at.tolerance + kTimesConstants * moved &&
          std::fabs(at.computed - doubt.exact) <=
              doubt.conditioning.allowed(moved, doubt.exact) + doubt.lost;
      if (doubt.settled) doubt.standing = Standing::Conditioning;
    }
  }
  return ok_status();
}

Status RoundingReview::draw_while_in_doubt(Sensitivity& sensitivity) {
  for (size_t draws = 1; draws <= kConditioningDrawsForStill; ++draws) {
    GPUEMU_TRY(sensitivity.draw());
    bool in_doubt = false, fails = false, open = false;
    for (Doubt& doubt : doubts_) {
      const bool is_settled = doubt.settled || doubt.standing == Standing::Underflow ||
                              doubt.standing == Standing::Fused ||
                              doubt.standing == Standing::Undecided;
      if (is_settled) continue;
      const double moved = sensitivity.at(doubt.at->output, doubt.at->index);
      judge(doubt, moved);
      if (doubt.standing == Standing::Conditioning) continue;
      in_doubt = true;
      if (stayed_by_chance(moved, sensitivity.largest(doubt.at->output))) {
        open = true;
      } else if (doubt.standing != Standing::Customary && doubt.hopeless) {
        fails = true;
      } else if (doubt.standing == Standing::Inaccurate && doubt.nearly) {
        open = true;
      }
    }
    if (draws >= kConditioningDrawsLeast && !in_doubt) break;
    if (draws >= kConditioningDrawsOfHope && fails) break;
    if (draws >= kConditioningDrawsMost && !open) break;
  }
  return ok_status();
}

/// Adds a note if the kernel keeps fewer digits than it could, where more than the output's own
/// rounding is lost.
void RoundingReview::note_narrow_steps() const {
  const auto found = std::ranges::find_if(doubts_, [](const Doubt& doubt) {
    const FloatFormat& format = doubt.conditioning.format();
    return doubt.conditioning.is_narrow() && doubt.standing == Standing::Conditioning &&
           std::fabs(doubt.at->computed - doubt.exact) > ulp_at(format, doubt.exact);
  });
  if (found == doubts_.end()) return;
  const auto module = ptx::parse(request_.prepared.ptx, request_.prepared.name);
  const std::string step =
      module ? narrow_step(*module, dtype_of_output(request_.plan, found->at->output)) : "";
  if (!step.empty()) {
    report_.remarks.insert(fmt::format("{}, which explains larger errors than its bound", step));
  }
}

void RoundingReview::close() {
  const auto has = [&](Standing standing) {
    return std::ranges::find(doubts_, standing, &Doubt::standing) != doubts_.end();
  };
  if (has(Standing::Formula) || has(Standing::Inaccurate)) {
    if (is_strict(request_)) {
      explain_strictness(exceeding_, report_);
    } else if (!has(Standing::Formula) &&
               std::ranges::none_of(exceeding_.elements,
                                    [&](const auto& at) { return is_bounded(request_, at); })) {
      explain_inaccuracy(request_, Looked::WithoutRounding, exceeding_, report_);
    }
    return;
  }
  if (has(Standing::Fused)) {
    report_.notes.insert(CaseNote::ErrorScale);
    report_.remarks.insert(
        "errors beyond the bound pass that come from products which the compiler fuses with sums: "
        "rounded each for itself, the results are within it");
  }
  if (has(Standing::Underflow)) report_.notes.insert(CaseNote::Underflow);
  if (has(Standing::Undecided)) {
    report_.remarks.insert(
        "some results of inputs below 2^-116 were not judged: their squares are 0 in float32, "
        "which "
        "decides a comparison otherwise");
  }
  if (has(Standing::Conditioning)) {
    report_.notes.insert(CaseNote::ErrorScale);
    note_narrow_steps();
  }
  if (!exceeding_.other_class.empty()) {
    report_.notes.insert(CaseNote::ErrorScale);
    report_.remarks.insert(
        "NaN where the reference is infinite, or the reverse, passes where only rounding differs: "
        "without rounding the kernel has what the reference has");
  }
  std::vector<const ExceedingElement*> warned;
  for (const Doubt& doubt : doubts_) {
    if (doubt.standing == Standing::Customary) warned.push_back(doubt.at);
  }
  excuse(warned, report_);
}

Status RoundingReview::review() {
  GPUEMU_TRY(run_exactly_once());
  if (!has_classes_of_reference()) return ok_status();
  const auto is = [](Standing standing) {
    return [standing](const Doubt& doubt) { return doubt.standing == standing; };
  };
  const bool bounded = std::ranges::any_of(doubts_, [&](const Doubt& doubt) {
    return doubt.standing == Standing::Inaccurate && is_bounded(request_, *doubt.at);
  });
  if (!bounded) GPUEMU_TRY(move_constants());
  const bool decided = bounded || std::ranges::any_of(doubts_, is(Standing::Formula)) ||
                       std::ranges::none_of(doubts_, is(Standing::Inaccurate));
  if (!decided) {
    Sensitivity sensitivity(request_, slot_, exactly_.values, Moved::Everything);
    GPUEMU_TRY(draw_while_in_doubt(sensitivity));
    GPUEMU_TRY(move_constants());
  }
  close();
  return ok_status();
}

int64_t elements_of(const CasePlan& plan) {
  int64_t elements = 0;
  for (const auto* tensors : {&plan.inputs, &plan.outputs}) {
    for (const CaseTensor& tensor : *tensors) elements += element_count(tensor.shape);
  }
  return elements;
}

bool is_too_large(const CaseWork& work) {
  const size_t listed = work.values.exceeding.elements.size();
  return elements_of(work.request.plan) > kElementsMax || work.instructions > kInstructionsMax ||
         listed >= static_cast<size_t>(kDiagnosedElementsMax);
}

/// Judges elements that no run without rounding can decide.
void judge_by_custom(CaseWork& work) {
  const Exceeding& exceeding = work.values.exceeding;
  const CaseRequest& request = work.request;
  if (!exceeding.integers.empty() || !exceeding.other_class.empty() ||
      !exceeding.one_number.empty()) {
    return;
  }
  if (is_strict(request)) return explain_strictness(exceeding, work.report);
  std::vector<const ExceedingElement*> warned;
  for (const ExceedingElement& at : exceeding.elements) {
    if (!at.declared && std::fabs(at.computed - at.reference) <= at.customary) {
      warned.push_back(&at);
    }
  }
  if (exceeding.refused || warned.size() < exceeding.elements.size()) {
    return explain_inaccuracy(request, Looked::NotAtAll, exceeding, work.report);
  }
  work.report.notes.insert(CaseNote::NotLookedAt);
  excuse(warned, work.report);
}

bool has_far(const CaseWork& work) {
  return std::ranges::any_of(work.values.exceeding.integers,
                             [](const auto& output) { return output.second.are_far; });
}

/// Returns whether at least as many values lie between two whole numbers as came out as the other
/// one.
Result<bool> are_close_roundings(const CaseWork& work, Slot& slot, bool was_fused) {
  uint64_t others = 0;
  for (const auto& [output, by] : work.values.exceeding.integers) others += by.least_values();
  if (others == 0) return true;
  if (is_strict(work.request)) return false;
  if (was_fused && !has_far(work)) return are_fused_roundings(work, slot);
  const bool is_far = has_far(work);
  if (!is_far && others <= GPUEMU_TRY(close_roundings(work.request, slot))) return true;
  const bool may_be_underflown = is_far || work.values.exceeding.has_tiny_inputs;
  return may_be_underflown && others <= GPUEMU_TRY(underflown_roundings(work.request, slot));
}

/// Reviews on `slot`. If a further run fails, that says nothing about the first.
Status review_on(CaseWork& work, Slot& slot, bool was_fused) {
  const auto close = are_close_roundings(work, slot, was_fused);
  if (!close && close.error().code != ErrorCode::Cancelled) return close.error();
  if (!close || !*close) return ok_status();
  const Exceeding& exceeding = work.values.exceeding;
  if (exceeding.elements.empty() && exceeding.other_class.empty() && exceeding.one_number.empty()) {
    work.report.notes.insert(has_far(work) ? CaseNote::Underflow : CaseNote::ErrorScale);
    excuse({}, work.report);
    return ok_status();
  }
  const Status reviewed = RoundingReview(work, slot, was_fused).review();
  if (reviewed || reviewed.error().code != ErrorCode::Cancelled) return reviewed;
  if (!slot.worker.was_cancelled()) judge_by_custom(work);
  return ok_status();
}

/// Returns whether errors beyond the bound are the only findings, in outputs where they may be
/// excused. Sums that must be exact are never excused.
bool needs_rounding_review(const CaseWork& work) {
  const Exceeding& exceeding = work.values.exceeding;
  if (work.wants(Extra::Shadows) || exceeding.empty()) return false;
  return std::ranges::all_of(work.report.result.failures, [&](const auto& failure) {
    if (failure.kind == FindingKind::NaNDetected || failure.kind == FindingKind::InfDetected) {
      return !is_strict(work.request) && has_policy_by_default(work.request, failure.output) &&
             (exceeding.has_other_class_of(failure.output) ||
              exceeding.has_one_number_of(failure.output));
    }
    return failure.kind == FindingKind::ToleranceExceeded &&
           (exceeding.integers.contains(failure.output) ||
            exceeding.has_element_of(failure.output));
  });
}

}  // namespace

Result<Next> review_rounding(CaseWork& work) {
  if (!needs_rounding_review(work)) return Next::Continue;
  const CaseRequest& request = work.request;
  const Exceeding& exceeding = work.values.exceeding;
  const bool bounded = std::ranges::any_of(exceeding.elements, [&](const ExceedingElement& at) {
    return is_bounded(request, at) && !exceeding.has_tiny_inputs &&
           !may_be_underflow(at, format_of(dtype_of_output(request.plan, at.output)));
  });
  if (bounded) {
    if (is_strict(request)) explain_strictness(exceeding, work.report);
    return Next::Continue;
  }
  const bool has_shadows = work.instructions > 0;  // The emulator counts them, hardware does not.
  if (is_too_large(work) || (!has_shadows && !request.emulator_slot)) {
    judge_by_custom(work);
    return Next::Continue;
  }
  if (request.emulator_slot) {
    const auto lease = request.emulator_slot();
    if (lease) {
      GPUEMU_TRY(review_on(work, **lease, may_be_fused(request.config, has_shadows)));
      return Next::Continue;
    }
    // A case that was stopped has no verdict; a host that cannot emulate uses the next best test.
    if (lease.error().code == ErrorCode::Cancelled) return lease.error();
  }
  if (has_shadows) {
    GPUEMU_TRY(review_on(work, work.slot, false));
  } else {
    judge_by_custom(work);
  }
  return Next::Continue;
}

}  // namespace gpuemu
