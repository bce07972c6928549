#include "bpe.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <functional>
#include <new>
#include <queue>
#include <sstream>
#include <tuple>
#include <utility>

#include "error.h"
#include "json_file.h"
#include "utf8.h"

namespace generate {

namespace {

constexpr char kEndOfText[] = "<|endoftext|>";
constexpr char kWordPattern[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

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

 private:
  std::array<std::string, 256> character_of_byte_;
  std::unordered_map<std::string, char> byte_of_character_;
};

std::uint64_t pair_key(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

pcre2_code *compile_word_pattern() {
  int error_code;
  std::size_t error_offset;
  pcre2_code *code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(kWordPattern), PCRE2_ZERO_TERMINATED,
                    PCRE2_UTF | PCRE2_UCP, &error_code, &error_offset, nullptr);
  if (code == nullptr) throw Error("PCRE2 cannot compile the word pattern: it lacks Unicode");
  return code;
}

}  // namespace

void BpeTokenizer::FreeCode::operator()(pcre2_real_code_8 *code) const {
  pcre2_code_free(code);
}

BpeTokenizer::BpeTokenizer(const std::filesystem::path &directory, int vocab_size)
    : Tokenizer(vocab_size), word_pattern_(compile_word_pattern()) {
  read_vocab(directory / "vocab.json", vocab_size);
  read_merges(directory / "merges.txt");
}

void BpeTokenizer::read_vocab(const std::filesystem::path &path, int vocab_size) {
  const ByteAlphabet alphabet;
  const nlohmann::json vocab = read_json_object(path);
  std::vector<bool> taken(static_cast<std::size_t>(vocab_size));
  for (const auto &[token, json_id] : vocab.items()) {
    const std::string where = path.string() + ": token " + in_quotes(token);
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
  begin_token_ = end_token_ = find_token(kEndOfText);
  if (end_token_) named_.add(kEndOfText, *end_token_);
}

void BpeTokenizer::read_merges(const std::filesystem::path &path) {
  std::istringstream text(read_file(path));
  std::string line;
  for (int line_number = 1; std::getline(text, line); ++line_number) {
    const std::string where = path.string() + ":" + std::to_string(line_number) + ": ";
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || (line_number == 1 && line.rfind("#version", 0) == 0)) continue;
    const std::size_t space = line.find(' ');
    if (space == 0 || space >= line.size() - 1 || space != line.rfind(' ')) {
      throw Error(where + "two tokens with a space between them are needed");
    }
    const auto id_of = [&](const std::string &token) {
      const auto found = id_of_token_.find(token);
      if (found == id_of_token_.end())
        throw Error(where + in_quotes(token) + " is not in vocab.json");
      return found->second;
    };
    const std::string left = line.substr(0, space);
    const std::string right = line.substr(space + 1);
    const Merge merge = {line_number, id_of(left + right)};
    if (!merges_.emplace(pair_key(id_of(left), id_of(right)), merge).second) {
      throw Error(where + "this pair stands in an earlier line too");
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
    split_utf8(text.substr(0, valid), &words);
    if (invalid > 0) words.push_back(text.substr(valid, invalid));
    text.remove_prefix(valid + invalid);
  }
  return words;
}

// Every character matches one of the pattern's alternatives, so the matches fill the text.
void BpeTokenizer::split_utf8(std::string_view text, std::vector<std::string_view> *words) const {
  const std::unique_ptr<pcre2_match_data, void (*)(pcre2_match_data *)> match(
      pcre2_match_data_create_from_pattern(word_pattern_.get(), nullptr), pcre2_match_data_free);
  if (match == nullptr) throw std::bad_alloc();
  for (std::size_t begin = 0; begin < text.size();) {
    const int result =
        pcre2_match(word_pattern_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                    begin, PCRE2_NO_UTF_CHECK | PCRE2_ANCHORED, match.get(), nullptr);
    if (result < 0) throw Error("PCRE2 error " + std::to_string(result) + " in a prompt");
    const std::size_t end = pcre2_get_ovector_pointer(match.get())[1];
    words->push_back(text.substr(begin, end - begin));
    begin = end;
  }
}

std::vector<std::int32_t> BpeTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  for (const NamedTokens::Part &part : named_.split(text)) {
    if (part.id) {
      ids.push_back(*part.id);
      continue;
    }
    for (const std::string_view word : split(part.text)) encode_word(word, &ids);
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
    if (id < 0) throw Error("vocab.json has no token for byte " + std::to_string(byte));
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
