// Private to this folder: owning pointers for OpenSSL objects.
#pragma once

#include <memory>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace gpuemu {

template <auto kFree>
struct Free {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using KeyPointer = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using CertificatePointer = std::unique_ptr<X509, Free<X509_free>>;
using ExtensionPointer = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using BioPointer = std::unique_ptr<BIO, Free<BIO_free>>;
using NamesPointer = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES_free>>;
using ContextPointer = std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>>;
using SslPointer = std::unique_ptr<SSL, Free<SSL_free>>;

}  // namespace gpuemu
