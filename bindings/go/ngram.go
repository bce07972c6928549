package sampler

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"github.com/libsampler/libsampler/bindings/go/internal/raw"
)

// ErrNgramClosed is returned by the methods of an Ngram that was closed, or was not made by
// NewNgramStorage or NewPromptLookup, and by calls that are given one.
var ErrNgramClosed = errors.New("sampler: the n-grams are closed")

// Ngram drafts without a model: an NgramStorage or a PromptLookup. It works on host memory and needs
// no Sampler. Calls of one wait for each other, and fail while a session's call uses it.
//
// context is a text's end, the latest token last.
type Ngram struct {
	mutex  sync.Mutex
	handle uintptr // 0 when nobody holds it any more
	holds  int     // by itself until it is closed, and by sessions
	closed bool
}

// NgramStorage counts which token followed which context, over any number of texts.
type NgramStorage struct {
	*Ngram
}

// NgramStorageOptions are what an NgramStorage is made with.
type NgramStorageOptions struct {
	Kind NgramKind

	// Tokens of the longest n-gram, in [2, 16]; 0: 3.
	Order int

	// Token ids lie in [0, VocabularySize). In [1, 2^20); required.
	VocabularySize int

	// Bytes that the storage may take at any time, at least 4096; 0: no limit. At the limit known
	// n-grams still count, others are dropped.
	MemoryLimit int

	// Memory for the storage. The zero value: the C library's.
	Allocator Allocator
}

// NgramStats are numbers of an NgramStorage.
type NgramStats struct {
	NumContexts int // that a token followed, of all lengths kept
	NumUpdates  int // next tokens learned, dropped or not
	NumDropped  int // n-grams that were not counted for want of room
	MemoryBytes int // what the storage takes now
}

// PromptLookup is one growing text. It knows what followed the longest earlier occurrence of the
// text's end. As an Ngram it is of one sequence: contexts begin with the text.
type PromptLookup struct {
	*Ngram
}

// PromptLookupOptions are what a PromptLookup is made with.
type PromptLookupOptions struct {
	// Tokens of the text's end that must match, at least 1, 0: 1; and that are looked at, at least
	// MinMatch, 0: all.
	MinMatch int
	MaxMatch int

	// Room for the text, in [1, 2^27], of 132 bytes a token; required.
	MaxTokens int

	// Token ids lie in [0, VocabularySize). In [1, 2^20); required.
	VocabularySize int

	// Memory for the lookup. The zero value: the C library's.
	Allocator Allocator
}

func newNgram(op string, options uintptr, isLookup bool) (*Ngram, error) {
	handle := raw.ShimNgramCreate(options, flag(isLookup))
	if handle == 0 {
		return nil, &Error{op, ErrOutOfMemory, "there is no memory for n-grams"}
	}
	ngram := &Ngram{handle: handle, holds: 1}
	if Status(raw.ShimNgramStatus(handle)) != statusOK {
		err := ngram.failure(op)
		raw.ShimNgramDestroy(handle)
		return nil, err
	}
	runtime.SetFinalizer(ngram, (*Ngram).Close)
	return ngram, nil
}

// NewNgramStorage makes an empty storage. Its memory is released by Close, or when nothing refers to
// it any more.
//
// Errors: ErrInvalidArgument, ErrOutOfMemory.
func NewNgramStorage(options NgramStorageOptions) (*NgramStorage, error) {
	memory := &raw.NgramStorageOptions{
		StructSize:     unsafe.Sizeof(raw.NgramStorageOptions{}),
		Kind:           int32(options.Kind),
		Order:          clamped(options.Order),
		VocabularySize: int64(options.VocabularySize),
		MemoryLimit:    int64(options.MemoryLimit),
		Allocator:      options.Allocator.raw(),
	}
	ngram, err := newNgram("NewNgramStorage", raw.Address(memory), false)
	runtime.KeepAlive(memory)
	if err != nil {
		return nil, err
	}
	return &NgramStorage{Ngram: ngram}, nil
}

// NewPromptLookup makes a lookup with an empty text, and takes all of its memory. It is released by
// Close, or when nothing refers to it any more.
//
// Errors: ErrInvalidArgument, ErrOutOfMemory.
func NewPromptLookup(options PromptLookupOptions) (*PromptLookup, error) {
	memory := &raw.PromptLookupOptions{
		StructSize:     unsafe.Sizeof(raw.PromptLookupOptions{}),
		MinMatch:       int64(options.MinMatch),
		MaxMatch:       int64(options.MaxMatch),
		MaxTokens:      int64(options.MaxTokens),
		VocabularySize: int64(options.VocabularySize),
		Allocator:      options.Allocator.raw(),
	}
	ngram, err := newNgram("NewPromptLookup", raw.Address(memory), true)
	runtime.KeepAlive(memory)
	if err != nil {
		return nil, err
	}
	return &PromptLookup{Ngram: ngram}, nil
}

func (ngram *Ngram) failure(op string) error {
	return &Error{op, Status(raw.ShimNgramStatus(ngram.handle)), raw.ShimNgramError(ngram.handle)}
}

// hold keeps the memory for a session, and returns where its interface is; 0 when it is closed.
func (ngram *Ngram) hold() uintptr {
	ngram.mutex.Lock()
	defer ngram.mutex.Unlock()
	if ngram.closed || ngram.handle == 0 {
		return 0
	}
	ngram.holds++
	return raw.ShimNgramInterface(ngram.handle)
}

func (ngram *Ngram) letGo() {
	ngram.mutex.Lock()
	defer ngram.mutex.Unlock()
	if ngram.holds--; ngram.holds == 0 {
		raw.ShimNgramDestroy(ngram.handle)
		ngram.handle = 0
	}
}

// Close releases the memory, once no session uses it. Closing again does nothing. It never fails;
// the error is for io.Closer.
func (ngram *Ngram) Close() error {
	if ngram == nil {
		return nil
	}
	ngram.mutex.Lock()
	wasOpen := !ngram.closed && ngram.handle != 0
	ngram.closed = true
	ngram.mutex.Unlock()
	if wasOpen {
		runtime.SetFinalizer(ngram, nil)
		ngram.letGo()
	}
	return nil
}

// call makes a call under the lock; C returns a number, or minus the status.
func (ngram *Ngram) call(op string, call func(handle uintptr) int64) (int, error) {
	if ngram == nil {
		return 0, ErrNgramClosed
	}
	ngram.mutex.Lock()
	defer ngram.mutex.Unlock()
	if ngram.closed || ngram.handle == 0 {
		return 0, ErrNgramClosed
	}
	result := call(ngram.handle)
	if result < 0 {
		return 0, ngram.failure(op)
	}
	return int(result), nil
}

func ints(s []int32) uintptr {
	return uintptr(raw.Memory(s))
}

// NextToken returns the likeliest token to follow the end of the context, and whether anything is
// known there: if not, the token is drawn uniformly over the vocabulary from seed and offset.
func (ngram *Ngram) NextToken(context []int32, seed, offset uint64) (token int32, isKnown bool,
	err error) {
	found := make([]int32, 2)
	_, err = ngram.call("NextToken", func(handle uintptr) int64 {
		return raw.ShimNgramNextToken(handle, ints(context), int64(len(context)), int64(seed),
			int64(offset), ints(found))
	})
	runtime.KeepAlive(context)
	runtime.KeepAlive(found)
	return found[0], found[1] != 0, err
}

// HasGram reports whether a token is known to follow exactly this context, without back-off.
func (ngram *Ngram) HasGram(context []int32) (bool, error) {
	result, err := ngram.call("HasGram", func(handle uintptr) int64 {
		return raw.ShimNgramHasGram(handle, ints(context), int64(len(context)))
	})
	runtime.KeepAlive(context)
	return result != 0, err
}

// Update counts each of the next tokens once, in their order, as following the end of the context. A
// PromptLookup appends what the context has beyond its text instead.
func (ngram *Ngram) Update(context, nextTokenIDs []int32) error {
	_, err := ngram.call("Update", func(handle uintptr) int64 {
		return raw.ShimNgramUpdate(handle, ints(context), int64(len(context)), ints(nextTokenIDs),
			int64(len(nextTokenIDs)))
	})
	runtime.KeepAlive(context)
	runtime.KeepAlive(nextTokenIDs)
	return err
}

// Initialize learns a text. What was known stays.
func (ngram *Ngram) Initialize(tokenIDs []int32) error {
	_, err := ngram.call("Initialize", func(handle uintptr) int64 {
		return raw.ShimNgramInitialize(handle, ints(tokenIDs), int64(len(tokenIDs)))
	})
	runtime.KeepAlive(tokenIDs)
	return err
}

// Propose writes up to len(drafts) tokens, each the likeliest after the context and the tokens
// before it, and returns how many: up to the first that is unknown, that was counted fewer than
// leastCount times there, or whose share of what followed there is below leastShare, in [0, 1].
// Limits of 0 are off.
func (ngram *Ngram) Propose(context []int32, leastCount int, leastShare float32,
	drafts []int32) (int, error) {
	result, err := ngram.call("Propose", func(handle uintptr) int64 {
		return raw.ShimNgramPropose(handle, ints(context), int64(len(context)), int64(len(drafts)),
			int64(leastCount), leastShare, ints(drafts))
	})
	runtime.KeepAlive(context)
	runtime.KeepAlive(drafts)
	return result, err
}

// Reset forgets all.
func (ngram *Ngram) Reset() error {
	_, err := ngram.call("Reset", raw.ShimNgramReset)
	return err
}

// Stats returns the storage's numbers.
func (storage *NgramStorage) Stats() (NgramStats, error) {
	memory := &raw.NgramStorageStats{StructSize: unsafe.Sizeof(raw.NgramStorageStats{})}
	_, err := storage.call("Stats", func(handle uintptr) int64 {
		return raw.ShimNgramGetStats(handle, raw.Address(memory))
	})
	return NgramStats{
		NumContexts: int(memory.NumContexts),
		NumUpdates:  int(memory.NumUpdates),
		NumDropped:  int(memory.NumDropped),
		MemoryBytes: int(memory.MemoryBytes),
	}, err
}

// Serialize returns the contents, in a format that is the same on every machine.
func (storage *NgramStorage) Serialize() ([]byte, error) {
	var buffer []byte
	_, err := storage.call("Serialize", func(handle uintptr) int64 {
		bytes := raw.ShimNgramSerialize(handle, 0, 0)
		if bytes < 0 {
			return bytes
		}
		buffer = make([]byte, bytes)
		return raw.ShimNgramSerialize(handle, uintptr(raw.Memory(buffer)), bytes)
	})
	runtime.KeepAlive(buffer)
	return buffer, err
}

// Deserialize replaces the contents by serialised ones. Every byte is checked; on failure the
// contents are as before.
//
// Errors: ErrInvalidArgument (the data are of a storage of another kind, order or vocabulary),
// ErrCorruptData, ErrOutOfMemory.
func (storage *NgramStorage) Deserialize(data []byte) error {
	_, err := storage.call("Deserialize", func(handle uintptr) int64 {
		return raw.ShimNgramDeserialize(handle, uintptr(raw.Memory(data)), int64(len(data)))
	})
	runtime.KeepAlive(data)
	return err
}

// Append appends tokens to the text: all or, where they are more than there is room for
// (ErrInvalidArgument), none.
func (lookup *PromptLookup) Append(tokenIDs []int32) error {
	_, err := lookup.call("Append", func(handle uintptr) int64 {
		return raw.ShimLookupAppend(handle, ints(tokenIDs), int64(len(tokenIDs)))
	})
	runtime.KeepAlive(tokenIDs)
	return err
}

// ProposeNext writes up to len(drafts) tokens that followed the match of the text's end, and returns
// how many. 0: no match of at least MinMatch tokens.
func (lookup *PromptLookup) ProposeNext(drafts []int32) (int, error) {
	result, err := lookup.call("ProposeNext", func(handle uintptr) int64 {
		return raw.ShimLookupPropose(handle, int64(len(drafts)), ints(drafts))
	})
	runtime.KeepAlive(drafts)
	return result, err
}

// PruneCount returns what to cut off caches after a round of numDrafted drafts of which the first
// numEmitted were kept, in [0, numDrafted]: tokens at the ends of the target's and the drafter's;
// and how many drafts were kept that the drafter has not been fed, 0 or 1.
func PruneCount(numDrafted, numEmitted int) (target, drafter, missing int, err error) {
	const op = "PruneCount"
	counts, text := new([3]int64), make([]byte, raw.SHIM_ERROR_BYTES)
	status := Status(raw.ShimPruneCount(int64(numDrafted), int64(numEmitted), raw.Address(counts),
		uintptr(raw.Memory(text))))
	if status != statusOK {
		return 0, 0, 0, &Error{op, status, textOf(text)}
	}
	return int(counts[0]), int(counts[1]), int(counts[2]), nil
}
