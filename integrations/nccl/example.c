/* A vocabulary over GPUs: each rank, a process with a GPU of its own, has its columns of a batch's
 * logits, and all end with the tokens of the whole rows. Any number of ranks prints the same. MPI
 * only starts the ranks and carries NCCL's id.
 *
 *   mpicc -o nccl_example integrations/nccl/example.c -Iintegrations/nccl \
 *     $(pkg-config --cflags --libs sampler) -I$CUDA/include -L$CUDA/lib64 -lcudart -lnccl
 *   mpirun -np 2 ./nccl_example */
#include <cuda_runtime_api.h>
#include <mpi.h>
#include <sampler/sampler.h>
#include <sampler_nccl.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 4, VOCABULARY = 1000, STEPS = 3 };

/* Stands for the model: the logits of columns [first, first + count) of each row. */
static void run_model(int step, int64_t first, int64_t count, float *logits) {
  int64_t row, col;
  for (row = 0; row < ROWS; ++row) {
    for (col = 0; col < count; ++col) {
      const uint32_t mixed = (uint32_t)(first + col + 1) * 2654435761u + (uint32_t)row * 40503u +
                             (uint32_t)step * 69069u;
      logits[row * count + col] = (float)(mixed >> 16) / 8192.0f;
    }
  }
}

/* Ends all ranks, or the others would wait for this one. */
static void check(int is_right, const char *what, const char *error) {
  if (is_right) return;
  fprintf(stderr, "%s: %s\n", what, error);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void check_cuda(cudaError_t error, const char *what) {
  check(error == cudaSuccess, what, cudaGetErrorString(error));
}

static void check_nccl(ncclResult_t result, const char *what) {
  check(result == ncclSuccess, what, ncclGetErrorString(result));
}

static void *allocate(size_t bytes) {
  void *memory = NULL;
  check_cuda(cudaMalloc(&memory, bytes ? bytes : 1), "cudaMalloc");
  return memory;
}

int main(int argc, char **argv) {
  cudaStream_t stream = NULL; /* the engine's */
  ncclUniqueId id;
  ncclComm_t communicator;
  sampler_options options = sampler_options_default();
  sampler_t sampler;
  sampler_params params = sampler_params_default();
  sampler_sample_args args = {0};
  sampler_shard_args shard = {0};
  sampler_shard_plan_info plan = {0};
  int32_t tokens[ROWS];
  sampler_row_status row_status[ROWS];
  uint64_t digest, least, greatest;
  const char *error = "";
  float *host_logits, *logits;
  void *memory;
  size_t memory_bytes, logit_bytes;
  int64_t first, count;
  int rank, num_ranks, num_devices = 0, step, row;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  check_cuda(cudaGetDeviceCount(&num_devices), "cudaGetDeviceCount");
  check_cuda(cudaSetDevice(rank % num_devices), "cudaSetDevice");
  if (rank == 0) check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  MPI_Bcast(&id, (int)sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  check_nccl(ncclCommInitRank(&communicator, num_ranks, id, rank), "ncclCommInitRank");

  options.device_type = SAMPLER_DEVICE_CUDA;
  options.device_id = rank % num_devices;
  check(sampler_create(&options, &sampler) == SAMPLER_OK, "sampler_create", sampler_last_error());

  /* Ranges may differ in length, and follow one another. */
  first = (int64_t)VOCABULARY * rank / num_ranks;
  count = (int64_t)VOCABULARY * (rank + 1) / num_ranks - first;
  logit_bytes = sizeof(float) * (size_t)(ROWS * count);
  host_logits = (float *)malloc(logit_bytes ? logit_bytes : 1);
  check(host_logits != NULL, "malloc", "no memory");
  logits = (float *)allocate(logit_bytes);

  params.temperature = 0.8f;
  params.top_k = 50;
  params.top_p = 0.95f;
  args.struct_size = sizeof args;
  args.exec.stream = stream;
  args.input.values = logits;
  args.input.num_rows = ROWS;
  args.input.num_cols = count;
  args.params = &params;
  args.random.seed = 1;                         /* the same on every rank */
  args.out_token_ids = allocate(sizeof tokens); /* ids of the whole vocabulary, on every rank */
  args.out_row_status = (sampler_row_status *)allocate(sizeof row_status);
  shard.struct_size = sizeof shard;
  shard.sample = &args;
  shard.first_token_id = first;
  shard.total_cols = VOCABULARY;
  shard.rank = rank;
  shard.num_ranks = num_ranks;

  /* One plan, one workspace and one memory of messages for all steps. */
  plan.struct_size = sizeof plan;
  check(sampler_shard_plan(sampler, &shard, &plan) == SAMPLER_OK, "sampler_shard_plan",
        sampler_last_error());
  args.exec.workspace = allocate(plan.workspace_bytes);
  args.exec.workspace_bytes = plan.workspace_bytes;
  memory_bytes = sampler_nccl_memory_bytes(&plan, num_ranks);
  memory = allocate(memory_bytes);

  /* NCCL hangs where ranks send messages of different sizes. */
  digest = plan.digest;
  MPI_Allreduce(&digest, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&digest, &greatest, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  check(least == greatest, "sampler_shard_plan", "the ranks' arguments differ");

  for (step = 0; step < STEPS; ++step) {
    run_model(step, first, count, host_logits);
    check_cuda(cudaMemcpyAsync(logits, host_logits, logit_bytes, cudaMemcpyDefault, stream),
               "cudaMemcpyAsync");
    args.random.offset = (uint64_t)step;
    /* Enqueues rounds and collectives, and returns. */
    check(sampler_nccl_run(sampler, &shard, communicator, stream, NULL, memory, memory_bytes,
                           &error) == SAMPLER_OK,
          "sampler_nccl_run", error);
    check_cuda(
        cudaMemcpyAsync(tokens, args.out_token_ids, sizeof tokens, cudaMemcpyDefault, stream),
        "cudaMemcpyAsync");
    check_cuda(cudaMemcpyAsync(row_status, args.out_row_status, sizeof row_status,
                               cudaMemcpyDefault, stream),
               "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    for (row = 0; row < ROWS; ++row) { /* a bad row, such as one with a NaN, has a status */
      if (row_status[row]) fprintf(stderr, "row %d: status %#x\n", row, (unsigned)row_status[row]);
    }
    if (rank == 0) {
      printf("step %d: tokens %d %d %d %d\n", step, tokens[0], tokens[1], tokens[2], tokens[3]);
    }
  }

  sampler_destroy(sampler);
  ncclCommDestroy(communicator);
  cudaFree(memory);
  cudaFree(args.exec.workspace);
  cudaFree(args.out_row_status);
  cudaFree(args.out_token_ids);
  cudaFree(logits);
  free(host_logits);
  MPI_Finalize();
  return 0;
}
