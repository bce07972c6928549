#include "json_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "error.h"

namespace generate {

namespace {

using Json = nlohmann::json;

// Deeper than anything that the files of a model hold; a file that nests millions of levels must
// not fill the memory first.
constexpr int kMaxDepth = 32;

}  // namespace

std::string read_file(const std::filesystem::path &path) {
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw Error(path.string() + ": cannot be opened: " + std::strerror(errno));
  std::ostringstream text;
  if (stream.peek() != std::ifstream::traits_type::eof()) text << stream.rdbuf();
  if (stream.bad() || text.fail()) throw Error(path.string() + ": cannot be read");
  return std::move(text).str();
}

Json parse_json_object(std::string_view text, const std::string &where) {
  std::set<std::string> keys;
  const auto check = [&](int depth, Json::parse_event_t event, Json &parsed) {
    if (depth > kMaxDepth) {
      throw Error(where + ": nested deeper than " + std::to_string(kMaxDepth) + " levels");
    }
    if (depth == 1 && event == Json::parse_event_t::key) {
      const auto &key = parsed.get_ref<const std::string &>();
      if (!keys.insert(key).second)
        throw Error(where + ": key " + in_quotes(key) + " stands twice");
    }
    return true;
  };
  Json json;
  try {
    json = Json::parse(text, check);
  } catch (const Json::parse_error &error) {
    throw Error(where + ": not valid JSON at byte " + std::to_string(error.byte));
  } catch (const Json::exception &) {
    throw Error(where + ": not valid JSON: a number is out of range");
  }
  if (!json.is_object()) throw Error(where + ": not a JSON object");
  return json;
}

Json read_json_object(const std::filesystem::path &path) {
  return parse_json_object(read_file(path), path.string());
}

Json read_json_argument(const std::string &argument, const std::string &name) {
  if (argument.empty() || argument[0] != '@') return parse_json_object(argument, name);
  return read_json_object(argument.substr(1));
}

std::string in_quotes(std::string_view text) {
  return Json(text).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string in_readable_quotes(std::string_view text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace generate
