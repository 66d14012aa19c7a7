#include "runtime/tape/names.h"

#include <algorithm>

#include "common/base/limits.h"
#include "common/base/utf8.h"

namespace gpuemu::tape {
namespace {

bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](char one) {
    const auto byte = static_cast<unsigned char>(one);
    return byte < 0x20 || byte == 0x7f;
  });
}

// The cost model: a launch, plus each byte once, plus products and sums.
constexpr uint64_t kLaunchUs = 5;
constexpr uint64_t kTrafficBytesPerUs = 10'000;
constexpr double kOperationsPerUs = 1e6;

/// Checks that every size is at least 0 and that the size in bytes fits 63 bits.
Result<uint64_t> bytes_of(const Entry& entry) {
  if (entry.shape.size() > kRankMax) {
    return error(ErrorCode::InvalidArgument, "shape has {} axes, expected {} or fewer",
                 entry.shape.size(), kRankMax);
  }
  auto bytes = static_cast<int64_t>(byte_size(entry.dtype));
  for (const int64_t size : entry.shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) {
      return error(ErrorCode::InvalidArgument,
                   "shape has the size {}, expected sizes from 0 whose product fits 63 bits", size);
    }
  }
  return static_cast<uint64_t>(bytes);
}

bool multiplies_matrices(std::string_view op) { return op == "matmul" || op == "gemm"; }

uint64_t estimated_cost_us(const Entry& entry, std::span<const Known* const> inputs) {
  if (entry.op == kDrop) return 0;
  uint64_t traffic = entry.bytes.value_or(0);
  for (const Known* input : inputs) traffic += input->bytes;
  uint64_t cost = kLaunchUs + traffic / kTrafficBytesPerUs;
  if (multiplies_matrices(entry.op) && !inputs.empty() && !inputs[0]->shape.empty()) {
    double operations = 2.0 * static_cast<double>(inputs[0]->shape.back());
    for (const int64_t size : entry.shape) operations *= static_cast<double>(size);
    cost += static_cast<uint64_t>(operations / kOperationsPerUs);
  }
  return cost;
}

Error wrong(const Entry& entry, const std::string& why) {
  return error(ErrorCode::InvalidArgument, "({}{}{}): {}", entry.id, entry.id.empty() ? "" : " = ",
               entry.op, why);
}

Status check_form(const Entry& entry) {
  if (entry.session.empty()) return wrong(entry, "session is missing, expected its name");
  if (!entry.makes_tensor()) {
    if (entry.inputs.size() == 1 && entry.id.empty()) return ok_status();
    return wrong(entry,
                 fmt::format("{} takes one input and makes no tensor, got {} inputs{}", entry.op,
                             entry.inputs.size(), entry.id.empty() ? "" : " and an id"));
  }
  if (entry.id.empty() || entry.id.size() > kIdBytesMax) {
    return wrong(entry,
                 fmt::format("id has {} bytes, expected 1 to {}", entry.id.size(), kIdBytesMax));
  }
  if (has_control_character(entry.id) || !is_utf8(entry.id)) {
    return wrong(entry, "id is not text: expected UTF-8 without control characters");
  }
  if (entry.inputs.size() > kTensorsMax) {
    return wrong(entry, fmt::format("it has {} inputs, expected {} or fewer", entry.inputs.size(),
                                    kTensorsMax));
  }
  return ok_status();
}

}  // namespace

const Known* Names::find(const std::string& session, const std::string& id) const {
  const auto tensors = known_.find(session);
  if (tensors == known_.end()) return nullptr;
  const auto found = tensors->second.find(id);
  return found == tensors->second.end() ? nullptr : &found->second;
}

std::vector<std::string> Names::held(const std::string& session) const {
  std::vector<std::pair<uint64_t, std::string>> found;
  const auto tensors = known_.find(session);
  if (tensors == known_.end()) return {};
  for (const auto& [id, known] : tensors->second) {
    if (!known.is_dropped) found.emplace_back(known.number, id);
  }
  std::ranges::sort(found);
  std::vector<std::string> ids;
  for (auto& [number, id] : found) ids.push_back(std::move(id));
  return ids;
}

void Names::forget(const std::string& session, const std::string& id) {
  const auto tensors = known_.find(session);
  if (tensors == known_.end()) return;
  tensors->second.erase(id);
  if (tensors->second.empty()) known_.erase(tensors);
}

Status Names::add(Entry& entry, const OpCheck& check, std::vector<Place>& made,
                  std::vector<Place>& dropped) {
  GPUEMU_TRY(check_form(entry));
  std::vector<const Known*> inputs;
  for (const std::string& id : entry.inputs) {
    const Known* input = find(entry.session, id);
    if (input == nullptr) {
      return wrong(entry, fmt::format("session {} has not defined the input '{}' before",
                                      entry.session, id));
    }
    if (input->is_dropped) {
      return wrong(entry,
                   fmt::format("session {} has dropped the input '{}' before", entry.session, id));
    }
    inputs.push_back(input);
  }
  if (entry.op == kDrop) {
    known_[entry.session][entry.inputs[0]].is_dropped = true;
    dropped.emplace_back(entry.session, entry.inputs[0]);
  }
  if (!entry.makes_tensor()) {
    if (!entry.bytes) entry.bytes = entry.op == kFetch ? inputs[0]->bytes : 0;
    if (!entry.cost_us) entry.cost_us = estimated_cost_us(entry, {});
    return ok_status();
  }
  if (find(entry.session, entry.id) != nullptr) {
    return wrong(entry,
                 fmt::format("session {} has used the id '{}' before", entry.session, entry.id));
  }
  const auto bytes = bytes_of(entry);
  if (!bytes) return wrong(entry, bytes.error().message);
  if (check) {
    const Status fits = check(entry, inputs);
    if (!fits) return wrong(entry, fits.error().message);
  }
  if (!entry.bytes) entry.bytes = *bytes;
  if (!entry.cost_us) entry.cost_us = estimated_cost_us(entry, inputs);
  known_[entry.session][entry.id] = {entry.seq, entry.shape, entry.dtype, *entry.bytes};
  made.emplace_back(entry.session, entry.id);
  return ok_status();
}

Status Names::add(std::span<Entry> entries, const OpCheck& check) {
  std::vector<Place> made, dropped;
  for (size_t i = 0; i < entries.size(); ++i) {
    const Status added = add(entries[i], check, made, dropped);
    if (added) continue;
    for (const auto& [session, id] : dropped) known_[session][id].is_dropped = false;
    for (const auto& [session, id] : made) forget(session, id);
    return error(ErrorCode::InvalidArgument, "entry {} of the tape {}", i, added.error().message);
  }
  return ok_status();
}

}  // namespace gpuemu::tape
