// Command systemstest type-checks every package, and everything that they import, for the systems named, each as GOOS/GOARCH.
//
// It reads the sources and generates no code, so it takes seconds where a build for another system takes minutes. Anything that
// only a compiler sees, such as assembly, is checked at the release, which builds each program for each system.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if err := start(os.Args[1:], ".", os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// start prints a line for each system, and returns the problems of the tree in dir on any of them.
func start(systems []string, dir string, out io.Writer) error {
	if len(systems) == 0 {
		return errors.New("name a system: systemstest darwin/arm64")
	}
	var wrong []error
	for _, system := range systems {
		goos, goarch, ok := strings.Cut(system, "/")
		if !ok {
			return fmt.Errorf("%q is no system: name it as darwin/arm64", system)
		}
		n, err := check(goos, goarch, dir)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", system, err))
		}
		fmt.Fprintf(out, "%s: %d packages\n", system, n)
	}
	return errors.Join(wrong...)
}

// check type-checks the tree in dir for one system and returns the number of its packages.
func check(goos, goarch, dir string) (n int, err error) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax, // the syntax of imports too: sources, no compiler
		Dir: dir,
		Env: append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
	}, "./...")
	if err != nil {
		return 0, err
	}
	var wrong []error
	packages.Visit(loaded, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			wrong = append(wrong, fmt.Errorf("%s: %s", cmp.Or(e.Pos, p.PkgPath), e.Msg))
		}
	})
	if len(loaded) == 0 {
		wrong = append(wrong, errors.New("no package"))
	}
	return len(loaded), errors.Join(wrong...)
}
