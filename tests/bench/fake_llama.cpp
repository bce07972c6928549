// A stand-in for libllama.so: whatever a chain is made of, it chooses the largest logit, after a
// repetition penalty and DRY of repeats of two tokens. WITHOUT_MIN_P leaves a function out,
// OLD_ARRAY has another layout of the array of candidates, OTHER_DRY other arguments of
// a function, which then has no effect.
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace {

struct Sampler {
  float repetition = 1, dry = 0;
  std::vector<int32_t> history;
};
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

// The token that came after an earlier occurrence of the last two; -1 where there is none.
int32_t repeating(const std::vector<int32_t> &text) {
  const size_t end = text.size();
  for (size_t i = 2; i < end; ++i) {
    if (text[i - 2] == text[end - 2] && text[i - 1] == text[end - 1]) return text[i];
  }
  return -1;
}

void lower(const Sampler &chain, Array *array) {
  const std::set<int32_t> penalized(chain.history.begin(), chain.history.end());
  const int32_t repeat = repeating(chain.history);
  for (size_t i = 0; i < array->size; ++i) {
    Candidate &candidate = array->data[i];
    float &logit = candidate.logit;
    if (penalized.count(candidate.id) != 0) {
      logit = logit > 0 ? logit / chain.repetition : logit * chain.repetition;
    }
    if (candidate.id == repeat) logit -= chain.dry;
  }
}

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
void llama_sampler_chain_add(Sampler *chain, Sampler *added) {
  if (added->repetition != 1) chain->repetition = added->repetition;
  if (added->dry != 0) chain->dry = added->dry;
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
Sampler *llama_sampler_init_penalties(int32_t, int32_t, float repetition, float, float) {
  return new Sampler{repetition, 0, {}};
}
#ifdef OTHER_DRY
Sampler *llama_sampler_init_dry() {
  return new Sampler;
}
#else
Sampler *llama_sampler_init_dry(const void *, float multiplier, float, int32_t, int32_t,
                                const char **, size_t) {
  return new Sampler{1, multiplier, {}};
}
#endif
void llama_sampler_accept(Sampler *chain, int32_t token_id) {
  chain->history.push_back(token_id);
}
void llama_sampler_free(Sampler *sampler) {
  delete sampler;
}

void llama_sampler_apply(Sampler *chain, Array *array) {
  lower(*chain, array);
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
