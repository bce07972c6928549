/* The class Sampler: creating and closing a handle, and who may use it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "core.h"
#include "generated.h"

PyTypeObject *sampler_type;

/* ---- One call at a time --------------------------------------------------------------------- */

int sampler_enter(SamplerObject *sampler) {
  if (!sampler->handle) {
    raise_closed("sampler");
    return -1;
  }
  if (sampler->busy == process_number) {
    PyErr_SetString(error_of(SAMPLER_ERROR_INVALID_ARGUMENT),
                    "sampler is serving another call; it serves one at a time");
    return -1;
  }
  sampler->busy = process_number;
  return 0;
}

void sampler_leave(SamplerObject *sampler) {
  sampler->busy = 0;
}

/* ---- States and sessions -------------------------------------------------------------------- */

void child_adopt(Child *child, SamplerObject *sampler) {
  child->sampler = (SamplerObject *)Py_NewRef((PyObject *)sampler);
  child->previous = NULL;
  child->next = sampler->children;
  if (sampler->children) sampler->children->previous = child;
  sampler->children = child;
}

void child_close(Child *child) {
  if (!child->handle) return;
  child->destroy(child);
  child->handle = NULL;
  if (child->previous) {
    child->previous->next = child->next;
  } else {
    child->sampler->children = child->next;
  }
  if (child->next) child->next->previous = child->previous;
}

/* ---- Creating ------------------------------------------------------------------------------- */

static int parse_device(PyObject *device, sampler_options *options) {
  PyObject *text = PyObject_Str(device);
  const char *name = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
  int status = -1;
  if (name) {
    char *end = NULL;
    const int is_cuda = strncmp(name, "cuda", 4) == 0;
    const long id = is_cuda && name[4] == ':' ? strtol(name + 5, &end, 10) : 0;
    if (strcmp(name, "cpu") == 0) {
      status = 0;
    } else if (is_cuda && (!name[4] || (end && end != name + 5 && !*end)) && id == (int32_t)id) {
      options->device_type = SAMPLER_DEVICE_CUDA;
      options->device_id = (int32_t)id;
      status = 0;
    } else {
      PyErr_Format(error_of(SAMPLER_ERROR_INVALID_ARGUMENT),
                   "device is %R; it must be \"cpu\", \"cuda\" or \"cuda:0\"", text);
    }
  }
  Py_XDECREF(text);
  return status;
}

/* Hands a line to the callable `user`, on any thread. */
static void pass_line(void *user, sampler_log_level level, const char *message) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *result = PyObject_CallFunction((PyObject *)user, "is", (int)level, message);
  if (!result) PyErr_WriteUnraisable((PyObject *)user);
  Py_XDECREF(result);
  PyGILState_Release(state);
}

static int parse_allocator(PyObject *object, sampler_allocator *out) {
  uint64_t addresses[3];
  static const char *const labels[] = {"allocator[0]", "allocator[1]", "allocator[2]"};
  if (object == Py_None) return 0;
  if (!PyTuple_Check(object) || PyTuple_Size(object) != 3) {
    PyErr_SetString(PyExc_TypeError,
                    "allocator must be (allocate, deallocate, user), addresses of C functions");
    return -1;
  }
  for (int i = 0; i < 3; ++i) {
    if (to_u64(labels[i], PyTuple_GetItem(object, i), &addresses[i])) return -1;
  }
  memcpy(&out->allocate, &addresses[0], sizeof out->allocate);
  memcpy(&out->deallocate, &addresses[1], sizeof out->deallocate);
  memcpy(&out->user, &addresses[2], sizeof out->user);
  return 0;
}

int allocator_of(PyObject *object, sampler_allocator *out) {
  return object ? parse_allocator(object, out) : 0;
}

/* Numbers of the options that are not NULL. */
static int parse_options(sampler_options *options, PyObject *threads, PyObject *max_rows,
                         PyObject *max_cols, PyObject *fallback, PyObject *parallel_for,
                         PyObject *parallel_for_user) {
  uint64_t function = 0, user = 0;
  if ((threads && to_i32("threads", threads, &options->num_threads)) ||
      (max_rows && to_i64("max_rows", max_rows, &options->max_rows)) ||
      (max_cols && to_i64("max_cols", max_cols, &options->max_cols)) ||
      (parallel_for && to_u64("parallel_for", parallel_for, &function)) ||
      (parallel_for_user && to_u64("parallel_for_user", parallel_for_user, &user))) {
    return -1;
  }
  memcpy(&options->parallel_for, &function, sizeof function);
  memcpy(&options->parallel_for_user, &user, sizeof user);
  if (fallback != Py_None) {
    if (to_i64("fallback_token_id", fallback, &options->fallback_token_id)) return -1;
    options->use_fallback_token = 1;
  }
  return 0;
}

static PyObject *sampler_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"device",
                          "threads",
                          "max_rows",
                          "max_cols",
                          "fallback_token_id",
                          "host_parameters",
                          "check_pointers",
                          "parallel_for",
                          "parallel_for_user",
                          "allocator",
                          "log",
                          NULL};
  PyObject *device = NULL, *threads = NULL, *max_rows = NULL, *max_cols = NULL;
  PyObject *fallback = Py_None, *parallel_for = NULL, *parallel_for_user = NULL;
  PyObject *allocator = Py_None, *log = Py_None;
  int host_parameters = 0, check_pointers = 0;
  sampler_options options = sampler_options_default();
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O$OOOOppOOOO:Sampler", names, &device,
                                   &threads, &max_rows, &max_cols, &fallback, &host_parameters,
                                   &check_pointers, &parallel_for, &parallel_for_user, &allocator,
                                   &log) ||
      (unless_none(device) && parse_device(device, &options)) ||
      parse_options(&options, unless_none(threads), unless_none(max_rows), unless_none(max_cols),
                    fallback, unless_none(parallel_for), unless_none(parallel_for_user)) ||
      parse_allocator(allocator, &options.allocator)) {
    return NULL;
  }
  options.host_parameters = host_parameters;
  options.check_pointers = check_pointers;
  if (log != Py_None) {
    if (!PyCallable_Check(log)) {
      PyErr_SetString(PyExc_TypeError, "log must be callable, with a level and a line");
      return NULL;
    }
    options.log = pass_line;
    options.log_user = log;
  }
  SamplerObject *self = (SamplerObject *)PyType_GenericAlloc(type, 0);
  if (!self) return NULL;
  self->log = log == Py_None ? NULL : Py_NewRef(log);
  self->device_type = options.device_type;
  self->device_id = options.device_id;
  self->host_parameters = host_parameters;
  self->has_workspace = options.max_rows > 0;
  sampler_status status;
  Py_BEGIN_ALLOW_THREADS status = sampler_create(&options, &self->handle);
  Py_END_ALLOW_THREADS if (status != SAMPLER_OK) {
    raise_status(status);
    Py_DECREF((PyObject *)self);
    return NULL;
  }
  return (PyObject *)self;
}

/* ---- Closing -------------------------------------------------------------------------------- */

static void release(SamplerObject *self) {
  const sampler_t handle = self->handle;
  while (self->children) child_close(self->children);
  self->handle = NULL;
  free(self->workspace);
  self->workspace = NULL;
  self->workspace_bytes = 0;
  Py_BEGIN_ALLOW_THREADS sampler_destroy(handle); /* waits for its threads */
  Py_END_ALLOW_THREADS
}

static PyObject *sampler_close(PyObject *object, PyObject *ignored) {
  SamplerObject *self = (SamplerObject *)object;
  (void)ignored;
  if (self->handle) {
    if (sampler_enter(self)) return NULL;
    release(self);
    sampler_leave(self);
  }
  return Py_NewRef(Py_None);
}

static void sampler_dealloc(PyObject *object) {
  SamplerObject *self = (SamplerObject *)object;
  PyTypeObject *type = Py_TYPE(object);
  PyObject_GC_UnTrack(object);
  if (self->handle) release(self);
  Py_CLEAR(self->log);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF((PyObject *)type);
}

/* There is no tp_clear: the handle may call the log until it is destroyed. */
static int sampler_traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT((PyObject *)Py_TYPE(object));
  Py_VISIT(((SamplerObject *)object)->log);
  return 0;
}

static PyObject *enter(PyObject *self, PyObject *ignored) {
  (void)ignored;
  return Py_NewRef(self);
}

static PyObject *leave(PyObject *self, PyObject *ignored) {
  (void)ignored;
  return sampler_close(self, NULL);
}

PyObject *refuse_pickle(PyObject *self, PyObject *ignored) {
  PyObject *name = PyType_GetName(Py_TYPE(self));
  (void)ignored;
  if (name) PyErr_Format(PyExc_TypeError, "a %U cannot be copied or pickled", name);
  Py_XDECREF(name);
  return NULL;
}

/* ---- Attributes ----------------------------------------------------------------------------- */

static PyObject *get_closed(PyObject *self, void *closure) {
  (void)closure;
  return PyBool_FromLong(!((SamplerObject *)self)->handle);
}

static PyObject *get_device(PyObject *object, void *closure) {
  const SamplerObject *self = (SamplerObject *)object;
  (void)closure;
  if (self->device_type == SAMPLER_DEVICE_CPU) return PyUnicode_FromString("cpu");
  return PyUnicode_FromFormat("cuda:%d", (int)self->device_id);
}

static PyObject *get_kept_workspace(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromSize_t(((SamplerObject *)self)->workspace_bytes);
}

static PyObject *sampler_repr(PyObject *object) {
  PyObject *device = get_device(object, NULL);
  const char *state = ((SamplerObject *)object)->handle ? "" : ", closed";
  PyObject *text = device ? PyUnicode_FromFormat("<Sampler %U%s>", device, state) : NULL;
  Py_XDECREF(device);
  return text;
}

static PyGetSetDef attributes[] = {
    {"closed", get_closed, NULL, "Whether it was closed.", NULL},
    {"device", get_device, NULL, "\"cpu\" or \"cuda:0\".", NULL},
    {"kept_workspace_bytes", get_kept_workspace, NULL,
     "Bytes of workspace that a CPU sampler keeps for calls that need more than its own.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

/* ---- The type ------------------------------------------------------------------------------- */

#define CALL(name, doc) \
  { #name, (PyCFunction)(void (*)(void))call_##name, METH_FASTCALL | METH_KEYWORDS, doc }

PyObject *sampler_state_size_of(PyObject *self, PyObject *arguments, PyObject *keywords);
PyObject *sampler_session_size_of(PyObject *self, PyObject *arguments, PyObject *keywords);

#define INPUT "input is [num_rows, num_cols]. "
#define TOKENS "Returns out_token_ids, int32 [num_rows]; allocated where it is not given."
#define ROWS "Returns output, float32 [num_rows, num_cols]; allocated where it is not given."
#define DRAW "temperature, seed, offset, out_token_ids=None, stream=None)\n--\n\n"

static PyMethodDef methods[] = {
    CALL(argmax,
         "argmax($self, input, out_token_ids=None, stream=None)\n--\n\n"
         "The token of the largest value. " INPUT TOKENS),
    CALL(categorical, "categorical($self, input, " DRAW "Draws from the whole row. " INPUT TOKENS),
    CALL(top_k,
         "top_k($self, input, top_k, " DRAW "Draws from the top_k likeliest tokens. " INPUT TOKENS),
    CALL(top_p, "top_p($self, input, top_p, " DRAW
                "Draws from the likeliest tokens whose probability reaches top_p. " INPUT TOKENS),
    CALL(min_p, "min_p($self, input, min_p, " DRAW
                "Draws from tokens at least min_p times as likely as the likeliest. " INPUT TOKENS),
    CALL(top_k_top_p, "top_k_top_p($self, input, top_k, top_p, " DRAW
                      "Draws after top-k, then top-p of what is left. " INPUT TOKENS),
    CALL(softmax,
         "softmax($self, input, temperature, output=None, stream=None)\n--\n\n"
         "Probabilities of logits at the temperature. " INPUT ROWS),
    CALL(top_k_renorm,
         "top_k_renorm($self, input, top_k, output=None, stream=None)\n--\n\n"
         "Probabilities of the top_k likeliest tokens, 0 elsewhere. " INPUT ROWS),
    CALL(top_p_renorm,
         "top_p_renorm($self, input, top_p, output=None, stream=None)\n--\n\n"
         "Probabilities of the tokens that top-p keeps, 0 elsewhere. " INPUT ROWS),
    CALL(top_k_mask,
         "top_k_mask($self, input, top_k, output=None, stream=None)\n--\n\n"
         "Logits, those that are not kept set to -inf. " INPUT ROWS),
    CALL(top_k_select,
         "top_k_select($self, input, num_selected, out_values=None, "
         "out_token_ids=None, stream=None)\n--\n\n"
         "The first num_selected tokens of each row, largest value first. Returns "
         "(out_values, out_token_ids), [num_rows, num_selected]; False for one that is "
         "not wanted."),
    CALL(chain_speculative,
         "chain_speculative($self, target, draft, draft_token_ids, num_drafts, seed, offset, "
         "out_token_ids=None, out_accepted_counts=None, out_emitted_counts=None, "
         "stream=None)\n--\n\n"
         "Verifies a chain of drafts for each sequence. target is [num_sequences, num_drafts + 1, "
         "num_cols], draft [num_sequences, num_drafts, num_cols] or None, draft_token_ids "
         "[num_sequences, num_drafts]. Returns (out_token_ids, out_accepted_counts, "
         "out_emitted_counts)."),
    CALL(sample, sampler_sample_doc),
    CALL(score, sampler_score_doc),
    CALL(filter, sampler_filter_doc),
    CALL(select, sampler_select_doc),
    CALL(verify, sampler_verify_doc),
    CALL(residual, sampler_residual_doc),
    CALL(unmask, sampler_unmask_doc),
    CALL(sample_workspace_size, sampler_sample_workspace_size_doc),
    CALL(score_workspace_size, sampler_score_workspace_size_doc),
    CALL(filter_workspace_size, sampler_filter_workspace_size_doc),
    CALL(select_workspace_size, sampler_select_workspace_size_doc),
    CALL(verify_workspace_size, sampler_verify_workspace_size_doc),
    CALL(residual_workspace_size, sampler_residual_workspace_size_doc),
    CALL(unmask_workspace_size, sampler_unmask_workspace_size_doc),
    {"state_size", (PyCFunction)(void (*)(void))sampler_state_size_of, METH_VARARGS | METH_KEYWORDS,
     sampler_state_size_doc},
    {"session_size", (PyCFunction)(void (*)(void))sampler_session_size_of,
     METH_VARARGS | METH_KEYWORDS, sampler_session_size_doc},
    {"close", sampler_close, METH_NOARGS,
     "close($self)\n--\n\nReleases the sampler, its states and its sessions. Again: does nothing."},
    {"__enter__", enter, METH_NOARGS, NULL},
    {"__exit__", leave, METH_VARARGS, NULL},
    {"__reduce__", refuse_pickle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static const char doc[] =
    "Sampler(device=\"cpu\", *, threads=0, max_rows=0, max_cols=0, fallback_token_id=None, "
    "host_parameters=False, check_pointers=False, parallel_for=0, parallel_for_user=0, "
    "allocator=None, log=None)\n--\n\n"
    "Serves calls, one at a time; two threads at once are an error. Samplers are independent.\n\n"
    "device: \"cpu\", \"cuda\" or \"cuda:0\". threads: how many rows the CPU works on at once, in\n"
    "[1, 256]. max_rows, max_cols: the workspace that it brings; a CPU sampler without one, or\n"
    "whose is too small, keeps as much as its calls have needed. On CUDA give them, or each call\n"
    "its workspace. fallback_token_id: what a bad row yields in place of -1. log: called with\n"
    "(level, line) of each error. parallel_for, allocator: addresses of C functions.";

int add_sampler_type(PyObject *module) {
  static PyType_Slot slots[] = {{Py_tp_doc, (void *)doc},
                                {Py_tp_new, (void *)sampler_new},
                                {Py_tp_dealloc, (void *)sampler_dealloc},
                                {Py_tp_traverse, (void *)sampler_traverse},
                                {Py_tp_repr, (void *)sampler_repr},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, attributes},
                                {0, NULL}};
  static PyType_Spec spec = {"libsampler.Sampler", sizeof(SamplerObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  if (prepare_struct(module, &sample_args_struct, "libsampler.SampleResult") ||
      prepare_struct(module, &score_args_struct, "libsampler.ScoreResult") ||
      prepare_struct(module, &filter_args_struct, "libsampler.FilterResult") ||
      prepare_struct(module, &select_args_struct, "libsampler.SelectResult") ||
      prepare_struct(module, &verify_args_struct, "libsampler.VerifyResult") ||
      prepare_struct(module, &residual_args_struct, "libsampler.ResidualResult") ||
      prepare_struct(module, &unmask_args_struct, "libsampler.UnmaskResult")) {
    return -1;
  }
  sampler_type = (PyTypeObject *)PyType_FromSpec(&spec);
  if (!sampler_type) return -1;
  return PyModule_AddObjectRef(module, "Sampler", (PyObject *)sampler_type);
}
