/* What a C program sees: every kind of function once, and errors with their messages. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/capi/op_call.h"

static int failures = 0;

static void expect(int holds, const char* what) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "failed: %s (last error: %s)\n", what, gpuemu_last_error());
}

static gpuemu_tensor tensor(void* data, const int64_t* shape, int32_t rank) {
  gpuemu_tensor made;
  memset(&made, 0, sizeof made);
  made.data = data;
  made.dtype = GPUEMU_FLOAT32;
  made.rank = rank;
  made.shape = shape;
  return made;
}

/* y = rmsnorm(x) * weight of one row, with eps = 4: 3 / sqrt(9 + 4). */
static void call_with_attributes(gpuemu_context* context, gpuemu_stream stream) {
  const float ones[6] = {3, 3, 3, 3, 1, 1};
  const int64_t row[2] = {1, 4}, weights[1] = {4};
  const float eps = 4.0f;
  float out[4] = {0, 0, 0, 0};
  const float w[4] = {1, 1, 2, 1};
  void *x = NULL, *weight = NULL, *y = NULL;
  gpuemu_tensor inputs[2], outputs[1];
  gpuemu_call call;
  memset(&call, 0, sizeof call);
  call.struct_bytes = sizeof call;
  expect(gpuemu_op_find(context, "rmsnorm", &call.op) == GPUEMU_OK, "find rmsnorm");
  expect(gpuemu_memory_allocate(context, 16, &x) == GPUEMU_OK, "allocate x");
  expect(gpuemu_memory_allocate(context, 16, &weight) == GPUEMU_OK, "allocate weight");
  expect(gpuemu_memory_allocate(context, 16, &y) == GPUEMU_OK, "allocate y");
  expect(gpuemu_memory_upload(context, x, ones, 16, stream) == GPUEMU_OK, "upload x");
  expect(gpuemu_memory_upload(context, weight, w, 16, stream) == GPUEMU_OK, "upload weight");
  inputs[0] = tensor(x, row, 2);
  inputs[1] = tensor(weight, weights, 1);
  outputs[0] = tensor(y, row, 2);
  call.inputs = inputs;
  call.input_count = 2;
  call.outputs = outputs;
  call.output_count = 1;
  call.schema_id = 2 * 256 + 1;
  call.attributes = &eps;
  call.attribute_bytes = sizeof eps;
  call.stream = stream;
  expect(gpuemu_op_call(context, &call) == GPUEMU_OK, "call rmsnorm");
  expect(gpuemu_memory_download(context, out, y, 16, stream) == GPUEMU_OK, "download y");
  expect(gpuemu_stream_synchronize(context, stream) == GPUEMU_OK, "synchronize");
  expect(fabs(out[0] - 3 / sqrt(13.0)) < 1e-6, "value of y[0]");
  expect(fabs(out[2] - 6 / sqrt(13.0)) < 1e-6, "value of y[2]");

  call.schema_id = 0;
  expect(gpuemu_op_call(context, &call) == GPUEMU_INVALID_ARGUMENT, "bytes without a schema");
  call.schema_id = 2 * 256 + 1;
  outputs[0].dtype = 99;
  expect(gpuemu_op_call(context, &call) == GPUEMU_INVALID_ARGUMENT, "unknown dtype");
  expect(strcmp(gpuemu_last_error(), "outputs[0]: dtype 99, expected 0 to 12") == 0, "its message");
  expect(gpuemu_memory_free(context, x) == GPUEMU_OK, "free x");
  expect(gpuemu_memory_free(context, x) != GPUEMU_OK, "free x twice");
  expect(gpuemu_memory_free(context, weight) == GPUEMU_OK, "free weight");
  expect(gpuemu_memory_free(context, y) == GPUEMU_OK, "free y");
}

int main(void) {
  gpuemu_context* context = NULL;
  gpuemu_stream stream = 0;
  gpuemu_device_info info;
  gpuemu_options options;
  memset(&options, 0, sizeof options);
  options.struct_bytes = sizeof options;
  options.backend = "emulator";
  options.threads = 1;
  expect(gpuemu_abi_version() == GPUEMU_ABI_VERSION, "version");
  if (gpuemu_context_create(&options, &context) != GPUEMU_OK) {
    fprintf(stderr, "%s\n", gpuemu_last_error());
    return 1;
  }
  memset(&info, 0, sizeof info);
  info.struct_bytes = sizeof info;
  expect(gpuemu_context_device(context, &info) == GPUEMU_OK, "device");
  expect(info.is_emulator == 1 && strcmp(info.backend, "emulator") == 0, "is the emulator");
  expect(gpuemu_stream_create(context, 0, 1, &stream) == GPUEMU_OK && stream != 0, "stream");
  call_with_attributes(context, 0);
  call_with_attributes(context, stream);
  expect(gpuemu_op_find(context, "no such op", &options.threads) == GPUEMU_NOT_FOUND, "missing op");
  expect(strcmp(gpuemu_code_name(GPUEMU_NOT_FOUND), "GPUEMU_NOT_FOUND") == 0, "name of a code");
  expect(gpuemu_stream_destroy(context, stream) == GPUEMU_OK, "destroy the stream");
  gpuemu_context_destroy(context);
  return failures == 0 ? 0 : 1;
}
