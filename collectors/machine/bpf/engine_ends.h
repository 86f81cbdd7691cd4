/* SPDX-License-Identifier: Apache-2.0 OR BSD-3-Clause OR GPL-2.0-only */
/*
 * When the last job of each engine ended: a hash table of sets. Included by C++ and BPF. If more engines of one set are
 * busy at once than the set has room for, the last ends of some are forgotten.
 */
#ifndef IGPU_ENGINE_ENDS_H
#define IGPU_ENGINE_ENDS_H

#include <linux/types.h>

/* NOLINTBEGIN(readability-identifier-naming): shared with C */
enum { ENGINE_SETS = 1024, ENGINE_WAYS = 4 };

struct engine_end {
  __u64 engine; /* 0: the place is free */
  __u64 end;    /* CLOCK_MONOTONIC, ns */
};

struct engine_set {
  struct engine_end way[ENGINE_WAYS];
};
/* NOLINTEND(readability-identifier-naming) */

/* The engine's place in its set; if it has none, the one whose engine has rested longest. */
static inline __attribute__((always_inline)) struct engine_end* place_of_engine(struct engine_set* set, __u64 engine) {
  struct engine_end* place = &set->way[0];
  for (__u32 i = 0; i < ENGINE_WAYS; ++i) {
    if (set->way[i].engine == engine) return &set->way[i];
    if (set->way[i].end < place->end) place = &set->way[i];
  }
  return place;
}

#endif
