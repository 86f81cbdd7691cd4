// SPDX-License-Identifier: Apache-2.0
// Engines whose addresses have one hash keep their last ends apart: the next job's run begins there.
#include "machine/bpf/engine_ends.h"

#include <doctest/doctest.h>

namespace {

struct Ends {
  engine_set set{};

  void job_ends(__u64 engine, __u64 now) { *place_of_engine(&set, engine) = {engine, now}; }
  // 0: it is not known.
  __u64 last_of(__u64 engine) {
    const engine_end& place = *place_of_engine(&set, engine);
    return place.engine == engine ? place.end : 0;
  }
};

}  // namespace

TEST_CASE("The end of a job on another engine of the set does not hide this engine's") {
  Ends ends;
  for (__u64 round = 0; round < 8; ++round) {
    const __u64 now = 1000 * round;
    ends.job_ends(0xa1, now + 8);
    ends.job_ends(0xb2, now + 20);
    ends.job_ends(0xc3, now + 32);
    CHECK(ends.last_of(0xb2) == now + 20);
    CHECK(ends.last_of(0xa1) == now + 8);
  }
}

TEST_CASE("Where a set is full, the engine that has rested longest loses its place") {
  Ends ends;
  for (__u64 engine = 1; engine <= ENGINE_WAYS; ++engine) ends.job_ends(engine, 10 * engine);
  ends.job_ends(1, 100);
  ends.job_ends(99, 110);
  CHECK(ends.last_of(1) == 100);
  CHECK(ends.last_of(2) == 0);
  CHECK(ends.last_of(3) == 30);
  CHECK(ends.last_of(99) == 110);
}

TEST_CASE("An engine that has run nothing has no last end") {
  Ends ends;
  CHECK(ends.last_of(7) == 0);
  ends.job_ends(7, 5);
  CHECK(ends.last_of(8) == 0);
}
