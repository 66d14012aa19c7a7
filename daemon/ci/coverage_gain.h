// Tracks what cases have reached: which of them show something new, and which op deserves more
// cases.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/ci.gen.h"

namespace gpuemu {

/// The source lines that ran, over many cases.
class LineCoverage {
 public:
  /// `source` is the file of lines that have none of their own (PTX without line information).
  void add(const std::vector<LineProfile>& profile, const std::string& source);
  /// In order of file and line.
  std::vector<CoveredLine> lines() const;

 private:
  std::map<std::pair<std::string, uint32_t>, uint64_t> hits_;
};

/// Decides which cases are interesting: a line ran for the first time, ran about twice as often as
/// ever before, or diverged for the first time.
class CoverageGain {
 public:
  /// Returns how many such new things `profile` shows, and remembers them.
  size_t add(const std::vector<LineProfile>& profile);

 private:
  std::set<std::pair<std::pair<std::string, uint32_t>, uint32_t>> seen_;
};

/// Chooses the op whose cases run next: the one that lately found the most per second. Every fourth
/// turn goes to the op with the fewest cases, so that none is starved.
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
