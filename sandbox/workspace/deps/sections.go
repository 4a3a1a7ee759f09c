package deps

import (
	"errors"
	"strings"

	"agent/sandbox/workspace/lazyregexp"
)

// The lines of a file with sections.
var (
	sectionLine = lazyregexp.New(`^\[([^\]]+)\]\s*$`)
	keyLine     = lazyregexp.New(`^([^\s=:][^=:]*?)\s*[=:]\s*(.*)$`)
)

// errUnusual says that a file with sections is refused, because another reader might see other sections in it.
var errUnusual = errors.New("a line is not a section, a key or a value")

// Sections reads setup.cfg, tox.ini and other files that Python's configparser reads. It returns the values by section and by
// key, which is in lower case. The lines of a longer value are joined by "\n", without comments that have a line of their own.
func Sections(text []byte) (map[string]map[string]string, error) {
	sections, in, key := map[string]map[string]string{}, "", ""
	var value []string
	keep := func() {
		if key != "" {
			sections[in][key] = strings.Join(value, "\n")
		}
	}
	for line := range strings.Lines(string(text)) {
		bare := strings.TrimSpace(line)
		if bare == "" || strings.HasPrefix(bare, "#") || strings.HasPrefix(bare, ";") {
			continue
		}
		indented := strings.TrimLeft(line, " \t") != line
		if m := sectionLine.FindStringSubmatch(bare); m != nil && !indented && sections[m[1]] == nil {
			keep()
			in, key = m[1], ""
			sections[in] = map[string]string{}
			continue
		}
		switch m := keyLine.FindStringSubmatch(bare); {
		case strings.HasPrefix(bare, "["), in == "":
			return nil, errUnusual
		case indented && key != "":
			value = append(value, bare)
		case !indented && m != nil:
			keep()
			key, value = strings.ToLower(m[1]), []string{m[2]}
		default:
			return nil, errUnusual
		}
	}
	keep()
	return sections, nil
}
