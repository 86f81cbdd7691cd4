/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fakegpu: makes a real kernel present believable Intel GPUs to user space.
 * Everything a program can read is computed from one small model: constant
 * rates integrated over CLOCK_MONOTONIC, so expected values are known exactly.
 */
#ifndef FAKEGPU_H
#define FAKEGPU_H

#include <drm/drm_device.h>
#include <drm/drm_ioctl.h>
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/perf_event.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>

#define FG_MAX_GPUS 4
#define FG_MAX_ENGINES 20
#define FG_MAX_GTS 2
#define FG_CLASSES 5
#define FG_REGIONS 4
#define FG_MAX_VFS 7

/* ---- integrators ------------------------------------------------------- */
/*
 * value(t) = fine + (t - t0) * rate. Units of fine:
 *   busy/rc6/awake: 0.01 % * ns     frequency: 0.01 MHz * ns
 *   power:          mW * ns         events, MiB: per second * ns
 */
struct fg_int {
  u64 fine;
  u64 t0;
  u64 rate;
  s64 off; /* injected jumps, in the unit user space sees */
};

static inline u64 fg_int_at(const struct fg_int *i, u64 now) {
  return i->fine + (now > i->t0 ? (now - i->t0) * i->rate : 0);
}

static inline void fg_int_set(struct fg_int *i, u64 rate, u64 now) {
  i->fine = fg_int_at(i, now);
  i->t0 = now;
  i->rate = rate;
}

/* what user space sees: the integral in its unit, plus injected jumps (may wrap) */
static inline u64 fg_val(const struct fg_int *i, u64 now, u64 unit) {
  return div64_u64(fg_int_at(i, now), unit) + i->off;
}

/* the same in ticks of the 19.2 MHz timestamp clock: 24 ticks in 1250 ns */
static inline u64 fg_ticks(const struct fg_int *i, u64 now) {
  return mul_u64_u64_div_u64(fg_int_at(i, now), 24, 1250ull * 10000) + i->off;
}

#define FG_BP 10000u /* 100 % */
#define FG_BP_TO_NS 10000u
#define FG_PER_SEC 1000000000ull
#define FG_MW_TO_UJ 1000000ull
#define FG_TO_MHZ_SEC 100000000000ull

/* ---- the device model ---------------------------------------------------- */
enum fg_drv { FG_I915, FG_XE };

struct fg_engine_desc {
  const char *name;
  u8 class, inst, gt;
};

struct fg_region_desc {
  const char *name;
  u64 size; /* 0: not a real region with a size */
};

struct fg_desc {
  const char *id;
  const char *title;
  enum fg_drv drv;
  bool discrete;
  u16 device, subdevice;
  u8 revision;
  int num_gts;
  const char *gt_name[FG_MAX_GTS];
  u16 rp0[FG_MAX_GTS], rp1[FG_MAX_GTS], rpn[FG_MAX_GTS];
  struct fg_engine_desc engines[FG_MAX_ENGINES];
  int num_engines;
  struct fg_region_desc regions[FG_REGIONS];
  int num_regions;
  int vram_region; /* where "mem=" goes */
  u32 tdp_mw;
};

struct fg_engine {
  const struct fg_engine_desc *d;
  u32 base_bp, wait_bp, sema_bp; /* scripted, not owned by any client */
  struct fg_int busy, wait, sema;
};

struct fg_gt {
  u32 act, req, min, max, boost; /* MHz */
  int rc6_bp, awake_bp;          /* -1: derived from the load */
  bool parked;
  u32 throttle; /* bit mask, see fg_throttle_names */
  struct fg_int act_i, req_i, rc6_i, awake_i;
};

enum fg_memkind { FG_TOTAL, FG_SHARED, FG_ACTIVE, FG_RESIDENT, FG_PURGEABLE, FG_MEMKINDS };

struct fg_client {
  struct list_head link;
  struct fg_gpu *gpu;
  u32 id;
  pid_t pid;
  u32 bp[FG_MAX_ENGINES];
  struct fg_int run[FG_CLASSES];
  u64 mem[FG_REGIONS][FG_MEMKINDS];
};

/* What the firmware keeps of one function: [0] is the PF, whose load is that of clients and of the engines' own. */
struct fg_function {
  u32 bp[FG_MAX_ENGINES];
  struct fg_int busy[FG_MAX_ENGINES];   /* since the module was loaded; of the PF: that of fg_engine */
  struct fg_int total;                  /* its share of the time, since the number of functions changed */
  u64 base[FG_MAX_ENGINES];             /* its ticks when that number changed */
  u32 quantum_ms, preempt_us, priority; /* 0: not limited */
  u64 vram;
};

struct fg_pmu;
struct fg_sysfs;
struct fg_hwmon;
struct fg_health;
struct fg_sriov;

struct fg_gpu {
  const struct fg_desc *d;
  int idx;
  char bdf[16];
  struct pci_dev *pdev; /* set while the driver is bound */
  struct drm_device *drm;
  struct fg_pmu *pmu;
  struct fg_sysfs *sysfs;
  struct device *hwmon;
  struct fg_health *health;
  struct fg_sriov *sriov;

  raw_spinlock_t lock; /* the model below; taken with interrupts off */
  u64 frozen;          /* counters stand still at this time; 0: running */
  struct fg_engine eng[FG_MAX_ENGINES];
  struct fg_gt gt[FG_MAX_GTS];
  struct fg_int irqs;
  s64 irq_rate; /* -1: derived */
  struct fg_int energy_card, energy_pkg;
  u32 power_card_mw, power_pkg_mw;
  u32 power_max_mw, temp_mc, temp_vram_mc, fan_rpm, in_mv;
  struct list_head clients;
  u32 next_client;
  int total_vfs, num_vfs; /* 0: no SR-IOV; none enabled */
  struct fg_function fn[1 + FG_MAX_VFS];
  u32 card_opens, probes; /* of the card node, not the render node; of its connectors */
  bool hung;              /* a captured error state stands in cardN/error */
  bool wedged;            /* the driver refuses ioctls */
  bool loaded;            /* some engine has a load: holds the device awake */

  struct mutex pm_lock;
  bool pm_held;
  u32 rpm_suspends, rpm_resumes, sysfs_reads, sysfs_writes;
};

struct fg_sys { /* the machine around the GPU */
  raw_spinlock_t lock;
  struct fg_int pkg, cores, gpu, ram, psys, imc_rd, imc_wr;
};

extern struct fg_gpu fg_gpus[FG_MAX_GPUS];
extern int fg_num_gpus;
extern struct fg_sys fg_sys;
extern const char *const fg_class_i915[FG_CLASSES];
extern const char *const fg_class_xe[FG_CLASSES];
extern const char *const fg_throttle_names[];
extern const int fg_num_throttle;

/* module parameters */
extern int fg_fdinfo, fg_hwmon_on, fg_gt_sysfs, fg_rpm, fg_connectors, fg_power, fg_rapl, fg_imc, fg_pmu_on, fg_vfs,
    fg_npu;
extern char *fg_hide;

static inline u64 fg_now(const struct fg_gpu *g) { return g->frozen ? g->frozen : ktime_get_ns(); }

/* main.c */
void fg_update(struct fg_gpu *g);    /* recompute rates; g->lock held */
void fg_update_pm(struct fg_gpu *g); /* then this, unlocked, may sleep */
struct fg_engine *fg_engine_find(struct fg_gpu *g, int class, int inst, int gt);
bool fg_hidden(const char *event);

/* ctl.c */
int fg_client_command(struct fg_client *c, char *text);
int fg_fixed(const char *s, int digits, u64 *out);
int fg_engine_index(struct fg_gpu *g, const char *name);
int fg_ctl_init(void);
void fg_ctl_exit(void);
/* 0, a negative errno to fail with, or 1 with replacement text in buf (may be NULL if not wanted) */
int fg_fault(struct fg_gpu *g, const char *what, char *buf, size_t len);

/* pci.c */
int fg_pci_init(void);
void fg_pci_exit(void);
int fg_pci_unbind(struct fg_gpu *g);
int fg_pci_bind(struct fg_gpu *g);
int fg_pci_remove(struct fg_gpu *g);
int fg_pci_rescan(void);
struct pci_dev *fg_pci_vf(struct fg_gpu *g, int vf);

/* drm.c */
int fg_drm_add(struct fg_gpu *g);
void fg_drm_del(struct fg_gpu *g);
int fg_connector_command(struct fg_gpu *g, char *args);

/* sriov.c */
int fg_sriov_init(void);
void fg_sriov_exit(void);
int fg_sriov_add(struct fg_gpu *g);
void fg_sriov_del(struct fg_gpu *g);
int fg_sriov_configure(struct pci_dev *pdev, int n);
int fg_sriov_command(struct fg_gpu *g, const char *verb, char *args);
void fg_sriov_show(struct fg_gpu *g, struct seq_file *m, u64 now);

/* npu.c */
int fg_npu_init(void);
void fg_npu_exit(void);
int fg_npu_command(char *args);
void fg_npu_show(struct seq_file *m);

/* ioctl.c */
extern const struct drm_ioctl_desc fg_i915_ioctls[], fg_xe_ioctls[];
extern const int fg_num_i915_ioctls, fg_num_xe_ioctls;

/* pmu.c */
int fg_pmu_add(struct fg_gpu *g);
void fg_pmu_del(struct fg_gpu *g);
int fg_syspmu_init(void);
void fg_syspmu_exit(void);
u64 fg_sys_energy_units(struct fg_int *i);

/* sysfs.c */
int fg_sysfs_add(struct fg_gpu *g);
void fg_sysfs_del(struct fg_gpu *g);
u32 fg_act_mhz(const struct fg_gpu *g, int gt);

/* hwmon.c */
int fg_hwmon_add(struct fg_gpu *g);
void fg_hwmon_del(struct fg_gpu *g);

/* health.c */
int fg_health_add(struct fg_gpu *g);
void fg_health_del(struct fg_gpu *g);
int fg_health_command(struct fg_gpu *g, const char *verb, char *args);
int fg_log(struct device *dev, char *args);
int fg_coredump(struct device *dev, char *args);

/* power.c */
int fg_power_init(void);
void fg_power_exit(void);

/* runtime PM helpers: the real driver wakes the device for most reads */
struct device *fg_rpm_get(struct fg_gpu *g);
void fg_rpm_put(struct device *dev);

#endif
