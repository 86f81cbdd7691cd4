// SPDX-License-Identifier: Apache-2.0
#include "server/http/stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <climits>
#include <utility>

#include "platform/thread.h"

namespace igpu::exporter {
namespace {

using Wants = Stream::Wants;

// Records that a client may send until its handshake is complete, and then until each answer. A request is usually one
// record; written line by line, it is one for each header. Without a limit, KeyUpdates, empty or one-byte records, and
// attempts to renegotiate occupy a thread for as long as the client sends them.
constexpr unsigned kRecords = 128;

class PlainStream final : public Stream {
 public:
  explicit PlainStream(UniqueSocket socket) : Stream(std::move(socket)) {}

  Result read(std::span<char> into) override {
    const std::ptrdiff_t size = receive(socket_.get(), into);
    if (size > 0) return {static_cast<std::size_t>(size)};
    if (size == 0) return {0, Wants::nothing, true};
    return {0, is_try_again(last_socket_error()) ? Wants::to_read : Wants::to_end};
  }

  Result write(std::string_view first, std::string_view second) override {
    const std::ptrdiff_t size = send(socket_.get(), first, second);
    if (size >= 0) return {static_cast<std::size_t>(size)};
    return {0, is_try_again(last_socket_error()) ? Wants::to_write : Wants::to_end};
  }

  void finish() override { end_sending(socket_.get()); }
};

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

class TlsStream final : public Stream {
 public:
  TlsStream(UniqueSocket socket, std::shared_ptr<SSL_CTX> context)
      : Stream(std::move(socket)), context_(std::move(context)) {}

  Result handshake() override {
    // A handshake that nobody can complete must not cost a signature: other clients wait for it. With its first bytes
    // no client has sent all that a handshake needs.
    if (ssl_ ? is_reset(socket_.get()) : has_ended(socket_.get())) return {0, Wants::to_end};
    ERR_clear_error();
    if (!ssl_ && !begin()) return {0, Wants::to_end};
    const int result = SSL_accept(ssl_.get());
    if (result == 1) {
      records_ = 0;
      return {};
    }
    const Wants wants = what_now(result);
    if (wants == Wants::to_end) {
      broken_ = true;
      plain_http_ = ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;
    }
    return {0, wants};
  }

  Result read(std::span<char> into) override {
    ERR_clear_error();
    const int result = SSL_read(ssl_.get(), into.data(), static_cast<int>(std::min<std::size_t>(into.size(), INT_MAX)));
    if (result > 0) return {static_cast<std::size_t>(result)};
    if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_ZERO_RETURN) return {0, Wants::nothing, true};
    return {0, what_now(result)};
  }

  Result write(std::string_view first, std::string_view second) override {
    const std::string_view piece = first.empty() ? second : first;
    ERR_clear_error();
    const int result =
        SSL_write(ssl_.get(), piece.data(), static_cast<int>(std::min<std::size_t>(piece.size(), INT_MAX)));
    if (result > 0) {
      records_ = 0;
      return {static_cast<std::size_t>(result)};
    }
    return {0, what_now(result)};
  }

  bool pending() const override { return SSL_has_pending(ssl_.get()) != 0; }

  void finish() override {
    ERR_clear_error();
    if (ssl_ && !broken_) (void)SSL_shutdown(ssl_.get());  // sends close_notify and does not wait for the client's
    end_sending(socket_.get());
  }

  bool spoke_plain_http() const override { return plain_http_; }

 private:
  // Not earlier: a connection that never sends a byte then costs no more than without TLS.
  bool begin() {
    ssl_.reset(SSL_new(context_.get()));
    if (!ssl_ || SSL_set_fd(ssl_.get(), socket_.get()) != 1) {
      ssl_.reset();
      ERR_clear_error();
      return false;
    }
    // Pages are long and clients may be slow: OpenSSL keeps no buffer between two records.
    SSL_set_mode(ssl_.get(),
                 SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    // After a record without data SSL_read() returns, so that other clients are served before the next one.
    SSL_clear_mode(ssl_.get(), SSL_MODE_AUTO_RETRY);
    SSL_set_msg_callback(ssl_.get(), count_record);
    SSL_set_msg_callback_arg(ssl_.get(), this);
    BIO_set_callback_arg(SSL_get_rbio(ssl_.get()), reinterpret_cast<char*>(this));
    BIO_set_callback_ex(SSL_get_rbio(ssl_.get()), limit_records);
    return true;
  }

  static void count_record(int sent, int, int type, const void*, std::size_t, SSL*, void* stream) {
    if (sent == 0 && type == SSL3_RT_HEADER) ++static_cast<TlsStream*>(stream)->records_;
  }

  // Before each read from the socket; a result of -1 makes it fail. One call of OpenSSL may read many records.
  static long limit_records(BIO* socket, int operation, const char*, std::size_t, int, long, int result, std::size_t*) {
    if (operation != BIO_CB_READ) return result;
    if (reinterpret_cast<const TlsStream*>(BIO_get_callback_arg(socket))->records_ <= kRecords) return result;
    BIO_clear_retry_flags(socket);
    return -1;
  }

  Wants what_now(int result) {
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ: return Wants::to_read;
      case SSL_ERROR_WANT_WRITE: return Wants::to_write;
      default: broken_ = true; return Wants::to_end;
    }
  }

  std::shared_ptr<SSL_CTX> context_;   // also owns what its callbacks need
  std::unique_ptr<SSL, FreeSsl> ssl_;  // from the first byte on
  unsigned records_ = 0;               // received since the handshake or the last byte of an answer
  bool broken_ = false;
  bool plain_http_ = false;
};

// If an address starts more handshakes than can be handled, the clients of the newest are the most likely to be still
// connected; as long as none has waited for that long, the oldest is next.
constexpr std::chrono::milliseconds kOverload(500);

}  // namespace

std::unique_ptr<Stream> plain_stream(UniqueSocket socket) { return std::make_unique<PlainStream>(std::move(socket)); }

std::unique_ptr<Stream> tls_stream(UniqueSocket socket, std::shared_ptr<SSL_CTX> context) {
  return std::make_unique<TlsStream>(std::move(socket), std::move(context));
}

Handshakes::Handshakes(unsigned threads, std::function<void()> finished) : finished_(std::move(finished)) {
  try {
    for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  } catch (...) {
    end();
    throw;
  }
}

Handshakes::~Handshakes() { end(); }

void Handshakes::end() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Handshakes::submit(Ticket ticket, const std::string& client, std::unique_ptr<Stream> stream) {
  {
    const std::lock_guard lock(mutex_);
    const auto [known, first] = clients_.try_emplace(client);
    if (first) known->second = turns_.insert(turns_.end(), Client{client, {}});
    std::list<Waiting>& waiting = known->second->waiting;
    const auto place = waiting.insert(waiting.end(), Waiting{ticket, std::move(stream), Clock::now()});
    places_.try_emplace(ticket, Place{known->second, place});
  }
  changed_.notify_one();
}

void Handshakes::cancel(Ticket ticket) {
  std::unique_ptr<Stream> closed;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(ticket);
  if (place != places_.end()) closed = remove(place);
}

void Handshakes::take_finished(std::vector<Step>& steps) {
  steps.clear();
  const std::lock_guard lock(mutex_);
  steps.swap(done_);
}

void Handshakes::run() {
  name_thread("handshakes");
  block_broken_pipes();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopping_ || !turns_.empty(); });
    if (stopping_) return;
    Step step = next();
    lock.unlock();
    step.result = step.stream->handshake();
    lock.lock();
    const bool first = done_.empty();
    done_.push_back(std::move(step));
    if (first) finished_();
  }
}

Handshakes::Step Handshakes::next() {
  const auto client = turns_.begin();
  const bool overload = Clock::now() - client->waiting.front().since > kOverload;
  const Ticket ticket = overload ? client->waiting.back().ticket : client->waiting.front().ticket;
  if (client->waiting.size() > 1) turns_.splice(turns_.end(), turns_, client);
  return {ticket, remove(places_.find(ticket)), {}};
}

std::unique_ptr<Stream> Handshakes::remove(std::unordered_map<Ticket, Place>::iterator place) {
  const auto [client, waiting] = place->second;
  places_.erase(place);
  std::unique_ptr<Stream> stream = std::move(waiting->stream);
  client->waiting.erase(waiting);
  if (client->waiting.empty()) {
    clients_.erase(client->name);
    turns_.erase(client);
  }
  return stream;
}

}  // namespace igpu::exporter
