#include "runtime/emulator/shadow/values.h"

namespace gpuemu::emulator {

ShadowMemory::Page* ShadowMemory::page_at(uint64_t number) {
  if (number == last_) return last_page_;
  const auto found = pages_.find(number);
  if (found == pages_.end()) return nullptr;
  last_ = number;
  return last_page_ = found->second.get();
}

Cell* ShadowMemory::find(uint64_t address) {
  if ((address & 1) != 0) return nullptr;
  Page* page = page_at(address / kPageBytes);
  return page == nullptr ? nullptr : &(*page)[address % kPageBytes / 2];
}

Cell* ShadowMemory::make(uint64_t address) {
  if ((address & 1) != 0) return nullptr;
  if (page_at(address / kPageBytes) == nullptr) {
    full_ = full_ || (pages_.size() + 1) * sizeof(Page) > bytes_max_;
    if (full_) return nullptr;
    pages_.emplace(address / kPageBytes, std::make_unique<Page>());
  }
  return &(*page_at(address / kPageBytes))[address % kPageBytes / 2];
}

void ShadowMemory::clear() {
  pages_.clear();
  last_ = ~uint64_t{0};
  last_page_ = nullptr;
  full_ = false;
}

void ShadowMemory::forget(uint64_t address, uint64_t bytes) {
  std::erase_if(pages_, [&](const auto& page) {
    const uint64_t begin = page.first * kPageBytes, end = begin + kPageBytes;
    if (begin >= address + bytes || end <= address) return false;
    if (begin >= address && end <= address + bytes) return true;
    for (uint64_t at = begin; at < end; at += 2)
      if (at >= address && at < address + bytes) (*page.second)[(at - begin) / 2] = Cell{};
    return false;
  });
  last_ = ~uint64_t{0};
  last_page_ = nullptr;
}

}  // namespace gpuemu::emulator
