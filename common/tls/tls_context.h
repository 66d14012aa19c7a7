// The identity of a side of a TLS connection, and the authority that it trusts.
#pragma once

#include <memory>
#include <string>

#include "common/base/result.h"

struct ssl_ctx_st;

namespace gpuemu {

enum class TlsSide { Daemon, Worker };

struct TlsFiles {
  std::string ca, cert, key;
};

/// TLS 1.2 or later; both sides present a certificate signed by `ca`. Immutable.
class TlsContext {
 public:
  /// InvalidArgument names the file and its option, `prefix` followed by "ca", "cert" or "key".
  static Result<std::shared_ptr<const TlsContext>> make(TlsSide side, const TlsFiles& files,
                                                        const std::string& prefix);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  TlsSide side() const { return side_; }
  ssl_ctx_st* get() const { return context_; }

 private:
  TlsContext(TlsSide side, ssl_ctx_st* context) : side_(side), context_(context) {}
  const TlsSide side_;
  ssl_ctx_st* const context_;
};

}  // namespace gpuemu
