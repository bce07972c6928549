#include <algorithm>
#include <cmath>
#include <iterator>
#include <ostream>

#include "line.h"
#include "picture.h"

namespace explain {

namespace {

constexpr int kBarWidth = 24;

// A share as blocks, in eighths of them, and spaces to kBarWidth.
std::string bar(double share) {
  constexpr const char *kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = int(std::lround(std::clamp(share, 0.0, 1.0) * kBarWidth * 8));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kParts[eighths % 8];
  return text + std::string(std::size_t(kBarWidth - (eighths + 7) / 8), ' ');
}

// What became of a token, kBarWidth wide.
std::string fate_of(const Token &token) {
  if (token.removed_by == kKept) return bar(token.drawn_from);
  std::string text = token.removed_by == kWithoutProbability
                         ? "without probability"
                         : std::string("removed by ") + sampler_stage_name(token.removed_by);
  text.resize(std::max(text.size(), std::size_t(kBarWidth)), ' ');
  return text;
}

void print_stages(const Explanation &explanation, std::ostream &out) {
  line(out, "%-16s %9s %9s %9s %12s  %s", "stage", "changed", "removed", "left", "probability",
       "set");
  for (const Stage &stage : explanation.stages) {
    line(out, "%-16s %9lld %9lld %9lld %12.6f  %s", sampler_stage_name(stage.stage),
         static_cast<long long>(stage.num_changed), static_cast<long long>(stage.num_removed),
         static_cast<long long>(stage.num_left), stage.removed, stage.numbers.c_str());
  }
}

void print_drawn(const Explanation &explanation, const TokenText &text, std::ostream &out) {
  const auto drawn =
      std::find_if(explanation.tokens.begin(), explanation.tokens.end(),
                   [&](const Token &token) { return token.id == explanation.drawn_id; });
  if (explanation.status != SAMPLER_ROW_OK || drawn == explanation.tokens.end()) {
    line(out, "\nno token: %s", explanation.reason.c_str());
    return;
  }
  const std::string token = text(drawn->id);
  const std::string place =
      explanation.is_forced && explanation.drawn_rank == 0
          ? "none of the " + std::to_string(explanation.num_kept) + " that were kept"
          : "number " + std::to_string(explanation.drawn_rank) + " of " +
                std::to_string(explanation.num_kept) + " that were kept";
  line(out, "\n%s: %d%s%s, %s, probability %.6f (%.6f as given)",
       explanation.is_forced ? "forced" : "drawn", int(drawn->id), token.empty() ? "" : " ",
       token.c_str(), place.c_str(), drawn->drawn_from, drawn->given);
  line(out, "entropy: %.4f nats as given, %.4f of what was drawn from", explanation.entropy_given,
       explanation.entropy_drawn_from);
}

// How the adaptive values have moved.
void print_values(const Explanation &explanation, std::ostream &out) {
  const Values &before = explanation.values, &after = explanation.values_after;
  if (!std::isnan(before.mu)) {
    line(out, "mu: %.4f, then %.4f, by a surprise of %.4f bits", double(before.mu),
         double(after.mu), double(explanation.observation));
  }
  if (!std::isnan(before.total_weight)) {
    line(out,
         "weighted sum: %.4f, then %.4f, and total weight: %.4f, then %.4f, by a probability of "
         "%.6f",
         double(before.weighted_sum), double(after.weighted_sum), double(before.total_weight),
         double(after.total_weight), double(explanation.observation));
  }
  if (!std::isnan(before.top_p)) {
    line(out, "running top_p: %.6f, then %.6f", double(before.top_p), double(after.top_p));
  }
}

void print_tokens(const Explanation &explanation, std::size_t num_tokens, const TokenText &text,
                  std::ostream &out) {
  const bool shows_before = explanation.is_reweighed;
  line(out, "\n%6s %7s %9s %9s %9s%s %10s", "rank", "id", "logit", "edited", "given",
       shows_before ? "    before" : "", "drawn from");
  const std::size_t count = std::min(explanation.tokens.size(), num_tokens);
  for (std::size_t i = 0; i < count; ++i) {
    const Token &token = explanation.tokens[i];
    std::string end = fate_of(token) + " " + text(token.id);
    if (token.id == explanation.drawn_id) end += explanation.is_forced ? " <- forced" : " <- drawn";
    end.erase(end.find_last_not_of(' ') + 1);
    char before[32] = "";
    if (shows_before) std::snprintf(before, sizeof before, " %9.6f", token.before);
    line(out, "%6zu %7d %9.4f %9.4f %9.6f%s %10.6f  %s", i + 1, int(token.id), double(token.logit),
         double(token.edited), token.given, before, token.drawn_from, end.c_str());
  }
}

}  // namespace

void print(const Explanation &explanation, std::size_t num_tokens, const TokenText &text,
           std::ostream &out) {
  print_stages(explanation, out);
  print_drawn(explanation, text, out);
  print_values(explanation, out);
  print_tokens(explanation, num_tokens, text, out);
}

}  // namespace explain
