/* A server of a diffusion language model: texts grow by blocks of eight letters, and a session says
 * which tokens to run and which predictions stand. The model is the toy of diffusion.c, which knows
 * one sentence. docs/diffusion.md explains the rules. */
#include <math.h>
#include <sampler/sampler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEQUENCES = 2, CONTEXT = 40, VOCABULARY = 128, BLOCK = 8, MASK = '_', END_TOKEN = '.' };

static const char sentence[] = "the quick fox jumps over the dog.       ";

static void check(sampler_status status) {
  if (status == SAMPLER_OK) return;
  fprintf(stderr, "%s\n", sampler_last_error());
  exit(1);
}

/* Stands for the model and its caches: cuts the cache of a sequence to span->start, appends the
 * span, and writes the rows of its last num_logits positions, which see all of their block. */
static float *forward(const sampler_span *span, float *logits) {
  static int32_t caches[MAX_SEQUENCES][CONTEXT];
  int32_t *const cache = caches[span->sequence];
  const int64_t end = span->start + span->num_tokens;
  memcpy(cache + span->start, span->token_ids, (size_t)span->num_tokens * sizeof *cache);
  for (int64_t row = end - span->num_logits; row < end; ++row) {
    int num_seen = 0;
    for (int64_t near = row - 2; near <= row + 2; ++near) {
      num_seen += near >= 0 && near < end && cache[near] != MASK;
    }
    for (int id = 0; id < VOCABULARY; ++id) logits[id] = (float)((row * 7 + id * 13) % 11) * 0.2f;
    logits[MASK] = -INFINITY; /* never a candidate */
    logits[(int)sentence[row]] += 4.0f + 1.5f * (float)num_seen;
    logits += VOCABULARY;
  }
  return logits;
}

static void start_request(sampler_session_t session, const char *prompt, float threshold) {
  static const int32_t end_token = END_TOKEN;
  int32_t tokens[CONTEXT];
  sampler_session_add_args args = {0};
  args.struct_size = sizeof args;
  args.num_tokens = (int64_t)strlen(prompt);
  for (int64_t i = 0; i < args.num_tokens; ++i) tokens[i] = prompt[i];
  args.token_ids = tokens;
  args.seed = 8;
  args.end_token_ids = &end_token, args.num_end_tokens = 1;
  sampler_unmask_params rules = {0};
  rules.struct_size = sizeof rules;
  rules.block_length = BLOCK, rules.mask_token_id = MASK;
  rules.num_committed = 1;     /* the surest, */
  rules.threshold = threshold; /* and all that are sure enough */
  args.unmask = &rules;
  int32_t sequence;
  check(sampler_session_add(session, &args, &sequence));
}

int main(void) {
  static float logits[MAX_SEQUENCES * BLOCK * VOCABULARY];
  sampler_t sampler;
  sampler_session_t session;
  check(sampler_create(NULL, &sampler));
  sampler_params params = sampler_params_default();
  params.temperature = 0.7f, params.top_p = 0.95f;
  sampler_session_options options = {0};
  options.struct_size = sizeof options;
  options.max_sequences = MAX_SEQUENCES, options.max_context = CONTEXT;
  options.vocabulary_size = VOCABULARY, options.max_end_tokens = 1;
  options.params = &params;
  options.has_blocks = 1, options.max_drafts = BLOCK - 1;
  check(sampler_session_create(sampler, &options, &session));
  start_request(session, "the ", 0.95f);
  start_request(session, "the quick ", 0.5f);

  sampler_span spans[MAX_SEQUENCES];
  int32_t tokens[MAX_SEQUENCES * BLOCK];
  int64_t counts[MAX_SEQUENCES], num_spans;
  sampler_session_plan_args plan = {0};
  plan.struct_size = sizeof plan;
  plan.out_spans = spans, plan.out_num_spans = &num_spans;
  sampler_session_advance_args advance = {0};
  advance.struct_size = sizeof advance;
  advance.spans = spans, advance.logits = logits;
  advance.out_token_ids = tokens, advance.out_counts = counts;
  for (int step = 1;; ++step) {
    check(sampler_session_plan(session, &plan));
    if (num_spans == 0) break;
    float *end = logits;
    for (int64_t i = 0; i < num_spans; ++i) end = forward(&spans[i], end);
    advance.num_spans = num_spans;
    check(sampler_session_advance(session, &advance));
    for (int64_t i = 0; i < num_spans; ++i) {
      if (counts[i] == 0) continue; /* its block has masks still */
      sampler_session_sequence text = {0};
      text.struct_size = sizeof text;
      check(sampler_session_get(session, spans[i].sequence, &text));
      printf("step %2d, text %d: ", step, (int)spans[i].sequence);
      for (int64_t j = 0; j < text.num_tokens; ++j) putchar(text.token_ids[j]);
      putchar('\n');
    }
  }
  sampler_session_destroy(session);
  sampler_destroy(sampler);
  return 0;
}
