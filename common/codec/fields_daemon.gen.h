// Private to this folder: the members of the records of daemon.def. See fields.h for the words.
// Written by tools/make_protocol.py from daemon.def; edit that and run it again.
// clang-format off
#pragma once

#include "common/codec/fields.h"
#include "common/protocol/daemon.gen.h"

namespace gpuemu {

template <typename V, Is<DeviceInfo> R>
void fields(V& v, R& r) {
  v.required("name", r.name);
  v.required("backend", r.backend);
  v.optional("architecture", r.architecture);
  v.optional("memory_bytes", r.memory_bytes);
  v.optional("multiprocessors", r.multiprocessors);
  v.extra("index", r.index);
  v.extra("memory_free_bytes", r.memory_free_bytes);
  v.extra("shared_bytes_per_block", r.shared_bytes_per_block);
  v.extra("shared_bytes_per_multiprocessor", r.shared_bytes_per_multiprocessor);
  v.extra("registers_per_block", r.registers_per_block);
  v.extra("registers_per_multiprocessor", r.registers_per_multiprocessor);
  v.extra("threads_per_multiprocessor", r.threads_per_multiprocessor);
  v.extra("driver_version", r.driver_version);
  v.extra("runtime_version", r.runtime_version);
  v.extra("dtypes", r.dtypes);
  v.extra("note", r.note);
}

template <typename V, Is<ConfigSetting> R>
void fields(V& v, R& r) {
  v.required("key", r.key);
  v.required("value", r.value);
  v.optional("origin", r.origin);
}

template <typename V, Is<ProjectInfo> R>
void fields(V& v, R& r) {
  v.required("id", r.id);
  v.required("path", r.path);
  v.required("name", r.name);
  v.required("open", r.open);
  v.required("ops", r.ops);
  v.required("results", r.results);
  v.required("failures", r.failures);
  v.required("bytes", r.bytes);
  v.required("last_used", r.last_used);
  v.extra("user", r.user);
}

template <typename V, Is<RemoteWorkerInfo> R>
void fields(V& v, R& r) {
  v.required("worker_id", r.worker_id);
  v.required("host", r.host);
  v.required("state", r.state);
  v.required("attempts", r.attempts);
  v.required("lost", r.lost);
  v.required("connected", r.connected);
  v.required("pid", r.pid);
  v.required("version", r.version);
  v.required("device", r.device);
}

template <typename V, Is<WorkerRegisterRequest> R>
void fields(V& v, R& r) {
  v.required("worker_id", r.worker_id);
  v.required("version", r.version);
  v.required("worker_protocol", r.worker_protocol);
  v.required("hostname", r.hostname);
  v.required("pid", r.pid);
  v.required("device", r.device);
  v.required("token", r.token);
}

template <typename V, Is<WorkerAcceptedReply> R>
void fields(V& v, R& r) {
  v.required("heartbeat_ms", r.heartbeat_ms);
  v.required("lost_after_ms", r.lost_after_ms);
}

}  // namespace gpuemu
