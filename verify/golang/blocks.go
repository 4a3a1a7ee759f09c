package golang

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"slices"

	"golang.org/x/tools/cover"
)

// A source is a file and the statement blocks that a profile lists for it, in order.
type source struct {
	file   *ast.File
	tokens *token.File
	blocks []cover.ProfileBlock
	// words maps a line to its significant tokens: brackets and separators do not count.
	words map[int][]token.Pos
}

// execute returns the asked lines of a file on which something can be executed, and those of them that were executed. ok is
// false if the blocks cannot tell, as for a file that was not compiled.
func execute(data []byte, asked []int, blocks []cover.ProfileBlock) (code, ran []int, ok bool) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", data, parser.SkipObjectResolution)
	if err != nil {
		return nil, nil, false
	}
	s := &source{file: file, tokens: fset.File(file.FileStart), blocks: slices.Clone(blocks), words: map[int][]token.Pos{}}
	slices.SortFunc(s.blocks, func(a, b cover.ProfileBlock) int {
		return cmp.Or(a.StartLine-b.StartLine, a.StartCol-b.StartCol)
	})
	s.scan(data)
	code, ran = []int{}, []int{}
	for _, line := range asked {
		if len(s.words[line]) == 0 {
			continue
		}
		// The blocks use the places that a //line directive gives.
		if p := s.words[line][0]; s.tokens.Position(p) != s.tokens.PositionFor(p, false) {
			return nil, nil, false
		}
		counts, inFunction := s.counts(line)
		switch {
		case inFunction && len(blocks) == 0:
			return nil, nil, false
		case len(counts) == 0:
			continue
		case slices.Max(counts) > 0:
			ran = append(ran, line)
		}
		code = append(code, line)
	}
	return code, ran, true
}

// scan finds the words of each line.
func (s *source) scan(data []byte) {
	// own has the positions of the parsed file, by offset.
	own := token.NewFileSet().AddFile("", -1, len(data))
	var in scanner.Scanner
	in.Init(own, data, nil, 0)
	for {
		pos, tok, text := in.Scan()
		switch tok {
		case token.EOF:
			return
		case token.LBRACE, token.RBRACE, token.LPAREN, token.RPAREN, token.LBRACK, token.RBRACK, token.COMMA, token.SEMICOLON:
			continue
		}
		from := s.tokens.Pos(own.Offset(pos))
		last := s.line(s.tokens.Pos(min(own.Offset(pos)+len(text), len(data))))
		for line := s.line(from); line <= last; line++ {
			s.words[line] = append(s.words[line], from)
		}
	}
}

// line returns the line of a position in the text, ignoring //line directives.
func (s *source) line(p token.Pos) int { return s.tokens.PositionFor(p, false).Line }

// within returns the block that contains a position.
func (s *source) within(p token.Pos) (cover.ProfileBlock, bool) {
	at := s.tokens.PositionFor(p, false)
	for _, b := range s.blocks {
		if !before(at, b.StartLine, b.StartCol) && before(at, b.EndLine, b.EndCol) {
			return b, true
		}
	}
	return cover.ProfileBlock{}, false
}

// after returns the first block of a node that begins at or after a position.
func (s *source) after(p token.Pos, in ast.Node) (cover.ProfileBlock, bool) {
	at, end := s.tokens.PositionFor(p, false), s.tokens.PositionFor(in.End(), false)
	for _, b := range s.blocks {
		if !before(token.Position{Line: b.StartLine, Column: b.StartCol}, at.Line, at.Column) {
			return b, before(token.Position{Line: b.StartLine, Column: b.StartCol}, end.Line, end.Column)
		}
	}
	return cover.ProfileBlock{}, false
}

func before(at token.Position, line, column int) bool {
	return at.Line < line || at.Line == line && at.Column < column
}

// counts lists how often the blocks on a line were executed. The list is empty if the line is neither a statement nor the
// head of one. inFunction says whether the line is part of a function at all.
func (s *source) counts(line int) (counts []int, inFunction bool) {
	for _, p := range s.words[line] {
		if b, ok := s.within(p); ok {
			counts = append(counts, b.Count)
		}
	}
	var around []ast.Node // the nodes that contain the line's first word, the innermost last
	first := s.words[line][0]
	ast.Inspect(s.file, func(n ast.Node) bool {
		if n == nil || first < n.Pos() || first >= n.End() {
			return false
		}
		around = append(around, n)
		return true
	})
	inFunction = slices.ContainsFunc(around, func(n ast.Node) bool {
		f, ok := n.(*ast.FuncDecl)
		_, literal := n.(*ast.FuncLit)
		return literal || ok && f.Body != nil && first >= f.Type.Pos()
	})
	if len(counts) > 0 {
		return counts, inFunction
	}
	for _, n := range slices.Backward(around) {
		if b, ok, done := s.standsFor(n, first, line); ok {
			return []int{b.Count}, inFunction
		} else if done {
			break
		}
	}
	return nil, inFunction
}

// standsFor finds the block for a line that is in none: the block whose head the line is part of, or the one in which the
// enclosing statement begins. done says that no outer node can have it.
func (s *source) standsFor(n ast.Node, first token.Pos, line int) (b cover.ProfileBlock, ok, done bool) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		if n.Body != nil && first >= n.Type.Pos() {
			b, ok = s.after(n.Body.Lbrace, n)
		}
		return b, ok, true
	case *ast.FuncLit:
		return b, false, false
	case *ast.CaseClause:
		b, ok = s.after(n.Colon, n)
		return b, ok, ok
	case *ast.CommClause:
		b, ok = s.after(n.Colon, n)
		return b, ok, ok
	case *ast.IfStmt:
		// The line holds only an else.
		if n.Else != nil && first > n.Body.End() && s.line(n.Else.Pos()) == line {
			b, ok = s.after(first, n)
			return b, ok, ok
		}
		b, ok = s.within(n.Pos())
		return b, ok, false
	case *ast.BlockStmt:
		return b, false, false
	case ast.Stmt:
		b, ok = s.within(n.Pos())
		return b, ok, false
	}
	return b, false, false
}
