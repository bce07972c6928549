// Small SentencePiece models for the tests, made by the library's trainer.
#ifndef TESTS_GENERATE_SENTENCEPIECE_MODELS_H
#define TESTS_GENERATE_SENTENCEPIECE_MODELS_H

#include <filesystem>
#include <string>

// The bytes of a model of `vocab_size` pieces, trained on the words of a vocab.json. Kinds:
//   unigram  spaces at the beginning, at the end and in a row are dropped, characters are
//            normalized; control pieces [PAD] and [SEP]
//   bpe      as Llama's: every text comes back, by bytes where there is no piece; the first space
//            is the tokenizer's; <|user|> is a piece of its own
//   plain    the same by unigrams, without that first space
std::string sentencepiece_model(const std::string &kind, int vocab_size,
                                const std::filesystem::path &vocab_json);

#endif  // TESTS_GENERATE_SENTENCEPIECE_MODELS_H
