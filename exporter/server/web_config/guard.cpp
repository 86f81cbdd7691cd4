// SPDX-License-Identifier: Apache-2.0
#include "server/web_config/guard.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "server/web_config/config.h"
#include "text/text.h"

namespace igpu::exporter {
namespace {

void wipe(std::string& text) { OPENSSL_cleanse(text.data(), text.size()); }

// Standard alphabet with padding. False if text is not valid, with any content in out. OpenSSL alone would skip blanks,
// and take the padding for zero bytes wherever it stands.
bool decode_base64(std::string_view text, std::string& out) {
  std::size_t padding = 0;
  while (padding < 2 && text.substr(0, text.size() - padding).ends_with('=')) ++padding;
  const auto is_digit_of_64 = [](char c) { return is_letter_or_digit(c) || c == '+' || c == '/'; };
  const std::string_view digits = text.substr(0, text.size() - padding);
  if (text.size() % 4 != 0 || !std::ranges::all_of(digits, is_digit_of_64)) return false;
  out.resize(text.size() / 4 * 3);
  (void)EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                        reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  out.resize(out.size() - padding);
  return true;
}

void append_with_length(std::string& out, std::string_view text) {
  const std::uint64_t size = text.size();
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  out.append(text);
}

// A wrong password takes the same time for every user, that of the highest cost: a computation of cost c is followed by
// those of c, c + 1, ... below the highest cost, which together take as long as one of the highest.
bool matches_in_equal_time(const PasswordCheck::Users& users, std::string_view password, std::string_view hash) {
  unsigned highest = 0;
  for (const auto& [user, stored] : users) highest = std::max(highest, bcrypt_cost(stored));
  if (hash.empty()) {
    (void)bcrypt_matches(password, dummy_bcrypt_hash(highest));
    return false;
  }
  if (bcrypt_matches(password, hash)) return true;
  for (unsigned cost = bcrypt_cost(hash); cost < highest; ++cost) {
    (void)bcrypt_matches(password, dummy_bcrypt_hash(cost));
  }
  return false;
}

void add_headers(const std::shared_ptr<const LoadedWebConfig>& loaded, HttpResponse& response) {
  if (loaded->config.headers.empty()) return;
  for (const auto& [name, value] : loaded->config.headers) {
    if (name == "X-Content-Type-Options") continue;  // the listener always sends it, and only one value is valid
    std::erase_if(response.headers,
                  [replaced = std::string_view(name)](const auto& header) { return header.first == replaced; });
    response.headers.emplace_back(name, value);
  }
  response.keeps_alive = loaded;
}

struct Slot {
  std::size_t place;
  std::uint16_t tag;
};

// The key's bytes are uniformly distributed. A tag is never 0.
template <class Key>
Slot slot_of(const Key& key, std::size_t places) {
  std::uint64_t place = 0;
  std::uint16_t tag = 0;
  std::memcpy(&place, key.data(), sizeof place);
  std::memcpy(&tag, key.data() + sizeof place, sizeof tag);
  return {static_cast<std::size_t>(place % places), std::max<std::uint16_t>(tag, 1)};
}

}  // namespace

Credentials::~Credentials() {
  wipe(user);
  wipe(password);
}

bool parse_basic_authorization(std::string_view header, Credentials& out) {
  constexpr std::string_view kScheme = "Basic ";
  if (!equal_ignoring_case(header.substr(0, kScheme.size()), kScheme)) return false;
  header.remove_prefix(kScheme.size());
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  std::string decoded;
  const bool whole = decode_base64(header, decoded);
  const std::size_t colon = decoded.find(':');
  if (whole && colon != std::string::npos) {
    out.user.assign(decoded, 0, colon);
    out.password.assign(decoded, colon + 1);
  }
  wipe(decoded);
  return whole && colon != std::string::npos;
}

bool PasswordCheck::Decisions::contains(const Key& key) {
  const auto found = index_.find(key);
  if (found == index_.end()) return false;
  by_use_.splice(by_use_.begin(), by_use_, found->second);
  return true;
}

void PasswordCheck::Decisions::add(const Key& key) {
  if (limit_ == 0 || contains(key)) return;
  if (index_.size() >= limit_) {
    index_.erase(by_use_.back());
    by_use_.pop_back();
  }
  by_use_.push_front(key);
  index_.emplace(key, by_use_.begin());
}

PasswordCheck::PasswordCheck(const Limits& limits) : limits_(limits), right_(limits.cached), wrong_(limits.cached) {
  if (RAND_bytes(secret_.data(), static_cast<int>(secret_.size())) != 1) {
    throw std::runtime_error("OpenSSL provides no random numbers, which the password cache needs");
  }
}

PasswordCheck::~PasswordCheck() { OPENSSL_cleanse(secret_.data(), secret_.size()); }

PasswordCheck::Key PasswordCheck::key_of(const Credentials& credentials, std::string_view hash) const {
  std::string text;
  text.reserve(3 * sizeof(std::uint64_t) + credentials.user.size() + credentials.password.size() + hash.size());
  append_with_length(text, credentials.user);
  append_with_length(text, credentials.password);
  append_with_length(text, hash);
  Key key{};
  unsigned size = 0;
  const unsigned char* done = HMAC(EVP_sha256(), secret_.data(), static_cast<int>(secret_.size()),
                                   reinterpret_cast<const unsigned char*>(text.data()), text.size(), key.data(), &size);
  wipe(text);
  if (done == nullptr) throw std::runtime_error("OpenSSL cannot compute HMAC-SHA256");
  return key;
}

bool PasswordCheck::enqueue(Waiter& waiter) {
  if (queue_.size() >= limits_.waiting && !evict_for(waiter)) return false;
  queue_.push_back(&waiter);
  waiter.queued = true;
  return true;
}

// Evicts one request of the client with the most requests, and of its user name with the most: the newest that is not a
// retry, otherwise the newest. False if that is the new one.
bool PasswordCheck::evict_for(Waiter& waiter) {
  std::map<std::string_view, unsigned> clients{{waiter.client, 1}};
  for (const Waiter* other : queue_) ++clients[other->client];
  std::string_view client = waiter.client;
  for (const auto& [name, count] : clients) {
    if (count > clients[client]) client = name;
  }
  std::vector<Waiter*> candidates;  // newest first
  if (client == waiter.client) candidates.push_back(&waiter);
  std::copy_if(queue_.rbegin(), queue_.rend(), std::back_inserter(candidates),
               [&](const Waiter* other) { return other->client == client; });
  std::map<std::string_view, unsigned> users;
  unsigned most = 0;
  for (const Waiter* other : candidates) most = std::max(most, ++users[other->user]);
  std::erase_if(candidates, [&](const Waiter* other) { return users[other->user] < most; });
  const auto not_retried = std::ranges::find_if(candidates, [](const Waiter* other) { return !other->retry; });
  Waiter& victim = not_retried == candidates.end() ? *candidates.front() : **not_retried;
  if (&victim == &waiter) return false;
  victim.rejected = true;
  dequeue(victim);
  return true;
}

bool PasswordCheck::was_rejected(const Key& key) const {
  if (rejected_.empty()) return false;
  const Slot slot = slot_of(key, rejected_.size());
  return rejected_[slot.place] == slot.tag;
}

PasswordCheck::Outcome PasswordCheck::busy(const Key& key) {
  if (limits_.rejected == 0) return Outcome::busy;
  if (rejected_.empty()) rejected_.resize(limits_.rejected);
  const Slot slot = slot_of(key, rejected_.size());
  rejected_[slot.place] = slot.tag;
  return Outcome::busy;
}

// The first one, or the first retry of its client if the first one is not a retry itself.
PasswordCheck::Waiter* PasswordCheck::next() const {
  if (queue_.empty()) return nullptr;
  Waiter* const front = queue_.front();
  if (front->retry) return front;
  const auto retry =
      std::ranges::find_if(queue_, [&](const Waiter* other) { return other->retry && other->client == front->client; });
  return retry == queue_.end() ? front : *retry;
}

// Swaps with the first one, so that requests of other clients move up by one.
void PasswordCheck::take_turn(Waiter& waiter) {
  if (!waiter.queued) return;
  std::iter_swap(queue_.begin(), std::ranges::find(queue_, &waiter));
  dequeue(waiter);
}

void PasswordCheck::dequeue(Waiter& waiter) {
  if (!waiter.queued) return;
  queue_.remove(&waiter);
  waiter.queued = false;
  changed_.notify_all();
}

PasswordCheck::Outcome PasswordCheck::check(const Users& users, const Credentials& credentials,
                                            std::string_view client) {
  const auto user = users.find(credentials.user);
  const std::string_view hash = user == users.end() ? std::string_view() : std::string_view(user->second);
  const Key key = key_of(credentials, hash);
  const auto deadline = std::chrono::steady_clock::now() + limits_.queue_timeout;

  std::unique_lock lock(mutex_);
  Waiter waiter{client, credentials.user, was_rejected(key)};
  auto leave = [this](Waiter* it) { dequeue(*it); };
  const std::unique_ptr<Waiter, decltype(leave)> entry(&waiter, leave);  // when this ends; the lock is held then
  // Ends when a decision is known or this thread may compute it.
  for (;;) {
    if (right_.contains(key)) return Outcome::right;
    if (wrong_.contains(key)) return Outcome::wrong;
    if (waiter.rejected) return busy(key);
    const bool same = computed_now_.contains(key);
    if (same) {
      dequeue(waiter);
      if (waiting_same_ >= limits_.waiting_same) return busy(key);
    } else if (computing_ < limits_.computations && (queue_.empty() || next() == &waiter)) {
      break;
    } else if (!waiter.queued && !enqueue(waiter)) {
      return busy(key);
    }
    waiting_same_ += same ? 1 : 0;
    const std::cv_status woken = changed_.wait_until(lock, deadline);
    waiting_same_ -= same ? 1 : 0;
    if (woken == std::cv_status::timeout) return busy(key);
  }
  take_turn(waiter);
  ++computing_;
  ++computations_;
  computed_now_.insert(key);
  lock.unlock();

  const auto finish = [&](bool decided, bool right) {
    lock.lock();
    --computing_;
    computed_now_.erase(key);
    if (decided) (right ? right_ : wrong_).add(key);
    lock.unlock();
    changed_.notify_all();
  };
  try {
    const bool right = matches_in_equal_time(users, credentials.password, hash);
    finish(true, right);
    return right ? Outcome::right : Outcome::wrong;
  } catch (...) {
    finish(false, false);
    throw;
  }
}

std::size_t PasswordCheck::computations() const {
  const std::lock_guard lock(mutex_);
  return computations_;
}

std::size_t PasswordCheck::waiting() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void Guard::handle(const HttpRequest& request, HttpResponse& response) {
  const std::shared_ptr<const LoadedWebConfig> loaded = config_.current();
  if (accepts(loaded->config, request, response)) next_.handle(request, response);
  add_headers(loaded, response);
  if (response.subscription) response.subscription->accepted_under = loaded;
}

Event Guard::next_event() {
  Event event = next_.next_event();
  event.accepted_under = config_.current();
  return event;
}

bool Guard::accepts(const WebConfig& config, const HttpRequest& request, HttpResponse& response) {
  if (!bucket_.take_token(config.rate_limit, std::chrono::steady_clock::now())) {
    response.fail(429, "too many requests (rate_limit)");
    return false;
  }
  if (config.users.empty()) return true;
  Credentials credentials;
  if (parse_basic_authorization(request.header("Authorization"), credentials)) {
    switch (passwords_.check(config.users, credentials, request.client())) {
      case PasswordCheck::Outcome::right: return true;
      case PasswordCheck::Outcome::wrong: break;
      case PasswordCheck::Outcome::busy:
        response.fail(503, "too many passwords are being checked");
        response.headers.emplace_back("Retry-After", "1");
        return false;
    }
  }
  response.fail(401, "a user name and a password are required");
  response.headers.emplace_back("WWW-Authenticate", R"(Basic realm="intel-gpu-exporter", charset="UTF-8")");
  return false;
}

}  // namespace igpu::exporter
