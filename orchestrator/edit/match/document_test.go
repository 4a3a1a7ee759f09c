package match

import (
	"testing"

	"agent/orchestrator/edit/document"

	"pgregory.net/rapid"
)

func TestADocumentLosesNoByte(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`(\x{feff})?[a\r\n\t\x{fffd}]{0,20}`).Draw(t, "text")
		d := document.New("", []byte(text))
		got := d.Mark
		for i := range d.Len() {
			if d.Line(i)+d.End(i) != d.Raw(i) {
				t.Fatalf("line %d of %q is %q and %q", i, text, d.Line(i), d.End(i))
			}
			got += d.Raw(i)
		}
		if got != text {
			t.Fatalf("%q came back as %q", text, got)
		}
		if s := string(Merge(d, nil)); s != text {
			t.Fatalf("%q without splices became %q", text, s)
		}
	})
}
