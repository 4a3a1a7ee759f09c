package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/term"
)

// Values that the linker sets: the digest of the source in a program built by `agent self rebuild`; version, commit and
// its date in a program built outside of a repository.
var builtFrom, releaseVersion, releaseCommit, releaseDate string

// An origin says what this program was built from, as `version --json` prints it.
type origin struct {
	Version  string `json:"version"`
	Source   string `json:"source,omitempty"` // digest, in a build by `agent self rebuild`
	Commit   string `json:"commit"`           // empty if unknown
	Date     string `json:"date"`             // of the commit, RFC 3339
	Modified bool   `json:"modified"`         // the source differed from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// built reads what the Go toolchain recorded in the program, so no version number has to be maintained by hand.
func built() origin {
	b := origin{Version: "devel", Source: builtFrom, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			b.Version = v
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.time":
				b.Date = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	b.Version, b.Commit, b.Date = cmp.Or(releaseVersion, b.Version), cmp.Or(releaseCommit, b.Commit), cmp.Or(releaseDate, b.Date)
	return b
}

// Day returns the day of the commit, or the day of the first program if it is unknown.
func (b origin) Day() string {
	if len(b.Date) < len("2006-01-02") {
		return "2026-01-01"
	}
	return b.Date[:len("2006-01-02")]
}

// versionCommand returns the command that prints what the program was built from.
func versionCommand(c *cmdline.Line) *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version",
		Description: cmdline.Examples("agent version --json", "with commit and date"),
		Flags:       []cli.Flag{cmdline.JSONFlag(cmdline.Document[origin]("build", 1))},
		Action: func(ctx *cli.Context) error {
			if ctx.Bool("json") || asksJSON(nil, c.Getenv) {
				return term.PrintJSON(c.Stdout, built())
			}
			return printVersion(c.Stdout)
		},
	}
}

// printVersion prints one line about this program.
func printVersion(w io.Writer) error {
	b := built()
	version := b.Version
	if b.Source != "" {
		version = fmt.Sprintf("source %.12s", b.Source)
	}
	commit, modified := "", ""
	if b.Commit != "" {
		commit = fmt.Sprintf(" %.12s", b.Commit)
	}
	if b.Modified {
		modified = " modified"
	}
	_, err := fmt.Fprintf(w, "agent %s%s%s %s %s\n", version, commit, modified, b.Go, b.Platform)
	return err
}
