// SPDX-License-Identifier: Apache-2.0
/*
 * gpuload: be one or more clients of the fake GPU.
 *   gpuload [options] 'render=30 video=75 mem=512M' [-- command...]
 * With a command: run it while the load stands, return its exit code.
 * Without: print "ready" and hold the load until killed (or --seconds).
 *   --dev PATH     node to open (default /dev/dri/renderD128)
 *   --opens N      open the node N times per process: N clients (default 1)
 *   --procs M      M processes, each with its own opens (default 1)
 *   --dups K       K extra dup()s of every descriptor (same client)
 *   --heirs C      C forked children that inherit the descriptors (same client)
 *   --name NAME    process name (comm and argv[0])
 *   --uid U        run as user U (group U, no supplementary groups) once opened
 *   --seconds S    stop by itself
 *   --churn MS     close and reopen everything every MS milliseconds (new client ids)
 * The load text goes to every open as such; see README for its grammar.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *dev = "/dev/dri/renderD128", *name, *load = "";
static int opens = 1, procs = 1, dups, heirs, uid = -1, seconds, churn;
static char *argv_start, *argv_end;
static pid_t *pids;

static void die(const char *what) {
  fprintf(stderr, "gpuload: %s: %s\n", what, strerror(errno));
  _exit(1);
}

static void nap(int ms) {
  struct timespec t = {ms / 1000, (ms % 1000) * 1000000L};

  nanosleep(&t, NULL);
}

static long long now_ms(void) {
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void rename_me(void) {
  if (!name) return;
  prctl(PR_SET_NAME, name, 0, 0, 0);
  memset(argv_start, 0, argv_end - argv_start);
  strncpy(argv_start, name, argv_end - argv_start - 1);
}

static void open_all(int *fd) {
  for (int i = 0; i < opens; i++) {
    fd[i] = open(dev, O_RDWR | O_CLOEXEC);
    if (fd[i] < 0) die(dev);
    if (*load && write(fd[i], load, strlen(load)) < 0) die("setting the load");
  }
}

static void hold(int ready) {
  const int step = churn ? churn : 100;
  int *fd = calloc(opens, sizeof(*fd));
  long long end;

  rename_me();
  open_all(fd);
  end = now_ms() + seconds * 1000LL;
  for (int i = 0; i < opens; i++)
    for (int k = 0; k < dups; k++)
      if (dup(fd[i]) < 0) die("dup");
  if (uid >= 0 && (setgroups(0, NULL) || setresgid(uid, uid, uid) || setresuid(uid, uid, uid))) die("setuid");
  prctl(PR_SET_PDEATHSIG, SIGTERM); /* a change of user clears it */
  for (int k = 0; k < heirs; k++) {
    pid_t p = fork();

    if (p < 0) die("fork");
    if (!p) {
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      for (;;) pause();
    }
  }
  if (write(ready, "r", 1) != 1) die("ready");
  close(ready);
  for (;;) {
    long long left = seconds ? end - now_ms() : LLONG_MAX;

    if (left <= 0) _exit(0);
    nap(left < step ? left : step);
    if (churn) {
      for (int i = 0; i < opens; i++) close(fd[i]);
      open_all(fd);
    }
  }
}

static volatile sig_atomic_t told;

static void on_term(int sig) {
  told = sig;
  for (int i = 0; i < procs; i++)
    if (pids[i] > 0) kill(pids[i], SIGTERM);
}

int main(int argc, char **argv) {
  int i, p[2], status = 0, got = 0;
  char **cmd = NULL, c;

  argv_start = argv[0];
  argv_end = argv[argc - 1] + strlen(argv[argc - 1]) + 1;
  for (i = 1; i < argc; i++) {
    char *a = argv[i], *v = i + 1 < argc ? argv[i + 1] : "";

    if (!strcmp(a, "--")) {
      cmd = argv + i + 1;
      break;
    }
    if (strncmp(a, "--", 2)) {
      load = strdup(a);
      continue;
    }
    i++;
    if (!strcmp(a, "--dev"))
      dev = strdup(v);
    else if (!strcmp(a, "--name"))
      name = strdup(v);
    else if (!strcmp(a, "--opens"))
      opens = atoi(v);
    else if (!strcmp(a, "--procs"))
      procs = atoi(v);
    else if (!strcmp(a, "--dups"))
      dups = atoi(v);
    else if (!strcmp(a, "--heirs"))
      heirs = atoi(v);
    else if (!strcmp(a, "--uid"))
      uid = atoi(v);
    else if (!strcmp(a, "--seconds"))
      seconds = atoi(v);
    else if (!strcmp(a, "--churn"))
      churn = atoi(v);
    else {
      fprintf(stderr, "gpuload: what is %s?\n", a);
      return 2;
    }
  }
  pids = calloc(procs, sizeof(*pids));
  if (pipe(p)) die("pipe");
  signal(SIGTERM, on_term);
  signal(SIGINT, on_term);
  for (i = 0; i < procs; i++) {
    pids[i] = fork();
    if (pids[i] < 0) die("fork");
    if (!pids[i]) {
      signal(SIGTERM, SIG_DFL);
      signal(SIGINT, SIG_DFL);
      prctl(PR_SET_PDEATHSIG, SIGTERM);
      close(p[0]);
      hold(p[1]);
    }
  }
  close(p[1]);
  while (got < procs && read(p[0], &c, 1) == 1) got++;
  if (got < procs) {
    for (i = 0; i < procs; i++) kill(pids[i], SIGTERM);
    return 1;
  }
  if (cmd && *cmd) {
    pid_t k = fork();

    if (!k) {
      signal(SIGTERM, SIG_DFL);
      signal(SIGINT, SIG_DFL);
      execvp(*cmd, cmd);
      die(*cmd);
    }
    while (waitpid(k, &status, 0) < 0 && errno == EINTR && !told)
      ;
    for (i = 0; i < procs; i++) kill(pids[i], SIGTERM);
    while (wait(NULL) > 0)
      ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  printf("ready");
  for (i = 0; i < procs; i++) printf(" %d", pids[i]);
  printf("\n");
  fflush(stdout);
  while (wait(NULL) > 0 || errno == EINTR)
    ;
  return 0;
}
