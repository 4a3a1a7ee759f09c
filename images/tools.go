package images

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/opencontainers/go-digest"

	"agent/images/registries"
	"agent/sandbox/workspace/lazyregexp"
)

// These are the scripts for tools that are not Debian packages.
const (
	npmStep     = "steps/npm.sh"
	goFetchStep = "steps/go_fetch.sh"
	goStep      = "steps/go.sh"
	goRun       = "steps/go_run.sh" // goes into the image
)

// caSource is the name of the local source with the machine's certificates.
const caSource = "agent-ca"

// An archive is one npm package, with everything that it needs inside. Several archives of one name are for different
// processors.
//
// Its digest decides what is installed. A registry or mirror that serves other bytes breaks the build.
type archive struct {
	Name    string            // its directory under /usr/lib/agent/npm
	Package string            // its name in the registry, if different
	Version string            // pinned permanently: a registry never changes what it published
	Arch    string            // the GOARCH for which it is, "" for any
	SHA256  string            `toml:"sha256"` // of the .tgz, in hex
	Bin     map[string]string // link in /usr/local/bin to a file of the package
}

// A goModule is a main module whose tools are built in the image.
type goModule struct {
	Module string // go.mod, with a line "tool" for each
	Sums   string // go.sum, which decides what is fetched
}

// steps returns the scripts that this recipe runs.
//
// Their text is part of what identifies an image: a changed script makes another image.
func (r *recipe) steps() []string {
	steps := []string{packagesStep, versionsStep}
	if len(r.NPM) > 0 {
		steps = append(steps, npmStep)
	}
	if r.Go.Module != "" {
		steps = append(steps, goFetchStep, goStep, goRun)
	}
	return steps
}

var (
	hexSHA256   = lazyregexp.New(`^[0-9a-f]{64}$`)
	plainName   = lazyregexp.New(`^[a-z0-9][a-z0-9.-]*$`)
	packageName = lazyregexp.New(`^(@[a-z0-9-]+/)?[a-z0-9][a-z0-9.-]*$`)
)

// check rejects an archive that no digest pins, and names that would lead elsewhere.
func (a archive) check() error {
	switch {
	case !plainName.MatchString(a.Name) || !packageName.MatchString(a.pkg()) || !plainName.MatchString(a.Version):
		return fmt.Errorf("npm archive %q: name, package or version is malformed", a.Name)
	case !hexSHA256.MatchString(a.SHA256):
		return fmt.Errorf("npm archive %s: sha256 %q is not 64 hex digits", a.Name, a.SHA256)
	}
	return nil
}

// pkg returns the name of the package in the registry.
func (a archive) pkg() string { return cmp.Or(a.Package, a.Name) }

// url returns the address of the archive in a registry.
func (a archive) url(registry string) string {
	return fmt.Sprintf("%s/%s/-/%s-%s.tgz", registry, a.pkg(), path.Base(a.pkg()), a.Version)
}

// archivesFor picks the archives for a processor; each name must have one.
//
// A name that exists only for other processors is an error, which names one of these: an image without the tool would fail
// in every run instead.
func (r *recipe) archivesFor(arch string) ([]archive, error) {
	var picked []archive
	others := make(map[string]string)
	for _, a := range r.NPM {
		if a.Arch == "" || a.Arch == arch {
			picked = append(picked, a)
			continue
		}
		others[a.Name] = a.Arch
	}
	for _, a := range picked {
		delete(others, a.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		return nil, fmt.Errorf("the %s image has no %s for %s, only for %s: use an engine on such a machine",
			r.name, name, arch, others[name])
	}
	return picked, nil
}

// addTools adds the tools that are not from Debian, if any.
func (r *recipe) addTools(c gateway.Client, root llb.State, from registries.Set, out llb.RunOption) (llb.State, error) {
	if len(r.NPM) > 0 {
		p, err := platform(c)
		if err != nil {
			return llb.State{}, err
		}
		archives, err := r.archivesFor(p.Architecture)
		if err != nil {
			return llb.State{}, err
		}
		if root, err = r.addArchives(root, from.NPM, archives); err != nil {
			return llb.State{}, err
		}
	}
	if r.Go.Module == "" {
		return root, nil
	}
	return r.addGo(root, from.GoProxy, out)
}

// addArchives unpacks the archives. The engine itself fetches them and checks their digests: a step without a network sees
// only what the recipe pins.
func (r *recipe) addArchives(root llb.State, registry string, archives []archive) (llb.State, error) {
	script, err := specs.ReadFile(npmStep)
	if err != nil {
		return llb.State{}, err
	}
	var args, names []string
	// The mount points of the archives are made in this tmpfs and not in the image.
	opts := []llb.RunOption{llb.AddMount("/media", llb.Scratch(), llb.Tmpfs()), llb.Network(llb.NetModeNone)}
	for _, a := range archives {
		// The engine's cache describes it by its address, and no server sees what follows the "#".
		src := llb.HTTP(a.url(registry)+"#"+stepMark, llb.Checksum(digest.NewDigestFromEncoded(digest.SHA256, a.SHA256)),
			llb.Filename(a.Name+".tgz"), llb.WithCustomName(r.stepName("fetch "+a.url(registry))))
		opts = append(opts, llb.AddMount("/media/"+a.Name, src, llb.Readonly))
		args = append(args, a.Name)
		for _, link := range slices.Sorted(maps.Keys(a.Bin)) {
			args = append(args, link+"="+a.Bin[link])
		}
		args = append(args, "--")
		names = append(names, a.pkg()+"@"+a.Version)
	}
	return step(root, r.stepName("unpack "+strings.Join(names, " ")), stepMark, string(script), args, opts...).Root(), nil
}

// addGo builds the tools of r.Go. Only the fetching step has a network. Compiled code does not show where it came from, so a step in which
// nothing outside has a hand compiles it and fills the caches to which boxes link.
func (r *recipe) addGo(root llb.State, proxy string, out llb.RunOption) (llb.State, error) {
	text := make(map[string]string)
	for _, name := range []string{goFetchStep, goStep, goRun} {
		script, err := specs.ReadFile(name)
		if err != nil {
			return llb.State{}, err
		}
		text[name] = string(script)
	}
	ca := llb.Local(caSource, llb.SharedKeyHint(caSource), llb.WithCustomName(r.stepName("send the machine's certificates")))
	fetch := step(root, r.stepName("fetch the Go tools"), stepMark, text[goFetchStep], []string{r.Go.Module, r.Go.Sums},
		llb.AddEnv("GOPROXY", proxy), llb.AddMount("/media", ca, llb.Readonly), out)
	source := fetch.AddMount("/out", llb.Scratch())
	return step(root, r.stepName("build the Go tools and the standard library"), stepMark, text[goStep], []string{text[goRun]},
		llb.AddMount("/media", source, llb.Readonly), llb.Network(llb.NetModeNone)).Root(), nil
}
