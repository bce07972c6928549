package sampler

import (
	"runtime"
	"unsafe"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// structs are what C gets: those of one call, in a sampler's memory, so that none is allocated.
type structs struct {
	params    raw.Params
	rowParams raw.RowParams
	pipeline  raw.Pipeline
	sample    raw.SampleArgs
	score     raw.ScoreArgs
	filter    raw.FilterArgs
	sel       raw.SelectArgs
	verify    raw.VerifyArgs
	residual  raw.ResidualArgs
	unmask    raw.UnmaskArgs
	append    raw.StateAppendArgs
	accept    raw.AcceptArgs
	truncate  raw.StateTruncateArgs
	copy      raw.StateCopyArgs
	reset     raw.StateResetArgs
	read      raw.StateReadArgs

	draftParams    raw.Params
	draftRowParams raw.RowParams
	acceptance     raw.AcceptanceParams
	layout         raw.DraftLayout
	unmaskParams   raw.UnmaskParams
	reports        raw.ReportArgs
}

// numSlots is how many parameters, seeds and offsets there are: those of slots, or of rows.
func numSlots(slots *Array[int32], given int, numRows int64) int64 {
	if slots.place == absent {
		return numRows
	}
	return int64(given)
}

func (a *SampleArgs) run(s *Sampler, op string, sizing bool) (int, error) {
	c, err := s.begin(op, a == nil, sizing)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	numRows, numRowIndices := int64(a.Input.NumRows), a.RowIndices.count(a.NumRowIndices)
	if a.RowIndices.place != absent {
		numRows = numRowIndices
	}
	numSlots := numSlots(&a.Slots, a.NumSlots, numRows)
	var ids idsBefore
	args := &s.memory.sample
	*args = raw.SampleArgs{
		StructSize:    unsafe.Sizeof(*args),
		Exec:          c.exec(&a.Exec),
		Input:         c.rows("input.", &a.Input, a.Input.extent()),
		RowIndices:    c.array("", "row_indices", a.RowIndices.array, numRowIndices),
		NumRowIndices: numRowIndices,
		Slots:         c.array("", "slots", a.Slots.array, numRows),
		NumSlots:      int64(a.NumSlots),
		Params:        c.params(a.Params),
		RowParams:     c.rowParams(a.RowParams, numSlots),
		Random:        c.random(&a.Random, numSlots),
		DrawMethod:    int32(a.DrawMethod),
		OutTokenIDs:   c.ids("out_token_ids", &a.OutTokenIDs, numRows, &ids),
		OutRowStatus:  c.array("", "out_row_status", a.OutRowStatus.array, numRows),
		Pipeline:      c.pipeline(a.Pipeline, &a.Input, numSlots, numRows),
		Reports:       c.reports(a.Reports, numRows, int64(a.Input.NumCols), &ids),
	}
	args.TokenIDType = int32(ids.idType)
	result, err := c.call(int32(raw.SHIM_SAMPLE), raw.Address(args))
	runtime.KeepAlive(a)
	return result, err
}

func (a *ScoreArgs) run(s *Sampler, op string, sizing bool) (int, error) {
	c, err := s.begin(op, a == nil, sizing)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	numRows, numRowIndices := int64(a.Input.NumRows), a.RowIndices.count(a.NumRowIndices)
	if a.RowIndices.place != absent {
		numRows = numRowIndices
	}
	numSlots := numSlots(&a.Slots, a.NumSlots, numRows)
	var ids idsBefore
	args := &s.memory.score
	*args = raw.ScoreArgs{
		StructSize:    unsafe.Sizeof(*args),
		Exec:          c.exec(&a.Exec),
		Input:         c.rows("input.", &a.Input, a.Input.extent()),
		RowIndices:    c.array("", "row_indices", a.RowIndices.array, numRowIndices),
		NumRowIndices: numRowIndices,
		Slots:         c.array("", "slots", a.Slots.array, numRows),
		NumSlots:      int64(a.NumSlots),
		Params:        c.params(a.Params),
		RowParams:     c.rowParams(a.RowParams, numSlots),
		Pipeline:      c.pipeline(a.Pipeline, &a.Input, numSlots, numRows),
		Random:        c.random(&a.Random, numSlots),
		TokenIDs:      c.ids("token_ids", &a.TokenIDs, numRows, &ids),
		OutRowStatus:  c.array("", "out_row_status", a.OutRowStatus.array, numRows),
		Reports:       c.reports(a.Reports, numRows, int64(a.Input.NumCols), &ids),
	}
	args.Kept = c.lists("kept.", &a.Kept, &ids)
	args.TokenIDType = int32(ids.idType)
	result, err := c.call(int32(raw.SHIM_SCORE), raw.Address(args))
	runtime.KeepAlive(a)
	return result, err
}

func (a *FilterArgs) run(s *Sampler, op string, sizing bool) (int, error) {
	c, err := s.begin(op, a == nil, sizing)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	numRows, numCols := int64(a.Input.NumRows), int64(a.Input.NumCols)
	numSlots := numSlots(&a.Slots, a.NumSlots, numRows)
	args := &s.memory.filter
	*args = raw.FilterArgs{
		StructSize:  unsafe.Sizeof(*args),
		Exec:        c.exec(&a.Exec),
		Input:       c.rows("input.", &a.Input, a.Input.extent()),
		Slots:       c.array("", "slots", a.Slots.array, numRows),
		NumSlots:    int64(a.NumSlots),
		Params:      c.params(a.Params),
		RowParams:   c.rowParams(a.RowParams, numSlots),
		OutputKind:  int32(a.OutputKind),
		OutputDtype: a.Output.elementType(),
		Output: c.array("", "output", a.Output.array,
			extent(numRows, numCols, int64(a.OutputStride))),
		OutputStride:  int64(a.OutputStride),
		OutKeptCounts: c.array("", "out_kept_counts", a.OutKeptCounts.array, numRows),
		OutRowStatus:  c.array("", "out_row_status", a.OutRowStatus.array, numRows),
		Pipeline:      c.pipeline(a.Pipeline, &a.Input, numSlots, numRows),
	}
	result, err := c.call(int32(raw.SHIM_FILTER), raw.Address(args))
	runtime.KeepAlive(a)
	return result, err
}

func (a *SelectArgs) run(s *Sampler, op string, sizing bool) (int, error) {
	c, err := s.begin(op, a == nil, sizing)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	numRows := int64(a.Input.NumRows)
	numTokens := product(numRows, int64(a.NumSelected))
	args := &s.memory.sel
	*args = raw.SelectArgs{
		StructSize:     unsafe.Sizeof(*args),
		Exec:           c.exec(&a.Exec),
		Input:          c.rows("input.", &a.Input, a.Input.extent()),
		NumSelected:    int64(a.NumSelected),
		SelectedCounts: c.parameter("", "selected_counts", a.SelectedCounts.array, numRows),
		OutputDtype:    a.OutValues.elementType(),
		TokenIDType:    a.OutTokenIDs.elementType(),
		OutValues:      c.array("", "out_values", a.OutValues.array, numTokens),
		OutTokenIDs:    c.array("", "out_token_ids", a.OutTokenIDs.array, numTokens),
		OutCounts:      c.array("", "out_counts", a.OutCounts.array, numRows),
		OutRowStatus:   c.array("", "out_row_status", a.OutRowStatus.array, numRows),
	}
	result, err := c.call(int32(raw.SHIM_SELECT), raw.Address(args))
	runtime.KeepAlive(a)
	return result, err
}

func (a *UnmaskArgs) run(s *Sampler, op string, sizing bool) (int, error) {
	c, err := s.begin(op, a == nil, sizing)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	numRows, numBlocks := int64(a.NumRows), int64(a.NumBlocks)
	numSlots := numSlots(&a.Slots, a.NumSlots, numRows)
	width := int64(1)
	if a.Params != nil && a.Params.Confidence == ConfidenceMargin {
		width = 2
	}
	numScores := extent(numRows, width, int64(a.ScoreStride))
	var ids idsBefore
	args := &s.memory.unmask
	*args = raw.UnmaskArgs{
		StructSize:        unsafe.Sizeof(*args),
		Exec:              c.exec(&a.Exec),
		NumRows:           numRows,
		BlockOffsets:      c.array("", "block_offsets", a.BlockOffsets.array, sum(numBlocks, 1)),
		NumBlocks:         numBlocks,
		Params:            c.unmaskParams(&s.memory.unmaskParams, a.Params),
		CandidateTokenIDs: c.ids("candidate_token_ids", &a.CandidateTokenIDs, numRows, &ids),
		CandidateStatus:   c.array("", "candidate_status", a.CandidateStatus.array, numRows),
		Scores:            c.array("", "scores", a.Scores.array, numScores),
		ScoreStride:       int64(a.ScoreStride),
		TokenIDs:          c.ids("token_ids", &a.TokenIDs, numRows, &ids),
		Slots:             c.array("", "slots", a.Slots.array, numRows),
		NumSlots:          int64(a.NumSlots),
		Random:            c.random(&a.Random, numSlots),
		BlockNumCommitted: c.parameter("", "block_num_committed",
			a.BlockNumCommitted.array, numBlocks),
		BlockNumStepsLeft: c.parameter("", "block_num_steps_left",
			a.BlockNumStepsLeft.array, numBlocks),
		OutChanges:         c.array("", "out_changes", a.OutChanges.array, numRows),
		OutConfidences:     c.array("", "out_confidences", a.OutConfidences.array, numRows),
		OutCommittedCounts: c.array("", "out_committed_counts", a.OutCommittedCounts.array, numBlocks),
		OutEditedCounts:    c.array("", "out_edited_counts", a.OutEditedCounts.array, numBlocks),
		OutMaskedCounts:    c.array("", "out_masked_counts", a.OutMaskedCounts.array, numBlocks),
		OutBlockStatus:     c.array("", "out_block_status", a.OutBlockStatus.array, numBlocks),
	}
	args.TokenIDType = int32(ids.idType)
	result, err := c.call(int32(raw.SHIM_UNMASK), raw.Address(args))
	runtime.KeepAlive(a)
	return result, err
}

// unmaskParams returns the address of what C gets: 0 for nil.
func (c *check) unmaskParams(memory *raw.UnmaskParams, p *UnmaskParams) uintptr {
	if p == nil {
		return 0
	}
	*memory = raw.UnmaskParams{
		StructSize:        unsafe.Sizeof(*memory),
		MaskTokenID:       p.MaskTokenID,
		BlockLength:       int64(p.BlockLength),
		Confidence:        int32(p.Confidence),
		OrderTemperature:  p.OrderTemperature,
		Threshold:         p.Threshold,
		EntropyBound:      p.EntropyBound,
		EditThreshold:     p.EditThreshold,
		NumCommitted:      p.NumCommitted,
		NumStepsLeft:      p.NumStepsLeft,
		BlocksAfterPrompt: flag(p.BlocksAfterPrompt),
	}
	return raw.Address(memory)
}

func (a *VerifyArgs) run(s *Sampler, op string, sizing bool) (int, error) {
	c, err := s.begin(op, a == nil, sizing)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	result, err := c.call(int32(raw.SHIM_VERIFY), a.convert(&c))
	runtime.KeepAlive(a)
	return result, err
}

// convert returns the address of what C gets.
func (a *VerifyArgs) convert(c *check) uintptr {
	var layout DraftLayout
	if a.Layout != nil {
		layout = *a.Layout
	}
	// Rows that are packed or indexed are any number, and do not give that of the sequences.
	numDrafts, numSequences := int64(a.NumDrafts), int64(layout.NumSequences)
	numPositions := sum(numDrafts, 1)
	isPacked := layout.Packing != PackingDense
	targetElements, draftElements := a.Target.extent(), a.Draft.extent()
	if !isPacked && layout.TargetRowIndices.place == absent && layout.BonusRowIndices.place == absent {
		numSequences = 0
		if numPositions > 0 {
			numSequences = int64(a.Target.NumRows) / numPositions
		}
		targetElements = a.Target.sequences(numSequences, numPositions,
			layout.TargetSequenceStride)
	}
	if !isPacked && layout.DraftRowIndices.place == absent && !layout.DraftRowsBySlot {
		draftElements = a.Draft.sequences(numSequences, numDrafts, layout.DraftSequenceStride)
	}
	numSlots := numSlots(&a.Slots, a.NumSlots, numSequences)
	numTokens := product(numSequences, numPositions)
	packed := a.packedDrafts(&layout, numSequences)

	var ids idsBefore
	memory := &c.sampler.memory
	args := &memory.verify
	*args = raw.VerifyArgs{
		StructSize:    unsafe.Sizeof(*args),
		Exec:          c.exec(&a.Exec),
		Target:        c.rows("target.", &a.Target, targetElements),
		Draft:         c.rows("draft.", &a.Draft, draftElements),
		DraftTokenIDs: c.ids("draft_token_ids", &a.DraftTokenIDs, packed.tokens, &ids),
		NumDrafts:     numDrafts,
		DraftCounts:   c.array("", "draft_counts", a.DraftCounts.array, numSequences),
		Slots:         c.array("", "slots", a.Slots.array, numSequences),
		NumSlots:      int64(a.NumSlots),
		Params:        c.params(a.Params),
		RowParams:     c.rowParams(a.RowParams, numSlots),
		DraftParams:   c.paramsIn(&memory.draftParams, "draft_params", a.DraftParams),
		DraftRowParams: c.rowParamsIn(&memory.draftRowParams, "draft_row_params->",
			a.DraftRowParams, numSlots),
		Pipeline:         c.pipeline(a.Pipeline, &a.Target, numSlots, numTokens),
		ForcedTokenIDs:   c.ids("forced_token_ids", &a.ForcedTokenIDs, numTokens, &ids),
		Random:           c.random(&a.Random, numSlots),
		Acceptance:       c.acceptance(&memory.acceptance, a.Acceptance, numDrafts),
		Acceptances:      c.parameter("", "acceptances", a.Acceptances.array, numSlots),
		AccumulateCounts: flag(a.AccumulateCounts),
		OutTokenIDs:      c.ids("out_token_ids", &a.OutTokenIDs, numTokens, &ids),
		OutAcceptedCounts: c.array("", "out_accepted_counts", a.OutAcceptedCounts.array,
			numSequences),
		OutEmittedCounts: c.array("", "out_emitted_counts", a.OutEmittedCounts.array, numSequences),
		OutRowStatus:     c.array("", "out_row_status", a.OutRowStatus.array, numSequences),
		Reports:          c.reports(a.Reports, numTokens, int64(a.Target.NumCols), &ids),
		OutPositions:     c.array("", "out_positions", a.OutPositions.array, numTokens),
		KvIndices:        c.array("", "kv_indices", a.KVIndices.array, numTokens),
		OutKvIndices:     c.array("", "out_kv_indices", a.OutKVIndices.array, numTokens),
	}
	if a.Layout != nil {
		args.Layout = c.layout(&layout, &packed, numSequences, numDrafts)
	}
	args.TokenIDType = int32(ids.idType)
	return raw.Address(args)
}

// layout returns the address of what C gets.
func (c *check) layout(l *DraftLayout, packed *packedDrafts, numSequences, numDrafts int64) uintptr {
	treeRows := firstNonzero(int64(l.TreeRows), numSequences)
	numLinks := product(treeRows, sum(numDrafts, 1))
	memory := &c.sampler.memory.layout
	*memory = raw.DraftLayout{
		StructSize:           unsafe.Sizeof(*memory),
		TargetSequenceStride: int64(l.TargetSequenceStride),
		DraftSequenceStride:  int64(l.DraftSequenceStride),
		DraftTokenStride:     int64(l.DraftTokenStride),
		Packing:              int32(l.Packing),
		DraftRowsBySlot:      flag(l.DraftRowsBySlot),
		PackingOffsets:       c.array("", "layout->packing_offsets", l.PackingOffsets.array, packed.offsets),
		NumSequences:         int64(l.NumSequences),
		NumPackedDrafts:      packed.numDrafts,
		NumPackedPositions:   packed.numPositions,
		TargetRowIndices: c.array("", "layout->target_row_indices", l.TargetRowIndices.array,
			packed.targetRows),
		BonusRowIndices: c.array("", "layout->bonus_row_indices", l.BonusRowIndices.array, numSequences),
		DraftRowIndices: c.array("", "layout->draft_row_indices", l.DraftRowIndices.array,
			packed.draftRows),
		Parents:       c.array("", "layout->parents", l.Parents.array, product(treeRows, numDrafts)),
		FirstChildren: c.array("", "layout->first_children", l.FirstChildren.array, numLinks),
		NextSiblings:  c.array("", "layout->next_siblings", l.NextSiblings.array, numLinks),
		TreeRows:      int64(l.TreeRows),
	}
	return raw.Address(memory)
}

// acceptance returns the address of what C gets: 0 for nil.
func (c *check) acceptance(memory *raw.AcceptanceParams, p *AcceptanceParams,
	numDrafts int64) uintptr {
	if p == nil {
		return 0
	}
	*memory = raw.AcceptanceParams{
		StructSize:       unsafe.Sizeof(*memory),
		Rule:             int32(p.Rule),
		SiblingRule:      int32(p.SiblingRule),
		DrawMethod:       int32(p.DrawMethod),
		RelaxedTopK:      clamped(p.RelaxedTopK),
		RelaxedDelta:     p.RelaxedDelta,
		TypicalThreshold: p.TypicalThreshold,
		TypicalScale:     p.TypicalScale,
		ThresholdSingle:  p.ThresholdSingle,
		ThresholdTotal:   p.ThresholdTotal,
		DeferredEntropy:  p.DeferredEntropy,
		DeferredTopK:     clamped(p.DeferredTopK),
		DeferredWindow:   clamped(p.DeferredWindow),
		SyntheticRates:   hostArray(c, "acceptance->synthetic_rates", p.SyntheticRates, numDrafts),
	}
	return raw.Address(memory)
}

// reports returns the address of what C gets: 0 for nil. Their ids are of the type of those before.
func (c *check) reports(r *ReportArgs, numRows, numCols int64, ids *idsBefore) uintptr {
	if r == nil {
		return 0
	}
	numTop := product(numRows, int64(r.NumTopLogprobs))
	numChosen := product(numRows, int64(r.NumChosen))
	bitmaskStride := firstNonzero(int64(r.KeptBitmaskStride), sum(numCols, 31)/32)
	numKept := product(numRows, int64(r.KeptCapacity))
	if r.OutKeptOffsets.place != absent {
		numKept = int64(r.KeptCapacity)
	}
	memory := &c.sampler.memory.reports
	*memory = raw.ReportArgs{
		StructSize:      unsafe.Sizeof(*memory),
		LogprobKind:     int32(r.LogprobKind),
		OutLogprobs:     c.array("", "reports->out_logprobs", r.OutLogprobs.array, numRows),
		OutValues:       c.array("", "reports->out_values", r.OutValues.array, numRows),
		OutKeptCounts:   c.array("", "reports->out_kept_counts", r.OutKeptCounts.array, numRows),
		OutObservations: c.array("", "reports->out_observations", r.OutObservations.array, numRows),
		NumTopLogprobs:  int64(r.NumTopLogprobs),
		OutTopTokenIDs:  c.ids("reports->out_top_token_ids", &r.OutTopTokenIDs, numTop, ids),
		OutTopLogprobs:  c.array("", "reports->out_top_logprobs", r.OutTopLogprobs.array, numTop),
		NumChosen:       int64(r.NumChosen),
		ChosenTokenIDs:  c.ids("reports->chosen_token_ids", &r.ChosenTokenIDs, numChosen, ids),
		OutChosenLogprobs: c.array("", "reports->out_chosen_logprobs", r.OutChosenLogprobs.array,
			numChosen),
		OutRanks:     c.array("", "reports->out_ranks", r.OutRanks.array, numRows),
		OutEntropies: c.array("", "reports->out_entropies", r.OutEntropies.array, numRows),
		OutKeptBitmask: c.array("", "reports->out_kept_bitmask", r.OutKeptBitmask.array,
			product(numRows, bitmaskStride)),
		KeptBitmaskStride: int64(r.KeptBitmaskStride),
		KeptCapacity:      int64(r.KeptCapacity),
		OutKeptTokenIDs: c.ids("reports->out_kept_token_ids", &r.OutKeptTokenIDs, numKept,
			ids),
		OutKeptProbabilities: c.array("", "reports->out_kept_probabilities",
			r.OutKeptProbabilities.array, numKept),
		OutKeptOffsets: c.array("", "reports->out_kept_offsets", r.OutKeptOffsets.array, sum(numRows, 1)),
		OutRemovedBy: c.array("", "reports->out_removed_by", r.OutRemovedBy.array,
			product(numRows, numCols)),
	}
	return raw.Address(memory)
}

// packedDrafts are C's numbers of packed drafts and positions, and the lengths of the arrays, by
// them or by the sequences.
type packedDrafts struct {
	numDrafts, numPositions                int64
	tokens, draftRows, targetRows, offsets int64
}

func (a *VerifyArgs) packedDrafts(l *DraftLayout, numSequences int64) packedDrafts {
	p := packedDrafts{numDrafts: int64(l.NumPackedDrafts), numPositions: int64(l.NumPackedPositions),
		offsets: sum(numSequences, 1)}
	hasBonus := l.BonusRowIndices.place != absent
	switch l.Packing {
	case PackingDense:
		p.tokens = extent(numSequences, int64(a.NumDrafts), int64(l.DraftTokenStride))
		p.draftRows = product(numSequences, int64(a.NumDrafts))
		p.targetRows = product(numSequences, sum(int64(a.NumDrafts), 1))
	case PackingPositions: // draft tokens are laid out like positions
		p.numPositions = a.DraftTokenIDs.count(l.NumPackedPositions)
		p.tokens, p.draftRows, p.targetRows = p.numPositions, p.numPositions, p.numPositions
	default:
		p.numDrafts = a.DraftTokenIDs.count(l.NumPackedDrafts)
		if p.numPositions == 0 && l.TargetRowIndices.place != absent && !hasBonus {
			p.numPositions = sum(p.numDrafts, numSequences)
		}
		p.tokens, p.draftRows, p.targetRows = p.numDrafts, p.numDrafts, p.numPositions
	}
	if l.Packing == PackingDraftEnds {
		p.offsets = numSequences
	}
	if hasBonus {
		p.targetRows = p.draftRows
	}
	return p
}

func (a *ResidualArgs) run(s *Sampler, op string, sizing bool) (int, error) {
	c, err := s.begin(op, a == nil, sizing)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	numRows, numCols := int64(a.Target.NumRows), int64(a.Target.NumCols)
	args := &s.memory.residual
	*args = raw.ResidualArgs{
		StructSize:    unsafe.Sizeof(*args),
		Exec:          c.exec(&a.Exec),
		Target:        c.rows("target.", &a.Target, a.Target.extent()),
		Draft:         c.rows("draft.", &a.Draft, a.Draft.extent()),
		DraftTokenIDs: c.array("", "draft_token_ids", a.DraftTokenIDs.array, numRows),
		TokenIDType:   a.DraftTokenIDs.elementType(),
		OutputDtype:   a.Output.elementType(),
		Output: c.array("", "output", a.Output.array,
			extent(numRows, numCols, int64(a.OutputStride))),
		OutputStride: int64(a.OutputStride),
		OutRowStatus: c.array("", "out_row_status", a.OutRowStatus.array, numRows),
	}
	result, err := c.call(int32(raw.SHIM_RESIDUAL), raw.Address(args))
	runtime.KeepAlive(a)
	return result, err
}
