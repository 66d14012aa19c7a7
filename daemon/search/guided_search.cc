#include "daemon/search/guided_search.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "common/base/limits.h"
#include "common/rng/rng.h"

namespace gpuemu {
namespace {

// Cases between two looks at what they reached: enough to keep all slots busy, and the same on
// every machine.
constexpr size_t kBatch = 32;
// Generated cases before the corpus takes every other turn: they go through corners and strategies.
constexpr uint64_t kGeneratedFirst = 32;
// Once so many cases on end have reached nothing new, fewer follow the corpus: its entries are
// those that run long, and what they have in common was tried.
constexpr uint64_t kDryAfter = 128;
constexpr uint64_t kFollowEvery = 2, kFollowEveryWhenDry = 8;
// Numbers of cases that follow others; far above those of generated ones, exact as a double.
constexpr uint64_t kFollowers = uint64_t{1} << 40;
// Entries kept of one op: what reached something first, not everything that ran.
constexpr size_t kCorpusMax = 256;

int64_t elements_of(const CasePlan& plan) {
  const auto add = [](int64_t sum, const CaseTensor& tensor) {
    return sum + element_count(tensor.shape);
  };
  return std::accumulate(plan.inputs.begin(), plan.inputs.end(), int64_t{0}, add) +
         std::accumulate(plan.outputs.begin(), plan.outputs.end(), int64_t{0}, add);
}

/// Returns what `found` has and `known` lacks; `known` has it afterwards. Both are sorted.
size_t learn(std::vector<uint64_t>& known, const std::vector<uint64_t>& found) {
  std::vector<uint64_t> both;
  std::ranges::set_union(known, found, std::back_inserter(both));
  const size_t fresh = both.size() - known.size();
  known = std::move(both);
  return fresh;
}

}  // namespace

bool follows_corpus(uint64_t number, uint64_t round, uint64_t since_growth) {
  const uint64_t every = since_growth >= kDryAfter ? kFollowEveryWhenDry : kFollowEvery;
  return number >= kGeneratedFirst && round % every == 1;
}

const CorpusEntry* one_to_follow(const std::vector<const CorpusEntry*>& entries, uint64_t seed,
                                 uint64_t number) {
  Stream stream(seed, number, "follow");
  const auto newer = [&] {
    const uint64_t one = stream.below(entries.size()), other = stream.below(entries.size());
    return entries[std::max(one, other)];
  };
  const CorpusEntry *first = newer(), *second = newer();
  return elements_of(second->plan) < elements_of(first->plan) ? second : first;
}

std::vector<CorpusEntry> smallest_cover(std::vector<CorpusEntry> entries, size_t count_max) {
  std::ranges::stable_sort(entries, {},
                           [](const CorpusEntry& entry) { return elements_of(entry.plan); });
  std::map<DType, std::vector<uint64_t>> known;
  std::vector<CorpusEntry> kept;
  for (CorpusEntry& entry : entries) {
    if (kept.size() >= count_max) break;
    if (learn(known[entry.plan.dtype], entry.features) > 0) kept.push_back(std::move(entry));
  }
  return kept;
}

GuidedSearch::GuidedSearch(Campaign& campaign, const OpConfig& op, SearchOptions options,
                           OnCases on_cases)
    : campaign_(campaign),
      op_(op),
      options_(std::move(options)),
      writer_([keep = std::move(on_cases)](const std::vector<CaseReport>& ended) {
        std::vector<const CaseReport*> outcomes;
        for (const CaseReport& one : ended) outcomes.push_back(&one);
        return keep(outcomes);
      }) {
  for (const DType dtype : options_.dtypes) {
    case_options_[dtype] = campaign_.case_options(op_, dtype, options_.strategies);
  }
}

bool GuidedSearch::is_over(const std::atomic<bool>& cancel) const {
  return cancel || (options_.fail_fast && outcome_.failed > 0) || unanswered_.is_certain() ||
         writer_.broken();
}

/// Generated cases as `gpuemu test` has them; from some number on every other one follows an entry
/// of the corpus while that finds something.
Result<CasePlan> GuidedSearch::plan_of(uint64_t number) {
  const size_t dtypes = options_.dtypes.size();
  const DType dtype = options_.dtypes[number % dtypes];
  const uint64_t round = number / dtypes;
  std::vector<const CorpusEntry*> followed;
  if (follows_corpus(number, round, outcome_.total - grown_at_)) {
    for (const CorpusEntry& entry : entries_) {
      if (entry.plan.dtype == dtype) followed.push_back(&entry);
    }
  }
  if (!followed.empty()) {
    return mutated_case(op_, one_to_follow(followed, options_.seed, kFollowers + number)->plan,
                        options_.seed, kFollowers + number, case_options_[dtype]);
  }
  const auto place = std::ranges::find(op_.dtypes, dtype) - op_.dtypes.begin();
  const uint64_t iteration =
      round * std::max<uint64_t>(1, op_.dtypes.size()) + static_cast<uint64_t>(place);
  return plan_case(op_, options_.seed, iteration, case_options_[dtype]);
}

void GuidedSearch::note_coverage(const CasePlan& plan, const CaseReport& outcome) {
  if (outcome.extras.coverage.blocks.empty()) return;
  outcome_.counted = true;
  map_.add(outcome.extras.coverage, "");
  std::vector<uint64_t> features = features_of(outcome.extras.coverage);
  const size_t fresh = learn(known_[plan.dtype], features);
  // A case that fails is stored as a failure; what follows it would fail as well.
  if (fresh == 0 || !outcome.result.passed) return;
  ++outcome_.report.grown;
  grown_at_ = outcome_.total;
  entries_.push_back({plan, outcome.result, std::move(features)});
}

Status GuidedSearch::take(const CasePlan& plan, Result<CaseReport> outcome) {
  if (!outcome) {
    const ErrorCode code = outcome.error().code;
    if (code == ErrorCode::Unsupported || code == ErrorCode::Cancelled) return ok_status();
    // The op is at fault, not this program: said once, as a campaign does.
    const bool of_op = code == ErrorCode::InvalidArgument || code == ErrorCode::Compile ||
                       code == ErrorCode::NotFound;
    if (!of_op) return outcome.error();
    if (outcome_.broken.empty()) outcome_.broken = outcome.error().message;
    return ok_status();
  }
  const std::string silence = silence_of(outcome->result);
  std::vector<Ended> ready;
  unanswered_.admit({plan, *std::move(outcome)}, silence, ready);
  for (Ended& one : ready) count(one.plan, std::move(one.outcome));
  return ok_status();
}

void GuidedSearch::count(const CasePlan& plan, CaseReport outcome) {
  ++outcome_.total;
  ++(outcome.result.passed ? outcome_.passed : outcome_.failed);
  evidence_[plan.dtype].add(outcome, std::string(name_of(plan.value_strategy)), plan.dims);
  note_coverage(plan, outcome);
  if (!outcome.result.warnings.empty()) {
    ++outcome_.warned;
    if (outcome_.warnings.size() < kWarningsListedMax) outcome_.warnings.push_back(outcome.result);
  }
  if (!outcome.result.passed && outcome_.failures.size() < kFailuresListedMax) {
    outcome_.failures.push_back(outcome.result);
  }
  const size_t bytes = snapshot_bytes(outcome.result);
  writer_.push(std::move(outcome), bytes);
}

Status GuidedSearch::run_batch(const std::vector<CasePlan>& plans,
                               const std::atomic<bool>& cancel) {
  const CaseSettings settings{.extras = {Extra::Evidence, Extra::Coverage, Extra::Reproduction}};
  auto outcomes = campaign_.run_batch(op_, plans, settings, options_.claim, cancel);
  for (size_t i = 0; i < plans.size() && !is_over(cancel); ++i) {
    if (outcomes[i]) GPUEMU_TRY(take(plans[i], *std::move(outcomes[i])));
  }
  return ok_status();
}

Result<SearchOutcome> GuidedSearch::run(const std::vector<CasePlan>& corpus,
                                        const std::atomic<bool>& cancel) {
  std::vector<CasePlan> plans;
  for (const CasePlan& plan : corpus) {
    if (case_options_.contains(plan.dtype)) plans.push_back(plan);
  }
  GPUEMU_TRY(writer_.start());
  GPUEMU_TRY(run_batch(plans, cancel));
  outcome_.report.replayed = outcome_.total;
  outcome_.replays_failed = outcome_.failed;
  outcome_.report.grown = 0;
  for (uint64_t number = 0; number < options_.cases && !is_over(cancel);) {
    plans.clear();
    for (; plans.size() < kBatch && number < options_.cases; ++number) {
      plans.push_back(GPUEMU_TRY(plan_of(number)));
    }
    GPUEMU_TRY(run_batch(plans, cancel));
    if (!outcome_.broken.empty() && outcome_.total == 0) break;
  }
  GPUEMU_TRY(writer_.finish());
  outcome_.reference_failed = outcome_.broken.empty() && !unanswered_.text().empty();
  if (outcome_.reference_failed) outcome_.broken = unanswered_.text();
  for (const DType dtype : options_.dtypes) {
    if (auto evidence = evidence_[dtype].evidence(dtype, op_.dims)) {
      outcome_.evidence.push_back(*std::move(evidence));
    }
  }
  outcome_.corpus = smallest_cover(std::move(entries_), kCorpusMax);
  SearchReport& report = outcome_.report;
  report.corpus = outcome_.corpus.size();
  report.blocks = map_.blocks();
  report.blocks_total = map_.blocks_total();
  report.edges = map_.edges();
  report.edges_total = map_.edges_total();
  return std::move(outcome_);
}

}  // namespace gpuemu
