/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GStreamer element that lets buffers through and posts the load of a GPU as messages on the bus:
 *
 *   gst-launch-1.0 -m videotestsrc ! igpuload gpu=card1 interval=500 ! autovideosink
 *
 * An element message "igpu-load" has the busy ratio of each engine class as a field. Classes without a value are left
 * out: the message has why in "unavailable".
 */
#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>
#include <igpu/c.h>

typedef struct {
  GstBaseTransform parent;
  gchar *gpu, *simulate;
  guint interval;
  igpu_sampler* sampler;
} IgpuLoad;
typedef struct {
  GstBaseTransformClass parent;
} IgpuLoadClass;

enum { PROP_0, PROP_GPU, PROP_SIMULATE, PROP_INTERVAL };

static GType igpu_load_get_type(void);
G_DEFINE_TYPE(IgpuLoad, igpu_load, GST_TYPE_BASE_TRANSFORM)

static const char* const classes[][2] = {{"render", "engine.render.busy"},
                                         {"copy", "engine.copy.busy"},
                                         {"video", "engine.video.busy"},
                                         {"video-enhance", "engine.video_enhance.busy"},
                                         {"compute", "engine.compute.busy"}};

/* On the library's thread: posting on a bus is allowed on any. */
static int post_load(const igpu_snapshot* now, void* data) {
  GstElement* element = GST_ELEMENT(data);
  GstStructure* load = gst_structure_new_empty("igpu-load");
  size_t i;
  const igpu_value any = igpu_get(now, "engine.busy");
  if (any.state != IGPU_OK) gst_structure_set(load, "unavailable", G_TYPE_INT, (int)any.state, NULL);
  for (i = 0; i < G_N_ELEMENTS(classes); ++i) {
    const igpu_value busy = igpu_get(now, classes[i][1]);
    if (busy.state == IGPU_OK) gst_structure_set(load, classes[i][0], G_TYPE_DOUBLE, busy.value, NULL);
  }
  gst_element_post_message(element, gst_message_new_element(GST_OBJECT(element), load));
  return 0;
}

static gboolean start(GstBaseTransform* base) {
  IgpuLoad* self = (IgpuLoad*)base;
  igpu_options options = IGPU_INIT(igpu_options);
  igpu_error error = IGPU_INIT(igpu_error);
  igpu_gpu* gpu;
  options.simulate = self->simulate;
  if (igpu_open(self->gpu, &options, &gpu, &error) < 0 ||
      igpu_sampler_start(gpu, (uint64_t)self->interval * GST_MSECOND, post_load, self, &self->sampler, &error) < 0) {
    GST_ELEMENT_ERROR(self, RESOURCE, OPEN_READ, ("%s", error.message), ("%s", error.hint));
    return FALSE;
  }
  return TRUE;
}

static gboolean stop(GstBaseTransform* base) {
  IgpuLoad* self = (IgpuLoad*)base;
  igpu_sampler_close(self->sampler); /* waits for the callback */
  self->sampler = NULL;
  return TRUE;
}

static void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  IgpuLoad* self = (IgpuLoad*)object;
  if (id == PROP_GPU) {
    g_free(self->gpu);
    self->gpu = g_value_dup_string(value);
  } else if (id == PROP_SIMULATE) {
    g_free(self->simulate);
    self->simulate = g_value_dup_string(value);
  } else if (id == PROP_INTERVAL) {
    self->interval = g_value_get_uint(value);
  } else {
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
  }
}

static void finalize(GObject* object) {
  IgpuLoad* self = (IgpuLoad*)object;
  g_free(self->gpu);
  g_free(self->simulate);
  G_OBJECT_CLASS(igpu_load_parent_class)->finalize(object);
}

static void igpu_load_init(IgpuLoad* self) {
  self->interval = 1000;
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), TRUE);
}

static void igpu_load_class_init(IgpuLoadClass* load_class) {
  GObjectClass* object = G_OBJECT_CLASS(load_class);
  GstElementClass* element = GST_ELEMENT_CLASS(load_class);
  GstBaseTransformClass* transform = GST_BASE_TRANSFORM_CLASS(load_class);
  static GstStaticPadTemplate sink = GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
  static GstStaticPadTemplate source = GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
  object->set_property = set_property;
  object->finalize = finalize;
  g_object_class_install_property(object, PROP_GPU,
                                  g_param_spec_string("gpu", "GPU", "card1, 0000:03:00.0, ...; unset: the first one",
                                                      NULL, G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS));
  g_object_class_install_property(object, PROP_SIMULATE,
                                  g_param_spec_string("simulate", "Simulation", "A simulated machine, for tests", NULL,
                                                      G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS));
  g_object_class_install_property(object, PROP_INTERVAL,
                                  g_param_spec_uint("interval", "Interval", "Milliseconds between two messages", 1,
                                                    G_MAXUINT, 1000, G_PARAM_WRITABLE | G_PARAM_STATIC_STRINGS));
  gst_element_class_set_static_metadata(element, "Load of an Intel GPU", "Generic",
                                        "Posts the load of a GPU on the bus", "the intel-gpu-exporter authors");
  gst_element_class_add_static_pad_template(element, &sink);
  gst_element_class_add_static_pad_template(element, &source);
  transform->start = start;
  transform->stop = stop;
}

static gboolean plugin_init(GstPlugin* plugin) {
  return gst_element_register(plugin, "igpuload", GST_RANK_NONE, igpu_load_get_type());
}

#define PACKAGE "igpu"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, igpuload, "Load of Intel GPUs", plugin_init, "1.0", "unknown",
                  "igpu", "igpu")
