#include "regex_automaton.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "completion.h"

namespace server {

namespace {

using Bytes = RegexAutomaton::Bytes;
using Places = RegexAutomaton::Places;

[[noreturn]] void fail(const std::string &message) {
  throw HttpError(400, "regex " + message, "regex");
}

template <typename Predicate>
Bytes bytes_that(Predicate predicate) {
  Bytes bytes;
  for (int byte = 0; byte < 256; ++byte) bytes[static_cast<std::size_t>(byte)] = predicate(byte);
  return bytes;
}

bool is_digit(int byte) {
  return byte >= '0' && byte <= '9';
}

// In the C locale, which the program keeps.
bool is_word(int byte) {
  return std::isalnum(byte) != 0 || byte == '_';
}

bool is_space(int byte) {
  return std::isspace(byte) != 0;
}

constexpr std::size_t kUnbounded = static_cast<std::size_t>(-1);
constexpr int kMaxDepth = 100;    // of groups in groups
constexpr int kMaxAtoms = 10000;  // that are read, each repetition counted

}  // namespace

// Reads an expression and builds the automaton's sets on the way.
class RegexAutomaton::Parser {
 public:
  Parser(std::string_view pattern, RegexAutomaton *automaton)
      : pattern_(pattern), automaton_(*automaton) {}

  // The whole of it: alternatives, each between an optional ^ and $.
  void parse() {
    Part whole = parse_anchored();
    while (skip("|")) whole = either(whole, parse_anchored());
    if (!at_end()) fail_here("has a ) without its (");
    automaton_.first_ = whole.first;
    automaton_.last_ = whole.last;
    automaton_.matches_empty_ = whole.matches_empty;
  }

 private:
  // What a part of the expression begins and ends with.
  struct Part {
    Places first, last;
    bool matches_empty = true;
  };

  bool at_end() const { return place_ == pattern_.size(); }
  bool is_at(std::string_view text) const { return pattern_.substr(place_, text.size()) == text; }

  bool skip(std::string_view text) {
    if (!is_at(text)) return false;
    place_ += text.size();
    return true;
  }

  char next() {
    if (at_end()) fail_here("ends too early");
    return pattern_[place_++];
  }

  [[noreturn]] void fail_here(const std::string &message) const {
    fail(message + ", at byte " + std::to_string(place_));
  }

  Part parse_anchored() {
    skip("^");
    const Part part = parse_sequence();
    skip("$");
    if (!at_end() && !is_at("|") && !is_at(")")) fail_here("goes on after $");
    return part;
  }

  Part parse_alternatives() {
    Part part = parse_sequence();
    while (skip("|")) part = either(part, parse_sequence());
    return part;
  }

  Part parse_sequence() {
    Part part;
    while (!at_end() && !is_at("|") && !is_at(")") && !is_at("$")) {
      part = in_turn(part, parse_repeated());
    }
    return part;
  }

  // An atom, as often as what follows it says. It is read again for each repetition, which has
  // places of its own.
  Part parse_repeated() {
    const std::size_t begin = place_;
    Part atom = parse_atom();
    std::size_t least = 1, most = 1, least_of_next, most_of_next;
    if (!parse_count(&least, &most)) return atom;
    if (is_at("*") || is_at("+") || is_at("?") || parse_braces(&least_of_next, &most_of_next)) {
      fail_here("repeats a repetition");
    }
    const std::size_t after = place_;
    if (most == 0) return Part();
    // x{2,} is xx+, x{2,4} is xx(x(x)?)?: the first ones must be there, each further one follows
    // the one before it.
    std::vector<Part> copies = {atom};
    const std::size_t num_copies = most == kUnbounded ? std::max<std::size_t>(least, 1) : most;
    while (copies.size() < num_copies) {
      place_ = begin;
      copies.push_back(parse_atom());
    }
    place_ = after;
    Part part;
    if (most == kUnbounded) repeat(&copies.back());
    for (std::size_t i = copies.size(); i-- > 0;) {
      part = in_turn(copies[i], part);
      if (i >= least) part.matches_empty = true;
    }
    return part;
  }

  // False: there is none.
  bool parse_count(std::size_t *least, std::size_t *most) {
    if (skip("*")) {
      *least = 0, *most = kUnbounded;
    } else if (skip("+")) {
      *least = 1, *most = kUnbounded;
    } else if (skip("?")) {
      *least = 0, *most = 1;
    } else if (!parse_braces(least, most)) {
      return false;
    }
    skip("?");  // which match is taken first makes no difference to what matches
    return true;
  }

  // {2}, {2,} or {2,4}. Anything else is a { that stands for itself.
  bool parse_braces(std::size_t *least, std::size_t *most) {
    const std::size_t begin = place_;
    std::optional<std::size_t> low, high;
    if (skip("{") && (low = parse_number())) {
      high = low;
      if (skip(",")) high = is_at("}") ? kUnbounded : parse_number();
      if (high && skip("}")) {
        if (*low > *high) fail_here("has a count whose ends are the wrong way round");
        *least = *low, *most = *high;
        return true;
      }
    }
    place_ = begin;
    return false;
  }

  std::optional<std::size_t> parse_number() {
    const std::size_t begin = place_;
    std::size_t number = 0;
    while (!at_end() && is_digit(pattern_[place_])) {
      number = std::min<std::size_t>(number * 10 + static_cast<std::size_t>(next() - '0'), 100000);
    }
    if (place_ == begin) return std::nullopt;
    return number;
  }

  Part parse_atom() {
    // Groups without a place are read again as often as their counts say.
    if (++num_atoms_ > kMaxAtoms) fail("repeats groups too often");
    const char byte = next();
    switch (byte) {
      case '(':
        return parse_group();
      case '[':
        return take_one_of(parse_class());
      case '.':
        return take_one_of(~bytes_of('\n'));
      case '\\':
        return take_one_of(parse_escape());
      case '*':
      case '+':
      case '?':
        fail_here("repeats nothing");
      case '^':
        fail_here("has a ^ that is not at its beginning");
      default:
        return take_one_of(bytes_of(byte));
    }
  }

  Part parse_group() {
    if (++depth_ > kMaxDepth) fail_here("has too many groups in groups");
    if (is_at("?") && !is_at("?:")) fail_here("has a (? that is not supported");
    if (is_at("*")) fail_here("has (*, which is not supported");
    skip("?:");
    const Part part = parse_alternatives();
    if (is_at("$")) fail_here("has a $ in a group");
    if (!skip(")")) fail_here("has a ( without its )");
    --depth_;
    return part;
  }

  // What follows a backslash, in a class or not.
  Bytes parse_escape() {
    const char byte = next();
    switch (byte) {
      case 'd':
        return bytes_that(is_digit);
      case 'D':
        return ~bytes_that(is_digit);
      case 'w':
        return bytes_that(is_word);
      case 'W':
        return ~bytes_that(is_word);
      case 's':
        return bytes_that(is_space);
      case 'S':
        return ~bytes_that(is_space);
      case 'n':
        return bytes_of('\n');
      case 'r':
        return bytes_of('\r');
      case 't':
        return bytes_of('\t');
      case 'f':
        return bytes_of('\f');
      case 'x':
        return bytes_of(parse_hexadecimal());
      default:
        if (is_word(static_cast<unsigned char>(byte))) {
          fail_here(std::string("has \\") + byte + ", which is not supported");
        }
        return bytes_of(byte);
    }
  }

  char parse_hexadecimal() {
    int value = 0;
    for (int i = 0; i < 2; ++i) {
      const char digit = next();
      const std::size_t found =
          std::string_view("0123456789abcdef")
              .find(static_cast<char>(std::tolower(static_cast<unsigned char>(digit))));
      if (found == std::string_view::npos) fail_here("has \\x without two digits");
      value = value * 16 + static_cast<int>(found);
    }
    return static_cast<char>(value);
  }

  // What follows a [, to its ].
  Bytes parse_class() {
    const bool is_negated = skip("^");
    Bytes bytes;
    // A ] that comes first stands for itself.
    for (bool is_first = true; is_first || !is_at("]"); is_first = false) {
      const Bytes low = parse_class_member();
      const bool is_range =
          is_at("-") && place_ + 1 < pattern_.size() && pattern_[place_ + 1] != ']';
      if (!is_range) {
        bytes |= low;
        continue;
      }
      skip("-");
      const Bytes high = parse_class_member();
      if (low.count() != 1 || high.count() != 1)
        fail_here("has a range that does not end in a byte");
      const std::size_t begin = number_of(low), end = number_of(high);
      if (begin > end) fail_here("has a range whose ends are the wrong way round");
      for (std::size_t byte = begin; byte <= end; ++byte) bytes.set(byte);
    }
    skip("]");
    return is_negated ? ~bytes : bytes;
  }

  Bytes parse_class_member() {
    if (skip("[:")) return parse_named_class();
    if (is_at("[.") || is_at("[=")) fail_here("has a collating element, which is not supported");
    const char byte = next();
    return byte == '\\' ? parse_escape() : bytes_of(byte);
  }

  Bytes parse_named_class() {
    static const std::pair<std::string_view, int (*)(int)> kClasses[] = {
        {"alnum:]", std::isalnum}, {"alpha:]", std::isalpha},  {"digit:]", std::isdigit},
        {"lower:]", std::islower}, {"punct:]", std::ispunct},  {"space:]", std::isspace},
        {"upper:]", std::isupper}, {"xdigit:]", std::isxdigit}};
    for (const auto &[name, is_in_class] : kClasses) {
      if (skip(name))
        return bytes_that([is_in = is_in_class](int byte) { return is_in(byte) != 0; });
    }
    fail_here("has a class [: that is not supported");
  }

  static Bytes bytes_of(char byte) { return Bytes().set(static_cast<unsigned char>(byte)); }

  static std::size_t number_of(const Bytes &one) {
    return static_cast<std::size_t>(one._Find_first());
  }

  // A new place.
  Part take_one_of(const Bytes &bytes) {
    const std::size_t place = automaton_.followers_.size();
    if (place == kMaxPlaces) {
      fail("needs more than " + std::to_string(kMaxPlaces) +
           " places for bytes, each repetition counted");
    }
    automaton_.followers_.emplace_back();
    for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
      if (bytes[byte]) automaton_.takers_[byte].set(place);
    }
    Part part;
    part.first.set(place);
    part.last.set(place);
    part.matches_empty = false;
    return part;
  }

  static Part either(const Part &left, const Part &right) {
    return {left.first | right.first, left.last | right.last,
            left.matches_empty || right.matches_empty};
  }

  Part in_turn(const Part &left, const Part &right) {
    connect(left.last, right.first);
    return {left.matches_empty ? left.first | right.first : left.first,
            right.matches_empty ? left.last | right.last : right.last,
            left.matches_empty && right.matches_empty};
  }

  void repeat(Part *part) { connect(part->last, part->first); }

  void connect(const Places &from, const Places &to) {
    for (std::size_t place = 0; place < automaton_.followers_.size(); ++place) {
      if (from[place]) automaton_.followers_[place] |= to;
    }
  }

  const std::string_view pattern_;
  RegexAutomaton &automaton_;
  std::size_t place_ = 0;
  int depth_ = 0;
  int num_atoms_ = 0;
};

RegexAutomaton::RegexAutomaton(const std::string &pattern) {
  if (pattern.size() > kMaxPattern) {
    fail("is longer than " + std::to_string(kMaxPattern) + " bytes");
  }
  const auto is_ascii = [](char byte) { return static_cast<unsigned char>(byte) < 0x80; };
  if (!std::all_of(pattern.begin(), pattern.end(), is_ascii)) fail("must be ASCII");
  Parser(pattern, this).parse();
  remove_dead_ends();
  if (!matches_empty_ && first_.none()) fail("matches no text");
}

// Places from which no match is reached, as those of [^\x00-\xff].
void RegexAutomaton::remove_dead_ends() {
  Places takers;
  for (const Places &places : takers_) takers |= places;
  Places alive = last_ & takers;
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (std::size_t place = 0; place < followers_.size(); ++place) {
      if (alive[place] || !takers[place] || (followers_[place] & alive).none()) continue;
      alive.set(place);
      has_grown = true;
    }
  }
  first_ &= alive;
  for (Places &followers : followers_) followers &= alive;
}

RegexAutomaton::Places RegexAutomaton::follow(const Places &places) const {
  Places next;
  for (std::size_t place = places._Find_first(); place < kMaxPlaces;
       place = places._Find_next(place)) {
    next |= followers_[place];
  }
  return next;
}

}  // namespace server
