// SPDX-License-Identifier: Apache-2.0
/* gpujobs: submit scripted jobs to /dev/gpujobs (see ../module/gpujobs.c).
 *   gpujobs [--name COMM] [--threads N] [--repeat N] [--wait last|each|none] 'SCRIPT'
 * SCRIPT is a list of words, run in order by every thread on one open file (thread t adds t to every context):
 *   ENGINE[.CTX]:LEN[xN][@ENGINE[.CTX]]   submit N jobs (1) of LEN (us, ms) on the engine; @ waits for the last job
 *                                         of that queue; ENGINE!… a job that hangs; ENGINE?… after a memory error (xe);
 *                                         ENGINE+… ask for the interrupt
 *   sleep:LEN    wait             drain   wait for the newest job
 * Engines: rcs0 bcs0 vcs0 vcs1 vecs0 ccs0. Prints one line when done: jobs submitted and seconds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "gpujobs_abi.h"

static const char *const engines[] = {"rcs0", "bcs0", "vcs0", "vcs1", "vecs0", "ccs0"};
static const char *script;
static int fd, repeat = 1, wait_each, wait_last = 1;
static unsigned long long jobs;

static void die(const char *what) {
  fprintf(stderr, "gpujobs: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int queue_of(const char **p, unsigned *engine, unsigned *context) {
  for (unsigned e = 0; e < sizeof(engines) / sizeof(*engines); e++) {
    size_t n = strlen(engines[e]);

    if (strncmp(*p, engines[e], n)) continue;
    *p += n;
    *engine = e;
    *context = **p == '.' ? strtoul(*p + 1, (char **)p, 10) : 0;
    return 1;
  }
  return 0;
}

static unsigned long long length(const char **p) {
  unsigned long long n = strtoull(*p, (char **)p, 10);

  if (!strncmp(*p, "us", 2)) return *p += 2, n * 1000;
  if (!strncmp(*p, "ms", 2)) return *p += 2, n * 1000000;
  errno = EINVAL;
  die("a length needs us or ms");
  return 0;
}

static void wait_for(unsigned long long context, unsigned long long seqno) {
  struct gpujobs_wait w = {context, seqno, 20000000000ULL};

  if (ioctl(fd, GPUJOBS_IOC_WAIT, &w) && errno != ENOENT) die("wait");
}

static void *run(void *arg) {
  unsigned shift = (unsigned)(size_t)arg;
  struct gpujobs_submit last = {0};

  for (int r = 0; r < repeat; r++) {
    for (const char *p = script; *p;) {
      struct gpujobs_submit s = {0};
      unsigned long long count = 1;

      p += strspn(p, " \n");
      if (!*p) break;
      if (!strncmp(p, "sleep:", 6)) {
        p += 6;
        unsigned long long ns = length(&p);
        struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};

        nanosleep(&t, NULL);
        continue;
      }
      if (!strncmp(p, "drain", 5)) {
        p += 5;
        wait_for(last.fence_context, last.fence_seqno);
        continue;
      }
      if (!queue_of(&p, &s.engine, &s.context)) {
        errno = EINVAL;
        die(p);
      }
      s.context += shift;
      if (*p == '!') s.flags |= GPUJOBS_HANG, p++;
      if (*p == '?') s.flags |= GPUJOBS_HANG | GPUJOBS_CAT, p++;
      if (*p == '+') s.flags |= GPUJOBS_SIGNAL, p++;
      if (*p++ != ':') {
        errno = EINVAL;
        die("no ':' after the engine");
      }
      s.exec_ns = length(&p);
      if (*p == 'x') count = strtoull(p + 1, (char **)&p, 10);
      if (*p == '@') {
        p++;
        s.flags |= GPUJOBS_DEP;
        if (!queue_of(&p, &s.dep_engine, &s.dep_context)) die("no queue after @");
        s.dep_context += shift;
      }
      for (unsigned long long i = 0; i < count; i++) {
        s.tag = __atomic_add_fetch(&jobs, 1, __ATOMIC_RELAXED);
        if (ioctl(fd, GPUJOBS_IOC_SUBMIT, &s)) die("submit");
        last = s;
        if (wait_each) wait_for(s.fence_context, s.fence_seqno);
      }
    }
  }
  if (wait_last) wait_for(last.fence_context, last.fence_seqno);
  return NULL;
}

int main(int argc, char **argv) {
  struct timespec a, b;
  pthread_t t[16];
  int threads = 1;

  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--name") && i + 1 < argc)
      prctl(PR_SET_NAME, argv[++i], 0, 0, 0);
    else if (!strcmp(argv[i], "--threads") && i + 1 < argc)
      threads = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--repeat") && i + 1 < argc)
      repeat = atoi(argv[++i]);
    else if (!strcmp(argv[i], "--wait") && i + 1 < argc)
      wait_each = !strcmp(argv[++i], "each"), wait_last = strcmp(argv[i], "none");
    else
      script = argv[i];
  }
  if (!script || threads < 1 || threads > 16) {
    fprintf(stderr, "usage: gpujobs [--name COMM] [--threads N] [--repeat N] [--wait last|each|none] 'SCRIPT'\n");
    return 2;
  }
  fd = open("/dev/gpujobs", O_RDWR | O_CLOEXEC);
  if (fd < 0) die("/dev/gpujobs");
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (int i = 1; i < threads; i++)
    if (pthread_create(&t[i], NULL, run, (void *)(size_t)i)) die("thread");
  run(NULL);
  for (int i = 1; i < threads; i++) pthread_join(t[i], NULL);
  clock_gettime(CLOCK_MONOTONIC, &b);
  printf("%llu jobs in %.3f s\n", jobs, (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9);
  return 0;
}
