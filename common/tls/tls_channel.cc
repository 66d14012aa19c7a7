#include "common/tls/tls_channel.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <arpa/inet.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <poll.h>
#include <sys/socket.h>

#include "common/tls/openssl_pointers.h"

namespace gpuemu {
namespace {

/// Larger than a TLS record, so that no partial record stays inside libssl.
constexpr size_t kReadBytes = size_t{64} << 10;
/// Limit per read of one connection, so that others do not wait for it.
constexpr size_t kReadBytesMax = size_t{4} << 20;
/// Reasons from here on are alerts of the other side.
constexpr int kAlertReasons = SSL_AD_REASON_OFFSET;

std::string day_of(const ASN1_TIME* time) {
  std::tm parts{};
  std::array<char, 16> text{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "";
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts)};
}

/// Returns the names and addresses that a certificate is for.
std::string names_of(X509* certificate) {
  const NamesPointer names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::string text;
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    std::array<char, INET6_ADDRSTRLEN> address{};
    std::string one;
    if (name->type == GEN_DNS) {
      one.assign(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                 static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
    } else if (name->type == GEN_IPADD) {
      const int family = ASN1_STRING_length(name->d.iPAddress) == 4 ? AF_INET : AF_INET6;
      const bool is_long = ASN1_STRING_length(name->d.iPAddress) == sizeof(in6_addr);
      if (family == AF_INET6 && !is_long) continue;
      const unsigned char* const bytes = ASN1_STRING_get0_data(name->d.iPAddress);
      ::inet_ntop(family, bytes, address.data(), address.size());
      one = address.data();
    }
    if (!one.empty()) text += (text.empty() ? "" : ", ") + one;
  }
  return text.empty() ? "no host" : text;
}

/// Returns whether the alert is about the certificate that was sent, or about a missing one.
bool blames_certificate(int alert) {
  switch (alert) {
    case SSL_AD_HANDSHAKE_FAILURE:
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_DECRYPT_ERROR:
    case SSL_AD_CERTIFICATE_REQUIRED:
      return true;
    default:
      return false;
  }
}

}  // namespace

/// Records what is wrong with the other side's certificate, because libssl only keeps a number.
struct TlsChannel::Verifier {
  static int check(int fine, X509_STORE_CTX* store) {
    if (fine == 1) return 1;
    void* const ssl = X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx());
    auto* const channel = static_cast<TlsChannel*>(SSL_get_app_data(static_cast<SSL*>(ssl)));
    X509* const certificate = X509_STORE_CTX_get_current_cert(store);
    switch (X509_STORE_CTX_get_error(store)) {
      case X509_V_ERR_CERT_HAS_EXPIRED:
        channel->verified_ = TlsEnd::Expired;
        channel->detail_ = certificate == nullptr ? "" : day_of(X509_get0_notAfter(certificate));
        break;
      case X509_V_ERR_HOSTNAME_MISMATCH:
      case X509_V_ERR_IP_ADDRESS_MISMATCH:
        channel->verified_ = TlsEnd::OtherHost;
        channel->detail_ = certificate == nullptr ? "no host" : names_of(certificate);
        break;
      default:
        channel->verified_ = TlsEnd::NotSigned;
        channel->detail_ = X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
    }
    return 0;
  }
};

TlsChannel::TlsChannel(std::shared_ptr<const TlsContext> context, UniqueFd socket)
    : context_(std::move(context)), socket_(std::move(socket)) {}

TlsChannel::~TlsChannel() { SSL_free(ssl_); }

Status TlsChannel::prepare(const std::string& host) {
  ERR_clear_error();
  const int flags = ::fcntl(socket_.get(), F_GETFL);
  ::fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK);
  ssl_ = SSL_new(context_->get());
  if (ssl_ == nullptr || SSL_set_fd(ssl_, socket_.get()) != 1) {
    return error(ErrorCode::ResourceExhausted, "libssl makes no connection");
  }
  SSL_set_app_data(ssl_, this);
  SSL_set_verify(ssl_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, Verifier::check);
  if (context_->side() == TlsSide::Daemon) {
    SSL_set_accept_state(ssl_);
    return ok_status();
  }
  SSL_set_connect_state(ssl_);
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl_);
  if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1) return ok_status();
  ERR_clear_error();
  if (SSL_set1_host(ssl_, host.c_str()) != 1 || SSL_set_tlsext_host_name(ssl_, host.c_str()) != 1) {
    return error(ErrorCode::InvalidArgument, "'{}' is not the name of a host", host);
  }
  return ok_status();
}

Result<std::unique_ptr<TlsChannel>> TlsChannel::make(std::shared_ptr<const TlsContext> context,
                                                     UniqueFd socket, const std::string& host) {
  std::unique_ptr<TlsChannel> made(new TlsChannel(std::move(context), std::move(socket)));
  GPUEMU_TRY(made->prepare(host));
  return made;
}

short TlsChannel::wanted_events(bool reads) const {
  short events = reads || !established_ ? POLLIN : 0;
  if (wants_write_ || (established_ && !output_.empty())) events |= POLLOUT;
  return events;
}

bool TlsChannel::goes_on(int result) {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      return true;
    case SSL_ERROR_WANT_WRITE:
      wants_write_ = true;
      return true;
    case SSL_ERROR_SSL:
      break;
    default:
      end_ = TlsEnd::Closed;
      ERR_clear_error();
      return false;
  }
  const int reason = ERR_GET_REASON(ERR_peek_last_error());
  ERR_clear_error();
  if (verified_ != TlsEnd::Open) {
    end_ = verified_;
  } else if (reason >= kAlertReasons && blames_certificate(reason - kAlertReasons)) {
    end_ = TlsEnd::RefusedOurs;
  } else if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    end_ = TlsEnd::Closed;
  } else if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
    end_ = TlsEnd::NotSigned;
    detail_ = "no certificate was shown";
  } else {
    end_ = TlsEnd::NotTls;
  }
  return false;
}

void TlsChannel::advance(bool reads) {
  wants_write_ = false;
  if (!established_) handshake();
  if (established_ && reads) read();
  if (established_) write();
}

void TlsChannel::handshake() {
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_);
  established_ = done == 1;
  if (established_) {
    last_received_ = Clock::now();
  } else {
    goes_on(done);
  }
}

void TlsChannel::read() {
  static thread_local std::vector<std::byte> room(kReadBytes);
  for (size_t total = 0; is_open() && total < kReadBytesMax;) {
    ERR_clear_error();
    size_t got = 0;
    const int done = SSL_read_ex(ssl_, room.data(), room.size(), &got);
    if (done != 1) {
      goes_on(done);
      break;
    }
    last_received_ = Clock::now();
    total += got;
    input_.insert(input_.end(), room.begin(), room.begin() + static_cast<ptrdiff_t>(got));
    split();
  }
}

void TlsChannel::split() {
  uint32_t length = 0;
  while (input_.size() - input_taken_ >= sizeof length) {
    std::memcpy(&length, input_.data() + input_taken_, sizeof length);
    if (length > message_bytes_max_) {
      end_ = TlsEnd::WrongMessage;
      return;
    }
    if (input_.size() - input_taken_ - sizeof length < length) break;
    const auto begin = input_.begin() + static_cast<ptrdiff_t>(input_taken_ + sizeof length);
    arrived_.emplace_back(begin, begin + length);
    input_taken_ += sizeof length + length;
  }
  input_.erase(input_.begin(), input_.begin() + static_cast<ptrdiff_t>(input_taken_));
  input_taken_ = 0;
}

void TlsChannel::send(const Message& message) {
  const auto length = static_cast<uint32_t>(message.size());
  Message frame(sizeof length + message.size());
  std::memcpy(frame.data(), &length, sizeof length);
  if (!message.empty()) std::memcpy(frame.data() + sizeof length, message.data(), message.size());
  queued_bytes_ += frame.size();
  output_.push_back(std::move(frame));
}

void TlsChannel::write() {
  while (!output_.empty() && (is_open() || end_ == TlsEnd::WrongMessage)) {
    const Message& first = output_.front();
    ERR_clear_error();
    size_t sent = 0;
    const int done =
        SSL_write_ex(ssl_, first.data() + output_sent_, first.size() - output_sent_, &sent);
    if (done != 1) {
      goes_on(done);
      return;
    }
    output_sent_ += sent;
    queued_bytes_ -= sent;
    if (output_sent_ < first.size()) continue;
    output_.pop_front();
    output_sent_ = 0;
  }
}

UniqueFd TlsChannel::take_socket() {
  ERR_clear_error();
  // After a failure, libssl has already sent the reason.
  if (established_ && is_open()) SSL_shutdown(ssl_);
  ERR_clear_error();
  ::shutdown(socket_.get(), SHUT_WR);
  SSL_free(std::exchange(ssl_, nullptr));
  if (is_open()) end_ = TlsEnd::Closed;
  return std::move(socket_);
}

}  // namespace gpuemu
