package sampler

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"testing"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// Sessions beside draws of the full call.

const (
	sessionCols      = 23
	sessionDrafts    = 3
	sessionSequences = 4
)

// logitsAfter is what a model gives after a text: a function of its last two tokens. Another one for
// each model.
func logitsAfter(text []int32, model int) []float32 {
	state := uint64(77)
	for i := len(text) - 1; i >= 0 && i >= len(text)-2; i-- {
		state = (state ^ uint64(text[i])) * 0x9E3779B97F4A7C15
	}
	row := make([]float32, sessionCols)
	for i := range row {
		state = state*6364136223846793005 + 1442695040888963407
		row[i] = float32(state>>40)/(1<<22) + float32(model*(i%2))/4
	}
	return row
}

type drawnText struct {
	text     []int32
	logprobs []float32
	top      []int32
}

// drawnAlone draws token after token by the full call.
func drawnAlone(t *testing.T, prompt []int32, count int, seed uint64, params Params) drawnText {
	t.Helper()
	s := newSampler(t, Options{MaxRows: 1, MaxCols: sessionCols})
	drawn := drawnText{text: append([]int32{}, prompt...)}
	for i := 0; i < count; i++ {
		id, top := make([]int32, 1), make([]int32, 2)
		logprob, topLogprobs := make([]float32, 1), make([]float32, 2)
		err := s.Sample(&SampleArgs{
			Input:       Rows{Values: F32(logitsAfter(drawn.text, 0)), NumRows: 1, NumCols: sessionCols},
			Params:      &params,
			Random:      Random{Seed: seed, Offset: uint64(i)},
			OutTokenIDs: I32(id),
			Reports: &ReportArgs{
				LogprobKind:    LogprobProcessed,
				OutLogprobs:    Slice(logprob),
				NumTopLogprobs: 2,
				OutTopTokenIDs: I32(top),
				OutTopLogprobs: Slice(topLogprobs),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		drawn.text = append(drawn.text, id[0])
		drawn.logprobs = append(drawn.logprobs, logprob[0])
		drawn.top = append(drawn.top, top...)
	}
	return drawn
}

// sessionCaller is what the caller of a session has: models with caches.
type sessionCaller struct {
	plan     Plan
	caches   [2][sessionSequences][]int32
	logprobs [sessionSequences][]float32
	top      [sessionSequences][]int32

	onDevice bool // logits are memory of a CUDA sampler's device, which reaches slices
}

func (caller *sessionCaller) data(logits []float32) Data {
	data := F32(logits)
	if caller.onDevice && len(logits) > 0 {
		data.array = device(uintptr(data.memory))
	}
	return data
}

func (caller *sessionCaller) run(t *testing.T, model int) (logits []float32) {
	t.Helper()
	spans, tokens := caller.plan.Spans, caller.plan.TokenIDs
	if model == 1 {
		spans, tokens = caller.plan.DrafterSpans, caller.plan.DrafterTokenIDs
	}
	for s, span := range spans {
		cache := &caller.caches[model][span.Sequence]
		*cache = (*cache)[:span.Start]
		length := len(span.TokenIDs)
		firstDraft := length - len(span.Parents)
		drafts := span.TokenIDs[firstDraft:]
		for i, token := range span.TokenIDs {
			*cache = append(*cache, token)
			seen := *cache
			if i >= firstDraft {
				seen = pathOf(seen[:len(seen)-1-(i-firstDraft)], drafts, span.Parents, i-firstDraft)
			}
			if i+span.NumLogits >= length {
				logits = append(logits, logitsAfter(seen, model)...)
			}
		}
		// Parts of those of all, which appending to does not change.
		if &span.TokenIDs[0] != &tokens[0] || cap(span.TokenIDs) != length {
			t.Fatalf("%v is no part of %v", span.TokenIDs, tokens)
		}
		if parents := span.Parents; len(parents) > 0 &&
			(&parents[0] != &caller.plan.Parents[s*sessionDrafts] || cap(parents) != len(parents)) {
			t.Fatalf("%v is no part of %v", parents, caller.plan.Parents)
		}
		tokens = tokens[length:]
	}
	if len(tokens) != 0 {
		t.Fatalf("%d tokens are in no span", len(tokens))
	}
	return logits
}

// pathOf is a text and the drafts on the way to one of a tree.
func pathOf(text, drafts, parents []int32, draft int) []int32 {
	var path []int32
	for ; draft >= 0; draft = int(parents[draft]) {
		path = append([]int32{drafts[draft]}, path...)
	}
	return append(append([]int32{}, text...), path...)
}

// step returns whether anything was to be run.
func (caller *sessionCaller) step(t *testing.T, session *Session, maxTokens int) bool {
	t.Helper()
	if err := session.Plan(&PlanArgs{MaxTokens: maxTokens}, &caller.plan); err != nil {
		t.Fatal(err)
	}
	if tokens := caller.plan.TokenIDs; maxTokens > 0 && len(tokens) > maxTokens {
		t.Fatalf("%d tokens are planned, at most %d", len(tokens), maxTokens)
	}
	logits, drafterLogits := caller.run(t, 0), caller.run(t, 1)
	spans := caller.plan.Spans
	count, places := len(spans), len(spans)*(sessionDrafts+1)
	ids, top := make([]int32, places), make([]int32, 2*places)
	counts, accepted := make([]int64, count), make([]int64, count)
	lengths, drafterLengths := make([]int64, count), make([]int64, count)
	reasons, status := make([]FinishReason, count), make([]RowStatus, count)
	logprobs, topLogprobs := make([]float32, places), make([]float32, 2*places)
	err := session.Advance(&AdvanceArgs{
		Spans: spans, Logits: caller.data(logits),
		DrafterSpans: caller.plan.DrafterSpans, DrafterLogits: caller.data(drafterLogits),
		OutTokenIDs: ids, OutCounts: counts, OutFinishReasons: reasons,
		OutCacheLengths: lengths, OutDrafterCacheLengths: drafterLengths,
		OutAcceptedCounts: accepted, OutRowStatus: status,
		Reports: SessionReports{
			LogprobKind: LogprobProcessed, OutLogprobs: logprobs,
			NumTopLogprobs: 2, OutTopTokenIDs: top, OutTopLogprobs: topLogprobs,
		},
	})
	runtime.KeepAlive(logits)
	runtime.KeepAlive(drafterLogits)
	if err != nil {
		t.Fatal(err)
	}
	for i, span := range spans {
		s, first, n := span.Sequence, i*(sessionDrafts+1), int(counts[i])
		known, err := session.Get(s)
		if err != nil {
			t.Fatal(err)
		}
		end := len(known.TokenIDs)
		if !reflect.DeepEqual(ids[first:first+n], known.TokenIDs[end-n:]) ||
			reasons[i] != known.FinishReason || status[i] != known.RowStatus ||
			int(lengths[i]) != known.CacheLength ||
			int(drafterLengths[i]) != known.DrafterCacheLength ||
			n > 0 && int(accepted[i]) != n-1 {
			t.Fatalf("%v, %d, %d, %d, %d, %d beside %+v", ids[first:first+n], reasons[i], status[i],
				lengths[i], drafterLengths[i], accepted[i], known)
		}
		caller.caches[0][s] = caller.caches[0][s][:known.CacheLength]
		caller.caches[1][s] = caller.caches[1][s][:known.DrafterCacheLength]
		caller.logprobs[s] = append(caller.logprobs[s], logprobs[first:first+n]...)
		caller.top[s] = append(caller.top[s], top[2*first:2*(first+n)]...)
	}
	return count+len(caller.plan.DrafterSpans) > 0
}

func sessionOptions() SessionOptions {
	return SessionOptions{
		MaxSequences: sessionSequences, MaxContext: 60, VocabularySize: sessionCols,
		MaxDrafts: sessionDrafts, LookupTokens: 60, MaxEndTokens: 1, MaxStopSequences: 2,
		MaxStopTokens: 4, MaxTopLogprobs: 2,
	}
}

func newSession(t *testing.T, options SessionOptions) *Session {
	t.Helper()
	session, err := newSampler(t, Options{MaxRows: 8, MaxCols: sessionCols}).NewSession(options)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func addSequence(t *testing.T, session *Session, args AddArgs) int {
	t.Helper()
	sequence, err := session.Add(&args)
	if err != nil {
		t.Fatal(err)
	}
	return sequence
}

func sequenceOf(t *testing.T, session *Session, number int) Sequence {
	t.Helper()
	sequence, err := session.Get(number)
	if err != nil {
		t.Fatal(err)
	}
	return sequence
}

func TestTextsOfSessionsAreThoseDrawnAlone(t *testing.T) {
	for _, maxTokens := range []int{0, 5} {
		session, caller := newSession(t, sessionOptions()), &sessionCaller{}
		cold := DefaultParams()
		cold.Temperature, cold.TopK = 0.5, 5
		var wanted []drawnText
		for i, source := range []DraftSource{DraftsNone, DraftsModel, DraftsPromptLookup} {
			prompt := []int32{1, 2, 3, 1, 2, 3, int32(i)}
			params, args := DefaultParams(), AddArgs{TokenIDs: prompt, Seed: uint64(40 + i),
				MaxNewTokens: 20 + i, DraftSource: source}
			if i > 0 {
				params, args.Params = cold, &cold
			}
			if sequence := addSequence(t, session, args); sequence != i {
				t.Fatalf("sequence %d is not %d", sequence, i)
			}
			wanted = append(wanted, drawnAlone(t, prompt, 20+i, args.Seed, params))
			caller.step(t, session, maxTokens) // the next one joins
		}
		for caller.step(t, session, maxTokens) {
		}
		for i, want := range wanted {
			found := sequenceOf(t, session, i)
			if !reflect.DeepEqual(found.TokenIDs, want.text) ||
				!reflect.DeepEqual(caller.logprobs[i], want.logprobs) ||
				!reflect.DeepEqual(caller.top[i], want.top) {
				t.Errorf("%v, alone %v", found.TokenIDs, want.text)
			}
			if found.PromptLength != 7 || found.FinishReason != FinishLength ||
				found.StopSequence != -1 || (found.NumDrafted > 0) != (i > 0) ||
				i == 1 && (found.NumAccepted == 0 || found.NumSteps > 20) {
				t.Errorf("%+v", found)
			}
		}
	}
}

func TestTextsOfSessionsGoOnWhereCachesEnd(t *testing.T) {
	whole := drawnAlone(t, []int32{4, 5}, 9, 3, DefaultParams()).text
	session, caller := newSession(t, sessionOptions()), &sessionCaller{}
	sequence := addSequence(t, session, AddArgs{TokenIDs: whole[:5], PromptLength: 2, CacheLength: 1,
		DrafterCacheLength: 3, Seed: 3, MaxNewTokens: 9, DraftSource: DraftsPromptLookup,
		NumDrafts: 2, MinMatch: 50}) // nothing is as long
	known := sequenceOf(t, session, sequence)
	if known.PromptLength != 2 || known.CacheLength != 1 || known.DrafterCacheLength != 3 ||
		!known.IsDrafting {
		t.Errorf("%+v", known)
	}
	caller.caches[0][sequence] = append([]int32{}, whole[:1]...)
	caller.caches[1][sequence] = append([]int32{}, whole[:3]...)
	for caller.step(t, session, 0) {
	}
	found := sequenceOf(t, session, sequence)
	if !reflect.DeepEqual(found.TokenIDs, whole) || found.NumDrafted != 0 {
		t.Errorf("%+v, wanted %v", found, whole)
	}
}

func TestSequencesOfSessionsGoOnAsTheyWouldHave(t *testing.T) {
	params := DefaultParams()
	params.AdaptiveKind, params.AdaptiveTarget, params.AdaptiveRate = AdaptiveMirostatV2, 2, 0.4
	args := AddArgs{TokenIDs: []int32{4, 5}, Params: &params, Seed: 3, MaxNewTokens: 30}
	session, caller := newSession(t, sessionOptions()), &sessionCaller{}
	stays, goes := addSequence(t, session, args), addSequence(t, session, args)
	for i := 0; i < 6; i++ {
		caller.step(t, session, 0)
	}
	before := sequenceOf(t, session, goes)
	if err := session.Remove(goes); err != nil {
		t.Fatal(err)
	}
	args.TokenIDs, args.PromptLength = before.TokenIDs, before.PromptLength
	anew := addSequence(t, session, args)
	args.Resumed = &before
	again := addSequence(t, session, args)
	for caller.step(t, session, 0) {
	}
	whole := sequenceOf(t, session, stays).TokenIDs
	if found := sequenceOf(t, session, again); !reflect.DeepEqual(found.TokenIDs, whole) ||
		found.NumSteps != 30 {
		t.Errorf("%+v, wanted %v", found, whole)
	}
	if reflect.DeepEqual(sequenceOf(t, session, anew).TokenIDs, whole) {
		t.Error("the text does not depend on the values")
	}

	args.Resumed = &Sequence{AdaptiveValues: [4]float32{1, 2, 3, 4}, DrafterEntropy: 1.25,
		NumSteps: 7, NumDrafted: 6, NumAccepted: 5}
	found := sequenceOf(t, session, addSequence(t, session, args))
	if found.AdaptiveValues != args.Resumed.AdaptiveValues || found.DrafterEntropy != 1.25 ||
		found.NumSteps != 7 || found.NumDrafted != 6 || found.NumAccepted != 5 {
		t.Errorf("%+v, wanted %+v", found, args.Resumed)
	}
	_, err := session.Add(&AddArgs{TokenIDs: []int32{4}, NgramHasText: true})
	expectError(t, err, ErrInvalidArgument,
		"ngram_has_text is 1 and draft_source 0; it must be SAMPLER_DRAFTS_NGRAM")
}

func TestSequencesOfSessionsEndForkAndAreRemoved(t *testing.T) {
	whole := drawnAlone(t, []int32{4}, 30, 9, DefaultParams()).text
	session, caller := newSession(t, sessionOptions()), &sessionCaller{}
	ended := addSequence(t, session, AddArgs{TokenIDs: []int32{4}, Seed: 9,
		EndTokenIDs: whole[9:10], StopSequences: [][]int32{{0, 0, 0}}})
	stops := [][]int32{{whole[7], whole[7]}, whole[6:8]}
	stopped := addSequence(t, session, AddArgs{TokenIDs: []int32{4}, Seed: 9, StopSequences: stops})
	for i := 0; i < 3; i++ {
		caller.step(t, session, 0)
	}
	seed, greedy := uint64(10), DefaultParams()
	greedy.Temperature = 0
	other, err := session.Fork(&ForkArgs{Source: stopped, Seed: &seed, Params: &greedy})
	if err != nil {
		t.Fatal(err)
	}
	forked := sequenceOf(t, session, other)
	caller.caches[0][other] = append([]int32{}, caller.caches[0][stopped]...)
	for caller.step(t, session, 0) {
	}
	found := sequenceOf(t, session, stopped)
	end := len(found.TokenIDs)
	if found.FinishReason != FinishStopSequence || found.StopSequence != 1 || end > 8 ||
		!reflect.DeepEqual(found.TokenIDs, whole[:end]) ||
		!reflect.DeepEqual(found.TokenIDs[end-2:], whole[6:8]) {
		t.Errorf("%+v, wanted %v", found, whole)
	}
	found = sequenceOf(t, session, ended)
	end = len(found.TokenIDs)
	if found.FinishReason != FinishEndToken || end > 10 || found.TokenIDs[end-1] != whole[9] {
		t.Errorf("%+v, wanted %v", found, whole)
	}
	found = sequenceOf(t, session, other)
	end = len(found.TokenIDs)
	text := drawnAlone(t, forked.TokenIDs, end-len(forked.TokenIDs), seed, greedy).text
	if !reflect.DeepEqual(found.TokenIDs, text) {
		t.Errorf("%+v, greedily %v", found, text)
	}
	if err := session.Remove(other); err != nil {
		t.Fatal(err)
	}
	_, err = session.Get(other)
	expectError(t, err, ErrInvalidArgument,
		fmt.Sprintf("sequence is %d; the session has no such sequence", other))
	expectError(t, session.Remove(-1), ErrInvalidArgument,
		"sequence is -1; it must be at least 0")
}

func TestSessionsWithMasks(t *testing.T) {
	options := sessionOptions()
	options.MaxDrafts = 0
	options.Pipeline = &Pipeline{TokenBitmasks: Slice([]uint32{1 << 3, 1 << 5}),
		Banned: TokenLists{Offsets: Slice([]int64{0, 1}), TokenIDs: I32([]int32{5})}}
	session := newSession(t, options)
	addSequence(t, session, AddArgs{TokenIDs: []int32{4}})
	var plan Plan
	for mask, want := range []int32{3, -1} {
		if err := session.Plan(&PlanArgs{Sequences: []int32{0}}, &plan); err != nil {
			t.Fatal(err)
		}
		id := []int32{-7}
		err := session.Advance(&AdvanceArgs{Spans: plan.Spans,
			Logits:              F32(logitsAfter(plan.TokenIDs, 0)),
			TokenBitmaskIndices: []int32{int32(mask)},
			OutTokenIDs:         id, OutCounts: make([]int64, 1)})
		if err != nil || id[0] != want {
			t.Errorf("token %d, wanted %d (%v)", id[0], want, err)
		}
	}
	if found := sequenceOf(t, session, 0); found.FinishReason != FinishBadRow ||
		found.RowStatus != RowEmpty {
		t.Errorf("%+v", found)
	}
}

// Blocks begin at multiples of 3, the first one in the prompt. Later positions are surer.
func TestSessionsWithBlocks(t *testing.T) {
	const mask = sessionCols - 1
	options := sessionOptions()
	options.MaxDrafts, options.HasBlocks, options.HasDraftTrees = 2, true, true
	session, greedy := newSession(t, options), DefaultParams()
	greedy.Temperature = 0
	first := addSequence(t, session, AddArgs{TokenIDs: []int32{1, 2}, Params: &greedy, MaxNewTokens: 7,
		Unmask: &UnmaskParams{MaskTokenID: mask, BlockLength: 3, NumStepsLeft: 2}})
	step := func(plan *Plan) []int64 {
		t.Helper()
		if err := session.Plan(&PlanArgs{}, plan); err != nil {
			t.Fatal(err)
		}
		var logits []float32
		for _, span := range plan.Spans {
			end := span.Start + len(span.TokenIDs)
			for position := end - span.NumLogits; position < end; position++ {
				row := make([]float32, sessionCols)
				row[position] = float32(5 + position)
				logits = append(logits, row...)
			}
			if span.Parents != nil {
				t.Errorf("parents %v of a block", span.Parents)
			}
		}
		count := len(plan.Spans)
		counts := make([]int64, count)
		if err := session.Advance(&AdvanceArgs{Spans: plan.Spans, Logits: F32(logits),
			OutTokenIDs: make([]int32, 3*count), OutCounts: counts}); err != nil {
			t.Fatal(err)
		}
		return counts
	}
	var plan Plan
	var counts []int64
	var blocks [][]int32
	for len(counts) < 3 {
		counts = append(counts, step(&plan)...)
		blocks = append(blocks, append([]int32{}, plan.TokenIDs...))
	}
	if want := [][]int32{{1, 2, mask}, {0, 1, 2, mask, mask, mask}, {mask, 4, 5}}; counts[0] != 1 ||
		counts[1] != 0 || counts[2] != 3 || !reflect.DeepEqual(blocks[0], want[0]) ||
		!reflect.DeepEqual(blocks[2], want[2]) {
		t.Errorf("%v, wanted %v; counts %v", blocks, want, counts)
	}
	fork, err := session.Fork(&ForkArgs{Source: first})
	if err != nil {
		t.Fatal(err)
	}
	for step(&plan); len(plan.Spans) > 0; step(&plan) {
	}
	for _, sequence := range []int{first, fork} {
		if found := sequenceOf(t, session, sequence); found.FinishReason != FinishLength ||
			!reflect.DeepEqual(found.TokenIDs, []int32{1, 2, 2, 3, 4, 5, 6, 7, 8}) {
			t.Errorf("%+v", found)
		}
	}
	_, err = session.Add(&AddArgs{TokenIDs: []int32{4}, Unmask: &UnmaskParams{BlockLength: 4}})
	expectError(t, err, ErrInvalidArgument, "unmask->block_length is 4; it must be below 4")
	_, err = newSession(t, sessionOptions()).Add(&AddArgs{TokenIDs: []int32{4},
		Unmask: &UnmaskParams{BlockLength: 1}})
	expectError(t, err, ErrInvalidArgument, "unmask is set; the session must have has_blocks")
}

func TestSessionsWithGuidance(t *testing.T) {
	options := sessionOptions()
	options.MaxDrafts = 0
	session, params := newSession(t, options), DefaultParams()
	params.GuidanceScale, params.TopK = 2.5, 4
	addSequence(t, session, AddArgs{TokenIDs: []int32{4}, Seed: 5, Params: &params})
	var plan Plan
	text := []int32{4}
	for step, indices := range [][]int32{nil, {0}, {1}, {-1}} {
		row, others := logitsAfter(text, 0), append(logitsAfter([]int32{7, text[step]}, 0),
			logitsAfter([]int32{8, text[step]}, 0)...)
		if err := session.Plan(&PlanArgs{}, &plan); err != nil {
			t.Fatal(err)
		}
		id, want := make([]int32, 1), make([]int32, 1)
		if err := session.Advance(&AdvanceArgs{Spans: plan.Spans, Logits: F32(row),
			GuidanceLogits: F32(others), GuidanceRowIndices: indices,
			OutTokenIDs: id, OutCounts: make([]int64, 1)}); err != nil {
			t.Fatal(err)
		}
		if err := session.sampler.Sample(&SampleArgs{
			Input:  Rows{Values: F32(row), NumRows: 1, NumCols: sessionCols},
			Params: &params, Random: Random{Seed: 5, Offset: uint64(step)},
			Pipeline: &Pipeline{GuidanceLogits: F32(others),
				GuidanceRowIndices: Slice(append([]int32{}, append(indices, 0)[0]))},
			OutTokenIDs: I32(want)}); err != nil {
			t.Fatal(err)
		}
		if id[0] != want[0] {
			t.Errorf("step %d: token %d, wanted %d", step, id[0], want[0])
		}
		text = append(text, id[0])
	}
	if err := session.Plan(&PlanArgs{}, &plan); err != nil {
		t.Fatal(err)
	}
	good := AdvanceArgs{Spans: plan.Spans, Logits: F32(logitsAfter(text, 0)),
		OutTokenIDs: make([]int32, 1), OutCounts: make([]int64, 1)}
	for _, c := range []struct {
		guidance Data
		number   int
		indices  []int32
		message  string
	}{
		{message: "guidance_logits is NULL; sequence 0 has guidance_scale"},
		{F32(make([]float32, 24)), 0, nil, "guidance_logits has 24 elements; it must be rows of 23"},
		{F32(make([]float32, 23)), 2, nil, "guidance_logits has 23 elements; it needs 46"},
		{BF16(make([]uint16, 23)), 0, nil,
			"guidance_logits is of dtype 2; LogitsDtype of the session is 0"},
		{F32(make([]float32, 23)), 0, []int32{}, "guidance_row_indices has 0 elements; it needs 1"},
	} {
		args := good
		args.GuidanceLogits, args.NumGuidanceRows = c.guidance, c.number
		args.GuidanceRowIndices = c.indices
		expectError(t, session.Advance(&args), ErrInvalidArgument, c.message)
	}
}

func TestSessionsWithDraftersRows(t *testing.T) {
	options := sessionOptions()
	add := AddArgs{TokenIDs: []int32{4}, DraftSource: DraftsModel, Acceptance: AcceptStandard}
	_, err := newSession(t, options).Add(&add)
	var e *Error
	if !errors.As(err, &e) || e.Status != ErrInvalidArgument {
		t.Errorf("added without drafter's rows: %v", err)
	}
	options.KeepDrafterRows = true
	session, caller := newSession(t, options), &sessionCaller{}
	addSequence(t, session, add)
	for caller.step(t, session, 0) {
	}
	if found := sequenceOf(t, session, 0); found.FinishReason != FinishContext ||
		found.NumAccepted == 0 || len(found.TokenIDs) != 60 {
		t.Errorf("%+v", found)
	}
}

func TestStepsOfSessionsDoNotAllocate(t *testing.T) {
	if testing.Short() {
		t.Skip("under the race detector, which runs with -short, what is inlined else escapes")
	}
	options := sessionOptions()
	options.MaxContext, options.LookupTokens, options.HasDraftTrees = 2000, 2000, true
	session := newSession(t, options)
	for i := 0; i < sessionSequences; i++ {
		addSequence(t, session, AddArgs{TokenIDs: []int32{1, 2, 1, 2}, Seed: uint64(i),
			DraftSource: DraftsPromptLookup})
	}
	const places = sessionSequences * (sessionDrafts + 1)
	logits := make([]float32, places*sessionCols)
	for i := range logits {
		logits[i] = float32(i % 3)
	}
	tokens, counts := make([]int32, places), make([]int64, sessionSequences)
	logprobs := make([]float32, places)
	var plan Plan
	numDrafts := 0
	allocations := testing.AllocsPerRun(200, func() {
		if err := session.Plan(&PlanArgs{}, &plan); err != nil || len(plan.Spans) != sessionSequences {
			t.Fatal(plan.Spans, err)
		}
		for _, span := range plan.Spans {
			numDrafts += len(span.Parents)
		}
		if err := session.Advance(&AdvanceArgs{Spans: plan.Spans, Logits: F32(logits),
			OutTokenIDs: tokens, OutCounts: counts,
			Reports: SessionReports{OutLogprobs: logprobs}}); err != nil {
			t.Fatal(err)
		}
	})
	if allocations != 0 || numDrafts == 0 {
		t.Errorf("%v allocations a step, of %d drafts", allocations, numDrafts)
	}
}

func TestMembersOfSessionsArrive(t *testing.T) {
	var options SessionOptions
	value, next := reflect.ValueOf(&options).Elem(), int64(100)
	for i := 0; i < value.NumField(); i++ {
		switch value.Field(i).Kind() {
		case reflect.Int:
			next++
			value.Field(i).SetInt(next)
		case reflect.Bool:
			value.Field(i).SetBool(true)
		}
	}
	options.LogitsDtype, options.ConfidenceKind = DtypeBF16, LogprobEdited
	params := DefaultParams()
	params.TopK = 7
	options.Params, options.Pipeline = &params, &Pipeline{MaxHistoryTokens: 9}
	s := newSampler(t, Options{})
	c, err := s.begin("", false, false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.mutex.Unlock()
	memory := new(raw.SessionOptions)
	options.raw(&c, memory)
	found := reflect.ValueOf(memory).Elem()
	for i := 0; i < value.NumField(); i++ {
		name := value.Type().Field(i).Name
		if value.Field(i).Kind() == reflect.Int &&
			found.FieldByName(name).Int() != value.Field(i).Int() {
			t.Errorf("%s is %d in C, %d here", name, found.FieldByName(name).Int(),
				value.Field(i).Int())
		}
	}
	if memory.LogitsDtype != int32(DtypeBF16) || memory.KeepDrafterRows != 1 ||
		memory.HasBlocks != 1 || memory.ConfidenceKind != int32(LogprobEdited) ||
		memory.Params == 0 || memory.Pipeline == 0 || s.memory.params.TopK != 7 ||
		s.memory.pipeline.MaxHistoryTokens != 9 {
		t.Errorf("C gets %+v", memory)
	}
}

func TestSessionsRefuse(t *testing.T) {
	options := sessionOptions()
	options.MaxDrafts = 1
	session := newSession(t, options)
	addSequence(t, session, AddArgs{TokenIDs: []int32{4, 5}})
	var plan Plan
	if err := session.Plan(&PlanArgs{}, &plan); err != nil {
		t.Fatal(err)
	}
	good := func() AdvanceArgs {
		return AdvanceArgs{Spans: plan.Spans, Logits: F32(make([]float32, sessionCols)),
			OutTokenIDs: make([]int32, 2), OutCounts: make([]int64, 1),
			Reports: SessionReports{LogprobKind: LogprobRaw}}
	}
	const short = "%s has %d elements; it needs %d"
	for _, c := range []struct {
		change  func(a *AdvanceArgs)
		message string
	}{
		{func(a *AdvanceArgs) { a.Logits = F32(make([]float32, sessionCols-1)) },
			fmt.Sprintf(short, "logits", 22, 23)},
		{func(a *AdvanceArgs) { a.Logits = F16(make([]uint16, sessionCols)) },
			"logits is of dtype 1; LogitsDtype of the session is 0"},
		{func(a *AdvanceArgs) { a.OutTokenIDs = make([]int32, 1) },
			fmt.Sprintf(short, "out_token_ids", 1, 2)},
		{func(a *AdvanceArgs) { a.OutCounts = []int64{} },
			fmt.Sprintf(short, "out_counts", 0, 1)},
		{func(a *AdvanceArgs) { a.OutFinishReasons = []FinishReason{} },
			fmt.Sprintf(short, "out_finish_reasons", 0, 1)},
		{func(a *AdvanceArgs) { a.OutCacheLengths = []int64{} },
			fmt.Sprintf(short, "out_cache_lengths", 0, 1)},
		{func(a *AdvanceArgs) { a.OutDrafterCacheLengths = []int64{} },
			fmt.Sprintf(short, "out_drafter_cache_lengths", 0, 1)},
		{func(a *AdvanceArgs) { a.OutAcceptedCounts = []int64{} },
			fmt.Sprintf(short, "out_accepted_counts", 0, 1)},
		{func(a *AdvanceArgs) { a.OutRowStatus = []RowStatus{} },
			fmt.Sprintf(short, "out_row_status", 0, 1)},
		{func(a *AdvanceArgs) { a.Reports.OutLogprobs = make([]float32, 1) },
			fmt.Sprintf(short, "reports->out_logprobs", 1, 2)},
		{func(a *AdvanceArgs) { a.Reports.NumTopLogprobs, a.Reports.OutTopTokenIDs = 2, make([]int32, 3) },
			fmt.Sprintf(short, "reports->out_top_token_ids", 3, 4)},
		{func(a *AdvanceArgs) {
			a.Reports.NumTopLogprobs, a.Reports.OutTopLogprobs = 2, make([]float32, 3)
		},
			fmt.Sprintf(short, "reports->out_top_logprobs", 3, 4)},
		{func(a *AdvanceArgs) { a.OutTokenIDs = nil },
			"out_token_ids is NULL; it is required"},
		{func(a *AdvanceArgs) { a.TokenBitmaskIndices = []int32{} },
			fmt.Sprintf(short, "token_bitmask_indices", 0, 1)},
		{func(a *AdvanceArgs) { a.ForcedTokenIDs = []int32{} },
			fmt.Sprintf(short, "forced_token_ids", 0, 1)},
		{func(a *AdvanceArgs) { a.Spans = append(a.Spans, a.Spans[0]) },
			fmt.Sprintf(short, "logits", 23, 46)},
	} {
		args := good()
		c.change(&args)
		expectError(t, session.Advance(&args), ErrInvalidArgument, c.message)
	}
	const changed = "spans[0] of sequence 0 is not a span that it was planned last"
	for _, change := range []func(span *Span){
		func(span *Span) { span.Plan++ },
		func(span *Span) { span.Start++ },
		func(span *Span) { span.TokenIDs = span.TokenIDs[1:] },
	} {
		args, span := good(), plan.Spans[0]
		change(&span)
		args.Spans = []Span{span}
		expectError(t, session.Advance(&args), ErrInvalidArgument, changed)
	}
	args := good()
	if err := session.Advance(&args); err != nil {
		t.Fatal(err)
	}
	args = good()
	expectError(t, session.Advance(&args), ErrInvalidArgument, changed)

	_, err := session.Add(&AddArgs{TokenIDs: []int32{4}, StopSequences: [][]int32{{1, 2}, {}}})
	expectError(t, err, ErrInvalidArgument, "stop_sequences[1] has no token; it must have one")
	_, err = session.Add(&AddArgs{TokenIDs: []int32{4}, Params: &Params{}})
	expectError(t, err, ErrInvalidArgument,
		"params is not of DefaultParams; start from there: all 0 is no default")
	expectError(t, session.Plan(&PlanArgs{Sequences: []int32{3}}, &plan), ErrInvalidArgument,
		"sequences[0] is 3; the session has no such sequence")
	if len(plan.Spans) != 0 || len(plan.TokenIDs) != 0 {
		t.Errorf("planned %+v", plan)
	}
	expectError(t, session.Plan(&PlanArgs{}, nil), ErrInvalidArgument,
		"plan is nil; it is required")
	if err := session.Plan(&PlanArgs{Sequences: []int32{}}, &plan); err != nil || len(plan.Spans) > 0 {
		t.Errorf("planned %+v, of none (%v)", plan, err)
	}

	if size, err := session.sampler.SessionSize(options); err != nil || size < 1000 {
		t.Errorf("%d bytes (%v)", size, err)
	}
	options.MaxContext = math.MaxInt32 + 1
	if _, err := session.sampler.NewSession(options); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("made: %v", err)
	}
	if err := session.Close(); err != nil || session.Close() != nil {
		t.Error(err)
	}
	for _, closed := range []*Session{session, nil, {}} {
		if _, err := closed.Get(0); err != ErrSessionClosed {
			t.Errorf("a closed session: %v", err)
		}
	}
	other := newSession(t, sessionOptions())
	if err := other.sampler.Close(); err != nil {
		t.Fatal(err)
	}
	if err := other.Remove(0); err != ErrClosed {
		t.Errorf("a closed sampler: %v", err)
	}
	if err := other.Close(); err != nil {
		t.Error(err)
	}
}
