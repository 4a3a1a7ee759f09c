// Package certain picks out mypy's findings that are certain faults, whatever the types are meant to be.
//
// Where a project does not check its types, or not those of a file, annotations are not binding, and most of what mypy
// infers from code without annotations is a guess. The findings picked here count there all the same.
package certain

import (
	"path"
	"slices"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
	"agent/verify/check"
	"agent/verify/python/modules"
	"agent/verify/python/requires"
)

// certainties maps the code of each such fault to a further condition that must hold; nil means none.
var certainties = map[string]func(s surroundings, f check.Finding) bool{
	"syntax": nil, "call-arg": nil, "str-format": nil, "abstract": nil, "unused-coroutine": nil, "await-not-async": nil, "top-level-await": nil,
	"name-defined": surroundings.unguarded, "used-before-def": surroundings.unguarded,
	"import-not-found": surroundings.unnamedImport,
	"attr-defined":     surroundings.nowhere,
	"arg-type":         clash, "return-value": clash, "operator": clash,
	"assignment": func(s surroundings, f check.Finding) bool { return annotated.MatchString(f.Source) && clash(s, f) },
}

// surroundings is the context of a finding.
type surroundings struct {
	view check.View
	// lines holds the lines of each file, which is read once.
	lines map[string][]string
}

// Faults returns those of mypy's findings that are faults even in a workspace that does not use mypy. It marks them as
// unasked: nothing in the workspace asked for them.
func Faults(v check.View, found []check.Finding) (kept []check.Finding) {
	s := surroundings{v, map[string][]string{}}
	for _, f := range found {
		if also, listed := certainties[f.Rule]; listed && (also == nil || also(s, f)) {
			f.Unasked = true
			kept = append(kept, f)
		}
	}
	return kept
}

var (
	// annotated matches an assignment that declares its type.
	annotated = lazyregexp.New(`^\s*[\w.]+\s*:[^=]*=`)
	// quotedType matches a type quoted in a message, if it is one that is certainly distinct.
	quotedType = lazyregexp.New(`"(?:builtins\.)?(str|bytes|int|float|bool|list|dict)(?:\[[^"|]*\])?"`)
	anyQuoted  = lazyregexp.New(`"[^"]*"`)
)

// family groups the built-in types that often stand in for each other.
var family = map[string]string{"str": "text", "bytes": "bytes", "int": "number", "float": "number", "bool": "number", "list": "list", "dict": "dict"}

// clash reports whether a message is about two built-in types that never stand in for each other, such as text where a
// number is wanted. It does not count None, which stands for a value that is yet to come.
func clash(_ surroundings, f check.Finding) bool {
	_, types, _ := strings.Cut(f.Message, " (")
	if i := strings.Index(f.Message, " has incompatible type "); i >= 0 {
		types = f.Message[i:]
	}
	found := quotedType.FindAllStringSubmatch(types, -1)
	return len(found) == 2 && len(anyQuoted.FindAllString(types, -1)) == 2 && family[found[0][1]] != family[found[1][1]]
}

// guarding matches the heads of blocks whose statements need not work: they are tried, or are for another platform or
// version.
var guarding = lazyregexp.New(`^(?:try\b|except\b|(?:el)?if\b.*(?:platform|version|os\.name|hasattr|TYPE_CHECKING|PY[23_]|HAS|WIN|\bhave|find_spec))|^else\s*:`)

// unguarded reports whether a finding is outside every block that is tried or is for another platform or version.
func (s surroundings) unguarded(f check.Finding) bool {
	lines, read := s.lines[f.File]
	if !read {
		lines = strings.Split(s.view.Text(f.File), "\n")
		s.lines[f.File] = lines
	}
	if f.Line < 1 || f.Line > len(lines) {
		return true
	}
	depth := indentation(lines[f.Line-1])
	for i := f.Line - 2; i >= 0 && depth > 0; i-- {
		line := strings.TrimSpace(lines[i])
		if at := indentation(lines[i]); line != "" && line[0] != '#' && at < depth {
			if depth = at; guarding.MatchString(line) {
				return false
			}
		}
	}
	return true
}

// indentation returns the width of the leading white space of a line.
func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// missingModule matches the name in mypy's message that a module does not exist.
var missingModule = lazyregexp.New(`module named "([\w.]+)"`)

// unnamedImport reports whether an unguarded import names a module that is nowhere to be found, and not just one that the
// project asks others to install.
func (s surroundings) unnamedImport(f check.Finding) bool {
	m := missingModule.FindStringSubmatch(f.Message)
	if m == nil || !s.unguarded(f) {
		return m == nil
	}
	top, _, _ := strings.Cut(m[1], ".")
	return !requires.Names(s.view, top) && !s.onAddedPath(f.File, top)
}

// onAddedPath reports whether the workspace has the module in some directory, and the file, or a conftest.py loaded before
// it, changes where modules are looked for at run time.
func (s surroundings) onAddedPath(file, module string) bool {
	says := strings.Contains(s.view.Text(file), "sys.path")
	for dir := path.Dir(file); !says; dir = path.Dir(dir) {
		says = strings.Contains(s.view.Text(path.Join(dir, "conftest.py")), "sys.path")
		if dir == "." {
			break
		}
	}
	return says && slices.ContainsFunc(s.view.Paths(), func(p string) bool {
		return check.IsPython(p) && (path.Base(p) == module+".py" || slices.Contains(strings.Split(path.Dir(p), "/"), module))
	})
}

// Absent reports whether a finding says that a module is not installed although the workspace asked for it before the patch.
// Where the project runs mypy, that module is installed.
func Absent(v check.View, f check.Finding) bool {
	m := missingModule.FindStringSubmatch(f.Message)
	return f.Rule == "import-not-found" && m != nil && !strings.Contains(m[1], ".") && requires.Names(check.OnBase(v.Base), m[1])
}

var (
	// missingName matches the name that mypy does not find in a module or class, and the name of that module or class.
	missingName = lazyregexp.New(`"([\w.]+)(?:\[.*\])?" has no attribute "(\w+)"|has no attribute "(\w+)"`)
	// defined matches the ways in which a program names something, including a string given to setattr or __slots__.
	defined = lazyregexp.New(`\b(?:def|class|as)[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n(){}]+)?=(?:[^=]|$)|["'](\w+)["']|(?m:^[ \t]*(\w+)[ \t]*:)`)
	// bases matches the base classes of a class.
	bases    = lazyregexp.New(`(?m)^[ \t]*class[ \t]+\w+[ \t]*\(([^)]*)\)`)
	dynamic  = lazyregexp.New(`\b(?:globals|vars|locals|exec|setattr)\(|\bsys\.modules\b|\b__getattr__\b|\b__dict__\b|\bimport \*`)
	baseName = lazyregexp.New(`\w+`)
)

// A nameTable holds the names that the Python files of a workspace define, and those of base classes.
type nameTable struct{ defined, bases map[string]bool }

func namesOf(v check.View) nameTable {
	return check.Recall(v, "names of python", func() nameTable {
		t := nameTable{map[string]bool{}, map[string]bool{}}
		for _, p := range v.Paths() {
			if !check.IsPython(p) {
				continue
			}
			text := v.Text(p)
			for _, m := range defined.FindAllStringSubmatch(text, -1) {
				t.defined[m[1]+m[2]+m[3]+m[4]] = true
			}
			for _, m := range bases.FindAllStringSubmatch(text, -1) {
				for _, name := range baseName.FindAllString(m[1], -1) {
					t.bases[name] = true
				}
			}
		}
		return t
	})
}

// nowhere reports whether nothing in the workspace has the name that a module or class lacks. If something has it, a
// decorator or setattr may provide it where mypy does not see it. A base class also has what the classes derived from it
// bring, as a mixin for tests has assertEqual.
func (s surroundings) nowhere(f check.Finding) bool {
	m := missingName.FindStringSubmatch(f.Message)
	if m == nil || m[1] == "None" || strings.HasPrefix(f.Message, `Item "`) || !s.unguarded(f) {
		return false
	}
	// A file that distinguishes versions may mean one in which another module has more names. For a slip, mypy knows the intended name.
	switch file, own := modules.File(s.view, ".", m[1]); {
	case !strings.HasPrefix(f.Message, "Module "):
	case !own && !strings.Contains(f.Message, "; maybe ") && strings.Contains(s.view.Text(f.File), "version_info"):
		return false
	case m[1] != "" && (!own || !dynamic.MatchString(s.view.Text(file))):
		return true
	}
	names := namesOf(s.view)
	return !names.gives(m[2]+m[3]) && !names.bases[m[1]]
}

// gives reports whether something has the name, either as it is or as others must write it: `__x` of a class A is `_A__x`
// outside the class (The Python Language Reference, 6.2.1.1, Private name mangling).
func (t nameTable) gives(name string) bool {
	if t.defined[name] {
		return true
	}
	for i := 2; strings.HasPrefix(name, "_") && i < len(name); i++ {
		if own := name[i:]; strings.HasPrefix(own, "__") && !strings.HasSuffix(own, "__") && t.defined[own] {
			return true
		}
	}
	return false
}
