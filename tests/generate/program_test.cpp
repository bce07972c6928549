// The program as its user meets it: what it prints, and its exit status.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "bpe.h"
#include "model_files.h"

namespace {

using Json = nlohmann::json;
using Strings = std::vector<std::string>;

struct Outcome {
  int exit_status;
  // Each write to standard output by itself, and all together.
  Strings writes;
  std::string out;
  std::string err;
};

[[noreturn]] void execute(const Strings &arguments, int out, int err) {
  std::vector<char *> argv;
  std::string program = GENERATE_PROGRAM;
  argv.push_back(program.data());
  Strings copies = arguments;
  for (std::string &argument : copies) argv.push_back(argument.data());
  argv.push_back(nullptr);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execv(program.c_str(), argv.data());
  _exit(127);
}

// Standard output goes to `out` if that is a file descriptor. Otherwise to a socket that keeps the
// bounds of each write, so that one sees what was printed when.
Outcome run(const Strings &arguments, int out = -1) {
  const TempDir dir;
  const std::string err_path = dir.path() / "err";
  const int err = open(err_path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  int sockets[2];
  if (err < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw std::runtime_error("no file or socket");
  }
  const pid_t child = fork();
  if (child == 0) execute(arguments, out < 0 ? sockets[1] : out, err);
  close(sockets[1]);
  close(err);
  Outcome result;
  std::vector<char> buffer(1 << 20);
  for (ssize_t size; (size = read(sockets[0], buffer.data(), buffer.size())) > 0;) {
    result.writes.emplace_back(buffer.data(), static_cast<std::size_t>(size));
    result.out += result.writes.back();
  }
  close(sockets[0]);
  int status;
  waitpid(child, &status, 0);
  result.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.err = read_bytes(err_path);
  return result;
}

Outcome run_model(const std::string &model, Strings arguments, int out = -1) {
  arguments.insert(arguments.begin(), "--model=" + (tiny_gpt2() / model).string());
  return run(arguments, out);
}

std::string text_of(const std::string &model, const Strings &arguments) {
  const Outcome result = run_model(model, arguments);
  EXPECT_EQ(result.exit_status, 0) << result.err;
  return result.out;
}

TEST(Program, GreedyTextIsThatOfTheReference) {
  for (const Json &reference : Json::parse(read_bytes(tiny_gpt2() / "reference.json"))) {
    const std::string model = reference.at("model");
    const std::string prompt = reference.at("prompt");
    const generate::BpeTokenizer tokenizer(tiny_gpt2() / model, 2048);
    std::string expected = prompt;
    for (const Json &id : reference.at("greedy_next_20")) expected += tokenizer.token_bytes(id);
    EXPECT_EQ(text_of(model, {"--prompt", prompt, "--greedy", "--length=20"}), expected + "\n");
    EXPECT_EQ(text_of(model, {"--prompt", prompt, "--temperature=0", "--length=20"}),
              expected + "\n");
  }
}

TEST(Program, TheTextStreamsTokenByToken) {
  const Outcome result = run_model("draft", {"--prompt=ROMEO:\n", "--length=40", "--seed=3"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  // The first write has the prompt and the first token.
  EXPECT_EQ(result.writes.size(), 40u);
  EXPECT_EQ(result.writes.at(0).rfind("ROMEO:\n", 0), 0u);
  EXPECT_GT(result.writes.at(0).size(), 7u);
}

TEST(Program, TheSeedFixesTheText) {
  const Strings arguments = {
      "--prompt=ROMEO:\n", "--length=60", "--temperature=0.9", "--top-k=50", "--top-p=0.95",
      "--min-p=0.01",      "--seed"};
  const auto text = [&](const std::string &seed) {
    Strings all = arguments;
    all.push_back(seed);
    return text_of("target", all);
  };
  EXPECT_EQ(text("12345678901234567890"), text("12345678901234567890"));
  EXPECT_NE(text("1"), text("2"));
  EXPECT_EQ(text("0"), text_of("target", {arguments.begin(), arguments.end() - 1}));
}

struct Block {
  std::string header;
  std::string text;
};

std::vector<Block> blocks_of(const std::string &out) {
  std::vector<Block> blocks;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("== ", 0) != 0) {
      blocks.at(blocks.size() - 1).text += line + "\n";
      continue;
    }
    // An empty line stands between two blocks.
    if (!blocks.empty()) blocks.back().text.pop_back();
    blocks.push_back({line, ""});
  }
  return blocks;
}

TEST(Program, ATextIsTheSameAloneAndInABatch) {
  const Strings prompts = {"ROMEO:\n", "KING RICHARD III:\nNow is the", "", "ROMEO:\n"};
  Strings arguments = {"--length=25", "--samples=2", "--seed=8"};
  for (const std::string &prompt : prompts) arguments.insert(arguments.end(), {"--prompt", prompt});
  const Outcome batch = run_model("target", arguments);
  ASSERT_EQ(batch.exit_status, 0) << batch.err;
  const std::vector<Block> blocks = blocks_of(batch.out);
  ASSERT_EQ(blocks.size(), 8u);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i].header, "== prompt " + std::to_string(i / 2 + 1) + ", sample " +
                                    std::to_string(i % 2 + 1) + ": 25 new tokens ==");
    EXPECT_EQ(blocks[i].text,
              text_of("target", {"--length=25", "--seed=" + std::to_string(8 + i % 2), "--prompt",
                                 prompts[i / 2]}));
  }
  EXPECT_NE(blocks[0].text, blocks[1].text);
}

TEST(Program, PromptsAreTakenAsTheyAre) {
  for (const std::string prompt : {"[a,b]", "%%", "--help", "a b\tc", "{}", "\"x\"", "\\n", "'"}) {
    EXPECT_EQ(text_of("draft", {"--prompt=" + prompt, "--length=1"}).rfind(prompt, 0), 0u);
    if (prompt != "--help") {
      EXPECT_EQ(text_of("draft", {"--prompt", prompt, "--length=1"}).rfind(prompt, 0), 0u);
    }
  }
}

TEST(Program, AnEmptyPromptStartsAtEndOfText) {
  const std::string from_token = text_of("target", {"--prompt=<|endoftext|>"});
  const std::string text = from_token.substr(std::string("<|endoftext|>").size());
  EXPECT_EQ(text_of("target", {"--prompt", ""}), text);
  EXPECT_EQ(text_of("target", {}), text);
}

TEST(Program, InvalidUtf8InAPromptIsReadBytewiseAndPrintedReplaced) {
  const std::string text =
      text_of("target", {"--prompt=a\xFF\xE2\x82 b", "--length=5", "--greedy"});
  EXPECT_EQ(text.rfind("a\uFFFD\uFFFD b", 0), 0u) << text;
}

TEST(Program, TellsItsTimes) {
  const std::string err = run_model("draft", {"--length=20"}).err;
  double first_token_ms, tokens_per_second, sampling_percent;
  int length = 0;
  ASSERT_EQ(std::sscanf(err.c_str(),
                        "20 new tokens\ntime to first token %lf ms, then %lf tokens/s, "
                        "sampling took %lf %% of the time\n%n",
                        &first_token_ms, &tokens_per_second, &sampling_percent, &length),
            3)
      << err;
  EXPECT_EQ(static_cast<std::size_t>(length), err.size());
  EXPECT_GT(first_token_ms, 0);
  EXPECT_GT(tokens_per_second, 0);
  EXPECT_GT(sampling_percent, 0);
  EXPECT_LT(sampling_percent, 100);
}

TEST(Program, TellsNoRateOfDecodeStepsThatItDidNotTake) {
  const std::string err = run_model("draft", {"--length=1"}).err;
  double first_token_ms, sampling_percent;
  EXPECT_EQ(
      std::sscanf(err.c_str(),
                  "1 new token\ntime to first token %lf ms, sampling took %lf %% of the time\n",
                  &first_token_ms, &sampling_percent),
      2)
      << err;
}

TEST(Program, SaysThatATextEndedAtTheContextLimit) {
  const Outcome single = run_model("draft", {"--prompt=ROMEO:\n", "--length=1000"});
  EXPECT_EQ(single.exit_status, 0);
  EXPECT_EQ(single.err.rfind("189 new tokens, stopped at the context limit of 192 tokens\n", 0), 0u)
      << single.err;
  const Outcome batch = run_model("draft", {"--prompt=ROMEO:\n", "--length=1000", "--samples=2"});
  const std::vector<Block> blocks = blocks_of(batch.out);
  ASSERT_EQ(blocks.size(), 2u);
  EXPECT_EQ(blocks[1].header,
            "== prompt 1, sample 2: 189 new tokens, stopped at the context limit of 192 tokens ==");
}

class ProgramModel : public testing::Test {
 protected:
  Outcome run_changed(Strings arguments) {
    files_.write(dir_.path());
    arguments.insert(arguments.begin(), {"--model", dir_.path()});
    return run(arguments);
  }

  TempDir dir_;
  ModelFiles files_ = ModelFiles::read("target");
};

// Greedy tokens of reference.json: 40 455 304 258 256 ...
TEST_F(ProgramModel, ATextEndsBeforeTheEndToken) {
  const generate::BpeTokenizer tokenizer(tiny_gpt2() / "target", 2048);
  const std::string &end = tokenizer.token_bytes(258);
  files_.config["eos_token_id"] = 258;
  const Strings arguments = {"--prompt=ROMEO:\n", "--greedy"};
  const std::string expected = "ROMEO:\n" + tokenizer.token_bytes(40) + tokenizer.token_bytes(455) +
                               tokenizer.token_bytes(304) + "\n";
  const Outcome single = run_changed(arguments);
  EXPECT_EQ(single.out, expected);
  EXPECT_EQ(single.err.rfind("4 new tokens, ended with " + end + "\n", 0), 0u) << single.err;

  const Outcome batch = run_changed({"--prompt=ROMEO:\n", "--greedy", "--samples=2"});
  EXPECT_EQ(batch.out, "== prompt 1, sample 1: 4 new tokens, ended with " + end + " ==\n" +
                           expected + "\n== prompt 1, sample 2: 4 new tokens, ended with " + end +
                           " ==\n" + expected);
}

TEST_F(ProgramModel, WithoutAnEndTokenInConfigTheVocabularysCounts) {
  files_.config.erase("eos_token_id");
  Json vocab = Json::parse(files_.vocab);
  for (const auto &[token, id] : vocab.items()) {
    if (id == 258) id = 2047;
  }
  vocab["<|endoftext|>"] = 258;
  files_.vocab = vocab.dump();
  const Outcome result = run_changed({"--prompt=ROMEO:\n", "--greedy"});
  EXPECT_EQ(result.err.rfind("4 new tokens, ended with <|endoftext|>\n", 0), 0u) << result.err;
  EXPECT_EQ(result.out.find("<|endoftext|>"), std::string::npos) << result.out;
}

TEST_F(ProgramModel, BadFilesEndTheProgramWithOneLine) {
  const auto expect_error = [&](const std::string &message) {
    const Outcome result = run_changed({"--prompt=a"});
    EXPECT_EQ(result.exit_status, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err, "generate: " + dir_.path().string() + "/" + message + "\n");
  };
  const ModelFiles good = files_;
  files_.tensors.erase("h.3.attn.c_proj.bias");
  expect_error("model.safetensors: tensor \"h.3.attn.c_proj.bias\" is missing");
  files_ = good;
  files_.config["n_head"] = 7;
  expect_error("config.json: n_head is 7; it must divide n_embd, which is 192");
  files_ = good;
  files_.vocab.pop_back();
  expect_error("vocab.json: not valid JSON at byte " + std::to_string(good.vocab.size()));
  files_ = good;
  files_.merges += "nonsense\n";
  expect_error(
      "merges.txt:" + std::to_string(std::count(good.merges.begin(), good.merges.end(), '\n') + 1) +
      ": two tokens with a space between them are needed");
}

TEST_F(ProgramModel, AnEmptyPromptNeedsEndOfText) {
  files_.vocab.replace(files_.vocab.find("<|endoftext|>"), 13, "<|no end!!!|>");
  EXPECT_EQ(run_changed({}).err,
            "generate: an empty prompt needs <|endoftext|>, which vocab.json lacks\n");
  EXPECT_EQ(run_changed({"--prompt=a"}).exit_status, 0);
}

TEST(Program, AModelThatIsNotThereIsAnError) {
  const Outcome result = run({"--model=/nonexistent"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_EQ(result.err,
            "generate: /nonexistent/config.json: cannot be opened: No such file or directory\n");
}

TEST(Program, APromptLongerThanTheContextIsAnError) {
  std::string prompt;
  for (int i = 0; i < 192; ++i) prompt += "\n\nx";
  const Outcome result = run_model("draft", {"--prompt=fine", "--prompt", prompt});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_EQ(result.out, "");
  int num_tokens = 0, length = 0;
  std::sscanf(result.err.c_str(),
              "generate: prompt 2 has %d tokens; the model's context of 192 leaves no room for a "
              "new one\n%n",
              &num_tokens, &length);
  EXPECT_EQ(static_cast<std::size_t>(length), result.err.size()) << result.err;
  EXPECT_GE(num_tokens, 192);
}

TEST(Program, BadOptionsAreNamed) {
  const std::pair<Strings, std::string> cases[] = {
      {{"--length=0"}, "--length"},
      {{"--length=x"}, "--length"},
      {{"--length=3000000000"}, "--length"},
      {{"--samples=0"}, "--samples"},
      {{"--seed=-1"}, "--seed"},
      {{"--seed=18446744073709551616"}, "--seed"},
      {{"--temperature=-1"}, "--temperature"},
      {{"--temperature=nan"}, "--temperature"},
      {{"--temperature=inf"}, "--temperature"},
      {{"--temperature="}, "--temperature"},
      {{"--top-k=-1"}, "--top-k"},
      {{"--top-k=1.5"}, "--top-k"},
      {{"--top-p=1.01"}, "--top-p"},
      {{"--top-p=nan"}, "--top-p"},
      {{"--min-p=2"}, "--min-p"},
      {{"--min-p=-0.1"}, "--min-p"},
      {{"--greedy", "--temperature=1"}, "--greedy"},
      {{"--bogus"}, "--bogus"},
      {{"stray"}, "stray"},
  };
  for (const auto &[arguments, name] : cases) {
    const Outcome result = run_model("draft", arguments);
    EXPECT_NE(result.exit_status, 0) << arguments[0];
    EXPECT_LT(result.exit_status, 128) << arguments[0];
    EXPECT_NE(result.err.find(name), std::string::npos) << arguments[0] << ": " << result.err;
    EXPECT_EQ(result.out, "") << arguments[0];
  }
  const Outcome no_model = run({"--prompt=a"});
  EXPECT_NE(no_model.exit_status, 0);
  EXPECT_NE(no_model.err.find("--model is required"), std::string::npos) << no_model.err;
}

TEST(Program, HelpNamesEveryOption) {
  const Outcome result = run({"--help"});
  EXPECT_EQ(result.exit_status, 0);
  for (const std::string option : {"--model", "--prompt", "--length", "--samples", "--seed",
                                   "--temperature", "--top-k", "--top-p", "--min-p", "--greedy"}) {
    EXPECT_NE(result.out.find(option), std::string::npos) << option;
  }
}

TEST(Program, AnOutputThatCannotBeWrittenIsAnError) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(full, 0);
  const Outcome result = run_model("draft", {"--length=5"}, full);
  close(full);
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_NE(result.err.find("generate: the text cannot be written to standard output\n"),
            std::string::npos)
      << result.err;
}

}  // namespace
