/* libsampler opened at run time: a table of its functions, filled by dlopen. It is made from the
 * other headers by tools/dl_header.py.
 *
 *   sampler_dl lib;
 *   char error[SAMPLER_DL_ERROR_SIZE];
 *   if (!sampler_dl_open(&lib, NULL, error)) { ...; }
 *   lib.top_k_top_p(sampler, ...);
 *   sampler_dl_close(&lib);
 *
 * A program that includes this needs the headers and no library to link with, but for -ldl where
 * glibc is older than 2.34. It must not call sampler_...() itself; the inline functions of the
 * other headers call none. Members have the functions' names without "sampler_". */
#ifndef SAMPLER_DL_H
#define SAMPLER_DL_H

#include <dlfcn.h>
#include <sampler/sampler.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sampler_dl {
  void *library; /* of dlopen; NULL: none is open */

  /* always there */
  uint32_t (*abi_version)(void);
  uint32_t (*version)(void);
  const char *(*version_string)(void);
  const char *(*last_error)(void);
  sampler_status (*create)(const sampler_options *options, sampler_t *out_sampler);
  void (*destroy)(sampler_t sampler);

  /* decoding.h */
  sampler_status (*generation_args_init)(sampler_generation_args *args, size_t struct_size);
  sampler_status (*autoregressive)(sampler_t sampler, const sampler_generation_args *args);
  sampler_status (*speculative_args_init)(sampler_speculative_args *args, size_t struct_size);
  sampler_status (*speculative)(sampler_t sampler, const sampler_speculative_args *args);
  sampler_status (*beam_search_args_init)(sampler_beam_search_args *args, size_t struct_size);
  sampler_status (*beam_search)(sampler_t sampler, const sampler_beam_search_args *args);
  sampler_status (*prune_count)(int64_t num_drafted, int64_t num_emitted, int64_t *out_target,
                                int64_t *out_drafter, int64_t *out_missing);

  /* handle.h */
  sampler_status (*options_init)(sampler_options *options, size_t struct_size);
  sampler_status (*get_capabilities)(sampler_capabilities *out_capabilities);

  /* ngram.h */
  sampler_status (*ngram_storage_create)(const sampler_ngram_storage_options *options,
                                         sampler_ngram_storage_t *out_storage);
  void (*ngram_storage_destroy)(sampler_ngram_storage_t storage);
  sampler_status (*ngram_storage_interface)(sampler_ngram_storage_t storage,
                                            sampler_ngram *out_ngram);
  sampler_status (*ngram_storage_get_stats)(sampler_ngram_storage_t storage,
                                            sampler_ngram_storage_stats *out_stats);
  sampler_status (*ngram_storage_serialize)(sampler_ngram_storage_t storage, void *buffer,
                                            size_t buffer_bytes, size_t *out_bytes);
  sampler_status (*ngram_storage_deserialize)(sampler_ngram_storage_t storage, const void *data,
                                              size_t data_bytes);
  sampler_status (*prompt_lookup_create)(const sampler_prompt_lookup_options *options,
                                         sampler_prompt_lookup_t *out_lookup);
  void (*prompt_lookup_destroy)(sampler_prompt_lookup_t lookup);
  sampler_status (*prompt_lookup_append)(sampler_prompt_lookup_t lookup, const int32_t *token_ids,
                                         int64_t num_tokens);
  sampler_status (*prompt_lookup_reset)(sampler_prompt_lookup_t lookup);
  sampler_status (*prompt_lookup_propose)(sampler_prompt_lookup_t lookup, int64_t num_drafts,
                                          int32_t *out_token_ids, int64_t *out_num_drafts);
  sampler_status (*prompt_lookup_interface)(sampler_prompt_lookup_t lookup,
                                            sampler_ngram *out_ngram);

  /* pipeline.h */
  const char *(*stage_name)(sampler_stage stage);

  /* sampling.h */
  sampler_status (*params_init)(sampler_params *params, size_t struct_size);
  sampler_status (*params_preset)(sampler_params *params, size_t struct_size, const char *name);
  const char *(*preset_name)(int32_t index);
  sampler_status (*sample)(sampler_t sampler, const sampler_sample_args *args);
  sampler_status (*score)(sampler_t sampler, const sampler_score_args *args);
  sampler_status (*filter)(sampler_t sampler, const sampler_filter_args *args);
  sampler_status (*select)(sampler_t sampler, const sampler_select_args *args);
  sampler_status (*sample_workspace_size)(sampler_t sampler, const sampler_sample_args *args,
                                          size_t *out_bytes);
  sampler_status (*score_workspace_size)(sampler_t sampler, const sampler_score_args *args,
                                         size_t *out_bytes);
  sampler_status (*filter_workspace_size)(sampler_t sampler, const sampler_filter_args *args,
                                          size_t *out_bytes);
  sampler_status (*select_workspace_size)(sampler_t sampler, const sampler_select_args *args,
                                          size_t *out_bytes);

  /* session.h */
  sampler_status (*session_create)(sampler_t sampler, const sampler_session_options *options,
                                   sampler_session_t *out_session);
  sampler_status (*session_size)(sampler_t sampler, const sampler_session_options *options,
                                 size_t *out_bytes);
  void (*session_destroy)(sampler_session_t session);
  sampler_status (*session_add)(sampler_session_t session, const sampler_session_add_args *args,
                                int32_t *out_sequence);
  sampler_status (*session_fork)(sampler_session_t session, const sampler_session_fork_args *args,
                                 int32_t *out_sequence);
  sampler_status (*session_remove)(sampler_session_t session, int32_t sequence);
  sampler_status (*session_get)(sampler_session_t session, int32_t sequence,
                                sampler_session_sequence *out_sequence);
  sampler_status (*session_plan)(sampler_session_t session, const sampler_session_plan_args *args);
  sampler_status (*session_advance)(sampler_session_t session,
                                    const sampler_session_advance_args *args);

  /* shard.h */
  sampler_status (*shard_plan)(sampler_t sampler, const sampler_shard_args *args,
                               sampler_shard_plan_info *out_plan);
  sampler_status (*shard_round)(sampler_t sampler, const sampler_shard_args *args, int64_t round);

  /* simple.h */
  sampler_status (*argmax)(sampler_t sampler, const sampler_rows *input, int32_t *out_token_ids,
                           sampler_stream stream);
  sampler_status (*categorical)(sampler_t sampler, const sampler_rows *input, float temperature,
                                uint64_t seed, uint64_t offset, int32_t *out_token_ids,
                                sampler_stream stream);
  sampler_status (*top_k)(sampler_t sampler, const sampler_rows *input, int32_t top_k,
                          float temperature, uint64_t seed, uint64_t offset, int32_t *out_token_ids,
                          sampler_stream stream);
  sampler_status (*top_p)(sampler_t sampler, const sampler_rows *input, float top_p,
                          float temperature, uint64_t seed, uint64_t offset, int32_t *out_token_ids,
                          sampler_stream stream);
  sampler_status (*min_p)(sampler_t sampler, const sampler_rows *input, float min_p,
                          float temperature, uint64_t seed, uint64_t offset, int32_t *out_token_ids,
                          sampler_stream stream);
  sampler_status (*top_k_top_p)(sampler_t sampler, const sampler_rows *input, int32_t top_k,
                                float top_p, float temperature, uint64_t seed, uint64_t offset,
                                int32_t *out_token_ids, sampler_stream stream);
  sampler_status (*softmax)(sampler_t sampler, const sampler_rows *input, float temperature,
                            float *output, sampler_stream stream);
  sampler_status (*top_k_renorm)(sampler_t sampler, const sampler_rows *input, int32_t top_k,
                                 float *output, sampler_stream stream);
  sampler_status (*top_p_renorm)(sampler_t sampler, const sampler_rows *input, float top_p,
                                 float *output, sampler_stream stream);
  sampler_status (*top_k_mask)(sampler_t sampler, const sampler_rows *input, int32_t top_k,
                               float *output, sampler_stream stream);
  sampler_status (*top_k_select)(sampler_t sampler, const sampler_rows *input, int64_t num_selected,
                                 float *out_values, int32_t *out_token_ids, sampler_stream stream);
  sampler_status (*chain_speculative)(sampler_t sampler, const sampler_rows *target,
                                      const sampler_rows *draft, const int32_t *draft_token_ids,
                                      int64_t num_drafts, uint64_t seed, uint64_t offset,
                                      int32_t *out_token_ids, int32_t *out_accepted_counts,
                                      int32_t *out_emitted_counts, sampler_stream stream);

  /* speculative.h */
  sampler_status (*verify)(sampler_t sampler, const sampler_verify_args *args);
  sampler_status (*verify_workspace_size)(sampler_t sampler, const sampler_verify_args *args,
                                          size_t *out_bytes);
  sampler_status (*residual)(sampler_t sampler, const sampler_residual_args *args);
  sampler_status (*residual_workspace_size)(sampler_t sampler, const sampler_residual_args *args,
                                            size_t *out_bytes);

  /* state.h */
  sampler_status (*state_create)(sampler_t sampler, const sampler_state_options *options,
                                 sampler_state_t *out_state);
  sampler_status (*state_size)(sampler_t sampler, const sampler_state_options *options,
                               size_t *out_bytes);
  void (*state_destroy)(sampler_state_t state);
  sampler_status (*state_append)(sampler_t sampler, const sampler_state_append_args *args);
  sampler_status (*accept)(sampler_t sampler, const sampler_accept_args *args);
  sampler_status (*state_truncate)(sampler_t sampler, const sampler_state_truncate_args *args);
  sampler_status (*state_copy)(sampler_t sampler, const sampler_state_copy_args *args);
  sampler_status (*state_reset)(sampler_t sampler, const sampler_state_reset_args *args);
  sampler_status (*state_read)(sampler_t sampler, const sampler_state_read_args *args);
  sampler_status (*state_serialize)(sampler_t sampler, sampler_state_t state, int64_t first_slot,
                                    int64_t num_slots, void *buffer, size_t buffer_bytes,
                                    size_t *out_bytes);
  sampler_status (*state_deserialize)(sampler_t sampler, sampler_state_t state, int64_t first_slot,
                                      const void *data, size_t data_bytes, int64_t *out_num_slots);

  /* types.h */
  const char *(*status_string)(sampler_status status);

  /* unmask.h */
  sampler_status (*unmask)(sampler_t sampler, const sampler_unmask_args *args);
  sampler_status (*unmask_workspace_size)(sampler_t sampler, const sampler_unmask_args *args,
                                          size_t *out_bytes);

  /* watermark.h */
  sampler_status (*watermark_random)(uint64_t key, const int64_t *context, int64_t context_length,
                                     uint64_t *out_seed, uint64_t *out_offset,
                                     uint32_t *out_stream);
  sampler_status (*watermark_detect)(uint64_t key, const int64_t *token_ids, int64_t num_token_ids,
                                     int64_t context_length, int32_t keeps_repeated,
                                     double *out_score, int64_t *out_num_scored,
                                     double *out_p_value);
  sampler_status (*watermark_table)(const sampler_watermark_params *params, int32_t *out_table);
  sampler_status (*watermark_bias)(const sampler_watermark_params *params, const int64_t *context,
                                   const int32_t *candidate_token_ids, int64_t num_candidates,
                                   float *out_biases);
  sampler_status (*watermark_tournament)(const sampler_watermark_params *params,
                                         const int64_t *context, const int32_t *token_ids,
                                         int64_t num_tokens, float *probabilities);
  sampler_status (*watermark_score)(const sampler_watermark_params *params,
                                    const int64_t *token_ids, int64_t num_token_ids,
                                    double *out_score, int64_t *out_num_scored,
                                    double *out_p_value);
} sampler_dl;

/* Bytes of a message, with its end. */
#define SAMPLER_DL_ERROR_SIZE 512

/* Closes a library that was opened, and sets all of the table to NULL. Handles must have been
 * destroyed. It may be opened again. */
static inline void sampler_dl_close(sampler_dl *lib) {
  if (lib->library) dlclose(lib->library);
  memset(lib, 0, sizeof *lib);
}

/* Opens the library at `path`; NULL: "libsampler.so.ABI", where the loader finds it. Its names stay
 * out of the way of others (RTLD_LOCAL), so that several copies may be open, each with handles of
 * its own. Returns 1, or 0 with the reason in error[SAMPLER_DL_ERROR_SIZE], and the table is all
 * NULL: there is no such library, it is not this one, or its ABI number is not SAMPLER_ABI_VERSION.
 * Functions that a library older than these headers lacks are NULL; those of version.h,
 * sampler_last_error, sampler_create and sampler_destroy never are. */
static inline int sampler_dl_open(sampler_dl *lib, const char *path, char *error) {
  static const struct {
    const char *name;
    size_t place;
  } functions[] = {
      {"sampler_abi_version", offsetof(sampler_dl, abi_version)},
      {"sampler_version", offsetof(sampler_dl, version)},
      {"sampler_version_string", offsetof(sampler_dl, version_string)},
      {"sampler_last_error", offsetof(sampler_dl, last_error)},
      {"sampler_create", offsetof(sampler_dl, create)},
      {"sampler_destroy", offsetof(sampler_dl, destroy)},
      {"sampler_generation_args_init", offsetof(sampler_dl, generation_args_init)},
      {"sampler_autoregressive", offsetof(sampler_dl, autoregressive)},
      {"sampler_speculative_args_init", offsetof(sampler_dl, speculative_args_init)},
      {"sampler_speculative", offsetof(sampler_dl, speculative)},
      {"sampler_beam_search_args_init", offsetof(sampler_dl, beam_search_args_init)},
      {"sampler_beam_search", offsetof(sampler_dl, beam_search)},
      {"sampler_prune_count", offsetof(sampler_dl, prune_count)},
      {"sampler_options_init", offsetof(sampler_dl, options_init)},
      {"sampler_get_capabilities", offsetof(sampler_dl, get_capabilities)},
      {"sampler_ngram_storage_create", offsetof(sampler_dl, ngram_storage_create)},
      {"sampler_ngram_storage_destroy", offsetof(sampler_dl, ngram_storage_destroy)},
      {"sampler_ngram_storage_interface", offsetof(sampler_dl, ngram_storage_interface)},
      {"sampler_ngram_storage_get_stats", offsetof(sampler_dl, ngram_storage_get_stats)},
      {"sampler_ngram_storage_serialize", offsetof(sampler_dl, ngram_storage_serialize)},
      {"sampler_ngram_storage_deserialize", offsetof(sampler_dl, ngram_storage_deserialize)},
      {"sampler_prompt_lookup_create", offsetof(sampler_dl, prompt_lookup_create)},
      {"sampler_prompt_lookup_destroy", offsetof(sampler_dl, prompt_lookup_destroy)},
      {"sampler_prompt_lookup_append", offsetof(sampler_dl, prompt_lookup_append)},
      {"sampler_prompt_lookup_reset", offsetof(sampler_dl, prompt_lookup_reset)},
      {"sampler_prompt_lookup_propose", offsetof(sampler_dl, prompt_lookup_propose)},
      {"sampler_prompt_lookup_interface", offsetof(sampler_dl, prompt_lookup_interface)},
      {"sampler_stage_name", offsetof(sampler_dl, stage_name)},
      {"sampler_params_init", offsetof(sampler_dl, params_init)},
      {"sampler_params_preset", offsetof(sampler_dl, params_preset)},
      {"sampler_preset_name", offsetof(sampler_dl, preset_name)},
      {"sampler_sample", offsetof(sampler_dl, sample)},
      {"sampler_score", offsetof(sampler_dl, score)},
      {"sampler_filter", offsetof(sampler_dl, filter)},
      {"sampler_select", offsetof(sampler_dl, select)},
      {"sampler_sample_workspace_size", offsetof(sampler_dl, sample_workspace_size)},
      {"sampler_score_workspace_size", offsetof(sampler_dl, score_workspace_size)},
      {"sampler_filter_workspace_size", offsetof(sampler_dl, filter_workspace_size)},
      {"sampler_select_workspace_size", offsetof(sampler_dl, select_workspace_size)},
      {"sampler_session_create", offsetof(sampler_dl, session_create)},
      {"sampler_session_size", offsetof(sampler_dl, session_size)},
      {"sampler_session_destroy", offsetof(sampler_dl, session_destroy)},
      {"sampler_session_add", offsetof(sampler_dl, session_add)},
      {"sampler_session_fork", offsetof(sampler_dl, session_fork)},
      {"sampler_session_remove", offsetof(sampler_dl, session_remove)},
      {"sampler_session_get", offsetof(sampler_dl, session_get)},
      {"sampler_session_plan", offsetof(sampler_dl, session_plan)},
      {"sampler_session_advance", offsetof(sampler_dl, session_advance)},
      {"sampler_shard_plan", offsetof(sampler_dl, shard_plan)},
      {"sampler_shard_round", offsetof(sampler_dl, shard_round)},
      {"sampler_argmax", offsetof(sampler_dl, argmax)},
      {"sampler_categorical", offsetof(sampler_dl, categorical)},
      {"sampler_top_k", offsetof(sampler_dl, top_k)},
      {"sampler_top_p", offsetof(sampler_dl, top_p)},
      {"sampler_min_p", offsetof(sampler_dl, min_p)},
      {"sampler_top_k_top_p", offsetof(sampler_dl, top_k_top_p)},
      {"sampler_softmax", offsetof(sampler_dl, softmax)},
      {"sampler_top_k_renorm", offsetof(sampler_dl, top_k_renorm)},
      {"sampler_top_p_renorm", offsetof(sampler_dl, top_p_renorm)},
      {"sampler_top_k_mask", offsetof(sampler_dl, top_k_mask)},
      {"sampler_top_k_select", offsetof(sampler_dl, top_k_select)},
      {"sampler_chain_speculative", offsetof(sampler_dl, chain_speculative)},
      {"sampler_verify", offsetof(sampler_dl, verify)},
      {"sampler_verify_workspace_size", offsetof(sampler_dl, verify_workspace_size)},
      {"sampler_residual", offsetof(sampler_dl, residual)},
      {"sampler_residual_workspace_size", offsetof(sampler_dl, residual_workspace_size)},
      {"sampler_state_create", offsetof(sampler_dl, state_create)},
      {"sampler_state_size", offsetof(sampler_dl, state_size)},
      {"sampler_state_destroy", offsetof(sampler_dl, state_destroy)},
      {"sampler_state_append", offsetof(sampler_dl, state_append)},
      {"sampler_accept", offsetof(sampler_dl, accept)},
      {"sampler_state_truncate", offsetof(sampler_dl, state_truncate)},
      {"sampler_state_copy", offsetof(sampler_dl, state_copy)},
      {"sampler_state_reset", offsetof(sampler_dl, state_reset)},
      {"sampler_state_read", offsetof(sampler_dl, state_read)},
      {"sampler_state_serialize", offsetof(sampler_dl, state_serialize)},
      {"sampler_state_deserialize", offsetof(sampler_dl, state_deserialize)},
      {"sampler_status_string", offsetof(sampler_dl, status_string)},
      {"sampler_unmask", offsetof(sampler_dl, unmask)},
      {"sampler_unmask_workspace_size", offsetof(sampler_dl, unmask_workspace_size)},
      {"sampler_watermark_random", offsetof(sampler_dl, watermark_random)},
      {"sampler_watermark_detect", offsetof(sampler_dl, watermark_detect)},
      {"sampler_watermark_table", offsetof(sampler_dl, watermark_table)},
      {"sampler_watermark_bias", offsetof(sampler_dl, watermark_bias)},
      {"sampler_watermark_tournament", offsetof(sampler_dl, watermark_tournament)},
      {"sampler_watermark_score", offsetof(sampler_dl, watermark_score)}};
  /* The first num_required must be there. */
  const size_t num_functions = sizeof functions / sizeof functions[0], num_required = 6;
  char soname[32];
  size_t i;
  memset(lib, 0, sizeof *lib);
  if (!path) {
    snprintf(soname, sizeof soname, "libsampler.so.%d", SAMPLER_ABI_VERSION);
    path = soname;
  }
  lib->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!lib->library) {
    const char *reason = dlerror();
    snprintf(error, SAMPLER_DL_ERROR_SIZE, "%s", reason ? reason : "dlopen failed");
    return 0;
  }
  for (i = 0; i < num_functions; ++i) {
    void *function = dlsym(lib->library, functions[i].name);
    /* ISO C has no such conversion; POSIX says that it works. */
    *(void **)(void *)((char *)lib + functions[i].place) = function;
    if (function || i >= num_required) continue;
    snprintf(error, SAMPLER_DL_ERROR_SIZE, "%s is no libsampler: it has no %s", path,
             functions[i].name);
    sampler_dl_close(lib);
    return 0;
  }
  if (lib->abi_version() != SAMPLER_ABI_VERSION) {
    snprintf(error, SAMPLER_DL_ERROR_SIZE,
             "%s has ABI %u; it must be %d, that of the headers this was compiled with", path,
             (unsigned)lib->abi_version(), SAMPLER_ABI_VERSION);
    sampler_dl_close(lib);
    return 0;
  }
  return 1;
}

#ifdef __cplusplus
}
#endif

#endif /* SAMPLER_DL_H */
