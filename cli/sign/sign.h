// Reports that say who made them: Ed25519 over the SHA-256 of a page, checkable with openssl alone.
//
//   page  := body "<!-- gpuemu-signature -->\n" block
//   block := digest of body and marker in hex, signature of its 32 bytes in base64, SHA-256 of the
//            raw public key in hex, as a table
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "common/base/result.h"

namespace gpuemu::cli {

/// A private key with its public key.
class SigningKey {
 public:
  /// Loads `folder`/sign-ed25519.sec (PKCS#8 PEM, mode 0600) and .pub (SPKI PEM); creates both if
  /// neither exists. Corruption for a file that is no Ed25519 key, Io for other errors.
  static Result<SigningKey> load_or_create(const std::filesystem::path& folder);

  SigningKey(SigningKey&&) noexcept;
  SigningKey& operator=(SigningKey&&) noexcept;
  ~SigningKey();

  /// Returns the page with marker and block before its "</body>". REQUIRES: the page has no marker
  /// yet.
  Result<std::string> sign(const std::string& page) const;

 private:
  struct Key;
  explicit SigningKey(std::unique_ptr<Key> key);
  std::unique_ptr<Key> key_;
};

struct SignatureCheck {
  bool valid = false;
  std::string why;  ///< The reason if it is not valid.
  std::string key;  ///< SHA-256 of the signer's public key, according to the page.
};

/// Checks whether the owner of the public key signed exactly this page, to its last byte.
/// InvalidArgument if the key cannot be read or is no Ed25519 key.
Result<SignatureCheck> verify_page(const std::string& page,
                                   const std::filesystem::path& public_key);

}  // namespace gpuemu::cli
