// Guest is the first process of every box: see the package agent/sandbox/guest. It is built as a static binary and
// copied into the toolchain image as /agent/guest. It takes no arguments.
package main

import (
	"context"
	"fmt"
	"os"

	"agent/sandbox/guest"
)

func main() {
	if err := guest.Main(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(1)
	}
}
