/* SPDX-License-Identifier: Apache-2.0
 *
 * A process as small as processes get, linked statically: thousands of them cost neither memory nor time.
 *
 *   short_process sleep [NAME [FILE]]      opens FILE, takes NAME, and waits for a signal
 *   short_process as UID WHAT...           the same as user UID
 *   short_process churn                    starts processes that end at once, one after the other, until it is killed
 *   short_process start COUNT FOLDER EACH  starts COUNT processes, a few at a time. Most end at once; each EACHth opens
 *                                          a file of FOLDER and lives for some milliseconds. Then writes what the
 * kernel charges for all of them, in microseconds, and waits for the end of its input short_process crowd COUNT FOLDER
 * EACH FIRST NAMES starts COUNT processes that sleep under NAMES names; each EACHth opens a file of FOLDER, the first
 * one the file FIRST. Ends them at the end of its input
 *
 * It never waits for one process before it starts the next: on a busy machine each wait may take many milliseconds.
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

enum { kAtATime = 64 };

static char* const kNoEnvironment[] = {NULL};

static long microseconds(int who) {
  struct rusage use;
  getrusage(who, &use);
  return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000L + use.ru_utime.tv_usec + use.ru_stime.tv_usec;
}

static void take(const char* what, int number, const char* folder, int file) {
  char text[4096];
  snprintf(text, sizeof text, "%s %d", what, number);
  prctl(PR_SET_NAME, text, 0, 0, 0);  // before a scan can find the client under another name
  snprintf(text, sizeof text, "%s/%d/renderD128", folder, file);
  if (open(text, O_RDONLY) < 0) _exit(3);
}

static void wait_for_end_of_input(void) {
  while (getchar() != EOF) {
  }
}

static void wait_for_child(void) {
  int status = 0;
  if (wait(&status) < 0 || status != 0) _exit(2);
}

static int start_many(int count, const char* folder, int each) {
  for (int i = 0; i < count; ++i) {
    if (i >= kAtATime) wait_for_child();
    const pid_t child = fork();
    if (child < 0) return 2;
    if (child > 0) continue;
    if (i % each == 0) {
      take("job", i / each, folder, i / each);
      const struct timespec some = {0, 5000000};
      nanosleep(&some, NULL);
    }
    _exit(0);
  }
  for (int i = 0; i < count && i < kAtATime; ++i) wait_for_child();
  printf("%ld\n", microseconds(RUSAGE_SELF) + microseconds(RUSAGE_CHILDREN));
  fflush(stdout);
  wait_for_end_of_input();
  return 0;
}

static int crowd(int count, const char* folder, int each, int first, int names) {
  const pid_t self = getpid();
  pid_t* children = calloc((size_t)count, sizeof *children);
  for (int i = 0; i < count; ++i) {
    children[i] = fork();
    if (children[i] < 0) return 2;
    if (children[i] > 0) continue;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != self) _exit(0);
    if (i % each == 0) take("user", i / each % names, folder, first + i / each);
    for (;;) pause();
  }
  wait_for_end_of_input();
  for (int i = 0; i < count; ++i) kill(children[i], SIGKILL);
  for (int i = 0; i < count; ++i) waitpid(children[i], NULL, 0);
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
  if (count > 3 && strcmp(what, "as") == 0) {
    /* exec: the files in /proc of a process that only changed its user stay root's. */
    if (setuid((uid_t)strtoul(arguments[2], NULL, 10)) != 0) return 4;
    execve("/proc/self/exe", arguments + 2, kNoEnvironment);
    return 5;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (strcmp(what, "churn") == 0) churn();
  if (count == 5 && strcmp(what, "start") == 0) return start_many(atoi(arguments[2]), arguments[3], atoi(arguments[4]));
  if (count == 7 && strcmp(what, "crowd") == 0)
    return crowd(atoi(arguments[2]), arguments[3], atoi(arguments[4]), atoi(arguments[5]), atoi(arguments[6]));
  if (strcmp(what, "sleep") != 0) return 1;
  if (count > 2) prctl(PR_SET_NAME, arguments[2], 0, 0, 0);
  if (count > 3 && open(arguments[3], O_RDONLY) < 0) return 3;
  for (;;) pause();
}
