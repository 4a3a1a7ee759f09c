package edit

import (
	"strings"
	"testing"

	"agent/orchestrator/edit/problem"
)

func TestABlockMeansWhatEarlierBlocksMadeToTheLetter(t *testing.T) {
	t.Parallel()
	apply := func(file string, blocks ...string) string {
		var bs []Block
		for _, b := range blocks {
			s, r, _ := strings.Cut(b, ">")
			bs = append(bs, Block{strings.Join(bars(s), "\n"), strings.Join(bars(r), "\n")})
		}
		got, _, err := ApplyBlocks("a.go", []byte(strings.Join(bars(file), "\n")+"\n"), bs)
		if err != nil {
			return err.(*problem.Refusal).Problems[0].Kind
		}
		return strings.ReplaceAll(strings.TrimSuffix(string(got), "\n"), "\n", "|")
	}
	for _, c := range []struct{ name, file, first, second, want string }{
		{"a line that is wrapped", "one()|two()", "one()>if x {|  one()|}", "  one()>  one(1)", "if x {|  one(1)|}|two()"},
		{"a line like two others", "one()|two()|  two()", "one()>    two()|one()", "    two()>    two(1)", "    two(1)|one()|two()|  two()"},
		{"a line like one elsewhere", "one()|two()", "one()>    two()", "    two()>    three()", "    three()|two()"},
		{"a line that is there to the letter", "one()|  two()", "one()>two()", "  two()>  three()", "two()|  three()"},
		{"two lines that the first block makes", "one()|two()", "one()>    two()|    two()", "    two()>    three()", "not_found"},
	} {
		if got := apply(c.file, c.first, c.second); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
