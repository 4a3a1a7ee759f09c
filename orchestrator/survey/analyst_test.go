package survey_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/images/imagestest"
	"agent/orchestrator/ledger"
	"agent/orchestrator/store/storetest"
	"agent/orchestrator/survey"
	"agent/sandbox"
	"agent/sandbox/workspace"
	"agent/verify"
)

// A study is a workspace with its analyst and the results.
type study struct {
	*survey.Analyst
	dir   string
	boxes int // number of started boxes
	notes []string
	// The ripples that were handed over, and the error of their receiver.
	ripples []ledger.Ripple
	refuse  error
}

// counted starts boxes and counts them.
type counted struct {
	verify.Launcher
	n *int
}

func (c counted) Start(ctx context.Context, spec sandbox.Spec) (*sandbox.Box, error) {
	*c.n++
	return c.Launcher.Start(ctx, spec)
}

// newStudy creates a workspace with these files.
func newStudy(t *testing.T, files map[string]string) *study {
	t.Helper()
	l := imagestest.Open(t)
	db, _ := storetest.New(t)
	s := &study{dir: t.TempDir()}
	s.Analyst = &survey.Analyst{Symbols: db, Images: l.Builder, Boxes: counted{l.Engine, &s.boxes}, Note: func(text string) { s.notes = append(s.notes, text) }}
	t.Cleanup(s.end(t))
	s.write(t, files)
	return s
}

// end returns a function that closes the current analyst of s and checks that its boxes are gone.
func (s *study) end(t *testing.T) func() {
	a := s.Analyst
	return func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// write writes files to the workspace; a file with empty text is removed.
func (s *study) write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		full := filepath.Join(s.dir, name)
		if text == "" {
			if err := os.Remove(full); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// again replaces the analyst by one of another process, with nothing in memory.
func (s *study) again(t *testing.T) {
	t.Helper()
	s.end(t)()
	s.Analyst = &survey.Analyst{Symbols: s.Symbols, Images: s.Images, Boxes: s.Boxes, Note: s.Note}
}

// scan studies the current workspace, and lists the affected files as "cart.py: function rate of tax.py is now called rates".
func (s *study) scan(t *testing.T) (*ledger.Ledger, []string, error) {
	t.Helper()
	base, err := workspace.Scan(t.Context(), s.dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	s.ripples = nil
	book, err := s.Study(t.Context(), base, func(found []ledger.Ripple) error {
		s.ripples = found
		return s.refuse
	})
	var told []string
	for _, r := range s.ripples {
		for _, c := range r.Because {
			told = append(told, r.Path+": "+c.String())
		}
	}
	return book, told, err
}

// must is scan that must not fail.
func (s *study) must(t *testing.T) (*ledger.Ledger, []string) {
	t.Helper()
	book, told, err := s.scan(t)
	if err != nil {
		t.Fatal(err)
	}
	return book, told
}

// If a changed name is used in two other files, both are found together with the change, for every kind of definition of the three
// languages. A file that uses the same name for something else is not.
func TestAChangeReachesItsUsersInEveryLanguage(t *testing.T) {
	t.Parallel()
	for language, w := range map[string]struct {
		files map[string]string
		// What is replaced in the file at path, and what is reported about it.
		path  string
		kinds map[string][3]string
		users []string
	}{
		"python": {
			path: "shop/tax.py", users: []string{"shop/cart.py", "web/page.py"},
			files: map[string]string{
				"shop/__init__.py": "\"\"\"Shop.\"\"\"\n", "web/__init__.py": "\"\"\"Web.\"\"\"\n",
				"shop/tax.py":  "\"\"\"Taxes.\"\"\"\n\nLIMIT = 7\n\n\ndef rate(x):\n    return x * 2\n\n\ndef other():\n    return 1\n\n\nclass Till:\n    def total(self, a):\n        return a\n\n\ndef spare():\n    return 2\n",
				"shop/cart.py": "from shop.tax import LIMIT, Till, rate, spare\n\n\ndef cart():\n    return rate(LIMIT) + Till().total(1) + spare()\n",
				"web/page.py":  "from shop import tax\n\n\ndef page():\n    return tax.rate(tax.LIMIT) + tax.Till().total(2) + tax.spare()\n",
				"web/own.py":   "LIMIT = 1\n\n\ndef rate(y):\n    return y\n\n\ndef spare():\n    return rate(LIMIT)\n",
			},
			kinds: map[string][3]string{
				"rename":   {"def rate(x)", "def rates(x)", "function rate of shop/tax.py is now called rates"},
				"constant": {"LIMIT = 7", "LIMIT = 8", "constant LIMIT of shop/tax.py has another value: = 8 was = 7"},
				"method":   {"def total(self, a)", "def total(self, a, b)", "method Till.total of shop/tax.py has another signature"},
				"deleted":  {"\n\ndef spare():\n    return 2\n", "", "function spare of shop/tax.py is gone"},
			},
		},
		"typescript": {
			path: "src/tax.ts", users: []string{"src/cart.ts", "web/page.ts"},
			files: map[string]string{
				"src/tax.ts":  "export const LIMIT = 7;\n\nexport function rate(x: number): number {\n  return x * 2;\n}\n\nexport class Till {\n  total(a: number): number {\n    return a;\n  }\n}\n\nexport function spare(): number {\n  return 2;\n}\n",
				"src/cart.ts": "import { LIMIT, Till, rate, spare } from \"./tax\";\n\nexport const cart = () => rate(LIMIT) + new Till().total(1) + spare();\n",
				"web/page.ts": "import * as tax from \"../src/tax\";\n\nexport const page = () => tax.rate(tax.LIMIT) + new tax.Till().total(2) + tax.spare();\n",
				"web/own.ts":  "const LIMIT = 1;\nconst rate = (y: number) => y;\nexport function spare(): number {\n  return rate(LIMIT);\n}\n",
			},
			kinds: map[string][3]string{
				"rename":   {"function rate(x", "function rates(x", "function rate of src/tax.ts is now called rates"},
				"constant": {"LIMIT = 7", "LIMIT = 8", "constant LIMIT of src/tax.ts has another value: = 8 was = 7"},
				"method":   {"total(a: number)", "total(a: number, b: number)", "method Till.total of src/tax.ts has another signature"},
				"deleted":  {"export function spare(): number {\n  return 2;\n}\n", "", "function spare of src/tax.ts is gone"},
			},
		},
		"go": {
			path: "tax/tax.go", users: []string{"cart/cart.go", "tax/more.go"},
			files: map[string]string{
				"go.mod":       "module shop\n\ngo 1.26\n",
				"tax/tax.go":   "// Package tax knows rates.\npackage tax\n\nconst Limit = 7\n\nfunc Rate(x int) int { return x * 2 }\n\ntype Till struct{}\n\nfunc (t Till) Total(a int) int { return a }\n\nfunc Spare() int { return 2 }\n",
				"tax/more.go":  "package tax\n\nfunc More() int { return Rate(Limit) + Till{}.Total(1) + Spare() }\n",
				"cart/cart.go": "package cart\n\nimport \"shop/tax\"\n\nfunc Cart() int { return tax.Rate(tax.Limit) + tax.Till{}.Total(2) + tax.Spare() }\n",
				"own/own.go":   "package own\n\nconst Limit = 1\n\nfunc Rate(y int) int { return y }\n\nfunc Spare() int { return Rate(Limit) }\n",
			},
			kinds: map[string][3]string{
				"rename":   {"func Rate(x", "func Rates(x", "function Rate of tax/tax.go is now called Rates"},
				"constant": {"Limit = 7", "Limit = 8", "constant Limit of tax/tax.go has another value: = 8 was = 7"},
				"method":   {"Total(a int)", "Total(a, b int)", "method Till.Total of tax/tax.go has another signature"},
				"deleted":  {"func Spare() int { return 2 }\n", "", "function Spare of tax/tax.go is gone"},
			},
		},
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			s := newStudy(t, w.files)
			if _, told := s.must(t); told != nil {
				t.Fatalf("the first study concerns %q", told)
			}
			for kind, c := range w.kinds {
				s.write(t, map[string]string{w.path: strings.Replace(w.files[w.path], c[0], c[1], 1)})
				_, told := s.must(t)
				var users []string
				for _, line := range told {
					user, what, _ := strings.Cut(line, ": ")
					if !strings.HasPrefix(what, c[2]) {
						t.Errorf("%s: told %q", kind, line)
					}
					users = append(users, user)
				}
				if !slices.Equal(users, w.users) {
					t.Errorf("%s: concerns %q, want %q", kind, users, w.users)
				}
				// Restore the file for the next kind.
				s.write(t, map[string]string{w.path: w.files[w.path]})
				s.must(t)
			}
		})
	}
}

// shop is a workspace in which cart.py uses what tax.py defines.
var shop = map[string]string{
	"tax.py": "def rate(x):\n    return x\n", "cart.py": "from tax import rate\n\nprint(rate(1))\n", "logo.png": "\x89PNG\x00\x01",
	"notes.md": "# Notes\n", "big.py": strings.Repeat("x = 1\n", 200_000),
}

// An unchanged workspace starts no box. If one file changes, only that file is read, even by a process that knows only the record.
func TestOnlyWhatChangedIsRead(t *testing.T) {
	t.Parallel()
	s := newStudy(t, shop)
	book, _ := s.must(t)
	if s.boxes != 1 || len(book.Paths()) != len(shop) {
		t.Fatalf("%d boxes for %q", s.boxes, book.Paths())
	}
	for path, want := range map[string]string{"logo.png": "not a text", "big.py": "over 1 MiB", "notes.md": "no parser for this kind of file", "tax.py": ""} {
		if f, _ := book.File(path); f.Problem != want || len(f.SHA256) != 64 {
			t.Errorf("%s: %+v, want %q", path, f, want)
		}
	}
	s.must(t)
	s.again(t)
	if book, _ := s.must(t); s.boxes != 1 || len(book.Definitions("tax.py", "", "rate")) != 1 {
		t.Errorf("%d boxes for an unchanged workspace", s.boxes)
	}
	s.again(t)
	s.write(t, map[string]string{"tax.py": "def rates(x):\n    return x\n", "logo.png": ""})
	book, told := s.must(t)
	if s.boxes != 2 || fmt.Sprint(told) != "[cart.py: function rate of tax.py is now called rates]" {
		t.Errorf("%d boxes, told %q", s.boxes, told)
	}
	if _, ok := book.File("logo.png"); ok || len(book.Paths()) != len(shop)-1 {
		t.Errorf("what is gone is still there: %q", book.Paths())
	}
}

// Ripples are handed over before a change is recorded, so a receiver that failed or died gets them again.
func TestRipplesThatWereNotTakenComeAgain(t *testing.T) {
	t.Parallel()
	for _, other := range []bool{false, true} {
		s := newStudy(t, shop)
		s.must(t)
		s.write(t, map[string]string{"tax.py": "def rates(x):\n    return x\n"})
		s.refuse = errors.New("the queue is away")
		if _, told, err := s.scan(t); !errors.Is(err, s.refuse) || len(told) != 1 {
			t.Fatalf("told %q, %v", told, err)
		}
		s.refuse = nil
		if other { // a process that died there held nothing
			s.again(t)
		}
		if _, told := s.must(t); len(told) != 1 {
			t.Errorf("told %q after the first try came to nothing", told)
		}
		if _, told := s.must(t); told != nil {
			t.Errorf("told twice: %q", told)
		}
	}
}

// The record of another process that studies the same workspace is noticed and taken over, and its ripples are not repeated.
func TestTheRecordOfAnotherProcessCounts(t *testing.T) {
	t.Parallel()
	s := newStudy(t, shop)
	s.must(t)
	held := s.Analyst
	s.again(t)
	s.write(t, map[string]string{"tax.py": "def rates(x):\n    return x\n", "cart.py": ""})
	s.must(t)
	s.Analyst = held
	boxes := s.boxes
	book, told := s.must(t)
	if told != nil || s.boxes != boxes || len(book.Definitions("tax.py", "", "rates")) != 1 {
		t.Errorf("told %q with %d more boxes", told, s.boxes-boxes)
	}
	if _, ok := book.File("cart.py"); ok {
		t.Error("a file that the other process saw go is still there")
	}
}

// A first study that is cut short continues where it stopped.
func TestAFirstStudyThatWasCutShortGoesOn(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 1200 {
		files[fmt.Sprintf("f%04d.py", i)] = fmt.Sprintf("def f%d():\n    pass\n", i)
	}
	s := newStudy(t, files)
	base, err := workspace.Scan(t.Context(), s.dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s.Note = func(string) { cancel() } // after the first part
	if _, err := s.Study(ctx, base, nil); err == nil {
		t.Fatal("a study that was cancelled ended well")
	}
	s.again(t)
	s.Note = func(text string) { s.notes = append(s.notes, text) }
	book, err := s.Recall(t.Context(), base.Root)
	if err != nil || len(book.Paths()) != 500 {
		t.Fatalf("%d files are recorded, %v", len(book.Paths()), err)
	}
	if book, told := s.must(t); len(book.Paths()) != 1200 || told != nil {
		t.Errorf("%d files, told %q", len(book.Paths()), told)
	}
	// 700 files were left, which are too few for a note.
	if len(s.notes) != 0 {
		t.Errorf("notes %q", s.notes)
	}
}

// A file that is being written keeps its known state.
func TestAFileThatMovesMeanwhileIsReadNextTime(t *testing.T) {
	t.Parallel()
	s := newStudy(t, shop)
	base, err := workspace.Scan(t.Context(), s.dir, nil, workspace.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, map[string]string{"tax.py": "def rates(x):\n    return x\n"})
	book, err := s.Study(t.Context(), base, nil)
	if _, ok := book.File("tax.py"); err != nil || ok {
		t.Errorf("it was read: %v", err)
	}
	if book, _ := s.must(t); len(book.Definitions("tax.py", "", "rates")) != 1 {
		t.Error("the next study does not know it")
	}
}

// brokenEngine cannot start a box.
type brokenEngine struct{}

func (brokenEngine) Start(context.Context, sandbox.Spec) (*sandbox.Box, error) {
	return nil, &sandbox.UnavailableError{Host: "unix:///x.sock", Hint: "start it", Err: errors.New("refused")}
}

// Without an engine, a study that must read something reports why it cannot, and leaves the record unchanged.
func TestAStudyWithoutAnEngineSaysSo(t *testing.T) {
	t.Parallel()
	s := newStudy(t, shop)
	s.must(t)
	s.write(t, map[string]string{"tax.py": "def rates(x):\n    return x\n"})
	engine := s.Boxes
	s.Boxes = brokenEngine{}
	_, told, err := s.scan(t)
	if gone := (*sandbox.UnavailableError)(nil); !errors.As(err, &gone) || told != nil {
		t.Errorf("told %q, %v", told, err)
	}
	s.Boxes = engine
	if _, told := s.must(t); len(told) != 1 {
		t.Errorf("told %q", told)
	}
}
