package sampler_test

import (
	"errors"
	"fmt"
	"log"
	"math"

	sampler "github.com/libsampler/libsampler/bindings/go"
)

// The program that README.md shows in C.
func Example() {
	logits := []float32{2, 2.5, 1.5, -1, 0}
	tokens := make([]int32, 1)
	s, err := sampler.New(sampler.Options{MaxRows: 1, MaxCols: len(logits)})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	input := sampler.Rows{Values: sampler.F32(logits), NumRows: 1, NumCols: len(logits)}
	for step := uint64(0); step < 5; step++ { // one offset a step
		if err := s.TopKTopP(input, 3, 0.95, 0.8, 1, step, tokens); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("step %d: token %d\n", step, tokens[0])
	}
	// Output:
	// step 0: token 2
	// step 1: token 2
	// step 2: token 1
	// step 3: token 0
	// step 4: token 1
}

// A batch whose rows have parameters of their own, and a bad row that its neighbours do not notice.
func ExampleSampler_Sample() {
	s, err := sampler.New(sampler.Options{MaxRows: 3, MaxCols: 4})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	tokens, logprobs, status := make([]int64, 3), make([]float32, 3), make([]sampler.RowStatus, 3)
	err = s.Sample(&sampler.SampleArgs{
		Input: sampler.Rows{
			Values: sampler.F32([]float32{
				1, 2, 3, 4,
				1, 2, 3, 4,
				0, 0, 0, float32(math.Inf(1)),
			}),
			NumRows: 3, NumCols: 4,
		},
		RowParams: &sampler.RowParams{
			Temperature: sampler.Slice([]float32{0, 1, 1}), // row 0 is greedy
		},
		Random:      sampler.Random{Seeds: sampler.Slice([]uint64{1, 2, 3})},
		OutTokenIDs: sampler.I64(tokens), Reports: &sampler.ReportArgs{OutLogprobs: sampler.Slice(logprobs)},
		OutRowStatus: sampler.Slice(status),
	})
	if err != nil {
		log.Fatal(err)
	}
	for row := range tokens {
		fmt.Printf("token %d, logprob %.3f, status %v\n", tokens[row], logprobs[row], status[row])
	}
	// Output:
	// token 3, logprob -0.440, status OK
	// token 3, logprob -0.440, status OK
	// token -1, logprob NaN, status INVALID_VALUE
}

func ExampleSampler_Softmax() {
	s, err := sampler.New(sampler.Options{MaxRows: 1, MaxCols: 3})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	probabilities := make([]float32, 3)
	input := sampler.Rows{Values: sampler.F32([]float32{1, 2, 3}), NumRows: 1, NumCols: 3}
	if err := s.Softmax(input, 1, probabilities); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n", probabilities)
	// Output:
	// [0.0900 0.2447 0.6652]
}

// A running batch whose rows belong to sequences 5 and 2 of an engine that holds parameters, seeds
// and offsets of all of them.
func ExampleSampler_Sample_slots() {
	s, err := sampler.New(sampler.Options{MaxRows: 2, MaxCols: 4})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	temperatures, seeds, offsets := make([]float32, 8), make([]uint64, 8), make([]uint64, 8)
	temperatures[2], seeds[2] = 0.7, 42
	tokens := make([]int32, 2)
	err = s.Sample(&sampler.SampleArgs{
		Input: sampler.Rows{
			Values:  sampler.F32([]float32{1, 2, 3, 4, 9, 0, 0, 0}),
			NumRows: 2, NumCols: 4,
		},
		Slots: sampler.Slice([]int32{5, 2}), NumSlots: 8,
		RowParams:   &sampler.RowParams{Temperature: sampler.Slice(temperatures)},
		Random:      sampler.Random{Seeds: sampler.Slice(seeds), Offsets: sampler.Slice(offsets)},
		OutTokenIDs: sampler.I32(tokens),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tokens)
	// Output:
	// [3 0]
}

// Two drafts by a deterministic drafter, of which the target accepts the first.
func ExampleSampler_Verify() {
	s, err := sampler.New(sampler.Options{MaxRows: 3, MaxCols: 3})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	params := sampler.DefaultParams()
	params.Temperature = 0
	tokens, emitted := make([]int32, 3), make([]int32, 1)
	err = s.Verify(&sampler.VerifyArgs{
		Target: sampler.Rows{
			Values: sampler.F32([]float32{
				9, 0, 0,
				0, 9, 0,
				0, 0, 9,
			}),
			NumRows: 3, NumCols: 3,
		},
		NumDrafts: 2, DraftTokenIDs: sampler.I32([]int32{0, 2}),
		Params:      &params,
		OutTokenIDs: sampler.I32(tokens), OutEmittedCounts: sampler.Slice(emitted),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tokens, emitted)
	// Output:
	// [0 1 -1] [1]
}

// A sampler without a workspace: each call brings its own.
func ExampleSampler_WorkspaceSize() {
	s, err := sampler.New(sampler.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	params := sampler.DefaultParams()
	params.TopK = 1
	tokens := make([]int32, 1)
	args := sampler.SampleArgs{
		Input:  sampler.Rows{Values: sampler.F32([]float32{1, 3, 2}), NumRows: 1, NumCols: 3},
		Params: &params, OutTokenIDs: sampler.I32(tokens),
	}
	bytes, err := s.WorkspaceSize(&args)
	if err != nil {
		log.Fatal(err)
	}
	args.Exec.Workspace = sampler.Slice(make([]byte, bytes))
	if err := s.Sample(&args); err != nil {
		log.Fatal(err)
	}
	fmt.Println(tokens)
	// Output:
	// [1]
}

func ExampleError() {
	s, err := sampler.New(sampler.Options{MaxRows: 1, MaxCols: 5})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	input := sampler.Rows{Values: sampler.F32(make([]float32, 4)), NumRows: 1, NumCols: 5}
	err = s.Argmax(input, make([]int32, 1))
	fmt.Println(errors.Is(err, sampler.ErrInvalidArgument))
	var e *sampler.Error
	if errors.As(err, &e) {
		fmt.Println(e.Op)
		fmt.Println(e.Message)
	}
	// Output:
	// true
	// Argmax
	// input.values has 4 elements; input needs 5
}

func ExampleNgramStorage() {
	storage, err := sampler.NewNgramStorage(sampler.NgramStorageOptions{VocabularySize: 100})
	if err != nil {
		log.Fatal(err)
	}
	defer storage.Close()
	text := []int32{1, 2, 3, 1, 2, 3, 1, 2, 4, 1, 2}
	if err := storage.Initialize(text); err != nil {
		log.Fatal(err)
	}
	// Up to 4 tokens, each counted at least twice after its context, and half of the times.
	drafts := make([]int32, 4)
	n, err := storage.Propose(text, 2, 0.5, drafts)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(drafts[:n])
	// Output: [3 1 2 3]
}
