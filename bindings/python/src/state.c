/* The class State: what is remembered of sequences. */
#include <string.h>

#include "core.h"
#include "generated.h"

PyTypeObject *state_type;

PyObject *refuse_pickle(PyObject *self, PyObject *ignored);

/* ---- Making one ----------------------------------------------------------------------------- */

static void destroy(Child *child) {
  sampler_state_destroy(child->handle);
}

/* Keywords of a constructor. */
static int parse_keywords(Fields *fields, PyObject *keywords) {
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (keywords && PyDict_Next(keywords, &position, &name, &value)) {
    const int index = struct_find(fields->of, name);
    if (index < 0) {
      PyErr_Format(PyExc_TypeError, "State() has no argument %R", name);
      return -1;
    }
    if (fields_set(fields, index, value)) return -1;
  }
  return 0;
}

static PyObject *state_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  PyObject *sampler, *objects[1], *result = NULL;
  sampler_state_options options;
  Fields fields;
  fields_init(&fields, &state_options_struct, &options, objects);
  if (!PyArg_ParseTuple(arguments, "O!:State", sampler_type, &sampler) ||
      parse_keywords(&fields, keywords) || sampler_enter((SamplerObject *)sampler)) {
    return NULL;
  }
  sampler_state_t handle = NULL;
  sampler_status status;
  Py_BEGIN_ALLOW_THREADS status =
      sampler_state_create(((SamplerObject *)sampler)->handle, &options, &handle);
  Py_END_ALLOW_THREADS sampler_leave((SamplerObject *)sampler);
  if (status != SAMPLER_OK) return raise_status(status);
  StateObject *self = (StateObject *)PyType_GenericAlloc(type, 0);
  if (!self) {
    sampler_state_destroy(handle);
    return NULL;
  }
  self->child.handle = handle;
  self->child.destroy = destroy;
  self->num_slots = options.num_slots;
  child_adopt(&self->child, (SamplerObject *)sampler);
  result = (PyObject *)self;
  return result;
}

PyObject *sampler_state_size_of(PyObject *self, PyObject *arguments, PyObject *keywords) {
  PyObject *objects[1];
  sampler_state_options options;
  Fields fields;
  size_t bytes;
  fields_init(&fields, &state_options_struct, &options, objects);
  if (!PyArg_ParseTuple(arguments, ":state_size") || parse_keywords(&fields, keywords) ||
      sampler_enter((SamplerObject *)self)) {
    return NULL;
  }
  const sampler_status status =
      sampler_state_size(((SamplerObject *)self)->handle, &options, &bytes);
  sampler_leave((SamplerObject *)self);
  return status == SAMPLER_OK ? PyLong_FromSize_t(bytes) : raise_status(status);
}

/* ---- Calls ---------------------------------------------------------------------------------- */

typedef enum { APPEND, ACCEPT, TRUNCATE, COPY, RESET, READ } Action;

typedef union StateArgs {
  sampler_state_append_args append;
  sampler_accept_args accept;
  sampler_state_truncate_args truncate;
  sampler_state_copy_args copy;
  sampler_state_reset_args reset;
  sampler_state_read_args read;
} StateArgs;

static sampler_status make(Action action, sampler_t s, const StateArgs *args) {
  switch (action) {
    case APPEND:
      return sampler_state_append(s, &args->append);
    case ACCEPT:
      return sampler_accept(s, &args->accept);
    case TRUNCATE:
      return sampler_state_truncate(s, &args->truncate);
    case COPY:
      return sampler_state_copy(s, &args->copy);
    case RESET:
      return sampler_state_reset(s, &args->reset);
    default:
      return sampler_state_read(s, &args->read);
  }
}

/* The number of rows that is given, or that of the array that has one for each. */
static void count_rows(Call *call, const Fields *f, int num_rows_index, int rows_index) {
  if (!fields_given(f, num_rows_index)) {
    *FIELD(f, int64_t, num_rows_index) = length_of(call, OBJECT(f, rows_index));
  }
}

static void begin_ids(Call *call, const Fields *f, int index) {
  const int32_t type = *FIELD(f, int32_t, index);
  if (fields_given(f, index) && (type == SAMPLER_ID_I32 || type == SAMPLER_ID_I64)) {
    call->id_element = type == SAMPLER_ID_I64 ? ELEMENT_I64 : ELEMENT_I32;
    strcpy(call->id_label, "token_id_type");
  }
}

static void end_ids(const Call *call, const Fields *f, int index) {
  if (!fields_given(f, index)) {
    *FIELD(f, int32_t, index) = call->id_element == ELEMENT_I64 ? SAMPLER_ID_I64 : SAMPLER_ID_I32;
  }
}

static int take_append(Call *call, Fields *f, sampler_state_append_args *a) {
  PyObject *tokens = OBJECT(f, state_append_args__tokens);
  begin_ids(call, f, state_append_args__token_id_type);
  if (take_lists(call, "tokens.", tokens, &a->tokens)) return -1;
  count_rows(call, f, state_append_args__num_rows, state_append_args__slots);
  if (!fields_given(f, state_append_args__num_rows) && !OBJECT(f, state_append_args__slots)) {
    a->num_rows = a->tokens.num_lists;
  }
  end_ids(call, f, state_append_args__token_id_type);
  return take_array(call, f, "", state_append_args__slots, a->num_rows, PLACE_DEVICE) ||
         take_output(call, f, "", state_append_args__out_lengths, 1, 1, a->num_rows, 1) ||
         take_output(call, f, "", state_append_args__out_row_status, 0, 1, a->num_rows, 1) ||
         take_exec(call, f, state_append_args__stream, &a->exec);
}

/* [num_rows, num_tokens] of an array of ids: the second number is 1 where it has one dimension. */
static int tokens_of_shape(Call *call, const Fields *f, sampler_accept_args *a) {
  PyObject *object = OBJECT(f, accept_args__token_ids);
  const int has_tokens = fields_given(f, accept_args__num_tokens);
  Array array;
  if (!has_tokens) a->num_tokens = 1;
  if (!object) return 0;
  if (call_hold(call, "", "token_ids", object, &array)) return -1;
  call->like = object;
  if (!has_tokens && array.ndim > 1) a->num_tokens = columns_of(&array);
  if (!fields_given(f, accept_args__num_rows) && !OBJECT(f, accept_args__slots)) {
    a->num_rows = a->num_tokens > 0 ? array.count / a->num_tokens : 0;
  }
  return 0;
}

static int take_accept(Call *call, Fields *f, sampler_accept_args *a, int64_t num_slots) {
  count_rows(call, f, accept_args__num_rows, accept_args__slots);
  if (tokens_of_shape(call, f, a)) return -1;
  const int64_t tokens = product(a->num_rows, a->num_tokens);
  const int64_t cols = a->num_tokens == 1 ? ONE_DIMENSION : a->num_tokens;
  begin_ids(call, f, accept_args__token_id_type);
  if (take_array(call, f, "", accept_args__slots, a->num_rows, PLACE_DEVICE) ||
      take_ids(call, f, "", accept_args__token_ids, tokens, cols) ||
      take_matrix(call, f, "", accept_args__observations, tokens, cols, PLACE_DEVICE) ||
      take_params(call, f, accept_args__params, &call->params, &a->params) ||
      take_row_params(call, f, accept_args__row_params, num_slots, &call->row_params,
                      &a->row_params) ||
      take_inout(call, f, "", accept_args__offsets, num_slots) ||
      take_output(call, f, "", accept_args__out_lengths, 1, 1, a->num_rows, 1) ||
      take_output(call, f, "", accept_args__out_row_status, 0, 1, a->num_rows, 1)) {
    return -1;
  }
  end_ids(call, f, accept_args__token_id_type);
  return take_exec(call, f, accept_args__stream, &a->exec);
}

static int take_truncate(Call *call, Fields *f, sampler_state_truncate_args *a) {
  count_rows(call, f, state_truncate_args__num_rows, state_truncate_args__lengths);
  return take_array(call, f, "", state_truncate_args__slots, a->num_rows, PLACE_DEVICE) ||
         take_array(call, f, "", state_truncate_args__lengths, a->num_rows, PLACE_DEVICE) ||
         take_output(call, f, "", state_truncate_args__out_row_status, 0, 1, a->num_rows, 1) ||
         take_exec(call, f, state_truncate_args__stream, &a->exec);
}

/* Another state of the same sampler, to which slots are copied; the own one where none is given. */
static int take_destination(Call *call, const Fields *f, Child *own, sampler_state_t *out) {
  PyObject *object = OBJECT(f, state_copy_args__destination);
  *out = own->handle;
  if (!object) return 0;
  if (Py_TYPE(object) != state_type) {
    PyErr_SetString(PyExc_TypeError, "destination must be a libsampler.State");
    return -1;
  }
  Child *other = (Child *)object;
  if (!other->handle) {
    raise_closed("destination");
    return -1;
  }
  if (other->sampler != own->sampler) {
    call_break(call, "destination is of another sampler; it must be of the source's");
  }
  *out = other->handle;
  return 0;
}

static int take_copy(Call *call, Fields *f, sampler_state_copy_args *a, Child *own) {
  count_rows(call, f, state_copy_args__num_rows, state_copy_args__source_slots);
  a->source = own->handle;
  return take_destination(call, f, own, &a->destination) ||
         take_array(call, f, "", state_copy_args__source_slots, a->num_rows, PLACE_DEVICE) ||
         take_array(call, f, "", state_copy_args__destination_slots, a->num_rows, PLACE_DEVICE) ||
         take_output(call, f, "", state_copy_args__out_row_status, 0, 1, a->num_rows, 1) ||
         take_exec(call, f, state_copy_args__stream, &a->exec);
}

static int take_reset(Call *call, Fields *f, sampler_state_reset_args *a) {
  count_rows(call, f, state_reset_args__num_rows, state_reset_args__slots);
  return take_array(call, f, "", state_reset_args__slots, a->num_rows, PLACE_DEVICE) ||
         take_matrix(call, f, "", state_reset_args__adaptive_values,
                     product(a->num_rows, SAMPLER_NUM_ADAPTIVE_VALUES), SAMPLER_NUM_ADAPTIVE_VALUES,
                     PLACE_DEVICE) ||
         take_output(call, f, "", state_reset_args__out_row_status, 0, 1, a->num_rows, 1) ||
         take_exec(call, f, state_reset_args__stream, &a->exec);
}

static int take_read(Call *call, Fields *f, sampler_state_read_args *a, int64_t num_slots) {
  count_rows(call, f, state_read_args__num_rows, state_read_args__slots);
  if (!fields_given(f, state_read_args__num_rows) && !OBJECT(f, state_read_args__slots)) {
    a->num_rows = num_slots;
  }
  find_number(call, f, "", state_read_args__num_tokens, state_read_args__out_token_ids,
              state_read_args__out_token_ids, a->num_rows);
  begin_ids(call, f, state_read_args__token_id_type);
  if (take_array(call, f, "", state_read_args__slots, a->num_rows, PLACE_DEVICE) ||
      take_output(call, f, "", state_read_args__out_token_ids, a->num_tokens > 0, 2, a->num_rows,
                  a->num_tokens) ||
      take_output(call, f, "", state_read_args__out_lengths, 1, 1, a->num_rows, 1) ||
      take_output(call, f, "", state_read_args__out_prompt_lengths, 0, 1, a->num_rows, 1) ||
      take_output(call, f, "", state_read_args__out_adaptive_values, 0, 2, a->num_rows,
                  SAMPLER_NUM_ADAPTIVE_VALUES) ||
      take_output(call, f, "", state_read_args__out_row_status, 0, 1, a->num_rows, 1)) {
    return -1;
  }
  end_ids(call, f, state_read_args__token_id_type);
  return take_exec(call, f, state_read_args__stream, &a->exec);
}

static int take_all(Call *call, Fields *f, Action action, StateArgs *args, StateObject *self) {
  Child *own = &self->child;
  switch (action) {
    case APPEND:
      args->append.state = own->handle;
      return take_append(call, f, &args->append);
    case ACCEPT:
      args->accept.state = own->handle;
      return take_accept(call, f, &args->accept, self->num_slots);
    case TRUNCATE:
      args->truncate.state = own->handle;
      return take_truncate(call, f, &args->truncate);
    case COPY:
      return take_copy(call, f, &args->copy, own);
    case RESET:
      args->reset.state = own->handle;
      return take_reset(call, f, &args->reset);
    default:
      args->read.state = own->handle;
      return take_read(call, f, &args->read, self->num_slots);
  }
}

static int begin(Call *call, StateObject *self, const char *function) {
  if (!self->child.handle) {
    raise_closed("state");
    return -1;
  }
  return call_begin(call, self->child.sampler, function);
}

static PyObject *run(PyObject *object, const char *function, Action action, const Struct *of,
                     int stream_index, PyObject *const *arguments, Py_ssize_t count,
                     PyObject *names) {
  StateObject *self = (StateObject *)object;
  PyObject *objects[MAX_OBJECTS], *result = NULL;
  StateArgs args;
  Fields fields;
  Call call;
  fields_init(&fields, of, &args, objects);
  if (begin(&call, self, function)) return NULL;
  if (fields_parse(&fields, function, NULL, 0, arguments, count, names)) goto end;
  call.stream = *FIELD(&fields, sampler_stream, stream_index);
  call.has_stream = fields_given(&fields, stream_index);
  if (take_all(&call, &fields, action, &args, self) || call_check(&call) ||
      allocate_outputs(&call)) {
    goto end;
  }
  sampler_status status;
  Py_BEGIN_ALLOW_THREADS status = make(action, call.sampler->handle, &args);
  Py_END_ALLOW_THREADS result =
      status == SAMPLER_OK ? call_results(&call, of) : raise_status(status);
end:
  call_end(&call);
  return result;
}

#define METHOD(name, action, struct_name)                                                     \
  static PyObject *state_##name(PyObject *self, PyObject *const *arguments, Py_ssize_t count, \
                                PyObject *names) {                                            \
    return run(self, #name, action, &struct_name##_struct, struct_name##__stream, arguments,  \
               count, names);                                                                 \
  }

METHOD(append, APPEND, state_append_args)
METHOD(accept, ACCEPT, accept_args)
METHOD(truncate, TRUNCATE, state_truncate_args)
METHOD(copy, COPY, state_copy_args)
METHOD(reset, RESET, state_reset_args)
METHOD(read, READ, state_read_args)

/* ---- Bytes ---------------------------------------------------------------------------------- */

static PyObject *serialize(PyObject *object, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"first_slot", "num_slots", NULL};
  StateObject *self = (StateObject *)object;
  PyObject *first = NULL, *number = NULL, *result = NULL;
  int64_t first_slot = 0, num_slots = self->num_slots;
  size_t bytes = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|OO:serialize", names, &first, &number) ||
      (unless_none(first) && to_i64("first_slot", first, &first_slot)) ||
      (unless_none(number) && to_i64("num_slots", number, &num_slots))) {
    return NULL;
  }
  if (!unless_none(number) && first_slot >= 0 && first_slot < num_slots) num_slots -= first_slot;
  if (!self->child.handle) return raise_closed("state");
  if (sampler_enter(self->child.sampler)) return NULL;
  const sampler_t sampler = self->child.sampler->handle;
  sampler_status status =
      sampler_state_serialize(sampler, self->child.handle, first_slot, num_slots, NULL, 0, &bytes);
  if (status == SAMPLER_OK) {
    result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    char *buffer = result ? PyBytes_AsString(result) : NULL;
    if (buffer) {
      Py_BEGIN_ALLOW_THREADS status = sampler_state_serialize(
          sampler, self->child.handle, first_slot, num_slots, buffer, bytes, &bytes);
      Py_END_ALLOW_THREADS
    }
  }
  sampler_leave(self->child.sampler);
  if (status != SAMPLER_OK) {
    Py_XDECREF(result);
    return raise_status(status);
  }
  return result;
}

static PyObject *deserialize(PyObject *object, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"data", "first_slot", NULL};
  StateObject *self = (StateObject *)object;
  PyObject *first = NULL;
  int64_t first_slot = 0, num_slots = 0;
  Py_buffer data;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "y*|O:deserialize", names, &data, &first)) {
    return NULL;
  }
  PyObject *result = NULL;
  if (unless_none(first) && to_i64("first_slot", first, &first_slot)) goto end;
  if (!self->child.handle) {
    raise_closed("state");
    goto end;
  }
  if (sampler_enter(self->child.sampler)) goto end;
  sampler_status status;
  Py_BEGIN_ALLOW_THREADS status =
      sampler_state_deserialize(self->child.sampler->handle, self->child.handle, first_slot,
                                data.buf, (size_t)data.len, &num_slots);
  Py_END_ALLOW_THREADS sampler_leave(self->child.sampler);
  result = status == SAMPLER_OK ? PyLong_FromLongLong(num_slots) : raise_status(status);
end:
  PyBuffer_Release(&data);
  return result;
}

/* ---- The type ------------------------------------------------------------------------------- */

PyObject *child_close_method(PyObject *object, PyObject *ignored) {
  Child *self = (Child *)object;
  (void)ignored;
  if (self->handle) {
    SamplerObject *sampler = self->sampler;
    if (sampler_enter(sampler)) return NULL;
    child_close(self);
    sampler_leave(sampler);
  }
  return Py_NewRef(Py_None);
}

PyObject *child_enter_method(PyObject *self, PyObject *ignored) {
  (void)ignored;
  return Py_NewRef(self);
}

PyObject *child_exit_method(PyObject *self, PyObject *ignored) {
  (void)ignored;
  return child_close_method(self, NULL);
}

PyObject *child_get_closed(PyObject *self, void *closure) {
  (void)closure;
  return PyBool_FromLong(!((Child *)self)->handle);
}

PyObject *child_get_sampler(PyObject *self, void *closure) {
  (void)closure;
  return Py_NewRef((PyObject *)((Child *)self)->sampler);
}

static PyObject *get_num_slots(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromLongLong(((StateObject *)self)->num_slots);
}

static void state_dealloc(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  Child *self = (Child *)object;
  PyObject_GC_UnTrack(object);
  if (self->sampler) child_close(self);
  Py_CLEAR(self->sampler);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF((PyObject *)type);
}

static int state_traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT((PyObject *)Py_TYPE(object));
  Py_VISIT((PyObject *)((Child *)object)->sampler);
  return 0;
}

#define CALL(name)                                                                   \
  {                                                                                  \
#name, (PyCFunction)(void (*)(void))state_##name, METH_FASTCALL | METH_KEYWORDS, \
        state_##name##_doc                                                           \
  }

static PyMethodDef methods[] = {
    CALL(append),
    CALL(accept),
    CALL(truncate),
    CALL(copy),
    CALL(reset),
    CALL(read),
    {"serialize", (PyCFunction)(void (*)(void))serialize, METH_VARARGS | METH_KEYWORDS,
     "serialize($self, first_slot=0, num_slots=None)\n--\n\nThe sequences of these slots as bytes, "
     "the same on "
     "every machine. By default all from first_slot on."},
    {"deserialize", (PyCFunction)(void (*)(void))deserialize, METH_VARARGS | METH_KEYWORDS,
     "deserialize($self, data, first_slot=0)\n--\n\nPuts serialised sequences into the slots from "
     "first_slot on, "
     "and returns how many slots that were. On failure all are as before. Errors: InvalidArgument, "
     "CorruptData."},
    {"close", child_close_method, METH_NOARGS, "close($self)\n--\n\nReleases the state's memory."},
    {"__enter__", child_enter_method, METH_NOARGS, NULL},
    {"__exit__", child_exit_method, METH_VARARGS, NULL},
    {"__reduce__", refuse_pickle, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef attributes[] = {
    {"closed", child_get_closed, NULL, "Whether it, or its sampler, was closed.", NULL},
    {"sampler", child_get_sampler, NULL, "Whose state it is.", NULL},
    {"num_slots", get_num_slots, NULL, "How many sequences there is room for.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static const char doc[] =
    "State(sampler, *, num_slots, max_tokens, max_distinct_tokens=0, "
    "keep_adaptive_values=False)\n\n"
    "What is remembered of sequences, a slot for each: their tokens, where the prompt ends, how "
    "often\n"
    "each token has occurred, and the values of adaptive stages. Pipeline.state gives it to a "
    "draw;\n"
    "what was drawn enters by accept only. It is released by close, by that of the sampler, or "
    "when\n"
    "nothing refers to it any more.";

int add_state_type(PyObject *module) {
  static PyType_Slot slots[] = {{Py_tp_doc, (void *)doc},
                                {Py_tp_new, (void *)state_new},
                                {Py_tp_dealloc, (void *)state_dealloc},
                                {Py_tp_traverse, (void *)state_traverse},
                                {Py_tp_methods, methods},
                                {Py_tp_getset, attributes},
                                {0, NULL}};
  static PyType_Spec spec = {"libsampler.State", sizeof(StateObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  if (prepare_struct(module, &state_options_struct, NULL) ||
      prepare_struct(module, &state_append_args_struct, "libsampler.StateAppendResult") ||
      prepare_struct(module, &accept_args_struct, "libsampler.AcceptResult") ||
      prepare_struct(module, &state_truncate_args_struct, "libsampler.StateTruncateResult") ||
      prepare_struct(module, &state_copy_args_struct, "libsampler.StateCopyResult") ||
      prepare_struct(module, &state_reset_args_struct, "libsampler.StateResetResult") ||
      prepare_struct(module, &state_read_args_struct, "libsampler.StateReadResult")) {
    return -1;
  }
  state_type = (PyTypeObject *)PyType_FromSpec(&spec);
  if (!state_type) return -1;
  return PyModule_AddObjectRef(module, "State", (PyObject *)state_type);
}
