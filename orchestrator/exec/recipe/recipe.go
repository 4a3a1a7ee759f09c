// Package recipe says how a third-party program works in a box: how it gets in, how it finds its model there, and what else it may
// reach. It has one row for each known coding agent; the user's own recipes take precedence. It starts nothing.
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

// A Recipe describes one program. In Env and Files, {gateway} stands for the address of the model's API in the box, and {key} for what
// the program takes for a key.
type Recipe struct {
	// Program is what is started, looked up in the box; "" means the name of the recipe.
	Program string `toml:"program" json:"program,omitempty"`
	// NPM lists the npm packages, as NAME@VERSION, that are installed for it; Debian lists the Debian packages.
	NPM    []string `toml:"npm" json:"npm,omitempty"`
	Debian []string `toml:"debian" json:"debian,omitempty"`
	// Bin maps the names of programs to their files below node_modules, in which ARCH stands for x64 or arm64.
	Bin map[string]string `toml:"bin" json:"bin,omitempty"`
	// Vendor is the vendor whose models it asks, through the gateway; "" for none.
	Vendor string `toml:"vendor" json:"vendor,omitempty"`
	// Env is its environment; Files are files below its home directory.
	Env   map[string]string `toml:"env" json:"env,omitempty"`
	Files map[string]string `toml:"files" json:"files,omitempty"`
	// Args are appended to the user's own arguments: those of "" always, others if the first argument is that word.
	Args map[string][]string `toml:"args" json:"args,omitempty"`
	// Allow lists further hosts that it may reach.
	Allow []string `toml:"allow" json:"allow,omitempty"`
}

// Find returns the recipe for the name of a command. Field by field, the user's own recipe takes precedence over the preset. It returns
// false if there is neither.
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

// first returns the first list that is not nil.
func first(lists ...[]string) []string {
	for _, l := range lists {
		if l != nil {
			return l
		}
	}
	return nil
}

// over lays the map own over the map under.
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

// Check returns an error that says what makes r unusable. vendors are those that a gateway stands for.
func (r Recipe) Check(vendors []string) error {
	for _, p := range r.NPM {
		if !npmPackage.MatchString(p) {
			return fmt.Errorf("npm %q: write NAME@VERSION, with the full version", p)
		}
	}
	for _, p := range r.Debian {
		if !debianPackage.MatchString(p) {
			return fmt.Errorf("debian %q is not the name of a package", p)
		}
	}
	if r.Vendor != "" && !slices.Contains(vendors, r.Vendor) {
		return fmt.Errorf("vendor %q: use %s", r.Vendor, strings.Join(vendors, ", "))
	}
	for name := range r.Env {
		if !variable.MatchString(name) {
			return fmt.Errorf("env %q is not the name of a variable", name)
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

// Begin returns how the program is started in place of the user's command. gateway is the address of the API; key stands in for a key
// and is not a real one.
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
	// The files arrive as variables, which the shell that starts the program writes to disk and unsets: whatever they contain is never
	// code of that shell.
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

// quote returns s as one word of the shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
