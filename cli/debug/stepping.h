// Controls a launch that can stop: breakpoints, watched elements, steps, and the focused thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/debug/breakpoints.h"
#include "common/numeric/dtype.h"
#include "runtime/device/debug.h"

namespace gpuemu::cli {

/// How far a stopped launch runs on.
enum class Pace : uint8_t {
  Go,           ///< To the next breakpoint.
  Instruction,  ///< To the thread's next instruction.
  Line,         ///< To its next source line, including called functions.
  Over,         ///< One source line, without entering functions.
  Out,          ///< To the caller.
};

/// The thread whose state is shown.
struct Focus {
  uint64_t block = 0;  ///< Linear.
  Dim3 block_index{0, 0, 0};
  uint32_t warp = 0, lane = 0;
};

/// One watched element.
struct Watchpoint {
  uint32_t number = 0;
  std::string tensor;
  std::string name;  ///< "y[3, 4]"
  DType dtype = DType::Float32;
  int64_t flat = 0;
  uint64_t hits = 0;
};

class Stepping final : public Debugger {
 public:
  /// `at_stop` gets the reasons of each stop, and returns when the launch is to continue or to end.
  explicit Stepping(std::function<void(const std::vector<std::string>& why)> at_stop)
      : at_stop_(std::move(at_stop)) {}

  // Implements Debugger.
  void loaded(const DebugProgram& program) override { program_ = program; }
  bool before(const DebugView& view) override;
  const std::vector<DebugWatch>& watches() const override { return watches_; }

  /// Prepares for a launch. `stop` stops it at its first instruction.
  void begin(bool stop);
  /// Sets how the stopped launch continues.
  void resume(Pace pace, uint64_t count);
  void end() { ended_ = true; }
  bool goes_on() const { return resumed_ || ended_; }
  bool was_ended() const { return ended_; }

  /// Returns the stopped launch; null if there is none.
  const DebugView* view() const { return view_; }
  const DebugProgram& program() const { return program_; }
  const DebugInstruction& instruction(DebugPlace place) const {
    return program_.functions[place.function].body[place.instruction];
  }
  const Focus& focus() const { return focus_; }
  /// Returns the instruction that the focused thread executed last, if the stop ends a step by
  /// instructions.
  std::optional<DebugPlace> stepped() const { return stepped_; }
  /// Returns where the focused thread is; nothing if it has ended.
  std::optional<DebugPlace> focused_place() const;
  /// InvalidArgument if the block has no such thread.
  Status focus_on(const Dim3& thread);

  std::vector<Breakpoint>& breakpoints() { return breakpoints_; }
  std::vector<Watchpoint>& watchpoints() { return watchpoints_; }
  uint32_t next_number() { return ++numbers_; }
  /// Forgets all breakpoints and watchpoints, because another kernel was loaded.
  void forget();
  /// Sets the addresses of the watched elements for the run that begins or is in progress.
  void place_watches(std::vector<DebugWatch> watches) { watches_ = std::move(watches); }

 private:
  std::vector<std::string> reasons(const DebugView& view);
  void add_findings(const DebugView& view, std::vector<std::string>& why);
  void add_stores(const DebugView& view, std::vector<std::string>& why);
  void add_breakpoints(const DebugView& view, std::vector<std::string>& why);
  void add_step(const DebugView& view, std::vector<std::string>& why);
  bool step_is_done(const DebugView& view) const;
  void take_focus(const DebugView& view, std::optional<Dim3> thread);

  std::function<void(const std::vector<std::string>&)> at_stop_;
  DebugProgram program_;
  std::vector<Breakpoint> breakpoints_;
  std::vector<Watchpoint> watchpoints_;
  std::vector<DebugWatch> watches_;
  uint32_t numbers_ = 0;

  const DebugView* view_ = nullptr;
  Focus focus_;
  std::optional<Dim3> wanted_thread_;  ///< Thread of the breakpoint that was reached.
  Pace pace_ = Pace::Go;
  uint64_t steps_left_ = 0;
  DebugPlace from_;  ///< Where the current step began.
  std::optional<DebugPlace> stepped_;
  uint32_t from_depth_ = 0;
  size_t findings_ = 0;  ///< Findings reported so far.
  bool first_ = false, resumed_ = false, ended_ = false;
};

}  // namespace gpuemu::cli
