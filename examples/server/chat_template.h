#ifndef SERVER_CHAT_TEMPLATE_H
#define SERVER_CHAT_TEMPLATE_H

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

namespace server {

// What makes a prompt of a chat's messages: a model's Jinja template, rendered by Jinja2 in a
// Python process of its own, sandboxed as transformers has it.
class ChatTemplate {
 public:
  // `constants` are the template's variables that are the same for all chats: bos_token ... Starts
  // the process; throws an Error without Python or Jinja2, or where the template is none.
  ChatTemplate(std::string text, nlohmann::ordered_json constants);
  ~ChatTemplate();

  ChatTemplate(const ChatTemplate &) = delete;
  ChatTemplate &operator=(const ChatTemplate &) = delete;

  // The text of the variables: messages, add_generation_prompt ... Any thread may call it; a chat
  // waits for another's end. Throws HttpError where the template refuses them or takes more than 2
  // seconds, and, 503, where others take that long.
  std::string render(const nlohmann::ordered_json &variables);

 private:
  void start();
  void stop();
  // The process's answer; throws std::runtime_error where none comes in time.
  nlohmann::json ask(const nlohmann::ordered_json &question);

  const std::string text_;
  const nlohmann::ordered_json constants_;
  std::timed_mutex mutex_;  // of all that follows
  pid_t process_ = -1;
  int socket_ = -1;
};

// The template of a model's folder, from chat_template.jinja or tokenizer_config.json, or of `file`
// if that is not "". Null: there is none, or the model's own does not work; `why_not` says it.
std::unique_ptr<ChatTemplate> find_chat_template(const std::filesystem::path &model,
                                                 const std::filesystem::path &file,
                                                 std::string *why_not);

}  // namespace server

#endif  // SERVER_CHAT_TEMPLATE_H
