// Private to this folder: the members of the records of sessions.def. See fields.h for the words.
// Written by tools/make_protocol.py from sessions.def; edit that and run it again.
// clang-format off
#pragma once

#include "common/codec/fields.h"
#include "common/protocol/sessions.gen.h"

namespace gpuemu {

template <typename V, Is<SessionLimits> R>
void fields(V& v, R& r) {
  v.optional("memory_limit_mb", r.memory_limit_mb);
  v.required("queue_max", r.queue_max);
  v.optional("time_limit_s", r.time_limit_s);
  v.optional("lease_ms", r.lease_ms);
}

template <typename V, Is<SessionInfo> R>
void fields(V& v, R& r) {
  v.required("name", r.name);
  v.required("user", r.user);
  v.required("pid", r.pid);
  v.required("project", r.project);
  v.required("weight", r.weight);
  v.required("class", r.session_class);
  v.required("connections", r.connections);
  v.required("opened", r.opened);
  v.required("device_ms", r.device_ms);
  v.required("running", r.running);
  v.required("waiting", r.waiting);
  v.required("memory_bytes", r.memory_bytes);
  v.required("limits", r.limits);
}

template <typename V, Is<TopDevice> R>
void fields(V& v, R& r) {
  v.required("index", r.index);
  v.required("name", r.name);
  v.required("worker_id", r.worker_id);
  v.required("host", r.host);
  v.required("busy", r.busy);
  v.required("queue", r.queue);
  v.required("memory_used_bytes", r.memory_used_bytes);
  v.required("memory_bytes", r.memory_bytes);
  v.optional("session", r.session);
  v.extra("state", r.state);
  v.extra("attempts", r.attempts);
}

template <typename V, Is<JobInfo> R>
void fields(V& v, R& r) {
  v.required("job_id", r.job_id);
  v.required("project", r.project);
  v.required("session", r.session);
  v.required("request", r.request);
  v.required("state", r.state);
  v.required("done", r.done);
  v.required("total", r.total);
  v.extra("user", r.user);
}

template <typename V, Is<SessionOpenedReply> R>
void fields(V& v, R& r) {
  v.required("session", r.session);
  v.required("name", r.name);
  v.required("weight", r.weight);
  v.required("class", r.session_class);
  v.required("limits", r.limits);
}

template <typename V, Is<SessionInfoReply> R>
void fields(V& v, R& r) {
  fields(v, r.info);
}

template <typename V, Is<SessionsReply> R>
void fields(V& v, R& r) {
  v.required("sessions", r.sessions);
}

template <typename V, Is<TopReply> R>
void fields(V& v, R& r) {
  v.required("time", r.time);
  v.required("devices", r.devices);
  v.required("sessions", r.sessions);
  v.required("jobs", r.jobs);
}

template <typename V, Is<JobsReply> R>
void fields(V& v, R& r) {
  v.required("jobs", r.jobs);
}

template <typename V, Is<OpenSessionRequest> R>
void fields(V& v, R& r) {
  v.required("name", r.name);
  v.extra("weight", r.weight);
  v.extra("class", r.session_class);
  v.extra("memory_limit_mb", r.memory_limit_mb);
  v.extra("queue_max", r.queue_max);
  v.extra("time_limit_s", r.time_limit_s);
  v.extra("lease_ms", r.lease_ms);
  v.extra("token", r.token);
}

template <typename V, Is<CloseSessionRequest> R>
void fields(V& v, R& r) {
  v.extra("session", r.session);
  v.extra("name", r.name);
}

template <typename V, Is<SetSessionRequest> R>
void fields(V& v, R& r) {
  v.extra("session", r.session);
  v.extra("name", r.name);
  v.extra("weight", r.weight);
  v.extra("class", r.session_class);
  v.extra("memory_limit_mb", r.memory_limit_mb);
  v.extra("queue_max", r.queue_max);
  v.extra("time_limit_s", r.time_limit_s);
  v.extra("lease_ms", r.lease_ms);
}

template <typename V, Is<ListSessionsRequest> R>
void fields(V&, R&) {}

template <typename V, Is<TopRequest> R>
void fields(V&, R&) {}

template <typename V, Is<JobListRequest> R>
void fields(V&, R&) {}

}  // namespace gpuemu
