/* From XLA's buffers and attributes to the members of C's structs. */
#include "xla_request.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "generated.h"

char xla_nothing[16];

/* One name of `operands`, and its buffers. */
typedef struct Operand {
  XlaSpan name;
  const XlaBuffer *buffer, *ids; /* ids: of a list only */
  int is_taken;
} Operand;

typedef struct Reader {
  XlaRequest *request;
  Operand operands[XLA_MAX_ARGUMENTS];
  int num_operands;
} Reader;

static int broken(Reader *reader, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reader->request->broken, sizeof reader->request->broken, format, arguments);
  va_end(arguments);
  return -1;
}

/* ---- Names ---------------------------------------------------------------------------------- */

static int is_named(XlaSpan name, const char *text) {
  return strlen(text) == name.length && memcmp(name.text, text, name.length) == 0;
}

static const Member *find_member(const Struct *of, XlaSpan name) {
  for (int i = 0; i < of->num_members; ++i) {
    if (of->members[i].kind == KIND_OBJECT && is_named(name, of->members[i].name)) {
      return &of->members[i];
    }
  }
  return NULL;
}

/* Lists are views in the pipeline, without a type of elements of their own; so is the state. */
static int is_list(const Member *member) {
  return member->element == ELEMENT_NONE && member->offset != offsetof(sampler_pipeline, state);
}

static int split_names(Reader *reader) {
  XlaRequest *r = reader->request;
  const char *at = r->operands.text, *end = at + r->operands.length;
  int64_t next = 0;
  while (at < end) {
    const char *space = memchr(at, ' ', (size_t)(end - at));
    const XlaSpan name = {at, (size_t)((space ? space : end) - at)};
    const Member *member = find_member(&pipeline_struct, name);
    const int width = member && is_list(member) ? 2 : 1;
    if (next + width > r->num_arguments) {
      return broken(reader, "there are %lld arguments; `operands` names more",
                    (long long)r->num_arguments);
    }
    reader->operands[reader->num_operands++] =
        (Operand){name, r->arguments[next], width == 2 ? r->arguments[next + 1] : NULL, 0};
    next += width;
    at = space ? space + 1 : end;
  }
  if (next == r->num_arguments) return 0;
  return broken(reader, "there are %lld arguments; `operands` names %lld",
                (long long)r->num_arguments, (long long)next);
}

/* The buffer of that name; NULL: there is none. */
static const XlaBuffer *take_named(Reader *reader, const char *name) {
  for (int i = 0; i < reader->num_operands; ++i) {
    if (is_named(reader->operands[i].name, name)) {
      reader->operands[i].is_taken = 1;
      return reader->operands[i].buffer;
    }
  }
  return NULL;
}

/* ---- Buffers -------------------------------------------------------------------------------- */

static Element element_of(int32_t dtype) {
  switch (dtype) {
    case XLA_U8:
      return ELEMENT_U8;
    case XLA_S32:
      return ELEMENT_I32;
    case XLA_S64:
      return ELEMENT_I64;
    case XLA_U32:
      return ELEMENT_U32;
    case XLA_U64:
      return ELEMENT_U64;
    case XLA_F16:
      return ELEMENT_F16;
    case XLA_F32:
      return ELEMENT_F32;
    case XLA_BF16:
      return ELEMENT_BF16;
    default:
      return ELEMENT_OTHER;
  }
}

/* 64 bits may come as two uint32, the low one first, in a dimension of their own: programs of jax
 * have no wider integers unless jax_enable_x64 is set. */
static int is_in_words(Element wanted, const XlaBuffer *buffer) {
  return (wanted == ELEMENT_I64 || wanted == ELEMENT_U64) && buffer->dtype == XLA_U32 &&
         buffer->rank > 0 && buffer->dims[buffer->rank - 1] == 2;
}

static int fits(Element wanted, const XlaBuffer *buffer) {
  const Element found = element_of(buffer->dtype);
  switch (wanted) {
    case ELEMENT_FLOATS:
      return found == ELEMENT_F32 || found == ELEMENT_F16 || found == ELEMENT_BF16;
    case ELEMENT_IDS:
      return found == ELEMENT_I32 || found == ELEMENT_I64;
    case ELEMENT_U32:
      return found == ELEMENT_U32 || found == ELEMENT_I32;
    case ELEMENT_U64:
      return found == ELEMENT_U64 || found == ELEMENT_I64 || is_in_words(wanted, buffer);
    default:
      return found == wanted || is_in_words(wanted, buffer);
  }
}

/* How many elements there are; a dimension that is negative is taken for 0. */
static int64_t count_of(Element wanted, const XlaBuffer *buffer) {
  int64_t count = 1;
  for (int64_t i = 0; i < buffer->rank; ++i) count = product(count, buffer->dims[i]);
  return is_in_words(wanted, buffer) ? count / 2 : count;
}

static void *address_of(const XlaBuffer *buffer) {
  return buffer->data ? buffer->data : xla_nothing;
}

/* Checks a buffer and writes its address to *out. `needed` -1: any number of elements. */
static int take_buffer(Reader *reader, const char *of, const char *name, Element wanted,
                       const XlaBuffer *buffer, int64_t needed, void *out) {
  const int64_t count = count_of(wanted, buffer);
  if (!fits(wanted, buffer)) {
    return broken(reader, "%s%s is %s; it must be %s", of, name,
                  element_name(element_of(buffer->dtype)), element_name(wanted));
  }
  if (needed >= 0 && count != needed) {
    return broken(reader, "%s%s has %lld elements; it must have %lld", of, name, (long long)count,
                  (long long)needed);
  }
  void *address = address_of(buffer);
  memcpy(out, &address, sizeof address);
  return 0;
}

/* Numbers of a struct that came as bytes. Its pointers stay NULL. */
static int read_numbers(Reader *reader, const Struct *of, const char *name, XlaBytes from,
                        void *out) {
  if (from.size > of->size) {
    return broken(reader, "%s has %zu bytes; this version of libsampler has %zu", name, from.size,
                  of->size);
  }
  memset(out, 0, of->size);
  memcpy(out, &of->size, sizeof of->size);
  for (int i = 0; i < of->num_members; ++i) {
    const Member *member = &of->members[i];
    const size_t size = member->length ? 4 * (size_t)member->length
                        : member->kind == KIND_I64 || member->kind == KIND_U64 ? 8
                                                                               : 4;
    if (member->kind == KIND_OBJECT || member->offset + size > from.size) continue;
    memcpy((char *)out + member->offset, (const char *)from.data + member->offset, size);
  }
  return 0;
}

/* ---- What calls have in common -------------------------------------------------------------- */

static sampler_dtype dtype_of(int32_t dtype) {
  return dtype == XLA_F16 ? SAMPLER_F16 : dtype == XLA_BF16 ? SAMPLER_BF16 : SAMPLER_F32;
}

static int64_t last_dim(const XlaBuffer *buffer) {
  return buffer->rank > 0 ? buffer->dims[buffer->rank - 1] : 1;
}

/* Rows, the last dimension the columns. */
static int take_rows_of(Reader *reader, const char *name, const XlaBuffer *buffer,
                        sampler_rows *out) {
  if (!buffer) return broken(reader, "%s is missing", name);
  if (buffer->rank < 1) return broken(reader, "%s has no dimensions; it must have rows", name);
  if (take_buffer(reader, "", name, ELEMENT_FLOATS, buffer, -1, &out->values)) return -1;
  out->num_cols = last_dim(buffer);
  out->num_rows = 1;
  for (int64_t i = 0; i + 1 < buffer->rank; ++i) {
    out->num_rows = product(out->num_rows, buffer->dims[i]);
  }
  out->dtype = dtype_of(buffer->dtype);
  out->kind = reader->request->is_probabilities ? SAMPLER_PROBABILITIES : SAMPLER_LOGITS;
  return 0;
}

/* Rows of sequences, where they have dimensions that tell them. */
static int check_positions_of(Reader *reader, const char *name, const XlaBuffer *buffer,
                              int64_t num_positions) {
  if (buffer->rank < 3 || buffer->dims[buffer->rank - 2] == num_positions) return 0;
  return broken(reader, "%s has %lld rows for each sequence; it must have %lld, by num_drafts",
                name, (long long)buffer->dims[buffer->rank - 2], (long long)num_positions);
}

static int take_random_of(Reader *reader, sampler_random *out) {
  const XlaBuffer *seeds = take_named(reader, "seeds"), *offsets = take_named(reader, "offsets");
  if (seeds) {
    if (take_buffer(reader, "", "seeds", ELEMENT_U64, seeds, -1, &out->seeds)) return -1;
    out->num_seeds = count_of(ELEMENT_U64, seeds);
  }
  if (offsets) {
    if (take_buffer(reader, "", "offsets", ELEMENT_U64, offsets, -1, &out->offsets)) return -1;
    out->num_offsets = count_of(ELEMENT_U64, offsets);
  }
  return 0;
}

static int take_list(Reader *reader, const Member *member, const Operand *operand) {
  sampler_token_lists *lists =
      (sampler_token_lists *)((char *)&reader->request->read_pipeline + member->offset);
  char of[48];
  snprintf(of, sizeof of, "pipeline->%s.", member->name);
  if (take_buffer(reader, of, "offsets", ELEMENT_I64, operand->buffer, -1, &lists->offsets) ||
      take_buffer(reader, of, "token_ids", ELEMENT_I32, operand->ids, -1, &lists->token_ids)) {
    return -1;
  }
  lists->num_lists = sum(count_of(ELEMENT_I64, operand->buffer), -1);
  lists->num_token_ids = count_of(ELEMENT_I32, operand->ids);
  return 0;
}

/* A table of rows: their number and length are the shape's. */
static int take_table_of(Reader *reader, const Member *member, Element element,
                         const XlaBuffer *buffer, int64_t *num_rows, int64_t *stride, void *out) {
  const int64_t columns = last_dim(buffer);
  if (take_buffer(reader, "pipeline->", member->name, element, buffer, -1, out)) return -1;
  *num_rows = columns > 0 ? count_of(element, buffer) / columns : 0;
  *stride = columns;
  return 0;
}

static int take_guidance_of(Reader *reader, const Member *member, const sampler_rows *rows,
                            const XlaBuffer *buffer, sampler_pipeline *p) {
  const Element element = rows->dtype == SAMPLER_F16    ? ELEMENT_F16
                          : rows->dtype == SAMPLER_BF16 ? ELEMENT_BF16
                                                        : ELEMENT_F32;
  int64_t columns;
  if (take_table_of(reader, member, element, buffer, &p->num_guidance_rows, &columns,
                    &p->guidance_logits)) {
    return -1;
  }
  if (columns == rows->num_cols) return 0;
  return broken(reader, "pipeline->guidance_logits has %lld columns; the logits have %lld",
                (long long)columns, (long long)rows->num_cols);
}

/* Arrays of the pipeline; its lists were taken before. */
static int take_pipeline_array(Reader *reader, const Member *member, const Operand *operand,
                               const sampler_rows *rows, int64_t num_slots, int64_t num_rows) {
  sampler_pipeline *p = &reader->request->read_pipeline;
  int64_t needed;
  switch (member - pipeline_members) {
    case pipeline__guidance_logits:
      return take_guidance_of(reader, member, rows, operand->buffer, p);
    case pipeline__dense_bias:
      return take_table_of(reader, member, ELEMENT_F32, operand->buffer, &p->num_dense_biases,
                           &p->dense_bias_stride, &p->dense_bias);
    case pipeline__token_bitmasks:
      return take_table_of(reader, member, ELEMENT_U32, operand->buffer, &p->num_token_bitmasks,
                           &p->token_bitmask_stride, &p->token_bitmasks);
    case pipeline__prompt_lengths:
      needed = num_slots;
      break;
    case pipeline__guidance_row_indices:
    case pipeline__token_bitmask_indices:
      needed = num_rows;
      break;
    case pipeline__biases:
      needed = p->biased.num_token_ids;
      break;
    case pipeline__bad_word_offsets:
      needed = sum(num_slots, 1);
      break;
    case pipeline__adaptive_values:
      needed = product(num_slots, SAMPLER_NUM_ADAPTIVE_VALUES);
      break;
    default:
      return broken(reader, "pipeline->%s is no array", member->name);
  }
  return take_buffer(reader, "pipeline->", member->name, member->element, operand->buffer, needed,
                     (char *)p + member->offset);
}

/* Parameters: numbers, and all operands that the call has not taken by name. */
static int take_options(Reader *reader, const sampler_rows *rows, int64_t num_slots,
                        int64_t num_rows, const sampler_params **params,
                        const sampler_row_params **row_params, const sampler_pipeline **pipeline) {
  XlaRequest *r = reader->request;
  if (r->params.size) {
    if (read_numbers(reader, &params_struct, "params", r->params, &r->read_params)) return -1;
    *params = &r->read_params;
  }
  memset(&r->read_row_params, 0, sizeof r->read_row_params);
  r->read_row_params.struct_size = sizeof r->read_row_params;
  if (read_numbers(reader, &pipeline_struct, "pipeline", r->pipeline, &r->read_pipeline)) return -1;
  r->read_pipeline.token_id_type = SAMPLER_ID_I32;
  if (r->pipeline.size) *pipeline = &r->read_pipeline;

  for (int takes_lists = 1; takes_lists >= 0; --takes_lists) {
    for (int i = 0; i < reader->num_operands; ++i) {
      Operand *operand = &reader->operands[i];
      if (operand->is_taken || takes_lists != (operand->ids != NULL)) continue;
      const Member *member = find_member(&row_params_struct, operand->name);
      if (member) {
        if (take_buffer(reader, "row_params->", member->name, member->element, operand->buffer,
                        num_slots, (char *)&r->read_row_params + member->offset)) {
          return -1;
        }
        *row_params = &r->read_row_params;
        continue;
      }
      member = find_member(&pipeline_struct, operand->name);
      if (!member) {
        return broken(reader, "%.*s is no operand of this call", (int)operand->name.length,
                      operand->name.text);
      }
      if (takes_lists ? take_list(reader, member, operand)
                      : take_pipeline_array(reader, member, operand, rows, num_slots, num_rows)) {
        return -1;
      }
      *pipeline = &r->read_pipeline;
    }
  }
  return 0;
}

static int take_result(Reader *reader, int index, const char *name, Element element, int64_t needed,
                       void *out) {
  if (index >= reader->request->num_results) return broken(reader, "%s is missing", name);
  return take_buffer(reader, "", name, element, reader->request->results[index], needed, out);
}

static sampler_id_type id_type_of(const XlaBuffer *buffer) {
  return buffer->dtype == XLA_S64 ? SAMPLER_ID_I64 : SAMPLER_ID_I32;
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static int read_sample(Reader *reader) {
  XlaRequest *r = reader->request;
  sampler_sample_args *a = &r->args.sample;
  r->exec = &a->exec;
  a->struct_size = sizeof *a;
  if (take_rows_of(reader, "input", take_named(reader, "input"), &a->input)) return -1;
  const XlaBuffer *indices = take_named(reader, "row_indices");
  if (indices) {
    if (take_buffer(reader, "", "row_indices", ELEMENT_I32, indices, -1, &a->row_indices))
      return -1;
    a->num_row_indices = count_of(ELEMENT_I32, indices);
  }
  const int64_t rows = indices ? a->num_row_indices : a->input.num_rows;
  if (take_random_of(reader, &a->random) ||
      take_options(reader, &a->input, rows, rows, &a->params, &a->row_params, &a->pipeline) ||
      take_result(reader, 0, "out_token_ids", ELEMENT_IDS, rows, &a->out_token_ids) ||
      take_result(reader, 1, "out_row_status", ELEMENT_U32, rows, &a->out_row_status)) {
    return -1;
  }
  a->token_id_type = id_type_of(r->results[0]);
  return 0;
}

static int read_filter(Reader *reader) {
  XlaRequest *r = reader->request;
  sampler_filter_args *a = &r->args.filter;
  r->exec = &a->exec;
  a->struct_size = sizeof *a;
  if (take_rows_of(reader, "input", take_named(reader, "input"), &a->input)) return -1;
  const int64_t rows = a->input.num_rows, elements = product(rows, a->input.num_cols);
  if (take_options(reader, &a->input, rows, rows, &a->params, &a->row_params, &a->pipeline) ||
      take_result(reader, 0, "output", ELEMENT_FLOATS, elements, &a->output)) {
    return -1;
  }
  a->output_dtype = dtype_of(r->results[0]->dtype);
  a->output_kind = r->writes_values ? SAMPLER_OUTPUT_VALUES : SAMPLER_OUTPUT_PROBABILITIES;
  return 0;
}

static int read_verify(Reader *reader) {
  XlaRequest *r = reader->request;
  sampler_verify_args *a = &r->args.verify;
  r->exec = &a->exec;
  a->struct_size = sizeof *a;
  const XlaBuffer *ids = take_named(reader, "draft_token_ids"),
                  *draft = take_named(reader, "draft");
  if (!ids || ids->rank != 2) {
    return broken(reader, "draft_token_ids has %lld dimensions; it must have 2",
                  ids ? (long long)ids->rank : 0);
  }
  const int64_t sequences = ids->dims[0], drafts = ids->dims[1];
  const int64_t positions = sum(drafts, 1), tokens = product(sequences, positions);
  if (take_rows_of(reader, "target", take_named(reader, "target"), &a->target)) return -1;
  if (a->target.num_rows != tokens) {
    return broken(reader,
                  "target has %lld rows; it must have %lld, one more than drafts for each of "
                  "%lld sequences",
                  (long long)a->target.num_rows, (long long)tokens, (long long)sequences);
  }
  if (check_positions_of(reader, "target", take_named(reader, "target"), positions)) return -1;
  if (draft) {
    if (take_rows_of(reader, "draft", draft, &a->draft)) return -1;
    if (a->draft.num_rows != product(sequences, drafts)) {
      return broken(reader, "draft has %lld rows; it must have %lld, one for each draft",
                    (long long)a->draft.num_rows, (long long)product(sequences, drafts));
    }
    if (check_positions_of(reader, "draft", draft, drafts)) return -1;
  }
  a->num_drafts = drafts;
  if (r->acceptance.size) {
    if (read_numbers(reader, &acceptance_params_struct, "acceptance", r->acceptance,
                     &r->read_acceptance)) {
      return -1;
    }
    a->acceptance = &r->read_acceptance;
  }
  if (take_buffer(reader, "", "draft_token_ids", ELEMENT_IDS, ids, -1, &a->draft_token_ids) ||
      take_random_of(reader, &a->random) ||
      take_options(reader, &a->target, sequences, tokens, &a->params, &a->row_params,
                   &a->pipeline) ||
      take_result(reader, 0, "out_token_ids", ELEMENT_IDS, tokens, &a->out_token_ids) ||
      take_result(reader, 1, "out_accepted_counts", ELEMENT_I32, sequences,
                  &a->out_accepted_counts) ||
      take_result(reader, 2, "out_emitted_counts", ELEMENT_I32, sequences,
                  &a->out_emitted_counts) ||
      take_result(reader, 3, "out_row_status", ELEMENT_U32, sequences, &a->out_row_status)) {
    return -1;
  }
  a->token_id_type = id_type_of(ids);
  if (id_type_of(r->results[0]) == a->token_id_type) return 0;
  return broken(reader, "out_token_ids and draft_token_ids are of different types");
}

int xla_request_read(XlaRequest *request) {
  Reader reader = {.request = request};
  memset(&request->args, 0, sizeof request->args);
  if (split_names(&reader)) return -1;
  switch (request->operation) {
    case OPERATION_SAMPLE:
      return read_sample(&reader);
    case OPERATION_FILTER:
      return read_filter(&reader);
    default:
      return read_verify(&reader);
  }
}
