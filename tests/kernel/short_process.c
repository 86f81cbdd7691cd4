/* SPDX-License-Identifier: Apache-2.0
 *
 * A process as small as processes get, linked statically: thousands of them cost neither memory nor time.
 *
 *   short_process sleep NAME [FILE]        opens FILE, takes NAME, and waits for a signal
 *   short_process as UID WHAT...           the same as user UID
 *   short_process exit                     ends at once
 *   short_process churn                    starts processes that end at once, one after the other, until it is killed
 *   short_process start COUNT FOLDER EACH  starts COUNT processes one after the other. Each EACHth opens a file of
 * FOLDER and lives for some milliseconds. Then writes what the kernel charges for all of them, in microseconds, and
 * waits for the end of its input
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char* const kNoEnvironment[] = {NULL};

static void start(char* const arguments[]) {
  const pid_t child = vfork();
  if (child == 0) {
    execve("/proc/self/exe", arguments, kNoEnvironment);
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) _exit(2);
}

static long microseconds(int who) {
  struct rusage use;
  getrusage(who, &use);
  return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000L + use.ru_utime.tv_usec + use.ru_stime.tv_usec;
}

static int start_many(int count, const char* folder, int each) {
  char file[4096];
  char name[16];
  for (int i = 0; i < count; ++i) {
    if (i % each == 0) {
      snprintf(file, sizeof file, "%s/%d/renderD128", folder, i / each);
      snprintf(name, sizeof name, "job %d", i / each);
      char* const job[] = {"short_process", "briefly", name, file, NULL};
      start(job);
    } else {
      char* const job[] = {"short_process", "exit", NULL};
      start(job);
    }
  }
  printf("%ld\n", microseconds(RUSAGE_SELF) + microseconds(RUSAGE_CHILDREN));
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0;
}

static void churn(void) {
  for (;;) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child < 0 || waitpid(child, NULL, 0) != child) _exit(2);
  }
}

int main(int count, char** arguments) {
  const char* what = count > 1 ? arguments[1] : "";
  if (strcmp(what, "exit") == 0) return 0;
  if (count > 3 && strcmp(what, "as") == 0) {
    /* exec: the files in /proc of a process that only changed its user stay root's. */
    if (setuid((uid_t)strtoul(arguments[2], NULL, 10)) != 0) return 4;
    execve("/proc/self/exe", arguments + 2, kNoEnvironment);
    return 5;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (strcmp(what, "churn") == 0) churn();
  if (count == 5 && strcmp(what, "start") == 0) return start_many(atoi(arguments[2]), arguments[3], atoi(arguments[4]));
  if (count > 3 && open(arguments[3], O_RDONLY) < 0) return 3;
  if (count > 2) prctl(PR_SET_NAME, arguments[2], 0, 0, 0);
  if (strcmp(what, "briefly") == 0) {
    const struct timespec some = {0, 5000000};
    nanosleep(&some, NULL);
    return 0;
  }
  if (strcmp(what, "sleep") != 0) return 1;
  for (;;) pause();
}
