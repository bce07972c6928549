package main

func Example() {
	main()
	// Output:
	// step 0, slot 0: 3
	// step 0, slot 1: 4
	// step 1, slot 0: 3
	// step 1, slot 1: 6
	// step 2, slot 0: 1
	// step 2, slot 1: -1
	// slot 1 ends, status INVALID_VALUE: [4 6] after [5]
	// step 3, slot 0: 2
	// step 3, slot 1: 4
	// step 4, slot 0: 5
	// step 4, slot 1: 6
	// step 5, slot 0: 2
	// slot 0 ends, status OK: [3 3 1 2 5 2] after [1 2]
	// step 5, slot 1: 5
	// step 6, slot 1: 5
	// step 7, slot 1: 6
	// step 8, slot 1: 3
	// slot 1 ends, status OK: [4 6 5 5 6 3] after [3 4]
}
