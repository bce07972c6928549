#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <ostream>
#include <set>
#include <tuple>

#include "line.h"
#include "picture.h"

namespace explain {

namespace {

constexpr double kWidth = 760, kHeight = 420, kLeft = 76, kTop = 44, kLegend = 260;
constexpr double kLowest = 1e-9;  // probability at the bottom

// By stage number; kept tokens have the first.
constexpr const char *kColours[] = {"#1b7837", "#762a83", "#b2182b", "#d6604d", "#f4a582",
                                    "#e08214", "#8c510a", "#2166ac", "#4393c3", "#01665e",
                                    "#35978f", "#80cdc1", "#66a61e", "#b8860b", "#a6761d",
                                    "#c51b7d", "#2d004b", "#9970ab", "#999999", "#fdb863"};
static_assert(std::size(kColours) == SAMPLER_STAGE_ADAPTIVE + 1, "a colour for each");

const char *colour_of(int removed_by) {
  return removed_by <= SAMPLER_STAGE_ADAPTIVE ? kColours[removed_by] : "#000000";
}

std::string name_of(int removed_by) {
  if (removed_by == kKept) return "kept";
  if (removed_by == kWithoutProbability) return "without probability";
  return std::string("removed by ") + sampler_stage_name(removed_by);
}

// Ranks and probabilities, both on logarithmic axes, to places.
struct Axes {
  double last_rank;

  double x(double rank) const {
    return kLeft + (kWidth - kLeft) * std::log(rank) / std::log(std::max(last_rank, 2.0));
  }
  double y(double probability) const {
    const double share = std::log10(std::max(probability, kLowest)) / std::log10(kLowest);
    return kTop + kHeight * share;
  }
};

void draw_axes(const Axes &axes, std::ostream &out) {
  for (int power = 0; power >= -9; power -= 3) {
    const double y = axes.y(std::pow(10.0, power));
    line(out, R"(<path d="M%g %.1fH%g" stroke="#ddd"/>)", kLeft, y, kWidth);
    line(out, R"(<text x="%g" y="%.1f" text-anchor="end">1e%d</text>)", kLeft - 6, y + 4, power);
  }
  for (int rank = 1; rank <= axes.last_rank; rank *= 10) {
    line(out, R"(<text x="%.1f" y="%g" text-anchor="middle">%d</text>)", axes.x(rank),
         kTop + kHeight + 18, rank);
  }
  line(out, R"(<text x="%g" y="%g" text-anchor="middle">rank, after the edits</text>)",
       (kLeft + kWidth) / 2, kTop + kHeight + 36);
  const double middle = kTop + kHeight / 2;
  line(
      out,
      R"svg(<text x="18" y="%g" text-anchor="middle" transform="rotate(-90 18 %g)">probability</text>)svg",
      middle, middle);
  line(out,
       R"(<text x="%g" y="24" font-weight="bold">The row's tokens, by what removed them</text>)",
       kLeft);
}

// Many tokens far down fall on the same place: one mark for all that are of a colour there.
void draw_tokens(const Explanation &explanation, const Axes &axes, std::ostream &out) {
  std::set<std::tuple<int, int, int>> marked;
  const bool has_before = explanation.is_reweighed;
  for (std::size_t i = 0; i < explanation.tokens.size(); ++i) {
    const Token &token = explanation.tokens[i];
    const double x = axes.x(double(i + 1)), y = axes.y(token.given);
    const bool is_drawn = token.id == explanation.drawn_id;
    if (!marked.emplace(int(x), int(y), token.removed_by).second && !is_drawn) continue;
    line(out, R"(<circle cx="%.1f" cy="%.1f" r="%d" fill="%s"%s/>)", x, y, is_drawn ? 6 : 3,
         colour_of(token.removed_by), is_drawn ? R"( stroke="#000")" : "");
    if (token.removed_by != kKept) continue;
    if (has_before) {
      line(out, R"(<rect x="%.1f" y="%.1f" width="6" height="6" fill="none" stroke="%s"/>)", x - 3,
           axes.y(token.before) - 3, colour_of(SAMPLER_STAGE_ADAPTIVE));
    }
    line(out, R"(<path d="M%.1f %.1fV%.1f" stroke="%s" stroke-opacity=".4"/>)", x, y,
         axes.y(token.drawn_from), colour_of(kKept));
  }
}

void draw_legend(const Explanation &explanation, std::ostream &out) {
  std::map<int, int> counts;
  for (const Token &token : explanation.tokens) ++counts[token.removed_by];
  double y = kTop + 12;
  for (const auto &[removed_by, count] : counts) {
    line(out, R"(<circle cx="%g" cy="%g" r="4" fill="%s"/>)", kWidth + 20, y - 4,
         colour_of(removed_by));
    line(out, R"(<text x="%g" y="%g">%s: %d</text>)", kWidth + 30, y, name_of(removed_by).c_str(),
         count);
    y += 18;
  }
  const bool has_before = explanation.is_reweighed;
  for (const char *note :
       {"dots: probability as given", "lines: to that in what was drawn from",
        "ringed: the token drawn", has_before ? "squares: before ADAPTIVE changed it" : ""}) {
    if (!*note) continue;
    line(out, R"(<text x="%g" y="%g">%s</text>)", kWidth + 14, y + 6, note);
    y += 18;
  }
}

}  // namespace

void plot(const Explanation &explanation, std::ostream &out) {
  const Axes axes = {double(explanation.tokens.size())};
  line(out, R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g")", kWidth + kLegend + 40,
       kTop + kHeight + 50);
  out << R"( font-family="sans-serif" font-size="12">)"
      << "\n";
  out << R"(<rect width="100%" height="100%" fill="#fff"/>)"
      << "\n";
  draw_axes(axes, out);
  draw_tokens(explanation, axes, out);
  draw_legend(explanation, out);
  out << "</svg>\n";
}

}  // namespace explain
