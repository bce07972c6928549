// Command session runs a model for two sequences that come and go in one batch: a session plans which
// tokens to run, and turns logits into tokens. Texts that repeat themselves are drafted from
// themselves, so that a step may give several tokens.
package main

import (
	"fmt"
	"log"

	sampler "github.com/libsampler/libsampler/bindings/go"
)

const (
	maxSequences = 2
	maxContext   = 64
	maxDrafts    = 3
	vocabulary   = 8
)

// model stands for a model with a cache for each sequence. It says the next number, with some noise.
type model struct {
	caches [maxSequences][]int32
}

// run appends a span to the cache of its sequence, and to logits the rows that the session wants: those
// after the last tokens.
func (m *model) run(span sampler.Span, logits []float32) []float32 {
	cache := append(m.caches[span.Sequence][:span.Start], span.TokenIDs...)
	m.caches[span.Sequence] = cache
	for length := len(cache) - span.NumLogits + 1; length <= len(cache); length++ {
		next := (int(cache[length-1]) + 1) % vocabulary
		for id := 0; id < vocabulary; id++ {
			logit := float32((5*id + 3*length) % 8) // noise
			if id == next {
				logit += 8
			}
			logits = append(logits, logit/2)
		}
	}
	return logits
}

func start(session *sampler.Session, prompt []int32, seed uint64, stops ...[]int32) error {
	params := sampler.DefaultParams()
	params.Temperature, params.TopP = 0.8, 0.9
	sequence, err := session.Add(&sampler.AddArgs{
		TokenIDs:      prompt,
		Params:        &params,
		Seed:          seed,
		MaxNewTokens:  20,
		StopSequences: stops,
		DraftSource:   sampler.DraftsPromptLookup, // its own text
	})
	if err == nil {
		fmt.Printf("sequence %d: %v\n", sequence, prompt)
	}
	return err
}

// finish says why a sequence has ended, and makes room for another one.
func finish(session *sampler.Session, number int) error {
	sequence, err := session.Get(number)
	if err != nil {
		return err
	}
	fmt.Printf("sequence %d ends, %v: %d tokens in %d steps, %d of %d drafts kept\n", number,
		sequence.FinishReason, len(sequence.TokenIDs)-sequence.PromptLength, sequence.NumSteps,
		sequence.NumAccepted, sequence.NumDrafted)
	return session.Remove(number)
}

func serve(session *sampler.Session) error {
	if err := start(session, []int32{5, 6, 7, 0, 1, 2, 3, 5}, 1); err != nil {
		return err
	}
	var target model
	var plan sampler.Plan // kept from step to step, as its memory is, and the logits'
	var logits []float32
	tokens, counts := make([]int32, maxSequences*(maxDrafts+1)), make([]int64, maxSequences)
	reasons := make([]sampler.FinishReason, maxSequences)
	for step := 0; ; step++ {
		if step == 2 { // joins a running batch
			if err := start(session, []int32{6, 7, 0}, 2, []int32{7, 7}, []int32{3, 4}); err != nil {
				return err
			}
		}
		if err := session.Plan(&sampler.PlanArgs{MaxTokens: 16}, &plan); err != nil {
			return err
		}
		if len(plan.Spans) == 0 {
			return nil
		}
		logits = logits[:0]
		for _, span := range plan.Spans {
			logits = target.run(span, logits)
		}
		err := session.Advance(&sampler.AdvanceArgs{Spans: plan.Spans, Logits: sampler.F32(logits),
			OutTokenIDs: tokens, OutCounts: counts, OutFinishReasons: reasons})
		if err != nil {
			return err
		}
		for i, span := range plan.Spans {
			row := tokens[i*(maxDrafts+1):]
			fmt.Printf("step %d, sequence %d: %v\n", step, span.Sequence, row[:counts[i]])
			if reasons[i] != sampler.FinishNone {
				if err := finish(session, span.Sequence); err != nil {
					return err
				}
			}
		}
	}
}

func main() {
	log.SetFlags(0)
	s, err := sampler.New(sampler.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	session, err := s.NewSession(sampler.SessionOptions{
		MaxSequences: maxSequences, MaxContext: maxContext, VocabularySize: vocabulary,
		MaxDrafts: maxDrafts, LookupTokens: maxContext,
		MaxStopSequences: 2, MaxStopTokens: 4,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	if err := serve(session); err != nil {
		log.Fatal(err)
	}
}
