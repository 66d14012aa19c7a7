// Private to this folder: the tensors of a tape, their copies, and the memory that these take.
// Positions refer to the output queue.
#pragma once

#include <cstdint>
#include <list>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/tape/tape.h"

namespace gpuemu::tape {

/// A tensor's copy on one device.
struct Copy {
  uint32_t device = 0;
  uint64_t writer = 0;                 ///< Position that wrote it.
  std::vector<uint64_t> readers = {};  ///< Positions that read it and may still run, ascending.
  uint64_t used = 0;                   ///< The last position that used it.
  uint32_t users = 0;                  ///< Unfinished entries that use it.
};

struct TensorState {
  uint64_t number = 0;  ///< `seq` of the entry that makes it.
  uint32_t session = 0;
  std::string id;
  uint64_t bytes = 0;
  uint64_t refs = 1;  ///< One for the client, and one for each unfinished op that reads it.
  bool is_produced = false, is_failed = false, is_freed = false;
  std::vector<Copy> copies = {};  ///< By ascending device.
  /// Position that wrote the host's copy, if there is one.
  std::optional<uint64_t> host_writer = {};
  std::vector<uint64_t> host_readers = {};
  std::vector<uint64_t> waiting = {};  ///< Ops that need it, by `seq`.

  Copy* on(uint32_t device);
  bool is_host() const { return host_writer.has_value(); }
};

/// Tracks device memory in the order of positions, and which copies may be evicted.
class Memory {
 public:
  explicit Memory(const std::vector<Device>& devices);

  bool is_limited(uint32_t device) const { return rooms_[device].limit != 0; }
  /// Returns whether the device could hold this much if it were empty.
  bool fits_alone(uint32_t device, uint64_t bytes) const;
  /// Returns whether room for this much can be made without evicting copies that entries use. These
  /// must have been pinned.
  bool fits_now(uint32_t device, uint64_t bytes) const;
  bool has_room(uint32_t device, uint64_t bytes) const;

  /// add() adds a copy, pin() protects it while an entry uses it, until unpin(), and remove()
  /// removes it.
  void add(TensorState& tensor, uint32_t device, uint64_t pos);
  void pin(TensorState& tensor, uint32_t device);
  void unpin(TensorState& tensor, uint32_t device);
  void remove(TensorState& tensor, uint32_t device);
  /// Records that a position reads the copy.
  void touch(TensorState& tensor, uint32_t device, uint64_t pos);
  /// Call it when the tensor gained or lost other copies.
  void update(TensorState& tensor);

  /// The least recently used copy that no entry uses; copies that also exist elsewhere come first.
  struct Victim {
    uint64_t tensor = 0;
    bool is_spare = false;
  };
  std::optional<Victim> victim(uint32_t device) const;

 private:
  using Order = std::set<std::pair<uint64_t, uint64_t>>;  ///< Last use, and tensor.
  struct Room {
    uint64_t limit = 0, used = 0, pinned = 0;
    Order spare, sole;  ///< Copies that may be evicted: those that also exist elsewhere, and those
                        ///< that do not.
  };
  void list(const TensorState& tensor, const Copy& copy);
  void unlist(const TensorState& tensor, const Copy& copy);

  std::vector<Room> rooms_;
};

}  // namespace gpuemu::tape
