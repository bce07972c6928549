package sampler

import (
	"math"
	"reflect"
	"testing"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// logprobs of logits of which some have a bias, by the definition.
func logprobsOf(logits []float32) []float64 {
	sum, result := 0.0, make([]float64, len(logits))
	for _, x := range logits {
		sum += math.Exp(float64(x))
	}
	for i, x := range logits {
		result[i] = float64(x) - math.Log(sum)
	}
	return result
}

func entropyOf(logprobs []float64) float64 {
	sum := 0.0
	for _, x := range logprobs {
		if p := math.Exp(x); p > 0 {
			sum -= p * x
		}
	}
	return sum
}

func isNear(got float32, want float64) bool {
	return math.Abs(float64(got)-want) < 1e-5 || math.IsInf(want, -1) && float64(got) == want
}

// What is reported of one row: the input, what a bias left of it, and what top-k kept of that.
func TestReports(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 5})
	params := DefaultParams()
	params.TopK = 3
	logits := []float32{2, 2.5, 1.5, -1, 0}
	edited := []float32{2, 0.5, 1.5, -1, 0}
	kept := []float32{2, 0.5, 1.5, minusInf, minusInf}
	for _, c := range []struct {
		kind LogprobKind
		row  []float32
		top  []int32
	}{
		{LogprobRaw, logits, []int32{1, 0, 2, 4}},
		{LogprobEdited, edited, []int32{0, 2, 1, 4}},
		{LogprobProcessed, kept, []int32{0, 2, 1, -1}},
	} {
		logprobs := logprobsOf(c.row)
		probabilities := logprobsOf(kept)
		tokens, topIDs, keptIDs := make([]int32, 1), make([]int32, 4), make([]int32, 4)
		topLogprobs, chosen := make([]float32, 4), make([]float32, 3)
		ranks, entropies, drawnLogprob := make([]int32, 1), make([]float32, 1), make([]float32, 1)
		bitmask, removed := []uint32{77, 77}, make([]byte, 5)
		keptProbabilities, observations := make([]float32, 4), make([]float32, 1)
		for offset := uint64(0); offset < 20; offset++ {
			if err := s.Sample(&SampleArgs{Input: readmeRows(), Params: &params,
				Random: Random{Offset: offset}, OutTokenIDs: I32(tokens),
				Pipeline: &Pipeline{
					Biased: TokenLists{Offsets: Slice([]int64{0, 1}), TokenIDs: I32([]int32{1})},
					Biases: Slice([]float32{-2})},
				Reports: &ReportArgs{LogprobKind: c.kind, OutLogprobs: Slice(drawnLogprob),
					NumTopLogprobs: 4, OutTopTokenIDs: I32(topIDs), OutTopLogprobs: Slice(topLogprobs),
					NumChosen: 3, ChosenTokenIDs: I32([]int32{3, 1, 5}),
					OutChosenLogprobs: Slice(chosen), OutRanks: Slice(ranks),
					OutEntropies: Slice(entropies), OutObservations: Slice(observations),
					OutKeptBitmask: Slice(bitmask), KeptBitmaskStride: 2, KeptCapacity: 4,
					OutKeptTokenIDs: I32(keptIDs), OutKeptProbabilities: Slice(keptProbabilities),
					OutRemovedBy: Slice(removed)}}); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(topIDs, c.top) ||
				!reflect.DeepEqual(bitmask, []uint32{0b00111, 0}) ||
				!reflect.DeepEqual(keptIDs, []int32{0, 1, 2, -1}) ||
				!reflect.DeepEqual(removed, []byte{0, 0, 0, byte(StageTopK), byte(StageTopK)}) {
				t.Fatalf("%d: top %v, mask %b, kept %v, removed %v", c.kind, topIDs, bitmask,
					keptIDs, removed)
			}
			for i, id := range c.top {
				if id >= 0 && !isNear(topLogprobs[i], logprobs[id]) || id < 0 &&
					topLogprobs[i] == topLogprobs[i] {
					t.Errorf("%d: top log-probabilities %v of %v", c.kind, topLogprobs, logprobs)
				}
				if id == tokens[0] && int(ranks[0]) != i+1 {
					t.Errorf("%d: token %d has rank %d", c.kind, tokens[0], ranks[0])
				}
			}
			if !isNear(chosen[0], logprobs[3]) || !isNear(chosen[1], logprobs[1]) ||
				chosen[2] == chosen[2] || !isNear(drawnLogprob[0], logprobs[tokens[0]]) ||
				!isNear(entropies[0], entropyOf(logprobs)) || observations[0] == observations[0] {
				t.Errorf("%d: chosen %v, token %v, entropy %v, observation %v", c.kind, chosen,
					drawnLogprob, entropies, observations)
			}
			for i, p := range keptProbabilities {
				if i < 3 && !isNear(p, math.Exp(probabilities[i])) || i == 3 && p != 0 {
					t.Errorf("kept probabilities %v", keptProbabilities)
				}
			}
		}
	}
}

// Scores of drawn tokens are what was reported when they were drawn, with and without the lists of
// what was kept.
func TestScores(t *testing.T) {
	s := newSampler(t, Options{})
	params := DefaultParams()
	params.TopP = 0.8
	workspace := Exec{Workspace: Slice(make([]byte, 1<<20))}
	tokens, kept, offsets := make([]int64, 1), make([]int64, 5), make([]int64, 2)
	drawn, scored, status := make([]float32, 1), make([]float32, 1), make([]RowStatus, 1)
	for offset := uint64(0); offset < 20; offset++ {
		if err := s.Sample(&SampleArgs{Exec: workspace, Input: readmeRows(), Params: &params,
			Random: Random{Offset: offset}, OutTokenIDs: I64(tokens),
			Reports: &ReportArgs{LogprobKind: LogprobProcessed, OutLogprobs: Slice(drawn),
				KeptCapacity: 5, OutKeptTokenIDs: I64(kept),
				OutKeptOffsets: Slice(offsets)}}); err != nil {
			t.Fatal(err)
		}
		lists := TokenLists{Offsets: Slice(offsets), TokenIDs: I64(kept)}
		for _, given := range []TokenLists{{}, lists} {
			args := ScoreArgs{Exec: workspace, Input: readmeRows(), Params: &params,
				TokenIDs: I64(tokens), Kept: given, OutRowStatus: Slice(status),
				Reports: &ReportArgs{LogprobKind: LogprobProcessed, OutLogprobs: Slice(scored)}}
			if err := s.Score(&args); err != nil {
				t.Fatal(err)
			}
			if scored[0] != drawn[0] || status[0] != RowOK {
				t.Errorf("score %v of %v, status %v", scored, drawn, status)
			}
			if bytes, err := s.WorkspaceSize(&args); err != nil || bytes <= 0 {
				t.Errorf("%d bytes of workspace, %v", bytes, err)
			}
			args.TokenIDs = I32([]int32{-1})
			args.Kept = TokenLists{}
			if err := s.Score(&args); err != nil || status[0] != RowInvalidParameter ||
				scored[0] == scored[0] {
				t.Errorf("padding: %v, status %v, %v", scored, status, err)
			}
		}
	}
	err := s.Score(&ScoreArgs{Input: readmeRows(), TokenIDs: I32([]int32{1}),
		Kept: TokenLists{Offsets: Slice(offsets), TokenIDs: I64(kept)}})
	if err == nil {
		t.Error("ids of two types are taken")
	}
}

// Lists of kept tokens that follow one another, with room for all of them and with less.
func TestPackedLists(t *testing.T) {
	s := newSampler(t, Options{})
	params := DefaultParams()
	params.TopK = 2
	logits := append(append([]float32{}, readmeLogits...), float32(math.NaN()), 0, 0, 0, 0)
	logits = append(logits, readmeLogits...)
	for _, capacity := range []int{4, 3} {
		offsets, ids := []int64{77, 77, 77, 77}, []int32{77, 77, 77, 77}
		if err := s.Sample(&SampleArgs{Exec: Exec{Workspace: Slice(make([]byte, 1<<20))},
			Input:  Rows{Values: F32(logits), NumRows: 3, NumCols: 5},
			Params: &params, OutTokenIDs: I32(make([]int32, 3)),
			Reports: &ReportArgs{KeptCapacity: capacity, OutKeptTokenIDs: I32(ids[:capacity]),
				OutKeptOffsets: Slice(offsets)}}); err != nil {
			t.Fatal(err)
		}
		want := []int32{0, 1, 0, 1}
		if capacity == 3 {
			want = []int32{77, 77, 77, 77}
		}
		if !reflect.DeepEqual(offsets, []int64{0, 2, 2, 4}) || !reflect.DeepEqual(ids, want) {
			t.Errorf("room for %d: offsets %v, tokens %v", capacity, offsets, ids)
		}
	}
}

func TestReportsThatBreakARule(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 2, MaxCols: 40})
	short := make([]float32, 5)
	for _, c := range []struct {
		change  func(a *ReportArgs)
		message string
	}{
		{func(a *ReportArgs) { a.NumTopLogprobs = 3 }, "reports->out_top_token_ids is NULL; it is required"},
		{func(a *ReportArgs) { a.NumTopLogprobs = 41 },
			"reports->num_top_logprobs is 41; it must be below 41"},
		{func(a *ReportArgs) { a.NumTopLogprobs = -1 },
			"reports->num_top_logprobs is -1; it must be at least 0"},
		{func(a *ReportArgs) { a.NumTopLogprobs, a.OutTopTokenIDs = 3, I32(make([]int32, 5)) },
			"reports->out_top_token_ids has 5 elements; it needs 6"},
		{func(a *ReportArgs) { a.NumTopLogprobs, a.OutTopLogprobs = 3, Slice(short) },
			"reports->out_top_logprobs has 5 elements; it needs 6"},
		{func(a *ReportArgs) { a.NumTopLogprobs, a.OutTopTokenIDs = 3, I64(make([]int64, 6)) },
			"out_token_ids is of id type 0 and reports->out_top_token_ids of 1; they must be of one type"},
		{func(a *ReportArgs) { a.NumChosen, a.OutChosenLogprobs = 2, Slice(short) },
			"reports->chosen_token_ids is NULL; it is required"},
		{func(a *ReportArgs) { a.NumChosen, a.ChosenTokenIDs = 3, I32(make([]int32, 5)) },
			"reports->chosen_token_ids has 5 elements; it needs 6"},
		{func(a *ReportArgs) { a.NumChosen, a.ChosenTokenIDs = 3, I64(make([]int64, 6)) },
			"out_token_ids is of id type 0 and reports->chosen_token_ids of 1; they must be of one type"},
		{func(a *ReportArgs) {
			a.NumChosen, a.ChosenTokenIDs, a.OutChosenLogprobs =
				3, I32(make([]int32, 6)), Slice(short)
		}, "reports->out_chosen_logprobs has 5 elements; it needs 6"},
		{func(a *ReportArgs) { a.OutRanks = Slice(make([]int32, 1)) },
			"reports->out_ranks has 1 elements; it needs 2"},
		{func(a *ReportArgs) { a.OutEntropies = Slice(short[:1]) },
			"reports->out_entropies has 1 elements; it needs 2"},
		{func(a *ReportArgs) { a.OutObservations = Slice(short[:1]) },
			"reports->out_observations has 1 elements; it needs 2"},
		{func(a *ReportArgs) { a.OutKeptBitmask = Slice(make([]uint32, 3)) },
			"reports->out_kept_bitmask has 3 elements; it needs 4"},
		{func(a *ReportArgs) { a.OutKeptBitmask, a.KeptBitmaskStride = Slice(make([]uint32, 5)), 3 },
			"reports->out_kept_bitmask has 5 elements; it needs 6"},
		{func(a *ReportArgs) { a.KeptBitmaskStride = 1 }, "reports->kept_bitmask_stride is 1; it must be 0"},
		{func(a *ReportArgs) { a.KeptCapacity, a.OutKeptTokenIDs = 3, I32(make([]int32, 5)) },
			"reports->out_kept_token_ids has 5 elements; it needs 6"},
		{func(a *ReportArgs) { a.KeptCapacity, a.OutKeptTokenIDs = 3, I64(make([]int64, 6)) },
			"out_token_ids is of id type 0 and reports->out_kept_token_ids of 1; they must be of one type"},
		{func(a *ReportArgs) { a.KeptCapacity, a.OutKeptProbabilities = 3, Slice(short) },
			"reports->out_kept_probabilities has 5 elements; it needs 6"},
		{func(a *ReportArgs) { a.OutKeptOffsets = Slice(make([]int64, 2)) },
			"reports->out_kept_offsets has 2 elements; it needs 3"},
		{func(a *ReportArgs) {
			a.OutKeptOffsets, a.KeptCapacity = Slice(make([]int64, 3)), 6
			a.OutKeptProbabilities = Slice(short)
		}, "reports->out_kept_probabilities has 5 elements; it needs 6"},
		{func(a *ReportArgs) { a.OutRemovedBy = Slice(make([]byte, 79)) },
			"reports->out_removed_by has 79 elements; it needs 80"},
		{func(a *ReportArgs) { a.OutRemovedBy = OnDevice[byte](4096) },
			"reports->out_removed_by is device memory, 0x1000; it must be a slice on a CPU sampler"},
		{func(a *ReportArgs) { a.LogprobKind = 3 },
			"reports->logprob_kind is 3; it must be one of its constants, 0 to 2"},
	} {
		tokens := []int32{77, 77}
		args := SampleArgs{Input: Rows{Values: F32(make([]float32, 80)), NumRows: 2, NumCols: 40},
			OutTokenIDs: I32(tokens), Reports: &ReportArgs{}}
		c.change(args.Reports)
		expectError(t, s.Sample(&args), ErrInvalidArgument, c.message)
		if tokens[0] != 77 {
			t.Errorf("%s: a token was written", c.message)
		}
	}
}

// Mirostat's and adaptive-p's values, by the sections of docs/contract.md.
func TestAdaptiveValues(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 3, MaxCols: 5})
	state := newState(t, s, StateOptions{NumSlots: 3, MaxTokens: 8})
	params := DefaultParams()
	params.TopP, params.TopPDecay, params.TopPLeast = 0.75, 0.5, 0.1
	rowParams := RowParams{
		AdaptiveKind: Slice([]AdaptiveKind{
			AdaptiveMirostatV1, AdaptiveMirostatV2, AdaptiveP}),
		AdaptiveTarget:   Slice([]float32{2, 3, 0.25}),
		AdaptiveRate:     Slice([]float32{0.5, 0.125, 0.5}),
		TopPResetTokenID: Slice([]int64{-1, 0, 0}), ForcedTokenID: Slice([]int64{-1, 0, 0}),
		TopPDecay: Slice([]float32{0.5, 0.5, 0.5}), TopPLeast: Slice([]float32{0.5, 0.1, 0.1}),
	}
	logits := append(append(append([]float32{}, readmeLogits...), readmeLogits...), readmeLogits...)
	tokens, observations := make([]int32, 3), make([]float32, 3)
	if err := s.Sample(&SampleArgs{Exec: Exec{Workspace: Slice(make([]byte, 1<<20))},
		Input:  Rows{Values: F32(logits), NumRows: 3, NumCols: 5},
		Params: &params, RowParams: &rowParams, OutTokenIDs: I32(tokens),
		Reports:  &ReportArgs{OutObservations: Slice(observations)},
		Pipeline: &Pipeline{State: state}}); err != nil {
		t.Fatal(err)
	}
	if err := state.Accept(&AcceptArgs{NumRows: 3, TokenIDs: I32(tokens), NumTokens: 1,
		Observations: Slice(observations), Params: &params, RowParams: &rowParams}); err != nil {
		t.Fatal(err)
	}
	for i, observation := range observations {
		if observation != observation {
			t.Errorf("row %d has no observation", i)
		}
	}
	_, _, values := readState(t, state, 1)
	want := []float64{
		4 - 0.5*(float64(observations[0])-2), math.NaN(), math.NaN(), 0.5,
		6 - 0.125*(float64(observations[1])-3), math.NaN(), math.NaN(), 0.75,
		math.NaN(), float64(observations[2]) + 0.5*0.5, 1 + 0.5*2, 0.75}
	for i := range want {
		isEqual := isNear(values[i], want[i])
		if math.IsNaN(want[i]) {
			isEqual = values[i] != values[i]
		}
		if !isEqual {
			t.Errorf("value %d is %v, want %v: %v of %v", i, values[i], want[i], values,
				observations)
		}
	}
}

// A step of two blocks: what is sure is committed, and the likeliest of each block.
func TestUnmasking(t *testing.T) {
	s := newSampler(t, Options{})
	tokens, changes := []int64{1, 1, 1, 3, 1, 1}, make([]uint8, 6)
	masked, status := make([]int32, 2), make([]RowStatus, 2)
	params := UnmaskParams{MaskTokenID: 1, NumCommitted: 1, Threshold: 0.875, EditThreshold: 0.75}
	args := UnmaskArgs{NumRows: 6, NumBlocks: 2, BlockOffsets: Slice([]int64{0, 4, 6}),
		Params:            &params,
		CandidateTokenIDs: I64([]int64{5, 6, 7, 8, 9, 4}),
		Scores:            Slice([]float32{-0.5, -0.125, -2, -0.25, -1, -0.0625}),
		TokenIDs:          I64(tokens), OutChanges: Slice(changes), OutMaskedCounts: Slice(masked),
		OutBlockStatus: Slice(status)}
	if err := s.Unmask(&args); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{1, 6, 1, 8, 1, 4} {
		if tokens[i] != want {
			t.Errorf("tokens %v", tokens)
		}
	}
	if changes[1] != uint8(UnmaskCommitted) || changes[3] != uint8(UnmaskEdited) ||
		changes[0] != uint8(UnmaskKept) || masked[0] != 2 || masked[1] != 1 || status[0] != RowOK {
		t.Errorf("changes %v, masked %v, status %v", changes, masked, status)
	}
	if bytes, err := s.WorkspaceSize(&args); err != nil || bytes != 0 {
		t.Errorf("%d bytes of workspace, %v", bytes, err)
	}
	params.Confidence, args.ScoreStride = ConfidenceEntropy, 2
	args.Scores = Slice([]float32{0.5, 0, 0.25, 0, 1, 0, 0.75, 0, 0.125, 0, 0.5, 0})
	params.Threshold, params.EditThreshold = 0, 0
	params.EntropyBound, params.OrderTemperature = 0.5, 0.5
	args.Random.Seed, args.Slots, args.NumSlots = 3, Slice([]int32{0, 1, 0, 1, 0, 1}), 2
	args.CandidateStatus = Slice([]RowStatus{RowInvalidValue, 0, 0, 0, 0, 0})
	params.NumCommitted, params.NumStepsLeft = 7, 7
	args.BlockNumCommitted, args.BlockNumStepsLeft = Slice([]int32{1, 2}), Slice([]int32{0, 1})
	confidences, committed, edited := make([]float32, 6), make([]int32, 2), make([]int32, 2)
	args.OutConfidences, args.OutCommittedCounts = Slice(confidences), Slice(committed)
	args.OutEditedCounts = Slice(edited)
	if err := s.Unmask(&args); err != nil {
		t.Fatal(err)
	}
	if tokens[2] != 7 || tokens[4] != 9 || masked[0] != 1 || masked[1] != 0 || committed[0] != 1 ||
		committed[1] != 1 || edited[0] != 0 || confidences[1] != -0.25 ||
		confidences[0] == confidences[0] {
		t.Errorf("%v, masked %v, committed %v, %v", tokens, masked, committed, confidences)
	}
	params.Confidence, args.ScoreStride = ConfidenceMargin, 0
	params.EntropyBound, args.Scores = 0, Slice(make([]float32, 6)) // two scores a row
	if err := s.Unmask(&args); err == nil {
		t.Error("an array that is too short is taken")
	}
	// Without parameters nothing is committed.
	all := UnmaskArgs{NumRows: 2, NumBlocks: 1, CandidateTokenIDs: I32([]int32{5, 6}),
		Scores: Slice([]float32{-1, -2}), OutMaskedCounts: Slice(masked)}
	if err := s.Unmask(&all); err != nil || masked[0] != 2 {
		t.Errorf("%d rows are masked (%v)", masked[0], err)
	}
}

func TestMembersOfUnmaskParamsArrive(t *testing.T) {
	var params UnmaskParams
	fill(t, reflect.ValueOf(&params).Elem(), 5)
	var memory raw.UnmaskParams
	c := check{sampler: &Sampler{}}
	if c.unmaskParams(&memory, &params) == 0 || c.unmaskParams(nil, nil) != 0 {
		t.Error("C gets NULL where there are some, or else does not")
	}
	expectFilled(t, reflect.ValueOf(memory), reflect.ValueOf(params))
}
