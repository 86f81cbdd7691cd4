/* SPDX-License-Identifier: Apache-2.0 */
/* CivetWeb as one compilation unit with a door for sockets that were accepted elsewhere: its queue is static.
 * civetweb.cmake puts the call of igpu_listen_nowhere() into set_ports_option(). */
#include <sys/eventfd.h>

/* How often CivetWeb's waits look at the stop flag, in milliseconds. A context that listens nowhere is woken instead.
 */
static int igpu_stop_flag_interval = 2000;
#define SOCKET_TIMEOUT_QUANTUM igpu_stop_flag_interval

/* Its largest local arrays, all of them for files and error pages that are never made: each worker would touch them
 * once and keep the pages. */
#define MG_BUF_LEN (1024 * 2)

struct mg_context;
struct igpu_idle_worker;
static int igpu_listen_nowhere(struct mg_context *ctx);
static void igpu_wait_for_socket(struct mg_context *ctx);
static int igpu_call_idle_worker(struct mg_context *ctx);

#include "civetweb.c"
#include "civetweb_adopt.h"

/* One "listening socket" that is an eventfd: it gives the accepting thread something to sleep on. */
static int igpu_listen_nowhere(struct mg_context *ctx) {
  ctx->listening_sockets = (struct socket *)mg_calloc_ctx(1, sizeof(struct socket), ctx);
  ctx->listening_socket_fds = (struct mg_pollfd *)mg_calloc_ctx(1, sizeof(struct mg_pollfd), ctx);
  if (ctx->listening_sockets == NULL || ctx->listening_socket_fds == NULL) {
    return 0;
  }
  ctx->listening_sockets[0].sock = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (ctx->listening_sockets[0].sock < 0) {
    return 0;
  }
  ctx->num_listening_sockets = 1;
  igpu_stop_flag_interval = 3600 * 1000;
  return 1;
}

/* A worker without work, on its own stack; the context's list begins with the one that became idle last. */
struct igpu_idle_worker {
  pthread_cond_t woken;
  int called;
  struct igpu_idle_worker *next;
};

/* By a worker that holds the context's thread_mutex. */
static void igpu_wait_for_socket(struct mg_context *ctx) {
  struct igpu_idle_worker me = {PTHREAD_COND_INITIALIZER, 0, ctx->idle_workers};
  ctx->idle_workers = &me;
  while (!me.called) {
    pthread_cond_wait(&me.woken, &ctx->thread_mutex);
  }
  pthread_cond_destroy(&me.woken);
}

/* By a thread that holds the context's thread_mutex; 0 if nobody is idle: who becomes so looks at the queue first. */
static int igpu_call_idle_worker(struct mg_context *ctx) {
  struct igpu_idle_worker *worker = ctx->idle_workers;
  if (worker == NULL) {
    return 0;
  }
  ctx->idle_workers = worker->next;
  worker->called = 1;
  pthread_cond_signal(&worker->woken);
  return 1;
}

void igpu_civetweb_adopt(struct mg_context *context, int connected) {
  struct socket adopted;
  memset(&adopted, 0, sizeof(adopted));
  adopted.sock = connected;
  adopted.lsa.sa.sa_family = AF_UNIX;
  adopted.rsa.sa.sa_family = AF_UNIX;
  produce_socket(context, &adopted);
}

int igpu_civetweb_socket(const struct mg_connection *connection) { return connection->client.sock; }

void igpu_civetweb_stop(struct mg_context *context) {
  /* It stays readable: the thread looks at its stop flag again and again until mg_stop has set it. */
  (void)eventfd_write(context->listening_sockets[0].sock, 1);
  mg_stop(context);
}
