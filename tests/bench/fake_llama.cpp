// A stand-in for libllama.so: whatever a chain is made of, it chooses the largest logit.
// WITHOUT_MIN_P leaves a function out, OLD_ARRAY has another layout of the array of candidates.
#include <cstddef>
#include <cstdint>

namespace {

struct Sampler {};
struct Params {
  bool no_perf;
};
struct Candidate {
  int32_t id;
  float logit, p;
};
struct Array {
  Candidate *data;
  size_t size;
#ifndef OLD_ARRAY
  int64_t selected;
#endif
  bool sorted;
};

}  // namespace

extern "C" {

const char *llama_version() {
  return "1.2.3";
}
Params llama_sampler_chain_default_params() {
  return {true};
}
Sampler *llama_sampler_chain_init(Params) {
  return new Sampler;
}
void llama_sampler_chain_add(Sampler *, Sampler *added) {
  delete added;
}
Sampler *llama_sampler_init_greedy() {
  return new Sampler;
}
Sampler *llama_sampler_init_dist(uint32_t) {
  return new Sampler;
}
Sampler *llama_sampler_init_temp(float) {
  return new Sampler;
}
Sampler *llama_sampler_init_top_k(int32_t) {
  return new Sampler;
}
Sampler *llama_sampler_init_top_p(float, size_t) {
  return new Sampler;
}
#ifndef WITHOUT_MIN_P
Sampler *llama_sampler_init_min_p(float, size_t) {
  return new Sampler;
}
#endif
void llama_sampler_accept(Sampler *, int32_t) {}
void llama_sampler_free(Sampler *sampler) {
  delete sampler;
}

void llama_sampler_apply(Sampler *, Array *array) {
  size_t best = 0;
  for (size_t i = 1; i < array->size; ++i) {
    if (array->data[i].logit > array->data[best].logit) best = i;
  }
#ifdef OLD_ARRAY
  array->data[0] = array->data[best];
  array->size = 1;
  array->sorted = true;
#else
  array->selected = int64_t(best);
#endif
}

}  // extern "C"
