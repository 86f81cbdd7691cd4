// SPDX-License-Identifier: GPL-2.0
/*
 * gpujobs: engines that really take, queue, run and complete jobs of a known
 * length, so that a tracer can be checked against the truth.
 *
 *   style=xe    every (open file, context, engine) is an exec queue with a
 *               drm_gpu_scheduler of its own (gpu-sched.ko does the work and fires
 *               gpu_scheduler:* and dma_fence:*); the ring name is the class
 *               and the GuC id of the queue, as in xe: "rcs7" is no engine.
 *               Besides, the tracepoints of Linux 6.16, xe:xe_exec_queue_* and xe:xe_sched_job_timedout.
 *   style=i915  requests with i915:i915_request_*; fences are signalled by
 *               interrupt only if somebody asked for that, else at retirement, as i915 does.
 *   lowlevel=1  i915: also i915_request_in and _out (off in distributions)
 *   card=N      DRM minor that the i915 events name
 *   devname=S   device name that the xe and 6.16 events show; the schedulers
 *               belong to the PCI device of that name, if there is one
 *
 * An engine runs one job at a time, in order of arrival; two are handed to it
 * at most (execlist ports 0 and 1). /sys/kernel/debug/gpujobs/truth is what
 * happened, by ktime_get() (CLOCK_MONOTONIC); writing to it empties it.
 */
#include <drm/gpu_scheduler.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/dma-fence.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <linux/workqueue.h>

#include "gpujobs_abi.h"

#define CONTEXTS 16
#define TRUTHS 65536
#define RECENT 1024
#define HANG_NS (300 * NSEC_PER_MSEC)
#define RETIRE_PERIOD HZ

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define GJ_ASSIGN_STR(field, source) __assign_str(field)
#else
#define GJ_ASSIGN_STR(field, source) __assign_str(field, source)
#endif

/*
 * What BPF programs find by the names of i915's structures, in the types (BTF) of the module i915.ko, which is this one
 * under another name.
 */
struct drm_i915_private {
  struct {
    struct device *dev;
  } drm;
};

struct intel_engine_cs {
  struct drm_i915_private *i915;
  u16 uabi_class;
};

/* Likewise of xe, in xe.ko. A job that hangs is reset and times out, unless its queue was killed with its client. */
enum xe_engine_class {
  XE_ENGINE_CLASS_RENDER,
  XE_ENGINE_CLASS_VIDEO_DECODE,
  XE_ENGINE_CLASS_VIDEO_ENHANCE,
  XE_ENGINE_CLASS_COPY,
  XE_ENGINE_CLASS_OTHER,
  XE_ENGINE_CLASS_COMPUTE,
};

struct xe_file {
  u64 id;
};

struct xe_device {
  struct {
    struct device *dev;
  } drm;
};

struct xe_tile {
  struct xe_device *xe;
};

struct xe_gt {
  struct xe_tile *tile;
  struct {
    u8 id;
  } info;
};

struct xe_vm {
  struct xe_file *xef;
};

struct xe_guc_exec_queue {
  u16 id;
};

struct xe_exec_queue {
  struct xe_file *xef;
  struct xe_gt *gt;
  struct xe_vm *vm;
  enum xe_engine_class class;
  u32 logical_mask;
  struct xe_guc_exec_queue *guc;
};

struct xe_sched_job {
  struct xe_exec_queue *q;
  struct dma_fence *fence;
};

struct gj_engine {
  const char *name;
  u16 class, instance;       /* i915's */
  struct intel_engine_cs cs; /* as a BPF program sees it */
  enum xe_engine_class xe_class;
  spinlock_t lock;
  struct list_head jobs; /* the first one runs */
  struct hrtimer timer;
};

/* The fence of a job on its engine, in both styles. */
struct i915_request {
  struct dma_fence fence; /* first: dma_fence_free() frees us */
  struct intel_engine_cs *engine;
  struct gj_job *job;
  spinlock_t lock;
  bool completed;
  char timeline[32];
};

struct gj_queue {
  struct gj_client *client;
  struct gj_engine *engine;
  u32 context;
  u32 guc_id;
  char name[16];
  /* xe */
  struct xe_exec_queue xe;
  struct xe_guc_exec_queue xe_guc;
  struct drm_gpu_scheduler sched;
  struct drm_sched_entity entity;
  /* i915 */
  u64 fence_context;
  u32 seqno;
  struct list_head jobs;  /* not retired, oldest first */
  struct dma_fence *last; /* of the newest job */
};

struct gj_job {
  struct drm_sched_job base; /* xe only */
  struct gj_queue *queue;
  struct gj_engine *engine;
  struct i915_request *hw;
  struct list_head on_engine, on_queue;
  struct dma_fence_cb dep_cb;
  struct dma_fence *dep;
  u64 exec_ns, client_id;
  u32 flags;
  int truth;
};

struct gj_client {
  struct mutex lock;
  struct xe_file xef;
  struct xe_vm vm;
  u64 id;
  struct gj_queue *queues[CONTEXTS][8];
  struct dma_fence *recent[RECENT];
  u64 recent_n;
  struct list_head link;
};

struct gj_truth {
  u64 tag, client, context, seqno, exec_ns;
  u64 submit, run, start, end, signal;
  pid_t tgid, tid;
  u32 ctx;
  int error;
  const char *engine;
  char ring[16];
  char comm[TASK_COMM_LEN];
};

static char *style = "xe";
module_param(style, charp, 0444);
static bool lowlevel;
module_param(lowlevel, bool, 0444);
static uint gj_card;
module_param_named(card, gj_card, uint, 0444);
static char *gj_dev_name = "0000:03:00.0";
module_param_named(devname, gj_dev_name, charp, 0444);

static bool is_i915;
static struct device *gj_dev; /* that gj_dev_name names, or NULL */
static struct drm_i915_private gj_i915;
static struct xe_device gj_xe;
static struct xe_tile gj_tile = {.xe = &gj_xe};
static struct xe_gt gj_gt = {.tile = &gj_tile};

#define CREATE_TRACE_POINTS
#include "trace_i915.h"
#include "trace_sched616.h"
#include "trace_xe.h"

static struct gj_engine engines[] = {
    {.name = "rcs0", .class = 0, .instance = 0, .xe_class = XE_ENGINE_CLASS_RENDER},
    {.name = "bcs0", .class = 1, .instance = 0, .xe_class = XE_ENGINE_CLASS_COPY},
    {.name = "vcs0", .class = 2, .instance = 0, .xe_class = XE_ENGINE_CLASS_VIDEO_DECODE},
    {.name = "vcs1", .class = 2, .instance = 1, .xe_class = XE_ENGINE_CLASS_VIDEO_DECODE},
    {.name = "vecs0", .class = 3, .instance = 0, .xe_class = XE_ENGINE_CLASS_VIDEO_ENHANCE},
    {.name = "ccs0", .class = 4, .instance = 0, .xe_class = XE_ENGINE_CLASS_COMPUTE},
};

static struct gj_truth *truth;
static atomic_t truth_n = ATOMIC_INIT(0);
static atomic_t next_guc_id = ATOMIC_INIT(0);
static atomic64_t next_client = ATOMIC64_INIT(0);
static LIST_HEAD(clients);
static DEFINE_MUTEX(clients_lock);
static struct delayed_work retire_work;
static struct dentry *debug_dir;

static struct gj_truth *truth_of(const struct gj_job *j) {
  static struct gj_truth spill;

  return j->truth < TRUTHS ? &truth[j->truth] : &spill;
}

/* ---- fences ------------------------------------------------------------ */

static const char *fence_driver(struct dma_fence *f) { return is_i915 ? "i915" : "xe"; }

static const char *fence_timeline(struct dma_fence *f) {
  if (is_i915 && test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &f->flags)) return "signaled";
  return container_of(f, struct i915_request, fence)->timeline;
}

static bool fence_enable(struct dma_fence *f) {
  struct i915_request *g = container_of(f, struct i915_request, fence);

  smp_mb();
  return !READ_ONCE(g->completed);
}

static bool fence_signaled(struct dma_fence *f) {
  return READ_ONCE(container_of(f, struct i915_request, fence)->completed);
}

static const struct dma_fence_ops fence_ops = {
    .get_driver_name = fence_driver,
    .get_timeline_name = fence_timeline,
    .enable_signaling = fence_enable,
    .signaled = fence_signaled,
};

/* ---- engines ----------------------------------------------------------- */

static void engine_start(struct gj_engine *e, struct gj_job *j) {
  u64 length = j->flags & GPUJOBS_HANG ? HANG_NS : j->exec_ns;

  truth_of(j)->start = ktime_get_ns();
  hrtimer_start(&e->timer, ns_to_ktime(length), HRTIMER_MODE_REL_HARD);
}

/* Hand a job to the engine. */
static void engine_push(struct gj_job *j) {
  struct gj_engine *e = j->engine;
  unsigned long flags;
  int before = 0;
  struct gj_job *other;

  spin_lock_irqsave(&e->lock, flags);
  truth_of(j)->run = ktime_get_ns();
  list_for_each_entry(other, &e->jobs, on_engine) if (++before == 2) break;
  list_add_tail(&j->on_engine, &e->jobs);
  if (is_i915 && lowlevel && before < 2) trace_i915_request_in(j, before);
  if (!before) engine_start(e, j);
  spin_unlock_irqrestore(&e->lock, flags);
}

/* The firmware resets the engine, then the driver gives the job up. */
static void time_out(struct gj_job *j) {
  struct xe_sched_job job = {.q = &j->queue->xe, .fence = &j->hw->fence};

  if (j->flags & GPUJOBS_CAT) trace_xe_exec_queue_memory_cat_error(&j->queue->xe);
  trace_xe_exec_queue_reset(&j->queue->xe);
  trace_xe_sched_job_timedout(&job);
}

static enum hrtimer_restart engine_done(struct hrtimer *timer) {
  struct gj_engine *e = container_of(timer, struct gj_engine, timer);
  struct gj_job *j, *next, *third = NULL;
  struct i915_request *hw;
  struct gj_truth *t;
  u64 context = 0, seqno = 0;
  bool signal;

  spin_lock(&e->lock);
  j = list_first_entry(&e->jobs, struct gj_job, on_engine);
  t = truth_of(j);
  hw = j->hw;
  dma_fence_get(&hw->fence);
  t->end = ktime_get_ns();
  list_del_init(&j->on_engine);
  if (is_i915 && lowlevel) trace_i915_request_out(j, 1);
  if (j->flags & GPUJOBS_HANG) {
    t->error = -ECANCELED;
    dma_fence_set_error(&hw->fence, -ECANCELED);
    if (!is_i915) time_out(j);
  }
  next = list_first_entry_or_null(&e->jobs, struct gj_job, on_engine);
  if (next) {
    engine_start(e, next);
    if (!list_is_last(&next->on_engine, &e->jobs)) third = list_next_entry(next, on_engine);
    if (third && is_i915 && lowlevel) trace_i915_request_in(third, 1);
  }
  spin_unlock(&e->lock);

  if (!is_i915) {
    context = j->base.s_fence->finished.context;
    seqno = j->base.s_fence->finished.seqno;
  }
  WRITE_ONCE(hw->completed, true); /* from here j may be gone */
  smp_mb();
  signal = !is_i915 || test_bit(DMA_FENCE_FLAG_ENABLE_SIGNAL_BIT, &hw->fence.flags);
  if (signal) {
    t->signal = ktime_get_ns();
    if (!is_i915) trace_drm_sched_job_done(context, seqno);
    dma_fence_signal(&hw->fence);
  }
  dma_fence_put(&hw->fence);
  return HRTIMER_NORESTART;
}

/* ---- xe: the scheduler's callbacks -------------------------------------- */

static struct gj_job *to_job(struct drm_sched_job *base) { return container_of(base, struct gj_job, base); }

static struct dma_fence *sched_run(struct drm_sched_job *base) {
  struct gj_job *j = to_job(base);
  struct dma_fence *hw = dma_fence_get(&j->hw->fence);

  trace_drm_sched_job_run(j);
  trace_xe_exec_queue_submit(&j->queue->xe);
  engine_push(j);
  return hw;
}

static enum drm_gpu_sched_stat sched_timedout(struct drm_sched_job *base) {
  return DRM_GPU_SCHED_STAT_NOMINAL; /* no timeout is set */
}

static void sched_free(struct drm_sched_job *base) {
  struct gj_job *j = to_job(base);

  drm_sched_job_cleanup(base);
  dma_fence_put(&j->hw->fence);
  kfree(j);
}

static const struct drm_sched_backend_ops sched_ops = {
    .run_job = sched_run,
    .timedout_job = sched_timedout,
    .free_job = sched_free,
};

static int queue_init_sched(struct gj_queue *q) {
  const struct drm_sched_init_args args = {
    .ops = &sched_ops,
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
    .num_rqs = DRM_SCHED_PRIORITY_COUNT,
#endif
    .credit_limit = 64,
    .timeout = MAX_SCHEDULE_TIMEOUT,
    .name = q->name,
    .dev = gj_dev,
  };
  struct drm_gpu_scheduler *sched = &q->sched;
  int err = drm_sched_init(sched, &args);

  if (err) return err;
  err = drm_sched_entity_init(&q->entity, DRM_SCHED_PRIORITY_NORMAL, &sched, 1, NULL);
  if (err) drm_sched_fini(sched);
  return err;
}

/* ---- i915: retirement ---------------------------------------------------- */

/* Retire what has completed, in order. With the client's lock held. */
static void queue_retire(struct gj_queue *q) {
  struct gj_job *j, *n;

  list_for_each_entry_safe(j, n, &q->jobs, on_queue) {
    if (!READ_ONCE(j->hw->completed)) break;
    list_del(&j->on_queue);
    trace_i915_request_retire(j);
    if (!test_bit(DMA_FENCE_FLAG_SIGNALED_BIT, &j->hw->fence.flags)) dma_fence_signal(&j->hw->fence);
    dma_fence_put(&j->hw->fence);
    kfree(j);
  }
}

static void client_retire(struct gj_client *c) {
  for (int x = 0; x < CONTEXTS; x++)
    for (int e = 0; e < ARRAY_SIZE(engines); e++)
      if (c->queues[x][e]) queue_retire(c->queues[x][e]);
}

static void retire_all(struct work_struct *work) {
  struct gj_client *c;

  mutex_lock(&clients_lock);
  list_for_each_entry(c, &clients, link) {
    mutex_lock(&c->lock);
    client_retire(c);
    mutex_unlock(&c->lock);
  }
  mutex_unlock(&clients_lock);
  schedule_delayed_work(&retire_work, RETIRE_PERIOD);
}

static void dep_done(struct dma_fence *f, struct dma_fence_cb *cb) {
  engine_push(container_of(cb, struct gj_job, dep_cb));
}

/* ---- the device ------------------------------------------------------------ */

static const char *class_prefix(const struct gj_engine *e) {
  static const char *const prefix[] = {"rcs", "bcs", "vcs", "vecs", "ccs"};

  return prefix[e->class];
}

static struct gj_queue *queue_get(struct gj_client *c, u32 context, u32 engine) {
  struct gj_queue *q = c->queues[context][engine];
  int err;

  if (q) return q;
  q = kzalloc(sizeof(*q), GFP_KERNEL);
  if (!q) return ERR_PTR(-ENOMEM);
  q->client = c;
  q->engine = &engines[engine];
  q->context = context;
  INIT_LIST_HEAD(&q->jobs);
  q->guc_id = atomic_inc_return(&next_guc_id);
  snprintf(q->name, sizeof(q->name), "%s%u", class_prefix(q->engine), q->guc_id);
  if (is_i915) {
    q->fence_context = dma_fence_context_alloc(1);
  } else {
    err = queue_init_sched(q);
    if (err) {
      kfree(q);
      return ERR_PTR(err);
    }
    q->fence_context = dma_fence_context_alloc(1); /* of the hardware fences */
    q->xe_guc.id = q->guc_id;
    q->xe = (struct xe_exec_queue){.xef = &c->xef,
                                   .gt = &gj_gt,
                                   .vm = &c->vm,
                                   .class = q->engine->xe_class,
                                   .logical_mask = BIT(q->engine->instance),
                                   .guc = &q->xe_guc};
    trace_xe_exec_queue_create(&q->xe);
  }
  c->queues[context][engine] = q;
  return q;
}

static void remember(struct gj_client *c, struct gj_queue *q, struct dma_fence *f) {
  struct dma_fence **slot = &c->recent[c->recent_n++ % RECENT];

  dma_fence_put(*slot);
  *slot = dma_fence_get(f);
  dma_fence_put(q->last);
  q->last = dma_fence_get(f);
}

static long do_submit(struct gj_client *c, struct gpujobs_submit *a) {
  struct gj_queue *q, *d = NULL;
  struct gj_truth *t;
  struct gj_job *j;
  struct dma_fence *f;
  int err;

  if (a->engine >= ARRAY_SIZE(engines) || a->context >= CONTEXTS || a->exec_ns > 10 * NSEC_PER_SEC) return -EINVAL;
  if (a->flags & GPUJOBS_DEP) {
    if (a->dep_engine >= ARRAY_SIZE(engines) || a->dep_context >= CONTEXTS) return -EINVAL;
    d = c->queues[a->dep_context][a->dep_engine];
    if (!d || !d->last) return -ENOENT;
  }
  q = queue_get(c, a->context, a->engine);
  if (IS_ERR(q)) return PTR_ERR(q);
  j = kzalloc(sizeof(*j), GFP_KERNEL);
  if (!j) return -ENOMEM;
  j->hw = kzalloc(sizeof(*j->hw), GFP_KERNEL);
  if (!j->hw) {
    kfree(j);
    return -ENOMEM;
  }
  j->hw->job = j;
  j->hw->engine = &q->engine->cs;
  j->queue = q;
  j->engine = q->engine;
  j->exec_ns = a->exec_ns;
  j->flags = a->flags;
  j->client_id = c->id;
  j->truth = atomic_inc_return(&truth_n) - 1;
  INIT_LIST_HEAD(&j->on_engine);
  spin_lock_init(&j->hw->lock);
  if (is_i915)
    snprintf(j->hw->timeline, sizeof(j->hw->timeline), "%s[%d]", current->comm, current->tgid);
  else
    strscpy(j->hw->timeline, q->engine->name, sizeof(j->hw->timeline));

  t = truth_of(j);
  memset(t, 0, sizeof(*t));
  t->tag = a->tag;
  t->client = c->id;
  t->ctx = a->context;
  t->exec_ns = a->exec_ns;
  t->tgid = current->tgid;
  t->tid = current->pid;
  t->engine = q->engine->name;
  strscpy(t->ring, q->name, sizeof(t->ring));
  get_task_comm(t->comm, current);

  if (is_i915) {
    queue_retire(q);
    dma_fence_init(&j->hw->fence, &fence_ops, &j->hw->lock, q->fence_context, ++q->seqno);
    f = &j->hw->fence;
    dma_fence_get(f); /* for us, over the push */
    if (d) j->dep = d->last;
    list_add_tail(&j->on_queue, &q->jobs);
    a->fence_context = t->context = f->context;
    a->fence_seqno = t->seqno = f->seqno;
    t->submit = ktime_get_ns();
    trace_i915_request_queue(j->hw, 0);
    trace_i915_request_add(j);
    if (a->flags & GPUJOBS_SIGNAL) dma_fence_enable_sw_signaling(f);
    if (!j->dep || dma_fence_add_callback(j->dep, &j->dep_cb, dep_done)) engine_push(j);
    remember(c, q, f);
    dma_fence_put(f);
    return 0;
  }

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0)
  err = drm_sched_job_init(&j->base, &q->entity, 1, c, c->id);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
  err = drm_sched_job_init(&j->base, &q->entity, 1, c);
#else
  err = drm_sched_job_init(&j->base, &q->entity, c);
#endif
  if (err) {
    kfree(j->hw);
    kfree(j);
    return err;
  }
  dma_fence_init(&j->hw->fence, &fence_ops, &j->hw->lock, q->fence_context, ++q->seqno);
  drm_sched_job_arm(&j->base);
  if (d) {
    trace_drm_sched_job_add_dep(j, d->last);
    drm_sched_job_add_dependency(&j->base, dma_fence_get(d->last));
  }
  f = dma_fence_get(&j->base.s_fence->finished);
  a->fence_context = t->context = f->context;
  a->fence_seqno = t->seqno = f->seqno;
  t->submit = ktime_get_ns();
  trace_drm_sched_job_queue(j);
  drm_sched_entity_push_job(&j->base);
  remember(c, q, f);
  dma_fence_put(f);
  return 0;
}

static long do_wait(struct gj_client *c, const struct gpujobs_wait *a) {
  struct gj_job named = {};
  struct dma_fence *f = NULL;
  long left;

  mutex_lock(&c->lock);
  for (int i = 0; i < RECENT && !f; i++)
    if (c->recent[i] && c->recent[i]->context == a->fence_context && c->recent[i]->seqno == a->fence_seqno)
      f = dma_fence_get(c->recent[i]);
  if (f && is_i915)
    for (int x = 0; x < CONTEXTS; x++)
      for (int e = 0; e < ARRAY_SIZE(engines); e++)
        if (c->queues[x][e] && c->queues[x][e]->fence_context == a->fence_context) named.engine = &engines[e];
  mutex_unlock(&c->lock);
  if (!f) return -ENOENT;
  left = nsecs_to_jiffies(a->timeout_ns);
  if (!is_i915) {
    left = dma_fence_wait_timeout(f, true, left);
  } else if (!dma_fence_is_signaled(f)) { /* i915 has its own wait and its own tracepoints */
    named.hw = container_of(f, struct i915_request, fence);
    trace_i915_request_wait_begin(&named, 1);
    dma_fence_enable_sw_signaling(f);
    left = dma_fence_default_wait(f, true, left);
    trace_i915_request_wait_end(&named);
  }
  dma_fence_put(f);
  return left < 0 ? left : left == 0 ? -ETIME : 0;
}

static long gj_ioctl(struct file *file, unsigned int cmd, unsigned long arg) {
  struct gj_client *c = file->private_data;
  void __user *user = (void __user *)arg;
  struct gpujobs_submit s;
  struct gpujobs_wait w;
  long err;

  switch (cmd) {
    case GPUJOBS_IOC_SUBMIT:
      if (copy_from_user(&s, user, sizeof(s))) return -EFAULT;
      mutex_lock(&c->lock);
      err = do_submit(c, &s);
      mutex_unlock(&c->lock);
      if (!err && copy_to_user(user, &s, sizeof(s))) err = -EFAULT;
      return err;
    case GPUJOBS_IOC_WAIT:
      if (copy_from_user(&w, user, sizeof(w))) return -EFAULT;
      return do_wait(c, &w);
  }
  return -ENOTTY;
}

static int gj_open(struct inode *inode, struct file *file) {
  struct gj_client *c = kvzalloc(sizeof(*c), GFP_KERNEL);

  if (!c) return -ENOMEM;
  mutex_init(&c->lock);
  c->id = c->xef.id = atomic64_inc_return(&next_client);
  c->vm.xef = &c->xef;
  file->private_data = c;
  mutex_lock(&clients_lock);
  list_add(&c->link, &clients);
  mutex_unlock(&clients_lock);
  return 0;
}

static int gj_release(struct inode *inode, struct file *file) {
  struct gj_client *c = file->private_data;

  mutex_lock(&clients_lock);
  list_del(&c->link);
  mutex_unlock(&clients_lock);
  for (int x = 0; x < CONTEXTS && !is_i915; x++)
    for (int e = 0; e < ARRAY_SIZE(engines); e++)
      if (c->queues[x][e]) trace_xe_exec_queue_kill(&c->queues[x][e]->xe);
  for (int x = 0; x < CONTEXTS; x++) {
    for (int e = 0; e < ARRAY_SIZE(engines); e++) {
      struct gj_queue *q = c->queues[x][e];

      if (!q) continue;
      if (q->last) dma_fence_wait(q->last, false);
      if (is_i915) {
        queue_retire(q);
      } else {
        drm_sched_entity_destroy(&q->entity);
        while (!list_empty_careful(&q->sched.pending_list)) msleep(2);
        drm_sched_fini(&q->sched);
        trace_xe_exec_queue_destroy(&q->xe);
      }
      dma_fence_put(q->last);
      kfree(q);
    }
  }
  for (int i = 0; i < RECENT; i++) dma_fence_put(c->recent[i]);
  kvfree(c);
  return 0;
}

static const struct file_operations gj_fops = {
    .owner = THIS_MODULE,
    .open = gj_open,
    .release = gj_release,
    .unlocked_ioctl = gj_ioctl,
};

static struct miscdevice gj_misc = {
    .minor = MISC_DYNAMIC_MINOR,
    .name = "gpujobs",
    .fops = &gj_fops,
    .mode = 0666,
};

static int truth_show(struct seq_file *m, void *unused) {
  int n = min(atomic_read(&truth_n), TRUTHS);

  seq_puts(m,
           "tag,client,ctx,engine,ring,fence_context,fence_seqno,tgid,tid,comm,exec_ns,submit_ns,run_ns,start_ns,end_"
           "ns,signal_ns,error\n");
  for (int i = 0; i < n; i++) {
    const struct gj_truth *t = &truth[i];

    seq_printf(m, "%llu,%llu,%u,%s,%s,%llu,%llu,%d,%d,%s,%llu,%llu,%llu,%llu,%llu,%llu,%d\n", t->tag, t->client, t->ctx,
               t->engine ?: "", t->ring, t->context, t->seqno, t->tgid, t->tid, t->comm, t->exec_ns, t->submit, t->run,
               t->start, t->end, t->signal, t->error);
  }
  return 0;
}

static int truth_open(struct inode *inode, struct file *file) {
  return single_open_size(file, truth_show, NULL, 1 << 20);
}

static ssize_t truth_write(struct file *file, const char __user *buf, size_t n, loff_t *pos) {
  atomic_set(&truth_n, 0);
  return n;
}

static const struct file_operations truth_fops = {
    .owner = THIS_MODULE,
    .open = truth_open,
    .read = seq_read,
    .write = truth_write,
    .llseek = seq_lseek,
    .release = single_release,
};

static int __init gj_init(void) {
  int err;

  is_i915 = !strcmp(style, "i915");
  if (!is_i915 && strcmp(style, "xe")) return -EINVAL;
  truth = vzalloc(array_size(TRUTHS, sizeof(*truth)));
  if (!truth) return -ENOMEM;
  for (int i = 0; i < ARRAY_SIZE(engines); i++) {
    engines[i].cs = (struct intel_engine_cs){.i915 = &gj_i915, .uabi_class = engines[i].class};
    spin_lock_init(&engines[i].lock);
    INIT_LIST_HEAD(&engines[i].jobs);
    hrtimer_init(&engines[i].timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
    engines[i].timer.function = engine_done;
  }
  gj_dev = bus_find_device_by_name(&pci_bus_type, NULL, gj_dev_name);
  gj_i915.drm.dev = gj_xe.drm.dev = gj_dev;
  err = misc_register(&gj_misc);
  if (err) {
    put_device(gj_dev);
    vfree(truth);
    return err;
  }
  debug_dir = debugfs_create_dir("gpujobs", NULL);
  debugfs_create_file("truth", 0600, debug_dir, NULL, &truth_fops);
  INIT_DELAYED_WORK(&retire_work, retire_all);
  if (is_i915) schedule_delayed_work(&retire_work, RETIRE_PERIOD);
  return 0;
}

static void __exit gj_exit(void) {
  cancel_delayed_work_sync(&retire_work);
  debugfs_remove_recursive(debug_dir);
  misc_deregister(&gj_misc);
  for (int i = 0; i < ARRAY_SIZE(engines); i++) hrtimer_cancel(&engines[i].timer);
  rcu_barrier(); /* fences freed by us, through kfree_rcu */
  put_device(gj_dev);
  vfree(truth);
}

module_init(gj_init);
module_exit(gj_exit);
MODULE_DESCRIPTION("Scripted GPU jobs for checking tracers");
MODULE_LICENSE("GPL");
