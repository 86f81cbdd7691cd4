/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the first GPU once.                                              one_shot_c [SIMULATED MACHINE] */
#include <igpu/c.h>
#include <stdio.h>

int main(int argc, char** argv) {
  igpu_options options = IGPU_INIT(igpu_options);
  igpu_error error = IGPU_INIT(igpu_error);
  igpu_gpu* gpu;
  igpu_snapshot* now;
  size_t count, i;
  if (argc > 1) options.simulate = argv[1]; /* "rack"; without it, this machine */
  if (igpu_open(NULL, &options, &gpu, &error) < 0) {
    fprintf(stderr, "%s; %s\n", error.message, error.hint);
    return 1;
  }
  if (igpu_read(gpu, &now, &error) < 0) {
    fprintf(stderr, "%s; %s\n", error.message, error.hint);
    igpu_close(gpu);
    return 1;
  }
  if (igpu_field_count(now, "engine.busy", &count) != IGPU_OK) printf("the load of the engines is not available\n");
  for (i = 0; i < count; ++i) {
    igpu_field engine = IGPU_INIT(igpu_field);
    if (igpu_field_at(now, "engine.busy", i, &engine) == 0 && engine.value.state == IGPU_OK)
      printf("%s: %.1f %%\n", engine.labels, 100 * engine.value.value);
  }
  igpu_snapshot_free(now);
  igpu_close(gpu);
  return 0;
}
