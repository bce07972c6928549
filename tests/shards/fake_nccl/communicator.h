// A communicator of the fakes of NCCL, and what they say of it however its ranks meet. For one file
// of a program.
#ifndef FAKE_NCCL_COMMUNICATOR_H
#define FAKE_NCCL_COMMUNICATOR_H

#include <nccl.h>

struct Group;  // where ranks of one process meet

struct fake_nccl_comm {
  int rank, num_ranks;
  Group *group;
};

extern "C" {

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank) {
  *rank = comm->rank;
  return ncclSuccess;
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count) {
  *count = comm->num_ranks;
  return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclSuccess ? "no error" : "internal error";
}

}  // extern "C"

#endif  // FAKE_NCCL_COMMUNICATOR_H
