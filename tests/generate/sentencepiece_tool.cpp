// What Python tests of models with a SentencePiece tokenizer ask the library itself:
//
//   sentencepiece_tool train KIND VOCAB_SIZE VOCAB_JSON OUT   as sentencepiece_models.h describes
//   it sentencepiece_tool encode MODEL TEXT                      prints ids sentencepiece_tool
//   decode MODEL [ID...]                   prints the text

#include <sentencepiece_processor.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sentencepiece_models.h"

namespace {

void check(const sentencepiece::util::Status &status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

void run(const std::vector<std::string> &arguments) {
  const std::string &command = arguments.at(0);
  if (command == "train") {
    std::ofstream out(arguments.at(4), std::ios::binary);
    out << sentencepiece_model(arguments.at(1), std::stoi(arguments.at(2)), arguments.at(3));
    if (!out.flush()) throw std::runtime_error("the model cannot be written");
    return;
  }
  sentencepiece::SentencePieceProcessor pieces;
  check(pieces.Load(arguments.at(1)));
  std::vector<int> ids;
  if (command == "encode") {
    check(pieces.Encode(arguments.at(2), &ids));
    for (const int id : ids) std::printf("%d ", id);
    return;
  }
  if (command != "decode") throw std::runtime_error("there is no command " + command);
  for (std::size_t i = 2; i < arguments.size(); ++i) ids.push_back(std::stoi(arguments[i]));
  std::string text;
  check(pieces.Decode(ids, &text));
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace

int main(int argc, char **argv) {
  try {
    run({argv + 1, argv + argc});
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "sentencepiece_tool: %s\n", error.what());
    return 1;
  }
}
