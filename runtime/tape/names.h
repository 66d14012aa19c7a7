// The named tensors that the sessions of a tape have defined, and the checks of entries against
// them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/result.h"
#include "runtime/tape/tape.h"

namespace gpuemu::tape {

/// A named tensor.
struct Known {
  uint64_t number = 0;  ///< `seq` of the entry that makes it.
  std::vector<int64_t> shape;
  DType dtype = DType::Float32;
  uint64_t bytes = 0;
  bool is_dropped = false;
};

/// Checks op, shape, dtype and attributes of an entry that makes a tensor.
using OpCheck = std::function<Status(const Entry& entry, std::span<const Known* const> inputs)>;

/// Tensors by session and name. Not thread-safe.
class Names {
 public:
  /// Adds the entries, whose `seq` must be consecutive; adds none if one is invalid.
  /// InvalidArgument names the entry and the problem. Fills in `bytes` and `cost_us` if absent.
  Status add(std::span<Entry> entries, const OpCheck& check);
  /// Returns null if the session has not defined the name.
  const Known* find(const std::string& session, const std::string& id) const;
  /// Returns the names that the session has not dropped, in the order of their definition.
  std::vector<std::string> held(const std::string& session) const;
  /// Makes the name available again.
  void forget(const std::string& session, const std::string& id);

 private:
  using Place = std::pair<std::string, std::string>;  ///< Session and id.
  Status add(Entry& entry, const OpCheck& check, std::vector<Place>& made,
             std::vector<Place>& dropped);

  std::unordered_map<std::string, std::unordered_map<std::string, Known>> known_;
};

}  // namespace gpuemu::tape
