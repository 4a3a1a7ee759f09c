package images

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/tonistiigi/fsutil"
)

// Where what is installed lies in an image, and where a box has the workspace.
const (
	installedDir = "/deps"
	workDir      = "/work"
)

// installer is the user who installs, the images' own: no box has it, so that what
// is installed is nobody's who runs there.
const installer = "10001:10001"

// The bounds of what is read of a workspace to install from.
const (
	MaxDependencyFile  = 32 << 20 // bytes of one file
	maxDependencyFiles = 2000
)

// installTime bounds one installation. A registry that does not answer is noticed in seconds; this is for one
// that sends for ever.
const installTime = 15 * time.Minute

// labelDependencies is the digest of what an image's dependencies were installed from. A snapshot has it too.
const labelDependencies = "agent.dependencies"

// A market is where packages come from: the user's own settings, never the workspace's.
type market struct {
	sources
	index string            // of Python's packages, a simple index
	sums  map[string]string // what else Go reads: GOSUMDB and its kind
}

// market reads the settings that pip and Go read themselves, beside those for the toolchain. An address with a
// password in it is refused for the same reason.
func (h host) market() (market, error) {
	src, err := h.sources()
	if err != nil {
		return market{}, err
	}
	// Without a proxy Go would open connections to whatever host a go.mod
	// names, from the network of the machine that the engine runs on. Who
	// wants that sets it.
	if src.proxy == defaultProxy {
		src.proxy = strings.TrimSuffix(defaultProxy, ",direct")
	}
	m := market{sources: src, sums: map[string]string{}}
	// pip reads more files than this one; it is the one that its own command
	// "pip config set" writes.
	config := filepath.Join(first(h.getenv("XDG_CONFIG_HOME"), filepath.Join(h.getenv("HOME"), ".config")), "pip", "pip.conf")
	m.index = first(h.getenv("PIP_INDEX_URL"), h.setting(config, "index-url"), "https://pypi.org/simple")
	if u, err := url.Parse(m.index); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
		return market{}, errors.New("package index of Python: it is no https address, or has a password in it: set PIP_INDEX_URL to one such as https://pypi.org/simple")
	}
	// Which modules are checked against which database is the user's too: a
	// private one is in none.
	for _, name := range []string{"GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE"} {
		if v := h.getenv(name); v != "" {
			m.sums[name] = v
		}
	}
	return m, nil
}

// Dependencies is what a workspace wants to have installed, made from its manifests and lock files by
// ReadDependencies.
//
// It is a value to compare and to hand to Install; what it holds of the
// workspace's bytes has been read and written anew, or it is plain text with
// no meaning but names, versions and digests.
type Dependencies struct {
	// Scripts says that packages may run code of theirs while they are installed.
	Scripts bool
	// Notes tell people what was left out, and why.
	Notes []string

	steps []installStep
	files memTree
	// Directories with a package.json below a place where Node packages are installed, "." for the root.
	node []string
	// Packages of the workspace by the path where others of it look for them; see nodeSpace.
	members map[string]string
}

// An installStep is one run of a package manager.
type installStep struct {
	kind string // npm, pnpm, yarn, pip, go
	root string // directory in the workspace; "." for pip, which installs for all at once
}

// Empty reports whether there is nothing to install.
func (d Dependencies) Empty() bool { return len(d.steps) == 0 }

// Uninstalled leaves of d what takes no registry: that packages of a workspace find each other.
func (d Dependencies) Uninstalled() Dependencies { return Dependencies{members: d.members} }

// Equal reports whether the same is to be installed, and to be found by the same names.
func (d Dependencies) Equal(other Dependencies) bool {
	return d.Scripts == other.Scripts && slices.Equal(d.steps, other.steps) && d.files.Digest() == other.files.Digest() && maps.Equal(d.links(), other.links())
}

// Managers names the package managers that install, each once.
func (d Dependencies) Managers() []string {
	var names []string
	for _, s := range d.steps {
		name, _, _ := strings.Cut(s.kind, "-")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// notef remembers something for people.
func (d *Dependencies) notef(format string, args ...any) {
	d.Notes = append(d.Notes, fmt.Sprintf(format, args...))
}

// DependencyFile reports whether the file at p takes part in what is installed. Of the settings files of
// package managers none does: a workspace must not choose where packages come from.
func DependencyFile(p string) bool {
	// Names are compared as the package managers do it, case and all.
	base := path.Base(p)
	switch base {
	case "package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "yarn.lock",
		"pyproject.toml", "poetry.lock", "uv.lock", "pdm.lock", "Pipfile", "Pipfile.lock", "go.mod", "go.sum", "go.work", "go.work.sum":
		return true
	case "modules.txt":
		// Only that it is there counts.
		return path.Base(path.Dir(p)) == "vendor"
	}
	text := path.Ext(p) == ".txt"
	return text && (strings.HasPrefix(base, "requirements") || strings.HasPrefix(base, "constraints") || path.Base(path.Dir(p)) == "requirements")
}

// ReadDependencies finds out what is to be installed from the files of a workspace that DependencyFile
// names. What is kept of them are names and versions: everything that could lead an installer elsewhere, or
// make it run something, is left out and noted.
func ReadDependencies(files map[string][]byte) Dependencies {
	d := Dependencies{members: map[string]string{}}
	// Each file costs a comparison with each other one; no workspace that a
	// person made comes near.
	if len(files) > maxDependencyFiles {
		d.notef("nothing is installed: the workspace has %d manifests and lock files, and at most %d are read", len(files), maxDependencyFiles)
		return d
	}
	d.readNode(files)
	d.readPython(files)
	d.readGo(files)
	return d
}

// add puts a file where the installer finds it, with the directories above
// it: the receiving side of a transfer wants parents first.
func (d *Dependencies) add(name string, content []byte) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if slices.ContainsFunc(d.files, func(f memFile) bool { return f.path == dir }) {
			break
		}
		d.files = append(d.files, memFile{path: dir, mode: fs.ModeDir | 0o755})
	}
	d.files = append(d.files, memFile{path: name, content: content, mode: 0o444})
}

// digest identifies what is installed: from what, where from, by which tools.
func (d Dependencies) digest(toolchain Image, m market) (string, error) {
	script, err := specs.ReadFile(dependenciesStep)
	if err != nil {
		return "", err
	}
	// In one order, whichever language's files were read first.
	slices.SortFunc(d.files, func(a, b memFile) int { return strings.Compare(a.path, b.path) })
	// The certificates are no part of it: they decide whether a registry is
	// believed, not what a lock file names.
	key, err := json.Marshal([]any{toolchain.ID, hash(script), d.Scripts, d.args(), d.files.Digest(), d.links(), m.registry, m.index, m.proxy, m.sums})
	return hash(key), err
}

// args are the steps as the script takes them.
func (d Dependencies) args() []string {
	var args []string
	for _, s := range d.steps {
		args = append(args, s.kind, s.root)
	}
	return args
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
		return "mend the manifest or lock file that is named, or go on without what it lists by --no-install"
	}
	return "name a registry that answers, by NPM_CONFIG_REGISTRY, PIP_INDEX_URL or GOPROXY, or go on without by --no-install"
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
func (b *Builder) Install(ctx context.Context, toolchain Image, d Dependencies) (Image, error) {
	if d.Empty() {
		return d.image(toolchain, market{})
	}
	m, err := b.host.market()
	if err != nil {
		return Image{}, &InstallError{Err: err}
	}
	img, err := d.image(toolchain, m)
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
	if err := b.install(ctx, img.Ref, toolchain, d, m, labels); err != nil {
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
	for _, id := range sortedKeys(old) {
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
func (b *Builder) Planned(toolchain Image, d Dependencies) (Image, error) {
	m, err := b.host.market()
	if err != nil {
		return Image{}, err
	}
	return d.image(toolchain, m)
}

// image is what is known of the image before it is built.
func (d Dependencies) image(toolchain Image, m market) (Image, error) {
	if d.Empty() && len(d.links()) == 0 {
		return toolchain, nil
	}
	if d.Empty() {
		m = market{} // nothing is asked of one
	}
	digest, err := d.digest(toolchain, m)
	if err != nil {
		return Image{}, err
	}
	img := Image{Ref: "agent-deps:" + digest[:12], Versions: toolchain.Versions, Installed: digest, links: d.links()}
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
func (b *Builder) install(ctx context.Context, ref string, toolchain Image, d Dependencies, m market, labels map[string]string) error {
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
	mounts := map[string]fsutil.FS{source: newTreeFS(d.files), caSource: newTreeFS(m.ca)}
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
		opts := append(d.environment(m), llb.AddMount("/media", files, llb.Readonly), llb.AddMount("/srv", trust, llb.Readonly),
			llb.User(installer), out)
		root = step(root, "[dependencies] install", stepMark, string(script), d.args(), opts...).Root()
		return root, ocispecs.ImageConfig{
			User: installer, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, WorkingDir: workDir, Labels: labels,
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

// environment is that of the installing step.
func (d Dependencies) environment(m market) []llb.RunOption {
	env := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "AGENT_NPM": m.registry, "AGENT_PYPI": m.index, "GOPROXY": m.proxy, "AGENT_SCRIPTS": fmt.Sprint(d.Scripts)}
	maps.Copy(env, m.sums)
	var opts []llb.RunOption
	for _, name := range sortedKeys(env) {
		opts = append(opts, llb.AddEnv(name, env[name]))
	}
	return opts
}

// links says which directories of a workspace are to be links: to what is installed for them and, where an installer
// has made no such links, to packages of the workspace. These lead to where a box has it, with the patch.
func (d Dependencies) links() map[string]string {
	links := make(map[string]string)
	for at, dir := range d.members {
		if from, _, _ := strings.Cut("/"+at, "/node_modules/"); !slices.Contains(d.node, path.Join(".", from)) {
			links[at] = path.Join(workDir, dir)
		}
	}
	for _, dir := range d.node {
		links[path.Join(dir, "node_modules")] = path.Join(installedDir, "node", dir, "node_modules")
	}
	return links
}
