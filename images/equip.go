package images

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/moby/buildkit/client/llb"
	gateway "github.com/moby/buildkit/frontend/gateway/client"
	ocispecs "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/tonistiigi/fsutil"
)

// Equipment is what a workbench has in addition to the tools: programs of the user's choice.
type Equipment struct {
	// NPM lists npm packages as NAME@VERSION, whose programs get links; Debian lists Debian packages.
	NPM, Debian []string
	// Bin maps further link names to files below node_modules, in which ARCH stands for x64 or arm64.
	Bin map[string]string
}

// Empty reports whether there is nothing to install.
func (q Equipment) Empty() bool { return len(q.NPM)+len(q.Debian) == 0 }

// labelEquipment is the digest of an image's equipment, and of what it is based on. A snapshot on that image has the label too.
const labelEquipment = "agent.equipment"

// equipStep is the script that installs.
const equipStep = "steps/equip.sh"

// linkScript links to the programs of packages, and to the files named in addition: as root, without a network.
const linkScript = `case $(uname -m) in x86_64) arch=x64 ;; aarch64) arch=arm64 ;; *) arch=$(uname -m) ;; esac
modules=/opt/agent/node_modules
for program in "$modules"/.bin/*; do
	[ ! -e "$program" ] || ln -sf "$program" /usr/local/bin/
done
while [ $# -gt 0 ]; do
	file=$modules/$(echo "$2" | sed "s/ARCH/$arch/g")
	[ -f "$file" ] || { echo "agent: there is no $file" >&2; exit 1; }
	chmod 0755 "$file"
	ln -sf "$file" "/usr/local/bin/$1"
	shift 2
done
chown -R 0:0 /opt/agent
find /opt/agent -type f -perm /6000 -exec chmod a-s {} +
`

// Equip returns the image that adds this equipment to on, found or built, or on itself if there is none. Installing uses a
// network, and nothing of a workspace takes part.
func (b *Builder) Equip(ctx context.Context, on Image, q Equipment) (Image, error) {
	if q.Empty() {
		return on, nil
	}
	from, err := b.host.ForWorkspace()
	if err != nil {
		return Image{}, err
	}
	digest, err := equipDigest(on, q, from.NPM)
	if err != nil {
		return Image{}, err
	}
	img := on
	img.ID, img.Ref = "", "agent-equip:"+digest[:12]
	if ok, err := b.findLabelled(ctx, &img, labelEquipment, digest); ok || err != nil {
		return img, err
	}
	unlock, err := lock(ctx, "equip-"+digest[:1])
	if err != nil {
		return Image{}, err
	}
	defer unlock()
	if ok, err := b.findLabelled(ctx, &img, labelEquipment, digest); ok || err != nil {
		return img, err
	}
	labels, err := b.toolchainLabels(ctx, on)
	if err != nil {
		return Image{}, err
	}
	labels[labelEquipment], labels[labelTaken] = digest, time.Now().UTC().Format(time.RFC3339Nano)
	ctx, cancel := context.WithTimeoutCause(ctx, installTime, errInstallTime)
	defer cancel()
	plan, err := b.equipPlan(ctx, on, q, from.NPM, labels)
	if err != nil {
		return Image{}, err
	}
	if err := b.solve(ctx, img.Ref, map[string]fsutil.FS{caSource: newTreeFS(certificates(from))}, plan); err != nil {
		return Image{}, fmt.Errorf("install %s: %w", strings.Join(slices.Concat(q.NPM, q.Debian), ", "), err)
	}
	if ok, err := b.findLabelled(ctx, &img, labelEquipment, digest); !ok {
		return Image{}, cmp.Or(err, fmt.Errorf("equipment %s: %w", img.Ref, ErrAbsent))
	}
	_, err = b.pruneUnused(ctx, labelEquipment)
	return img, err
}

// equipDigest identifies what is installed: on what, from where, by which script.
func equipDigest(on Image, q Equipment, registry string) (string, error) {
	script, err := specs.ReadFile(equipStep)
	if err != nil {
		return "", err
	}
	key, err := json.Marshal([]any{on.ID, hash(script), linkScript, q.NPM, q.Debian, q.Bin, registry})
	return hash(key), err
}

// findLabelled completes img if the engine has it, built from what the digest under a label stands for.
func (b *Builder) findLabelled(ctx context.Context, img *Image, label, digest string) (bool, error) {
	id, labels, err := b.engine.ImageLabels(ctx, img.Ref)
	if err != nil {
		return false, fmt.Errorf("look for image %s: %w", img.Ref, err)
	}
	if id == "" || labels[label] != digest {
		return false, nil
	}
	img.ID = id
	return true, nil
}

// equipPlan lays out the image with the equipment.
func (b *Builder) equipPlan(ctx context.Context, on Image, q Equipment, registry string, labels map[string]string) (plan, error) {
	install, err := specs.ReadFile(equipStep)
	if err != nil {
		return nil, err
	}
	packages, err := specs.ReadFile(packagesStep)
	if err != nil {
		return nil, err
	}
	out, err := b.outside(ctx)
	if err != nil {
		return nil, err
	}
	var links []string
	for _, name := range slices.Sorted(maps.Keys(q.Bin)) {
		links = append(links, name, q.Bin[name])
	}
	return func(context.Context, gateway.Client) (llb.State, ocispecs.ImageConfig, error) {
		const title = "[equipment] "
		path := llb.AddEnv("PATH", buildPath)
		root := llb.Image(on.Ref, llb.ResolveModePreferLocal, llb.WithCustomName(title+"take "+on.Ref))
		if len(q.Debian) > 0 {
			script := "set -- '' '' --no-remove \"$@\"\n" + string(packages)
			root = step(root, title+"install "+strings.Join(q.Debian, " "), stepMark, script, q.Debian, path, llb.User("0:0"), out).Root()
		}
		if len(q.NPM) > 0 {
			trust := llb.Local(caSource, llb.SharedKeyHint(caSource), llb.WithCustomName(title+"transfer certificates"))
			root = step(root, title+"make a directory", stepMark, "mkdir -p /opt/agent && chown "+installer+" /opt/agent\n", nil, path, llb.User("0:0"), llb.Network(llb.NetModeNone)).Root()
			root = step(root, title+"install "+strings.Join(q.NPM, " "), stepMark, string(install), q.NPM,
				llb.AddEnv("PATH", "/usr/local/bin:/usr/bin:/bin"), llb.AddEnv("AGENT_NPM", registry), llb.AddMount("/srv", trust, llb.Readonly), llb.User(installer), out).Root()
			root = step(root, title+"link to the programs", stepMark, linkScript, links, path, llb.User("0:0"), llb.Network(llb.NetModeNone)).Root()
		}
		return root, ocispecs.ImageConfig{User: installer, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, WorkingDir: "/work", Labels: labels}, nil
	}, nil
}
