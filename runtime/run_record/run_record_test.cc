#include "runtime/run_record/run_record.h"

#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "common/base/files.h"
#include "runtime/run_record/run_lines.h"

namespace gpuemu {
namespace {

RunFinding outside() {
  RunFinding one;
  one.kind = "OutOfBounds";
  one.message = "reads 4 bytes at byte offset 4000 of 'allocation 1', which has 4000 bytes";
  one.kernel = one.ptx_kernel = "add";
  one.file = "a.cu";
  one.line = 7;
  one.thread = {232, 0, 0};
  one.block = {3, 0, 0};
  one.allocation = RunAllocation{"allocation 1", 4000, 4000, {{"main", "a.c", 19}}, {}};
  one.host = {"cuLaunchKernel", {{"main", "a.c", 30}}};
  one.process = 12;
  return one;
}

TEST(RunRecord, CountsWhatRepeatsAndKeepsOtherLinesApart) {
  RunFinding elsewhere = outside();
  elsewhere.line = 8;
  const auto kept = fold({outside(), elsewhere, outside()});
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].count, 2u);
  EXPECT_EQ(kept[1].count, 1u);
}

TEST(RunRecord, TextNamesKernelLaunchAndAllocation) {
  EXPECT_EQ(text_of(outside()),
            "error[OutOfBounds]: reads 4 bytes at byte offset 4000 of 'allocation 1', which has "
            "4000 bytes\n"
            "  at            a.cu:7, kernel add, thread (232,0,0) of block (3,0,0)\n"
            "  launched at   a.c:30 (main)\n"
            "  memory        allocation 1, 0 bytes after the end of its 4000 bytes\n"
            "  allocated at  a.c:19 (main)\n");
}

TEST(RunRecord, TextOfACallOfTheProgramSaysHowOften) {
  RunFinding leak;
  leak.kind = "Leak";
  leak.message = "array 1 of 40960 bytes is never freed";
  leak.host.stack = {{"main", "a.c", 26}, {"start", "a.c", 40}};
  leak.count = 2;
  EXPECT_EQ(text_of(leak),
            "error[Leak]: array 1 of 40960 bytes is never freed\n"
            "  at            a.c:26 (main), 2 times\n"
            "                a.c:40 (start)\n");
}

TEST(RunRecord, SummaryCountsFindingsKernelsAndLaunches) {
  RunFinding note = outside();
  note.severity = RunSeverity::Note;
  EXPECT_EQ(summary_of({outside(), outside(), note}, {{12, {"a"}, 17, 3}}),
            "gpuemu: 2 findings, 1 note in 3 kernels, 17 launches of 1 process");
}

TEST(RunRecord, SummarySaysWhichLaunchesWereNotChecked) {
  EXPECT_EQ(summary_of({}, {{12, {"a"}, 17, 3, 2}}),
            "gpuemu: 0 findings in 3 kernels, 17 launches of 1 process; 2 launches were not "
            "checked, because they did not end");
}

TEST(RunRecord, ReadsWhatProcessesLeftAndSkipsALineThatWasCut) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / fmt::format("gpuemu-run-record-{}", ::getpid());
  std::filesystem::create_directories(folder);
  const std::string name = run_file_name(folder.string(), 12);
  ASSERT_TRUE(write_file(name, encode_line(RunProcess{12, {"a"}, 0, 0}) + encode_line(outside()) +
                                   encode_line(outside()) +
                                   encode_line(RunUnsupported{"cuIpcGetMemHandle", 3}) +
                                   encode_line(RunProcess{12, {"a"}, 5, 1}) + "{\"finding\": {"));
  auto read = read_run_records(folder.string());
  ASSERT_TRUE(read);
  ASSERT_EQ(read->findings.size(), 1u);
  EXPECT_EQ(read->findings[0].count, 2u);
  EXPECT_EQ(text_of(read->findings[0]).substr(0, 100), text_of(outside()).substr(0, 100));
  ASSERT_EQ(read->processes.size(), 1u);
  EXPECT_EQ(read->processes[0].launches, 5u);
  ASSERT_EQ(read->unsupported.size(), 1u);
  EXPECT_EQ(read->unsupported[0].count, 3u);
  const uint64_t counts[] = {7, 6, 2};  // Issued, ended and rejected.
  ASSERT_TRUE(write_file(launches_file_name(folder.string(), 12),
                         std::string(reinterpret_cast<const char*>(counts), sizeof counts)));
  read = read_run_records(folder.string());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->processes[0].launches, 7u) << "it was killed after its last line";
  EXPECT_EQ(read->processes[0].unfinished, 1u);
  EXPECT_EQ(read->processes[0].rejected, 2u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace gpuemu
