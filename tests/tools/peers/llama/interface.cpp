// Prints what a llama.h declares of that which the adapter and its test use: compiled with the fake
// of tests/integrations and with llama.cpp's own, it must print the same.
#include <llama.h>

#include <cstddef>
#include <cstdio>
#include <typeinfo>

#define STRUCT(type) std::printf("%s %zu\n", #type, sizeof(type))
#define MEMBER(type, part)                                          \
  std::printf("%s.%s %zu %s\n", #type, #part, offsetof(type, part), \
              typeid(decltype(type::part)).name())
#define FUNCTION(function) std::printf("%s %s\n", #function, typeid(decltype(function)).name())

int main() {
  STRUCT(llama_token_data);
  MEMBER(llama_token_data, id);
  MEMBER(llama_token_data, logit);
  MEMBER(llama_token_data, p);
  STRUCT(llama_token_data_array);
  MEMBER(llama_token_data_array, data);
  MEMBER(llama_token_data_array, size);
  MEMBER(llama_token_data_array, selected);
  MEMBER(llama_token_data_array, sorted);
  STRUCT(llama_sampler_i);
  MEMBER(llama_sampler_i, name);
  MEMBER(llama_sampler_i, accept);
  MEMBER(llama_sampler_i, apply);
  MEMBER(llama_sampler_i, reset);
  MEMBER(llama_sampler_i, clone);
  MEMBER(llama_sampler_i, free);
  MEMBER(llama_sampler_i, backend_init);
  MEMBER(llama_sampler_i, backend_accept);
  MEMBER(llama_sampler_i, backend_apply);
  MEMBER(llama_sampler_i, backend_set_input);
  MEMBER(llama_sampler_i, backend_reset);
  MEMBER(llama_sampler_i, copy_state);
  STRUCT(llama_sampler);
  MEMBER(llama_sampler, iface);
  MEMBER(llama_sampler, ctx);
  FUNCTION(llama_sampler_init);
  FUNCTION(llama_sampler_name);
  FUNCTION(llama_sampler_accept);
  FUNCTION(llama_sampler_apply);
  FUNCTION(llama_sampler_reset);
  FUNCTION(llama_sampler_clone);
  FUNCTION(llama_sampler_copy);
  FUNCTION(llama_sampler_free);
  STRUCT(llama_sampler_chain_params);
  MEMBER(llama_sampler_chain_params, no_perf);
  FUNCTION(llama_sampler_chain_default_params);
  FUNCTION(llama_sampler_chain_init);
  FUNCTION(llama_sampler_chain_add);
  FUNCTION(llama_sampler_chain_n);
}
