// Compares accesses of whole pieces with the same accesses recorded word by word, on random
// histories.
#include "runtime/emulator/checks/piece_notes.h"

#include <array>
#include <bit>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/emulator/checks/race_records.h"

namespace gpuemu::emulator {
namespace {

constexpr uint64_t kWords = 64;
constexpr uint32_t kEpoch = 7, kWarp = 2, kEvent = 5, kSite = 9;
constexpr uint32_t kSelf = kEpoch << kWarpBits | (kWarp + 1);

using Fields = std::vector<std::array<uint32_t, kRaceFields>>;

/// A history that starts with random accesses of this epoch and of the one before.
class Randomly {
 public:
  explicit Randomly(uint32_t seed) : random_(seed), shared_(kWords * 4) {
    history.resize(kWords, shared_.data());
    history.begin_epoch(kEpoch);
    const uint32_t other_warps = seed % 3;  // None in some histories, so that more is accepted.
    const uint32_t accesses = below(40);
    for (uint32_t i = 0; i < accesses; ++i) {
      const uint32_t epoch = kEpoch - below(2), warp = other_warps == 0 ? kWarp : below(4);
      const WordAccess by{epoch << kWarpBits | (warp + 1), below(kEvent + 1), below(3) + kSite,
                          below(32), below(4) == 0 ? 1 + below(15) : kWholeWord};
      const uint64_t word = below(kWords);
      RaceWord seen = history.load(word);
      if (below(seed % 4 + 1) != 0) {
        record_write(seen, by, below(8) == 0 ? kAtomicTag : 0, below(4) == 0);
      } else {
        record_read(seen, by);
      }
      history.store(word, seen);
    }
  }
  /// Pieces at random or, where lanes write, mostly one for each lane.
  PieceAccess access(bool apart) {
    PieceAccess made{.address = address_.data(),
                     .lanes = static_cast<uint32_t>(random_()),
                     .words = 4,
                     .self = kSelf,
                     .own_bit = 1u << kWarp,
                     .event = kEvent,
                     .ordered = below(kEvent + 1),
                     .site = kSite};
    made.read_ordered = made.ordered + below(kEvent - made.ordered + 1);
    const uint32_t pieces = kWords / 4;
    if (apart) made.lanes &= (1u << pieces) - 1;
    for (uint32_t lane = 0; lane < address_.size(); ++lane)
      address_[lane] = 16 * (apart ? lane % pieces : below(pieces));
    return made;
  }
  Fields fields() {
    Fields all(kWords);
    for (uint64_t word = 0; word < kWords; ++word) {
      for (uint32_t i = 0; i < kRaceFields; ++i)
        all[word][i] = history.at(static_cast<RaceField>(i), word);
    }
    return all;
  }
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

  RaceHistory history;

 private:
  std::mt19937 random_;
  std::vector<std::byte> shared_;
  std::array<uint64_t, 32> address_{};
};

void record_by_words(RaceHistory& history, const PieceAccess& access, bool stores) {
  for (uint32_t left = access.lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    for (uint64_t word = access.address[lane] / 4; word < access.address[lane] / 4 + access.words;
         ++word) {
      RaceWord seen = history.load(word);
      const WordAccess by{access.self, access.event, access.site, lane, kWholeWord};
      if (stores) record_write(seen, by, 0, false);
      if (!stores) record_read(seen, by);
      history.store(word, seen);
    }
  }
}

/// Returns whether another warp's access of this epoch conflicts with one of the words.
bool meets_another_warp(const RaceHistory& history, const PieceAccess& access, bool stores) {
  const WordAccess by{.self = access.self};
  for (uint32_t left = access.lanes; left != 0; left &= left - 1) {
    const uint64_t first = access.address[std::countr_zero(left)] / 4;
    for (uint64_t word = first; word < first + access.words; ++word) {
      const RaceWord seen = history.load(word);
      if (by.is_current(seen.write) && seen.write != access.self) return true;
      if (stores && by.is_current(seen.read) && seen.read != access.self) return true;
    }
  }
  return false;
}

void compare(bool stores) {
  uint32_t taken = 0, refused = 0;
  for (uint32_t seed = 0; seed < 4000 && !testing::Test::HasFailure(); ++seed) {
    Randomly made(seed), by_words(seed);
    const PieceAccess access = made.access(seed % 2 == 0);
    by_words.access(seed % 2 == 0);
    const Fields before = made.fields();
    const bool conflicts = meets_another_warp(made.history, access, stores);
    if (!(stores ? note_piece_stores : note_piece_loads)(made.history, access)) {
      ++refused;
      EXPECT_EQ(made.fields(), before) << "seed " << seed;
      continue;
    }
    ++taken;
    EXPECT_FALSE(conflicts) << "seed " << seed;
    record_by_words(by_words.history, access, stores);
    EXPECT_EQ(made.fields(), by_words.fields()) << "seed " << seed;
  }
  EXPECT_GT(taken, 400u);
  EXPECT_GT(refused, 400u);
}

TEST(PieceNotes, RecordLoadsAsWordsDo) { compare(false); }
TEST(PieceNotes, RecordStoresAsWordsDo) { compare(true); }

TEST(PieceNotes, LeaveAConflictInsideAWarpToTheWords) {
  Randomly made(0);
  made.history.forget();
  const WordAccess lane_one{kSelf, kEvent, kSite, 1};
  RaceWord seen;
  record_write(seen, lane_one, 0, false);
  made.history.store(0, seen);
  const uint64_t address[32] = {};
  PieceAccess access{.address = address,
                     .lanes = 1,
                     .words = 4,
                     .self = kSelf,
                     .own_bit = 1u << kWarp,
                     .event = kEvent,
                     .ordered = kEvent,
                     .read_ordered = kEvent,
                     .site = kSite};
  EXPECT_FALSE(note_piece_loads(made.history, access));
  access.event = access.ordered = kEvent + 1;  // A barrier of the warp lies between.
  EXPECT_TRUE(note_piece_loads(made.history, access));
}

}  // namespace
}  // namespace gpuemu::emulator
