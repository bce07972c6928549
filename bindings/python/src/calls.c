/* The full calls of a sampler: sample, score, filter, select, verify, residual, unmask, and their
 * workspaces. */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"
#include "generated.h"

/* ---- Making the call ------------------------------------------------------------------------ */

sampler_status operation_run(Operation operation, sampler_t handle, const void *args) {
  switch (operation) {
    case OPERATION_SAMPLE:
      return sampler_sample(handle, args);
    case OPERATION_SCORE:
      return sampler_score(handle, args);
    case OPERATION_FILTER:
      return sampler_filter(handle, args);
    case OPERATION_SELECT:
      return sampler_select(handle, args);
    case OPERATION_VERIFY:
      return sampler_verify(handle, args);
    case OPERATION_RESIDUAL:
      return sampler_residual(handle, args);
    default:
      return sampler_unmask(handle, args);
  }
}

sampler_status operation_size(Operation operation, sampler_t handle, const void *args,
                              size_t *out_bytes) {
  switch (operation) {
    case OPERATION_SAMPLE:
      return sampler_sample_workspace_size(handle, args, out_bytes);
    case OPERATION_SCORE:
      return sampler_score_workspace_size(handle, args, out_bytes);
    case OPERATION_FILTER:
      return sampler_filter_workspace_size(handle, args, out_bytes);
    case OPERATION_SELECT:
      return sampler_select_workspace_size(handle, args, out_bytes);
    case OPERATION_VERIFY:
      return sampler_verify_workspace_size(handle, args, out_bytes);
    case OPERATION_RESIDUAL:
      return sampler_residual_workspace_size(handle, args, out_bytes);
    default:
      return sampler_unmask_workspace_size(handle, args, out_bytes);
  }
}

/* Gives the call the sampler's memory, of as many bytes as it needs at least. */
static int bring_workspace(Call *call, Operation operation, const void *args, sampler_exec *exec) {
  SamplerObject *sampler = call->sampler;
  size_t bytes;
  const sampler_status status = operation_size(operation, sampler->handle, args, &bytes);
  if (status != SAMPLER_OK) {
    raise_status(status);
    return -1;
  }
  if (bytes > sampler->workspace_bytes) {
    void *memory = malloc(bytes);
    if (!memory) {
      PyErr_NoMemory();
      return -1;
    }
    free(sampler->workspace);
    sampler->workspace = memory;
    sampler->workspace_bytes = bytes;
  }
  exec->workspace = sampler->workspace;
  exec->workspace_bytes = sampler->workspace_bytes;
  return 0;
}

int call_run(Call *call, Operation operation, void *args, sampler_exec *exec) {
  SamplerObject *sampler = call->sampler;
  sampler_status status;
  if (call->broken[0] || call->num_wanted) {
    /* The library's word on the numbers that lengths follow from goes before. */
    size_t bytes;
    status = operation_size(operation, sampler->handle, args, &bytes);
    if (status != SAMPLER_OK) {
      raise_status(status);
      return -1;
    }
    if (call_check(call) || allocate_outputs(call)) return -1;
  }
  const int keeps = sampler->device_type == SAMPLER_DEVICE_CPU && !exec->workspace;
  if (keeps && sampler->workspace) {
    exec->workspace = sampler->workspace;
    exec->workspace_bytes = sampler->workspace_bytes;
  } else if (keeps && !sampler->has_workspace) {
    if (bring_workspace(call, operation, args, exec)) return -1;
  }
  for (int attempt = 0;; ++attempt) {
    Py_BEGIN_ALLOW_THREADS status = operation_run(operation, sampler->handle, args);
    Py_END_ALLOW_THREADS if (status != SAMPLER_ERROR_WORKSPACE_TOO_SMALL || !keeps ||
                             attempt) break;
    if (bring_workspace(call, operation, args, exec)) return -1;
  }
  if (status == SAMPLER_OK) return PyErr_Occurred() ? -1 : 0;
  raise_status(status);
  return -1;
}

/* The end of each call: runs it, or gives the size of its workspace. */
static PyObject *finish(Call *call, Operation operation, const Struct *of, void *args,
                        sampler_exec *exec) {
  PyObject *result = NULL;
  if (call->is_sizing) {
    size_t bytes;
    const sampler_status status = operation_size(operation, call->sampler->handle, args, &bytes);
    if (status != SAMPLER_OK) return raise_status(status);
    if (call_check(call)) return NULL;
    return PyLong_FromSize_t(bytes);
  }
  if (call_run(call, operation, args, exec) == 0) result = call_results(call, of);
  return result;
}

/* ---- What they have in common --------------------------------------------------------------- */

/* The type of ids where the caller gives it. */
static void begin_ids(Call *call, const Fields *fields, int index) {
  const int32_t type = *FIELD(fields, int32_t, index);
  if (fields_given(fields, index) && (type == SAMPLER_ID_I32 || type == SAMPLER_ID_I64)) {
    call->id_element = type == SAMPLER_ID_I64 ? ELEMENT_I64 : ELEMENT_I32;
    snprintf(call->id_label, sizeof call->id_label, "token_id_type");
  }
}

static void end_ids(const Call *call, const Fields *fields, int index) {
  if (fields_given(fields, index)) return;
  *FIELD(fields, int32_t, index) =
      call->id_element == ELEMENT_I64 ? SAMPLER_ID_I64 : SAMPLER_ID_I32;
}

static int begin(Call *call, PyObject *self, const char *function, int is_sizing, Fields *fields,
                 const Struct *of, void *args, PyObject **objects) {
  fields_init(fields, of, args, objects);
  if (call_begin(call, (SamplerObject *)self, function)) return -1;
  call->is_sizing = is_sizing;
  return 0;
}

static int parse(Call *call, Fields *fields, const int *positional, int num_positional,
                 int stream_index, PyObject *const *arguments, Py_ssize_t num_arguments,
                 PyObject *names) {
  if (fields_parse(fields, call->function, positional, num_positional, arguments, num_arguments,
                   names)) {
    return -1;
  }
  call->stream = *FIELD(fields, sampler_stream, stream_index);
  call->has_stream = fields_given(fields, stream_index);
  return 0;
}

/* ---- sample --------------------------------------------------------------------------------- */

static const int sample_by_slot[] = {sample_args__row_params, sample_args__pipeline,
                                     sample_args__seeds,      sample_args__offsets,
                                     sample_args__streams,    -1};

static int take_sample(Call *call, Fields *f, sampler_sample_args *a) {
  if (take_rows(call, f, sample_args__input, &a->input) ||
      take_counted(call, f, "", sample_args__row_indices, sample_args__num_row_indices,
                   PLACE_DEVICE)) {
    return -1;
  }
  const int64_t rows = a->row_indices ? a->num_row_indices : a->input.num_rows;
  const int64_t slots = count_slots(call, f, sample_args__slots, sample_by_slot, rows);
  begin_ids(call, f, sample_args__token_id_type);
  if (take_array(call, f, "", sample_args__slots, rows, PLACE_DEVICE) ||
      take_params(call, f, sample_args__params, &call->params, &a->params) ||
      take_row_params(call, f, sample_args__row_params, slots, &call->row_params, &a->row_params) ||
      take_pipeline(call, f, sample_args__pipeline, &a->input, slots, rows, &a->pipeline) ||
      take_random(call, f, sample_args__seed, slots) ||
      take_output(call, f, "", sample_args__out_token_ids, 1, 1, rows, 1) ||
      take_output(call, f, "", sample_args__out_row_status, 0, 1, rows, 1) ||
      take_reports(call, f, sample_args__reports, rows, a->input.num_cols, &a->reports)) {
    return -1;
  }
  end_ids(call, f, sample_args__token_id_type);
  return take_exec(call, f, sample_args__stream, &a->exec);
}

static PyObject *sample(PyObject *self, const char *function, int is_sizing,
                        PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  static const int positional[] = {sample_args__input};
  sampler_sample_args args;
  PyObject *objects[sample_args__num_objects], *result = NULL;
  Fields fields;
  Call call;
  if (begin(&call, self, function, is_sizing, &fields, &sample_args_struct, &args, objects)) {
    return NULL;
  }
  if (!parse(&call, &fields, positional, 1, sample_args__stream, arguments, count, names) &&
      !take_sample(&call, &fields, &args)) {
    result = finish(&call, OPERATION_SAMPLE, &sample_args_struct, &args, &args.exec);
  }
  call_end(&call);
  return result;
}

/* ---- score ---------------------------------------------------------------------------------- */

static const int score_by_slot[] = {score_args__row_params, score_args__pipeline, score_args__seeds,
                                    score_args__offsets,    score_args__streams,  -1};

static int take_score(Call *call, Fields *f, sampler_score_args *a) {
  if (take_rows(call, f, score_args__input, &a->input) ||
      take_counted(call, f, "", score_args__row_indices, score_args__num_row_indices,
                   PLACE_DEVICE)) {
    return -1;
  }
  const int64_t rows = a->row_indices ? a->num_row_indices : a->input.num_rows;
  const int64_t slots = count_slots(call, f, score_args__slots, score_by_slot, rows);
  begin_ids(call, f, score_args__token_id_type);
  if (take_array(call, f, "", score_args__slots, rows, PLACE_DEVICE) ||
      take_params(call, f, score_args__params, &call->params, &a->params) ||
      take_row_params(call, f, score_args__row_params, slots, &call->row_params, &a->row_params) ||
      take_pipeline(call, f, score_args__pipeline, &a->input, slots, rows, &a->pipeline) ||
      take_random(call, f, score_args__seed, slots) ||
      take_ids(call, f, "", score_args__token_ids, rows, ONE_DIMENSION) ||
      take_lists(call, "kept.", OBJECT(f, score_args__kept), &a->kept) ||
      take_output(call, f, "", score_args__out_row_status, 0, 1, rows, 1) ||
      take_reports(call, f, score_args__reports, rows, a->input.num_cols, &a->reports)) {
    return -1;
  }
  end_ids(call, f, score_args__token_id_type);
  return take_exec(call, f, score_args__stream, &a->exec);
}

static PyObject *score(PyObject *self, const char *function, int is_sizing,
                       PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  static const int positional[] = {score_args__input, score_args__token_ids};
  sampler_score_args args;
  PyObject *objects[score_args__num_objects], *result = NULL;
  Fields fields;
  Call call;
  if (begin(&call, self, function, is_sizing, &fields, &score_args_struct, &args, objects)) {
    return NULL;
  }
  if (!parse(&call, &fields, positional, 2, score_args__stream, arguments, count, names) &&
      !take_score(&call, &fields, &args)) {
    result = finish(&call, OPERATION_SCORE, &score_args_struct, &args, &args.exec);
  }
  call_end(&call);
  return result;
}

/* ---- filter --------------------------------------------------------------------------------- */

static const int filter_by_slot[] = {filter_args__row_params, filter_args__pipeline, -1};

static int take_filter(Call *call, Fields *f, sampler_filter_args *a) {
  if (take_rows(call, f, filter_args__input, &a->input)) return -1;
  const int64_t rows = a->input.num_rows, cols = a->input.num_cols;
  const int64_t slots = count_slots(call, f, filter_args__slots, filter_by_slot, rows);
  if (take_array(call, f, "", filter_args__slots, rows, PLACE_DEVICE) ||
      take_params(call, f, filter_args__params, &call->params, &a->params) ||
      take_row_params(call, f, filter_args__row_params, slots, &call->row_params, &a->row_params) ||
      take_pipeline(call, f, filter_args__pipeline, &a->input, slots, rows, &a->pipeline) ||
      take_floats(call, f, filter_args__output, 1, rows, cols, filter_args__output_dtype,
                  filter_args__output_stride) ||
      take_output(call, f, "", filter_args__out_kept_counts, 0, 1, rows, 1) ||
      take_output(call, f, "", filter_args__out_row_status, 0, 1, rows, 1)) {
    return -1;
  }
  return take_exec(call, f, filter_args__stream, &a->exec);
}

static PyObject *filter(PyObject *self, const char *function, int is_sizing,
                        PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  static const int positional[] = {filter_args__input};
  sampler_filter_args args;
  PyObject *objects[filter_args__num_objects], *result = NULL;
  Fields fields;
  Call call;
  if (begin(&call, self, function, is_sizing, &fields, &filter_args_struct, &args, objects)) {
    return NULL;
  }
  if (!parse(&call, &fields, positional, 1, filter_args__stream, arguments, count, names) &&
      !take_filter(&call, &fields, &args)) {
    result = finish(&call, OPERATION_FILTER, &filter_args_struct, &args, &args.exec);
  }
  call_end(&call);
  return result;
}

/* ---- select --------------------------------------------------------------------------------- */

static int take_select(Call *call, Fields *f, sampler_select_args *a) {
  if (take_rows(call, f, select_args__input, &a->input)) return -1;
  const int64_t rows = a->input.num_rows;
  /* Either output may be left out: both are made where neither is given. */
  const int is_main = !OBJECT(f, select_args__out_values) && !OBJECT(f, select_args__out_token_ids);
  const int is_false = OBJECT(f, select_args__out_values) == Py_False;
  const int is_other_false = OBJECT(f, select_args__out_token_ids) == Py_False;
  begin_ids(call, f, select_args__token_id_type);
  if (take_array(call, f, "", select_args__selected_counts, rows, PLACE_PARAMETER) ||
      take_floats(call, f, select_args__out_values, is_main || is_other_false, rows,
                  a->num_selected, select_args__output_dtype, -1) ||
      take_output(call, f, "", select_args__out_token_ids, is_main || is_false, 2, rows,
                  a->num_selected) ||
      take_output(call, f, "", select_args__out_counts, 0, 1, rows, 1) ||
      take_output(call, f, "", select_args__out_row_status, 0, 1, rows, 1)) {
    return -1;
  }
  end_ids(call, f, select_args__token_id_type);
  return take_exec(call, f, select_args__stream, &a->exec);
}

static PyObject *do_select(PyObject *self, const char *function, int is_sizing,
                           PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  static const int positional[] = {select_args__input, select_args__num_selected};
  sampler_select_args args;
  PyObject *objects[select_args__num_objects], *result = NULL;
  Fields fields;
  Call call;
  if (begin(&call, self, function, is_sizing, &fields, &select_args_struct, &args, objects)) {
    return NULL;
  }
  if (!parse(&call, &fields, positional, 2, select_args__stream, arguments, count, names) &&
      !take_select(&call, &fields, &args)) {
    result = finish(&call, OPERATION_SELECT, &select_args_struct, &args, &args.exec);
  }
  call_end(&call);
  return result;
}

/* ---- verify --------------------------------------------------------------------------------- */

/* Numbers of packed drafts and positions, and the lengths of the arrays, by them or by the
 * sequences. */
typedef struct Packed {
  int64_t tokens, draft_rows, target_rows, offsets;
} Packed;

static Packed lengths_of_drafts(sampler_verify_args *a, sampler_draft_layout *l,
                                const Fields *layout, int64_t num_sequences, int64_t num_ids) {
  const int has_bonus = OBJECT(layout, draft_layout__bonus_row_indices) != NULL;
  const int has_drafts = fields_given(layout, draft_layout__num_packed_drafts);
  const int has_positions = fields_given(layout, draft_layout__num_packed_positions);
  Packed p = {0, 0, 0, sum(num_sequences, 1)};
  if (l->packing == SAMPLER_PACKING_DENSE) {
    p.tokens = extent(num_sequences, a->num_drafts, l->draft_token_stride);
    p.draft_rows = product(num_sequences, a->num_drafts);
    p.target_rows = product(num_sequences, sum(a->num_drafts, 1));
  } else if (l->packing == SAMPLER_PACKING_POSITIONS) { /* draft tokens lie like positions */
    if (!has_positions) l->num_packed_positions = num_ids;
    p.tokens = p.draft_rows = p.target_rows = l->num_packed_positions;
  } else {
    if (!has_drafts) l->num_packed_drafts = num_ids;
    if (!has_positions && !has_bonus && OBJECT(layout, draft_layout__target_row_indices)) {
      l->num_packed_positions = sum(l->num_packed_drafts, num_sequences);
    }
    p.tokens = p.draft_rows = l->num_packed_drafts;
    p.target_rows = l->num_packed_positions;
  }
  if (l->packing == SAMPLER_PACKING_DRAFT_ENDS) p.offsets = num_sequences;
  if (has_bonus) p.target_rows = p.draft_rows;
  return p;
}

/* The extent of sequences of the view's rows, num_positions each. */
static int64_t extent_of_sequences(const sampler_rows *rows, int64_t num_sequences,
                                   int64_t num_positions, int64_t sequence_stride) {
  if (num_sequences <= 0 || num_positions <= 0 || rows->num_cols <= 0) return 0;
  const int64_t row_stride = first_nonzero(rows->row_stride, rows->num_cols);
  const int64_t stride = first_nonzero(sequence_stride, product(num_positions, row_stride));
  return sum(product(num_sequences - 1, stride), extent(num_positions, rows->num_cols, row_stride));
}

static int take_layout_arrays(Call *call, Fields *layout, const Packed *packed,
                              int64_t num_sequences, int64_t num_drafts) {
  const char *of = "layout->";
  const int is_dense = call->layout.packing == SAMPLER_PACKING_DENSE;
  const int64_t positions = sum(num_drafts, 1);
  const int64_t trees = first_nonzero(call->layout.tree_rows, num_sequences);
  const int64_t links = product(trees, positions);
  const int64_t draft_cols = is_dense ? num_drafts : ONE_DIMENSION;
  const int64_t target_cols = OBJECT(layout, draft_layout__bonus_row_indices) ? draft_cols
                              : is_dense                                      ? positions
                                                                              : ONE_DIMENSION;
  return take_array(call, layout, of, draft_layout__packing_offsets, packed->offsets,
                    PLACE_DEVICE) ||
         take_matrix(call, layout, of, draft_layout__target_row_indices, packed->target_rows,
                     target_cols, PLACE_DEVICE) ||
         take_array(call, layout, of, draft_layout__bonus_row_indices, num_sequences,
                    PLACE_DEVICE) ||
         take_matrix(call, layout, of, draft_layout__draft_row_indices, packed->draft_rows,
                     draft_cols, PLACE_DEVICE) ||
         take_matrix(call, layout, of, draft_layout__parents, product(trees, num_drafts),
                     num_drafts, PLACE_DEVICE) ||
         take_matrix(call, layout, of, draft_layout__first_children, links, positions,
                     PLACE_DEVICE) ||
         take_matrix(call, layout, of, draft_layout__next_siblings, links, positions, PLACE_DEVICE);
}

/* num_drafts of flat draft tokens, one sequence after the other; -1 where it does not follow. */
static int64_t drafts_of_length(const sampler_verify_args *a, const sampler_draft_layout *l,
                                const RowsArray *target, int has_any_rows, int64_t num_ids) {
  int64_t sequences = l->num_sequences;
  if (!num_ids) return 0;
  if (l->draft_token_stride) return -1;
  if (!has_any_rows && target->has_values && target->values.ndim > 2) {
    return target->values.shape[target->values.ndim - 2] - 1;
  }
  if (!has_any_rows) sequences = a->target.num_rows - num_ids; /* each has one row more */
  return sequences > 0 && num_ids % sequences == 0 ? num_ids / sequences : -1;
}

/* How draft tokens lie: num_drafts and draft_token_stride of [num_sequences, num_drafts]. */
static int take_drafts(Call *call, Fields *f, sampler_verify_args *a, sampler_draft_layout *l,
                       const RowsArray *target, int has_any_rows, Array *ids) {
  const int has_number = fields_given(f, verify_args__num_drafts);
  const int is_dense = l->packing == SAMPLER_PACKING_DENSE;
  PyObject *object = OBJECT(f, verify_args__draft_token_ids);
  ids->count = ids->ndim = 0;
  if (!object) return 0;
  if (call_hold(call, "", "draft_token_ids", object, ids)) return -1;
  const int64_t width = columns_of(ids);
  if (!has_number && !is_dense && ids->count) {
    call_break(call, "num_drafts is not given; packed drafts need it, the most of a sequence");
  } else if (!has_number && is_dense) {
    a->num_drafts =
        ids->ndim > 1 ? width : drafts_of_length(a, l, target, has_any_rows, ids->count);
    if (a->num_drafts < 0) {
      a->num_drafts = 0;
      call_break(call,
                 "num_drafts is not given; it does not follow from %lld draft_token_ids and %lld "
                 "rows of target",
                 (long long)ids->count, (long long)a->target.num_rows);
    }
  }
  if (is_dense && width > a->num_drafts && !l->draft_token_stride) {
    l->draft_token_stride = width;
  }
  return 0;
}

static const int verify_by_slot[] = {verify_args__row_params,  verify_args__draft_row_params,
                                     verify_args__pipeline,    verify_args__seeds,
                                     verify_args__offsets,     verify_args__streams,
                                     verify_args__acceptances, -1};

static int take_verify(Call *call, Fields *f, sampler_verify_args *a) {
  PyObject *no_objects[draft_layout__num_objects];
  RowsArray target, draft;
  Fields layout;
  Array ids;
  fields_init(&layout, &draft_layout_struct, &call->layout, no_objects);
  const int has_layout = take_layout(call, f, verify_args__layout, &layout);
  sampler_draft_layout *l = &call->layout;
  const int has_any_rows = OBJECT(&layout, draft_layout__target_row_indices) ||
                           OBJECT(&layout, draft_layout__bonus_row_indices);
  if (has_layout < 0 || take_rows_array(call, f, verify_args__target, &a->target, &target) ||
      take_rows_array(call, f, verify_args__draft, &a->draft, &draft) ||
      take_drafts(call, f, a, l, &target, has_any_rows, &ids)) {
    return -1;
  }

  /* Rows that are packed or indexed are any number, and do not give that of the sequences. */
  int64_t sequences = l->num_sequences;
  const int64_t positions = sum(a->num_drafts, 1);
  const int is_dense = l->packing == SAMPLER_PACKING_DENSE;
  int64_t target_elements = extent(a->target.num_rows, a->target.num_cols, a->target.row_stride);
  int64_t draft_elements = extent(a->draft.num_rows, a->draft.num_cols, a->draft.row_stride);
  if (is_dense && !has_any_rows) {
    check_positions(call, "target", &target, positions);
    sequences = positions > 0 ? a->target.num_rows / positions : 0;
    target_elements =
        extent_of_sequences(&a->target, sequences, positions, l->target_sequence_stride);
  }
  if (is_dense && !OBJECT(&layout, draft_layout__draft_row_indices) && !l->draft_rows_by_slot) {
    check_positions(call, "draft", &draft, a->num_drafts);
    draft_elements =
        extent_of_sequences(&a->draft, sequences, a->num_drafts, l->draft_sequence_stride);
  }
  check_rows(call, "target.", &target, target_elements);
  check_rows(call, "draft.", &draft, draft_elements);

  const int64_t slots = count_slots(call, f, verify_args__slots, verify_by_slot, sequences);
  const int64_t tokens = product(sequences, positions);
  const Packed packed = lengths_of_drafts(a, l, &layout, sequences, ids.count);
  const int64_t id_cols =
      is_dense ? first_nonzero(l->draft_token_stride, a->num_drafts) : ONE_DIMENSION;
  begin_ids(call, f, verify_args__token_id_type);
  if (take_ids(call, f, "", verify_args__draft_token_ids, packed.tokens, id_cols) ||
      take_array(call, f, "", verify_args__draft_counts, sequences, PLACE_DEVICE) ||
      take_layout_arrays(call, &layout, &packed, sequences, a->num_drafts) ||
      take_array(call, f, "", verify_args__slots, sequences, PLACE_DEVICE) ||
      take_params(call, f, verify_args__params, &call->params, &a->params) ||
      take_row_params(call, f, verify_args__row_params, slots, &call->row_params, &a->row_params) ||
      take_params(call, f, verify_args__draft_params, &call->draft_params, &a->draft_params) ||
      take_row_params(call, f, verify_args__draft_row_params, slots, &call->draft_row_params,
                      &a->draft_row_params) ||
      take_pipeline(call, f, verify_args__pipeline, &a->target, slots, tokens, &a->pipeline) ||
      take_ids(call, f, "", verify_args__forced_token_ids, tokens, positions) ||
      take_random(call, f, verify_args__seed, slots) ||
      take_acceptance(call, f, verify_args__acceptance, a->num_drafts, &a->acceptance) ||
      take_array(call, f, "", verify_args__acceptances, slots, PLACE_PARAMETER) ||
      take_output(call, f, "", verify_args__out_token_ids, 1, 2, sequences, positions) ||
      take_output(call, f, "", verify_args__out_accepted_counts, 0, 1, sequences, 1) ||
      take_output(call, f, "", verify_args__out_emitted_counts, 0, 1, sequences, 1) ||
      take_output(call, f, "", verify_args__out_row_status, 0, 1, sequences, 1) ||
      take_reports(call, f, verify_args__reports, tokens, a->target.num_cols, &a->reports) ||
      take_output(call, f, "", verify_args__out_positions, 0, 2, sequences, positions) ||
      take_matrix(call, f, "", verify_args__kv_indices, tokens, positions, PLACE_DEVICE) ||
      take_output(call, f, "", verify_args__out_kv_indices, 0, 2, sequences, positions)) {
    return -1;
  }
  if (has_layout || l->draft_token_stride) a->layout = l;
  end_ids(call, f, verify_args__token_id_type);
  return take_exec(call, f, verify_args__stream, &a->exec);
}

static PyObject *verify(PyObject *self, const char *function, int is_sizing,
                        PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  static const int positional[] = {verify_args__target, verify_args__draft,
                                   verify_args__draft_token_ids};
  sampler_verify_args args;
  PyObject *objects[verify_args__num_objects], *result = NULL;
  Fields fields;
  Call call;
  if (begin(&call, self, function, is_sizing, &fields, &verify_args_struct, &args, objects)) {
    return NULL;
  }
  if (!parse(&call, &fields, positional, 3, verify_args__stream, arguments, count, names) &&
      !take_verify(&call, &fields, &args)) {
    result = finish(&call, OPERATION_VERIFY, &verify_args_struct, &args, &args.exec);
  }
  call_end(&call);
  return result;
}

/* ---- residual ------------------------------------------------------------------------------- */

static int take_residual(Call *call, Fields *f, sampler_residual_args *a) {
  if (take_rows(call, f, residual_args__target, &a->target) ||
      take_rows(call, f, residual_args__draft, &a->draft)) {
    return -1;
  }
  const int64_t rows = a->target.num_rows, cols = a->target.num_cols;
  begin_ids(call, f, residual_args__token_id_type);
  if (take_ids(call, f, "", residual_args__draft_token_ids, rows, ONE_DIMENSION) ||
      take_floats(call, f, residual_args__output, 1, rows, cols, residual_args__output_dtype,
                  residual_args__output_stride) ||
      take_output(call, f, "", residual_args__out_row_status, 0, 1, rows, 1)) {
    return -1;
  }
  end_ids(call, f, residual_args__token_id_type);
  return take_exec(call, f, residual_args__stream, &a->exec);
}

static PyObject *residual(PyObject *self, const char *function, int is_sizing,
                          PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  static const int positional[] = {residual_args__target, residual_args__draft};
  sampler_residual_args args;
  PyObject *objects[residual_args__num_objects], *result = NULL;
  Fields fields;
  Call call;
  if (begin(&call, self, function, is_sizing, &fields, &residual_args_struct, &args, objects)) {
    return NULL;
  }
  if (!parse(&call, &fields, positional, 2, residual_args__stream, arguments, count, names) &&
      !take_residual(&call, &fields, &args)) {
    result = finish(&call, OPERATION_RESIDUAL, &residual_args_struct, &args, &args.exec);
  }
  call_end(&call);
  return result;
}

/* ---- unmask --------------------------------------------------------------------------------- */

static const int unmask_by_slot[] = {unmask_args__seeds, unmask_args__offsets, unmask_args__streams,
                                     -1};

static int take_unmask(Call *call, Fields *f, sampler_unmask_args *a) {
  if (take_unmask_params(call, f, unmask_args__params, &a->params)) return -1;
  if (!fields_given(f, unmask_args__num_rows)) {
    a->num_rows = length_of(call, OBJECT(f, unmask_args__candidate_token_ids));
  }
  if (!fields_given(f, unmask_args__num_blocks)) { /* one, unless offsets tell more */
    PyObject *offsets = OBJECT(f, unmask_args__block_offsets);
    a->num_blocks = offsets ? sum(length_of(call, offsets), -1) : 1;
  }
  const int64_t rows = a->num_rows, blocks = a->num_blocks;
  const int64_t slots = count_slots(call, f, unmask_args__slots, unmask_by_slot, rows);
  const int64_t width = a->params && a->params->confidence == SAMPLER_CONFIDENCE_MARGIN ? 2 : 1;
  Array scores;
  if (!a->score_stride && shape_of(call, OBJECT(f, unmask_args__scores), &scores)) {
    a->score_stride = columns_of(&scores); /* of [rows, stride] */
  }
  call->like = OBJECT(f, unmask_args__candidate_token_ids);
  begin_ids(call, f, unmask_args__token_id_type);
  if (take_array(call, f, "", unmask_args__block_offsets, sum(blocks, 1), PLACE_DEVICE) ||
      take_ids(call, f, "", unmask_args__candidate_token_ids, rows, ONE_DIMENSION) ||
      take_array(call, f, "", unmask_args__candidate_status, rows, PLACE_DEVICE) ||
      take_matrix(call, f, "", unmask_args__scores, extent(rows, width, a->score_stride),
                  a->score_stride, PLACE_DEVICE) ||
      take_inout_ids(call, f, "", unmask_args__token_ids, rows) ||
      take_array(call, f, "", unmask_args__slots, rows, PLACE_DEVICE) ||
      take_random(call, f, unmask_args__seed, slots) ||
      take_array(call, f, "", unmask_args__block_num_committed, blocks, PLACE_PARAMETER) ||
      take_array(call, f, "", unmask_args__block_num_steps_left, blocks, PLACE_PARAMETER) ||
      take_output(call, f, "", unmask_args__out_changes, 1, 1, rows, 1) ||
      take_output(call, f, "", unmask_args__out_confidences, 0, 1, rows, 1) ||
      take_output(call, f, "", unmask_args__out_committed_counts, 0, 1, blocks, 1) ||
      take_output(call, f, "", unmask_args__out_edited_counts, 0, 1, blocks, 1) ||
      take_output(call, f, "", unmask_args__out_masked_counts, 1, 1, blocks, 1) ||
      take_output(call, f, "", unmask_args__out_block_status, 0, 1, blocks, 1)) {
    return -1;
  }
  end_ids(call, f, unmask_args__token_id_type);
  return take_exec(call, f, unmask_args__stream, &a->exec);
}

static PyObject *unmask(PyObject *self, const char *function, int is_sizing,
                        PyObject *const *arguments, Py_ssize_t count, PyObject *names) {
  static const int positional[] = {unmask_args__candidate_token_ids, unmask_args__scores};
  sampler_unmask_args args;
  PyObject *objects[unmask_args__num_objects], *result = NULL;
  Fields fields;
  Call call;
  if (begin(&call, self, function, is_sizing, &fields, &unmask_args_struct, &args, objects)) {
    return NULL;
  }
  if (!parse(&call, &fields, positional, 2, unmask_args__stream, arguments, count, names) &&
      !take_unmask(&call, &fields, &args)) {
    result = finish(&call, OPERATION_UNMASK, &unmask_args_struct, &args, &args.exec);
  }
  call_end(&call);
  return result;
}

/* ---- Methods -------------------------------------------------------------------------------- */

#define METHOD(name, function, is_sizing)                                             \
  PyObject *call_##name(PyObject *self, PyObject *const *arguments, Py_ssize_t count, \
                        PyObject *names) {                                            \
    return function(self, #name, is_sizing, arguments, count, names);                 \
  }

METHOD(sample, sample, 0)
METHOD(score, score, 0)
METHOD(filter, filter, 0)
METHOD(select, do_select, 0)
METHOD(verify, verify, 0)
METHOD(residual, residual, 0)
METHOD(unmask, unmask, 0)
METHOD(sample_workspace_size, sample, 1)
METHOD(score_workspace_size, score, 1)
METHOD(filter_workspace_size, filter, 1)
METHOD(select_workspace_size, do_select, 1)
METHOD(verify_workspace_size, verify, 1)
METHOD(residual_workspace_size, residual, 1)
METHOD(unmask_workspace_size, unmask, 1)
