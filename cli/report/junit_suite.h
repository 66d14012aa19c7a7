// Private to this folder: writes JUnit XML, suite by suite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace gpuemu::cli {

/// The test cases of one suite with their counts. Texts may contain anything; times are in
/// milliseconds.
class JunitSuite {
 public:
  JunitSuite(std::string name, std::string classname);

  void passed(const std::string& name, uint64_t ms);
  void failed(const std::string& name, uint64_t ms, const std::string& type,
              const std::string& message, const std::string& text);
  void skipped(const std::string& name, const std::string& why);
  /// Adds information for the reader that belongs to no test.
  void note(const std::string& text);
  size_t failures() const { return failures_; }
  size_t tests() const { return tests_; }

  /// Returns "" if it has no test.
  std::string xml() const;

 private:
  void open(const std::string& name, uint64_t ms);

  std::string name_, classname_, text_, notes_;
  size_t tests_ = 0, failures_ = 0, skipped_ = 0;
  uint64_t ms_ = 0;
};

/// Returns the whole document; suites without tests are omitted.
std::string junit_document(const std::vector<JunitSuite>& suites, uint64_t duration_ms);

}  // namespace gpuemu::cli
