package deps_test

import (
	"fmt"

	"agent/sandbox/workspace/deps"
)

func ExampleChanges() {
	before := "left-pad==1.0\nrequests==2.31\n"
	after := "requests==2.32\nsix==1.16 # why\n"
	fmt.Println(deps.Changes("requirements.txt", []byte(before), []byte(after)))
	fmt.Println(deps.Changes("go.sum", nil, []byte("a v1.0.0 h1:x\n")))
	fmt.Printf("%q\n", deps.Changes("notes.txt", []byte(before), []byte(after)))
	// Output:
	// removed left-pad 1.0, updated requests 2.31 → 2.32, added six 1.16
	// added a v1.0.0
	// ""
}
