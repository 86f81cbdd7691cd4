// SPDX-License-Identifier: GPL-2.0
/* /dev/fakegpu-ctl: write commands, read the state as JSON. Fault rules. */
#include <linux/ctype.h>
#include <linux/delay.h>
#include <linux/glob.h>
#include <linux/miscdevice.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string_helpers.h>
#include <linux/uaccess.h>

#include "fakegpu.h"

#define MAX_RULES 32
#define RAPL_RANGE_UJ 262143328850ull

struct rule {
  char glob[64];
  int gpu;                 /* -1: any */
  int err, delay_ms, left; /* left: -1 for ever */
  bool has_text;
  char text[160];
};

static struct rule rules[MAX_RULES];
static int num_rules;
static DEFINE_RAW_SPINLOCK(rule_lock);
static DEFINE_MUTEX(ctl_lock);

static const struct {
  const char *name;
  int val;
} errnos[] = {
    {"EIO", EIO},
    {"ENODEV", ENODEV},
    {"ENOENT", ENOENT},
    {"EACCES", EACCES},
    {"EPERM", EPERM},
    {"EINVAL", EINVAL},
    {"EAGAIN", EAGAIN},
    {"EBUSY", EBUSY},
    {"ENODATA", ENODATA},
    {"ENXIO", ENXIO},
    {"ETIMEDOUT", ETIMEDOUT},
    {"ENOMEM", ENOMEM},
    {"EOPNOTSUPP", EOPNOTSUPP},
    {"EMFILE", EMFILE},
    {"EUCLEAN", EUCLEAN},
};

int fg_fault(struct fg_gpu *g, const char *what, char *buf, size_t len) {
  int i, delay = 0, ret = 0;
  unsigned long flags;

  if (!READ_ONCE(num_rules)) return 0;
  raw_spin_lock_irqsave(&rule_lock, flags);
  for (i = 0; i < num_rules; i++) {
    struct rule *r = &rules[i];

    if (!r->left || (r->gpu >= 0 && (!g || g->idx != r->gpu)) || !glob_match(r->glob, what)) continue;
    if (r->has_text && !buf) continue;
    if (r->left > 0) r->left--;
    delay += r->delay_ms;
    if (r->err) ret = -r->err;
    if (r->has_text) {
      strscpy(buf, r->text, len);
      ret = 1;
    }
    if (ret) break;
  }
  raw_spin_unlock_irqrestore(&rule_lock, flags);
  if (delay && !irqs_disabled() && !in_atomic()) msleep_interruptible(delay);
  return ret;
}

/* "12.34" with digits=2 gives 1234 */
int fg_fixed(const char *s, int digits, u64 *out) {
  u64 v = 0;
  bool dot = false;

  if (!isdigit(*s)) return -EINVAL;
  for (; *s && !isspace(*s); s++) {
    if (*s == '.' && !dot) {
      dot = true;
      continue;
    }
    if (!isdigit(*s)) return -EINVAL;
    if (dot && digits-- <= 0) continue;
    v = v * 10 + (*s - '0');
  }
  while (digits-- > 0) v *= 10;
  *out = v;
  return 0;
}

int fg_engine_index(struct fg_gpu *g, const char *name) {
  int i;

  for (i = 0; i < g->d->num_engines; i++)
    if (!strcmp(g->d->engines[i].name, name)) return i;
  return -1;
}

static int class_index(const char *name) {
  int i;

  for (i = 0; i < FG_CLASSES; i++)
    if (!strcmp(fg_class_i915[i], name) || !strcmp(fg_class_xe[i], name)) return i;
  return -1;
}

static int set_mem(struct fg_client *c, char *key, const char *val) {
  static const char *const kinds[FG_MEMKINDS] = {"total", "shared", "active", "resident", "purgeable"};
  const struct fg_desc *d = c->gpu->d;
  u64 size = memparse(val, NULL);
  char *region = NULL, *kind = NULL;
  int r = d->vram_region, k;

  strsep(&key, ".");
  region = strsep(&key, ".");
  kind = key;
  if (region) {
    for (r = 0; r < d->num_regions; r++)
      if (!strcmp(d->regions[r].name, region)) break;
    if (r == d->num_regions) return -EINVAL;
  }
  if (!kind) {
    c->mem[r][FG_TOTAL] = c->mem[r][FG_RESIDENT] = size;
    return 0;
  }
  for (k = 0; k < FG_MEMKINDS; k++)
    if (!strcmp(kinds[k], kind)) {
      c->mem[r][k] = size;
      return 0;
    }
  return -EINVAL;
}

/* render=30 video=75 vcs1=20 mem=512M mem.local0.active=1M; "idle" clears the engines */
int fg_client_command(struct fg_client *c, char *text) {
  struct fg_gpu *g = c->gpu;
  char *tok;
  int ret = 0;

  while (!ret && (tok = strsep(&text, " \t\n"))) {
    char *val = strchr(tok, '=');
    int i, class;
    u64 v;

    if (!*tok) continue;
    if (!strcmp(tok, "idle")) {
      raw_spin_lock_irq(&g->lock);
      memset(c->bp, 0, sizeof(c->bp));
      fg_update(g);
      raw_spin_unlock_irq(&g->lock);
      continue;
    }
    if (!val) return -EINVAL;
    *val++ = 0;
    if (!strncmp(tok, "mem", 3)) {
      ret = set_mem(c, tok, val);
      continue;
    }
    if (fg_fixed(val, 2, &v) || v > 100 * FG_BP) return -EINVAL;
    i = fg_engine_index(g, tok);
    class = class_index(tok);
    if (i < 0 && class < 0) return -EINVAL;
    raw_spin_lock_irq(&g->lock);
    if (i >= 0) {
      c->bp[i] = min_t(u64, v, FG_BP);
    } else {
      /* fill the first instance, then the next */
      for (i = 0; i < g->d->num_engines; i++)
        if (g->d->engines[i].class == class) {
          c->bp[i] = min_t(u64, v, FG_BP);
          v -= c->bp[i];
        }
    }
    fg_update(g);
    raw_spin_unlock_irq(&g->lock);
  }
  fg_update_pm(g);
  return ret;
}

static int cmd_fault(int gpu, char *args) {
  struct rule r = {.gpu = gpu, .left = -1};
  char *glob, *tok;
  unsigned long flags;
  int i;

  args = strim(args);
  glob = strsep(&args, " ");
  if (!strcmp(glob, "clear")) {
    raw_spin_lock_irqsave(&rule_lock, flags);
    num_rules = 0;
    raw_spin_unlock_irqrestore(&rule_lock, flags);
    return 0;
  }
  strscpy(r.glob, glob, sizeof(r.glob));
  while (args && *args) {
    if (!strncmp(args, "text=", 5)) {
      strscpy(r.text, args + 5, sizeof(r.text));
      string_unescape_any_inplace(r.text);
      r.has_text = true;
      break;
    }
    tok = strsep(&args, " ");
    if (!*tok) continue;
    if (!strncmp(tok, "delay=", 6)) {
      if (kstrtoint(tok + 6, 10, &r.delay_ms)) return -EINVAL;
    } else if (!strncmp(tok, "count=", 6)) {
      if (kstrtoint(tok + 6, 10, &r.left)) return -EINVAL;
    } else {
      for (i = 0; i < ARRAY_SIZE(errnos); i++)
        if (!strcmp(errnos[i].name, tok)) r.err = errnos[i].val;
      if (!r.err) return -EINVAL;
    }
  }
  if (!r.err && !r.delay_ms && !r.has_text) return -EINVAL;
  raw_spin_lock_irqsave(&rule_lock, flags);
  i = num_rules < MAX_RULES ? 0 : -ENOSPC;
  if (!i) rules[num_rules++] = r;
  raw_spin_unlock_irqrestore(&rule_lock, flags);
  return i;
}

static int cmd_engine(struct fg_gpu *g, char *args) {
  char *tok = strsep(&args, " ");
  int i = fg_engine_index(g, tok);
  u64 v;

  if (i < 0) return -EINVAL;
  while ((tok = strsep(&args, " "))) {
    char *val = strchr(tok, '=');

    if (!*tok) continue;
    if (!val || fg_fixed(val + 1, 2, &v) || v > FG_BP) return -EINVAL;
    *val = 0;
    raw_spin_lock_irq(&g->lock);
    if (!strcmp(tok, "busy"))
      g->eng[i].base_bp = v;
    else if (!strcmp(tok, "wait"))
      g->eng[i].wait_bp = v;
    else if (!strcmp(tok, "sema"))
      g->eng[i].sema_bp = v;
    fg_update(g);
    raw_spin_unlock_irq(&g->lock);
  }
  return 0;
}

static int cmd_gt(struct fg_gpu *g, char *args) {
  char *tok = strsep(&args, " "), *one;
  int n, k;
  u64 v;

  if (!tok || kstrtoint(tok, 10, &n) || n < 0 || n >= g->d->num_gts) return -EINVAL;
  while ((tok = strsep(&args, " "))) {
    struct fg_gt *gt = &g->gt[n];
    char *val = strchr(tok, '=');
    bool aut;

    if (!*tok) continue;
    if (!val) return -EINVAL;
    *val++ = 0;
    if (!strcmp(tok, "throttle")) {
      u32 bits = 0;

      while ((one = strsep(&val, ",")))
        for (k = 0; k < fg_num_throttle; k++)
          if (!strcmp(fg_throttle_names[k], one)) bits |= 1u << k;
      gt->throttle = bits;
      continue;
    }
    aut = !strcmp(val, "auto");
    if (!aut && fg_fixed(val, 2, &v)) return -EINVAL;
    raw_spin_lock_irq(&g->lock);
    if (!strcmp(tok, "act"))
      gt->act = v / 100;
    else if (!strcmp(tok, "req"))
      gt->req = v / 100;
    else if (!strcmp(tok, "max"))
      gt->max = v / 100;
    else if (!strcmp(tok, "min"))
      gt->min = v / 100;
    else if (!strcmp(tok, "boost"))
      gt->boost = v / 100;
    else if (!strcmp(tok, "rc6"))
      gt->rc6_bp = aut ? -1 : min_t(u64, v, FG_BP);
    else if (!strcmp(tok, "awake"))
      gt->awake_bp = aut ? -1 : min_t(u64, v, FG_BP);
    else if (!strcmp(tok, "parked"))
      gt->parked = v != 0;
    fg_update(g);
    raw_spin_unlock_irq(&g->lock);
  }
  return 0;
}

static int cmd_hwmon(struct fg_gpu *g, char *args) {
  char *tok;
  u64 v;

  while ((tok = strsep(&args, " "))) {
    char *val = strchr(tok, '=');

    if (!*tok) continue;
    if (!val || fg_fixed(val + 1, 3, &v)) return -EINVAL;
    *val = 0;
    raw_spin_lock_irq(&g->lock);
    if (!strcmp(tok, "power"))
      g->power_card_mw = v;
    else if (!strcmp(tok, "pkg"))
      g->power_pkg_mw = v;
    else if (!strcmp(tok, "max"))
      g->power_max_mw = v;
    else if (!strcmp(tok, "temp"))
      g->temp_mc = v;
    else if (!strcmp(tok, "vram_temp"))
      g->temp_vram_mc = v;
    else if (!strcmp(tok, "fan"))
      g->fan_rpm = div_u64(v, 1000);
    else if (!strcmp(tok, "in"))
      g->in_mv = div_u64(v, 1000);
    fg_update(g);
    raw_spin_unlock_irq(&g->lock);
  }
  return 0;
}

/* jump COUNTER DELTA|zero, in the unit the PMU (hwmon) shows: ns, xe ticks, uJ, MHz*s, interrupts */
static int cmd_jump(struct fg_gpu *g, char *args) {
  char *name = strsep(&args, " "), *p;
  struct fg_int *i = NULL;
  u64 now;
  s64 delta = 0;
  int n, gt = 0, id, class, ret = -EINVAL;
  bool zero;

  if (!name || !args) return -EINVAL;
  args = strim(args);
  zero = !strcmp(args, "zero");
  if (!zero && kstrtos64(args, 10, &delta)) return -EINVAL;
  p = strstr(name, "-gt");
  if (p && isdigit(p[3])) {
    gt = p[3] - '0';
    *p = 0;
    if (gt >= g->d->num_gts) return -EINVAL;
  }
  raw_spin_lock_irq(&g->lock);
  now = fg_now(g);
  fg_update(g);
  if (!strcmp(name, "rc6-residency")) {
    i = &g->gt[gt].rc6_i;
  } else if (!strcmp(name, "software-gt-awake-time")) {
    i = &g->gt[gt].awake_i;
  } else if (!strcmp(name, "actual-frequency")) {
    i = &g->gt[gt].act_i;
  } else if (!strcmp(name, "requested-frequency")) {
    i = &g->gt[gt].req_i;
  } else if (!strcmp(name, "interrupts")) {
    i = &g->irqs;
  } else if (!strcmp(name, "energy-card")) {
    i = &g->energy_card;
  } else if (!strcmp(name, "energy-pkg")) {
    i = &g->energy_pkg;
  } else if (!strncmp(name, "client:", 7)) {
    p = strchr(name + 7, ':');
    if (p) {
      struct fg_client *c;

      *p = 0;
      class = class_index(p + 1);
      if (!kstrtoint(name + 7, 10, &id) && class >= 0)
        list_for_each_entry(c, &g->clients, link) if (c->id == id) i = &c->run[class];
    }
  } else {
    p = strrchr(name, '-');
    if (p) {
      *p++ = 0;
      n = fg_engine_index(g, name);
      if (n >= 0)
        i = !strcmp(p, "busy")   ? &g->eng[n].busy
            : !strcmp(p, "wait") ? &g->eng[n].wait
            : !strcmp(p, "sema") ? &g->eng[n].sema
                                 : NULL;
    }
  }
  if (i) {
    if (zero)
      i->fine = i->off = 0;
    else
      i->off += delta;
    i->t0 = now;
    ret = 0;
  }
  raw_spin_unlock_irq(&g->lock);
  return ret;
}

static void zero_int(struct fg_int *i) { i->fine = i->off = 0; }

static void reset_all(struct fg_gpu *g) {
  struct fg_client *c;
  int i;

  raw_spin_lock_irq(&g->lock);
  fg_update(g);
  for (i = 0; i < g->d->num_engines; i++) {
    zero_int(&g->eng[i].busy);
    zero_int(&g->eng[i].wait);
    zero_int(&g->eng[i].sema);
  }
  for (i = 0; i < g->d->num_gts; i++) {
    zero_int(&g->gt[i].rc6_i);
    zero_int(&g->gt[i].awake_i);
    zero_int(&g->gt[i].act_i);
    zero_int(&g->gt[i].req_i);
  }
  zero_int(&g->irqs);
  zero_int(&g->energy_card);
  zero_int(&g->energy_pkg);
  list_for_each_entry(c, &g->clients, link) for (i = 0; i < FG_CLASSES; i++) zero_int(&c->run[i]);
  raw_spin_unlock_irq(&g->lock);
}

static struct fg_int *sys_int(const char *name) {
  if (!strcmp(name, "pkg")) return &fg_sys.pkg;
  if (!strcmp(name, "cores")) return &fg_sys.cores;
  if (!strcmp(name, "gpu")) return &fg_sys.gpu;
  if (!strcmp(name, "ram")) return &fg_sys.ram;
  if (!strcmp(name, "psys")) return &fg_sys.psys;
  if (!strcmp(name, "reads")) return &fg_sys.imc_rd;
  if (!strcmp(name, "writes")) return &fg_sys.imc_wr;
  return NULL;
}

/* power pkg=15.5 gpu=3.2 (W); imc reads=800 writes=100 (MiB/s); rapl-jump pkg DELTA_UJ; rapl-wrap pkg MS */
static int cmd_sys(const char *verb, char *args) {
  struct fg_int *i;
  char *tok;
  s64 n;
  u64 v;

  if (!strncmp(verb, "rapl-", 5)) {
    tok = strsep(&args, " ");
    i = tok ? sys_int(tok) : NULL;
    if (!i || !args || kstrtos64(strim(args), 10, &n)) return -EINVAL;
    raw_spin_lock_irq(&fg_sys.lock);
    fg_int_set(i, i->rate, ktime_get_ns());
    if (!strcmp(verb, "rapl-wrap"))
      i->fine = RAPL_RANGE_UJ * FG_MW_TO_UJ - i->rate * n * 1000000;
    else
      i->fine += n * (s64)FG_MW_TO_UJ;
    raw_spin_unlock_irq(&fg_sys.lock);
    return 0;
  }
  while ((tok = strsep(&args, " "))) {
    char *val = strchr(tok, '=');

    if (!*tok) continue;
    if (!val || fg_fixed(val + 1, 3, &v)) return -EINVAL;
    *val = 0;
    i = sys_int(tok);
    if (!i) return -EINVAL;
    if (!strcmp(verb, "imc")) v = div_u64(v * 1024, 1000);
    raw_spin_lock_irq(&fg_sys.lock);
    fg_int_set(i, v, ktime_get_ns());
    raw_spin_unlock_irq(&fg_sys.lock);
  }
  return 0;
}

static int cmd_gpu(struct fg_gpu *g, char *args) {
  char *verb = strsep(&args, " ");
  struct fg_client *c, *found = NULL;
  int ret, v;

  if (!verb) return -EINVAL;
  if (!strcmp(verb, "unplug")) return fg_pci_unbind(g);
  if (!strcmp(verb, "replug")) return fg_pci_bind(g);
  if (!strcmp(verb, "remove")) return fg_pci_remove(g);
  if (!strcmp(verb, "reset")) {
    reset_all(g);
    return 0;
  }
  if (!args) return -EINVAL;
  if (!strcmp(verb, "engine"))
    ret = cmd_engine(g, args);
  else if (!strcmp(verb, "gt"))
    ret = cmd_gt(g, args);
  else if (!strcmp(verb, "hwmon"))
    ret = cmd_hwmon(g, args);
  else if (!strcmp(verb, "jump"))
    ret = cmd_jump(g, args);
  else if (!strcmp(verb, "fault"))
    ret = cmd_fault(g->idx, args);
  else if (!strcmp(verb, "irq")) {
    args = strim(args);
    v = -1;
    if (strcmp(args, "auto") && kstrtoint(args, 10, &v)) return -EINVAL;
    raw_spin_lock_irq(&g->lock);
    g->irq_rate = v;
    fg_update(g);
    raw_spin_unlock_irq(&g->lock);
    ret = 0;
  } else if (!strcmp(verb, "hang")) {
    g->hung = *strim(args) == '1';
    ret = 0;
  } else if (!strcmp(verb, "freeze")) {
    raw_spin_lock_irq(&g->lock);
    g->frozen = *strim(args) == '1' ? fg_now(g) : 0;
    raw_spin_unlock_irq(&g->lock);
    ret = 0;
  } else if (!strcmp(verb, "connector")) {
    ret = fg_connector_command(g, args);
  } else if (!strcmp(verb, "client")) {
    char *id = strsep(&args, " ");

    if (!args || kstrtoint(id, 10, &v)) return -EINVAL;
    raw_spin_lock_irq(&g->lock);
    list_for_each_entry(c, &g->clients, link) if (c->id == v) found = c;
    raw_spin_unlock_irq(&g->lock);
    /* for scripts: the caller sees to it that the client stays open meanwhile */
    ret = found ? fg_client_command(found, args) : -ENOENT;
  } else {
    ret = fg_health_command(g, verb, args);
    if (ret == -ENOENT) ret = fg_sriov_command(g, verb, args);
  }
  fg_update_pm(g);
  return ret;
}

static struct miscdevice ctl_dev;

static int command(char *line) {
  char *verb;
  int n;

  line = strim(line);
  if (!*line || *line == '#') return 0;
  verb = strsep(&line, " ");
  if (!strncmp(verb, "gpu", 3) && isdigit(verb[3])) {
    n = verb[3] - '0';
    return n < fg_num_gpus ? cmd_gpu(&fg_gpus[n], line) : -ENODEV;
  }
  if (!strcmp(verb, "rescan")) return fg_pci_rescan();
  if (!line) return -EINVAL;
  if (!strcmp(verb, "fault")) return cmd_fault(-1, line);
  if (!strcmp(verb, "npu")) return fg_npu_command(line);
  if (!strcmp(verb, "log")) return fg_log(NULL, line);
  if (!strcmp(verb, "coredump")) return fg_coredump(ctl_dev.this_device, line);
  if (!strcmp(verb, "power") || !strcmp(verb, "imc") || !strncmp(verb, "rapl-", 5)) return cmd_sys(verb, line);
  return -EINVAL;
}

static ssize_t ctl_write(struct file *f, const char __user *ubuf, size_t len, loff_t *off) {
  char *text, *p, *line;
  int ret = 0;

  if (len > 8192) return -E2BIG;
  text = memdup_user_nul(ubuf, len);
  if (IS_ERR(text)) return PTR_ERR(text);
  mutex_lock(&ctl_lock);
  for (p = text; !ret && (line = strsep(&p, "\n;"));) ret = command(line);
  mutex_unlock(&ctl_lock);
  kfree(text);
  return ret ? ret : len;
}

static void put_bp(struct seq_file *m, const char *key, u64 bp) {
  seq_printf(m, "\"%s\":%llu.%02llu", key, bp / 100, bp % 100);
}

static int ctl_show(struct seq_file *m, void *v) {
  int i, k;

  seq_printf(m, "{\"now_ns\":%llu,\"gpus\":[", ktime_get_ns());
  for (i = 0; i < fg_num_gpus; i++) {
    struct fg_gpu *g = &fg_gpus[i];
    struct fg_client *c;
    u64 now;

    seq_printf(m,
               "%s\n{\"gpu\":%d,\"id\":\"%s\",\"bdf\":\"%s\",\"bound\":%s,\"rpm_suspends\":%u,\"rpm_resumes\":%u,"
               "\"sysfs_reads\":%u,\"sysfs_writes\":%u,\"card_opens\":%u,\"probes\":%u,\n \"engines\":{",
               i ? "," : "", i, g->d->id, g->bdf, g->pdev ? "true" : "false", g->rpm_suspends, g->rpm_resumes,
               g->sysfs_reads, g->sysfs_writes, g->card_opens, g->probes);
    raw_spin_lock_irq(&g->lock);
    now = fg_now(g);
    for (k = 0; k < g->d->num_engines; k++) {
      struct fg_engine *e = &g->eng[k];

      seq_printf(m, "%s\"%s\":{\"busy_ns\":%llu,", k ? "," : "", e->d->name, fg_val(&e->busy, now, FG_BP_TO_NS));
      put_bp(m, "busy_pct", e->busy.rate);
      seq_puts(m, ",");
      put_bp(m, "wait_pct", e->wait.rate);
      seq_puts(m, ",");
      put_bp(m, "sema_pct", e->sema.rate);
      seq_puts(m, "}");
    }
    seq_puts(m, "},\n \"gts\":[");
    for (k = 0; k < g->d->num_gts; k++) {
      struct fg_gt *t = &g->gt[k];

      seq_printf(m, "%s{\"act_mhz\":%u,\"req_mhz\":%u,\"parked\":%s,\"rc6_ns\":%llu,", k ? "," : "", fg_act_mhz(g, k),
                 t->req, t->parked ? "true" : "false", fg_val(&t->rc6_i, now, FG_BP_TO_NS));
      put_bp(m, "rc6_pct", t->rc6_i.rate);
      seq_puts(m, ",");
      put_bp(m, "awake_pct", t->awake_i.rate);
      seq_printf(m, ",\"throttle\":%u}", t->throttle);
    }
    seq_printf(
        m,
        "],\n \"irq_rate\":%llu,\"energy_card_uj\":%llu,\"energy_pkg_uj\":%llu,\"power_card_mw\":%u,\n \"clients\":[",
        g->irqs.rate, fg_val(&g->energy_card, now, FG_MW_TO_UJ), fg_val(&g->energy_pkg, now, FG_MW_TO_UJ),
        g->power_card_mw);
    k = 0;
    list_for_each_entry(c, &g->clients, link) {
      int n;

      seq_printf(m, "%s{\"id\":%u,\"pid\":%d,\"run_ns\":[", k++ ? "," : "", c->id, c->pid);
      for (n = 0; n < FG_CLASSES; n++) seq_printf(m, "%s%llu", n ? "," : "", fg_val(&c->run[n], now, FG_BP_TO_NS));
      seq_puts(m, "]}");
    }
    seq_puts(m, "]");
    if (g->total_vfs) fg_sriov_show(g, m, now);
    raw_spin_unlock_irq(&g->lock);
    seq_puts(m, "}");
  }
  seq_puts(m, "]");
  if (fg_npu) fg_npu_show(m);
  seq_printf(m,
             ",\n\"power_mw\":{\"pkg\":%llu,\"cores\":%llu,\"gpu\":%llu,\"ram\":%llu,\"psys\":%llu},\"imc_kib_s\":{"
             "\"reads\":%llu,\"writes\":%llu},\"faults\":%d}\n",
             fg_sys.pkg.rate, fg_sys.cores.rate, fg_sys.gpu.rate, fg_sys.ram.rate, fg_sys.psys.rate, fg_sys.imc_rd.rate,
             fg_sys.imc_wr.rate, num_rules);
  return 0;
}

static int ctl_open(struct inode *inode, struct file *f) {
  f->private_data = NULL; /* misc_open left the device there */
  return single_open(f, ctl_show, NULL);
}

static const struct file_operations ctl_fops = {
    .owner = THIS_MODULE,
    .open = ctl_open,
    .read = seq_read,
    .write = ctl_write,
    .llseek = seq_lseek,
    .release = single_release,
};

static struct miscdevice ctl_dev = {.minor = MISC_DYNAMIC_MINOR, .name = "fakegpu-ctl", .fops = &ctl_fops};

int fg_ctl_init(void) { return misc_register(&ctl_dev); }

void fg_ctl_exit(void) { misc_deregister(&ctl_dev); }
