// Command recorded_logits draws a token from each row of a file of f16 logits and prints the ids,
// 16 to a line: what examples/recorded_logits does in C, with the same tokens.
//
//	recorded_logits logits.f16
package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	sampler "github.com/libsampler/libsampler/bindings/go"
)

const (
	numCols    = 2048
	idsPerLine = 16
)

func printTokens(file io.Reader, s *sampler.Sampler) error {
	logits := make([]uint16, numCols)
	tokens := make([]int32, 1)
	input := sampler.Rows{Values: sampler.F16(logits), NumRows: 1, NumCols: numCols}
	for step := uint64(0); ; step++ { // one offset a step
		err := binary.Read(file, binary.LittleEndian, logits)
		if errors.Is(err, io.EOF) {
			fmt.Println()
			return nil
		}
		if err != nil {
			return err
		}
		if step > 0 && step%idsPerLine == 0 {
			fmt.Println()
		} else if step > 0 {
			fmt.Print(" ")
		}
		if err := s.TopKTopP(input, 50, 0.95, 0.8, 1, step, tokens); err != nil {
			return err
		}
		fmt.Print(tokens[0])
	}
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: recorded_logits FILE")
	}
	file, err := os.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	s, err := sampler.New(sampler.Options{MaxRows: 1, MaxCols: numCols})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := printTokens(file, s); err != nil {
		log.Fatal(err)
	}
}
