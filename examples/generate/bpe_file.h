#ifndef GENERATE_BPE_FILE_H
#define GENERATE_BPE_FILE_H

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace generate {

// What the files of a byte-level BPE say, before its tokens are looked up.
// NOLINTNEXTLINE(bugprone-exception-escape): what moving JSON may throw is an assertion
struct BpeFile {
  struct Merge {
    int number;  // in messages: its line, or its place from 1 on
    std::string left;
    std::string right;
  };
  struct AddedToken {
    std::string name;  // as texts have it
    std::int32_t id;   // below vocab_size
  };

  std::string vocab_place;    // in messages: "DIR/vocab.json"
  std::string vocab_name;     // "vocab.json"
  nlohmann::json vocab;       // an object of tokens and ids
  std::string merges_place;   // "DIR/merges.txt:", before a merge's number
  std::vector<Merge> merges;  // one that is merged before another stands before it
  std::vector<AddedToken> added;
  // Each splits the words that those before it have made: into what it matches and the rest.
  std::vector<std::string> patterns;
  bool takes_whole_words = false;    // a word that is a token is not merged
  bool adds_first_space = false;     // to a text that begins with none
  std::optional<std::string> begin;  // the token before each prompt
};

// What ends GPT-2's texts.
constexpr char kEndOfText[] = "<|endoftext|>";

// vocab.json and merges.txt of a folder: GPT-2's.
BpeFile read_vocab_and_merges(const std::filesystem::path &directory);

// tokenizer.json. Throws Error where it is damaged, or has what is not supported: another model
// than a byte-level BPE, a normalizer ...
BpeFile read_tokenizer_json(const std::filesystem::path &path, int vocab_size);

}  // namespace generate

#endif  // GENERATE_BPE_FILE_H
