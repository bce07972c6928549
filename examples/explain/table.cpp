#include <algorithm>
#include <cstdio>
#include <ostream>

#include "picture.h"

namespace explain {

namespace {

template <typename... Values>
void line(std::ostream &out, const char *format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  out << text << "\n";
}

// A share as blocks, in eighths of them.
std::string bar(double share) {
  constexpr int kWidth = 24;
  const int eighths = int(std::clamp(share, 0.0, 1.0) * kWidth * 8 + 0.5);
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  constexpr const char *kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  return text + kParts[eighths % 8];
}

void print_stages(const Explanation &explanation, std::ostream &out) {
  line(out, "%-16s %9s %9s %12s  %s", "stage", "removed", "left", "probability", "set");
  for (const Stage &stage : explanation.stages) {
    std::string set = stage.numbers;
    if (stage.num_changed > 0) {
      set += " (edits change " + std::to_string(stage.num_changed) + " logits in all)";
    }
    line(out, "%-16s %9lld %9lld %12.6f  %s", stage_name(stage.stage),
         static_cast<long long>(stage.num_removed), static_cast<long long>(stage.num_left),
         stage.removed, set.c_str());
  }
}

void print_drawn(const Explanation &explanation, const TokenText &text, std::ostream &out) {
  const auto drawn =
      std::find_if(explanation.tokens.begin(), explanation.tokens.end(),
                   [&](const Token &token) { return token.id == explanation.drawn_id; });
  if (explanation.status != SAMPLER_ROW_OK || drawn == explanation.tokens.end()) {
    line(out, "\nno token: the row's status is %u", unsigned(explanation.status));
    return;
  }
  line(
      out,
      "\ndrawn: %d %s, number %d of %d that were kept, probability %.6f (%.6f in the row as given)",
      int(drawn->id), text(drawn->id).c_str(), int(explanation.drawn_rank),
      int(explanation.num_kept), drawn->drawn_from, drawn->given);
  line(out, "entropy: %.4f nats as given, %.4f of what was drawn from", explanation.entropy_given,
       explanation.entropy_drawn_from);
}

void print_tokens(const Explanation &explanation, int num_tokens, const TokenText &text,
                  std::ostream &out) {
  line(out, "\n%4s %7s %9s %9s %9s %9s  %s", "rank", "id", "logit", "edited", "given", "drawn from",
       "");
  const std::size_t count = std::min(explanation.tokens.size(), std::size_t(num_tokens));
  for (std::size_t i = 0; i < count; ++i) {
    const Token &token = explanation.tokens[i];
    std::string what = token.removed_by == kKept ? bar(token.drawn_from) : "";
    if (token.removed_by == kWithoutProbability) what = "has no probability";
    if (what.empty() && token.removed_by != kKept) {
      what = std::string("removed by ") + stage_name(token.removed_by);
    }
    const char *const mark = token.id == explanation.drawn_id ? " <- drawn" : "";
    line(out, "%4zu %7d %9.4f %9.4f %9.6f %9.6f  %s %s%s", i + 1, int(token.id),
         double(token.logit), double(token.edited), token.given, token.drawn_from,
         text(token.id).c_str(), what.c_str(), mark);
  }
}

}  // namespace

void print(const Explanation &explanation, int num_tokens, const TokenText &text,
           std::ostream &out) {
  print_stages(explanation, out);
  print_drawn(explanation, text, out);
  print_tokens(explanation, num_tokens, text, out);
}

}  // namespace explain
