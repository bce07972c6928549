// Command overhead tells how long a call takes whose row is so short that the way to the library is
// what counts: the call of the package's example. It prints one line of JSON, as the same programs
// of other languages do.
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
	for i := 0; i < numCalls; i++ {
		err := s.TopKTopP(&sampler.TopKTopPArgs{
			Input: sampler.F32(logits), NumRows: 1, NumCols: len(logits),
			Temperature: sampler.Float(0.8), TopK: sampler.Int(3), TopP: sampler.Float(0.95),
			Seed: sampler.Uint(1), Offset: sampler.Uint(*step),
			OutTokenIDs: sampler.I32(tokens),
		})
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
