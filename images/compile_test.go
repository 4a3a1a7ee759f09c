package images

import (
	"cmp"
	"os"
	"strings"
	"testing"

	"github.com/docker/docker/api/types/container"

	"agent/images/dependencies"
)

// The packages that Go files import from other modules are compiled once, in the image: a box builds, vets and tests
// with them and compiles nothing of those modules. A package without files for this system does not prevent that.
func TestWhatGoFilesImportIsCompiledOnce(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	const source = "package a\n\nimport \"github.com/google/uuid\"\n\nvar ID = uuid.New()\n"
	files := texts("go.mod", uuidModule, "go.sum", uuidSums, "a.go", source, "b_windows.go", "package a\n\nimport _ \"github.com/google/nothing\"\n")
	d := dependencies.Read(files)
	plain, err := b.Install(t.Context(), toolchain, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeImage(t, e, plain.ID) })
	d = d.Importing([]string{"a.go", "b_windows.go"}, func(p string) ([]byte, error) { return files[p], nil })
	if has, err := b.Has(t.Context(), toolchain, d); has || err != nil {
		t.Errorf("it is there before it was made: %v, %v", has, err)
	}
	img, err := b.Install(t.Context(), toolchain, d)
	if err != nil || img.ID == plain.ID || img.Installed != plain.Installed {
		t.Fatalf("%v: %+v, without imports %+v", err, img, plain)
	}
	t.Cleanup(func() { removeImage(t, e, img.ID) })
	const try = `! command -v gcc || exit 1
mkdir /tmp/a && cd /tmp/a && printf '%s' "$1" >go.mod && printf '%s' "$2" >go.sum && printf '%s' "$3" >a.go &&
printf 'package a\n\nimport "testing"\n\nfunc TestA(t *testing.T) {}\n' >a_test.go
for command in 'build -v' 'vet -x' 'test -v -x'; do /usr/lib/agent/go/run go $command . 2>&1; done; /usr/lib/agent/go/run staticcheck . && echo well`
	for image, compiles := range map[string]bool{plain.ID: true, img.ID: false} {
		text := e.prints(t, &container.Config{Image: image, Entrypoint: []string{"/bin/sh", "-c", try, "sh", uuidModule, uuidSums, source}, NetworkDisabled: true}, nil)
		compiled := strings.Contains(text, "github.com/google/uuid\n") || strings.Contains(text, "-p github.com/google/uuid ")
		if compiled != compiles || !strings.Contains(text, "PASS: TestA") || !strings.HasSuffix(text, "well") {
			t.Errorf("compiles the module: %v, want %v\n%s", compiled, compiles, text)
		}
	}
	if has, err := b.Has(t.Context(), toolchain, d); !has || err != nil {
		t.Errorf("it is not there: %v", err)
	}
	again, err := b.Install(t.Context(), toolchain, d)
	if err != nil || again.ID != img.ID {
		t.Errorf("the second time: %v, %+v", err, again)
	}
}

// If a workspace or something it imports is written in C, its boxes have a C compiler. Other boxes have none, and need none.
func TestWhatIsWrittenInCIsCompiled(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	const source = "package a\n\n// int twice(int x) { return 2 * x; }\nimport \"C\"\n\nimport \"net\"\n\nvar IP net.IP\n\nfunc Twice(x int) int { return int(C.twice(C.int(x))) }\n"
	const module = "module example.com/a\n\ngo 1.24\n" // nothing to install
	files := texts("go.mod", module, "a.go", source)
	d := dependencies.Read(files).Importing([]string{"a.go"}, func(p string) ([]byte, error) { return files[p], nil })
	img, err := b.Install(t.Context(), toolchain, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeImage(t, e, img.ID) })
	const try = `mkdir /tmp/a && cd /tmp/a && printf '%s' "$1" >go.mod && printf '%s' "$2" >a.go &&
printf 'package a\n\nimport "testing"\n\nfunc TestTwice(t *testing.T) {\n\tif Twice(21) != 42 {\n\t\tt.Fail()\n\t}\n}\n' >a_test.go
/usr/lib/agent/go/run go vet . && /usr/lib/agent/go/run go test -v -x . 2>&1`
	if text := e.prints(t, &container.Config{Image: img.ID, Entrypoint: []string{"/bin/sh", "-c", try, "sh", module, source}, NetworkDisabled: true}, nil); !strings.Contains(text, "PASS: TestTwice") || strings.Contains(text, "-p net ") {
		t.Error(text)
	}
	// If no compiler was available a while ago, it is not asked for again, and the rest is made without it.
	plain, err := b.installOnly(t.Context(), toolchain, d)
	if err != nil {
		t.Fatal(err)
	}
	_, digest, err1 := planCompiled(plain, d, true)
	_, noC, err2 := planCompiled(plain, d, false)
	if err := cmp.Or(err1, err2); err != nil {
		t.Fatal(err)
	}
	mark := markOf(digest)
	mark.leave()
	t.Cleanup(func() { _ = os.Remove(string(mark)) })
	without, err := b.Install(t.Context(), toolchain, d)
	if err != nil || without.ID == img.ID || without.ID == plain.ID {
		t.Fatalf("%v, %v: %+v", err, b.failures.recent(noC), without)
	}
	t.Cleanup(func() { removeImage(t, e, without.ID) })
	if text := e.prints(t, &container.Config{Image: without.ID, Entrypoint: []string{"/bin/sh", "-c", "command -v gcc || echo none"}, NetworkDisabled: true}, nil); strings.TrimSpace(text) != "none" {
		t.Error(text)
	}
}
