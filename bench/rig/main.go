// Command rig is the far ends of the benchmarks: a fake upstream and a load generator. Both are compiled and speak raw
// HTTP/1.1, so that the machine's time goes to the gateway under test.
//
//	rig upstream          listens on a free port of loopback, prints it, and answers until it is killed
//	rig load              reads one Spec (JSON) from standard input, and prints one Result (JSON)
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "rig:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: rig upstream | rig load")
	}
	switch args[0] {
	case "upstream":
		upstream, err := listen("127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Println(upstream.port())
		return upstream.serve()
	case "load":
		var spec Spec
		decoder := json.NewDecoder(os.Stdin)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&spec); err != nil {
			return fmt.Errorf("the spec: %w", err)
		}
		result, err := runLoad(spec, os.Stdout)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(result)
	}
	return fmt.Errorf("there is no %s", args[0])
}
