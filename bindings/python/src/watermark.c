/* Watermarks: functions of host memory, without a handle. */
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "dlpack.h"
#include "generated.h"

/* ---- Token ids ------------------------------------------------------------------------------ */

static int64_t *new_ids(int64_t count) {
  int64_t *ids = malloc((count ? (size_t)count : 1) * sizeof *ids);
  return ids ? ids : (int64_t *)PyErr_NoMemory();
}

/* The ids of an array of int32 or int64; NULL without an exception if it is none. */
static int64_t *ids_of_array(Call *call, PyObject *object, int64_t *out_count) {
  Array array;
  if (call_hold(call, "", "", object, &array)) {
    PyErr_Clear();
    return NULL;
  }
  const int is_wide = array.element == ELEMENT_I64;
  if ((!is_wide && array.element != ELEMENT_I32) || !array.ndim || !array.is_contiguous ||
      array.device_type != DLPACK_CPU) {
    return NULL;
  }
  int64_t *ids = new_ids(array.count);
  for (int64_t i = 0; ids && i < array.count; ++i) {
    ids[i] = is_wide ? ((const int64_t *)(void *)array.data)[i]
                     : ((const int32_t *)(void *)array.data)[i];
  }
  *out_count = array.count;
  return ids;
}

/* The ids of any sequence, to be freed; NULL, and an exception, if it is none. */
static int64_t *ids_of(Call *call, const char *label, PyObject *sequence, int64_t *out_count) {
  Array array;
  if (shape_of(call, sequence, &array) && !is_vector(&array)) {
    PyErr_Format(error_of(SAMPLER_ERROR_INVALID_ARGUMENT), "%s has %d dimensions; it must have one",
                 label, array.ndim);
    return NULL;
  }
  int64_t *ids = ids_of_array(call, sequence, out_count);
  if (ids || PyErr_Occurred()) return ids;
  const Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) return NULL;
  ids = new_ids(count);
  for (Py_ssize_t i = 0; ids && i < count; ++i) {
    PyObject *item = PySequence_GetItem(sequence, i);
    const int failed = !item || to_i64(label, item, &ids[i]);
    Py_XDECREF(item);
    if (failed) {
      free(ids);
      return NULL;
    }
  }
  *out_count = count;
  return ids;
}

/* The same as int32. */
static int32_t *narrow_ids_of(Call *call, const char *label, PyObject *sequence,
                              int64_t *out_count) {
  int64_t *ids = ids_of(call, label, sequence, out_count);
  for (int64_t i = 0; ids && i < *out_count; ++i) {
    const int32_t id = (int32_t)ids[i];
    if (id != ids[i]) {
      call_break(call, "%s is %lld; it must be in [-2^31, 2^31)", label, (long long)ids[i]);
    }
    memcpy((char *)ids + (size_t)i * sizeof id, &id, sizeof id);
  }
  return (int32_t *)(void *)ids;
}

static void check_count(Call *call, const char *label, int64_t count, int64_t needed) {
  if (count == needed) return;
  call_break(call, "%s has %lld elements; it must have %lld", label, (long long)count,
             (long long)needed);
}

/* ---- vLLM's scheme -------------------------------------------------------------------------- */

PyObject *watermark_random(PyObject *module, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"key", "context", NULL};
  PyObject *key_object, *context;
  uint64_t key, seed, offset;
  uint32_t stream;
  int64_t length;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO:watermark_random", names, &key_object,
                                   &context) ||
      to_u64("key", key_object, &key)) {
    return NULL;
  }
  Call call;
  call_begin(&call, NULL, "watermark_random");
  int64_t *ids = ids_of(&call, "context", context, &length);
  call_end(&call);
  if (!ids) return NULL;
  const sampler_status status = sampler_watermark_random(key, ids, length, &seed, &offset, &stream);
  free(ids);
  if (status != SAMPLER_OK) return raise_status(status);
  return Py_BuildValue("(KKI)", (unsigned long long)seed, (unsigned long long)offset,
                       (unsigned int)stream);
}

PyObject *watermark_detect(PyObject *module, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"key", "token_ids", "context_length", "keeps_repeated", NULL};
  PyObject *key_object, *text, *length_object = NULL;
  uint64_t key;
  int64_t count, length = 4, num_scored;
  double score, p_value;
  int keeps_repeated = 0;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO|Op:watermark_detect", names,
                                   &key_object, &text, &length_object, &keeps_repeated) ||
      to_u64("key", key_object, &key) ||
      (unless_none(length_object) && to_i64("context_length", length_object, &length))) {
    return NULL;
  }
  Call call;
  call_begin(&call, NULL, "watermark_detect");
  int64_t *ids = ids_of(&call, "token_ids", text, &count);
  call_end(&call);
  if (!ids) return NULL;
  sampler_status status;
  Py_BEGIN_ALLOW_THREADS status = sampler_watermark_detect(key, ids, count, length, keeps_repeated,
                                                           &score, &num_scored, &p_value);
  Py_END_ALLOW_THREADS free(ids);
  if (status != SAMPLER_OK) return raise_status(status);
  return Py_BuildValue("(dLd)", score, (long long)num_scored, p_value);
}

/* ---- Hugging Face's schemes ----------------------------------------------------------------- */

enum { MAX_TABLE_SIZE = 1 << 24, END_OF_VOCABULARIES = 1 << 20 };

/* That of the scheme where none is given; -1 where none is known. */
static int64_t table_size_of(const sampler_watermark_params *params) {
  if (params->table_size) return params->table_size;
  switch (params->scheme) {
    case SAMPLER_WATERMARK_LEFTHASH:
      return 0;
    case SAMPLER_WATERMARK_SELFHASH:
      return 1000003;
    case SAMPLER_WATERMARK_TOURNAMENT:
      return 65536;
    default:
      return -1;
  }
}

static int take_watermark_params(Call *call, PyObject *object, int reads_table,
                                 sampler_watermark_params *out) {
  Fields given;
  if (given_object("params", object, &watermark_params_struct, out, &given) ||
      take_counted(call, &given, "params->", watermark_params__keys, watermark_params__num_keys,
                   PLACE_HOST)) {
    return -1;
  }
  PyObject *table = OBJECT(&given, watermark_params__table);
  if (!table || !reads_table || out->scheme == SAMPLER_WATERMARK_LEFTHASH) return 0;
  if (take_array(call, &given, "params->", watermark_params__table, 0, PLACE_HOST)) return -1;
  check_count(call, "params->table", length_of(call, table), table_size_of(out));
  return 0;
}

/* A new array for `size` elements, of the package of `like`, and where they are: NULL for a size
 * that the library refuses, which then says so. */
static PyObject *new_array(Call *call, PyObject *like, const char *element, int64_t size,
                           int64_t end, char **out_data) {
  Array array;
  PyObject *module = PyImport_ImportModule("libsampler._arrays");
  const int is_refused = size < 0 || size >= end;
  PyObject *object = module ? PyObject_CallMethod(module, "empty", "Os(L)si", like, element,
                                                  (long long)(is_refused ? 0 : size), "", -1)
                            : NULL;
  Py_XDECREF(module);
  if (object && call_hold(call, "", "", object, &array)) Py_CLEAR(object);
  static char nothing[8];
  if (object) *out_data = is_refused ? NULL : array.data && size ? array.data : nothing;
  return object;
}

PyObject *watermark_table(PyObject *module, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"params", NULL};
  sampler_watermark_params params;
  PyObject *object, *result = NULL;
  char *out;
  Call call;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O:watermark_table", names, &object)) {
    return NULL;
  }
  call_begin(&call, NULL, "watermark_table");
  if (take_watermark_params(&call, object, 0, &params) == 0 && call_check(&call) == 0) {
    result = new_array(&call, Py_None, "int32", table_size_of(&params), MAX_TABLE_SIZE + 1, &out);
  }
  if (result) {
    sampler_status status;
    Py_BEGIN_ALLOW_THREADS status = sampler_watermark_table(&params, (int32_t *)(void *)out);
    Py_END_ALLOW_THREADS if (status != SAMPLER_OK) {
      Py_DECREF(result);
      result = raise_status(status);
    }
  }
  call_end(&call);
  return result;
}

PyObject *watermark_bias(PyObject *module, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"params", "context", "candidate_token_ids", NULL};
  sampler_watermark_params params;
  PyObject *object, *context, *candidates = Py_None, *result = NULL;
  int64_t length, count = 0, *context_ids = NULL;
  int32_t *ids = NULL;
  char *out;
  Call call;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO|O:watermark_bias", names, &object,
                                   &context, &candidates)) {
    return NULL;
  }
  const int has_candidates = candidates != Py_None;
  call_begin(&call, NULL, "watermark_bias");
  if (take_watermark_params(&call, object, 1, &params) == 0 &&
      (context_ids = ids_of(&call, "context", context, &length)) &&
      (!has_candidates ||
       (ids = narrow_ids_of(&call, "candidate_token_ids", candidates, &count)))) {
    const int is_dense = params.scheme == SAMPLER_WATERMARK_LEFTHASH;
    check_count(&call, "context", length, params.context_length);
    if (call_check(&call) == 0) {
      result = new_array(&call, has_candidates ? candidates : context, "float32",
                         is_dense ? params.vocabulary_size : count,
                         is_dense ? END_OF_VOCABULARIES : INT64_MAX, &out);
    }
  }
  if (result) {
    sampler_status status;
    Py_BEGIN_ALLOW_THREADS status =
        sampler_watermark_bias(&params, context_ids, ids, count, (float *)(void *)out);
    Py_END_ALLOW_THREADS if (status != SAMPLER_OK) {
      Py_DECREF(result);
      result = raise_status(status);
    }
  }
  free(context_ids);
  free(ids);
  call_end(&call);
  return result;
}

/* [count] of float32, which the call changes. */
static int take_probabilities(Call *call, PyObject *object, int64_t count, float **out) {
  Array array;
  if (call_hold(call, "", "probabilities", object, &array)) return -1;
  if (array.element != ELEMENT_F32) {
    call_break(call, "probabilities is %s; it must be float32", element_name(array.element));
  } else if (!array.is_contiguous) {
    call_break(call, "probabilities has gaps between its elements; it must be contiguous");
  } else if (array.is_readonly) {
    call_break(call, "probabilities is read-only; it must be writable");
  } else if (array.device_type != DLPACK_CPU) {
    call_break(call, "probabilities is on a device; it must be on cpu");
  }
  check_count(call, "probabilities", array.count, count);
  *out = (float *)(void *)array.data;
  return 0;
}

PyObject *watermark_tournament(PyObject *module, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"params", "context", "token_ids", "probabilities", NULL};
  sampler_watermark_params params;
  PyObject *object, *context, *tokens, *probabilities, *result = NULL;
  int64_t length, count, *context_ids = NULL;
  int32_t *ids = NULL;
  float *values;
  Call call;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OOOO:watermark_tournament", names, &object,
                                   &context, &tokens, &probabilities)) {
    return NULL;
  }
  call_begin(&call, NULL, "watermark_tournament");
  if (take_watermark_params(&call, object, 1, &params) == 0 &&
      (context_ids = ids_of(&call, "context", context, &length)) &&
      (ids = narrow_ids_of(&call, "token_ids", tokens, &count)) &&
      take_probabilities(&call, probabilities, count, &values) == 0) {
    check_count(&call, "context", length, params.context_length);
    if (call_check(&call) == 0) {
      sampler_status status;
      Py_BEGIN_ALLOW_THREADS status =
          sampler_watermark_tournament(&params, context_ids, ids, count, values);
      Py_END_ALLOW_THREADS result =
          status == SAMPLER_OK ? Py_NewRef(Py_None) : raise_status(status);
    }
  }
  free(context_ids);
  free(ids);
  call_end(&call);
  return result;
}

PyObject *watermark_score(PyObject *module, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"params", "token_ids", NULL};
  sampler_watermark_params params;
  PyObject *object, *text, *result = NULL;
  int64_t count, num_scored, *ids = NULL;
  double score, p_value;
  Call call;
  (void)module;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "OO:watermark_score", names, &object,
                                   &text)) {
    return NULL;
  }
  call_begin(&call, NULL, "watermark_score");
  if (take_watermark_params(&call, object, 1, &params) == 0 && call_check(&call) == 0 &&
      (ids = ids_of(&call, "token_ids", text, &count))) {
    sampler_status status;
    Py_BEGIN_ALLOW_THREADS status =
        sampler_watermark_score(&params, ids, count, &score, &num_scored, &p_value);
    Py_END_ALLOW_THREADS result =
        status == SAMPLER_OK ? Py_BuildValue("(dLd)", score, (long long)num_scored, p_value)
                             : raise_status(status);
  }
  free(ids);
  call_end(&call);
  return result;
}
