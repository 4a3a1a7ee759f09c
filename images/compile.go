package images

import (
	"cmp"
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

// labelCompiled is the digest of what was compiled for an image, and for which image. A snapshot on that image has the label too.
const labelCompiled = "agent.compiled"

// The script that compiles, and the one that finds what is written in C among the imports.
const (
	compileStep = "steps/compile.sh"
	findCStep   = "steps/find_c.sh"
)

// cCompiler are the packages of Debian that compile C.
var cCompiler = []string{"gcc", "libc6-dev"}

// compiled returns the image that adds to on, in which d is installed, the compiled packages that the workspace imports from
// other Go modules. It finds or builds that image. If there is nothing to compile, or compiling fails, it returns on itself,
// since boxes can compile too. If Debian's archive gives no C compiler, it goes without one for an hour. Installed stays as
// it is: no verdict depends on this image. The error is that of a ctx that ended, or of the engine.
func (b *Builder) compiled(ctx context.Context, on Image, d dependencies.Set) (Image, error) {
	if len(d.Imports()) == 0 {
		return on, nil
	}
	img, digest, err := planCompiled(on, d, true)
	if err != nil {
		return on, err
	}
	mark := markOf(digest)
	if !mark.recent() {
		img, err := b.compiledAs(ctx, img, digest, on, d, true)
		if img.ID != on.ID || err != nil {
			return img, err
		}
		mark.leave()
	}
	if img, digest, err = planCompiled(on, d, false); err != nil {
		return on, err
	}
	return b.compiledAs(ctx, img, digest, on, d, false)
}

// compiledAs finds or builds the image img with that digest, including packages written in C if cgo, or else as if there
// were no C compiler. It returns on if the image cannot be built.
func (b *Builder) compiledAs(ctx context.Context, img Image, digest string, on Image, d dependencies.Set, cgo bool) (Image, error) {
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
	out, err := b.outside(ctx)
	if err != nil {
		return on, err
	}
	building, cancel := context.WithTimeoutCause(ctx, installTime, errInstallTime)
	defer cancel()
	const source = "agent-compile"
	err = b.solve(building, img.Ref, map[string]fsutil.FS{source: newTreeFS(treeOf(compileFiles(d)))}, func(ctx context.Context, c gateway.Client) (llb.State, ocispecs.ImageConfig, error) {
		config := ocispecs.ImageConfig{User: installer, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, WorkingDir: "/work", Labels: labels}
		media := llb.Local(source, llb.SharedKeyHint(source), llb.WithCustomName("[dependencies] transfer the names of imported packages"))
		root, err := compileOn(ctx, c, llb.Image(on.Ref, llb.ResolveModePreferLocal, llb.WithCustomName("[dependencies] take "+on.Ref)), media, slices.Sorted(maps.Keys(d.Imports())), cgo, out)
		return root, config, err
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

// compileOn compiles what is imported below the roots in media, in an image with dependencies. If some of it is written in C
// and cgo is set, the image first gets a C compiler, and so do the boxes on it. out is the way to Debian's archive.
func compileOn(ctx context.Context, c gateway.Client, root, media llb.State, roots []string, cgo bool, out llb.RunOption) (llb.State, error) {
	const title = "[dependencies] "
	find, err1 := specs.ReadFile(findCStep)
	compile, err2 := specs.ReadFile(compileStep)
	install, err3 := specs.ReadFile(packagesStep)
	if err := cmp.Or(err1, err2, err3); err != nil {
		return root, err
	}
	asRoot := []llb.RunOption{llb.AddEnv("PATH", buildPath), llb.User("0:0")}
	alone := append(slices.Clone(asRoot), llb.Network(llb.NetModeNone))
	asInstaller := []llb.RunOption{llb.AddEnv("PATH", "/usr/local/bin:/usr/bin:/bin"), llb.AddMount("/media", media, llb.Readonly), llb.User(installer), llb.Network(llb.NetModeNone)}
	// No script of an installed package has reached this place: the boxes of gates trust what is there.
	root = step(root, title+"make a directory for compiled packages", stepMark, "mkdir /usr/lib/agent-go && chown "+installer+" /usr/lib/agent-go\n", nil, alone...).Root()
	root = step(root, title+"look for packages written in C", stepMark, string(find), roots, asInstaller...).Root()
	found, err := readBuilt(ctx, c, root, "usr/lib/agent-go/found")
	if err != nil {
		return root, err
	}
	if cgo && strings.TrimSpace(found) != "" {
		root = step(root, title+"install "+strings.Join(cCompiler, " "), stepMark, "set -- '' '' --no-remove \"$@\"\n"+string(install), cCompiler, append(asRoot, out)...).Root()
		root = step(root, title+"allow C to be compiled", stepMark, "touch /usr/lib/agent-go/cgo && chown "+installer+" /usr/lib/agent-go/cgo\n", nil, alone...).Root()
	}
	return step(root, title+"compile imported packages", stepMark, string(compile), roots, asInstaller...).Root(), nil
}

// planCompiled returns what is known of the image before it is built, with packages written in C if cgo, and its digest.
func planCompiled(on Image, d dependencies.Set, cgo bool) (img Image, digest string, err error) {
	parts := []any{on.ID, treeOf(compileFiles(d)).Digest(), cCompiler, cgo}
	for _, name := range []string{findCStep, compileStep} {
		text, err := specs.ReadFile(name)
		if err != nil {
			return img, "", err
		}
		parts = append(parts, hash(text))
	}
	key, err := json.Marshal(parts)
	digest, img = hash(key), on
	img.ID, img.Ref = "", "agent-compiled:"+digest[:12]
	return img, digest, err
}

// hasCompiled reports whether compiled would find its image, or has nothing to compile.
func (b *Builder) hasCompiled(ctx context.Context, on Image, d dependencies.Set) (bool, error) {
	if len(d.Imports()) == 0 {
		return true, nil
	}
	for _, cgo := range []bool{true, false} {
		img, digest, err := planCompiled(on, d, cgo)
		if err != nil || b.failures.recent(digest) != nil {
			return true, err
		}
		if !cgo || !markOf(digest).recent() {
			return b.findLabelled(ctx, &img, labelCompiled, digest)
		}
	}
	return false, nil
}

// compileFiles returns the input of the compiling step: the manifests of all modules, and for each module its imports.
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
