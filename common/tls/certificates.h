// Creates a certificate authority, certificates for a daemon and its workers, and their token, as
// files.
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
  /// Validity in days; below 1 they are already expired.
  int64_t days = 0;
};

/// Returns "localhost", its addresses and the name of this machine.
std::vector<std::string> default_hosts();

/// Creates ca.pem, daemon.pem, daemon.key, worker.pem, worker.key and token in `folder`, which is
/// created with mode 0700 if it is missing; keys and token have mode 0600. The key of the authority
/// is not stored. InvalidArgument, without writing anything, if one of the files exists.
Status make_certificates(const std::filesystem::path& folder, const CertificateOptions& options);

}  // namespace gpuemu
