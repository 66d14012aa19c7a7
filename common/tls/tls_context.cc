#include "common/tls/tls_context.h"

#include <cstring>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "common/tls/openssl_pointers.h"
#include "common/tls/secret_file.h"

namespace gpuemu {
namespace {

/// Returns the reason of libssl or the system for the file that was read last.
std::string last_reason() {
  const unsigned long first = ERR_peek_error(), last = ERR_peek_last_error();
  ERR_clear_error();
  if (ERR_SYSTEM_ERROR(first)) return std::strerror(ERR_GET_REASON(first));
  if (ERR_GET_LIB(last) == ERR_LIB_X509 && ERR_GET_REASON(last) == X509_R_KEY_VALUES_MISMATCH) {
    return "is not the key of the certificate";
  }
  const char* const reason = ERR_reason_error_string(last);
  return reason == nullptr ? "not a PEM file that can be read" : reason;
}

Error wrong_file(const std::string& option, const std::string& file) {
  return error(ErrorCode::InvalidArgument, "{}: {}: {}", option, file, last_reason());
}

Status use_key(SSL_CTX* context, const std::string& option, const std::string& file) {
  const std::string text = GPUEMU_TRY(read_secret(option, file));
  const BioPointer bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  // A key with a password is refused; no password is requested.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  const KeyPointer key(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr)
                           : nullptr);
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1) return wrong_file(option, file);
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::make(TlsSide side, const TlsFiles& files,
                                                           const std::string& prefix) {
  ERR_clear_error();
  const bool is_daemon = side == TlsSide::Daemon;
  ContextPointer context(SSL_CTX_new(is_daemon ? TLS_server_method() : TLS_client_method()));
  if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1) {
    return error(ErrorCode::Internal, "libssl: {}", last_reason());
  }
  SSL_CTX_set_options(context.get(),
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  if (SSL_CTX_load_verify_file(context.get(), files.ca.c_str()) != 1) {
    return wrong_file(prefix + "ca", files.ca);
  }
  if (SSL_CTX_use_certificate_chain_file(context.get(), files.cert.c_str()) != 1) {
    return wrong_file(prefix + "cert", files.cert);
  }
  GPUEMU_TRY(use_key(context.get(), prefix + "key", files.key));
  if (SSL_CTX_check_private_key(context.get()) != 1) return wrong_file(prefix + "key", files.key);
  if (is_daemon) {
    SSL_CTX_set_client_CA_list(context.get(), SSL_load_client_CA_file(files.ca.c_str()));
  }
  return std::shared_ptr<const TlsContext>(new TlsContext(side, context.release()));
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

}  // namespace gpuemu
