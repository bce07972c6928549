package main

func Example() {
	main()
	// Output:
	// sequence 0: [5 6 7 0 1 2 3 5]
	// step 0, sequence 0: [6]
	// step 1, sequence 0: [7 0 1 2]
	// sequence 1: [6 7 0]
	// step 2, sequence 0: [3 4]
	// step 2, sequence 1: [1]
	// step 3, sequence 0: [5]
	// step 3, sequence 1: [2]
	// step 4, sequence 0: [6 7 0 1]
	// step 4, sequence 1: [3]
	// step 5, sequence 0: [2 3 4 5]
	// step 5, sequence 1: [4]
	// sequence 1 ends, STOP_SEQUENCE: 4 tokens in 4 steps, 0 of 0 drafts kept
	// step 6, sequence 0: [6 7 0 1]
	// sequence 0 ends, LENGTH: 20 tokens in 7 steps, 13 of 15 drafts kept
}
