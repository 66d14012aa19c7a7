// The tensors that the sessions of a tape have defined, by their names, and the checks of entries
// against them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/result.h"
#include "runtime/tape/tape.h"

namespace gpuemu::tape {

/// What is known of a tensor by its name.
struct Known {
  uint64_t number = 0;  ///< `seq` of the entry that makes it.
  std::vector<int64_t> shape;
  DType dtype = DType::Float32;
  uint64_t bytes = 0;
  bool is_dropped = false;
};

/// Judges op, shape, dtype and attributes of an entry that makes a tensor.
using OpCheck = std::function<Status(const Entry& entry, std::span<const Known* const> inputs)>;

/// Not thread-safe.
class Names {
 public:
  /// Takes the entries, whose `seq` follow each other, or none of them: InvalidArgument names the
  /// entry and what is wrong with it. Fills in `bytes` and `cost_us` where they are absent.
  Status add(std::span<Entry> entries, const OpCheck& check);
  /// Null where the session has defined none of that name.
  const Known* find(const std::string& session, const std::string& id) const;
  /// The names that the session has not dropped, in the order of their definition.
  std::vector<std::string> held(const std::string& session) const;
  /// The name may be used again.
  void forget(const std::string& session, const std::string& id);

 private:
  using Place = std::pair<std::string, std::string>;  ///< Session and id.
  Status add(Entry& entry, const OpCheck& check, std::vector<Place>& made,
             std::vector<Place>& dropped);

  std::unordered_map<std::string, std::unordered_map<std::string, Known>> known_;
};

}  // namespace gpuemu::tape
