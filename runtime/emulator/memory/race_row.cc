#include "runtime/emulator/memory/race_row.h"

#include <atomic>
#include <thread>

namespace gpuemu::emulator {
namespace {
uint32_t begin_of(uint64_t run, bool upper) { return upper ? bound_in(run) : 0; }
uint32_t end_of(uint64_t run, bool upper) { return upper ? kRowWords : bound_in(run) + 1; }

bool is_marked(uint64_t low_write, uint64_t of_launch) {
  const uint32_t form = form_in(low_write);
  return low_write >= of_launch && (form == kFormSplit || form == kFormSplitting);
}
/// Stores a run, unless another host thread splits the row meanwhile. `checked`: the low write for
/// which it may be stored.
bool put_run(RaceRow& row, uint64_t& to, uint64_t run, uint64_t checked, uint64_t of_launch) {
  const std::atomic_ref low_write(row.writes[0]);
  if (&to == &row.writes[0]) return low_write.compare_exchange_strong(checked, run);
  // split_row() marks the row before it reads the runs. So it reads this one, or the mark is found
  // here.
  std::atomic_ref(to).exchange(run);
  return !is_marked(low_write.load(), of_launch);
}
}  // namespace

bool note_in_row(RaceRow& row, const RowAccess& access) {
  const uint64_t of_launch = access.of_launch;
  const bool low = access.begin == 0, high = access.end == kRowWords;
  if (!low && !high) return false;
  const uint64_t writes[2] = {load_cell(row.writes[0]), load_cell(row.writes[1])};
  const uint64_t reads[2] = {load_cell(row.reads[0]), load_cell(row.reads[1])};
  if (is_marked(writes[0], of_launch)) return false;
  // Whether the run has other words than the access, or the same lanes of the same segment.
  const auto agrees = [&](uint64_t run, bool upper, bool if_own) {
    if (run < of_launch) return true;
    const uint32_t from = begin_of(run, upper), first = from > access.begin ? from : access.begin;
    if (first >= end_of(run, upper) || first >= access.end) return true;
    const uint32_t form = form_in(run);
    return if_own && segment_in(run) == segment_in(access.stem) &&
           shift_of(form) == shift_of(access.form) &&
           is_constant(form) == is_constant(access.form) &&
           who_in_run(form, first - from) == who_in_run(access.form, first - access.begin);
  };
  const bool if_own = !access.read_only;
  if (!agrees(writes[0], false, if_own) || !agrees(writes[1], true, if_own)) return false;
  if (access.stores && (!agrees(reads[0], false, true) || !agrees(reads[1], true, true))) {
    return false;
  }
  const uint64_t* const before = access.stores ? writes : reads;
  uint64_t* const to = access.stores ? row.writes : row.reads;
  const bool upper = !low;  // Whether the access becomes the high run.
  uint64_t now = run_of(access.stem, access.form, upper ? access.begin : access.end - 1);
  const uint64_t own = before[upper ? 1 : 0], other = before[upper ? 0 : 1];
  const auto joins = [&](uint64_t run) { return !access.stores && is_joined(run, now); };
  bool covers_other = false;
  if (other >= of_launch) {
    const bool apart =
        upper ? end_of(other, false) <= access.begin : begin_of(other, true) >= access.end;
    covers_other = !apart;
    if (!apart && (!(low && high) || joins(other))) return false;
  }
  if (own >= of_launch) {
    const bool same = bound_in(own) == bound_in(now);
    const bool covered = upper ? bound_in(own) > bound_in(now) : bound_in(own) < bound_in(now);
    if (!same && (!covered || joins(own))) return false;
    if (same && !access.stores) now = merged_runs(own, now);
    if (now == 0) return false;
  }
  if (covers_other) store_cell(to[1], 0);
  return put_run(row, to[upper ? 1 : 0], now, writes[0], of_launch);
}

void split_row(RaceRow& row, uint64_t* reads, uint64_t* writes, uint32_t words,
               uint64_t of_launch) {
  const std::atomic_ref marked(row.writes[0]);
  uint64_t low = marked.load(std::memory_order_acquire);
  while (true) {
    const bool current = low >= of_launch;
    if (current && form_in(low) == kFormSplit) return;
    if (current && form_in(low) == kFormSplitting) {
      std::this_thread::yield();
      low = marked.load(std::memory_order_acquire);
    } else if (marked.compare_exchange_weak(low, run_of(of_launch, kFormSplitting, kMarkBound))) {
      break;
    }
  }
  const auto spread = [&](uint64_t run, bool upper, uint64_t* to) {
    if (run < of_launch) return;
    const uint32_t from = begin_of(run, upper), end = end_of(run, upper);
    for (uint32_t word = from; word < end && word < words; ++word) {
      store_cell(to[word], cell_in_run(run, word - from));
    }
  };
  spread(low, false, writes);
  spread(load_cell(row.writes[1]), true, writes);
  spread(load_cell(row.reads[0]), false, reads);
  spread(load_cell(row.reads[1]), true, reads);
  marked.store(run_of(of_launch, kFormSplit, kMarkBound), std::memory_order_release);
}

}  // namespace gpuemu::emulator
