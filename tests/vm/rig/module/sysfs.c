// SPDX-License-Identifier: GPL-2.0
/* The i915 files under cardN and the xe files under the PCI device. */
#include <drm/drm_file.h>
#include <linux/pm.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "fakegpu.h"

#define MAX_FILES 240
#define MAX_DIRS 60

enum field {
  F_TEXT,
  F_NUM,
  F_ACT,
  F_CUR,
  F_BOOST,
  F_MAX,
  F_MIN,
  F_RP0,
  F_RP1,
  F_RPN,
  F_RC6_MS,
  F_IDLE_STATUS,
  F_THR_STATUS,
  F_THR,
  F_ERROR,
};

struct fg_file {
  struct kobj_attribute k;
  struct device_attribute d;
  struct fg_gpu *g;
  struct kobject *dir; /* NULL: on the device itself */
  const char *group;
  int gt, field, arg;
  bool wakes;
  char name[40], path[96], text[96];
};

struct fg_sysfs {
  struct kobject *base; /* device the plain files hang on */
  struct fg_file *file;
  int num_files, num_ok;
  struct kobject *dir[MAX_DIRS];
  char dirpath[MAX_DIRS][48];
  int num_dirs;
  int err;
};

u32 fg_act_mhz(const struct fg_gpu *g, int gt) {
  const struct fg_gt *t = &g->gt[gt];

  return t->parked || !t->awake_i.rate ? 0 : t->act;
}

static u64 field_value(struct fg_gpu *g, const struct fg_file *f, int n) {
  struct fg_gt *gt = &g->gt[n];

  switch (f->field) {
    case F_NUM: return f->arg;
    case F_ACT: return fg_act_mhz(g, n);
    case F_CUR: return gt->req;
    case F_BOOST: return gt->boost;
    case F_MAX: return gt->max;
    case F_MIN: return gt->min;
    case F_RP0: return g->d->rp0[n];
    case F_RP1: return g->d->rp1[n];
    case F_RPN: return g->d->rpn[n];
    case F_RC6_MS: return div_s64(fg_val(&gt->rc6_i, fg_now(g), FG_BP_TO_NS), 1000000);
    case F_THR_STATUS: return !!gt->throttle;
    case F_THR: return gt->throttle >> f->arg & 1;
  }
  return 0;
}

static ssize_t show(struct fg_file *f, char *buf) {
  struct fg_gpu *g = f->g;
  struct fg_gt *gt = &g->gt[max(f->gt, 0)];
  struct device *awake = NULL;
  char what[112];
  u64 v = 0;
  int ret, i;

  g->sysfs_reads++;
  snprintf(what, sizeof(what), "sysfs:%s", f->path);
  ret = fg_fault(g, what, buf, PAGE_SIZE);
  if (ret < 0) return ret;
  if (ret > 0) return strlen(buf);
  if (f->field == F_TEXT) return sysfs_emit(buf, "%s\n", f->text);
  if (f->field == F_ERROR)
    return sysfs_emit(buf, "%s\n",
                      g->hung ? "GPU HANG: ecode 12:1:85dffffb, in gpuload [4711]" : "No error state collected");
  if (f->field == F_IDLE_STATUS) return sysfs_emit(buf, "%s\n", gt->parked || !gt->awake_i.rate ? "gt-c6" : "gt-c0");
  if (f->wakes) awake = fg_rpm_get(g);
  raw_spin_lock_irq(&g->lock);
  if (f->gt >= 0) {
    v = field_value(g, f, f->gt);
  } else {
    /* legacy files: the highest of all GTs, the lowest for minimum and RC6 */
    v = field_value(g, f, 0);
    for (i = 1; i < g->d->num_gts; i++)
      v = f->field == F_MIN || f->field == F_RC6_MS ? min(v, field_value(g, f, i)) : max(v, field_value(g, f, i));
  }
  raw_spin_unlock_irq(&g->lock);
  fg_rpm_put(awake);
  if (f->field == F_RC6_MS && g->d->drv == FG_I915) v = (u32)v; /* the real file is 32 bits wide */
  return sysfs_emit(buf, "%llu\n", v);
}

static ssize_t store(struct fg_file *f, const char *buf, size_t len) {
  struct fg_gpu *g = f->g;
  int n = max(f->gt, 0);
  struct fg_gt *gt = &g->gt[n];
  u32 v;

  g->sysfs_writes++;
  if (kstrtou32(buf, 0, &v)) return -EINVAL;
  if (v < g->d->rpn[n] || v > g->d->rp0[n]) return -EINVAL;
  switch (f->field) {
    case F_BOOST: gt->boost = v; break;
    case F_MAX: gt->max = v; break;
    case F_MIN: gt->min = v; break;
    default: return -EPERM;
  }
  return len;
}

static ssize_t kshow(struct kobject *k, struct kobj_attribute *a, char *buf) {
  return show(container_of(a, struct fg_file, k), buf);
}

static ssize_t kstore(struct kobject *k, struct kobj_attribute *a, const char *buf, size_t len) {
  return store(container_of(a, struct fg_file, k), buf, len);
}

static ssize_t dshow(struct device *dev, struct device_attribute *a, char *buf) {
  return show(container_of(a, struct fg_file, d), buf);
}

static ssize_t dstore(struct device *dev, struct device_attribute *a, const char *buf, size_t len) {
  return store(container_of(a, struct fg_file, d), buf, len);
}

static int mkdir_at(struct fg_sysfs *s, int parent, const char *name) {
  struct kobject *k;
  int n = s->num_dirs;

  if (s->err || WARN_ON(n == MAX_DIRS)) return 0;
  k = kobject_create_and_add(name, parent < 0 ? s->base : s->dir[parent]);
  if (!k) {
    s->err = -ENOMEM;
    return 0;
  }
  s->dir[n] = k;
  snprintf(s->dirpath[n], sizeof(s->dirpath[n]), "%s%s/", parent < 0 ? "" : s->dirpath[parent], name);
  return s->num_dirs++;
}

static struct fg_file *put(struct fg_gpu *g, int dir, const char *group, const char *name, int gt, int field, int arg,
                           bool wakes, bool rw) {
  struct fg_sysfs *s = g->sysfs;
  struct fg_file *f;

  if (s->err || WARN_ON(s->num_files == MAX_FILES)) return NULL;
  f = &s->file[s->num_files++];
  f->g = g;
  f->gt = gt;
  f->field = field;
  f->arg = arg;
  f->wakes = wakes;
  f->group = group;
  f->dir = dir < 0 ? NULL : s->dir[dir];
  strscpy(f->name, name, sizeof(f->name));
  if (dir >= 0)
    snprintf(f->path, sizeof(f->path), "%s%s", s->dirpath[dir], name);
  else
    snprintf(f->path, sizeof(f->path), "%s%s%s", group ?: "", group ? "/" : "", name);
  sysfs_attr_init(&f->k.attr);
  f->k.attr.name = f->name;
  f->k.attr.mode = field == F_ERROR ? 0600 : rw ? 0644 : 0444;
  f->k.show = kshow;
  f->k.store = rw ? kstore : NULL;
  f->d.attr = f->k.attr;
  sysfs_attr_init(&f->d.attr);
  f->d.show = dshow;
  f->d.store = rw ? dstore : NULL;
  if (f->dir)
    s->err = sysfs_create_file(f->dir, &f->k.attr);
  else if (group)
    s->err = sysfs_add_file_to_group(s->base, &f->d.attr, group);
  else
    s->err = sysfs_create_file(s->base, &f->d.attr);
  if (s->err) {
    pr_err("fakegpu: %s: %d\n", f->path, s->err);
    s->num_files--;
    return NULL;
  }
  return f;
}

__printf(4, 5) static void put_text(struct fg_gpu *g, int dir, const char *name, const char *fmt, ...) {
  va_list ap;
  struct fg_file *f = put(g, dir, NULL, name, 0, F_TEXT, 0, false, false);

  if (!f) return;
  va_start(ap, fmt);
  vsnprintf(f->text, sizeof(f->text), fmt, ap);
  va_end(ap);
}

static void i915_files(struct fg_gpu *g) {
  const struct fg_desc *d = g->d;
  struct fg_sysfs *s = g->sysfs;
  char name[40];
  int i, k, dir, sub, gtdir;

  /* legacy files speak for all GTs */
  put(g, -1, NULL, "gt_act_freq_mhz", -1, F_ACT, 0, true, false);
  put(g, -1, NULL, "gt_cur_freq_mhz", -1, F_CUR, 0, true, false);
  put(g, -1, NULL, "gt_boost_freq_mhz", -1, F_BOOST, 0, false, true);
  put(g, -1, NULL, "gt_max_freq_mhz", -1, F_MAX, 0, false, true);
  put(g, -1, NULL, "gt_min_freq_mhz", -1, F_MIN, 0, false, true);
  put(g, -1, NULL, "gt_RP0_freq_mhz", -1, F_RP0, 0, false, false);
  put(g, -1, NULL, "gt_RP1_freq_mhz", -1, F_RP1, 0, false, false);
  put(g, -1, NULL, "gt_RPn_freq_mhz", -1, F_RPN, 0, false, false);
  put(g, -1, power_group_name, "rc6_enable", -1, F_NUM, 1, false, false);
  put(g, -1, power_group_name, "rc6_residency_ms", -1, F_RC6_MS, 0, true, false);

  put(g, -1, NULL, "error", 0, F_ERROR, 0, false, false);

  if (fg_gt_sysfs) {
    gtdir = mkdir_at(s, -1, "gt");
    for (i = 0; i < d->num_gts; i++) {
      snprintf(name, sizeof(name), "gt%d", i);
      dir = mkdir_at(s, gtdir, name);
      put(g, dir, NULL, "id", i, F_NUM, i, false, false);
      put(g, dir, NULL, "rc6_enable", i, F_NUM, 1, false, false);
      put(g, dir, NULL, "rc6_residency_ms", i, F_RC6_MS, 0, true, false);
      put(g, dir, NULL, "rps_act_freq_mhz", i, F_ACT, 0, true, false);
      put(g, dir, NULL, "rps_cur_freq_mhz", i, F_CUR, 0, true, false);
      put(g, dir, NULL, "rps_boost_freq_mhz", i, F_BOOST, 0, false, true);
      put(g, dir, NULL, "rps_max_freq_mhz", i, F_MAX, 0, false, true);
      put(g, dir, NULL, "rps_min_freq_mhz", i, F_MIN, 0, false, true);
      put(g, dir, NULL, "rps_RP0_freq_mhz", i, F_RP0, 0, false, false);
      put(g, dir, NULL, "rps_RP1_freq_mhz", i, F_RP1, 0, false, false);
      put(g, dir, NULL, "rps_RPn_freq_mhz", i, F_RPN, 0, false, false);
      put(g, dir, NULL, "punit_req_freq_mhz", i, F_CUR, 0, true, false);
      put(g, dir, NULL, "throttle_reason_status", i, F_THR_STATUS, 0, true, false);
      for (k = 0; k < fg_num_throttle; k++) {
        snprintf(name, sizeof(name), "throttle_reason_%s", fg_throttle_names[k]);
        put(g, dir, NULL, name, i, F_THR, k, true, false);
      }
      sub = mkdir_at(s, dir, ".defaults");
      put(g, sub, NULL, "rps_max_freq_mhz", i, F_RP0, 0, false, false);
      put(g, sub, NULL, "rps_min_freq_mhz", i, F_RPN, 0, false, false);
    }
  }
  gtdir = mkdir_at(s, -1, "engine");
  for (i = 0; i < d->num_engines; i++) {
    const struct fg_engine_desc *e = &d->engines[i];

    dir = mkdir_at(s, gtdir, e->name);
    put_text(g, dir, "name", "%s", e->name);
    put_text(g, dir, "class", "%d", e->class);
    put_text(g, dir, "instance", "%d", e->inst);
    put_text(g, dir, "mmio_base", "0x%x", 0x2000 + 0x4000 * i);
    put_text(g, dir, "capabilities", "%s", e->class == 2 ? (e->inst ? "" : "hevc sfc") : e->class == 3 ? "sfc" : "");
  }
}

static void xe_files(struct fg_gpu *g) {
  static const char *const class_name[FG_CLASSES] = {"rcs", "bcs", "vcs", "vecs", "ccs"};
  const struct fg_desc *d = g->d;
  struct fg_sysfs *s = g->sysfs;
  char name[40];
  int i, k, tile, gt, sub, thr;
  u32 seen;

  if (d->discrete) put_text(g, -1, "vram_d3cold_threshold", "300");
  tile = mkdir_at(s, -1, "tile0");
  if (d->discrete) put_text(g, tile, "physical_vram_size_bytes", "%llu", d->regions[d->vram_region].size);
  for (i = 0; i < d->num_gts; i++) {
    snprintf(name, sizeof(name), "gt%d", i);
    gt = mkdir_at(s, tile, name);
    sub = mkdir_at(s, gt, "freq0");
    put(g, sub, NULL, "act_freq", i, F_ACT, 0, true, false);
    put(g, sub, NULL, "cur_freq", i, F_CUR, 0, true, false);
    put(g, sub, NULL, "max_freq", i, F_MAX, 0, true, true);
    put(g, sub, NULL, "min_freq", i, F_MIN, 0, true, true);
    put(g, sub, NULL, "rp0_freq", i, F_RP0, 0, false, false);
    put(g, sub, NULL, "rpa_freq", i, F_RP0, 0, true, false);
    put(g, sub, NULL, "rpe_freq", i, F_RP1, 0, true, false);
    put(g, sub, NULL, "rpn_freq", i, F_RPN, 0, false, false);
    thr = mkdir_at(s, sub, "throttle");
    put(g, thr, NULL, "status", i, F_THR_STATUS, 0, true, false);
    for (k = 0; k < fg_num_throttle; k++) {
      snprintf(name, sizeof(name), "reason_%s", fg_throttle_names[k]);
      put(g, thr, NULL, name, i, F_THR, k, true, false);
    }
    sub = mkdir_at(s, gt, "gtidle");
    put_text(g, sub, "name", "gt%d-%s", i, i ? "mc" : "rc");
    put(g, sub, NULL, "idle_status", i, F_IDLE_STATUS, 0, true, false);
    put(g, sub, NULL, "idle_residency_ms", i, F_RC6_MS, 0, true, false);
    sub = mkdir_at(s, gt, "engines");
    for (k = 0, seen = 0; k < d->num_engines; k++) {
      if (d->engines[k].gt != i || seen & 1u << d->engines[k].class) continue;
      seen |= 1u << d->engines[k].class;
      thr = mkdir_at(s, sub, class_name[d->engines[k].class]);
      put_text(g, thr, "job_timeout_ms", "5000");
      put_text(g, thr, "timeslice_duration_us", "1000");
      put_text(g, thr, "preempt_timeout_us", "640000");
    }
  }
}

int fg_sysfs_add(struct fg_gpu *g) {
  struct fg_sysfs *s = kzalloc(sizeof(*s), GFP_KERNEL);

  if (!s) return -ENOMEM;
  s->file = kcalloc(MAX_FILES, sizeof(*s->file), GFP_KERNEL);
  if (!s->file) {
    kfree(s);
    return -ENOMEM;
  }
  g->sysfs = s;
  s->base = g->d->drv == FG_XE ? &g->pdev->dev.kobj : &g->drm->primary->kdev->kobj;
  kobject_get(s->base);
  if (g->d->drv == FG_XE)
    xe_files(g);
  else
    i915_files(g);
  if (s->err) {
    int ret = s->err;

    fg_sysfs_del(g);
    return ret;
  }
  return 0;
}

void fg_sysfs_del(struct fg_gpu *g) {
  struct fg_sysfs *s = g->sysfs;
  int i;

  if (!s) return;
  for (i = s->num_files - 1; i >= 0; i--) {
    struct fg_file *f = &s->file[i];

    if (f->dir)
      sysfs_remove_file(f->dir, &f->k.attr);
    else if (f->group)
      sysfs_remove_file_from_group(s->base, &f->d.attr, f->group);
    else
      sysfs_remove_file(s->base, &f->d.attr);
  }
  for (i = s->num_dirs - 1; i >= 0; i--) {
    kobject_del(s->dir[i]);
    kobject_put(s->dir[i]);
  }
  kobject_put(s->base);
  kfree(s->file);
  kfree(s);
  g->sysfs = NULL;
}
