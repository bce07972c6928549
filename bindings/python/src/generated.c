/* Made from libsampler's headers by bindings/python/generate.py; do not edit. */
#include "generated.h"

#pragma GCC diagnostic ignored "-Woverlength-strings"

const Member rows_members[] = {
  {"values", "values", offsetof(sampler_rows, values),
   KIND_OBJECT, ELEMENT_FLOATS, 0, 0, -1, 0,
    "[num_rows, num_cols] Elements of type `dtype`. Required, unless num_rows is 0."},
  {"num_rows", "num_rows", offsetof(sampler_rows, num_rows),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Rows, in [0, 2^31). 0: the call does nothing."},
  {"num_cols", "num_cols", offsetof(sampler_rows, num_cols),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Columns: the vocabulary, or the capacity for candidates. In [1, 2^20)."},
  {"row_stride", "row_stride", offsetof(sampler_rows, row_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Elements from one row to the next, at least num_cols. 0: num_cols."},
  {"candidate_ids", "candidate_ids", offsetof(sampler_rows, candidate_ids),
   KIND_OBJECT, ELEMENT_IDS, 0, 1, -1, 0,
    "[num_rows, num_cols] Candidate lists, for engines that hold (id, logit) pairs instead of whole\n"
    "rows. Laid out like `values`: the token id of each element, in [0, 2^20), in any order,\n"
    "distinct within a row. A list of all ids gives the same token as the row. None: an element's id\n"
    "is its column."},
  {"candidate_counts", "candidate_counts", offsetof(sampler_rows, candidate_counts),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    "[num_rows] Elements of each row, in [0, num_cols]; later ones are not read. The length of each\n"
    "list with candidate_ids, of each row without. None: num_cols."},
  {"dtype", "dtype", offsetof(sampler_rows, dtype),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"kind", "kind", offsetof(sampler_rows, kind),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"candidate_id_type", "candidate_id_type", offsetof(sampler_rows, candidate_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Type of candidate_ids."},
};

static PyObject *rows_names[9];
static PyTypeObject *rows_result_type;
const Struct rows_struct = {
  "Rows", rows_members, 9, 3, sizeof(sampler_rows), 0,
  NULL, 0, NULL,
  rows_names, &rows_result_type,
    "Rows of logits or probabilities, row_stride elements apart. Never written."};

const Member token_lists_members[] = {
  {"offsets", "offsets", offsetof(sampler_token_lists, offsets),
   KIND_OBJECT, ELEMENT_I64, 0, 0, -1, 0,
    "[num_lists + 1] Ascending."},
  {"token_ids", "token_ids", offsetof(sampler_token_lists, token_ids),
   KIND_OBJECT, ELEMENT_IDS, 0, 1, -1, 0,
    "[num_token_ids] Of the pipeline's token_id_type. May be None if empty."},
  {"num_lists", "num_lists", offsetof(sampler_token_lists, num_lists),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"num_token_ids", "num_token_ids", offsetof(sampler_token_lists, num_token_ids),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
};

static PyObject *token_lists_names[4];
static PyTypeObject *token_lists_result_type;
const Struct token_lists_struct = {
  "TokenLists", token_lists_members, 4, 2, sizeof(sampler_token_lists), 0,
  NULL, 0, NULL,
  token_lists_names, &token_lists_result_type,
    "Lists of token ids, concatenated: list i is token_ids[offsets[i]] to\n"
    "token_ids[offsets[i + 1] - 1]. A view, passed by value. All 0: no lists.\n"
    "\n"
    "For lists by slot, num_lists is the number of slots, or 1: one list for all. Rows whose offsets\n"
    "decrease, or lie outside [0, num_token_ids], are bad (INVALID_LIST)."};

const Member params_members[] = {
  {"temperature", "temperature", offsetof(sampler_params, temperature),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Divides the logits. At most 1e-5 (0 and negative too): greedy, the first token in rank order\n"
    "whatever the filters. At most 2^64. Probabilities are used as given: the temperature must be 1,\n"
    "or at most 1e-5. Not NaN. Default 1."},
  {"top_p", "top_p", offsetof(sampler_params, top_p),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Keeps the shortest prefix of rank order whose probability, relative to the filter's input, is\n"
    "at least top_p, or above it by top_p_sum (nucleus sampling, Holtzman et al. 2020). >= 1:\n"
    "off; <= 0: one token. Not NaN. Default 1."},
  {"min_p", "min_p", offsetof(sampler_params, min_p),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Keeps tokens at least min_p times as likely as the likeliest (Nguyen et al. 2024). <= 0: off;\n"
    "above 1: 1. Not NaN. Default 0."},
  {"top_k", "top_k", offsetof(sampler_params, top_k),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Keeps the first top_k tokens in rank order. <= 0 or >= num_cols: off. Default 0."},
  {"top_k_ties", "top_k_ties", offsetof(sampler_params, top_k_ties),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "How the filters combine. All default to 0, the first constant of their enumeration."},
  {"top_p_ties", "top_p_ties", offsetof(sampler_params, top_p_ties),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"filter_order", "filter_order", offsetof(sampler_params, filter_order),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"temperature_order", "temperature_order", offsetof(sampler_params, temperature_order),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"guidance_scale", "guidance_scale", offsetof(sampler_params, guidance_scale),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Edits: see pipeline.h. All are off by default. Floats are finite.\n"
    "\n"
    "Classifier-free guidance by pipeline.guidance_logits. 0 and 1: off."},
  {"repetition_penalty", "repetition_penalty", offsetof(sampler_params, repetition_penalty),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Penalties on tokens in the history: positive logits are divided by repetition_penalty, others\n"
    "multiplied by it (Keskar et al. 2019; 0 and 1: off; not negative); frequency_penalty is\n"
    "subtracted once per occurrence, presence_penalty once."},
  {"frequency_penalty", "frequency_penalty", offsetof(sampler_params, frequency_penalty),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"presence_penalty", "presence_penalty", offsetof(sampler_params, presence_penalty),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"penalty_window", "penalty_window", offsetof(sampler_params, penalty_window),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Number of last history tokens that count. <= 0: all."},
  {"penalty_scope", "penalty_scope", offsetof(sampler_params, penalty_scope),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"penalty_form", "penalty_form", offsetof(sampler_params, penalty_form),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"exponential_decay_start", "exponential_decay_start", offsetof(sampler_params, exponential_decay_start),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "The exponential decay length penalty (Hugging Face): from the output's token\n"
    "exponential_decay_start on, the n-th token from there has the logits x of pipeline.stop at\n"
    "x + |x| * (exponential_decay_factor^n - 1).\n"
    "\n"
    "negative: 0"},
  {"exponential_decay_factor", "exponential_decay_factor", offsetof(sampler_params, exponential_decay_factor),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "0 and 1: off; not negative"},
  {"dry_multiplier", "dry_multiplier", offsetof(sampler_params, dry_multiplier),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "DRY (p-e-w, text-generation-webui, 2024): a token that would continue a repeat of\n"
    "n >= dry_allowed_length tokens loses dry_multiplier * dry_base^(n - dry_allowed_length).\n"
    "\n"
    "<= 0: off"},
  {"dry_base", "dry_base", offsetof(sampler_params, dry_base),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "0: 1.75; below 1: off"},
  {"dry_allowed_length", "dry_allowed_length", offsetof(sampler_params, dry_allowed_length),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "0: 2; negative: 0"},
  {"dry_window", "dry_window", offsetof(sampler_params, dry_window),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "last tokens searched for repeats; <= 0: all"},
  {"no_repeat_ngram_size", "no_repeat_ngram_size", offsetof(sampler_params, no_repeat_ngram_size),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Bans tokens that would complete an n-gram of the history. <= 0: off."},
  {"min_new_tokens", "min_new_tokens", offsetof(sampler_params, min_new_tokens),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "pipeline.stop is banned before the output has min_new_tokens tokens. <= 0: no minimum."},
  {"bad_word_scope", "bad_word_scope", offsetof(sampler_params, bad_word_scope),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "History searched for bad words. OUTPUT: the output (vLLM); the others: all."},
  {"dynamic_temperature_range", "dynamic_temperature_range", offsetof(sampler_params, dynamic_temperature_range),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Truncation windows: see pipeline.h. All are off by default, and none is NaN.\n"
    "\n"
    "Dynamic temperature: from max(0, T - range) to T + range, by (H / H_max)^exponent, H the\n"
    "entropy of its input (kalomaze 2023). Logits only.\n"
    "\n"
    "<= 0: off"},
  {"dynamic_temperature_exponent", "dynamic_temperature_exponent", offsetof(sampler_params, dynamic_temperature_exponent),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "0: 1; negative: 0"},
  {"typical_p", "typical_p", offsetof(sampler_params, typical_p),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "locally typical sampling (Meister et al. 2023). <= 0, >= 1: off"},
  {"top_n_sigma", "top_n_sigma", offsetof(sampler_params, top_n_sigma),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "n population standard deviations (Tang et al. 2024). <= 0: off"},
  {"epsilon_cutoff", "epsilon_cutoff", offsetof(sampler_params, epsilon_cutoff),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "(Hewitt et al. 2022). <= 0, >= 1: off"},
  {"eta_cutoff", "eta_cutoff", offsetof(sampler_params, eta_cutoff),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "(Hewitt et al. 2022). <= 0, >= 1: off"},
  {"top_h", "top_h", offsetof(sampler_params, top_h),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "(Potraghloo et al. 2025). <= 0, >= 1: off"},
  {"p_less", "p_less", offsetof(sampler_params, p_less),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "(Tan, Wu, Howard 2025). NONE: off"},
  {"min_k", "min_k", offsetof(sampler_params, min_k),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "tau of min-k (Ding et al. 2026), the tokens kept of a flat row times the range of its logits.\n"
    "<= 0: off. 3 is usual; the smallest float keeps what stands before the fall alone."},
  {"top_a", "top_a", offsetof(sampler_params, top_a),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "times the largest probability squared (KoboldAI 2022). <= 0: off"},
  {"xtc_probability", "xtc_probability", offsetof(sampler_params, xtc_probability),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "exclude top choices (p-e-w 2024). <= 0: off. sampler_sample only"},
  {"xtc_threshold", "xtc_threshold", offsetof(sampler_params, xtc_threshold),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "0: 0.1; negative: 0; above 0.5: off"},
  {"typical_p_ties", "typical_p_ties", offsetof(sampler_params, typical_p_ties),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"min_keep", "min_keep", offsetof(sampler_params, min_keep),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Every window, top-k, top-p and min-p included, keeps at least min_keep tokens, if it\n"
    "has them.\n"
    "\n"
    "<= 1: one"},
  {"stages", "stages", offsetof(sampler_params, stages),
   KIND_I32S, ELEMENT_NONE, 0, -1, -1, SAMPLER_MAX_STAGES,
    "The order of all stages; 0 ends the list. Edits come first, ADAPTIVE last. Each enabled stage\n"
    "must be listed, none twice. With a list, filter_order must be SEQUENTIAL, which then has no\n"
    "effect, or JOINT, with the listed ones of top-k, top-p and min-p adjacent; temperature_order\n"
    "must be FIRST. All 0: the order of sampler_stage, with filter_order and temperature_order\n"
    "as documented."},
  {"adaptive_kind", "adaptive_kind", offsetof(sampler_params, adaptive_kind),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Adaptive stages: see pipeline.h. All are off by default. Greedy rows ignore them. Drawn tokens\n"
    "update them: see pipeline.adaptive_values and sampler_accept.\n"
    "\n"
    "NONE: off. The target is mirostat's surprise in bits (0: 5; not negative), or adaptive-p's\n"
    "probability (negative: off; above 1: 1), or smoothing's factor (0: off; not negative). The\n"
    "rate is mirostat's learning rate (0: 0.1), or adaptive-p's decay (0: 0.9; above 0.99: 0.99),\n"
    "both 0 where negative, or smoothing's curve (0: 1; from 1 to 3). Both are finite, and ignored\n"
    "with NONE."},
  {"adaptive_target", "adaptive_target", offsetof(sampler_params, adaptive_target),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"adaptive_rate", "adaptive_rate", offsetof(sampler_params, adaptive_rate),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"top_p_decay", "top_p_decay", offsetof(sampler_params, top_p_decay),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "After each token the running top_p, initially top_p, is multiplied by top_p_decay, down\n"
    "to top_p_least.\n"
    "\n"
    "<= 0, >= 1: off. Not NaN"},
  {"top_p_least", "top_p_least", offsetof(sampler_params, top_p_least),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "finite"},
  {"top_p_sum", "top_p_sum", offsetof(sampler_params, top_p_sum),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Sums and ties. All default to 0, the first constant of their enumeration.\n"
    "\n"
    "Whether the kept probability of top-p and typical-p must reach or exceed the threshold."},
  {"typical_p_sum", "typical_p_sum", offsetof(sampler_params, typical_p_sum),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"cutoff_ties", "cutoff_ties", offsetof(sampler_params, cutoff_ties),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Ties of epsilon and eta: KEEP keeps all tokens equal to the last one that min_keep requires, so\n"
    "all of the likeliest where no token reaches the threshold."},
};

static const Default params_defaults[] = {{params__temperature, 1.0f}, {params__top_p, 1.0f}};

static PyObject *params_names[47];
static PyTypeObject *params_result_type;
const Struct params_struct = {
  "Params", params_members, 47, 0, sizeof(sampler_params), 1,
  params_defaults, 2, NULL,
  params_names, &params_result_type,
    "Temperature, filters, how they combine, and the parameters of the edits before them."};

const Member row_params_members[] = {
  {"temperature", "temperature", offsetof(sampler_row_params, temperature),
   KIND_OBJECT, ELEMENT_F32, 0, 0, -1, 0,
    ""},
  {"top_p", "top_p", offsetof(sampler_row_params, top_p),
   KIND_OBJECT, ELEMENT_F32, 0, 1, -1, 0,
    ""},
  {"min_p", "min_p", offsetof(sampler_row_params, min_p),
   KIND_OBJECT, ELEMENT_F32, 0, 2, -1, 0,
    ""},
  {"top_k", "top_k", offsetof(sampler_row_params, top_k),
   KIND_OBJECT, ELEMENT_I32, 0, 3, -1, 0,
    ""},
  {"guidance_scale", "guidance_scale", offsetof(sampler_row_params, guidance_scale),
   KIND_OBJECT, ELEMENT_F32, 0, 4, -1, 0,
    ""},
  {"repetition_penalty", "repetition_penalty", offsetof(sampler_row_params, repetition_penalty),
   KIND_OBJECT, ELEMENT_F32, 0, 5, -1, 0,
    ""},
  {"frequency_penalty", "frequency_penalty", offsetof(sampler_row_params, frequency_penalty),
   KIND_OBJECT, ELEMENT_F32, 0, 6, -1, 0,
    ""},
  {"presence_penalty", "presence_penalty", offsetof(sampler_row_params, presence_penalty),
   KIND_OBJECT, ELEMENT_F32, 0, 7, -1, 0,
    ""},
  {"penalty_window", "penalty_window", offsetof(sampler_row_params, penalty_window),
   KIND_OBJECT, ELEMENT_I32, 0, 8, -1, 0,
    ""},
  {"exponential_decay_start", "exponential_decay_start", offsetof(sampler_row_params, exponential_decay_start),
   KIND_OBJECT, ELEMENT_I32, 0, 9, -1, 0,
    ""},
  {"exponential_decay_factor", "exponential_decay_factor", offsetof(sampler_row_params, exponential_decay_factor),
   KIND_OBJECT, ELEMENT_F32, 0, 10, -1, 0,
    ""},
  {"dry_multiplier", "dry_multiplier", offsetof(sampler_row_params, dry_multiplier),
   KIND_OBJECT, ELEMENT_F32, 0, 11, -1, 0,
    ""},
  {"dry_base", "dry_base", offsetof(sampler_row_params, dry_base),
   KIND_OBJECT, ELEMENT_F32, 0, 12, -1, 0,
    ""},
  {"dry_allowed_length", "dry_allowed_length", offsetof(sampler_row_params, dry_allowed_length),
   KIND_OBJECT, ELEMENT_I32, 0, 13, -1, 0,
    ""},
  {"dry_window", "dry_window", offsetof(sampler_row_params, dry_window),
   KIND_OBJECT, ELEMENT_I32, 0, 14, -1, 0,
    ""},
  {"no_repeat_ngram_size", "no_repeat_ngram_size", offsetof(sampler_row_params, no_repeat_ngram_size),
   KIND_OBJECT, ELEMENT_I32, 0, 15, -1, 0,
    ""},
  {"min_new_tokens", "min_new_tokens", offsetof(sampler_row_params, min_new_tokens),
   KIND_OBJECT, ELEMENT_I32, 0, 16, -1, 0,
    ""},
  {"dynamic_temperature_range", "dynamic_temperature_range", offsetof(sampler_row_params, dynamic_temperature_range),
   KIND_OBJECT, ELEMENT_F32, 0, 17, -1, 0,
    ""},
  {"dynamic_temperature_exponent", "dynamic_temperature_exponent", offsetof(sampler_row_params, dynamic_temperature_exponent),
   KIND_OBJECT, ELEMENT_F32, 0, 18, -1, 0,
    ""},
  {"typical_p", "typical_p", offsetof(sampler_row_params, typical_p),
   KIND_OBJECT, ELEMENT_F32, 0, 19, -1, 0,
    ""},
  {"top_n_sigma", "top_n_sigma", offsetof(sampler_row_params, top_n_sigma),
   KIND_OBJECT, ELEMENT_F32, 0, 20, -1, 0,
    ""},
  {"epsilon_cutoff", "epsilon_cutoff", offsetof(sampler_row_params, epsilon_cutoff),
   KIND_OBJECT, ELEMENT_F32, 0, 21, -1, 0,
    ""},
  {"eta_cutoff", "eta_cutoff", offsetof(sampler_row_params, eta_cutoff),
   KIND_OBJECT, ELEMENT_F32, 0, 22, -1, 0,
    ""},
  {"top_h", "top_h", offsetof(sampler_row_params, top_h),
   KIND_OBJECT, ELEMENT_F32, 0, 23, -1, 0,
    ""},
  {"p_less", "p_less", offsetof(sampler_row_params, p_less),
   KIND_OBJECT, ELEMENT_I32, 0, 24, -1, 0,
    "an unknown constant makes the row bad"},
  {"min_k", "min_k", offsetof(sampler_row_params, min_k),
   KIND_OBJECT, ELEMENT_F32, 0, 25, -1, 0,
    ""},
  {"top_a", "top_a", offsetof(sampler_row_params, top_a),
   KIND_OBJECT, ELEMENT_F32, 0, 26, -1, 0,
    ""},
  {"xtc_probability", "xtc_probability", offsetof(sampler_row_params, xtc_probability),
   KIND_OBJECT, ELEMENT_F32, 0, 27, -1, 0,
    ""},
  {"xtc_threshold", "xtc_threshold", offsetof(sampler_row_params, xtc_threshold),
   KIND_OBJECT, ELEMENT_F32, 0, 28, -1, 0,
    ""},
  {"min_keep", "min_keep", offsetof(sampler_row_params, min_keep),
   KIND_OBJECT, ELEMENT_I32, 0, 29, -1, 0,
    ""},
  {"forced_token_id", "forced_token_id", offsetof(sampler_row_params, forced_token_id),
   KIND_OBJECT, ELEMENT_I64, 0, 30, -1, 0,
    "Token that the slot yields regardless of all else: the end of a thinking budget, a replayed\n"
    "trace. Negative: none. An id outside the row makes it bad (INVALID_PARAMETER).\n"
    "sampler_sample only."},
  {"adaptive_kind", "adaptive_kind", offsetof(sampler_row_params, adaptive_kind),
   KIND_OBJECT, ELEMENT_I32, 0, 31, -1, 0,
    "an unknown constant makes the row bad"},
  {"adaptive_target", "adaptive_target", offsetof(sampler_row_params, adaptive_target),
   KIND_OBJECT, ELEMENT_F32, 0, 32, -1, 0,
    ""},
  {"adaptive_rate", "adaptive_rate", offsetof(sampler_row_params, adaptive_rate),
   KIND_OBJECT, ELEMENT_F32, 0, 33, -1, 0,
    ""},
  {"top_p_decay", "top_p_decay", offsetof(sampler_row_params, top_p_decay),
   KIND_OBJECT, ELEMENT_F32, 0, 34, -1, 0,
    ""},
  {"top_p_least", "top_p_least", offsetof(sampler_row_params, top_p_least),
   KIND_OBJECT, ELEMENT_F32, 0, 35, -1, 0,
    ""},
  {"top_p_reset_token_id", "top_p_reset_token_id", offsetof(sampler_row_params, top_p_reset_token_id),
   KIND_OBJECT, ELEMENT_I64, 0, 36, -1, 0,
    "Token that resets the running top_p to top_p. Negative: none. None: none."},
};

static PyObject *row_params_names[37];
static PyTypeObject *row_params_result_type;
const Struct row_params_struct = {
  "RowParams", row_params_members, 37, 37, sizeof(sampler_row_params), 1,
  NULL, 0, NULL,
  row_params_names, &row_params_result_type,
    "Parameters by slot: [number of slots] each, in the handle's memory, or host memory with the\n"
    "handle's host_parameters. None: the scalar of that name for all. Every value has the scalar's\n"
    "meaning. NaN, or a temperature not allowed with probabilities, makes the slot's rows bad."};

const Member pipeline_members[] = {
  {"token_id_type", "token_id_type", offsetof(sampler_pipeline, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Type of every token id in this struct."},
  {"token_bitmask_rule", "token_bitmask_rule", offsetof(sampler_pipeline, token_bitmask_rule),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"history", "history", offsetof(sampler_pipeline, history),
   KIND_OBJECT, ELEMENT_NONE, 0, 0, -1, 0,
    "By slot: the tokens so far, oldest first: prompt, then output. Penalties, DRY, n-grams, bad\n"
    "words and min_new_tokens need it."},
  {"prompt_lengths", "prompt_lengths", offsetof(sampler_pipeline, prompt_lengths),
   KIND_OBJECT, ELEMENT_I32, 0, 1, -1, 0,
    "[slots] Prompt tokens in each history, in [0, its length]; others make the row bad\n"
    "(INVALID_LIST). None: 0, all is output."},
  {"max_history_tokens", "max_history_tokens", offsetof(sampler_pipeline, max_history_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Upper bound of history lengths; rows with a longer one are bad (INVALID_LIST). DRY and n-grams\n"
    "take 4 bytes of workspace per token of it. In [0, 2^31). 0: history.num_token_ids, or the\n"
    "state's max_tokens."},
  {"guidance_logits", "guidance_logits", offsetof(sampler_pipeline, guidance_logits),
   KIND_OBJECT, ELEMENT_FLOATS, 0, 2, -1, 0,
    "Classifier-free guidance (Sanchez et al. 2023): rows of logits u of the same tokens, as after\n"
    "another prompt, which make the call's logits x into u + guidance_scale * (x - u). They have the\n"
    "type, columns and stride of the call's logits; in a call with candidate_ids their elements are\n"
    "those of its rows. x stays where it or u is -inf; else a NaN or +inf makes the row bad\n"
    "(INVALID_VALUE). Only read where a slot's guidance_scale is on. Not for loops;\n"
    "in sessions sampler_session_advance has them."},
  {"num_guidance_rows", "num_guidance_rows", offsetof(sampler_pipeline, num_guidance_rows),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "At least 1, and without guidance_row_indices one per output row; 0 if guidance_logits is\n"
    "None."},
  {"guidance_row_indices", "guidance_row_indices", offsetof(sampler_pipeline, guidance_row_indices),
   KIND_OBJECT, ELEMENT_I32, 0, 3, -1, 0,
    "[output rows] The guidance row of each row; negative: none; num_guidance_rows or more: the row\n"
    "is bad (INVALID_INDEX). None: row i has row i."},
  {"biased", "biased", offsetof(sampler_pipeline, biased),
   KIND_OBJECT, ELEMENT_NONE, 0, 4, -1, 0,
    "By slot: tokens with a bias, added to their logits."},
  {"biases", "biases", offsetof(sampler_pipeline, biases),
   KIND_OBJECT, ELEMENT_F32, 0, 5, -1, 0,
    "[biased.num_token_ids] Finite or -inf; other values make the row bad (INVALID_PARAMETER).\n"
    "Biases of an id listed twice are both added, in list order."},
  {"bias_contexts", "bias_contexts", offsetof(sampler_pipeline, bias_contexts),
   KIND_OBJECT, ELEMENT_NONE, 0, 6, -1, 0,
    "A list for each entry of biased.token_ids, [biased.num_token_ids]: its bias is added only where\n"
    "the history ends in these tokens (Hugging Face's sequence_bias: the last token is biased, the\n"
    "others are the list). Empty lists: always. It needs a history. A row with an invalid list is\n"
    "bad (INVALID_LIST). offsets None: always, for all."},
  {"dense_bias", "dense_bias", offsetof(sampler_pipeline, dense_bias),
   KIND_OBJECT, ELEMENT_F32, 0, 7, -1, 0,
    "[num_dense_biases, dense_bias_stride] Bias by id: one row for all slots, or one each. Ids from\n"
    "dense_bias_stride on get none. Stride 0: num_cols, but candidate_ids require a stride."},
  {"num_dense_biases", "num_dense_biases", offsetof(sampler_pipeline, num_dense_biases),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"dense_bias_stride", "dense_bias_stride", offsetof(sampler_pipeline, dense_bias_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"allowed", "allowed", offsetof(sampler_pipeline, allowed),
   KIND_OBJECT, ELEMENT_NONE, 0, 8, -1, 0,
    "By slot: the only tokens that may be drawn, unless the slot's list is empty. Duplicates\n"
    "are allowed."},
  {"banned", "banned", offsetof(sampler_pipeline, banned),
   KIND_OBJECT, ELEMENT_NONE, 0, 9, -1, 0,
    "By slot: tokens that must not be drawn."},
  {"stop", "stop", offsetof(sampler_pipeline, stop),
   KIND_OBJECT, ELEMENT_NONE, 0, 10, -1, 0,
    "By slot: tokens that must not be drawn before the output has min_new_tokens tokens, and that\n"
    "the exponential decay makes likelier."},
  {"unpenalized", "unpenalized", offsetof(sampler_pipeline, unpenalized),
   KIND_OBJECT, ELEMENT_NONE, 0, 11, -1, 0,
    "By slot: tokens that repetition, frequency and presence penalties leave as they are, such as\n"
    "newlines and ends."},
  {"bad_words", "bad_words", offsetof(sampler_pipeline, bad_words),
   KIND_OBJECT, ELEMENT_NONE, 0, 12, -1, 0,
    "Words of one or more tokens, and which of them each slot has: [slots + 1], slot s has the words\n"
    "from bad_word_offsets[s] to bad_word_offsets[s + 1] - 1. None: every slot has all. A word's\n"
    "last token is banned where the history ends in the others. A word without tokens makes its rows\n"
    "bad (INVALID_LIST)."},
  {"bad_word_offsets", "bad_word_offsets", offsetof(sampler_pipeline, bad_word_offsets),
   KIND_OBJECT, ELEMENT_I64, 0, 13, -1, 0,
    ""},
  {"dry_breakers", "dry_breakers", offsetof(sampler_pipeline, dry_breakers),
   KIND_OBJECT, ELEMENT_NONE, 0, 14, -1, 0,
    "DRY's sequence breakers, for all slots: distinct sequences of 1 to 20 tokens in lexicographic\n"
    "order. Others make rows with DRY bad (INVALID_LIST)."},
  {"token_bitmasks", "token_bitmasks", offsetof(sampler_pipeline, token_bitmasks),
   KIND_OBJECT, ELEMENT_U32, 0, 15, -1, 0,
    "[num_token_bitmasks, token_bitmask_stride] Bit i of word j is 1 where id 32 j + i may be drawn\n"
    "(xgrammar). Ids from 32 token_bitmask_stride on, as in a padded vocabulary, are allowed unless\n"
    "token_bitmask_rule is FORBIDS. The stride, in words, is also the length of a mask; 0:\n"
    "ceil(num_cols / 32), but candidate_ids require a stride. At least 1 mask, and without\n"
    "token_bitmask_indices one per output row; 0 if token_bitmasks is None."},
  {"num_token_bitmasks", "num_token_bitmasks", offsetof(sampler_pipeline, num_token_bitmasks),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"token_bitmask_stride", "token_bitmask_stride", offsetof(sampler_pipeline, token_bitmask_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"token_bitmask_indices", "token_bitmask_indices", offsetof(sampler_pipeline, token_bitmask_indices),
   KIND_OBJECT, ELEMENT_I32, 0, 16, -1, 0,
    "[output rows] The mask of each row; negative: none; num_token_bitmasks or more: the row is bad\n"
    "(INVALID_INDEX). None: row i has mask i, and there must be one for each."},
  {"state", "state", offsetof(sampler_pipeline, state),
   KIND_OBJECT, ELEMENT_NONE, 0, 17, -1, 0,
    "Replaces history, prompt_lengths and adaptive_values, which must be None then: slot s of the\n"
    "call is slot s of the state, and the call has at most the state's slots. It belongs to the same\n"
    "handle, and is only read."},
  {"adaptive_values", "adaptive_values", offsetof(sampler_pipeline, adaptive_values),
   KIND_OBJECT, ELEMENT_F32, 0, 18, -1, 0,
    "[slots, SAMPLER_NUM_ADAPTIVE_VALUES] For callers without a state, who update them from\n"
    "out_observations by section 14.2 of docs/contract.md. NaN is the start of its stage; infinity\n"
    "makes the row bad (INVALID_PARAMETER), even with the stage off. None: all start."},
};

static PyObject *pipeline_names[27];
static PyTypeObject *pipeline_result_type;
const Struct pipeline_struct = {
  "Pipeline", pipeline_members, 27, 19, sizeof(sampler_pipeline), 1,
  NULL, 0, NULL,
  pipeline_names, &pipeline_result_type,
    "Arrays are in the handle's memory and read when the work runs."};

const Member report_args_members[] = {
  {"logprob_kind", "logprob_kind", offsetof(sampler_report_args, logprob_kind),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "The distribution of out_logprobs and of all members after out_observations."},
  {"out_logprobs", "out_logprobs", offsetof(sampler_report_args, out_logprobs),
   KIND_OBJECT, ELEMENT_F32, 1, 0, 0, 0,
    "[rows] Natural log-probability of the row's token; NaN for a bad row. For rows of probabilities\n"
    "it is relative to the row's sum."},
  {"out_values", "out_values", offsetof(sampler_report_args, out_values),
   KIND_OBJECT, ELEMENT_F32, 1, 1, 1, 0,
    "[rows] The token's input value, widened to f32; NaN for a bad row."},
  {"out_kept_counts", "out_kept_counts", offsetof(sampler_report_args, out_kept_counts),
   KIND_OBJECT, ELEMENT_I32, 1, 2, 2, 0,
    "[rows] Number of kept tokens: 1 for a greedy row, 0 for a bad one."},
  {"out_observations", "out_observations", offsetof(sampler_report_args, out_observations),
   KIND_OBJECT, ELEMENT_F32, 1, 3, 3, 0,
    "[rows] Input to the adaptive stage's update: the token's surprise in bits among those that\n"
    "mirostat kept, or its probability before adaptive-p changed it. NaN without an update."},
  {"num_top_logprobs", "num_top_logprobs", offsetof(sampler_report_args, num_top_logprobs),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "[rows, num_top_logprobs] The distribution's first tokens in rank order, and their\n"
    "log-probabilities; padding, and all of a bad row, is -1 and NaN. num_top_logprobs in\n"
    "[0, num_cols]; either array may be None, not both."},
  {"out_top_token_ids", "out_top_token_ids", offsetof(sampler_report_args, out_top_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 1, 4, 4, 0,
    ""},
  {"out_top_logprobs", "out_top_logprobs", offsetof(sampler_report_args, out_top_logprobs),
   KIND_OBJECT, ELEMENT_F32, 1, 5, 5, 0,
    ""},
  {"num_chosen", "num_chosen", offsetof(sampler_report_args, num_chosen),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "[rows, num_chosen] Log-probabilities of the caller's tokens: -inf outside the distribution; NaN\n"
    "for ids outside the row, and in bad rows. num_chosen in [0, num_cols]; unless it is 0 both\n"
    "are required."},
  {"chosen_token_ids", "chosen_token_ids", offsetof(sampler_report_args, chosen_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 0, 6, -1, 0,
    ""},
  {"out_chosen_logprobs", "out_chosen_logprobs", offsetof(sampler_report_args, out_chosen_logprobs),
   KIND_OBJECT, ELEMENT_F32, 1, 7, 6, 0,
    ""},
  {"out_ranks", "out_ranks", offsetof(sampler_report_args, out_ranks),
   KIND_OBJECT, ELEMENT_I32, 1, 8, 7, 0,
    "[rows] Rank of the row's token in the distribution, from 1; 0 for a bad row, and for a forced\n"
    "token outside the distribution."},
  {"out_entropies", "out_entropies", offsetof(sampler_report_args, out_entropies),
   KIND_OBJECT, ELEMENT_F32, 1, 9, 8, 0,
    "[rows] The distribution's entropy in nats, >= 0; NaN for a bad row."},
  {"out_kept_bitmask", "out_kept_bitmask", offsetof(sampler_report_args, out_kept_bitmask),
   KIND_OBJECT, ELEMENT_U32, 1, 10, 9, 0,
    "[rows, kept_bitmask_stride] The kept tokens, laid out like token_bitmasks; all 0 in a bad row.\n"
    "The stride is in words, below 2^31; 0: ceil(num_cols / 32). Ids from 32 * stride on have no\n"
    "bit. The stride is required with candidate_ids."},
  {"kept_bitmask_stride", "kept_bitmask_stride", offsetof(sampler_report_args, kept_bitmask_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"kept_capacity", "kept_capacity", offsetof(sampler_report_args, kept_capacity),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "[rows, kept_capacity] The kept tokens by ascending id, and their probabilities, which sum to 1\n"
    "up to rounding and equal sampler_filter's; padding, and all of a bad row, is -1 and 0. A row\n"
    "that keeps more than kept_capacity has an empty list; its count is in out_kept_counts. In\n"
    "[0, num_cols]; either array may be None, not both."},
  {"out_kept_token_ids", "out_kept_token_ids", offsetof(sampler_report_args, out_kept_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 1, 11, 10, 0,
    ""},
  {"out_kept_probabilities", "out_kept_probabilities", offsetof(sampler_report_args, out_kept_probabilities),
   KIND_OBJECT, ELEMENT_F32, 1, 12, 11, 0,
    ""},
  {"out_kept_offsets", "out_kept_offsets", offsetof(sampler_report_args, out_kept_offsets),
   KIND_OBJECT, ELEMENT_I64, 1, 13, 12, 0,
    "[rows + 1] Packs the kept lists (CSR): row i's are the entries [offsets[i], offsets[i + 1]) of\n"
    "out_kept_token_ids and out_kept_probabilities, without gaps; a bad row's is empty.\n"
    "kept_capacity is then the size of each of the two arrays, for all rows together, at most 2^51;\n"
    "with 0 both may be None. If the lists do not all fit, neither array is written, but the offsets\n"
    "are: the lists are valid if the last offset is at most kept_capacity, else it is the size\n"
    "needed. Entries from the last offset on are not written. A call without rows writes one offset,\n"
    "0. None: lists of kept_capacity entries per row, as above. The workspace grows by up to\n"
    "kept_capacity entries."},
  {"out_removed_by", "out_removed_by", offsetof(sampler_report_args, out_removed_by),
   KIND_OBJECT, ELEMENT_U8, 1, 14, 13, 0,
    "[rows, num_cols] Per element: the SAMPLER_STAGE_ that removed it (sampler_stage_name), 0 if\n"
    "kept, 255 if its input probability is 0 or the row has no such element; 255 everywhere in a bad\n"
    "row. For edits, the one after which the logit is -inf; with JOINT filters the first of top-k,\n"
    "top-p and min-p that removes it; in a greedy row TEMPERATURE, for tokens that the edits left.\n"
    "Sorts the row: some milliseconds for 128,256 columns."},
};

static const char *const report_args_results[] = {"logprobs", "values", "kept_counts", "observations", "top_token_ids", "top_logprobs", "chosen_logprobs", "ranks", "entropies", "kept_bitmask", "kept_token_ids", "kept_probabilities", "kept_offsets", "removed_by", NULL};

static PyObject *report_args_names[20];
static PyTypeObject *report_args_result_type;
const Struct report_args_struct = {
  "Reports", report_args_members, 20, 15, sizeof(sampler_report_args), 1,
  NULL, 0, report_args_results,
  report_args_names, &report_args_result_type,
    "Optional outputs beside the token ids, for sampler_sample, sampler_score, sampler_verify and\n"
    "sampler_session_advance; None: none.\n"
    "\n"
    "\"Rows\" are the rows of the call's tokens: the output rows of sampler_sample and sampler_score,\n"
    "[num_sequences, num_drafts + 1] of sampler_verify, [num_spans, max_drafts + 1] of\n"
    "sampler_session_advance. Token ids have the call's token_id_type, in sessions int32_t. Arrays are\n"
    "in the memory of the call's outputs. A count of 0 or a None array: not wanted. Reports that a\n"
    "call does not support must be 0; its documentation lists them.\n"
    "\n"
    "Reports describe the distribution of logprob_kind: the row as given (RAW), after its edits\n"
    "(EDITED), or as drawn from (PROCESSED), which excludes removed tokens. A greedy row is a single\n"
    "token in PROCESSED. Arithmetic: section 15 of docs/contract.md."};

const Member draft_layout_members[] = {
  {"target_sequence_stride", "target_sequence_stride", offsetof(sampler_draft_layout, target_sequence_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Dense: elements from one sequence's first row to the next one's, of `target` and of `draft`, at\n"
    "least the size of a sequence. 0: contiguous, or no draft."},
  {"draft_sequence_stride", "draft_sequence_stride", offsetof(sampler_draft_layout, draft_sequence_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"draft_token_stride", "draft_token_stride", offsetof(sampler_draft_layout, draft_token_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Dense: elements of draft_token_ids from one sequence's first to the next one's, at least\n"
    "num_drafts; 0: num_drafts."},
  {"packing", "packing", offsetof(sampler_draft_layout, packing),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Packed batches. num_sequences is required with packing, and with target_row_indices or\n"
    "bonus_row_indices, and may be 0; otherwise 0 takes it from target.num_rows. Sequences have at\n"
    "most num_drafts drafts; a sequence whose offsets decrease, lie outside, or are further apart is\n"
    "bad (INVALID_LIST). With packing draft_counts must be None."},
  {"draft_rows_by_slot", "draft_rows_by_slot", offsetof(sampler_draft_layout, draft_rows_by_slot),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "1: the row of `draft` for draft i is slot * num_drafts + i (vLLM, V2)."},
  {"packing_offsets", "packing_offsets", offsetof(sampler_draft_layout, packing_offsets),
   KIND_OBJECT, ELEMENT_I32, 0, 0, -1, 0,
    ""},
  {"num_sequences", "num_sequences", offsetof(sampler_draft_layout, num_sequences),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"num_packed_drafts", "num_packed_drafts", offsetof(sampler_draft_layout, num_packed_drafts),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Packed only: entries of arrays by draft (0 with POSITIONS), and by position (with other\n"
    "packings only for target_row_indices)."},
  {"num_packed_positions", "num_packed_positions", offsetof(sampler_draft_layout, num_packed_positions),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"target_row_indices", "target_row_indices", offsetof(sampler_draft_layout, target_row_indices),
   KIND_OBJECT, ELEMENT_I32, 0, 1, -1, 0,
    "[num_sequences, num_drafts + 1], packed: [num_packed_positions] The row of `target` for each\n"
    "position. With bonus_row_indices, [num_sequences], which has those of each sequence's last\n"
    "position, target_row_indices is laid out by draft, like draft_token_ids, and required if there\n"
    "may be drafts. None: position after position. An index outside makes its sequence bad\n"
    "(INVALID_INDEX) when read. `target` then has any number of rows."},
  {"bonus_row_indices", "bonus_row_indices", offsetof(sampler_draft_layout, bonus_row_indices),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    ""},
  {"draft_row_indices", "draft_row_indices", offsetof(sampler_draft_layout, draft_row_indices),
   KIND_OBJECT, ELEMENT_I32, 0, 3, -1, 0,
    "[num_sequences, num_drafts], packed: laid out like draft_token_ids. The row of `draft` that\n"
    "each draft was drawn from. `draft` then has any number of rows."},
  {"parents", "parents", offsetof(sampler_draft_layout, parents),
   KIND_OBJECT, ELEMENT_I32, 0, 4, -1, 0,
    "Trees. Each draft's parent, a lower index, -1 for the root: [tree_rows, num_drafts]. Or\n"
    "first_children and next_siblings, [tree_rows, num_drafts + 1]: by position, the position of its\n"
    "first child and of its next sibling, -1 (or 0) for none (SGLang). tree_rows is 1, one tree for\n"
    "all, or num_sequences; 0: num_sequences. A draft with two parents, or in a cycle, makes its\n"
    "sequence bad (INVALID_TREE). None: a chain. Dense only.\n"
    "\n"
    "Siblings are tried in order. A rejected one leaves the residual to the next, by\n"
    "acceptance->sibling_rule. BLOCK and DEFERRED are for chains."},
  {"first_children", "first_children", offsetof(sampler_draft_layout, first_children),
   KIND_OBJECT, ELEMENT_I32, 0, 5, -1, 0,
    ""},
  {"next_siblings", "next_siblings", offsetof(sampler_draft_layout, next_siblings),
   KIND_OBJECT, ELEMENT_I32, 0, 6, -1, 0,
    ""},
  {"tree_rows", "tree_rows", offsetof(sampler_draft_layout, tree_rows),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
};

static PyObject *draft_layout_names[16];
static PyTypeObject *draft_layout_result_type;
const Struct draft_layout_struct = {
  "DraftLayout", draft_layout_members, 16, 7, sizeof(sampler_draft_layout), 1,
  NULL, 0, NULL,
  draft_layout_names, &draft_layout_result_type,
    "Layout of drafts and rows in sampler_verify. All 0, or None in sampler_verify_args: dense chains,\n"
    "one sequence after the other. Arrays are in the handle's memory and read when the work runs.\n"
    "Dense chains by the standard rule are faster with no member set but the two sequence strides."};

const Member acceptance_params_members[] = {
  {"rule", "rule", offsetof(sampler_acceptance_params, rule),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"sibling_rule", "sibling_rule", offsetof(sampler_acceptance_params, sibling_rule),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "sampler_verify only; 0 elsewhere: how siblings of a tree were drafted, 0 without trees; and how\n"
    "SAMPLE_MATCH draws, INVERSE_CDF with other rules."},
  {"draw_method", "draw_method", offsetof(sampler_acceptance_params, draw_method),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"relaxed_top_k", "relaxed_top_k", offsetof(sampler_acceptance_params, relaxed_top_k),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Not NaN, not negative.\n"
    "\n"
    "0: 1"},
  {"relaxed_delta", "relaxed_delta", offsetof(sampler_acceptance_params, relaxed_delta),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "difference of probabilities"},
  {"typical_threshold", "typical_threshold", offsetof(sampler_acceptance_params, typical_threshold),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "0: 0.09"},
  {"typical_scale", "typical_scale", offsetof(sampler_acceptance_params, typical_scale),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "0: 0.3"},
  {"threshold_single", "threshold_single", offsetof(sampler_acceptance_params, threshold_single),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "0: 1"},
  {"threshold_total", "threshold_total", offsetof(sampler_acceptance_params, threshold_total),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "0: 1"},
  {"deferred_entropy", "deferred_entropy", offsetof(sampler_acceptance_params, deferred_entropy),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "nats; at least this is uncertain. 0: 0.3"},
  {"deferred_top_k", "deferred_top_k", offsetof(sampler_acceptance_params, deferred_top_k),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "first tokens in the entropy. 0: 3"},
  {"deferred_window", "deferred_window", offsetof(sampler_acceptance_params, deferred_window),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "0: min(6, max drafts per sequence - 1), at least 1"},
  {"synthetic_rates", "synthetic_rates", offsetof(sampler_acceptance_params, synthetic_rates),
   KIND_OBJECT, ELEMENT_F32, 0, 0, -1, 0,
    "[max drafts per sequence] In [0, 1], by the draft's index in its sequence. In host memory, read\n"
    "during the call. Required by SYNTHETIC; None: no sequence has that rule."},
};

static PyObject *acceptance_params_names[13];
static PyTypeObject *acceptance_params_result_type;
const Struct acceptance_params_struct = {
  "AcceptanceParams", acceptance_params_members, 13, 1, sizeof(sampler_acceptance_params), 1,
  NULL, 0, NULL,
  acceptance_params_names, &acceptance_params_result_type,
    "The acceptance rule and its parameters, shared by sampler_verify, sampler_speculative and\n"
    "sessions. None, or all 0: the context's rule and the defaults. Parameters of unused rules are\n"
    "checked, too."};

const Member unmask_params_members[] = {
  {"mask_token_id", "mask_token_id", offsetof(sampler_unmask_params, mask_token_id),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Tokens that are mask_token_id, at least 0, are masked; a candidate that is it never stands."},
  {"block_length", "block_length", offsetof(sampler_unmask_params, block_length),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Positions of a whole block, for texts of a session, see sampler_session_add_args; else 0."},
  {"confidence", "confidence", offsetof(sampler_unmask_params, confidence),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"order_temperature", "order_temperature", offsetof(sampler_unmask_params, order_temperature),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Draws the order, without replacement, by softmax(confidence / order_temperature): Dream's\n"
    "alg_temp. At most 1e-5: strictly by confidence. At most 2^64. Not NaN. Off with RANDOM and\n"
    "POSITION."},
  {"threshold", "threshold", offsetof(sampler_unmask_params, threshold),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Commits every row whose confidence is above it (SGLang, LMDeploy's dynamic rule), with ENTROPY\n"
    "every row whose entropy is below it. <= 0: off, and below 0 an error with GIVEN, whose scores\n"
    "may be negative. Not NaN. Off with POSITION."},
  {"entropy_bound", "entropy_bound", offsetof(sampler_unmask_params, entropy_bound),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "ENTROPY: commits rows as long as the sum of the entropies before them, in nats, each at most\n"
    "16, is at most the bound; so at least one (the EB sampler, Ben-Hamu et al. 2025). <= 0: off.\n"
    "Not NaN. Off with other confidences."},
  {"edit_threshold", "edit_threshold", offsetof(sampler_unmask_params, edit_threshold),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Puts candidates in the place of other tokens than the mask, where they differ and the\n"
    "confidence is above it (with ENTROPY the entropy below): LLaDA 2.1's edits. <= 0: off, with\n"
    "GIVEN as above. Not NaN. Off with RANDOM and POSITION."},
  {"num_committed", "num_committed", offsetof(sampler_unmask_params, num_committed),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Commits at least the first num_committed rows of the order. <= 0: none by number."},
  {"num_steps_left", "num_steps_left", offsetof(sampler_unmask_params, num_steps_left),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Commits at least the first ceil(masked / num_steps_left) rows, which fills the block in\n"
    "num_steps_left steps: LLaDA's schedule, and Hugging Face's of num_transfer_tokens. <= 0: off.\n"
    "In a session: the steps of each block."},
  {"blocks_after_prompt", "blocks_after_prompt", offsetof(sampler_unmask_params, blocks_after_prompt),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "For texts of a session. 0: blocks begin at multiples of block_length, so that the first one may\n"
    "have prompt tokens (SDAR, LLaDA 2). 1: the first one begins after the prompt (LLaDA, Dream)."},
};

static PyObject *unmask_params_names[10];
static PyTypeObject *unmask_params_result_type;
const Struct unmask_params_struct = {
  "UnmaskParams", unmask_params_members, 10, 0, sizeof(sampler_unmask_params), 1,
  NULL, 0, NULL,
  unmask_params_names, &unmask_params_result_type,
    "The rules by which candidates stand."};

const Member watermark_params_members[] = {
  {"scheme", "scheme", offsetof(sampler_watermark_params, scheme),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"context_length", "context_length", offsetof(sampler_watermark_params, context_length),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Tokens that a token's hash depends on besides it, in [1, 64]: transformers' context_width, of\n"
    "SELFHASH less 1, so that it may be 0; of TOURNAMENT ngram_len - 1."},
  {"vocabulary_size", "vocabulary_size", offsetof(sampler_watermark_params, vocabulary_size),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Token ids lie in [0, vocabulary_size). In [2, 2^20)."},
  {"key", "key", offsetof(sampler_watermark_params, key),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Green lists: transformers' hashing_key, 15485863 there; and the share of green tokens,\n"
    "greenlist_ratio, in (0, 1), 0.25 there. TOURNAMENT: 0."},
  {"green_share", "green_share", offsetof(sampler_watermark_params, green_share),
   KIND_F64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"bias", "bias", offsetof(sampler_watermark_params, bias),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Added to the logits of green tokens, finite: 2 there. TOURNAMENT: 0."},
  {"keeps_repeated", "keeps_repeated", offsetof(sampler_watermark_params, keeps_repeated),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "For sampler_watermark_score. 1: tokens count whose context (of green lists with the token) came\n"
    "before. 0: only the first of them."},
  {"keys", "keys", offsetof(sampler_watermark_params, keys),
   KIND_OBJECT, ELEMENT_I64, 0, 0, -1, 0,
    "[num_keys] TOURNAMENT: a key for each layer, in [1, 64]. Green lists: 0, not read."},
  {"num_keys", "num_keys", offsetof(sampler_watermark_params, num_keys),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"table", "table", offsetof(sampler_watermark_params, table),
   KIND_OBJECT, ELEMENT_I32, 0, 1, -1, 0,
    "[table_size] What sampler_watermark_table wrote, for SELFHASH and TOURNAMENT; else not\n"
    "read, and 0. In [1, 2^24]; 0: 1000003 for SELFHASH, 65536 for TOURNAMENT, transformers' own."},
  {"table_size", "table_size", offsetof(sampler_watermark_params, table_size),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"table_seed", "table_seed", offsetof(sampler_watermark_params, table_seed),
   KIND_U64, ELEMENT_NONE, 0, -1, -1, 0,
    "Seed of the table of TOURNAMENT, sampling_table_seed; else 0."},
};

static PyObject *watermark_params_names[12];
static PyTypeObject *watermark_params_result_type;
const Struct watermark_params_struct = {
  "WatermarkParams", watermark_params_members, 12, 2, sizeof(sampler_watermark_params), 1,
  NULL, 0, NULL,
  watermark_params_names, &watermark_params_result_type,
    ""};

const Member sample_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_sample_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Stream of the work. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_sample_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "thread, or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_sample_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"input", "input", offsetof(sampler_sample_args, input),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    ""},
  {"row_indices", "row_indices", offsetof(sampler_sample_args, row_indices),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    "[num_row_indices] The input row of each output row, in [0, input.num_rows); other values make\n"
    "the output row bad. There are then num_row_indices output rows, in [0, 2^31). Output rows with\n"
    "the same input row and parameters share its preparation. None and 0: output row i draws from\n"
    "input row i."},
  {"num_row_indices", "num_row_indices", offsetof(sampler_sample_args, num_row_indices),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"slots", "slots", offsetof(sampler_sample_args, slots),
   KIND_OBJECT, ELEMENT_I32, 0, 3, -1, 0,
    "[output rows] The slot of each output row, in [0, num_slots); other values make the row bad.\n"
    "For engines that keep parameters, seeds and offsets per sequence, in arrays of num_slots\n"
    "entries: row_params and random are indexed by slot, logits by row. None and 0: output row i has\n"
    "slot i."},
  {"num_slots", "num_slots", offsetof(sampler_sample_args, num_slots),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"params", "params", offsetof(sampler_sample_args, params),
   KIND_OBJECT, ELEMENT_NONE, 0, 4, -1, 0,
    "None: temperature 1 and no filter."},
  {"row_params", "row_params", offsetof(sampler_sample_args, row_params),
   KIND_OBJECT, ELEMENT_NONE, 0, 5, -1, 0,
    "None: `params` for all."},
  {"pipeline", "pipeline", offsetof(sampler_sample_args, pipeline),
   KIND_OBJECT, ELEMENT_NONE, 0, 6, -1, 0,
    "Edits of the logits. None: none."},
  {"seed", "random.seed", offsetof(sampler_sample_args, random) + offsetof(sampler_random, seed),
   KIND_U64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"offset", "random.offset", offsetof(sampler_sample_args, random) + offsetof(sampler_random, offset),
   KIND_U64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"seeds", "random.seeds", offsetof(sampler_sample_args, random) + offsetof(sampler_random, seeds),
   KIND_OBJECT, ELEMENT_U64, 0, 7, -1, 0,
    "[num_seeds], [num_offsets] Each count is 1 (one for all) or the number of slots. None and 0:\n"
    "`seed`, `offset`."},
  {"offsets", "random.offsets", offsetof(sampler_sample_args, random) + offsetof(sampler_random, offsets),
   KIND_OBJECT, ELEMENT_U64, 0, 8, -1, 0,
    ""},
  {"streams", "random.streams", offsetof(sampler_sample_args, random) + offsetof(sampler_random, streams),
   KIND_OBJECT, ELEMENT_U32, 0, 9, -1, 0,
    "[slots] Stream of each slot, such as a request id where all share a seed. None: the slot's\n"
    "number with a shared seed, so that slots draw independently; 0 with a seed per slot, so that a\n"
    "token depends on its seed and offset alone, not on its place."},
  {"num_seeds", "random.num_seeds", offsetof(sampler_sample_args, random) + offsetof(sampler_random, num_seeds),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"num_offsets", "random.num_offsets", offsetof(sampler_sample_args, random) + offsetof(sampler_random, num_offsets),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"draw_method", "draw_method", offsetof(sampler_sample_args, draw_method),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "GUMBEL rounds logit / temperature + noise to f32: logits above about 1,000 in size coarsen the\n"
    "noise, and sums beyond 2^126, or -2^126, tie, so that the lowest of their ids is drawn."},
  {"token_id_type", "token_id_type", offsetof(sampler_sample_args, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Type of out_token_ids, and of ids in reports."},
  {"out_token_ids", "out_token_ids", offsetof(sampler_sample_args, out_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 1, 10, 0, 0,
    "[output rows] The tokens: column numbers, or candidate ids. -1 or the handle's fallback token\n"
    "for a bad row. Required."},
  {"out_row_status", "out_row_status", offsetof(sampler_sample_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 11, 1, 0,
    "[output rows] SAMPLER_ROW_ bits. None: not wanted."},
  {"reports", "reports", offsetof(sampler_sample_args, reports),
   KIND_OBJECT, ELEMENT_NONE, 0, 12, 2, 0,
    "Optional outputs per output row; all of sampler_report_args is supported. None: none."},
};

static const char *const sample_args_results[] = {"token_ids", "row_status", "reports", NULL};

static PyObject *sample_args_names[23];
static PyTypeObject *sample_args_result_type;
const Struct sample_args_struct = {
  "sample_args", sample_args_members, 23, 13, sizeof(sampler_sample_args), 1,
  NULL, 0, sample_args_results,
  sample_args_names, &sample_args_result_type,
    ""};

const Member score_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_score_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Stream of the work. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_score_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "thread, or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_score_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"input", "input", offsetof(sampler_score_args, input),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    ""},
  {"row_indices", "row_indices", offsetof(sampler_score_args, row_indices),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    ""},
  {"num_row_indices", "num_row_indices", offsetof(sampler_score_args, num_row_indices),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"slots", "slots", offsetof(sampler_score_args, slots),
   KIND_OBJECT, ELEMENT_I32, 0, 3, -1, 0,
    ""},
  {"num_slots", "num_slots", offsetof(sampler_score_args, num_slots),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"params", "params", offsetof(sampler_score_args, params),
   KIND_OBJECT, ELEMENT_NONE, 0, 4, -1, 0,
    ""},
  {"row_params", "row_params", offsetof(sampler_score_args, row_params),
   KIND_OBJECT, ELEMENT_NONE, 0, 5, -1, 0,
    ""},
  {"pipeline", "pipeline", offsetof(sampler_score_args, pipeline),
   KIND_OBJECT, ELEMENT_NONE, 0, 6, -1, 0,
    ""},
  {"seed", "random.seed", offsetof(sampler_score_args, random) + offsetof(sampler_random, seed),
   KIND_U64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"offset", "random.offset", offsetof(sampler_score_args, random) + offsetof(sampler_random, offset),
   KIND_U64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"seeds", "random.seeds", offsetof(sampler_score_args, random) + offsetof(sampler_random, seeds),
   KIND_OBJECT, ELEMENT_U64, 0, 7, -1, 0,
    "[num_seeds], [num_offsets] Each count is 1 (one for all) or the number of slots. None and 0:\n"
    "`seed`, `offset`."},
  {"offsets", "random.offsets", offsetof(sampler_score_args, random) + offsetof(sampler_random, offsets),
   KIND_OBJECT, ELEMENT_U64, 0, 8, -1, 0,
    ""},
  {"streams", "random.streams", offsetof(sampler_score_args, random) + offsetof(sampler_random, streams),
   KIND_OBJECT, ELEMENT_U32, 0, 9, -1, 0,
    "[slots] Stream of each slot, such as a request id where all share a seed. None: the slot's\n"
    "number with a shared seed, so that slots draw independently; 0 with a seed per slot, so that a\n"
    "token depends on its seed and offset alone, not on its place."},
  {"num_seeds", "random.num_seeds", offsetof(sampler_score_args, random) + offsetof(sampler_random, num_seeds),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"num_offsets", "random.num_offsets", offsetof(sampler_score_args, random) + offsetof(sampler_random, num_offsets),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"token_id_type", "token_id_type", offsetof(sampler_score_args, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Type of token_ids, of kept, and of ids in reports."},
  {"token_ids", "token_ids", offsetof(sampler_score_args, token_ids),
   KIND_OBJECT, ELEMENT_IDS, 0, 10, -1, 0,
    "[output rows] The tokens to score. A negative one, and one outside the row, makes the row bad\n"
    "(INVALID_PARAMETER), which suits padding. Required."},
  {"kept", "kept", offsetof(sampler_score_args, kept),
   KIND_OBJECT, ELEMENT_NONE, 0, 11, -1, 0,
    "A list for each output row: the tokens that were kept when its token was drawn, in any order.\n"
    "They replace filters, windows and pipeline.allowed: PROCESSED log-probabilities are relative to\n"
    "them, after the edits, at the temperature. A row with an empty list is bad (EMPTY).\n"
    "\n"
    "num_lists is the number of output rows; num_token_ids may be more than the last offset, so\n"
    "out_kept_offsets and out_kept_token_ids of an earlier call do as they are. Logits only;\n"
    "reports->logprob_kind must be PROCESSED, the kind that depends on what was kept. Dynamic\n"
    "temperature, adaptive-p and smoothing, which depend on more, must be off, and not given by slot.\n"
    "\n"
    "offsets None: filters and windows decide, as in sampler_sample."},
  {"out_row_status", "out_row_status", offsetof(sampler_score_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 12, 0, 0,
    "[output rows] SAMPLER_ROW_ bits. None: not wanted."},
  {"reports", "reports", offsetof(sampler_score_args, reports),
   KIND_OBJECT, ELEMENT_NONE, 0, 13, 1, 0,
    "Outputs per output row, out_logprobs among them. None: none."},
};

static const char *const score_args_results[] = {"row_status", "reports", NULL};

static PyObject *score_args_names[23];
static PyTypeObject *score_args_result_type;
const Struct score_args_struct = {
  "score_args", score_args_members, 23, 14, sizeof(sampler_score_args), 1,
  NULL, 0, score_args_results,
  score_args_names, &score_args_result_type,
    ""};

const Member filter_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_filter_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Stream of the work. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_filter_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "thread, or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_filter_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"input", "input", offsetof(sampler_filter_args, input),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    ""},
  {"slots", "slots", offsetof(sampler_filter_args, slots),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    "[input.num_rows] As in sampler_sample_args."},
  {"num_slots", "num_slots", offsetof(sampler_filter_args, num_slots),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"params", "params", offsetof(sampler_filter_args, params),
   KIND_OBJECT, ELEMENT_NONE, 0, 3, -1, 0,
    ""},
  {"row_params", "row_params", offsetof(sampler_filter_args, row_params),
   KIND_OBJECT, ELEMENT_NONE, 0, 4, -1, 0,
    ""},
  {"output_kind", "output_kind", offsetof(sampler_filter_args, output_kind),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "PROBABILITIES: softmax of the kept tokens, which sums to 1 up to rounding; one-hot when greedy;\n"
    "exactly 0 throughout a bad row. VALUES: kept logits unchanged, -inf elsewhere; a bad row is\n"
    "copied. VALUES needs logits."},
  {"output_dtype", "output_dtype", offsetof(sampler_filter_args, output_dtype),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "SAMPLER_F32 or input.dtype."},
  {"output", "output", offsetof(sampler_filter_args, output),
   KIND_OBJECT, ELEMENT_FLOATS, 1, 5, 0, 0,
    "[input.num_rows, input.num_cols] Rows output_stride elements apart, at least num_cols; 0:\n"
    "num_cols. With candidate lists an element belongs to the candidate at the same position, and\n"
    "those past a row's last one are written as removed. Required."},
  {"output_stride", "output_stride", offsetof(sampler_filter_args, output_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"out_kept_counts", "out_kept_counts", offsetof(sampler_filter_args, out_kept_counts),
   KIND_OBJECT, ELEMENT_I32, 1, 6, 1, 0,
    "[input.num_rows] As in sampler_report_args, and SAMPLER_ROW_ bits. None: not wanted."},
  {"out_row_status", "out_row_status", offsetof(sampler_filter_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 7, 2, 0,
    ""},
  {"pipeline", "pipeline", offsetof(sampler_filter_args, pipeline),
   KIND_OBJECT, ELEMENT_NONE, 0, 8, -1, 0,
    "Edits of the logits, as in sampler_sample_args: VALUES writes the edited logits."},
};

static const char *const filter_args_results[] = {"output", "kept_counts", "row_status", NULL};

static PyObject *filter_args_names[15];
static PyTypeObject *filter_args_result_type;
const Struct filter_args_struct = {
  "filter_args", filter_args_members, 15, 9, sizeof(sampler_filter_args), 1,
  NULL, 0, filter_args_results,
  filter_args_names, &filter_args_result_type,
    ""};

const Member select_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_select_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Stream of the work. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_select_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "thread, or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_select_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"input", "input", offsetof(sampler_select_args, input),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    ""},
  {"num_selected", "num_selected", offsetof(sampler_select_args, num_selected),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Maximum tokens per row: columns of the outputs, in [1, input.num_cols]."},
  {"selected_counts", "selected_counts", offsetof(sampler_select_args, selected_counts),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    "[input.num_rows] Tokens per row. <= 0 or >= num_selected: num_selected. In host memory with the\n"
    "handle's host_parameters. None: num_selected for all."},
  {"output_dtype", "output_dtype", offsetof(sampler_select_args, output_dtype),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Types of out_values, SAMPLER_F32 or input.dtype, and of out_token_ids."},
  {"token_id_type", "token_id_type", offsetof(sampler_select_args, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"out_values", "out_values", offsetof(sampler_select_args, out_values),
   KIND_OBJECT, ELEMENT_FLOATS, 1, 3, 0, 0,
    "[input.num_rows, num_selected] Values and ids, in rank order and contiguous. +inf is an\n"
    "ordinary value here; NaN makes the row bad. Missing tokens, and all of a bad row, are -inf\n"
    "(probabilities: 0) and -1. Either array may be None, not both."},
  {"out_token_ids", "out_token_ids", offsetof(sampler_select_args, out_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 1, 4, 1, 0,
    ""},
  {"out_counts", "out_counts", offsetof(sampler_select_args, out_counts),
   KIND_OBJECT, ELEMENT_I32, 1, 5, 2, 0,
    "[input.num_rows] Tokens written per row; 0 for a bad row. None: not wanted."},
  {"out_row_status", "out_row_status", offsetof(sampler_select_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 6, 3, 0,
    ""},
};

static const char *const select_args_results[] = {"values", "token_ids", "counts", "row_status", NULL};

static PyObject *select_args_names[12];
static PyTypeObject *select_args_result_type;
const Struct select_args_struct = {
  "select_args", select_args_members, 12, 7, sizeof(sampler_select_args), 1,
  NULL, 0, select_args_results,
  select_args_names, &select_args_result_type,
    ""};

const Member verify_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_verify_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Stream of the work. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_verify_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "thread, or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_verify_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"target", "target", offsetof(sampler_verify_args, target),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    "[num_sequences, num_drafts + 1, num_cols] The target's row at each draft position, then the one\n"
    "after the last draft. target.num_rows is num_sequences * (num_drafts + 1), whatever\n"
    "layout->target_sequence_stride, and determines num_sequences. In rows given as probabilities\n"
    "only the drafts' elements are read before the first rejection; a candidate list is read whole,\n"
    "so that any bad element makes the sequence bad."},
  {"draft", "draft", offsetof(sampler_verify_args, draft),
   KIND_OBJECT, ELEMENT_NONE, 0, 2, -1, 0,
    "[num_sequences, num_drafts, num_cols] The distributions that the drafts were drawn from. Its\n"
    "num_cols is the target's. All 0: a deterministic drafter (its draft has probability 1), as with\n"
    "n-gram drafts. A token outside a candidate list has probability 0."},
  {"draft_token_ids", "draft_token_ids", offsetof(sampler_verify_args, draft_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 0, 3, -1, 0,
    "[num_sequences, num_drafts] The draft tokens, of type token_id_type. One outside the\n"
    "vocabulary, [0, num_cols) (candidate lists: [0, 2^20)), is rejected with residual p. Required,\n"
    "unless num_drafts is 0. num_drafts is in [0, 65535]."},
  {"num_drafts", "num_drafts", offsetof(sampler_verify_args, num_drafts),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"draft_counts", "draft_counts", offsetof(sampler_verify_args, draft_counts),
   KIND_OBJECT, ELEMENT_I32, 0, 4, -1, 0,
    "[num_sequences] Drafts per sequence, in [0, num_drafts]; values outside are clamped and set a\n"
    "status. None: num_drafts."},
  {"layout", "layout", offsetof(sampler_verify_args, layout),
   KIND_OBJECT, ELEMENT_NONE, 0, 5, -1, 0,
    "Packed batches, row indices, and trees. None: dense chains."},
  {"slots", "slots", offsetof(sampler_verify_args, slots),
   KIND_OBJECT, ELEMENT_I32, 0, 6, -1, 0,
    "[num_sequences]"},
  {"num_slots", "num_slots", offsetof(sampler_verify_args, num_slots),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"params", "params", offsetof(sampler_verify_args, params),
   KIND_OBJECT, ELEMENT_NONE, 0, 7, -1, 0,
    "Temperature and filters of rows of logits, target and draft alike. If the target is\n"
    "probabilities the temperature must be 1 or greedy; if the draft is too (or absent), the filters\n"
    "must be off. A violation fails the call; in an array, it makes the sequence bad:\n"
    "SAMPLER_ROW_INVALID_PARAMETER. Greedy: drafts are accepted while they are the target's argmax,\n"
    "and the next token is the argmax too."},
  {"row_params", "row_params", offsetof(sampler_verify_args, row_params),
   KIND_OBJECT, ELEMENT_NONE, 0, 8, -1, 0,
    ""},
  {"draft_params", "draft_params", offsetof(sampler_verify_args, draft_params),
   KIND_OBJECT, ELEMENT_NONE, 0, 9, -1, 0,
    "Temperature and filters of `draft`. None: the target's, which must then have no other stage if\n"
    "the draft is logits."},
  {"draft_row_params", "draft_row_params", offsetof(sampler_verify_args, draft_row_params),
   KIND_OBJECT, ELEMENT_NONE, 0, 10, -1, 0,
    ""},
  {"pipeline", "pipeline", offsetof(sampler_verify_args, pipeline),
   KIND_OBJECT, ELEMENT_NONE, 0, 11, -1, 0,
    "Stages of the target's rows. At each position the history and adaptive values are as if the\n"
    "drafts before it had been accepted; nothing is changed. token_bitmask_indices is\n"
    "[num_sequences, num_drafts + 1], by position, in trees and packed batches too."},
  {"forced_token_ids", "forced_token_ids", offsetof(sampler_verify_args, forced_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 0, 12, -1, 0,
    "[num_sequences, num_drafts + 1] By position, likewise: the token that is decided there whatever\n"
    "its row and the rule, of token_id_type, as at the end of a thinking budget. A draft that equals\n"
    "it is accepted; else it is emitted, and the drafts after it are rejected. Negative: none. An id\n"
    "outside the row makes the sequence bad (INVALID_PARAMETER) where it is reached. A chain with\n"
    "one is verified by STANDARD instead of BLOCK and DEFERRED, which decide on whole chains. None:\n"
    "none. row_params->forced_token_id must be None."},
  {"seed", "random.seed", offsetof(sampler_verify_args, random) + offsetof(sampler_random, seed),
   KIND_U64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"offset", "random.offset", offsetof(sampler_verify_args, random) + offsetof(sampler_random, offset),
   KIND_U64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"seeds", "random.seeds", offsetof(sampler_verify_args, random) + offsetof(sampler_random, seeds),
   KIND_OBJECT, ELEMENT_U64, 0, 13, -1, 0,
    "[num_seeds], [num_offsets] Each count is 1 (one for all) or the number of slots. None and 0:\n"
    "`seed`, `offset`."},
  {"offsets", "random.offsets", offsetof(sampler_verify_args, random) + offsetof(sampler_random, offsets),
   KIND_OBJECT, ELEMENT_U64, 0, 14, -1, 0,
    ""},
  {"streams", "random.streams", offsetof(sampler_verify_args, random) + offsetof(sampler_random, streams),
   KIND_OBJECT, ELEMENT_U32, 0, 15, -1, 0,
    "[slots] Stream of each slot, such as a request id where all share a seed. None: the slot's\n"
    "number with a shared seed, so that slots draw independently; 0 with a seed per slot, so that a\n"
    "token depends on its seed and offset alone, not on its place."},
  {"num_seeds", "random.num_seeds", offsetof(sampler_verify_args, random) + offsetof(sampler_random, num_seeds),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"num_offsets", "random.num_offsets", offsetof(sampler_verify_args, random) + offsetof(sampler_random, num_offsets),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"acceptance", "acceptance", offsetof(sampler_verify_args, acceptance),
   KIND_OBJECT, ELEMENT_NONE, 0, 16, -1, 0,
    "The rule and its parameters. None, or rule 0: SAMPLER_ACCEPT_STANDARD, the fastest for\n"
    "dense chains."},
  {"acceptances", "acceptances", offsetof(sampler_verify_args, acceptances),
   KIND_OBJECT, ELEMENT_I32, 0, 17, -1, 0,
    "The rule by slot, 0: that of `acceptance`. An unknown constant, or a rule incompatible with the\n"
    "call, makes its sequence bad (INVALID_PARAMETER). None: `acceptance` for all."},
  {"token_id_type", "token_id_type", offsetof(sampler_verify_args, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Type of draft_token_ids and out_token_ids, and of ids in reports."},
  {"accumulate_counts", "accumulate_counts", offsetof(sampler_verify_args, accumulate_counts),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "1: counts are added to the two arrays. 0: they overwrite them."},
  {"out_token_ids", "out_token_ids", offsetof(sampler_verify_args, out_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 1, 18, 0, 0,
    "[num_sequences, num_drafts + 1] The accepted drafts, then one token of the target, then -1. All\n"
    "-1 for a bad sequence (the handle's fallback token first, if it has one). Required."},
  {"out_accepted_counts", "out_accepted_counts", offsetof(sampler_verify_args, out_accepted_counts),
   KIND_OBJECT, ELEMENT_I32, 1, 19, 1, 0,
    "[num_sequences] each; None: not wanted. Drafts that would be accepted each on its own, at any\n"
    "position. Positions after the first rejection count only here: nothing there changes a token\n"
    "or, draft ids apart, a status. For trees, and for rules other than STANDARD, it\n"
    "equals out_emitted_counts."},
  {"out_emitted_counts", "out_emitted_counts", offsetof(sampler_verify_args, out_emitted_counts),
   KIND_OBJECT, ELEMENT_I32, 1, 20, 2, 0,
    "Drafts kept before the first rejection: out_token_ids has one token more."},
  {"out_row_status", "out_row_status", offsetof(sampler_verify_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 21, 3, 0,
    ""},
  {"reports", "reports", offsetof(sampler_verify_args, reports),
   KIND_OBJECT, ELEMENT_NONE, 0, 22, 4, 0,
    "Optional outputs per emitted token, in the order of out_token_ids, from the target's\n"
    "distribution at its position; without a token, as for a bad row. out_values, num_chosen,\n"
    "out_kept_offsets and out_removed_by, with their related members, must be 0. None: none."},
  {"out_positions", "out_positions", offsetof(sampler_verify_args, out_positions),
   KIND_OBJECT, ELEMENT_I32, 1, 23, 5, 0,
    "[num_sequences, num_drafts + 1] Positions where the emitted tokens were decided, 0 first, then\n"
    "-1: the KV cache rows to keep. kv_indices, of the same shape, has a number per position (packed\n"
    "batches too); out_kv_indices has those of out_positions. None: not wanted."},
  {"kv_indices", "kv_indices", offsetof(sampler_verify_args, kv_indices),
   KIND_OBJECT, ELEMENT_I64, 0, 24, -1, 0,
    ""},
  {"out_kv_indices", "out_kv_indices", offsetof(sampler_verify_args, out_kv_indices),
   KIND_OBJECT, ELEMENT_I64, 1, 25, 6, 0,
    ""},
};

static const char *const verify_args_results[] = {"token_ids", "accepted_counts", "emitted_counts", "row_status", "reports", "positions", "kv_indices", NULL};

static PyObject *verify_args_names[36];
static PyTypeObject *verify_args_result_type;
const Struct verify_args_struct = {
  "verify_args", verify_args_members, 36, 26, sizeof(sampler_verify_args), 1,
  NULL, 0, verify_args_results,
  verify_args_names, &verify_args_result_type,
    "Members shared with sampler_sample_args mean the same.\n"
    "\n"
    "Probabilities are used as given, so they should sum to 1. Rows of logits become probabilities\n"
    "first: temperature and filters, then softmax in f32, exactly as sampler_filter writes them."};

const Member residual_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_residual_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Stream of the work. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_residual_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "thread, or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_residual_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"target", "target", offsetof(sampler_residual_args, target),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    "[num_rows, num_cols] The target's probabilities, p. Used as given, so they should sum to 1. Not\n"
    "candidate lists."},
  {"draft", "draft", offsetof(sampler_residual_args, draft),
   KIND_OBJECT, ELEMENT_NONE, 0, 2, -1, 0,
    "[num_rows, num_cols] The draft probabilities, q, of the same shape, used as given. All 0: a\n"
    "deterministic drafter, with its proposals in draft_token_ids."},
  {"draft_token_ids", "draft_token_ids", offsetof(sampler_residual_args, draft_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 0, 3, -1, 0,
    "[num_rows] The tokens of a deterministic drafter, of type token_id_type: q is 1 for them. An id\n"
    "outside [0, num_cols) leaves p as the residual, and sets a status. Required if draft is all 0,\n"
    "else None."},
  {"token_id_type", "token_id_type", offsetof(sampler_residual_args, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"output_dtype", "output_dtype", offsetof(sampler_residual_args, output_dtype),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "SAMPLER_F32, or target.dtype."},
  {"output", "output", offsetof(sampler_residual_args, output),
   KIND_OBJECT, ELEMENT_FLOATS, 1, 4, 0, 0,
    "[num_rows, num_cols] Probabilities, which sum to 1 up to rounding, exactly 0 where nothing is\n"
    "left; 0 throughout a bad row. Rows start output_stride elements apart, at least num_cols; 0:\n"
    "num_cols. Required."},
  {"output_stride", "output_stride", offsetof(sampler_residual_args, output_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"out_row_status", "out_row_status", offsetof(sampler_residual_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 5, 1, 0,
    "[num_rows] None: not wanted. A row of p or q with a negative, NaN or infinite element is bad;\n"
    "an all-zero p is empty. An all-zero q subtracts nothing."},
};

static const char *const residual_args_results[] = {"output", "row_status", NULL};

static PyObject *residual_args_names[11];
static PyTypeObject *residual_args_result_type;
const Struct residual_args_struct = {
  "residual_args", residual_args_members, 11, 6, sizeof(sampler_residual_args), 1,
  NULL, 0, residual_args_results,
  residual_args_names, &residual_args_result_type,
    ""};

const Member unmask_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_unmask_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Stream of the work. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_unmask_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "thread, or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_unmask_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"num_rows", "num_rows", offsetof(sampler_unmask_args, num_rows),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Positions of all blocks, in [0, 2^31)."},
  {"block_offsets", "block_offsets", offsetof(sampler_unmask_args, block_offsets),
   KIND_OBJECT, ELEMENT_I64, 0, 1, -1, 0,
    "[num_blocks + 1] Block b has the rows [block_offsets[b], block_offsets[b + 1]), which may be\n"
    "none. Offsets ascend, in [0, num_rows]; where any does not, all blocks are bad (INVALID_INDEX)\n"
    "and no row is written. Rows of no block are neither read nor written. None: blocks of\n"
    "num_rows / num_blocks rows, without a rest."},
  {"num_blocks", "num_blocks", offsetof(sampler_unmask_args, num_blocks),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "In [0, 65536]."},
  {"token_id_type", "token_id_type", offsetof(sampler_unmask_args, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Type of candidate_token_ids and token_ids."},
  {"params", "params", offsetof(sampler_unmask_args, params),
   KIND_OBJECT, ELEMENT_NONE, 0, 2, -1, 0,
    "None: all 0."},
  {"candidate_token_ids", "candidate_token_ids", offsetof(sampler_unmask_args, candidate_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 0, 3, -1, 0,
    "[num_rows] A candidate for each row. A negative one never stands. Required."},
  {"candidate_status", "candidate_status", offsetof(sampler_unmask_args, candidate_status),
   KIND_OBJECT, ELEMENT_U32, 0, 4, -1, 0,
    "[num_rows] SAMPLER_ROW_ bits. The candidate of a bad row never stands, nor that of a row with a\n"
    "NaN score. None: no other row is bad. Give it where a bad row has a fallback token."},
  {"scores", "scores", offsetof(sampler_unmask_args, scores),
   KIND_OBJECT, ELEMENT_F32, 0, 5, -1, 0,
    "[num_rows, score_stride] The first score of each row is read, with MARGIN the first two.\n"
    "Required, or None, as params->confidence says."},
  {"score_stride", "score_stride", offsetof(sampler_unmask_args, score_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "In elements. 0: 1, with MARGIN 2."},
  {"token_ids", "token_ids", offsetof(sampler_unmask_args, token_ids),
   KIND_OBJECT, ELEMENT_IDS, 0, 6, -1, 0,
    "[num_rows] The positions' tokens, read and written. None: all rows are masked,\n"
    "params->mask_token_id must be 0, and edit_threshold off."},
  {"slots", "slots", offsetof(sampler_unmask_args, slots),
   KIND_OBJECT, ELEMENT_I32, 0, 7, -1, 0,
    "[num_rows] As in sampler_sample_args, for RANDOM and order_temperature; the candidate of a row\n"
    "with an invalid slot does not stand then. Random numbers follow from the slot and the row's\n"
    "place in its block: rows of a block may share a slot, blocks should not."},
  {"num_slots", "num_slots", offsetof(sampler_unmask_args, num_slots),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"seed", "random.seed", offsetof(sampler_unmask_args, random) + offsetof(sampler_random, seed),
   KIND_U64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"offset", "random.offset", offsetof(sampler_unmask_args, random) + offsetof(sampler_random, offset),
   KIND_U64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"seeds", "random.seeds", offsetof(sampler_unmask_args, random) + offsetof(sampler_random, seeds),
   KIND_OBJECT, ELEMENT_U64, 0, 8, -1, 0,
    "[num_seeds], [num_offsets] Each count is 1 (one for all) or the number of slots. None and 0:\n"
    "`seed`, `offset`."},
  {"offsets", "random.offsets", offsetof(sampler_unmask_args, random) + offsetof(sampler_random, offsets),
   KIND_OBJECT, ELEMENT_U64, 0, 9, -1, 0,
    ""},
  {"streams", "random.streams", offsetof(sampler_unmask_args, random) + offsetof(sampler_random, streams),
   KIND_OBJECT, ELEMENT_U32, 0, 10, -1, 0,
    "[slots] Stream of each slot, such as a request id where all share a seed. None: the slot's\n"
    "number with a shared seed, so that slots draw independently; 0 with a seed per slot, so that a\n"
    "token depends on its seed and offset alone, not on its place."},
  {"num_seeds", "random.num_seeds", offsetof(sampler_unmask_args, random) + offsetof(sampler_random, num_seeds),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"num_offsets", "random.num_offsets", offsetof(sampler_unmask_args, random) + offsetof(sampler_random, num_offsets),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"block_num_committed", "block_num_committed", offsetof(sampler_unmask_args, block_num_committed),
   KIND_OBJECT, ELEMENT_I32, 0, 11, -1, 0,
    "[num_blocks] num_committed and num_steps_left of each block. In host memory with the\n"
    "handle's host_parameters. None: those of `params`."},
  {"block_num_steps_left", "block_num_steps_left", offsetof(sampler_unmask_args, block_num_steps_left),
   KIND_OBJECT, ELEMENT_I32, 0, 12, -1, 0,
    ""},
  {"out_changes", "out_changes", offsetof(sampler_unmask_args, out_changes),
   KIND_OBJECT, ELEMENT_U8, 1, 13, 0, 0,
    "[num_rows] What happened to each row: a SAMPLER_UNMASK_ constant. None: not wanted."},
  {"out_confidences", "out_confidences", offsetof(sampler_unmask_args, out_confidences),
   KIND_OBJECT, ELEMENT_F32, 1, 14, 1, 0,
    "[num_rows] The confidences; NaN where there is none. None: not wanted."},
  {"out_committed_counts", "out_committed_counts", offsetof(sampler_unmask_args, out_committed_counts),
   KIND_OBJECT, ELEMENT_I32, 1, 15, 2, 0,
    "[num_blocks] Rows committed, rows edited, and rows that are masked still: 0 when the block is\n"
    "done. A bad block has 0, 0 and -1. None: not wanted."},
  {"out_edited_counts", "out_edited_counts", offsetof(sampler_unmask_args, out_edited_counts),
   KIND_OBJECT, ELEMENT_I32, 1, 16, 3, 0,
    ""},
  {"out_masked_counts", "out_masked_counts", offsetof(sampler_unmask_args, out_masked_counts),
   KIND_OBJECT, ELEMENT_I32, 1, 17, 4, 0,
    ""},
  {"out_block_status", "out_block_status", offsetof(sampler_unmask_args, out_block_status),
   KIND_OBJECT, ELEMENT_U32, 1, 18, 5, 0,
    "[num_blocks] SAMPLER_ROW_ bits of each block. None: not wanted."},
};

static const char *const unmask_args_results[] = {"changes", "confidences", "committed_counts", "edited_counts", "masked_counts", "block_status", NULL};

static PyObject *unmask_args_names[30];
static PyTypeObject *unmask_args_result_type;
const Struct unmask_args_struct = {
  "unmask_args", unmask_args_members, 30, 19, sizeof(sampler_unmask_args), 1,
  NULL, 0, unmask_args_results,
  unmask_args_names, &unmask_args_result_type,
    ""};

const Member state_options_members[] = {
  {"num_slots", "num_slots", offsetof(sampler_state_options, num_slots),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "In [1, 2^31)."},
  {"max_tokens", "max_tokens", offsetof(sampler_state_options, max_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "The longest sequence, its prompt included. In [1, 2^31)."},
  {"max_distinct_tokens", "max_distinct_tokens", offsetof(sampler_state_options, max_distinct_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Distinct tokens per slot with counts, 20 bytes each, in [0, max_tokens]; 0: a quarter of\n"
    "max_tokens, at least 64, at most max_tokens. A sequence with more is recounted in each draw:\n"
    "same results, but slower."},
  {"keep_adaptive_values", "keep_adaptive_values", offsetof(sampler_state_options, keep_adaptive_values),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "1: keeps the adaptive values after each token, 16 bytes each, and truncating restores them. 0:\n"
    "truncating leaves them."},
};

static PyObject *state_options_names[4];
static PyTypeObject *state_options_result_type;
const Struct state_options_struct = {
  "state_options", state_options_members, 4, 0, sizeof(sampler_state_options), 1,
  NULL, 0, NULL,
  state_options_names, &state_options_result_type,
    ""};

const Member state_append_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_state_append_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Stream of the work. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_state_append_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "thread, or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_state_append_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"state", "state", offsetof(sampler_state_append_args, state),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    ""},
  {"slots", "slots", offsetof(sampler_state_append_args, slots),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    ""},
  {"num_rows", "num_rows", offsetof(sampler_state_append_args, num_rows),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"tokens", "tokens", offsetof(sampler_state_append_args, tokens),
   KIND_OBJECT, ELEMENT_NONE, 0, 3, -1, 0,
    "A list per row: tokens.num_lists is num_rows. All of a row's tokens are appended, or none: its\n"
    "offsets must be valid (INVALID_LIST), the tokens fit (STATE_FULL), and the ids lie in\n"
    "[0, 2^31) (INVALID_LIST)."},
  {"token_id_type", "token_id_type", offsetof(sampler_state_append_args, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"token_kind", "token_kind", offsetof(sampler_state_append_args, token_kind),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Prompt tokens after an output token make the row bad (INVALID_LIST)."},
  {"out_lengths", "out_lengths", offsetof(sampler_state_append_args, out_lengths),
   KIND_OBJECT, ELEMENT_I32, 1, 4, 0, 0,
    "[num_rows] Tokens in each slot afterwards; -1 for a bad slot. None: not wanted."},
  {"out_row_status", "out_row_status", offsetof(sampler_state_append_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 5, 1, 0,
    ""},
};

static const char *const state_append_args_results[] = {"lengths", "row_status", NULL};

static PyObject *state_append_args_names[11];
static PyTypeObject *state_append_args_result_type;
const Struct state_append_args_struct = {
  "state_append_args", state_append_args_members, 11, 6, sizeof(sampler_state_append_args), 1,
  NULL, 0, state_append_args_results,
  state_append_args_names, &state_append_args_result_type,
    ""};

const Member accept_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_accept_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Stream of the work. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_accept_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "thread, or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_accept_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"state", "state", offsetof(sampler_accept_args, state),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    ""},
  {"slots", "slots", offsetof(sampler_accept_args, slots),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    ""},
  {"num_rows", "num_rows", offsetof(sampler_accept_args, num_rows),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"token_ids", "token_ids", offsetof(sampler_accept_args, token_ids),
   KIND_OBJECT, ELEMENT_IDS, 0, 3, -1, 0,
    "[num_rows, num_tokens] out_token_ids of the draw (num_tokens 1) or of verification. A row ends\n"
    "at its first negative id; with a negative first id nothing happens. All of a row's tokens are\n"
    "accepted, or none: they must fit (STATE_FULL), their ids be below 2^31 (INVALID_LIST), and the\n"
    "slot's adaptive parameters valid (INVALID_PARAMETER), as reported in out_row_status. num_tokens\n"
    "in [1, 2^20]."},
  {"num_tokens", "num_tokens", offsetof(sampler_accept_args, num_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"token_id_type", "token_id_type", offsetof(sampler_accept_args, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"observations", "observations", offsetof(sampler_accept_args, observations),
   KIND_OBJECT, ELEMENT_F32, 0, 4, -1, 0,
    "[num_rows, num_tokens] out_observations of the call that drew the tokens. A NaN updates neither\n"
    "mirostat nor adaptive-p. None: all are NaN."},
  {"params", "params", offsetof(sampler_accept_args, params),
   KIND_OBJECT, ELEMENT_NONE, 0, 5, -1, 0,
    "Those of that call: only the adaptive stage, top_p and its decay are read. Arrays by slot are\n"
    "indexed by this call's slots and have an entry per slot of the state. Both None: adaptive\n"
    "values do not change."},
  {"row_params", "row_params", offsetof(sampler_accept_args, row_params),
   KIND_OBJECT, ELEMENT_NONE, 0, 6, -1, 0,
    ""},
  {"offsets", "offsets", offsetof(sampler_accept_args, offsets),
   KIND_OBJECT, ELEMENT_U64, 0, 7, -1, 0,
    "[slots of the state] In and out: each grows by the number of tokens its slot accepted. May be\n"
    "the draw's sampler_random.offsets, so that a loop of draw and accept needs no host. None: the\n"
    "caller updates offsets."},
  {"out_lengths", "out_lengths", offsetof(sampler_accept_args, out_lengths),
   KIND_OBJECT, ELEMENT_I32, 1, 8, 0, 0,
    "[num_rows] As in sampler_state_append_args."},
  {"out_row_status", "out_row_status", offsetof(sampler_accept_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 9, 1, 0,
    ""},
};

static const char *const accept_args_results[] = {"lengths", "row_status", NULL};

static PyObject *accept_args_names[15];
static PyTypeObject *accept_args_result_type;
const Struct accept_args_struct = {
  "accept_args", accept_args_members, 15, 10, sizeof(sampler_accept_args), 1,
  NULL, 0, accept_args_results,
  accept_args_names, &accept_args_result_type,
    ""};

const Member state_truncate_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_state_truncate_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Stream of the work. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_state_truncate_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "thread, or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_state_truncate_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"state", "state", offsetof(sampler_state_truncate_args, state),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    ""},
  {"slots", "slots", offsetof(sampler_state_truncate_args, slots),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    ""},
  {"num_rows", "num_rows", offsetof(sampler_state_truncate_args, num_rows),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"lengths", "lengths", offsetof(sampler_state_truncate_args, lengths),
   KIND_OBJECT, ELEMENT_I32, 0, 3, -1, 0,
    "[num_rows] Tokens to keep. More than there are: all; negative: none. Required."},
  {"out_row_status", "out_row_status", offsetof(sampler_state_truncate_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 4, 0, 0,
    ""},
};

static const char *const state_truncate_args_results[] = {"row_status", NULL};

static PyObject *state_truncate_args_names[8];
static PyTypeObject *state_truncate_args_result_type;
const Struct state_truncate_args_struct = {
  "state_truncate_args", state_truncate_args_members, 8, 5, sizeof(sampler_state_truncate_args), 1,
  NULL, 0, state_truncate_args_results,
  state_truncate_args_names, &state_truncate_args_result_type,
    ""};

const Member state_copy_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_state_copy_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Stream of the work. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_state_copy_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "thread, or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_state_copy_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"source", "source", offsetof(sampler_state_copy_args, source),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    "One state, or two of the same handle."},
  {"destination", "destination", offsetof(sampler_state_copy_args, destination),
   KIND_OBJECT, ELEMENT_NONE, 0, 2, -1, 0,
    ""},
  {"source_slots", "source_slots", offsetof(sampler_state_copy_args, source_slots),
   KIND_OBJECT, ELEMENT_I32, 0, 3, -1, 0,
    "[num_rows] Both required. A source may serve many rows. Within one state no destination may be\n"
    "a source of another row."},
  {"destination_slots", "destination_slots", offsetof(sampler_state_copy_args, destination_slots),
   KIND_OBJECT, ELEMENT_I32, 0, 4, -1, 0,
    ""},
  {"num_rows", "num_rows", offsetof(sampler_state_copy_args, num_rows),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"out_row_status", "out_row_status", offsetof(sampler_state_copy_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 5, 0, 0,
    "STATE_FULL: the source's tokens do not fit in the destination, which is unchanged."},
};

static const char *const state_copy_args_results[] = {"row_status", NULL};

static PyObject *state_copy_args_names[9];
static PyTypeObject *state_copy_args_result_type;
const Struct state_copy_args_struct = {
  "state_copy_args", state_copy_args_members, 9, 6, sizeof(sampler_state_copy_args), 1,
  NULL, 0, state_copy_args_results,
  state_copy_args_names, &state_copy_args_result_type,
    ""};

const Member state_reset_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_state_reset_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Stream of the work. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_state_reset_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "thread, or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_state_reset_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"state", "state", offsetof(sampler_state_reset_args, state),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    ""},
  {"slots", "slots", offsetof(sampler_state_reset_args, slots),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    "None and num_rows 0: every slot, and no array is read or written."},
  {"num_rows", "num_rows", offsetof(sampler_state_reset_args, num_rows),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"adaptive_values", "adaptive_values", offsetof(sampler_state_reset_args, adaptive_values),
   KIND_OBJECT, ELEMENT_F32, 0, 3, -1, 0,
    "[num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] Initial values; NaN is the start of its stage, infinity\n"
    "makes the row bad (INVALID_PARAMETER). None: all start."},
  {"out_row_status", "out_row_status", offsetof(sampler_state_reset_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 4, 0, 0,
    ""},
};

static const char *const state_reset_args_results[] = {"row_status", NULL};

static PyObject *state_reset_args_names[8];
static PyTypeObject *state_reset_args_result_type;
const Struct state_reset_args_struct = {
  "state_reset_args", state_reset_args_members, 8, 5, sizeof(sampler_state_reset_args), 1,
  NULL, 0, state_reset_args_results,
  state_reset_args_names, &state_reset_args_result_type,
    ""};

const Member state_read_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_state_read_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Stream of the work. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_state_read_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "thread, or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_state_read_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"state", "state", offsetof(sampler_state_read_args, state),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    ""},
  {"slots", "slots", offsetof(sampler_state_read_args, slots),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    ""},
  {"num_rows", "num_rows", offsetof(sampler_state_read_args, num_rows),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"out_token_ids", "out_token_ids", offsetof(sampler_state_read_args, out_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 1, 3, 0, 0,
    "[num_rows, num_tokens] The first tokens of each slot, then -1. num_tokens in [0, 2^31)."},
  {"num_tokens", "num_tokens", offsetof(sampler_state_read_args, num_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"token_id_type", "token_id_type", offsetof(sampler_state_read_args, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"out_lengths", "out_lengths", offsetof(sampler_state_read_args, out_lengths),
   KIND_OBJECT, ELEMENT_I32, 1, 4, 1, 0,
    "[num_rows] each; -1 for a bad slot."},
  {"out_prompt_lengths", "out_prompt_lengths", offsetof(sampler_state_read_args, out_prompt_lengths),
   KIND_OBJECT, ELEMENT_I32, 1, 5, 2, 0,
    ""},
  {"out_adaptive_values", "out_adaptive_values", offsetof(sampler_state_read_args, out_adaptive_values),
   KIND_OBJECT, ELEMENT_F32, 1, 6, 3, 0,
    "[num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] NaN for a stage not yet started."},
  {"out_row_status", "out_row_status", offsetof(sampler_state_read_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 7, 4, 0,
    ""},
};

static const char *const state_read_args_results[] = {"token_ids", "lengths", "prompt_lengths", "adaptive_values", "row_status", NULL};

static PyObject *state_read_args_names[13];
static PyTypeObject *state_read_args_result_type;
const Struct state_read_args_struct = {
  "state_read_args", state_read_args_members, 13, 8, sizeof(sampler_state_read_args), 1,
  NULL, 0, state_read_args_results,
  state_read_args_names, &state_read_args_result_type,
    ""};

const Member ngram_storage_options_members[] = {
  {"kind", "kind", offsetof(sampler_ngram_storage_options, kind),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"order", "order", offsetof(sampler_ngram_storage_options, order),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Length of the longest n-gram in tokens, in [2, 16]; 0: 3."},
  {"vocabulary_size", "vocabulary_size", offsetof(sampler_ngram_storage_options, vocabulary_size),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Token ids lie in [0, vocabulary_size). In [1, 2^20); required."},
  {"memory_limit", "memory_limit", offsetof(sampler_ngram_storage_options, memory_limit),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Maximum bytes at any time, at least 4096; 0: no limit. While the storage grows or is\n"
    "deserialised, its old and new table both count, so that in the end a third to two thirds are\n"
    "used. At the limit known n-grams still count, others are dropped."},
  {"allocator", "allocator", offsetof(sampler_ngram_storage_options, allocator),
   KIND_OBJECT, ELEMENT_NONE, 0, 0, -1, 0,
    "Memory for the handle and its table. All 0: the C library's. `allocate` is called when the\n"
    "storage is created, deserialised, or learns; neither function may call back into\n"
    "the storage."},
};

static PyObject *ngram_storage_options_names[5];
static PyTypeObject *ngram_storage_options_result_type;
const Struct ngram_storage_options_struct = {
  "ngram_storage_options", ngram_storage_options_members, 5, 1, sizeof(sampler_ngram_storage_options), 1,
  NULL, 0, NULL,
  ngram_storage_options_names, &ngram_storage_options_result_type,
    ""};

const Member prompt_lookup_options_members[] = {
  {"min_match", "min_match", offsetof(sampler_prompt_lookup_options, min_match),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Tokens of the text's end that must match, at least 1, 0: 1; and the most that are compared, at\n"
    "least min_match, 0: all."},
  {"max_match", "max_match", offsetof(sampler_prompt_lookup_options, max_match),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"max_tokens", "max_tokens", offsetof(sampler_prompt_lookup_options, max_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Capacity for the text in tokens, in [1, 2^27]; required. All memory, 132 bytes per token plus\n"
    "less than 1000, is allocated when the lookup is created."},
  {"vocabulary_size", "vocabulary_size", offsetof(sampler_prompt_lookup_options, vocabulary_size),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Token ids lie in [0, vocabulary_size). In [1, 2^20); required."},
  {"allocator", "allocator", offsetof(sampler_prompt_lookup_options, allocator),
   KIND_OBJECT, ELEMENT_NONE, 0, 0, -1, 0,
    "Memory for the handle. All 0: the C library's."},
};

static PyObject *prompt_lookup_options_names[5];
static PyTypeObject *prompt_lookup_options_result_type;
const Struct prompt_lookup_options_struct = {
  "prompt_lookup_options", prompt_lookup_options_members, 5, 1, sizeof(sampler_prompt_lookup_options), 1,
  NULL, 0, NULL,
  prompt_lookup_options_names, &prompt_lookup_options_result_type,
    ""};

const Member session_options_members[] = {
  {"max_sequences", "max_sequences", offsetof(sampler_session_options, max_sequences),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Maximum sequences, including finished ones not yet removed. In [1, 2^20]."},
  {"max_context", "max_context", offsetof(sampler_session_options, max_context),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Maximum tokens of a text, its prompt included: the capacity of the target's cache. In\n"
    "[1, 2^31). A sequence takes 13 bytes per token of it, about 900 bytes, and per draft of\n"
    "max_drafts 30 to 60, and 8 more for each of max_top_logprobs, beside the calls' workspace."},
  {"vocabulary_size", "vocabulary_size", offsetof(sampler_session_options, vocabulary_size),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Columns of the logits, in [1, 2^20), and their type."},
  {"logits_dtype", "logits_dtype", offsetof(sampler_session_options, logits_dtype),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"keep_drafter_rows", "keep_drafter_rows", offsetof(sampler_session_options, keep_drafter_rows),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "1: the session keeps the drafter's rows, max_drafts rows of logits per sequence, which\n"
    "STANDARD, BLOCK, RELAXED and DEFERRED require for a drafter model's drafts. Default 0."},
  {"max_drafts", "max_drafts", offsetof(sampler_session_options, max_drafts),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Maximum drafts per sequence and step, in [0, 1024]. Default 0: no drafts."},
  {"drafter_context", "drafter_context", offsetof(sampler_session_options, drafter_context),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Capacity of the drafter model's cache in tokens; a longer text continues without drafts, as\n"
    "is_drafting of sampler_session_get reports. In [0, 2^31). 0: max_context."},
  {"lookup_tokens", "lookup_tokens", offsetof(sampler_session_options, lookup_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Capacity of each sequence's prompt lookup, at 132 bytes per token; a longer text continues\n"
    "without drafts. In [0, 2^27]. Default 0: SAMPLER_DRAFTS_PROMPT_LOOKUP is unavailable."},
  {"max_end_tokens", "max_end_tokens", offsetof(sampler_session_options, max_end_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Per sequence: end tokens, stop sequences, and tokens of all its stop sequences.\n"
    "In [0, 2^20]."},
  {"max_stop_sequences", "max_stop_sequences", offsetof(sampler_session_options, max_stop_sequences),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"max_stop_tokens", "max_stop_tokens", offsetof(sampler_session_options, max_stop_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"max_top_logprobs", "max_top_logprobs", offsetof(sampler_session_options, max_top_logprobs),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Maximum num_top_logprobs of sampler_session_advance, in [0, vocabulary_size]. Default 0."},
  {"params", "params", offsetof(sampler_session_options, params),
   KIND_OBJECT, ELEMENT_NONE, 0, 0, -1, 0,
    "Parameters common to all sequences: rules for ties, orders, scopes and forms, and the list of\n"
    "stages. Its numbers are the defaults of sequences added without parameters; guidance_scale must\n"
    "be off. None: temperature 1 and no filter."},
  {"pipeline", "pipeline", offsetof(sampler_session_options, pipeline),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    "Lists and masks of the stages, by slot: the sequence's number, of max_sequences. None: none.\n"
    "The struct is copied; its arrays remain the caller's, and are read in each advance. history,\n"
    "prompt_lengths, adaptive_values, state and token_bitmask_indices must be 0: the session's texts\n"
    "are the history. guidance_logits must be None: sampler_session_advance has them. If `stop` is 0\n"
    "it is the end tokens of each sequence, as min_new_tokens and the exponential decay require."},
  {"acceptance", "acceptance", offsetof(sampler_session_options, acceptance),
   KIND_OBJECT, ELEMENT_NONE, 0, 2, -1, 0,
    "Default acceptance rule of sequences, and the rules' parameters; max_drafts is the max drafts\n"
    "per sequence. Rule 0, and None: SAMPLER_ACCEPT_SAMPLE_MATCH. Copied, with synthetic_rates."},
  {"has_draft_trees", "has_draft_trees", offsetof(sampler_session_options, has_draft_trees),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "1: sequences may use draft_top_k. Default 0."},
  {"has_adaptive_gamma", "has_adaptive_gamma", offsetof(sampler_session_options, has_adaptive_gamma),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "1: sequences may use adaptive_gamma, which takes a row of f32 and 20 KB. Default 0."},
  {"clock", "clock", offsetof(sampler_session_options, clock),
   KIND_ADDRESS, ELEMENT_NONE, 0, -1, -1, 0,
    "For SAMPLER_GAMMA_MEASURED. None: the system's monotonic clock."},
  {"clock_user", "clock_user", offsetof(sampler_session_options, clock_user),
   KIND_ADDRESS, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"stream", "stream", offsetof(sampler_session_options, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "CUDA: all of the session's work is enqueued on it, and logits are read in its order: wait first\n"
    "for work on other streams that computes them. It must outlive the session. None: the legacy\n"
    "default stream. A CPU handle ignores it."},
  {"filler_top_k", "filler_top_k", offsetof(sampler_session_options, filler_top_k),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Tokens that the n-grams of sequences with SAMPLER_DRAFTS_NGRAM learn per new position: the\n"
    "target's filler_top_k likeliest, in [0, 2^20), then the token of the text unless among them.\n"
    "Takes as many ids per row of logits, max_drafts + 1 rows per sequence. Default 0: only the\n"
    "token of the text."},
  {"has_blocks", "has_blocks", offsetof(sampler_session_options, has_blocks),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "1: sequences may have `unmask`, with blocks of at most max_drafts + 1 positions, at about 50\n"
    "bytes per position of each sequence. Default 0."},
  {"confidence_kind", "confidence_kind", offsetof(sampler_session_options, confidence_kind),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "For blocks: the rows whose log-probabilities and entropies are the confidences."},
};

static PyObject *session_options_names[23];
static PyTypeObject *session_options_result_type;
const Struct session_options_struct = {
  "session_options", session_options_members, 23, 3, sizeof(sampler_session_options), 1,
  NULL, 0, NULL,
  session_options_names, &session_options_result_type,
    ""};

const Member session_add_args_members[] = {
  {"token_ids", "token_ids", offsetof(sampler_session_add_args, token_ids),
   KIND_OBJECT, ELEMENT_I32, 0, 0, -1, 0,
    "The text so far, [num_tokens], in [1, max_context], ids of the vocabulary. The first\n"
    "prompt_length are the prompt, in [1, num_tokens], the others its new tokens, as for a removed\n"
    "sequence that resumes; 0: all are the prompt."},
  {"num_tokens", "num_tokens", offsetof(sampler_session_add_args, num_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"prompt_length", "prompt_length", offsetof(sampler_session_add_args, prompt_length),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"cache_length", "cache_length", offsetof(sampler_session_add_args, cache_length),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Tokens of these already in the target's and the drafter's caches, in [0, num_tokens - 1] and\n"
    "[0, num_tokens], and at most drafter_context. A drafter's cache of the whole text is fed its\n"
    "last token again."},
  {"drafter_cache_length", "drafter_cache_length", offsetof(sampler_session_add_args, drafter_cache_length),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"params", "params", offsetof(sampler_session_add_args, params),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    "None: the session's. Rules for ties, orders, scopes, forms and stages must be the session's."},
  {"seed", "seed", offsetof(sampler_session_add_args, seed),
   KIND_U64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"max_new_tokens", "max_new_tokens", offsetof(sampler_session_add_args, max_new_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Maximum new tokens, in [0, 2^31); 0: the rest of max_context."},
  {"end_token_ids", "end_token_ids", offsetof(sampler_session_add_args, end_token_ids),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    "[num_end_tokens] Tokens that end the text."},
  {"num_end_tokens", "num_end_tokens", offsetof(sampler_session_add_args, num_end_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"stop_sequences", "stop_sequences", offsetof(sampler_session_add_args, stop_sequences),
   KIND_OBJECT, ELEMENT_NONE, 0, 3, -1, 0,
    "Sequences of tokens that end the text when its new tokens end in one; none may be empty.\n"
    "num_lists of them, in one array of int32_t. All 0: none."},
  {"draft_source", "draft_source", offsetof(sampler_session_add_args, draft_source),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"acceptance", "acceptance", offsetof(sampler_session_add_args, acceptance),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Acceptance rule, see speculative.h; 0: the session's, by default SAMPLE_MATCH: the target's own\n"
    "token is drawn at each position, and drafts are kept while they equal it, so that the text is,\n"
    "token by token, the one without drafts. With other rules tokens depend on the drafts and on\n"
    "num_drafts, too. A model's drafts have its rows as draft probabilities, others are\n"
    "deterministic. SYNTHETIC needs the session's synthetic_rates."},
  {"ngram", "ngram", offsetof(sampler_session_add_args, ngram),
   KIND_OBJECT, ELEMENT_NONE, 0, 4, -1, 0,
    "The n-grams of NGRAM, else None. Copied. They learn the text now, unless ngram_has_text is 1,\n"
    "and later each new token. Drafts come from `propose` if it is not None and draft_unknown is 0,\n"
    "else from next_token. If it fails later, such as for lack of memory, the sequence continues\n"
    "without drafts."},
  {"num_drafts", "num_drafts", offsetof(sampler_session_add_args, num_drafts),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Maximum drafts per step, in [0, max_drafts]; 0: max_drafts."},
  {"min_match", "min_match", offsetof(sampler_session_add_args, min_match),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "For PROMPT_LOOKUP: the shortest match, in [0, 2^27]; 0: 1. Drafts are the tokens after the\n"
    "longest match and, if the text ends before num_drafts, the drafts themselves, as if the text\n"
    "continued so."},
  {"draft_unknown", "draft_unknown", offsetof(sampler_session_add_args, draft_unknown),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "For NGRAM. 1: an unknown context is followed by the n-grams' draft for it. 0: by none."},
  {"ngram_has_text", "ngram_has_text", offsetof(sampler_session_add_args, ngram_has_text),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "1: the n-grams of NGRAM have already learned these tokens, as for a removed sequence, and do\n"
    "not learn them again. 0: they learn them."},
  {"ngram_least_count", "ngram_least_count", offsetof(sampler_session_add_args, ngram_least_count),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "For NGRAM, without draft_unknown and with an ngram that has `propose`: drafts end before the\n"
    "first that was counted fewer than ngram_least_count times after its context, or with a share of\n"
    "all tokens counted there below ngram_least_share, in [0, 1]. 0: off."},
  {"ngram_least_share", "ngram_least_share", offsetof(sampler_session_add_args, ngram_least_share),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"least_draft_probability", "least_draft_probability", offsetof(sampler_session_add_args, least_draft_probability),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "For MODEL, without draft_top_k, in [0, 1]: a draft with less than this probability in the\n"
    "drafter's row is the last of its step, as in sampler_speculative_args. 0: off."},
  {"draft_top_k", "draft_top_k", offsetof(sampler_session_add_args, draft_top_k),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "For MODEL, with the session's has_draft_trees, in [0, num_drafts]. 0: drafts are drawn, one per\n"
    "position. Else drafts are the drafter's draft_top_k likeliest tokens per position, at most\n"
    "num_drafts in all: the first of a position is extended, the others are its siblings, and the\n"
    "target runs them as a tree. Supported by all rules but BLOCK and DEFERRED, and verified as\n"
    "deterministic drafts; SAMPLE_MATCH accepts more of them than of a chain."},
  {"adaptive_gamma", "adaptive_gamma", offsetof(sampler_session_add_args, adaptive_gamma),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "How the number of drafts of a step, at most num_drafts, is chosen; needs the\n"
    "session's has_adaptive_gamma.\n"
    "\n"
    "BY_ENTROPY, for MODEL without draft_top_k: as in sampler_speculative_args, from gamma_min to\n"
    "num_drafts, H at the sequence's temperature (1 if greedy) and smoothed by ema_beta over its\n"
    "own steps.\n"
    "\n"
    "MEASURED: the number with most tokens per second, from 0 to num_drafts, by the time from plan\n"
    "to advance, common to all such sequences of the session. Times differ from run to run: with\n"
    "SAMPLE_MATCH texts do not change, with other rules they follow the same distribution, but the\n"
    "seed does not fix them. Only rounds of drafts and verification that these sequences begin and\n"
    "end together, while no other one has a span, are measured; to keep them together, a plan with a\n"
    "drafter span for one has no target span for those whose drafts are ready. Beside others MODEL\n"
    "drafts nothing, and the time budget uses earlier measurements. With draft_top_k the number\n"
    "counts positions."},
  {"ema_beta", "ema_beta", offsetof(sampler_session_add_args, ema_beta),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "for BY_ENTROPY, in [0, 1)"},
  {"gamma_min", "gamma_min", offsetof(sampler_session_add_args, gamma_min),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "for BY_ENTROPY, in [0, num_drafts]"},
  {"resumed", "resumed", offsetof(sampler_session_add_args, resumed),
   KIND_OBJECT, ELEMENT_NONE, 0, 5, -1, 0,
    "Result of sampler_session_get for a removed sequence, of this session or another, that resumes\n"
    "here. Only its adaptive_values and drafter_entropy, without which the next tokens may differ,\n"
    "and num_steps, num_drafted and num_accepted are read. Adaptive values must not be infinite, the\n"
    "entropy must be NaN or finite and at least 0, counts in [0, 2^62). Read only during the call.\n"
    "None: a new sequence."},
  {"unmask", "unmask", offsetof(sampler_session_add_args, unmask),
   KIND_OBJECT, ELEMENT_NONE, 0, 6, -1, 0,
    "For a diffusion language model, whose text grows by blocks (unmask.h): the rules by which\n"
    "candidates stand. Needs the session's has_blocks. block_length is in [1, max_drafts + 1], and\n"
    "confidence is not GIVEN. Without num_committed, num_steps_left and entropy_bound num_committed\n"
    "is 1. Copied. None: the text grows by tokens.\n"
    "\n"
    "A span ends with the block, masked positions included, and has a row for each of its positions\n"
    "after the text. An advance draws their candidates, of which the rules commit some. The text\n"
    "grows once no position is masked; with edit_threshold once a later step changes nothing, the\n"
    "16th at the latest. The last block ends at max_context, or beyond max_new_tokens. Caches hold\n"
    "whole blocks of the text: each is fed again with the next one. A step that changes nothing\n"
    "while positions are masked, or only edits after 16 that did, finishes the sequence, BAD_ROW.\n"
    "The n-th new token, from 0, is drawn with the offset n, in step s of its block, from 0, with\n"
    "the stream s.\n"
    "\n"
    "Stages see the text before the block: penalties count it, and bad words and contexts of biases\n"
    "follow it. Those that need to know what each token follows must be off: DRY, no-repeat n-grams,\n"
    "min_new_tokens, the exponential decay, mirostat, adaptive-p, top-p decay. draft_source must be\n"
    "NONE. Log-probabilities are not reported."},
};

static PyObject *session_add_args_names[27];
static PyTypeObject *session_add_args_result_type;
const Struct session_add_args_struct = {
  "session_add_args", session_add_args_members, 27, 7, sizeof(sampler_session_add_args), 1,
  NULL, 0, NULL,
  session_add_args_names, &session_add_args_result_type,
    ""};

const Member session_fork_args_members[] = {
  {"source", "source", offsetof(sampler_session_fork_args, source),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "The sequence to fork, which continues unaffected."},
  {"seed", "seed", offsetof(sampler_session_fork_args, seed),
   KIND_OBJECT, ELEMENT_U64, 0, 0, -1, 0,
    "None: the source's, so that the fork repeats its text."},
  {"params", "params", offsetof(sampler_session_fork_args, params),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    ""},
};

static PyObject *session_fork_args_names[3];
static PyTypeObject *session_fork_args_result_type;
const Struct session_fork_args_struct = {
  "session_fork_args", session_fork_args_members, 3, 2, sizeof(sampler_session_fork_args), 1,
  NULL, 0, NULL,
  session_fork_args_names, &session_fork_args_result_type,
    ""};

const Member session_plan_args_members[] = {
  {"sequences", "sequences", offsetof(sampler_session_plan_args, sequences),
   KIND_OBJECT, ELEMENT_I32, 0, 0, -1, 0,
    "[num_sequences] Sequences to plan, distinct, in their order of priority for max_tokens.\n"
    "Finished ones are skipped. None and 0: all."},
  {"num_sequences", "num_sequences", offsetof(sampler_session_plan_args, num_sequences),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"max_tokens", "max_tokens", offsetof(sampler_session_plan_args, max_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Maximum tokens in all spans of a model; 0: no limit. Else at least max_drafts + 1. Longer texts\n"
    "are planned in parts. A sequence that does not fit gets no span; without `sequences` it is\n"
    "among the first next time."},
  {"out_spans", "out_spans", offsetof(sampler_session_plan_args, out_spans),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    "[num_sequences], or [max_sequences] if that is 0. A sequence has a span of one of the two\n"
    "models: of the drafter if it needs a draft. out_drafter_spans may be None if no sequence\n"
    "has SAMPLER_DRAFTS_MODEL."},
  {"out_num_spans", "out_num_spans", offsetof(sampler_session_plan_args, out_num_spans),
   KIND_OBJECT, ELEMENT_I64, 1, 2, -1, 0,
    ""},
  {"out_drafter_spans", "out_drafter_spans", offsetof(sampler_session_plan_args, out_drafter_spans),
   KIND_OBJECT, ELEMENT_NONE, 0, 3, -1, 0,
    ""},
  {"out_num_drafter_spans", "out_num_drafter_spans", offsetof(sampler_session_plan_args, out_num_drafter_spans),
   KIND_OBJECT, ELEMENT_I64, 1, 4, -1, 0,
    ""},
  {"out_parents", "out_parents", offsetof(sampler_session_plan_args, out_parents),
   KIND_OBJECT, ELEMENT_I32, 1, 5, -1, 0,
    "[spans of the target, max_drafts] Parent of each draft of a span: a lower index of its drafts,\n"
    "-1 the text; in a chain draft i follows i - 1. Entries past the drafts of a span are -1. In a\n"
    "tree drafts attend to their ancestors, and not to other drafts; their positions in the text are\n"
    "their depths. The first path comes first, so a cache cut to out_cache_lengths holds the text: a\n"
    "kept draft beside that path is fed again. May be None if no sequence has a draft_top_k\n"
    "above 1."},
};

static PyObject *session_plan_args_names[8];
static PyTypeObject *session_plan_args_result_type;
const Struct session_plan_args_struct = {
  "session_plan_args", session_plan_args_members, 8, 6, sizeof(sampler_session_plan_args), 1,
  NULL, 0, NULL,
  session_plan_args_names, &session_plan_args_result_type,
    ""};

const Member session_advance_args_members[] = {
  {"spans", "spans", offsetof(sampler_session_advance_args, spans),
   KIND_OBJECT, ELEMENT_NONE, 0, 0, -1, 0,
    "[num_spans] Spans that the target ran, whole copies of those planned: any subset, in\n"
    "any order."},
  {"num_spans", "num_spans", offsetof(sampler_session_advance_args, num_spans),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"logits", "logits", offsetof(sampler_session_advance_args, logits),
   KIND_OBJECT, ELEMENT_FLOATS, 0, 1, -1, 0,
    "Their rows of logits, span after span: [sum of num_logits, vocabulary_size]. The stride is in\n"
    "elements; 0: vocabulary_size. Not read after the call returns SAMPLER_OK; after CUDA, enqueued\n"
    "work may still read them."},
  {"logits_row_stride", "logits_row_stride", offsetof(sampler_session_advance_args, logits_row_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"drafter_spans", "drafter_spans", offsetof(sampler_session_advance_args, drafter_spans),
   KIND_OBJECT, ELEMENT_NONE, 0, 2, -1, 0,
    "The same for the drafter."},
  {"num_drafter_spans", "num_drafter_spans", offsetof(sampler_session_advance_args, num_drafter_spans),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"drafter_logits", "drafter_logits", offsetof(sampler_session_advance_args, drafter_logits),
   KIND_OBJECT, ELEMENT_FLOATS, 0, 3, -1, 0,
    ""},
  {"drafter_row_stride", "drafter_row_stride", offsetof(sampler_session_advance_args, drafter_row_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"token_bitmask_indices", "token_bitmask_indices", offsetof(sampler_session_advance_args, token_bitmask_indices),
   KIND_OBJECT, ELEMENT_I32, 0, 4, -1, 0,
    "[rows of logits] With masks in the session's pipeline: the mask of each target row, which\n"
    "follows the text and the drafts before it; negative: none. Else None."},
  {"forced_token_ids", "forced_token_ids", offsetof(sampler_session_advance_args, forced_token_ids),
   KIND_OBJECT, ELEMENT_I32, 0, 5, -1, 0,
    "[rows of logits] The token that is decided at each target row whatever its logits, below\n"
    "vocabulary_size, as where a thinking budget runs out among the drafts: a draft that is this\n"
    "token is kept, any other ends the drafts. Negative: none, as rows of blocks must be. In host\n"
    "memory. None: none."},
  {"out_token_ids", "out_token_ids", offsetof(sampler_session_advance_args, out_token_ids),
   KIND_OBJECT, ELEMENT_I32, 1, 6, 0, 0,
    "Outputs per target span, [num_spans, ...]; all but out_token_ids and out_counts may be None,\n"
    "and with no spans those, too.\n"
    "\n"
    "[num_spans, max_drafts + 1] New tokens, then -1; and their number, 0 for a span without logits\n"
    "or whose block is not complete."},
  {"out_counts", "out_counts", offsetof(sampler_session_advance_args, out_counts),
   KIND_OBJECT, ELEMENT_I64, 1, 7, 1, 0,
    ""},
  {"out_finish_reasons", "out_finish_reasons", offsetof(sampler_session_advance_args, out_finish_reasons),
   KIND_OBJECT, ELEMENT_I32, 1, 8, 2, 0,
    "Not NONE: the sequence has finished, and is not planned any more."},
  {"out_cache_lengths", "out_cache_lengths", offsetof(sampler_session_advance_args, out_cache_lengths),
   KIND_OBJECT, ELEMENT_I64, 1, 9, 3, 0,
    "Lengths to cut the caches to. Rejected drafts are cut."},
  {"out_drafter_cache_lengths", "out_drafter_cache_lengths", offsetof(sampler_session_advance_args, out_drafter_cache_lengths),
   KIND_OBJECT, ELEMENT_I64, 1, 10, 4, 0,
    ""},
  {"out_accepted_counts", "out_accepted_counts", offsetof(sampler_session_advance_args, out_accepted_counts),
   KIND_OBJECT, ELEMENT_I64, 1, 11, 5, 0,
    "Drafts that became text."},
  {"out_row_status", "out_row_status", offsetof(sampler_session_advance_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 12, 6, 0,
    "Cause of BAD_ROW; else 0."},
  {"reports", "reports", offsetof(sampler_session_advance_args, reports),
   KIND_OBJECT, ELEMENT_NONE, 0, 13, 7, 0,
    "Log-probabilities of the new tokens, padded with NaN, and of the first num_top_logprobs tokens\n"
    "in rank order, padded with -1 and NaN: logprob_kind, out_logprobs, num_top_logprobs in\n"
    "[0, max_top_logprobs], out_top_token_ids of int32_t and out_top_logprobs. Other members of\n"
    "sampler_report_args must be 0. In host memory. None: none."},
  {"guidance_logits", "guidance_logits", offsetof(sampler_session_advance_args, guidance_logits),
   KIND_OBJECT, ELEMENT_FLOATS, 0, 14, -1, 0,
    "Classifier-free guidance: [num_guidance_rows, vocabulary_size] rows as in sampler_pipeline,\n"
    "with the stride of `logits`, from a cache with another prompt, to which the caller feeds each\n"
    "span's new tokens and drafts. Required where a sequence with rows has guidance_scale on; may be\n"
    "None and 0 elsewhere."},
  {"num_guidance_rows", "num_guidance_rows", offsetof(sampler_session_advance_args, num_guidance_rows),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"guidance_row_indices", "guidance_row_indices", offsetof(sampler_session_advance_args, guidance_row_indices),
   KIND_OBJECT, ELEMENT_I32, 0, 15, -1, 0,
    "[rows of logits] The guidance row of each target row; negative: none. In host memory. None: the\n"
    "row of the same number."},
};

static const char *const session_advance_args_results[] = {"token_ids", "counts", "finish_reasons", "cache_lengths", "drafter_cache_lengths", "accepted_counts", "row_status", "reports", NULL};

static PyObject *session_advance_args_names[21];
static PyTypeObject *session_advance_args_result_type;
const Struct session_advance_args_struct = {
  "session_advance_args", session_advance_args_members, 21, 16, sizeof(sampler_session_advance_args), 1,
  NULL, 0, session_advance_args_results,
  session_advance_args_names, &session_advance_args_result_type,
    ""};

const char sampler_sample_doc[] =
    "sample($self, input, *, stream=None, workspace=None, workspace_bytes=None, row_indices=None, num_row_indices=None, slots=None, num_slots=None, params=None, row_params=None, pipeline=None, seed=None, offset=None, seeds=None, offsets=None, streams=None, num_seeds=None, num_offsets=None, draw_method=None, token_id_type=None, out_token_ids=None, out_row_status=None, reports=None)\n"
    "--\n"
    "\n"
    "Draws one token per output row from its filtered input row.\n"
    "\n"
    "stream\n"
    "    Stream of the work. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "    alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "    thread, or one stream. Its contents are undefined before and after a call.\n"
    "row_indices\n"
    "    [num_row_indices] The input row of each output row, in [0, input.num_rows); other values make\n"
    "    the output row bad. There are then num_row_indices output rows, in [0, 2^31). Output rows with\n"
    "    the same input row and parameters share its preparation. None and 0: output row i draws from\n"
    "    input row i.\n"
    "slots\n"
    "    [output rows] The slot of each output row, in [0, num_slots); other values make the row bad.\n"
    "    For engines that keep parameters, seeds and offsets per sequence, in arrays of num_slots\n"
    "    entries: row_params and random are indexed by slot, logits by row. None and 0: output row i has\n"
    "    slot i.\n"
    "params\n"
    "    None: temperature 1 and no filter.\n"
    "row_params\n"
    "    None: `params` for all.\n"
    "pipeline\n"
    "    Edits of the logits. None: none.\n"
    "seeds\n"
    "    [num_seeds], [num_offsets] Each count is 1 (one for all) or the number of slots. None and 0:\n"
    "    `seed`, `offset`.\n"
    "streams\n"
    "    [slots] Stream of each slot, such as a request id where all share a seed. None: the slot's\n"
    "    number with a shared seed, so that slots draw independently; 0 with a seed per slot, so that a\n"
    "    token depends on its seed and offset alone, not on its place.\n"
    "draw_method\n"
    "    GUMBEL rounds logit / temperature + noise to f32: logits above about 1,000 in size coarsen the\n"
    "    noise, and sums beyond 2^126, or -2^126, tie, so that the lowest of their ids is drawn.\n"
    "token_id_type\n"
    "    Type of out_token_ids, and of ids in reports.\n"
    "out_token_ids\n"
    "    [output rows] The tokens: column numbers, or candidate ids. -1 or the handle's fallback token\n"
    "    for a bad row. Required.\n"
    "out_row_status\n"
    "    [output rows] SAMPLER_ROW_ bits. None: not wanted.\n"
    "reports\n"
    "    Optional outputs per output row; all of sampler_report_args is supported. None: none.";

const char sampler_score_doc[] =
    "score($self, input, token_ids, *, stream=None, workspace=None, workspace_bytes=None, row_indices=None, num_row_indices=None, slots=None, num_slots=None, params=None, row_params=None, pipeline=None, seed=None, offset=None, seeds=None, offsets=None, streams=None, num_seeds=None, num_offsets=None, token_id_type=None, kept=None, out_row_status=None, reports=None)\n"
    "--\n"
    "\n"
    "Reports on given tokens what sampler_sample reports on drawn ones, bit for bit. Nothing is drawn:\n"
    "log-probabilities for training on what was sampled, scores of choices, perplexity.\n"
    "\n"
    "token_ids\n"
    "    [output rows] The tokens to score. A negative one, and one outside the row, makes the row bad\n"
    "    (INVALID_PARAMETER), which suits padding. Required.\n"
    "stream\n"
    "    Stream of the work. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "    alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "    thread, or one stream. Its contents are undefined before and after a call.\n"
    "seeds\n"
    "    [num_seeds], [num_offsets] Each count is 1 (one for all) or the number of slots. None and 0:\n"
    "    `seed`, `offset`.\n"
    "streams\n"
    "    [slots] Stream of each slot, such as a request id where all share a seed. None: the slot's\n"
    "    number with a shared seed, so that slots draw independently; 0 with a seed per slot, so that a\n"
    "    token depends on its seed and offset alone, not on its place.\n"
    "token_id_type\n"
    "    Type of token_ids, of kept, and of ids in reports.\n"
    "kept\n"
    "    A list for each output row: the tokens that were kept when its token was drawn, in any order.\n"
    "    They replace filters, windows and pipeline.allowed: PROCESSED log-probabilities are relative to\n"
    "    them, after the edits, at the temperature. A row with an empty list is bad (EMPTY).\n"
    "\n"
    "    num_lists is the number of output rows; num_token_ids may be more than the last offset, so\n"
    "    out_kept_offsets and out_kept_token_ids of an earlier call do as they are. Logits only;\n"
    "    reports->logprob_kind must be PROCESSED, the kind that depends on what was kept. Dynamic\n"
    "    temperature, adaptive-p and smoothing, which depend on more, must be off, and not given by slot.\n"
    "\n"
    "    offsets None: filters and windows decide, as in sampler_sample.\n"
    "out_row_status\n"
    "    [output rows] SAMPLER_ROW_ bits. None: not wanted.\n"
    "reports\n"
    "    Outputs per output row, out_logprobs among them. None: none.";

const char sampler_filter_doc[] =
    "filter($self, input, *, stream=None, workspace=None, workspace_bytes=None, slots=None, num_slots=None, params=None, row_params=None, output_kind=None, output_dtype=None, output=None, output_stride=None, out_kept_counts=None, out_row_status=None, pipeline=None)\n"
    "--\n"
    "\n"
    "Writes the filtered rows: softmax without filters, renormalisation, masks.\n"
    "\n"
    "stream\n"
    "    Stream of the work. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "    alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "    thread, or one stream. Its contents are undefined before and after a call.\n"
    "slots\n"
    "    [input.num_rows] As in sampler_sample_args.\n"
    "output_kind\n"
    "    PROBABILITIES: softmax of the kept tokens, which sums to 1 up to rounding; one-hot when greedy;\n"
    "    exactly 0 throughout a bad row. VALUES: kept logits unchanged, -inf elsewhere; a bad row is\n"
    "    copied. VALUES needs logits.\n"
    "output_dtype\n"
    "    SAMPLER_F32 or input.dtype.\n"
    "output\n"
    "    [input.num_rows, input.num_cols] Rows output_stride elements apart, at least num_cols; 0:\n"
    "    num_cols. With candidate lists an element belongs to the candidate at the same position, and\n"
    "    those past a row's last one are written as removed. Required.\n"
    "out_kept_counts\n"
    "    [input.num_rows] As in sampler_report_args, and SAMPLER_ROW_ bits. None: not wanted.\n"
    "pipeline\n"
    "    Edits of the logits, as in sampler_sample_args: VALUES writes the edited logits.";

const char sampler_select_doc[] =
    "select($self, input, num_selected, *, stream=None, workspace=None, workspace_bytes=None, selected_counts=None, output_dtype=None, token_id_type=None, out_values=None, out_token_ids=None, out_counts=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Writes the first tokens of each row in rank order: their values and ids.\n"
    "\n"
    "num_selected\n"
    "    Maximum tokens per row: columns of the outputs, in [1, input.num_cols].\n"
    "stream\n"
    "    Stream of the work. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "    alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "    thread, or one stream. Its contents are undefined before and after a call.\n"
    "selected_counts\n"
    "    [input.num_rows] Tokens per row. <= 0 or >= num_selected: num_selected. In host memory with the\n"
    "    handle's host_parameters. None: num_selected for all.\n"
    "output_dtype\n"
    "    Types of out_values, SAMPLER_F32 or input.dtype, and of out_token_ids.\n"
    "out_values\n"
    "    [input.num_rows, num_selected] Values and ids, in rank order and contiguous. +inf is an\n"
    "    ordinary value here; NaN makes the row bad. Missing tokens, and all of a bad row, are -inf\n"
    "    (probabilities: 0) and -1. Either array may be None, not both.\n"
    "out_counts\n"
    "    [input.num_rows] Tokens written per row; 0 for a bad row. None: not wanted.";

const char sampler_verify_doc[] =
    "verify($self, target, draft=None, draft_token_ids=None, *, stream=None, workspace=None, workspace_bytes=None, num_drafts=None, draft_counts=None, layout=None, slots=None, num_slots=None, params=None, row_params=None, draft_params=None, draft_row_params=None, pipeline=None, forced_token_ids=None, seed=None, offset=None, seeds=None, offsets=None, streams=None, num_seeds=None, num_offsets=None, acceptance=None, acceptances=None, token_id_type=None, accumulate_counts=None, out_token_ids=None, out_accepted_counts=None, out_emitted_counts=None, out_row_status=None, reports=None, out_positions=None, kv_indices=None, out_kv_indices=None)\n"
    "--\n"
    "\n"
    "Verifies each sequence's drafts and emits between 1 and num_drafts + 1 tokens.\n"
    "\n"
    "target\n"
    "    [num_sequences, num_drafts + 1, num_cols] The target's row at each draft position, then the one\n"
    "    after the last draft. target.num_rows is num_sequences * (num_drafts + 1), whatever\n"
    "    layout->target_sequence_stride, and determines num_sequences. In rows given as probabilities\n"
    "    only the drafts' elements are read before the first rejection; a candidate list is read whole,\n"
    "    so that any bad element makes the sequence bad.\n"
    "draft\n"
    "    [num_sequences, num_drafts, num_cols] The distributions that the drafts were drawn from. Its\n"
    "    num_cols is the target's. All 0: a deterministic drafter (its draft has probability 1), as with\n"
    "    n-gram drafts. A token outside a candidate list has probability 0.\n"
    "draft_token_ids\n"
    "    [num_sequences, num_drafts] The draft tokens, of type token_id_type. One outside the\n"
    "    vocabulary, [0, num_cols) (candidate lists: [0, 2^20)), is rejected with residual p. Required,\n"
    "    unless num_drafts is 0. num_drafts is in [0, 65535].\n"
    "stream\n"
    "    Stream of the work. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "    alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "    thread, or one stream. Its contents are undefined before and after a call.\n"
    "draft_counts\n"
    "    [num_sequences] Drafts per sequence, in [0, num_drafts]; values outside are clamped and set a\n"
    "    status. None: num_drafts.\n"
    "layout\n"
    "    Packed batches, row indices, and trees. None: dense chains.\n"
    "slots\n"
    "    [num_sequences]\n"
    "params\n"
    "    Temperature and filters of rows of logits, target and draft alike. If the target is\n"
    "    probabilities the temperature must be 1 or greedy; if the draft is too (or absent), the filters\n"
    "    must be off. A violation fails the call; in an array, it makes the sequence bad:\n"
    "    SAMPLER_ROW_INVALID_PARAMETER. Greedy: drafts are accepted while they are the target's argmax,\n"
    "    and the next token is the argmax too.\n"
    "draft_params\n"
    "    Temperature and filters of `draft`. None: the target's, which must then have no other stage if\n"
    "    the draft is logits.\n"
    "pipeline\n"
    "    Stages of the target's rows. At each position the history and adaptive values are as if the\n"
    "    drafts before it had been accepted; nothing is changed. token_bitmask_indices is\n"
    "    [num_sequences, num_drafts + 1], by position, in trees and packed batches too.\n"
    "forced_token_ids\n"
    "    [num_sequences, num_drafts + 1] By position, likewise: the token that is decided there whatever\n"
    "    its row and the rule, of token_id_type, as at the end of a thinking budget. A draft that equals\n"
    "    it is accepted; else it is emitted, and the drafts after it are rejected. Negative: none. An id\n"
    "    outside the row makes the sequence bad (INVALID_PARAMETER) where it is reached. A chain with\n"
    "    one is verified by STANDARD instead of BLOCK and DEFERRED, which decide on whole chains. None:\n"
    "    none. row_params->forced_token_id must be None.\n"
    "seeds\n"
    "    [num_seeds], [num_offsets] Each count is 1 (one for all) or the number of slots. None and 0:\n"
    "    `seed`, `offset`.\n"
    "streams\n"
    "    [slots] Stream of each slot, such as a request id where all share a seed. None: the slot's\n"
    "    number with a shared seed, so that slots draw independently; 0 with a seed per slot, so that a\n"
    "    token depends on its seed and offset alone, not on its place.\n"
    "acceptance\n"
    "    The rule and its parameters. None, or rule 0: SAMPLER_ACCEPT_STANDARD, the fastest for\n"
    "    dense chains.\n"
    "acceptances\n"
    "    The rule by slot, 0: that of `acceptance`. An unknown constant, or a rule incompatible with the\n"
    "    call, makes its sequence bad (INVALID_PARAMETER). None: `acceptance` for all.\n"
    "token_id_type\n"
    "    Type of draft_token_ids and out_token_ids, and of ids in reports.\n"
    "accumulate_counts\n"
    "    1: counts are added to the two arrays. 0: they overwrite them.\n"
    "out_token_ids\n"
    "    [num_sequences, num_drafts + 1] The accepted drafts, then one token of the target, then -1. All\n"
    "    -1 for a bad sequence (the handle's fallback token first, if it has one). Required.\n"
    "out_accepted_counts\n"
    "    [num_sequences] each; None: not wanted. Drafts that would be accepted each on its own, at any\n"
    "    position. Positions after the first rejection count only here: nothing there changes a token\n"
    "    or, draft ids apart, a status. For trees, and for rules other than STANDARD, it\n"
    "    equals out_emitted_counts.\n"
    "out_emitted_counts\n"
    "    Drafts kept before the first rejection: out_token_ids has one token more.\n"
    "reports\n"
    "    Optional outputs per emitted token, in the order of out_token_ids, from the target's\n"
    "    distribution at its position; without a token, as for a bad row. out_values, num_chosen,\n"
    "    out_kept_offsets and out_removed_by, with their related members, must be 0. None: none.\n"
    "out_positions\n"
    "    [num_sequences, num_drafts + 1] Positions where the emitted tokens were decided, 0 first, then\n"
    "    -1: the KV cache rows to keep. kv_indices, of the same shape, has a number per position (packed\n"
    "    batches too); out_kv_indices has those of out_positions. None: not wanted.";

const char sampler_residual_doc[] =
    "residual($self, target, draft=None, *, stream=None, workspace=None, workspace_bytes=None, draft_token_ids=None, token_id_type=None, output_dtype=None, output=None, output_stride=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Writes the distribution after a rejection in sampler_verify: max(p - q, 0) of each row,\n"
    "renormalised, or p where that is 0 everywhere.\n"
    "\n"
    "target\n"
    "    [num_rows, num_cols] The target's probabilities, p. Used as given, so they should sum to 1. Not\n"
    "    candidate lists.\n"
    "draft\n"
    "    [num_rows, num_cols] The draft probabilities, q, of the same shape, used as given. All 0: a\n"
    "    deterministic drafter, with its proposals in draft_token_ids.\n"
    "stream\n"
    "    Stream of the work. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "    alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "    thread, or one stream. Its contents are undefined before and after a call.\n"
    "draft_token_ids\n"
    "    [num_rows] The tokens of a deterministic drafter, of type token_id_type: q is 1 for them. An id\n"
    "    outside [0, num_cols) leaves p as the residual, and sets a status. Required if draft is all 0,\n"
    "    else None.\n"
    "output_dtype\n"
    "    SAMPLER_F32, or target.dtype.\n"
    "output\n"
    "    [num_rows, num_cols] Probabilities, which sum to 1 up to rounding, exactly 0 where nothing is\n"
    "    left; 0 throughout a bad row. Rows start output_stride elements apart, at least num_cols; 0:\n"
    "    num_cols. Required.\n"
    "out_row_status\n"
    "    [num_rows] None: not wanted. A row of p or q with a negative, NaN or infinite element is bad;\n"
    "    an all-zero p is empty. An all-zero q subtracts nothing.";

const char sampler_unmask_doc[] =
    "unmask($self, candidate_token_ids, scores=None, *, stream=None, workspace=None, workspace_bytes=None, num_rows=None, block_offsets=None, num_blocks=None, token_id_type=None, params=None, candidate_status=None, score_stride=None, token_ids=None, slots=None, num_slots=None, seed=None, offset=None, seeds=None, offsets=None, streams=None, num_seeds=None, num_offsets=None, block_num_committed=None, block_num_steps_left=None, out_changes=None, out_confidences=None, out_committed_counts=None, out_edited_counts=None, out_masked_counts=None, out_block_status=None)\n"
    "--\n"
    "\n"
    "Commits the candidates that each block's rules let stand: at least the number asked for, and all\n"
    "that the threshold or the entropy bound lets through. INVALID_ARGUMENT, WORKSPACE_TOO_SMALL,\n"
    "CUDA, INTERNAL. A block with masked rows may commit none, if no candidate can stand, or neither\n"
    "number nor bound is set.\n"
    "\n"
    "candidate_token_ids\n"
    "    [num_rows] A candidate for each row. A negative one never stands. Required.\n"
    "scores\n"
    "    [num_rows, score_stride] The first score of each row is read, with MARGIN the first two.\n"
    "    Required, or None, as params->confidence says.\n"
    "stream\n"
    "    Stream of the work. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "    alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "    thread, or one stream. Its contents are undefined before and after a call.\n"
    "num_rows\n"
    "    Positions of all blocks, in [0, 2^31).\n"
    "block_offsets\n"
    "    [num_blocks + 1] Block b has the rows [block_offsets[b], block_offsets[b + 1]), which may be\n"
    "    none. Offsets ascend, in [0, num_rows]; where any does not, all blocks are bad (INVALID_INDEX)\n"
    "    and no row is written. Rows of no block are neither read nor written. None: blocks of\n"
    "    num_rows / num_blocks rows, without a rest.\n"
    "num_blocks\n"
    "    In [0, 65536].\n"
    "token_id_type\n"
    "    Type of candidate_token_ids and token_ids.\n"
    "params\n"
    "    None: all 0.\n"
    "candidate_status\n"
    "    [num_rows] SAMPLER_ROW_ bits. The candidate of a bad row never stands, nor that of a row with a\n"
    "    NaN score. None: no other row is bad. Give it where a bad row has a fallback token.\n"
    "score_stride\n"
    "    In elements. 0: 1, with MARGIN 2.\n"
    "token_ids\n"
    "    [num_rows] The positions' tokens, read and written. None: all rows are masked,\n"
    "    params->mask_token_id must be 0, and edit_threshold off.\n"
    "slots\n"
    "    [num_rows] As in sampler_sample_args, for RANDOM and order_temperature; the candidate of a row\n"
    "    with an invalid slot does not stand then. Random numbers follow from the slot and the row's\n"
    "    place in its block: rows of a block may share a slot, blocks should not.\n"
    "seeds\n"
    "    [num_seeds], [num_offsets] Each count is 1 (one for all) or the number of slots. None and 0:\n"
    "    `seed`, `offset`.\n"
    "streams\n"
    "    [slots] Stream of each slot, such as a request id where all share a seed. None: the slot's\n"
    "    number with a shared seed, so that slots draw independently; 0 with a seed per slot, so that a\n"
    "    token depends on its seed and offset alone, not on its place.\n"
    "block_num_committed\n"
    "    [num_blocks] num_committed and num_steps_left of each block. In host memory with the\n"
    "    handle's host_parameters. None: those of `params`.\n"
    "out_changes\n"
    "    [num_rows] What happened to each row: a SAMPLER_UNMASK_ constant. None: not wanted.\n"
    "out_confidences\n"
    "    [num_rows] The confidences; NaN where there is none. None: not wanted.\n"
    "out_committed_counts\n"
    "    [num_blocks] Rows committed, rows edited, and rows that are masked still: 0 when the block is\n"
    "    done. A bad block has 0, 0 and -1. None: not wanted.\n"
    "out_block_status\n"
    "    [num_blocks] SAMPLER_ROW_ bits of each block. None: not wanted.";

const char sampler_sample_workspace_size_doc[] =
    "sample_workspace_size($self, input, *, row_indices=None, num_row_indices=None, slots=None, num_slots=None, params=None, row_params=None, pipeline=None, seed=None, offset=None, seeds=None, offsets=None, streams=None, num_seeds=None, num_offsets=None, draw_method=None, token_id_type=None, out_token_ids=None, out_row_status=None, reports=None)\n"
    "--\n"
    "\n"
    "How many bytes of workspace `sample` needs with these arguments. No array is read or written.";

const char sampler_score_workspace_size_doc[] =
    "score_workspace_size($self, input, token_ids, *, row_indices=None, num_row_indices=None, slots=None, num_slots=None, params=None, row_params=None, pipeline=None, seed=None, offset=None, seeds=None, offsets=None, streams=None, num_seeds=None, num_offsets=None, token_id_type=None, kept=None, out_row_status=None, reports=None)\n"
    "--\n"
    "\n"
    "How many bytes of workspace `score` needs with these arguments. No array is read or written.";

const char sampler_filter_workspace_size_doc[] =
    "filter_workspace_size($self, input, *, slots=None, num_slots=None, params=None, row_params=None, output_kind=None, output_dtype=None, output=None, output_stride=None, out_kept_counts=None, out_row_status=None, pipeline=None)\n"
    "--\n"
    "\n"
    "How many bytes of workspace `filter` needs with these arguments. No array is read or written.";

const char sampler_select_workspace_size_doc[] =
    "select_workspace_size($self, input, num_selected, *, selected_counts=None, output_dtype=None, token_id_type=None, out_values=None, out_token_ids=None, out_counts=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "How many bytes of workspace `select` needs with these arguments. No array is read or written.";

const char sampler_verify_workspace_size_doc[] =
    "verify_workspace_size($self, target, draft=None, draft_token_ids=None, *, num_drafts=None, draft_counts=None, layout=None, slots=None, num_slots=None, params=None, row_params=None, draft_params=None, draft_row_params=None, pipeline=None, forced_token_ids=None, seed=None, offset=None, seeds=None, offsets=None, streams=None, num_seeds=None, num_offsets=None, acceptance=None, acceptances=None, token_id_type=None, accumulate_counts=None, out_token_ids=None, out_accepted_counts=None, out_emitted_counts=None, out_row_status=None, reports=None, out_positions=None, kv_indices=None, out_kv_indices=None)\n"
    "--\n"
    "\n"
    "How many bytes of workspace `verify` needs with these arguments. No array is read or written.";

const char sampler_residual_workspace_size_doc[] =
    "residual_workspace_size($self, target, draft=None, *, draft_token_ids=None, token_id_type=None, output_dtype=None, output=None, output_stride=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "How many bytes of workspace `residual` needs with these arguments. No array is read or written.";

const char sampler_unmask_workspace_size_doc[] =
    "unmask_workspace_size($self, candidate_token_ids, scores=None, *, num_rows=None, block_offsets=None, num_blocks=None, token_id_type=None, params=None, candidate_status=None, score_stride=None, token_ids=None, slots=None, num_slots=None, seed=None, offset=None, seeds=None, offsets=None, streams=None, num_seeds=None, num_offsets=None, block_num_committed=None, block_num_steps_left=None, out_changes=None, out_confidences=None, out_committed_counts=None, out_edited_counts=None, out_masked_counts=None, out_block_status=None)\n"
    "--\n"
    "\n"
    "How many bytes of workspace `unmask` needs with these arguments. No array is read or written.";

const char state_append_doc[] =
    "append($self, *, stream=None, workspace=None, workspace_bytes=None, slots=None, num_rows=None, tokens=None, token_id_type=None, token_kind=None, out_lengths=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Appends a prompt, or text not drawn here. Adaptive values do not change.\n"
    "\n"
    "stream\n"
    "    Stream of the work. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "    alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "    thread, or one stream. Its contents are undefined before and after a call.\n"
    "tokens\n"
    "    A list per row: tokens.num_lists is num_rows. All of a row's tokens are appended, or none: its\n"
    "    offsets must be valid (INVALID_LIST), the tokens fit (STATE_FULL), and the ids lie in\n"
    "    [0, 2^31) (INVALID_LIST).\n"
    "token_kind\n"
    "    Prompt tokens after an output token make the row bad (INVALID_LIST).\n"
    "out_lengths\n"
    "    [num_rows] Tokens in each slot afterwards; -1 for a bad slot. None: not wanted.";

const char state_accept_doc[] =
    "accept($self, *, stream=None, workspace=None, workspace_bytes=None, slots=None, num_rows=None, token_ids=None, num_tokens=None, token_id_type=None, observations=None, params=None, row_params=None, offsets=None, out_lengths=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Accepts drawn tokens: they enter history and counts, and each updates the adaptive values, by\n"
    "section 14.2 of docs/contract.md.\n"
    "\n"
    "stream\n"
    "    Stream of the work. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "    alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "    thread, or one stream. Its contents are undefined before and after a call.\n"
    "token_ids\n"
    "    [num_rows, num_tokens] out_token_ids of the draw (num_tokens 1) or of verification. A row ends\n"
    "    at its first negative id; with a negative first id nothing happens. All of a row's tokens are\n"
    "    accepted, or none: they must fit (STATE_FULL), their ids be below 2^31 (INVALID_LIST), and the\n"
    "    slot's adaptive parameters valid (INVALID_PARAMETER), as reported in out_row_status. num_tokens\n"
    "    in [1, 2^20].\n"
    "observations\n"
    "    [num_rows, num_tokens] out_observations of the call that drew the tokens. A NaN updates neither\n"
    "    mirostat nor adaptive-p. None: all are NaN.\n"
    "params\n"
    "    Those of that call: only the adaptive stage, top_p and its decay are read. Arrays by slot are\n"
    "    indexed by this call's slots and have an entry per slot of the state. Both None: adaptive\n"
    "    values do not change.\n"
    "offsets\n"
    "    [slots of the state] In and out: each grows by the number of tokens its slot accepted. May be\n"
    "    the draw's sampler_random.offsets, so that a loop of draw and accept needs no host. None: the\n"
    "    caller updates offsets.\n"
    "out_lengths\n"
    "    [num_rows] As in sampler_state_append_args.";

const char state_truncate_doc[] =
    "truncate($self, *, stream=None, workspace=None, workspace_bytes=None, slots=None, num_rows=None, lengths=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Removes the tokens after the first `lengths`, as if never appended: the slot's bytes are\n"
    "restored. Prompts may be cut, too.\n"
    "\n"
    "stream\n"
    "    Stream of the work. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "    alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "    thread, or one stream. Its contents are undefined before and after a call.\n"
    "lengths\n"
    "    [num_rows] Tokens to keep. More than there are: all; negative: none. Required.";

const char state_copy_doc[] =
    "copy($self, *, stream=None, workspace=None, workspace_bytes=None, source_slots=None, destination_slots=None, num_rows=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Copies sequences: beams, several continuations of a prompt, a larger state. Adaptive values of\n"
    "earlier tokens are copied if both states keep them; if only the destination does, they are the\n"
    "source's current ones.\n"
    "\n"
    "stream\n"
    "    Stream of the work. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "    alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "    thread, or one stream. Its contents are undefined before and after a call.\n"
    "source_slots\n"
    "    [num_rows] Both required. A source may serve many rows. Within one state no destination may be\n"
    "    a source of another row.\n"
    "out_row_status\n"
    "    STATE_FULL: the source's tokens do not fit in the destination, which is unchanged.";

const char state_reset_doc[] =
    "reset($self, *, stream=None, workspace=None, workspace_bytes=None, slots=None, num_rows=None, adaptive_values=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Empties slots for new sequences.\n"
    "\n"
    "stream\n"
    "    Stream of the work. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "    alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "    thread, or one stream. Its contents are undefined before and after a call.\n"
    "slots\n"
    "    None and num_rows 0: every slot, and no array is read or written.\n"
    "adaptive_values\n"
    "    [num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] Initial values; NaN is the start of its stage, infinity\n"
    "    makes the row bad (INVALID_PARAMETER). None: all start.";

const char state_read_doc[] =
    "read($self, *, stream=None, workspace=None, workspace_bytes=None, slots=None, num_rows=None, out_token_ids=None, num_tokens=None, token_id_type=None, out_lengths=None, out_prompt_lengths=None, out_adaptive_values=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Reads the contents of slots. None outputs are not written.\n"
    "\n"
    "stream\n"
    "    Stream of the work. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, at least as many bytes as its _workspace_size function returns; any\n"
    "    alignment. None and 0: the handle's. Calls that share a workspace must not overlap in time: one\n"
    "    thread, or one stream. Its contents are undefined before and after a call.\n"
    "out_token_ids\n"
    "    [num_rows, num_tokens] The first tokens of each slot, then -1. num_tokens in [0, 2^31).\n"
    "out_lengths\n"
    "    [num_rows] each; -1 for a bad slot.\n"
    "out_adaptive_values\n"
    "    [num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] NaN for a stage not yet started.";

const char sampler_state_size_doc[] =
    "state_size($self, *, num_slots=None, max_tokens=None, max_distinct_tokens=None, keep_adaptive_values=None)\n"
    "--\n"
    "\n"
    "Bytes of memory of such a state, device memory included.\n"
    "Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (an impossible size).\n"
    "\n"
    "num_slots\n"
    "    In [1, 2^31).\n"
    "max_tokens\n"
    "    The longest sequence, its prompt included. In [1, 2^31).\n"
    "max_distinct_tokens\n"
    "    Distinct tokens per slot with counts, 20 bytes each, in [0, max_tokens]; 0: a quarter of\n"
    "    max_tokens, at least 64, at most max_tokens. A sequence with more is recounted in each draw:\n"
    "    same results, but slower.\n"
    "keep_adaptive_values\n"
    "    1: keeps the adaptive values after each token, 16 bytes each, and truncating restores them. 0:\n"
    "    truncating leaves them.";

const char sampler_session_size_doc[] =
    "session_size($self, *, max_sequences=None, max_context=None, vocabulary_size=None, logits_dtype=None, keep_drafter_rows=None, max_drafts=None, drafter_context=None, lookup_tokens=None, max_end_tokens=None, max_stop_sequences=None, max_stop_tokens=None, max_top_logprobs=None, params=None, pipeline=None, acceptance=None, has_draft_trees=None, has_adaptive_gamma=None, clock=None, clock_user=None, stream=None, filler_top_k=None, has_blocks=None, confidence_kind=None)\n"
    "--\n"
    "\n"
    "Bytes of memory of such a session, device memory included. Errors:\n"
    "INVALID_ARGUMENT, OUT_OF_MEMORY.\n"
    "\n"
    "max_sequences\n"
    "    Maximum sequences, including finished ones not yet removed. In [1, 2^20].\n"
    "max_context\n"
    "    Maximum tokens of a text, its prompt included: the capacity of the target's cache. In\n"
    "    [1, 2^31). A sequence takes 13 bytes per token of it, about 900 bytes, and per draft of\n"
    "    max_drafts 30 to 60, and 8 more for each of max_top_logprobs, beside the calls' workspace.\n"
    "vocabulary_size\n"
    "    Columns of the logits, in [1, 2^20), and their type.\n"
    "keep_drafter_rows\n"
    "    1: the session keeps the drafter's rows, max_drafts rows of logits per sequence, which\n"
    "    STANDARD, BLOCK, RELAXED and DEFERRED require for a drafter model's drafts. Default 0.\n"
    "max_drafts\n"
    "    Maximum drafts per sequence and step, in [0, 1024]. Default 0: no drafts.\n"
    "drafter_context\n"
    "    Capacity of the drafter model's cache in tokens; a longer text continues without drafts, as\n"
    "    is_drafting of sampler_session_get reports. In [0, 2^31). 0: max_context.\n"
    "lookup_tokens\n"
    "    Capacity of each sequence's prompt lookup, at 132 bytes per token; a longer text continues\n"
    "    without drafts. In [0, 2^27]. Default 0: SAMPLER_DRAFTS_PROMPT_LOOKUP is unavailable.\n"
    "max_end_tokens\n"
    "    Per sequence: end tokens, stop sequences, and tokens of all its stop sequences.\n"
    "    In [0, 2^20].\n"
    "max_top_logprobs\n"
    "    Maximum num_top_logprobs of sampler_session_advance, in [0, vocabulary_size]. Default 0.\n"
    "params\n"
    "    Parameters common to all sequences: rules for ties, orders, scopes and forms, and the list of\n"
    "    stages. Its numbers are the defaults of sequences added without parameters; guidance_scale must\n"
    "    be off. None: temperature 1 and no filter.\n"
    "pipeline\n"
    "    Lists and masks of the stages, by slot: the sequence's number, of max_sequences. None: none.\n"
    "    The struct is copied; its arrays remain the caller's, and are read in each advance. history,\n"
    "    prompt_lengths, adaptive_values, state and token_bitmask_indices must be 0: the session's texts\n"
    "    are the history. guidance_logits must be None: sampler_session_advance has them. If `stop` is 0\n"
    "    it is the end tokens of each sequence, as min_new_tokens and the exponential decay require.\n"
    "acceptance\n"
    "    Default acceptance rule of sequences, and the rules' parameters; max_drafts is the max drafts\n"
    "    per sequence. Rule 0, and None: SAMPLER_ACCEPT_SAMPLE_MATCH. Copied, with synthetic_rates.\n"
    "has_draft_trees\n"
    "    1: sequences may use draft_top_k. Default 0.\n"
    "has_adaptive_gamma\n"
    "    1: sequences may use adaptive_gamma, which takes a row of f32 and 20 KB. Default 0.\n"
    "clock\n"
    "    For SAMPLER_GAMMA_MEASURED. None: the system's monotonic clock.\n"
    "stream\n"
    "    CUDA: all of the session's work is enqueued on it, and logits are read in its order: wait first\n"
    "    for work on other streams that computes them. It must outlive the session. None: the legacy\n"
    "    default stream. A CPU handle ignores it.\n"
    "filler_top_k\n"
    "    Tokens that the n-grams of sequences with SAMPLER_DRAFTS_NGRAM learn per new position: the\n"
    "    target's filler_top_k likeliest, in [0, 2^20), then the token of the text unless among them.\n"
    "    Takes as many ids per row of logits, max_drafts + 1 rows per sequence. Default 0: only the\n"
    "    token of the text.\n"
    "has_blocks\n"
    "    1: sequences may have `unmask`, with blocks of at most max_drafts + 1 positions, at about 50\n"
    "    bytes per position of each sequence. Default 0.\n"
    "confidence_kind\n"
    "    For blocks: the rows whose log-probabilities and entropies are the confidences.";

const char session_add_doc[] =
    "add($self, token_ids, *, prompt_length=None, cache_length=None, drafter_cache_length=None, params=None, seed=None, max_new_tokens=None, end_token_ids=None, stop_sequences=None, draft_source=None, acceptance=None, ngram=None, num_drafts=None, min_match=None, draft_unknown=None, ngram_has_text=None, ngram_least_count=None, ngram_least_share=None, least_draft_probability=None, draft_top_k=None, adaptive_gamma=None, ema_beta=None, gamma_min=None, resumed=None, unmask=None)\n"
    "--\n"
    "\n"
    "Adds a sequence; *out_sequence is its number. It is finished at once if its last token, when new,\n"
    "ends it, or there is no room for another. With PROMPT_LOOKUP it takes time proportional to\n"
    "lookup_tokens. Errors: INVALID_ARGUMENT (also: the session has max_sequences), CUDA, the status\n"
    "of ngram's initialize.\n"
    "\n"
    "token_ids\n"
    "    The text so far, [num_tokens], in [1, max_context], ids of the vocabulary. The first\n"
    "    prompt_length are the prompt, in [1, num_tokens], the others its new tokens, as for a removed\n"
    "    sequence that resumes; 0: all are the prompt.\n"
    "cache_length\n"
    "    Tokens of these already in the target's and the drafter's caches, in [0, num_tokens - 1] and\n"
    "    [0, num_tokens], and at most drafter_context. A drafter's cache of the whole text is fed its\n"
    "    last token again.\n"
    "params\n"
    "    None: the session's. Rules for ties, orders, scopes, forms and stages must be the session's.\n"
    "max_new_tokens\n"
    "    Maximum new tokens, in [0, 2^31); 0: the rest of max_context.\n"
    "end_token_ids\n"
    "    [num_end_tokens] Tokens that end the text.\n"
    "stop_sequences\n"
    "    Sequences of tokens that end the text when its new tokens end in one; none may be empty.\n"
    "    num_lists of them, in one array of int32_t. All 0: none.\n"
    "acceptance\n"
    "    Acceptance rule, see speculative.h; 0: the session's, by default SAMPLE_MATCH: the target's own\n"
    "    token is drawn at each position, and drafts are kept while they equal it, so that the text is,\n"
    "    token by token, the one without drafts. With other rules tokens depend on the drafts and on\n"
    "    num_drafts, too. A model's drafts have its rows as draft probabilities, others are\n"
    "    deterministic. SYNTHETIC needs the session's synthetic_rates.\n"
    "ngram\n"
    "    The n-grams of NGRAM, else None. Copied. They learn the text now, unless ngram_has_text is 1,\n"
    "    and later each new token. Drafts come from `propose` if it is not None and draft_unknown is 0,\n"
    "    else from next_token. If it fails later, such as for lack of memory, the sequence continues\n"
    "    without drafts.\n"
    "num_drafts\n"
    "    Maximum drafts per step, in [0, max_drafts]; 0: max_drafts.\n"
    "min_match\n"
    "    For PROMPT_LOOKUP: the shortest match, in [0, 2^27]; 0: 1. Drafts are the tokens after the\n"
    "    longest match and, if the text ends before num_drafts, the drafts themselves, as if the text\n"
    "    continued so.\n"
    "draft_unknown\n"
    "    For NGRAM. 1: an unknown context is followed by the n-grams' draft for it. 0: by none.\n"
    "ngram_has_text\n"
    "    1: the n-grams of NGRAM have already learned these tokens, as for a removed sequence, and do\n"
    "    not learn them again. 0: they learn them.\n"
    "ngram_least_count\n"
    "    For NGRAM, without draft_unknown and with an ngram that has `propose`: drafts end before the\n"
    "    first that was counted fewer than ngram_least_count times after its context, or with a share of\n"
    "    all tokens counted there below ngram_least_share, in [0, 1]. 0: off.\n"
    "least_draft_probability\n"
    "    For MODEL, without draft_top_k, in [0, 1]: a draft with less than this probability in the\n"
    "    drafter's row is the last of its step, as in sampler_speculative_args. 0: off.\n"
    "draft_top_k\n"
    "    For MODEL, with the session's has_draft_trees, in [0, num_drafts]. 0: drafts are drawn, one per\n"
    "    position. Else drafts are the drafter's draft_top_k likeliest tokens per position, at most\n"
    "    num_drafts in all: the first of a position is extended, the others are its siblings, and the\n"
    "    target runs them as a tree. Supported by all rules but BLOCK and DEFERRED, and verified as\n"
    "    deterministic drafts; SAMPLE_MATCH accepts more of them than of a chain.\n"
    "adaptive_gamma\n"
    "    How the number of drafts of a step, at most num_drafts, is chosen; needs the\n"
    "    session's has_adaptive_gamma.\n"
    "\n"
    "    BY_ENTROPY, for MODEL without draft_top_k: as in sampler_speculative_args, from gamma_min to\n"
    "    num_drafts, H at the sequence's temperature (1 if greedy) and smoothed by ema_beta over its\n"
    "    own steps.\n"
    "\n"
    "    MEASURED: the number with most tokens per second, from 0 to num_drafts, by the time from plan\n"
    "    to advance, common to all such sequences of the session. Times differ from run to run: with\n"
    "    SAMPLE_MATCH texts do not change, with other rules they follow the same distribution, but the\n"
    "    seed does not fix them. Only rounds of drafts and verification that these sequences begin and\n"
    "    end together, while no other one has a span, are measured; to keep them together, a plan with a\n"
    "    drafter span for one has no target span for those whose drafts are ready. Beside others MODEL\n"
    "    drafts nothing, and the time budget uses earlier measurements. With draft_top_k the number\n"
    "    counts positions.\n"
    "ema_beta\n"
    "    for BY_ENTROPY, in [0, 1)\n"
    "gamma_min\n"
    "    for BY_ENTROPY, in [0, num_drafts]\n"
    "resumed\n"
    "    Result of sampler_session_get for a removed sequence, of this session or another, that resumes\n"
    "    here. Only its adaptive_values and drafter_entropy, without which the next tokens may differ,\n"
    "    and num_steps, num_drafted and num_accepted are read. Adaptive values must not be infinite, the\n"
    "    entropy must be NaN or finite and at least 0, counts in [0, 2^62). Read only during the call.\n"
    "    None: a new sequence.\n"
    "unmask\n"
    "    For a diffusion language model, whose text grows by blocks (unmask.h): the rules by which\n"
    "    candidates stand. Needs the session's has_blocks. block_length is in [1, max_drafts + 1], and\n"
    "    confidence is not GIVEN. Without num_committed, num_steps_left and entropy_bound num_committed\n"
    "    is 1. Copied. None: the text grows by tokens.\n"
    "\n"
    "    A span ends with the block, masked positions included, and has a row for each of its positions\n"
    "    after the text. An advance draws their candidates, of which the rules commit some. The text\n"
    "    grows once no position is masked; with edit_threshold once a later step changes nothing, the\n"
    "    16th at the latest. The last block ends at max_context, or beyond max_new_tokens. Caches hold\n"
    "    whole blocks of the text: each is fed again with the next one. A step that changes nothing\n"
    "    while positions are masked, or only edits after 16 that did, finishes the sequence, BAD_ROW.\n"
    "    The n-th new token, from 0, is drawn with the offset n, in step s of its block, from 0, with\n"
    "    the stream s.\n"
    "\n"
    "    Stages see the text before the block: penalties count it, and bad words and contexts of biases\n"
    "    follow it. Those that need to know what each token follows must be off: DRY, no-repeat n-grams,\n"
    "    min_new_tokens, the exponential decay, mirostat, adaptive-p, top-p decay. draft_source must be\n"
    "    NONE. Log-probabilities are not reported.";

const char session_fork_doc[] =
    "fork($self, source, *, seed=None, params=None)\n"
    "--\n"
    "\n"
    "Adds a copy of a sequence, without the step's drafts: same text, same cache lengths. The caller\n"
    "copies the caches, cut to the lengths from sampler_session_get. Errors: INVALID_ARGUMENT (also:\n"
    "the session has max_sequences), CUDA.\n"
    "\n"
    "source\n"
    "    The sequence to fork, which continues unaffected.\n"
    "seed\n"
    "    None: the source's, so that the fork repeats its text.";

const char session_plan_doc[] =
    "plan($self, *, sequences=None, max_tokens=None)\n"
    "--\n"
    "\n"
    "Plans a step. Planning again before advancing is allowed; a sequence's last plan counts, and\n"
    "spans of earlier ones are refused, even if equal. A draft source that fails ends the drafting of\n"
    "its sequence.\n"
    "Errors: INVALID_ARGUMENT.\n"
    "\n"
    "sequences\n"
    "    [num_sequences] Sequences to plan, distinct, in their order of priority for max_tokens.\n"
    "    Finished ones are skipped. None and 0: all.\n"
    "max_tokens\n"
    "    Maximum tokens in all spans of a model; 0: no limit. Else at least max_drafts + 1. Longer texts\n"
    "    are planned in parts. A sequence that does not fit gets no span; without `sequences` it is\n"
    "    among the first next time.";

const char session_advance_doc[] =
    "advance($self, spans, logits, *, logits_row_stride=None, drafter_spans=None, drafter_logits=None, drafter_row_stride=None, token_bitmask_indices=None, forced_token_ids=None, out_token_ids=None, out_counts=None, out_finish_reasons=None, out_cache_lengths=None, out_drafter_cache_lengths=None, out_accepted_counts=None, out_row_status=None, reports=None, guidance_logits=None, guidance_row_indices=None)\n"
    "--\n"
    "\n"
    "Processes logits: the drafter's become drafts, the target's verify drafts and become tokens. A\n"
    "row without a token (NaN, +inf, all -inf) finishes its sequence, BAD_ROW, with the drafts kept\n"
    "before it (BLOCK and DEFERRED, which judge all drafts of a step together, judge those that end\n"
    "before it, and the sequence continues up to it); a bad row of the drafter only ends the step's\n"
    "drafts. A span that differs from its sequence's last plan, or whose sequence has been removed or\n"
    "planned again since, is INVALID_ARGUMENT. On a CUDA handle each sequence with BY_ENTROPY that\n"
    "begins a step adds a wait.\n"
    "Errors: INVALID_ARGUMENT, CALLBACK (a broken parallel_for), CUDA.\n"
    "\n"
    "spans\n"
    "    [num_spans] Spans that the target ran, whole copies of those planned: any subset, in\n"
    "    any order.\n"
    "logits\n"
    "    Their rows of logits, span after span: [sum of num_logits, vocabulary_size]. The stride is in\n"
    "    elements; 0: vocabulary_size. Not read after the call returns SAMPLER_OK; after CUDA, enqueued\n"
    "    work may still read them.\n"
    "drafter_spans\n"
    "    The same for the drafter.\n"
    "token_bitmask_indices\n"
    "    [rows of logits] With masks in the session's pipeline: the mask of each target row, which\n"
    "    follows the text and the drafts before it; negative: none. Else None.\n"
    "forced_token_ids\n"
    "    [rows of logits] The token that is decided at each target row whatever its logits, below\n"
    "    vocabulary_size, as where a thinking budget runs out among the drafts: a draft that is this\n"
    "    token is kept, any other ends the drafts. Negative: none, as rows of blocks must be. In host\n"
    "    memory. None: none.\n"
    "out_token_ids\n"
    "    Outputs per target span, [num_spans, ...]; all but out_token_ids and out_counts may be None,\n"
    "    and with no spans those, too.\n"
    "\n"
    "    [num_spans, max_drafts + 1] New tokens, then -1; and their number, 0 for a span without logits\n"
    "    or whose block is not complete.\n"
    "out_finish_reasons\n"
    "    Not NONE: the sequence has finished, and is not planned any more.\n"
    "out_cache_lengths\n"
    "    Lengths to cut the caches to. Rejected drafts are cut.\n"
    "out_accepted_counts\n"
    "    Drafts that became text.\n"
    "out_row_status\n"
    "    Cause of BAD_ROW; else 0.\n"
    "reports\n"
    "    Log-probabilities of the new tokens, padded with NaN, and of the first num_top_logprobs tokens\n"
    "    in rank order, padded with -1 and NaN: logprob_kind, out_logprobs, num_top_logprobs in\n"
    "    [0, max_top_logprobs], out_top_token_ids of int32_t and out_top_logprobs. Other members of\n"
    "    sampler_report_args must be 0. In host memory. None: none.\n"
    "guidance_logits\n"
    "    Classifier-free guidance: [num_guidance_rows, vocabulary_size] rows as in sampler_pipeline,\n"
    "    with the stride of `logits`, from a cache with another prompt, to which the caller feeds each\n"
    "    span's new tokens and drafts. Required where a sequence with rows has guidance_scale on; may be\n"
    "    None and 0 elsewhere.\n"
    "guidance_row_indices\n"
    "    [rows of logits] The guidance row of each target row; negative: none. In host memory. None: the\n"
    "    row of the same number.";
