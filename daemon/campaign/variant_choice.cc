#include "daemon/campaign/variant_choice.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/ranges.h>

#include "common/base/blake2.h"
#include "common/base/text.h"
#include "common/config/config.h"
#include "daemon/case/case_request.h"
#include "daemon/case/case_work.h"
#include "daemon/execution/plan_case.h"
#include "daemon/kernels/kernel_store.h"
#include "daemon/plans/execution_plan.h"
#include "daemon/schedule/slot.h"
#include "daemon/schedule/slot_pool.h"
#include "judge/cases/case.h"
#include "runtime/device/device_traits.h"

namespace gpuemu {
namespace {

/// On a GPU the first run, which loads the code, is not counted; the least of the others is.
constexpr int kTimedRuns = 4;
constexpr std::string_view kVariantMeta = "variants:";
/// The case on which a class is measured is the first of that class among so many of a fixed seed.
constexpr uint64_t kSampleSeed = 1, kSamples = 4000;

std::string class_of(const std::vector<CaseTensor>& tensors) {
  std::vector<std::string> parts;
  for (const CaseTensor& tensor : tensors) {
    const bool contiguous = tensor.layout == contiguous_layout(tensor.shape);
    parts.push_back(tensor.name + " " + size_class(tensor.shape, contiguous));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Returns the sizes of a class, for people.
std::string sizes_text(const CasePlan& plan) {
  return class_of(plan.inputs.empty() ? plan.outputs : plan.inputs);
}

std::string class_of(const CasePlan& plan) {
  return class_of(plan.inputs) + " -> " + class_of(plan.outputs);
}

std::string names_of(const std::vector<const KernelConfig*>& variants) {
  std::string names;
  for (const KernelConfig* kernel : variants) names += kernel->name + " ";
  return names;
}

/// Returns what the cost of a variant depends on besides its code.
std::string case_text(const CasePlan& plan) {
  std::string text = fmt::format("{};{}", plan.iteration, plan.case_seed);
  for (const auto& [name, size] : plan.dims) text += fmt::format(";{}={}", name, size);
  for (const auto& [name, value] : plan.attrs) text += fmt::format(";{}={}", name, value);
  return text;
}

/// Returns the key of a measurement.
std::string question(const OpConfig& op, const CasePlan& plan,
                     const std::vector<const KernelConfig*>& variants, const std::string& device) {
  return fmt::format("{}; {}; {}; {}; {}", op.name, name_of(plan.dtype), device, class_of(plan),
                     names_of(variants));
}

std::string text_of(const std::vector<Expression>& expressions) {
  std::string text;
  for (const Expression& one : expressions) text += one.text() + ",";
  return text;
}

/// Returns what decides how a kernel's launches run, besides its code.
std::string launches_text(const KernelConfig& kernel) {
  std::string text;
  for (const LaunchSpec& launch : kernel.launches) {
    text += launch.entry + "<" + text_of(launch.grid) + ";" + text_of(launch.block) + ";" +
            text_of(launch.cluster) + ";" + (launch.shared ? launch.shared->text() : "") + ">(";
    for (const LaunchSpec::Arg& arg : launch.args) text += arg.text + ",";
    text += ")";
  }
  return text;
}

/// Returns the threads of the largest launch that a large GPU runs at once. Without it, a kernel
/// whose single warp does all the work would be as good as one with a thread per element.
double threads_at_once(const ExecutionPlan& plan) {
  constexpr uint64_t kThreadsMax = uint64_t{108} * 2048;  // What an A100 runs at once.
  uint64_t most = 1;
  for (const PlanLaunch& launch : plan.launches) {
    uint64_t threads = 1;
    for (const Dim3& size : {launch.grid, launch.block}) {
      for (const uint32_t part : {size.x, size.y, size.z}) {
        threads = std::min(kThreadsMax, threads * part);
      }
    }
    most = std::max(most, threads);
  }
  return static_cast<double>(most);
}

std::string amount_text(double amount, bool is_gpu) {
  return is_gpu ? fmt::format("{:.1f} us", amount) : fmt::format("{:.1f} steps", amount);
}

}  // namespace

Result<VariantChoice::Able> VariantChoice::able(const OpConfig& op, const CasePlan& plan) const {
  std::optional<Scope> scope;  // Made for the first variant that needs it.
  Able found;
  for (const std::string& name : op.kernels) {
    if (!plan.kernel.empty() && name != plan.kernel) continue;
    const KernelConfig* kernel = config_.find_kernel(name);
    if (kernel == nullptr) continue;
    if (kernel->supports) {
      if (!scope) scope = scope_of(op, plan);
      if (!GPUEMU_TRY(supports_case(*kernel, *scope))) continue;
    }
    found.push_back(kernel);
  }
  std::ranges::stable_sort(found, std::greater(), &KernelConfig::priority);
  const auto preferred = config_.kernel_policy.find(op.name);
  if (preferred == config_.kernel_policy.end()) return found;
  const auto wanted = std::ranges::find(found, preferred->second, &KernelConfig::name);
  if (wanted != found.end()) found = {*wanted};
  return found;
}

Result<const KernelConfig*> VariantChoice::first(const OpConfig& op, const CasePlan& plan) const {
  const Able variants = GPUEMU_TRY(able(op, plan));
  return variants.empty() ? nullptr : variants.front();
}

Result<VariantChoice::Able> VariantChoice::candidates(const OpConfig& op,
                                                      const CasePlan& plan) const {
  Able variants = GPUEMU_TRY(able(op, plan));
  if (!config_.selects_fastest && variants.size() > 1) variants.resize(1);
  return variants;
}

const CasePlan* VariantChoice::sample(const OpConfig& op, const CasePlan& plan,
                                      const Able& variants) {
  std::shared_ptr<Samples> samples;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Samples>& kept = samples_[{op.name, plan.dtype}];
    if (!kept) kept = std::make_shared<Samples>();
    samples = kept;
  }
  std::call_once(samples->once, [&] {
    const CaseOptions options = options_of_(op, plan.dtype);
    for (uint64_t number = 0; number < kSamples; ++number) {
      auto other = plan_case(op, kSampleSeed, number, options);
      if (!other) break;
      const auto takes = able(op, *other);
      if (takes) samples->by_class.try_emplace(class_of(*other) + names_of(*takes), *other);
    }
  });
  const auto found = samples->by_class.find(class_of(plan) + names_of(variants));
  return found == samples->by_class.end() ? nullptr : &found->second;
}

Result<VariantChoice::Cost> VariantChoice::measure(const OpConfig& op, const CasePlan& plan,
                                                   const KernelConfig& kernel,
                                                   const Machine& machine) {
  const auto prepared = GPUEMU_TRY(kernels_.prepare(kernel, plan.dtype));
  CasePlan named = plan;
  named.kernel = kernel.name;
  const CaseRequest request{config_, op, kernel, *prepared, named};
  CaseWork work(request, machine.slot);
  GPUEMU_TRY(make_plan(work));
  ExecutionPlan& execution = work.built.plan;
  execution.runs = 1;
  execution.warmup = false;
  Cost cost;
  for (int run = 0; run < (machine.is_gpu ? kTimedRuns : 1); ++run) {
    WorkerSeat& worker = machine.slot.worker;
    const Status begun =
        worker.begin_local(prepared->key, prepared->name, prepared->ptx, execution);
    const auto report = begun ? worker.finish() : Result<ExecutionReport>(begun.error());
    if (!report && report.error().code == ErrorCode::Cancelled) return report.error();
    if (!report) return Cost{.problem = report.error().message};
    if (!report->device.empty()) return Cost{.problem = report->device.front().message};
    if (!report->harness.empty()) return Cost{.problem = report->harness.front().message};
    const double amount = machine.is_gpu ? static_cast<double>(report->elapsed_ns) / 1000
                                         : static_cast<double>(report->thread_instructions) /
                                               threads_at_once(execution);
    if (run < 2 || amount < cost.amount) cost.amount = amount;
  }
  return cost;
}

Result<bool> VariantChoice::complete(const OpConfig& op, const CasePlan& plan, const Able& variants,
                                     const Machine& machine, Costs& costs) {
  bool is_new = false;
  const std::string what = case_text(plan);
  for (const KernelConfig* kernel : variants) {
    const auto prepared = GPUEMU_TRY(kernels_.prepare(*kernel, plan.dtype));
    const std::string code = content_hash({prepared->key, launches_text(*kernel), what});
    Cost& cost = costs[kernel->name];
    if (cost.code == code) continue;
    is_new = true;
    cost = GPUEMU_TRY(measure(op, plan, *kernel, machine));
    cost.code = code;
  }
  return is_new;
}

VariantChoice::Chosen VariantChoice::best(const CasePlan& plan, const Able& variants,
                                          const Costs& costs, bool is_gpu) {
  const std::string sizes = sizes_text(plan);
  double least = std::numeric_limits<double>::infinity();
  for (const KernelConfig* kernel : variants) {
    const Cost& cost = costs.at(kernel->name);
    // Another one would hide its fault.
    if (!cost.problem.empty()) {
      return {kernel, MeasuredChoice{sizes, "it could not be measured: " + cost.problem}};
    }
    least = std::min(least, cost.amount);
  }
  const auto chosen = std::ranges::find_if(variants, [&](const KernelConfig* kernel) {
    return costs.at(kernel->name).amount <= least * kVariantTie;
  });
  std::vector<std::string> others;
  for (const KernelConfig* kernel : variants) {
    if (kernel == *chosen) continue;
    others.push_back(kernel->name + " " + amount_text(costs.at(kernel->name).amount, is_gpu));
  }
  return {*chosen,
          MeasuredChoice{
              sizes, fmt::format("{}, {}", amount_text(costs.at((*chosen)->name).amount, is_gpu),
                                 fmt::join(others, ", "))}};
}

VariantChoice::Costs VariantChoice::parse(std::string_view text) {
  Costs costs;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::vector<std::string_view> parts;
    for (size_t at = 0; parts.size() < 3 && at <= line.size();) {
      const size_t end = std::min(line.find('\t', at), line.size());
      parts.push_back(line.substr(at, end - at));
      at = end + 1;
    }
    if (parts.size() < 3) return {};
    Cost cost{.code = std::string(parts[1])};
    const auto [end, code] =
        std::from_chars(parts[2].data(), parts[2].data() + parts[2].size(), cost.amount);
    if (code != std::errc() || end != parts[2].data() + parts[2].size()) return {};
    costs[std::string(parts[0])] = cost;
  }
  return costs;
}

std::string VariantChoice::text_of(const Costs& costs) {
  std::string text;
  for (const auto& [name, cost] : costs) {
    // One that could not be measured is tried again by the next run.
    if (cost.problem.empty()) text += fmt::format("{}\t{}\t{}\n", name, cost.code, cost.amount);
  }
  return text;
}

Result<VariantChoice::Chosen> VariantChoice::choose(const OpConfig& op, const CasePlan& plan,
                                                    Slot& slot) {
  const Able variants = GPUEMU_TRY(able(op, plan));
  if (variants.empty()) return Chosen{};
  if (!config_.selects_fastest || variants.size() == 1) return Chosen{variants.front(), {}};
  const auto known_device = slot.worker.properties();
  if (!known_device) return Chosen{variants.front(), {}};  // The case itself says why.
  const DeviceProperties& device = *known_device;
  const Machine machine{slot, device_traits(device.backend).is_gpu};
  // Emulators of one architecture execute the same instructions on every machine.
  const std::string key =
      std::string(kVariantMeta) +
      question(op, plan, variants,
               fmt::format("{} sm_{}", machine.is_gpu ? device.name : device.backend, device.sm));
  std::shared_ptr<Known> known;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<Known>& kept = known_[key];
    if (!kept) kept = std::make_shared<Known>();
    known = kept;
  }
  const std::lock_guard lock(known->mutex);
  if (!known->costs) {
    Costs costs;
    const CasePlan* const measured = sample(op, plan, variants);
    if (measured == nullptr) {
      return Chosen{variants.front(),
                    MeasuredChoice{sizes_text(plan),
                                   "it was not measured, because none of the cases "
                                   "that are has these sizes"}};
    }
    if (memory_.find) costs = parse(GPUEMU_TRY(memory_.find(key)).value_or(""));
    const bool is_new = GPUEMU_TRY(complete(op, *measured, variants, machine, costs));
    if (is_new && memory_.keep) GPUEMU_TRY(memory_.keep(key, text_of(costs)));
    known->costs = std::move(costs);
  }
  return best(plan, variants, *known->costs, machine.is_gpu);
}

void VariantTally::add(const CaseReport& report) {
  if (!report.choice) return;
  Count& count = chosen_[report.kernel];
  ++count.cases;
  count.classes.emplace(report.choice->sizes, *report.choice);
}

std::vector<std::string> VariantTally::sentences() const {
  std::vector<std::string> all;
  for (const auto& [variant, count] : chosen_) {
    const auto& [sizes, choice] = *std::prev(count.classes.end());
    all.push_back(fmt::format("best_performance chose {} for {} in {}; for {}: {}", variant,
                              counted(count.cases, "case"),
                              counted(count.classes.size(), "shape class"), sizes, choice.costs));
  }
  return all;
}

}  // namespace gpuemu
