package config

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/urfave/cli/v2"
)

// Flags returns the flags of those names, as the table describes them, in that order. A name without a setting gives no
// flag.
//
// Flags are text, even if they mean a number: the same values come from the environment and from files, and one place
// checks them all.
func Flags(names ...string) []cli.Flag {
	var flags []cli.Flag
	for _, name := range names {
		if f := FlagFor(name, ""); f != nil {
			flags = append(flags, f)
		}
	}
	return flags
}

// FlagFor returns the flag of that name, or nil. usage, unless "", replaces the table's help text with the command's
// own; aliases are more short names.
func FlagFor(name, usage string, aliases ...string) cli.Flag {
	for _, k := range table {
		if k.Flag == name {
			if usage == "" {
				usage = k.usage
			}
			return k.flag(usage, aliases...)
		}
	}
	return nil
}

// flag returns the flag of a setting that has one.
func (k Setting) flag(usage string, aliases ...string) cli.Flag {
	if k.short != "" {
		aliases = append([]string{k.short}, aliases...)
	}
	// A flag that says no differs in meaning from its variable, which its help explains.
	if k.Env != "" && !k.inverted() {
		usage += fmt.Sprintf(" [$%s]", strings.Fields(k.Env)[0])
	}
	if k.scope == noFile && k.kind.toml.Kind() == reflect.String && k.Default != "" {
		usage += fmt.Sprintf(" (default: %s)", k.Default)
	}
	switch k.kind.toml.Kind() {
	case reflect.Pointer:
		return &cli.BoolFlag{Name: k.Flag, Aliases: aliases, Usage: usage, DisableDefaultText: true}
	case reflect.Slice:
		return &cli.StringSliceFlag{Name: k.Flag, Aliases: aliases, Usage: usage}
	}
	return &cli.StringFlag{Name: k.Flag, Aliases: aliases, Usage: usage}
}
