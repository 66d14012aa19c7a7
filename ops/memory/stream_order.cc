// Moves memory between streams, and tracks host memory that is still in use.
//
// If an event cannot be created or its stream is gone, the host waits instead, which delays memory
// but is always correct. Waits use events, because synchronize() would consume the errors of the
// streams' owners.
#include <algorithm>

#include "ops/memory/pool.h"

namespace gpuemu {

bool Pool::is_captured(StreamId stream) {
  Streams* streams = source_->streams();
  if (streams == nullptr || stream == kDefaultStream) return false;
  const auto captured = streams->is_capturing(stream);
  return captured && *captured;
}

void Pool::wait_for(StreamId stream) {
  Streams* streams = source_->streams();
  const auto event = streams->make_event();
  if (!event) return;
  // If the stream is already freed and was blocking, its work comes before the default stream's.
  if (streams->record(*event, stream) || streams->record(*event, kDefaultStream)) {
    (void)streams->synchronize_event(*event);
  }
  (void)streams->free_event(*event);
}

void Pool::order(StreamId stream, StreamId after) {
  Streams* streams = source_->streams();
  if (streams == nullptr || stream == after) return;
  const auto event = streams->make_event();
  const bool ordered =
      event && streams->record(*event, after) && streams->wait_event(stream, *event);
  if (event) (void)streams->free_event(*event);
  if (!ordered) wait_for(after);
}

void Pool::adopt(Block& block, StreamId stream) {
  if (block.ready != 0) {
    Streams* streams = source_->streams();
    if (!streams->wait_event(stream, block.ready)) (void)streams->synchronize_event(block.ready);
    (void)streams->free_event(block.ready);
    block.ready = 0;
  } else {
    order(stream, block.stream);
  }
  if (block.stream != stream) ++statistics_.cross_stream;
  block.stream = stream;
}

/// Takes memory of another stream whose work is done or, with `may_wait`, of any stream.
Pool::Block* Pool::take_foreign(uint64_t bytes, StreamId stream, bool may_wait) {
  Streams* streams = source_->streams();
  // A capture must not wait for work outside it.
  if (streams == nullptr || is_captured(stream)) return nullptr;
  for (auto& [owner, bins] : bins_) {
    if (owner == stream || is_captured(owner)) continue;
    Block* found = bins.find(classes_.of(bytes));
    if (found == nullptr) continue;
    if (!may_wait) {
      const auto done =
          found->ready != 0 ? streams->query_event(found->ready) : streams->query(owner);
      if (!done || !*done) continue;
    }
    remove_free(*found);
    adopt(*found, stream);
    return found;
  }
  return nullptr;
}

void Pool::collect(bool wait) {
  Streams* streams = source_->streams();
  std::erase_if(pending_, [&](Block* block) {
    if (wait) (void)streams->synchronize_event(block->ready);
    const auto reached = streams->query_event(block->ready);
    if (!wait && reached && !*reached) return false;
    (void)streams->free_event(block->ready);
    block->ready = 0;
    release(*block);
    return true;
  });
}

/// Merges free neighbours of different streams, once the streams' work is done.
void Pool::join_everything() {
  Streams* streams = source_->streams();
  if (streams == nullptr) return;
  for (const auto& [owner, bins] : bins_) {
    if (is_captured(owner)) return;
  }
  for (auto& [owner, bins] : bins_) {
    const std::vector<Block*> all = bins.all();
    if (!all.empty() && owner != kPerThreadStream) wait_for(owner);
    for (Block* block : all) {
      remove_free(*block);
      if (block->ready != 0) {
        (void)streams->synchronize_event(block->ready);
        (void)streams->free_event(block->ready);
        block->ready = 0;
      }
      block->is_free = true;
      block->stream = kDefaultStream;
    }
  }
  for (const auto& segment : segments_) {
    for (Block* block = segment->first; block != nullptr; block = block->after) {
      if (!block->is_free) continue;
      while (block->after != nullptr && block->after->is_free) swallow_next(*block);
      insert_free(*block);
    }
  }
}

Status Pool::forget_stream(StreamId stream) {
  const std::lock_guard lock(lock_);
  live_.for_each([&](uint64_t, Block& block) {
    if (std::erase(block.also_used, stream) != 0) order(block.stream, stream);
    if (block.stream == stream) block.stream = kDefaultStream;
  });
  order(kDefaultStream, stream);
  const auto found = bins_.find(stream);
  if (stream == kDefaultStream || found == bins_.end()) return ok_status();
  for (Block* block : found->second.all()) {
    remove_free(*block);
    block->stream = kDefaultStream;
    use(*block, true);
    release(*block);
  }
  bins_.erase(stream);
  last_bins_ = nullptr;
  return ok_status();
}

}  // namespace gpuemu
