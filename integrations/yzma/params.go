package samplerllama

import "unsafe"

// Params are sampler_params, whose ranges and defaults include/sampler/sampling.h has, with its layout.
// They are made by DefaultParams or PresetParams.
type Params struct {
	structSize uintptr

	Temperature      float32
	TopP             float32
	MinP             float32
	TopK             int32
	TopKTies         TieRule
	TopPTies         TieRule
	FilterOrder      FilterOrder
	TemperatureOrder TemperatureOrder

	// Edits. The sampler has no guidance, stop tokens, bad words and output: their members are off.
	GuidanceScale          float32
	RepetitionPenalty      float32
	FrequencyPenalty       float32
	PresencePenalty        float32
	PenaltyWindow          int32
	PenaltyScope           PenaltyScope
	PenaltyForm            PenaltyForm
	ExponentialDecayStart  int32
	ExponentialDecayFactor float32
	DRYMultiplier          float32
	DRYBase                float32
	DRYAllowedLength       int32
	DRYWindow              int32
	NoRepeatNgramSize      int32
	MinNewTokens           int32
	BadWordScope           PenaltyScope

	// Windows.
	DynamicTemperatureRange    float32
	DynamicTemperatureExponent float32
	TypicalP                   float32
	TopNSigma                  float32
	EpsilonCutoff              float32
	EtaCutoff                  float32
	TopH                       float32
	PLess                      PLessKind
	MinK                       float32
	TopA                       float32
	XTCProbability             float32
	XTCThreshold               float32
	TypicalPTies               TieRule
	MinKeep                    int32

	Stages [MaxStages]Stage // all 0: the order of the constants

	AdaptiveKind   AdaptiveKind
	AdaptiveTarget float32
	AdaptiveRate   float32
	TopPDecay      float32
	TopPLeast      float32

	TopPSum     SumRule
	TypicalPSum SumRule
	CutoffTies  TieRule
}

// DefaultParams have temperature 1 and all else off.
func DefaultParams() Params {
	return Params{structSize: unsafe.Sizeof(Params{}), Temperature: 1, TopP: 1}
}

// The enumerations of include/sampler/types.h and pipeline.h, with their values.
type (
	TieRule          int32
	SumRule          int32
	FilterOrder      int32
	TemperatureOrder int32
	PenaltyScope     int32
	PenaltyForm      int32
	PLessKind        int32
	AdaptiveKind     int32
	Stage            int32
)

const (
	TiesExact TieRule = iota
	TiesKeep
)

const (
	SumReaches SumRule = iota
	SumExceeds
)

const (
	FiltersSequential FilterOrder = iota
	FiltersJoint
	FiltersMinPFirst
)

const (
	TemperatureFirst TemperatureOrder = iota
	TemperatureLast
)

const (
	PenaltyScopeStandard PenaltyScope = iota
	PenaltyScopeAll
	PenaltyScopeOutput
)

const (
	PenaltyDivide PenaltyForm = iota
	PenaltyReciprocal
	PenaltyCountsFirst
)

const (
	PLessNone PLessKind = iota
	PLessPlain
	PLessNorm
)

const (
	AdaptiveNone AdaptiveKind = iota
	AdaptiveMirostatV1
	AdaptiveMirostatV2
	AdaptiveP
	AdaptiveSmoothing
)

// Stages, in the order in which they run if Params.Stages lists none.
const (
	StageBias Stage = iota + 1
	StageMask
	StagePenalties
	StageDRY
	StageNoRepeatNgram
	StageTemperature
	StageTypicalP
	StageTopNSigma
	StageEpsilon
	StageEta
	StageTopH
	StagePLess
	StageMinK
	StageTopA
	StageXTC
	StageTopK
	StageTopP
	StageMinP
	StageAdaptive
)

// MaxStages is the room of Params.Stages.
const MaxStages = 32
