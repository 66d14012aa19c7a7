#include "tests/fidelity/tally.h"

#include <algorithm>
#include <cstring>

#include "common/numeric/ulp.h"
#include "judge/cases/case.h"

namespace gpuemu::fidelity {
namespace {

std::string hex(std::span<const std::byte> bytes) {
  std::string out = "0x";
  for (size_t i = bytes.size(); i-- > 0;) {
    out += fmt::format("{:02x}", std::to_integer<unsigned>(bytes[i]));
  }
  return out;
}

/// NaN has no distance even to itself; infinity has one to itself alone.
bool is_nan(DType dtype, const std::byte* at) {
  uint64_t bits = 0;
  std::memcpy(&bits, at, byte_size(dtype));
  switch (dtype) {
    case DType::Float16:
      return (bits & 0x7fff) > 0x7c00;
    case DType::BFloat16:
      return (bits & 0x7fff) > 0x7f80;
    case DType::Float32:
      return (bits & 0x7fffffff) > 0x7f800000;
    case DType::Float64:
      return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
    default:
      return false;
  }
}

void count_difference(OutputTally& tally, std::span<const std::byte> a,
                      std::span<const std::byte> b) {
  if (!is_float(tally.dtype)) {
    tally.ulps_max = std::max(tally.ulps_max, ulp_distance(tally.dtype, a.data(), b.data()));
    return;
  }
  if (is_nan(tally.dtype, a.data()) && is_nan(tally.dtype, b.data())) {
    ++tally.nan_bits;
    return;
  }
  const uint64_t distance = ulp_distance(tally.dtype, a.data(), b.data());
  if (distance == kUlpNotFinite) {
    ++tally.not_finite;
  } else {
    tally.ulps_max = std::max(tally.ulps_max, distance);
  }
}

void add_note(Tally& into, const std::string& note) {
  if (!note.empty() && std::ranges::find(into.notes, note) == into.notes.end()) {
    into.notes.push_back(note);
  }
}

bool compare_output(OutputTally& tally, uint64_t number, std::span<const std::byte> a,
                    std::span<const std::byte> b) {
  const size_t width = byte_size(tally.dtype);
  const uint64_t before = tally.elements - tally.identical;
  for (size_t at = 0; at + width <= a.size(); at += width) {
    ++tally.elements;
    const auto left = a.subspan(at, width), right = b.subspan(at, width);
    if (std::memcmp(left.data(), right.data(), width) == 0) {
      ++tally.identical;
      continue;
    }
    count_difference(tally, left, right);
    if (tally.first.empty()) {
      tally.first =
          fmt::format("case {}, element {}: {} | {}", number, at / width, hex(left), hex(right));
    }
  }
  return tally.elements - tally.identical == before;
}

Result<BuiltPlan> built_plan(const Subject& subject, const CasePlan& plan) {
  return build_plan(*subject.config, *subject.kernel, subject.prepared, *subject.op, plan);
}

Result<CasePlan> case_of(const Subject& subject, const Amount& amount, uint64_t number) {
  return plan_case(
      *subject.op, amount.seed, number,
      {.dtypes = {subject.dtype}, .strategies = {}, .elements_max = amount.elements_max});
}

}  // namespace

void compare_case(const CasePlan& plan, const ExecutionPlan& execution, const Answer& left,
                  const Answer& right, Tally& into) {
  ++into.cases;
  add_note(into, left.note.empty() ? "" : "left: " + left.note);
  add_note(into, right.note.empty() ? "" : "right: " + right.note);
  if (left.inputs != right.inputs) {
    add_note(into, "the sides had different inputs");
    return;
  }
  const std::vector<const PlanTensor*> tensors = output_tensors(execution);
  bool identical = true;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (into.outputs.size() <= i) {
      into.outputs.push_back({.name = tensors[i]->name, .dtype = tensors[i]->dtype, .first = {}});
    }
    if (left.outputs.size() <= i || right.outputs.size() <= i ||
        left.outputs[i].size() != right.outputs[i].size()) {
      add_note(into, "a side has no output '" + tensors[i]->name + "'");
      identical = false;
      continue;
    }
    identical &= compare_output(into.outputs[i], plan.iteration, left.outputs[i], right.outputs[i]);
  }
  into.cases_identical += identical ? 1 : 0;
}

Result<Tally> compare_subject(const Subject& subject, const Amount& amount, Side& left,
                              Side& right) {
  Tally tally;
  tally.subject = subject.name();
  for (uint64_t number = 0; number < amount.cases; ++number) {
    const CasePlan plan = GPUEMU_TRY(case_of(subject, amount, number));
    const BuiltPlan built = GPUEMU_TRY(built_plan(subject, plan));
    const Answer first = GPUEMU_TRY(left.run(subject, plan));
    const Answer second = GPUEMU_TRY(right.run(subject, plan));
    compare_case(plan, built.plan, first, second, tally);
  }
  return tally;
}

Status record_subject(const Subject& subject, const Amount& amount, Side& side, Recording& into) {
  for (uint64_t number = 0; number < amount.cases; ++number) {
    const CasePlan plan = GPUEMU_TRY(case_of(subject, amount, number));
    record(into, case_name(subject, plan), GPUEMU_TRY(side.run(subject, plan)));
  }
  return ok_status();
}

}  // namespace gpuemu::fidelity
