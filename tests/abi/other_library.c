/* A library with no more than what sampler_dl.h requires, of the ABI that OTHER_ABI says. */
#include <sampler/sampler.h>

uint32_t sampler_abi_version(void) {
  return OTHER_ABI;
}
uint32_t sampler_version(void) {
  return 0;
}
const char *sampler_version_string(void) {
  return "";
}
const char *sampler_last_error(void) {
  return "";
}
sampler_status sampler_create(const sampler_options *options, sampler_t *out_sampler) {
  (void)options;
  (void)out_sampler;
  return SAMPLER_ERROR_UNSUPPORTED;
}
void sampler_destroy(sampler_t sampler) {
  (void)sampler;
}
