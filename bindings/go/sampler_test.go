package sampler

import (
	"errors"
	"math"
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

// readmeTokens are those that README.md prints, by step.
var readmeTokens = []int32{2, 2, 1, 0, 1}

func readmeArgs(step int, tokens []int32) TopKTopPArgs {
	return TopKTopPArgs{
		Input: F32(readmeLogits), NumRows: 1, NumCols: 5,
		Temperature: Float(0.8), TopK: Int(3), TopP: Float(0.95),
		Seed: Uint(1), Offset: Uint(uint64(step)), OutTokenIDs: I32(tokens),
	}
}

func expectError(t *testing.T, err error, status Status, message string) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, status) || e.Message != message {
		t.Errorf("error is %v, want %s", err, message)
	}
}

const lengths = " for these rows, columns and strides"

func TestArgumentsThatBreakARule(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 5})
	nan := float32(math.NaN())
	for _, c := range []struct {
		change  func(a *TopKTopPArgs)
		message string
	}{
		{func(a *TopKTopPArgs) { a.Input = Data{} }, "input is NULL; it is required"},
		{func(a *TopKTopPArgs) { a.Input = F32(nil) }, "input is NULL; it is required"},
		{func(a *TopKTopPArgs) { a.OutTokenIDs = I64(nil) },
			"out_token_ids is NULL; it is required"},
		{func(a *TopKTopPArgs) { a.NumRows = -1 }, "num_rows is -1; it must be at least 0"},
		{func(a *TopKTopPArgs) { a.NumRows = math.MinInt },
			"num_rows is -9223372036854775808; it must be at least 0"},
		{func(a *TopKTopPArgs) { a.NumRows = math.MaxInt },
			"num_rows is 9223372036854775807; it must be below 2147483648"},
		{func(a *TopKTopPArgs) { a.NumRows = 2 },
			"input has 5 elements; it must have at least 10" + lengths},
		{func(a *TopKTopPArgs) { a.NumCols = 0 }, "num_cols is 0; it must be at least 1"},
		{func(a *TopKTopPArgs) { a.NumCols = math.MaxInt },
			"num_cols is 9223372036854775807; it must be below 1048576"},
		{func(a *TopKTopPArgs) { a.RowStride = -5 },
			"row_stride is -5; it must be 0 or at least num_cols, 5"},
		{func(a *TopKTopPArgs) { a.NumRows, a.RowStride = 3, math.MaxInt },
			"input has 3 rows, 9223372036854775807 elements apart; it must fit the address space"},
		{func(a *TopKTopPArgs) { a.NumInputRows = 1 << 40 },
			"num_input_rows is 1099511627776; it must be below 2147483648"},
		{func(a *TopKTopPArgs) { a.InputKind = 9 },
			"input_kind is 9; it must be one of its constants"},
		{func(a *TopKTopPArgs) { a.TopKTies = -1 },
			"top_k_ties is -1; it must be one of its constants, 0 to 1"},
		{func(a *TopKTopPArgs) { a.Temperature = Float(nan) },
			"temperature is NaN; it must be a number"},
		{func(a *TopKTopPArgs) { a.TopP = Float(nan) }, "top_p is NaN; it must be a number"},
		{func(a *TopKTopPArgs) { a.Seed = PerRow([]uint64{1, 2, 3}) },
			"num_seeds is 3; it must be 1 or num_rows, 1"},
		{func(a *TopKTopPArgs) { a.Offset = PerRow([]uint64{}) },
			"num_offsets is 0; it must be 1 or num_rows, 1"},
		{func(a *TopKTopPArgs) { a.CandidateCounts = Slice([]int32{5}) },
			"candidate_ids is NULL; candidate_counts needs it"},
		{func(a *TopKTopPArgs) { a.Input = Device(4096, DtypeF32) },
			"input is device memory, 0x1000; it must be a slice on a CPU sampler"},
		{func(a *TopKTopPArgs) { a.TopK = PerRowDevice[int32](4096) },
			"top_ks is device memory, 0x1000; it must be a slice on a CPU sampler"},
		{func(a *TopKTopPArgs) { a.Seed = SharedDevice(4096) },
			"seeds is device memory, 0x1000; it must be a slice on a CPU sampler"},
		{func(a *TopKTopPArgs) { a.WorkspaceBytes = -1 },
			"workspace_bytes is -1; it must be at least 0"},
		{func(a *TopKTopPArgs) { a.WorkspaceBytes = 8 },
			"workspace is NULL and workspace_bytes 8; it must be 0 then"},
		{func(a *TopKTopPArgs) { a.Workspace, a.WorkspaceBytes = Slice(make([]byte, 3)), 4 },
			"workspace has 3 elements; it must have at least 4" + lengths},
	} {
		tokens := []int32{77}
		args := readmeArgs(0, tokens)
		c.change(&args)
		expectError(t, s.TopKTopP(&args), ErrInvalidArgument, c.message)
		if tokens[0] != 77 {
			t.Errorf("%s: a token was written", c.message)
		}
	}
}

func TestSharedElementTypes(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 5})
	args := ChainSpeculativeArgs{
		Target: F32(make([]float32, 10)), NumRows: 1, NumDrafts: 1, NumCols: 5,
		DraftTokenIDs: I32([]int32{1}), OutTokenIDs: I64(make([]int64, 2)),
	}
	expectError(t, s.ChainSpeculative(&args), ErrInvalidArgument,
		"draft_token_ids is of id type 0 and out_token_ids of 1; they must be of one type")
}

// What a CUDA sampler refuses before it asks the library; no CUDA is needed for that.
func TestPlacesOnCUDA(t *testing.T) {
	for _, c := range []struct {
		hostParameters bool
		check          func(c *check)
		message        string
	}{
		{false, func(c *check) { c.array("input", F32(readmeLogits).array, 5) },
			"input is a slice; it must be device memory on this CUDA sampler"},
		{true, func(c *check) { c.array("input", F32(readmeLogits).array, 5) },
			"input is a slice; it must be device memory on this CUDA sampler"},
		{false, func(c *check) { c.parameter("top_ps", PerRow(readmeLogits).array, 5) },
			"top_ps is a slice; it must be device memory on this CUDA sampler"},
		{true, func(c *check) { c.parameter("top_ps", PerRow(readmeLogits).array, 6) },
			"top_ps has 5 elements; it must have at least 6" + lengths},
		{true, func(c *check) { c.parameter("top_ps", device(4096), 5) },
			"top_ps is device memory, 0x1000; it must be a slice with host_parameters"},
		{false, func(c *check) { c.parameter("top_ps", device(4096), 5) }, ""},
		{true, func(c *check) { c.parameter("top_ps", PerRow(readmeLogits).array, 5) }, ""},
		{false, func(c *check) { c.array("input", device(4096), 5) }, ""},
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
	var value uint64
	var values raw.Array
	var count int64
	c.seeds("seeds", SharedDevice(4096), &value, &values, &count, 7)
	if values.At != 4096 || count != 1 {
		t.Errorf("one seed: %v, %d", values, count)
	}
	c.seeds("seeds", PerRowDevice[uint64](8192), &value, &values, &count, 7)
	if values.At != 8192 || count != 7 || c.err != nil {
		t.Errorf("a seed per row: %v, %d, %v", values, count, c.err)
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
		if err := closed.TopKTopP(&args); err != ErrClosed {
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
	expectError(t, s.TopKTopP(nil), ErrInvalidArgument, message)
	_, err := s.WorkspaceSize(nil)
	expectError(t, err, ErrInvalidArgument, message)
	_, err = s.WorkspaceSize((*SampleArgs)(nil))
	expectError(t, err, ErrInvalidArgument, message)
}

func TestNoWorkspace(t *testing.T) {
	s := newSampler(t, Options{})
	args := readmeArgs(0, make([]int32, 1))
	if err := s.TopKTopP(&args); !errors.Is(err, ErrWorkspaceTooSmall) {
		t.Error(err)
	}
}

func TestNoRows(t *testing.T) {
	s := newSampler(t, Options{})
	if err := s.TopKTopP(&TopKTopPArgs{NumCols: 1}); err != nil {
		t.Error(err)
	}
}

func TestCapabilitiesAndVersion(t *testing.T) {
	c := Capabilities()
	if Version() == "" || c.NumProcessors < 1 || c.ISAActive&c.ISAUsable == 0 ||
		c.ISAUsable&c.ISACompiled != c.ISAUsable || c.ABIVersion != 0 {
		t.Errorf("%q, %+v", Version(), c)
	}
}

func TestErrorTexts(t *testing.T) {
	s := newSampler(t, Options{})
	err := s.Argmax(&ArgmaxArgs{NumRows: 1})
	if err.Error() != "sampler: Argmax: num_cols is 0; it must be at least 1" {
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
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 5})
	tokens := make([]int32, 1)
	step := 0
	allocations := testing.AllocsPerRun(1000, func() {
		args := readmeArgs(step, tokens)
		if err := s.TopKTopP(&args); err != nil {
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
		if err := s.Argmax(&ArgmaxArgs{Input: F32(logits[:]), NumRows: 1, NumCols: 5,
			OutTokenIDs: I32(token[:])}); err != nil || token[0] != 2 {
			t.Error(err, token)
		}
	})
	if allocations != 2 {
		t.Errorf("%v of 2 arrays are on the heap", allocations)
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
	if err := row.owner.Argmax(&ArgmaxArgs{Input: F32(row.logits[:]), NumRows: 1, NumCols: 5,
		OutTokenIDs: I32(row.token[:])}); err != nil || row.token[0] != 3 {
		t.Error(err, row.token)
	}
}

func TestLengths(t *testing.T) {
	const huge = math.MaxInt64
	for _, c := range []struct{ got, want int64 }{
		{rows(3, 5, 0), 15}, {rows(3, 5, 8), 21}, {rows(1, 5, 8), 5}, {rows(0, 5, 8), 0},
		{rows(-1, 5, 8), 0}, {rows(3, 0, 8), 0},
		{rows(3, 5, huge), huge}, {rows(2, 5, huge-1), huge},
		{rows(huge, huge, 0), huge}, {rows(3, 5, -8), 5}, {product(huge, huge), huge},
		{positions(2, 3, 5, 0, 0), 30}, {positions(2, 3, 5, 40, 7), 59},
		{positions(2, 0, 5, 0, 0), 0},
		{positions(2, 3, 5, 0, 7), 40}, {positions(2, 3, 5, huge, 0), huge},
	} {
		if c.got != c.want {
			t.Errorf("%d elements, want %d", c.got, c.want)
		}
	}
}
