package python

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"agent/sandbox/guest"
	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
)

const (
	// typesDir is mypy's cache in a box, and typesPacked the file in which it travels, as types_cache.py makes it.
	typesDir    = "/tmp/mypy"
	typesPacked = "/tmp/mypy.tar.gz"

	// keptOfByte and keptOfModule: mypy keeps several times the source of a module, in two files of whole pages.
	keptOfByte, keptOfModule = 6, 12 << 10
	// maxKept is the most that types_cache.py carries, in bytes.
	maxKept = 40 << 20
)

// TypesKept estimates how many bytes mypy's cache takes for this many modules, which are size bytes together. It returns 0
// if that is more than goes from one box to the next, so that nothing is kept.
func TypesKept(modules int, size int64) int64 {
	kept := keptOfByte*size + keptOfModule*int64(modules)
	if kept > maxKept {
		return 0
	}
	return kept
}

// noCache is the cache directory with which mypy keeps no cache at all.
const noCache = os.DevNull

// cacheDir returns where mypy keeps what it knows. A cache that no other box takes over would only fill this one.
func cacheDir(v check.View) string {
	large := check.Recall(v, "too much for mypy to keep", func() bool {
		modules, size := 0, int64(0)
		for _, p := range v.Paths() {
			if !check.IsPython(p) {
				continue
			}
			modules++
			if c, changed := v.Changed[p]; changed {
				size += int64(len(c.After))
			} else if e, ok := v.Base.Lookup(p); ok {
				size += e.Size
			}
		}
		return modules > 0 && TypesKept(modules, size) == 0
	})
	if large {
		return noCache
	}
	return typesDir
}

// below returns a separate cache inside another.
func below(cache string, name ...string) string {
	if cache == noCache {
		return noCache
	}
	return path.Join(append([]string{cache}, name...)...)
}

// unpackTypes unpacks what mypy knew into the box, and reports whether mypy can start from it.
func unpackTypes(ctx context.Context, b check.Bench) bool {
	if b.Known == nil {
		return false
	}
	row := b.Known.Load(ctx)
	// The engine would refuse more than this.
	if row == nil || len(row) > guest.MaxStdin {
		return false
	}
	res, _, done := b.Command(ctx, guest.Command{Args: []string{b.Tools.Python, "-I", "-B", b.Tools.Types, "unpack", typesDir}, Stdin: row})
	return done && res.Exit == 0
}

// forgetTypes makes mypy start afresh in this box.
func forgetTypes(ctx context.Context, b check.Bench) {
	b.Command(ctx, guest.Command{Args: []string{b.Tools.Python, "-I", "-B", "-c", "import shutil; shutil.rmtree('" + typesDir + "')"}})
}

// packTypes returns what mypy knows now, or nil if that is hardly more than it began with.
func packTypes(ctx context.Context, b check.Bench) []byte {
	if b.Known == nil {
		return nil
	}
	res, _, done := b.Command(ctx, guest.Command{
		Args: []string{b.Tools.Python, "-I", "-B", b.Tools.Types, "pack", typesDir, typesPacked}, Collect: []string{typesPacked},
	})
	if !done || res.Exit != 0 {
		return nil
	}
	return res.Files[typesPacked]
}

// plainOption matches the options of mypy that only say what is checked and how it is reported. Others run programs of the
// workspace (python_executable) or weaken how mypy tells an old cache from a new one.
var plainOption = lazyregexp.New(`^(python_version|platform|files|modules|packages|module|overrides|exclude|mypy_path|` +
	`namespace_packages|explicit_package_bases|follow_imports|follow_imports_for_stubs|follow_untyped_imports|` +
	`ignore_missing_imports|ignore_errors|always_true|always_false|strict|strict_\w+|extra_checks|check_untyped_defs|` +
	`(dis)?allow_\w+|warn_\w+|(no_)?implicit_\w+|local_partial_types|(en|dis)able_error_code|enable_incomplete_feature|` +
	`show_\w+|hide_error_codes|pretty|color_output|error_summary)$`)

// KeptTypes reports whether what mypy knows of the workspace may go from one box to the next. It may if every option of mypy
// there is plain or names plugins. mypy reads its configuration from a root, and from one of these files.
//
// Plugins come from the base in every box, and what mypy knows depends on them. So with is a digest of the plugins and of
// the files that configure them, "" without any plugins.
func KeptTypes(v check.View) (with string, ok bool) {
	for _, name := range mypyFiles(v) {
		if _, ok := v.Base.Lookup(name); !ok {
			continue
		}
		plain := plainINI
		if path.Ext(name) == ".toml" {
			plain = plainTOML
		}
		// Anything but a regular file is not plain either.
		if text, err := v.Read(name); err != nil || !plain(text) {
			return "", false
		}
	}
	if !plugged(v) {
		return "", true
	}
	h := sha256.New()
	for _, p := range slices.Concat(mypyFiles(v), TypePlugins(v, v)) {
		text := v.Text(p)
		fmt.Fprintf(h, "%q %d\n%s", p, len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), true
}

// plainINI reads the sections of mypy line by line. It may take a line for more than Python's own reader does, but never for
// less: a value that looks like another option costs time, an overlooked option could cost the truth.
func plainINI(text []byte) bool {
	ours := false
	for line := range strings.Lines(string(text)) {
		option := strings.ToLower(strings.TrimSpace(line))
		switch {
		case option == "" || option[0] == '#' || option[0] == ';':
		case option[0] == '[' && line[0] == '[':
			ours = strings.HasPrefix(option, "[mypy")
		case !ours:
		case option[0] == '[':
			return false // a value or another section, depending on the indentation
		default:
			i := strings.IndexAny(option, "=:")
			// Plugins are allowed where TypePlugins sees them.
			if i >= 0 && !strings.HasPrefix(strings.ReplaceAll(strings.TrimSpace(line), " ", ""), "plugins=") && !plainOption.MatchString(strings.ReplaceAll(strings.TrimSpace(option[:i]), "-", "_")) {
				return false
			}
		}
	}
	return true
}

// plainTOML reads mypy's table and its overrides.
func plainTOML(text []byte) bool {
	var file struct {
		Tool struct {
			Mypy map[string]any `toml:"mypy"`
		} `toml:"tool"`
	}
	if toml.Unmarshal(text, &file) != nil {
		return false
	}
	if !pluginsSeen(text, file.Tool.Mypy["plugins"]) {
		return false
	}
	delete(file.Tool.Mypy, "plugins")
	tables := []any{file.Tool.Mypy}
	if overrides, ok := file.Tool.Mypy["overrides"].([]any); ok {
		tables = append(tables, overrides...)
	}
	for _, table := range tables {
		options, ok := table.(map[string]any)
		if !ok {
			return false
		}
		for name := range options {
			if !plainOption.MatchString(strings.ReplaceAll(strings.ToLower(name), "-", "_")) {
				return false
			}
		}
	}
	return true
}

// pluginsSeen reports whether TypePlugins sees each plugin that a configuration names, however the text is written.
func pluginsSeen(text []byte, named any) bool {
	list, ok := named.([]any)
	if !ok {
		return named == nil
	}
	seen := pluginNames(string(text))
	return !slices.ContainsFunc(list, func(name any) bool {
		text, ok := name.(string)
		return !ok || !slices.Contains(seen, text)
	})
}
