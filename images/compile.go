package images

import (
	"context"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/tonistiigi/fsutil"

	"agent/images/dependencies"
)

// labelCompiled is the digest of what was compiled for an image, and for which. A snapshot on it has it too.
const labelCompiled = "agent.compiled"

// compileStep is the script that compiles.
const compileStep = "steps/compile.sh"

// compiled returns the image of on, in which d is installed, with what the workspace imports of other modules of Go compiled, found
// or built: on itself where there is nothing to compile, and where that fails, since boxes can do it themselves. Installed stays
// as it is: no verdict hangs on it. The error is that of a ctx that ended, or of the engine.
func (b *Builder) compiled(ctx context.Context, on Image, d dependencies.Set) (Image, error) {
	if len(d.Imports()) == 0 {
		return on, nil
	}
	img, digest, script, err := planCompiled(on, d)
	if err != nil {
		return on, err
	}
	if ok, err := b.findLabelled(ctx, &img, labelCompiled, digest); ok || err != nil {
		return img, err
	}
	unlock, err := lock(ctx, "compiled-"+digest[:1])
	if err != nil {
		return on, err
	}
	defer unlock()
	if ok, err := b.findLabelled(ctx, &img, labelCompiled, digest); ok || err != nil {
		return img, err
	}
	if b.failures.recent(digest) != nil {
		return on, nil
	}
	labels, err := b.toolchainLabels(ctx, on)
	if err != nil {
		return on, err
	}
	labels[labelCompiled], labels[labelTaken] = digest, time.Now().UTC().Format(time.RFC3339Nano)
	building, cancel := context.WithTimeoutCause(ctx, installTime, errInstallTime)
	defer cancel()
	const source, title = "agent-compile", "[dependencies] "
	err = b.solve(building, img.Ref, map[string]fsutil.FS{source: newTreeFS(treeOf(compileFiles(d)))}, func(context.Context, gateway.Client) (llb.State, ocispecs.ImageConfig, error) {
		root := llb.Image(on.Ref, llb.ResolveModePreferLocal, llb.WithCustomName(title+"take "+on.Ref))
		media := llb.Local(source, llb.SharedKeyHint(source), llb.WithCustomName(title+"transfer the names of imported packages"))
		// No script of a package that was installed has come to the place: the boxes of gates believe what lies there.
		asRoot := []llb.RunOption{llb.AddEnv("PATH", buildPath), llb.User("0:0"), llb.Network(llb.NetModeNone)}
		root = step(root, title+"make a place for what is compiled", stepMark, "mkdir /usr/lib/agent-go && chown "+installer+" /usr/lib/agent-go\n", nil, asRoot...).Root()
		root = step(root, title+"compile what is imported", stepMark, script, slices.Sorted(maps.Keys(d.Imports())),
			llb.AddEnv("PATH", "/usr/local/bin:/usr/bin:/bin"), llb.AddMount("/media", media, llb.Readonly), llb.User(installer), llb.Network(llb.NetModeNone)).Root()
		return root, ocispecs.ImageConfig{User: installer, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, WorkingDir: "/work", Labels: labels}, nil
	})
	switch {
	case ctx.Err() != nil:
		return on, context.Cause(ctx)
	case err != nil:
		_ = b.failures.keep(digest, &InstallError{Step: -1, Said: err.Error(), Err: err})
		return on, nil
	}
	if ok, err := b.findLabelled(ctx, &img, labelCompiled, digest); !ok {
		return on, err
	}
	_, err = b.pruneUnused(ctx, labelCompiled)
	return img, err
}

// planCompiled is what is known of the image before it is built: its digest, and the script that makes it.
func planCompiled(on Image, d dependencies.Set) (img Image, digest, script string, err error) {
	text, err := specs.ReadFile(compileStep)
	if err != nil {
		return img, "", "", err
	}
	key, err := json.Marshal([]any{on.ID, hash(text), treeOf(compileFiles(d)).Digest()})
	digest, img = hash(key), on
	img.ID, img.Ref = "", "agent-compiled:"+digest[:12]
	return img, digest, string(text), err
}

// hasCompiled reports whether compiled would find what it is to compile, or has nothing to.
func (b *Builder) hasCompiled(ctx context.Context, on Image, d dependencies.Set) (bool, error) {
	if len(d.Imports()) == 0 {
		return true, nil
	}
	img, digest, _, err := planCompiled(on, d)
	if err != nil || b.failures.recent(digest) != nil {
		return true, err
	}
	return b.findLabelled(ctx, &img, labelCompiled, digest)
}

// compileFiles are what the compiling step is given: the manifests of all modules, and by module what it imports.
func compileFiles(d dependencies.Set) map[string][]byte {
	files := map[string][]byte{}
	for name, content := range d.Files() {
		if rest, ok := strings.CutPrefix(name, "go/"); ok {
			files[rest] = content
		}
	}
	for root, names := range d.Imports() {
		files[path.Join(root, ".imports")] = []byte(strings.Join(names, "\n") + "\n")
	}
	return files
}
