#include "bpe_file.h"

#include <sstream>

#include "error.h"
#include "json_file.h"

namespace generate {

namespace {

using Json = nlohmann::json;

constexpr char kGpt2Words[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// A part of tokenizer.json, and how messages name it: "DIR/tokenizer.json: model".
class Part {
 public:
  Part(std::string place, const Json &json) : place_(std::move(place)), json_(json) {}

  const std::string &place() const { return place_; }
  const Json &json() const { return json_; }

  [[noreturn]] void fail(const std::string &what) const { throw Error(place_ + what); }

  // None: there is no such member, or it is null.
  std::optional<Part> find(const char *name) const {
    if (!json_.is_object()) fail(" is no object");
    const auto found = json_.find(name);
    if (found == json_.end() || found->is_null()) return std::nullopt;
    return Part(place_ + (place_.back() == ':' ? " " : ".") + name, *found);
  }

  Part get(const char *name) const {
    const std::optional<Part> part = find(name);
    if (!part) fail(std::string(place_.back() == ':' ? " " : ".") + name + " is missing");
    return *part;
  }

  const std::string &text() const {
    if (!json_.is_string()) fail(" is no string");
    return json_.get_ref<const std::string &>();
  }

  bool flag(const char *name, bool otherwise) const {
    const std::optional<Part> part = find(name);
    if (!part) return otherwise;
    if (!part->json_.is_boolean()) part->fail(" is neither true nor false");
    return part->json_.get<bool>();
  }

  std::vector<Part> items() const {
    if (!json_.is_array()) fail(" is no list");
    std::vector<Part> parts;
    for (std::size_t i = 0; i < json_.size(); ++i) {
      parts.emplace_back(place_ + "[" + std::to_string(i) + "]", json_[i]);
    }
    return parts;
  }

  [[noreturn]] void refuse() const { fail(" is " + json_.dump() + ", which is not supported"); }

  // Refuses a member that is there and is not `only`.
  void expect(const char *name, const Json &only) const {
    const std::optional<Part> part = find(name);
    if (part && part->json_ != only) part->refuse();
  }

 private:
  std::string place_;
  const Json &json_;
};

void read_model(const Part &model, BpeFile *file) {
  model.expect("type", "BPE");
  model.expect("dropout", 0.0);
  model.expect("continuing_subword_prefix", "");
  model.expect("end_of_word_suffix", "");
  model.expect("byte_fallback", false);
  file->takes_whole_words = model.flag("ignore_merges", false);
  const Part vocab = model.get("vocab"), merges = model.get("merges");
  if (!vocab.json().is_object()) vocab.fail(" is no object");
  file->vocab_place = vocab.place();
  file->vocab_name = "model.vocab";
  file->vocab = vocab.json();
  file->merges_place = merges.place() + ": number ";
  if (!merges.json().is_array()) merges.fail(" is no list");
  for (const Json &merge : merges.json()) {
    const int number = static_cast<int>(file->merges.size()) + 1;
    std::string left, right;
    if (merge.is_string()) {
      const auto &both = merge.get_ref<const std::string &>();
      const std::size_t space = both.find(' ');
      left = both.substr(0, space);
      if (space != std::string::npos) right = both.substr(space + 1);
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() &&
               merge[1].is_string()) {
      left = merge[0].get<std::string>();
      right = merge[1].get<std::string>();
    }
    if (left.empty() || right.empty()) {
      throw Error(file->merges_place + std::to_string(number) + ": two tokens are needed");
    }
    file->merges.push_back({number, left, right});
  }
}

// A pattern that is text stands for itself.
std::string quoted(const std::string &text) {
  std::string pattern;
  for (const char c : text) {
    const bool is_special = std::string_view("\\^$.[]|()?*+{}-#").find(c) != std::string_view::npos;
    pattern += is_special ? std::string("\\") + c : std::string(1, c);
  }
  return pattern;
}

// False: no bytes are made of the text's.
bool read_pre_tokenizer(const Part &part, bool is_alone, BpeFile *file) {
  const Part type = part.get("type");
  if (type.text() == "Sequence") {
    bool has_bytes = false;
    for (const Part &one : part.get("pretokenizers").items()) {
      if (has_bytes) one.get("type").refuse();  // it would split what stands for bytes
      has_bytes = read_pre_tokenizer(one, false, file);
    }
    return has_bytes;
  }
  if (type.text() == "ByteLevel") {
    file->adds_first_space = part.flag("add_prefix_space", true);
    if (file->adds_first_space && !is_alone) part.get("add_prefix_space").refuse();
    if (part.flag("use_regex", true)) file->patterns.emplace_back(kGpt2Words);
    return true;
  }
  if (type.text() == "Digits") {
    file->patterns.emplace_back(part.flag("individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)");
    return false;
  }
  if (type.text() != "Split") type.refuse();
  part.expect("behavior", "Isolated");
  part.expect("invert", false);
  const Part pattern = part.get("pattern");
  const std::optional<Part> regex = pattern.find("Regex");
  file->patterns.push_back(regex ? regex->text() : quoted(pattern.get("String").text()));
  if (file->patterns.back().empty()) pattern.refuse();
  return false;
}

// A token before the text may be asked for; nothing else is.
void read_post_processor(const Part &part, BpeFile *file) {
  const Part type = part.get("type");
  if (type.text() == "ByteLevel") return;
  if (type.text() == "Sequence") {
    for (const Part &one : part.get("processors").items()) read_post_processor(one, file);
    return;
  }
  if (type.text() != "TemplateProcessing") type.refuse();
  const Part single = part.get("single");
  const std::vector<Part> items = single.items();
  if (items.empty() || items.size() > 2 || !items.back().find("Sequence")) single.refuse();
  if (items.size() == 1) return;
  const std::optional<Part> token = items[0].find("SpecialToken");
  if (!token) single.refuse();
  file->begin = token->get("id").text();
}

void read_added_tokens(const Part &part, int vocab_size, BpeFile *file) {
  for (const Part &token : part.items()) {
    for (const char *flag : {"single_word", "lstrip", "rstrip"}) token.expect(flag, false);
    const Part name = token.get("content"), id = token.get("id");
    if (name.text().empty()) name.fail(" is empty");
    if (!id.json().is_number_unsigned() ||
        id.json().get<std::uint64_t>() >= static_cast<std::uint64_t>(vocab_size)) {
      id.fail(" is " + id.json().dump() + "; ids are integers in [0, " +
              std::to_string(vocab_size) + ")");
    }
    file->added.push_back({name.text(), id.json().get<std::int32_t>()});
  }
}

}  // namespace

BpeFile read_vocab_and_merges(const std::filesystem::path &directory) {
  BpeFile file;
  const std::filesystem::path merges = directory / "merges.txt";
  file.vocab_place = (directory / "vocab.json").string();
  file.vocab_name = "vocab.json";
  file.vocab = read_json_object(directory / "vocab.json");
  file.merges_place = merges.string() + ":";
  std::istringstream text(read_file(merges));
  std::string line;
  for (int number = 1; std::getline(text, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty() || (number == 1 && line.rfind("#version", 0) == 0)) continue;
    const std::size_t space = line.find(' ');
    if (space == 0 || space >= line.size() - 1 || space != line.rfind(' ')) {
      throw Error(file.merges_place + std::to_string(number) +
                  ": two tokens with a space between them are needed");
    }
    file.merges.push_back({number, line.substr(0, space), line.substr(space + 1)});
  }
  file.patterns = {kGpt2Words};
  const auto end = file.vocab.find(kEndOfText);
  if (end != file.vocab.end() && end->is_number_unsigned()) {
    file.added.push_back({kEndOfText, end->get<std::int32_t>()});
  }
  return file;
}

BpeFile read_tokenizer_json(const std::filesystem::path &path, int vocab_size) {
  const Json json = read_json_object(path);
  const Part all(path.string() + ":", json);
  BpeFile file;
  if (const auto normalizer = all.find("normalizer")) normalizer->get("type").refuse();
  const std::optional<Part> pre_tokenizer = all.find("pre_tokenizer");
  if (!pre_tokenizer || !read_pre_tokenizer(*pre_tokenizer, true, &file)) {
    all.fail(" pre_tokenizer is not ByteLevel, and no other is supported");
  }
  read_model(all.get("model"), &file);
  if (const auto decoder = all.find("decoder")) decoder->expect("type", "ByteLevel");
  if (const auto post = all.find("post_processor")) read_post_processor(*post, &file);
  if (const auto added = all.find("added_tokens")) read_added_tokens(*added, vocab_size, &file);
  return file;
}

}  // namespace generate
