// SPDX-License-Identifier: GPL-2.0
/* What the drivers leave behind when a GPU fails: uevents, kernel log, core dumps, PCIe error counts, refused ioctls.
 */
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <linux/devcoredump.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>
#include <linux/string_helpers.h>
#include <linux/vmalloc.h>

#include "fakegpu.h"

#define AER_HOPS 4
#define AER_TYPES 32

static const char *const aer_file[] = {"aer_dev_correctable", "aer_dev_nonfatal", "aer_dev_fatal"};
static const char *const aer_total[] = {"TOTAL_ERR_COR", "TOTAL_ERR_NONFATAL", "TOTAL_ERR_FATAL"};
static const char *const aer_correctable[] = {"RxErr",   "BadTLP",      "BadDLLP",    "Rollover",
                                              "Timeout", "NonFatalErr", "CorrIntErr", "HeaderOF"};
static const char *const aer_uncorrectable[] = {"Undefined",     "DLP",
                                                "SDES",          "TLP",
                                                "FCP",           "CmpltTO",
                                                "CmpltAbrt",     "UnxCmplt",
                                                "RxOF",          "MalfTLP",
                                                "ECRC",          "UnsupReq",
                                                "ACSViol",       "UncorrIntErr",
                                                "BlockedTLP",    "AtomicOpBlocked",
                                                "TLPBlockedErr", "PoisonTLPBlocked"};

struct aer {
  struct device_attribute attr[3];
  struct device *dev;
  u64 count[3][AER_TYPES];
};

struct fg_health {
  struct aer aer[AER_HOPS]; /* 0: the GPU, then the bridges above it */
  int hops;
  bool survivability;
};

static const char *const *aer_names(int severity, int *n) {
  *n = severity ? ARRAY_SIZE(aer_uncorrectable) : ARRAY_SIZE(aer_correctable);
  return severity ? aer_uncorrectable : aer_correctable;
}

static ssize_t aer_show(struct device *dev, struct device_attribute *a, char *buf) {
  int i, n, severity = strcmp(a->attr.name, aer_file[0]) ? strcmp(a->attr.name, aer_file[1]) ? 2 : 1 : 0;
  struct aer *aer = container_of(a, struct aer, attr[severity]);
  const char *const *names = aer_names(severity, &n);
  u64 sum = 0;
  ssize_t len = 0;

  for (i = 0; i < n; i++) {
    len += sysfs_emit_at(buf, len, "%s %llu\n", names[i], aer->count[severity][i]);
    sum += aer->count[severity][i];
  }
  return len + sysfs_emit_at(buf, len, "%s %llu\n", aer_total[severity], sum);
}

/* The kernel hides its own files of this name: these functions have no AER capability. */
static int add_aer(struct fg_gpu *g) {
  struct pci_dev *at;
  int i, ret;

  for (at = g->pdev; at && g->health->hops < AER_HOPS; at = pci_upstream_bridge(at)) {
    struct aer *aer = &g->health->aer[g->health->hops++];

    aer->dev = &at->dev;
    for (i = 0; i < ARRAY_SIZE(aer_file); i++) {
      sysfs_attr_init(&aer->attr[i].attr);
      aer->attr[i].attr.name = aer_file[i];
      aer->attr[i].attr.mode = 0444;
      aer->attr[i].show = aer_show;
      ret = device_create_file(aer->dev, &aer->attr[i]);
      if (ret) return ret;
    }
  }
  return 0;
}

/* aer HOP SEVERITY TYPE=COUNT: to be added */
static int cmd_aer(struct fg_gpu *g, char *args) {
  char *hop = strsep(&args, " "), *severity = strsep(&args, " "), *type = strsep(&args, "=");
  const char *const *names;
  int h, s, i, n, ret;
  u64 count;

  if (!args || kstrtoint(hop, 10, &h) || kstrtou64(strim(args), 10, &count)) return -EINVAL;
  s = !strcmp(severity, "correctable") ? 0 : !strcmp(severity, "nonfatal") ? 1 : !strcmp(severity, "fatal") ? 2 : -1;
  ret = s >= 0 && !g->health->hops ? add_aer(g) : 0;
  if (ret) return ret;
  if (s < 0 || h < 0 || h >= g->health->hops) return -EINVAL;
  names = aer_names(s, &n);
  for (i = 0; i < n; i++)
    if (!strcmp(names[i], type)) {
      g->health->aer[h].count[s][i] += count;
      return 0;
    }
  return -EINVAL;
}

static ssize_t survivability_mode_show(struct device *dev, struct device_attribute *a, char *buf) {
  return sysfs_emit(buf, "Runtime\n");
}
static DEVICE_ATTR(survivability_mode, 0400, survivability_mode_show, NULL);

static int set_survivability(struct fg_gpu *g, bool on) {
  int ret = 0;

  if (on && !g->health->survivability) ret = device_create_file(&g->pdev->dev, &dev_attr_survivability_mode);
  if (!on && g->health->survivability) device_remove_file(&g->pdev->dev, &dev_attr_survivability_mode);
  if (!ret) g->health->survivability = on;
  return ret;
}

/* xe keeps a wedged device awake for ever. */
static void set_wedged(struct fg_gpu *g, bool on) {
  if (on == g->wedged) return;
  g->wedged = on;
  if (g->d->drv != FG_XE || !fg_rpm) return;
  if (on) {
    pm_runtime_get_sync(&g->pdev->dev);
  } else {
    pm_runtime_put_autosuspend(&g->pdev->dev);
  }
}

/* "count=N REST": how often */
static unsigned int take_count(char **args) {
  unsigned int n = 1;
  char *word;

  if (!strncmp(*args, "count=", 6)) {
    word = strsep(args, " ");
    if (!*args || kstrtouint(word + 6, 10, &n)) n = 0;
  }
  return n;
}

/* log [count=N] LEVEL TEXT; in front the driver's name and the address, as dev_printk() puts them, if there is a device
 */
int fg_log(struct device *dev, char *args) {
  unsigned int n = take_count(&args);
  char level[] = KERN_SOH "6", *word = n ? strsep(&args, " ") : NULL;

  if (!args || word[0] < '0' || word[0] > '7' || word[1]) return -EINVAL;
  level[1] = word[0];
  string_unescape_any_inplace(args);
  while (n--) {
    if (dev)
      dev_printk(level, dev, "%s\n", args);
    else
      printk("%s%s\n", level, args);
    cond_resched();
  }
  return 0;
}

/* uevent [count=N] KEY=VALUE: of the card, as the drivers send it */
static int cmd_uevent(struct fg_gpu *g, char *args) {
  unsigned int n = take_count(&args);
  char *env[] = {args, NULL};
  int ret = n ? 0 : -EINVAL;

  while (n-- && !ret) {
    ret = kobject_uevent_env(&g->drm->primary->kdev->kobj, KOBJ_CHANGE, env);
    cond_resched();
  }
  return ret;
}

/* coredump TEXT: the kernel keeps one for each device until somebody writes to it, five minutes at most */
int fg_coredump(struct device *dev, char *args) {
  size_t len;
  char *data;

  string_unescape_any_inplace(args);
  len = strlen(args);
  data = len ? vmalloc(len) : NULL;
  if (!data) return len ? -ENOMEM : -EINVAL;
  memcpy(data, args, len);
  dev_coredumpv(dev, data, len, GFP_KERNEL);
  return 0;
}

/* -ENOENT: no such command */
int fg_health_command(struct fg_gpu *g, const char *verb, char *args) {
  if (!g->pdev || !g->drm || !g->health) return -ENODEV;
  if (!strcmp(verb, "log")) return fg_log(&g->pdev->dev, args);
  if (!strcmp(verb, "coredump")) return fg_coredump(&g->pdev->dev, args);
  if (!strcmp(verb, "uevent")) return cmd_uevent(g, args);
  if (!strcmp(verb, "aer")) return cmd_aer(g, args);
  if (!strcmp(verb, "survivability")) return set_survivability(g, *args == '1');
  if (strcmp(verb, "wedged")) return -ENOENT;
  set_wedged(g, *args == '1');
  return 0;
}

int fg_health_add(struct fg_gpu *g) {
  g->health = kzalloc(sizeof(*g->health), GFP_KERNEL);
  return g->health ? 0 : -ENOMEM;
}

void fg_health_del(struct fg_gpu *g) {
  int i, k;

  if (!g->health) return;
  set_wedged(g, false);
  set_survivability(g, false);
  for (i = 0; i < g->health->hops; i++)
    for (k = 0; k < ARRAY_SIZE(aer_file); k++) device_remove_file(g->health->aer[i].dev, &g->health->aer[i].attr[k]);
  kfree(g->health);
  g->health = NULL;
}
