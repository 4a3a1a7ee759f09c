// Package recipe says how a program of others works in a box: how it gets in, how it finds its model there, and
// what else it may reach. It knows the coding agents that there are, one row each, and takes the user's word
// before its own. It starts nothing.
package recipe

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"agent/sandbox/egress"
	"agent/sandbox/workspace/lazyregexp"
)

// A Recipe is one program. In Env and Files {gateway} stands for the address of the model's API in the box, and
// {key} for what the program is to take for a key.
type Recipe struct {
	// Program is what is started, looked up in the box; "" for the name of the recipe.
	Program string `toml:"program" json:"program,omitempty"`
	// NPM are packages of npm with their versions, NAME@VERSION, that are installed for it, and Debian those of
	// Debian.
	NPM    []string `toml:"npm" json:"npm,omitempty"`
	Debian []string `toml:"debian" json:"debian,omitempty"`
	// Bin names programs by their files below node_modules, in which ARCH stands for x64 or arm64.
	Bin map[string]string `toml:"bin" json:"bin,omitempty"`
	// Vendor is whose models it asks, through the gateway; "" for none.
	Vendor string `toml:"vendor" json:"vendor,omitempty"`
	// Env is what it finds in its environment, and Files are files below its home directory.
	Env   map[string]string `toml:"env" json:"env,omitempty"`
	Files map[string]string `toml:"files" json:"files,omitempty"`
	// Args follow the user's own: those of "" always, others where the first argument is that word.
	Args map[string][]string `toml:"args" json:"args,omitempty"`
	// Allow are hosts that it may reach besides.
	Allow []string `toml:"allow" json:"allow,omitempty"`
}

// Find returns the recipe of a program by the name of its command, the user's own before the preset, field by field;
// false where there is none.
func Find(user map[string]Recipe, command string) (name string, r Recipe, ok bool) {
	name = path.Base(command)
	preset, known := presets[name]
	own, given := user[name]
	if !known && !given {
		return name, Recipe{}, false
	}
	r = Recipe{
		Program: cmp.Or(own.Program, preset.Program, command), NPM: first(own.NPM, preset.NPM), Debian: first(own.Debian, preset.Debian),
		Vendor: cmp.Or(own.Vendor, preset.Vendor), Bin: over(maps.Clone(preset.Bin), own.Bin), Env: maps.Clone(preset.Env), Files: maps.Clone(preset.Files), Args: maps.Clone(preset.Args), Allow: first(own.Allow, preset.Allow),
	}
	r.Env, r.Files, r.Args = over(r.Env, own.Env), over(r.Files, own.Files), over(r.Args, own.Args)
	return name, r, true
}

// first returns the first list that is given.
func first(lists ...[]string) []string {
	for _, l := range lists {
		if l != nil {
			return l
		}
	}
	return nil
}

// over lays one map over another.
func over[V any](under, own map[string]V) map[string]V {
	if under == nil {
		under = map[string]V{}
	}
	maps.Copy(under, own)
	return under
}

// Presets lists the names of the known programs.
func Presets() []string { return slices.Sorted(maps.Keys(presets)) }

var (
	npmPackage    = lazyregexp.New(`^(@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*@[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.+-]*$`)
	debianPackage = lazyregexp.New(`^[a-z0-9][a-z0-9+.-]+$`)
	variable      = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Check reports what makes r of no use. vendors are those that a gateway stands for.
func (r Recipe) Check(vendors []string) error {
	for _, p := range r.NPM {
		if !npmPackage.MatchString(p) {
			return fmt.Errorf("npm %q: write NAME@VERSION, with the whole version", p)
		}
	}
	for _, p := range r.Debian {
		if !debianPackage.MatchString(p) {
			return fmt.Errorf("debian %q is no name of a package", p)
		}
	}
	if r.Vendor != "" && !slices.Contains(vendors, r.Vendor) {
		return fmt.Errorf("vendor %q: use %s", r.Vendor, strings.Join(vendors, ", "))
	}
	for name := range r.Env {
		if !variable.MatchString(name) {
			return fmt.Errorf("env %q is no name of a variable", name)
		}
	}
	for name, file := range r.Bin {
		if !debianPackage.MatchString(name) || path.IsAbs(file) || path.Clean(file) != file || file == "." || file == ".." || strings.HasPrefix(file, "../") {
			return fmt.Errorf("bin %q = %q: write a name and a path below node_modules", name, file)
		}
	}
	for name := range r.Files {
		if name == "." || path.Clean(name) != name || path.IsAbs(name) || strings.HasPrefix(name, "../") || name == ".." || strings.ContainsAny(name, "\x00\n") {
			return fmt.Errorf("files %q: write a path below the home directory", name)
		}
	}
	_, err := egress.Parse(r.Allow)
	return err
}

// A Start is what a box is given to run.
type Start struct {
	Command []string
	Env     map[string]string
}

// Begin returns how the program is started in place of the user's command, with the API at an address and a key that
// is none.
func (r Recipe) Begin(command []string, gateway, key string) Start {
	fill := strings.NewReplacer("{gateway}", gateway, "{key}", key)
	s := Start{Command: append([]string{r.Program}, command[1:]...), Env: map[string]string{}}
	for _, more := range slices.Sorted(maps.Keys(r.Args)) {
		if more != "" && (len(command) < 2 || command[1] != more) {
			continue
		}
		if args := r.Args[more]; len(args) > 0 && !slices.Contains(s.Command, args[0]) {
			s.Command = append(s.Command, args...)
		}
	}
	for name, value := range r.Env {
		s.Env[name] = fill.Replace(value)
	}
	if len(r.Files) == 0 {
		return s
	}
	// The files come as variables, which the shell that starts the program writes and takes away: whatever they hold is
	// no code of its.
	script := "umask 077\n"
	for i, name := range slices.Sorted(maps.Keys(r.Files)) {
		held := fmt.Sprintf("AGENT_EXEC_FILE_%d", i)
		s.Env[held] = fill.Replace(r.Files[name])
		place := `"$HOME"/` + quote(name)
		script += `mkdir -p "$(dirname ` + place + `)"` + "\n" + `printf %s "$` + held + `" >` + place + "\nunset " + held + "\n"
	}
	s.Command = append([]string{"/bin/sh", "-euc", script + `exec "$@"`, "sh"}, s.Command...)
	return s
}

// quote is a word of the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
