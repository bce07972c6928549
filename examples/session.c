/* A server around a decoding session: requests join while others run, long prompts are fed in
 * parts, and repeated text is drafted. The model is the caller's: here a table of what follows each
 * token. docs/decoding.md explains sessions. */
#include <sampler/sampler.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_SEQUENCES = 4, CONTEXT = 32, VOCABULARY = 8, DRAFTS = 3, END_TOKEN = 0 };

static void check(sampler_status status) {
  if (status == SAMPLER_OK) return;
  fprintf(stderr, "%s\n", sampler_last_error());
  exit(1);
}

/* Stands for the model and its caches: appends a span to the cache of its sequence, of which it
 * cuts off what lies after span->start, and writes the rows of logits that are wanted. This one
 * needs no more of a cache than the last token. Returns where the next rows go. */
static float *forward(const sampler_span *span, float *logits) {
  for (int64_t i = span->num_tokens - span->num_logits; i < span->num_tokens; ++i) {
    for (int id = 0; id < VOCABULARY; ++id) {
      const int distance = (id - span->token_ids[i] + VOCABULARY) % VOCABULARY;
      *logits++ = distance == 1 ? 4.0f : (float)(id * 5 % 8) * 0.25f;
    }
  }
  return logits;
}

static int32_t start_request(sampler_session_t session, const int32_t *prompt, int64_t length,
                             float temperature, uint64_t seed) {
  static const int32_t end_token = END_TOKEN, stop_tokens[] = {6, 7, 3};
  static const int64_t stop_offsets[] = {0, 3};
  sampler_params params = sampler_params_default();
  params.temperature = temperature, params.top_p = 0.9f;
  sampler_session_add_args args = {0};
  args.struct_size = sizeof args;
  args.token_ids = prompt, args.num_tokens = length;
  args.params = &params, args.seed = seed;
  args.max_new_tokens = 10;
  args.end_token_ids = &end_token, args.num_end_tokens = 1;
  args.stop_sequences.offsets = stop_offsets, args.stop_sequences.num_lists = 1;
  args.stop_sequences.token_ids = stop_tokens, args.stop_sequences.num_token_ids = 3;
  args.draft_source = SAMPLER_DRAFTS_PROMPT_LOOKUP;
  int32_t sequence;
  check(sampler_session_add(session, &args, &sequence));
  return sequence;
}

int main(void) {
  static const int32_t first[] = {1, 2, 3, 4, 5, 1}, second[] = {5, 6};
  sampler_t sampler;
  sampler_session_t session;
  check(sampler_create(NULL, &sampler));

  sampler_session_options options = {0};
  options.struct_size = sizeof options;
  options.max_sequences = MAX_SEQUENCES, options.max_context = CONTEXT;
  options.vocabulary_size = VOCABULARY, options.max_drafts = DRAFTS;
  options.lookup_tokens = CONTEXT;
  options.max_end_tokens = 1, options.max_stop_sequences = 1, options.max_stop_tokens = 3;
  check(sampler_session_create(sampler, &options, &session));

  sampler_span spans[MAX_SEQUENCES];
  int64_t num_spans = 0;
  sampler_session_plan_args plan = {0};
  plan.struct_size = sizeof plan;
  plan.max_tokens = 5; /* of a forward */
  plan.out_spans = spans, plan.out_num_spans = &num_spans;

  float logits[MAX_SEQUENCES * (DRAFTS + 1) * VOCABULARY];
  int32_t token_ids[MAX_SEQUENCES][DRAFTS + 1];
  int64_t counts[MAX_SEQUENCES], cache_lengths[MAX_SEQUENCES];
  sampler_finish_reason reasons[MAX_SEQUENCES];
  sampler_session_advance_args advance = {0};
  advance.struct_size = sizeof advance;
  advance.spans = spans, advance.logits = logits;
  advance.out_token_ids = &token_ids[0][0], advance.out_counts = counts;
  advance.out_finish_reasons = reasons;
  advance.out_cache_lengths = cache_lengths; /* what a real cache is cut to */

  start_request(session, first, 6, 0.0f, 1); /* greedy */
  for (int step = 0;; ++step) {
    if (step == 2) start_request(session, second, 2, 0.8f, 2); /* joins a running batch */
    check(sampler_session_plan(session, &plan));
    if (num_spans == 0) break;
    float *end = logits;
    for (int64_t i = 0; i < num_spans; ++i) end = forward(&spans[i], end);
    advance.num_spans = num_spans;
    check(sampler_session_advance(session, &advance));

    printf("step %d:", step);
    for (int64_t i = 0; i < num_spans; ++i) {
      printf(" sequence %d ran %d tokens, new:", (int)spans[i].sequence, (int)spans[i].num_tokens);
      for (int64_t j = 0; j < counts[i]; ++j) printf(" %d", (int)token_ids[i][j]);
      printf(";");
      if (reasons[i] != SAMPLER_FINISH_NONE) {
        printf(" ends, reason %d;", (int)reasons[i]);
        check(sampler_session_remove(session, spans[i].sequence));
      }
    }
    printf("\n");
  }
  sampler_session_destroy(session);
  sampler_destroy(sampler);
  return 0;
}
