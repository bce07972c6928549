// Made from libsampler's headers by bindings/swig/generate.py; do not edit.

package raw

import "runtime"

// Options holds the members of sampler_options.
type Options struct {
	DeviceType       int32
	DeviceID         int32
	NumThreads       int32
	MaxRows          int64
	MaxCols          int64
	FallbackTokenID  int64
	UseFallbackToken int32
	HostParameters   int32
	CheckPointers    int32
}

// Create calls sampler_create. The handle it returns, 0 when there is no memory, is
// given to ShimDestroy even when its status is not SAMPLER_OK.
func (a *Options) Create() uintptr {
	return ShimCreate(a.DeviceType, a.DeviceID, a.NumThreads, a.MaxRows, a.MaxCols,
		a.FallbackTokenID, a.UseFallbackToken, a.HostParameters, a.CheckPointers)
}

// SampleArgs holds the members of sampler_sample_args.
type SampleArgs struct {
	Stream           uintptr
	Input            Array
	NumRows          int64
	NumCols          int64
	RowStride        int64
	InputDtype       int32
	InputKind        int32
	RowIndices       Array
	NumInputRows     int64
	CandidateIDs     Array
	CandidateCounts  Array
	CandidateIDType  int32
	TokenIDType      int32
	Temperature      float32
	TopK             int32
	TopP             float32
	MinP             float32
	Temperatures     Array
	TopKs            Array
	TopPs            Array
	MinPs            Array
	TopKTies         int32
	TopPTies         int32
	FilterOrder      int32
	TemperatureOrder int32
	DrawMethod       int32
	LogprobKind      int32
	Seed             uint64
	Offset           uint64
	Seeds            Array
	Offsets          Array
	NumSeeds         int64
	NumOffsets       int64
	OutTokenIDs      Array
	OutKeptCounts    Array
	OutLogprobs      Array
	OutRowStatus     Array
	Workspace        Array
	WorkspaceBytes   uint64
}

// NewSampleArgs returns the defaults of sampler_sample_args.
func NewSampleArgs() SampleArgs {
	return SampleArgs{Temperature: 1, TopP: 1}
}

// Run calls sampler_sample, or, when onlySize is 1, sampler_workspace_size.
func (a *SampleArgs) Run(handle uintptr, onlySize int32) int64 {
	result := ShimSample(handle, onlySize, a.Stream, a.Input.address(), a.NumRows, a.NumCols,
		a.RowStride, a.InputDtype, a.InputKind, a.RowIndices.address(), a.NumInputRows,
		a.CandidateIDs.address(), a.CandidateCounts.address(), a.CandidateIDType, a.TokenIDType,
		a.Temperature, a.TopK, a.TopP, a.MinP, a.Temperatures.address(), a.TopKs.address(),
		a.TopPs.address(), a.MinPs.address(), a.TopKTies, a.TopPTies, a.FilterOrder,
		a.TemperatureOrder, a.DrawMethod, a.LogprobKind, a.Seed, a.Offset, a.Seeds.address(),
		a.Offsets.address(), a.NumSeeds, a.NumOffsets, a.OutTokenIDs.address(),
		a.OutKeptCounts.address(), a.OutLogprobs.address(), a.OutRowStatus.address(),
		a.Workspace.address(), a.WorkspaceBytes)
	runtime.KeepAlive(a)
	return result
}

// TopKTopPArgs holds the members of sampler_top_k_top_p_args.
type TopKTopPArgs struct {
	Stream           uintptr
	Input            Array
	NumRows          int64
	NumCols          int64
	RowStride        int64
	InputDtype       int32
	InputKind        int32
	RowIndices       Array
	NumInputRows     int64
	CandidateIDs     Array
	CandidateCounts  Array
	CandidateIDType  int32
	TokenIDType      int32
	Temperature      float32
	TopK             int32
	TopP             float32
	TopKTies         int32
	TopPTies         int32
	FilterOrder      int32
	Temperatures     Array
	TopKs            Array
	TopPs            Array
	TemperatureOrder int32
	DrawMethod       int32
	Seed             uint64
	Offset           uint64
	Seeds            Array
	Offsets          Array
	NumSeeds         int64
	NumOffsets       int64
	OutTokenIDs      Array
	OutKeptCounts    Array
	OutRowStatus     Array
	Workspace        Array
	WorkspaceBytes   uint64
}

// NewTopKTopPArgs returns the defaults of sampler_top_k_top_p_args.
func NewTopKTopPArgs() TopKTopPArgs {
	return TopKTopPArgs{Temperature: 1, TopP: 1}
}

// Run calls sampler_top_k_top_p, or, when onlySize is 1, sampler_workspace_size.
func (a *TopKTopPArgs) Run(handle uintptr, onlySize int32) int64 {
	result := ShimTopKTopP(handle, onlySize, a.Stream, a.Input.address(), a.NumRows, a.NumCols,
		a.RowStride, a.InputDtype, a.InputKind, a.RowIndices.address(), a.NumInputRows,
		a.CandidateIDs.address(), a.CandidateCounts.address(), a.CandidateIDType, a.TokenIDType,
		a.Temperature, a.TopK, a.TopP, a.TopKTies, a.TopPTies, a.FilterOrder,
		a.Temperatures.address(), a.TopKs.address(), a.TopPs.address(), a.TemperatureOrder,
		a.DrawMethod, a.Seed, a.Offset, a.Seeds.address(), a.Offsets.address(), a.NumSeeds,
		a.NumOffsets, a.OutTokenIDs.address(), a.OutKeptCounts.address(),
		a.OutRowStatus.address(), a.Workspace.address(), a.WorkspaceBytes)
	runtime.KeepAlive(a)
	return result
}

// TopKArgs holds the members of sampler_top_k_args.
type TopKArgs struct {
	Stream          uintptr
	Input           Array
	NumRows         int64
	NumCols         int64
	RowStride       int64
	InputDtype      int32
	InputKind       int32
	RowIndices      Array
	NumInputRows    int64
	CandidateIDs    Array
	CandidateCounts Array
	CandidateIDType int32
	TokenIDType     int32
	Temperature     float32
	TopK            int32
	Temperatures    Array
	TopKs           Array
	TopKTies        int32
	DrawMethod      int32
	Seed            uint64
	Offset          uint64
	Seeds           Array
	Offsets         Array
	NumSeeds        int64
	NumOffsets      int64
	OutTokenIDs     Array
	OutKeptCounts   Array
	OutRowStatus    Array
	Workspace       Array
	WorkspaceBytes  uint64
}

// NewTopKArgs returns the defaults of sampler_top_k_args.
func NewTopKArgs() TopKArgs {
	return TopKArgs{Temperature: 1}
}

// Run calls sampler_top_k, or, when onlySize is 1, sampler_workspace_size.
func (a *TopKArgs) Run(handle uintptr, onlySize int32) int64 {
	result := ShimTopK(handle, onlySize, a.Stream, a.Input.address(), a.NumRows, a.NumCols,
		a.RowStride, a.InputDtype, a.InputKind, a.RowIndices.address(), a.NumInputRows,
		a.CandidateIDs.address(), a.CandidateCounts.address(), a.CandidateIDType, a.TokenIDType,
		a.Temperature, a.TopK, a.Temperatures.address(), a.TopKs.address(), a.TopKTies,
		a.DrawMethod, a.Seed, a.Offset, a.Seeds.address(), a.Offsets.address(), a.NumSeeds,
		a.NumOffsets, a.OutTokenIDs.address(), a.OutKeptCounts.address(),
		a.OutRowStatus.address(), a.Workspace.address(), a.WorkspaceBytes)
	runtime.KeepAlive(a)
	return result
}

// TopPArgs holds the members of sampler_top_p_args.
type TopPArgs struct {
	Stream           uintptr
	Input            Array
	NumRows          int64
	NumCols          int64
	RowStride        int64
	InputDtype       int32
	InputKind        int32
	RowIndices       Array
	NumInputRows     int64
	CandidateIDs     Array
	CandidateCounts  Array
	CandidateIDType  int32
	TokenIDType      int32
	Temperature      float32
	TopP             float32
	Temperatures     Array
	TopPs            Array
	TopPTies         int32
	TemperatureOrder int32
	DrawMethod       int32
	Seed             uint64
	Offset           uint64
	Seeds            Array
	Offsets          Array
	NumSeeds         int64
	NumOffsets       int64
	OutTokenIDs      Array
	OutKeptCounts    Array
	OutRowStatus     Array
	Workspace        Array
	WorkspaceBytes   uint64
}

// NewTopPArgs returns the defaults of sampler_top_p_args.
func NewTopPArgs() TopPArgs {
	return TopPArgs{Temperature: 1, TopP: 1}
}

// Run calls sampler_top_p, or, when onlySize is 1, sampler_workspace_size.
func (a *TopPArgs) Run(handle uintptr, onlySize int32) int64 {
	result := ShimTopP(handle, onlySize, a.Stream, a.Input.address(), a.NumRows, a.NumCols,
		a.RowStride, a.InputDtype, a.InputKind, a.RowIndices.address(), a.NumInputRows,
		a.CandidateIDs.address(), a.CandidateCounts.address(), a.CandidateIDType, a.TokenIDType,
		a.Temperature, a.TopP, a.Temperatures.address(), a.TopPs.address(), a.TopPTies,
		a.TemperatureOrder, a.DrawMethod, a.Seed, a.Offset, a.Seeds.address(),
		a.Offsets.address(), a.NumSeeds, a.NumOffsets, a.OutTokenIDs.address(),
		a.OutKeptCounts.address(), a.OutRowStatus.address(), a.Workspace.address(),
		a.WorkspaceBytes)
	runtime.KeepAlive(a)
	return result
}

// MinPArgs holds the members of sampler_min_p_args.
type MinPArgs struct {
	Stream           uintptr
	Input            Array
	NumRows          int64
	NumCols          int64
	RowStride        int64
	InputDtype       int32
	InputKind        int32
	RowIndices       Array
	NumInputRows     int64
	CandidateIDs     Array
	CandidateCounts  Array
	CandidateIDType  int32
	TokenIDType      int32
	Temperature      float32
	MinP             float32
	Temperatures     Array
	MinPs            Array
	TemperatureOrder int32
	DrawMethod       int32
	Seed             uint64
	Offset           uint64
	Seeds            Array
	Offsets          Array
	NumSeeds         int64
	NumOffsets       int64
	OutTokenIDs      Array
	OutKeptCounts    Array
	OutRowStatus     Array
	Workspace        Array
	WorkspaceBytes   uint64
}

// NewMinPArgs returns the defaults of sampler_min_p_args.
func NewMinPArgs() MinPArgs {
	return MinPArgs{Temperature: 1}
}

// Run calls sampler_min_p, or, when onlySize is 1, sampler_workspace_size.
func (a *MinPArgs) Run(handle uintptr, onlySize int32) int64 {
	result := ShimMinP(handle, onlySize, a.Stream, a.Input.address(), a.NumRows, a.NumCols,
		a.RowStride, a.InputDtype, a.InputKind, a.RowIndices.address(), a.NumInputRows,
		a.CandidateIDs.address(), a.CandidateCounts.address(), a.CandidateIDType, a.TokenIDType,
		a.Temperature, a.MinP, a.Temperatures.address(), a.MinPs.address(), a.TemperatureOrder,
		a.DrawMethod, a.Seed, a.Offset, a.Seeds.address(), a.Offsets.address(), a.NumSeeds,
		a.NumOffsets, a.OutTokenIDs.address(), a.OutKeptCounts.address(),
		a.OutRowStatus.address(), a.Workspace.address(), a.WorkspaceBytes)
	runtime.KeepAlive(a)
	return result
}

// ArgmaxArgs holds the members of sampler_argmax_args.
type ArgmaxArgs struct {
	Stream          uintptr
	Input           Array
	NumRows         int64
	NumCols         int64
	RowStride       int64
	InputDtype      int32
	InputKind       int32
	CandidateIDs    Array
	CandidateCounts Array
	CandidateIDType int32
	TokenIDType     int32
	OutTokenIDs     Array
	OutValues       Array
	OutRowStatus    Array
	Workspace       Array
	WorkspaceBytes  uint64
}

// NewArgmaxArgs returns the defaults of sampler_argmax_args.
func NewArgmaxArgs() ArgmaxArgs {
	return ArgmaxArgs{}
}

// Run calls sampler_argmax, or, when onlySize is 1, sampler_workspace_size.
func (a *ArgmaxArgs) Run(handle uintptr, onlySize int32) int64 {
	result := ShimArgmax(handle, onlySize, a.Stream, a.Input.address(), a.NumRows, a.NumCols,
		a.RowStride, a.InputDtype, a.InputKind, a.CandidateIDs.address(),
		a.CandidateCounts.address(), a.CandidateIDType, a.TokenIDType, a.OutTokenIDs.address(),
		a.OutValues.address(), a.OutRowStatus.address(), a.Workspace.address(), a.WorkspaceBytes)
	runtime.KeepAlive(a)
	return result
}

// SoftmaxArgs holds the members of sampler_softmax_args.
type SoftmaxArgs struct {
	Stream          uintptr
	Input           Array
	NumRows         int64
	NumCols         int64
	RowStride       int64
	InputDtype      int32
	CandidateIDType int32
	CandidateIDs    Array
	CandidateCounts Array
	Temperature     float32
	OutputDtype     int32
	Temperatures    Array
	Output          Array
	OutputStride    int64
	OutRowStatus    Array
	Workspace       Array
	WorkspaceBytes  uint64
}

// NewSoftmaxArgs returns the defaults of sampler_softmax_args.
func NewSoftmaxArgs() SoftmaxArgs {
	return SoftmaxArgs{Temperature: 1}
}

// Run calls sampler_softmax, or, when onlySize is 1, sampler_workspace_size.
func (a *SoftmaxArgs) Run(handle uintptr, onlySize int32) int64 {
	result := ShimSoftmax(handle, onlySize, a.Stream, a.Input.address(), a.NumRows, a.NumCols,
		a.RowStride, a.InputDtype, a.CandidateIDType, a.CandidateIDs.address(),
		a.CandidateCounts.address(), a.Temperature, a.OutputDtype, a.Temperatures.address(),
		a.Output.address(), a.OutputStride, a.OutRowStatus.address(), a.Workspace.address(),
		a.WorkspaceBytes)
	runtime.KeepAlive(a)
	return result
}

// TopKRenormArgs holds the members of sampler_top_k_renorm_args.
type TopKRenormArgs struct {
	Stream          uintptr
	Input           Array
	NumRows         int64
	NumCols         int64
	RowStride       int64
	InputDtype      int32
	InputKind       int32
	CandidateIDs    Array
	CandidateCounts Array
	CandidateIDType int32
	OutputDtype     int32
	Temperature     float32
	TopK            int32
	Temperatures    Array
	TopKs           Array
	TopKTies        int32
	Output          Array
	OutputStride    int64
	OutKeptCounts   Array
	OutRowStatus    Array
	Workspace       Array
	WorkspaceBytes  uint64
}

// NewTopKRenormArgs returns the defaults of sampler_top_k_renorm_args.
func NewTopKRenormArgs() TopKRenormArgs {
	return TopKRenormArgs{InputKind: 1, Temperature: 1}
}

// Run calls sampler_top_k_renorm, or, when onlySize is 1, sampler_workspace_size.
func (a *TopKRenormArgs) Run(handle uintptr, onlySize int32) int64 {
	result := ShimTopKRenorm(handle, onlySize, a.Stream, a.Input.address(), a.NumRows, a.NumCols,
		a.RowStride, a.InputDtype, a.InputKind, a.CandidateIDs.address(),
		a.CandidateCounts.address(), a.CandidateIDType, a.OutputDtype, a.Temperature, a.TopK,
		a.Temperatures.address(), a.TopKs.address(), a.TopKTies, a.Output.address(),
		a.OutputStride, a.OutKeptCounts.address(), a.OutRowStatus.address(),
		a.Workspace.address(), a.WorkspaceBytes)
	runtime.KeepAlive(a)
	return result
}

// TopPRenormArgs holds the members of sampler_top_p_renorm_args.
type TopPRenormArgs struct {
	Stream           uintptr
	Input            Array
	NumRows          int64
	NumCols          int64
	RowStride        int64
	InputDtype       int32
	InputKind        int32
	CandidateIDs     Array
	CandidateCounts  Array
	CandidateIDType  int32
	OutputDtype      int32
	Temperature      float32
	TopP             float32
	Temperatures     Array
	TopPs            Array
	TopPTies         int32
	TemperatureOrder int32
	Output           Array
	OutputStride     int64
	OutKeptCounts    Array
	OutRowStatus     Array
	Workspace        Array
	WorkspaceBytes   uint64
}

// NewTopPRenormArgs returns the defaults of sampler_top_p_renorm_args.
func NewTopPRenormArgs() TopPRenormArgs {
	return TopPRenormArgs{InputKind: 1, Temperature: 1, TopP: 1}
}

// Run calls sampler_top_p_renorm, or, when onlySize is 1, sampler_workspace_size.
func (a *TopPRenormArgs) Run(handle uintptr, onlySize int32) int64 {
	result := ShimTopPRenorm(handle, onlySize, a.Stream, a.Input.address(), a.NumRows, a.NumCols,
		a.RowStride, a.InputDtype, a.InputKind, a.CandidateIDs.address(),
		a.CandidateCounts.address(), a.CandidateIDType, a.OutputDtype, a.Temperature, a.TopP,
		a.Temperatures.address(), a.TopPs.address(), a.TopPTies, a.TemperatureOrder,
		a.Output.address(), a.OutputStride, a.OutKeptCounts.address(), a.OutRowStatus.address(),
		a.Workspace.address(), a.WorkspaceBytes)
	runtime.KeepAlive(a)
	return result
}

// TopKMaskArgs holds the members of sampler_top_k_mask_args.
type TopKMaskArgs struct {
	Stream          uintptr
	Input           Array
	NumRows         int64
	NumCols         int64
	RowStride       int64
	InputDtype      int32
	CandidateIDType int32
	CandidateIDs    Array
	CandidateCounts Array
	TopK            int32
	TopKTies        int32
	TopKs           Array
	OutputDtype     int32
	Output          Array
	OutputStride    int64
	OutKeptCounts   Array
	OutRowStatus    Array
	Workspace       Array
	WorkspaceBytes  uint64
}

// NewTopKMaskArgs returns the defaults of sampler_top_k_mask_args.
func NewTopKMaskArgs() TopKMaskArgs {
	return TopKMaskArgs{}
}

// Run calls sampler_top_k_mask, or, when onlySize is 1, sampler_workspace_size.
func (a *TopKMaskArgs) Run(handle uintptr, onlySize int32) int64 {
	result := ShimTopKMask(handle, onlySize, a.Stream, a.Input.address(), a.NumRows, a.NumCols,
		a.RowStride, a.InputDtype, a.CandidateIDType, a.CandidateIDs.address(),
		a.CandidateCounts.address(), a.TopK, a.TopKTies, a.TopKs.address(), a.OutputDtype,
		a.Output.address(), a.OutputStride, a.OutKeptCounts.address(), a.OutRowStatus.address(),
		a.Workspace.address(), a.WorkspaceBytes)
	runtime.KeepAlive(a)
	return result
}

// TopKSelectArgs holds the members of sampler_top_k_select_args.
type TopKSelectArgs struct {
	Stream          uintptr
	Input           Array
	NumRows         int64
	NumCols         int64
	RowStride       int64
	InputDtype      int32
	InputKind       int32
	CandidateIDs    Array
	CandidateCounts Array
	CandidateIDType int32
	TokenIDType     int32
	NumSelected     int64
	TopKs           Array
	OutValues       Array
	OutTokenIDs     Array
	OutputDtype     int32
	OutCounts       Array
	OutRowStatus    Array
	Workspace       Array
	WorkspaceBytes  uint64
}

// NewTopKSelectArgs returns the defaults of sampler_top_k_select_args.
func NewTopKSelectArgs() TopKSelectArgs {
	return TopKSelectArgs{}
}

// Run calls sampler_top_k_select, or, when onlySize is 1, sampler_workspace_size.
func (a *TopKSelectArgs) Run(handle uintptr, onlySize int32) int64 {
	result := ShimTopKSelect(handle, onlySize, a.Stream, a.Input.address(), a.NumRows, a.NumCols,
		a.RowStride, a.InputDtype, a.InputKind, a.CandidateIDs.address(),
		a.CandidateCounts.address(), a.CandidateIDType, a.TokenIDType, a.NumSelected,
		a.TopKs.address(), a.OutValues.address(), a.OutTokenIDs.address(), a.OutputDtype,
		a.OutCounts.address(), a.OutRowStatus.address(), a.Workspace.address(), a.WorkspaceBytes)
	runtime.KeepAlive(a)
	return result
}

// ChainSpeculativeArgs holds the members of sampler_chain_speculative_args.
type ChainSpeculativeArgs struct {
	Stream                uintptr
	Target                Array
	NumRows               int64
	NumDrafts             int64
	NumCols               int64
	TargetRowStride       int64
	TargetPositionStride  int64
	TargetDtype           int32
	TargetKind            int32
	Draft                 Array
	DraftRowStride        int64
	DraftPositionStride   int64
	DraftDtype            int32
	DraftKind             int32
	TargetCandidateIDs    Array
	TargetCandidateCounts Array
	DraftCandidateIDs     Array
	DraftCandidateCounts  Array
	DraftTokenIDs         Array
	DraftLengths          Array
	CandidateIDType       int32
	TokenIDType           int32
	Temperature           float32
	TopK                  int32
	TopP                  float32
	MinP                  float32
	Temperatures          Array
	TopKs                 Array
	TopPs                 Array
	MinPs                 Array
	TopKTies              int32
	TopPTies              int32
	FilterOrder           int32
	TemperatureOrder      int32
	Seed                  uint64
	Offset                uint64
	Seeds                 Array
	Offsets               Array
	NumSeeds              int64
	NumOffsets            int64
	OutTokenIDs           Array
	OutAcceptedCounts     Array
	OutEmittedCounts      Array
	OutRowStatus          Array
	AccumulateCounts      int32
	Workspace             Array
	WorkspaceBytes        uint64
}

// NewChainSpeculativeArgs returns the defaults of sampler_chain_speculative_args.
func NewChainSpeculativeArgs() ChainSpeculativeArgs {
	return ChainSpeculativeArgs{Temperature: 1, TopP: 1}
}

// Run calls sampler_chain_speculative, or, when onlySize is 1, sampler_workspace_size.
func (a *ChainSpeculativeArgs) Run(handle uintptr, onlySize int32) int64 {
	result := ShimChainSpeculative(handle, onlySize, a.Stream, a.Target.address(), a.NumRows,
		a.NumDrafts, a.NumCols, a.TargetRowStride, a.TargetPositionStride, a.TargetDtype,
		a.TargetKind, a.Draft.address(), a.DraftRowStride, a.DraftPositionStride, a.DraftDtype,
		a.DraftKind, a.TargetCandidateIDs.address(), a.TargetCandidateCounts.address(),
		a.DraftCandidateIDs.address(), a.DraftCandidateCounts.address(),
		a.DraftTokenIDs.address(), a.DraftLengths.address(), a.CandidateIDType, a.TokenIDType,
		a.Temperature, a.TopK, a.TopP, a.MinP, a.Temperatures.address(), a.TopKs.address(),
		a.TopPs.address(), a.MinPs.address(), a.TopKTies, a.TopPTies, a.FilterOrder,
		a.TemperatureOrder, a.Seed, a.Offset, a.Seeds.address(), a.Offsets.address(),
		a.NumSeeds, a.NumOffsets, a.OutTokenIDs.address(), a.OutAcceptedCounts.address(),
		a.OutEmittedCounts.address(), a.OutRowStatus.address(), a.AccumulateCounts,
		a.Workspace.address(), a.WorkspaceBytes)
	runtime.KeepAlive(a)
	return result
}

// ResidualArgs holds the members of sampler_residual_args.
type ResidualArgs struct {
	Stream          uintptr
	Target          Array
	Draft           Array
	DraftTokenIDs   Array
	NumRows         int64
	NumCols         int64
	TargetRowStride int64
	DraftRowStride  int64
	TargetDtype     int32
	DraftDtype      int32
	TokenIDType     int32
	OutputDtype     int32
	Output          Array
	OutputStride    int64
	OutRowStatus    Array
	Workspace       Array
	WorkspaceBytes  uint64
}

// NewResidualArgs returns the defaults of sampler_residual_args.
func NewResidualArgs() ResidualArgs {
	return ResidualArgs{}
}

// Run calls sampler_residual, or, when onlySize is 1, sampler_workspace_size.
func (a *ResidualArgs) Run(handle uintptr, onlySize int32) int64 {
	result := ShimResidual(handle, onlySize, a.Stream, a.Target.address(), a.Draft.address(),
		a.DraftTokenIDs.address(), a.NumRows, a.NumCols, a.TargetRowStride, a.DraftRowStride,
		a.TargetDtype, a.DraftDtype, a.TokenIDType, a.OutputDtype, a.Output.address(),
		a.OutputStride, a.OutRowStatus.address(), a.Workspace.address(), a.WorkspaceBytes)
	runtime.KeepAlive(a)
	return result
}
