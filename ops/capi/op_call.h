// The C interface to gpuemu's ops: a device, its memory, streams and graphs, and one function that
// runs any op on tensors. docs/reference/op-call.md has an example program.
//
// Functions that can fail return a code; gpuemu_last_error() then returns a sentence, for the
// calling thread. A refused call launches nothing. All functions are thread-safe, but an object
// must not be destroyed while another thread uses it.
//
// The interface only grows: by new functions, and by new members at the end of structs that begin
// with struct_bytes, which callers set to the sizeof that they were compiled with. Members unknown
// to the caller are 0; members unknown to the library must be 0.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Names follow C conventions.
// NOLINTBEGIN(readability-identifier-naming)
#ifdef __cplusplus
extern "C" {
#endif

#define GPUEMU_ABI_VERSION 2
/* Of the library that has this header, apart from that of the programs: 1.N has interface N + 1. */
#define GPUEMU_LIBRARY_VERSION "1.1.0"

typedef enum gpuemu_code {
  GPUEMU_OK = 0,
  GPUEMU_INVALID_ARGUMENT = 1,
  GPUEMU_NOT_FOUND = 2,
  GPUEMU_CORRUPTION = 3,
  GPUEMU_UNSUPPORTED = 4,
  GPUEMU_UNAVAILABLE = 5, /* Also: the device is lost. */
  GPUEMU_TIMEOUT = 6,
  GPUEMU_RESOURCE_EXHAUSTED = 7, /* Out of memory. */
  GPUEMU_IO = 8,
  GPUEMU_COMPILE = 9,
  GPUEMU_LAUNCH = 10, /* A kernel faulted. */
  GPUEMU_CANCELLED = 11,
  GPUEMU_INTERNAL = 12
} gpuemu_code;

typedef enum gpuemu_dtype {
  GPUEMU_FLOAT16 = 0,
  GPUEMU_BFLOAT16 = 1,
  GPUEMU_FLOAT32 = 2,
  GPUEMU_FLOAT64 = 3,
  GPUEMU_INT8 = 4,
  GPUEMU_INT16 = 5,
  GPUEMU_INT32 = 6,
  GPUEMU_INT64 = 7,
  GPUEMU_UINT8 = 8,
  GPUEMU_UINT16 = 9,
  GPUEMU_UINT32 = 10,
  GPUEMU_UINT64 = 11,
  GPUEMU_BOOL = 12
} gpuemu_dtype;

/* A device and what belongs to it. */
typedef struct gpuemu_context gpuemu_context;
/* 0 is the calling thread's current stream: the default stream until it has chosen another. */
typedef uint64_t gpuemu_stream;
/* Each thread's own stream, which always exists and waits for the default stream. */
#define GPUEMU_STREAM_PER_THREAD ((gpuemu_stream)2)
typedef uint64_t gpuemu_event;
typedef uint64_t gpuemu_graph;
/* Records of calls: gpuemu_log_start(). */
typedef uint64_t gpuemu_log;
/* A kernel that was registered; 0 is none. */
typedef uint64_t gpuemu_kernel;

typedef struct gpuemu_options {
  uint32_t struct_bytes;
  int32_t device;      /* Which GPU. */
  const char* backend; /* "auto", "cuda", "emulator"; NULL is "auto". */
  int32_t sm;          /* Emulator: the architecture to be, as in 80; 0 is the usual one. */
  uint32_t threads;    /* Emulator: blocks run at once; 0 is one per core. */
  const char* folder;  /* Keeps compiled kernels and timings between processes; NULL keeps none. */
  const char* policy; /* A .toml or .json file, docs/reference/op-call.md; NULL: first supported. */
  /* Emulator: not 0: streams go on only when somebody waits, in an order that follows from it, so
   * that a missing gpuemu_event_wait shows within a few seeds. 0: as issued. */
  uint64_t schedule_seed;
  /* GPU: so many bytes on each side of memory of gpuemu_memory_allocate_async must stay as they
   * are (gpuemu_memory_check); 0: none. The emulator checks every access instead. */
  uint64_t guard_bytes;
  uint64_t memory_limit_bytes; /* 0: as much as there is. */
} gpuemu_options;

typedef struct gpuemu_device_info {
  uint32_t struct_bytes;
  int32_t sm; /* 10 * major + minor. */
  uint32_t multiprocessors;
  uint32_t is_emulator;
  uint64_t memory_bytes;
  char backend[16];
  char name[104];
  uint64_t memory_free_bytes;
  uint32_t index;           /* Among the devices of its backend. */
  uint32_t dtypes;          /* Bit 1 << gpuemu_dtype of what its instructions compute or convert. */
  char driver_version[32];  /* "" without a driver. */
  char runtime_version[32]; /* Of the CUDA runtime; "" without one. */
} gpuemu_device_info;

/* Where memory lies. */
enum {
  GPUEMU_MEMORY_DEVICE = 0,
  GPUEMU_MEMORY_PINNED = 1, /* Of the host, page-locked; kernels use it by the same address. */
  GPUEMU_MEMORY_MANAGED = 2 /* One address for the host and the device. */
};

/* What the context has allocated, in bytes and numbers. Workspaces of ops are not among it. */
typedef struct gpuemu_memory_statistics {
  uint32_t struct_bytes;
  uint64_t requested_bytes; /* Device memory that is allocated, as it was asked for. */
  uint64_t allocated_bytes; /* The same with rounding and guards. */
  uint64_t reserved_bytes;  /* Taken from the device. */
  uint64_t cached_bytes;    /* reserved_bytes - allocated_bytes */
  uint64_t peak_requested_bytes;
  uint64_t peak_reserved_bytes;
  uint64_t pinned_bytes;
  uint64_t managed_bytes;
  uint64_t adopted_bytes;
  uint64_t live; /* Allocations of all kinds: allocations - frees. */
  uint64_t allocations;
  uint64_t frees;
  uint64_t from_cache; /* Allocations that asked the device for nothing. */
  uint64_t segments_taken;
  uint64_t trims;
} gpuemu_memory_statistics;

typedef struct gpuemu_tensor {
  void* data;    /* Address of element 0 on the device; NULL only without elements. */
  int32_t dtype; /* gpuemu_dtype */
  int32_t rank;
  const int64_t* shape;   /* rank sizes, from 0. */
  const int64_t* strides; /* rank strides in elements, from 0; NULL: contiguous, row-major. */
} gpuemu_tensor;

typedef struct gpuemu_call {
  uint32_t struct_bytes;
  uint32_t op; /* Of gpuemu_op_find(). */
  const gpuemu_tensor* inputs;
  const gpuemu_tensor* outputs;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t schema_id; /* 0 with no bytes: every attribute has its default. */
  uint32_t attribute_bytes;
  const void* attributes; /* Packed as the schema says: little-endian, no padding. */
  gpuemu_stream stream;
  const char* variant; /* This one and no other; NULL: as the policy says. */
} gpuemu_call;

/* One element of an output as it would be without any rounding: high + low. bound: how far from it
 * rounding may have taken the computed one. known: 0 where no float instruction made it; the others
 * mean nothing then. */
typedef struct gpuemu_exact {
  double high;
  double low;
  double bound;
  uint32_t known;
  uint32_t unused;
} gpuemu_exact;

/* An attribute of an op or kernel that is registered. */
typedef struct gpuemu_field {
  const char* name;
  const char* dtype; /* An int or a float of 32 or 64 bits: "int32", "float64" */
  double fallback;   /* Its value in calls that do not give it. */
  uint32_t has_fallback;
} gpuemu_field;

typedef struct gpuemu_op_declaration {
  uint32_t struct_bytes;
  uint32_t in_place; /* An output may be the very tensor that is an input. */
  const char* name;
  const char* summary;       /* NULL: "". */
  const char* const* inputs; /* "x: T", "index: I, rank 1", "w: T, rank 2 to 4" */
  const char* const* outputs;
  const gpuemu_field* fields;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t field_count;
} gpuemu_op_declaration;

/* One launch of a kernel. Sizes are expressions over the operands (x.count, x.rank, x.bytes,
 * x.shape[i], x.strides[i]), the attributes and sm: + - * // %, min max cdiv, comparisons, and or
 * not. docs/reference/op-call.md has their grammar. */
typedef struct gpuemu_launch_declaration {
  const char* entry;    /* {T} in it is the dtype of T, {T:c} its CUDA type. */
  const char* grid[3];  /* NULL: 1. */
  const char* block[3]; /* NULL: 1. */
  const char* shared;   /* Bytes of dynamic shared memory; NULL: 0. */
  /* In the order of the entry's parameters: "x" is the address of an operand, "workspace" that of
   * the workspace; "i32:x.count", "i64:...", "f32:eps", "f64:..." are values. */
  const char* const* args;
  uint32_t arg_count;
} gpuemu_launch_declaration;

/* A call as callbacks of a kernel see it. Valid as long as the callback runs. */
typedef struct gpuemu_case {
  uint32_t struct_bytes;
  int32_t sm;
  const gpuemu_tensor* inputs;
  const gpuemu_tensor* outputs;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t attribute_bytes; /* Up to those of the kernel's schema; the rest are fallbacks. */
  uint32_t unused;
  const void* attributes;
  void* workspace; /* For plan; NULL where there is none. */
} gpuemu_case;

/* What plan asks for: one launch. */
typedef struct gpuemu_launch {
  uint32_t entry; /* Index into the declared launches: their `entry`. */
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  uint32_t arg_count;     /* At most GPUEMU_LAUNCH_ARGS_MAX. */
  uint32_t arg_bytes[24]; /* 4 or 8 each. */
  uint64_t args[24];      /* The value in the first bytes. */
} gpuemu_launch;
enum { GPUEMU_LAUNCH_ARGS_MAX = 24, GPUEMU_LAUNCHES_MAX = 6 };

typedef struct gpuemu_kernel_declaration {
  uint32_t struct_bytes;
  uint32_t op;
  const char* name;   /* Unique among the kernels of the op. */
  const char* source; /* CUDA C++ or PTX, or the path of a .cu or .ptx file. */
  const gpuemu_launch_declaration* launches;
  const char* types;     /* "T: float32, float16; I: int32"; letters that it lacks: every float. */
  const char* supports;  /* An expression, 0 where it does not compute; NULL: always. */
  const char* workspace; /* Bytes of an operand "workspace"; NULL: none. */
  const gpuemu_field* fields; /* Its own, behind those of the op, each with a fallback. */
  uint32_t launch_count;
  uint32_t field_count;
  int32_t priority; /* Higher is tried first. */
  int32_t sm_min;
  uint32_t strided; /* Takes any strides; else every tensor is contiguous. */
  uint32_t wide;    /* Counts elements with 64 bits; else each tensor has less than 2^31 - 1024. */
  /* NULL: as the texts say. Called by the thread that calls the op; they must not call the context.
   * supports_call: NULL when it computes the case, else why not, valid until the thread's next
   * call. plan: how often it is launched, at most GPUEMU_LAUNCHES_MAX, and each; 0: it failed. */
  const char* (*supports_call)(void* user, const gpuemu_case* asked);
  uint32_t (*plan)(void* user, const gpuemu_case* asked, gpuemu_launch* launches);
  void* user;
} gpuemu_kernel_declaration;

/* What libgpuemu.so exports. */
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* The version of this header that the library implements. */
uint32_t gpuemu_abi_version(void);
/* Of the last call of this thread that failed; valid until its next call. */
const char* gpuemu_last_error(void);
/* "GPUEMU_INVALID_ARGUMENT" */
const char* gpuemu_code_name(gpuemu_code code);
/* Of the library: GPUEMU_LIBRARY_VERSION of its header. */
const char* gpuemu_version(void);

/* Functions with (to, room, bytes) write a text with its final 0, whose size is then in *bytes. Is
 * `room` too small, they write nothing, set *bytes and return GPUEMU_RESOURCE_EXHAUSTED. */

/* {"library": ..., "abi": 2, "driver": ..., "cuda_runtime": ..., "cupti": ..., "cublas": ...}; ""
 * for what this machine has not. */
gpuemu_code gpuemu_versions_json(char* to, size_t room, size_t* bytes);

/* "float32" */
gpuemu_code gpuemu_dtype_name(int32_t dtype, const char** name);
gpuemu_code gpuemu_dtype_bytes(int32_t dtype, uint32_t* bytes);
uint32_t gpuemu_dtype_count(void);

/* The devices that can be opened, GPUs first. backend: "cuda" or "emulator"; NULL: both. Nothing is
 * opened. */
gpuemu_code gpuemu_device_count(const char* backend, uint32_t* count);
gpuemu_code gpuemu_device_at(const char* backend, uint32_t number, gpuemu_device_info* info);

gpuemu_code gpuemu_context_create(const gpuemu_options* options, gpuemu_context** context);
/* Waits for all work. NULL is allowed. */
void gpuemu_context_destroy(gpuemu_context* context);
gpuemu_code gpuemu_context_device(gpuemu_context* context, gpuemu_device_info* info);
/* Waits for all streams. GPUEMU_LAUNCH when a kernel has faulted. */
gpuemu_code gpuemu_context_synchronize(gpuemu_context* context);
/* Emulator: what it checks in kernels from now on: names of validation.sanitize with commas between
 * them; "": nothing; NULL: the usual ones. */
gpuemu_code gpuemu_checks_set(gpuemu_context* context, const char* names);
/* What kernels did wrong since the last call, a list of at most 64; a GPU tells none. */
gpuemu_code gpuemu_findings_json(gpuemu_context* context, char* to, size_t room, size_t* bytes);
/* Called for each op: "matmul: tiled, first supported; a [2, 3], ...; T = float32; 12.5 us". Every
 * call is then waited for. NULL ends it, after which only calls that other threads are in may still
 * be told. It may call anything of this context, and is called by the thread that called the op. */
gpuemu_code gpuemu_context_set_log(gpuemu_context* context,
                                   void (*log)(void* user, const char* line), void* user);

/* Calls from now on choose kernels by this file, as options.policy says; NULL: first supported. A
 * file that is refused changes nothing. */
gpuemu_code gpuemu_context_set_policy(gpuemu_context* context, const char* policy);

/* The same from JSON text: {"strategy": ..., "prefer": {...}}. */
gpuemu_code gpuemu_policy_set(gpuemu_context* context, const char* json);
gpuemu_code gpuemu_policy_json(gpuemu_context* context, char* to, size_t room, size_t* bytes);

/* Keeps a record of each call from now on, the first records_max of them. times: each call is
 * waited for and its time on the device is kept too. Several logs may run at once. */
gpuemu_code gpuemu_log_start(gpuemu_context* context, uint32_t times, uint32_t records_max,
                             gpuemu_log* log);
/* {"records": [...], "dropped": n}; a record has sequence, op, variant, why, inputs and outputs
 * (shapes), dtypes, stream, thread, captured, microseconds (null without times). */
gpuemu_code gpuemu_log_json(gpuemu_context* context, gpuemu_log log, char* to, size_t room,
                            size_t* bytes);
gpuemu_code gpuemu_log_stop(gpuemu_context* context, gpuemu_log log);

/* From now on ops are timed on the device and ranges on the host; with counters the emulator counts
 * what kernels do. Not from two threads at once. */
gpuemu_code gpuemu_profile_start(gpuemu_context* context, uint32_t counters);
/* Waits, and writes a Chrome trace, which opens in Perfetto, and statistics as JSON. NULL: not that
 * file. No other thread may be in gpuemu_op_call. */
gpuemu_code gpuemu_profile_stop(gpuemu_context* context, const char* trace_file,
                                const char* statistics_file);
/* The statistics of the last profile that was stopped, with "memory": begin, end, peaks inside of
 * it, allocations, frees, by_name (bytes held by name at the peak). */
gpuemu_code gpuemu_profile_json(gpuemu_context* context, char* to, size_t room, size_t* bytes);
/* A range of the calling thread; they nest. Without a profile they do nothing. */
void gpuemu_range_begin(gpuemu_context* context, const char* name);
void gpuemu_range_end(gpuemu_context* context);

/* Ops by name, once; the number is valid for this context. */
gpuemu_code gpuemu_op_find(gpuemu_context* context, const char* name, uint32_t* op);
uint32_t gpuemu_op_count(gpuemu_context* context);
/* Of the numbers 1 to gpuemu_op_count(); NULL for others, and for an op that was removed. */
const char* gpuemu_op_name(gpuemu_context* context, uint32_t op);
/* Operands, schema and variants of one op, in the order in which variants are tried. */
gpuemu_code gpuemu_op_json(gpuemu_context* context, uint32_t op, char* to, size_t room,
                           size_t* bytes);
/* An op of the caller, which kernels compute that are registered for it. */
gpuemu_code gpuemu_op_register(gpuemu_context* context, const gpuemu_op_declaration* declaration,
                               uint32_t* op);
/* With its kernels. Only of ops that were registered. */
gpuemu_code gpuemu_op_remove(gpuemu_context* context, uint32_t op);
/* A kernel of the caller, which later calls choose among those of the op: after variant and
 * policy by priority, then after those that come with gpuemu, then in the order of registering. A
 * capture that has begun does not see it. PTX is checked now, CUDA C++ when it is first needed, for
 * each combination of dtypes. Everything is copied but `user`. */
gpuemu_code gpuemu_kernel_register(gpuemu_context* context,
                                   const gpuemu_kernel_declaration* declaration,
                                   gpuemu_kernel* kernel);
/* Compiles and checks it for every combination of its dtypes. */
gpuemu_code gpuemu_kernel_compile(gpuemu_context* context, gpuemu_kernel kernel);
/* Later calls do not see it. Graphs that use it stay valid. */
gpuemu_code gpuemu_kernel_remove(gpuemu_context* context, gpuemu_kernel kernel);
/* Checks the call, chooses a kernel and loads it. Launches nothing. */
gpuemu_code gpuemu_op_prepare(gpuemu_context* context, const gpuemu_call* call);
/* Checks everything, chooses a kernel, launches it and returns. */
gpuemu_code gpuemu_op_call(gpuemu_context* context, const gpuemu_call* call);
/* The same for each of them, in order, up to the first that is refused, whose code it returns.
 * `done`, if not NULL: how many were issued. */
gpuemu_code gpuemu_op_calls(gpuemu_context* context, const gpuemu_call* const* calls,
                            uint32_t count, uint32_t* done);
/* As gpuemu_op_call, and waits: beside each output, what its elements would be without any
 * rounding. exact: for each output NULL, or room for as many as it has elements; nothing is written
 * for one that is not of floats. Outputs are contiguous. GPUEMU_UNSUPPORTED on a GPU, and where a
 * library computes. */
gpuemu_code gpuemu_op_call_exact(gpuemu_context* context, const gpuemu_call* call,
                                 gpuemu_exact* const* exact);
/* The text that a kernel of an op is loaded from: PTX of a built-in one, what was registered of
 * others. GPUEMU_UNSUPPORTED for a library. */
gpuemu_code gpuemu_variant_source(gpuemu_context* context, uint32_t op, const char* variant,
                                  char* to, size_t room, size_t* bytes);

/* Device memory. The content is undefined. */
gpuemu_code gpuemu_memory_allocate(gpuemu_context* context, size_t bytes, void** address);
/* Waits for all work. NULL is allowed. */
gpuemu_code gpuemu_memory_free(gpuemu_context* context, void* address);
/* Memory in the order of a stream: it is for the stream's later work, and free again behind the
 * work that `stream` was given before free_async, without a wait; work of other streams has to be
 * waited for by that stream first (gpuemu_event_wait). On a GPU it comes from a cache that the
 * context keeps; on the emulator each piece is an allocation of its own, so that its bounds are
 * checked, and free waits. gpuemu_memory_free takes it too, and waits. */
gpuemu_code gpuemu_memory_allocate_async(gpuemu_context* context, size_t bytes,
                                         gpuemu_stream stream, void** address);
/* Memory of a kind, GPUEMU_MEMORY_DEVICE and so on. Device memory is in the order of the stream, as
 * that of gpuemu_memory_allocate_async. Findings, statistics and errors show the name; NULL: none.
 * gpuemu_memory_free takes every kind. */
gpuemu_code gpuemu_memory_allocate_named(gpuemu_context* context, uint32_t kind, size_t bytes,
                                         gpuemu_stream stream, const char* name, void** address);
/* Only of device memory that belongs to a stream. NULL is allowed. */
gpuemu_code gpuemu_memory_free_async(gpuemu_context* context, void* address, gpuemu_stream stream);
/* Memory that somebody else has allocated, without a copy, for all that memory of the context is
 * used for, until it is released as often as it was adopted. flags: 1: its op calls may only read
 * it. The emulator takes memory of the host and checks exactly these bounds; its content counts as
 * written. A GPU takes memory that it reaches. The name is that of findings and errors; NULL: none.
 */
gpuemu_code gpuemu_memory_adopt(gpuemu_context* context, void* address, size_t bytes,
                                uint32_t flags, const char* name);
/* Waits. */
gpuemu_code gpuemu_memory_release(gpuemu_context* context, void* address);
/* Waits. GPUEMU_CORRUPTION names what was written beside live memory, with options.guard_bytes; the
 * emulator has reported it at its launch. */
gpuemu_code gpuemu_memory_check(gpuemu_context* context);
/* Gives unused parts of the cache back to the device until it has at most so many bytes. */
gpuemu_code gpuemu_memory_trim(gpuemu_context* context, size_t bytes);
/* Of the device, now. */
gpuemu_code gpuemu_memory_info(gpuemu_context* context, uint64_t* free_bytes,
                               uint64_t* total_bytes);
gpuemu_code gpuemu_memory_statistics_get(gpuemu_context* context,
                                         gpuemu_memory_statistics* statistics);
/* The peaks begin anew with what is allocated now. */
gpuemu_code gpuemu_memory_reset_peaks(gpuemu_context* context);
/* [["weights", 4096], ...]: the `count` largest allocations by name and bytes. */
gpuemu_code gpuemu_memory_largest_json(gpuemu_context* context, uint32_t count, char* to,
                                       size_t room, size_t* bytes);
/* In the order of the stream. Host memory must stay, unchanged, until that is done. */
gpuemu_code gpuemu_memory_upload(gpuemu_context* context, void* to, const void* from, size_t bytes,
                                 gpuemu_stream stream);
gpuemu_code gpuemu_memory_download(gpuemu_context* context, void* to, const void* from,
                                   size_t bytes, gpuemu_stream stream);
gpuemu_code gpuemu_memory_copy(gpuemu_context* context, void* to, const void* from, size_t bytes,
                               gpuemu_stream stream);
gpuemu_code gpuemu_memory_fill(gpuemu_context* context, void* to, uint8_t value, size_t bytes,
                               gpuemu_stream stream);

/* Lower priorities are more urgent. A non-blocking stream does not wait for the default stream. */
gpuemu_code gpuemu_stream_create(gpuemu_context* context, int32_t priority, uint32_t non_blocking,
                                 gpuemu_stream* stream);
/* A cudaStream_t that somebody else has made on the same GPU, as torch.cuda.Stream.cuda_stream is;
 * it has to stay. gpuemu_stream_destroy forgets it only. GPUEMU_UNSUPPORTED on the emulator. */
gpuemu_code gpuemu_stream_adopt(gpuemu_context* context, void* native, gpuemu_stream* stream);
/* The cudaStream_t. GPUEMU_UNSUPPORTED on the emulator. */
gpuemu_code gpuemu_stream_native(gpuemu_context* context, gpuemu_stream stream, void** native);
/* Does not wait: what was issued is still done. */
gpuemu_code gpuemu_stream_destroy(gpuemu_context* context, gpuemu_stream stream);
/* Waits. GPUEMU_LAUNCH when a kernel of the stream has faulted; the message says where. */
gpuemu_code gpuemu_stream_synchronize(gpuemu_context* context, gpuemu_stream stream);
/* 1 when everything that was issued is done, else 0. */
gpuemu_code gpuemu_stream_query(gpuemu_context* context, gpuemu_stream stream, uint32_t* done);
/* What 0 means on this thread; 0 is the default stream again. */
gpuemu_code gpuemu_stream_set_current(gpuemu_context* context, gpuemu_stream stream);

gpuemu_code gpuemu_event_create(gpuemu_context* context, gpuemu_event* event);
gpuemu_code gpuemu_event_destroy(gpuemu_context* context, gpuemu_event event);
gpuemu_code gpuemu_event_record(gpuemu_context* context, gpuemu_event event, gpuemu_stream stream);
/* Later work of the stream begins after the latest record of the event. */
gpuemu_code gpuemu_event_wait(gpuemu_context* context, gpuemu_event event, gpuemu_stream stream);
gpuemu_code gpuemu_event_synchronize(gpuemu_context* context, gpuemu_event event);
/* 1 when the latest record is reached, also when there was none, else 0. */
gpuemu_code gpuemu_event_query(gpuemu_context* context, gpuemu_event event, uint32_t* done);
gpuemu_code gpuemu_event_elapsed_ms(gpuemu_context* context, gpuemu_event from, gpuemu_event to,
                                    float* milliseconds);

/* From now on the stream's work is written down and not done. Not for the default stream. */
gpuemu_code gpuemu_capture_begin(gpuemu_context* context, gpuemu_stream stream);
/* What was written down, ready to be launched. Also after a failure the capture is over. */
gpuemu_code gpuemu_capture_end(gpuemu_context* context, gpuemu_stream stream, gpuemu_graph* graph);
/* The same addresses, the contents that memory has then. */
gpuemu_code gpuemu_graph_launch(gpuemu_context* context, gpuemu_graph graph, gpuemu_stream stream);
/* How many pieces of work it has. */
gpuemu_code gpuemu_graph_nodes(gpuemu_context* context, gpuemu_graph graph, uint64_t* nodes);
/* Waits, and frees the workspaces of the ops that were captured. */
gpuemu_code gpuemu_graph_destroy(gpuemu_context* context, gpuemu_graph graph);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming)
