package database

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The package documentation states the same bound as the code.
func TestTheDocumentationNamesThePatience(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("growing pauses for %.0f seconds", patience.Seconds()); !strings.Contains(string(text), want) {
		t.Errorf("doc.go does not say %q", want)
	}
}
