package images

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/tonistiigi/fsutil"

	"agent/images/dependencies"
	"agent/images/registries"
)

// installer is the user that installs, the images' own user. No box has it, so nothing that runs there owns what is
// installed.
const installer = "10001:10001"

// Bounds for an installation. A registry that does not answer is noticed in seconds; these are for one that sends forever.
const (
	installTime = 15 * time.Minute // all of it
	managerTime = 10 * time.Minute // one run of a package manager
	shortTime   = time.Minute      // the same, within spareSlow of a run that exceeded its time
	spareSlow   = time.Hour
)

// errInstallTime is the cause when an installation takes too long.
var errInstallTime = fmt.Errorf("nothing was installed within %s", installTime)

// The labels of an image with dependencies. A snapshot has the first one too.
const (
	labelDependencies = "agent.dependencies"        // digest of what they were installed from
	labelReport       = "agent.dependencies.report" // what did not succeed at once; see dependencies.Set.Told
)

// installDigest identifies what is installed: from what, from where, by which tools.
func installDigest(d dependencies.Set, toolchain Image, from registries.Set) (string, error) {
	script, err := specs.ReadFile(dependenciesStep)
	if err != nil {
		return "", err
	}
	// The certificates are not part of it: they decide whether a registry is trusted, not what a lock file names.
	names, _ := d.Debian()
	if groups, _ := d.OnStandby(); len(names)+len(groups) > 0 {
		more, err := specs.ReadFile(packagesStep)
		if err != nil {
			return "", err
		}
		script = slices.Concat(script, more, []byte(whatThereIs))
	}
	key, err := json.Marshal([]any{toolchain.ID, hash(script), d.Scripts, d.Steps(), d.Options(), treeOf(d.Files()).Digest(), d.Links(), from.NPM, from.PyPI, from.GoProxy, from.GoSums})
	return hash(key), err
}

// dependenciesStep is the script that installs.
const dependenciesStep = "steps/dependencies.sh"

// Install returns the image of the toolchain with these dependencies below /deps, on which Snapshot builds; for none, it is the
// toolchain itself. The image is found by its digest, or built in one step with a network, in which nothing of the workspace but
// names and versions takes part. If something cannot be installed, the error is an *InstallError; trouble of the engine or of the
// machine is not. Install also compiles there what the Go files of the workspace import; see Set.Importing.
func (b *Builder) Install(ctx context.Context, toolchain Image, d dependencies.Set) (Image, error) {
	img, err := b.installOnly(ctx, toolchain, d)
	if err != nil {
		return img, err
	}
	return b.compiled(ctx, img, d)
}

// installOnly returns the image before anything is compiled in it.
func (b *Builder) installOnly(ctx context.Context, toolchain Image, d dependencies.Set) (Image, error) {
	if d.Empty() {
		return installed(d, toolchain, registries.Set{})
	}
	from, err := b.host.ForWorkspace()
	if err != nil {
		return Image{}, &InstallError{Step: -1, Said: err.Error(), Err: err}
	}
	img, err := installed(d, toolchain, from)
	if err != nil {
		return Image{}, err
	}
	if ok, err := b.findInstalled(ctx, &img, d); ok || err != nil {
		return img, err
	}
	// One build at a time for one digest: the second of two equal ones finds the image of the first. As for snapshots, a few
	// locks serve all digests.
	unlock, err := lock(ctx, "deps-"+img.Installed[:1])
	if err != nil {
		return Image{}, err
	}
	defer unlock()
	if ok, err := b.findInstalled(ctx, &img, d); ok || err != nil {
		return img, err
	}
	key := strings.Join(append(d.Arguments(), img.Installed), "\x00")
	if err := b.failures.recent(key); err != nil {
		return Image{}, err
	}
	labels, err := b.toolchainLabels(ctx, toolchain)
	if err != nil {
		return Image{}, err
	}
	labels[labelDependencies], labels[labelTaken] = img.Installed, time.Now().UTC().Format(time.RFC3339Nano)
	mark := markOf(img.Installed)
	err = b.install(ctx, img.Ref, toolchain, d, from, mark.patience(), labels)
	if mark.set(err); err != nil {
		return Image{}, b.failures.keep(key, err)
	}
	if ok, err := b.findInstalled(ctx, &img, d); !ok {
		return Image{}, cmp.Or(err, fmt.Errorf("dependencies %s: %w", img.Ref, ErrAbsent))
	}
	_, err = b.pruneUnused(ctx, labelDependencies)
	return img, err
}

// spareInstalled is how long dependencies stay without a snapshot on them, since one may be under way.
const spareInstalled = time.Hour

// pruneUnused removes what was installed under a label and has no snapshot on it, such as the dependencies of an older lock
// file.
func (b *Builder) pruneUnused(ctx context.Context, label string) ([]string, error) {
	ids, err := b.engine.ImagesLabelled(ctx, label)
	if err != nil {
		return nil, fmt.Errorf("list what was installed: %w", err)
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
			// A snapshot takes over the label of the image on which it stands.
			used[labels[label]] = true
		case err != nil || time.Since(taken) > spareInstalled:
			old[id] = labels[label]
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

// Has reports whether Install would find its image, or has nothing to install.
func (b *Builder) Has(ctx context.Context, toolchain Image, d dependencies.Set) (bool, error) {
	if d.Empty() {
		return true, nil
	}
	img, err := b.Planned(toolchain, d)
	if err != nil {
		return false, nil //nolint:nilerr // Install says what is wrong
	}
	if ok, err := b.findInstalled(ctx, &img, d); !ok || err != nil {
		return false, err
	}
	return b.hasCompiled(ctx, img, d)
}

// Planned returns the image that Install would make, without an ID: its name and its content.
func (b *Builder) Planned(toolchain Image, d dependencies.Set) (Image, error) {
	from, err := b.host.ForWorkspace()
	if err != nil {
		return Image{}, err
	}
	return installed(d, toolchain, from)
}

// installed returns what is known of the image before it is built.
func installed(d dependencies.Set, toolchain Image, from registries.Set) (Image, error) {
	if d.Empty() && len(d.Links()) == 0 {
		return toolchain, nil
	}
	if d.Empty() {
		from = registries.Set{} // no registry is asked
	}
	digest, err := installDigest(d, toolchain, from)
	if err != nil {
		return Image{}, err
	}
	img := Image{Ref: "agent-deps:" + digest[:12], Versions: toolchain.Versions, Installed: digest, links: d.Links()}
	if d.Empty() {
		// There is nothing to build: the difference is in the snapshot.
		img.ID, img.Ref = toolchain.ID, toolchain.Ref
	}
	return img, nil
}

// findInstalled completes img if the engine has it, made within what the package managers may do for d.
func (b *Builder) findInstalled(ctx context.Context, img *Image, d dependencies.Set) (bool, error) {
	id, labels, err := b.engine.ImageLabels(ctx, img.Ref)
	if err != nil {
		return false, fmt.Errorf("look for the installed dependencies: %w", err)
	}
	if id == "" || labels[labelDependencies] != img.Installed || !d.Within(labels[labelReport]) {
		return false, nil
	}
	img.ID, img.Report = id, labels[labelReport]
	return true, nil
}

// install builds the image.
func (b *Builder) install(ctx context.Context, ref string, toolchain Image, d dependencies.Set, from registries.Set, patience time.Duration, labels map[string]string) error {
	// Without a bound, a registry that sends a byte a minute would hold the run and its workspace's lock forever.
	ctx, cancel := context.WithTimeoutCause(ctx, installTime, errInstallTime)
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
	err = b.solve(ctx, ref, mounts, func(ctx context.Context, c gateway.Client) (llb.State, ocispecs.ImageConfig, error) {
		root := llb.Image(toolchain.Ref, llb.ResolveModePreferLocal, llb.WithCustomName("[dependencies] take "+toolchain.Ref))
		// As root and without a network, this makes a place to which the installer may write, and the one line by which
		// every interpreter of the image finds the packages. It is a path file instead of a variable, so that a gate need
		// not know of it. It appends to the path, so that a package of the same name never replaces what a gate itself
		// imports.
		const prepare = "mkdir -p /deps && chown " + installer + " /deps\n" +
			"for dir in /usr/lib/python3/dist-packages; do echo /deps/python >$dir/agent-dependencies.pth; done\n"
		if root, err = debian(root, d, out); err != nil {
			return root, ocispecs.ImageConfig{}, err
		}
		root = step(root, "[dependencies] make a directory", stepMark, prepare, nil,
			llb.AddEnv("PATH", buildPath), llb.Network(llb.NetModeNone)).Root()
		// The mount points are directories of every Debian: others would stay in the image.
		files := llb.Local(source, llb.SharedKeyHint(source), llb.WithCustomName("[dependencies] transfer manifests and lock files"))
		trust := llb.Local(caSource, llb.SharedKeyHint(caSource), llb.WithCustomName("[dependencies] transfer certificates"))
		opts := append(installEnv(d, from, patience), llb.AddMount("/media", files, llb.Readonly), llb.AddMount("/srv", trust, llb.Readonly),
			llb.User(installer), out)
		root = step(root, "[dependencies] install", stepMark, string(script), d.Arguments(), opts...).Root()
		if labels[labelReport], err = readBuilt(ctx, c, root, "deps/.report"); err != nil {
			return root, ocispecs.ImageConfig{}, err
		}
		return root, ocispecs.ImageConfig{
			User: installer, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, WorkingDir: "/work", Labels: labels,
		}, nil
	})
	// A cancelled run does not mean that its packages are wrong.
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return installError(err, d, from)
}

// debian installs, as root, the Debian packages that d names, and those that stand in for others. The archive is that of the
// image, and apt trusts only what is signed. Nothing that the image has is removed for them.
func debian(root llb.State, d dependencies.Set, out llb.RunOption) (llb.State, error) {
	install, err := specs.ReadFile(packagesStep)
	if err != nil {
		return root, err
	}
	add := func(begin string, names []string, at int) {
		if len(names) == 0 {
			return
		}
		script := "exec 3>&1 >/tmp/said 2>&1\n" +
			"trap 'code=$?; [ $code = 0 ] || { cat /tmp/said; echo \"" + notInstalled + strconv.Itoa(at) + "\"; grep \"^E: \" /tmp/said; } >&3; rm -f /tmp/said; exit $code' EXIT\n" +
			begin + string(install)
		root = step(root, "[dependencies] install "+strings.Join(names, " "), stepMark, script, names, llb.AddEnv("PATH", buildPath), out).Root()
	}
	names, at := d.Debian()
	add("set -- '' '' --no-remove \"$@\"\n", names, at)
	groups, at := d.OnStandby()
	add(whatThereIs, groups, at)
	return root, nil
}

// whatThereIs picks from each group of names the first that the archive has and that goes with those before it: the image
// also knows newer suites, which may have a package for another Python. What the image already has stays, in whatever
// version. dh-python, with which Debian builds its packages, has a table that maps names in the index to Debian packages.
// What it names comes before the guesses of a group, whose first is "python3-" and the name in the index.
const whatThereIs = `apt-get -q -o Acquire::Check-Valid-Until=false -o Acquire::Retries=3 -o APT::Update::Error-Mode=any update
(cd /tmp && apt-get -q download dh-python && dpkg-deb --fsys-tarfile dh-python_*.deb | tar -xO ./usr/share/dh-python/dist/cpython3_fallback |
	awk 'NF == 2 && $2 ~ /^python3-[a-z0-9.+-]+$/ { name = tolower($1); gsub(/[-_.]+/, "-", name); print name, $2 }' >names) || :
touch /tmp/names
found=
for group; do
	index=${group%%|*}
	for name in $(awk -v name="${index#python3-}" '$1 == name { print $2 }' /tmp/names) $(echo "$group" | tr '|' ' '); do
		if apt-cache policy "$name" | grep -q 'Candidate: [^(]'; then
			found="$found $name"
			break
		fi
	done
done
rm -f /tmp/names /tmp/dh-python_*.deb
fits() { apt-get -s -q -y --no-install-recommends --no-remove --no-upgrade install "$@" >/dev/null 2>&1; }
if ! fits $found; then
	all=$found
	found=
	for name in $all; do
		if fits $found "$name"; then found="$found $name"; fi
	done
fi
echo "$found" >/usr/lib/agent/standby
[ -n "$found" ] || { rm -rf /var/lib/apt/lists/*; exit 0; }
set -- '' '' --no-remove --no-upgrade $found
`

// installEnv returns the environment of the installing step.
func installEnv(d dependencies.Set, from registries.Set, patience time.Duration) []llb.RunOption {
	env := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "AGENT_NPM": from.NPM, "AGENT_PYPI": from.PyPI, "GOPROXY": from.GoProxy, "AGENT_SCRIPTS": fmt.Sprint(d.Scripts), "AGENT_SECONDS": strconv.Itoa(int(patience.Seconds()))}
	maps.Copy(env, from.GoSums)
	var opts []llb.RunOption
	for _, name := range slices.Sorted(maps.Keys(env)) {
		opts = append(opts, llb.AddEnv(name, env[name]))
	}
	return opts
}
