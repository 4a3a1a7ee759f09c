package main

import (
	"bufio"
	"bytes"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// maxStart is how many bytes one package of the agent may allocate before main, and maxStartAll how many all of them
// may. Every command pays for it, even one that only prints its help.
const maxStart, maxStartAll = 256 << 10, 768 << 10

// Nothing that a command does not need is made before main: the Go runtime reports what each package allocates there.
func TestTheStartIsCheap(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), agentProgram, "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace bytes.Buffer
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &trace)
	}
	seen, all := 0, 0
	for lines := bufio.NewScanner(&trace); lines.Scan(); {
		var name string
		var at, clock float64
		var size int
		if n, _ := fmt.Sscanf(lines.Text(), "init %s @%g ms, %g ms clock, %d bytes,", &name, &at, &clock, &size); n < 4 {
			continue
		}
		if name != "main" && !strings.HasPrefix(name, moduleName+"/") {
			continue
		}
		seen++
		all += size
		if size > maxStart {
			t.Errorf("%s allocates %d bytes before main, more than %d: make it at its first use", name, size, maxStart)
		}
	}
	if seen < 10 || all > maxStartAll {
		t.Errorf("%d packages of ours allocate %d bytes before main, want some packages and at most %d bytes", seen, all, maxStartAll)
	}
}

// Compiling a regular expression takes longer than starting a package, so package-level ones are compiled at their first use.
func TestPatternsOfPackagesAreLazy(t *testing.T) {
	t.Parallel()
	for _, s := range code(sources(t)) {
		if s.dir == lazyPatterns || strings.HasPrefix(s.dir, "cmd/") && !strings.HasPrefix(s.dir, "cmd/agent") {
			continue
		}
		for _, d := range s.ast.Decls {
			if _, isFunc := d.(*ast.FuncDecl); isFunc {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "MustCompile" {
					t.Errorf("%s: a variable of the package is compiled when the program starts: write lazyregexp.New", s.at(sel))
				}
				return true
			})
		}
	}
}
