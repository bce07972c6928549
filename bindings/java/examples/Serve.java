import io.github.libsampler.AddArgs;
import io.github.libsampler.AdvanceArgs;
import io.github.libsampler.Advanced;
import io.github.libsampler.Array;
import io.github.libsampler.DraftSource;
import io.github.libsampler.FinishReason;
import io.github.libsampler.Params;
import io.github.libsampler.Plan;
import io.github.libsampler.Sampler;
import io.github.libsampler.Sequence;
import io.github.libsampler.Session;
import io.github.libsampler.SessionOptions;
import io.github.libsampler.Span;
import io.github.libsampler.TokenLists;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A server around a session: requests join while others run, long prompts are fed in parts, texts
 * end with a token, a stop sequence or a length, and what repeats is drafted from the text itself.
 */
final class Serve {
  private static final int MAX_SEQUENCES = 4;
  private static final int MAX_CONTEXT = 32;
  private static final int MAX_DRAFTS = 3;
  private static final int MAX_TOKENS = 5; // of a step
  private static final int VOCABULARY = 8;
  private static final int END_TOKEN = 0;

  /** The tokens of each sequence that the model has read, in place of its keys and values. */
  private final List<List<Integer>> caches = new ArrayList<>();

  private final Session session;

  private Serve(Session session) {
    this.session = session;
    for (int i = 0; i < MAX_SEQUENCES; ++i) {
      caches.add(new ArrayList<>());
    }
  }

  /** Stands for a model: writes the logits of what follows the cache. */
  private static void runModel(List<Integer> cache, float[] logits, int row) {
    final int next = (cache.get(cache.size() - 1) + 1) % VOCABULARY;
    for (int id = 0; id < VOCABULARY; ++id) {
      logits[row * VOCABULARY + id] = id == next ? 4 : id * 5 % 8 * 0.25f;
    }
  }

  /** Reads the tokens of spans. Returns the rows of logits that they want. */
  private float[] run(List<Span> spans) {
    final float[] logits =
        new float[spans.stream().mapToInt(Span::numLogits).sum() * VOCABULARY];
    int row = 0;
    for (Span span : spans) {
      final List<Integer> cache = caches.get(span.sequence());
      cache.subList((int) span.start(), cache.size()).clear(); // drafts that were not kept
      final int[] tokens = span.tokenIds();
      for (int i = 0; i < tokens.length; ++i) {
        cache.add(tokens[i]);
        if (i >= tokens.length - span.numLogits()) {
          runModel(cache, logits, row++);
        }
      }
    }
    return logits;
  }

  private void start(int[] prompt, float temperature, int seed) {
    int sequence = session.add(new AddArgs()
        .tokenIds(prompt)
        .params(new Params().temperature(temperature).topP(0.9f))
        .seed(seed)
        .maxNewTokens(10)
        .endTokenIds(new int[] {END_TOKEN})
        .stopSequences(TokenLists.of(new int[] {6, 7}, new int[] {3, 3, 3}))
        .draftSource(DraftSource.PROMPT_LOOKUP));
    System.out.println("sequence " + sequence + " starts with " + Arrays.toString(prompt));
  }

  /** Returns whether there was anything to run. */
  private boolean step() {
    Plan plan = session.plan(MAX_TOKENS);
    float[] logits = run(plan.spans()); // of each span numLogits rows
    List<Advanced> results = session.advance(
        new AdvanceArgs().spans(plan.spans()).logits(Array.f32(logits)));
    for (int i = 0; i < results.size(); ++i) {
      final Span span = plan.spans().get(i);
      final Advanced result = results.get(i);
      System.out.println("sequence " + span.sequence() + " ran " + Arrays.toString(span.tokenIds())
          + ", of which " + span.parents().length + " are drafts; new: "
          + Arrays.toString(result.tokenIds()));
      if (result.finishReason() != FinishReason.NONE) {
        end(span.sequence());
      }
    }
    return !plan.spans().isEmpty();
  }

  private void end(int number) {
    final Sequence sequence = session.get(number);
    System.out.println("sequence " + number + " ends, " + sequence.finishReason() + ": "
        + Arrays.toString(sequence.tokenIds()) + ", " + sequence.numAccepted() + " of "
        + sequence.numDrafted() + " drafts kept");
    session.remove(number);
    caches.get(number).clear();
  }

  public static void main(String[] arguments) {
    SessionOptions options = new SessionOptions().maxSequences(MAX_SEQUENCES)
        .maxContext(MAX_CONTEXT).vocabularySize(VOCABULARY)
        .maxDrafts(MAX_DRAFTS).lookupTokens(MAX_CONTEXT)
        .maxEndTokens(1).maxStopSequences(2).maxStopTokens(5);
    try (Sampler sampler = Sampler.builder().build();
        Session session = sampler.newSession(options)) {
      Serve server = new Serve(session);
      server.start(new int[] {1, 2, 3, 4, 5, 1}, 0, 1); // greedy
      server.step();
      server.start(new int[] {2, 3, 2}, 1.2f, 3);
      server.start(new int[] {5, 6, 7}, 0.8f, 4);
      while (server.step()) {
        // until every text has ended
      }
    }
  }
}

// Prints:
//   sequence 0 starts with [1, 2, 3, 4, 5, 1]
//   sequence 0 ran [1, 2, 3, 4, 5], of which 0 are drafts; new: []
//   sequence 1 starts with [2, 3, 2]
//   sequence 2 starts with [5, 6, 7]
//   sequence 0 ran [1], of which 0 are drafts; new: [2]
//   sequence 1 ran [2, 3, 2], of which 0 are drafts; new: [3]
//   sequence 2 ran [5], of which 0 are drafts; new: []
//   sequence 0 ran [2, 3, 4, 5], of which 3 are drafts; new: [3, 4, 5, 6]
//   sequence 2 ran [6], of which 0 are drafts; new: []
//   sequence 1 ran [3, 2, 3, 2], of which 3 are drafts; new: [4]
//   sequence 2 ran [7], of which 0 are drafts; new: [0]
//   sequence 2 ends, END_TOKEN: [5, 6, 7, 0], 0 of 0 drafts kept
//   sequence 0 ran [6], of which 0 are drafts; new: [7]
//   sequence 0 ends, STOP_SEQUENCE: [1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 6, 7], 3 of 3 drafts kept
//   sequence 1 ran [4], of which 0 are drafts; new: [5]
//   sequence 1 ran [5], of which 0 are drafts; new: [3]
//   sequence 1 ran [3, 4, 5, 3], of which 3 are drafts; new: [4, 3]
//   sequence 1 ran [3, 4, 3, 4], of which 3 are drafts; new: [4, 5]
//   sequence 1 ran [5, 3], of which 1 are drafts; new: [1]
//   sequence 1 ran [1], of which 0 are drafts; new: [2]
//   sequence 1 ends, LENGTH: [2, 3, 2, 3, 4, 5, 3, 4, 3, 4, 5, 1, 2], 2 of 10 drafts kept
