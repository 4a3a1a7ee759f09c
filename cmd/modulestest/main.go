// Command modulestest reports the licence of each module that provides a package to this one. It fails for a module
// whose licence is not allowed here, or that contains no known licence text.
//
// It asks go list for those modules, tests included, and reads the files named LICENSE and similar in their directories
// of the module cache; it builds and runs nothing. The accompanying tests check statements about modules elsewhere
// (their vulnerabilities, and the list of them in a program) against what go itself knows.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// allowed are the licences of code, by their SPDX names, that ask for no more than their notice, and the one that asks
// only for the source of its own files.
var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MPL-2.0", "Unlicense"}

// beside are licences that a module may have for documentation and fonts. No program of this module contains either.
var beside = []string{"CC-BY-4.0", "CC-BY-SA-4.0", "OFL-1.1"}

// covered is the minimum share of a file that its licence must make up, in percent: names and years are not part of it.
const covered = 75

// licenceFile matches the names of files that hold a licence.
var licenceFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|unlicense)([.-].*)?$`)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := start(ctx, ".", os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// start prints a line for each module of the tree in dir, and returns the problems of all of them.
func start(ctx context.Context, dir string, out io.Writer) error {
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-test", "-tags", "bench,ollama,soak,self,forge",
		"-f", `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{with .Replace}}{{.Dir}}{{else}}{{.Dir}}{{end}}{{end}}{{end}}`, "./...")
	var complaint bytes.Buffer
	list.Dir, list.Stderr = dir, &complaint
	text, err := list.Output()
	if err != nil {
		return fmt.Errorf("list the modules: %w\n%s", err, &complaint)
	}
	lines := strings.Fields(strings.ReplaceAll(string(text), " ", "\x00"))
	slices.Sort(lines)
	var wrong []error
	for _, line := range slices.Compact(lines) {
		fields := strings.Split(line, "\x00")
		names, err := licences(fields[2])
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s %s: %w", fields[0], fields[1], err))
		}
		fmt.Fprintf(out, "%s %s %s\n", fields[0], fields[1], strings.Join(names, ","))
	}
	return errors.Join(wrong...)
}

// licences returns the licences of the module in dir. Each of its top-level licence files must hold a known and allowed licence.
func licences(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !licenceFile.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" || !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		found := licensecheck.Scan(text)
		if found.Percent < covered {
			return names, fmt.Errorf("%s is no licence that is known: %.0f %% of it are", e.Name(), found.Percent)
		}
		for _, m := range found.Match {
			switch {
			case slices.Contains(beside, m.ID) || slices.Contains(names, m.ID):
			case slices.Contains(allowed, m.ID):
				names = append(names, m.ID)
			default:
				return names, fmt.Errorf("%s: %s is not allowed here", e.Name(), m.ID)
			}
		}
	}
	if len(names) == 0 {
		return nil, errors.New("it has no file with a licence")
	}
	return names, nil
}
