#ifndef GENERATE_ERROR_H
#define GENERATE_ERROR_H

#include <stdexcept>

namespace generate {

// What the program tells its user before it ends: one line that names the file or the argument.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace generate

#endif  // GENERATE_ERROR_H
