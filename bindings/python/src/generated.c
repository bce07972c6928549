/* Made from libsampler's headers by bindings/python/generate.py; do not edit. */
#include "generated.h"

#pragma GCC diagnostic ignored "-Woverlength-strings"

const Member rows_members[] = {
  {"values", "values", offsetof(sampler_rows, values),
   KIND_OBJECT, ELEMENT_FLOATS, 0, 0, -1, 0,
    "[num_rows, num_cols] Elements of type `dtype`. Required, unless there are no rows."},
  {"num_rows", "num_rows", offsetof(sampler_rows, num_rows),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Rows, in [0, 2^31). With 0 a call does nothing."},
  {"num_cols", "num_cols", offsetof(sampler_rows, num_cols),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Columns: the vocabulary, or the room for candidates. In [1, 2^20)."},
  {"row_stride", "row_stride", offsetof(sampler_rows, row_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Distance of two rows in elements, at least num_cols. 0: num_cols."},
  {"candidate_ids", "candidate_ids", offsetof(sampler_rows, candidate_ids),
   KIND_OBJECT, ELEMENT_IDS, 0, 1, -1, 0,
    "Candidate lists, for engines that hold (id, logit) pairs rather than whole rows.\n"
    "[num_rows, num_cols], laid out like `values`: the token id of each element, in [0, 2^20), in\n"
    "any order, none twice in a row. A list of all ids gives the same token as the row. None: the id\n"
    "of an element is its column."},
  {"candidate_counts", "candidate_counts", offsetof(sampler_rows, candidate_counts),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    "[num_rows] How many elements each row has, in [0, num_cols]; those that follow are not read.\n"
    "With candidate_ids it is the length of each list, without them of each row. None: num_cols."},
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
    "Rows of logits or probabilities, each row_stride elements after the one before. Never written."};

const Member token_lists_members[] = {
  {"offsets", "offsets", offsetof(sampler_token_lists, offsets),
   KIND_OBJECT, ELEMENT_I64, 0, 0, -1, 0,
    "[num_lists + 1] Ascending."},
  {"token_ids", "token_ids", offsetof(sampler_token_lists, token_ids),
   KIND_OBJECT, ELEMENT_IDS, 0, 1, -1, 0,
    "[num_token_ids] Of the pipeline's id_type. May be None where there are none."},
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
    "Lists of token ids, one after the other in one array: list i has token_ids[offsets[i]] to\n"
    "token_ids[offsets[i + 1] - 1]. A view, passed by value. All 0: there are none.\n"
    "\n"
    "Where lists are by slot, num_lists is the number of slots, or 1: one list for all. Rows whose\n"
    "offsets fall, or lie outside [0, num_token_ids], are bad (INVALID_LIST)."};

const Member params_members[] = {
  {"temperature", "temperature", offsetof(sampler_params, temperature),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Logits are divided by the temperature. At most 1e-5 (0 and negative ones too): greedy, the\n"
    "first token in rank order whatever the filters say. At most 2^64. Probabilities are taken as\n"
    "they are: there it must be 1, or at most 1e-5. Not NaN. Default 1."},
  {"top_p", "top_p", offsetof(sampler_params, top_p),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Keeps the shortest prefix of rank order whose probability, relative to what the filter sees,\n"
    "is at least top_p, or above it by top_p_sum (nucleus sampling, Holtzman et al. 2020).\n"
    ">= 1: off; <= 0: one token. Not NaN. Default 1."},
  {"min_p", "min_p", offsetof(sampler_params, min_p),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Keeps the tokens at least min_p times as likely as the likeliest one (Nguyen et al. 2024).\n"
    "<= 0: off; above 1: 1. Not NaN. Default 0."},
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
  {"repetition_penalty", "repetition_penalty", offsetof(sampler_params, repetition_penalty),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Edits: see pipeline.h. All are off by default. Floats are finite.\n"
    "\n"
    "Of tokens that occur in the history: positive logits are divided by repetition_penalty and\n"
    "others multiplied with it (Keskar et al. 2019; 0 and 1: off; not negative); frequency_penalty\n"
    "is subtracted for each occurrence, presence_penalty once."},
  {"frequency_penalty", "frequency_penalty", offsetof(sampler_params, frequency_penalty),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"presence_penalty", "presence_penalty", offsetof(sampler_params, presence_penalty),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"penalty_window", "penalty_window", offsetof(sampler_params, penalty_window),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Of the history the last so many tokens count. <= 0: all."},
  {"penalty_scope", "penalty_scope", offsetof(sampler_params, penalty_scope),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"penalty_form", "penalty_form", offsetof(sampler_params, penalty_form),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"dry_multiplier", "dry_multiplier", offsetof(sampler_params, dry_multiplier),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "DRY (p-e-w, text-generation-webui, 2024): a token that would continue a repeat of n tokens\n"
    "loses dry_multiplier * dry_base^(n - dry_allowed_length), from the allowed length on.\n"
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
    "repeats are sought in the last so many tokens; <= 0: in all"},
  {"no_repeat_ngram_size", "no_repeat_ngram_size", offsetof(sampler_params, no_repeat_ngram_size),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Tokens that would complete an n-gram of the history are banned. <= 0: off."},
  {"min_new_tokens", "min_new_tokens", offsetof(sampler_params, min_new_tokens),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "pipeline.stop is banned before the output has so many tokens. <= 0: no minimum."},
  {"bad_word_scope", "bad_word_scope", offsetof(sampler_params, bad_word_scope),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "What bad words are looked for in. OUTPUT: the output (vLLM); the others: all."},
  {"dynamic_temperature_range", "dynamic_temperature_range", offsetof(sampler_params, dynamic_temperature_range),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Windows: see pipeline.h. All are off by default, and none is NaN.\n"
    "\n"
    "Dynamic temperature: T follows the entropy of what it sees, from max(0, T - range) to T +\n"
    "range, by the power `exponent` of its share of the largest (kalomaze 2023). Logits only.\n"
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
    "(Tang et al. 2024), of the population. <= 0: off"},
  {"epsilon_cutoff", "epsilon_cutoff", offsetof(sampler_params, epsilon_cutoff),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "(Hewitt et al. 2022). <= 0, >= 1: off"},
  {"eta_cutoff", "eta_cutoff", offsetof(sampler_params, eta_cutoff),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "(the same). <= 0, >= 1: off"},
  {"top_h", "top_h", offsetof(sampler_params, top_h),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "(Potraghloo et al. 2025). <= 0, >= 1: off"},
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
    "No window, top-k, top-p and min-p among them, keeps fewer tokens, where there are so many.\n"
    "\n"
    "<= 1: one"},
  {"stages", "stages", offsetof(sampler_params, stages),
   KIND_I32S, ELEMENT_NONE, 0, -1, -1, SAMPLER_MAX_STAGES,
    "The order of all stages; 0 ends it. Edits come first, ADAPTIVE comes last. A stage that is on\n"
    "must be listed, none twice. filter_order must be SEQUENTIAL, whatever it means without a list,\n"
    "or JOINT: then the listed ones of top-k, top-p and min-p stand side by side. temperature_order\n"
    "must be FIRST. All 0: the order of sampler_stage, in which filter_order and temperature_order\n"
    "have their meaning."},
  {"adaptive_kind", "adaptive_kind", offsetof(sampler_params, adaptive_kind),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Adaptive stages: see pipeline.h. All are off by default. They change nothing in a greedy row.\n"
    "What is drawn moves them on: see pipeline.adaptive_values and sampler_accept.\n"
    "\n"
    "NONE: off. The target is mirostat's surprise in bits (0: 5; not negative), or adaptive-p's\n"
    "probability (negative: off; above 1: 1). The rate is mirostat's learning rate (0: 0.1), or\n"
    "adaptive-p's decay (0: 0.9; above 0.99: 0.99); a negative one is 0. Both are finite, and mean\n"
    "nothing with NONE."},
  {"adaptive_target", "adaptive_target", offsetof(sampler_params, adaptive_target),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"adaptive_rate", "adaptive_rate", offsetof(sampler_params, adaptive_rate),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"top_p_decay", "top_p_decay", offsetof(sampler_params, top_p_decay),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "After each token the running top_p, which begins as top_p, is multiplied by the factor, and\n"
    "does not fall below the least value.\n"
    "\n"
    "the factor. <= 0, >= 1: off. Not NaN"},
  {"top_p_least", "top_p_least", offsetof(sampler_params, top_p_least),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "finite"},
  {"top_p_sum", "top_p_sum", offsetof(sampler_params, top_p_sum),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Sums and ties. All default to 0, the first constant of their enumeration.\n"
    "\n"
    "Whether what top-p and typical-p keep must reach their share or exceed it."},
  {"typical_p_sum", "typical_p_sum", offsetof(sampler_params, typical_p_sum),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"cutoff_ties", "cutoff_ties", offsetof(sampler_params, cutoff_ties),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Ties of epsilon and eta: with KEEP, all tokens stay that equal the last one of those that\n"
    "min_keep asks for, so all of the likeliest where no token reaches the threshold."},
};

static const Default params_defaults[] = {{params__temperature, 1.0f}, {params__top_p, 1.0f}};

static PyObject *params_names[41];
static PyTypeObject *params_result_type;
const Struct params_struct = {
  "Params", params_members, 41, 0, sizeof(sampler_params), 1,
  params_defaults, 2, NULL,
  params_names, &params_result_type,
    "The temperature, the filters, how they combine, and the numbers of the edits before them."};

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
  {"repetition_penalty", "repetition_penalty", offsetof(sampler_row_params, repetition_penalty),
   KIND_OBJECT, ELEMENT_F32, 0, 4, -1, 0,
    ""},
  {"frequency_penalty", "frequency_penalty", offsetof(sampler_row_params, frequency_penalty),
   KIND_OBJECT, ELEMENT_F32, 0, 5, -1, 0,
    ""},
  {"presence_penalty", "presence_penalty", offsetof(sampler_row_params, presence_penalty),
   KIND_OBJECT, ELEMENT_F32, 0, 6, -1, 0,
    ""},
  {"penalty_window", "penalty_window", offsetof(sampler_row_params, penalty_window),
   KIND_OBJECT, ELEMENT_I32, 0, 7, -1, 0,
    ""},
  {"dry_multiplier", "dry_multiplier", offsetof(sampler_row_params, dry_multiplier),
   KIND_OBJECT, ELEMENT_F32, 0, 8, -1, 0,
    ""},
  {"dry_base", "dry_base", offsetof(sampler_row_params, dry_base),
   KIND_OBJECT, ELEMENT_F32, 0, 9, -1, 0,
    ""},
  {"dry_allowed_length", "dry_allowed_length", offsetof(sampler_row_params, dry_allowed_length),
   KIND_OBJECT, ELEMENT_I32, 0, 10, -1, 0,
    ""},
  {"dry_window", "dry_window", offsetof(sampler_row_params, dry_window),
   KIND_OBJECT, ELEMENT_I32, 0, 11, -1, 0,
    ""},
  {"no_repeat_ngram_size", "no_repeat_ngram_size", offsetof(sampler_row_params, no_repeat_ngram_size),
   KIND_OBJECT, ELEMENT_I32, 0, 12, -1, 0,
    ""},
  {"min_new_tokens", "min_new_tokens", offsetof(sampler_row_params, min_new_tokens),
   KIND_OBJECT, ELEMENT_I32, 0, 13, -1, 0,
    ""},
  {"dynamic_temperature_range", "dynamic_temperature_range", offsetof(sampler_row_params, dynamic_temperature_range),
   KIND_OBJECT, ELEMENT_F32, 0, 14, -1, 0,
    ""},
  {"dynamic_temperature_exponent", "dynamic_temperature_exponent", offsetof(sampler_row_params, dynamic_temperature_exponent),
   KIND_OBJECT, ELEMENT_F32, 0, 15, -1, 0,
    ""},
  {"typical_p", "typical_p", offsetof(sampler_row_params, typical_p),
   KIND_OBJECT, ELEMENT_F32, 0, 16, -1, 0,
    ""},
  {"top_n_sigma", "top_n_sigma", offsetof(sampler_row_params, top_n_sigma),
   KIND_OBJECT, ELEMENT_F32, 0, 17, -1, 0,
    ""},
  {"epsilon_cutoff", "epsilon_cutoff", offsetof(sampler_row_params, epsilon_cutoff),
   KIND_OBJECT, ELEMENT_F32, 0, 18, -1, 0,
    ""},
  {"eta_cutoff", "eta_cutoff", offsetof(sampler_row_params, eta_cutoff),
   KIND_OBJECT, ELEMENT_F32, 0, 19, -1, 0,
    ""},
  {"top_h", "top_h", offsetof(sampler_row_params, top_h),
   KIND_OBJECT, ELEMENT_F32, 0, 20, -1, 0,
    ""},
  {"xtc_probability", "xtc_probability", offsetof(sampler_row_params, xtc_probability),
   KIND_OBJECT, ELEMENT_F32, 0, 21, -1, 0,
    ""},
  {"xtc_threshold", "xtc_threshold", offsetof(sampler_row_params, xtc_threshold),
   KIND_OBJECT, ELEMENT_F32, 0, 22, -1, 0,
    ""},
  {"min_keep", "min_keep", offsetof(sampler_row_params, min_keep),
   KIND_OBJECT, ELEMENT_I32, 0, 23, -1, 0,
    ""},
  {"forced_token_id", "forced_token_id", offsetof(sampler_row_params, forced_token_id),
   KIND_OBJECT, ELEMENT_I64, 0, 24, -1, 0,
    "The token that the slot yields whatever the rest says: the end of a thinking budget, a trace\n"
    "that is replayed. Negative: none. One that is no element of the row makes it bad\n"
    "(INVALID_PARAMETER). sampler_sample only."},
  {"adaptive_kind", "adaptive_kind", offsetof(sampler_row_params, adaptive_kind),
   KIND_OBJECT, ELEMENT_I32, 0, 25, -1, 0,
    "one that is no such constant: the row is bad"},
  {"adaptive_target", "adaptive_target", offsetof(sampler_row_params, adaptive_target),
   KIND_OBJECT, ELEMENT_F32, 0, 26, -1, 0,
    ""},
  {"adaptive_rate", "adaptive_rate", offsetof(sampler_row_params, adaptive_rate),
   KIND_OBJECT, ELEMENT_F32, 0, 27, -1, 0,
    ""},
  {"top_p_decay", "top_p_decay", offsetof(sampler_row_params, top_p_decay),
   KIND_OBJECT, ELEMENT_F32, 0, 28, -1, 0,
    ""},
  {"top_p_least", "top_p_least", offsetof(sampler_row_params, top_p_least),
   KIND_OBJECT, ELEMENT_F32, 0, 29, -1, 0,
    ""},
  {"top_p_reset_token_id", "top_p_reset_token_id", offsetof(sampler_row_params, top_p_reset_token_id),
   KIND_OBJECT, ELEMENT_I64, 0, 30, -1, 0,
    "The token after which the running top_p is top_p again. Negative: none. None: none."},
};

static PyObject *row_params_names[31];
static PyTypeObject *row_params_result_type;
const Struct row_params_struct = {
  "RowParams", row_params_members, 31, 31, sizeof(sampler_row_params), 1,
  NULL, 0, NULL,
  row_params_names, &row_params_result_type,
    "The same by slot: [number of slots] each, in the handle's memory, or host memory with the\n"
    "handle's host_parameters. None: the scalar of that name for all. Every value has the scalar's\n"
    "meaning. One that is NaN, or a temperature that probabilities cannot have, makes its rows bad."};

const Member pipeline_members[] = {
  {"token_id_type", "token_id_type", offsetof(sampler_pipeline, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Of every token id in this struct."},
  {"token_bitmask_rule", "token_bitmask_rule", offsetof(sampler_pipeline, token_bitmask_rule),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"history", "history", offsetof(sampler_pipeline, history),
   KIND_OBJECT, ELEMENT_NONE, 0, 0, -1, 0,
    "By slot: the tokens so far, the oldest first; the prompt, then the output. Penalties, DRY,\n"
    "n-grams, bad words and min_new_tokens need it."},
  {"prompt_lengths", "prompt_lengths", offsetof(sampler_pipeline, prompt_lengths),
   KIND_OBJECT, ELEMENT_I32, 0, 1, -1, 0,
    "[slots] How many tokens of each history are the prompt, in [0, its length]; others make the row\n"
    "bad (INVALID_LIST). None: 0, all is output."},
  {"max_history_tokens", "max_history_tokens", offsetof(sampler_pipeline, max_history_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "No history is longer; rows of a longer one are bad (INVALID_LIST). DRY and n-grams take 4 bytes\n"
    "of workspace for each token of it. In [0, 2^31). 0: history.num_token_ids, or the state's\n"
    "max_tokens."},
  {"biased", "biased", offsetof(sampler_pipeline, biased),
   KIND_OBJECT, ELEMENT_NONE, 0, 2, -1, 0,
    "By slot: what is added to the logits of these tokens."},
  {"biases", "biases", offsetof(sampler_pipeline, biases),
   KIND_OBJECT, ELEMENT_F32, 0, 3, -1, 0,
    "[biased.num_token_ids] Finite or -inf; a row that has another is bad (INVALID_PARAMETER). Of an\n"
    "id that a list has twice both are added, in the order of the list."},
  {"dense_bias", "dense_bias", offsetof(sampler_pipeline, dense_bias),
   KIND_OBJECT, ELEMENT_F32, 0, 4, -1, 0,
    "[num_dense_biases, dense_bias_stride] Added by id: one row for all slots, or one each. Ids from\n"
    "dense_bias_stride on get none. The stride 0 is num_cols; with candidate_ids it must be given."},
  {"num_dense_biases", "num_dense_biases", offsetof(sampler_pipeline, num_dense_biases),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"dense_bias_stride", "dense_bias_stride", offsetof(sampler_pipeline, dense_bias_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"allowed", "allowed", offsetof(sampler_pipeline, allowed),
   KIND_OBJECT, ELEMENT_NONE, 0, 5, -1, 0,
    "By slot: the only tokens that may be drawn, where a slot's list has any. Ids may come twice."},
  {"banned", "banned", offsetof(sampler_pipeline, banned),
   KIND_OBJECT, ELEMENT_NONE, 0, 6, -1, 0,
    "By slot: tokens that must not be drawn."},
  {"stop", "stop", offsetof(sampler_pipeline, stop),
   KIND_OBJECT, ELEMENT_NONE, 0, 7, -1, 0,
    "By slot: tokens that must not be drawn before the output has min_new_tokens tokens."},
  {"bad_words", "bad_words", offsetof(sampler_pipeline, bad_words),
   KIND_OBJECT, ELEMENT_NONE, 0, 8, -1, 0,
    "Words of one or more tokens, and which of them each slot has: [slots + 1], slot s has the words\n"
    "from bad_word_offsets[s] to bad_word_offsets[s + 1] - 1. None: every slot has all. A word's\n"
    "last token is banned where the history ends in the others. A word without tokens makes its rows\n"
    "bad (INVALID_LIST)."},
  {"bad_word_offsets", "bad_word_offsets", offsetof(sampler_pipeline, bad_word_offsets),
   KIND_OBJECT, ELEMENT_I64, 0, 9, -1, 0,
    ""},
  {"dry_breakers", "dry_breakers", offsetof(sampler_pipeline, dry_breakers),
   KIND_OBJECT, ELEMENT_NONE, 0, 10, -1, 0,
    "DRY's sequence breakers, for all slots: distinct sequences of 1 to 20 tokens in lexicographic\n"
    "order. Others make rows with DRY bad (INVALID_LIST)."},
  {"token_bitmasks", "token_bitmasks", offsetof(sampler_pipeline, token_bitmasks),
   KIND_OBJECT, ELEMENT_U32, 0, 11, -1, 0,
    "[num_token_bitmasks, token_bitmask_stride] Ids from 32 token_bitmask_stride on, as a padded\n"
    "vocabulary has, are allowed unless token_bitmask_rule is FORBIDS. Bit i of word j is 1 where id\n"
    "32 j + i may be drawn (xgrammar). The stride, in words, is the length of a mask, too; 0:\n"
    "ceil(num_cols / 32). With candidate_ids it must be given. Masks: 1 at least, and without\n"
    "token_bitmask_indices as many as output rows; 0 where token_bitmasks is None."},
  {"num_token_bitmasks", "num_token_bitmasks", offsetof(sampler_pipeline, num_token_bitmasks),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"token_bitmask_stride", "token_bitmask_stride", offsetof(sampler_pipeline, token_bitmask_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"token_bitmask_indices", "token_bitmask_indices", offsetof(sampler_pipeline, token_bitmask_indices),
   KIND_OBJECT, ELEMENT_I32, 0, 12, -1, 0,
    "[output rows] The mask of each; negative: none; num_token_bitmasks or more: the row is bad\n"
    "(INVALID_INDEX). None: row i has mask i, and there must be one for each."},
  {"state", "state", offsetof(sampler_pipeline, state),
   KIND_OBJECT, ELEMENT_NONE, 0, 13, -1, 0,
    "In place of history, prompt_lengths and adaptive_values, which must be None then: slot s of the\n"
    "call is slot s of the state, and the call's slots are at most those of the state. Of the same\n"
    "handle. The call reads it and changes nothing."},
  {"adaptive_values", "adaptive_values", offsetof(sampler_pipeline, adaptive_values),
   KIND_OBJECT, ELEMENT_F32, 0, 14, -1, 0,
    "[slots, SAMPLER_NUM_ADAPTIVE_VALUES] Of callers without a state, who move them on from\n"
    "out_observations by section 14.2 of docs/contract.md. A NaN is the start of its stage; an\n"
    "infinity makes the row bad (INVALID_PARAMETER), also where the stage is off. None: all start."},
};

static PyObject *pipeline_names[22];
static PyTypeObject *pipeline_result_type;
const Struct pipeline_struct = {
  "Pipeline", pipeline_members, 22, 15, sizeof(sampler_pipeline), 1,
  NULL, 0, NULL,
  pipeline_names, &pipeline_result_type,
    "Arrays are in the handle's memory and read when the work runs."};

const Member report_args_members[] = {
  {"logprob_kind", "logprob_kind", offsetof(sampler_report_args, logprob_kind),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "The distribution of out_logprobs and of all that follows out_observations."},
  {"out_logprobs", "out_logprobs", offsetof(sampler_report_args, out_logprobs),
   KIND_OBJECT, ELEMENT_F32, 1, 0, 0, 0,
    "[rows] Natural logarithm of the probability of the row's token; NaN for a bad row. Of a row of\n"
    "probabilities it is relative to the row's sum."},
  {"out_values", "out_values", offsetof(sampler_report_args, out_values),
   KIND_OBJECT, ELEMENT_F32, 1, 1, 1, 0,
    "[rows] The token's value in the input as it is given, widened to f32; NaN for a bad row."},
  {"out_kept_counts", "out_kept_counts", offsetof(sampler_report_args, out_kept_counts),
   KIND_OBJECT, ELEMENT_I32, 1, 2, 2, 0,
    "[rows] How many tokens the filters kept: 1 for a greedy row, 0 for a bad one."},
  {"out_observations", "out_observations", offsetof(sampler_report_args, out_observations),
   KIND_OBJECT, ELEMENT_F32, 1, 3, 3, 0,
    "[rows] What moves the adaptive stage on: the token's surprise in bits among those that mirostat\n"
    "kept, or its probability before adaptive-p changed it. NaN where nothing does."},
  {"num_top_logprobs", "num_top_logprobs", offsetof(sampler_report_args, num_top_logprobs),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "[rows, num_top_logprobs] The distribution's first tokens in rank order, and their\n"
    "log-probabilities; then, and in bad rows, -1 and NaN. num_top_logprobs in [0, num_cols]; either\n"
    "array may be None, not both."},
  {"out_top_token_ids", "out_top_token_ids", offsetof(sampler_report_args, out_top_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 1, 4, 4, 0,
    ""},
  {"out_top_logprobs", "out_top_logprobs", offsetof(sampler_report_args, out_top_logprobs),
   KIND_OBJECT, ELEMENT_F32, 1, 5, 5, 0,
    ""},
  {"num_chosen", "num_chosen", offsetof(sampler_report_args, num_chosen),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "[rows, num_chosen] The log-probabilities of tokens that the caller names: -inf of elements that\n"
    "have no part in the distribution; NaN of ids that are no element of the row, and in bad rows.\n"
    "num_chosen in [0, num_cols]; where it is not 0 both are required."},
  {"chosen_token_ids", "chosen_token_ids", offsetof(sampler_report_args, chosen_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 0, 6, -1, 0,
    ""},
  {"out_chosen_logprobs", "out_chosen_logprobs", offsetof(sampler_report_args, out_chosen_logprobs),
   KIND_OBJECT, ELEMENT_F32, 1, 7, 6, 0,
    ""},
  {"out_ranks", "out_ranks", offsetof(sampler_report_args, out_ranks),
   KIND_OBJECT, ELEMENT_I32, 1, 8, 7, 0,
    "[rows] The place of the row's token among the distribution's in rank order, the first is 1; 0\n"
    "for a bad row, and for a forced token that has no part in the distribution."},
  {"out_entropies", "out_entropies", offsetof(sampler_report_args, out_entropies),
   KIND_OBJECT, ELEMENT_F32, 1, 9, 8, 0,
    "[rows] The distribution's entropy in nats, 0 or more; NaN for a bad row."},
  {"out_kept_bitmask", "out_kept_bitmask", offsetof(sampler_report_args, out_kept_bitmask),
   KIND_OBJECT, ELEMENT_U32, 1, 10, 9, 0,
    "[rows, kept_bitmask_stride] The tokens that were kept, laid out like token_bitmasks; all 0 in a\n"
    "bad row. The stride is in words, below 2^31; 0: ceil(num_cols / 32). Ids from 32 stride on have\n"
    "no bit. With candidate_ids the stride must be given."},
  {"kept_bitmask_stride", "kept_bitmask_stride", offsetof(sampler_report_args, kept_bitmask_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"kept_capacity", "kept_capacity", offsetof(sampler_report_args, kept_capacity),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "[rows, kept_capacity] The same as a list, by ascending id, and their probabilities, which sum\n"
    "to 1 up to rounding and are those that sampler_filter writes; then, and in bad rows, -1 and 0.\n"
    "A row that keeps more than kept_capacity has an empty list, and its number in out_kept_counts.\n"
    "In [0, num_cols]; either array may be None, not both."},
  {"out_kept_token_ids", "out_kept_token_ids", offsetof(sampler_report_args, out_kept_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 1, 11, 10, 0,
    ""},
  {"out_kept_probabilities", "out_kept_probabilities", offsetof(sampler_report_args, out_kept_probabilities),
   KIND_OBJECT, ELEMENT_F32, 1, 12, 11, 0,
    ""},
  {"out_kept_offsets", "out_kept_offsets", offsetof(sampler_report_args, out_kept_offsets),
   KIND_OBJECT, ELEMENT_I64, 1, 13, 12, 0,
    "[rows + 1] Packs the lists of kept tokens (CSR): that of row i is the entries\n"
    "[offsets[i], offsets[i + 1]) of out_kept_token_ids and out_kept_probabilities, without gaps; a\n"
    "bad row's is empty. kept_capacity is then the entries of each of the two arrays, for all rows\n"
    "together, at most 2^51; with 0 both may be None. Lists that have no room together are all left\n"
    "out: neither array is written, and the offsets are those of the lists all the same. So the\n"
    "lists are there where the last offset is at most kept_capacity, and tells what is needed where\n"
    "it is not. Entries from the last offset on are not written. A call without rows writes one\n"
    "offset, 0. None: lists of kept_capacity entries a row, as above. The workspace holds up to\n"
    "kept_capacity entries more."},
  {"out_removed_by", "out_removed_by", offsetof(sampler_report_args, out_removed_by),
   KIND_OBJECT, ELEMENT_U8, 1, 14, 13, 0,
    "[rows, num_cols] By element: the SAMPLER_STAGE_ that removed the token (sampler_stage_name), 0\n"
    "where it is kept, 255 where the input gives it no probability or the row has no such element;\n"
    "255 everywhere in a bad row. Of edits it is the one after which the logit is -inf; with JOINT\n"
    "filters the first of top-k, top-p and min-p that does not keep the token; in a greedy row\n"
    "TEMPERATURE, of what the edits left. Sorts the row: some milliseconds for 128,256 columns."},
};

static const char *const report_args_results[] = {"logprobs", "values", "kept_counts", "observations", "top_token_ids", "top_logprobs", "chosen_logprobs", "ranks", "entropies", "kept_bitmask", "kept_token_ids", "kept_probabilities", "kept_offsets", "removed_by", NULL};

static PyObject *report_args_names[20];
static PyTypeObject *report_args_result_type;
const Struct report_args_struct = {
  "Reports", report_args_members, 20, 15, sizeof(sampler_report_args), 1,
  NULL, 0, report_args_results,
  report_args_names, &report_args_result_type,
    "What a call tells of the tokens beside their ids. sampler_sample, sampler_verify and\n"
    "sampler_session_advance take one; None: nothing is told.\n"
    "\n"
    "\"Rows\" are the rows of the call's out_token_ids: those of output of sampler_sample,\n"
    "[num_sequences, num_drafts + 1] of sampler_verify, [num_spans, max_drafts + 1] of\n"
    "sampler_session_advance. Token ids are of the call's token_id_type, of a session int32_t. Arrays\n"
    "are where the call's outputs are. A number of 0 or a None array: not wanted. What a call does not\n"
    "report must be 0 there, which its documentation names.\n"
    "\n"
    "Reports are of the distribution that logprob_kind names: the row as it is given (RAW), as its\n"
    "edits left it (EDITED), or what was drawn from (PROCESSED), of which tokens that were not kept\n"
    "have no part. A greedy row is a single token in PROCESSED. Section 15 of docs/contract.md has\n"
    "their arithmetic."};

const Member draft_layout_members[] = {
  {"target_sequence_stride", "target_sequence_stride", offsetof(sampler_draft_layout, target_sequence_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Dense: distance in elements from one sequence's first row to the next one's, of `target` and of\n"
    "`draft`, at least what the rows of one take. 0: they are contiguous, or there is no draft."},
  {"draft_sequence_stride", "draft_sequence_stride", offsetof(sampler_draft_layout, draft_sequence_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"draft_token_stride", "draft_token_stride", offsetof(sampler_draft_layout, draft_token_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Dense: elements of draft_token_ids from one sequence's first to the next one's, at least\n"
    "num_drafts; 0: num_drafts."},
  {"packing", "packing", offsetof(sampler_draft_layout, packing),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Packed batches. num_sequences says how many sequences there are then, and where\n"
    "target_row_indices or bonus_row_indices is given, 0 among them; else 0 is what target.num_rows\n"
    "tells. Sequences have at most num_drafts drafts; one whose offsets fall, lie outside, or are\n"
    "further apart is bad (INVALID_LIST). draft_counts must be None then."},
  {"draft_rows_by_slot", "draft_rows_by_slot", offsetof(sampler_draft_layout, draft_rows_by_slot),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "1: the row of `draft` that belongs to draft i is slot * num_drafts + i (vLLM, V2)."},
  {"packing_offsets", "packing_offsets", offsetof(sampler_draft_layout, packing_offsets),
   KIND_OBJECT, ELEMENT_I32, 0, 0, -1, 0,
    ""},
  {"num_sequences", "num_sequences", offsetof(sampler_draft_layout, num_sequences),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"num_packed_drafts", "num_packed_drafts", offsetof(sampler_draft_layout, num_packed_drafts),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Packed only: how many entries there are of what is laid out by draft (0 with POSITIONS), and by\n"
    "position (with the others only where target_row_indices has them)."},
  {"num_packed_positions", "num_packed_positions", offsetof(sampler_draft_layout, num_packed_positions),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"target_row_indices", "target_row_indices", offsetof(sampler_draft_layout, target_row_indices),
   KIND_OBJECT, ELEMENT_I32, 0, 1, -1, 0,
    "[num_sequences, num_drafts + 1], packed: [num_packed_positions] The row of `target` that each\n"
    "position reads. With bonus_row_indices, [num_sequences], those of a sequence's last position\n"
    "are there, and target_row_indices, which is required where there may be drafts, is laid out by\n"
    "draft, like draft_token_ids. None: position after position. One outside makes its sequence bad\n"
    "(INVALID_INDEX) when it is read. `target` has any number of rows then."},
  {"bonus_row_indices", "bonus_row_indices", offsetof(sampler_draft_layout, bonus_row_indices),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    ""},
  {"draft_row_indices", "draft_row_indices", offsetof(sampler_draft_layout, draft_row_indices),
   KIND_OBJECT, ELEMENT_I32, 0, 3, -1, 0,
    "[num_sequences, num_drafts], packed: laid out like draft_token_ids. The row of `draft` that\n"
    "each draft was drawn from. `draft` has any number of rows then."},
  {"parents", "parents", offsetof(sampler_draft_layout, parents),
   KIND_OBJECT, ELEMENT_I32, 0, 4, -1, 0,
    "Trees. The node that each draft hangs on, a lower number, -1 the root: [tree_rows, num_drafts].\n"
    "Or first_children and next_siblings, [tree_rows, num_drafts + 1]: by position, the position of\n"
    "its first child and of its next sibling, -1 (or 0) for none (SGLang). tree_rows is 1, one tree\n"
    "for all, or num_sequences; 0: num_sequences. A tree in which a draft hangs on two, or on itself\n"
    "by way of others, makes its sequence bad (INVALID_TREE). None: a chain. Dense only.\n"
    "\n"
    "Siblings are tried in their order. At a rejected one what is left for the next is the residual,\n"
    "by sibling_rule of sampler_verify_args. BLOCK and DEFERRED are for chains."},
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
    "Where the drafts and rows of a sampler_verify lie, where they are not dense chains, one sequence\n"
    "after the other. All 0, or None in sampler_verify_args: they are. Arrays are in the handle's\n"
    "memory and read when the work runs. Dense chains by the standard rule are verified faster without\n"
    "a member of it but the two strides."};

const Member acceptance_params_members[] = {
  {"rule", "rule", offsetof(sampler_acceptance_params, rule),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"relaxed_top_k", "relaxed_top_k", offsetof(sampler_acceptance_params, relaxed_top_k),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Not NaN, not negative.\n"
    "\n"
    "0: 1"},
  {"relaxed_delta", "relaxed_delta", offsetof(sampler_acceptance_params, relaxed_delta),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "a difference of probabilities"},
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
    "in nats, at least this is doubt. 0: 0.3"},
  {"deferred_top_k", "deferred_top_k", offsetof(sampler_acceptance_params, deferred_top_k),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "of so many first tokens the entropy is taken. 0: 3"},
  {"deferred_window", "deferred_window", offsetof(sampler_acceptance_params, deferred_window),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "0: min(6, the most drafts of a sequence - 1), at least 1"},
  {"synthetic_rates", "synthetic_rates", offsetof(sampler_acceptance_params, synthetic_rates),
   KIND_OBJECT, ELEMENT_F32, 0, 0, -1, 0,
    "[the most drafts of a sequence] In [0, 1], by the draft's number in its sequence. In host\n"
    "memory, read during the call. Required by SYNTHETIC; None: no sequence has that rule."},
};

static PyObject *acceptance_params_names[11];
static PyTypeObject *acceptance_params_result_type;
const Struct acceptance_params_struct = {
  "AcceptanceParams", acceptance_params_members, 11, 1, sizeof(sampler_acceptance_params), 1,
  NULL, 0, NULL,
  acceptance_params_names, &acceptance_params_result_type,
    "The rule that drafts are accepted by, and the numbers of the rules, which sampler_verify,\n"
    "sampler_speculative and sessions take alike. None, or all 0: the rule of the context, and the\n"
    "numbers that stand for 0. Numbers of rules that are not used are checked, too."};

const Member sample_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_sample_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Where the work is enqueued. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_sample_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_sample_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"input", "input", offsetof(sampler_sample_args, input),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    ""},
  {"row_indices", "row_indices", offsetof(sampler_sample_args, row_indices),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    "[num_row_indices] The input row that each output row draws from, in [0, input.num_rows); any\n"
    "other value makes the output row bad. Rows of output are then num_row_indices, in [0, 2^31).\n"
    "Outputs of one input row with equal parameters share the work of preparing it. None and 0:\n"
    "output row i draws from input row i."},
  {"num_row_indices", "num_row_indices", offsetof(sampler_sample_args, num_row_indices),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"slots", "slots", offsetof(sampler_sample_args, slots),
   KIND_OBJECT, ELEMENT_I32, 0, 3, -1, 0,
    "[output rows] The slot of each output row, in [0, num_slots); any other value makes the row\n"
    "bad. Engines hold parameters, seeds and offsets by sequence, in arrays of num_slots entries of\n"
    "which a batch names some: row_params and random are indexed by slot, logits by row. None and 0:\n"
    "output row i has slot i."},
  {"num_slots", "num_slots", offsetof(sampler_sample_args, num_slots),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"params", "params", offsetof(sampler_sample_args, params),
   KIND_OBJECT, ELEMENT_NONE, 0, 4, -1, 0,
    "What to draw from. None: temperature 1 and no filter."},
  {"row_params", "row_params", offsetof(sampler_sample_args, row_params),
   KIND_OBJECT, ELEMENT_NONE, 0, 5, -1, 0,
    "None: the same for all."},
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
    "[num_seeds], [num_offsets] Each number is 1 (one for all) or the number of slots. None and 0:\n"
    "`seed`, `offset`."},
  {"offsets", "random.offsets", offsetof(sampler_sample_args, random) + offsetof(sampler_random, offsets),
   KIND_OBJECT, ELEMENT_U64, 0, 8, -1, 0,
    ""},
  {"streams", "random.streams", offsetof(sampler_sample_args, random) + offsetof(sampler_random, streams),
   KIND_OBJECT, ELEMENT_U32, 0, 9, -1, 0,
    "[slots] The stream of each: a request id, say, where all share a seed. None: the slot's number\n"
    "where one seed serves all, so that they draw independently; 0 where each has its own, so that a\n"
    "row's token depends on its seed and offset alone and not on its place."},
  {"num_seeds", "random.num_seeds", offsetof(sampler_sample_args, random) + offsetof(sampler_random, num_seeds),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"num_offsets", "random.num_offsets", offsetof(sampler_sample_args, random) + offsetof(sampler_random, num_offsets),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"draw_method", "draw_method", offsetof(sampler_sample_args, draw_method),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "How the token is drawn. GUMBEL rounds logit / temperature + noise to f32: logits of a size\n"
    "above 1,000 or so coarsen the noise, and those for which it would pass 2^126, or -2^126, tie,\n"
    "so that the lowest id of them is drawn."},
  {"token_id_type", "token_id_type", offsetof(sampler_sample_args, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Type of out_token_ids, and of the ids of reports."},
  {"out_token_ids", "out_token_ids", offsetof(sampler_sample_args, out_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 1, 10, 0, 0,
    "[output rows] The tokens: column numbers, or candidate ids. -1 or the handle's fallback token\n"
    "for a bad row. Required."},
  {"out_row_status", "out_row_status", offsetof(sampler_sample_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 11, 1, 0,
    "[output rows] SAMPLER_ROW_ bits. None: not wanted."},
  {"reports", "reports", offsetof(sampler_sample_args, reports),
   KIND_OBJECT, ELEMENT_NONE, 0, 12, 2, 0,
    "What else is told of each output row, all of sampler_report_args. None: nothing."},
};

static const char *const sample_args_results[] = {"token_ids", "row_status", "reports", NULL};

static PyObject *sample_args_names[23];
static PyTypeObject *sample_args_result_type;
const Struct sample_args_struct = {
  "sample_args", sample_args_members, 23, 13, sizeof(sampler_sample_args), 1,
  NULL, 0, sample_args_results,
  sample_args_names, &sample_args_result_type,
    ""};

const Member filter_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_filter_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Where the work is enqueued. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_filter_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "or one stream. Its contents are undefined before and after a call."},
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
    "PROBABILITIES: the softmax of the kept tokens, which sums to 1 up to rounding; one-hot when\n"
    "greedy; exactly 0 in every element of a bad row. VALUES: the kept logits unchanged, -inf\n"
    "elsewhere; a bad row is copied as it is. VALUES needs logits."},
  {"output_dtype", "output_dtype", offsetof(sampler_filter_args, output_dtype),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "SAMPLER_F32 or input.dtype."},
  {"output", "output", offsetof(sampler_filter_args, output),
   KIND_OBJECT, ELEMENT_FLOATS, 1, 5, 0, 0,
    "[input.num_rows, input.num_cols] Each row output_stride elements after the one before, at least\n"
    "num_cols; 0: num_cols. With candidate lists an element belongs to the candidate at the same\n"
    "place, and those that follow a row's last one are written as not kept. Required."},
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
    "Edits of the logits, as in sampler_sample_args: VALUES writes the logits that they left."},
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
    "Where the work is enqueued. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_select_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_select_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"input", "input", offsetof(sampler_select_args, input),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    ""},
  {"num_selected", "num_selected", offsetof(sampler_select_args, num_selected),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "How many tokens a row yields at most: columns of the outputs, in [1, input.num_cols]."},
  {"selected_counts", "selected_counts", offsetof(sampler_select_args, selected_counts),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    "[input.num_rows] How many each row yields. <= 0 or >= num_selected: num_selected. In host\n"
    "memory with the handle's host_parameters. None: num_selected for all."},
  {"output_dtype", "output_dtype", offsetof(sampler_select_args, output_dtype),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Types of out_values, SAMPLER_F32 or input.dtype, and of out_token_ids."},
  {"token_id_type", "token_id_type", offsetof(sampler_select_args, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"out_values", "out_values", offsetof(sampler_select_args, out_values),
   KIND_OBJECT, ELEMENT_FLOATS, 1, 3, 0, 0,
    "[input.num_rows, num_selected] Values and ids, both in rank order and contiguous. +inf is a\n"
    "value like any other here; NaN makes the row bad. Where a row has fewer tokens to give, the\n"
    "rest is -inf (probabilities: 0) and -1; so is all of a bad row. Either may be None, not both."},
  {"out_token_ids", "out_token_ids", offsetof(sampler_select_args, out_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 1, 4, 1, 0,
    ""},
  {"out_counts", "out_counts", offsetof(sampler_select_args, out_counts),
   KIND_OBJECT, ELEMENT_I32, 1, 5, 2, 0,
    "[input.num_rows] How many tokens each row yielded; 0 for a bad row. None: not wanted."},
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
    "Where the work is enqueued. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_verify_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_verify_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"target", "target", offsetof(sampler_verify_args, target),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    "[num_sequences, num_drafts + 1, num_cols] The target's row at each draft position, then the one\n"
    "that follows the last draft. target.num_rows is num_sequences * (num_drafts + 1), whatever\n"
    "layout->target_sequence_stride is, and tells num_sequences. Of rows of given probabilities only\n"
    "the drafts' elements are looked at before the first rejection; a candidate list is read whole,\n"
    "so that a bad element anywhere in it makes the sequence bad."},
  {"draft", "draft", offsetof(sampler_verify_args, draft),
   KIND_OBJECT, ELEMENT_NONE, 0, 2, -1, 0,
    "[num_sequences, num_drafts, num_cols] The rows that the drafts were drawn from. Its num_cols is\n"
    "the target's. All 0: the drafter was deterministic (its draft has probability 1), as with\n"
    "n-gram drafts. A token that is not in a candidate list has probability 0 there."},
  {"draft_token_ids", "draft_token_ids", offsetof(sampler_verify_args, draft_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 0, 3, -1, 0,
    "[num_sequences, num_drafts] The draft tokens, of type token_id_type. One outside the\n"
    "vocabulary, [0, num_cols) (candidate lists: [0, 2^20)), is rejected, and the residual there is\n"
    "p. Required, unless num_drafts is 0. num_drafts is in [0, 65535]."},
  {"num_drafts", "num_drafts", offsetof(sampler_verify_args, num_drafts),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"draft_counts", "draft_counts", offsetof(sampler_verify_args, draft_counts),
   KIND_OBJECT, ELEMENT_I32, 0, 4, -1, 0,
    "[num_sequences] How many drafts each sequence has, in [0, num_drafts]; values outside are\n"
    "clamped and set a status. None: num_drafts."},
  {"layout", "layout", offsetof(sampler_verify_args, layout),
   KIND_OBJECT, ELEMENT_NONE, 0, 5, -1, 0,
    "Packed batches, rows in other places, and trees. None: dense chains."},
  {"slots", "slots", offsetof(sampler_verify_args, slots),
   KIND_OBJECT, ELEMENT_I32, 0, 6, -1, 0,
    "[num_sequences]"},
  {"num_slots", "num_slots", offsetof(sampler_verify_args, num_slots),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"params", "params", offsetof(sampler_verify_args, params),
   KIND_OBJECT, ELEMENT_NONE, 0, 7, -1, 0,
    "Temperature and filters of the rows that are logits, target and draft alike. When the target is\n"
    "probabilities the temperature must be 1 or greedy; when the draft is too (or there is none),\n"
    "the filters must be off. A value that is not makes the call fail, an element of an array its\n"
    "sequence: SAMPLER_ROW_INVALID_PARAMETER. Greedy: a draft is accepted while it is the target's\n"
    "argmax, and the token that follows is the argmax too."},
  {"row_params", "row_params", offsetof(sampler_verify_args, row_params),
   KIND_OBJECT, ELEMENT_NONE, 0, 8, -1, 0,
    ""},
  {"draft_params", "draft_params", offsetof(sampler_verify_args, draft_params),
   KIND_OBJECT, ELEMENT_NONE, 0, 9, -1, 0,
    "Temperature and filters of `draft`. None: those of the target, which must then have no other\n"
    "stage where the draft is logits."},
  {"draft_row_params", "draft_row_params", offsetof(sampler_verify_args, draft_row_params),
   KIND_OBJECT, ELEMENT_NONE, 0, 10, -1, 0,
    ""},
  {"pipeline", "pipeline", offsetof(sampler_verify_args, pipeline),
   KIND_OBJECT, ELEMENT_NONE, 0, 11, -1, 0,
    "The stages of the target's rows. At each position the text, and what adaptive stages remember,\n"
    "are as if the drafts before it had been accepted; nothing is changed. token_bitmask_indices is\n"
    "[num_sequences, num_drafts + 1], by position, in trees and packed batches too. Forced tokens\n"
    "are not verified: forced_token_id must be None."},
  {"seed", "random.seed", offsetof(sampler_verify_args, random) + offsetof(sampler_random, seed),
   KIND_U64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"offset", "random.offset", offsetof(sampler_verify_args, random) + offsetof(sampler_random, offset),
   KIND_U64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"seeds", "random.seeds", offsetof(sampler_verify_args, random) + offsetof(sampler_random, seeds),
   KIND_OBJECT, ELEMENT_U64, 0, 12, -1, 0,
    "[num_seeds], [num_offsets] Each number is 1 (one for all) or the number of slots. None and 0:\n"
    "`seed`, `offset`."},
  {"offsets", "random.offsets", offsetof(sampler_verify_args, random) + offsetof(sampler_random, offsets),
   KIND_OBJECT, ELEMENT_U64, 0, 13, -1, 0,
    ""},
  {"streams", "random.streams", offsetof(sampler_verify_args, random) + offsetof(sampler_random, streams),
   KIND_OBJECT, ELEMENT_U32, 0, 14, -1, 0,
    "[slots] The stream of each: a request id, say, where all share a seed. None: the slot's number\n"
    "where one seed serves all, so that they draw independently; 0 where each has its own, so that a\n"
    "row's token depends on its seed and offset alone and not on its place."},
  {"num_seeds", "random.num_seeds", offsetof(sampler_verify_args, random) + offsetof(sampler_random, num_seeds),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"num_offsets", "random.num_offsets", offsetof(sampler_verify_args, random) + offsetof(sampler_random, num_offsets),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"acceptance", "acceptance", offsetof(sampler_verify_args, acceptance),
   KIND_OBJECT, ELEMENT_NONE, 0, 15, -1, 0,
    "The rule, and the numbers of the rules. None: SAMPLER_ACCEPT_STANDARD, which rule 0 is, too.\n"
    "Dense chains by it are verified faster than by others."},
  {"acceptances", "acceptances", offsetof(sampler_verify_args, acceptances),
   KIND_OBJECT, ELEMENT_I32, 0, 16, -1, 0,
    "The rule by slot, 0: that of `acceptance`. One that is no such constant, or does not go with\n"
    "what the call has, makes its sequence bad (INVALID_PARAMETER). None: the same for all."},
  {"sibling_rule", "sibling_rule", offsetof(sampler_verify_args, sibling_rule),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "How siblings of a tree were drafted; 0 without trees."},
  {"draw_method", "draw_method", offsetof(sampler_verify_args, draw_method),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "How SAMPLE_MATCH draws. The other rules: INVERSE_CDF."},
  {"token_id_type", "token_id_type", offsetof(sampler_verify_args, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Type of draft_token_ids and out_token_ids, and of the ids of reports."},
  {"accumulate_counts", "accumulate_counts", offsetof(sampler_verify_args, accumulate_counts),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "1: the counts are added to what the two arrays hold. 0: they overwrite it."},
  {"out_token_ids", "out_token_ids", offsetof(sampler_verify_args, out_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 1, 17, 0, 0,
    "[num_sequences, num_drafts + 1] The accepted drafts, then one token of the target, then -1. For\n"
    "a bad sequence -1 throughout (the handle's fallback token first, if it has one). Required."},
  {"out_accepted_counts", "out_accepted_counts", offsetof(sampler_verify_args, out_accepted_counts),
   KIND_OBJECT, ELEMENT_I32, 1, 18, 1, 0,
    "[num_sequences] each; None: not wanted. Drafts that would be accepted each on its own, wherever\n"
    "they stand. Positions after the first rejection count only here: nothing there changes a token\n"
    "or, draft ids apart, a status. Of trees and of rules but STANDARD it is out_emitted_counts."},
  {"out_emitted_counts", "out_emitted_counts", offsetof(sampler_verify_args, out_emitted_counts),
   KIND_OBJECT, ELEMENT_I32, 1, 19, 2, 0,
    "Drafts kept before the first rejection: out_token_ids has one token more."},
  {"out_row_status", "out_row_status", offsetof(sampler_verify_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 20, 3, 0,
    ""},
  {"reports", "reports", offsetof(sampler_verify_args, reports),
   KIND_OBJECT, ELEMENT_NONE, 0, 21, 4, 0,
    "What else is told of every emitted token, in the order of out_token_ids: of the target's\n"
    "distribution at its position; as for a bad row where no token stands. out_values, num_chosen,\n"
    "out_kept_offsets and out_removed_by must be 0, and what belongs to them. None: nothing."},
  {"out_positions", "out_positions", offsetof(sampler_verify_args, out_positions),
   KIND_OBJECT, ELEMENT_I32, 1, 22, 5, 0,
    "[num_sequences, num_drafts + 1] The positions that the emitted tokens were decided at, 0 first:\n"
    "the rows of a KV cache to keep. Then -1. kv_indices, of the same shape, has a number for each\n"
    "position (packed batches too); out_kv_indices has those of out_positions. None: not wanted."},
  {"kv_indices", "kv_indices", offsetof(sampler_verify_args, kv_indices),
   KIND_OBJECT, ELEMENT_I64, 0, 23, -1, 0,
    ""},
  {"out_kv_indices", "out_kv_indices", offsetof(sampler_verify_args, out_kv_indices),
   KIND_OBJECT, ELEMENT_I64, 1, 24, 6, 0,
    ""},
};

static const char *const verify_args_results[] = {"token_ids", "accepted_counts", "emitted_counts", "row_status", "reports", "positions", "kv_indices", NULL};

static PyObject *verify_args_names[37];
static PyTypeObject *verify_args_result_type;
const Struct verify_args_struct = {
  "verify_args", verify_args_members, 37, 25, sizeof(sampler_verify_args), 1,
  NULL, 0, verify_args_results,
  verify_args_names, &verify_args_result_type,
    "Members that sampler_sample_args has too mean the same.\n"
    "\n"
    "Probabilities are taken as given, so they should sum to 1. Rows of logits become probabilities\n"
    "first: temperature and filters, then softmax in f32, exactly what sampler_filter writes."};

const Member residual_args_members[] = {
  {"stream", "exec.stream", offsetof(sampler_residual_args, exec) + offsetof(sampler_exec, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Where the work is enqueued. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_residual_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "or one stream. Its contents are undefined before and after a call."},
  {"workspace_bytes", "exec.workspace_bytes", offsetof(sampler_residual_args, exec) + offsetof(sampler_exec, workspace_bytes),
   KIND_SIZE, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"target", "target", offsetof(sampler_residual_args, target),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    "[num_rows, num_cols] The target's rows of probabilities, p. Taken as given, so they should sum\n"
    "to 1. Not candidate lists."},
  {"draft", "draft", offsetof(sampler_residual_args, draft),
   KIND_OBJECT, ELEMENT_NONE, 0, 2, -1, 0,
    "[num_rows, num_cols] The rows of probabilities that the drafts were drawn from, q, of as many\n"
    "rows and columns, taken as given. All 0: the drafter was deterministic, and draft_token_ids\n"
    "says what it proposed."},
  {"draft_token_ids", "draft_token_ids", offsetof(sampler_residual_args, draft_token_ids),
   KIND_OBJECT, ELEMENT_IDS, 0, 3, -1, 0,
    "[num_rows] The tokens of a deterministic drafter, of type token_id_type: q is 1 for them. Of a\n"
    "row whose id lies outside [0, num_cols) the residual is p, and a status tells. Required where\n"
    "draft is all 0; None where it is not."},
  {"token_id_type", "token_id_type", offsetof(sampler_residual_args, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"output_dtype", "output_dtype", offsetof(sampler_residual_args, output_dtype),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "SAMPLER_F32, or target.dtype."},
  {"output", "output", offsetof(sampler_residual_args, output),
   KIND_OBJECT, ELEMENT_FLOATS, 1, 4, 0, 0,
    "[num_rows, num_cols] Probabilities, which sum to 1 up to rounding, exactly 0 where nothing is\n"
    "left; 0 in every element of a bad row. Rows start output_stride elements apart, at least\n"
    "num_cols; 0: num_cols. Required."},
  {"output_stride", "output_stride", offsetof(sampler_residual_args, output_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"out_row_status", "out_row_status", offsetof(sampler_residual_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 5, 1, 0,
    "[num_rows] None: not wanted. A row of p or q with an element that is negative, NaN or infinite\n"
    "is bad, and a p that is 0 throughout is empty. A q that is 0 throughout takes nothing off p."},
};

static const char *const residual_args_results[] = {"output", "row_status", NULL};

static PyObject *residual_args_names[11];
static PyTypeObject *residual_args_result_type;
const Struct residual_args_struct = {
  "residual_args", residual_args_members, 11, 6, sizeof(sampler_residual_args), 1,
  NULL, 0, residual_args_results,
  residual_args_names, &residual_args_result_type,
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
    "For how many distinct tokens of a slot counts are kept, 20 bytes each, in [0, max_tokens]; 0: a\n"
    "quarter of max_tokens, but 64 where that is more, and at most max_tokens. From the first token\n"
    "that has no room on, a sequence is counted in each draw: the results are the same, the draw\n"
    "takes longer."},
  {"keep_adaptive_values", "keep_adaptive_values", offsetof(sampler_state_options, keep_adaptive_values),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "1: the adaptive values after each token are kept, 16 bytes each, and truncating restores them.\n"
    "0: truncating leaves them."},
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
    "Where the work is enqueued. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_state_append_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "or one stream. Its contents are undefined before and after a call."},
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
    "A list for each row: tokens.num_lists is num_rows. All of a row's tokens are appended, or none:\n"
    "its offsets must be a list's (INVALID_LIST), the tokens fit (STATE_FULL), and the ids lie in\n"
    "[0, 2^31) (INVALID_LIST)."},
  {"token_id_type", "token_id_type", offsetof(sampler_state_append_args, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"token_kind", "token_kind", offsetof(sampler_state_append_args, token_kind),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Prompt tokens after an output token make the row bad (INVALID_LIST)."},
  {"out_lengths", "out_lengths", offsetof(sampler_state_append_args, out_lengths),
   KIND_OBJECT, ELEMENT_I32, 1, 4, 0, 0,
    "[num_rows] How many tokens each slot has afterwards; -1 for a bad slot. None: not wanted."},
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
    "Where the work is enqueued. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_accept_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "or one stream. Its contents are undefined before and after a call."},
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
    "at its first negative id; where its first id is negative nothing happens. All of a row's tokens\n"
    "are taken, or none: they must fit (STATE_FULL), their ids be below 2^31 (INVALID_LIST), and the\n"
    "slot's numbers of adaptive stages good (INVALID_PARAMETER), which out_row_status tells.\n"
    "num_tokens in [1, 2^20]."},
  {"num_tokens", "num_tokens", offsetof(sampler_accept_args, num_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"token_id_type", "token_id_type", offsetof(sampler_accept_args, token_id_type),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"observations", "observations", offsetof(sampler_accept_args, observations),
   KIND_OBJECT, ELEMENT_F32, 0, 4, -1, 0,
    "[num_rows, num_tokens] out_observations of the call that drew the tokens. One that is NaN moves\n"
    "neither mirostat nor adaptive-p. None: all are."},
  {"params", "params", offsetof(sampler_accept_args, params),
   KIND_OBJECT, ELEMENT_NONE, 0, 5, -1, 0,
    "Those of that call, of which the adaptive stage, top_p and its decay are read. Numbers by slot\n"
    "are indexed by the slots of this call, and there are as many as the state has. Both None:\n"
    "adaptive values stay."},
  {"row_params", "row_params", offsetof(sampler_accept_args, row_params),
   KIND_OBJECT, ELEMENT_NONE, 0, 6, -1, 0,
    ""},
  {"offsets", "offsets", offsetof(sampler_accept_args, offsets),
   KIND_OBJECT, ELEMENT_U64, 0, 7, -1, 0,
    "[slots of the state] In and out: each grows by the tokens that its slot took. It may be the\n"
    "array that the draw has as sampler_random.offsets, so that a loop of draw and accept needs no\n"
    "host. None: offsets are the caller's business."},
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
    "Where the work is enqueued. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_state_truncate_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "or one stream. Its contents are undefined before and after a call."},
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
    "[num_rows] How many tokens to keep. More than there are: all; negative: none. Required."},
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
    "Where the work is enqueued. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_state_copy_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "or one stream. Its contents are undefined before and after a call."},
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
    "STATE_FULL: the source's tokens do not fit in the destination, which is as it was."},
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
    "Where the work is enqueued. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_state_reset_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "or one stream. Its contents are undefined before and after a call."},
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
    "[num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] To begin with; a NaN is the start of its stage, an\n"
    "infinity makes the row bad (INVALID_PARAMETER). None: all start."},
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
    "Where the work is enqueued. Ignored by a CPU handle."},
  {"workspace", "exec.workspace", offsetof(sampler_state_read_args, exec) + offsetof(sampler_exec, workspace),
   KIND_OBJECT, ELEMENT_BYTES, 0, 0, -1, 0,
    "Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "or one stream. Its contents are undefined before and after a call."},
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
    "[num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] NaN where a stage has not begun."},
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
    "Tokens of the longest n-gram, in [2, 16]; 0: 3."},
  {"vocabulary_size", "vocabulary_size", offsetof(sampler_ngram_storage_options, vocabulary_size),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Token ids lie in [0, vocabulary_size). In [1, 2^20); required."},
  {"memory_limit", "memory_limit", offsetof(sampler_ngram_storage_options, memory_limit),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Bytes that the storage may take at any time, at least 4096; 0: no limit. While it grows or is\n"
    "deserialised, its old and its new table count both, so that between a third and two thirds are\n"
    "used in the end. At the limit known n-grams still count, others are dropped."},
  {"allocator", "allocator", offsetof(sampler_ngram_storage_options, allocator),
   KIND_OBJECT, ELEMENT_NONE, 0, 0, -1, 0,
    "Memory for the handle and its table. All 0: the C library's. `allocate` is called when the\n"
    "storage is created, deserialised, or learns; neither function may call back into the storage."},
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
    "Tokens of the text's end that must match, at least 1, 0: 1; and that are looked at, at least\n"
    "min_match, 0: all."},
  {"max_match", "max_match", offsetof(sampler_prompt_lookup_options, max_match),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"max_tokens", "max_tokens", offsetof(sampler_prompt_lookup_options, max_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Room for the text, in [1, 2^27]; required. All memory, 132 bytes a token and less\n"
    "than 1000 beside, is allocated when the lookup is created."},
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
    "Sequences at once, finished ones that were not removed among them. In [1, 2^20]."},
  {"max_context", "max_context", offsetof(sampler_session_options, max_context),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "The longest text, its prompt included: what the target's cache can hold. In [1, 2^31). A\n"
    "sequence takes 13 bytes for each token of it, a few hundred bytes, and for each of max_drafts\n"
    "about 40, and 8 more for each of max_top_logprobs."},
  {"vocabulary_size", "vocabulary_size", offsetof(sampler_session_options, vocabulary_size),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Columns of the logits, in [1, 2^20), and their type."},
  {"logits_dtype", "logits_dtype", offsetof(sampler_session_options, logits_dtype),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"keep_drafter_rows", "keep_drafter_rows", offsetof(sampler_session_options, keep_drafter_rows),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "1: the session keeps the drafter's rows, max_drafts rows of logits a sequence, which STANDARD,\n"
    "BLOCK, RELAXED and DEFERRED need of a drafter model's drafts. Default 0."},
  {"max_drafts", "max_drafts", offsetof(sampler_session_options, max_drafts),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Drafts of a sequence and step at most, in [0, 1024]. Default 0: nothing is drafted."},
  {"drafter_context", "drafter_context", offsetof(sampler_session_options, drafter_context),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "The longest text that the drafter model's cache can hold; a longer one goes on without drafts,\n"
    "which is_drafting of sampler_session_get tells. In [0, 2^31). 0: max_context."},
  {"lookup_tokens", "lookup_tokens", offsetof(sampler_session_options, lookup_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Room of each sequence's prompt lookup, which takes 132 bytes a token; a longer text goes\n"
    "on without drafts. In [0, 2^27]. Default 0: no sequence has SAMPLER_DRAFTS_PROMPT_LOOKUP."},
  {"max_end_tokens", "max_end_tokens", offsetof(sampler_session_options, max_end_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Of a sequence: end tokens, stop sequences, and tokens of all its stop sequences. In [0, 2^20]."},
  {"max_stop_sequences", "max_stop_sequences", offsetof(sampler_session_options, max_stop_sequences),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"max_stop_tokens", "max_stop_tokens", offsetof(sampler_session_options, max_stop_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"max_top_logprobs", "max_top_logprobs", offsetof(sampler_session_options, max_top_logprobs),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Log-probabilities of the first tokens that sampler_session_advance can be asked for, in\n"
    "[0, vocabulary_size]. Default 0."},
  {"params", "params", offsetof(sampler_session_options, params),
   KIND_OBJECT, ELEMENT_NONE, 0, 0, -1, 0,
    "What no sequence can have of its own: rules of ties, orders, scopes and forms, and the list of\n"
    "stages. Its numbers are those of sequences that are added without parameters. None: temperature\n"
    "1 and no filter."},
  {"pipeline", "pipeline", offsetof(sampler_session_options, pipeline),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    "Lists and masks of the stages, by slot: the slot is the sequence's number, of max_sequences.\n"
    "None: none. The struct is copied; the arrays that it names are the caller's, and are read in\n"
    "each advance. history, prompt_lengths, adaptive_values, state and token_bitmask_indices must be\n"
    "0: the session's texts are the history. Where `stop` is 0 it is the end tokens of each\n"
    "sequence, as min_new_tokens needs it."},
  {"acceptance", "acceptance", offsetof(sampler_session_options, acceptance),
   KIND_OBJECT, ELEMENT_NONE, 0, 2, -1, 0,
    "How drafts are accepted: the rule of sequences that name none, and the numbers of the rules,\n"
    "where the most drafts of a sequence are max_drafts. Rule 0, and None:\n"
    "SAMPLER_ACCEPT_SAMPLE_MATCH. Copied, with synthetic_rates."},
  {"has_draft_trees", "has_draft_trees", offsetof(sampler_session_options, has_draft_trees),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "1: sequences may have draft_top_k. Default 0."},
  {"has_adaptive_gamma", "has_adaptive_gamma", offsetof(sampler_session_options, has_adaptive_gamma),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "1: sequences may have adaptive_gamma, which takes a row of f32 and 20 KB. Default 0."},
  {"clock", "clock", offsetof(sampler_session_options, clock),
   KIND_ADDRESS, ELEMENT_NONE, 0, -1, -1, 0,
    "Of SAMPLER_GAMMA_MEASURED. None: the system's monotonic clock."},
  {"clock_user", "clock_user", offsetof(sampler_session_options, clock_user),
   KIND_ADDRESS, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"stream", "stream", offsetof(sampler_session_options, stream),
   KIND_STREAM, ELEMENT_NONE, 0, -1, -1, 0,
    "Of a CUDA handle: all of the session's work is enqueued on it, and logits are read in its\n"
    "order: what computes them on another stream must have been waited for. It must outlive the\n"
    "session. None: the legacy default stream. A CPU handle ignores it."},
  {"filler_top_k", "filler_top_k", offsetof(sampler_session_options, filler_top_k),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "What the n-grams of sequences with SAMPLER_DRAFTS_NGRAM learn of each new position: the so many\n"
    "likeliest tokens of the target, in [0, 2^20), and then, where it is not among them, the token\n"
    "that came. It takes as many ids for each row of logits, max_drafts + 1 rows a sequence. Default\n"
    "0: the token that came alone."},
};

static PyObject *session_options_names[21];
static PyTypeObject *session_options_result_type;
const Struct session_options_struct = {
  "session_options", session_options_members, 21, 3, sizeof(sampler_session_options), 1,
  NULL, 0, NULL,
  session_options_names, &session_options_result_type,
    ""};

const Member session_add_args_members[] = {
  {"token_ids", "token_ids", offsetof(sampler_session_add_args, token_ids),
   KIND_OBJECT, ELEMENT_I32, 0, 0, -1, 0,
    "The text so far, [num_tokens], in [1, max_context], ids of the vocabulary. The first\n"
    "prompt_length are the prompt, in [1, num_tokens], and the others its new tokens, as of a\n"
    "sequence that was removed and goes on here; 0: all are the prompt."},
  {"num_tokens", "num_tokens", offsetof(sampler_session_add_args, num_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"prompt_length", "prompt_length", offsetof(sampler_session_add_args, prompt_length),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"cache_length", "cache_length", offsetof(sampler_session_add_args, cache_length),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "How many of these tokens the target's and the drafter's caches hold already, in\n"
    "[0, num_tokens - 1] and [0, num_tokens], and at most drafter_context. A drafter's cache that\n"
    "holds the whole text is fed its last token again."},
  {"drafter_cache_length", "drafter_cache_length", offsetof(sampler_session_add_args, drafter_cache_length),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"params", "params", offsetof(sampler_session_add_args, params),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    "None: the session's. Rules of ties, orders, scopes, forms and stages must be the session's."},
  {"seed", "seed", offsetof(sampler_session_add_args, seed),
   KIND_U64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"max_new_tokens", "max_new_tokens", offsetof(sampler_session_add_args, max_new_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "New tokens at most, in [0, 2^31); 0: as many as max_context leaves."},
  {"end_token_ids", "end_token_ids", offsetof(sampler_session_add_args, end_token_ids),
   KIND_OBJECT, ELEMENT_I32, 0, 2, -1, 0,
    "[num_end_tokens] Tokens that end the text."},
  {"num_end_tokens", "num_end_tokens", offsetof(sampler_session_add_args, num_end_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"stop_sequences", "stop_sequences", offsetof(sampler_session_add_args, stop_sequences),
   KIND_OBJECT, ELEMENT_NONE, 0, 3, -1, 0,
    "Sequences of tokens that end the text where its new tokens end in one; none may be empty.\n"
    "num_lists of them, in one array of int32_t. All 0: none."},
  {"draft_source", "draft_source", offsetof(sampler_session_add_args, draft_source),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"acceptance", "acceptance", offsetof(sampler_session_add_args, acceptance),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "The rule that its drafts are accepted by, which speculative.h explains; 0: the session's, by\n"
    "default SAMPLE_MATCH: the target's own token is drawn at each position, and drafts are kept\n"
    "while they are that token, so that the text is, token by token, the one without drafts. By\n"
    "other rules tokens depend on the drafts and on num_drafts, too. Drafts of a model were drawn\n"
    "from its rows, others are certain. SYNTHETIC needs synthetic_rates of the session."},
  {"ngram", "ngram", offsetof(sampler_session_add_args, ngram),
   KIND_OBJECT, ELEMENT_NONE, 0, 4, -1, 0,
    "The n-grams of NGRAM, else None. Copied. They learn the text now, unless ngram_has_text is 1,\n"
    "and later each new token. Drafts come by `propose` where it has that and draft_unknown is 0,\n"
    "else by next_token. Where it fails later, as for want of memory, the sequence goes on without\n"
    "drafts."},
  {"num_drafts", "num_drafts", offsetof(sampler_session_add_args, num_drafts),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Drafts a step at most, in [0, max_drafts]; 0: max_drafts."},
  {"min_match", "min_match", offsetof(sampler_session_add_args, min_match),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Of PROMPT_LOOKUP: the shortest match, in [0, 2^27]; 0: 1. Drafts are what followed the longest\n"
    "match and, where the text ends before there are num_drafts, the drafts themselves: what follows\n"
    "there if the text goes on so."},
  {"draft_unknown", "draft_unknown", offsetof(sampler_session_add_args, draft_unknown),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "Of NGRAM. 1: a context that is unknown is followed by the draft that the n-grams give for it.\n"
    "0: by none."},
  {"ngram_has_text", "ngram_has_text", offsetof(sampler_session_add_args, ngram_has_text),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "1: the n-grams of NGRAM have learned these tokens, as those of a removed sequence, and do not\n"
    "learn them again. 0: they learn them."},
  {"ngram_least_count", "ngram_least_count", offsetof(sampler_session_add_args, ngram_least_count),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Of NGRAM, without draft_unknown and with an ngram that has `propose`: drafts end before the\n"
    "first that was counted fewer than ngram_least_count times after its context, or whose share of\n"
    "what followed there is below ngram_least_share, in [0, 1]. 0: off."},
  {"ngram_least_share", "ngram_least_share", offsetof(sampler_session_add_args, ngram_least_share),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"least_draft_probability", "least_draft_probability", offsetof(sampler_session_add_args, least_draft_probability),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "Of MODEL without draft_top_k, in [0, 1]: a draft to which the drafter's row gives less than\n"
    "this probability is the last of its step, as in sampler_speculative_args. 0: off."},
  {"draft_top_k", "draft_top_k", offsetof(sampler_session_add_args, draft_top_k),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Of MODEL, with has_draft_trees of the session, in [0, num_drafts]. 0: drafts are drawn, one a\n"
    "position. Else they are the drafter's so many likeliest tokens of each position, num_drafts of\n"
    "them at most: the first of a position goes on, the others hang beside it, and the target runs\n"
    "them as a tree. For all rules but BLOCK and DEFERRED, to which such drafts are certain; with\n"
    "SAMPLE_MATCH more of them are kept than of a chain."},
  {"adaptive_gamma", "adaptive_gamma", offsetof(sampler_session_add_args, adaptive_gamma),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "How many drafts a step gets, num_drafts at most, with has_adaptive_gamma of the session.\n"
    "\n"
    "BY_ENTROPY, of MODEL without draft_top_k: as in sampler_speculative_args, from gamma_min to\n"
    "num_drafts, H at the sequence's temperature (a greedy one's at 1) and smoothed by ema_beta over\n"
    "its own steps.\n"
    "\n"
    "MEASURED: the number of most tokens a second, from 0 to num_drafts, by the time from plan to\n"
    "advance. It is one for all such sequences of the session. Times differ from run to run: with\n"
    "SAMPLE_MATCH texts stay as they are, by other rules they follow the same distribution, but the\n"
    "seed does not fix them. What is measured are rounds of drafts and their verification that these\n"
    "sequences begin and end together, while no other one has a span; so that they do, a plan that\n"
    "has a span of the drafter for one has none of the target for those that have their drafts.\n"
    "Beside others MODEL drafts nothing, and the account is kept by what was measured. With\n"
    "draft_top_k a number is of positions."},
  {"ema_beta", "ema_beta", offsetof(sampler_session_add_args, ema_beta),
   KIND_F32, ELEMENT_NONE, 0, -1, -1, 0,
    "of BY_ENTROPY, in [0, 1)"},
  {"gamma_min", "gamma_min", offsetof(sampler_session_add_args, gamma_min),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "of BY_ENTROPY, in [0, num_drafts]"},
  {"resumed", "resumed", offsetof(sampler_session_add_args, resumed),
   KIND_OBJECT, ELEMENT_NONE, 0, 5, -1, 0,
    "What sampler_session_get gave of a removed sequence, of this session or of another one, which\n"
    "goes on here. Its adaptive_values and drafter_entropy go on, without which the next tokens may\n"
    "be others, and its num_steps, num_drafted and num_accepted; nothing else is read. Adaptive\n"
    "values must not be infinite, the entropy must be NaN or finite and at least 0, numbers in\n"
    "[0, 2^62). Read during the call alone. None: it is a new one."},
};

static PyObject *session_add_args_names[26];
static PyTypeObject *session_add_args_result_type;
const Struct session_add_args_struct = {
  "session_add_args", session_add_args_members, 26, 6, sizeof(sampler_session_add_args), 1,
  NULL, 0, NULL,
  session_add_args_names, &session_add_args_result_type,
    ""};

const Member session_fork_args_members[] = {
  {"source", "source", offsetof(sampler_session_fork_args, source),
   KIND_I32, ELEMENT_NONE, 0, -1, -1, 0,
    "What is forked: a sequence, which goes on as if nothing had been."},
  {"seed", "seed", offsetof(sampler_session_fork_args, seed),
   KIND_OBJECT, ELEMENT_U64, 0, 0, -1, 0,
    "None: the source's, with which its text comes again."},
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
    "[num_sequences] Which ones, none twice, in the order in which they get of max_tokens. Finished\n"
    "ones are passed over. None and 0: all."},
  {"num_sequences", "num_sequences", offsetof(sampler_session_plan_args, num_sequences),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"max_tokens", "max_tokens", offsetof(sampler_session_plan_args, max_tokens),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    "Tokens of all spans of a model at most; 0: no limit. Else at least max_drafts + 1. Texts that\n"
    "are longer are planned in parts. A sequence that there is no room for gets no span; without\n"
    "`sequences` it is among the first next time."},
  {"out_spans", "out_spans", offsetof(sampler_session_plan_args, out_spans),
   KIND_OBJECT, ELEMENT_NONE, 0, 1, -1, 0,
    "[num_sequences], or [max_sequences] where that is 0. A sequence has a span of one of the two\n"
    "models: of the drafter where it needs a draft. out_drafter_spans may be None where none has\n"
    "SAMPLER_DRAFTS_MODEL."},
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
    "[spans of the target, max_drafts] What each draft of a span follows: a lower one of its drafts,\n"
    "-1 the text; in a chain draft i follows i - 1. What follows the drafts of a span is -1. In a\n"
    "tree drafts see those that they follow, and not the others; their positions in the text are\n"
    "their depths. The first path comes first, so that a cache that is cut to out_cache_lengths\n"
    "holds the text: a kept draft beside that path is fed again. May be None where no sequence has a\n"
    "draft_top_k above 1."},
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
    "[num_spans] Spans that the target ran, whole copies of those planned: any of them, in any\n"
    "order."},
  {"num_spans", "num_spans", offsetof(sampler_session_advance_args, num_spans),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"logits", "logits", offsetof(sampler_session_advance_args, logits),
   KIND_OBJECT, ELEMENT_FLOATS, 0, 1, -1, 0,
    "Their rows of logits, span after span: [sum of num_logits, vocabulary_size]. The stride is in\n"
    "elements; 0: vocabulary_size. They are not read any more when the call returns SAMPLER_OK;\n"
    "after CUDA work that was enqueued may still read them."},
  {"logits_row_stride", "logits_row_stride", offsetof(sampler_session_advance_args, logits_row_stride),
   KIND_I64, ELEMENT_NONE, 0, -1, -1, 0,
    ""},
  {"drafter_spans", "drafter_spans", offsetof(sampler_session_advance_args, drafter_spans),
   KIND_OBJECT, ELEMENT_NONE, 0, 2, -1, 0,
    "The same of the drafter."},
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
    "[rows of logits] With masks in the session's pipeline: the mask of each row of the target,\n"
    "which follows the text and the drafts before it; negative: none. Else None."},
  {"out_token_ids", "out_token_ids", offsetof(sampler_session_advance_args, out_token_ids),
   KIND_OBJECT, ELEMENT_I32, 1, 5, 0, 0,
    "What follows is by span of the target, [num_spans, ...]; all but out_token_ids and out_counts\n"
    "may be None, and where there is no span those, too.\n"
    "\n"
    "[num_spans, max_drafts + 1] New tokens, then -1; and how many. A span without logits has none."},
  {"out_counts", "out_counts", offsetof(sampler_session_advance_args, out_counts),
   KIND_OBJECT, ELEMENT_I64, 1, 6, 1, 0,
    ""},
  {"out_finish_reasons", "out_finish_reasons", offsetof(sampler_session_advance_args, out_finish_reasons),
   KIND_OBJECT, ELEMENT_I32, 1, 7, 2, 0,
    "Not NONE: the sequence has finished, and is not planned any more."},
  {"out_cache_lengths", "out_cache_lengths", offsetof(sampler_session_advance_args, out_cache_lengths),
   KIND_OBJECT, ELEMENT_I64, 1, 8, 3, 0,
    "To which lengths to cut the caches. Drafts that were not kept are cut off."},
  {"out_drafter_cache_lengths", "out_drafter_cache_lengths", offsetof(sampler_session_advance_args, out_drafter_cache_lengths),
   KIND_OBJECT, ELEMENT_I64, 1, 9, 4, 0,
    ""},
  {"out_accepted_counts", "out_accepted_counts", offsetof(sampler_session_advance_args, out_accepted_counts),
   KIND_OBJECT, ELEMENT_I64, 1, 10, 5, 0,
    "Drafts that became text."},
  {"out_row_status", "out_row_status", offsetof(sampler_session_advance_args, out_row_status),
   KIND_OBJECT, ELEMENT_U32, 1, 11, 6, 0,
    "Of BAD_ROW: why; else 0."},
  {"reports", "reports", offsetof(sampler_session_advance_args, reports),
   KIND_OBJECT, ELEMENT_NONE, 0, 12, 7, 0,
    "Log-probabilities of the new tokens, then NaN, and of the first num_top_logprobs tokens in rank\n"
    "order, then -1 and NaN: logprob_kind, out_logprobs, num_top_logprobs in [0, max_top_logprobs],\n"
    "out_top_token_ids of int32_t and out_top_logprobs. What else sampler_report_args has must be 0.\n"
    "In host memory. None: none."},
};

static const char *const session_advance_args_results[] = {"token_ids", "counts", "finish_reasons", "cache_lengths", "drafter_cache_lengths", "accepted_counts", "row_status", "reports", NULL};

static PyObject *session_advance_args_names[17];
static PyTypeObject *session_advance_args_result_type;
const Struct session_advance_args_struct = {
  "session_advance_args", session_advance_args_members, 17, 13, sizeof(sampler_session_advance_args), 1,
  NULL, 0, session_advance_args_results,
  session_advance_args_names, &session_advance_args_result_type,
    ""};

const char sampler_sample_doc[] =
    "sample($self, input, *, stream=None, workspace=None, workspace_bytes=None, row_indices=None, num_row_indices=None, slots=None, num_slots=None, params=None, row_params=None, pipeline=None, seed=None, offset=None, seeds=None, offsets=None, streams=None, num_seeds=None, num_offsets=None, draw_method=None, token_id_type=None, out_token_ids=None, out_row_status=None, reports=None)\n"
    "--\n"
    "\n"
    "Draws one token per output row from what the filters keep of its input row.\n"
    "\n"
    "stream\n"
    "    Where the work is enqueued. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "    alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "    or one stream. Its contents are undefined before and after a call.\n"
    "row_indices\n"
    "    [num_row_indices] The input row that each output row draws from, in [0, input.num_rows); any\n"
    "    other value makes the output row bad. Rows of output are then num_row_indices, in [0, 2^31).\n"
    "    Outputs of one input row with equal parameters share the work of preparing it. None and 0:\n"
    "    output row i draws from input row i.\n"
    "slots\n"
    "    [output rows] The slot of each output row, in [0, num_slots); any other value makes the row\n"
    "    bad. Engines hold parameters, seeds and offsets by sequence, in arrays of num_slots entries of\n"
    "    which a batch names some: row_params and random are indexed by slot, logits by row. None and 0:\n"
    "    output row i has slot i.\n"
    "params\n"
    "    What to draw from. None: temperature 1 and no filter.\n"
    "row_params\n"
    "    None: the same for all.\n"
    "pipeline\n"
    "    Edits of the logits. None: none.\n"
    "seeds\n"
    "    [num_seeds], [num_offsets] Each number is 1 (one for all) or the number of slots. None and 0:\n"
    "    `seed`, `offset`.\n"
    "streams\n"
    "    [slots] The stream of each: a request id, say, where all share a seed. None: the slot's number\n"
    "    where one seed serves all, so that they draw independently; 0 where each has its own, so that a\n"
    "    row's token depends on its seed and offset alone and not on its place.\n"
    "draw_method\n"
    "    How the token is drawn. GUMBEL rounds logit / temperature + noise to f32: logits of a size\n"
    "    above 1,000 or so coarsen the noise, and those for which it would pass 2^126, or -2^126, tie,\n"
    "    so that the lowest id of them is drawn.\n"
    "token_id_type\n"
    "    Type of out_token_ids, and of the ids of reports.\n"
    "out_token_ids\n"
    "    [output rows] The tokens: column numbers, or candidate ids. -1 or the handle's fallback token\n"
    "    for a bad row. Required.\n"
    "out_row_status\n"
    "    [output rows] SAMPLER_ROW_ bits. None: not wanted.\n"
    "reports\n"
    "    What else is told of each output row, all of sampler_report_args. None: nothing.";

const char sampler_filter_doc[] =
    "filter($self, input, *, stream=None, workspace=None, workspace_bytes=None, slots=None, num_slots=None, params=None, row_params=None, output_kind=None, output_dtype=None, output=None, output_stride=None, out_kept_counts=None, out_row_status=None, pipeline=None)\n"
    "--\n"
    "\n"
    "Writes what the filters keep of each row: softmax without filters, renormalisation, masks.\n"
    "\n"
    "stream\n"
    "    Where the work is enqueued. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "    alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "    or one stream. Its contents are undefined before and after a call.\n"
    "slots\n"
    "    [input.num_rows] As in sampler_sample_args.\n"
    "output_kind\n"
    "    PROBABILITIES: the softmax of the kept tokens, which sums to 1 up to rounding; one-hot when\n"
    "    greedy; exactly 0 in every element of a bad row. VALUES: the kept logits unchanged, -inf\n"
    "    elsewhere; a bad row is copied as it is. VALUES needs logits.\n"
    "output_dtype\n"
    "    SAMPLER_F32 or input.dtype.\n"
    "output\n"
    "    [input.num_rows, input.num_cols] Each row output_stride elements after the one before, at least\n"
    "    num_cols; 0: num_cols. With candidate lists an element belongs to the candidate at the same\n"
    "    place, and those that follow a row's last one are written as not kept. Required.\n"
    "out_kept_counts\n"
    "    [input.num_rows] As in sampler_report_args, and SAMPLER_ROW_ bits. None: not wanted.\n"
    "pipeline\n"
    "    Edits of the logits, as in sampler_sample_args: VALUES writes the logits that they left.";

const char sampler_select_doc[] =
    "select($self, input, num_selected, *, stream=None, workspace=None, workspace_bytes=None, selected_counts=None, output_dtype=None, token_id_type=None, out_values=None, out_token_ids=None, out_counts=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Writes the first tokens of each row in rank order: their values and ids.\n"
    "\n"
    "num_selected\n"
    "    How many tokens a row yields at most: columns of the outputs, in [1, input.num_cols].\n"
    "stream\n"
    "    Where the work is enqueued. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "    alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "    or one stream. Its contents are undefined before and after a call.\n"
    "selected_counts\n"
    "    [input.num_rows] How many each row yields. <= 0 or >= num_selected: num_selected. In host\n"
    "    memory with the handle's host_parameters. None: num_selected for all.\n"
    "output_dtype\n"
    "    Types of out_values, SAMPLER_F32 or input.dtype, and of out_token_ids.\n"
    "out_values\n"
    "    [input.num_rows, num_selected] Values and ids, both in rank order and contiguous. +inf is a\n"
    "    value like any other here; NaN makes the row bad. Where a row has fewer tokens to give, the\n"
    "    rest is -inf (probabilities: 0) and -1; so is all of a bad row. Either may be None, not both.\n"
    "out_counts\n"
    "    [input.num_rows] How many tokens each row yielded; 0 for a bad row. None: not wanted.";

const char sampler_verify_doc[] =
    "verify($self, target, draft=None, draft_token_ids=None, *, stream=None, workspace=None, workspace_bytes=None, num_drafts=None, draft_counts=None, layout=None, slots=None, num_slots=None, params=None, row_params=None, draft_params=None, draft_row_params=None, pipeline=None, seed=None, offset=None, seeds=None, offsets=None, streams=None, num_seeds=None, num_offsets=None, acceptance=None, acceptances=None, sibling_rule=None, draw_method=None, token_id_type=None, accumulate_counts=None, out_token_ids=None, out_accepted_counts=None, out_emitted_counts=None, out_row_status=None, reports=None, out_positions=None, kv_indices=None, out_kv_indices=None)\n"
    "--\n"
    "\n"
    "Verifies each sequence's chain of drafts and emits between 1 and num_drafts + 1 tokens.\n"
    "\n"
    "target\n"
    "    [num_sequences, num_drafts + 1, num_cols] The target's row at each draft position, then the one\n"
    "    that follows the last draft. target.num_rows is num_sequences * (num_drafts + 1), whatever\n"
    "    layout->target_sequence_stride is, and tells num_sequences. Of rows of given probabilities only\n"
    "    the drafts' elements are looked at before the first rejection; a candidate list is read whole,\n"
    "    so that a bad element anywhere in it makes the sequence bad.\n"
    "draft\n"
    "    [num_sequences, num_drafts, num_cols] The rows that the drafts were drawn from. Its num_cols is\n"
    "    the target's. All 0: the drafter was deterministic (its draft has probability 1), as with\n"
    "    n-gram drafts. A token that is not in a candidate list has probability 0 there.\n"
    "draft_token_ids\n"
    "    [num_sequences, num_drafts] The draft tokens, of type token_id_type. One outside the\n"
    "    vocabulary, [0, num_cols) (candidate lists: [0, 2^20)), is rejected, and the residual there is\n"
    "    p. Required, unless num_drafts is 0. num_drafts is in [0, 65535].\n"
    "stream\n"
    "    Where the work is enqueued. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "    alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "    or one stream. Its contents are undefined before and after a call.\n"
    "draft_counts\n"
    "    [num_sequences] How many drafts each sequence has, in [0, num_drafts]; values outside are\n"
    "    clamped and set a status. None: num_drafts.\n"
    "layout\n"
    "    Packed batches, rows in other places, and trees. None: dense chains.\n"
    "slots\n"
    "    [num_sequences]\n"
    "params\n"
    "    Temperature and filters of the rows that are logits, target and draft alike. When the target is\n"
    "    probabilities the temperature must be 1 or greedy; when the draft is too (or there is none),\n"
    "    the filters must be off. A value that is not makes the call fail, an element of an array its\n"
    "    sequence: SAMPLER_ROW_INVALID_PARAMETER. Greedy: a draft is accepted while it is the target's\n"
    "    argmax, and the token that follows is the argmax too.\n"
    "draft_params\n"
    "    Temperature and filters of `draft`. None: those of the target, which must then have no other\n"
    "    stage where the draft is logits.\n"
    "pipeline\n"
    "    The stages of the target's rows. At each position the text, and what adaptive stages remember,\n"
    "    are as if the drafts before it had been accepted; nothing is changed. token_bitmask_indices is\n"
    "    [num_sequences, num_drafts + 1], by position, in trees and packed batches too. Forced tokens\n"
    "    are not verified: forced_token_id must be None.\n"
    "seeds\n"
    "    [num_seeds], [num_offsets] Each number is 1 (one for all) or the number of slots. None and 0:\n"
    "    `seed`, `offset`.\n"
    "streams\n"
    "    [slots] The stream of each: a request id, say, where all share a seed. None: the slot's number\n"
    "    where one seed serves all, so that they draw independently; 0 where each has its own, so that a\n"
    "    row's token depends on its seed and offset alone and not on its place.\n"
    "acceptance\n"
    "    The rule, and the numbers of the rules. None: SAMPLER_ACCEPT_STANDARD, which rule 0 is, too.\n"
    "    Dense chains by it are verified faster than by others.\n"
    "acceptances\n"
    "    The rule by slot, 0: that of `acceptance`. One that is no such constant, or does not go with\n"
    "    what the call has, makes its sequence bad (INVALID_PARAMETER). None: the same for all.\n"
    "sibling_rule\n"
    "    How siblings of a tree were drafted; 0 without trees.\n"
    "draw_method\n"
    "    How SAMPLE_MATCH draws. The other rules: INVERSE_CDF.\n"
    "token_id_type\n"
    "    Type of draft_token_ids and out_token_ids, and of the ids of reports.\n"
    "accumulate_counts\n"
    "    1: the counts are added to what the two arrays hold. 0: they overwrite it.\n"
    "out_token_ids\n"
    "    [num_sequences, num_drafts + 1] The accepted drafts, then one token of the target, then -1. For\n"
    "    a bad sequence -1 throughout (the handle's fallback token first, if it has one). Required.\n"
    "out_accepted_counts\n"
    "    [num_sequences] each; None: not wanted. Drafts that would be accepted each on its own, wherever\n"
    "    they stand. Positions after the first rejection count only here: nothing there changes a token\n"
    "    or, draft ids apart, a status. Of trees and of rules but STANDARD it is out_emitted_counts.\n"
    "out_emitted_counts\n"
    "    Drafts kept before the first rejection: out_token_ids has one token more.\n"
    "reports\n"
    "    What else is told of every emitted token, in the order of out_token_ids: of the target's\n"
    "    distribution at its position; as for a bad row where no token stands. out_values, num_chosen,\n"
    "    out_kept_offsets and out_removed_by must be 0, and what belongs to them. None: nothing.\n"
    "out_positions\n"
    "    [num_sequences, num_drafts + 1] The positions that the emitted tokens were decided at, 0 first:\n"
    "    the rows of a KV cache to keep. Then -1. kv_indices, of the same shape, has a number for each\n"
    "    position (packed batches too); out_kv_indices has those of out_positions. None: not wanted.";

const char sampler_residual_doc[] =
    "residual($self, target, draft=None, stream=None, workspace=None, workspace_bytes=None, draft_token_ids=None, token_id_type=None, output_dtype=None, output=None, output_stride=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Writes what sampler_verify draws from after a rejection: max(p - q, 0) of each row, renormalised,\n"
    "or p where that is 0 everywhere.\n"
    "\n"
    "target\n"
    "    [num_rows, num_cols] The target's rows of probabilities, p. Taken as given, so they should sum\n"
    "    to 1. Not candidate lists.\n"
    "draft\n"
    "    [num_rows, num_cols] The rows of probabilities that the drafts were drawn from, q, of as many\n"
    "    rows and columns, taken as given. All 0: the drafter was deterministic, and draft_token_ids\n"
    "    says what it proposed.\n"
    "stream\n"
    "    Where the work is enqueued. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "    alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "    or one stream. Its contents are undefined before and after a call.\n"
    "draft_token_ids\n"
    "    [num_rows] The tokens of a deterministic drafter, of type token_id_type: q is 1 for them. Of a\n"
    "    row whose id lies outside [0, num_cols) the residual is p, and a status tells. Required where\n"
    "    draft is all 0; None where it is not.\n"
    "output_dtype\n"
    "    SAMPLER_F32, or target.dtype.\n"
    "output\n"
    "    [num_rows, num_cols] Probabilities, which sum to 1 up to rounding, exactly 0 where nothing is\n"
    "    left; 0 in every element of a bad row. Rows start output_stride elements apart, at least\n"
    "    num_cols; 0: num_cols. Required.\n"
    "out_row_status\n"
    "    [num_rows] None: not wanted. A row of p or q with an element that is negative, NaN or infinite\n"
    "    is bad, and a p that is 0 throughout is empty. A q that is 0 throughout takes nothing off p.";

const char sampler_sample_workspace_size_doc[] =
    "sample_workspace_size($self, input, *, row_indices=None, num_row_indices=None, slots=None, num_slots=None, params=None, row_params=None, pipeline=None, seed=None, offset=None, seeds=None, offsets=None, streams=None, num_seeds=None, num_offsets=None, draw_method=None, token_id_type=None, out_token_ids=None, out_row_status=None, reports=None)\n"
    "--\n"
    "\n"
    "How many bytes of workspace `sample` needs with these arguments. No array is read or written.";

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
    "verify_workspace_size($self, target, draft=None, draft_token_ids=None, *, num_drafts=None, draft_counts=None, layout=None, slots=None, num_slots=None, params=None, row_params=None, draft_params=None, draft_row_params=None, pipeline=None, seed=None, offset=None, seeds=None, offsets=None, streams=None, num_seeds=None, num_offsets=None, acceptance=None, acceptances=None, sibling_rule=None, draw_method=None, token_id_type=None, accumulate_counts=None, out_token_ids=None, out_accepted_counts=None, out_emitted_counts=None, out_row_status=None, reports=None, out_positions=None, kv_indices=None, out_kv_indices=None)\n"
    "--\n"
    "\n"
    "How many bytes of workspace `verify` needs with these arguments. No array is read or written.";

const char sampler_residual_workspace_size_doc[] =
    "residual_workspace_size($self, target, draft=None, draft_token_ids=None, token_id_type=None, output_dtype=None, output=None, output_stride=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "How many bytes of workspace `residual` needs with these arguments. No array is read or written.";

const char state_append_doc[] =
    "append($self, *, stream=None, workspace=None, workspace_bytes=None, slots=None, num_rows=None, tokens=None, token_id_type=None, token_kind=None, out_lengths=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Appends a prompt, or text that was not drawn here. Adaptive values stay as they are.\n"
    "\n"
    "stream\n"
    "    Where the work is enqueued. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "    alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "    or one stream. Its contents are undefined before and after a call.\n"
    "tokens\n"
    "    A list for each row: tokens.num_lists is num_rows. All of a row's tokens are appended, or none:\n"
    "    its offsets must be a list's (INVALID_LIST), the tokens fit (STATE_FULL), and the ids lie in\n"
    "    [0, 2^31) (INVALID_LIST).\n"
    "token_kind\n"
    "    Prompt tokens after an output token make the row bad (INVALID_LIST).\n"
    "out_lengths\n"
    "    [num_rows] How many tokens each slot has afterwards; -1 for a bad slot. None: not wanted.";

const char state_accept_doc[] =
    "accept($self, *, stream=None, workspace=None, workspace_bytes=None, slots=None, num_rows=None, token_ids=None, num_tokens=None, token_id_type=None, observations=None, params=None, row_params=None, offsets=None, out_lengths=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Tells what was drawn: the tokens enter text and counts, and adaptive values move on with each,\n"
    "by section 14.2 of docs/contract.md.\n"
    "\n"
    "stream\n"
    "    Where the work is enqueued. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "    alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "    or one stream. Its contents are undefined before and after a call.\n"
    "token_ids\n"
    "    [num_rows, num_tokens] out_token_ids of the draw (num_tokens 1) or of verification. A row ends\n"
    "    at its first negative id; where its first id is negative nothing happens. All of a row's tokens\n"
    "    are taken, or none: they must fit (STATE_FULL), their ids be below 2^31 (INVALID_LIST), and the\n"
    "    slot's numbers of adaptive stages good (INVALID_PARAMETER), which out_row_status tells.\n"
    "    num_tokens in [1, 2^20].\n"
    "observations\n"
    "    [num_rows, num_tokens] out_observations of the call that drew the tokens. One that is NaN moves\n"
    "    neither mirostat nor adaptive-p. None: all are.\n"
    "params\n"
    "    Those of that call, of which the adaptive stage, top_p and its decay are read. Numbers by slot\n"
    "    are indexed by the slots of this call, and there are as many as the state has. Both None:\n"
    "    adaptive values stay.\n"
    "offsets\n"
    "    [slots of the state] In and out: each grows by the tokens that its slot took. It may be the\n"
    "    array that the draw has as sampler_random.offsets, so that a loop of draw and accept needs no\n"
    "    host. None: offsets are the caller's business.\n"
    "out_lengths\n"
    "    [num_rows] As in sampler_state_append_args.";

const char state_truncate_doc[] =
    "truncate($self, *, stream=None, workspace=None, workspace_bytes=None, slots=None, num_rows=None, lengths=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Forgets the tokens after the first `lengths`, as if they had never come: the slot's bytes are\n"
    "what they were. Prompts may be cut, too.\n"
    "\n"
    "stream\n"
    "    Where the work is enqueued. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "    alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "    or one stream. Its contents are undefined before and after a call.\n"
    "lengths\n"
    "    [num_rows] How many tokens to keep. More than there are: all; negative: none. Required.";

const char state_copy_doc[] =
    "copy($self, *, stream=None, workspace=None, workspace_bytes=None, source_slots=None, destination_slots=None, num_rows=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Copies sequences: beams, several continuations of a prompt, a larger state. Adaptive values of\n"
    "earlier tokens are copied where both states keep them; where only the destination does, they are\n"
    "the source's present ones.\n"
    "\n"
    "stream\n"
    "    Where the work is enqueued. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "    alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "    or one stream. Its contents are undefined before and after a call.\n"
    "source_slots\n"
    "    [num_rows] Both required. A source may serve many rows. Within one state no destination may be\n"
    "    a source of another row.\n"
    "out_row_status\n"
    "    STATE_FULL: the source's tokens do not fit in the destination, which is as it was.";

const char state_reset_doc[] =
    "reset($self, *, stream=None, workspace=None, workspace_bytes=None, slots=None, num_rows=None, adaptive_values=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Empties slots for new sequences.\n"
    "\n"
    "stream\n"
    "    Where the work is enqueued. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "    alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "    or one stream. Its contents are undefined before and after a call.\n"
    "slots\n"
    "    None and num_rows 0: every slot, and no array is read or written.\n"
    "adaptive_values\n"
    "    [num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] To begin with; a NaN is the start of its stage, an\n"
    "    infinity makes the row bad (INVALID_PARAMETER). None: all start.";

const char state_read_doc[] =
    "read($self, *, stream=None, workspace=None, workspace_bytes=None, slots=None, num_rows=None, out_token_ids=None, num_tokens=None, token_id_type=None, out_lengths=None, out_prompt_lengths=None, out_adaptive_values=None, out_row_status=None)\n"
    "--\n"
    "\n"
    "Writes what slots hold. Outputs that are None are not written.\n"
    "\n"
    "stream\n"
    "    Where the work is enqueued. Ignored by a CPU handle.\n"
    "workspace\n"
    "    Memory for the call, of as many bytes as its _workspace_size function tells, or more; any\n"
    "    alignment. None and 0: the handle's. Calls that share one must not overlap in time: one thread,\n"
    "    or one stream. Its contents are undefined before and after a call.\n"
    "out_token_ids\n"
    "    [num_rows, num_tokens] The first tokens of each slot, then -1. num_tokens in [0, 2^31).\n"
    "out_lengths\n"
    "    [num_rows] each; -1 for a bad slot.\n"
    "out_adaptive_values\n"
    "    [num_rows, SAMPLER_NUM_ADAPTIVE_VALUES] NaN where a stage has not begun.";

const char sampler_state_size_doc[] =
    "state_size($self, *, num_slots=None, max_tokens=None, max_distinct_tokens=None, keep_adaptive_values=None)\n"
    "--\n"
    "\n"
    "How many bytes of memory such a state takes, those on the device too.\n"
    "Errors: INVALID_ARGUMENT, OUT_OF_MEMORY (more than there can be).\n"
    "\n"
    "num_slots\n"
    "    In [1, 2^31).\n"
    "max_tokens\n"
    "    The longest sequence, its prompt included. In [1, 2^31).\n"
    "max_distinct_tokens\n"
    "    For how many distinct tokens of a slot counts are kept, 20 bytes each, in [0, max_tokens]; 0: a\n"
    "    quarter of max_tokens, but 64 where that is more, and at most max_tokens. From the first token\n"
    "    that has no room on, a sequence is counted in each draw: the results are the same, the draw\n"
    "    takes longer.\n"
    "keep_adaptive_values\n"
    "    1: the adaptive values after each token are kept, 16 bytes each, and truncating restores them.\n"
    "    0: truncating leaves them.";

const char sampler_session_size_doc[] =
    "session_size($self, *, max_sequences=None, max_context=None, vocabulary_size=None, logits_dtype=None, keep_drafter_rows=None, max_drafts=None, drafter_context=None, lookup_tokens=None, max_end_tokens=None, max_stop_sequences=None, max_stop_tokens=None, max_top_logprobs=None, params=None, pipeline=None, acceptance=None, has_draft_trees=None, has_adaptive_gamma=None, clock=None, clock_user=None, stream=None, filler_top_k=None)\n"
    "--\n"
    "\n"
    "How many bytes of memory such a session takes, those on the device too. Errors:\n"
    "INVALID_ARGUMENT, OUT_OF_MEMORY.\n"
    "\n"
    "max_sequences\n"
    "    Sequences at once, finished ones that were not removed among them. In [1, 2^20].\n"
    "max_context\n"
    "    The longest text, its prompt included: what the target's cache can hold. In [1, 2^31). A\n"
    "    sequence takes 13 bytes for each token of it, a few hundred bytes, and for each of max_drafts\n"
    "    about 40, and 8 more for each of max_top_logprobs.\n"
    "vocabulary_size\n"
    "    Columns of the logits, in [1, 2^20), and their type.\n"
    "keep_drafter_rows\n"
    "    1: the session keeps the drafter's rows, max_drafts rows of logits a sequence, which STANDARD,\n"
    "    BLOCK, RELAXED and DEFERRED need of a drafter model's drafts. Default 0.\n"
    "max_drafts\n"
    "    Drafts of a sequence and step at most, in [0, 1024]. Default 0: nothing is drafted.\n"
    "drafter_context\n"
    "    The longest text that the drafter model's cache can hold; a longer one goes on without drafts,\n"
    "    which is_drafting of sampler_session_get tells. In [0, 2^31). 0: max_context.\n"
    "lookup_tokens\n"
    "    Room of each sequence's prompt lookup, which takes 132 bytes a token; a longer text goes\n"
    "    on without drafts. In [0, 2^27]. Default 0: no sequence has SAMPLER_DRAFTS_PROMPT_LOOKUP.\n"
    "max_end_tokens\n"
    "    Of a sequence: end tokens, stop sequences, and tokens of all its stop sequences. In [0, 2^20].\n"
    "max_top_logprobs\n"
    "    Log-probabilities of the first tokens that sampler_session_advance can be asked for, in\n"
    "    [0, vocabulary_size]. Default 0.\n"
    "params\n"
    "    What no sequence can have of its own: rules of ties, orders, scopes and forms, and the list of\n"
    "    stages. Its numbers are those of sequences that are added without parameters. None: temperature\n"
    "    1 and no filter.\n"
    "pipeline\n"
    "    Lists and masks of the stages, by slot: the slot is the sequence's number, of max_sequences.\n"
    "    None: none. The struct is copied; the arrays that it names are the caller's, and are read in\n"
    "    each advance. history, prompt_lengths, adaptive_values, state and token_bitmask_indices must be\n"
    "    0: the session's texts are the history. Where `stop` is 0 it is the end tokens of each\n"
    "    sequence, as min_new_tokens needs it.\n"
    "acceptance\n"
    "    How drafts are accepted: the rule of sequences that name none, and the numbers of the rules,\n"
    "    where the most drafts of a sequence are max_drafts. Rule 0, and None:\n"
    "    SAMPLER_ACCEPT_SAMPLE_MATCH. Copied, with synthetic_rates.\n"
    "has_draft_trees\n"
    "    1: sequences may have draft_top_k. Default 0.\n"
    "has_adaptive_gamma\n"
    "    1: sequences may have adaptive_gamma, which takes a row of f32 and 20 KB. Default 0.\n"
    "clock\n"
    "    Of SAMPLER_GAMMA_MEASURED. None: the system's monotonic clock.\n"
    "stream\n"
    "    Of a CUDA handle: all of the session's work is enqueued on it, and logits are read in its\n"
    "    order: what computes them on another stream must have been waited for. It must outlive the\n"
    "    session. None: the legacy default stream. A CPU handle ignores it.\n"
    "filler_top_k\n"
    "    What the n-grams of sequences with SAMPLER_DRAFTS_NGRAM learn of each new position: the so many\n"
    "    likeliest tokens of the target, in [0, 2^20), and then, where it is not among them, the token\n"
    "    that came. It takes as many ids for each row of logits, max_drafts + 1 rows a sequence. Default\n"
    "    0: the token that came alone.";

const char session_add_doc[] =
    "add($self, token_ids, *, prompt_length=None, cache_length=None, drafter_cache_length=None, params=None, seed=None, max_new_tokens=None, end_token_ids=None, stop_sequences=None, draft_source=None, acceptance=None, ngram=None, num_drafts=None, min_match=None, draft_unknown=None, ngram_has_text=None, ngram_least_count=None, ngram_least_share=None, least_draft_probability=None, draft_top_k=None, adaptive_gamma=None, ema_beta=None, gamma_min=None, resumed=None)\n"
    "--\n"
    "\n"
    "Adds a sequence; *out_sequence is its number. It may have finished already: where its last token,\n"
    "if it is a new one, ends it, or there is no room for another one. With PROMPT_LOOKUP it takes\n"
    "time in proportion to lookup_tokens. Errors: INVALID_ARGUMENT (also: the session has\n"
    "max_sequences), CUDA, the status of ngram's initialize.\n"
    "\n"
    "token_ids\n"
    "    The text so far, [num_tokens], in [1, max_context], ids of the vocabulary. The first\n"
    "    prompt_length are the prompt, in [1, num_tokens], and the others its new tokens, as of a\n"
    "    sequence that was removed and goes on here; 0: all are the prompt.\n"
    "cache_length\n"
    "    How many of these tokens the target's and the drafter's caches hold already, in\n"
    "    [0, num_tokens - 1] and [0, num_tokens], and at most drafter_context. A drafter's cache that\n"
    "    holds the whole text is fed its last token again.\n"
    "params\n"
    "    None: the session's. Rules of ties, orders, scopes, forms and stages must be the session's.\n"
    "max_new_tokens\n"
    "    New tokens at most, in [0, 2^31); 0: as many as max_context leaves.\n"
    "end_token_ids\n"
    "    [num_end_tokens] Tokens that end the text.\n"
    "stop_sequences\n"
    "    Sequences of tokens that end the text where its new tokens end in one; none may be empty.\n"
    "    num_lists of them, in one array of int32_t. All 0: none.\n"
    "acceptance\n"
    "    The rule that its drafts are accepted by, which speculative.h explains; 0: the session's, by\n"
    "    default SAMPLE_MATCH: the target's own token is drawn at each position, and drafts are kept\n"
    "    while they are that token, so that the text is, token by token, the one without drafts. By\n"
    "    other rules tokens depend on the drafts and on num_drafts, too. Drafts of a model were drawn\n"
    "    from its rows, others are certain. SYNTHETIC needs synthetic_rates of the session.\n"
    "ngram\n"
    "    The n-grams of NGRAM, else None. Copied. They learn the text now, unless ngram_has_text is 1,\n"
    "    and later each new token. Drafts come by `propose` where it has that and draft_unknown is 0,\n"
    "    else by next_token. Where it fails later, as for want of memory, the sequence goes on without\n"
    "    drafts.\n"
    "num_drafts\n"
    "    Drafts a step at most, in [0, max_drafts]; 0: max_drafts.\n"
    "min_match\n"
    "    Of PROMPT_LOOKUP: the shortest match, in [0, 2^27]; 0: 1. Drafts are what followed the longest\n"
    "    match and, where the text ends before there are num_drafts, the drafts themselves: what follows\n"
    "    there if the text goes on so.\n"
    "draft_unknown\n"
    "    Of NGRAM. 1: a context that is unknown is followed by the draft that the n-grams give for it.\n"
    "    0: by none.\n"
    "ngram_has_text\n"
    "    1: the n-grams of NGRAM have learned these tokens, as those of a removed sequence, and do not\n"
    "    learn them again. 0: they learn them.\n"
    "ngram_least_count\n"
    "    Of NGRAM, without draft_unknown and with an ngram that has `propose`: drafts end before the\n"
    "    first that was counted fewer than ngram_least_count times after its context, or whose share of\n"
    "    what followed there is below ngram_least_share, in [0, 1]. 0: off.\n"
    "least_draft_probability\n"
    "    Of MODEL without draft_top_k, in [0, 1]: a draft to which the drafter's row gives less than\n"
    "    this probability is the last of its step, as in sampler_speculative_args. 0: off.\n"
    "draft_top_k\n"
    "    Of MODEL, with has_draft_trees of the session, in [0, num_drafts]. 0: drafts are drawn, one a\n"
    "    position. Else they are the drafter's so many likeliest tokens of each position, num_drafts of\n"
    "    them at most: the first of a position goes on, the others hang beside it, and the target runs\n"
    "    them as a tree. For all rules but BLOCK and DEFERRED, to which such drafts are certain; with\n"
    "    SAMPLE_MATCH more of them are kept than of a chain.\n"
    "adaptive_gamma\n"
    "    How many drafts a step gets, num_drafts at most, with has_adaptive_gamma of the session.\n"
    "\n"
    "    BY_ENTROPY, of MODEL without draft_top_k: as in sampler_speculative_args, from gamma_min to\n"
    "    num_drafts, H at the sequence's temperature (a greedy one's at 1) and smoothed by ema_beta over\n"
    "    its own steps.\n"
    "\n"
    "    MEASURED: the number of most tokens a second, from 0 to num_drafts, by the time from plan to\n"
    "    advance. It is one for all such sequences of the session. Times differ from run to run: with\n"
    "    SAMPLE_MATCH texts stay as they are, by other rules they follow the same distribution, but the\n"
    "    seed does not fix them. What is measured are rounds of drafts and their verification that these\n"
    "    sequences begin and end together, while no other one has a span; so that they do, a plan that\n"
    "    has a span of the drafter for one has none of the target for those that have their drafts.\n"
    "    Beside others MODEL drafts nothing, and the account is kept by what was measured. With\n"
    "    draft_top_k a number is of positions.\n"
    "ema_beta\n"
    "    of BY_ENTROPY, in [0, 1)\n"
    "gamma_min\n"
    "    of BY_ENTROPY, in [0, num_drafts]\n"
    "resumed\n"
    "    What sampler_session_get gave of a removed sequence, of this session or of another one, which\n"
    "    goes on here. Its adaptive_values and drafter_entropy go on, without which the next tokens may\n"
    "    be others, and its num_steps, num_drafted and num_accepted; nothing else is read. Adaptive\n"
    "    values must not be infinite, the entropy must be NaN or finite and at least 0, numbers in\n"
    "    [0, 2^62). Read during the call alone. None: it is a new one.";

const char session_fork_doc[] =
    "fork($self, source, *, seed=None, params=None)\n"
    "--\n"
    "\n"
    "Adds a sequence that is a copy of another one, drafts of the step apart: the same text, of which\n"
    "the caches hold as much. The caller copies the caches, cut to what sampler_session_get tells.\n"
    "Errors: INVALID_ARGUMENT (also: the session has max_sequences), CUDA.\n"
    "\n"
    "source\n"
    "    What is forked: a sequence, which goes on as if nothing had been.\n"
    "seed\n"
    "    None: the source's, with which its text comes again.";

const char session_plan_doc[] =
    "plan($self, *, sequences=None, max_tokens=None)\n"
    "--\n"
    "\n"
    "Tells what to run. Planning again without having advanced is fine; the last plan of a sequence\n"
    "counts, and spans of earlier ones are refused, even where they are the same. A draft source that\n"
    "fails ends the drafting of its sequence.\n"
    "Errors: INVALID_ARGUMENT.\n"
    "\n"
    "sequences\n"
    "    [num_sequences] Which ones, none twice, in the order in which they get of max_tokens. Finished\n"
    "    ones are passed over. None and 0: all.\n"
    "max_tokens\n"
    "    Tokens of all spans of a model at most; 0: no limit. Else at least max_drafts + 1. Texts that\n"
    "    are longer are planned in parts. A sequence that there is no room for gets no span; without\n"
    "    `sequences` it is among the first next time.";

const char session_advance_doc[] =
    "advance($self, spans, logits, *, logits_row_stride=None, drafter_spans=None, drafter_logits=None, drafter_row_stride=None, token_bitmask_indices=None, out_token_ids=None, out_counts=None, out_finish_reasons=None, out_cache_lengths=None, out_drafter_cache_lengths=None, out_accepted_counts=None, out_row_status=None, reports=None)\n"
    "--\n"
    "\n"
    "Takes logits: the drafter's become drafts, the target's verify drafts and become tokens. A row\n"
    "without a token (NaN, +inf, all -inf) finishes its sequence, BAD_ROW, with the drafts that were\n"
    "kept before it (BLOCK and DEFERRED, which judge all drafts of a step together, judge those that\n"
    "end before it, and the sequence goes on up to it); a bad row of the drafter only ends the drafts\n"
    "of its step. A span\n"
    "that is not as its sequence was planned last, also since that has been removed or planned anew,\n"
    "is INVALID_ARGUMENT. Of a CUDA handle each sequence with BY_ENTROPY whose step begins makes it\n"
    "wait once more.\n"
    "Errors: INVALID_ARGUMENT, CALLBACK (a broken parallel_for), CUDA.\n"
    "\n"
    "spans\n"
    "    [num_spans] Spans that the target ran, whole copies of those planned: any of them, in any\n"
    "    order.\n"
    "logits\n"
    "    Their rows of logits, span after span: [sum of num_logits, vocabulary_size]. The stride is in\n"
    "    elements; 0: vocabulary_size. They are not read any more when the call returns SAMPLER_OK;\n"
    "    after CUDA work that was enqueued may still read them.\n"
    "drafter_spans\n"
    "    The same of the drafter.\n"
    "token_bitmask_indices\n"
    "    [rows of logits] With masks in the session's pipeline: the mask of each row of the target,\n"
    "    which follows the text and the drafts before it; negative: none. Else None.\n"
    "out_token_ids\n"
    "    What follows is by span of the target, [num_spans, ...]; all but out_token_ids and out_counts\n"
    "    may be None, and where there is no span those, too.\n"
    "\n"
    "    [num_spans, max_drafts + 1] New tokens, then -1; and how many. A span without logits has none.\n"
    "out_finish_reasons\n"
    "    Not NONE: the sequence has finished, and is not planned any more.\n"
    "out_cache_lengths\n"
    "    To which lengths to cut the caches. Drafts that were not kept are cut off.\n"
    "out_accepted_counts\n"
    "    Drafts that became text.\n"
    "out_row_status\n"
    "    Of BAD_ROW: why; else 0.\n"
    "reports\n"
    "    Log-probabilities of the new tokens, then NaN, and of the first num_top_logprobs tokens in rank\n"
    "    order, then -1 and NaN: logprob_kind, out_logprobs, num_top_logprobs in [0, max_top_logprobs],\n"
    "    out_top_token_ids of int32_t and out_top_logprobs. What else sampler_report_args has must be 0.\n"
    "    In host memory. None: none.";
