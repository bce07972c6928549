/* What the C block of docs/dlopen.md takes as given. */
#include <sampler_dl.h>

extern const char *path;
extern const float *logits;
extern int32_t num_tokens;
extern int32_t token_id;
extern uint64_t seed, step;
