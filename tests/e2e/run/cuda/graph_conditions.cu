// A graph that repeats, skips and chooses parts by conditions that kernels set.
#include <atomic>
#include <chrono>
#include <thread>

#include "program.h"

// Halves until 1 is reached.
__global__ void halve(cudaGraphConditionalHandle goes_on, int* x, int* steps) {
  *x /= 2;
  ++*steps;
  cudaGraphSetConditional(goes_on, *x > 1);
}
__global__ void choose(cudaGraphConditionalHandle which, cudaGraphConditionalHandle is_odd,
                       const int* steps) {
  cudaGraphSetConditional(which, *steps % 3);
  cudaGraphSetConditional(is_odd, *steps % 2);
}
__global__ void set(cudaGraphConditionalHandle condition, const int* value) {
  cudaGraphSetConditional(condition, *value);
}
__global__ void count(int* all) { ++*all; }
__global__ void note(int* all, int at, int value) {
#ifdef FAULTY
  all[at + 100] = value;  // fault
#else
  all[at] = value;
#endif
}

struct Kernel {
  void* function;
  void** arguments;
};

cudaGraphNode_t add(cudaGraph_t graph, const cudaGraphNode_t* after, Kernel kernel) {
  cudaKernelNodeParams launch{};
  launch.func = kernel.function;
  launch.gridDim = launch.blockDim = dim3(1);
  launch.kernelParams = kernel.arguments;
  cudaGraphNode_t made;
  CHECK(cudaGraphAddKernelNode(&made, graph, after, after == nullptr ? 0 : 1, &launch));
  return made;
}

struct Condition {
  cudaGraphNode_t node;
  cudaGraph_t* bodies;
};

Condition add(cudaGraph_t graph, const cudaGraphNode_t* after, cudaGraphConditionalHandle handle,
              cudaGraphConditionalNodeType type, unsigned size) {
  cudaGraphNodeParams what{};
  what.type = cudaGraphNodeTypeConditional;
  what.conditional.handle = handle;
  what.conditional.type = type;
  what.conditional.size = size;
  cudaGraphNode_t made;
  CHECK(cudaGraphAddNode(&made, graph, after, nullptr, after == nullptr ? 0 : 1, &what));
  return {made, what.conditional.phGraph_out};
}

// Sets its condition from x, and notes a number in the first body.
cudaGraph_t decide_and_note(const int* x, int* notes, int value,
                            cudaGraphConditionalNodeType type) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle which;
  CHECK(cudaGraphConditionalHandleCreate(&which, graph));
  void* given[] = {&which, &x};
  const cudaGraphNode_t decided = add(graph, nullptr, {reinterpret_cast<void*>(set), given});
  const Condition choice = add(graph, &decided, which, type, 1);
  int at = 2;
  void* noted[] = {&notes, &at, &value};
  add(choice.bodies[0], nullptr, {reinterpret_cast<void*>(note), noted});
  return graph;
}

// An update takes over the condition with the kernels that set it.
void update(int* x, int* notes) {
  const cudaGraph_t graph = decide_and_note(x, notes, 5, cudaGraphCondTypeIf);
  const cudaGraph_t other = decide_and_note(x, notes, 6, cudaGraphCondTypeIf);
  const cudaGraph_t switched = decide_and_note(x, notes, 7, cudaGraphCondTypeSwitch);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  cudaGraphExecUpdateResultInfo result;
  CHECK(cudaGraphExecUpdate(exec, other, &result));
  EXPECT(cudaGraphExecUpdate(exec, switched, &result) == cudaErrorGraphExecUpdateFailure);
  EXPECT(result.result == cudaGraphExecUpdateErrorParametersChanged);
  for (const int is_noted : {1, 0}) {
    int got = 0;
    CHECK(cudaMemcpy(x, &is_noted, sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(notes, 0, 4 * sizeof(int)));
    CHECK(cudaGraphLaunch(exec, cudaStreamPerThread));
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    CHECK(cudaMemcpy(&got, notes + 2, sizeof got, cudaMemcpyDeviceToHost));
    EXPECT(got == 6 * is_noted);
  }
  CHECK(cudaGraphExecDestroy(exec));
  for (const cudaGraph_t one : {graph, other, switched}) CHECK(cudaGraphDestroy(one));
}

struct Other {
  std::atomic<bool> is_done{false};
  bool was_in_time = false;
};

void wait_for_other(void* data) {
  Other& other = *static_cast<Other*>(data);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!other.is_done && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  other.was_in_time = other.is_done;
}

// Another thread updates the same graph, and makes and ends others, while a launch waits for the
// work before it.
void launch_while_another_thread_works(const int* x, int* notes) {
  const cudaGraph_t graph = decide_and_note(x, notes, 8, cudaGraphCondTypeIf);
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  Other other;
  CHECK(cudaLaunchHostFunc(stream, wait_for_other, &other));
  std::thread thread([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // Until the launch waits.
    cudaStream_t own_stream;
    cudaGraph_t own;
    CHECK(cudaStreamCreate(&own_stream));
    cudaGraphExecUpdateResultInfo updated;
    CHECK(cudaGraphExecUpdate(exec, graph, &updated));
    CHECK(cudaStreamDestroy(own_stream));
    CHECK(cudaGraphCreate(&own, 0));
    CHECK(cudaGraphDestroy(own));
    other.is_done = true;
  });
  CHECK(cudaGraphLaunch(exec, stream));
  thread.join();
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(other.was_in_time);
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

struct Again {
  cudaGraphExec_t exec = nullptr;
  cudaError_t got = cudaSuccess, uploaded = cudaSuccess;
};

void launch_again(void* data) {
  Again& again = *static_cast<Again*>(data);
  again.got = cudaGraphLaunch(again.exec, cudaStreamPerThread);
  again.uploaded = cudaGraphUpload(again.exec, cudaStreamPerThread);
}

// A host function must not call CUDA. The launch of its own graph would wait for itself.
void launch_from_inside() {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle always;
  CHECK(cudaGraphConditionalHandleCreate(&always, graph, 1, cudaGraphCondAssignDefault));
  const Condition choice = add(graph, nullptr, always, cudaGraphCondTypeIf, 1);
  Again again;
  const cudaHostNodeParams what{launch_again, &again};
  cudaGraphNode_t made;
  CHECK(cudaGraphAddHostNode(&made, choice.bodies[0], nullptr, 0, &what));
  CHECK(cudaGraphInstantiate(&again.exec, graph, 0));
  CHECK(cudaGraphLaunch(again.exec, cudaStreamPerThread));
  CHECK(cudaStreamSynchronize(cudaStreamPerThread));
  EXPECT(again.got == cudaErrorNotPermitted && again.uploaded == cudaErrorNotPermitted);
  CHECK(cudaGraphExecDestroy(again.exec));
  CHECK(cudaGraphDestroy(graph));
}

// Two instances of a graph share its condition: each launch sets and reads it without the other.
void launch_two_instances(int* yes_and_no, int* total) {
  constexpr int kTurns = 100;
  const int values[] = {1, 0};
  CHECK(cudaMemcpy(yes_and_no, values, sizeof values, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(total, 0, sizeof(int)));
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle which;
  CHECK(cudaGraphConditionalHandleCreate(&which, graph));
  int* from = yes_and_no;
  void* given[] = {&which, &from};
  const cudaGraphNode_t decided = add(graph, nullptr, {reinterpret_cast<void*>(set), given});
  const Condition choice = add(graph, &decided, which, cudaGraphCondTypeIf, 1);
  void* counted[] = {&total};
  add(choice.bodies[0], nullptr, {reinterpret_cast<void*>(count), counted});
  std::thread threads[2];
  for (int i = 0; i < 2; ++i) {
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    cudaKernelNodeParams launch{};
    launch.func = reinterpret_cast<void*>(set);
    launch.gridDim = launch.blockDim = dim3(1);
    launch.kernelParams = given;
    from = yes_and_no + i;
    CHECK(cudaGraphExecKernelNodeSetParams(exec, decided, &launch));
    threads[i] = std::thread([exec] {
      for (int turn = 0; turn < kTurns; ++turn) CHECK(cudaGraphLaunch(exec, cudaStreamPerThread));
      CHECK(cudaStreamSynchronize(cudaStreamPerThread));
      CHECK(cudaGraphExecDestroy(exec));
    });
  }
  for (std::thread& one : threads) one.join();
  int got = 0;
  CHECK(cudaMemcpy(&got, total, sizeof got, cudaMemcpyDeviceToHost));
  EXPECT(got == kTurns);
  CHECK(cudaGraphDestroy(graph));
}

int main() {
  int *x, *steps, *notes, host[4];
  CHECK(cudaMalloc(&x, sizeof(int)));
  CHECK(cudaMalloc(&steps, sizeof(int)));
  CHECK(cudaMalloc(&notes, sizeof host));
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphConditionalHandle goes_on, which, is_odd;
  CHECK(cudaGraphConditionalHandleCreate(&goes_on, graph, 1, cudaGraphCondAssignDefault));
  CHECK(cudaGraphConditionalHandleCreate(&which, graph));
  CHECK(cudaGraphConditionalHandleCreate(&is_odd, graph));

  const Condition loop = add(graph, nullptr, goes_on, cudaGraphCondTypeWhile, 1);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaStreamBeginCaptureToGraph(stream, loop.bodies[0], nullptr, nullptr, 0,
                                      cudaStreamCaptureModeGlobal));
  halve<<<1, 1, 0, stream>>>(goes_on, x, steps);
  CHECK(cudaStreamEndCapture(stream, nullptr));
  CHECK(cudaStreamDestroy(stream));
  void* chosen[] = {&which, &is_odd, &steps};
  const cudaGraphNode_t decided = add(graph, &loop.node, {reinterpret_cast<void*>(choose), chosen});
  const Condition cases = add(graph, &decided, which, cudaGraphCondTypeSwitch, 3);
  for (int i = 0; i < 3; ++i) {
    int at = 0, value = 10 + i;
    void* noted[] = {&notes, &at, &value};
    add(cases.bodies[i], nullptr, {reinterpret_cast<void*>(note), noted});
  }
  const Condition either = add(graph, &cases.node, is_odd, cudaGraphCondTypeIf, 2);
  for (int i = 0; i < 2; ++i) {
    int at = 1, value = i == 0 ? 77 : 88;
    void* noted[] = {&notes, &at, &value};
    add(either.bodies[i], nullptr, {reinterpret_cast<void*>(note), noted});
  }
  cudaGraphNodeType type;
  CHECK(cudaGraphNodeGetType(loop.node, &type));
  EXPECT(type == cudaGraphNodeTypeConditional);
  // A condition belongs to one node.
  cudaGraphNodeParams wrong{};
  wrong.type = cudaGraphNodeTypeConditional;
  wrong.conditional.handle = goes_on;
  wrong.conditional.size = 1;
  cudaGraphNode_t none;
  EXPECT(cudaGraphAddNode(&none, graph, nullptr, nullptr, 0, &wrong) == cudaErrorInvalidValue);

  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  const int begins[] = {64, 2, 1000};
  const int counts[] = {6, 1, 9};
  for (int i = 0; i < 3; ++i) {
    CHECK(cudaMemcpy(x, &begins[i], sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaMemset(steps, 0, sizeof(int)));
    CHECK(cudaMemset(notes, 0, sizeof host));
    CHECK(cudaGraphLaunch(exec, cudaStreamPerThread));
#ifdef FAULTY
    (void)cudaStreamSynchronize(cudaStreamPerThread);
#endif
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    int count = 0;
    CHECK(cudaMemcpy(&count, steps, sizeof count, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(host, notes, sizeof host, cudaMemcpyDeviceToHost));
    EXPECT(count == counts[i] && host[0] == 10 + count % 3 && host[1] == (count % 2 ? 77 : 88));
  }
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
#ifndef FAULTY
  update(x, notes);
  launch_while_another_thread_works(x, notes);
  launch_two_instances(notes, steps);
  launch_from_inside();
#endif
  CHECK(cudaFree(x));
  CHECK(cudaFree(steps));
  CHECK(cudaFree(notes));
  return passed();
}
