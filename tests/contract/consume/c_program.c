/* SPDX-License-Identifier: Apache-2.0 */
/* The C interface, compiled by a C compiler: the header's own example. */
#include <stdio.h>

#include "igpu/c.h"

int main(void) {
  igpu_options options = IGPU_INIT(igpu_options);
  igpu_error error = IGPU_INIT(igpu_error);
  igpu_gpu* gpu;
  igpu_snapshot* now;
  igpu_value busy;
  options.simulate = "rack";
  if (igpu_open(NULL, &options, &gpu, &error) < 0 || igpu_read(gpu, &now, &error) < 0) {
    fprintf(stderr, "%s; %s\n", error.message, error.hint);
    return 1;
  }
  busy = igpu_get(now, "engine.video.busy");
  printf("igpu %s: video engines %.0f %%\n", igpu_version(), 100 * busy.value);
  igpu_snapshot_free(now);
  igpu_close(gpu);
  return busy.state == IGPU_OK ? 0 : 1;
}
