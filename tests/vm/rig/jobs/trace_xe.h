/* SPDX-License-Identifier: GPL-2.0 */
/* clang-format off */
/*
 * Two of xe's exec queue tracepoints, as in Linux 6.12: the only place where
 * the GT and the set of engines behind a queue can be read. Not stable
 * interface.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM xe

#if !defined(GPUJOBS_TRACE_XE_H) || defined(TRACE_HEADER_MULTI_READ)
#define GPUJOBS_TRACE_XE_H

#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(xe_exec_queue,
	TP_PROTO(const struct gj_queue *q),
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
		__entry->class = q->engine->xe_class;
		__entry->logical_mask = 1u << q->engine->instance;
		__entry->gt_id = 0;
		__entry->width = 1;
		__entry->guc_id = q->guc_id;
		__entry->guc_state = 0;
		__entry->flags = 0;
	),
	TP_printk("dev=%s, %d:0x%x, gt=%d, width=%d, guc_id=%d, guc_state=0x%x, flags=0x%x",
		  __get_str(dev), __entry->class, __entry->logical_mask,
		  __entry->gt_id, __entry->width, __entry->guc_id,
		  __entry->guc_state, __entry->flags)
);

DEFINE_EVENT(xe_exec_queue, xe_exec_queue_create,
	TP_PROTO(const struct gj_queue *q), TP_ARGS(q));
DEFINE_EVENT(xe_exec_queue, xe_exec_queue_submit,
	TP_PROTO(const struct gj_queue *q), TP_ARGS(q));
DEFINE_EVENT(xe_exec_queue, xe_exec_queue_reset,
	TP_PROTO(const struct gj_queue *q), TP_ARGS(q));

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace_xe
#include <trace/define_trace.h>
