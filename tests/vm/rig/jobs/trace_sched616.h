/* SPDX-License-Identifier: GPL-2.0 */
/* clang-format off */
/*
 * The gpu_scheduler tracepoints as they look since Linux 6.16 (there declared
 * stable user interface): the kernel under the rig is older and fires the old
 * ones itself, these are fired by us at the same four places. Names, fields
 * and order as in tracefs of a 6.16 kernel.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM gpu_scheduler

#if !defined(GPUJOBS_TRACE_SCHED616_H) || defined(TRACE_HEADER_MULTI_READ)
#define GPUJOBS_TRACE_SCHED616_H

#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(gj_sched_job,
	TP_PROTO(const struct gj_job *j),
	TP_ARGS(j),
	TP_STRUCT__entry(
		__string(name, j->queue->name)
		__field(u32, job_count)
		__field(int, hw_job_count)
		__string(dev, gj_dev_name)
		__field(u64, fence_context)
		__field(u64, fence_seqno)
		__field(u64, client_id)
	),
	TP_fast_assign(
		GJ_ASSIGN_STR(name, j->queue->name);
		__entry->job_count = 0;
		__entry->hw_job_count = 0;
		GJ_ASSIGN_STR(dev, gj_dev_name);
		__entry->fence_context = j->base.s_fence->finished.context;
		__entry->fence_seqno = j->base.s_fence->finished.seqno;
		__entry->client_id = j->client_id;
	),
	TP_printk("dev=%s, fence=%llu:%llu, ring=%s, job count:%u, hw job count:%d, client_id:%llu",
		  __get_str(dev), __entry->fence_context, __entry->fence_seqno,
		  __get_str(name), __entry->job_count, __entry->hw_job_count,
		  __entry->client_id)
);

DEFINE_EVENT(gj_sched_job, drm_sched_job_queue,
	TP_PROTO(const struct gj_job *j), TP_ARGS(j));
DEFINE_EVENT(gj_sched_job, drm_sched_job_run,
	TP_PROTO(const struct gj_job *j), TP_ARGS(j));

TRACE_EVENT(drm_sched_job_done,
	TP_PROTO(u64 context, u64 seqno),
	TP_ARGS(context, seqno),
	TP_STRUCT__entry(
		__field(u64, fence_context)
		__field(u64, fence_seqno)
	),
	TP_fast_assign(
		__entry->fence_context = context;
		__entry->fence_seqno = seqno;
	),
	TP_printk("fence=%llu:%llu signaled",
		  __entry->fence_context, __entry->fence_seqno)
);

TRACE_EVENT(drm_sched_job_add_dep,
	TP_PROTO(const struct gj_job *j, const struct dma_fence *dep),
	TP_ARGS(j, dep),
	TP_STRUCT__entry(
		__field(u64, fence_context)
		__field(u64, fence_seqno)
		__field(u64, ctx)
		__field(u64, seqno)
	),
	TP_fast_assign(
		__entry->fence_context = j->base.s_fence->finished.context;
		__entry->fence_seqno = j->base.s_fence->finished.seqno;
		__entry->ctx = dep->context;
		__entry->seqno = dep->seqno;
	),
	TP_printk("fence=%llu:%llu depends on fence=%llu:%llu",
		  __entry->fence_context, __entry->fence_seqno,
		  __entry->ctx, __entry->seqno)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace_sched616
#include <trace/define_trace.h>
