#include "runtime/emulator/touched_memory.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include <sys/mman.h>
#include <unistd.h>

#include "runtime/emulator/checks/shared_races.h"
#include "runtime/emulator/memory/race_cell.h"
#include "runtime/emulator/memory/race_row.h"
#include "runtime/emulator/report/element_names.h"

namespace gpuemu::emulator {
namespace {

constexpr uint64_t kWordBytes = 4;
/// Limit of ranges per launch; a kernel that accesses more separate ranges is not tracked further.
constexpr size_t kRangesMax = size_t{1} << 20;

uint64_t page_bytes() {
  static const auto kBytes = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return kBytes;
}

/// The whole pages of an array of cells, as cell indices; empty if it contains none.
struct Pages {
  uint64_t begin = 0, end = 0;
};
Pages pages_of(const uint64_t* cells, uint64_t count) {
  const auto at = reinterpret_cast<uint64_t>(cells);
  const uint64_t page = page_bytes(), end = at + count * sizeof(uint64_t);
  const uint64_t first = (at + page - 1) / page * page, last = end / page * page;
  if (first >= last) return {};
  return {(first - at) / sizeof(uint64_t), (last - at) / sizeof(uint64_t)};
}

void forget(uint64_t* cells, uint64_t count) {
  const Pages whole = pages_of(cells, count);
  // Pages given back to the system read as zeros when they are accessed again.
  const bool given_back =
      whole.begin != whole.end &&
      ::madvise(cells + whole.begin, (whole.end - whole.begin) * sizeof(uint64_t), MADV_DONTNEED) ==
          0;
  if (!given_back) {
    std::fill_n(cells, count, uint64_t{0});
    return;
  }
  std::fill(cells, cells + whole.begin, uint64_t{0});
  std::fill(cells + whole.end, cells + count, uint64_t{0});
}

/// The rows of an allocation as single numbers.
constexpr uint64_t kCellsPerRow = sizeof(RaceRow) / sizeof(uint64_t);
uint64_t* cells_of(const Allocation& of) { return reinterpret_cast<uint64_t*>(of.rows); }
uint64_t cell_count(const Allocation& of) { return row_count(of.word_count()) * kCellsPerRow; }

/// Calls `visit(begin, end)` for the ranges of cells that may be nonzero.
template <typename Visit>
void each_used_part(uint64_t* cells, uint64_t count, const Visit& visit) {
  const Pages whole = pages_of(cells, count);
  const uint64_t per_page = page_bytes() / sizeof(uint64_t);
  std::vector<unsigned char> resident((whole.end - whole.begin) / per_page);
  const bool known = !resident.empty() &&
                     ::mincore(cells + whole.begin, (whole.end - whole.begin) * sizeof(uint64_t),
                               resident.data()) == 0;
  if (!known) return visit(uint64_t{0}, count);
  visit(uint64_t{0}, whole.begin);
  for (size_t page = 0; page < resident.size(); ++page) {
    if ((resident[page] & 1) == 0) continue;
    visit(whole.begin + page * per_page, whole.begin + (page + 1) * per_page);
  }
  visit(whole.end, count);
}

/// Collects the ranges of all allocations, and the instructions that accessed them.
class Collector {
 public:
  explicit Collector(const Program& program) : program_(program) {}

  void add(const Allocation& of) {
    if (of.rows == nullptr) return;
    add_cells(of, &RaceRow::reads, of.races.reads.get(), [&](uint64_t) { return &made_.reads; });
    add_cells(of, &RaceRow::writes, of.races.writes.get(), [&](uint64_t cell) {
      const bool is_update = (cell & kCellAtomic) != 0 && (cell & kCellNarrow) == 0;
      return is_update ? &made_.updates : &made_.writes;
    });
  }
  TouchedMemory take() { return std::move(made_); }

 private:
  using Runs = uint64_t (RaceRow::*)[2];  // NOLINT(modernize-avoid-c-arrays): as in RaceRow.

  template <typename Choose>
  void add_cells(const Allocation& of, Runs runs, const uint64_t* cells, const Choose& list_of) {
    constexpr uint64_t kOfAny = uint64_t{1} << kCellSegmentShift;
    uint64_t row = 0;
    each_used_part(cells_of(of), cell_count(of), [&](uint64_t begin, uint64_t end) {
      // A row may lie in two pages.
      for (row = std::max(row, begin / kCellsPerRow); row * kCellsPerRow < end; ++row) {
        const RaceRow& one = of.rows[row];
        const bool split = is_split(one, kOfAny);
        if (!split && (one.*runs)[0] == 0 && (one.*runs)[1] == 0) continue;
        for (uint32_t at = 0; at < kRowWords && row * kRowWords + at < of.word_count(); ++at) {
          const uint64_t word = row * kRowWords + at;
          const uint64_t cell = split ? cells[word] : cell_in_runs(one.*runs, at, kOfAny);
          if (segment_in(cell) == 0) continue;
          add_word((of.base / kWordBytes + word) * kWordBytes, cell, *list_of(cell));
        }
      }
    });
  }

  void add_word(uint64_t address, uint64_t cell, std::vector<TouchedBytes>& list) {
    constexpr uint32_t kAll = 0xf;
    // If several threads stored the same value, the cell has no byte mask.
    uint32_t bits = bytes_in(cell) == 0 ? kAll : bytes_in(cell);
    const uint32_t place = place_of(site_in(cell));
    for (uint64_t at = address; bits != 0;) {
      const auto skipped = static_cast<uint32_t>(std::countr_zero(bits));
      bits >>= skipped;
      const auto touched = static_cast<uint32_t>(std::countr_one(bits));
      bits >>= touched;
      add_range({at + skipped, at + skipped + touched, place}, list);
      at += skipped + touched;
    }
  }

  void add_range(const TouchedBytes& range, std::vector<TouchedBytes>& list) {
    if (!list.empty() && list.back().end == range.begin && list.back().place == range.place) {
      list.back().end = range.end;
      return;
    }
    made_.is_complete = made_.is_complete && list.size() < kRangesMax;
    if (made_.is_complete) list.push_back(range);
  }

  uint32_t place_of(uint32_t site) {
    const auto [known, is_new] = places_.try_emplace(site, made_.places.size());
    if (!is_new) return known->second;
    TouchedPlace place;
    if (const ptx::Instruction* const instruction = instruction_at(program_, site)) {
      const SourcePlace source = source_place(program_.module, *instruction);
      place = {source.file, source.line, instruction->where.line, instruction->text()};
    }
    made_.places.push_back(std::move(place));
    return known->second;
  }

  const Program& program_;
  TouchedMemory made_;
  std::map<uint32_t, uint32_t> places_;
};

}  // namespace

void forget_cells(const std::vector<Allocation*>& of) {
  for (Allocation* const one : of) {
    if (one->rows == nullptr) continue;
    forget(cells_of(*one), cell_count(*one));
    forget(one->races.writes.get(), one->word_count());
    forget(one->races.reads.get(), one->word_count());
  }
}

TouchedMemory touched_memory(const std::vector<Allocation*>& of, const Program& program) {
  Collector collector(program);
  for (const Allocation* const one : of) collector.add(*one);
  return collector.take();
}

}  // namespace gpuemu::emulator
