#include "daemon/reference/reference_files.h"

namespace gpuemu {

void ReferenceFiles::add(const std::string& script, const ReferenceReads& reads) {
  const std::lock_guard lock(mutex_);
  Known& known = scripts_[script];
  known.files.insert(reads.files.begin(), reads.files.end());
  known.complete = known.complete && reads.complete;
}

ReferenceReads ReferenceFiles::of(const std::string& script) const {
  const std::lock_guard lock(mutex_);
  const auto found = scripts_.find(script);
  if (found == scripts_.end()) return {{}, false};
  const Known& known = found->second;
  return {{known.files.begin(), known.files.end()}, known.complete};
}

}  // namespace gpuemu
