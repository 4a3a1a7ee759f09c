package dependencies

import (
	"strings"

	"agent/sandbox/workspace/deps"
	"agent/sandbox/workspace/lazyregexp"
)

// setupArgument matches the start of an argument of setup() that says what a project needs.
var setupArgument = lazyregexp.New(`\b(name|install_requires|tests_require|extras_require)\s*=\s*`)

// setupScript reads what is written literally in a setup.py; it never runs the file.
func (w *pythonWants) setupScript(name string, into *pythonProject) bool {
	text := string(w.files[name])
	if len(text) > maxScript {
		return false
	}
	names, call := 0, max(strings.Index(text, "setup("), 0)
	for _, at := range setupArgument.FindAllStringSubmatchIndex(text, 64) {
		r := literals{text: text, at: at[1], names: &names}
		value := r.value(0)
		if list, ok := value.([]any); ok {
			value = stringsOf(list)
		}
		switch key := text[at[2]:at[3]]; v := value.(type) {
		case string:
			if key == "name" && into.name == "" && at[0] > call {
				into.name = v
			}
		case []string:
			if key != "extras_require" && key != "name" {
				into.needs = append(into.needs, v...)
			}
		case map[string]any:
			for extra, list := range v {
				items, _ := list.([]any)
				if key == "extras_require" {
					extra = deps.PythonName(extra)
					into.extras[extra] = append(into.extras[extra], stringsOf(items)...)
				}
			}
		}
	}
	return true
}

// stringsOf returns the strings in a list.
func stringsOf(list []any) (found []string) {
	for _, item := range list {
		if text, ok := item.(string); ok {
			found = append(found, text)
		}
	}
	return found
}

// literals reads literal Python values: a string; a list, tuple or set as []any; and a dictionary with string keys as
// map[string]any. A name has the value of its assignment at the start of a line. Anything else is nil.
type literals struct {
	text  string
	at    int
	names *int // how many names were looked up: each lookup searches the whole text
}

const (
	maxLiteral = 8         // how deep nested values are read
	maxNames   = 64        // how many names are looked up
	maxScript  = 256 << 10 // bytes; people write no longer setup.py or noxfile.py
)

// blank skips what separates words.
func (r *literals) blank() {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == '#':
			end := strings.IndexByte(r.text[r.at:], '\n')
			if end < 0 {
				r.at = len(r.text)
				return
			}
			r.at += end
		case strings.IndexByte(" \t\r\n\\", c) >= 0:
			r.at++
		default:
			return
		}
	}
}

var (
	stringLiteral = lazyregexp.New(`^(?:"""([^"\\]*)"""|'''([^'\\]*)'''|"([^"\\\n]*)"|'([^'\\\n]*)')`)
	nameLiteral   = lazyregexp.New(`^[A-Za-z_]\w*`)
)

// value reads the value that begins here.
func (r *literals) value(depth int) any {
	r.blank()
	if r.at >= len(r.text) || depth > maxLiteral {
		return nil
	}
	switch c := r.text[r.at]; c {
	case '[', '(', '{':
		return r.several(depth)
	case '"', '\'':
		return r.string()
	}
	name := nameLiteral.FindString(r.text[r.at:])
	r.at += len(name)
	if *r.names++; name == "" || *r.names > maxNames {
		return nil
	}
	r.blank()
	if r.at < len(r.text) && strings.IndexByte(".([", r.text[r.at]) >= 0 {
		return nil // a call, or a part of something
	}
	for _, sign := range []string{" = ", "="} {
		if i := strings.Index("\n"+r.text, "\n"+name+sign); i >= 0 {
			assigned := literals{text: r.text, at: i + len(name) + len(sign), names: r.names}
			return assigned.value(depth + 1)
		}
	}
	return nil
}

// string reads one string; adjacent string literals form one.
func (r *literals) string() any {
	var whole strings.Builder
	for {
		r.blank()
		m := stringLiteral.FindStringSubmatch(r.text[r.at:])
		if m == nil {
			break
		}
		r.at += len(m[0])
		whole.WriteString(m[1] + m[2] + m[3] + m[4])
	}
	if whole.Len() == 0 {
		r.at++ // skip one that is not understood
		return nil
	}
	return whole.String()
}

// several reads what is between brackets.
func (r *literals) several(depth int) any {
	closing := byte(map[byte]rune{'[': ']', '(': ')', '{': '}'}[r.text[r.at]])
	r.at++
	var list []any
	table := map[string]any{}
	for {
		r.blank()
		if r.at >= len(r.text) {
			return nil
		}
		switch c := r.text[r.at]; {
		case c == closing:
			r.at++
			if len(table) > 0 {
				return table
			}
			return list
		case c == ',' || c == ':':
			r.at++
		default:
			from := r.at
			item := r.value(depth + 1)
			r.blank()
			if key, ok := item.(string); ok && closing == '}' && r.at < len(r.text) && r.text[r.at] == ':' {
				r.at++
				table[key] = r.value(depth + 1)
			} else if item != nil {
				list = append(list, item)
			}
			r.at = max(r.at, from+1)
		}
	}
}
