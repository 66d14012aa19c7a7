#include "bindings/libcuda/recorder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "bindings/libcuda/address_owner.h"
#include "bindings/libcuda/call_sites/symbols.h"
#include "bindings/libcuda/process.h"
#include "common/base/text.h"
#include "runtime/run_record/run_lines.h"

namespace gpuemu::libcuda {
namespace {

std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

/// Returns the message without "; thread (1,0,0) of block (0,0,0), FILE:LINE: INSTRUCTION", which
/// the finding has in separate members.
std::string without_place(const DeviceFinding& seen) {
  const auto index = [](const Dim3& of) { return fmt::format("({},{},{})", of.x, of.y, of.z); };
  const size_t at = seen.message.rfind("; thread " + index(seen.thread) + " of block " +
                                       index(seen.block) + ", ");
  return seen.message.substr(0, at);
}

RunFinding finding_of(const DeviceFinding& seen, const CallSite* site, bool replicas_are_errors) {
  RunFinding made;
  made.kind = run_kind_of(seen.kind);
  const bool is_error = !is_note(seen) || (replicas_are_errors && is_redundancy(seen));
  made.severity = is_error ? RunSeverity::Error : RunSeverity::Note;
  made.message = without_place(seen);
  made.ptx_kernel = seen.entry;
  made.kernel = demangled(seen.entry);
  made.file = seen.file;
  made.line = seen.line;
  made.ptx_line = seen.ptx_line;
  made.instruction = seen.instruction;
  made.block = seen.block;
  made.thread = seen.thread;
  made.count = seen.count;
  if (seen.other_ptx_line != 0) {
    made.other = RunOther{seen.other_file, seen.other_line, seen.other_ptx_line};
  }
  if (site != nullptr) {
    made.host = {site->call, frames_of(*site)};
    if (!site->test.empty()) made.tests = {site->test};
  }
  made.process = getpid();
  return made;
}

RunAllocation allocation_of(const Allocation& what, int64_t offset) {
  RunAllocation made{what.name, what.bytes, offset, {}, {}};
  if (what.made != nullptr) made.stack = frames_of(*what.made);
  if (what.freed != nullptr) made.freed = frames_of(*what.freed);
  return made;
}

/// Replaces the allocation's name in a message by that of the argument that points into it; of
/// several, the one that points closest before the byte.
void name_argument(std::string& message, const Allocation& what, int64_t offset,
                   const std::vector<PointerArgument>& pointers) {
  const PointerArgument* best = nullptr;
  const uint64_t at = what.address + static_cast<uint64_t>(std::max<int64_t>(offset, 0));
  for (const PointerArgument& one : pointers) {
    if (one.value < what.address || one.value >= what.address + what.bytes) continue;
    if (best == nullptr || (one.value <= at && one.value > best->value)) best = &one;
  }
  const std::string quoted = "'" + what.name + "'";
  const size_t where = message.find(quoted);
  if (best != nullptr && where != message.npos) {
    message.replace(where, quoted.size(), "'" + best->name + "'");
  }
}

/// Makes a finding about a launch, at its call.
RunFinding finding_of_launch(const char* kind, const CallSite& site, const std::string& entry,
                             std::string message) {
  RunFinding made;
  made.kind = kind;
  made.ptx_kernel = entry;
  made.kernel = demangled(entry);
  made.message = std::move(message);
  made.host = {site.call, frames_of(site)};
  if (!site.test.empty()) made.tests = {site.test};
  if (!made.host.stack.empty()) {
    made.file = made.host.stack.front().file;
    made.line = made.host.stack.front().line;
  }
  made.process = getpid();
  return made;
}

void say_unrecorded(const std::string& file) {
  say_once("findings file",
           fmt::format("cannot write {}: {}; the report lacks findings of process {}", file,
                       std::strerror(errno), getpid()));
}

}  // namespace

void Recorder::start(const Settings& settings, const Allocations* allocations) {
  settings_ = settings;
  allocations_ = allocations;
  if (settings.folder.empty()) return;
  const std::string name = run_file_name(settings.folder, getpid());
  file_ = std::fopen(name.c_str(), "ae");
  if (file_ == nullptr) {
    say_unrecorded(name);
    return;
  }
  launches_.keep_in(launches_file_name(settings.folder, getpid()));
  const std::lock_guard lock(mutex_);
  write_process();
}

uint64_t Recorder::launch_begins(StreamId stream, std::shared_ptr<const CallSite> site, bool stays,
                                 std::vector<PointerArgument> pointers) {
  const uint64_t tag = next_tag_.fetch_add(1);
  if (!stays) launches_.issue();
  const std::lock_guard lock(mutex_);
  running_[tag] = {stream, std::move(site), stays, false, 0, std::move(pointers)};
  return tag;
}

void Recorder::launch_repeats(uint64_t tag, StreamId stream, bool is_certain) {
  if (is_certain) launches_.issue();
  const std::lock_guard lock(mutex_);
  const auto found = running_.find(tag);
  if (found == running_.end()) return;
  found->second.stream = stream;
  found->second.is_counted = is_certain;
  ++found->second.runs;
}

void Recorder::launch_dropped(uint64_t tag) {
  const std::lock_guard lock(mutex_);
  const auto found = running_.find(tag);
  if (found == running_.end()) return;
  found->second.is_dropped = true;
  if (found->second.runs == 0) running_.erase(found);
}

void Recorder::launch_refused(uint64_t tag) {
  launches_.refuse();
  const std::lock_guard lock(mutex_);
  running_.erase(tag);
}

Recorder::Launch Recorder::end_run(uint64_t tag) {
  Launch launch;
  const std::lock_guard lock(mutex_);
  const auto found = running_.find(tag);
  if (found != running_.end()) {
    launch = found->second;
    if (found->second.runs != 0) --found->second.runs;
    const bool may_repeat = launch.stays && !(launch.is_dropped && found->second.runs == 0);
    if (!may_repeat) running_.erase(found);
  }
  if (launch.stays && !launch.is_counted) launches_.issue();
  return launch;
}

StreamId Recorder::launch_ended(int device, uint64_t tag, const LaunchReport& report) {
  const Launch launch = end_run(tag);
  const auto described = [&](const DeviceFinding& seen) {
    RunFinding made = finding_of(seen, launch.site.get(), settings_.replicas);
    describe_allocation(made, seen, launch.pointers);
    return made;
  };
  for (const DeviceFinding& seen : report.findings) {
    if (is_wanted(seen.kind)) add(described(seen));
  }
  for (const UndefinedStore& one : report.undefined) {
    undefined_.keep(device, one.number, described(one.finding));
  }
  launches_.end();
  return launch.stream;
}

void Recorder::launch_failed(uint64_t tag, const std::string& entry, const Error& why) {
  const Launch launch = end_run(tag);
  if (why.code == ErrorCode::Unavailable) return;
  if (launch.site != nullptr) {
    add(finding_of_launch(
        kRunNotRun, *launch.site, entry,
        fmt::format("could not run, so nothing of it was checked: {}", why.message)));
  }
  launches_.end();
}

bool Recorder::is_wanted(DeviceFindingKind kind) const {
  const bool of_memory =
      kind == DeviceFindingKind::OutOfBounds || kind == DeviceFindingKind::Misaligned;
  return !of_memory || settings_.checks.has(DeviceCheck::Memory);
}

void Recorder::describe_allocation(RunFinding& finding, const DeviceFinding& seen,
                                   const std::vector<PointerArgument>& pointers) const {
  const Allocations::Shared what = seen.tensor.empty() ? nullptr : allocations_->named(seen.tensor);
  if (what == nullptr) {
    uint64_t address = 0;
    const Allocations::Shared owner = name_owner(finding.message, *allocations_, address);
    if (owner == nullptr) return;
    finding.allocation = allocation_of(*owner, static_cast<int64_t>(address - owner->address));
    return;
  }
  finding.allocation = allocation_of(*what, seen.byte_offset);
  name_closed(finding.message, *what);
  name_argument(finding.message, *what, seen.byte_offset, pointers);
  // Memory that was freed after the access was within its bounds at that time.
  const bool was_inside =
      seen.byte_offset >= 0 && static_cast<uint64_t>(seen.byte_offset) < what->bytes;
  if (what->freed != nullptr && was_inside && seen.kind == DeviceFindingKind::OutOfBounds) {
    finding.kind = kRunUseAfterFree;
  }
}

void Recorder::host_finding(const char* kind, const std::string& message, const char* call,
                            const Allocation* what, int64_t offset) {
  if (!settings_.host_calls) return;
  RunFinding made;
  made.kind = kind;
  made.message = message;
  const auto site = call_site(call);
  made.host = {site->call, frames_of(*site)};
  if (!site->test.empty()) made.tests = {site->test};
  if (!made.host.stack.empty()) {
    made.file = made.host.stack.front().file;
    made.line = made.host.stack.front().line;
  }
  if (what != nullptr) made.allocation = allocation_of(*what, offset);
  made.process = getpid();
  add(std::move(made));
}

void Recorder::unchecked_launch(const CallSite& site, const std::string& entry,
                                const std::string& reason) {
  if (!settings_.host_calls) return;
  add(finding_of_launch(
      kRunUncheckedError, site, entry,
      fmt::format("the launch of {} failed ({}), and the program did not read the error",
                  demangled(entry), reason)));
}

void Recorder::add_again(Known& known, const RunFinding& again) {
  const size_t tests = known.finding.tests.size();
  merge(known.finding, again);
  if (known.finding.tests.size() == tests) return;
  RunFinding more = again;
  more.count = known.finding.count - known.written;
  write(encode_line(more));
  known.written = known.finding.count;
}

void Recorder::add(RunFinding finding) {
  const std::string key = fold_key(finding);
  const std::lock_guard lock(mutex_);
  const auto known = by_key_.find(key);
  if (known != by_key_.end()) {
    add_again(findings_[known->second], finding);
    return;
  }
  if (findings_.size() >= settings_.findings_max) {
    say_once("findings_max",
             fmt::format("process {} has more than {} different findings; the others are not "
                         "recorded: raise --max-findings to see them",
                         getpid(), settings_.findings_max));
    return;
  }
  by_key_[key] = findings_.size();
  write(encode_line(finding));
  const uint64_t count = finding.count;
  findings_.push_back({std::move(finding), count});
}

void Recorder::unsupported(const char* call) {
  const std::lock_guard lock(mutex_);
  ++unsupported_[call];
}

void Recorder::count_kernel(const std::string& entry, const std::string& test) {
  const std::lock_guard lock(mutex_);
  if (!kernels_[entry].insert(test).second) return;
  write(encode_line(RunKernel{demangled(entry), entry, test}));
  write_process();
}

void Recorder::write(const std::string& line) {
  if (file_ == nullptr) return;
  const bool is_written =
      std::fwrite(line.data(), 1, line.size(), file_) == line.size() && std::fflush(file_) == 0;
  if (!is_written) say_unrecorded(run_file_name(settings_.folder, getpid()));
}

RunProcess Recorder::process_record() {
  // Read in this order, a launch that ends meanwhile does not make fewer issued than ended.
  const uint64_t ended = launches_.ended(), issued = launches_.issued();
  return {getpid(),
          command_line(),
          issued,
          kernels_.size(),
          issued - std::min(issued, ended),
          launches_.rejected()};
}

void Recorder::write_process() {
  if (file_ == nullptr) return;
  write(encode_line(process_record()));
}

void Recorder::finish() {
  if (settings_.leaks) {
    for (const Allocations::Shared& one : allocations_->all()) {
      if (one->is_variable) continue;
      RunFinding made;
      made.kind = kRunLeak;
      made.message = fmt::format("{} of {} is never freed", one->name, counted(one->bytes, "byte"));
      made.allocation = allocation_of(*one, 0);
      made.host = {one->made->call, made.allocation->stack};
      if (!one->made->test.empty()) made.tests = {one->made->test};
      if (!made.host.stack.empty()) {
        made.file = made.host.stack.front().file;
        made.line = made.host.stack.front().line;
      }
      made.process = getpid();
      add(std::move(made));
    }
  }
  const std::lock_guard lock(mutex_);
  write_process();
  for (Known& known : findings_) {
    if (known.finding.count == known.written) continue;
    RunFinding more = known.finding;
    more.count = known.finding.count - known.written;
    write(encode_line(more));
    known.written = known.finding.count;
  }
  for (const auto& [call, count] : unsupported_) write(encode_line(RunUnsupported{call, count}));
  if (!settings_.folder.empty() || (findings_.empty() && unsupported_.empty())) return;
  std::vector<RunFinding> all;
  for (const Known& known : findings_) all.push_back(known.finding);
  std::string text;
  for (const RunFinding& finding : all) text += text_of(finding);
  text += summary_of(all, {process_record()}) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace gpuemu::libcuda
