#ifndef GENERATE_SENTENCEPIECE_TOKENIZER_H
#define GENERATE_SENTENCEPIECE_TOKENIZER_H

#include <filesystem>
#include <memory>

#include "tokenizer.h"

namespace generate {

// The tokenizer of a SentencePiece model. Names of control pieces in a text stand for these, and
// the text between them is encoded by itself. Throws Error where the file is damaged, has ids
// beyond [0, vocab_size), or where the program was built without SentencePiece.
std::unique_ptr<Tokenizer> read_sentencepiece(const std::filesystem::path &path, int vocab_size);

}  // namespace generate

#endif  // GENERATE_SENTENCEPIECE_TOKENIZER_H
