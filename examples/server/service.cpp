#include "service.h"

#include <chrono>
#include <exception>
#include <utility>

namespace server {

namespace {

constexpr char kJson[] = "application/json";

void answer(const Json &json, httplib::Response *response) {
  response->set_content(dump(json), kJson);
}

void answer_error(const HttpError &error, httplib::Response *response) {
  response->status = error.status();
  if (error.status() == 503) response->set_header("Retry-After", "1");
  answer(error_body(error), response);
}

// What the server itself answers: a wrong path, a body that is too long.
void explain(const httplib::Request &request, httplib::Response *response) {
  if (!response->body.empty()) return;
  const std::string message =
      response->status == 404   ? "there is no " + request.method + " " + request.path
      : response->status == 413 ? "the body is too long"
                                : "HTTP error " + std::to_string(response->status);
  response->set_content(dump(error_body(HttpError(response->status, message))), kJson);
}

std::string event(const std::string &data) {
  return "data: " + data + "\n\n";
}

}  // namespace

Service::Service(const generate::Tokenizer &tokenizer, Limits limits,
                 std::unique_ptr<ChatTemplate> chat_template, Engine *engine)
    : tokenizer_(tokenizer),
      limits_(std::move(limits)),
      chat_template_(std::move(chat_template)),
      engine_(engine),
      created_(std::time(nullptr)) {}

void Service::add_to(HttpServer *http) {
  http->Get("/health", [this](const httplib::Request &, httplib::Response &response) {
    const EngineCounts counts = engine_->counts();
    answer({{"status", "ok"},
            {"running", counts.num_running},
            {"waiting", counts.num_waiting},
            {"tokens", counts.num_tokens}},
           &response);
  });
  http->Get("/v1/models", [this](const httplib::Request &, httplib::Response &response) {
    answer(model_list(limits_.model_name, created_), &response);
  });
  const auto serve = [this, http](const char *path, const auto &read) {
    http->Post(path,
               [this, http, read](const httplib::Request &request, httplib::Response &response) {
                 try {
                   const std::shared_ptr<void> entered = engine_->enter();
                   complete(read(request.body), http->connection(), &response);
                 } catch (const HttpError &error) {
                   answer_error(error, &response);
                 } catch (const std::exception &error) {
                   answer_error(HttpError(500, error.what()), &response);
                 }
               });
  };
  serve("/v1/completions",
        [this](const std::string &body) { return read_request(body, tokenizer_, limits_); });
  serve("/v1/chat/completions", [this](const std::string &body) {
    return read_chat_request(body, tokenizer_, limits_, chat_template_.get());
  });
  http->set_error_handler(
      httplib::Server::Handler([](const httplib::Request &request, httplib::Response &response) {
        explain(request, &response);
      }));
}

Answer Service::new_answer(ServedRequest request) {
  const char *const kind = request.is_chat ? "chatcmpl-" : "cmpl-";
  return Answer(std::move(request), tokenizer_, limits_.model_name,
                kind + std::to_string(++num_requests_), std::time(nullptr));
}

void Service::complete(ServedRequest request, const Connection &connection,
                       httplib::Response *http_response) {
  const auto mailbox = std::make_shared<Mailbox>(request.num_written());
  std::vector<std::shared_ptr<Completion>> completions;
  int first_choice = 0;
  for (const CompletionRequest &one : request.prompts) {
    completions.push_back(std::make_shared<Completion>(one, first_choice, mailbox));
    first_choice += one.num_choices;
  }
  // As long as this lives, it is answered: its copy in a stream ends with that.
  ++num_open_;
  const std::shared_ptr<void> open(nullptr, [this](void *) { --num_open_; });
  engine_->submit(completions);
  if (request.is_streamed) {
    stream(std::move(request), mailbox, open, http_response);
    return;
  }
  // Where one of several prompts fails, the others are not wanted any more.
  const std::shared_ptr<void> wanted(nullptr, [&mailbox](void *) { mailbox->cancel(); });
  Answer whole = new_answer(std::move(request));
  for (;;) {
    const bool has_news = mailbox->wait_for(std::chrono::milliseconds(100));
    if (connection.has_closed()) throw HttpError(499, "the client has gone");  // sent to nobody
    if (!has_news) continue;
    const std::optional<Progress> progress = mailbox->next();
    if (!progress) break;
    whole.add(*progress);
  }
  answer(whole.whole(), http_response);
}

void Service::stream(ServedRequest request, const std::shared_ptr<Mailbox> &mailbox,
                     const std::shared_ptr<void> &open, httplib::Response *http_response) {
  const bool has_logprobs = request.num_logprobs.has_value(), has_usage = request.has_usage;
  const bool is_chat = request.is_chat;
  const auto chunks = std::make_shared<Answer>(new_answer(std::move(request)));
  // Called until it says that it is done.
  const auto write_next = [=](std::size_t, httplib::DataSink &sink) {
    while (!mailbox->wait_for(std::chrono::milliseconds(200))) {
      if (!sink.is_writable()) return false;
    }
    std::string data;
    bool has_ended = false;
    try {
      if (const std::optional<Progress> progress = mailbox->next()) {
        const Json choice = chunks->add(*progress);
        // The end of a text that may yet be a stop string is held back.
        const Json &text = is_chat ? choice["delta"]["content"] : choice["text"];
        if (text == "" && progress->finish_reason.empty() && !has_logprobs) return true;
        data = event(dump(chunks->chunk(choice)));
      } else {
        if (has_usage) data = event(dump(chunks->last_chunk()));
        data += event("[DONE]");
        has_ended = true;
      }
    } catch (const HttpError &error) {
      data = event(dump(error_body(error)));
      has_ended = true;
    }
    if (!sink.write(data.data(), data.size())) return false;
    if (has_ended) sink.done();
    return true;
  };
  http_response->set_header("Cache-Control", "no-cache");
  http_response->set_chunked_content_provider("text/event-stream", write_next,
                                              [mailbox, open](bool) { mailbox->cancel(); });
}

}  // namespace server
