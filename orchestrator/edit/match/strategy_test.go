package match

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// Every named strategy has a row, and every row is complete. Stricter strategies come first, and rows with the same name agree.
func TestEveryStrategyIsARow(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "strategy.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	ast.Inspect(file, func(n ast.Node) bool {
		c, ok := n.(*ast.ValueSpec)
		if typ, is := n.(*ast.ValueSpec); !ok || !is || typ.Type == nil {
			return true
		}
		if typ, is := c.Type.(*ast.Ident); !is || typ.Name != "Strategy" {
			return true
		}
		s, err := strconv.Unquote(c.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		if named++; Strategy(s).Trust() == 0 {
			t.Errorf("%s has no row", s)
		}
		return true
	})
	if named < 12 {
		t.Fatalf("%d names were read", named)
	}
	byTrust, last := map[int]Strategy{}, nothing
	for _, r := range strategies {
		if other, ok := byTrust[r.trust]; r.name == "" || r.trust <= 0 || ok && other != r.name {
			t.Errorf("%q has trust %d, which %q has too", r.name, r.trust, other)
		}
		byTrust[r.trust] = r.name
		if first, _ := rowOf(r.name); first.trust != r.trust || first.aside != r.aside {
			t.Errorf("the rows of %s differ in what they set aside, or in trust", r.name)
		}
		if r.find == nil {
			if r.aside != nothing || r.refuse != nil {
				t.Errorf("%s is never looked for, and sets something aside", r.name)
			}
			continue
		}
		if r.aside < last {
			t.Errorf("%s is tried after a looser one", r.name)
		}
		if last = r.aside; r.aside == more && r.refuse == nil {
			t.Errorf("%s sets much aside and refuses nothing", r.name)
		}
	}
}
