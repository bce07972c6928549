"""The deliberate faults: what each changes in the library, and the tests that must notice.

An edit is (file, text, replacement); the text must stand in the file exactly once. A test is
(program, googletest filter); each of a fault's tests must fail on its own.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    name: str
    meaning: str
    edits: list
    tests: list
    # Machines on which the edited lines are compiled; empty: all.
    machines: tuple = ()
    # Whether the edit cannot be chosen at run time: one of a declaration or a table.
    alone: bool = False
    # Whether the program may end by a signal before it sees a difference.
    ends_it: bool = False


def statistics(case):
    return ("statistics_test", case)


def streams(case):
    return ("statistics_streams_test", case)


def speculative(case):
    return ("statistics_speculative_test", "Speculative." + case)


def invariance(case):
    return ("invariance_test", case)


def shards(case):
    return ("shards_test", case)


def simd(case):
    return ("simd_test", "Seeds/" + case)


def row_pass(case):
    return ("simd_test", "Pass." + case)


def complexity(case):
    return ("complexity_test", case)


def unmask(case):
    return ("unmask_test", case)


def watermark(case):
    return ("watermark_test", case)


def decoding(case):
    return ("decoding_test", case)


def decoding_distribution(case):
    return ("decoding_distribution_test", case)


def plans(case):
    return ("plans_simt_test", case)


def library_on_device(case):
    return ("library_simt_test", case)


def results_on_device(device):
    return library_on_device("On/Results.OfLongRows/" + device)


def bins(case):
    return ("simt_bins_test", case)


def given_rows(case):
    return ("simt_given_rows_test", "Seeds/" + case)


def held_rows(case):
    return ("held_simt_test", "On/HeldRows." + case + "/clusters")


def streamed_rows(case):
    return ("stream_simt_test", "Seeds/Streams." + case + "/*")


def crowded_rows(case):
    return ("simt_crowded_rows_test", "CrowdedRows." + case)


def session(case):
    return ("session_test", case)


def session_on_device(case):
    return ("session_calls_simt_test", "SessionCalls." + case)


def verification(case):
    return ("verification_test", case)


def walk(case):
    return verification("Walk/Rule." + case)


def state(case):
    return ("state_test", case)


def stages(case):
    return ("pipeline_test", "Types/Stages." + case + "EqualThoseOfTheOracle/F32")


def reports(case):
    return ("pipeline_test", "Types/Reports." + case + "EqualThoseOfTheOracle/F32")


def stages_on_device(case):
    return ("stages_simt_test", "Types/Stages." + case + "EqualTheCpus/F16")


def streamed_reports(case="OfStreamedRows"):
    return ("stages_simt_test", "Types/Stages." + case + "EqualTheCpus/F32")


def verification_on_device(case):
    return ("verification_calls_simt_test", "Rules/Verification." + case)


def shards_on_device(case):
    return ("shards_calls_simt_test", case)


def presets(engine):
    return ("presets_test", engine + ".KeepsTheSame")


def front(case):
    return ("pipeline_test", "Types/Front." + case + "/F32")


def masks():
    return "pipeline_test", "Types/Masks.LeaveWhatTheOracleDoes/F32"


def row_kinds(case):
    return ("pipeline_test", f"Isas/RowKinds.{case}/avx2")


def gumbel_ties(case):
    return ("simt_gumbel_ties_test", "GumbelTies." + case)


def golden(case):
    return ("invariance_golden_test", "Cases/Golden.IsAsItWas/" + case)


FAULTS = [
    # ---- Drawing
    Fault(
        "running_sum_excludes_own_weight",
        "the running sum at a token lacks the token's own weight",
        [("src/cpu/draw.cpp",
          """    if (distribution.keeps(row.rank(i))) {
      sum += contract::weight(distribution.scale, row.values[i]);
    }
    sums[i] = sum;
""",
          """    sums[i] = sum;
    if (distribution.keeps(row.rank(i))) {
      sum += contract::weight(distribution.scale, row.values[i]);
    }
""")],
        [statistics("Distribution.TopK"), golden("sample_logits_f32")]),
    Fault(
        "token_behind_the_right_one",
        "the draw gives the element after the first whose running sum exceeds the target",
        [("src/cpu/draw.cpp",
          "    indices[i] = begin;",
          "    indices[i] = std::min<int64_t>(begin + 1, count_ - 1);")],
        [statistics("Distribution.Probabilities"), golden("sample_probabilities_f32")]),
    Fault(
        "running_sum_reached_not_exceeded",
        "the draw gives the first token whose running sum reaches the target",
        [("src/cpu/draw.cpp", "begin += sums[begin + half - 1] <= target",
          "begin += sums[begin + half - 1] < target")],
        [("inverse_cdf_test", "InverseCdf.EndsOfTheWords"),
         ("inverse_cdf_test", "InverseCdf.BorderBetweenTokens")]),
    Fault(
        "sums_over_dropped_tokens",
        "the running sum counts tokens that the filters dropped",
        [("src/cpu/draw.cpp", "    if (distribution.keeps(row.rank(i))) {\n      sum +=",
          "    {\n      sum +=")],
        [statistics("Distribution.TopP"), golden("top_k_logits_f32")]),
    Fault(
        "uniform_of_24_bits",
        "the word of the draw has 24 random bits only",
        [("src/contract/philox.h",
          "return block.word[0] | uint64_t(block.word[1]) << 32;",
          "return uint64_t(block.word[1] >> 8) << 40;")],
        [statistics("Inputs/Tail.OneInABillion/Logits")]),
    Fault(
        "gumbel_words_shared",
        "the four tokens of a block of words share its first word",
        [("src/cpu/draw.cpp", "block.word[id & 3]", "block.word[0]")],
        [statistics("Gumbel.TemperatureAndFilters"), golden("sample_logits_f32_gumbel")]),
    Fault(
        "gumbel_blocks_shared",
        "eight tokens share a block of four words",
        [("src/cpu/draw.cpp",
          "if (block_index != id >> 2) {\n      block_index = id >> 2;",
          "if (block_index != id >> 3) {\n      block_index = id >> 3;")],
        [statistics("Gumbel.Probabilities"), golden("sample_logits_f32_gumbel")]),
    # ---- Randomness
    Fault(
        "counter_words_swapped",
        "offset and stream change places in the counter",
        [("src/contract/philox.h", "{{uint32_t(random.offset),", "{{random.stream,"),
         ("src/contract/philox.h", ">> 32), random.stream,", ">> 32), uint32_t(random.offset),")],
        [golden("sample_logits_f32_one_seed"), ("oracle_test", "*")]),
    Fault(
        "offset_plus_stream",
        "the counter holds the sum of offset and stream, so that rows repeat each other's draws",
        [("src/contract/philox.h", "{{uint32_t(random.offset),", "{{uint32_t(random.offset) + random.stream,"),
         ("src/contract/philox.h", ">> 32), random.stream,", ">> 32), 0u,")],
        [streams("Ways/Streams.InverseCdf*/OneSeedOffsetPerCall")]),
    Fault(
        "stream_unused",
        "rows that share a seed share their random words",
        [("src/contract/request.h", "seed.per_slot ? 0u : uint32_t(slot)", "0u")],
        [streams("Ways/Streams.InverseCdf*/OneSeedOffsetPerCall")]),
    Fault(
        "given_streams_unused",
        "rows draw from the streams that they would have without random.streams",
        [("src/contract/request.h", "streams ? streams[slot] : seed.per_slot",
          "seed.per_slot")],
        [invariance("*Streams.AreTheRowsOwn/sample"), invariance("*Streams.AreTheRowsOwn/verify"),
         streams("Ways/Streams.InverseCdf*/StreamsCountUp")]),
    Fault(
        "stream_with_a_seed_per_slot",
        "a row with a seed of its own depends on its slot's number",
        [("src/contract/request.h", "seed.per_slot ? 0u : uint32_t(slot)", "uint32_t(slot)")],
        [invariance("*RowsInAnyOrderAndNumber/sample")]),
    Fault(
        "upper_half_of_the_seed_unused",
        "seeds that differ in their upper half give the same words",
        [("src/contract/philox.h",
          "return philox4x32_10(counter, uint32_t(random.seed), uint32_t(random.seed >> 32))",
          "return philox4x32_10(counter, uint32_t(random.seed), 0u)")],
        [streams("Ways/Streams.InverseCdf*/SeedsCountUpInTheirUpperHalf")]),
    Fault(
        "seed_of_the_neighbour",
        "a row uses the seed of the row before it",
        [("src/contract/request.h", "return {seed[slot], offset[slot],",
          "return {seed[slot > 0 ? slot - 1 : slot], offset[slot],")],
        [invariance("*RowsInAnyOrderAndNumber/sample"), golden("min_p_logits_f32")]),
    Fault(
        "purposes_share_words",
        "the bonus token is drawn with the word of sampling",
        [("src/contract/philox.h", "uint32_t(purpose) << kPurposeShift",
          "uint32_t(purpose == Purpose::kBonus ? Purpose::kSample : purpose) << kPurposeShift")],
        [streams("StreamsOfPurposes.*")]),
    # ---- Filters
    Fault(
        "ties_by_descending_id",
        "of equal values the higher id comes first",
        [("src/contract/rank.h", "<< 32 | uint32_t(~id);", "<< 32 | id;"),
         ("src/contract/rank.h", "return ~uint32_t(rank);", "return uint32_t(rank);")],
        [statistics("Distribution.TiesOfTopK"), ("oracle_test", "*")]),
    Fault(
        "ties_never_kept",
        "SAMPLER_TIES_KEEP does what SAMPLER_TIES_EXACT does",
        [("src/cpu/distribution.cpp", "if (ties == SAMPLER_TIES_EXACT) return length;",
          "if (ties == SAMPLER_TIES_EXACT || length > 0) return length;")],
        [statistics("Distribution.TiesOfTopP"), golden("sample_logits_f16_ties_kept")]),
    Fault(
        "minus_zero_below_zero",
        "-0 ranks below +0",
        [("src/contract/rank.h", "bits_of(x + 0.0f);", "bits_of(x);")],
        [invariance("Edges.MinusZeroEqualsZero")]),
    Fault(
        "top_k_of_the_neighbour",
        "a row uses the top_k of the row before it",
        [("src/contract/request.h", "temperature[slot], top_k[slot],",
          "temperature[slot], top_k[slot > 0 ? slot - 1 : slot],")],
        [invariance("*RowsInAnyOrderAndNumber/sample"), golden("top_k_logits_f32")]),
    Fault(
        "threshold_rounded_down",
        "p W is rounded down where the contract rounds up",
        [("src/contract/filters.h", "return quotient + (remainder || exceeds ? 1 : 0);",
          "(void)remainder;\n  return quotient + (exceeds ? 1 : 0);")],
        [invariance("Edges.TopPOfAnOddWeightRoundsUp"), invariance("Edges.MinPRoundsUp")]),
    Fault(
        "exceeding_sums_reach",
        "a sum that is to exceed its share reaches it",
        [("src/contract/filters.h", "return quotient + (remainder || exceeds ? 1 : 0);",
          "return quotient + (remainder ? 1 : 0);")],
        [("presets_test", "Edges.KeepTheSame")]),
    Fault(
        "top_p_beyond_its_share",
        "top-p goes on when its prefix has reached its share exactly",
        [("src/cpu/distribution.cpp", "std::lower_bound(sums_, sums_ + seen, threshold)",
          "std::upper_bound(sums_, sums_ + seen - 1, threshold)")],
        [invariance("Edges.TopPIsReachedByExactlyItsShare")]),
    Fault(
        "top_p_of_the_largest_weight",
        "top-p is relative to the likeliest token's weight, not to the sum",
        [("src/cpu/distribution.cpp", "contract::top_p_threshold(share, sum)",
          "contract::top_p_threshold(share, weight(0))")],
        [statistics("Distribution.TopP"), golden("top_p_logits_f32")]),
    Fault(
        "min_p_of_the_sum",
        "min-p is relative to the sum of weights, not to the likeliest token's",
        [("src/cpu/distribution.cpp", "contract::min_p_threshold(p, weight(0))",
          "contract::min_p_threshold(p, [&] { uint64_t sum = 0;"
          " for (int64_t i = 0; i < seen; ++i) sum += weight(i); return sum; }())")],
        [statistics("Distribution.MinP"), golden("min_p_logits_f32")]),
    Fault(
        "temperature_never_last",
        "filters see the row at its temperature when they should see it at 1",
        [("src/cpu/distribution.cpp", "rules.temperature_order == SAMPLER_TEMPERATURE_LAST;",
          "rules.temperature_order == SAMPLER_TEMPERATURE_LAST && false;")],
        [statistics("Distribution.TemperatureLast"),
         golden("sample_logits_f32_min_p_first_temperature_last")]),
    Fault(
        "joint_filters_in_sequence",
        "JOINT does what SEQUENTIAL does",
        [("src/contract/filters.h",
          "return row.shorter(by_top_k, row.shorter(by_top_p, by_min_p));",
          "return row.shorter(min_p(top_p(by_top_k)), row.shorter(by_top_p, by_min_p));")],
        [statistics("Distribution.FiltersJointly")]),
    # ---- Rows
    Fault(
        "parameters_of_another_output",
        "outputs of the same row share their preparation though their parameters differ",
        [("src/cpu/sample.h", "parameters_key(request, a) == parameters_key(request, b));",
          "true);")],
        [invariance("*RowIndicesOrCopiedRows/sample")]),
    Fault(
        "nan_is_a_value",
        "a NaN is taken for a good element",
        [("src/contract/elements.h",
          "return x >= (kind == SAMPLER_LOGITS ? negative_infinity() : 0.0f);",
          "return !(x < (kind == SAMPLER_LOGITS ? negative_infinity() : 0.0f));"),
         ("src/contract/elements.h", "&& x < float_of(kInfinityBits);",
          "&& !(x >= float_of(kInfinityBits));")],
        [golden("top_k_mask_logits_f32_bad_rows")]),
    Fault(
        "negative_probabilities",
        "a negative probability is taken for a good element",
        [("src/contract/elements.h", "kind == SAMPLER_LOGITS ? negative_infinity() : 0.0f);",
          "kind == SAMPLER_LOGITS ? negative_infinity() : -1.0f);")],
        [golden("sample_probabilities_f32_bad_rows")]),
    Fault(
        "temperatures_above_the_largest",
        "a temperature above 2^64 counts as 2^64",
        [("src/contract/elements.h", "temperature <= kLargestTemperature);",
          "!is_nan(temperature));")],
        [("capi_test", "*/BadRows.LeaveTheirNeighboursAlone/*")]),
    Fault(
        "penalties_forbid",
        "a penalty beyond f32 makes a logit -inf",
        [("src/contract/edits.h", "? saturated(new_x) : x;", "? new_x : x;")],
        [("capi_test", "Presets.OfLlamasRepeatsForbidNothing")]),
    Fault(
        "infinity_not_selected",
        "a row with +inf is bad to selection too",
        [("src/contract/elements.h", "return is_infinite && use == Use::kDraw ?",
          "(void)use;\n  return is_infinite ?")],
        [("oracle_test", "BadRows.InfinityIsSelected")]),
    Fault(
        "counts_without_ids_unused",
        "rows with counts and without ids are read to num_cols",
        [("src/contract/row_view.h", "rows.counts ? rows.counts[row]",
          "rows.counts && rows.ids ? rows.counts[row]")],
        [invariance("*RaggedRows.AsPaddedWithImpossibleTokens/sample"),
         invariance("*RaggedRows.AsPaddedWithImpossibleTokens/filter"),
         invariance("*RaggedRows.AsShorterRowsAlone/select"),
         invariance("*RaggedRows.AsShorterRowsAlone/verify"),
         ("oracle_test", "RaggedRows.EqualOracle")]),
    Fault(
        "candidates_in_list_order",
        "candidate lists are not sorted by id",
        [("src/cpu/row.cpp", "= sort_by_upper_half(buffers.sort, view.count, buffers.sort_scratch);",
          "= buffers.sort;")],
        [invariance("*CandidateListsOfAllIds/select")]),
    Fault(
        "row_stride_unused",
        "rows are read as if they were contiguous",
        [("src/contract/row_view.h", "row_view(rows, row, row * rows.stride)",
          "row_view(rows, row, row * rows.num_cols)")],
        [invariance("*StridesAndAlignment/sample")]),
    Fault(
        "output_stride_unused",
        "rows are written as if they were contiguous",
        [("src/cpu/filter.h", "index * request_.output_stride;",
          "index * request_.input.num_cols;")],
        [invariance("*StridesAndAlignment/filter")]),
    Fault(
        "f16_subnormals_flushed",
        "subnormal f16 elements read as 0",
        [("src/contract/float_bits.h", "float(magnitude) * power_of_two(-24)",
          "0.0f * float(magnitude)")],
        [invariance("*SixteenBitRowsAsWidened/sample")]),
    Fault(
        "weights_of_40_bits",
        "weights are rounded down to multiples of 2^-40",
        [("src/contract/weight.h",
          "return uint64_t(int64_t(limbs.high) * (int64_t(1) << kLowLimbBits) + limbs.low);",
          "return uint64_t(int64_t(limbs.high) * (int64_t(1) << kLowLimbBits) + "
          "(limbs.low & ~15));")],
        [invariance("Edges.MinPRoundsUp"), ("oracle_test", "*")]),
    # ---- Threads and the host's floating-point environment
    Fault(
        "last_row_of_a_task_left_out",
        "where rows do not divide evenly among threads the last ones are left out",
        [("src/cpu/row_tasks.h",
          "num_rows * index / num_tasks, num_rows * (index + 1) / num_tasks",
          "num_rows / num_tasks * index, num_rows / num_tasks * (index + 1)")],
        [("invariance_threads_test", "*Threads.OfTheHandle/sample"),
         ("invariance_threads_test", "*Threads.OfTheCallerInReverseOrder/sample")]),
    Fault(
        "environment_not_set",
        "rounding mode and flush-to-zero are the host's",
        [("src/cpu/fp_environment.h", "current()) { FpRegisters{}.load(host_); }", "current()) { ; }")],
        [invariance("*FloatingPointEnvironment/filter")]),
    Fault(
        "environment_not_restored",
        "the host finds the library's floating-point environment after a call",
        [("src/cpu/fp_environment.h", "~FpEnvironment() { host_.load(FpRegisters{}); }",
          "~FpEnvironment() { ; }")],
        [invariance("*FloatingPointEnvironment/sample")]),
    Fault(
        "environment_of_threads_not_set",
        "threads compute in the environment that they come with",
        [("src/cpu/executor.cpp", "    const FpEnvironment environment;\n", "")],
        [("invariance_threads_test", "*Threads.OfTheCaller/filter")],
        alone=True),
    Fault(
        "environment_of_entry_points_not_set",
        "what a call computes beside rows it computes in the host's environment",
        [("src/abi/entry.h", "    const cpu::FpEnvironment::Host host(&environment_);\n", ""),
         ("src/abi/entry.h", "  cpu::FpEnvironment environment_;\n", "")],
        [("capi_entry_points_test", "*DoTheSame/rounding_mode_2")],
        alone=True),
    Fault(
        "callbacks_in_the_librarys_environment",
        "the host's callbacks are called in the library's environment",
        [("src/abi/entry.h", "    const cpu::FpEnvironment::Host host(&environment_);\n", "")],
        [("capi_entry_points_test", "*DoTheSame/flush_to_zero")],
        alone=True),
    # ---- Speculative verification
    Fault(
        "residual_without_the_draft",
        "after a rejection the token comes from p, not from max(p - q, 0)",
        [("src/contract/draw.h", "larger_of(target - draft, 0.0f)",
          "larger_of(target - 0.0f * draft, 0.0f)")],
        [speculative("WithDraftProbabilities"), golden("chain_speculative_probabilities_f32"),
         golden("residual_probabilities_f32")]),
    Fault(
        "nothing_left_of_the_target",
        "a residual that is 0 everywhere is written instead of p",
        [("src/cpu/residual.h", "        target_.chain_probabilities(residual_);\n", "")],
        [invariance("Agreement.ResidualAsTheRenormOfTheDifference")]),
    Fault(
        "impossible_draft_accepted",
        "a draft is accepted where u q = p",
        [("src/contract/draw.h", "uniform * double(draft) < double(target)",
          "uniform * double(draft) <= double(target)")],
        [invariance("Edges.ImpossibleDraftIsNeverAccepted")]),
    Fault(
        "positions_share_the_accept_word",
        "all drafts of a row are judged with one word",
        [("src/contract/verify_chain.h", "Purpose::kAccept, uint32_t(position)",
          "Purpose::kAccept, 0u * uint32_t(position)")],
        [speculative("WithDraftProbabilities")]),
    Fault(
        "rejected_draft_drawn_again",
        "the residual of a deterministic draft still holds the draft",
        [("src/cpu/reference_row.cpp", "  if (index >= 0) p[index] = 0.0f;", "  (void)p;")],
        [speculative("DeterministicDrafts"),
         golden("residual_probabilities_f32_deterministic")]),
    Fault(
        "draft_counts_unused",
        "sequences of fewer drafts are verified as if they had all",
        [("src/contract/verify_chain.h", "request.draft_counts ? request.draft_counts[row] : num_drafts;",
          "num_drafts;")],
        [speculative("RaggedLengths")]),
    # ---- Decoding loops
    Fault(
        "rejected_drafts_stay_in_the_cache",
        "the target's cache is cut to all drafts instead of those that were kept",
        [("src/decoding/loops/loop.cpp", "target_.keep(index, own.cache_length);",
          "target_.keep(index, drafted.begin + drafted.count);")],
        [decoding("Greedy.SpeculativeGivesTheSameTexts"),
         decoding("Loops/Independence.OfTheCaches/SpeculativeWithNgrams")]),
    Fault(
        "rejected_drafts_stay_in_the_drafters_cache",
        "the drafter's cache is not cut",
        [("src/decoding/loops/loop.cpp", "drafter_->keep(index, own.drafter_cache_length);",
          "drafter_->keep(index, own.drafter_cache_length + max_drafts());")],
        [decoding("Greedy.SpeculativeGivesTheSameTexts")]),
    Fault(
        "trees_told_as_chains",
        "a loop's target is not told of the parents of drafts",
        [("src/decoding/loops/cached_model.cpp", "spans_.is_chains ? nullptr : spans_.parents.data();",
          "nullptr;")],
        [decoding("Trees.GreedyTextsAreThoseWithoutDrafts"),
         decoding("Trees.TextsBySampleMatchAreThoseWithoutDrafts"),
         decoding("Told.AKeptDraftBesideTheFirstPathComesAgain")]),
    Fault(
        "trees_are_split",
        "a loop's tree is split where a forward has no room for more tokens",
        [("src/decoding/loops/cached_model.cpp", "if (feed.parents && at + part < feed.length) {",
          "if (feed.parents && at + part > feed.length) {")],
        [decoding("Trees.GreedyTextsAreThoseWithoutDrafts"),
         decoding("Told.ATreeStaysWithTheTokenBeforeIt")]),
    Fault(
        "rounds_go_on_after_an_end_token",
        "what follows an end token in its round becomes text, too",
        [("src/decoding/session/verify_batch.cpp",
          "for (; own.runs() && position < num_kept + !is_bad; ++position) {",
          "for (; position < num_kept + !is_bad; ++position) {")],
        [decoding("KnownFaults.TheEarliestOfSeveralEndTokensEnds")]),
    Fault(
        "first_end_token_alone",
        "of several end tokens only the first of the list ends a text",
        [("src/decoding/loops/generation.cpp",
          "i < args.num_end_tokens; ++i) mark_end", "i < 1 && args.num_end_tokens; ++i) mark_end")],
        [decoding("KnownFaults.TheEarliestOfSeveralEndTokensEnds")]),
    Fault(
        "tokens_share_an_offset",
        "all tokens of a text are drawn with one word",
        [("src/decoding/session/chain_layout.cpp",
          "  table_.offsets()[sequence] = uint64_t(own.num_new());",
          "  table_.offsets()[sequence] = 0 * uint64_t(own.num_new());")],
        [decoding("Sampled.AutoregressiveDrawsAsSamplerSampleDoes"),
         decoding_distribution("Distribution.SpeculativeWithThreeDrafts"),
         decoding_distribution("NgramDistribution.UnknownContextsDraft")]),
    Fault(
        "drafts_share_an_offset",
        "all drafts of a round are drawn with one word",
        [("src/decoding/session/draft_batch.cpp",
          "draft_offset(table_.acceptances()[span.sequence], own.num_new(), own.num_drafts);",
          "draft_offset(table_.acceptances()[span.sequence], own.num_new(), 0 * own.num_drafts);")],
        [decoding_distribution("Distribution.SpeculativeWithThreeDrafts")]),
    Fault(
        "entropy_not_smoothed",
        "gamma follows the entropy of its round alone",
        [("src/decoding/session/entropy_gamma.h", "*smooth == kNone ? entropy :",
          "*smooth != entropy ? entropy :")],
        [decoding("AdaptiveGamma.FollowsTheEntropy")]),
    Fault(
        "acceptance_not_measured",
        "a measured gamma goes by the acceptance that it began with",
        [("src/decoding/session/measured_gamma.cpp", "kept_.add(round.kept);", "kept_.add({});")],
        [decoding("MeasuredGamma.IsAboutAsFastAsTheBestNumberWhereDraftsPay")]),
    Fault(
        "probes_without_credit",
        "a measured gamma probes and speculates whatever that has cost",
        [("src/decoding/session/measured_gamma.h", "return most_loss(gamma) <= credit_;",
          "return most_loss(gamma) <= 1000 * plain();"),
         ("src/decoding/session/measured_gamma.cpp", "kLongestGap = 128", "kLongestGap = 8")],
        [decoding("MeasuredGamma.LosesNoMoreThanItMayWhereDraftsDoNotPay"),
         decoding("MeasuredGamma.LosesNoMoreThanItMayWhateverTheConditions")],
        alone=True),
    Fault(
        "reading_costs_nothing",
        "a measured gamma takes what its drafter has to read for free",
        [("src/decoding/session/measured_gamma.cpp", "return double(charged_unread()) * read_cost() +",
          "return 0 * double(charged_unread()) * read_cost() +")],
        [decoding("MeasuredGamma.LosesNoMoreThanItMayWhateverTheConditions")]),
    Fault(
        "searches_cost_nothing",
        "a measured gamma counts what n-grams take only where they found drafts",
        [("src/decoding/session/measured_gamma.cpp", "(round.num_wanted > 0 ? learn_drafts(round, drafting)",
          "(round.depth > 0 ? learn_drafts(round, drafting)")],
        [decoding("MeasuredGamma.LosesNoMoreThanItMayBesideOtherLimitsOfDrafts")]),
    Fault(
        "rounds_beside_others_cost_nothing",
        "a session keeps no account of measured rounds beside other sequences",
        [("src/decoding/session/gamma_control.cpp", "measured_->finish_untimed(verified_);", "")],
        [session("SessionGamma.LosesNoMoreThanItMayBesideOthers")]),
    Fault(
        "last_token_not_learned",
        "a storage of n-grams does not learn the last token of a round",
        [("src/decoding/session/drafting.cpp", "own.is_drafting && i < own.length; ++i",
          "own.is_drafting && i + 1 < own.length; ++i")],
        [decoding("Lessons.AreOfEachNewToken")]),
    Fault(
        "emitted_token_not_learned",
        "n-grams learn the target's likeliest tokens, without an unlikelier one that came",
        [("src/decoding/session/drafting.cpp", "lesson_[num_likely] = tokens[i];",
          "lesson_[num_likely] = num_likely > 0 ? lesson_[0] : tokens[i];")],
        [decoding("Lessons.AreOfEachNewToken")]),
    Fault(
        "sum_of_counts_not_read",
        "the sum of a context's counts is that of the likeliest token alone after reading a storage",
        [("src/decoding/ngram/ngram_serialization.cpp", "context.sum = sum;", "context.sum = most;")],
        [("ngram_test", "Serialized.SharesOfTheLargestCounts"),
         ("ngram_test", "Serialized.ComesBack")]),
    Fault(
        "pool_takes_one_end_too_many",
        "a beam that ends as the best after the first num_beams goes to the pool",
        [("src/decoding/loops/beam_search.cpp", "if (int64_t(i + num_better) >= args_.num_beams) break;",
          "if (int64_t(i + num_better) > args_.num_beams) break;")],
        [decoding("BeamPool.OfAFewBeams")]),
    Fault(
        "finished_beams_drop_out",
        "a beam that has ended is no candidate any more",
        [("src/decoding/loops/beam_search.cpp", "      if (!beam.goes_on()) {\n        add_candidate",
          "      if (!beam.goes_on() && text.num_beams == 1) {\n        add_candidate")],
        [decoding("KnownFaults.AFinishedBeamKeepsItsScore"),
         decoding("BeamSearch.OfAllContinuations")]),
    Fault(
        "bad_chains_bad_as_a_whole",
        "a bad row takes the drafts of its round from a text of sampler_speculative",
        [("src/decoding/session/verify_batch.cpp", "requests_.call(entry, capi::verify_up_to_bad_rows, call)",
          "requests_.call(entry, sampler_verify, call)")],
        [decoding("BadRows.AreFoundByFewVerifications")]),
    Fault(
        "loops_beside_the_hooks",
        "loops take their memory of the C library",
        [("src/decoding/loops/memory.cpp",
          "abi::call_allocate(*place.entry, place.handle->allocator, bytes)",
          "abi::call_allocate(*place.entry, abi::make_allocator({}), bytes)"),
         ("src/decoding/loops/memory.h",
          "abi::release(*place_.entry, place_.handle->allocator, &block_)",
          "abi::release(*place_.entry, abi::make_allocator({}), &block_)")],
        [decoding("Allocation.IsOverBeforeTheFirstCallback"),
         decoding("Allocation.ThatFailsEndsTheLoopBeforeItBegins")]),
    Fault(
        "workspace_taken_as_it_is_needed",
        "each operation of a loop takes its workspace as it begins",
        [("src/decoding/loops/operations.h",
          "    args->exec = {place_.stream, bytes_.data(), bytes_.size()};",
          "    const DeviceBytes late(place_, bytes_.size());\n"
          "    args->exec = {place_.stream, late.data(), late.size()};")],
        [decoding("Allocation.IsOverBeforeTheFirstCallback")]),
    Fault(
        "lookup_goes_on_from_any_context",
        "prompt lookup takes the tokens that it matched in the last call for those of any context",
        [("src/decoding/ngram/prompt_lookup.cpp", "std::equal(matched, matched + num_extra_, extra)",
          "matched != extra")],
        [("ngram_test", "LookupInterface.ContextsMayGoOnFromTheLastOne")]),
    Fault(
        "both_drafters_taken",
        "speculation takes a drafter and n-grams at once, or neither",
        [("src/decoding/loops/loop_arguments.cpp", "if (!args.drafter == !args.ngram) {",
          "if (!args.drafter != !args.drafter) {")],
        [decoding("Rules.RequiredPointers")]),
    Fault(
        "penalty_of_the_length_before",
        "a beam's length penalty is that of its parent's length",
        [("src/decoding/loops/beam_search.cpp",
          "double(parent.length + 1 - text.prompt_length)",
          "double(parent.length - text.prompt_length)")],
        [decoding("KnownFaults.BeamScoresStartAtZero"), decoding("BeamSearch.OfAFewBeams")]),
    # ---- Row passes of the instruction sets
    Fault(
        "group_bound_too_high",
        "fewer than k groups of tokens reach the bound from which top-k lists",
        [("src/cpu/simd/row.cpp", "    if (reaching < k) {", "    if (2 * reaching < k) {")],
        [simd("SmallRows*")]),
    Fault(
        "light_tokens_too_heavy",
        "top-p drops tokens that together weigh more than it may cut off",
        [("src/cpu/simd/filters.cpp",
          "light = cut_off / uint64_t(row_.row_.count);",
          "light = cut_off / 2;")],
        [simd("SmallRows*")]),
    Fault(
        "ties_left_out_too_early",
        "tokens that equal top-k's bound are left out before k tokens are listed",
        [("src/cpu/simd/row.cpp",
          "list_range({bound, k});",
          "list_range({bound, k / 2});")],
        [simd("SmallRows.EqualTheReference/1")]),
    Fault(
        "ties_behind_the_cut_kept",
        "tokens that equal the last kept one and follow it are kept too",
        [("src/cpu/simd/row.h", "row_.count), value, contract::next_value(value)};",
          "row_.count), value, value};")],
        [simd("SmallRows*")]),
    Fault(
        "negative_zeros_written",
        "softmax of probabilities writes -0 where they are -0",
        [("src/cpu/simd/passes/relative.h", "gt(v.x[i], splat(0.0f))", "ge(v.x[i], splat(0.0f))")],
        [row_pass("WeighAndWrite")]),
    Fault(
        "heavy_tokens_begin_above_their_bound",
        "tokens of the very value from which top-p weighs a row's heaviest are not among them",
        [("src/cpu/simd/passes/weigh.h", "ge(value, least_heavy)", "gt(value, least_heavy)")],
        [("simd_test", "Types/NearTies*"), row_pass("WeighSplit")]),
    Fault(
        "lowest_logarithm_is_nothing",
        "a token of the lowest logarithm that has a probability gets none",
        [("src/cpu/simd/passes/relative.h", "ge(v.x[i], splat(contract::kLowestLog2))",
          "gt(v.x[i], splat(contract::kLowestLog2))")],
        [row_pass("WriteProbabilitiesAtTheLowestLogarithm")]),
    Fault(
        "sums_of_high_limbs_alone",
        "the running weights of many draws lack the weights' lower limbs",
        [("src/cpu/simd/passes/weigh.h",
          "so_far = store_sums(sums + i * kWidth, high, low, so_far);",
          "so_far = store_sums(sums + i * kWidth, high, sub(low, low), so_far);")],
        [row_pass("SumWeights")]),
    Fault(
        "ties_listed_beyond_enough",
        "a block of ties is listed where exactly enough tokens were listed before it",
        [("src/cpu/simd/passes/list.h", "list.count >= range.enough", "list.count > range.enough")],
        [row_pass("List")]),
    Fault(
        "maxima_after_the_last_block",
        "a row of whole blocks has the maxima of one more, beyond their memory",
        [("src/cpu/simd/passes/scan.h", "  if (i < count) {", "  if (i <= count) {")],
        [row_pass("Scan")]),
    Fault(
        "last_vector_of_a_row_left_out",
        "elements that do not fill a vector are not read",
        [("src/cpu/simd/passes/elements.h", "  if (i < end) f(read_some", "  if (i > end) f(read_some")],
        [simd("SmallRows*")]),
    Fault(
        "nan_in_a_vector_unnoticed",
        "of two neighbouring vectors only one is looked through for NaN",
        [("src/cpu/simd/passes/scan.h", "bad = either(bad, unordered(a, b));",
          "bad = either(bad, unordered(a, a));")],
        [simd("SmallRows*")]),
    Fault(
        "negative_halves_by_magnitude",
        "of 16 tokens whose 16-bit logits are all negative, the lowest stands for all",
        [("src/cpu/simd/passes/scan.h", "store_halves(elements, if_positive(top, least));",
          "store_halves(elements, top);")],
        [simd("SmallRows*")]),
    Fault(
        "second_of_64_not_listed",
        "of two tokens among 64 neighbours the first is listed twice",
        [("src/cpu/simd/passes/list.h", "lowest_bit(all & (all - 1)));", "lowest_bit(all));")],
        [simd("SmallRows*")]),
    Fault(
        "fifth_of_64_ids_not_picked",
        "of ids of a text that are looked for, those after four among 64 neighbours are lost",
        [("src/cpu/simd/passes/list.h", "for (int j = kUnguessed; mask != 0;",
          "for (int j = kUnguessed; false;")],
        [row_pass("PickIds")]),
    Fault(
        "gumbel_words_transposed",
        "neighbouring tokens share a word's place instead of a block of words",
        [("src/cpu/simd/passes/gumbel.h", "words[4 * j + w] = ", "words[kWidth * w + j] = ")],
        [simd("SmallRows*")]),
    Fault(
        "gumbel_bound_too_low",
        "the noise that a word may give is bounded by 1 less than it can be",
        [("src/cpu/simd/passes/gumbel.h", "(159 + kRounded - noise)", "(158 + kRounded - noise)")],
        [simd("SmallRows*")]),
    Fault(
        "gumbel_probability_bound_too_low",
        "the logarithm of a probability is bounded by 1 less than it can be",
        [("src/cpu/simd/passes/gumbel.h", "* 0x1p-23 - 127 + 0.0862", "* 0x1p-23 - 128 + 0.0862")],
        [simd("SmallRows*")]),
    Fault(
        "guide_of_the_next_entry",
        "a search among many draws' sums begins where the next part of the words does",
        [("src/cpu/draw.cpp", "begin = entry[0];", "begin = entry[0] + (entry[1] > entry[0]);")],
        [simd("SmallRows*")]),
    # ---- Bounds of work
    Fault(
        "pivots_at_fixed_places",
        "selection takes its pivots from places that a caller knows",
        [("src/cpu/simd/select.cpp", "values[places->below(count)]",
          "values[(2 * i + 1) * count / (2 * num_probes)]")],
        [complexity("Select.HasABoundWhateverTheListIs")]),
    Fault(
        "pivots_without_an_end",
        "selection never turns to halving keys",
        [("src/cpu/simd/select.cpp", "round < kElementRounds", "round >= 0")],
        [complexity("Select.HasABoundWhateverTheListIs")]),
    Fault(
        "bound_of_coarse_groups_alone",
        "top-k lists from the bound of coarse groups, however many groups reach it",
        [("src/cpu/simd/row.cpp", "bound) <= 2 * k) return bound;", "bound) >= 0) return bound;")],
        [complexity("Sizes/*")]),
    Fault(
        "all_ties_listed",
        "top-k lists all tokens that equal its bound",
        [("src/cpu/simd/row.cpp", "list_range({bound, k});",
          "list_range({bound, kUnlimited});")],
        [complexity("Sizes/*")]),

    # ---- Processes, threads and arguments
    Fault(
        "busy_across_a_fork",
        "a child finds the handles busy that its parent's threads were using",
        [("src/abi/busy.h", "acquired_ = found != own &&", "acquired_ = found == 0 &&")],
        [("capi_fork_test", "Of/Children.OfForkAreServed/ABusyProcess")]),
    Fault(
        "child_of_the_same_generation",
        "where the kernel wipes nothing, a child has its parent's fork generation",
        [("src/cpu/fork_generation.cpp",
          "if (generation) generation->store(0, std::memory_order_relaxed);",
          "(void)generation;")],
        [("capi_fork_test", "Of/Children.OfForkAreServedWhereTheKernelWipesNothing/ABusyProcess")]),
    Fault(
        "threads_block_all_signals",
        "the handle's threads block the signals that they cause themselves",
        [("src/cpu/executor.cpp",
          "for (const int signal : kSynchronous) sigdelset(&blocked, signal);",
          "(void)kSynchronous;")],
        [("capi_threads_test", "Threads.TakeNoOtherSignals")]),
    Fault(
        "second_run_unnoticed",
        "a parallel_for may run a task twice",
        [("src/cpu/executor.cpp", "self->ran_twice_ = true;", "")],
        [("capi_threads_test", "ParallelFor.ThatBreaksItsContract")]),
    Fault(
        "filters_of_probabilities_ignored",
        "a row's filters do nothing where a chain has no rows of logits",
        [("src/contract/elements.h",
          "const bool refused = !request.has_filters() && any_filter_is_on(row);",
          "const bool refused = false;")],
        [("capi_test", "Chain.FiltersOfGivenProbabilities")]),
    Fault(
        "slots_are_rows",
        "parameters, seeds and streams are those of the row's number whatever its slot is",
        [("src/contract/request.h", "return of_rows ? of_rows[row] : row;", "return row;")],
        [("capi_test", "Slots.EqualArraysByRow"), ("capi_test", "Slots.AreStreamsOfOneSeed"),
         invariance("*Slots.InAnyOrderAndShared/sample"),
         invariance("*Slots.InAnyOrderAndShared/filter"),
         invariance("*Slots.InAnyOrderAndShared/verify"), ("oracle_test", "*")]),
    Fault(
        "slots_outside_unnoticed",
        "a row whose slot is the number of slots is good",
        [("src/contract/request.h", "(slot >= 0 && slot < count)", "(slot >= 0 && slot <= count)")],
        [("capi_test", "Slots.OutsideAreOfBadRows"),
         ("capi_test", "Of/BadRows.LeaveTheirNeighboursAlone/sampler_filter")]),
    Fault(
        "streams_not_read",
        "the stream is the slot's number, or 0, also where `streams` gives it",
        [("src/capi/views.cpp", "result.streams = random.streams;", "result.streams = nullptr;")],
        [("capi_test", "Streams.AreTheSlotsOrGiven"),
         ("capi_test", "Streams.OfRequestsDoNotDependOnTheRow")]),
    Fault(
        "sequence_stride_unused",
        "a chain's sequences are read as if they were contiguous",
        [("src/capi/verification.cpp", "return stride ? stride : contiguous;",
          "return contiguous;")],
        [("capi_test", "Chain.SequencesLieApart")]),
    Fault(
        "size_without_the_draft",
        "the size of a workspace is that of a deterministic drafter where the draft has no memory",
        [("src/capi/views.cpp", "if (!rows->values) rows->values = &somewhere;",
          "if (!rows->values && somewhere != 0) rows->values = &somewhere;")],
        [("capi_test", "Workspace.SizeNeedsNoArrays")]),
    Fault(
        "tail_of_a_newer_struct_unread",
        "members that a newer program sets, and the library does not know, are ignored",
        [("src/abi/structs.h", "if (bytes[i] != 0) return false;",
          "if (bytes[i] == 1) return false;")],
        [("capi_test", "StructSize.OfANewerVersionIsReadWhenTheTailIsZero")]),
    Fault(
        "one_line_drops_its_filter",
        "a renormalisation in one line keeps its top_p to itself",
        [("src/capi/simple.cpp", "params_of(1.0f, 0, top_p, 0.0f), SAMPLER_OUTPUT_PROBABILITIES",
          "params_of(1.0f, 1, top_p, 0.0f), SAMPLER_OUTPUT_PROBABILITIES")],
        [("capi_test", "Simple.WritesAsFilter")]),
    Fault(
        "statistics_overlap",
        "a loop's statistics may lie in another output",
        [("src/decoding/loops/loop_arguments.cpp",
          """check.array("out_stats", args.out_stats, sizeof(int64_t), kStatsWords, abi::Access::kWrite);""",
          "(void)kStatsWords;")],
        [decoding("Rules.Overlaps")]),
    Fault(
        "size_of_an_impossible_call",
        "the size of a workspace is told for calls whose arrays fit no address space",
        [("src/abi/check.cpp", "if (rows == 0 || cols == 0) return;",
          "if (rows == 0 || cols == 0 || !checks_memory_) return;")],
        [("capi_test", "Of/ArgumentRules.EachIsChecked/sampler_sample")]),
    # ---- Devices
    Fault(
        "static_shared_memory_forgotten",
        "the host opts in to all that a block may have, and forgets the kernel's static shared memory",
        [("kernels/launch/plan.cpp",
          "const int most = memory.per_block - static_bytes;",
          "const int most = memory.per_block;"),
         ("kernels/launch/plan.cpp",
          "memory.per_multiprocessor / num_blocks - memory.reserved_per_block - static_bytes;",
          "memory.per_multiprocessor / num_blocks - memory.reserved_per_block;")],
        [plans("On/Plans.AreTaken/sm_80"), plans("On/Plans.AreTaken/sm_90")]),
    Fault(
        "reserved_shared_memory_forgotten",
        "two blocks that are to share a multiprocessor have no room for what the driver reserves",
        [("kernels/launch/plan.cpp",
          "memory.per_multiprocessor / num_blocks - memory.reserved_per_block - static_bytes;",
          "memory.per_multiprocessor / num_blocks - static_bytes;")],
        [plans("HopperPlans.OfALanguageModel")]),
    Fault(
        "rows_spread_over_clusters_that_do_not_fit",
        "few rows have clusters of 16 blocks on devices that have none",
        [("kernels/launch/plan.cpp",
          "(is_spread && at_once >= extent_.num_rows)",
          "is_spread")],
        [plans("On/Plans.AreTaken/sm_120")]),
    Fault(
        "clusters_leave_the_device_out",
        "long rows have clusters of 8 blocks where these fill half of the device",
        [("kernels/launch/plan.cpp",
          "next * at_once * 4 >= device_.num_multiprocessors * int64_t(3)",
          "at_once > 0")],
        [plans("On/Plans.KeepTheDeviceBusy/sm_90_of_14")]),
    Fault(
        "more_bitmaps_than_teams_at_once",
        "more teams have bitmaps than run at once",
        [("kernels/launch/plan.cpp",
          "return std::min({rows, at_once, int64_t(device_.num_multiprocessors)});",
          "return std::min(rows, int64_t(device_.num_multiprocessors));")],
        [plans("On/Plans.WithBitmapsHaveTheTeamsThatRunAtOnce/sm_90")]),
    Fault(
        "outputs_do_not_share_rows",
        "each output has a team of its own, which prepares its row once more",
        [("kernels/launch/plan.cpp",
          "if (extent_.shares_rows) {",
          "if (false) {")],
        [plans("On/Plans.LetOutputsShareRows/sm_90")]),
    Fault(
        "clusters_of_16_not_asked_for",
        "clusters of 16 blocks are not allowed, and few rows have half of them",
        [("src/cuda/prepare.cpp",
          "outcome = set(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);",
          "")],
        [plans("HopperPlans.OfALanguageModel")]),
    Fault(
        "kernel_loaded_in_a_capture",
        "the kernel of small uploads is loaded when it is first used",
        [("src/cuda/prepare.cpp",
          "if (outcome.error == cudaSuccess) outcome = load(kernels::small_upload_kernel_address(), "
          "&unused);",
          "")],
        [library_on_device("Recorded.FirstCallsOfAHandle")]),
    Fault(
        "context_stays_current",
        "a call leaves the device's context current",
        [("src/cuda/backend.cpp",
          "    if (!error_) driver_function<decltype(cuCtxPopCurrent)>(device_.pop_context)(&context);",
          "")],
        [library_on_device("Of/Contexts.StayAsTheyWere/*")]),
    Fault(
        "primary_context_kept",
        "a handle that is destroyed keeps the context of its device",
        [("src/cuda/backend.cpp", "  release(device->id);\n", "  (void)release;\n")],
        [library_on_device("Of/Contexts.StayAsTheyWere/without_a_context")]),
    # ---- Spread rows
    Fault(
        "slices_smaller_than_they_may_be",
        "rows have slices of four tiles a block, too few for all of the device",
        [("kernels/launch/plan.cpp", "kLeastSlice = 2;", "kLeastSlice = 4;")],
        [plans("On/FewRows.UseAllOfTheDevice/sm_80"), plans("On/FewRows.UseAllOfTheDevice/sm_90")],
        alone=True),
    Fault(
        "handed_over_without_a_fence",
        "a team tells that it has handed over before its sums are there",
        [("kernels/operations/spread.cuh", "    ctx.fence();\n    ctx.team_sync();\n", "    ctx.team_sync();\n")],
        [library_on_device("Workspace.SizeIsExactWhereRowsAreSpread")]),
    Fault(
        "last_but_one_goes_on",
        "the team before the last goes on with what has been handed over",
        [("kernels/operations/spread.cuh", "uint64_t(slice_.count - 1)", "uint64_t(slice_.count - 2)")],
        [library_on_device("Workspace.SizeIsExactWhereRowsAreSpread")]),
    Fault(
        "hand_overs_of_the_call_before_counted",
        "the teams that have handed over are counted on from the call before",
        [("kernels/operations/spread.cuh",
          "    if (slice_.index == 0 && team_.ctx.thread() == 0) memory_.head->num_arrived = 0;\n",
          "")],
        [library_on_device("Recorded.ReplayOfSpreadRowsEqualsACallOnTheArraysOfThatTime")]),
    Fault(
        "bins_of_the_call_before_kept",
        "the weights of a row's bins are added to those of the call before",
        [("kernels/operations/spread.cuh", "      memory_.head->bin_measures[i] = 0;\n", "")],
        [library_on_device("Workspace.SizeIsExactWhereRowsAreSpread")]),
    Fault(
        "slices_end_a_tile_early",
        "rows that are cut into slices lose their last tile",
        [("kernels/row/row.cuh",
          "const Part team = row.of(slice.index, slice.count);",
          "const Part team = Part{0, row.end - (slice.count > 1)}.of(slice.index, slice.count);")],
        [library_on_device("Workspace.SizeIsExactWhereRowsAreSpread")]),
    Fault(
        "first_slice_not_looked_at",
        "a row's first token is looked for in all slices but the first",
        [("kernels/operations/spread.cuh",
          "for (int i = ctx.thread(); i < spread_.num_load_slices; i += Context::kThreads) {",
          "for (int i = ctx.thread() + 1; i < spread_.num_load_slices; i += Context::kThreads) {")],
        [library_on_device("Recorded.ReplayOfSpreadRowsEqualsACallOnTheArraysOfThatTime")]),
    # ---- Row passes of the device code
    Fault(
        "tiles_of_the_bound_passed_over",
        "a pass leaves out tiles whose largest value is the lowest one wanted",
        [("kernels/row/row.cuh",
          "row.tiles_.begin) * 32] < low)) != 0",
          "row.tiles_.begin) * 32] <= low)) != 0")],
        [results_on_device("clusters")]),
    Fault(
        "tiles_noted_with_half_their_weight",
        "a draw takes a tile's weight to be half of what it is",
        [("kernels/row/distribution.cuh",
          "own_sums_[place] = weight;",
          "own_sums_[place] = weight / 2;")],
        [results_on_device("clusters")]),
    Fault(
        "contenders_given_up_early",
        "a Gumbel draw passes over tokens that may be better than the best",
        [("kernels/row/draw.cuh",
          "limit = contract::value_of_key(key - 2);",
          "limit = contract::value_of_key(key + 0x800000);")],
        [results_on_device("clusters")]),
    Fault(
        "first_of_equal_scores_drawn",
        "of a lane's tokens with the best score, the one that promised most is drawn",
        [("kernels/row/draw.cuh",
          "contract::rank_of(score, uint32_t(index)) > search->best.rank();",
          "score > search->best.score;")],
        [gumbel_ties("GoToTheLowerId")]),
    Fault(
        "bins_beyond_the_last",
        "top-p's bins do not leave room for those kept for lighter tokens",
        [("kernels/row/selection.cuh",
          "while (bins.steps_to(high_key) >= uint32_t(kBins - kOwn))",
          "while (bins.steps_to(high_key) >= uint32_t(kBins))")],
        [bins("WeightBins.HoldEveryValueInOrder")]),
    Fault(
        "reach_of_half_the_radius",
        "top-p looks for tokens near its cut in half of their range",
        [("kernels/row/distribution.cuh",
          "return {middle, radius};",
          "return {middle, 0.5f * radius};")],
        [bins("Reach.HasAllThatLiesBetween")]),
    Fault(
        "residual_is_the_target",
        "a residual of given probabilities leaves nothing of the draft's out",
        [("kernels/operations/residual.cuh",
          "x[i * kElements + j] = contract::residual_probability(of_target[j], of_draft[j]);",
          "x[i * kElements + j] = of_target[j];")],
        [given_rows("GivenRows.LeaveTheSameResidual/*"),
         given_rows("GivenChains.EndWithTheSameToken/*")]),
    Fault(
        "tokens_above_ties_not_counted",
        "tokens above the ties at top-k's cut, which a histogram has counted, are taken for none",
        [("kernels/row/selection.cuh", "ties.count_above = range.count;", "ties.count_above = 0;")],
        [crowded_rows("KeepWhatTheReferenceKeeps")]),
    Fault(
        "weights_at_a_bin_taken_for_equal",
        "of tokens that crowd into one bin of top-p, each is taken to weigh what the first weighs",
        [("kernels/row/selection.cuh", "(lanes & ~alike()) == 0;", "(lanes & alike()) != 0;")],
        [crowded_rows("AreCutWhereTheReferenceCuts")]),
    Fault(
        "ties_that_are_not_kept_weigh",
        "candidates of one value in one bin of ids all weigh what the first does, kept or not",
        [("kernels/row/selection.cuh",
          "ctx.warp_match(measure == 0 ? kNotKept : contract::bits_of(value));",
          "ctx.warp_match(contract::bits_of(value));")],
        [crowded_rows("OfWhichSomeTiesAreKeptAreDrawnFromAsInTheReference")]),
    Fault(
        "band_left_out_of_the_draw",
        "the draw finds the tile among the weights above the band alone",
        [("kernels/stream/stream.cuh",
          "weights[i] += shared.of_tiles[first + i - first_tile].value();", "")],
        [streamed_rows("OfManyTokensAreCutInABand")]),
    Fault(
        "band_cut_a_bin_too_low",
        "the search for the band's cut takes the bin below the one that reaches the threshold",
        [("kernels/stream/band.cuh",
          "before + bins[bin].value() < least; ++i)", "before < least; ++i)")],
        [streamed_rows("OfManyTokensAreCutInABand")]),
    Fault(
        "band_drawn_as_filters_weigh_it",
        "tokens above a band cut at temperature 1 are drawn by chunk as filters weigh them",
        [("kernels/stream/band.cuh", "load_fresh(&chunk_words()[2 * kMostChunks + ctx.lane()])",
          "load_fresh(&chunk_words()[ctx.lane()])")],
        [streamed_rows("OfManyTokensAreCutInABand")]),
    Fault(
        "band_placed_by_part_of_a_sample",
        "the last block that samples a row places the band by what it sampled itself",
        [("kernels/stream/band.cuh", "ctx.load_fresh(&reinterpret_cast<const Vector *>(all)[i]);",
          "reinterpret_cast<const Vector *>(bins)[i];")],
        [streamed_rows("OfSampledRowsEqualTheCpu")]),
    Fault(
        "bins_of_a_sample_not_cleared",
        "blocks that sample a row add to what was in the workspace",
        [("kernels/stream/stream.cuh", "ctx.store_vector(&bins[i], Vector{});",
          "(void)bins[i];")],
        [streamed_rows("OfSampledRowsEqualTheCpu")]),
    Fault(
        "list_kept_beside_a_sampled_band",
        "a block draws from its list although others have placed the row's band",
        [("kernels/stream/stream.cuh", "const bool is_listed = this->fits() && !has_band();",
          "const bool is_listed = this->fits();")],
        [streamed_rows("OfSampledRowsEqualTheCpu")]),
    Fault(
        "light_tokens_weighed_at_random",
        "what filters keep at temperature 1 is weighed for the draw where that is beyond the polynomial's range",
        [("kernels/stream/stream.cuh", "kIsCut && this->has_two()", "false")],
        [streamed_rows("OfManyTokensAreCutInABand")]),
    Fault(
        "negative_zeros_far_above_the_pivot",
        "bits of sampled probabilities are taken for unsigned numbers, of which -0 has a large one",
        [("kernels/stream/band.cuh", "float(int32_t(contract::bits_of(x)))", "float(contract::bits_of(x))")],
        [held_rows("OfProbabilitiesAreStreamed")]),
    Fault(
        "list_of_min_p_taken_for_a_part",
        "top-p after min-p looks for the weight of more tokens than min-p keeps",
        [("kernels/stream/stream.cuh", "total, state().is_by_min_p);", "total, false);")],
        [streamed_rows("EqualTheCpuInAnyOrderAndSlots")]),
    Fault(
        "numbers_of_stages_unseen_by_streams",
        "streams draw from rows whose slot has invalid numbers of stages that are off",
        [("kernels/stream/stream.cpp",
          "return has_array || stages.adaptive_values || stages.state_slots;",
          "return stages.adaptive_values || stages.state_slots;")],
        [("stages_simt_test", "Members/NumbersOfNoStage.MakeTheirRowsBadOnDevices/2")]),
    Fault(
        "edited_values_of_the_first_in_a_word",
        "tokens of a streamed row have the value that edits give to the first of 32",
        [("kernels/stream/values.cuh",
          "uint32_t(Context::count_bits(word & ((uint32_t(1) << shift) - 1)));",
          "0 * uint32_t(Context::count_bits(word & ((uint32_t(1) << shift) - 1)));")],
        [stages_on_device("OfStreamedRows")]),
    Fault(
        "too_many_edits_ignored",
        "a streamed row with more edits than there is room for is drawn from as it is",
        [("kernels/stream/items.cuh", "item.patch.is_left = head.num_edited == EditsHead::kLeft;",
          "item.patch.is_left = false;"),
         ("kernels/stream/items.cuh", "head.num_edited != 0 && !item.patch.is_left;",
          "head.num_edited != 0 && head.num_edited != EditsHead::kLeft;")],
        [stages_on_device("OfStreamedRows")]),
    Fault(
        "mask_by_position",
        "bitmasks of streamed rows begin at the row's aligned address",
        [("kernels/stream/values.cuh", "const int shift = (kTile - item().lead) % 32;",
          "const int shift = 0;")],
        [stages_on_device("OfStreamedRows")]),
    Fault(
        "text_not_listed",
        "edits of streamed rows do not change the tokens of a text",
        [("kernels/stream/edits.cuh", "row.for_each(begin, text.length(), [&](int64_t place)",
          "row.for_each(text.length(), text.length(), [&](int64_t place)")],
        [stages_on_device("OfStreamedRows")]),
    Fault(
        "streamed_rank_of_the_token_before",
        "a token's own rank does not count in the rank that is reported of a streamed row",
        [("kernels/stream/reports.cuh", "rank_of(element<kDtype>(raw, j), index) >= least ? 1 : 0;",
          "rank_of(element<kDtype>(raw, j), index) > least ? 1 : 0;")],
        [streamed_reports()]),
    Fault(
        "streamed_reports_of_bad_rows",
        "first tokens are reported of streamed rows that are bad",
        [("kernels/stream/reports.cuh",
          "if (is_top && to.out_top_token_ids.data) contract::store_id(to.out_top_token_ids, at, -1);",
          "")],
        [streamed_reports()]),
    Fault(
        "streamed_entropies_at_the_temperature",
        "entropies of streamed rows are those at the row's temperature",
        [("kernels/stream/reports.cuh", "const contract::RowScale scale = raw_scale();",
          "const contract::RowScale scale = this->scale();")],
        [streamed_reports()]),
    Fault(
        "surprises_summed_as_weights",
        "the entropy of a row of many equal tokens is summed in too few bits",
        [("kernels/stream/reports.cuh", "return this->sum_of_lanes(own);", "return ctx.warp_sum(own);")],
        [streamed_reports("EntropiesOfFlatRows")]),
    Fault(
        "one_total_of_streamed_rows",
        "raw log-probabilities of streamed rows are of the weights by which top-p cuts",
        [("kernels/stream/stream.cuh", "if (!stream.has_drawn && this->has_second_total()) this->load_second_total();", "")],
        [streamed_reports()]),
    Fault(
        "list_of_what_top_k_keeps",
        "a streamed row's list has the tokens that filters need, not those that are reported",
        [("kernels/stream/listing.cuh", "if (this->num_top() > wanted) wanted = this->num_top();", "")],
        [streamed_reports()]),
    Fault(
        "reports_without_a_list",
        "first tokens are reported of streamed rows of which more are tied than a list holds",
        [("kernels/stream/stream.cuh", "this->lists_top() && !this->has_list()", "false")],
        [streamed_reports("OfTwoTotals")]),
    Fault(
        "values_of_slots_unchecked",
        "streamed rows without edits are drawn from whatever their slots' adaptive values are",
        [("kernels/stream/stream.cpp",
          "return has_array || stages.adaptive_values || stages.state_slots;", "return has_array;")],
        [streamed_reports("OfTwoTotals")]),
    Fault(
        "held_draws_of_one_total",
        "raw log-probabilities of held draws are of the weights at the row's temperature",
        [("kernels/held/held.cpp", "need == StreamNeed::kWeights && !sums_twice", "need == StreamNeed::kWeights")],
        [streamed_reports("OfTwoTotals")]),
    Fault(
        "listed_above_min_p",
        "a list for min-p lacks tokens that it keeps",
        [("kernels/stream/listing.cuh", "contract::log2_shifted(min_p, 0) - kMargin;",
          "contract::log2_shifted(min_p, 0) + 0.5f;")],
        [stages_on_device("OfListedRows")]),
    Fault(
        "listed_without_min_keep",
        "a list has the tokens of top-k where more are to be kept",
        [("kernels/stream/stream.h", "row.top_k > least ? row.top_k : least;", "row.top_k;")],
        [stages_on_device("OfListedRows")]),
    Fault(
        "left_by_lists_and_not_held",
        "of the rows that lists leave, the first ones of the batch are held",
        [("kernels/held/sample.cuh", "is_left ? int64_t(held.rows_left[i]) : i;", "i;")],
        [stages_on_device("OfListedRows")]),
    Fault(
        "apart_of_first_token",
        "raw reports beside edits or windows are those of the row's first token",
        [("kernels/stream/stream.cuh", "outcome.id = uint32_t(id);", "")],
        [streamed_reports("OfReportsApart")]),
    Fault(
        "apart_of_bad_rows",
        "bad rows have raw reports where these are streamed apart",
        [("kernels/stream/stream.cuh", "outcome.status = request.out_row_status[this->output()];", "")],
        [streamed_reports("OfReportsApart")]),
    Fault(
        "apart_without_teams",
        "what reports leave has no teams where draws leave nothing",
        [("src/cuda/backend.cpp", "if (rows.plan.num_teams == 0) {", "if (rows.plan.num_teams < 0) {")],
        [streamed_reports("OfReportsApart")]),
    Fault(
        "listed_half_of_top_h",
        "top-h looks at half of the tokens that it should, where a stream lists them",
        [("kernels/stream/stream.cpp", "std::max<int64_t>(contract::kTopHTokens, least)",
          "std::max<int64_t>(contract::kTopHTokens / 2, least)")],
        [stages_on_device("OfListedRows")]),
    Fault(
        "listed_mirostat_cut",
        "mirostat v1 keeps no more tokens than a list has",
        [("kernels/stream/listed.cuh", "if (may_lack(kept.window)) return leave();", "")],
        [stages_on_device("OfListedRows")]),
    Fault(
        "listed_before_dynamic_temperature",
        "rows are listed whose temperature follows from the whole row",
        [("kernels/stream/stream.cpp",
          "if (stages.dynamic_range.array || stages.dynamic_range.value > 0.0f) return stage;", "")],
        [stages_on_device("OfListedRows")]),
    Fault(
        "listed_before_decayed_top_p",
        "rows are listed by min-p though a decayed top-p comes first",
        [("kernels/stream/stream.cpp", "!stages.adaptive.may_decay()) {", "true) {")],
        [stages_on_device("OfListedSums")]),
    Fault(
        "listed_window_begins_at_first",
        "what windows drop at the head of a list is drawn, and as many of its last tokens are not",
        [("kernels/stream/listed.cuh", "shared.row.list[kept.begin + i] : 0;", "shared.row.list[i] : 0;")],
        [stages_on_device("OfListedRows")]),
    Fault(
        "listed_values_before_parameters",
        "a listed row with bad values and bad parameters has the status of the values",
        [("kernels/stream/listed.cuh", "if (head.status == SAMPLER_ROW_INVALID_INDEX) return head.status;",
          "if (head.status != SAMPLER_ROW_OK) return head.status;")],
        [stages_on_device("OfListedSums")]),
    Fault(
        "listed_observation_of_the_first",
        "adaptive-p of a listed row observes the probability of its first token",
        [("kernels/stream/listed.cuh", "while (contract::id_of_rank(shared.given[place]) != id) ++place;",
          "while (contract::id_of_rank(shared.given[place]) != id && place < 0) ++place;")],
        [stages_on_device("OfListedRows")]),
    Fault(
        "listed_kept_by_rank",
        "the kept tokens of a listed row are reported in rank order",
        [("kernels/stream/listed.cuh", "place += contract::id_of_rank(shared.row.list[j]) < id ? 1 : 0;",
          "place += j < i ? 1 : 0;")],
        [stages_on_device("OfListedRows")]),
    Fault(
        "negative_probability_streamed",
        "streamed rows may have negative probabilities",
        [("kernels/stream/values.cuh", "return is_negative(tile, raw) ? contract::quiet_nan() : given;",
          "return given;")],
        [held_rows("OfProbabilitiesAreStreamed")]),
    Fault(
        "list_weighed_once",
        "tokens that filters before the temperature keep are drawn by their weights at temperature 1",
        [("kernels/stream/stream.cuh", "if (!has_two()) break;", "break;")],
        [streamed_rows("OfListsEqualTheCpuInAnySlots")]),
    Fault(
        "streamed_filters_at_the_temperature",
        "filters before the temperature weigh streamed rows of any parameters at it",
        [("kernels/stream/items.cuh", "row.filter_scale = has_two ? contract::logit_scale(1.0f) : row.scale;",
          "row.filter_scale = row.scale;")],
        [streamed_rows("EqualTheCpuInAnyOrderAndSlots")]),
    Fault(
        "filters_at_the_temperature",
        "filters before the temperature weigh rows at it where kernels know one scale",
        [("kernels/stream/stream.cpp", "return has_two_scales(row, all.rules);", "return false;")],
        [held_rows("OfDrawsEqualTheCpuByOneLaunch")]),
    Fault(
        "first_bin_weighs_nothing",
        "of weights by value those of the largest values are left out",
        [("kernels/held/cut.cuh", "if (bin >= 0) ctx.add_to_shared(&shared.row.weights[bin], weight);",
          "if (bin > 0) ctx.add_to_shared(&shared.row.weights[bin], weight);")],
        [held_rows("OfWideNucleiAreNotLeft")]),
    Fault(
        "crowded_weights_in_one_lane",
        "of tokens that crowd into one bin, one is weighed",
        [("kernels/held/cut.cuh", "if (ctx.lane() == lane) ctx.add_to_shared(&shared.row.weights[bin], sum);",
          "if (ctx.lane() == lane) ctx.add_to_shared(&shared.row.weights[bin], weight);")],
        [held_rows("OfWideNucleiAreNotLeft")]),
    Fault(
        "nearer_tokens_weigh_nothing",
        "typical-p of a held row cuts the bin of its cut as if there were no nearer tokens",
        [("kernels/held/nearest.cuh", "nearer + sums[i - 1] < rule.threshold", "sums[i - 1] < rule.threshold")],
        [held_rows("OfWideTypicalWindowsAreNotLeft")]),
    Fault(
        "last_tie_not_kept",
        "the token at the cut of a held row is left out",
        [("kernels/held/held.h", "index <= last); }", "index < last); }")],
        [held_rows("OfFiltersEqualTheCpu")]),
    Fault(
        "removed_tokens_found",
        "the draw from a held row finds its token among those that min-p removed",
        [("kernels/held/draw.cuh", "return x > below ?", "return true ?")],
        [held_rows("OfDrawsEqualTheCpuByOneLaunch")]),
    Fault(
        "reweighed_by_one_side",
        "the token nearest to adaptive-p's probability is sought below it alone",
        [("kernels/held/reweigh.cuh", "above >= wanted && above <= kMostRounded ?", "false ?")],
        [held_rows("OfNewWeightsEqualTheCpuByOneLaunch")]),
    Fault(
        "reweighed_by_the_table_alone",
        "adaptive-p weighs no token that is not in its table",
        [("kernels/held/reweigh.cuh", "weight += contract::weight_of(relative_of", "contract::weight_of(relative_of")],
        [held_rows("OfNewWeightsEqualTheCpuByOneLaunch")]),
    Fault(
        "reweighed_min_p_at_one",
        "min-p before adaptive-p is always at temperature 1",
        [("kernels/held/reweigh.cuh", "min_p_is_at_one() ? 1.0f : temperature", "1.0f")],
        [held_rows("OfNewWeightsEqualTheCpuByOneLaunch")]),
    Fault(
        "reweighed_removed_tokens",
        "adaptive-p draws tokens that min-p removed",
        [("kernels/held/reweigh.cuh", "return x > below ? relative : kDropped;", "return relative;")],
        [held_rows("OfNewWeightsEqualTheCpuByOneLaunch")]),
    Fault(
        "values_at_one",
        "windows that cut at values are all at temperature 1",
        [("kernels/held/values.cuh", "is_dynamic ? 1.0f : kept.temperature", "1.0f")],
        [held_rows("OfWindowsThatCutAtValuesEqualTheCpuByOneLaunch")]),
    Fault(
        "values_of_all",
        "eta's entropy is that of tokens that another window dropped, too",
        [("kernels/held/weighed.cuh", "const float relative = x > below ? all : 0.0f;", "const float relative = all;")],
        [held_rows("OfWindowsThatCutAtValuesEqualTheCpuByOneLaunch")]),
    Fault(
        "values_keep_ties",
        "where no token reaches a threshold all of the largest value are kept",
        [("kernels/held/values.cuh", "kept->is_first = ties == SAMPLER_TIES_EXACT;", "kept->is_first = false;")],
        [held_rows("OfWindowsThatCutAtValuesEqualTheCpuByOneLaunch")]),
    Fault(
        "values_count_all",
        "top-n-sigma counts tokens that another window dropped, too",
        [("kernels/held/values.cuh", "count += x > below ? 1 : 0;",
          "count += x > contract::negative_infinity() ? 1 : 0;")],
        [held_rows("OfWindowsThatCutAtValuesEqualTheCpuByOneLaunch")]),
    Fault(
        "values_observed_of_ties",
        "mirostat observes the surprise among all tokens of the largest value",
        [("kernels/held/values.cuh", "kept.is_first ? contract::weight(scale, max) : total", "total")],
        [held_rows("OfWindowsThatCutAtValuesEqualTheCpuByOneLaunch")]),
    Fault(
        "minus_0_below_0",
        "the value before 0 is -0, which equals it",
        [("src/contract/rank.h", "return value_key(value) == key ? value_of_key(key - 2) : value;", "return value;")],
        [held_rows("OfTheValue0AloneAreDrawn")]),
    Fault(
        "typical_of_the_row_s_largest",
        "draws from typical-p's window are relative to the row's largest value, not the window's",
        [("kernels/held/typical.cuh", "if (begins_later) max = largest_of(row, has);", "")],
        [held_rows("OfTypicalDrawsEqualTheCpu")]),
    Fault(
        "typical_at_one",
        "typical-p is always at temperature 1",
        [("kernels/held/typical.cuh", "is_at_one() ? 1.0f : shared.parameters.temperature", "1.0f")],
        [held_rows("OfTypicalDrawsEqualTheCpu")]),
    Fault(
        "typical_never_left",
        "rows of many ties are drawn from although typical-p's cut is not listed",
        [("kernels/held/typical.cuh", "if (!kept.is_found) return this->leave(this->index());", "")],
        [held_rows("OfTypicalDrawsEqualTheCpu")]),
    Fault(
        "weighed_by_given_values",
        "held rows that are weighed are not edited",
        [("kernels/held/edits.cuh", "this->values()[this->place_of(tile, in_tile)] = ctx.load_fresh(value);", "")],
        [stages_on_device("OfWeighedRows")]),
    Fault(
        "weighed_without_masks",
        "bitmasks of held rows that are weighed are not read",
        [("kernels/held/edits.cuh", "contract::ban(x, (allowed >> j & 1) == 0)", "x")],
        [stages_on_device("OfWeighedRows")]),
    Fault(
        "weighed_raw_of_edited",
        "raw log-probabilities beside windows are relative to the edited row's largest value",
        [("kernels/held/weighed.cuh", "draw(row, key, given);", "draw(row, key, {contract::value_of_key(key), given.weight});")],
        [stages_on_device("OfWeighedRows")]),
    Fault(
        "weighed_logit_as_given",
        "the new logit of a drawn token that was edited is that of its given value",
        [("kernels/held/reweigh.cuh", "const float value = this->edited_value(row, id);", "const float value = row.value(id);")],
        [stages_on_device("OfWeighedRows")]),
    Fault(
        "draws_streamed",
        "draws by weights alone are streamed where their rows could be held",
        [("src/cuda/backend.cpp", "if (!plan.is_on() || leaves_many) plan.held = held_of(request, device);",
          "if (std::is_same_v<Request, kernels::StagedSampleRequest> && !plan.is_on()) plan.held = held_of(request, device);")],
        [held_rows("OfDrawsEqualTheCpuByOneLaunch")]),
    Fault(
        "draft_not_removed",
        "the residual of a deterministic draft leaves the draft in",
        [("kernels/held/chain.cuh", "if (index == int(removed)) rest = 0.0f;", "")],
        [held_rows("OfChainsEqualTheCpu")]),
    Fault(
        "weight_of_earlier_blocks_forgotten",
        "the draw of a chain's last token starts again in each block of its team",
        [("kernels/held/block.cuh", "for (; target >= all[0][rank]; ++rank) target -= all[0][rank];", "for (; target >= all[0][rank]; ++rank) target -= all[0][0];")],
        [held_rows("OfChainsEqualTheCpu")]),
    Fault(
        "edits_of_the_first_tokens",
        "edits change the first 4,000 tokens of a held row alone",
        [("kernels/held/sample.cuh", "id >= 0 && id < row_.count ? int(id) : -1;",
          "id >= 0 && id < row_.count && id < 4000 ? int(id) : -1;")],
        [stages_on_device("OfHeldRows")]),
    Fault(
        "residual_of_logits_is_the_target",
        "a rejected draft's probabilities are not subtracted from those of the target's logits",
        [("kernels/held/verify.cuh", "x = contract::residual_probability(x, q[j]);", "")],
        [held_rows("OfChainsOfLogitsEqualTheCpu")]),
    Fault(
        "drafters_row_left_as_logits",
        "a drafter's logits are subtracted as if they were probabilities",
        [("kernels/held/verify.cuh", "q[j] = of_draft.probability(q[j], index);", "")],
        [held_rows("OfChainsOfLogitsEqualTheCpu")]),
    Fault(
        "raw_weights_of_edited_rows",
        "raw log-probabilities of held rows are of the weights from probability 1 up",
        [("kernels/held/sample.cuh", "this->weigh(row, scale, lowest))", "this->weigh(row, scale, max_key))")],
        [stages_on_device("OfHeldRows")]),
    Fault(
        "raw_reports_of_the_edited_row",
        "reports of a held row as given are of what its edits left",
        [("kernels/held/sample.cuh", "if (kEdits && is_raw) {", "if (false) {")],
        [stages_on_device("OfHeldRows")]),
    Fault(
        "held_windows_begin_at_the_first_token",
        "of a held row's windows only the ends drop tokens",
        [("kernels/held/windows.cuh", "&& !(window.begin > 0 && dropped.has(x, element));", ";")],
        [stages_on_device("OfHeldRows")]),
    Fault(
        "sums_of_what_windows_dropped",
        "sums of a held row's later windows are of the tokens before them, too",
        [("kernels/held/windows.cuh", "!(begins_later && before.has(x, index)) &&", "")],
        [held_rows("OfStages*")]),
    Fault(
        "typical_keeps_too_few",
        "typical-p of a held row keeps fewer tokens than min_keep wants",
        [("kernels/held/windows.cuh", "end - begin >= rule.min_keep || end - begin == seen.count();", "true;")],
        [held_rows("OfTypicalWindowsBesideOthersEqualTheCpu")]),
    Fault(
        "new_weights_of_all",
        "adaptive-p and smoothing of a held row take in what filters removed",
        [("kernels/held/windows.cuh", "if (!kept.has(x, element)) return contract::negative_infinity();", "")],
        [stages_on_device("OfHeldRows")]),
    Fault(
        "history_read_without_edits",
        "a held row with windows alone reads the history that no edit of it needs",
        [("kernels/held/sample.cuh", "if (!kStages || request.stages.has_edits()) status", "if (true) status")],
        [held_rows("OfStagesMayHaveBadHistories")]),
    Fault(
        "removed_tokens_on_top",
        "the top tokens of a held row are listed where filters removed them, too",
        [("kernels/held/reports.cuh", "i < this->count() && shared.row.list[i] >= reported.cut", "i < this->count()")],
        [stages_on_device("OfHeldRows"), held_rows("OfReportsAreNotLeft")]),
    Fault(
        "kept_lists_of_blocks_overlap",
        "every block lists its kept tokens from the list's beginning on",
        [("kernels/held/reports.cuh", "before += counts[0][rank];", "before += 0;")],
        [stages_on_device("OfHeldRows")]),
    Fault(
        "rank_of_the_first_tie",
        "the rank of a token does not count its ties before it",
        [("kernels/held/reports.cuh", "rank += token.has(x[i], index) ? 1 : 0;", "rank += x[i] > token.low || index == token.last ? 1 : 0;")],
        [stages_on_device("OfHeldRows")]),
    Fault(
        "raw_weights_at_the_temperature",
        "raw log-probabilities of streamed rows are of the weights at the row's temperature",
        [("kernels/stream/stream.cuh",
          "const bool is_at_one = i == 1 || state().need == StreamNeed::kRaw;",
          "const bool is_at_one = i == 1;")],
        [streamed_rows("EqualTheCpuInAnyOrderAndSlots")]),
    Fault(
        "marks_of_the_edit_before",
        "an edit finds the tokens marked that the one before it has marked",
        [("src/cpu/edited_row.h", "      mark = kUnmarked;\n", "")],
        [stages("OfEdits")]),
    Fault(
        "prompt_counted_as_output",
        "frequency and presence penalties count the prompt, too",
        [("src/cpu/penalties.cpp",
          "num_from(scope != SAMPLER_PENALTY_SCOPE_ALL)",
          "num_from(false)")],
        [stages("OfEdits")]),
    Fault(
        "last_repeat_counts",
        "DRY goes by the last repeat that a token would continue, not by the longest",
        [("src/cpu/text_edits.cpp",
          "mark = std::max(mark, repeat);",
          "mark = repeat;")],
        [stages("OfEdits")]),
    Fault(
        "breakers_lowered",
        "DRY lowers tokens that are breakers themselves",
        [("src/cpu/text_edits.cpp",
          "    if (breakers.has_token(given_.id(row_.element_at(slot)))) return;\n", "")],
        [stages("OfEdits")]),
    Fault(
        "mask_indices_ignored",
        "each row has the bitmask of its own number",
        [("src/cpu/edits.h",
          "pipeline_->bitmask_indices ? pipeline_->bitmask_indices[output] : output",
          "output")],
        [stages("OfEdits")]),
    Fault(
        "words_of_all_slots",
        "a slot has the bad words of the slots before it, too",
        [("src/cpu/text_edits.cpp", "offsets ? offsets[slot_] : 0;", "0;")],
        [stages("OfEdits")]),
    Fault(
        "words_end_in_the_prompt",
        "bad words that are looked for in the output alone are found in the prompt",
        [("src/cpu/text_edits.cpp",
          "pipeline_->bad_words_end_output ? text.output_length() : text.length()",
          "text.length()")],
        [stages("OfEdits")]),
    Fault(
        "dense_bias_of_the_first_slot",
        "every slot has the first one's dense bias",
        [("src/cpu/edits.cpp", "pipeline_->dense_bias_by_slot ? slot_ * width : 0", "0")],
        [stages("OfEdits")]),
    Fault(
        "dropped_tokens_drawn",
        "tokens that a window has dropped from the top are drawn",
        [("src/cpu/simd/row_windows.cpp", "  row_.begin_later(first, memory_);\n", "")],
        [row_kinds("HaveTheStagesOfTheReference")]),
    Fault(
        "temperature_before_its_stage",
        "windows before the temperature's stage see it",
        [("src/contract/stages.h", "float in_force = 1.0f;",
          "float in_force = parameters_.temperature;")],
        [stages("OfWindows")]),
    Fault(
        "joint_filters_one_after_the_other",
        "with JOINT each filter sees what the one before it has kept",
        [("src/contract/stages.h", "if (all_filters_see.count() == 0) all_filters_see = seen;",
          "all_filters_see = seen;")],
        [stages("OfWindows")]),
    Fault(
        "fewer_than_min_keep_sorted",
        "a top-k that keeps more than k for min_keep has k tokens to keep",
        [("src/contract/stages.h",
          "parameters_.top_k > numbers_.min_keep ? parameters_.top_k : numbers_.min_keep;",
          "parameters_.top_k;")],
        [row_kinds("HaveTheStagesOfTheReference")]),
    Fault(
        "listed_order_ignored",
        "temperature, top-k, top-p and min-p run in the usual order, whatever order is listed",
        [("src/capi/stage_order.cpp", "if (!are_equal(usual, asked)) continue;", "")],
        [stages("OfWindows")]),
    Fault(
        "truncation_leaves_counts",
        "tokens that are truncated still count",
        [("src/contract/state_slots.h", "      uncount(tokens_[at], is_prompt);\n", "")],
        [state("Bytes.AreThoseOfBeforeAfterTruncation"),
         state("Sampling.WithAStateEqualsThatOfTheSameText")]),
    Fault(
        "counts_of_the_prompt_are_the_outputs",
        "frequency and presence penalties by a state's counts count the prompt, too",
        [("src/cpu/penalties.cpp",
          "token.in_output + (in_all ? token.in_prompt : 0)",
          "token.in_output + token.in_prompt")],
        [state("Sampling.WithAStateEqualsThatOfTheSameText")]),
    Fault(
        "counted_tokens_walked",
        "of a text that a state has counted in part, the whole is counted again",
        [("src/cpu/penalties.cpp", "text.length() - std::max(first, known.length)",
          "text.length() - first")],
        [state("Sampling.WithAStateEqualsThatOfTheSameText")]),
    Fault(
        "part_of_a_row_accepted",
        "of tokens that do not fit in a slot, those that do are taken",
        [("src/contract/state_rows.h", "  const TokenList list = accepted(request, row);\n",
          "  const TokenList list = [&] {\n"
          "    TokenList fitting = accepted(request, row);\n"
          "    while (!sequence.has_room(fitting.count)) --fitting.count;\n"
          "    return fitting;\n"
          "  }();\n")],
        [state("Slots.HoldWhatTheOracleHoldsAfterAnyCalls")]),
    Fault(
        "other_counts_copied",
        "counts are copied to slots that have room for another number of them",
        [("src/contract/state_slots.h", "if (!counts_like(source)) {",
          "if (source.num_distinct() > layout_.max_distinct) {")],
        [state("Bytes.FollowFromWhatTheSlotsHold")]),
    # ---- Reports
    Fault(
        "equal_tokens_of_higher_ids_ranked_before",
        "tokens equal to the one that is ranked count as before it, whatever their ids are",
        [("src/cpu/simd/reports.cpp", "passes_.count_groups(row_, maxima_, id, row_.count, next)",
          "passes_.count_groups(row_, maxima_, id + 1, row_.count, value)")],
        [reports("OfEdits")]),
    Fault(
        "surprise_of_nothing",
        "tokens that weigh nothing have part in the entropy",
        [("src/cpu/simd/passes/relative.h", "x = as_floats(min_words(as_ints(x), lowest));", "x = x;")],
        [row_pass("SumEntropy")]),
    Fault(
        "shared_reports_written_once",
        "of outputs that share a row only the first one has its reports",
        [("src/cpu/sampled_row.h", "reports_.copy_to(output);", "reports_.write_bad(output);")],
        [("pipeline_test", "SharedReports.EqualThoseOfRowsApart")]),
    Fault(
        "long_kept_list_cut",
        "a kept list that is too long for its room has its first tokens, and is not empty",
        [("src/cpu/reports.h", "list.has_room ? count : 0",
          "list.has_room ? count : reports_->are_lists_packed() ? 0 : reports_->kept_capacity"),
         ("src/cpu/reports.h", "list.probabilities && listed > 0",
          "list.probabilities && list.has_room")],
        [reports("OfEdits"), reports("OfWindows")]),
    Fault(
        "packed_lists_of_bad_rows",
        "a bad row has the list of the output before it, where lists are packed",
        [("src/cpu/reports.h", "take_list(*kept_lists_, output, 0, 0);",
          "take_list(*kept_lists_, output, 0, 0), output > 0 ? share_list(*kept_lists_, output - 1, "
          "output) : void();")],
        [reports("OfEdits"), ("capi_test", "PackedLists.OfARowAreTheSameInAnyBatch")]),
    Fault(
        "removed_by_the_last_edit",
        "a token that several edits ban counts as removed by the last of them",
        [("src/cpu/edits.cpp", "removed_by_[i] == 0 && values[i]",
          "removed_by_[i] < 6 && values[i]")],
        [reports("OfEdits")]),
    Fault(
        "removed_by_the_filter_listed_first",
        "with JOINT the filter that is listed first counts, not the first of top-k, top-p and min-p",
        [("src/cpu/removals.h", "by == contract::kNotRemoved || by > stage",
          "by == contract::kNotRemoved")],
        [reports("OfWindows")]),
    Fault(
        "p_less_of_all_tokens",
        "normalised p-less divides by the number of tokens, not of the others",
        [("src/contract/collision.h", "uint64_t(count - 1)", "uint64_t(count)")],
        [stages("OfWindows")]),
    Fault(
        "p_less_rounded_down",
        "p-less keeps tokens that weigh a unit too little",
        [("src/contract/collision.h", "least = below + 1;", "least = below;")],
        [stages("OfWindows")]),
    Fault(
        "top_a_of_the_probability",
        "top-a takes a share of the largest probability, not of its square",
        [("src/contract/windows.h", "const float share = top_a * probability;",
          "const float share = top_a * probability / probability;")],
        [stages("OfWindows")]),
    Fault(
        "min_k_of_exactly_k",
        "min-k splits tokens of one value",
        [("src/contract/ranked_windows.h", "with_ties(kept > 0 ? kept : 1, SAMPLER_TIES_KEEP, seen)", "kept")],
        [("pipeline_test", "Types/Stages.OfWindowsEqualThoseOfTheOracle/BF16")]),
    Fault(
        "min_k_of_the_last_fall",
        "of equally steep falls min-k takes the last",
        [("src/contract/windows.h", "steepness > steepness_", "steepness >= steepness_")],
        [("pipeline_test", "Types/Stages.OfWindowsEqualThoseOfTheOracle/BF16")]),
    # ---- Watermarks
    Fault(
        "watermark_of_the_length",
        "contexts that begin alike and differ in length draw alike",
        [("src/contract/watermark.h", "kWatermarkContext, uint32_t(length), 0, 0", "kWatermarkContext, 0, 0, 0")],
        [watermark("Vllm.*")]),
    Fault(
        "watermark_not_flipped",
        "the least uniform number has the most noise",
        [("src/contract/philox.h", "word = ~word;", "word = word;")],
        [watermark("Draws.*"), watermark("Vllm.*")]),
    Fault(
        "watermark_not_flipped_in_vectors",
        "the same in passes of an instruction set",
        [("src/cpu/simd/passes/gumbel.h", "word = bit_xor(word, splat(-1))", "word = bit_xor(word, splat(0))")],
        [row_pass("Gumbel")]),
    Fault(
        "watermark_counts_repeats",
        "tokens after a repeated context count",
        [("src/capi/watermark.cpp", "if (!keeps_repeated) out->keep_first", "if (keeps_repeated) out->keep_first")],
        [watermark("Detect.*")]),
    Fault(
        "permutations_of_all_places",
        "each step of a green list's permutation has all places to choose from",
        [("src/contract/watermark_schemes.h", "words.next() % uint32_t(size - i)", "words.next() % uint32_t(size) % uint32_t(size - i)")],
        [watermark("Schemes.GreenListsAreThoseOfTransformers")]),
    Fault(
        "green_lists_of_the_last_token",
        "SELFHASH takes the seed of the last token alone",
        [("src/contract/watermark_schemes.h", "for (int64_t i = std::max<int64_t>(count - context_width, 0); i < count; ++i)",
          "for (int64_t i = count - 1; i < count; ++i)")],
        [watermark("Schemes.GreenListsAreThoseOfTransformers")]),
    Fault(
        "layers_share_their_bits",
        "all layers of a tournament have the first one's key",
        [("src/contract/watermark_schemes.h", "keys[layer]), rest", "keys[0]), rest")],
        [watermark("Schemes.TournamentsAreThoseOfTransformers")]),
    # ---- Unmasking
    Fault(
        "unmask_later_rows_first",
        "of equal confidences the later row is committed",
        [("src/contract/unmask.h", "uint64_t(size() - 1 - i)", "uint64_t(i)")],
        [unmask("Unmask.IsTheOracles")]),
    Fault(
        "unmask_at_the_threshold",
        "a confidence that is the threshold passes it",
        [("src/contract/unmask.h", ": confidence > threshold;", ": confidence >= threshold;")],
        [unmask("Unmask.ThresholdsThemselvesDoNotPass")]),
    Fault(
        "unmask_steps_rounded_down",
        "a block's steps leave a rest masked",
        [("src/contract/unmask.h", "(int64_t(num_masked) + steps - 1) / steps", "int64_t(num_masked) / steps")],
        [unmask("UnmaskLaws.StepsLeftFillTheBlock"), unmask("Engines.*")]),
    Fault(
        "unmask_one_word_a_slot",
        "rows of one slot are committed by one random number",
        [("src/contract/unmask.h", "uint32_t(i) & kIndexMask", "0")],
        [unmask("UnmaskLaws.RandomRowsAreIndependent")]),
    Fault(
        "unmask_the_mask_itself",
        "the mask token stands as a candidate",
        [("src/contract/unmask.h", "id >= 0 && !is_mask && !is_nan", "id >= 0 && !is_nan")],
        [unmask("Unmask.IsTheOracles")]),
    Fault(
        "unmask_within_the_bound",
        "the entropies must sum to less than the bound, its row's own included",
        [("src/contract/unmask.h", "entropy_budget(request.entropy_bound),",
          "entropy_budget(request.entropy_bound) - 1,")],
        [unmask("Unmask.ThresholdsThemselvesDoNotPass")]),
    Fault(
        "unmask_descending_offsets",
        "offsets may descend",
        [("src/contract/unmask.h", "i == 0 ? 0 : request.block_offsets[i - 1]", "0")],
        [unmask("Unmask.RefusesOffsetsAsAWhole")]),
    # ---- Adaptive stages
    Fault(
        "vocabulary_of_the_window",
        "mirostat's first version takes the tokens that it sees for the vocabulary",
        [("src/contract/ranked_windows.h", "int32_t(num_elements), int32_t(seen.count())",
          "int32_t(seen.count()), int32_t(seen.count())")],
        [stages("OfWindows")]),
    Fault(
        "mask_of_a_bad_count",
        "a row whose count is above its columns has a mask, beyond the workspace",
        [("src/cpu/stages.h", "has_edits() && contract::has_valid_count(given, num_cols_)",
          "has_edits()")],
        [("pipeline_test", "Isa/MasksOfBadCounts.AreNotMade/*")]),
    Fault(
        "surprise_of_the_first_token",
        "mirostat observes how much likelier the first token is",
        [("src/cpu/stages.h", "(drawn.scale, value), drawn.kept_weight)",
          "(drawn.scale, value), uint64_t(1) << contract::kWeightBits)")],
        [stages("OfWindows"), ("pipeline_test", "LongRun.OfMirostatV2ReachesItsTarget")]),
    Fault(
        "changed_probability_observed",
        "adaptive-p observes the probability that it has made",
        [("src/cpu/stages.h",
          "return reweighing_.adaptive_p.probability(seen_.value(elements_.find(id)));",
          "return contract::relative_probability(drawn.scale, value) * drawn.normalizer;")],
        [stages("OfWindows"), ("pipeline_test", "LongRun.OfAdaptivePFollowsTheModel")]),
    Fault(
        "new_logits_at_another_temperature",
        "adaptive-p's logits are drawn from at temperature 2",
        [("src/cpu/reference_row.cpp", "load(reweighed);\n  return distribute({1.0f, 0, 1.0f, 0.0f}, {});",
          "load(reweighed);\n  return distribute({2.0f, 0, 1.0f, 0.0f}, {});")],
        [stages("OfWindows")]),
    Fault(
        "table_of_other_tokens",
        "tokens below those of adaptive-p's table weigh nothing",
        [("src/cpu/simd/passes/reweigh.h", "if (!kIsFrom0) others = either(others, within(sums[i], grid, below));",
          "")],
        [("simd_test", "WindowPass.WeighAdaptive")]),
    Fault(
        "low_weights_of_padding",
        "the vector after adaptive-p's other tokens is taken for some of them",
        [("src/cpu/simd/passes/reweigh.h", "return num_left - (kWidth - count % kWidth) % kWidth;", "return num_left;"),
         ("src/cpu/simd/passes/reweigh.h", "store(sums + count, beyond);", "store(sums + count, splat(6.0f));")],
        [("simd_test", "WindowPass.WeighAdaptive")]),
    Fault(
        "low_weights_of_few",
        "the table of low weights is looked up before it is made",
        [("src/cpu/simd/passes/reweigh.h", "if (!is_made_) weights.make(", "if (is_made_) weights.make(")],
        [("simd_test", "WindowPass.WeighAdaptive")]),
    Fault(
        "tokens_left_out_unmarked",
        "adaptive-p takes tokens that filters removed for tokens of probability 0",
        [("src/cpu/simd/passes/reweigh.h", "x = Bounds::kMarks ? choose(negative(x), splat(kNotKept), x)",
          "x = Bounds::kMarks || !Bounds::kMarks ? x")],
        [("simd_test", "WindowPass.WeighAndMark")]),
    Fault(
        "smoothing_without_a_cube",
        "smoothing has no cube on the machine's own passes",
        [("src/cpu/simd/passes/reweigh.h", "fma(cube, bits, square)", "square")],
        [("simd_test", "WindowPass.ReweighBySmoothing")]),
    Fault(
        "smoothing_of_another_curve",
        "a curve of 0 is a straight 0, and not 1",
        [("src/contract/adaptive.h", "bend = curve == 0.0f ? 1.0f : curve;", "bend = curve;")],
        [("pipeline_test", "Adaptive.SmoothsByASquareOrByACube")]),
    Fault(
        "lone_probability_by_a_product",
        "adaptive-p multiplies with what the sum is divided by: a lone token's probability may lack an ulp",
        [("src/contract/adaptive.h", "return relative_probability(seen, x) / total;",
          "return relative_probability(seen, x) * (1.0f / total);")],
        [("pipeline_test", "Adaptive.PIsExactOfALoneToken")]),
    Fault(
        "values_of_the_first_slot",
        "every slot has the first one's adaptive values",
        [("src/contract/pipeline.h", "adaptive_values + slot * SAMPLER_NUM_ADAPTIVE_VALUES",
          "adaptive_values + 0 * slot")],
        [stages("OfWindows"), ("pipeline_test", "TopPDecay.TakesThePlaceOfTopP")]),
    Fault(
        "top_p_never_running",
        "top-p decay draws with the first top_p",
        [("src/contract/pipeline.h", "begun_top_p(values, rules)",
          "top_p_start(rules.top_p)")],
        [("pipeline_test", "TopPDecay.TakesThePlaceOfTopP")]),
    Fault(
        "infinite_values_taken",
        "adaptive values may be infinite",
        [("src/contract/pipeline.h", " && are_valid_values(values(slot))", "")],
        [("pipeline_test", "Adaptive.ValuesAreNotInfinite")]),
    Fault(
        "adaptive_stage_in_the_middle",
        "a list may have stages after ADAPTIVE",
        [("src/capi/stage_order.cpp", "listed->has(SAMPLER_STAGE_ADAPTIVE)", "false")],
        [("capi_test", "Of/ArgumentRules.EachIsChecked/sampler_sample")]),
    Fault(
        "values_of_the_state_unread",
        "adaptive stages start anew in each draw by a state",
        [("src/contract/pipeline.h",
          "    if (state_slots) return state_slots[slot].values();\n", "")],
        [state("Adaptive.LoopsByAStateAreThoseByLists")]),
    # ---- Windows on a device
    Fault(
        "windows_begin_at_the_first_token",
        "a window on a device that begins later sees the tokens before it",
        [("kernels/row/windows.cuh", "{ return summary_.first != row_first_; }", "{ return false; }")],
        [stages_on_device("OfWindows")]),
    Fault(
        "less_likely_taken_first_on_device",
        "typical-p on a device keeps the less likely first of those at one distance",
        [("kernels/row/windows.cuh", "if (measured >= level.target) {", "if (false) {")],
        [stages_on_device("OfWindows")]),
    # ---- Adaptive stages and reports on a device
    Fault(
        "changed_probability_observed_on_device",
        "adaptive-p on a device observes the probability that it has made",
        [("kernels/stages/stages.cuh", "return contract::float_of(row_.marks[find(id)]);",
          "return contract::relative_probability(drawn.scale, value) * drawn.normalizer;")],
        [stages_on_device("OfWindows")]),
    Fault(
        "maxima_of_fewer_than_top_k",
        "on a device a top-k of all tokens looks at those that the reports want alone",
        [("kernels/stages/staged.cuh", "reports_drawn_row() && !keeps_all", "reports_drawn_row()")],
        [stages_on_device("Reports")]),
    Fault(
        "edited_row_after_windows",
        "on a device reports of the edited row are of what the windows leave of it",
        [("kernels/stages/staged.cuh", "(kind_ == SAMPLER_LOGPROB_EDITED && !keeps_edited_)",
          "kind_ == SAMPLER_LOGPROB_EDITED")],
        [stages_on_device("Reports")]),
    Fault(
        "kept_list_by_element",
        "on a device the kept candidates are listed as they stand in the row",
        [("kernels/operations/reports.cuh", "is_in ? elements_.at(place) : 0", "is_in ? place : 0")],
        [stages_on_device("Reports")]),
    Fault(
        "packed_lists_need_room_to_spare",
        "on a device lists that fill all of their room are left out",
        [("kernels/operations/kept_lists.cuh", "<= request.capacity", "< request.capacity")],
        [stages_on_device("Reports")]),
    # ---- Presets
    Fault(
        "preset_in_another_order",
        "llama.cpp's preset has the temperature before the filters",
        [("src/capi/presets.cpp",
          "kTopNSigma, kTopK, kTypicalP, kTopP, kMinP, kXtc, kTemperature,",
          "kTemperature, kTopNSigma, kTopK, kTypicalP, kTopP, kMinP, kXtc,")],
        [presets("LlamaCpp")],
        alone=True),
    Fault(
        "preset_with_other_ties",
        "Hugging Face's preset keeps k tokens of those that tie",
        [("src/capi/presets.cpp", "kKeep, kExact, kKeep, kKeep, kReaches, kReaches,",
          "kExact, kExact, kKeep, kKeep, kReaches, kReaches,")],
        [presets("HuggingFace")],
        alone=True),
    Fault(
        "preset_with_another_form",
        "vLLM's preset divides by the repetition penalty",
        [("src/capi/presets.cpp",
          "kKeep, kExact, kExact, kExact, kReaches, kReaches,\n     kSequential, kStandard, kReciprocal, kOutput,",
          "kKeep, kExact, kExact, kExact, kReaches, kReaches,\n     kSequential, kStandard, kDivide, kOutput,")],
        [presets("Vllm")],
        alone=True),
    Fault(
        "preset_of_another_runner",
        "the preset of vLLM's second runner keeps all tokens that tie, as the first runner does",
        [("src/capi/presets.cpp",
          "kExact, kExact, kExact, kExact, kReaches, kReaches,\n     kSequential, kStandard, kReciprocal, kOutput,",
          "kKeep, kExact, kExact, kExact, kReaches, kReaches,\n     kSequential, kStandard, kReciprocal, kOutput,")],
        [presets("VllmV2")],
        alone=True),
    Fault(
        "maxima_from_before_edits",
        "the largest of a group of elements stays what it was before one of them was edited",
        [("src/cpu/simd/edits.cpp", "    refresh_maxima(from);\n", "")],
        [row_kinds("HaveTheStagesOfTheReference")], ends_it=True),
    Fault(
        "gumbel_draws_never_weighed",
        "log-probabilities of Gumbel draws are of the first token's weight alone",
        [("src/cpu/sampled_row.h", "return has_distribution_outputs() ? 1 : 0;", "return 0;")],
        [row_kinds("HaveTheStagesOfTheReference")]),
    Fault(
        "edited_tokens_weigh_as_given",
        "draws from all tokens find those that are edited by the weights that were given",
        [("src/cpu/simd/edits.cpp", "    block_weights_[i / kSums] += sums[i];\n", "")],
        [row_kinds("DrawAloneFromEditedRows")], ends_it=True),
    Fault(
        "block_drawn_from_as_given",
        "a block that a token is drawn from has its edited tokens as they were given",
        [("src/cpu/simd/draws.cpp",
          "    edited_->write_changed(begin, tokens.source.count, scratch_values_);\n", "")],
        [row_kinds("DrawAloneFromEditedRows")], ends_it=True),
    Fault(
        "banned_tokens_weighed",
        "a bitmask's tokens are weighed by the mask of their neighbours",
        [("src/cpu/simd/passes/relative.h", "allowed_by(bits + j)", "allowed_by(bits)")],
        [("simd_test", "WindowPass.WeighWhatIsAllowed")]),
    Fault(
        "slots_of_earlier_stages_forgotten",
        "a token that a stage before the penalties has edited is penalised apart",
        [("src/cpu/edited_row.h", "seen[elements[slot]] = kHasSlot;", "(void)slot;")],
        [row_kinds("HaveTheStagesOfTheReference"), stages("OfEdits")]),
    Fault(
        "edited_tokens_listed_as_given",
        "a list of a row's first tokens has edited ones by the logits that were given",
        [("src/cpu/simd/row.cpp", "  if (edited_) replace_edited();\n", "")],
        [row_kinds("HaveTheStagesOfTheReference")]),
    Fault(
        "front_listed_as_given",
        "penalised tokens keep their places among a row's first ones",
        [("src/cpu/simd/edits.cpp", "  if (edited.num_slots() > 0) replace_edited();\n", "")],
        [front("OfPenalizedRowsEqualsTheOracle"), front("OfTextsThatAStateHoldsEqualsTheOracle")]),
    Fault(
        "raising_penalties_of_the_front_alone",
        "penalties that raise do so with no token that was not among a row's first ones before",
        [("src/cpu/edits.cpp", "contract::only_lower(numbers.penalties) &&", "")],
        [front("OfPenalizedRowsEqualsTheOracle")]),
    Fault(
        "biased_tokens_not_penalised",
        "a token that a bias raises after the penalties is not penalised",
        [("src/cpu/penalties.cpp", "for_list(pipeline_->biased);", "")],
        [front("OfPenalizedRowsEqualsTheOracle")]),
    Fault(
        "raised_ends_not_penalised",
        "an end that the length raises after the penalties is not penalised",
        [("src/cpu/penalties.cpp", "if (may_raise_stops()) for_list(pipeline_->stop);", "")],
        [front("OfPenalizedRowsEqualsTheOracle")]),
    Fault(
        "exempt_tokens_are_penalised",
        "tokens that are exempt of penalties have them",
        [("src/cpu/penalties.cpp", "if (slot >= 0) row_.mark_at(slot) = EditedRow::kUnmarked;", "(void)slot;")],
        [front("OfPenalizedRowsEqualsTheOracle"), stages("OfEdits")]),
    Fault(
        "exempt_tokens_are_penalised_on_device",
        "on a device tokens that are exempt of penalties have them",
        [("kernels/stages/text_edits.cuh", "if (unpenalized.count > 0) {", "if (unpenalized.count < 0) {")],
        [stages_on_device("OfEdits")]),
    Fault(
        "ends_raised_as_often_as_listed",
        "an end that is listed twice gains twice on a device",
        [("kernels/stages/text_edits.cuh",
          "if (row_.team.ctx.atomic_or(&row_.marks[element], kDone) >= kDone) return;",
          "(void)kDone;")],
        [stages_on_device("OfEdits")]),
    Fault(
        "decay_counts_the_prompt",
        "the exponential decay begins with the text, not with the output",
        [("src/cpu/penalties.cpp", "numbers.decay.gain(text.output_length())",
          "numbers.decay.gain(text.length())")],
        [stages("OfEdits")]),
    Fault(
        "front_widened_without_bound",
        "a text whose tokens all fall behind others is looked through for all that were before them",
        [("src/cpu/simd/edits.cpp", "groups_from(bound) > kMostGroups", "false"),
         ("src/cpu/simd/edits.cpp", "std::min(kMostTokens, row_.count / kColumnsPerToken)",
          "row_.count")],
        [complexity("LongTexts.CostAFewReadsWhateverTheirTokensAre")]),
    Fault(
        "empty_lists_allow_none",
        "a slot whose list of allowed tokens is empty may draw none",
        [("src/contract/pipeline.h", "*has_list = list->count > 0;", "*has_list = true;")],
        [masks()]),
    Fault(
        "scores_by_slot",
        "a row scores the token of its slot's row",
        [("src/contract/pipeline.h", "load_id(scored_token_ids, scored_id_type, output)",
          "load_id(scored_token_ids, scored_id_type, slot)")],
        [("pipeline_test", "PlainScores.OfSeveralTokensOfARow")]),
    Fault(
        "kept_lists_by_slot",
        "a row is scored by what was kept of its slot's row",
        [("src/contract/pipeline.h", "return kept.find(output, list);",
          "return kept.find(slot, list);")],
        [("pipeline_test", "Types/Scores.FromKeptListsAreWhatSamplingReported/F32")]),
    Fault(
        "padding_is_drawn",
        "a row without a token to score has one drawn",
        [("src/contract/pipeline.h", "return id < 0 ? kMaxVocabulary : id;", "return id;")],
        [("pipeline_test", "PlainScores.OfTokensThatNoRowHasAreNone")]),
    Fault(
        "forced_tokens_are_verified",
        "the rule decides where a token is forced",
        [("src/contract/verify_extended.h",
          "if (forced >= 0) return decide_forced(position, forced, next, token);", "")],
        [("verification_test", "Walk/Rule.OfForcedTokens/Standard")]),
    Fault(
        "biases_without_contexts",
        "a bias is added whatever the text ends in",
        [("src/cpu/edits.cpp",
          "if (contexts && !ends_in(text, contexts, biased.begin + i)) continue;", "")],
        [stages("OfEdits")]),
    Fault(
        "biases_without_contexts_on_device",
        "the device adds a bias whatever the text ends in",
        [("kernels/stages/edits.cuh", "if (!is_in_context(list.begin + i)) return;", "")],
        [stages_on_device("OfEdits")]),
    Fault(
        "guidance_by_slot",
        "a row is guided by the row of its slot's number",
        [("src/cpu/edits.cpp", "guidance.find(output_, &other)", "guidance.find(slot_, &other)")],
        [stages("OfEdits")]),
    Fault(
        "guidance_by_slot_on_device",
        "on a device a row is guided by the row of its slot's number",
        [("kernels/stages/edits.cuh", "guidance.find(output_, &other)", "guidance.find(slot_, &other)")],
        [stages_on_device("OfEdits")]),
    Fault(
        "shards_guided_by_any",
        "ranks need not agree on the row that guides another",
        [("src/shards/digests.h",
          "if (pipeline.guidance.guides(slot, output)) add(pipeline.guidance.index(output));", "")],
        [shards("ShardArguments.InArraysMakeRowsBadWhereTheyDiffer")]),
    Fault(
        "guided_away_from_nothing",
        "a token that the guidance excludes becomes the likeliest",
        [("src/contract/edits.h", "if (!is_finite(u)) return x;", "")],
        [stages("OfEdits")]),
    Fault(
        "windows_walked_while_off",
        "a slot without windows is walked because others have some",
        [("src/contract/stages.h", "if (is_on(stage)) return true;\n    }\n    return false;",
          "if (is_on(stage)) return true;\n    }\n    return true;")],
        [complexity("StagesThatAreOff.CostNothing")]),
    Fault(
        "typical_ties_from_the_first",
        "of tokens as near to the mean surprise, a token too few of the likelier ones is dropped",
        [("src/cpu/simd/row_nearest.cpp", "begin_at(first.value, dropped + 1, seen)",
          "begin_at(first.value, dropped, seen)")],
        [row_kinds("HaveTheStagesOfTheReference")]),
    Fault(
        "typical_p_believes_a_sample",
        "typical-p's ends are not looked for elsewhere where they are not where a sample expects them",
        [("src/cpu/simd/row_nearest.cpp", "if (band_.below >= target_) return false;",
          "band_.below = std::min(band_.below, target_ - 1);")],
        [row_kinds("KeepWhatTypicalPDoesWhereASampleMisleads")]),
    Fault(
        "typical_p_believes_where_a_sample_ends",
        "typical-p ends where a sample expects it to, though that weighs too little",
        [("src/cpu/simd/row_nearest.cpp", "expected = band_;\n        if (select_level()) return;",
          "expected = band_;\n        if (select_level() || true) return;")],
        [row_kinds("KeepWhatTypicalPDoesWhereASampleMisleads")]),
    Fault(
        "typical_p_believes_where_a_sample_of_few_ends",
        "typical-p of which few tokens are expected ends with them, though they weigh too little",
        [("src/cpu/simd/row_nearest.cpp", "leave_likely(hint.num_kept);\n        if (select_level()) return;",
          "leave_likely(hint.num_kept);\n        if (select_level() || true) return;")],
        [row_kinds("KeepWhatTypicalPDoesWhereASampleMisleads")]),
    Fault(
        "typical_p_first_not_looked_for",
        "the first token of what typical-p keeps is taken for the row's first id",
        [("src/cpu/simd/row_windows.cpp", "if (!begin_.is_found) {", "if (false) {")],
        [row_kinds("TakeTheFirstTokenThatTypicalPKeeps")]),
    Fault(
        "ties_drawn_before_the_first_kept",
        "tokens that equal a window's first one, and come before it, are drawn where nothing else is asked",
        [("src/cpu/simd/row.cpp", "result.before_first = contract::previous_value(max());",
          "result.before_first = max();")],
        [row_kinds("DrawAloneWhatTypicalPKeeps")]),
    Fault(
        "ties_before_the_first_kept",
        "tokens that equal a window's first one, and come before it, stay",
        [("src/cpu/simd/row.cpp", "copy(0, block_end, contract::previous_value(value));",
          "copy(0, block_end, value);")],
        [row_kinds("LoseTiesBeforeTheFirstTokenKept")]),
    # ---- Masks
    Fault(
        "top_k_of_all_that_a_mask_allows",
        "behind min-p, top-k takes its tokens from all that a mask allows",
        [("src/cpu/simd/filters.cpp", "covers(seen)) {\n      row_.shrink_list(seen);", "covers(seen)) {")],
        [masks()]),
    Fault(
        "masks_full_but_for_the_last_tokens",
        "a mask passes for a full one that lacks some of the last tokens",
        [("src/cpu/edits.cpp", "return count % 32 == 0 || (~words[whole] << (32 - count % 32)) == 0;",
          "return true;")],
        [masks()]),
    # ---- Stages of loops
    Fault(
        "beams_edited_by_their_parents",
        "a beam's rows are edited by its text without its last token",
        [("src/decoding/loops/beam_edits.cpp",
          "    lengths_[size_t(feed.sequence)] = feed.length;",
          "    lengths_[size_t(feed.sequence)] = feed.length - 1;")],
        [decoding("BeamSearch.EditsAreThoseOfEachBeamsText")]),
    Fault(
        "blocks_share_their_drafts_words",
        "what block verification rejected is drafted with the same words in the next round",
        [("src/decoding/session/draft_offset.h",
          "acceptance == SAMPLER_ACCEPT_BLOCK || acceptance == SAMPLER_ACCEPT_DEFERRED;",
          "acceptance == SAMPLER_ACCEPT_DEFERRED;")],
        [decoding_distribution("Distribution.SpeculativeByBlocks")]),
    Fault(
        "rounds_leave_no_text",
        "what a round gives does not enter the texts that stages see",
        [("src/decoding/session/verify_batch.cpp", "group.count > 0 ? accept(entry, group)",
          "group.count < 0 ? accept(entry, group)")],
        [decoding("LoopStages.SampleMatchGivesTheTextWithoutDraftsOfEveryPreset")]),
    # ---- Sessions
    Fault(
        "blocks_draw_each_step_alike",
        "candidates of a block are drawn with the same random words in each of its steps",
        [("src/decoding/session/block_batch.cpp", "streams_[sequence] = uint32_t(own.block.num_steps);",
          "streams_[sequence] = 0;")],
        [session("SessionBlocks.TextsAreThoseOfSingleCalls")]),
    Fault(
        "blocks_forget_their_schedule",
        "every step of a block has as many steps left as the first one",
        [("src/decoding/session/block_batch.cpp", "params.num_steps_left - block.num_steps", "params.num_steps_left")],
        [session("SessionBlocks.TextsAreThoseOfSingleCalls")]),
    Fault(
        "blocks_edit_for_ever",
        "a block whose tokens ever take each other's place never ends",
        [("src/decoding/session/session_block.h", "num_edit_steps++ == kMaxEditSteps", "num_edit_steps++ < 0")],
        [session("SessionBlocks.EditsEnd")]),
    Fault(
        "prompts_are_cut_within_blocks",
        "a part of a prompt ends where the room does, within a block",
        [("src/decoding/session/session.cpp", "if (block.is_used()) part_end = block.begin_of(part_end);", "")],
        [session("SessionBlocks.RoomDoesNotMatter")]),
    Fault(
        "guidance_follows_the_first_row",
        "drafts of a session have the guidance of the text before them",
        [("src/decoding/session/chain_layout.cpp",
          "guidance_row_of(args, first_row + j)", "guidance_row_of(args, first_row)")],
        [session("SessionSchedule.TextsWithMasksAndFirstTokensAreThoseAlone")]),
    Fault(
        "offsets_count_the_prompt",
        "a session's tokens are drawn at their place in the text, prompt included",
        [("src/decoding/session/chain_layout.cpp",
          "  table_.offsets()[sequence] = uint64_t(own.num_new());",
          "  table_.offsets()[sequence] = uint64_t(own.length);")],
        [decoding("Sampled.AutoregressiveDrawsAsSamplerSampleDoes"),
         session("SessionSchedule.PlainTextsAreThoseAlone")]),
    Fault(
        "session_keeps_rejected_drafts",
        "a session has the target's cache cut to all drafts instead of those that were kept",
        [("src/decoding/session/session.cpp", "std::min(before + num_cached, own.length - own.runs())",
          "std::min(before + own.num_drafts, own.length - own.runs())")],
        [session("SessionSchedule.TextsWithStagesAreThoseAlone")]),
    Fault(
        "stop_sequences_begin_in_the_prompt",
        "a stop sequence that begins in the prompt ends the text",
        [("src/decoding/session/sequence_table.cpp", "if (length > own.num_new()) continue;",
          "if (length > own.length) continue;")],
        [session("SessionSteps.StopSequencesSpanSteps")]),
    Fault(
        "session_accepts_no_observations",
        "a session does not tell the state what moves adaptive stages",
        [("src/decoding/session/verify_batch.cpp",
          "has_observations_ = host_->has_adaptive();", "has_observations_ = false;")],
        [session("SessionSchedule.TextsWithStagesAreThoseAlone")]),
    Fault(
        "session_forks_before_it_tells",
        "a session forks a state that has not been told the last step's tokens",
        [("src/decoding/session/session.cpp",
          "sampler_status status = settle(entry);\n  if (status == SAMPLER_OK) status = state_.copy(",
          "sampler_status status = SAMPLER_OK;\n  if (status == SAMPLER_OK) status = state_.copy(")],
        [session("SessionSchedule.TextsWithStagesAreThoseAlone")]),
    Fault(
        "session_forgets_what_it_could_not_tell",
        "tokens that the state was not told of, since a call of CUDA's failed, are not told again",
        [("src/decoding/session/verify_batch.cpp",
          "    if (status != SAMPLER_OK) return status;\n    group.count = 0;",
          "    group.count = 0;\n    if (status != SAMPLER_OK) return status;")],
        [session_on_device("AnAdvanceThatFailsChangesNothing")]),
    Fault(
        "spans_of_removed_sequences_taken",
        "a span that was planned for a sequence is taken for the one that has its number now",
        [("src/decoding/session/session.cpp",
          "return planned.num_tokens > 0 && planned.plan == span.plan &&",
          "return planned.num_tokens > 0 &&")],
        [session("SessionSteps.NumbersOfRemovedSequencesAreGivenAgain")]),
    Fault(
        "bad_rows_take_what_was_verified",
        "a bad row takes from its sequence the drafts that were kept before it",
        [("src/capi/speculative.cpp", "call(sampler, args, Wording::kFull, true)",
          "call(sampler, args, Wording::kFull, false)")],
        [session("SessionRules.WhatCameBeforeABadRowStays")]),
    Fault(
        "parts_of_chains_judged_whole",
        "of a chain with a bad row block verification keeps nothing",
        [("src/contract/verify_extended.h", "      if (bad_position_ <= 0 || models_.gives_up()) break;",
          "      break;")],
        [session("SessionRules.WhatCameBeforeABadRowStays")]),
    Fault(
        "trees_keep_what_lies_beside",
        "a draft that was kept beside a tree's first path is taken to follow it in the cache",
        [("src/decoding/session/verify_batch.cpp", "  own.num_first = num_first;",
          "  own.num_first = num_kept;")],
        [session("SessionSchedule.PlainTextsAreThoseAlone")]),
    Fault(
        "doubtful_drafts_go_on",
        "drafts go on after one that the drafter finds unlikely",
        [("src/decoding/session/drafting.cpp", "if (is_last || table_.is_end(",
          "if ((is_last && false) || table_.is_end(")],
        [session("SessionDrafts.EndAtAnUnlikelyOne")]),
    Fault(
        "lookup_of_a_fork_empty",
        "the prompt lookup of a fork is empty",
        [("src/decoding/ngram/prompt_lookup.cpp",
          "  std::copy_n(other.tokens_, num_tokens_, tokens_);",
          "  std::copy_n(other.tokens_, num_tokens_, tokens_);\n  reset();")],
        [session("SessionDrafts.AForkLooksUpInItsOwnText")]),
    Fault(
        "lookup_drafts_end_with_the_text",
        "drafts of a session's prompt lookup end where the text does",
        [("src/decoding/session/drafting.cpp", "lookups_[sequence].continue_match(",
          "lookups_[sequence].propose(")],
        [session("SessionDrafts.OfALookupAreFoundByASearchThroughTheText")]),
    Fault(
        "measured_trees_begin_with_a_draft",
        "a measured number of drafts of a tree is less than a position has",
        [("src/decoding/session/session_sequence.h", "std::min(most_drafts, num_positions * width());",
          "std::min(most_drafts, num_positions);")],
        [session("SessionGamma.IsMeasuredToPay")]),
    Fault(
        "whole_cache_of_a_drafter_refused",
        "a drafter's cache that holds all of a text is refused",
        [("src/decoding/session/session_arguments.cpp",
          '"drafter_cache_length", args.drafter_cache_length, 0, args.num_tokens + 1',
          '"drafter_cache_length", args.drafter_cache_length, 0, args.num_tokens')],
        [session("SessionDrafts.ADraftersCacheMayHoldTheWholeText")]),
    Fault(
        "drafts_for_texts_too_long_for_the_drafter",
        "a session does not tell that a text is too long for its drafter",
        [("src/decoding/session/drafting.cpp", "own.is_drafting = own.length <= config_.drafter_context();",
          "own.is_drafting = own.length > 0;")],
        [session("SessionDrafts.ATextTooLongForTheDrafterGoesOnWithoutDrafts")]),
    Fault(
        "ended_texts_run_on",
        "a text that has ended runs when it is added",
        [("src/decoding/session/sequence_table.cpp", "  finish_if_ended(sequence);\n  --num_free_;",
          "  finish_if_full(sequence);\n  --num_free_;")],
        [session("SessionSteps.ATextThatHasEndedHasFinishedWhenItIsAdded")]),
    Fault(
        "adaptive_values_begin_anew",
        "the adaptive stages of a sequence that was taken out begin anew",
        [("src/decoding/session/session_state.cpp",
          "transfer_.in(args.resumed->adaptive_values, SAMPLER_NUM_ADAPTIVE_VALUES);",
          "nullptr;")],
        [session("SessionResume.AdaptiveStagesGoOnInAnotherSession"),
         session("SessionSchedule.TextsWithStagesAreThoseAlone")]),
    Fault(
        "adaptive_values_not_told",
        "a session does not tell what the last tokens have made of adaptive values",
        [("src/decoding/session/verify_batch.cpp", "    if (rules) {", "    if (rules && false) {")],
        [session("SessionResume.AdaptiveStagesGoOnInAnotherSession"),
         session("SessionSchedule.TextsWithStagesAreThoseAlone")]),
    Fault(
        "entropy_begins_anew",
        "the smoothed entropy of a sequence that was taken out begins anew",
        [("src/decoding/session/session_sequence.cpp",
          "if (!std::isnan(before.drafter_entropy)) entropy =",
          "if (std::isnan(before.drafter_entropy)) entropy =")],
        [session("SessionResume.TheEntropyOfTheDrafterGoesOn")]),
    Fault(
        "ngrams_learn_twice",
        "n-grams learn the text of a sequence that was taken out once more",
        [("src/decoding/session/engine_host.cpp", "|| args.ngram_has_text)", ")")],
        [session("SessionResume.NgramsLearnATextOnce")]),
    # ---- Verification by other rules, of trees and with stages
    Fault(
        "siblings_face_the_whole_row",
        "a draft whose sibling was rejected is judged by the target's row and not by the residual",
        [("src/contract/verify_extended.h", "    *p = probability(id);\n    return SAMPLER_ROW_OK;",
          "    is_changed_ = false;\n    open_ = kNone;\n"
          "    if (open(position) != SAMPLER_ROW_OK) return SAMPLER_ROW_EMPTY;\n"
          "    *p = probability(id);\n    return SAMPLER_ROW_OK;")],
        [walk("OfTrees/Standard")]),
    Fault(
        "siblings_drafted_again",
        "the row of a sibling drawn without replacement has the tokens of those before it",
        [("src/contract/verify_extended.h",
          "for_each_child(position, child, [&](int64_t id) { models_.exclude(id); });", "")],
        [walk("OfTrees/Standard")]),
    Fault(
        "drafts_are_not_said",
        "the stages of a position do not see the drafts before it",
        [("src/cpu/assumed_text.h", "    update(history_.text.length() + 1);", "")],
        [verification("SampleMatch.IsTheTextOfAllStages")]),
    Fault(
        "reported_rows_may_not_be_empty",
        "a given row that is 0 everywhere ends a sequence where it has reports, though nothing is drawn from it",
        [("src/contract/verify_extended.h",
          "view.kind == SAMPLER_PROBABILITIES && !chain_.greedy && !is_sample_match();",
          "view.kind == SAMPLER_PROBABILITIES && !chain_.greedy && !is_sample_match() && !models_.has_outputs();")],
        [verification("Outputs.OfBadRowsDoNotDependOnReports")]),
    Fault(
        "steps_that_only_edit_end_blocks",
        "a step that edits, but commits nothing, ends a block with masks",
        [("src/decoding/session/block_batch.cpp", "num_committed == 0 && !block.goes_on(num_edited)", "num_committed == 0")],
        [session("SessionBlocks.EditsEnd")]),
    Fault(
        "drafts_do_not_move_adaptive_stages",
        "adaptive stages stand where they stood before the drafts",
        [("src/contract/verify_extended.h",
          "if (models_.is_adaptive()) observation = models_.observation(id);", "")],
        [verification("SampleMatch.IsTheTextOfAdaptiveStages")]),
    Fault(
        "positions_share_an_offset",
        "sample-match draws all tokens of a sequence with one word",
        [("src/contract/verify_extended.h", "stream.offset += uint64_t(depth_);", "")],
        [verification("SampleMatch.IsTheTextOfEveryPreset")]),
    Fault(
        "masks_of_the_emitted_token",
        "a position's grammar mask is that of its place among the emitted tokens",
        [("src/contract/verify_extended.h",
          "{view, slot_, output(position), first_output() + position, xtc_word(position)}",
          "{view, slot_, output(position), output(position), xtc_word(position)}")],
        [walk("OfTreesWithStages/Standard")]),
    Fault(
        "blocks_end_at_the_first_rejection",
        "block verification keeps the shortest beginning instead of the longest",
        [("src/contract/verify_extended.h", "          best = i;\n",
          "          if (best == 0) best = i;\n")],
        [walk("OfChains/Block")]),
    Fault(
        "block_ratio_starts_again",
        "in block verification a draft of probability 0 is forgotten by the next one",
        [("src/contract/verification.h", "before == 0.0 || p == 0.0f", "p == 0.0f")],
        [walk("OfChainsWithReports/Block")]),
    Fault(
        "deferred_for_good",
        "a draft that was deferred stays though another one is rejected after it",
        [("src/contract/verify_extended.h", "if (deferred != kNone) count = deferred;", "")],
        [walk("OfChains/Deferred")]),
    Fault(
        "thresholds_of_one_draft",
        "the threshold rule does not add the siblings that were tried before",
        [("src/contract/verify_extended.h", "      total += p;", "      total = p;")],
        [walk("OfTrees/Threshold")]),
    Fault(
        "circles_are_trees",
        "tables whose links go in a circle are taken for a tree",
        [("src/contract/verification.h", "return num_ended == length + 1 && ", "return ")],
        [verification("BadTrees.MakeTheirSequenceBad")]),
    Fault(
        "packed_drafts_of_the_next_sequence",
        "a packed sequence's drafts begin one entry late",
        [("src/contract/verification.h", "*out = {begin, begin + sequence, begin, int32_t(end - begin)};",
          "*out = {begin + 1, begin + sequence, begin, int32_t(end - begin)};")],
        [verification("Chains.ArePackedInEveryWay")]),
    # ---- The same on a device
    Fault(
        "device_drafts_are_not_said",
        "on a device the stages of a position do not see the drafts before it",
        [("kernels/stages/assumed_text.cuh", "update(length + 1);", "")],
        [verification_on_device("OfChainsWithStagesEqualsTheCpus/SampleMatch")]),
    Fault(
        "device_masks_of_the_emitted_token",
        "on a device a position's grammar mask is that of its place among the emitted tokens",
        [("kernels/operations/verified_rows.cuh", "status = edit(place.mask_output);",
          "status = edit(place.output);")],
        [verification_on_device("OfTreesWithStagesEqualsTheCpus/Standard")]),
    Fault(
        "device_residual_of_lists",
        "on a device the residual is not without what a list of candidates takes off it",
        [("kernels/operations/verified_rows.cuh", "if (subtracts_draft && q.ids) subtract_list();", "")],
        [verification_on_device("OfChainsEqualsTheCpus/Standard")]),
    Fault(
        "device_siblings_renormalised_never",
        "on a device a row without the siblings before does not sum to 1 again",
        [("kernels/operations/verified_rows.cuh", "return all.probability(x, contract::rank_of(x, id));",
          "return x;")],
        [verification_on_device("OfTreesEqualsTheCpus/Standard")]),
    Fault(
        "device_changes_before_all_have_asked",
        "on a device a row is changed while threads still ask for its tokens",
        [("kernels/operations/verified_rows.cuh",
          "    team_.ctx.team_sync();  // all have read what changes\n", "")],
        [verification_on_device("OfTreesEqualsTheCpus/Standard")]),
    Fault(
        "positions_at_one_offset",
        "all positions of a sequence draw by its first token's random number",
        [("src/contract/request.h", "if (num_before) stream.offset += uint64_t(num_before[output]);", "")],
        [verification_on_device("OfSampledPositionsEqualsTheCpus/SampleMatch")]),
    Fault(
        "positions_without_drafts",
        "the text of a position that is read beside others ends before the drafts",
        [("src/contract/pipeline.h", "const int64_t count = counts[output];", "const int64_t count = 0;")],
        [verification_on_device("OfSampledPositionsEqualsTheCpus/SampleMatch")]),
    Fault(
        "position_after_its_own_draft",
        "the text of a position that is read beside others begins with the draft after the first",
        [("src/contract/pipeline.h", "output * path_stride : output - count, count};",
          "output * path_stride : output - count + 1, count};")],
        [verification_on_device("OfSampledPositionsEqualsTheCpus/SampleMatch")]),
    Fault(
        "reports_after_the_last_token",
        "positions after the last token are reported",
        [("kernels/chains/chains.cuh", "ReportOutputs<const Context>(ctx_, to).write_bad(output);", "")],
        [verification_on_device("OfSampledPositionsEqualsTheCpus/SampleMatch")]),
    Fault(
        "counts_after_the_last_token",
        "kept tokens of positions after the last token are counted",
        [("kernels/chains/chains.cuh", "if (ctx_.thread() == 0) write_no_token(to, output);", "")],
        [verification_on_device("OfSampledPositionsEqualsTheCpus/SampleMatch")]),
    Fault(
        "nodes_at_their_numbers",
        "a tree's node draws by the random number of its number, not its depth",
        [("kernels/chains/chains.cuh", "chains.depths()[output] = depth;", "chains.depths()[output] = position;")],
        [verification_on_device("OfSampledPositionsEqualsTheCpus/SampleMatch")]),
    Fault(
        "paths_of_first_drafts",
        "the text of a tree's node ends in the first draft, as often as the node is deep",
        [("kernels/chains/chains.cuh", "contract::store_id(drafts, --end, draft_at(draft));",
          "contract::store_id(drafts, --end, draft_at(draft * 0));")],
        [verification_on_device("OfSampledPositionsEqualsTheCpus/SampleMatch")]),
    Fault(
        "packed_rows_as_dense",
        "positions of packed batches have the rows of dense ones",
        [("kernels/chains/chains.cpp", "if (is_dense) {", "{")],
        [verification_on_device("OfSampledPositionsEqualsTheCpus/SampleMatch")]),
    Fault(
        "too_long_texts_are_drawn_after",
        "a history that is no list is not said where positions are read at once",
        [("kernels/chains/chains.cuh", "return contract::read_text(stages, slot, &history);",
          "contract::read_text(stages, slot, &history); return SAMPLER_ROW_OK;")],
        [verification_on_device("OfSampledPositionsEqualsTheCpus/SampleMatch")]),
    Fault(
        "listed_draft_rows_unchecked",
        "values that are no probabilities are taken from a draft's row",
        [("kernels/chains/decided.cuh",
          "return ctx.block_count(!is_valid) == 0 ? SAMPLER_ROW_OK : SAMPLER_ROW_INVALID_VALUE;",
          "return SAMPLER_ROW_OK;")],
        [verification_on_device("OfListedPositionsEqualsTheCpus/Standard")]),
    Fault(
        "reported_row_of_the_depth",
        "the reports of a tree's token are those of the node whose number is its depth",
        [("kernels/chains/chains.cuh", "chains.rows()[first + uint32_t(position)]",
          "chains.rows()[output]")],
        [verification_on_device("OfListedPositionsEqualsTheCpus/Typical")]),
    Fault(
        "reports_of_fallback_tokens",
        "the token of a bad sequence is reported as one of its first row",
        [("kernels/chains/chains.cuh", "const bool is_there = position >= 0;",
          "const bool is_there = position >= 0 || output == first;"),
         ("kernels/chains/chains.cuh", "chains.rows()[first + uint32_t(position)]",
          "chains.rows()[position < 0 ? first : first + uint32_t(position)]")],
        [verification_on_device("OfListedPositionsEqualsTheCpus/Standard")]),
    Fault(
        "rank_of_no_probability",
        "a draft without probability that is kept has the rank of the last token",
        [("kernels/stream/reports.cuh", "if (!(x > contract::negative_infinity())) return 0;", "")],
        [verification_on_device("OfListedPositionsEqualsTheCpus/Synthetic")]),
    Fault(
        "left_reports_drawn_anew",
        "a row that the stream of reports leaves is drawn from once more",
        [("kernels/chains/chains.cpp",
          "  left.stages.scored_token_ids = left.out_token_ids.data;\n", "")],
        [verification_on_device("OfListedPositionsEqualsTheCpus/Standard")]),
    Fault(
        "reports_of_the_changed_list",
        "the log-probability of the token after a rejection is that of the changed list",
        [("kernels/chains/decided.cuh", "SAMPLER_DEVICE bool keeps_loaded() const { return false; }",
          "SAMPLER_DEVICE bool keeps_loaded() const { return true; }")],
        [verification_on_device("OfListedPositionsEqualsTheCpus/Standard")]),
    Fault(
        "held_matches_run_as_samples",
        "held rows that decide by matches are launched as sampled positions where reports are apart",
        [("src/cuda/backend.cpp",
          "    plan.chains.kind = kernels::ChainsKind::kDecided;  // held rows decide by matches, too\n",
          "")],
        [("verification_calls_simt_test", "ReportsOfMatches.OfHeldRowsEqualTheCpus")],
        ends_it=True),
    Fault(
        "reports_without_room",
        "reports of chains fail where the handle's workspace has no room for all positions at once",
        [("src/capi/call.h", "if (!is_of_session && !is_of_handle) return;",
          "if (request.verification ? !is_of_session : !is_of_handle) return;")],
        [("verification_calls_simt_test", "Reports.OfDenseChainsFitInTheHandlesWorkspace")]),
    Fault(
        "dense_chains_share_drafts",
        "all dense chains that are read at once have the first one's drafts",
        [("kernels/chains/chains.cpp", "  rules.draft_token_stride = request.num_drafts;\n", "")],
        [held_rows("OfChainsOfLogitsEqualTheCpu")]),
    Fault(
        "handles_without_room_for_chains",
        "a handle has no room for all positions of a few drafts",
        [("src/cuda/backend.cpp", "request.num_drafts = kDrafts;", "request.num_drafts = 1;")],
        [("plans_simt_test", "On/Plans.OfChainsFitInTheHandlesWorkspace/sm_90")]),
    Fault(
        "empty_rows_without_a_forced_token",
        "the general kernel finds no forced token in a row of given probabilities that are all 0",
        [("kernels/operations/verified_rows.cuh",
          "if (summary_.status != SAMPLER_ROW_OK && !is_empty) return summary_.status;",
          "if (summary_.status != SAMPLER_ROW_OK) return summary_.status;")],
        [verification_on_device("OfForcedTokensEqualsTheCpus/Standard")]),
    Fault(
        "held_positions_with_one_s_edits",
        "all positions of a sequence are edited as its first one is",
        [("kernels/held/verify_extended.cuh", "const uint32_t output = uint32_t(place.mask_output);",
          "const uint32_t output = uint32_t(place.mask_output) / uint32_t(request.num_drafts + 1) * "
          "uint32_t(request.num_drafts + 1);")],
        [verification_on_device("OfHeldPositionsEqualsTheCpus/Standard")]),
    Fault(
        "held_positions_unedited",
        "edits of a held position are forgotten",
        [("kernels/held/verify_extended.cuh", "this->edit(row_, edits, output);", "")],
        [verification_on_device("OfHeldPositionsEqualsTheCpus/Typical")]),
    Fault(
        "held_draft_rows_checked_by_one_block",
        "a team takes a drafter's row for valid that one of its blocks has seen not to be",
        [("kernels/held/verify_extended.cuh", "return this->sum(this->exchange(bad)[0]) == 0 ?",
          "return this->exchange(bad)[0][0] == 0 ?")],
        [verification_on_device("OfHeldPositionsEqualsTheCpus/Standard")]),
    Fault(
        "a_few_of_a_drafters_row_unchecked",
        "the elements beside a drafter's whole vectors may be anything",
        [("kernels/chains/plain_rows.cuh", "check.take(0.0f, draft_.value(other));", "")],
        [verification_on_device("OfHeldPositionsEqualsTheCpus/Standard")]),
    Fault(
        "held_given_rows_normalised",
        "given probabilities are divided by their sum",
        [("kernels/held/verify_extended.cuh", "if (is_given(which)) return x;", "")],
        [verification_on_device("OfHeldPositionsEqualsTheCpus/Typical")]),
    Fault(
        "held_residual_without_the_draft",
        "the row after a rejection is the target's",
        [("kernels/held/verify_extended.cuh", "p = contract::residual_probability(p, q[j]);", "")],
        [verification_on_device("OfHeldPositionsEqualsTheCpus/Standard")]),
    Fault(
        "held_block_ratio_forgotten",
        "block verification subtracts from the target's row as it is",
        [("kernels/held/verify_extended.cuh", "p *= factor;", "")],
        [verification_on_device("OfHeldPositionsEqualsTheCpus/Block")]),
    Fault(
        "held_ties_of_the_first_token",
        "of several largest tokens the last one is the first",
        [("kernels/held/verify_extended.cuh", "if (x == state().max && ~uint32_t(index) > own) own",
          "if (x == state().max) own")],
        [verification_on_device("OfHeldPositionsEqualsTheCpus/Standard")]),
    Fault(
        "changed_rows_by_their_old_weight",
        "the residual's sum is that of the row before its change",
        [("kernels/held/verify_extended.cuh",
          "set_distribution(contract::probabilities_row_scale(contract::value_of_key(key)), all, 0);",
          "set_distribution(contract::probabilities_row_scale(contract::value_of_key(key)), all, weight_);")],
        [verification_on_device("OfHeldPositionsEqualsTheCpus/Block")]),
    Fault(
        "left_chains_decided",
        "chains with a row that no list shows are decided from lists",
        [("kernels/chains/decided.cuh", "if (ctx.block_count(is_left) != 0) {", "if (ctx.block_count(is_left) > 1000) {")],
        [verification_on_device("OfListedPositionsEqualsTheCpus/Standard")]),
    Fault(
        "positions_with_one_xtc_word",
        "all positions of a list have the first one's random number for XTC",
        [("kernels/stream/listed.cuh", "uint32_t(output_) % num_positions : 0;", "0 : 0;")],
        [verification_on_device("OfListedPositionsEqualsTheCpus/Typical")]),
    Fault(
        "windows_not_handed_on",
        "what a window drops before a list's first token is handed on",
        [("kernels/stream/listed.cuh", "i < count() && kept.window.begin > 0;", "i < 0 && kept.window.begin > 0;")],
        [verification_on_device("OfListedPositionsEqualsTheCpus/Typical")]),
    Fault(
        "changed_list_by_its_old_weight",
        "the last token is drawn by the weight of the row before its change",
        [("kernels/chains/decided.cuh", "weight_ = shared.row.sums[count() - 1];", "")],
        [verification_on_device("OfListedPositionsEqualsTheCpus/Standard")]),
    Fault(
        "matched_list_by_old_sums",
        "a listed row that is sampled has the sums of the row before it",
        [("kernels/chains/decided.cuh", "this->add_up(scale_);", "")],
        [verification_on_device("OfListedPositionsEqualsTheCpus/Standard")]),
    Fault(
        "one_sequence_s_rule",
        "a session verifies all of a group by the first sequence's rule",
        [("src/decoding/session/verify_batch.cpp", "acceptance.rule = layout_.rule_of(group);",
          "acceptance.rule = table_.acceptances()[layout_.chain(group.first).sequence];")],
        [session_on_device("TextsOfLongRowsAreThoseOfTheCpu")]),
    # ---- Shards
    Fault(
        "shard_ties_on_every_rank",
        "each rank keeps as many tokens of the cut's value as all together should",
        [("src/shards/filters.h", "const uint64_t left = ties > before ? ties - before : 0;",
          "const uint64_t left = before == UINT64_MAX ? 0 : ties;")],
        [shards("All/ShardsTest.Filters/F32Logits")]),
    Fault(
        "shard_target_of_all_ranks",
        "the rank that holds the token looks for it as if it were the first one",
        [("src/shards/rounds.h", "row_.target = target - before;",
          "row_.target = target;")],
        [shards("All/ShardsTest.Samples/F32Logits")]),
    Fault(
        "shard_status_of_one_rank",
        "a row is empty where one rank has no token of it",
        [("src/shards/filters.h", "return a == SAMPLER_ROW_EMPTY ? b : a;",
          "return a == SAMPLER_ROW_EMPTY || b == SAMPLER_ROW_EMPTY ? 2 : a;")],
        [shards("All/ShardsTest.Samples/F32Logits")]),
    Fault(
        "shard_rows_not_compared",
        "ranks that have other seeds for a row go on with it",
        [("src/shards/rounds.h", "own.digest == all.digest && own.num_tokens >= 0",
          "own.digest != 1 && own.num_tokens >= 0")],
        [shards("ShardArguments.InArraysMakeRowsBadWhereTheyDiffer")]),
    Fault(
        "shard_words_not_compared",
        "ranks that have other sequence breakers go on with DRY",
        [("src/shards/digests.h", "add(breakers_);", "add(0 * breakers_);")],
        [shards("ShardArguments.InWordsMakeAllRowsBadWhereTheyDiffer")]),
    Fault(
        "shard_ties_beyond_lists",
        "a rank has no more tokens of the cut's value than it has listed",
        [("src/shards/rounds.h", "return messages_.template row<ShardStart>(rank).ties;",
          "return messages_.template row<ShardStart>(rank).ties > 0;")],
        [shards("All/ShardsTest.Samples/F32Logits")]),
    Fault(
        "shard_early_token_counts_always",
        "where JOINT's top-p keeps none of top-k's ties the token is the one that all would give",
        [("src/shards/rounds.h", "    row_.is_settled = true;\n    weigh_list(row_.kept_count);",
          "    row_.is_settled = !plan_.has_early_token;\n    weigh_list(row_.kept_count);")],
        [shards("ShardTies.OfJointTopPAreKeptAllOrNotAtAll")]),
    Fault(
        "shard_early_token_not_told",
        "the token that all of top-k's ties give is looked for once JOINT's top-p is known to keep them",
        [("src/shards/rounds.h", "    if (has_cut()) keep_ties(first_tie);\n  }",
          "    if (has_cut()) row_.kept_count = 0;\n  }")],
        [shards("ShardTies.OfJointTopPAreKeptAllOrNotAtAll")]),
    Fault(
        "shard_residual_of_one_rank",
        "what a rejected draft leaves has the scale of the first rank's part of it",
        [("src/shards/chains.h", "if (own.residual_first > all.residual_first) {",
          "if (own.residual_first > all.residual_first && rank == 0) {")],
        [shards("ShardedVerify.GivesWhatWholeRowsGive")]),
    Fault(
        "shard_blocks_over_each_other",
        "what a draft leaves of a rank's columns is written over the first block of them",
        [("src/cpu/shard_columns.h", "std::copy_n(rest, count, to + begin);",
          "std::copy_n(rest, count, to);")],
        [shards("ShardedVerify.GivesWhatWholeRowsGive"),
         shards("All/ShardsTest.LeaveResiduals/F32Probabilities")]),
    Fault(
        "shard_digits_from_the_lowest",
        "the weight above a digit is not taken off what the cut still lacks",
        [("src/shards/filters.h", "--v) missing -= weights[v];", "--v) {\n    }")],
        [shards("All/ShardsTest.Samples/F32Logits")]),
    Fault(
        "shard_gap_between_ranges",
        "ranges need not begin where the one before ends",
        [("src/shards/rows.h", "header.first_id == begin && header.num_cols >= 0",
          "header.first_id >= 0 && begin >= 0 && header.num_cols >= 0")],
        [shards("ShardArguments.AreTheSameOnEveryRank")]),
    Fault(
        "shard_first_ids_owned_by_the_rank_before",
        "a draft that is the first id of a rank is judged by the rank before it",
        [("src/shards/rows.h", "if (header(middle).first_id <= id) {",
          "if (header(middle).first_id < id) {")],
        [shards("ShardedVerify.GivesWhatWholeRowsGive")]),
    Fault(
        "device_shard_lists_not_merged",
        "on a device a token's place in two lists is that in its own",
        [("src/shards/lists.h", "put(own, place, to, place + before);",
          "put(own, place, to, place);")],
        [shards_on_device("All/DeviceShards.Select/F32Logits")]),
    Fault(
        "device_shards_trust_headers",
        "on a device ranks whose arguments differ go on",
        [("kernels/operations/shard.cuh", "return team_.ctx.block_count(!agrees) == 0;",
          "return team_.ctx.block_count(!agrees) < 10000;")],
        [shards_on_device("FewRows.AreBadWhereRanksDisagree")]),
    Fault(
        "device_shards_read_one_message",
        "on a device each rank's message is taken for the first one's, which graphs of one rank do not show",
        [("src/shards/rows.h", "return received + size_t(rank) * message_bytes;",
          "return received + size_t(rank) * 0;")],
        [shards_on_device("FewRows.AreSampledByGraphs"),
         shards_on_device("FewChains.AreVerifiedByGraphs")]),
    Fault(
        "device_shards_score_by_column",
        "on a device the random words of columns are those of the first ones",
        [("kernels/row/draw.cuh", "gumbel_words(random, first_id + row_.index_of(tile, first + i));",
          "gumbel_words(random, 0 * first_id + row_.index_of(tile, first + i));")],
        [shards_on_device("All/DeviceShards.Sample/F32Logits")]),
    Fault(
        "device_shards_remove_by_column",
        "on a device a rejected draft is left out of the column that has its id's number",
        [("kernels/operations/shard.cuh", "float rest = i == removed - first_id ? 0.0f : x;",
          "float rest = i == removed - 0 * first_id ? 0.0f : x;")],
        [shards_on_device("All/DeviceShards.Verify/F32Probabilities")]),
]
