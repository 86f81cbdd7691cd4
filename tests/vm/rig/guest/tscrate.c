// SPDX-License-Identifier: Apache-2.0
/* tscrate: how fast this machine's TSC runs, in kHz. Runs on the host. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

static uint64_t now(void) {
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* One moment on both clocks: of many tries the one that was least disturbed. */
static void both(uint64_t *ns, uint64_t *tsc) {
  uint64_t best = UINT64_MAX;

  for (int i = 0; i < 1000; i++) {
    uint64_t a = __rdtsc(), n = now(), b = __rdtsc();

    if (b - a < best) {
      best = b - a;
      *ns = n;
      *tsc = a + (b - a) / 2;
    }
  }
}

int main(void) {
  struct timespec nap = {0, 300000000};
  uint64_t n0, t0, n1, t1;

  both(&n0, &t0);
  nanosleep(&nap, NULL);
  both(&n1, &t1);
  printf("%.0f\n", (double)(t1 - t0) * 1e6 / (double)(n1 - n0));
  return 0;
}
