/* SPDX-License-Identifier: Apache-2.0 */
/* What civetweb_adopt.c adds to CivetWeb: connections that somebody else has accepted. */
#ifndef IGPU_CIVETWEB_ADOPT_H
#define IGPU_CIVETWEB_ADOPT_H

#include <civetweb.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A value of the option "listening_ports": no address at all. */
#define IGPU_CIVETWEB_NOWHERE "nowhere"

/* The connected, non-blocking socket becomes a connection of the context, which closes it. Waits while the queue
 * ("connection_queue") is full. */
void igpu_civetweb_adopt(struct mg_context *context, int connected);

/* The socket of a connection: what igpu_civetweb_adopt got. */
int igpu_civetweb_socket(const struct mg_connection *connection);

/* mg_stop, without waiting until the accepting thread looks up by itself. */
void igpu_civetweb_stop(struct mg_context *context);

#ifdef __cplusplus
}
#endif

#endif
