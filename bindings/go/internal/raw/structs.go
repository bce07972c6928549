// Made from libsampler's headers by bindings/swig/generate.py; do not edit.

package raw

// The structs of the headers, with addresses for pointers.

type Allocator struct {
	Allocate   uintptr
	Deallocate uintptr
	User       uintptr
}

type Options struct {
	StructSize       uintptr
	AbiVersion       uint32
	DeviceType       int32
	DeviceID         int32
	NumThreads       int32
	MaxRows          int64
	MaxCols          int64
	ParallelFor      uintptr
	ParallelForUser  uintptr
	Allocator        Allocator
	Log              uintptr
	LogUser          uintptr
	FallbackTokenID  int64
	UseFallbackToken int32
	HostParameters   int32
	CheckPointers    int32
	Reserved         int32
}

type Capabilities struct {
	StructSize     uintptr
	Version        uint32
	AbiVersion     uint32
	IsaCompiled    uint32
	IsaUsable      uint32
	IsaActive      uint32
	CudaCompiled   uint32
	NumCudaDevices uint32
	NumProcessors  uint32
}

type Ngram struct {
	StructSize uintptr
	User       uintptr
	NextToken  uintptr
	HasGram    uintptr
	Update     uintptr
	Initialize uintptr
	Reset      uintptr
	Propose    uintptr
}

type NgramStorageOptions struct {
	StructSize     uintptr
	Kind           int32
	Order          int32
	VocabularySize int64
	MemoryLimit    int64
	Allocator      Allocator
}

type NgramStorageStats struct {
	StructSize  uintptr
	NumContexts int64
	NumUpdates  int64
	NumDropped  int64
	MemoryBytes int64
}

type PromptLookupOptions struct {
	StructSize     uintptr
	MinMatch       int64
	MaxMatch       int64
	MaxTokens      int64
	VocabularySize int64
	Allocator      Allocator
}

type TokenLists struct {
	Offsets     uintptr
	TokenIDs    uintptr
	NumLists    int64
	NumTokenIDs int64
}

type Pipeline struct {
	StructSize          uintptr
	TokenIDType         int32
	TokenBitmaskRule    int32
	History             TokenLists
	PromptLengths       uintptr
	MaxHistoryTokens    int64
	GuidanceLogits      uintptr
	NumGuidanceRows     int64
	GuidanceRowIndices  uintptr
	Biased              TokenLists
	Biases              uintptr
	BiasContexts        TokenLists
	DenseBias           uintptr
	NumDenseBiases      int64
	DenseBiasStride     int64
	Allowed             TokenLists
	Banned              TokenLists
	Stop                TokenLists
	Unpenalized         TokenLists
	BadWords            TokenLists
	BadWordOffsets      uintptr
	DryBreakers         TokenLists
	TokenBitmasks       uintptr
	NumTokenBitmasks    int64
	TokenBitmaskStride  int64
	TokenBitmaskIndices uintptr
	State               uintptr
	AdaptiveValues      uintptr
}

type Params struct {
	StructSize                 uintptr
	Temperature                float32
	TopP                       float32
	MinP                       float32
	TopK                       int32
	TopKTies                   int32
	TopPTies                   int32
	FilterOrder                int32
	TemperatureOrder           int32
	GuidanceScale              float32
	RepetitionPenalty          float32
	FrequencyPenalty           float32
	PresencePenalty            float32
	PenaltyWindow              int32
	PenaltyScope               int32
	PenaltyForm                int32
	ExponentialDecayStart      int32
	ExponentialDecayFactor     float32
	DryMultiplier              float32
	DryBase                    float32
	DryAllowedLength           int32
	DryWindow                  int32
	NoRepeatNgramSize          int32
	MinNewTokens               int32
	BadWordScope               int32
	DynamicTemperatureRange    float32
	DynamicTemperatureExponent float32
	TypicalP                   float32
	TopNSigma                  float32
	EpsilonCutoff              float32
	EtaCutoff                  float32
	TopH                       float32
	PLess                      int32
	MinK                       float32
	TopA                       float32
	XtcProbability             float32
	XtcThreshold               float32
	TypicalPTies               int32
	MinKeep                    int32
	Stages                     [32]int32
	AdaptiveKind               int32
	AdaptiveTarget             float32
	AdaptiveRate               float32
	TopPDecay                  float32
	TopPLeast                  float32
	TopPSum                    int32
	TypicalPSum                int32
	CutoffTies                 int32
}

type RowParams struct {
	StructSize                 uintptr
	Temperature                uintptr
	TopP                       uintptr
	MinP                       uintptr
	TopK                       uintptr
	GuidanceScale              uintptr
	RepetitionPenalty          uintptr
	FrequencyPenalty           uintptr
	PresencePenalty            uintptr
	PenaltyWindow              uintptr
	ExponentialDecayStart      uintptr
	ExponentialDecayFactor     uintptr
	DryMultiplier              uintptr
	DryBase                    uintptr
	DryAllowedLength           uintptr
	DryWindow                  uintptr
	NoRepeatNgramSize          uintptr
	MinNewTokens               uintptr
	DynamicTemperatureRange    uintptr
	DynamicTemperatureExponent uintptr
	TypicalP                   uintptr
	TopNSigma                  uintptr
	EpsilonCutoff              uintptr
	EtaCutoff                  uintptr
	TopH                       uintptr
	PLess                      uintptr
	MinK                       uintptr
	TopA                       uintptr
	XtcProbability             uintptr
	XtcThreshold               uintptr
	MinKeep                    uintptr
	ForcedTokenID              uintptr
	AdaptiveKind               uintptr
	AdaptiveTarget             uintptr
	AdaptiveRate               uintptr
	TopPDecay                  uintptr
	TopPLeast                  uintptr
	TopPResetTokenID           uintptr
}

type ReportArgs struct {
	StructSize           uintptr
	LogprobKind          int32
	Reserved             int32
	OutLogprobs          uintptr
	OutValues            uintptr
	OutKeptCounts        uintptr
	OutObservations      uintptr
	NumTopLogprobs       int64
	OutTopTokenIDs       uintptr
	OutTopLogprobs       uintptr
	NumChosen            int64
	ChosenTokenIDs       uintptr
	OutChosenLogprobs    uintptr
	OutRanks             uintptr
	OutEntropies         uintptr
	OutKeptBitmask       uintptr
	KeptBitmaskStride    int64
	KeptCapacity         int64
	OutKeptTokenIDs      uintptr
	OutKeptProbabilities uintptr
	OutKeptOffsets       uintptr
	OutRemovedBy         uintptr
}

type Exec struct {
	Stream         uintptr
	Workspace      uintptr
	WorkspaceBytes uintptr
}

type Rows struct {
	Values          uintptr
	NumRows         int64
	NumCols         int64
	RowStride       int64
	CandidateIDs    uintptr
	CandidateCounts uintptr
	Dtype           int32
	Kind            int32
	CandidateIDType int32
	Reserved        int32
}

type Random struct {
	Seed       uint64
	Offset     uint64
	Seeds      uintptr
	Offsets    uintptr
	Streams    uintptr
	NumSeeds   int64
	NumOffsets int64
}

type SampleArgs struct {
	StructSize    uintptr
	Exec          Exec
	Input         Rows
	RowIndices    uintptr
	NumRowIndices int64
	Slots         uintptr
	NumSlots      int64
	Params        uintptr
	RowParams     uintptr
	Pipeline      uintptr
	Random        Random
	DrawMethod    int32
	TokenIDType   int32
	OutTokenIDs   uintptr
	OutRowStatus  uintptr
	Reports       uintptr
}

type ScoreArgs struct {
	StructSize    uintptr
	Exec          Exec
	Input         Rows
	RowIndices    uintptr
	NumRowIndices int64
	Slots         uintptr
	NumSlots      int64
	Params        uintptr
	RowParams     uintptr
	Pipeline      uintptr
	Random        Random
	TokenIDType   int32
	Reserved      int32
	TokenIDs      uintptr
	Kept          TokenLists
	OutRowStatus  uintptr
	Reports       uintptr
}

type FilterArgs struct {
	StructSize    uintptr
	Exec          Exec
	Input         Rows
	Slots         uintptr
	NumSlots      int64
	Params        uintptr
	RowParams     uintptr
	OutputKind    int32
	OutputDtype   int32
	Output        uintptr
	OutputStride  int64
	OutKeptCounts uintptr
	OutRowStatus  uintptr
	Pipeline      uintptr
}

type SelectArgs struct {
	StructSize     uintptr
	Exec           Exec
	Input          Rows
	NumSelected    int64
	SelectedCounts uintptr
	OutputDtype    int32
	TokenIDType    int32
	OutValues      uintptr
	OutTokenIDs    uintptr
	OutCounts      uintptr
	OutRowStatus   uintptr
}

type SessionOptions struct {
	StructSize       uintptr
	MaxSequences     int64
	MaxContext       int64
	VocabularySize   int64
	LogitsDtype      int32
	KeepDrafterRows  int32
	MaxDrafts        int64
	DrafterContext   int64
	LookupTokens     int64
	MaxEndTokens     int64
	MaxStopSequences int64
	MaxStopTokens    int64
	MaxTopLogprobs   int64
	Params           uintptr
	Pipeline         uintptr
	Acceptance       uintptr
	HasDraftTrees    int32
	HasAdaptiveGamma int32
	Clock            uintptr
	ClockUser        uintptr
	Stream           uintptr
	FillerTopK       int64
	HasBlocks        int32
	ConfidenceKind   int32
}

type SessionSequence struct {
	StructSize         uintptr
	TokenIDs           uintptr
	NumTokens          int64
	PromptLength       int64
	CacheLength        int64
	DrafterCacheLength int64
	FinishReason       int32
	RowStatus          uint32
	StopSequence       int64
	NumSteps           int64
	NumDrafted         int64
	NumAccepted        int64
	IsDrafting         int32
	Reserved           int32
	AdaptiveValues     [4]float32
	DrafterEntropy     float64
}

type SessionAddArgs struct {
	StructSize            uintptr
	TokenIDs              uintptr
	NumTokens             int64
	PromptLength          int64
	CacheLength           int64
	DrafterCacheLength    int64
	Params                uintptr
	Seed                  uint64
	MaxNewTokens          int64
	EndTokenIDs           uintptr
	NumEndTokens          int64
	StopSequences         TokenLists
	DraftSource           int32
	Acceptance            int32
	Ngram                 uintptr
	NumDrafts             int64
	MinMatch              int64
	DraftUnknown          int32
	NgramHasText          int32
	NgramLeastCount       int64
	NgramLeastShare       float32
	LeastDraftProbability float32
	DraftTopK             int64
	AdaptiveGamma         int32
	EmaBeta               float32
	GammaMin              int64
	Resumed               uintptr
	Unmask                uintptr
}

type SessionForkArgs struct {
	StructSize uintptr
	Source     int32
	Reserved   int32
	Seed       uintptr
	Params     uintptr
}

type Span struct {
	Sequence  int32
	Plan      int32
	Start     int64
	TokenIDs  uintptr
	NumTokens int64
	NumLogits int64
}

type SessionPlanArgs struct {
	StructSize         uintptr
	Sequences          uintptr
	NumSequences       int64
	MaxTokens          int64
	OutSpans           uintptr
	OutNumSpans        uintptr
	OutDrafterSpans    uintptr
	OutNumDrafterSpans uintptr
	OutParents         uintptr
}

type SessionAdvanceArgs struct {
	StructSize             uintptr
	Spans                  uintptr
	NumSpans               int64
	Logits                 uintptr
	LogitsRowStride        int64
	DrafterSpans           uintptr
	NumDrafterSpans        int64
	DrafterLogits          uintptr
	DrafterRowStride       int64
	TokenBitmaskIndices    uintptr
	ForcedTokenIDs         uintptr
	OutTokenIDs            uintptr
	OutCounts              uintptr
	OutFinishReasons       uintptr
	OutCacheLengths        uintptr
	OutDrafterCacheLengths uintptr
	OutAcceptedCounts      uintptr
	OutRowStatus           uintptr
	Reports                uintptr
	GuidanceLogits         uintptr
	NumGuidanceRows        int64
	GuidanceRowIndices     uintptr
}

type ShardArgs struct {
	StructSize    uintptr
	Sample        uintptr
	Filter        uintptr
	Select        uintptr
	Residual      uintptr
	FirstTokenID  int64
	TotalCols     int64
	Rank          int64
	NumRanks      int64
	MaxTopK       int64
	Send          uintptr
	Received      uintptr
	SendBytes     uintptr
	ReceivedBytes uintptr
	Verify        uintptr
}

type ShardPlanInfo struct {
	StructSize      uintptr
	WorkspaceBytes  uintptr
	NumExchanges    int64
	MessageBytes    [8]uintptr
	MaxMessageBytes uintptr
	Digest          uint64
}

type AcceptanceParams struct {
	StructSize       uintptr
	Rule             int32
	SiblingRule      int32
	DrawMethod       int32
	RelaxedTopK      int32
	RelaxedDelta     float32
	TypicalThreshold float32
	TypicalScale     float32
	ThresholdSingle  float32
	ThresholdTotal   float32
	DeferredEntropy  float32
	DeferredTopK     int32
	DeferredWindow   int32
	SyntheticRates   uintptr
}

type DraftLayout struct {
	StructSize           uintptr
	TargetSequenceStride int64
	DraftSequenceStride  int64
	DraftTokenStride     int64
	Packing              int32
	DraftRowsBySlot      int32
	PackingOffsets       uintptr
	NumSequences         int64
	NumPackedDrafts      int64
	NumPackedPositions   int64
	TargetRowIndices     uintptr
	BonusRowIndices      uintptr
	DraftRowIndices      uintptr
	Parents              uintptr
	FirstChildren        uintptr
	NextSiblings         uintptr
	TreeRows             int64
}

type VerifyArgs struct {
	StructSize        uintptr
	Exec              Exec
	Target            Rows
	Draft             Rows
	DraftTokenIDs     uintptr
	NumDrafts         int64
	DraftCounts       uintptr
	Layout            uintptr
	Slots             uintptr
	NumSlots          int64
	Params            uintptr
	RowParams         uintptr
	DraftParams       uintptr
	DraftRowParams    uintptr
	Pipeline          uintptr
	ForcedTokenIDs    uintptr
	Random            Random
	Acceptance        uintptr
	Acceptances       uintptr
	TokenIDType       int32
	AccumulateCounts  int32
	OutTokenIDs       uintptr
	OutAcceptedCounts uintptr
	OutEmittedCounts  uintptr
	OutRowStatus      uintptr
	Reports           uintptr
	OutPositions      uintptr
	KvIndices         uintptr
	OutKvIndices      uintptr
}

type ResidualArgs struct {
	StructSize    uintptr
	Exec          Exec
	Target        Rows
	Draft         Rows
	DraftTokenIDs uintptr
	TokenIDType   int32
	OutputDtype   int32
	Output        uintptr
	OutputStride  int64
	OutRowStatus  uintptr
}

type StateOptions struct {
	StructSize         uintptr
	NumSlots           int64
	MaxTokens          int64
	MaxDistinctTokens  int64
	KeepAdaptiveValues int32
	Reserved           int32
}

type StateAppendArgs struct {
	StructSize   uintptr
	Exec         Exec
	State        uintptr
	Slots        uintptr
	NumRows      int64
	Tokens       TokenLists
	TokenIDType  int32
	TokenKind    int32
	OutLengths   uintptr
	OutRowStatus uintptr
}

type AcceptArgs struct {
	StructSize   uintptr
	Exec         Exec
	State        uintptr
	Slots        uintptr
	NumRows      int64
	TokenIDs     uintptr
	NumTokens    int64
	TokenIDType  int32
	Reserved     int32
	Observations uintptr
	Params       uintptr
	RowParams    uintptr
	Offsets      uintptr
	OutLengths   uintptr
	OutRowStatus uintptr
}

type StateTruncateArgs struct {
	StructSize   uintptr
	Exec         Exec
	State        uintptr
	Slots        uintptr
	NumRows      int64
	Lengths      uintptr
	OutRowStatus uintptr
}

type StateCopyArgs struct {
	StructSize       uintptr
	Exec             Exec
	Source           uintptr
	Destination      uintptr
	SourceSlots      uintptr
	DestinationSlots uintptr
	NumRows          int64
	OutRowStatus     uintptr
}

type StateResetArgs struct {
	StructSize     uintptr
	Exec           Exec
	State          uintptr
	Slots          uintptr
	NumRows        int64
	AdaptiveValues uintptr
	OutRowStatus   uintptr
}

type StateReadArgs struct {
	StructSize        uintptr
	Exec              Exec
	State             uintptr
	Slots             uintptr
	NumRows           int64
	OutTokenIDs       uintptr
	NumTokens         int64
	TokenIDType       int32
	Reserved          int32
	OutLengths        uintptr
	OutPromptLengths  uintptr
	OutAdaptiveValues uintptr
	OutRowStatus      uintptr
}

type UnmaskParams struct {
	StructSize        uintptr
	MaskTokenID       int64
	BlockLength       int64
	Confidence        int32
	OrderTemperature  float32
	Threshold         float32
	EntropyBound      float32
	EditThreshold     float32
	NumCommitted      int32
	NumStepsLeft      int32
	BlocksAfterPrompt int32
}

type UnmaskArgs struct {
	StructSize         uintptr
	Exec               Exec
	NumRows            int64
	BlockOffsets       uintptr
	NumBlocks          int64
	TokenIDType        int32
	Reserved           int32
	Params             uintptr
	CandidateTokenIDs  uintptr
	CandidateStatus    uintptr
	Scores             uintptr
	ScoreStride        int64
	TokenIDs           uintptr
	Slots              uintptr
	NumSlots           int64
	Random             Random
	BlockNumCommitted  uintptr
	BlockNumStepsLeft  uintptr
	OutChanges         uintptr
	OutConfidences     uintptr
	OutCommittedCounts uintptr
	OutEditedCounts    uintptr
	OutMaskedCounts    uintptr
	OutBlockStatus     uintptr
}

type WatermarkParams struct {
	StructSize     uintptr
	Scheme         int32
	ContextLength  int32
	VocabularySize int64
	Key            int64
	GreenShare     float64
	Bias           float32
	KeepsRepeated  int32
	Keys           uintptr
	NumKeys        int64
	Table          uintptr
	TableSize      int64
	TableSeed      uint64
}
