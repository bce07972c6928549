package sampler

// The simple calls: the operations of the field on a CPU sampler, with slices for the results. A
// token is drawn for each row of input; use each pair of seed and offset once, another offset for
// each step. outTokenIDs is [NumRows].

func params(temperature float32, topK int, topP, minP float32) Params {
	return Params{Temperature: temperature, TopK: topK, TopP: topP, MinP: minP, isMade: true}
}

func (s *Sampler) draw(op string, input *Rows, params Params, seed, offset uint64,
	outTokenIDs []int32) error {
	args := SampleArgs{Input: *input, Params: &params, Random: Random{Seed: seed, Offset: offset},
		OutTokenIDs: I32(outTokenIDs)}
	_, err := args.run(s, op, false)
	return err
}

func (s *Sampler) write(op string, input *Rows, params Params, kind OutputKind,
	output []float32) error {
	args := FilterArgs{Input: *input, Params: &params, OutputKind: kind, Output: F32(output)}
	_, err := args.run(s, op, false)
	return err
}

// Argmax gives the token of the largest value of each row.
func (s *Sampler) Argmax(input Rows, outTokenIDs []int32) error {
	return s.draw("Argmax", &input, params(0, 0, 1, 0), 0, 0, outTokenIDs)
}

// Categorical draws from the whole row. A temperature of at most 1e-5 is greedy, here as below.
func (s *Sampler) Categorical(input Rows, temperature float32, seed, offset uint64,
	outTokenIDs []int32) error {
	return s.draw("Categorical", &input, params(temperature, 0, 1, 0), seed, offset, outTokenIDs)
}

// TopK draws from the topK likeliest tokens; <= 0: from all.
func (s *Sampler) TopK(input Rows, topK int, temperature float32, seed, offset uint64,
	outTokenIDs []int32) error {
	return s.draw("TopK", &input, params(temperature, topK, 1, 0), seed, offset, outTokenIDs)
}

// TopP draws from the nucleus: the likeliest tokens whose probability reaches topP; >= 1: all.
func (s *Sampler) TopP(input Rows, topP, temperature float32, seed, offset uint64,
	outTokenIDs []int32) error {
	return s.draw("TopP", &input, params(temperature, 0, topP, 0), seed, offset, outTokenIDs)
}

// MinP draws from the tokens at least minP times as likely as the likeliest; <= 0: all.
func (s *Sampler) MinP(input Rows, minP, temperature float32, seed, offset uint64,
	outTokenIDs []int32) error {
	return s.draw("MinP", &input, params(temperature, 0, 1, minP), seed, offset, outTokenIDs)
}

// TopKTopP draws from what top-k keeps, then top-p of that.
func (s *Sampler) TopKTopP(input Rows, topK int, topP, temperature float32, seed, offset uint64,
	outTokenIDs []int32) error {
	return s.draw("TopKTopP", &input, params(temperature, topK, topP, 0), seed, offset, outTokenIDs)
}

// Softmax writes the probabilities of logits at the temperature, [NumRows, NumCols]; 0 for a bad
// row.
func (s *Sampler) Softmax(input Rows, temperature float32, output []float32) error {
	return s.write("Softmax", &input, params(temperature, 0, 1, 0), OutputProbabilities, output)
}

// TopKRenorm writes probabilities, [NumRows, NumCols]: those of the topK largest renormalised, 0
// elsewhere and in bad rows.
func (s *Sampler) TopKRenorm(input Rows, topK int, output []float32) error {
	return s.write("TopKRenorm", &input, params(1, topK, 1, 0), OutputProbabilities, output)
}

// TopPRenorm writes probabilities, [NumRows, NumCols]: those of the nucleus renormalised, 0
// elsewhere and in bad rows.
func (s *Sampler) TopPRenorm(input Rows, topP float32, output []float32) error {
	return s.write("TopPRenorm", &input, params(1, 0, topP, 0), OutputProbabilities, output)
}

// TopKMask writes logits, [NumRows, NumCols], with all but the topK largest set to -inf. A bad row
// is copied.
func (s *Sampler) TopKMask(input Rows, topK int, output []float32) error {
	return s.write("TopKMask", &input, params(1, topK, 1, 0), OutputValues, output)
}

// TopKSelect writes the first numSelected tokens of each row, largest value first: [NumRows,
// numSelected] values and ids, either of which may be nil. Where there are fewer tokens the rest is
// -inf (probabilities: 0) and -1.
func (s *Sampler) TopKSelect(input Rows, numSelected int, outValues []float32,
	outTokenIDs []int32) error {
	args := SelectArgs{Input: input, NumSelected: numSelected, OutValues: F32(outValues),
		OutTokenIDs: I32(outTokenIDs)}
	_, err := args.run(s, "TopKSelect", false)
	return err
}

// ChainSpeculative verifies a chain of numDrafts draft tokens for each sequence, so that what is
// emitted follows the target's distribution: Verify has the rows. Draft is Rows{} for a
// deterministic drafter. The tokens that are written, [number of sequences, numDrafts + 1], are the
// accepted drafts, one token more, then -1. The counts, [number of sequences], may be nil: drafts
// that would be accepted each on its own, and drafts before the first rejection.
func (s *Sampler) ChainSpeculative(target, draft Rows, draftTokenIDs []int32, numDrafts int,
	seed, offset uint64, outTokenIDs, outAcceptedCounts, outEmittedCounts []int32) error {
	args := VerifyArgs{Target: target, Draft: draft, DraftTokenIDs: I32(draftTokenIDs),
		NumDrafts: numDrafts, Random: Random{Seed: seed, Offset: offset},
		OutTokenIDs: I32(outTokenIDs), OutAcceptedCounts: Slice(outAcceptedCounts),
		OutEmittedCounts: Slice(outEmittedCounts)}
	_, err := args.run(s, "ChainSpeculative", false)
	return err
}
