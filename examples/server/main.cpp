// Serves a GPT-2 in the Hugging Face layout over HTTP; a decoding session of libsampler draws the
// tokens of all requests together.

#include <httplib.h>
#include <signal.h>
#include <sys/socket.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "chat_template.h"
#include "engine.h"
#include "error.h"
#include "gpt2.h"
#include "http_server.h"
#include "in_range.h"
#include "service.h"
#include "tokenizer.h"

namespace {

using generate::Error;
using generate::Gpt2Model;
using generate::in_range;
using generate::Tokenizer;

struct Arguments {
  std::string model;
  std::string name;
  std::string chat_template;
  std::string host = "127.0.0.1";
  int port = 8080;
  int drain_seconds = 30;
  server::EngineOptions engine;
};

std::optional<int> parse_arguments(int argc, char **argv, Arguments *arguments) {
  CLI::App app("Serves a GPT-2 over HTTP; libsampler draws the tokens.", "sampler-server");
  server::EngineOptions &engine = arguments->engine;
  app.add_option("--model", arguments->model,
                 "Folder with config.json, model.safetensors and a tokenizer")
      ->type_name("DIR")
      ->required();
  app.add_option("--name", arguments->name,
                 "The model's name in requests; the folder's if not set");
  app.add_option("--chat-template", arguments->chat_template,
                 "The Jinja template of chats; the model's own if not set")
      ->type_name("FILE");
  app.add_option("--host", arguments->host, "Address to listen at")->capture_default_str();
  app.add_option("--port", arguments->port, "Port to listen at; 0: a free one, which is printed")
      ->capture_default_str()
      ->check(in_range(0, 65535));
  app.add_option("--sequences", engine.max_sequences,
                 "Texts at once: requests, or their choices where they ask for several")
      ->capture_default_str()
      ->check(in_range(1, 1024));
  app.add_option("--queue", engine.max_waiting, "Requests that wait; more are refused")
      ->capture_default_str()
      ->check(in_range(1, 1024));
  app.add_option("--step-tokens", engine.max_step_tokens,
                 "Tokens that the model is given at once; longer prompts are cut")
      ->capture_default_str()
      ->check(in_range(1, 1 << 20));
  app.add_option("--drafts", engine.max_drafts,
                 "Drafts of a step at most, looked up in each text itself; the texts are the same")
      ->capture_default_str()
      ->check(in_range(0, 64));
  app.add_option("--drain-seconds", arguments->drain_seconds,
                 "After SIGTERM, how long requests may take to end; 0: they fail at once")
      ->capture_default_str()
      ->check(in_range(0, 86400));
  app.add_option("--threads", engine.num_threads, "Threads that sample")
      ->capture_default_str()
      ->check(in_range(1, 256));
  try {
    app.parse(argc, argv);
    if (engine.max_step_tokens <= engine.max_drafts) {
      throw CLI::ValidationError("--step-tokens must be greater than --drafts");
    }
  } catch (const CLI::Error &error) {
    return app.exit(error);
  }
  return std::nullopt;
}

// SIGINT and SIGTERM, which no thread is interrupted by: they are waited for.
sigset_t block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return signals;
}

// Lets requests end that have come, until the time is over or another signal comes.
void drain(const sigset_t &signals, int seconds, server::Engine *engine,
           const server::Service &service) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
  engine->drain();
  const timespec patience = {0, 20'000'000};
  while (Clock::now() < end && (!engine->is_idle() || service.num_open() > 0)) {
    if (sigtimedwait(&signals, nullptr, &patience) > 0) return;
  }
}

// Ends the process if it has not ended by then: a forward of a large model takes longer, and nobody
// waits for it.
void end_within(std::chrono::milliseconds time) {
  std::thread([time] {
    std::this_thread::sleep_for(time);
    std::_Exit(0);
  }).detach();
}

void run(const Arguments &arguments) {
  const sigset_t signals = block_signals();
  const Gpt2Model model(arguments.model);
  const std::unique_ptr<Tokenizer> owned =
      generate::read_tokenizer(arguments.model, model.config().vocab_size);
  const Tokenizer &tokenizer = *owned;
  std::optional<std::int32_t> end_token = model.config().eos_token_id;
  if (!end_token) end_token = tokenizer.end_token();
  server::Limits limits = {arguments.name,
                           model.config().vocab_size,
                           model.config().n_positions,
                           arguments.engine.max_sequences,
                           arguments.engine.max_waiting,
                           end_token.has_value(),
                           ""};
  if (limits.model_name.empty()) {
    limits.model_name = std::filesystem::canonical(arguments.model).filename().string();
  }
  auto chat_template =
      server::find_chat_template(arguments.model, arguments.chat_template, &limits.why_no_chats);
  server::Engine engine(model, tokenizer, end_token, arguments.engine);
  server::Service service(tokenizer, limits, std::move(chat_template), &engine);

  // A handler's thread is taken as long as its request runs or waits. The others read requests,
  // refuse what comes beyond, and report how it goes.
  server::HttpServer http(arguments.engine.max_sequences + arguments.engine.max_waiting + 32);
  int listener = -1;
  // Without SO_REUSEPORT, which lets a second server take the same port.
  http.set_socket_options([&listener](int socket) {
    listener = socket;
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  http.set_tcp_nodelay(true);
  service.add_to(&http);
  const int port = arguments.port == 0 ? http.bind_to_any_port(arguments.host)
                   : http.bind_to_port(arguments.host, arguments.port) ? arguments.port
                                                                       : -1;
  if (port < 0) {
    throw Error("cannot listen at " + arguments.host + ":" + std::to_string(arguments.port));
  }
  // Clients that connect at once wait for handlers; the HTTP library itself has room for 5.
  listen(listener, SOMAXCONN);
  std::future<bool> listening =
      std::async(std::launch::async, [&http] { return http.listen_after_bind(); });
  while (!http.is_running() &&
         listening.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) {
  }
  std::printf("listening on http://%s:%d\n", arguments.host.c_str(), port);
  std::fflush(stdout);
  int signal = 0;
  sigwait(&signals, &signal);
  if (signal == SIGTERM) drain(signals, arguments.drain_seconds, &engine, service);
  end_within(std::chrono::milliseconds(1500));
  engine.stop();
  http.end();
  listening.wait();
}

}  // namespace

int main(int argc, char **argv) {
  try {
    Arguments arguments;
    if (const auto status = parse_arguments(argc, argv, &arguments)) return *status;
    run(arguments);
    return 0;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "sampler-server: %s\n", error.what());
  }
  return 1;
}
