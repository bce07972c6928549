package sampler

// Args is what WorkspaceSize takes: a pointer to the arguments of an operation.
type Args interface {
	run(s *Sampler, onlySize int32) (int, error)
}

// WorkspaceSize tells how many bytes of workspace the call with these arguments needs. Of the
// arrays only matters which are there.
func (s *Sampler) WorkspaceSize(args Args) (int, error) {
	if args == nil {
		return 0, &Error{"WorkspaceSize", ErrInvalidArgument, "args is nil; it is required"}
	}
	return args.run(s, 1)
}

// SampleArgs are the arguments of Sample. Brackets tell what an array's dimensions are.
type SampleArgs struct {
	// CUDA: the stream that the work is enqueued on, a cudaStream_t; 0 is the legacy default
	// stream.
	Stream uintptr

	// [NumInputRows, NumCols] Logits or probabilities, one row RowStride elements after the other.
	Input Data

	// Rows of output: tokens to draw. Below 2^31; with 0 the call does nothing.
	NumRows int

	// Columns of the input: the vocabulary, or the room for candidates. In [1, 2^20).
	NumCols int

	// Distance of two input rows in elements, at least NumCols. 0: NumCols.
	RowStride int

	InputKind InputKind

	// [NumRows] The input row that each output row draws from; any value outside [0, NumInputRows)
	// makes the output row bad. Left out: output row i draws from input row i.
	RowIndices Array[int32]

	// Rows of the input, below 2^31. 0: NumRows. Without RowIndices it must be 0 or NumRows.
	NumInputRows int

	// [NumInputRows, NumCols] Candidate lists, laid out like the input: the token id of each
	// element, in [0, 2^20), in any order, none twice in a row. Left out: the id of an element is
	// its column.
	CandidateIDs IDs

	// [NumInputRows] How many elements of each row there are, in [0, NumCols]. Left out: NumCols.
	CandidateCounts Array[int32]

	// Logits are divided by the temperature. At most 1e-5: greedy. Of probabilities it must be 1,
	// or greedy. Default 1.
	Temperature Param[float32]

	// Keeps the first TopK tokens by value, then id. <= 0 or >= NumCols: off. Default 0.
	TopK Param[int32]

	// Keeps the fewest first tokens whose probability is at least TopP. >= 1: off; <= 0: one token.
	// Default 1.
	TopP Param[float32]

	// Keeps the tokens at least MinP times as likely as the likeliest one. <= 0: off. Default 0.
	MinP Param[float32]

	// How the filters combine.
	TopKTies         TieRule
	TopPTies         TieRule
	FilterOrder      FilterOrder
	TemperatureOrder TemperatureOrder

	// How the token is drawn.
	DrawMethod DrawMethod

	// Of which distribution OutLogprobs is.
	LogprobKind LogprobKind

	// Use each pair of seed and offset once: a sequence takes a seed, and its position as the
	// offset. With one seed for all rows, rows draw independently. With a seed per row, a row's
	// token depends on its own seed and offset alone, not on its place in the batch. Default 0.
	Seed   Param[uint64]
	Offset Param[uint64]

	// [NumRows] The tokens; -1 or the sampler's fallback token for a bad row. Required.
	OutTokenIDs IDs

	// [NumRows] How many tokens the filters kept; 1 for a greedy row, 0 for a bad one.
	OutKeptCounts Array[int32]

	// [NumRows] Natural logarithm of the probability of the drawn token; NaN for a bad row.
	OutLogprobs Array[float32]

	// [NumRows] What became of each row.
	OutRowStatus Array[RowStatus]

	// Memory for the call, of as many bytes as WorkspaceSize tells. Left out: the sampler's.
	// WorkspaceBytes is for device memory; 0 is the length of a slice.
	Workspace      Array[byte]
	WorkspaceBytes int
}

// Sample draws one token per row from what top-k, top-p and min-p keep of it: every option in one
// call.
func (s *Sampler) Sample(args *SampleArgs) error {
	_, err := args.run(s, 0)
	return err
}

// TopKTopPArgs are the arguments of TopKTopP. Fields that SampleArgs has too mean the same.
type TopKTopPArgs struct {
	Stream          uintptr
	Input           Data
	NumRows         int
	NumCols         int
	RowStride       int
	InputKind       InputKind
	RowIndices      Array[int32]
	NumInputRows    int
	CandidateIDs    IDs
	CandidateCounts Array[int32]

	Temperature      Param[float32]
	TopK             Param[int32]
	TopP             Param[float32]
	TopKTies         TieRule
	TopPTies         TieRule
	FilterOrder      FilterOrder
	TemperatureOrder TemperatureOrder
	DrawMethod       DrawMethod
	Seed             Param[uint64]
	Offset           Param[uint64]

	OutTokenIDs   IDs
	OutKeptCounts Array[int32]
	OutRowStatus  Array[RowStatus]

	Workspace      Array[byte]
	WorkspaceBytes int
}

// TopKTopP draws one token per row from the TopK most likely tokens whose probability reaches TopP.
func (s *Sampler) TopKTopP(args *TopKTopPArgs) error {
	_, err := args.run(s, 0)
	return err
}

// TopKArgs are the arguments of TopK. Fields that SampleArgs has too mean the same.
type TopKArgs struct {
	Stream          uintptr
	Input           Data
	NumRows         int
	NumCols         int
	RowStride       int
	InputKind       InputKind
	RowIndices      Array[int32]
	NumInputRows    int
	CandidateIDs    IDs
	CandidateCounts Array[int32]

	Temperature Param[float32]
	TopK        Param[int32]
	TopKTies    TieRule
	DrawMethod  DrawMethod
	Seed        Param[uint64]
	Offset      Param[uint64]

	OutTokenIDs   IDs
	OutKeptCounts Array[int32]
	OutRowStatus  Array[RowStatus]

	Workspace      Array[byte]
	WorkspaceBytes int
}

// TopK draws one token per row from the TopK most likely tokens.
func (s *Sampler) TopK(args *TopKArgs) error {
	_, err := args.run(s, 0)
	return err
}

// TopPArgs are the arguments of TopP. Fields that SampleArgs has too mean the same.
type TopPArgs struct {
	Stream          uintptr
	Input           Data
	NumRows         int
	NumCols         int
	RowStride       int
	InputKind       InputKind
	RowIndices      Array[int32]
	NumInputRows    int
	CandidateIDs    IDs
	CandidateCounts Array[int32]

	Temperature      Param[float32]
	TopP             Param[float32]
	TopPTies         TieRule
	TemperatureOrder TemperatureOrder
	DrawMethod       DrawMethod
	Seed             Param[uint64]
	Offset           Param[uint64]

	OutTokenIDs   IDs
	OutKeptCounts Array[int32]
	OutRowStatus  Array[RowStatus]

	Workspace      Array[byte]
	WorkspaceBytes int
}

// TopP draws one token per row from the nucleus: the likeliest tokens whose probability reaches
// TopP.
func (s *Sampler) TopP(args *TopPArgs) error {
	_, err := args.run(s, 0)
	return err
}

// MinPArgs are the arguments of MinP. Fields that SampleArgs has too mean the same.
type MinPArgs struct {
	Stream          uintptr
	Input           Data
	NumRows         int
	NumCols         int
	RowStride       int
	InputKind       InputKind
	RowIndices      Array[int32]
	NumInputRows    int
	CandidateIDs    IDs
	CandidateCounts Array[int32]

	Temperature      Param[float32]
	MinP             Param[float32]
	TemperatureOrder TemperatureOrder
	DrawMethod       DrawMethod
	Seed             Param[uint64]
	Offset           Param[uint64]

	OutTokenIDs   IDs
	OutKeptCounts Array[int32]
	OutRowStatus  Array[RowStatus]

	Workspace      Array[byte]
	WorkspaceBytes int
}

// MinP draws one token per row from those at least MinP times as likely as the likeliest.
func (s *Sampler) MinP(args *MinPArgs) error {
	_, err := args.run(s, 0)
	return err
}

// ArgmaxArgs are the arguments of Argmax. Fields that SampleArgs has too mean the same.
type ArgmaxArgs struct {
	Stream          uintptr
	Input           Data
	NumRows         int
	NumCols         int
	RowStride       int
	InputKind       InputKind
	CandidateIDs    IDs
	CandidateCounts Array[int32]

	OutTokenIDs IDs

	// [NumRows] The token's value; NaN for a bad row.
	OutValues Array[float32]

	OutRowStatus Array[RowStatus]

	Workspace      Array[byte]
	WorkspaceBytes int
}

// Argmax gives the first token of each row: the largest value, the lowest id among equals.
func (s *Sampler) Argmax(args *ArgmaxArgs) error {
	_, err := args.run(s, 0)
	return err
}

// SoftmaxArgs are the arguments of Softmax. Fields that SampleArgs has too mean the same.
type SoftmaxArgs struct {
	Stream          uintptr
	Input           Data
	NumRows         int
	NumCols         int
	RowStride       int
	CandidateIDs    IDs
	CandidateCounts Array[int32]

	Temperature Param[float32]

	// [NumRows, NumCols] Probabilities; 0 in every element of a bad row. F32 or the input's type.
	// Required.
	Output Data

	// Distance of two output rows in elements, at least NumCols. 0: NumCols.
	OutputStride int

	OutRowStatus Array[RowStatus]

	Workspace      Array[byte]
	WorkspaceBytes int
}

// Softmax writes the probabilities of each row of logits at the temperature; one-hot when greedy.
func (s *Sampler) Softmax(args *SoftmaxArgs) error {
	_, err := args.run(s, 0)
	return err
}

// TopKRenormArgs are the arguments of TopKRenorm. Fields that SampleArgs has too mean the same. The
// input is probabilities by default.
type TopKRenormArgs struct {
	Stream          uintptr
	Input           Data
	NumRows         int
	NumCols         int
	RowStride       int
	InputKind       InputKind
	CandidateIDs    IDs
	CandidateCounts Array[int32]

	Temperature Param[float32]
	TopK        Param[int32]
	TopKTies    TieRule

	// [NumRows, NumCols] Kept tokens' probabilities, which sum to 1 but for rounding; exactly
	// 0 elsewhere and in bad rows. F32 or the input's type. Required.
	Output Data

	// Distance of two output rows in elements, at least NumCols. 0: NumCols.
	OutputStride int

	OutKeptCounts Array[int32]
	OutRowStatus  Array[RowStatus]

	Workspace      Array[byte]
	WorkspaceBytes int
}

// TopKRenorm writes each row's probabilities with all but the TopK largest set to 0, renormalised.
func (s *Sampler) TopKRenorm(args *TopKRenormArgs) error {
	_, err := args.run(s, 0)
	return err
}

// TopPRenormArgs are the arguments of TopPRenorm. Fields that SampleArgs has too mean the same. The
// input is probabilities by default.
type TopPRenormArgs struct {
	Stream          uintptr
	Input           Data
	NumRows         int
	NumCols         int
	RowStride       int
	InputKind       InputKind
	CandidateIDs    IDs
	CandidateCounts Array[int32]

	Temperature      Param[float32]
	TopP             Param[float32]
	TopPTies         TieRule
	TemperatureOrder TemperatureOrder

	// [NumRows, NumCols] As of TopKRenormArgs. F32 or the input's type. Required.
	Output Data

	// Distance of two output rows in elements, at least NumCols. 0: NumCols.
	OutputStride int

	OutKeptCounts Array[int32]
	OutRowStatus  Array[RowStatus]

	Workspace      Array[byte]
	WorkspaceBytes int
}

// TopPRenorm writes each row's probabilities with all outside the nucleus set to 0, renormalised.
func (s *Sampler) TopPRenorm(args *TopPRenormArgs) error {
	_, err := args.run(s, 0)
	return err
}

// TopKMaskArgs are the arguments of TopKMask. Fields that SampleArgs has too mean the same.
type TopKMaskArgs struct {
	Stream          uintptr
	Input           Data
	NumRows         int
	NumCols         int
	RowStride       int
	CandidateIDs    IDs
	CandidateCounts Array[int32]

	TopK     Param[int32]
	TopKTies TieRule

	// [NumRows, NumCols] Kept logits, unchanged, and -inf elsewhere. A bad row is copied as it
	// is. F32 or the input's type. Required.
	Output Data

	// Distance of two output rows in elements, at least NumCols. 0: NumCols.
	OutputStride int

	OutKeptCounts Array[int32]
	OutRowStatus  Array[RowStatus]

	Workspace      Array[byte]
	WorkspaceBytes int
}

// TopKMask writes each row of logits with all but the TopK largest set to -inf.
func (s *Sampler) TopKMask(args *TopKMaskArgs) error {
	_, err := args.run(s, 0)
	return err
}

// TopKSelectArgs are the arguments of TopKSelect. Fields that SampleArgs has too mean the same.
type TopKSelectArgs struct {
	Stream          uintptr
	Input           Data
	NumRows         int
	NumCols         int
	RowStride       int
	InputKind       InputKind
	CandidateIDs    IDs
	CandidateCounts Array[int32]

	// How many tokens a row yields at most: columns of the outputs, in [1, NumCols].
	NumSelected int

	// [NumRows] How many each row yields. <= 0 or >= NumSelected, or left out: NumSelected.
	TopKs Array[int32]

	// [NumRows, NumSelected] Values, F32 or of the input's type, and ids, largest value first.
	// Where a row has fewer tokens to give, the rest is -inf (probabilities: 0) and -1; so is all
	// of a bad row. Either may be left out, not both.
	OutValues   Data
	OutTokenIDs IDs

	// [NumRows] How many tokens each row yielded; 0 for a bad row.
	OutCounts Array[int32]

	OutRowStatus Array[RowStatus]

	Workspace      Array[byte]
	WorkspaceBytes int
}

// TopKSelect writes the first NumSelected tokens of each row, by value, then id: their values and
// ids.
func (s *Sampler) TopKSelect(args *TopKSelectArgs) error {
	_, err := args.run(s, 0)
	return err
}

// ChainSpeculativeArgs are the arguments of ChainSpeculative. Fields that SampleArgs has too mean
// the same.
type ChainSpeculativeArgs struct {
	Stream uintptr

	// [NumRows, NumDrafts + 1, NumCols] The target's row at each draft position, and the one behind
	// the last. Strides in elements: of rows, at least what NumDrafts + 1 positions take, and of
	// positions, at least NumCols. 0: contiguous.
	Target               Data
	NumRows              int
	NumDrafts            int // in [0, 65535]
	NumCols              int
	TargetRowStride      int
	TargetPositionStride int
	TargetKind           InputKind

	// [NumRows, NumDrafts, NumCols] The rows that the drafts were drawn from. Left out: the drafter
	// was deterministic.
	Draft               Data
	DraftRowStride      int
	DraftPositionStride int
	DraftKind           InputKind

	// Candidate lists, laid out like Target and Draft, both of one type, and how many candidates
	// there are, [NumRows, NumDrafts + 1] and [NumRows, NumDrafts].
	TargetCandidateIDs    IDs
	TargetCandidateCounts Array[int32]
	DraftCandidateIDs     IDs
	DraftCandidateCounts  Array[int32]

	// [NumRows, NumDrafts] The draft tokens, of the type of OutTokenIDs.
	DraftTokenIDs IDs

	// [NumRows] How many drafts each row has, in [0, NumDrafts]. Left out: NumDrafts.
	DraftLengths Array[int32]

	// Of the rows that are logits, target and draft alike. When neither is, the filters must be off
	// and the temperature 1 or greedy.
	Temperature      Param[float32]
	TopK             Param[int32]
	TopP             Param[float32]
	MinP             Param[float32]
	TopKTies         TieRule
	TopPTies         TieRule
	FilterOrder      FilterOrder
	TemperatureOrder TemperatureOrder

	Seed   Param[uint64]
	Offset Param[uint64]

	// [NumRows, NumDrafts + 1] The accepted drafts, then one token of the target, then -1.
	// Required.
	OutTokenIDs IDs

	// [NumRows] Drafts that would be accepted each on its own.
	OutAcceptedCounts Array[int32]

	// [NumRows] Drafts kept before the first rejection: OutTokenIDs has one token more.
	OutEmittedCounts Array[int32]

	OutRowStatus Array[RowStatus]

	// Whether the counts are added to what the two arrays hold.
	AccumulateCounts bool

	Workspace      Array[byte]
	WorkspaceBytes int
}

// ChainSpeculative verifies each row's chain of drafts and emits between 1 and NumDrafts + 1
// tokens. Draft x is accepted with probability min(1, p(x) / q(x)), p the target's, q the draft's;
// at the first rejection a token is drawn from max(p - q, 0), and behind the last draft from p.
func (s *Sampler) ChainSpeculative(args *ChainSpeculativeArgs) error {
	_, err := args.run(s, 0)
	return err
}

// ResidualArgs are the arguments of Residual.
type ResidualArgs struct {
	Stream uintptr

	// [NumRows, NumCols] The target's rows of probabilities, p, and those that the drafts were drawn
	// from, q. Draft left out: the drafter was deterministic, and DraftTokenIDs says what it
	// proposed.
	Target Data
	Draft  Data

	// [NumRows] The tokens of a deterministic drafter. Of a row whose id lies outside [0, NumCols)
	// the residual is p. Either Draft or DraftTokenIDs.
	DraftTokenIDs IDs

	NumRows int
	NumCols int

	// Distances of two rows in elements, at least NumCols. 0: NumCols.
	TargetRowStride int
	DraftRowStride  int

	// [NumRows, NumCols] Probabilities; 0 in every element of a bad row. F32 or the target's type.
	// Required.
	Output Data

	// Distance of two output rows in elements, at least NumCols. 0: NumCols.
	OutputStride int

	OutRowStatus Array[RowStatus]

	Workspace      Array[byte]
	WorkspaceBytes int
}

// Residual writes what ChainSpeculative draws from after a rejection: max(p - q, 0) of each row,
// renormalised, or p where that is 0 everywhere.
func (s *Sampler) Residual(args *ResidualArgs) error {
	_, err := args.run(s, 0)
	return err
}
