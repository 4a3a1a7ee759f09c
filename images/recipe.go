package images

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// specs holds the specifications, the scripts of the build steps, and one directory of files for each image, which go into
// its /agent. By the rules of embedding, names that start with "_" or "." (a stray __pycache__) are left out.
//
//go:embed *.toml steps toolchain postgres
var specs embed.FS

// A base is the specification of the root file system from which every image starts. It is read from base.toml, and every
// change there, even to a comment, makes a new base.
type base struct {
	Suite    string // Debian's code name
	Image    string // the same, from a registry
	Revision int    // increased to have the base made anew
	digest   string // hex SHA-256 of the specification
}

// ref returns the tag of the base on the engine. It contains no registry name: the base is never pushed.
func (b base) ref() string { return "agent-base:" + b.digest[:12] }

// A recipe is the specification of one image: <name>.toml with its directory. The exported fields are what the file may
// contain; the others are determined when it is loaded.
//
// The scripts Prepare and Setup run under /bin/sh -eu as root: Prepare before the packages, with a network, and Setup after
// them, without.
type recipe struct {
	Suites     []string          // further suites to take packages from
	Env        []string          // environment of a container
	User       string            // and its user
	Workdir    string            // and its directory
	Entrypoint []string          // and its program, if the caller gives none
	StopSignal string            // and the signal that asks it to end
	Prepare    string            // script before the packages
	Setup      string            // script after them
	Packages   map[string]string // Debian package to pinned version, "" for any
	NPM        []archive         // npm packages with tools
	Go         goModule          // tools of Go, and the caches that Go needs in a box
	Tools      map[string]string // tool to the command that reports its version

	name   string
	base   base
	files  memTree // the content of /agent, without the guest
	guest  memTree // the guest, in a layer of its own; empty for an image without one
	digest string  // hex SHA-256 over all inputs
}

// ref returns the tag of the image: a changed specification has another tag.
func (r *recipe) ref() string { return "agent-" + r.name + ":" + r.digest[:12] }

// loadBase reads base.toml.
func loadBase() (base, error) {
	var b base
	text, err := readSpec("base.toml", &b)
	if err != nil {
		return base{}, err
	}
	b.digest = hash(text)
	return b, nil
}

// load reads the specification of the image of that name. Its digest covers everything that decides the image's content: the
// base, the specification, the scripts of the steps, the files and the guest.
func load(name string, guest []byte) (*recipe, error) {
	if name != Toolchain && name != Postgres && name != Runtime {
		return nil, fmt.Errorf("unknown image %q: the images are %s, %s and %s", name, Toolchain, Postgres, Runtime)
	}
	b, err := loadBase()
	if err != nil {
		return nil, err
	}
	r := &recipe{name: name, base: b}
	text, err := readSpec(name+".toml", r)
	if err != nil {
		return nil, err
	}
	// An image without files of its own has no directory here.
	if r.files, err = embedded(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if name == Toolchain {
		r.guest = memTree{{path: "guest", content: guest, mode: 0o755}}
	}
	for _, a := range r.NPM {
		if err := a.check(); err != nil {
			return nil, fmt.Errorf("read specification %s.toml: %w", name, err)
		}
	}
	parts := []string{b.digest, hash(text), r.files.Digest(), r.guest.Digest()}
	for _, step := range r.steps() {
		script, err := specs.ReadFile(step)
		if err != nil {
			return nil, err
		}
		parts = append(parts, hash(script))
	}
	r.digest = hash([]byte(strings.Join(parts, "\n")))
	return r, nil
}

// readSpec decodes one specification into a struct and returns its text. A misspelt key is an error, which a test finds
// before any user does.
func readSpec(name string, into any) ([]byte, error) {
	text, err := specs.ReadFile(name)
	if err != nil {
		return nil, err
	}
	d := toml.NewDecoder(strings.NewReader(string(text)))
	if err := d.DisallowUnknownFields().Decode(into); err != nil {
		return nil, fmt.Errorf("read specification %s: %w", name, err)
	}
	return text, nil
}

// embedded returns the files of dir, read-only, and executable if their first line says so, since embedding drops modes.
func embedded(dir string) (memTree, error) {
	var t memTree
	err := fs.WalkDir(specs, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		name := strings.TrimPrefix(p, dir+"/")
		if d.IsDir() {
			t = append(t, memFile{path: name, mode: fs.ModeDir | 0o755})
			return nil
		}
		content, err := specs.ReadFile(p)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o444)
		if strings.HasPrefix(string(content), "#!") {
			mode = 0o555
		}
		t = append(t, memFile{path: name, content: content, mode: mode})
		return nil
	})
	return t, err
}

// packageArgs returns the packages as apt arguments, pinned where the recipe pins them. They are sorted, so that the step
// has the same cache key every time.
func (r *recipe) packageArgs() []string {
	var args []string
	for _, name := range slices.Sorted(maps.Keys(r.Packages)) {
		if v := r.Packages[name]; v != "" {
			name += "=" + v
		}
		args = append(args, name)
	}
	return args
}

// hash returns the SHA-256 of b in hex, as all digests of this package are.
func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// stepName returns the text of a progress line: which image is being made, and what is being done.
func (r *recipe) stepName(what string) string {
	return "[" + path.Base(r.name) + "] " + what
}
