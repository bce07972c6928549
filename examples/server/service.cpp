#include "service.h"

#include <chrono>
#include <exception>
#include <utility>

#include "response.h"

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

// What the server itself tells: a wrong path, a body that is too long.
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

Service::Service(const generate::BpeTokenizer &tokenizer, Limits limits, Engine *engine)
    : tokenizer_(tokenizer),
      limits_(std::move(limits)),
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
  http->Post("/v1/completions",
             [this, http](const httplib::Request &request, httplib::Response &response) {
               try {
                 complete(request.body, http->connection(), &response);
               } catch (const HttpError &error) {
                 answer_error(error, &response);
               } catch (const std::exception &error) {
                 answer_error(HttpError(500, error.what()), &response);
               }
             });
  http->set_error_handler(
      httplib::Server::Handler([](const httplib::Request &request, httplib::Response &response) {
        explain(request, &response);
      }));
}

void Service::complete(const std::string &body, const Connection &connection,
                       httplib::Response *http_response) {
  const auto completion = std::make_shared<Completion>(read_request(body, tokenizer_, limits_));
  // As long as this lives, it is answered: its copy in a stream ends with that.
  ++num_open_;
  const std::shared_ptr<void> open(nullptr, [this](void *) { --num_open_; });
  engine_->submit(completion);
  if (completion->request.is_streamed) {
    stream(completion, open, http_response);
    return;
  }
  Answer whole(completion->request, tokenizer_, limits_.model_name,
               "cmpl-" + std::to_string(++num_requests_), std::time(nullptr));
  for (;;) {
    const bool has_news = completion->wait_for(std::chrono::milliseconds(100));
    if (connection.has_closed()) {
      completion->cancel();
      throw HttpError(499, "the client has gone");  // told to nobody
    }
    if (!has_news) continue;
    const std::optional<Progress> progress = completion->next();
    if (!progress) break;
    whole.add(*progress);
  }
  answer(whole.whole(), http_response);
}

void Service::stream(const std::shared_ptr<Completion> &completion,
                     const std::shared_ptr<void> &open, httplib::Response *http_response) {
  const auto chunks =
      std::make_shared<Answer>(completion->request, tokenizer_, limits_.model_name,
                               "cmpl-" + std::to_string(++num_requests_), std::time(nullptr));
  // Called until it says that it is done.
  const auto write_next = [completion, chunks](std::size_t, httplib::DataSink &sink) {
    while (!completion->wait_for(std::chrono::milliseconds(200))) {
      if (!sink.is_writable()) return false;
    }
    std::string data;
    bool has_ended = false;
    try {
      if (const std::optional<Progress> progress = completion->next()) {
        const Json choice = chunks->add(*progress);
        // The end of a text that may yet be a stop string is held back.
        if (progress->text.empty() && progress->finish_reason.empty() &&
            !completion->request.num_logprobs) {
          return true;
        }
        data = event(dump(chunks->chunk(choice)));
      } else {
        data = event("[DONE]");
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
                                              [completion, open](bool) { completion->cancel(); });
}

}  // namespace server
