/* A program of the first release: a record of the ABI has its copy, which is compiled with the
 * headers of the release, run with the library of today, and must print what consumer.txt has. */
#include <inttypes.h>
#include <math.h>
#include <sampler/sampler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, COLS = 16, DRAFTS = 2, ROOM = 1 << 20 };

/* A struct that the library fills, and what lies behind it, which is not the library's. */
#define GUARDED(type, name)  \
  struct {                   \
    type value;              \
    unsigned char guard[96]; \
  } name;                    \
  memset(&name, 0xa5, sizeof name)
#define CHECK_GUARD(name) check_guard(name.guard, sizeof name.guard, #name)

static sampler_t sampler;
static float logits[ROWS][COLS];
static unsigned char workspace[ROOM];

static void check(sampler_status status) {
  if (status == SAMPLER_OK) return;
  printf("%s: %s\n", sampler_status_string(status), sampler_last_error());
  exit(1);
}

static void check_guard(const unsigned char *guard, size_t size, const char *name) {
  for (size_t i = 0; i < size; ++i) {
    if (guard[i] == 0xa5) continue;
    printf("%s was written beyond its end\n", name);
    exit(1);
  }
}

static void print_ids(const char *what, const int32_t *ids, int64_t count) {
  printf("%s:", what);
  for (int64_t i = 0; i < count; ++i) printf(" %" PRId32, ids[i]);
  printf("\n");
}

static void print_floats(const char *what, const float *values, int64_t count) {
  printf("%s:", what);
  for (int64_t i = 0; i < count; ++i) printf(" %a", (double)values[i]);
  printf("\n");
}

static float logit_after(int32_t token, int id) {
  return (float)((token * 7 + id * 5 + (token ^ id)) % 13) * 0.375f - 1.0f;
}

static sampler_rows rows_of(const void *values, int64_t num_rows) {
  sampler_rows rows = {0};
  rows.values = values, rows.num_rows = num_rows, rows.num_cols = COLS;
  return rows;
}

/* ---- Versions, handles, defaults ---- */

static void defaults(void) {
  GUARDED(sampler_options, options);
  check(sampler_options_init(&options.value, sizeof options.value));
  CHECK_GUARD(options);
  const sampler_options inlined_options = sampler_options_default();
  printf("options as inline: %d\n",
         memcmp(&options.value, &inlined_options, sizeof inlined_options) == 0);
  options.value.num_threads = 2;
  options.value.max_rows = ROWS * (DRAFTS + 1), options.value.max_cols = 4096;
  check(sampler_create(&options.value, &sampler));

  GUARDED(sampler_params, params);
  check(sampler_params_init(&params.value, sizeof params.value));
  CHECK_GUARD(params);
  const sampler_params inlined = sampler_params_default();
  printf("defaults: temperature %a, top_p %a, as inline: %d\n", (double)params.value.temperature,
         (double)params.value.top_p, memcmp(&params.value, &inlined, sizeof inlined) == 0);
  memset(&params.value, 0, sizeof params.value);
  check(sampler_params_preset(&params.value, sizeof params.value, "llama.cpp@0.5"));
  CHECK_GUARD(params);
  printf("preset: top_k %" PRId32 ", top_p %a, min_p %a, first stage %" PRId32 "\n",
         params.value.top_k, (double)params.value.top_p, (double)params.value.min_p,
         params.value.stages[0]);

  GUARDED(sampler_generation_args, generation);
  check(sampler_generation_args_init(&generation.value, sizeof generation.value));
  CHECK_GUARD(generation);
  GUARDED(sampler_speculative_args, speculative);
  check(sampler_speculative_args_init(&speculative.value, sizeof speculative.value));
  CHECK_GUARD(speculative);
  GUARDED(sampler_beam_search_args, beams);
  check(sampler_beam_search_args_init(&beams.value, sizeof beams.value));
  CHECK_GUARD(beams);
  printf("loops: %" PRId64 " tokens, gamma %" PRId64 ", %" PRId64 " beams\n",
         generation.value.max_new_tokens, speculative.value.gamma, beams.value.num_beams);

  GUARDED(sampler_capabilities, capabilities);
  capabilities.value.struct_size = sizeof capabilities.value;
  check(sampler_get_capabilities(&capabilities.value));
  CHECK_GUARD(capabilities);
  printf("library: ABI %" PRIu32 " and %" PRIu32
         ", not older: %d, version matches: %d, named: %d, scalar: %d\n",
         sampler_abi_version(), capabilities.value.abi_version,
         sampler_version() >= SAMPLER_VERSION, capabilities.value.version == sampler_version(),
         sampler_version_string()[0] != '\0',
         (capabilities.value.isa_compiled & SAMPLER_ISA_SCALAR) != 0);
  printf("presets: %d, no preset: %d\n", sampler_preset_name(0) != NULL,
         sampler_preset_name(-1) == NULL);
  printf("stage: %s, no stage: %d\n", sampler_stage_name(SAMPLER_STAGE_TOP_P),
         sampler_stage_name(0) == NULL);
}

/* ---- simple.h ---- */

static void simple(void) {
  const sampler_rows input = rows_of(logits, ROWS);
  int32_t ids[ROWS * (DRAFTS + 1)], accepted[1], emitted[1];
  float values[ROWS * COLS];
  check(sampler_argmax(sampler, &input, ids, NULL)), print_ids("argmax", ids, ROWS);
  check(sampler_categorical(sampler, &input, 0.8f, 1, 2, ids, NULL));
  print_ids("categorical", ids, ROWS);
  check(sampler_top_k(sampler, &input, 4, 0.8f, 1, 2, ids, NULL)), print_ids("top_k", ids, ROWS);
  check(sampler_top_p(sampler, &input, 0.7f, 1.5f, 1, 2, ids, NULL)), print_ids("top_p", ids, ROWS);
  check(sampler_min_p(sampler, &input, 0.1f, 1.5f, 1, 2, ids, NULL)), print_ids("min_p", ids, ROWS);
  check(sampler_top_k_top_p(sampler, &input, 5, 0.9f, 1.5f, 3, 4, ids, NULL));
  print_ids("top_k_top_p", ids, ROWS);
  check(sampler_softmax(sampler, &input, 0.7f, values, NULL)),
      print_floats("softmax", values, COLS);
  check(sampler_top_k_renorm(sampler, &input, 3, values, NULL));
  print_floats("top_k_renorm", values, COLS);
  check(sampler_top_p_renorm(sampler, &input, 0.5f, values, NULL));
  print_floats("top_p_renorm", values, COLS);
  check(sampler_top_k_mask(sampler, &input, 2, values, NULL));
  print_floats("top_k_mask", values, COLS);
  check(sampler_top_k_select(sampler, &input, 3, values, ids, NULL));
  print_ids("top_k_select", ids, 3 * ROWS), print_floats("top_k_select", values, 3 * ROWS);
  const int32_t drafts[DRAFTS] = {ids[0], 5};
  check(sampler_chain_speculative(sampler, &input, NULL, drafts, DRAFTS, 1, 2, ids, accepted,
                                  emitted, NULL));
  print_ids("chain", ids, DRAFTS + 1), print_ids("chain emitted", emitted, 1);
}

/* ---- sampling.h ---- */

static void sampling(void) {
  sampler_params params = sampler_params_default();
  params.top_k = 6, params.top_p = 0.95f, params.temperature = 0.9f, params.typical_p = 0.9f;
  params.repetition_penalty = 1.25f, params.dry_multiplier = 0.5f;
  const float temperatures[ROWS] = {0.0f, 0.5f, 1.5f};
  sampler_row_params row_params = {0};
  row_params.struct_size = sizeof row_params;
  row_params.temperature = temperatures;

  const int64_t history_offsets[ROWS + 1] = {0, 2, 4, 7}, banned_offsets[2] = {0, 1};
  const int32_t history[] = {1, 2, 3, 4, 5, 6, 5}, banned[] = {9};
  sampler_pipeline pipeline = {0};
  pipeline.struct_size = sizeof pipeline;
  pipeline.history.offsets = history_offsets, pipeline.history.token_ids = history;
  pipeline.history.num_lists = ROWS, pipeline.history.num_token_ids = 7;
  pipeline.banned.offsets = banned_offsets, pipeline.banned.token_ids = banned;
  pipeline.banned.num_lists = 1, pipeline.banned.num_token_ids = 1;

  int32_t ids[ROWS], kept_counts[ROWS], top_ids[2 * ROWS], ranks[ROWS], counts[ROWS];
  float logprobs[ROWS], top_logprobs[2 * ROWS], entropies[ROWS], output[ROWS * COLS];
  sampler_row_status row_status[ROWS];
  size_t bytes;
  sampler_sample_args sample = {0};
  sample.struct_size = sizeof sample;
  sample.input = rows_of(logits, ROWS);
  sample.params = &params, sample.row_params = &row_params, sample.pipeline = &pipeline;
  sample.random.seed = 11, sample.random.offset = 5;
  sample.out_token_ids = ids, sample.out_row_status = row_status;
  sampler_report_args reports = {0};
  reports.struct_size = sizeof reports;
  reports.out_kept_counts = kept_counts, reports.out_logprobs = logprobs;
  reports.num_top_logprobs = 2, reports.out_top_token_ids = top_ids;
  reports.out_top_logprobs = top_logprobs;
  reports.out_ranks = ranks, reports.out_entropies = entropies;
  sample.reports = &reports;
  check(sampler_sample_workspace_size(sampler, &sample, &bytes));
  if (bytes > sizeof workspace) puts("workspace"), exit(1);
  sample.exec.workspace = workspace, sample.exec.workspace_bytes = bytes;
  logits[2][3] = -INFINITY; /* never drawn */
  check(sampler_sample(sampler, &sample));
  print_ids("sample", ids, ROWS), print_ids("kept", kept_counts, ROWS);
  print_floats("logprobs", logprobs, ROWS), print_ids("ranks", ranks, ROWS);
  print_ids("top", top_ids, 2 * ROWS), print_floats("top", top_logprobs, 2 * ROWS);
  print_floats("entropies", entropies, ROWS);

  float scored[ROWS];
  sampler_score_args score = {0};
  score.struct_size = sizeof score;
  score.input = sample.input, score.random = sample.random;
  score.params = &params, score.row_params = &row_params, score.pipeline = &pipeline;
  score.token_ids = ids, score.reports = &reports, reports.out_logprobs = scored;
  check(sampler_score_workspace_size(sampler, &score, &bytes));
  if (bytes > sizeof workspace) puts("workspace"), exit(1);
  score.exec.workspace = workspace, score.exec.workspace_bytes = bytes;
  check(sampler_score(sampler, &score));
  printf("scores as drawn: %d\n", memcmp(scored, logprobs, sizeof scored) == 0);

  sampler_filter_args filter = {0};
  filter.struct_size = sizeof filter;
  filter.exec.workspace = workspace, filter.exec.workspace_bytes = sizeof workspace;
  filter.input = rows_of(logits, ROWS);
  filter.params = &params, filter.pipeline = &pipeline;
  filter.output = output;
  check(sampler_filter_workspace_size(sampler, &filter, &bytes));
  check(sampler_filter(sampler, &filter)), print_floats("filter", output + 2 * COLS, COLS);

  sampler_select_args select = {0};
  select.struct_size = sizeof select;
  select.input = rows_of(logits, ROWS), select.num_selected = 2;
  select.out_token_ids = top_ids, select.out_counts = counts;
  check(sampler_select_workspace_size(sampler, &select, &bytes));
  check(sampler_select(sampler, &select)), print_ids("select", top_ids, 2 * ROWS);

  params.top_p = NAN;
  const sampler_status status = sampler_sample(sampler, &sample);
  printf("NaN: %s, told: %d\n", sampler_status_string(status), sampler_last_error()[0] != '\0');
}

/* ---- speculative.h ---- */

static void verification(void) {
  const int32_t drafts[DRAFTS] = {4, 1}, parents[DRAFTS] = {-1, -1};
  int32_t ids[DRAFTS + 1], emitted, positions[DRAFTS + 1];
  float output[COLS], target[COLS], draft[COLS];
  sampler_params params = sampler_params_default();
  params.temperature = 1.25f;
  size_t bytes;
  sampler_verify_args verify = {0};
  verify.struct_size = sizeof verify;
  verify.target = rows_of(logits, DRAFTS + 1);
  verify.draft_token_ids = drafts, verify.num_drafts = DRAFTS;
  verify.params = &params, verify.random.seed = 3;
  verify.out_token_ids = ids, verify.out_emitted_counts = &emitted,
  verify.out_positions = positions;
  verify.exec.workspace = workspace, verify.exec.workspace_bytes = sizeof workspace;
  sampler_acceptance_params acceptance = {0};
  acceptance.struct_size = sizeof acceptance;
  verify.acceptance = &acceptance;
  for (int32_t rule = SAMPLER_ACCEPT_STANDARD; rule <= SAMPLER_ACCEPT_DEFERRED; ++rule) {
    acceptance.rule = rule;
    check(sampler_verify_workspace_size(sampler, &verify, &bytes));
    check(sampler_verify(sampler, &verify));
    printf("rule %" PRId32 " ", rule), print_ids("verify", ids, DRAFTS + 1);
  }
  acceptance.rule = SAMPLER_ACCEPT_STANDARD;
  sampler_draft_layout layout = {0};
  layout.struct_size = sizeof layout;
  layout.parents = parents, layout.tree_rows = 1;
  verify.layout = &layout;
  check(sampler_verify(sampler, &verify));
  print_ids("tree", ids, DRAFTS + 1), print_ids("tree positions", positions, DRAFTS + 1);

  const sampler_rows first = rows_of(logits[0], 1), second = rows_of(logits[1], 1);
  check(sampler_softmax(sampler, &first, 1.0f, target, NULL));
  check(sampler_softmax(sampler, &second, 1.0f, draft, NULL));
  sampler_residual_args residual = {0};
  residual.struct_size = sizeof residual;
  residual.target = rows_of(target, 1), residual.draft = rows_of(draft, 1);
  residual.target.kind = residual.draft.kind = SAMPLER_PROBABILITIES;
  residual.output = output;
  check(sampler_residual_workspace_size(sampler, &residual, &bytes));
  check(sampler_residual(sampler, &residual)), print_floats("residual", output, COLS);
}

/* ---- unmask.h ---- */

static void unmasking(void) {
  const int32_t candidates[6] = {5, 6, 7, 8, 9, 4};
  const float logprobs[6] = {-0.5f, -0.125f, -2.0f, -0.25f, -1.0f, -0.0625f};
  const int64_t offsets[3] = {0, 4, 6};
  const int32_t numbers[2] = {1, 2}, steps[2] = {0, 1};
  const float entropies[12] = {0.5f, 0, 0.25f, 0, 1.0f, 0, 0.75f, 0, 0.125f, 0, 0.5f, 0};
  int32_t tokens[6] = {1, 1, 1, 3, 1, 1}, counts[2], edited[2], masked[2];
  const int32_t slots[6] = {0, 1, 0, 1, 0, 1};
  uint8_t changes[6];
  float confidences[6];
  uint32_t status[6] = {0, 0, 0, 0, 0, 0}, block_status[2];
  size_t bytes;
  sampler_unmask_args args = {0};
  args.struct_size = sizeof args;
  sampler_unmask_params params = {0};
  params.struct_size = sizeof params, args.params = &params;
  args.num_rows = 6, args.num_blocks = 2, args.block_offsets = offsets;
  args.candidate_token_ids = candidates, args.candidate_status = status;
  args.scores = logprobs, args.token_ids = tokens, params.mask_token_id = 1;
  params.num_committed = 1, params.threshold = 0.875f, params.edit_threshold = 0.75f;
  args.out_changes = changes, args.out_confidences = confidences;
  args.out_committed_counts = counts, args.out_edited_counts = edited;
  args.out_masked_counts = masked, args.out_block_status = block_status;
  check(sampler_unmask_workspace_size(sampler, &args, &bytes));
  check(sampler_unmask(sampler, &args));
  print_ids("unmasked", tokens, 6), print_floats("confidences", confidences, 6);
  print_ids("committed", counts, 2), print_ids("edited", edited, 2);
  print_ids("masked", masked, 2);
  printf("changes: %d %d %d %d, status %u\n", changes[0] == SAMPLER_UNMASK_KEPT,
         changes[1] == SAMPLER_UNMASK_COMMITTED, changes[3] == SAMPLER_UNMASK_EDITED, changes[5],
         block_status[0]);

  params.confidence = SAMPLER_CONFIDENCE_ENTROPY, args.scores = entropies, args.score_stride = 2;
  params.threshold = params.edit_threshold = 0, params.entropy_bound = 0.5f;
  params.order_temperature = 0.5f, args.random.seed = 3, args.slots = slots, args.num_slots = 2;
  args.block_num_committed = numbers, args.block_num_steps_left = steps, params.num_steps_left = 0;
  check(sampler_unmask(sampler, &args));
  print_ids("unmasked", tokens, 6), print_ids("masked", masked, 2);
}

/* ---- watermark.h ---- */

static void watermarks(void) {
  const int64_t text[8] = {3, 1, 4, 1, 5, 9, 2, 6};
  uint64_t seed, offset;
  uint32_t stream;
  double score, p_value;
  int64_t num_scored;
  check(sampler_watermark_random(42, text, 4, &seed, &offset, &stream));
  printf("watermark: %" PRIx64 " %" PRIx64 " %" PRIx32 "\n", seed, offset, stream);
  check(sampler_watermark_detect(42, text, 8, 4, 0, &score, &num_scored, &p_value));
  printf("found: %.6f %d %.6f\n", score, (int)num_scored, p_value);

  const int64_t keys[3] = {654, 400, 836};
  const int32_t candidates[3] = {7, 8, 9};
  int32_t table[32];
  float biases[16], probabilities[3] = {0.5f, 0.25f, 0.25f};
  sampler_watermark_params params = {0};
  params.struct_size = sizeof params;
  params.vocabulary_size = 16, params.context_length = 1;
  params.key = 15485863, params.green_share = 0.25, params.bias = 2;
  check(sampler_watermark_bias(&params, text, NULL, 0, biases)), print_floats("green", biases, 16);
  check(sampler_watermark_score(&params, text, 8, &score, &num_scored, &p_value));
  printf("green: %.6f %d %.6f\n", score, (int)num_scored, p_value);
  params.scheme = SAMPLER_WATERMARK_SELFHASH, params.green_share = 0.5;
  params.table = table, params.table_size = 32;
  check(sampler_watermark_table(&params, table));
  check(sampler_watermark_bias(&params, text, candidates, 3, biases));
  print_floats("green", biases, 3);
  params.scheme = SAMPLER_WATERMARK_TOURNAMENT, params.table_seed = 7;
  params.key = 0, params.green_share = 0, params.bias = 0;
  params.keys = keys, params.num_keys = 3, params.keeps_repeated = 1;
  check(sampler_watermark_table(&params, table));
  check(sampler_watermark_tournament(&params, text, candidates, 3, probabilities));
  print_floats("tournament", probabilities, 3);
  check(sampler_watermark_score(&params, text, 8, &score, &num_scored, &p_value));
  printf("bits: %.6f %d %.6f\n", score, (int)num_scored, p_value);

  int32_t token_id = -1;
  sampler_sample_args args = {0};
  args.struct_size = sizeof args;
  args.input = rows_of(logits[0], 1);
  args.random.seed = seed, args.random.offset = offset, args.random.streams = &stream;
  args.draw_method = SAMPLER_DRAW_WATERMARK;
  args.out_token_ids = &token_id;
  check(sampler_sample(sampler, &args)), print_ids("marked", &token_id, 1);
}

/* ---- state.h ---- */

static void states(void) {
  const int64_t offsets[3] = {0, 2, 3};
  const int32_t prompts[] = {1, 2, 5}, drawn[2] = {7, 8}, kept[2] = {2, 2}, from = 0, to = 1;
  int32_t ids[2 * 4], lengths[2];
  uint64_t positions[2] = {0, 0};
  size_t bytes, written;
  int64_t num_slots;
  sampler_state_options options = {0};
  options.struct_size = sizeof options;
  options.num_slots = 2, options.max_tokens = 16;
  sampler_state_t state;
  check(sampler_state_size(sampler, &options, &bytes));
  check(sampler_state_create(sampler, &options, &state));

  sampler_state_append_args append = {0};
  append.struct_size = sizeof append;
  append.state = state, append.num_rows = 2, append.token_kind = SAMPLER_TOKENS_PROMPT;
  append.tokens.offsets = offsets, append.tokens.token_ids = prompts;
  append.tokens.num_lists = 2, append.tokens.num_token_ids = 3;
  check(sampler_state_append(sampler, &append));

  sampler_accept_args accept = {0};
  accept.struct_size = sizeof accept;
  accept.state = state, accept.num_rows = 2, accept.token_ids = drawn, accept.num_tokens = 1;
  accept.offsets = positions;
  check(sampler_accept(sampler, &accept));

  sampler_state_read_args read = {0};
  read.struct_size = sizeof read;
  read.state = state, read.num_rows = 2, read.out_token_ids = ids, read.num_tokens = 4;
  read.out_lengths = lengths;
  check(sampler_state_read(sampler, &read));
  print_ids("state", ids, 8), print_ids("state lengths", lengths, 2);

  check(sampler_state_serialize(sampler, state, 0, 1, NULL, 0, &bytes));
  check(sampler_state_serialize(sampler, state, 0, 1, workspace, sizeof workspace, &written));
  sampler_state_truncate_args cut = {0};
  cut.struct_size = sizeof cut;
  cut.state = state, cut.num_rows = 2, cut.lengths = kept;
  check(sampler_state_truncate(sampler, &cut));
  check(sampler_state_read(sampler, &read)), print_ids("state cut", ids, 8);
  check(sampler_state_deserialize(sampler, state, 1, workspace, written, &num_slots));
  check(sampler_state_read(sampler, &read)), print_ids("state loaded", ids, 8);
  printf("serialised: %d\n", bytes == written && num_slots == 1);

  sampler_state_copy_args copy = {0};
  copy.struct_size = sizeof copy;
  copy.source = copy.destination = state, copy.num_rows = 1;
  copy.source_slots = &from, copy.destination_slots = &to;
  check(sampler_state_copy(sampler, &copy));
  sampler_state_reset_args reset = {0};
  reset.struct_size = sizeof reset;
  reset.state = state, reset.slots = &from, reset.num_rows = 1;
  check(sampler_state_reset(sampler, &reset));
  check(sampler_state_read(sampler, &read)), print_ids("state copied", ids, 8);
  sampler_state_destroy(state);
}

/* ---- ngram.h and decoding.h ---- */

static sampler_status forward(void *user, const sampler_forward_args *args) {
  (void)user;
  float *row = args->logits;
  for (int64_t span = 0; span < args->num_spans; ++span) {
    const int64_t end = args->token_offsets[span + 1];
    for (int64_t i = end - args->logit_counts[span]; i < end; ++i, row += args->logits_row_stride) {
      for (int id = 0; id < COLS; ++id) row[id] = logit_after(args->token_ids[i], id);
    }
  }
  return SAMPLER_OK;
}

static sampler_status truncate_cache(void *user, int32_t sequence, int64_t length) {
  (void)user, (void)sequence, (void)length;
  return SAMPLER_OK;
}

static sampler_status fork_cache(void *user, int32_t source, int32_t destination) {
  (void)user, (void)source, (void)destination;
  return SAMPLER_OK;
}

static void loops(void) {
  const int32_t text[] = {1, 2, 3, 1, 2, 3, 1}, prompt[] = {3, 1};
  const int64_t prompt_offsets[2] = {0, 2};
  int32_t ids[8], token;
  int64_t count, cut_target, cut_drafter, missing;
  size_t bytes;

  sampler_ngram_storage_options storage_options = {0};
  storage_options.struct_size = sizeof storage_options;
  storage_options.vocabulary_size = COLS;
  sampler_ngram_storage_t storage, other;
  check(sampler_ngram_storage_create(&storage_options, &storage));
  check(sampler_ngram_storage_create(&storage_options, &other));
  GUARDED(sampler_ngram, ngram);
  ngram.value.struct_size = sizeof ngram.value;
  check(sampler_ngram_storage_interface(storage, &ngram.value));
  CHECK_GUARD(ngram);
  check(ngram.value.initialize(ngram.value.user, text, 7));
  check(ngram.value.propose(ngram.value.user, text, 2, 4, 0, 0.0f, ids, &count));
  print_ids("n-grams", ids, count);
  check(sampler_ngram_storage_serialize(storage, workspace, sizeof workspace, &bytes));
  check(sampler_ngram_storage_deserialize(other, workspace, bytes));
  GUARDED(sampler_ngram_storage_stats, stats);
  stats.value.struct_size = sizeof stats.value;
  check(sampler_ngram_storage_get_stats(other, &stats.value));
  CHECK_GUARD(stats);
  printf("contexts: %" PRId64 "\n", stats.value.num_contexts);
  sampler_ngram_storage_destroy(other);

  sampler_prompt_lookup_options lookup_options = {0};
  lookup_options.struct_size = sizeof lookup_options;
  lookup_options.max_tokens = 64, lookup_options.vocabulary_size = COLS;
  sampler_prompt_lookup_t lookup;
  check(sampler_prompt_lookup_create(&lookup_options, &lookup));
  check(sampler_prompt_lookup_append(lookup, text, 7));
  check(sampler_prompt_lookup_propose(lookup, 3, ids, &count)), print_ids("lookup", ids, count);
  GUARDED(sampler_ngram, of_lookup);
  of_lookup.value.struct_size = sizeof of_lookup.value;
  check(sampler_prompt_lookup_interface(lookup, &of_lookup.value));
  CHECK_GUARD(of_lookup);
  int32_t known;
  check(of_lookup.value.next_token(of_lookup.value.user, text, 7, 1, 0, &token, &known));
  print_ids("lookup next", &token, 1);
  check(sampler_prompt_lookup_reset(lookup));
  sampler_prompt_lookup_destroy(lookup);

  sampler_model model = {0};
  model.struct_size = sizeof model;
  model.forward = forward, model.truncate = truncate_cache, model.fork = fork_cache;
  model.vocabulary_size = COLS, model.max_context = 64, model.max_sequences = 8;
  sampler_params params = sampler_params_default();
  params.temperature = 0.75f, params.top_k = 8;
  GUARDED(sampler_generation_stats, loop_stats);
  loop_stats.value.struct_size = sizeof loop_stats.value;
  sampler_generation_args generation = sampler_generation_args_default();
  generation.target = &model, generation.num_sequences = 1;
  generation.prompt_offsets = prompt_offsets, generation.prompt_token_ids = prompt;
  generation.max_new_tokens = 8, generation.end_token_ids = prompt, generation.num_end_tokens = 0;
  generation.processor = SAMPLER_PROCESSOR_SAMPLE, generation.params = &params, generation.seed = 4;
  generation.out_token_ids = ids, generation.out_stats = &loop_stats.value;
  check(sampler_autoregressive(sampler, &generation)), print_ids("autoregressive", ids, 8);
  CHECK_GUARD(loop_stats);

  sampler_speculative_args speculative = sampler_speculative_args_default();
  speculative.generation = &generation, speculative.gamma = 3, speculative.drafter = &model;
  sampler_acceptance_params acceptance = {0};
  acceptance.struct_size = sizeof acceptance;
  acceptance.rule = SAMPLER_ACCEPT_SAMPLE_MATCH;
  speculative.acceptance = &acceptance;
  check(sampler_speculative(sampler, &speculative)), print_ids("speculative", ids, 8);
  speculative.drafter = NULL, speculative.ngram = &ngram.value;
  acceptance.rule = SAMPLER_ACCEPT_STANDARD;
  check(sampler_speculative(sampler, &speculative)), print_ids("with n-grams", ids, 8);
  sampler_ngram_storage_destroy(storage);

  sampler_beam_search_args beams = sampler_beam_search_args_default();
  float score;
  generation.processor = SAMPLER_PROCESSOR_GREEDY, generation.params = NULL;
  beams.generation = &generation, beams.out_scores = &score;
  check(sampler_beam_search(sampler, &beams));
  print_ids("beams", ids, 8), print_floats("score", &score, 1);

  check(sampler_prune_count(5, 2, &cut_target, &cut_drafter, &missing));
  printf("prune: %" PRId64 " %" PRId64 " %" PRId64 "\n", cut_target, cut_drafter, missing);
}

/* ---- session.h ---- */

static void sessions(void) {
  const int32_t prompt[] = {1, 2, 3, 1, 2};
  const uint64_t other_seed = 99;
  sampler_session_options options = {0};
  options.struct_size = sizeof options;
  options.max_sequences = 2, options.max_context = 32, options.vocabulary_size = COLS;
  options.max_drafts = DRAFTS, options.lookup_tokens = 32;
  size_t bytes;
  sampler_session_t session;
  check(sampler_session_size(sampler, &options, &bytes));
  check(sampler_session_create(sampler, &options, &session));
  sampler_params params = sampler_params_default();
  params.temperature = 0.75f;
  sampler_session_add_args add = {0};
  add.struct_size = sizeof add;
  add.token_ids = prompt, add.num_tokens = 5, add.params = &params, add.seed = 4;
  add.max_new_tokens = 6, add.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
  int32_t sequence, fork;
  check(sampler_session_add(session, &add, &sequence));
  sampler_session_fork_args fork_args = {0};
  fork_args.struct_size = sizeof fork_args;
  fork_args.source = sequence, fork_args.seed = &other_seed;
  check(sampler_session_fork(session, &fork_args, &fork));

  sampler_span spans[2];
  int64_t num_spans, counts[2];
  float rows[2 * (DRAFTS + 1)][COLS];
  int32_t ids[2 * (DRAFTS + 1)];
  sampler_session_plan_args plan = {0};
  plan.struct_size = sizeof plan;
  plan.out_spans = spans, plan.out_num_spans = &num_spans;
  sampler_session_advance_args advance = {0};
  advance.struct_size = sizeof advance;
  advance.spans = spans, advance.logits = rows;
  advance.out_token_ids = ids, advance.out_counts = counts;
  for (;;) {
    check(sampler_session_plan(session, &plan));
    if (num_spans == 0) break;
    int row = 0;
    for (int64_t i = 0; i < num_spans; ++i) {
      for (int64_t j = spans[i].num_tokens - spans[i].num_logits; j < spans[i].num_tokens;
           ++j, ++row) {
        for (int id = 0; id < COLS; ++id) rows[row][id] = logit_after(spans[i].token_ids[j], id);
      }
    }
    advance.num_spans = num_spans;
    check(sampler_session_advance(session, &advance));
  }
  GUARDED(sampler_session_sequence, told);
  told.value.struct_size = sizeof told.value;
  check(sampler_session_get(session, sequence, &told.value));
  CHECK_GUARD(told);
  print_ids("session", told.value.token_ids, told.value.num_tokens);
  check(sampler_session_get(session, fork, &told.value));
  print_ids("fork", told.value.token_ids, told.value.num_tokens);
  printf("finish reason: %" PRId32 "\n", told.value.finish_reason);
  check(sampler_session_remove(session, sequence));
  sampler_session_destroy(session);
}

int main(void) {
  for (int row = 0; row < ROWS; ++row) {
    for (int id = 0; id < COLS; ++id) logits[row][id] = logit_after(row, id);
  }
  defaults();
  simple();
  sampling();
  verification();
  unmasking();
  watermarks();
  states();
  loops();
  sessions();
  sampler_destroy(sampler);
  return 0;
}
