// Records for undefined bytes which kernel store computed them from other undefined bytes. Takes no
// memory while bytes are only uninitialised or copies of uninitialised ones.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace gpuemu::emulator {

/// Holds a number per byte: that of an UndefinedStore, or 0. Meaningful only for undefined bytes.
/// Thread-safe for threads that use different bytes.
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
  /// Sets the number of `count` bytes, of `total` in all. If memory for the numbers runs out, they
  /// stay 0.
  void set(uint64_t total, uint64_t place, uint64_t count, uint32_t number) {
    uint32_t* numbers = numbers_;
    if (numbers == nullptr) {
      if (number == 0) return;
      numbers = make(total);
      if (numbers == nullptr) return;
    }
    std::fill_n(numbers + place, count, number);
  }
  /// Copies the numbers of `count` bytes of `from`. The ranges may overlap.
  void copy(uint64_t total, uint64_t place, const ByteSources& from, uint64_t from_place,
            uint64_t count) {
    const uint32_t* const theirs = from.numbers_;
    if (theirs == nullptr) return set(total, place, count, 0);
    uint32_t* const numbers = numbers_ == nullptr ? make(total) : numbers_.load();
    if (numbers == nullptr) return;
    std::memmove(numbers + place, theirs + from_place, count * sizeof *numbers);
  }
  bool empty() const { return numbers_ == nullptr; }
  /// Not thread-safe.
  void clear() { std::free(numbers_.exchange(nullptr)); }

 private:
  /// Untouched pages take no memory.
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
