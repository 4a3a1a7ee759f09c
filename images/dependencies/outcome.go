package dependencies

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// What an installer may do beyond its first attempt; see step.may.
const (
	mayRetry = "2" // as often as there is another way
	mayNot   = "0"
	mayDrop  = "*" // leave out any package that cannot be obtained
)

// allows returns what a step may do beyond its first attempt: how many more attempts, and what it may leave out.
func (s step) allows() (level int, drops []string) {
	lines := strings.Split(s.may, "\n")
	if s.kind == "pip" {
		return 0, lines
	}
	level, _ = strconv.Atoi(lines[0])
	return level, lines[1:]
}

// An outcome is one line of the script's report about a step that did not succeed at once: what is missing, or with which
// attempt it succeeded.
type outcome struct {
	step    step
	dropped string // a requirement that was left out, "" for none
	foreign string // a package that another one wants from elsewhere, and the latter; "" for none
	debian  string // a Debian package and its version in place of one from pip; "" for none
	level   int    // the attempt, from 1
	reason  string // the package manager's own reason for refusing the first attempt
}

// outcomes reads a report. It skips lines in any other form, which a package wrote.
func (d Set) outcomes(report string) (list []outcome) {
	for line := range strings.Lines(report) {
		number, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		word, rest, _ := strings.Cut(rest, " ")
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 || i >= len(d.steps) {
			continue
		}
		o := outcome{step: d.steps[i]}
		switch word {
		case "without":
			o.dropped = rest
		case "foreign":
			o.foreign = rest
		case "debian":
			o.debian = rest
		default:
			if o.level, err = strconv.Atoi(word); err != nil {
				continue
			}
		}
		o.reason = rest
		list = append(list, o)
	}
	return list
}

// Told describes what an installation did that its first attempt could not, and what it left out, according to the report in
// its image.
func (d Set) Told(report string) (done, lacking []string) {
	var stead []string
	for _, o := range d.outcomes(report) {
		where := path.Join(o.step.root, "package.json")
		switch manager := o.step.manager(); {
		case o.debian != "":
			stead = append(stead, fmt.Sprintf("%.100s", o.debian))
		case o.dropped != "" && o.step.language() == "node":
			lacking = append(lacking, fmt.Sprintf("the npm package %.100q is not installed: the registry does not have it; set NPM_CONFIG_REGISTRY to one that does, or ask for another version", o.dropped))
		case o.dropped != "":
			lacking = append(lacking, fmt.Sprintf("the Python package %.100q is not installed: the index has no wheel of it that fits; set PIP_INDEX_URL to an index that has one, or ask for another version", o.dropped))
		case o.foreign != "":
			name, wants, _ := strings.Cut(o.foreign, " ")
			done = append(done, fmt.Sprintf("%.100q wants %.100q, which does not come from the registry: it is left out", wants, name))
		case manager != "npm":
			done = append(done, fmt.Sprintf("the lock file of %s does not match it (%s): %s chose the versions that differ", where, o.reason, manager))
		case o.level == 1 && o.step.from != "":
			done = append(done, fmt.Sprintf("npm refused what %s asks for (%s): installed with %s, as %s does", where, o.reason, o.step.retry, o.step.from))
		case o.level == 1:
			done = append(done, fmt.Sprintf("npm refused what %s asks for (%s): installed with %s, as npm advises", where, o.reason, o.step.retry))
		default:
			done = append(done, fmt.Sprintf("the lock file of %s does not match it (%s): npm chose the versions that differ", where, o.reason))
		}
	}
	if len(stead) > 0 {
		done = append(done, "from Debian, in whatever version, in place of packages that pip could not be asked for: "+strings.Join(stead, ", "))
	}
	return done, lacking
}

// Within reports whether an installation with this report did no more than its steps may.
func (d Set) Within(report string) bool {
	return !slices.ContainsFunc(d.outcomes(report), func(o outcome) bool {
		level, drops := o.step.allows()
		if o.dropped != "" {
			return !slices.Contains(drops, mayDrop) && !slices.Contains(drops, o.dropped)
		}
		return o.level > level
	})
}

// Limited lets the package managers do no more for d than they did for base, according to the report of its installation:
// whatever they then refuse is due to the change.
func (d Set) Limited(base Set, report string) Set {
	d.steps = slices.Clone(d.steps)
	for i, s := range d.steps {
		level, dropped := 0, []string{}
		for _, o := range base.outcomes(report) {
			switch {
			case !o.step.same(s) || o.foreign != "" || o.debian != "":
			case o.dropped != "":
				dropped = append(dropped, o.dropped)
			default:
				level = o.level
			}
		}
		switch {
		case s.kind == "pip":
			d.steps[i].may = strings.Join(dropped, "\n")
		case s.may != "":
			d.steps[i].may = strings.Join(append([]string{strconv.Itoa(level)}, dropped...), "\n")
		}
	}
	return d
}

// A Part is what one run of a package manager installs.
type Part struct {
	Manager string // apt, npm, pnpm, yarn, pip, go
	Root    string // directory in the workspace, "." for the root
}

// String names the part for people.
func (p Part) String() string {
	switch p.Manager {
	case "apt":
		return "Debian"
	case "pip":
		return "Python"
	case "go":
		return path.Join(p.Root, "go.mod")
	}
	return path.Join(p.Root, "package.json")
}

// Same reports whether both install for the same language in the same directory.
func (p Part) Same(other Part) bool {
	node := func(m string) bool { return m != "pip" && m != "go" && m != "apt" }
	return p.Root == other.Root && (p.Manager == other.Manager || node(p.Manager) && node(other.Manager))
}

// Part returns the part that step i installs, in the order of Steps.
func (d Set) Part(i int) Part { return d.steps[i].part() }

// Without leaves out step i. What the other steps need stays.
func (d Set) Without(i int) Set {
	d.steps = slices.Delete(slices.Clone(d.steps), i, i+1)
	var roots []string
	languages := map[string]bool{}
	for _, s := range d.steps {
		languages[s.language()] = true
		if s.language() == "node" {
			roots = append(roots, s.root)
		}
	}
	within := func(dir string) bool {
		return slices.ContainsFunc(roots, func(root string) bool { return below(dir, root) })
	}
	d.node = slices.DeleteFunc(slices.Clone(d.node), func(dir string) bool { return !within(dir) })
	kept := map[string][]byte{}
	for name, content := range d.files {
		language, rest, _ := strings.Cut(name, "/")
		if languages[language] && (language != "node" || within(path.Dir(rest))) {
			kept[name] = content
		}
	}
	d.files = kept
	return d
}

// language returns the directory below which the files of a step lie.
func (s step) language() string {
	switch s.kind {
	case "apt", standby:
		return ""
	case "pip":
		return "python"
	case "go":
		return "go"
	}
	return "node"
}

// manager returns the program that a step runs.
func (s step) manager() string {
	name, _, _ := strings.Cut(s.kind, "-")
	return name
}

// part returns what the step installs; same reports whether another step installs that too.
func (s step) part() Part           { return Part{s.manager(), s.root} }
func (s step) same(other step) bool { return s.part().Same(other.part()) }
