// Prints what kstatus says of each object of the JSON array on stdin, one line each.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	var objects []json.RawMessage
	check(json.NewDecoder(os.Stdin).Decode(&objects))
	for _, text := range objects {
		var object unstructured.Unstructured
		check(object.UnmarshalJSON(text))
		result, err := status.Compute(&object)
		check(err)
		fmt.Println(result.Status)
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
