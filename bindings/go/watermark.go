package sampler

import (
	"math"
	"runtime"
	"unsafe"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// WatermarkRandom returns the random numbers that DrawWatermark draws with after the last tokens of an
// output, at most 64, oldest first, -1 where it has fewer.
func WatermarkRandom(key uint64, context []int64) (seed, offset uint64, stream uint32, err error) {
	out, text := new([3]uint64), make([]byte, raw.SHIM_ERROR_BYTES)
	status := Status(raw.ShimWatermarkRandom(int64(key), uintptr(raw.Memory(context)),
		int64(len(context)), raw.Address(out), uintptr(raw.Memory(text))))
	runtime.KeepAlive(context)
	if status != statusOK {
		return 0, 0, 0, &Error{"WatermarkRandom", status, textOf(text)}
	}
	return out[0], out[1], uint32(out[2]), nil
}

// WatermarkDetection is what WatermarkDetect or WatermarkScore found in a text.
type WatermarkDetection struct {
	Score     float64 // WatermarkDetect: about 1 for each token scored without the watermark, more with it
	NumScored int64
	PValue    float64 // the chance that a text without it scores as much
}

// WatermarkDetect looks for the watermark of a key in an output, by contexts of contextLength
// tokens. Tokens after a context that stood there before count only if keepsRepeated.
func WatermarkDetect(key uint64, tokenIDs []int64, contextLength int, keepsRepeated bool) (
	WatermarkDetection, error) {
	out, text := new([3]uint64), make([]byte, raw.SHIM_ERROR_BYTES)
	var keeps int32
	if keepsRepeated {
		keeps = 1
	}
	status := Status(raw.ShimWatermarkDetect(int64(key), uintptr(raw.Memory(tokenIDs)),
		int64(len(tokenIDs)), int64(contextLength), keeps, raw.Address(out),
		uintptr(raw.Memory(text))))
	runtime.KeepAlive(tokenIDs)
	if status != statusOK {
		return WatermarkDetection{}, &Error{"WatermarkDetect", status, textOf(text)}
	}
	return detectionOf(out), nil
}

// WatermarkParams are of Hugging Face's schemes. Green lists (Kirchenbauer et al. 2023) add a bias to a
// share of the tokens, which follows from the tokens before; a tournament (SynthID-Text, Dathathri et
// al. 2024) makes tokens likelier whose bits are 1 in each of its layers. Their hashes are those of
// transformers on the CPU: a text of one is found by the other.
type WatermarkParams struct {
	Scheme WatermarkScheme

	// Tokens that a token's hash depends on besides it, in [1, 64]: transformers' context_width, of
	// SchemeSelfhash less 1, so that it may be 0; of SchemeTournament ngram_len - 1.
	ContextLength int

	// Token ids lie in [0, VocabularySize). In [2, 2^20).
	VocabularySize int

	// Green lists: transformers' hashing_key, 15485863 there; and the share of green tokens,
	// greenlist_ratio, in (0, 1), 0.25 there. SchemeTournament: 0.
	Key        int64
	GreenShare float64

	// Added to the logits of green tokens, finite: 2 in transformers. SchemeTournament: 0.
	Bias float32

	// For WatermarkScore: tokens count whose context (of green lists with the token) came before.
	// Else only the first of them.
	KeepsRepeated bool

	// SchemeTournament: a key for each layer, at most 64. Green lists: none.
	Keys []int64

	// [TableSize] What WatermarkTable returned, for SchemeSelfhash and SchemeTournament; else nil. In
	// [1, 2^24]; 0: 1000003 for SchemeSelfhash, 65536 for SchemeTournament, transformers' own.
	Table     []int32
	TableSize int

	// Seed of the table of SchemeTournament, transformers' sampling_table_seed; else 0.
	TableSeed uint64
}

const maxTableSize, endOfVocabularies = 1 << 24, 1 << 20

// tableSize is that of the scheme where none is given; -1 where none is known.
func (p *WatermarkParams) tableSize() int {
	switch {
	case p.TableSize != 0:
		return p.TableSize
	case p.Scheme == SchemeLefthash:
		return 0
	case p.Scheme == SchemeSelfhash:
		return 1000003
	case p.Scheme == SchemeTournament:
		return 65536
	}
	return -1
}

// length remembers it where a slice has another length than C reads.
func (c *check) length(name string, length, needed int) {
	if length != needed {
		c.fail("%s has %d elements; it must have %d", name, length, needed)
	}
}

// watermarkParams returns what C gets, which may read the table; nil for nil.
func (c *check) watermarkParams(p *WatermarkParams, readsTable bool) *raw.WatermarkParams {
	if p == nil {
		c.fail("params is nil; it is required")
		return nil
	}
	if readsTable && p.Table != nil && p.Scheme != SchemeLefthash {
		c.length("params->table", len(p.Table), p.tableSize())
	}
	memory := new(raw.WatermarkParams)
	*memory = raw.WatermarkParams{
		StructSize:     unsafe.Sizeof(*memory),
		Scheme:         int32(p.Scheme),
		ContextLength:  clamped(p.ContextLength),
		VocabularySize: int64(p.VocabularySize),
		Key:            p.Key,
		GreenShare:     p.GreenShare,
		Bias:           p.Bias,
		KeepsRepeated:  flag(p.KeepsRepeated),
		Keys:           uintptr(raw.Memory(p.Keys)),
		NumKeys:        int64(len(p.Keys)),
		Table:          uintptr(raw.Memory(p.Table)),
		TableSize:      int64(p.TableSize),
		TableSeed:      p.TableSeed,
	}
	return memory
}

// watermark makes a call, which writes the text of its error, unless a rule is broken.
func (c *check) watermark(call func(text uintptr) int32) error {
	if c.err != nil {
		return c.err
	}
	text := make([]byte, raw.SHIM_ERROR_BYTES)
	if status := Status(call(uintptr(raw.Memory(text)))); status != statusOK {
		return &Error{c.op, status, textOf(text)}
	}
	return nil
}

// WatermarkTable returns the table of the scheme, which may serve any number of calls: TableSize
// numbers. That of SchemeSelfhash takes some 10 ms.
func WatermarkTable(params *WatermarkParams) ([]int32, error) {
	c := check{op: "WatermarkTable"}
	memory := c.watermarkParams(params, false)
	var out []int32 // nil for a size that the library refuses
	if memory != nil && params.tableSize() >= 0 && params.tableSize() <= maxTableSize {
		out = make([]int32, params.tableSize())
	}
	err := c.watermark(func(text uintptr) int32 {
		return raw.ShimWatermarkTable(raw.Address(memory), uintptr(raw.Memory(out)), text)
	})
	runtime.KeepAlive(params)
	runtime.KeepAlive(memory)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// WatermarkBias returns the biases of green lists, for Pipeline: Bias for green tokens, 0 for the
// others. context has the ContextLength last tokens, the prompt's too, oldest first.
//
// SchemeLefthash: a number for each token, as of DenseBias; there are no candidates. SchemeSelfhash: a
// number for each candidate; transformers takes the 40 likeliest tokens.
func WatermarkBias(params *WatermarkParams, context []int64, candidateTokenIDs []int32) (
	[]float32, error) {
	c := check{op: "WatermarkBias"}
	memory := c.watermarkParams(params, true)
	var out []float32 // nil for a size that the library refuses
	if memory != nil {
		c.length("context", len(context), params.ContextLength)
		if params.Scheme != SchemeLefthash {
			out = make([]float32, len(candidateTokenIDs))
		} else if params.VocabularySize >= 0 && params.VocabularySize < endOfVocabularies {
			out = make([]float32, params.VocabularySize)
		}
	}
	err := c.watermark(func(text uintptr) int32 {
		return raw.ShimWatermarkBias(raw.Address(memory), uintptr(raw.Memory(context)),
			uintptr(raw.Memory(candidateTokenIDs)), int64(len(candidateTokenIDs)),
			uintptr(raw.Memory(out)), text)
	})
	runtime.KeepAlive(params)
	runtime.KeepAlive(memory)
	runtime.KeepAlive(context)
	runtime.KeepAlive(candidateTokenIDs)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// WatermarkTournament holds the tournament of a token's distribution: it changes the probabilities of
// tokenIDs, those that the filters keep, into those to draw by (Rows of Probabilities with CandidateIDs,
// draws without filters). They have the same sum. context has the ContextLength last tokens of the
// output, oldest first, and 0 where it has fewer. After a context that came before in the output
// transformers leaves the distribution as it is: do not call it then.
func WatermarkTournament(params *WatermarkParams, context []int64, tokenIDs []int32,
	probabilities []float32) error {
	c := check{op: "WatermarkTournament"}
	memory := c.watermarkParams(params, true)
	if memory != nil {
		c.length("context", len(context), params.ContextLength)
		c.length("probabilities", len(probabilities), len(tokenIDs))
	}
	err := c.watermark(func(text uintptr) int32 {
		return raw.ShimWatermarkTournament(raw.Address(memory), uintptr(raw.Memory(context)),
			uintptr(raw.Memory(tokenIDs)), int64(len(tokenIDs)),
			uintptr(raw.Memory(probabilities)), text)
	})
	runtime.KeepAlive(params)
	runtime.KeepAlive(memory)
	runtime.KeepAlive(context)
	runtime.KeepAlive(tokenIDs)
	runtime.KeepAlive(probabilities)
	return err
}

// WatermarkScore looks for the watermark in an output. Tokens with fewer than ContextLength tokens
// before them are not scored. The score is, of green lists, the deviation of the number of green tokens
// from what is expected by chance, in standard deviations; of SchemeTournament the mean of the bits,
// 1/2 without the watermark.
func WatermarkScore(params *WatermarkParams, tokenIDs []int64) (WatermarkDetection, error) {
	c := check{op: "WatermarkScore"}
	memory, out := c.watermarkParams(params, true), new([3]uint64)
	err := c.watermark(func(text uintptr) int32 {
		return raw.ShimWatermarkScore(raw.Address(memory), uintptr(raw.Memory(tokenIDs)),
			int64(len(tokenIDs)), raw.Address(out), text)
	})
	runtime.KeepAlive(params)
	runtime.KeepAlive(memory)
	runtime.KeepAlive(tokenIDs)
	if err != nil {
		return WatermarkDetection{}, err
	}
	return detectionOf(out), nil
}

func detectionOf(out *[3]uint64) WatermarkDetection {
	return WatermarkDetection{math.Float64frombits(out[0]), int64(out[1]),
		math.Float64frombits(out[2])}
}
