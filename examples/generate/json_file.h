#ifndef GENERATE_JSON_FILE_H
#define GENERATE_JSON_FILE_H

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace generate {

// The whole file. Throws Error when it cannot be read.
std::string read_file(const std::filesystem::path &path);

// Parses text that must be one JSON object whose keys are unique; `where` begins the messages.
nlohmann::json parse_json_object(std::string_view text, const std::string &where);

nlohmann::json read_json_object(const std::filesystem::path &path);

// An argument that is a JSON object, or "@FILE", a file that has one. Messages about a text begin
// with `name`.
nlohmann::json read_json_argument(const std::string &argument, const std::string &name);

// `text` in double quotes on one line, as JSON escapes it: for names from files in messages.
std::string in_quotes(std::string_view text);

// The same with the characters beyond ASCII as they are: for texts on a terminal.
std::string in_readable_quotes(std::string_view text);

}  // namespace generate

#endif  // GENERATE_JSON_FILE_H
