/* The calls of simple.h. Where the sampler brings no workspace, or one that is too small, the full
 * call that each is a short form of is made, with the workspace that the sampler keeps. */
#include <string.h>

#include "calls.h"
#include "core.h"
#include "generated.h"

/* Names of arguments, in their order; the first of them that are required. */
typedef struct Spec {
  const char *function;
  int num_required;
  const char *names[12]; /* then NULL */
} Spec;

enum { MAX_ARGUMENTS = 12 };

static int find_argument(const Spec *spec, PyObject *name) {
  for (int i = 0; spec->names[i]; ++i) {
    if (PyUnicode_CompareWithASCIIString(name, spec->names[i]) == 0) return i;
  }
  return -1;
}

/* Borrowed arguments; NULL where one is None or was not given. */
static int parse(const Spec *spec, PyObject *const *arguments, Py_ssize_t count, PyObject *names,
                 PyObject **out) {
  const Py_ssize_t num_names = names ? PyTuple_Size(names) : 0;
  int num_known = 0;
  while (spec->names[num_known]) out[num_known++] = NULL;
  if (count > num_known) {
    PyErr_Format(PyExc_TypeError, "%s() takes %d arguments; %zd were given", spec->function,
                 num_known, count);
    return -1;
  }
  for (Py_ssize_t i = 0; i < count; ++i) out[i] = arguments[i];
  for (Py_ssize_t i = 0; i < num_names; ++i) {
    PyObject *name = PyTuple_GetItem(names, i);
    const int index = find_argument(spec, name);
    if (index < 0 || out[index]) {
      PyErr_Format(PyExc_TypeError,
                   index < 0 ? "%s() has no argument %R" : "%s() has the argument %R twice",
                   spec->function, name);
      return -1;
    }
    out[index] = arguments[count + i];
  }
  for (int i = 0; i < num_known; ++i) {
    if (i < spec->num_required && !out[i]) {
      PyErr_Format(PyExc_TypeError, "%s() needs the argument '%s'", spec->function, spec->names[i]);
      return -1;
    }
    if (out[i] == Py_None) out[i] = NULL;
  }
  return 0;
}

/* ---- What they have in common --------------------------------------------------------------- */

/* A call of C with the sampler's own workspace. */
typedef struct Simple {
  Call call;
  Fields fields;
  PyObject *objects[MAX_OBJECTS];
} Simple;

static int begin(Simple *s, PyObject *self, const Spec *spec, const Struct *of, void *args,
                 PyObject *stream) {
  fields_init(&s->fields, of, args, s->objects);
  if (call_begin(&s->call, (SamplerObject *)self, spec->function)) return -1;
  if (stream) {
    if (to_stream("stream", stream, &s->call.stream)) return -1;
    s->call.has_stream = 1;
  }
  return 0;
}

static void give(Fields *fields, int index, PyObject *object) {
  if (object) fields_set(fields, index, object); /* an object: it cannot fail */
}

/* 1: the simple function of C has what it needs, the sampler's own workspace, and outputs as large
 * as the input; 0: it has not; -1: an exception. */
static int prepare_direct(Call *call) {
  if (!call->sampler->has_workspace || call->broken[0]) return 0;
  if (!call->num_wanted) return 1;
  if (allocate_outputs(call)) return -1;
  call->num_wanted = 0;
  return 1;
}

/* -1 with an exception; 0: done; 1: the workspace is too small, so that the full call is to be
 * made, which brings one. */
static int end_direct(const Call *call, sampler_status status) {
  if (status == SAMPLER_OK) return 0;
  if (status == SAMPLER_ERROR_WORKSPACE_TOO_SMALL &&
      call->sampler->device_type == SAMPLER_DEVICE_CPU) {
    return 1;
  }
  raise_status(status);
  return -1;
}

static int need_number(const Spec *spec, int index, PyObject *value) {
  if (value) return 0;
  PyErr_Format(PyExc_TypeError, "%s is None; it must be a number", spec->names[index]);
  return -1;
}

/* The only output of a call. */
static int need_output(const Spec *spec, int index, PyObject *output) {
  if (output != Py_False) return 0;
  PyErr_Format(error_of(SAMPLER_ERROR_INVALID_ARGUMENT),
               "%s is False; it must be an array, or True for one that the call makes",
               spec->names[index]);
  return -1;
}

/* ---- Tokens --------------------------------------------------------------------------------- */

typedef enum { ARGMAX, CATEGORICAL, TOP_K, TOP_P, MIN_P, TOP_K_TOP_P } Draw;

typedef struct DrawNumbers {
  int32_t top_k;
  float top_p, min_p, temperature;
  uint64_t seed, offset;
} DrawNumbers;

static sampler_status draw_direct(Draw draw, sampler_t s, const sampler_rows *input,
                                  const DrawNumbers *n, int32_t *out, sampler_stream stream) {
  switch (draw) {
    case ARGMAX:
      return sampler_argmax(s, input, out, stream);
    case CATEGORICAL:
      return sampler_categorical(s, input, n->temperature, n->seed, n->offset, out, stream);
    case TOP_K:
      return sampler_top_k(s, input, n->top_k, n->temperature, n->seed, n->offset, out, stream);
    case TOP_P:
      return sampler_top_p(s, input, n->top_p, n->temperature, n->seed, n->offset, out, stream);
    case MIN_P:
      return sampler_min_p(s, input, n->min_p, n->temperature, n->seed, n->offset, out, stream);
    default:
      return sampler_top_k_top_p(s, input, n->top_k, n->top_p, n->temperature, n->seed, n->offset,
                                 out, stream);
  }
}

/* Numbers stand after the input: those of the filters, then temperature, seed, offset. */
static int draw_numbers(const Spec *spec, Draw draw, PyObject **given, DrawNumbers *n) {
  int at = 1;
  *n = (DrawNumbers){0, 1.0f, 0.0f, draw == ARGMAX ? 0.0f : 1.0f, 0, 0};
  for (int i = 1; i < spec->num_required; ++i) {
    if (need_number(spec, i, given[i])) return -1;
  }
  if ((draw == TOP_K || draw == TOP_K_TOP_P) && to_i32("top_k", given[at++], &n->top_k)) return -1;
  if ((draw == TOP_P || draw == TOP_K_TOP_P) && to_f32("top_p", given[at++], &n->top_p)) return -1;
  if (draw == MIN_P && to_f32("min_p", given[at++], &n->min_p)) return -1;
  if (draw == ARGMAX) return 0;
  if (to_f32("temperature", given[at], &n->temperature) ||
      to_u64("seed", given[at + 1], &n->seed) || to_u64("offset", given[at + 2], &n->offset)) {
    return -1;
  }
  return 0;
}

static int run_draw(Simple *s, Draw draw, const DrawNumbers *n, sampler_sample_args *args) {
  Call *call = &s->call;
  args->exec.stream = call->stream;
  const int direct = prepare_direct(call);
  if (direct < 0) return -1;
  if (direct) {
    sampler_status status;
    Py_BEGIN_ALLOW_THREADS status = draw_direct(draw, call->sampler->handle, &args->input, n,
                                                args->out_token_ids, call->stream);
    Py_END_ALLOW_THREADS const int ended = end_direct(call, status);
    if (ended <= 0) return ended;
  }
  call->params = sampler_params_default();
  call->params.temperature = n->temperature;
  call->params.top_k = n->top_k;
  call->params.top_p = n->top_p;
  call->params.min_p = n->min_p;
  args->params = &call->params;
  args->random.seed = n->seed;
  args->random.offset = n->offset;
  return call_run(call, OPERATION_SAMPLE, args, &args->exec);
}

static PyObject *draw_tokens(const Spec *spec, Draw draw, PyObject *self,
                             PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  PyObject *given[MAX_ARGUMENTS], *result = NULL;
  sampler_sample_args args;
  DrawNumbers numbers;
  Simple s;
  const int after = spec->num_required;
  if (parse(spec, arguments, count, names, given) || draw_numbers(spec, draw, given, &numbers) ||
      need_output(spec, after, given[after])) {
    return NULL;
  }
  if (begin(&s, self, spec, &sample_args_struct, &args, given[after + 1]) == 0) {
    give(&s.fields, sample_args__input, given[0]);
    give(&s.fields, sample_args__out_token_ids, given[after]);
    s.call.id_element = ELEMENT_I32; /* simple.h has no others */
    strcpy(s.call.id_label, "a token id of a simple call");
    if (!take_rows(&s.call, &s.fields, sample_args__input, &args.input) &&
        !take_output(&s.call, &s.fields, "", sample_args__out_token_ids, 1, 1, args.input.num_rows,
                     1) &&
        !run_draw(&s, draw, &numbers, &args)) {
      result = s.call.results[sample_args_members[sample_args__out_token_ids].result];
      Py_XINCREF(result);
    }
  }
  call_end(&s.call);
  return result;
}

#define DRAW(name, draw, required, ...)                                               \
  PyObject *call_##name(PyObject *self, PyObject *const *arguments, Py_ssize_t count, \
                        PyObject *names) {                                            \
    static const Spec spec = {                                                        \
        #name, required, {"input", __VA_ARGS__, "out_token_ids", "stream", NULL}};    \
    return draw_tokens(&spec, draw, self, arguments, count, names);                   \
  }

PyObject *call_argmax(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                      PyObject *names) {
  static const Spec spec = {"argmax", 1, {"input", "out_token_ids", "stream", NULL}};
  return draw_tokens(&spec, ARGMAX, self, arguments, count, names);
}

DRAW(categorical, CATEGORICAL, 4, "temperature", "seed", "offset")
DRAW(top_k, TOP_K, 5, "top_k", "temperature", "seed", "offset")
DRAW(top_p, TOP_P, 5, "top_p", "temperature", "seed", "offset")
DRAW(min_p, MIN_P, 5, "min_p", "temperature", "seed", "offset")
DRAW(top_k_top_p, TOP_K_TOP_P, 6, "top_k", "top_p", "temperature", "seed", "offset")

/* ---- Rows ----------------------------------------------------------------------------------- */

typedef enum { SOFTMAX, TOP_K_RENORM, TOP_P_RENORM, TOP_K_MASK } Write;

static sampler_status write_direct(Write write, sampler_t s, const sampler_rows *input,
                                   int32_t top_k, float number, float *out, sampler_stream stream) {
  switch (write) {
    case SOFTMAX:
      return sampler_softmax(s, input, number, out, stream);
    case TOP_K_RENORM:
      return sampler_top_k_renorm(s, input, top_k, out, stream);
    case TOP_P_RENORM:
      return sampler_top_p_renorm(s, input, number, out, stream);
    default:
      return sampler_top_k_mask(s, input, top_k, out, stream);
  }
}

static int run_write(Simple *s, Write write, int32_t top_k, float number,
                     sampler_filter_args *args) {
  Call *call = &s->call;
  args->exec.stream = call->stream;
  const int direct = prepare_direct(call);
  if (direct < 0) return -1;
  if (direct) {
    sampler_status status;
    Py_BEGIN_ALLOW_THREADS status = write_direct(write, call->sampler->handle, &args->input, top_k,
                                                 number, args->output, call->stream);
    Py_END_ALLOW_THREADS const int ended = end_direct(call, status);
    if (ended <= 0) return ended;
  }
  call->params = sampler_params_default();
  if (write == SOFTMAX) call->params.temperature = number;
  if (write == TOP_P_RENORM) call->params.top_p = number;
  call->params.top_k = top_k;
  args->params = &call->params;
  args->output_kind = write == TOP_K_MASK ? SAMPLER_OUTPUT_VALUES : SAMPLER_OUTPUT_PROBABILITIES;
  return call_run(call, OPERATION_FILTER, args, &args->exec);
}

static PyObject *write_rows(const Spec *spec, Write write, PyObject *self,
                            PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  PyObject *given[MAX_ARGUMENTS], *result = NULL;
  sampler_filter_args args;
  int32_t top_k = 0;
  float number = 1.0f;
  Simple s;
  if (parse(spec, arguments, count, names, given) || need_number(spec, 1, given[1])) return NULL;
  if (write == TOP_K_RENORM || write == TOP_K_MASK ? to_i32("top_k", given[1], &top_k)
                                                   : to_f32(spec->names[1], given[1], &number)) {
    return NULL;
  }
  if (need_output(spec, 2, given[2])) return NULL;
  if (begin(&s, self, spec, &filter_args_struct, &args, given[3]) == 0) {
    give(&s.fields, filter_args__input, given[0]);
    give(&s.fields, filter_args__output, given[2]);
    s.fields.given |= (uint64_t)1 << filter_args__output_dtype; /* f32, one row after the other */
    if (!take_rows(&s.call, &s.fields, filter_args__input, &args.input) &&
        !take_floats(&s.call, &s.fields, filter_args__output, 1, args.input.num_rows,
                     args.input.num_cols, filter_args__output_dtype, -1) &&
        !run_write(&s, write, top_k, number, &args)) {
      result = s.call.results[filter_args_members[filter_args__output].result];
      Py_XINCREF(result);
    }
  }
  call_end(&s.call);
  return result;
}

#define WRITE(name, write, number)                                                    \
  PyObject *call_##name(PyObject *self, PyObject *const *arguments, Py_ssize_t count, \
                        PyObject *names) {                                            \
    static const Spec spec = {#name, 2, {"input", number, "output", "stream", NULL}}; \
    return write_rows(&spec, write, self, arguments, count, names);                   \
  }

WRITE(softmax, SOFTMAX, "temperature")
WRITE(top_k_renorm, TOP_K_RENORM, "top_k")
WRITE(top_p_renorm, TOP_P_RENORM, "top_p")
WRITE(top_k_mask, TOP_K_MASK, "top_k")

/* ---- Lists ---------------------------------------------------------------------------------- */

static int run_select(Simple *s, sampler_select_args *args) {
  Call *call = &s->call;
  args->exec.stream = call->stream;
  /* The number of columns of what is allocated is for the full call to check. */
  const int direct = call->num_wanted ? 0 : prepare_direct(call);
  if (direct) {
    sampler_status status;
    Py_BEGIN_ALLOW_THREADS status =
        sampler_top_k_select(call->sampler->handle, &args->input, args->num_selected,
                             args->out_values, args->out_token_ids, call->stream);
    Py_END_ALLOW_THREADS const int ended = end_direct(call, status);
    if (ended <= 0) return ended;
  }
  return call_run(call, OPERATION_SELECT, args, &args->exec);
}

static PyObject *pair_of(PyObject *a, PyObject *b) {
  return PyTuple_Pack(2, a ? a : Py_None, b ? b : Py_None);
}

PyObject *call_top_k_select(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                            PyObject *names) {
  static const Spec spec = {
      "top_k_select", 2, {"input", "num_selected", "out_values", "out_token_ids", "stream", NULL}};
  PyObject *given[MAX_ARGUMENTS], *result = NULL;
  sampler_select_args args;
  Simple s;
  int64_t num_selected;
  if (parse(&spec, arguments, count, names, given) || need_number(&spec, 1, given[1]) ||
      to_i64("num_selected", given[1], &num_selected)) {
    return NULL;
  }
  if (begin(&s, self, &spec, &select_args_struct, &args, given[4]) == 0) {
    args.num_selected = num_selected;
    give(&s.fields, select_args__input, given[0]);
    give(&s.fields, select_args__out_values, given[2]);
    give(&s.fields, select_args__out_token_ids, given[3]);
    s.fields.given |= (uint64_t)1 << select_args__output_dtype;
    s.call.id_element = ELEMENT_I32;
    strcpy(s.call.id_label, "a token id of a simple call");
    if (!take_rows(&s.call, &s.fields, select_args__input, &args.input) &&
        !take_floats(&s.call, &s.fields, select_args__out_values, 1, args.input.num_rows,
                     num_selected, select_args__output_dtype, -1) &&
        !take_output(&s.call, &s.fields, "", select_args__out_token_ids, 1, 2, args.input.num_rows,
                     num_selected) &&
        !run_select(&s, &args)) {
      result = pair_of(s.call.results[select_args_members[select_args__out_values].result],
                       s.call.results[select_args_members[select_args__out_token_ids].result]);
    }
  }
  call_end(&s.call);
  return result;
}

/* ---- Drafts --------------------------------------------------------------------------------- */

static int run_chain(Simple *s, sampler_verify_args *args) {
  Call *call = &s->call;
  args->exec.stream = call->stream;
  const int direct = prepare_direct(call);
  if (direct < 0) return -1;
  if (direct) {
    sampler_status status;
    const sampler_rows *draft = args->draft.values ? &args->draft : NULL;
    Py_BEGIN_ALLOW_THREADS status = sampler_chain_speculative(
        call->sampler->handle, &args->target, draft, args->draft_token_ids, args->num_drafts,
        args->random.seed, args->random.offset, args->out_token_ids, args->out_accepted_counts,
        args->out_emitted_counts, call->stream);
    Py_END_ALLOW_THREADS const int ended = end_direct(call, status);
    if (ended <= 0) return ended;
  }
  return call_run(call, OPERATION_VERIFY, args, &args->exec);
}

static int take_chain(Simple *s, sampler_verify_args *a) {
  Call *call = &s->call;
  RowsArray target, draft;
  if (take_rows_array(call, &s->fields, verify_args__target, &a->target, &target) ||
      take_rows_array(call, &s->fields, verify_args__draft, &a->draft, &draft)) {
    return -1;
  }
  const int64_t positions = sum(a->num_drafts, 1);
  check_positions(call, "target", &target, positions);
  check_positions(call, "draft", &draft, a->num_drafts);
  check_rows(call, "target.", &target,
             extent(a->target.num_rows, a->target.num_cols, a->target.row_stride));
  check_rows(call, "draft.", &draft,
             extent(a->draft.num_rows, a->draft.num_cols, a->draft.row_stride));
  const int64_t sequences = positions > 0 ? a->target.num_rows / positions : 0;
  return take_ids(call, &s->fields, "", verify_args__draft_token_ids,
                  product(sequences, a->num_drafts), a->num_drafts) ||
         take_output(call, &s->fields, "", verify_args__out_token_ids, 1, 2, sequences,
                     positions) ||
         take_output(call, &s->fields, "", verify_args__out_accepted_counts, 1, 1, sequences, 1) ||
         take_output(call, &s->fields, "", verify_args__out_emitted_counts, 1, 1, sequences, 1);
}

PyObject *call_chain_speculative(PyObject *self, PyObject *const *arguments, Py_ssize_t count,
                                 PyObject *names) {
  static const Spec spec = {
      "chain_speculative",
      6,
      {"target", "draft", "draft_token_ids", "num_drafts", "seed", "offset", "out_token_ids",
       "out_accepted_counts", "out_emitted_counts", "stream", NULL}};
  static const int indices[] = {verify_args__target, verify_args__draft,
                                verify_args__draft_token_ids};
  static const int outputs[] = {verify_args__out_token_ids, verify_args__out_accepted_counts,
                                verify_args__out_emitted_counts};
  PyObject *given[MAX_ARGUMENTS], *result = NULL;
  sampler_verify_args args;
  Simple s;
  int64_t num_drafts;
  uint64_t seed, offset;
  if (parse(&spec, arguments, count, names, given)) return NULL;
  for (int i = 3; i < 6; ++i) {
    if (need_number(&spec, i, given[i])) return NULL;
  }
  if (to_i64("num_drafts", given[3], &num_drafts) || to_u64("seed", given[4], &seed) ||
      to_u64("offset", given[5], &offset)) {
    return NULL;
  }
  if (begin(&s, self, &spec, &verify_args_struct, &args, given[9]) == 0) {
    for (int i = 0; i < 3; ++i) give(&s.fields, indices[i], given[i]);
    for (int i = 0; i < 3; ++i) give(&s.fields, outputs[i], given[6 + i]);
    args.num_drafts = num_drafts;
    args.random.seed = seed;
    args.random.offset = offset;
    s.call.id_element = ELEMENT_I32;
    strcpy(s.call.id_label, "a token id of a simple call");
    if (!take_chain(&s, &args) && !run_chain(&s, &args)) {
      PyObject *found[3];
      for (int i = 0; i < 3; ++i) {
        found[i] = s.call.results[verify_args_members[outputs[i]].result];
        if (!found[i]) found[i] = Py_None;
      }
      result = PyTuple_Pack(3, found[0], found[1], found[2]);
    }
  }
  call_end(&s.call);
  return result;
}
