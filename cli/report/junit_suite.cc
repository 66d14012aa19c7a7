#include "cli/report/junit_suite.h"

#include <utility>

#include <fmt/core.h>

#include "cli/report/escape.h"

namespace gpuemu::cli {
namespace {

// The length limit for the text of one failure; these files are shown on web pages.
constexpr size_t kTextMax = 8192;

std::string seconds(uint64_t milliseconds) {
  return fmt::format("{}.{:03}", milliseconds / 1000, milliseconds % 1000);
}

}  // namespace

JunitSuite::JunitSuite(std::string name, std::string classname)
    : name_(std::move(name)), classname_(std::move(classname)) {}

void JunitSuite::open(const std::string& name, uint64_t ms) {
  ++tests_;
  ms_ += ms;
  text_ += fmt::format("    <testcase name=\"{}\" classname=\"{}\" time=\"{}\"", markup(name),
                       classname_, seconds(ms));
}

void JunitSuite::passed(const std::string& name, uint64_t ms) {
  open(name, ms);
  text_ += "/>\n";
}

void JunitSuite::failed(const std::string& name, uint64_t ms, const std::string& type,
                        const std::string& message, const std::string& text) {
  ++failures_;
  open(name, ms);
  text_ += fmt::format(
      ">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n", markup(type),
      markup(clipped(message, kTextMax)), markup(clipped(text, kTextMax)));
}

void JunitSuite::skipped(const std::string& name, const std::string& why) {
  ++skipped_;
  open(name, 0);
  text_ += fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", markup(why));
}

void JunitSuite::note(const std::string& text) { notes_ += markup(clipped(text, kTextMax)) + "\n"; }

std::string JunitSuite::xml() const {
  if (tests_ == 0) return "";
  return fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" "
      "time=\"{}\">\n{}{}  </testsuite>\n",
      name_, tests_, failures_, skipped_, seconds(ms_), text_,
      notes_.empty() ? "" : "    <system-out>" + notes_ + "</system-out>\n");
}

std::string junit_document(const std::vector<JunitSuite>& suites, uint64_t duration_ms) {
  size_t tests = 0, failures = 0;
  std::string text;
  for (const JunitSuite& suite : suites) {
    tests += suite.tests();
    failures += suite.failures();
    text += suite.xml();
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gpuemu\" tests=\"{}\" "
      "failures=\"{}\" errors=\"0\" time=\"{}\">\n{}</testsuites>\n",
      tests, failures, seconds(duration_ms), text);
}

}  // namespace gpuemu::cli
