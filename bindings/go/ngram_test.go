package sampler

import (
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/libsampler/libsampler/bindings/go/internal/hooks"
)

func newStorage(t *testing.T, options NgramStorageOptions) *NgramStorage {
	t.Helper()
	storage, err := NewNgramStorage(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { storage.Close() })
	return storage
}

func proposed(t *testing.T, ngram *Ngram, context []int32, leastCount int,
	leastShare float32) []int32 {
	t.Helper()
	drafts := make([]int32, 4)
	n, err := ngram.Propose(context, leastCount, leastShare, drafts)
	if err != nil {
		t.Fatal(err)
	}
	return drafts[:n]
}

func TestNgramStorage(t *testing.T) {
	storage := newStorage(t, NgramStorageOptions{Order: 3, VocabularySize: 100})
	if err := storage.Initialize([]int32{1, 2, 3, 1, 2, 3, 1, 2, 4}); err != nil {
		t.Fatal(err)
	}
	token, isKnown, err := storage.NextToken([]int32{1, 2}, 5, 6)
	if token != 3 || !isKnown || err != nil {
		t.Fatal(token, isKnown, err)
	}
	unknown, isKnown, err := storage.NextToken([]int32{50}, 5, 6)
	again, _, _ := storage.NextToken([]int32{51}, 5, 6)
	if unknown < 0 || unknown >= 100 || isKnown || err != nil || again != unknown {
		t.Fatal(unknown, again, isKnown, err)
	}
	if has, err := storage.HasGram([]int32{2, 3}); !has || err != nil {
		t.Fatal(has, err)
	}
	if has, err := storage.HasGram([]int32{4, 3}); has || err != nil {
		t.Fatal(has, err)
	}
	for _, c := range []struct {
		leastCount int
		leastShare float32
		wanted     []int32
	}{{0, 0, []int32{3, 1, 2, 3}}, {2, 0, []int32{3, 1, 2, 3}}, {3, 0, []int32{}},
		{0, 0.7, []int32{}}, {0, 0.6, []int32{3, 1, 2, 3}}} {
		found := proposed(t, storage.Ngram, []int32{1, 2}, c.leastCount, c.leastShare)
		if !reflect.DeepEqual(found, c.wanted) {
			t.Fatalf("%v, wanted %+v", found, c)
		}
	}
	stats, err := storage.Stats()
	if err != nil || stats.NumUpdates != 8 || stats.NumContexts != 6 || stats.NumDropped != 0 ||
		stats.MemoryBytes <= 0 {
		t.Fatalf("%+v %v", stats, err)
	}
	data, err := storage.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	copied := newStorage(t, NgramStorageOptions{Order: 3, VocabularySize: 100})
	if err := copied.Deserialize(data); err != nil {
		t.Fatal(err)
	}
	if found := proposed(t, copied.Ngram, []int32{1, 2}, 0, 0); found[0] != 3 {
		t.Fatal(found)
	}
	data[len(data)-1] ^= 1
	if err := copied.Deserialize(data); !errors.Is(err, ErrCorruptData) {
		t.Fatal(err)
	}
	// [3, 1] is followed by 2 twice, then three times by 9.
	if err := copied.Update([]int32{3, 1}, []int32{9, 9, 9}); err != nil {
		t.Fatal(err)
	}
	if token, _, _ := copied.NextToken([]int32{3, 1}, 0, 0); token != 9 {
		t.Fatal(token)
	}
	if err := copied.Reset(); err != nil {
		t.Fatal(err)
	}
	if found := proposed(t, copied.Ngram, []int32{1, 2}, 0, 0); len(found) != 0 {
		t.Fatal(found)
	}
	err = copied.Update([]int32{1}, []int32{100})
	if !errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), "100") {
		t.Fatal(err)
	}
	oneLevel := newStorage(t, NgramStorageOptions{Kind: NgramOneLevel, Order: 3, VocabularySize: 9})
	if err := oneLevel.Initialize([]int32{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	if has, _ := oneLevel.HasGram([]int32{2}); has {
		t.Fatal("it keeps one level alone")
	}
}

func TestNgramErrors(t *testing.T) {
	_, err := NewNgramStorage(NgramStorageOptions{Order: 17, VocabularySize: 10})
	if !errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), "order is 17") {
		t.Fatal(err)
	}
	_, err = NewNgramStorage(NgramStorageOptions{VocabularySize: 10, MemoryLimit: 1})
	if !errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), "memory_limit") {
		t.Fatal(err)
	}
	storage := newStorage(t, NgramStorageOptions{VocabularySize: 10})
	storage.Close()
	if err := storage.Reset(); err != ErrNgramClosed {
		t.Fatal(err)
	}
	storage.Close()
	var none *Ngram
	if _, err := none.HasGram(nil); err != ErrNgramClosed {
		t.Fatal(err)
	}
	if _, err := new(Ngram).HasGram(nil); err != ErrNgramClosed {
		t.Fatal(err)
	}
}

func TestPromptLookup(t *testing.T) {
	_, err := NewPromptLookup(PromptLookupOptions{MinMatch: 2, MaxMatch: 1, MaxTokens: 3,
		VocabularySize: 10})
	if !errors.Is(err, ErrInvalidArgument) || !strings.Contains(err.Error(), "max_match is 1") {
		t.Fatal(err)
	}
	lookup, err := NewPromptLookup(PromptLookupOptions{MinMatch: 2, MaxMatch: 3, MaxTokens: 8,
		VocabularySize: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer lookup.Close()
	if err := lookup.Append([]int32{1, 2, 3, 4, 1, 2}); err != nil {
		t.Fatal(err)
	}
	drafts := make([]int32, 3)
	n, err := lookup.ProposeNext(drafts)
	if n != 3 || err != nil || !reflect.DeepEqual(drafts, []int32{3, 4, 1}) {
		t.Fatal(n, drafts, err)
	}
	text := []int32{1, 2, 3, 4, 1, 2}
	if found := proposed(t, lookup.Ngram, text, 0, 0); !reflect.DeepEqual(found[:2], []int32{3, 4}) {
		t.Fatal(found)
	}
	if err := lookup.Append([]int32{1, 2, 3}); !errors.Is(err, ErrInvalidArgument) {
		t.Fatal(err)
	}
	if err := lookup.Reset(); err != nil {
		t.Fatal(err)
	}
	if n, err := lookup.ProposeNext(drafts); n != 0 || err != nil {
		t.Fatal(n, err)
	}
}

func TestPruneCount(t *testing.T) {
	target, drafter, missing, err := PruneCount(5, 2)
	if target != 3 || drafter != 2 || missing != 0 || err != nil {
		t.Fatal(target, drafter, missing, err)
	}
	if _, _, missing, _ = PruneCount(5, 5); missing != 1 {
		t.Fatal(missing)
	}
	if _, _, _, err = PruneCount(2, 3); !errors.Is(err, ErrInvalidArgument) {
		t.Fatal(err)
	}
}

// An n-gram storage's drafts change no text that SAMPLE_MATCH verifies.
func TestSessionsDraftFromNgrams(t *testing.T) {
	params := DefaultParams()
	params.Temperature = 0.1
	wanted := drawnAlone(t, []int32{1, 2, 3}, 40, 7, params)
	storage := newStorage(t, NgramStorageOptions{VocabularySize: sessionCols})
	if err := storage.Initialize(wanted.text); err != nil {
		t.Fatal(err)
	}
	session, caller := newSession(t, sessionOptions()), &sessionCaller{}
	args := AddArgs{TokenIDs: []int32{1, 2, 3}, Params: &params, Seed: 7, MaxNewTokens: 40,
		DraftSource: DraftsNgram, Ngram: storage.Ngram}
	first := addSequence(t, session, args)
	args.NgramLeastCount = 1 << 30
	second := addSequence(t, session, args)
	args.NgramLeastCount, args.NgramLeastShare, args.DraftUnknown = 0, 0, true
	third := addSequence(t, session, args)
	storage.Close() // the session holds it
	for caller.step(t, session, 0) {
	}
	for i, sequence := range []int{first, second, third} {
		found := sequenceOf(t, session, sequence)
		if !reflect.DeepEqual(found.TokenIDs, wanted.text) {
			t.Fatalf("%v, wanted %v", found.TokenIDs, wanted.text)
		}
		if (found.NumDrafted == 0) != (i == 1) || i == 0 && found.NumAccepted < 20 {
			t.Fatalf("%d: %+v", i, found)
		}
	}
	args.NgramLeastShare, args.DraftUnknown = 2, false
	if _, err := session.Add(&args); err != ErrNgramClosed {
		t.Fatal(err)
	}
	args.Ngram = newStorage(t, NgramStorageOptions{VocabularySize: sessionCols}).Ngram
	if _, err := session.Add(&args); !errors.Is(err, ErrInvalidArgument) ||
		!strings.Contains(err.Error(), "ngram_least_share") {
		t.Fatal(err)
	}
}

// Trees, and the rules of acceptance whose numbers are the session's.
func TestSessionsRulesAndTrees(t *testing.T) {
	options := sessionOptions()
	options.KeepDrafterRows, options.HasDraftTrees = true, true
	acceptance := AcceptanceParams{SyntheticRates: []float32{1, 1, 1},
		TypicalThreshold: 0.5, TypicalScale: 0.5, RelaxedTopK: 3, RelaxedDelta: 0.5,
		ThresholdSingle: 0.2, ThresholdTotal: 0.5,
		DeferredWindow: 1, DeferredTopK: 2, DeferredEntropy: 0.5}
	options.Acceptance = &acceptance
	params := DefaultParams()
	params.Temperature = 0.5
	wanted := drawnAlone(t, []int32{4, 5}, 30, 3, params)
	accepted := map[Acceptance]int{}
	for rule := AcceptDefault; rule <= AcceptSynthetic; rule++ {
		for _, topK := range []int{0, 2} {
			if topK > 0 && (rule == AcceptBlock || rule == AcceptDeferred) {
				continue
			}
			session, caller := newSession(t, options), &sessionCaller{}
			addSequence(t, session, AddArgs{TokenIDs: []int32{6}}) // whose spans come first
			sequence := addSequence(t, session, AddArgs{TokenIDs: []int32{4, 5}, Params: &params,
				Seed: 3, MaxNewTokens: 30, DraftSource: DraftsModel, Acceptance: rule,
				DraftTopK: topK})
			isTree := false
			for caller.step(t, session, 0) {
				for i, parent := range caller.plan.Parents {
					isTree = isTree || i%sessionDrafts == 1 && parent == -1 &&
						caller.plan.Spans[i/sessionDrafts].NumLogits > 2
				}
			}
			found := sequenceOf(t, session, sequence)
			if found.NumDrafted == 0 || len(found.TokenIDs) < 32 || isTree != (topK > 0) {
				t.Fatalf("rule %d, top-k %d, tree %t: %+v", rule, topK, isTree, found)
			}
			if (rule == AcceptDefault || rule == AcceptSampleMatch) && !reflect.DeepEqual(found.TokenIDs, wanted.text) {
				t.Fatalf("top-k %d: %v, wanted %v", topK, found.TokenIDs, wanted.text)
			}
			if topK == 0 {
				accepted[rule] = found.NumAccepted
			}
		}
	}
	// A draft of less than probability 1 is the last of its step.
	session, caller := newSession(t, options), &sessionCaller{}
	sequence := addSequence(t, session, AddArgs{TokenIDs: []int32{4, 5}, Params: &params,
		DraftSource: DraftsModel, LeastDraftProbability: 1})
	for caller.step(t, session, 0) {
	}
	if found := sequenceOf(t, session, sequence); found.NumDrafted == 0 ||
		found.NumDrafted > found.NumSteps {
		t.Fatalf("%+v", found)
	}
	// Rates of 1 take every draft.
	if accepted[AcceptSynthetic] <= accepted[AcceptStandard] {
		t.Fatal(accepted)
	}
	for name, change := range map[string]func(*AcceptanceParams){
		"sibling_rule":      func(p *AcceptanceParams) { p.SiblingRule = 1 },
		"draw_method":       func(p *AcceptanceParams) { p.DrawMethod = DrawGumbel },
		"typical_threshold": func(p *AcceptanceParams) { p.TypicalThreshold = -1 },
		"typical_scale":     func(p *AcceptanceParams) { p.TypicalScale = -1 },
		"relaxed_top_k":     func(p *AcceptanceParams) { p.RelaxedTopK = -1 },
		"relaxed_delta":     func(p *AcceptanceParams) { p.RelaxedDelta = -1 },
		"threshold_single":  func(p *AcceptanceParams) { p.ThresholdSingle = -1 },
		"threshold_total":   func(p *AcceptanceParams) { p.ThresholdTotal = -1 },
		"deferred_window":   func(p *AcceptanceParams) { p.DeferredWindow = -1 },
		"deferred_top_k":    func(p *AcceptanceParams) { p.DeferredTopK = -1 },
		"deferred_entropy":  func(p *AcceptanceParams) { p.DeferredEntropy = -1 },
	} {
		broken, numbers := options, acceptance
		change(&numbers)
		broken.Acceptance = &numbers
		s := newSampler(t, Options{MaxRows: 1, MaxCols: sessionCols})
		if _, err := s.NewSession(broken); !errors.Is(err, ErrInvalidArgument) ||
			!strings.Contains(err.Error(), "acceptance->"+name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	acceptance.SyntheticRates = []float32{1}
	s := newSampler(t, Options{MaxRows: 1, MaxCols: sessionCols})
	if _, err := s.SessionSize(options); err == nil || !strings.Contains(err.Error(), "needs 3") {
		t.Fatal(err)
	}
}

func TestSessionsAdaptTheNumberOfDrafts(t *testing.T) {
	clock := hooks.NewCounts()
	defer clock.Free()
	options := sessionOptions()
	options.HasAdaptiveGamma = true
	options.Clock, options.ClockUser = hooks.Clock, clock.User()
	wanted := drawnAlone(t, []int32{4, 5}, 30, 3, DefaultParams())
	drafted := map[GammaRule]int{}
	for _, rule := range []GammaRule{GammaFixed, GammaByEntropy, GammaMeasured} {
		session, caller := newSession(t, options), &sessionCaller{}
		args := AddArgs{TokenIDs: []int32{4, 5}, Seed: 3, MaxNewTokens: 30,
			DraftSource: DraftsModel, AdaptiveGamma: rule}
		if rule == GammaByEntropy {
			args.EmaBeta, args.GammaMin = 0.5, 1
		}
		sequence := addSequence(t, session, args)
		for caller.step(t, session, 0) {
		}
		found := sequenceOf(t, session, sequence)
		if !reflect.DeepEqual(found.TokenIDs, wanted.text) {
			t.Fatalf("rule %d: %v, wanted %v", rule, found.TokenIDs, wanted.text)
		}
		if drafted[rule] = found.NumDrafted; (clock.Calls() > 0) != (rule == GammaMeasured) {
			t.Fatalf("rule %d: %d calls of the clock", rule, clock.Calls())
		}
		args.EmaBeta = 1
		if _, err := session.Add(&args); !errors.Is(err, ErrInvalidArgument) {
			t.Fatal(err)
		}
		args.EmaBeta, args.GammaMin = 0, -1
		if _, err := session.Add(&args); !errors.Is(err, ErrInvalidArgument) {
			t.Fatal(err)
		}
	}
	if drafted[GammaByEntropy] >= drafted[GammaFixed] {
		t.Fatal(drafted)
	}
}

func TestHooks(t *testing.T) {
	memory, tasks := hooks.NewCounts(), hooks.NewCounts()
	defer memory.Free()
	defer tasks.Free()
	allocator := Allocator{hooks.Allocate, hooks.Deallocate, memory.User()}
	s, err := New(Options{MaxRows: 4, MaxCols: 5, NumThreads: 4, Allocator: allocator,
		ParallelFor: hooks.ParallelFor, ParallelForUser: tasks.User()})
	if err != nil {
		t.Fatal(err)
	}
	ofSampler := memory.Bytes()
	storage := newStorage(t, NgramStorageOptions{VocabularySize: 5, Allocator: allocator})
	ofStorage := memory.Bytes() - ofSampler
	lookup, err := NewPromptLookup(PromptLookupOptions{MaxTokens: 10, VocabularySize: 5,
		Allocator: allocator})
	if err != nil || ofSampler <= 0 || ofStorage <= 0 || memory.Bytes() <= ofSampler+ofStorage {
		t.Fatal(ofSampler, ofStorage, memory.Bytes(), err)
	}
	ids := make([]int32, 4)
	logits := []float32{0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0}
	err = s.Argmax(Rows{Values: F32(logits), NumRows: 4, NumCols: 5}, ids)
	if err != nil || !reflect.DeepEqual(ids, []int32{1, 0, 3, 2}) || tasks.Calls() == 0 {
		t.Fatal(ids, tasks.Calls(), err)
	}
	lookup.Close()
	storage.Close()
	s.Close()
	if memory.Bytes() != 0 {
		t.Fatal(memory.Bytes())
	}
}

func TestLog(t *testing.T) {
	var lines []string
	var levels []LogLevel
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 5, Log: func(level LogLevel, line string) {
		levels, lines = append(levels, level), append(lines, line)
	}})
	err := s.TopP(Rows{Values: F32(make([]float32, 5)), NumRows: 1, NumCols: 5}, float32(math.NaN()), 1, 0, 0,
		make([]int32, 1))
	_, sessionErr := s.NewSession(SessionOptions{})
	if err == nil || sessionErr == nil || len(lines) != 3 ||
		!reflect.DeepEqual(levels, []LogLevel{LogInfo, LogError, LogError}) ||
		!strings.Contains(err.Error(), lines[1]) || !strings.Contains(sessionErr.Error(), lines[2]) {
		t.Fatalf("%q %v %v %v", lines, levels, err, sessionErr)
	}
	_, err = New(Options{NumThreads: -1, Log: func(level LogLevel, line string) {
		lines = append(lines, line)
	}})
	if len(lines) != 4 || !strings.Contains(err.Error(), lines[3]) {
		t.Fatalf("%q %v", lines, err)
	}
}

// A Log that panics where a sampler is made leaves nothing of it behind, such as its threads.
func TestLogThatPanics(t *testing.T) {
	numThreads := func() int {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		return len(threads)
	}
	before := numThreads()
	for i := 0; i < 20; i++ {
		func() {
			defer func() { recover() }()
			New(Options{NumThreads: 8, Log: func(LogLevel, string) { panic("no log") }})
			t.Error("New has not panicked")
		}()
	}
	if after := numThreads(); after > before+100 {
		t.Errorf("%d threads are %d now", before, after)
	}
}
