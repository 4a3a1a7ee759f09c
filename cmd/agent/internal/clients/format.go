package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/tailscale/hujson"
)

// A format edits one member of a text and leaves the rest unchanged.
type format interface {
	// read returns the content of the text; an empty text has none.
	read(text []byte) (map[string]any, error)
	// put puts a value at a path of names, replacing the one there.
	put(text []byte, path []string, value any) ([]byte, error)
	// cut removes the member at the path, and whatever that leaves empty.
	cut(text []byte, path []string) ([]byte, error)
}

// formatOf returns the format of a file with that name.
func formatOf(name string) format {
	if filepath.Ext(name) == ".toml" {
		return tomlFormat{}
	}
	return jsonFormat{}
}

// at returns the value at a path, or nil.
func at(read map[string]any, path ...string) any {
	var value any = read
	for _, name := range path {
		m, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = m[name]
	}
	return value
}

// sameBut reports whether two readings differ only at the path and in the maps around it that are empty without it.
func sameBut(a, b map[string]any, path []string) bool {
	return reflect.DeepEqual(without(a, path), without(b, path))
}

// without returns a reading without the value at the path.
func without(read map[string]any, path []string) map[string]any {
	rest := maps.Clone(read)
	if rest == nil {
		rest = map[string]any{}
	}
	inner, ok := rest[path[0]].(map[string]any)
	switch {
	case len(path) == 1:
		delete(rest, path[0])
	case ok:
		if inner = without(inner, path[1:]); len(inner) == 0 {
			delete(rest, path[0])
		} else {
			rest[path[0]] = inner
		}
	}
	return rest
}

// jsonFormat is JSON, with or without comments and trailing commas.
type jsonFormat struct{}

func (jsonFormat) read(text []byte) (read map[string]any, err error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	if nested(text) > maxDepth {
		return nil, errDeep
	}
	standard, err := hujson.Standardize(bytes.Clone(text))
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(standard))
	decoder.UseNumber()
	return read, decoder.Decode(&read)
}

// maxDepth bounds how deeply values may nest: their readers are recursive.
const maxDepth = 10_000

var errDeep = fmt.Errorf("values are nested more than %d levels deep", maxDepth)

// nested returns how deeply values nest in JSON with comments, up to the first place that is invalid.
func nested(text []byte) (most int) {
	skip := func(i int, end string) int { // to the last byte of end
		if n := bytes.Index(text[i:], []byte(end)); n >= 0 {
			return i + n + len(end) - 1
		}
		return len(text)
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch rest := text[i:]; {
		case text[i] == '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case bytes.HasPrefix(rest, []byte("//")):
			i = skip(i, "\n")
		case bytes.HasPrefix(rest, []byte("/*")):
			i = skip(i+2, "*/")
		case text[i] == '[' || text[i] == '{':
			depth++
			most = max(most, depth)
		case text[i] == ']' || text[i] == '}':
			depth--
		}
	}
	return most
}

// deeper reports whether maps nest more than levels deep.
func deeper(read map[string]any, levels int) bool {
	for _, value := range read {
		if m, ok := value.(map[string]any); ok && (levels == 0 || deeper(m, levels-1)) {
			return true
		}
	}
	return false
}

// find follows a path through objects as far as it goes. It returns the objects, and for each the member that the next name has in it.
func find(text []byte, path []string) (objects []hujson.Value, members []int, err error) {
	value, err := hujson.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range path {
		object, ok := value.Value.(*hujson.Object)
		if !ok {
			return nil, nil, fmt.Errorf("%q is not in an object", name)
		}
		found := -1
		for i, m := range object.Members {
			if m.Name.Value.(hujson.Literal).String() != name {
				continue
			}
			if found >= 0 {
				return nil, nil, fmt.Errorf("%q occurs twice", name)
			}
			found = i
		}
		objects, members = append(objects, value), append(members, found)
		if found < 0 {
			break
		}
		value = object.Members[found].Value
	}
	return objects, members, nil
}

func (f jsonFormat) put(text []byte, path []string, value any) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	objects, members, err := find(text, path)
	if err != nil {
		return nil, err
	}
	deepest := len(objects) - 1
	if i := members[deepest]; i >= 0 { // it exists
		old := objects[deepest].Value.(*hujson.Object).Members[i].Value
		same, err := equal(text[old.StartOffset:old.EndOffset], value)
		if err != nil || same {
			return text, err
		}
		written, err := written(value, indentAt(text, old.StartOffset), unit(text))
		return splice(text, old.StartOffset, old.EndOffset, lines(text, written)), err
	}
	for _, name := range reversed(path[deepest+1:]) {
		value = map[string]any{name: value}
	}
	return insert(text, objects[deepest], path[deepest], value)
}

// insert puts a member at the end of an object.
func insert(text []byte, in hujson.Value, name string, value any) ([]byte, error) {
	object, brace := in.Value.(*hujson.Object), in.EndOffset-1
	end := len(bytes.TrimRight(text[:brace], " \t\r\n"))
	outer := indentAt(text, in.StartOffset)
	indent, comma := outer+unit(text), ""
	n := len(object.Members)
	if n > 0 {
		last := object.Members[n-1]
		before := string(last.Name.BeforeExtra)
		if !strings.Contains(before, "\n") && !bytes.Contains(object.AfterExtra, []byte("\n")) { // all on one line
			data, err := written(value, "", "")
			before, after := ", ", ""
			if last.Value.AfterExtra != nil {
				before, after = " ", ","
			}
			return splice(text, end, end, before+quoted(name)+": "+data+after), err
		}
		if i := strings.LastIndexByte(before, '\n'); i >= 0 {
			indent = before[i+1 : len(before)-len(strings.TrimLeft(before[i+1:], " \t"))]
		}
		if last.Value.AfterExtra != nil {
			comma = ","
		}
	}
	data, err := written(value, indent, unit(text))
	if err != nil {
		return nil, err
	}
	data = "\n" + indent + quoted(name) + ": " + data + comma
	if !bytes.Contains(text[end:brace], []byte("\n")) {
		data += "\n" + outer
	}
	result := splice(text, end, end, lines(text, data))
	if n > 0 && comma == "" {
		at := object.Members[n-1].Value.EndOffset
		result = splice(result, at, at, ",")
	}
	return result, nil
}

func (f jsonFormat) cut(text []byte, path []string) ([]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return text, nil
	}
	objects, members, err := find(text, path)
	if err != nil || len(objects) < len(path) || members[len(path)-1] < 0 {
		return text, err
	}
	object, i := objects[len(path)-1].Value.(*hujson.Object), members[len(path)-1]
	m := object.Members[i]
	start := len(bytes.TrimRight(text[:m.Name.StartOffset], " \t\r\n"))
	end := m.Value.EndOffset
	behind := bytes.TrimLeft(text[end+len(m.Value.AfterExtra):], ", \t\r")
	if bytes.Contains(m.Name.BeforeExtra, []byte("//")) && !bytes.HasPrefix(behind, []byte("\n")) && !bytes.HasPrefix(behind, []byte("//")) {
		start += bytes.IndexByte(text[start:m.Name.StartOffset], '\n') + 1 // what ends the comment stays
	}
	if c := end + len(m.Value.AfterExtra); text[c] == ',' {
		text = splice(text, start, c+1, "")
	} else {
		text = splice(text, start, end, "")
		if i > 0 {
			before := object.Members[i-1].Value
			c := before.EndOffset + len(before.AfterExtra)
			text = splice(text, c, c+1, "")
		}
	}
	if outer := path[:len(path)-1]; len(outer) > 0 {
		objects, members, err = find(text, outer)
		if err != nil {
			return nil, err
		}
		rest, ok := objects[len(outer)-1].Value.(*hujson.Object).Members[members[len(outer)-1]].Value.Value.(*hujson.Object)
		if ok && len(rest.Members) == 0 && len(bytes.TrimSpace(rest.AfterExtra)) == 0 {
			return f.cut(text, outer)
		}
	}
	return text, nil
}

// tomlFormat is TOML, in which a server is a table of its own.
type tomlFormat struct{}

func (tomlFormat) read(text []byte) (read map[string]any, err error) {
	if err = toml.Unmarshal(text, &read); err == nil && deeper(read, maxDepth) {
		err = errDeep
	}
	return read, err
}

func (f tomlFormat) put(text []byte, path []string, value any) ([]byte, error) {
	read, err := f.read(text)
	if err != nil {
		return nil, err
	}
	if old := at(read, path...); old != nil {
		data, err := json.Marshal(old)
		if err != nil {
			return nil, err
		}
		if same, err := equal(data, value); err != nil || same {
			return text, err
		}
		if text, err = f.cut(text, path); err != nil {
			return nil, err
		}
	}
	data, err := json.Marshal(value)
	var fields map[string]any
	if err == nil {
		err = json.Unmarshal(data, &fields)
	}
	if err != nil {
		return nil, err
	}
	table, err := toml.Marshal(fields)
	if err != nil {
		return nil, err
	}
	added := "[" + strings.Join(path, ".") + "]\n" + string(table)
	if len(text) > 0 {
		added = "\n" + added
		if text[len(text)-1] != '\n' {
			added = "\n" + added
		}
	}
	return append(bytes.Clone(text), lines(text, added)...), nil
}

func (f tomlFormat) cut(text []byte, path []string) ([]byte, error) {
	var p unstable.Parser
	p.Reset(text)
	start, end := -1, len(text)
	for p.NextExpression() {
		e := p.Expression()
		if e.Kind != unstable.Table && e.Kind != unstable.ArrayTable {
			continue
		}
		var names []string
		first := -1
		for keys := e.Key(); keys.Next(); {
			if first < 0 {
				first = int(keys.Node().Raw.Offset)
			}
			names = append(names, string(keys.Node().Data))
		}
		line := bytes.LastIndexByte(text[:first], '\n') + 1
		switch ours := len(names) >= len(path) && reflect.DeepEqual(names[:len(path)], path); {
		case ours && start < 0:
			start = line
		case !ours && start >= 0 && end == len(text):
			end = line
		}
	}
	if err := p.Error(); err != nil || start < 0 {
		return text, err
	}
	// Comments right above the next table belong to that one.
	for end < len(text) {
		above := bytes.LastIndexByte(text[:end-1], '\n') + 1
		line := bytes.TrimSpace(text[above:end])
		if above <= start || len(line) > 0 && line[0] != '#' {
			break
		}
		end = above
	}
	if blank := bytes.TrimSuffix(bytes.TrimSuffix(text[:start], []byte("\n")), []byte("\r")); len(blank) > 0 && blank[len(blank)-1] == '\n' {
		start = len(blank) // the empty line above goes too
	}
	return f.cut(splice(text, start, end, ""), path) // its tables may be apart from each other
}

// written returns a value as JSON. Unless unit is empty, it is in lines that begin with indent.
func written(value any, indent, unit string) (string, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent(indent, unit)
	err := encoder.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// quoted returns a name as a JSON string.
func quoted(name string) string {
	data, _ := written(name, "", "") // a string can always be written
	return data
}

// equal reports whether JSON data has the content that value would be written as.
func equal(data []byte, value any) (bool, error) {
	standard, err := hujson.Standardize(bytes.Clone(data))
	if err != nil {
		return false, err
	}
	wanted, err := json.Marshal(value)
	var a, b any
	if err == nil {
		err = json.Unmarshal(standard, &a)
	}
	if err == nil {
		err = json.Unmarshal(wanted, &b)
	}
	return reflect.DeepEqual(a, b), err
}

// splice returns a copy of text with the bytes from start to end replaced.
func splice(text []byte, start, end int, with string) []byte {
	return append(append(bytes.Clone(text[:start]), with...), text[end:]...)
}

// lines gives added the line ends of text.
func lines(text []byte, added string) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return strings.ReplaceAll(added, "\n", "\r\n")
	}
	return added
}

// indentAt returns the white space at the beginning of the line that holds an offset.
func indentAt(text []byte, offset int) string {
	line := text[bytes.LastIndexByte(text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// unit returns one step of indentation in text: the indentation of its first indented line.
func unit(text []byte) string {
	for line := range bytes.Lines(text) {
		if rest := bytes.TrimLeft(line, " \t"); len(rest) < len(line) && len(bytes.TrimSpace(rest)) > 0 {
			return string(line[:len(line)-len(rest)])
		}
	}
	return "  "
}

// reversed returns a list in reverse order.
func reversed(list []string) (back []string) {
	for i := len(list) - 1; i >= 0; i-- {
		back = append(back, list[i])
	}
	return back
}
