#ifndef GENERATE_TOKENIZER_H
#define GENERATE_TOKENIZER_H

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace generate {

// Text to tokens and back. Any thread may use it.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  Tokenizer(const Tokenizer &) = delete;
  Tokenizer &operator=(const Tokenizer &) = delete;

  // The tokens of a text. The names of some tokens, such as <|endoftext|>, stand for these.
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;

  // The id of a token as the model's files write it.
  virtual std::optional<std::int32_t> find_token(const std::string &name) const = 0;

  // The same for a prompt: after begin_token() where that is asked for, or where there would be no
  // token. Empty: the text is, and the model has no such token.
  std::vector<std::int32_t> encode_prompt(std::string_view text, bool adds_begin_token) const;

  // The bytes that a token adds to a text; "" for an id without a token.
  const std::string &token_bytes(std::int32_t id) const {
    return bytes_of_id_[static_cast<std::size_t>(id)];
  }

  // The same where nothing precedes it: some tokenizers drop a space there.
  std::string_view first_token_bytes(std::int32_t id) const;

  // The token's bytes, or its name where it has none: for people.
  const std::string &token_name(std::int32_t id) const;

  // What texts begin with, and what ends them, where config.json does not say.
  std::optional<std::int32_t> begin_token() const { return begin_token_; }
  std::optional<std::int32_t> end_token() const { return end_token_; }

  // Whether the model wants begin_token() before each prompt.
  bool adds_begin_token() const { return adds_begin_token_; }

  // What happens to spaces that tokens begin with while a text is empty.
  enum class FirstSpace { kKept, kDropped, kDroppedOfEachToken };
  FirstSpace first_space() const { return first_space_; }

 protected:
  explicit Tokenizer(int vocab_size) : bytes_of_id_(static_cast<std::size_t>(vocab_size)) {}

  // By id, below the model's vocab_size.
  std::vector<std::string> bytes_of_id_;
  std::vector<bool> has_first_space_;  // begins with a space that may be dropped; empty: none does
  std::unordered_map<std::int32_t, std::string> names_;  // of tokens without bytes
  std::optional<std::int32_t> begin_token_;
  std::optional<std::int32_t> end_token_;
  FirstSpace first_space_ = FirstSpace::kKept;
  bool adds_begin_token_ = false;
  bool lowers_case_ = false;  // texts; not the names of tokens in them

 private:
  friend std::unique_ptr<Tokenizer> read_tokenizer(const std::filesystem::path &, int);

  // What tokenizer_config.json says.
  void read_config(const std::filesystem::path &path);
};

// The tokenizer of a model's folder: vocab.json and merges.txt, a SentencePiece model, or
// tokenizer.json, the first of these that there is. Throws Error where there is none, where it is
// damaged, or where it has ids beyond [0, vocab_size).
std::unique_ptr<Tokenizer> read_tokenizer(const std::filesystem::path &directory, int vocab_size);

// A text that grows token by token after a prompt.
class TokenText {
 public:
  TokenText(const Tokenizer &tokenizer, const std::vector<std::int32_t> &prompt);

  // Adds a token; returns the bytes that it adds, which the tokenizer owns.
  std::string_view push(std::int32_t id);

  // Whether a space that the next token begins with is dropped.
  bool is_at_start() const { return is_at_start_; }

 private:
  const Tokenizer *tokenizer_;
  bool is_at_start_;
};

// Tokens that a text has by their names.
class NamedTokens {
 public:
  void add(const std::string &name, std::int32_t id);

  struct Part {
    std::string_view text;
    std::optional<std::int32_t> id;  // of the token; none: other text, not ""
  };
  // The parts of a text, in order. The longest of names that begin at the same place counts.
  std::vector<Part> split(std::string_view text) const;

 private:
  std::vector<std::pair<std::string, std::int32_t>> tokens_;  // the longest first
};

}  // namespace generate

#endif  // GENERATE_TOKENIZER_H
