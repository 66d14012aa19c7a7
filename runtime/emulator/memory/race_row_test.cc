// Rows of words compared with cells for each word, as the race detector defines them.
#include "runtime/emulator/memory/race_row.h"

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace gpuemu::emulator {
namespace {

/// The definition: each word has a cell for its last write and its last read.
struct Words {
  std::array<uint64_t, kRowWords> reads{}, writes{};
};

uint64_t who_of(const RowAccess& access, uint32_t word) {
  return who_in_run(access.form, word - access.begin);
}
uint64_t cell_of(const RowAccess& access, uint32_t word) {
  return access.stem | who_of(access, word) << kCellWhoShift | uint64_t{0xf} << kCellBytesShift;
}
/// Whether no access of this launch races with it: GlobalRaces looks at the words if one may.
bool is_alone(const Words& words, const RowAccess& access) {
  for (uint32_t word = access.begin; word < access.end; ++word) {
    const uint64_t own = cell_of(access, word) >> kCellWhoShift;
    const auto is_own = [&](uint64_t cell) {
      return cell < access.of_launch || cell >> kCellWhoShift == own;
    };
    const uint64_t written = words.writes[word];
    if (access.read_only ? written >= access.of_launch : !is_own(written)) return false;
    if (access.stores && !is_own(words.reads[word])) return false;
  }
  return true;
}
void note_words(Words& words, const RowAccess& access) {
  for (uint32_t word = access.begin; word < access.end; ++word) {
    const uint64_t now = cell_of(access, word), before = words.reads[word];
    if (access.stores) {
      words.writes[word] = now;
    } else {
      words.reads[word] = before < access.of_launch ? now : merged_reads(before, now);
    }
  }
}

class Rows : public testing::Test {
 protected:
  RowAccess any_access() {
    constexpr uint32_t kSegments = 3, kEvents = 2, kSites = 2;
    RowAccess access;
    const uint32_t shift = below(3), lanes = kRowWords >> shift;
    // Mostly the whole row, or two parts of it that meet at one place.
    const uint32_t edges[] = {0, 4, 16, kRowWords};
    access.begin = edges[below(3)];
    access.end = edges[1 + below(3)];
    if (access.begin >= access.end) access.begin = 0;
    const uint32_t count = (access.end - access.begin) >> shift;
    const uint32_t words = access.end - access.begin;
    const uint32_t forms[] = {form_of(below(lanes - count + 1), shift), form_of(0, shift),
                              kUnknownLanes, words <= 16 ? kPairs : kUnknownLanes,
                              words <= 8 ? kFours : kUnknownLanes};
    access.stores = below(3) == 0;
    access.form = forms[access.stores ? below(2) : below(5)];
    access.read_only = !access.stores && below(8) == 0;
    access.of_launch = of_launch_;
    const auto segment = static_cast<uint32_t>(of_launch_ >> kCellSegmentShift) + below(kSegments);
    access.stem = emulator::cell_of({.segment = segment,
                                     .who = 0,
                                     .event = below(kEvents),
                                     .bytes = 0,
                                     .site = 1 + below(kSites)});
    return access;
  }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  void next_launch() { of_launch_ += uint64_t{8} << kCellSegmentShift; }

  /// Checks that the row tells the same of this launch as the words do.
  void compare() const {
    const bool split = is_split(row_, of_launch_);
    for (uint32_t word = 0; word < kRowWords; ++word) {
      const auto same = [&](uint64_t told, uint64_t defined) {
        const uint64_t of_launch = told < of_launch_ ? 0 : told;
        ASSERT_EQ(of_launch, defined < of_launch_ ? 0 : defined) << "word " << word;
      };
      same(split ? own_.reads[word] : cell_in_runs(row_.reads, word, of_launch_),
           words_.reads[word]);
      same(split ? own_.writes[word] : cell_in_runs(row_.writes, word, of_launch_),
           words_.writes[word]);
    }
  }

  std::mt19937_64 random_{1};
  uint64_t of_launch_ = uint64_t{5} << kCellSegmentShift;
  RaceRow row_{};
  Words own_;    ///< The cells of a row that is split.
  Words words_;  ///< The definition.
};

TEST_F(Rows, TellTheSameAsACellForEachWord) {
  constexpr int kLaunches = 40'000;
  constexpr uint32_t kAccesses = 10;
  int noted = 0, refused = 0, split = 0;
  for (int launch = 0; launch < kLaunches; ++launch, next_launch()) {
    const uint32_t accesses = 1 + below(kAccesses);
    for (uint32_t i = 0; i < accesses; ++i) {
      const RowAccess access = any_access();
      if (note_in_row(row_, access)) {
        ++noted;
        ASSERT_TRUE(is_alone(words_, access)) << "access " << i << " of launch " << launch;
        note_words(words_, access);
      } else {
        ++refused;
        split_row(row_, own_.reads.data(), own_.writes.data(), kRowWords, of_launch_);
        ASSERT_TRUE(is_split(row_, of_launch_));
        // The detector does this even if it reports a race.
        note_words(own_, access);
        note_words(words_, access);
      }
      ASSERT_NO_FATAL_FAILURE(compare()) << "access " << i << " of launch " << launch;
    }
    if (is_split(row_, of_launch_)) ++split;
  }
  // All ways through it were taken.
  EXPECT_GT(noted, kLaunches);
  EXPECT_GT(refused, kLaunches);
  EXPECT_LT(split, kLaunches * 9 / 10);
}

TEST_F(Rows, HaveOneRecordForACoalescedWarpInEachBlock) {
  RowAccess access{.form = form_of(0, 0), .of_launch = of_launch_};
  for (uint32_t segment = 5; segment < 9; ++segment) {
    access.stem = emulator::cell_of({.segment = segment, .who = 0, .bytes = 0, .site = 7});
    ASSERT_TRUE(note_in_row(row_, access)) << "reads of several blocks";
  }
  EXPECT_EQ(who_in(cell_in_runs(row_.reads, 31, of_launch_)), 31u);
  EXPECT_EQ(segment_in(cell_in_runs(row_.reads, 31, of_launch_)), 8u);
  access.stores = true;
  access.stem = emulator::cell_of({.segment = 5, .who = 0, .bytes = 0, .site = 7});
  EXPECT_FALSE(note_in_row(row_, access)) << "several blocks have read what one of them writes";
}

TEST_F(Rows, HaveTwoRecordsWhereRowsOfWarpsBeginInBetween) {
  RowAccess access{.of_launch = of_launch_, .stores = true};
  access.begin = 5;
  access.form = form_of(0, 0);
  access.stem = emulator::cell_of({.segment = 6, .who = 0, .bytes = 0, .site = 7});
  ASSERT_TRUE(note_in_row(row_, access));
  access.begin = 0;
  access.end = 5;
  access.form = form_of(27, 0);
  access.stem = emulator::cell_of({.segment = 5, .who = 0, .bytes = 0, .site = 7});
  ASSERT_TRUE(note_in_row(row_, access));
  EXPECT_EQ(who_in(cell_in_runs(row_.writes, 4, of_launch_)), 31u);
  EXPECT_EQ(who_in(cell_in_runs(row_.writes, 5, of_launch_)), 0u);
  EXPECT_FALSE(is_split(row_, of_launch_));
  access.end = 6;
  EXPECT_FALSE(note_in_row(row_, access)) << "the word is another warp's";
}

/// Waits until `meetings` threads have come here. Yields, for processors with one core.
void meet(std::atomic<int>& arrived, int meetings) {
  constexpr int kSpins = 200;
  arrived.fetch_add(1);
  for (int i = 0; arrived.load() < meetings; ++i) {
    if (i >= kSpins) std::this_thread::yield();
  }
}

/// One host thread notes a half of each row, while another one splits it and writes a word of the
/// other half.
TEST_F(Rows, KeepWhatIsNotedWhileAnotherThreadSplitsThem) {
  constexpr int kCount = 4'000;
  constexpr uint32_t kHalf = kRowWords / 2;
  const auto stem = [](uint32_t segment) {
    return emulator::cell_of({.segment = segment, .who = 0, .bytes = 0, .site = 7});
  };
  for (const bool stores : {true, false}) {
    for (const uint32_t begin : {0u, kHalf}) {
      const uint32_t other = (begin + kHalf) % kRowWords + 4;
      const RowAccess access{.begin = begin,
                             .end = begin + kHalf,
                             .form = form_of(0, 0),
                             .stem = stem(5),
                             .of_launch = of_launch_,
                             .stores = stores};
      std::vector<RaceRow> rows(kCount);
      std::vector<Words> cells(kCount);
      std::atomic<int> arrived = 0;
      const auto split = [&](int i) {
        split_row(rows[i], cells[i].reads.data(), cells[i].writes.data(), kRowWords, of_launch_);
      };
      std::thread notes([&] {
        for (int i = 0; i < kCount; ++i) {
          meet(arrived, 2 * (i + 1));
          if (note_in_row(rows[i], access)) continue;
          split(i);
          for (uint32_t word = begin; word < begin + kHalf; ++word) {
            store_cell((stores ? cells[i].writes : cells[i].reads)[word], cell_of(access, word));
          }
        }
      });
      for (int i = 0; i < kCount; ++i) {
        meet(arrived, 2 * (i + 1));
        split(i);
        store_cell(cells[i].writes[other], stem(6));
      }
      notes.join();
      for (int i = 0; i < kCount; ++i) {
        ASSERT_TRUE(is_split(rows[i], of_launch_)) << "row " << i << ", from word " << begin;
        const Words& own = cells[i];
        ASSERT_EQ((stores ? own.writes : own.reads)[begin + 3], cell_of(access, begin + 3))
            << "row " << i << ", stores: " << stores;
        ASSERT_EQ(own.writes[other], stem(6)) << "row " << i;
      }
    }
  }
}

}  // namespace
}  // namespace gpuemu::emulator
