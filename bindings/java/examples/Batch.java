import io.github.libsampler.AcceptArgs;
import io.github.libsampler.AppendArgs;
import io.github.libsampler.Array;
import io.github.libsampler.Params;
import io.github.libsampler.Pipeline;
import io.github.libsampler.Randomness;
import io.github.libsampler.ResetArgs;
import io.github.libsampler.RowStatus;
import io.github.libsampler.Rows;
import io.github.libsampler.SampleArgs;
import io.github.libsampler.Sampler;
import io.github.libsampler.State;
import io.github.libsampler.StateOptions;
import io.github.libsampler.TokenKind;
import io.github.libsampler.TokenLists;

/**
 * Requests in a batch, each in a slot of a state. A step draws a token for each, with penalties for
 * what its slot holds, and the state accepts what was drawn. A request ends with the end token,
 * where its slot is full or where its row is bad; the others go on, and the next request gets its
 * slot.
 */
final class Batch {
  private static final int NUM_SLOTS = 2;
  private static final int MAX_TOKENS = 8; // of a text, its prompt included
  private static final int VOCABULARY = 16;
  private static final int END_TOKEN = 0;
  private static final int FREE = -1;

  private final Sampler sampler;
  private final State state;

  // By slot.
  private final int[] requests = {FREE, FREE};
  private final int[] lastTokens = new int[NUM_SLOTS];
  private final long[] seeds = new long[NUM_SLOTS];
  private final long[] positions = new long[NUM_SLOTS];

  // By row: a row for each slot that is not free.
  private final float[] logits = new float[NUM_SLOTS * VOCABULARY];
  private final int[] slots = new int[NUM_SLOTS];
  private final int[] tokens = new int[NUM_SLOTS];
  private final int[] drawn = new int[NUM_SLOTS];
  private final int[] accepted = new int[NUM_SLOTS];

  private final Rows rows = new Rows(logits, 0, VOCABULARY);
  private final SampleArgs draw;
  private final AcceptArgs accept;

  private Batch(Sampler sampler, State state) {
    this.sampler = sampler;
    this.state = state;
    draw = new SampleArgs()
        .input(rows)
        .slots(Array.i32(slots)).numSlots(NUM_SLOTS)
        .params(new Params().topP(0.95f).repetitionPenalty(1.2f).frequencyPenalty(0.3f))
        .pipeline(new Pipeline().state(state)) // the texts that penalties read
        .random(new Randomness().seeds(Array.i64(seeds)).offsets(Array.i64(positions)))
        .outTokenIds(Array.i32(tokens))
        .outRowStatus(Array.i32(drawn));
    accept = new AcceptArgs()
        .slots(Array.i32(slots))
        .tokenIds(Array.i32(tokens))
        .offsets(Array.i64(positions)) // which grow by a slot's new tokens
        .outRowStatus(Array.i32(accepted));
  }

  /** Stands for a model: the logits after a token. After token 13 it fails. */
  private void runModel(int lastToken, int row) {
    for (int id = 0; id < VOCABULARY; ++id) {
      final int distance = Math.floorMod(id - lastToken, VOCABULARY);
      logits[row * VOCABULARY + id] = lastToken == 13 ? Float.NaN : 4 - distance;
    }
  }

  private void start(int slot, int request, int[] prompt) {
    final Array one = Array.i32(new int[] {slot});
    final int[] status = new int[1];
    state.reset(new ResetArgs().slots(one));
    state.append(new AppendArgs().slots(one).tokens(TokenLists.of(prompt))
        .tokenKind(TokenKind.PROMPT).outRowStatus(Array.i32(status)));
    if (status[0] != RowStatus.OK) {
      System.out.println("request " + request + " is refused, status " + status[0]);
      return;
    }
    requests[slot] = request;
    lastTokens[slot] = prompt[prompt.length - 1];
    seeds[slot] = request;
    positions[slot] = 0;
  }

  /** Returns how many requests were running. */
  private int step() {
    int numRows = 0;
    for (int slot = 0; slot < NUM_SLOTS; ++slot) {
      if (requests[slot] != FREE) {
        runModel(lastTokens[slot], numRows);
        slots[numRows++] = slot;
      }
    }
    rows.numRows(numRows);
    sampler.sample(draw);
    state.accept(accept.numRows(numRows)); // a bad row's token is -1, which changes nothing
    for (int row = 0; row < numRows; ++row) {
      final int slot = slots[row];
      final int status = drawn[row] | accepted[row];
      if (status == RowStatus.OK) {
        System.out.println("request " + requests[slot] + ": token " + tokens[row]);
        lastTokens[slot] = tokens[row];
      } else {
        System.out.println("request " + requests[slot] + ": status " + status);
      }
      if (status != RowStatus.OK || tokens[row] == END_TOKEN) {
        requests[slot] = FREE;
      }
    }
    return numRows;
  }

  public static void main(String[] arguments) {
    int[][] prompts = {{3, 4, 5}, {10, 11}, {1, 2, 3, 4, 5, 6, 7, 8, 9}, {14, 15}};
    try (Sampler sampler = Sampler.builder().maxRows(NUM_SLOTS).maxCols(VOCABULARY).build();
        State state = sampler.newState(
            new StateOptions().numSlots(NUM_SLOTS).maxTokens(MAX_TOKENS))) {
      Batch batch = new Batch(sampler, state);
      int numStarted = 0;
      do {
        for (int slot = 0; slot < NUM_SLOTS && numStarted < prompts.length; ++slot) {
          if (batch.requests[slot] == FREE) {
            batch.start(slot, numStarted, prompts[numStarted]);
            ++numStarted;
          }
        }
      } while (batch.step() > 0 || numStarted < prompts.length);
    }
  }
}

// Prints:
//   request 0: token 7
//   request 1: token 13
//   request 0: token 7
//   request 1: status 1
//   request 2 is refused, status 256
//   request 0: token 7
//   request 0: token 8
//   request 3: token 0
//   request 0: token 9
//   request 0: status 256
