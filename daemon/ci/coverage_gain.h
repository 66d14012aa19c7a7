// What cases have reached: which of them show something new, and which op is worth more of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/ci.h"

namespace gpuemu {

/// Source lines that ran, over many cases.
class LineCoverage {
 public:
  /// `source` is the file of lines that have none of their own (PTX without line information).
  void add(const std::vector<LineProfile>& profile, const std::string& source);
  /// In order of file and line.
  std::vector<CoveredLine> lines() const;

 private:
  std::map<std::pair<std::string, uint32_t>, uint64_t> hits_;
};

/// A case is interesting when a line ran that did not run before, ran about twice as often as ever,
/// or diverged for the first time.
class CoverageGain {
 public:
  /// How many such things `profile` shows; they are known afterwards.
  size_t add(const std::vector<LineProfile>& profile);

 private:
  std::set<std::pair<std::pair<std::string, uint32_t>, uint32_t>> seen_;
};

/// Chooses whose cases run next: who found most per second lately; every fourth turn goes to the
/// one with the fewest cases, so that nobody is forgotten.
class OpPicker {
 public:
  explicit OpPicker(size_t count) : scores_(count, 1.0), cases_(count, 0) {}
  /// REQUIRES: count > 0.
  size_t next();
  void ran(size_t index, uint64_t cases, size_t found, std::chrono::duration<double> took);

 private:
  std::vector<double> scores_;  ///< Findings per second, halved by every turn without any.
  std::vector<uint64_t> cases_;
  uint64_t turn_ = 0;
};

}  // namespace gpuemu
