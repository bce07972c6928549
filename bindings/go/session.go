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

	// Of a sequence: end tokens, stop sequences, and tokens of all its stop sequences. In [0, 2^20].
	MaxEndTokens     int
	MaxStopSequences int
	MaxStopTokens    int

	// Log-probabilities of first tokens that Advance can be asked for, in [0, VocabularySize].
	MaxTopLogprobs int

	// What no sequence can have of its own: rules of ties, orders, scopes and forms, and the list of
	// stages. Its numbers are those of sequences that are added without parameters. nil:
	// DefaultParams.
	Params *Params

	// Lists and masks of the stages, by slot: the slot is the sequence's number, of MaxSequences.
	// nil: none. The struct is copied; its slices are read in each Advance. History, PromptLengths,
	// AdaptiveValues, State and TokenBitmaskIndices must be left out: the session's texts are the
	// history. Where Stop is left out it is the end tokens of each sequence.
	Pipeline *Pipeline

	// How drafts are accepted: the rule of sequences that name none, and the numbers of the rules,
	// where the most drafts of a sequence are MaxDrafts. Copied. AcceptDefault, and nil:
	// AcceptSampleMatch.
	Acceptance *AcceptanceParams

	// Sequences may have DraftTopK.
	HasDraftTrees bool

	// Sequences may have AdaptiveGamma, which takes a row of f32 and 20 KB.
	HasAdaptiveGamma bool

	// Of GammaMeasured: the address of a C function, a sampler_clock_fn, and what it gets as its
	// user. 0: the system's monotonic clock.
	Clock     uintptr
	ClockUser uintptr

	// CUDA: the stream of all of the session's work, in whose order logits are read, a cudaStream_t;
	// it outlives the session. 0 is the legacy default stream.
	Stream uintptr

	// What n-grams learn of each new position: the so many likeliest tokens of the target, and then,
	// where it is not among them, the token that came. In [0, 2^20); 0: the token that came alone.
	FillerTopK int
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
	logitsDtype                             Dtype
	pipeline                                Pipeline // keeps its slices
	ngrams                                  map[*Ngram]struct{}

	memory struct {
		add                       raw.SessionAddArgs
		fork                      raw.SessionForkArgs
		sequence, resumed         raw.SessionSequence
		plan                      raw.SessionPlanArgs
		advance                   raw.SessionAdvanceArgs
		numSpans, numDrafterSpans int64
		none                      raw.Span // where there are no spans
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
	if options.Pipeline != nil {
		session.pipeline = *options.Pipeline
	}
	s.sessions[handle] = session.ngrams
	runtime.SetFinalizer(session, (*Session).Close)
	return session, nil
}

// SessionSize tells how many bytes of memory a session with these options takes.
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
	c.onHost = true
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

	// Sequences of tokens that end the text where its new tokens end in one; none may be empty. Of
	// I32.
	StopSequences TokenLists

	DraftSource DraftSource

	// The rule that its drafts are accepted by. AcceptDefault: the session's.
	Acceptance Acceptance

	// Drafts a step at most, in [0, MaxDrafts]; 0: MaxDrafts.
	NumDrafts int

	// Of DraftsPromptLookup: the shortest match, in [0, 2^27]; 0: 1.
	MinMatch int

	// The n-grams of DraftsNgram. They learn the text now, unless NgramHasText, and later each new token, and must
	// not be called while a call of the session runs. Close of it waits for that of the session.
	Ngram        *Ngram
	NgramHasText bool // it has learned these tokens, as those of a sequence that was removed

	// Of DraftsNgram: a context that is unknown is followed by the draft that the n-grams give for
	// it; else by none.
	DraftUnknown bool

	// Of DraftsNgram, without DraftUnknown: drafts end before the first that was counted fewer than
	// NgramLeastCount times after its context, or whose share of what followed there is below
	// NgramLeastShare, in [0, 1]. 0: off.
	NgramLeastCount int
	NgramLeastShare float32

	// Of DraftsModel, in [0, 1]: a draft to which the drafter's row gives less than this probability
	// is the last of its step. 0: off.
	LeastDraftProbability float32

	// How many drafts a step gets, NumDrafts at most, with HasAdaptiveGamma of the session. By
	// entropy, of DraftsModel without DraftTopK: from GammaMin, in [0, NumDrafts], on, with the
	// entropy smoothed by EmaBeta, in [0, 1).
	AdaptiveGamma GammaRule
	EmaBeta       float32
	GammaMin      int

	// Of DraftsModel, with HasDraftTrees of the session, in [0, NumDrafts]. 0: drafts are drawn, one
	// a position. Else they are the drafter's so many likeliest tokens of each position: the first
	// goes on, the others hang beside it, and the target runs them as a tree, as Plan.Parents says.
	DraftTopK int

	// What Get gave of a removed sequence, of this session or of another one, which goes on here.
	// Its AdaptiveValues and DrafterEntropy go on, without which the next tokens may be others, and
	// its NumSteps, NumDrafted and NumAccepted; nothing else is read. nil: a new one.
	Resumed *Sequence
}

// Add adds a sequence and returns its number. It may have finished already: where no token may
// follow. Where the session has MaxSequences, it is ErrInvalidArgument.
func (session *Session) Add(args *AddArgs) (int, error) {
	c, err := session.begin("Add", args == nil)
	if err != nil {
		return 0, err
	}
	defer c.sampler.mutex.Unlock()
	if stops := &args.StopSequences.TokenIDs; stops.place != absent && stops.idType != IDTypeI32 {
		c.fail("stop_sequences.token_ids is of id type %d; it must be of %d", stops.idType,
			IDTypeI32)
	}
	var before idsBefore
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
		StopSequences:      c.lists("stop_sequences.", &args.StopSequences, &before),
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
	runtime.KeepAlive(session)
	runtime.KeepAlive(args)
	return sequence, err
}

// ForkArgs are the arguments of Session.Fork.
type ForkArgs struct {
	// What is forked: a sequence, which goes on as if nothing had been.
	Source int

	// nil: the source's, with which its text comes again.
	Seed   *uint64
	Params *Params
}

// Fork adds a copy of a sequence, drafts of the step apart, and returns its number. The caller
// copies the caches, cut to what Get tells.
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

// Span is tokens to run through a model; a Plan has them.
type Span struct {
	raw raw.Span
}

// Sequence is whose tokens they are.
func (span Span) Sequence() int { return int(span.raw.Sequence) }

// Plan is which plan of the session it is of.
func (span Span) Plan() int { return int(span.raw.Plan) }

// Start is the length that the cache must have: what it holds beyond is cut off.
func (span Span) Start() int { return int(span.raw.Start) }

// NumTokens is one at least; the last of the tokens may be drafts.
func (span Span) NumTokens() int { return int(span.raw.NumTokens) }

// NumLogits is how many rows of logits Advance wants, those that follow the last so many tokens. May
// be 0: a part of a long text.
func (span Span) NumLogits() int { return int(span.raw.NumLogits) }

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

	// The tokens of all spans, one span after the other.
	TokenIDs        []int32
	DrafterTokenIDs []int32

	// [Spans, MaxDrafts] Of a session with HasDraftTrees: what each draft of a span follows, a lower
	// one of its drafts, -1 the text; -1 after them. In a tree drafts see those that they follow, and
	// not the others; their positions in the text are their depths. The first path comes first, so
	// that a cache that is cut holds the text: a kept draft beside that path is fed again.
	Parents []int32
}

// resized is the same memory where that is large enough.
func resized[T any](s []T, length int) []T {
	if cap(s) < length {
		return make([]T, length)
	}
	return s[:length]
}

// spans is where they are.
func (session *Session) spans(spans []Span) uintptr {
	if len(spans) == 0 {
		return raw.Address(&session.memory.none)
	}
	return raw.Address(&spans[0].raw)
}

// Plan tells what to run. Planning again without having advanced is fine; the last plan of a
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
	count := session.maxSequences
	if args.Sequences != nil {
		count = int64(len(args.Sequences))
	}
	plan.Spans = resized(plan.Spans, int(count))
	plan.DrafterSpans = resized(plan.DrafterSpans, int(count))
	plan.TokenIDs, plan.DrafterTokenIDs = plan.TokenIDs[:0], plan.DrafterTokenIDs[:0]
	plan.Parents = plan.Parents[:0]
	if session.hasDraftTrees {
		plan.Parents = resized(plan.Parents, int(count*session.maxDrafts))
	}
	memory := &session.memory
	memory.numSpans, memory.numDrafterSpans = 0, 0
	memory.plan = raw.SessionPlanArgs{
		StructSize:         unsafe.Sizeof(memory.plan),
		Sequences:          c.array("", "sequences", slice(args.Sequences), 0),
		NumSequences:       int64(len(args.Sequences)),
		MaxTokens:          int64(args.MaxTokens),
		OutSpans:           session.spans(plan.Spans),
		OutNumSpans:        raw.Address(&memory.numSpans),
		OutDrafterSpans:    session.spans(plan.DrafterSpans),
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
	plan.Spans = plan.Spans[:memory.numSpans]
	plan.DrafterSpans = plan.DrafterSpans[:memory.numDrafterSpans]
	if len(plan.Parents) > 0 {
		plan.Parents = plan.Parents[:memory.numSpans*session.maxDrafts]
	}
	for i := range plan.Spans {
		span := &plan.Spans[i].raw
		plan.TokenIDs = raw.AppendInts(plan.TokenIDs, span.TokenIDs, span.NumTokens)
	}
	for i := range plan.DrafterSpans {
		span := &plan.DrafterSpans[i].raw
		plan.DrafterTokenIDs = raw.AppendInts(plan.DrafterTokenIDs, span.TokenIDs, span.NumTokens)
	}
	runtime.KeepAlive(session)
	runtime.KeepAlive(args)
	return err
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
	TokenBitmaskIndices Array[int32]

	// [rows of logits] The token that is decided at each row of the target whatever its logits, as
	// where a thinking budget runs out among the drafts; negative: none. Left out: none.
	ForcedTokenIDs Array[int32]

	// What follows is by span of the target; all but OutTokenIDs and OutCounts may be left out.

	// [spans, MaxDrafts + 1] New tokens, then -1; and how many. A span without logits has none.
	OutTokenIDs Array[int32]
	OutCounts   Array[int64]

	// Not FinishNone: the sequence has finished, and is not planned any more.
	OutFinishReasons Array[FinishReason]

	// To which lengths to cut the caches. Drafts that were not kept are cut off.
	OutCacheLengths        Array[int64]
	OutDrafterCacheLengths Array[int64]

	// Drafts that became text.
	OutAcceptedCounts Array[int64]

	// Of FinishBadRow: why; else 0.
	OutRowStatus Array[RowStatus]

	// Log-probabilities of the new tokens, and of the first NumTopLogprobs, in [0, MaxTopLogprobs], in
	// rank order: LogprobKind, OutLogprobs, NumTopLogprobs, OutTopTokenIDs, of I32, and OutTopLogprobs.
	// All else must be left out. nil: none.
	Reports *ReportArgs
}

// logits is where the spans' rows are, and how many there are.
func (c *check) logits(session *Session, name string, logits *Data, stride int,
	spans []Span) (uintptr, int64) {
	rows := int64(0)
	for i := range spans {
		rows += spans[i].raw.NumLogits
	}
	if rows > 0 && logits.place != absent && logits.dtype != session.logitsDtype {
		c.fail("%s is of dtype %d; LogitsDtype of the session is %d", name, logits.dtype,
			session.logitsDtype)
	}
	needed := extent(rows, session.vocabularySize, int64(stride))
	return c.placed("", name, logits.array, needed, c.sampler.onCUDA), rows
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
	spans := int64(len(args.Spans))
	places := product(spans, session.maxDrafts+1)
	array := func(name string, a array, needed int64) uintptr {
		return c.array("", name, a, needed)
	}
	if r := args.Reports; r != nil && r.OutTopTokenIDs.place != absent &&
		r.OutTopTokenIDs.idType != IDTypeI32 {
		c.fail("reports->out_top_token_ids is of id type %d; it must be of %d",
			r.OutTopTokenIDs.idType, IDTypeI32)
	}
	var ids idsBefore
	memory := &session.memory.advance
	*memory = raw.SessionAdvanceArgs{
		StructSize:       unsafe.Sizeof(*memory),
		Spans:            session.spans(args.Spans),
		NumSpans:         spans,
		Logits:           logits,
		LogitsRowStride:  int64(args.LogitsRowStride),
		DrafterSpans:     session.spans(args.DrafterSpans),
		NumDrafterSpans:  int64(len(args.DrafterSpans)),
		DrafterLogits:    drafterLogits,
		DrafterRowStride: int64(args.DrafterRowStride),
		TokenBitmaskIndices: array("token_bitmask_indices", args.TokenBitmaskIndices.array,
			rows),
		ForcedTokenIDs:   array("forced_token_ids", args.ForcedTokenIDs.array, rows),
		OutTokenIDs:      array("out_token_ids", args.OutTokenIDs.array, places),
		OutCounts:        array("out_counts", args.OutCounts.array, spans),
		OutFinishReasons: array("out_finish_reasons", args.OutFinishReasons.array, spans),
		OutCacheLengths:  array("out_cache_lengths", args.OutCacheLengths.array, spans),
		OutDrafterCacheLengths: array("out_drafter_cache_lengths",
			args.OutDrafterCacheLengths.array, spans),
		OutAcceptedCounts: array("out_accepted_counts", args.OutAcceptedCounts.array, spans),
		OutRowStatus:      array("out_row_status", args.OutRowStatus.array, spans),
		Reports:           c.reports(args.Reports, places, session.vocabularySize, &ids),
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
