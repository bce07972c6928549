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
	filter    raw.FilterArgs
	sel       raw.SelectArgs
	verify    raw.VerifyArgs
	residual  raw.ResidualArgs
	append    raw.StateAppendArgs
	accept    raw.AcceptArgs
	truncate  raw.StateTruncateArgs
	copy      raw.StateCopyArgs
	reset     raw.StateResetArgs
	read      raw.StateReadArgs

	draftParams    raw.Params
	draftRowParams raw.RowParams
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
	bitmaskStride := firstNonzero(int64(a.KeptBitmaskStride), sum(int64(a.Input.NumCols), 31)/32)
	numKept := product(numRows, int64(a.KeptCapacity))
	if a.OutKeptOffsets.place != absent {
		numKept = int64(a.KeptCapacity)
	}
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
		LogprobKind:   int32(a.LogprobKind),
		OutTokenIDs:   c.ids("out_token_ids", &a.OutTokenIDs, numRows, &ids),
		OutKeptCounts: c.array("", "out_kept_counts", a.OutKeptCounts.array, numRows),
		OutLogprobs:   c.array("", "out_logprobs", a.OutLogprobs.array, numRows),
		OutValues:     c.array("", "out_values", a.OutValues.array, numRows),
		OutRowStatus:  c.array("", "out_row_status", a.OutRowStatus.array, numRows),
		Pipeline:      c.pipeline(a.Pipeline, &a.Input, numSlots, numRows),

		NumTopLogprobs: int64(a.NumTopLogprobs),
		OutTopTokenIDs: c.ids("out_top_token_ids", &a.OutTopTokenIDs,
			product(numRows, int64(a.NumTopLogprobs)), &ids),
		OutTopLogprobs: c.array("", "out_top_logprobs", a.OutTopLogprobs.array,
			product(numRows, int64(a.NumTopLogprobs))),
		NumChosen: int64(a.NumChosen),
		ChosenTokenIDs: c.ids("chosen_token_ids", &a.ChosenTokenIDs,
			product(numRows, int64(a.NumChosen)), &ids),
		OutChosenLogprobs: c.array("", "out_chosen_logprobs", a.OutChosenLogprobs.array,
			product(numRows, int64(a.NumChosen))),
		OutRanks:        c.array("", "out_ranks", a.OutRanks.array, numRows),
		OutEntropies:    c.array("", "out_entropies", a.OutEntropies.array, numRows),
		OutObservations: c.array("", "out_observations", a.OutObservations.array, numRows),
		OutKeptBitmask: c.array("", "out_kept_bitmask", a.OutKeptBitmask.array,
			product(numRows, bitmaskStride)),
		KeptBitmaskStride: int64(a.KeptBitmaskStride),
		KeptCapacity:      int64(a.KeptCapacity),
		OutKeptTokenIDs: c.ids("out_kept_token_ids", &a.OutKeptTokenIDs,
			numKept, &ids),
		OutKeptProbabilities: c.array("", "out_kept_probabilities",
			a.OutKeptProbabilities.array, numKept),
		OutKeptOffsets: c.array("", "out_kept_offsets", a.OutKeptOffsets.array, numRows+1),
		OutRemovedBy: c.array("", "out_removed_by", a.OutRemovedBy.array,
			product(numRows, int64(a.Input.NumCols))),
	}
	args.TokenIDType = int32(ids.idType)
	result, err := c.call(int32(raw.SHIM_SAMPLE), raw.Address(args))
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
	// Rows that are packed or indexed are any number, and do not tell that of the sequences.
	numDrafts, numSequences := int64(a.NumDrafts), int64(a.NumSequences)
	numPositions := sum(numDrafts, 1)
	isPacked := a.Packing != PackingDense
	targetElements, draftElements := a.Target.extent(), a.Draft.extent()
	if !isPacked && a.TargetRowIndices.place == absent {
		numSequences = 0
		if numPositions > 0 {
			numSequences = int64(a.Target.NumRows) / numPositions
		}
		targetElements = a.Target.sequences(numSequences, numPositions, a.TargetSequenceStride)
	}
	if !isPacked && a.DraftRowIndices.place == absent && !a.DraftRowsBySlot {
		draftElements = a.Draft.sequences(numSequences, numDrafts, a.DraftSequenceStride)
	}
	numSlots := numSlots(&a.Slots, a.NumSlots, numSequences)
	numTokens := product(numSequences, numPositions)
	numTop := product(numTokens, int64(a.NumTopLogprobs))
	numKept := product(numTokens, int64(a.KeptCapacity))
	bitmaskStride := firstNonzero(int64(a.KeptBitmaskStride), sum(int64(a.Target.NumCols), 31)/32)
	treeRows := firstNonzero(int64(a.TreeRows), numSequences)
	packed := a.packedDrafts(numSequences)

	var ids idsBefore
	memory := &c.sampler.memory
	args := &memory.verify
	*args = raw.VerifyArgs{
		StructSize:           unsafe.Sizeof(*args),
		Exec:                 c.exec(&a.Exec),
		Target:               c.rows("target.", &a.Target, targetElements),
		Draft:                c.rows("draft.", &a.Draft, draftElements),
		TargetSequenceStride: int64(a.TargetSequenceStride),
		DraftSequenceStride:  int64(a.DraftSequenceStride),
		DraftTokenIDs:        c.ids("draft_token_ids", &a.DraftTokenIDs, packed.tokens, &ids),
		NumDrafts:            numDrafts,
		DraftCounts:          c.array("", "draft_counts", a.DraftCounts.array, numSequences),
		Slots:                c.array("", "slots", a.Slots.array, numSequences),
		NumSlots:             int64(a.NumSlots),
		Params:               c.params(a.Params),
		RowParams:            c.rowParams(a.RowParams, numSlots),
		Random:               c.random(&a.Random, numSlots),
		AccumulateCounts:     flag(a.AccumulateCounts),
		OutTokenIDs:          c.ids("out_token_ids", &a.OutTokenIDs, numTokens, &ids),
		OutAcceptedCounts: c.array("", "out_accepted_counts", a.OutAcceptedCounts.array,
			numSequences),
		OutEmittedCounts: c.array("", "out_emitted_counts", a.OutEmittedCounts.array, numSequences),
		OutRowStatus:     c.array("", "out_row_status", a.OutRowStatus.array, numSequences),

		Acceptance:       int32(a.Acceptance),
		SiblingRule:      int32(a.SiblingRule),
		Acceptances:      c.parameter("", "acceptances", a.Acceptances.array, numSlots),
		TypicalThreshold: a.TypicalThreshold,
		TypicalScale:     a.TypicalScale,
		RelaxedTopK:      clamped(a.RelaxedTopK),
		RelaxedDelta:     a.RelaxedDelta,
		ThresholdSingle:  a.ThresholdSingle,
		ThresholdTotal:   a.ThresholdTotal,
		DeferredWindow:   clamped(a.DeferredWindow),
		DeferredTopK:     clamped(a.DeferredTopK),
		DeferredEntropy:  a.DeferredEntropy,
		DrawMethod:       int32(a.DrawMethod),
		SyntheticRates:   c.placed("", "synthetic_rates", a.SyntheticRates.array, numDrafts, false),

		Packing:            int32(a.Packing),
		DraftRowsBySlot:    flag(a.DraftRowsBySlot),
		PackingOffsets:     c.array("", "packing_offsets", a.PackingOffsets.array, packed.offsets),
		NumSequences:       int64(a.NumSequences),
		NumPackedDrafts:    packed.numDrafts,
		NumPackedPositions: packed.numPositions,
		DraftTokenStride:   int64(a.DraftTokenStride),
		TargetRowIndices: c.array("", "target_row_indices", a.TargetRowIndices.array,
			packed.targetRows),
		BonusRowIndices: c.array("", "bonus_row_indices", a.BonusRowIndices.array, numSequences),
		DraftRowIndices: c.array("", "draft_row_indices", a.DraftRowIndices.array, packed.draftRows),
		Parents:         c.array("", "parents", a.Parents.array, product(treeRows, numDrafts)),
		FirstChildren: c.array("", "first_children", a.FirstChildren.array,
			product(treeRows, numPositions)),
		NextSiblings: c.array("", "next_siblings", a.NextSiblings.array,
			product(treeRows, numPositions)),
		TreeRows:    int64(a.TreeRows),
		DraftParams: c.paramsIn(&memory.draftParams, "draft_params", a.DraftParams),
		DraftRowParams: c.rowParamsIn(&memory.draftRowParams, "draft_row_params->",
			a.DraftRowParams, numSlots),
		Pipeline: c.pipeline(a.Pipeline, &a.Target, numSlots, numTokens),

		LogprobKind:     int32(a.LogprobKind),
		OutKeptCounts:   c.array("", "out_kept_counts", a.OutKeptCounts.array, numTokens),
		OutLogprobs:     c.array("", "out_logprobs", a.OutLogprobs.array, numTokens),
		OutRanks:        c.array("", "out_ranks", a.OutRanks.array, numTokens),
		OutEntropies:    c.array("", "out_entropies", a.OutEntropies.array, numTokens),
		OutObservations: c.array("", "out_observations", a.OutObservations.array, numTokens),
		NumTopLogprobs:  int64(a.NumTopLogprobs),
		OutTopTokenIDs:  c.ids("out_top_token_ids", &a.OutTopTokenIDs, numTop, &ids),
		OutTopLogprobs:  c.array("", "out_top_logprobs", a.OutTopLogprobs.array, numTop),
		OutKeptBitmask: c.array("", "out_kept_bitmask", a.OutKeptBitmask.array,
			product(numTokens, bitmaskStride)),
		KeptBitmaskStride: int64(a.KeptBitmaskStride),
		KeptCapacity:      int64(a.KeptCapacity),
		OutKeptTokenIDs:   c.ids("out_kept_token_ids", &a.OutKeptTokenIDs, numKept, &ids),
		OutKeptProbabilities: c.array("", "out_kept_probabilities", a.OutKeptProbabilities.array,
			numKept),
		OutPositions: c.array("", "out_positions", a.OutPositions.array, numTokens),
		KvIndices:    c.array("", "kv_indices", a.KVIndices.array, numTokens),
		OutKvIndices: c.array("", "out_kv_indices", a.OutKVIndices.array, numTokens),
	}
	args.TokenIDType = int32(ids.idType)
	return raw.Address(args)
}

// packedDrafts are C's numbers of packed drafts and positions, and the lengths of the arrays that
// they, or the sequences, tell.
type packedDrafts struct {
	numDrafts, numPositions                int64
	tokens, draftRows, targetRows, offsets int64
}

func (a *VerifyArgs) packedDrafts(numSequences int64) packedDrafts {
	p := packedDrafts{numDrafts: int64(a.NumPackedDrafts), numPositions: int64(a.NumPackedPositions),
		offsets: sum(numSequences, 1)}
	hasBonus := a.BonusRowIndices.place != absent
	switch a.Packing {
	case PackingDense:
		p.tokens = extent(numSequences, int64(a.NumDrafts), int64(a.DraftTokenStride))
		p.draftRows = product(numSequences, int64(a.NumDrafts))
		p.targetRows = product(numSequences, sum(int64(a.NumDrafts), 1))
	case PackingPositions: // draft tokens are laid out like positions
		p.numPositions = a.DraftTokenIDs.count(a.NumPackedPositions)
		p.tokens, p.draftRows, p.targetRows = p.numPositions, p.numPositions, p.numPositions
	default:
		p.numDrafts = a.DraftTokenIDs.count(a.NumPackedDrafts)
		if p.numPositions == 0 && a.TargetRowIndices.place != absent && !hasBonus {
			p.numPositions = sum(p.numDrafts, numSequences)
		}
		p.tokens, p.draftRows, p.targetRows = p.numDrafts, p.numDrafts, p.numPositions
	}
	if a.Packing == PackingDraftEnds {
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
