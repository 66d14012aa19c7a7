#include "daemon/executor/compare_runs.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "daemon/executor/execute_buffer.h"

namespace gpuemu {
namespace {

using Kind = HarnessFinding::Kind;

/// From this element size on, poison in a single run shows that an element was not written.
constexpr size_t kTellingBytes = 4;

/// Returns whether the element still holds the poison of `run`. Elements are packed here: wider
/// ones start at an even byte of the pattern; one-byte elements may hold either of its bytes.
bool is_poison(std::span<const std::byte> element, uint32_t run) {
  if (element.size() == 1) {
    return element[0] == poison_byte(run, 0) || element[0] == poison_byte(run, 1);
  }
  for (size_t i = 0; i < element.size(); ++i) {
    if (element[i] != poison_byte(run, i)) return false;
  }
  return true;
}

/// Returns whether all runs gave the same bytes. Poison differs between runs, so these were
/// written.
bool are_alike(const std::vector<RunOutputs>& runs, size_t index) {
  const std::vector<std::byte>& first = runs[0][index];
  return std::ranges::all_of(runs, [&](const RunOutputs& outputs) {
    return std::memcmp(outputs[index].data(), first.data(), first.size()) == 0;
  });
}

/// Adds the findings of the output at `index`. Requires that it has elements.
void compare_tensor(const ExecutionPlan& plan, size_t index, const std::vector<RunOutputs>& runs,
                    const DifferenceText& why, std::vector<HarnessFinding>& found) {
  const PlanTensor& tensor = plan.tensors[index];
  const size_t element = byte_size(tensor.dtype);
  HarnessFinding unwritten{Kind::NotWritten, tensor.name, 0, 0, ""};
  HarnessFinding unstable{Kind::NonDeterministic, tensor.name, 0, 0, ""};
  const auto note = [&](HarnessFinding& finding, size_t byte) {
    if (finding.count++ == 0) finding.first_index = static_cast<int64_t>(byte / element);
  };
  const std::vector<std::byte>& first = runs[0][index];
  const bool poisoned = tensor.role == PlanTensor::Role::Output && tensor.initial.empty() &&
                        (runs.size() > 1 || element >= kTellingBytes);
  for (size_t byte = 0; byte < first.size(); byte += element) {
    bool untouched = poisoned;
    bool differs = false;
    for (uint32_t run = 0; run < runs.size(); ++run) {
      const auto value = std::span(runs[run][index]).subspan(byte, element);
      const bool poison = is_poison(value, run);
      untouched = untouched && poison;
      if (std::memcmp(value.data(), &first[byte], element) == 0) continue;
      differs = true;
      const bool told = poisoned && poison && element >= kTellingBytes;
      if (unstable.message.empty()) unstable.message = why(run, told);
    }
    if (untouched) {
      note(unwritten, byte);
    } else if (differs && plan.deterministic) {
      note(unstable, byte);
    }
  }
  if (unwritten.count > 0) found.push_back(std::move(unwritten));
  if (unstable.count > 0) found.push_back(std::move(unstable));
}

}  // namespace

std::vector<HarnessFinding> compare_runs(const ExecutionPlan& plan,
                                         const std::vector<RunOutputs>& runs,
                                         const DifferenceText& why) {
  std::vector<HarnessFinding> found;
  for (size_t i = 0; i < runs[0].size(); ++i) {
    if (runs[0][i].empty() || (runs.size() > 1 && are_alike(runs, i))) continue;
    compare_tensor(plan, i, runs, why, found);
  }
  return found;
}

std::vector<HarnessFinding> stale_outputs(const ExecutionPlan& plan, const RunOutputs& warmed_up,
                                          const RunOutputs& outputs) {
  std::vector<HarnessFinding> found;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].empty() || outputs[i] != warmed_up[i]) continue;
    const size_t size = byte_size(plan.tensors[i].dtype), elements = outputs[i].size() / size;
    // A constant output does not show which launch wrote it.
    if (std::equal(outputs[i].begin() + static_cast<std::ptrdiff_t>(size), outputs[i].end(),
                   outputs[i].begin())) {
      continue;
    }
    found.push_back({Kind::StaleOutput, plan.tensors[i].name, 0, elements, ""});
  }
  return found;
}

}  // namespace gpuemu
