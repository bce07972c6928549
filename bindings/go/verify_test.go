package sampler

import (
	"fmt"
	"math"
	"reflect"
	"testing"
)

// rowsOf are rows of logits whose largest ones are those of the tokens.
func rowsOf(tokens ...int) Rows {
	var logits []float32
	for _, token := range tokens {
		row := []float32{2, 1.5, 0.5, 1, 0}
		row[token] = 3
		logits = append(logits, row...)
	}
	return Rows{Values: F32(logits), NumRows: len(tokens), NumCols: 5}
}

func TestMembersOfVerificationArrive(t *testing.T) {
	var args VerifyArgs
	next := fill(t, reflect.ValueOf(&args).Elem(), 4096)
	c := check{sampler: &Sampler{onCUDA: true}}
	args.convert(&c)
	if c.err != nil {
		t.Fatal(c.err)
	}
	memory := &c.sampler.memory
	expectFilled(t, reflect.ValueOf(memory.verify), reflect.ValueOf(args))

	draftParams, draftRowParams := DefaultParams(), RowParams{}
	next = fill(t, reflect.ValueOf(&draftParams).Elem(), next)
	next = fill(t, reflect.ValueOf(&draftRowParams).Elem(), next)
	var layout DraftLayout
	var acceptance AcceptanceParams
	var reports ReportArgs
	next = fill(t, reflect.ValueOf(&layout).Elem(), next)
	next = fill(t, reflect.ValueOf(&acceptance).Elem(), next)
	fill(t, reflect.ValueOf(&reports).Elem(), next)
	args = VerifyArgs{NumDrafts: 3, DraftParams: &draftParams, DraftRowParams: &draftRowParams,
		Pipeline: &Pipeline{TokenBitmaskStride: 7}, Layout: &layout, Acceptance: &acceptance,
		Reports: &reports}
	args.convert(&c)
	if c.err != nil {
		t.Fatal(c.err)
	}
	expectFilled(t, reflect.ValueOf(memory.draftParams), reflect.ValueOf(draftParams))
	expectFilled(t, reflect.ValueOf(memory.draftRowParams), reflect.ValueOf(draftRowParams))
	expectFilled(t, reflect.ValueOf(memory.layout), reflect.ValueOf(layout))
	expectFilled(t, reflect.ValueOf(memory.acceptance), reflect.ValueOf(acceptance))
	expectFilled(t, reflect.ValueOf(memory.reports), reflect.ValueOf(reports))
	if memory.verify.DraftParams == 0 || memory.verify.DraftRowParams == 0 ||
		memory.verify.Pipeline == 0 || memory.verify.Layout == 0 ||
		memory.verify.Acceptance == 0 || memory.verify.Reports == 0 ||
		memory.verify.Params != 0 || memory.verify.RowParams != 0 ||
		memory.pipeline.TokenBitmaskStride != 7 {
		t.Errorf("C gets %+v", memory.verify)
	}
}

// The call has 2 sequences of at most 2 drafts.
func refuseVerification(t *testing.T, change func(a *VerifyArgs), message string) {
	t.Helper()
	s := newSampler(t, Options{MaxRows: 6, MaxCols: 40})
	tokens := []int32{77, 77, 77, 77, 77, 77}
	args := VerifyArgs{Target: Rows{Values: F32(make([]float32, 240)), NumRows: 6, NumCols: 40},
		DraftTokenIDs: I32(make([]int32, 4)), NumDrafts: 2, OutTokenIDs: I32(tokens),
		Layout: &DraftLayout{NumSequences: 2}, Acceptance: &AcceptanceParams{},
		Reports: &ReportArgs{}}
	change(&args)
	expectError(t, s.Verify(&args), ErrInvalidArgument, message)
	if tokens[0] != 77 {
		t.Errorf("%s: a token was written", message)
	}
}

func TestVerificationWithShortSlices(t *testing.T) {
	i32 := func(length int) Array[int32] { return Slice(make([]int32, length)) }
	f32 := func(length int) Array[float32] { return Slice(make([]float32, length)) }
	ids := func(length int) IDs { return I32(make([]int32, length)) }
	rows := func(length int) Rows {
		return Rows{Values: F32(make([]float32, length)), NumRows: 5, NumCols: 40}
	}
	pack := func(a *VerifyArgs, packing Packing) {
		a.Layout.Packing, a.Layout.PackingOffsets, a.DraftTokenIDs = packing, i32(3), ids(4)
	}
	for _, c := range []struct {
		name           string
		length, needed int
		change         func(a *VerifyArgs)
	}{
		{"acceptances", 1, 2,
			func(a *VerifyArgs) { a.Acceptances = Slice(make([]Acceptance, 1)) }},
		{"acceptances", 6, 7, func(a *VerifyArgs) {
			a.Acceptances, a.Slots, a.NumSlots = Slice(make([]Acceptance, 6)), i32(2), 7
		}},
		{"acceptance->synthetic_rates", 1, 2, func(a *VerifyArgs) { a.Acceptance.SyntheticRates = make([]float32, 1) }},
		{"layout->packing_offsets", 2, 3, func(a *VerifyArgs) {
			pack(a, PackingDrafts)
			a.Layout.PackingOffsets = i32(2)
		}},
		{"layout->packing_offsets", 1, 2, func(a *VerifyArgs) {
			pack(a, PackingDraftEnds)
			a.Layout.PackingOffsets = i32(1)
		}},
		{"layout->packing_offsets", 2, 3, func(a *VerifyArgs) {
			pack(a, PackingPositions)
			a.Layout.PackingOffsets = i32(2)
		}},
		{"draft_token_ids", 4, 5, func(a *VerifyArgs) {
			pack(a, PackingDrafts)
			a.Layout.NumPackedDrafts = 5
		}},
		{"draft_token_ids", 4, 5, func(a *VerifyArgs) { a.Layout.DraftTokenStride = 3 }},
		{"layout->target_row_indices", 5, 6, func(a *VerifyArgs) { a.Layout.TargetRowIndices = i32(5) }},
		{"layout->target_row_indices", 5, 6, func(a *VerifyArgs) {
			pack(a, PackingDrafts)
			a.Layout.TargetRowIndices = i32(5)
		}},
		{"layout->target_row_indices", 3, 4, func(a *VerifyArgs) {
			pack(a, PackingDraftEnds)
			a.Layout.TargetRowIndices, a.Layout.BonusRowIndices = i32(3), i32(2)
		}},
		{"layout->target_row_indices", 3, 4, func(a *VerifyArgs) {
			pack(a, PackingPositions)
			a.Layout.TargetRowIndices = i32(3)
		}},
		{"draft_token_ids", 4, 5, func(a *VerifyArgs) {
			pack(a, PackingPositions)
			a.Layout.NumPackedPositions = 5
		}},
		{"layout->target_row_indices", 3, 4, func(a *VerifyArgs) {
			a.Layout.TargetRowIndices, a.Layout.BonusRowIndices = i32(3), i32(2)
		}},
		{"layout->bonus_row_indices", 1, 2, func(a *VerifyArgs) {
			a.Layout.TargetRowIndices, a.Layout.BonusRowIndices = i32(4), i32(1)
		}},
		{"target.values", 199, 200, func(a *VerifyArgs) {
			a.Target, a.Layout.TargetRowIndices = rows(199), i32(6)
		}},
		{"target.values", 199, 200, func(a *VerifyArgs) {
			pack(a, PackingDrafts)
			a.Target = rows(199)
		}},
		{"layout->draft_row_indices", 3, 4, func(a *VerifyArgs) {
			a.Draft, a.Layout.DraftRowIndices = rows(200), i32(3)
		}},
		{"layout->draft_row_indices", 3, 4, func(a *VerifyArgs) {
			pack(a, PackingDrafts)
			a.Draft, a.Layout.DraftRowIndices = rows(200), i32(3)
		}},
		{"draft.values", 199, 200, func(a *VerifyArgs) {
			a.Draft, a.Layout.DraftRowIndices = rows(199), i32(4)
		}},
		{"draft.values", 199, 200, func(a *VerifyArgs) {
			pack(a, PackingDrafts)
			a.Draft = rows(199)
		}},
		{"layout->parents", 3, 4, func(a *VerifyArgs) { a.Layout.Parents = i32(3) }},
		{"layout->parents", 1, 2, func(a *VerifyArgs) { a.Layout.Parents, a.Layout.TreeRows = i32(1), 1 }},
		{"layout->first_children", 5, 6, func(a *VerifyArgs) {
			a.Layout.FirstChildren, a.Layout.NextSiblings = i32(5), i32(6)
		}},
		{"layout->next_siblings", 2, 3, func(a *VerifyArgs) {
			a.Layout.FirstChildren, a.Layout.NextSiblings, a.Layout.TreeRows = i32(3), i32(2), 1
		}},
		{"draft_row_params->top_k", 1, 2, func(a *VerifyArgs) {
			a.Draft = Rows{Values: F32(make([]float32, 160)), NumRows: 4, NumCols: 40}
			a.DraftRowParams = &RowParams{TopK: i32(1)}
		}},
		{"pipeline->token_bitmask_indices", 5, 6, func(a *VerifyArgs) {
			a.Pipeline = &Pipeline{TokenBitmasks: Slice(make([]uint32, 2)),
				TokenBitmaskIndices: i32(5)}
		}},
		{"reports->out_kept_counts", 5, 6, func(a *VerifyArgs) { a.Reports.OutKeptCounts = i32(5) }},
		{"reports->out_logprobs", 5, 6, func(a *VerifyArgs) { a.Reports.OutLogprobs = f32(5) }},
		{"reports->out_ranks", 5, 6, func(a *VerifyArgs) { a.Reports.OutRanks = i32(5) }},
		{"reports->out_entropies", 5, 6, func(a *VerifyArgs) { a.Reports.OutEntropies = f32(5) }},
		{"reports->out_observations", 5, 6, func(a *VerifyArgs) { a.Reports.OutObservations = f32(5) }},
		{"reports->out_top_token_ids", 17, 18, func(a *VerifyArgs) {
			a.Reports.NumTopLogprobs, a.Reports.OutTopTokenIDs = 3, ids(17)
		}},
		{"reports->out_top_logprobs", 17, 18, func(a *VerifyArgs) {
			a.Reports.NumTopLogprobs, a.Reports.OutTopLogprobs = 3, f32(17)
		}},
		{"reports->out_kept_bitmask", 11, 12, func(a *VerifyArgs) {
			a.Reports.OutKeptBitmask = Slice(make([]uint32, 11))
		}},
		{"reports->out_kept_bitmask", 17, 18, func(a *VerifyArgs) {
			a.Reports.OutKeptBitmask, a.Reports.KeptBitmaskStride = Slice(make([]uint32, 17)), 3
		}},
		{"reports->out_kept_token_ids", 17, 18, func(a *VerifyArgs) {
			a.Reports.KeptCapacity, a.Reports.OutKeptTokenIDs = 3, ids(17)
		}},
		{"reports->out_kept_probabilities", 17, 18, func(a *VerifyArgs) {
			a.Reports.KeptCapacity, a.Reports.OutKeptProbabilities = 3, f32(17)
		}},
		{"forced_token_ids", 5, 6, func(a *VerifyArgs) { a.ForcedTokenIDs = ids(5) }},
		{"out_positions", 5, 6, func(a *VerifyArgs) { a.OutPositions = i32(5) }},
		{"kv_indices", 5, 6, func(a *VerifyArgs) {
			a.KVIndices, a.OutKVIndices = Slice(make([]int64, 5)), Slice(make([]int64, 6))
		}},
		{"out_kv_indices", 5, 6, func(a *VerifyArgs) {
			a.KVIndices, a.OutKVIndices = Slice(make([]int64, 6)), Slice(make([]int64, 5))
		}},
	} {
		who := "it"
		switch c.name {
		case "target.values":
			who = "target"
		case "draft.values":
			who = "draft"
		case "draft_row_params->top_k":
			who = "draft_row_params"
		case "pipeline->token_bitmask_indices":
			who = "pipeline"
		}
		refuseVerification(t, c.change,
			fmt.Sprintf("%s has %d elements; %s needs %d", c.name, c.length, who, c.needed))
	}
	for name, change := range map[string]func(a *VerifyArgs){
		"reports->out_top_token_ids": func(a *VerifyArgs) {
			a.Reports.NumTopLogprobs, a.Reports.OutTopTokenIDs = 1, I64(make([]int64, 6))
		},
		"reports->out_kept_token_ids": func(a *VerifyArgs) {
			a.Reports.KeptCapacity, a.Reports.OutKeptTokenIDs = 1, I64(make([]int64, 6))
		},
	} {
		refuseVerification(t, change,
			"out_token_ids is of id type 0 and "+name+" of 1; they must be of one type")
	}
	refuseVerification(t, func(a *VerifyArgs) {
		a.Draft = Rows{Values: F32(make([]float32, 160)), NumRows: 4, NumCols: 40}
		a.DraftParams = &Params{TopK: 50}
	}, "draft_params is not of DefaultParams; start from there: all 0 is no default")
}

func TestVerificationThatBreaksARule(t *testing.T) {
	for _, c := range []struct {
		change  func(a *VerifyArgs)
		message string
	}{
		{func(a *VerifyArgs) { a.Acceptance.Rule = 9 },
			"acceptance->rule is 9; it must be one of its constants, 0 to 8"},
		{func(a *VerifyArgs) { a.Acceptance.SiblingRule = -1 },
			"acceptance->sibling_rule is -1; it must be one of its constants, 0 to 1"},
		{func(a *VerifyArgs) { a.Layout.Packing = 4 },
			"layout->packing is 4; it must be one of its constants, 0 to 3"},
		{func(a *VerifyArgs) { a.Reports.LogprobKind = 3 },
			"reports->logprob_kind is 3; it must be one of its constants, 0 to 2"},
		{func(a *VerifyArgs) { a.Reports.NumTopLogprobs = 41 },
			"reports->num_top_logprobs is 41; it must be below 41"},
		{func(a *VerifyArgs) { a.Layout.NumSequences = 3 },
			"layout->num_sequences is 3; it must be 0, or target.num_rows / (num_drafts + 1), 2"},
		{func(a *VerifyArgs) { a.Layout.NumSequences = -1 },
			"layout->num_sequences is -1; it must be at least 0"},
		{func(a *VerifyArgs) { a.Layout.Packing = PackingDrafts },
			"layout->packing_offsets is NULL; it is required"},
		{func(a *VerifyArgs) { a.Acceptance.Rule = AcceptSynthetic },
			"acceptance->rule is 8; SAMPLER_ACCEPT_SYNTHETIC needs acceptance->synthetic_rates"},
	} {
		refuseVerification(t, c.change, c.message)
	}
}

// verified are the outputs of a call with the reports that drawn has of each token.
type verified struct {
	tokens, ranks, keptCounts, topIDs, keptIDs  []int32
	logprobs, entropies, topLogprobs, keptProbs []float32
	bitmask                                     []uint32
}

func newVerified(tokens int) verified {
	i32 := func(n int) []int32 { return make([]int32, n*tokens) }
	f32 := func(n int) []float32 { return make([]float32, n*tokens) }
	return verified{i32(1), i32(1), i32(1), i32(2), i32(3), f32(1), f32(1), f32(2), f32(3),
		make([]uint32, tokens)}
}

// The tokens, and what is reported of them, are those of sampling.
func TestSampleMatch(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 8, MaxCols: 40})
	params := DefaultParams()
	params.TopK = 3
	for offset := uint64(0); offset < 20; offset++ {
		want, got := newVerified(3), newVerified(3)
		for i, token := range []int{1, 2, 4} {
			if err := s.Sample(&SampleArgs{Input: rowsOf(token), Params: &params,
				Random:      Random{Seed: 7, Offset: offset + uint64(i)},
				OutTokenIDs: I32(want.tokens[i:]),
				Reports: &ReportArgs{OutRanks: Slice(want.ranks[i:]),
					OutKeptCounts: Slice(want.keptCounts[i:]), OutLogprobs: Slice(want.logprobs[i:]),
					OutEntropies: Slice(want.entropies[i:]), NumTopLogprobs: 2,
					OutTopTokenIDs: I32(want.topIDs[2*i:]), OutTopLogprobs: Slice(want.topLogprobs[2*i:]),
					OutKeptBitmask: Slice(want.bitmask[i:]), KeptCapacity: 3,
					OutKeptTokenIDs:      I32(want.keptIDs[3*i:]),
					OutKeptProbabilities: Slice(want.keptProbs[3*i:])}}); err != nil {
				t.Fatal(err)
			}
		}
		// The second draft is another token than the one that is drawn.
		drafts := []int32{want.tokens[0], (want.tokens[1] + 1) % 5}
		emitted, status, observations := []int32{77}, []RowStatus{77}, make([]float32, 3)
		positions, kvIndices := make([]int32, 3), make([]int64, 3)
		if err := s.Verify(&VerifyArgs{Target: rowsOf(1, 2, 4), Acceptance: &AcceptanceParams{Rule: AcceptSampleMatch},
			NumDrafts: 2, DraftTokenIDs: I32(drafts), Params: &params,
			Random:      Random{Seed: 7, Offset: offset},
			OutTokenIDs: I32(got.tokens),
			Reports: &ReportArgs{OutRanks: Slice(got.ranks),
				OutKeptCounts: Slice(got.keptCounts), OutLogprobs: Slice(got.logprobs),
				OutEntropies: Slice(got.entropies), NumTopLogprobs: 2,
				OutTopTokenIDs: I32(got.topIDs), OutTopLogprobs: Slice(got.topLogprobs),
				OutKeptBitmask: Slice(got.bitmask), KeptCapacity: 3,
				OutKeptTokenIDs: I32(got.keptIDs), OutKeptProbabilities: Slice(got.keptProbs),
				OutObservations: Slice(observations)}, OutEmittedCounts: Slice(emitted),
			OutRowStatus: Slice(status), OutPositions: Slice(positions),
			KVIndices: Slice([]int64{30, 20, 10}), OutKVIndices: Slice(kvIndices)}); err != nil {
			t.Fatal(err)
		}
		// Positions without a token have the reports of a bad row.
		nan := float32(math.NaN())
		want.tokens[2], want.ranks[2], want.keptCounts[2], want.bitmask[2] = -1, 0, 0, 0
		copy(want.topIDs[4:], []int32{-1, -1})
		copy(want.keptIDs[6:], []int32{-1, -1, -1})
		copy(want.topLogprobs[4:], []float32{nan, nan})
		copy(want.keptProbs[6:], []float32{0, 0, 0})
		want.logprobs[2], want.entropies[2] = nan, nan
		if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
			t.Errorf("offset %d: got %s, want %s", offset, g, w)
		}
		if emitted[0] != 1 || status[0] != RowOK || fmt.Sprint(observations) != "[NaN NaN NaN]" ||
			fmt.Sprint(positions, kvIndices) != "[0 1 -1] [30 20 -1]" {
			t.Errorf("%d drafts, status %d, observations %v, positions %v, indices %v", emitted[0],
				status[0], observations, positions, kvIndices)
		}
	}
}

// Two drafts hang on the root, the third on the second.
func TestTrees(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 8, MaxCols: 40})
	params := DefaultParams()
	params.Temperature = 0
	for i, c := range []struct {
		change func(a *VerifyArgs)
		want   string
	}{
		{func(a *VerifyArgs) { a.Layout.Parents = Slice([]int32{-1, -1, 1}) },
			"[1 2 4 -1] [0 2 3 -1] [2] [OK]"},
		{func(a *VerifyArgs) { a.Layout.Parents, a.Layout.TreeRows = Slice([]int32{-1, -1, 1}), 1 },
			"[1 2 4 -1] [0 2 3 -1] [2] [OK]"},
		{func(a *VerifyArgs) {
			a.Layout.FirstChildren = Slice([]int32{1, -1, 3, -1})
			a.Layout.NextSiblings = Slice([]int32{-1, 2, -1, -1})
		}, "[1 2 4 -1] [0 2 3 -1] [2] [OK]"},
		{func(a *VerifyArgs) { a.Layout.Parents = Slice([]int32{0, -1, 1}) },
			"[-1 -1 -1 -1] [-1 -1 -1 -1] [0] [INVALID_TREE]"},
	} {
		tokens, positions := make([]int32, 4), make([]int32, 4)
		emitted, status := make([]int32, 1), make([]RowStatus, 1)
		args := VerifyArgs{Target: rowsOf(1, 0, 2, 4), NumDrafts: 3,
			DraftTokenIDs: I32([]int32{3, 1, 2}), Params: &params, OutTokenIDs: I32(tokens),
			OutPositions: Slice(positions), OutEmittedCounts: Slice(emitted),
			OutRowStatus: Slice(status), Layout: &DraftLayout{}}
		c.change(&args)
		if err := s.Verify(&args); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(tokens, positions, emitted, status); got != c.want {
			t.Errorf("tree %d: got %s, want %s", i, got, c.want)
		}
	}
}

// Sequences of 2, 0 and 1 drafts, in every layout.
func TestPackedBatches(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 8, MaxCols: 40})
	params := DefaultParams()
	params.Temperature = 0
	rows, reversed := rowsOf(1, 2, 3, 4, 0, 1), rowsOf(1, 0, 4, 3, 2, 1)
	draftOffsets, drafts := []int32{0, 2, 2, 3}, I32([]int32{1, 3, 0})
	for i, c := range []struct {
		target Rows
		drafts IDs
		counts []int32
		layout DraftLayout
	}{
		{rows, drafts, nil,
			DraftLayout{Packing: PackingDrafts, PackingOffsets: Slice(draftOffsets)}},
		{rows, drafts, nil,
			DraftLayout{Packing: PackingDraftEnds, PackingOffsets: Slice(draftOffsets[1:])}},
		{rows, I32([]int32{77, 1, 3, 77, 77, 0}), nil,
			DraftLayout{Packing: PackingPositions, PackingOffsets: Slice([]int32{0, 3, 4, 6})}},
		{reversed, drafts, nil,
			DraftLayout{Packing: PackingDrafts, PackingOffsets: Slice(draftOffsets),
				TargetRowIndices: Slice([]int32{5, 4, 3, 2, 1, 0})}},
		{reversed, drafts, nil,
			DraftLayout{Packing: PackingDrafts, PackingOffsets: Slice(draftOffsets),
				TargetRowIndices: Slice([]int32{5, 4, 1}),
				BonusRowIndices:  Slice([]int32{3, 2, 0})}},
		{reversed, I32([]int32{1, 3, 0, 0, 0, 0}), []int32{2, 0, 1},
			DraftLayout{TargetRowIndices: Slice([]int32{5, 4, 3, 2, -1, -1, 1, 0, -1})}},
	} {
		args := VerifyArgs{Target: c.target, DraftTokenIDs: c.drafts, Layout: &c.layout,
			NumDrafts: 2, Params: &params}
		if c.counts != nil {
			args.DraftCounts = Slice(c.counts)
		}
		c.layout.NumSequences = 3
		tokens, emitted, status := make([]int32, 9), make([]int32, 3), make([]RowStatus, 3)
		args.OutTokenIDs, args.OutEmittedCounts = I32(tokens), Slice(emitted)
		args.OutRowStatus = Slice(status)
		if err := s.Verify(&args); err != nil {
			t.Fatal(i, err)
		}
		got, want := fmt.Sprint(tokens, emitted, status), "[1 2 -1 4 -1 -1 0 1 -1] [1 0 1] [OK OK OK]"
		if got != want {
			t.Errorf("layout %d: got %s, want %s", i, got, want)
		}
	}
}

// Without drafts sequences may have nothing but a bonus row each, of any number of rows.
func TestBonusRowsAlone(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 8, MaxCols: 40})
	params := DefaultParams()
	params.Temperature = 0
	tokens := []int32{77, 77, 77}
	args := VerifyArgs{Target: rowsOf(1, 4), Params: &params, OutTokenIDs: I32(tokens),
		Layout: &DraftLayout{NumSequences: 3, BonusRowIndices: Slice([]int32{1, 0, 1})}}
	if err := s.Verify(&args); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(tokens); got != "[4 1 4]" {
		t.Errorf("got %s", got)
	}
	args.OutTokenIDs = I32(tokens[:2])
	expectError(t, s.Verify(&args), ErrInvalidArgument, "out_token_ids has 2 elements; it needs 3")
}

// Each draft gets the right row, by index and by slot.
func TestDraftRows(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 8, MaxCols: 40})
	// The target gives every draft probability 0.5. It is accepted where its row gives it 0, and by
	// a coin where that gives it 1.
	target := []float32{0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}
	secondIsCertain, othersAre := []float32{0, 1, 1, 0, 0, 1}, []float32{1, 0, 0, 1, 1, 0}
	firstAndLast := Slice([]int32{0, 2})
	for i, c := range []struct {
		args       VerifyArgs
		draft      []float32
		isAccepted bool
	}{
		{VerifyArgs{Layout: &DraftLayout{DraftRowIndices: firstAndLast}}, secondIsCertain, true},
		{VerifyArgs{Layout: &DraftLayout{DraftRowIndices: Slice([]int32{1, 1})}}, secondIsCertain, false},
		{VerifyArgs{Layout: &DraftLayout{DraftRowsBySlot: true}, Slots: firstAndLast, NumSlots: 3}, secondIsCertain, true},
		{VerifyArgs{Layout: &DraftLayout{DraftRowsBySlot: true}, Slots: firstAndLast, NumSlots: 3}, othersAre, false},
	} {
		accepted := int32(0)
		for offset := uint64(0); offset < 40; offset++ {
			emitted, args := make([]int32, 2), c.args
			args.Target = Rows{Values: F32(target), NumRows: 4, NumCols: 2, Kind: Probabilities}
			args.Draft = Rows{Values: F32(c.draft), NumRows: 3, NumCols: 2, Kind: Probabilities}
			args.NumDrafts, args.DraftTokenIDs = 1, I32(make([]int32, 2))
			args.Random = Random{Seed: 3, Offset: offset}
			args.OutTokenIDs, args.OutEmittedCounts = I32(make([]int32, 4)), Slice(emitted)
			if err := s.Verify(&args); err != nil {
				t.Fatal(i, err)
			}
			accepted += emitted[0] + emitted[1]
		}
		if (accepted == 80) != c.isAccepted {
			t.Errorf("case %d: %d of 80 drafts were accepted", i, accepted)
		}
	}
}

// The draft's row is the target's, so its first token is accepted, unless only the draft is cut to
// that one.
func TestDraftParams(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 8, MaxCols: 40})
	defaults, top1 := DefaultParams(), DefaultParams()
	top1.TopK = 1
	off := &RowParams{TopK: Slice([]int32{0})}
	one := &RowParams{TopK: Slice([]int32{1})}
	for i, c := range []struct {
		params     *Params
		rowParams  *RowParams
		isAccepted bool
	}{
		{nil, nil, true}, {&defaults, nil, true}, {&top1, nil, false}, {nil, one, false},
		{&top1, off, true}, {&defaults, one, false},
	} {
		accepted := int32(0)
		for offset := uint64(0); offset < 40; offset++ {
			emitted := make([]int32, 1)
			if err := s.Verify(&VerifyArgs{Target: rowsOf(1, 2), Draft: rowsOf(1), NumDrafts: 1,
				DraftTokenIDs: I32([]int32{1}), Random: Random{Seed: 3, Offset: offset},
				DraftParams: c.params, DraftRowParams: c.rowParams,
				OutTokenIDs: I32(make([]int32, 2)), OutEmittedCounts: Slice(emitted)}); err != nil {
				t.Fatal(i, err)
			}
			accepted += emitted[0]
		}
		if (accepted == 40) != c.isAccepted {
			t.Errorf("case %d: %d of 40 drafts were accepted", i, accepted)
		}
	}
}

// Without the banned token, token 0 is the row's largest.
func TestVerificationWithStages(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 8, MaxCols: 40})
	params := DefaultParams()
	params.Temperature = 0
	banned := TokenLists{Offsets: Slice([]int64{0, 1}), TokenIDs: I32([]int32{1})}
	for pipeline, want := range map[*Pipeline]string{nil: "[1 2]", {Banned: banned}: "[0 -1]"} {
		tokens := make([]int32, 2)
		if err := s.Verify(&VerifyArgs{Target: rowsOf(1, 2), NumDrafts: 1,
			DraftTokenIDs: I32([]int32{1}), Params: &params, Pipeline: pipeline,
			OutTokenIDs: I32(tokens)}); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(tokens); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
