/* Arguments: from keywords and attributes to the members of C's structs. */
#include "members.h"

#include <math.h>
#include <string.h>

#include "core.h"

void fields_init(Fields *fields, const Struct *of, void *data, PyObject **objects) {
  memset(data, 0, of->size);
  if (of->has_struct_size) memcpy(data, &of->size, sizeof of->size);
  for (int i = 0; i < of->num_defaults; ++i) {
    const Default *known = &of->defaults[i];
    memcpy((char *)data + of->members[known->member].offset, &known->value, sizeof(float));
  }
  for (int i = 0; i < of->num_objects; ++i) objects[i] = NULL;
  *fields = (Fields){of, data, objects, 0};
}

/* ---- Numbers -------------------------------------------------------------------------------- */

static int wrong_type(const char *label, PyObject *value, const char *rule) {
  PyObject *name = PyType_GetName(Py_TYPE(value));
  if (name) PyErr_Format(PyExc_TypeError, "%s is of type %U; it must be %s", label, name, rule);
  Py_XDECREF(name);
  return -1;
}

static int out_of_range(const char *label, PyObject *value, const char *rule) {
  PyErr_Format(error_of(SAMPLER_ERROR_INVALID_ARGUMENT), "%s is %S; it must be %s", label, value,
               rule);
  return -1;
}

/* A new reference to an int; NULL with a TypeError. */
static PyObject *as_int(const char *label, PyObject *value) {
  PyObject *number = PyLong_Check(value) ? Py_NewRef(value) : PyNumber_Index(value);
  if (!number && PyErr_ExceptionMatches(PyExc_TypeError)) {
    PyErr_Clear();
    wrong_type(label, value, "an int");
  }
  return number;
}

int to_i64(const char *label, PyObject *value, int64_t *out) {
  PyObject *number = as_int(label, value);
  int overflow = 0;
  if (!number) return -1;
  *out = PyLong_AsLongLongAndOverflow(number, &overflow);
  int status = overflow ? out_of_range(label, number, "in [-2^63, 2^63)") : 0;
  Py_DECREF(number);
  return status;
}

int to_u64(const char *label, PyObject *value, uint64_t *out) {
  PyObject *number = as_int(label, value);
  if (!number) return -1;
  *out = PyLong_AsUnsignedLongLong(number);
  int status = 0;
  if (*out == UINT64_MAX && PyErr_Occurred()) {
    PyErr_Clear();
    status = out_of_range(label, number, "in [0, 2^64)");
  }
  Py_DECREF(number);
  return status;
}

int to_i32(const char *label, PyObject *value, int32_t *out) {
  int64_t wide;
  if (to_i64(label, value, &wide)) return -1;
  *out = (int32_t)wide;
  return *out == wide ? 0 : out_of_range(label, value, "in [-2^31, 2^31)");
}

static int to_u32(const char *label, PyObject *value, uint32_t *out) {
  int64_t wide;
  if (to_i64(label, value, &wide)) return -1;
  *out = (uint32_t)wide;
  return *out == wide ? 0 : out_of_range(label, value, "in [0, 2^32)");
}

static int to_f64(const char *label, PyObject *value, double *out) {
  *out = PyFloat_AsDouble(value);
  if (*out != -1.0 || !PyErr_Occurred()) return 0;
  if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear();
    return out_of_range(label, value, "in the range of a float");
  }
  if (!PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
  PyErr_Clear();
  return wrong_type(label, value, "a float");
}

int to_f32(const char *label, PyObject *value, float *out) {
  double wide;
  if (to_f64(label, value, &wide)) return -1;
  *out = (float)wide;
  if (isinf(*out) && !isinf(wide)) return out_of_range(label, value, "in the range of an f32");
  return 0;
}

/* An int, or an object of torch, cupy, or with the protocol __cuda_stream__. */
int to_stream(const char *label, PyObject *value, sampler_stream *out) {
  static const char *const attributes[] = {"cuda_stream", "ptr", NULL};
  PyObject *number = NULL;
  uint64_t address = 0;
  if (PyLong_Check(value)) {
    number = Py_NewRef(value);
  } else {
    for (int i = 0; attributes[i] && !number; ++i) {
      number = PyObject_GetAttrString(value, attributes[i]);
      if (!number) PyErr_Clear();
    }
    if (!number) {
      PyObject *pair = PyObject_CallMethod(value, "__cuda_stream__", NULL);
      if (pair) number = PySequence_GetItem(pair, 1);
      Py_XDECREF(pair);
    }
    if (!number) {
      PyErr_Clear();
      return wrong_type(label, value, "the number of a cudaStream_t, or a stream of torch or cupy");
    }
  }
  int status = to_u64(label, number, &address);
  Py_DECREF(number);
  *out = (sampler_stream)(uintptr_t)address;
  return status;
}

/* A sequence of at most `length` numbers; the rest is 0, of floats NaN. */
static int to_numbers(const Member *member, PyObject *value, char *out) {
  const int is_float = member->kind == KIND_F32S;
  const Py_ssize_t length = PySequence_Size(value);
  char numbers[4 * SAMPLER_MAX_STAGES];
  if (length < 0) {
    PyErr_Clear();
    return wrong_type(member->label, value, "a sequence of numbers");
  }
  if (length > member->length) {
    PyErr_Format(error_of(SAMPLER_ERROR_INVALID_ARGUMENT), "%s has %zd elements; it has %d at most",
                 member->label, length, member->length);
    return -1;
  }
  for (int i = 0; i < member->length; ++i) {
    float f = NAN;
    int32_t n = 0;
    if (i < length) {
      PyObject *item = PySequence_GetItem(value, i);
      if (!item) return -1;
      int status = is_float ? to_f32(member->label, item, &f) : to_i32(member->label, item, &n);
      Py_DECREF(item);
      if (status) return -1;
    }
    memcpy(numbers + 4 * (size_t)i, is_float ? (void *)&f : (void *)&n, 4);
  }
  memcpy(out, numbers, 4 * (size_t)member->length);
  return 0;
}

/* ---- Members -------------------------------------------------------------------------------- */

/* None: the default. */
static void unset(Fields *fields, int index) {
  const Member *member = &fields->of->members[index];
  char *place = fields->data + member->offset;
  fields->given &= ~((uint64_t)1 << index);
  if (member->kind == KIND_OBJECT) {
    fields->objects[member->object] = NULL;
    return;
  }
  const int is_wide = member->kind == KIND_STREAM || member->kind == KIND_ADDRESS ||
                      member->kind == KIND_I64 || member->kind == KIND_U64 ||
                      member->kind == KIND_SIZE || member->kind == KIND_F64;
  memset(place, 0, member->length ? 4 * (size_t)member->length : is_wide ? 8 : 4);
  for (int i = 0; i < fields->of->num_defaults; ++i) {
    const Default *known = &fields->of->defaults[i];
    if (known->member == index) memcpy(place, &known->value, sizeof(float));
  }
}

int fields_set(Fields *fields, int index, PyObject *value) {
  const Member *member = &fields->of->members[index];
  char *place = fields->data + member->offset;
  int status = 0;
  uint64_t address;
  if (value == Py_None) {
    unset(fields, index);
    return 0;
  }
  switch (member->kind) {
    case KIND_OBJECT:
      fields->objects[member->object] = value;
      break;
    case KIND_STREAM:
      status = to_stream(member->label, value, (sampler_stream *)place);
      break;
    case KIND_ADDRESS:
    case KIND_SIZE:
      status = to_u64(member->label, value, &address);
      if (!status) memcpy(place, &address, sizeof address);
      break;
    case KIND_I32:
      status = to_i32(member->label, value, (int32_t *)place);
      break;
    case KIND_U32:
      status = to_u32(member->label, value, (uint32_t *)place);
      break;
    case KIND_I64:
      status = to_i64(member->label, value, (int64_t *)place);
      break;
    case KIND_U64:
      status = to_u64(member->label, value, (uint64_t *)place);
      break;
    case KIND_F32:
      status = to_f32(member->label, value, (float *)place);
      break;
    case KIND_F64:
      status = to_f64(member->label, value, (double *)place);
      break;
    case KIND_I32S:
    case KIND_F32S:
      status = to_numbers(member, value, place);
      break;
  }
  if (!status) fields->given |= (uint64_t)1 << index;
  return status;
}

int struct_find(const Struct *of, PyObject *name) {
  for (int i = 0; i < of->num_members; ++i) {
    if (of->names[i] == name) return i;
  }
  for (int i = 0; i < of->num_members; ++i) { /* one that is not interned */
    if (PyUnicode_CompareWithASCIIString(name, of->members[i].name) == 0) return i;
  }
  return -1;
}

int fields_parse(Fields *fields, const char *function, const int *positional, int num_positional,
                 PyObject *const *arguments, Py_ssize_t num_arguments, PyObject *names) {
  uint64_t seen = 0;
  if (num_arguments > num_positional) {
    PyErr_Format(PyExc_TypeError, "%s() takes %d arguments without a name; %zd were given",
                 function, num_positional, num_arguments);
    return -1;
  }
  for (Py_ssize_t i = 0; i < num_arguments; ++i) {
    if (fields_set(fields, positional[i], arguments[i])) return -1;
    seen |= (uint64_t)1 << positional[i];
  }
  const Py_ssize_t num_names = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < num_names; ++i) {
    PyObject *name = PyTuple_GetItem(names, i);
    const int index = struct_find(fields->of, name);
    if (index < 0) {
      PyErr_Format(PyExc_TypeError, "%s() has no argument %R", function, name);
      return -1;
    }
    if (seen >> index & 1) {
      PyErr_Format(PyExc_TypeError, "%s() has the argument %R twice", function, name);
      return -1;
    }
    if (fields_set(fields, index, arguments[num_arguments + i])) return -1;
  }
  return 0;
}
