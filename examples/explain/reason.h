#ifndef EXPLAIN_REASON_H
#define EXPLAIN_REASON_H

#include <string>

#include "explanation.h"

namespace explain {

// Why a row has no token: the status by name, what it means, and where it is known the logit,
// number or list that it is about. "" of a good row.
std::string reason_of(sampler_row_status status, const Question &question);

}  // namespace explain

#endif  // EXPLAIN_REASON_H
