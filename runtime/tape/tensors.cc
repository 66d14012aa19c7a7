#include "runtime/tape/tensors.h"

#include <algorithm>

#include "common/base/check.h"

namespace gpuemu::tape {

Copy* TensorState::on(uint32_t device) {
  const auto found = std::ranges::find(copies, device, &Copy::device);
  return found == copies.end() ? nullptr : &*found;
}

Memory::Memory(const std::vector<Device>& devices) {
  for (const Device& one : devices) rooms_.push_back({.limit = one.memory_bytes});
}

bool Memory::fits_alone(uint32_t device, uint64_t bytes) const {
  return rooms_[device].limit == 0 || bytes <= rooms_[device].limit;
}

bool Memory::fits_now(uint32_t device, uint64_t bytes) const {
  const Room& room = rooms_[device];
  return room.limit == 0 || bytes <= room.limit - std::min(room.limit, room.pinned);
}

bool Memory::has_room(uint32_t device, uint64_t bytes) const {
  const Room& room = rooms_[device];
  return room.limit == 0 || bytes <= room.limit - std::min(room.limit, room.used);
}

void Memory::list(const TensorState& tensor, const Copy& copy) {
  Room& room = rooms_[copy.device];
  if (room.limit == 0 || copy.users > 0) return;
  const bool is_spare = tensor.copies.size() > 1 || tensor.is_host();
  (is_spare ? room.spare : room.sole).emplace(copy.used, tensor.number);
}

void Memory::unlist(const TensorState& tensor, const Copy& copy) {
  Room& room = rooms_[copy.device];
  if (room.limit == 0) return;
  room.spare.erase({copy.used, tensor.number});
  room.sole.erase({copy.used, tensor.number});
}

void Memory::update(TensorState& tensor) {
  for (const Copy& copy : tensor.copies) {
    unlist(tensor, copy);
    list(tensor, copy);
  }
}

void Memory::add(TensorState& tensor, uint32_t device, uint64_t pos) {
  const auto at = std::ranges::lower_bound(tensor.copies, device, {}, &Copy::device);
  tensor.copies.insert(at, {.device = device, .writer = pos, .used = pos});
  rooms_[device].used += tensor.bytes;
  update(tensor);
}

void Memory::pin(TensorState& tensor, uint32_t device) {
  Copy& copy = *tensor.on(device);
  unlist(tensor, copy);
  if (copy.users++ == 0) rooms_[device].pinned += tensor.bytes;
}

void Memory::unpin(TensorState& tensor, uint32_t device) {
  Copy* const copy = tensor.on(device);
  if (copy == nullptr || copy->users == 0) return;  // It was freed meanwhile.
  if (--copy->users > 0) return;
  rooms_[device].pinned -= tensor.bytes;
  list(tensor, *copy);
}

void Memory::remove(TensorState& tensor, uint32_t device) {
  Copy* const copy = tensor.on(device);
  GPUEMU_CHECK(copy != nullptr);
  unlist(tensor, *copy);
  if (copy->users > 0) rooms_[device].pinned -= tensor.bytes;
  rooms_[device].used -= tensor.bytes;
  tensor.copies.erase(tensor.copies.begin() + (copy - tensor.copies.data()));
  update(tensor);
}

void Memory::touch(TensorState& tensor, uint32_t device, uint64_t pos) {
  Copy& copy = *tensor.on(device);
  unlist(tensor, copy);
  copy.used = pos;
  list(tensor, copy);
}

std::optional<Memory::Victim> Memory::victim(uint32_t device) const {
  const Room& room = rooms_[device];
  if (!room.spare.empty()) return Victim{room.spare.begin()->second, true};
  if (!room.sole.empty()) return Victim{room.sole.begin()->second, false};
  return std::nullopt;
}

}  // namespace gpuemu::tape
