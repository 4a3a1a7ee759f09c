package selfbuild

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/images"
)

// plain is a possible package of the program before the change.
const plain = `package edit

import (
	"errors"
	"os"
)

type size int

var ErrNone = errors.New("none")

func Size(name string) size { i, _ := os.Stat(name); return size(i.Size()) }
`

// further maps a text to its concern when it is added as a file of a package, or to "" for none; a star marks a concern that is held.
var further = map[string]string{
	// This one emptied the list of protected paths.
	"import _ \"unsafe\"\n\n//go:linkname list agent/orchestrator/selfbuild.protected\nvar list []string": "go:linkname",
	"//go:linkname Size agent/x.y":  "go:linkname",
	"//\tgo:linkname in prose":      "",
	"// about //go:linkname":        "",
	"//go:cgo_import_dynamic a b c": "go:cgo_import_dynamic",
	"import \"unsafe\"\n\nfunc f(p *size) *string { return (*string)(unsafe.Pointer(p)) }": `imports "unsafe"`,
	"import u \"unsafe\"\n\nfunc f(p *size) *string { return (*string)(u.Pointer(p)) }":    "unsafe.Pointer",
	"import . \"unsafe\"\n\nfunc f(p *size) *string { return (*string)(Pointer(p)) }":      `imports "unsafe"`,
	"// #include <stdlib.h>\nimport \"C\"\n\nfunc f() { C.abort() }":                       `imports "C"`,
	"func init() { println() }":                                                    "init function",
	"func init() {}\n\nfunc init() { println() }":                                  "init function",
	"func (size) init() {}":                                                        "",
	"var _ = Size(\"x\")":                                                          "made by a call",
	"var list = []size{1, Size(\"x\")}":                                            "made by a call",
	"var (\n\ta = 1\n\tb = map[string]size{\"x\": Size(\"x\")}\n)":                 "made by a call",
	"var x = func() int { return 1 }()":                                            "made by a call",
	"var f = Size\n\nvar _ = (*(&f))(\"x\")":                                       "made by a call",
	"var p = &f\n\nvar f = func(any) int { return 1 }\n\nvar _ = (*p)(nil)":        "made by a call",
	"func len(string) int { return 1 }\n\nvar n = len(\"x\")":                      "made by a call",
	"import errors \"agent/orchestrator/edit/match\"\n\nvar e = errors.New(\"x\")": "made by a call",
	"import \"fmt\"\n\nvar e = fmt.Errorf(\"%v\", size(1))":                        "made by a call",
	"import \"sync\"\n\nvar e = sync.OnceValue(func() int { return 1 })()":         "made by a call",
	"var c chan int\n\nvar n = <-c":                                                "channel",
	"var n = panic":                                                                "",
	"import \"plugin\"\n\nfunc f() { _, _ = plugin.Open(\"x\") }":                  `*imports "plugin"`,
	"import \"syscall\"\n\nfunc f() { syscall.Sync() }":                            `*imports "syscall"`,
	"import \"golang.org/x/sys/unix\"\n\nfunc f() { unix.Sync() }":                 `*golang.org/x/sys/unix`,
	"import \"os/exec\"\n\nfunc f() { exec.Command(\"x\") }":                       `*os/exec`,
	"import _ \"net/http/pprof\"":                                                  `*side effects`,
	"//go:debug http2client=0":                                                     "*runtime",
	"func f( {":                                                                    "*cannot be read",
	// These are everyday changes.
	"func f() int { return int(Size(\"x\")) }":                                                    "",
	"func f() { func() { println(Size(\"x\")) }() }":                                              "",
	"import \"errors\"\n\nvar ErrMore = errors.New(\"more\")":                                     "",
	"import \"regexp\"\n\nvar re = regexp.MustCompile(`x`)":                                       "",
	"import \"agent/sandbox/workspace/lazyregexp\"\n\nvar re = lazyregexp.New(`x`)":               "",
	"import \"io/fs\"\n\nvar _ fs.FileInfo = (*info)(nil)\n\ntype info struct{ fs.FileInfo }":     "",
	"var list = append([]size{}, make([]size, 3)...)\n\nvar n = size(3)\n\nvar s = []byte(\"x\")": "",
	"var f = func() size { return Size(\"x\") }":                                                  "",
	"import \"strings\"\n\nvar r = strings.NewReplacer(\"a\", \"b\")":                             "",
	"import _ \"embed\"\n\n//go:embed x.txt\nvar text string":                                     "",
	"import \"net/url\"\n\nfunc f() { _, _ = url.Parse(\"x\") }":                                  "",
	"type pair[T any] struct{ a, b T }\n\nvar p = (*pair[int])(nil)":                              "",
	"const n = len(\"x\")": "",
}

func TestWhatReachesOutOfAPackageIsFound(t *testing.T) {
	t.Parallel()
	before := map[string][]byte{"orchestrator/edit/size.go": []byte(plain)}
	for text, want := range further {
		after := map[string][]byte{"orchestrator/edit/size.go": []byte(plain), "orchestrator/edit/more.go": []byte("package edit\n\n" + text + "\n")}
		list := concerns(before, after)
		if want == "" && len(list) == 0 {
			continue
		}
		found := false
		for _, c := range list {
			found = found || want != "" && strings.Contains(c.What, strings.TrimPrefix(want, "*")) && c.Refused != strings.HasPrefix(want, "*") && c.Path == "orchestrator/edit/more.go"
		}
		if !found {
			t.Errorf("%s\n%v, want %q", text, list, want)
		}
		// Code that was there before is not new, and neither is code that moved within the package.
		moved := map[string][]byte{"orchestrator/edit/other.go": after["orchestrator/edit/more.go"], "orchestrator/edit/size.go": []byte(plain)}
		if list := concerns(after, moved); len(list) > 0 && !strings.Contains(want, "cannot be read") {
			t.Errorf("%s\nmoved: %v", text, list)
		}
		// A test is not part of the program.
		tests := map[string][]byte{"orchestrator/edit/size.go": []byte(plain), "orchestrator/edit/more_test.go": after["orchestrator/edit/more.go"]}
		if list := concerns(before, tests); len(list) > 0 {
			t.Errorf("%s\nin a test: %v", text, list)
		}
	}
}

func TestAssemblyIsRefused(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"a/x.s": true, "a/x_amd64.S": true, "a/x.syso": true, "a/x.sx": true, "a/x.sh": false, "a/x.sql": false, "a/readme.md": false} {
		list := concerns(map[string][]byte{name: []byte("old")}, map[string][]byte{name: []byte("new")})
		if found := len(list) == 1 && list[0].Refused; found != want || len(list) > 1 {
			t.Errorf("%s: %v", name, list)
		}
	}
}

// TestOneMoreUseIsNew starts with a package that already does all of this, in another file too.
func TestOneMoreUseIsNew(t *testing.T) {
	t.Parallel()
	before := "package a\n\nimport (\n\t\"syscall\"\n\t\"unsafe\"\n)\n\nvar x = f()\n\nfunc f() int { syscall.Sync(); return int(unsafe.Sizeof(x)) }\n"
	files := func(a, b string) map[string][]byte {
		return map[string][]byte{"a/a.go": []byte(a), "a/b.go": []byte("package a\n\nimport \"syscall\"\n\n" + b)}
	}
	for more, want := range map[string]int{
		"func g() { syscall.Sync() }": 0,
		"var y = f()":                 1,
		"var y, z = f(), f()":         2,
	} {
		if list := concerns(files(before, ""), files(before, more)); len(list) != want {
			t.Errorf("%s: %v", more, list)
		}
	}
	once := strings.Replace(before, "unsafe.Sizeof(x)", "unsafe.Sizeof(x) + unsafe.Sizeof(1)", 1)
	if list := concerns(files(before, ""), files(once, "")); len(list) != 1 || !strings.Contains(list[0].What, "unsafe.Sizeof") || list[0].Line != 10 {
		t.Errorf("one more use: %v", list)
	}
}

// TestThePlacesOfTheProgramAreRead reads the program's own source: all of it parses, and compared with itself it contains nothing new.
func TestThePlacesOfTheProgramAreRead(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{}
	err := filepath.WalkDir("../..", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(p) != ".go" || strings.Contains(p, "testdata") {
			return err
		}
		text, err := os.ReadFile(p)
		files[p] = text
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range places(files) {
		if strings.Contains(p.What, "cannot be read") || strings.Contains(p.What, "init function") || strings.Contains(p.What, "linkname") {
			t.Errorf("%v", p.Concern)
		}
	}
	if list := concerns(files, files); len(list) > 0 {
		t.Errorf("%v", list)
	}
}

func TestADifferenceIsToTheCurrentVersion(t *testing.T) {
	t.Parallel()
	old := summed{"a/x.go", 0o644, "package a\n"}
	linked := summed{"a/x.go", 0o644, "package a\n\nfunc init() {}\n"}
	j := &Journal{dir: t.TempDir()}
	if d, err := j.Difference(nil, linked); err != nil || len(d.Paths()) != 0 {
		t.Errorf("the first image: %+v, %v", d, err)
	}
	if d, err := j.Difference(old, linked); err != nil || len(d.Paths()) != 1 || len(d.Refused()) != 1 {
		t.Errorf("the first image by a change: %+v, %v", d, err)
	}
	v := Version{Source: old.Digest()}
	if err := j.keepSource(v, old); err != nil {
		t.Fatal(err)
	}
	j.state.Current = &v
	for _, base := range []images.Tree{nil, linked} { // an ordinary run had written it before
		d, err := j.Difference(base, linked)
		if err != nil || len(d.Paths()) != 1 || len(d.Refused()) != 1 || !strings.Contains(d.Changes.Diff(), "+func init() {}") {
			t.Errorf("%+v, %v", d, err)
		}
	}
	if d, err := j.Difference(linked, old); err != nil || len(d.Paths()) != 0 || len(d.Concerns) != 0 {
		t.Errorf("back to the current version: %+v, %v", d, err)
	}
	if d, err := j.Difference(nil, summed{"a/y.txt", 0o644, "y"}); err != nil || strings.Join(d.Paths(), " ") != "a/y.txt a/x.go" {
		t.Errorf("another file: %+v, %v", d, err)
	}
}
