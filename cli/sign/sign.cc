#include "cli/sign/sign.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/files.h"
#include "common/base/unique_fd.h"
#include "common/codec/base64.h"

namespace gpuemu::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMarker = "<!-- gpuemu-signature -->\n";
constexpr const char* kBodyEnd = "</body>";
constexpr size_t kKeyFileMax = 16 << 10;
constexpr size_t kRawKeyBytes = 32, kSignatureBytes = 64;

struct FreeKey {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using KeyPointer = std::unique_ptr<EVP_PKEY, FreeKey>;
struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using BioPointer = std::unique_ptr<BIO, FreeBio>;
struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using ContextPointer = std::unique_ptr<EVP_MD_CTX, FreeContext>;
using Digest = std::array<unsigned char, 32>;

Result<Digest> sha256(const void* data, size_t bytes) {
  Digest digest{};
  unsigned length = 0;
  if (EVP_Digest(data, bytes, digest.data(), &length, EVP_sha256(), nullptr) != 1 ||
      length != digest.size()) {
    return error(ErrorCode::Internal, "libcrypto computes no SHA-256");
  }
  return digest;
}

std::string hex(std::span<const unsigned char> bytes) {
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

std::string base64(std::span<const unsigned char> bytes) {
  return encode_base64(std::as_bytes(bytes));
}

Result<std::string> fingerprint_of(EVP_PKEY* key) {
  std::array<unsigned char, kRawKeyBytes> raw{};
  size_t length = raw.size();
  if (EVP_PKEY_get_raw_public_key(key, raw.data(), &length) != 1) {
    return error(ErrorCode::Internal, "libcrypto gives no public key");
  }
  const Digest digest = GPUEMU_TRY(sha256(raw.data(), length));
  return hex(digest);
}

Result<std::string> block_of(const std::string& digest, const std::string& signature,
                             const std::string& key) {
  return fmt::format(
      "<table><tr><td>SHA-256</td><td><code>{}</code></td></tr>\n<tr><td>Ed25519 "
      "signature</td><td><code>{}</code></td></tr>\n<tr><td>SHA-256 of the public "
      "key</td><td><code>{}</code></td></tr></table>\n</body></html>\n",
      digest, signature, key);
}

/// Parses `text` as a key; null if it is none.
KeyPointer parse_key(const std::string& text, bool is_private) {
  const BioPointer bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!bio) return nullptr;
  KeyPointer key(is_private ? PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr)
                            : PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr));
  return key && EVP_PKEY_get_base_id(key.get()) == EVP_PKEY_ED25519 ? std::move(key) : nullptr;
}

/// Returns the key as PEM.
Result<std::string> pem_of(EVP_PKEY* key, bool is_private) {
  const BioPointer bio(BIO_new(BIO_s_mem()));
  const int written = !bio         ? 0
                      : is_private ? PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr,
                                                                   0, nullptr, nullptr)
                                   : PEM_write_bio_PUBKEY(bio.get(), key);
  char* data = nullptr;
  const long bytes = written == 1 ? BIO_get_mem_data(bio.get(), &data) : 0;
  if (bytes <= 0) return error(ErrorCode::Internal, "libcrypto cannot write a key");
  return std::string(data, static_cast<size_t>(bytes));
}

/// Writes a file that nobody else can read at any time; it must not exist yet.
Status write_private(const fs::path& path, const std::string& text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return error(ErrorCode::Io, "cannot write {}: {}", path.string(), strerror(errno));
  const ssize_t put = ::write(file.get(), text.data(), text.size());
  if (put != static_cast<ssize_t>(text.size()) || ::fsync(file.get()) != 0) {
    std::error_code ignored;
    fs::remove(path, ignored);
    return error(ErrorCode::Io, "cannot write {}: {}", path.string(), strerror(errno));
  }
  return ok_status();
}

Result<KeyPointer> create(const fs::path& secret, const fs::path& open) {
  std::error_code failed;
  fs::create_directories(secret.parent_path(), failed);
  if (failed) {
    return error(ErrorCode::Io, "cannot make {}: {}", secret.parent_path().string(),
                 failed.message());
  }
  ::chmod(secret.parent_path().c_str(), 0700);
  KeyPointer key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  if (!key) return error(ErrorCode::Internal, "libcrypto makes no Ed25519 key");
  const std::string secret_text = GPUEMU_TRY(pem_of(key.get(), true));
  const std::string open_text = GPUEMU_TRY(pem_of(key.get(), false));
  GPUEMU_TRY(write_private(secret, secret_text));
  GPUEMU_TRY(write_file(open, open_text));
  return key;
}

/// Returns the text inside the n-th <code> of the block.
std::string field(const std::string& block, int number) {
  size_t at = 0;
  for (int i = 0; i <= number; ++i) {
    at = block.find("<code>", at);
    if (at == std::string::npos) return "";
    at += 6;
  }
  return block.substr(at, block.find("</code>", at) - at);
}

bool verifies(EVP_PKEY* key, const Digest& digest, const std::string& signature_text) {
  const auto signature = decode_base64(signature_text);
  if (!signature || signature->size() != kSignatureBytes) return false;
  // A different encoding of the same signature.
  if (encode_base64(*signature) != signature_text) return false;
  const ContextPointer context(EVP_MD_CTX_new());
  return context && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key) == 1 &&
         EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature->data()),
                          signature->size(), digest.data(), digest.size()) == 1;
}

}  // namespace

struct SigningKey::Key {
  KeyPointer pointer;
};

SigningKey::SigningKey(std::unique_ptr<Key> key) : key_(std::move(key)) {}
SigningKey::SigningKey(SigningKey&&) noexcept = default;
SigningKey& SigningKey::operator=(SigningKey&&) noexcept = default;
SigningKey::~SigningKey() = default;

Result<SigningKey> SigningKey::load_or_create(const fs::path& folder) {
  const fs::path secret = folder / "sign-ed25519.sec", open = folder / "sign-ed25519.pub";
  auto key = std::make_unique<Key>();
  std::error_code ignored;
  if (!fs::exists(secret, ignored)) {
    if (fs::exists(open, ignored)) {
      return error(ErrorCode::InvalidArgument,
                   "{} is there without {}; move it away to make a new pair", open.string(),
                   secret.string());
    }
    key->pointer = GPUEMU_TRY(create(secret, open));
    return SigningKey(std::move(key));
  }
  const std::string text = GPUEMU_TRY(read_file(secret, kKeyFileMax));
  key->pointer = parse_key(text, true);
  if (!key->pointer) {
    return error(ErrorCode::Corruption,
                 "{} is no Ed25519 private key in PEM; move it away to make a new one",
                 secret.string());
  }
  return SigningKey(std::move(key));
}

Result<std::string> SigningKey::sign(const std::string& page) const {
  const size_t end = page.rfind(kBodyEnd);
  if (end == std::string::npos || page.find(kMarker) != std::string::npos) {
    return error(ErrorCode::InvalidArgument,
                 "this page cannot be signed: it has no </body>, or it is signed already");
  }
  const std::string body = page.substr(0, end) + kMarker;
  const Digest digest = GPUEMU_TRY(sha256(body.data(), body.size()));
  std::array<unsigned char, kSignatureBytes> signature{};
  size_t length = signature.size();
  EVP_PKEY* const key = key_->pointer.get();
  const ContextPointer context(EVP_MD_CTX_new());
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &length, digest.data(), digest.size()) != 1) {
    return error(ErrorCode::Internal, "libcrypto cannot sign");
  }
  const std::string fingerprint = GPUEMU_TRY(fingerprint_of(key));
  const std::string block = GPUEMU_TRY(block_of(hex(digest), base64(signature), fingerprint));
  return body + block;
}

Result<SignatureCheck> verify_page(const std::string& page, const fs::path& public_key) {
  const auto text = read_file(public_key, kKeyFileMax);
  if (!text) return Error{ErrorCode::InvalidArgument, text.error().message};
  const KeyPointer key = parse_key(*text, false);
  if (!key) {
    return error(ErrorCode::InvalidArgument, "{} is no Ed25519 public key in PEM",
                 public_key.string());
  }
  SignatureCheck check;
  const size_t at = page.find(kMarker);
  if (at == std::string::npos) return check.why = "it has no signature", check;
  const size_t body = at + std::strlen(kMarker);
  const std::string block = page.substr(body);
  check.key = field(block, 2);
  const Digest digest = GPUEMU_TRY(sha256(page.data(), body));
  const std::string own = GPUEMU_TRY(fingerprint_of(key.get()));
  const std::string signature = field(block, 1);
  // Nothing may follow the block, because the digest does not cover it.
  const std::string expected = GPUEMU_TRY(block_of(hex(digest), signature, own));
  if (check.key != own) {
    check.why = fmt::format("another key signed it ({}); this one is {}", check.key, own);
  } else if (field(block, 0) != hex(digest)) {
    check.why = "its text was changed after it was signed";
  } else if (block != expected) {
    check.why = "something was added behind the signature";
  } else if (!verifies(key.get(), digest, signature)) {
    check.why = "the signature does not fit";
  } else {
    check.valid = true;
  }
  return check;
}

}  // namespace gpuemu::cli
