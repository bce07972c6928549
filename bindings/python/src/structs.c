/* Params, Rows, Pipeline and the others: objects that hold a struct of C. Numbers are written into
 * it as they are set; arrays are kept, and looked at by each call that gets the object. */
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "generated.h"

static const Struct *const class_structs[] = {
    &rows_struct,          &token_lists_struct,     &params_struct,       &row_params_struct,
    &pipeline_struct,      &report_args_struct,     &draft_layout_struct, &acceptance_params_struct,
    &unmask_params_struct, &watermark_params_struct};
enum { NUM_CLASSES = sizeof class_structs / sizeof *class_structs };

static PyTypeObject *class_types[NUM_CLASSES];

PyTypeObject *struct_type(const Struct *of) {
  for (int i = 0; i < NUM_CLASSES; ++i) {
    if (class_structs[i] == of) return class_types[i];
  }
  return NULL;
}

static const Struct *struct_of(PyTypeObject *type) {
  for (int i = 0; i < NUM_CLASSES; ++i) {
    if (class_types[i] == type) return class_structs[i];
  }
  return NULL;
}

Fields struct_fields(PyObject *object) {
  StructObject *self = (StructObject *)object;
  char *data = (char *)(self + 1);
  return (Fields){self->of, data, (PyObject **)(data + self->of->size), self->given};
}

static void own(StructObject *self, const Fields *fields) {
  self->given = fields->given;
}

static PyObject *struct_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  StructObject *self = (StructObject *)PyType_GenericAlloc(type, 0);
  (void)arguments, (void)keywords;
  if (!self) return NULL;
  self->of = struct_of(type);
  char *data = (char *)(self + 1);
  Fields fields;
  fields_init(&fields, self->of, data, (PyObject **)(data + self->of->size));
  return (PyObject *)self;
}

/* Sets a member and keeps what it holds. */
static int set_member(PyObject *object, int index, PyObject *value) {
  StructObject *self = (StructObject *)object;
  Fields fields = struct_fields(object);
  const Member *member = &self->of->members[index];
  PyObject *old = member->object >= 0 ? fields.objects[member->object] : NULL;
  if (fields_set(&fields, index, value)) return -1;
  own(self, &fields);
  if (member->object >= 0) {
    Py_XINCREF(fields.objects[member->object]);
    Py_XDECREF(old);
  }
  return 0;
}

static int find_or_raise(const Struct *of, PyObject *name) {
  const int index = struct_find(of, name);
  if (index < 0) PyErr_Format(PyExc_TypeError, "%s has no member %R", of->name, name);
  return index;
}

static int set_all(PyObject *self, PyObject *keywords) {
  PyObject *name, *value;
  Py_ssize_t position = 0;
  while (keywords && PyDict_Next(keywords, &position, &name, &value)) {
    const int index = find_or_raise(((StructObject *)self)->of, name);
    if (index < 0 || set_member(self, index, value)) return -1;
  }
  return 0;
}

/* Rows(values), TokenLists(offsets, token_ids); all else by name. */
static int struct_init(PyObject *self, PyObject *arguments, PyObject *keywords) {
  const Struct *of = ((StructObject *)self)->of;
  const Py_ssize_t allowed = of == &rows_struct ? 1 : of == &token_lists_struct ? 2 : 0;
  const Py_ssize_t count = PyTuple_Size(arguments);
  if (count > allowed) {
    PyErr_Format(PyExc_TypeError, "%s() takes %zd arguments without a name; %zd were given",
                 of->name, allowed, count);
    return -1;
  }
  for (int i = 0; i < count; ++i) { /* the first members are these */
    if (set_member(self, i, PyTuple_GetItem(arguments, i))) return -1;
  }
  return set_all(self, keywords);
}

/* ---- Attributes ----------------------------------------------------------------------------- */

static PyObject *tuple_of(const Member *member, const char *place) {
  PyObject *tuple = PyTuple_New(member->length);
  for (int i = 0; tuple && i < member->length; ++i) {
    int32_t number;
    memcpy(&number, place + 4 * (size_t)i, sizeof number);
    PyObject *item = PyLong_FromLong(number);
    if (!item || PyTuple_SetItem(tuple, i, item)) {
      Py_DECREF(tuple);
      return NULL;
    }
  }
  return tuple;
}

/* Types of elements that follow from an array are None until they are given. */
static int is_derived(const Member *member) {
  const size_t length = strlen(member->name);
  return member->kind == KIND_I32 &&
         ((length >= 5 && strcmp(member->name + length - 5, "dtype") == 0) ||
          (length >= 7 && strcmp(member->name + length - 7, "id_type") == 0));
}

static PyObject *get_member(PyObject *self, int index) {
  const Fields fields = struct_fields(self);
  const Member *member = &fields.of->members[index];
  const char *place = fields.data + member->offset;
  if (member->kind == KIND_OBJECT) {
    PyObject *object = fields.objects[member->object];
    return Py_NewRef(object ? object : Py_None);
  }
  if (!fields_given(&fields, index) && is_derived(member)) return Py_NewRef(Py_None);
  switch (member->kind) {
    case KIND_I32:
      return PyLong_FromLong(*(const int32_t *)place);
    case KIND_U32:
      return PyLong_FromUnsignedLong(*(const uint32_t *)place);
    case KIND_I64:
      return PyLong_FromLongLong(*(const int64_t *)place);
    case KIND_F32:
      return PyFloat_FromDouble(*(const float *)place);
    case KIND_F64:
      return PyFloat_FromDouble(*(const double *)place);
    case KIND_I32S:
      return tuple_of(member, place);
    default:
      return PyLong_FromUnsignedLongLong(*(const uint64_t *)place);
  }
}

static PyObject *struct_get(PyObject *self, void *closure) {
  return get_member(self, (int)(intptr_t)closure);
}

static int struct_set(PyObject *self, PyObject *value, void *closure) {
  return set_member(self, (int)(intptr_t)closure, value ? value : Py_None);
}

/* ---- Copies, comparisons, text -------------------------------------------------------------- */

/* The members that were given, by name. */
static PyObject *given_members(PyObject *self) {
  const Fields fields = struct_fields(self);
  PyObject *dict = PyDict_New();
  for (int i = 0; dict && i < fields.of->num_members; ++i) {
    if (!fields_given(&fields, i)) continue;
    PyObject *value = get_member(self, i);
    if (!value || PyDict_SetItem(dict, fields.of->names[i], value)) Py_CLEAR(dict);
    Py_XDECREF(value);
  }
  return dict;
}

static PyObject *struct_copy(PyObject *self, PyObject *ignored) {
  const Fields from = struct_fields(self);
  PyObject *copy = struct_new(Py_TYPE(self), NULL, NULL);
  (void)ignored;
  if (!copy) return NULL;
  Fields to = struct_fields(copy);
  memcpy(to.data, from.data, from.of->size);
  for (int i = 0; i < from.of->num_objects; ++i) {
    to.objects[i] = from.objects[i];
    Py_XINCREF(to.objects[i]);
  }
  ((StructObject *)copy)->given = from.given;
  return copy;
}

static PyObject *struct_replace(PyObject *self, PyObject *arguments, PyObject *keywords) {
  if (PyTuple_Size(arguments)) {
    PyErr_SetString(PyExc_TypeError, "replace() takes members by name");
    return NULL;
  }
  PyObject *copy = struct_copy(self, NULL);
  if (copy && set_all(copy, keywords)) Py_CLEAR(copy);
  return copy;
}

/* Pickled by the members that were given. */
static PyObject *struct_reduce(PyObject *self, PyObject *ignored) {
  PyObject *members = given_members(self);
  (void)ignored;
  if (!members) return NULL;
  return Py_BuildValue("(O()N)", (PyObject *)Py_TYPE(self), members);
}

static PyObject *struct_setstate(PyObject *self, PyObject *members) {
  if (!PyDict_Check(members)) {
    PyErr_SetString(PyExc_TypeError, "the state must be a dict of members");
    return NULL;
  }
  return set_all(self, members) ? NULL : Py_NewRef(Py_None);
}

static PyObject *struct_repr(PyObject *self) {
  const Fields fields = struct_fields(self);
  PyObject *parts = PyList_New(0), *comma = PyUnicode_FromString(", "), *text = NULL;
  for (int i = 0; parts && i < fields.of->num_members; ++i) {
    if (!fields_given(&fields, i)) continue;
    PyObject *value = get_member(self, i);
    PyObject *part = value ? PyUnicode_FromFormat("%U=%R", fields.of->names[i], value) : NULL;
    if (!part || PyList_Append(parts, part)) Py_CLEAR(parts);
    Py_XDECREF(value);
    Py_XDECREF(part);
  }
  PyObject *joined = parts && comma ? PyUnicode_Join(comma, parts) : NULL;
  if (joined) text = PyUnicode_FromFormat("%s(%U)", fields.of->name, joined);
  Py_XDECREF(joined);
  Py_XDECREF(comma);
  Py_XDECREF(parts);
  return text;
}

/* Equal: the same numbers, and the same objects of arrays. */
static PyObject *struct_compare(PyObject *self, PyObject *other, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) || Py_TYPE(self) != Py_TYPE(other)) {
    return Py_NewRef(Py_NotImplemented);
  }
  const Fields a = struct_fields(self), b = struct_fields(other);
  const int is_equal =
      memcmp(a.data, b.data, a.of->size) == 0 &&
      memcmp(a.objects, b.objects, (size_t)a.of->num_objects * sizeof(PyObject *)) == 0;
  return PyBool_FromLong(is_equal == (operation == Py_EQ));
}

/* ---- Types ---------------------------------------------------------------------------------- */

static int struct_traverse(PyObject *self, visitproc visit, void *arg) {
  const Fields fields = struct_fields(self);
  Py_VISIT((PyObject *)Py_TYPE(self));
  for (int i = 0; i < fields.of->num_objects; ++i) Py_VISIT(fields.objects[i]);
  return 0;
}

static int struct_clear(PyObject *self) {
  const Fields fields = struct_fields(self);
  for (int i = 0; i < fields.of->num_objects; ++i) Py_CLEAR(fields.objects[i]);
  return 0;
}

static void struct_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  struct_clear(self);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF((PyObject *)type);
}

static PyObject *params_preset(PyObject *ignored, PyObject *name) {
  const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
  (void)ignored;
  if (!text) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "the name of a preset must be a str");
    return NULL;
  }
  PyObject *params = struct_new(struct_type(&params_struct), NULL, NULL);
  if (!params) return NULL;
  Fields fields = struct_fields(params);
  sampler_params preset;
  const sampler_status status = sampler_params_preset(&preset, sizeof preset, text);
  if (status != SAMPLER_OK) {
    Py_DECREF(params);
    return raise_status(status);
  }
  for (int i = 0; i < params_struct.num_members;
       ++i) { /* what differs from the default was given */
    const Member *member = &params_members[i];
    const size_t size = member->length ? 4 * (size_t)member->length : 4;
    if (memcmp(fields.data + member->offset, (char *)&preset + member->offset, size) != 0) {
      fields.given |= (uint64_t)1 << i;
    }
  }
  memcpy(fields.data, &preset, sizeof preset);
  ((StructObject *)params)->given = fields.given;
  return params;
}

static PyMethodDef struct_methods[] = {
    {"replace", (PyCFunction)(void (*)(void))struct_replace, METH_VARARGS | METH_KEYWORDS,
     "replace(**changes)\n\nA copy with other members."},
    {"__replace__", (PyCFunction)(void (*)(void))struct_replace, METH_VARARGS | METH_KEYWORDS,
     NULL},
    {"__copy__", struct_copy, METH_NOARGS, NULL},
    {"__reduce__", struct_reduce, METH_NOARGS, NULL},
    {"__setstate__", struct_setstate, METH_O, NULL},
    {NULL, NULL, 0, NULL}};

/* The last one ends the list: only Params has presets. */
static PyMethodDef params_methods[] = {
    {"preset", params_preset, METH_O | METH_STATIC,
     "preset(name)\n\nThe stages of an engine in its order, its rules and defaults: \"vllm\", or a "
     "version of it, \"vllm@0.33\". libsampler.preset_names() has all."},
    {"replace", (PyCFunction)(void (*)(void))struct_replace, METH_VARARGS | METH_KEYWORDS,
     "replace(**changes)\n\nA copy with other members."},
    {"__replace__", (PyCFunction)(void (*)(void))struct_replace, METH_VARARGS | METH_KEYWORDS,
     NULL},
    {"__copy__", struct_copy, METH_NOARGS, NULL},
    {"__reduce__", struct_reduce, METH_NOARGS, NULL},
    {"__setstate__", struct_setstate, METH_O, NULL},
    {NULL, NULL, 0, NULL}};

static PyObject *make_type(const Struct *of, const char *name) {
  /* Types keep the attributes. */
  PyGetSetDef *attributes = calloc((size_t)of->num_members + 1, sizeof(PyGetSetDef));
  if (!attributes) return PyErr_NoMemory();
  for (int i = 0; i < of->num_members; ++i) {
    const Member *member = &of->members[i];
    attributes[i] = (PyGetSetDef){member->name, struct_get, struct_set,
                                  *member->doc ? member->doc : NULL, (void *)(intptr_t)i};
  }
  PyType_Slot slots[] = {{Py_tp_doc, (void *)of->doc},
                         {Py_tp_new, (void *)struct_new},
                         {Py_tp_init, (void *)struct_init},
                         {Py_tp_dealloc, (void *)struct_dealloc},
                         {Py_tp_traverse, (void *)struct_traverse},
                         {Py_tp_clear, (void *)struct_clear},
                         {Py_tp_repr, (void *)struct_repr},
                         {Py_tp_richcompare, (void *)struct_compare},
                         {Py_tp_hash, (void *)PyObject_HashNotImplemented},
                         {Py_tp_getset, attributes},
                         {Py_tp_methods, of == &params_struct ? params_methods : struct_methods},
                         {0, NULL}};
  PyType_Spec spec = {
      name, (int)(sizeof(StructObject) + of->size + (size_t)of->num_objects * sizeof(PyObject *)),
      0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};
  return PyType_FromSpec(&spec);
}

int prepare_struct(PyObject *module, const Struct *of, const char *result_name) {
  for (int i = 0; i < of->num_members; ++i) {
    of->names[i] = PyUnicode_InternFromString(of->members[i].name);
    if (!of->names[i]) return -1;
  }
  if (!of->results) return 0;
  PyStructSequence_Field fields[MAX_RESULTS + 1] = {{NULL, NULL}};
  int count = 0;
  for (; of->results[count]; ++count) fields[count].name = of->results[count];
  PyStructSequence_Desc desc = {result_name, "The outputs of a call.", fields, count};
  *of->result_type = PyStructSequence_NewType(&desc);
  if (!*of->result_type) return -1;
  return PyModule_AddObjectRef(module, strrchr(result_name, '.') + 1, (PyObject *)*of->result_type);
}

int add_struct_types(PyObject *module) {
  static const char *const names[NUM_CLASSES] = {
      "libsampler.Rows",           "libsampler.TokenLists",       "libsampler.Params",
      "libsampler.RowParams",      "libsampler.Pipeline",         "libsampler.Reports",
      "libsampler.DraftLayout",    "libsampler.AcceptanceParams", "libsampler.UnmaskParams",
      "libsampler.WatermarkParams"};
  for (int i = 0; i < NUM_CLASSES; ++i) {
    const Struct *of = class_structs[i];
    const char *result = of == &report_args_struct ? "libsampler.ReportResult" : NULL;
    if (prepare_struct(module, of, result)) return -1;
    class_types[i] = (PyTypeObject *)make_type(of, names[i]);
    if (!class_types[i] || PyModule_AddObjectRef(module, of->name, (PyObject *)class_types[i])) {
      return -1;
    }
  }
  return 0;
}
