// `--cluster` of commands: the cases run on the nodes of a Ray cluster, and everything that is
// found is kept and told here as if they had run on this machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/parse/command.h"
#include "cli/session/job.h"
#include "cli/session/session.h"

namespace gpuemu::cli {

struct ClusterOptions {
  std::string address;    ///< "": this machine alone.
  std::string resources;  ///< JSON: what each process on the cluster takes beside its core or GPU.

  bool is_wanted() const { return !address.empty(); }
};

/// --cluster and --cluster-resources.
void add_cluster(Command command, ClusterOptions& options);

/// InvalidArgument where other options of the command do not go with --cluster.
Status check_cluster(const ClusterOptions& options, const Session& session);

/// Runs `python -m gpuemu.cluster` with these words, and calls `on_result` for each result it
/// writes. REQUIRES: the daemon runs. Ctrl-C ends it with what is complete. InvalidArgument for
/// wrong options, Unavailable where it could not run.
Status run_on_cluster(Session& session, const ClusterOptions& options, const Config& config,
                      const std::vector<std::string>& words,
                      const std::function<void(JobResult)>& on_result);

}  // namespace gpuemu::cli
