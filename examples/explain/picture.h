#ifndef EXPLAIN_PICTURE_H
#define EXPLAIN_PICTURE_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <string>

#include "explanation.h"

namespace explain {

// The text of a token, printable on one line; "" where none is known.
using TokenText = std::function<std::string(std::int32_t id)>;

// The stages, what was drawn, and the first `num_tokens` tokens with bars of their probabilities.
void print(const Explanation &explanation, std::size_t num_tokens, const TokenText &text,
           std::ostream &out);

// An SVG plot: each token's probability by its rank, in the colour of the stage that removed it.
void plot(const Explanation &explanation, std::ostream &out);

}  // namespace explain

#endif  // EXPLAIN_PICTURE_H
