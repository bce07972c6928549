// Command overhead measures how long a call takes whose row is so short that the way to the library
// is what counts: the call of the package's example. It prints one line of JSON, as the same
// programs of other languages do.
package main

import (
	"fmt"
	"log"
	"sort"
	"strings"
	"time"

	sampler "github.com/libsampler/libsampler/bindings/go"
)

const (
	numCalls   = 200000
	numRepeats = 5
)

func nsPerCall(s *sampler.Sampler, logits []float32, tokens []int32, step *uint64) float64 {
	start := time.Now()
	input := sampler.Rows{Values: sampler.F32(logits), NumRows: 1, NumCols: len(logits)}
	for i := 0; i < numCalls; i++ {
		err := s.TopKTopP(input, 3, 0.95, 0.8, 1, *step, tokens)
		if err != nil {
			log.Fatal(err)
		}
		*step++
	}
	return float64(time.Since(start).Nanoseconds()) / numCalls
}

func main() {
	logits := []float32{2, 2.5, 1.5, -1, 0}
	tokens := make([]int32, 1)
	s, err := sampler.New(sampler.Options{MaxRows: 1, MaxCols: len(logits)})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	var step uint64
	nsPerCall(s, logits, tokens, &step) // warms up
	var repeats []float64
	var texts []string
	for i := 0; i < numRepeats; i++ {
		repeats = append(repeats, nsPerCall(s, logits, tokens, &step))
		texts = append(texts, fmt.Sprintf("%.1f", repeats[i]))
	}
	sort.Float64s(repeats)
	fmt.Printf("{\"language\": \"go\", \"ns_per_call\": %.1f, \"repeats\": [%s]}\n",
		repeats[numRepeats/2], strings.Join(texts, ", "))
}
