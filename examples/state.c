/* Two requests that a server holds by slot: the state remembers their tokens, so that each step
 * draws with a penalty and then accepts what was drawn. Drafts that turn out wrong are taken back,
 * and a finished request makes room for another one. */
#include <inttypes.h>
#include <sampler/sampler.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 2, VOCABULARY = 8, MAX_TOKENS = 64, STEPS = 4 };

/* Stands for a model: the logits of the next token. */
static void run_model(float logits[SLOTS][VOCABULARY]) {
  const float likely[SLOTS] = {2.0f, 5.0f};
  for (int slot = 0; slot < SLOTS; ++slot) {
    for (int id = 0; id < VOCABULARY; ++id) {
      const float distance = (float)id - likely[slot];
      logits[slot][id] = 4.0f - 0.25f * distance * distance;
    }
  }
}

static int failed(sampler_status status) {
  if (status == SAMPLER_OK) return 0;
  fprintf(stderr, "%s: %s\n", sampler_status_string(status), sampler_last_error());
  return 1;
}

/* A row that was refused has changed nothing, and no other row. */
static int refused(int64_t num_rows, const sampler_row_status *row_status) {
  for (int64_t row = 0; row < num_rows; ++row) {
    if (row_status[row] == SAMPLER_ROW_OK) continue;
    fprintf(stderr, "row %" PRId64 " has the status %" PRIx32 "\n", row, row_status[row]);
    return 1;
  }
  return 0;
}

static int print_slots(sampler_t sampler, sampler_state_t state, const char *when) {
  int32_t tokens[SLOTS][MAX_TOKENS], lengths[SLOTS], prompt_lengths[SLOTS];
  sampler_state_read_args read = {0};
  read.struct_size = sizeof read;
  read.state = state;
  read.num_rows = SLOTS;
  read.out_token_ids = tokens;
  read.num_tokens = MAX_TOKENS;
  read.out_lengths = lengths;
  read.out_prompt_lengths = prompt_lengths;
  if (failed(sampler_state_read(sampler, &read))) return 1;
  for (int slot = 0; slot < SLOTS; ++slot) {
    printf("%s, slot %d:", when, slot);
    for (int i = 0; i < lengths[slot]; ++i) {
      printf("%s %" PRId32, i == prompt_lengths[slot] ? " |" : "", tokens[slot][i]);
    }
    printf("\n");
  }
  return 0;
}

static int serve(sampler_t sampler, sampler_state_t state) {
  sampler_row_status row_status[SLOTS];

  /* The prompts. */
  const int64_t offsets[SLOTS + 1] = {0, 2, 3};
  const int32_t prompts[] = {1, 2, 5};
  sampler_state_append_args append = {0};
  append.struct_size = sizeof append;
  append.state = state;
  append.num_rows = SLOTS;
  append.tokens = (sampler_token_lists){offsets, prompts, SLOTS, 3};
  append.token_kind = SAMPLER_TOKENS_PROMPT;
  append.out_row_status = row_status;
  if (failed(sampler_state_append(sampler, &append)) || refused(SLOTS, row_status)) return 1;

  float logits[SLOTS][VOCABULARY];
  int32_t tokens[SLOTS];
  uint64_t positions[SLOTS] = {0};
  sampler_params params = sampler_params_default();
  params.frequency_penalty = 0.8f;
  params.top_p = 0.95f;
  sampler_pipeline pipeline = {0};
  pipeline.struct_size = sizeof pipeline;
  pipeline.state = state;

  sampler_sample_args sample = {0};
  sample.struct_size = sizeof sample;
  sample.input.values = logits;
  sample.input.num_rows = SLOTS;
  sample.input.num_cols = VOCABULARY;
  sample.params = &params;
  sample.pipeline = &pipeline;
  sample.random.seed = 7;
  sample.random.offsets = positions;
  sample.random.num_offsets = SLOTS;
  sample.out_token_ids = tokens;
  sample.out_row_status = row_status;

  sampler_accept_args accept = {0};
  accept.struct_size = sizeof accept;
  accept.state = state;
  accept.num_rows = SLOTS;
  accept.token_ids = tokens;
  accept.num_tokens = 1;
  accept.params = &params;
  accept.offsets = positions; /* which grow by what each slot has taken */
  accept.out_row_status = row_status;

  for (int step = 0; step < STEPS; ++step) {
    run_model(logits);
    if (failed(sampler_sample(sampler, &sample))) return 1;
    if (refused(sample.input.num_rows, row_status)) return 1;
    if (failed(sampler_accept(sampler, &accept))) return 1;
    if (refused(accept.num_rows, row_status)) return 1;
  }
  if (print_slots(sampler, state, "drawn")) return 1;

  /* The first request goes back by two tokens, as if they had never been drawn. */
  const int32_t first = 0, kept = 2 + STEPS - 2;
  sampler_state_truncate_args truncate = {0};
  truncate.struct_size = sizeof truncate;
  truncate.state = state;
  truncate.slots = &first;
  truncate.num_rows = 1;
  truncate.lengths = &kept;
  if (failed(sampler_state_truncate(sampler, &truncate))) return 1;
  positions[first] -= 2;
  if (print_slots(sampler, state, "taken back")) return 1;

  /* The same randomness of the same text: the same tokens again. */
  sample.slots = accept.slots = &first;
  sample.num_slots = SLOTS;
  sample.input.num_rows = accept.num_rows = 1;
  for (int step = 0; step < 2; ++step) {
    run_model(logits);
    if (failed(sampler_sample(sampler, &sample))) return 1;
    if (refused(sample.input.num_rows, row_status)) return 1;
    if (failed(sampler_accept(sampler, &accept))) return 1;
    if (refused(accept.num_rows, row_status)) return 1;
  }
  if (print_slots(sampler, state, "drawn again")) return 1;

  /* The second request is done; its slot is the next one's. */
  const int32_t second = 1;
  sampler_state_reset_args reset = {0};
  reset.struct_size = sizeof reset;
  reset.state = state;
  reset.slots = &second;
  reset.num_rows = 1;
  if (failed(sampler_state_reset(sampler, &reset))) return 1;
  return print_slots(sampler, state, "reset");
}

int main(void) {
  sampler_options options = sampler_options_default();
  options.max_rows = SLOTS;
  options.max_cols = 1 << 12; /* room for the stages, too */
  sampler_t sampler = NULL;
  if (failed(sampler_create(&options, &sampler))) return 1;

  sampler_state_options state_options = {0};
  state_options.struct_size = sizeof state_options;
  state_options.num_slots = SLOTS;
  state_options.max_tokens = MAX_TOKENS;
  sampler_state_t state = NULL;
  int result = failed(sampler_state_create(sampler, &state_options, &state));
  if (!result) result = serve(sampler, state);
  sampler_state_destroy(state);
  sampler_destroy(sampler);
  return result;
}
