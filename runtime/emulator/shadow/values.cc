#include "runtime/emulator/shadow/values.h"

namespace gpuemu::emulator {

void ShadowPage::put(uint64_t offset, const Cell& cell) {
  const uint64_t word = offset / 4;
  only_words = only_words && (cell.held == Held::Four || cell.held == Held::Nothing);
  if (offset % 4 != 0) {
    if (between == nullptr) between = std::make_unique<std::array<Cell, kWords>>();
    (*between)[word] = cell;
    return;
  }
  high[word] = cell.high;
  low[word] = cell.low;
  bound[word] = cell.bound;
  bits[word] = static_cast<uint32_t>(cell.bits);
  bits_high[word] = static_cast<uint32_t>(cell.bits >> 32);
  node[word] = cell.node;
  held[word] = cell.held;
  block[word] = cell.block;
}

void ShadowPage::drop(uint64_t offset) {
  if (offset % 4 == 0) {
    held[offset / 4] = Held::Nothing;
  } else if (between != nullptr) {
    (*between)[offset / 4].held = Held::Nothing;
  }
}

ShadowPage* ShadowMemory::page_at(uint64_t address) {
  const uint64_t number = address / ShadowPage::kBytes;
  Recent& last = recent(number);
  if (last.number == number) return last.page;
  const auto found = pages_.find(number);
  last = {number, found == pages_.end() ? nullptr : found->second.get()};
  return last.page;
}

ShadowPage* ShadowMemory::make_page(uint64_t address) {
  if (ShadowPage* page = page_at(address)) return page;
  full_ = full_ || (pages_.size() + 1) * sizeof(ShadowPage) > bytes_max_;
  if (full_) return nullptr;
  const uint64_t number = address / ShadowPage::kBytes;
  const auto made = pages_.emplace(number, std::make_unique<ShadowPage>()).first;
  recent(number) = {number, made->second.get()};
  return made->second.get();
}

Cell ShadowMemory::get(uint64_t address) {
  const ShadowPage* page = (address & 1) != 0 ? nullptr : page_at(address);
  return page == nullptr ? Cell{} : page->get(address % ShadowPage::kBytes);
}

bool ShadowMemory::put(uint64_t address, const Cell& cell) {
  ShadowPage* page = (address & 1) != 0 ? nullptr : make_page(address);
  if (page == nullptr) return false;
  page->put(address % ShadowPage::kBytes, cell);
  return true;
}

void ShadowMemory::drop(uint64_t address) {
  ShadowPage* page = (address & 1) != 0 ? nullptr : page_at(address);
  if (page != nullptr) page->drop(address % ShadowPage::kBytes);
}

void ShadowMemory::clear() {
  pages_.clear();
  recent_.fill({});
  full_ = false;
}

void ShadowMemory::wipe() {
  for (auto& [number, page] : pages_) {
    page->held.fill(Held::Nothing);
    page->between.reset();
    page->only_words = true;
  }
}

void ShadowMemory::forget(uint64_t address, uint64_t bytes) {
  std::erase_if(pages_, [&](const auto& page) {
    const uint64_t begin = page.first * ShadowPage::kBytes, end = begin + ShadowPage::kBytes;
    if (begin >= address + bytes || end <= address) return false;
    if (begin >= address && end <= address + bytes) return true;
    for (uint64_t at = begin; at < end; at += 2) {
      if (at >= address && at < address + bytes) page.second->drop(at - begin);
    }
    return false;
  });
  recent_.fill({});
}

}  // namespace gpuemu::emulator
