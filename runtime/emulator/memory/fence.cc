#include "runtime/emulator/memory/fence.h"

#include <iterator>

#include <sys/mman.h>
#include <time.h>  // NOLINT(modernize-deprecated-headers): clock_gettime

#include "common/base/clock.h"

namespace gpuemu::emulator {
namespace {
constexpr uint64_t kPage = 4096;
/// The fence may use one part in this many of the run time, and this much in any case.
constexpr int kShareOfTime = 50;
constexpr auto kAlways = std::chrono::milliseconds(50);
}  // namespace

Fence& Fence::instance() {
  static Fence* const kFence = new Fence;
  return *kFence;
}

bool Fence::reserve() {
  if (begin_ != 0) return true;
  void* const at =
      ::mmap(nullptr, kRoom, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  started_ = Clock::now();
  begin_ = reinterpret_cast<uint64_t>(at);
  add_free(begin_, kRoom);
  return true;
}

void Fence::start() {
  const std::lock_guard lock(mutex_);
  is_started_ = true;
}

std::byte* Fence::take(uint64_t bytes) {
  const uint64_t size = (bytes + kPage - 1) / kPage * kPage;
  const std::lock_guard lock(mutex_);
  if (!is_started_ || is_removed_ || size == 0 || !reserve()) return nullptr;
  const auto found = free_by_size_.lower_bound({size, 0});
  if (found == free_by_size_.end()) return nullptr;
  const auto [room, begin] = *found;
  free_by_size_.erase(found);
  free_.erase(begin);
  if (room > size) add_free(begin + size, room - size);
  const uint64_t used_before = used_;
  const bool was_closed = is_closed_;
  if (begin + size - begin_ > used_) {
    used_ = begin + size - begin_;
    is_closed_ = true;  // The new part is still PROT_NONE.
  }
  if (is_closed_) protect(false);
  if (is_closed_) {  // The system grants no more memory, for example because of a limit on data.
    used_ = used_before;
    is_closed_ = was_closed;
    add_free(begin, size);
    return nullptr;
  }
  taken_[begin] = size;
  return reinterpret_cast<std::byte*>(begin);
}

void Fence::give_back(void* begin) {
  if (begin == nullptr) return;
  Fence& fence = instance();
  const std::lock_guard lock(fence.mutex_);
  const auto found = fence.taken_.find(reinterpret_cast<uint64_t>(begin));
  ::madvise(begin, found->second, MADV_DONTNEED);
  fence.add_free(found->first, found->second);
  fence.taken_.erase(found);
}

/// Adds a free range, merged with the free ranges before and after it.
void Fence::add_free(uint64_t begin, uint64_t bytes) {
  auto after = free_.lower_bound(begin);
  if (after != free_.end() && after->first == begin + bytes) {
    bytes += after->second;
    free_by_size_.erase({after->second, after->first});
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      begin = before->first;
      bytes += before->second;
      free_by_size_.erase({before->second, before->first});
      free_.erase(before);
    }
  }
  free_[begin] = bytes;
  free_by_size_.insert({bytes, begin});
}

void Fence::remove() {
  const std::lock_guard lock(mutex_);
  is_removed_ = true;
  if (is_closed_) protect(false);
}

bool Fence::open() {
  const std::lock_guard lock(mutex_);
  if (is_closed_) protect(false);
  return !is_closed_;
}

void Fence::enter() {
  const std::lock_guard lock(mutex_);
  ++inside_;
  if (is_closed_) protect(false);
}

void Fence::leave() {
  const std::lock_guard lock(mutex_);
  if (--inside_ == 0 && may_close()) protect(true);
}

bool Fence::may_close() const {
  if (is_removed_ || is_closed_ || taken_.empty()) return false;
  return spent_ <= kAlways + (Clock::now() - started_) / kShareOfTime;
}

bool Fence::set_access(int access) {
  return ::mprotect(reinterpret_cast<void*>(begin_.load()), used_, access) == 0;
}

void Fence::protect(bool is_closed) {
  if (void (*const before)() = before_close_; is_closed && before != nullptr) before();
  const auto since = thread_processor_time();
  // A call that fails may have changed some of the pages, so the fence then counts as closed.
  const bool is_open = is_closed ? !set_access(PROT_NONE) && set_access(PROT_READ | PROT_WRITE)
                                 : set_access(PROT_READ | PROT_WRITE);
  is_closed_ = !is_open;
  spent_ += thread_processor_time() - since;
}

}  // namespace gpuemu::emulator
