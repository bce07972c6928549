#include "decoding/session/session_state.h"

#include "abi/structs.h"
#include "sampler/sampler.h"

namespace sampler::decoding {

SessionState::SessionState(sampler_handle *handle, sampler_stream stream, int64_t longest_text,
                           Transfer *transfer, SessionArrays *arrays)
    : handle_(handle), stream_(stream), longest_text_(longest_text), transfer_(*transfer) {
  arrays->count_in<int32_t>(longest_text);  // a new text
  arrays->count_in<float>(SAMPLER_NUM_ADAPTIVE_VALUES);
}

sampler_status SessionState::create(abi::Entry &entry, int64_t num_slots) {
  auto options = abi::sized<sampler_state_options>();
  options.num_slots = num_slots;
  options.max_tokens = longest_text_;
  return entry.call_host([&] { return sampler_state_create(handle_, &options, &state_); });
}

void SessionState::destroy(abi::Entry &entry) {
  entry.call_host([&] { sampler_state_destroy(state_); });
}

sampler_status SessionState::append(abi::Entry &entry, int32_t sequence,
                                    const sampler_session_add_args &args) {
  if (!state_) return SAMPLER_OK;
  const int64_t num_tokens = args.num_tokens;
  const int64_t places[3] = {0, args.prompt_length ? args.prompt_length : num_tokens, num_tokens};
  transfer_.begin();
  auto reset = abi::sized<sampler_state_reset_args>();
  reset.exec.stream = stream_;
  reset.state = state_;
  reset.slots = transfer_.in(&sequence, 1);
  reset.num_rows = 1;
  if (args.resumed) {
    reset.adaptive_values =
        transfer_.in(args.resumed->adaptive_values, SAMPLER_NUM_ADAPTIVE_VALUES);
  }
  const int64_t *const offsets = transfer_.in(places, 3);
  const int32_t *const tokens = transfer_.in(args.token_ids, num_tokens);
  sampler_status status = transfer_.upload(entry);
  if (status != SAMPLER_OK) return status;
  status = entry.call_host([&] { return sampler_state_reset(handle_, &reset); });
  for (int i = 0; status == SAMPLER_OK && i < 2; ++i) {
    auto text = abi::sized<sampler_state_append_args>();
    text.exec.stream = stream_;
    text.state = state_;
    text.slots = reset.slots;
    text.num_rows = 1;
    text.tokens = {offsets + i, tokens, 1, num_tokens};
    text.token_kind = i == 0 ? SAMPLER_TOKENS_PROMPT : SAMPLER_TOKENS_OUTPUT;
    status = entry.call_host([&] { return sampler_state_append(handle_, &text); });
  }
  return status;
}

sampler_status SessionState::copy(abi::Entry &entry, int32_t source, int32_t destination) {
  if (!state_) return SAMPLER_OK;
  transfer_.begin();
  auto copy = abi::sized<sampler_state_copy_args>();
  copy.exec.stream = stream_;
  copy.source = copy.destination = state_;
  copy.source_slots = transfer_.in(&source, 1);
  copy.destination_slots = transfer_.in(&destination, 1);
  copy.num_rows = 1;
  const sampler_status status = transfer_.upload(entry);
  if (status != SAMPLER_OK) return status;
  return entry.call_host([&] { return sampler_state_copy(handle_, &copy); });
}

sampler_status SessionState::accept(abi::Entry &entry, sampler_accept_args *args) {
  args->exec.stream = stream_;
  args->state = state_;
  const sampler_status status = transfer_.upload(entry);
  if (status != SAMPLER_OK) return status;
  return entry.call_host([&] { return sampler_accept(handle_, args); });
}

}  // namespace sampler::decoding
