#include "ops/dispatch/recent_calls.h"

#include <algorithm>
#include <utility>

namespace gpuemu {

bool CallKey::add(std::span<const DeviceTensor> tensors) {
  size_t words = count_ + 1;
  for (const DeviceTensor& one : tensors) words += 2 + 2 * one.rank();
  if (words > kWordsMax) return false;
  uint64_t* to = words_.data() + count_;
  *to++ = tensors.size();
  for (const DeviceTensor& one : tensors) {
    *to++ = one.address;
    *to++ = static_cast<uint64_t>(one.dtype) << 32 | one.rank();
    for (const int64_t size : one.shape) *to++ = static_cast<uint64_t>(size);
    for (const int64_t stride : one.strides) *to++ = static_cast<uint64_t>(stride);
  }
  count_ = words;
  return true;
}

bool CallKey::add(std::span<const std::byte> bytes) {
  bool fits = add(bytes.size());
  for (size_t at = 0; at < bytes.size() && fits; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof(word), bytes.size() - at));
    fits = add(word);
  }
  return fits;
}

RecentCalls& RecentCalls::of_this_thread() {
  thread_local RecentCalls calls;
  return calls;
}

DecidedCall* RecentCalls::find(const CallKey& key) {
  if (places_.empty()) return nullptr;
  const std::unique_ptr<Place>& place = places_[key.place(kPlaces)];
  return place != nullptr && place->key == key ? &place->call : nullptr;
}

void RecentCalls::keep(const CallKey& key, DecidedCall call) {
  if (places_.empty()) places_.resize(kPlaces);
  places_[key.place(kPlaces)] = std::make_unique<Place>(Place{key, std::move(call)});
}

}  // namespace gpuemu
