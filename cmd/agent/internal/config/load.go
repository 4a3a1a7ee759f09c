package config

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/vendors"
	"agent/verify"
)

// Load reads every layer. An invalid file is an error even if a flag would override its content: half a configuration
// is none. The order, the strongest first:
//
//	flag > AGENT_… > agent.toml of the workspace > user's file > default
func Load(ctx *cli.Context, getenv func(string) string) (Settings, error) {
	return LoadFor(vendors.All(), ctx, getenv)
}

// LoadFor is Load with the settings of these vendors instead of the product's.
func LoadFor(list []llm.Vendor, ctx *cli.Context, getenv func(string) string) (Settings, error) {
	l := loader{rows: rows(list), set: Settings{}}
	for _, k := range l.rows {
		l.set[k.Name] = Value{k.Default, byDefault, &k.kind}
	}
	if err := l.userFile(getenv); err != nil {
		return nil, err
	}
	outer := l.set.copy() // what applies without the workspace's own file
	// The overlay is applied twice: once to learn which workspace is meant, and again because flags and environment
	// override its file.
	l.overlay(ctx, getenv)
	l.findWorkspace(getenv)
	if err := l.workspaceFile(outer); err != nil {
		return nil, err
	}
	l.overlay(ctx, getenv)
	_, err := l.set.resolve(l.rows)
	if err == nil && l.set.Above() {
		tellAbove(ctx, l.set["workspace"].Text)
	}
	return l.set, err
}

// A loader lays one layer over the other.
type loader struct {
	rows []Setting
	set  Settings
}

// userFile lays the user's file over the defaults.
func (l *loader) userFile(getenv func(string) string) error {
	path := UserPath(getenv)
	if path == "" {
		return nil
	}
	// Links are followed here: people keep their configuration in repositories and link to it.
	data, err := ReadFile(path, true)
	if err != nil {
		return fault.Usage("fix or move that file", "read the user configuration: %v", err)
	}
	values, err := readRows(l.rows, ofUser, data)
	if err != nil {
		return fault.Usage("fix that line", "%s: %v", path, err)
	}
	l.set.lay(values, path)
	return nil
}

// overlay lays the environment and the flags over the files.
func (l *loader) overlay(ctx *cli.Context, getenv func(string) string) {
	for _, k := range l.rows {
		for _, env := range strings.Fields(k.Env) {
			if text := getenv(env); text != "" {
				l.set.lay(map[string]string{k.Name: text}, env)
				break
			}
		}
		if k.Flag == "" || !ctx.IsSet(k.Flag) {
			continue
		}
		// An empty variable counts as not set, as people expect of a shell; an empty flag was typed, so it counts.
		text := ctx.String(k.Flag)
		switch ctx.Value(k.Flag).(type) {
		case bool:
			text = strconv.FormatBool(ctx.Bool(k.Flag) != k.inverted())
		case cli.StringSlice:
			text = formatList(ParseList(strings.Join(ctx.StringSlice(k.Flag), ",")))
		}
		l.set.lay(map[string]string{k.Name: text}, "--"+k.Flag)
	}
}

// workspaceFile lays the workspace's file over the current settings. The file may tighten what applies without it, but
// never widen it: being able to commit to the workspace must not let its code get more than the user granted.
func (l *loader) workspaceFile(outer Settings) error {
	path := filepath.Join(l.set["workspace"].Text, FileName)
	// Links are not followed here: a workspace could point at any of the user's files, and an error would quote it.
	data, err := ReadFile(path, false)
	if err != nil {
		return fault.Usage("make it a regular file, or move it away", "read %s: %v", FileName, err)
	}
	own, err := readRows(l.rows, ofWorkspace, data)
	if err != nil {
		return fault.Usage("fix that line of "+path, "%s: %v", FileName, err)
	}
	if err := l.checkNarrows(outer, own, path); err != nil {
		return err
	}
	for _, k := range l.rows {
		if text, ok := own[k.Name]; ok && k.kind.merge != nil {
			if own[k.Name], err = k.kind.merge(outer[k.Name].Text, text); err != nil {
				return err
			}
		}
	}
	l.set.lay(own, path)
	return nil
}

// checkNarrows refuses a workspace's own values, from the file at path, if they exceed what applies without them. It
// does so even if a flag or the environment overrides them: a file that asks for more is refused as such, before anyone
// relies on it.
func (l *loader) checkNarrows(outer Settings, own map[string]string, path string) error {
	rows := slices.DeleteFunc(slices.Clone(l.rows), func(k Setting) bool { return !ofWorkspace(k.scope) })
	have, err := outer.resolve(rows)
	if err != nil {
		return err
	}
	inner := outer.copy()
	inner.lay(own, path)
	want, err := inner.resolve(rows)
	if err != nil {
		return err
	}
	for _, k := range rows {
		switch {
		case k.scope == switchOff && inner.On(k.Name) && !outer.On(k.Name):
			return fault.Policy("remove it from "+path+"; only the user configuration or the environment may switch it on",
				"%s: %s is off otherwise", FileName, k.Name)
		case k.scope == lower && k.kind.more(&want, &have, k.unset()):
			return fault.Policy("lower it in "+path+"; only the user configuration or the environment may raise it",
				"%s: %s is more than the %s that applies otherwise", FileName, k.Name, outer.HeldText(k.Name))
		}
	}
	return nil
}

// Wider names the first value of want that exceeds what have allows, or "". It compares only numbers that bound
// untrusted code.
func Wider(want, have verify.Config) string {
	for _, k := range table {
		if k.scope == lower && k.owned && k.kind.more(&values{verify: want}, &values{verify: have}, k.unset()) {
			return k.Name
		}
	}
	return ""
}
