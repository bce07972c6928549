package sampler

import (
	"errors"
	"math"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var minusInf = float32(math.Inf(-1))

// Two rows with a history, biases and a mask each; what these leave of the rows, by hand; and tokens
// that nobody has drawn.
func pipelineArgs() (args *SampleArgs, edited []float32, tokens []int32) {
	params := DefaultParams()
	params.RepetitionPenalty = 1.5
	tokens = []int32{77, 77}
	args = &SampleArgs{
		Input: Rows{Values: F32([]float32{2, 2.5, 1.5, -1, 0, 0.5, 1, -2, 3, 2}), NumRows: 2,
			NumCols: 5},
		Params:      &params,
		OutTokenIDs: I32(tokens),
		Pipeline: &Pipeline{
			History: TokenLists{
				Offsets: Slice([]int64{0, 3, 4}), TokenIDs: I32([]int32{1, 3, 1, 2})},
			Biased:        TokenLists{Offsets: Slice([]int64{0, 2}), TokenIDs: I32([]int32{4, 0})},
			Biases:        Slice([]float32{1, -0.5}),
			TokenBitmasks: Slice([]uint32{0b11011, 0b10111}),
		},
	}
	third := float32(2.5) / 1.5
	edited = []float32{1.5, third, minusInf, -1.5, 1, 0, 1, -3, minusInf, 3}
	return args, edited, tokens
}

func TestPipeline(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 2, MaxCols: 5})
	args, edited, tokens := pipelineArgs()
	status := []RowStatus{77, 77}
	args.OutRowStatus = Slice(status)
	expected := make([]int32, 2)
	byHand := SampleArgs{Input: Rows{Values: F32(edited), NumRows: 2, NumCols: 5},
		OutTokenIDs: I32(expected)}
	drawn := map[int32]bool{}
	for offset := uint64(0); offset < 200; offset++ {
		args.Random.Offset, byHand.Random.Offset = offset, offset
		if err := s.Sample(args); err != nil {
			t.Fatal(err)
		}
		if err := s.Sample(&byHand); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(tokens, expected) || status[0] != RowOK || status[1] != RowOK {
			t.Fatalf("tokens %v, by hand %v, status %v", tokens, expected, status)
		}
		drawn[tokens[0]] = true
	}
	if len(drawn) != 4 {
		t.Errorf("tokens drawn: %v", drawn)
	}

	output := make([]float32, 10)
	if err := s.Filter(&FilterArgs{Input: args.Input, Params: args.Params, Pipeline: args.Pipeline,
		OutputKind: OutputValues, Output: F32(output)}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(output, edited) {
		t.Errorf("the edits leave %v, by hand %v", output, edited)
	}
}

func TestPipelineOfLongIDs(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 2, MaxCols: 5})
	args, _, tokens := pipelineArgs()
	args.Pipeline.Banned = Lists([]int32{0, 1}, []int32{4})
	if err := s.Sample(args); err != nil {
		t.Fatal(err)
	}
	expected := append([]int32(nil), tokens...)
	args.Pipeline.History = Lists([]int64{1, 3, 1}, []int64{2})
	args.Pipeline.Biased.TokenIDs = I64([]int64{4, 0})
	args.Pipeline.Banned = Lists([]int64{0, 1}, []int64{4})
	if err := s.Sample(args); err != nil || !reflect.DeepEqual(tokens, expected) {
		t.Errorf("%v, tokens %v, with 32 bits %v", err, tokens, expected)
	}
}

// A list may be empty, and there may be none.
func TestListsOfSlices(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 2, MaxCols: 5})
	args, edited, _ := pipelineArgs()
	output := make([]float32, 10)
	filter := FilterArgs{Input: args.Input, Params: args.Params, Pipeline: args.Pipeline,
		OutputKind: OutputValues, Output: F32(output)}
	args.Pipeline.Biased, args.Pipeline.Biases = Lists([]int32{4}, []int32{4, 0}), Slice([]float32{1, 1, -0.5})
	args.Pipeline.Banned, args.Pipeline.Stop = Lists[int32](), Lists([]int32{}, nil)
	edited[0] += 0.5
	if err := s.Filter(&filter); err != nil || !reflect.DeepEqual(output, edited) {
		t.Errorf("%v: the edits leave %v, by hand %v", err, output, edited)
	}
}

func TestOrderOfStages(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 5})
	params, output := DefaultParams(), make([]float32, 5)
	params.RepetitionPenalty = 1.5
	offsets, ids := Slice([]int64{0, 1}), I32([]int32{1})
	lists := TokenLists{Offsets: offsets, TokenIDs: ids}
	args := FilterArgs{Input: readmeRows(), Params: &params, OutputKind: OutputValues,
		Output: F32(output), Pipeline: &Pipeline{History: lists, Biased: lists,
			Biases: Slice([]float32{0.5})}}
	for _, c := range []struct {
		stages [MaxStages]Stage
		value  float32
	}{
		{[MaxStages]Stage{}, 2},
		{[MaxStages]Stage{StageBias, StagePenalties, StageTopK}, 2},
		{[MaxStages]Stage{StagePenalties, StageBias, StageTopK}, float32(2.5)/1.5 + 0.5},
	} {
		params.Stages = c.stages
		if err := s.Filter(&args); err != nil || output[1] != c.value {
			t.Errorf("%v: %v, %v", c.stages, output, err)
		}
	}
	params.Stages = [MaxStages]Stage{StageBias, StagePenalties, StageTopK, StageTopK}
	expectError(t, s.Filter(&args), ErrInvalidArgument,
		"params->stages has SAMPLER_STAGE_TOP_K twice; it must have each stage once")
}

// DRY needs room for the history.
func TestWorkspaceOfHistories(t *testing.T) {
	s := newSampler(t, Options{})
	args, _, tokens := pipelineArgs()
	without, err := s.WorkspaceSize(args)
	if err != nil {
		t.Fatal(err)
	}
	args.Params.DRYMultiplier = 0.8
	bytes, err := s.WorkspaceSize(args)
	if err != nil || bytes <= without {
		t.Errorf("%v, %d bytes with DRY, %d without", err, bytes, without)
	}
	args.Exec.Workspace = Slice(make([]byte, bytes-1))
	if err := s.Sample(args); !errors.Is(err, ErrWorkspaceTooSmall) {
		t.Error(err)
	}
	args.Exec.Workspace = Slice(make([]byte, bytes))
	if err := s.Sample(args); err != nil || tokens[0] < 0 || tokens[1] < 0 {
		t.Error(err, tokens)
	}
}

// The offsets' contents are the row's business.
func TestBadOffsets(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 2, MaxCols: 5})
	for _, offsets := range [][]int64{{0, 3, 5}, {0, 3, 2}, {0, 4, math.MaxInt64}} {
		args, _, tokens := pipelineArgs()
		status := []RowStatus{77, 77}
		args.OutRowStatus = Slice(status)
		args.Pipeline.History.Offsets = Slice(offsets)
		if err := s.Sample(args); err != nil {
			t.Fatal(err)
		}
		if status[0] != RowOK || status[1] != RowInvalidList || tokens[0] < 0 || tokens[1] != -1 {
			t.Errorf("%v: tokens %v, status %v", offsets, tokens, status)
		}
	}
}

func TestForcedToken(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 2, MaxCols: 5})
	args, _, tokens := pipelineArgs()
	status := []RowStatus{77, 77}
	args.OutRowStatus = Slice(status)
	for _, c := range []struct {
		forced int64
		token  int32
		status RowStatus
	}{
		{3, 3, RowOK}, {2, 2, RowOK}, // the mask or not
		{5, -1, RowInvalidParameter}, {1 << 32, -1, RowInvalidParameter},
	} {
		args.RowParams = &RowParams{ForcedTokenID: Slice([]int64{-1, c.forced})}
		if err := s.Sample(args); err != nil {
			t.Fatal(err)
		}
		if tokens[0] < 0 || tokens[1] != c.token || status[0] != RowOK || status[1] != c.status {
			t.Errorf("%d: tokens %v, status %v", c.forced, tokens, status)
		}
	}
}

func TestPipelinesThatBreakARule(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 2, MaxCols: 5})
	for _, c := range []struct {
		change  func(a *SampleArgs, p *Pipeline)
		message string
	}{
		{func(a *SampleArgs, p *Pipeline) { p.History.Offsets = Slice([]int64{}) },
			"pipeline->history.num_lists is 0; it must be 1 or the number of slots, 2"},
		{func(a *SampleArgs, p *Pipeline) { p.BadWords.Offsets = Slice([]int64{}) },
			"pipeline->bad_words.offsets has 0 elements; pipeline->bad_words needs 1"},
		{func(a *SampleArgs, p *Pipeline) { p.History.Offsets = Slice([]int64{0, 1, 2, 3}) },
			"pipeline->history.num_lists is 3; it must be 1 or the number of slots, 2"},
		{func(a *SampleArgs, p *Pipeline) {
			p.History.Offsets, p.History.NumLists = Slice([]int64{0, 1}), 2
		}, "pipeline->history.offsets has 2 elements; pipeline->history needs 3"},
		{func(a *SampleArgs, p *Pipeline) { p.History.NumLists = -1 },
			"pipeline->history.num_lists is -1; it must be at least 0"},
		{func(a *SampleArgs, p *Pipeline) { p.History.NumTokenIDs = 5 },
			"pipeline->history.token_ids has 4 elements; pipeline->history needs 5"},
		{func(a *SampleArgs, p *Pipeline) { p.History = TokenLists{} },
			"params->repetition_penalty is 1.5; it needs pipeline->history or pipeline->state"},
		{func(a *SampleArgs, p *Pipeline) { p.PromptLengths = Slice([]int32{1}) },
			"pipeline->prompt_lengths has 1 elements; pipeline needs 2"},
		{func(a *SampleArgs, p *Pipeline) { p.MaxHistoryTokens = -1 },
			"pipeline->max_history_tokens is -1; it must be at least 0"},
		{func(a *SampleArgs, p *Pipeline) { p.Biases = Slice([]float32{1}) },
			"pipeline->biases has 1 elements; pipeline needs 2"},
		{func(a *SampleArgs, p *Pipeline) { p.Biased.TokenIDs = I64([]int64{4, 0}) },
			"pipeline->history.token_ids is of id type 0 and pipeline->biased.token_ids of 1; " +
				"they must be of one type"},
		{func(a *SampleArgs, p *Pipeline) {
			p.GuidanceLogits, p.GuidanceRowIndices = F32(make([]float32, 9)), Slice([]int32{0, 0})
		},
			"pipeline->guidance_logits has 9 elements; it must be rows of 5"},
		{func(a *SampleArgs, p *Pipeline) {
			p.GuidanceLogits, p.GuidanceRowIndices = F32(make([]float32, 5)), Slice([]int32{0})
		},
			"pipeline->guidance_row_indices has 1 elements; pipeline needs 2"},
		{func(a *SampleArgs, p *Pipeline) { p.GuidanceLogits = BF16(make([]uint16, 10)) },
			"pipeline->guidance_logits is of dtype 2 and the call's logits of 0; they must be of " +
				"one type"},
		{func(a *SampleArgs, p *Pipeline) { p.DenseBias = Slice(make([]float32, 9)) },
			"pipeline->dense_bias has 9 elements; it must be rows of 5"},
		{func(a *SampleArgs, p *Pipeline) { p.DenseBias = Slice(make([]float32, 15)) },
			"pipeline->num_dense_biases is 3; it must be 1 or the number of slots, 2"},
		{func(a *SampleArgs, p *Pipeline) {
			p.DenseBias, p.NumDenseBiases, p.DenseBiasStride = Slice(make([]float32, 9)), 2, 5
		}, "pipeline->dense_bias has 9 elements; pipeline needs 10"},
		{func(a *SampleArgs, p *Pipeline) {
			p.BadWords = TokenLists{Offsets: Slice([]int64{0, 1}), TokenIDs: I32([]int32{1})}
			p.BadWordOffsets = Slice([]int64{0, 1})
		}, "pipeline->bad_word_offsets has 2 elements; pipeline needs 3"},
		{func(a *SampleArgs, p *Pipeline) { p.TokenBitmasks = Slice([]uint32{31}) },
			"pipeline->num_token_bitmasks is 1; it must be at least 2"},
		{func(a *SampleArgs, p *Pipeline) {
			p.TokenBitmasks, p.TokenBitmaskStride = Slice(make([]uint32, 7)), 3
		}, "pipeline->token_bitmasks has 7 elements; it must be rows of 3"},
		{func(a *SampleArgs, p *Pipeline) { p.NumTokenBitmasks = 3 },
			"pipeline->token_bitmasks has 2 elements; pipeline needs 3"},
		{func(a *SampleArgs, p *Pipeline) { p.TokenBitmaskIndices = Slice([]int32{1}) },
			"pipeline->token_bitmask_indices has 1 elements; pipeline needs 2"},
		{func(a *SampleArgs, p *Pipeline) { p.TokenBitmaskRule = 2 },
			"pipeline->token_bitmask_rule is 2; it must be one of its constants, 0 to 1"},
		{func(a *SampleArgs, p *Pipeline) {
			p.Stop.Offsets, p.Stop.NumLists = OnDevice[int64](4096), 1
		},
			"pipeline->stop.offsets is device memory, 0x1000; it must be a slice on a CPU sampler"},
		{func(a *SampleArgs, p *Pipeline) {
			a.RowParams = &RowParams{ForcedTokenID: Slice([]int64{1})}
		}, "row_params->forced_token_id has 1 elements; row_params needs 2"},
		{func(a *SampleArgs, p *Pipeline) {
			a.Slots, a.NumSlots = Slice([]int32{0, 1}), 3
			a.RowParams = &RowParams{DRYBase: Slice([]float32{1, 2})}
			p.History.Offsets = Slice([]int64{0, 4})
		}, "row_params->dry_base has 2 elements; row_params needs 3"},
		{func(a *SampleArgs, p *Pipeline) { a.Params.PenaltyForm = 3 },
			"params->penalty_form is 3; it must be one of its constants, 0 to 2"},
	} {
		args, _, tokens := pipelineArgs()
		c.change(args, args.Pipeline)
		expectError(t, s.Sample(args), ErrInvalidArgument, c.message)
		if tokens[0] != 77 {
			t.Errorf("%s: a token was written", c.message)
		}
	}
}

// fill gives each member a value of its own: numbers, and arrays in device memory; slices have 3
// elements.
func fill(t *testing.T, args reflect.Value, next int) int {
	t.Helper()
	for i := 0; i < args.NumField(); i++ {
		field := args.Field(i)
		if !field.CanSet() { // no member of C
			continue
		}
		switch f := field.Addr().Interface().(type) {
		case *TokenLists:
			next = fill(t, field, next)
			continue
		case *Exec, *Rows, *Random, **Params, **RowParams, **Pipeline, **AcceptanceParams, **DraftLayout,
			**ReportArgs:
			continue
		case **State: // its address is the sampler's business
			continue
		case *bool:
			*f = true
		case *Array[Acceptance]:
			*f = OnDevice[Acceptance](uintptr(next))
		case *Array[RowStatus]:
			*f = OnDevice[RowStatus](uintptr(next))
		case *Array[AdaptiveKind]:
			*f = OnDevice[AdaptiveKind](uintptr(next))
		case *Array[PLessKind]:
			*f = OnDevice[PLessKind](uintptr(next))
		case *float32:
			*f = float32(next)
		case *[]float32:
			*f = make([]float32, 3)
		case *Array[byte]:
			*f = OnDevice[byte](uintptr(next))
		case *Array[float32]:
			*f = OnDevice[float32](uintptr(next))
		case *Array[int32]:
			*f = OnDevice[int32](uintptr(next))
		case *Array[int64]:
			*f = OnDevice[int64](uintptr(next))
		case *Array[uint32]:
			*f = OnDevice[uint32](uintptr(next))
		case *IDs:
			*f = DeviceIDs(uintptr(next), IDTypeI64)
		case *Data:
			*f = Device(uintptr(next), DtypeF32)
		case *[MaxStages]Stage:
			for stage := range f {
				f[stage] = Stage(next + stage)
			}
		default:
			field.SetInt(int64(next))
		}
		next += MaxStages
	}
	return next
}

// expectFilled compares what C gets with the members of the same name.
func expectFilled(t *testing.T, got, want reflect.Value) {
	t.Helper()
	for i := 0; i < got.NumField(); i++ {
		name, value := got.Type().Field(i).Name, got.Field(i)
		member := want.FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, name) })
		isEqual := false
		switch {
		case strings.HasPrefix(name, "Reserved") || name == "State":
			isEqual = value.IsZero()
		case name == "StructSize":
			isEqual = uintptr(value.Uint()) == got.Type().Size()
		case name == "TokenIDType":
			isEqual = IDType(value.Int()) == IDTypeI64
		case member.Type() == reflect.TypeOf(Exec{}) || member.Type() == reflect.TypeOf(Rows{}) ||
			member.Type() == reflect.TypeOf(Random{}) || member.Kind() == reflect.Pointer:
			isEqual = value.IsZero()
		case member.Kind() == reflect.Bool:
			isEqual = (value.Int() != 0) == member.Bool()
		case value.Kind() == reflect.Struct:
			expectFilled(t, value, member)
			isEqual = true
		case value.Kind() == reflect.Array:
			isEqual = true
			for stage := 0; stage < value.Len(); stage++ {
				isEqual = isEqual && value.Index(stage).Int() == member.Index(stage).Int()
			}
		case value.Kind() == reflect.Float32:
			isEqual = value.Float() == member.Float()
		case member.Kind() == reflect.Slice:
			isEqual = uintptr(value.Uint()) == member.Pointer()
		case value.Kind() == reflect.Uintptr:
			isEqual = value.Uint() == member.FieldByName("array").FieldByName("address").Uint()
		default:
			isEqual = value.Int() == member.Int()
		}
		if !isEqual {
			t.Errorf("%s.%s is %v, want %v", got.Type().Name(), name, value, member)
		}
	}
}

func TestMembersOfPipelinesArrive(t *testing.T) {
	params, rowParams, pipeline := DefaultParams(), RowParams{}, Pipeline{}
	next := 4096
	for _, args := range []any{&params, &rowParams, &pipeline} {
		next = fill(t, reflect.ValueOf(args).Elem(), next)
	}
	c := check{sampler: &Sampler{onCUDA: true}}
	c.params(&params)
	c.rowParams(&rowParams, 5)
	c.pipeline(&pipeline, &Rows{NumRows: 5, NumCols: 5}, 5, 5)
	if c.err != nil {
		t.Fatal(c.err)
	}
	memory := &c.sampler.memory
	expectFilled(t, reflect.ValueOf(memory.params), reflect.ValueOf(params))
	if paramsOf(&memory.params) != params {
		t.Errorf("%+v come back as %+v", params, paramsOf(&memory.params))
	}
	expectFilled(t, reflect.ValueOf(memory.rowParams), reflect.ValueOf(rowParams))
	expectFilled(t, reflect.ValueOf(memory.pipeline), reflect.ValueOf(pipeline))
}

// They are those of C's constants.
func TestStatusAndReasonsHaveNames(t *testing.T) {
	constants, err := os.ReadFile("../swig/constants.i")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, match := range regexp.MustCompile(`int SAMPLER_(ROW|FINISH)_(\w+) = (\d+);`).
		FindAllStringSubmatch(string(constants), -1) {
		value, err := strconv.Atoi(match[3])
		if err != nil {
			t.Fatal(err)
		}
		kind, name, got := match[1], match[2], RowStatus(value).String()
		if kind == "FINISH" {
			got = FinishReason(value).String()
		}
		if name == "CANCELLED" { // of loops around a model, which Go has not
			name = match[3]
		}
		if got != name {
			t.Errorf("SAMPLER_%s_%s is %s", kind, match[2], got)
		}
		found[kind]++
	}
	if found["ROW"] != 12 || found["FINISH"] != 7 {
		t.Errorf("%v constants", found)
	}
	if got := (RowInvalidSlot | RowEmpty | 1<<30).String(); got != "EMPTY|INVALID_SLOT|0x40000000" {
		t.Errorf("three bits are %s", got)
	}
}

func TestStagesHaveNames(t *testing.T) {
	for stage, name := range map[Stage]string{StageBias: "BIAS", StageNoRepeatNgram: "NO_REPEAT_NGRAM",
		StageAdaptive: "ADAPTIVE"} {
		if got := stage.String(); got != name {
			t.Errorf("%d is %s, want %s", int32(stage), got, name)
		}
	}
	if got := Stage(0).String(); got != "" {
		t.Errorf("what is no stage is %s", got)
	}
}
