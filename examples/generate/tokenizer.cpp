#include "tokenizer.h"

#include <algorithm>
#include <utility>

#include "bpe.h"
#include "bpe_file.h"
#include "error.h"
#include "json_file.h"
#include "sentencepiece_tokenizer.h"

namespace generate {

std::vector<std::int32_t> Tokenizer::encode_prompt(std::string_view text,
                                                   bool adds_begin_token) const {
  std::vector<std::int32_t> ids = encode(text);
  if (begin_token_ && (adds_begin_token || ids.empty())) ids.insert(ids.begin(), *begin_token_);
  return ids;
}

std::string_view Tokenizer::first_token_bytes(std::int32_t id) const {
  const bool drops = first_space_ != FirstSpace::kKept;
  const std::string_view bytes = token_bytes(id);
  return bytes.substr(drops && has_first_space_[static_cast<std::size_t>(id)] ? 1 : 0);
}

const std::string &Tokenizer::token_name(std::int32_t id) const {
  const auto found = names_.find(id);
  return found == names_.end() ? token_bytes(id) : found->second;
}

// "bos_token" is a name, or an object whose "content" is one.
void Tokenizer::read_config(const std::filesystem::path &path) {
  if (!std::filesystem::exists(path)) return;
  const nlohmann::json config = read_json_object(path);
  const auto value_of = [](const nlohmann::json &object, const char *name) {
    const auto found = object.find(name);
    return found == object.end() ? nlohmann::json() : *found;
  };
  nlohmann::json begin = value_of(config, "bos_token");
  if (begin.is_object()) begin = value_of(begin, "content");
  const auto id = begin.is_string() ? find_token(begin.get<std::string>()) : std::nullopt;
  if (id) begin_token_ = id;
  const auto read_flag = [&](const char *name, bool *flag) {
    const nlohmann::json value = value_of(config, name);
    if (value.is_null()) return;
    if (!value.is_boolean()) {
      throw Error(path.string() + ": " + name + " is " + value.dump() +
                  "; it must be true or false");
    }
    *flag = value.get<bool>();
  };
  read_flag("do_lower_case", &lowers_case_);
  read_flag("add_bos_token", &adds_begin_token_);
  if (adds_begin_token_ && (!begin_token_ || (!begin.is_null() && !id))) {
    throw Error(path.string() + ": add_bos_token is true, and the vocabulary has no bos_token");
  }
}

std::unique_ptr<Tokenizer> read_tokenizer(const std::filesystem::path &directory, int vocab_size) {
  const auto has = [&](const char *name) { return std::filesystem::exists(directory / name); };
  std::unique_ptr<Tokenizer> tokenizer;
  if (has("vocab.json")) {
    tokenizer = std::make_unique<BpeTokenizer>(directory, vocab_size);
  } else if (has("spiece.model")) {
    tokenizer = read_sentencepiece(directory / "spiece.model", vocab_size);
  } else if (has("tokenizer.model")) {
    tokenizer = read_sentencepiece(directory / "tokenizer.model", vocab_size);
  } else if (has("tokenizer.json")) {
    tokenizer = std::make_unique<BpeTokenizer>(
        read_tokenizer_json(directory / "tokenizer.json", vocab_size), vocab_size);
  } else {
    throw Error(directory.string() +
                ": no vocab.json, spiece.model, tokenizer.model or tokenizer.json");
  }
  tokenizer->read_config(directory / "tokenizer_config.json");
  return tokenizer;
}

TokenText::TokenText(const Tokenizer &tokenizer, const std::vector<std::int32_t> &prompt)
    : tokenizer_(&tokenizer),
      is_at_start_(tokenizer.first_space() != Tokenizer::FirstSpace::kKept) {
  for (auto id = prompt.begin(); id != prompt.end() && is_at_start_; ++id) push(*id);
}

std::string_view TokenText::push(std::int32_t id) {
  const std::string_view bytes = tokenizer_->token_bytes(id);
  if (!is_at_start_) return bytes;
  const std::string_view first = tokenizer_->first_token_bytes(id);
  const bool has_dropped = first.size() < bytes.size();
  const bool drops_more =
      !has_dropped || tokenizer_->first_space() == Tokenizer::FirstSpace::kDroppedOfEachToken;
  is_at_start_ = first.empty() && drops_more;
  return first;
}

void NamedTokens::add(const std::string &name, std::int32_t id) {
  if (name.empty()) return;
  const auto place = std::upper_bound(
      tokens_.begin(), tokens_.end(), name,
      [](const auto &one, const auto &other) { return one.size() > other.first.size(); });
  tokens_.emplace(place, name, id);
}

// Each name is looked for again only where the text has gone past it: no name is looked for twice
// in the same part of the text.
std::vector<NamedTokens::Part> NamedTokens::split(std::string_view text) const {
  std::vector<Part> parts;
  std::vector<std::size_t> found(tokens_.size());
  std::size_t begin = 0;
  bool is_new = true;
  while (begin < text.size()) {
    std::size_t next = text.size(), which = 0;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (is_new || found[i] < begin) {
        found[i] = std::min(text.find(tokens_[i].first, begin), text.size());
      }
      if (found[i] < next) {
        next = found[i];
        which = i;
      }
    }
    is_new = false;
    if (next > begin) parts.push_back({text.substr(begin, next - begin), std::nullopt});
    if (next == text.size()) break;
    const auto &[name, id] = tokens_[which];
    parts.push_back({text.substr(next, name.size()), id});
    begin = next + name.size();
  }
  return parts;
}

}  // namespace generate
