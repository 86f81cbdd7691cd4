// SPDX-License-Identifier: GPL-2.0
/*
 * SR-IOV of a discrete xe GPU. The kernel makes the virtual functions; here is what the driver adds: sriov_admin/ in
 * the PF's folder (Linux 6.19), adverse_events in debugfs, and what the firmware counts for each function. Also a
 * driver that stands for vfio-pci: with the group's file of every kernel, the device's file (Linux 6.6) and what fdinfo
 * says of it (Linux 6.18). It hands out descriptors, and nothing can be done with them.
 */
#include <linux/anon_inodes.h>
#include <linux/cdev.h>
#include <linux/debugfs.h>
#include <linux/iommu.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/vfio.h>

#include "fakegpu.h"

static int vfio_generation = 2;
module_param_named(vfio, vfio_generation, int, 0644);
MODULE_PARM_DESC(
    vfio, "of functions bound from now on: 0: files of groups only, 1: of devices as well, 2: fdinfo names the device");

/* ---- sriov_admin ---------------------------------------------------------- */

enum profile { P_QUANTUM, P_PREEMPT, P_PRIORITY, P_VRAM, P_FILES };
static const char *const profile_name[P_FILES] = {"exec_quantum_ms", "preempt_timeout_us", "sched_priority",
                                                  "vram_quota"};
static const char *const priority_name[] = {"low", "normal", "high"};
static const char *const adverse_name[] = {"cat_error_count", "engine_reset_count", "page_fault_count",
                                           "guc_time_us",     "irq_time_us",        "doorbell_time_us"};

struct profile_file {
  struct kobj_attribute attr;
  struct fg_gpu *g;
  int fn, what;
};

struct fg_sriov {
  struct kobject *admin, *folder[1 + FG_MAX_VFS], *profile[1 + FG_MAX_VFS];
  struct profile_file file[1 + FG_MAX_VFS][P_FILES];
  struct dentry *debug;
  u32 adverse[1 + FG_MAX_VFS][ARRAY_SIZE(adverse_name)];
  bool linked[1 + FG_MAX_VFS]; /* vfN/device */
};

static ssize_t profile_show(struct kobject *k, struct kobj_attribute *a, char *buf) {
  struct profile_file *f = container_of(a, struct profile_file, attr);
  const struct fg_function *fn = &f->g->fn[f->fn];
  char what[64];
  ssize_t n = 0;
  int ret;
  u32 i;

  f->g->sysfs_reads++;
  snprintf(what, sizeof(what), "sysfs:sriov_admin/%s/profile/%s", k->parent->name, a->attr.name);
  ret = fg_fault(f->g, what, buf, PAGE_SIZE);
  if (ret < 0) return ret;
  if (ret > 0) return strlen(buf);
  switch (f->what) {
    case P_QUANTUM: return sysfs_emit(buf, "%u\n", fn->quantum_ms);
    case P_PREEMPT: return sysfs_emit(buf, "%u\n", fn->preempt_us);
    case P_VRAM: return sysfs_emit(buf, "%llu\n", fn->vram);
  }
  for (i = 0; i < (f->fn ? 2 : 3); i++)
    n += sysfs_emit_at(buf, n, fn->priority == i ? "%s[%s]" : "%s%s", i ? " " : "", priority_name[i]);
  return n + sysfs_emit_at(buf, n, "\n");
}

static ssize_t profile_store(struct kobject *k, struct kobj_attribute *a, const char *buf, size_t len) {
  struct profile_file *f = container_of(a, struct profile_file, attr);
  struct fg_function *fn = &f->g->fn[f->fn];
  u64 v;

  f->g->sysfs_writes++;
  if (kstrtou64(buf, 0, &v)) return -EINVAL;
  raw_spin_lock_irq(&f->g->lock);
  if (f->what == P_QUANTUM)
    fn->quantum_ms = v;
  else if (f->what == P_PREEMPT)
    fn->preempt_us = v;
  else if (f->what == P_VRAM)
    fn->vram = v;
  fg_update(f->g);
  raw_spin_unlock_irq(&f->g->lock);
  return len;
}

static int add_profile(struct fg_gpu *g, int fn) {
  struct fg_sriov *s = g->sriov;
  char name[8] = "pf";
  int i, ret;

  if (fn) snprintf(name, sizeof(name), "vf%d", fn);
  s->folder[fn] = kobject_create_and_add(name, s->admin);
  s->profile[fn] = s->folder[fn] ? kobject_create_and_add("profile", s->folder[fn]) : NULL;
  if (!s->profile[fn]) return -ENOMEM;
  for (i = 0; i < P_FILES; i++) {
    struct profile_file *f = &s->file[fn][i];

    if (i == P_VRAM && !fn) continue;
    f->g = g;
    f->fn = fn;
    f->what = i;
    sysfs_attr_init(&f->attr.attr);
    f->attr.attr.name = profile_name[i];
    f->attr.attr.mode = i == P_PRIORITY ? 0444 : 0644;
    f->attr.show = profile_show;
    f->attr.store = i == P_PRIORITY ? NULL : profile_store;
    ret = sysfs_create_file(s->profile[fn], &f->attr.attr);
    if (ret) return ret;
  }
  return 0;
}

/* ---- debugfs ----------------------------------------------------------------- */

static int adverse_show(struct seq_file *m, void *v) {
  struct fg_gpu *g = m->private;
  int fn, i;

  for (fn = 1; g->sriov && fn <= g->num_vfs; fn++) {
    u32 any = 0;

    for (i = 0; i < ARRAY_SIZE(adverse_name); i++) any |= g->sriov->adverse[fn][i];
    if (!any) continue;
    seq_printf(m, "VF%d:\t", fn);
    for (i = 0; i < ARRAY_SIZE(adverse_name); i++)
      seq_printf(m, "%s%s:%u", i ? " " : "", adverse_name[i], g->sriov->adverse[fn][i]);
    seq_puts(m, "\n");
  }
  return 0;
}
DEFINE_SHOW_ATTRIBUTE(adverse);

static void add_debugfs(struct fg_gpu *g) {
  static const char *const folder[] = {"sriov", "pf", "tile0", "gt0"};
  struct dentry *dri = debugfs_lookup("dri", NULL), *at;
  int i;

  if (!dri) return;
  at = g->sriov->debug = debugfs_create_dir(g->bdf, dri);
  dput(dri);
  for (i = 0; i < ARRAY_SIZE(folder); i++) at = debugfs_create_dir(folder[i], at);
  debugfs_create_file("adverse_events", 0400, at, g, &adverse_fops);
}

/* ---- enabling ------------------------------------------------------------------ */

/* The firmware begins to count anew, the PF too: events that are open see their counts go back. */
static void set_functions(struct fg_gpu *g, int n) {
  u64 now;
  int fn, i;

  raw_spin_lock_irq(&g->lock);
  fg_update(g);
  g->num_vfs = n;
  fg_update(g);
  now = fg_now(g);
  for (fn = 0; fn <= g->total_vfs; fn++) {
    g->fn[fn].total.fine = 0;
    for (i = 0; i < g->d->num_engines; i++)
      g->fn[fn].base[i] = fg_ticks(fn ? &g->fn[fn].busy[i] : &g->eng[i].busy, now);
  }
  raw_spin_unlock_irq(&g->lock);
  fg_update_pm(g);
}

static void unlink_functions(struct fg_gpu *g) {
  int fn;

  for (fn = 1; fn <= g->total_vfs; fn++) {
    if (g->sriov->linked[fn]) sysfs_remove_link(g->sriov->folder[fn], "device");
    g->sriov->linked[fn] = false;
  }
}

/* A write to sriov_numvfs; the kernel holds the device's lock. */
int fg_sriov_configure(struct pci_dev *pdev, int n) {
  struct fg_gpu *g = pci_get_drvdata(pdev);
  int fn, ret;

  if (!g->total_vfs) return -ENODEV;
  ret = n ? fg_fault(g, "sriov", NULL, 0) : 0;
  if (ret < 0) return ret;
  if (!n) {
    if (!pci_num_vf(pdev)) return 0;
    unlink_functions(g);
    set_functions(g, 0);
    pci_disable_sriov(pdev);
    if (fg_rpm) pm_runtime_put_autosuspend(&pdev->dev);
    return 0;
  }
  /* The PF stays awake as long as there are VFs: they have no power management of their own. */
  if (fg_rpm) pm_runtime_get_sync(&pdev->dev);
  ret = pci_enable_sriov(pdev, n);
  if (ret) {
    if (fg_rpm) pm_runtime_put_autosuspend(&pdev->dev);
    return ret;
  }
  set_functions(g, n);
  for (fn = 1; fn <= n; fn++) {
    struct pci_dev *vf = fg_pci_vf(g, fn);

    if (vf) g->sriov->linked[fn] = !sysfs_create_link(g->sriov->folder[fn], &vf->dev.kobj, "device");
    pci_dev_put(vf);
  }
  return n;
}

/* vf N ENGINE=PERCENT...: its load, while it is enabled; adverse N KIND=COUNT: to be added; link NAME, unlink NAME in
 * the PF's folder: of tools that make a mess */
int fg_sriov_command(struct fg_gpu *g, const char *verb, char *args) {
  char *tok, *val;
  int fn, i;
  u64 v;

  if (!g->sriov) return -EINVAL;
  if (!strcmp(verb, "link")) return sysfs_create_link(&g->pdev->dev.kobj, &g->pdev->dev.kobj, strim(args));
  if (!strcmp(verb, "unlink")) {
    sysfs_remove_link(&g->pdev->dev.kobj, strim(args));
    return 0;
  }
  tok = strsep(&args, " ");
  if (!args || kstrtoint(tok, 10, &fn) || fn < 1 || fn > g->total_vfs) return -EINVAL;
  while ((tok = strsep(&args, " "))) {
    if (!*tok) continue;
    val = strchr(tok, '=');
    if (!val) return -EINVAL;
    *val++ = 0;
    if (!strcmp(verb, "adverse")) {
      for (i = 0; i < ARRAY_SIZE(adverse_name) && strcmp(adverse_name[i], tok); i++)
        ;
      if (i == ARRAY_SIZE(adverse_name) || kstrtou64(val, 10, &v)) return -EINVAL;
      g->sriov->adverse[fn][i] += v;
    } else if (!strcmp(verb, "vf")) {
      i = fg_engine_index(g, tok);
      if (i < 0 || fg_fixed(val, 2, &v) || v > FG_BP) return -EINVAL;
      raw_spin_lock_irq(&g->lock);
      g->fn[fn].bp[i] = v;
      fg_update(g);
      raw_spin_unlock_irq(&g->lock);
    } else {
      return -EINVAL;
    }
  }
  return 0;
}

/* g->lock held */
void fg_sriov_show(struct fg_gpu *g, struct seq_file *m, u64 now) {
  int fn, i;

  seq_printf(m, ",\n \"num_vfs\":%d,\"functions\":[", g->num_vfs);
  for (fn = 0; fn <= g->total_vfs; fn++) {
    seq_printf(m, "%s{", fn ? "," : "");
    for (i = 0; i < g->d->num_engines; i++)
      seq_printf(m, "%s\"%s\":%llu", i ? "," : "", g->eng[i].d->name,
                 fg_val(fn ? &g->fn[fn].busy[i] : &g->eng[i].busy, now, FG_BP_TO_NS));
    seq_puts(m, "}");
  }
  seq_puts(m, "]");
}

int fg_sriov_add(struct fg_gpu *g) {
  int fn, ret = 0;

  if (!g->total_vfs) return 0;
  g->sriov = kzalloc(sizeof(*g->sriov), GFP_KERNEL);
  if (!g->sriov) return -ENOMEM;
  g->sriov->admin = kobject_create_and_add("sriov_admin", &g->pdev->dev.kobj);
  if (!g->sriov->admin) ret = -ENOMEM;
  for (fn = 0; !ret && fn <= g->total_vfs; fn++) ret = add_profile(g, fn);
  if (ret)
    fg_sriov_del(g);
  else
    add_debugfs(g);
  return ret;
}

void fg_sriov_del(struct fg_gpu *g) {
  struct fg_sriov *s = g->sriov;
  int fn;

  if (!s) return;
  fg_sriov_configure(g->pdev, 0);
  debugfs_remove_recursive(s->debug);
  for (fn = 0; fn <= g->total_vfs; fn++) {
    kobject_put(s->profile[fn]);
    kobject_put(s->folder[fn]);
  }
  kobject_put(s->admin);
  kfree(s);
  g->sriov = NULL;
}

/* ---- vfio-pci -------------------------------------------------------------------- */

#define DEVICE_MINORS 128 /* those of groups are below */

struct fg_vfio {
  struct pci_dev *pdev; /* NULL: free */
  struct iommu_group *group;
  struct device *group_dev, *cdev;
};

static struct fg_vfio bound[FG_MAX_GPUS * FG_MAX_VFS];
static DEFINE_MUTEX(vfio_lock);
static int vfio_major;
static bool vfio_classes, vfio_registered;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
#define CLASS_DEVICE const struct device
#else
#define CLASS_DEVICE struct device
#endif
static char *group_node(CLASS_DEVICE *dev, umode_t *mode) { return kasprintf(GFP_KERNEL, "vfio/%s", dev_name(dev)); }
static char *device_node(CLASS_DEVICE *dev, umode_t *mode) {
  return kasprintf(GFP_KERNEL, "vfio/devices/%s", dev_name(dev));
}
static struct class group_class = {.name = "vfio", .devnode = group_node};
static struct class device_class = {.name = "vfio-dev", .devnode = device_node};

static void vfio_show_fdinfo(struct seq_file *m, struct file *f) {
  struct pci_dev *pdev = f->private_data;
  char *path = vfio_generation >= 2 ? kobject_get_path(&pdev->dev.kobj, GFP_KERNEL) : NULL;

  if (path) seq_printf(m, "vfio-device-syspath: /sys%s\n", path);
  kfree(path);
}

static int vfio_release(struct inode *inode, struct file *f) {
  pci_dev_put(f->private_data);
  return 0;
}

static const struct file_operations vfio_device_fops = {
    .owner = THIS_MODULE,
    .release = vfio_release,
    .show_fdinfo = vfio_show_fdinfo,
};

static long vfio_group_ioctl(struct file *f, unsigned int cmd, unsigned long arg) {
  struct pci_dev *pdev = f->private_data;
  char name[32] = "";
  int fd;

  if (cmd != VFIO_GROUP_GET_DEVICE_FD) return -ENOTTY;
  if (strncpy_from_user(name, (const char __user *)arg, sizeof(name) - 1) < 0) return -EFAULT;
  if (strcmp(name, pci_name(pdev))) return -ENODEV;
  fd = anon_inode_getfd("[vfio-device]", &vfio_device_fops, pci_dev_get(pdev), O_RDWR | O_CLOEXEC);
  if (fd < 0) pci_dev_put(pdev);
  return fd;
}

static const struct file_operations vfio_group_fops = {
    .owner = THIS_MODULE,
    .release = vfio_release,
    .unlocked_ioctl = vfio_group_ioctl,
};

static int vfio_open(struct inode *inode, struct file *f) {
  int i, minor = iminor(inode), ret = -ENODEV;

  mutex_lock(&vfio_lock);
  for (i = 0; i < ARRAY_SIZE(bound); i++) {
    const struct fg_vfio *v = &bound[i];

    if (!v->pdev || (minor == DEVICE_MINORS + i ? !v->cdev : minor != iommu_group_id(v->group))) continue;
    f->private_data = pci_dev_get(v->pdev);
    replace_fops(f, minor < DEVICE_MINORS ? &vfio_group_fops : &vfio_device_fops);
    __module_get(THIS_MODULE);
    ret = 0;
    break;
  }
  mutex_unlock(&vfio_lock);
  return ret;
}

static const struct file_operations vfio_fops = {.owner = THIS_MODULE, .open = vfio_open};

static int vfio_probe(struct pci_dev *pdev, const struct pci_device_id *id) {
  struct fg_vfio *v = bound;
  int i, ret = -ENOSPC;

  mutex_lock(&vfio_lock);
  for (i = 0; i < ARRAY_SIZE(bound) && bound[i].pdev; i++)
    ;
  if (i == ARRAY_SIZE(bound)) goto out;
  v = &bound[i];
  v->group = iommu_group_alloc();
  ret = PTR_ERR_OR_ZERO(v->group);
  if (ret) goto out;
  ret = iommu_group_id(v->group) < DEVICE_MINORS ? iommu_group_add_device(v->group, &pdev->dev) : -ENOSPC;
  if (ret) {
    iommu_group_put(v->group);
    goto out;
  }
  v->group_dev = device_create(&group_class, NULL, MKDEV(vfio_major, iommu_group_id(v->group)), NULL, "%d",
                               iommu_group_id(v->group));
  v->cdev = vfio_generation
                ? device_create(&device_class, &pdev->dev, MKDEV(vfio_major, DEVICE_MINORS + i), NULL, "vfio%d", i)
                : NULL;
  v->pdev = pdev;
out:
  mutex_unlock(&vfio_lock);
  return ret;
}

static void vfio_remove(struct pci_dev *pdev) {
  int i;

  mutex_lock(&vfio_lock);
  for (i = 0; i < ARRAY_SIZE(bound) && bound[i].pdev != pdev; i++)
    ;
  if (i < ARRAY_SIZE(bound)) {
    struct fg_vfio *v = &bound[i];

    device_destroy(&group_class, MKDEV(vfio_major, iommu_group_id(v->group)));
    if (v->cdev) device_destroy(&device_class, MKDEV(vfio_major, DEVICE_MINORS + i));
    iommu_group_remove_device(&pdev->dev);
    iommu_group_put(v->group);
    memset(v, 0, sizeof(*v));
  }
  mutex_unlock(&vfio_lock);
}

static const struct pci_device_id vfio_ids[] = {{PCI_DRIVER_OVERRIDE_DEVICE_VFIO(PCI_ANY_ID, PCI_ANY_ID)}, {}};

static struct pci_driver vfio_driver = {
    .name = "vfio-pci",
    .id_table = vfio_ids,
    .probe = vfio_probe,
    .remove = vfio_remove,
    .driver_managed_dma = true,
};

int fg_sriov_init(void) {
  int ret;

  if (!fg_vfs) return 0;
  ret = class_register(&group_class);
  if (ret) return ret;
  ret = class_register(&device_class);
  if (ret) {
    class_unregister(&group_class);
    return ret;
  }
  vfio_classes = true;
  ret = vfio_major = register_chrdev(0, "vfio", &vfio_fops);
  if (ret >= 0) ret = pci_register_driver(&vfio_driver);
  vfio_registered = !ret;
  if (ret) fg_sriov_exit();
  return ret;
}

void fg_sriov_exit(void) {
  if (vfio_registered) pci_unregister_driver(&vfio_driver);
  if (vfio_major > 0) unregister_chrdev(vfio_major, "vfio");
  if (vfio_classes) {
    class_unregister(&device_class);
    class_unregister(&group_class);
  }
}
