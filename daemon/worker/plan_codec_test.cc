#include "daemon/worker/plan_codec.h"

#include "daemon/executor/fakes/plan_fixture.h"

namespace gpuemu {
namespace {

ExecutionReport full_report() {
  ExecutionReport report;
  report.harness = {{HarnessFinding::Kind::GuardDamaged, "y", -4, 8, "text"}};
  DeviceFinding finding;
  finding.kind = DeviceFindingKind::RaceShared;
  finding.file = "k.cu";
  finding.thread = {1, 2, 3};
  finding.byte_offset = -9;
  report.device = {finding};
  report.thread_instructions = 77;
  report.elapsed_ns = 5;
  report.printed = {"a", ""};
  report.lines = {{"k.cu", 7, 2, {3, 96, 1, {1, 128, 4, 1, 2, 3, 1}}}};
  report.reached.warps = 4;
  report.reached.blocks = {{11, 32}};
  report.reached.edges = {{.id = 12,
                           .file = "k.cu",
                           .line = 7,
                           .is_branch = true,
                           .way = 1,
                           .to_line = 9,
                           .warps = 2,
                           .threads = 40}};
  return report;
}

/// Encoding again what was decoded gives the same bytes: no member is lost.
template <typename Decode, typename Encode>
void expect_round_trip(const std::vector<std::byte>& bytes, Decode decode, Encode encode) {
  ByteReader in(bytes);
  ASSERT_TRUE(decode_kind(in));
  auto decoded = decode(in);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(encode(*decoded), bytes);
}

template <typename Decode>
void expect_refused_when_cut(const std::vector<std::byte>& bytes, Decode decode) {
  for (size_t length = 1; length < bytes.size(); ++length) {
    ByteReader in{std::span<const std::byte>(bytes).first(length)};
    ASSERT_TRUE(decode_kind(in));
    EXPECT_FALSE(decode(in)) << "cut at " << length;
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  ByteReader in(longer);
  ASSERT_TRUE(decode_kind(in));
  EXPECT_FALSE(decode(in)) << "one byte too many";
}

TEST(PlanCodec, PlansSurviveAndCutOnesAreRefused) {
  ExecutionPlan plan = add_plan("add");
  plan.sanitize = {DeviceCheck::Memory};
  plan.profile = plan.warmup = plan.coverage = plan.fresh_module = true;
  plan.shadow.errors = ShadowErrors::UnderflowOrFlush;
  plan.shadow.nudge = 7;
  plan.variables = {{"_ZL1w", "w", {0, {}, "a"}, {std::byte{1}}, true}};
  plan.tensors[0].warmup_offset = 4096;
  plan.launches[0].grown_blocks = 1 << 20;
  plan.tensors[1].role = PlanTensor::Role::Scratch;
  plan.tensors[1].dtype = DType::Bool;
  plan.tensors[1].base_offset_bytes = 4;
  const auto bytes = encode_plan(plan);
  expect_round_trip(bytes, decode_plan, encode_plan);
  expect_refused_when_cut(bytes, decode_plan);
  ByteReader in(bytes);
  ASSERT_TRUE(decode_kind(in));
  const auto decoded = decode_plan(in);
  EXPECT_EQ(decoded->tensors[1].dtype, DType::Bool);
  EXPECT_EQ(decoded->launches[0].grown_blocks, 1U << 20);
  ASSERT_EQ(decoded->variables.size(), 1u);
  EXPECT_EQ(decoded->variables[0].value.text, "a");
  EXPECT_TRUE(decoded->variables[0].starts_undefined);
  EXPECT_TRUE(decoded->profile && decoded->coverage && decoded->fresh_module);
  EXPECT_EQ(decoded->shadow.errors, ShadowErrors::UnderflowOrFlush);
  EXPECT_EQ(decoded->shadow.nudge, 7U);
}

TEST(PlanCodec, ReportsSurviveAndCutOnesAreRefused) {
  const auto encode = [](const ExecutionReport& report) { return encode_report(report, false); };
  const auto bytes = encode(full_report());
  expect_round_trip(bytes, decode_report, encode);
  expect_refused_when_cut(bytes, decode_report);
  EXPECT_EQ(encode_report(full_report(), true)[0], std::byte{6});
  ByteReader in(bytes);
  ASSERT_TRUE(decode_kind(in));
  const auto decoded = decode_report(in);
  EXPECT_EQ(decoded->lines[0].count.memory.bank_conflicts, 1u);
  EXPECT_EQ(decoded->reached.edges[0].threads, 40u);
}

TEST(PlanCodec, HelloModuleAndEntriesSurvive) {
  DeviceProperties properties;
  properties.name = "fake";
  properties.checks_bounds = true;
  expect_round_trip(encode_hello(properties), decode_hello, encode_hello);
  expect_refused_when_cut(encode_hello(properties), decode_hello);
  expect_round_trip(encode_module({"k", "n", "p"}), decode_module, encode_module);
  EntryInfo entry;
  entry.name = "add";
  entry.params = {{"a", 8, 0, true}, {"n", 4, 8, false}};
  entry.required_block = {1, 2, 3};
  expect_round_trip(encode_entries({entry, entry}), decode_entries, encode_entries);
  expect_refused_when_cut(encode_entries({entry}), decode_entries);
}

TEST(PlanCodec, AListThatIsLongerThanItsMessageAllocatesNothing) {
  ByteWriter out;
  out.write(uint32_t{0xffffffff});
  ByteReader in(out.bytes());
  auto entries = decode_entries(in);
  ASSERT_FALSE(entries);
  EXPECT_EQ(entries.error().code, ErrorCode::Corruption);
}

TEST(PlanCodec, ErrorsKeepCodeAndMessage) {
  const auto bytes = encode_failure(error(ErrorCode::Compile, "line 3"));
  ByteReader in(bytes);
  ASSERT_TRUE(decode_kind(in));
  const Error failure = decode_failure(in);
  EXPECT_EQ(failure.code, ErrorCode::Compile);
  EXPECT_EQ(failure.message, "line 3");
}

TEST(PlanCodec, UnknownEnumeratorsAreRefused) {
  std::vector<std::byte> bytes = encode_failure(error(ErrorCode::Compile, "x"));
  bytes[1] = std::byte{200};
  ByteReader in{std::span<const std::byte>(bytes).subspan(1)};
  EXPECT_EQ(decode_failure(in).code, ErrorCode::Corruption);
  const std::byte kind{99};
  ByteReader unknown(std::span(&kind, 1));
  EXPECT_FALSE(decode_kind(unknown));
}

}  // namespace
}  // namespace gpuemu
