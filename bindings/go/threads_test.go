package sampler

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const numGoroutines = 8

func inGoroutines(f func(id int)) {
	var group sync.WaitGroup
	for id := 0; id < numGoroutines; id++ {
		group.Add(1)
		go func(id int) {
			defer group.Done()
			f(id)
		}(id)
	}
	group.Wait()
}

// drawsTheSame makes calls and compares their tokens with README.md's.
func drawsTheSame(t *testing.T, s *Sampler) {
	tokens := make([]int32, 1)
	for i := 0; i < 2000; i++ {
		step := i % len(readmeTokens)
		if err := drawReadme(s, step, tokens); err != nil || tokens[0] != readmeTokens[step] {
			t.Errorf("step %d: token %d, %v", step, tokens[0], err)
			return
		}
		if i%100 == 0 {
			runtime.Gosched()
		}
	}
}

func TestGoroutinesWithASamplerEach(t *testing.T) {
	inGoroutines(func(int) {
		s, err := New(Options{MaxRows: 1, MaxCols: 5})
		if err != nil {
			t.Error(err)
			return
		}
		defer s.Close()
		drawsTheSame(t, s)
	})
}

func TestGoroutinesThatShareASampler(t *testing.T) {
	s := newSampler(t, Options{MaxRows: 1, MaxCols: 5, NumThreads: 2})
	inGoroutines(func(int) { drawsTheSame(t, s) })
}

// Each goroutine gets the text of its own error, whichever threads it and the others run on.
func TestErrorsOfGoroutines(t *testing.T) {
	shared := newSampler(t, Options{})
	inGoroutines(func(id int) {
		own := newSampler(t, Options{})
		for i := 0; i < 500; i++ {
			for _, s := range []*Sampler{own, shared} {
				err := s.Argmax(Rows{NumRows: 1, NumCols: -id - 10*i}, nil)
				want := fmt.Sprintf("input.num_cols is %d; it must be at least 1", -id-10*i)
				expectError(t, err, ErrInvalidArgument, want)
			}
			if i%10 == 0 {
				runtime.Gosched()
			}
		}
	})
}

func TestClosingDuringCalls(t *testing.T) {
	for round := 0; round < 20; round++ {
		s := newSampler(t, Options{MaxRows: 1, MaxCols: 5})
		started := make(chan struct{}, numGoroutines)
		go func() {
			for i := 0; i < numGoroutines; i++ {
				<-started
			}
			s.Close()
		}()
		inGoroutines(func(int) {
			tokens := make([]int32, 1)
			for i := 0; ; i++ {
				err := drawReadme(s, 0, tokens)
				if i == 10 {
					started <- struct{}{}
				}
				if err == ErrClosed && i > 10 {
					return
				}
				if err != nil || tokens[0] != readmeTokens[0] {
					t.Errorf("token %d, %v", tokens[0], err)
					return
				}
			}
		})
	}
}

// A state for each goroutine, of one sampler, which is closed when all are under way. Each state is
// closed by two goroutines.
func TestClosingDuringCallsOfStates(t *testing.T) {
	for round := 0; round < 20; round++ {
		s := newSampler(t, Options{MaxRows: 1, MaxCols: 5})
		started := make(chan struct{}, numGoroutines)
		go func() {
			for i := 0; i < numGoroutines; i++ {
				<-started
			}
			s.Close()
		}()
		inGoroutines(func(int) {
			tokens := make([]int32, 1)
			for i := 0; ; i++ {
				if i == 10 {
					started <- struct{}{}
				}
				state, err := s.NewState(StateOptions{NumSlots: 1, MaxTokens: 8})
				if err == nil {
					err = drawFromState(s, state, i, tokens)
					go state.Close()
					state.Close()
				}
				if err == ErrClosed && i >= 10 {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
}

// Nothing but a call under way refers to the logits. It takes many times as long as a collection.
func TestArraysAreReachableDuringCalls(t *testing.T) {
	const numRows, numCols = 16, 1<<20 - 1
	s := newSampler(t, Options{MaxRows: numRows, MaxCols: numCols})
	logits := make([]float32, numRows*numCols)
	var isReleased, hasReturned int32
	runtime.SetFinalizer(&logits[0], func(*float32) { atomic.StoreInt32(&isReleased, 1) })
	releasedBefore := make(chan bool)
	go func() {
		for atomic.LoadInt32(&isReleased) == 0 && atomic.LoadInt32(&hasReturned) == 0 {
			runtime.GC()
		}
		releasedBefore <- atomic.LoadInt32(&hasReturned) == 0
	}()
	err := s.Sample(&SampleArgs{
		Input:      Rows{Values: F32(logits), NumRows: numRows, NumCols: numCols},
		DrawMethod: DrawGumbel, OutTokenIDs: I32(make([]int32, numRows))})
	atomic.StoreInt32(&hasReturned, 1)
	if <-releasedBefore || err != nil {
		t.Errorf("the logits were released during the call, or %v", err)
	}
}

// A goroutine's stack moves and collections run while others are in C.
func TestCollectionsDuringCalls(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	inGoroutines(func(int) {
		s := newSampler(t, Options{MaxRows: 1, MaxCols: 5})
		for i := 0; i < 5000; i++ {
			logits, token := [5]float32{}, [1]int32{}
			logits[i%5] = 1
			err := s.Argmax(Rows{Values: F32(logits[:]), NumRows: 1, NumCols: 5}, token[:])
			if err != nil || growStack(i%100) < 0 || int(token[0]) != i%5 {
				t.Errorf("token %d, %v", token[0], err)
				return
			}
		}
	})
}

func growStack(depth int) int {
	var page [1024]byte
	if depth == 0 {
		return int(page[0])
	}
	page[depth%1024] = byte(depth % 2)
	return growStack(depth-1) + int(page[1023])
}

// kibibytesOf reads a line of /proc/self/status.
func kibibytesOf(t *testing.T, name string) int {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var kibibytes int
		if strings.HasPrefix(lines.Text(), name+":") {
			if _, err := fmt.Sscanf(lines.Text(), name+": %d kB", &kibibytes); err != nil {
				t.Fatal(err)
			}
			return kibibytes
		}
	}
	t.Fatalf("no line %s", name)
	return 0
}

// 80,000 more samplers take no more memory than Go's heap and its threads grow by: 4 MiB.
func TestNothingLeaks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	tokens := make([]int32, 1)
	use := func(count int) {
		for i := 0; i < count; i++ {
			s, err := New(Options{MaxRows: 8, MaxCols: 5})
			if err != nil {
				t.Fatal(err)
			}
			if err := drawReadme(s, 0, tokens); err != nil {
				t.Fatal(err)
			}
			if err := s.Sample(&SampleArgs{}); err == nil {
				t.Fatal("no error")
			}
			if _, err := New(Options{NumThreads: -1}); err == nil {
				t.Fatal("no error")
			}
			s.Close()
		}
		// Go's own garbage stays out of what is compared.
		debug.FreeOSMemory()
	}
	use(20000)
	before := kibibytesOf(t, "VmRSS")
	use(80000)
	after := kibibytesOf(t, "VmRSS")
	t.Logf("%d KiB after 20,000 samplers, %d after 100,000", before, after)
	if after > before+4096 {
		t.Error("memory leaks")
	}
}

// Without the finalizer 500 workspaces of 20 MiB would be there at the end.
func TestForgottenSamplersAreReleased(t *testing.T) {
	before := kibibytesOf(t, "VmSize")
	for i := 0; i < 500; i++ {
		if _, err := New(Options{MaxRows: 1, MaxCols: 1<<20 - 1}); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			runtime.GC()
		}
	}
	runtime.GC()
	if after := kibibytesOf(t, "VmSize"); after > before+2000*1024 {
		t.Errorf("%d KiB before, %d after", before, after)
	}
}
