#include "chat_template.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "completion.h"
#include "error.h"
#include "json_file.h"

namespace server {

namespace {

using Clock = std::chrono::steady_clock;

using generate::Error;

constexpr std::chrono::seconds kPatience(2);
constexpr std::chrono::seconds kPatienceAtStart(30);
constexpr std::size_t kMaxAnswer = std::size_t{4} << 20;

// A line of JSON for a line of JSON: the template first, then each chat's variables. The sandbox,
// its options, tags and functions are those of transformers' apply_chat_template. It ends where the
// server does, and by itself where a template takes longer than the server waits.
constexpr char kRenderer[] = R"python(
import datetime, json, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
try:
    from jinja2 import TemplateError, nodes
    from jinja2.ext import Extension, loopcontrols
    from jinja2.sandbox import ImmutableSandboxedEnvironment
except ImportError as error:
    print(json.dumps({"error": str(error)}), flush=True)
    sys.exit(1)

class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.Scope(body).set_lineno(line)

def refuse(message):
    raise TemplateError(message)

def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)

environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                            extensions=[Generation, loopcontrols])
environment.filters["tojson"] = to_json
environment.globals["raise_exception"] = refuse
environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
template = None
for line in sys.stdin:
    question = json.loads(line)
    signal.alarm(5)
    try:
        if template is None:
            template, answer = environment.from_string(question), {}
        else:
            answer = {"text": template.render(**question)}
    except Exception as error:
        answer = {"error": str(error) or type(error).__name__}
    signal.alarm(0)
    print(json.dumps(answer), flush=True)
)python";

// "<s>", or {"content": "<s>", ...}
std::optional<std::string> token_of(const nlohmann::json &config, const char *name) {
  const auto found = config.find(name);
  if (found == config.end()) return std::nullopt;
  const nlohmann::json &token =
      found->is_object() ? found->value("content", nlohmann::json()) : *found;
  if (!token.is_string()) return std::nullopt;
  return token.get<std::string>();
}

// A string, or a list of templates by name, of which "default" is the one for chats.
std::optional<std::string> template_of(const nlohmann::json &config) {
  const auto found = config.find("chat_template");
  if (found == config.end()) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  if (!found->is_array()) return std::nullopt;
  for (const nlohmann::json &one : *found) {
    if (!one.is_object() || one.value("name", "") != "default") continue;
    if (const auto text = one.find("template"); text != one.end() && text->is_string()) {
      return text->get<std::string>();
    }
  }
  return std::nullopt;
}

}  // namespace

ChatTemplate::ChatTemplate(std::string text, nlohmann::ordered_json constants)
    : text_(std::move(text)), constants_(std::move(constants)) {
  start();
}

ChatTemplate::~ChatTemplate() {
  stop();
}

std::string ChatTemplate::render(const nlohmann::ordered_json &variables) {
  nlohmann::ordered_json question = constants_;
  question.update(variables);
  const std::unique_lock<std::timed_mutex> lock(mutex_, kPatience);
  if (!lock) throw HttpError(503, "too many chats wait already; try again later");
  nlohmann::json answer;
  try {
    if (process_ < 0) start();
    answer = ask(question);
  } catch (const std::exception &error) {
    stop();
    throw HttpError(500, error.what());
  }
  if (answer.contains("error")) {
    throw HttpError(400, "the chat template says: " + answer["error"].get<std::string>(),
                    "messages");
  }
  return answer["text"].get<std::string>();
}

void ChatTemplate::start() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(std::string("no socket for the chat template: ") + std::strerror(errno));
  }
  socket_ = ends[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);  // clients' sockets
#endif
  // The server's threads take no signals; the process has its alarm.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  char python[] = "python3", isolated[] = "-I", command[] = "-c";
  char *const arguments[] = {python, isolated, command, const_cast<char *>(kRenderer), nullptr};
  const int failure = posix_spawnp(&process_, python, &actions, &attributes, arguments, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failure != 0) process_ = -1;
  try {
    if (failure != 0) throw Error(std::strerror(failure));
    const nlohmann::json answer = ask(text_);
    if (answer.contains("error")) throw Error(answer["error"].get<std::string>());
  } catch (const std::exception &error) {
    stop();
    throw Error(std::string("the chat template needs python3 with jinja2, and must be one: ") +
                error.what());
  }
}

void ChatTemplate::stop() {
  if (process_ >= 0) {
    kill(process_, SIGKILL);
    while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (socket_ >= 0) close(socket_);
  process_ = socket_ = -1;
}

nlohmann::json ChatTemplate::ask(const nlohmann::ordered_json &question) {
  const bool is_start = question.is_string();
  const Clock::time_point end = Clock::now() + (is_start ? kPatienceAtStart : kPatience);
  const std::string line =
      question.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  std::string_view rest = line;
  std::string answer;
  while (answer.empty() || answer.back() != '\n') {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd ready = {socket_, static_cast<short>(rest.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    const int count = left.count() > 0 ? poll(&ready, 1, static_cast<int>(left.count())) : 0;
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      throw std::runtime_error(
          "the chat template took more than " +
          std::to_string(is_start ? kPatienceAtStart.count() : kPatience.count()) + " seconds");
    }
    if (!rest.empty() && (ready.revents & POLLOUT) != 0) {
      const ssize_t sent = send(socket_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    if ((ready.revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
    char bytes[4096];
    const ssize_t received = recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
    if (received < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (received <= 0) throw std::runtime_error("the chat template's process has ended");
    answer.append(bytes, static_cast<std::size_t>(received));
    if (answer.size() > kMaxAnswer) throw std::runtime_error("the chat's prompt is too long");
  }
  return nlohmann::json::parse(answer);
}

std::unique_ptr<ChatTemplate> find_chat_template(const std::filesystem::path &model,
                                                 const std::filesystem::path &file,
                                                 std::string *why_not) {
  *why_not = "the model has no chat template; --chat-template names one";
  const std::filesystem::path own = model / "chat_template.jinja";
  const std::filesystem::path config_file = model / "tokenizer_config.json";
  nlohmann::json config = nlohmann::json::object();
  std::optional<std::string> text;
  try {
    if (std::filesystem::exists(config_file)) config = generate::read_json_object(config_file);
    text = std::filesystem::exists(own) ? generate::read_file(own) : template_of(config);
  } catch (const Error &error) {
    *why_not = error.what();
  }
  if (!file.empty()) text = generate::read_file(file);
  if (!text) return nullptr;
  nlohmann::ordered_json constants = nlohmann::ordered_json::object();
  for (const char *name : {"bos_token", "eos_token", "unk_token", "pad_token"}) {
    if (const std::optional<std::string> token = token_of(config, name)) constants[name] = *token;
  }
  try {
    return std::make_unique<ChatTemplate>(*text, constants);
  } catch (const Error &error) {
    if (!file.empty()) throw;
    *why_not = error.what();
    return nullptr;
  }
}

}  // namespace server
