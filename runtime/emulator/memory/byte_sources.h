// Says for bytes that are undefined whether a kernel computed them from undefined ones, and which
// of its stores did. Memory that only holds what nothing wrote, or copies of it, costs nothing.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace gpuemu::emulator {

/// A number per byte: that of an UndefinedStore, or 0. It counts for undefined bytes only. Threads
/// may use different bytes at once.
class ByteSources {
 public:
  ByteSources() = default;
  ByteSources(const ByteSources&) = delete;
  ByteSources& operator=(const ByteSources&) = delete;
  ByteSources(ByteSources&& from) noexcept : numbers_(from.numbers_.exchange(nullptr)) {}
  ~ByteSources() { std::free(numbers_); }

  uint32_t at(uint64_t place) const {
    const uint32_t* const numbers = numbers_;
    return numbers == nullptr ? 0 : numbers[place];
  }
  /// Sets `count` bytes of `total`. Without memory for the numbers they stay 0.
  void set(uint64_t total, uint64_t place, uint64_t count, uint32_t number) {
    uint32_t* numbers = numbers_;
    if (numbers == nullptr) {
      if (number == 0) return;
      numbers = make(total);
      if (numbers == nullptr) return;
    }
    std::fill_n(numbers + place, count, number);
  }
  /// Takes over the numbers of `count` bytes of `from`. The ranges may overlap.
  void copy(uint64_t total, uint64_t place, const ByteSources& from, uint64_t from_place,
            uint64_t count) {
    const uint32_t* const theirs = from.numbers_;
    if (theirs == nullptr) return set(total, place, count, 0);
    uint32_t* const numbers = numbers_ == nullptr ? make(total) : numbers_.load();
    if (numbers == nullptr) return;
    std::memmove(numbers + place, theirs + from_place, count * sizeof *numbers);
  }
  bool empty() const { return numbers_ == nullptr; }
  /// Nobody may use it meanwhile.
  void clear() { std::free(numbers_.exchange(nullptr)); }

 private:
  /// Pages that nobody touches cost nothing.
  uint32_t* make(uint64_t total) {
    auto* made = static_cast<uint32_t*>(std::calloc(total, sizeof(uint32_t)));
    uint32_t* known = nullptr;
    if (made == nullptr || numbers_.compare_exchange_strong(known, made)) return made;
    std::free(made);
    return known;
  }

  std::atomic<uint32_t*> numbers_ = nullptr;
};

}  // namespace gpuemu::emulator
