#include "daemon/search/guided_search.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/limits.h"
#include "daemon/case/reproduction.h"
#include "daemon/search/corpus.h"
#include "daemon/search/epochs.h"

namespace gpuemu {
namespace {

// Once so many cases on end have reached nothing new, the corpus has grown dry.
constexpr uint64_t kDryAfter = 128;
// Numbers of cases that follow others; far above those of generated ones, exact as a double.
constexpr uint64_t kFollowers = uint64_t{1} << 40;
// An op of which so many cases could not run and none did is broken.
constexpr uint64_t kBrokenAfter = 32;

/// The op is at fault, not this program: said once, as a campaign does.
bool is_of_op(ErrorCode code) {
  return code == ErrorCode::InvalidArgument || code == ErrorCode::Compile ||
         code == ErrorCode::NotFound;
}

CorpusCase told_case(const ReproductionInfo& info, std::optional<uint64_t> number,
                     const CaseReport& outcome, const std::vector<uint32_t>& features) {
  CorpusCase told;
  told.repro_info = info;
  told.number = number;
  told.passed = outcome.result.passed;
  told.features = features;
  for (const CoveredBlock& block : outcome.extras.coverage.blocks) {
    if (block.threads > 0) told.blocks.push_back(block.id);
  }
  for (const CoveredEdge& edge : outcome.extras.coverage.edges) {
    if (edge.threads > 0) told.edges.push_back(edge.id);
  }
  return told;
}

}  // namespace

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

bool GuidedSearch::is_over() const {
  const bool is_broken =
      !outcome_.broken.empty() && outcome_.total == 0 && taken_ >= replays_.size() + kBrokenAfter;
  return error_ || is_broken || (options_.fail_fast && outcome_.failed > 0) ||
         unanswered_.is_certain() || writer_.broken();
}

/// Generated cases as `gpuemu test` has them; from some number on every other one follows an entry
/// of the corpus while that finds something.
Result<CasePlan> GuidedSearch::plan_of(uint64_t number) const {
  const size_t dtypes = options_.dtypes.size();
  const DType dtype = options_.dtypes[number % dtypes];
  const uint64_t round = number / dtypes, epoch = epoch_of(number);
  if (epoch >= kFirstFollowingEpoch) {
    const auto view = corpus_.view(epoch - kFirstFollowingEpoch);
    const uint64_t merged = epoch_begin(epoch - 1);
    const bool is_dry = merged >= view->grown_at + kDryAfter;
    const auto followed = view->entries.find(dtype);
    if (followed != view->entries.end() && follows_corpus(number, round, is_dry)) {
      const CorpusEntry& entry =
          one_to_follow(followed->second, options_.seed, kFollowers + number);
      return mutated_case(op_, entry.plan, options_.seed, kFollowers + number,
                          case_options_.at(dtype));
    }
  }
  const auto place = std::ranges::find(op_.dtypes, dtype) - op_.dtypes.begin();
  const uint64_t iteration =
      round * std::max<uint64_t>(1, op_.dtypes.size()) + static_cast<uint64_t>(place);
  return plan_case(op_, options_.seed, iteration, case_options_.at(dtype));
}

/// The cases of an epoch wait for those of the epoch before the one before it, and for the corpus.
uint64_t GuidedSearch::needed_by(uint64_t place) const {
  if (place < replays_.size()) return 0;
  const uint64_t epoch = epoch_of(number_of(place));
  if (epoch < kFirstFollowingEpoch) return 0;
  const uint64_t followed = epoch_begin(epoch - 1);
  return replays_.size() + (std::max(followed, options_.first_case) - options_.first_case);
}

std::optional<GuidedSearch::NextCase> GuidedSearch::next() {
  while (const auto place = queue_->begin(*cancel_)) {
    if (auto one = planned(*place)) return one;
  }
  return std::nullopt;
}

std::optional<GuidedSearch::NextCase> GuidedSearch::next_now() {
  while (const auto place = *cancel_ ? std::nullopt : queue_->begin_now()) {
    if (auto one = planned(*place)) return one;
  }
  return std::nullopt;
}

/// Nothing for a place without a plan, which has ended then.
std::optional<GuidedSearch::NextCase> GuidedSearch::planned(uint64_t place) {
  Result<CasePlan> plan = place < replays_.size() ? replays_[place] : plan_of(number_of(place));
  if (!plan) {
    queue_->end(place, {{}, plan.error(), true}, 0);
    return std::nullopt;
  }
  CaseSettings settings{.extras = {Extra::Evidence, Extra::Coverage}};
  settings.known_reached = corpus_.known(plan->dtype);
  return NextCase{place, *std::move(plan), std::move(settings)};
}

void GuidedSearch::ended(NextCase one, Result<CaseReport> outcome) {
  const bool fails = outcome && !outcome->result.passed && silence_of(outcome->result).empty();
  if (fails && options_.fail_fast) queue_->stop_before(one.place + 1);
  if (outcome) outcome->extras.tensors.reset();  // The snapshot has them.
  const size_t bytes = outcome ? snapshot_bytes(outcome->result) : 0;
  queue_->end(one.place, {std::move(one.plan), std::move(outcome), false}, bytes);
}

/// Large cases are left out where they would take too long: what they reach must not decide which
/// cases follow.
void GuidedSearch::note_coverage(uint64_t place, const CasePlan& plan, const CaseReport& outcome) {
  const LaunchCoverage& reached = outcome.extras.coverage;
  if (reached.warps > 0 || !reached.blocks.empty()) outcome_.counted = true;
  if (reached.blocks.empty() || is_large(plan)) return;
  std::vector<uint32_t> features = features_of(reached);
  if (corpus_.learn(plan.dtype, features) == 0) return;
  map_.add(reached, "");
  CasePlan named = plan;
  named.kernel = outcome.kernel;
  ReproductionInfo info = reproduction_of(named, {});
  const bool is_replay = place < replays_.size();
  std::optional<uint64_t> number;
  if (!is_replay) number = number_of(place);
  if (options_.tells_features) {
    features_.cases.push_back(told_case(info, number, outcome, features));
    features_.cases.back().elements = static_cast<uint64_t>(elements_of(plan));
  }
  // A case that fails is stored as a failure; what follows it would fail as well.
  if (!outcome.result.passed) return;
  if (!is_replay) ++outcome_.report.grown;
  // As whoever reads the entry makes it again.
  Result<CasePlan> again = plan_from(op_, info);
  if (!again) return;
  ValidationResult result = outcome.result;
  result.repro_info = std::move(info);
  corpus_.add({*std::move(again), std::move(result), std::move(features), number});
}

bool GuidedSearch::take_error(const Ended& one) {
  const Error& why = one.outcome.error();
  if (why.code == ErrorCode::Cancelled || *cancel_) return false;
  if (one.is_unplanned || (why.code != ErrorCode::Unsupported && !is_of_op(why.code))) {
    error_ = why;
    return false;
  }
  if (is_of_op(why.code) && outcome_.broken.empty()) outcome_.broken = why.message;
  if (why.code == ErrorCode::Unsupported) refused_.insert(one.plan.dtype);
  return true;
}

bool GuidedSearch::take(uint64_t place, Ended one) {
  if (is_over()) return false;
  if (!one.outcome) {
    if (!take_error(one)) return false;
  } else {
    ran_.insert(one.plan.dtype);
    note_coverage(place, one.plan, *one.outcome);
    const std::string silence = silence_of(one.outcome->result);
    std::vector<Counted> ready;
    unanswered_.admit({place, std::move(one.plan), *std::move(one.outcome)}, silence, ready);
    for (Counted& counted : ready) count(std::move(counted));
  }
  end_place(place);
  return !is_over();
}

void GuidedSearch::end_place(uint64_t place) {
  taken_ = place + 1;
  if (place < replays_.size()) {
    if (taken_ < replays_.size()) return;
    outcome_.report.replayed = outcome_.total;
    outcome_.replays_failed = outcome_.failed;
    corpus_.end_start();
    return;
  }
  const uint64_t number = number_of(place), epoch = epoch_of(number);
  if (number + 1 == epoch_begin(epoch + 1)) corpus_.end_epoch(epoch);
}

void GuidedSearch::count(Counted one) {
  CaseReport& outcome = one.outcome;
  ++outcome_.total;
  ++(outcome.result.passed ? outcome_.passed : outcome_.failed);
  evidence_[one.plan.dtype].add(outcome, std::string(name_of(one.plan.value_strategy)),
                                one.plan.dims);
  outcome_.remarks.merge(outcome.remarks);
  if (!outcome.result.warnings.empty()) {
    ++outcome_.warned;
    if (outcome_.warnings.size() < kWarningsListedMax) outcome_.warnings.push_back(outcome.result);
  }
  if (!outcome.result.passed) {
    failures_.emplace(one.place, outcome.result);
    if (failures_.size() > kFailuresListedMax) failures_.erase(std::prev(failures_.end()));
  }
  const size_t bytes = snapshot_bytes(outcome.result);
  writer_.push(std::move(outcome), bytes);
}

void GuidedSearch::begin_with(std::vector<CorpusEntry> corpus) {
  for (CorpusEntry& entry : corpus) {
    if (!case_options_.contains(entry.plan.dtype)) continue;
    start_.push_back(reproduction_of(entry.plan, {}));
    if (entry.features.empty()) {
      replays_.push_back(std::move(entry.plan));
    } else {
      corpus_.start_with(std::move(entry));
    }
  }
  corpus_.end_start();
  queue_ = std::make_unique<InOrder<Ended>>(
      replays_.size() + options_.cases, kUnwrittenBytesMax,
      [this](uint64_t place) { return needed_by(place); },
      [this](uint64_t place, Ended one) { return take(place, std::move(one)); });
}

Result<SearchOutcome> GuidedSearch::run(std::vector<CorpusEntry> corpus,
                                        const std::atomic<bool>& cancel) {
  cancel_ = &cancel;
  begin_with(std::move(corpus));
  GPUEMU_TRY(writer_.start());
  campaign_.run_cases(op_, *this, replays_.size() + options_.cases, options_.claim);
  GPUEMU_TRY(writer_.finish());
  if (error_) return *error_;
  return finish();
}

SearchOutcome GuidedSearch::finish() {
  outcome_.replayed_all = taken_ >= replays_.size();
  if (!outcome_.replayed_all) outcome_.report.replayed = outcome_.total;
  outcome_.cases_complete = taken_ - std::min<uint64_t>(taken_, replays_.size());
  outcome_.reference_failed = outcome_.broken.empty() && !unanswered_.text().empty();
  if (outcome_.reference_failed) outcome_.broken = unanswered_.text();
  for (auto& [place, failure] : failures_) outcome_.failures.push_back(std::move(failure));
  for (const DType dtype : options_.dtypes) {
    const EvidenceTally& tally = evidence_[dtype];
    if (auto evidence = options_.is_piece ? tally.piece(dtype) : tally.evidence(dtype, op_.dims)) {
      outcome_.evidence.push_back(*std::move(evidence));
    }
  }
  std::ranges::set_difference(refused_, ran_, std::back_inserter(outcome_.unsupported));
  outcome_.corpus = smallest_cover(corpus_.entries(), kCorpusEntriesMax);
  SearchReport& report = outcome_.report;
  report.corpus = outcome_.corpus.size();
  report.blocks = map_.blocks();
  report.blocks_total = map_.blocks_total();
  report.edges = map_.edges();
  report.edges_total = map_.edges_total();
  if (outcome_.cases_complete > 0) {
    const uint64_t last = options_.first_case + outcome_.cases_complete - 1;
    report.epochs = epoch_of(last) + 1 - epoch_of(options_.first_case);
  }
  report.start_digest = digest_of(start_);
  report.corpus_digest = digest_of(cases_of(outcome_.corpus));
  if (options_.tells_features) {
    features_.blocks = map_.block_ids();
    features_.edges = map_.edge_ids();
    report.features = std::move(features_);
  }
  return std::move(outcome_);
}

}  // namespace gpuemu
