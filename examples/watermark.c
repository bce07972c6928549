/* A text drawn with a watermark, and one without, before the eyes of two keys. The model is a
 * table: which tokens are likely follows from the last one. */
#include <inttypes.h>
#include <sampler/sampler.h>
#include <stdio.h>
#include <string.h>

#define COLS 256
#define LENGTH 100
#define CONTEXT 4

static const uint64_t key = 0x5eaf00d, other_key = 0xbeef;

static void predict(int64_t last, float logits[COLS]) {
  for (int id = 0; id < COLS; ++id) logits[id] = (float)((last * 31 + id * 17) % 97) * 0.05f;
}

/* The last tokens of a text, -1 where it has fewer. */
static void context_of(const int64_t *text, int length, int64_t context[CONTEXT]) {
  for (int i = 0; i < CONTEXT; ++i) {
    const int at = length - CONTEXT + i;
    context[i] = at < 0 ? -1 : text[at];
  }
}

/* Whether the context before this place stood before an earlier one. */
static int is_repeated(const int64_t *text, int length) {
  int64_t context[CONTEXT], earlier[CONTEXT];
  context_of(text, length, context);
  for (int i = 0; i < length; ++i) {
    context_of(text, i, earlier);
    if (memcmp(context, earlier, sizeof context) == 0) return 1;
  }
  return 0;
}

static sampler_status write_text(sampler_t sampler, int is_marked, int64_t text[LENGTH]) {
  float logits[COLS];
  uint32_t stream;
  sampler_sample_args args = {0};
  args.struct_size = sizeof args;
  args.input.values = logits, args.input.num_rows = 1, args.input.num_cols = COLS;
  args.token_id_type = SAMPLER_ID_I64;
  for (int i = 0; i < LENGTH; ++i) {
    predict(i ? text[i - 1] : 0, logits);
    args.random.seed = 7, args.random.offset = (uint64_t)i, args.random.streams = NULL;
    args.draw_method = SAMPLER_DRAW_INVERSE_CDF;
    if (is_marked && !is_repeated(text, i)) {
      int64_t context[CONTEXT];
      context_of(text, i, context);
      sampler_status status = sampler_watermark_random(key, context, CONTEXT, &args.random.seed,
                                                       &args.random.offset, &stream);
      if (status != SAMPLER_OK) return status;
      args.random.streams = &stream;
      args.draw_method = SAMPLER_DRAW_WATERMARK;
    }
    args.out_token_ids = &text[i];
    const sampler_status status = sampler_sample(sampler, &args);
    if (status != SAMPLER_OK) return status;
  }
  return SAMPLER_OK;
}

int main(void) {
  int64_t text[LENGTH];
  sampler_options options = sampler_options_default();
  options.max_rows = 1, options.max_cols = COLS;
  sampler_t sampler;
  if (sampler_create(&options, &sampler) != SAMPLER_OK) return 1;
  for (int is_marked = 0; is_marked < 2; ++is_marked) {
    if (write_text(sampler, is_marked, text) != SAMPLER_OK) {
      fprintf(stderr, "%s\n", sampler_last_error());
      return 1;
    }
    for (int is_other = 0; is_other < 2; ++is_other) {
      double score, p_value;
      int64_t num_scored;
      if (sampler_watermark_detect(is_other ? other_key : key, text, LENGTH, CONTEXT, 0, &score,
                                   &num_scored, &p_value) != SAMPLER_OK) {
        return 1;
      }
      printf("text %s the watermark, %s key: %" PRId64 " tokens score %.0f, p = %.2g\n",
             is_marked ? "with" : "without", is_other ? "another" : "the", num_scored, score,
             p_value);
    }
  }
  sampler_destroy(sampler);
  return 0;
}
