package sampler

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

func newSampler(t testing.TB, options Options) *Sampler {
	t.Helper()
	s, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var readmeLogits = []float32{2, 2.5, 1.5, -1, 0}

func readmeRows() Rows { return Rows{Values: F32(readmeLogits), NumRows: 1, NumCols: 5} }

// readmeTokens are those that README.md prints, by step.
var readmeTokens = []int32{2, 2, 1, 0, 1}

var readmeParams = params(0.8, 3, 0.95, 0)

func readmeArgs(step int, tokens []int32) SampleArgs {
	return SampleArgs{Input: readmeRows(), Params: &readmeParams,
		Random: Random{Seed: 1, Offset: uint64(step)}, OutTokenIDs: I32(tokens)}
}

func drawReadme(s *Sampler, step int, tokens []int32) error {
	return s.TopKTopP(readmeRows(), 3, 0.95, 0.8, 1, uint64(step), tokens)
}

func expectError(t *testing.T, err error, status Status, message string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, status) || e.Message != message {
		t.Errorf("error is %v, want %s", err, message)
	}
}

func TestArgumentsThatBreakARule(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 5})
	nan := float32(math.NaN())
	for _, c := range []struct {
		change  func(a *SampleArgs, p *Params)
		message string
	}{
		{func(a *SampleArgs, p *Params) { a.Input.Values = Data{} },
			"input.values is NULL; it is required"},
		{func(a *SampleArgs, p *Params) { a.Input.Values = F32(nil) },
			"input.values is NULL; it is required"},
		{func(a *SampleArgs, p *Params) { a.OutTokenIDs = I64(nil) },
			"out_token_ids is NULL; it is required"},
		{func(a *SampleArgs, p *Params) { a.Input.NumRows = -1 },
			"input.num_rows is -1; it must be at least 0"},
		{func(a *SampleArgs, p *Params) { a.Input.NumRows = math.MinInt },
			"input.num_rows is -9223372036854775808; it must be at least 0"},
		{func(a *SampleArgs, p *Params) { a.Input.NumRows = math.MaxInt },
			"input.num_rows is 9223372036854775807; it must be below 2147483648"},
		{func(a *SampleArgs, p *Params) { a.Input.NumRows = 2 },
			"input.values has 5 elements; input needs 10"},
		{func(a *SampleArgs, p *Params) { a.Input.NumCols = 0 },
			"input.num_cols is 0; it must be at least 1"},
		{func(a *SampleArgs, p *Params) { a.Input.NumCols = math.MaxInt },
			"input.num_cols is 9223372036854775807; it must be below 1048576"},
		{func(a *SampleArgs, p *Params) { a.Input.RowStride = -5 },
			"input.row_stride is -5; it must be 0 or at least input.num_cols, 5"},
		{func(a *SampleArgs, p *Params) { a.Input.NumRows, a.Input.RowStride = 3, math.MaxInt },
			"input.values has 3 rows, 9223372036854775807 elements apart; " +
				"it must fit the address space"},
		{func(a *SampleArgs, p *Params) { a.RowIndices = Slice([]int32{0, 0}) },
			"out_token_ids has 1 elements; it needs 2"},
		{func(a *SampleArgs, p *Params) { a.NumRowIndices = 2 },
			"num_row_indices is 2; it must be 0"},
		{func(a *SampleArgs, p *Params) { a.Input.Kind = 9 },
			"input.kind is 9; it must be one of its constants, 0 to 1"},
		{func(a *SampleArgs, p *Params) { p.TopKTies = -1 },
			"params->top_k_ties is -1; it must be one of its constants, 0 to 1"},
		{func(a *SampleArgs, p *Params) { p.Temperature = nan },
			"params->temperature is NaN; it must be a number"},
		{func(a *SampleArgs, p *Params) { p.TopP = nan },
			"params->top_p is NaN; it must be a number"},
		{func(a *SampleArgs, p *Params) { a.Params = &Params{TopK: 50} },
			"params is not of DefaultParams; start from there: all 0 is no default"},
		{func(a *SampleArgs, p *Params) { a.Random.Seeds = Slice([]uint64{1, 2, 3}) },
			"random.num_seeds is 3; it must be 1 or the number of slots, 1"},
		{func(a *SampleArgs, p *Params) { a.Random.Offsets = Slice([]uint64{}) },
			"random.num_offsets is 0; it must be 1 or the number of slots, 1"},
		{func(a *SampleArgs, p *Params) {
			a.Random.Seeds, a.Random.NumSeeds = Slice([]uint64{}), 1
		}, "random.seeds has 0 elements; random needs 1"},
		{func(a *SampleArgs, p *Params) { a.RowParams = &RowParams{TopP: Slice([]float32{})} },
			"row_params->top_p has 0 elements; row_params needs 1"},
		{func(a *SampleArgs, p *Params) {
			a.Slots, a.NumSlots = Slice([]int32{1}), 2
			a.RowParams = &RowParams{TopK: Slice([]int32{3})}
		}, "row_params->top_k has 1 elements; row_params needs 2"},
		{func(a *SampleArgs, p *Params) {
			a.Slots, a.NumSlots = Slice([]int32{1}), 2
			a.Random.Streams = Slice([]uint32{3})
		}, "random.streams has 1 elements; random needs 2"},
		{func(a *SampleArgs, p *Params) { a.Slots, a.NumSlots = Slice([]int32{}), 2 },
			"slots has 0 elements; it needs 1"},
		{func(a *SampleArgs, p *Params) { a.Input.CandidateCounts = Slice([]int32{}) },
			"input.candidate_counts has 0 elements; input needs 1"},
		{func(a *SampleArgs, p *Params) { a.Input.Values = Device(4096, DtypeF32) },
			"input.values is device memory, 0x1000; it must be a slice on a CPU sampler"},
		{func(a *SampleArgs, p *Params) { a.RowParams = &RowParams{TopK: OnDevice[int32](4096)} },
			"row_params->top_k is device memory, 0x1000; it must be a slice on a CPU sampler"},
		{func(a *SampleArgs, p *Params) { a.Exec.WorkspaceBytes = -1 },
			"exec.workspace_bytes is -1; it must be at least 0"},
		{func(a *SampleArgs, p *Params) { a.Exec.WorkspaceBytes = 8 },
			"exec.workspace is NULL and exec.workspace_bytes 8; it must be 0 then"},
		{func(a *SampleArgs, p *Params) {
			a.Exec = Exec{Workspace: Slice(make([]byte, 3)), WorkspaceBytes: 4}
		}, "exec.workspace has 3 elements; exec needs 4"},
	} {
		tokens := []int32{77}
		args, params := readmeArgs(0, tokens), readmeParams
		args.Params = &params
		c.change(&args, &params)
		expectError(t, s.Sample(&args), ErrInvalidArgument, c.message)
		if tokens[0] != 77 {
			t.Errorf("%s: a token was written", c.message)
		}
	}
}

func TestTokensOfOneType(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 5})
	args := VerifyArgs{
		Target:    Rows{Values: F32(make([]float32, 10)), NumRows: 2, NumCols: 5},
		NumDrafts: 1, DraftTokenIDs: I32([]int32{1}), OutTokenIDs: I64(make([]int64, 2)),
	}
	expectError(t, s.Verify(&args), ErrInvalidArgument,
		"draft_token_ids is of id type 0 and out_token_ids of 1; they must be of one type")
}

func TestNumberOfDrafts(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 5})
	for _, numDrafts := range []int{math.MinInt, -1, math.MaxInt} {
		var e *Error
		args := VerifyArgs{Target: readmeRows(), NumDrafts: numDrafts, OutTokenIDs: I32([]int32{7})}
		if err := s.Verify(&args); !errors.As(err, &e) || !errors.Is(err, ErrInvalidArgument) ||
			!strings.HasPrefix(e.Message, "num_drafts is ") {
			t.Error(err)
		}
	}
}

// What a CUDA sampler refuses before it asks the library; no CUDA is needed for that.
func TestPlacesOnCUDA(t *testing.T) {
	logits := slice(readmeLogits)
	for _, c := range []struct {
		hostParameters bool
		check          func(c *check)
		message        string
	}{
		{false, func(c *check) { c.array("input.", "values", logits, 5) },
			"input.values is a slice; it must be device memory on this CUDA sampler"},
		{true, func(c *check) { c.array("input.", "values", logits, 5) },
			"input.values is a slice; it must be device memory on this CUDA sampler"},
		{false, func(c *check) { c.rowParams(&RowParams{TopP: Slice(readmeLogits)}, 5) },
			"row_params->top_p is a slice; it must be device memory on this CUDA sampler"},
		{true, func(c *check) { c.rowParams(&RowParams{TopP: Slice(readmeLogits)}, 6) },
			"row_params->top_p has 5 elements; row_params needs 6"},
		{true, func(c *check) { c.rowParams(&RowParams{TopP: OnDevice[float32](4096)}, 5) },
			"row_params->top_p is device memory, 0x1000; it must be a slice with host_parameters"},
		{false, func(c *check) { c.rowParams(&RowParams{TopP: OnDevice[float32](4096)}, 5) }, ""},
		{true, func(c *check) { c.rowParams(&RowParams{TopP: Slice(readmeLogits)}, 5) }, ""},
		{false, func(c *check) { c.array("input.", "values", device(4096), 5) }, ""},
	} {
		got := check{sampler: &Sampler{onCUDA: true, hostParameters: c.hostParameters}}
		c.check(&got)
		if c.message != "" {
			expectError(t, got.err, ErrInvalidArgument, c.message)
		} else if got.err != nil {
			t.Error(got.err)
		}
	}
}

func TestSeedsOnDevice(t *testing.T) {
	c := check{sampler: &Sampler{onCUDA: true}}
	r := c.random(&Random{Seeds: OnDevice[uint64](4096), NumSeeds: 1,
		Offsets: OnDevice[uint64](8192), NumOffsets: 7}, 7)
	if c.err != nil || r.Seeds != 4096 || r.NumSeeds != 1 || r.Offsets != 8192 || r.NumOffsets != 7 {
		t.Errorf("%+v, %v", r, c.err)
	}
}

func TestCUDAWithoutDevice(t *testing.T) {
	if Capabilities().NumCUDADevices > 0 {
		t.Skip("this machine has a CUDA device")
	}
	s, err := New(Options{DeviceType: CUDA})
	var e *Error
	if s != nil || !errors.Is(err, ErrUnsupported) || !errors.As(err, &e) || e.Message == "" {
		t.Errorf("New gives %v, %v", s, err)
	}
}

func TestOptionsThatBreakARule(t *testing.T) {
	for _, c := range []struct {
		options Options
		message string
	}{
		{Options{DeviceType: 7}, "device_type is 7; it must be one of its constants, 0 to 1"},
		{Options{NumThreads: -1}, "num_threads is -1; it must be at least 0"},
		{Options{NumThreads: 257}, "num_threads is 257; it must be below 257"},
		{Options{MaxRows: -1, MaxCols: 1}, "max_rows is -1; it must be at least 0"},
		{Options{MaxRows: 1, MaxCols: math.MaxInt},
			"max_cols is 9223372036854775807; it must be below 1048576"},
	} {
		_, err := New(c.options)
		expectError(t, err, ErrInvalidArgument, c.message)
	}
}

func TestClosing(t *testing.T) {
	s := newSampler(t, Options{})
	for i := 0; i < 2; i++ {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	args := readmeArgs(0, make([]int32, 1))
	var none *Sampler
	for _, closed := range []*Sampler{s, none, {}} {
		if err := closed.Sample(&args); err != ErrClosed {
			t.Errorf("a call: %v", err)
		}
		if _, err := closed.WorkspaceSize(&args); err != ErrClosed {
			t.Errorf("WorkspaceSize: %v", err)
		}
		if err := closed.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestNilArguments(t *testing.T) {
	s := newSampler(t, Options{})
	const message = "args is nil; it is required"
	expectError(t, s.Sample(nil), ErrInvalidArgument, message)
	_, err := s.WorkspaceSize(nil)
	expectError(t, err, ErrInvalidArgument, message)
	_, err = s.WorkspaceSize((*FilterArgs)(nil))
	expectError(t, err, ErrInvalidArgument, message)
}

func TestNoWorkspace(t *testing.T) {
	s := newSampler(t, Options{})
	args := readmeArgs(0, make([]int32, 1))
	if err := s.Sample(&args); !errors.Is(err, ErrWorkspaceTooSmall) {
		t.Error(err)
	}
}

func TestNoRows(t *testing.T) {
	s := newSampler(t, Options{})
	if err := s.Sample(&SampleArgs{Input: Rows{NumCols: 1}}); err != nil {
		t.Error(err)
	}
}

func TestCapabilitiesAndVersion(t *testing.T) {
	c := Capabilities()
	if Version() == "" || c.NumProcessors < 1 || c.ISAActive&c.ISAUsable == 0 ||
		c.ISAUsable&c.ISACompiled != c.ISAUsable || c.ABIVersion != raw.SAMPLER_ABI_VERSION {
		t.Errorf("%q, %+v", Version(), c)
	}
}

func TestErrorTexts(t *testing.T) {
	s := newSampler(t, Options{})
	err := s.Argmax(Rows{NumRows: 1}, nil)
	if err.Error() != "sampler: Argmax: input.num_cols is 0; it must be at least 1" {
		t.Error(err)
	}
	if ErrCUDA.Error() != "SAMPLER_ERROR_CUDA" || Status(99).Error() != "SAMPLER_STATUS_UNKNOWN" {
		t.Errorf("%v, %v", ErrCUDA, Status(99))
	}
	if errors.Is(err, ErrCUDA) {
		t.Error("an invalid argument is an error of CUDA")
	}
}

func TestCallsDoNotAllocate(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 99})
	tokens, temperatures := make([]int32, 1), []float32{0.8}
	offsets, history, biases := []int64{0, 1}, []int32{1}, []float32{-1}
	masks, logprobs := []uint32{31}, make([]float32, 1)
	state := newState(t, s, StateOptions{NumSlots: 1, MaxTokens: 8})
	step := 0
	allocations := testing.AllocsPerRun(1000, func() {
		params := DefaultParams()
		params.TopK, params.RepetitionPenalty = 3, 1.5
		if err := s.Sample(&SampleArgs{Input: readmeRows(), Params: &params,
			RowParams: &RowParams{Temperature: Slice(temperatures)},
			Random:    Random{Offset: uint64(step)}, OutTokenIDs: I32(tokens),
			Pipeline: &Pipeline{
				History:       TokenLists{Offsets: Slice(offsets), TokenIDs: I32(history)},
				Biased:        TokenLists{Offsets: Slice(offsets), TokenIDs: I32(history)},
				Biases:        Slice(biases),
				TokenBitmasks: Slice(masks),
			}}); err != nil {
			t.Error(err)
		}
		if err := s.Verify(&VerifyArgs{Target: readmeRows(), Params: &readmeParams,
			Acceptance: &AcceptanceParams{Rule: AcceptSynthetic, SyntheticRates: biases},
			Layout:     &DraftLayout{TargetSequenceStride: 5},
			Pipeline:   &Pipeline{TokenBitmasks: Slice(masks)},
			Reports:    &ReportArgs{OutLogprobs: Slice(logprobs)}, OutTokenIDs: I32(tokens),
		}); err != nil {
			t.Error(err)
		}
		if err := drawFromState(s, state, step, tokens); err != nil {
			t.Error(err)
		}
		if err := drawReadme(s, step, tokens); err != nil {
			t.Error(err)
		}
		step++
	})
	if allocations != 0 {
		t.Errorf("%v allocations per call", allocations)
	}
}

// C gets plain addresses, so an array that a slice is of must not be on a stack, which may move.
func TestArraysAreOnTheHeap(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 5})
	allocations := testing.AllocsPerRun(100, func() {
		logits, token := [5]float32{0, 0, 9, 0, 0}, [1]int32{}
		input := Rows{Values: F32(logits[:]), NumRows: 1, NumCols: 5}
		if err := s.Argmax(input, token[:]); err != nil || token[0] != 2 {
			t.Error(err, token)
		}
	})
	if allocations != 2 {
		t.Errorf("%v of 2 arrays are on the heap", allocations)
	}
}

// So must the structs that C reads and writes.
func TestStructsAreOnTheHeap(t *testing.T) {
	allocations := testing.AllocsPerRun(100, func() { Capabilities() })
	if allocations != 1 {
		t.Errorf("%v structs are on the heap", allocations)
	}
}

func TestArraysBesidePointers(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 5})
	var row struct {
		owner  *Sampler
		logits [5]float32
		token  [1]int32
	}
	row.owner, row.logits[3] = s, 1
	input := Rows{Values: F32(row.logits[:]), NumRows: 1, NumCols: 5}
	if err := row.owner.Argmax(input, row.token[:]); err != nil || row.token[0] != 3 {
		t.Error(err, row.token)
	}
}

func TestLengths(t *testing.T) {
	const huge = math.MaxInt64
	sequences := func(numSequences, numPositions int64, numCols, sequenceStride, rowStride int) int64 {
		rows := Rows{NumCols: numCols, RowStride: rowStride}
		return rows.sequences(numSequences, numPositions, sequenceStride)
	}
	for _, c := range []struct{ got, want int64 }{
		{extent(3, 5, 0), 15}, {extent(3, 5, 8), 21}, {extent(1, 5, 8), 5}, {extent(0, 5, 8), 0},
		{extent(-1, 5, 8), 0}, {extent(3, 0, 8), 0},
		{extent(3, 5, huge), huge}, {extent(2, 5, huge-1), huge},
		{extent(huge, huge, 0), huge}, {extent(3, 5, -8), 5}, {product(huge, huge), huge},
		{sequences(2, 3, 5, 0, 0), 30}, {sequences(2, 3, 5, 40, 7), 59},
		{sequences(2, 0, 5, 0, 0), 0},
		{sequences(2, 3, 5, 0, 7), 40}, {sequences(2, 3, 5, huge, 0), huge},
	} {
		if c.got != c.want {
			t.Errorf("%d elements, want %d", c.got, c.want)
		}
	}
}

func TestNumbersThatDoNotFit(t *testing.T) {
	if clamped(math.MaxInt) != math.MaxInt32 || clamped(math.MinInt) != math.MinInt32 ||
		clamped(-3) != -3 {
		t.Error("they are not clamped")
	}
}
