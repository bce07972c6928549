package sampler

import (
	"errors"
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
