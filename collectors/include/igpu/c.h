/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IGPU_C_H
#define IGPU_C_H

#include <stddef.h>
#include <stdint.h>

#include "igpu/export.h"

/*
 * The C interface of libigpu: the same GPUs and the same values as igpu/gpu.h, igpu/snapshot.h and igpu/sampling.h,
 * which describe shapes, units and sources. Units are base units (seconds, bytes, hertz, watts, celsius); ratios are
 * 0..1.
 *
 *   igpu_gpu* gpu;
 *   igpu_error error = IGPU_INIT(igpu_error);
 *   if (igpu_open(NULL, NULL, &gpu, &error) < 0) { fprintf(stderr, "%s; %s\n", error.message, error.hint); return 1; }
 *   igpu_snapshot* now;
 *   if (igpu_read(gpu, &now, &error) == 0) { use(igpu_busy(now, IGPU_VIDEO)); igpu_snapshot_free(now); }
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
  IGPU_FAILED = 6 /* it should have worked this time */
} igpu_state;

typedef struct igpu_value {
  double value;     /* NaN without a value */
  int32_t state;    /* igpu_state */
  int32_t os_error; /* errno behind it; 0: none */
} igpu_value;

typedef enum igpu_engine_class {
  IGPU_RENDER = 0,
  IGPU_COPY = 1,
  IGPU_VIDEO = 2,
  IGPU_VIDEO_ENHANCE = 3,
  IGPU_COMPUTE = 4
} igpu_engine_class;
#define IGPU_ENGINE_CLASSES 5

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
  int64_t time_ns;      /* since 1970 */
  int64_t monotonic_ns; /* CLOCK_MONOTONIC */
  igpu_value suspended; /* 1: everything else is IGPU_SUSPENDED */
  igpu_value hang_captured;
  igpu_value interrupts;
  igpu_value other_users; /* 1: processes of other users are included */
} igpu_summary;
IGPU_API int igpu_summary_of(const igpu_snapshot* snapshot, igpu_summary* summary);
IGPU_API int igpu_gpu_of(const igpu_snapshot* snapshot, igpu_gpu_info* info);

/* Shortcuts. */
IGPU_API igpu_value igpu_busy(const igpu_snapshot* snapshot, igpu_engine_class engine_class);
IGPU_API igpu_value igpu_frequency(const igpu_snapshot* snapshot, uint32_t gt); /* actual */
IGPU_API igpu_value igpu_power(const igpu_snapshot* snapshot, const char* domain);
IGPU_API igpu_value igpu_temperature(const igpu_snapshot* snapshot, const char* sensor);

/*
 * Each topic is a table of rows: igpu_X_count() returns why there are none (igpu_state), and sets *count; igpu_X_at()
 * fills one row.
 */
#define IGPU_TABLE(name)                                                                 \
  IGPU_API igpu_state igpu_##name##_count(const igpu_snapshot* snapshot, size_t* count); \
  IGPU_API int igpu_##name##_at(const igpu_snapshot* snapshot, size_t index, igpu_##name* row)

typedef struct igpu_engine {
  size_t size;
  const char* name;
  int32_t engine_class;
  int32_t gt;          /* -1: of the class, from fdinfo */
  int32_t from_fdinfo; /* 0: the engine's own counter */
  igpu_value busy, wait, sema, busy_time;
} igpu_engine;
IGPU_TABLE(engine);

typedef struct igpu_class_load {
  size_t size;
  int32_t engine_class;
  uint32_t engines;
  igpu_value busy, wait, sema;
} igpu_class_load;
IGPU_TABLE(class_load);

typedef struct igpu_clock {
  size_t size;
  uint32_t gt;
  igpu_value actual, requested, mean_actual, mean_requested;
  igpu_value min, max, boost, rp0, rp1, rpn, rpe, rpa;
} igpu_clock;
IGPU_TABLE(clock);

typedef struct igpu_throttling {
  size_t size;
  uint32_t gt;
  int32_t limited;
  const char* reasons; /* those that limit now, separated by commas */
  const char* known;   /* those that this GT can report */
} igpu_throttling;
IGPU_TABLE(throttling);

typedef struct igpu_residency {
  size_t size;
  uint32_t gt;
  igpu_value ratio, time;
} igpu_residency;
IGPU_TABLE(residency);

typedef struct igpu_power_domain {
  size_t size;
  const char* domain;
  const char* source;
  igpu_value mean, energy;
} igpu_power_domain;
IGPU_TABLE(power_domain);

typedef struct igpu_power_limit {
  size_t size;
  const char* domain;
  const char* limit;
  double watts;
} igpu_power_limit;
IGPU_TABLE(power_limit);

typedef struct igpu_sensor {
  size_t size;
  const char* name;
  double celsius;
} igpu_sensor;
IGPU_TABLE(sensor);

typedef struct igpu_fan {
  size_t size;
  const char* name;
  double rpm;
} igpu_fan;
IGPU_TABLE(fan);

typedef struct igpu_voltage {
  size_t size;
  const char* domain;
  double volts;
} igpu_voltage;
IGPU_TABLE(voltage);

typedef struct igpu_memory_region {
  size_t size;
  const char* name;
  igpu_value capacity, used;
} igpu_memory_region;
IGPU_TABLE(memory_region);

typedef struct igpu_bandwidth {
  size_t size;
  const char* direction;
  igpu_value rate;
  double total;
} igpu_bandwidth;
IGPU_TABLE(bandwidth);

/* One row at most. */
typedef struct igpu_pcie_link {
  size_t size;
  igpu_value speed, max_speed, width, max_width;
} igpu_pcie_link;
IGPU_TABLE(pcie_link);

typedef struct igpu_process {
  size_t size;
  uint32_t pid;
  const char* comm;
  igpu_value busy[IGPU_ENGINE_CLASSES], busy_time[IGPU_ENGINE_CLASSES];
  igpu_value clients, cpu_time, resident_memory, virtual_memory;
  const char *user, *cgroup, *container_id, *pod_uid, *systemd_unit; /* "": unknown */
  size_t memory_rows;                                                /* for igpu_process_memory_at() */
} igpu_process;
IGPU_TABLE(process);

typedef struct igpu_process_memory {
  size_t size;
  const char* region;
  const char* state; /* total, shared, active, resident, purgeable */
  double bytes;
} igpu_process_memory;
IGPU_API int igpu_process_memory_at(const igpu_snapshot* snapshot, size_t process, size_t index,
                                    igpu_process_memory* row);

typedef struct igpu_feature {
  size_t size;
  const char* name;
  int32_t state; /* igpu_state */
  int32_t os_error;
  const char* cause;
  const char* hint;
} igpu_feature;
IGPU_TABLE(feature);

/*
 * The same values by name, for programs that choose them at run time, and for members that this header has not got:
 * "engine.busy", "frequency.rp0" (igpu/values.h).
 */
IGPU_API const char* igpu_field_name(size_t index); /* NULL after the last */
IGPU_API const char* igpu_field_unit(size_t index); /* "ratio", "hertz"; "": a plain number */

typedef struct igpu_field {
  size_t size;
  const char* labels; /* which row, as in METRICS.md: gt="0",engine="vcs0"; "": of the GPU itself. '\\', '"' and line
                         feeds in values have a '\\' before them, as in a page of metrics */
  igpu_value value;
} igpu_field;
/* As for the tables; -EINVAL and IGPU_FAILED for a name that does not exist. */
IGPU_API igpu_state igpu_field_count(const igpu_snapshot* snapshot, const char* name, size_t* count);
IGPU_API int igpu_field_at(const igpu_snapshot* snapshot, const char* name, size_t index, igpu_field* row);

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
