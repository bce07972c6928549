#include "sentencepiece_tokenizer.h"

#include <sentencepiece_processor.h>

#include <charconv>
#include <exception>
#include <string>
#include <vector>

#include "error.h"
#include "json_file.h"
#include "lower_case.h"
#include "sentencepiece_file.h"

namespace generate {

namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // U+2581 in a piece

bool begins_with_space(std::string_view piece) {
  return piece.substr(0, kSpace.size()) == kSpace;
}

std::string with_spaces(std::string piece) {
  for (std::size_t at = 0; (at = piece.find(kSpace, at)) != std::string::npos; ++at) {
    piece.replace(at, kSpace.size(), " ");
  }
  return piece;
}

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(const std::filesystem::path &path, int vocab_size)
      : Tokenizer(vocab_size), path_(path.string()) {
    const std::string file = read_file(path);
    if (!is_safe_sentencepiece_file(file) || !load(file)) {
      throw Error(path_ + ": not a SentencePiece model, or a damaged one");
    }
    if (changes_decoded_texts(file)) {
      throw Error(path_ + ": has rules of denormalization, which are not supported");
    }
    const int num_pieces = pieces_.GetPieceSize();
    if (num_pieces > vocab_size) {
      throw Error(path_ + ": has " + std::to_string(num_pieces) +
                  " pieces; vocab_size of config.json is " + std::to_string(vocab_size));
    }
    has_first_space_.resize(static_cast<std::size_t>(vocab_size));
    for (int id = 0; id < num_pieces; ++id) read_piece(id);
    first_space_ = try_first_space();
    const auto token = [](int id) { return id < 0 ? std::nullopt : std::optional(id); };
    end_token_ = token(pieces_.eos_id());
    begin_token_ = pieces_.bos_id() < 0 ? end_token_ : token(pieces_.bos_id());
  }

  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids;
    for (const NamedTokens::Part &part : control_.split(text)) {
      if (part.id) {
        ids.push_back(*part.id);
        continue;
      }
      std::vector<int> encoded;
      const std::string lower = lowers_case_ ? lower_case(part.text) : "";
      const auto status = pieces_.Encode(lowers_case_ ? lower : part.text, &encoded);
      if (!status.ok()) throw Error(path_ + ": cannot encode a text: " + status.message());
      ids.insert(ids.end(), encoded.begin(), encoded.end());
    }
    return ids;
  }

  std::optional<std::int32_t> find_token(const std::string &name) const override {
    const int id = pieces_.PieceToId(name);
    if (id < 0 || id >= pieces_.GetPieceSize() || pieces_.IdToPiece(id) != name) {
      return std::nullopt;  // an unknown piece has the unknown piece's id
    }
    return id;
  }

 private:
  bool load(const std::string &file) {
    try {
      return pieces_.LoadFromSerializedProto(file).ok();
    } catch (const std::exception &) {
      return false;  // of the library's trie, for a piece without characters
    }
  }

  void read_piece(int id) {
    const std::string &piece = pieces_.IdToPiece(id);
    std::string &bytes = bytes_of_id_[static_cast<std::size_t>(id)];
    if (pieces_.IsControl(id)) {
      control_.add(piece, id);
      names_.emplace(id, piece);
    } else if (pieces_.IsUnknown(id)) {
      bytes = decode({id});
    } else if (pieces_.IsByte(id)) {
      bytes = byte_of(piece);
    } else {
      bytes = with_spaces(piece);
      has_first_space_[static_cast<std::size_t>(id)] = begins_with_space(piece);
    }
  }

  // "<0x0A>"
  std::string byte_of(const std::string &piece) const {
    unsigned char byte = 0;
    const char *const end = piece.data() + piece.size();
    if (piece.size() != 6 || piece.compare(0, 3, "<0x") != 0 || piece.back() != '>' ||
        std::from_chars(piece.data() + 3, end - 1, byte, 16).ptr != end - 1) {
      throw Error(path_ + ": piece " + in_quotes(piece) + " is no byte");
    }
    return std::string(1, static_cast<char>(byte));
  }

  std::string decode(const std::vector<int> &ids) const {
    std::string text;
    const auto status = pieces_.Decode(ids, &text);
    if (!status.ok()) throw Error(path_ + ": cannot decode a piece: " + status.message());
    return text;
  }

  // The library does not expose the options for it in the model's file: they show in what it does.
  // Only a piece that is one space leaves the text empty, so that the next one's is dropped too.
  FirstSpace try_first_space() const {
    const auto of_one_space = find_token(std::string(kSpace));
    if (of_one_space && has_first_space_[static_cast<std::size_t>(*of_one_space)]) {
      const std::string two = decode({*of_one_space, *of_one_space});
      return two.empty()       ? FirstSpace::kDroppedOfEachToken
             : two.size() == 1 ? FirstSpace::kDropped
                               : FirstSpace::kKept;
    }
    for (int id = 0; id < pieces_.GetPieceSize(); ++id) {
      const auto i = static_cast<std::size_t>(id);
      if (!has_first_space_[i]) continue;
      return decode({id}) == bytes_of_id_[i] ? FirstSpace::kKept : FirstSpace::kDropped;
    }
    return FirstSpace::kKept;
  }

  std::string path_;
  sentencepiece::SentencePieceProcessor pieces_;
  NamedTokens control_;
};

}  // namespace

std::unique_ptr<Tokenizer> read_sentencepiece(const std::filesystem::path &path, int vocab_size) {
  return std::make_unique<SentencePieceTokenizer>(path, vocab_size);
}

}  // namespace generate
