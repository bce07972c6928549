// Made from libsampler's headers by bindings/swig/generate.py; do not edit.

package sampler

import "github.com/libsampler/libsampler/bindings/go/internal/raw"

func (a *SampleArgs) convert(c *check, r *raw.SampleArgs) {
	r.Stream = a.Stream
	r.NumRows = int64(a.NumRows)
	r.NumCols = int64(a.NumCols)
	r.RowStride = int64(a.RowStride)
	c.kind("input_kind", a.InputKind, &r.InputKind)
	r.NumInputRows = int64(a.NumInputRows)
	r.TopKTies = int32(a.TopKTies)
	r.TopPTies = int32(a.TopPTies)
	r.FilterOrder = int32(a.FilterOrder)
	r.TemperatureOrder = int32(a.TemperatureOrder)
	r.DrawMethod = int32(a.DrawMethod)
	r.LogprobKind = int32(a.LogprobKind)
	inputRows := firstNonzero(r.NumInputRows, r.NumRows)
	inputElements := rows(inputRows, r.NumCols, r.RowStride)
	r.Input = c.data("input", a.Input, &r.InputDtype, inputElements)
	r.RowIndices = c.array("row_indices", a.RowIndices.array, r.NumRows)
	r.CandidateIDs = c.ids("candidate_ids", a.CandidateIDs, &r.CandidateIDType, inputElements)
	r.CandidateCounts = c.array("candidate_counts", a.CandidateCounts.array, inputRows)
	param(c, "temperatures", a.Temperature, &r.Temperature, &r.Temperatures, r.NumRows)
	param(c, "top_ks", a.TopK, &r.TopK, &r.TopKs, r.NumRows)
	param(c, "top_ps", a.TopP, &r.TopP, &r.TopPs, r.NumRows)
	param(c, "min_ps", a.MinP, &r.MinP, &r.MinPs, r.NumRows)
	c.seeds("seeds", a.Seed, &r.Seed, &r.Seeds, &r.NumSeeds, r.NumRows)
	c.seeds("offsets", a.Offset, &r.Offset, &r.Offsets, &r.NumOffsets, r.NumRows)
	r.OutTokenIDs = c.ids("out_token_ids", a.OutTokenIDs, &r.TokenIDType, r.NumRows)
	r.OutKeptCounts = c.array("out_kept_counts", a.OutKeptCounts.array, r.NumRows)
	r.OutLogprobs = c.array("out_logprobs", a.OutLogprobs.array, r.NumRows)
	r.OutRowStatus = c.array("out_row_status", a.OutRowStatus.array, r.NumRows)
	r.Workspace, r.WorkspaceBytes = c.workspace(a.Workspace, a.WorkspaceBytes)
}

func (a *SampleArgs) run(s *Sampler, onlySize int32) (int, error) {
	c, err := s.begin("Sample", a == nil, onlySize)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	r := raw.NewSampleArgs()
	a.convert(&c, &r)
	if c.err != nil {
		return c.refuse(r.Run(s.handle, 1))
	}
	return c.finish(r.Run(s.handle, onlySize))
}

func (a *TopKTopPArgs) convert(c *check, r *raw.TopKTopPArgs) {
	r.Stream = a.Stream
	r.NumRows = int64(a.NumRows)
	r.NumCols = int64(a.NumCols)
	r.RowStride = int64(a.RowStride)
	c.kind("input_kind", a.InputKind, &r.InputKind)
	r.NumInputRows = int64(a.NumInputRows)
	r.TopKTies = int32(a.TopKTies)
	r.TopPTies = int32(a.TopPTies)
	r.FilterOrder = int32(a.FilterOrder)
	r.TemperatureOrder = int32(a.TemperatureOrder)
	r.DrawMethod = int32(a.DrawMethod)
	inputRows := firstNonzero(r.NumInputRows, r.NumRows)
	inputElements := rows(inputRows, r.NumCols, r.RowStride)
	r.Input = c.data("input", a.Input, &r.InputDtype, inputElements)
	r.RowIndices = c.array("row_indices", a.RowIndices.array, r.NumRows)
	r.CandidateIDs = c.ids("candidate_ids", a.CandidateIDs, &r.CandidateIDType, inputElements)
	r.CandidateCounts = c.array("candidate_counts", a.CandidateCounts.array, inputRows)
	param(c, "temperatures", a.Temperature, &r.Temperature, &r.Temperatures, r.NumRows)
	param(c, "top_ks", a.TopK, &r.TopK, &r.TopKs, r.NumRows)
	param(c, "top_ps", a.TopP, &r.TopP, &r.TopPs, r.NumRows)
	c.seeds("seeds", a.Seed, &r.Seed, &r.Seeds, &r.NumSeeds, r.NumRows)
	c.seeds("offsets", a.Offset, &r.Offset, &r.Offsets, &r.NumOffsets, r.NumRows)
	r.OutTokenIDs = c.ids("out_token_ids", a.OutTokenIDs, &r.TokenIDType, r.NumRows)
	r.OutKeptCounts = c.array("out_kept_counts", a.OutKeptCounts.array, r.NumRows)
	r.OutRowStatus = c.array("out_row_status", a.OutRowStatus.array, r.NumRows)
	r.Workspace, r.WorkspaceBytes = c.workspace(a.Workspace, a.WorkspaceBytes)
}

func (a *TopKTopPArgs) run(s *Sampler, onlySize int32) (int, error) {
	c, err := s.begin("TopKTopP", a == nil, onlySize)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	r := raw.NewTopKTopPArgs()
	a.convert(&c, &r)
	if c.err != nil {
		return c.refuse(r.Run(s.handle, 1))
	}
	return c.finish(r.Run(s.handle, onlySize))
}

func (a *TopKArgs) convert(c *check, r *raw.TopKArgs) {
	r.Stream = a.Stream
	r.NumRows = int64(a.NumRows)
	r.NumCols = int64(a.NumCols)
	r.RowStride = int64(a.RowStride)
	c.kind("input_kind", a.InputKind, &r.InputKind)
	r.NumInputRows = int64(a.NumInputRows)
	r.TopKTies = int32(a.TopKTies)
	r.DrawMethod = int32(a.DrawMethod)
	inputRows := firstNonzero(r.NumInputRows, r.NumRows)
	inputElements := rows(inputRows, r.NumCols, r.RowStride)
	r.Input = c.data("input", a.Input, &r.InputDtype, inputElements)
	r.RowIndices = c.array("row_indices", a.RowIndices.array, r.NumRows)
	r.CandidateIDs = c.ids("candidate_ids", a.CandidateIDs, &r.CandidateIDType, inputElements)
	r.CandidateCounts = c.array("candidate_counts", a.CandidateCounts.array, inputRows)
	param(c, "temperatures", a.Temperature, &r.Temperature, &r.Temperatures, r.NumRows)
	param(c, "top_ks", a.TopK, &r.TopK, &r.TopKs, r.NumRows)
	c.seeds("seeds", a.Seed, &r.Seed, &r.Seeds, &r.NumSeeds, r.NumRows)
	c.seeds("offsets", a.Offset, &r.Offset, &r.Offsets, &r.NumOffsets, r.NumRows)
	r.OutTokenIDs = c.ids("out_token_ids", a.OutTokenIDs, &r.TokenIDType, r.NumRows)
	r.OutKeptCounts = c.array("out_kept_counts", a.OutKeptCounts.array, r.NumRows)
	r.OutRowStatus = c.array("out_row_status", a.OutRowStatus.array, r.NumRows)
	r.Workspace, r.WorkspaceBytes = c.workspace(a.Workspace, a.WorkspaceBytes)
}

func (a *TopKArgs) run(s *Sampler, onlySize int32) (int, error) {
	c, err := s.begin("TopK", a == nil, onlySize)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	r := raw.NewTopKArgs()
	a.convert(&c, &r)
	if c.err != nil {
		return c.refuse(r.Run(s.handle, 1))
	}
	return c.finish(r.Run(s.handle, onlySize))
}

func (a *TopPArgs) convert(c *check, r *raw.TopPArgs) {
	r.Stream = a.Stream
	r.NumRows = int64(a.NumRows)
	r.NumCols = int64(a.NumCols)
	r.RowStride = int64(a.RowStride)
	c.kind("input_kind", a.InputKind, &r.InputKind)
	r.NumInputRows = int64(a.NumInputRows)
	r.TopPTies = int32(a.TopPTies)
	r.TemperatureOrder = int32(a.TemperatureOrder)
	r.DrawMethod = int32(a.DrawMethod)
	inputRows := firstNonzero(r.NumInputRows, r.NumRows)
	inputElements := rows(inputRows, r.NumCols, r.RowStride)
	r.Input = c.data("input", a.Input, &r.InputDtype, inputElements)
	r.RowIndices = c.array("row_indices", a.RowIndices.array, r.NumRows)
	r.CandidateIDs = c.ids("candidate_ids", a.CandidateIDs, &r.CandidateIDType, inputElements)
	r.CandidateCounts = c.array("candidate_counts", a.CandidateCounts.array, inputRows)
	param(c, "temperatures", a.Temperature, &r.Temperature, &r.Temperatures, r.NumRows)
	param(c, "top_ps", a.TopP, &r.TopP, &r.TopPs, r.NumRows)
	c.seeds("seeds", a.Seed, &r.Seed, &r.Seeds, &r.NumSeeds, r.NumRows)
	c.seeds("offsets", a.Offset, &r.Offset, &r.Offsets, &r.NumOffsets, r.NumRows)
	r.OutTokenIDs = c.ids("out_token_ids", a.OutTokenIDs, &r.TokenIDType, r.NumRows)
	r.OutKeptCounts = c.array("out_kept_counts", a.OutKeptCounts.array, r.NumRows)
	r.OutRowStatus = c.array("out_row_status", a.OutRowStatus.array, r.NumRows)
	r.Workspace, r.WorkspaceBytes = c.workspace(a.Workspace, a.WorkspaceBytes)
}

func (a *TopPArgs) run(s *Sampler, onlySize int32) (int, error) {
	c, err := s.begin("TopP", a == nil, onlySize)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	r := raw.NewTopPArgs()
	a.convert(&c, &r)
	if c.err != nil {
		return c.refuse(r.Run(s.handle, 1))
	}
	return c.finish(r.Run(s.handle, onlySize))
}

func (a *MinPArgs) convert(c *check, r *raw.MinPArgs) {
	r.Stream = a.Stream
	r.NumRows = int64(a.NumRows)
	r.NumCols = int64(a.NumCols)
	r.RowStride = int64(a.RowStride)
	c.kind("input_kind", a.InputKind, &r.InputKind)
	r.NumInputRows = int64(a.NumInputRows)
	r.TemperatureOrder = int32(a.TemperatureOrder)
	r.DrawMethod = int32(a.DrawMethod)
	inputRows := firstNonzero(r.NumInputRows, r.NumRows)
	inputElements := rows(inputRows, r.NumCols, r.RowStride)
	r.Input = c.data("input", a.Input, &r.InputDtype, inputElements)
	r.RowIndices = c.array("row_indices", a.RowIndices.array, r.NumRows)
	r.CandidateIDs = c.ids("candidate_ids", a.CandidateIDs, &r.CandidateIDType, inputElements)
	r.CandidateCounts = c.array("candidate_counts", a.CandidateCounts.array, inputRows)
	param(c, "temperatures", a.Temperature, &r.Temperature, &r.Temperatures, r.NumRows)
	param(c, "min_ps", a.MinP, &r.MinP, &r.MinPs, r.NumRows)
	c.seeds("seeds", a.Seed, &r.Seed, &r.Seeds, &r.NumSeeds, r.NumRows)
	c.seeds("offsets", a.Offset, &r.Offset, &r.Offsets, &r.NumOffsets, r.NumRows)
	r.OutTokenIDs = c.ids("out_token_ids", a.OutTokenIDs, &r.TokenIDType, r.NumRows)
	r.OutKeptCounts = c.array("out_kept_counts", a.OutKeptCounts.array, r.NumRows)
	r.OutRowStatus = c.array("out_row_status", a.OutRowStatus.array, r.NumRows)
	r.Workspace, r.WorkspaceBytes = c.workspace(a.Workspace, a.WorkspaceBytes)
}

func (a *MinPArgs) run(s *Sampler, onlySize int32) (int, error) {
	c, err := s.begin("MinP", a == nil, onlySize)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	r := raw.NewMinPArgs()
	a.convert(&c, &r)
	if c.err != nil {
		return c.refuse(r.Run(s.handle, 1))
	}
	return c.finish(r.Run(s.handle, onlySize))
}

func (a *ArgmaxArgs) convert(c *check, r *raw.ArgmaxArgs) {
	r.Stream = a.Stream
	r.NumRows = int64(a.NumRows)
	r.NumCols = int64(a.NumCols)
	r.RowStride = int64(a.RowStride)
	c.kind("input_kind", a.InputKind, &r.InputKind)
	inputRows := r.NumRows
	inputElements := rows(inputRows, r.NumCols, r.RowStride)
	r.Input = c.data("input", a.Input, &r.InputDtype, inputElements)
	r.CandidateIDs = c.ids("candidate_ids", a.CandidateIDs, &r.CandidateIDType, inputElements)
	r.CandidateCounts = c.array("candidate_counts", a.CandidateCounts.array, inputRows)
	r.OutTokenIDs = c.ids("out_token_ids", a.OutTokenIDs, &r.TokenIDType, r.NumRows)
	r.OutValues = c.array("out_values", a.OutValues.array, r.NumRows)
	r.OutRowStatus = c.array("out_row_status", a.OutRowStatus.array, r.NumRows)
	r.Workspace, r.WorkspaceBytes = c.workspace(a.Workspace, a.WorkspaceBytes)
}

func (a *ArgmaxArgs) run(s *Sampler, onlySize int32) (int, error) {
	c, err := s.begin("Argmax", a == nil, onlySize)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	r := raw.NewArgmaxArgs()
	a.convert(&c, &r)
	if c.err != nil {
		return c.refuse(r.Run(s.handle, 1))
	}
	return c.finish(r.Run(s.handle, onlySize))
}

func (a *SoftmaxArgs) convert(c *check, r *raw.SoftmaxArgs) {
	r.Stream = a.Stream
	r.NumRows = int64(a.NumRows)
	r.NumCols = int64(a.NumCols)
	r.RowStride = int64(a.RowStride)
	r.OutputStride = int64(a.OutputStride)
	inputRows := r.NumRows
	inputElements := rows(inputRows, r.NumCols, r.RowStride)
	r.Input = c.data("input", a.Input, &r.InputDtype, inputElements)
	r.CandidateIDs = c.ids("candidate_ids", a.CandidateIDs, &r.CandidateIDType, inputElements)
	r.CandidateCounts = c.array("candidate_counts", a.CandidateCounts.array, inputRows)
	param(c, "temperatures", a.Temperature, &r.Temperature, &r.Temperatures, r.NumRows)
	r.Output = c.data("output", a.Output, &r.OutputDtype, rows(r.NumRows, r.NumCols,
		r.OutputStride))
	r.OutRowStatus = c.array("out_row_status", a.OutRowStatus.array, r.NumRows)
	r.Workspace, r.WorkspaceBytes = c.workspace(a.Workspace, a.WorkspaceBytes)
}

func (a *SoftmaxArgs) run(s *Sampler, onlySize int32) (int, error) {
	c, err := s.begin("Softmax", a == nil, onlySize)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	r := raw.NewSoftmaxArgs()
	a.convert(&c, &r)
	if c.err != nil {
		return c.refuse(r.Run(s.handle, 1))
	}
	return c.finish(r.Run(s.handle, onlySize))
}

func (a *TopKRenormArgs) convert(c *check, r *raw.TopKRenormArgs) {
	r.Stream = a.Stream
	r.NumRows = int64(a.NumRows)
	r.NumCols = int64(a.NumCols)
	r.RowStride = int64(a.RowStride)
	c.kind("input_kind", a.InputKind, &r.InputKind)
	r.TopKTies = int32(a.TopKTies)
	r.OutputStride = int64(a.OutputStride)
	inputRows := r.NumRows
	inputElements := rows(inputRows, r.NumCols, r.RowStride)
	r.Input = c.data("input", a.Input, &r.InputDtype, inputElements)
	r.CandidateIDs = c.ids("candidate_ids", a.CandidateIDs, &r.CandidateIDType, inputElements)
	r.CandidateCounts = c.array("candidate_counts", a.CandidateCounts.array, inputRows)
	param(c, "temperatures", a.Temperature, &r.Temperature, &r.Temperatures, r.NumRows)
	param(c, "top_ks", a.TopK, &r.TopK, &r.TopKs, r.NumRows)
	r.Output = c.data("output", a.Output, &r.OutputDtype, rows(r.NumRows, r.NumCols,
		r.OutputStride))
	r.OutKeptCounts = c.array("out_kept_counts", a.OutKeptCounts.array, r.NumRows)
	r.OutRowStatus = c.array("out_row_status", a.OutRowStatus.array, r.NumRows)
	r.Workspace, r.WorkspaceBytes = c.workspace(a.Workspace, a.WorkspaceBytes)
}

func (a *TopKRenormArgs) run(s *Sampler, onlySize int32) (int, error) {
	c, err := s.begin("TopKRenorm", a == nil, onlySize)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	r := raw.NewTopKRenormArgs()
	a.convert(&c, &r)
	if c.err != nil {
		return c.refuse(r.Run(s.handle, 1))
	}
	return c.finish(r.Run(s.handle, onlySize))
}

func (a *TopPRenormArgs) convert(c *check, r *raw.TopPRenormArgs) {
	r.Stream = a.Stream
	r.NumRows = int64(a.NumRows)
	r.NumCols = int64(a.NumCols)
	r.RowStride = int64(a.RowStride)
	c.kind("input_kind", a.InputKind, &r.InputKind)
	r.TopPTies = int32(a.TopPTies)
	r.TemperatureOrder = int32(a.TemperatureOrder)
	r.OutputStride = int64(a.OutputStride)
	inputRows := r.NumRows
	inputElements := rows(inputRows, r.NumCols, r.RowStride)
	r.Input = c.data("input", a.Input, &r.InputDtype, inputElements)
	r.CandidateIDs = c.ids("candidate_ids", a.CandidateIDs, &r.CandidateIDType, inputElements)
	r.CandidateCounts = c.array("candidate_counts", a.CandidateCounts.array, inputRows)
	param(c, "temperatures", a.Temperature, &r.Temperature, &r.Temperatures, r.NumRows)
	param(c, "top_ps", a.TopP, &r.TopP, &r.TopPs, r.NumRows)
	r.Output = c.data("output", a.Output, &r.OutputDtype, rows(r.NumRows, r.NumCols,
		r.OutputStride))
	r.OutKeptCounts = c.array("out_kept_counts", a.OutKeptCounts.array, r.NumRows)
	r.OutRowStatus = c.array("out_row_status", a.OutRowStatus.array, r.NumRows)
	r.Workspace, r.WorkspaceBytes = c.workspace(a.Workspace, a.WorkspaceBytes)
}

func (a *TopPRenormArgs) run(s *Sampler, onlySize int32) (int, error) {
	c, err := s.begin("TopPRenorm", a == nil, onlySize)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	r := raw.NewTopPRenormArgs()
	a.convert(&c, &r)
	if c.err != nil {
		return c.refuse(r.Run(s.handle, 1))
	}
	return c.finish(r.Run(s.handle, onlySize))
}

func (a *TopKMaskArgs) convert(c *check, r *raw.TopKMaskArgs) {
	r.Stream = a.Stream
	r.NumRows = int64(a.NumRows)
	r.NumCols = int64(a.NumCols)
	r.RowStride = int64(a.RowStride)
	r.TopKTies = int32(a.TopKTies)
	r.OutputStride = int64(a.OutputStride)
	inputRows := r.NumRows
	inputElements := rows(inputRows, r.NumCols, r.RowStride)
	r.Input = c.data("input", a.Input, &r.InputDtype, inputElements)
	r.CandidateIDs = c.ids("candidate_ids", a.CandidateIDs, &r.CandidateIDType, inputElements)
	r.CandidateCounts = c.array("candidate_counts", a.CandidateCounts.array, inputRows)
	param(c, "top_ks", a.TopK, &r.TopK, &r.TopKs, r.NumRows)
	r.Output = c.data("output", a.Output, &r.OutputDtype, rows(r.NumRows, r.NumCols,
		r.OutputStride))
	r.OutKeptCounts = c.array("out_kept_counts", a.OutKeptCounts.array, r.NumRows)
	r.OutRowStatus = c.array("out_row_status", a.OutRowStatus.array, r.NumRows)
	r.Workspace, r.WorkspaceBytes = c.workspace(a.Workspace, a.WorkspaceBytes)
}

func (a *TopKMaskArgs) run(s *Sampler, onlySize int32) (int, error) {
	c, err := s.begin("TopKMask", a == nil, onlySize)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	r := raw.NewTopKMaskArgs()
	a.convert(&c, &r)
	if c.err != nil {
		return c.refuse(r.Run(s.handle, 1))
	}
	return c.finish(r.Run(s.handle, onlySize))
}

func (a *TopKSelectArgs) convert(c *check, r *raw.TopKSelectArgs) {
	r.Stream = a.Stream
	r.NumRows = int64(a.NumRows)
	r.NumCols = int64(a.NumCols)
	r.RowStride = int64(a.RowStride)
	c.kind("input_kind", a.InputKind, &r.InputKind)
	r.NumSelected = int64(a.NumSelected)
	inputRows := r.NumRows
	inputElements := rows(inputRows, r.NumCols, r.RowStride)
	r.Input = c.data("input", a.Input, &r.InputDtype, inputElements)
	r.CandidateIDs = c.ids("candidate_ids", a.CandidateIDs, &r.CandidateIDType, inputElements)
	r.CandidateCounts = c.array("candidate_counts", a.CandidateCounts.array, inputRows)
	r.TopKs = c.parameter("top_ks", a.TopKs.array, r.NumRows)
	r.OutValues = c.data("out_values", a.OutValues, &r.OutputDtype, product(r.NumRows,
		r.NumSelected))
	r.OutTokenIDs = c.ids("out_token_ids", a.OutTokenIDs, &r.TokenIDType, product(r.NumRows,
		r.NumSelected))
	r.OutCounts = c.array("out_counts", a.OutCounts.array, r.NumRows)
	r.OutRowStatus = c.array("out_row_status", a.OutRowStatus.array, r.NumRows)
	r.Workspace, r.WorkspaceBytes = c.workspace(a.Workspace, a.WorkspaceBytes)
}

func (a *TopKSelectArgs) run(s *Sampler, onlySize int32) (int, error) {
	c, err := s.begin("TopKSelect", a == nil, onlySize)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	r := raw.NewTopKSelectArgs()
	a.convert(&c, &r)
	if c.err != nil {
		return c.refuse(r.Run(s.handle, 1))
	}
	return c.finish(r.Run(s.handle, onlySize))
}

func (a *ChainSpeculativeArgs) convert(c *check, r *raw.ChainSpeculativeArgs) {
	r.Stream = a.Stream
	r.NumRows = int64(a.NumRows)
	r.NumDrafts = int64(a.NumDrafts)
	r.NumCols = int64(a.NumCols)
	r.TargetRowStride = int64(a.TargetRowStride)
	r.TargetPositionStride = int64(a.TargetPositionStride)
	c.kind("target_kind", a.TargetKind, &r.TargetKind)
	r.DraftRowStride = int64(a.DraftRowStride)
	r.DraftPositionStride = int64(a.DraftPositionStride)
	c.kind("draft_kind", a.DraftKind, &r.DraftKind)
	r.TopKTies = int32(a.TopKTies)
	r.TopPTies = int32(a.TopPTies)
	r.FilterOrder = int32(a.FilterOrder)
	r.TemperatureOrder = int32(a.TemperatureOrder)
	r.AccumulateCounts = flag(a.AccumulateCounts)
	targetRows, draftRows := product(r.NumRows, r.NumDrafts+1), product(r.NumRows, r.NumDrafts)
	targetElements := positions(r.NumRows, r.NumDrafts+1, r.NumCols, r.TargetRowStride,
		r.TargetPositionStride)
	draftElements := positions(r.NumRows, r.NumDrafts, r.NumCols, r.DraftRowStride,
		r.DraftPositionStride)
	r.Target = c.data("target", a.Target, &r.TargetDtype, targetElements)
	r.Draft = c.data("draft", a.Draft, &r.DraftDtype, draftElements)
	r.TargetCandidateIDs = c.ids("target_candidate_ids", a.TargetCandidateIDs, &r.CandidateIDType,
		targetElements)
	r.TargetCandidateCounts = c.array("target_candidate_counts", a.TargetCandidateCounts.array,
		targetRows)
	r.DraftCandidateIDs = c.ids("draft_candidate_ids", a.DraftCandidateIDs, &r.CandidateIDType,
		draftElements)
	r.DraftCandidateCounts = c.array("draft_candidate_counts", a.DraftCandidateCounts.array,
		draftRows)
	r.DraftTokenIDs = c.ids("draft_token_ids", a.DraftTokenIDs, &r.TokenIDType, draftRows)
	r.DraftLengths = c.array("draft_lengths", a.DraftLengths.array, r.NumRows)
	param(c, "temperatures", a.Temperature, &r.Temperature, &r.Temperatures, r.NumRows)
	param(c, "top_ks", a.TopK, &r.TopK, &r.TopKs, r.NumRows)
	param(c, "top_ps", a.TopP, &r.TopP, &r.TopPs, r.NumRows)
	param(c, "min_ps", a.MinP, &r.MinP, &r.MinPs, r.NumRows)
	c.seeds("seeds", a.Seed, &r.Seed, &r.Seeds, &r.NumSeeds, r.NumRows)
	c.seeds("offsets", a.Offset, &r.Offset, &r.Offsets, &r.NumOffsets, r.NumRows)
	r.OutTokenIDs = c.ids("out_token_ids", a.OutTokenIDs, &r.TokenIDType, targetRows)
	r.OutAcceptedCounts = c.array("out_accepted_counts", a.OutAcceptedCounts.array, r.NumRows)
	r.OutEmittedCounts = c.array("out_emitted_counts", a.OutEmittedCounts.array, r.NumRows)
	r.OutRowStatus = c.array("out_row_status", a.OutRowStatus.array, r.NumRows)
	r.Workspace, r.WorkspaceBytes = c.workspace(a.Workspace, a.WorkspaceBytes)
	c.oneType("target_candidate_ids", a.TargetCandidateIDs, "draft_candidate_ids",
		a.DraftCandidateIDs)
	c.oneType("draft_token_ids", a.DraftTokenIDs, "out_token_ids", a.OutTokenIDs)
}

func (a *ChainSpeculativeArgs) run(s *Sampler, onlySize int32) (int, error) {
	c, err := s.begin("ChainSpeculative", a == nil, onlySize)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	r := raw.NewChainSpeculativeArgs()
	a.convert(&c, &r)
	if c.err != nil {
		return c.refuse(r.Run(s.handle, 1))
	}
	return c.finish(r.Run(s.handle, onlySize))
}

func (a *ResidualArgs) convert(c *check, r *raw.ResidualArgs) {
	r.Stream = a.Stream
	r.NumRows = int64(a.NumRows)
	r.NumCols = int64(a.NumCols)
	r.TargetRowStride = int64(a.TargetRowStride)
	r.DraftRowStride = int64(a.DraftRowStride)
	r.OutputStride = int64(a.OutputStride)
	r.Target = c.data("target", a.Target, &r.TargetDtype, rows(r.NumRows, r.NumCols,
		r.TargetRowStride))
	r.Draft = c.data("draft", a.Draft, &r.DraftDtype, rows(r.NumRows, r.NumCols, r.DraftRowStride))
	r.DraftTokenIDs = c.ids("draft_token_ids", a.DraftTokenIDs, &r.TokenIDType, r.NumRows)
	r.Output = c.data("output", a.Output, &r.OutputDtype, rows(r.NumRows, r.NumCols,
		r.OutputStride))
	r.OutRowStatus = c.array("out_row_status", a.OutRowStatus.array, r.NumRows)
	r.Workspace, r.WorkspaceBytes = c.workspace(a.Workspace, a.WorkspaceBytes)
}

func (a *ResidualArgs) run(s *Sampler, onlySize int32) (int, error) {
	c, err := s.begin("Residual", a == nil, onlySize)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	r := raw.NewResidualArgs()
	a.convert(&c, &r)
	if c.err != nil {
		return c.refuse(r.Run(s.handle, 1))
	}
	return c.finish(r.Run(s.handle, onlySize))
}
