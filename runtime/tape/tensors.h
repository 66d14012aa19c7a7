// Private to this folder: the tensors of a tape, where their copies lie, and the memory that these
// take. Positions are those of the output queue.
#pragma once

#include <cstdint>
#include <list>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/tape/tape.h"

namespace gpuemu::tape {

/// One tensor on one device.
struct Copy {
  uint32_t device = 0;
  uint64_t writer = 0;                 ///< What put it there.
  std::vector<uint64_t> readers = {};  ///< Lines that read it and may still run, ascending.
  uint64_t used = 0;                   ///< The last position that named it.
  uint32_t users = 0;                  ///< Entries that use it and have not ended.
};

struct TensorState {
  uint64_t number = 0;  ///< `seq` of the entry that makes it.
  uint32_t session = 0;
  std::string id;
  uint64_t bytes = 0;
  uint64_t refs = 1;  ///< The client's, and one of each unfinished op that reads it.
  bool is_produced = false, is_failed = false, is_freed = false;
  std::vector<Copy> copies = {};             ///< By ascending device.
  std::optional<uint64_t> host_writer = {};  ///< What put it into the host's memory, if it is.
  std::vector<uint64_t> host_readers = {};
  std::vector<uint64_t> waiting = {};  ///< Ops that need it, by `seq`.

  Copy* on(uint32_t device);
  bool is_host() const { return host_writer.has_value(); }
};

/// Device memory in the order of positions, and what may leave it.
class Memory {
 public:
  explicit Memory(const std::vector<Device>& devices);

  bool is_limited(uint32_t device) const { return rooms_[device].limit != 0; }
  /// Whether a device holds so much when there is nothing else.
  bool fits_alone(uint32_t device, uint64_t bytes) const;
  /// Whether room for so much can be made without the copies that entries use. They must have been
  /// pinned.
  bool fits_now(uint32_t device, uint64_t bytes) const;
  bool has_room(uint32_t device, uint64_t bytes) const;

  /// A copy appears, is used by an entry until unpin(), and goes.
  void add(TensorState& tensor, uint32_t device, uint64_t pos);
  void pin(TensorState& tensor, uint32_t device);
  void unpin(TensorState& tensor, uint32_t device);
  void remove(TensorState& tensor, uint32_t device);
  /// A position reads the copy.
  void touch(TensorState& tensor, uint32_t device, uint64_t pos);
  /// Whether its other copies are there has changed.
  void update(TensorState& tensor);

  /// The least recently used copy that no entry uses: first those that exist elsewhere, too.
  struct Victim {
    uint64_t tensor = 0;
    bool is_spare = false;
  };
  std::optional<Victim> victim(uint32_t device) const;

 private:
  using Order = std::set<std::pair<uint64_t, uint64_t>>;  ///< Last use and tensor.
  struct Room {
    uint64_t limit = 0, used = 0, pinned = 0;
    Order spare, sole;  ///< What may leave: copies that exist elsewhere, and those that do not.
  };
  void list(const TensorState& tensor, const Copy& copy);
  void unlist(const TensorState& tensor, const Copy& copy);

  std::vector<Room> rooms_;
};

}  // namespace gpuemu::tape
