// The option `--cluster` of commands: runs the cases on the nodes of a Ray cluster; all findings
// are stored and reported here as if they had run on this host.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/parse/command.h"
#include "cli/session/job.h"
#include "cli/session/session.h"

namespace gpuemu::cli {

struct ClusterOptions {
  std::string address;    ///< "": this host only.
  std::string resources;  ///< JSON with the resources that each process on the cluster takes
                          ///< besides its core or GPU.

  bool is_wanted() const { return !address.empty(); }
};

/// --cluster and --cluster-resources.
void add_cluster(Command command, ClusterOptions& options);

/// InvalidArgument if other options of the command cannot be combined with --cluster.
Status check_cluster(const ClusterOptions& options, const Session& session);

/// Runs `python -m gpuemu.cluster` with these arguments, and calls `on_result` for each result that
/// it writes. Ctrl-C ends it with the results so far. InvalidArgument for wrong options,
/// Unavailable if it could not run. REQUIRES: the daemon runs.
Status run_on_cluster(Session& session, const ClusterOptions& options, const Config& config,
                      const std::vector<std::string>& words,
                      const std::function<void(JobResult)>& on_result);

}  // namespace gpuemu::cli
