package lang

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write the table of the toolchain image anew")

// toolchain is the directory with the programs of the toolchain image, which read languages.json.
const toolchain = "../../../images/toolchain/"

// TestTheToolchainHasTheSameRows compares languages.json with the rows. Each change of that file makes another
// toolchain image.
func TestTheToolchainHasTheSameRows(t *testing.T) {
	t.Parallel()
	type row struct {
		ID         string   `json:"id"`
		Extensions []string `json:"extensions"`
		Shebangs   []string `json:"shebangs"`
	}
	table := struct {
		Languages  []row    `json:"languages"`
		RegexAfter []string `json:"regex_after"`
	}{RegexAfter: scriptWords}
	for _, l := range rows {
		if l.Parsed {
			table.Languages = append(table.Languages, row{l.ID, l.Extensions, slices.Concat([]string{}, l.Shebangs)})
		}
	}
	want, err := json.MarshalIndent(table, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(toolchain+"languages.json", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(toolchain + "languages.json"); err != nil || !bytes.Equal(got, want) {
		t.Errorf("languages.json is not what the rows say (%v): go test ./sandbox/workspace/lang -run Toolchain -update, then make setup", err)
	}
}

// TestTheToolchainParsesWhatIsSaid compares the rows that are Parsed with the checker's parsers: by the row's ID, or
// the compiler for TypeScript.
func TestTheToolchainParsesWhatIsSaid(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(toolchain + "syntax.py")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := bytes.Cut(text, []byte("\nCHECKERS = {\n"))
	list, _, _ = bytes.Cut(list, []byte("\n}\n"))
	// Go's own parser runs on the host.
	has := []string{"go", "typescript"}
	for _, m := range regexp.MustCompile(`(?m)^    "([a-z]+)": check_`).FindAllSubmatch(list, -1) {
		has = append(has, string(m[1]))
	}
	for _, l := range rows {
		if l.Parsed != slices.Contains(has, l.ID) {
			t.Errorf("%s is parsed: %v, and the checker has a parser: %v", l.ID, l.Parsed, !l.Parsed)
		}
	}
}
