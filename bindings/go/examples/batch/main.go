// Command batch serves three requests in two slots. A state remembers the tokens of each slot, so
// that every step draws with a penalty and then accepts what was drawn. A row that goes wrong ends
// its own request alone.
package main

import (
	"fmt"
	"log"
	"math"

	sampler "github.com/libsampler/libsampler/bindings/go"
)

const (
	numSlots   = 2
	vocabulary = 8
	maxTokens  = 8 // of a request, its prompt included
)

// runModel stands for a model: the rows of logits of the next tokens of these slots. A fault of it
// leaves a NaN in a row of the third step.
func runModel(step int, slots []int32, logits []float32) {
	likely := [numSlots]float32{2, 5}
	for row, slot := range slots {
		for id := 0; id < vocabulary; id++ {
			distance := float32(id) - likely[slot]
			logits[row*vocabulary+id] = 4 - distance*distance/4
		}
		if step == 2 && slot == 1 {
			logits[row*vocabulary] = float32(math.NaN())
		}
	}
}

// batch is the requests that draw together.
type batch struct {
	state   *sampler.State
	slots   []int32  // those that have a request, a row each
	offsets []uint64 // of each slot: Accept counts its tokens

	tokens, lengths []int32 // by row, as the status of the draw, and of what the state took
	drawn, accepted []sampler.RowStatus
}

// start puts a request into a slot that has none.
func (b *batch) start(slot int32, prompt []int32) error {
	slots, status := sampler.Slice([]int32{slot}), make([]sampler.RowStatus, 1)
	if err := b.state.Reset(&sampler.ResetArgs{Slots: slots}); err != nil {
		return err
	}
	err := b.state.Append(&sampler.AppendArgs{Slots: slots, Tokens: sampler.Lists(prompt),
		TokenKind: sampler.TokensPrompt, OutRowStatus: sampler.Slice(status)})
	if err == nil && status[0] != sampler.RowOK {
		err = fmt.Errorf("the prompt of slot %d has the status %v", slot, status[0])
	}
	b.offsets[slot] = 0
	return err
}

// step draws a token for each row, and gives it to the state.
func (b *batch) step(s *sampler.Sampler, logits []float32) error {
	params := sampler.DefaultParams()
	params.FrequencyPenalty, params.TopP = 0.8, 0.95
	err := s.Sample(&sampler.SampleArgs{
		Input:    sampler.Rows{Values: sampler.F32(logits), NumRows: len(b.slots), NumCols: vocabulary},
		Slots:    sampler.Slice(b.slots),
		NumSlots: numSlots,
		Params:   &params,
		Pipeline: &sampler.Pipeline{
			State:  b.state,
			Banned: sampler.Lists([]int32{0}), // one list, for all slots
		},
		Random:       sampler.Random{Seed: 7, Offsets: sampler.Slice(b.offsets)},
		OutTokenIDs:  sampler.I32(b.tokens),
		OutRowStatus: sampler.Slice(b.drawn),
	})
	if err != nil {
		return err
	}
	return b.state.Accept(&sampler.AcceptArgs{
		Slots:        sampler.Slice(b.slots),
		TokenIDs:     sampler.I32(b.tokens), // -1, the token of a bad row, changes nothing
		Params:       &params,
		Offsets:      sampler.Slice(b.offsets),
		OutLengths:   sampler.Slice(b.lengths),
		OutRowStatus: sampler.Slice(b.accepted),
	})
}

// end prints the text of a slot's request.
func (b *batch) end(slot int32, status sampler.RowStatus) error {
	text, length, prompt := make([]int32, maxTokens), make([]int32, 1), make([]int32, 1)
	err := b.state.Read(&sampler.ReadArgs{Slots: sampler.Slice([]int32{slot}),
		OutTokenIDs: sampler.I32(text), NumTokens: maxTokens, OutLengths: sampler.Slice(length),
		OutPromptLengths: sampler.Slice(prompt)})
	fmt.Printf("slot %d ends, status %v: %v after %v\n", slot, status, text[prompt[0]:length[0]],
		text[:prompt[0]])
	return err
}

func serve(s *sampler.Sampler, waiting [][]int32) error {
	state, err := s.NewState(sampler.StateOptions{NumSlots: numSlots, MaxTokens: maxTokens})
	if err != nil {
		return err
	}
	defer state.Close()
	b := batch{state: state, offsets: make([]uint64, numSlots), tokens: make([]int32, numSlots),
		lengths: make([]int32, numSlots), drawn: make([]sampler.RowStatus, numSlots),
		accepted: make([]sampler.RowStatus, numSlots)}
	free := []int32{0, 1}
	logits := make([]float32, numSlots*vocabulary)
	for step := 0; ; step++ {
		for len(free) > 0 && len(waiting) > 0 {
			if err := b.start(free[0], waiting[0]); err != nil {
				return err
			}
			b.slots = append(b.slots, free[0])
			free, waiting = free[1:], waiting[1:]
		}
		if len(b.slots) == 0 {
			return nil
		}
		runModel(step, b.slots, logits)
		if err := b.step(s, logits); err != nil {
			return err
		}
		running := b.slots[:0]
		for row, slot := range b.slots {
			fmt.Printf("step %d, slot %d: %d\n", step, slot, b.tokens[row])
			status := b.drawn[row] | b.accepted[row]
			if status == sampler.RowOK && b.lengths[row] < maxTokens {
				running = append(running, slot)
				continue
			}
			if err := b.end(slot, status); err != nil {
				return err
			}
			free = append(free, slot)
		}
		b.slots = running
	}
}

func main() {
	log.SetFlags(0)
	s, err := sampler.New(sampler.Options{MaxRows: numSlots, MaxCols: 4096}) // room for the stages, too
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := serve(s, [][]int32{{1, 2}, {5}, {3, 4}}); err != nil {
		log.Fatal(err)
	}
}
