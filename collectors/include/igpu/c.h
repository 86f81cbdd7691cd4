/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IGPU_C_H
#define IGPU_C_H

#include <stddef.h>
#include <stdint.h>

#include "igpu/export.h"

/*
 * The C interface of libigpu: the same GPUs and the same values as igpu/gpu.h, igpu/values.h and igpu/sampling.h, which
 * describe names, units and sources. Units are base units (seconds, bytes, hertz, watts, celsius); ratios are
 * 0..1.
 *
 *   igpu_gpu* gpu;
 *   igpu_error error = IGPU_INIT(igpu_error);
 *   if (igpu_open(NULL, NULL, &gpu, &error) < 0) { fprintf(stderr, "%s; %s\n", error.message, error.hint); return 1; }
 *   igpu_snapshot* now;
 *   if (igpu_read(gpu, &now, &error) == 0) { use(igpu_get(now, "engine.video.busy")); igpu_snapshot_free(now); }
 *   igpu_close(gpu);
 *
 * Results: 0 or a negative errno: -ENODEV no GPU, or it is gone; -ENOENT no GPU of this name, or no such row; -EINVAL
 * an argument; -EAGAIN nothing due; -ENOMEM; others as the kernel returned them. No function ends the program or lets
 * an exception out.
 *
 * Structs begin with their size, which the caller sets (IGPU_INIT does): a later library adds members at the end and
 * fills only those that the caller knows. Strings in rows are valid as long as the snapshot or list that they came
 * from. Handles are not shared by threads, except that any thread may read a GPU.
 */
#ifdef __cplusplus
extern "C" {
#endif

/* igpu_row row = IGPU_INIT(igpu_row); */
#define IGPU_INIT(type) \
  { .size = sizeof(type) }

typedef struct igpu_gpu igpu_gpu;
typedef struct igpu_list igpu_list;
typedef struct igpu_snapshot igpu_snapshot;
typedef struct igpu_timer igpu_timer;
typedef struct igpu_sampler igpu_sampler;

typedef struct igpu_error {
  size_t size;
  int32_t code; /* as returned */
  char message[512];
  char hint[512]; /* what to do about it, as `intel-gpu-exporter doctor` prints it; "": nothing can be done */
} igpu_error;

/* 0 and NULL select the defaults of igpu::GpuOptions. */
typedef struct igpu_options {
  size_t size;
  const char* sysfs_root;
  const char* procfs_root;
  const char* devfs_root;
  const char* simulate;           /* profile of a simulated machine */
  const char* without_collectors; /* names, separated by commas */
  uint64_t min_window_ns;
  int32_t without_processes; /* 1: processes are not read */
} igpu_options;

/* Whether there is a value, and why not. */
typedef enum igpu_state {
  IGPU_OK = 0,
  IGPU_NO_PERMISSION = 1,
  IGPU_NOT_IN_KERNEL = 2,
  IGPU_NOT_IN_HARDWARE = 3,
  IGPU_SUSPENDED = 4,
  IGPU_DISABLED = 5,
  IGPU_FAILED = 6,      /* it should have worked this time */
  IGPU_NO_SUCH_NAME = 7 /* of igpu_get() */
} igpu_state;

typedef struct igpu_value {
  double value;     /* NaN without a value */
  int32_t state;    /* igpu_state */
  int32_t os_error; /* errno behind it; 0: none */
} igpu_value;

/* --- GPUs ----------------------------------------------------------------------------------------------------------
 */

typedef struct igpu_gpu_info {
  size_t size;
  const char* address;     /* "0000:03:00.0" */
  const char* card;        /* "card1"; "": none */
  const char* render_node; /* "renderD128"; "": none */
  const char* driver;      /* "i915", "xe" */
  const char* kind;        /* "integrated", "discrete" */
  const char* name;        /* "": unknown */
  uint32_t device_id;      /* 0: unknown */
  int32_t revision;        /* -1: unknown */
  int32_t numa_node;       /* -1: unknown */
  int32_t virtual_function;
} igpu_gpu_info;

/* options and error may be NULL everywhere. */
IGPU_API int igpu_list_gpus(const igpu_options* options, igpu_list** list, igpu_error* error);
IGPU_API size_t igpu_list_count(const igpu_list* list);
IGPU_API int igpu_list_at(const igpu_list* list, size_t index, igpu_gpu_info* info);
IGPU_API void igpu_list_free(igpu_list* list);

/* name: as igpu::Gpu::open() takes it; NULL: the first GPU. */
IGPU_API int igpu_open(const char* name, const igpu_options* options, igpu_gpu** gpu, igpu_error* error);
IGPU_API void igpu_close(igpu_gpu* gpu);

IGPU_API int igpu_read(igpu_gpu* gpu, igpu_snapshot** snapshot, igpu_error* error);
IGPU_API void igpu_snapshot_free(igpu_snapshot* snapshot);

/* --- What a snapshot holds -----------------------------------------------------------------------------------------
 */

typedef struct igpu_summary {
  size_t size;
  int64_t time_ns;        /* since 1970 */
  int64_t monotonic_ns;   /* CLOCK_MONOTONIC */
  igpu_value other_users; /* 1: processes of other users are included */
} igpu_summary;
IGPU_API int igpu_summary_of(const igpu_snapshot* snapshot, igpu_summary* summary);
IGPU_API int igpu_gpu_of(const igpu_snapshot* snapshot, igpu_gpu_info* info);

/* The names of values that have rows, for igpu_field_at(), and their units. */
IGPU_API const char* igpu_field_name(size_t index); /* "engine.busy", "frequency.rp0"; NULL after the last */
IGPU_API const char* igpu_field_unit(size_t index); /* "ratio", "hertz"; "": a plain number */

/*
 * The value of the GPU as a whole: "power.mean" is what it draws, "engine.busy" its busiest class. With a word in the
 * name that of some rows: "engine.video.busy", "power.package.mean", "frequency.1.actual".
 */
IGPU_API igpu_value igpu_get(const igpu_snapshot* snapshot, const char* name);

/* All rows of a value, such as the engines. */
typedef struct igpu_field {
  size_t size;
  const char* labels; /* which row, as in METRICS.md: gt="0",engine="vcs0"; "": of the GPU itself. '\\', '"' and line
                         feeds in values have a '\\' before them, as in a page of metrics */
  igpu_value value;
} igpu_field;
/* Sets *count and returns why there are no rows. -EINVAL and IGPU_FAILED for a name that does not exist. */
IGPU_API igpu_state igpu_field_count(const igpu_snapshot* snapshot, const char* name, size_t* count);
IGPU_API int igpu_field_at(const igpu_snapshot* snapshot, const char* name, size_t index, igpu_field* row);

/* What the machine offers. */
typedef struct igpu_feature {
  size_t size;
  const char* name;
  int32_t state; /* igpu_state */
  int32_t os_error;
  const char* cause;
  const char* hint;
} igpu_feature;
IGPU_API igpu_state igpu_feature_count(const igpu_snapshot* snapshot, size_t* count);
IGPU_API int igpu_feature_at(const igpu_snapshot* snapshot, size_t index, igpu_feature* row);

/* --- Sampling ------------------------------------------------------------------------------------------------------
 */

/* A descriptor for an event loop. It takes gpu, which must not be used or closed any more, whatever the result. */
IGPU_API int igpu_timer_open(igpu_gpu* gpu, uint64_t interval_ns, igpu_timer** timer, igpu_error* error);
IGPU_API int igpu_timer_descriptor(const igpu_timer* timer); /* readable while a reading is due */
IGPU_API int igpu_timer_read(igpu_timer* timer, igpu_snapshot** snapshot, igpu_error* error); /* -EAGAIN: none is due */
IGPU_API uint64_t igpu_timer_missed(const igpu_timer* timer);
IGPU_API void igpu_timer_close(igpu_timer* timer);

/*
 * A thread that calls back until the callback returns something else than 0, a reading fails, or igpu_sampler_close().
 * The snapshot is the callback's only while it runs; *sampler is set before the first call. It takes gpu, whatever the
 * result.
 */
typedef int (*igpu_callback)(const igpu_snapshot* snapshot, void* user);
IGPU_API int igpu_sampler_start(igpu_gpu* gpu, uint64_t interval_ns, igpu_callback callback, void* user,
                                igpu_sampler** sampler, igpu_error* error);
IGPU_API int igpu_sampler_running(const igpu_sampler* sampler); /* 1 or 0 */
/* Waits until it has ended. The error of the reading that ended it, or what the callback returned. -EDEADLK in the
   callback. */
IGPU_API int igpu_sampler_wait(igpu_sampler* sampler, igpu_error* error);
IGPU_API void igpu_sampler_stop(igpu_sampler* sampler);  /* any thread, also in the callback */
IGPU_API void igpu_sampler_close(igpu_sampler* sampler); /* stops and waits; in the callback it does not wait */

IGPU_API const char* igpu_version(void); /* of the library: "0.1.0" */

#ifdef __cplusplus
}
#endif

#endif
