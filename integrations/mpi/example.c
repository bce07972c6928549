/* A vocabulary over MPI ranks: each rank has its columns of a batch's logits, and all end with the
 * tokens of the whole rows. Any number of ranks prints the same.
 *
 *   mpicc -o mpi_example integrations/mpi/example.c -Iintegrations/mpi \
 *     $(pkg-config --cflags --libs sampler)
 *   mpirun -np 2 ./mpi_example */
#include <sampler/sampler.h>
#include <sampler_mpi.h>
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
static void check(sampler_status status, const char *what, const char *error) {
  if (status == SAMPLER_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, sampler_status_string(status), error);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void *allocate(size_t bytes) {
  void *const memory = malloc(bytes ? bytes : 1);
  if (!memory) check(SAMPLER_ERROR_OUT_OF_MEMORY, "malloc", "no memory");
  return memory;
}

int main(int argc, char **argv) {
  sampler_t sampler;
  sampler_params params = sampler_params_default();
  sampler_sample_args args = {0};
  sampler_shard_args shard = {0};
  sampler_shard_plan_info plan = {0};
  int32_t tokens[ROWS];
  sampler_row_status row_status[ROWS];
  const char *error = "";
  float *logits;
  void *memory;
  size_t memory_bytes;
  int64_t first, count;
  int rank, num_ranks, step, row;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
  check(sampler_create(NULL, &sampler), "sampler_create", sampler_last_error());

  /* Ranges may differ in length, and follow one another. */
  first = (int64_t)VOCABULARY * rank / num_ranks;
  count = (int64_t)VOCABULARY * (rank + 1) / num_ranks - first;
  logits = (float *)allocate(sizeof(float) * (size_t)(ROWS * count));

  params.temperature = 0.8f;
  params.top_k = 50;
  params.top_p = 0.95f;
  args.struct_size = sizeof args;
  args.input.values = logits;
  args.input.num_rows = ROWS;
  args.input.num_cols = count;
  args.params = &params;
  args.random.seed = 1;        /* the same on every rank */
  args.out_token_ids = tokens; /* ids of the whole vocabulary, on every rank */
  args.out_row_status = row_status;
  shard.struct_size = sizeof shard;
  shard.sample = &args;
  shard.first_token_id = first;
  shard.total_cols = VOCABULARY;

  /* One plan, one workspace and one memory of messages for all steps. */
  plan.struct_size = sizeof plan;
  check(sampler_mpi_plan(sampler, &shard, MPI_COMM_WORLD, &plan), "sampler_mpi_plan",
        sampler_last_error());
  args.exec.workspace = allocate(plan.workspace_bytes);
  args.exec.workspace_bytes = plan.workspace_bytes;
  memory_bytes = sampler_mpi_memory_bytes(&plan, num_ranks);
  memory = allocate(memory_bytes);

  for (step = 0; step < STEPS; ++step) {
    run_model(step, first, count, logits);
    args.random.offset = (uint64_t)step;
    check(sampler_mpi_run(sampler, &shard, MPI_COMM_WORLD, memory, memory_bytes, &error),
          "sampler_mpi_run", error);
    for (row = 0; row < ROWS; ++row) { /* a bad row, such as one with a NaN, has a status */
      if (row_status[row]) fprintf(stderr, "row %d: status %#x\n", row, (unsigned)row_status[row]);
    }
    if (rank == 0) {
      printf("step %d: tokens %d %d %d %d\n", step, tokens[0], tokens[1], tokens[2], tokens[3]);
    }
  }

  sampler_destroy(sampler);
  free(memory);
  free(args.exec.workspace);
  free(logits);
  MPI_Finalize();
  return 0;
}
