// Package sampler turns logits into tokens: the Go binding of libsampler.
//
// A Sampler serves the operations; each takes a struct of arguments whose fields are named and mean
// what the members of libsampler's C structs do. Fields that are left out have the library's
// default.
//
//	s, err := sampler.New(sampler.Options{MaxRows: 1, MaxCols: len(logits)})
//	...
//	err = s.TopKTopP(&sampler.TopKTopPArgs{
//		Input: sampler.F32(logits), NumRows: 1, NumCols: len(logits),
//		Temperature: sampler.Float(0.8), TopK: sampler.Int(50), TopP: sampler.Float(0.95),
//		Seed: sampler.Uint(seed), Offset: sampler.Uint(step), // another offset at every step
//		OutTokenIDs: sampler.I32(tokens),
//	})
//
// Arrays are slices on a CPU sampler and addresses of device memory on a CUDA sampler. Slices are
// checked against the numbers of rows and columns and the strides before a call, and C keeps no
// pointer to them. A call allocates nothing.
//
// A Sampler may be used from any number of goroutines: its calls then wait for each other.
// Goroutines that should not wait have a Sampler each. Close waits for a call that is under way.
//
// An error is an *Error with the library's status and its text, which names arguments as C does
// (num_cols for NumCols), their value and the rule.
package sampler
