package sampler

// Rows are rows of logits or probabilities. Brackets are an array's dimensions.
type Rows struct {
	// [NumRows, NumCols] Required, unless there are no rows.
	Values Data

	// Below 2^31. With 0 a call does nothing.
	NumRows int

	// The vocabulary, or the room for candidates. In [1, 2^20).
	NumCols int

	// Distance of two rows in elements, at least NumCols. 0: NumCols.
	RowStride int

	// [NumRows, NumCols] Candidate lists, laid out like Values: the token id of each element, in
	// [0, 2^20), in any order, none twice in a row. Left out: the id of an element is its column.
	CandidateIDs IDs

	// [NumRows] How many elements each row has, in [0, NumCols]; with CandidateIDs the length of
	// each list, without of each row. Left out: NumCols.
	CandidateCounts Array[int32]

	Kind InputKind
}

// Params are the temperature, the filters, how they combine, and the numbers of the edits before
// them. Start from DefaultParams: the zero value is refused.
type Params struct {
	// Logits are divided by the temperature. At most 1e-5: greedy. With probabilities it must be 1, or
	// greedy. Default 1.
	Temperature float32

	// Keeps the fewest first tokens whose probability is at least TopP, or above it by TopPSum.
	// >= 1: off; <= 0: one token. Default 1.
	TopP float32

	// Keeps the tokens at least MinP times as likely as the likeliest one. <= 0: off. Default 0.
	MinP float32

	// Keeps the first TopK tokens by value, then id. <= 0 or >= NumCols: off. Default 0.
	TopK int

	TopKTies         TieRule
	TopPTies         TieRule
	TopPSum          SumRule
	FilterOrder      FilterOrder
	TemperatureOrder TemperatureOrder

	// Edits, for which a Pipeline has the lists. All are off by default.

	// How far Pipeline.GuidanceLogits lead the logits away from themselves. 0 and 1: off.
	GuidanceScale float32

	// For tokens in the history: positive logits are divided by RepetitionPenalty and others
	// multiplied with it, 0 and 1: off; FrequencyPenalty is subtracted for each occurrence,
	// PresencePenalty once.
	RepetitionPenalty float32
	FrequencyPenalty  float32
	PresencePenalty   float32

	// The last PenaltyWindow tokens of the history count. <= 0: all.
	PenaltyWindow int
	PenaltyScope  PenaltyScope
	PenaltyForm   PenaltyForm

	// The exponential decay length penalty (Hugging Face): at the n-th token of the output after
	// the first ExponentialDecayStart the logits x of Pipeline.Stop become x + |x| *
	// (ExponentialDecayFactor^n - 1).
	ExponentialDecayStart  int     // negative: 0
	ExponentialDecayFactor float32 // 0 and 1: off; not negative

	// A token that would continue a repeat of n tokens loses DRYMultiplier *
	// DRYBase^(n - DRYAllowedLength), from the allowed length on.
	DRYMultiplier    float32 // <= 0: off
	DRYBase          float32 // 0: 1.75; below 1: off
	DRYAllowedLength int     // 0: 2; negative: 0
	DRYWindow        int     // repeats are sought in this many last tokens; <= 0: in all

	// Tokens that would complete an n-gram of the history are banned. <= 0: off.
	NoRepeatNgramSize int

	// Pipeline.Stop is banned before the output has MinNewTokens tokens. <= 0: no minimum.
	MinNewTokens int

	// What bad words are looked for in: PenaltyScopeOutput: the output; the others: all.
	BadWordScope PenaltyScope

	// Windows. All are off by default.

	// The temperature follows the entropy of what it sees, from max(0, Temperature - range) to
	// Temperature + range, by the power `exponent` of its share of the largest. Logits only.
	DynamicTemperatureRange    float32 // <= 0: off
	DynamicTemperatureExponent float32 // 0: 1; negative: 0

	TypicalP       float32 // locally typical sampling. <= 0, >= 1: off
	TopNSigma      float32 // <= 0: off
	EpsilonCutoff  float32 // <= 0, >= 1: off
	EtaCutoff      float32 // <= 0, >= 1: off
	TopH           float32 // <= 0, >= 1: off
	PLess          PLessKind
	MinK           float32 // min-k's tau. <= 0: off; 3 is usual
	TopA           float32 // times the largest probability squared. <= 0: off
	XTCProbability float32 // exclude top choices. <= 0: off. Sample only
	XTCThreshold   float32 // 0: 0.1; negative: 0; above 0.5: off

	TypicalPTies TieRule
	TypicalPSum  SumRule

	// With TiesKeep, epsilon and eta keep all tokens that equal the last one of those that MinKeep
	// asks for.
	CutoffTies TieRule

	// No window, top-k, top-p and min-p among them, keeps fewer tokens than this, where there are
	// enough. <= 1: one.
	MinKeep int

	// The order of all stages; 0 ends it. Edits come first, StageAdaptive last. A stage that is on
	// must be listed, none twice. FilterOrder must be FiltersSequential, whatever it means without
	// a list, or FiltersJoint: then the listed ones of top-k, top-p and min-p stand side by side.
	// TemperatureOrder must be TemperatureFirst. All 0: the order of the constants.
	Stages [MaxStages]Stage

	// Adaptive stages. All are off by default. They change nothing in a greedy row. What is drawn
	// moves them on: see Pipeline.AdaptiveValues and State.Accept.

	// The target is mirostat's surprise in bits (0: 5; not negative), or adaptive-p's probability
	// (negative: off; above 1: 1), or smoothing's factor (0: off; not negative). The rate is
	// mirostat's learning rate (0: 0.1), or adaptive-p's decay (0: 0.9; above 0.99: 0.99), both 0
	// where negative, or smoothing's curve (0: 1; from 1 to 3). Both are finite.
	AdaptiveKind   AdaptiveKind
	AdaptiveTarget float32
	AdaptiveRate   float32

	// After each token the running top_p, which begins as TopP, is multiplied by TopPDecay (<= 0,
	// >= 1: off), and does not fall below TopPLeast.
	TopPDecay float32
	TopPLeast float32

	isMade bool // by DefaultParams
}

// DefaultParams returns temperature 1 and no filter.
func DefaultParams() Params {
	return Params{Temperature: 1, TopP: 1, isMade: true}
}

// RowParams are parameters by slot, by row where the call has no slots: [number of slots] each.
// Left out: the one of Params for all. Slices on a CUDA sampler with HostParameters.
type RowParams struct {
	Temperature Array[float32]
	TopP        Array[float32]
	MinP        Array[float32]
	TopK        Array[int32]

	GuidanceScale Array[float32]

	RepetitionPenalty Array[float32]
	FrequencyPenalty  Array[float32]
	PresencePenalty   Array[float32]
	PenaltyWindow     Array[int32]

	ExponentialDecayStart  Array[int32]
	ExponentialDecayFactor Array[float32]

	DRYMultiplier     Array[float32]
	DRYBase           Array[float32]
	DRYAllowedLength  Array[int32]
	DRYWindow         Array[int32]
	NoRepeatNgramSize Array[int32]
	MinNewTokens      Array[int32]

	DynamicTemperatureRange    Array[float32]
	DynamicTemperatureExponent Array[float32]
	TypicalP                   Array[float32]
	TopNSigma                  Array[float32]
	EpsilonCutoff              Array[float32]
	EtaCutoff                  Array[float32]
	TopH                       Array[float32]
	PLess                      Array[PLessKind] // one that is no such constant: the row is bad
	MinK                       Array[float32]
	TopA                       Array[float32]
	XTCProbability             Array[float32]
	XTCThreshold               Array[float32]
	MinKeep                    Array[int32]

	// The token that the slot yields whatever the rest says. Negative: none. One that is no element
	// of the row makes it bad (RowInvalidParameter). Sample only.
	ForcedTokenID Array[int64]

	AdaptiveKind   Array[AdaptiveKind] // one that is no such constant: the row is bad
	AdaptiveTarget Array[float32]
	AdaptiveRate   Array[float32]
	TopPDecay      Array[float32]
	TopPLeast      Array[float32]

	// The token after which the running top_p is TopP again. Negative, and left out: none.
	TopPResetTokenID Array[int64]
}

// TokenLists are lists of token ids, one after the other in one array: list i has the ids from
// Offsets[i] to Offsets[i+1] - 1. The zero value: there are none.
//
// Where lists are by slot there are as many as slots, or one for all. Rows whose offsets fall, or
// lie outside of the ids, are bad (RowInvalidList).
type TokenLists struct {
	// [NumLists + 1] Ascending.
	Offsets Array[int64]

	// [NumTokenIDs] Of one type in all lists of a Pipeline. May be left out where there are none.
	TokenIDs IDs

	// For device memory; 0 is what the lengths of the slices say.
	NumLists    int
	NumTokenIDs int
}

// Lists are token lists of these slices, in new memory.
func Lists[T int32 | int64](lists ...[]T) TokenLists {
	if len(lists) == 0 {
		return TokenLists{}
	}
	offsets, tokenIDs := make([]int64, 1, len(lists)+1), []T{}
	for _, list := range lists {
		tokenIDs = append(tokenIDs, list...)
		offsets = append(offsets, int64(len(tokenIDs)))
	}
	result := TokenLists{Offsets: Slice(offsets)}
	switch ids := any(tokenIDs).(type) {
	case []int32:
		result.TokenIDs = I32(ids)
	case []int64:
		result.TokenIDs = I64(ids)
	}
	return result
}

// Pipeline is what edits of logits know of tokens: lists, and what a sequence has said so far. The
// numbers of the edits are in Params and RowParams. The zero value edits nothing.
//
// Logits are edited before the temperature, by: biases; bans (allowed and banned tokens, bad words,
// stop tokens, the bitmask); penalties; DRY; n-grams. Each sees what the one before left. They work
// in float32; -inf stays -inf. Ids that are no element of a row are edited by nothing. Rows of
// probabilities are not edited.
type Pipeline struct {
	// By slot: the tokens so far, the oldest first; the prompt, then the output. Penalties, DRY,
	// n-grams, bad words and MinNewTokens need it.
	History TokenLists

	// [number of slots] How many tokens of each history are the prompt, in [0, its length]. Left
	// out: 0, all is output.
	PromptLengths Array[int32]

	// No history is longer; rows of a longer one are bad (RowInvalidList). DRY and n-grams take 4
	// bytes of workspace for each token of it. 0: as many as the history has token ids, or the
	// state's MaxTokens.
	MaxHistoryTokens int

	// Classifier-free guidance: rows of logits u of the same tokens, as after another prompt, laid
	// out like the call's logits x and of their type, which become u + GuidanceScale * (x - u).
	// NumGuidanceRows is for device memory; 0 is how many rows the slice has. In sessions AdvanceArgs
	// have them.
	GuidanceLogits  Data
	NumGuidanceRows int

	// [output rows] The guidance row of each row; negative: none; NumGuidanceRows or more: the row
	// is bad (RowInvalidIndex). Left out: row i has row i.
	GuidanceRowIndices Array[int32]

	// By slot: what is added to the logits of these tokens.
	Biased TokenLists

	// [ids of Biased] Finite or -inf. Both biases of an id that a list has twice are added.
	Biases Array[float32]

	// A list for each id of Biased: its bias is added only where the history ends in these tokens.
	// Empty lists: always. Left out: always, for all.
	BiasContexts TokenLists

	// [NumDenseBiases, DenseBiasStride] Added by id: one row for all slots, or one each. Ids from
	// DenseBiasStride on get none. The stride 0 is NumCols; with candidate ids it must be given.
	// NumDenseBiases is for device memory; 0 is how many rows the slice has.
	DenseBias       Array[float32]
	NumDenseBiases  int
	DenseBiasStride int

	// By slot: the only tokens that may be drawn, where a slot's list has any. Ids may come twice.
	Allowed TokenLists

	// By slot: tokens that must not be drawn.
	Banned TokenLists

	// By slot: tokens that must not be drawn before the output has MinNewTokens tokens, and that
	// the exponential decay makes likelier.
	Stop TokenLists

	// By slot: tokens that repetition, frequency and presence penalties leave as they are.
	Unpenalized TokenLists

	// Words of one or more tokens, and which of them each slot has: [number of slots + 1], slot s
	// has the words from BadWordOffsets[s] to BadWordOffsets[s+1] - 1. Left out: every slot has
	// all. A word's last token is banned where the history ends in the others. A word without
	// tokens makes its rows bad (RowInvalidList).
	BadWords       TokenLists
	BadWordOffsets Array[int64]

	// DRY's sequence breakers, for all slots: distinct sequences of 1 to 20 tokens in lexicographic
	// order. Others make rows with DRY bad (RowInvalidList).
	DRYBreakers TokenLists

	// [NumTokenBitmasks, TokenBitmaskStride] Bit i of word j is 1 where id 32 j + i may be drawn.
	// The stride, in words, is the length of a mask, too; 0: NumCols / 32, rounded up. With
	// candidate ids it must be given. NumTokenBitmasks is for device memory; 0 is how many masks
	// the slice has.
	TokenBitmasks      Array[uint32]
	NumTokenBitmasks   int
	TokenBitmaskStride int

	// What a mask says of ids that it has no bit for.
	TokenBitmaskRule MaskRule

	// [output rows] The mask of each; negative: none; NumTokenBitmasks or more: the row is bad
	// (RowInvalidIndex). Left out: row i has mask i, and there must be one for each.
	TokenBitmaskIndices Array[int32]

	// In place of History, PromptLengths and AdaptiveValues, which must be left out then: slot s of
	// the call is slot s of the state, and the call's slots are at most those of the state. It
	// is of the same sampler. The call reads it and changes nothing.
	State *State

	// [number of slots, NumAdaptiveValues] Of callers without a state, who move them on from
	// OutObservations by section 14.2 of docs/contract.md. A NaN is the start of its stage; an
	// infinity makes the row bad (RowInvalidParameter). Left out: all start.
	AdaptiveValues Array[float32]
}

// Random is what random numbers follow from: a seed, an offset and a stream. Use each triple once:
// a sequence takes a seed, or a stream of one, and its position as the offset. Arrays are indexed
// as those of RowParams.
type Random struct {
	Seed   uint64
	Offset uint64

	// [NumSeeds], [NumOffsets] One for all, or one for each slot. Left out: Seed, Offset. NumSeeds
	// and NumOffsets are for device memory; 0 is the length of a slice.
	Seeds      Array[uint64]
	Offsets    Array[uint64]
	NumSeeds   int
	NumOffsets int

	// [number of slots] Left out: the slot's number where one seed serves all, so that they draw
	// independently; 0 where each has its own, so that a row's token does not depend on its place.
	Streams Array[uint32]
}

// Exec is where a call runs.
type Exec struct {
	// CUDA: the stream that the work is enqueued on, a cudaStream_t; 0 is the legacy default
	// stream.
	Stream uintptr

	// Memory for the call, at least WorkspaceSize bytes. Left out: the sampler's. WorkspaceBytes is
	// for device memory; 0 is the length of a slice.
	Workspace      Array[byte]
	WorkspaceBytes int
}

// Args is what WorkspaceSize takes: a pointer to the arguments of a full call.
type Args interface {
	run(s *Sampler, op string, sizing bool) (int, error)
}

// WorkspaceSize returns the bytes of workspace that the call with these arguments needs. Arrays
// matter only by whether they are set.
func (s *Sampler) WorkspaceSize(args Args) (int, error) {
	if args == nil {
		return 0, &Error{"WorkspaceSize", ErrInvalidArgument, "args is nil; it is required"}
	}
	return args.run(s, "WorkspaceSize", true)
}

// ReportArgs are what a call reports of the tokens beside their ids. Sample, Score and Verify take
// them. Rows are those of the call's OutTokenIDs: of output of Sample, [number of sequences,
// NumDrafts + 1] of Verify. Ids are of the type of OutTokenIDs. What a call does not report must be
// left out.
//
// Reports go by LogprobKind: with LogprobProcessed tokens that were not kept have no part, and greedy
// rows are a single token.
type ReportArgs struct {
	// The distribution of OutLogprobs and of all that follows OutObservations.
	LogprobKind LogprobKind

	// [rows] Natural logarithm of the probability of the row's token; NaN for a bad row.
	OutLogprobs Array[float32]

	// [rows] The token's value in the input as it is given; NaN for a bad row.
	OutValues Array[float32]

	// [rows] How many tokens the filters kept; 1 for a greedy row, 0 for a bad one.
	OutKeptCounts Array[int32]

	// [rows] What moves the adaptive stage on: the token's surprise in bits among those that mirostat
	// kept, or its probability before adaptive-p changed it. NaN where nothing does.
	OutObservations Array[float32]

	// [rows, NumTopLogprobs] The first tokens by value, then id, and their log-probabilities; then,
	// and in bad rows, -1 and NaN. In [0, NumCols]; either array may be left out.
	NumTopLogprobs int
	OutTopTokenIDs IDs
	OutTopLogprobs Array[float32]

	// [rows, NumChosen] The log-probabilities of tokens that you name: -inf of those that have no
	// probability; NaN of ids that are no element of the row, and in bad rows. In [0, NumCols].
	NumChosen         int
	ChosenTokenIDs    IDs
	OutChosenLogprobs Array[float32]

	// [rows] The place of the row's token by value, then id, the first is 1; 0 for a bad row, and for
	// a forced token without probability.
	OutRanks Array[int32]

	// [rows] The entropy in nats; NaN for a bad row.
	OutEntropies Array[float32]

	// [rows, KeptBitmaskStride] The tokens that were kept, laid out like Pipeline.TokenBitmasks; all
	// 0 in a bad row. The stride is in words; 0: NumCols / 32, rounded up. Ids from 32 stride on have
	// no bit. With candidate ids the stride must be given.
	OutKeptBitmask    Array[uint32]
	KeptBitmaskStride int

	// [rows, KeptCapacity] The same as a list, by ascending id, and their probabilities, which sum to
	// 1 up to rounding; then, and in bad rows, -1 and 0. A row that keeps more than KeptCapacity has
	// an empty list, and its number in OutKeptCounts. In [0, NumCols]; either array may be left out.
	KeptCapacity         int
	OutKeptTokenIDs      IDs
	OutKeptProbabilities Array[float32]

	// [rows + 1] Packs the lists of kept tokens: that of row i is the entries [offsets[i],
	// offsets[i+1]) of OutKeptTokenIDs and OutKeptProbabilities, without gaps. KeptCapacity is then
	// the entries of each, for all rows together. Lists that have no room together are all left out:
	// neither is written, and the last offset, which is above KeptCapacity then, is the number needed.
	// The workspace holds up to KeptCapacity entries more.
	OutKeptOffsets Array[int64]

	// [rows, NumCols] By element: the Stage that removed the token, 0 where it is kept, 255 where the
	// input gives it no probability; 255 everywhere in a bad row. In a greedy row StageTemperature
	// removes what the edits left. Sorts the row.
	OutRemovedBy Array[byte]
}

// SampleArgs are the arguments of Sample.
type SampleArgs struct {
	Exec  Exec
	Input Rows

	// [NumRowIndices] The input row that each output row draws from; any value outside [0,
	// Input.NumRows) makes the output row bad. Rows of output are then NumRowIndices, which is for
	// device memory; 0 is the length of a slice. Left out: output row i draws from input row i.
	RowIndices    Array[int32]
	NumRowIndices int

	// [output rows] The slot of each output row; any value outside [0, NumSlots) makes the row bad.
	// RowParams and Random are indexed by slot, in arrays of NumSlots elements. Left out: output
	// row i has slot i.
	Slots    Array[int32]
	NumSlots int

	// What to draw from. nil: DefaultParams, the same for all.
	Params    *Params
	RowParams *RowParams

	Random Random

	// How the token is drawn.
	DrawMethod DrawMethod

	// [output rows] The tokens; -1 or the sampler's fallback token for a bad row. Required.
	OutTokenIDs IDs

	// [output rows] What became of each row.
	OutRowStatus Array[RowStatus]

	// Edits of the logits. nil: none.
	Pipeline *Pipeline

	// What else is reported of each output row. nil: nothing.
	Reports *ReportArgs
}

// Sample draws one token per output row from what the filters keep of its input row.
func (s *Sampler) Sample(args *SampleArgs) error {
	_, err := args.run(s, "Sample", false)
	return err
}

// ScoreArgs are the arguments of Score. Fields that SampleArgs has too mean the same.
type ScoreArgs struct {
	Exec          Exec
	Input         Rows
	RowIndices    Array[int32]
	NumRowIndices int
	Slots         Array[int32]
	NumSlots      int
	Params        *Params
	RowParams     *RowParams
	Pipeline      *Pipeline

	// XTC only.
	Random Random

	// [output rows] The tokens to score. A negative one, and one outside the row, makes the row
	// bad, which suits padding. Required.
	TokenIDs IDs

	// A list for each output row: the tokens that were kept when its token was drawn, as
	// OutKeptOffsets and OutKeptTokenIDs of an earlier call. They replace filters, windows and
	// Pipeline.Allowed. Logits only; Reports.LogprobKind must be LogprobProcessed; dynamic
	// temperature, adaptive-p and smoothing must be off. Left out: filters and windows decide.
	Kept TokenLists

	// [output rows] What became of each row.
	OutRowStatus Array[RowStatus]

	// What is reported of each output row: OutLogprobs, say. nil: nothing.
	Reports *ReportArgs
}

// Score reports on given tokens what Sample reports on drawn ones, bit for bit. Nothing is drawn.
func (s *Sampler) Score(args *ScoreArgs) error {
	_, err := args.run(s, "Score", false)
	return err
}

// FilterArgs are the arguments of Filter. Fields that SampleArgs has too mean the same; slots are
// of rows.
type FilterArgs struct {
	Exec      Exec
	Input     Rows
	Slots     Array[int32]
	NumSlots  int
	Params    *Params
	RowParams *RowParams

	OutputKind OutputKind

	// [Input.NumRows, Input.NumCols] With candidate lists an element belongs to the candidate at
	// the same place. F32 or the input's type. Required.
	Output Data

	// Distance of two output rows in elements, at least NumCols. 0: NumCols.
	OutputStride int

	// [Input.NumRows]
	OutKeptCounts Array[int32]
	OutRowStatus  Array[RowStatus]

	// Edits of the logits: OutputValues writes the logits that they left.
	Pipeline *Pipeline
}

// Filter writes what the filters keep of each row: softmax without filters, renormalisation, masks.
func (s *Sampler) Filter(args *FilterArgs) error {
	_, err := args.run(s, "Filter", false)
	return err
}

// SelectArgs are the arguments of Select.
type SelectArgs struct {
	Exec  Exec
	Input Rows

	// How many tokens a row yields at most: columns of the outputs, in [1, Input.NumCols].
	NumSelected int

	// [Input.NumRows] How many each row yields. <= 0 or >= NumSelected, or left out: NumSelected. A
	// slice on a CUDA sampler with HostParameters.
	SelectedCounts Array[int32]

	// [Input.NumRows, NumSelected] Values, F32 or of the input's type, and ids, largest value
	// first. Where a row has fewer tokens to give, the rest is -inf (probabilities: 0) and -1; so
	// is all of a bad row. Either may be left out, not both.
	OutValues   Data
	OutTokenIDs IDs

	// [Input.NumRows] How many tokens each row yielded; 0 for a bad row.
	OutCounts Array[int32]

	OutRowStatus Array[RowStatus]
}

// Select writes the first NumSelected tokens of each row, by value, then id: their values and ids.
func (s *Sampler) Select(args *SelectArgs) error {
	_, err := args.run(s, "Select", false)
	return err
}

// AcceptanceParams are the rule that drafts are accepted by, and the numbers of the rules. All 0: the
// rule of the context, and the numbers that stand for 0. Numbers are not NaN and not negative.
type AcceptanceParams struct {
	Rule Acceptance

	// Verify only; left out elsewhere: how siblings of a tree were drafted; and how AcceptSampleMatch
	// draws, DrawInverseCDF with other rules.
	SiblingRule SiblingRule
	DrawMethod  DrawMethod

	RelaxedTopK      int // 0: 1
	RelaxedDelta     float32
	TypicalThreshold float32 // 0: 0.09
	TypicalScale     float32 // 0: 0.3
	ThresholdSingle  float32 // 0: 1
	ThresholdTotal   float32 // 0: 1
	DeferredEntropy  float32 // in nats, at least this is doubt. 0: 0.3
	DeferredTopK     int     // number of first tokens whose entropy is taken. 0: 3
	DeferredWindow   int     // 0: min(6, the most drafts of a sequence - 1), at least 1

	// [the most drafts of a sequence] Required by AcceptSynthetic.
	SyntheticRates []float32
}

// DraftLayout is where the drafts and rows of Verify lie, where they are not dense chains, one
// sequence after the other.
type DraftLayout struct {
	// Distance in elements from one sequence's first row to the next one's. 0: contiguous.
	TargetSequenceStride int
	DraftSequenceStride  int

	// Elements of DraftTokenIDs from one sequence's first to the next one's, at least NumDrafts. 0:
	// NumDrafts. Not of packed batches.
	DraftTokenStride int

	// Packed batches: Packing says what PackingOffsets are. One whose offsets fall, lie outside, or
	// are further apart than NumDrafts is bad (RowInvalidList). DraftCounts must be left out then.
	Packing        Packing
	PackingOffsets Array[int32]

	// Whether the row of Draft that belongs to draft i is slot * NumDrafts + i.
	DraftRowsBySlot bool

	// Required with Packing, and with TargetRowIndices or BonusRowIndices. 0: by Target.NumRows.
	NumSequences int

	// How many drafts all sequences of a packed batch have, and how many positions with
	// PackingPositions: entries of DraftTokenIDs. For device memory; 0 is the length of a slice.
	NumPackedDrafts    int
	NumPackedPositions int

	// [number of sequences, NumDrafts + 1], packed: [number of positions] The row of Target that each
	// position reads. With BonusRowIndices, [number of sequences], those of a sequence's last
	// position are there, and TargetRowIndices is laid out like DraftTokenIDs.
	// Left out: position after position. One outside makes its sequence bad (RowInvalidIndex) when
	// it is read. Target has any number of rows then.
	TargetRowIndices Array[int32]
	BonusRowIndices  Array[int32]

	// [number of sequences, NumDrafts], packed: laid out like DraftTokenIDs. The row of Draft that
	// each draft was drawn from. Draft has any number of rows then.
	DraftRowIndices Array[int32]

	// Trees. [TreeRows, NumDrafts] The draft that each hangs on, a lower number, -1 the root. Or
	// FirstChildren and NextSiblings, [TreeRows, NumDrafts + 1]: by position, the position of its
	// first child and of its next sibling, -1 or 0 for none. TreeRows is 1, one tree for all, or the
	// number of sequences, which 0 is too. What is no tree makes its sequence bad (RowInvalidTree).
	// Siblings are tried in their order. Left out: a chain.
	Parents       Array[int32]
	FirstChildren Array[int32]
	NextSiblings  Array[int32]
	TreeRows      int
}

// VerifyArgs are the arguments of Verify. Fields that SampleArgs has too mean the same; slots are
// of sequences.
type VerifyArgs struct {
	Exec Exec

	// [number of sequences, NumDrafts + 1, NumCols] The target's row at each draft position, then
	// the one after the last draft. NumRows is the product of the first two, unless rows are packed
	// or indexed.
	Target Rows

	// [number of sequences, NumDrafts, NumCols] The rows that the drafts were drawn from. Left out:
	// the drafter was deterministic.
	Draft Rows

	// [number of sequences, NumDrafts] The draft tokens, of the type of OutTokenIDs. NumDrafts is
	// in [0, 65535].
	DraftTokenIDs IDs
	NumDrafts     int

	// [number of sequences] How many drafts each has, in [0, NumDrafts]. Left out: NumDrafts.
	DraftCounts Array[int32]

	// Packed batches, rows in other places, and trees. nil: dense chains.
	Layout *DraftLayout

	Slots    Array[int32]
	NumSlots int

	// Temperature and filters of rows of logits, target and draft alike. When neither is, the filters must be off
	// and the temperature 1 or greedy.
	Params    *Params
	RowParams *RowParams

	// Temperature and filters of Draft. nil: those of the target, which must then have no other
	// stage where the draft is logits.
	DraftParams    *Params
	DraftRowParams *RowParams

	// The stages of the target's rows. At each position the text, and what adaptive stages remember,
	// are as if the drafts before it had been accepted; nothing is changed. TokenBitmaskIndices is
	// [number of sequences, NumDrafts + 1].
	Pipeline *Pipeline

	// [NumSequences, NumDrafts + 1] By position: the token that is decided there whatever its row and
	// the rule, as at the end of a thinking budget. Negative: none. Left out: none.
	ForcedTokenIDs IDs

	Random Random

	// The rule, and the numbers of the rules. nil: AcceptStandard, which AcceptDefault is, too.
	Acceptance *AcceptanceParams

	// The rule by slot, AcceptDefault: that of Acceptance. One that is no such constant, or does not
	// go with what the call has, makes its sequence bad (RowInvalidParameter). Left out: the same for
	// all.
	Acceptances Array[Acceptance]

	// Whether the counts are added to what the two arrays hold.
	AccumulateCounts bool

	// [number of sequences, NumDrafts + 1] The accepted drafts, then one token of the target, then
	// -1. Required.
	OutTokenIDs IDs

	// [number of sequences] Drafts that would be accepted each on its own. For trees, and rules but
	// AcceptStandard, it is OutEmittedCounts.
	OutAcceptedCounts Array[int32]

	// [number of sequences] Drafts kept before the first rejection: OutTokenIDs has one token more.
	OutEmittedCounts Array[int32]

	OutRowStatus Array[RowStatus]

	// What else is reported of every emitted token, in the order of OutTokenIDs: of the target's
	// distribution at its position; as for a bad row where no token stands. OutValues, NumChosen,
	// OutKeptOffsets and OutRemovedBy must be left out. nil: nothing.
	Reports *ReportArgs

	// [number of sequences, NumDrafts + 1] The positions that the emitted tokens were decided at, 0
	// first: the rows of a KV cache to keep. Then -1. KVIndices, of the same shape, has a number for
	// each position; OutKVIndices has those of OutPositions.
	OutPositions Array[int32]
	KVIndices    Array[int64]
	OutKVIndices Array[int64]
}

// Verify verifies each sequence's chain or tree of drafts and emits between 1 and NumDrafts + 1
// tokens. By the standard rule draft x is accepted with probability min(1, p(x) / q(x)), p the
// target's, q the draft's; at the first rejection a token is drawn from max(p - q, 0), and after
// the last draft from p.
func (s *Sampler) Verify(args *VerifyArgs) error {
	_, err := args.run(s, "Verify", false)
	return err
}

// ResidualArgs are the arguments of Residual.
type ResidualArgs struct {
	Exec Exec

	// Rows of probabilities: the target's, p, and those that the drafts were drawn from, q. Draft
	// left out: the drafter was deterministic, and DraftTokenIDs says what it proposed.
	Target Rows
	Draft  Rows

	// [Target.NumRows] The tokens of a deterministic drafter. Where the id lies outside [0, NumCols)
	// the residual is p. Either Draft or DraftTokenIDs.
	DraftTokenIDs IDs

	// [Target.NumRows, Target.NumCols] Probabilities; 0 in every element of a bad row. F32 or the
	// target's type. Required.
	Output Data

	// Distance of two output rows in elements, at least NumCols. 0: NumCols.
	OutputStride int

	OutRowStatus Array[RowStatus]
}

// Residual writes what Verify draws from after a rejection: max(p - q, 0) of each row,
// renormalised, or p where that is 0 everywhere.
func (s *Sampler) Residual(args *ResidualArgs) error {
	_, err := args.run(s, "Residual", false)
	return err
}

// UnmaskParams are the rules by which candidates stand. Numbers are not NaN.
type UnmaskParams struct {
	// Tokens that are MaskTokenID, at least 0, are masked; a candidate that is it never stands.
	MaskTokenID int64

	// Positions of a whole block, of AddArgs.Unmask; else 0.
	BlockLength int

	// What orders the candidates.
	Confidence Confidence

	// Draws the order by the softmax of confidence / OrderTemperature. 0: strictly by confidence.
	OrderTemperature float32

	// Commits every row whose confidence is above it (entropy: below it). <= 0: off.
	Threshold float32

	// Commits rows as long as the entropies before them sum to at most this. <= 0: off.
	EntropyBound float32

	// Puts candidates in the place of other tokens where the confidence is above it (entropy: below
	// it). <= 0: off.
	EditThreshold float32

	// NumCommitted: at least this many are committed. NumStepsLeft: at least enough that this number
	// of steps fills the block; with AddArgs.Unmask the steps of each block. <= 0: off.
	NumCommitted int32
	NumStepsLeft int32

	// AddArgs.Unmask only: the first block begins after the prompt. Else blocks begin at multiples of
	// BlockLength, so that the first one may have prompt tokens.
	BlocksAfterPrompt bool
}

// UnmaskArgs are the arguments of Unmask: a step of a diffusion language model, for blocks of rows.
type UnmaskArgs struct {
	Exec Exec

	// Positions of all blocks.
	NumRows int

	// [NumBlocks + 1] Block b has the rows from BlockOffsets[b] up to BlockOffsets[b + 1]. Left out:
	// NumRows / NumBlocks each.
	BlockOffsets Array[int64]
	NumBlocks    int

	// nil: all 0.
	Params *UnmaskParams

	// [NumRows] A candidate for each row, as Sample drew it, and its status. A negative one, and
	// that of a bad row, never stands. The candidates are required.
	CandidateTokenIDs IDs
	CandidateStatus   Array[RowStatus]

	// [NumRows, ScoreStride] What the confidence is made of, one number a row, or two. 0: side by
	// side.
	Scores      Array[float32]
	ScoreStride int

	// [NumRows] The tokens, read and written. Left out: all are masked.
	TokenIDs IDs

	// [NumRows] As in SampleArgs, for ConfidenceRandom and OrderTemperature.
	Slots    Array[int32]
	NumSlots int
	Random   Random

	// [NumBlocks] NumCommitted and NumStepsLeft of each block. Slices on a CUDA sampler with
	// HostParameters. Left out: those of Params.
	BlockNumCommitted Array[int32]
	BlockNumStepsLeft Array[int32]

	// [NumRows] What happened to each row, an UnmaskChange, and the confidences.
	OutChanges     Array[uint8]
	OutConfidences Array[float32]

	// [NumBlocks] Rows committed, edited, and masked still, and what became of the block.
	OutCommittedCounts Array[int32]
	OutEditedCounts    Array[int32]
	OutMaskedCounts    Array[int32]
	OutBlockStatus     Array[RowStatus]
}

// Unmask commits the candidates that each block's rules let stand.
func (s *Sampler) Unmask(args *UnmaskArgs) error {
	_, err := args.run(s, "Unmask", false)
	return err
}
