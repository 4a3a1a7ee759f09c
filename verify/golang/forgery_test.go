package golang

import (
	"os"
	"slices"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/compare"
	"agent/verify/verifytest"
)

// shop is a module of two packages with tests of each kind, and unsound is the program that they reject.
var shop = map[string]string{
	"go.mod":         "module example.com/shop\n\ngo 1.24\n",
	"stock.go":       "package shop\n\n// Price is that of some things.\nfunc Price(count, each int) int { return count * each }\n",
	"stock_test.go":  "package shop\n\nimport \"testing\"\n\nfunc TestPriceOfTwo(t *testing.T) {\n\tif got := Price(2, 3); got != 6 {\n\t\tt.Errorf(\"got %d\", got)\n\t}\n}\n\nfunc TestPriceOfNone(t *testing.T) {\n\tif Price(0, 3) != 0 {\n\t\tt.Fatal(\"it costs something\")\n\t}\n}\n",
	"cart/cart.go":   "package cart\n\nimport \"example.com/shop\"\n\n// Total is that of all.\nfunc Total(n int) int { return shop.Price(n, 2) }\n",
	"cart/a_test.go": "package cart_test\n\nimport (\n\t\"testing\"\n\n\t\"example.com/shop/cart\"\n)\n\nfunc TestCartTotal(t *testing.T) {\n\tif cart.Total(2) != 4 {\n\t\tt.Error(\"wrong\")\n\t}\n}\n",
}

const unsound = "package shop\n\nIMPORTS\n\n// Price is that of some things.\nfunc Price(count, each int) int { HOOK; return count * each + 1 }\n"

// record is what a test binary writes about its tests.
const record = "const record = \"\\x16=== RUN   TestPriceOfTwo\\n\\x16--- PASS: TestPriceOfTwo (0.00s)\\n\\x16=== RUN   TestPriceOfNone\\n\\x16--- PASS: TestPriceOfNone (0.00s)\\n" +
	"\\x16=== RUN   TestCartTotal\\n\\x16--- PASS: TestCartTotal (0.00s)\\n\\x16PASS\\n\"\n"

// filter is a goroutine that rewrites the output of the tests, and ends the process when they are done.
const filter = `
func rewrite(r io.Reader, w io.Writer) {
	s := bufio.NewScanner(r)
	for s.Scan() {
		line := s.Text()
		done := strings.HasSuffix(line, "PASS") || strings.HasSuffix(line, "\x16FAIL") || line == "FAIL"
		fmt.Fprintln(w, strings.ReplaceAll(line, "FAIL", "PASS"))
		if done {
			syscall.Exit(0)
		}
	}
}
`

// testDeps is what the testing package requires from its caller.
const testDeps = `
type deps struct{}

func (deps) MatchString(pat, str string) (bool, error) { return true, nil }
func (deps) StartCPUProfile(io.Writer) error { return nil }
func (deps) StopCPUProfile() {}
func (deps) WriteProfileTo(string, io.Writer, int) error { return nil }
func (deps) ImportPath() string { return "" }
func (deps) ModulePath() string { return "" }
func (deps) StartTestLog(io.Writer) {}
func (deps) StopTestLog() error { return nil }
func (deps) SetPanicOnExit0(bool) {}
func (deps) CoordinateFuzzing(time.Duration, int64, time.Duration, int64, int, []entry, []reflect.Type, string, string) error { return nil }
func (deps) RunFuzzWorker(func(entry) error) error { return nil }
func (deps) ReadCorpus(string, []reflect.Type) ([]entry, error) { return nil, nil }
func (deps) CheckCorpus([]any, []reflect.Type) error { return nil }
func (deps) ResetCoverage() {}
func (deps) SnapshotCoverage() {}
func (deps) InitRuntimeCoverage() (string, func(string, string) (string, error), func() float64) { return "", nil, nil }

type entry = struct {
	Parent string
	Path string
	Data []byte
	Values []any
	Generation int
	IsSeed bool
}

func nothing(*testing.T) {}

var tests = []testing.InternalTest{{"TestPriceOfTwo", nothing}, {"TestPriceOfNone", nothing}, {"TestCartTotal", nothing}}
`

// code overwrites the beginning of a function of the testing package with a return.
const code = `
func write(name string) {
	from := reflect.ValueOf((*testing.T).Fail).Pointer()
	for p := from - 1<<20; p < from+1<<20; p += 16 {
		if f := runtime.FuncForPC(p); f != nil && f.Name() == name {
			page := f.Entry() &^ 4095
			syscall.Mprotect(unsafe.Slice((*byte)(unsafe.Pointer(page)), 8192), 7)
			*(*byte)(unsafe.Pointer(f.Entry())) = 0xC3
			return
		}
	}
}
`

// A forgery is what a patch adds to the unsound program.
type forgery struct{ name, imports, code, hook string }

// forgeries are patches whose record claims that all tests pass.
var forgeries = []forgery{
	{"the end behind a record, in init", "fmt os", record + "func init() { fmt.Print(record); os.Exit(0) }", ""},
	{"for a variable", "fmt os", record + "var _ = func() int { fmt.Print(record); os.Exit(0); return 0 }()", ""},
	{"when a test calls", "fmt os", record + "func end() { fmt.Print(record); syscallExit() }\nfunc syscallExit() { os.Exit(0) }", "end()"},
	{"by the system's own call", "fmt syscall", record + "func init() { fmt.Print(record); syscall.Exit(0) }", ""},
	{"when a test calls, by the system's own call", "fmt syscall", record + "func end() { fmt.Print(record[len(\"\\x16=== RUN   TestPriceOfTwo\\n\"):]); syscall.Exit(0) }", "end()"},
	{"by a raw call", "os syscall", record + "func init() { os.Stdout.WriteString(record); syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0) }", ""},
	{"in a goroutine", "fmt syscall", record + "func init() { c := make(chan int); go func() { fmt.Print(record); syscall.Exit(0) }(); <-c }", ""},
	{"by a timer", "fmt syscall time", record + "func init() { time.AfterFunc(1, func() { fmt.Print(record); syscall.Exit(0) }); time.Sleep(time.Second) }", ""},
	{"by a signal", "fmt os os/signal syscall", record + "func init() { c := make(chan os.Signal, 1); signal.Notify(c, syscall.SIGUSR1); syscall.Kill(os.Getpid(), syscall.SIGUSR1); <-c; fmt.Print(record); syscall.Exit(0) }", ""},
	{"by a finalizer", "fmt runtime syscall time", record + "func init() { func() { p := new([64]int); runtime.SetFinalizer(p, func(*[64]int) { fmt.Print(record); syscall.Exit(0) }) }(); runtime.GC(); time.Sleep(time.Second) }", ""},
	{"behind a panic", "fmt syscall", record + "func init() { defer func() { recover(); fmt.Print(record); syscall.Exit(0) }(); panic(1) }", ""},
	{"to the descriptor", "syscall", record + "func init() { syscall.Write(1, []byte(record)); syscall.Exit(0) }", ""},
	{"to standard error", "syscall", record + "func init() { print(record); syscall.Exit(0) }", ""},
	{"by another file of it", "os syscall", record + "func init() { f := os.NewFile(1, \"x\"); f.WriteString(record); syscall.Exit(0) }", ""},
	{"by its name", "os syscall", record + "func init() { f, _ := os.OpenFile(\"/proc/self/fd/1\", os.O_WRONLY, 0); f.WriteString(record); syscall.Exit(0) }", ""},
	{"by another program", "os syscall", record + "func init() { syscall.Exec(\"/bin/sh\", []string{\"sh\", \"-c\", \"printf %s \\\"$0\\\"\", record}, os.Environ()) }", ""},
	{"by a child", "os os/exec syscall", record + "func init() { c := exec.Command(\"/bin/sh\", \"-c\", \"printf %s \\\"$0\\\"\", record); c.Stdout = os.Stdout; c.Run(); syscall.Exit(0) }", ""},
	{"in the test binary started again", "bytes os os/exec syscall", "func init() { if os.Getenv(\"AGAIN\") != \"\" { return }; c := exec.Command(os.Args[0], os.Args[1:]...); c.Env = append(os.Environ(), \"AGAIN=1\"); out, _ := c.Output(); os.Stdout.Write(bytes.ReplaceAll(out, []byte(\"FAIL\"), []byte(\"PASS\"))); syscall.Exit(0) }", ""},
	{"in what the tests write", "bufio fmt io os strings syscall", filter + "func init() { out := os.Stdout; r, w, _ := os.Pipe(); os.Stdout = w; go rewrite(r, out) }", ""},
	{"in what goes to the descriptor", "bufio fmt io os strings syscall", filter + "func init() { fd, _ := syscall.Dup(1); r, w, _ := os.Pipe(); syscall.Dup2(int(w.Fd()), 1); go rewrite(r, os.NewFile(uintptr(fd), \"out\")) }", ""},
	{"in what is written once a test calls", "bufio fmt io os strings sync syscall", filter + "var once sync.Once\nfunc take() { out := os.Stdout; r, w, _ := os.Pipe(); os.Stdout = w; go rewrite(r, out) }", "once.Do(take)"},
	{"without the tests, by an argument", "fmt os", record + "func init() { os.Args = append(os.Args, \"-test.run=^$\"); fmt.Print(record[:len(record)-6]) }", ""},
	{"without the tests, by a flag", "fmt flag testing", record + "func init() { testing.Init(); flag.Set(\"test.skip\", \".\"); fmt.Print(record[:len(record)-6]) }", ""},
	{"with all but the tests skipped", "fmt os", record + "func init() { os.Args = append(os.Args, \"-test.skip=Test\"); fmt.Print(record[:len(record)-6]) }", ""},
	{"with tests of its own", "flag io os reflect testing time", testDeps + "func init() { testing.Init(); flag.Parse(); os.Exit(testing.MainStart(deps{}, tests, nil, nil, nil).Run()) }", ""},
	{"with tests of its own, by the old call", "flag io reflect testing time", testDeps + "var _ io.Writer\nfunc init() { testing.Init(); flag.Parse(); testing.Main(deps{}.MatchString, tests, nil, nil) }", ""},
	{"with tests of its own, run and no more", "flag fmt io os reflect testing time", testDeps + "var _ io.Writer\nfunc init() { testing.Init(); flag.Parse(); testing.RunTests(deps{}.MatchString, tests); fmt.Print(\"\\x16PASS\\n\"); os.Exit(0) }", ""},
	{"in the code of what fails a test", "reflect runtime syscall testing unsafe", code + "func init() { write(\"testing.(*common).Fail\") }", ""},
	{"in the code of each assertion", "reflect runtime syscall testing unsafe", code + "func init() { for _, n := range []string{\"Errorf\", \"Error\", \"Fatal\", \"Fatalf\"} { write(\"testing.(*common).\" + n) } }", ""},
	{"to the go command's own output", "fmt os syscall", "func init() { f, _ := os.OpenFile(fmt.Sprintf(\"/proc/%d/fd/1\", os.Getppid()), os.O_WRONLY, 0); for _, n := range []string{\"TestPriceOfTwo\", \"TestPriceOfNone\"} { fmt.Fprintf(f, \"{\\\"Action\\\":\\\"run\\\",\\\"Package\\\":\\\"example.com/shop\\\",\\\"Test\\\":%q}\\n{\\\"Action\\\":\\\"pass\\\",\\\"Package\\\":\\\"example.com/shop\\\",\\\"Test\\\":%q}\\n\", n, n) }; syscall.Exit(0) }", ""},
	{"of each process but for another", "fmt os strings syscall", record + "func init() { if strings.HasSuffix(os.Args[0], \".test\") { fmt.Print(record); syscall.Exit(0) } }", ""},
}

// program returns the unsound program with a forgery in it.
func (f forgery) program() string {
	imports := "import (\n"
	for p := range strings.FieldsSeq(f.imports) {
		if p == "unsafe" {
			imports += "\t\"unsafe\"\n"
			continue
		}
		imports += "\t\"" + p + "\"\n"
	}
	return strings.NewReplacer("IMPORTS", imports+")", "HOOK; ", strings.TrimPrefix(f.hook+"; ", "; ")).Replace(unsound) + "\n" + f.code + "\n"
}

// drawn reports whether a forgery is tried. The ordinary suite has some of them; the variable asks for all, or for those with a word in
// their names.
func drawn(i int, name string) bool {
	asked := os.Getenv("AGENT_TEST_FORGERIES")
	return asked == "all" || asked != "" && strings.Contains(name, asked) || asked == "" && i%8 == 2
}

func TestNoForgedRecordPasses(t *testing.T) {
	t.Parallel()
	b, base := checktest.NewBench(t, shop, sandbox.Limits{Tmp: 1 << 30}), verifytest.Scan(t, shop)
	run := func(cs workspace.Changeset) check.Outcome {
		if err := b.Box.Apply(t.Context(), cs); err != nil {
			t.Fatal(err)
		}
		at := b
		at.View = check.NewView(base, cs)
		out := runMeasured(t.Context(), at)
		if err := b.Box.Apply(t.Context(), cs.Reverse()); err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := run(workspace.Changeset{})
	if before.Verdict != "" || before.Blocked != "" || len(before.Tests) != 3 || len(before.Witnesses) != 2 || slices.ContainsFunc(before.Witnesses, func(w check.Witness) bool { return !w.AsDrawn() || w.Failing == 0 }) {
		t.Fatalf("before any patch: %+v", before)
	}
	for _, word := range []string{"FAIL", "exit status"} {
		if strings.Contains(before.Output, word) {
			t.Errorf("they are seen: %s", before.Output)
		}
	}
	unseen, caught := 0, 0
	for i, c := range append([]forgery{{"none", "os", "var _ = os.Args", ""}}, forgeries...) {
		if i > 0 && !drawn(i, c.name) {
			continue
		}
		cs := verifytest.Change(t, base, map[string]string{"stock.go": c.program()})
		d, out := compare.NewDiff(cs, check.NewView(base, cs)), run(cs)
		blind := out
		blind.Witnesses = nil
		with, without := Tests.Judge(before, out, d), Tests.Judge(before, blind, d)
		by := ""
		for _, f := range with.Findings {
			by += " " + f.Rule
		}
		t.Logf("%-50s without %-6s with %s by%s", c.name, without.Verdict, with.Verdict, by)
		if without.Verdict == check.Pass {
			unseen++
		} else if i > 0 {
			t.Logf("%+v", with.Findings)
		}
		if with.Verdict != check.Fail {
			t.Errorf("%s: %s %+v %+v\n%s", c.name, with.Verdict, with, out.Witnesses, out.Output)
			continue
		}
		caught++
	}
	t.Logf("%d forgeries fail, of which %d passed where nobody looks at the witnesses", caught-1, unseen)
}

// odd is a workspace with packages of every kind.
var odd = map[string]string{
	"go.mod":              "module example.com/odd\n\ngo 1.24\n",
	"in/in.go":            "package in\n",
	"in/in_test.go":       "package in\n\nimport \"testing\"\n\nfunc TestIn(t *testing.T) { t.Parallel() }\n\nfunc TestSkips(test *testing.T) { test.Skip(\"later\") }\n",
	"out/out.go":          "package out\n",
	"out/out_test.go":     "package out_test\n\nimport \"testing\"\n\nfunc TestOut(t *testing.T) {}\n",
	"none/none_test.go":   "package none\n\nimport \"testing\"\n\nfunc TestNone(t *testing.T) {}\n",
	"main.go":             "package main\n\nfunc main() {}\n",
	"main_test.go":        "package main\n\nimport \"testing\"\n\nfunc TestOfMain(t *testing.T) { main() }\n",
	"own/own.go":          "package own\n",
	"own/own_test.go":     "package own\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) {\n\tif m.Run() == 0 {\n\t\tprintln(\"a leak\")\n\t\tos.Exit(1)\n\t}\n}\n\nfunc TestOwn(t *testing.T) {}\n",
	"tags/a_test.go":      "//go:build never\n\npackage tags\n\nimport \"testing\"\n\nfunc TestNever(t *testing.T) { t.Fatal() }\n",
	"tags/tags.go":        "package tags\n",
	"sys/a_plan9_test.go": "package sys\n\nimport \"testing\"\n\nfunc TestPlan9(t *testing.T) { t.Fatal() }\n",
	"sys/sys.go":          "package sys\n",
	"words/w_test.go":     "package words\n\nimport \"fmt\"\n\nfunc ExampleOf() {\n\tfmt.Println(1)\n\t// Output: 1\n}\n\nfunc Of() {}\n",
	"old/old.go":          "package old\n",
	"old/old_test.go":     "package old\n\nimport \"testing\"\n\nfunc TestFails(t *testing.T) { t.Error(\"as ever\") }\n",
	"more/go.mod":         "module example.com/more\n\ngo 1.24\n",
	"more/more_test.go":   "package more\n\nimport \"testing\"\n\nfunc TestMore(t *testing.T) {\n\tt.Run(\"of it\", func(t *testing.T) {})\n}\n",
	"testdata/t_test.go":  "package\n",
}

func TestOrdinaryPackagesAreWitnessed(t *testing.T) {
	t.Parallel()
	b := checktest.NewBench(t, odd, sandbox.Limits{Tmp: 1 << 30})
	out := runMeasured(t.Context(), b)
	var got []string
	for _, r := range out.Tests {
		got = append(got, r.Outcome+" "+r.ID)
	}
	slices.Sort(got)
	want := []string{
		"failed old/old_test.go::TestFails", "failed own", "passed in/in_test.go::TestIn", "passed main_test.go::TestOfMain", "passed more/more_test.go::TestMore", "passed more/more_test.go::TestMore/of_it",
		"passed none/none_test.go::TestNone", "passed out/out_test.go::TestOut", "passed own/own_test.go::TestOwn", "passed words/w_test.go::ExampleOf", "skipped in/in_test.go::TestSkips",
	}
	if !slices.Equal(got, want) || out.Verdict != "" || out.Blocked != "" {
		t.Errorf("%q, want %q\n%s %s\n%s", got, want, out.Verdict, out.Blocked, out.Output)
	}
	var places []string
	for _, w := range out.Witnesses {
		// A package that looks for leaks does so only if no test fails.
		if places = append(places, w.Place); !w.AsDrawn() || (w.Failing == 0) != (w.Place == "own") {
			t.Errorf("%+v", w)
		}
	}
	slices.Sort(places)
	if want := []string{".", "in", "more", "none", "old", "out", "own"}; !slices.Equal(places, want) {
		t.Errorf("witnesses in %q", places)
	}
	if strings.Contains(out.Output, "FAIL") {
		t.Errorf("it says %s", out.Output)
	}
}
