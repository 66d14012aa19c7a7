// Measures how far the exact results of a case move when the last place of its inputs and constants
// changes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/execution/exact_runs.h"

namespace gpuemu {

struct CaseRequest;
struct Slot;

enum class Moved : uint8_t { Everything, Constants };

class Sensitivity {
 public:
  /// `exact` is the kernel's result for the case's inputs without rounding; all arguments outlive
  /// this.
  Sensitivity(const CaseRequest& request, Slot& slot, const NamedTensors& exact, Moved what)
      : request_(request), slot_(slot), exact_(exact), what_(what) {}

  /// Runs the kernel without rounding once more. Its scalar parameters and rounded constants move
  /// at random to a neighbouring value of their type; if everything is to move, so do its inputs
  /// and the values that lanes share (ShadowConfig::nudge). Decisions follow the constants if only
  /// these move, otherwise the inputs. Cancelled if the run fails.
  Status draw();
  size_t draws() const { return changed_.size(); }
  /// Returns the largest move of an element over all draws.
  double at(const std::string& output, size_t index) const;
  /// Returns the largest move of any element of the output.
  double largest(const std::string& output) const;

 private:
  const CaseRequest& request_;
  Slot& slot_;
  const NamedTensors& exact_;
  const Moved what_;
  std::vector<NamedTensors> changed_;
  std::map<std::string, double> largest_;
};

}  // namespace gpuemu
