// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "igpu/log.h"
#include "igpu/token_bucket.h"
#include "server/http/message.h"
#include "server/web_config/web_config_file.h"

namespace igpu::exporter {

// Name and password of one request; wiped by the destructor.
struct Credentials {
  std::string user;
  std::string password;

  Credentials() = default;
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;
  ~Credentials();
};

// Parses the value of an Authorization header (RFC 7617, "Basic"); false for anything else.
bool parse_basic_authorization(std::string_view header, Credentials& out);

// Checks names and passwords. Thread-safe.
//
// bcrypt takes the time, and it takes equally long for an unknown user and for a wrong password. At most two
// computations run at once, so that wrong passwords cannot occupy the machine; a few requests wait for them in order of
// arrival, and further ones are rejected as busy. When the queue is full, the client with the most waiting requests
// loses one, within a client the user name with the most: a flood evicts its own requests. Whether a user exists makes
// no difference.
//
// Order of arrival cannot separate honest requests of a client from a flood that uses the same user name. But guessed
// passwords differ from each other, while a client with the right password retries with the same one. So rejected
// requests are remembered (a 16-bit tag in a table, where new entries overwrite old ones): a retry takes the place and
// the turn of a request of its client that is not a retry.
//
// Known decisions skip all this: they are cached under a keyed hash of user, password and stored hash, each with its
// length, so that two different ones never share an entry and a changed hash is checked again. Rejections are cached
// separately: a client with an old password costs one computation, and a flood of wrong passwords cannot evict the
// valid ones.
class PasswordCheck {
 public:
  using Users = std::map<std::string, std::string, std::less<>>;  // name -> bcrypt hash
  enum class Outcome { right, wrong, busy };

  struct Limits {
    unsigned computations = 2;
    unsigned waiting = 8;        // for a computation of their own
    unsigned waiting_same = 24;  // for a running computation of the same credentials
    std::chrono::milliseconds queue_timeout{5000};
    std::size_t cached = 1024;        // decisions of each kind
    std::size_t rejected = 1U << 18;  // remembered rejections, two bytes each; 0: none
  };

  PasswordCheck() : PasswordCheck(Limits()) {}
  explicit PasswordCheck(const Limits& limits);
  ~PasswordCheck();

  // users must not be empty. client: anything that identifies the client.
  Outcome check(const Users& users, const Credentials& credentials, std::string_view client = {});

  std::size_t computations() const;  // so far
  std::size_t waiting() const;       // requests in the queue now

 private:
  using Key = std::array<unsigned char, 32>;

  // When full, the least recently used one is evicted.
  class Decisions {
   public:
    explicit Decisions(std::size_t limit) : limit_(limit) {}
    bool contains(const Key& key);
    void add(const Key& key);

   private:
    std::size_t limit_;
    std::list<Key> by_use_;
    std::map<Key, std::list<Key>::iterator> index_;
  };

  struct Waiter {
    std::string_view client;
    std::string_view user;
    bool retry = false;  // was rejected as busy before
    bool queued = false;
    bool rejected = false;
  };
  bool enqueue(Waiter& waiter);
  bool evict_for(Waiter& waiter);
  void dequeue(Waiter& waiter);
  Outcome busy(const Key& key);
  bool was_rejected(const Key& key) const;
  Waiter* next() const;
  void take_turn(Waiter& waiter);

  Key key_of(const Credentials& credentials, std::string_view hash) const;

  const Limits limits_;
  std::array<unsigned char, 32> secret_{};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Decisions right_;
  Decisions wrong_;
  std::set<Key> computed_now_;
  unsigned computing_ = 0;
  std::list<Waiter*> queue_;             // each belongs to a running check()
  std::vector<std::uint16_t> rejected_;  // tags; 0: none. Empty until the first rejection
  unsigned waiting_same_ = 0;
  std::size_t computations_ = 0;
};

// Applies the web configuration to every request, whatever its path, as the toolkit does (so /-/healthy and /-/ready
// need a password, too): rate limit (429), basic authentication (401; 503 while too many passwords are being checked),
// and headers for every response. A configured header replaces one that a page sets. A stream ends when the
// configuration changes: its client comes back, and is accepted or not.
class Guard final : public HttpHandler {
 public:
  // All arguments must outlive the guard.
  Guard(WebConfigSource& config, HttpHandler& next, const PasswordCheck::Limits& limits = {})
      : config_(config), next_(next), passwords_(limits) {}

  void handle(const HttpRequest& request, HttpResponse& response) override;
  void answered(int status) override { next_.answered(status); }
  Event next_event() override;

 private:
  // False: the request is rejected, and the response says why.
  bool accepts(const WebConfig& config, const HttpRequest& request, HttpResponse& response);

  WebConfigSource& config_;
  HttpHandler& next_;
  PasswordCheck passwords_;
  TokenBucket bucket_;
};

}  // namespace igpu::exporter
