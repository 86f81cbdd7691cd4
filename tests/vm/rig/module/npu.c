// SPDX-License-Identifier: GPL-2.0
/*
 * The NPU of a Lunar Lake: PCI device 00:0b.0 bound to intel_vpu, /dev/accel/accel0, and the driver's files, of which
 * none wakes it. It sleeps whenever it has no job and no file is being opened.
 */
#include <linux/fs.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#include "fakegpu.h"

struct npu_client {
  struct list_head link;
  u32 id;
  u64 mem;
};

static struct {
  struct pci_dev *pdev; /* set while the driver is bound */
  struct device *accel;
  struct mutex lock; /* the model below */
  struct fg_int busy;
  u32 bp, clock_mhz;
  u64 mem;
  bool pm_held;
  struct list_head clients;
  u32 next_client, suspends, resumes, opens, reads;
} npu = {.clock_mhz = 1400};

#define HIGHEST_MHZ 1950

static u64 resident(void) {
  struct npu_client *c;
  u64 sum = npu.mem;

  list_for_each_entry(c, &npu.clients, link) sum += c->mem;
  return sum;
}

static ssize_t show(const char *name, char *buf, u64 value) {
  char what[48];
  int ret;

  npu.reads++;
  snprintf(what, sizeof(what), "npu:%s", name);
  ret = fg_fault(NULL, what, buf, PAGE_SIZE);
  if (ret < 0) return ret;
  return ret > 0 ? strlen(buf) : sysfs_emit(buf, "%llu\n", value);
}

static ssize_t npu_busy_time_us_show(struct device *dev, struct device_attribute *a, char *buf) {
  u64 us;

  mutex_lock(&npu.lock);
  us = fg_val(&npu.busy, ktime_get_ns(), FG_BP_TO_NS * 1000ull);
  mutex_unlock(&npu.lock);
  return show(a->attr.name, buf, us);
}

static ssize_t npu_memory_utilization_show(struct device *dev, struct device_attribute *a, char *buf) {
  u64 bytes;

  mutex_lock(&npu.lock);
  bytes = resident();
  mutex_unlock(&npu.lock);
  return show(a->attr.name, buf, bytes);
}

static ssize_t npu_max_frequency_mhz_show(struct device *dev, struct device_attribute *a, char *buf) {
  return show(a->attr.name, buf, HIGHEST_MHZ);
}

/* The clock is asked of the hardware only while it is awake. */
static ssize_t npu_current_frequency_mhz_show(struct device *dev, struct device_attribute *a, char *buf) {
  return show(a->attr.name, buf, pm_runtime_active(dev) && npu.bp ? npu.clock_mhz : 0);
}

static ssize_t sched_mode_show(struct device *dev, struct device_attribute *a, char *buf) {
  npu.reads++;
  return sysfs_emit(buf, "HW\n");
}

static DEVICE_ATTR_RO(npu_busy_time_us);
static DEVICE_ATTR_RO(npu_memory_utilization);
static DEVICE_ATTR_RO(npu_max_frequency_mhz);
static DEVICE_ATTR_RO(npu_current_frequency_mhz);
static DEVICE_ATTR_RO(sched_mode);
static struct attribute *npu_attrs[] = {&dev_attr_npu_busy_time_us.attr,
                                        &dev_attr_npu_memory_utilization.attr,
                                        &dev_attr_npu_max_frequency_mhz.attr,
                                        &dev_attr_npu_current_frequency_mhz.attr,
                                        &dev_attr_sched_mode.attr,
                                        NULL};
ATTRIBUTE_GROUPS(npu);

/* busy=PERCENT mem=SIZE clock=MHZ */
static int set(char *words, u64 *mem) {
  char *tok, *val;
  u64 v;
  int ret = 0;

  mutex_lock(&npu.lock);
  while (!ret && (tok = strsep(&words, " \n"))) {
    if (!*tok) continue;
    val = strchr(tok, '=');
    if (!val) {
      ret = -EINVAL;
    } else if (!strncmp(tok, "busy=", 5)) {
      ret = fg_fixed(val + 1, 2, &v) || v > FG_BP ? -EINVAL : 0;
      if (ret) break;
      npu.bp = v;
      fg_int_set(&npu.busy, v, ktime_get_ns());
    } else if (!strncmp(tok, "mem=", 4)) {
      *mem = memparse(val + 1, NULL);
    } else if (!strncmp(tok, "clock=", 6)) {
      ret = kstrtou32(val + 1, 10, &npu.clock_mhz);
    } else {
      ret = -EINVAL;
    }
  }
  if (npu.pdev && npu.pm_held != !!npu.bp) {
    if (npu.bp)
      pm_runtime_get_sync(&npu.pdev->dev);
    else
      pm_runtime_put_autosuspend(&npu.pdev->dev);
    npu.pm_held = npu.bp;
  }
  mutex_unlock(&npu.lock);
  return ret;
}

/* ---- /dev/accel/accel0 -------------------------------------------------------- */

static int accel_open(struct inode *inode, struct file *f) {
  struct npu_client *c = kzalloc(sizeof(*c), GFP_KERNEL);

  if (!c) return -ENOMEM;
  mutex_lock(&npu.lock);
  if (!npu.pdev) {
    mutex_unlock(&npu.lock);
    kfree(c);
    return -ENODEV;
  }
  npu.opens++;
  c->id = ++npu.next_client;
  list_add_tail(&c->link, &npu.clients);
  pm_runtime_get_sync(&npu.pdev->dev);
  pm_runtime_put_autosuspend(&npu.pdev->dev);
  mutex_unlock(&npu.lock);
  f->private_data = c;
  return 0;
}

static int accel_release(struct inode *inode, struct file *f) {
  struct npu_client *c = f->private_data;

  mutex_lock(&npu.lock);
  list_del(&c->link);
  mutex_unlock(&npu.lock);
  kfree(c);
  return 0;
}

/* A program's load: mem=64M busy=20 */
static ssize_t accel_write(struct file *f, const char __user *ubuf, size_t len, loff_t *off) {
  struct npu_client *c = f->private_data;
  char *text;
  int ret;

  if (len > 256) return -E2BIG;
  text = memdup_user_nul(ubuf, len);
  if (IS_ERR(text)) return PTR_ERR(text);
  ret = set(text, &c->mem);
  kfree(text);
  return ret ? ret : len;
}

static void accel_fdinfo(struct seq_file *m, struct file *f) {
  struct npu_client *c = f->private_data;

  seq_printf(m, "drm-driver:\tintel_vpu\ndrm-client-id:\t%u\ndrm-pdev:\t0000:00:0b.0\n", c->id);
  seq_printf(m, "drm-total-memory:\t%llu KiB\ndrm-shared-memory:\t0\n", c->mem >> 10);
  seq_printf(m, "drm-active-memory:\t0\ndrm-resident-memory:\t%llu KiB\n", c->mem >> 10);
}

static const struct file_operations accel_fops = {
    .owner = THIS_MODULE,
    .open = accel_open,
    .release = accel_release,
    .write = accel_write,
    .show_fdinfo = accel_fdinfo,
};

#define ACCEL_MAJOR 261 /* include/drm/drm_accel.h of newer kernels */

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
static char *accel_node(const struct device *dev, umode_t *mode) {
#else
static char *accel_node(struct device *dev, umode_t *mode) {
#endif
  return kasprintf(GFP_KERNEL, "accel/%s", dev_name(dev));
}
static struct class accel_class = {.name = "accel", .devnode = accel_node};

/* ---- the driver ------------------------------------------------------------------ */

static int npu_probe(struct pci_dev *pdev, const struct pci_device_id *id) {
  int ret = pcim_enable_device(pdev);

  if (ret) return ret;
  npu.accel = device_create(&accel_class, &pdev->dev, MKDEV(ACCEL_MAJOR, 0), NULL, "accel0");
  if (IS_ERR(npu.accel)) return PTR_ERR(npu.accel);
  mutex_lock(&npu.lock);
  npu.pdev = pdev;
  /* The busy time is the driver's own, so it begins again. */
  npu.busy = (struct fg_int){.t0 = ktime_get_ns()};
  npu.bp = 0;
  npu.pm_held = false;
  mutex_unlock(&npu.lock);
  pm_runtime_set_autosuspend_delay(&pdev->dev, 100);
  pm_runtime_use_autosuspend(&pdev->dev);
  pm_runtime_allow(&pdev->dev);
  pm_runtime_mark_last_busy(&pdev->dev);
  pm_runtime_put_autosuspend(&pdev->dev);
  return 0;
}

static void npu_remove(struct pci_dev *pdev) {
  mutex_lock(&npu.lock);
  npu.pdev = NULL;
  if (!npu.pm_held) pm_runtime_get_sync(&pdev->dev);
  npu.pm_held = false;
  mutex_unlock(&npu.lock);
  pm_runtime_forbid(&pdev->dev);
  pm_runtime_dont_use_autosuspend(&pdev->dev);
  device_destroy(&accel_class, MKDEV(ACCEL_MAJOR, 0));
}

static int __maybe_unused npu_suspend(struct device *dev) {
  npu.suspends++;
  return 0;
}

static int __maybe_unused npu_resume(struct device *dev) {
  npu.resumes++;
  return 0;
}

static const struct dev_pm_ops npu_pm_ops = {SET_RUNTIME_PM_OPS(npu_suspend, npu_resume, NULL)};

static const struct pci_device_id npu_ids[] = {{PCI_DEVICE(PCI_VENDOR_ID_INTEL, 0x643e)}, {}};

static struct pci_driver npu_driver = {
    .name = "intel_vpu",
    .id_table = npu_ids,
    .probe = npu_probe,
    .remove = npu_remove,
    .dev_groups = npu_groups,
    .driver.pm = &npu_pm_ops,
};

/* npu busy=40 mem=64M clock=1400: jobs that belong to no client; npu recover: after a hang */
int fg_npu_command(char *args) {
  char *env[] = {"IVPU_PM_EVENT=IVPU_RECOVER", NULL};

  if (!fg_npu || !npu.pdev) return -ENODEV;
  if (strcmp(strim(args), "recover")) return set(args, &npu.mem);
  dev_err(&npu.pdev->dev, "[drm] Recovery triggered by TDR\n");
  fg_coredump(&npu.pdev->dev, (char[]){"coredump of an NPU"});
  return kobject_uevent_env(&npu.pdev->dev.kobj, KOBJ_CHANGE, env);
}

void fg_npu_show(struct seq_file *m) {
  mutex_lock(&npu.lock);
  seq_printf(m,
             ",\n\"npu\":{\"busy_ns\":%llu,\"resident\":%llu,\"awake\":%s,\"suspends\":%u,\"resumes\":%u,\"opens\":%u,"
             "\"reads\":%u}",
             fg_val(&npu.busy, ktime_get_ns(), FG_BP_TO_NS), resident(),
             npu.pdev && pm_runtime_active(&npu.pdev->dev) ? "true" : "false", npu.suspends, npu.resumes, npu.opens,
             npu.reads);
  mutex_unlock(&npu.lock);
}

int fg_npu_init(void) {
  int ret;

  mutex_init(&npu.lock);
  INIT_LIST_HEAD(&npu.clients);
  if (!fg_npu) return 0;
  ret = class_register(&accel_class);
  if (ret) return ret;
  ret = register_chrdev(ACCEL_MAJOR, "accel", &accel_fops);
  if (ret) goto err_class;
  ret = pci_register_driver(&npu_driver);
  if (ret) goto err_chrdev;
  return 0;
err_chrdev:
  unregister_chrdev(ACCEL_MAJOR, "accel");
err_class:
  class_unregister(&accel_class);
  return ret;
}

void fg_npu_exit(void) {
  if (!fg_npu) return;
  pci_unregister_driver(&npu_driver);
  unregister_chrdev(ACCEL_MAJOR, "accel");
  class_unregister(&accel_class);
}
