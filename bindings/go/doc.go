// Package sampler turns logits into tokens: the Go binding of libsampler.
//
// A Sampler serves the simple calls, one for each operation, and full calls with every option:
// Sample, Score, Filter, Select, Verify, Residual and Unmask. Types and fields are named and mean what
// libsampler's C structs and members do.
//
//	s, err := sampler.New(sampler.Options{MaxRows: 1, MaxCols: len(logits)})
//	...
//	input := sampler.Rows{Values: sampler.F32(logits), NumRows: 1, NumCols: len(logits)}
//	err = s.TopKTopP(input, topK, topP, temperature, seed, step, tokens)
//
// Fields that are left out have the library's default. Only Params are not made by leaving out:
//
//	params := sampler.DefaultParams()
//	params.TopK, params.TopP, params.Temperature = 50, 0.95, 0.8
//	err = s.Sample(&sampler.SampleArgs{
//		Input: input, Params: &params,
//		Random:      sampler.Random{Seed: seed, Offset: step}, // another offset at every step
//		OutTokenIDs: sampler.I32(tokens), OutRowStatus: sampler.Slice(status),
//	})
//
// Fields that are slices take host memory. Those of type Data, IDs or Array take slices, by F32, I32,
// Slice and the like, on a CPU sampler, and addresses of device memory, by Device, DeviceIDs and
// OnDevice, on a CUDA sampler. Slices are checked against the numbers of rows and columns and the
// strides before a call, and C keeps no pointer to them, but for a Session's Pipeline. A full call, a
// call of a State, and a step of a Session allocate nothing.
//
// A Sampler may be used from any number of goroutines: its calls then wait for each other.
// Goroutines that should not wait have a Sampler each. Close waits for a call that is under way.
//
// An error is an *Error with the library's status and its text, which names arguments as C does
// (input.num_cols for Input.NumCols), their value and the rule.
package sampler
