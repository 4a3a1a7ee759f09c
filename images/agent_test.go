package images

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/pkg/stdcopy"
)

// standIn is a module laid out like the agent's own repository: the program embeds its guest, which is built first.
func standIn(extra map[string]string) memTree {
	files := map[string]string{
		"go.mod":                      "module agent\n\ngo 1.26\n",
		"cmd/guest/main.go":           "package main\n\nfunc main() {}\n",
		"cmd/agent/guestbin/.gitkeep": "",
		"cmd/agent/main.go": `package main

import (
	"embed"
	"fmt"
)

//go:embed all:guestbin
var guest embed.FS

var builtFrom string

func main() {
	program, err := guest.ReadFile("guestbin/guest")
	fmt.Println(builtFrom, len(program) > 100000, err)
}
`,
	}
	maps.Copy(files, extra)
	content := map[string][]byte{}
	for name, text := range files {
		content[name] = []byte(text)
	}
	return treeOf(content)
}

// says runs an image and returns its output.
func (e *testEngine) says(t *testing.T, image string) string {
	t.Helper()
	return e.prints(t, &container.Config{Image: image, NetworkDisabled: true}, &container.HostConfig{CapDrop: []string{"ALL"}, ReadonlyRootfs: true})
}

// prints runs a container and returns its output.
func (e *testEngine) prints(t *testing.T, config *container.Config, host *container.HostConfig) string {
	t.Helper()
	id := e.create(t, config, host)
	done, errs := e.ContainerWait(t.Context(), id, container.WaitConditionNextExit)
	if err := e.ContainerStart(t.Context(), id, container.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-done:
	case err := <-errs:
		t.Fatal(err)
	}
	logs, err := e.ContainerLogs(t.Context(), id, container.LogsOptions{ShowStdout: true, ShowStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	var out strings.Builder
	if _, err := stdcopy.StdCopy(&out, &out, logs); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

func TestOneSourceIsOneAgentByteForByte(t *testing.T) {
	t.Parallel()
	b, on, e := newBuilder(t)
	build := func(tree memTree) (Build, error) {
		// Each build has a place of its own, so that the engine compiles again and finds nothing of the last build.
		place := own(t, b)
		ref := "agent-test:" + workspaceSource(place)
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
			defer cancel()
			if err := e.RemoveImage(ctx, ref); err != nil {
				t.Error(err)
			}
		})
		img, err := b.Agent(t.Context(), ref, on, tree, place)
		if err != nil && e.has(t, ref) {
			t.Error("a build that broke left a tag")
		}
		return img, err
	}
	tree := standIn(nil)
	first, err := build(tree)
	if err != nil {
		t.Fatal(err)
	}
	second, err := build(tree)
	if err != nil {
		t.Fatal(err)
	}
	if first.Program != second.Program || first.Source != tree.Digest() || len(first.Program) != 64 {
		t.Errorf("one source built twice:\n%+v\n%+v", first, second)
	}
	if out := e.says(t, first.ID); out != tree.Digest()+" true <nil>" {
		t.Errorf("the program says %q, not its source and that its guest is inside", out)
	}
	other, err := build(standIn(map[string]string{"cmd/agent/more.go": "package main\n\nvar more = 1\n"}))
	if err != nil || other.Program == first.Program {
		t.Errorf("another source is the same program: %+v, %v", other, err)
	}
	if _, err := build(standIn(map[string]string{"cmd/agent/more.go": "package main\n\nvar more int = \"1\"\n"})); err == nil || !strings.Contains(err.Error(), "more.go:3") {
		t.Errorf("a source that does not compile: %v", err)
	}
	if _, err := b.FindAgent(t.Context(), on.Ref); !errors.Is(err, ErrAbsent) {
		t.Errorf("the toolchain passes for the agent: %v", err)
	}
}
