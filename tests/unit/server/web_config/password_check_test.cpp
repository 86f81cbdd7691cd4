// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <atomic>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

#include "server/web_config/config.h"
#include "server/web_config/guard.h"

using namespace igpu::exporter;
using Outcome = PasswordCheck::Outcome;

namespace {

std::string hash_of(const std::string& password, const std::string& cost = "04") {
  return crypt_bcrypt(password.c_str(), "$2b$" + cost + "$abcdefghijklmnopqrstuu");
}

Outcome ask(PasswordCheck& check, const PasswordCheck::Users& users, std::string user, std::string password) {
  Credentials credentials;
  credentials.user = std::move(user);
  credentials.password = std::move(password);
  return check.check(users, credentials);
}

// CPU time of this thread: what other processes do meanwhile does not count.
double cpu_seconds(const std::function<void()>& work) {
  const auto now = [] {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  };
  const double before = now();
  work();
  return now() - before;
}

}  // namespace

TEST_SUITE_BEGIN("password_check");

TEST_CASE("the credentials of basic authentication are split at the first colon") {
  const auto parsed = [](std::string_view header) {
    Credentials out;
    return parse_basic_authorization(header, out) ? out.user + "|" + out.password : "-";
  };
  CHECK(parsed("Basic YWxpY2U6c2VjcmV0") == "alice|secret");
  CHECK(parsed("bAsIc YWxpY2U6c2VjcmV0") == "alice|secret");
  CHECK(parsed("Basic   YWxpY2U6c2VjcmV0") == "alice|secret");
  CHECK(parsed("Basic YTpiOmM=") == "a|b:c");
  CHECK(parsed("Basic Og==") == "|");
  CHECK(parsed("Basic w6Q6w7Y=") == "\xc3\xa4|\xc3\xb6");
  for (const char* bad :
       {"", "Basic", "Basic ", "Bearer YWxpY2U6c2VjcmV0", "Basic YWxpY2U", "Basic YWxpY2U=", "Basic YWxpY2U6c2VjcmV0 ",
        "Basic !!!!", "Basic Og=", "Basic Og==Og==", "Basic O===", "Basic ====", "Basic YWxp=Y2U"}) {
    CAPTURE(bad);
    CHECK(parsed(bad) == "-");
  }
}

TEST_CASE("right password, wrong password, unknown user") {
  PasswordCheck check;
  const PasswordCheck::Users users{{"alice", hash_of("secret")}, {"bob", hash_of("other")}};
  CHECK(ask(check, users, "alice", "secret") == Outcome::right);
  CHECK(ask(check, users, "bob", "other") == Outcome::right);
  CHECK(ask(check, users, "alice", "other") == Outcome::wrong);
  CHECK(ask(check, users, "alice", "") == Outcome::wrong);
  CHECK(ask(check, users, "carol", "secret") == Outcome::wrong);
  CHECK(ask(check, users, "", "") == Outcome::wrong);
  CHECK(ask(check, users, "Alice", "secret") == Outcome::wrong);
}

TEST_CASE("a decision is cached until the stored hash changes") {
  PasswordCheck check;
  PasswordCheck::Users users{{"alice", hash_of("secret")}};
  for (int i = 0; i < 3; ++i) CHECK(ask(check, users, "alice", "secret") == Outcome::right);
  for (int i = 0; i < 3; ++i) CHECK(ask(check, users, "alice", "wrong") == Outcome::wrong);
  for (int i = 0; i < 3; ++i) CHECK(ask(check, users, "carol", "secret") == Outcome::wrong);
  CHECK(check.computations() == 3);
  users["alice"] = hash_of("new");
  CHECK(ask(check, users, "alice", "secret") == Outcome::wrong);
  CHECK(ask(check, users, "alice", "new") == Outcome::right);
  users.erase("alice");
  users["bob"] = hash_of("new");
  CHECK(ask(check, users, "alice", "new") == Outcome::wrong);
  CHECK(check.computations() == 6);
}

TEST_CASE(
    "different credentials never share a cache entry, however user, password and hash are split (CVE-2022-46146)") {
  PasswordCheck check;
  const std::string hash = hash_of("secret");
  const PasswordCheck::Users users{{"alice", hash}, {"alices", hash}};
  CHECK(ask(check, users, "alice", "secret") == Outcome::right);
  CHECK(ask(check, users, "alices", "ecret") == Outcome::wrong);
  CHECK(ask(check, users, "alic", "esecret") == Outcome::wrong);
  CHECK(ask(check, users, "", "alicesecret") == Outcome::wrong);
  CHECK(ask(check, users, "alice", "secret" + hash) == Outcome::wrong);
  // The report's attack: a cached rejection of the dummy hash must never be read as an acceptance, nor vice versa.
  CHECK(ask(check, users, "carol", "secret") == Outcome::wrong);
  CHECK(ask(check, users, "carol", "secret") == Outcome::wrong);
  CHECK(ask(check, users, "alice", "secret") == Outcome::right);
}

TEST_CASE("rejections do not evict accepted credentials, and both caches are bounded") {
  PasswordCheck check({.cached = 4});
  const PasswordCheck::Users users{{"alice", hash_of("secret")}};
  CHECK(ask(check, users, "alice", "secret") == Outcome::right);
  for (int i = 0; i < 20; ++i) CHECK(ask(check, users, "alice", std::to_string(i)) == Outcome::wrong);
  CHECK(check.computations() == 21);
  CHECK(ask(check, users, "alice", "secret") == Outcome::right);
  CHECK(check.computations() == 21);
  CHECK(ask(check, users, "alice", "0") == Outcome::wrong);  // long forgotten
  CHECK(check.computations() == 22);
}

TEST_CASE("an unknown user costs as much CPU as a wrong password, even if the users' costs differ") {
  const PasswordCheck::Users users{{"cheap", hash_of("a", "06")}, {"costly", hash_of("b", "10")}};
  const auto cost = [&](const char* user) {
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      PasswordCheck check;
      best = std::min(best, cpu_seconds([&] { (void)ask(check, users, user, "wrong" + std::to_string(i)); }));
    }
    return best;
  };
  const double unknown = cost("nobody");
  CAPTURE(unknown);
  // One step of bcrypt's cost would be a factor of 2, the difference of these two users 16.
  for (const char* user : {"cheap", "costly"}) {
    CAPTURE(user);
    CHECK(cost(user) / unknown > 0.6);
    CHECK(cost(user) / unknown < 1.7);
  }
}

TEST_CASE("a flood of wrong passwords occupies two threads; known passwords pass, and long waits end as busy") {
  PasswordCheck check({.computations = 2, .waiting = 2, .queue_timeout = std::chrono::minutes(5)});
  const PasswordCheck::Users users{{"alice", hash_of("secret")}};
  CHECK(ask(check, users, "alice", "secret") == Outcome::right);
  const PasswordCheck::Users costly{{"alice", hash_of("secret", "12")}};
  std::atomic<int> busy = 0;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> flood;
  for (int i = 0; i < 12; ++i) {
    flood.emplace_back([&, i] {
      const Outcome outcome = ask(check, costly, "mallory", std::to_string(i));
      busy += outcome == Outcome::busy ? 1 : 0;
      wrong += outcome == Outcome::wrong ? 1 : 0;
    });
  }
  while (check.computations() < 3) std::this_thread::yield();
  const std::size_t before = check.computations();
  CHECK(ask(check, users, "alice", "secret") == Outcome::right);  // while the flood is on
  CHECK(before >= 3);
  for (std::thread& thread : flood) thread.join();
  CHECK(busy + wrong == 12);
  CHECK(wrong >= 4);  // two that computed and two that waited for them
}

TEST_CASE("requests beyond the queue's limit are rejected as busy at once") {
  const PasswordCheck::Users users{{"alice", hash_of("secret", "12")}};
  // `second` is checked while the first password is being computed. Retried if the machine was too slow for that.
  const auto second_outcome = [&](const PasswordCheck::Limits& limits, const std::string& second) {
    Outcome outcome = Outcome::wrong;
    for (int i = 0; i < 10 && outcome != Outcome::busy; ++i) {
      PasswordCheck check(limits);
      std::thread first([&] { (void)ask(check, users, "alice", "one"); });
      while (check.computations() < 1) std::this_thread::yield();
      outcome = ask(check, users, "alice", second);
      first.join();
    }
    return outcome;
  };
  CHECK(second_outcome({.computations = 1, .waiting = 0}, "two") == Outcome::busy);
  CHECK(second_outcome({.computations = 1, .waiting_same = 0}, "one") == Outcome::busy);
}

TEST_CASE("a flood evicts its own requests: the first request of another user or client gets a turn") {
  const PasswordCheck::Users users{{"alice", hash_of("secret", "12")}};
  const auto ask_as = [&](PasswordCheck& check, const char* client, const std::string& user,
                          const std::string& password) {
    Credentials credentials;
    credentials.user = user;
    credentials.password = password;
    return check.check(users, credentials, client);
  };
  // One request of the flood is computed and two fill the queue; then alice arrives. Retried if the machine was too
  // slow for that.
  const auto alice_arrives = [&](const char* her_client, bool one_name) {
    int rejected = 0;
    for (int i = 0; i < 10 && rejected == 0; ++i) {
      PasswordCheck check({.computations = 1, .waiting = 2, .queue_timeout = std::chrono::minutes(5)});
      std::atomic<int> busy = 0;
      std::vector<std::thread> flood;
      const auto add = [&] {
        const std::string number = std::to_string(flood.size());
        flood.emplace_back([&, number] {
          const std::string user = one_name ? "bob" : "bob" + number;
          busy += ask_as(check, "mallory's", user, number) == Outcome::busy ? 1 : 0;
        });
      };
      add();
      while (check.computations() < 1) std::this_thread::yield();
      add();
      add();
      while (check.waiting() < 2 && check.computations() < 2) std::this_thread::yield();
      CHECK(ask_as(check, her_client, "alice", "secret") == Outcome::right);
      for (std::thread& thread : flood) thread.join();
      CHECK(check.waiting() == 0);
      rejected = busy;
    }
    return rejected;
  };
  CHECK(alice_arrives("mallory's", true) == 1);
  CHECK(alice_arrives("alice's", false) == 1);
}

namespace {

// One computation at a time: other requests wait or are displaced.
struct Crowd {
  PasswordCheck check;
  // Expensive enough that the first computation still runs when the other requests arrive.
  PasswordCheck::Users users{{"alice", hash_of("secret", "10")}, {"bob", hash_of("other", "10")}};
  std::vector<std::thread> threads;
  std::atomic<int> busy = 0;

  explicit Crowd(unsigned waiting)
      : check({.computations = 1, .waiting = waiting, .queue_timeout = std::chrono::minutes(5)}) {}
  ~Crowd() {
    for (std::thread& thread : threads) thread.join();
  }

  Outcome ask(const std::string& client, const std::string& user, const std::string& password) {
    Credentials credentials;
    credentials.user = user;
    credentials.password = password;
    return check.check(users, credentials, client);
  }
  void send(const std::string& client, const std::string& user, const std::string& password) {
    threads.emplace_back([=, this] { busy += ask(client, user, password) == Outcome::busy ? 1 : 0; });
  }
};

}  // namespace

// A flood from the honest client's address, with other names, with the honest client's name, or both.
TEST_CASE("a retry takes a place and a turn before all first attempts") {
  for (const std::string names : {"another for each", "alice's", "bob's", "mixed"}) {
    CAPTURE(names);
    constexpr unsigned kWaiting = 3;
    std::size_t turns = 100;
    // Retried if the machine was so slow that the flood had ended before she arrived.
    for (int round = 0; round < 10 && turns > 2; ++round) {
      Crowd crowd(kWaiting);
      int wrong = 0;
      const auto flood = [&] {
        const int number = wrong++;
        const std::string fresh = "mallory" + std::to_string(number);
        const std::string user = names == "alice's"                    ? "alice"
                                 : names == "bob's"                    ? "bob"
                                 : names == "mixed" && number % 2 == 0 ? "alice"
                                                                       : fresh;
        crowd.send("here", user, "wrong" + std::to_string(number));
      };
      flood();
      while (crowd.check.computations() < 1) std::this_thread::yield();
      for (unsigned i = 0; i < kWaiting; ++i) flood();
      while (crowd.check.waiting() < kWaiting && crowd.check.computations() < 2) std::this_thread::yield();
      if (crowd.ask("here", "alice", "secret") == Outcome::right) {
        // One of the flood's names was evicted for another; or the flood had ended.
        turns = names == "bob's" ? 0 : turns;
        continue;
      }
      const std::size_t before = crowd.check.computations();
      CHECK(crowd.ask("here", "alice", "secret") == Outcome::right);
      turns = crowd.check.computations() - before;
    }
    CHECK(turns <= 2);  // the one at work when she came, if it ended meanwhile, and hers
  }
}

TEST_CASE("retries never delay other clients") {
  for (int round = 0; round < 10; ++round) {
    Crowd crowd(3);
    crowd.send("mallory's", "mallory", "0");
    while (crowd.check.computations() < 1) std::this_thread::yield();
    for (int i = 1; i <= 3; ++i) crowd.send("mallory's", "mallory", std::to_string(i));
    while (crowd.check.waiting() < 3 && crowd.check.computations() < 2) std::this_thread::yield();
    for (int i = 4; i < 8; ++i) crowd.send("mallory's", "mallory", std::to_string(i));
    while (crowd.busy < 4 && crowd.check.computations() < 2) std::this_thread::yield();
    // The flood retries its rejected passwords; alice, of another client, tries for the first time.
    for (int i = 4; i < 8; ++i) crowd.send("mallory's", "mallory", std::to_string(i));
    const std::size_t before = crowd.check.computations();
    CHECK(crowd.ask("alice's", "alice", "secret") == Outcome::right);
    CHECK(crowd.check.computations() - before <= 1 + 3 + 1);
    if (before == 1) break;
  }
}

TEST_CASE("rejected requests are not remembered forever") {
  PasswordCheck check({.computations = 1, .waiting = 0, .rejected = 1});
  const PasswordCheck::Users users{{"alice", hash_of("secret", "04")}};
  std::vector<std::thread> threads;
  for (int i = 0; i < 50; ++i) threads.emplace_back([&, i] { (void)ask(check, users, "bob", std::to_string(i)); });
  for (std::thread& thread : threads) thread.join();
  CHECK(ask(check, users, "alice", "secret") == Outcome::right);
}

TEST_CASE("many requests with the same credentials share one computation") {
  PasswordCheck check({.queue_timeout = std::chrono::minutes(5)});
  const PasswordCheck::Users users{{"alice", hash_of("secret", "10")}};
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 20; ++i) {
    threads.emplace_back([&] { right += ask(check, users, "alice", "secret") == Outcome::right ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 20);
  CHECK(check.computations() == 1);
}

TEST_CASE("a request that waits longer than the queue timeout is rejected as busy") {
  PasswordCheck check({.computations = 1, .waiting = 8, .queue_timeout = std::chrono::milliseconds(1)});
  const PasswordCheck::Users users{{"alice", hash_of("secret", "12")}};
  std::thread first([&] { (void)ask(check, users, "alice", "one"); });
  while (check.computations() < 1) std::this_thread::yield();
  const Outcome second = ask(check, users, "alice", "two");
  first.join();
  // On a machine that stood still meanwhile the first may have been done: then the second was computed.
  CHECK((second == Outcome::busy) == (check.computations() == 1));
}

TEST_SUITE_END();
