// Private to this folder: the members of the records of workers.def. See fields.h for the words.
// Written by tools/make_protocol.py from workers.def; edit that and run it again.
// clang-format off
#pragma once

#include "common/codec/fields.h"
#include "common/codec/fields_daemon.gen.h"
#include "common/protocol/workers.gen.h"

namespace gpuemu {

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
