/* An MLP trained through the C interface of gpuemu, on a GPU or on the emulator.
 *
 * One step (forward, loss, backward, SGD) is a list of op calls. It runs once call by call, is then
 * captured as a graph and replayed; the learning rate lies in device memory and changes from replay
 * to replay.
 *
 *   cc mlp.c $(pkg-config --cflags --libs gpuemu) -o mlp
 *   mlp [--backend NAME] [--layers N] [--width N] [--batch N] [--steps N] [--bench] [--trace FILE]
 *
 * Prints "loss STEP VALUE" of every hundredth step and of the last. With --bench: how long a step
 * takes call by call and as a graph. With --trace: what ran when, as a Chrome trace.
 */
#define _POSIX_C_SOURCE 199309L
#include <gpuemu/op_call.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kLayersMax = 16, kInputs = 8, kOutputs = 4, kLinesEvery = 100 };

typedef struct Layer {
  int64_t in, out;
  gpuemu_tensor w, bias, dw, dbias, velocity_w, velocity_bias; /* w is out x in. */
  gpuemu_tensor product, biased, active;                       /* batch x out */
  gpuemu_tensor d_biased, dx;                                  /* Gradients of biased and input. */
} Layer;

typedef struct Model {
  gpuemu_context* context;
  gpuemu_stream stream;
  int64_t batch;
  int layers;
  Layer layer[kLayersMax];
  gpuemu_tensor input, target, loss, rate;
  uint32_t gemm, bias_add, relu, relu_bwd, mse, mse_grad, linear_bwd, sgd_step;
  unsigned calls;
} Model;

/* The one way out when something fails. */
static void need(gpuemu_code code, const char* what) {
  if (code == GPUEMU_OK) return;
  fprintf(stderr, "mlp: %s: %s: %s\n", what, gpuemu_code_name(code), gpuemu_last_error());
  exit(1);
}

/* The same numbers everywhere: a linear congruential generator, in [-scale, scale). */
static float next_number(uint32_t* state, float scale) {
  *state = *state * 1664525u + 1013904223u;
  return ((float)(*state >> 8) / 8388608.0f - 1.0f) * scale;
}

/* A tensor of rank 0, 1 (cols 0) or 2; filled with numbers of `state`, or with zeros. */
static gpuemu_tensor make(Model* model, int64_t rows, int64_t cols, uint32_t* state, float scale) {
  gpuemu_tensor tensor;
  int64_t* shape = malloc(2 * sizeof *shape);
  const size_t count = (size_t)((rows == 0 ? 1 : rows) * (cols == 0 ? 1 : cols));
  float* values = calloc(count, sizeof *values);
  if (shape == NULL || values == NULL) exit(1);
  shape[0] = rows;
  shape[1] = cols;
  memset(&tensor, 0, sizeof tensor);
  tensor.dtype = GPUEMU_FLOAT32;
  tensor.rank = rows == 0 ? 0 : cols == 0 ? 1 : 2;
  tensor.shape = shape;
  for (size_t i = 0; state != NULL && i < count; ++i) values[i] = next_number(state, scale);
  need(gpuemu_memory_allocate(model->context, count * sizeof *values, &tensor.data), "memory");
  need(gpuemu_memory_upload(model->context, tensor.data, values, count * sizeof *values,
                            model->stream),
       "upload");
  need(gpuemu_stream_synchronize(model->context, model->stream), "upload");
  free(values);
  return tensor;
}

static void release(Model* model, gpuemu_tensor* tensor) {
  need(gpuemu_memory_free(model->context, tensor->data), "free");
  free((void*)tensor->shape);
}

/* Outputs stand behind the inputs in `tensors`. */
static void call_op(Model* model, uint32_t op, const gpuemu_tensor* tensors, uint32_t inputs,
                    uint32_t outputs) {
  gpuemu_call call;
  memset(&call, 0, sizeof call);
  call.struct_bytes = sizeof call;
  call.op = op;
  call.inputs = tensors;
  call.input_count = inputs;
  call.outputs = tensors + inputs;
  call.output_count = outputs;
  call.stream = model->stream;
  /* Schema 10, version 1, of gemm: trans_a and trans_b as int32. */
  static const unsigned char kTransposeB[8] = {0, 0, 0, 0, 1, 0, 0, 0};
  if (op == model->gemm) {
    call.schema_id = 10 * 256 + 1;
    call.attributes = kTransposeB;
    call.attribute_bytes = sizeof kTransposeB;
  }
  need(gpuemu_op_call(model->context, &call), gpuemu_op_name(model->context, op));
  ++model->calls;
}

static void forward(Model* model) {
  gpuemu_tensor x = model->input;
  for (int i = 0; i < model->layers; ++i) {
    Layer* at = &model->layer[i];
    const gpuemu_tensor product[] = {x, at->w, at->product};
    const gpuemu_tensor biased[] = {at->product, at->bias, at->biased};
    const gpuemu_tensor active[] = {at->biased, at->active};
    call_op(model, model->gemm, product, 2, 1);
    call_op(model, model->bias_add, biased, 2, 1);
    if (i + 1 < model->layers) call_op(model, model->relu, active, 1, 1);
    x = at->active;
  }
}

static void backward(Model* model) {
  Layer* last = &model->layer[model->layers - 1];
  const gpuemu_tensor loss[] = {last->biased, model->target, model->loss};
  const gpuemu_tensor grad[] = {last->biased, model->target, last->d_biased};
  call_op(model, model->mse, loss, 2, 1);
  call_op(model, model->mse_grad, grad, 2, 1);
  for (int i = model->layers; i-- > 0;) {
    Layer* at = &model->layer[i];
    const gpuemu_tensor x = i == 0 ? model->input : model->layer[i - 1].active;
    const gpuemu_tensor linear[] = {x, at->w, at->d_biased, at->dx, at->dw, at->dbias};
    call_op(model, model->linear_bwd, linear, 3, 3);
    if (i == 0) break;
    Layer* below = &model->layer[i - 1];
    const gpuemu_tensor relu[] = {below->biased, at->dx, below->d_biased};
    call_op(model, model->relu_bwd, relu, 2, 1);
  }
}

static void update(Model* model) {
  for (int i = 0; i < model->layers; ++i) {
    Layer* at = &model->layer[i];
    const gpuemu_tensor w[] = {at->w, at->dw, at->velocity_w, model->rate, at->w, at->velocity_w};
    const gpuemu_tensor bias[] = {at->bias,    at->dbias, at->velocity_bias,
                                  model->rate, at->bias,  at->velocity_bias};
    call_op(model, model->sgd_step, w, 4, 2);
    call_op(model, model->sgd_step, bias, 4, 2);
  }
}

static void step(Model* model) {
  static const struct {
    const char* name;
    void (*part)(Model* model);
  } parts[] = {{"forward", forward}, {"backward", backward}, {"update", update}};
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
    gpuemu_range_begin(model->context, parts[i].name);
    parts[i].part(model);
    gpuemu_range_end(model->context);
  }
}

static void build(Model* model, int64_t width) {
  const struct {
    const char* name;
    uint32_t* op;
  } ops[] = {{"gemm", &model->gemm},
             {"bias_add", &model->bias_add},
             {"relu", &model->relu},
             {"relu_bwd", &model->relu_bwd},
             {"mse", &model->mse},
             {"mse_grad", &model->mse_grad},
             {"linear_bwd", &model->linear_bwd},
             {"sgd_step", &model->sgd_step}};
  for (size_t i = 0; i < sizeof ops / sizeof ops[0]; ++i) {
    need(gpuemu_op_find(model->context, ops[i].name, ops[i].op), "op");
  }
  uint32_t state = 1;
  const int64_t batch = model->batch;
  model->input = make(model, batch, kInputs, &state, 1.0f);
  model->target = make(model, batch, kOutputs, &state, 1.0f);
  model->loss = make(model, 0, 0, NULL, 0);
  model->rate = make(model, 1, 0, NULL, 0);
  for (int i = 0; i < model->layers; ++i) {
    Layer* at = &model->layer[i];
    at->in = i == 0 ? kInputs : width;
    at->out = i + 1 == model->layers ? kOutputs : width;
    at->w = make(model, at->out, at->in, &state, 0.5f);
    at->bias = make(model, at->out, 0, &state, 0.1f);
    at->dw = make(model, at->out, at->in, NULL, 0);
    at->dbias = make(model, at->out, 0, NULL, 0);
    at->velocity_w = make(model, at->out, at->in, NULL, 0);
    at->velocity_bias = make(model, at->out, 0, NULL, 0);
    at->product = make(model, batch, at->out, NULL, 0);
    at->biased = make(model, batch, at->out, NULL, 0);
    at->active = make(model, batch, at->out, NULL, 0);
    at->d_biased = make(model, batch, at->out, NULL, 0);
    at->dx = make(model, batch, at->in, NULL, 0);
  }
}

static void tear_down(Model* model) {
  gpuemu_tensor* single[] = {&model->input, &model->target, &model->loss, &model->rate};
  for (size_t i = 0; i < sizeof single / sizeof single[0]; ++i) release(model, single[i]);
  for (int i = 0; i < model->layers; ++i) {
    Layer* at = &model->layer[i];
    gpuemu_tensor* all[] = {&at->w,          &at->bias,          &at->dw,      &at->dbias,
                            &at->velocity_w, &at->velocity_bias, &at->product, &at->biased,
                            &at->active,     &at->d_biased,      &at->dx};
    for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) release(model, all[k]);
  }
}

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static void print_loss(Model* model, int at) {
  float loss = 0;
  need(gpuemu_memory_download(model->context, &loss, model->loss.data, sizeof loss, model->stream),
       "download");
  need(gpuemu_stream_synchronize(model->context, model->stream), "step");
  printf("loss %d %.9g\n", at, (double)loss);
}

static gpuemu_graph capture(Model* model) {
  gpuemu_graph graph = 0;
  need(gpuemu_capture_begin(model->context, model->stream), "capture");
  step(model);
  need(gpuemu_capture_end(model->context, model->stream, &graph), "capture");
  return graph;
}

/* The rates of all steps: an upload reads them when the stream gets there. */
static float* rates_of(int steps) {
  float* rates = malloc((size_t)steps * sizeof *rates);
  if (rates == NULL) exit(1);
  for (int i = 0; i < steps; ++i) rates[i] = 0.2f / (1.0f + 0.005f * (float)i);
  return rates;
}

/* Step 0 call by call, which loads every kernel; the others as a graph. */
static void train(Model* model, int steps) {
  float* rates = rates_of(steps);
  gpuemu_graph graph = 0;
  for (int i = 0; i < steps; ++i) {
    need(gpuemu_memory_upload(model->context, model->rate.data, &rates[i], sizeof rates[i],
                              model->stream),
         "rate");
    if (i == 1) {
      gpuemu_range_begin(model->context, "capture");
      graph = capture(model);
      gpuemu_range_end(model->context);
    }
    gpuemu_range_begin(model->context, i == 0 ? "step" : "replay");
    if (i == 0) {
      step(model);
    } else {
      need(gpuemu_graph_launch(model->context, graph, model->stream), "graph");
    }
    gpuemu_range_end(model->context);
    if (i % kLinesEvery == 0 || i + 1 == steps) print_loss(model, i);
  }
  if (graph != 0) need(gpuemu_graph_destroy(model->context, graph), "graph");
  free(rates);
}

/* Both ways on the same work; the best of five rounds each. */
static void bench(Model* model, int steps) {
  double calls_us = 0, graph_us = 0;
  step(model);
  need(gpuemu_stream_synchronize(model->context, model->stream), "step");
  gpuemu_graph graph = capture(model);
  model->calls = 0;
  step(model);
  const unsigned calls = model->calls;
  for (int round = 0; round < 5; ++round) {
    need(gpuemu_stream_synchronize(model->context, model->stream), "step");
    double begin = now_us();
    for (int i = 0; i < steps; ++i) step(model);
    need(gpuemu_stream_synchronize(model->context, model->stream), "step");
    const double calls_round = (now_us() - begin) / steps;
    begin = now_us();
    for (int i = 0; i < steps; ++i) {
      need(gpuemu_graph_launch(model->context, graph, model->stream), "graph");
    }
    need(gpuemu_stream_synchronize(model->context, model->stream), "graph");
    const double graph_round = (now_us() - begin) / steps;
    if (round == 0 || calls_round < calls_us) calls_us = calls_round;
    if (round == 0 || graph_round < graph_us) graph_us = graph_round;
  }
  printf("%u ops: %.2f us per step call by call, %.2f us as a graph, ratio %.2f\n", calls, calls_us,
         graph_us, calls_us / graph_us);
  need(gpuemu_graph_destroy(model->context, graph), "graph");
}

static int number(const char* text, int lowest, int highest) {
  char* end = NULL;
  const long value = strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < lowest || value > highest) {
    fprintf(stderr, "mlp: '%s' is not a number from %d to %d\n", text, lowest, highest);
    exit(2);
  }
  return (int)value;
}

int main(int argc, char** argv) {
  Model model;
  gpuemu_options options;
  int steps = 1001, width = 16, measure = 0;
  const char* trace = NULL;
  memset(&model, 0, sizeof model);
  memset(&options, 0, sizeof options);
  options.struct_bytes = sizeof options;
  model.batch = 16;
  model.layers = 2;
  for (int i = 1; i < argc; ++i) {
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (strcmp(argv[i], "--bench") == 0) {
      measure = 1;
      continue;
    }
    if (strcmp(argv[i], "--backend") == 0) {
      options.backend = value;
    } else if (strcmp(argv[i], "--trace") == 0) {
      trace = value;
    } else if (strcmp(argv[i], "--layers") == 0) {
      model.layers = number(value, 1, kLayersMax);
    } else if (strcmp(argv[i], "--width") == 0) {
      width = number(value, 1, 4096);
    } else if (strcmp(argv[i], "--batch") == 0) {
      model.batch = number(value, 1, 4096);
    } else if (strcmp(argv[i], "--steps") == 0) {
      steps = number(value, 1, 1000000);
    } else {
      fprintf(stderr,
              "usage: mlp [--backend NAME] [--layers N] [--width N] [--batch N] [--steps N]"
              " [--bench] [--trace FILE]\n");
      return 2;
    }
    ++i;
  }
  need(gpuemu_context_create(&options, &model.context), "device");
  need(gpuemu_stream_create(model.context, 0, 1, &model.stream), "stream");
  build(&model, width);
  if (trace != NULL) {
    /* The trace leaves out the loading of kernels. The rate is still 0: nothing is learnt. */
    step(&model);
    need(gpuemu_stream_synchronize(model.context, model.stream), "step");
    need(gpuemu_profile_start(model.context, 1), "profile");
  }
  if (measure) {
    bench(&model, steps);
  } else {
    train(&model, steps);
  }
  need(gpuemu_stream_synchronize(model.context, model.stream), "end");
  if (trace != NULL) need(gpuemu_profile_stop(model.context, trace, NULL), "trace");
  tear_down(&model);
  need(gpuemu_stream_destroy(model.context, model.stream), "stream");
  gpuemu_context_destroy(model.context);
  return 0;
}
