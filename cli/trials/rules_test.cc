// Tests the rules that settle a proposal before it is tried.
#include <gtest/gtest.h>

#include "cli/proposals/propose.h"
#include "cli/trials/index_rules.h"
#include "cli/trials/memory_rules.h"
#include "cli/trials/require.h"
#include "cli/trials/sums.h"

namespace gpuemu::cli {
namespace {

TEST(DescribeHashTable, GivesItsSizeAndAnEmptyKey) {
  const std::string source = R"(
__global__ void insert(const unsigned* keys, unsigned* table, int n, int capacity) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned slot = (keys[i] * 2654435761u) % capacity;
  while (i < n && atomicCAS(&table[slot], 0xffffffffu, keys[i]) != 0xffffffffu) {
    slot = (slot + 1) % capacity;
  }
})";
  std::string why;
  ProposedKernel kernel =
      propose(scan_kernels(source).front(), {scan_definitions(source), {}}, "k.cu", why).front();
  EXPECT_EQ(kernel.params[1].init, "-1");
  describe_hash_table(kernel);
  EXPECT_EQ(kernel.params[1].shape, std::vector<std::string>{"capacity"});
  EXPECT_EQ(kernel.require, "capacity >= n");
  EXPECT_TRUE(kernel.params[1].any_order);
}

ProposedKernel proposed(const std::string& source) {
  std::string why;
  return propose(scan_kernels(source).front(), {scan_definitions(source), {}}, "k.cu", why).front();
}

TEST(DescribeCompaction, LeavesTheOrderOpenWhereACounterGivesPlaces) {
  for (const char* body :
       {"int at = atomicAdd(count, 1); out[at] = in[i];", "out[atomicAdd(&count[0], 1)] = in[i];",
        "int i = threadIdx.x, p = atomicAdd(count, 1); out[p] = in[i];",
        "int base = 0; if (lane == 0) base = atomicAdd(count, n); int at = base + lane; out[at] = "
        "in[i];"}) {
    ProposedKernel kernel = proposed(
        std::string("__global__ void keep(const float* in, float* out, int* count, int n) { ") +
        body + " }");
    describe_compaction(kernel);
    EXPECT_TRUE(kernel.params[1].any_order) << body;
    EXPECT_EQ(kernel.params[1].init, "0") << body;
    EXPECT_FALSE(kernel.params[2].any_order) << body;
  }
  // The place selects what is read, too: it is the number of a piece of work.
  for (const char* body :
       {"tile = atomicAdd(count, 1); int i = tile * 128 + threadIdx.x; if (i < n) out[i] = in[n - "
        "1 - i];",
        "tile = atomicAdd(count, 1); int i = tile * 128 + lane; float v = lane >= 0 ? in[n - 1 - "
        "i] : 0; out[i] = "
        "v;",
        "tile = atomicAdd(count, 1); float v[2]; v[0] = in[tile]; out[tile] = v[0];",
        "tile = atomicAdd(count, 1); if (in[tile] > 0) out[tile] = 1;"}) {
    ProposedKernel queue = proposed(
        std::string("__global__ void turn(const float* in, float* out, int* count, int n) { "
                    "__shared__ int tile; if (threadIdx.x == 0) ") +
        body + " }");
    describe_compaction(queue);
    EXPECT_FALSE(queue.params[1].any_order) << body;
    EXPECT_EQ(queue.params[1].init, "") << body;
  }
  // The elements of a bucket are together.
  ProposedKernel buckets = proposed(
      "__global__ void sort(const int* in, int* out, int* begin) { int at = atomicAdd(&begin[b], "
      "1); out[at] = in[i]; }");
  describe_compaction(buckets);
  EXPECT_FALSE(buckets.params[1].any_order);
}

TEST(IsRowLength, SeesIndicesAndBlocks) {
  const auto is = [](const char* body) {
    const ProposedKernel kernel = proposed(
        std::string("__global__ void k(const float* x, float* y, int cols) { ") + body + " }");
    return is_row_length(kernel, kernel.params[2]);
  };
  EXPECT_TRUE(is("y[i] = x[row * cols + i];"));
  EXPECT_TRUE(is("const float* row = x + blockIdx.x * cols;"));
  EXPECT_FALSE(is("y[i] = x[i] * cols;"));
  EXPECT_FALSE(is("y[i] = x[(2 * cols + 1) + i];"));
}

TEST(Requirements, AreThatSizesAreMultiplesOrNotLarger) {
  ProposedKernel kernel;
  for (const char* name : {"heads", "kv_heads", "classes", "pitch"}) {
    kernel.params.push_back({name, ParamRole::Dim, "int32", "i32"});
    kernel.params.back().written = name;
  }
  kernel.body =
      "int group = heads / kv_heads; for (int i = 0; i < classes; ++i) x[row * pitch + i];";
  const auto all = requirements_of(kernel);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].text, "heads % kv_heads == 0");
  EXPECT_EQ(all[0].met({{"heads", 3}, {"kv_heads", 2}}).at("heads"), 6);
  EXPECT_EQ(all[1].text, "classes <= pitch");
  EXPECT_EQ(all[1].met({{"classes", 7}, {"pitch", 4}}), (Sizes{{"classes", 4}, {"pitch", 7}}));
  EXPECT_TRUE(all[1].holds({{"classes", 4}, {"pitch", 4}}));
}

TEST(SumLength, IsThatOfNestedLoopsAndOfALocal) {
  ProposedKernel square = proposed(
      "__global__ void blur(const float* x, const float* w, float* y, int n, int K) {"
      " float sum = 0; for (int i = 0; i < K; i++) for (int j = 0; j < K; j++) sum += w[i * K + j];"
      " y[threadIdx.x] = sum; }");
  EXPECT_EQ(sum_length(square), "K * K");
  ProposedKernel twice = proposed(
      "__global__ void softmax(const float* x, float* y, int K) { float sum = 0;"
      " for (int i = 0; i < K; i++) sum += x[i]; for (int i = 0; i < K; i++) y[i] = x[i] / sum; }");
  twice.params[1].shape = {"1"};
  EXPECT_EQ(sum_length(twice), "K");
  ProposedKernel local = proposed(
      "__global__ void sums(const float* x, float* y, int N, int C, int HW) {"
      " const int M = N * HW; float sum = 0;"
      " for (int i = threadIdx.x; i < M; i += blockDim.x) sum += x[i]; y[blockIdx.x] = sum; }");
  EXPECT_EQ(sum_length(local), "N * HW");
}

ProposedParam pointer(const std::string& name, const std::string& dtype) {
  ProposedParam param{.name = name, .dtype = dtype};
  param.written = name;
  param.is_const = true;
  return param;
}

TEST(DescribeRowPointers, SaysWhatRowsAndColumnsChoose) {
  ProposedKernel kernel;
  kernel.params = {pointer("begin", "int32"), pointer("column", "int32"),
                   pointer("value", "float32"), pointer("x", "float32")};
  kernel.params[0].shape = {"rows + 1"};
  kernel.body =
      "const int first = begin[row]; const int end = begin[row + 1];"
      "for (int e = first; e < end; ++e) { const int c = column[e]; sum += value[e] * x[c]; }";
  EXPECT_TRUE(describe_row_pointers(kernel));
  EXPECT_TRUE(kernel.params[0].sorted);
  EXPECT_EQ(kernel.params[0].range, "[0, \"nnz\"]");
  EXPECT_EQ(kernel.params[1].range, "[0, \"column_count - 1\"]");
  EXPECT_EQ(kernel.params[2].shape, (std::vector<std::string>{"nnz"}));
  EXPECT_EQ(kernel.params[3].shape, (std::vector<std::string>{"column_count"}));
  EXPECT_EQ(kernel.sizes.size(), 2u);
  EXPECT_EQ(kernel.accumulate, "nnz");
}

TEST(DescribeRowPointers, TakesRowsOfARaggedBatch) {
  ProposedKernel kernel = proposed(
      "__global__ void pool(const float* tokens, const int* begin, float* out, int batch, int "
      "width) {"
      " int b = blockIdx.y, d = threadIdx.x; float sum = 0;"
      " int first = begin[b], last = begin[b + 1];"
      " for (int t = first; t < last; ++t) sum += tokens[t * width + d];"
      " out[b * width + d] = sum; }");
  kernel.params[1].shape = {"batch + 1"};
  EXPECT_TRUE(describe_row_pointers(kernel));
  EXPECT_EQ(kernel.params[0].shape, (std::vector<std::string>{"nnz", "width"}));
  EXPECT_EQ(kernel.params[1].range, "[0, \"nnz\"]");
}

ProposedKernel csr_of(const std::string& loop) {
  ProposedKernel kernel = proposed(
      "__global__ void csr(const int* begin, const float* value, float* y, int rows) {"
      " int row = blockIdx.x * blockDim.x + threadIdx.x; float sum = 0, most = 0;"
      " int first = begin[row], last = begin[row + 1]; " +
      loop + " y[row] = sum; }");
  kernel.params[0].shape = {"rows + 1"};
  kernel.params[2].shape = {"rows"};
  return kernel;
}

TEST(DescribeRowPointers, TakesTheStepOfALoopForNoSum) {
  for (const char* loop :
       {"for (int e = first; e < last; e += 1) most = fmaxf(most, value[e]);",
        "for (int e = first + min(f(row), (last)); e < last; e += 32) most = fmaxf(most, "
        "value[e]);",
        "int e = first; while (e < last) { most = fmaxf(most, value[e]); e += 32; }"}) {
    ProposedKernel kernel = csr_of(loop);
    EXPECT_TRUE(describe_row_pointers(kernel)) << loop;
    EXPECT_EQ(kernel.accumulate, "") << loop;
  }
  for (const char* loop : {"for (int e = first; e < last; e += 1) sum += value[e];",
                           "for (int e = first; e < last; ++e) y[row] += value[e];",
                           "for (int e = first; e < last; ++e) both.x += value[e];",
                           "for (int e = first; e < last; ++e) both->x += value[e];"
                           " y[threadIdx.x] = both->x;",
                           "int e = first; while (e < last) { sum += value[e]; e += 32; }"}) {
    ProposedKernel kernel = csr_of(loop);
    EXPECT_TRUE(describe_row_pointers(kernel)) << loop;
    EXPECT_EQ(kernel.accumulate, "nnz") << loop;
  }
}

TEST(RowsFollowSizes, NotIfTheyAreTheThreadsOfABlock) {
  ProposedKernel kernel = csr_of("for (int e = first; e < last; ++e) sum += value[e];");
  EXPECT_TRUE(describe_row_pointers(kernel));
  EXPECT_TRUE(rows_follow_sizes(kernel));
  ProposedKernel total = kernel, pointers = kernel, outputs = kernel;
  total.params[2].shape = {"1"};
  EXPECT_TRUE(rows_follow_sizes(total));
  pointers.params[0].shape = {"257"};
  EXPECT_FALSE(rows_follow_sizes(pointers));
  outputs.params[2].shape = {"256"};
  EXPECT_FALSE(rows_follow_sizes(outputs));
}

TEST(DescribeRowPointers, LeavesNeighboursInAnArrayAlone) {
  ProposedKernel kernel;
  kernel.params = {pointer("x", "int32")};
  kernel.params[0].shape = {"n"};
  kernel.body = "y[i] = x[i + 1] - x[i];";
  EXPECT_FALSE(describe_row_pointers(kernel));
  EXPECT_FALSE(kernel.params[0].sorted);
}
}  // namespace
}  // namespace gpuemu::cli
