package sampler

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
)

// A text that is drawn with the watermark is found by its key alone.
func TestWatermarks(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 64})
	const key = 42
	var text []int64
	logits, token := make([]float32, 64), make([]int64, 1)
	for step := 0; step < 60; step++ {
		context := []int64{-1, -1, -1, -1}
		for i := 0; i < 4 && i < len(text); i++ {
			context[3-i] = text[len(text)-1-i]
		}
		seed, offset, stream, err := WatermarkRandom(key, context)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Sample(&SampleArgs{Input: Rows{Values: F32(logits), NumRows: 1, NumCols: 64},
			Random:     Random{Seed: seed, Offset: offset, Streams: Slice([]uint32{stream})},
			DrawMethod: DrawWatermark, OutTokenIDs: I64(token)}); err != nil {
			t.Fatal(err)
		}
		text = append(text, token[0])
	}
	found, err := WatermarkDetect(key, text, 4, false)
	if err != nil || found.PValue > 1e-6 || found.NumScored != 60 || found.Score < 100 {
		t.Errorf("%v, %v", found, err)
	}
	if other, err := WatermarkDetect(key+1, text, 4, true); err != nil || other.PValue < 1e-3 {
		t.Errorf("%v, %v", other, err)
	}
	if _, _, _, err := WatermarkRandom(key, nil); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
	if _, err := WatermarkDetect(key, text, 65, false); !errors.Is(err, ErrInvalidArgument) {
		t.Error(err)
	}
}

// As printed by tests/abi/consumer.c.
func TestWatermarkSchemes(t *testing.T) {
	text, candidates := []int64{3, 1, 4, 1, 5, 9, 2, 6}, []int32{7, 8, 9}
	biases := func(params *WatermarkParams, candidates []int32, want ...float32) {
		t.Helper()
		if got, err := WatermarkBias(params, text[:1], candidates); err != nil ||
			!reflect.DeepEqual(got, want) {
			t.Errorf("%v, %v", got, err)
		}
	}
	score := func(params *WatermarkParams, want string) {
		t.Helper()
		found, err := WatermarkScore(params, text)
		if got := fmt.Sprintf("%.6f %d %.6f", found.Score, found.NumScored, found.PValue); err != nil ||
			got != want {
			t.Errorf("%s, %v", got, err)
		}
	}
	table := func(params *WatermarkParams, num int) {
		t.Helper()
		made, err := WatermarkTable(params)
		if err != nil || len(made) != num {
			t.Fatalf("%d numbers, %v", len(made), err)
		}
		params.Table = made
	}

	params := WatermarkParams{VocabularySize: 16, ContextLength: 1, Key: 15485863, GreenShare: 0.25,
		Bias: 2}
	biases(&params, nil, 0, 2, 0, 2, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0)
	score(&params, "0.218218 7 0.413630")

	params.Scheme, params.GreenShare, params.TableSize = SchemeSelfhash, 0.5, 32
	table(&params, 32)
	biases(&params, candidates, 0, 0, 2)
	biases(&params, nil, []float32{}...)

	marked := WatermarkParams{Scheme: SchemeTournament, VocabularySize: 16, ContextLength: 1,
		Keys: []int64{654, 400, 836}, KeepsRepeated: true, TableSize: 32, TableSeed: 7}
	table(&marked, 32)
	probabilities := []float32{0.5, 0.25, 0.25}
	if err := WatermarkTournament(&marked, text[:1], candidates, probabilities); err != nil ||
		!reflect.DeepEqual(probabilities, []float32{0x1.bp-1, 0x1.2p-3, 0x1p-6}) {
		t.Errorf("%v, %v", probabilities, err)
	}
	score(&marked, "0.476190 7 0.586370")
	marked.KeepsRepeated = false // 1 comes twice
	if found, err := WatermarkScore(&marked, text); err != nil || found.NumScored != 6 {
		t.Errorf("%v, %v", found, err)
	}

	// The schemes' own sizes.
	params.TableSize, marked.TableSize = 0, 0
	table(&params, 1000003)
	table(&marked, 65536)
	biases(&params, candidates[:1], 0)
}

func TestRulesOfWatermarkSchemes(t *testing.T) {
	rule := func(err error, want string) {
		t.Helper()
		if !errors.Is(err, ErrInvalidArgument) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
	text, ids, three := []int64{1, 2, 3}, []int32{7, 8}, make([]float32, 3)
	green := WatermarkParams{VocabularySize: 16, ContextLength: 2, Key: 1, GreenShare: 0.5, Bias: 2}
	marked := WatermarkParams{Scheme: SchemeTournament, VocabularySize: 16, ContextLength: 2,
		Keys: text, TableSize: 4, Table: []int32{0, 1, 1, 0}}
	for _, context := range [][]int64{nil, text[:1], text} {
		_, err := WatermarkBias(&green, context, nil)
		want := fmt.Sprintf("context has %d elements; it must have 2", len(context))
		rule(err, "sampler: WatermarkBias: "+want)
		rule(WatermarkTournament(&marked, context, ids, three[:2]), want)
	}
	for _, num := range []int{0, 1, 3} {
		rule(WatermarkTournament(&marked, text[:2], ids, three[:num]),
			fmt.Sprintf("probabilities has %d elements; it must have 2", num))
	}
	for _, num := range []int{0, 3, 5} {
		marked.Table = make([]int32, num)
		want := fmt.Sprintf("params->table has %d elements; it must have 4", num)
		rule(WatermarkTournament(&marked, text[:2], ids, three[:2]), want)
		_, err := WatermarkScore(&marked, text)
		rule(err, want)
	}
	self := green
	self.Scheme, self.Table = SchemeSelfhash, make([]int32, 4)
	_, err := WatermarkBias(&self, text[:2], ids)
	rule(err, "params->table has 4 elements; it must have 1000003")

	// The library's.
	self.Table = nil
	_, err = WatermarkBias(&self, text[:2], ids)
	rule(err, "params->table is NULL; it is required")
	_, err = WatermarkBias(&green, text[:2], ids)
	rule(err, "num_candidates is 2; it must be below 1")
	_, err = WatermarkTable(&green)
	rule(err, "it has no table")
	for size, want := range map[int]string{-1: "at least 1", 1<<24 + 1: "below 16777217",
		math.MaxInt: "below 16777217"} {
		self.TableSize = size
		_, err = WatermarkTable(&self)
		rule(err, fmt.Sprintf("params->table_size is %d; it must be %s", size, want))
	}
	for size, want := range map[int]string{-1: "at least 2", 0: "at least 2", 1 << 20: "below 1048576",
		math.MaxInt: "below 1048576"} {
		green.VocabularySize = size
		_, err = WatermarkBias(&green, text[:2], nil)
		rule(err, fmt.Sprintf("params->vocabulary_size is %d; it must be %s", size, want))
	}
	green.Scheme = 3
	_, err = WatermarkTable(&green)
	rule(err, "params->scheme is 3; it must be one of its constants, 0 to 2")
	_, err = WatermarkTable(nil)
	rule(err, "params is nil; it is required")
	_, err = WatermarkBias(nil, nil, nil)
	rule(err, "params is nil; it is required")
	rule(WatermarkTournament(nil, nil, nil, nil), "params is nil; it is required")
	_, err = WatermarkScore(nil, nil)
	rule(err, "params is nil; it is required")
}
