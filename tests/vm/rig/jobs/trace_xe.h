/* SPDX-License-Identifier: GPL-2.0 */
/* clang-format off */
/*
 * Some of xe's tracepoints, as in Linux 6.12: the only place where the GT and
 * the set of engines behind a queue can be read, and hangs. Not stable
 * interface.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM xe

#if !defined(GPUJOBS_TRACE_XE_H) || defined(TRACE_HEADER_MULTI_READ)
#define GPUJOBS_TRACE_XE_H

#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(xe_exec_queue,
	TP_PROTO(struct xe_exec_queue *q),
	TP_ARGS(q),
	TP_STRUCT__entry(
		__string(dev, gj_dev_name)
		__field(int, class)
		__field(u32, logical_mask)
		__field(u8, gt_id)
		__field(u16, width)
		__field(u16, guc_id)
		__field(u32, guc_state)
		__field(u32, flags)
	),
	TP_fast_assign(
		GJ_ASSIGN_STR(dev, gj_dev_name);
		__entry->class = q->class;
		__entry->logical_mask = q->logical_mask;
		__entry->gt_id = q->gt->info.id;
		__entry->width = 1;
		__entry->guc_id = q->guc->id;
		__entry->guc_state = 0;
		__entry->flags = 0;
	),
	TP_printk("dev=%s, %d:0x%x, gt=%d, width=%d, guc_id=%d, guc_state=0x%x, flags=0x%x",
		  __get_str(dev), __entry->class, __entry->logical_mask,
		  __entry->gt_id, __entry->width, __entry->guc_id,
		  __entry->guc_state, __entry->flags)
);

DEFINE_EVENT(xe_exec_queue, xe_exec_queue_create,
	TP_PROTO(struct xe_exec_queue *q), TP_ARGS(q));
DEFINE_EVENT(xe_exec_queue, xe_exec_queue_submit,
	TP_PROTO(struct xe_exec_queue *q), TP_ARGS(q));
DEFINE_EVENT(xe_exec_queue, xe_exec_queue_reset,
	TP_PROTO(struct xe_exec_queue *q), TP_ARGS(q));
DEFINE_EVENT(xe_exec_queue, xe_exec_queue_memory_cat_error,
	TP_PROTO(struct xe_exec_queue *q), TP_ARGS(q));
DEFINE_EVENT(xe_exec_queue, xe_exec_queue_kill,
	TP_PROTO(struct xe_exec_queue *q), TP_ARGS(q));
DEFINE_EVENT(xe_exec_queue, xe_exec_queue_destroy,
	TP_PROTO(struct xe_exec_queue *q), TP_ARGS(q));

TRACE_EVENT(xe_sched_job_timedout,
	TP_PROTO(struct xe_sched_job *job),
	TP_ARGS(job),
	TP_STRUCT__entry(
		__string(dev, gj_dev_name)
		__field(u32, seqno)
		__field(u8, gt_id)
		__field(u16, guc_id)
		__field(int, error)
		__field(struct dma_fence *, fence)
	),
	TP_fast_assign(
		GJ_ASSIGN_STR(dev, gj_dev_name);
		__entry->seqno = job->fence->seqno;
		__entry->gt_id = job->q->gt->info.id;
		__entry->guc_id = job->q->guc->id;
		__entry->error = job->fence->error;
		__entry->fence = job->fence;
	),
	TP_printk("dev=%s, fence=%p, seqno=%u, gt=%u, guc_id=%d, error=%d",
		  __get_str(dev), __entry->fence, __entry->seqno,
		  __entry->gt_id, __entry->guc_id, __entry->error)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace_xe
#include <trace/define_trace.h>
