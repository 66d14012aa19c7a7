/* A kernel of one's own, registered for an op of gpuemu, preferred by policy and replayed as a graph.
 *
 *   cc registered.c $(pkg-config --cflags --libs gpuemu) -o registered
 *   registered [KERNEL.cu | KERNEL.ptx] [BACKEND]
 *
 * The kernel's entry is my_relu(const float* x, float* y, long long n). Without a file it is the PTX below, which needs no
 * compiler. Prints which kernel computed relu before and after, and the result of the replay.
 */
#include <gpuemu/op_call.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* y = x above 0, else x / 8: not quite relu, so that it can be told from the built-in one. */
static const char kLeaky[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry my_relu(.param .u64 x, .param .u64 y, .param .u64 n) {\n"
    "  .reg .pred %p;\n  .reg .b32 %r<5>;\n  .reg .f32 %f<3>;\n  .reg .b64 %d<6>;\n"
    "  mov.u32 %r1, %ctaid.x;\n  mov.u32 %r2, %ntid.x;\n  mov.u32 %r3, %tid.x;\n"
    "  mad.lo.u32 %r4, %r1, %r2, %r3;\n  cvt.u64.u32 %d1, %r4;\n  ld.param.u64 %d2, [n];\n"
    "  setp.ge.u64 %p, %d1, %d2;\n  @%p bra DONE;\n"
    "  ld.param.u64 %d3, [x];\n  ld.param.u64 %d4, [y];\n  shl.b64 %d5, %d1, 2;\n"
    "  add.s64 %d3, %d3, %d5;\n  add.s64 %d4, %d4, %d5;\n  ld.global.f32 %f1, [%d3];\n"
    "  mul.f32 %f2, %f1, 0f3E000000;\n  max.f32 %f1, %f1, %f2;\n  st.global.f32 [%d4], %f1;\n"
    "DONE:\n  ret;\n}\n";

enum { kElements = 1000 };

static void need(gpuemu_code code, const char* what) {
  if (code == GPUEMU_OK) return;
  fprintf(stderr, "registered: %s: %s: %s\n", what, gpuemu_code_name(code), gpuemu_last_error());
  exit(1);
}

static void show(void* user, const char* line) {
  (void)user;
  printf("%.*s\n", (int)strcspn(line, ";"), line); /* "relu: packets, first supported" */
}

static gpuemu_kernel register_relu(gpuemu_context* context, uint32_t op, const char* source) {
  static const char* const args[] = {"x", "y", "i64:x.count"};
  gpuemu_launch_declaration launch;
  gpuemu_kernel_declaration kernel;
  gpuemu_kernel registered = 0;
  memset(&launch, 0, sizeof launch);
  launch.entry = "my_relu";
  launch.grid[0] = "cdiv(x.count, 256)";
  launch.block[0] = "256";
  launch.args = args;
  launch.arg_count = 3;
  memset(&kernel, 0, sizeof kernel);
  kernel.struct_bytes = sizeof kernel;
  kernel.op = op;
  kernel.name = "mine";
  kernel.source = source;
  kernel.launches = &launch;
  kernel.launch_count = 1;
  kernel.types = "T: float32";
  kernel.supports = "x.count < 1000000";
  need(gpuemu_kernel_register(context, &kernel, &registered), "register");
  return registered;
}

int main(int argc, char** argv) {
  const int64_t shape[1] = {kElements};
  static float values[kElements];
  gpuemu_options options;
  gpuemu_context* context = NULL;
  gpuemu_tensor tensors[2];
  gpuemu_call call;
  gpuemu_graph graph = 0;
  gpuemu_kernel kernel = 0;
  memset(&options, 0, sizeof options);
  options.struct_bytes = sizeof options;
  options.backend = argc > 2 ? argv[2] : "auto";
  need(gpuemu_context_create(&options, &context), "context");
  memset(tensors, 0, sizeof tensors);
  for (int i = 0; i < 2; ++i) {
    tensors[i].dtype = GPUEMU_FLOAT32;
    tensors[i].rank = 1;
    tensors[i].shape = shape;
    need(gpuemu_memory_allocate(context, sizeof values, &tensors[i].data), "memory");
  }
  for (int i = 0; i < kElements; ++i) values[i] = (float)(i - kElements / 2);
  memset(&call, 0, sizeof call);
  call.struct_bytes = sizeof call;
  need(gpuemu_op_find(context, "relu", &call.op), "relu");
  call.inputs = &tensors[0];
  call.outputs = &tensors[1];
  call.input_count = call.output_count = 1;
  need(gpuemu_stream_create(context, 0, 0, &call.stream), "stream");
  need(gpuemu_memory_upload(context, tensors[0].data, values, sizeof values, call.stream), "upload");
  need(gpuemu_context_set_log(context, show, NULL), "log");
  need(gpuemu_op_call(context, &call), "built-in relu");

  kernel = register_relu(context, call.op, argc > 1 && argv[1][0] != 0 ? argv[1] : kLeaky);
  need(gpuemu_policy_set(context, "{\"prefer\": {\"relu\": \"mine\"}}"), "policy");
  need(gpuemu_capture_begin(context, call.stream), "capture");
  need(gpuemu_op_call(context, &call), "relu of one's own");
  need(gpuemu_capture_end(context, call.stream, &graph), "capture");
  need(gpuemu_kernel_remove(context, kernel), "remove"); /* The graph stays valid. */
  for (int i = 0; i < 3; ++i) need(gpuemu_graph_launch(context, graph, call.stream), "replay");
  need(gpuemu_memory_download(context, values, tensors[1].data, sizeof values, call.stream), "download");
  need(gpuemu_stream_synchronize(context, call.stream), "replay");
  printf("first %g last %g\n", (double)values[0], (double)values[kElements - 1]);
  need(gpuemu_graph_destroy(context, graph), "graph");
  gpuemu_context_destroy(context);
  return 0;
}
