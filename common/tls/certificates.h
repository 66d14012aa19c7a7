// A certificate authority, certificates of a daemon and of its workers, and their token, as files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu {

struct CertificateOptions {
  /// Names and addresses by which workers reach the daemon.
  std::vector<std::string> hosts;
  /// How long they are valid; below 1 they have expired already.
  int64_t days = 0;
};

/// "localhost", its addresses and the name of this machine.
std::vector<std::string> default_hosts();

/// Makes ca.pem, daemon.pem, daemon.key, worker.pem, worker.key and token in `folder`, which is
/// made with mode 0700 where it is missing; keys and token have mode 0600. The key of the authority
/// is kept nowhere. InvalidArgument where one of the files is there already, and nothing is written
/// then.
Status make_certificates(const std::filesystem::path& folder, const CertificateOptions& options);

}  // namespace gpuemu
