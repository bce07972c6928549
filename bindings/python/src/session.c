/* The class Session: sequences that come and go while others run. */
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "generated.h"

PyTypeObject *session_type;

static PyTypeObject *span_type, *plan_type, *sequence_type;

PyObject *refuse_pickle(PyObject *self, PyObject *ignored);
PyObject *child_close_method(PyObject *object, PyObject *ignored);
PyObject *child_enter_method(PyObject *self, PyObject *ignored);
PyObject *child_exit_method(PyObject *self, PyObject *ignored);
PyObject *child_get_closed(PyObject *self, void *closure);
PyObject *child_get_sampler(PyObject *self, void *closure);

typedef struct SessionObject {
  Child child;
  int64_t max_sequences, max_drafts, vocabulary_size;
  int32_t logits_dtype;
  int has_draft_trees;
  PyObject *ngrams; /* a list: what drafts for it */
  Held *held;       /* arrays of its pipeline */
  int num_held;
} SessionObject;

typedef struct SpanObject {
  PyObject_HEAD sampler_span span;
  PyObject *token_ids;
} SpanObject;

/* ---- Making one ----------------------------------------------------------------------------- */

static int parse_keywords(Fields *fields, PyObject *keywords) {
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (keywords && PyDict_Next(keywords, &position, &name, &value)) {
    const int index = struct_find(fields->of, name);
    if (index < 0) {
      PyErr_Format(PyExc_TypeError, "Session() has no argument %R", name);
      return -1;
    }
    if (fields_set(fields, index, value)) return -1;
  }
  return 0;
}

static int take_options(Call *call, Fields *f, sampler_session_options *o) {
  const sampler_rows rows = {.num_cols = o->vocabulary_size};
  call->stream = o->stream;
  call->has_stream = fields_given(f, session_options__stream);
  if (take_params(call, f, session_options__params, &call->params, &o->params) ||
      take_pipeline(call, f, session_options__pipeline, &rows, o->max_sequences, 0, &o->pipeline) ||
      take_acceptance(call, f, session_options__acceptance, o->max_drafts, &o->acceptance)) {
    return -1;
  }
  return call_check(call);
}

static void release_held(SessionObject *self) {
  for (int i = 0; i < self->num_held; ++i) {
    if (self->held[i].owner) {
      Py_DECREF(self->held[i].owner);
    } else {
      PyBuffer_Release(&self->held[i].view);
    }
  }
  free(self->held);
  self->held = NULL;
  self->num_held = 0;
}

static void destroy(Child *child) {
  SessionObject *self = (SessionObject *)child;
  sampler_session_destroy(child->handle);
  const Py_ssize_t count = PyList_Size(self->ngrams);
  for (Py_ssize_t i = 0; i < count; ++i) {
    --((NgramObject *)PyList_GetItem(self->ngrams, i))->holds;
  }
  PyList_SetSlice(self->ngrams, 0, count, NULL);
  release_held(self);
}

/* The session keeps what the call of its making held. */
static int keep_held(SessionObject *self, Call *call) {
  if (!call->num_held) return 0;
  self->held = malloc((size_t)call->num_held * sizeof *self->held);
  if (!self->held) {
    PyErr_NoMemory();
    return -1;
  }
  memcpy(self->held, call->held, (size_t)call->num_held * sizeof *self->held);
  self->num_held = call->num_held;
  call->num_held = 0;
  return 0;
}

static SessionObject *new_object(PyTypeObject *type, const sampler_session_options *o) {
  SessionObject *self = (SessionObject *)PyType_GenericAlloc(type, 0);
  if (!self) return NULL;
  self->child.destroy = destroy;
  self->max_sequences = o->max_sequences;
  self->max_drafts = o->max_drafts;
  self->vocabulary_size = o->vocabulary_size;
  self->logits_dtype = o->logits_dtype;
  self->has_draft_trees = o->has_draft_trees != 0;
  self->ngrams = PyList_New(0);
  if (!self->ngrams) Py_CLEAR(self);
  return self;
}

static PyObject *session_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  PyObject *sampler, *objects[session_options__num_objects];
  sampler_session_options options;
  SessionObject *self = NULL;
  Fields fields;
  Call call;
  fields_init(&fields, &session_options_struct, &options, objects);
  if (!PyArg_ParseTuple(arguments, "O!:Session", sampler_type, &sampler) ||
      parse_keywords(&fields, keywords) || call_begin(&call, (SamplerObject *)sampler, "Session")) {
    return NULL;
  }
  if (take_options(&call, &fields, &options) == 0 && (self = new_object(type, &options))) {
    sampler_session_t handle = NULL;
    sampler_status status;
    Py_BEGIN_ALLOW_THREADS status = sampler_session_create(call.sampler->handle, &options, &handle);
    Py_END_ALLOW_THREADS if (status == SAMPLER_OK) {
      self->child.handle = handle;
      child_adopt(&self->child, call.sampler);
      if (keep_held(self, &call)) Py_CLEAR(self);
    }
    else {
      Py_CLEAR(self);
      raise_status(status);
    }
  }
  call_end(&call);
  return (PyObject *)self;
}

PyObject *sampler_session_size_of(PyObject *sampler, PyObject *arguments, PyObject *keywords) {
  PyObject *objects[session_options__num_objects], *result = NULL;
  sampler_session_options options;
  Fields fields;
  Call call;
  fields_init(&fields, &session_options_struct, &options, objects);
  if (!PyArg_ParseTuple(arguments, ":session_size") || parse_keywords(&fields, keywords) ||
      call_begin(&call, (SamplerObject *)sampler, "session_size")) {
    return NULL;
  }
  if (take_options(&call, &fields, &options) == 0) {
    size_t bytes;
    const sampler_status status = sampler_session_size(call.sampler->handle, &options, &bytes);
    result = status == SAMPLER_OK ? PyLong_FromSize_t(bytes) : raise_status(status);
  }
  call_end(&call);
  return result;
}

/* Marks the session's sampler as serving a call. */
static int begin(Call *call, SessionObject *self, const char *function) {
  if (!self->child.handle) {
    raise_closed("session");
    return -1;
  }
  if (call_begin(call, self->child.sampler, function)) return -1;
  call->is_on_host = 1;
  return 0;
}

/* ---- Adding sequences ----------------------------------------------------------------------- */

/* Ids of a text, [*out_count]. */
static int take_text(Call *call, Fields *f, int index, int64_t *out_count) {
  PyObject *object = OBJECT(f, index);
  Array text;
  if (!object) return 0;
  if (shape_of(call, object, &text)) {
    if (!is_vector(&text)) {
      call_break(call, "%s has %d dimensions; it must have one", f->of->members[index].label,
                 text.ndim);
    }
    *out_count = text.count;
  }
  call->id_element = ELEMENT_I32;
  strcpy(call->id_label, "a session's id");
  return take_ids(call, f, "", index, *out_count, ONE_DIMENSION);
}

/* An attribute of what get returned; an object without it is of another class. */
static PyObject *resumed_attribute(PyObject *object, const char *name) {
  PyObject *value = PyObject_GetAttrString(object, name);
  if (!value && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "resumed is %R; it must be what Session.get returned", object);
  }
  return value;
}

static int number_of(PyObject *object, const char *name, int64_t *out) {
  PyObject *value = resumed_attribute(object, name);
  const int status = value ? to_i64(name, value, out) : -1;
  Py_XDECREF(value);
  return status;
}

/* What a sequence that was removed goes on with. */
static int take_resumed(PyObject *object, sampler_session_sequence *out) {
  PyObject *values = NULL, *entropy = NULL;
  int status = -1;
  memset(out, 0, sizeof *out);
  out->struct_size = sizeof *out;
  if (number_of(object, "num_steps", &out->num_steps) ||
      number_of(object, "num_drafted", &out->num_drafted) ||
      number_of(object, "num_accepted", &out->num_accepted)) {
    return -1;
  }
  values = resumed_attribute(object, "adaptive_values");
  entropy = values ? resumed_attribute(object, "drafter_entropy") : NULL;
  if (!entropy) goto end;
  if (PySequence_Size(values) != SAMPLER_NUM_ADAPTIVE_VALUES) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "resumed.adaptive_values is %R; it must be %d floats", values,
                 SAMPLER_NUM_ADAPTIVE_VALUES);
    goto end;
  }
  for (int i = 0; i < SAMPLER_NUM_ADAPTIVE_VALUES; ++i) {
    PyObject *value = PySequence_GetItem(values, i);
    const int failed = !value || to_f32("resumed.adaptive_values", value, &out->adaptive_values[i]);
    Py_XDECREF(value);
    if (failed) goto end;
  }
  out->drafter_entropy = PyFloat_AsDouble(entropy);
  status = out->drafter_entropy == -1.0 && PyErr_Occurred() ? -1 : 0;
end:
  Py_XDECREF(values);
  Py_XDECREF(entropy);
  return status;
}

static NgramObject *ngram_of(const Fields *f, int *out_failed) {
  PyObject *object = OBJECT(f, session_add_args__ngram);
  *out_failed = 0;
  if (!object) return NULL;
  if (Py_TYPE(object) != storage_type && Py_TYPE(object) != lookup_type) {
    PyErr_SetString(PyExc_TypeError, "ngram must be a NgramStorage or a PromptLookup");
    *out_failed = 1;
    return NULL;
  }
  if (!((NgramObject *)object)->handle) {
    raise_closed("ngram");
    *out_failed = 1;
  }
  return (NgramObject *)object;
}

/* The session keeps n-grams that it uses. */
static int keep_ngram(SessionObject *self, NgramObject *ngram) {
  const Py_ssize_t count = PyList_Size(self->ngrams);
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (PyList_GetItem(self->ngrams, i) == (PyObject *)ngram) return 0;
  }
  if (PyList_Append(self->ngrams, (PyObject *)ngram)) return -1;
  ++ngram->holds;
  return 0;
}

static int take_add(Call *call, Fields *f, sampler_session_add_args *a,
                    sampler_session_sequence *resumed, NgramObject **out_ngram) {
  int failed;
  *out_ngram = ngram_of(f, &failed);
  if (failed || take_text(call, f, session_add_args__token_ids, &a->num_tokens) ||
      take_text(call, f, session_add_args__end_token_ids, &a->num_end_tokens) ||
      take_params(call, f, session_add_args__params, &call->params, &a->params) ||
      take_unmask_params(call, f, session_add_args__unmask, &a->unmask) ||
      take_lists(call, "stop_sequences.", OBJECT(f, session_add_args__stop_sequences),
                 &a->stop_sequences)) {
    return -1;
  }
  if (*out_ngram) a->ngram = &(*out_ngram)->ngram;
  if (OBJECT(f, session_add_args__resumed)) {
    if (take_resumed(OBJECT(f, session_add_args__resumed), resumed)) return -1;
    a->resumed = resumed;
  }
  return call_check(call);
}

static PyObject *session_add(PyObject *object, PyObject *const *arguments, Py_ssize_t count,
                             PyObject *names) {
  static const int positional[] = {session_add_args__token_ids};
  SessionObject *self = (SessionObject *)object;
  PyObject *objects[session_add_args__num_objects], *result = NULL;
  sampler_session_add_args args;
  sampler_session_sequence resumed;
  NgramObject *ngram;
  int32_t sequence = 0;
  Fields fields;
  Call call;
  fields_init(&fields, &session_add_args_struct, &args, objects);
  if (begin(&call, self, "add")) return NULL;
  if (fields_parse(&fields, "add", positional, 1, arguments, count, names) == 0 &&
      take_add(&call, &fields, &args, &resumed, &ngram) == 0 &&
      (!ngram || keep_ngram(self, ngram) == 0)) {
    sampler_status status;
    Py_BEGIN_ALLOW_THREADS status = sampler_session_add(self->child.handle, &args, &sequence);
    Py_END_ALLOW_THREADS result =
        status == SAMPLER_OK ? PyLong_FromLong(sequence) : raise_status(status);
  }
  call_end(&call);
  return result;
}

static PyObject *session_fork(PyObject *object, PyObject *const *arguments, Py_ssize_t count,
                              PyObject *names) {
  static const int positional[] = {session_fork_args__source};
  SessionObject *self = (SessionObject *)object;
  PyObject *objects[session_fork_args__num_objects], *result = NULL;
  sampler_session_fork_args args;
  uint64_t seed;
  int32_t sequence = 0;
  Fields fields;
  Call call;
  fields_init(&fields, &session_fork_args_struct, &args, objects);
  if (begin(&call, self, "fork")) return NULL;
  if (fields_parse(&fields, "fork", positional, 1, arguments, count, names) ||
      take_params(&call, &fields, session_fork_args__params, &call.params, &args.params)) {
    goto end;
  }
  if (OBJECT(&fields, session_fork_args__seed)) {
    if (to_u64("seed", OBJECT(&fields, session_fork_args__seed), &seed)) goto end;
    args.seed = &seed;
  }
  sampler_status status;
  Py_BEGIN_ALLOW_THREADS status = sampler_session_fork(self->child.handle, &args, &sequence);
  Py_END_ALLOW_THREADS result =
      status == SAMPLER_OK ? PyLong_FromLong(sequence) : raise_status(status);
end:
  call_end(&call);
  return result;
}

static PyObject *session_remove(PyObject *object, PyObject *number) {
  SessionObject *self = (SessionObject *)object;
  PyObject *result = NULL;
  int32_t sequence;
  if (to_i32("sequence", number, &sequence)) return NULL;
  if (!self->child.handle) return raise_closed("session");
  if (sampler_enter(self->child.sampler)) return NULL;
  const sampler_status status = sampler_session_remove(self->child.handle, sequence);
  sampler_leave(self->child.sampler);
  result = status == SAMPLER_OK ? Py_NewRef(Py_None) : raise_status(status);
  return result;
}

/* ---- Looking at one ------------------------------------------------------------------------- */

/* An array.array of int32 with these. */
static PyObject *ints(const int32_t *values, int64_t count) {
  PyObject *module = PyImport_ImportModule("libsampler._arrays");
  PyObject *bytes = PyBytes_FromStringAndSize((const char *)values,
                                              (Py_ssize_t)(count * (int64_t)sizeof *values));
  PyObject *array = module && bytes ? PyObject_CallMethod(module, "int32_array", "O", bytes) : NULL;
  Py_XDECREF(module);
  Py_XDECREF(bytes);
  return array;
}

/* A number as a value of an enumeration of the package. */
static PyObject *enum_value(const char *class, long number) {
  PyObject *module = PyImport_ImportModule("libsampler._enums");
  PyObject *value = module ? PyObject_CallMethod(module, class, "l", number) : NULL;
  Py_XDECREF(module);
  return value;
}

static PyObject *adaptive_values(const float *values) {
  return Py_BuildValue("(dddd)", (double)values[0], (double)values[1], (double)values[2],
                       (double)values[3]);
}

static PyObject *sequence_object(const sampler_session_sequence *s) {
  PyObject *values[] = {ints(s->token_ids, s->num_tokens),
                        PyLong_FromLongLong(s->prompt_length),
                        PyLong_FromLongLong(s->cache_length),
                        PyLong_FromLongLong(s->drafter_cache_length),
                        enum_value("FinishReason", s->finish_reason),
                        enum_value("RowStatus", (long)s->row_status),
                        PyLong_FromLongLong(s->stop_sequence),
                        PyLong_FromLongLong(s->num_steps),
                        PyLong_FromLongLong(s->num_drafted),
                        PyLong_FromLongLong(s->num_accepted),
                        PyBool_FromLong(s->is_drafting),
                        adaptive_values(s->adaptive_values),
                        PyFloat_FromDouble(s->drafter_entropy)};
  PyObject *result = PyStructSequence_New(sequence_type);
  for (int i = 0; i < (int)(sizeof values / sizeof *values); ++i) {
    if (!values[i]) Py_CLEAR(result);
    if (result) {
      PyStructSequence_SetItem(result, i, values[i]);
    } else {
      Py_XDECREF(values[i]);
    }
  }
  return result;
}

static PyObject *session_get(PyObject *object, PyObject *number) {
  SessionObject *self = (SessionObject *)object;
  sampler_session_sequence sequence = {.struct_size = sizeof sequence};
  PyObject *result = NULL;
  int32_t index;
  if (to_i32("sequence", number, &index)) return NULL;
  if (!self->child.handle) return raise_closed("session");
  if (sampler_enter(self->child.sampler)) return NULL;
  const sampler_status status = sampler_session_get(self->child.handle, index, &sequence);
  result = status == SAMPLER_OK ? sequence_object(&sequence) : raise_status(status);
  sampler_leave(self->child.sampler);
  return result;
}

/* ---- Planning ------------------------------------------------------------------------------- */

static PyObject *span_object(const sampler_span *span, PyObject *all_ids, int64_t start) {
  SpanObject *object = (SpanObject *)PyType_GenericAlloc(span_type, 0);
  if (!object) return NULL;
  object->span = *span;
  object->token_ids =
      PySequence_GetSlice(all_ids, (Py_ssize_t)start, (Py_ssize_t)(start + span->num_tokens));
  if (!object->token_ids) {
    Py_DECREF((PyObject *)object);
    return NULL;
  }
  return (PyObject *)object;
}

/* A list of spans, and the tokens of all of them as an array.array. */
static PyObject *span_list(const sampler_span *spans, int64_t count, PyObject **out_ids) {
  int64_t total = 0, start = 0;
  for (int64_t i = 0; i < count; ++i) total += spans[i].num_tokens;
  int32_t *all = malloc((size_t)(total ? total : 1) * sizeof *all);
  if (!all) return PyErr_NoMemory();
  for (int64_t i = 0; i < count; ++i) {
    memcpy(all + start, spans[i].token_ids, (size_t)spans[i].num_tokens * sizeof *all);
    start += spans[i].num_tokens;
  }
  PyObject *ids = ints(all, total), *view = ids ? PyMemoryView_FromObject(ids) : NULL;
  free(all);
  PyObject *list = view ? PyList_New(0) : NULL;
  start = 0;
  for (int64_t i = 0; list && i < count; ++i) {
    PyObject *span = span_object(&spans[i], view, start);
    if (!span || PyList_Append(list, span)) Py_CLEAR(list);
    Py_XDECREF(span);
    start += spans[i].num_tokens;
  }
  Py_XDECREF(view);
  if (!list) Py_CLEAR(ids);
  *out_ids = ids;
  return list;
}

typedef struct PlanMemory {
  sampler_span *spans, *drafter_spans;
  int32_t *parents; /* NULL: the session has no trees */
  int64_t num_spans, num_drafter_spans;
} PlanMemory;

static void free_plan(PlanMemory *memory) {
  free(memory->spans);
  free(memory->drafter_spans);
  free(memory->parents);
}

static int allocate_plan(const SessionObject *self, int64_t count, PlanMemory *memory) {
  const size_t size = count > 0 ? (size_t)count : 1;
  *memory = (PlanMemory){NULL, NULL, NULL, 0, 0};
  memory->spans = calloc(size, sizeof *memory->spans);
  memory->drafter_spans = calloc(size, sizeof *memory->drafter_spans);
  if (self->has_draft_trees) {
    memory->parents = calloc(size * (size_t)(self->max_drafts + 1), sizeof(int32_t));
  }
  if (memory->spans && memory->drafter_spans && (memory->parents || !self->has_draft_trees)) {
    return 0;
  }
  free_plan(memory);
  PyErr_NoMemory();
  return -1;
}

/* [spans, max_drafts] */
static PyObject *parents_object(const SessionObject *self, const PlanMemory *memory) {
  if (!memory->parents) return Py_NewRef(Py_None);
  PyObject *flat = ints(memory->parents, memory->num_spans * self->max_drafts);
  PyObject *module = flat ? PyImport_ImportModule("libsampler._arrays") : NULL;
  PyObject *shaped =
      module ? PyObject_CallMethod(module, "shaped", "O(LL)", flat, (long long)memory->num_spans,
                                   (long long)self->max_drafts)
             : NULL;
  Py_XDECREF(flat);
  Py_XDECREF(module);
  return shaped;
}

static PyObject *plan_object(const SessionObject *self, const PlanMemory *memory) {
  PyObject *ids = NULL, *drafter_ids = NULL;
  PyObject *spans = span_list(memory->spans, memory->num_spans, &ids);
  PyObject *drafter_spans =
      spans ? span_list(memory->drafter_spans, memory->num_drafter_spans, &drafter_ids) : NULL;
  PyObject *parents = drafter_spans ? parents_object(self, memory) : NULL;
  PyObject *values[] = {spans, drafter_spans, ids, drafter_ids, parents};
  PyObject *result = parents ? PyStructSequence_New(plan_type) : NULL;
  for (int i = 0; i < 5; ++i) {
    if (result) {
      PyStructSequence_SetItem(result, i, values[i]);
    } else {
      Py_XDECREF(values[i]);
    }
  }
  return result;
}

static PyObject *session_plan(PyObject *object, PyObject *const *arguments, Py_ssize_t count,
                              PyObject *names) {
  SessionObject *self = (SessionObject *)object;
  PyObject *objects[session_plan_args__num_objects], *result = NULL;
  sampler_session_plan_args args;
  PlanMemory memory;
  Fields fields;
  Call call;
  fields_init(&fields, &session_plan_args_struct, &args, objects);
  if (begin(&call, self, "plan")) return NULL;
  if (fields_parse(&fields, "plan", NULL, 0, arguments, count, names)) goto end;
  PyObject *sequences = OBJECT(&fields, session_plan_args__sequences);
  const int64_t room = sequences ? length_of(&call, sequences) : self->max_sequences;
  if (sequences) args.num_sequences = room;
  if (take_array(&call, &fields, "", session_plan_args__sequences, room, PLACE_HOST) ||
      call_check(&call) || allocate_plan(self, room, &memory)) {
    goto end;
  }
  args.out_spans = memory.spans;
  args.out_num_spans = &memory.num_spans;
  args.out_drafter_spans = memory.drafter_spans;
  args.out_num_drafter_spans = &memory.num_drafter_spans;
  args.out_parents = memory.parents;
  /* None of them: NULL and 0 would be all. */
  sampler_status status = SAMPLER_OK;
  if (!sequences || room) {
    Py_BEGIN_ALLOW_THREADS status = sampler_session_plan(self->child.handle, &args);
    Py_END_ALLOW_THREADS
  }
  result = status == SAMPLER_OK ? plan_object(self, &memory) : raise_status(status);
  free_plan(&memory);
end:
  call_end(&call);
  return result;
}

/* ---- Advancing ------------------------------------------------------------------------------ */

/* A copy of the spans of a sequence of Span objects; to be freed. NULL with an exception. */
static sampler_span *copy_spans(const char *label, PyObject *list, int64_t *out_count,
                                int64_t *out_rows) {
  const Py_ssize_t count = list ? PySequence_Size(list) : 0;
  *out_count = *out_rows = 0;
  if (count < 0) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s must be a list of spans of a plan", label);
    return NULL;
  }
  sampler_span *spans = calloc(count ? (size_t)count : 1, sizeof *spans);
  if (!spans) {
    PyErr_NoMemory();
    return NULL;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *item = PySequence_GetItem(list, i);
    const int is_span = item && Py_TYPE(item) == span_type;
    if (is_span) {
      spans[i] = ((SpanObject *)item)->span;
      *out_rows = sum(*out_rows, spans[i].num_logits);
    } else if (item) {
      PyErr_Format(PyExc_TypeError, "%s must be a list of spans of a plan", label);
    }
    Py_XDECREF(item);
    if (!is_span) {
      free(spans);
      return NULL;
    }
  }
  *out_count = count;
  return spans;
}

/* Logits in the sampler's memory, of the session's type where there are rows. */
static int view_logits(Call *call, Fields *f, int index, const SessionObject *self, int64_t rows,
                       sampler_rows *view, RowsArray *array) {
  memset(array, 0, sizeof *array);
  call->is_on_host = 0;
  const int failed = take_rows_array(call, f, index, view, array);
  call->is_on_host = 1;
  if (failed) return -1;
  Element element = array->values.element;
  if (element == ELEMENT_U16) element = view->dtype == SAMPLER_F16 ? ELEMENT_F16 : ELEMENT_BF16;
  if (rows > 0 && view->dtype != self->logits_dtype) {
    call_break(call, "%s is %s; logits_dtype of the session is %d", f->of->members[index].label,
               element_name(element), (int)self->logits_dtype);
  }
  return 0;
}

/* Their number and distance follow from dimensions, or from the numbers of Rows. */
static int has_own_rows(const RowsArray *array) {
  return array->is_flat || array->values.ndim > 1;
}

/* Rows of logits, [rows, vocabulary_size]. */
static int take_logits(Call *call, Fields *f, int index, int stride_index,
                       const SessionObject *self, int64_t rows, const void **out) {
  sampler_rows view;
  RowsArray array;
  if (!OBJECT(f, index)) return 0;
  if (view_logits(call, f, index, self, rows, &view, &array)) return -1;
  int64_t *stride = FIELD(f, int64_t, stride_index);
  const char *label = f->of->members[index].label;
  if (has_own_rows(&array)) {
    if (rows > 0 && (view.num_rows < rows || view.num_cols != self->vocabulary_size)) {
      call_break(call, "%s has %lld rows of %lld elements; it needs %lld of %lld", label,
                 (long long)view.num_rows, (long long)view.num_cols, (long long)rows,
                 (long long)self->vocabulary_size);
    }
    if (rows > 1 && *stride && *stride != view.row_stride) {
      call_break(call, "%s is %lld; it must be %lld, as the rows of %s are apart",
                 f->of->members[stride_index].label, (long long)*stride, (long long)view.row_stride,
                 label);
    }
    *stride = view.row_stride;
  }
  const int64_t needed = extent(rows, self->vocabulary_size, *stride);
  if (array.reach < needed) {
    call_break(call, "%s has %lld elements; it needs %lld", label, (long long)array.reach,
               (long long)needed);
  }
  *out = view.values;
  return 0;
}

/* As many rows as there are, as far apart as those of `rows` rows of logits. */
static int take_guidance(Call *call, Fields *f, sampler_session_advance_args *a,
                         const SessionObject *self, int64_t rows) {
  const int index = session_advance_args__guidance_logits;
  const int64_t stride = first_nonzero(a->logits_row_stride, self->vocabulary_size);
  sampler_rows view;
  RowsArray array;
  a->num_guidance_rows = 0;
  if (!OBJECT(f, index)) return 0;
  if (view_logits(call, f, index, self, rows, &view, &array)) return -1;
  const char *label = f->of->members[index].label;
  if (!has_own_rows(&array)) {
    if (stride > 0 && array.values.count % stride) {
      call_break(call, "%s has %lld elements; it must be rows of %lld", label,
                 (long long)array.values.count, (long long)stride);
    }
    a->num_guidance_rows = stride > 0 ? array.values.count / stride : 0;
  } else {
    if (view.num_cols != self->vocabulary_size) {
      call_break(call, "%s has rows of %lld elements; it must be rows of %lld", label,
                 (long long)view.num_cols, (long long)self->vocabulary_size);
    }
    const int has_stride = rows > 1 || fields_given(f, session_advance_args__logits_row_stride);
    if (view.num_rows > 1 && has_stride && view.row_stride != stride) {
      call_break(call, "%s has rows that are %lld elements apart; those of logits are %lld", label,
                 (long long)view.row_stride, (long long)stride);
    }
    if (view.num_rows > 1) a->logits_row_stride = view.row_stride;
    a->num_guidance_rows = view.num_rows;
  }
  a->guidance_logits = view.values;
  return 0;
}

static int take_advance(Call *call, Fields *f, sampler_session_advance_args *a,
                        const SessionObject *self, int64_t rows, int64_t drafter_rows) {
  const int64_t spans = a->num_spans, width = sum(self->max_drafts, 1);
  if (take_logits(call, f, session_advance_args__logits, session_advance_args__logits_row_stride,
                  self, rows, &a->logits) ||
      take_logits(call, f, session_advance_args__drafter_logits,
                  session_advance_args__drafter_row_stride, self, drafter_rows,
                  &a->drafter_logits) ||
      take_guidance(call, f, a, self, rows)) {
    return -1;
  }
  call->id_element = ELEMENT_I32;
  strcpy(call->id_label, "a session's id");
  return take_array(call, f, "", session_advance_args__token_bitmask_indices, rows, PLACE_HOST) ||
         take_array(call, f, "", session_advance_args__forced_token_ids, rows, PLACE_HOST) ||
         take_array(call, f, "", session_advance_args__guidance_row_indices, rows, PLACE_HOST) ||
         take_output(call, f, "", session_advance_args__out_token_ids, 1, 2, spans, width) ||
         take_output(call, f, "", session_advance_args__out_counts, 1, 1, spans, 1) ||
         take_output(call, f, "", session_advance_args__out_finish_reasons, 1, 1, spans, 1) ||
         take_output(call, f, "", session_advance_args__out_cache_lengths, 1, 1, spans, 1) ||
         take_output(call, f, "", session_advance_args__out_drafter_cache_lengths, 1, 1, spans,
                     1) ||
         take_output(call, f, "", session_advance_args__out_accepted_counts, 1, 1, spans, 1) ||
         take_output(call, f, "", session_advance_args__out_row_status, 0, 1, spans, 1) ||
         take_reports(call, f, session_advance_args__reports, product(spans, width),
                      self->vocabulary_size, &a->reports);
}

static PyObject *session_advance(PyObject *object, PyObject *const *arguments, Py_ssize_t count,
                                 PyObject *names) {
  static const int positional[] = {session_advance_args__spans, session_advance_args__logits};
  SessionObject *self = (SessionObject *)object;
  PyObject *objects[session_advance_args__num_objects], *result = NULL;
  sampler_session_advance_args args;
  sampler_span *spans = NULL, *drafter_spans = NULL;
  int64_t rows, drafter_rows;
  Fields fields;
  Call call;
  fields_init(&fields, &session_advance_args_struct, &args, objects);
  if (begin(&call, self, "advance")) return NULL;
  if (fields_parse(&fields, "advance", positional, 2, arguments, count, names) ||
      !(spans = copy_spans("spans", OBJECT(&fields, session_advance_args__spans), &args.num_spans,
                           &rows)) ||
      !(drafter_spans =
            copy_spans("drafter_spans", OBJECT(&fields, session_advance_args__drafter_spans),
                       &args.num_drafter_spans, &drafter_rows)) ||
      take_advance(&call, &fields, &args, self, rows, drafter_rows) || call_check(&call) ||
      allocate_outputs(&call)) {
    goto end;
  }
  args.spans = spans;
  args.drafter_spans = drafter_spans;
  sampler_status status;
  Py_BEGIN_ALLOW_THREADS status = sampler_session_advance(self->child.handle, &args);
  Py_END_ALLOW_THREADS result = status == SAMPLER_OK
                                    ? call_results(&call, &session_advance_args_struct)
                                    : raise_status(status);
end:
  free(spans);
  free(drafter_spans);
  call_end(&call);
  return result;
}

/* ---- Spans ---------------------------------------------------------------------------------- */

static PyObject *span_number(PyObject *self, void *closure) {
  const sampler_span *span = &((SpanObject *)self)->span;
  switch ((intptr_t)closure) {
    case 0:
      return PyLong_FromLong(span->sequence);
    case 1:
      return PyLong_FromLong(span->plan);
    case 2:
      return PyLong_FromLongLong(span->start);
    case 3:
      return PyLong_FromLongLong(span->num_tokens);
    default:
      return PyLong_FromLongLong(span->num_logits);
  }
}

static PyObject *span_ids(PyObject *self, void *closure) {
  (void)closure;
  return Py_NewRef(((SpanObject *)self)->token_ids);
}

static PyObject *span_repr(PyObject *self) {
  const sampler_span *span = &((SpanObject *)self)->span;
  return PyUnicode_FromFormat("Span(sequence=%d, start=%lld, num_tokens=%lld, num_logits=%lld)",
                              (int)span->sequence, (long long)span->start,
                              (long long)span->num_tokens, (long long)span->num_logits);
}

static void span_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  Py_XDECREF(((SpanObject *)self)->token_ids);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

static PyGetSetDef span_attributes[] = {
    {"sequence", span_number, NULL, "Whose tokens they are.", (void *)0},
    {"plan", span_number, NULL, "Which plan of the session it is of.", (void *)1},
    {"start", span_number, NULL,
     "The length that the cache must have: what it holds beyond is cut off.", (void *)2},
    {"num_tokens", span_number, NULL, "At least one; the last of them may be drafts, or a block.",
     (void *)3},
    {"num_logits", span_number, NULL,
     "Rows of logits that advance wants: those that follow the last num_logits tokens.", (void *)4},
    {"token_ids", span_ids, NULL, "int32, [num_tokens].", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

/* ---- The types ------------------------------------------------------------------------------ */

static void session_dealloc(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  SessionObject *self = (SessionObject *)object;
  PyObject_GC_UnTrack(object);
  if (self->child.sampler) child_close(&self->child);
  release_held(self);
  Py_CLEAR(self->ngrams);
  Py_CLEAR(self->child.sampler);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF((PyObject *)type);
}

static int session_traverse(PyObject *object, visitproc visit, void *arg) {
  SessionObject *self = (SessionObject *)object;
  Py_VISIT((PyObject *)Py_TYPE(object));
  Py_VISIT((PyObject *)self->child.sampler);
  Py_VISIT(self->ngrams);
  for (int i = 0; i < self->num_held; ++i) Py_VISIT(self->held[i].owner);
  return 0;
}

#define CALL(name)                                                                     \
  {                                                                                    \
#name, (PyCFunction)(void (*)(void))session_##name, METH_FASTCALL | METH_KEYWORDS, \
        session_##name##_doc                                                           \
  }

static PyMethodDef methods[] = {
    CALL(add),
    CALL(fork),
    CALL(plan),
    CALL(advance),
    {"remove", session_remove, METH_O,
     "remove($self, sequence, /)\n--\n\nRemoves a sequence, finished or not. Its number may be "
     "given to "
     "another one."},
    {"get", session_get, METH_O, "get($self, sequence, /)\n--\n\nWhat there is of a sequence."},
    {"close", child_close_method, METH_NOARGS,
     "close($self)\n--\n\nReleases the session's memory."},
    {"__enter__", child_enter_method, METH_NOARGS, NULL},
    {"__exit__", child_exit_method, METH_VARARGS, NULL},
    {"__reduce__", refuse_pickle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef attributes[] = {
    {"closed", child_get_closed, NULL, "Whether it, or its sampler, was closed.", NULL},
    {"sampler", child_get_sampler, NULL, "Whose session it is.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static const char doc[] =
    "Session(sampler, *, max_sequences, max_context, vocabulary_size, **options)\n\n"
    "Sequences that come and go while others run, around models that the caller runs:\n\n"
    "    sequence = session.add(token_ids, params=params, seed=seed)\n"
    "    plan = session.plan()                          in each step: which tokens to run\n"
    "    result = session.advance(plan.spans, logits)   logits in, new tokens out\n\n"
    "Options are the members of sampler_session_options. Arrays of the pipeline are read in each\n"
    "advance. On a CUDA sampler logits and these arrays are device memory, all else is host "
    "memory.";

static PyTypeObject *add_sequence_class(PyObject *module, const char *name,
                                        PyStructSequence_Field *fields, int count) {
  PyStructSequence_Desc desc = {name, "", fields, count};
  PyTypeObject *type = PyStructSequence_NewType(&desc);
  if (type && PyModule_AddObjectRef(module, strrchr(name, '.') + 1, (PyObject *)type)) return NULL;
  return type;
}

static PyStructSequence_Field plan_fields[] = {
    {"spans", "of the target: a list of Span"},
    {"drafter_spans", "of the drafter"},
    {"token_ids", "those of all spans, one span after the other"},
    {"drafter_token_ids", "the same of the drafter"},
    {"parents", "[spans, max_drafts] what each draft follows; None without has_draft_trees"},
    {NULL, NULL}};

static PyStructSequence_Field sequence_fields[] = {
    {"token_ids", "a copy of the text, the prompt first"},
    {"prompt_length", NULL},
    {"cache_length", "how much of the text the target's cache holds"},
    {"drafter_cache_length", NULL},
    {"finish_reason", "a FinishReason; NONE: it runs"},
    {"row_status", "why finish_reason is BAD_ROW"},
    {"stop_sequence", "of STOP_SEQUENCE: which, from 0; else -1"},
    {"num_steps", "that gave a token"},
    {"num_drafted", NULL},
    {"num_accepted", NULL},
    {"is_drafting", NULL},
    {"adaptive_values", NULL},
    {"drafter_entropy", NULL},
    {NULL, NULL}};

int add_session_type(PyObject *module) {
  static PyType_Slot span_slots[] = {{Py_tp_doc, "Tokens to run through a model."},
                                     {Py_tp_dealloc, (void *)span_dealloc},
                                     {Py_tp_repr, (void *)span_repr},
                                     {Py_tp_getset, span_attributes},
                                     {0, NULL}};
  static PyType_Spec span_spec = {"libsampler.Span", sizeof(SpanObject), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  span_slots};
  static PyType_Slot slots[] = {{Py_tp_doc, (void *)doc},
                                {Py_tp_new, (void *)session_new},
                                {Py_tp_dealloc, (void *)session_dealloc},
                                {Py_tp_traverse, (void *)session_traverse},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, attributes},
                                {0, NULL}};
  static PyType_Spec spec = {"libsampler.Session", sizeof(SessionObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  if (prepare_struct(module, &session_options_struct, NULL) ||
      prepare_struct(module, &session_add_args_struct, NULL) ||
      prepare_struct(module, &session_fork_args_struct, NULL) ||
      prepare_struct(module, &session_plan_args_struct, NULL) ||
      prepare_struct(module, &session_advance_args_struct, "libsampler.SessionAdvanceResult")) {
    return -1;
  }
  plan_type = add_sequence_class(module, "libsampler.Plan", plan_fields, 5);
  sequence_type = add_sequence_class(module, "libsampler.Sequence", sequence_fields, 13);
  span_type = (PyTypeObject *)PyType_FromSpec(&span_spec);
  session_type = (PyTypeObject *)PyType_FromSpec(&spec);
  if (!plan_type || !sequence_type || !span_type || !session_type) return -1;
  if (PyModule_AddObjectRef(module, "Span", (PyObject *)span_type)) return -1;
  return PyModule_AddObjectRef(module, "Session", (PyObject *)session_type);
}
