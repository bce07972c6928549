/* Arrays of the buffer protocol and of DLPack: looked at, checked, held while a call runs, and
 * allocated where a call makes its outputs. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core.h"
#include "dlpack.h"
#include "generated.h"

/* ---- Elements ------------------------------------------------------------------------------- */

const char *element_name(Element element) {
  static const char *const names[] = {"none",
                                      "float32",
                                      "float16",
                                      "bfloat16",
                                      "float64",
                                      "int8",
                                      "int32",
                                      "int64",
                                      "uint8",
                                      "uint16",
                                      "uint32",
                                      "uint64",
                                      "of another type",
                                      "float32, float16 or bfloat16",
                                      "int32 or int64",
                                      "bytes"};
  return names[element];
}

static Element element_of_int(int is_signed, int64_t bytes) {
  switch (bytes) {
    case 1:
      return is_signed ? ELEMENT_I8 : ELEMENT_U8;
    case 2:
      return is_signed ? ELEMENT_OTHER : ELEMENT_U16;
    case 4:
      return is_signed ? ELEMENT_I32 : ELEMENT_U32;
    case 8:
      return is_signed ? ELEMENT_I64 : ELEMENT_U64;
    default:
      return ELEMENT_OTHER;
  }
}

static Element element_of_format(const char *format, Py_ssize_t bytes) {
  if (!format) return ELEMENT_U8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (!format[0] || format[1]) return ELEMENT_OTHER;
  switch (format[0]) {
    case 'f':
      return ELEMENT_F32;
    case 'e':
      return ELEMENT_F16;
    case 'd':
      return ELEMENT_F64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      return element_of_int(1, bytes);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
    case 'c':
      return element_of_int(0, bytes);
    default:
      return ELEMENT_OTHER;
  }
}

static Element element_of_dlpack(const DLTensor *tensor) {
  if (tensor->dtype.lanes != 1 || tensor->dtype.bits % 8) return ELEMENT_OTHER;
  const int64_t bytes = tensor->dtype.bits / 8;
  switch (tensor->dtype.code) {
    case DLPACK_INT:
      return element_of_int(1, bytes);
    case DLPACK_UINT:
      return element_of_int(0, bytes);
    case DLPACK_BFLOAT:
      return bytes == 2 ? ELEMENT_BF16 : ELEMENT_OTHER;
    case DLPACK_FLOAT:
      return bytes == 4   ? ELEMENT_F32
             : bytes == 2 ? ELEMENT_F16
             : bytes == 8 ? ELEMENT_F64
                          : ELEMENT_OTHER;
    default:
      return ELEMENT_OTHER;
  }
}

/* Unsigned members take signed elements, too: not all packages have all types. */
static int matches(Element wanted, Element found) {
  switch (wanted) {
    case ELEMENT_FLOATS:
      return found == ELEMENT_F32 || found == ELEMENT_F16 || found == ELEMENT_BF16;
    case ELEMENT_IDS:
      return found == ELEMENT_I32 || found == ELEMENT_I64;
    case ELEMENT_U8:
      return found == ELEMENT_U8 || found == ELEMENT_I8;
    case ELEMENT_U32:
      return found == ELEMENT_U32 || found == ELEMENT_I32;
    case ELEMENT_U64:
      return found == ELEMENT_U64 || found == ELEMENT_I64;
    case ELEMENT_F16:
    case ELEMENT_BF16:
      return found == wanted || found == ELEMENT_U16;
    case ELEMENT_BYTES:
      return 1;
    default:
      return found == wanted;
  }
}

/* ---- Calls ---------------------------------------------------------------------------------- */

int call_begin(Call *call, SamplerObject *sampler, const char *function) {
  memset(call, 0, offsetof(Call, params));
  call->sampler = sampler;
  call->function = function;
  call->report_fields.of = NULL;
  call->id_label[0] = 0;
  call->id_element = ELEMENT_NONE;
  if (sampler && sampler_enter(sampler)) return -1;
  call->is_entered = sampler != NULL;
  return 0;
}

/* Releases all but the first `count` arrays that are held. */
static void release_held(Call *call, int count) {
  while (call->num_held > count) {
    Held *held = &call->held[--call->num_held];
    if (held->owner) {
      Py_DECREF(held->owner);
    } else {
      PyBuffer_Release(&held->view);
    }
  }
}

void call_end(Call *call) {
  release_held(call, 0);
  for (int i = 0; i < MAX_RESULTS; ++i) {
    Py_XDECREF(call->results[i]);
    Py_XDECREF(call->report_results[i]);
  }
  if (call->is_entered) sampler_leave(call->sampler);
}

void call_break(Call *call, const char *format, ...) {
  va_list arguments;
  if (call->broken[0]) return;
  va_start(arguments, format);
  vsnprintf(call->broken, sizeof call->broken, format, arguments);
  va_end(arguments);
}

int call_check(const Call *call) {
  if (!call->broken[0]) return 0;
  PyErr_SetString(error_of(SAMPLER_ERROR_INVALID_ARGUMENT), call->broken);
  return -1;
}

/* ---- Looking at an array -------------------------------------------------------------------- */

static Held *next_held(Call *call) {
  if (call->num_held == MAX_HELD) {
    PyErr_SetString(PyExc_SystemError, "more arrays than a call has");
    return NULL;
  }
  return &call->held[call->num_held];
}

int call_keep(Call *call, PyObject *object) {
  Held *held = next_held(call);
  if (!held) return -1;
  held->owner = Py_NewRef(object);
  ++call->num_held;
  return 0;
}

static void finish_array(Array *array) {
  int64_t expected = 1;
  array->count = 1;
  array->is_contiguous = 1;
  for (int i = array->ndim - 1; i >= 0; --i) {
    if (array->shape[i] != 1 && array->strides[i] != expected) array->is_contiguous = 0;
    expected *= array->shape[i];
    array->count *= array->shape[i];
  }
  if (!array->count) array->is_contiguous = 1;
}

static int too_many_dims(Call *call, const char *of, const char *label, int64_t ndim) {
  call_break(call, "%s%s has %lld dimensions; it must have at most %d", of, label, (long long)ndim,
             MAX_DIMS);
  return call_check(call);
}

static int hold_buffer(Call *call, const char *of, const char *label, PyObject *object,
                       Array *out) {
  Held *held = next_held(call);
  if (!held) return -1;
  Py_buffer *view = &held->view;
  if (PyObject_GetBuffer(object, view, PyBUF_FORMAT | PyBUF_STRIDES)) return -1;
  held->owner = NULL;
  ++call->num_held;
  if (view->ndim > MAX_DIMS) return too_many_dims(call, of, label, view->ndim);
  const Py_ssize_t bytes = view->itemsize > 0 ? view->itemsize : 1; /* an empty struct's is 0 */
  int64_t stride = bytes;
  out->data = view->buf;
  out->ndim = view->ndim;
  out->element = view->itemsize > 0 ? element_of_format(view->format, bytes) : ELEMENT_OTHER;
  out->device_type = DLPACK_CPU;
  out->device_id = 0;
  out->item_bytes = view->itemsize;
  out->is_readonly = view->readonly;
  for (int i = view->ndim - 1; i >= 0; --i) { /* arrays of ctypes have no strides */
    const int64_t own = view->strides ? view->strides[i] : stride;
    out->shape[i] = view->shape[i];
    out->strides[i] = own / bytes;
    if (own % bytes && view->shape[i] > 1) out->element = ELEMENT_OTHER;
    stride *= view->shape[i];
  }
  finish_array(out);
  return 0;
}

static int read_tensor(Call *call, const char *of, const char *label, const DLTensor *tensor,
                       Array *out) {
  if (tensor->ndim > MAX_DIMS) return too_many_dims(call, of, label, tensor->ndim);
  out->data = tensor->data ? (char *)tensor->data + tensor->byte_offset : NULL;
  out->ndim = tensor->ndim;
  out->element = element_of_dlpack(tensor);
  out->item_bytes = (tensor->dtype.bits * tensor->dtype.lanes + 7) / 8;
  out->device_type = tensor->device.device_type;
  out->device_id = tensor->device.device_id;
  int64_t stride = 1;
  for (int i = tensor->ndim - 1; i >= 0; --i) {
    out->shape[i] = tensor->shape[i];
    out->strides[i] = tensor->strides ? tensor->strides[i] : stride;
    stride *= tensor->shape[i];
  }
  finish_array(out);
  if (!out->count || tensor->data || call->is_sizing) return 0;
  /* One that only has a shape, such as torch's FakeTensor. */
  call_break(call, "%s%s has %lld elements, but no memory", of, label, (long long)out->count);
  return call_check(call);
}

/* The functions of a type that exchanges tensors without a capsule each; NULL: it does not. The
 * last type is remembered. */
static const DLPackExchangeAPI *exchange_of(PyObject *object) {
  static PyObject *last_type = NULL;
  static const DLPackExchangeAPI *last_api = NULL;
  PyObject *type = (PyObject *)Py_TYPE(object);
  if (type == last_type) return last_api;
  const DLPackExchangeAPI *api = NULL;
  PyObject *capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
  if (!capsule) PyErr_Clear();
  if (capsule && PyCapsule_IsValid(capsule, "dlpack_exchange_api")) {
    api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    while (api && api->major != 1) api = api->previous;
    if (api && !api->tensor_from_object) api = NULL;
  }
  Py_XDECREF(capsule);
  PyObject *old = last_type;
  last_type = Py_NewRef(type);
  Py_XDECREF(old);
  last_api = api;
  return api;
}

static int hold_exchanged(Call *call, const char *of, const char *label, PyObject *object,
                          const DLPackExchangeAPI *api, Array *out) {
  DLTensor tensor;
  Held *held = next_held(call);
  if (!held) return -1;
  if (api->tensor_from_object(object, &tensor)) return -1;
  held->owner = Py_NewRef(object);
  ++call->num_held;
  out->is_readonly = 0;
  if (tensor.device.device_type == DLPACK_CUDA && !call->has_stream && api->current_stream) {
    void *stream = NULL;
    if (api->current_stream(DLPACK_CUDA, tensor.device.device_id, &stream)) return -1;
    call->stream = stream;
    call->has_stream = 1;
  }
  return read_tensor(call, of, label, &tensor, out);
}

/* What object.__dlpack_device__ gives, (type, id). */
static int device_of(const char *of, const char *label, PyObject *object, int *out_type) {
  int id;
  PyObject *method = PyObject_GetAttrString(object, "__dlpack_device__");
  if (!method) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s%s has __dlpack__, but no __dlpack_device__", of, label);
    return -1;
  }
  PyObject *device = PyObject_CallObject(method, NULL);
  Py_DECREF(method);
  if (!device) return -1;
  int status = -1;
  if (!PyTuple_Check(device)) {
    PyErr_Format(PyExc_TypeError, "%s%s.__dlpack_device__() is %R; it must be (type, id)", of,
                 label, device);
  } else if (PyArg_ParseTuple(device, "ii", out_type, &id)) {
    status = 0;
  }
  Py_DECREF(device);
  return status;
}

/* Calls object.__dlpack__, with the stream that a CUDA device's producer is to wait on. */
static PyObject *capsule_of(Call *call, const char *of, const char *label, PyObject *object,
                            PyObject *method) {
  PyObject *keywords = NULL, *capsule = NULL, *empty = PyTuple_New(0);
  int device_type = 0;
  if (device_of(of, label, object, &device_type)) goto end;
  keywords = Py_BuildValue("{s:(ii)}", "max_version", 1, 1);
  if (!keywords || !empty) goto end;
  if (device_type == DLPACK_CUDA) { /* 1 is the legacy default stream */
    const uintptr_t stream = (uintptr_t)call->stream;
    PyObject *number = PyLong_FromUnsignedLongLong(stream ? stream : 1);
    if (!number || PyDict_SetItemString(keywords, "stream", number)) {
      Py_XDECREF(number);
      goto end;
    }
    Py_DECREF(number);
  }
  capsule = PyObject_Call(method, empty, keywords);
  if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) { /* one before DLPack 1.0 */
    PyErr_Clear();
    if (PyDict_DelItemString(keywords, "max_version") == 0) {
      capsule = PyObject_Call(method, empty, keywords);
    }
  }
end:
  Py_XDECREF(empty);
  Py_XDECREF(keywords);
  return capsule;
}

static int hold_capsule(Call *call, const char *of, const char *label, PyObject *object,
                        PyObject *method, Array *out) {
  Held *held = next_held(call);
  PyObject *capsule = held ? capsule_of(call, of, label, object, method) : NULL;
  const DLTensor *tensor = NULL;
  if (!capsule) return -1;
  held->owner = capsule; /* it keeps the tensor: it is read, not taken */
  ++call->num_held;
  out->is_readonly = 0;
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    DLManagedTensorVersioned *managed = PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (managed->major == 1) {
      tensor = &managed->tensor;
      out->is_readonly = (managed->flags & DLPACK_READ_ONLY) != 0;
    }
  } else if (PyCapsule_IsValid(capsule, "dltensor")) {
    tensor = &((DLManagedTensor *)PyCapsule_GetPointer(capsule, "dltensor"))->tensor;
  }
  if (!tensor) {
    PyErr_Format(PyExc_TypeError, "%s%s gives a capsule of DLPack that is not of version 1", of,
                 label);
    return -1;
  }
  return read_tensor(call, of, label, tensor, out);
}

/* 1: it is an array of numpy with the bfloat16 of ml_dtypes, which is held as its bits; 0: it is
 * not; -1: an exception. */
static int hold_bfloat16(Call *call, const char *of, const char *label, PyObject *object,
                         Array *out) {
  PyObject *dtype = PyObject_GetAttrString(object, "dtype");
  PyObject *name = dtype ? PyObject_GetAttrString(dtype, "name") : NULL;
  const int is_one =
      name && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "bfloat16") == 0;
  Py_XDECREF(dtype);
  Py_XDECREF(name);
  PyErr_Clear();
  if (!is_one) return 0;
  PyObject *bits = PyObject_CallMethod(object, "view", "s", "uint16");
  const int status = bits ? hold_buffer(call, of, label, bits, out) : -1;
  Py_XDECREF(bits);
  if (status == 0) out->element = ELEMENT_BF16;
  return status ? -1 : 1;
}

static int hold_any(Call *call, const char *of, const char *label, PyObject *object, Array *out) {
  if (PyObject_CheckBuffer(object)) {
    if (hold_buffer(call, of, label, object, out) == 0) return 0;
    /* numpy has arrays that its buffers cannot describe. */
    if (!PyErr_ExceptionMatches(PyExc_ValueError) && !PyErr_ExceptionMatches(PyExc_BufferError)) {
      return -1;
    }
    PyErr_Clear();
    const int is_held = hold_bfloat16(call, of, label, object, out);
    if (is_held) return is_held > 0 ? 0 : -1;
  } else {
    const DLPackExchangeAPI *api = exchange_of(object);
    if (api) return hold_exchanged(call, of, label, object, api, out);
  }
  PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
  if (!method) {
    PyErr_Clear();
    PyObject *name = PyType_GetName(Py_TYPE(object));
    if (name) {
      PyErr_Format(PyExc_TypeError,
                   "%s%s is of type %U; it must be an array: a buffer, or an object of DLPack", of,
                   label, name);
    }
    Py_XDECREF(name);
    return -1;
  }
  int status = hold_capsule(call, of, label, object, method, out);
  Py_DECREF(method);
  return status;
}

/* An object's own code may take it from where it was given. */
int call_hold(Call *call, const char *of, const char *label, PyObject *object, Array *out) {
  Py_INCREF(object);
  const int status = hold_any(call, of, label, object, out);
  Py_DECREF(object);
  return status;
}

int shape_of(Call *call, PyObject *object, Array *out) {
  const int held = call->num_held, is_broken = call->broken[0] != 0;
  if (!object || object == Py_True || object == Py_False) return 0;
  const int is_array = call_hold(call, "", "", object, out) == 0;
  if (!is_array) PyErr_Clear(); /* who takes the array says what is wrong */
  if (!is_broken) call->broken[0] = 0;
  release_held(call, held);
  return is_array;
}

int64_t length_of(Call *call, PyObject *object) {
  Array array;
  return shape_of(call, object, &array) ? array.count : 0;
}

/* ---- Checks --------------------------------------------------------------------------------- */

static void place_name(char *out, size_t size, int32_t type, int32_t id) {
  switch (type) {
    case DLPACK_CPU:
      snprintf(out, size, "cpu");
      break;
    case DLPACK_CUDA:
      snprintf(out, size, "cuda:%d", (int)id);
      break;
    case DLPACK_CUDA_HOST:
      snprintf(out, size, "pinned host memory");
      break;
    case DLPACK_CUDA_MANAGED:
      snprintf(out, size, "managed memory");
      break;
    default:
      snprintf(out, size, "device %d:%d of DLPack", (int)type, (int)id);
  }
}

static void check_place(Call *call, const char *of, const char *label, const Array *array,
                        Place place) {
  const SamplerObject *sampler = call->sampler;
  const int is_cuda = sampler && sampler->device_type == SAMPLER_DEVICE_CUDA;
  const int needs_device = is_cuda && ((place == PLACE_DEVICE && !call->is_on_host) ||
                                       (place == PLACE_PARAMETER && !sampler->host_parameters));
  char found[48];
  if (call->is_sizing || array->device_type == DLPACK_CUDA_MANAGED) return;
  place_name(found, sizeof found, array->device_type, array->device_id);
  if (needs_device) {
    if (array->device_type == DLPACK_CUDA && array->device_id == sampler->device_id) return;
    call_break(call, "%s%s is on %s; it must be on cuda:%d, the sampler's device", of, label, found,
               (int)sampler->device_id);
  } else if (array->device_type != DLPACK_CPU && array->device_type != DLPACK_CUDA_HOST) {
    const char *why = !sampler                   ? ""
                      : !is_cuda                 ? ", as the sampler is"
                      : place == PLACE_PARAMETER ? " with host_parameters"
                                                 : "";
    call_break(call, "%s%s is on %s; it must be on cpu%s", of, label, found, why);
  }
}

static void check_length(Call *call, const char *of, const char *label, int64_t count,
                         int64_t needed) {
  char who[64];
  if (call->is_sizing || count >= needed) return;
  /* What has the member: "pipeline->history" of "pipeline->history.offsets". */
  snprintf(who, sizeof who, "%s%s", of, label);
  size_t end = strlen(who);
  while (end && !strchr(".>", who[end - 1])) --end;
  while (end && strchr(".->", who[end - 1])) --end;
  who[end] = 0;
  if (!end) snprintf(who, sizeof who, "it");
  call_break(call, "%s%s has %lld elements; %s needs %lld", of, label, (long long)count, who,
             (long long)needed);
}

int is_vector(const Array *array) {
  int num_long = 0;
  for (int i = 0; i < array->ndim; ++i) num_long += array->shape[i] != 1;
  return num_long < 2;
}

int64_t columns_of(const Array *array) {
  return array->ndim > 1 ? array->shape[array->ndim - 1] : 0;
}

/* An array with an element for each row, slot or sequence may have more of them, but not in columns
 * of its own. */
static void check_vector(Call *call, const char *of, const char *label, const Array *array,
                         int64_t needed) {
  if (call->is_sizing || is_vector(array) || array->count <= needed) return;
  call_break(call, "%s%s has %lld elements in %d dimensions; it must have %lld", of, label,
             (long long)array->count, array->ndim, (long long)needed);
}

/* Dimensions, where an array has them, tell its columns. */
static void check_columns(Call *call, const char *of, const char *label, const Array *array,
                          int64_t cols) {
  if (call->is_sizing || array->ndim < 2 || !array->count) return;
  const int64_t found = columns_of(array);
  if (found == cols) return;
  call_break(call, "%s%s has rows of %lld elements; it must have rows of %lld", of, label,
             (long long)found, (long long)cols);
}

static void check_shape(Call *call, const char *of, const char *label, const Array *array,
                        int64_t needed, int64_t cols) {
  check_length(call, of, label, array->count, needed);
  if (cols == ONE_DIMENSION) {
    check_vector(call, of, label, array, needed);
  } else {
    check_columns(call, of, label, array, cols);
  }
}

static void check_contiguous(Call *call, const char *of, const char *label, const Array *array) {
  if (!array->is_contiguous) {
    call_break(call, "%s%s has gaps between its elements; it must be contiguous", of, label);
  }
}

static void check_writable(Call *call, const char *of, const char *label, const Array *array) {
  if (array->is_readonly) {
    call_break(call, "%s%s is read-only; it must be writable", of, label);
  }
}

static void check_element(Call *call, const char *of, const char *label, const Array *array,
                          Element wanted) {
  if (!matches(wanted, array->element)) {
    call_break(call, "%s%s is %s; it must be %s", of, label, element_name(array->element),
               element_name(wanted));
  }
}

/* An address that is not NULL, for arrays without elements, and for what is not allocated yet. */
static char nothing[16];

static void set_pointer(Fields *fields, const Member *member, char *data) {
  if (!data) data = nothing;
  memcpy(fields->data + member->offset, &data, sizeof data);
}

/* ---- Arrays --------------------------------------------------------------------------------- */

/* Sets a member to its array, which is contiguous. 1: it has one; 0: it was not given. */
static int hold_member(Call *call, Fields *fields, const char *of, int index, Element element,
                       Place place, int is_written, Array *out) {
  const Member *member = &fields->of->members[index];
  PyObject *object = fields->objects[member->object];
  if (!object) return 0;
  if (call_hold(call, of, member->label, object, out)) return -1;
  check_element(call, of, member->label, out, element);
  check_contiguous(call, of, member->label, out);
  if (is_written) check_writable(call, of, member->label, out);
  check_place(call, of, member->label, out, place);
  set_pointer(fields, member, out->data);
  return 1;
}

static int take(Call *call, Fields *fields, const char *of, int index, Element element,
                int64_t needed, int64_t cols, Place place, int is_written) {
  Array array;
  const int found = hold_member(call, fields, of, index, element, place, is_written, &array);
  if (found <= 0) return found;
  check_shape(call, of, fields->of->members[index].label, &array, needed, cols);
  return 0;
}

int take_array(Call *call, Fields *fields, const char *of, int index, int64_t needed, Place place) {
  return take_matrix(call, fields, of, index, needed, ONE_DIMENSION, place);
}

int take_matrix(Call *call, Fields *fields, const char *of, int index, int64_t needed, int64_t cols,
                Place place) {
  return take(call, fields, of, index, fields->of->members[index].element, needed, cols, place, 0);
}

int take_inout(Call *call, Fields *fields, const char *of, int index, int64_t needed) {
  return take(call, fields, of, index, fields->of->members[index].element, needed, ONE_DIMENSION,
              PLACE_DEVICE, 1);
}

int take_counted(Call *call, Fields *fields, const char *of, int index, int count, Place place) {
  const Member *member = &fields->of->members[index];
  int64_t *number = FIELD(fields, int64_t, count);
  Array array;
  const int found = hold_member(call, fields, of, index, member->element, place, 0, &array);
  if (found <= 0) return found;
  if (!fields_given(fields, count)) *number = array.count;
  check_shape(call, of, member->label, &array, *number, ONE_DIMENSION);
  return 0;
}

static void check_id_type(Call *call, const char *of, const char *label, Element element) {
  if (element != ELEMENT_I32 && element != ELEMENT_I64) return;
  if (call->id_element == ELEMENT_NONE) {
    call->id_element = element;
    snprintf(call->id_label, sizeof call->id_label, "%s%s", of, label);
  } else if (call->id_element != element) {
    call_break(call, "%s is %s and %s%s is %s; they must be of one type", call->id_label,
               element_name(call->id_element), of, label, element_name(element));
  }
}

int take_lists(Call *call, const char *of, PyObject *object, sampler_token_lists *out) {
  PyObject *pair[2] = {NULL, NULL};
  Fields given = {&token_lists_struct, (char *)out, pair, 0};
  if (!object) return 0;
  if (call_keep(call, object)) return -1; /* see call_hold */
  if (Py_TYPE(object) == struct_type(&token_lists_struct)) {
    given = struct_fields(object);
    memcpy(out, given.data, sizeof *out);
    given.data = (char *)out;
  } else if (PyTuple_Check(object) && PyTuple_Size(object) == 2) {
    pair[0] = PyTuple_GetItem(object, 0);
    pair[1] = PyTuple_GetItem(object, 1);
  } else {
    char name[48];
    snprintf(name, sizeof name, "%.*s", (int)strlen(of) - 1, of);
    PyErr_Format(PyExc_TypeError, "%s is %R; it must be TokenLists, or (offsets, token_ids)", name,
                 object);
    return -1;
  }
  PyObject *offsets = given.objects[token_lists_members[token_lists__offsets].object];
  if (offsets && !fields_given(&given, token_lists__num_lists)) {
    out->num_lists = length_of(call, offsets) - 1;
  }
  if (take_array(call, &given, of, token_lists__offsets, sum(out->num_lists, 1), PLACE_DEVICE)) {
    return -1;
  }
  const Member *member = &token_lists_members[token_lists__token_ids];
  PyObject *ids = given.objects[member->object];
  if (ids && !fields_given(&given, token_lists__num_token_ids))
    out->num_token_ids = length_of(call, ids);
  return take_ids(call, &given, of, token_lists__token_ids, out->num_token_ids, ONE_DIMENSION);
}

static int take_any_ids(Call *call, Fields *fields, const char *of, int index, int64_t needed,
                        int64_t cols, int is_written) {
  const Member *member = &fields->of->members[index];
  PyObject *object = fields->objects[member->object];
  Array array;
  if (!object) return 0;
  if (call_hold(call, of, member->label, object, &array)) return -1;
  check_element(call, of, member->label, &array, ELEMENT_IDS);
  check_id_type(call, of, member->label, array.element);
  check_contiguous(call, of, member->label, &array);
  if (is_written) check_writable(call, of, member->label, &array);
  check_place(call, of, member->label, &array, PLACE_DEVICE);
  check_shape(call, of, member->label, &array, needed, cols);
  set_pointer(fields, member, array.data);
  return 0;
}

int take_ids(Call *call, Fields *fields, const char *of, int index, int64_t needed, int64_t cols) {
  return take_any_ids(call, fields, of, index, needed, cols, 0);
}

int take_inout_ids(Call *call, Fields *fields, const char *of, int index, int64_t needed) {
  return take_any_ids(call, fields, of, index, needed, ONE_DIMENSION, 1);
}

/* ---- Rows ----------------------------------------------------------------------------------- */

/* How rows lie: their number, the columns, and the distance of two rows. */
static void rows_of_shape(Call *call, const char *of, const char *label, const Array *array,
                          int64_t *num_rows, int64_t *num_cols, int64_t *row_stride) {
  const int last = array->ndim - 1;
  int64_t stride = 0, expected = 0;
  *num_rows = 1;
  *num_cols = 0;
  *row_stride = 0;
  if (last < 0) return; /* no columns, which the library refuses */
  *num_cols = array->shape[last];
  for (int i = 0; i < last; ++i) *num_rows = product(*num_rows, array->shape[i]);
  if (!array->count) return;
  if (*num_cols > 1 && array->strides[last] != 1) {
    call_break(call, "%s%s has columns that are %lld elements apart; they must be side by side", of,
               label, (long long)array->strides[last]);
    return;
  }
  for (int i = last - 1; i >= 0; --i) {
    if (array->shape[i] == 1) continue;
    if (!expected) {
      stride = array->strides[i];
      if (stride < *num_cols) {
        call_break(call, "%s%s has rows that are %lld elements apart; it must be %lld at least", of,
                   label, (long long)stride, (long long)*num_cols);
        return;
      }
    } else if (array->strides[i] != expected) {
      call_break(call, "%s%s has rows at different distances; they must be at one", of, label);
      return;
    }
    expected = product(array->strides[i], array->shape[i]);
  }
  *row_stride = stride;
}

static Element element_of_dtype(int32_t dtype) {
  return dtype == SAMPLER_F16 ? ELEMENT_F16 : dtype == SAMPLER_BF16 ? ELEMENT_BF16 : ELEMENT_F32;
}

/* The number of rows of a table where it is not given, and whether it has as many. */
static void count_rows(Call *call, Fields *fields, const char *of, int index, int number_index,
                       const Array *array, int64_t stride) {
  const char *label = fields->of->members[index].label;
  int64_t *number = FIELD(fields, int64_t, number_index);
  if (!fields_given(fields, number_index) && stride > 0) {
    if (array->count % stride) {
      call_break(call, "%s%s has %lld elements; it must be rows of %lld", of, label,
                 (long long)array->count, (long long)stride);
    }
    *number = array->count / stride;
  }
  check_length(call, of, label, array->count, product(*number, stride));
}

int take_table(Call *call, Fields *fields, const char *of, int index, int number_index,
               int stride_index, int64_t cols) {
  const Member *member = &fields->of->members[index];
  int64_t *stride = FIELD(fields, int64_t, stride_index);
  Array array;
  const int found = hold_member(call, fields, of, index, member->element, PLACE_DEVICE, 0, &array);
  if (found <= 0) return found;
  if (!*stride) *stride = columns_of(&array);
  check_columns(call, of, member->label, &array, *stride);
  count_rows(call, fields, of, index, number_index, &array, first_nonzero(*stride, cols));
  return 0;
}

int take_guidance_rows(Call *call, Fields *fields, const char *of, int index, int number_index,
                       const sampler_rows *rows) {
  const Member *member = &fields->of->members[index];
  PyObject *object = fields->objects[member->object];
  const int64_t stride = first_nonzero(rows->row_stride, rows->num_cols);
  int64_t *number = FIELD(fields, int64_t, number_index), num_rows, num_cols, row_stride;
  Array array;
  if (!object) return 0;
  if (call_hold(call, of, member->label, object, &array)) return -1;
  check_element(call, of, member->label, &array, element_of_dtype(rows->dtype));
  check_place(call, of, member->label, &array, PLACE_DEVICE);
  if (array.ndim < 2) {
    check_contiguous(call, of, member->label, &array);
    count_rows(call, fields, of, index, number_index, &array, stride);
  } else {
    rows_of_shape(call, of, member->label, &array, &num_rows, &num_cols, &row_stride);
    if ((row_stride && row_stride != stride) ||
        (num_cols != rows->num_cols && num_cols != stride)) {
      call_break(call,
                 "%s%s has rows of %lld elements, %lld apart; they must lie like the call's: "
                 "%lld, %lld apart",
                 of, member->label, (long long)num_cols,
                 (long long)first_nonzero(row_stride, num_cols), (long long)rows->num_cols,
                 (long long)stride);
    }
    if (!fields_given(fields, number_index)) *number = num_rows;
    check_length(call, of, member->label, product(num_rows, stride), product(*number, stride));
  }
  set_pointer(fields, member, array.data);
  return 0;
}

static int32_t dtype_of(Element element) {
  return element == ELEMENT_F16    ? SAMPLER_F16
         : element == ELEMENT_BF16 ? SAMPLER_BF16
                                   : SAMPLER_F32;
}

/* Elements of `dtype` where that is given and known, else of any floating type; sets `dtype`. */
static void check_floats(Call *call, const char *of, const char *label, const Array *array,
                         int is_given, int32_t *dtype) {
  if (is_given && *dtype >= SAMPLER_F32 && *dtype <= SAMPLER_BF16) {
    check_element(call, of, label, array, element_of_dtype(*dtype));
  } else if (!is_given) {
    if (array->element == ELEMENT_U16) {
      call_break(call, "%s%s is uint16; its dtype must be given: F16 or BF16", of, label);
    }
    check_element(call, of, label, array, ELEMENT_FLOATS);
    *dtype = dtype_of(array->element);
  }
}

int take_exec(Call *call, Fields *fields, int stream_index, sampler_exec *exec) {
  const int bytes_index = stream_index + 2;
  const Member *member = &fields->of->members[stream_index + 1];
  PyObject *object = fields->objects[member->object];
  Array array;
  exec->stream = call->stream;
  if (!object) return 0;
  if (call_hold(call, "", member->label, object, &array)) return -1;
  check_contiguous(call, "", member->label, &array);
  check_writable(call, "", member->label, &array);
  check_place(call, "", member->label, &array, PLACE_DEVICE);
  const int64_t bytes = product(array.count, array.item_bytes);
  if (!fields_given(fields, bytes_index)) {
    exec->workspace_bytes = (size_t)bytes;
  } else if (exec->workspace_bytes > (size_t)bytes) {
    call_break(call, "%s has %lld bytes; workspace_bytes is %llu", member->label, (long long)bytes,
               (unsigned long long)exec->workspace_bytes);
  }
  set_pointer(fields, member, array.data);
  return 0;
}

void check_rows(Call *call, const char *of, const RowsArray *arrays, int64_t elements) {
  if (arrays->has_values) check_length(call, of, "values", arrays->reach, elements);
  if (arrays->has_ids && arrays->ids.ndim < 2) {
    check_length(call, of, "candidate_ids", arrays->ids.count, elements);
  }
}

/* Dense rows may have a dimension of sequences and one of their positions. */
void check_positions(Call *call, const char *label, const RowsArray *rows, int64_t num_positions) {
  if (!rows->has_values || rows->values.ndim < 3 || !rows->values.count) return;
  const int64_t found = rows->values.shape[rows->values.ndim - 2];
  if (found == num_positions) return;
  call_break(call, "%s has %lld rows for each sequence; it must have %lld, by num_drafts", label,
             (long long)found, (long long)num_positions);
}

/* `own`: how the values lie, or are said to, where they are flat. */
static int take_candidates(Call *call, const char *of, Fields *given, const sampler_rows *own,
                           sampler_rows *out, RowsArray *arrays) {
  PyObject *object = given->objects[rows_members[rows__candidate_ids].object];
  if (object) {
    Array *ids = &arrays->ids;
    int64_t num_rows, num_cols, row_stride;
    if (call_hold(call, of, "candidate_ids", object, ids)) return -1;
    arrays->has_ids = 1;
    check_element(call, of, "candidate_ids", ids, ELEMENT_IDS);
    if (!fields_given(given, rows__candidate_id_type)) {
      out->candidate_id_type = ids->element == ELEMENT_I64 ? SAMPLER_ID_I64 : SAMPLER_ID_I32;
    } else if (out->candidate_id_type == SAMPLER_ID_I32 ||
               out->candidate_id_type == SAMPLER_ID_I64) {
      check_element(call, of, "candidate_ids", ids,
                    out->candidate_id_type == SAMPLER_ID_I64 ? ELEMENT_I64 : ELEMENT_I32);
    }
    check_place(call, of, "candidate_ids", ids, PLACE_DEVICE);
    if (arrays->is_flat && ids->ndim < 2) {
      check_contiguous(call, of, "candidate_ids", ids);
    } else {
      rows_of_shape(call, of, "candidate_ids", ids, &num_rows, &num_cols, &row_stride);
      if (num_rows != own->num_rows || num_cols != own->num_cols ||
          (row_stride && row_stride != first_nonzero(own->row_stride, own->num_cols))) {
        call_break(call,
                   "%scandidate_ids has %lld rows of %lld elements, %lld apart; it must be "
                   "laid out like values: %lld of %lld, %lld apart",
                   of, (long long)num_rows, (long long)num_cols, (long long)row_stride,
                   (long long)own->num_rows, (long long)own->num_cols, (long long)own->row_stride);
      }
    }
    out->candidate_ids = ids->data ? ids->data : nothing;
  }
  Fields fields = {&rows_struct, (char *)out, given->objects, given->given};
  return take_array(call, &fields, of, rows__candidate_counts, out->num_rows, PLACE_DEVICE);
}

/* An array of several dimensions has rows of its own, `own`: numbers that are given take the first
 * rows and columns of it. */
static void take_first(Call *call, const char *of, const Fields *given, const sampler_rows *own,
                       sampler_rows *out) {
  if (!fields_given(given, rows__num_rows)) out->num_rows = own->num_rows;
  if (!fields_given(given, rows__num_cols)) out->num_cols = own->num_cols;
  if (out->num_rows > own->num_rows) {
    call_break(call, "%snum_rows is %lld; it must be at most %lld, as many as values has", of,
               (long long)out->num_rows, (long long)own->num_rows);
    out->num_rows = own->num_rows;
  }
  if (out->num_cols > own->num_cols) {
    call_break(call, "%snum_cols is %lld; it must be at most %lld, as many as values has", of,
               (long long)out->num_cols, (long long)own->num_cols);
    out->num_cols = own->num_cols;
  }
  if (own->row_stride && out->row_stride && out->row_stride != own->row_stride) {
    call_break(call, "%srow_stride is %lld; it must be %lld, as the rows of values are apart", of,
               (long long)out->row_stride, (long long)own->row_stride);
    out->row_stride = 0;
  }
  if (!out->row_stride) out->row_stride = first_nonzero(own->row_stride, own->num_cols);
}

int take_rows_array(Call *call, Fields *fields, int index, sampler_rows *out, RowsArray *arrays) {
  const Member *member = &fields->of->members[index];
  PyObject *object = fields->objects[member->object];
  PyObject *only_values[3] = {NULL, NULL, NULL};
  Fields given = {&rows_struct, NULL, only_values, 0};
  sampler_rows own = {.num_rows = 0};
  char of[24];
  snprintf(of, sizeof of, "%s.", member->label);
  memset(out, 0, sizeof *out);
  arrays->has_values = arrays->has_ids = arrays->is_flat = 0;
  if (!object) return 0;
  if (Py_TYPE(object) == struct_type(&rows_struct)) {
    given = struct_fields(object);
    memcpy(out, given.data, sizeof *out);
    object = given.objects[rows_members[rows__values].object];
  }
  arrays->is_flat = fields_given(&given, rows__num_rows) || fields_given(&given, rows__num_cols) ||
                    fields_given(&given, rows__row_stride);
  if (object) {
    Array *values = &arrays->values;
    if (call_keep(call, object)) return -1; /* see call_hold */
    if (call_hold(call, of, "values", object, values)) return -1;
    if (!call->like) call->like = object;
    arrays->has_values = 1;
    check_floats(call, of, "values", values, fields_given(&given, rows__dtype), &out->dtype);
    check_place(call, of, "values", values, PLACE_DEVICE);
    if (values->ndim > 1) arrays->is_flat = 0;
    if (arrays->is_flat) check_contiguous(call, of, "values", values);
    rows_of_shape(call, of, "values", values, &own.num_rows, &own.num_cols, &own.row_stride);
    arrays->reach = extent(own.num_rows, own.num_cols, own.row_stride);
    if (values->ndim > 1) {
      take_first(call, of, &given, &own, out);
    } else {
      if (!fields_given(&given, rows__num_rows)) out->num_rows = own.num_rows;
      if (!fields_given(&given, rows__num_cols)) out->num_cols = own.num_cols;
    }
    out->values = values->data ? values->data : nothing;
  }
  return take_candidates(call, of, &given, arrays->is_flat ? out : &own, out, arrays);
}

int take_rows(Call *call, Fields *fields, int index, sampler_rows *out) {
  RowsArray arrays;
  char of[24];
  if (take_rows_array(call, fields, index, out, &arrays)) return -1;
  snprintf(of, sizeof of, "%s.", fields->of->members[index].label);
  check_rows(call, of, &arrays, extent(out->num_rows, out->num_cols, out->row_stride));
  return 0;
}

/* ---- Outputs -------------------------------------------------------------------------------- */

static int want(Call *call, Fields *fields, const Member *member, Element element, int ndim,
                const int64_t *shape) {
  if (call->num_wanted == MAX_WANTED) {
    PyErr_SetString(PyExc_SystemError, "more outputs than a call has");
    return -1;
  }
  Wanted *wanted = &call->wanted[call->num_wanted++];
  *wanted = (Wanted){fields, member, NULL, element, ndim, {shape[0], shape[1], shape[2]}};
  wanted->result = fields->of == &report_args_struct ? &call->report_results[member->result]
                                                     : &call->results[member->result];
  set_pointer(fields, member, nothing);
  return 0;
}

static void keep_result(Call *call, const Fields *fields, const Member *member, PyObject *object) {
  PyObject **results = fields->of == &report_args_struct ? call->report_results : call->results;
  if (member->result >= 0) results[member->result] = Py_NewRef(object);
}

/* 1: an array was given; 0: none is there, or it is allocated later; -1: an exception. */
static int is_given_output(Call *call, Fields *fields, const Member *member, int is_main, int ndim,
                           const int64_t *shape, Element element) {
  PyObject *object = fields->objects[member->object];
  if (object && object != Py_True && object != Py_False) return 1;
  if (object == Py_False || (!object && !is_main)) return 0;
  return want(call, fields, member, element, ndim, shape);
}

static Element id_element_of(const Call *call) {
  return call->id_element == ELEMENT_NONE ? ELEMENT_I32 : call->id_element;
}

int take_output(Call *call, Fields *fields, const char *of, int index, int is_main, int ndim,
                int64_t rows, int64_t cols) {
  const Member *member = &fields->of->members[index];
  const int64_t shape[3] = {rows, cols, 1};
  const int64_t needed = ndim == 1 ? rows : product(rows, cols);
  const int is_id = member->element == ELEMENT_IDS;
  const Element element = is_id ? id_element_of(call) : member->element;
  const int is_given = is_given_output(call, fields, member, is_main, ndim, shape, element);
  Array array;
  if (is_given < 0) return -1;
  if (!is_given) {
    if (is_id && *(void **)(fields->data + member->offset)) {
      check_id_type(call, of, member->label, element);
    }
    return 0;
  }
  PyObject *object = fields->objects[member->object];
  if (call_hold(call, of, member->label, object, &array)) return -1;
  check_element(call, of, member->label, &array, member->element);
  if (is_id) check_id_type(call, of, member->label, array.element);
  check_contiguous(call, of, member->label, &array);
  check_writable(call, of, member->label, &array);
  check_place(call, of, member->label, &array, PLACE_DEVICE);
  check_shape(call, of, member->label, &array, needed, ndim == 1 ? ONE_DIMENSION : cols);
  set_pointer(fields, member, array.data);
  keep_result(call, fields, member, object);
  return 0;
}

/* How the rows of an output with dimensions lie. Its first rows and columns are written. */
static void take_stride(Call *call, Fields *fields, const char *label, int stride_index,
                        const Array *array, int64_t rows, int64_t cols) {
  int64_t *stride = FIELD(fields, int64_t, stride_index), num_rows, num_cols, row_stride;
  rows_of_shape(call, "", label, array, &num_rows, &num_cols, &row_stride);
  if (num_rows < rows || num_cols < cols) {
    call_break(call, "%s has %lld rows of %lld elements; it must have %lld of %lld", label,
               (long long)num_rows, (long long)num_cols, (long long)rows, (long long)cols);
  } else if (row_stride && *stride && *stride != row_stride) {
    call_break(call, "%s is %lld; it must be %lld, as the rows of %s are apart",
               fields->of->members[stride_index].label, (long long)*stride, (long long)row_stride,
               label);
  } else if (row_stride) { /* not of one row */
    *stride = row_stride;
  }
}

int take_floats(Call *call, Fields *fields, int index, int is_main, int64_t rows, int64_t cols,
                int type_index, int stride_index) {
  const Member *member = &fields->of->members[index];
  int32_t *dtype = FIELD(fields, int32_t, type_index);
  const int has_type = fields_given(fields, type_index);
  const int64_t stride = stride_index < 0 ? 0 : *FIELD(fields, int64_t, stride_index);
  const int64_t shape[3] = {rows, first_nonzero(stride, cols), 1};
  const int is_given =
      is_given_output(call, fields, member, is_main, 2, shape, element_of_dtype(*dtype));
  Array array;
  if (is_given <= 0) return is_given;
  PyObject *object = fields->objects[member->object];
  if (call_hold(call, "", member->label, object, &array)) return -1;
  check_floats(call, "", member->label, &array, has_type, dtype);
  check_writable(call, "", member->label, &array);
  check_place(call, "", member->label, &array, PLACE_DEVICE);
  if (stride_index >= 0 && array.ndim > 1) {
    take_stride(call, fields, member->label, stride_index, &array, rows, cols);
  } else {
    check_contiguous(call, "", member->label, &array);
    check_shape(call, "", member->label, &array, extent(rows, cols, stride), cols);
  }
  set_pointer(fields, member, array.data);
  keep_result(call, fields, member, object);
  return 0;
}

/* What libsampler._arrays.empty makes. */
static PyObject *new_array(Call *call, const Wanted *wanted) {
  static PyObject *make = NULL;
  if (!make) {
    PyObject *module = PyImport_ImportModule("libsampler._arrays");
    make = module ? PyObject_GetAttrString(module, "empty") : NULL;
    Py_XDECREF(module);
    if (!make) return NULL;
  }
  PyObject *shape = PyTuple_New(wanted->ndim);
  for (int i = 0; shape && i < wanted->ndim; ++i) {
    const int64_t size = wanted->shape[i] > 0 ? wanted->shape[i] : 0;
    PyObject *number = PyLong_FromLongLong(size);
    if (!number || PyTuple_SetItem(shape, i, number)) {
      Py_DECREF(shape);
      return NULL;
    }
  }
  if (!shape) return NULL;
  const int is_cuda =
      call->sampler && call->sampler->device_type == SAMPLER_DEVICE_CUDA && !call->is_on_host;
  PyObject *array = PyObject_CallFunction(
      make, "OsOsi", call->like ? call->like : Py_None, element_name(wanted->element), shape,
      wanted->member->label, is_cuda ? (int)call->sampler->device_id : -1);
  Py_DECREF(shape);
  return array;
}

int allocate_outputs(Call *call) {
  for (int i = 0; i < call->num_wanted; ++i) {
    Wanted *wanted = &call->wanted[i];
    Array array;
    int64_t needed = 1;
    for (int d = 0; d < wanted->ndim; ++d) needed = product(needed, wanted->shape[d]);
    PyObject *object = new_array(call, wanted);
    if (!object) return -1;
    *wanted->result = object;
    if (call_hold(call, "", wanted->member->label, object, &array)) return -1;
    check_element(call, "", wanted->member->label, &array, wanted->element);
    check_contiguous(call, "", wanted->member->label, &array);
    check_writable(call, "", wanted->member->label, &array);
    check_place(call, "", wanted->member->label, &array, PLACE_DEVICE);
    check_length(call, "", wanted->member->label, array.count, needed);
    Fields fields = *wanted->fields;
    set_pointer(&fields, wanted->member, array.data);
  }
  return call_check(call);
}

/* ---- Results -------------------------------------------------------------------------------- */

static PyObject *results_of(const Struct *of, PyObject **results) {
  PyObject *object = PyStructSequence_New(*of->result_type);
  if (!object) return NULL;
  for (int i = 0; of->results[i]; ++i) {
    PyStructSequence_SetItem(object, i, Py_NewRef(results[i] ? results[i] : Py_None));
  }
  return object;
}

PyObject *call_results(Call *call, const Struct *of) {
  if (call->report_fields.of) {
    for (int i = 0; i < of->num_members; ++i) {
      const Member *member = &of->members[i];
      if (strcmp(member->name, "reports") == 0) {
        PyObject *reports = results_of(&report_args_struct, call->report_results);
        if (!reports) return NULL;
        call->results[member->result] = reports;
      }
    }
  }
  return results_of(of, call->results);
}
