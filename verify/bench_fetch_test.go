//go:build bench

package verify

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// A fetcher downloads the archive of one version of a package into dir with the ecosystem's own client, and returns its path.
type fetcher func(dir, pkg, version string) (string, error)

// debianSources are the source packages of the suite that the toolchain's base is built from. The key ring is the one that Debian itself
// installs.
const debianSources = "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main\n"

// debian fetches the upstream sources of a Debian package. It uses its own package lists, so it neither needs nor changes the machine's.
func debian(dir, pkg, version string) (string, error) {
	list := filepath.Join(dir, "sources.list")
	if err := os.WriteFile(list, []byte(debianSources), 0o644); err != nil {
		return "", err
	}
	options := []string{"-q", "-o", "Dir::Etc::SourceList=" + list, "-o", "Dir::Etc::SourceParts=/dev/null"}
	for option, name := range map[string]string{"Dir::State::Lists": "lists", "Dir::Cache": "archives"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "partial"), 0o755); err != nil {
			return "", err
		}
		options = append(options, "-o", option+"="+filepath.Join(dir, name))
	}
	if _, err := client(dir, "apt-get", append(options, "update")...); err != nil {
		return "", err
	}
	// Only the upstream sources are needed, not the packaging.
	if _, err := client(dir, "apt-get", append(options, "source", "--tar-only", "--download-only", pkg+"="+version)...); err != nil {
		return "", err
	}
	return only(dir, "*.orig.tar.gz")
}

// npm fetches a package from the configured npm registry.
func npm(dir, pkg, version string) (string, error) {
	if _, err := client(dir, "npm", "pack", "--silent", "--ignore-scripts", pkg+"@"+version); err != nil {
		return "", err
	}
	return only(dir, "*.tgz")
}

// goModule fetches a module through the module proxy.
func goModule(dir, pkg, version string) (string, error) {
	out, err := client(dir, "go", "mod", "download", "-json", pkg+"@"+version)
	if err != nil {
		return "", err
	}
	var module struct{ Zip string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", fmt.Errorf("read the answer of go mod download: %w", err)
	}
	return module.Zip, nil
}

// client runs a package client in dir and returns its standard output.
func client(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w: %s", name, err, stderr.String())
	}
	return out, nil
}

// only returns the single file in dir that matches the pattern.
func only(dir, pattern string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("find %s: %d files, %w", pattern, len(found), err)
	}
	return found[0], nil
}

// archive returns the project's archive, from the user's cache directory if it is there. Its digest must be the pinned one, wherever it
// comes from.
func (p project) archive() ([]byte, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	kept := filepath.Join(cache, "agent-bench", p.name+"-"+p.version+"-"+p.sha256)
	// A file that an interrupted run left incomplete is fetched again.
	if data, err := os.ReadFile(kept); err == nil && p.check(data) == nil {
		return data, nil
	}
	dir, err := os.MkdirTemp("", "fetch")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file, err := p.fetch(dir, p.pkg, p.version)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := p.check(data); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o755); err != nil {
		return nil, err
	}
	return data, os.WriteFile(kept, data, 0o644)
}

// check returns an error if an archive does not have the pinned digest.
func (p project) check(data []byte) error {
	sum := sha256.Sum256(data)
	if got := hex.EncodeToString(sum[:]); got != p.sha256 {
		return fmt.Errorf("the archive of %s %s has the digest %s, the table has %s", p.pkg, p.version, got, p.sha256)
	}
	return nil
}

// files fetches the project and returns its regular files by their paths below its root. It leaves out files that are not text, since no
// change is planted in them.
func (p project) files(t *testing.T) map[string]string {
	t.Helper()
	data, err := p.archive()
	if err != nil {
		t.Fatalf("fetch %s: %v", p.name, err)
	}
	unpack, root := untar, 1
	if bytes.HasPrefix(data, []byte("PK")) {
		// "host/owner/name@version/" precedes each path of a module.
		unpack, root = unzip, strings.Count(p.pkg, "/")+1
	}
	all, err := unpack(data)
	if err != nil {
		t.Fatalf("unpack %s: %v", p.name, err)
	}
	files := map[string]string{}
	for name, text := range all {
		parts := strings.Split(path.Clean(name), "/")
		if len(parts) > root && utf8.ValidString(text) && !strings.Contains(text, "\x00") {
			files[path.Join(parts[root:]...)] = text
		}
	}
	maps.Copy(files, p.extra)
	if len(files) == len(p.extra) {
		t.Fatalf("the archive of %s is empty", p.name)
	}
	return files
}

// untar reads the regular files of a compressed tar archive.
func untar(data []byte) (map[string]string, error) {
	packed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for r := tar.NewReader(packed); ; {
		header, err := r.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		files[header.Name] = string(text)
	}
}

// unzip reads the files of a zip archive.
func unzip(data []byte) (map[string]string, error) {
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(in)
		if err := in.Close(); err != nil {
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		files[f.Name] = string(text)
	}
	return files, nil
}

func TestArchiveOfAnotherDigestIsRefused(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	fetched := 0
	p := project{name: "shop", pkg: "shop", version: "1", fetch: func(dir, _, _ string) (string, error) {
		fetched++
		file := filepath.Join(dir, "shop.tgz")
		return file, os.WriteFile(file, []byte("an archive"), 0o644)
	}}
	if _, err := p.archive(); err == nil {
		t.Error("an archive without the pinned digest is taken")
	}
	sum := sha256.Sum256([]byte("an archive"))
	p.sha256 = hex.EncodeToString(sum[:])
	for range 2 {
		if data, err := p.archive(); err != nil || string(data) != "an archive" {
			t.Errorf("%q, %v", data, err)
		}
	}
	if fetched != 2 {
		t.Errorf("fetched %d times, want once for each digest", fetched)
	}
}
