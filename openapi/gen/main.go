// Command gen writes the Go tables of package openapi from ironic.yaml.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	in := flag.String("in", "ironic.yaml", "the description")
	out := flag.String("out", "tables_gen.go", "the Go file to write")
	flag.Parse()
	if err := run(*in, *out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(in, out string) error {
	raw, err := os.ReadFile(in)
	if err != nil {
		return err
	}
	src, err := Generate(raw)
	if err != nil {
		return err
	}
	return os.WriteFile(out, src, 0o644)
}
