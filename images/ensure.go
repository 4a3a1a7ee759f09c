package images

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/tonistiigi/fsutil"

	"agent/images/registries"
	"agent/sandbox/workspace/lazyregexp"
)

// These are the labels of the images. Those of a snapshot are in snapshot.go.
const (
	labelImage   = "agent.image"    // toolchain, postgres, runtime or base
	labelSpec    = "agent.spec"     // digest of the specification
	labelTool    = "agent.tool."    // + tool: its version, as the tool reports it
	labelPackage = "agent.package." // + Debian package: its version
	labelMoved   = "agent.moved"    // packages whose pinned version the archive no longer had
)

// The scripts of the two steps that every image has.
const (
	packagesStep = "steps/packages.sh"
	versionsStep = "steps/versions.sh"
)

// find returns the image of r if the engine has it. It compares the label as well as the tag: the tag has only the first 12
// digits of the digest, and anybody may set it.
func (b *Builder) find(ctx context.Context, r *recipe) (Image, error) {
	id, labels, err := b.engine.ImageLabels(ctx, r.ref())
	if err != nil {
		return Image{}, fmt.Errorf("look for the %s image: %w", r.name, err)
	}
	if id == "" || labels[labelSpec] != r.digest {
		return Image{}, fmt.Errorf("%s image %s: %w: run `agent images build`", r.name, r.ref(), ErrAbsent)
	}
	return Image{ID: id, Ref: r.ref(), Versions: versions(labels)}, nil
}

// versions extracts the tools' versions from an image's labels.
func versions(labels map[string]string) map[string]string {
	v := make(map[string]string)
	for key, value := range labels {
		if tool, ok := strings.CutPrefix(key, labelTool); ok {
			v[tool] = value
		}
	}
	return v
}

// ensure finds the image or builds it. Processes that want the same image wait for each other, and later ones find it, hence
// the second look under the lock. From nothing, the toolchain takes some two minutes and 1 GB; if only the guest has
// changed, one or two seconds.
func (b *Builder) ensure(ctx context.Context, r *recipe) (Image, error) {
	img, err := b.find(ctx, r)
	if !errors.Is(err, ErrAbsent) {
		return img, err
	}
	unlock, err := lock(ctx, "images")
	if err != nil {
		return Image{}, err
	}
	defer unlock()
	img, err = b.find(ctx, r)
	if !errors.Is(err, ErrAbsent) {
		return img, err
	}
	if err := b.ensureBase(ctx, r.base); err != nil {
		return Image{}, err
	}
	from, err := b.host.ForTools()
	if err != nil {
		return Image{}, err
	}
	out, err := b.outside(ctx)
	if err != nil {
		return Image{}, err
	}
	mounts := map[string]fsutil.FS{
		"agent-files-" + r.name: newTreeFS(r.files), "agent-guest": newTreeFS(r.guest), caSource: newTreeFS(certificates(from)),
	}
	var moved string
	plan := func(ctx context.Context, c gateway.Client) (llb.State, ocispecs.ImageConfig, error) {
		root, config, err := r.plan(ctx, c, from, out)
		moved = config.Labels[labelMoved]
		return root, config, err
	}
	if err := b.solve(ctx, r.ref(), mounts, plan); err != nil {
		return Image{}, from.Explain(err)
	}
	// The step that noticed this says so too, but not if the engine had it in its cache.
	if moved != "" {
		b.sayf("%s image: the archive no longer has %s; it holds what has replaced them", r.name, moved)
	}
	return b.find(ctx, r)
}

// certificates returns the machine's certificates, in the form in which steps with a network mount them.
func certificates(from registries.Set) memTree {
	if from.CA == nil {
		return nil
	}
	return treeOf(map[string][]byte{"ca.crt": from.CA})
}

// outside returns the network of steps that need one: the host's, since the engine's bridge may be missing. If containers
// have user namespaces of their own, none may share the host's network, and only the bridge is left.
func (b *Builder) outside(ctx context.Context) (llb.RunOption, error) {
	own, err := b.engine.UserNamespaces(ctx)
	if own {
		return llb.Network(llb.NetModeSandbox), err
	}
	return llb.Network(llb.NetModeHost), err
}

// plan lays out the image: packages, other tools, users, files, guest. What changes most often comes last, so that a new
// guest, which every release and every hour of work on it brings, costs one small layer.
func (r *recipe) plan(ctx context.Context, c gateway.Client, from registries.Set, out llb.RunOption) (llb.State, ocispecs.ImageConfig, error) {
	none := func(err error) (llb.State, ocispecs.ImageConfig, error) {
		return llb.State{}, ocispecs.ImageConfig{}, err
	}
	install, err := specs.ReadFile(packagesStep)
	if err != nil {
		return none(err)
	}
	root := llb.Image(r.base.ref(), llb.ResolveModePreferLocal,
		llb.WithCustomName(r.stepName("take "+r.base.ref())))
	root = root.AddEnv("PATH", buildPath)
	args := append([]string{r.Prepare, strings.Join(r.Suites, " ")}, r.packageArgs()...)
	// Nothing here runs code of a workspace. Only this step and the one that fetches Go's modules have a network.
	root = step(root, r.stepName("install "+strings.Join(r.packageArgs(), " ")), stepMark, string(install), args, out).Root()
	if root, err = r.addTools(c, root, from, out); err != nil {
		return none(err)
	}
	root = step(root, r.stepName("set up users and directories"), stepMark, r.Setup, nil, llb.Network(llb.NetModeNone)).Root()
	labels, err := r.askVersions(ctx, c, root)
	if err != nil {
		return none(err)
	}
	if len(r.files) > 0 {
		root = copyIn(root, "agent-files-"+r.name, "/agent", stepMark, r.stepName("copy the agent's files"))
	}
	if len(r.guest) > 0 {
		root = copyIn(root, "agent-guest", "/agent", stepMark, r.stepName("copy the guest"))
	}
	return root, ocispecs.ImageConfig{
		User: r.User, Env: r.Env, WorkingDir: r.Workdir, Entrypoint: r.Entrypoint, StopSignal: r.StopSignal, Labels: labels,
	}, nil
}

// buildPath is the PATH of the build steps, since llb.Image alone does not bring the image's configuration. It has more
// directories than that of a container, because dpkg and similar programs are in those of root.
const buildPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// stepMark is the word that identifies steps of the agent's own images in the engine's cache.
const stepMark = "agent-build-step"

// step runs a script on root. The script is a file in the step, which keeps error texts short. The file is called mark,
// since the engine's cache describes a step by its arguments: this distinguishes its records from those of the user's
// builds. /mnt and /media exist in every Debian; any other mount point would stay in the image.
func step(root llb.State, title, mark, script string, args []string, opts ...llb.RunOption) llb.ExecState {
	file := llb.Scratch().File(llb.Mkfile("/"+mark, 0o444, []byte(script)), llb.WithCustomName(title+": script"))
	opts = append(opts, llb.Args(append([]string{"/bin/sh", "-eu", "/mnt/" + mark}, args...)),
		llb.AddMount("/mnt", file, llb.Readonly), llb.WithCustomName(title))
	return root.Run(opts...)
}

// copyIn copies the local source of that name to the directory dest, which exists and keeps its own owner and mode. It runs
// the image's own cp instead of LLB's file operation, because of the mark.
func copyIn(root llb.State, source, dest, mark, title string) llb.State {
	// BuildKit keeps one copy of what a source sent under a name and a hint, until it is pruned: only differences are transferred.
	src := llb.Local(source, llb.SharedKeyHint(source), llb.WithCustomName(title+": transfer"))
	// The script is in the arguments: a file for it would leave a record in the engine's cache that no name finds.
	script := `cp -a /media/. "$1/"; chown 0:0 "$1"; chmod 0755 "$1"`
	return root.Run(llb.Args([]string{"/bin/sh", "-eu", "-c", script, mark, dest}), llb.WithCustomName(title),
		llb.AddEnv("PATH", buildPath), llb.AddMount("/media", src, llb.Readonly), llb.Network(llb.NetModeNone)).Root()
}

// askVersions runs the tools of the image that is being built and returns their answers as labels, together with those that
// name the image.
//
// A version is what the tool itself says, since it goes into the record of every verdict; the version of its package says
// which build it is. The step writes to a mount of its own, which the build function reads before the image is exported:
// labels belong to the configuration, which is fixed by then.
func (r *recipe) askVersions(ctx context.Context, c gateway.Client, root llb.State) (map[string]string, error) {
	ask, err := specs.ReadFile(versionsStep)
	if err != nil {
		return nil, err
	}
	var args []string
	for _, tool := range slices.Sorted(maps.Keys(r.Tools)) {
		args = append(args, tool, r.Tools[tool])
	}
	args = append(append(args, "--"), slices.Sorted(maps.Keys(r.Packages))...)
	run := root
	for _, env := range r.Env {
		name, value, _ := strings.Cut(env, "=")
		run = run.AddEnv(name, value)
	}
	out := step(run, r.stepName("ask the tools for their versions"), stepMark, string(ask), args,
		llb.Network(llb.NetModeNone)).AddMount("/out", llb.Scratch())
	text, err := readBuilt(ctx, c, out, "versions")
	if err != nil {
		return nil, err
	}
	labels, err := r.versionLabels(text)
	if err != nil {
		return nil, err
	}
	maps.Copy(labels, map[string]string{labelImage: r.name, labelSpec: r.digest})
	return labels, nil
}

// versionNumber matches the version in what a tool says about itself.
var versionNumber = lazyregexp.New(`\d+(\.\d+)+[^\s,;()]*`)

// versionLabels turns the output of versions.sh into labels. It must contain every tool of the recipe: an image with a tool
// that does not start is unusable. A package at another version than the pinned one is not an error; labelMoved notes the
// version that was wanted.
func (r *recipe) versionLabels(text string) (map[string]string, error) {
	labels := make(map[string]string)
	var moved []string
	for line := range strings.Lines(text) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, value, _ := strings.Cut(rest, " ")
		switch kind {
		case "tool":
			labels[labelTool+name] = versionNumber.FindString(value)
		case "package":
			labels[labelPackage+name] = value
			if pin := r.Packages[name]; pin != "" && pin != value {
				moved = append(moved, name+"="+pin)
			}
		}
	}
	for tool, command := range r.Tools {
		if labels[labelTool+tool] == "" {
			return nil, fmt.Errorf("%q in the %s image prints no version: %q", command, r.name, text)
		}
	}
	if len(moved) > 0 {
		labels[labelMoved] = strings.Join(moved, " ")
	}
	return labels, nil
}
