// How far the exact results of a case move when what they are made of moves in its last place.
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
  /// `exact` is what the kernel gives on the case's inputs without rounding; all outlive this.
  Sensitivity(const CaseRequest& request, Slot& slot, const NamedTensors& exact, Moved what)
      : request_(request), slot_(slot), exact_(exact), what_(what) {}

  /// Runs the kernel without rounding once more, with its scalar parameters and rounded constants
  /// at a neighbour of their type, up or down by chance, and, where everything moves, its inputs
  /// and values that lanes share (ShadowConfig::nudge). Decisions follow constants where these
  /// move alone, else inputs. Cancelled when the run fails.
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
  const Moved what_;
  std::vector<NamedTensors> changed_;
  std::map<std::string, double> largest_;
};

}  // namespace gpuemu
