#include "bpe.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <functional>
#include <new>
#include <queue>
#include <tuple>
#include <utility>

#include "error.h"
#include "json_file.h"
#include "utf8.h"

namespace generate {

namespace {

// The files write bytes as characters: printable ones of Latin-1 as themselves, the others, in
// order, as the characters from U+0100 on.
bool stands_for_itself(int byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// Code points here are below U+0800: two bytes of UTF-8 at most.
std::string utf8_of(unsigned code_point) {
  if (code_point < 0x80) return std::string(1, static_cast<char>(code_point));
  return {static_cast<char>(0xC0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3F))};
}

class ByteAlphabet {
 public:
  ByteAlphabet() {
    unsigned next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
      const auto code_point = stands_for_itself(byte) ? static_cast<unsigned>(byte) : next++;
      character_of_byte_[static_cast<std::size_t>(byte)] = utf8_of(code_point);
      byte_of_character_[utf8_of(code_point)] = static_cast<char>(byte);
    }
  }

  const std::string &character(std::size_t byte) const { return character_of_byte_[byte]; }

  // The bytes that a token of vocab.json stands for. One with other characters, such as an added
  // token with spaces, stands for itself.
  std::string bytes_of_token(const std::string &token) const {
    std::string bytes;
    for (std::size_t i = 0; i < token.size();) {
      const std::size_t length = static_cast<unsigned char>(token[i]) < 0x80 ? 1 : 2;
      const auto found = byte_of_character_.find(token.substr(i, length));
      if (found == byte_of_character_.end()) return token;
      bytes += found->second;
      i += length;
    }
    return bytes;
  }

  std::string token_of_bytes(std::string_view bytes) const {
    std::string token;
    for (const char byte : bytes) token += character(static_cast<unsigned char>(byte));
    return token;
  }

 private:
  std::array<std::string, 256> character_of_byte_;
  std::unordered_map<std::string, char> byte_of_character_;
};

const ByteAlphabet &byte_alphabet() {
  static const ByteAlphabet alphabet;
  return alphabet;
}

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

pcre2_code *compile(const std::string &pattern, const std::string &place) {
  int error_code;
  std::size_t error_offset;
  pcre2_code *code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                   PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error_code,
                                   &error_offset, nullptr);
  if (code != nullptr) return code;
  PCRE2_UCHAR message[120];
  pcre2_get_error_message(error_code, message, sizeof message);
  throw Error(place + ": PCRE2 cannot compile the pattern " + in_quotes(pattern) + ": " +
              reinterpret_cast<const char *>(message));
}

}  // namespace

void BpeTokenizer::FreeCode::operator()(pcre2_real_code_8 *code) const {
  pcre2_code_free(code);
}

BpeTokenizer::BpeTokenizer(const std::filesystem::path &directory, int vocab_size)
    : BpeTokenizer(read_vocab_and_merges(directory), vocab_size) {}

BpeTokenizer::BpeTokenizer(const BpeFile &file, int vocab_size)
    : Tokenizer(vocab_size),
      vocab_name_(file.vocab_name),
      takes_whole_words_(file.takes_whole_words),
      adds_first_space_(file.adds_first_space) {
  for (const std::string &pattern : file.patterns) {
    word_patterns_.emplace_back(compile(pattern, file.vocab_place));
  }
  read_vocab(file, vocab_size);
  read_merges(file);
  begin_token_ = end_token_ = find_token(kEndOfText);
  if (!file.begin) return;
  begin_token_ = find_token(*file.begin);
  adds_begin_token_ = true;
  if (!begin_token_) {
    throw Error(file.vocab_place + ": has no token " + in_quotes(*file.begin) +
                ", which prompts begin with");
  }
}

void BpeTokenizer::read_vocab(const BpeFile &file, int vocab_size) {
  const ByteAlphabet &alphabet = byte_alphabet();
  std::vector<bool> taken(static_cast<std::size_t>(vocab_size));
  for (const auto &[token, json_id] : file.vocab.items()) {
    const std::string where = file.vocab_place + ": token " + in_quotes(token);
    if (!json_id.is_number_unsigned() ||
        json_id.get<std::uint64_t>() >= static_cast<std::uint64_t>(vocab_size)) {
      throw Error(where + " has id " + json_id.dump() + "; ids are integers in [0, " +
                  std::to_string(vocab_size) + ")");
    }
    const auto id = json_id.get<std::size_t>();
    if (taken[id]) throw Error(where + " has id " + std::to_string(id) + ", as another token has");
    taken[id] = true;
    id_of_token_[token] = static_cast<std::int32_t>(id);
    bytes_of_id_[id] = alphabet.bytes_of_token(token);
  }
  for (std::size_t byte = 0; byte < id_of_byte_.size(); ++byte) {
    const auto found = id_of_token_.find(alphabet.character(byte));
    id_of_byte_[byte] = found == id_of_token_.end() ? -1 : found->second;
  }
  // Added tokens may stand in the vocabulary too.
  for (const auto &[name, id] : file.added) {
    const auto [known, is_new] = id_of_token_.emplace(name, id);
    if (known->second != id || (is_new && taken[static_cast<std::size_t>(id)])) {
      throw Error(file.vocab_place + ": the added token " + in_quotes(name) + " has id " +
                  std::to_string(id) + ", and the vocabulary says otherwise");
    }
    taken[static_cast<std::size_t>(id)] = true;
    bytes_of_id_[static_cast<std::size_t>(id)] = name;
    named_.add(name, id);
  }
}

void BpeTokenizer::read_merges(const BpeFile &file) {
  std::int32_t rank = 0;
  for (const BpeFile::Merge &merge : file.merges) {
    const auto where = [&] { return file.merges_place + std::to_string(merge.number) + ": "; };
    const auto id_of = [&](const std::string &token) {
      const auto found = id_of_token_.find(token);
      if (found != id_of_token_.end()) return found->second;
      throw Error(where() + in_quotes(token) + " is not in " + file.vocab_name);
    };
    const Merge ranked = {rank++, id_of(merge.left + merge.right)};
    if (!merges_.emplace(pair_key(id_of(merge.left), id_of(merge.right)), ranked).second) {
      throw Error(where() + "this pair stands " +
                  (file.vocab_name == "vocab.json" ? "in an earlier line too" : "earlier too"));
    }
  }
}

std::vector<std::string_view> BpeTokenizer::split(std::string_view text) const {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    std::size_t valid = 0;
    std::size_t invalid = 0;
    while (valid < text.size() && invalid == 0) {
      const Utf8Character character = scan_utf8_character(text.substr(valid));
      const bool complete = character.kind == Utf8Character::kComplete;
      (complete ? valid : invalid) += character.num_bytes;
    }
    for (const std::string_view word : split_utf8(text.substr(0, valid))) words.push_back(word);
    if (invalid > 0) words.push_back(text.substr(valid, invalid));
    text.remove_prefix(valid + invalid);
  }
  return words;
}

std::vector<std::string_view> BpeTokenizer::split_utf8(std::string_view text) const {
  std::vector<std::string_view> words;
  if (!text.empty()) words.push_back(text);
  for (const Code &pattern : word_patterns_) {
    const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data *)> match(
        pcre2_match_data_create_from_pattern(pattern.get(), nullptr), pcre2_match_data_free);
    if (match == nullptr) throw std::bad_alloc();
    std::vector<std::string_view> parts;
    for (const std::string_view word : words) {
      for (std::size_t begin = 0; begin < word.size();) {
        const int result =
            pcre2_match(pattern.get(), reinterpret_cast<PCRE2_SPTR>(word.data()), word.size(),
                        begin, PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY, match.get(), nullptr);
        if (result < 0 && result != PCRE2_ERROR_NOMATCH) {
          throw Error("PCRE2 error " + std::to_string(result) + " in a prompt");
        }
        const bool has_match = result >= 0;
        const std::size_t *const found = pcre2_get_ovector_pointer(match.get());
        const std::size_t from = has_match ? found[0] : word.size();
        const std::size_t to = has_match ? found[1] : word.size();
        if (from > begin) parts.push_back(word.substr(begin, from - begin));
        if (to > from) parts.push_back(word.substr(from, to - from));
        begin = to;
      }
    }
    words = std::move(parts);
  }
  return words;
}

std::vector<std::int32_t> BpeTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  for (const NamedTokens::Part &part : named_.split(text)) {
    if (part.id) {
      ids.push_back(*part.id);
      continue;
    }
    std::string spaced;
    if (adds_first_space_ && part.text.front() != ' ') spaced = " " + std::string(part.text);
    for (const std::string_view word : split(spaced.empty() ? part.text : spaced)) {
      encode_word(word, &ids);
    }
  }
  return ids;
}

std::optional<std::int32_t> BpeTokenizer::find_token(const std::string &name) const {
  const auto found = id_of_token_.find(name);
  return found == id_of_token_.end() ? std::nullopt : std::optional(found->second);
}

const BpeTokenizer::Merge *BpeTokenizer::find_merge(std::int32_t left, std::int32_t right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

// The tokens of a word form a linked list; a queue holds the pairs that can be merged, by rank and
// then from left to right. So a word of a million letters takes no quadratic time.
void BpeTokenizer::encode_word(std::string_view word, std::vector<std::int32_t> *ids) const {
  if (takes_whole_words_) {
    const auto whole = id_of_token_.find(byte_alphabet().token_of_bytes(word));
    if (whole != id_of_token_.end()) return ids->push_back(whole->second);
  }
  struct Node {
    std::int32_t id;  // -1 once merged into the node on its left
    int previous;
    int next;  // index past the last node: none
  };
  const int end = static_cast<int>(word.size());
  std::vector<Node> nodes;
  for (int i = 0; i < end; ++i) {
    const auto byte = static_cast<unsigned char>(word[static_cast<std::size_t>(i)]);
    const std::int32_t id = id_of_byte_[byte];
    if (id < 0) throw Error(vocab_name_ + " has no token for byte " + std::to_string(byte));
    nodes.push_back({id, i - 1, i + 1});
  }
  const auto node = [&](int i) -> Node & { return nodes[static_cast<std::size_t>(i)]; };

  struct Candidate {
    std::int32_t rank;
    int left;
    std::int32_t left_id;
    std::int32_t right_id;
    std::int32_t merged_id;
    bool operator>(const Candidate &other) const {
      return std::tie(rank, left) > std::tie(other.rank, other.left);
    }
  };
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto push_pair = [&](int left) {
    if (left < 0 || node(left).next == end) return;
    const std::int32_t left_id = node(left).id;
    const std::int32_t right_id = node(node(left).next).id;
    if (const Merge *merge = find_merge(left_id, right_id)) {
      queue.push({merge->rank, left, left_id, right_id, merge->merged_id});
    }
  };
  for (int i = 0; i < end; ++i) push_pair(i);

  while (!queue.empty()) {
    // All pairs of one rank are merged before the pairs that arise from them are looked at.
    const std::int32_t rank = queue.top().rank;
    std::vector<int> merged;
    while (!queue.empty() && queue.top().rank == rank) {
      const Candidate pair = queue.top();
      queue.pop();
      Node &left = node(pair.left);
      if (left.id != pair.left_id || left.next == end || node(left.next).id != pair.right_id) {
        continue;  // one of the two has been merged elsewhere
      }
      Node &right = node(left.next);
      right.id = -1;
      left.id = pair.merged_id;
      left.next = right.next;
      if (left.next != end) node(left.next).previous = pair.left;
      merged.push_back(pair.left);
    }
    for (const int i : merged) {
      push_pair(node(i).previous);
      push_pair(i);
    }
  }
  for (int i = 0; i < end; i = node(i).next) ids->push_back(node(i).id);
}

}  // namespace generate
