/* SPDX-License-Identifier: GPL-2.0 */
/* clang-format off */
/*
 * The i915 request tracepoints, with the names, fields and print formats that
 * the i915 driver shows in tracefs (events/i915/<event>/format; the same from
 * Linux 5.x to 6.12). The _in and _out events exist in the real driver only
 * with CONFIG_DRM_I915_LOW_LEVEL_TRACEPOINTS, which distributions leave off.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM i915

#if !defined(GPUJOBS_TRACE_I915_H) || defined(TRACE_HEADER_MULTI_READ)
#define GPUJOBS_TRACE_I915_H

#include <linux/tracepoint.h>

TRACE_EVENT(i915_request_queue,
	TP_PROTO(const struct i915_request *rq, u32 flags),
	TP_ARGS(rq, flags),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u64, ctx)
		__field(u16, class)
		__field(u16, instance)
		__field(u32, seqno)
		__field(u32, flags)
	),
	TP_fast_assign(
		__entry->dev = gj_card;
		__entry->ctx = rq->fence.context;
		__entry->class = rq->job->engine->class;
		__entry->instance = rq->job->engine->instance;
		__entry->seqno = rq->fence.seqno;
		__entry->flags = flags;
	),
	TP_printk("dev=%u, engine=%u:%u, ctx=%llu, seqno=%u, flags=0x%x",
		  __entry->dev, __entry->class, __entry->instance,
		  __entry->ctx, __entry->seqno, __entry->flags)
);

DECLARE_EVENT_CLASS(i915_request,
	TP_PROTO(const struct gj_job *j),
	TP_ARGS(j),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u64, ctx)
		__field(u16, class)
		__field(u16, instance)
		__field(u32, seqno)
		__field(u32, tail)
	),
	TP_fast_assign(
		__entry->dev = gj_card;
		__entry->ctx = j->hw->fence.context;
		__entry->class = j->engine->class;
		__entry->instance = j->engine->instance;
		__entry->seqno = j->hw->fence.seqno;
		__entry->tail = (u32)j->hw->fence.seqno * 64;
	),
	TP_printk("dev=%u, engine=%u:%u, ctx=%llu, seqno=%u, tail=%u",
		  __entry->dev, __entry->class, __entry->instance,
		  __entry->ctx, __entry->seqno, __entry->tail)
);

DEFINE_EVENT(i915_request, i915_request_add,
	TP_PROTO(const struct gj_job *j), TP_ARGS(j));
DEFINE_EVENT(i915_request, i915_request_retire,
	TP_PROTO(const struct gj_job *j), TP_ARGS(j));
DEFINE_EVENT(i915_request, i915_request_wait_end,
	TP_PROTO(const struct gj_job *j), TP_ARGS(j));

TRACE_EVENT(i915_request_wait_begin,
	TP_PROTO(const struct gj_job *j, unsigned int flags),
	TP_ARGS(j, flags),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u64, ctx)
		__field(u16, class)
		__field(u16, instance)
		__field(u32, seqno)
		__field(unsigned int, flags)
	),
	TP_fast_assign(
		__entry->dev = gj_card;
		__entry->ctx = j->hw->fence.context;
		__entry->class = j->engine->class;
		__entry->instance = j->engine->instance;
		__entry->seqno = j->hw->fence.seqno;
		__entry->flags = flags;
	),
	TP_printk("dev=%u, engine=%u:%u, ctx=%llu, seqno=%u, flags=0x%x",
		  __entry->dev, __entry->class, __entry->instance,
		  __entry->ctx, __entry->seqno, __entry->flags)
);

TRACE_EVENT(i915_request_in,
	TP_PROTO(const struct gj_job *j, unsigned int port),
	TP_ARGS(j, port),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u64, ctx)
		__field(u16, class)
		__field(u16, instance)
		__field(u32, seqno)
		__field(u32, port)
		__field(s32, prio)
	),
	TP_fast_assign(
		__entry->dev = gj_card;
		__entry->ctx = j->hw->fence.context;
		__entry->class = j->engine->class;
		__entry->instance = j->engine->instance;
		__entry->seqno = j->hw->fence.seqno;
		__entry->prio = 0;
		__entry->port = port;
	),
	TP_printk("dev=%u, engine=%u:%u, ctx=%llu, seqno=%u, prio=%d, port=%u",
		  __entry->dev, __entry->class, __entry->instance,
		  __entry->ctx, __entry->seqno, __entry->prio, __entry->port)
);

TRACE_EVENT(i915_request_out,
	TP_PROTO(const struct gj_job *j, u32 completed),
	TP_ARGS(j, completed),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u64, ctx)
		__field(u16, class)
		__field(u16, instance)
		__field(u32, seqno)
		__field(u32, completed)
	),
	TP_fast_assign(
		__entry->dev = gj_card;
		__entry->ctx = j->hw->fence.context;
		__entry->class = j->engine->class;
		__entry->instance = j->engine->instance;
		__entry->seqno = j->hw->fence.seqno;
		__entry->completed = completed;
	),
	TP_printk("dev=%u, engine=%u:%u, ctx=%llu, seqno=%u, completed?=%u",
		  __entry->dev, __entry->class, __entry->instance,
		  __entry->ctx, __entry->seqno, __entry->completed)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace_i915
#include <trace/define_trace.h>
