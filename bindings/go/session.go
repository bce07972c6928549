package sampler

import (
	"errors"
	"runtime"
	"unsafe"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// ErrSessionClosed is returned by the methods of a Session that was closed, or was not made by
// NewSession.
var ErrSessionClosed = errors.New("sampler: the session is closed")

// SessionOptions are what a Session is made with.
type SessionOptions struct {
	// Sequences at once, finished ones that were not removed among them. In [1, 2^20].
	MaxSequences int

	// The longest text, its prompt included: what the target's cache can hold. In [1, 2^31). A
	// sequence takes 13 bytes for each token of it, and a few hundred bytes.
	MaxContext int

	// Columns of the logits, in [1, 2^20), and their type.
	VocabularySize int
	LogitsDtype    Dtype

	// The session keeps the drafter's rows, MaxDrafts rows of logits a sequence, which
	// AcceptStandard, AcceptBlock, AcceptRelaxed and AcceptDeferred need of a drafter's drafts.
	KeepDrafterRows bool

	// Drafts of a sequence and step at most, in [0, 1024]. 0: nothing is drafted.
	MaxDrafts int

	// The longest text that the drafter model's cache can hold; a longer one goes on without drafts.
	// 0: MaxContext.
	DrafterContext int

	// Room of each sequence's prompt lookup, which takes 132 bytes a token; a longer text goes on
	// without drafts. 0: no sequence has DraftsPromptLookup.
	LookupTokens int

	// A sequence has at most this many end tokens, stop sequences, and tokens of all its stop
	// sequences. In [0, 2^20].
	MaxEndTokens     int
	MaxStopSequences int
	MaxStopTokens    int

	// Log-probabilities of first tokens that Advance can be asked for, in [0, VocabularySize].
	MaxTopLogprobs int

	// What no sequence can have of its own: rules of ties, orders, scopes and forms, and the list of
	// stages. Its numbers are those of sequences that are added without parameters; GuidanceScale
	// must be off. nil: DefaultParams.
	Params *Params

	// Lists and masks of the stages, by slot: the slot is the sequence's number, of MaxSequences.
	// nil: none. The struct is copied; its slices are read in each Advance. History, PromptLengths,
	// AdaptiveValues, State and TokenBitmaskIndices must be left out: the session's texts are the
	// history; and GuidanceLogits, which AdvanceArgs have. Where Stop is left out it is the end tokens
	// of each sequence.
	Pipeline *Pipeline

	// How drafts are accepted: the rule of sequences that name none, and the numbers of the rules,
	// where the most drafts of a sequence are MaxDrafts. Copied. AcceptDefault, and nil:
	// AcceptSampleMatch.
	Acceptance *AcceptanceParams

	// Sequences may have DraftTopK.
	HasDraftTrees bool

	// Sequences may have AdaptiveGamma, which takes a row of f32 and 20 KB.
	HasAdaptiveGamma bool

	// GammaMeasured: the address of a C function, a sampler_clock_fn, and what it gets as its user. 0:
	// the system's monotonic clock.
	Clock     uintptr
	ClockUser uintptr

	// CUDA: the stream of all of the session's work, in whose order logits are read, a cudaStream_t;
	// it outlives the session. 0 is the legacy default stream.
	Stream uintptr

	// What n-grams learn of each new position: this many of the target's likeliest tokens, and then,
	// where it is not among them, the token that came. In [0, 2^20); 0: the token that came alone.
	FillerTopK int

	// Sequences may have Unmask, with blocks of at most MaxDrafts + 1 positions, at about 50 bytes a
	// position of each sequence.
	HasBlocks bool

	// Blocks: the rows whose log-probabilities and entropies are the confidences.
	ConfidenceKind LogprobKind
}

// Session is sequences that come and go while others run, around models that the caller runs:
//
//	session.Add(args)          at any time, and Remove and Fork
//
//	session.Plan(args, plan)   in each step: which tokens to run
//	...                        the caller runs the models
//	session.Advance(args)      logits in, new tokens out
//
// A sequence is a text with its own parameters, seed, limits and drafts. It has a number in [0,
// MaxSequences), which callers may use for their caches. With AcceptSampleMatch its n-th new token,
// from 0, is what Sample draws for its text with its seed, offset n and stream 0. It does not depend
// on the other sequences, on how spans are batched, or on drafts.
//
// Its calls are calls of its Sampler, and wait for that one's other calls. On a CUDA sampler logits and
// the arrays of the Pipeline are device memory, all else is slices, and Advance waits for the stream
// of the options. A call that fails changes nothing.
type Session struct {
	sampler *Sampler
	handle  uintptr // 0 when closed; under the sampler's mutex

	maxSequences, maxDrafts, vocabularySize int64
	hasDraftTrees                           bool
	hasBlock                                []bool // by sequence; nil without HasBlocks
	logitsDtype                             Dtype
	pipeline                                Pipeline // keeps its slices
	ngrams                                  map[*Ngram]struct{}

	memory struct {
		add                       raw.SessionAddArgs
		unmask                    raw.UnmaskParams
		fork                      raw.SessionForkArgs
		sequence, resumed         raw.SessionSequence
		plan                      raw.SessionPlanArgs
		advance                   raw.SessionAdvanceArgs
		spans, drafterSpans       []raw.Span
		numSpans, numDrafterSpans int64
		stopOffsets               []int64
		stopTokenIDs              []int32
	}
}

// raw makes what C gets in *memory.
func (o *SessionOptions) raw(c *check, memory *raw.SessionOptions) uintptr {
	*memory = raw.SessionOptions{
		StructSize:       unsafe.Sizeof(*memory),
		MaxSequences:     int64(o.MaxSequences),
		MaxContext:       int64(o.MaxContext),
		VocabularySize:   int64(o.VocabularySize),
		LogitsDtype:      int32(o.LogitsDtype),
		KeepDrafterRows:  flag(o.KeepDrafterRows),
		MaxDrafts:        int64(o.MaxDrafts),
		DrafterContext:   int64(o.DrafterContext),
		LookupTokens:     int64(o.LookupTokens),
		MaxEndTokens:     int64(o.MaxEndTokens),
		MaxStopSequences: int64(o.MaxStopSequences),
		MaxStopTokens:    int64(o.MaxStopTokens),
		MaxTopLogprobs:   int64(o.MaxTopLogprobs),
		Params:           c.params(o.Params),
		Pipeline: c.pipeline(o.Pipeline, &Rows{NumCols: o.VocabularySize},
			int64(o.MaxSequences), 0),
		Acceptance:       c.acceptance(&c.sampler.memory.acceptance, o.Acceptance, int64(o.MaxDrafts)),
		HasDraftTrees:    flag(o.HasDraftTrees),
		HasAdaptiveGamma: flag(o.HasAdaptiveGamma),
		Clock:            o.Clock,
		ClockUser:        o.ClockUser,
		Stream:           o.Stream,
		FillerTopK:       int64(o.FillerTopK),
		HasBlocks:        flag(o.HasBlocks),
		ConfidenceKind:   int32(o.ConfidenceKind),
	}
	return raw.Address(memory)
}

// NewSession makes an empty session and takes all of its memory. It is released by Close, by that of
// the sampler, or when nothing refers to it any more. It keeps the sampler from being collected.
//
// Errors: ErrInvalidArgument, ErrOutOfMemory, ErrCUDA.
func (s *Sampler) NewSession(options SessionOptions) (*Session, error) {
	c, err := s.begin("NewSession", false, false)
	if err != nil {
		return nil, err
	}
	defer s.mutex.Unlock()
	var memory raw.SessionOptions
	address := options.raw(&c, &memory)
	if err := c.broken(); err != nil {
		return nil, err
	}
	handle := raw.ShimSessionCreate(s.handle, address)
	runtime.KeepAlive(&memory)
	runtime.KeepAlive(options)
	if handle == 0 {
		return nil, s.failure(c.op)
	}
	if s.sessions == nil {
		s.sessions = map[uintptr]map[*Ngram]struct{}{}
	}
	session := &Session{
		sampler:        s,
		ngrams:         map[*Ngram]struct{}{},
		handle:         handle,
		maxSequences:   int64(options.MaxSequences),
		maxDrafts:      int64(options.MaxDrafts),
		vocabularySize: int64(options.VocabularySize),
		hasDraftTrees:  options.HasDraftTrees,
		logitsDtype:    options.LogitsDtype,
	}
	if options.HasBlocks {
		session.hasBlock = make([]bool, options.MaxSequences)
	}
	if options.Pipeline != nil {
		session.pipeline = *options.Pipeline
	}
	s.sessions[handle] = session.ngrams
	runtime.SetFinalizer(session, (*Session).Close)
	return session, nil
}

// SessionSize returns the bytes of memory that a session with these options takes.
func (s *Sampler) SessionSize(options SessionOptions) (int, error) {
	c, err := s.begin("SessionSize", false, false)
	if err != nil {
		return 0, err
	}
	defer s.mutex.Unlock()
	var memory raw.SessionOptions
	address := options.raw(&c, &memory)
	if err := c.broken(); err != nil {
		return 0, err
	}
	result, err := c.result(raw.ShimSessionSize(s.handle, address))
	runtime.KeepAlive(&memory)
	runtime.KeepAlive(options)
	return result, err
}

// broken is the first rule of Go's side that the arguments break; nil where there is none.
func (c *check) broken() error {
	if c.closed {
		return ErrStateClosed
	}
	if c.err != nil {
		return c.err
	}
	return nil
}

// Close releases the session's memory. It waits for a call that is under way. Closing again, or
// after the sampler, does nothing. It never fails; the error is for io.Closer.
func (session *Session) Close() error {
	if session == nil || session.sampler == nil {
		return nil
	}
	s := session.sampler
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if session.handle != 0 {
		if _, isAlive := s.sessions[session.handle]; isAlive {
			closeSession(session.handle, session.ngrams)
			delete(s.sessions, session.handle)
		}
		session.handle = 0
		runtime.SetFinalizer(session, nil)
	}
	return nil
}

// closeSessions is part of closing a sampler.
func (s *Sampler) closeSessions() {
	for handle, ngrams := range s.sessions {
		closeSession(handle, ngrams)
	}
	s.sessions = nil
}

func closeSession(handle uintptr, ngrams map[*Ngram]struct{}) {
	raw.ShimSessionDestroy(handle)
	for ngram := range ngrams {
		ngram.letGo()
	}
}

// begin locks the session's sampler for a call. Unless it fails, the caller unlocks.
func (session *Session) begin(op string, argsAreNil bool) (check, error) {
	if session == nil || session.sampler == nil {
		return check{}, ErrSessionClosed
	}
	c, err := session.sampler.begin(op, argsAreNil, false)
	if err == nil && session.handle == 0 {
		session.sampler.mutex.Unlock()
		err = ErrSessionClosed
	}
	return c, err
}

// AddArgs are the arguments of Session.Add.
type AddArgs struct {
	// The text so far, of 1 to MaxContext tokens of the vocabulary. The first PromptLength are the
	// prompt, and the others its new tokens, as of a sequence that was removed and goes on here; 0:
	// all are the prompt.
	TokenIDs     []int32
	PromptLength int

	// How many of these tokens the target's and the drafter's caches hold already; the target's
	// fewer than there are.
	CacheLength        int
	DrafterCacheLength int

	// nil: the session's. Rules of ties, orders, scopes, forms and stages must be the session's.
	Params *Params
	Seed   uint64

	// New tokens at most, in [0, 2^31); 0: as many as MaxContext leaves.
	MaxNewTokens int

	// Tokens that end the text.
	EndTokenIDs []int32

	// Sequences of tokens that end the text where its new tokens end in one; none may be empty.
	StopSequences [][]int32

	DraftSource DraftSource

	// The rule that its drafts are accepted by. AcceptDefault: the session's.
	Acceptance Acceptance

	// Drafts a step at most, in [0, MaxDrafts]; 0: MaxDrafts.
	NumDrafts int

	// DraftsPromptLookup: the shortest match, in [0, 2^27]; 0: 1.
	MinMatch int

	// The n-grams of DraftsNgram. They learn the text now, unless NgramHasText, and later each new token, and must
	// not be called while a call of the session runs. Close of it waits for that of the session.
	Ngram        *Ngram
	NgramHasText bool // it has learned these tokens, as those of a sequence that was removed

	// DraftsNgram: an unknown context is followed by the draft that the n-grams give for it; else by
	// none.
	DraftUnknown bool

	// DraftsNgram without DraftUnknown: drafts end before the first that was counted fewer than
	// NgramLeastCount times after its context, or whose share of what followed there is below
	// NgramLeastShare, in [0, 1]. 0: off.
	NgramLeastCount int
	NgramLeastShare float32

	// DraftsModel, in [0, 1]: a draft to which the drafter's row gives less than this probability is
	// the last of its step. 0: off.
	LeastDraftProbability float32

	// How many drafts a step gets, NumDrafts at most, with HasAdaptiveGamma of the session. By
	// entropy, of DraftsModel without DraftTopK: from GammaMin, in [0, NumDrafts], on, with the
	// entropy smoothed by EmaBeta, in [0, 1).
	AdaptiveGamma GammaRule
	EmaBeta       float32
	GammaMin      int

	// DraftsModel, with HasDraftTrees of the session, in [0, NumDrafts]. 0: drafts are drawn, one a
	// position. Else they are the drafter's DraftTopK likeliest tokens of each position: the first
	// goes on, the others hang beside it, and the target runs them as a tree, as Plan.Parents says.
	DraftTopK int

	// What Get gave of a removed sequence, of this session or of another one, which goes on here.
	// Its AdaptiveValues and DrafterEntropy go on, without which the next tokens may be others, and
	// its NumSteps, NumDrafted and NumAccepted; nothing else is read. nil: a new one.
	Resumed *Sequence

	// For a diffusion language model, whose text grows by blocks: the rules by which candidates stand,
	// with HasBlocks of the session. BlockLength is in [1, MaxDrafts + 1], and Confidence is not
	// ConfidenceGiven. Without NumCommitted, NumStepsLeft and EntropyBound NumCommitted is 1. nil: the
	// text grows by tokens.
	//
	// A span ends with the block, masked positions included, and has a row for each of its positions
	// after the text. An Advance draws their candidates, of which the rules commit some. The text
	// grows once no position is masked; with EditThreshold once a later step changes nothing, the
	// 16th at the latest. The last block ends at MaxContext, or beyond MaxNewTokens. Caches hold whole
	// blocks of the text: each is fed again with the next one. A step without a candidate that may
	// stand finishes the sequence, FinishBadRow. The n-th new token, from 0, is drawn with the offset
	// n, in step s of its block, from 0, with the stream s.
	//
	// Penalties, bad words and contexts of biases see the text before the block. DRY, n-grams that
	// must not repeat, MinNewTokens, the exponential decay, mirostat, adaptive-p and the decay of
	// top-p must be off, DraftSource must be DraftsNone, and log-probabilities are not reported.
	Unmask *UnmaskParams
}

// Add adds a sequence and returns its number. It may have finished already: where no token may
// follow. Where the session has MaxSequences, it is ErrInvalidArgument.
func (session *Session) Add(args *AddArgs) (int, error) {
	c, err := session.begin("Add", args == nil)
	if err != nil {
		return 0, err
	}
	defer c.sampler.mutex.Unlock()
	memory := &session.memory.add
	*memory = raw.SessionAddArgs{
		StructSize:         unsafe.Sizeof(*memory),
		TokenIDs:           uintptr(raw.Memory(args.TokenIDs)),
		NumTokens:          int64(len(args.TokenIDs)),
		PromptLength:       int64(args.PromptLength),
		CacheLength:        int64(args.CacheLength),
		DrafterCacheLength: int64(args.DrafterCacheLength),
		Params:             c.params(args.Params),
		Seed:               args.Seed,
		MaxNewTokens:       int64(args.MaxNewTokens),
		EndTokenIDs:        uintptr(raw.Memory(args.EndTokenIDs)),
		NumEndTokens:       int64(len(args.EndTokenIDs)),
		StopSequences:      c.stops(session, args.StopSequences),
		DraftSource:        int32(args.DraftSource),
		Acceptance:         int32(args.Acceptance),
		NumDrafts:          int64(args.NumDrafts),
		MinMatch:           int64(args.MinMatch),

		DraftUnknown:          flag(args.DraftUnknown),
		NgramLeastCount:       int64(args.NgramLeastCount),
		NgramLeastShare:       args.NgramLeastShare,
		LeastDraftProbability: args.LeastDraftProbability,
		DraftTopK:             int64(args.DraftTopK),
		AdaptiveGamma:         int32(args.AdaptiveGamma),
		EmaBeta:               args.EmaBeta,
		GammaMin:              int64(args.GammaMin),
		NgramHasText:          flag(args.NgramHasText),
		Unmask:                c.unmaskParams(&session.memory.unmask, args.Unmask),
	}
	if resumed := args.Resumed; resumed != nil {
		session.memory.resumed = raw.SessionSequence{
			StructSize:     unsafe.Sizeof(session.memory.resumed),
			NumSteps:       int64(resumed.NumSteps),
			NumDrafted:     int64(resumed.NumDrafted),
			NumAccepted:    int64(resumed.NumAccepted),
			AdaptiveValues: resumed.AdaptiveValues,
			DrafterEntropy: resumed.DrafterEntropy,
		}
		memory.Resumed = raw.Address(&session.memory.resumed)
	}
	if args.Ngram != nil {
		if memory.Ngram = args.Ngram.hold(); memory.Ngram == 0 {
			return 0, ErrNgramClosed
		}
		defer args.Ngram.letGo()
	}
	if err := c.broken(); err != nil {
		return 0, err
	}
	sequence, err := c.result(
		raw.ShimSessionAdd(c.sampler.handle, session.handle, raw.Address(memory)))
	if _, isKnown := session.ngrams[args.Ngram]; err == nil && args.Ngram != nil && !isKnown {
		args.Ngram.hold()
		session.ngrams[args.Ngram] = struct{}{}
	}
	if err == nil && session.hasBlock != nil {
		session.hasBlock[sequence] = args.Unmask != nil
	}
	runtime.KeepAlive(session)
	runtime.KeepAlive(args)
	return sequence, err
}

// stops is what C gets of stop sequences, in the session's memory.
func (c *check) stops(session *Session, sequences [][]int32) raw.TokenLists {
	if len(sequences) == 0 {
		return raw.TokenLists{}
	}
	memory := &session.memory
	memory.stopOffsets = append(memory.stopOffsets[:0], 0)
	memory.stopTokenIDs = memory.stopTokenIDs[:0]
	for i, sequence := range sequences {
		if len(sequence) == 0 {
			c.fail("stop_sequences[%d] has no token; it must have one", i)
		}
		memory.stopTokenIDs = append(memory.stopTokenIDs, sequence...)
		memory.stopOffsets = append(memory.stopOffsets, int64(len(memory.stopTokenIDs)))
	}
	return raw.TokenLists{
		Offsets:     uintptr(raw.Memory(memory.stopOffsets)),
		TokenIDs:    uintptr(raw.Memory(memory.stopTokenIDs)),
		NumLists:    int64(len(sequences)),
		NumTokenIDs: int64(len(memory.stopTokenIDs)),
	}
}

// ForkArgs are the arguments of Session.Fork.
type ForkArgs struct {
	// The sequence that is forked; it goes on as if nothing had been.
	Source int

	// nil: the source's, with which its text comes again.
	Seed   *uint64
	Params *Params
}

// Fork adds a copy of a sequence, drafts of the step apart, and returns its number. The caller
// copies the caches, cut to Get's lengths.
func (session *Session) Fork(args *ForkArgs) (int, error) {
	c, err := session.begin("Fork", args == nil)
	if err != nil {
		return 0, err
	}
	defer c.sampler.mutex.Unlock()
	memory := &session.memory.fork
	*memory = raw.SessionForkArgs{
		StructSize: unsafe.Sizeof(*memory),
		Source:     clamped(args.Source),
		Params:     c.params(args.Params),
	}
	if args.Seed != nil {
		memory.Seed = raw.Address(args.Seed)
	}
	if err := c.broken(); err != nil {
		return 0, err
	}
	sequence, err := c.result(
		raw.ShimSessionFork(c.sampler.handle, session.handle, raw.Address(memory)))
	if err == nil && session.hasBlock != nil {
		session.hasBlock[sequence] = session.hasBlock[args.Source]
	}
	runtime.KeepAlive(session)
	runtime.KeepAlive(args)
	return sequence, err
}

// Remove removes a sequence, finished or not, planned or not. Its number may be given to another
// one.
func (session *Session) Remove(sequence int) error {
	c, err := session.begin("Remove", false)
	if err != nil {
		return err
	}
	defer c.sampler.mutex.Unlock()
	_, err = c.result(
		raw.ShimSessionRemove(c.sampler.handle, session.handle, clamped(sequence)))
	runtime.KeepAlive(session)
	return err
}

// Sequence is what a session knows of one.
type Sequence struct {
	TokenIDs     []int32 // a copy of the text, the prompt first
	PromptLength int

	// How much of the text the caches hold.
	CacheLength        int
	DrafterCacheLength int

	FinishReason FinishReason // FinishNone: it runs
	RowStatus    RowStatus    // of FinishBadRow: why
	StopSequence int          // of FinishStopSequence: which, from 0; else -1

	NumSteps    int // that gave a token
	NumDrafted  int
	NumAccepted int

	// False: there are no drafts any more, since its text or its n-grams had no room.
	IsDrafting bool

	// Beside the text, what the next tokens go by; AddArgs.Resumed takes it. The values of the
	// adaptive stages, as in Pipeline: NaN where one has not begun. By GammaByEntropy the entropy of
	// the steps, in nats, smoothed by EmaBeta; NaN before the first.
	AdaptiveValues [4]float32
	DrafterEntropy float64
}

// Get returns what there is of a sequence.
func (session *Session) Get(sequence int) (Sequence, error) {
	c, err := session.begin("Get", false)
	if err != nil {
		return Sequence{}, err
	}
	defer c.sampler.mutex.Unlock()
	memory := &session.memory.sequence
	*memory = raw.SessionSequence{StructSize: unsafe.Sizeof(*memory)}
	_, err = c.result(raw.ShimSessionGet(c.sampler.handle, session.handle, clamped(sequence),
		raw.Address(memory)))
	if err != nil {
		return Sequence{}, err
	}
	text := raw.AppendInts(nil, memory.TokenIDs, memory.NumTokens)
	runtime.KeepAlive(session)
	return Sequence{
		TokenIDs:           text,
		PromptLength:       int(memory.PromptLength),
		CacheLength:        int(memory.CacheLength),
		DrafterCacheLength: int(memory.DrafterCacheLength),
		FinishReason:       FinishReason(memory.FinishReason),
		RowStatus:          RowStatus(memory.RowStatus),
		StopSequence:       int(memory.StopSequence),
		NumSteps:           int(memory.NumSteps),
		NumDrafted:         int(memory.NumDrafted),
		NumAccepted:        int(memory.NumAccepted),
		IsDrafting:         memory.IsDrafting != 0,
		AdaptiveValues:     memory.AdaptiveValues,
		DrafterEntropy:     memory.DrafterEntropy,
	}, nil
}

// Span is tokens to run through a model; a Plan has them. Advance refuses one that was changed.
type Span struct {
	Sequence int // whose tokens they are
	Plan     int // which plan of the session it is of

	// The length that the cache must have: what it holds beyond is cut off.
	Start int

	// One token at least; the last ones may be drafts, or a block. Part of the plan's.
	TokenIDs []int32

	// How many rows of logits Advance wants: those that follow the last NumLogits tokens. May be 0: a
	// part of a long text.
	NumLogits int

	// Spans of the target, in a session with HasDraftTrees: what each of its drafts, the last
	// len(Parents) tokens, follows, a lower one of them, -1 the text. Part of the plan's.
	Parents []int32
}

// PlanArgs are the arguments of Session.Plan.
type PlanArgs struct {
	// Which sequences, none twice, in the order in which they get of MaxTokens. Finished ones are
	// passed over. nil: all.
	Sequences []int32

	// Tokens of all spans of a model at most; 0: no limit. Else at least MaxDrafts + 1. Longer texts
	// are planned in parts. A sequence that there is no room for gets no span; without Sequences it
	// is among the first next time.
	MaxTokens int
}

// Plan is what to run in a step. One that is kept from step to step takes memory in the first ones
// alone.
type Plan struct {
	// A sequence has a span of one of the two models: of the drafter where it needs a draft.
	Spans        []Span
	DrafterSpans []Span

	// The tokens of all spans, one span after the other, as a model may take them.
	TokenIDs        []int32
	DrafterTokenIDs []int32

	// [Spans, MaxDrafts] Of a session with HasDraftTrees: those of each span, then -1. In a tree
	// drafts see those that they follow, and not the others; their positions in the text are their
	// depths. The first path comes first, so that a cache that is cut holds the text: a kept draft
	// beside that path is fed again.
	Parents []int32
}

// resized is the same memory where that is large enough.
func resized[T any](s []T, length int) []T {
	if cap(s) < length {
		return make([]T, length)
	}
	return s[:length]
}

// rawSpans are spans for C, in *memory.
func rawSpans(memory *[]raw.Span, spans []Span) uintptr {
	*memory = (*memory)[:0]
	for i := range spans {
		span := &spans[i]
		*memory = append(*memory, raw.Span{
			Sequence:  clamped(span.Sequence),
			Plan:      clamped(span.Plan),
			Start:     int64(span.Start),
			TokenIDs:  uintptr(raw.Memory(span.TokenIDs)),
			NumTokens: int64(len(span.TokenIDs)),
			NumLogits: int64(span.NumLogits),
		})
	}
	return uintptr(raw.Memory(*memory))
}

// planned are spans of C, and the tokens of all.
func planned(of []raw.Span, spans []Span, tokenIDs []int32) ([]Span, []int32) {
	spans, tokenIDs = spans[:0], tokenIDs[:0]
	for i := range of {
		tokenIDs = raw.AppendInts(tokenIDs, of[i].TokenIDs, of[i].NumTokens)
	}
	rest := tokenIDs
	for i := range of {
		span, count := &of[i], of[i].NumTokens
		spans = append(spans, Span{
			Sequence:  int(span.Sequence),
			Plan:      int(span.Plan),
			Start:     int(span.Start),
			TokenIDs:  rest[:count:count],
			NumLogits: int(span.NumLogits),
		})
		rest = rest[count:]
	}
	return spans, tokenIDs
}

// Plan returns what to run. Planning again without having advanced is fine; the last plan of a
// sequence counts. Where it fails the plan is empty.
func (session *Session) Plan(args *PlanArgs, plan *Plan) error {
	c, err := session.begin("Plan", args == nil)
	if err != nil {
		return err
	}
	defer c.sampler.mutex.Unlock()
	if plan == nil {
		return &Error{c.op, ErrInvalidArgument, "plan is nil; it is required"}
	}
	memory := &session.memory
	memory.spans = resized(memory.spans, int(session.maxSequences))
	memory.drafterSpans = resized(memory.drafterSpans, int(session.maxSequences))
	memory.numSpans, memory.numDrafterSpans = 0, 0
	plan.Parents = plan.Parents[:0]
	if session.hasDraftTrees {
		plan.Parents = resized(plan.Parents, int(session.maxSequences*session.maxDrafts))
	}
	memory.plan = raw.SessionPlanArgs{
		StructSize:         unsafe.Sizeof(memory.plan),
		Sequences:          uintptr(raw.Memory(args.Sequences)),
		NumSequences:       int64(len(args.Sequences)),
		MaxTokens:          int64(args.MaxTokens),
		OutSpans:           uintptr(raw.Memory(memory.spans)),
		OutNumSpans:        raw.Address(&memory.numSpans),
		OutDrafterSpans:    uintptr(raw.Memory(memory.drafterSpans)),
		OutNumDrafterSpans: raw.Address(&memory.numDrafterSpans),
	}
	if len(plan.Parents) > 0 {
		memory.plan.OutParents = uintptr(raw.Memory(plan.Parents))
	}
	_, err = c.result(
		raw.ShimSessionPlan(c.sampler.handle, session.handle, raw.Address(&memory.plan)))
	if err != nil {
		memory.numSpans, memory.numDrafterSpans = 0, 0
	}
	plan.Spans, plan.TokenIDs = planned(memory.spans[:memory.numSpans], plan.Spans, plan.TokenIDs)
	plan.DrafterSpans, plan.DrafterTokenIDs = planned(memory.drafterSpans[:memory.numDrafterSpans],
		plan.DrafterSpans, plan.DrafterTokenIDs)
	if len(plan.Parents) > 0 {
		plan.setParents(int(session.maxDrafts), session.hasBlock)
	}
	runtime.KeepAlive(session)
	runtime.KeepAlive(args)
	return err
}

// setParents gives each span its part of those of all; a block has none.
func (plan *Plan) setParents(maxDrafts int, hasBlock []bool) {
	plan.Parents = plan.Parents[:len(plan.Spans)*maxDrafts]
	for i := range plan.Spans {
		if span := &plan.Spans[i]; span.NumLogits > 0 && (hasBlock == nil || !hasBlock[span.Sequence]) {
			first, count := i*maxDrafts, span.NumLogits-1
			span.Parents = plan.Parents[first : first+count : first+count]
		}
	}
}

// AdvanceArgs are the arguments of Session.Advance.
type AdvanceArgs struct {
	// Spans that the target ran, as planned last: any of them, in any order.
	Spans []Span

	// Their rows of logits, span after span: [sum of NumLogits, VocabularySize]. The stride is in
	// elements; 0: VocabularySize.
	Logits          Data
	LogitsRowStride int

	// The same of the drafter.
	DrafterSpans     []Span
	DrafterLogits    Data
	DrafterRowStride int

	// [rows of logits] With masks in the session's Pipeline: the mask of each row of the target,
	// which follows the text and the drafts before it; negative: none. Else left out.
	TokenBitmaskIndices []int32

	// [rows of logits] The token that is decided at each row of the target whatever its logits, as
	// where a thinking budget runs out among the drafts; negative: none, as rows of blocks must be.
	// Left out: none.
	ForcedTokenIDs []int32

	// Classifier-free guidance: [NumGuidanceRows, VocabularySize] rows as in Pipeline, with the type
	// and stride of Logits, from a cache with another prompt, to which the caller feeds each span's
	// new tokens and drafts. Required where a sequence with rows has GuidanceScale on.
	// NumGuidanceRows is for device memory; 0 is how many rows the slice has.
	GuidanceLogits  Data
	NumGuidanceRows int

	// [rows of logits] The guidance row of each row of the target; negative: none. Left out: the row
	// of the same number.
	GuidanceRowIndices []int32

	// What follows is by span of the target; all but OutTokenIDs and OutCounts may be left out.

	// [spans, MaxDrafts + 1] New tokens, then -1; and how many. A span without logits, or whose block
	// is not complete, has none.
	OutTokenIDs []int32
	OutCounts   []int64

	// Not FinishNone: the sequence has finished, and is not planned any more.
	OutFinishReasons []FinishReason

	// To which lengths to cut the caches. Drafts that were not kept are cut off.
	OutCacheLengths        []int64
	OutDrafterCacheLengths []int64

	// Drafts that became text.
	OutAcceptedCounts []int64

	// FinishBadRow: why; else 0.
	OutRowStatus []RowStatus

	// What else is reported of the new tokens.
	Reports SessionReports
}

// SessionReports are what Session.Advance reports of new tokens beside their ids.
type SessionReports struct {
	// The distribution of the log-probabilities.
	LogprobKind LogprobKind

	// [spans, MaxDrafts + 1] Of the new tokens; then NaN.
	OutLogprobs []float32

	// [spans, MaxDrafts + 1, NumTopLogprobs] The first tokens in rank order, and their
	// log-probabilities; then -1 and NaN. NumTopLogprobs is in [0, MaxTopLogprobs].
	NumTopLogprobs int
	OutTopTokenIDs []int32
	OutTopLogprobs []float32
}

// sessionReports returns the address of C's reports, with room for `places` tokens.
func (c *check) sessionReports(r *SessionReports, places int64) uintptr {
	numTop := product(places, int64(r.NumTopLogprobs))
	memory := &c.sampler.memory.reports
	*memory = raw.ReportArgs{
		StructSize:     unsafe.Sizeof(*memory),
		LogprobKind:    int32(r.LogprobKind),
		OutLogprobs:    hostArray(c, "reports->out_logprobs", r.OutLogprobs, places),
		NumTopLogprobs: int64(r.NumTopLogprobs),
		OutTopTokenIDs: hostArray(c, "reports->out_top_token_ids", r.OutTopTokenIDs, numTop),
		OutTopLogprobs: hostArray(c, "reports->out_top_logprobs", r.OutTopLogprobs, numTop),
	}
	return raw.Address(memory)
}

// logits is where the spans' rows are, and how many there are.
func (c *check) logits(session *Session, name string, logits *Data, stride int,
	spans []Span) (uintptr, int64) {
	rows := int64(0)
	for i := range spans {
		rows += int64(spans[i].NumLogits)
	}
	if rows > 0 {
		c.logitsDtype(session, name, logits)
	}
	return c.array("", name, logits.array, extent(rows, session.vocabularySize, int64(stride))), rows
}

func (c *check) logitsDtype(session *Session, name string, logits *Data) {
	if logits.place != absent && logits.dtype != session.logitsDtype {
		c.fail("%s is of dtype %d; LogitsDtype of the session is %d", name, logits.dtype,
			session.logitsDtype)
	}
}

// guidance is where the rows are, laid out like logits, and how many there are.
func (c *check) guidance(session *Session, args *AdvanceArgs) (uintptr, int64) {
	const name = "guidance_logits"
	c.logitsDtype(session, name, &args.GuidanceLogits)
	return c.table("", name, args.GuidanceLogits.array, int64(args.NumGuidanceRows),
		firstNonzero(int64(args.LogitsRowStride), session.vocabularySize))
}

// Advance takes logits: the drafter's become drafts, the target's verify drafts and become tokens. A
// row without a token (NaN, +inf, all -inf) finishes its sequence, FinishBadRow, with what came
// before it; a bad row of the drafter only ends the drafts of its step. A span that is not as its
// sequence was planned last is ErrInvalidArgument.
func (session *Session) Advance(args *AdvanceArgs) error {
	c, err := session.begin("Advance", args == nil)
	if err != nil {
		return err
	}
	defer c.sampler.mutex.Unlock()
	logits, rows := c.logits(session, "logits", &args.Logits, args.LogitsRowStride, args.Spans)
	drafterLogits, _ := c.logits(session, "drafter_logits", &args.DrafterLogits,
		args.DrafterRowStride, args.DrafterSpans)
	guidance, numGuidanceRows := c.guidance(session, args)
	spans := int64(len(args.Spans))
	places := product(spans, session.maxDrafts+1)
	memory := &session.memory.advance
	*memory = raw.SessionAdvanceArgs{
		StructSize:          unsafe.Sizeof(*memory),
		Spans:               rawSpans(&session.memory.spans, args.Spans),
		NumSpans:            spans,
		Logits:              logits,
		LogitsRowStride:     int64(args.LogitsRowStride),
		DrafterSpans:        rawSpans(&session.memory.drafterSpans, args.DrafterSpans),
		NumDrafterSpans:     int64(len(args.DrafterSpans)),
		DrafterLogits:       drafterLogits,
		DrafterRowStride:    int64(args.DrafterRowStride),
		TokenBitmaskIndices: hostArray(&c, "token_bitmask_indices", args.TokenBitmaskIndices, rows),
		ForcedTokenIDs:      hostArray(&c, "forced_token_ids", args.ForcedTokenIDs, rows),
		OutTokenIDs:         hostArray(&c, "out_token_ids", args.OutTokenIDs, places),
		OutCounts:           hostArray(&c, "out_counts", args.OutCounts, spans),
		OutFinishReasons:    hostArray(&c, "out_finish_reasons", args.OutFinishReasons, spans),
		OutCacheLengths:     hostArray(&c, "out_cache_lengths", args.OutCacheLengths, spans),
		OutDrafterCacheLengths: hostArray(&c, "out_drafter_cache_lengths",
			args.OutDrafterCacheLengths, spans),
		OutAcceptedCounts:  hostArray(&c, "out_accepted_counts", args.OutAcceptedCounts, spans),
		OutRowStatus:       hostArray(&c, "out_row_status", args.OutRowStatus, spans),
		Reports:            c.sessionReports(&args.Reports, places),
		GuidanceLogits:     guidance,
		NumGuidanceRows:    numGuidanceRows,
		GuidanceRowIndices: hostArray(&c, "guidance_row_indices", args.GuidanceRowIndices, rows),
	}
	if err := c.broken(); err != nil {
		return err
	}
	_, err = c.result(
		raw.ShimSessionAdvance(c.sampler.handle, session.handle, raw.Address(memory)))
	runtime.KeepAlive(session)
	runtime.KeepAlive(args)
	return err
}
