package images

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/sandbox/guest/sealed"

	"github.com/docker/docker/api/types/container"
	"github.com/moby/buildkit/solver/pb"
)

// own gives a test its own workspace; the end of the test removes its snapshots.
func own(t testing.TB, b *Builder) string {
	t.Helper()
	workspace := t.TempDir()
	t.Cleanup(func() {
		e := b.engine.(*testEngine)
		for _, s := range shotsOf(t, b, workspace) {
			removeImage(t, e, s.id)
		}
		ctx := context.WithoutCancel(t.Context())
		if err := b.dropTransfer(ctx, workspaceSource(workspace)); err != nil {
			t.Error(err)
		}
	})
	return workspace
}

func shotsOf(t testing.TB, b *Builder, workspace string) []shot {
	t.Helper()
	ctx := t.Context()
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx) // the test is over, but its images are still there
	}
	shots, err := b.snapshots(ctx, labelWorkspace+"="+workspace)
	if err != nil {
		t.Fatal(err)
	}
	return shots
}

// frozen returns the files that a box of an image unseals, by path.
func frozen(t *testing.T, e *testEngine, img Image) map[string]File {
	t.Helper()
	_, labels, err := e.ImageLabels(t.Context(), img.ID)
	if err != nil {
		t.Fatal(err)
	}
	files := make(map[string]File)
	e.below(t, img.ID, "snapshot", func(h *tar.Header, content []byte) {
		name, ok := strings.CutPrefix(strings.TrimSuffix(h.Name, "/"), "snapshot/")
		if !ok {
			return
		}
		if h.Uid != 0 || h.Gid != 0 || h.Mode&0o222 != 0 {
			t.Errorf("%q is owned by %d:%d, mode %o", name, h.Uid, h.Gid, h.Mode)
		}
		err := sealed.Unseal(bytes.NewReader(content), name, []byte(labels[sealed.Label]), func(e sealed.Entry, r io.Reader) error {
			f := File{Path: e.Path, Mode: e.Mode, Target: e.Target}
			if e.Mode.IsRegular() {
				text, err := io.ReadAll(r)
				f.Size, f.Digest = e.Size, hash(text)
				if err != nil {
					return err
				}
			}
			files[e.Path] = f
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	return files
}

// linkTree is a memTree with symbolic links.
type linkTree struct {
	memTree
	links map[string]string
}

func (l linkTree) Digest() string { return hash([]byte(fmt.Sprint(l.memTree.Digest(), l.links))) }

func (l linkTree) Files() []File {
	files := l.memTree.Files()
	for _, p := range slices.Sorted(maps.Keys(l.links)) {
		files = append(files, File{Path: p, Mode: fs.ModeSymlink | 0o777, Target: l.links[p]})
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files
}

// hostile returns a tree that would lead astray a builder that looks into it.
func hostile() linkTree {
	file := func(path string, mode fs.FileMode, content string) memFile {
		return memFile{path: path, mode: mode, content: []byte(content)}
	}
	return linkTree{
		memTree: memTree{
			file(" ", 0o644, "a space"),
			file("-rf", 0o600, "a dash"),
			file(".dockerignore", 0o644, "*\n**\n"),
			file("Dockerfile", 0o644, "# syntax=registry.invalid/evil\nFROM scratch\nRUN --mount=type=cache,source=/,target=/x touch /x\n"),
			file("Dockerfile.dockerignore", 0o644, "*\n"),
			file("a", fs.ModeDir|0o700, ""),
			file("a-b", 0o644, "sorts between a and a/c"),
			file("a/.git", 0o444, "gitdir: /etc"),
			file("a/c", 0o755, "#!/bin/sh\n"),
			file("big", 0o644, strings.Repeat("0123456789abcdef", 200_000)),
			file("crlf\r\nname", 0o644, "a\r\nb\x00\xff"),
			file("empty", 0o640, ""),
			file("empty-dir", fs.ModeDir|0o755, ""),
			file("glob*[a]?", 0o644, "glob"),
			file("naïve-日本", 0o711, "unicode"),
			file("quote'\"$(x)`x`;", 0o644, "quotes"),
		},
		links: map[string]string{"a/loop": "loop", "abs": "/etc/passwd", "dangling": "../../nowhere", "to-dir": "a", "a/up": "../big"},
	}
}

func TestSnapshotEqualsTheTreeByteForByteWhateverItHolds(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	var said bytes.Buffer
	b.Progress, b.quiet = &said, 0
	tree := hostile()
	img, err := b.Snapshot(t.Context(), toolchain, tree, own(t, b))
	if err != nil {
		t.Fatal(err)
	}
	got := frozen(t, e, img)
	for _, want := range tree.Files() {
		have, ok := got[want.Path]
		if !ok {
			t.Errorf("%q is missing", want.Path)
			continue
		}
		delete(got, want.Path)
		mode := want.Mode | 0o444
		if want.Mode.IsDir() {
			mode = fs.ModeDir | 0o755
		}
		if have.Mode != mode || have.Target != want.Target || (want.Mode.IsRegular() && (have.Digest != want.Digest || have.Size != want.Size)) {
			t.Errorf("%q is %+v, want %+v with mode %v", want.Path, have, want, mode)
		}
	}
	for name := range got {
		t.Errorf("%q is in the snapshot and not in the tree", name)
	}
	for _, word := range []string{"registry.invalid", "resolve image config", "docker-image://", "[internal]"} {
		if strings.Contains(said.String(), word) {
			t.Errorf("a frontend took part: %q in\n%s", word, said.String())
		}
	}
	if !strings.Contains(said.String(), "[snapshot] freeze the workspace") {
		t.Errorf("progress is not named for people:\n%s", said.String())
	}
}

func TestEmptyTreeGivesAnEmptySnapshot(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	img, err := b.Snapshot(t.Context(), toolchain, memTree{}, own(t, b))
	if err != nil {
		t.Fatal(err)
	}
	if got := frozen(t, e, img); len(got) != 0 {
		t.Errorf("it holds %v", got)
	}
}

func TestEditOfTheSameSizeIsFrozenAndDeletedFilesGo(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	workspace := own(t, b)
	one := memTree{
		{path: "d", mode: fs.ModeDir | 0o755},
		{path: "d/gone", content: []byte("gone"), mode: 0o644},
		{path: "f", content: []byte("x = 1"), mode: 0o644},
		{path: "g", content: []byte("stays"), mode: 0o644},
	}
	// The edit keeps everything that BuildKit would compare by itself, and one file changes only its mode.
	two := memTree{
		{path: "f", content: []byte("x = 2"), mode: 0o644},
		{path: "g", content: []byte("stays"), mode: 0o755},
	}
	for _, tree := range []memTree{one, two, one} {
		img, err := b.Snapshot(t.Context(), toolchain, tree, workspace)
		if err != nil {
			t.Fatal(err)
		}
		got := frozen(t, e, img)
		for _, f := range tree.Files() {
			if !f.Mode.IsDir() && (got[f.Path].Digest != f.Digest || got[f.Path].Mode != f.Mode) {
				t.Errorf("%s is %+v, want %+v", f.Path, got[f.Path], f)
			}
		}
		if len(got) != len(tree) {
			t.Errorf("the snapshot holds %v", got)
		}
	}
}

func TestEqualTreeIsFoundAndOlderSnapshotsGo(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	workspace, neighbour := own(t, b), own(t, b)
	tree := func(n int) memTree { return memTree{{path: "n", content: []byte{byte('0' + n)}, mode: 0o644}} }
	var made []Image
	for n := range 4 {
		img, err := b.Snapshot(t.Context(), toolchain, tree(n), workspace)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, img)
		again, err := b.Snapshot(t.Context(), toolchain, tree(n), workspace)
		if err != nil || again.ID != img.ID || again.Ref != img.Ref {
			t.Errorf("the same tree gives %v, then %v (%v)", img, again, err)
		}
		if n == 0 {
			if _, err := b.Snapshot(t.Context(), toolchain, tree(n), neighbour); err != nil {
				t.Fatal(err)
			}
		}
	}
	for n, img := range made {
		if want := n >= len(made)-keepSnapshots; e.has(t, img.Ref) != want {
			t.Errorf("snapshot %d is on the engine: %v, want %v", n, !want, want)
		}
	}
	if len(shotsOf(t, b, neighbour)) != 1 {
		t.Error("the snapshot of another workspace of the same files went too")
	}
	_, labels, err := e.ImageLabels(t.Context(), made[3].ID)
	if err != nil {
		t.Fatal(err)
	}
	if labels["agent.snapshot"] != tree(3).Digest() || labels["agent.workspace"] != workspace || labels["agent.image"] != "" {
		t.Errorf("labels are %v", labels)
	}
	if made[3].Versions["ruff"] != toolchain.Versions["ruff"] || labels["agent.tool.ruff"] != toolchain.Versions["ruff"] {
		t.Errorf("the toolchain's versions are lost: %v, %v", made[3].Versions, labels)
	}
}

// TestFileThatChangesWhileItIsReadLeavesNoSnapshot expects the reader's own error, because the caller decides by it,
// although BuildKit passes on only text.
func TestFileThatChangesWhileItIsReadLeavesNoSnapshot(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	changed := errors.New("changed while it was read")
	for name, open := range map[string]func(string) (io.ReadCloser, error){
		"at the end":  func(string) (io.ReadCloser, error) { return io.NopCloser(&failing{"abc", changed}), nil },
		"at the open": func(string) (io.ReadCloser, error) { return nil, changed },
	} {
		workspace := own(t, b)
		tree := &testTree{
			digest: hash([]byte(workspace)), open: open,
			files: []File{{Path: "f", Mode: 0o644, Size: 3, Digest: hash([]byte("abc"))}},
		}
		_, err := b.Snapshot(t.Context(), toolchain, tree, workspace)
		if !errors.Is(err, changed) {
			t.Errorf("%s: the error is %v", name, err)
		}
		if e.has(t, snapshotRef(toolchain, tree, workspace)) || len(shotsOf(t, b, workspace)) != 0 {
			t.Errorf("%s: half a snapshot was tagged", name)
		}
		// The remains of the broken transfer must not be mistaken for the file later.
		whole := &testTree{
			digest: tree.digest, files: tree.files,
			open: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("abc")), nil },
		}
		img, err := b.Snapshot(t.Context(), toolchain, whole, workspace)
		if err != nil {
			t.Fatal(err)
		}
		if got := frozen(t, e, img)["f"]; got.Digest != hash([]byte("abc")) {
			t.Errorf("%s: after a broken transfer the file is %+v", name, got)
		}
	}
}

func TestEqualSnapshotsAtOnceAreOne(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	workspace := own(t, b)
	var wg sync.WaitGroup
	var ids [5]string
	for i := range ids {
		wg.Go(func() {
			// Each has its own builder, as separate processes have.
			img, err := New(e, testGuest, nil).Snapshot(t.Context(), toolchain, hostile(), workspace)
			if err != nil {
				t.Error(err)
			}
			ids[i] = img.ID
		})
	}
	wg.Wait()
	if slices.ContainsFunc(ids[:], func(id string) bool { return id != ids[0] || id == "" }) {
		t.Errorf("they get different images: %v", ids)
	}
	if n := len(shotsOf(t, b, workspace)); n != 1 {
		t.Errorf("%d images are left", n)
	}
}

func TestSnapshotOnAToolchainThatMovedIsAbsent(t *testing.T) {
	t.Parallel()
	b, toolchain, _ := newBuilder(t)
	workspace := own(t, b)
	other := toolchain
	other.ID = "sha256:" + hash(nil)
	gone := toolchain
	gone.Ref = "agent-toolchain:never"
	for _, img := range []Image{other, gone} {
		if _, err := b.Snapshot(t.Context(), img, memTree{}, workspace); !errors.Is(err, ErrAbsent) {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestPruneKeepsTheNewestOfEachWorkspaceAndWhatIsInUse(t *testing.T) {
	t.Parallel()
	// The engine is shared: the clean-up of an agent in another test may remove the older snapshots before this test
	// looks. A mistake of Prune itself shows every time.
	for try := 1; ; try++ {
		wrong := pruneWrongly(t)
		if wrong == "" {
			return
		}
		if try == 4 {
			t.Fatal(wrong)
		}
		t.Logf("again: %s", wrong)
	}
}

// pruneWrongly prunes two snapshots of each of two workspaces; the oldest has a box. It returns a description of what
// was removed that has to stay or stayed that has to go.
func pruneWrongly(t *testing.T) string {
	b, toolchain, e := newBuilder(t)
	mine := make(map[string]bool) // the images that Prune may see: it must leave those of other tests alone
	e.only = func(id string) bool { return mine[id] }
	shots := make(map[string][]Image)
	used, free := own(t, b), own(t, b)
	for _, workspace := range []string{used, free} {
		for n := range 2 {
			tree := memTree{{path: workspace[len(workspace)-3:], content: []byte{byte(n)}, mode: 0o644}}
			img, err := b.Snapshot(t.Context(), toolchain, tree, workspace)
			if err != nil {
				t.Fatal(err)
			}
			if workspace == used && n == 0 {
				if !e.has(t, img.ID) {
					return "the first snapshot went at once"
				}
				e.create(t, &container.Config{Image: img.ID, Cmd: []string{"none"}}, nil)
			}
			mine[img.ID] = true
			shots[workspace] = append(shots[workspace], img)
		}
	}
	removed, err := b.Prune(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(removed, []string{shots[free][0].ID}) {
		return fmt.Sprintf("removed are %v, want %v", removed, shots[free][0].ID)
	}
	for _, img := range []Image{shots[used][0], shots[used][1], shots[free][1], toolchain} {
		if !e.has(t, img.ID) {
			return fmt.Sprintf("%v went", img)
		}
	}
	return ""
}

// cached counts the entries of the engine's build cache for a workspace, by description.
func cached(t *testing.T, b *Builder, workspace string) (sources, copies int) {
	t.Helper()
	client, err := b.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	usage, err := client.DiskUsage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	source := workspaceSource(workspace)
	for _, u := range usage {
		switch {
		case strings.Contains(u.Description, copyMark(source)):
			copies++
		case strings.Contains(u.Description, source):
			sources++
		}
	}
	return sources, copies
}

// An engine before version 23 keeps its cache locked for ever if the caller of BuildKit's own prune call goes away:
// then no one can build there any more.
func TestAnEngineBuildsOnWhenWhoPrunedGoesAway(t *testing.T) {
	t.Parallel()
	b, toolchain, _ := newBuilder(t)
	workspace := own(t, b)
	source := workspaceSource(workspace)
	var whole time.Duration // the duration if the caller stays
	for i := range 18 {
		packs, err := seal(memTree{{path: "f", content: []byte{byte(i)}, mode: 0o644}}, sealed.NewKey())
		if err != nil {
			t.Fatal(err)
		}
		labels := map[string]string{labelWorkspace: workspace, labelSnapshot: "left"}
		if err := b.freeze(t.Context(), fmt.Sprintf("%s-left-%d", toolchain.Ref, i), source, packs, snapshotPlan(toolchain, labels, source)); err != nil {
			t.Fatal(err)
		}
		if i%6 < 5 {
			continue // it takes several records, so that only some are pruned when the call ends
		}
		patience, started := time.Minute, time.Now()
		if whole > 0 {
			patience = whole * time.Duration(46+2*i) / 100
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if err := b.dropTransfer(ctx, source); err != nil && whole == 0 {
			t.Fatal(err)
		}
		cancel()
		if whole == 0 {
			whole = time.Since(started)
		}
	}
	// The work that the engine had begun when the caller left takes a little longer.
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		if err := b.dropTransfer(ctx, source); err != nil {
			t.Fatal(err)
		}
		sources, copies := cached(t, b, workspace)
		if sources+copies == 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the cache has %d sources and %d copies", sources, copies)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func TestBuildCacheKeepsNothingOfAWorkspace(t *testing.T) {
	t.Parallel()
	b, toolchain, _ := newBuilder(t)
	workspace := own(t, b)
	tree := memTree{{path: "f", content: []byte{1}, mode: 0o644}}
	img, err := b.Snapshot(t.Context(), toolchain, tree, workspace)
	if err != nil {
		t.Fatal(err)
	}
	if sources, copies := cached(t, b, workspace); sources != 0 || copies != 0 {
		t.Errorf("after a snapshot the cache has %d sources and %d copies", sources, copies)
	}
	// This is the state after the process was killed before it cleaned up.
	packs, err := seal(tree, sealed.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	source := workspaceSource(workspace)
	labels := map[string]string{labelWorkspace: workspace, labelSnapshot: "killed"}
	if err := b.freeze(t.Context(), img.Ref+"-killed", source, packs, snapshotPlan(toolchain, labels, source)); err != nil {
		t.Fatal(err)
	}
	if sources, copies := cached(t, b, workspace); sources+copies == 0 {
		t.Error("a build leaves nothing in the cache: then nothing is tested here")
	}
	live := make(map[string]bool) // this test must not drop the sources of other tests
	for _, s := range allShots(t, b) {
		live[workspaceSource(s.workspace)] = s.workspace != workspace
	}
	if err := b.dropLeftovers(t.Context(), live); err != nil {
		t.Fatal(err)
	}
	if sources, copies := cached(t, b, workspace); sources != 0 || copies != 0 {
		t.Errorf("after a clean-up the cache has %d sources and %d copies", sources, copies)
	}
}

// The engine lists the result of every file operation as "fileop target", whoever requested it: no clean-up could find it.
func TestASnapshotLeavesNothingThatNoNameFinds(t *testing.T) {
	t.Parallel()
	state, _, err := snapshotPlan(Image{Ref: "agent-toolchain:any"}, nil, workspaceSource("/w"))(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	def, err := state.Marshal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range def.Def {
		var op pb.Op
		if err := op.UnmarshalVT(raw); err != nil {
			t.Fatal(err)
		}
		if f := op.GetFile(); f != nil {
			t.Errorf("a file operation: %v", f)
		}
		if e := op.GetExec(); e != nil && !slices.Contains(e.Meta.Args, copyMark(workspaceSource("/w"))) {
			t.Errorf("a step without the mark: %q", e.Meta.Args)
		}
	}
}

func allShots(t *testing.T, b *Builder) []shot {
	t.Helper()
	shots, err := b.snapshots(t.Context(), labelSnapshot)
	if err != nil {
		t.Fatal(err)
	}
	return shots
}

func TestPruneSnapshotsTakesThoseOfAWorkspaceThatIsGone(t *testing.T) {
	t.Parallel()
	b, toolchain, e := newBuilder(t)
	mine := make(map[string]bool)
	e.only = func(id string) bool { return mine[id] }
	stays, gone := own(t, b), own(t, b)
	shots := make(map[string]Image)
	for _, workspace := range []string{stays, gone} {
		img, err := b.Snapshot(t.Context(), toolchain, memTree{{path: "of", content: []byte(workspace), mode: 0o644}}, workspace)
		if err != nil {
			t.Fatal(err)
		}
		mine[img.ID], shots[workspace] = true, img
	}
	removed, err := b.PruneSnapshots(t.Context(), func(workspace string) int { return strings.Count(workspace, stays) })
	if err != nil || !slices.Equal(removed, []string{shots[gone].ID}) {
		t.Errorf("removed %v, %v, want %v", removed, err, shots[gone].ID)
	}
	if !e.has(t, shots[stays].ID) || !e.has(t, toolchain.ID) {
		t.Error("what is in use went too")
	}
}
