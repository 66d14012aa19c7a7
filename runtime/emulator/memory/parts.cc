// Parts of allocations, declared by clients with an allocator of their own.
#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "runtime/emulator/memory/memory.h"

namespace gpuemu::emulator {

bool Memory::is_divided(uint64_t address, uint64_t bytes) const {
  const auto after = parts_.lower_bound(address);
  if (after != parts_.end() && after->first < address + bytes) return true;
  if (after == parts_.begin()) return false;
  const auto& [begin, part] = *std::prev(after);
  return begin + part.bytes > address;
}

Memory::Pieces Memory::foreign_pieces() const {
  const Pieces pieces = foreign_.pieces();
  if (parts_.empty()) return pieces;
  Pieces made;
  for (const auto& [begin, end] : pieces) {
    uint64_t at = begin;
    const auto keep_until = [&](uint64_t stop) {
      if (stop > at) made.emplace(at, stop);
    };
    for (auto part = parts_.lower_bound(begin); part != parts_.end() && part->first < end; ++part) {
      const uint64_t first = part->first, last = first + part->second.bytes;
      if (last > end) break;
      keep_until(first - std::min(first - begin, kBesidePart));
      made.emplace(first, last);
      at = std::min(last + kBesidePart, end);
    }
    keep_until(end);
  }
  return made;
}

Result<Allocation*> Memory::buffer_around(uint64_t address, uint64_t bytes) {
  for (auto* all : {&divided_, &by_base_}) {
    const auto after = all->upper_bound(address);
    if (after == all->begin()) continue;
    const auto found = std::prev(after);
    Allocation& one = *found->second;
    if (one.part || one.foreign || !one.contains(address, bytes)) continue;
    if (!one.tracked || one.variable) break;
    if (all == &divided_) return &one;
    const uint64_t base = found->first;
    divided_[base] = std::move(found->second);
    changes();
    by_base_.erase(base);
    return &one;
  }
  return error(ErrorCode::InvalidArgument, "{} bytes at {:#x} are not inside one allocation", bytes,
               address);
}

Status Memory::divide(uint64_t address, uint64_t bytes, const std::string& name) {
  if (bytes == 0 || address + bytes < address || is_divided(address, bytes)) {
    return error(ErrorCode::InvalidArgument,
                 "a part of {} bytes at {:#x} is empty, or other parts have some of its bytes",
                 bytes, address);
  }
  if (foreign_.contains(address, bytes)) {
    parts_[address] = {bytes, name};
    follow_foreign({});
    return ok_status();
  }
  Allocation* const whole = GPUEMU_TRY(buffer_around(address, bytes));
  parts_[address] = {bytes, name};
  auto made = std::make_unique<Allocation>();
  made->base = address;
  made->bytes = bytes;
  made->name = name;
  made->part = true;
  made->defined.resize(bytes);
  made->marks = made->defined.data();
  put(std::move(made));
  // The other parts are unchanged: kernels' writes to them are kept.
  Allocation& part = *by_base_[address];
  const uint64_t offset = address - whole->base;
  std::memcpy(part.defined.data(), whole->defined.data() + offset, bytes);
  part.sources.copy(bytes, 0, whole->sources, offset, bytes);
  return ok_status();
}

Status Memory::undivide(uint64_t address) {
  const auto part = parts_.find(address);
  if (part == parts_.end()) {
    return error(ErrorCode::InvalidArgument, "no part of an allocation begins at {:#x}", address);
  }
  const uint64_t bytes = part->second.bytes;
  auto gone = std::make_unique<Allocation>();
  gone->base = address;
  gone->bytes = bytes;
  gone->name = part->second.name;
  gone->part = true;
  const auto after = divided_.upper_bound(address);
  const bool in_buffer =
      after != divided_.begin() && std::prev(after)->second->contains(address, bytes);
  if (in_buffer) gather(*std::prev(after)->second);
  parts_.erase(part);
  if (in_buffer) {
    changes();
    by_base_.erase(address);
  } else {
    follow_foreign({});
  }
  if (freed_kept_ != 0) keep_freed(std::move(gone));
  return ok_status();
}

void Memory::join(Allocation& whole) {
  const uint64_t base = whole.base, end = base + std::max<uint64_t>(whole.bytes, 1);
  for (auto part = parts_.lower_bound(base); part != parts_.end() && part->first < end;) {
    changes();
    by_base_.erase(part->first);
    part = parts_.erase(part);
  }
  const auto found = divided_.find(base);
  put(std::move(found->second));
  divided_.erase(found);
}

void Memory::gather(Allocation& whole) {
  const uint64_t end = whole.base + whole.bytes;
  for (auto one = by_base_.lower_bound(whole.base); one != by_base_.end() && one->first < end;
       ++one) {
    const Allocation& part = *one->second;
    const uint64_t offset = part.base - whole.base;
    std::memcpy(whole.defined.data() + offset, part.defined.data(), part.bytes);
    whole.sources.copy(whole.bytes, offset, part.sources, 0, part.bytes);
  }
  whole.all_defined = std::memchr(whole.defined.data(), 0, whole.bytes) == nullptr;
}

void Memory::scatter(Allocation& whole) {
  if (divided_.empty() || !divided_.contains(whole.base) || whole.part) return;
  const uint64_t end = whole.base + whole.bytes;
  for (auto one = by_base_.lower_bound(whole.base); one != by_base_.end() && one->first < end;
       ++one) {
    Allocation& part = *one->second;
    const uint64_t offset = part.base - whole.base;
    std::memcpy(part.defined.data(), whole.defined.data() + offset, part.bytes);
    part.sources.copy(part.bytes, 0, whole.sources, offset, part.bytes);
    part.all_defined = false;  // Recomputed by the next launch.
    changes();
  }
}

}  // namespace gpuemu::emulator
