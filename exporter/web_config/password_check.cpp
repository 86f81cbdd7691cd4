// SPDX-License-Identifier: Apache-2.0
#include "web_config/password_check.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <string.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <stdexcept>

#include "text/ascii.h"
#include "web_config/bcrypt.h"

namespace igpu::exporter {
namespace {

void wipe(std::string& text) { ::explicit_bzero(text.data(), text.size()); }

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

// The standard alphabet with its padding. False: text is something else; out is garbage then.
bool decode_base64(std::string_view text, std::string& out) {
  if (text.size() % 4 != 0) return false;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const std::string_view group = text.substr(at, 4);
    const bool last = at + 4 == text.size();
    const std::size_t padding = !last || group[3] != '=' ? 0 : group[2] == '=' ? 2 : 1;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const int value = i < 4 - padding ? base64_value(group[i]) : 0;
      if (value < 0) return false;
      bits = bits << 6U | static_cast<std::uint32_t>(value);
    }
    for (std::size_t i = 0; i < 3 - padding; ++i) out += static_cast<char>(bits >> (16 - 8 * i) & 0xFFU);
  }
  return true;
}

void append_with_length(std::string& out, std::string_view text) {
  const std::uint64_t size = text.size();
  out.append(reinterpret_cast<const char*>(&size), sizeof size);
  out.append(text);
}

// As long as a wrong password of the user with the costliest hash, of whichever user this is: a computation of cost c
// is followed by those of c, c + 1, ... up to the highest cost, which together take as long as one of the highest.
bool matches_in_equal_time(const PasswordCheck::Users& users, std::string_view password, std::string_view hash) {
  unsigned highest = 0;
  for (const auto& [user, stored] : users) highest = std::max(highest, bcrypt_cost(stored));
  if (hash.empty()) {
    (void)bcrypt_matches(password, bcrypt_decoy(highest));
    return false;
  }
  if (bcrypt_matches(password, hash)) return true;
  for (unsigned cost = bcrypt_cost(hash); cost < highest; ++cost) {
    (void)bcrypt_matches(password, bcrypt_decoy(cost));
  }
  return false;
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
  if (most_ == 0 || contains(key)) return;
  if (index_.size() >= most_) {
    index_.erase(by_use_.back());
    by_use_.pop_back();
  }
  by_use_.push_front(key);
  index_.emplace(key, by_use_.begin());
}

PasswordCheck::PasswordCheck(const Limits& limits) : limits_(limits), right_(limits.kept), wrong_(limits.kept) {
  if (RAND_bytes(secret_.data(), static_cast<int>(secret_.size())) != 1) {
    throw std::runtime_error("OpenSSL gives no random numbers: the cache of passwords cannot be protected");
  }
}

PasswordCheck::~PasswordCheck() { ::explicit_bzero(secret_.data(), secret_.size()); }

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

// Leaves the queue at the latest when check() ends; the lock is held whenever it stands there.
class PasswordCheck::Place {
 public:
  Place(PasswordCheck& owner, Waiter& waiter) : owner_(owner), waiter_(waiter) {}
  ~Place() { owner_.dequeue(waiter_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  PasswordCheck& owner_;
  Waiter& waiter_;
};

bool PasswordCheck::enqueue(Waiter& waiter) {
  if (queue_.size() >= limits_.waiting && !make_room_for(waiter)) return false;
  queue_.push_back(&waiter);
  waiter.queued = true;
  return true;
}

// Sends away one request of the client, and of its users those, with most of them: the newest that came for the first
// time, otherwise the newest. False if that is the new one.
bool PasswordCheck::make_room_for(Waiter& waiter) {
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
  const auto first_time =
      std::find_if(candidates.begin(), candidates.end(), [](const Waiter* other) { return !other->again; });
  Waiter& victim = first_time == candidates.end() ? *candidates.front() : **first_time;
  if (&victim == &waiter) return false;
  victim.sent_away = true;
  dequeue(victim);
  return true;
}

namespace {

struct Slot {
  std::size_t place;
  std::uint16_t tag;
};

// The key is as good as random. A tag is never 0.
template <class Key>
Slot slot_of(const Key& key, std::size_t places) {
  std::uint64_t place = 0;
  std::uint16_t tag = 0;
  std::memcpy(&place, key.data(), sizeof place);
  std::memcpy(&tag, key.data() + sizeof place, sizeof tag);
  return {static_cast<std::size_t>(place % places), std::max<std::uint16_t>(tag, 1)};
}

}  // namespace

bool PasswordCheck::was_sent_away(const Key& key) const {
  if (sent_away_.empty()) return false;
  const Slot slot = slot_of(key, sent_away_.size());
  return sent_away_[slot.place] == slot.tag;
}

PasswordCheck::Outcome PasswordCheck::busy(const Key& key) {
  if (limits_.sent_away == 0) return Outcome::busy;
  if (sent_away_.empty()) sent_away_.resize(limits_.sent_away);
  const Slot slot = slot_of(key, sent_away_.size());
  sent_away_[slot.place] = slot.tag;
  return Outcome::busy;
}

// The one in front, unless one of the same client came again and that one did not.
PasswordCheck::Waiter* PasswordCheck::next() const {
  if (queue_.empty()) return nullptr;
  Waiter* const front = queue_.front();
  if (front->again) return front;
  const auto again = std::find_if(queue_.begin(), queue_.end(),
                                  [&](const Waiter* other) { return other->again && other->client == front->client; });
  return again == queue_.end() ? front : *again;
}

// Who stood in front gets the place of who goes before it, so that those of other clients are one turn nearer.
void PasswordCheck::take_turn(Waiter& waiter) {
  if (!waiter.queued) return;
  std::iter_swap(queue_.begin(), std::find(queue_.begin(), queue_.end(), &waiter));
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
  const auto until = std::chrono::steady_clock::now() + limits_.patience;

  std::unique_lock lock(mutex_);
  Waiter waiter{client, credentials.user, was_sent_away(key)};
  const Place place(*this, waiter);
  // Until a decision is known or this thread may compute it.
  for (;;) {
    if (right_.contains(key)) return Outcome::right;
    if (wrong_.contains(key)) return Outcome::wrong;
    if (waiter.sent_away) return busy(key);
    const bool same = under_way_.contains(key);
    if (same) {
      dequeue(waiter);
      if (waiting_same_ >= limits_.waiting_same) return busy(key);
    } else if (computing_ < limits_.computations && (queue_.empty() || next() == &waiter)) {
      break;
    } else if (!waiter.queued && !enqueue(waiter)) {
      return busy(key);
    }
    waiting_same_ += same ? 1 : 0;
    const std::cv_status woken = changed_.wait_until(lock, until);
    waiting_same_ -= same ? 1 : 0;
    if (woken == std::cv_status::timeout) return busy(key);
  }
  take_turn(waiter);
  ++computing_;
  ++computations_;
  under_way_.insert(key);
  lock.unlock();

  const auto finish = [&](bool decided, bool right) {
    lock.lock();
    --computing_;
    under_way_.erase(key);
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

}  // namespace igpu::exporter
