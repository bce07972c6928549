package sampler

import (
	"math"
	"reflect"
	"testing"
)

// A simple call beside the full call that its comment promises: both write the same.
func TestSimpleCallsAreFullCalls(t *testing.T) {
	const numSequences, numCols, numDrafts = 21, 7, 2
	const numRows = numSequences * (numDrafts + 1)
	s := newSampler(t, Options{MaxRows: numRows, MaxCols: numCols})
	logits, weights := make([]float32, numRows*numCols), make([]float32, numRows*numCols)
	for i := range logits {
		logits[i] = float32(math.Sin(float64(i*i))) * 3
		weights[i] = float32(i%numCols + i%5)
	}
	rows := Rows{Values: F32(logits), NumRows: numRows, NumCols: numCols}
	target := Rows{Values: F32(weights), NumRows: numRows, NumCols: numCols, Kind: Probabilities}
	draft := Rows{Values: F32(weights[1:]), NumRows: numSequences * numDrafts,
		NumCols: numCols, Kind: Probabilities}
	nothing := Rows{Values: BF16(nil), CandidateIDs: I64(nil)} // a deterministic drafter
	drafts := make([]int32, numSequences*numDrafts)
	for i := range drafts {
		drafts[i] = int32(i*i) % numCols
	}
	ofParams := func(change func(p *Params)) *Params {
		p := DefaultParams()
		change(&p)
		return &p
	}
	sample := func(change func(p *Params), seed, offset uint64) func([]int32, []float32) error {
		return func(ids []int32, _ []float32) error {
			return s.Sample(&SampleArgs{Input: rows, Params: ofParams(change),
				Random: Random{Seed: seed, Offset: offset}, OutTokenIDs: I32(ids)})
		}
	}
	filter := func(in Rows, change func(p *Params), kind OutputKind) func([]int32, []float32) error {
		return func(_ []int32, values []float32) error {
			return s.Filter(&FilterArgs{Input: in, Params: ofParams(change), OutputKind: kind,
				Output: F32(values)})
		}
	}
	verify := func(draft Rows) func([]int32, []float32) error {
		return func(ids []int32, _ []float32) error {
			return s.Verify(&VerifyArgs{Target: target, Draft: draft, NumDrafts: numDrafts,
				DraftTokenIDs: I32(drafts), Random: Random{Seed: 3, Offset: 4},
				OutTokenIDs: I32(ids), OutAcceptedCounts: Slice(ids[numRows:]),
				OutEmittedCounts: Slice(ids[numRows+numSequences:])})
		}
	}
	for name, c := range map[string]struct {
		simple, full func(ids []int32, values []float32) error
	}{
		"Argmax": {func(ids []int32, _ []float32) error { return s.Argmax(rows, ids) },
			sample(func(p *Params) { p.Temperature = 0 }, 0, 0)},
		"Categorical": {func(ids []int32, _ []float32) error {
			return s.Categorical(rows, 1.5, 1, 2, ids)
		}, sample(func(p *Params) { p.Temperature = 1.5 }, 1, 2)},
		"TopK": {func(ids []int32, _ []float32) error { return s.TopK(rows, 2, 1.5, 1, 2, ids) },
			sample(func(p *Params) { p.Temperature, p.TopK = 1.5, 2 }, 1, 2)},
		"TopP": {func(ids []int32, _ []float32) error {
			return s.TopP(rows, 0.5, 1.5, 1, 2, ids)
		}, sample(func(p *Params) { p.Temperature, p.TopP = 1.5, 0.5 }, 1, 2)},
		"MinP": {func(ids []int32, _ []float32) error {
			return s.MinP(rows, 0.3, 1.5, 1, 2, ids)
		}, sample(func(p *Params) { p.Temperature, p.MinP = 1.5, 0.3 }, 1, 2)},
		"TopKTopP": {func(ids []int32, _ []float32) error {
			return s.TopKTopP(rows, 4, 0.6, 1.5, 1, 2, ids)
		}, sample(func(p *Params) { p.Temperature, p.TopK, p.TopP = 1.5, 4, 0.6 }, 1, 2)},
		"Softmax": {func(_ []int32, values []float32) error { return s.Softmax(rows, 1.5, values) },
			filter(rows, func(p *Params) { p.Temperature = 1.5 }, OutputProbabilities)},
		"TopKRenorm": {func(_ []int32, values []float32) error {
			return s.TopKRenorm(target, 3, values)
		}, filter(target, func(p *Params) { p.TopK = 3 }, OutputProbabilities)},
		"TopPRenorm": {func(_ []int32, values []float32) error {
			return s.TopPRenorm(target, 0.6, values)
		}, filter(target, func(p *Params) { p.TopP = 0.6 }, OutputProbabilities)},
		"TopKMask": {func(_ []int32, values []float32) error { return s.TopKMask(rows, 3, values) },
			filter(rows, func(p *Params) { p.TopK = 3 }, OutputValues)},
		"TopKSelect": {func(ids []int32, values []float32) error {
			return s.TopKSelect(rows, 3, values, ids)
		}, func(ids []int32, values []float32) error {
			return s.Select(&SelectArgs{Input: rows, NumSelected: 3, OutValues: F32(values),
				OutTokenIDs: I32(ids)})
		}},
		"ChainSpeculative": {func(ids []int32, _ []float32) error {
			return s.ChainSpeculative(target, draft, drafts, numDrafts, 3, 4, ids, ids[numRows:],
				ids[numRows+numSequences:])
		}, verify(draft)},
		"ChainSpeculative, deterministic": {func(ids []int32, _ []float32) error {
			return s.ChainSpeculative(target, nothing, drafts, numDrafts, 3, 4, ids, ids[numRows:],
				ids[numRows+numSequences:])
		}, verify(Rows{})},
	} {
		t.Run(name, func(t *testing.T) {
			ids, values := make([]int32, 3*numRows), make([]float32, len(logits))
			fullIDs, fullValues := make([]int32, 3*numRows), make([]float32, len(logits))
			for i := range ids {
				ids[i], fullIDs[i] = -7, -7
			}
			if err := c.simple(ids, values); err != nil {
				t.Fatal(err)
			}
			if err := c.full(fullIDs, fullValues); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(ids, fullIDs) || !reflect.DeepEqual(values, fullValues) {
				t.Errorf("simple: %v, %v\nfull: %v, %v", ids, values, fullIDs, fullValues)
			}
		})
	}
}

// What a slice must have, and whose name is given.
func TestErrorsOfSimpleCalls(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 5})
	err := s.TopKSelect(readmeRows(), 3, nil, make([]int32, 2))
	expectError(t, err, ErrInvalidArgument, "out_token_ids has 2 elements; it needs 3")
	if err.(*Error).Op != "TopKSelect" {
		t.Error(err)
	}
	err = s.Softmax(readmeRows(), float32(math.NaN()), make([]float32, 5))
	expectError(t, err, ErrInvalidArgument, "params->temperature is NaN; it must be a number")
}
