// Creates P-256 keys and version 3 certificates that strict verifiers accept.
#include "common/tls/certificates.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/unique_fd.h"
#include "common/tls/openssl_pointers.h"

namespace gpuemu {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFiles[] = {"ca.pem",     "daemon.pem", "daemon.key",
                                  "worker.pem", "worker.key", "token"};
constexpr size_t kSerialBytes = 16, kTokenBytes = 32;
constexpr time_t kDaySeconds = 86'400;
/// Clocks of other machines may be slow.
constexpr time_t kClockSeconds = 3'600;

struct Identity {
  KeyPointer key;
  CertificatePointer certificate;
};

struct Wanted {
  std::string name;
  std::vector<std::pair<int, std::string>> extensions;  ///< NID and value, in OpenSSL's notation.
};

Error no_certificate(const char* what) {
  return error(ErrorCode::Internal, "libcrypto cannot make a certificate: {}", what);
}

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

std::string alternative_names(const std::vector<std::string>& hosts) {
  std::string names;
  for (const std::string& host : hosts) {
    names += (names.empty() ? "" : ",") + std::string(is_address(host) ? "IP:" : "DNS:") + host;
  }
  return names;
}

Status add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const ExtensionPointer extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return no_certificate(value.c_str());
  }
  return ok_status();
}

Status set_serial(X509* certificate) {
  std::array<unsigned char, kSerialBytes> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return no_certificate("random bytes");
  bytes[0] &= 0x7f;  // Serial numbers are positive.
  const std::unique_ptr<BIGNUM, Free<BN_free>> number(
      BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  if (!number || BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) == nullptr) {
    return no_certificate("serial number");
  }
  return ok_status();
}

Status set_times(X509* certificate, int64_t days) {
  const time_t now = std::time(nullptr);
  const time_t end = now + days * kDaySeconds;
  const time_t begin = std::min(now, end - kDaySeconds) - kClockSeconds;
  if (ASN1_TIME_set(X509_getm_notBefore(certificate), begin) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(certificate), end) == nullptr) {
    return no_certificate("time");
  }
  return ok_status();
}

/// Signs with `issuer`; self-signed if it is null.
Result<Identity> make_identity(const Wanted& wanted, int64_t days, const Identity* issuer) {
  Identity made{KeyPointer(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256")),
                CertificatePointer(X509_new())};
  X509* const certificate = made.certificate.get();
  if (!made.key || certificate == nullptr || X509_set_version(certificate, X509_VERSION_3) != 1 ||
      X509_set_pubkey(certificate, made.key.get()) != 1) {
    return no_certificate("key");
  }
  GPUEMU_TRY(set_serial(certificate));
  GPUEMU_TRY(set_times(certificate, days));
  X509_NAME* const subject = X509_get_subject_name(certificate);
  const auto* text = reinterpret_cast<const unsigned char*>(wanted.name.c_str());
  X509* const signer = issuer == nullptr ? certificate : issuer->certificate.get();
  if (X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, text, -1, -1, 0) != 1 ||
      X509_set_issuer_name(certificate, X509_get_subject_name(signer)) != 1) {
    return no_certificate("name");
  }
  GPUEMU_TRY(add_extension(certificate, signer, NID_subject_key_identifier, "hash"));
  GPUEMU_TRY(add_extension(certificate, signer, NID_authority_key_identifier, "keyid"));
  for (const auto& [kind, value] : wanted.extensions) {
    GPUEMU_TRY(add_extension(certificate, signer, kind, value));
  }
  EVP_PKEY* const key = issuer == nullptr ? made.key.get() : issuer->key.get();
  if (X509_sign(certificate, key, EVP_sha256()) == 0) return no_certificate("signature");
  return made;
}

Wanted leaf(const std::string& name, const char* usage) {
  return {name,
          {{NID_basic_constraints, "critical,CA:FALSE"},
           {NID_key_usage, "critical,digitalSignature"},
           {NID_ext_key_usage, usage}}};
}

Result<std::string> text_of(const BioPointer& bio, int written) {
  char* data = nullptr;
  const long bytes = bio && written == 1 ? BIO_get_mem_data(bio.get(), &data) : 0;
  if (bytes <= 0) return no_certificate("PEM");
  return std::string(data, static_cast<size_t>(bytes));
}

Result<std::string> pem_of(X509* certificate) {
  const BioPointer bio(BIO_new(BIO_s_mem()));
  return text_of(bio, bio ? PEM_write_bio_X509(bio.get(), certificate) : 0);
}

Result<std::string> pem_of(EVP_PKEY* key) {
  const BioPointer bio(BIO_new(BIO_s_mem()));
  return text_of(bio, bio ? PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0,
                                                          nullptr, nullptr)
                          : 0);
}

Result<std::string> make_token() {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return no_certificate("random bytes");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text + "\n";
}

/// Creates a file that others cannot change; fails if it exists.
Status write_new(const fs::path& path, const std::string& text, mode_t mode) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (file && ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(file.get()) == 0) {
    return ok_status();
  }
  return error(ErrorCode::Io, "cannot write {}: {}", path.string(), std::strerror(errno));
}

Status check_folder(const fs::path& folder) {
  std::error_code failed;
  for (const char* const name : kFiles) {
    if (!fs::exists(fs::symlink_status(folder / name, failed))) continue;
    return error(ErrorCode::InvalidArgument, "{} is there already; name another folder",
                 (folder / name).string());
  }
  if (fs::is_directory(folder, failed)) return ok_status();
  if (!folder.parent_path().empty()) fs::create_directories(folder.parent_path(), failed);
  if (::mkdir(folder.c_str(), 0700) == 0) return ok_status();
  return error(ErrorCode::Io, "cannot make {}: {}", folder.string(), std::strerror(errno));
}

}  // namespace

std::vector<std::string> default_hosts() {
  std::vector<std::string> hosts = {"localhost", "127.0.0.1", "::1"};
  std::array<char, 256> name{};
  const bool known = ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0';
  if (known && hosts.front() != name.data()) hosts.emplace_back(name.data());
  return hosts;
}

Status make_certificates(const fs::path& folder, const CertificateOptions& options) {
  GPUEMU_TRY(check_folder(folder));
  const Wanted authority{"gpuemu authority",
                         {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                          {NID_key_usage, "critical,keyCertSign,cRLSign"}}};
  const Identity ca = GPUEMU_TRY(make_identity(authority, options.days, nullptr));
  Wanted server = leaf("gpuemu daemon", "serverAuth");
  server.extensions.emplace_back(NID_subject_alt_name, alternative_names(options.hosts));
  const Identity daemon = GPUEMU_TRY(make_identity(server, options.days, &ca));
  const Identity worker =
      GPUEMU_TRY(make_identity(leaf("gpuemu worker", "clientAuth"), options.days, &ca));
  const std::string texts[] = {
      GPUEMU_TRY(pem_of(ca.certificate.get())), GPUEMU_TRY(pem_of(daemon.certificate.get())),
      GPUEMU_TRY(pem_of(daemon.key.get())),     GPUEMU_TRY(pem_of(worker.certificate.get())),
      GPUEMU_TRY(pem_of(worker.key.get())),     GPUEMU_TRY(make_token())};
  for (size_t i = 0; i < std::size(kFiles); ++i) {
    const bool is_open = fs::path(kFiles[i]).extension() == ".pem";
    GPUEMU_TRY(write_new(folder / kFiles[i], texts[i], is_open ? 0644 : 0600));
  }
  return ok_status();
}

}  // namespace gpuemu
