package sampler

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// DeviceType is where the arrays of a sampler's calls live.
type DeviceType int32

const (
	// CPU: arrays are slices.
	CPU = DeviceType(raw.SAMPLER_DEVICE_CPU)
	// CUDA: arrays are addresses of memory of the sampler's device.
	CUDA = DeviceType(raw.SAMPLER_DEVICE_CUDA)
)

// Dtype is the type of the elements of logits and probabilities.
type Dtype int32

const (
	DtypeF32  = Dtype(raw.SAMPLER_F32)
	DtypeF16  = Dtype(raw.SAMPLER_F16)  // IEEE binary16
	DtypeBF16 = Dtype(raw.SAMPLER_BF16) // the upper half of an f32
)

// IDType is the type of token ids.
type IDType int32

const (
	IDTypeI32 = IDType(raw.SAMPLER_ID_I32)
	IDTypeI64 = IDType(raw.SAMPLER_ID_I64)
)

// InputKind is what the numbers of a row mean.
type InputKind int32

const (
	// Logits: larger is likelier.
	Logits = InputKind(raw.SAMPLER_LOGITS)
	// Probabilities are at least 0 and need not sum to 1.
	Probabilities = InputKind(raw.SAMPLER_PROBABILITIES)
)

// TieRule is what a filter does with tokens that equal the last kept one in value.
type TieRule int32

const (
	// TiesExact: lower ids first, so top-k keeps exactly k.
	TiesExact = TieRule(raw.SAMPLER_TIES_EXACT)
	// TiesKeep: all of them are kept.
	TiesKeep = TieRule(raw.SAMPLER_TIES_KEEP)
)

// SumRule is what the probability of the tokens that top-p or typical-p keeps must do.
type SumRule int32

const (
	// SumReaches: be at least the share.
	SumReaches = SumRule(raw.SAMPLER_SUM_REACHES)
	// SumExceeds: be more than the share.
	SumExceeds = SumRule(raw.SAMPLER_SUM_EXCEEDS)
)

// FilterOrder is which filter sees what.
type FilterOrder int32

const (
	// FiltersSequential: top-k; then top-p of the weight that top-k kept; then min-p.
	FiltersSequential = FilterOrder(raw.SAMPLER_FILTERS_SEQUENTIAL)
	// FiltersJoint: each filter sees the whole row; what all of them keep is kept.
	FiltersJoint = FilterOrder(raw.SAMPLER_FILTERS_JOINT)
	// FiltersMinPFirst: min-p; then top-k; then top-p of the weight that is left.
	FiltersMinPFirst = FilterOrder(raw.SAMPLER_FILTERS_MIN_P_FIRST)
)

// TemperatureOrder is when the temperature applies. The draw always uses it.
type TemperatureOrder int32

const (
	// TemperatureFirst: filters see the row at the temperature.
	TemperatureFirst = TemperatureOrder(raw.SAMPLER_TEMPERATURE_FIRST)
	// TemperatureLast: filters see the row at temperature 1.
	TemperatureLast = TemperatureOrder(raw.SAMPLER_TEMPERATURE_LAST)
)

// Stage is one of what happens between logits and the draw. Each sees what the one before it left.
type Stage int32

// The stages, in the order in which they run where Params.Stages lists none.
const (
	// Edits.
	StageBias          = Stage(raw.SAMPLER_STAGE_BIAS)      // guidance, Pipeline.Biased, DenseBias
	StageMask          = Stage(raw.SAMPLER_STAGE_MASK)      // tokens and words that must not come
	StagePenalties     = Stage(raw.SAMPLER_STAGE_PENALTIES) // repetition, frequency, presence
	StageDRY           = Stage(raw.SAMPLER_STAGE_DRY)       // repeats of sequences
	StageNoRepeatNgram = Stage(raw.SAMPLER_STAGE_NO_REPEAT_NGRAM)

	StageTemperature = Stage(raw.SAMPLER_STAGE_TEMPERATURE)

	// Windows: each keeps some tokens of those that the one before it kept.
	StageTypicalP  = Stage(raw.SAMPLER_STAGE_TYPICAL_P)
	StageTopNSigma = Stage(raw.SAMPLER_STAGE_TOP_N_SIGMA)
	StageEpsilon   = Stage(raw.SAMPLER_STAGE_EPSILON)
	StageEta       = Stage(raw.SAMPLER_STAGE_ETA)
	StageTopH      = Stage(raw.SAMPLER_STAGE_TOP_H)
	StagePLess     = Stage(raw.SAMPLER_STAGE_P_LESS)
	StageMinK      = Stage(raw.SAMPLER_STAGE_MIN_K)
	StageTopA      = Stage(raw.SAMPLER_STAGE_TOP_A)
	StageXTC       = Stage(raw.SAMPLER_STAGE_XTC)
	StageTopK      = Stage(raw.SAMPLER_STAGE_TOP_K)
	StageTopP      = Stage(raw.SAMPLER_STAGE_TOP_P)
	StageMinP      = Stage(raw.SAMPLER_STAGE_MIN_P)

	// StageAdaptive: mirostat, adaptive-p or smoothing; the last one.
	StageAdaptive = Stage(raw.SAMPLER_STAGE_ADAPTIVE)
)

// String is the stage's name, as in C's constant: "TOP_P". "" of what is no stage.
func (s Stage) String() string {
	return raw.ShimStageName(int32(s))
}

// MaxStages is how many Params.Stages has room for.
const MaxStages = int(raw.SAMPLER_MAX_STAGES)

// PLessKind is a threshold of StagePLess: Tan, Wu, Howard 2025.
type PLessKind int32

const (
	PLessNone = PLessKind(raw.SAMPLER_P_LESS_NONE) // off
	// PLessPlain is c, the sum of squared probabilities.
	PLessPlain = PLessKind(raw.SAMPLER_P_LESS_PLAIN)
	// PLessNorm is (n c - 1) / (n - 1), which is lower; n tokens are left.
	PLessNorm = PLessKind(raw.SAMPLER_P_LESS_NORM)
)

// AdaptiveKind is the last stage. All but AdaptiveSmoothing are moved by the tokens drawn before.
type AdaptiveKind int32

const (
	AdaptiveNone = AdaptiveKind(raw.SAMPLER_ADAPTIVE_NONE)
	// AdaptiveMirostatV1 and V2: Basu, Ramachandran, Keskar, Varshney 2021.
	AdaptiveMirostatV1 = AdaptiveKind(raw.SAMPLER_ADAPTIVE_MIROSTAT_V1)
	AdaptiveMirostatV2 = AdaptiveKind(raw.SAMPLER_ADAPTIVE_MIROSTAT_V2)
	// AdaptiveP is llama.cpp's: it changes the weights of the tokens that it sees.
	AdaptiveP = AdaptiveKind(raw.SAMPLER_ADAPTIVE_P)
	// AdaptiveSmoothing is quadratic and cubic smoothing (koboldcpp): AdaptiveTarget is its factor,
	// AdaptiveRate its curve.
	AdaptiveSmoothing = AdaptiveKind(raw.SAMPLER_ADAPTIVE_SMOOTHING)
)

// NumAdaptiveValues is how many adaptive values a slot has: mirostat's mu; adaptive-p's weighted sum
// and total weight; the running top_p.
const NumAdaptiveValues = raw.SAMPLER_NUM_ADAPTIVE_VALUES

// TokenKind is what tokens that are appended to a State are.
type TokenKind int32

const (
	TokensOutput = TokenKind(raw.SAMPLER_TOKENS_OUTPUT)
	TokensPrompt = TokenKind(raw.SAMPLER_TOKENS_PROMPT)
)

// PenaltyScope is which tokens of a history count.
type PenaltyScope int32

const (
	// PenaltyScopeStandard: for the repetition penalty all; for the others the output.
	PenaltyScopeStandard = PenaltyScope(raw.SAMPLER_PENALTY_SCOPE_STANDARD)
	// PenaltyScopeAll: prompt and output.
	PenaltyScopeAll = PenaltyScope(raw.SAMPLER_PENALTY_SCOPE_ALL)
	// PenaltyScopeOutput: the output.
	PenaltyScopeOutput = PenaltyScope(raw.SAMPLER_PENALTY_SCOPE_OUTPUT)
)

// PenaltyForm is how the penalties are computed for a token x that occurs c times. The forms differ
// in the last bit, the last one in its order too.
type PenaltyForm int32

const (
	// PenaltyDivide: x / repetition; then x - (c * frequency + presence).
	PenaltyDivide = PenaltyForm(raw.SAMPLER_PENALTY_DIVIDE)
	// PenaltyReciprocal: x * (1 / repetition); then x - c * frequency - presence.
	PenaltyReciprocal = PenaltyForm(raw.SAMPLER_PENALTY_RECIPROCAL)
	// PenaltyCountsFirst: as PenaltyDivide, repetition last.
	PenaltyCountsFirst = PenaltyForm(raw.SAMPLER_PENALTY_COUNTS_FIRST)
)

// MaskRule is what a bitmask says of ids that it has no bit for.
type MaskRule int32

const (
	// MaskLeaves: they may be drawn.
	MaskLeaves = MaskRule(raw.SAMPLER_MASK_LEAVES)
	// MaskForbids: they must not be drawn.
	MaskForbids = MaskRule(raw.SAMPLER_MASK_FORBIDS)
)

// DrawMethod is how a token is drawn from what the filters kept. All follow the same distribution.
type DrawMethod int32

const (
	// DrawInverseCDF: one uniform number per row; exact in integers, tails of any size.
	DrawInverseCDF = DrawMethod(raw.SAMPLER_DRAW_INVERSE_CDF)
	// DrawGumbel: a small change of the logits rarely changes the token. Tails below 2^-30 of the
	// likeliest token are not resolved.
	DrawGumbel = DrawMethod(raw.SAMPLER_DRAW_GUMBEL)
	// DrawWatermark: DrawGumbel by the numbers of WatermarkRandom. Sample only.
	DrawWatermark = DrawMethod(raw.SAMPLER_DRAW_WATERMARK)
)

// LogprobKind is of which distribution a log-probability, and what else is reported of a row, is.
type LogprobKind int32

const (
	// LogprobRaw: the whole row, as it is given, at temperature 1.
	LogprobRaw = LogprobKind(raw.SAMPLER_LOGPROB_RAW)
	// LogprobProcessed: what was drawn from.
	LogprobProcessed = LogprobKind(raw.SAMPLER_LOGPROB_PROCESSED)
	// LogprobEdited: the whole row, as its edits left it, at temperature 1.
	LogprobEdited = LogprobKind(raw.SAMPLER_LOGPROB_EDITED)
)

// Acceptance is when a draft x is accepted, to which the target gives p(x) and the drafter gave
// q(x). u is uniform in [0, 1).
type Acceptance int32

const (
	// AcceptDefault is that of the context: AcceptStandard in Verify, AcceptSampleMatch in a session.
	// By slot or sequence: the one that is given for all.
	AcceptDefault = Acceptance(raw.SAMPLER_ACCEPT_DEFAULT)

	// Lossless: what is emitted follows the target's distribution.

	// AcceptStandard: u q(x) < p(x).
	AcceptStandard = Acceptance(raw.SAMPLER_ACCEPT_STANDARD)
	// AcceptBlock is block verification (Sun et al. 2024): all drafts of a chain are judged together.
	AcceptBlock = Acceptance(raw.SAMPLER_ACCEPT_BLOCK)
	// AcceptSampleMatch: the target's own token is drawn as Sample draws it, at the offset + i behind
	// i drafts, and drafts are accepted while they are that token.
	AcceptSampleMatch = Acceptance(raw.SAMPLER_ACCEPT_SAMPLE_MATCH)

	// Lossy.

	// AcceptTypical: p(x) > min(TypicalThreshold, TypicalScale * exp(-H(p))) (Cai et al. 2024).
	AcceptTypical = Acceptance(raw.SAMPLER_ACCEPT_TYPICAL)
	// AcceptRelaxed: x is one of the RelaxedTopK first tokens and p(x) >= p_max - RelaxedDelta; where
	// no draft of a position is, as AcceptStandard (TensorRT-LLM).
	AcceptRelaxed = Acceptance(raw.SAMPLER_ACCEPT_RELAXED)
	// AcceptThreshold: p(x) >= ThresholdSingle, or u * ThresholdTotal < the sum of p of x and the
	// siblings tried before it (SGLang).
	AcceptThreshold = Acceptance(raw.SAMPLER_ACCEPT_THRESHOLD)
	// AcceptDeferred: as AcceptStandard, but a rejected draft of a chain is kept where the target is
	// in doubt and the next DeferredWindow drafts would be accepted (FLy; vLLM).
	AcceptDeferred = Acceptance(raw.SAMPLER_ACCEPT_DEFERRED)
	// AcceptSynthetic: u < SyntheticRates[i], whatever the rows say: for benchmarks.
	AcceptSynthetic = Acceptance(raw.SAMPLER_ACCEPT_SYNTHETIC)
)

// SiblingRule is how siblings of a tree were drafted.
type SiblingRule int32

const (
	// SiblingsIndependent: each was drawn from its own row.
	SiblingsIndependent = SiblingRule(raw.SAMPLER_SIBLINGS_INDEPENDENT)
	// SiblingsWithoutReplacement: each was drawn from its row without its earlier siblings.
	SiblingsWithoutReplacement = SiblingRule(raw.SAMPLER_SIBLINGS_WITHOUT_REPLACEMENT)
)

// Packing is how the drafts of several sequences lie in memory.
type Packing int32

const (
	// PackingDense: NumDrafts, or NumDrafts + 1, entries for each sequence.
	PackingDense = Packing(raw.SAMPLER_PACKING_DENSE)
	// PackingDrafts: one after the other. PackingOffsets is [number of sequences + 1]: the drafts of
	// sequence s are those from PackingOffsets[s] to PackingOffsets[s+1] - 1, its positions begin s
	// later.
	PackingDrafts = Packing(raw.SAMPLER_PACKING_DRAFTS)
	// PackingDraftEnds: the same without the leading 0 (vLLM, V1).
	PackingDraftEnds = Packing(raw.SAMPLER_PACKING_DRAFT_ENDS)
	// PackingPositions: the positions of sequence s are those from PackingOffsets[s] to
	// PackingOffsets[s+1] - 1, one more than its drafts. What is laid out by draft has an entry for
	// each position: entry i + 1 is of draft i, entry 0 is not read (vLLM, V2). Its rows of Draft
	// begin s earlier.
	PackingPositions = Packing(raw.SAMPLER_PACKING_POSITIONS)
)

// OutputKind is what Filter writes of a row.
type OutputKind int32

const (
	// OutputProbabilities: those of the kept tokens, renormalised, and 0 elsewhere; one-hot when
	// greedy; 0 throughout a bad row.
	OutputProbabilities = OutputKind(raw.SAMPLER_OUTPUT_PROBABILITIES)
	// OutputValues: the kept logits, unchanged, and -inf elsewhere; a bad row is copied as it is.
	OutputValues = OutputKind(raw.SAMPLER_OUTPUT_VALUES)
)

// RowStatus is what became of a row: bits, 0 for a good one. A bad row never makes a call fail.
type RowStatus uint32

const (
	RowOK = RowStatus(raw.SAMPLER_ROW_OK)
	// RowInvalidValue: a NaN, a +inf logit, or a negative or infinite probability.
	RowInvalidValue = RowStatus(raw.SAMPLER_ROW_INVALID_VALUE)
	// RowEmpty: no token to choose.
	RowEmpty = RowStatus(raw.SAMPLER_ROW_EMPTY)
	// RowInvalidParameter: a parameter of the row is NaN, or a temperature that probabilities
	// cannot have.
	RowInvalidParameter = RowStatus(raw.SAMPLER_ROW_INVALID_PARAMETER)
	// RowInvalidIndex: the row's entry of RowIndices names no input row, or that of
	// TokenBitmaskIndices no mask.
	RowInvalidIndex = RowStatus(raw.SAMPLER_ROW_INVALID_INDEX)
	// RowInvalidCandidate: a count or an id of the candidates is out of range, or an id listed
	// twice.
	RowInvalidCandidate = RowStatus(raw.SAMPLER_ROW_INVALID_CANDIDATE)
	// RowInvalidDraft: a draft token or length is out of range. The row is otherwise good.
	RowInvalidDraft = RowStatus(raw.SAMPLER_ROW_INVALID_DRAFT)
	// RowInvalidSlot: the row's entry of Slots is out of range.
	RowInvalidSlot = RowStatus(raw.SAMPLER_ROW_INVALID_SLOT)
	// RowInvalidList: a list of the row's slot, in the Pipeline, has offsets that fall or lie
	// outside of its ids, or breaks another rule of Pipeline.
	RowInvalidList = RowStatus(raw.SAMPLER_ROW_INVALID_LIST)
	// RowStateFull: the tokens do not fit in the slot of the State, which is as it was.
	RowStateFull = RowStatus(raw.SAMPLER_ROW_STATE_FULL)
	// RowInvalidTree: the sequence's drafts hang together in a way that no tree does.
	RowInvalidTree = RowStatus(raw.SAMPLER_ROW_INVALID_TREE)
	// RowInvalidShard: the ranks that a row lies on disagree about it. Not of calls of this package.
	RowInvalidShard = RowStatus(raw.SAMPLER_ROW_INVALID_SHARD)
)

var rowStatusNames = map[RowStatus]string{
	RowInvalidValue:     "INVALID_VALUE",
	RowEmpty:            "EMPTY",
	RowInvalidParameter: "INVALID_PARAMETER",
	RowInvalidIndex:     "INVALID_INDEX",
	RowInvalidCandidate: "INVALID_CANDIDATE",
	RowInvalidDraft:     "INVALID_DRAFT",
	RowInvalidSlot:      "INVALID_SLOT",
	RowInvalidList:      "INVALID_LIST",
	RowStateFull:        "STATE_FULL",
	RowInvalidTree:      "INVALID_TREE",
	RowInvalidShard:     "INVALID_SHARD",
}

// String is the names of the bits, as in C's constants: "OK", "EMPTY", "INVALID_SLOT|STATE_FULL". A bit
// that has none is a number.
func (s RowStatus) String() string {
	if s == RowOK {
		return "OK"
	}
	var names []string
	for rest := s; rest != 0; rest &= rest - 1 {
		bit := RowStatus(1) << bits.TrailingZeros32(uint32(rest))
		name, isKnown := rowStatusNames[bit]
		if !isKnown {
			name = fmt.Sprintf("%#x", uint32(bit))
		}
		names = append(names, name)
	}
	return strings.Join(names, "|")
}

// ISA is a set of instruction sets, as bits.
type ISA uint32

const (
	ISAScalar = ISA(raw.SAMPLER_ISA_SCALAR)
	ISAAVX2   = ISA(raw.SAMPLER_ISA_AVX2)
	ISAAVX512 = ISA(raw.SAMPLER_ISA_AVX512)
	ISANEON   = ISA(raw.SAMPLER_ISA_NEON)
)

// DraftSource is where the drafts of a session's sequence come from. The first new token is never
// drafted.
type DraftSource int32

const (
	DraftsNone = DraftSource(raw.SAMPLER_DRAFTS_NONE)
	// DraftsModel: a drafter model, which the caller runs.
	DraftsModel = DraftSource(raw.SAMPLER_DRAFTS_MODEL)
	// DraftsNgram: an Ngram, which sequences may share.
	DraftsNgram = DraftSource(raw.SAMPLER_DRAFTS_NGRAM)
	// DraftsPromptLookup: a lookup of the sequence's own text, in the session's memory.
	DraftsPromptLookup = DraftSource(raw.SAMPLER_DRAFTS_PROMPT_LOOKUP)
)

// GammaRule is how many drafts a step gets.
type GammaRule int32

const (
	GammaFixed = GammaRule(raw.SAMPLER_GAMMA_FIXED) // NumDrafts
	// GammaByEntropy: by the entropy of the drafter's distribution.
	GammaByEntropy = GammaRule(raw.SAMPLER_GAMMA_BY_ENTROPY)
	// GammaMeasured: the number of most tokens a second, by the time that drafts take.
	GammaMeasured = GammaRule(raw.SAMPLER_GAMMA_MEASURED)
)

// NgramKind is which n-grams a storage keeps.
type NgramKind int32

const (
	// NgramAllOrders: of 2 to Order tokens. After an unknown context the longest known end of it
	// counts, down to its last token alone.
	NgramAllOrders = NgramKind(raw.SAMPLER_NGRAM_ALL_ORDERS)
	// NgramOneLevel: of Order tokens only. A context of fewer than Order - 1 tokens is unknown.
	NgramOneLevel = NgramKind(raw.SAMPLER_NGRAM_ONE_LEVEL)
)

// LogLevel is of a line that a sampler logs.
type LogLevel int32

const (
	LogInfo  = LogLevel(raw.SAMPLER_LOG_INFO)
	LogError = LogLevel(raw.SAMPLER_LOG_ERROR)
)

// FinishReason is why a session's sequence has ended.
type FinishReason int32

const (
	FinishNone         = FinishReason(raw.SAMPLER_FINISH_NONE)          // it has not
	FinishEndToken     = FinishReason(raw.SAMPLER_FINISH_END_TOKEN)     // the last token is one
	FinishLength       = FinishReason(raw.SAMPLER_FINISH_LENGTH)        // it has MaxNewTokens
	FinishContext      = FinishReason(raw.SAMPLER_FINISH_CONTEXT)       // it has MaxContext tokens
	FinishBadRow       = FinishReason(raw.SAMPLER_FINISH_BAD_ROW)       // the logits gave no token
	FinishStopSequence = FinishReason(raw.SAMPLER_FINISH_STOP_SEQUENCE) // the last tokens are one
)

var finishReasonNames = map[FinishReason]string{
	FinishNone:         "NONE",
	FinishEndToken:     "END_TOKEN",
	FinishLength:       "LENGTH",
	FinishContext:      "CONTEXT",
	FinishBadRow:       "BAD_ROW",
	FinishStopSequence: "STOP_SEQUENCE",
}

// String is the reason's name, as in C's constant: "END_TOKEN". A number where it has none.
func (r FinishReason) String() string {
	if name, isKnown := finishReasonNames[r]; isKnown {
		return name
	}
	return fmt.Sprint(int32(r))
}

// Confidence is what orders a block's candidates: the most confident first.
type Confidence int32

const (
	// ConfidenceProbability: the candidate's probability. Scores are OutLogprobs.
	ConfidenceProbability = Confidence(raw.SAMPLER_CONFIDENCE_PROBABILITY)
	// ConfidenceMargin: the largest probability less the second. Scores are OutTopLogprobs of at
	// least two tokens.
	ConfidenceMargin = Confidence(raw.SAMPLER_CONFIDENCE_MARGIN)
	// ConfidenceEntropy: minus the entropy. Scores are OutEntropies.
	ConfidenceEntropy = Confidence(raw.SAMPLER_CONFIDENCE_ENTROPY)
	// ConfidenceGiven: the score as it is.
	ConfidenceGiven = Confidence(raw.SAMPLER_CONFIDENCE_GIVEN)
	// ConfidenceRandom: a uniform random number. No scores.
	ConfidenceRandom = Confidence(raw.SAMPLER_CONFIDENCE_RANDOM)
	// ConfidencePosition: from the block's first row on. No scores.
	ConfidencePosition = Confidence(raw.SAMPLER_CONFIDENCE_POSITION)
)

// UnmaskChange is what happened to a row's token, a byte of UnmaskArgs.OutChanges.
type UnmaskChange int32

const (
	// UnmaskKept: nothing; masked still, or a token as before.
	UnmaskKept = UnmaskChange(raw.SAMPLER_UNMASK_KEPT)
	// UnmaskCommitted: the candidate took the mask's place.
	UnmaskCommitted = UnmaskChange(raw.SAMPLER_UNMASK_COMMITTED)
	// UnmaskEdited: the candidate took another token's place.
	UnmaskEdited = UnmaskChange(raw.SAMPLER_UNMASK_EDITED)
)

// WatermarkScheme is one of Hugging Face's schemes.
type WatermarkScheme int32

const (
	// SchemeLefthash: green lists by the last token.
	SchemeLefthash = WatermarkScheme(raw.SAMPLER_WATERMARK_LEFTHASH)
	// SchemeSelfhash: green lists by the last tokens, the drawn one among them.
	SchemeSelfhash = WatermarkScheme(raw.SAMPLER_WATERMARK_SELFHASH)
	// SchemeTournament: SynthID-Text.
	SchemeTournament = WatermarkScheme(raw.SAMPLER_WATERMARK_TOURNAMENT)
)
