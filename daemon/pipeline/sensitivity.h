// How far the exact results of a case move when what they are made of moves in its last place.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/pipeline/relation_runs.h"

namespace gpuemu {

class Sensitivity {
 public:
  /// `exact` is what the kernel gives on the case's inputs without rounding; all outlive this.
  Sensitivity(const CaseRequest& request, Slot& slot, const NamedTensors& exact)
      : request_(request), slot_(slot), exact_(exact) {}

  /// Runs the kernel without rounding once more, with its inputs, scalar parameters, rounded
  /// constants and values that lanes share (ShadowConfig::nudge) at a neighbour of their type, up
  /// or down by chance. Cancelled when the run fails.
  Status draw();
  size_t draws() const { return changed_.size(); }
  /// The largest move of an element in all draws.
  double at(const std::string& output, size_t index) const;
  /// The largest move of any element of the output.
  double largest(const std::string& output) const;

 private:
  const CaseRequest& request_;
  Slot& slot_;
  const NamedTensors& exact_;
  std::vector<NamedTensors> changed_;
  std::map<std::string, double> largest_;
};

}  // namespace gpuemu
