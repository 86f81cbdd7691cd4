/* SPDX-License-Identifier: Apache-2.0 */
/* What the exporter uses of CivetWeb: its parser of requests, and of civetweb.h the functions that decode URLs and name
 * status codes. */
#ifndef IGPU_CIVETWEB_PARSER_H
#define IGPU_CIVETWEB_PARSER_H

#include <civetweb.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Parses one whole request head (with its empty line) in place: the strings of *request point into it. Fills method,
 * URI, version and headers only. Returns the size of the head, or 0 or less if it is no request. */
int igpu_civetweb_parse_request(char *head, int size, struct mg_request_info *request);

#ifdef __cplusplus
}
#endif

#endif
