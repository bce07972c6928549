// In place of sentencepiece_tokenizer.cpp where there is no SentencePiece.
#include "error.h"
#include "sentencepiece_tokenizer.h"

namespace generate {

std::unique_ptr<Tokenizer> read_sentencepiece(const std::filesystem::path &path, int) {
  throw Error(path.string() +
              ": needs SentencePiece (Debian: libsentencepiece-dev), which was not there when the "
              "program was built");
}

}  // namespace generate
