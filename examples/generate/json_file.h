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

// `text` in double quotes on one line, as JSON escapes it: for names from files in messages.
std::string in_quotes(std::string_view text);

}  // namespace generate

#endif  // GENERATE_JSON_FILE_H
