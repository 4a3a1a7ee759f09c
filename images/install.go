package images

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/tonistiigi/fsutil"

	"agent/images/dependencies"
	"agent/images/registries"
)

// installer is the user who installs, the images' own: no box has it, so that what
// is installed is nobody's who runs there.
const installer = "10001:10001"

// installTime bounds one installation. A registry that does not answer is noticed in seconds; this is for one
// that sends for ever.
const installTime = 15 * time.Minute

// labelDependencies is the digest of what an image's dependencies were installed from. A snapshot has it too.
const labelDependencies = "agent.dependencies"

// installDigest identifies what is installed: from what, where from, by which tools.
func installDigest(d dependencies.Set, toolchain Image, from registries.Set) (string, error) {
	script, err := specs.ReadFile(dependenciesStep)
	if err != nil {
		return "", err
	}
	// The certificates are no part of it: they decide whether a registry is
	// believed, not what a lock file names.
	key, err := json.Marshal([]any{toolchain.ID, hash(script), d.Scripts, d.Steps(), treeOf(d.Files()).Digest(), d.Links(), from.NPM, from.PyPI, from.GoProxy, from.GoSums})
	return hash(key), err
}

// An InstallError says that what a workspace depends on could not be
// installed: because of a registry, which is nobody's fault who wrote code, or
// because of what the workspace asks for.
type InstallError struct {
	// Registry is the address that did not answer; "" when all did.
	Registry string
	// Err has the end of what the installer printed.
	Err error
}

// Error names the registry, if it is to blame.
func (e *InstallError) Error() string {
	if e.Registry != "" {
		return e.Registry + " does not answer"
	}
	return e.Err.Error()
}

// Unwrap returns what the build said.
func (e *InstallError) Unwrap() error { return e.Err }

// Next says what to do about it.
func (e *InstallError) Next() string {
	if e.Registry == "" {
		return "fix the manifest or lock file that is named, or skip installation with --no-install"
	}
	return "set NPM_CONFIG_REGISTRY, PIP_INDEX_URL or GOPROXY to a registry that responds, or skip installation with --no-install"
}

// unanswered begins the line by which the script tells that a registry cannot
// be reached. An engine of this age gives the exit status of a step as text
// only, so a line of its output is as good. A package that prints the line while
// it is installed makes its own failure somebody else's, and passes nothing.
const unanswered = "agent: registry does not answer: "

// dependenciesStep is the script that installs.
const dependenciesStep = "steps/dependencies.sh"

// Install returns the image of the toolchain with these dependencies below /deps, for Snapshot to stand
// on: the toolchain itself for none. It is found by its digest, or built by one step with a network, in
// which nothing of the workspace but names and versions takes part. The error of a step that fails is an *InstallError.
func (b *Builder) Install(ctx context.Context, toolchain Image, d dependencies.Set) (Image, error) {
	if d.Empty() {
		return installed(d, toolchain, registries.Set{})
	}
	from, err := b.host.ForWorkspace()
	if err != nil {
		return Image{}, &InstallError{Err: err}
	}
	img, err := installed(d, toolchain, from)
	if err != nil {
		return Image{}, err
	}
	if ok, err := b.findInstalled(ctx, &img); ok || err != nil {
		return img, err
	}
	// One build at a time for one digest: the second of two equal ones finds
	// the first's. As for snapshots, a few locks serve all.
	unlock, err := lock(ctx, "deps-"+img.Installed[:1])
	if err != nil {
		return Image{}, err
	}
	defer unlock()
	if ok, err := b.findInstalled(ctx, &img); ok || err != nil {
		return img, err
	}
	labels, err := b.toolchainLabels(ctx, toolchain)
	if err != nil {
		return Image{}, err
	}
	labels[labelDependencies], labels[labelTaken] = img.Installed, time.Now().UTC().Format(time.RFC3339Nano)
	if err := b.install(ctx, img.Ref, toolchain, d, from, labels); err != nil {
		return Image{}, err
	}
	if ok, err := b.findInstalled(ctx, &img); !ok {
		return Image{}, cmp.Or(err, fmt.Errorf("dependencies %s: %w", img.Ref, ErrAbsent))
	}
	_, err = b.pruneInstalled(ctx)
	return img, err
}

// spareInstalled is how long dependencies stay without a snapshot on them: one may be on its way.
const spareInstalled = time.Hour

// pruneInstalled removes dependencies on which no snapshot stands, as those of an older lock file.
func (b *Builder) pruneInstalled(ctx context.Context) ([]string, error) {
	ids, err := b.engine.ImagesLabelled(ctx, labelDependencies)
	if err != nil {
		return nil, fmt.Errorf("list installed dependencies: %w", err)
	}
	used, old := make(map[string]bool), make(map[string]string)
	for _, id := range ids {
		got, labels, err := b.engine.ImageLabels(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("inspect image %.19s: %w", id, err)
		}
		taken, err := time.Parse(time.RFC3339Nano, labels[labelTaken])
		switch {
		case got == "":
		case labels[labelSnapshot] != "":
			// A snapshot takes the label over from what it stands on.
			used[labels[labelDependencies]] = true
		case err != nil || time.Since(taken) > spareInstalled:
			old[id] = labels[labelDependencies]
		}
	}
	var removed []string
	for _, id := range slices.Sorted(maps.Keys(old)) {
		if used[old[id]] {
			continue
		}
		gone, err := b.remove(ctx, id)
		if err != nil {
			return removed, err
		}
		removed = append(removed, gone...)
	}
	return removed, nil
}

// Planned returns the image that Install would make, without an ID: what it would be called and what it would hold.
func (b *Builder) Planned(toolchain Image, d dependencies.Set) (Image, error) {
	from, err := b.host.ForWorkspace()
	if err != nil {
		return Image{}, err
	}
	return installed(d, toolchain, from)
}

// installed is what is known of the image before it is built.
func installed(d dependencies.Set, toolchain Image, from registries.Set) (Image, error) {
	if d.Empty() && len(d.Links()) == 0 {
		return toolchain, nil
	}
	if d.Empty() {
		from = registries.Set{} // nothing is asked of one
	}
	digest, err := installDigest(d, toolchain, from)
	if err != nil {
		return Image{}, err
	}
	img := Image{Ref: "agent-deps:" + digest[:12], Versions: toolchain.Versions, Installed: digest, links: d.Links()}
	if d.Empty() {
		// There is nothing to build: what differs is in the snapshot.
		img.ID, img.Ref = toolchain.ID, toolchain.Ref
	}
	return img, nil
}

// findInstalled completes img if the engine has it.
func (b *Builder) findInstalled(ctx context.Context, img *Image) (bool, error) {
	id, labels, err := b.engine.ImageLabels(ctx, img.Ref)
	if err != nil {
		return false, fmt.Errorf("look for the installed dependencies: %w", err)
	}
	if id == "" || labels[labelDependencies] != img.Installed {
		return false, nil
	}
	img.ID = id
	return true, nil
}

// install builds the image.
func (b *Builder) install(ctx context.Context, ref string, toolchain Image, d dependencies.Set, from registries.Set, labels map[string]string) error {
	// Without a bound a registry that sends a byte a minute would hold the run
	// and its workspace's lock for ever.
	ctx, cancel := context.WithTimeoutCause(ctx, installTime, fmt.Errorf("nothing was installed within %s", installTime))
	defer cancel()
	script, err := specs.ReadFile(dependenciesStep)
	if err != nil {
		return err
	}
	out, err := b.outside(ctx)
	if err != nil {
		return err
	}
	source := "agent-dependencies"
	mounts := map[string]fsutil.FS{source: newTreeFS(treeOf(d.Files())), caSource: newTreeFS(certificates(from))}
	err = b.solve(ctx, ref, mounts, func(context.Context, gateway.Client) (llb.State, ocispecs.ImageConfig, error) {
		root := llb.Image(toolchain.Ref, llb.ResolveModePreferLocal, llb.WithCustomName("[dependencies] take "+toolchain.Ref))
		// As root, and without network: a place that the installer may write
		// to, and the one line by which every interpreter of the image finds the
		// packages. It is a path file and no variable, for then a gate need not
		// know of it, and appends to the path, so that a package of the same name
		// never takes the place of what a gate itself imports.
		const prepare = "mkdir -p /deps && chown " + installer + " /deps\n" +
			"for dir in /usr/lib/python3/dist-packages; do echo /deps/python >$dir/agent-dependencies.pth; done\n"
		root = step(root, "[dependencies] make a place", stepMark, prepare, nil,
			llb.AddEnv("PATH", buildPath), llb.Network(llb.NetModeNone)).Root()
		// The mount points are directories of every Debian: others would stay in
		// the image.
		files := llb.Local(source, llb.SharedKeyHint(source), llb.WithCustomName("[dependencies] transfer manifests and lock files"))
		trust := llb.Local(caSource, llb.SharedKeyHint(caSource), llb.WithCustomName("[dependencies] transfer certificates"))
		opts := append(installEnv(d, from), llb.AddMount("/media", files, llb.Readonly), llb.AddMount("/srv", trust, llb.Readonly),
			llb.User(installer), out)
		root = step(root, "[dependencies] install", stepMark, string(script), d.Steps(), opts...).Root()
		return root, ocispecs.ImageConfig{
			User: installer, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, WorkingDir: "/work", Labels: labels,
		}, nil
	})
	// A run that was cancelled is not one whose packages are wrong.
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	failure := &InstallError{Err: err}
	if _, rest, ok := strings.Cut(err.Error(), unanswered); ok {
		failure.Registry, _, _ = strings.Cut(rest, "\n")
	}
	return failure
}

// installEnv is the environment of the installing step.
func installEnv(d dependencies.Set, from registries.Set) []llb.RunOption {
	env := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "AGENT_NPM": from.NPM, "AGENT_PYPI": from.PyPI, "GOPROXY": from.GoProxy, "AGENT_SCRIPTS": fmt.Sprint(d.Scripts)}
	maps.Copy(env, from.GoSums)
	var opts []llb.RunOption
	for _, name := range slices.Sorted(maps.Keys(env)) {
		opts = append(opts, llb.AddEnv(name, env[name]))
	}
	return opts
}
