// Commands that stop a launch: breakpoints, watched elements, steps.
#include <algorithm>

#include <fmt/ranges.h>

#include "cli/debug/commands.h"
#include "cli/debug/machine_text.h"
#include "cli/debug/outputs.h"
#include "cli/debug/stopped.h"
#include "common/base/limits.h"
#include "common/base/text.h"
#include "runtime/device/device_traits.h"

namespace gpuemu::cli {
namespace {

/// Opens a run on the emulator with the session's debugger.
Status open_run(DebugContext& context) {
  const ExportedCaseReply& loaded = *GPUEMU_TRY(case_with_kernel(context));
  context.ran = false;
  context.run.reset();
  DeviceRequest request{.backend = std::string(kEmulatorBackend), .sm = emulated_sm(loaded.arch)};
  request.debugger = context.stepping.get();
  context.run = GPUEMU_TRY(CaseRun::open(loaded, context.environment.settings, request));
  return ok_status();
}

/// Loads the listing of the kernel, for breakpoints set before it runs.
Status need_listing(DebugContext& context) {
  GPUEMU_TRY(case_with_kernel(context));
  return context.stepping->program().functions.empty() ? open_run(context) : ok_status();
}

Status place_watches(DebugContext& context) {
  std::vector<DebugWatch> watches;
  for (const Watchpoint& one : context.stepping->watchpoints()) {
    const ExportedTensor& tensor = *GPUEMU_TRY(find_tensor(context, one.tensor));
    watches.push_back({one.number, context.run->address_of(tensor, one.flat),
                       static_cast<uint32_t>(byte_size(tensor.dtype))});
  }
  context.stepping->place_watches(std::move(watches));
  return ok_status();
}

/// Runs all launches, each with its stops. There is no time limit, because the user may think for a
/// long time; a runaway launch is stopped by its instruction count, or by Ctrl-C.
Status run_stopping(DebugContext& context, bool at_begin) {
  GPUEMU_TRY(open_run(context));
  GPUEMU_TRY(place_watches(context));
  context.ran = true;
  for (size_t i = 0; i < context.run->launches(); ++i) {
    context.launch = i;
    context.stepping->begin(at_begin && i == 0);
    const auto report = context.run->launch(i, kTimeoutMsMax);
    if (!report) return report.error();
    if (context.stepping->was_ended()) {
      if (!context.quit) context.out << "the launch was ended\n";
      return ok_status();
    }
    print_launch(context, i, *report);
    if (std::ranges::any_of(report->findings, is_fault)) break;
  }
  return print_outputs(context);
}

Status go_on(DebugContext& context, const Words& words, Pace pace) {
  GPUEMU_TRY(stopped_view(context));
  uint64_t count = 1;
  if (!words.empty()) count = GPUEMU_TRY(parse_count(words[0], "how often"));
  if (count == 0) return error(ErrorCode::InvalidArgument, "0 steps: expected a number from 1");
  context.stepping->resume(pace, count);
  return ok_status();
}

std::string times_text(uint64_t count) {
  return count == 1 ? "met once" : fmt::format("met {} times", count);
}

}  // namespace

Status do_run(DebugContext& context, const Words&) { return run_stopping(context, false); }
Status do_start(DebugContext& context, const Words&) { return run_stopping(context, true); }

Status do_continue(DebugContext& context, const Words& words) {
  return go_on(context, words, Pace::Go);
}
Status do_step(DebugContext& context, const Words& words) {
  return go_on(context, words, Pace::Line);
}
Status do_next(DebugContext& context, const Words& words) {
  return go_on(context, words, Pace::Over);
}
Status do_stepi(DebugContext& context, const Words& words) {
  return go_on(context, words, Pace::Instruction);
}

Status do_finish(DebugContext& context, const Words& words) {
  const DebugView& view = *GPUEMU_TRY(stopped_view(context));
  if (view.depth() <= 1) {
    return error(
        ErrorCode::InvalidArgument,
        "the thread is in the kernel itself, nobody called it: `continue` goes to its end");
  }
  return go_on(context, words, Pace::Out);
}

Status do_break(DebugContext& context, const Words& words) {
  Breakpoint made{.spec = GPUEMU_TRY(parse_break(words))};
  GPUEMU_TRY(need_listing(context));
  const ExportedLaunch& launch = context.loaded->launches[context.launch];
  made.places = GPUEMU_TRY(find_places(context.stepping->program(), made.spec, launch.entry));
  made.number = context.stepping->next_number();
  const DebugInstruction& first = context.stepping->instruction(made.places.front());
  context.out << fmt::format("breakpoint {}: {}, {}, the first at {}: {}\n", made.number,
                             text_of(made.spec), counted(made.places.size(), "place"),
                             place_text(first), first.text);
  context.stepping->breakpoints().push_back(std::move(made));
  return ok_status();
}

Status do_watch(DebugContext& context, const Words& words) {
  if (words.empty()) return wrong_usage("watch TENSOR[INDEX]", "the element is missing");
  const TensorRef ref = GPUEMU_TRY(parse_tensor_ref(words[0]));
  GPUEMU_TRY(case_with_kernel(context));
  const ExportedTensor& tensor = *GPUEMU_TRY(find_tensor(context, ref.name));
  const auto flat = single_element(GPUEMU_TRY(resolve(ref.slice, tensor.shape)), tensor.shape);
  if (!flat || !ref.part.empty()) {
    return error(ErrorCode::InvalidArgument,
                 "'{}' is not a single element: expected an index for each axis of {}", words[0],
                 to_string(tensor.shape));
  }
  Watchpoint made{.number = context.stepping->next_number(),
                  .tensor = tensor.name,
                  .name = element_name(tensor.name, tensor.shape, *flat),
                  .dtype = tensor.dtype,
                  .flat = *flat};
  context.out << fmt::format("watchpoint {}: stores to {}\n", made.number, made.name);
  context.stepping->watchpoints().push_back(std::move(made));
  return context.stepping->view() != nullptr ? place_watches(context) : ok_status();
}

Status do_breakpoints(DebugContext& context, const Words&) {
  for (const Breakpoint& one : context.stepping->breakpoints()) {
    context.out << fmt::format("breakpoint {}: {}, {}\n", one.number, text_of(one.spec),
                               times_text(one.hits));
  }
  for (const Watchpoint& one : context.stepping->watchpoints()) {
    context.out << fmt::format("watchpoint {}: stores to {}, {}\n", one.number, one.name,
                               times_text(one.hits));
  }
  if (context.stepping->breakpoints().empty() && context.stepping->watchpoints().empty()) {
    context.out << "none; `break` and `watch` set them\n";
  }
  return ok_status();
}

Status do_delete(DebugContext& context, const Words& words) {
  Stepping& stepping = *context.stepping;
  if (words.empty()) {
    stepping.breakpoints().clear();
    stepping.watchpoints().clear();
    stepping.place_watches({});
    return ok_status();
  }
  const uint64_t number = GPUEMU_TRY(parse_count(words[0], "breakpoint"));
  const size_t gone = std::erase_if(stepping.breakpoints(),
                                    [&](const Breakpoint& one) { return one.number == number; }) +
                      std::erase_if(stepping.watchpoints(),
                                    [&](const Watchpoint& one) { return one.number == number; });
  if (gone == 0) {
    return error(ErrorCode::InvalidArgument,
                 "no breakpoint or watchpoint {}; `breakpoints` lists them", number);
  }
  return stepping.view() != nullptr ? place_watches(context) : ok_status();
}

}  // namespace gpuemu::cli
