// In place of mpi_ranks.cpp where there is no MPI.
#include "error.h"
#include "ranks.h"

namespace generate {

std::unique_ptr<Ranks> start_ranks(int) {
  throw Error("--ranks needs MPI, which was not there when the program was built");
}

}  // namespace generate
