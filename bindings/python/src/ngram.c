/* The classes NgramStorage and PromptLookup: drafts without a model, on host memory. */
#include <string.h>

#include "core.h"
#include "generated.h"

PyTypeObject *storage_type, *lookup_type;

/* The longest text, and so the most drafts. */
enum { MAX_PROPOSED = 1 << 27 };

PyObject *refuse_pickle(PyObject *self, PyObject *ignored);
int allocator_of(PyObject *object, sampler_allocator *out);

/* ---- One call at a time --------------------------------------------------------------------- */

static int enter(NgramObject *self) {
  if (!self->handle) {
    raise_closed("n-grams");
    return -1;
  }
  if (self->busy == process_number) {
    PyErr_SetString(error_of(SAMPLER_ERROR_INVALID_ARGUMENT),
                    "n-grams are serving another call; they serve one at a time");
    return -1;
  }
  self->busy = process_number;
  return 0;
}

static PyObject *leave(NgramObject *self, sampler_status status, PyObject *result) {
  self->busy = 0;
  if (status == SAMPLER_OK) return result;
  Py_XDECREF(result);
  return raise_status(status);
}

/* ---- Making them ---------------------------------------------------------------------------- */

static int parse_keywords(Fields *fields, PyObject *keywords) {
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (keywords && PyDict_Next(keywords, &position, &name, &value)) {
    const int index = struct_find(fields->of, name);
    if (index < 0) {
      PyErr_Format(PyExc_TypeError, "%s has no member %R", fields->of->name, name);
      return -1;
    }
    if (fields_set(fields, index, value)) return -1;
  }
  return 0;
}

static NgramObject *new_object(PyTypeObject *type) {
  NgramObject *self = (NgramObject *)PyType_GenericAlloc(type, 0);
  if (self) self->ngram.struct_size = sizeof self->ngram;
  return self;
}

static PyObject *storage_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  PyObject *objects[ngram_storage_options__num_objects];
  sampler_ngram_storage_options options;
  Fields fields;
  fields_init(&fields, &ngram_storage_options_struct, &options, objects);
  if (!PyArg_ParseTuple(arguments, ":NgramStorage") || parse_keywords(&fields, keywords) ||
      allocator_of(OBJECT(&fields, ngram_storage_options__allocator), &options.allocator)) {
    return NULL;
  }
  NgramObject *self = new_object(type);
  if (!self) return NULL;
  sampler_ngram_storage_t storage = NULL;
  sampler_status status = sampler_ngram_storage_create(&options, &storage);
  self->handle = storage;
  if (status == SAMPLER_OK) status = sampler_ngram_storage_interface(storage, &self->ngram);
  if (status == SAMPLER_OK) return (PyObject *)self;
  Py_DECREF((PyObject *)self);
  return raise_status(status);
}

static PyObject *lookup_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  PyObject *objects[prompt_lookup_options__num_objects];
  sampler_prompt_lookup_options options;
  Fields fields;
  fields_init(&fields, &prompt_lookup_options_struct, &options, objects);
  if (!PyArg_ParseTuple(arguments, ":PromptLookup") || parse_keywords(&fields, keywords) ||
      allocator_of(OBJECT(&fields, prompt_lookup_options__allocator), &options.allocator)) {
    return NULL;
  }
  NgramObject *self = new_object(type);
  if (!self) return NULL;
  sampler_prompt_lookup_t lookup = NULL;
  sampler_status status = sampler_prompt_lookup_create(&options, &lookup);
  self->handle = lookup;
  self->is_lookup = 1;
  if (status == SAMPLER_OK) status = sampler_prompt_lookup_interface(lookup, &self->ngram);
  if (status == SAMPLER_OK) return (PyObject *)self;
  Py_DECREF((PyObject *)self);
  return raise_status(status);
}

static void release(NgramObject *self) {
  if (self->is_lookup) {
    sampler_prompt_lookup_destroy(self->handle);
  } else {
    sampler_ngram_storage_destroy(self->handle);
  }
  self->handle = NULL;
}

static PyObject *close_ngram(PyObject *object, PyObject *ignored) {
  NgramObject *self = (NgramObject *)object;
  (void)ignored;
  if (!self->handle) return Py_NewRef(Py_None);
  if (self->holds) {
    PyErr_Format(error_of(SAMPLER_ERROR_INVALID_ARGUMENT),
                 "n-grams are used by %lld sessions; those must be closed before",
                 (long long)self->holds);
    return NULL;
  }
  if (enter(self)) return NULL;
  release(self);
  return leave(self, SAMPLER_OK, Py_NewRef(Py_None));
}

static void ngram_dealloc(PyObject *object) {
  NgramObject *self = (NgramObject *)object;
  PyTypeObject *type = Py_TYPE(object);
  if (self->handle) release(self);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF((PyObject *)type);
}

/* ---- Calls ---------------------------------------------------------------------------------- */

/* Ids of an argument: [num_tokens] of int32, held by the call. */
typedef struct Ids {
  const int32_t *ids;
  int64_t count;
} Ids;

static int take(Call *call, const char *label, PyObject *object, int is_output, Ids *out) {
  Array array;
  if (call_hold(call, "", label, object, &array)) return -1;
  if (array.element != ELEMENT_I32) {
    call_break(call, "%s is %s; it must be int32", label, element_name(array.element));
  } else if (!array.is_contiguous) {
    call_break(call, "%s has gaps between its elements; it must be contiguous", label);
  } else if (is_output && array.is_readonly) {
    call_break(call, "%s is read-only; it must be writable", label);
  } else if (array.device_type != 1) {
    call_break(call, "%s is on a device; it must be on cpu", label);
  } else if (!is_vector(&array)) {
    call_break(call, "%s has %d dimensions; it must have one", label, array.ndim);
  }
  *out = (Ids){(const int32_t *)(void *)array.data, array.count};
  return call_check(call);
}

static PyObject *next_token(PyObject *object, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"context", "seed", "offset", NULL};
  NgramObject *self = (NgramObject *)object;
  PyObject *context, *seed_object, *offset_object, *result = NULL;
  uint64_t seed, offset;
  int32_t token = 0, known = 0;
  Ids ids;
  Call call;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOO:next_token", names, &context,
                                   &seed_object, &offset_object) ||
      to_u64("seed", seed_object, &seed) || to_u64("offset", offset_object, &offset)) {
    return NULL;
  }
  call_begin(&call, NULL, "next_token");
  if (take(&call, "context", context, 0, &ids) == 0 && enter(self) == 0) {
    sampler_status status;
    Py_BEGIN_ALLOW_THREADS status =
        self->ngram.next_token(self->ngram.user, ids.ids, ids.count, seed, offset, &token, &known);
    Py_END_ALLOW_THREADS result =
        leave(self, status, Py_BuildValue("(iO)", token, known ? Py_True : Py_False));
  }
  call_end(&call);
  return result;
}

static PyObject *has_gram(PyObject *object, PyObject *context) {
  NgramObject *self = (NgramObject *)object;
  PyObject *result = NULL;
  int32_t has = 0;
  Ids ids;
  Call call;
  call_begin(&call, NULL, "has_gram");
  if (take(&call, "context", context, 0, &ids) == 0 && enter(self) == 0) {
    sampler_status status;
    Py_BEGIN_ALLOW_THREADS status =
        self->ngram.has_gram(self->ngram.user, ids.ids, ids.count, &has);
    Py_END_ALLOW_THREADS result = leave(self, status, PyBool_FromLong(has));
  }
  call_end(&call);
  return result;
}

static PyObject *update(PyObject *object, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"context", "next_token_ids", NULL};
  NgramObject *self = (NgramObject *)object;
  PyObject *context, *next, *result = NULL;
  Ids ids, next_ids;
  Call call;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO:update", names, &context, &next)) {
    return NULL;
  }
  call_begin(&call, NULL, "update");
  if (take(&call, "context", context, 0, &ids) == 0 &&
      take(&call, "next_token_ids", next, 0, &next_ids) == 0 && enter(self) == 0) {
    sampler_status status;
    Py_BEGIN_ALLOW_THREADS status =
        self->ngram.update(self->ngram.user, ids.ids, ids.count, next_ids.ids, next_ids.count);
    Py_END_ALLOW_THREADS result = leave(self, status, Py_NewRef(Py_None));
  }
  call_end(&call);
  return result;
}

typedef enum { INITIALIZE, APPEND } Learn;

static PyObject *learn(PyObject *object, PyObject *token_ids, Learn way) {
  NgramObject *self = (NgramObject *)object;
  PyObject *result = NULL;
  Ids ids;
  Call call;
  call_begin(&call, NULL, "initialize");
  if (take(&call, "token_ids", token_ids, 0, &ids) == 0 && enter(self) == 0) {
    sampler_status status;
    Py_BEGIN_ALLOW_THREADS status =
        way == APPEND ? sampler_prompt_lookup_append(self->handle, ids.ids, ids.count)
                      : self->ngram.initialize(self->ngram.user, ids.ids, ids.count);
    Py_END_ALLOW_THREADS result = leave(self, status, Py_NewRef(Py_None));
  }
  call_end(&call);
  return result;
}

static PyObject *initialize(PyObject *self, PyObject *token_ids) {
  return learn(self, token_ids, INITIALIZE);
}

static PyObject *append(PyObject *self, PyObject *token_ids) {
  return learn(self, token_ids, APPEND);
}

/* Where drafts are written: an array that is given, or a new array.array of num_drafts. */
static PyObject *drafts_array(PyObject *out, int64_t num_drafts) {
  if (out != Py_None) return Py_NewRef(out);
  PyObject *module = PyImport_ImportModule("libsampler._arrays");
  PyObject *array =
      module ? PyObject_CallMethod(module, "int32_array", "L", (long long)num_drafts) : NULL;
  Py_XDECREF(module);
  return array;
}

/* The first of an array that the call made; how many of one that was given. */
static PyObject *drafts_result(PyObject *given, PyObject *array, int64_t count) {
  if (given != Py_None) return PyLong_FromLongLong(count);
  return PySequence_GetSlice(array, 0, (Py_ssize_t)count);
}

static int check_num_drafts(int64_t num_drafts) {
  if (num_drafts >= 0 && num_drafts <= MAX_PROPOSED) return 0;
  PyErr_Format(error_of(SAMPLER_ERROR_INVALID_ARGUMENT),
               "num_drafts is %lld; it must be in [0, %d]", (long long)num_drafts, MAX_PROPOSED);
  return -1;
}

static PyObject *propose(PyObject *object, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"context",     "num_drafts",    "least_count",
                          "least_share", "out_token_ids", NULL};
  NgramObject *self = (NgramObject *)object;
  PyObject *context, *number = NULL, *count_object = NULL, *share_object = NULL, *out = Py_None;
  PyObject *result = NULL, *array = NULL;
  int64_t num_drafts = 0, least_count = 0, found = 0;
  float least_share = 0.0f;
  Ids ids, drafts;
  Call call;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO|OOO:propose", names, &context, &number,
                                   &count_object, &share_object, &out) ||
      to_i64("num_drafts", number, &num_drafts) || check_num_drafts(num_drafts) ||
      (unless_none(count_object) && to_i64("least_count", count_object, &least_count)) ||
      (unless_none(share_object) && to_f32("least_share", share_object, &least_share))) {
    return NULL;
  }
  call_begin(&call, NULL, "propose");
  array = drafts_array(out, num_drafts);
  if (array && take(&call, "context", context, 0, &ids) == 0 &&
      take(&call, "out_token_ids", array, 1, &drafts) == 0) {
    if (drafts.count < num_drafts) {
      call_break(&call, "out_token_ids has %lld elements; it needs %lld", (long long)drafts.count,
                 (long long)num_drafts);
    }
    if (call_check(&call) == 0 && enter(self) == 0) {
      sampler_status status;
      Py_BEGIN_ALLOW_THREADS status =
          self->ngram.propose(self->ngram.user, ids.ids, ids.count, num_drafts, least_count,
                              least_share, (int32_t *)drafts.ids, &found);
      Py_END_ALLOW_THREADS result = leave(self, status, drafts_result(out, array, found));
    }
  }
  call_end(&call);
  Py_XDECREF(array);
  return result;
}

static PyObject *reset(PyObject *object, PyObject *ignored) {
  NgramObject *self = (NgramObject *)object;
  (void)ignored;
  if (enter(self)) return NULL;
  sampler_status status;
  Py_BEGIN_ALLOW_THREADS status = self->ngram.reset(self->ngram.user);
  Py_END_ALLOW_THREADS return leave(self, status, Py_NewRef(Py_None));
}

/* ---- Of a storage --------------------------------------------------------------------------- */

static PyTypeObject *stats_type;

static PyObject *stats(PyObject *object, PyObject *ignored) {
  NgramObject *self = (NgramObject *)object;
  sampler_ngram_storage_stats s = {.struct_size = sizeof s};
  (void)ignored;
  if (enter(self)) return NULL;
  const sampler_status status = sampler_ngram_storage_get_stats(self->handle, &s);
  const int64_t values[] = {s.num_contexts, s.num_updates, s.num_dropped, s.memory_bytes};
  PyObject *result = PyStructSequence_New(stats_type);
  for (int i = 0; result && i < 4; ++i) {
    PyObject *value = PyLong_FromLongLong(values[i]);
    if (!value) Py_CLEAR(result);
    if (result) PyStructSequence_SetItem(result, i, value);
  }
  return leave(self, status, result);
}

static PyObject *serialize(PyObject *object, PyObject *ignored) {
  NgramObject *self = (NgramObject *)object;
  PyObject *result = NULL;
  size_t bytes = 0;
  (void)ignored;
  if (enter(self)) return NULL;
  sampler_status status = sampler_ngram_storage_serialize(self->handle, NULL, 0, &bytes);
  if (status == SAMPLER_OK) {
    result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    char *buffer = result ? PyBytes_AsString(result) : NULL;
    if (buffer) {
      Py_BEGIN_ALLOW_THREADS status =
          sampler_ngram_storage_serialize(self->handle, buffer, bytes, &bytes);
      Py_END_ALLOW_THREADS
    }
  }
  return leave(self, status, result);
}

static PyObject *deserialize(PyObject *object, PyObject *data) {
  NgramObject *self = (NgramObject *)object;
  Py_buffer view;
  if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)) return NULL;
  PyObject *result = NULL;
  if (enter(self) == 0) {
    sampler_status status;
    Py_BEGIN_ALLOW_THREADS status =
        sampler_ngram_storage_deserialize(self->handle, view.buf, (size_t)view.len);
    Py_END_ALLOW_THREADS result = leave(self, status, Py_NewRef(Py_None));
  }
  PyBuffer_Release(&view);
  return result;
}

/* ---- Of a lookup ---------------------------------------------------------------------------- */

static PyObject *propose_next(PyObject *object, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"num_drafts", "out_token_ids", NULL};
  NgramObject *self = (NgramObject *)object;
  PyObject *number, *out = Py_None, *result = NULL, *array = NULL;
  int64_t num_drafts = 0, found = 0;
  Ids drafts;
  Call call;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O|O:propose_next", names, &number, &out) ||
      to_i64("num_drafts", number, &num_drafts) || check_num_drafts(num_drafts)) {
    return NULL;
  }
  call_begin(&call, NULL, "propose_next");
  array = drafts_array(out, num_drafts);
  if (array && take(&call, "out_token_ids", array, 1, &drafts) == 0) {
    if (drafts.count < num_drafts) {
      call_break(&call, "out_token_ids has %lld elements; it needs %lld", (long long)drafts.count,
                 (long long)num_drafts);
    }
    if (call_check(&call) == 0 && enter(self) == 0) {
      sampler_status status;
      Py_BEGIN_ALLOW_THREADS status =
          sampler_prompt_lookup_propose(self->handle, num_drafts, (int32_t *)drafts.ids, &found);
      Py_END_ALLOW_THREADS result = leave(self, status, drafts_result(out, array, found));
    }
  }
  call_end(&call);
  Py_XDECREF(array);
  return result;
}

/* ---- Types ---------------------------------------------------------------------------------- */

static PyObject *get_closed(PyObject *self, void *closure) {
  (void)closure;
  return PyBool_FromLong(!((NgramObject *)self)->handle);
}

static PyObject *enter_method(PyObject *self, PyObject *ignored) {
  (void)ignored;
  return Py_NewRef(self);
}

static PyObject *exit_method(PyObject *self, PyObject *ignored) {
  (void)ignored;
  return close_ngram(self, NULL);
}

#define KEYWORDS(name) (PyCFunction)(void (*)(void)) name, METH_VARARGS | METH_KEYWORDS
#define NGRAM_METHODS                                                                              \
  {"next_token", KEYWORDS(next_token),                                                             \
   "next_token($self, context, seed, offset)\n--\n\nThe likeliest token to follow the end of the " \
   "context, "                                                                                     \
   "and whether anything is known there: if not, the token is drawn uniformly from seed and "      \
   "offset. Contexts are int32, the latest token last."},                                          \
      {"has_gram", has_gram, METH_O,                                                               \
       "has_gram($self, context, /)\n--\n\nWhether a token is known to follow exactly this "       \
       "context."},                                                                                \
      {"update", KEYWORDS(update),                                                                 \
       "update($self, context, next_token_ids)\n--\n\nCounts each of the next tokens once, in "    \
       "their order, as "                                                                          \
       "following the end of the context. A PromptLookup appends what the context has beyond its " \
       "text instead."},                                                                           \
      {"initialize", initialize, METH_O,                                                           \
       "initialize($self, token_ids, /)\n--\n\nLearns a text. What was known stays."},             \
      {"propose", KEYWORDS(propose),                                                               \
       "propose($self, context, num_drafts, least_count=0, least_share=0.0, "                      \
       "out_token_ids=None)\n--\n\nUp to "                                                         \
       "num_drafts tokens, each the likeliest after the context and the tokens before it, up to "  \
       "the "                                                                                      \
       "first that is unknown, counted fewer than least_count times there, or of a share below "   \
       "least_share. Returns them as an array, or with out_token_ids their number."},              \
      {"reset", reset, METH_NOARGS, "reset($self)\n--\n\nForgets all."},                           \
      {"close", close_ngram, METH_NOARGS,                                                          \
       "close($self)\n--\n\nReleases the memory. An error while a session uses it."},              \
      {"__enter__", enter_method, METH_NOARGS, NULL},                                              \
      {"__exit__", exit_method, METH_VARARGS, NULL}, {                                             \
    "__reduce__", refuse_pickle, METH_NOARGS, NULL                                                 \
  }

static PyMethodDef storage_methods[] = {
    NGRAM_METHODS,
    {"stats", stats, METH_NOARGS, "stats($self)\n--\n\nThe storage's numbers."},
    {"serialize", serialize, METH_NOARGS,
     "serialize($self)\n--\n\nThe contents as bytes, the same on every machine."},
    {"deserialize", deserialize, METH_O,
     "deserialize($self, data, /)\n--\n\nReplaces the contents by serialised ones; on failure they "
     "are as "
     "before. Errors: InvalidArgument, CorruptData, OutOfMemory."},
    {NULL, NULL, 0, NULL}};

static PyMethodDef lookup_methods[] = {
    NGRAM_METHODS,
    {"append", append, METH_O,
     "append($self, token_ids, /)\n--\n\nAppends tokens to the text: all or, where they are more "
     "than there "
     "is room for (InvalidArgument), none."},
    {"propose_next", KEYWORDS(propose_next),
     "propose_next($self, num_drafts, out_token_ids=None)\n--\n\nUp to num_drafts tokens that "
     "followed the match "
     "of the text's end, as an array, or with out_token_ids their number."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef attributes[] = {{"closed", get_closed, NULL, "Whether it was closed.", NULL},
                                   {NULL, NULL, NULL, NULL, NULL}};

static PyTypeObject *make_type(PyObject *module, const char *name, const char *doc, newfunc make,
                               PyMethodDef *methods) {
  PyType_Slot slots[] = {
      {Py_tp_doc, (void *)doc}, {Py_tp_new, (void *)make},  {Py_tp_dealloc, (void *)ngram_dealloc},
      {Py_tp_methods, methods}, {Py_tp_getset, attributes}, {0, NULL}};
  PyType_Spec spec = {name, sizeof(NgramObject), 0, Py_TPFLAGS_DEFAULT, slots};
  PyObject *type = PyType_FromSpec(&spec);
  if (type && PyModule_AddObjectRef(module, strrchr(name, '.') + 1, type)) return NULL;
  return (PyTypeObject *)type;
}

int add_ngram_types(PyObject *module) {
  static PyStructSequence_Field fields[] = {
      {"num_contexts", "contexts that a token followed, of all lengths kept"},
      {"num_updates", "next tokens learned, dropped or not"},
      {"num_dropped", "n-grams that were not counted for want of room"},
      {"memory_bytes", "what the storage takes now"},
      {NULL, NULL}};
  static PyStructSequence_Desc desc = {"libsampler.NgramStats", "Numbers of an NgramStorage.",
                                       fields, 4};
  stats_type = PyStructSequence_NewType(&desc);
  if (!stats_type || PyModule_AddObjectRef(module, "NgramStats", (PyObject *)stats_type) ||
      prepare_struct(module, &ngram_storage_options_struct, NULL) ||
      prepare_struct(module, &prompt_lookup_options_struct, NULL)) {
    return -1;
  }
  storage_type = make_type(
      module, "libsampler.NgramStorage",
      "NgramStorage(*, vocabulary_size, kind=0, order=3, memory_limit=0, allocator=None)\n\n"
      "Counts which token followed which context, over any number of texts. One call at a time.",
      storage_new, storage_methods);
  lookup_type = make_type(
      module, "libsampler.PromptLookup",
      "PromptLookup(*, max_tokens, vocabulary_size, min_match=1, max_match=0, allocator=None)\n\n"
      "One growing text. It tells what followed the longest earlier occurrence of the text's end.",
      lookup_new, lookup_methods);
  return storage_type && lookup_type ? 0 : -1;
}
