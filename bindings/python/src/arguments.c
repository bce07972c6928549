/* What several calls take: parameters, stages, randomness, reports, rules. Lengths are those that
 * the headers name. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "core.h"
#include "generated.h"

int64_t product(int64_t a, int64_t b) {
  int64_t result;
  if (a <= 0 || b <= 0) return 0;
  return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}

int64_t sum(int64_t a, int64_t b) {
  int64_t result;
  if (__builtin_add_overflow(a, b, &result)) return INT64_MAX;
  return result > 0 ? result : 0;
}

int64_t extent(int64_t num_rows, int64_t num_cols, int64_t stride) {
  if (num_rows <= 0 || num_cols <= 0) return 0;
  return sum(product(num_rows - 1, first_nonzero(stride, num_cols)), num_cols);
}

int given_object(const char *label, PyObject *object, const Struct *of, void *memory, Fields *out) {
  if (Py_TYPE(object) != struct_type(of)) {
    PyObject *name = PyType_GetName(Py_TYPE(object));
    if (name) {
      PyErr_Format(PyExc_TypeError, "%s is of type %U; it must be libsampler.%s", label, name,
                   of->name);
    }
    Py_XDECREF(name);
    return -1;
  }
  *out = struct_fields(object);
  memcpy(memory, out->data, of->size);
  out->data = memory;
  return 0;
}

/* 1: `out` has the members of the struct that is given, copied to `memory`; 0: none is given. */
static int given_struct(const Fields *fields, int index, const Struct *of, void *memory,
                        Fields *out) {
  PyObject *object = OBJECT(fields, index);
  if (!object) return 0;
  return given_object(fields->of->members[index].label, object, of, memory, out) ? -1 : 1;
}

int take_params(Call *call, Fields *fields, int index, sampler_params *memory,
                const sampler_params **out) {
  Fields given;
  const int found = given_struct(fields, index, &params_struct, memory, &given);
  (void)call;
  if (found > 0) *out = memory;
  return found < 0 ? -1 : 0;
}

int take_row_params(Call *call, Fields *fields, int index, int64_t num_slots,
                    sampler_row_params *memory, const sampler_row_params **out) {
  Fields given;
  char of[32];
  const int found = given_struct(fields, index, &row_params_struct, memory, &given);
  if (found <= 0) return found;
  snprintf(of, sizeof of, "%s->", fields->of->members[index].label);
  for (int i = 0; i < row_params_struct.num_members; ++i) { /* all are arrays by slot */
    if (take_array(call, &given, of, i, num_slots, PLACE_PARAMETER)) return -1;
  }
  *out = memory;
  return 0;
}

/* ---- Slots ---------------------------------------------------------------------------------- */

/* The least of the numbers that are known: whatever has others breaks a rule of its own. */
static void note_slots(int64_t *slots, int64_t number) {
  if (number > 0 && (!*slots || number < *slots)) *slots = number;
}

static void note_row_params(Call *call, const Fields *fields, int index, int64_t *slots) {
  PyObject *object = OBJECT(fields, index);
  if (!object || Py_TYPE(object) != struct_type(&row_params_struct)) return;
  const Fields given = struct_fields(object);
  for (int i = 0; i < given.of->num_objects; ++i) {
    note_slots(slots, length_of(call, given.objects[i]));
  }
}

/* One list is for all slots. */
static void note_lists(Call *call, PyObject *object, int64_t *slots) {
  PyObject *offsets = NULL;
  if (object && Py_TYPE(object) == struct_type(&token_lists_struct)) {
    const Fields given = struct_fields(object);
    const int64_t given_number = *FIELD(&given, int64_t, token_lists__num_lists);
    if (given_number > 1) note_slots(slots, given_number);
    if (!given_number) offsets = OBJECT(&given, token_lists__offsets);
  } else if (object && PyTuple_Check(object) && PyTuple_Size(object) == 2) {
    offsets = PyTuple_GetItem(object, 0);
  }
  const int64_t number = length_of(call, offsets) - 1;
  if (number > 1) note_slots(slots, number);
}

static void note_pipeline(Call *call, const Fields *fields, int index, int64_t *slots) {
  static const int lists[] = {pipeline__history, pipeline__biased, pipeline__allowed,
                              pipeline__banned,  pipeline__stop,   pipeline__unpenalized};
  PyObject *object = OBJECT(fields, index);
  if (!object || Py_TYPE(object) != struct_type(&pipeline_struct)) return;
  const Fields given = struct_fields(object);
  PyObject *state = OBJECT(&given, pipeline__state);
  Array biases;
  note_slots(slots, length_of(call, OBJECT(&given, pipeline__prompt_lengths)));
  note_slots(slots, length_of(call, OBJECT(&given, pipeline__bad_word_offsets)) - 1);
  note_slots(slots, length_of(call, OBJECT(&given, pipeline__adaptive_values)) /
                        SAMPLER_NUM_ADAPTIVE_VALUES);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
    note_lists(call, OBJECT(&given, lists[i]), slots);
  }
  if (shape_of(call, OBJECT(&given, pipeline__dense_bias), &biases)) {
    const int64_t cols = columns_of(&biases);
    /* One row is for all, too. */
    if (cols > 0 && biases.count > cols) note_slots(slots, biases.count / cols);
  }
  if (state && Py_TYPE(state) == state_type) note_slots(slots, ((StateObject *)state)->num_slots);
}

int64_t count_slots(Call *call, Fields *fields, int slots_index, const int *by_slot,
                    int64_t num_rows) {
  const int number_index = slots_index + 1;
  int64_t *number = FIELD(fields, int64_t, number_index), slots = 0;
  if (!OBJECT(fields, slots_index)) return num_rows;
  if (fields_given(fields, number_index) || num_rows <= 0) return *number;
  for (; *by_slot >= 0; ++by_slot) {
    const Member *member = &fields->of->members[*by_slot];
    if (strstr(member->name, "row_params")) {
      note_row_params(call, fields, *by_slot, &slots);
    } else if (strcmp(member->name, "pipeline") == 0) {
      note_pipeline(call, fields, *by_slot, &slots);
    } else { /* one seed or offset is for all */
      const int64_t length = length_of(call, OBJECT(fields, *by_slot));
      const int is_shared = length == 1 && (strcmp(member->name, "seeds") == 0 ||
                                            strcmp(member->name, "offsets") == 0);
      if (!is_shared) note_slots(&slots, length);
    }
  }
  if (!slots) {
    call_break(call, "num_slots is not given; slots needs it, where no array by slot has it");
  }
  *number = slots;
  return slots;
}

int take_random(Call *call, Fields *fields, int seed_index, int64_t num_slots) {
  const int shift = seed_index - sample_args__seed;
  if (take_counted(call, fields, "", sample_args__seeds + shift, sample_args__num_seeds + shift,
                   PLACE_PARAMETER) ||
      take_counted(call, fields, "", sample_args__offsets + shift, sample_args__num_offsets + shift,
                   PLACE_PARAMETER)) {
    return -1;
  }
  return take_array(call, fields, "", sample_args__streams + shift, num_slots, PLACE_PARAMETER);
}

static int take_state(Call *call, Fields *given, int index) {
  PyObject *object = OBJECT(given, index);
  if (!object) return 0;
  if (Py_TYPE(object) != state_type) {
    PyErr_SetString(PyExc_TypeError, "pipeline->state must be a libsampler.State");
    return -1;
  }
  StateObject *state = (StateObject *)object;
  if (state->child.sampler != call->sampler) {
    call_break(call, "pipeline->state is of another sampler; it must be of the one that is called");
    return 0;
  }
  if (!state->child.handle) {
    raise_closed("pipeline->state");
    return -1;
  }
  *FIELD(given, sampler_state_t, index) = state->child.handle;
  return call_keep(call, object); /* another thread may take it from the pipeline meanwhile */
}

int take_pipeline(Call *call, Fields *fields, int index, const sampler_rows *rows,
                  int64_t num_slots, int64_t num_rows, const sampler_pipeline **out) {
  const int64_t num_cols = rows->num_cols;
  const char *of = "pipeline->";
  sampler_pipeline *p = &call->pipeline;
  Fields given;
  const int found = given_struct(fields, index, &pipeline_struct, p, &given);
  if (found <= 0) return found;

  const Element id_element = call->id_element; /* those of the call are of their own type */
  call->id_element = ELEMENT_NONE;
  if (fields_given(&given, pipeline__token_id_type) &&
      (p->token_id_type == SAMPLER_ID_I32 || p->token_id_type == SAMPLER_ID_I64)) {
    call->id_element = p->token_id_type == SAMPLER_ID_I64 ? ELEMENT_I64 : ELEMENT_I32;
    snprintf(call->id_label, sizeof call->id_label, "pipeline->token_id_type");
  }
  if (take_lists(call, "pipeline->history.", OBJECT(&given, pipeline__history), &p->history) ||
      take_lists(call, "pipeline->biased.", OBJECT(&given, pipeline__biased), &p->biased) ||
      take_lists(call, "pipeline->bias_contexts.", OBJECT(&given, pipeline__bias_contexts),
                 &p->bias_contexts) ||
      take_lists(call, "pipeline->allowed.", OBJECT(&given, pipeline__allowed), &p->allowed) ||
      take_lists(call, "pipeline->banned.", OBJECT(&given, pipeline__banned), &p->banned) ||
      take_lists(call, "pipeline->stop.", OBJECT(&given, pipeline__stop), &p->stop) ||
      take_lists(call, "pipeline->unpenalized.", OBJECT(&given, pipeline__unpenalized),
                 &p->unpenalized) ||
      take_lists(call, "pipeline->bad_words.", OBJECT(&given, pipeline__bad_words),
                 &p->bad_words) ||
      take_lists(call, "pipeline->dry_breakers.", OBJECT(&given, pipeline__dry_breakers),
                 &p->dry_breakers)) {
    return -1;
  }
  if (!fields_given(&given, pipeline__token_id_type)) {
    p->token_id_type = call->id_element == ELEMENT_I64 ? SAMPLER_ID_I64 : SAMPLER_ID_I32;
  }
  call->id_element = id_element;

  if (take_array(call, &given, of, pipeline__prompt_lengths, num_slots, PLACE_DEVICE) ||
      take_guidance_rows(call, &given, of, pipeline__guidance_logits, pipeline__num_guidance_rows,
                         rows) ||
      take_array(call, &given, of, pipeline__guidance_row_indices, num_rows, PLACE_DEVICE) ||
      take_array(call, &given, of, pipeline__biases, p->biased.num_token_ids, PLACE_DEVICE) ||
      take_table(call, &given, of, pipeline__dense_bias, pipeline__num_dense_biases,
                 pipeline__dense_bias_stride, num_cols) ||
      take_array(call, &given, of, pipeline__bad_word_offsets, sum(num_slots, 1), PLACE_DEVICE) ||
      take_table(call, &given, of, pipeline__token_bitmasks, pipeline__num_token_bitmasks,
                 pipeline__token_bitmask_stride, sum(num_cols, 31) / 32) ||
      take_array(call, &given, of, pipeline__token_bitmask_indices, num_rows, PLACE_DEVICE) ||
      take_matrix(call, &given, of, pipeline__adaptive_values,
                  product(num_slots, SAMPLER_NUM_ADAPTIVE_VALUES), SAMPLER_NUM_ADAPTIVE_VALUES,
                  PLACE_DEVICE) ||
      take_state(call, &given, pipeline__state)) {
    return -1;
  }
  *out = p;
  return 0;
}

void find_number(Call *call, Fields *fields, const char *of, int number_index, int first_index,
                 int second_index, int64_t rows) {
  const int indices[] = {first_index, second_index};
  int64_t *number = FIELD(fields, int64_t, number_index);
  if (fields_given(fields, number_index)) return;
  for (int i = 0; i < 2; ++i) {
    Array array;
    if (!shape_of(call, OBJECT(fields, indices[i]), &array)) continue;
    if (array.ndim > 1) {
      *number = columns_of(&array);
    } else if (rows > 0) {
      *number = array.count / rows;
      if (array.count % rows) {
        call_break(call, "%s%s has %lld elements; it must have as many for each of %lld rows", of,
                   fields->of->members[indices[i]].label, (long long)array.count, (long long)rows);
      }
    }
    return;
  }
  for (int i = 0; i < 2; ++i) {
    if (OBJECT(fields, indices[i]) != Py_True) continue;
    call_break(call, "%s%s is not given; %s%s needs it", of,
               fields->of->members[number_index].label, of, fields->of->members[indices[i]].label);
  }
}

/* Columns of reports that follow from their arrays. */
static void count_columns(Call *call, Fields *given, int is_packed, int64_t num_rows,
                          sampler_report_args *r) {
  const char *of = "reports->";
  Array bitmask;
  find_number(call, given, of, report_args__num_top_logprobs, report_args__out_top_token_ids,
              report_args__out_top_logprobs, num_rows);
  find_number(call, given, of, report_args__num_chosen, report_args__chosen_token_ids,
              report_args__out_chosen_logprobs, num_rows);
  find_number(call, given, of, report_args__kept_capacity, report_args__out_kept_token_ids,
              report_args__out_kept_probabilities, is_packed ? 1 : num_rows);
  if (!r->kept_bitmask_stride &&
      shape_of(call, OBJECT(given, report_args__out_kept_bitmask), &bitmask)) {
    r->kept_bitmask_stride = columns_of(&bitmask);
  }
}

int take_reports(Call *call, Fields *fields, int index, int64_t num_rows, int64_t num_cols,
                 const sampler_report_args **out) {
  const char *of = "reports->";
  sampler_report_args *r = &call->reports;
  Fields *given = &call->report_fields;
  const int found = given_struct(fields, index, &report_args_struct, r, given);
  if (found <= 0) return found;
  PyObject *offsets = OBJECT(given, report_args__out_kept_offsets);
  const int is_packed = offsets && offsets != Py_False;
  const int64_t kept_rows = is_packed ? 1 : num_rows;
  count_columns(call, given, is_packed, num_rows, r);
  const int64_t mask_words = first_nonzero(r->kept_bitmask_stride, sum(num_cols, 31) / 32);

  if (take_output(call, given, of, report_args__out_logprobs, 0, 1, num_rows, 1) ||
      take_output(call, given, of, report_args__out_values, 0, 1, num_rows, 1) ||
      take_output(call, given, of, report_args__out_kept_counts, 0, 1, num_rows, 1) ||
      take_output(call, given, of, report_args__out_observations, 0, 1, num_rows, 1) ||
      take_output(call, given, of, report_args__out_top_token_ids, 0, 2, num_rows,
                  r->num_top_logprobs) ||
      take_output(call, given, of, report_args__out_top_logprobs, 0, 2, num_rows,
                  r->num_top_logprobs) ||
      take_ids(call, given, of, report_args__chosen_token_ids, product(num_rows, r->num_chosen),
               r->num_chosen) ||
      take_output(call, given, of, report_args__out_chosen_logprobs, 0, 2, num_rows,
                  r->num_chosen) ||
      take_output(call, given, of, report_args__out_ranks, 0, 1, num_rows, 1) ||
      take_output(call, given, of, report_args__out_entropies, 0, 1, num_rows, 1) ||
      take_output(call, given, of, report_args__out_kept_bitmask, 0, 2, num_rows, mask_words) ||
      take_output(call, given, of, report_args__out_kept_token_ids, 0, is_packed ? 1 : 2,
                  is_packed ? r->kept_capacity : kept_rows, r->kept_capacity) ||
      take_output(call, given, of, report_args__out_kept_probabilities, 0, is_packed ? 1 : 2,
                  is_packed ? r->kept_capacity : kept_rows, r->kept_capacity) ||
      take_output(call, given, of, report_args__out_kept_offsets, 0, 1, sum(num_rows, 1), 1) ||
      take_output(call, given, of, report_args__out_removed_by, 0, 2, num_rows, num_cols)) {
    return -1;
  }
  *out = r;
  return 0;
}

int take_acceptance(Call *call, Fields *fields, int index, int64_t num_drafts,
                    const sampler_acceptance_params **out) {
  Fields given;
  const int found =
      given_struct(fields, index, &acceptance_params_struct, &call->acceptance, &given);
  if (found <= 0) return found;
  *out = &call->acceptance;
  return take_array(call, &given, "acceptance->", acceptance_params__synthetic_rates, num_drafts,
                    PLACE_HOST);
}

int take_unmask_params(Call *call, Fields *fields, int index, const sampler_unmask_params **out) {
  Fields given;
  const int found = given_struct(fields, index, &unmask_params_struct, &call->unmask, &given);
  if (found > 0) *out = &call->unmask;
  return found < 0 ? -1 : 0;
}

int take_layout(Call *call, Fields *fields, int index, Fields *memory) {
  return given_struct(fields, index, &draft_layout_struct, &call->layout, memory);
}
