// The program as its user meets it: what it prints, and its exit status.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
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

// ---- Modes ------------------------------------------------------------------------------------

std::string draft_option() {
  return "--draft=" + (tiny_gpt2() / "draft").string();
}

// The options that choose each mode which continues a text token by token or by drafts.
std::vector<Strings> text_modes() {
  return {{"--mode=autoregressive"},
          {"--mode=speculative", draft_option()},
          {"--mode=speculative", draft_option(), "--gamma=3"},
          {"--mode=speculative", draft_option(), "--adaptive", "--gamma-max=8", "--ema-beta=0.5"},
          {"--mode=ngram"},
          {"--mode=ngram", "--ngram-order=4", "--filler-top-k=0", "--stop-if-unknown"},
          {"--mode=speculative", draft_option(), "--no-first-target"},
          {"--mode=ngram", "--ngram-one-level", "--ngram-memory=8192", "--ngram-least-count=2",
           "--ngram-least-share=0.1", "--no-first-target"},
          {"--mode=ngram", "--lookup"},
          {"--mode=ngram", "--lookup", "--lookup-min-match=2", "--lookup-max-match=5"}};
}

Strings joined(Strings a, const Strings &b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(ProgramModes, GreedyTextIsTheSameInEachWithAndWithoutCache) {
  const Strings common = {"--prompt=KING RICHARD III:\nNow is the", "--greedy", "--length=50"};
  const std::string expected = text_of("target", common);
  for (const Strings &mode : text_modes()) {
    EXPECT_EQ(text_of("target", joined(common, mode)), expected) << mode.back();
    EXPECT_EQ(text_of("target", joined(joined(common, mode), {"--no-cache"})), expected)
        << mode.back();
  }
}

TEST(ProgramModes, TheSeedFixesTheText) {
  for (const Strings &mode : text_modes()) {
    const Strings arguments = joined(mode, {"--length=40", "--temperature=0.9", "--seed=5"});
    EXPECT_EQ(text_of("target", arguments), text_of("target", joined(arguments, {"--no-cache"})));
    EXPECT_NE(text_of("target", arguments), text_of("target", joined(mode, {"--length=40"})));
  }
}

TEST(ProgramModes, DraftedTextStreamsRoundByRound) {
  const Outcome result = run_model(
      "target", {"--mode=speculative", draft_option(), "--prompt=ROMEO:\n", "--length=40"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_GT(result.writes.size(), 8u);  // at most 6 tokens a round
  EXPECT_LT(result.writes.size(), 40u);
}

// The two lines at the end of `err`: what was measured, and the same in a sentence.
void expect_comparison(const std::string &err, const std::string &subject, int repeats) {
  const std::size_t end = err.rfind('\n', err.size() - 2);
  const std::size_t start = err.rfind('\n', end - 1) + 1;
  double rate, plain_rate;
  int num_runs = 1, length = 0;
  if (repeats == 1) {
    ASSERT_EQ(std::sscanf(&err[start],
                          "%lf tokens/s, plain decoding %lf tokens/s (1 run each, in turn)%n",
                          &rate, &plain_rate, &length),
              2)
        << err;
  } else {
    ASSERT_EQ(std::sscanf(&err[start],
                          "%lf tokens/s, plain decoding %lf tokens/s (medians of %d runs each, "
                          "in turn)%n",
                          &rate, &plain_rate, &num_runs, &length),
              3)
        << err;
  }
  EXPECT_EQ(num_runs, repeats);
  EXPECT_EQ(start + static_cast<std::size_t>(length), end);

  const std::string sentence = err.substr(end + 1);
  const bool pays = sentence.find("does not pay") == std::string::npos;
  const std::string beginning = subject + (pays ? ": " : " does not pay here: ");
  ASSERT_EQ(sentence.rfind(beginning, 0), 0u) << sentence;
  double ratio;
  ASSERT_EQ(std::sscanf(&sentence[beginning.size()], "%lf times the speed of plain decoding%n",
                        &ratio, &length),
            1)
      << sentence;
  // Rates are printed to 0.5, the ratio to 0.005.
  EXPECT_NEAR(ratio, rate / plain_rate, 0.00501 + ratio * (0.5 / rate + 0.5 / plain_rate)) << err;
  if (subject != "speculation") return;
  EXPECT_TRUE(pays ? ratio >= 1 : ratio <= 1) << sentence;
  if (pays) return;
  int num_plain, num_rounds;
  ASSERT_EQ(std::sscanf(&sentence[beginning.size() + static_cast<std::size_t>(length)],
                        "; 0 drafts in %d of %d rounds", &num_plain, &num_rounds),
            2)
      << sentence;
  EXPECT_GE(num_plain, repeats);  // the prompt's
  EXPECT_LE(num_plain, num_rounds);
  EXPECT_GE(num_rounds, 2 * repeats);
}

// "accepted 12 of 40 drafts, 30.0 %, in 9 rounds", and how much faster that was.
TEST(ProgramModes, TellTheAcceptanceRateAndTheSpeedUp) {
  for (const Strings &mode :
       {Strings{"--mode=speculative", draft_option()}, Strings{"--mode=ngram"}}) {
    const std::string err = run_model("target", joined(mode, {"--length=30", "--greedy"})).err;
    const std::size_t start = err.find("accepted ");
    ASSERT_NE(start, std::string::npos) << err;
    int accepted, drafted, rounds;
    double percent;
    ASSERT_EQ(std::sscanf(&err[start], "accepted %d of %d drafts, %lf %%, in %d rounds\n",
                          &accepted, &drafted, &percent, &rounds),
              4)
        << err;
    EXPECT_NEAR(percent, 100.0 * accepted / drafted, 0.05001);
    EXPECT_GT(rounds, 4);
    EXPECT_LE(rounds, 30);
    EXPECT_LE(accepted + rounds, 31);
    expect_comparison(err, "speculation", 1);
  }
}

// As ./run demo ends.
TEST(ProgramModes, TheRatioPrintedIsThatOfTheSpeedsPrinted) {
  for (const Strings &mode : {Strings{"--mode=speculative", draft_option(), "--measured"},
                              // Verified in vain.
                              Strings{"--mode=ngram", "--gamma=64", "--temperature=5"},
                              Strings{"--mode=ngram", "--measured"}}) {
    const Outcome result = run_model("target", joined(mode, {"--length=60", "--repeats=4"}));
    ASSERT_EQ(result.exit_status, 0) << result.err;
    expect_comparison(result.err, "speculation", 4);
  }
  expect_comparison(run_model("target", {"--mode=beam", "--length=20"}).err, "beam search", 1);
}

TEST(ProgramModes, AMeasuredNumberOfDraftsLeavesTheLikeliestTextAsItIs) {
  const Strings common = {"--greedy", "--prompt=ROMEO:\n", "--length=100"};
  const std::string text = text_of("target", common);
  const Strings modes[] = {{"--mode=speculative", draft_option()},
                           {"--mode=speculative", draft_option(), "--gamma=9", "--draft-top-k=3"},
                           {"--mode=ngram"}};
  for (const Strings &mode : modes) {
    EXPECT_EQ(text_of("target", joined(joined(common, mode), {"--measured"})), text) << mode.back();
  }
}

TEST(ProgramModes, BeamsArePrintedBestFirst) {
  const Strings common = {"--mode=beam", "--prompt=ROMEO:\n", "--length=12"};
  const Outcome single = run_model("target", common);
  ASSERT_EQ(single.exit_status, 0) << single.err;
  EXPECT_EQ(single.out.rfind("ROMEO:\n", 0), 0u);
  const Outcome several = run_model("target", joined(common, {"--samples=4"}));
  const std::vector<Block> blocks = blocks_of(several.out);
  ASSERT_EQ(blocks.size(), 4u);
  EXPECT_EQ(blocks[0].text, single.out);
  double last_score = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    double score;
    int sample;
    ASSERT_EQ(std::sscanf(blocks[i].header.c_str(),
                          "== prompt 1, sample %d: 12 new tokens, score %lf ==", &sample, &score),
              2)
        << blocks[i].header;
    EXPECT_EQ(sample, static_cast<int>(i) + 1);
    EXPECT_LE(score, last_score);
    last_score = score;
  }
  EXPECT_NE(blocks[0].text, blocks[1].text);
  EXPECT_EQ(text_of("target", joined(common, {"--no-cache"})), single.out);
  EXPECT_EQ(text_of("target", joined(common, {"--beams=1"})),
            text_of("target", {"--greedy", "--prompt=ROMEO:\n", "--length=12"}));
}

// The tokens of a trace that became text, one after the other.
std::string text_of_trace(const Outcome &result, std::string *out_signs) {
  std::istringstream lines(result.out);
  std::string text;
  for (std::string line; std::getline(lines, line) && line.rfind("round ", 0) == 0;) {
    for (std::size_t i = line.find(':') + 1; i < line.size();) {
      const char sign = line.at(i + 1);
      std::size_t end = i + 3;
      while (line.at(end) != '"') end += line[end] == '\\' ? 2 : 1;
      if (sign == '+' || sign == '>' || sign == '*') {
        text += Json::parse(line.substr(i + 2, end - i - 1)).get<std::string>();
      }
      *out_signs += sign;
      i = end + 1;
    }
  }
  return text;
}

TEST(ProgramModes, ATraceHasTheTokensOfTheTextAndWhereTheyAreFrom) {
  for (const Strings &mode :
       {Strings{"--mode=speculative", draft_option()}, Strings{"--mode=ngram", "--gamma=2"}}) {
    const Strings arguments =
        joined(mode, {"--prompt=ROMEO:\n", "--length=80", "--temperature=0.5", "--seed=2"});
    const std::string text = text_of("target", arguments);
    const Outcome trace = run_model("target", joined(arguments, {"--trace"}));
    ASSERT_EQ(trace.exit_status, 0) << trace.err;
    std::string signs;
    EXPECT_EQ("ROMEO:\n" + text_of_trace(trace, &signs) + "\n", text);
    ASSERT_GE(trace.out.size(), text.size());
    EXPECT_EQ(trace.out.substr(trace.out.size() - text.size()), text);
    for (const char sign : {'+', '-', '.', '>', '*'}) {
      EXPECT_NE(signs.find(sign), std::string::npos) << sign;
    }
  }
}

// The other drafts of a tree are rejected, wherever they hang.
TEST(ProgramModes, ATraceOfTreesHasAcceptedDraftsFirst) {
  const Strings arguments = {"--mode=speculative", draft_option(),      "--gamma=6",
                             "--draft-top-k=2",    "--prompt=ROMEO:\n", "--length=80",
                             "--temperature=0.5"};
  const std::string text = text_of("target", arguments);
  const Outcome trace = run_model("target", joined(arguments, {"--trace"}));
  ASSERT_EQ(trace.exit_status, 0) << trace.err;
  std::string signs;
  EXPECT_EQ("ROMEO:\n" + text_of_trace(trace, &signs) + "\n", text);
  EXPECT_GT(std::count(signs.begin(), signs.end(), '+'), 10);
  EXPECT_GT(std::count(signs.begin(), signs.end(), '-'), 100);
  EXPECT_LT(std::count(signs.begin(), signs.end(), '.'), 6);
}

TEST(ProgramModes, ATraceIsColouredOnRequest) {
  const Strings arguments = {"--mode=speculative", draft_option(), "--trace", "--length=20"};
  const std::string plain = text_of("target", arguments);
  EXPECT_EQ(plain.find('\033'), std::string::npos);
  EXPECT_EQ(text_of("target", joined(arguments, {"--color=never"})), plain);
  std::string coloured = text_of("target", joined(arguments, {"--color=always"}));
  EXPECT_NE(coloured.find("\033[32m+"), std::string::npos);
  for (std::size_t i; (i = coloured.find('\033')) != std::string::npos;) {
    coloured.erase(i, coloured.find('m', i) + 1 - i);
  }
  EXPECT_EQ(coloured, plain);
}

TEST(ProgramModes, JsonHasALineForEachRun) {
  const TempDir dir;
  const std::string path = dir.path() / "results.jsonl";
  const std::vector<Strings> modes = {{"--mode=speculative", draft_option(), "--adaptive"},
                                      {"--mode=ngram", "--gamma=2", "--no-cache"},
                                      {"--mode=beam"},
                                      {}};
  for (const Strings &mode : modes) {
    text_of("target", joined(mode, {"--length=20", "--json", path}));
  }
  std::istringstream lines(read_bytes(path));
  std::vector<Json> results;
  for (std::string line; std::getline(lines, line);) results.push_back(Json::parse(line));
  ASSERT_EQ(results.size(), 4u);
  const char *const names[] = {"speculative", "ngram", "beam", "autoregressive"};
  for (std::size_t i = 0; i < 4; ++i) {
    const Json &result = results[i];
    EXPECT_EQ(result.at("mode"), names[i]);
    EXPECT_EQ(result.at("cache"), i != 1);
    EXPECT_EQ(result.at("new_tokens"), 20);
    EXPECT_GT(result.at("seconds"), result.at("target_seconds"));
    EXPECT_EQ(result.contains("speed_up"), i < 3);
    if (i < 3) {
      EXPECT_EQ(result.at("autoregressive").at("new_tokens"), 20);
      EXPECT_EQ(result.at("autoregressive").at("target_forwards"), 20);
    }
  }
  EXPECT_EQ(results[0].at("adaptive"), true);
  EXPECT_EQ(results[0].at("gamma_max"), 5);
  EXPECT_GT(results[0].at("drafter_forwards"), 0);
  EXPECT_EQ(results[1].at("gamma"), 2);
  const Outcome failed = run_model("draft", {"--length=1", "--json=/nonexistent/file"});
  EXPECT_EQ(failed.exit_status, 1);
  EXPECT_NE(failed.err.find("generate: /nonexistent/file: cannot be written\n"), std::string::npos)
      << failed.err;
}

TEST(ProgramModes, ADrafterOfAnotherVocabularyIsAnError) {
  const TempDir dir;
  ModelFiles files = ModelFiles::odd_sizes();
  files.write(dir.path());
  const Outcome result =
      run_model("target", {"--mode=speculative", "--draft", dir.path(), "--prompt=a"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("37"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("2048"), std::string::npos) << result.err;
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
            "generate: an empty prompt needs a beginning token, which the model lacks\n");
  EXPECT_EQ(run_changed({"--prompt=a"}).exit_status, 0);
}

TEST(Program, ATokenizerJsonDoesInPlaceOfVocabularyAndMerges) {
  ModelFiles files = ModelFiles::read("draft");
  const TempDir dir;
  files.write(dir.path());
  std::filesystem::remove(dir.path() / "vocab.json");
  std::filesystem::remove(dir.path() / "merges.txt");
  const Strings arguments = {"--model", dir.path().string(), "--prompt=ROMEO:<|endoftext|>"};
  EXPECT_EQ(run(arguments).err, "generate: " + dir.path().string() +
                                    ": no vocab.json, spiece.model, tokenizer.model or "
                                    "tokenizer.json\n");
  Json merges = Json::array();
  std::istringstream lines(files.merges.substr(files.merges.find('\n') + 1));
  for (std::string line; std::getline(lines, line);) merges.push_back(line);
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  const Json json = {
      {"added_tokens", Json::array({{{"id", 2047}, {"content", "<|endoftext|>"}}})},
      {"pre_tokenizer", byte_level},
      {"decoder", byte_level},
      {"model", {{"type", "BPE"}, {"vocab", Json::parse(files.vocab)}, {"merges", merges}}}};
  write_bytes(dir.path() / "tokenizer.json", json.dump());
  EXPECT_EQ(run(arguments).out, text_of("draft", {"--prompt=ROMEO:<|endoftext|>"}));
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
      {{"--preset=vll"}, "--preset: \"vll\" is given; it must be one of sampler, llama.cpp@"},
      {{"--preset=vllm", "--params={\"min_tokens\": 3}", "--end-ids=none"},
       "a least number of new tokens is set, and no token that ends a text"},
      {{"--preset=sampler", "--params={\"forced_token_id\": 3}", "--mode=ngram"},
       "row_params->forced_token_id is set"},
      {{"--preset=sampler", "--params={\"forced_token_id\": 3}", "--mode=beam"},
       "row_params->forced_token_id is set; beam search does not force tokens"},
      {{"--preset=vllm", "--params={\"top_q\": 1}"}, "top_q is no parameter of vllm"},
      {{"--preset=vllm", "--params={\"top_q\": 1, \"top_r\": 1}"},
       "top_q, top_r are no parameters of vllm"},
      {{"--preset=sglang", "--params={\"top_p\": 0}"},
       "top_p is 0; it must be in (0, 1], as SGLang has it"},
      {{"--preset=vllm", "--params={\"logit_bias\": {\"2048\": 1}}"},
       "logit_bias has token 2048; it must be of the vocabulary, [0, 2048), as vLLM has it"},
      {{"--preset=llama.cpp", "--params={\"n_predict\": 0}"},
       "--params want 0 new tokens; there must be at least 1"},
      {{"--preset=vllm", "--params={"}, "--params: not valid JSON"},
      {{"--params={}"}, "--params requires --preset"},
      {{"--preset=vllm", "--top-k=3"}, "--top-k excludes --preset"},
      {{"--preset=nano_vllm", "--mode=ngram"}, "the preset draws by a race"},
      {{"--preset=sampler", "--mode=ngram", "--params={\"token_bitmask\": [-1]}"},
       "pipeline->token_bitmasks"},
      {{"--preset=sampler", "--mode=beam", "--params={\"top_h\": 0.5}"}, "top_h"},
      {{"--acceptance=block"}, "--acceptance is not used with --mode autoregressive"},
      {{"--mode=ngram", "--acceptance=best"}, "--acceptance"},
      {{"--mode=ngram", "--typical-scale=0.5"},
       "--typical-scale is not used with --acceptance standard"},
      {{"--mode=ngram", "--acceptance=typical", "--relaxed-top-k=2"},
       "--relaxed-top-k is not used with --acceptance typical"},
      {{"--mode=ngram", "--acceptance=typical", "--typical-threshold=nan"}, "--typical-threshold"},
      {{"--mode=ngram", "--acceptance=relaxed", "--relaxed-delta=-1"}, "--relaxed-delta"},
      {{"--mode=ngram", "--acceptance=deferred", "--deferred-window=1.5"}, "--deferred-window"},
      {{"--mode=ngram", "--acceptance=synthetic"},
       "--synthetic-rates has 0 numbers; it must have one for each draft of a round, 5"},
      {{"--mode=ngram", "--acceptance=synthetic", "--gamma=2", "--synthetic-rates=0.5,1.5"},
       "--synthetic-rates"},
      {{"--mode=ngram", "--least-draft-probability=0.1"},
       "--least-draft-probability is not used with --mode ngram"},
      {{"--mode=speculative", "--draft=x", "--least-draft-probability=2"},
       "--least-draft-probability"},
      {{"--mode=ngram", "--draft-top-k=2"}, "--draft-top-k is not used with --mode ngram"},
      {{"--mode=speculative", "--draft=x", "--draft-top-k=-1"}, "--draft-top-k"},
      {{"--mode=speculative", "--draft=x", "--draft-top-k=6"},
       "--draft-top-k is 6; it must be at most --gamma, which is 5"},
      {{"--mode=speculative", "--draft=x", "--draft-top-k=2", "--adaptive"}, "--draft-top-k"},
      {{"--mode=speculative", "--draft=x", "--draft-top-k=2", "--skip-sample-adjustment"},
       "--draft-top-k"},
      {{"--mode=speculative", "--draft=x", "--draft-top-k=2", "--least-draft-probability=0.5"},
       "--draft-top-k"},
      {{"--mode=speculative", "--draft=x", "--draft-top-k=2", "--acceptance=block"},
       "--draft-top-k is not used with --acceptance block"},
      {{"--mode=speculative", "--draft=x", "--draft-top-k=2", "--acceptance=deferred"},
       "--draft-top-k is not used with --acceptance deferred"},
      {{"--explain=-1"}, "--explain: \"-1\" is given; it must be an integer in [0, "},
      {{"--explain=5", "--length=5"}, "--explain is 5; it must be less than --length, which is 5"},
      {{"--explain=1", "--mode=ngram"},
       "--explain is not used with --mode ngram: a token there comes of several rows"},
      {{"--explain-text=0"}, "--explain-text requires --explain"},
      {{"--explain=1", "--explain-text=-1"}, "--explain-text: \"-1\" is given"},
      {{"--explain=1", "--explain-text=6", "--prompt=a", "--prompt=b", "--samples=3"},
       "--explain-text is 6; it must be less than the number of texts, 6"},
      {{"--preset=vllm", "--params=@/nonexistent"}, "/nonexistent: cannot be opened"},
      {{"--bogus"}, "--bogus"},
      {{"--mode=guess"}, "--mode"},
      {{"--mode=speculative"}, "--mode speculative needs a drafter, --draft"},
      {{"--mode=speculative", "--draft=/nonexistent"}, "/nonexistent/config.json"},
      {{"--draft=x"}, "--draft is not used with --mode autoregressive"},
      {{"--gamma=3"}, "--gamma is not used with --mode autoregressive"},
      {{"--trace"}, "--trace is not used with --mode autoregressive"},
      {{"--mode=beam", "--gamma=3"}, "--gamma is not used with --mode beam"},
      {{"--mode=beam", "--greedy"}, "--greedy is not used with --mode beam"},
      {{"--mode=beam", "--top-p=0.5"}, "--top-p is not used with --mode beam"},
      {{"--mode=ngram", "--beams=3"}, "--beams is not used with --mode ngram"},
      {{"--mode=ngram", "--gamma=0"}, "--gamma"},
      {{"--mode=ngram", "--gamma=1025"}, "--gamma"},
      {{"--mode=ngram", "--ngram-order=1"}, "--ngram-order"},
      {{"--mode=ngram", "--ngram-least-share=1.5"}, "--ngram-least-share"},
      {{"--mode=ngram", "--ngram-least-count=-1"}, "--ngram-least-count"},
      {{"--mode=ngram", "--ngram-memory=100"}, "--ngram-memory"},
      {{"--mode=ngram", "--lookup", "--samples=2"}, "--lookup is for one text"},
      {{"--mode=ngram", "--lookup", "--ngram-one-level"}, "--ngram-one-level"},
      {{"--mode=ngram", "--lookup-min-match=2"}, "--lookup"},
      {{"--mode=ngram", "--lookup", "--lookup-min-match=3", "--lookup-max-match=2"},
       "--lookup-max-match is 2; it must be at least --lookup-min-match, which is 3"},
      {{"--mode=ngram", "--skip-sample-adjustment"},
       "--skip-sample-adjustment is not used with --mode ngram"},
      {{"--mode=ngram", "--beam-pool"}, "--beam-pool is not used with --mode ngram"},
      {{"--no-first-target"}, "--no-first-target is not used with --mode autoregressive"},
      {{"--end-ids=1,x"}, "--end-ids: \"x\" is given; it must be an integer in [0, 1048575]"},
      {{"--mode=ngram", "--ngram-order=17"}, "--ngram-order"},
      {{"--mode=ngram", "--filler-top-k=-1"}, "--filler-top-k"},
      {{"--mode=ngram", "--filler-top-k=1048576"}, "--filler-top-k"},
      {{"--mode=speculative", "--draft=x", "--gamma-max=3"}, "--adaptive"},
      {{"--mode=speculative", "--draft=x", "--adaptive", "--ema-beta=1"}, "--ema-beta"},
      {{"--mode=speculative", "--draft=x", "--adaptive", "--gamma-min=6"},
       "--gamma-min is 6; it must be at most --gamma-max, which is 5"},
      {{"--mode=speculative", "--draft=x", "--adaptive", "--measured"}, "--measured"},
      {{"--mode=beam", "--measured"}, "--measured is not used with --mode beam"},
      {{"--repeats=2"}, "--repeats is not used with --mode autoregressive"},
      {{"--mode=beam", "--repeats=0"}, "--repeats"},
      {{"--mode=beam", "--beams=0"}, "--beams"},
      {{"--mode=beam", "--beams=1025"}, "--beams"},
      {{"--mode=beam", "--beam-top-k=0"}, "--beam-top-k"},
      {{"--mode=beam", "--beam-top-k=1048576"}, "--beam-top-k"},
      {{"--mode=beam", "--alpha=nan"}, "--alpha"},
      {{"--mode=beam", "--alpha=101"}, "--alpha"},
      {{"--mode=beam", "--beam-min-length=-1"}, "--beam-min-length"},
      {{"--mode=beam", "--samples=5"}, "--samples is 5; it must be at most --beams, which is 4"},
      {{"--color=sometimes"}, "--color"},
      {{"--mode=beam", "--logprobs"}, "--logprobs is not used with --mode beam"},
      {{"--mode=ngram", "--ranks=2"}, "--ranks is not used with --mode ngram"},
      {{"--ranks=0"}, "--ranks"},
      {{"--ranks=1025"}, "--ranks"},
      {{"--ranks=2", "--explain=1"}, "--explain"},
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

TEST(Program, APresetTakesTheEnginesOwnParameters) {
  const Strings same = {"--prompt=ROMEO:", "--length=12"};
  const auto with = [&](Strings arguments) {
    arguments.insert(arguments.end(), same.begin(), same.end());
    const Outcome result = run_model("target", arguments);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    return result.out;
  };
  EXPECT_EQ(with({"--preset=hugging_face"}), with({"--greedy"}));
  // A seed and a length of its own are those of the options, unless there are any.
  const std::string sampled = with({"--preset=llama.cpp", "--seed=7"});
  EXPECT_EQ(with({"--preset=llama.cpp", R"(--params={"seed": 7, "n_predict": 3})"}), sampled);
  EXPECT_NE(with({"--preset=llama.cpp", "--seed=8"}), sampled);
  const Outcome three = run_model(
      "target", {"--prompt=ROMEO:", "--preset=llama.cpp", R"(--params={"n_predict": 3})"});
  EXPECT_NE(three.err.find("3 new tokens"), std::string::npos) << three.err;
}

// What is passed over, or stands in place of something, is reported.
TEST(Program, APresetsParametersAreNotDroppedSilently) {
  const auto err_of = [](const Strings &arguments) {
    const Outcome result = run_model("target", joined({"--prompt=ROMEO:"}, arguments));
    EXPECT_EQ(result.exit_status, 0) << result.err;
    return result.err;
  };
  const Strings both = {"--preset=llama.cpp", R"(--params={"seed": 7, "n_predict": 3})"};
  EXPECT_EQ(err_of(joined(both, {"--seed=8", "--length=4"}))
                .rfind("generate: --seed stands in place of the seed 7 of --params\n"
                       "generate: --length stands in place of the 3 new tokens of --params\n"
                       "4 new tokens",
                       0),
            0u);
  EXPECT_EQ(err_of(joined(both, {"--seed=7", "--length=3"})).rfind("3 new tokens", 0), 0u);
  EXPECT_EQ(err_of({"--preset=ollama", R"(--params={"model": "a", "options": {"num_ctx": 8,
                    "num_predict": 3}})"})
                .rfind("generate: not about sampling, and passed over: model, num_ctx\n3 new", 0),
            0u);
  // A random seed is printed, and gives the same text again.
  const Strings random = {"--prompt=ROMEO:", "--length=12", "--preset=vllm",
                          R"(--params={"seed": -1})"};
  const Outcome drawn = run_model("target", random);
  const std::string before = "generate: the seed is a random one: ";
  ASSERT_EQ(drawn.err.rfind(before, 0), 0u) << drawn.err;
  const std::string seed = drawn.err.substr(before.size(), drawn.err.find('\n') - before.size());
  EXPECT_EQ(text_of("target", {"--prompt=ROMEO:", "--length=12", "--preset=vllm",
                               "--params={\"seed\": " + seed + "}"}),
            drawn.out);
  EXPECT_NE(run_model("target", random).err.substr(0, before.size() + seed.size()),
            before + seed);  // but for a chance of 2^-31
}

// llama.cpp's ignore_eos bans the model's end, which vLLM's makes a token as others.
TEST(Program, AnEndThatIsIgnoredByLlamaCppIsBanned) {
  const auto text = [](const char *preset) {
    return run_model("target", {"--prompt=ROMEO:", "--length=6", std::string("--preset=") + preset,
                                R"(--params={"logit_bias": {"2047": 100}, "ignore_eos": true})"});
  };
  EXPECT_NE(text("vllm").out.find("<|endoftext|>"), std::string::npos);
  const Outcome banned = text("llama.cpp");
  EXPECT_EQ(banned.out.find("<|endoftext|>"), std::string::npos) << banned.out;
  EXPECT_EQ(banned.err.rfind("6 new tokens\n", 0), 0u) << banned.err;
}

// Hugging Face's min_length counts the prompt: token 11, always the likeliest, ends a text as soon
// as it may.
TEST(Program, TextsOfAPresetHaveTheirLeastLength) {
  const generate::BpeTokenizer tokenizer(tiny_gpt2() / "target", 2048);
  const Strings prompts = {"ROMEO:", "Once upon a time"};
  constexpr std::size_t kMinLength = 9;
  const Outcome result =
      run_model("target", {"--prompt", prompts[0], "--prompt", prompts[1], "--preset=hugging_face",
                           "--params={\"min_length\": " + std::to_string(kMinLength) +
                               ", \"eos_token_id\": 11, \"sequence_bias\": [[[11], 1000]]}"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  const std::vector<Block> blocks = blocks_of(result.out);
  ASSERT_EQ(blocks.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const std::size_t num_new = kMinLength - tokenizer.encode(prompts[i]).size() + 1;
    EXPECT_NE(blocks[i].header.find(": " + std::to_string(num_new) + " new tokens, ended with"),
              std::string::npos)
        << blocks[i].header;
  }
  EXPECT_NE(blocks[0].header.substr(blocks[0].header.find(": ")),
            blocks[1].header.substr(blocks[1].header.find(": ")));
}

// The text of the token that an explanation says was drawn, as JSON writes it.
std::string drawn_text(const std::string &out) {
  const std::size_t line = std::min(out.find("\ndrawn: "), out.find("\nforced: "));
  const std::size_t begin = out.find('"', line), end = out.find("\", n", begin);
  if (line == std::string::npos || end == std::string::npos) return "nothing drawn: " + out;
  return Json::parse(out.substr(begin, end + 1 - begin));
}

TEST(Program, ExplainedStepsDrawTheTokensOfTheText) {
  const Strings samplings[] = {
      {"--temperature=0.8", "--top-p=0.95", "--seed=3"},
      {"--greedy"},
      {"--preset=llama.cpp", "--seed=7",
       R"(--params={"repeat_penalty": 1.3, "dry_multiplier": 1, "xtc_probability": 0.5})"},
      {"--preset=vllm", "--seed=8",
       R"(--params={"frequency_penalty": 0.5, "min_tokens": 3, "stop_token_ids": [11]})"},
      {"--preset=hugging_face", "--seed=9",
       R"(--params={"do_sample": true, "min_length": 8, "eos_token_id": 11, "typical_p": 0.9})"},
      {"--preset=nano_vllm", "--seed=4", R"(--params={"temperature": 0.7})"},
      {"--preset=llama.cpp", "--seed=5", R"(--params={"mirostat": 2, "mirostat_tau": 3})"},
      {"--preset=llama.cpp", "--seed=6", R"(--params={"mirostat": 1, "mirostat_eta": 0.5})"},
      {"--preset=llama.cpp", "--seed=7",
       R"(--params={"samplers": ["top_k", "adaptive_p"], "adaptive_target": 0.3})"},
      {"--preset=sampler", "--seed=8",
       R"(--params={"top_p": 0.95, "top_p_decay": 0.5, "top_p_least": 0.1,
                    "top_p_reset_token_id": 11})"},
      {"--preset=sampler", "--seed=9",
       R"(--params={"draw_method": "gumbel", "adaptive_kind": "mirostat_v2", "adaptive_target": 2,
                    "frequency_penalty": 0.5, "token_bitmask": [4294966271, -1, -1, 255],
                    "token_bitmask_rule": "leaves", "dense_bias": [0, 0, 0, 1.5]})"},
      {"--preset=sampler", "--seed=9",
       R"(--params={"forced_token_id": [-1, 7, 7, -1, 9], "top_k": 4, "frequency_penalty": 9,
                    "adaptive_kind": "mirostat_v2", "adaptive_target": 3})"}};
  for (const Strings &sampling : samplings) {
    std::string text = "ROMEO:", out;
    for (int step = 0; step < 6; ++step) {
      Strings arguments = {"--prompt=ROMEO:", "--length=6", "--explain=" + std::to_string(step)};
      arguments.insert(arguments.end(), sampling.begin(), sampling.end());
      const Outcome result = run_model("target", arguments);
      ASSERT_EQ(result.exit_status, 0) << result.err;
      out = result.out;
      text += drawn_text(out);
    }
    EXPECT_EQ(out.substr(0, text.size() + 1), text + "\n") << sampling[0];
  }
}

TEST(Program, AnyTextCanBeExplained) {
  const Strings options = {"--preset=llama.cpp", R"(--params={"mirostat": 2, "mirostat_tau": 3})",
                           "--length=4", "--explain=3"};
  const Strings prompts = {"ROMEO:", "Once upon a time"};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto table_of = [](const std::string &out) { return out.substr(out.find("\nstep 3, ")); };
    const std::string batch = text_of(
        "target", joined(options, {"--prompt", prompts[0], "--prompt", prompts[1], "--samples=2",
                                   "--seed=5", "--explain-text=" + std::to_string(i)}));
    const std::string alone = text_of(
        "target",
        joined(options, {"--prompt", prompts[i / 2], "--seed=" + std::to_string(5 + i % 2)}));
    EXPECT_EQ(table_of(batch), table_of(alone)) << i;
  }
}

TEST(Program, ForcedTokensAreThoseOfTheTexts) {
  const generate::BpeTokenizer tokenizer(tiny_gpt2() / "target", 2048);
  const Strings same = {"--prompt=ROMEO:", "--length=5", "--seed=4", "--preset=sampler"};
  const auto text = [&](const std::string &forced, const Strings &more = {}) {
    return text_of("target", joined(joined(same, more), {"--params={" + forced + "}"}));
  };
  const std::string every = tokenizer.token_bytes(7);
  EXPECT_EQ(text(R"("forced_token_id": 7)"),
            "ROMEO:" + every + every + every + every + every + "\n");
  // Until the list's end, and where it has no -1. The rest goes on from there.
  const std::string some = text(R"("forced_token_id": [-1, 7, 9])");
  const std::string start = text_of("target", {"--prompt=ROMEO:", "--length=1", "--seed=4"});
  const std::string begin = start.substr(0, start.size() - 1) + every + tokenizer.token_bytes(9);
  EXPECT_EQ(some.substr(0, begin.size()), begin);
  EXPECT_EQ(some, text(R"("forced_token_id": [-1, 7, 9])", {"--no-cache"}));
  EXPECT_NE(some, text(R"("forced_token_id": [-1, 7, 8])"));
  // A draw that the loop is given forces them, too, and has their log-probabilities.
  const std::string race = text(R"("forced_token_id": [9, 9, 9], "draw_method": "gumbel")");
  EXPECT_EQ(race.find("ROMEO:" + tokenizer.token_bytes(9) + tokenizer.token_bytes(9) +
                      tokenizer.token_bytes(9)),
            0u);
  EXPECT_EQ(text(R"("forced_token_id": [-1, 7, 9])", {"--logprobs"}).rfind(some, 0), 0u);
}

// Tokens that end a text by the model's config, by --end-ids and by the engine's parameters.
TEST(Program, ALeastLengthIsOfEveryTokenThatEndsTheText) {
  const auto err_of = [](const Strings &more, const std::string &params) {
    return run_model("target",
                     joined({"--prompt=ROMEO:", "--length=9", "--preset=vllm",
                             "--params={\"logit_bias\": {\"2047\": 100}, " + params + "}"},
                            more))
        .err;
  };
  EXPECT_EQ(err_of({}, R"("min_tokens": 0)").rfind("1 new token, ended with", 0), 0u);
  EXPECT_EQ(err_of({}, R"("min_tokens": 3)").rfind("4 new tokens, ended with", 0), 0u);
  EXPECT_EQ(err_of({"--end-ids=5,2047"}, R"("min_tokens": 3)").rfind("4 new tokens, ended", 0), 0u);
  EXPECT_EQ(err_of({"--end-ids=5"}, R"("min_tokens": 3)").rfind("9 new tokens\n", 0), 0u);
  EXPECT_EQ(err_of({"--end-ids=5"}, R"("min_tokens": 3, "stop_token_ids": [2047])")
                .rfind("4 new tokens, ended", 0),
            0u);
  // Ends that are ignored are tokens as others.
  EXPECT_EQ(err_of({}, R"("ignore_eos": true, "min_tokens": 3)").rfind("9 new tokens\n", 0), 0u);
  const Outcome nano = run_model("target", {"--prompt=ROMEO:", "--preset=nano_vllm",
                                            R"(--params={"max_tokens": 3, "ignore_eos": true})"});
  EXPECT_EQ(nano.err.rfind("3 new tokens\n", 0), 0u) << nano.err;
}

TEST(Program, ARowWithoutATokenIsToldWithItsReason) {
  const std::pair<std::string, std::string> cases[] = {
      {R"({"allowed": [99999]})",
       "SAMPLER_ROW_EMPTY (there is no token to choose: allowed has no id of the row, which are "
       "those in [0, 2048))\n"},
      {R"({"bad_words": [[1], []]})",
       "SAMPLER_ROW_INVALID_LIST (a list of tokens breaks its rule: bad_words has a list of 0 "
       "tokens; it must be 1 or more)\n"}};
  const std::string draft = "--draft=" + (tiny_gpt2() / "draft").string();
  for (const auto &[params, reason] : cases) {
    for (const Strings &mode : {Strings{}, Strings{"--mode=ngram"}, Strings{"--mode=beam"},
                                Strings{"--mode=speculative", draft}}) {
      const Outcome result =
          run_model("target", joined(mode, {"--preset=sampler", "--params=" + params}));
      EXPECT_EQ(result.exit_status, 1);
      EXPECT_NE(result.err.find("generate: prompt 1: no token after 0 new ones: " + reason),
                std::string::npos)
          << result.err;
    }
  }
  // After some that were good.
  const Outcome later = run_model("target", {"--preset=sampler", "--prompt=a", "--prompt=b",
                                             R"(--params={"forced_token_id": [3, 4, 2048]})"});
  EXPECT_NE(later.err.find("generate: prompt 1: no token after 2 new ones: "
                           "SAMPLER_ROW_INVALID_PARAMETER (a number of the row breaks its rule: "
                           "forced_token_id is 2048; the row has ids in [0, 2048))\n"),
            std::string::npos)
      << later.err;
}

// nano-vLLM's exponential race: one noise a token. The inverse CDF gives other texts.
TEST(Program, APresetsDrawMethodIsThatOfTheTexts) {
  const Strings same = {"--prompt=ROMEO:", "--length=30", "--seed=11"};
  const auto with = [&](const Strings &arguments) {
    return text_of("target", joined(arguments, same));
  };
  const std::string race = with({"--preset=nano_vllm", R"(--params={"temperature": 0.9})"});
  EXPECT_EQ(race, with({"--preset=sampler",
                        R"(--params={"temperature": 0.9, "draw_method": "gumbel"})"}));
  EXPECT_EQ(race, with({"--preset=nano_vllm", R"(--params={"temperature": 0.9})", "--no-cache"}));
  EXPECT_NE(race, with({"--preset=sampler", R"(--params={"temperature": 0.9})"}));
  EXPECT_EQ(with({"--temperature=0.9"}),
            with({"--preset=sampler", R"(--params={"temperature": 0.9})"}));

  // A text of a batch is the text alone, also behind one that has ended.
  const Strings race_options = {"--preset=nano_vllm", "--length=30", "--end-ids=11",
                                R"(--params={"temperature": 0.9})"};
  const Outcome batch =
      run_model("target", joined(race_options, {"--prompt=ROMEO:", "--prompt=Once upon a time",
                                                "--samples=3", "--seed=5"}));
  ASSERT_EQ(batch.exit_status, 0) << batch.err;
  const std::vector<Block> blocks = blocks_of(batch.out);
  ASSERT_EQ(blocks.size(), 6u);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const std::string prompt = i < 3 ? "ROMEO:" : "Once upon a time";
    EXPECT_EQ(blocks[i].text,
              text_of("target", joined(race_options, {"--prompt=" + prompt,
                                                      "--seed=" + std::to_string(5 + i % 3)})));
  }
}

TEST(Program, EndIdsStandInPlaceOfTheModels) {
  const generate::BpeTokenizer tokenizer(tiny_gpt2() / "target", 2048);
  const Strings same = {"--prompt=ROMEO:", "--greedy", "--length=20"};
  const std::string whole = text_of("target", same);
  const std::vector<std::int32_t> tokens = tokenizer.encode(whole.substr(6));
  ASSERT_GT(tokens.size(), 3u);
  const std::string last = tokenizer.token_bytes(tokens[2]);
  for (const Strings &mode : {Strings{}, Strings{"--mode=ngram"}}) {
    const Outcome result = run_model(
        "target", joined(joined(same, mode), {"--end-ids=5," + std::to_string(tokens[2])}));
    EXPECT_NE(result.err.find(", ended with " + last), std::string::npos) << result.err;
    EXPECT_EQ(whole.rfind(result.out.substr(0, result.out.size() - 1), 0), 0u) << result.out;
    EXPECT_LT(result.out.size(), whole.size());
  }
  EXPECT_EQ(text_of("target", joined(same, {"--end-ids=none"})), whole);
}

Json json_of(Strings arguments) {
  const TempDir dir;
  const std::string path = dir.path() / "results";
  arguments.push_back("--json=" + path);
  const Outcome result = run_model("target", arguments);
  EXPECT_EQ(result.exit_status, 0) << result.err;
  return Json::parse(read_bytes(path));
}

TEST(ProgramModes, NgramLimitsEndDrafts) {
  const Strings same = {"--mode=ngram", "--prompt=ROMEO:", "--greedy", "--length=80",
                        "--filler-top-k=0"};
  const Json free = json_of(same);
  for (const Strings &limit : {Strings{"--ngram-least-count=3"}, {"--ngram-least-share=0.9"}}) {
    const Json limited = json_of(joined(same, limit));
    EXPECT_LT(limited.at("drafted"), free.at("drafted")) << limit[0];
    EXPECT_GT(limited.at("acceptance_rate"), free.at("acceptance_rate")) << limit[0];
  }
  EXPECT_NE(json_of(joined(same, {"--ngram-one-level"})).at("accepted"), free.at("accepted"));
  EXPECT_NE(json_of(joined(same, {"--ngram-memory=4096"})).at("accepted"), free.at("accepted"));
  const Json lookup = json_of({"--mode=ngram", "--prompt=ROMEO:", "--greedy", "--length=80",
                               "--lookup", "--lookup-min-match=3"});
  EXPECT_EQ(lookup.at("lookup"), true);
  EXPECT_GT(lookup.at("accepted"), 0);
  EXPECT_NE(lookup.at("drafted"), free.at("drafted"));
}

// Sampled, so that each rule keeps other drafts.
Strings drafted(const Strings &options) {
  return joined({"--mode=speculative", draft_option(), "--prompt=ROMEO:", "--length=120",
                 "--temperature=0.8"},
                options);
}

// The rows of a drafter, at most 5 drafts a round.
TEST(ProgramModes, TheRuleOfAcceptanceReachesTheLoop) {
  const Json standard = json_of(drafted({}));
  EXPECT_EQ(standard.at("acceptance"), "standard");
  for (const std::string rule :
       {"block", "sample_match", "typical", "relaxed", "threshold", "deferred"}) {
    Strings options = {"--acceptance=" + rule};
    // With its defaults it keeps hardly more than the standard rule.
    if (rule == "relaxed") options = joined(options, {"--relaxed-top-k=8", "--relaxed-delta=0.3"});
    const Json json = json_of(drafted(options));
    EXPECT_EQ(json.at("acceptance"), rule);
    EXPECT_NE(json.at("accepted"), standard.at("accepted")) << rule;
  }
  const std::string all = "--synthetic-rates=1,1,1", none = "--synthetic-rates=0,0,0";
  for (const Strings &mode : {Strings{"--mode=speculative", draft_option()}, {"--mode=ngram"}}) {
    const Strings synthetic = joined(mode, {"--length=60", "--acceptance=synthetic", "--gamma=3"});
    EXPECT_EQ(json_of(joined(synthetic, {all})).at("acceptance_rate"), 1);
    EXPECT_EQ(json_of(joined(synthetic, {none})).at("accepted"), 0);
  }
}

TEST(ProgramModes, NumbersOfTheRulesReachTheLoop) {
  const struct {
    Strings rule;
    std::string number;
  } cases[] = {{{"--acceptance=typical", "--typical-scale=0.9"}, "--typical-threshold=0.6"},
               {{"--acceptance=typical", "--typical-threshold=0.6"}, "--typical-scale=0.9"},
               {{"--acceptance=relaxed", "--relaxed-delta=0.3"}, "--relaxed-top-k=8"},
               {{"--acceptance=relaxed", "--relaxed-top-k=8"}, "--relaxed-delta=0.3"},
               {{"--acceptance=threshold"}, "--threshold-single=0.1"},
               {{"--acceptance=threshold"}, "--threshold-total=0.2"},
               {{"--acceptance=deferred"}, "--deferred-window=3"},
               {{"--acceptance=deferred", "--deferred-entropy=1"}, "--deferred-top-k=20"},
               {{"--acceptance=deferred"}, "--deferred-entropy=1"}};
  for (const auto &[rule, number] : cases) {
    const Strings options = drafted(rule);
    EXPECT_NE(json_of(joined(options, {number})).at("accepted"), json_of(options).at("accepted"))
        << number;
  }
}

TEST(ProgramModes, AnUnlikelyDraftIsTheLastOfItsRound) {
  const Json all = json_of(drafted({})),
             likely = json_of(drafted({"--least-draft-probability=0.5"}));
  EXPECT_LT(likely.at("drafted"), all.at("drafted"));
  EXPECT_GT(likely.at("acceptance_rate"), all.at("acceptance_rate"));
}

// A tree as deep as a chain keeps more.
TEST(ProgramModes, TreesOfDraftsReachTheLoop) {
  const Json chain = json_of(drafted({"--acceptance=sample_match", "--gamma=3"})),
             tree = json_of(drafted({"--acceptance=sample_match", "--gamma=9", "--draft-top-k=3"}));
  EXPECT_EQ(chain.at("draft_top_k"), 0);
  EXPECT_EQ(tree.at("draft_top_k"), 3);
  EXPECT_GT(tree.at("accepted"), chain.at("accepted"));
  EXPECT_LT(tree.at("target_forwards"), chain.at("target_forwards"));
}

// With sample_match the texts of each mode are the same token by token, and so are the likeliest.
TEST(ProgramModes, StagesAreThoseOfEachLoop) {
  const std::pair<Strings, std::string> samplings[] = {
      {{"--preset=llama.cpp", "--seed=7",
        R"(--params={"repeat_penalty": 1.3, "dry_multiplier": 1})"},
       "sample_match"},
      {{"--preset=vllm", "--seed=8",
        R"(--params={"frequency_penalty": 0.5, "min_tokens": 30, "stop_token_ids": [11]})"},
       "sample_match"},
      {{"--preset=llama.cpp", "--seed=5", R"(--params={"mirostat": 2, "mirostat_tau": 3})"},
       "sample_match"},
      {{"--preset=hugging_face", R"(--params={"no_repeat_ngram_size": 2})"}, "standard"}};
  for (const auto &[sampling, rule] : samplings) {
    const Strings same = joined(sampling, {"--prompt=ROMEO:", "--length=50"});
    const std::string text = text_of("target", same);
    EXPECT_NE(text, text_of("target", {"--prompt=ROMEO:", "--length=50", sampling[0]}));
    for (const Strings &mode :
         {Strings{"--mode=speculative", draft_option()},
          Strings{"--mode=speculative", draft_option(), "--gamma=8", "--draft-top-k=3"},
          Strings{"--mode=ngram"}, Strings{"--mode=ngram", "--lookup"}}) {
      EXPECT_EQ(text_of("target", joined(joined(same, mode), {"--acceptance=" + rule})), text)
          << sampling.back() << mode.back();
    }
  }
}

TEST(ProgramModes, BeamsTakeTheEditsOfAPreset) {
  const generate::BpeTokenizer tokenizer(tiny_gpt2() / "target", 2048);
  const Strings same = {"--mode=beam", "--prompt=ROMEO:", "--length=3"};
  EXPECT_EQ(text_of("target", joined(same, {"--preset=hugging_face"})), text_of("target", same));
  const std::string only = tokenizer.token_bytes(11);
  EXPECT_EQ(
      text_of("target", joined(same, {"--preset=vllm", R"(--params={"allowed_token_ids": [11]})"})),
      "ROMEO:" + only + only + only + "\n");
  // Numbers by prompt: as many as there are prompts, not samples.
  const Strings lengths = joined(same, {"--samples=3", "--preset=hugging_face",
                                        R"(--params={"min_length": 9, "eos_token_id": 11})"});
  EXPECT_EQ(blocks_of(text_of("target", lengths)).size(), 3u);
}

TEST(ProgramModes, APoolOfBeamsIsAnotherSearch) {
  const Strings same = {"--mode=beam",        "--prompt=Once upon a time", "--length=24",
                        "--samples=2",        "--end-ids=11,12,13,198",    "--alpha=2",
                        "--beam-min-length=0"};
  const Outcome shared = run_model("target", same);
  const Outcome pool = run_model("target", joined(same, {"--beam-pool"}));
  const Outcome early = run_model("target", joined(same, {"--beam-pool", "--early-stop"}));
  for (const Outcome *outcome : {&shared, &pool, &early}) {
    EXPECT_EQ(outcome->exit_status, 0) << outcome->err;
  }
  EXPECT_NE(pool.out, shared.out);
  EXPECT_NE(pool.out, early.out);
}

// ---- Members of the loops' structs
// ---------------------------------------------------------------

// By tests/abi/layout.txt: a member without an option here, and without a reason, is an error.
TEST(Program, EveryMemberOfTheLoopsStructsHasAnOption) {
  const std::string of_the_program = "the program's own", of_outputs = "an output",
                    none = "no number to choose";
  const std::map<std::string, std::map<std::string, std::string>> options = {
      {"sampler_generation_args",
       {{"struct_size", none},
        {"stream", "the model is on the CPU"},
        {"target", "--model"},
        {"num_sequences", "--samples"},
        {"first_sequence", "the caches are this call's alone: 0"},
        {"prompt_offsets", "--prompt"},
        {"prompt_token_ids", "--prompt"},
        {"max_new_tokens", "--length"},
        {"end_token_ids", "--end-ids"},
        {"num_end_tokens", "--end-ids"},
        {"pad_token_id", "what follows a text's end is not printed"},
        {"use_cache", "--no-cache"},
        {"processor", "--greedy"},
        {"debug", "--trace prints the rounds"},
        {"params", "--params"},
        {"seed", "--seed"},
        {"seeds", "--seed"},
        {"user", of_the_program},
        {"process", "--explain"},
        {"on_tokens", of_the_program},
        {"trace", "--trace"},
        {"token_text", "--trace prints with the tokenizer"},
        {"out_token_ids", of_outputs},
        {"out_lengths", of_outputs},
        {"out_finish_reasons", of_outputs},
        {"out_cache_lengths", of_outputs},
        {"out_stats", of_outputs},
        {"row_params", "--params"},
        {"pipeline", "--params"}}},
      {"sampler_speculative_args",
       {{"struct_size", none},
        {"generation", "--prompt"},
        {"drafter", "--draft"},
        {"ngram", "--lookup"},
        {"gamma", "--gamma"},
        {"adaptive_gamma", "--adaptive"},
        {"ema_beta", "--ema-beta"},
        {"gamma_min", "--gamma-min"},
        {"gamma_max", "--gamma-max"},
        {"filler_top_k", "--filler-top-k"},
        {"stop_if_unknown", "--stop-if-unknown"},
        {"first_target", "--no-first-target"},
        {"skip_sample_adjustment", "--skip-sample-adjustment"},
        {"reserved", none},
        {"clock", "--cpu-times"},
        {"clock_user", "--cpu-times"},
        {"ngram_least_count", "--ngram-least-count"},
        {"ngram_least_share", "--ngram-least-share"},
        {"reserved2", none},
        {"acceptance", "--acceptance"},
        {"least_draft_probability", "--least-draft-probability"},
        {"reserved3", none},
        {"draft_top_k", "--draft-top-k"},
        {"out_drafted_counts", of_outputs},
        {"out_accepted_counts", of_outputs}}},
      {"sampler_acceptance_params",
       {{"struct_size", none},
        {"rule", "--acceptance"},
        {"sibling_rule", "sampler_verify's alone"},
        {"draw_method", "sampler_verify's alone"},
        {"typical_threshold", "--typical-threshold"},
        {"typical_scale", "--typical-scale"},
        {"relaxed_top_k", "--relaxed-top-k"},
        {"relaxed_delta", "--relaxed-delta"},
        {"threshold_single", "--threshold-single"},
        {"threshold_total", "--threshold-total"},
        {"deferred_window", "--deferred-window"},
        {"deferred_top_k", "--deferred-top-k"},
        {"deferred_entropy", "--deferred-entropy"},
        {"synthetic_rates", "--synthetic-rates"}}},
      {"sampler_beam_search_args",
       {{"struct_size", none},
        {"generation", "--prompt"},
        {"num_beams", "--beams"},
        {"top_k", "--beam-top-k"},
        {"num_results", "--samples"},
        {"min_length", "--beam-min-length"},
        {"alpha", "--alpha"},
        {"early_stop", "--early-stop"},
        {"rule", "--beam-pool"},
        {"out_scores", of_outputs}}},
      {"sampler_ngram_storage_options",
       {{"struct_size", none},
        {"kind", "--ngram-one-level"},
        {"order", "--ngram-order"},
        {"vocabulary_size", "--model"},
        {"memory_limit", "--ngram-memory"},
        {"allocator", of_the_program}}},
      {"sampler_prompt_lookup_options",
       {{"struct_size", none},
        {"min_match", "--lookup-min-match"},
        {"max_match", "--lookup-max-match"},
        {"max_tokens", "the model's context"},
        {"vocabulary_size", "--model"},
        {"allocator", of_the_program}}}};
  const std::string help = run({"--help"}).out;
  std::ifstream layout(SAMPLER_SOURCE_DIR "/tests/abi/layout.txt");
  ASSERT_TRUE(layout);
  std::size_t num_structs = 0;
  const std::map<std::string, std::string> *members = nullptr;
  for (std::string line; std::getline(layout, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (line.rfind("  ", 0) != 0) {
      const auto found = options.find(name);
      members = found == options.end() ? nullptr : &found->second;
      num_structs += members != nullptr;
    } else if (members != nullptr) {
      const auto found = members->find(name);
      if (found == members->end()) {
        ADD_FAILURE() << "no option and no reason: " << name;
      } else if (found->second.rfind("--", 0) == 0) {
        const std::string option = found->second.substr(0, found->second.find(' '));
        EXPECT_NE(help.find(option), std::string::npos) << option;
      }
    }
  }
  EXPECT_EQ(num_structs, options.size());
}

TEST(Program, AStepBehindTheTextsEndIsAnError) {
  // The first token is whatever comes: it ends the text.
  const Outcome result =
      run_model("target", {"--prompt=ROMEO:", "--length=4", "--explain=2", "--preset=vllm",
                           R"(--params={"allowed_token_ids": [11], "stop_token_ids": [11]})"});
  EXPECT_EQ(result.exit_status, 1);
  EXPECT_NE(result.err.find("--explain is 2; it must be less than the number of new tokens"),
            std::string::npos)
      << result.err;
}

TEST(Program, HelpNamesEveryOption) {
  const Outcome result = run({"--help"});
  EXPECT_EQ(result.exit_status, 0);
  for (const std::string option : {"--model",
                                   "--mode",
                                   "--prompt",
                                   "--length",
                                   "--samples",
                                   "--no-cache",
                                   "--seed",
                                   "--temperature",
                                   "--top-k",
                                   "--top-p",
                                   "--min-p",
                                   "--greedy",
                                   "--draft",
                                   "--gamma",
                                   "--adaptive",
                                   "--gamma-min",
                                   "--gamma-max",
                                   "--ema-beta",
                                   "--ngram-order",
                                   "--filler-top-k",
                                   "--stop-if-unknown",
                                   "--beams",
                                   "--beam-top-k",
                                   "--alpha",
                                   "--beam-min-length",
                                   "--early-stop",
                                   "--trace",
                                   "--color",
                                   "--json",
                                   "--measured",
                                   "--repeats",
                                   "--preset",
                                   "--params",
                                   "--explain",
                                   "--explain-text",
                                   "--logprobs",
                                   "--ranks",
                                   "--end-ids",
                                   "--no-first-target",
                                   "--lookup",
                                   "--beam-pool",
                                   "--acceptance",
                                   "--typical-threshold",
                                   "--typical-scale",
                                   "--relaxed-top-k",
                                   "--relaxed-delta",
                                   "--threshold-single",
                                   "--threshold-total",
                                   "--deferred-window",
                                   "--deferred-top-k",
                                   "--deferred-entropy",
                                   "--synthetic-rates",
                                   "--least-draft-probability",
                                   "--draft-top-k"}) {
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
