package sarif

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif"
	"github.com/xeipuuv/gojsonschema"

	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/term/termtest"
	"agent/orchestrator/gate"
	"agent/orchestrator/run"
	"agent/verify"
)

// sarifSchemaText is the schema of the standard. The library contains it as its own constant, but validates only its
// own output against it.
var sarifSchemaText = sync.OnceValues(func() (string, error) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/owenrumney/go-sarif/v3/pkg/report/v210/sarif").Output()
	if err != nil {
		return "", err
	}
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(strings.TrimSpace(string(dir)), "schema.go"), nil, 0)
	if err != nil {
		return "", err
	}
	text := ""
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok {
			text, err = strconv.Unquote(lit.Value)
		}
		return true
	})
	return text, err
})

// readSarif prints d as SARIF, validates the bytes against the schema and reads them with another program's types,
// which know every field of the standard.
func readSarif(t *testing.T, d run.Document) *sarif.Report {
	t.Helper()
	var text bytes.Buffer
	if err := term.PrintJSON(&text, New(d)); err != nil {
		t.Fatal(err)
	}
	schema, err := sarifSchemaText()
	if err != nil {
		t.Fatal(err)
	}
	result, err := gojsonschema.Validate(gojsonschema.NewStringLoader(schema), gojsonschema.NewBytesLoader(text.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range result.Errors() {
		t.Errorf("%s\n%s", e, &text)
	}
	var r sarif.Report
	if err := json.Unmarshal(text.Bytes(), &r); err != nil {
		t.Fatalf("%v\n%s", err, &text)
	}
	return &r
}

// oneGate returns the document of a run with one gate.
func oneGate(g verify.Gate) run.Document {
	return run.Document{Run: "1k3mzq8a0v2c", Candidates: []gate.Document{{Gates: []verify.Gate{g}}}}
}

// oneResult returns the only result for a finding.
func oneResult(t *testing.T, f verify.Finding) *sarif.Result {
	t.Helper()
	r := readSarif(t, oneGate(verify.Gate{Name: "lint", Verdict: verify.Fail, Tool: "ruff 0.16.1", Findings: []verify.Finding{f}}))
	if len(r.Runs) != 1 || len(r.Runs[0].Results) != 1 {
		t.Fatalf("%d runs", len(r.Runs))
	}
	return r.Runs[0].Results[0]
}

func TestFindingsBecomeSarif(t *testing.T) {
	t.Parallel()
	d := termtest.Rejected()
	gates := d.Candidates[0].Gates
	gates[1].Findings[1].Help = "" // it is not an address, and the schema would refuse it
	gates[1].OldFindings = []verify.Finding{{File: "shop/tax.py", Line: 3, Rule: "arg-type", Message: "as ever", Old: true}}
	var text bytes.Buffer
	if err := term.PrintJSON(&text, New(d)); err != nil {
		t.Fatal(err)
	}
	termtest.Golden(t, "findings.sarif", text.String())
	r := readSarif(t, d)
	if len(r.Runs) != 3 {
		t.Fatalf("%d runs, want one each of ruff, mypy and the agent", len(r.Runs))
	}
	for i, want := range []struct {
		name    string
		results int
		rules   int
	}{{"ruff", 0, 0}, {"mypy", 4, 2}, {"agent", 1, 1}} {
		got := r.Runs[i]
		if *got.Tool.Driver.Name != want.name || got.Results == nil || len(got.Results) != want.results || len(got.Tool.Driver.Rules) != want.rules {
			t.Errorf("run %d is of %s with %d results of %d rules, want %+v", i, *got.Tool.Driver.Name, len(got.Results), len(got.Tool.Driver.Rules), want)
		}
		for _, res := range got.Results {
			if rule := got.Tool.Driver.Rules[res.RuleIndex]; *rule.ID != *res.RuleID {
				t.Errorf("%s points at rule %s", *res.RuleID, *rule.ID)
			}
		}
	}
}

func TestSarifTellsNewFromOld(t *testing.T) {
	t.Parallel()
	f := verify.Finding{File: "a.py", Line: 1, Rule: "F401", Message: "unused"}
	was := f
	was.Line, was.Old = 9, true
	r := readSarif(t, oneGate(verify.Gate{Verdict: verify.Fail, Findings: []verify.Finding{f}, OldFindings: []verify.Finding{was}}))
	fresh, old := r.Runs[0].Results[0], r.Runs[0].Results[1]
	if *fresh.BaselineState != "new" || *old.BaselineState != "unchanged" {
		t.Errorf("%s and %s", *fresh.BaselineState, *old.BaselineState)
	}
	// An edit above a finding moves it but keeps its fingerprint.
	if a, b := fresh.PartialFingerprints["finding/v1"], old.PartialFingerprints["finding/v1"]; a == "" || a != b {
		t.Errorf("fingerprints %q and %q", a, b)
	}
}

func TestSarifPlaces(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]string{
		"shop/stock.py": "shop/stock.py", "my shop/a b.py": "my%20shop/a%20b.py", "größe/日.py": "gr%C3%B6%C3%9Fe/%E6%97%A5.py",
		"100%.py": "100%25.py", "a#b?c.py": "a%23b%3Fc.py", "a:b.py": "./a:b.py", "new\nline\x1b.py": "new%0Aline%1B.py",
		"https://evil.example/x": "./https://evil.example/x",
	} {
		got := oneResult(t, verify.Finding{File: file, Line: 3, Column: 5, Message: "m"})
		place := got.Locations[0].PhysicalLocation
		if *place.ArtifactLocation.URI != want || *place.ArtifactLocation.URIBaseID != "SRCROOT" {
			t.Errorf("%q: %s in %s, want %s", file, *place.ArtifactLocation.URI, *place.ArtifactLocation.URIBaseID, want)
		}
		if *place.Region.StartLine != 3 || *place.Region.StartColumn != 5 {
			t.Errorf("%q: %+v", file, place.Region)
		}
	}
	// A finding without a file, and paths that only a refused patch can name.
	for _, file := range []string{"", "/etc/passwd", "../../x", "a/../../x"} {
		if got := oneResult(t, verify.Finding{File: file, Line: 3, Message: "m"}); len(got.Locations) != 0 {
			t.Errorf("%q has a place", file)
		}
	}
	if got := oneResult(t, verify.Finding{File: "a.py", Message: "m"}); got.Locations[0].PhysicalLocation.Region != nil {
		t.Error("a finding of a whole file has a line")
	}
}

func TestSarifMessagesAreTextAndNothingElse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`expected "dict[str, int]"`:        `expected "dict[str, int]"`,
		"{0} is not {x}":                   "{{0}} is not {{x}}",
		"[click](https://evil.example)":    "[click] (https://evil.example)",
		"\x1b]0;owned\x07\u202etxt.exe":    "␛]0;owned␇<U+202E>txt.exe",
		"</script><b>\"quoted\" \\ é 日\nx": "</script><b>\"quoted\" \\ é 日\nx",
		"broken \xff":                      "broken �",
	} {
		if got := *oneResult(t, verify.Finding{Message: text}).Message.Text; got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got := oneResult(t, verify.Finding{Message: "m"}); *got.RuleID != "lint" {
		t.Errorf("a finding without a rule has %q", *got.RuleID)
	}
}

func TestSarifOfAGateThatDidNotJudge(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[verify.Verdict]bool{
		verify.Pass: true, verify.Fail: true, verify.Policy: true, verify.Infra: false, verify.Timeout: false, verify.OOM: false,
	} {
		call := readSarif(t, oneGate(verify.Gate{Name: "types", Verdict: verdict, Detail: "mypy is missing"})).Runs[0].Invocations[0]
		if *call.ExecutionSuccessful != want {
			t.Errorf("%s is a success: %v", verdict, *call.ExecutionSuccessful)
		}
		if told := len(call.ToolExecutionNotifications) == 1; told == (verdict == verify.Pass) {
			t.Errorf("%s tells its reason: %v", verdict, told)
		}
	}
}

func TestSarifOfRunsWithoutGates(t *testing.T) {
	t.Parallel()
	for _, d := range []run.Document{{}, {Candidates: []gate.Document{{}}}} {
		if r := readSarif(t, d); r.Runs == nil || len(r.Runs) != 0 {
			t.Errorf("%+v", r.Runs)
		}
	}
	// The last of several candidates counts.
	d := termtest.Rejected()
	d.Candidates = append(d.Candidates, termtest.Promoted().Candidates...)
	if r := readSarif(t, d); len(r.Runs) != 1 || len(r.Runs[0].Results) != 0 || len(r.Runs[0].Invocations) != 2 {
		t.Errorf("%+v", r.Runs)
	}
	two := oneGate(verify.Gate{Tool: "python3 3.12.3, node 22.1"})
	if got := New(two).Runs; len(got) != 2 || got[0].Tool.Driver.Name != "node" || got[1].Tool.Driver.Version != "3.12.3" {
		t.Errorf("%+v", got)
	}
}

func TestASarifFileIsCheckedBeforeTheRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "a file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, fits := range map[string]bool{
		"": true, "new.sarif": true, file: true, filepath.Join(dir, "new.sarif"): true,
		dir: false, filepath.Join(dir, "none", "x"): false, filepath.Join(file, "x"): false,
	} {
		if err := CheckFile(name); (err == nil) != fits {
			t.Errorf("%q: %v", name, err)
		}
	}
}
