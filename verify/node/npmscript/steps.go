// Package npmscript reads the scripts of package.json. It lists the commands of a script and of the scripts that it starts,
// in their order, and says what each command is for. It owns the lists of programs that are not tests. It runs nothing and
// looks at no file.
package npmscript

import (
	"path"
	"slices"
	"strings"

	shell "mvdan.cc/sh/v3/syntax"

	"agent/sandbox/workspace/lazyregexp"
)

// These bound what is read of the scripts of one package, which may call each other.
const (
	maxDepth   = 8
	maxScripts = 200
	maxSteps   = 64
)

// A Step is one command of a script in package.json, as reached from the requested script. Scripts are only read for it:
// nothing runs.
type Step struct {
	// Script is the script that contains it, Text its text there.
	Script, Text string
	// Dir is where the script has moved by then, below the package; "" for the package itself.
	Dir string
	// Env is what is set for it, and Words are its words after the programs that only start another one. Words that a shell
	// has to work out are missing; Whole says that there are none.
	Env   map[string]string
	Words []string
	Whole bool
	// Through is the file of the project's own node program that starts the words; "" for none.
	Through string
	// StandIn says that the words replace those of a program that starts node's own runner itself.
	StandIn bool
	// prepares says that its script, by its name, makes what others use.
	prepares bool
	// Kind is what it is for, and Tool the known tool that runs it, if any; see Kind.
	Kind Kind
	Tool string
}

// A stepReader gathers the steps of one package's scripts, in the order in which they would run.
type stepReader struct {
	scripts map[string]string
	steps   []Step
	// These belong to the script that is being read.
	name     string
	dir      string
	env      map[string]string
	prepares bool
	// around lists the enclosing scripts, each once.
	around []string
	// read counts all scripts read so far. over says that a bound was exceeded, so that no end is in sight.
	read *int
	over *bool
}

// Read lists the commands of some scripts and of those that they start. If there are too many to follow, each named script
// is one command.
func Read(scripts map[string]string, names ...string) []Step {
	r := &stepReader{scripts: scripts, env: map[string]string{}, read: new(int), over: new(bool)}
	for _, name := range names {
		r.start(name, nil)
	}
	if !*r.over {
		return r.steps
	}
	r.steps = nil
	for _, name := range names {
		if _, ok := scripts[name]; ok {
			r.steps = append(r.steps, Step{Script: name, Text: "npm run " + name})
		}
	}
	return r.steps
}

// start reads a script together with its pre and post scripts, as npm runs them. A script that calls itself again leads
// nowhere else, and is left out.
func (r *stepReader) start(name string, args []string) {
	if _, ok := r.scripts[name]; !ok || slices.Contains(r.around, name) || *r.over {
		return
	}
	if *r.read++; *r.read > maxScripts || len(r.around) >= maxDepth {
		*r.over = true
		return
	}
	saved := *r
	r.around = append(slices.Clone(r.around), name)
	text := r.scripts[name]
	for _, a := range args {
		if quoted, err := shell.Quote(a, shell.LangPOSIX); err == nil {
			text += " " + quoted
		}
	}
	for _, part := range []struct{ name, text string }{{"pre" + name, r.scripts["pre"+name]}, {name, text}, {"post" + name, r.scripts["post"+name]}} {
		if part.text == "" {
			continue
		}
		r.name, r.dir, r.env = part.name, saved.dir, saved.env
		r.prepares = saved.prepares || buildScript.MatchString(part.name) || part.name == "pre"+name
		r.text(part.text)
	}
	steps := r.steps
	*r = saved
	r.steps = steps
}

// text reads the text of a script.
func (r *stepReader) text(text string) {
	file, err := shell.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		r.add(Step{Text: text})
		return
	}
	// What runs in the background cannot be told apart from the rest, nor can what runs in an unknown directory.
	whole := false
	shell.Walk(file, func(n shell.Node) bool {
		s, ok := n.(*shell.Stmt)
		whole = whole || ok && (s.Background || s.Coprocess)
		c, ok := n.(*shell.CallExpr)
		whole = whole || ok && leaves(c)
		return !whole
	})
	if whole {
		r.add(Step{Text: text})
		return
	}
	for _, s := range file.Stmts {
		r.statement(s)
	}
}

// leaves reports whether a command goes to a directory that is not, by its name, below the package.
func leaves(c *shell.CallExpr) bool {
	if len(c.Args) == 0 {
		return false
	}
	name, _ := literal(c.Args[0])
	if name == "pushd" || name == "popd" {
		return true
	}
	if name != "cd" {
		return false
	}
	if len(c.Args) != 2 {
		return true // home, or with options
	}
	dir, ok := literal(c.Args[1])
	return !ok || dir == "" || path.IsAbs(dir) || strings.HasPrefix(dir, "-") || strings.HasPrefix(dir, "~")
}

// statement reads one command, or several that are combined.
func (r *stepReader) statement(s *shell.Stmt) {
	switch c := s.Cmd.(type) {
	case *shell.CallExpr:
		r.call(s, c)
	case *shell.BinaryCmd:
		if c.Op == shell.AndStmt {
			r.statement(c.X)
			r.statement(c.Y)
			return
		}
		r.either(s, c.X)
	case *shell.Subshell:
		dir := r.dir
		for _, inner := range c.Stmts {
			r.statement(inner)
		}
		r.dir = dir
	case *shell.Block:
		for _, inner := range c.Stmts {
			r.statement(inner)
		}
	default:
		r.compound(s)
	}
}

// compound reads a loop or a condition: the tests of known runners in it, or else all of it as one command.
func (r *stepReader) compound(s *shell.Stmt) {
	inner := *r
	inner.steps = nil
	shell.Walk(s, func(n shell.Node) bool {
		if one, ok := n.(*shell.Stmt); ok && one != s {
			if call, ok := one.Cmd.(*shell.CallExpr); ok {
				inner.call(one, call)
			}
		}
		return true
	})
	known := slices.DeleteFunc(inner.steps, func(s Step) bool { return s.Kind != Runs && s.Kind != RunsNode })
	if len(known) == 0 {
		known = []Step{classify(Step{Script: r.name, Text: printed(s), Dir: r.dir, prepares: r.prepares, Env: r.env})}
	}
	for _, one := range known {
		r.push(one)
	}
}

// either reads a command whose result depends on another one, as with || or a pipe. It goes by the command in front: the
// tests of a known runner, or else all of it as one command.
func (r *stepReader) either(s, front *shell.Stmt) {
	inner := *r
	inner.steps = nil
	inner.statement(front)
	if len(inner.steps) == 1 && inner.steps[0].Text == printed(front) && inner.steps[0].Kind == General {
		inner.steps[0].Text = printed(s)
	}
	for _, one := range inner.steps {
		r.push(one)
	}
}

// printed returns the text of a command.
func printed(n shell.Node) string {
	var text strings.Builder
	if err := shell.NewPrinter(shell.SingleLine(true)).Print(&text, n); err != nil {
		return ""
	}
	return strings.TrimSpace(text.String())
}

// call reads a simple command.
func (r *stepReader) call(s *shell.Stmt, c *shell.CallExpr) {
	own, whole := Step{Text: printed(s), Env: map[string]string{}}, true
	var words []string
	for _, a := range c.Assigns {
		if a.Name != nil && a.Value != nil {
			value, ok := literal(a.Value)
			words, whole = append(words, a.Name.Value+"="+value), whole && ok
		}
	}
	for _, w := range c.Args {
		text, ok := literal(w)
		if ok && text != "" {
			words = append(words, text)
		}
		whole = whole && ok
	}
	own.Env, own.Words = unwrap(words, r.scripts)
	own.throughOwn(r.scripts)
	if words, ok := borpAsNode(own.Words); ok {
		own.Words, own.StandIn = words, true
	}
	own.Whole = whole && len(own.Words) > 0
	switch w := own.Words; {
	case len(w) == 2 && w[0] == "cd":
		if r.dir = path.Join(r.dir, w[1]); r.dir == "." {
			r.dir = ""
		}
	case len(w) > 0 && w[0] == "concurrently":
		r.together(w[1:])
	default:
		names, args, ok := startedScripts(w, r.scripts)
		if !ok || r.dir != "" {
			r.add(own)
			return
		}
		outer := r.env
		r.env = Joined(outer, own.Env)
		for _, name := range names {
			r.start(name, args)
		}
		r.env = outer
	}
}

// togetherValues are the options of concurrently that take the next word as their value.
var togetherValues = []string{
	"-n", "--names", "--name-separator", "-s", "--success", "-c", "--prefix-colors", "-p", "--prefix", "-l", "--prefix-length", "-t", "--timestamp-format",
	"-m", "--max-processes", "--hide", "--kill-signal", "--ks", "--kill-timeout", "--default-input-target", "--restart-tries", "--restart-after", "--teardown",
}

// together reads the commands given to concurrently, each of them one word.
func (r *stepReader) together(words []string) {
	for i := 0; i < len(words); i++ {
		w := words[i]
		if slices.Contains(togetherValues, w) {
			i++
			continue
		}
		if manager, name, ok := strings.Cut(w, ":"); ok && slices.Contains(managers, manager) {
			for _, one := range namedBy(name, r.scripts) {
				r.start(one, nil)
			}
		} else if !strings.HasPrefix(w, "-") {
			r.text(w)
		}
	}
}

// add completes a step with what is known of its script.
func (r *stepReader) add(s Step) {
	s.Script, s.Dir, s.prepares, s.Env = r.name, r.dir, r.prepares, Joined(r.env, s.Env)
	r.push(classify(s))
}

// push appends a step that was not reached before.
func (r *stepReader) push(s Step) {
	if !slices.ContainsFunc(r.steps, func(o Step) bool { return o.Script == s.Script && o.Text == s.Text && o.Dir == s.Dir }) {
		r.steps = append(r.steps, s)
	}
	*r.over = *r.over || len(r.steps) > maxSteps
}

// literal returns the text of a word that a shell does not have to work out. A variable that is unset here is unset in the
// box as well, and expands to nothing; ok is false for all else.
func literal(w *shell.Word) (text string, ok bool) {
	var b strings.Builder
	ok = literals(&b, w.Parts, unescaped)
	return b.String(), ok
}

// These match a backslash that a shell removes and the character after it, outside of quotes and within double quotes.
var (
	unescaped = lazyregexp.New(`\\(?s:(.))`)
	inQuotes  = lazyregexp.New("\\\\([$`\"\\\\])")
)

func literals(b *strings.Builder, parts []shell.WordPart, escapes *lazyregexp.Regexp) bool {
	for _, part := range parts {
		switch part := part.(type) {
		case *shell.Lit:
			b.WriteString(escapes.ReplaceAllString(strings.ReplaceAll(part.Value, "\\\n", ""), "${1}"))
		case *shell.SglQuoted:
			b.WriteString(part.Value)
		case *shell.DblQuoted:
			if !literals(b, part.Parts, inQuotes) {
				return false
			}
		case *shell.ParamExp:
			if part.Exp != nil || part.Param.Value == "PWD" || part.Param.Value == "HOME" || strings.HasPrefix(part.Param.Value, "npm_") {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// Joined lays some settings over others.
func Joined(under, over map[string]string) map[string]string {
	all := map[string]string{}
	for _, m := range []map[string]string{under, over} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}
