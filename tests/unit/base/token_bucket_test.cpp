// SPDX-License-Identifier: Apache-2.0
#include "igpu/token_bucket.h"

#include <doctest/doctest.h>

using namespace igpu;
using namespace std::chrono_literals;

namespace {

int taken(TokenBucket& bucket, const RateLimit& limit, TokenBucket::Time now, int tries = 10) {
  int count = 0;
  for (int i = 0; i < tries; ++i) count += bucket.take_token(limit, now) ? 1 : 0;
  return count;
}

}  // namespace

TEST_SUITE_BEGIN("token_bucket");

TEST_CASE("a burst at once, then one per interval, never more than a burst") {
  TokenBucket bucket;
  const RateLimit limit{1s, 3};
  const TokenBucket::Time start(100s);
  CHECK(taken(bucket, limit, start) == 3);
  CHECK(taken(bucket, limit, start + 999ms) == 0);
  CHECK(taken(bucket, limit, start + 1s) == 1);
  CHECK(taken(bucket, limit, start + 3s) == 2);
  CHECK(taken(bucket, limit, start + 1h) == 3);
}

TEST_CASE("no interval: no limit") {
  TokenBucket bucket;
  CHECK(taken(bucket, {}, TokenBucket::Time(1s)) == 10);
  CHECK(taken(bucket, {0s, 5}, TokenBucket::Time(1s)) == 10);
}

TEST_CASE("a changed limit starts again") {
  TokenBucket bucket;
  CHECK(taken(bucket, {1h, 1}, TokenBucket::Time(100s)) == 1);
  CHECK(taken(bucket, {1h, 2}, TokenBucket::Time(100s)) == 2);
}

TEST_CASE("very long intervals with large bursts do not overflow") {
  TokenBucket bucket;
  const RateLimit limit{std::chrono::hours(24 * 365), 1'000'000};
  CHECK(taken(bucket, limit, TokenBucket::Time(100s)) == 10);
}

TEST_SUITE_END();
