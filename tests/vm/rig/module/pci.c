// SPDX-License-Identifier: GPL-2.0
/*
 * Software PCI devices on the machine's real bus 0000:00. Configuration cycles
 * for our slots are answered from memory, everything else goes to the real ops.
 * An integrated GPU sits at 00:02.0; a discrete one behind a root port and a
 * two-bridge switch, as on the real cards (GPU at 0000:03:00.0, next 0000:06:00.0). With `vfs` a discrete xe GPU has
 * the SR-IOV capability: the kernel itself makes the virtual functions, their links and files. The NPU is 00:0b.0.
 */
#include <linux/pm_runtime.h>

#include "fakegpu.h"

#define PM_CAP 0x80
#define PCIE_CAP 0x40
#define SRIOV_CAP 0x100
#define CFG_SIZE 512 /* of the 4096 that a function with extended capabilities has; the rest reads 0 */

struct fg_node {
  u8 bus, devfn;
  bool hidden, bridge, extended;
  struct fg_gpu *gpu; /* of a PF, or a GPU without functions */
  struct fg_node *pf; /* of a VF */
  u8 cfg[CFG_SIZE];
};

static struct fg_node nodes[FG_MAX_GPUS * (4 + FG_MAX_VFS) + 1];
static int num_nodes;
static struct pci_bus *root;
static struct pci_ops *real_ops;
static bool i915_registered, xe_registered;

static struct fg_node *find_node(int bus, int devfn) {
  int i;

  for (i = 0; i < num_nodes; i++)
    if (nodes[i].bus == bus && nodes[i].devfn == devfn) return &nodes[i];
  return NULL;
}

static bool our_bus(int bus) {
  int i;

  if (!bus) return false;
  for (i = 0; i < num_nodes; i++)
    if (nodes[i].bus == bus) return true;
  return false;
}

static u16 get16(const struct fg_node *n, int off) { return n->cfg[off] | n->cfg[off + 1] << 8; }

/* A virtual function answers while its PF has it enabled. */
static bool answers(const struct fg_node *n) {
  if (!n->pf) return !n->hidden;
  return !n->pf->hidden && get16(n->pf, SRIOV_CAP + PCI_SRIOV_CTRL) & PCI_SRIOV_CTRL_VFE &&
         n->devfn - n->pf->devfn <= get16(n->pf, SRIOV_CAP + PCI_SRIOV_NUM_VF);
}

static int cfg_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *val) {
  struct fg_node *n = find_node(bus->number, devfn);
  int i;

  if (!n && !our_bus(bus->number)) return real_ops->read(bus, devfn, where, size, val);
  if (!n || !answers(n) || (where + size > 256 && !n->extended)) {
    *val = ~0u;
    return n && answers(n) ? PCIBIOS_SUCCESSFUL : PCIBIOS_DEVICE_NOT_FOUND;
  }
  *val = 0;
  if (where + size > CFG_SIZE) return PCIBIOS_SUCCESSFUL;
  for (i = 0; i < size; i++) *val |= (u32)n->cfg[where + i] << (8 * i);
  return PCIBIOS_SUCCESSFUL;
}

static u8 writable(const struct fg_node *n, int off) {
  bool bridge = n->bridge;

  switch (off) {
    case SRIOV_CAP + PCI_SRIOV_CTRL: return PCI_SRIOV_CTRL_VFE | PCI_SRIOV_CTRL_MSE;
    case SRIOV_CAP + PCI_SRIOV_NUM_VF:
    case SRIOV_CAP + PCI_SRIOV_SYS_PGSIZE: return 0xff;
    case PCI_COMMAND: return 0x47;
    case PCI_COMMAND + 1: return 0x05;
    case PCI_CACHE_LINE_SIZE:
    case PCI_LATENCY_TIMER:
    case PCI_INTERRUPT_LINE: return 0xff;
    case PM_CAP + PCI_PM_CTRL: return n->cfg[PM_CAP] == PCI_CAP_ID_PM ? 0x03 : 0;
  }
  if (bridge && off >= PCI_PRIMARY_BUS && off <= PCI_SUBORDINATE_BUS) return 0xff;
  if (bridge && off == PCI_BRIDGE_CONTROL) return 0xff;
  return 0;
}

static int cfg_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 val) {
  struct fg_node *n = find_node(bus->number, devfn);
  int i;

  if (!n && !our_bus(bus->number)) return real_ops->write(bus, devfn, where, size, val);
  if (!n || !answers(n) || where + size > (n->extended ? CFG_SIZE : 256)) return PCIBIOS_DEVICE_NOT_FOUND;
  for (i = 0; i < size; i++) {
    u8 m = writable(n, where + i);

    n->cfg[where + i] = (n->cfg[where + i] & ~m) | ((val >> (8 * i)) & m);
  }
  return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops fake_ops = {.read = cfg_read, .write = cfg_write};

static void put16(struct fg_node *n, int off, u16 v) {
  n->cfg[off] = v;
  n->cfg[off + 1] = v >> 8;
}

static struct fg_node *new_node(int bus, int devfn, u16 device, u32 class, u8 rev) {
  struct fg_node *n = &nodes[num_nodes++];

  memset(n, 0, sizeof(*n));
  n->bus = bus;
  n->devfn = devfn;
  put16(n, PCI_VENDOR_ID, PCI_VENDOR_ID_INTEL);
  put16(n, PCI_DEVICE_ID, device);
  put16(n, PCI_COMMAND, 0x0007);
  n->cfg[PCI_REVISION_ID] = rev;
  n->cfg[PCI_CLASS_PROG] = class;
  put16(n, PCI_CLASS_DEVICE, class >> 8);
  return n;
}

/* speed: 1..4 for 2.5, 5, 8, 16 GT/s */
static void put_pcie(struct fg_node *n, int type, int speed, int width, int max_speed, int max_width) {
  put16(n, PCIE_CAP + PCI_EXP_FLAGS, type << 4 | 2);
  put16(n, PCIE_CAP + PCI_EXP_LNKCAP, max_width << 4 | max_speed);
  put16(n, PCIE_CAP + PCI_EXP_LNKSTA, width << 4 | speed);
  put16(n, PCIE_CAP + PCI_EXP_LNKCAP2, (2 << max_speed) - 2);
}

static struct fg_node *new_bridge(int bus, int devfn, u16 device, int sec, int sub) {
  struct fg_node *n = new_node(bus, devfn, device, 0x060400, 1);

  n->bridge = true;
  n->cfg[PCI_HEADER_TYPE] = PCI_HEADER_TYPE_BRIDGE;
  n->cfg[PCI_PRIMARY_BUS] = bus;
  n->cfg[PCI_SECONDARY_BUS] = sec;
  n->cfg[PCI_SUBORDINATE_BUS] = sub;
  /* every window closed: base above limit */
  n->cfg[PCI_IO_BASE] = 0xf0;
  put16(n, PCI_MEMORY_BASE, 0xfff0);
  put16(n, PCI_PREF_MEMORY_BASE, 0xfff0);
  put16(n, PCI_STATUS, PCI_STATUS_CAP_LIST);
  n->cfg[PCI_CAPABILITY_LIST] = PCIE_CAP;
  n->cfg[PCIE_CAP] = PCI_CAP_ID_EXP;
  return n;
}

static void put_pm(struct fg_node *n) {
  put16(n, PCI_STATUS, PCI_STATUS_CAP_LIST);
  n->cfg[PCI_CAPABILITY_LIST] = PM_CAP;
  n->cfg[PM_CAP] = PCI_CAP_ID_PM;
  put16(n, PM_CAP + PCI_PM_PMC, 0x0003);
}

/* The PF's capability, and the functions that it can have: 03:00.1 and the next ones. */
static void new_functions(struct fg_node *pf, int count) {
  int i;

  pf->extended = true;
  put16(pf, SRIOV_CAP, PCI_EXT_CAP_ID_SRIOV);
  put16(pf, SRIOV_CAP + 2, 1);
  put16(pf, SRIOV_CAP + PCI_SRIOV_INITIAL_VF, count);
  put16(pf, SRIOV_CAP + PCI_SRIOV_TOTAL_VF, count);
  put16(pf, SRIOV_CAP + PCI_SRIOV_VF_OFFSET, 1);
  put16(pf, SRIOV_CAP + PCI_SRIOV_VF_STRIDE, 1);
  put16(pf, SRIOV_CAP + PCI_SRIOV_VF_DID, pf->gpu->d->device);
  put16(pf, SRIOV_CAP + PCI_SRIOV_SUP_PGSIZE, 0x553);
  put16(pf, SRIOV_CAP + PCI_SRIOV_SYS_PGSIZE, 1);
  for (i = 1; i <= count; i++) {
    struct fg_node *vf = new_node(pf->bus, pf->devfn + i, 0xffff, 0x030000, pf->gpu->d->revision);

    put16(vf, PCI_VENDOR_ID, 0xffff);
    put16(vf, PCI_SUBSYSTEM_VENDOR_ID, PCI_VENDOR_ID_INTEL);
    put16(vf, PCI_SUBSYSTEM_ID, pf->gpu->d->subdevice);
    put16(vf, PCI_STATUS, PCI_STATUS_CAP_LIST);
    vf->cfg[PCI_CAPABILITY_LIST] = PCIE_CAP;
    vf->cfg[PCIE_CAP] = PCI_CAP_ID_EXP;
    put_pcie(vf, PCI_EXP_TYPE_ENDPOINT, 1, 1, 1, 1);
    vf->pf = pf;
  }
}

static void new_npu(void) {
  struct fg_node *n = new_node(0, PCI_DEVFN(0xb, 0), 0x643e, 0x120000, 4);

  put16(n, PCI_SUBSYSTEM_VENDOR_ID, PCI_VENDOR_ID_INTEL);
  put16(n, PCI_SUBSYSTEM_ID, 0x0c9b);
  put_pm(n);
}

static void new_gpu(struct fg_gpu *g, int bus, int devfn) {
  struct fg_node *n = new_node(bus, devfn, g->d->device, 0x030000, g->d->revision);

  n->gpu = g;
  put16(n, PCI_SUBSYSTEM_VENDOR_ID, PCI_VENDOR_ID_INTEL);
  put16(n, PCI_SUBSYSTEM_ID, g->d->subdevice);
  put_pm(n);
  if (g->d->discrete) {
    /* The endpoint link of these cards always reads 2.5 GT/s x1. */
    n->cfg[PM_CAP + 1] = PCIE_CAP;
    n->cfg[PCIE_CAP] = PCI_CAP_ID_EXP;
    put_pcie(n, PCI_EXP_TYPE_ENDPOINT, 1, 1, 1, 1);
  }
  if (g->total_vfs) new_functions(n, g->total_vfs);
  snprintf(g->bdf, sizeof(g->bdf), "0000:%02x:%02x.%d", bus, PCI_SLOT(devfn), PCI_FUNC(devfn));
}

/* ---- the driver --------------------------------------------------------------- */

static struct fg_gpu *gpu_of(struct pci_dev *pdev) {
  struct fg_node *n = find_node(pdev->bus->number, pdev->devfn);

  return n ? n->gpu : NULL;
}

static int fg_probe(struct pci_dev *pdev, const struct pci_device_id *id) {
  struct fg_gpu *g = gpu_of(pdev);
  int ret;

  if (!g) return -ENODEV;
  ret = pcim_enable_device(pdev);
  if (ret) return ret;
  pci_set_drvdata(pdev, g);
  g->pdev = pdev;
  g->pm_held = false;
  ret = fg_drm_add(g);
  if (ret) goto err;
  ret = fg_sysfs_add(g);
  if (ret) goto err_drm;
  ret = fg_pmu_add(g);
  if (ret) goto err_sysfs;
  ret = fg_hwmon_add(g);
  if (ret) goto err_pmu;
  ret = fg_health_add(g);
  if (ret) goto err_hwmon;
  ret = fg_sriov_add(g);
  if (ret) goto err_health;
  if (fg_rpm) {
    pm_runtime_set_autosuspend_delay(&pdev->dev, 1000);
    pm_runtime_use_autosuspend(&pdev->dev);
    pm_runtime_allow(&pdev->dev);
    pm_runtime_mark_last_busy(&pdev->dev);
    pm_runtime_put_autosuspend(&pdev->dev);
    fg_update_pm(g);
  }
  return 0;
err_health:
  fg_health_del(g);
err_hwmon:
  fg_hwmon_del(g);
err_pmu:
  fg_pmu_del(g);
err_sysfs:
  fg_sysfs_del(g);
err_drm:
  fg_drm_del(g);
err:
  g->pdev = NULL;
  return ret;
}

static void fg_remove(struct pci_dev *pdev) {
  struct fg_gpu *g = pci_get_drvdata(pdev);

  fg_sriov_del(g);
  fg_health_del(g);
  if (fg_rpm) {
    mutex_lock(&g->pm_lock);
    if (!g->pm_held) pm_runtime_get_sync(&pdev->dev);
    g->pm_held = false;
    mutex_unlock(&g->pm_lock);
    pm_runtime_forbid(&pdev->dev);
    pm_runtime_dont_use_autosuspend(&pdev->dev);
  }
  fg_hwmon_del(g);
  fg_pmu_del(g);
  fg_sysfs_del(g);
  fg_drm_del(g);
  mutex_lock(&g->pm_lock);
  g->pdev = NULL;
  mutex_unlock(&g->pm_lock);
}

static int __maybe_unused fg_rt_suspend(struct device *dev) {
  struct fg_gpu *g = dev_get_drvdata(dev);

  g->rpm_suspends++;
  return 0;
}

static int __maybe_unused fg_rt_resume(struct device *dev) {
  struct fg_gpu *g = dev_get_drvdata(dev);

  g->rpm_resumes++;
  return 0;
}

static const struct dev_pm_ops fg_pm_ops = {SET_RUNTIME_PM_OPS(fg_rt_suspend, fg_rt_resume, NULL)};

static struct pci_device_id i915_ids[] = {
    {PCI_DEVICE(PCI_VENDOR_ID_INTEL, 0x9a49), .class = 0x030000, .class_mask = 0xff0000},
    {PCI_DEVICE(PCI_VENDOR_ID_INTEL, 0x56a0), .class = 0x030000, .class_mask = 0xff0000},
    {PCI_DEVICE(PCI_VENDOR_ID_INTEL, 0x7d55), .class = 0x030000, .class_mask = 0xff0000},
    {}};

static struct pci_device_id xe_ids[] = {
    {PCI_DEVICE(PCI_VENDOR_ID_INTEL, 0xe20b), .class = 0x030000, .class_mask = 0xff0000},
    {PCI_DEVICE(PCI_VENDOR_ID_INTEL, 0x64a0), .class = 0x030000, .class_mask = 0xff0000},
    {}};

static struct pci_driver i915_driver = {
    .name = "i915",
    .id_table = i915_ids,
    .probe = fg_probe,
    .remove = fg_remove,
    .driver.pm = &fg_pm_ops,
};

static struct pci_driver xe_driver = {
    .name = "xe",
    .id_table = xe_ids,
    .probe = fg_probe, /* not of VFs: what uses one is another kernel */
    .remove = fg_remove,
    .sriov_configure = fg_sriov_configure,
    .driver.pm = &fg_pm_ops,
};

static struct pci_dev *get_pdev(struct fg_gpu *g) {
  int i;

  for (i = 0; i < num_nodes; i++)
    if (nodes[i].gpu == g) return pci_get_domain_bus_and_slot(0, nodes[i].bus, nodes[i].devfn);
  return NULL;
}

/* To be put; NULL if it is not enabled. */
struct pci_dev *fg_pci_vf(struct fg_gpu *g, int vf) {
  int i;

  for (i = 0; i < num_nodes; i++)
    if (nodes[i].gpu == g) return pci_get_domain_bus_and_slot(0, nodes[i].bus, nodes[i].devfn + vf);
  return NULL;
}

int fg_pci_unbind(struct fg_gpu *g) {
  struct pci_dev *pdev = get_pdev(g);

  if (!pdev) return -ENODEV;
  device_release_driver(&pdev->dev);
  pci_dev_put(pdev);
  return 0;
}

int fg_pci_bind(struct fg_gpu *g) {
  struct pci_dev *pdev = get_pdev(g);
  int ret;

  if (!pdev) return -ENODEV;
  ret = device_attach(&pdev->dev);
  pci_dev_put(pdev);
  return ret < 0 ? ret : 0;
}

/* Surprise removal: the device stops answering and is taken off the bus. */
int fg_pci_remove(struct fg_gpu *g) {
  struct pci_dev *pdev = get_pdev(g);
  int i;

  if (!pdev) return -ENODEV;
  for (i = 0; i < num_nodes; i++)
    if (nodes[i].gpu == g) nodes[i].hidden = true;
  pci_stop_and_remove_bus_device_locked(pdev);
  pci_dev_put(pdev);
  return 0;
}

int fg_pci_rescan(void) {
  int i;

  for (i = 0; i < num_nodes; i++) nodes[i].hidden = false;
  if (!root) return -ENODEV;
  pci_lock_rescan_remove();
  pci_rescan_bus(root);
  pci_unlock_rescan_remove();
  return 0;
}

int fg_pci_init(void) {
  int i, bus = 1, port = 1, ret, w;

  for (i = 0; i < fg_num_gpus; i++) {
    struct fg_gpu *g = &fg_gpus[i];

    if (!g->d->discrete) {
      new_gpu(g, 0, PCI_DEVFN(2, 0));
      continue;
    }
    /* The slot's link is that of the root port and the switch's upstream port: half of what it could be. */
    w = port == 1 ? 16 : 8;
    put_pcie(new_bridge(0, PCI_DEVFN(port, 0), 0x4c01, bus, bus + 2), PCI_EXP_TYPE_ROOT_PORT, 3, w / 2, 4, w);
    put_pcie(new_bridge(bus, 0, 0x4fa1, bus + 1, bus + 2), PCI_EXP_TYPE_UPSTREAM, 3, w / 2, 4, w);
    put_pcie(new_bridge(bus + 1, PCI_DEVFN(1, 0), 0x4fa4, bus + 2, bus + 2), PCI_EXP_TYPE_DOWNSTREAM, 1, 1, 1, 1);
    new_gpu(g, bus + 2, 0);
    bus += 3;
    port = 6;
  }
  if (fg_npu) new_npu();
  root = pci_find_bus(0, 0);
  if (!root) return num_nodes ? -ENODEV : 0;
  for (i = 0; i < num_nodes; i++)
    if (!nodes[i].bus && pci_get_slot(root, nodes[i].devfn)) {
      pr_err("fakegpu: slot %02x.%d of bus 0 is taken\n", PCI_SLOT(nodes[i].devfn), PCI_FUNC(nodes[i].devfn));
      return -EBUSY;
    }
  ret = pci_register_driver(&i915_driver);
  if (ret) return ret;
  i915_registered = true;
  ret = pci_register_driver(&xe_driver);
  if (ret) {
    fg_pci_exit();
    return ret;
  }
  xe_registered = true;
  if (num_nodes) {
    real_ops = pci_bus_set_ops(root, &fake_ops);
    fg_pci_rescan();
  }
  return 0;
}

void fg_pci_exit(void) {
  int i;

  if (real_ops) {
    for (i = 0; i < num_nodes; i++) {
      struct pci_dev *pdev;

      if (nodes[i].bus) continue;
      pdev = pci_get_slot(root, nodes[i].devfn);
      if (pdev) {
        pci_stop_and_remove_bus_device_locked(pdev);
        pci_dev_put(pdev);
      }
    }
    pci_bus_set_ops(root, real_ops);
  }
  if (xe_registered) pci_unregister_driver(&xe_driver);
  if (i915_registered) pci_unregister_driver(&i915_driver);
  real_ops = NULL;
  xe_registered = i915_registered = false;
}
