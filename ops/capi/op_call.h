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
/* Version of the library with this header, independent of that of the programs: 1.N has
 * interface N + 1. */
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

/* A device with its memory, streams, graphs, ops and kernels. */
typedef struct gpuemu_context gpuemu_context;
/* 0 is the calling thread's current stream: the default stream, unless the thread has set
 * another. */
typedef uint64_t gpuemu_stream;
/* Each thread's own stream, which always exists and waits for the default stream. */
#define GPUEMU_STREAM_PER_THREAD ((gpuemu_stream)2)
typedef uint64_t gpuemu_event;
typedef uint64_t gpuemu_graph;
/* Records of calls: gpuemu_log_start(). */
typedef uint64_t gpuemu_log;
/* A registered kernel; 0 is none. */
typedef uint64_t gpuemu_kernel;

typedef struct gpuemu_options {
  uint32_t struct_bytes;
  int32_t device;      /* Index of the GPU. */
  const char* backend; /* "auto", "cuda", "emulator"; NULL is "auto". */
  int32_t sm;          /* Emulator: the emulated architecture, such as 80; 0 is the default. */
  uint32_t threads;    /* Emulator: blocks run in parallel; 0 is one per core. */
  const char* folder; /* Stores compiled kernels and timings between processes; NULL: not stored. */
  const char* policy; /* A .toml or .json file, docs/reference/op-call.md; NULL: first supported. */
  /* Emulator: if not 0, streams proceed only when a call waits, in an order that this seed
   * determines, so that a missing gpuemu_event_wait shows within a few seeds. 0: in the order of
   * issue. */
  uint64_t schedule_seed;
  /* GPU: size in bytes of the guard on each side of memory from gpuemu_memory_allocate_async,
   * which must not be overwritten (gpuemu_memory_check); 0: none. The emulator checks every
   * access instead. */
  uint64_t guard_bytes;
  uint64_t memory_limit_bytes; /* 0: all of the device's memory. */
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
  uint32_t index;           /* Index among the devices of its backend. */
  uint32_t dtypes;          /* Bits 1 << gpuemu_dtype: types that its instructions support. */
  char driver_version[32];  /* "" without a driver. */
  char runtime_version[32]; /* CUDA runtime; "" without one. */
} gpuemu_device_info;

/* Kinds of memory. */
enum {
  GPUEMU_MEMORY_DEVICE = 0,
  GPUEMU_MEMORY_PINNED = 1, /* Page-locked host memory; kernels use the same address. */
  GPUEMU_MEMORY_MANAGED = 2 /* One address for the host and the device. */
};

/* Allocations of the context, as bytes and counts. Workspaces of ops are not included. */
typedef struct gpuemu_memory_statistics {
  uint32_t struct_bytes;
  uint64_t requested_bytes; /* Allocated device memory, as requested. */
  uint64_t allocated_bytes; /* The same with rounding and guards. */
  uint64_t reserved_bytes;  /* Obtained from the device. */
  uint64_t cached_bytes;    /* reserved_bytes - allocated_bytes */
  uint64_t peak_requested_bytes;
  uint64_t peak_reserved_bytes;
  uint64_t pinned_bytes;
  uint64_t managed_bytes;
  uint64_t adopted_bytes;
  uint64_t live; /* Allocations of all kinds: allocations - frees. */
  uint64_t allocations;
  uint64_t frees;
  uint64_t from_cache; /* Allocations served from the cache. */
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
  uint32_t op; /* From gpuemu_op_find(). */
  const gpuemu_tensor* inputs;
  const gpuemu_tensor* outputs;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t schema_id; /* 0, with no bytes: every attribute has its default. */
  uint32_t attribute_bytes;
  const void* attributes; /* Packed as the schema says: little-endian, no padding. */
  gpuemu_stream stream;
  const char* variant; /* Use only this variant; NULL: as the policy says. */
} gpuemu_call;

/* One element of an output as it would be without any rounding: high + low. bound: the largest
 * error that rounding may have caused in the computed element. known: 0 if no float instruction
 * computed it; the other members are then meaningless. */
typedef struct gpuemu_exact {
  double high;
  double low;
  double bound;
  uint32_t known;
  uint32_t unused;
} gpuemu_exact;

/* An attribute of a registered op or kernel. */
typedef struct gpuemu_field {
  const char* name;
  const char* dtype; /* An integer or float type of 32 or 64 bits: "int32", "float64" */
  double fallback;   /* The default value. */
  uint32_t has_fallback;
} gpuemu_field;

typedef struct gpuemu_op_declaration {
  uint32_t struct_bytes;
  uint32_t in_place; /* An output may be the same tensor as an input. */
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

/* A call as passed to callbacks of a kernel. Valid only during the callback. */
typedef struct gpuemu_case {
  uint32_t struct_bytes;
  int32_t sm;
  const gpuemu_tensor* inputs;
  const gpuemu_tensor* outputs;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t attribute_bytes; /* Size of the given attributes; the rest have their defaults. */
  uint32_t unused;
  const void* attributes;
  void* workspace; /* For plan; NULL if there is none. */
} gpuemu_case;

/* One launch that plan requests. */
typedef struct gpuemu_launch {
  uint32_t entry; /* Index into the declared launches: their `entry`. */
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t shared_bytes;
  uint32_t arg_count;     /* At most GPUEMU_LAUNCH_ARGS_MAX. */
  uint32_t arg_bytes[24]; /* 4 or 8 each. */
  uint64_t args[24];      /* The value is in the first bytes. */
} gpuemu_launch;
enum { GPUEMU_LAUNCH_ARGS_MAX = 24, GPUEMU_LAUNCHES_MAX = 6 };

typedef struct gpuemu_kernel_declaration {
  uint32_t struct_bytes;
  uint32_t op;
  const char* name;   /* Unique among the kernels of the op. */
  const char* source; /* CUDA C++ or PTX, or the path of a .cu or .ptx file. */
  const gpuemu_launch_declaration* launches;
  const char* types;     /* "T: float32, float16; I: int32"; letters that it lacks: every float. */
  const char* supports;  /* An expression, 0 if the kernel does not support the call; NULL: always
                            supported. */
  const char* workspace; /* Bytes of an operand "workspace"; NULL: none. */
  const gpuemu_field*
      fields; /* The kernel's own attributes, after those of the op, each with a default. */
  uint32_t launch_count;
  uint32_t field_count;
  int32_t priority; /* Higher is tried first. */
  int32_t sm_min;
  uint32_t strided; /* Supports any strides; otherwise every tensor is contiguous. */
  uint32_t
      wide; /* Uses 64-bit indices; otherwise each tensor has fewer than 2^31 - 1024 elements. */
  /* Optional callbacks; NULL: the expressions decide. Called by the
   * thread that calls the op; they must not use the context. supports_call returns NULL if the
   * kernel supports the call, otherwise the reason, valid until the thread's next call. plan
   * writes the launches and returns their number, at most GPUEMU_LAUNCHES_MAX; 0: it failed. */
  const char* (*supports_call)(void* user, const gpuemu_case* asked);
  uint32_t (*plan)(void* user, const gpuemu_case* asked, gpuemu_launch* launches);
  void* user;
} gpuemu_kernel_declaration;

/* The functions that libgpuemu.so exports. */
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* The version of this header that the library implements. */
uint32_t gpuemu_abi_version(void);
/* Returns the error of this thread's last failed call; valid until its next call. */
const char* gpuemu_last_error(void);
/* Returns a name such as "GPUEMU_INVALID_ARGUMENT". */
const char* gpuemu_code_name(gpuemu_code code);
/* Returns GPUEMU_LIBRARY_VERSION of the library's own header. */
const char* gpuemu_version(void);

/* Functions with (to, room, bytes) write a text with a terminating 0 and store its size,
 * including the 0, in *bytes. If `room` is too small, they write nothing, set *bytes and return
 * GPUEMU_RESOURCE_EXHAUSTED. */

/* Writes {"library": ..., "abi": 2, "driver": ..., "cuda_runtime": ..., "cupti": ..., "cublas":
 * ...}; "" for libraries that are not installed. */
gpuemu_code gpuemu_versions_json(char* to, size_t room, size_t* bytes);

/* Returns a name such as "float32". */
gpuemu_code gpuemu_dtype_name(int32_t dtype, const char** name);
gpuemu_code gpuemu_dtype_bytes(int32_t dtype, uint32_t* bytes);
uint32_t gpuemu_dtype_count(void);

/* List the devices that can be opened, GPUs first, without opening them. backend: "cuda" or
 * "emulator"; NULL: both. */
gpuemu_code gpuemu_device_count(const char* backend, uint32_t* count);
gpuemu_code gpuemu_device_at(const char* backend, uint32_t number, gpuemu_device_info* info);

gpuemu_code gpuemu_context_create(const gpuemu_options* options, gpuemu_context** context);
/* Waits for all work. NULL is allowed. */
void gpuemu_context_destroy(gpuemu_context* context);
gpuemu_code gpuemu_context_device(gpuemu_context* context, gpuemu_device_info* info);
/* Waits for all streams. GPUEMU_LAUNCH if a kernel has faulted. */
gpuemu_code gpuemu_context_synchronize(gpuemu_context* context);
/* Emulator: sets the checks for kernels from now on: a comma-separated list of names of
 * validation.sanitize; "": none; NULL: the defaults. */
gpuemu_code gpuemu_checks_set(gpuemu_context* context, const char* names);
/* Writes the faults of kernels since the last call, at most 64. Always empty on a GPU. */
gpuemu_code gpuemu_findings_json(gpuemu_context* context, char* to, size_t room, size_t* bytes);
/* Sets a callback for each op: "matmul: tiled, first supported; a [2, 3], ...; T = float32; 12.5
 * us". Every op call then waits for its end. NULL removes the callback; it may still be called
 * for calls that other threads have begun. The thread that called the op calls the callback,
 * which may use this context. */
gpuemu_code gpuemu_context_set_log(gpuemu_context* context,
                                   void (*log)(void* user, const char* line), void* user);

/* Sets the policy file by which later calls choose kernels, like options.policy; NULL: first
 * supported. A file that is refused changes nothing. */
gpuemu_code gpuemu_context_set_policy(gpuemu_context* context, const char* policy);

/* The same from JSON text: {"strategy": ..., "prefer": {...}}. */
gpuemu_code gpuemu_policy_set(gpuemu_context* context, const char* json);
gpuemu_code gpuemu_policy_json(gpuemu_context* context, char* to, size_t room, size_t* bytes);

/* Records each call from now on, up to records_max calls. times: waits for each call and records
 * its time on the device as well. Several logs may run at the same time. */
gpuemu_code gpuemu_log_start(gpuemu_context* context, uint32_t times, uint32_t records_max,
                             gpuemu_log* log);
/* {"records": [...], "dropped": n}; a record has sequence, op, variant, why, inputs and outputs
 * (shapes), dtypes, stream, thread, captured, microseconds (null without times). */
gpuemu_code gpuemu_log_json(gpuemu_context* context, gpuemu_log log, char* to, size_t room,
                            size_t* bytes);
gpuemu_code gpuemu_log_stop(gpuemu_context* context, gpuemu_log log);

/* Starts to time ops on the device and ranges on the host; with counters, the emulator also
 * counts the work of kernels. Must not be called by two threads at once. */
gpuemu_code gpuemu_profile_start(gpuemu_context* context, uint32_t counters);
/* Waits for all work, then writes a Chrome trace, which Perfetto can open, and statistics as
 * JSON. NULL: that file is not written. No other thread may be in gpuemu_op_call. */
gpuemu_code gpuemu_profile_stop(gpuemu_context* context, const char* trace_file,
                                const char* statistics_file);
/* Writes the statistics of the last stopped profile, with "memory": begin, end, peaks during the
 * profile, allocations, frees, by_name (bytes by name at the peak). */
gpuemu_code gpuemu_profile_json(gpuemu_context* context, char* to, size_t room, size_t* bytes);
/* Mark a range of the calling thread; ranges may be nested. Without a profile they do nothing. */
void gpuemu_range_begin(gpuemu_context* context, const char* name);
void gpuemu_range_end(gpuemu_context* context);

/* Looks an op up by name; its number stays valid for this context. */
gpuemu_code gpuemu_op_find(gpuemu_context* context, const char* name, uint32_t* op);
uint32_t gpuemu_op_count(gpuemu_context* context);
/* Returns the name of op 1 to gpuemu_op_count(); NULL for other numbers, and for a removed op. */
const char* gpuemu_op_name(gpuemu_context* context, uint32_t op);
/* Writes operands, schema and variants of one op; the variants in the order in which they are
 * tried. */
gpuemu_code gpuemu_op_json(gpuemu_context* context, uint32_t op, char* to, size_t room,
                           size_t* bytes);
/* Registers an op of the caller; kernels must be registered for it. */
gpuemu_code gpuemu_op_register(gpuemu_context* context, const gpuemu_op_declaration* declaration,
                               uint32_t* op);
/* Removes a registered op with its kernels. Built-in ops cannot be removed. */
gpuemu_code gpuemu_op_remove(gpuemu_context* context, uint32_t op);
/* Registers a kernel of the caller for an op. If neither variant nor policy decides, later calls
 * choose by priority, then prefer built-in kernels, then those registered first. A capture in
 * progress does not use the new kernel. PTX is checked now, CUDA C++ when it is first needed,
 * for each combination of dtypes. Everything except `user` is copied. */
gpuemu_code gpuemu_kernel_register(gpuemu_context* context,
                                   const gpuemu_kernel_declaration* declaration,
                                   gpuemu_kernel* kernel);
/* Compiles and checks a registered kernel for every combination of its dtypes. */
gpuemu_code gpuemu_kernel_compile(gpuemu_context* context, gpuemu_kernel kernel);
/* Removes a registered kernel from the choice of later calls. Graphs that use it stay valid. */
gpuemu_code gpuemu_kernel_remove(gpuemu_context* context, gpuemu_kernel kernel);
/* Checks the call, chooses a kernel and loads it. Launches nothing. */
gpuemu_code gpuemu_op_prepare(gpuemu_context* context, const gpuemu_call* call);
/* Checks the call, chooses a kernel, launches it and returns without waiting. */
gpuemu_code gpuemu_op_call(gpuemu_context* context, const gpuemu_call* call);
/* Issues several calls in order, up to the first that is refused, whose code it returns. Stores
 * the number of issued calls in `done`, unless that is NULL. */
gpuemu_code gpuemu_op_calls(gpuemu_context* context, const gpuemu_call* const* calls,
                            uint32_t count, uint32_t* done);
/* Numbers the thread's next calls of this context: first, first + 1, ... On the emulator
 * the findings of their kernels have the number as "call", also if a graph launches them. 0: no
 * numbers. */
gpuemu_code gpuemu_op_tag(gpuemu_context* context, uint64_t first);
/* Like gpuemu_op_call, but waits, and also computes each output's elements as they would be
 * without any rounding. exact: for each output NULL, or an array with one entry per element;
 * nothing is written for outputs that are not floats. Outputs must be contiguous.
 * GPUEMU_UNSUPPORTED on a GPU, and for ops that a library computes. */
gpuemu_code gpuemu_op_call_exact(gpuemu_context* context, const gpuemu_call* call,
                                 gpuemu_exact* const* exact);
/* Writes the text that a kernel of an op is loaded from: PTX for built-in kernels, the
 * registered source for others. GPUEMU_UNSUPPORTED for a library. */
gpuemu_code gpuemu_variant_source(gpuemu_context* context, uint32_t op, const char* variant,
                                  char* to, size_t room, size_t* bytes);

/* Allocates device memory with undefined contents. */
gpuemu_code gpuemu_memory_allocate(gpuemu_context* context, size_t bytes, void** address);
/* Waits for all work. NULL is allowed. */
gpuemu_code gpuemu_memory_free(gpuemu_context* context, void* address);
/* Allocates memory in stream order: the stream's later work may use it. gpuemu_memory_free_async
 * frees it without waiting, after the work issued so far to the stream that it is given; if
 * other streams use the memory, that stream must wait for them first (gpuemu_event_wait). On a
 * GPU the memory comes from a cache of the context. On the emulator each piece is a separate
 * allocation, so that its bounds are checked, and freeing waits. gpuemu_memory_free also accepts
 * it, and waits. */
gpuemu_code gpuemu_memory_allocate_async(gpuemu_context* context, size_t bytes,
                                         gpuemu_stream stream, void** address);
/* Allocates memory of a kind such as GPUEMU_MEMORY_DEVICE. Device memory is in stream order, as
 * from gpuemu_memory_allocate_async. Findings, statistics and errors show the name; NULL: none.
 * gpuemu_memory_free accepts every kind. */
gpuemu_code gpuemu_memory_allocate_named(gpuemu_context* context, uint32_t kind, size_t bytes,
                                         gpuemu_stream stream, const char* name, void** address);
/* Only for device memory allocated in stream order. NULL is allowed. */
gpuemu_code gpuemu_memory_free_async(gpuemu_context* context, void* address, gpuemu_stream stream);
/* Makes memory that the caller allocated usable like memory of the context, without a copy,
 * until it is released as many times as it was adopted. flags: 1: op calls may only read it. The
 * emulator accepts host memory and checks exactly these bounds; the contents count as
 * initialized. A GPU accepts memory that it can access. Findings and errors show the name; NULL:
 * none. */
gpuemu_code gpuemu_memory_adopt(gpuemu_context* context, void* address, size_t bytes,
                                uint32_t flags, const char* name);
/* Waits. */
gpuemu_code gpuemu_memory_release(gpuemu_context* context, void* address);
/* Waits for all work. With options.guard_bytes, GPUEMU_CORRUPTION names allocations whose guards
 * were overwritten; the emulator reports such accesses at their launch. */
gpuemu_code gpuemu_memory_check(gpuemu_context* context);
/* Returns unused parts of the cache to the device until at most `bytes` are reserved. */
gpuemu_code gpuemu_memory_trim(gpuemu_context* context, size_t bytes);
/* Returns the current memory of the device. */
gpuemu_code gpuemu_memory_info(gpuemu_context* context, uint64_t* free_bytes,
                               uint64_t* total_bytes);
gpuemu_code gpuemu_memory_statistics_get(gpuemu_context* context,
                                         gpuemu_memory_statistics* statistics);
/* Resets the peaks to the current values. */
gpuemu_code gpuemu_memory_reset_peaks(gpuemu_context* context);
/* Writes [["weights", 4096], ...]: name and bytes of the `count` largest allocations. */
gpuemu_code gpuemu_memory_largest_json(gpuemu_context* context, uint32_t count, char* to,
                                       size_t room, size_t* bytes);
/* Copies and fills are in stream order. Host memory must stay valid and unchanged until they are
 * done. */
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
/* Makes a stream from a cudaStream_t of the same GPU that the caller owns, such as
 * torch.cuda.Stream.cuda_stream, and must keep alive. gpuemu_stream_destroy does not destroy the
 * cudaStream_t. GPUEMU_UNSUPPORTED on the emulator. */
gpuemu_code gpuemu_stream_adopt(gpuemu_context* context, void* native, gpuemu_stream* stream);
/* Returns the cudaStream_t. GPUEMU_UNSUPPORTED on the emulator. */
gpuemu_code gpuemu_stream_native(gpuemu_context* context, gpuemu_stream stream, void** native);
/* Does not wait: work that was issued is still executed. */
gpuemu_code gpuemu_stream_destroy(gpuemu_context* context, gpuemu_stream stream);
/* Waits for the stream. GPUEMU_LAUNCH if a kernel of the stream has faulted; the message says
 * where. */
gpuemu_code gpuemu_stream_synchronize(gpuemu_context* context, gpuemu_stream stream);
/* Sets *done to 1 if all issued work is done, otherwise to 0. */
gpuemu_code gpuemu_stream_query(gpuemu_context* context, gpuemu_stream stream, uint32_t* done);
/* Sets the current stream of this thread, which is what stream 0 means; 0 restores the default
 * stream. */
gpuemu_code gpuemu_stream_set_current(gpuemu_context* context, gpuemu_stream stream);

gpuemu_code gpuemu_event_create(gpuemu_context* context, gpuemu_event* event);
gpuemu_code gpuemu_event_destroy(gpuemu_context* context, gpuemu_event event);
gpuemu_code gpuemu_event_record(gpuemu_context* context, gpuemu_event event, gpuemu_stream stream);
/* Makes later work of the stream wait for the latest record of the event. */
gpuemu_code gpuemu_event_wait(gpuemu_context* context, gpuemu_event event, gpuemu_stream stream);
gpuemu_code gpuemu_event_synchronize(gpuemu_context* context, gpuemu_event event);
/* Sets *done to 1 if the latest record has been reached or there is none, otherwise to 0. */
gpuemu_code gpuemu_event_query(gpuemu_context* context, gpuemu_event event, uint32_t* done);
gpuemu_code gpuemu_event_elapsed_ms(gpuemu_context* context, gpuemu_event from, gpuemu_event to,
                                    float* milliseconds);

/* Starts recording the stream's work instead of executing it. Not for the default stream. */
gpuemu_code gpuemu_capture_begin(gpuemu_context* context, gpuemu_stream stream);
/* Ends the capture and returns the recorded work as a graph. The capture also ends on failure. */
gpuemu_code gpuemu_capture_end(gpuemu_context* context, gpuemu_stream stream, gpuemu_graph* graph);
/* Executes the graph with the recorded addresses and the current contents of memory. */
gpuemu_code gpuemu_graph_launch(gpuemu_context* context, gpuemu_graph graph, gpuemu_stream stream);
/* Returns the number of nodes in the graph. */
gpuemu_code gpuemu_graph_nodes(gpuemu_context* context, gpuemu_graph graph, uint64_t* nodes);
/* Waits, and frees the workspaces of the captured ops. */
gpuemu_code gpuemu_graph_destroy(gpuemu_context* context, gpuemu_graph graph);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
// NOLINTEND(readability-identifier-naming)
