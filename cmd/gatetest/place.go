package main

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A place is the throwaway directory of one trial.
type place struct {
	dir    string
	secret string // in the environment of the gate and in a file next to the workspace; no output may contain it
	own    string // what the gate may write at the top of the workspace
}

func (p place) work() string   { return filepath.Join(p.dir, "work") }
func (p place) beside() string { return filepath.Join(p.dir, "beside") }
func (p place) patch() string  { return filepath.Join(p.dir, "patch.diff") }

// newPlace lays out the workspace of t, its patch and, next to them, files that must not change.
func newPlace(t trial, own string) (place, error) {
	dir, err := os.MkdirTemp("", "battery-")
	if err != nil {
		return place{}, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return place{}, err
	}
	p := place{dir: dir, secret: rand.Text() + rand.Text(), own: own}
	for name, text := range map[string]string{"beside/kept.txt": "kept\n", "beside/secret.txt": p.secret + "\n", "patch.diff": p.fill(t.diff)} {
		if err := put(dir, name, text); err != nil {
			return p, err
		}
	}
	return p, p.lay(p.work(), t.of.work)
}

// lay writes files below dir.
func (p place) lay(dir string, files map[string]string) error {
	for name, text := range files {
		if err := put(dir, name, p.fill(text)); err != nil {
			return err
		}
	}
	return nil
}

// put writes one file, with its directories.
func put(dir, name, text string) error {
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// fill replaces placeholders with values known only now. No archive spells out a credential, since that would be one.
func (p place) fill(text string) string {
	letters := strings.ToUpper(p.secret)
	return strings.NewReplacer("@OUTSIDE@", p.beside(), "@AWS@", "AK"+"IA"+letters[:16], "@AWS-HEAD@", "AK"+"IA"+letters[:4], "@AWS-TAIL@", letters[4:16], "@GITHUB@", "gh"+"p_"+p.secret[:36],
		"@BEGIN@", "-----BEGIN RSA "+"PRIVATE KEY-----", "@END@", "-----END RSA "+"PRIVATE KEY-----").Replace(text)
}

// tells reports whether text contains the secret, in a form that a program may give it.
func (p place) tells(text string) bool {
	back := []byte(p.secret)
	slices.Reverse(back)
	raw := []byte(p.secret)
	return slices.ContainsFunc([]string{p.secret, string(back), hex.EncodeToString(raw), base64.StdEncoding.EncodeToString(raw)},
		func(form string) bool { return strings.Contains(text, form) })
}

// A tree describes what lies below a directory: the type, mode and content of each name.
type tree map[string]string

// look reads a tree. It leaves out what the gate keeps for itself, unless that was there before.
func (p place) look(dir string, before tree) (tree, error) {
	found := tree{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		_, was := before[rel]
		if first, _, _ := strings.Cut(rel, "/"); first == p.own && !was && before != nil || d.IsDir() {
			return nil // directories are described by their contents
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var text []byte
		switch {
		case info.Mode().IsRegular():
			text, err = os.ReadFile(name)
		case info.Mode()&fs.ModeSymlink != 0:
			var to string
			to, err = os.Readlink(name)
			text = []byte(to)
		}
		found[rel] = fmt.Sprintf("%v %x", info.Mode(), sha256.Sum256(text))
		return err
	})
	return found, err
}

// expected returns the tree of a workspace with these files.
func (p place) expected(files map[string]string) tree {
	want := tree{}
	for name, text := range files {
		want[name] = fmt.Sprintf("%v %x", fs.FileMode(0o644), sha256.Sum256([]byte(p.fill(text))))
	}
	return want
}

// difference names some of the paths in which two trees differ.
func difference(a, b tree) string {
	var names []string
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if a[name] != b[name] {
			names = append(names, name[:min(len(name), 100)])
		}
	}
	if len(names) > 4 {
		names = append(names[:4], "…")
	}
	return strings.Join(names, ", ")
}
