// Requests as text to the server and replies back, over a store in memory; nothing here needs a
// worker.
#include "daemon/server/handlers.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <stdlib.h>

#include "common/base/files.h"
#include "common/codec/json_codec.h"
#include "common/protocol/ci.h"
#include "daemon/case/case_report.h"
#include "daemon/schedule/slot.h"
#include "daemon/schedule/slot_pool_options.h"
#include "daemon/server/project.h"
#include "daemon/storage/store.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

template <typename R>
constexpr bool kQuick = RequestTraits<R>::kPace == Pace::Quick;
static_assert(!kQuick<RunCiRequest> && !kQuick<GetTestBatchRequest> && !kQuick<GetCaseRequest>);
static_assert(kQuick<PingRequest> && kQuick<ShutdownRequest>);
static_assert(RequestTraits<ForgetProjectRequest>::kAbout == About::Daemon);
static_assert(RequestTraits<ListResultsRequest>::kAbout == About::Records);
static_assert(RequestTraits<DeleteFailuresRequest>::kAbout == About::Project);

constexpr const char* kProject = R"([[ops]]
name = "scale"
kernel = "k"
reference = "ref.py"
dtypes = ["float32"]
inputs = [{ name = "x", shape = ["n"], dtype = "{dtype}" }]
outputs = [{ name = "y", shape = ["n"], dtype = "{dtype}" }]
dims = { n = [1, 8] }
[[kernels]]
name = "k"
source = "k.ptx"
launches = [{ entry = "k", grid = ["1"], block = ["1"], args = ["x", "y"] }]
)";

/// Passes everything on, but what is to be unreadable.
class DamagedStore : public Store {
 public:
  bool failures_damaged = false, artifact_baselines_damaged = false;

  Status put_results(std::span<const ResultToKeep> results) override {
    return good_->put_results(results);
  }
  Result<ValidationResult> result(uint64_t seed, const std::string& op) override {
    return good_->result(seed, op);
  }
  Result<ValidationResult> failure(uint64_t seed, const std::string& op) override {
    return good_->failure(seed, op);
  }
  Result<std::vector<ValidationResult>> list_results(size_t limit, const std::string& op) override {
    return good_->list_results(limit, op);
  }
  Result<std::vector<ValidationResult>> list_failures(size_t limit, const std::string& op,
                                                      size_t snapshot_bytes_max) override {
    if (failures_damaged) return error(ErrorCode::Corruption, "a damaged block");
    return good_->list_failures(limit, op, snapshot_bytes_max);
  }
  Result<uint64_t> delete_failures(std::optional<uint64_t> seed, const std::string& op) override {
    return good_->delete_failures(seed, op);
  }
  Result<uint64_t> count_results() override { return good_->count_results(); }
  Result<uint64_t> count_failures() override { return good_->count_failures(); }
  Status put_baseline(const std::string& tag,
                      const std::vector<ValidationResult>& results) override {
    return good_->put_baseline(tag, results);
  }
  Result<std::vector<ValidationResult>> baseline(const std::string& tag) override {
    return good_->baseline(tag);
  }
  Result<std::vector<std::string>> list_baselines() override { return good_->list_baselines(); }
  Status delete_baseline(const std::string& tag) override { return good_->delete_baseline(tag); }
  Status put_artifact(const ArtifactMetrics& metrics) override {
    return good_->put_artifact(metrics);
  }
  Result<ArtifactMetrics> artifact_at(const std::string& kernel,
                                      std::optional<uint64_t> time) override {
    return good_->artifact_at(kernel, time);
  }
  Result<std::vector<ArtifactMetrics>> artifact_history(const std::string& kernel) override {
    return good_->artifact_history(kernel);
  }
  Result<std::vector<ArtifactMetrics>> list_artifacts() override { return good_->list_artifacts(); }
  Status put_artifact_baseline(const std::string& tag,
                               const std::vector<ArtifactMetrics>& metrics) override {
    return good_->put_artifact_baseline(tag, metrics);
  }
  Result<std::vector<ArtifactMetrics>> artifact_baseline(const std::string& tag) override {
    if (artifact_baselines_damaged) return error(ErrorCode::Corruption, "a damaged block");
    return good_->artifact_baseline(tag);
  }
  Result<std::vector<std::string>> list_artifact_baselines() override {
    return good_->list_artifact_baselines();
  }
  Status delete_artifact_baseline(const std::string& tag) override {
    return good_->delete_artifact_baseline(tag);
  }
  Status put_corpus(const std::string& op, std::span<const std::byte> entry) override {
    return good_->put_corpus(op, entry);
  }
  Result<std::vector<std::vector<std::byte>>> list_corpus(const std::string& op) override {
    return good_->list_corpus(op);
  }
  Status replace_corpus(const std::string& op,
                        const std::vector<std::vector<std::byte>>& entries) override {
    return good_->replace_corpus(op, entries);
  }
  Status put_meta(const std::string& name, const std::string& value) override {
    return good_->put_meta(name, value);
  }
  Result<std::optional<std::string>> meta(const std::string& name) override {
    return good_->meta(name);
  }

 private:
  const std::unique_ptr<Store> good_ = make_memory_store();
};

class Handlers : public testing::Test {
 protected:
  void SetUp() override {
    std::string folder = (fs::temp_directory_path() / "gpuemu_handlers_XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    ASSERT_TRUE(write_file(folder_ / "gpuemu.toml", kProject));
    ASSERT_TRUE(write_file(folder_ / "ref.py", "def reference(x):\n    return x\n"));
    ASSERT_TRUE(write_file(folder_ / "k.ptx",
                           ".version 7.0\n.target sm_75\n.address_size 64\n"
                           ".visible .entry k(.param .u64 x, .param .u64 y) { ret; }\n"));
    ConfigSources sources;
    sources.working_folder = folder_;
    sources.environment = {{"HOME", folder_}};
    ConfigResult loaded = load_config(sources);
    ASSERT_TRUE(loaded.config) << loaded.text();
    loaded.config->cases = 0;  // Nothing is run.
    auto slots = SlotPool::create({});
    ASSERT_TRUE(slots);
    slots_ = *std::move(slots);
    config_ = std::make_unique<ConfigWatch>(sources, *std::move(loaded.config));
    context_.reset(new ServerContext{.config = *config_,
                                     .store = store_,
                                     .slots = *slots_,
                                     .jobs = jobs_,
                                     .cache_folder = folder_ / "cache",
                                     .arch = "sm_80",
                                     .socket_path = "",
                                     .db_path = "",
                                     .config_file = "",
                                     .devices = {},
                                     .start_settings = {{"runtime.workers", "3"}},
                                     .backend = "emulator",
                                     .request_stop = [] {}});
  }
  void TearDown() override { fs::remove_all(folder_); }

  Reply ask(const Request& request) {
    const auto reply = decode_reply(handle_message(encode_request(request), *context_));
    EXPECT_TRUE(reply);
    return reply ? *reply : Reply(OkReply{});
  }
  template <typename Wanted>
  Wanted get(const Request& request) {
    const Reply reply = ask(request);
    if (const auto* wanted = std::get_if<Wanted>(&reply)) return *wanted;
    ADD_FAILURE() << encode_reply(reply);
    return {};
  }
  void keep(const std::string& op, uint64_t seed, double diff) {
    ValidationResult result;
    result.op_name = op;
    result.seed = seed;
    result.max_diff = diff;
    ASSERT_TRUE(store_.put_result(result, false));
  }
  void measure(const std::string& kernel) {
    ArtifactMetrics metrics;
    metrics.kernel_name = kernel;
    ASSERT_TRUE(store_.put_artifact(metrics));
  }

  fs::path folder_;
  DamagedStore store_;
  JobTable jobs_;
  std::unique_ptr<SlotPool> slots_;
  std::unique_ptr<ConfigWatch> config_;
  std::unique_ptr<ServerContext> context_;
};

TEST_F(Handlers, TheStatusTellsWhatTheDaemonWasStartedWith) {
  EXPECT_EQ(get<DaemonStatusReply>(DaemonStatusRequest{}).start_settings.at("runtime.workers"),
            "3");
}

TEST_F(Handlers, DtypesThatANamedOpDoesNotHaveAreRefused) {
  RunTestsRequest tests;
  tests.dtypes = {DType::Float64};
  for (const std::vector<std::string>& ops : {std::vector<std::string>{"scale"}, {}}) {
    tests.ops = ops;
    const auto refused = get<ErrorReply>(tests);
    EXPECT_EQ(refused.code, WireErrorCode::InvalidRequest);
    EXPECT_NE(refused.message.find("float64"), std::string::npos) << refused.message;
    EXPECT_NE(refused.message.find("float32"), std::string::npos) << refused.message;
  }
  FuzzOpRequest fuzz;
  fuzz.op_name = "scale";
  fuzz.config = OwnFuzzConfig{};
  fuzz.config->dtypes = {DType::Float64};
  EXPECT_EQ(get<ErrorReply>(fuzz).code, WireErrorCode::InvalidRequest);
}

TEST_F(Handlers, ANumberOfCasesBeyondTheLimitIsRefusedAtOnce) {
  RunTestsRequest tests;
  tests.cases = uint64_t{1} << 60;
  const auto refused = get<ErrorReply>(tests);
  EXPECT_EQ(refused.code, WireErrorCode::InvalidRequest);
  EXPECT_NE(refused.message.find("the limit is"), std::string::npos) << refused.message;
}

TEST_F(Handlers, ResultsAreComparedWithTheirOwnCaseWhenThatIsAskedFor) {
  keep("scale", 1, 0.5);
  keep("scale", 2, 0.5);
  ASSERT_TRUE(std::holds_alternative<OkReply>(ask(StoreBaselineRequest{"main"})));
  keep("scale", 1, 0.9);
  for (uint64_t seed = 10; seed < 1500; ++seed) keep("scale", seed, 5);
  const auto loose = get<BaselineComparisonReply>(CompareBaselineRequest{"main", {}, false});
  EXPECT_EQ(loose.comparisons.size(), 1000u) << "as existing clients know it";
  const auto strict = get<BaselineComparisonReply>(CompareBaselineRequest{"main", {}, true});
  ASSERT_EQ(strict.comparisons.size(), 2u);
  EXPECT_EQ(strict.unmatched, 1490u);
  EXPECT_EQ(strict.baseline_unmatched, 0u);
  EXPECT_TRUE(strict.has_regressions);
  keep("other", 1, 0);
  ASSERT_TRUE(std::holds_alternative<OkReply>(ask(StoreBaselineRequest{"more"})));
  ASSERT_TRUE(store_.put_baseline("more", {ValidationResult{.seed = 99999, .op_name = "gone"}}));
  EXPECT_EQ(
      get<BaselineComparisonReply>(CompareBaselineRequest{"more", {}, true}).baseline_unmatched,
      1u);
}

TEST_F(Handlers, BaselinesOfKernelsLeaveOutThoseThatAreNotNamed) {
  for (const char* kernel : {"k", "k:b", "scratch"}) measure(kernel);
  ASSERT_TRUE(
      std::holds_alternative<OkReply>(ask(StoreArtifactBaselineRequest{"main", {"k", "k:b"}})));
  EXPECT_EQ(store_.artifact_baseline("main")->size(), 2u);
  const auto diff = get<ArtifactDiffsReply>(DiffArtifactBaselineRequest{"main", {}, {"k"}});
  EXPECT_EQ(diff.summary.diffs.size(), 1u);
  EXPECT_EQ(diff.summary.missing, std::vector<std::string>{"k:b"});
  ASSERT_TRUE(std::holds_alternative<OkReply>(ask(StoreArtifactBaselineRequest{"all", {}})));
  EXPECT_EQ(store_.artifact_baseline("all")->size(), 3u);
}

TEST_F(Handlers, AFailureThatCannotBeRunAgainIsNotCalledRun) {
  ValidationResult failure;
  failure.op_name = "scale";
  failure.seed = 5;
  failure.passed = false;
  ASSERT_TRUE(store_.put_result(failure, true));
  failure.op_name = "gone";
  failure.repro_info = ReproductionInfo{.base_seed = 1, .iteration = 0};
  ASSERT_TRUE(store_.put_result(failure, true));
  for (const char* op : {"scale", "gone"}) {
    const auto again = get<ReproduceResultReply>(ReproduceRequest{.seed = 5, .op_name = op});
    EXPECT_FALSE(again.rerun) << op;
    EXPECT_FALSE(again.result.passed);
  }
}

TEST_F(Handlers, ReproduceMayBeAJob) {
  ValidationResult failure;
  failure.op_name = "scale";
  failure.seed = 5;
  ASSERT_TRUE(store_.put_result(failure, true));
  const auto job = get<JobStartedReply>(ReproduceRequest{.seed = 5, .op_name = "", .stream = true});
  const auto status =
      get<JobStatusReply>(JobStatusRequest{.job_id = job.job_id, .wait_ms = 10'000});
  EXPECT_EQ(status.state, JobState::Done);
  EXPECT_NE(status.result_json.find("\"rerun\":false"), std::string::npos) << status.result_json;
}

TEST_F(Handlers, FailuresAreDeletedBySeedByOpOrAll) {
  ValidationResult failure;
  failure.passed = false;
  for (const char* op : {"a", "b"}) {
    for (failure.seed = 1; failure.seed <= 2; ++failure.seed) {
      failure.op_name = op;
      ASSERT_TRUE(store_.put_result(failure, true));
    }
  }
  EXPECT_EQ(get<ErrorReply>(DeleteFailuresRequest{}).code, WireErrorCode::InvalidRequest);
  EXPECT_EQ(get<ErrorReply>(DeleteFailuresRequest{.seed = 7, .op_name = ""}).code,
            WireErrorCode::NotFound);
  EXPECT_EQ(get<FailuresDeletedReply>(DeleteFailuresRequest{.seed = 1, .op_name = "a"}).count, 1u);
  EXPECT_EQ(get<FailuresDeletedReply>(DeleteFailuresRequest{.seed = {}, .op_name = "b"}).count, 2u);
  const DeleteFailuresRequest all{.seed = {}, .op_name = "", .all = true};
  EXPECT_EQ(get<FailuresDeletedReply>(all).count, 1u);
  EXPECT_EQ(get<FailuresDeletedReply>(all).count, 0u);
}

TEST_F(Handlers, WithoutAFittingDeviceRequestsAreRefusedThatNeedOne) {
  context_->lanes_problem = error(ErrorCode::Unavailable, "there is no CUDA device");
  const auto refusal = get<ErrorReply>(RunTestsRequest{});
  EXPECT_EQ(refusal.message, "there is no CUDA device");
  const GetTestBatchRequest cases{.op_name = "scale", .fuzz_config = {}, .count = 1};
  EXPECT_NE(type_of(ask(cases)), std::string("Error")) << encode_reply(ask(cases));
  EXPECT_EQ(get<ErrorReply>(StorageClaimRequest{}).message.find("CUDA"), std::string::npos);
}

TEST_F(Handlers, ACiRunWhoseStoredFailuresCannotBeReadIsNoSuccess) {
  store_.failures_damaged = true;
  RunCiRequest request;
  request.profile = CiProfile::Default;
  const CiRunSummary summary = get<CiRunCompleteReply>(request).summary;
  ASSERT_EQ(summary.ops.size(), 1u);
  EXPECT_NE(summary.ops[0].error.find("a damaged block"), std::string::npos)
      << summary.ops[0].error;
  EXPECT_TRUE(is_broken(summary));
}

TEST_F(Handlers, ACiRunSaysHowMuchOfTheCorpusIsUnreadable) {
  const std::byte junk[] = {std::byte{'{'}};
  ASSERT_TRUE(store_.put_corpus("scale", junk));
  RunCiRequest request;
  request.profile = CiProfile::Default;
  const CiRunSummary summary = get<CiRunCompleteReply>(request).summary;
  ASSERT_EQ(summary.ops.size(), 1u);
  EXPECT_EQ(summary.ops[0].error, "");
  bool told = false;
  for (const std::string& note : summary.notes) {
    told = told || note.find("1 case of its corpus cannot be read") != std::string::npos;
  }
  EXPECT_TRUE(told);
}

TEST_F(Handlers, ACiRunAgainstABaselineOfWhichHalfCannotBeReadIsRefused) {
  ASSERT_TRUE(store_.put_baseline("main", {}));
  RunCiRequest request;
  request.profile = CiProfile::Default;
  request.baseline = "main";
  get<CiRunCompleteReply>(request);
  store_.artifact_baselines_damaged = true;
  const auto refused = get<ErrorReply>(request);
  EXPECT_NE(refused.message.find("a damaged block"), std::string::npos) << refused.message;
}

}  // namespace
}  // namespace gpuemu
