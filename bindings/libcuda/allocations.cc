#include "bindings/libcuda/allocations.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <sys/mman.h>

namespace gpuemu::libcuda {
namespace {

bool holds(const Allocation& one, uint64_t address) {
  return address - one.address < std::max<uint64_t>(one.bytes, 1);
}

}  // namespace

void Allocations::add(Allocation made) {
  const std::lock_guard lock(mutex_);
  const uint64_t address = made.address;
  live_[address] = std::make_shared<const Allocation>(std::move(made));
}

Allocations::Shared Allocations::at(uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const auto found = live_.find(address);
  return found == live_.end() ? nullptr : found->second;
}

Allocations::Shared Allocations::holding(uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const auto after = live_.upper_bound(address);
  if (after == live_.begin()) return nullptr;
  const Shared& before = std::prev(after)->second;
  return holds(*before, address) ? before : nullptr;
}

Allocations::Shared Allocations::remove(uint64_t address, std::shared_ptr<const CallSite> freed) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(address);
  if (found == live_.end()) return nullptr;
  auto gone = std::make_shared<Allocation>(*found->second);
  gone->freed = std::move(freed);
  live_.erase(found);
  keep_freed(gone);
  return gone;
}

void Allocations::keep_freed(Shared gone) {
  freed_.push_back(std::move(gone));
  if (freed_.size() > kFreedKept) freed_.pop_front();
}

void Allocations::add_part(Allocation made) {
  const std::lock_guard lock(mutex_);
  const uint64_t address = made.address;
  parts_[address] = std::make_shared<const Allocation>(std::move(made));
}

Allocations::Shared Allocations::part_at(uint64_t address) const {
  const std::shared_lock lock(mutex_);
  const auto found = parts_.find(address);
  return found == parts_.end() ? nullptr : found->second;
}

void Allocations::remove_part(uint64_t address, std::shared_ptr<const CallSite> freed) {
  const std::lock_guard lock(mutex_);
  const auto found = parts_.find(address);
  if (found == parts_.end()) return;
  auto gone = std::make_shared<Allocation>(*found->second);
  gone->freed = std::move(freed);
  parts_.erase(found);
  keep_freed(std::move(gone));
}

Allocations::Shared Allocations::freed_holding(uint64_t address) const {
  if (holding(address) != nullptr) return nullptr;
  const std::shared_lock lock(mutex_);
  const auto found = std::find_if(freed_.rbegin(), freed_.rend(),
                                  [&](const Shared& one) { return holds(*one, address); });
  return found == freed_.rend() ? nullptr : *found;
}

void Allocations::forget_freed(uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  std::erase_if(freed_, [&](const Shared& one) {
    return one->address < address + bytes && address < one->address + one->bytes;
  });
}

void Allocations::keep_pages(uint64_t address, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  pages_.push_back({address, bytes});
  pages_bytes_ += bytes;
  keeps_pages_ = true;
  while (pages_.size() > kFreedKept || (pages_bytes_ > kPagesKept && pages_.size() > 1)) {
    munmap(reinterpret_cast<void*>(pages_.front().address), pages_.front().bytes);
    pages_bytes_ -= pages_.front().bytes;
    pages_.pop_front();
  }
}

bool Allocations::keeps_page(uint64_t address) const {
  const std::shared_lock lock(mutex_);
  return std::ranges::any_of(pages_,
                             [&](const Pages& one) { return address - one.address < one.bytes; });
}

Allocations::Shared Allocations::named(const std::string& name) const {
  const std::shared_lock lock(mutex_);
  for (const auto* all : {&parts_, &live_}) {
    for (const auto& [address, one] : *all) {
      if (one->name == name) return one;
    }
  }
  const auto found = std::find_if(freed_.rbegin(), freed_.rend(),
                                  [&](const Shared& one) { return one->name == name; });
  return found == freed_.rend() ? nullptr : *found;
}

std::vector<Allocations::Shared> Allocations::all() const {
  const std::shared_lock lock(mutex_);
  std::vector<Shared> found;
  for (const auto& [address, one] : live_) found.push_back(one);
  std::ranges::sort(found, {}, [](const Shared& one) { return one->number; });
  return found;
}

}  // namespace gpuemu::libcuda
