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

namespace igpu::exporter {

// Name and password of one request; wiped when it is done with.
struct Credentials {
  std::string user;
  std::string password;

  Credentials() = default;
  Credentials(const Credentials&) = delete;
  Credentials& operator=(const Credentials&) = delete;
  ~Credentials();
};

// The value of an Authorization header ("Basic" of RFC 7617) taken apart; false if it is anything else.
bool parse_basic_authorization(std::string_view header, Credentials& out);

// Decides over names and passwords. Any thread.
//
// What takes time is bcrypt, and it takes the same time whether the user does not exist or the password is wrong. Two
// computations run at once, so that wrong passwords cannot take the machine; a few requests wait for them in the order
// in which they came, and those beyond that are refused for now. Where there is no room, the client who has most
// requests waiting gives up a place, or of one client the user names that have most: a flood sends away its own.
// Whether a user exists makes no difference to that.
//
// Among requests of one client no order says who is honest, as the flood may use the same user name. But wrong
// passwords that are tried out differ from each other, and one that comes again was decided before; somebody who has
// the right one and was sent away comes again with the same. So it is remembered who was sent away (a tag of 16 bits in
// a table, where later ones replace earlier ones): a request that comes again takes the place, and the turn, of one of
// its client that came for the first time.
//
// What was decided once passes without any of this: decisions are kept under a keyed hash of user, password and stored
// hash, each with its length, so that no two of them can stand for one another and a changed hash is a new question.
// Refusals are kept, too, but apart: a client with an old password in its configuration costs one computation, and no
// flood of wrong passwords can push out those who may come in.
class PasswordCheck {
 public:
  using Users = std::map<std::string, std::string, std::less<>>;  // name -> bcrypt hash
  enum class Outcome { right, wrong, busy };

  struct Limits {
    unsigned computations = 2;
    unsigned waiting = 8;        // for a computation of their own
    unsigned waiting_same = 24;  // for the outcome of a computation that is under way for the same credentials
    std::chrono::milliseconds patience{5000};
    std::size_t kept = 1024;           // decisions of either kind
    std::size_t sent_away = 1U << 18;  // that are remembered, two bytes for each; 0: none
  };

  PasswordCheck() : PasswordCheck(Limits()) {}
  explicit PasswordCheck(const Limits& limits);
  ~PasswordCheck();
  PasswordCheck(const PasswordCheck&) = delete;
  PasswordCheck& operator=(const PasswordCheck&) = delete;

  // users has at least one entry. client: whatever tells clients apart.
  Outcome check(const Users& users, const Credentials& credentials, std::string_view client = {});

  std::size_t computations() const;  // that were made so far
  std::size_t waiting() const;       // for one of their own, now

 private:
  using Key = std::array<unsigned char, 32>;

  // The least recently used one goes when it is full.
  class Decisions {
   public:
    explicit Decisions(std::size_t most) : most_(most) {}
    bool contains(const Key& key);
    void add(const Key& key);

   private:
    std::size_t most_;
    std::list<Key> by_use_;
    std::map<Key, std::list<Key>::iterator> index_;
  };

  struct Waiter {
    std::string_view client;
    std::string_view user;
    bool again = false;  // was sent away before
    bool queued = false;
    bool sent_away = false;
  };
  class Place;
  bool enqueue(Waiter& waiter);
  bool make_room_for(Waiter& waiter);
  void dequeue(Waiter& waiter);
  Outcome busy(const Key& key);
  bool was_sent_away(const Key& key) const;
  Waiter* next() const;
  void take_turn(Waiter& waiter);

  Key key_of(const Credentials& credentials, std::string_view hash) const;

  const Limits limits_;
  std::array<unsigned char, 32> secret_{};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Decisions right_;
  Decisions wrong_;
  std::set<Key> under_way_;
  unsigned computing_ = 0;
  std::list<Waiter*> queue_;              // of those that check() is running for
  std::vector<std::uint16_t> sent_away_;  // tags; 0: nobody. Empty until the first is sent away
  unsigned waiting_same_ = 0;
  std::size_t computations_ = 0;
};

}  // namespace igpu::exporter
