// Private to this folder: the members of the records of storage.def. See fields.h for the words.
// Written by tools/make_protocol.py from storage.def; edit that and run it again.
// clang-format off
#pragma once

#include "common/codec/fields.h"
#include "common/codec/fields_artifacts.gen.h"
#include "common/protocol/storage.gen.h"

namespace gpuemu {

template <typename V, Is<StoredOfProject> R>
void fields(V& v, R& r) {
  v.required("id", r.id);
  v.required("name", r.name);
  v.required("path", r.path);
  v.required("passing", r.passing);
  v.required("failures", r.failures);
  v.required("artifacts", r.artifacts);
  v.required("artifact_history", r.artifact_history);
  v.required("baselines", r.baselines);
  v.required("corpus", r.corpus);
  v.required("runs", r.runs);
  v.required("bytes", r.bytes);
  v.extra("bytes_by_kind", r.bytes_by_kind);
  v.extra("user", r.user);
}

template <typename V, Is<PrunedRecords> R>
void fields(V& v, R& r) {
  v.required("passing", r.passing);
  v.required("failures", r.failures);
  v.required("artifacts", r.artifacts);
  v.required("runs", r.runs);
}

template <typename V, Is<FileProblem> R>
void fields(V& v, R& r) {
  v.required("name", r.name);
  v.required("problem", r.problem);
}

template <typename V, Is<StorageClaimedReply> R>
void fields(V& v, R& r) {
  v.required("dry_run", r.dry_run);
  v.required("results", r.results);
  v.required("failures", r.failures);
  v.required("baselines", r.baselines);
  v.required("artifacts", r.artifacts);
  v.required("corpus", r.corpus);
}

template <typename V, Is<StorageStatusReply> R>
void fields(V& v, R& r) {
  v.required("path", r.path);
  v.required("schema_version", r.schema_version);
  v.required("bytes_on_disk", r.bytes_on_disk);
  v.required("pruned", r.pruned);
  v.required("damaged", r.damaged);
  v.required("projects", r.projects);
  v.extra("last_prune", r.last_prune);
}

template <typename V, Is<StoragePrunedReply> R>
void fields(V& v, R& r) {
  v.required("dry_run", r.dry_run);
  v.required("removed", r.removed);
  v.required("bytes_freed", r.bytes_freed);
}

template <typename V, Is<StorageReportReply> R>
void fields(V& v, R& r) {
  v.required("state", r.state);
  v.required("expected", r.expected);
  v.required("readable", r.readable);
  v.required("lost", r.lost);
  v.required("files", r.files);
  v.extra("kept_as", r.kept_as);
}

template <typename V, Is<StorageCompactedReply> R>
void fields(V& v, R& r) {
  v.required("bytes_freed", r.bytes_freed);
  v.required("bytes_on_disk", r.bytes_on_disk);
}

template <typename V, Is<StoreArtifactRequest> R>
void fields(V& v, R& r) {
  v.optional("kernel_name", r.kernel_name);
  v.required("metrics", r.metrics);
}

template <typename V, Is<StoreArtifactBaselineRequest> R>
void fields(V& v, R& r) {
  v.required("tag", r.tag);
  v.extra("kernels", r.kernels);
}

template <typename V, Is<DiffArtifactBaselineRequest> R>
void fields(V& v, R& r) {
  v.required("tag", r.tag);
  v.extra("baseline", r.baseline);
  v.extra("kernels", r.kernels);
}

template <typename V, Is<GetArtifactRequest> R>
void fields(V& v, R& r) {
  v.required("kernel_name", r.kernel_name);
  v.extra("timestamp", r.timestamp);
}

template <typename V, Is<ListArtifactsRequest> R>
void fields(V& v, R& r) {
  v.extra("history", r.history);
  v.extra("kernel_name", r.kernel_name);
  v.extra("limit", r.limit);
}

template <typename V, Is<StorageClaimRequest> R>
void fields(V& v, R& r) {
  v.extra("ops", r.ops);
  v.extra("all", r.all);
  v.extra("dry_run", r.dry_run);
}

template <typename V, Is<StorageStatusRequest> R>
void fields(V& v, R& r) {
  v.extra("kinds", r.kinds);
}

template <typename V, Is<StoragePruneRequest> R>
void fields(V& v, R& r) {
  v.extra("passing", r.passing);
  v.extra("failures", r.failures);
  v.extra("artifacts", r.artifacts);
  v.extra("runs", r.runs);
  v.extra("op", r.op);
  v.extra("older_than", r.older_than);
  v.extra("keep", r.keep);
  v.extra("bytes", r.bytes);
  v.extra("dry_run", r.dry_run);
}

template <typename V, Is<StorageVerifyRequest> R>
void fields(V&, R&) {}

template <typename V, Is<StorageBackupRequest> R>
void fields(V& v, R& r) {
  v.required("path", r.path);
}

template <typename V, Is<StorageCompactRequest> R>
void fields(V&, R&) {}

}  // namespace gpuemu
