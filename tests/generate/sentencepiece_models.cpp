#include "sentencepiece_models.h"

#include <sentencepiece_trainer.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using Options = std::unordered_map<std::string, std::string>;

const std::map<std::string, Options> kKinds = {
    {"unigram", {{"model_type", "unigram"}, {"control_symbols", "[PAD],[SEP]"}}},
    {"bpe",
     {{"model_type", "bpe"},
      {"byte_fallback", "true"},
      {"normalization_rule_name", "identity"},
      {"remove_extra_whitespaces", "false"},
      {"user_defined_symbols", "<|user|>"}}},
    {"plain",
     {{"model_type", "unigram"},
      {"byte_fallback", "true"},
      {"normalization_rule_name", "identity"},
      {"add_dummy_prefix", "false"},
      {"remove_extra_whitespaces", "false"}}},
};

class Sentences : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(std::vector<std::string> sentences) : sentences_(std::move(sentences)) {}
  bool done() const override { return next_ == sentences_.size(); }
  void Next() override { ++next_; }
  const std::string &value() const override { return sentences_[next_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::vector<std::string> sentences_;
  std::size_t next_ = 0;
};

// Words of ASCII letters, the first of the vocabulary the most often.
std::vector<std::string> sentences_of(const std::filesystem::path &vocab_json) {
  std::ifstream file(vocab_json);
  std::map<int, std::string> words;
  const nlohmann::json vocab = nlohmann::json::parse(file);
  for (const auto &[token, id] : vocab.items()) {
    const std::size_t begin =
        token.find_first_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (begin != std::string::npos) words[id.get<int>()] = token.substr(begin);
  }
  std::vector<std::string> in_order;
  in_order.reserve(words.size());
  for (const auto &[id, word] : words) in_order.push_back(word);
  std::mt19937 random(1);
  std::vector<std::string> sentences;
  for (int i = 0; i < 3000; ++i) {
    std::string sentence = "a";
    for (int j = 0; j < 12; ++j) {
      const double share = random() * 0x1p-32;
      const auto which = static_cast<std::size_t>(share * share * double(in_order.size()));
      const auto other = static_cast<std::size_t>(random()) % in_order.size();
      sentence += (j % 5 == 4 ? ", " : " ") + in_order[which] + (j % 4 == 3 ? in_order[other] : "");
    }
    sentences.push_back(sentence + (i % 3 == 0 ? "!" : ".") + (i % 7 == 0 ? " \u96EA \u00E9" : ""));
  }
  return sentences;
}

}  // namespace

std::string sentencepiece_model(const std::string &kind, int vocab_size,
                                const std::filesystem::path &vocab_json) {
  Options options = kKinds.at(kind);
  options["vocab_size"] = std::to_string(vocab_size);
  options["num_threads"] = "1";
  options["character_coverage"] = "1";
  options["minloglevel"] = "2";
  options["unk_surface"] = kind == "bpe" ? " \u2047 " : "?";
  Sentences sentences(sentences_of(vocab_json));
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(options, &sentences, &model);
  if (!status.ok()) throw std::runtime_error(status.ToString());
  return model;
}
