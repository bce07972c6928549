/* What the C blocks of docs/decoding.md take as given. */
#include <sampler/sampler.h>
#include <string.h>

extern sampler_t sampler;
extern struct my_model *my_model;
sampler_status my_forward(void *user, const sampler_forward_args *args);
sampler_status my_truncate(void *user, int32_t sequence, int64_t length);
extern sampler_model small_model;
extern const sampler_forward_args *forward;
extern int64_t span;
extern _Bool *sees; /* [count, count] */
extern int64_t *positions;
extern int64_t num_prompts;
extern const int64_t *offsets;
extern const int32_t *prompts;
extern int32_t *tokens;
extern sampler_session_t session;
extern sampler_session_add_args add;
extern int32_t sequence;
extern int32_t *text;
