package document

import "fmt"

// A line in a string is not a comment, whatever it looks like.
func Example_remark() {
	d := New("a.py", []byte("# a\nx = 1 # b\n\"\"\"\n# c\n\"\"\"\n"))
	for i := range d.Len() {
		fmt.Printf("%t %q\n", d.IsComment(i), d.TrailingComment(i))
	}
	// Output:
	// true ""
	// false " # b"
	// false ""
	// false ""
	// false ""
}
