package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"github.com/pelletier/go-toml/v2"
)

// FileName is the configuration of a workspace, at its top.
const FileName = "agent.toml"

// maxConfig is the largest configuration file that is read, in bytes.
const maxConfig = 64 << 10

// readRows reads a configuration file that may hold those of the rows which may admits,
// into text by name; what is not set is not there. A key that is not known is an error
// that names it: a misspelt limit must not be no limit.
func readRows(rows []Setting, may func(scope) bool, data []byte) (map[string]string, error) {
	rows = slices.DeleteFunc(slices.Clone(rows), func(k Setting) bool { return !may(k.scope) })
	into := reflect.New(fileType(rows)).Elem()
	if err := decodeStrict(data, into.Addr().Interface()); err != nil {
		return nil, err
	}
	v := map[string]string{}
	for _, k := range rows {
		table, key := k.fileKey()
		held := into
		if table != "" {
			held = held.FieldByName(fieldName(table))
		}
		text, err := k.kind.write(k.Name, held.FieldByName(fieldName(key)).Interface())
		if err != nil {
			return nil, err
		}
		// A workspace's limit of "0" would be none.
		if text != "" && (text != "0" || k.scope == userOnly) {
			v[k.Name] = text
		}
	}
	return v, nil
}

// ofWorkspace reports whether a workspace's own file may hold a setting, within limits.
func ofWorkspace(s scope) bool { return s != noFile && s != userOnly }

// ofUser reports whether the user's file may hold a setting.
func ofUser(s scope) bool { return s != noFile }

// fileKey is where a setting is in a file: its table, "" for none, and its key there.
func (k Setting) fileKey() (table, key string) {
	name := k.Name
	if k.file != "" {
		name = k.file
	}
	if table, key, ok := strings.Cut(name, "."); ok {
		return table, key
	}
	return "", name
}

// fileType is the shape of a file that holds the rows: a struct, since the library is
// strict with those alone.
func fileType(rows []Setting) reflect.Type {
	var tables []string
	fields := map[string][]reflect.StructField{}
	for _, k := range rows {
		table, key := k.fileKey()
		if !slices.Contains(tables, table) {
			tables = append(tables, table)
		}
		fields[table] = append(fields[table], fileField(key, k.kind.toml))
	}
	top := fields[""]
	for _, table := range tables {
		if table != "" {
			top = append(top, fileField(table, reflect.StructOf(fields[table])))
		}
	}
	return reflect.StructOf(top)
}

// fileField is the field of such a struct for a key.
func fileField(key string, holds reflect.Type) reflect.StructField {
	return reflect.StructField{Name: fieldName(key), Type: holds, Tag: reflect.StructTag(fmt.Sprintf(`toml:%q`, key))}
}

// fieldName is the name of that field, which reflection wants exported.
func fieldName(key string) string { return "Key_" + key }

// decodeStrict reads TOML and refuses every key that into has no place
// for. Errors name the line, since that is what the user will go to.
func decodeStrict(data []byte, into any) error {
	d := toml.NewDecoder(strings.NewReader(string(data)))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	// The first unknown key is enough: the user fixes one at a time.
	var unknown *toml.StrictMissingError
	if errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		line, _ := unknown.Errors[0].Position()
		return fmt.Errorf("line %d: there is no key %q", line, strings.Join(unknown.Errors[0].Key(), "."))
	}
	// The library's own text shows a piece of the file; the file may
	// hold a password, so only its place is told.
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		line, column := syntax.Position()
		problem := strings.TrimPrefix(syntax.Error(), "toml: ")
		// Of a value that does not fit, the library tells the type in this program.
		if wrong, ok := strings.CutPrefix(problem, "cannot decode TOML "); ok && len(syntax.Key()) > 0 {
			wrong, _, _ = strings.Cut(wrong, " into ")
			problem = strings.Join(syntax.Key(), ".") + " must not be a TOML " + wrong
		}
		return fmt.Errorf("line %d, column %d: %s", line, column, problem)
	}
	return err
}

// ReadFile returns the content of a configuration file, nil when
// there is none. Only a regular file is read, and a link only with
// follow: a workspace may hold anything.
func ReadFile(path string, follow bool) ([]byte, error) {
	// Opening a FIFO must not wait for a writer that never comes.
	flags := os.O_RDONLY | syscall.O_NONBLOCK
	if !follow {
		flags |= syscall.O_NOFOLLOW
	}
	f, err := os.OpenFile(path, flags, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil
	case err != nil:
		return nil, err
	}
	defer f.Close() // it was only read
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Size() > maxConfig {
		return nil, fmt.Errorf("%s is larger than %d KiB", path, maxConfig>>10)
	}
	// The size was checked; a file that grows meanwhile is read as it
	// was.
	data := make([]byte, info.Size())
	n, err := f.ReadAt(data, 0)
	if n < len(data) && err != nil {
		return nil, err
	}
	return data, nil
}

// UserPath returns where the user's configuration is, "" without
// a home.
func UserPath(getenv func(string) string) string {
	// Without the variable it is ~/.config, by the same specification.
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification ignores relative paths
		if getenv("HOME") == "" {
			return ""
		}
		dir = filepath.Join(getenv("HOME"), ".config")
	}
	return filepath.Join(dir, "agent", "config.toml")
}
