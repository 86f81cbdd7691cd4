/* SPDX-License-Identifier: Apache-2.0 */
/* CivetWeb, unmodified, as one compilation unit with a name for its request parser, which is static. */
#include "civetweb_parser.h"

#include "civetweb.c"

int igpu_civetweb_parse_request(char *head, int size, struct mg_request_info *request) {
  return parse_http_request(head, size, request);
}
