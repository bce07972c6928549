#ifndef GENERATE_BPE_H
#define GENERATE_BPE_H

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bpe_file.h"
#include "tokenizer.h"

struct pcre2_real_code_8;

namespace generate {

// Byte-level BPE, as GPT-2 has it: the text is split into words, and the bytes of each word are
// merged pair by pair, the pair that stands first among the merges first. Any bytes can be encoded,
// and decoding the tokens gives the same bytes.
class BpeTokenizer : public Tokenizer {
 public:
  // Reads vocab.json and merges.txt of `directory`. Ids must lie in [0, vocab_size).
  BpeTokenizer(const std::filesystem::path &directory, int vocab_size);

  BpeTokenizer(const BpeFile &file, int vocab_size);

  // <|endoftext|> in the text becomes that token, as everywhere with GPT-2; so do added tokens.
  std::vector<std::int32_t> encode(std::string_view text) const override;

  std::optional<std::int32_t> find_token(const std::string &name) const override;

  // The words whose bytes are merged. Bytes that are not valid UTF-8 make words of their own.
  std::vector<std::string_view> split(std::string_view text) const;

 private:
  struct Merge {
    std::int32_t rank;
    std::int32_t merged_id;
  };
  struct FreeCode {
    void operator()(pcre2_real_code_8 *code) const;
  };

  using Code = std::unique_ptr<pcre2_real_code_8, FreeCode>;

  void read_vocab(const BpeFile &file, int vocab_size);
  void read_merges(const BpeFile &file);
  const Merge *find_merge(std::int32_t left, std::int32_t right) const;
  std::vector<std::string_view> split_utf8(std::string_view text) const;
  void encode_word(std::string_view word, std::vector<std::int32_t> *ids) const;

  std::string vocab_name_;
  bool takes_whole_words_;
  bool adds_first_space_;
  std::vector<Code> word_patterns_;
  std::unordered_map<std::string, std::int32_t> id_of_token_;
  // -1 for a byte that the vocabulary lacks.
  std::array<std::int32_t, 256> id_of_byte_;
  // By left id << 32 | right id.
  std::unordered_map<std::uint64_t, Merge> merges_;
  NamedTokens named_;
};

}  // namespace generate

#endif  // GENERATE_BPE_H
