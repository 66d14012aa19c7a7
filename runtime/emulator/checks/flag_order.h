// Finds volatile stores that a flag announces without a fence in between. Volatile and relaxed
// accesses do not race with each other, so a block may read an old value from one without harm. But
// a block that has waited for a flag which another block wrote after its data expects the data, and
// only a fence of the writer puts them in that order.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

namespace gpuemu::emulator {

/// All methods are thread-safe. Threads wait for each other only where they access words of one
/// shard, or blocks of one shard wait for flags. Addresses are those of words of 4 bytes.
class FlagOrder {
 public:
  /// A volatile store or an atomic access.
  struct Write {
    uint64_t block = 0;
    uint32_t warp = 0, epoch = 0;
    uint32_t segment = 0, site = 0;
    bool is_store = false;
    uint64_t time = 0;  ///< Set by wrote().
  };
  void wrote(uint64_t word, Write write);
  /// `block` read this word as a flag or counter (ptx::awaited_reads): what its last writer did
  /// before is announced.
  void awaited(uint64_t word, uint64_t block);
  struct Announced {
    Write data;
    uint32_t flag_site = 0;  ///< Where the flag was last written.
  };
  /// Returns the last write of the word if it is a store of another block that was announced to
  /// `block`.
  std::optional<Announced> announced(uint64_t word, uint64_t block);

 private:
  /// Words beyond this number are not watched. Flags and the data that they announce are few.
  static constexpr size_t kWordsMax = size_t{1} << 18;

  static constexpr size_t kShards = 64;
  struct alignas(64) Words {
    std::mutex mutex;
    std::unordered_map<uint64_t, Write> writes;
  };
  struct alignas(64) Flags {
    std::mutex mutex;
    std::map<std::pair<uint64_t, uint64_t>, Write> last;  ///< By reader and writer.
  };

  /// Returns the word's last write if it is another block's.
  std::optional<Write> by_another(uint64_t word, uint64_t block);
  /// Programs keep their flags apart by lines of the cache or more, so all bits of the address
  /// count.
  Words& shard_of(uint64_t word) {
    return words_[word / 4 * 0x9e3779b97f4a7c15u >> (64 - std::countr_zero(kShards))];
  }
  Flags& flags_of(uint64_t block) { return flags_[block % kShards]; }

  std::atomic<uint64_t> time_ = 0;
  std::array<Words, kShards> words_;
  std::array<Flags, kShards> flags_;
};

}  // namespace gpuemu::emulator
